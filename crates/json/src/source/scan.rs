//! One pass over the grammar of JSON from left to right. Nothing recurses here, but readers of the values do, so nesting is
//! bounded.

use std::ops::Range;

use crate::source::{LongValue, ScanError};
use crate::text::Text;

/// A value counts as long from this many bytes on. Shorter ones are indexed too, and else scanned again wherever somebody
/// asks for one behind them.
const LONG: usize = 64;

/// A text counts as short below this many bytes.
pub(super) const LARGE: usize = 1 << 20;

/// The index may take one of so many parts of a large text's length before it leaves out what is not long. Sessions of
/// agents need a tenth.
const PARTS_FOR_INDEX: usize = 5;

/// Values nested deeper than this are not indexed: they are few or hostile.
const DEEPEST: usize = 64;

/// The deepest nesting of values that is read: about as deep as Python's `json` goes. Readers recurse.
pub const MAX_DEPTH: usize = 1_000;

/// The error of a text that nests deeper.
pub const TOO_DEEP: &str = "its values are nested deeper than 1000 levels";

/// Whether strings may contain control characters.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Controls {
    Refused,
    Allowed,
}

/// A position in a text. Everything before it is valid JSON.
pub(super) struct Scan<'t> {
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
    controls: Controls,
    /// The offsets of the open brackets.
    open: Vec<usize>,
    /// The indices of the outermost open brackets among the long values.
    places: Vec<u32>,
    long: Vec<LongValue>,
    /// The depth to which brackets are indexed; 0 if offsets of the text do not fit into the index.
    deepest: usize,
    /// Whether every value is indexed.
    is_short: bool,
}

type Scanned = Result<(), ScanError>;

/// A text whose lines were scanned by themselves.
#[derive(Default)]
pub(super) struct ScannedLines {
    pub(super) long: Vec<LongValue>,
    /// The spans of the lines that are not one value, in order.
    pub(super) irregular: Vec<Range<usize>>,
    /// The spans of what is not JSON in these lines, in order.
    pub(super) broken: Vec<Range<usize>>,
}

/// The spans between a brace at the outermost level of a line and the one that closes it, as agents look for them who
/// recover the objects of a line that is not one value.
fn balanced_objects(line: &[u8]) -> Vec<Range<usize>> {
    let mut objects = Vec::new();
    let (mut depth, mut start, mut at) = (0_usize, 0, 0);
    let mut in_string = false;
    while at < line.len() {
        match line[at] {
            b'\\' if in_string => at += 1,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' => {
                if depth == 0 {
                    start = at;
                }
                depth += 1;
            }
            b'}' if depth > 0 => {
                depth -= 1;
                if depth == 0 {
                    objects.push(start..at + 1);
                }
            }
            _ => {}
        }
        at += 1;
    }
    objects
}

/// A span without the white space around what it holds; none where it holds nothing else.
fn trimmed(text: &str, span: Range<usize>) -> Option<Range<usize>> {
    let behind_space = text[span.clone()].trim_ascii_start();
    let start = span.end - behind_space.len();
    let length = behind_space.trim_ascii_end().len();
    (length > 0).then_some(start..start + length)
}

impl<'t> Scan<'t> {
    fn new(text: &'t str, controls: Controls, from: usize) -> Self {
        let deepest = if u32::try_from(text.len()).is_ok() { DEEPEST } else { 0 };
        // Tool arguments are many short texts.
        let (open, places, long) = (Vec::with_capacity(8), Vec::with_capacity(8), Vec::with_capacity(16));
        let is_short = text.len() < LARGE;
        Scan { text, bytes: text.as_bytes(), at: from, controls, open, places, long, deepest, is_short }
    }

