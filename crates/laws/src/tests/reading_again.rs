//! A detected format is detected again after any cut: each fixture, with every kind of summary.

use std::collections::BTreeSet;
use std::fs;
use std::panic::{self, AssertUnwindSafe};

use crate::all_cases::{Sample, one_in};
use crate::compact::{Accept, CompactionPolicy, Compactor, SummarizerKind};
use crate::plan::size;
use serde_json::Value;
use tcompact_core::prune::{self, Choice};

use crate::lawful::{assert_reads_alike, with_document};
use crate::transcript::{Message, Transcript};

const KEPT: [&str; 7] = ["none", "messages:1", "messages:2", "messages:3", "messages:5", "turns:1", "tokens:100"];

/// The kinds of replacements for what is cut.
fn compactors(keep: &str) -> [(&'static str, Compactor); 4] {
    let policy = |change: fn(&mut CompactionPolicy)| {
        let mut policy = CompactionPolicy::keeping(size::keep(keep).expect("a size"));
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

/// How many compactions of a text were tried, and those that are not read as the text is. The text must be a
/// transcript.
fn read_otherwise(name: &str, text: &str, kept: &[&str], sample: &mut Sample) -> (usize, Vec<String>) {
    let (mut tried, mut wrong) = (0, Vec::new());
    for keep in kept {
        for (how, compactor) in compactors(keep).into_iter().filter(|_| sample.takes_next()) {
            let compacted = compactor.compact(text).map(|compacted| compacted.text);
            let Some(compacted) = compacted.ok().filter(|compacted| compacted != text) else { continue };
            tried += 1;
            let check = || match *keep {
                // The last message is in the summary.
                "none" => assert_reads_alike(text, &compacted),
                _ => assert_reads_on(text, &compacted),
            };
            if panic::catch_unwind(AssertUnwindSafe(check)).is_err() {
                wrong.push(format!("{name} {keep} {how}"));
            }
        }
    }
    (tried, wrong)
}

/// Checks that a compacted text is read as the text is, up to the last message.
fn assert_reads_on(text: &str, compacted: &str) {
    assert_reads_alike(text, compacted);
    let last = |text: &str| {
        with_document(text, None, |document| {
            let last = |transcript: &Transcript<'_>| {
                let last = transcript.messages.last();
                last.map(|last| {
                    let texts = last.content.texts();
                    (last.role, texts.iter().map(|text| text.decode().into_owned()).collect::<Vec<_>>())
                })
            };
            document.transcripts.iter().map(last).collect::<Vec<_>>()
        })
    };
    assert_eq!(last(text), last(compacted));
}

fn assert_all(sources: impl Iterator<Item = (String, String)>, kept: &[&str], least: usize) {
    let mut sample = Sample::default();
    let read = sources.map(|(name, text)| read_otherwise(&name, &text, kept, &mut sample));
    let (tried, wrong): (Vec<_>, Vec<_>) = read.unzip();
    let (tried, wrong) = (tried.iter().sum::<usize>(), wrong.concat());
    assert!(tried * one_in() > least && wrong.is_empty(), "of {tried}:\n{}", wrong.join("\n"));
}

/// The fixtures with their names.
fn fixtures() -> impl Iterator<Item = (String, String)> {
    let text =
        |(_, file): (_, std::path::PathBuf)| (file.display().to_string(), fs::read_to_string(file).expect("a fixture"));
    crate::fixtures::all().into_iter().map(text)
}

#[test]
fn every_fixture_is_read_as_its_format_again() {
    assert_all(fixtures(), &KEPT, 900);
}

/// Values that are neither messages nor conversations with any.
const STRAYS: [&str; 14] = [
    "null",
    "true",
    "-4.2e1",
    "\"a\"",
    "[]",
    "[1,2]",
    "[[]]",
    "[{}]",
    "[[{}]]",
    "[{\"a\":1}]",
    "{}",
    "{\"type\":\"note\"}",
    "{\"type\":\"note\",\"messages\":[]}",
    "{\"type\":\"note\",\"input\":[1],\"output\":[{}]}",
];

/// A value that is not a message stays in a session, and becomes its first line when those before it are removed.
#[test]
fn a_session_with_a_stray_value_is_read_as_its_format_again() {
    let stray = |(name, text): (String, String)| {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        (0..=lines.len().min(4)).flat_map(move |at| {
            let (name, lines) = (name.clone(), lines.clone());
            STRAYS.map(move |value| {
                let all = [&lines[..at], &[value.to_owned()], &lines[at..]].concat();
                (format!("{name} with {value} at {at}"), all.join("\n"))
            })
        })
    };
    let sessions = fixtures().filter(|(name, _)| name.ends_with(".jsonl"));
    // Some formats have no such values and reject the file.
    let is_read = |(_, text): &(String, String)| crate::transcripts::read(text, None, None).is_ok();
    assert_all(sessions.flat_map(stray).filter(is_read), &["messages:1", "turns:1"], 1_000);
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
        crate::transcripts::read(&text, None, None).is_ok().then_some((name, text))
    };
    assert_all(fixtures().filter_map(changed), &KEPT, 300);
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
    assert_all(envelopes.map(source).into_iter(), &KEPT, 50);
}

/// Names of members anywhere in a value.
fn names(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Array(list) => list.iter().for_each(|item| names(item, found)),
        Value::Object(members) => {
            found.extend(members.keys().cloned());
            members.values().for_each(|member| names(member, found));
        }
        _ => {}
    }
}

