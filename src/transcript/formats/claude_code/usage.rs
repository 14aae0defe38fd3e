//! The sizes that Claude Code records: the usage of each answer, which all of its lines repeat.

use memchr::memmem;

use crate::transcript::formats::claude_code::{ClaudeCode, is_boundary, is_sidechain, is_true};
use crate::transcript::json::{Json, Object};
use crate::transcript::message::Message;
use crate::transcript::usage::{SizeNote, Usage, UsageReader};

impl UsageReader for ClaudeCode {
    fn usage<'a>(&self, message: &Message<'a>) -> Option<Usage<'a>> {
        let inner = Object::of(message.json.get("message")?);
        let usage = Usage::of(inner.get("usage")?)?.of_answer(inner.get_text("id"));
        // Lines that are written while an answer streams have the output up to its first token.
        let is_whole = inner.get_text("stop_reason").is_some();
        // Claude Code writes answers that no model gave, such as errors.
        let is_of_program = inner.get_text("model").is_some_and(|model| model.is("<synthetic>"));
        (!is_of_program).then_some(Usage { is_whole, ..usage })
    }

    /// Reads a boundary of the conversation itself: sub-agents have their own.
    fn size_note<'a>(&self, note: Json<'a>) -> Option<SizeNote<'a>> {
        // Most of a session's lines are notes.
        memmem::find(note.raw().as_bytes(), b"compact_boundary")?;
        let line = Object::of(note);
        let subtype = line.get_text("subtype")?;
        let is_smaller = subtype.is("microcompact_boundary") || is_boundary(&line);
        (is_smaller && !is_sidechain(&line)).then_some(SizeNote::Smaller)
    }

    /// Messages that Claude Code kept stand before its summary, and ours resets their sizes.
    fn is_newer(&self, _entry: Json<'_>, summary: &Message<'_>) -> Option<bool> {
        is_true(&Object::of(summary.json), "isCompactSummary").then_some(true)
    }
}
