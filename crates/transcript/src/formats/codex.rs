//! Session files of Codex (rollouts): one event a line. Those with Responses items are the conversation.
//!
//! Codex resumes a session by replaying its lines, and so does this reader. A rollback removes the last turns. A
//! compaction replaces all items before it by its own list; one without a list keeps the user's messages and adds its
//! text as another. Lines that the replay removes become obsolete notes, and lines that it restores are messages like
//! any other.
//!
//! The file of a conversation that was taken back to an earlier place or forked holds its end only, and its first line
//! names the file with the beginning.
//!
//! Codex writes instructions and the environment in the user's name before the first message. They count as a
//! developer's, so that they are kept like other standing instructions. Files of old versions have bare items on their
//! lines.

mod background;
mod head;
mod replay;
mod unsent;

use serde_json::{Map, Value};

use crate::compaction::{Reset, ResetKind};
use crate::edit::Edit;
use crate::entries::CompactionEntry;
use crate::foreign;
use crate::format::{
    Age, EntryKind, Format, Hooks, InsertionPoint, MatchScore, NewResult, OnBrokenLine, SentBeside, Session, SizeReset,
    SummaryMessage, TextBlock, Transcript,
};
use crate::formats::shared::fields::{copied, elements_of, non_null};
use crate::formats::shared::items::{self, Item};
use crate::formats::shared::skipped::match_unknown;
use crate::frame::Frame;
use crate::json::{Items, Json, JsonKind, Object};
use crate::line_replay::{LineReplay, LineStep};
use crate::message::{Call, Content, Message, Part, PartKind, RareFields, ResultRef, Role};
use crate::order::{MessageOrder, OrderRule, ResultPlacement, Spelling};
use crate::outputs::{CallOutput, HostedResult};
use crate::pieces::Piece;
use crate::refused_encryption::RefusedEncryption;
use crate::session_files::{Dependents, SessionFiles, ends_with_uuid, stem_of_lines};
use crate::status::Denial;
use crate::usage::{SizeNote, Usage};

/// The prefixes of messages that Codex writes in the user's name.
const INJECTED: [&str; 3] = ["<environment_context>", "<user_instructions>", "# AGENTS.md instructions"];

/// The end of the instructions of a project.
const INSTRUCTIONS_END: &str = "</INSTRUCTIONS>";

/// What Codex writes in the user's place, and its app and its extension for editors.
const FRAMES: [Frame; 19] = [
    Frame::Tag("<user_shell_command>", "</user_shell_command>"),
    Frame::Tag("<environment_context>", "</environment_context>"),
    Frame::Tag("<user_instructions>", "</user_instructions>"),
    Frame::Tag("<turn_aborted>", "</turn_aborted>"),
    Frame::Tag("<subagent_notification>", "</subagent_notification>"),
    Frame::Tag("<hook_prompt ", "</hook_prompt>"),
    Frame::Tag("<hook_prompt>", "</hook_prompt>"),
    Frame::Tag("<codex_internal_context ", "</codex_internal_context>"),
    Frame::Tag("<codex_internal_context>", "</codex_internal_context>"),
    Frame::Tag("<codex_delegation>", "</codex_delegation>"),
    Frame::Tag("<goal_context>", "</goal_context>"),
    Frame::Tag("<extension_context>", "</extension_context>"),
    Frame::Tag("<recommended_plugins>", "</recommended_plugins>"),
    Frame::Whole("<external_", ">"),
    Frame::Whole("<heartbeat>", "</heartbeat>"),
    Frame::Opening("Warning: The maximum number of unified exec processes you can keep open is"),
    Frame::Head("# AGENTS.md instructions", INSTRUCTIONS_END),
    Frame::Head("<skill>\n<name>", "\n</skill>"),
    // Open files and the selected text, and the heading behind which the user's words are.
    Frame::Head("# Context from my IDE setup:\n", "\n## My request for Codex:\n"),
];

