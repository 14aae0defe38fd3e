//! Cuts a text into pieces that make sense alone: sentences, list items, lines of code. What is chosen of them is shown
//! word for word, with `…` where something is left out.

use std::ops::Range;

/// The mark of what is left out.
pub(super) const GAP: char = '…';
/// Most bytes of a text that are looked at: half of them at its beginning, half at its end.
const MOST_BYTES: usize = 1 << 16;
/// Most bytes of a piece. A longer sentence is cut between words.
const LONGEST_PIECE: usize = 320;
/// Most bytes of a list that is one piece, and most lines of a block of code that is one.
const LONGEST_LIST: usize = 600;
const LONGEST_BLOCK: usize = 6;

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
pub(super) struct Piece {
    /// The place in the text, in bytes.
    pub(super) range: Range<usize>,
    /// The kind.
    pub(super) kind: PieceKind,
}

/// Cuts a text into pieces, in order.
pub(super) fn pieces(text: &str) -> Vec<Piece> {
    let mut found = Vec::new();
    if text.len() > MOST_BYTES {
        let (head, tail) =
            (text.floor_char_boundary(MOST_BYTES / 2), text.ceil_char_boundary(text.len() - MOST_BYTES / 2));
        add_pieces(text, 0..head, &mut found);
        add_pieces(text, tail..text.len(), &mut found);
    } else {
        add_pieces(text, 0..text.len(), &mut found);
    }
    found
}

/// Cuts a text into pieces, with short lists as one piece each.
pub(super) fn pieces_with_lists(text: &str) -> Vec<Piece> {
    let mut found = pieces(text);
    join_lists(text, &mut found);
    found
}

fn add_pieces(text: &str, part: Range<usize>, found: &mut Vec<Piece>) {
    let mut at = part.start;
    // Where the open block of code began, among the pieces.
    let mut block: Option<usize> = None;
    for line in text[part].split_inclusive('\n') {
        let range = trimmed(text, at..at + line.len());
        at += line.len();
        if range.is_empty() {
            continue;
        }
        let shown = &text[range.clone()];
        let is_fence = shown.starts_with("```");
        if is_fence || block.is_some() {
            found.push(Piece { range, kind: PieceKind::Code });
            match block.take() {
                None => block = Some(found.len() - 1),
                Some(first) if is_fence => join_block(found, first),
                open => block = open,
            }
        } else if shown.starts_with('#') || is_title(shown) || is_tag(shown) {
            add_chunks(text, range, PieceKind::Heading, found);
        } else if is_item(shown) {
            add_chunks(text, range, PieceKind::Item, found);
        } else {
            for sentence in sentences(text, range) {
                add_chunks(text, sentence, PieceKind::Sentence, found);
            }
        }
    }
}

/// Makes a short block of code one piece.
fn join_block(found: &mut Vec<Piece>, first: usize) {
    if found.len() - first <= LONGEST_BLOCK {
        let range = found[first].range.start..found[found.len() - 1].range.end;
        found.truncate(first);
        found.push(Piece { range, kind: PieceKind::Code });
    }
}

/// Makes a short list one piece, with the line that announces it.
fn join_lists(text: &str, found: &mut Vec<Piece>) {
    let mut joined: Vec<Piece> = Vec::with_capacity(found.len());
    for piece in found.drain(..) {
        let shown = &text[piece.range.clone()];
        let goes_on = joined.last().is_some_and(|before| {
            let announces = text[before.range.clone()].ends_with([':', '：']) && before.kind != PieceKind::Code;
            piece.kind == PieceKind::Item
                && is_item(shown)
                && (before.kind == PieceKind::Item || announces)
                && piece.range.end - before.range.start <= LONGEST_LIST
        });
        match joined.last_mut().filter(|_| goes_on) {
            Some(before) => (before.range.end, before.kind) = (piece.range.end, PieceKind::Item),
            None => joined.push(piece),
        }
    }
    *found = joined;
}

/// Cuts a piece that is too long between words.
fn add_chunks(text: &str, range: Range<usize>, kind: PieceKind, found: &mut Vec<Piece>) {
    let mut start = range.start;
    while range.end - start > LONGEST_PIECE {
        let most = text.floor_char_boundary(start + LONGEST_PIECE);
        let cut = text[start..most].rfind(char::is_whitespace).filter(|cut| *cut > LONGEST_PIECE / 2);
        let end = cut.map_or(most, |cut| start + cut);
        found.push(Piece { range: trimmed(text, start..end), kind });
        start = end;
    }
    found.push(Piece { range: trimmed(text, start..range.end), kind });
}

/// Returns the ranges of the sentences on a line.
fn sentences(text: &str, line: Range<usize>) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = line.start;
    let shown = &text[line.clone()];
    let mut chars = shown.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|(_, next)| *next);
        let ends = match c {
            '。' | '！' | '？' => true,
            '.' | '!' | '?' => {
                next.is_some_and(char::is_whitespace)
                    && opens_sentence(&shown[at + 1..])
                    && !is_abbreviation(&shown[..at])
            }
            _ => false,
        };
        if ends {
            let end = line.start + at + c.len_utf8();
            found.push(start..end);
            start = end;
        }
    }
    found.push(start..line.end);
    found.into_iter().map(|range| trimmed(text, range)).filter(|range| !range.is_empty()).collect()
}

/// Whether what follows a full stop can be a new sentence.
fn opens_sentence(rest: &str) -> bool {
    rest.trim_start().starts_with(|c: char| !c.is_lowercase() && !matches!(c, ',' | ';' | ')'))
}