    /// Scans a text from byte `from` on. Returns its long values, and the spans of lines with several values.
    pub(super) fn values(
        text: &'t str,
        controls: Controls,
        from: usize,
    ) -> Result<(Vec<LongValue>, Vec<Range<usize>>), ScanError> {
        let mut scan = Scan::new(text, controls, from);
        let mut shared: Vec<Range<usize>> = Vec::new();
        let mut last = 0..0;
        loop {
            scan.space();
            if scan.byte().is_none() {
                return Ok((scan.long, shared));
            }
            let start = scan.at;
            scan.value()?;
            let value = start..scan.at;
            let is_on_one_line = |from: usize, to: usize| memchr::memchr(b'\n', &scan.bytes[from..to]).is_none();
            if !last.is_empty() && is_on_one_line(last.end, value.start) && is_on_one_line(last.start, value.end) {
                match shared.last_mut().filter(|line| line.end == last.end) {
                    Some(line) => line.end = value.end,
                    None => shared.push(last.start..value.end),
                }
            }
            last = value;
        }
    }

    /// Scans each line of a text by itself, from byte `from` on. A line that nests too deep is an error: an
    /// agent may read it.
    pub(super) fn lines(text: &'t str, from: usize) -> Result<ScannedLines, ScanError> {
        let mut scan = Scan::new(text, Controls::Refused, from);
        let mut scanned = ScannedLines::default();
        while scan.at < text.len() {
            let rest = &text.as_bytes()[scan.at..];
            let end = memchr::memchr(b'\n', rest).map_or(text.len(), |length| scan.at + length);
            scan.bytes = &text.as_bytes()[..end];
            scan.space();
            let (start, known) = (scan.at, scan.long.len());
            let is_value = start < end && scan.is_value()?;
            scan.space();
            if start < end && !(is_value && scan.at == end) {
                scan.forget(known);
                let line = start..start + text[start..end].trim_ascii_end().len();
                scan.objects_in(line.clone(), &mut scanned.broken)?;
                scanned.irregular.push(line);
            }
            scan.at = end + 1;
        }
        scanned.long = scan.long;
        Ok(scanned)
    }

    /// Whether a value begins here, and skips it.
    fn is_value(&mut self) -> Result<bool, ScanError> {
        match self.value() {
            Ok(()) => Ok(true),
            Err(error) if error.what == TOO_DEEP => Err(error),
            Err(_) => Ok(false),
        }
    }

    /// Forgets what was found behind so many long values, inside a value that is not JSON.
    fn forget(&mut self, known: usize) {
        self.long.truncate(known);
        self.open.clear();
        self.places.clear();
    }

    /// Scans the objects that are whole in a line which is not one value. Adds the spans of what is left to `broken`.
    fn objects_in(&mut self, line: Range<usize>, broken: &mut Vec<Range<usize>>) -> Scanned {
        let mut rest = line.start;
        for object in balanced_objects(&self.text.as_bytes()[line.clone()]) {
            let object = line.start + object.start..line.start + object.end;
            let known = self.long.len();
            (self.at, self.bytes) = (object.start, &self.text.as_bytes()[..object.end]);
            if !self.is_value()? || self.at != object.end {
                self.forget(known);
                continue;
            }
            broken.extend(trimmed(self.text, rest..object.start));
            rest = object.end;
        }
        broken.extend(trimmed(self.text, rest..line.end));
        Ok(())
    }

    fn byte(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn wrong<T>(&self, what: &'static str) -> Result<T, ScanError> {
        let what = if self.byte() == Some(0) { "a NUL byte" } else { what };
        Err(ScanError { at: self.at, what, is_unclosed: false, is_early_end: false })
    }

    /// The error that the text ends inside a value.
    fn ends_early<T>(&self) -> Result<T, ScanError> {
        let (at, what) = match self.open.last() {
            Some(&bracket) if self.bytes[bracket] == b'[' => (bracket, "the list"),
            Some(&bracket) => (bracket, "the object"),
            None => (self.at, "the text ends inside a value"),
        };
        Err(ScanError { at, what, is_unclosed: !self.open.is_empty(), is_early_end: true })
    }

    fn unclosed_string<T>(&self, start: usize) -> Result<T, ScanError> {
        Err(ScanError { at: start, what: "the string", is_unclosed: true, is_early_end: self.byte().is_none() })
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\n' | b'\t' | b'\r') = self.byte() {
            self.at += 1;
        }
    }

