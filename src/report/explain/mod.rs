//! The picture of a conversation and of its plan: one row per message, or per run of messages in a long conversation.
//!
//! It shows the decisions of the planner, and makes none. Without colours, its signs show the same.

mod legend;
mod rows;
pub(super) mod savings;
mod status;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use clap::builder::styling::{AnsiColor, Style};

use crate::compact::EarlierSummary;
use crate::plan::recorded::RecordedSize;
use crate::plan::size::Size;
use crate::plan::{CutPolicy, Plan, total};
use crate::sanitize::sanitize;
use crate::tokens::{Categories, Tally};
use crate::transcript::Transcript;
use crate::transcript::compaction::ProviderCompaction;
use crate::wording::{counted, readable_source, self_recorded};

use crate::report::brief;
use crate::report::columns::{StyledLine, fitted, fitted_end, width, wrapped};

pub(crate) use legend::categories;
pub(super) use status::MessageStatus;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const CUT: Style = AnsiColor::Red.on_default().bold();
const WANTED: Style = AnsiColor::Magenta.on_default();

/// The fewest columns in which a name is readable.
const NAME: usize = 16;

/// The contents of a picture.
pub(crate) struct Picture<'p, 'a> {
    /// The name of the conversation.
    pub(crate) source: &'p str,
    pub(crate) transcript: &'p Transcript<'a>,
    /// The sizes of its messages.
    pub(crate) tally: &'p Tally<'p, 'a>,
    pub(crate) plan: &'p Plan,
    /// The pruned messages that stay, each with the tokens that it keeps.
    pub(crate) pruned: BTreeMap<usize, u64>,
    /// The policy of the plan.
    pub(crate) policy: &'p CutPolicy,
    /// The size that it was made to fit, if it was.
    pub(crate) fit: Option<Size>,
    /// The file for removed messages.
    pub(crate) archive: Option<&'p Path>,
    /// What becomes of earlier summaries.
    pub(crate) earlier: &'p [EarlierSummary],
    /// What the plan saves and costs, in a sentence.
    pub(crate) economy: Option<String>,
}

/// A row of the picture.
pub(super) struct PictureRow {
    /// Its message, or the messages of a run.
    pub(super) messages: Range<usize>,
    /// The index of its message, or the first and the last one.
    pub(super) index: String,
    pub(super) tie: Tie,
    /// The role, where all messages have the same.
    pub(super) role: String,
    tokens: String,
    /// Tokens by status, in the order of [`MessageStatus::ALL`].
    pub(super) sizes: [u64; MessageStatus::ALL.len()],
}

/// How a row belongs together with its neighbours: a call with its results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tie {
    /// Not at all.
    Alone,
    /// The whole group is in this row.
    Inside,
    First,
    Middle,
    /// It stands between a call and its results, and is neither.
    Passed,
    Last,
}

impl Tie {
    /// The part of a bracket.
    fn sign(self) -> &'static str {
        match self {
            Tie::Alone => " ",
            Tie::Inside => "┆",
            Tie::First => "╭",
            Tie::Middle => "├",
            Tie::Passed => "│",
            Tie::Last => "╰",
        }
    }
}

/// A line before a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CutMark {
    Cut,
    /// The cut as it was wanted, where it is another.
    Wanted,
}

/// The messages with a status.
pub(super) struct StatusSum {
    pub(super) status: MessageStatus,
    pub(super) messages: usize,
    pub(super) tokens: u64,
}

/// The columns of the parts of a row.
struct PictureLayout {
    columns: usize,
    index: usize,
    tokens: usize,
    bar: usize,
    /// Tokens of the longest bar.
    longest: u64,
}

impl Picture<'_, '_> {
    /// Draws the picture in at most so many columns.
    pub(crate) fn draw(&self, columns: usize) -> String {
        let mut out = String::new();
        self.head(columns, &mut out);
        let whole = self.whole_cuts();
        let rows = self.rows(rows::MOST, &whole);
        if rows.is_empty() {
            return out;
        }
        let layout = PictureLayout::of(&rows, columns);
        out.push('\n');
        for row in &rows {
            self.lines_at(row.messages.start, &layout, &whole, &mut out);
            self.message_row(row, &layout, &mut out);
        }
        self.lines_at(self.transcript.messages.len(), &layout, &whole, &mut out);
        out.push('\n');
        self.legend(&rows, columns, &mut out);
        let spent = Categories::of(self.transcript, self.tally, self.plan.start);
        out.push('\n');
        categories(&spent, "the conversation", self.policy.context_window, columns, &mut out);
        out
    }

