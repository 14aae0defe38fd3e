//! The picture of a conversation and of what is to be done with it: a row a message, or a run of them in a long one.
//!
//! It is drawn of what the planner decided, and decides nothing. Whoever has no colours can tell all of it by the signs.

mod rows;
pub(super) mod savings;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use clap::builder::styling::{AnsiColor, Style};

use crate::plan::{Plan, Policy, total};
use crate::sanitize::sanitize;
use crate::tokens::{Categories, Tally};
use crate::transcript::compaction::Compaction;
use crate::transcript::{Message, Transcript};
use crate::wording::{counted, readable_source};

use crate::report::brief;
use crate::report::columns::{Line, fitted, fitted_end, width, wrapped};
use crate::report::shares::Shares;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const CUT: Style = AnsiColor::Red.on_default().bold();
const WANTED: Style = AnsiColor::Magenta.on_default();

/// Columns that a name has beside other text, at least; in fewer nobody would know it.
const NAME: usize = 16;
/// Categories that have a bar of their own.
const MOST_CATEGORIES: usize = 14;

/// What becomes of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MessageStatus {
    Pinned,
    /// A provider's own compaction stands for it, and it goes.
    Removed,
    Summarized,
    /// It stays, shortened.
    Pruned,
    Kept,
}

impl MessageStatus {
    pub(super) const ALL: [MessageStatus; 5] = [
        MessageStatus::Pinned,
        MessageStatus::Removed,
        MessageStatus::Summarized,
        MessageStatus::Pruned,
        MessageStatus::Kept,
    ];

    /// What a bar is drawn with.
    fn sign(self) -> &'static str {
        match self {
            MessageStatus::Pinned => "▓",
            MessageStatus::Removed => "·",
            MessageStatus::Summarized => "░",
            MessageStatus::Pruned => "▒",
            MessageStatus::Kept => "█",
        }
    }

    /// What it is called, the sign of a pin included; all take the same columns.
    fn name(self) -> &'static str {
        match self {
            MessageStatus::Pinned => "* pinned    ",
            MessageStatus::Removed => "  removed   ",
            MessageStatus::Summarized => "  summarized",
            MessageStatus::Pruned => "  pruned    ",
            MessageStatus::Kept => "  kept      ",
        }
    }

    /// What it is called in a sentence.
    pub(super) fn word(self) -> &'static str {
        self.name().trim_start_matches('*').trim()
    }

    fn style(self) -> Style {
        match self {
            MessageStatus::Pinned => AnsiColor::Cyan.on_default(),
            MessageStatus::Removed => DIM,
            MessageStatus::Summarized => AnsiColor::Yellow.on_default(),
            MessageStatus::Pruned => AnsiColor::Blue.on_default(),
            MessageStatus::Kept => AnsiColor::Green.on_default(),
        }
    }
}

/// What a picture is drawn of.
pub(crate) struct Picture<'p, 'a> {
    /// The name of the conversation.
    pub(crate) source: &'p str,
    /// The conversation.
    pub(crate) transcript: &'p Transcript<'a>,
    /// Its sizes.
    pub(crate) tally: &'p Tally<'p, 'a>,
    /// What is to be done with it.
    pub(crate) plan: &'p Plan,
    /// The messages that stay and are shortened, with the tokens that they keep.
    pub(crate) pruned: BTreeMap<usize, u64>,
    /// The rules it was decided by.
    pub(crate) policy: &'p Policy,
    /// Where what is cut away goes.
    pub(crate) archive: Option<&'p Path>,
    /// What that saves and costs, in a sentence.
    pub(crate) economy: Option<String>,
}

/// What a row shows.
pub(super) struct Row {
    /// The message, or those of a run.
    pub(super) messages: Range<usize>,
    /// The index, or the first and the last.
    pub(super) index: String,
    bracket: &'static str,
    /// Who speaks, where it is the same in all of them.
    pub(super) role: String,
    tokens: String,
    /// Tokens by what becomes of them, in the order of [`MessageStatus::ALL`].
    pub(super) sizes: [u64; MessageStatus::ALL.len()],
}

/// Columns that the parts of a row take.
struct Layout {
    columns: usize,
    index: usize,
    tokens: usize,
    bar: usize,
    /// Tokens of the longest bar.
    longest: u64,
}

