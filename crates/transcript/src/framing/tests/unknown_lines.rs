//! Lines of sessions that their format does not know: agents skip them, and so does tcompact.

use std::fs;
use std::path::Path;

use crate::format::Format;
use crate::formats::FORMATS;
use crate::framing::read_for_test;
use crate::message::{Message, Role};

/// What a newer version or another program can leave on a line.
const UNKNOWN_LINES: [&str; 13] = [
    "null",
    "42",
    r#""x""#,
    "[]",
    r#"[{"a":1}]"#,
    r#"[{"role":"user","content":"x"}]"#,
    "{}",
    r#"{"ts":1}"#,
    r#"{"type":"brand_new"}"#,
    r#"{"type":"brand_new","ts":1}"#,
    r#"{"type":"brand_new","id":"x","timestamp":"2026-11-01T00:00:00Z"}"#,
    r#"{"type":"plan_update","id":"x","timestamp":"2026-11-01T00:00:00Z","content":"x"}"#,
    r#"{"type":"brand_new","timestamp":"2026-11-01T00:00:00Z","payload":{"type":"x","text":"x"}}"#,
];

/// The text of each recorded session, with the format.
fn sessions() -> Vec<(&'static Format, String)> {
    let mut sessions = Vec::new();
    for format in FORMATS.iter().filter(|format| format.on_broken_line.is_some()) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(format.name);
        for entry in fs::read_dir(folder).expect("a folder of fixtures") {
            let path = entry.expect("an entry").path();
            if path.extension().is_some_and(|extension| extension == "jsonl") {
                sessions.push((*format, fs::read_to_string(path).expect("a fixture")));
            }
        }
    }
    sessions
}

/// What a session says: its format, and the roles and texts of its messages.
fn said(source: &str) -> (&'static str, Vec<(Role, String)>) {
    let document = match read_for_test(source, None, None) {
        Ok(document) => document,
        Err(_) => return ("refused", Vec::new()),
    };
    let [transcript] = document.transcripts.as_slice() else { return ("several conversations", Vec::new()) };
    let text = |message: &Message<'_>| (message.role, message.whole_text());
    (transcript.format.name, transcript.messages.iter().map(text).collect())
}

#[test]
fn an_unknown_line_changes_no_message_wherever_it_stands() {
    let sessions = sessions();
    assert!(sessions.len() > 10, "{} sessions", sessions.len());
    let mut changed = Vec::new();
    for (format, source) in sessions {
        // Earlier versions of pi name an entry by its place in the file.
        if source.contains("firstKeptEntryIndex") {
            continue;
        }
        let lines: Vec<&str> = source.lines().collect();
        let expected = said(&source);
        assert_eq!(expected.0, format.name);
        for unknown in UNKNOWN_LINES {
            for place in [0, 1, lines.len() / 2, lines.len() - 1, lines.len()] {
                let mut lines = lines.clone();
                lines.insert(place, unknown);
                if said(&lines.join("\n")) != expected {
                    changed.push(format!("{}: {unknown} at {place}", format.name));
                }
            }
        }
    }
    assert_eq!(changed, Vec::<String>::new());
}

#[test]
fn a_line_of_an_unknown_type_is_no_message_although_it_holds_one() {
    let pi = r#"{"type":"session","id":"s","timestamp":"t","cwd":"/"}
{"type":"message","id":"1","parentId":null,"timestamp":"t","message":{"role":"user","content":"a"}}
{"type":"brand_new","id":"2","parentId":"1","timestamp":"t","message":{"role":"user","content":"b"}}"#;
    assert_eq!(said(pi), ("pi", vec![(Role::User, "a".to_owned())]));
}

#[test]
fn a_message_of_another_format_is_not_skipped() {
    for (format, source) in sessions() {
        let with_message = format!("{}\n{}", source.trim_end(), r#"{"role":"user","content":"x"}"#);
        assert!(read_for_test(&with_message, None, None).is_err(), "{}", format.name);
    }
}
