//! Sessions of Kimi Code (`wire.jsonl`): one event a line. Those of the context are the conversation.
//!
//! Kimi Code replays its lines when it resumes a session, and so does this reader. An answer of the model is a step,
//! spread over several lines: its beginning, a line for each part and each call, and its end. Each part and each call
//! is a message here, and they stay together. The other lines of a step go with them.
//!
//! `context.clear` and `context.undo` take messages back, and `context.apply_compaction` replaces them. What the replay
//! removes becomes an obsolete note. Programs append a copy of each message (`agent.message.appended`); Kimi Code does
//! not read these.

mod line;
mod replay;
#[cfg(test)]
mod tests;
mod unsent;

use serde_json::{Map, Value, json};

use line::Line;

use crate::compaction::{Reset, ResetKind};
use crate::edit::Edit;
use crate::format::{
    Age, EntryKind, Format, Hooks, InsertionPoint, MatchScore, NewResult, NewestVersion, OnBrokenLine, Session,
    SizeReset, SummaryMessage, SummaryPosition, Transcript,
};
use crate::formats::shared::blocks::{common_block, content};
use crate::formats::shared::fields::{copied, id, list, name, of_one_answer, role_in};
use crate::formats::shared::skipped::match_unknown;
use crate::json::{Items, Json, JsonKind, Object};
use crate::message::{Arguments, Call, CallPlace, Content, Message, Part, PartKind, RareFields, ResultRef, Role};
use crate::order::{OrderRule, ResultPlacement};
use crate::outputs::{CallOutput, OutputShape};
use crate::session_files::SessionFiles;
use crate::text::Text;
use crate::thin_list::ThinList;
use crate::usage::{Names, SizeNote, Usage};

const ROLES: [(&str, Role); 4] =
    [("user", Role::User), ("assistant", Role::Assistant), ("tool", Role::Tool), ("system", Role::System)];

/// The newest protocol whose lines this reader knows.
const PROTOCOL: (u32, u32) = (1, 5);

/// What was cached is counted beside the input.
const USAGE: Names =
    Names { read: "inputOther", cached: &["inputCacheRead", "inputCacheCreation"], written: "output", total: "" };

/// The format's row.
pub(super) static FORMAT: Format = Format {
    name: "kimi-code",
    about: "sessions of Kimi Code, ~/.kimi-code/sessions/…/agents/main/wire.jsonl",
    metadata_members: &["display", "disclosure", "origin"],
    usage: &[],
    unsent: unsent::FORMS,
    on_broken_line: Some(OnBrokenLine::Stop),
    newest_version: Some(NewestVersion {
        entry: "metadata",
        member: "protocol_version",
        noun: "protocol",
        newest: PROTOCOL,
    }),
    session_files: Some(SessionFiles {
        variable: "KIMI_CODE_HOME",
        home: ".kimi-code",
        folder: "sessions",
        is_session: |name| name == "wire.jsonl",
        parent: Some("main"),
        dependents: None,
    }),
    order: OrderRule::of(ResultPlacement::Behind),
    // Kimi Code sends what stands before a compaction behind its summary.
    summary_position: SummaryPosition::First,
    marks_summaries: true,
    size_reset: Some(SizeReset { to: "zero", why: "as Kimi Code does after a compaction" }),
    writes_results_directly_behind: true,
    hooks: Hooks { match_score, read, groups, result_output, write_summary, write_result, ..Hooks::NONE },
    session: &KimiCode,
    ..Format::DEFAULT
};

#[derive(Debug)]
struct KimiCode;

fn match_score(message: &Object<'_>) -> MatchScore {
    if message.json.kind() != JsonKind::Object {
        return MatchScore::Neutral;
    }
    match line::read(message) {
        Some(Line::Metadata) => MatchScore::Own("the first line of a session"),
        Some(line) if line.is_of_context() => MatchScore::Own("an event of the context in a line of a session"),
        // Kimi Code passes over lines of a type that it does not know.
        _ if message.get_text("type").is_none() => match_unknown(message),
        _ if message.get("role").is_none() => MatchScore::Neutral,
        _ => MatchScore::Mismatch,
    }
}