/// The format's row.
pub(super) static FORMAT: Format = Format {
    name: "codex",
    about: "session files of Codex, ~/.codex/sessions/…/rollout-*.jsonl",
    // A compaction keeps what it replaced for the model that reviews commands.
    metadata_members: &["guardian_history", "retained_context"],
    unsent: unsent::FORMS,
    usage: &[],
    frames: &FRAMES,
    background: background::FORMS,
    on_broken_line: Some(OnBrokenLine::Skip),
    compaction_word: Some("compacted"),
    session_files: Some(SessionFiles {
        variable: "CODEX_HOME",
        home: ".codex",
        folder: "sessions",
        is_session: |name| name.starts_with("rollout-") && stem_of_lines(name).is_some_and(ends_with_uuid),
        parent: None,
        dependents: Some(Dependents {
            head: head::head,
            folders: &["sessions", "archived_sessions"],
            database: "thread_history_",
            agent: "Codex",
        }),
    }),
    sent_beside: Some(SentBeside {
        entry: "session_meta",
        text: &["payload", "base_instructions", "text"],
        tools: &["payload", "dynamic_tools"],
    }),
    order: OrderRule::Depends(order),
    item: Some(&["payload"]),
    can_lose_reasoning: true,
    encrypted_by: Some(&["openai", "xai"]),
    // The event of an error has the provider's answer in its text.
    refused_encryption: Some(RefusedEncryption {
        is: &[(&["type"], "event_msg"), (&["payload", "type"], "error")],
        text: &["payload", "message"],
        words: &[&["invalid_encrypted_content"], &["encrypted content", "could not be verified"]],
    }),
    // It records the size of the whole context.
    size_reset: Some(SizeReset { to: "that of the result", why: "as Codex does after a compaction" }),
    text_block: TextBlock::Typed("input_text"),
    hooks: Hooks {
        match_score,
        read,
        groups,
        result_output,
        provider_results,
        write_summary,
        write_result,
        refusal: head::refusal,
    },
    session: &Codex,
    ..Format::DEFAULT
};

#[derive(Debug)]
struct Codex;

fn match_score(message: &Object<'_>) -> MatchScore {
    match line(message) {
        Some(CodexLine::WorldState | CodexLine::Other) => MatchScore::Neutral,
        Some(CodexLine::Meta) if message.get("payload").is_none() => MatchScore::Own("the first line of a session"),
        Some(CodexLine::Item(json, Some(_))) if json.span() == message.json.span() => MatchScore::Neutral,
        Some(_) => MatchScore::Own("the type and payload of a session's line"),
        None if is_skipped(message) => MatchScore::Skipped,
        None => MatchScore::Mismatch,
    }
}

fn read<'a>(message: &Object<'a>) -> Result<Message<'a>, String> {
    let json = message.json;
    match line(message) {
        Some(CodexLine::Item(item, None)) if is_from_agent(item) => {
            let content = items::content_of(&Object::of(item));
            let rest = RareFields::of_role(item.get_text("type"));
            Ok(Message { rest, ..items::message_of(json, Role::Other, content) })
        }
        Some(CodexLine::Item(item, None)) => {
            let part = Part { json: item, kind: foreign::part(item) };
            Ok(items::message_of(json, Role::Other, Content::Parts(Box::new([part]))))
        }
        Some(CodexLine::Item(item, _)) => {
            let mut read = items::item(&Object::of(item))?;
            // A call or result is its whole line.
            for call in &mut read.calls {
                call.json = json;
            }
            for answer in &mut read.results {
                answer.json = json;
                answer.denial = denial(item);
            }
            let role = if is_injected(&read) { Role::Developer } else { read.role };
            Ok(Message { json, role, ..read })
        }
        Some(CodexLine::Compacted(payload)) => {
            Ok(Message { earlier: true, ..items::message_of(json, Role::User, compacted(payload)) })
        }
        _ => Err("is not a line of a session that holds an item".to_owned()),
    }
}

