//! The form of a digest: its headings and labels, and the places of messages. Every line is a heading, an item that begins
//! with `- `, or the continuation of an item, which begins with two spaces.

use crate::transcript::fence::USER_HEADING;
use crate::transcript::speaker::is_interruption;
use crate::wording::counted;

/// The mark of what is left out.
pub(super) const GAP: char = '…';

/// The sections of a digest, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Section {
    Earlier,
    User,
    State,
    Rules,
    Calls,
    Said,
}

impl Section {
    pub(super) const ALL: [Section; 6] =
        [Section::Earlier, Section::User, Section::State, Section::Rules, Section::Calls, Section::Said];

    pub(super) fn heading(self) -> &'static str {
        match self {
            Section::Earlier => EARLIER,
            Section::User => USER,
            Section::State => STATE,
            Section::Rules => RULES,
            Section::Calls => RUNS,
            Section::Said => SAID,
        }
    }

    /// What its line of what is left out counts, and whose.
    fn counts(self) -> (&'static str, &'static str) {
        match self {
            Section::Earlier => ("line", " of an earlier summary"),
            Section::User => ("message", " of the user"),
            Section::State => ("line", " of the state"),
            Section::Rules => ("file", " with rules"),
            Section::Calls => ("call", ""),
            Section::Said => ("text", " of the assistant"),
        }
    }

    /// The section below a heading.
    pub(super) fn of_heading(line: &str) -> Option<Self> {
        if line == EARLIER_AMONG || line == EARLIER_BY_INDEX {
            return Some(Section::Earlier);
        }
        Section::ALL.into_iter().find(|section| section.heading() == line)
    }
}

/// The headings, in order. That of an earlier summary has two forms: messages before it can be told behind it. Of some
/// agents the summary is older than those, of others it is not.
pub(super) const EARLIER: &str = "## Earlier summary; what follows is later and holds where the two differ";
pub(super) const EARLIER_AMONG: &str = "## Earlier summary; it may be older than messages before it";
/// The second form in older digests.
const EARLIER_BY_INDEX: &str = "## Earlier summary; what has a higher index is later and holds where the two differ";
pub(super) const USER: &str = USER_HEADING;
pub(super) const STATE: &str = "## State";
pub(super) const RULES: &str = "## Rules in files that were read";
pub(super) const RUNS: &str = "## Commands and calls, the last run of each";
pub(super) const SAID: &str = "## What the assistant said, in order";
/// The heading of what stands beside a model's summary, and the label of the user's words there.
pub(super) const MISSING: &str = "## Not in the summary above";
pub(super) const THE_USER: &str = "The user: ";
/// The label of the assistant's words where nothing else has room.
pub(super) const THE_ASSISTANT: &str = "The assistant: ";
/// The heading where nothing else has room than the beginning of what was said last.
pub(super) const LAST: &str = "## Last words";
pub(super) const HEADINGS: [&str; 9] = [LAST, EARLIER, EARLIER_AMONG, EARLIER_BY_INDEX, USER, STATE, RULES, RUNS, SAID];

/// The label of what a short answer answers, and the openings of lines that count what is left out.
pub(super) const ASKED: &str = "The assistant asked: ";
pub(super) const LEFT_OUT: &str = "Left out: ";
/// The words behind the numbers at the end of a list.
const MORE: &str = " more";
const EARLIER_MORE: &str = " left out earlier";
/// The end of the label of a message that stands for several.
const ALIKE: &str = " like this, but for digits) ";
/// The label of a message that a program sent in the user's place.
pub(super) const FROM_PROGRAM: &str = "(from a program) ";
/// The opening of the line that names the folder of commands and paths.
pub(super) const FOLDER: &str = "Paths and commands are in ";
/// The opening of the line with the files that were only read.
pub(super) const READ: &str = "Read: ";
/// The opening of the line of a background task.
pub(super) const TASK: &str = "Background task ";
/// The opening of the line with the tools that results have loaded.
pub(super) const LOADED: &str = "Tools loaded: ";
/// The mark of a thought.
pub(super) const THOUGHT: &str = "(thought) ";

/// The sign between the label of a call and how it ended.
pub(super) const ARROW: &str = " → ";
/// The place of a message, by which messages are in order: those of earlier digests come before all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    is_new: bool,
    /// Its place among messages that are new, or that are carried on. Indices of several earlier rounds are in no order.
    order: u32,
    pub(super) source: SourcePlace,
}

/// The place of a message, or of some that follow each other, in what a round of compaction found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct SourcePlace {
    /// The round, where it is not this one; 0 for an earlier one that is not known.
    pub(super) round: Option<u32>,
    index: u32,
    /// The index behind the last one.
    end: u32,
}