fn read<'a>(message: &Object<'a>) -> Result<Message<'a>, String> {
    let json = message.json;
    match line::read(message) {
        Some(Line::Message(inner)) => appended(json, &Object::of(inner)),
        Some(Line::Part { part, .. }) => {
            let kind = block(part, part.get_text("type").unwrap_or_else(|| Text::plain("")));
            let content = Content::Parts(Box::new([Part { json: part, kind }]));
            Ok(Message { role: Role::Assistant, content, ..Message::empty(json) })
        }
        Some(Line::Call { event, .. }) => {
            let arguments = event.get("args").map_or(Arguments::Absent, Arguments::Value);
            let name = event.get_text("name");
            let call = Call { json, id: id(event.get("toolCallId")), name, arguments, place: CallPlace::Content };
            Ok(Message { role: Role::Assistant, calls: ThinList::from(vec![call]), ..Message::empty(json) })
        }
        Some(Line::Result { event, .. }) => {
            let result = ResultRef::new(json, id(event.get("toolCallId")));
            let results = ThinList::from([result]);
            Ok(Message { role: Role::Tool, content: output_of(event), results, ..Message::empty(json) })
        }
        Some(Line::Compaction) => {
            let content = summary_of(message).ok_or("is a compaction without a summary")?;
            Ok(Message { role: Role::User, content, earlier: true, is_boundary: true, ..Message::empty(json) })
        }
        _ => Err("is not a line of a session with an event of the context".to_owned()),
    }
}

fn groups(messages: &[Message<'_>]) -> Vec<(usize, usize)> {
    let mut groups = of_one_answer(messages, |message| message.json.at(&["event", "stepUuid"])?.text());
    // Messages that a compaction kept stand before it, and it would drop our summary among them.
    let compaction = messages.iter().rposition(|message| message.is_boundary);
    if let Some(compaction) = compaction
        && compaction > 0
    {
        groups.push((0, compaction));
    }
    groups
}

fn result_output<'a>(message: &Message<'a>, _answer: &ResultRef<'a>) -> Option<CallOutput<'a>> {
    if let Some(inner) = message.json.get("message") {
        return CallOutput::in_content(inner, "text");
    }
    let result = message.json.at(&["event", "result"])?;
    let output = CallOutput::of(result.get("output"), OutputShape::Blocks("text"))?;
    Some(output.with_failure(result.member_is_true("isError")))
}

/// Writes a compaction that stands for no message of the file: the removed ones are gone, and the others follow it.
fn write_summary(summary: &SummaryMessage<'_>, at: &InsertionPoint<'_, '_>) -> Vec<Value> {
    let mut line = Map::new();
    let agent = at.neighbour().and_then(|neighbour| neighbour.get("agentId")).map(copied);
    line.insert("type".to_owned(), json!("context.apply_compaction"));
    line.insert("agentId".to_owned(), agent.unwrap_or_else(|| json!("main")));
    line.insert("summary".to_owned(), json!(summary.text));
    line.insert("compactedCount".to_owned(), json!(0));
    line.insert("tokensBefore".to_owned(), json!(tokens_before(at.transcript)));
    // The time tells which sizes were recorded before.
    if let Some(time) = latest(at.transcript) {
        line.insert("time".to_owned(), json!(time.saturating_add(1)));
    }
    vec![Value::Object(line)]
}

fn write_result(call: &Call<'_>, calling: &Message<'_>, text: &str) -> Option<NewResult> {
    let id = call.id?.decode();
    let mut line = Map::new();
    let in_message = calling.json.get("message").is_some();
    let kind = if in_message { "context.append_message" } else { "context.append_loop_event" };
    line.insert("type".to_owned(), json!(kind));
    if let Some(agent) = calling.json.get("agentId") {
        line.insert("agentId".to_owned(), copied(agent));
    }
    if in_message {
        let content = json!([{"type": "text", "text": text}]);
        let message = json!({"role": "tool", "content": content, "toolCalls": [], "toolCallId": id, "isError": true});
        line.insert("message".to_owned(), message);
    } else {
        let result = json!({"output": text, "isError": true});
        let mut event = json!({"type": "tool.result", "toolCallId": id, "result": result});
        if let Some(own) = calling.json.at(&["event", "uuid"]) {
            event["parentUuid"] = copied(own);
        }
        line.insert("event".to_owned(), event);
    }
    if let Some(time) = calling.json.get("time") {
        line.insert("time".to_owned(), copied(time));
    }
    Some(NewResult::Entry(Value::Object(line)))
}

impl Session for KimiCode {
    fn entries(&self, values: Items<'_>) -> Vec<EntryKind> {
        let mut replay = replay::Replay::default();
        for value in values {
            replay.add(value);
        }
        replay.entries()
    }

    /// Kimi Code records its sizes beside the number of messages that they are of. Behind a compaction neither holds, and
    /// it counts anew where both are zero.
    fn resets(&self, _summary: &[Value], at: &InsertionPoint<'_, '_>, _tokens: &dyn Fn() -> u64) -> Vec<Reset> {
        let removed = (at.removed)();
        let mut resets = Vec::new();
        for note in &at.transcript.notes {
            let entry = note.json.span().start;
            if removed.binary_search(&entry).is_ok() || !is_size(note.json) {
                continue;
            }
            for key in ["length", "tokens"] {
                if let Some(size) = note.json.get(key)
                    && size.kind() == JsonKind::Number
                    && size.raw() != "0"
                {
                    let edit = Edit { range: size.span(), text: "0".to_owned() };
                    resets.push(Reset { kind: ResetKind::Size, entry, edit });
                }
            }
        }
        resets
    }

    fn size_note<'a>(&self, note: Json<'a>) -> Option<SizeNote<'a>> {
        let object = Object::of(note);
        if is_size(note) {
            let is_smaller = object.member_is("type", "token_counting.rebased")
                || object.member_is("type", "token_counting.truncated");
            return if is_smaller { Some(SizeNote::Smaller) } else { None };
        }
        match line::read(&object)? {
            Line::StepEnd { event, .. } => Usage::named(&Object::of(event.get("usage")?), &USAGE).map(SizeNote::Usage),
            _ => None,
        }
    }

    /// Our summary stands before what is kept, and has a later time.
    fn age(&self, entry: Json<'_>, summary: &Message<'_>) -> Option<Age> {
        Some(Age::of_times(time_of(entry)?, time_of(summary.json)?))
    }
}

