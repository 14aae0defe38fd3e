//! An API key. It is sent in a header, and masked in every text that comes back.
//!
//! A server that repeats a key in an error, or a proxy that forwards the error, may encode it, shorten it, or put control
//! characters between its parts. No other disguise is looked for: a server that means harm has the key already.

use std::collections::HashSet;
use std::fmt;
use std::ops::Range;

use reqwest::header::HeaderValue;

/// The text in the place of a key.
const MASK: &str = "[key]";
/// The fewest characters of a key in a row that are looked for.
const PART: usize = 8;
/// How many nested layers of escapes are decoded: a proxy may quote the error of another one.
const LAYERS: usize = 4;
/// The byte for a character that nobody sees.
const UNSEEN: u8 = 0;

/// A key. Its `Debug` output does not show it.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// A key without white space around it, which comes from files and from copying; nothing if it has characters that
    /// no header can contain.
    pub(crate) fn new(key: &str) -> Option<Self> {
        let key = key.trim();
        if key.bytes().all(|byte| byte.is_ascii_graphic()) { Some(Secret(key.to_owned())) } else { None }
    }

    /// Masks the key in a text, and every part of it of eight characters or more, in plain form and in every encoding
    /// of [`parts_in`]. All other text stays the same, byte for byte.
    ///
    /// This must be the last step before a text is shown, except for clipping: a shorter part is not recognized.
    pub(crate) fn mask(&self, text: &str) -> String {
        // A shorter key is a dummy for a server that needs some key, and would be found inside words. So would a word.
        const SHORTEST: usize = 4;
        const SHORTEST_WORD: usize = 12;
        let is_word = self.0.bytes().all(|byte| byte.is_ascii_alphabetic());
        if self.0.len() < if is_word { SHORTEST_WORD } else { SHORTEST } {
            return text.to_owned();
        }
        let text = text.replace(&self.0, MASK);
        let mut masked = String::new();
        let mut end = 0;
        for found in parts_in(&text, &self.0) {
            if masked.is_empty() || found.start > end {
                masked.push_str(&text[end..found.start]);
                masked.push_str(MASK);
            }
            end = end.max(found.end);
        }
        masked + &text[end..]
    }

    /// The value of a header with the key behind `prefix`.
    pub(super) fn header(&self, prefix: &str) -> Option<HeaderValue> {
        let mut value = HeaderValue::from_str(&format!("{prefix}{}", self.0)).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

/// A visible character that was read from a text, and its range there.
#[derive(Clone, Copy)]
struct Unit {
    byte: u8,
    start: usize,
    end: usize,
}

impl Unit {
    /// The unit that several encode.
    fn decoded_from(units: &[Unit], byte: u8) -> Self {
        Unit { byte, start: units[0].start, end: units[units.len() - 1].end }
    }
}

/// Where a text has [`PART`] characters of a key in a row: plain or in letters of another style; with control
/// characters and others outside of ASCII between them, as text in UTF-16 has them; in the escapes of JSON, HTML and
/// addresses; or in Base64. The ranges are sorted by their beginnings, and can overlap.
///
/// The work is proportional to the length of the text, for any text.
fn parts_in(text: &str, key: &str) -> Vec<Range<usize>> {
    let mut units = Vec::with_capacity(text.len());
    for (start, c) in text.char_indices() {
        units.push(Unit { byte: plain(c), start, end: start + c.len_utf8() });
    }
    let mut search = Search { parts: key.as_bytes().windows(PART).collect(), found: Vec::new() };
    search.read_escapes(units, |search, view| {
        // A run of digits can begin before the key.
        for skip in 0..4 {
            search.read_escapes(from_base64(view, skip), |_, _| {});
        }
    });
    search.found.sort_by_key(|range| range.start);
    search.found
}

struct Search<'k> {
    parts: HashSet<&'k [u8]>,
    found: Vec<Range<usize>>,
}

impl Search<'_> {
    /// Reads a text and what its escapes spell, and does something with each of these.
    fn read_escapes(&mut self, mut view: Vec<Unit>, in_each: impl Fn(&mut Self, &[Unit])) {
        for _ in 0..=LAYERS {
            view.retain(|unit| unit.byte.is_ascii_graphic());
            let bytes: Vec<u8> = view.iter().map(|unit| unit.byte).collect();
            for (part, units) in bytes.windows(PART).zip(view.windows(PART)) {
                if self.parts.contains(part) {
                    self.found.push(units[0].start..units[PART - 1].end);
                }
            }
            in_each(self, &view);
            let decoded = unescaped(&view, &bytes);
            if decoded.len() == view.len() {
                return;
            }
            view = decoded;
        }
    }
}

/// The ASCII character that a character is, in whatever style.
fn plain(c: char) -> u8 {
    u8::try_from(unstyled(c)).unwrap_or(UNSEEN)
}

