//! Finds a key in a text, or a part of one, in any encoding: the text as its readers see it, without what a terminal or a page drops, and with
//! every escape decoded that one of them decodes.
//!
//! The work is proportional to the length of the text, for any text.

use std::collections::HashSet;
use std::ops::Range;

use crate::transcript::fence::unstyled;

/// The most characters of an escape, which bounds the search for its beginning.
const LONGEST_ESCAPE: usize = 32;
/// The fewest characters of a key in a row that are looked for.
const PART: usize = 8;
/// How many nested layers of base64 or hexadecimal digits are decoded.
const PACKED_TWICE: usize = 2;

/// A byte of a view, and the range of the text from which it was read.
#[derive(Debug, Clone, Copy)]
struct Unit {
    byte: u8,
    start: u32,
    end: u32,
}

/// How many nested layers of escapes are decoded.
const LAYERS: usize = 6;
/// The byte for the character that begins a terminal's sequence, like `ESC [`.
const SEQUENCE: u8 = 0x2;
/// Marks a byte that was decoded in the same layer, so that it is not part of another escape there.
const DECODED: u8 = 0x80;

/// How a reader decodes a text. Every reader decodes the escapes of addresses, of programming languages and of HTML,
/// and drops all characters but visible ASCII.
#[derive(Debug, Clone, Copy)]
struct Reading {
    /// Decodes quoted-printable, in which an equals sign is an escape.
    quoted: bool,
    /// Executes a terminal's sequences and backspaces, and drops the tags of a page.
    rendered: bool,
}

/// Every way to read. They exclude each other: `=ab` is a value in one and an escape in another.
const READINGS: [Reading; 4] = [
    Reading { quoted: false, rendered: false },
    Reading { quoted: false, rendered: true },
    Reading { quoted: true, rendered: false },
    Reading { quoted: true, rendered: true },
];

/// Returns where a text has [`PART`] or more characters of `word` in a row, encoded or not, in order. Case does
/// not matter, and neither do marks between letters and digits, or reversed order. A shorter word is found whole.
pub(super) fn find(text: &str, word: &str) -> Vec<Range<usize>> {
    // No answer has four gigabytes. Of one that has, nothing is shown.
    let Ok(_) = u32::try_from(text.len()) else { return vec![Range { start: 0, end: text.len() }] };
    let mut found = Vec::new();
    search(&units(text), &Parts::of(word), PACKED_TWICE, &mut found);
    found.sort_by_key(|range: &Range<usize>| range.start);
    found.dedup_by(|next, last| {
        let joined = next.start <= last.end;
        if joined {
            last.end = last.end.max(next.end);
        }
        joined
    });
    found
}

/// The parts of a word that are looked for, in lower case and in both directions.
struct Parts {
    length: usize,
    parts: HashSet<Vec<u8>>,
    /// Those of its letters and digits alone, which a text can show between marks. One without a digit could be words.
    bare: HashSet<Vec<u8>>,
}

impl Parts {
    fn of(word: &str) -> Self {
        let forwards = word.to_ascii_lowercase().into_bytes();
        let backwards: Vec<u8> = forwards.iter().rev().copied().collect();
        let length = forwards.len().clamp(1, PART);
        let both = [forwards, backwards];
        let parts = both.iter().flat_map(|word| word.windows(length).map(<[u8]>::to_vec)).collect();
        let bare = both.map(|word| word.into_iter().filter(u8::is_ascii_alphanumeric).collect::<Vec<u8>>());
        let bare = bare.iter().flat_map(|word| word.windows(PART));
        let bare = bare.filter(|part| part.iter().any(u8::is_ascii_digit)).map(<[u8]>::to_vec).collect();
        Parts { length, parts, bare }
    }
}

fn search(text: &[Unit], word: &Parts, packed: usize, found: &mut Vec<Range<usize>>) {
    // Decoded digits are read in fewer ways.
    let readings = if packed == PACKED_TWICE { &READINGS[..] } else { &READINGS[..2] };
    let mut seen: Vec<Vec<u8>> = Vec::new();
    for reading in readings {
        let mut view = text.to_vec();
        for _ in 0..=LAYERS {
            if reading.rendered {
                view = rendered(&view);
            }
            let mut visible = view.clone();
            visible.retain(|unit| unit.byte.is_ascii_graphic());
            if !seen.contains(&bytes(&visible)) {
                seen.push(bytes(&visible));
                matches(&visible, &word.parts, word.length, found);
                // Digits encode no marks that somebody put between the characters of a key.
                if packed == PACKED_TWICE {
                    let mut bare = visible.clone();
                    bare.retain(|unit| unit.byte.is_ascii_alphanumeric());
                    matches(&bare, &word.bare, PART, found);
                }
                if packed > 0 {
                    search_packed(&visible, word, packed, found);
                }
            }
            let next = reading.decoded(&view);
            if bytes(&next) == bytes(&view) {
                break;
            }
            view = next;
        }
    }
}

