//! `restore` of texts that grew: what stands beside the list, and records that somebody changed.

use std::fs;

use serde_json::{Value, json};

use crate::program::{Run, path, run, tcompact};
use crate::restoring::compacted;
use crate::support::turns;

fn said(numbers: std::ops::Range<usize>) -> Vec<Value> {
    turns(numbers, |number| format!("Bed {number} is dry. {}", "It needs much water. ".repeat(6)))
}

fn restore(archive: &str, text: &str) -> Run {
    run(tcompact().args(["restore", archive]), text.as_bytes())
}

fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// A run that changes a document beside its messages, and what grew since.
struct Cut {
    _folder: tempfile::TempDir,
    archive: String,
    before: Value,
    grown: Value,
}

/// Cuts a document, which gains two messages then.
fn cut(document: Value, arguments: &[&str]) -> Cut {
    let folder = tempfile::tempdir().expect("a folder");
    let (archive, file) = (path(folder.path(), "a.jsonl"), path(folder.path(), "chat.json"));
    fs::write(&file, document.to_string()).expect("written");
    let mut grown = value(&compacted(&archive, arguments, &file));
    assert_ne!(grown, document);
    let mut before = document;
    for one in [&mut grown, &mut before] {
        one["messages"].as_array_mut().expect("messages").extend(said(90..92));
    }
    Cut { _folder: folder, archive, before, grown }
}

/// Whatever a run changed beside the messages comes back, and must be as it was left.
#[test]
fn what_stands_beside_the_messages_comes_back() {
    let summary = json!({"type": "human", "content": "Earlier.", "additional_kwargs": {"lc_source": "summarization"}});
    let event = json!({"cutoff_index": 4, "summary_message": summary, "file_path": "/h.md"});
    for (document, key, arguments) in [
        (
            json!({"messages": said(0..12), "_summarization_event": event, "files": {}}),
            "_summarization_event",
            &["--keep", "messages:2"][..],
        ),
        (
            json!({"summary_text": "Earlier.", "messages": said(0..12), "n": 1.0}),
            "summary_text",
            &["--preset", "deerflow", "--keep", "messages:2", "--trigger", "messages:2", "--model", "extractive"],
        ),
        (
            json!({"messages": said(0..12), "note": {"deep": ["password=Tulip7Garden9"], "other": 1}}),
            "note",
            &["--keep", "messages:99", "--redact=all"],
        ),
    ] {
        let mut cut = cut(document, arguments);
        let back = restore(&cut.archive, &format!("{:#}", cut.grown));
        assert_eq!(back.code, 0, "{key}: {back:?}");
        assert_eq!(value(&back.stdout), cut.before, "{key}");
        assert!(back.stderr.contains("the text has grown since"), "{key}: {back:?}");
        // What no run touched may change.
        for document in [&mut cut.grown, &mut cut.before] {
            document["later"] = json!(true);
        }
        let back = restore(&cut.archive, &cut.grown.to_string());
        assert_eq!(value(&back.stdout), cut.before, "{key}");
        cut.grown[key] = json!("Somebody wrote this.");
        let back = restore(&cut.archive, &cut.grown.to_string());
        assert_eq!((back.code, back.stdout.as_str()), (1, ""), "{key}");
        assert!(back.stderr.contains(&format!("the value at /{key}")), "{key}: {back:?}");
    }
}

