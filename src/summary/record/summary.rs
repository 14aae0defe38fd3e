//! The embedded summarizer: the record of a history, written in a given room.
//!
//! Each kind has its claim on the room, in this order: what is open and planned, the user's words, files, commands and
//! errors, the last report, decisions; then all of these as far as there is room, then values and names. It makes nothing
//! up, and it never exceeds the room.

use crate::summary::record::gather::{Gathered, gather};
use crate::summary::record::last_resort::first_words;
use crate::summary::record::phrases::{DONE, ERROR_GONE, OPEN_QUESTION, RAN_WELL, REPORT, SECTIONS, USER};
use crate::summary::record::reading::{Turn, read};
use crate::summary::record::selection::{self, size};
use crate::summary::record::statements::without_middle;
use crate::summary::record::user::LAST_REQUEST;
use crate::summary::record::work::FAILED_EDIT;
use crate::summary::record::{Entry, Kind, Record, Section};
use crate::tokens::Counter;
use crate::transcript::Message;

/// Summarizes `messages` in at most `limit` tokens. `prefix` is what an earlier summary begins with: its entries are
/// carried on. Empty only where the limit is too small for a character.
///
/// The record that it is written from goes into `record`, where that is wanted: the index of an entry is the place of its
/// message among `messages`.
#[cfg(any(test, feature = "laws"))]
pub(crate) fn summarize(
    messages: &[&Message<'_>],
    prefix: &str,
    counter: Counter,
    limit: u64,
    record: Option<&mut Record>,
) -> String {
    let indices: Vec<usize> = (0..messages.len()).collect();
    summarize_within((messages, &indices), prefix, counter, limit, &|text| counter.count_text(text) <= limit, record)
}

/// The same for a summary that takes part in something larger, which `fits` tells of it: escapes and merges at its seams
/// can cost a few tokens. Each message has the index beside it that it is known by.
pub(crate) fn summarize_within(
    (messages, indices): (&[&Message<'_>], &[usize]),
    prefix: &str,
    counter: Counter,
    limit: u64,
    fits: &dyn Fn(&str) -> bool,
    record: Option<&mut Record>,
) -> String {
    let turns = read(messages, indices, prefix);
    let gathered = gather(&turns);
    if let Some(record) = record {
        *record = gathered.clone().into_record();
    }
    let Gathered { mut entries, values, is_coding, .. } = gathered;
    let style = Style::of(&turns, limit);
    let plain = style.plain;
    let headings = if plain { 2.0 } else { size(&headings(), counter) };
    let room = limit as f64 - headings.min(limit as f64 / 3.0);
    let shares = if is_coding { &OF_WORK } else { &OF_TALK };
    // However little room there is, some of each message fits.
    let most = (room * shares.user(room) * CHARACTERS) as usize;
    for entry in entries.iter_mut().filter(|entry| entry.kind == Kind::User && entry.text.len() > most) {
        entry.text = without_middle(&entry.text, most.max(FEWEST));
    }
    let mut choice = Choice::new(&entries, counter, style);
    let reserved = room * if is_coding || values.is_empty() { OF_VALUES } else { OF_VALUES_ALONE };
    choice.fill(room, if room < TINY { 0.0 } else { reserved }, shares);
    let said = compose(&entries, &choice.taken, &[], style);
    let left = limit as f64 - size(&said, counter) - 1.0;
    let notes = selection::notes(&turns, values.into_iter(), plain);
    let mut pieces = selection::choose(&notes, &said, counter, left);
    let written = |choice: &Choice<'_>, pieces: &[usize]| {
        compose(&entries, &choice.taken, &selection::lines(&notes, pieces), style)
    };
    let mut text = written(&choice, &pieces);
    choice.fill_up(limit as f64 - size(&text, counter));
    text = written(&choice, &pieces);
    // Tokens of pieces add up to those of the text but for rounding and merges at the seams.
    while !fits(&text) && (pieces.pop().is_some() || choice.taken.pop().is_some()) {
        text = written(&choice, &pieces);
    }
    if text.is_empty() { first_words(&entries, messages, counter, limit) } else { text }
}

/// Characters of a token, at least, and those that say something.
const CHARACTERS: f64 = 3.0;
const FEWEST: usize = 16;
/// The room that is too small to be shared.
const TINY: f64 = 24.0;

/// The share of the room that is left for values beside a coding agent's work, and where there is no such work.
const OF_VALUES: f64 = 0.2;
const OF_VALUES_ALONE: f64 = 0.5;

/// The shares of the room that each claim has at most.
struct Shares {
    /// What is open and planned.
    open: f64,
    /// The user's words, in little room and in more of it.
    user: (f64, f64),
    files: f64,
    commands: f64,
    report: f64,
    decisions: f64,
}

impl Shares {
    /// The share of the user's words: a smaller one where that is enough for them.
    fn user(&self, room: f64) -> f64 {
        const LARGE: f64 = 500.0;
        match room {
            room if room < TINY => 0.9,
            room if room < LARGE => self.user.0,
            _ => self.user.1,
        }
    }
}

/// Where the work is done with files and commands.
const OF_WORK: Shares =
    Shares { open: 0.2, user: (0.5, 0.4), files: 0.12, commands: 0.2, report: 0.15, decisions: 0.2 };
/// Where it is done in talk, and with tools that bring values: a model that serves a person says again what these hold.
const OF_TALK: Shares =
    Shares { open: 0.2, user: (0.55, 0.42), files: 0.0, commands: 0.0, report: 0.08, decisions: 0.03 };

fn headings() -> String {
    SECTIONS.iter().map(|(section, _)| format!("{}\n\n", heading(*section))).collect()
}

/// How lines are written.
#[derive(Clone, Copy)]
struct Style {
    /// Without headings and marks.
    plain: bool,
    /// With the indices of their messages.
    indexed: bool,
}

impl Style {
    /// Where so little of so much is to be said that headings would take the room of facts, there are none; and no indices
    /// where they would.
    fn of(turns: &[Turn<'_>], limit: u64) -> Style {
        const SMALL: u64 = 256;
        /// Less has no room for a heading.
        const TINY: u64 = 40;
        Style { plain: limit < TINY || is_tight(turns, limit), indexed: limit >= SMALL }
    }
}

fn is_tight(turns: &[Turn<'_>], limit: u64) -> bool {
    const SMALL: u64 = 200;
    /// Bytes of the history for each token of the summary: about a quarter of it.
    const MUCH: u64 = 16;
    let of_turn = |turn: &Turn<'_>| {
        let calls =
            turn.calls.iter().map(|call| call.arguments.bytes + call.result.as_ref().map_or(0, |result| result.bytes));
        turn.text.bytes + turn.strays.iter().map(|stray| stray.bytes).sum::<usize>() + calls.sum::<usize>()
    };
    limit < SMALL && limit * MUCH < turns.iter().map(of_turn).sum::<usize>() as u64
}

/// Which entries a summary takes.
struct Choice<'e> {
    entries: &'e [Entry],
    /// The entries that are taken, in the order they were.
    taken: Vec<usize>,
    is_taken: Vec<bool>,
    costs: Vec<f64>,
    /// The entries, those first that say most for their size.
    order: Vec<usize>,
}

impl<'e> Choice<'e> {
    fn new(entries: &'e [Entry], counter: Counter, style: Style) -> Self {
        let cost = |entry: &Entry| match group(entry) {
            Some(_) => size(&item(entry, style), counter) + size(", ", counter),
            None => size(&format!("- {}\n", line(entry, style)), counter),
        };
        let costs: Vec<f64> = entries.iter().map(cost).collect();
        let worth = |at: usize| entries[at].weight / (costs[at] + 6.0).sqrt();
        let mut order: Vec<usize> = (0..entries.len()).collect();
        order.sort_by(|a, b| worth(*b).total_cmp(&worth(*a)).then(b.cmp(a)));
        Choice { entries, taken: Vec::new(), is_taken: vec![false; entries.len()], costs, order }
    }

    /// Takes entries in the order of their claims.
    fn fill(&mut self, room: f64, reserved: f64, shares: &Shares) {
        let is_read = |entry: &Entry| entry.about == "read";
        let mut left = room - reserved;
        let mut claim = |share: f64, wanted: &dyn Fn(&Entry) -> bool| {
            left -= self.take(left.min(room * share), wanted);
        };
        claim(shares.open, &|entry| matches!(entry.kind, Kind::Todo | Kind::Open) || entry.about == LAST_REQUEST);
        claim(shares.user(room), &|entry| entry.kind == Kind::User && entry.weight > IDLE);
        claim(shares.files, &|entry| entry.kind == Kind::File && !is_read(entry));
        claim(shares.commands, &|entry| matches!(entry.kind, Kind::Error | Kind::Command));
        claim(shares.report, &|entry| matches!(entry.kind, Kind::Next | Kind::Report));
        claim(shares.decisions, &|entry| {
            matches!(entry.kind, Kind::Decision | Kind::Finding) && entry.weight > TELLING
        });
        claim(1.0, &|entry| entry.weight > IDLE);
    }

    /// Takes whatever still fits.
    fn fill_up(&mut self, room: f64) {
        self.take(room - 1.0, &|_| true);
    }

    fn take(&mut self, room: f64, wanted: &dyn Fn(&Entry) -> bool) -> f64 {
        let mut spent = 0.0;
        for at in &self.order {
            if self.is_taken[*at] || spent + self.costs[*at] > room || !wanted(&self.entries[*at]) {
                continue;
            }
            spent += self.costs[*at];
            self.is_taken[*at] = true;
            self.taken.push(*at);
        }
        spent
    }
}

/// The weight of what has no claim, and that from which on a statement has one before all is looked at.
const IDLE: f64 = 1.0;
const TELLING: f64 = 2.0;

fn heading(section: Section) -> &'static str {
    match section {
        Section::Intent => "## Session intent",
        Section::Summary => "## Summary",
        Section::Artifacts => "## Artifacts",
        Section::NextSteps => "## Next steps",
    }
}

/// The section that an entry stands in.
fn section(entry: &Entry) -> Section {
    if entry.about == LAST_REQUEST { Section::NextSteps } else { entry.kind.row().section }
}

/// What stands before entries that share a line; nothing where each has its own.
fn group(entry: &Entry) -> Option<String> {
    match entry.kind {
        Kind::File if entry.about != FAILED_EDIT => Some(format!("{}: ", capital(&entry.about))),
        Kind::Command if entry.text == "ok" => Some(RAN_WELL.to_owned()),
        Kind::Done => Some(DONE.to_owned()),
        _ => None,
    }
}

/// An entry on a line that it shares.
fn item(entry: &Entry, style: Style) -> String {
    match entry.kind {
        Kind::File if !style.indexed || entry.earlier => entry.text.clone(),
        Kind::File => format!("{} [{}]", entry.text, entry.index),
        Kind::Command => format!("`{}`", entry.about),
        _ => entry.text.clone(),
    }
}

/// An entry on a line of its own.
fn line(entry: &Entry, style: Style) -> String {
    let Entry { kind, about, text, .. } = entry;
    let said = match kind {
        // Where there is no room, only what says nothing without its question has it.
        Kind::User if about.starts_with('“') && style.plain && text.split_whitespace().nth(3).is_some() => {
            text.clone()
        }
        Kind::User if about.starts_with('“') => format!("{about} → {text}"),
        Kind::Command | Kind::Error if about != ERROR_GONE => format!("`{about}` → {text}"),
        Kind::Open if about.is_empty() => format!("{OPEN_QUESTION}{text}"),
        Kind::Report => format!("{REPORT}{text}"),
        Kind::Todo | Kind::File => format!("{}: {text}", capital(about)),
        _ if about.is_empty() => text.clone(),
        _ => format!("{about}: {text}"),
    };
    if !style.indexed || entry.earlier { said } else { format!("[{}] {said}", entry.index) }
}

fn capital(word: &str) -> String {
    let mut rest = word.chars();
    rest.next().map_or_else(String::new, |first| first.to_uppercase().chain(rest).collect())
}

/// The sections of what was chosen; `values` are lines of their own.
fn compose(entries: &[Entry], chosen: &[usize], values: &[String], style: Style) -> String {
    let plain = style.plain;
    let mut chosen: Vec<&Entry> = {
        let mut in_order = chosen.to_vec();
        in_order.sort_unstable();
        in_order.into_iter().map(|at| &entries[at]).collect()
    };
    // What an earlier summary held came before; then each message in its turn, the report and what comes next last.
    chosen.sort_by_key(|entry| (rank(entry.kind), !entry.earlier, entry.index));
    let mut sections = Vec::new();
    for (of, _) in SECTIONS {
        let mut lines: Vec<String> = Vec::new();
        let mut grouped: Vec<(String, Vec<String>)> = Vec::new();
        let mut reported = None;
        for entry in chosen.iter().filter(|entry| section(entry) == of) {
            if let Some(group) = group(entry) {
                match grouped.iter_mut().find(|(known, _)| *known == group) {
                    Some((_, items)) => items.push(item(entry, style)),
                    None => grouped.push((group, vec![item(entry, style)])),
                }
                continue;
            }
            let mut line = line(entry, style);
            // Of the lines of a report the first says that it is one.
            if entry.kind == Kind::Report && reported.replace(entry.index) == Some(entry.index) {
                line = line.replacen(REPORT, "", 1);
            }
            if plain && of == Section::Intent && lines.is_empty() {
                line = format!("{USER}{line}");
            }
            lines.push(line);
        }
        lines.extend(grouped.into_iter().map(|(group, items)| {
            let between = if group == DONE { "; " } else { ", " };
            format!("{group}{}", items.join(between))
        }));
        if !plain {
            lines.iter_mut().for_each(|line| line.insert_str(0, "- "));
        }
        if of == Section::Artifacts {
            lines.extend_from_slice(values);
        }
        if !lines.is_empty() {
            sections.push(if plain { lines.join("\n") } else { format!("{}\n{}", heading(of), lines.join("\n")) });
        }
    }
    sections.join(if plain { "\n" } else { "\n\n" })
}

/// Where entries of a kind stand in their section.
fn rank(kind: Kind) -> u8 {
    match kind {
        Kind::Decision | Kind::Finding => 0,
        Kind::Command | Kind::Error => 1,
        Kind::Report => 2,
        _ => 0,
    }
}