/// Searches the bytes that digits in a text encode.
fn search_packed(view: &[Unit], word: &Parts, packed: usize, found: &mut Vec<Range<usize>>) {
    for (bits, value, skips) in [(6, base64 as fn(u8) -> Option<u8>, 4), (4, hexadecimal, 2)] {
        for skip in 0..skips {
            let bytes = unpacked(view, bits, value, skip, word.length);
            if bytes.len() >= word.length {
                search(&bytes, word, packed - 1, found);
            }
        }
    }
}

/// Finds parts of this length in a view.
fn matches(view: &[Unit], parts: &HashSet<Vec<u8>>, length: usize, found: &mut Vec<Range<usize>>) {
    let bytes: Vec<u8> = view.iter().map(|unit| unit.byte.to_ascii_lowercase()).collect();
    for (at, part) in bytes.windows(length).enumerate() {
        if parts.contains(part) {
            found.push(view[at].start as usize..view[at + length - 1].end as usize);
        }
    }
}

/// Returns the bytes of a text. Characters outside ASCII become those that they look like, or are dropped.
fn units(text: &str) -> Vec<Unit> {
    let unit =
        |(at, c): (usize, char)| Some(Unit { byte: plain(c)?, start: at as u32, end: (at + c.len_utf8()) as u32 });
    text.char_indices().filter_map(unit).collect()
}

/// Returns the bytes of a view.
fn bytes(view: &[Unit]) -> Vec<u8> {
    view.iter().map(|unit| unit.byte).collect()
}

/// Returns the ASCII character that a character is or looks like, or the mark of a terminal's sequence.
fn plain(c: char) -> Option<u8> {
    match c {
        '\u{9b}' => Some(SEQUENCE),
        c if c.is_ascii() => Some(c as u8),
        c => u8::try_from(unstyled(c)).ok().filter(u8::is_ascii),
    }
}

fn base64(digit: u8) -> Option<u8> {
    Some(match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    })
}

fn hexadecimal(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|value| value as u8)
}

/// Returns the bytes that digits of so many bits encode, from the `skip`th digit of each run on. Runs too short for a
/// word of `length` bytes are skipped, except hexadecimal ones, which can be separate pairs.
fn unpacked(view: &[Unit], bits: u32, value: fn(u8) -> Option<u8>, skip: usize, length: usize) -> Vec<Unit> {
    let mut bytes = Vec::new();
    for row in view.split(|unit| value(unit.byte).is_none()) {
        if bits > 4 && row.len() * bits as usize / 8 + 1 < length {
            continue;
        }
        let (mut held, mut filled, mut start) = (0_u32, 0, 0);
        for unit in row.iter().skip(skip) {
            if filled < bits {
                start = unit.start;
            }
            held = held << bits | u32::from(value(unit.byte).unwrap_or_default());
            filled += bits;
            if filled >= 8 {
                filled -= 8;
                let byte = plain(char::from((held >> filled) as u8)).unwrap_or_default();
                bytes.push(Unit { byte, start, end: unit.end });
                held &= (1 << filled) - 1;
                start = unit.start;
            }
        }
    }
    bytes
}

/// Whether a terminal executes a byte, which changes the text around it.
fn is_control(byte: u8) -> bool {
    matches!(byte, SEQUENCE | 0x7 | 0x8 | 0x1b)
}

impl Reading {
    /// Decodes one layer of escapes.
    ///
    /// An entity without a semicolon ends after its digits. Other escapes can hide that end, so such entities are
    /// decoded only when no other escape is left.
    fn decoded(self, text: &[Unit]) -> Vec<Unit> {
        let ended = self.decoded_once(text, false);
        if bytes(&ended) == bytes(text) { self.decoded_once(text, true) } else { ended }
    }

    fn decoded_once(self, text: &[Unit], open_entities: bool) -> Vec<Unit> {
        let mut decoder = Decoder { reading: self, open_entities, view: Vec::with_capacity(text.len()) };
        text.iter().for_each(|unit| decoder.push(*unit));
        decoder.decode_open(b' ');
        decoder.view.iter_mut().for_each(|unit| unit.byte &= !DECODED);
        decoder.view
    }
}

/// Decodes each escape at its last character.
struct Decoder {
    reading: Reading,
    /// Decodes entities without a semicolon.
    open_entities: bool,
    view: Vec<Unit>,
}