fn groups(messages: &[Message<'_>]) -> Vec<(usize, usize)> {
    items::groups(messages.iter().map(|message| payload(message.json)))
}

/// The record that the user stopped a call: all that Codex writes then. Only its own tools cannot write it themselves.
fn denial(item: Json<'_>) -> Option<Box<Denial<'_>>> {
    const OWN_TOOLS: &str = "shell|shell_command|local_shell|container.exec|exec_command|apply_patch";
    const LONGEST: usize = 60;
    let output = item.get_text("output")?;
    if output.raw().len() > LONGEST {
        return None;
    }
    let output = output.decode();
    let (wall_time, stopped) = output.split_once('\n').unwrap_or(("Wall time: ", &output));
    let is_stopped = stopped == "aborted by user" || stopped.starts_with("aborted by user after ");
    if !is_stopped || !wall_time.starts_with("Wall time: ") {
        return None;
    }
    Some(Box::new(Denial::new(None).of_tools(OWN_TOOLS)))
}

fn result_output<'a>(_message: &Message<'a>, answer: &ResultRef<'a>) -> Option<CallOutput<'a>> {
    items::output(payload(answer.json))
}

fn provider_results<'a>(message: &Message<'a>) -> Vec<HostedResult<'a>> {
    items::hosted(payload(message.json))
}

fn write_summary(summary: &SummaryMessage<'_>, at: &InsertionPoint<'_, '_>) -> Vec<Value> {
    let item = items::summary(summary);
    // The timestamp and ordinal of the last removed message are free.
    let messages = &at.transcript.messages;
    let removed = (at.removed)();
    let last_removed = messages.iter().rfind(|message| removed.binary_search(&message.span().start).is_ok());
    let Some(before) = last_removed.or(messages.last()) else { return vec![item] };
    let line = before.json;
    if line.get("payload").is_none() {
        return vec![item];
    }
    let mut written = Map::new();
    for (key, value) in line.entries() {
        let key = key.decode().into_owned();
        let value = match key.as_str() {
            "type" => Some(Value::from("response_item")),
            "payload" => Some(item.clone()),
            "timestamp" | "ordinal" => Some(copied(value)),
            _ => None,
        };
        if let Some(value) = value {
            written.insert(key, value);
        }
    }
    vec![Value::Object(written)]
}

fn write_result(call: &Call<'_>, calling: &Message<'_>, text: &str) -> Option<NewResult> {
    let item = payload(calling.json);
    let item = match item.get_text("type") {
        // Codex answers it as a function.
        Some(kind) if kind.is("local_shell_call") => {
            serde_json::json!({"type": "function_call_output", "call_id": call.id?.decode(), "output": text})
        }
        _ => items::result(&Call { json: item, ..call.clone() }, text)?,
    };
    let Some(timestamp) = calling.json.get_text("timestamp") else { return Some(NewResult::Entry(item)) };
    Some(NewResult::Entry(
        serde_json::json!({"timestamp": timestamp.decode(), "type": "response_item", "payload": item}),
    ))
}

fn order(_envelope: Option<&Object<'_>>, messages: &[Message<'_>]) -> MessageOrder {
    let binds_reasoning = items::have_ids(messages.iter().map(|message| payload(message.json)));
    MessageOrder {
        binds_reasoning,
        call_ids: Spelling::Id(64),
        tool_names: Spelling::Word(64),
        groups_by_thinking: true,
        ..MessageOrder::of(ResultPlacement::Behind)
    }
}

impl Session for Codex {
    fn entries(&self, values: Items<'_>) -> Vec<EntryKind> {
        replay::entries(values)
    }

    fn line_step(&self, line: Json<'_>) -> Option<LineStep> {
        Some(replay::step(line))
    }

    /// Codex sets the last size that it recorded to what it now sends, and restores it when a session goes on.
    fn resets(&self, _summary: &[Value], at: &InsertionPoint<'_, '_>, tokens: &dyn Fn() -> u64) -> Vec<Reset> {
        let removed = (at.removed)();
        let mut resets = Vec::new();
        for note in &at.transcript.notes {
            if removed.binary_search(&note.json.span().start).is_err() {
                add_resets(note.json, tokens, &mut resets);
            }
        }
        resets
    }

