//! The embedded summarizer: writes the record of a history within a token limit.
//!
//! The kinds get their shares of the limit in this order: open items and the plan, the user's words, next steps, decisions,
//! files, commands and errors, the last report. Then come all others as far as they fit, then values and names. Every line
//! is taken from the history, and the summary never exceeds the limit.

use crate::summary::record::fallback::fallback_text;
use crate::summary::record::gather::{Gathered, gather};
use crate::summary::record::history_turns::{HistoryTurn, read};
use crate::summary::record::notes::shorten_line;
use crate::summary::record::phrases::LAST_REQUEST;
use crate::summary::record::phrases::{DONE, ERROR_GONE, OPEN_QUESTION, RAN_WELL, REPORT, SECTIONS, USER};
use crate::summary::record::segmentation::{GAP, words_of};
use crate::summary::record::selection::{self, size};
use crate::summary::record::touched_files::FAILED_EDIT;
use crate::summary::record::{FactKind, HistoryRecord, RecordEntry, SummarySection, root_folder};
use crate::tokens::Counter;
use crate::transcript::Message;

/// Summarizes `messages` in at most `limit` tokens. `prefix` is the opening of an earlier summary, whose entries are
/// carried over. The result is empty only if the limit is too small for a character.
///
/// Writes the record of the messages into `record`, if given; the index of an entry is the place of its message in
/// `messages`.
#[cfg(any(test, feature = "laws"))]
pub(crate) fn summarize(
    messages: &[&Message<'_>],
    prefix: &str,
    counter: Counter,
    limit: u64,
    record: Option<&mut HistoryRecord>,
) -> String {
    let indices: Vec<usize> = (0..messages.len()).collect();
    summarize_within((messages, &indices), prefix, counter, limit, &|text| counter.count_text(text) <= limit, record)
}

/// Summarizes `messages`, with their `indices` in the source, for a summary inside a larger text: `fits` decides whether
/// it is small enough, since escapes and merges at its ends can cost a few tokens. See `summarize` for the rest.
pub(crate) fn summarize_within(
    (messages, indices): (&[&Message<'_>], &[usize]),
    prefix: &str,
    counter: Counter,
    limit: u64,
    fits: &dyn Fn(&str) -> bool,
    record: Option<&mut HistoryRecord>,
) -> String {
    let turns = read(messages, indices, prefix);
    let gathered = gather(&turns);
    if let Some(record) = record {
        *record = gathered.clone().into_record();
    }
    let Gathered { mut entries, values, is_coding, .. } = gathered;
    let style = SummaryStyle::new(&turns, limit);
    let plain = style.plain;
    let headings = if plain { 2.0 } else { size(&headings(), counter) };
    let room = limit as f64 - headings.min(limit as f64 / 3.0);
    let shares = if is_coding { &CODING_SHARES } else { &TALK_SHARES };
    let is_work = |entry: &&RecordEntry| entry.kind == FactKind::File && entry.about != "read";
    let path_bytes = entries.iter().filter(is_work).map(|entry| entry.text.len()).sum::<usize>();
    if style.indexed && path_bytes as f64 > room * shares.files * CHARACTERS_PER_TOKEN {
        root_folder::shorten_paths(&mut entries);
    }
    // Even a small budget holds a part of each message.
    let most = (room * shares.user(room) * CHARACTERS_PER_TOKEN) as usize;
    let is_long = |entry: &&mut RecordEntry| entry.about.len() + entry.text.len() > most;
    let long = entries.iter_mut().filter(|entry| entry.kind == FactKind::User).filter(is_long);
    let notes: Vec<RecordEntry> = long.flat_map(|entry| shorten_line(entry, most.max(LEAST_CHARACTERS))).collect();
    entries.extend(notes);
    let mut choice = EntrySelection::new(&entries, counter, style);
    let reserved = room * if is_coding || values.is_empty() { VALUES_SHARE } else { VALUES_SHARE_WITHOUT_WORK };
    choice.fill(room, if room < TINY_BUDGET { 0.0 } else { reserved }, shares);
    let text_without_values = compose(&entries, &choice.chosen, &[], style);
    let left = limit as f64 - size(&text_without_values, counter) - 1.0;
    let notes = selection::build_notes(&turns, values.into_iter(), plain, limit >= ROOM_FOR_OBJECTS);
    let mut pieces = selection::choose(&notes, &text_without_values, counter, left);
    let compose_with = |choice: &EntrySelection<'_>, pieces: &[usize]| {
        compose(&entries, &choice.chosen, &selection::write_lines(&notes, pieces), style)
    };
    let mut text = compose_with(&choice, &pieces);
    choice.fill_up(limit as f64 - size(&text, counter));
    text = compose_with(&choice, &pieces);
    // The tokens of the parts add up to those of the text except for rounding and merges at their ends.
    while !fits(&text) && (pieces.pop().is_some() || choice.chosen.pop().is_some()) {
        text = compose_with(&choice, &pieces);
    }
    if text.is_empty() { fallback_text(&entries, messages, counter, limit) } else { text }
}

/// The least characters of a token, and the fewest that state anything.
const CHARACTERS_PER_TOKEN: f64 = 3.0;
const LEAST_CHARACTERS: usize = 16;
/// The budget, in tokens, that is too small to be shared.
const TINY_BUDGET: f64 = 24.0;

/// The budget, in tokens, from which on an object's identifier stands with each of its values, and a mark for objects
/// that are missing. In a smaller one, single values that are used later are worth more.
const ROOM_FOR_OBJECTS: u64 = 900;

/// The share of the budget for values beside a coding agent's work, and without such work.
const VALUES_SHARE: f64 = 0.2;
const VALUES_SHARE_WITHOUT_WORK: f64 = 0.5;

/// The largest share of the budget for each group of entries.
struct BudgetShares {
    /// Open items and the plan.
    open: f64,
    /// The user's words, in a small budget and in a large one.
    user: (f64, f64),
    files: f64,
    commands: f64,
    report: f64,
    decisions: f64,
}

impl BudgetShares {
    /// Returns the share of the user's words, which is smaller in a large budget.
    fn user(&self, room: f64) -> f64 {
        const LARGE: f64 = 500.0;
        match room {
            room if room < TINY_BUDGET => 0.9,
            room if room < LARGE => self.user.0,
            _ => self.user.1,
        }
    }
}

/// The shares if the work involves files and commands.
const CODING_SHARES: BudgetShares =
    BudgetShares { open: 0.2, user: (0.5, 0.4), files: 0.12, commands: 0.2, report: 0.25, decisions: 0.2 };
/// The shares for conversations and tools that return values. A model that serves a person repeats these in its
/// answers.
const TALK_SHARES: BudgetShares =
    BudgetShares { open: 0.2, user: (0.55, 0.42), files: 0.0, commands: 0.0, report: 0.08, decisions: 0.0 };

fn headings() -> String {
    SECTIONS.iter().map(|(section, _)| format!("{}\n\n", heading(*section))).collect()
}

/// The layout of a summary.
#[derive(Clone, Copy)]
struct SummaryStyle {
    /// Whether it has no headings and list marks.
    plain: bool,
    /// Whether lines show the index of their message.
    indexed: bool,
}

impl SummaryStyle {
    /// Omits headings and indices if they would take the room of facts.
    fn new(turns: &[HistoryTurn<'_>], limit: u64) -> SummaryStyle {
        const SMALL: u64 = 256;
        /// A smaller limit has no room for a heading.
        const TINY_BUDGET: u64 = 40;
        SummaryStyle { plain: limit < TINY_BUDGET || is_tight(turns, limit), indexed: limit >= SMALL }
    }
}

fn is_tight(turns: &[HistoryTurn<'_>], limit: u64) -> bool {
    const SMALL: u64 = 200;
    /// Bytes of the history per token of the summary: it keeps about a quarter.
    const MUCH: u64 = 16;
    let turn_bytes = |turn: &HistoryTurn<'_>| {
        let calls =
            turn.calls.iter().map(|call| call.arguments.bytes + call.result.as_ref().map_or(0, |result| result.bytes));
        turn.text.bytes
            + turn.results_without_call.iter().map(|stray| stray.bytes).sum::<usize>()
            + calls.sum::<usize>()
    };
    limit < SMALL && limit * MUCH < turns.iter().map(turn_bytes).sum::<usize>() as u64
}

/// Selects the entries of a summary.
struct EntrySelection<'e> {
    entries: &'e [RecordEntry],
    /// The indices of the chosen entries, in the order of their selection.
    chosen: Vec<usize>,
    is_chosen: Vec<bool>,
    costs: Vec<f64>,
    /// The indices of all entries, those with most weight for their size first.
    order: Vec<usize>,
}

impl<'e> EntrySelection<'e> {
    fn new(entries: &'e [RecordEntry], counter: Counter, style: SummaryStyle) -> Self {
        let cost = |entry: &RecordEntry| match group_prefix(entry) {
            Some(_) => size(&group_item(entry, style), counter) + size(", ", counter),
            None => size(&format!("- {}\n", entry_line(entry, style)), counter),
        };
        let costs: Vec<f64> = entries.iter().map(cost).collect();
        // The shortest statements of the model are not its best, and a report is read from its beginning.
        let compared_cost = |at: usize| match entries[at].kind {
            FactKind::Report => STATEMENT,
            FactKind::Decision | FactKind::Finding => costs[at].max(STATEMENT),
            _ => costs[at],
        };
        let worth = |at: usize| entries[at].weight / (compared_cost(at) + 6.0).sqrt();
        let is_report = |at: usize| entries[at].kind == FactKind::Report;
        let mut order: Vec<usize> = (0..entries.len()).collect();
        order.sort_by(|a, b| {
            worth(*b)
                .total_cmp(&worth(*a))
                .then_with(|| if is_report(*a) && is_report(*b) { a.cmp(b) } else { b.cmp(a) })
        });
        EntrySelection { entries, chosen: Vec::new(), is_chosen: vec![false; entries.len()], costs, order }
    }

    /// Chooses entries by the shares of their kinds.
    fn fill(&mut self, room: f64, reserved: f64, shares: &BudgetShares) {
        let is_read = |entry: &RecordEntry| entry.about == "read";
        let mut left = room - reserved;
        let mut take_share = |share: f64, wanted: &dyn Fn(&RecordEntry) -> bool| {
            left -= self.take(left.min(room * share), wanted);
        };
        take_share(shares.open, &|entry| {
            matches!(entry.kind, FactKind::Todo | FactKind::Open) || entry.about == LAST_REQUEST
        });
        take_share(shares.user(room), &|entry| entry.kind == FactKind::User && entry.weight > LEAST_WEIGHT);
        take_share(shares.open, &|entry| entry.kind == FactKind::Next);
        let is_claim = |entry: &RecordEntry| {
            matches!(entry.kind, FactKind::Decision | FactKind::Finding) && entry.weight > CLAIM_WEIGHT
        };
        take_share(shares.decisions, &is_claim);
        take_share(shares.files, &|entry| entry.kind == FactKind::File && !is_read(entry));
        take_share(shares.commands, &|entry| {
            matches!(entry.kind, FactKind::Error | FactKind::Command) && entry.weight > LEAST_WEIGHT
        });
        take_share(shares.report, &|entry| entry.kind == FactKind::Report);
        take_share(1.0, &|entry| entry.weight > LEAST_WEIGHT);
    }

    /// Chooses all that still fit.
    fn fill_up(&mut self, room: f64) {
        self.take(room - 1.0, &|_| true);
    }

    fn take(&mut self, room: f64, wanted: &dyn Fn(&RecordEntry) -> bool) -> f64 {
        let mut spent = 0.0;
        for at in &self.order {
            if self.is_chosen[*at] || spent + self.costs[*at] > room || !wanted(&self.entries[*at]) {
                continue;
            }
            spent += self.costs[*at];
            self.is_chosen[*at] = true;
            self.chosen.push(*at);
        }
        spent
    }
}

/// The tokens of a statement: a shorter one has no advantage.
const STATEMENT: f64 = 32.0;
/// The weight up to which entries have no share, and that of remarks, which come last.
const LEAST_WEIGHT: f64 = 1.0;
const CLAIM_WEIGHT: f64 = 2.0;

fn heading(section: SummarySection) -> &'static str {
    match section {
        SummarySection::Intent => "## Session intent",
        SummarySection::Summary => "## Summary",
        SummarySection::Artifacts => "## Artifacts",
        SummarySection::NextSteps => "## Next steps",
    }
}

/// Returns the section of an entry.
fn section_of(entry: &RecordEntry) -> SummarySection {
    if entry.about == LAST_REQUEST { SummarySection::NextSteps } else { entry.kind.row().section }
}

/// Returns the prefix of the line that entries of one kind share; `None` if each has its own line.
fn group_prefix(entry: &RecordEntry) -> Option<String> {
    match entry.kind {
        FactKind::File if entry.about != FAILED_EDIT => Some(format!("{}: ", capitalized(&entry.about))),
        FactKind::Command if entry.text == "ok" => Some(RAN_WELL.to_owned()),
        FactKind::Done => Some(DONE.to_owned()),
        _ => None,
    }
}

/// Formats an entry for a shared line.
fn group_item(entry: &RecordEntry, style: SummaryStyle) -> String {
    match entry.kind {
        FactKind::File if !style.indexed || entry.earlier => entry.text.clone(),
        FactKind::File => format!("{} [{}]", entry.text, entry.index),
        FactKind::Command => format!("`{}`", entry.about),
        _ => entry.text.clone(),
    }
}

/// Formats an entry as a line of its own.
fn entry_line(entry: &RecordEntry, style: SummaryStyle) -> String {
    let RecordEntry { kind, about, text, .. } = entry;
    let text_without_values = match kind {
        // In a plain summary only short answers keep their question.
        FactKind::User if about.starts_with('“') && style.plain && words_of(text).nth(3).is_some() => text.clone(),
        FactKind::User if about.starts_with('“') => format!("{about} → {text}"),
        FactKind::Command | FactKind::Error if about != ERROR_GONE => format!("`{about}` → {text}"),
        FactKind::Open if about.is_empty() => format!("{OPEN_QUESTION}{text}"),
        FactKind::Report => format!("{REPORT}{text}"),
        FactKind::Todo | FactKind::File => format!("{}: {text}", capitalized(about)),
        _ if about.is_empty() => text.clone(),
        _ => format!("{about}: {text}"),
    };
    if !style.indexed || entry.earlier {
        text_without_values
    } else {
        format!("[{}] {text_without_values}", entry.index)
    }
}

fn capitalized(word: &str) -> String {
    let mut rest = word.chars();
    rest.next().map_or_else(String::new, |first| first.to_uppercase().chain(rest).collect())
}

/// Writes the sections of the chosen entries; `values` are finished lines.
fn compose(entries: &[RecordEntry], chosen: &[usize], values: &[String], style: SummaryStyle) -> String {
    let plain = style.plain;
    let mut chosen: Vec<&RecordEntry> = {
        let mut in_order = chosen.to_vec();
        in_order.sort_unstable();
        in_order.into_iter().map(|at| &entries[at]).collect()
    };
    // Entries of an earlier summary come first, then each message in order, the report and next steps last.
    chosen.sort_by_key(|entry| (kind_rank(entry.kind), !entry.earlier, entry.index));
    let mut sections = Vec::new();
    for (of, _) in SECTIONS {
        let mut lines: Vec<String> = Vec::new();
        let mut grouped: Vec<(String, Vec<String>)> = Vec::new();
        let mut last_report = None;
        for entry in chosen.iter().filter(|entry| section_of(entry) == of) {
            if let Some(group_prefix) = group_prefix(entry) {
                match grouped.iter_mut().find(|(known, _)| *known == group_prefix) {
                    Some((_, items)) => items.push(group_item(entry, style)),
                    None => grouped.push((group_prefix, vec![group_item(entry, style)])),
                }
                continue;
            }
            let mut entry_line = entry_line(entry, style);
            // Only the first line of a report has the label.
            if entry.kind == FactKind::Report && last_report.replace(entry.index) == Some(entry.index) {
                entry_line = entry_line.replacen(REPORT, "", 1);
            }
            if plain && of == SummarySection::Intent && lines.is_empty() {
                entry_line = format!("{USER}{entry_line}");
            }
            lines.push(entry_line);
        }
        lines.extend(grouped.into_iter().map(|(prefix, mut items)| {
            let of_group = |entry: &&RecordEntry| group_prefix(entry).is_some_and(|known| known == prefix);
            if entries.iter().filter(of_group).count() > items.len() {
                items.push(GAP.to_string());
            }
            format!("{prefix}{}", items.join(if prefix == DONE { "; " } else { ", " }))
        }));
        // Paths in the other lines are below it.
        if let Some(folder) = lines.iter().position(|line| line.starts_with(&capitalized(root_folder::FOLDER))) {
            lines[..=folder].rotate_right(1);
        }
        if !plain {
            lines.iter_mut().for_each(|entry_line| entry_line.insert_str(0, "- "));
        }
        if of == SummarySection::Artifacts {
            lines.extend_from_slice(values);
        }
        if !lines.is_empty() {
            sections.push(if plain { lines.join("\n") } else { format!("{}\n{}", heading(of), lines.join("\n")) });
        }
    }
    sections.join(if plain { "\n" } else { "\n\n" })
}

/// Returns the place of a kind in its section.
fn kind_rank(kind: FactKind) -> u8 {
    match kind {
        FactKind::Command | FactKind::Error => 1,
        FactKind::Report => 2,
        _ => 0,
    }
}
