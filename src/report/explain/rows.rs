//! Which messages share a row of the picture. In a short conversation none do; in a long one, all except those that
//! show the plan.
//!
//! Also: what happens to a message, with the sign and the style of its bar.
//!
//! Also: the legend of a picture, and the bars of what fills the conversation.
//!
//! Also: the table of `--explain` for a batch: the conversations that save most.

use std::collections::BTreeSet;
use std::ops::Range;

use clap::builder::styling::{AnsiColor, Style};

use crate::events::Largest;
use crate::plan::Plan;
use crate::report::columns::{Shares, StyledLine, fitted, fitted_end, plain_line, width, wrapped};
use crate::report::explain::{BOLD, DIM, NAME, Picture, PictureRow, StatusSum, Tie};
use crate::tokens::Categories;
use crate::wording::counted;

/// The most rows of a picture on a terminal.
pub(super) const MOST: usize = 40;
/// Messages with their own row: at each end, on each side of the cut, on each side of the wanted cut, and of the pinned
/// ones.
const AT_END: usize = 2;
const AT_CUT: usize = 3;
const AT_WANTED: usize = 1;
const PINNED: usize = 8;

/// The rows of so many messages in order: `most` of them, which must be at least [`MOST`]. `whole` says for each index
/// whether a cut there splits nothing.
pub(super) fn rows(messages: usize, plan: &Plan, whole: &[bool], most: usize) -> Vec<Range<usize>> {
    if messages <= most {
        return (0..messages).map(single).collect();
    }
    let mut shown: BTreeSet<usize> = BTreeSet::new();
    shown.extend(0..AT_END);
    shown.extend(messages - AT_END..messages);
    for (cut, margin) in [(plan.cutoff, AT_CUT), (plan.wanted, AT_WANTED)] {
        if cut > 0 {
            shown.extend(cut.saturating_sub(margin)..(cut + margin).min(messages));
        }
    }
    shown.extend(plan.pinned.iter().take(PINNED));
    let mut stretches: Vec<Range<usize>> = Vec::new();
    let mut from = 0;
    for &index in shown.iter().chain([&messages]) {
        if from < index {
            stretches.push(from..index);
        }
        from = index + 1;
    }
    let rest = messages - shown.len();
    let spare = most.saturating_sub(shown.len() + stretches.len());
    let mut rows: Vec<Range<usize>> = shown.into_iter().map(single).collect();
    for stretch in &stretches {
        let parts = 1 + stretch.len() * spare / rest;
        rows.extend(runs(stretch, parts, whole));
    }
    rows.sort_by_key(|row| row.start);
    rows
}

fn single(index: usize) -> Range<usize> {
    index..index + 1
}

/// Divides a stretch into at most so many parts of about one length. No part ends inside a group that belongs together.
fn runs(stretch: &Range<usize>, parts: usize, whole: &[bool]) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    let mut start = stretch.start;
    let ends = (stretch.start + 1..=stretch.end).filter(|&end| end == stretch.end || whole[end]);
    for end in ends {
        if end - stretch.start >= stretch.len() * (runs.len() + 1) / parts {
            runs.push(start..end);
            start = end;
        }
    }
    runs
}

/// What happens to a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::report) enum MessageStatus {
    Pinned,
    /// It is removed, as a provider's own compaction replaces it.
    Removed,
    Summarized,
    /// It stays, but shortened.
    Pruned,
    Kept,
}

/// How a status is shown, in the legend and in a bar.
struct StatusStyle {
    sign: &'static str,
    name: &'static str,
    style: Style,
}

impl MessageStatus {
    pub(in crate::report) const ALL: [MessageStatus; 5] = [
        MessageStatus::Pinned,
        MessageStatus::Removed,
        MessageStatus::Summarized,
        MessageStatus::Pruned,
        MessageStatus::Kept,
    ];

    fn look(self) -> StatusStyle {
        let (sign, name, style) = match self {
            MessageStatus::Pinned => ("▓", "* pinned    ", AnsiColor::Cyan.on_default()),
            MessageStatus::Removed => ("·", "  removed   ", DIM),
            MessageStatus::Summarized => ("░", "  summarized", AnsiColor::Yellow.on_default()),
            MessageStatus::Pruned => ("▒", "  pruned    ", AnsiColor::Blue.on_default()),
            MessageStatus::Kept => ("█", "  kept      ", AnsiColor::Green.on_default()),
        };
        StatusStyle { sign, name, style }
    }

    /// The character of its bar.
    pub(super) fn sign(self) -> &'static str {
        self.look().sign
    }

    /// Its name with the sign of a pin, padded to one width.
    pub(super) fn name(self) -> &'static str {
        self.look().name
    }

    /// Its name in a sentence.
    pub(in crate::report) fn word(self) -> &'static str {
        self.name().trim_start_matches('*').trim()
    }

    pub(super) fn style(self) -> Style {
        self.look().style
    }
}