    /// For each index whether a cut there splits nothing.
    pub(super) fn whole_cuts(&self) -> Vec<bool> {
        self.transcript.pairing.allowed_cuts(&self.transcript.groups)
    }

    /// At most so many rows, in order.
    pub(super) fn rows(&self, most: usize, whole: &[bool]) -> Vec<PictureRow> {
        let ranges = rows::rows(self.transcript.messages.len(), self.plan, whole, most);
        ranges.into_iter().map(|range| self.row(range, whole)).collect()
    }

    /// Draws the head: the conversation, the decision and its reason.
    fn head(&self, columns: usize, out: &mut String) {
        let Picture { transcript, tally, policy, .. } = self;
        let mut first = StyledLine::default();
        let window = policy.context_window.map(|window| format!(", a window of {window}")).unwrap_or_default();
        let size = format!(
            "{}, {}, {} ({}){window}",
            transcript.format.name,
            counted(transcript.messages.len(), "message"),
            counted(total(transcript, tally, policy), "token"),
            tally.counter()
        );
        let name = readable_source(self.source);
        let beside = columns.checked_sub(width(&size) + 2).filter(|left| *left >= NAME.min(width(&name)));
        first.add(BOLD, fitted_end(&name, beside.unwrap_or(columns)));
        if beside.is_some() {
            first.plain(format!(": {size}"));
            first.end(columns, out);
        } else {
            first.end(columns, out);
            wrapped(&size, columns, out);
        }
        if let Some(size) = RecordedSize::of(transcript, tally) {
            wrapped(&self_recorded(size.record.tokens, size.beside(transcript, tally)), columns, out);
        }
        wrapped(&sanitize(&self.decision()), columns, out);
        for earlier in self.earlier {
            wrapped(&earlier.sentence(), columns, out);
        }
        if let Some(compaction) = self.compaction() {
            wrapped(&compaction, columns, out);
        }
        if let Some(economy) = &self.economy {
            wrapped(economy, columns, out);
        }
    }

    /// Describes what happens to the provider's own compactions, where there are any.
    pub(crate) fn compaction(&self) -> Option<String> {
        let Picture { transcript, plan, .. } = self;
        let mut clauses = Vec::new();
        for &index in &transcript.compactions {
            if index < plan.start || self.earlier.iter().any(|earlier| earlier.index == Some(index)) {
                continue;
            }
            let stays = index >= plan.cutoff || plan.pinned.binary_search(&index).is_ok();
            let what = match transcript.messages[index].compaction() {
                Some(ProviderCompaction::Readable(_)) if stays => "stays",
                Some(ProviderCompaction::Readable(_)) => "is an earlier summary",
                Some(ProviderCompaction::Failed) => "failed, and stays as it is",
                _ => "can only be read by its provider, and stays as it is",
            };
            clauses.push(format!("the compaction in message {index} {what}"));
        }
        if clauses.is_empty() { None } else { Some(clauses.join("; ")) }
    }

