//! Finds a key in a text, or a part of one, in any encoding: the text as its readers see it, without what a terminal or
//! a page drops, and with every escape decoded that one of them decodes.
//!
//! The work is proportional to the length of the text, for any text.

use std::collections::HashSet;
use std::ops::{Range, RangeInclusive};

use memchr::memmem;

use crate::transcript::edit::apart;
use crate::transcript::fence::unstyled;

/// The fewest characters of a key in a row that are looked for.
pub(super) const PART: usize = 8;
/// How many nested layers of escapes are decoded.
const LAYERS: usize = 6;
/// How many nested layers of base64 or hexadecimal digits are decoded.
const PACKED_TWICE: usize = 2;

const BELL: u8 = 0x7;
const BACKSPACE: u8 = 0x8;
const ESC: u8 = 0x1b;
/// The byte for U+009B, which begins a terminal's sequence as `ESC [` does.
const CSI: u8 = 0x2;
/// The byte for a character that nobody sees.
const UNSEEN: u8 = 0;

/// An escape of one character: a prefix, digits, and what ends them.
struct Escape {
    prefix: &'static str,
    digits: RangeInclusive<usize>,
    radix: u32,
    end: &'static str,
}

/// The escapes of addresses, of programming languages, of HTML and of quoted-printable.
const ESCAPES: [Escape; 12] = [
    Escape { prefix: "%", digits: 2..=2, radix: 16, end: "" },
    Escape { prefix: "\\x", digits: 2..=2, radix: 16, end: "" },
    Escape { prefix: "\\u", digits: 4..=4, radix: 16, end: "" },
    Escape { prefix: "\\U", digits: 8..=8, radix: 16, end: "" },
    Escape { prefix: "\\x{", digits: 1..=32, radix: 16, end: "}" },
    Escape { prefix: "\\u{", digits: 1..=32, radix: 16, end: "}" },
    Escape { prefix: "\\", digits: 1..=3, radix: 8, end: "" },
    Escape { prefix: "&#x", digits: 1..=32, radix: 16, end: ";" },
    Escape { prefix: "&#X", digits: 1..=32, radix: 16, end: ";" },
    Escape { prefix: "&#", digits: 1..=32, radix: 10, end: ";" },
    Escape { prefix: QUOTED, digits: 2..=2, radix: 16, end: "" },
    // A line continues behind its soft end.
    Escape { prefix: QUOTED, digits: 0..=0, radix: 16, end: "\n" },
];
const QUOTED: &str = "=";

/// HTML's names of the characters that a key can have, and of unseen ones.
#[rustfmt::skip]
const ENTITIES: [(&str, u8); 58] = [
    ("Tab;", UNSEEN), ("NewLine;", UNSEEN), ("nbsp;", UNSEEN), ("shy;", UNSEEN), ("zwj;", UNSEEN), ("zwnj;", UNSEEN),
    ("lrm;", UNSEEN), ("rlm;", UNSEEN), ("ZeroWidthSpace;", UNSEEN), ("NoBreak;", UNSEEN), ("InvisibleTimes;", UNSEEN),
    ("it;", UNSEEN), ("ic;", UNSEEN), ("excl;", b'!'), ("quot;", b'"'), ("QUOT;", b'"'), ("num;", b'#'), ("dollar;", b'$'),
    ("percnt;", b'%'), ("amp;", b'&'), ("AMP;", b'&'), ("apos;", b'\''), ("lpar;", b'('), ("rpar;", b')'), ("ast;", b'*'),
    ("midast;", b'*'), ("plus;", b'+'), ("comma;", b','), ("hyphen;", b'-'), ("dash;", b'-'), ("period;", b'.'),
    ("sol;", b'/'), ("colon;", b':'), ("semi;", b';'), ("lt;", b'<'), ("LT;", b'<'), ("equals;", b'='), ("gt;", b'>'),
    ("GT;", b'>'), ("quest;", b'?'), ("commat;", b'@'), ("lsqb;", b'['), ("lbrack;", b'['), ("bsol;", b'\\'),
    ("rsqb;", b']'), ("rbrack;", b']'), ("Hat;", b'^'), ("lowbar;", b'_'), ("UnderBar;", b'_'), ("grave;", b'`'),
    ("lcub;", b'{'), ("lbrace;", b'{'), ("verbar;", b'|'), ("vert;", b'|'), ("VerticalLine;", b'|'), ("rcub;", b'}'),
    ("rbrace;", b'}'), ("tilde;", b'~'),
];

