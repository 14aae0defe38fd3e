//! The lines of a session of Kimi Code: what each one does to the context.

use crate::json::{Json, JsonKind, Object};

/// What a line does.
#[derive(Debug, Clone, Copy)]
pub(super) enum Line<'a> {
    /// It names the protocol.
    Metadata,
    /// It appends a message.
    Message(Json<'a>),
    StepBegin {
        event: Json<'a>,
    },
    /// It is a part of what a model answered.
    Part {
        event: Json<'a>,
        part: Json<'a>,
    },
    Call {
        event: Json<'a>,
    },
    Result {
        event: Json<'a>,
    },
    StepEnd {
        event: Json<'a>,
    },
    /// A summary replaces messages.
    Compaction,
    /// All messages are taken back.
    Clear,
    /// The user takes back the last prompts.
    Undo(u64),
    /// A mode ends, and its reminder is taken back.
    SwarmExit,
    /// It repeats the prompt of the message behind it.
    Prompt,
    /// It tells what happened, and nothing depends on it.
    Log,
    /// It sets something from there on.
    State,
}

/// What lines tell that only describe what happened: how their types begin.
const LOGS: [&str; 9] = [
    "agent.",
    "context.",
    "full_compaction.",
    "llm.",
    "micro_compaction.",
    "prompt.",
    "token_counting.",
    "turn.",
    "usage.",
];

impl Line<'_> {
    /// Whether the line changes the context.
    pub(super) fn is_of_context(&self) -> bool {
        !matches!(self, Line::Metadata | Line::SwarmExit | Line::Prompt | Line::Log | Line::State)
    }
}

/// Reads a line; `None` if it is not one of a session.
pub(super) fn read<'a>(line: &Object<'a>) -> Option<Line<'a>> {
    let kind = line.get_text("type")?;
    let kind = kind.decode();
    match kind.as_ref() {
        "metadata" if line.get("protocol_version").is_some() => Some(Line::Metadata),
        "metadata" => None,
        "context.append_message" => match line.get("message") {
            Some(message) if message.get_text("role").is_some() => Some(Line::Message(message)),
            _ => Some(Line::Log),
        },
        "context.append_loop_event" => Some(line.get("event").and_then(of_event).unwrap_or(Line::Log)),
        "context.apply_compaction" => Some(if is_whole_compaction(line) { Line::Compaction } else { Line::Log }),
        "context.clear" => Some(Line::Clear),
        "context.undo" => match line.get("count").map(|count| count.raw().parse()) {
            Some(Ok(count)) if count > 0 => Some(Line::Undo(count)),
            _ => Some(Line::Log),
        },
        "swarm_mode.exit" => Some(Line::SwarmExit),
        "turn.prompt" | "turn.steer" => Some(Line::Prompt),
        _ if LOGS.iter().any(|start| kind.starts_with(start)) => Some(Line::Log),
        _ if kind.contains('.') => Some(Line::State),
        _ => None,
    }
}

fn of_event(event: Json<'_>) -> Option<Line<'_>> {
    let kind = event.get_text("type")?;
    let line = match kind.decode().as_ref() {
        "step.begin" => Line::StepBegin { event },
        "step.end" => Line::StepEnd { event },
        "content.part" => {
            let part = event.get("part")?;
            if part.kind() != JsonKind::Object {
                return None;
            }
            Line::Part { event, part }
        }
        "tool.call" => Line::Call { event },
        "tool.result" => Line::Result { event },
        _ => return None,
    };
    Some(line)
}

/// Whether a compaction has all that Kimi Code needs of it: a summary, and how many messages it stands for.
fn is_whole_compaction(line: &Object<'_>) -> bool {
    if !is_number(line, "compactedCount") && !is_number(line, "count") {
        return false;
    }
    if line.get_text("contextSummary").is_some() || line.get_text("summary").is_some() {
        return true;
    }
    // The summary can be a message.
    line.at(&["summary", "content"]).is_some_and(|content| content.kind() == JsonKind::Array)
}

fn is_number(line: &Object<'_>, key: &str) -> bool {
    line.get(key).is_some_and(|value| value.kind() == JsonKind::Number)
}
