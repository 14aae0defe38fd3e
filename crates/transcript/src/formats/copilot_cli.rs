//! Sessions of GitHub Copilot CLI: `events.jsonl`, one event a line.
//!
//! Of some seventy types of events a few are sent to the model: what the user says, answers with their calls, results,
//! notices, and compactions, which replace all before them. [`sent`] tells which, and [`events`] reads one.

mod events;
mod sent;
mod unsent;

use std::borrow::Cow;

use serde_json::{Value, json};

use crate::edit::Edit;
use crate::format::{
    Age, Attachments, EntryKind, Format, Hooks, InsertionPoint, MatchScore, OnBrokenLine, Session, SummaryMessage,
    SummaryPosition, TextBlock, Transcript,
};
use crate::formats::shared::fields::{copied, of_one_answer};
use crate::formats::shared::links::{LinkKeys, uuid};
use crate::formats::shared::skipped::match_unknown;
use crate::frame::Frame;
use crate::json::{Items, Json, JsonKind, Object};
use crate::message::{Message, ResultRef};
use crate::order::{OrderRule, ResultPlacement};
use crate::outputs::{CallOutput, OutputShape};
use crate::session_files::SessionFiles;
use crate::time;
use crate::usage::{SizeNote, Usage};

const KEYS: LinkKeys = LinkKeys { id: "id", parent: "parentId" };

/// What Copilot writes into the user's message, and in the user's place.
const FRAMES: [Frame; 5] = [
    Frame::Tag("<current_datetime>", "</current_datetime>"),
    Frame::Tag("<system_notification>", "</system_notification>"),
    Frame::Tag("<tagged_files>", "</tagged_files>"),
    Frame::Tag("<user_shell_command_output>", "</user_shell_command_output>"),
    Frame::Opening("Some of the conversation history has been summarized to free up context."),
];

/// The format's row.
pub(super) static FORMAT: Format = Format {
    name: "copilot-cli",
    about: "sessions of GitHub Copilot CLI (events.jsonl)",
    metadata_members: &events::METADATA,
    usage: &[],
    frames: &FRAMES,
    unsent: unsent::FORMS,
    on_broken_line: Some(OnBrokenLine::Skip),
    session_files: Some(SessionFiles {
        variable: "COPILOT_HOME",
        home: ".copilot",
        folder: "session-state",
        is_session: |name| name == "events.jsonl",
        parent: None,
        dependents: None,
    }),
    // Copilot drops results without a call, and answers calls without a result itself.
    order: OrderRule::of(ResultPlacement::Unchecked),
    // Of what stands before a compaction, Copilot quotes the user and sends nothing else.
    summary_position: SummaryPosition::First,
    marks_summaries: true,
    text_block: TextBlock::Impossible,
    attachments: Some(Attachments::Read { list: |message| events::attachments(message.json), append_line }),
    hooks: Hooks { match_score, read, groups, result_output, write_summary, ..Hooks::NONE },
    session: &CopilotCli,
    ..Format::DEFAULT
};

#[derive(Debug)]
struct CopilotCli;

fn match_score(message: &Object<'_>) -> MatchScore {
    if message.json.kind() != JsonKind::Object {
        return MatchScore::Neutral;
    }
    let has_data = message.get("data").is_some_and(|data| data.kind() == JsonKind::Object);
    let is_event = has_data && ["id", "timestamp", "parentId"].iter().all(|key| message.get(key).is_some());
    match message.get_text("type") {
        Some(kind) if is_event && (events::is_known(kind) || kind.is("session.start")) => {
            MatchScore::Own("an event of a session")
        }
        Some(_) if is_event => MatchScore::Neutral,
        Some(kind) if events::is_known(kind) || kind.is("session.start") => MatchScore::Mismatch,
        Some(_) if message.get("role").is_some() || message.at(&["message", "role"]).is_some() => MatchScore::Mismatch,
        Some(_) => MatchScore::Skipped,
        None => match_unknown(message),
    }
}

fn read<'a>(message: &Object<'a>) -> Result<Message<'a>, String> {
    events::message(message)
}

