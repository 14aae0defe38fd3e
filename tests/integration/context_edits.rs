//! Sessions of pi with entries of the type `context_edit`: what pi leaves out, or sends with other words, in every cut.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::program::piped;

const LEFT_OUT: &str = "an attempt that failed";
const OLD: &str = "the old rows of the log";
const NEW: &str = "the rows were taken out";

/// A session of four rounds: a question, a call, its result and an answer. The second result is sent with other words, and
/// the third answer is left out.
fn session() -> Vec<Value> {
    let mut lines =
        vec![json!({"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/"})];
    let mut add = |kind: &str, id: String, members: Value| {
        let parent = lines.last().filter(|line| line["type"] != "session").map(|line| line["id"].clone());
        let mut line = json!({"type": kind, "id": id, "parentId": parent, "timestamp": "2026-01-01T00:00:00.000Z"});
        line.as_object_mut().expect("an object").extend(members.as_object().expect("an object").clone());
        lines.push(line);
    };
    let text = |text: String| json!([{"type": "text", "text": text}]);
    for round in 1..=4 {
        let call = json!([{"type": "toolCall", "id": format!("c{round}"), "name": "bash", "arguments": {"command": format!("cat log{round}")}}]);
        let output = if round == 2 { OLD.repeat(40) } else { format!("rows of round {round}, ").repeat(40) };
        let answer = if round == 3 { LEFT_OUT.to_owned() } else { format!("Answer {round}.") };
        for (part, role, content) in [
            ("q", "user", text(format!("Question {round}: what is in the folder?"))),
            ("c", "assistant", call),
            ("r", "toolResult", text(output)),
            ("a", "assistant", text(answer)),
        ] {
            let mut message = json!({"role": role, "content": content});
            if part == "r" {
                message["toolCallId"] = json!(format!("c{round}"));
            }
            add("message", format!("{part}{round}"), json!({"message": message}));
        }
        if round == 3 {
            add(
                "context_edit",
                "e1".into(),
                json!({"targetId": "r2", "replacement": {"content": text(NEW.repeat(10))}}),
            );
            add("context_edit", "e2".into(), json!({"targetId": "a3", "replacement": null}));
        }
    }
    lines
}

