//! Values that nest deep, at every place of every format: no place costs more stack than a thread has.

use std::collections::HashSet;
use std::fs;
use std::ops::Range;

use crate::all_cases::{Sample, one_in};
use crate::fixtures;
use crate::transcript::json::Json;
use crate::transcript::source::{MAX_DEPTH, Source, TOO_DEEP};
use crate::whole::process;

/// Levels of a deep value. A fixture has some around it.
const DEEP: usize = MAX_DEPTH - 60;

/// Deep values: lists, members that no format has, and those under which formats keep content and calls.
fn deep(levels: usize) -> Vec<String> {
    let nested = |open: &str, close: &str, levels: usize| {
        format!("{}\"two words\"{}", open.repeat(levels), close.repeat(levels))
    };
    let in_text = |json: String| serde_json::Value::from(json).to_string();
    vec![
        nested("[", "]", levels),
        nested(r#"{"content":["#, "]}", levels / 2),
        // Arguments of calls are JSON in a text, which nests as deep as anybody likes.
        in_text(nested("[", "]", 20 * levels)),
    ]
}

/// Every value in another, by the names of the members that lead to it.
fn places(json: Json<'_>, path: &str, found: &mut Vec<(String, Range<usize>)>) {
    found.push((path.to_owned(), json.span()));
    json.items().for_each(|item| places(item, &format!("{path}[]"), found));
    json.entries().for_each(|(key, value)| places(value, &format!("{path}.{}", key.decode()), found));
}

/// The texts that come of a deep value at each place of the fixtures of a format. Places under the same three names that
/// hold the same kind of value are alike.
fn texts(format: &str, deep: &str) -> Vec<(String, String)> {
    let (mut seen, mut texts) = (HashSet::new(), Vec::new());
    for file in fixtures::of_format(format) {
        let source = fs::read_to_string(&file).expect("a fixture");
        let json = Source::of(&source).expect("JSON");
        let mut found = Vec::new();
        json.values().for_each(|value| places(value, "", &mut found));
        for (path, span) in found {
            let first = source.as_bytes()[span.start];
            let ends: Vec<&str> = path.rsplit('.').take(3).collect();
            if seen.insert((ends.join("."), first)) {
                let text = format!("{}{deep}{}", &source[..span.start], &source[span.end..]);
                texts.push((format!("{} {path}", file.display()), text));
            }
        }
    }
    texts
}

#[test]
fn nesting_costs_no_stack_anywhere() {
    let arguments: Vec<String> = ["--keep=messages:1", "--prune=all", "--redact", "--repair=drop", "--archive=a.jsonl"]
        .map(str::to_owned)
        .into();
    let (mut done, mut sample) = (0, Sample::default());
    for format in crate::transcript::formats::FORMATS {
        for deep in deep(DEEP) {
            for (_, text) in texts(format.name, &deep).into_iter().filter(|_| sample.takes_next()) {
                // It may well be refused.
                done += usize::from(process(&arguments, &text).is_ok());
            }
        }
    }
    assert!(done * one_in() > 300, "{done}");
}

#[test]
fn deeper_nesting_is_refused_everywhere() {
    let bottomless = format!("{}{}", "[".repeat(20 * DEEP), "]".repeat(20 * DEEP));
    let mut sample = Sample::default();
    for format in crate::transcript::formats::FORMATS {
        for (place, text) in texts(format.name, &bottomless).into_iter().filter(|_| sample.takes_next()) {
            let error = process(&[], &text).err().unwrap_or_else(|| panic!("{place} was read"));
            assert!(error.to_string().contains(TOO_DEEP), "{place}: {error}");
        }
    }
}
