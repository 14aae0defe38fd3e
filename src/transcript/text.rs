//! A string of a transcript, decoded no earlier than it is needed.
//!
//! Truncated logs hold half surrogate pairs (`"\ud83d"`), which a Rust string cannot hold: each counts as one code point
//! and decodes to U+FFFD, as in tiktoken's Python front end.

use std::borrow::Cow;
use std::ops::Range;

use crate::transcript::specials::Specials;

/// A string as it stands between its quotes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text<'a> {
    raw: &'a str,
    /// How many characters longer its escapes are than their values; 0 without escapes.
    excess: u32,
    /// Its first byte as it is spelled, 0 if it is empty: most comparisons need no more, and so no access to the text.
    first: u8,
}

impl<'a> Text<'a> {
    /// The inside of a JSON string, escapes and all.
    pub(crate) fn escaped(raw: &'a str) -> Self {
        let mut points = CodePoints { rest: raw, escaped: true };
        let mut excess = 0;
        while points.plain_before_escape().is_some() {
            let before = points.rest.len();
            points.next();
            excess += before - points.rest.len() - 1;
        }
        // A text too long for the number has escapes all the same.
        Text::spelled(raw, u32::try_from(excess).unwrap_or(UNKNOWN))
    }

    /// The same, where the excess of its escapes is known.
    pub(crate) fn spelled(raw: &'a str, excess: u32) -> Self {
        Text { raw, excess, first: raw.as_bytes().first().copied().unwrap_or_default() }
    }

    /// Text that is no JSON string.
    pub(crate) fn plain(raw: &'a str) -> Self {
        Text::spelled(raw, 0)
    }

    /// Whether the decoded string is `other`.
    pub(crate) fn is(&self, other: &str) -> bool {
        if self.is_escaped() { self.decode() == other } else { self.raw == other }
    }

    /// Whether the decoded string begins with `start`; no more of it is decoded than that takes.
    pub(crate) fn starts_with(&self, start: &str) -> bool {
        if start.bytes().next().is_some_and(|wanted| self.first != wanted && self.first != b'\\') {
            return false;
        }
        if !self.is_escaped() {
            return self.raw.starts_with(start);
        }
        let mut points = self.code_points();
        start.chars().all(|c| points.next() == Some(u32::from(c)))
    }

    /// Whether there is nothing between the quotes.
    pub(crate) fn is_empty(&self) -> bool {
        self.raw.is_empty()
    }

    /// Where the text between the quotes stands in `source`, in bytes; nothing where it is no part of it.
    pub(crate) fn span_in(&self, source: &str) -> Option<Range<usize>> {
        let start = (self.raw.as_ptr() as usize).checked_sub(source.as_ptr() as usize)?;
        let span = start..start + self.raw.len();
        (span.end <= source.len()).then_some(span)
    }