    /// Describes the decision, and why it was made.
    pub(crate) fn decision(&self) -> String {
        let Picture { plan, policy, .. } = self;
        let fired: Option<Vec<String>> =
            plan.fired.as_ref().map(|sizes| sizes.iter().map(ToString::to_string).collect());
        let fired = fired.map(|sizes| format!("--trigger {} was reached; ", sizes.join(","))).unwrap_or_default();
        let (wanted, cut, keep) = (plan.wanted, plan.cutoff, policy.keep);
        let decided = match (&plan.reason, &plan.moved_because) {
            (Some(reason), _) if wanted > 0 => format!("unchanged; --keep {keep} would cut at {wanted}: {reason}"),
            (Some(reason), _) => format!("unchanged: {reason}"),
            (None, _) if cut == 0 && !self.pruned.is_empty() => {
                let before: u64 = self.pruned.keys().map(|&index| self.tally.message(index)).sum();
                let messages = counted(self.pruned.len(), "message");
                let after: u64 = self.pruned.values().sum();
                format!("nothing is summarized; {messages} pruned from {before} to {}", counted(after, "token"))
            }
            (None, why) if self.fit.is_some() => {
                let fit = self.fit.map(|size| size.to_string()).unwrap_or_default();
                let why = why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
                format!("the cut is at {cut}, as --fit {fit} wants it{why}")
            }
            (None, Some(why)) => format!("the cut is at {cut}, and not at {wanted} as --keep {keep} wants it: {why}"),
            (None, None) => format!("the cut is at {cut}, as --keep {keep} wants it"),
        };
        format!("{fired}{decided}")
    }

    pub(super) fn status(&self, index: usize) -> MessageStatus {
        match index {
            index if index >= self.plan.cutoff && self.pruned.contains_key(&index) => MessageStatus::Pruned,
            index if index >= self.plan.cutoff => MessageStatus::Kept,
            index if self.plan.pinned.binary_search(&index).is_ok() => MessageStatus::Pinned,
            index if index < self.plan.start => MessageStatus::Removed,
            _ => MessageStatus::Summarized,
        }
    }

    fn row(&self, messages: Range<usize>, whole: &[bool]) -> PictureRow {
        let (first, last) = (messages.start, messages.end - 1);
        let mut sizes = [0; MessageStatus::ALL.len()];
        for index in messages.clone() {
            sizes[self.status(index) as usize] += self.tally.message(index);
        }
        let role = brief::role(&self.transcript.messages[first]);
        let same = self.transcript.messages[messages.clone()].iter().all(|message| brief::role(message) == role);
        PictureRow {
            index: if first == last { first.to_string() } else { format!("{first}-{last}") },
            tie: self.tie(&messages, whole),
            role: if same { role } else { String::new() },
            tokens: sizes.iter().sum::<u64>().to_string(),
            sizes,
            messages,
        }
    }

    fn tie(&self, row: &Range<usize>, whole: &[bool]) -> Tie {
        let message = &self.transcript.messages[row.start];
        let passed = row.len() == 1 && message.calls.is_empty() && message.results.is_empty();
        match (whole[row.start], whole[row.end]) {
            (true, false) => Tie::First,
            (false, false) if passed => Tie::Passed,
            (false, false) => Tie::Middle,
            (false, true) => Tie::Last,
            (true, true) if row.clone().skip(1).any(|index| !whole[index]) => Tie::Inside,
            (true, true) => Tie::Alone,
        }
    }

    /// The line before a message.
    pub(super) fn mark(&self, index: usize) -> Option<CutMark> {
        match index {
            0 => None,
            index if index == self.plan.cutoff => Some(CutMark::Cut),
            index if index == self.plan.wanted => Some(CutMark::Wanted),
            _ => None,
        }
    }

    /// The sums of each status that a message has.
    pub(super) fn sums(&self) -> Vec<StatusSum> {
        let mut sums = Vec::new();
        for status in MessageStatus::ALL {
            let all = 0..self.transcript.messages.len();
            let indices: Vec<usize> = all.filter(|&index| self.status(index) == status).collect();
            if !indices.is_empty() {
                sums.push(StatusSum { status, messages: indices.len(), tokens: self.tally.sum(&indices) });
            }
        }
        sums
    }

    fn message_row(&self, row: &PictureRow, layout: &PictureLayout, out: &mut String) {
        let mut line = StyledLine::default();
        line.add(DIM, format!("{:>1$}", row.index, layout.index));
        let pinned = row.messages.len() == 1 && self.status(row.messages.start) == MessageStatus::Pinned;
        line.add(MessageStatus::Pinned.style(), if pinned { "*" } else { " " });
        line.plain(format!("{} ", row.tie.sign()));
        line.plain(format!("{}{}", row.role, " ".repeat(brief::ROLE.saturating_sub(width(&row.role)))));
        line.plain(format!(" {:>1$} ", row.tokens, layout.tokens));
        let mut left = layout.bar;
        for (status, cells) in MessageStatus::ALL.into_iter().zip(layout.cells(&row.sizes)) {
            line.add(status.style(), status.sign().repeat(cells));
            left = left.saturating_sub(cells);
        }
        line.plain(" ".repeat(left + 1));
        let text = layout.columns.saturating_sub(layout.taken() + layout.bar + 1);
        line.add(DIM, fitted(&self.row_text(row, text), text));
        line.end(layout.columns, out);
    }