    /// Skips a value with everything in it.
    fn value(&mut self) -> Scanned {
        loop {
            self.space();
            match self.byte() {
                Some(bracket @ (b'{' | b'[')) => {
                    self.open()?;
                    self.space();
                    match (bracket, self.byte()) {
                        (b'{', Some(b'}')) | (b'[', Some(b']')) => self.close(),
                        (b'{', _) => {
                            self.key()?;
                            continue;
                        }
                        (_, None) => return self.ends_early(),
                        _ => continue,
                    }
                }
                Some(b'"') => self.string()?,
                Some(_) => self.scalar()?,
                None => return self.ends_early(),
            }
            if self.skip_separators()? {
                return Ok(());
            }
        }
    }

    /// Skips the separators after a value, up to the next one. Returns whether the value was the last.
    fn skip_separators(&mut self) -> Result<bool, ScanError> {
        while let Some(&bracket) = self.open.last() {
            self.space();
            match (self.bytes[bracket], self.byte()) {
                (b'[', Some(b']')) | (b'{', Some(b'}')) => self.close(),
                (bracket, Some(b',')) => {
                    let is_list = bracket == b'[';
                    self.at += 1;
                    self.space();
                    match self.byte() {
                        Some(b']' | b'}') => return self.wrong("trailing comma"),
                        _ if is_list => {}
                        _ => self.key()?,
                    }
                    return Ok(false);
                }
                (_, None) => return self.ends_early(),
                (b'[', _) => return self.wrong("expected `,` or `]`"),
                _ => return self.wrong("expected `,` or `}`"),
            }
        }
        Ok(true)
    }

    fn open(&mut self) -> Scanned {
        if self.open.len() == MAX_DEPTH {
            return self.wrong(TOO_DEEP);
        }
        if self.open.len() < self.deepest {
            self.places.push(self.long.len() as u32);
            self.long.push(LongValue { start: self.at as u32, end: 0, more: 0 });
        }
        self.open.push(self.at);
        self.at += 1;
        Ok(())
    }

    fn close(&mut self) {
        self.at += 1;
        self.open.pop();
        if self.open.len() >= self.deepest {
            return;
        }
        let Some(place) = self.places.pop() else { return };
        let behind = self.long.len() as u32;
        let Some(long) = self.long.get_mut(place as usize) else { return };
        let start = long.start as usize;
        (long.end, long.more) = (self.at as u32, behind);
        if !self.is_indexed(start) {
            // No value in it is long either.
            self.long.truncate(place as usize);
        }
    }

    /// Whether the value that begins at `start` and ends here is indexed.
    fn is_indexed(&self, start: usize) -> bool {
        self.is_short
            || self.at - start >= LONG
            || self.long.len() * size_of::<LongValue>() * PARTS_FOR_INDEX <= self.at
    }

    /// A key and its colon.
    fn key(&mut self) -> Scanned {
        match self.byte() {
            Some(b'"') => self.string()?,
            Some(_) => return self.wrong("key must be a string"),
            None => return self.ends_early(),
        }
        self.space();
        match self.byte() {
            Some(b':') => {
                self.at += 1;
                Ok(())
            }
            Some(_) => self.wrong("expected `:`"),
            None => self.ends_early(),
        }
    }

    fn string(&mut self) -> Scanned {
        let start = self.at;
        let (mut excess, mut surrogates) = (0, false);
        self.at += 1;
        loop {
            self.at = self.end_of_plain();
            match self.byte() {
                Some(b'"') => break,
                Some(b'\\') => {
                    let escape = self.at;
                    surrogates |= self.escape(start)?;
                    excess += self.at - escape - 1;
                }
                Some(b'\n') | None => return self.unclosed_string(start),
                Some(_) => return self.wrong("a control character in a string"),
            }
        }
        self.at += 1;
        if self.deepest > 0 && self.is_indexed(start) {
            // Two surrogates may be one character.
            let inside = || Text::escaped(&self.text[start + 1..self.at - 1]);
            let more = if surrogates { inside().excess } else { excess as u32 };
            self.long.push(LongValue { start: start as u32, end: self.at as u32, more });
        }
        Ok(())
    }

