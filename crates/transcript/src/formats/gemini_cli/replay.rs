//! Which records of a session Gemini CLI sends when it resumes it.
//!
//! It replays them in order: a record with a known id replaces the earlier one, `$rewindTo` removes a message and all after
//! it, and `$set` with `messages` sets all messages at once. It writes such a record when it resumes a session, and when it
//! compressed one.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::entries::{EntryKind, Retention};
use crate::format::Transcript;
use crate::formats::gemini_cli::role;
use crate::json::{Items, Json, JsonKind, Object};
use crate::message::Role;
use crate::text::Text;

/// What the user's words begin with that are not sent again: commands, and what Gemini CLI writes anew.
const NOT_SENT_AGAIN: [&str; 4] = ["/", "?", "<session_context>", "<hook_context>"];

/// The list of a record that sets all messages at once.
pub(super) fn list_of_all(record: Json<'_>) -> Option<Json<'_>> {
    // Most records are messages, whose members need not be looked at.
    if record.entries().next()?.0.is("id") {
        return None;
    }
    let list = record.at(&["$set", "messages"])?;
    let is_other = record.get_text("id").is_some() || record.get_text("$rewindTo").is_some();
    if list.kind() != JsonKind::Array || is_other { None } else { Some(list) }
}

pub(super) fn entries(values: Items<'_>) -> Vec<EntryKind> {
    let list = values.opened();
    let records: Vec<Object<'_>> = values.map(Object::of).collect();
    let mut entries: Vec<EntryKind> = records.iter().map(entry).collect();
    // The records before a list of all messages are gone.
    let first = match list {
        Some(list) => records.partition_point(|record| record.json.span().start < list.span().start),
        None => 0,
    };
    for (entry, record) in entries[..first].iter_mut().zip(&records) {
        if *entry == EntryKind::Note(Retention::WithPrevious) || is_replayed(record) {
            *entry = EntryKind::Note(Retention::Obsolete);
        }
    }
    // The current records in the order of the replay; each is the last with its id.
    let mut current: Vec<usize> = Vec::new();
    let mut by_id: HashMap<Cow<'_, str>, usize> = HashMap::new();
    for (index, record) in records.iter().enumerate().skip(first) {
        let is_in_list = list.is_some_and(|list| record.json.span().end < list.span().end);
        if let Some(target) = record.get_text("$rewindTo")
            && !is_in_list
        {
            let at = by_id.get(&target.decode()).copied().unwrap_or(current.len());
            for gone in current.split_off(at) {
                entries[gone] = EntryKind::Note(Retention::Obsolete);
            }
            by_id.retain(|_, place| *place < at);
            entries[index] = EntryKind::Note(Retention::Obsolete);
        } else if let Some(id) = record.get_text("id")
            && record.get("type").is_some()
        {
            match by_id.get(&id.decode()) {
                Some(place) => {
                    entries[current[*place]] = EntryKind::Note(Retention::Obsolete);
                    current[*place] = index;
                }
                None => {
                    by_id.insert(id.decode(), current.len());
                    current.push(index);
                }
            }
        }
    }
    entries
}

/// Whether the replay of a record changes the messages.
fn is_replayed(record: &Object<'_>) -> bool {
    record.get("id").is_some() || record.get("$rewindTo").is_some() || list_of_all(record.json).is_some()
}

/// The records before the list that set all messages at once.
pub(super) fn no_longer_loaded<'a>(transcript: &Transcript<'a>) -> Vec<Json<'a>> {
    let Some(inner) = transcript.inner else { return Vec::new() };
    let mut found = Vec::new();
    for note in &transcript.notes {
        if note.json.span().end <= inner.entry.span().start && note.retention == Retention::Obsolete {
            found.push(note.json);
        }
    }
    found
}

/// The kind of a record by itself, before others replace or remove it.
fn entry(record: &Object<'_>) -> EntryKind {
    // A message without a type is foreign.
    let is_message = match record.get_text("type") {
        None => ["id", "timestamp", "content"].iter().all(|key| record.get(key).is_some()),
        Some(kind) => match role(kind) {
            Some(Role::User) => !is_not_sent_again(record),
            role => role.is_some(),
        },
    };
    if is_message {
        return EntryKind::Message;
    }
    let is_transient = record.get("type").is_some() || record.get("$set").is_some_and(only_updated);
    EntryKind::Note(if is_transient { Retention::WithPrevious } else { Retention::Always })
}

/// Whether `$set` changes nothing but the time of the last change.
fn only_updated(set: Json<'_>) -> bool {
    set.entries().all(|(key, _)| key.is("lastUpdated"))
}

/// Whether a message of the user is left out when a session is resumed.
fn is_not_sent_again(record: &Object<'_>) -> bool {
    let Some(content) = record.get("content") else { return false };
    let mut text = String::new();
    if content.kind() == JsonKind::Array {
        for part in content.items() {
            let Some(part) = text_of(part) else { break };
            text.push_str(&part.decode());
        }
    } else if let Some(part) = text_of(content) {
        text.push_str(&part.decode());
    }
    NOT_SENT_AGAIN.iter().any(|start| text.trim_start().starts_with(start))
}

/// The text of a part, which can be a string.
fn text_of(part: Json<'_>) -> Option<Text<'_>> {
    part.text().or_else(|| part.get_text("text"))
}
