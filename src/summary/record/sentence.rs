//! A sentence of the user with the earlier statements that follow it as notes.

use crate::summary::record::notes::split_notes;
use crate::summary::record::phrases::{EARLIER, FORMERLY, WAS};
use crate::summary::record::segmentation::sentences;

#[derive(Default)]
pub(super) struct Sentence {
    pub(super) text: String,
    /// The earlier statements that follow it, the latest first.
    pub(super) notes: Vec<Note>,
    /// Whether it is not shown: a later statement replaced it or has it as a note.
    pub(super) is_replaced: bool,
    pub(super) is_doubted: bool,
}

/// An earlier statement that follows a later one in brackets.
pub(super) struct Note {
    /// The statement with its brackets and the space before.
    pub(super) text: String,
    /// The number of the statement. `None` for a note of an earlier summary.
    pub(super) statement: Option<usize>,
    /// Whether something signals that the later statement changed it.
    pub(super) is_changed: bool,
    /// How likely the later statement means it.
    pub(super) rank: f64,
}

impl Sentence {
    /// Splits a text into sentences. A line of an earlier summary can have notes, which stay with their sentence.
    pub(super) fn all(text: &str, is_carried: bool) -> Vec<Sentence> {
        let mut all: Vec<Sentence> = Vec::new();
        let carried = |text: String| Note { text, statement: None, is_changed: true, rank: f64::INFINITY };
        for text in sentences(text) {
            let is_note = is_carried && [EARLIER, FORMERLY].iter().any(|opening| text.starts_with(opening.trim()));
            match all.last_mut().filter(|_| is_note) {
                Some(last) => last.notes.push(carried(format!(" {text}"))),
                None => {
                    let (text, notes) = if is_carried { split_notes(text) } else { (text, "") };
                    let notes = (!notes.is_empty()).then(|| carried(notes.to_owned()));
                    let notes = notes.into_iter().collect();
                    all.push(Sentence { text: text.to_owned(), notes, ..Sentence::default() });
                }
            }
        }
        if all.is_empty() {
            all.push(Sentence { text: text.to_owned(), ..Sentence::default() });
        }
        all
    }

    /// Whether these notes can follow it, too.
    pub(super) fn has_room_for<'n>(&'n self, notes: impl IntoIterator<Item = &'n Note>) -> bool {
        /// Most bytes of all notes after a sentence.
        const LONGEST: usize = 300;
        self.notes.iter().chain(notes).map(|note| note.text.len()).sum::<usize>() <= LONGEST
    }
}

/// Joins the sentences that still hold, with a mark where one is missing in between. `None` if none is left.
pub(super) fn remaining_text(sentences: &[Sentence]) -> Option<String> {
    let (mut text, mut notes) = (String::new(), String::new());
    let mut gap = false;
    for sentence in sentences {
        if sentence.is_replaced {
            gap = !text.is_empty();
            continue;
        }
        if gap {
            text.push_str(" …");
        }
        gap = false;
        if !text.is_empty() && !text.ends_with(|c: char| c >= '\u{2e80}') {
            text.push(' ');
        }
        match (sentence.is_doubted, sentences.len()) {
            (true, 1) => text.push_str(&format!("{WAS}{}", sentence.text)),
            (true, _) => text.push_str(&format!("({WAS}{})", sentence.text)),
            (false, _) => text.push_str(&sentence.text),
        }
        sentence.notes.iter().for_each(|note| notes.push_str(&note.text));
    }
    text.push_str(&notes);
    text.chars().any(char::is_alphanumeric).then_some(text)
}
