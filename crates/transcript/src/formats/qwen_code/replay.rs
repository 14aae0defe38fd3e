//! Which lines of a session Qwen Code sends.
//!
//! It goes from the last line to its parent, and on to the first; a parent that is not there ends the way, and the lines
//! before are lost. Lines with one
//! id are one record: the first names the parent. On this way, a compression takes the place of all before it, and the
//! answer of a command takes back the command, if no other record of a command stands between.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use crate::entries::{EntryKind, Retention};
use crate::formats::shared::fields::list;
use crate::json::{Json, JsonKind, Object};
use crate::text::Text;

/// The types of records. Lines of other types are not read.
const TYPES: [&str; 4] = ["user", "assistant", "tool_result", "system"];
/// Messages that no model is sent: what a user and a model said aloud, and the results of calls that a program of the model
/// made, whose own result has what the model is told.
const SILENT: [&str; 2] = ["code_mode_tool_result", "realtime_message"];
/// Records that stand beside the conversation: nothing follows them.
const BESIDE: [&str; 6] = [
    "managed_session_commit_v1",
    "managed_session_event_v1",
    "managed_session_header_v1",
    "session_artifact_event",
    "session_artifact_snapshot",
    "session_sources_snapshot",
];

/// Whether a line is a record that Qwen Code reads.
pub(super) fn is_record(line: &Object<'_>) -> bool {
    let Some(parent) = line.get("parentUuid") else { return false };
    matches!(parent.kind(), JsonKind::String | JsonKind::Null)
        && has_text(line, "uuid")
        && has_text(line, "sessionId")
        && line.get_text("type").is_some_and(is_known)
}

fn has_text(line: &Object<'_>, key: &str) -> bool {
    line.get_text(key).is_some_and(|text| !text.is_empty())
}

/// Whether Qwen Code reads records of a type.
pub(super) fn is_known(kind: Text<'_>) -> bool {
    kind.is_in(&TYPES)
}

/// Whether a line is a record that others can follow.
pub(super) fn is_of_conversation(line: &Object<'_>) -> bool {
    if !is_record(line) {
        return false;
    }
    !line.member_is("type", "system") || !is_of_subtype(line, &BESIDE)
}

fn is_of_subtype(line: &Object<'_>, subtypes: &[&str]) -> bool {
    line.get_text("subtype").is_some_and(|kind| kind.is_in(subtypes))
}

/// The list of messages in a compression.
pub(super) fn compressed<'a>(line: &Object<'a>) -> Option<Json<'a>> {
    if !line.member_is("type", "system") || !line.member_is("subtype", "chat_compression") {
        return None;
    }
    line.at(&["systemPayload", "compressedHistory"]).filter(|list| list.kind() == JsonKind::Array)
}

/// Whether a line holds a message that a model is sent.
fn is_sent(line: &Object<'_>) -> bool {
    !line.member_is("type", "system")
        && line.get("message").is_some_and(|message| message.kind() == JsonKind::Object)
        && !is_of_subtype(line, &SILENT)
}

