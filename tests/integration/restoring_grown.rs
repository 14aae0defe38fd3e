//! `restore` of texts that grew: what stands beside the list, and records that somebody changed.

use std::fs;

use serde_json::{Value, json};

use crate::program::{Run, path, run, tcompact, with};
use crate::restoring::{compacted, rehashed};
use crate::restoring_runs::{orphan, run_on, user};
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
        fs::write(&cut.archive, rehashed(&changed.to_string())).expect("written");
        // A client wrote the text anew: nothing but the lists proves it.
        let back = restore(&cut.archive, &format!("{:#}", cut.grown));
        assert_eq!((back.code, back.stdout.as_str()), (1, ""), "{key} {change}: {back:?}");
    }
    // An older version wrote no list.
    let mut older = record;
    for key in ["list", "left", "left_sha256", "before", "before_sha256", "hash"] {
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

/// A conversation with a long result between two turns.
fn with_long_result(number: usize) -> Vec<Value> {
    let rows: Vec<String> = (0..150).map(|row| format!("bed {number}, row {row}: {}", row * 7)).collect();
    let id = format!("c{number}");
    let call = json!({"id": id, "type": "function", "function": {"name": "read", "arguments": "{}"}});
    vec![
        json!({"role": "user", "content": format!("Read bed {number}.")}),
        json!({"role": "assistant", "content": null, "tool_calls": [call]}),
        json!({"role": "tool", "tool_call_id": id, "content": rows.join("\n")}),
        json!({"role": "assistant", "content": format!("Bed {number} is read.")}),
        json!({"role": "user", "content": "And the next?"}),
        json!({"role": "assistant", "content": "It follows."}),
    ]
}

/// Two rounds in place, each on a list that grew, under two names. Returns the folder, the whole list and what is left of it.
fn renamed_between_rounds(names: [&str; 2]) -> (tempfile::TempDir, Vec<Value>, Vec<Value>) {
    let folder = tempfile::tempdir().expect("a folder");
    let archive = path(folder.path(), "a.jsonl");
    let (mut whole, mut left) = (Vec::new(), Vec::new());
    for (round, name) in names.into_iter().enumerate() {
        whole.extend(with_long_result(round));
        left.extend(with_long_result(round));
        let file = path(folder.path(), name);
        fs::write(&file, json!(left).to_string()).expect("written");
        let flags = ["--prune", "cap:50", "-m", "none", "--keep", "messages:2"];
        left = serde_json::from_str(&compacted(&archive, &flags, &file)).expect("a list");
    }
    for list in [&mut whole, &mut left] {
        list.extend(said(0..1));
    }
    (folder, whole, left)
}

/// What a text begins with tells whose it is, not the name of its file.
#[test]
fn a_document_that_grew_comes_back_under_any_name() {
    for names in [["s.json", "s.json"], ["s.json", "short.json"], ["short.json", "s.json"]] {
        let (folder, whole, left) = renamed_between_rounds(names);
        let archive = path(folder.path(), "a.jsonl");
        for name in ["s.json", "short.json", "other.json"] {
            let file = path(folder.path(), name);
            fs::write(&file, json!(left).to_string()).expect("written");
            let back = run(tcompact().args(["restore", &archive, &file]), b"");
            assert_eq!(back.code, 0, "{names:?} {name}: {back:?}");
            assert_eq!(value(&back.stdout), json!(whole), "{names:?} {name}");
            let back = run(tcompact().args(["restore", "--rounds", "1", &archive, &file]), b"");
            let [first, second] = [2, 8].map(|at| value(&back.stdout)[at] == whole[at]);
            assert_eq!((first, second), (false, true), "{names:?} {name}: the last round is the second");
        }
    }
}

#[test]
fn notes_that_the_archive_lacks_are_counted() {
    let (folder, whole, left) = renamed_between_rounds(["s.json", "s.json"]);
    let archive = path(folder.path(), "a.jsonl");
    let records = fs::read_to_string(&archive).expect("an archive");
    fs::write(&archive, records.lines().skip(1).collect::<Vec<_>>().join("\n") + "\n").expect("written");
    let back = restore(&archive, &json!(left).to_string());
    assert_eq!((back.code, &value(&back.stdout)[8]), (0, &whole[8]));
    assert!(back.stderr.contains("1 note of pruned content still in the text"), "{back:?}");
}

/// The last line of a session can be without a line end, and can be what is not sent.
#[test]
fn lines_that_were_appended_stay_lines() {
    let folder = tempfile::tempdir().expect("a folder");
    let (archive, file) = (path(folder.path(), "a.jsonl"), path(folder.path(), "s.jsonl"));
    let item = |role: &str, kind: &str, text: &str| {
        let payload = json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]});
        json!({"timestamp": "2026-03-01T10:00:00.000Z", "type": "response_item", "payload": payload}).to_string()
    };
    let sizes = json!({"type": "token_count", "info": null, "rate_limits": {"primary": {"used_percent": 1.5}}});
    let event = json!({"timestamp": "2026-03-01T10:00:01.000Z", "type": "event_msg", "payload": sizes}).to_string();
    let session =
        [item("user", "input_text", "Water bed 3."), item("assistant", "output_text", "Done."), event].join("\n");
    fs::write(&file, &session).expect("written");
    let left = compacted(&archive, &["--prune", "unsent", "-m", "none"], &file);
    assert_ne!(left, session);
    let more = item("user", "input_text", "And bed 4.") + "\n";
    let back = restore(&archive, &format!("{left}{more}"));
    assert_eq!((back.code, back.stdout), (0, format!("{session}\n{more}")));
}

