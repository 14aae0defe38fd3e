//! Cuts a text into pieces that make sense alone: sentences, list items, lines of code. What is chosen of them is shown
//! word for word, with `…` where something is left out.
//!
//! Also: the values of a JSON document, as text: `name: Mia, flights: (number date) HAT1 2024-05-01; HAT2 2024-05-02`.
//!
//! Where room lacks, long texts are clipped first. Then a table loses rows, never cells of a row, and an object loses what it
//! holds besides its plain values. Whatever is lost shows.

use std::ops::Range;

use serde_json::{Map, Value};

use crate::redact::{cut_before, cut_behind};
use crate::wording::one_line;

/// The mark of what is left out.
pub(super) const GAP: char = '…';

/// The kind of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PieceKind {
    /// A sentence, or a part of a long one.
    Sentence,
    /// A list item, or a row of a table.
    Item,
    /// Lines of code, or an output.
    Code,
    /// A heading.
    Heading,
}

/// A piece of a text.
#[derive(Debug, Clone)]
pub(super) struct ClipPiece {
    /// The place in the text, in bytes.
    pub(super) range: Range<usize>,
    pub(super) kind: PieceKind,
}

/// Most bytes of a piece.
pub(super) const LONGEST: usize = 320;

/// Cuts a text into pieces of at most `longest` bytes, in order. The middle of a very long text has none.
pub(super) fn pieces_up_to(text: &str, longest: usize) -> Vec<ClipPiece> {
    const MOST_BYTES: usize = 1 << 16;
    let (mut found, mut middle) = (Vec::new(), text.len()..text.len());
    if text.len() > MOST_BYTES {
        let tail = cut_behind(text, text.len() - MOST_BYTES / 2);
        middle = cut_at(text, MOST_BYTES / 2)..tail + text[tail..].find(char::is_whitespace).unwrap_or(0);
    }
    add_pieces(text, 0..middle.start, longest, &mut found);
    add_pieces(text, middle.end..text.len(), longest, &mut found);
    found
}

/// Adds the pieces of a part of a text.
pub(super) fn add_pieces(text: &str, part: Range<usize>, longest: usize, found: &mut Vec<ClipPiece>) {
    let (mut at, mut is_code) = (part.start, false);
    for line in text[part].split_inclusive('\n') {
        let range = trimmed(text, at..at + line.len());
        at += line.len();
        let shown = &text[range.clone()];
        let is_fence = shown.starts_with("```");
        let kind = match shown {
            _ if is_fence || is_code => PieceKind::Code,
            heading if is_heading(heading) => PieceKind::Heading,
            item if is_item(item) => PieceKind::Item,
            _ => PieceKind::Sentence,
        };
        // Lines of code that are not a piece of their own belong to the one before.
        let before = found.last_mut().filter(|before| is_code && range.end - before.range.start <= longest);
        is_code ^= is_fence;
        if let Some(before) = before {
            before.range.end = before.range.end.max(range.end);
            continue;
        }
        let parts = if kind == PieceKind::Sentence { sentences(text, range) } else { vec![range] };
        let chunks = parts.into_iter().flat_map(|part| chunks(text, part, longest));
        found.extend(chunks.map(|range| ClipPiece { range, kind }));
    }
}

/// Cuts a part of a text that is too long. Marks of gaps at the ends are not words of it.
pub(super) fn chunks(text: &str, part: Range<usize>, longest: usize) -> Vec<Range<usize>> {
    let (mut found, mut rest) = (Vec::new(), trimmed(text, part));
    while rest.len() > longest {
        let end = text.ceil_char_boundary(rest.start + cut_at(&text[rest.clone()], longest).max(1));
        found.push(trimmed(text, rest.start..end));
        rest = trimmed(text, end..rest.end);
    }
    found.push(rest);
    found.retain(|range| !range.is_empty());
    found
}

/// The ranges of the sentences on a line. None ends inside a code span.
fn sentences(text: &str, line: Range<usize>) -> Vec<Range<usize>> {
    let shown = &text[line.clone()];
    let (mut start, mut is_code) = (line.start, false);
    let ends = shown.char_indices().filter(|&(at, c)| {
        is_code ^= c == '`';
        !is_code
            && (matches!(c, '。' | '！' | '？') || ".!?".contains(c) && ends_sentence(&shown[..at], &shown[at + 1..]))
    });
    let ends = ends.map(|(at, c)| line.start + at + c.len_utf8()).chain([line.end]);
    ends.map(|end| trimmed(text, std::mem::replace(&mut start, end)..end)).filter(|range| !range.is_empty()).collect()
}

