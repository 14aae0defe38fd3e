//! Writes the ledger as a section of a summary within a token limit, and parses it again word for word.
//!
//! Each fact is a line below the name of its kind: `- [12] text`, with `[~12]` if an earlier summary carried the fact
//! over and the index is one of its source. Several values with one subject share a line: `about » text; text`.

use std::collections::HashMap;

use crate::tokens::Counter;
use crate::wording::one_line;

use crate::summary::record::{FactKind, KINDS, RecordEntry};

/// The heading of the section.
pub(super) const HEADING: &str = "## Ledger";

/// The separators between a subject and its facts, and between such facts.
const ABOUT: &str = " » ";
const BETWEEN: &str = "; ";

/// Writes as many facts as fit, the first ones first.
pub(super) fn write(entries: &[&RecordEntry], counter: Counter, limit: u64) -> String {
    /// Facts per token at most, to bound the search.
    const MOST_A_TOKEN: u64 = 64;
    let most = usize::try_from(limit.saturating_mul(MOST_A_TOKEN)).unwrap_or(usize::MAX);
    let entries = &entries[..entries.len().min(most)];
    let all = format_entries(entries);
    if counter.count_text(&all) <= limit {
        return all;
    }
    // The cost of a fact depends on the text around it, so a binary search finds how many fit.
    let (mut fits, mut too_many) = (0, entries.len());
    let mut best = String::new();
    while fits + 1 < too_many {
        let middle = fits + (too_many - fits) / 2;
        let text = format_entries(&entries[..middle]);
        if counter.count_text(&text) <= limit {
            (fits, best) = (middle, text);
        } else {
            too_many = middle;
        }
    }
    best
}

fn format_entries(entries: &[&RecordEntry]) -> String {
    if entries.is_empty() {
        return String::new();
    }
    let mut text = HEADING.to_owned();
    for row in &KINDS {
        let of_kind: Vec<&&RecordEntry> = entries.iter().filter(|entry| entry.kind == row.kind).collect();
        if of_kind.is_empty() {
            continue;
        }
        text.push('\n');
        text.push_str(row.name);
        text.push(':');
        let mut lines: Vec<(String, String)> = Vec::new();
        let mut line_of: HashMap<String, usize> = HashMap::new();
        for entry in of_kind {
            let mark = format!("\n- [{}{}] ", if entry.earlier { "~" } else { "" }, entry.index);
            if entry.about.is_empty() {
                lines.push((mark, sanitize_fact(&entry.text)));
                continue;
            }
            let opening = format!("{mark}{}{ABOUT}", sanitize_fact(&entry.about));
            if entry.kind != FactKind::Value {
                lines.push((opening, sanitize_fact(&entry.text)));
                continue;
            }
            let fact = sanitize_fact(&entry.text).replace(BETWEEN, ", ");
            match line_of.get(&opening) {
                Some(&at) => {
                    lines[at].1.push_str(BETWEEN);
                    lines[at].1.push_str(&fact);
                }
                None => {
                    line_of.insert(opening.clone(), lines.len());
                    lines.push((opening, fact));
                }
            }
        }
        for (opening, facts) in lines {
            text.push_str(&opening);
            text.push_str(&facts);
        }
    }
    text
}

/// Replaces what the parser would read as syntax.
fn sanitize_fact(text: &str) -> String {
    one_line(text).replace('»', ">")
}

/// Returns the lines of a summary's ledger: from its heading to the next one.
fn lines(summary: &str) -> impl Iterator<Item = &str> {
    let mut inside = false;
    summary.lines().map(str::trim).filter(move |line| {
        if line.starts_with("## ") {
            inside = *line == HEADING;
            return false;
        }
        inside
    })
}

/// Returns a summary without its ledger and without its last line ending.
pub(crate) fn without_ledger(summary: &str) -> String {
    let mut inside = false;
    let mut kept: String = summary
        .split_inclusive('\n')
        .filter(|line| {
            if line.trim().starts_with("## ") {
                inside = line.trim() == HEADING;
            }
            !inside
        })
        .collect();
    for end in ['\n', '\r'] {
        kept.truncate(kept.strip_suffix(end).map_or(kept.len(), str::len));
    }
    kept
}