/// How a reader reads a text. Every reader drops all characters but visible ASCII.
#[derive(Debug, Clone, Copy)]
struct Reading {
    /// Decodes quoted-printable. For other readers, `=ab` is a value.
    quoted: bool,
    /// Executes a terminal's sequences and backspaces, and drops the tags of a page.
    rendered: bool,
}

/// A byte that was read from a text, and its range there.
#[derive(Debug, Clone, Copy)]
struct Unit {
    byte: u8,
    start: usize,
    end: usize,
}

/// Returns where a text has [`PART`] characters of `word` in a row, encoded or not. Case does not matter, and neither do
/// marks between letters and digits, or reversed order. The ranges are sorted by their beginnings, and can overlap.
///
/// Where one reader sees the whole word, it ends there: for another, the text behind it may continue a part.
pub(super) fn find(text: &str, word: &str) -> Vec<Range<usize>> {
    let wholes = wholes(word);
    let mut search = Search { parts: parts(&wholes), wholes, found: Vec::new(), found_whole: Vec::new() };
    let unit = |(start, c): (usize, char)| Some(Unit { byte: plain(c)?, start, end: start + c.len_utf8() });
    let text: Vec<Unit> = text.char_indices().filter_map(unit).collect();
    search.read(&text, PACKED_TWICE);
    let whole = apart(search.found_whole);
    let overlaps = |part: &Range<usize>| {
        whole.get(whole.partition_point(|one| one.end <= part.start)).is_some_and(|one| one.start < part.end)
    };
    search.found.retain(|part| !overlaps(part));
    search.found.extend(whole.iter().cloned());
    search.found.sort_by_key(|range| range.start);
    search.found
}

/// Returns a word in lower case, and its letters and digits alone, which a text can show between marks.
fn wholes(word: &str) -> [Vec<u8>; 2] {
    let word = word.to_ascii_lowercase().into_bytes();
    let bare = word.iter().copied().filter(u8::is_ascii_alphanumeric).collect();
    [word, bare]
}

/// Returns the parts of a word in both directions, and those of its letters and digits alone. Of those, one without a
/// digit could be words.
fn parts([word, bare]: &[Vec<u8>; 2]) -> HashSet<Vec<u8>> {
    let bare = bare.windows(PART).filter(|part| part.iter().any(u8::is_ascii_digit));
    let forwards = word.windows(PART).chain(bare);
    forwards.flat_map(|part| [part.to_vec(), part.iter().rev().copied().collect()]).collect()
}

struct Search {
    wholes: [Vec<u8>; 2],
    parts: HashSet<Vec<u8>>,
    found: Vec<Range<usize>>,
    found_whole: Vec<Range<usize>>,
}

impl Search {
    /// Reads a text in every way, with so many layers of digits. Decoded digits are read in fewer ways.
    fn read(&mut self, text: &[Unit], packed: usize) {
        let mut seen = HashSet::new();
        let ways = if packed == PACKED_TWICE { 4 } else { 2 };
        for (quoted, rendered) in [(false, false), (false, true), (true, false), (true, true)].into_iter().take(ways) {
            let reading = Reading { quoted, rendered };
            let mut view = text.to_vec();
            // A soft line end is an escape. A terminal and a page show none.
            view.retain(|unit| reading.keeps(unit.byte) || quoted && !rendered && unit.byte == b'\n');
            for _ in 0..=LAYERS {
                if rendered {
                    view = without_sequences(&view);
                }
                let mut visible = view.clone();
                visible.retain(|unit| unit.byte.is_ascii_graphic());
                if seen.insert(bytes(&visible)) {
                    self.search(visible, packed);
                }
                let Some(next) = reading.decoded(&view) else { break };
                view = next;
            }
        }
    }