    /// The offset of the next byte that a string cannot hold as it is.
    fn end_of_plain(&self) -> usize {
        let (words, last_bytes) = self.bytes[self.at..].as_chunks();
        let mut at = self.at;
        for word in words {
            let ends = self.ends_of_plain(*word);
            if ends != 0 {
                return at + ends.trailing_zeros() as usize / 8;
            }
            at += word.len();
        }
        let mut word = [b' '; 8];
        word[..last_bytes.len()].copy_from_slice(last_bytes);
        let plain = self.ends_of_plain(word).trailing_zeros() as usize / 8;
        at + plain.min(last_bytes.len())
    }

    /// Which of eight bytes a string cannot hold as they are: the highest bit of each, the first byte lowest. Strings are
    /// short between their escapes, so eight bytes at a time are faster than a search that needs a start. Bits above the
    /// lowest can be wrong, as subtractions carry upwards.
    fn ends_of_plain(&self, bytes: [u8; 8]) -> u64 {
        const EACH: u64 = u64::MAX / 255;
        const HIGHEST: u64 = EACH << 7;
        let word = u64::from_le_bytes(bytes);
        let quotes = word ^ (EACH * b'"' as u64);
        let backslashes = word ^ (EACH * b'\\' as u64);
        let mut ends = quotes.wrapping_sub(EACH) & !quotes | backslashes.wrapping_sub(EACH) & !backslashes;
        if self.controls == Controls::Refused {
            ends |= word.wrapping_sub(EACH * b' ' as u64) & !word;
        }
        ends & HIGHEST
    }

    /// Skips an escape in the string that begins at `string`. Returns whether it is a surrogate, half of a character.
    fn escape(&mut self, string: usize) -> Result<bool, ScanError> {
        match self.bytes.get(self.at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.at += 2;
                return Ok(false);
            }
            Some(b'u') => self.at += 2,
            Some(_) => return self.wrong("invalid escape"),
            None => {
                self.at += 1;
                return self.unclosed_string(string);
            }
        }
        let digits = self.at;
        while self.at < digits + 4 {
            match self.byte() {
                Some(digit) if digit.is_ascii_hexdigit() => self.at += 1,
                Some(_) => return self.wrong("invalid escape"),
                None => return self.unclosed_string(string),
            }
        }
        Ok(matches!(self.bytes[digits..], [b'd' | b'D', b'8'..=b'9' | b'a'..=b'f' | b'A'..=b'F', ..]))
    }

    /// A number or a word.
    fn scalar(&mut self) -> Scanned {
        let start = self.at;
        let rest = &self.bytes[start..];
        let words: [&[u8]; 6] = [b"true", b"false", b"null", b"NaN", b"Infinity", b"-Infinity"];
        match words.into_iter().find(|word| rest.starts_with(word)) {
            Some(word) => self.at += word.len(),
            None if matches!(rest[0], b'-' | b'0'..=b'9') => self.number()?,
            // The file was cut off inside a word.
            None if words.iter().any(|word| word.starts_with(rest)) => {
                return self.ends_early();
            }
            None => return self.wrong("expected value"),
        }
        // Neither a word nor a number marks its own end.
        match self.byte() {
            None | Some(b' ' | b'\n' | b'\t' | b'\r' | b'"' | b'[' | b']' | b'{' | b'}' | b',' | b':') => Ok(()),
            Some(_) => self.wrong("trailing characters"),
        }
    }

    fn number(&mut self) -> Scanned {
        if self.byte() == Some(b'-') {
            self.at += 1;
        }
        match self.byte() {
            Some(b'0') => self.at += 1,
            _ => self.digits()?,
        }
        if self.byte() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.byte() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.byte() {
                self.at += 1;
            }
            self.digits()?;
        }
        match self.byte() {
            Some(b'0'..=b'9') => self.wrong("invalid number"),
            _ => Ok(()),
        }
    }

    fn digits(&mut self) -> Scanned {
        match self.byte() {
            Some(b'0'..=b'9') => {}
            Some(_) => return self.wrong("invalid number"),
            None => return self.ends_early(),
        }
        while let Some(b'0'..=b'9') = self.byte() {
            self.at += 1;
        }
        Ok(())
    }
}
