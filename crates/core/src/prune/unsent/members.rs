//! How a member that is not sent becomes shorter. Its kind stays, so that the agent reads it as before.

use std::ops::Range;

use crate::prune::note::OPENING;
use crate::transcript::edit::Edit;
use crate::transcript::json::{Json, JsonKind, named_strings};
use crate::transcript::unsent_forms::{Shortened, UnsentForms, meets, values_at};
use crate::wording::counted;

use super::UnsentChange;

/// The most characters of a line that stay, on average.
const LINE: usize = 200;
/// The bytes that a shorter text must save at least.
const LEAST_SAVED: usize = 100;
/// How the line begins that says how much more there was. Agents write it so, too.
const MORE: &str = "… +";

/// A value that becomes shorter.
pub(super) struct UnsentValue<'a> {
    pub(super) json: Json<'a>,
    becomes: Shortened,
    /// What people call it.
    label: &'static str,
}

/// The values of an entry that become shorter, in the order of the table.
pub(super) fn unsent_values<'a>(forms: &UnsentForms, entry: Json<'a>) -> Vec<UnsentValue<'a>> {
    let mut values = Vec::new();
    for member in forms.members {
        if !meets(entry, member.of) {
            continue;
        }
        for json in values_at(entry, member.path) {
            let is_spared = json.text().is_some_and(|text| member.spares.iter().any(|start| text.starts_with(start)));
            if !is_spared {
                values.push(UnsentValue { json, becomes: member.becomes, label: member.label() });
            }
        }
    }
    values
}

/// The values of an entry that a row of the table took, so that no later row takes what is in them. This holds whether
/// anything became shorter: what was shortened once must not become shorter by another row the next time.
#[derive(Default)]
pub(super) struct TakenValues {
    spans: Vec<Range<usize>>,
}

impl TakenValues {
    /// Whether a value is part of a taken one.
    fn has(&self, value: Json<'_>) -> bool {
        let span = value.span();
        self.spans.iter().any(|taken| taken.start <= span.start && span.end <= taken.end)
    }

    /// Adds the edits that make a value shorter, and takes it.
    pub(super) fn shorten(&mut self, value: &UnsentValue<'_>, change: &mut UnsentChange) {
        if self.has(value.json) || !fits(value.becomes, value.json.kind()) {
            return;
        }
        let edits = match value.becomes {
            Shortened::Empty => emptied(value.json).into_iter().collect(),
            Shortened::Null => nulled(value.json).into_iter().collect(),
            Shortened::Elements(most) => first_elements(value.json, most).into_iter().collect(),
            Shortened::Hunks(most) => first_hunks(value.json, most).into_iter().collect(),
            Shortened::Lines(most) => self.first_lines_of_all(value.json, most),
        };
        for edit in edits {
            change.add(value.label, edit);
        }
        self.spans.push(value.json.span());
    }

    /// The first lines of every string in a value, but for those in a taken one.
    fn first_lines_of_all(&self, value: Json<'_>, most: usize) -> Vec<Edit> {
        let mut edits = Vec::new();
        if value.kind() == JsonKind::String {
            edits.extend(first_lines(value, most));
            return edits;
        }
        for (_, string) in named_strings(value) {
            if !self.has(string) {
                edits.extend(first_lines(string, most));
            }
        }
        edits
    }
}

/// Whether a value of a kind can become shorter so.
fn fits(becomes: Shortened, kind: JsonKind) -> bool {
    match becomes {
        Shortened::Elements(_) => kind == JsonKind::Array,
        Shortened::Hunks(_) => kind == JsonKind::String,
        Shortened::Empty | Shortened::Null | Shortened::Lines(_) => true,
    }
}

/// The place between the quotes of a string.
fn inside(string: Json<'_>) -> Range<usize> {
    let span = string.span();
    span.start + 1..span.end - 1
}

fn emptied(value: Json<'_>) -> Option<Edit> {
    // A note says what stood there.
    if value.text().is_some_and(|text| text.starts_with(OPENING)) {
        return None;
    }
    let (range, text) = match value.kind() {
        JsonKind::String => (inside(value), ""),
        JsonKind::Array => (value.span(), "[]"),
        JsonKind::Object => (value.span(), "{}"),
        JsonKind::Number | JsonKind::Bool | JsonKind::Null => return None,
    };
    if range.len() > text.len() { Some(Edit { range, text: text.to_owned() }) } else { None }
}

fn nulled(value: Json<'_>) -> Option<Edit> {
    if value.raw().len() <= "null".len() {
        return None;
    }
    Some(Edit { range: value.span(), text: "null".to_owned() })
}

fn first_elements(list: Json<'_>, most: usize) -> Option<Edit> {
    let mut end = None;
    let mut items = list.items();
    for _ in 0..most {
        end = Some(items.next()?.span().end);
    }
    items.next()?;
    Some(Edit { range: end?..list.span().end - 1, text: String::new() })
}

