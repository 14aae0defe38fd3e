//! The id of a record in an archive. Notes name it before the record is written, so it derives from the text that the
//! conversation was read from.

use std::fmt;
use std::str::FromStr;

use crate::hash::sha256;

/// The first eight digits of the hash of a text, and of its number where the text has several conversations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RecordId(u32);

/// The digits of an id. The number of a round has fewer.
const DIGITS: usize = 8;

impl RecordId {
    /// The id of a conversation in the text with this hash: `nth` counts the conversations of the text from 1.
    pub fn new(hash_of_text: &str, nth: usize) -> Self {
        let of_later;
        let hash = if nth > 1 {
            of_later = sha256(format!("{hash_of_text}#{nth}").as_bytes());
            &of_later
        } else {
            hash_of_text
        };
        // A hash has digits alone.
        RecordId(u32::from_str_radix(&hash[..DIGITS], 16).unwrap_or_default())
    }
}

impl fmt::Display for RecordId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:0DIGITS$x}", self.0)
    }
}

impl FromStr for RecordId {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let is_id = text.len() == DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_id {
            return Err(());
        }
        u32::from_str_radix(text, 16).map(RecordId).map_err(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_as_it_is_printed() {
        let hash = sha256(b"tcompact");
        let first = RecordId::new(&hash, 1);
        assert_eq!(first.to_string(), hash[..DIGITS]);
        let second = RecordId::new(&hash, 2);
        assert_eq!(second.to_string(), sha256(format!("{hash}#2").as_bytes())[..DIGITS]);
        for id in [first, second, RecordId(0), RecordId(u32::MAX)] {
            assert_eq!(id.to_string().parse(), Ok(id));
        }
        assert_eq!("AA62A8CA".parse(), Ok(first));
        for other in ["", "1", "aa62a8c", "aa62a8ca9", "aa62a8cg", "+a62a8ca", "aa62a8é"] {
            assert_eq!(other.parse::<RecordId>(), Err(()), "{other}");
        }
    }
}
