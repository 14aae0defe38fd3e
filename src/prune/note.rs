//! What stands in the place of what was pruned: one line, which says so.

use crate::transcript::formats::outputs::Output;

/// What every note begins with.
const OPENING: &str = "[tcompact: ";

/// Whether a text is the note of an earlier pruning.
pub fn is_pruned(text: &str) -> bool {
    text.starts_with(OPENING)
}

/// A note that says this.
pub(super) fn note(what: &str) -> String {
    format!("{OPENING}{what}]")
}

/// A number as people read it.
pub(super) fn counted(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// All that a result says.
pub(super) fn text_of(output: &Output<'_>) -> String {
    let texts: Vec<_> = output.strings().into_iter().filter_map(|string| Some(string.text()?.decode())).collect();
    match texts.as_slice() {
        // What has no text at all is told by its size.
        [] => output.value.raw().to_owned(),
        texts => texts.join("\n"),
    }
}