/// Categories with their own bar; smaller ones share one.
const MOST_CATEGORIES: usize = 14;

/// Draws what fills `all` of something, or the context window where that is known: a bar for each category.
pub(crate) fn categories(spent: &Categories, all: &str, window: Option<u64>, columns: usize, out: &mut String) {
    let total = spent.total();
    let mut rows = spent.rows();
    if rows.len() > MOST_CATEGORIES {
        let others = rows.split_off(MOST_CATEGORIES);
        rows.push(("others".to_owned(), others.iter().map(|(_, tokens)| tokens).sum()));
    }
    if let Some(window) = window {
        rows.push(("free".to_owned(), window.saturating_sub(total)));
    }
    let shares = Shares::new(total, window);
    let name = rows.iter().map(|(name, _)| width(name)).max().unwrap_or(0).min(NAME);
    let number = shares.whole.to_string().len();
    let bar = columns.saturating_sub(name + number + 9).min(40);
    let whole = if window.is_some() { "the context window" } else { all };
    wrapped(&format!("what fills {whole}:"), columns, out);
    for (category, tokens) in rows {
        let share = shares.of(tokens);
        let category = fitted(&category, name);
        let mut line = StyledLine::default();
        line.plain(format!("{category}{} ", " ".repeat(name.saturating_sub(width(&category)))));
        line.plain(format!("{tokens:>number$} {:>3.0} % ", share * 100.0));
        let style = if category == "free" { DIM } else { Style::new() };
        line.add(style, (if category == "free" { "·" } else { "█" }).repeat((share * bar as f64).ceil() as usize));
        line.end(columns, out);
    }
}

impl Picture<'_, '_> {
    /// Draws the legend: what each sign means, with its messages and tokens.
    pub(super) fn legend(&self, rows: &[PictureRow], columns: usize, out: &mut String) {
        let sums = self.sums();
        let messages_wide = sums.iter().map(|sum| sum.messages.to_string().len()).max().unwrap_or(0);
        let tokens_wide = sums.iter().map(|sum| sum.tokens.to_string().len()).max().unwrap_or(0);
        for StatusSum { status, messages, tokens } in sums {
            let mut line = StyledLine::default();
            line.add(status.style(), status.sign());
            let (name, noun) = (status.name(), if messages == 1 { "message " } else { "messages" });
            let unit = if tokens == 1 { "token" } else { "tokens" };
            let sizes = format!("  {messages:>messages_wide$} {noun}  {tokens:>tokens_wide$} {unit}");
            if width(status.sign()) + width(name) + width(&sizes) > columns {
                // Where there is no room beside the name, the numbers follow below it.
                line.plain(name);
                line.end(columns, out);
                wrapped(&format!("  {messages} {} {tokens} {unit}", noun.trim_end()), columns, out);
                continue;
            }
            line.plain(format!("{name}{sizes}"));
            if let Some(file) = self.archive
                && matches!(status, MessageStatus::Removed | MessageStatus::Summarized)
            {
                line.plain(format!(", kept in {}", fitted(&file.display().to_string(), columns)));
            }
            line.end(columns, out);
        }
        let mut brackets: Vec<&str> = Vec::new();
        if rows.iter().any(|row| matches!(row.tie, Tie::First | Tie::Middle | Tie::Last)) {
            brackets.push("╭╰ calls with their results");
        }
        if rows.iter().any(|row| row.tie == Tie::Inside) {
            brackets.push("┆ the same, in one row");
        }
        let beside = brackets.join("   ");
        if !brackets.is_empty() && width(&beside) <= columns {
            brackets = vec![&beside];
        }
        for line in brackets {
            plain_line(line, columns, out);
        }
    }
}

