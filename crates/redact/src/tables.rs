//! Finds secrets in tables: in the column below their name, or beside it. Markdown, psql, boxes, CSV, columns that spaces
//! align, and the rows that a statement of SQL inserts.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::pattern::pattern;
use crate::values::{SecretCandidate, ValuePlace};
use crate::{SecretSpan, names};

/// The most bytes of a row.
const LONGEST_ROW: usize = 4096;
/// What separates cells, the surest first.
const SEPARATORS: [&str; 6] = ["|", "│", "\t", "  ", ";", ","];

/// The columns of a statement that inserts rows.
static INSERTED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r#"(?i-u:\binsert\s+(?:ignore\s+)?into\s+)(?-u:[\w.`"\[\]])+(?-u:\s*)\(([^()]+)\)(?i-u:\s*values\s*)"#)
});

/// Whether a name can be that of a cell, by what is around it.
pub(super) fn is_cell(before: &str, behind: &str) -> bool {
    let rest = behind.trim_start_matches(['"', '\'', '`', '*', ':', ' ']);
    let ends = rest.is_empty() || rest.starts_with(['|', '│', '\t', '\n', '\r']) || behind.starts_with("  ");
    // Nearly all commas are followed by a space, except in such tables.
    let is_csv = rest.starts_with([';', ',']) && !rest[1..].starts_with([' ', '\n']);
    (ends || is_csv) && (before.is_empty() || before.ends_with([' ', '\n', '\t', '|', '│', ',', ';', '"', '`', '*']))
}

/// The cells of a row, without what is around their content.
fn cells<'t>(row: &'t str, separator: &str) -> Vec<&'t str> {
    let is_box = matches!(separator, "|" | "│");
    let row = if is_box { row.trim() } else { row.trim_end() };
    let row = if is_box { row.strip_prefix(separator).unwrap_or(row) } else { row };
    let row = if is_box { row.strip_suffix(separator).unwrap_or(row) } else { row };
    let mut in_quotes = false;
    let mut ends = |c: char| {
        in_quotes ^= c == '"' && matches!(separator, ";" | ",");
        !in_quotes && separator.starts_with(c)
    };
    let all: Vec<&str> =
        if separator.len() == 1 { row.split(&mut ends).collect() } else { row.split(separator).collect() };
    let mut cells = Vec::with_capacity(all.len());
    for cell in all {
        let cell = cell.trim_matches(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '*'));
        if separator != "  " || !cell.is_empty() {
            cells.push(cell);
        }
    }
    cells
}

/// The form of a table, as its first row shows it.
struct TableForm {
    separator: &'static str,
    columns: usize,
}

impl TableForm {
    fn is_row(&self, line: &str) -> bool {
        line.trim().contains(self.separator) && cells(line, self.separator).len() == self.columns
    }

    /// Whether lines begin with a rule and a row. A rule at the end of a table has no row behind it.
    fn is_ruled<'l>(&self, mut lines: impl Iterator<Item = &'l str>) -> bool {
        lines.next().is_some_and(is_rule) && lines.next().is_some_and(|line| self.is_row(line))
    }
}

/// The secret in a cell, if the text of another cell names it.
fn secret_in_cell(text: &str, label: &str, value: &str) -> Option<SecretSpan> {
    let label = label.trim_end_matches(':');
    // A quote or a variable in it is that of a command: `echo "password" | sha1sum`.
    if label.split_whitespace().count() > 3 || label.contains(['"', '\'', '$']) {
        return None;
    }
    let class = names::classify(label)?;
    let candidate = SecretCandidate { class, name: label, value, place: ValuePlace::Anywhere };
    let is_one = !value.contains(|c: char| c.is_whitespace() || "\"'\\".contains(c));
    if !is_one || !candidate.is_secret() {
        return None;
    }
    let start = place_in(text, value);
    Some(SecretSpan { range: start..start + value.len(), kind: names::kind(class, label) })
}