    /// What stands between the quotes, escapes and all.
    pub(crate) fn raw(&self) -> &'a str {
        self.raw
    }

    /// Bytes between the quotes, as the string is spelled.
    pub(crate) fn spelled_len(&self) -> usize {
        self.raw.len()
    }

    /// The fewest and the most bytes the decoded string can have, without decoding: an escape is at most six bytes and
    /// decodes to one at least.
    pub(crate) fn decoded_len_bounds(&self) -> Range<usize> {
        let most = self.raw.len();
        if self.is_escaped() { most / 6..most } else { most..most }
    }

    /// The string itself, half surrogates as U+FFFD. Borrowed where nothing is escaped.
    pub(crate) fn decode(&self) -> Cow<'a, str> {
        if !self.is_escaped() {
            return Cow::Borrowed(self.raw);
        }
        self.unescaped(|_| char::REPLACEMENT_CHARACTER.into()).into()
    }

    /// The string where it holds JSON: half surrogates are escaped again, which in JSON says the same.
    pub(crate) fn decode_json(&self) -> Cow<'a, str> {
        if !self.is_escaped() {
            return Cow::Borrowed(self.raw);
        }
        self.unescaped(|half| format!("\\u{half:04x}")).into()
    }

    /// The string with what its escapes stand for; `half` writes half surrogates.
    fn unescaped(&self, half: impl Fn(u32) -> String) -> String {
        let raw = self.raw.as_bytes();
        // The value of an escape is never longer than the escape.
        let mut out = Vec::with_capacity(raw.len());
        let mut specials = Specials::of(raw);
        let mut at = 0;
        while at < raw.len() {
            let special = specials.next(at);
            match raw[at..].first_chunk::<STRETCH>() {
                // Copied with what stands behind it, a short stretch takes no call.
                Some(stretch) if special - at <= STRETCH => {
                    let end = out.len() + (special - at);
                    out.extend_from_slice(stretch);
                    out.truncate(end);
                }
                _ => out.extend_from_slice(&raw[at..special]),
            }
            at = special;
            match raw.get(at) {
                None => break,
                Some(b'\\') => {}
                // It needs no escape here.
                Some(other) => {
                    out.push(*other);
                    at += 1;
                    continue;
                }
            }
            if let Some(simple) = raw.get(at + 1).and_then(|letter| simple(*letter)) {
                out.push(simple);
                at += 2;
                continue;
            }
            let mut points = CodePoints { rest: &self.raw[at..], escaped: true };
            let point = points.other_escape();
            at = raw.len() - points.rest.len();
            match char::from_u32(point) {
                Some(c) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
                None => out.extend_from_slice(half(point).as_bytes()),
            }
        }
        String::from_utf8(out).expect("characters are copied whole")
    }

    /// Length in code points, as Python's `len` counts; a half surrogate is one.
    pub(crate) fn code_point_count(&self) -> usize {
        if self.excess == UNKNOWN {
            self.code_points().count()
        } else {
            // Most texts are ASCII, and the check is faster than counting characters.
            let spelled = if self.raw.is_ascii() { self.raw.len() } else { self.raw.chars().count() };
            spelled - self.excess as usize
        }
    }

    /// How many characters longer its escapes are than their values.
    pub(super) fn excess(&self) -> u32 {
        self.excess
    }

    pub(crate) fn is_escaped(&self) -> bool {
        self.excess > 0
    }

    /// Whether this quote, `'` or `"`, is in the text.
    pub(crate) fn has_quote(&self, quote: u8) -> bool {
        // An escape for a quote is spelled with the quote itself, or by number.
        let number = if quote == b'"' { r"\u0022" } else { r"\u0027" };
        let is_it = |piece: Piece<'_>| matches!(piece, Piece::Escape(point) if point == u32::from(quote));
        memchr::memchr(quote, self.raw.as_bytes()).is_some()
            || self.is_escaped() && self.raw.contains(number) && self.pieces().any(is_it)
    }

    /// The string piece by piece: what stands as it is, and what an escape stands for.
    pub(crate) fn pieces(&self) -> Pieces<'a> {
        Pieces { points: self.code_points() }
    }

    /// The code points, half surrogates among them.
    pub(crate) fn code_points(&self) -> CodePoints<'a> {
        CodePoints { rest: self.raw, escaped: self.is_escaped() }
    }
}

/// Bytes of a short stretch between two escapes.
const STRETCH: usize = 32;

/// A piece of a string.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Piece<'a> {
    /// What is spelled as it is.
    Plain(&'a str),
    /// The code point of an escape; it may be half a surrogate pair.
    Escape(u32),
}

/// The pieces of a [`Text`].
pub(crate) struct Pieces<'a> {
    points: CodePoints<'a>,
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        let plain = self.points.plain_before_escape().unwrap_or_else(|| std::mem::take(&mut self.points.rest));
        match plain {
            "" => self.points.next().map(Piece::Escape),
            plain => Some(Piece::Plain(plain)),
        }
    }
}

/// There are escapes, and nobody has counted them.
const UNKNOWN: u32 = u32::MAX;

/// The code points of a [`Text`].
pub(crate) struct CodePoints<'a> {
    rest: &'a str,
    escaped: bool,
}

impl Iterator for CodePoints<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        if self.escaped && self.rest.as_bytes().first() == Some(&b'\\') {
            return Some(self.escape());
        }
        let mut rest = self.rest.chars();
        let first = rest.next()?;
        self.rest = rest.as_str();
        Some(u32::from(first))
    }
}

impl<'a> CodePoints<'a> {
    /// Takes the text before the next escape; nothing if there is none.
    fn plain_before_escape(&mut self) -> Option<&'a str> {
        if !self.escaped {
            return None;
        }
        let (plain, rest) = self.rest.split_at(memchr::memchr(b'\\', self.rest.as_bytes())?);
        self.rest = rest;
        Some(plain)
    }

    /// Takes the escape that comes next.
    fn escape(&mut self) -> u32 {
        match self.rest.as_bytes().get(1).and_then(|letter| simple(*letter)) {
            Some(simple) => {
                self.rest = &self.rest[2..];
                u32::from(simple)
            }
            None => self.other_escape(),
        }
    }

    /// Takes an escape that names a code unit, or one that stands for its letter.
    fn other_escape(&mut self) -> u32 {
        let Some(high) = unit(self.rest) else {
            let mut rest = self.rest.chars();
            rest.next();
            let letter = rest.next().unwrap_or('\\');
            self.rest = rest.as_str();
            return u32::from(letter);
        };
        self.rest = &self.rest[6..];
        if (0xD800..0xDC00).contains(&high)
            && let Some(low @ 0xDC00..=0xDFFF) = unit(self.rest)
        {
            self.rest = &self.rest[6..];
            return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
        }
        high
    }
}

