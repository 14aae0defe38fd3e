//! Cuts a text into pieces that make sense alone: sentences, list items, lines of code. What is chosen of them is shown
//! word for word, with `…` where something is left out.

use std::ops::Range;

use crate::redact::{cut_before, cut_behind};
use crate::wording::one_line;

/// The mark of what is left out.
pub(super) const GAP: char = '…';

/// The kind of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PieceKind {
    /// A sentence, or a part of a long one.
    Sentence,
    /// A list item, or a list with the line that announces it.
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

/// Cuts a text into pieces, in order. The middle of a very long text has none.
pub(super) fn pieces(text: &str) -> Vec<ClipPiece> {
    pieces_up_to(text, LONGEST)
}

/// Cuts a text into pieces of at most `longest` bytes.
pub(super) fn pieces_up_to(text: &str, longest: usize) -> Vec<ClipPiece> {
    const MOST_BYTES: usize = 1 << 16;
    let mut found = Vec::new();
    if text.len() <= MOST_BYTES {
        add_pieces(text, 0..text.len(), longest, &mut found);
    } else {
        add_pieces(text, 0..cut_before(text, MOST_BYTES / 2), longest, &mut found);
        add_pieces(text, cut_behind(text, text.len() - MOST_BYTES / 2)..text.len(), longest, &mut found);
    }
    found.retain(|piece| !piece.range.is_empty());
    found
}

/// Adds the pieces of a part of a text.
pub(super) fn add_pieces(text: &str, part: Range<usize>, longest: usize, found: &mut Vec<ClipPiece>) {
    let add = |range: Range<usize>, kind: PieceKind, found: &mut Vec<ClipPiece>| {
        found.extend(chunks(text, range, longest).into_iter().map(|range| ClipPiece { range, kind }));
    };
    let (mut at, mut is_code) = (part.start, false);
    for line in text[part].split_inclusive('\n') {
        let range = trimmed(text, at..at + line.len());
        at += line.len();
        let shown = &text[range.clone()];
        let is_fence = shown.starts_with("```");
        if is_fence || is_code {
            // Lines of code that are not a piece of their own belong to the one before.
            match found.last_mut().filter(|before| is_code && range.end - before.range.start <= longest) {
                Some(before) => before.range.end = before.range.end.max(range.end),
                None => found.push(ClipPiece { range, kind: PieceKind::Code }),
            }
            is_code ^= is_fence;
        } else if is_heading(shown) {
            add(range, PieceKind::Heading, found);
        } else if is_item(shown) {
            add(range, PieceKind::Item, found);
        } else {
            sentences(text, range).into_iter().for_each(|one| add(one, PieceKind::Sentence, found));
        }
    }
}

/// Cuts a part of a text that is too long between words. Marks of gaps at its ends are not words of it.
pub(super) fn chunks(text: &str, part: Range<usize>, longest: usize) -> Vec<Range<usize>> {
    let part = trimmed(text, part);
    let (mut found, mut start) = (Vec::new(), part.start);
    while part.end.saturating_sub(start) > longest {
        let most = cut_before(text, start + longest);
        let blank = text[start..most].rfind(char::is_whitespace).filter(|cut| *cut > longest / 2);
        let end = blank.map_or(most, |cut| start + cut).max(start + 1);
        found.push(trimmed(text, start..text.ceil_char_boundary(end)));
        start = text.ceil_char_boundary(end);
    }
    found.push(trimmed(text, start..part.end));
    found.retain(|range| !range.is_empty());
    found
}

/// Cuts a text into pieces, with a short list and the line that announces it as one.
pub(super) fn pieces_with_lists(text: &str) -> Vec<ClipPiece> {
    const LONGEST: usize = 600;
    let mut joined: Vec<ClipPiece> = Vec::new();
    for piece in pieces(text) {
        let goes_on = joined.last().is_some_and(|before| {
            let announces = before.kind != PieceKind::Code && text[before.range.clone()].ends_with([':', '：']);
            (before.kind == PieceKind::Item || announces) && piece.range.end - before.range.start <= LONGEST
        });
        match joined.last_mut().filter(|_| goes_on && piece.kind == PieceKind::Item) {
            Some(before) => (before.range.end, before.kind) = (piece.range.end, PieceKind::Item),
            None => joined.push(piece),
        }
    }
    joined
}