impl SourcePlace {
    /// Reads a place: an index or a range of these, alone or behind the number of an earlier round. In digests of older
    /// versions, `~` marks an earlier round, and the end of `3..6` is not part of it. `None` if it is not a place.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (round, indices) = if let Some(indices) = text.strip_prefix('~') {
            (Some(0), indices)
        } else if let Some((round, indices)) = text.split_once(':') {
            (Some(parse_digits(round)?), indices)
        } else {
            (None, text)
        };
        let (index, end) = if let Some((index, end)) = indices.split_once("..") {
            (parse_digits(index)?, parse_digits(end)?)
        } else {
            let (index, last) = indices.split_once('-').unwrap_or((indices, indices));
            (parse_digits(index)?, parse_digits(last)?.checked_add(1)?)
        };
        if index < end { Some(SourcePlace { round, index, end }) } else { None }
    }

    /// Reads places with commas between them; `None` if one of them is none.
    pub(super) fn parse_all(text: &str) -> Option<Vec<Self>> {
        text.split(',').map(Self::parse).collect()
    }

    /// The order of places: of this round last.
    pub(super) fn order(&self) -> (u32, u32, u32) {
        (self.round.unwrap_or(u32::MAX), self.index, self.end)
    }

    /// How many messages stand between two places; none where they are of different rounds.
    fn gap(&self, next: &Self) -> Option<u32> {
        if self.round == next.round { Some(next.index.saturating_sub(self.end)) } else { None }
    }

    /// The place as a later round tells it, where this is of a summary of `round`.
    pub(super) fn in_round(self, round: u32) -> Self {
        SourcePlace { round: self.round.or(Some(round)), ..self }
    }
}

/// Reads a number in digits alone, without a sign.
fn parse_digits(text: &str) -> Option<u32> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None }
}

impl std::fmt::Display for SourcePlace {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.round {
            None => {}
            Some(0) => out.write_str("~")?,
            Some(round) => write!(out, "{round}:")?,
        }
        write!(out, "{}", self.index)?;
        if self.end > self.index + 1 { write!(out, "-{}", self.end - 1) } else { Ok(()) }
    }
}

/// What stands between two calls that follow each other: a result.
const BETWEEN: u32 = 1;

/// All places in brackets as at most `most` ranges: the narrowest gaps between them are closed. The oldest rounds are
/// left out where these are more.
pub(super) fn covered(mut places: Vec<SourcePlace>, most: usize) -> String {
    places.sort_unstable_by_key(SourcePlace::order);
    let mut gaps: Vec<u32> = Vec::with_capacity(places.len());
    let mut rounds = 1;
    for pair in places.windows(2) {
        match pair[0].gap(&pair[1]) {
            Some(gap) => gaps.push(gap),
            None => rounds += 1,
        }
    }
    gaps.sort_unstable();
    // Each gap that stays open is the end of a range, and each change of the round is one.
    let open = most.saturating_sub(rounds);
    let closed = if open < gaps.len() { gaps[gaps.len() - 1 - open] } else { 0 };
    within(places, most, closed.max(BETWEEN))
}

/// The last places in brackets, as at most `most` ranges without gaps of more than `closed` messages.
fn within(mut places: Vec<SourcePlace>, most: usize, closed: u32) -> String {
    places.sort_unstable_by_key(SourcePlace::order);
    let mut ranges: Vec<SourcePlace> = Vec::new();
    for place in places {
        match ranges.last_mut() {
            Some(last) if last.gap(&place).is_some_and(|gap| gap <= closed) => last.end = last.end.max(place.end),
            _ => ranges.push(place),
        }
    }
    let shown = &ranges[ranges.len().saturating_sub(most)..];
    format!("[{}]", shown.iter().map(SourcePlace::to_string).collect::<Vec<_>>().join(","))
}

impl Place {
    /// The place of a message of the history.
    pub(super) fn new(index: usize) -> Self {
        // No memory holds more messages than that.
        let index = index as u32;
        Place { is_new: true, order: index, source: SourcePlace { round: None, index, end: index + 1 } }
    }

    /// The place of a message that an earlier digest tells, the `order`-th that is read back.
    pub(super) fn carried(order: u32, source: SourcePlace) -> Self {
        Place { is_new: false, order, source }
    }

    /// The place of a call as that of its `result`, where its line tells what the result holds.
    pub(super) fn with_result(self, result: Place) -> Self {
        Place { source: result.source, ..self }
    }

    /// What orders lines by what they tell: calls by their results.
    pub(super) fn by_result(self) -> impl Ord {
        (self.is_new, if self.is_new { self.source.end } else { self.order })
    }

    /// The place of what an earlier round or this one has recorded.
    pub(super) fn of_source(source: SourcePlace) -> Self {
        Place { is_new: source.round.is_none(), order: source.index, source }
    }