/// Draws the table in at most so many columns; nothing for no conversation. `is_planned` says that nothing was done
/// yet.
pub(crate) fn draw_savings(largest: &Largest, columns: usize, is_planned: bool) -> String {
    let mut out = String::new();
    if largest.conversations == 0 {
        return out;
    }
    let verb = if is_planned { "tokens to be summarized" } else { "tokens saved" };
    let mut title = StyledLine::default();
    let of = counted(largest.conversations, "conversation");
    title.add(BOLD, format!("{} {verb} in {} of {of}", largest.saved, largest.smaller));
    title.end(columns, &mut out);
    let saved = largest.rows.iter().map(|row| row.saved.to_string().len()).max().unwrap_or(0);
    let tokens = largest.rows.iter().map(|row| row.tokens.to_string().len()).max().unwrap_or(0);
    let bar = (columns / 5).min(24);
    for row in &largest.rows {
        let mut line = StyledLine::default();
        line.plain(format!("{:>saved$}", row.saved));
        line.add(DIM, format!(" of {:>tokens$}", row.tokens));
        let share = row.saved as f64 / row.tokens.max(1) as f64;
        let cells = ((share * bar as f64).round() as usize).min(bar);
        line.plain(format!("  {:>3.0}% ", share * 100.0));
        line.add(MessageStatus::Summarized.style(), MessageStatus::Summarized.sign().repeat(cells));
        line.add(MessageStatus::Kept.style(), MessageStatus::Kept.sign().repeat(bar - cells));
        let taken = saved + 4 + tokens + 7 + bar + 2;
        line.plain(format!("  {}", fitted_end(&row.source, columns.saturating_sub(taken))));
        line.end(columns, &mut out);
    }
    let others = largest.smaller - largest.rows.len() as u64;
    if others > 0 {
        let rest = largest.saved - largest.rows.iter().map(|row| row.saved).sum::<u64>();
        plain_line(format!("{rest:>saved$} in {others} more"), columns, &mut out);
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn rows_are_few_and_leave_nothing_out(
            messages in 0..5000usize, most in MOST..200usize, cut in 0.0..1.0f64, wanted in 0.0..1.0f64, pinned in prop::collection::btree_set(0..200usize, 0..30)
        ) {
            let place = |part: f64| (messages as f64 * part) as usize;
            let pinned = pinned.into_iter().filter(|&index| index < place(cut)).collect();
            let plan = Plan { cutoff: place(cut), wanted: place(wanted), pinned, ..Plan::default() };
            let whole: Vec<bool> = (0..=messages).map(|index| index % 3 == 0).collect();
            let rows = rows(messages, &plan, &whole, most);
            prop_assert!(rows.len() <= most);
            prop_assert!(rows.iter().flat_map(Clone::clone).eq(0..messages), "{rows:?}");
            prop_assert!(rows.iter().all(|row| !row.is_empty()));
            for line in [plan.cutoff, plan.wanted] {
                prop_assert!(line == messages || rows.iter().any(|row| row.start == line));
            }
        }
    }
}

#[cfg(test)]
mod savings_tests {
    use anstream::adapter::strip_str;
    use proptest::prelude::*;

    use super::*;
    use crate::events::Saving;

    fn saving(source: &str, tokens: u64, saved: u64) -> Saving {
        Saving { source: source.to_owned(), messages: 9, tokens, saved }
    }

    fn largest(savings: &[Saving]) -> Largest {
        let mut largest = Largest::default();
        savings.iter().for_each(|saving| largest.add(saving));
        largest
    }

    #[test]
    fn the_largest_come_first() {
        assert_eq!(draw_savings(&Largest::default(), 80, true), "");
        let mut savings: Vec<Saving> = (1..=12).map(|at| saving(&format!("{at}.json"), 1000, at * 10)).collect();
        savings.push(saving("logs/of/a/long/path/with/日本語/session.jsonl:7", 20_000, 18_000));
        savings.push(saving("unchanged.json", 300, 0));
        let table = draw_savings(&largest(&savings), 60, false);
        assert_eq!(
            strip_str(&table).to_string(),
            "\
18780 tokens saved in 13 of 14 conversations
18000 of 20000   90% ░░░░░░░░░░░█  …h/日本語/session.jsonl:7
  120 of  1000   12% ░███████████  12.json
  110 of  1000   11% ░███████████  11.json
  100 of  1000   10% ░███████████  10.json
   90 of  1000    9% ░███████████  9.json
   80 of  1000    8% ░███████████  8.json
   70 of  1000    7% ░███████████  7.json
   60 of  1000    6% ░███████████  6.json
   50 of  1000    5% ░███████████  5.json
   40 of  1000    4% ████████████  4.json
   60 in 3 more
"
        );
        let nothing = draw_savings(&largest(&[saving("unchanged.json", 300, 0)]), 60, true);
        assert_eq!(strip_str(&nothing).to_string(), "0 tokens to be summarized in 0 of 1 conversation\n");
    }

    #[test]
    fn joined_they_are_as_if_added_one_by_one() {
        let savings: Vec<Saving> = (0..40).map(|at| saving(&format!("{at}.json"), 1000, at * 7 % 30)).collect();
        let mut joined = largest(&savings[..15]);
        joined.join(&largest(&savings[15..]));
        assert_eq!(joined, largest(&savings));
    }

    #[test]
    fn the_order_of_equals_is_not_that_in_which_they_were_done() {
        let (a, b) = (saving("a", 9, 5), saving("b", 9, 5));
        assert_eq!(largest(&[a.clone(), b.clone()]), largest(&[b, a]));
    }

    proptest! {
        #[test]
        fn no_line_is_wider_than_the_terminal(source in "\\PC*", tokens in 0..u64::MAX, columns in 1..200usize) {
            let table = strip_str(&draw_savings(&largest(&[saving(&source, tokens, tokens / 2)]), columns, true)).to_string();
            prop_assert!(table.lines().all(|line| crate::report::columns::width(line) <= columns), "{table}");
        }
    }
}