/// The edit that cuts the end of a string, and says how much that was.
fn first_lines(string: Json<'_>, most: usize) -> Option<Edit> {
    let inside = inside(string);
    if inside.len() < LEAST_SAVED {
        return None;
    }
    let raw = &string.raw()[1..string.raw().len() - 1];
    let kept = kept_length(raw, most)?;
    let rest = &raw[kept..];
    if is_mark(rest) {
        return None;
    }
    let more = if rest.starts_with("\\n") {
        counted(RawLineEnds::of(rest).count() as u64, "line")
    } else {
        counted(RawCharacters::of(rest).count() as u64, "character")
    };
    let mark = if string.raw().is_ascii() { MORE.replace('…', "\\u2026") } else { MORE.to_owned() };
    let text = format!("\\n{mark}{more}");
    let range = inside.start + kept..inside.end;
    if range.len() >= text.len() + LEAST_SAVED { Some(Edit { range, text }) } else { None }
}

/// Whether the end of a string is the mark of an earlier shortening.
fn is_mark(rest: &str) -> bool {
    let rest = rest.strip_prefix("\\n").unwrap_or(rest);
    rest.starts_with(MORE) || rest.starts_with("\\u2026 +")
}

/// How many bytes of a string as it is spelled stay, where that is less than all.
fn kept_length(raw: &str, lines: usize) -> Option<usize> {
    let mut ended = 0;
    for (number, character) in RawCharacters::of(raw).enumerate() {
        if character.is_line_end {
            ended += 1;
        }
        if ended >= lines || number >= lines * LINE {
            return Some(character.start);
        }
    }
    None
}

/// A character of a string as JSON spells it.
struct RawCharacter {
    start: usize,
    is_line_end: bool,
}

/// Walks over the characters of a string as it is spelled, escapes and pairs of surrogates as one.
struct RawCharacters<'a> {
    raw: &'a str,
    at: usize,
}

impl<'a> RawCharacters<'a> {
    fn of(raw: &'a str) -> Self {
        RawCharacters { raw, at: 0 }
    }
}

impl Iterator for RawCharacters<'_> {
    type Item = RawCharacter;

    fn next(&mut self) -> Option<RawCharacter> {
        let start = self.at;
        let rest = &self.raw[start..];
        let first = rest.chars().next()?;
        let escaped = if first == '\\' { rest.as_bytes().get(1).copied() } else { None };
        let length = match escaped {
            None => first.len_utf8(),
            Some(b'u') => {
                if is_first_half(rest) && rest.get(6..8) == Some("\\u") {
                    12
                } else {
                    6
                }
            }
            Some(_) => 2,
        };
        self.at = (start + length).min(self.raw.len());
        Some(RawCharacter { start, is_line_end: escaped == Some(b'n') })
    }
}

/// Whether a text begins with the escape of the first half of a surrogate pair: `\ud83d`.
fn is_first_half(text: &str) -> bool {
    let digits = text.as_bytes().get(2..4);
    matches!(digits, Some([b'd' | b'D', b'8' | b'9' | b'a' | b'A' | b'b' | b'B']))
}

/// Finds the line ends of a string as it is spelled. Most of a long string is passed over at once.
struct RawLineEnds<'a> {
    raw: &'a str,
    at: usize,
}

impl<'a> RawLineEnds<'a> {
    fn of(raw: &'a str) -> Self {
        RawLineEnds { raw, at: 0 }
    }
}

impl Iterator for RawLineEnds<'_> {
    /// Where the escape begins.
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let bytes = self.raw.as_bytes();
        loop {
            let escape = self.at + memchr::memchr(b'\\', bytes.get(self.at..)?)?;
            self.at = escape + 2;
            if bytes.get(escape + 1) == Some(&b'n') {
                return Some(escape);
            }
        }
    }
}

/// The edit that cuts a unified diff behind its first parts.
fn first_hunks(diff: Json<'_>, most: usize) -> Option<Edit> {
    let inside = inside(diff);
    let raw = &diff.raw()[1..diff.raw().len() - 1];
    let (mut lines, mut hunks, mut end) = (0, 0, None);
    for (line, start) in raw_lines(raw) {
        if line.starts_with("@@") {
            hunks += 1;
            if hunks > 1 && lines >= most {
                end = Some(start);
                break;
            }
        }
        lines += 1;
    }
    let range = inside.start + end?..inside.end;
    if range.len() >= LEAST_SAVED { Some(Edit { range, text: String::new() }) } else { None }
}

/// The lines of a string as it is spelled, each with where it begins.
fn raw_lines(raw: &str) -> Vec<(&str, usize)> {
    let mut lines = Vec::new();
    let mut start = 0;
    for end in RawLineEnds::of(raw) {
        lines.push((&raw[start..end], start));
        start = end + 2;
    }
    lines.push((&raw[start..], start));
    lines
}
