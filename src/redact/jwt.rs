//! Finds JSON web tokens.

use std::ops::Range;

use crate::redact::classes::Class;

/// The fewest characters of a header or a payload.
const SHORTEST_PART: usize = 10;

/// Returns the JSON web token that begins at `start`. The error is the offset before which there is none.
pub(super) fn jwt(text: &str, start: usize) -> Result<Range<usize>, usize> {
    let bytes = text.as_bytes();
    let mut end = start;
    let mut parts = 0;
    loop {
        let length = Class::Word.run(&bytes[end..]);
        // An unsigned token has an empty signature, and a token of five parts has one empty part.
        if length < SHORTEST_PART && parts < 2 {
            return Err(end + length);
        }
        end += length;
        parts += 1;
        if parts == 5 || bytes.get(end) != Some(&b'.') {
            break;
        }
        end += 1;
    }
    let token = text[start..end].trim_end_matches('.');
    if parts < 3 { Err(end) } else { Ok(start..start + token.len()) }
}