    fn search(&mut self, mut visible: Vec<Unit>, packed: usize) {
        self.match_parts(&visible);
        // Each run of digits can begin inside a byte.
        for (bits, skips) in [(6, 0..4), (4, 0..2)] {
            for skip in skips.filter(|_| packed > 0) {
                self.read(&unpacked(&visible, bits, skip), packed - 1);
            }
        }
        // Digits encode no marks that somebody put between the characters of a key.
        if packed == PACKED_TWICE {
            visible.retain(|unit| unit.byte.is_ascii_alphanumeric());
            self.match_parts(&visible);
        }
    }

    fn match_parts(&mut self, view: &[Unit]) {
        let bytes = bytes(view).to_ascii_lowercase();
        let found = bytes.windows(PART).zip(view.windows(PART)).filter(|(part, _)| self.parts.contains(*part));
        let before = self.found.len();
        self.found.extend(found.map(|(_, units)| units[0].start..units[PART - 1].end));
        // Where no part is, the whole is not.
        for whole in self.wholes.iter().filter(|whole| self.found.len() > before && whole.len() >= PART) {
            let of = |at: usize| view[at].start..view[at + whole.len() - 1].end;
            self.found_whole.extend(memmem::find_iter(&bytes, whole).map(of));
            let reversed: Vec<u8> = whole.iter().rev().copied().collect();
            self.found_whole.extend(memmem::find_iter(&bytes, &reversed).map(of));
        }
    }
}

fn bytes(view: &[Unit]) -> Vec<u8> {
    view.iter().map(|unit| unit.byte).collect()
}

/// Returns a byte that was read from all these.
fn joined(units: &[Unit], byte: u8) -> Unit {
    Unit { byte, start: units[0].start, end: units[units.len() - 1].end }
}

/// Returns the ASCII character that a character is or looks like, or the mark of a terminal's sequence.
fn plain(c: char) -> Option<u8> {
    match c {
        '\u{9b}' => Some(CSI),
        c => u8::try_from(unstyled(c)).ok().filter(u8::is_ascii),
    }
}

