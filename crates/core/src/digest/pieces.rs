//! Cuts a text into pieces that make sense alone: sentences, list items, lines of code. What is chosen of them is shown
//! word for word, with `…` where something is left out.

use std::ops::Range;

use crate::digest::focus::is_wide;
use crate::digest::grammar::GAP;
use crate::redact::{cut_before, cut_behind};
use crate::wording::one_line;

/// The kind of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PieceKind {
    /// A sentence, or a part of a long one.
    Sentence,
    /// A list item, or a row of a table.
    Item,
    /// Lines of code, or an output.
    Code,
    /// A heading, or a line that announces what stands below it.
    Heading,
}

/// A piece of a text.
#[derive(Debug, Clone)]
pub(super) struct Piece {
    /// The place in the text, in bytes.
    pub(super) range: Range<usize>,
    pub(super) kind: PieceKind,
    /// The number of its line in the text.
    pub(super) line: usize,
    /// The heading that it stands below, as its place in the list of pieces.
    pub(super) heading: Option<usize>,
}

impl Piece {
    /// Whether it can be the beginning of what somebody says.
    pub(super) fn is_prose(&self) -> bool {
        !matches!(self.kind, PieceKind::Heading | PieceKind::Code)
    }
}

/// Most bytes of a piece.
const LONGEST: usize = 240;
/// Bytes at either end of a very long text that are cut into pieces. The middle has none.
const LOOK: usize = 1 << 15;

/// Cuts a text into pieces, in order.
pub(super) fn pieces(text: &str) -> Vec<Piece> {
    let mut splitter = Splitter { text, ..Splitter::default() };
    if text.len() <= 2 * LOOK {
        splitter.add(0..text.len());
    } else {
        splitter.add(0..cut_at(text, LOOK));
        let tail = cut_behind(text, text.len() - LOOK);
        splitter.line += 1;
        splitter.is_code = false;
        splitter.add(tail + text[tail..].find(char::is_whitespace).unwrap_or(0)..text.len());
    }
    splitter.pieces
}

#[derive(Default)]
struct Splitter<'t> {
    text: &'t str,
    pieces: Vec<Piece>,
    line: usize,
    is_code: bool,
    /// The headings that the next line stands below, each with its level.
    headings: Vec<(usize, usize)>,
}

impl Splitter<'_> {
    /// Adds the pieces of a part of the text.
    fn add(&mut self, part: Range<usize>) {
        let mut at = part.start;
        let mut follows_blank = false;
        let mut lines = self.text[part].split_inclusive('\n').peekable();
        while let Some(line) = lines.next() {
            let range = trimmed(self.text, at..at + line.len());
            at += line.len();
            if range.is_empty() {
                follows_blank = true;
            } else {
                self.add_line(range, follows_blank, lines.peek().map_or("", |next| next.trim()));
                follows_blank = false;
            }
            self.line += 1;
        }
    }

    /// Adds a line; `next` is the one behind it.
    fn add_line(&mut self, range: Range<usize>, follows_blank: bool, next: &str) {
        let line = &self.text[range.clone()];
        let is_fence = line.starts_with("```");
        if self.is_code || is_fence {
            let continues = self.is_code;
            self.is_code ^= is_fence;
            self.add_code(range, continues);
            return;
        }
        let announces = !is_item(line) && is_item(next) && line.len() <= TITLE_BYTES && !line.ends_with(SENTENCE_ENDS);
        let announcement = if announces { Some(ANNOUNCEMENT) } else { None };
        if let Some(level) = heading_level(line).or(announcement) {
            self.headings.retain(|(known, _)| *known < level);
            let heading = self.headings.last().map(|(_, at)| *at);
            self.headings.push((level, self.pieces.len()));
            self.pieces.push(Piece { range, kind: PieceKind::Heading, line: self.line, heading });
            return;
        }
        let is_item = is_item(line);
        // A blank line ends what a line announced, except before the first of its lines.
        let has_lines = self.headings.last().is_some_and(|(_, at)| at + 1 < self.pieces.len());
        if follows_blank && (!is_item || has_lines) {
            self.headings.retain(|(level, _)| *level < ANNOUNCEMENT);
        }
        let kind = if is_item { PieceKind::Item } else { PieceKind::Sentence };
        let parts = if is_item { vec![range] } else { sentences(self.text, range) };
        for part in parts {
            for range in chunks(self.text, part) {
                self.push(range, kind);
            }
        }
    }

    /// Adds a line of code, to the piece before it where both have room in one.
    fn add_code(&mut self, range: Range<usize>, continues: bool) {
        if continues
            && let Some(before) = self.pieces.last_mut()
            && range.end - before.range.start <= LONGEST
        {
            before.range.end = range.end;
            return;
        }
        for range in chunks(self.text, range) {
            self.push(range, PieceKind::Code);
        }
    }

    fn push(&mut self, range: Range<usize>, kind: PieceKind) {
        let heading = self.headings.last().map(|(_, at)| *at);
        self.pieces.push(Piece { range, kind, line: self.line, heading });
    }
}