/// Whether a full stop belongs to the word before it: `e.g.`, `3.`
fn is_abbreviation(before: &str) -> bool {
    let word = before.rsplit(|c: char| c.is_whitespace() || c == '(').next().unwrap_or("");
    word.len() <= 2 && !word.is_empty() || ["e.g", "i.e", "etc", "vs"].contains(&word)
}

/// Whether a line is a list item or a row of a table.
fn is_item(line: &str) -> bool {
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let numbered = (1..=3).contains(&digits) && line[digits..].starts_with(['.', ')', '、']);
    numbered || ["- ", "* ", "+ ", "• ", "|"].iter().any(|bullet| line.starts_with(bullet))
}

/// Whether a line is bold as a whole.
fn is_title(line: &str) -> bool {
    let inside = line.trim_end_matches([':', '：']).strip_prefix("**").and_then(|rest| rest.strip_suffix("**"));
    inside.is_some_and(|inside| !inside.contains("**"))
}

/// Whether a line is a tag alone.
fn is_tag(line: &str) -> bool {
    line.strip_prefix('<').and_then(|rest| rest.strip_suffix('>')).is_some_and(|inside| !inside.contains(['<', ' ']))
}

/// Returns a range without white space at its ends.
fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let shown = &text[range.clone()];
    let start = range.start + (shown.len() - shown.trim_start().len());
    start..(start + shown.trim().len())
}

/// Returns the chosen ranges of a text, in order, with marks where something is left out: at the beginning and between
/// them, and at the end.
pub(super) fn shown(text: &str, ranges: &[Range<usize>]) -> String {
    let mut out = String::new();
    let mut end = 0;
    for range in ranges {
        let between = &text[end..range.start];
        if !between.trim().is_empty() {
            out.push_str(if end == 0 { "… " } else { " … " });
        } else if end > 0 {
            out.push_str(if between.is_empty() {
                ""
            } else if between.contains('\n') {
                "\n"
            } else {
                " "
            });
        }
        out.push_str(&text[range.clone()]);
        end = range.end;
    }
    if !text[end..].trim().is_empty() {
        out.push_str(" …");
    }
    out
}

/// Returns as much of a text as `most` bytes allow, in whole pieces: the beginning, what `matters`, the end, and then the
/// rest in order. A text whose first piece is too long is cut between words.
pub(super) fn clipped(text: &str, most: usize, matters: impl Fn(&str) -> bool) -> String {
    let text = text.trim();
    if text.len() <= most {
        return text.to_owned();
    }
    let pieces = pieces_with_lists(text);
    let last = pieces.len().saturating_sub(1);
    let rank = |at: usize, piece: &Piece| match piece.kind {
        _ if at == 0 => 0,
        _ if at == last => 1,
        PieceKind::Code | PieceKind::Heading => 4,
        _ if matters(&text[piece.range.clone()]) => 2,
        _ => 3,
    };
    let mut order: Vec<usize> = (0..pieces.len()).collect();
    order.sort_by_key(|&at| (rank(at, &pieces[at]), at));
    chosen_pieces(text, &pieces, order, most)
}

/// Returns as much of a text as `most` bytes allow, in whole pieces: of its beginning and of its end alike.
pub(super) fn clipped_ends(text: &str, most: usize) -> String {
    let pieces = pieces(text);
    let mut order: Vec<usize> = (0..pieces.len()).collect();
    order.sort_by_key(|&at| at.min(pieces.len() - 1 - at));
    chosen_pieces(text, &pieces, order, most)
}

/// Shows the pieces that have room, the first of `order` first.
fn chosen_pieces(text: &str, pieces: &[Piece], order: Vec<usize>, most: usize) -> String {
    let (mut chosen, mut room) = (Vec::new(), most);
    for at in order {
        let cost = pieces[at].range.len() + " … ".len();
        if cost <= room {
            room -= cost;
            chosen.push(at);
        }
    }
    if chosen.is_empty() {
        return cut(text, most);
    }
    chosen.sort_unstable();
    let ranges: Vec<Range<usize>> = chosen.into_iter().map(|at| pieces[at].range.clone()).collect();
    shown(text, &ranges)
}

/// Returns the beginning of a text, cut between words.
pub(super) fn cut(text: &str, most: usize) -> String {
    let text = text.trim();
    if text.len() <= most {
        return text.to_owned();
    }
    let head = &text[..text.floor_char_boundary(most.saturating_sub(" …".len()))];
    let end = head.rfind(char::is_whitespace).filter(|end| *end > head.len() / 2).unwrap_or(head.len());
    format!("{} {GAP}", head[..end].trim_end())
}

/// Returns a text on one line, with its middle left out where it is longer than `most` bytes.
pub(super) fn middle_cut(text: &str, most: usize) -> String {
    let line = crate::wording::one_line(text);
    if line.len() <= most {
        return line;
    }
    let head = line.floor_char_boundary(most * 3 / 5);
    let tail = line.ceil_char_boundary(line.len() - most.saturating_sub(most * 3 / 5 + " … ".len()));
    format!("{} {GAP} {}", line[..head].trim_end(), line[tail..].trim_start())
}

/// Returns a text as an item of a digest: its lines behind the first are indented, so that none of them looks like a line
/// of the digest's own. Blank lines go.
pub(super) fn indented(text: &str) -> String {
    let lines: Vec<&str> = text
        .split(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}', '\u{b}', '\u{c}'])
        .map(str::trim_end)
        .filter(|line| !line.trim().is_empty())
        .collect();
    lines.join("\n  ").trim_start().to_owned()
}
