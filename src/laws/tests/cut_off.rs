//! A file whose last line is cut off is read without that line, and keeps the bytes of it.

use std::fs;

use crate::compact::{Accept, CompactionPolicy, Compactor};
use crate::laws::fixtures::all;
use crate::laws::transcripts::read;
use crate::plan::size::Size;

/// The formats, messages and broken lines of a text.
fn seen(text: &str) -> Option<(Vec<(&'static str, usize)>, Vec<usize>)> {
    let document = read(text, None, None).ok()?;
    let seen = document.transcripts.iter().map(|one| (one.format.name(), one.messages.len())).collect();
    Some((seen, document.broken_lines))
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
        let Some((whole, broken)) = seen(before).filter(|(whole, _)| !whole.is_empty()) else { continue };
        if seen(text).is_none() || !last.starts_with(['{', '[']) {
            continue;
        }
        formats.push(name);
        let ends = (2..last.len()).step_by(last.len() / 16 + 1).filter(|end| last.is_char_boundary(*end));
        for end in ends {
            let cut = &text[..start + end];
            let mut expected = broken.clone();
            expected.push(before.matches('\n').count() + 1);
            assert_eq!(seen(cut), Some((whole.clone(), expected)), "{} at {end}", file.display());
            let compacted = compactor.compact(cut).unwrap_or_else(|error| panic!("{} {error}", file.display()));
            assert!(compacted.text.ends_with(&cut[start..]), "{} at {end}: {}", file.display(), compacted.text);
        }
    }
    formats.dedup();
    assert!(formats.len() >= 6, "{formats:?}");
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
