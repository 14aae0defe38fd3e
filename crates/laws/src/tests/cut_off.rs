//! A file whose last line is cut off is read without that line, and keeps the bytes of it.

use std::fs;

use crate::compact::{Accept, CompactionPolicy, Compactor};
use crate::fixtures::all;
use crate::plan::size::Size;
use crate::transcript::source::Source;
use crate::transcripts::read;

/// What is read of a text.
#[derive(Debug, PartialEq)]
struct Seen {
    /// The format of each conversation, and the number of its messages.
    conversations: Vec<(&'static str, usize)>,
    broken_lines: Vec<usize>,
}

fn seen(text: &str) -> Option<Seen> {
    let document = read(text, None, None).ok()?;
    let conversations = document.transcripts.iter().map(|one| (one.format.name, one.messages.len())).collect();
    Some(Seen { conversations, broken_lines: document.broken_lines })
}

#[test]
fn a_cut_last_line_stands_aside_in_every_format() {
    let mut policy = CompactionPolicy::keeping(Size::Messages(2));
    policy.summary.accept = Accept::Any;
    let compactor = Compactor::new(policy);
    let mut formats = Vec::new();
    for (name, file) in all() {
        let text = fs::read_to_string(&file).expect("a fixture");
        let text = text.trim_end();
        let start = text.rfind('\n').map_or(0, |at| at + 1);
        let (before, last) = text.split_at(start);
        let Some(whole) = seen(before).filter(|whole| !whole.conversations.is_empty()) else { continue };
        // Of a damaged file, each line counts by itself.
        let is_value =
            |line: &str| line.trim().is_empty() || Source::of(line).is_ok_and(|one| one.values().count() == 1);
        if seen(text).is_none() || !last.starts_with(['{', '[']) || !before.lines().all(is_value) {
            continue;
        }
        formats.push(name);
        let ends = (2..last.len()).step_by(last.len() / 16 + 1).filter(|end| last.is_char_boundary(*end));
        for end in ends {
            let cut = &text[..start + end];
            let conversations = whole.conversations.clone();
            let expected = Seen { conversations, broken_lines: vec![before.matches('\n').count() + 1] };
            assert_eq!(seen(cut), Some(expected), "{} at {end}", file.display());
            let compacted = compactor.compact(cut).unwrap_or_else(|error| panic!("{} {error}", file.display()));
            assert!(compacted.text.ends_with(&cut[start..]), "{} at {end}: {}", file.display(), compacted.text);
        }
    }
    formats.dedup();
    assert!(formats.len() >= 6, "{formats:?}");
}

/// A line can end inside an escape.
#[test]
fn a_line_is_cut_off_at_any_place() {
    let user = r#"{"role":"user","content":"a"}"#;
    let last = r#"{"role":"user","content":["line \\ one\nand \u4f60\"", -1.5e3, true, null, {"a":[]}]}"#;
    for end in 1..last.len() {
        let text = format!("{user}\n{}", &last[..end]);
        let read = seen(&text).unwrap_or_else(|| panic!("{text}"));
        assert_eq!(read.broken_lines, [2], "{text}");
    }
}

/// What is spread over lines is one value, and a value that ends too early is an error.
#[test]
fn what_is_not_one_value_a_line_is_not_read_in_part() {
    let user = r#"{"role":"user","content":"a"}"#;
    let broken = [
        format!("[{user},\n{user},\n{{\"role\":\"us"),
        format!("[\n{user},\n{{\"role\":\"us"),
        format!("{{\"messages\":[{user},\n{user}"),
        format!("{user}\n{{\"role\":}}"),
        format!("{user}\n{{\"role\":\"us\n{user}"),
        format!("{user}\n{{\"role\":\"us\n"),
        "{\"role\":\"us".to_owned(),
    ];
    for text in broken {
        assert!(read(&text, None, None).is_err(), "{text}");
    }
}
