//! Text in the columns of a terminal: its width, and lines that never exceed the width of the terminal.
//!
//! This module does not know the terminal or its colours.
//!
//! Also the tables of `list`, drawn from the registries.

use clap::builder::styling::Style;
use unicode_width::UnicodeWidthChar;

use crate::cli::Table;
use crate::llm::providers::{PROVIDERS, Provider};
use crate::presets::PRESETS;
use crate::prune::{KINDS, RuleKind};
use crate::redact;
use crate::redact::cut_before;
use crate::sanitize::is_control;
use crate::tokens::COUNTERS;
use crate::tokens::models::{self, Model, PRICES_OF};
use crate::transcript::formats::FORMATS;

/// The sign in the place of the rest of a cut text.
const MORE: char = '…';
/// The bytes behind a cut that show whether it is inside a mask.
const LOOK_AHEAD: usize = 48;

/// The most columns that a text takes. Terminals draw some groups of characters in fewer.
pub(super) fn width(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

/// A text on one line of at most so many columns, without control characters. Reads no more of the text than fits.
pub(super) fn fitted(text: &str, columns: usize) -> String {
    let mut line = String::new();
    let mut left = columns;
    let mut blank = false;
    for (at, c) in text.char_indices() {
        if c.is_whitespace() {
            blank = !line.is_empty();
            continue;
        }
        if is_control(c) {
            continue;
        }
        let wanted = c.width().unwrap_or(0) + usize::from(blank);
        if wanted > left {
            // What follows shows whether the cut is inside a mask.
            let end = text.floor_char_boundary(at + LOOK_AHEAD);
            let space = if blank { " " } else { "" };
            return cut(&format!("{line}{space}{}", &text[at..end]), columns);
        }
        if blank {
            line.push(' ');
        }
        line.push(c);
        left -= wanted;
        blank = false;
    }
    line
}

/// Cuts a line, with a sign at its end.
fn cut(line: &str, columns: usize) -> String {
    if columns == 0 {
        return String::new();
    }
    let shown = &line[..cut_before(line, within(line, columns - 1).len())];
    format!("{}{MORE}", shown.trim_end())
}

/// The longest beginning of a text in at most so many columns.
fn within(text: &str, columns: usize) -> &str {
    let mut taken = 0;
    for (at, c) in text.char_indices() {
        taken += c.width().unwrap_or(0);
        if taken > columns {
            return &text[..at];
        }
    }
    text
}

/// The end of a text on one line of at most so many columns.
pub(super) fn fitted_end(text: &str, columns: usize) -> String {
    let backwards: String = fitted(text, usize::MAX).chars().rev().collect();
    fitted(&backwards, columns).chars().rev().collect()
}

/// A line of pieces, each with its style.
#[derive(Debug, Default)]
pub(super) struct StyledLine(Vec<(Style, String)>);

impl StyledLine {
    /// Adds a piece with a style.
    pub(super) fn add(&mut self, style: Style, text: impl Into<String>) {
        self.0.push((style, text.into()));
    }

    pub(super) fn plain(&mut self, text: impl Into<String>) {
        self.add(Style::new(), text);
    }

    /// Appends the line to `out`, in at most so many columns.
    pub(super) fn end(mut self, columns: usize, out: &mut String) {
        while self.0.pop_if(|(_, text)| text.trim_end().is_empty()).is_some() {}
        let last = self.0.len().saturating_sub(1);
        let mut left = columns;
        for (at, (style, text)) in self.0.iter().enumerate() {
            let text = if at == last { text.trim_end() } else { text };
            let shown = within(text, left);
            left -= width(shown);
            out.push_str(&format!("{style}{shown}{style:#}"));
            if shown.len() < text.len() {
                break;
            }
        }
        out.push('\n');
    }
}

pub(super) fn plain_line(text: impl Into<String>, columns: usize, out: &mut String) {
    StyledLine(vec![(Style::new(), text.into())]).end(columns, out);
}

/// Wraps words into lines of at most so many columns, all but the first indented.
pub(super) fn wrapped(text: &str, columns: usize, out: &mut String) {
    const INDENT: &str = "  ";
    let mut line = String::new();
    for word in text.split_whitespace() {
        let begins = line.trim_end().is_empty();
        if !begins && width(&line) + 1 + width(word) > columns {
            plain_line(std::mem::replace(&mut line, INDENT.to_owned()), columns, out);
        } else if !begins {
            line.push(' ');
        }
        line.push_str(word);
    }
    plain_line(line, columns, out);
}

/// Draws a table as lines of columns. The first line has their names.
pub(crate) fn list_table(table: Table) -> String {
    match table {
        Table::Formats => {
            table_of(["format", "what it is"], FORMATS.iter().map(|format| cells([format.name, format.about])))
        }
        Table::Presets => {
            table_of(["preset", "whose rules"], PRESETS.iter().map(|preset| cells([preset.name, preset.about])))
        }
        Table::Providers => table_of(["provider", "key variable", "address"], PROVIDERS.iter().map(provider_cells)),
        Table::Models => {
            let write = format!("cache write (prices of {PRICES_OF})");
            let columns = ["model", "context window", "output", "counter", "$/M in", "$/M out", "cached", &write];
            table_of(columns, models::all().map(model_cells))
        }
        Table::Counters => {
            table_of(["counter", "what it counts"], COUNTERS.iter().map(|(name, about)| cells([name, about])))
        }
        Table::Prune => {
            let all = cells(["all", "all of these with their defaults; `none` turns pruning off"]);
            table_of(["rule", "what goes"], KINDS.iter().map(|kind| rule_cells(kind)).chain([all]))
        }
        Table::Secrets => {
            let rows = redact::secrets().into_iter().map(|(kind, about)| cells([kind, &about]));
            table_of(["secret", "how it is recognized"], rows)
        }
    }
}

fn cells<const N: usize>(cells: [&str; N]) -> [String; N] {
    cells.map(str::to_owned)
}

fn provider_cells(provider: &Provider) -> [String; 3] {
    cells([provider.name, &provider.key_variables.join(" or "), provider.base_url])
}

fn rule_cells(kind: &RuleKind) -> [String; 2] {
    let name = if kind.takes.is_empty() { kind.name.to_owned() } else { format!("{}[:{}]", kind.name, kind.takes) };
    [name, kind.about.to_owned()]
}

fn model_cells(model: Model) -> [String; 8] {
    [
        format!("{}:{}", model.provider, model.name),
        model.context_window.to_string(),
        number_or_dash(model.max_output),
        model.counter().to_string(),
        number_or_dash(model.input_price),
        number_or_dash(model.output_price),
        number_or_dash(model.cached_price),
        number_or_dash(model.cache_write_price),
    ]
}

fn number_or_dash(number: Option<impl ToString>) -> String {
    match number {
        Some(number) => number.to_string(),
        None => "-".to_owned(),
    }
}

/// Draws rows below the names of their columns, aligned to the widest cells, two spaces apart.
fn table_of<const N: usize>(columns: [&str; N], rows: impl Iterator<Item = [String; N]>) -> String {
    let mut table = vec![cells(columns)];
    table.extend(rows);
    let mut widths = [0; N];
    for row in &table {
        for (cell, width) in row.iter().zip(&mut widths) {
            *width = cell.chars().count().max(*width);
        }
    }
    let mut out = String::new();
    for row in &table {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(widths) {
            line.push_str(&format!("{cell:<width$}  "));
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_takes_no_more_than_it_may() {
        assert_eq!(fitted("  one\n\t two ", 7), "one two");
        assert_eq!(fitted("one two", 6), "one t…");
        assert_eq!(fitted("one two", 5), "one…");
        assert_eq!(fitted("日本語", 6), "日本語");
        assert_eq!(fitted("日本語", 5), "日本…");
        assert_eq!(fitted("日本語", 4), "日…");
        assert_eq!(fitted("😀😀", 1), "…");
        assert_eq!(fitted("any", 0), "");
        assert_eq!(fitted_end("/a/long/path.json", 10), "…path.json");
    }

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(fitted("a\u{1b}[31mb\u{202e}c\u{7}\u{9b}d\u{200d}", 20), "a[31mbcd");
        assert_eq!(fitted("e\u{301}", 1), "e\u{301}", "an accent belongs to its letter");
    }

    #[test]
    fn lines_end_where_the_terminal_does() {
        let mut out = String::new();
        let mut line = StyledLine::default();
        line.plain("one 日");
        line.plain("本");
        line.end(7, &mut out);
        wrapped("a few words that are many", 10, &mut out);
        wrapped("incomprehensibilities", 10, &mut out);
        assert_eq!(out, "one 日\na few\n  words\n  that are\n  many\nincomprehe\n");
    }
}