/// What a letter behind a backslash stands for, where it is a character of ASCII and not the letter.
fn simple(letter: u8) -> Option<u8> {
    // A table, since which letter comes next is hard to foresee.
    const SIMPLE: [u8; 256] = {
        let mut simple = [0; 256];
        let mut known: &[(u8, u8)] = &[
            (b'n', b'\n'),
            (b't', b'\t'),
            (b'r', b'\r'),
            (b'b', b'\x08'),
            (b'f', b'\x0c'),
            (b'"', b'"'),
            (b'\\', b'\\'),
        ];
        while let [(letter, stands_for), rest @ ..] = known {
            simple[*letter as usize] = *stands_for;
            known = rest;
        }
        simple
    };
    Some(SIMPLE[usize::from(letter)]).filter(|stands_for| *stands_for != 0)
}

/// The code unit that `\uXXXX` at the start of `rest` names.
fn unit(rest: &str) -> Option<u32> {
    let digits = rest.strip_prefix("\\u")?.get(..4)?;
    u32::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_decode_and_count_as_python_counts() {
        let text = Text::escaped(r#"a\n\"\\\/\u00e9\ud83d\ude00é"#);
        assert_eq!(text.decode(), "a\n\"\\/é😀é");
        assert_eq!(text.code_point_count(), 8);
        assert_eq!(text.code_points().count(), 8);
    }

    #[test]
    fn what_is_decoded_is_what_its_pieces_are_wherever_they_begin() {
        let parts = [
            "",
            "\n",
            "\u{1}",
            "a",
            "é",
            "😀",
            "\u{4e2d}",
            r"\n",
            r"\\",
            r"\/",
            r"\u00e9",
            r"\ud83d\ude00",
            r"\ud83d",
            "plain text",
        ];
        for length in (0..12).chain(STRETCH - 2..STRETCH + 3) {
            for (one, other) in parts.iter().flat_map(|one| parts.iter().map(move |other| (one, other))) {
                let [x, y, z] = [("x", length), ("y", length / 3), ("z", length * 2)].map(|(c, times)| c.repeat(times));
                let raw = format!("{x}{one}{y}{other}{one}{z}");
                let text = Text::escaped(&raw);
                let (mut decoded, mut json) = (String::new(), String::new());
                for piece in text.pieces() {
                    match piece {
                        Piece::Plain(plain) => [&mut decoded, &mut json].iter_mut().for_each(|out| out.push_str(plain)),
                        Piece::Escape(point) => {
                            decoded.push(char::from_u32(point).unwrap_or(char::REPLACEMENT_CHARACTER));
                            match char::from_u32(point) {
                                Some(c) => json.push(c),
                                None => json.push_str(&format!("\\u{point:04x}")),
                            }
                        }
                    }
                }
                assert_eq!((text.decode(), text.decode_json()), (decoded.into(), json.into()), "{raw}");
                assert_eq!(text.code_point_count(), text.code_points().count(), "{raw}");
            }
        }
    }

    #[test]
    fn quotes_are_found_however_they_are_spelled() {
        for (raw, single, double) in [
            ("it's", true, false),
            (r#"\"a\""#, false, true),
            (r"\u0027\n", true, false),
            (r"\u0022\u00e9", false, true),
        ] {
            let text = Text::escaped(raw);
            assert_eq!((text.has_quote(b'\''), text.has_quote(b'"')), (single, double), "{raw}");
        }
        for raw in ["", r"\\u0027", r"\u001b[0m", r"\u002F\u00E9", r"\ud83d"] {
            assert!(!Text::escaped(raw).has_quote(b'\''), "{raw}");
        }
        assert!(Text::escaped(r"\ud83d\u0027").has_quote(b'\''));
        assert!(!Text::plain(r"\u0027").has_quote(b'\''));
    }

    #[test]
    fn half_surrogates_are_one_code_point_each() {
        for (raw, points) in
            [(r"\ud83d", 1), (r"\ude00\ud83d", 2), (r"\ud83dx", 2), (r"\ud83d\ud83d\ude00", 2), (r"\ud83d\n", 2)]
        {
            let text = Text::escaped(raw);
            assert_eq!(text.code_point_count(), points, "{raw}");
            assert!(text.decode().contains('\u{fffd}'), "{raw}");
        }
    }

    #[test]
    fn unescaped_text_is_borrowed() {
        assert!(matches!(Text::escaped("plain é").decode(), Cow::Borrowed("plain é")));
        assert!(Text::escaped("a\\u0062").is("ab"));
        assert!(Text::escaped("a\\u0062c").starts_with("ab") && !Text::escaped("a\\u0062").starts_with("abc"));
    }

    #[test]
    fn plain_text_keeps_its_backslashes() {
        assert_eq!(Text::plain(r"a\nb").code_point_count(), 4);
        assert_eq!(Text::plain(r"a\nb").decode(), r"a\nb");
    }
}
