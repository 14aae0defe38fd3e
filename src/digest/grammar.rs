//! The form of a digest: its headings and labels, and the places of messages. Every line is a heading, an item that begins
//! with `- `, or the continuation of an item, which begins with two spaces.

use crate::digest::clip::GAP;
use crate::transcript::speaker::is_interruption;
use crate::wording::counted;

/// The headings, in order. That of an earlier summary has two forms: messages before it can be told behind it.
pub(super) const EARLIER: &str = "## Earlier summary; what follows is later and holds where the two differ";
pub(super) const EARLIER_AMONG: &str =
    "## Earlier summary; what has a higher index is later and holds where the two differ";
pub(super) const USER: &str = "## The user, in order; later words hold where two disagree";
pub(super) const STATE: &str = "## State";
pub(super) const RUNS: &str = "## Commands and calls, the last run of each";
pub(super) const SAID: &str = "## What the assistant said, in order";
/// The heading of what stands beside a model's summary, and the label of the user's words there.
pub(super) const MISSING: &str = "## Not in the summary above";
pub(super) const THE_USER: &str = "The user: ";
/// The label of the assistant's words where nothing else has room.
pub(super) const THE_ASSISTANT: &str = "The assistant: ";
/// The heading where nothing else has room than the beginning of what was said last.
pub(super) const LAST: &str = "## Last words";
pub(super) const HEADINGS: [&str; 7] = [LAST, EARLIER, EARLIER_AMONG, USER, STATE, RUNS, SAID];

/// The label of what a short answer answers, and the openings of lines that count what is left out.
pub(super) const ASKED: &str = "The assistant asked: ";
pub(super) const LEFT_OUT: &str = "Left out: ";
/// The words behind the numbers at the end of a list.
const MORE: &str = " more";
const EARLIER_MORE: &str = " left out earlier";
/// The end of the label of a message that stands for several.
const ALIKE: &str = " like this, but for digits) ";
/// The opening of the line that names the folder of commands and paths.
pub(super) const FOLDER: &str = "Paths and commands are in ";
/// The opening of the line with the tools that results have loaded.
pub(super) const LOADED: &str = "Tools loaded: ";
/// The mark of a thought.
pub(super) const THOUGHT: &str = "(thought) ";

/// The openings of lines about edits.
pub(super) const FAILED_EDIT: &str = "Failed edit of ";
pub(super) const LAST_EDIT: &str = "Last edit of ";

/// The sign between the label of a call and how it ended.
pub(super) const ARROW: &str = " → ";
/// The words between how a run ended and what happened before or after it.
pub(super) const FAILED_BEFORE: &str = "; failed before, at ";
pub(super) const UNCHECKED: &str = "; nothing was run since the change of ";
pub(super) const CHANGED_AFTER: &str = "; files were changed after it";

/// The place of a message, by which messages are in order: those of earlier digests come before all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    is_new: bool,
    /// Its place among messages that are new, or that are carried on. Indices of several earlier rounds are in no order.
    order: usize,
    source: SourcePlace,
}

/// The place of a message in what a round of compaction found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SourcePlace {
    /// The round, where it is not this one; 0 for an earlier one that is not known.
    pub(super) round: Option<u32>,
    index: usize,
}

impl SourcePlace {
    /// Reads the place of a message: an index, alone or behind the number of an earlier round. `~` marks an earlier round in
    /// digests of older versions. `None` if it is not a place.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let (round, index) = match (text.strip_prefix('~'), text.split_once(':')) {
            (Some(index), _) => (Some(0), index),
            (_, Some((round, index))) if is_number(round) => (Some(round.parse().ok()?), index),
            _ => (None, text),
        };
        is_number(index).then(|| Some(SourcePlace { round, index: index.parse().ok()? }))?
    }

    /// Returns the place as a later round tells it, where this is of a summary of `round`.
    pub(super) fn in_round(self, round: u32) -> Self {
        SourcePlace { round: self.round.or(Some(round)), ..self }
    }
}

