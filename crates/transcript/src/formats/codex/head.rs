//! The first line of a session of Codex, which says what the file is a part of.

use crate::format::Transcript;
use crate::formats::codex::FORMAT;
use crate::json::Json;
use crate::session_files::{HistoryBase, SessionHead};
use crate::wording::counted;

/// Reads the first line. A forked file of a sub-agent has the line of its parent behind its own.
pub(super) fn head(line: Json<'_>) -> SessionHead {
    if !line.member_is("type", "session_meta") {
        return SessionHead::default();
    }
    let Some(payload) = line.get("payload") else { return SessionHead::default() };
    let is_of_subagent =
        payload.member_is("thread_source", "subagent") || payload.at(&["source", "subagent"]).is_some();
    SessionHead { is_of_subagent, base: payload.get("history_base").and_then(base_named) }
}

fn base_named(named: Json<'_>) -> Option<HistoryBase> {
    let thread = named.get_text("thread_id")?.decode().into_owned();
    let bytes = named.get("end_byte_offset").and_then(|offset| offset.raw().parse().ok()).unwrap_or(0);
    Some(HistoryBase { thread, bytes })
}

/// Why a session whose beginning is in another file stays as it is: Codex reads that beginning whatever stands here.
pub(super) fn refusal(transcript: &Transcript<'_>) -> Option<String> {
    let HistoryBase { thread, bytes } = FORMAT.history_base(transcript)?;
    let bytes = counted(bytes, "byte");
    Some(format!(
        "it is only the end of a conversation, whose first {bytes} are in the session {thread}; use /compact in Codex, or \
         shorten a session before you fork it or go back in it"
    ))
}
