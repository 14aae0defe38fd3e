//! A detected format is detected again after any cut: each fixture, with every kind of summary.

use std::fs;
use std::panic::{self, AssertUnwindSafe};

use crate::compact::{Accept, CompactionPolicy, Compactor, SummarizerKind};
use crate::prune::{self, Choice};
use serde_json::Value;

use crate::laws::lawful::assert_reads_alike;

/// Sizes to keep.
const KEPT: [&str; 6] = ["messages:1", "messages:2", "messages:3", "messages:5", "turns:1", "tokens:100"];

/// The kinds of replacements for what is cut.
fn compactors(keep: &str) -> [(&'static str, Compactor); 4] {
    let policy = |change: fn(&mut CompactionPolicy)| {
        let mut policy = CompactionPolicy::keeping(keep.parse().expect("a size"));
        policy.summary.accept = Accept::Any;
        change(&mut policy);
        Compactor::new(policy)
    };
    [
        ("embedded", policy(|_| ())),
        ("own text", policy(|_| ()).with_summary("What was said.")),
        ("no summarizer", policy(|policy| policy.summary.summarizer = SummarizerKind::Off)),
        ("pruned", policy(|policy| policy.pruning.rules = prune::chosen(&[Choice::All]))),
    ]
}

/// Returns how many compactions of a text were tried, and those that are not read as the text is. The text must be a
/// transcript.
fn read_otherwise(name: &str, text: &str) -> (usize, Vec<String>) {
    let (mut tried, mut wrong) = (0, Vec::new());
    for keep in KEPT {
        for (how, compactor) in compactors(keep) {
            let compacted = compactor.compact(text).map(|compacted| compacted.text);
            let Some(compacted) = compacted.ok().filter(|compacted| compacted != text) else { continue };
            tried += 1;
            if panic::catch_unwind(AssertUnwindSafe(|| assert_reads_alike(text, &compacted))).is_err() {
                wrong.push(format!("{name} {keep} {how}"));
            }
        }
    }
    (tried, wrong)
}

fn assert_all(sources: impl Iterator<Item = (String, String)>, least: usize) {
    let (tried, wrong): (Vec<_>, Vec<_>) = sources.map(|(name, text)| read_otherwise(&name, &text)).unzip();
    let (tried, wrong) = (tried.iter().sum::<usize>(), wrong.concat());
    assert!(tried > least && wrong.is_empty(), "of {tried}:\n{}", wrong.join("\n"));
}

/// Returns the fixtures with their names.
fn fixtures() -> impl Iterator<Item = (String, String)> {
    let text =
        |(_, file): (_, std::path::PathBuf)| (file.display().to_string(), fs::read_to_string(file).expect("a fixture"));
    crate::laws::fixtures::all().into_iter().map(text)
}

#[test]
fn every_fixture_is_read_as_its_format_again() {
    assert_all(fixtures(), 900);
}

/// A value that is no message stays in a session, and becomes its first line when those before it are removed.
#[test]
fn a_session_with_a_stray_value_is_read_as_its_format_again() {
    let stray = |(name, text): (String, String)| {
        let lines: Vec<&str> = text.lines().collect();
        let with = |(at, value): (usize, &str)| {
            let all = [&lines[..at.min(lines.len())], &[value], &lines[at.min(lines.len())..]].concat();
            (format!("{name} with {value} at {at}"), all.join("\n"))
        };
        [(0, "42"), (1, "[]"), (2, "\"a\""), (2, "null"), (3, "[1,2]")].map(with)
    };
    let sessions = fixtures().filter(|(name, _)| name.ends_with(".jsonl"));
    // Some formats have no such values and reject the file.
    let is_read = |(_, text): &(String, String)| crate::laws::transcripts::read(text, None, None).is_ok();
    assert_all(sessions.flat_map(stray).filter(is_read), 200);
}

/// Removes the content from the last message of each list in a value.
fn without_last_content(value: &mut Value) {
    match value {
        Value::Array(list) if list.last().is_some_and(|last| last.get("role").is_some()) => {
            let last = list.last_mut().and_then(Value::as_object_mut);
            last.map(|last| last.shift_remove("content"));
        }
        Value::Array(list) => list.iter_mut().for_each(without_last_content),
        Value::Object(members) => members.values_mut().for_each(without_last_content),
        _ => {}
    }
}

#[test]
fn a_last_message_without_content_changes_no_format() {
    let changed = |(name, text): (String, String)| {
        let mut value: Value = serde_json::from_str(&text).ok()?;
        without_last_content(&mut value);
        let text = value.to_string();
        crate::laws::transcripts::read(&text, None, None).is_ok().then_some((name, text))
    };
    assert_all(fixtures().filter_map(changed), 300);
}

/// The envelope of one format with messages of another, before and after the cut.
#[test]
fn messages_of_another_format_in_an_envelope_are_read_alike() {
    let call = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"r"}"#;
    let user = r#"{"role":"user","content":"What is the time in Oslo now, and what was it an hour ago?"}"#;
    let answer = r#"{"role":"assistant","content":"It is nine."}"#;
    let envelopes = [
        r#""id":1,"epoch":1,"input":"u","target":"t","scores":{},"#,
        r#""id":1,"epoch":1,"input":"u","target":"t","#,
        r#""task_id":1,"reward_info":{},"#,
        r#""system":"s","#,
        r#""model":"claude-opus-4-1","#,
        r#""options":{},"#,
        r#""n":1,"#,
    ];
    let source = |around: &str| {
        (around.to_owned(), format!(r#"{{{around}"messages":[{user},{call},{answer},{user},{answer},{user}]}}"#))
    };
    assert_all(envelopes.map(source).into_iter(), 50);
}