/// The levels of headings that are bold or a tag, and of lines that announce what follows.
const TITLE: usize = 7;
const ANNOUNCEMENT: usize = 8;
/// The most bytes of a line before a list that announces it without a colon, and what ends a sentence.
const TITLE_BYTES: usize = 60;
const SENTENCE_ENDS: [char; 8] = ['.', '!', '?', ',', '。', '！', '？', '，'];

/// Whether a line is a heading, and not only an announcement.
pub(super) fn is_heading(line: &str) -> bool {
    heading_level(line).is_some_and(|level| level < ANNOUNCEMENT)
}

/// The level of a heading: marked, bold as a whole, a tag alone, or an announcement. `None` for any other line.
fn heading_level(line: &str) -> Option<usize> {
    if line.len() > LONGEST {
        return None;
    }
    let marks = line.len() - line.trim_start_matches('#').len();
    if marks > 0 && line[marks..].starts_with(' ') {
        return Some(marks.min(TITLE - 1));
    }
    if let Some(opened) = line.trim_end_matches([':', '：']).strip_prefix("**")
        && let Some(title) = opened.strip_suffix("**")
        && !title.contains("**")
    {
        return Some(TITLE);
    }
    if let Some(opened) = line.strip_prefix('<')
        && let Some(tag) = opened.strip_suffix('>')
        && !tag.contains(['<', ' '])
    {
        return Some(TITLE);
    }
    if line.ends_with([':', '：']) { Some(ANNOUNCEMENT) } else { None }
}

/// Whether a line is a list item or a row of a table.
pub(super) fn is_item(line: &str) -> bool {
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let is_numbered = (1..=3).contains(&digits) && line[digits..].starts_with(['.', ')', '、'])
        || line.starts_with(|c: char| c.is_ascii_alphabetic()) && line[1..].starts_with(") ");
    is_numbered || ["- ", "* ", "+ ", "• ", "|"].iter().any(|bullet| line.starts_with(bullet))
}

/// Cuts a part of a text that is too long for one piece.
pub(super) fn chunks(text: &str, part: Range<usize>) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut rest = trimmed(text, part);
    while rest.len() > LONGEST {
        let end = text.ceil_char_boundary(rest.start + cut_at(&text[rest.clone()], LONGEST).max(1));
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
    let mut found = Vec::new();
    let mut start = line.start;
    let mut is_code = false;
    for (at, c) in shown.char_indices() {
        is_code ^= c == '`';
        let ends_here = match c {
            '。' | '！' | '？' => true,
            '.' | '!' | '?' => ends_sentence(&shown[..at], &shown[at + 1..]),
            _ => false,
        };
        if ends_here && !is_code {
            let end = line.start + at + c.len_utf8();
            found.push(trimmed(text, start..end));
            start = end;
        }
    }
    found.push(trimmed(text, start..line.end));
    found.retain(|range| !range.is_empty());
    found
}