    /// A compaction repeats messages of the user, and Codex replays their lines without it. It shortens some and writes
    /// instructions anew, so that their texts differ. A file that was shortened lacks the lines.
    fn compaction_entries<'a>(&self, transcript: &Transcript<'a>) -> Vec<CompactionEntry<'a>> {
        let notes = transcript.notes.iter().map(|note| note.json);
        let mut lines: Vec<Json<'a>> = notes.chain(transcript.messages.iter().map(|message| message.json)).collect();
        lines.sort_by_key(|line| line.span().start);
        let mut replay = LineReplay::default();
        let mut requests = Vec::new();
        let mut found = Vec::new();
        for json in lines {
            let object = Object::of(json);
            let number = match line(&object) {
                Some(CodexLine::Item(item, Some(_))) => usize::from(is_request(item)),
                Some(CodexLine::Compacted(payload)) => requests_repeated(payload),
                _ => 0,
            };
            if let Some(CodexLine::Compacted(payload)) = line(&object)
                && let Ok(message) = read(&object)
            {
                let mut is_restorable = false;
                if replay::has_list(payload) {
                    let restored: Vec<usize> = replay.remaining().map(|place| requests[place]).collect();
                    is_restorable = !restored.is_empty() && restored.iter().sum::<usize>() >= number;
                }
                found.push(CompactionEntry { message, is_restorable });
            }
            replay.add(replay::step(json));
            requests.push(number);
        }
        found
    }

    /// Reads an event with the size of the context. The input contains what was cached, and `total_token_usage` is a sum
    /// over all requests. After a compaction, Codex writes an estimate of what it now sends, as `resets` does: only the
    /// total is not 0.
    fn size_note<'a>(&self, note: Json<'a>) -> Option<SizeNote<'a>> {
        let event = payload(note);
        match event.get_text("type")?.decode().as_ref() {
            "context_compacted" | "thread_rolled_back" => Some(SizeNote::Smaller),
            "token_count" => {
                let usage = event.at(&["info", "last_token_usage"])?;
                let is_estimate = usage.get("input_tokens").is_some_and(|input| input.is_falsy());
                if is_estimate { Some(SizeNote::Smaller) } else { Usage::of(usage).map(SizeNote::Usage) }
            }
            _ => None,
        }
    }

    /// A compaction of Codex stands behind what it keeps, and ours resets what was recorded before it.
    fn age(&self, _entry: Json<'_>, _summary: &Message<'_>) -> Option<Age> {
        Some(Age::NewerIfSized)
    }

    fn no_longer_loaded<'a>(&self, transcript: &Transcript<'a>) -> Vec<Json<'a>> {
        unsent::no_longer_loaded(transcript)
    }
}

/// The kind of a line.
#[derive(Debug, Clone, Copy)]
enum CodexLine<'a> {
    /// An item, and its kind if known.
    Item(Json<'a>, Option<Item>),
    /// A compaction.
    Compacted(Json<'a>),
    /// The header of the session.
    Meta,
    /// The settings from this line on.
    Context,
    /// What the model knows of its instructions and its environment.
    WorldState,
    /// An event that Codex showed the user.
    Event(Json<'a>),
    Other,
}

/// The kind of a line; `None` if the value cannot be a line of a session.
fn line<'a>(value: &Object<'a>) -> Option<CodexLine<'a>> {
    if let Some(payload) = value.get("payload") {
        value.get("timestamp")?;
        let kind = value.get_text("type")?;
        if payload.kind() != JsonKind::Object {
            return Some(CodexLine::Other);
        }
        return Some(match kind.decode().as_ref() {
            "response_item" => CodexLine::Item(payload, items::kind(&Object::of(payload))),
            "compacted" => CodexLine::Compacted(payload),
            "session_meta" => CodexLine::Meta,
            "turn_context" => CodexLine::Context,
            "world_state" => CodexLine::WorldState,
            "event_msg" => CodexLine::Event(payload),
            _ => CodexLine::Other,
        });
    }
    if value.get("record_type").is_some()
        || has_texts(value, ["timestamp", "type"]) && value.json.entries().nth(2).is_none()
    {
        return Some(CodexLine::Other);
    }
    if non_null(value, "type").is_none() && value.get("role").is_none() && has_texts(value, ["id", "timestamp"]) {
        let has_session_member = value.get("instructions").is_some() || value.get("git").is_some();
        return if has_session_member { Some(CodexLine::Meta) } else { None };
    }
    // Items in requests may lack their type; items in sessions always have one.
    non_null(value, "type")?;
    items::kind(value).map(|kind| CodexLine::Item(value.json, Some(kind)))
}

fn has_texts(value: &Object<'_>, keys: [&str; 2]) -> bool {
    keys.iter().all(|key| value.get_text(key).is_some())
}

