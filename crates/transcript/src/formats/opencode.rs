//! Sessions of opencode, as `opencode export` writes them and `opencode import` takes them: an object with the session and
//! its messages, each with its parts. The server gives the same messages as a bare list.
//!
//! A call and its result are one part, so no cut splits them. A compaction is a pair: a message of the user with a part
//! `compaction`, and the answer with the summary. [`sent`] tells what opencode sends of all that, [`parts`] reads what a
//! message is made of, and [`pair`] writes a compaction.

mod pair;
mod parts;
mod sent;
mod unsent;

use serde_json::{Value, json};

use crate::compaction::Reset;
use crate::edit::Edit;
use crate::format::{
    Age, Attachments, EntryKind, EnvelopeRule, EnvelopeScore, Format, Hooks, InsertionPoint, MatchScore, Session,
    SizeReset, SummaryMessage, SummaryPosition, TextBlock, Transcript,
};
use crate::formats::shared::fields::{copied, list, role_in};
use crate::json::{Items, Json, JsonKind, Object};
use crate::message::{Content, Message, RareFields, ResultRef, Role};
use crate::order::{OrderRule, ResultPlacement};
use crate::outputs::{CallOutput, OutputShape};
use crate::usage::{Usage, UsageAt};

/// The format's row.
pub(super) static FORMAT: Format = Format {
    name: "opencode",
    about: "sessions that opencode exports and imports",
    envelope: &[EnvelopeRule::Values(match_envelope)],
    metadata_members: &["info", "title", "snapshot", "source"],
    unsent: unsent::FORMS,
    usage: &[UsageAt { read: usage, ..UsageAt::path(&["info", "tokens"]) }],
    // A call holds its result. opencode writes one itself for a call that has none.
    order: OrderRule::of(ResultPlacement::Unchecked),
    // opencode sends nothing that stands before a compaction.
    summary_position: SummaryPosition::First,
    marks_summaries: true,
    size_reset: Some(SizeReset { to: "zero", why: "so that opencode does not compact again at once" }),
    text_block: TextBlock::Written(write_text_block),
    attachments: Some(Attachments::Read { list: parts::first_attachments, append_line }),
    hooks: Hooks { match_score, read, groups, result_output, write_summary, refusal, ..Hooks::NONE },
    session: &OpenCode,
    ..Format::DEFAULT
};

#[derive(Debug)]
struct OpenCode;

fn match_score(message: &Object<'_>) -> MatchScore {
    let has_parts = message.get("parts").is_some_and(|parts| parts.kind() == JsonKind::Array);
    let role = message.at(&["info", "role"]).and_then(|role| role.text());
    if has_parts && role.is_some_and(|role| role_in(&ROLES, role).is_some()) {
        MatchScore::Own("info and parts")
    } else {
        MatchScore::Mismatch
    }
}

fn read<'a>(message: &Object<'a>) -> Result<Message<'a>, String> {
    let info = message.get("info").ok_or("has no `info`")?;
    let role_name = info.get_text("role").ok_or("has no role")?;
    let role = role_in(&ROLES, role_name).unwrap_or(Role::Other);
    let mut read = parts::Reader::default();
    for part in list(message, "parts") {
        if role == Role::Assistant {
            read.add_of_model(part);
        } else {
            read.add_of_user(part);
        }
    }
    let is_summary = sent::is_finished_summary(info);
    Ok(Message {
        role,
        content: Content::of_parts(read.content.into()),
        calls: read.calls.into(),
        results: read.results.into(),
        rest: RareFields::of_role(if role == Role::Other { Some(role_name) } else { None }),
        earlier: is_summary,
        is_boundary: is_summary,
        ..Message::empty(message.json)
    })
}

