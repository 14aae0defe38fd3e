//! A string of a transcript, decoded on demand.
//!
//! Truncated logs contain lone surrogates (`"\ud83d"`), which a Rust string cannot hold. Each counts as one code point
//! and decodes to U+FFFD, as in tiktoken's Python front end.

use std::borrow::Cow;
use std::ops::Range;

/// The text between the quotes of a string.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a> {
    raw: &'a str,
    /// How many more characters its escapes have than their values; 0 without escapes.
    pub excess: u32,
    /// Its first undecoded byte, or 0 if it is empty. Most comparisons need no more and so never access the text.
    first: u8,
}

impl<'a> Text<'a> {
    /// Creates one from the inside of a JSON string, with its escapes.
    pub fn escaped(raw: &'a str) -> Self {
        let mut pieces = Pieces { rest: raw, escaped: true };
        let (mut excess, mut left) = (0, raw.len());
        while let Some(piece) = pieces.next() {
            let passed = std::mem::replace(&mut left, pieces.rest.len()) - pieces.rest.len();
            excess += if matches!(piece, TextPiece::Escape(_)) { passed - 1 } else { 0 };
        }
        // The excess of a huge text may not fit; the text has escapes nonetheless.
        Text::spelled(raw, u32::try_from(excess).unwrap_or(UNKNOWN))
    }

    /// Creates one whose excess is known.
    pub fn spelled(raw: &'a str, excess: u32) -> Self {
        Text { raw, excess, first: raw.as_bytes().first().copied().unwrap_or_default() }
    }

    /// Creates one from text that is not a JSON string.
    pub fn plain(raw: &'a str) -> Self {
        Text::spelled(raw, 0)
    }

    /// Whether the decoded string is `other`.
    pub fn is(&self, other: &str) -> bool {
        if self.is_escaped() { self.decode() == other } else { self.raw == other }
    }

    /// Whether the decoded string is one of a list.
    pub fn is_in(&self, list: &[&str]) -> bool {
        list.iter().any(|known| self.is(known))
    }

    /// Whether the decoded string begins with `start`. Decodes no more than necessary.
    pub fn starts_with(&self, start: &str) -> bool {
        if start.bytes().next().is_some_and(|wanted| self.first != wanted && self.first != b'\\') {
            return false;
        }
        if !self.is_escaped() {
            return self.raw.starts_with(start);
        }
        let mut points = self.code_points();
        start.chars().all(|c| points.next() == Some(u32::from(c)))
    }

    /// Whether the string is empty.
    pub fn is_empty(&self) -> bool {
        self.raw.is_empty()
    }

    /// The span of the text between the quotes in `source`, in bytes; `None` if it is not part of it.
    pub fn span_in(&self, source: &str) -> Option<Range<usize>> {
        let start = (self.raw.as_ptr() as usize).checked_sub(source.as_ptr() as usize)?;
        let span = start..start + self.raw.len();
        (span.end <= source.len()).then_some(span)
    }

