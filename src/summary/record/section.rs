//! The ledger as a section of a summary: written within a budget, and read again word for word.
//!
//! A line a fact, below a line for its kind: `- [12] text`, with `[~12]` where an earlier summary carried the fact on and
//! the index is one of its own source. What several facts of a message are about is said once: `about » text; text`.

use std::collections::HashMap;

use crate::tokens::Counter;

use crate::summary::record::{Entry, KINDS, Kind};

/// The heading of the section.
pub(super) const HEADING: &str = "## Ledger";

/// Between what facts are about and the facts, and between facts about one thing.
const ABOUT: &str = " » ";
const BETWEEN: &str = "; ";

/// Writes facts, given the most important first, as far as they fit.
pub(super) fn write(entries: &[&Entry], counter: Counter, limit: u64) -> String {
    /// Facts that a token may hold at most; of more there is no need to try.
    const MOST_A_TOKEN: u64 = 64;
    let most = usize::try_from(limit.saturating_mul(MOST_A_TOKEN)).unwrap_or(usize::MAX);
    let entries = &entries[..entries.len().min(most)];
    let all = composed(entries);
    if counter.count_text(&all) <= limit {
        return all;
    }
    // What a fact costs depends on what stands there already; a dozen tries find how many fit.
    let (mut fits, mut too_many) = (0, entries.len());
    let mut best = String::new();
    while fits + 1 < too_many {
        let middle = fits + (too_many - fits) / 2;
        let text = composed(&entries[..middle]);
        if counter.count_text(&text) <= limit {
            (fits, best) = (middle, text);
        } else {
            too_many = middle;
        }
    }
    best
}

fn composed(entries: &[&Entry]) -> String {
    if entries.is_empty() {
        return String::new();
    }
    let mut text = HEADING.to_owned();
    for row in &KINDS {
        let of_kind: Vec<&&Entry> = entries.iter().filter(|entry| entry.kind == row.kind).collect();
        if of_kind.is_empty() {
            continue;
        }
        text.push('\n');
        text.push_str(row.name);
        text.push(':');
        let mut lines: Vec<(String, String)> = Vec::new();
        let mut place: HashMap<String, usize> = HashMap::new();
        for entry in of_kind {
            let mark = format!("\n- [{}{}] ", if entry.earlier { "~" } else { "" }, entry.index);
            if entry.about.is_empty() {
                lines.push((mark, clean(&entry.text)));
                continue;
            }
            let opening = format!("{mark}{}{ABOUT}", clean(&entry.about));
            if entry.kind != Kind::Value {
                lines.push((opening, clean(&entry.text)));
                continue;
            }
            let fact = clean(&entry.text).replace(BETWEEN, ", ");
            match place.get(&opening) {
                Some(&at) => {
                    lines[at].1.push_str(BETWEEN);
                    lines[at].1.push_str(&fact);
                }
                None => {
                    place.insert(opening.clone(), lines.len());
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

/// A text that cannot be taken for anything else when it is read again.
fn clean(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('»', ">")
}

/// The lines of a summary's ledger: from its heading to the next one.
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

/// A summary without its ledger, and without the end of its last line; all else is as it was.
pub(crate) fn without(summary: &str) -> String {
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

/// A summary to which a ledger is appended: a section of its own by that name, whatever is in it, is set one lower, so
/// that it is not taken for the ledger when that is read again.
pub(crate) fn beside_another(summary: &str) -> String {
    let lines: Vec<String> = summary
        .trim_end()
        .lines()
        .map(|line| if line.trim() == HEADING { format!("#{HEADING}") } else { line.to_owned() })
        .collect();
    lines.join("\n")
}

/// Reads the facts of a summary's ledger.
pub(super) fn parse(summary: &str) -> Vec<Entry> {
    let mut kind = None;
    let mut found = Vec::new();
    for line in lines(summary) {
        let named = |name: &str| KINDS.iter().find(|row| row.name == name).map(|row| row.kind);
        if let Some(known) = line.strip_suffix(':').and_then(named) {
            kind = Some(known);
            continue;
        }
        let Some((kind, (index, fact))) = kind.zip(line.strip_prefix("- [").and_then(|rest| rest.split_once("] ")))
        else {
            continue;
        };
        let Ok(index) = index.trim_start_matches('~').parse() else { continue };
        let mut push = |about: &str, text: &str| {
            let entry = Entry::new(kind, index, about.to_owned(), text.to_owned());
            found.push(Entry { earlier: true, ..entry });
        };
        match fact.split_once(ABOUT) {
            // Only values are many about one thing.
            Some((about, facts)) if kind == Kind::Value => facts.split(BETWEEN).for_each(|text| push(about, text)),
            Some((about, text)) => push(about, text),
            None => push("", fact),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(kind: Kind, about: &str, text: &str, index: usize) -> Entry {
        Entry::new(kind, index, about.to_owned(), text.to_owned())
    }

    #[test]
    fn what_is_written_is_read_again() {
        let entries = [
            entry(Kind::User, "", "Never touch the migrations.", 0),
            entry(Kind::Command, "cargo test", "exit 101: error[E0308]", 7),
            entry(Kind::Value, "get_user(4711)", "user_id=mia_kim_4397", 6),
            entry(Kind::Value, "get_user(4711)", "email=mia@example.com", 6),
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
        // Carried on, it is the same but for the mark.
        let again = write(&read.iter().collect::<Vec<_>>(), Counter::DEFAULT, 1_000);
        assert_eq!(again.replace('~', ""), text);
        assert_eq!(without(&format!("a\n{text}\n## Other\nb")), "a\n## Other\nb");
        assert_eq!(without(&format!("a\r\r\n{text}\n## Other\r\n\r\nb\n")), "a\r\r\n## Other\r\n\r\nb");
    }

    #[test]
    fn never_over_the_limit() {
        let entries: Vec<Entry> =
            (0..50).map(|n| entry(Kind::User, "", &format!("Rule number {n} holds."), n)).collect();
        let entries: Vec<&Entry> = entries.iter().collect();
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
