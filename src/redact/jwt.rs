//! Finds JSON web tokens.

use std::ops::Range;

use crate::redact::classes::Class;

/// The fewest characters of a header or a payload.
const SHORTEST_PART: usize = 10;

/// Returns the JSON web token that begins at `start`. The error is the offset before which there is none.
pub(super) fn jwt(text: &str, start: usize) -> Result<Range<usize>, usize> {
    let (mut end, mut parts) = (start, 0);
    loop {
        let length = Class::Word.run(&text.as_bytes()[end..]);
        // An unsigned token has an empty signature, and a token of five parts has one empty part.
        if length < SHORTEST_PART && parts < 2 {
            return Err(end + length);
        }
        (end, parts) = (end + length, parts + 1);
        if parts == 5 || !text[end..].starts_with('.') {
            break;
        }
        end += 1;
    }
    let length = text[start..end].trim_end_matches('.').len();
    if parts < 3 { Err(end) } else { Ok(start..start + length) }
}