/// Whether a full stop ends a sentence, by what stands before it and behind it. It does not after `e.g` and `3`.
fn ends_sentence(before: &str, behind: &str) -> bool {
    const ABBREVIATIONS: [&str; 6] = ["e.g", "i.e", "etc", "approx", "incl", "resp"];
    let opens = |c: char| !c.is_lowercase() && !matches!(c, ',' | ';' | ')');
    if !behind.starts_with(char::is_whitespace) || !behind.trim_start().starts_with(opens) {
        return false;
    }
    let word = before.rsplit(|c: char| c.is_whitespace() || c == '(').next().unwrap_or("");
    let word = word.trim_start_matches(['*', '_']);
    word.len() > 2 && !ABBREVIATIONS.contains(&word)
}

/// Whether a line is a list item or a row of a table.
pub(super) fn is_item(line: &str) -> bool {
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let numbered = (1..=3).contains(&digits) && line[digits..].starts_with(['.', ')', '、'])
        || line.starts_with(|c: char| c.is_ascii_alphabetic()) && line[1..].starts_with(") ");
    numbered || ["- ", "* ", "+ ", "• ", "|"].iter().any(|bullet| line.starts_with(bullet))
}

/// Whether a line is a heading: marked, bold as a whole, or a tag alone.
pub(super) fn is_heading(line: &str) -> bool {
    let title = line.trim_end_matches([':', '：']).strip_prefix("**").and_then(|rest| rest.strip_suffix("**"));
    let tag = line.strip_prefix('<').and_then(|rest| rest.strip_suffix('>'));
    line.starts_with('#')
        || title.is_some_and(|title| !title.contains("**"))
        || tag.is_some_and(|tag| !tag.contains(['<', ' ']))
}

/// A range without white space and marks of gaps at its ends.
fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let is_blank = |c: char| c == GAP || c.is_whitespace();
    let shown = &text[range.clone()];
    let start = range.start + (shown.len() - shown.trim_start_matches(is_blank).len());
    start..(start + shown.trim_matches(is_blank).len())
}

/// The chosen ranges of a text, with marks where something is left out. What stood on a line of its own still does, so
/// that the pieces are the same when they are read back.
pub(super) fn shown(text: &str, mut ranges: Vec<Range<usize>>) -> String {
    ranges.sort_by_key(|range| range.start);
    let (mut out, mut end) = (String::new(), 0);
    for range in ranges {
        let between = &text[end..range.start];
        if !between.trim().is_empty() {
            out.push_str(if end == 0 { "…" } else { " …" });
        }
        if !between.is_empty() && !out.is_empty() {
            out.push_str(if end > 0 && between.contains('\n') { "\n" } else { " " });
        }
        out.push_str(&text[range.clone()]);
        end = range.end;
    }
    out.push_str(if text[end..].trim().is_empty() { "" } else { " …" });
    out
}

/// The ranges, without headings and announcements of which no line is among them.
pub(super) fn without_lone_headings(text: &str, mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let (mut next, mut follows_line) = (text.len(), false);
    ranges.sort_by_key(|range| std::cmp::Reverse(range.start));
    ranges.retain(|range| {
        let shown = &text[range.clone()];
        let is_line = !is_heading(shown) && !shown.ends_with([':', '：']);
        let is_kept = is_line || follows_line || text[range.end..next].trim().is_empty();
        if is_kept {
            (next, follows_line) = (range.start, is_line);
        }
        is_kept
    });
    ranges
}

/// As much of a text as `most` bytes allow, in whole pieces: of its beginning, and a third of its end. A text whose
/// pieces are too long is cut.
pub(super) fn clipped(text: &str, most: usize) -> String {
    let pieces = pieces_up_to(text, LONGEST);
    let fits = |room: &mut usize, piece: &ClipPiece| {
        let left = room.checked_sub(piece.range.len() + " … ".len());
        *room = left.unwrap_or(*room);
        left.is_some()
    };
    let mut room = most * 2 / 3;
    let head = pieces.iter().take_while(|piece| fits(&mut room, piece)).count();
    room += most / 3;
    let tail = pieces[head..].iter().rev().take_while(|piece| fits(&mut room, piece)).count();
    let ends = pieces[..head].iter().chain(&pieces[pieces.len() - tail..]);
    let ranges = without_lone_headings(text, ends.map(|piece| piece.range.clone()).collect());
    if ranges.is_empty() || text.trim().len() <= most { cut(text, most) } else { shown(text, ranges) }
}