/// A record names the line of its conversation also where the whole document is its text.
#[test]
fn a_document_of_several_lines_and_conversations_comes_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let [archive, file] = ["h.jsonl", "s.json"].map(|name| path(folder.path(), name));
    let mut document = json!([{"messages": said(0..3)}, {"messages": said(3..6)}]);
    document[1]["messages"][0] = user("password=Zx9kQ2mLw7");
    fs::write(&file, format!("{document:#}")).expect("written");
    run_on(&archive, &file, &["redact"]);
    let grow = |more: &[Value]| {
        let mut left = value(&fs::read_to_string(&file).expect("a file"));
        left[1]["messages"].as_array_mut().expect("messages").extend_from_slice(more);
        fs::write(&file, format!("{left:#}")).expect("written");
    };
    let (first, last) = ([orphan("3 beds"), user("And bed 4?")], [user("Go on.")]);
    grow(&first);
    run_on(&archive, &file, &["repair", "drop"]);
    grow(&last);
    document[1]["messages"].as_array_mut().expect("messages").extend([&first[..], &last].concat());
    let back = with(&["restore", &archive, &file]);
    assert_eq!((back.code, value(&back.stdout)), (0, document), "{}", back.stderr);
    let back = with(&["restore", "-i", &archive, folder.path().to_str().expect("UTF-8")]);
    assert!(back.code == 0 && back.stderr.contains("1 file put back"), "{back:?}");
}

/// Half of a surrogate pair and the character that a repair puts in its place are not equal.
#[test]
fn a_repaired_half_of_a_character_comes_back() {
    let half = r#"{"role":"user","content":"label: tulips \ud83c"}"#;
    let (cut_off, more) =
        (r#"{"role":"assistant","content":"It is cut off."}"#, r#"{"role":"user","content":"Thanks."}"#);
    for (whole, between) in [
        (format!("[{half},{cut_off}]"), ","),
        (format!("[{half},{cut_off}]\n[{cut_off}]\n"), ","),
        (format!("{half}\n{cut_off}\n"), "\n"),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let [archive, file] = ["h.jsonl", "s.jsonl"].map(|name| path(folder.path(), name));
        fs::write(&file, &whole).expect("written");
        let left = compacted(&archive, &["--repair", "drop", "--keep", "messages:99"], &file);
        assert!(!left.contains("ud83c"), "{left}");
        let grow = |text: &str| text.replacen(cut_off, &format!("{cut_off}{between}{more}"), 1);
        let back = restore(&archive, &grow(&left));
        assert_eq!((back.code, back.stdout), (0, grow(&whole)), "{whole}: {}", back.stderr);
    }
}

/// A client can write all lines anew, the first of them as a run left them, and those behind not as a later run did.
#[test]
fn lines_that_an_earlier_run_left_are_not_the_last_ones() {
    let spread = |messages: &[Value]| -> String {
        messages
            .iter()
            .map(|message| message.to_string().replace("\":", "\": ").replace(",\"", ", \"") + "\n")
            .collect()
    };
    let dense = |messages: &[Value]| -> String { messages.iter().map(|message| message.to_string() + "\n").collect() };
    let lines = |text: &str| -> Vec<Value> { text.lines().map(value).collect() };
    let first = with_long_result(1);
    for (second, last) in [
        (
            [with_long_result(2), vec![orphan("nobody asked")]].concat(),
            &["--repair", "drop", "--keep", "messages:99"][..],
        ),
        (with_long_result(2), &["--prune", "cap:200", "-m", "none", "--keep", "messages:1"]),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let [archive, file] = ["h.jsonl", "s.jsonl"].map(|name| path(folder.path(), name));
        fs::write(&file, spread(&first)).expect("written");
        run_on(&archive, &file, &["--prune", "cap:200", "-m", "none", "--keep", "messages:1"]);
        let left = fs::read_to_string(&file).expect("a file");
        fs::write(&file, left + &dense(&second)).expect("written");
        run_on(&archive, &file, last);
        let left = lines(&fs::read_to_string(&file).expect("a file"));
        let back = restore(&archive, &spread(&left));
        assert_eq!((back.code, lines(&back.stdout)), (0, [first.clone(), second].concat()), "{}", back.stderr);
    }
}

/// A run on another file can have been on this one under another name. What came behind it can be taken back.
#[test]
fn a_copy_with_a_run_of_its_own_says_what_can_be_taken_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let [archive, file, copy] = ["h.jsonl", "a.json", "c.json"].map(|name| path(folder.path(), name));
    let write = |messages: &[Value]| fs::write(&file, json!(messages).to_string()).expect("written");
    let grow = |more: &[Value]| {
        let mut all = value(&fs::read_to_string(&file).expect("a file")).as_array().expect("messages").clone();
        all.extend_from_slice(more);
        write(&all);
    };
    write(&said(0..12));
    run_on(&archive, &file, &["--keep", "messages:1"]);
    grow(&[orphan("stray"), user("Go on.")]);
    run_on(&archive, &file, &["--repair", "drop", "--keep", "messages:99"]);
    grow(&said(20..24));
    fs::copy(&file, &copy).expect("copied");
    run_on(&archive, &copy, &["--keep", "messages:1"]);

    let back = with(&["restore", &archive, &copy]);
    assert!(back.code == 1 && back.stderr.contains("; --rounds 1 takes back the later ones"), "{back:?}");
    let back = with(&["restore", "--rounds", "1", &archive, &copy]);
    assert_eq!((back.code, back.stdout), (0, fs::read_to_string(&file).expect("a file")), "{}", back.stderr);
    fs::copy(&file, &copy).expect("copied");
    let back = with(&["restore", &archive, &copy]);
    assert!(back.code == 1 && back.stderr.contains("its record names ") && back.stderr.contains("a.json"), "{back:?}");
}
