//! A text as its readers have it in the end: without what a terminal or a page drops, and with everything decoded that
//! one of them decodes. Where a word stands in it, though the text itself never spells it, is found here.
//!
//! All work is proportional to the text, whatever is in it.

use std::ops::Range;

/// Most characters of one escape, so that nobody makes the search for its beginning long.
const LONGEST_ESCAPE: usize = 32;
/// How often bytes are taken out of base64 or hexadecimal digits, which may be written in such digits again.
const PACKED_TWICE: usize = 2;

/// One byte of a view, and the bytes of the text that it is read from.
#[derive(Debug, Clone, Copy)]
struct Unit {
    byte: u8,
    start: u32,
    end: u32,
}

/// How often escapes are decoded that stand for escapes.
const LAYERS: usize = 6;
/// What stands here for the one character that begins a terminal's sequence, as the two of `ESC [` do.
const SEQUENCE: u8 = 0x2;
/// Marks a byte that was decoded in the same layer: it is no part of another escape there.
const DECODED: u8 = 0x80;

/// What a reader does with a text, besides decoding the escapes of addresses, of programming languages and of HTML, and
/// dropping whatever is no visible ASCII character.
#[derive(Debug, Clone, Copy)]
struct Way {
    /// Decodes quoted-printable, in which an equals sign is an escape.
    quoted: bool,
    /// Obeys a terminal's sequences and a backspace, and drops the tags of a page.
    rendered: bool,
}

/// Each reader sees words that another takes for something else: `=ab` is a value here and an escape there.
const WAYS: [Way; 4] = [
    Way { quoted: false, rendered: false },
    Way { quoted: false, rendered: true },
    Way { quoted: true, rendered: false },
    Way { quoted: true, rendered: true },
];