/// Where a text is cut that has to end within `most` bytes, in the second half of these where it can: behind a line, a
/// sentence or a command, else between words, else in a code span. Only a word that is longer than all is cut itself.
fn cut_at(text: &str, most: usize) -> usize {
    let most = cut_before(text, most);
    if most == text.len() {
        return most;
    }
    let is_wide = |c: char| c >= '\u{2e80}';
    let (mut best, mut before, mut is_code, mut is_bold) = ((0, 0), ' ', false, false);
    for (at, c) in text.char_indices().take_while(|(at, _)| *at <= most) {
        let is_end = c.is_whitespace() && !before.is_whitespace() || at > 0 && (is_wide(c) || is_wide(before));
        let quality = match c {
            _ if at <= most / 2 => 0,
            _ if is_code || is_bold => 1,
            '\n' => 3,
            _ => 2 + usize::from(".!?;|&。".contains(before)),
        };
        best = if is_end { best.max((quality, at)) } else { best };
        is_code = c != '\n' && is_code ^ (c == '`');
        is_bold = c != '\n' && is_bold ^ (c == '*' && before == '*');
        before = c;
    }
    // A word without an end is best cut behind a mark in it.
    if best.1 > 0 { best.1 } else { text[..most].rfind([',', ';']).map_or(most, |at| at + 1) }
}

/// The beginning of a text in at most `most` bytes.
pub(super) fn cut(text: &str, most: usize) -> String {
    let text = text.trim();
    if text.len() <= most {
        return text.to_owned();
    }
    format!("{} {GAP}", text[..cut_at(text, most.saturating_sub(" …".len()))].trim_end_matches([' ', '\n', GAP]))
}

/// The beginning of a text on one line, in at most `most` bytes where the first word is not longer.
pub(super) fn line(text: &str, most: usize) -> String {
    const LONGEST_WORD: usize = 400;
    const LOOK: usize = 8_000;
    let line = one_line(&cut(text, LOOK));
    let first = line.find(' ').unwrap_or(line.len());
    cut(&line, if first <= LONGEST_WORD { most.max(first + " …".len()) } else { most })
}

/// Both ends of a text on one line, in at most `most` bytes, or some more where the first word is longer.
pub(super) fn ends(text: &str, most: usize) -> String {
    const LOOK: usize = 16_000;
    let whole = if text.len() <= LOOK { one_line(text) } else { line(text, most) };
    if whole.len() <= most {
        return whole;
    }
    let (_, tail) = whole[cut_behind(&whole, whole.len() - most * 2 / 5)..].split_once(' ').unwrap_or_default();
    format!("{} {tail}", line(&whole, most * 3 / 5)).trim_end().to_owned()
}

/// The text, or the longest beginning of those tried that fits; none where none fits.
pub(super) fn beginning(text: &str, fits: impl Fn(&str) -> bool) -> Option<String> {
    const LONGEST: usize = 8_000;
    let sizes = std::iter::successors(Some(text.len().min(LONGEST)), |most| Some(most * 7 / 8));
    sizes.take_while(|most| *most > " …".len()).map(|most| cut(text, most)).find(|text| fits(text))
}

/// A text as an item of a digest: its lines behind the first are indented, so that none of them looks like a line of
/// the digest's own. Blank lines go.
pub(super) fn indented(text: &str) -> String {
    const ENDS: [char; 7] = ['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'];
    let lines = text.split(ENDS).map(str::trim_end).filter(|line| !line.trim().is_empty());
    lines.collect::<Vec<_>>().join("\n  ").trim_start().to_owned()
}

/// Most rows of a table.
const MOST_ROWS: usize = 64;

/// Bytes of a text among other values, the most that have room.
const TEXTS: [usize; 5] = [640, 160, 80, 40, 20];

/// As many values as fit in `most` bytes.
pub(super) fn told_values(value: &Value, most: usize) -> String {
    let whole = TEXTS.iter().map(|texts| flat(value, *texts)).find(|text| text.len() <= most);
    whole.unwrap_or_else(|| {
        let some = match (value, value.as_object().and_then(as_rows)) {
            (Value::Array(rows), _) => some_rows(rows, most),
            (_, Some(rows)) => some_rows(&rows, most),
            (Value::Object(members), None) => some_members(members, most),
            (plain, _) => line(&flat(plain, TEXTS[0]), most),
        };
        format!("{} {GAP}", some.trim_end_matches([' ', GAP]))
    })
}

