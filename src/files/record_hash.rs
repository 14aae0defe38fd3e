//! The hash in a record of an archive, which covers all other bytes of its line. The other hashes of a record prove the texts
//! that it leads to. This one also proves what leads there, and what is only shown: its time, its round, its messages.

use std::io::{self, Write};

use crate::hash::Hasher;

/// What stands in front of the digits.
const BEFORE_DIGITS: &str = ",\"hash\":\"";
/// The digits that a record has of the hash.
const DIGITS: usize = 16;

/// Writes a record as a line that ends with its hash and the time. A record can be as large as the input, so it is not copied.
pub(super) fn write_record(out: &mut dyn Write, record: &str, now: &str) -> io::Result<()> {
    let record = record.strip_suffix('}').unwrap_or(record);
    let time = format!("\",\"summarized_at\":\"{now}\"}}");
    let hash = hash_of(&[record.as_bytes(), BEFORE_DIGITS.as_bytes(), time.as_bytes()]);
    writeln!(out, "{record}{BEFORE_DIGITS}{hash}{time}")
}

/// Whether the hash in a record is not that of its other bytes. A record of an older version has none.
pub(crate) fn has_wrong_hash(line: &[u8]) -> bool {
    /// The bytes of a record in which its hash begins: more than stand there, since damage can have made them more.
    const MOST_BEHIND: usize = 128;
    let line = line.trim_ascii();
    let tail = line.len().saturating_sub(MOST_BEHIND);
    let Some(found) = memchr::memmem::rfind(&line[tail..], BEFORE_DIGITS.as_bytes()) else { return false };
    let (before, rest) = line.split_at(tail + found + BEFORE_DIGITS.len());
    match rest.split_at_checked(DIGITS) {
        Some((digits, time)) => hash_of(&[before, time]).as_bytes() != digits,
        None => true,
    }
}

/// The first digits of the hash of some pieces.
fn hash_of(pieces: &[&[u8]]) -> String {
    let mut hasher = Hasher::default();
    for piece in pieces {
        hasher.add(piece);
    }
    let mut hash = hasher.end();
    hash.truncate(DIGITS);
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-01-02T03:04:05.000006+00:00";

    fn written(record: &str) -> Vec<u8> {
        let mut line = Vec::new();
        write_record(&mut line, record, NOW).expect("written");
        line
    }

    /// From `printf '%s' '{"source":"a","hash":"","summarized_at":"2026-01-02T03:04:05.000006+00:00"}' | sha256sum`.
    #[test]
    fn the_hash_is_that_of_the_line_without_its_digits() {
        let line = written(r#"{"source":"a"}"#);
        let expected = format!("{{\"source\":\"a\",\"hash\":\"72abbd3919625da1\",\"summarized_at\":\"{NOW}\"}}\n");
        assert_eq!(str::from_utf8(&line).expect("UTF-8"), expected);
        assert!(!has_wrong_hash(&line));
    }

    #[test]
    fn a_byte_that_differs_is_noticed_wherever_it_stands() {
        let line = written(r#"{"source":"a","messages":["{\"hash\":\"0123456789abcdef\"}"]}"#);
        let name = memchr::memmem::rfind(&line, b"\"hash\":").expect("a hash");
        for at in 0..line.len() - 1 {
            let mut changed = line.clone();
            changed[at] ^= 1;
            // Without its name, the hash tells nothing; the other members are as they were.
            let is_of_name = (name - 1..name + BEFORE_DIGITS.len() - 1).contains(&at);
            assert_eq!(has_wrong_hash(&changed), !is_of_name, "{at}");
            let mut shorter = line.clone();
            shorter.remove(at);
            assert_eq!(has_wrong_hash(&shorter), !is_of_name, "{at}");
        }
    }

    #[test]
    fn a_line_without_a_hash_and_its_line_end_tell_nothing() {
        for line in ["", "{}", r#"{"source":"a","summarized_at":"b"}"#, r#"{"messages":["{\"a\":1,\"hash\":\"0\"}"]}"#]
        {
            assert!(!has_wrong_hash(line.as_bytes()), "{line}");
        }
        let mut line = written(r#"{"source":"a"}"#);
        line.insert(line.len() - 1, b'\r');
        assert!(!has_wrong_hash(&line));
        assert!(has_wrong_hash(br#"{"source":"a","hash":"01"}"#), "cut off");
    }
}