/// Where a text says `word` in disguise, in order. Letters count as the same in both cases, and backwards is no disguise.
pub(super) fn find(text: &str, word: &str) -> Vec<Range<usize>> {
    // An answer is never as long as four gigabytes.
    let Ok(_) = u32::try_from(text.len()) else { return Vec::new() };
    let mut found = Vec::new();
    search(&units(text), word, PACKED_TWICE, &mut found);
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

fn search(text: &[Unit], word: &str, packed: usize, found: &mut Vec<Range<usize>>) {
    // What is packed is read in fewer ways.
    let ways = if packed == PACKED_TWICE { &WAYS[..] } else { &WAYS[..2] };
    let bytes = |view: &[Unit]| -> Vec<u8> { view.iter().map(|unit| unit.byte).collect() };
    let mut seen: Vec<Vec<u8>> = Vec::new();
    for way in ways {
        let mut view = text.to_vec();
        for _ in 0..=LAYERS {
            if way.rendered {
                view = rendered(&view);
            }
            let mut visible = view.clone();
            visible.retain(|unit| unit.byte.is_ascii_graphic());
            if !seen.contains(&bytes(&visible)) {
                seen.push(bytes(&visible));
                matches(&visible, word, found);
                if packed > 0 {
                    search_packed(&visible, word, packed, found);
                }
            }
            let next = way.decoded(&view);
            if bytes(&next) == bytes(&view) {
                break;
            }
            view = next;
        }
    }
}

/// The same in the bytes that digits in a text spell.
fn search_packed(view: &[Unit], word: &str, packed: usize, found: &mut Vec<Range<usize>>) {
    for (bits, value, skips) in [(6, base64 as fn(u8) -> Option<u8>, 4), (4, hexadecimal, 2)] {
        for skip in 0..skips {
            let bytes = unpacked(view, bits, value, skip, word.len());
            if bytes.len() >= word.len() {
                search(&bytes, word, packed - 1, found);
            }
        }
    }
}

/// Where a view says a word, forwards or backwards.
fn matches(view: &[Unit], word: &str, found: &mut Vec<Range<usize>>) {
    let bytes: Vec<u8> = view.iter().map(|unit| unit.byte.to_ascii_lowercase()).collect();
    let forwards = word.to_ascii_lowercase().into_bytes();
    let backwards = forwards.iter().rev().copied().collect();
    for word in [forwards, backwards] {
        let place = |at: usize| view[at].start as usize..view[at + word.len() - 1].end as usize;
        found.extend(memchr::memmem::find_iter(&bytes, &word).map(place));
    }
}

/// A text by its bytes, with other characters than ASCII as those that they stand for, if they do.
fn units(text: &str) -> Vec<Unit> {
    let unit =
        |(at, c): (usize, char)| Some(Unit { byte: plain(c)?, start: at as u32, end: (at + c.len_utf8()) as u32 });
    text.char_indices().filter_map(unit).collect()
}

/// The ASCII character that a character is or looks like; the one of the others that a terminal obeys stays.
fn plain(c: char) -> Option<u8> {
    match c {
        '\u{ff01}'..='\u{ff5e}' => u8::try_from(u32::from(c) - 0xfee0).ok(),
        '\u{9b}' => Some(SEQUENCE),
        c => u8::try_from(c).ok().filter(u8::is_ascii),
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

/// The bytes that digits of so many bits spell, from the `skip`th digit of each row of them on. Rows that are too short for
/// a part of a word of `length` bytes are left out, but for hexadecimal digits, which may stand in pairs.
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

/// Whether a byte is one that a terminal obeys in a way that changes what stands around it.
fn is_obeyed(byte: u8) -> bool {
    matches!(byte, SEQUENCE | 0x7 | 0x8 | 0x1b)
}

impl Way {
    /// A text with one layer of escapes decoded.
    ///
    /// An entity without its semicolon ends where its digits do. Other escapes between two such entities hide that end, so
    /// that these wait until nothing else is left to decode.
    fn decoded(self, text: &[Unit]) -> Vec<Unit> {
        let bytes = |view: &[Unit]| -> Vec<u8> { view.iter().map(|unit| unit.byte).collect() };
        let ended = self.decoded_once(text, false);
        if bytes(&ended) == bytes(text) { self.decoded_once(text, true) } else { ended }
    }

    fn decoded_once(self, text: &[Unit], open_entities: bool) -> Vec<Unit> {
        let mut decoder = Decoder { way: self, open_entities, view: Vec::with_capacity(text.len()) };
        text.iter().for_each(|unit| decoder.push(*unit));
        decoder.decode_open(b' ');
        decoder.view.iter_mut().for_each(|unit| unit.byte &= !DECODED);
        decoder.view
    }
}

/// Decodes each escape as soon as its last character has come.
struct Decoder {
    way: Way,
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
        } else if is_obeyed(unit.byte) && self.way.rendered {
            self.decode_open(unit.byte);
            self.view.push(unit);
        } else if unit.byte == b'\n' && self.way.quoted && self.back(1) == b'=' {
            // The line goes on.
            self.view.pop();
        }
    }

    /// The byte so many places before the end.
    fn back(&self, places: usize) -> u8 {
        self.view.len().checked_sub(places).map_or(0, |at| self.view[at].byte)
    }

    /// Replaces the last `length` units by the character of a code, if that is one that counts.
    fn replace(&mut self, length: usize, code: u32) {
        let at = self.view.len() - length;
        let (start, end) = (self.view[at].start, self.view[at + length - 1].end);
        self.view.truncate(at);
        let byte = char::from_u32(code).and_then(plain).filter(|byte| byte.is_ascii_graphic() || is_obeyed(*byte));
        self.view.extend(byte.map(|byte| Unit { byte: byte | DECODED, start, end }));
    }

    /// Decodes the escape that ends with this byte, which has come.
    fn decode(&mut self, byte: u8) {
        let length = self.view.len();
        let digits = |count: usize| self.number(&self.view[length.saturating_sub(count)..], 16);
        let backslash = |places: usize, letter: u8| self.back(places) == b'\\' && self.back(places - 1) == letter;
        let decoded = if self.back(3) == b'%' || self.way.quoted && self.back(3) == b'=' {
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

    /// Decodes an escape without an end, which the next byte shows to be over.
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

    /// The entity of a number that is over where the next byte is no digit of it, without a semicolon.
    fn entity_before(&self, next: u8) -> Option<(usize, u32)> {
        if !self.open_entities || next == b';' {
            return None;
        }
        let size = self.since(b'&', |byte| byte.is_ascii_hexdigit() || matches!(byte, b'#' | b'x' | b'X'))?;
        let body: Vec<u8> = self.view[self.view.len() - size + 1..].iter().map(|unit| unit.byte).collect();
        let is_hexadecimal = matches!(body.get(1), Some(b'x' | b'X'));
        let goes_on = if is_hexadecimal { next.is_ascii_hexdigit() } else { next.is_ascii_digit() };
        if goes_on { None } else { Some((size, numeric(&body)?)) }
    }

    /// The `\u{2f}` or `\x{2f}` at the end.
    fn braced(&self) -> Option<(usize, u32)> {
        let end = self.view.len() - 1;
        let digits = self.view[..end].iter().rev().take(LONGEST_ESCAPE);
        let count = digits.take_while(|unit| unit.byte.is_ascii_hexdigit()).count();
        let begins = matches!(self.back(count + 3), b'u' | b'x') && self.back(count + 4) == b'\\';
        let opened = self.back(count + 2) == b'{' && begins;
        opened.then(|| Some((count + 4, self.number(&self.view[end - count..end], 16)?)))?
    }

    /// The entity at the end.
    fn entity(&self) -> Option<(usize, u32)> {
        let size = self.since(b'&', |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'#' | b';'))?;
        let body: Vec<u8> = self.view[self.view.len() - size + 1..].iter().map(|unit| unit.byte).collect();
        let body = body.strip_suffix(b";")?;
        let named = || ENTITIES.iter().find(|(name, _)| name.as_bytes() == body).map(|(_, c)| u32::from(*c));
        Some((size, numeric(body).or_else(named)?))
    }

    /// How many bytes it is since this one, with only such bytes behind it.
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

/// A text without the sequences that a terminal obeys, the characters that a backspace takes back, and the tags of a page.
fn rendered(text: &[Unit]) -> Vec<Unit> {
    let mut view: Vec<Unit> = Vec::new();
    // Where the last tag begins, and the last sequence, if they still do.
    let (mut tag, mut sequence) = (0, 0);
    for unit in text {
        if !unit.byte.is_ascii_graphic() && !is_obeyed(unit.byte) {
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

/// The number in an entity, as in `#47` and `#x2F`.
fn numeric(body: &[u8]) -> Option<u32> {
    let digits = str::from_utf8(body.strip_prefix(b"#")?).ok()?;
    match digits.strip_prefix(['x', 'X']) {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => digits.parse().ok(),
    }
}

/// HTML's names of the characters that a key may have, and of those that nobody sees.
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