/// Whether a document is nested so deeply that its text is told as it stands.
pub(super) fn is_deep(value: &Value, most: usize) -> bool {
    match value {
        _ if most == 0 => true,
        Value::Object(members) => members.values().any(|value| is_deep(value, most - 1)),
        Value::Array(rows) => rows.iter().any(|row| is_deep(row, most - 1)),
        _ => false,
    }
}

/// An object whose members are all objects, as the rows of a table, with the keys in the first column.
fn as_rows(members: &Map<String, Value>) -> Option<Vec<Value>> {
    let row = |(key, value): (&String, &Value)| {
        let others = value.as_object()?.iter().filter(|(_, value)| value.as_str() != Some(key));
        let others = others.map(|(key, value)| (key.clone(), value.clone()));
        Some([(String::new(), Value::from(key.as_str()))].into_iter().chain(others).collect())
    };
    let are_rows = members.len() > 1 && members.values().all(Value::is_object);
    are_rows.then(|| members.iter().filter_map(row).collect())
}

/// The plain members that fit, and then as much of the others as fits.
fn some_members(members: &Map<String, Value>, most: usize) -> String {
    let is_deep = |(_, value): &(&String, &Value)| value.is_object() || value.is_array();
    let (deep, plain): (Vec<_>, Vec<_>) = members.iter().partition(is_deep);
    // Those behind share what those before leave.
    let shares = std::iter::repeat_n(1, plain.len()).chain((1..=deep.len()).rev());
    let (mut left, mut parts) = (most.saturating_sub(" …".len()), Vec::new());
    for ((key, value), shares) in plain.iter().chain(&deep).zip(shares) {
        let most = (left / shares).saturating_sub(key.len() + ": (), ".len());
        let part = member(key, value, &told_values(value, most));
        if part.contains(char::is_alphanumeric) && part.len() + ", ".len() <= left {
            left -= part.len() + ", ".len();
            parts.push(part);
        }
    }
    parts.join(", ")
}

/// The first rows that fit: as many as do with the shortest texts, and then texts as long as fit.
fn some_rows(rows: &[Value], most: usize) -> String {
    let fitting = TEXTS.iter().rev().filter_map(|texts| {
        let some = (1..=rows.len().min(MOST_ROWS)).map(|count| (count, table(&rows[..count], *texts)));
        some.take_while(|(_, text)| text.len() + " …".len() <= most).last()
    });
    let fitting = fitting.max_by_key(|(count, _)| *count).map(|(_, text)| text);
    fitting.unwrap_or_else(|| rows.first().map_or(String::new(), |row| told_values(row, most)))
}

/// All values of a document on one line, with at most `texts` bytes of each text.
fn flat(value: &Value, texts: usize) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => line(text, texts),
        Value::Object(members) => match as_rows(members) {
            Some(rows) => table(&rows, texts),
            None => joined(members.iter().map(|(key, value)| member(key, value, &flat(value, texts))), ", "),
        },
        Value::Array(rows) => table(rows, texts),
        plain => plain.to_string(),
    }
}

fn member(key: &str, value: &Value, text: &str) -> String {
    let key = one_line(key);
    match text.trim() {
        "" => String::new(),
        text if value.is_object() => format!("{key}: ({text})"),
        text if key.is_empty() => text.to_owned(),
        text => format!("{key}: {text}"),
    }
}

fn joined(parts: impl Iterator<Item = String>, separator: &str) -> String {
    parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(separator)
}

/// A list; if its items are objects with the same keys, their keys stand once in front.
fn table(rows: &[Value], texts: usize) -> String {
    let keys = |row: &Value| Some(row.as_object()?.keys().cloned().collect::<Vec<String>>());
    let heading = rows.first().and_then(keys).filter(|_| rows.len() > 1);
    let heading = heading.filter(|first| rows.iter().take(MOST_ROWS).all(|row| keys(row).as_ref() == Some(first)));
    let cell = |value: &Value| match flat(value, texts) {
        text if text.is_empty() => "-".to_owned(),
        text if value.is_object() || value.is_array() => format!("({text})"),
        text => text,
    };
    let row = |row: &Value| match row {
        Value::Object(members) if heading.is_some() => joined(members.values().map(cell), " "),
        row => flat(row, texts),
    };
    let separator = if rows.iter().any(|row| row.is_object() || row.is_array()) { "; " } else { ", " };
    let gap = if rows.len() > MOST_ROWS { format!("{separator}{GAP}") } else { String::new() };
    let heading = heading.as_ref().map_or(String::new(), |keys| format!("({}) ", one_line(&keys.join(" "))));
    format!("{heading}{}{gap}", joined(rows.iter().take(MOST_ROWS).map(row), separator))
}