impl std::fmt::Display for SourcePlace {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.round {
            None => write!(out, "{}", self.index),
            Some(0) => write!(out, "~{}", self.index),
            Some(round) => write!(out, "{round}:{}", self.index),
        }
    }
}

impl Place {
    /// Returns the place of a message of the history.
    pub(super) fn new(index: usize) -> Self {
        Place { is_new: true, order: index, source: SourcePlace { round: None, index } }
    }

    /// Returns the place of a message that an earlier digest tells, the `order`-th that is read back.
    pub(super) fn carried(order: usize, source: SourcePlace) -> Self {
        Place { is_new: false, order, source }
    }

    pub(super) fn is_carried(self) -> bool {
        !self.is_new
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "[{}]", self.source)
    }
}

/// Lines with the places of their messages, in order.
pub(super) type Lines = Vec<(Place, String)>;

/// Keeps text of others from looking like a label of the digest: it begins on the next line then.
pub(super) fn unlabelled(text: &str) -> String {
    // A program's line says nothing of its own.
    if is_interruption(text) {
        return text.to_owned();
    }
    let is_label = [ASKED, LEFT_OUT, THOUGHT, THE_USER, THE_ASSISTANT, "["].iter().any(|label| text.starts_with(label));
    if is_label || split_alike(text).0 > 1 { format!("\n  {text}") } else { text.to_owned() }
}

/// Returns the label of a message that stands for several which are equal but for digits.
pub(super) fn alike_label(number: usize) -> String {
    if number > 1 { format!("({number}{ALIKE}") } else { String::new() }
}

/// Splits that label from a message, as the number of messages.
pub(super) fn split_alike(text: &str) -> (usize, &str) {
    let label = text.strip_prefix('(').and_then(|rest| rest.split_once(ALIKE));
    label.and_then(|(number, rest)| Some((number.parse().ok()?, rest))).unwrap_or((1, text))
}

/// Returns the end of a list that counts what it leaves out, and what earlier digests left out.
pub(super) fn more(now: usize, earlier: usize) -> Option<String> {
    match (now, earlier) {
        (0, 0) => None,
        (0, earlier) => Some(format!("{GAP} {earlier}{EARLIER_MORE}")),
        (now, 0) => Some(format!("{GAP} {now}{MORE}")),
        (now, earlier) => Some(format!("{GAP} {now}{MORE}, and {earlier}{EARLIER_MORE}")),
    }
}

/// Reads one of the two numbers of such an end.
pub(super) fn read_more(part: &str) -> Option<usize> {
    let part = part.trim_start().trim_start_matches([GAP, ' ']).trim_start_matches("and ");
    part.strip_suffix(MORE).or_else(|| part.strip_suffix(EARLIER_MORE))?.parse().ok()
}

/// Returns the line that counts what is left out.
pub(super) fn left_out_line(number: usize, noun: &str, of: &str) -> Option<String> {
    (number > 0).then(|| format!("- {LEFT_OUT}{}{of}.", counted(number, noun)))
}

/// Prepares a summary that somebody else wrote: none of its lines is a heading of a digest.
pub(crate) fn without_own_headings(summary: &str) -> String {
    let lines = summary.split('\n').map(|line| if is_heading(line) { format!("#{line}") } else { line.to_owned() });
    lines.collect::<Vec<_>>().join("\n")
}

/// Splits what stands in brackets from the beginning of a text.
pub(super) fn bracketed(text: &str) -> Option<(&str, &str)> {
    text.strip_prefix('[')?.split_once(']')
}

/// Whether a summary has lines with places of earlier rounds.
pub(crate) fn has_earlier_places(summary: &str) -> bool {
    summary.lines().any(|line| {
        let place = line.strip_prefix("- ").and_then(bracketed);
        place.and_then(|(place, _)| SourcePlace::parse(place)).is_some_and(|place| place.round.is_some())
    })
}

pub(super) fn is_heading(line: &str) -> bool {
    line == MISSING || HEADINGS.contains(&line)
}