    /// Whether a message of the user here can be the first of all: it is not where an earlier digest left out another.
    pub(super) fn can_be_first(self, left_out: &LeftOut) -> bool {
        if self.is_new || left_out.number == 0 {
            return true;
        }
        let are_behind = left_out.places.iter().all(|place| place.order() > self.source.order());
        !left_out.places.is_empty() && self.source.round == Some(1) && are_behind
    }

    /// Its order among the messages of this history; 0 for what an earlier digest told.
    pub(super) fn age_order(self) -> u32 {
        if self.is_new { self.source.index + 1 } else { 0 }
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

/// Keeps text of others from looking like a label of the digest: it begins on the next line then.
pub(super) fn unlabelled(text: &str) -> String {
    // A program's line says nothing of its own.
    if is_interruption(text) {
        return text.to_owned();
    }
    const LABELS: [&str; 7] = [ASKED, LEFT_OUT, THOUGHT, FROM_PROGRAM, THE_USER, THE_ASSISTANT, "["];
    let is_label = LABELS.iter().any(|label| text.starts_with(label));
    if is_label || split_alike(text).0 > 1 { format!("\n  {text}") } else { text.to_owned() }
}

/// The label of a message that stands for several which are equal except for digits; empty for one message.
pub(super) fn alike_label(number: usize) -> String {
    if number > 1 { format!("({number}{ALIKE}") } else { String::new() }
}

/// Splits that label from a message, as the number of messages.
pub(super) fn split_alike(text: &str) -> (usize, &str) {
    if let Some(label) = text.strip_prefix('(')
        && let Some((number, rest)) = label.split_once(ALIKE)
        && let Ok(number) = number.parse()
    {
        return (number, rest);
    }
    (1, text)
}

/// The end of a list that counts what it leaves out; none where nothing is left out.
pub(super) fn more(number: usize) -> Option<String> {
    if number > 0 { Some(format!("{GAP} {number}{MORE}")) } else { None }
}

/// Reads such an end, also that of older digests: `… 3 more, and 2 left out earlier`.
pub(super) fn read_more(part: &str) -> Option<usize> {
    let part = part.trim_start().trim_start_matches([GAP, ' ']).trim_start_matches("and ");
    part.strip_suffix(MORE).or_else(|| part.strip_suffix(EARLIER_MORE))?.parse().ok()
}

/// What is left out of a section.
#[derive(Debug, Clone, Default)]
pub(super) struct LeftOut {
    pub(super) number: usize,
    pub(super) places: Vec<SourcePlace>,
}

impl LeftOut {
    pub(super) fn add(&mut self, number: usize, place: SourcePlace) {
        self.number += number;
        self.places.push(place);
    }

    /// The line that counts it, with where it is in at most `most` ranges; none where nothing is left out.
    pub(super) fn line(&self, section: Section, most: usize) -> Option<String> {
        if self.number == 0 {
            return None;
        }
        let (noun, whose) = section.counts();
        let number = counted(self.number, noun);
        let places = if most > 0 && !self.places.is_empty() {
            format!(" {}", covered(self.places.clone(), most))
        } else {
            String::new()
        };
        Some(format!("- {LEFT_OUT}{number}{whose}{places}."))
    }

    /// Reads what stands behind the opening of such a line; `None` if it is not one.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let mut left_out = LeftOut { number: text[..digits].parse().unwrap_or(0), places: Vec::new() };
        for part in text.split('[').skip(1) {
            left_out.places.extend(SourcePlace::parse_all(part.split_once(']')?.0)?);
        }
        if digits > 0 || !left_out.places.is_empty() { Some(left_out) } else { None }
    }
}

/// Prepares a summary that somebody else wrote: none of its lines is a heading of a digest.
pub fn without_own_headings(summary: &str) -> String {
    let mut out = String::with_capacity(summary.len());
    for line in summary.split_inclusive('\n') {
        if is_heading(line.strip_suffix('\n').unwrap_or(line)) {
            out.push('#');
        }
        out.push_str(line);
    }
    out
}

/// Splits what stands in brackets from the beginning of a text.
pub(super) fn bracketed(text: &str) -> Option<(&str, &str)> {
    text.strip_prefix('[')?.split_once(']')
}

/// Whether a summary has lines with places of earlier rounds.
pub fn has_earlier_places(summary: &str) -> bool {
    for line in summary.lines() {
        if let Some(item) = line.strip_prefix("- ")
            && let Some((place, _)) = bracketed(item)
            && SourcePlace::parse(place).is_some_and(|place| place.round.is_some())
        {
            return true;
        }
    }
    false
}

pub(super) fn is_heading(line: &str) -> bool {
    line == MISSING || HEADINGS.contains(&line)
}
