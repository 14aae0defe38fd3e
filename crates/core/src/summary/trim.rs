//! Cuts a history to its end, for a summarizer with a token limit, and texts in their middle.

use std::borrow::Cow;

use crate::redact::{cut_before, cut_behind};
use crate::tokens::{Counter, Tally};
use crate::wording::counted;

/// The last of `indices` whose messages have at most `limit` tokens together; none if even the last has more.
pub fn last_within<'i>(indices: &'i [usize], tally: &Tally<'_, '_>, limit: u64) -> &'i [usize] {
    let mut left = limit;
    for (at, &index) in indices.iter().enumerate().rev() {
        match left.checked_sub(tally.message(index)) {
            Some(rest) => left = rest,
            None => return &indices[at + 1..],
        }
    }
    indices
}

/// The longest end of `text` with at most `limit` tokens.
pub fn end_within(text: &str, counter: Counter, limit: u64) -> &str {
    let mut starts: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    starts.push(text.len());
    let first = starts.partition_point(|&start| counter.count_text(&text[start..]) > limit);
    &text[cut_behind(text, starts[first.min(starts.len() - 1)])..]
}

/// The beginning and the end of a text of more than `max_chars` characters, with the number of characters left out
/// between them.
pub fn truncate_middle(text: &str, max_chars: usize) -> Cow<'_, str> {
    let count = if text.len() <= max_chars { 0 } else { text.chars().count() };
    if count <= max_chars {
        return Cow::Borrowed(text);
    }
    let head = cut_before(text, place_of_char(text, max_chars.div_ceil(2)));
    let tail = cut_behind(text, place_of_char(text, count - max_chars / 2));
    let left_out = counted(text[head..tail].chars().count() as u64, "character");
    Cow::Owned(format!("{}[… {left_out} …]{}", &text[..head], &text[tail..]))
}

/// The beginning and the end of a text, of which about `max_chars` characters are left, with the number of characters
/// left out between them. It is cut between lines or words where one ends near.
pub fn without_middle(text: &str, max_chars: usize) -> Cow<'_, str> {
    let count = if text.len() <= max_chars { 0 } else { text.chars().count() };
    if count <= max_chars {
        return Cow::Borrowed(text);
    }
    let half = place_of_char(text, max_chars.div_ceil(2));
    let end = place_of_char(text, count - max_chars / 2);
    let head = cut_before(text, end_before(text, half));
    let tail = cut_behind(text, start_behind(text, end));
    let left_out = counted(text[head..tail].chars().count() as u64, "character");
    let shown = format!("{}[… {left_out} …]{}", &text[..head], &text[tail..]);
    if shown.len() < text.len() { Cow::Owned(shown) } else { Cow::Borrowed(text) }
}

/// Where a character begins, in bytes; the end of the text where it has fewer.
fn place_of_char(text: &str, number: usize) -> usize {
    text.char_indices().nth(number).map_or(text.len(), |(at, _)| at)
}

/// How far a cut is moved to an end of a line or a word: so many parts of what stays on its side.
const NEAR: usize = 4;

/// The last end of a line in the last part of the text before a place, else of a word, else the place.
fn end_before(text: &str, place: usize) -> usize {
    let near = text.ceil_char_boundary(place - place / NEAR);
    let shown = &text[near.min(place)..place];
    if text[place..].starts_with(char::is_whitespace) {
        return place;
    }
    match shown.rfind('\n').or_else(|| shown.rfind(char::is_whitespace)) {
        Some(end) => near + end,
        None => place,
    }
}

/// The first start of a line in the first part of the text behind a place, else of a word, else the place.
fn start_behind(text: &str, place: usize) -> usize {
    let near = text.floor_char_boundary(place + (text.len() - place) / NEAR);
    let shown = &text[place..near.max(place)];
    if text[..place].ends_with(char::is_whitespace) {
        return place;
    }
    if let Some(end) = shown.find('\n') {
        return place + end + 1;
    }
    match shown.char_indices().find(|(_, c)| c.is_whitespace()) {
        Some((at, blank)) => place + at + blank.len_utf8(),
        None => place,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::framing::read_for_test as read;

    #[test]
    fn trimming_keeps_whole_messages_from_the_end() {
        let message = r#"{"role":"user","content":"12345678"}"#;
        let source = format!("[{message},{message},{message}]");
        let document = read(&source, None, None).expect("a transcript");
        let tally = Tally::new(Counter::APPROX, &document.transcripts[0].messages);
        assert_eq!(last_within(&[0, 1, 2], &tally, 17), [1, 2]);
        assert_eq!(last_within(&[0, 1, 2], &tally, 18), [0, 1, 2]);
        assert!(last_within(&[0, 1, 2], &tally, 5).is_empty());
    }

    #[test]
    fn trimming_keeps_the_end_of_a_text() {
        assert_eq!(end_within("abcdé12345678", Counter::APPROX, 2), "12345678");
        assert_eq!(end_within("abc", Counter::APPROX, 9), "abc");
        assert_eq!(end_within("abc", Counter::APPROX, 0), "");
    }
}