impl Picture<'_, '_> {
    /// The picture in so many columns at most.
    pub(crate) fn draw(&self, columns: usize) -> String {
        let mut out = String::new();
        self.head(columns, &mut out);
        let whole = self.whole_cuts();
        let rows = self.rows(rows::MOST, &whole);
        if rows.is_empty() {
            return out;
        }
        let layout = Layout::of(&rows, columns);
        out.push('\n');
        for row in &rows {
            self.lines_at(row.messages.start, &layout, &whole, &mut out);
            self.message_row(row, &layout, &mut out);
        }
        self.lines_at(self.transcript.messages.len(), &layout, &whole, &mut out);
        out.push('\n');
        self.legend(&rows, columns, &mut out);
        self.categories(columns, &mut out);
        out
    }

    /// For each index whether a cut there parts nothing.
    pub(super) fn whole_cuts(&self) -> Vec<bool> {
        self.transcript.pairing.allowed_cuts(&self.transcript.groups)
    }

    /// So many rows at most, in order.
    pub(super) fn rows(&self, most: usize, whole: &[bool]) -> Vec<Row> {
        let ranges = rows::rows(self.transcript.messages.len(), self.plan, whole, most);
        ranges.into_iter().map(|range| self.row(range, whole)).collect()
    }

    /// What the conversation is, and what was decided and why.
    fn head(&self, columns: usize, out: &mut String) {
        let Picture { transcript, tally, plan, policy, .. } = self;
        let mut first = Line::default();
        let window = policy.context_window.map(|window| format!(", a window of {window}")).unwrap_or_default();
        let size = format!(
            "{}, {}, {} tokens ({}){window}",
            transcript.format.name(),
            counted(transcript.messages.len(), "message"),
            total(transcript, tally, policy),
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
        wrapped(&sanitize(&self.decision()), columns, out);
        if let Some(carried) = plan.carried {
            let text = format!("the earlier summary, message {carried}, is carried on by the new one");
            wrapped(&text, columns, out);
        }
        if let Some(compaction) = self.compaction() {
            wrapped(&compaction, columns, out);
        }
        if let Some(economy) = &self.economy {
            wrapped(economy, columns, out);
        }
    }

    /// What becomes of the provider's own compactions, where there are any.
    pub(crate) fn compaction(&self) -> Option<String> {
        let Picture { transcript, plan, .. } = self;
        let stays = |index: &usize| *index >= plan.cutoff || plan.pinned.binary_search(index).is_ok();
        let told = transcript.compactions.iter().filter(|&&index| index >= plan.start).map(|index| {
            let message = &transcript.messages[*index];
            let what = match message.compaction() {
                Some(Compaction::Readable(_)) if stays(index) => "stays",
                Some(Compaction::Readable(_)) => "is an earlier summary, and goes on in the new one",
                Some(Compaction::Failed) => "failed, and stays as it is",
                _ => "can only be read by its provider, and stays as it is",
            };
            format!("the compaction in message {index} {what}")
        });
        let told: Vec<String> = told.collect();
        (!told.is_empty()).then(|| told.join("; "))
    }

    /// What was decided, and why.
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
                format!("nothing is summarized; {messages} pruned from {before} to {after} tokens")
            }
            (None, Some(why)) => format!("the cut is at {cut}, and not at {wanted} as --keep {keep} wants it: {why}"),
            (None, None) => format!("the cut is at {cut}, as --keep {keep} wants it"),
        };
        format!("{fired}{decided}")
    }

    /// What becomes of a message.
    pub(super) fn fate(&self, index: usize) -> MessageStatus {
        match index {
            index if index >= self.plan.cutoff && self.pruned.contains_key(&index) => MessageStatus::Pruned,
            index if index >= self.plan.cutoff => MessageStatus::Kept,
            index if self.plan.pinned.binary_search(&index).is_ok() => MessageStatus::Pinned,
            index if index < self.plan.start => MessageStatus::Removed,
            _ => MessageStatus::Summarized,
        }
    }

    fn row(&self, messages: Range<usize>, whole: &[bool]) -> Row {
        let (first, last) = (messages.start, messages.end - 1);
        let mut sizes = [0; MessageStatus::ALL.len()];
        for index in messages.clone() {
            sizes[self.fate(index) as usize] += self.tally.message(index);
        }
        let role = brief::role(&self.transcript.messages[first]);
        let is_same = |message: &Message<'_>| brief::role(message) == role;
        let same = self.transcript.messages[messages.clone()].iter().all(is_same);
        Row {
            index: if first == last { first.to_string() } else { format!("{first}-{last}") },
            bracket: self.bracket(&messages, whole),
            role: if same { role } else { String::new() },
            tokens: sizes.iter().sum::<u64>().to_string(),
            sizes,
            messages,
        }
    }

    /// The part of a bracket around messages that belong together.
    fn bracket(&self, row: &Range<usize>, whole: &[bool]) -> &'static str {
        let message = &self.transcript.messages[row.start];
        let passed = row.len() == 1 && message.calls.is_empty() && message.answers.is_empty();
        match (whole[row.start], whole[row.end]) {
            (true, false) => "╭",
            (false, false) if passed => "│",
            (false, false) => "├",
            (false, true) => "╰",
            (true, true) if row.clone().skip(1).any(|index| !whole[index]) => "┆",
            (true, true) => " ",
        }
    }

    fn message_row(&self, row: &Row, layout: &Layout, out: &mut String) {
        let mut line = Line::default();
        line.add(DIM, format!("{:>1$}", row.index, layout.index));
        let pinned = row.messages.len() == 1 && self.fate(row.messages.start) == MessageStatus::Pinned;
        line.add(MessageStatus::Pinned.style(), if pinned { "*" } else { " " });
        line.plain(format!("{} ", row.bracket));
        line.plain(format!("{}{}", row.role, " ".repeat(brief::ROLE.saturating_sub(width(&row.role)))));
        line.plain(format!(" {:>1$} ", row.tokens, layout.tokens));
        let mut left = layout.bar;
        for (fate, cells) in MessageStatus::ALL.into_iter().zip(layout.cells(&row.sizes)) {
            line.add(fate.style(), fate.sign().repeat(cells));
            left = left.saturating_sub(cells);
        }
        line.plain(" ".repeat(left + 1));
        let text = layout.columns.saturating_sub(layout.taken() + layout.bar + 1);
        line.add(DIM, fitted(&self.said(row, text), text));
        line.end(layout.columns, out);
    }

    /// What the message says or, of a run, how many there are of each role and which tools they call.
    pub(super) fn said(&self, row: &Row, columns: usize) -> String {
        let messages = &self.transcript.messages[row.messages.clone()];
        if let [message] = messages {
            return brief::line(message, columns);
        }
        let mut said = numbers(messages.iter().map(brief::role)).join(", ");
        let pinned = row.messages.clone().filter(|&index| self.fate(index) == MessageStatus::Pinned).count();
        if pinned > 0 {
            said.push_str(&format!(", {pinned} pinned"));
        }
        let tools = numbers(messages.iter().flat_map(brief::tools));
        if !tools.is_empty() {
            said.push_str(&format!(" → {}", tools.join(", ")));
        }
        said
    }

    /// The lines that stand before a message: where a cut was wanted, and where it is.
    fn lines_at(&self, index: usize, layout: &Layout, whole: &[bool], out: &mut String) {
        let Plan { wanted, cutoff, .. } = *self.plan;
        let (label, sign, style) = match index {
            0 => return,
            index if index == cutoff => (format!(" cut at {cutoff} "), "─", CUT),
            index if index == wanted => (format!(" wanted at {wanted} "), "╌", WANTED),
            _ => return,
        };
        let crossed = if whole[index] { sign } else { "┼" };
        let left = format!("{}{crossed}{}", sign.repeat(layout.index + 1), sign.repeat(2));
        let right = layout.columns.saturating_sub(width(&left) + width(&label));
        let mut line = Line::default();
        line.add(style, format!("{left}{label}{}", sign.repeat(right)));
        line.end(layout.columns, out);
    }

    /// What fills the conversation, or the context window where that is known: a bar for each category.
    fn categories(&self, columns: usize, out: &mut String) {
        let spent = Categories::of(self.transcript, self.tally, self.plan.start);
        let total = spent.total();
        let window = self.policy.context_window;
        let free = window.map(|window| ("free".to_owned(), window.saturating_sub(total)));
        let rows = spent.rows();
        let (shown, others) = rows.split_at(rows.len().min(MOST_CATEGORIES));
        let rest = (!others.is_empty()).then(|| ("others".to_owned(), others.iter().map(|(_, tokens)| tokens).sum()));
        let rows: Vec<(String, u64)> = shown.iter().cloned().chain(rest).chain(free).collect();
        let shares = Shares::new(total, window);
        let name = rows.iter().map(|(name, _)| width(name)).max().unwrap_or(0).min(NAME);
        let number = shares.whole.to_string().len();
        let bar = columns.saturating_sub(name + number + 9).min(40);
        out.push('\n');
        wrapped(
            if window.is_some() { "what fills the context window:" } else { "what fills the conversation:" },
            columns,
            out,
        );
        for (category, tokens) in rows {
            let share = shares.of(tokens);
            let category = fitted(&category, name);
            let mut line = Line::default();
            line.plain(format!("{category}{} ", " ".repeat(name.saturating_sub(width(&category)))));
            line.plain(format!("{tokens:>number$} {:>3.0} % ", share * 100.0));
            let style = if category == "free" { DIM } else { Style::new() };
            line.add(style, (if category == "free" { "·" } else { "█" }).repeat((share * bar as f64).ceil() as usize));
            line.end(columns, out);
        }
    }

    /// What the signs mean that are there, and how much there is of each.
    fn legend(&self, rows: &[Row], columns: usize, out: &mut String) {
        let all = 0..self.transcript.messages.len();
        let parts =
            MessageStatus::ALL.map(|fate| all.clone().filter(|&index| self.fate(index) == fate).collect::<Vec<_>>());
        let tokens = parts.each_ref().map(|indices| self.tally.sum(indices).to_string());
        let messages = parts.each_ref().map(|indices| indices.len().to_string());
        let [messages_wide, tokens_wide] =
            [&messages, &tokens].map(|numbers| numbers.iter().map(String::len).max().unwrap_or(0));
        for (at, fate) in MessageStatus::ALL.into_iter().enumerate().filter(|(at, _)| !parts[*at].is_empty()) {
            let mut line = Line::default();
            line.add(fate.style(), fate.sign());
            let noun = if parts[at].len() == 1 { "message " } else { "messages" };
            let (name, messages, tokens) = (fate.name(), &messages[at], &tokens[at]);
            let sizes = format!("  {messages:>messages_wide$} {noun}  {tokens:>tokens_wide$} tokens");
            if width(fate.sign()) + width(name) + width(&sizes) > columns {
                // The numbers are what matters: they stand below where there is no room beside the name.
                line.plain(name);
                line.end(columns, out);
                wrapped(&format!("  {messages} {} {tokens} tokens", noun.trim_end()), columns, out);
                continue;
            }
            line.plain(format!("{name}{sizes}"));
            if let Some(file) =
                self.archive.filter(|_| matches!(fate, MessageStatus::Removed | MessageStatus::Summarized))
            {
                line.plain(format!(", kept in {}", fitted(&file.display().to_string(), columns)));
            }
            line.end(columns, out);
        }
        let has = |signs: &[&str]| rows.iter().any(|row| signs.contains(&row.bracket));
        let brackets =
            [(has(&["╭", "├", "╰"]), "╭╰ calls with their results"), (has(&["┆"]), "┆ the same, in one row")];
        let brackets: Vec<&str> = brackets.into_iter().filter_map(|(there, what)| there.then_some(what)).collect();
        let beside = brackets.join("   ");
        let lines = if width(&beside) <= columns { vec![beside.as_str()] } else { brackets };
        for text in lines.into_iter().filter(|line| !line.is_empty()) {
            let mut line = Line::default();
            line.plain(text);
            line.end(columns, out);
        }
    }
}