fn without(value: &mut Value, name: &str) {
    match value {
        Value::Array(list) => list.iter_mut().for_each(|item| without(item, name)),
        Value::Object(members) => {
            members.shift_remove(name);
            members.values_mut().for_each(|member| without(member, name));
        }
        _ => {}
    }
}

/// A text with a result that has no call: at each place of its conversation a copy of its last one, and at the end that
/// copy without each of its members.
fn with_orphans(text: &str) -> Vec<String> {
    let Ok(document) = crate::transcripts::read(text, None, None) else { return Vec::new() };
    let Some(transcript) = document.transcripts.first() else { return Vec::new() };
    let is_result = |message: &&Message<'_>| !message.results.is_empty() && message.calls.is_empty();
    let Some(result) = transcript.messages.iter().rev().find(is_result) else { return Vec::new() };
    let id = result.results[0].id.map(|id| Value::from(id.decode()).to_string());
    let raw = result.json.raw();
    let orphan = id.map_or(raw.to_owned(), |id| raw.replace(&id, "\"ghost\""));
    let value: Value = serde_json::from_str(&orphan).expect("JSON");
    let mut members = BTreeSet::new();
    names(&value, &mut members);
    let sparse = members.iter().map(|name| {
        let mut value = value.clone();
        without(&mut value, name);
        value.to_string()
    });
    let is_on_lines = transcript.envelope.is_none() && !text.trim_start().starts_with('[');
    let separator = if is_on_lines { "\n" } else { "," };
    let spans: Vec<_> = transcript.messages.iter().map(Message::span).collect();
    let end = spans.last().map_or(0, |span| span.end);
    let before = spans.iter().map(|span| (span.start, format!("{orphan}{separator}")));
    let behind = std::iter::once(orphan.clone()).chain(sparse).map(|orphan| (end, format!("{separator}{orphan}")));
    before.chain(behind).map(|(at, more)| format!("{}{more}{}", &text[..at], &text[at..])).collect()
}

/// What a format leaves out, and results whose calls are gone, do not make its result another format's.
#[test]
fn sparse_messages_and_results_without_calls_change_no_format() {
    let sparse = |(name, text): (String, String)| {
        let on_lines = text.lines().map(serde_json::from_str::<Value>).collect::<Result<Vec<_>, _>>();
        let values = on_lines.ok().or_else(|| Some(vec![serde_json::from_str(&text).ok()?])).unwrap_or_default();
        let mut found = BTreeSet::new();
        values.iter().for_each(|value| names(value, &mut found));
        let removed = std::iter::once(String::new()).chain(found);
        removed.flat_map(move |removed| {
            let mut values = values.clone();
            values.iter_mut().for_each(|value| without(value, &removed));
            let text = values.iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
            let name = format!("{name} without {removed}");
            let orphans = if removed.is_empty() { with_orphans(&text) } else { Vec::new() };
            let named = orphans.into_iter().enumerate();
            let named = named.map(|(at, text)| (format!("{name}, result {at} without a call"), text));
            std::iter::once((name.clone(), text)).chain(named).collect::<Vec<_>>()
        })
    };
    let format = |text: &str| {
        let document = crate::transcripts::read(text, None, None).ok()?;
        Some(document.transcripts.first()?.format.name)
    };
    // Some messages are not of their format without a member, and some of no format.
    let of_its_format = |(name, text): (String, String)| {
        let own = format(&text);
        sparse((name, text)).filter(move |(_, text)| format(text) == own)
    };
    let small = fixtures().filter(|(_, text)| text.len() < 8_000);
    assert_all(small.flat_map(of_its_format), &["messages:1"], 3_000);
}
