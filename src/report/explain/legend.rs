//! The legend of a picture, and the bars of what fills the conversation.

use clap::builder::styling::Style;

use crate::report::columns::{StyledLine, fitted, plain_line, width, wrapped};
use crate::report::explain::status::MessageStatus;
use crate::report::explain::{DIM, NAME, Picture, PictureRow, StatusSum, Tie};
use crate::report::shares::Shares;
use crate::tokens::Categories;

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