/// Reads a message that was appended whole.
fn appended<'a>(json: Json<'a>, inner: &Object<'a>) -> Result<Message<'a>, String> {
    let role_name = inner.get_text("role").ok_or("has no role")?;
    let role = role_in(&ROLES, role_name).unwrap_or(Role::Other);
    let role_name = if role == Role::Other { Some(role_name) } else { None };
    let mut read = Message { role, content: content(inner.get("content"), block), ..Message::empty(json) };
    read.rest = RareFields { role_name, name: name(inner), ..RareFields::default() }.boxed();
    read.earlier = inner.get("origin").is_some_and(|origin| origin.member_is("kind", "compaction_summary"));
    if role == Role::Assistant {
        read.calls = list(inner, "toolCalls").map(listed_call).collect();
    }
    if role == Role::Tool {
        read.results = ThinList::from([ResultRef::new(json, id(inner.get("toolCallId")))]);
    }
    Ok(read)
}

/// Reads a call beside the content of a message. Protocol 1.0 has its name and its arguments in an object.
fn listed_call(json: Json<'_>) -> Call<'_> {
    let function = match json.get("function") {
        Some(function) if function.kind() == JsonKind::Object => function,
        _ => json,
    };
    Call {
        json,
        id: id(json.get("id")),
        name: function.get_text("name"),
        arguments: Arguments::of(function.get("arguments")),
        place: CallPlace::List,
    }
}

fn block<'a>(json: Json<'a>, kind: Text<'a>) -> PartKind<'a> {
    if kind.is("think") {
        return PartKind::Reasoning(json.get_text("think").unwrap_or_else(|| Text::plain("")));
    }
    common_block(json, kind)
}

/// Reads what a tool returned, and what Kimi Code notes behind it for the model.
fn output_of<'a>(event: Json<'a>) -> Content<'a> {
    let Some(result) = event.get("result") else { return Content::empty() };
    let output = content(result.get("output"), block);
    let Some(json) = result.get("note") else { return output };
    let Some(text) = json.text() else { return output };
    if text.is_empty() {
        return output;
    }
    let mut parts = match output {
        Content::Text(text) => {
            let json = result.get("output").unwrap_or(result);
            vec![Part { json, kind: PartKind::Text(text) }]
        }
        Content::Parts(parts) => parts.into_vec(),
    };
    parts.push(Part { json, kind: PartKind::Text(text) });
    Content::Parts(parts.into())
}

/// The summary of a compaction, as Kimi Code sends it.
fn summary_of<'a>(line: &Object<'a>) -> Option<Content<'a>> {
    let text = line.get_text("contextSummary").or_else(|| line.get_text("summary"));
    match text {
        Some(text) => Some(Content::Text(text)),
        None => Some(content(Some(line.get("summary")?.get("content")?), block)),
    }
}

/// Whether a line records the size of the context.
fn is_size(line: Json<'_>) -> bool {
    line.get_text("type").is_some_and(|kind| kind.starts_with("token_counting."))
}

fn time_of(line: Json<'_>) -> Option<u64> {
    line.get("time")?.raw().parse().ok()
}

/// The latest time of the lines, in milliseconds.
fn latest(transcript: &Transcript<'_>) -> Option<u64> {
    transcript.entries().filter_map(time_of).max()
}

/// The size of the context before a compaction, as the last line that has one tells it.
fn tokens_before(transcript: &Transcript<'_>) -> u64 {
    let mut last = 0;
    for note in &transcript.notes {
        if is_size(note.json)
            && let Some(tokens) = note.json.get("tokens").and_then(|tokens| tokens.raw().parse().ok())
        {
            last = tokens;
        }
    }
    last
}
