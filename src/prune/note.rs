//! What stands in the place of what was pruned: one line, which says so.

use crate::transcript::edit::Edit;
use crate::wording::counted;

use crate::prune::rule::Change;
use crate::prune::scene::{Scene, ToolResult};

/// What every note begins with.
const OPENING: &str = "[tcompact: ";

/// Whether a text is the note of an earlier pruning.
pub(super) fn is_pruned(text: &str) -> bool {
    text.starts_with(OPENING)
}

/// A note that says this.
pub(super) fn note(what: &str) -> String {
    format!("{OPENING}{what}]")
}

/// The change that puts a note in the place of a result that has so many tokens; nothing where that saves nothing.
pub(super) fn instead(scene: &Scene<'_, '_>, result: &ToolResult<'_, '_>, tokens: u64, note: &str) -> Option<Change> {
    let mut edits = saying(result, note);
    if edits.is_empty() || scene.counter().count_text(note) >= tokens {
        return None;
    }
    edits.extend(scene.without_copies(result));
    Some(Change { message: result.message, edits, ..Change::default() })
}

/// A number of tokens as people read it.
pub(super) fn in_tokens(tokens: u64) -> String {
    counted(tokens, "token")
}

/// The edits that put a text in the place of a result.
pub(super) fn saying(result: &ToolResult<'_, '_>, text: &str) -> Vec<Edit> {
    result.output.replace_with(text).into_iter().map(|(range, text)| Edit { range, text }).collect()
}