/// Whether a full stop ends a sentence, by what stands before it and behind it. It does not after `e.g` and `3`.
fn ends_sentence(before: &str, behind: &str) -> bool {
    const ABBREVIATIONS: [&str; 6] = ["e.g", "i.e", "etc", "approx", "incl", "resp"];
    let Some(next) = behind.trim_start().chars().next() else { return false };
    if !behind.starts_with(char::is_whitespace) || next.is_lowercase() || matches!(next, ',' | ';' | ')') {
        return false;
    }
    let word = before.rsplit(|c: char| c.is_whitespace() || c == '(').next().unwrap_or("");
    let word = word.trim_start_matches(['*', '_']);
    word.len() > 2 && !ABBREVIATIONS.contains(&word)
}

/// A range without white space and marks of gaps at its ends.
fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let shown = &text[range.clone()];
    let start = range.start + (shown.len() - shown.trim_start_matches(is_blank).len());
    start..(start + shown.trim_matches(is_blank).len())
}

fn is_blank(c: char) -> bool {
    c == GAP || c.is_whitespace()
}

/// The ranges of a text in their order, with marks where something is left out. What stood on a line of its own still
/// does, so that the pieces are the same when they are read back.
pub(super) fn shown(text: &str, ranges: &[Range<usize>]) -> String {
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

/// As much of a text as some `most` bytes allow, in whole pieces: of its beginning, and a third of its end.
pub(super) fn both_ends(text: &str, most: usize) -> String {
    if text.trim().len() <= most {
        return text.trim().to_owned();
    }
    let pieces = pieces(text);
    let mut left = most * 2 / 3;
    let mut head = 0;
    while head < pieces.len() && pieces[head].range.len() <= left {
        left -= pieces[head].range.len();
        head += 1;
    }
    left += most / 3;
    let mut tail = pieces.len();
    while tail > head && pieces[tail - 1].range.len() <= left {
        tail -= 1;
        left -= pieces[tail].range.len();
    }
    let ranges: Vec<Range<usize>> =
        pieces[..head].iter().chain(&pieces[tail..]).map(|piece| piece.range.clone()).collect();
    if ranges.is_empty() { cut(text, most) } else { shown(text, &ranges) }
}

/// Where a text is cut that has to end within `most` bytes, in the second half of these where it can: behind a line, a
/// sentence or a command, else between words, else in a code span. Only a word that is longer than all is cut itself.
fn cut_at(text: &str, most: usize) -> usize {
    let most = cut_before(text, most);
    if most == text.len() {
        return most;
    }
    let (mut best, mut before, mut is_code, mut is_bold) = ((0, 0), ' ', false, false);
    for (at, c) in text.char_indices().take_while(|(at, _)| *at <= most) {
        let is_end = c.is_whitespace() && !before.is_whitespace() || at > 0 && (is_wide(c) || is_wide(before));
        let quality = match c {
            _ if at <= most / 2 => 0,
            _ if is_code || is_bold => 1,
            '\n' => 3,
            _ => 2 + usize::from(".!?;|&。".contains(before)),
        };
        if is_end {
            best = best.max((quality, at));
        }
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
    let mut most = text.len().min(LONGEST);
    while most > " …".len() {
        let shorter = cut(text, most);
        if fits(&shorter) {
            return Some(shorter);
        }
        most = most * 7 / 8;
    }
    None
}

/// A text as an item of a digest: its lines behind the first are indented, so that none of them looks like a line of
/// the digest's own. Blank lines go.
pub(super) fn indented(text: &str) -> String {
    const ENDS: [char; 7] = ['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'];
    let mut out = String::with_capacity(text.len());
    for line in text.split(ENDS) {
        let line = line.trim_end();
        if line.trim().is_empty() {
            continue;
        }
        if out.is_empty() {
            out.push_str(line.trim_start());
        } else {
            out.push_str("\n  ");
            out.push_str(line);
        }
    }
    out
}