/// Returns the ranges of the sentences on a line.
fn sentences(text: &str, line: Range<usize>) -> Vec<Range<usize>> {
    let (mut found, mut start) = (Vec::new(), line.start);
    let shown = &text[line.clone()];
    for (at, c) in shown.char_indices() {
        let ends = match c {
            '。' | '！' | '？' => true,
            '.' | '!' | '?' => ends_sentence(&shown[..at], &shown[at + 1..]),
            _ => false,
        };
        if ends {
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
    const ABBREVIATIONS: [&str; 13] = ["e.g", "i.e", "etc", "vs", "cf", "ca", "no", "No", "Nr", "Dr", "Mr", "Ms", "St"];
    let word = before.rsplit(|c: char| c.is_whitespace() || c == '(').next().unwrap_or("");
    let is_number = word.len() <= 2 && word.bytes().all(|byte| byte.is_ascii_digit());
    let is_abbreviation = word.len() == 1 || is_number || ABBREVIATIONS.contains(&word);
    let opens = |c: char| !c.is_lowercase() && !matches!(c, ',' | ';' | ')');
    !is_abbreviation && behind.starts_with(char::is_whitespace) && behind.trim_start().starts_with(opens)
}

/// Whether a line is a list item or a row of a table.
pub(super) fn is_item(line: &str) -> bool {
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let numbered = (1..=3).contains(&digits) && line[digits..].starts_with(['.', ')', '、']);
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

/// Returns a range without white space and marks of gaps at its ends.
fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let is_blank = |c: char| c == GAP || c.is_whitespace();
    let shown = &text[range.clone()];
    let start = range.start + (shown.len() - shown.trim_start_matches(is_blank).len());
    start..(start + shown.trim_matches(is_blank).len())
}

/// Returns the chosen ranges of a text, with marks where something is left out. What stood on a line of its own still does,
/// so that the pieces are the same when they are read back.
pub(super) fn shown(text: &str, mut ranges: Vec<Range<usize>>) -> String {
    ranges.sort_by_key(|range| range.start);
    let (mut out, mut end) = (String::new(), 0);
    for range in ranges {
        let between = &text[end..range.start];
        let (is_gap, is_line) = (!between.trim().is_empty(), between.contains('\n'));
        out.push_str(match end {
            0 if is_gap => "… ",
            0 => "",
            _ if is_gap && is_line => " …\n",
            _ if is_gap => " … ",
            _ if is_line => "\n",
            _ if between.is_empty() => "",
            _ => " ",
        });
        out.push_str(&text[range.clone()]);
        end = range.end;
    }
    out.push_str(if text[end..].trim().is_empty() { "" } else { " …" });
    out
}

/// Returns as much of a text as `most` bytes allow, in whole pieces: of its beginning and of its end alike, code last. A
/// text whose pieces are too long is cut between words.
pub(super) fn clipped(text: &str, most: usize) -> String {
    if text.trim().len() <= most {
        return text.trim().to_owned();
    }
    let pieces = pieces(text);
    let mut order: Vec<usize> = (0..pieces.len()).collect();
    order.sort_by_key(|&at| (pieces[at].kind == PieceKind::Code, at.min(pieces.len() - 1 - at)));
    let (mut ranges, mut room) = (Vec::new(), most);
    for at in order {
        let cost = pieces[at].range.len() + " … ".len();
        if cost <= room {
            room -= cost;
            ranges.push(pieces[at].range.clone());
        }
    }
    if ranges.is_empty() { cut(text, most) } else { shown(text, ranges) }
}

/// Returns the beginning of a text, cut between words.
pub(super) fn cut(text: &str, most: usize) -> String {
    let text = text.trim();
    if text.len() <= most {
        return text.to_owned();
    }
    let head = &text[..cut_before(text, most.saturating_sub(" …".len()))];
    let end = head.rfind(char::is_whitespace).filter(|end| *end > head.len() / 2).unwrap_or(head.len());
    format!("{} {GAP}", head[..end].trim_end())
}

/// Returns a text if it fits, or the longest beginning that fits with the mark of a gap.
pub(super) fn beginning(text: &str, fits: impl Fn(&str) -> bool) -> Option<String> {
    const LONGEST: usize = 1_000;
    if fits(text) {
        return Some(text.to_owned());
    }
    let start = |end: usize| format!("{} {GAP}", text[..end].trim_end());
    let ends: Vec<usize> = text.char_indices().map(|(at, c)| at + c.len_utf8()).take(LONGEST).collect();
    let fitting = ends.partition_point(|&end| fits(&start(end)));
    fitting.checked_sub(1).map(|last| start(cut_before(text, ends[last])))
}

/// Returns a text on one line, with its middle left out where it is longer than `most` bytes.
pub(super) fn middle_cut(text: &str, most: usize) -> String {
    /// Bytes of a word that goes rather than being cut.
    const WORD: usize = 24;
    // Of a huge text not all is brought on one line.
    let long = most.saturating_mul(4);
    let line = if text.len() > 2 * long {
        let (head, tail) = (cut_before(text, long), cut_behind(text, text.len() - long));
        one_line(&[&text[..head], " … ", &text[tail..]].concat())
    } else {
        one_line(text)
    };
    if line.len() <= most {
        return line;
    }
    // Between words, where one ends near: names stand whole.
    let near = WORD.min(most / 6);
    let head = cut_before(&line, most * 3 / 5);
    let end = line[..head].rfind(' ').filter(|end| head - end <= near);
    let head = end.map_or(head, |end| cut_before(&line, end));
    let tail = cut_behind(&line, line.len() - most.saturating_sub(most * 3 / 5 + " … ".len()));
    let start = line[tail..].find(' ').filter(|start| *start <= near);
    let tail = start.map_or(tail, |start| cut_behind(&line, tail + start));
    format!("{} {GAP} {}", line[..head].trim_end(), line[tail..].trim_start())
}

/// Returns a text as an item of a digest: its lines behind the first are indented, so that none of them looks like a line
/// of the digest's own. Blank lines go.
pub(super) fn indented(text: &str) -> String {
    const ENDS: [char; 7] = ['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'];
    let lines = text.split(ENDS).map(str::trim_end).filter(|line| !line.trim().is_empty());
    lines.collect::<Vec<_>>().join("\n  ").trim_start().to_owned()
}
