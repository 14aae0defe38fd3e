//! Reads texts in tests. The leaks of short tests do not matter.

use crate::transcript::formats::Format;
use crate::transcript::framing::{self, Document, Lines, ReadError};
use crate::transcript::json::Json;
use crate::transcript::source::Source;

/// Reads the conversations of a text.
pub(crate) fn read<'a>(
    text: &'a str,
    from: Option<&'static Format>,
    lines: Option<Lines>,
) -> Result<Document<'a>, ReadError> {
    framing::read(Box::leak(Box::new(Source::of_file(text)?)), from, lines)
}

/// Reads a text that is one value.
pub(crate) fn json(text: &str) -> Json<'_> {
    Box::leak(Box::new(Source::of(text).expect("JSON"))).first().expect("a value")
}