/// Ties the messages that opencode's own compaction kept to its summary, which stands behind them and is sent first.
fn groups(messages: &[Message<'_>]) -> Vec<(usize, usize)> {
    match messages.iter().rposition(|message| message.earlier) {
        Some(summary) if summary > 0 => vec![(0, summary)],
        _ => Vec::new(),
    }
}

fn result_output<'a>(_message: &Message<'a>, answer: &ResultRef<'a>) -> Option<CallOutput<'a>> {
    let state = answer.json;
    let value = parts::output(state)?;
    let copy = state.at(&["metadata", "output"]).filter(|copy| copy.span() != value.span());
    let output = CallOutput::of(Some(value), OutputShape::Blocks("text"))?;
    Some(output.with_failure(state.member_is("status", "error")).with_copies(copy))
}

fn write_summary(summary: &SummaryMessage<'_>, at: &InsertionPoint<'_, '_>) -> Vec<Value> {
    pair::written(summary.text, at)
}

fn match_envelope(envelope: &Object<'_>) -> EnvelopeScore {
    let id = envelope.at(&["info", "id"]).and_then(|id| id.text());
    let is_session = id.is_some_and(|id| id.starts_with("ses_")) && envelope.get("messages").is_some();
    if is_session { EnvelopeScore::Sure } else { EnvelopeScore::Unknown }
}

/// What was cached is counted beside the input, and reasoning beside the output.
fn usage(tokens: Json<'_>) -> Option<Usage<'_>> {
    let cached = count(tokens, &["cache", "read"]).saturating_add(count(tokens, &["cache", "write"]));
    let reasoning = count(tokens, &["reasoning"]);
    let written = count(tokens, &["output"]).saturating_add(reasoning);
    Usage::possible(count(tokens, &["input"]).saturating_add(cached), written, reasoning)
}

fn count(tokens: Json<'_>, path: &[&str]) -> u64 {
    let Some(count) = tokens.at(path) else { return 0 };
    count.raw().parse().unwrap_or(0)
}

fn write_text_block(part: Json<'_>, text: &str) -> Option<Value> {
    let mut block = json!({"type": "text", "text": text});
    for key in ["id", "sessionID", "messageID"] {
        block[key] = copied(part.get(key)?);
    }
    Some(block)
}

/// Appends the line to the output of the call with the attachments.
fn append_line(message: &Message<'_>, line: &str) -> Option<Edit> {
    let list = parts::first_attachments(message)?.span();
    let result = message.results.iter().find(|result| result.json.span().contains(&list.start))?;
    let output = parts::output(result.json)?;
    let text = output.text()?.decode();
    let text = if text.is_empty() { line.to_owned() } else { format!("{text}\n{line}") };
    Some(Edit { range: output.span(), text: Value::from(text).to_string() })
}

fn refusal(transcript: &Transcript<'_>) -> Option<String> {
    let revert = transcript.envelope.and_then(|envelope| envelope.at(&["info", "revert"]));
    if let Some(revert) = revert
        && !revert.is_falsy()
    {
        let place = match revert.get_text("messageID") {
            Some(id) => format!(" to {}", id.decode()),
            None => String::new(),
        };
        return Some(format!(
            "you went back{place}, and opencode forgets what follows at your next message; send one or use /redo, and export again"
        ));
    }
    if sent::is_out_of_order(&transcript.entries_in_order()) {
        return Some("its messages are not in the order of their times, in which opencode sends them".to_owned());
    }
    None
}

impl Session for OpenCode {
    fn entries(&self, values: Items<'_>) -> Vec<EntryKind> {
        let messages: Vec<Object<'_>> = values.map(Object::of).collect();
        sent::entries(&messages)
    }

    /// opencode takes the size of the last answer for that of the context, and would compact again at once.
    fn resets(&self, _summary: &[Value], at: &InsertionPoint<'_, '_>, _tokens: &dyn Fn() -> u64) -> Vec<Reset> {
        let removed = (at.removed)();
        let mut resets = Vec::new();
        for message in &at.transcript.messages {
            if removed.binary_search(&message.span().start).is_err() {
                resets.extend(pair::resets(message.json));
            }
        }
        resets
    }

    /// What opencode's own compaction kept stands before its summary, and ours resets the sizes of what it keeps.
    fn age(&self, _entry: Json<'_>, _summary: &Message<'_>) -> Option<Age> {
        Some(Age::NewerIfSized)
    }
}
const ROLES: [(&str, Role); 2] = [("user", Role::User), ("assistant", Role::Assistant)];

#[cfg(test)]
mod tests;