/// Each name with how often it is there, in the order in which they come.
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

impl Layout {
    fn of(rows: &[Row], columns: usize) -> Self {
        const BAR: Range<usize> = 6..60;
        let widest = |cell: fn(&Row) -> usize| rows.iter().map(cell).max().unwrap_or(0);
        let longest = rows.iter().map(|row| row.sizes.iter().sum()).max().unwrap_or(0);
        let (index, tokens) = (widest(|row| row.index.len()), widest(|row| row.tokens.len()));
        let mut layout = Layout { columns, index, tokens, bar: 0, longest };
        let left = columns.saturating_sub(layout.taken());
        layout.bar = (left * 2 / 5).clamp(BAR.start, BAR.end);
        layout
    }

    /// Columns before the bar: the index, the sign of a pin, the bracket, the role and the tokens.
    fn taken(&self) -> usize {
        self.index + 1 + 2 + brief::ROLE + 1 + self.tokens + 1
    }

    /// How many cells of a bar each of some sizes has. What is there has a cell at least, if there is room.
    fn cells(&self, sizes: &[u64; MessageStatus::ALL.len()]) -> [usize; MessageStatus::ALL.len()] {
        let longest = u128::from(self.longest.max(1));
        let scaled = |tokens: u64| {
            let cells = (u128::from(tokens) * self.bar as u128).div_ceil(longest);
            usize::try_from(cells).unwrap_or(self.bar)
        };
        let mut left = scaled(sizes.iter().sum());
        sizes.map(|tokens| {
            let cells = scaled(tokens).min(left);
            left -= cells;
            cells
        })
    }
}

#[cfg(test)]
mod tests;