/// Whether Codex skips a value that is not a line of a session, and that is not a message of another format either.
fn is_skipped(value: &Object<'_>) -> bool {
    if value.json.kind() != JsonKind::Object {
        return true;
    }
    if non_null(value, "type").is_none() {
        return match_unknown(value) == MatchScore::Skipped;
    }
    let is_elsewhere = value.get("payload").is_some() || value.at(&["message", "role"]).is_some();
    !is_elsewhere && !is_foreign(value.json)
}

/// Whether an item is what a sub-agent sends to another agent. The model is sent it.
fn is_from_agent(item: Json<'_>) -> bool {
    item.member_is("type", background::FROM_AGENT) && item.get("content").is_some()
}

/// Whether an item of an unknown type is a message, call or result, and no mark of Codex.
fn is_foreign(item: Json<'_>) -> bool {
    item.member_is("type", "message")
        || item.get_text("role").is_some()
        || item.get_text("call_id").is_some()
        || foreign::could_be_call_or_result(item)
}

/// Adds the edits that set the last size in an event to a number of tokens.
fn add_resets(line: Json<'_>, tokens: &dyn Fn() -> u64, resets: &mut Vec<Reset>) {
    let event = payload(line);
    if !event.member_is("type", "token_count") {
        return;
    }
    let Some(usage) = event.at(&["info", "last_token_usage"]) else { return };
    for (key, value) in usage.entries() {
        if value.kind() != JsonKind::Number {
            continue;
        }
        let text = if key.is("total_tokens") { tokens().to_string() } else { "0".to_owned() };
        if text != value.raw() {
            let edit = Edit { range: value.span(), text };
            resets.push(Reset { kind: ResetKind::Size, entry: line.span().start, edit });
        }
    }
}

fn payload(line: Json<'_>) -> Json<'_> {
    line.get("payload").unwrap_or(line)
}

fn is_injected(message: &Message<'_>) -> bool {
    if message.role != Role::User {
        return false;
    }
    let Some(first) = message.content.texts().first().copied() else { return false };
    if !INJECTED.iter().any(|start| first.starts_with(start)) {
        return false;
    }
    // A person can write behind instructions that they paste.
    match first.decode().rsplit_once(INSTRUCTIONS_END) {
        Some((_, behind)) => behind.trim().is_empty(),
        None => true,
    }
}

/// Reads a compaction: its text, and the messages that it kept, if it has a list of them.
fn compacted(payload: Json<'_>) -> Content<'_> {
    let mut parts = Vec::new();
    for item in elements_of(payload, "replacement_history") {
        let Ok(item) = items::item(&Object::of(item)) else { continue };
        if is_injected(&item) {
            continue;
        }
        match item.compaction() {
            Some(compaction) => parts.push(Part { json: item.json, kind: PartKind::Compaction(compaction) }),
            None => add_texts_and_media(&item, &mut parts),
        }
    }
    if let Some(json) = payload.get("message")
        && let Some(text) = json.text()
        && !text.is_empty()
    {
        if parts.is_empty() {
            return Content::Text(text);
        }
        parts.push(Part { json, kind: PartKind::Text(text) });
    }
    Content::of_parts(parts.into())
}

/// The number of the user's messages that a compaction repeats, with its text as one.
fn requests_repeated(payload: Json<'_>) -> usize {
    let has_text = payload.get_text("message").is_some_and(|text| !text.is_empty());
    let requests = elements_of(payload, "replacement_history").filter(|item| is_request(*item));
    usize::from(has_text) + requests.count()
}

/// Whether the user says something in an item.
fn is_request(item: Json<'_>) -> bool {
    items::item(&Object::of(item)).is_ok_and(|read| read.role == Role::User && !is_injected(&read))
}

/// Adds the texts and media of an item, one part each.
fn add_texts_and_media<'a>(item: &Message<'a>, parts: &mut Vec<Part<'a>>) {
    item.content.pieces(&mut |_, piece| match (piece.text(), piece) {
        (Some(text), _) if !text.is_empty() => parts.push(Part { json: item.json, kind: PartKind::Text(text) }),
        (_, Piece::Media(kind, json)) => parts.push(Part { json, kind: PartKind::Media(kind) }),
        _ => {}
    });
}

#[cfg(test)]
mod tests;
