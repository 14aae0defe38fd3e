//! Long results, which keep only their beginning and their end.

use std::borrow::Cow;

use serde_json::Value;

use crate::tokens::Counter;
use crate::transcript::edit::{Edit, apply};
use crate::transcript::json::Json;
use crate::transcript::media::replace_data;
use crate::transcript::source::Source;

use crate::prune::by_message;
use crate::prune::note::{OPENING, is_pruned, note, outside_notes};
use crate::prune::results::clipped;
use crate::prune::rule::{Amount, IsReplaced, ProposedChange, RuleKind, replace_text};
use crate::prune::scene::{Scene, ToolResult};
use crate::prune::way_back::first_error_line;
use crate::redact::{cut_before, cut_behind};
use crate::wording::counted;

pub(super) const KIND: RuleKind = RuleKind {
    name: "cap",
    takes: "N",
    about: "results longer than N tokens (2000) keep their beginning and their end",
    default: Amount::Length(2_000),
    find,
};

/// The words behind the number of lines in a note.
const LEFT_OUT: &str = " left out";
/// How the note of a medium in a text ends.
const MEDIUM_GONE: &str = " removed]";
/// The least tokens of a text whose note says more than what is left out.
const LEAST_FOR_MORE: u64 = 256;
/// Attempts to cut a text: each keeps a tenth less than the one before.
const ROUNDS: usize = 40;

/// What the note of a cut says beside what is left out.
#[derive(Debug, Default)]
pub(super) struct CutNote {
    /// Whether it names the first error, where what is left does not.
    names_error: bool,
    /// Where the whole text is kept; empty where it is not.
    way_back: String,
}

impl CutNote {
    /// What the note says behind the amount, for a text in three parts of which the middle one is left out.
    fn more(&self, [head, middle, tail]: &[&str; 3]) -> String {
        if self.names_error
            && first_error_line(head).is_none()
            && first_error_line(tail).is_none()
            && let Some(line) = first_error_line(middle)
        {
            return format!("; among them: {}{}", clipped(line), self.way_back);
        }
        self.way_back.clone()
    }
}

fn find(scene: &Scene<'_, '_>, amount: Amount, is_replaced: &IsReplaced<'_>) -> Vec<ProposedChange> {
    let Amount::Length(limit) = amount else { return Vec::new() };
    let mut changes = Vec::new();
    for result in scene.results() {
        if scene.may_touch(result) && !is_replaced(result) {
            changes.extend(cap(scene, result, limit));
        }
    }
    changes
}

/// The change that cuts the longest results of a message, so that all lose at least so many tokens together.
pub(super) fn cut_message(scene: &Scene<'_, '_>, message: usize, excess: u64) -> Option<ProposedChange> {
    let mut results: Vec<&ToolResult<'_, '_>> = Vec::new();
    for result in scene.results() {
        if result.message == message && scene.may_touch(result) {
            results.push(result);
        }
    }
    let sizes: Vec<u64> = results.iter().map(|result| scene.text_tokens(result)).collect();
    let each = level(&sizes, sizes.iter().sum::<u64>().saturating_sub(excess))?;
    by_message(results.into_iter().filter_map(|result| cap(scene, result, each))).pop()
}

fn cap(scene: &Scene<'_, '_>, result: &ToolResult<'_, '_>, limit: u64) -> Option<ProposedChange> {
    let counter = scene.counter();
    let text = result.text();
    let tokens = scene.text_tokens(result);
    if tokens <= limit || is_pruned(text) {
        return None;
    }
    let way_back = scene.archive.map(|archive| archive.place_of(result.message)).unwrap_or_default();
    let cut_note = CutNote { names_error: result.is_outcome(), way_back };
    let (strings, again) = (result.output.strings(), result.output.duplicate_strings());
    let mut edits = match shortened(&strings, &again, counter, limit, &cut_note) {
        Some(edits) => edits,
        // No text can take the place of media.
        None if result.has_media => return None,
        None => {
            let shorter = cut(&with_notes(text), limit, counter, &cut_note);
            if counter.count_text(&shorter) >= tokens {
                return None;
            }
            replace_text(result, &shorter)
        }
    };
    if edits.is_empty() {
        return None;
    }
    edits.extend(scene.without_copies(result));
    Some(ProposedChange { message: result.message, edits, ..ProposedChange::default() })
}