    /// The text of a row: of a message its beginning, of a run the number of each role and the called tools.
    pub(super) fn row_text(&self, row: &PictureRow, columns: usize) -> String {
        let messages = &self.transcript.messages[row.messages.clone()];
        if let [message] = messages {
            return brief::line(message, columns);
        }
        let mut text = numbers(messages.iter().map(brief::role)).join(", ");
        let pinned = row.messages.clone().filter(|&index| self.status(index) == MessageStatus::Pinned).count();
        if pinned > 0 {
            text.push_str(&format!(", {pinned} pinned"));
        }
        let tools = numbers(messages.iter().flat_map(brief::tools));
        if !tools.is_empty() {
            text.push_str(&format!(" → {}", tools.join(", ")));
        }
        text
    }

    /// Draws the lines before a message: where the cut was wanted, and where it is.
    fn lines_at(&self, index: usize, layout: &PictureLayout, whole: &[bool], out: &mut String) {
        let (label, sign, style) = match self.mark(index) {
            Some(CutMark::Cut) => (format!(" cut at {index} "), "─", CUT),
            Some(CutMark::Wanted) => (format!(" wanted at {index} "), "╌", WANTED),
            None => return,
        };
        let crossed = if whole[index] { sign } else { "┼" };
        let left = format!("{}{crossed}{}", sign.repeat(layout.index + 1), sign.repeat(2));
        let right = layout.columns.saturating_sub(width(&left) + width(&label));
        let mut line = StyledLine::default();
        line.add(style, format!("{left}{label}{}", sign.repeat(right)));
        line.end(layout.columns, out);
    }
}

/// Counts each name, in the order of its first occurrence.
fn numbers(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut counts: Vec<(String, usize)> = Vec::new();
    for name in names {
        match counts.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => counts.push((name, 1)),
        }
    }
    counts.into_iter().map(|(name, count)| if count == 1 { name } else { format!("{count} {name}") }).collect()
}

impl PictureLayout {
    fn of(rows: &[PictureRow], columns: usize) -> Self {
        const BAR: Range<usize> = 6..60;
        let longest = rows.iter().map(|row| row.sizes.iter().sum()).max().unwrap_or(0);
        let index = rows.iter().map(|row| row.index.len()).max().unwrap_or(0);
        let tokens = rows.iter().map(|row| row.tokens.len()).max().unwrap_or(0);
        let mut layout = PictureLayout { columns, index, tokens, bar: 0, longest };
        let left = columns.saturating_sub(layout.taken());
        layout.bar = (left * 2 / 5).clamp(BAR.start, BAR.end);
        layout
    }

    /// The columns before the bar: index, sign of a pin, bracket, role and tokens.
    fn taken(&self) -> usize {
        self.index + 1 + 2 + brief::ROLE + 1 + self.tokens + 1
    }

    /// The cells of a bar for each size. Every size above 0 has at least one cell, if there is room.
    fn cells(&self, sizes: &[u64; MessageStatus::ALL.len()]) -> [usize; MessageStatus::ALL.len()] {
        let mut left = self.scaled(sizes.iter().sum());
        let mut cells = [0; MessageStatus::ALL.len()];
        for (cells, tokens) in cells.iter_mut().zip(sizes) {
            *cells = self.scaled(*tokens).min(left);
            left -= *cells;
        }
        cells
    }

    /// The cells of so many tokens.
    fn scaled(&self, tokens: u64) -> usize {
        let longest = u128::from(self.longest.max(1));
        let cells = (u128::from(tokens) * self.bar as u128).div_ceil(longest);
        usize::try_from(cells).unwrap_or(self.bar)
    }
}

#[cfg(test)]
mod tests;
