//! Finds secrets in tables: in the column below their name, or beside it. Markdown, psql, boxes, CSV, columns that spaces
//! align.

use crate::redact::SecretSpan;
use crate::redact::names;
use crate::redact::values::{SecretCandidate, ValuePlace};

/// The most bytes of a row.
const LONGEST_ROW: usize = 4096;
/// What separates cells, the surest first.
const SEPARATORS: [&str; 6] = ["|", "│", "\t", "  ", ";", ","];

/// Whether a name can be that of a cell, by what is around it.
pub(super) fn is_cell(before: &str, behind: &str) -> bool {
    let rest = behind.trim_start_matches(['"', '\'', '`', '*', ':', ' ']);
    let ends = rest.is_empty() || rest.starts_with(['|', '│', '\t', '\n', '\r']) || behind.starts_with("  ");
    // Nearly all commas are followed by a space, except in such tables.
    let is_csv = rest.starts_with([';', ',']) && !rest[1..].starts_with([' ', '\n']);
    (ends || is_csv) && (before.is_empty() || before.ends_with([' ', '\n', '\t', '|', '│', ',', ';', '"', '`', '*']))
}

/// Returns the cells of a row, without what is around their content.
fn cells<'t>(row: &'t str, separator: &str) -> Vec<&'t str> {
    let is_box = matches!(separator, "|" | "│");
    let row = if is_box { row.trim() } else { row.trim_end() };
    let row = if is_box { row.strip_prefix(separator).unwrap_or(row) } else { row };
    let row = if is_box { row.strip_suffix(separator).unwrap_or(row) } else { row };
    let is_around = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '*');
    let mut in_quotes = false;
    let mut ends = |c: char| {
        in_quotes ^= c == '"' && matches!(separator, ";" | ",");
        !in_quotes && separator.starts_with(c)
    };
    let all: Vec<&str> =
        if separator.len() == 1 { row.split(&mut ends).collect() } else { row.split(separator).collect() };
    let all = all.into_iter().map(|cell| cell.trim_matches(is_around));
    all.filter(|cell| separator != "  " || !cell.is_empty()).collect()
}

/// Whether a line only separates rows.
fn is_rule(line: &str) -> bool {
    line.contains(['-', '─', '=']) && line.chars().all(|c| " \t\r-+|:=─│┼├┤".contains(c))
}

/// Whether a cell can be the name of a column in a table without rules.
fn is_word(cell: &&str) -> bool {
    cell.len() < 40
        && cell.starts_with(char::is_alphabetic)
        && cell.chars().all(|c| c.is_alphanumeric() || "_ .-".contains(c))
}

/// Finds the secrets that the names in a row tell, in which one is at an offset. Returns where the row ends.
pub(super) fn find(text: &str, name: usize, found: &mut Vec<SecretSpan>) -> usize {
    let before = &text[text.ceil_char_boundary(name.saturating_sub(LONGEST_ROW))..name];
    let start = name - before.len() + before.rfind('\n').map_or(0, |end| end + 1);
    let mut lines = text[start..].split('\n');
    let row = lines.next().unwrap_or_default();
    let separator = SEPARATORS.into_iter().find(|separator| row.trim().contains(separator));
    let Some(separator) = separator.filter(|_| row.len() <= LONGEST_ROW) else { return start + row.len() };
    let header = cells(row, separator);
    let place = |cell: &str| cell.as_ptr() as usize - text.as_ptr() as usize;
    let secret = |label: &str, value: &str| {
        let label = label.trim_end_matches(':');
        let class = names::classify(label).filter(|_| label.split_whitespace().count() <= 3)?;
        let candidate = SecretCandidate { class, name: label, value, place: ValuePlace::Anywhere };
        let is_one = !value.contains(|c: char| c.is_whitespace() || "\"'\\".contains(c)) && candidate.is_secret();
        let range = place(value)..place(value) + value.len();
        is_one.then(|| SecretSpan { range, kind: names::kind(class, label) })
    };
    let is_title = || separator == "  " && !row.contains(|c: char| c.is_lowercase());
    let is_loose = matches!(separator, ";" | "," | "\t") || is_title();
    let is_like = |line: &str| cells(line, separator).len() == header.len();
    let below = lines.clone().next().unwrap_or_default();
    let begins = || header.iter().all(is_word) && !text[..start].lines().next_back().is_some_and(is_like);
    if is_loose && header.len() > 1 && begins() && is_like(below) || !is_loose && is_rule(below) {
        let is_secret = |column: &usize| names::classify(header[*column]).is_some();
        let columns: Vec<usize> = (0..header.len()).filter(is_secret).collect();
        let rows = lines.filter(|line| !is_rule(line)).map(|line| cells(line, separator));
        for row in rows.take_while(|row| row.len() == header.len()) {
            found.extend(columns.iter().filter_map(|column| secret(header[*column], row[*column])));
        }
    } else if let [label, value, ..] = *header
        && !matches!(separator, ";" | ",")
    {
        // The name of a row, with its value in the next cell.
        found.extend(secret(label, value));
    }
    start + row.len()
}