    /// The text between the quotes, with its escapes.
    pub fn raw(&self) -> &'a str {
        self.raw
    }

    /// Decodes the string, with lone surrogates as U+FFFD. Borrows if nothing is escaped.
    pub fn decode(&self) -> Cow<'a, str> {
        if !self.is_escaped() {
            return Cow::Borrowed(self.raw);
        }
        self.unescaped(|_| char::REPLACEMENT_CHARACTER.into()).into()
    }

    /// Decodes at most its first `most` characters, as [`Text::decode`] does.
    pub fn decode_start(&self, most: usize) -> String {
        let (mut out, mut left) = (String::new(), most);
        for piece in self.pieces() {
            match piece {
                _ if left == 0 => break,
                TextPiece::Plain(plain) => {
                    let start = plain.char_indices().nth(left).map_or(plain, |(end, _)| &plain[..end]);
                    out.push_str(start);
                    left -= start.chars().count();
                }
                TextPiece::Escape(point) => {
                    out.push(char::from_u32(point).unwrap_or(char::REPLACEMENT_CHARACTER));
                    left -= 1;
                }
            }
        }
        out
    }

    /// Decodes a string that holds JSON. Lone surrogates stay escaped, which is equivalent in JSON.
    pub fn decode_json(&self) -> Cow<'a, str> {
        if !self.is_escaped() {
            return Cow::Borrowed(self.raw);
        }
        self.unescaped(|half| format!("\\u{half:04x}")).into()
    }

    /// Decodes the escapes; `write_half` writes lone surrogates.
    fn unescaped(&self, write_half: impl Fn(u32) -> String) -> String {
        // A value is never longer than its escape.
        let mut out = String::with_capacity(self.raw.len());
        let mut pieces = self.pieces();
        while let Some(escape) = memchr::memchr(b'\\', pieces.rest.as_bytes()) {
            out.push_str(&pieces.rest[..escape]);
            pieces.rest = &pieces.rest[escape..];
            let point = pieces.escape();
            match char::from_u32(point) {
                Some(c) => out.push(c),
                None => out.push_str(&write_half(point)),
            }
        }
        out.push_str(pieces.rest);
        out
    }

    /// The length in code points, as Python's `len` counts; a lone surrogate is one.
    pub fn code_point_count(&self) -> usize {
        if self.excess == UNKNOWN {
            self.code_points().count()
        } else {
            // Most texts are ASCII, and checking that is faster than counting characters.
            let spelled = if self.raw.is_ascii() { self.raw.len() } else { self.raw.chars().count() };
            spelled - self.excess as usize
        }
    }

    pub fn is_escaped(&self) -> bool {
        self.excess > 0
    }

    /// Whether the decoded text contains this quote, `'` or `"`.
    pub fn has_quote(&self, quote: u8) -> bool {
        // A quote is escaped with the quote itself, or with its number.
        let number = if quote == b'"' { r"\u0022" } else { r"\u0027" };
        let is_it = |piece: TextPiece<'_>| matches!(piece, TextPiece::Escape(point) if point == u32::from(quote));
        memchr::memchr(quote, self.raw.as_bytes()).is_some()
            || self.is_escaped() && self.raw.contains(number) && self.pieces().any(is_it)
    }

    /// Iterates over plain text and the values of escapes.
    pub fn pieces(&self) -> Pieces<'a> {
        Pieces { rest: self.raw, escaped: self.is_escaped() }
    }

    /// Iterates over the code points, including lone surrogates.
    pub fn code_points(&self) -> impl Iterator<Item = u32> + use<'a> {
        self.pieces().flat_map(|piece| {
            let (plain, escape) = match piece {
                TextPiece::Plain(plain) => (plain, None),
                TextPiece::Escape(point) => ("", Some(point)),
            };
            plain.chars().map(u32::from).chain(escape)
        })
    }
}

/// A piece of a string.
#[derive(Clone, Copy, Debug)]
pub enum TextPiece<'a> {
    /// Text without escapes.
    Plain(&'a str),
    /// The code point of an escape; it may be a lone surrogate.
    Escape(u32),
}

/// The text has escapes, but their excess is unknown.
const UNKNOWN: u32 = u32::MAX;

/// Iterates over the pieces of a [`Text`].
pub struct Pieces<'a> {
    rest: &'a str,
    escaped: bool,
}

impl<'a> Iterator for Pieces<'a> {
    type Item = TextPiece<'a>;

    fn next(&mut self) -> Option<TextPiece<'a>> {
        let escape = if self.escaped { memchr::memchr(b'\\', self.rest.as_bytes()) } else { None };
        let (plain, rest) = self.rest.split_at(escape.unwrap_or(self.rest.len()));
        if plain.is_empty() {
            return escape.map(|_| TextPiece::Escape(self.escape()));
        }
        self.rest = rest;
        Some(TextPiece::Plain(plain))
    }
}

impl Pieces<'_> {
    /// Consumes the escape at the start.
    fn escape(&mut self) -> u32 {
        if let Some(high) = unit(self.rest) {
            self.rest = &self.rest[6..];
            if (0xD800..0xDC00).contains(&high)
                && let Some(low @ 0xDC00..=0xDFFF) = unit(self.rest)
            {
                self.rest = &self.rest[6..];
                return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
            }
            return high;
        }
        let mut rest = self.rest.chars();
        rest.next();
        let letter = rest.next().unwrap_or('\\');
        self.rest = rest.as_str();
        u32::from(match letter {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => '\u{8}',
            'f' => '\u{c}',
            letter => letter,
        })
    }
}

/// The code unit of `\uXXXX` at the start of `rest`.
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
    fn pieces_decode_alike_wherever_they_begin() {
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
        for length in (0..12).chain(30..35) {
            for (one, other) in parts.iter().flat_map(|one| parts.iter().map(move |other| (one, other))) {
                let [x, y, z] = [("x", length), ("y", length / 3), ("z", length * 2)].map(|(c, times)| c.repeat(times));
                let raw = format!("{x}{one}{y}{other}{one}{z}");
                let text = Text::escaped(&raw);
                let (mut decoded, mut json) = (String::new(), String::new());
                for piece in text.pieces() {
                    match piece {
                        TextPiece::Plain(plain) => {
                            [&mut decoded, &mut json].iter_mut().for_each(|out| out.push_str(plain))
                        }
                        TextPiece::Escape(point) => {
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
                for most in [0, 1, 2, 13, 30, 1_000] {
                    assert_eq!(text.decode_start(most), text.decode().chars().take(most).collect::<String>(), "{raw}");
                }
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
