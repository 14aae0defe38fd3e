//! Chooses the rules for a text. An input is a text, followed by a NUL and a byte for each choice. So a fixture is a
//! valid input, and mutation changes text and rules alike.

use crate::bricks::PINS;
use crate::plan::pins::Pin;
use crate::plan::size::Size;
use crate::transcript::formats::{FORMATS, Format};

/// The remaining choices; a missing one is the first option.
pub(crate) struct Choices<'b>(&'b [u8]);

/// Splits an input into its text and its choices.
pub(crate) fn split(bytes: &[u8]) -> (String, Choices<'_>) {
    let (text, choices) = match bytes.iter().rposition(|byte| *byte == 0) {
        Some(at) => (&bytes[..at], &bytes[at + 1..]),
        None => (bytes, &[][..]),
    };
    (String::from_utf8_lossy(text).into_owned(), Choices(choices))
}

impl Choices<'_> {
    /// A number below `all`.
    pub(crate) fn below(&mut self, all: usize) -> usize {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        usize::from(*first) % all
    }

    pub(crate) fn of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())].clone()
    }

    pub(crate) fn format(&mut self) -> &'static Format {
        self.of(FORMATS)
    }

    pub(crate) fn keep(&mut self) -> Size {
        let count = 1 + self.below(24) as u64;
        match self.below(7) {
            0 => Size::Messages(count),
            1 => Size::Tokens(count * 9),
            2 => Size::Turns(1 + count / 4),
            3 => Size::From(count as usize),
            4 => Size::Steps(1 + count / 3),
            5 => Size::Bytes(count * 70),
            _ => Size::Last(count as i64 * 30),
        }
    }

    pub(crate) fn pin(&mut self) -> &'static str {
        self.of(&PINS)
    }

    pub(crate) fn pinned(&mut self) -> Pin {
        self.pin().parse().expect("a rule")
    }
}
