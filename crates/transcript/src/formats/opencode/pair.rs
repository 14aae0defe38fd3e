//! Writes a compaction as opencode does: a message of the user that marks it, and the answer with the summary. Both have
//! all members that an import wants, and their times are before that of what follows them.
//!
//! Also: the sizes that answers record, which opencode would take for that of the context.

use serde_json::{Value, json};

use crate::compaction::{Reset, ResetKind};
use crate::edit::Edit;
use crate::format::InsertionPoint;
use crate::formats::opencode::sent::created;
use crate::formats::shared::fields::{copied, digest};
use crate::json::{Json, JsonKind};

/// The entries of a compaction with this summary.
pub(super) fn written(text: &str, at: &InsertionPoint<'_, '_>) -> Vec<Value> {
    let first = first_that_stays(at);
    let session = session_id(at, first);
    // A message that is only measured has no time.
    let time = first.and_then(created).unwrap_or_default().max(2);
    let first_id = text_at(first, &["info", "id"]).unwrap_or_default();
    let ids = Ids { time: time - 2, digest: digest(&[text, "\n", &session, "\n", &first_id]) };
    let (marker, summary) = (ids.new_id("msg", 1), ids.new_id("msg", 2));
    let answered = Answering::of(at, first);
    let asks = json!({
        "info": {
            "role": "user",
            "time": {"created": time - 2},
            "agent": answered.agent,
            "model": {"providerID": answered.provider, "modelID": answered.model},
            "id": marker,
            "sessionID": session,
        },
        "parts": [{
            "type": "compaction",
            "auto": false,
            "id": ids.new_id("prt", 1),
            "sessionID": session,
            "messageID": marker,
        }],
    });
    let answers = json!({
        "info": {
            "role": "assistant",
            "parentID": marker,
            "mode": "compaction",
            "agent": "compaction",
            "summary": true,
            "path": answered.path,
            "cost": 0,
            "tokens": {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}},
            "modelID": answered.model,
            "providerID": answered.provider,
            "time": {"created": time - 1, "completed": time - 1},
            "finish": "stop",
            "id": summary,
            "sessionID": session,
        },
        "parts": [{
            "type": "text",
            "text": text,
            "id": ids.new_id("prt", 2),
            "sessionID": session,
            "messageID": summary,
        }],
    });
    vec![asks, answers]
}

/// The first message that stays, or else the last one.
fn first_that_stays<'a>(at: &InsertionPoint<'_, 'a>) -> Option<Json<'a>> {
    let removed = (at.removed)();
    for message in &at.transcript.messages {
        if removed.binary_search(&message.span().start).is_err() {
            return Some(message.json);
        }
    }
    at.transcript.messages.last().map(|message| message.json)
}

/// The id of the session: that of its messages, or of the session itself.
fn session_id(at: &InsertionPoint<'_, '_>, first: Option<Json<'_>>) -> String {
    if let Some(id) = text_at(first, &["info", "sessionID"]) {
        return id;
    }
    text_at(at.transcript.envelope, &["info", "id"]).unwrap_or_default()
}

fn text_at(json: Option<Json<'_>>, path: &[&str]) -> Option<String> {
    Some(json?.at(path)?.text()?.decode().into_owned())
}

/// Who answers a message, and where.
struct Answering {
    agent: Value,
    provider: Value,
    model: Value,
    path: Value,
}

impl Answering {
    /// Takes each value from the first message that stays, or else from the nearest that has it.
    fn of(at: &InsertionPoint<'_, '_>, first: Option<Json<'_>>) -> Self {
        let (before, behind) = at.transcript.messages.split_at(at.cutoff.min(at.transcript.messages.len()));
        let mut infos = Vec::new();
        if let Some(first) = first {
            infos.extend(first.get("info"));
        }
        for message in behind.iter().chain(before.iter().rev()) {
            infos.extend(message.json.get("info"));
        }
        let directory = at.transcript.envelope.and_then(|envelope| envelope.at(&["info", "directory"]));
        let directory = match directory {
            Some(directory) => copied(directory),
            None => json!("/"),
        };
        let path = json!({"cwd": directory, "root": directory});
        Answering {
            agent: nearest(&infos, &[&["agent"], &["mode"]]).unwrap_or(json!("build")),
            provider: nearest(&infos, &[&["model", "providerID"], &["providerID"]]).unwrap_or(json!("unknown")),
            model: nearest(&infos, &[&["model", "modelID"], &["modelID"]]).unwrap_or(json!("unknown")),
            path: nearest(&infos, &[&["path"]]).unwrap_or(path),
        }
    }
}

/// The value at one of some paths in the first of some objects that has one.
fn nearest(infos: &[Json<'_>], paths: &[&[&str]]) -> Option<Value> {
    for info in infos {
        for path in paths {
            if let Some(value) = info.at(path) {
                return Some(copied(value));
            }
        }
    }
    None
}

/// What new ids are made of: they begin with their time, as those of opencode do. Those go on at random, and ours depend
/// only on the texts.
struct Ids {
    time: i64,
    digest: String,
}

impl Ids {
    fn new_id(&self, kind: &str, number: u8) -> String {
        const MASK: u64 = (1 << 48) - 1;
        let time = (self.time.unsigned_abs().wrapping_mul(0x1000) + u64::from(number)) & MASK;
        format!("{kind}_{time:012x}{}", &self.digest[..14])
    }
}

/// The edits that set the sizes of an answer to zero.
pub(super) fn resets(message: Json<'_>) -> Vec<Reset> {
    const SIZES: [&[&str]; 6] =
        [&["total"], &["input"], &["output"], &["reasoning"], &["cache", "read"], &["cache", "write"]];
    let Some(tokens) = message.at(&["info", "tokens"]) else { return Vec::new() };
    let mut resets = Vec::new();
    for path in SIZES {
        if let Some(size) = tokens.at(path)
            && size.kind() == JsonKind::Number
            && size.raw() != "0"
        {
            let edit = Edit { range: size.span(), text: "0".to_owned() };
            resets.push(Reset { kind: ResetKind::Size, entry: message.span().start, edit });
        }
    }
    resets
}