/// Prepares a summary for a ledger: a section of the same name becomes one level lower, so that it is not parsed as the
/// ledger.
pub(crate) fn demote_ledger_heading(summary: &str) -> String {
    let lines: Vec<String> = summary
        .trim_end()
        .lines()
        .map(|line| if line.trim() == HEADING { format!("#{HEADING}") } else { line.to_owned() })
        .collect();
    lines.join("\n")
}

/// Parses the facts of a summary's ledger.
pub(super) fn parse(summary: &str) -> Vec<RecordEntry> {
    let mut kind = None;
    let mut found = Vec::new();
    for line in lines(summary) {
        let kind_named = |name: &str| KINDS.iter().find(|row| row.name == name).map(|row| row.kind);
        if let Some(known) = line.strip_suffix(':').and_then(kind_named) {
            kind = Some(known);
            continue;
        }
        let Some((kind, (index, fact))) = kind.zip(line.strip_prefix("- [").and_then(|rest| rest.split_once("] ")))
        else {
            continue;
        };
        let Ok(index) = index.trim_start_matches('~').parse() else { continue };
        let mut push = |about: &str, text: &str| {
            let entry = RecordEntry::new(kind, index, about.to_owned(), text.to_owned());
            found.push(RecordEntry { earlier: true, ..entry });
        };
        match fact.split_once(ABOUT) {
            // Only values share a subject.
            Some((about, facts)) if kind == FactKind::Value => facts.split(BETWEEN).for_each(|text| push(about, text)),
            Some((about, text)) => push(about, text),
            None => push("", fact),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(kind: FactKind, about: &str, text: &str, index: usize) -> RecordEntry {
        RecordEntry::new(kind, index, about.to_owned(), text.to_owned())
    }

    #[test]
    fn what_is_written_is_read_again() {
        let entries = [
            entry(FactKind::User, "", "Never touch the migrations.", 0),
            entry(FactKind::Command, "cargo test", "exit 101: error[E0308]", 7),
            entry(FactKind::Value, "get_user(4711)", "user_id=mia_kim_4397", 6),
            entry(FactKind::Value, "get_user(4711)", "email=mia@example.com", 6),
        ];
        let text = write(&entries.iter().collect::<Vec<_>>(), Counter::DEFAULT, 1_000);
        assert_eq!(
            text,
            "## Ledger\nUser:\n- [0] Never touch the migrations.\nCommands:\n- [7] cargo test » exit 101: error[E0308]\nValues:\n\
             - [6] get_user(4711) » user_id=mia_kim_4397; email=mia@example.com"
        );
        let read = parse(&format!("## Summary\n- All is well.\n\n{text}\n\n## Other\n- [3] no"));
        assert!(read.iter().all(|entry| entry.earlier));
        assert_eq!(
            read.iter().map(|entry| (&entry.about, &entry.text, entry.index)).collect::<Vec<_>>(),
            entries.iter().map(|entry| (&entry.about, &entry.text, entry.index)).collect::<Vec<_>>()
        );
        // A carried ledger is the same except for its marks.
        let again = write(&read.iter().collect::<Vec<_>>(), Counter::DEFAULT, 1_000);
        assert_eq!(again.replace('~', ""), text);
        assert_eq!(without_ledger(&format!("a\n{text}\n## Other\nb")), "a\n## Other\nb");
        assert_eq!(without_ledger(&format!("a\r\r\n{text}\n## Other\r\n\r\nb\n")), "a\r\r\n## Other\r\n\r\nb");
    }

    #[test]
    fn never_over_the_limit() {
        let entries: Vec<RecordEntry> =
            (0..50).map(|n| entry(FactKind::User, "", &format!("Rule number {n} holds."), n)).collect();
        let entries: Vec<&RecordEntry> = entries.iter().collect();
        for limit in 0..200 {
            let text = write(&entries, Counter::DEFAULT, limit);
            assert!(Counter::DEFAULT.count_text(&text) <= limit || text.is_empty());
        }
    }

    #[test]
    fn foreign_text_is_no_ledger() {
        assert!(parse("- [1] a\nUser:\n- [x] b\n## Ledger\n- [1] c\nUser:\n- [one] d\n- e").is_empty());
    }
}