/// Returns the value of a digit of six bits (base64) or of four (hexadecimal).
fn digit(byte: u8, bits: usize) -> Option<u32> {
    match byte {
        _ if bits == 4 => char::from(byte).to_digit(16),
        b'A'..=b'Z' => Some(u32::from(byte - b'A')),
        b'a'..=b'z' => Some(u32::from(byte - b'a') + 26),
        b'0'..=b'9' => Some(u32::from(byte - b'0') + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    }
}

/// Returns the bytes that digits of so many bits encode in a view, from the `skip`th digit of each run on.
fn unpacked(view: &[Unit], bits: usize, skip: usize) -> Vec<Unit> {
    let mut unpacked = Vec::new();
    let runs = view.split(|unit| digit(unit.byte, bits).is_none());
    // A short run of base64 is a word of the text. Hexadecimal digits can be separate pairs.
    for run in runs.filter(|run| bits == 4 || run.len() * bits / 8 + 1 >= PART) {
        let digits = run.get(skip..).unwrap_or_default();
        for end in (8..=digits.len() * bits).step_by(8) {
            let last = end.div_ceil(bits);
            let units = &digits[(end - 8) / bits..last];
            let number =
                units.iter().filter_map(|unit| digit(unit.byte, bits)).fold(0, |sum, value| sum << bits | value);
            let byte = (number >> (last * bits - end)) as u8;
            unpacked.push(joined(units, plain(char::from(byte)).unwrap_or(UNSEEN)));
        }
    }
    unpacked
}

impl Reading {
    fn keeps(self, byte: u8) -> bool {
        byte.is_ascii_graphic() || self.rendered && matches!(byte, CSI | BELL | BACKSPACE | ESC)
    }

    /// Decodes one layer of escapes; nothing where there is none.
    ///
    /// An entity without a semicolon ends after its digits. Other escapes can hide that end, so such entities are
    /// decoded only when no other escape is left.
    fn decoded(self, view: &[Unit]) -> Option<Vec<Unit>> {
        let bytes = bytes(view);
        [false, true].into_iter().find_map(|open_entities| {
            let (mut decoded, mut at) = (Vec::new(), 0);
            while at < view.len() {
                let (length, byte) = self.escape(&bytes, at, open_entities).unwrap_or((1, bytes[at]));
                decoded.push(joined(&view[at..at + length], byte));
                at += length;
            }
            decoded.retain(|unit| self.keeps(unit.byte));
            (decoded.len() < view.len()).then_some(decoded)
        })
    }

    /// Decodes the escape at a place: its length, and the character.
    fn escape(self, bytes: &[u8], at: usize, open_entities: bool) -> Option<(usize, u8)> {
        // Most characters begin none, and this is asked for each.
        if !b"%\\&=".contains(&bytes[at]) {
            return None;
        }
        let text = &bytes[at..];
        let mut escapes = ESCAPES.iter().filter(|escape| self.quoted || escape.prefix != QUOTED);
        let numbered = escapes.find_map(|escape| escape.decoded(text, open_entities));
        let ends_sequence = bytes[..=at].ends_with(&[ESC, b'\\']);
        numbered.or_else(|| if ends_sequence { None } else { named(text) })
    }
}

impl Escape {
    /// Decodes this escape at the beginning of a text: its length, and the character.
    fn decoded(&self, text: &[u8], open_entities: bool) -> Option<(usize, u8)> {
        let rest = text.strip_prefix(self.prefix.as_bytes())?;
        let digits = rest.iter().map(|byte| char::from(*byte)).take_while(|c| c.is_digit(self.radix));
        let digits: String = digits.take(*self.digits.end()).collect();
        let end = if open_entities && self.end == ";" { "" } else { self.end };
        let code = u32::from_str_radix(&digits, self.radix).unwrap_or(u32::MAX);
        // `\777` is larger than a byte.
        let is_whole = self.digits.contains(&digits.len()) && (self.radix != 8 || code < 256);
        let length = self.prefix.len() + digits.len() + end.len();
        let byte = char::from_u32(code).and_then(plain).unwrap_or(UNSEEN);
        (is_whole && rest[digits.len()..].starts_with(end.as_bytes())).then_some((length, byte))
    }
}

/// Decodes an escape without digits: its length, and the character.
fn named(text: &[u8]) -> Option<(usize, u8)> {
    let known = |(name, c): &(&str, u8)| text[1..].starts_with(name.as_bytes()).then_some((1 + name.len(), *c));
    match text {
        [b'&', ..] => ENTITIES.iter().find_map(known),
        [b'\\', b'a', ..] => Some((2, BELL)),
        [b'\\', b'b', ..] => Some((2, BACKSPACE)),
        [b'\\', b'e', ..] => Some((2, ESC)),
        [b'\\', b'f' | b'n' | b'r' | b't' | b'v', ..] => Some((2, UNSEEN)),
        [b'\\', b'u' | b'U' | b'x' | b'0'..=b'7', ..] => None,
        [b'\\', other, ..] if other.is_ascii_graphic() => Some((2, *other)),
        _ => None,
    }
}

/// Removes the sequences that a terminal executes, the characters before backspaces, and the tags of a page.
fn without_sequences(text: &[Unit]) -> Vec<Unit> {
    let (mut view, mut bytes) = (Vec::new(), Vec::new());
    // Where the last tag and the last sequence begin.
    let (mut tag, mut sequence) = (0, 0);
    for unit in text {
        view.push(*unit);
        bytes.push(unit.byte);
        let last = bytes.len() - 1;
        let since = |start: usize| bytes.get(start..).unwrap_or_default();
        let is_title = since(sequence).starts_with(&[ESC, b']']);
        let length = match (since(tag), since(sequence)) {
            _ if unit.byte == BACKSPACE => last.saturating_sub(1),
            ([b'<', b'a'..=b'z' | b'A'..=b'Z' | b'/' | b'!', .., b'>'], _) => tag,
            // The title of a window, or a link.
            (_, [ESC, b']', .., BELL] | [ESC, b']', .., ESC, b'\\']) => sequence,
            _ if unit.byte == BELL => last,
            (_, [ESC, b'[', .., b'@'..=b'~'] | [CSI, .., b'@'..=b'~'] | [ESC, b'(' | b')', _]) => sequence,
            _ => last + 1,
        };
        match unit.byte {
            b'<' => tag = last,
            ESC | CSI if !is_title => sequence = last,
            _ => {}
        }
        view.truncate(length);
        bytes.truncate(length);
    }
    view
}