/// Shortens the longest of some strings in place, until all together have no more tokens than a limit. Returns nothing
/// where there are too many strings for that.
fn shortened(
    strings: &[Json<'_>],
    again: &[Vec<Json<'_>>],
    counter: Counter,
    limit: u64,
    cut_note: &CutNote,
) -> Option<Vec<Edit>> {
    let whole: Vec<_> = strings.iter().filter_map(|string| Some(string.text()?.decode())).collect();
    // Of data inside a text nothing but a note is of use.
    let texts: Vec<_> = whole.iter().map(|text| with_notes(text)).collect();
    let sizes: Vec<u64> = texts.iter().map(|text| counter.count_text(text)).collect();
    let level = if sizes.iter().sum::<u64>() <= limit { limit } else { level(&sizes, limit)? };
    let mut edits = Vec::new();
    let mut left = 0;
    for (at, (text, size)) in texts.iter().zip(&sizes).enumerate() {
        if *size <= level && text.len() == whole[at].len() {
            left += size;
            continue;
        }
        let shorter = if *size <= level { text.to_string() } else { cut_text_or_json(text, level, counter, cut_note) };
        left += counter.count_text(&shorter);
        let written = Value::from(shorter).to_string();
        edits.push(Edit { range: strings[at].span(), text: written.clone() });
        for same in again.iter().filter_map(|strings| strings.get(at)) {
            edits.push(Edit { range: same.span(), text: written.clone() });
        }
    }
    if left <= limit { Some(edits) } else { None }
}

/// A text with a note in place of the data of media in it.
fn with_notes(text: &str) -> Cow<'_, str> {
    replace_data(text, |medium| note(&format!("{} removed", medium.words())))
}

/// The most tokens that each text can have, so that all together have no more than a limit.
pub(super) fn level(sizes: &[u64], limit: u64) -> Option<u64> {
    const LEAST: u64 = 24;
    let mut sorted = sizes.to_vec();
    sorted.sort_unstable();
    let mut left = limit;
    for (at, size) in sorted.iter().enumerate() {
        let share = left / (sorted.len() - at) as u64;
        if *size > share {
            return if share >= LEAST || sizes.len() == 1 { Some(share) } else { None };
        }
        left -= size;
    }
    None
}

/// Cuts a text. Of a text that is JSON, the strings are cut, so that it stays JSON.
fn cut_text_or_json(text: &str, limit: u64, counter: Counter, cut_note: &CutNote) -> String {
    cut_json(text, limit, counter, cut_note).unwrap_or_else(|| cut(text, limit, counter, cut_note))
}

fn cut_json(text: &str, limit: u64, counter: Counter, cut_note: &CutNote) -> Option<String> {
    if !text.trim_start().starts_with('{') {
        return None;
    }
    let source = Source::of(text).ok()?;
    let object = source.first()?;
    // The longest strings are cut; the rest of the object stays.
    let members = object.entries().map(|(_, value)| value);
    let strings: Vec<Json<'_>> = members.filter(|value| value.text().is_some()).collect();
    let sizes: Vec<u64> = strings.iter().map(|string| counter.count_text(string.raw())).collect();
    let around = counter.count_text(text).saturating_sub(sizes.iter().sum());
    let edits = shortened(&strings, &[], counter, limit.checked_sub(around + around / 4 + 4)?, cut_note)?;
    let shorter = apply(text, &edits);
    if counter.count_text(&shorter) <= limit { Some(shorter) } else { None }
}

/// Cuts a text to its beginning and its end, with a note between them. The cuts are at line ends where there are some
/// nearby. The result has no more tokens than a limit, unless that has no room for anything.
pub(super) fn cut(text: &str, limit: u64, counter: Counter, cut_note: &CutNote) -> String {
    let short_note = CutNote::default();
    let cut_note = if limit < LEAST_FOR_MORE { &short_note } else { cut_note };
    let whole = counter.count_text(text).max(1);
    let mut bytes = (text.len() as f64 * limit as f64 / whole as f64) as usize;
    for _ in 0..ROUNDS {
        let shorter = cut_to(text, bytes, cut_note);
        if counter.count_text(&shorter) <= limit {
            return shorter;
        }
        bytes = bytes * 9 / 10;
        if bytes < 16 {
            break;
        }
    }
    cut_to(text, 0, &short_note)
}

/// Cuts a text to its beginning and its end of so many bytes together.
fn cut_to(text: &str, bytes: usize, cut_note: &CutNote) -> String {
    let head = &text[..outside_notes(text, head_end(text, bytes / 2)).start];
    let rest = &text[head.len()..];
    let tail = &rest[outside_notes(rest, tail_start(rest, bytes - bytes / 2)).end..];
    let middle = &rest[..rest.len() - tail.len()];
    let note = note(&format!("{}{LEFT_OUT}{}", amount(middle), cut_note.more(&[head, middle, tail])));
    let before = if head.is_empty() || head.ends_with('\n') { "" } else { "\n" };
    let behind = if tail.is_empty() || tail.starts_with('\n') { "" } else { "\n" };
    format!("{head}{before}{note}{behind}{tail}")
}

/// Describes how much is left out: lines, with those of an earlier cut, or characters of a single line; and media.
fn amount(middle: &str) -> String {
    // Each stands for data of its own.
    let mut pieces = middle.split(OPENING);
    let mut text = pieces.next().unwrap_or_default().to_owned();
    let mut media = 0u64;
    for piece in pieces {
        match piece.split_once(MEDIUM_GONE) {
            Some((_, behind)) => (media, text) = (media + 1, text + behind),
            None => text.extend([OPENING, piece]),
        }
    }
    let lines = text.trim_matches('\n').lines();
    let count: usize = lines.map(|line| left_out_before(line).unwrap_or(1)).sum();
    let of_text = if count > 1 { counted(count, "line") } else { counted(text.chars().count(), "character") };
    match media {
        0 => of_text,
        media => format!("{of_text} and {}", counted(media, "file")),
    }
}

/// How many lines an earlier cut left out where this line is.
fn left_out_before(line: &str) -> Option<usize> {
    if !is_pruned(line) || !line.ends_with(']') {
        return None;
    }
    let (amount, _) = line.split_once(LEFT_OUT)?;
    amount.strip_suffix(" lines")?.rsplit(' ').next()?.parse().ok()
}

/// The end of a text's beginning of at most so many bytes.
fn head_end(text: &str, bytes: usize) -> usize {
    let at = cut_before(text, bytes);
    match text[..at].rfind('\n') {
        Some(line) if line + 1 >= at / 2 => line + 1,
        _ => at,
    }
}

/// The start of a text's end of at most so many bytes.
fn tail_start(text: &str, bytes: usize) -> usize {
    let at = cut_behind(text, text.len().saturating_sub(bytes));
    let Some(line) = text[at..].find('\n') else { return at };
    let start = at + line + 1;
    if text.len() - start >= (text.len() - at) / 2 { start } else { at }
}