impl Decoder {
    fn push(&mut self, unit: Unit) {
        if unit.byte.is_ascii_graphic() {
            self.decode_open(unit.byte);
            self.view.push(unit);
            self.decode(unit.byte);
        } else if is_control(unit.byte) && self.reading.rendered {
            self.decode_open(unit.byte);
            self.view.push(unit);
        } else if unit.byte == b'\n' && self.reading.quoted && self.back(1) == b'=' {
            // A soft line break: the line continues.
            self.view.pop();
        }
    }

    /// Returns the byte so many places before the end.
    fn back(&self, places: usize) -> u8 {
        self.view.len().checked_sub(places).map_or(0, |at| self.view[at].byte)
    }

    /// Replaces the last `length` units by the character of a code; characters that do not matter are dropped.
    fn replace(&mut self, length: usize, code: u32) {
        let at = self.view.len() - length;
        let (start, end) = (self.view[at].start, self.view[at + length - 1].end);
        self.view.truncate(at);
        let byte = char::from_u32(code).and_then(plain).filter(|byte| byte.is_ascii_graphic() || is_control(*byte));
        self.view.extend(byte.map(|byte| Unit { byte: byte | DECODED, start, end }));
    }

    /// Decodes the escape that ends with this byte, the last one of the view.
    fn decode(&mut self, byte: u8) {
        let length = self.view.len();
        let digits = |count: usize| self.number(&self.view[length.saturating_sub(count)..], 16);
        let backslash = |places: usize, letter: u8| self.back(places) == b'\\' && self.back(places - 1) == letter;
        let decoded = if self.back(3) == b'%' || self.reading.quoted && self.back(3) == b'=' {
            digits(2).map(|code| (3, code))
        } else if self.back(2) == b'\\' && self.back(3) != 0x1b {
            match byte {
                b'u' | b'U' | b'x' | b'0'..=b'7' => None,
                b'a' => Some((2, 0x7)),
                b'b' => Some((2, 0x8)),
                b'e' => Some((2, 0x1b)),
                b'f' | b'n' | b'r' | b't' | b'v' => Some((2, 0)),
                other => Some((2, u32::from(other))),
            }
        } else {
            None
        };
        let fixed = || {
            let octal = || self.number(&self.view[length.saturating_sub(3)..], 8).filter(|code| *code < 0x100);
            [(4, b'x'), (6, b'u'), (10, b'U')]
                .iter()
                .find_map(|(size, letter)| Some((*size, backslash(*size, *letter).then(|| digits(size - 2))??)))
                .or_else(|| Some((4, (self.back(4) == b'\\').then(octal)??)))
        };
        let ended = || match byte {
            b'}' => self.braced(),
            b';' => self.entity(),
            _ => None,
        };
        if let Some((size, code)) = decoded.or_else(fixed).or_else(ended) {
            self.replace(size, code);
        }
    }

    /// Decodes an escape without an end mark, which the next byte ends.
    fn decode_open(&mut self, next: u8) {
        if !self.back(1).is_ascii_hexdigit() {
            return;
        }
        let octal = (2..=3).find(|size| self.back(*size) == b'\\').filter(|_| !matches!(next, b'0'..=b'7'));
        let octal = octal.and_then(|size| Some((size, self.number(&self.view[self.view.len() - size + 1..], 8)?)));
        if let Some((size, code)) = octal.or_else(|| self.entity_before(next)) {
            self.replace(size, code);
        }
    }

    /// Returns the numeric entity without a semicolon that the next byte ends, as it is not a digit.
    fn entity_before(&self, next: u8) -> Option<(usize, u32)> {
        if !self.open_entities || next == b';' {
            return None;
        }
        let size = self.since(b'&', |byte| byte.is_ascii_hexdigit() || matches!(byte, b'#' | b'x' | b'X'))?;
        let body = bytes(&self.view[self.view.len() - size + 1..]);
        let is_hexadecimal = matches!(body.get(1), Some(b'x' | b'X'));
        let continues = if is_hexadecimal { next.is_ascii_hexdigit() } else { next.is_ascii_digit() };
        if continues { None } else { Some((size, numeric(&body)?)) }
    }

    /// Returns the `\u{2f}` or `\x{2f}` at the end.
    fn braced(&self) -> Option<(usize, u32)> {
        let end = self.view.len() - 1;
        let digits = self.view[..end].iter().rev().take(LONGEST_ESCAPE);
        let count = digits.take_while(|unit| unit.byte.is_ascii_hexdigit()).count();
        let begins = matches!(self.back(count + 3), b'u' | b'x') && self.back(count + 4) == b'\\';
        let opened = self.back(count + 2) == b'{' && begins;
        opened.then(|| Some((count + 4, self.number(&self.view[end - count..end], 16)?)))?
    }