/// Decodes one layer of escapes.
fn unescaped(view: &[Unit], bytes: &[u8]) -> Vec<Unit> {
    let (mut decoded, mut at) = (Vec::new(), 0);
    while at < view.len() {
        let (length, byte) = escape(&bytes[at..]).unwrap_or((1, bytes[at]));
        decoded.push(Unit::decoded_from(&view[at..at + length], byte));
        at += length;
    }
    decoded
}

/// Decodes the escape at the beginning of a text: its length, and the character.
fn escape(text: &[u8]) -> Option<(usize, u8)> {
    match text {
        [b'%', digits @ ..] => Some((3, number(digits.get(..2)?, 16)?)),
        [b'\\', b'u', digits @ ..] => Some((6, number(digits.get(..4)?, 16)?)),
        [b'\\', b'b' | b'f' | b'n' | b'r' | b't', ..] => Some((2, UNSEEN)),
        [b'\\', other, ..] if other.is_ascii_punctuation() => Some((2, *other)),
        [b'&', rest @ ..] => {
            const LONGEST_NAME: usize = 10;
            let length = rest.iter().take(LONGEST_NAME + 1).position(|byte| *byte == b';')?;
            let byte = match &rest[..length] {
                b"amp" => b'&',
                b"lt" => b'<',
                b"gt" => b'>',
                b"quot" => b'"',
                b"apos" => b'\'',
                [b'#', b'x' | b'X', digits @ ..] => number(digits, 16)?,
                [b'#', digits @ ..] => number(digits, 10)?,
                _ => return None,
            };
            Some(("&;".len() + length, byte))
        }
        _ => None,
    }
}

/// The character with this number.
fn number(digits: &[u8], radix: u32) -> Option<u8> {
    let code = u32::from_str_radix(str::from_utf8(digits).ok()?, radix).ok()?;
    Some(char::from_u32(code).map_or(UNSEEN, plain))
}

/// What Base64 in a view encodes, from the `skip`th digit of each run on.
fn from_base64(view: &[Unit], skip: usize) -> Vec<Unit> {
    let mut decoded = Vec::new();
    for run in view.split(|unit| base64_digit(unit.byte).is_none()) {
        for units in run.get(skip..).unwrap_or_default().chunks(4) {
            let mut bits = 0;
            for unit in units {
                // Each of a run is a digit.
                bits = bits << 6 | base64_digit(unit.byte).unwrap_or_default();
            }
            bits <<= 6 * (4 - units.len());
            for byte in 0..units.len() - 1 {
                let character = char::from((bits >> (16 - 8 * byte)) as u8);
                decoded.push(Unit::decoded_from(&units[byte..=byte + 1], plain(character)));
            }
        }
    }
    decoded
}

fn base64_digit(byte: u8) -> Option<u32> {
    match byte {
        b'A'..=b'Z' => Some(u32::from(byte - b'A')),
        b'a'..=b'z' => Some(u32::from(byte - b'a') + 26),
        b'0'..=b'9' => Some(u32::from(byte - b'0') + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    }
}

/// The ASCII character that a character is in another style: wide, mathematical, in a circle or in a square.
fn unstyled(c: char) -> char {
    const LETTERLIKE: (&str, &str) = ("ℂℊℋℌℍℎℐℑℒℓℕℙℚℛℜℝℤℨℬℭℯℰℱℳℴ", "CgHHHhIILlNPQRRRZZBCeEFMo");
    let (first, offset) = match u32::from(c) {
        code @ 0xff01..=0xff5e => (b'!', code - 0xff01),
        code @ 0x1d400..=0x1d6a3 => match (code - 0x1d400) % 52 {
            capital @ 0..26 => (b'A', capital),
            small => (b'a', small - 26),
        },
        code @ 0x1d7ce..=0x1d7ff => (b'0', (code - 0x1d7ce) % 10),
        code @ 0x2460..=0x2468 => (b'1', code - 0x2460),
        code @ 0x24b6..=0x24cf => (b'A', code - 0x24b6),
        code @ 0x24d0..=0x24e9 => (b'a', code - 0x24d0),
        code @ 0x1f130..=0x1f149 => (b'A', code - 0x1f130),
        code @ 0x1f150..=0x1f169 => (b'A', code - 0x1f150),
        code @ 0x1f170..=0x1f189 => (b'A', code - 0x1f170),
        _ => {
            let mut letters = LETTERLIKE.0.chars().zip(LETTERLIKE.1.chars());
            return letters.find(|(styled, _)| *styled == c).map_or(c, |(_, letter)| letter);
        }
    };
    char::from(first + offset as u8)
}

/// A text in which the key, where there is one, is masked.
pub(super) fn masked(key: Option<&Secret>, text: &str) -> String {
    match key {
        Some(key) => key.mask(text),
        None => text.to_owned(),
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(MASK)
    }
}

#[cfg(test)]
mod tests;