fn written(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// The content of each message that pi sends, by its rules.
fn sent(source: &str) -> Vec<Value> {
    let lines: Vec<Value> = source.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let by_id: HashMap<&str, &Value> = lines.iter().filter_map(|line| Some((line["id"].as_str()?, line))).collect();
    let mut path = Vec::new();
    let mut next = lines.last();
    while let Some(line) = next.filter(|line| line["type"] != "session") {
        path.insert(0, line);
        next = line["parentId"].as_str().and_then(|parent| by_id.get(parent).copied());
    }
    if let Some(last) = path.iter().rposition(|line| line["type"] == "compaction") {
        let first = path[..last].iter().position(|line| line["id"] == path[last]["firstKeptEntryId"]).unwrap_or(last);
        let compaction = path.remove(last);
        path.drain(..first);
        path.insert(0, compaction);
    }
    let edits = path.iter().filter(|line| line["type"] == "context_edit");
    let edits: HashMap<_, _> = edits.map(|edit| (edit["targetId"].as_str(), &edit["replacement"])).collect();
    let mut contents = Vec::new();
    for line in path {
        let own = if line["type"] == "compaction" { &line["summary"] } else { &line["message"]["content"] };
        match edits.get(&line["id"].as_str()) {
            Some(Value::Null) => {}
            Some(replacement) => contents.push(replacement["content"].clone()),
            None if !own.is_null() => contents.push(own.clone()),
            None => {}
        }
    }
    contents
}

#[test]
fn nothing_that_an_edit_takes_out_is_sent_again() {
    let source = written(&session());
    let before = sent(&source);
    assert_eq!(before.len(), 15);
    let mut ways: Vec<Vec<String>> =
        (1..15).map(|kept| vec!["--keep".to_owned(), format!("messages:{kept}")]).collect();
    for flags in [
        "--keep none",
        "--keep messages:3 --pin user",
        "--keep messages:2 --pin first:6",
        "--keep messages:5 --pin match:Question",
        "--keep messages:6 --prune all",
        "--keep messages:12 --prune results:1",
        "--fit tokens:700",
        "--fit tokens:400 --redact",
    ] {
        ways.push(flags.split(' ').map(str::to_owned).collect());
    }
    for way in ways {
        let mut flags = vec!["-q", "--accept", "any"];
        flags.extend(way.iter().map(String::as_str));
        let run = piped(&flags, &source);
        assert!([0, 3].contains(&run.code), "{way:?}: {run:?}");
        let after = sent(&run.stdout);
        let text = serde_json::to_string(&after).expect("JSON");
        assert!(!text.contains(LEFT_OUT) && !text.contains(OLD), "{way:?}: {text}");
        let counted: Value = serde_json::from_str(&piped(&["count", "--json"], &run.stdout).stdout).expect("JSON");
        assert_eq!(counted["messages"], after.len(), "{way:?}");
        // All messages of the file are sent but the one that is left out, and the summary.
        let in_file = run.stdout.lines().filter(|line| {
            let line: Value = serde_json::from_str(line).expect("JSON");
            line["type"] == "compaction" || line["type"] == "message" && line["id"] != "a3"
        });
        assert_eq!(in_file.count(), after.len(), "{way:?}: {}", run.stdout);
        if way.len() == 2 && way[0] == "--keep" {
            let kept = after.len().saturating_sub(1);
            assert_eq!(after[1..], before[before.len() - kept..], "{way:?}");
        }
    }
}

/// The compaction has the id of an entry that went, but for one that an edit leaves out.
#[test]
fn no_edit_leaves_out_the_summary() {
    let mut lines = session();
    let edit = lines.iter().position(|line| line["id"] == "e2").expect("an edit");
    // Another message stands between what is left out and its edit.
    let behind = lines.iter().position(|line| line["id"] == "q4").expect("a question");
    lines.swap(edit, behind);
    lines[edit]["parentId"] = json!("e1");
    lines[behind]["parentId"] = json!("q4");
    lines[behind + 1]["parentId"] = json!("e2");
    lines.remove(edit - 1);
    lines[edit - 1]["parentId"] = json!("a3");
    let source = written(&lines);
    for kept in 1..12 {
        let run = piped(&["-q", "--accept", "any", "--keep", &format!("messages:{kept}")], &source);
        let after = sent(&run.stdout);
        let is_cut = run.stdout != source;
        assert!(!is_cut || after[0].as_str().is_some_and(|text| text.contains("summary")), "{kept}: {after:?}");
        let counted: Value = serde_json::from_str(&piped(&["count", "--json"], &run.stdout).stdout).expect("JSON");
        assert_eq!(counted["messages"], after.len(), "{kept}");
    }
}

#[test]
fn secrets_in_words_that_take_the_place_of_others_are_masked_in_the_summary() {
    let secret = "AKIAQ3EGR7PLMZX5T2KV";
    let mut lines = session();
    let edit = lines.iter_mut().find(|line| line["id"] == "e1").expect("an edit");
    edit["replacement"] = json!({"content": format!("Error: the access key {secret} was refused")});
    let source = written(&lines);
    for flags in [&["--keep", "messages:2"][..], &["--keep", "messages:2", "--prune", "all"]] {
        let plain = piped(&[&["-q", "--accept", "any"], flags].concat(), &source).stdout;
        assert!(plain.contains(secret), "the summary has the words that are sent: {plain}");
        let masked = piped(&[&["-q", "--accept", "any", "--redact"], flags].concat(), &source).stdout;
        assert!(masked.contains("was refused") && !masked.contains(secret), "{flags:?}: {masked}");
    }
}

#[test]
fn slim_takes_what_is_left_out_and_restore_puts_it_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("session.jsonl");
    let mut lines = session();
    let attempt = lines.iter_mut().find(|line| line["id"] == "a3").expect("an answer");
    attempt["message"]["content"][0]["text"] = json!(LEFT_OUT.repeat(40));
    let source = written(&lines);
    std::fs::write(&file, &source).expect("written");
    let path = file.to_str().expect("a path");
    let slim = crate::program::with(&["slim", "-q", "--force", path]);
    assert_eq!(slim.code, 0, "{slim:?}");
    let text = std::fs::read_to_string(&file).expect("read");
    assert!(text.len() < source.len() && !text.contains(LEFT_OUT), "{text}");
    assert_eq!(sent(&text), sent(&source));
    let back = crate::program::with(&["restore", "-q", "--force", "-i", &format!("{path}.cut.jsonl.zst"), path]);
    assert_eq!((back.code, std::fs::read_to_string(&file).expect("read")), (0, source), "{back:?}");
}