/// Ties what Copilot quotes of the user to the compaction behind it, and the pieces of one answer to each other.
fn groups(messages: &[Message<'_>]) -> Vec<(usize, usize)> {
    let summary = messages.iter().rposition(|message| message.earlier);
    let mut groups = of_one_answer(messages, |message| message.json.at(&["data", "apiCallId"])?.text());
    if let Some(summary) = summary
        && summary > 0
    {
        groups.push((0, summary));
    }
    groups
}

fn result_output<'a>(message: &Message<'a>, _answer: &ResultRef<'a>) -> Option<CallOutput<'a>> {
    const COPIES: [&str; 4] = ["detailedContent", "contents", "structuredContent", "uiResource"];
    let data = message.json.get("data")?;
    let output = CallOutput::of(events::output(data), OutputShape::Blocks("text"))?;
    if !events::has_succeeded(data) {
        return Some(output.with_failure(true));
    }
    let result = data.get("result");
    Some(output.with_copies(COPIES.iter().filter_map(|key| result?.get(key))))
}

/// Writes the event that Copilot writes after a compaction, with the members that it reads. Its time is later than
/// that of all that stays, so that sizes recorded before it are told from later ones.
fn write_summary(summary: &SummaryMessage<'_>, at: &InsertionPoint<'_, '_>) -> Vec<Value> {
    let links = at.links(KEYS);
    let neighbour = at.neighbour();
    let id = match links.kept.iter().find_map(|entry| links.removed_parent(*entry)) {
        Some(id) if is_uuid(&id) => id,
        _ => Cow::Owned(uuid(&[summary.text, neighbour.map_or("", |line| line.raw())])),
    };
    let parent = match links.kept.first() {
        Some(start) if start.member_is("type", "session.start") => start.get("id").map(copied),
        _ => None,
    };
    let timestamp = match time_behind(&links.kept) {
        Some(time) => Some(Value::from(time)),
        None => neighbour.and_then(|line| line.get("timestamp")).map(copied),
    };
    vec![json!({
        "type": "session.compaction_complete",
        "data": {"success": true, "summaryContent": summary.text},
        "id": id,
        "timestamp": timestamp,
        "parentId": parent,
    })]
}

/// A time behind those of all lines.
fn time_behind(lines: &[Json<'_>]) -> Option<String> {
    let latest = lines.iter().filter_map(|line| written(*line)).max()?;
    time::in_utc(latest.checked_add(1)?)
}

/// Appends the line to what is sent: the text of the user, or the output of a tool.
fn append_line(message: &Message<'_>, line: &str) -> Option<Edit> {
    let data = message.json.get("data")?;
    let text = events::sent_text(data).or_else(|| events::output(data))?;
    let new = format!("{}\n{line}", text.text()?.decode());
    Some(Edit { range: text.span(), text: Value::from(new.trim_start_matches('\n')).to_string() })
}

impl Session for CopilotCli {
    fn entries(&self, values: Items<'_>) -> Vec<EntryKind> {
        let lines: Vec<Object<'_>> = values.map(Object::of).collect();
        sent::entries(&lines)
    }

    /// Reads the size of the context that Copilot records when a session ends.
    fn size_note<'a>(&self, note: Json<'a>) -> Option<SizeNote<'a>> {
        if !note.member_is("type", "session.shutdown") {
            return None;
        }
        let size = note.at(&["data", "currentTokens"])?;
        Usage::possible(size.raw().parse().ok()?, 0, 0).map(SizeNote::Usage)
    }

    fn no_longer_loaded<'a>(&self, transcript: &Transcript<'a>) -> Vec<Json<'a>> {
        unsent::no_longer_loaded(transcript)
    }

    fn age(&self, entry: Json<'_>, summary: &Message<'_>) -> Option<Age> {
        Some(Age::of_times(written(entry)?, written(summary.json)?))
    }
}

/// When a line was written, in milliseconds.
fn written(line: Json<'_>) -> Option<i64> {
    time::milliseconds(&line.get_text("timestamp")?.decode())
}

/// Whether a text is a UUID. Copilot loads no session with another id.
fn is_uuid(text: &str) -> bool {
    const LENGTH: usize = 36;
    text.len() == LENGTH && crate::session_files::ends_with_uuid(text)
}

#[cfg(test)]
mod tests;
