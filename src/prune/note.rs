//! The note that takes the place of pruned content: one line.

use std::ops::Range;

use crate::transcript::edit::Edit;
use crate::transcript::json::Json;
use crate::wording::counted;

use crate::prune::rule::ProposedChange;
use crate::prune::scene::{Scene, ToolResult};

/// The beginning of every note.
pub(super) const OPENING: &str = "[tcompact: ";

/// Whether a text is the note of an earlier pruning.
pub(super) fn is_pruned(text: &str) -> bool {
    text.starts_with(OPENING)
}

/// The note inside of which a place of a text is, or the place.
pub(super) fn outside_notes(text: &str, at: usize) -> Range<usize> {
    let note = text[..at].rfind(OPENING).filter(|start| !text[*start..at].contains([']', '\n']));
    let end = note.and_then(|start| Some(start..start + text[start..].find(']')? + 1));
    end.unwrap_or(at..at)
}

pub(super) fn note(what: &str) -> String {
    format!("{OPENING}{what}]")
}

/// The change that replaces a result of so many tokens by a note; nothing where that saves nothing.
pub(super) fn replace_result(
    scene: &Scene<'_, '_>,
    result: &ToolResult<'_, '_>,
    tokens: u64,
    note: &str,
) -> Option<ProposedChange> {
    let mut edits = replace_text(result, note);
    if edits.is_empty() || scene.counter().count_text(note) >= tokens {
        return None;
    }
    edits.extend(scene.without_copies(result));
    Some(ProposedChange { message: result.message, edits, ..ProposedChange::default() })
}

/// Formats a number of tokens for people.
pub(super) fn in_tokens(tokens: u64) -> String {
    counted(tokens, "token")
}

pub(super) fn replace_text(result: &ToolResult<'_, '_>, text: &str) -> Vec<Edit> {
    result.output.replace_with(text).into_iter().map(|(range, text)| Edit { range, text }).collect()
}

/// A text as it is spelled inside the quotes of a string.
pub(super) fn inside_quotes(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// Whether a value is an element of a list, so that a block of text can take its place.
pub(super) fn is_element(source: &str, value: Json<'_>) -> bool {
    source[..value.span().start].trim_end().ends_with(['[', ','])
}