/// The lines on the way from the last one to the first, the first one first. Of lines with one id, the first is on it.
pub(super) fn chain(lines: &[Object<'_>]) -> Vec<usize> {
    let mut by_id: HashMap<Cow<'_, str>, usize> = HashMap::new();
    let mut last = None;
    for (index, line) in lines.iter().enumerate() {
        if is_of_conversation(line)
            && let Some(id) = line.get_text("uuid")
        {
            last = Some(*by_id.entry(id.decode()).or_insert(index));
        }
    }
    let mut chain = Vec::new();
    let mut walked = HashSet::new();
    while let Some(index) = last
        && walked.insert(index)
    {
        chain.push(index);
        last = match lines[index].get_text("parentUuid") {
            Some(parent) => by_id.get(&parent.decode()).copied(),
            None => None,
        };
    }
    chain.reverse();
    chain
}

/// The kind of each line.
pub(super) fn entries(lines: &[Object<'_>]) -> Vec<EntryKind> {
    let mut kinds = vec![EntryKind::Note(Retention::Obsolete); lines.len()];
    let mut fragments: HashMap<Cow<'_, str>, Vec<usize>> = HashMap::new();
    for (index, line) in lines.iter().enumerate() {
        if !is_of_conversation(line) {
            kinds[index] = EntryKind::Note(Retention::Always);
        } else if let Some(id) = line.get_text("uuid") {
            fragments.entry(id.decode()).or_default().push(index);
        }
    }
    // What is sent so far, and what stands beside it.
    let mut sent: Vec<usize> = Vec::new();
    let mut silent: Vec<usize> = Vec::new();
    // What the answer of a command can take back.
    let mut typed: Option<usize> = None;
    let chain = chain(lines);
    for &index in &chain {
        let line = &lines[index];
        if compressed(line).is_some() {
            sent = vec![index];
            silent.clear();
            typed = None;
            continue;
        }
        if line.member_is("type", "system") {
            let is_command = line.member_is("subtype", "slash_command");
            let before = if is_command { typed.take() } else { None };
            if before.is_some_and(|before| takes_back(line, &lines[before])) {
                sent.pop();
            } else {
                silent.push(index);
            }
            continue;
        }
        let sent_before = sent.len();
        if let Some(id) = line.get_text("uuid")
            && let Some(fragments) = fragments.get(&id.decode())
        {
            for &fragment in fragments {
                if is_sent(&lines[fragment]) { sent.push(fragment) } else { silent.push(fragment) }
            }
        }
        match sent[sent_before..] {
            [] => {}
            [only] => typed = Some(only),
            // A record of several lines is not a command.
            _ => typed = None,
        }
    }
    let is_replaced = sent.first().is_some_and(|first| compressed(&lines[*first]).is_some());
    for index in sent {
        kinds[index] = EntryKind::Message;
    }
    for index in silent {
        let is_title = lines[index].member_is("subtype", "custom_title");
        kinds[index] =
            EntryKind::Note(if is_title { Retention::Latest("custom_title") } else { Retention::WithPrevious });
    }
    if let Some(first) = chain.first()
        && !is_replaced
        && names_parent(&lines[*first])
    {
        lose(lines, &mut kinds[..*first]);
    }
    kinds
}

/// Whether a line follows another one.
fn names_parent(line: &Object<'_>) -> bool {
    line.get_text("parentUuid").is_some_and(|parent| parent.decode() != "")
}

/// Marks what is no longer sent of the lines before a torn link as lost, if any of it was sent.
fn lose(lines: &[Object<'_>], kinds: &mut [EntryKind]) {
    let obsolete = EntryKind::Note(Retention::Obsolete);
    let was_any_sent = kinds.iter().zip(lines).any(|(kind, line)| *kind == obsolete && was_sent(line));
    if !was_any_sent {
        return;
    }
    for kind in kinds {
        if *kind == obsolete {
            *kind = EntryKind::Note(Retention::Lost);
        }
    }
}

fn was_sent(line: &Object<'_>) -> bool {
    is_sent(line) || compressed(line).is_some()
}

/// Whether the answer of a command takes back what the user typed: the command, and nothing that was sent to the model.
fn takes_back(answer: &Object<'_>, before: &Object<'_>) -> bool {
    let Some(payload) = answer.get("systemPayload").map(Object::of) else { return false };
    let is_result = payload.member_is("phase", "result") && !payload.member_is_true("sentToModel");
    if !is_result || !before.member_is("type", "user") || before.get("subtype").is_some() {
        return false;
    }
    let mut shown = list(&payload, "outputHistoryItems");
    if shown.next().is_none_or(|first| !is_of_assistant(first)) || !shown.all(is_of_assistant) {
        return false;
    }
    let (Some(command), Some(typed)) = (payload.get_text("rawCommand"), only_text(before)) else { return false };
    command.decode() == typed.decode()
}

fn is_of_assistant(item: Json<'_>) -> bool {
    item.member_is("type", "assistant")
}

/// The text of a line with a message that is nothing else.
fn only_text<'a>(line: &Object<'a>) -> Option<Text<'a>> {
    let mut parts = line.at(&["message", "parts"])?.items();
    let (Some(part), None) = (parts.next(), parts.next()) else { return None };
    if part.entries().nth(1).is_some() {
        return None;
    }
    part.get_text("text")
}