/// Where a part of a text begins.
fn place_in(text: &str, part: &str) -> usize {
    part.as_ptr() as usize - text.as_ptr() as usize
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

/// Finds the secrets that the names in a row tell, in which one is at an offset. Returns where the row ends. `read` is the
/// end of the last table, whose cells were searched below their names and are not again.
pub(super) fn find(text: &str, name: usize, read: &mut usize, found: &mut Vec<SecretSpan>) -> usize {
    let before = &text[text.ceil_char_boundary(name.saturating_sub(LONGEST_ROW))..name];
    let start = name - before.len() + before.rfind('\n').map_or(0, |end| end + 1);
    let mut lines = text[start..].split('\n');
    let row = lines.next().unwrap_or_default();
    let separator = SEPARATORS.into_iter().find(|separator| row.trim().contains(separator));
    let Some(separator) = separator else { return start + row.len() };
    if row.len() > LONGEST_ROW {
        return start + row.len();
    }
    let header = cells(row, separator);
    let form = TableForm { separator, columns: header.len() };
    let is_csv = matches!(separator, ";" | ",");
    let is_loose = is_csv || separator == "\t" || separator == "  " && !row.contains(|c: char| c.is_lowercase());
    let above = text[..start].lines().next_back().unwrap_or_default();
    // Some tables have a rule behind each row.
    let is_later = is_rule(above) && text[..start].lines().nth_back(1).is_some_and(|line| form.is_row(line));
    let has_below = is_loose
        && lines.clone().next().is_some_and(|line| form.is_row(line))
        && header.len() > 1
        && header.iter().all(is_word)
        && !form.is_row(above);
    if start >= *read && (has_below || !is_csv && form.is_ruled(lines.clone()) && !is_later) {
        let columns: Vec<usize> = (0..header.len()).filter(|at| names::classify(header[*at]).is_some()).collect();
        let mut was_rule = false;
        while let Some(line) = lines.next()
            && (is_rule(line) || form.is_row(line))
        {
            let row = cells(line, separator);
            for &column in &columns {
                if let Some(value) = row.get(column) {
                    found.extend(secret_in_cell(text, header[column], value));
                }
            }
            // The names of the next table may follow without a line between.
            if !was_rule && form.is_ruled(lines.clone()) && row.iter().any(|cell| names::classify(cell).is_some()) {
                break;
            }
            was_rule = is_rule(line);
            *read = place_in(text, line) + line.len();
        }
    } else if !is_csv && let [label, value, ..] = header.as_slice() {
        // The name of a row, with its value in the next cell.
        found.extend(secret_in_cell(text, label, value));
    }
    start + row.len()
}

/// Finds the secrets in the rows that statements of SQL insert, by the names of their columns.
pub(super) fn find_inserted(text: &str, found: &mut Vec<SecretSpan>) {
    for statement in INSERTED.captures_iter(text) {
        let columns = statement.get(1).map_or("", |columns| columns.as_str()).split(',');
        let columns: Vec<&str> = columns.map(|name| name.trim().trim_matches(['`', '"', '[', ']'])).collect();
        if columns.iter().all(|name| names::classify(name).is_none()) {
            continue;
        }
        let mut at = statement.get(0).map_or(text.len(), |whole| whole.end());
        while let Some(row) = inserted_row(text, at) {
            for (column, range) in row.strings {
                let Some(name) = columns.get(column) else { continue };
                let Some(class) = names::classify(name) else { continue };
                let value = &text[range.clone()];
                let candidate = SecretCandidate { class, name, value, place: ValuePlace::Quotes };
                if candidate.is_secret() {
                    found.push(SecretSpan { range, kind: names::kind(class, name) });
                }
            }
            at = row.end;
        }
    }
}

/// A row that a statement inserts.
struct InsertedRow {
    /// Its strings, each with the number of its column.
    strings: Vec<(usize, Range<usize>)>,
    /// Where the next row begins.
    end: usize,
}

/// The row in brackets at an offset.
fn inserted_row(text: &str, at: usize) -> Option<InsertedRow> {
    let bytes = &text.as_bytes()[..text.len().min(at + LONGEST_ROW)];
    let (mut strings, mut column, mut depth) = (Vec::new(), 0, 0);
    let mut at = at;
    if bytes.get(at) != Some(&b'(') {
        return None;
    }
    loop {
        match bytes.get(at)? {
            b'(' => depth += 1,
            b')' => depth -= 1,
            b',' if depth == 1 => column += 1,
            b'\'' => {
                let start = at + 1;
                at = end_of_sql_string(bytes, start)?;
                if depth == 1 {
                    strings.push((column, start..at));
                }
            }
            _ => {}
        }
        at += 1;
        if depth == 0 {
            let rest = text[at..].trim_start().trim_start_matches(',').trim_start();
            return Some(InsertedRow { strings, end: text.len() - rest.len() });
        }
    }
}

/// Where the string ends that begins at an offset: before a quote that is not doubled or escaped.
fn end_of_sql_string(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    loop {
        match bytes.get(at)? {
            b'\\' => at += 2,
            b'\'' if bytes.get(at + 1) == Some(&b'\'') => at += 2,
            b'\'' => return Some(at),
            _ => at += 1,
        }
    }
}

/// Builds the patterns of this file.
#[cfg(any(test, feature = "tests"))]
pub(crate) fn patterns() -> Vec<&'static Regex> {
    vec![&*INSERTED]
}

#[cfg(test)]
mod tests {
    use crate::assignments;

    /// Otherwise each table would be read to its end again for each header in it.
    #[test]
    fn each_cell_is_read_once() {
        for part in [
            "+------+\n| password |\n+----+\n| hunter22 |\n",
            "| password |\n|---|\n| hunter22 |\n",
            "| password |\n|---|\n| hunter22 |\n\n",
            "| hunter22 |\n| password |\n|---|\n",
            "Key       Password\n---       -----\nme        hunter22\n",
            "KEY  PASSWORD\nme   hunter22\n----  ----\n",
            "user\tpassword\nme\thunter22\n---\t---\nyou|key\thunter23\n",
        ] {
            let (text, mut found) = (part.repeat(2000), Vec::new());
            assignments::find(&text, &[], &mut found);
            let count = found.len();
            assert!(count >= 1999, "{part:?}: {count}");
            found.sort_by_key(|secret| secret.range.start);
            found.dedup();
            assert_eq!(found.len(), count, "{part:?}");
            assert!(found.iter().all(|secret| text[secret.range.clone()].starts_with("hunter")), "{part:?}");
        }
    }

    /// What a row is read for shall not depend on how many precede it.
    #[test]
    fn rows_without_secrets_take_no_longer_than_others() {
        for part in
            ["+---+\n| password |\n", "| password |\n|---|\n", "Key         Value\n---         -----\npassword    x\n"]
        {
            let started = std::time::Instant::now();
            assignments::find(&part.repeat(30_000), &[], &mut Vec::new());
            assert!(started.elapsed() < std::time::Duration::from_secs(20), "{part:?}: {:?}", started.elapsed());
        }
    }
}