    /// Returns the entity at the end.
    fn entity(&self) -> Option<(usize, u32)> {
        let size = self.since(b'&', |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'#' | b';'))?;
        let body = bytes(&self.view[self.view.len() - size + 1..]);
        let body = body.strip_suffix(b";")?;
        let named = || ENTITIES.iter().find(|(name, _)| name.as_bytes() == body).map(|(_, c)| u32::from(*c));
        Some((size, numeric(body).or_else(named)?))
    }

    /// Returns the number of bytes from `begin` to the end, if only bytes of `between` follow it.
    fn since(&self, begin: u8, between: impl Fn(u8) -> bool) -> Option<usize> {
        let last = self.view.iter().rev().take(LONGEST_ESCAPE);
        let size = last.take_while(|unit| between(unit.byte)).count() + 1;
        (self.back(size) == begin).then_some(size)
    }

    fn number(&self, digits: &[Unit], radix: u32) -> Option<u32> {
        if digits.is_empty() {
            return None;
        }
        let value = |unit: &Unit| char::from(unit.byte).to_digit(radix);
        digits.iter().try_fold(0_u32, |number, unit| Some(number.saturating_mul(radix).saturating_add(value(unit)?)))
    }
}

/// Removes the sequences that a terminal executes, the characters before backspaces, and the tags of a page.
fn rendered(text: &[Unit]) -> Vec<Unit> {
    let mut view: Vec<Unit> = Vec::new();
    // The beginnings of the last tag and of the last sequence.
    let (mut tag, mut sequence) = (0, 0);
    for unit in text {
        if !unit.byte.is_ascii_graphic() && !is_control(unit.byte) {
            continue;
        }
        view.push(*unit);
        let last = view.len() - 1;
        let at = |place: usize| view.get(place).map_or(0, |unit| unit.byte);
        let is_title = (at(sequence), at(sequence + 1)) == (0x1b, b']');
        let is_tag = at(tag) == b'<' && (at(tag + 1).is_ascii_alphabetic() || matches!(at(tag + 1), b'/' | b'!'));
        let start = match (unit.byte, at(sequence), at(sequence + 1)) {
            (0x8, ..) => Some(last.saturating_sub(1)),
            (b'>', ..) if is_tag => Some(tag),
            // The title of a window or a link, up to a bell or the sequence that ends it.
            (0x7, ..) => Some(if is_title { sequence } else { last }),
            (b'\\', ..) if is_title && at(last - 1) == 0x1b => Some(sequence),
            (b'@'..=b'~', 0x1b, b'[') if last > sequence + 1 => Some(sequence),
            (b'@'..=b'~', SEQUENCE, _) => Some(sequence),
            (_, 0x1b, b'(' | b')') if last > sequence + 1 => Some(sequence),
            _ => None,
        };
        match unit.byte {
            b'<' => tag = last,
            0x1b | SEQUENCE if !is_title => sequence = last,
            _ => {}
        }
        view.truncate(start.unwrap_or(last + 1));
    }
    view
}

/// Parses the number of an entity, as in `#47` and `#x2F`.
fn numeric(body: &[u8]) -> Option<u32> {
    let digits = str::from_utf8(body.strip_prefix(b"#")?).ok()?;
    match digits.strip_prefix(['x', 'X']) {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => digits.parse().ok(),
    }
}

/// HTML's names of the characters that a key can have, and of invisible ones.
#[rustfmt::skip]
const ENTITIES: &[(&str, char)] = &[
    ("Tab", '\t'), ("NewLine", '\n'), ("nbsp", ' '), ("shy", '\0'), ("zwj", '\0'), ("zwnj", '\0'), ("lrm", '\0'),
    ("rlm", '\0'), ("ZeroWidthSpace", '\0'), ("NoBreak", '\0'), ("InvisibleTimes", '\0'), ("it", '\0'), ("ic", '\0'),
    ("excl", '!'), ("quot", '"'), ("QUOT", '"'), ("num", '#'), ("dollar", '$'), ("percnt", '%'), ("amp", '&'),
    ("AMP", '&'), ("apos", '\''), ("lpar", '('), ("rpar", ')'), ("ast", '*'), ("midast", '*'), ("plus", '+'),
    ("comma", ','), ("hyphen", '-'), ("dash", '-'), ("period", '.'), ("sol", '/'), ("colon", ':'), ("semi", ';'),
    ("lt", '<'), ("LT", '<'), ("equals", '='), ("gt", '>'), ("GT", '>'), ("quest", '?'), ("commat", '@'),
    ("lsqb", '['), ("lbrack", '['), ("bsol", '\\'), ("rsqb", ']'), ("rbrack", ']'), ("Hat", '^'), ("lowbar", '_'),
    ("UnderBar", '_'), ("grave", '`'), ("lcub", '{'), ("lbrace", '{'), ("verbar", '|'), ("vert", '|'),
    ("VerticalLine", '|'), ("rcub", '}'), ("rbrace", '}'), ("tilde", '~'),
];
