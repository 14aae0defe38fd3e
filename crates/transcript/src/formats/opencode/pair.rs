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
    let removed = (at.removed)();
    let messages = &at.transcript.messages;
    let stays = |message: &Json<'_>| removed.binary_search(&message.span().start).is_err();
    let first = messages.iter().map(|message| message.json).find(stays);
    let first = first.or_else(|| messages.last().map(|message| message.json));
    let session = session_id(at, first);
    // A message that is only measured has no time.
    let time = first.and_then(created).unwrap_or_default().max(2);
    let first_id = first.and_then(|first| first.at(&["info", "id"])?.text());
    let first_id = first_id.map_or_else(String::new, |id| id.decode().into_owned());
    let digest = digest(&[text, "\n", &session, "\n", &first_id]);
    let id = |kind: &str, number: u8| new_id(kind, time - 2, number, &digest);
    let (marker, summary) = (id("msg", 1), id("msg", 2));
    let answered = Answering::of(at, first);
    let part = |kind: &str, number: u8, message: &str, part: Value| {
        let mut part = part;
        part["id"] = json!(id(kind, number));
        part["sessionID"] = json!(session);
        part["messageID"] = json!(message);
        part
    };
    let asks = json!({
        "info": {
            "role": "user",
            "time": {"created": time - 2},
            "agent": answered.agent,
            "model": {"providerID": answered.provider, "modelID": answered.model},
            "id": marker,
            "sessionID": session,
        },
        "parts": [part("prt", 1, &marker, json!({"type": "compaction", "auto": false}))],
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
        "parts": [part("prt", 2, &summary, json!({"type": "text", "text": text}))],
    });
    vec![asks, answers]
}

/// The id of the session: that of its messages, or of the session itself.
fn session_id(at: &InsertionPoint<'_, '_>, first: Option<Json<'_>>) -> String {
    let of_message = first.and_then(|first| first.at(&["info", "sessionID"])?.text());
    let of_session = || at.transcript.envelope?.at(&["info", "id"])?.text();
    of_message.or_else(of_session).map_or_else(String::new, |id| id.decode().into_owned())
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
        let behind = at.transcript.messages.iter().skip(at.cutoff).map(|message| message.json);
        let before = at.transcript.messages.iter().take(at.cutoff).rev().map(|message| message.json);
        let infos = first.into_iter().chain(behind).chain(before).filter_map(|message| message.get("info"));
        let find = |paths: [&[&str]; 2]| {
            let in_info = |info: Json<'_>| paths.iter().find_map(|path| info.at(path)).map(copied);
            infos.clone().find_map(in_info)
        };
        let directory = at.transcript.envelope.and_then(|envelope| envelope.at(&["info", "directory"]));
        let directory = directory.map_or_else(|| json!("/"), copied);
        Answering {
            agent: find([&["agent"], &["mode"]]).unwrap_or_else(|| json!("build")),
            provider: find([&["model", "providerID"], &["providerID"]]).unwrap_or_else(|| json!("unknown")),
            model: find([&["model", "modelID"], &["modelID"]]).unwrap_or_else(|| json!("unknown")),
            path: find([&["path"], &["path"]]).unwrap_or_else(|| json!({"cwd": directory, "root": directory})),
        }
    }
}

/// An id like those of opencode, which begin with their time and go on at random; ours depends only on the texts.
fn new_id(kind: &str, time: i64, number: u8, digest: &str) -> String {
    const MASK: u64 = (1 << 48) - 1;
    let time = (time.unsigned_abs().wrapping_mul(0x1000) + u64::from(number)) & MASK;
    format!("{kind}_{time:012x}{}", &digest[..14])
}

/// The edits that set the sizes of an answer to zero.
pub(super) fn resets(message: Json<'_>) -> Vec<Reset> {
    const SIZES: [&[&str]; 6] =
        [&["total"], &["input"], &["output"], &["reasoning"], &["cache", "read"], &["cache", "write"]];
    let Some(tokens) = message.at(&["info", "tokens"]) else { return Vec::new() };
    let mut resets = Vec::new();
    for path in SIZES {
        let size = tokens.at(path).filter(|size| size.kind() == JsonKind::Number && size.raw() != "0");
        resets.extend(size.map(|size| Reset {
            kind: ResetKind::Size,
            entry: message.span().start,
            edit: Edit { range: size.span(), text: "0".to_owned() },
        }));
    }
    resets
}