/// A record that somebody changed restores nothing.
#[test]
fn a_changed_record_is_refused() {
    let cut = cut(json!({"model": "m", "messages": said(0..12)}), &["--keep", "messages:4", "--pin", "match:Bed 5"]);
    let text = fs::read_to_string(&cut.archive).expect("an archive");
    let record = value(text.trim_end());
    let back = restore(&cut.archive, &cut.grown.to_string());
    assert_eq!(value(&back.stdout), cut.before);
    let changes: [(&str, Value); 14] = [
        ("before", json!([999_999])),
        ("before", json!([[0, 999_999]])),
        ("before", json!([[0, u64::MAX]])),
        ("before", json!([0, 0])),
        ("before", json!([[0, 2], [0, 2]])),
        ("before", json!(["{", 0])),
        ("before", json!([])),
        ("before", json!({})),
        ("list", json!("/nothing")),
        ("list", json!("/model")),
        ("list", json!("messages")),
        ("left", json!([])),
        ("left_sha256", json!("0")),
        ("before_sha256", json!("0")),
    ];
    for (key, change) in changes {
        let mut changed = record.clone();
        changed[key] = change.clone();
        fs::write(&cut.archive, format!("{changed}\n")).expect("written");
        // A client wrote the text anew: nothing but the lists proves it.
        let back = restore(&cut.archive, &format!("{:#}", cut.grown));
        assert_eq!((back.code, back.stdout.as_str()), (1, ""), "{key} {change}: {back:?}");
    }
    // An older version wrote no list.
    let mut older = record;
    for key in ["list", "left", "left_sha256", "before", "before_sha256"] {
        older.as_object_mut().expect("a record").remove(key);
    }
    fs::write(&cut.archive, format!("{older}\n")).expect("written");
    let back = restore(&cut.archive, &cut.grown.to_string());
    assert_eq!((back.code, back.stdout.as_str()), (1, ""));
    assert!(back.stderr.contains("1 record restores only a text that did not change since"), "{back:?}");
}

/// A system message in front that no run touched may differ, and is missed where it is gone.
#[test]
fn a_system_message_that_was_removed_is_named() {
    let system = json!({"role": "system", "content": "Be brief."});
    let mut all = vec![system];
    all.extend(said(0..12));
    let cut = cut(json!({"messages": all}), &["--keep", "messages:4"]);
    let messages = cut.grown["messages"].as_array().expect("messages").clone();
    let other = json!({"role": "system", "content": "Be quick."});
    for (front, why) in [
        (&[][..], Some("the system message in front of /messages, which the run of ")),
        (std::slice::from_ref(&other), None),
        (&[other.clone(), other.clone()], Some("entry 1 of /messages is not as the run of ")),
    ] {
        let changed = [front, &messages[1..]].concat();
        let text = json!({"messages": changed}).to_string();
        let file = cut.archive.replace("a.jsonl", "chat.json");
        fs::write(&file, text).expect("written");
        let back = run(tcompact().args(["restore", &cut.archive, &file]), b"");
        assert_eq!(back.code, i32::from(why.is_some()), "{back:?}");
        assert!(back.stderr.contains(why.unwrap_or_default()), "{back:?}");
        assert!(!front.is_empty() || back.stderr.contains(" left, is missing"), "{back:?}");
    }
}

/// A list that became an object, and one that is shorter than what was left.
#[test]
fn a_document_that_lost_what_was_left_is_refused() {
    let cut = cut(json!({"model": "m", "messages": said(0..12)}), &["--keep", "messages:4"]);
    let messages = cut.grown["messages"].as_array().expect("messages").clone();
    let without_second = [&messages[..1], &messages[2..]].concat();
    for (changed, why) in [
        (json!({"model": "m", "messages": {"0": messages[0]}}), "entry 0 of /messages is not as"),
        (json!({"model": "m", "messages": &messages[..3]}), "entry 3 of /messages is not as"),
        (json!({"model": "m", "messages": without_second}), "entry 1 of /messages is not as"),
        (json!(messages), "entry 0 of /messages is not as"),
    ] {
        let file = cut.archive.replace("a.jsonl", "chat.json");
        fs::write(&file, changed.to_string()).expect("written");
        let back = run(tcompact().args(["restore", &cut.archive, &file]), b"");
        assert_eq!((back.code, back.stdout.as_str()), (1, ""), "{changed}");
        assert!(back.stderr.contains(why), "{why}: {back:?}");
    }
}
