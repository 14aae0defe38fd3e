//! The places that notes and `search` name by the id of a record, as `show` reads them.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::program::{FIXTURES, Run, path, run, tcompact};
use crate::restoring::records;

/// A session with long results of tools, which name it.
fn session(name: &str, calls: usize) -> Value {
    let mut messages = vec![json!({"role": "user", "content": format!("Read all files of {name}.")})];
    for call in 0..calls {
        let id = format!("{name}{call}");
        let function = json!({"name": "read", "arguments": format!("{{\"path\":\"{name}/{call}\"}}")});
        let calls = json!([{"id": id, "type": "function", "function": function}]);
        messages.push(json!({"role": "assistant", "content": null, "tool_calls": calls}));
        let text = format!("file {call} of {name}: {}", "a line of it\n".repeat(30));
        messages.push(json!({"role": "tool", "tool_call_id": id, "content": text}));
    }
    messages.push(json!({"role": "user", "content": "Go on."}));
    json!(messages)
}

fn written(file: &str, content: &Value) {
    fs::write(file, content.to_string()).expect("written");
}

fn tcompact_in(folder: &Path, arguments: &[&str]) -> Run {
    run(tcompact().current_dir(folder).args(arguments).arg("-q"), b"")
}

/// The places that notes in a text name, in order.
fn places(text: &str) -> Vec<&str> {
    let behind = text.split(" is kept in h.jsonl as ").skip(1);
    behind.filter_map(|rest| rest.split_once(']')).map(|(place, _)| place).collect()
}

/// Two sessions in one archive, each pruned twice, the second time once it grew.
#[test]
fn notes_of_several_sessions_and_prunes_lead_to_what_they_stand_for() {
    let home = tempfile::tempdir().expect("a folder");
    let folder = home.path();
    let prune = ["--prune", "results:1", "-m", "none", "--keep", "messages:1", "--archive", "h.jsonl"];
    let mut expected: Vec<(String, Value)> = Vec::new();
    for name in ["one", "two"] {
        let file = path(folder, &format!("{name}.json"));
        let mut messages = session(name, 4);
        for _ in 0..2 {
            written(&file, &messages);
            let done = tcompact_in(folder, &[&prune[..], &[&file]].concat());
            assert_eq!(done.code, 0, "{done:?}");
            let pruned: Value = serde_json::from_str(&done.stdout).expect("JSON");
            for (index, message) in pruned.as_array().expect("messages").iter().enumerate() {
                for place in places(message["content"].as_str().unwrap_or_default()) {
                    if !expected.iter().any(|(known, _)| known == place) {
                        expected.push((place.to_owned(), messages[index].clone()));
                    }
                }
            }
            let more = session(&format!("{name} again"), 3);
            messages = [pruned.as_array().expect("messages").clone(), more.as_array().expect("messages").clone()]
                .concat()
                .into();
        }
    }
    assert_eq!(expected.len(), 2 * (3 + 3), "{expected:?}");
    for (place, message) in &expected {
        let shown = tcompact_in(folder, &["show", place, "--json", "h.jsonl"]);
        let shown: Value = serde_json::from_str(&shown.stdout).unwrap_or_else(|_| panic!("{place}: {shown:?}"));
        assert_eq!(shown, json!([message]), "{place}");
    }
    // A search prints the same places, and a round has several records.
    let found = tcompact_in(folder, &["search", "^file ", "--json", "h.jsonl"]).stdout;
    let found: Vec<Value> = found.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let mut found: Vec<&str> = found.iter().map(|row| row["index"].as_str().expect("a place")).collect();
    let mut known: Vec<&str> = expected.iter().map(|(place, _)| &**place).collect();
    found.sort_unstable();
    known.sort_unstable();
    assert_eq!(found, known);
    let refused = tcompact_in(folder, &["show", "1:2", "h.jsonl"]);
    assert!(refused.code == 2 && refused.stderr.contains("4 records of this round; name one: "), "{refused:?}");
    for record in records(&path(folder, "h.jsonl")) {
        assert!(refused.stderr.contains(&format!("{}:2 of ", record["id"].as_str().expect("an id"))), "{refused:?}");
    }
}

/// Conversations in a stream of lines, of which two are equal, and a text that is not UTF-8.
#[test]
fn ids_are_of_the_line_and_of_its_bytes() {
    let home = tempfile::tempdir().expect("a folder");
    let folder = home.path();
    let [one, two] = ["one", "two"].map(|name| session(name, 4).to_string());
    fs::write(folder.join("chats.jsonl"), format!("{one}\n{two}\r\n{one}\n")).expect("written");
    let prune = ["--prune", "results:1", "-m", "none", "--keep", "messages:1", "--archive", "h.jsonl"];
    let done = tcompact_in(folder, &[&prune[..], &["chats.jsonl"]].concat());
    for (line, text) in done.stdout.lines().zip([&one, &two, &one]) {
        let messages: Vec<Value> = serde_json::from_str(text).expect("JSON");
        assert_eq!(places(line).len(), 3, "{done:?}");
        for place in places(line) {
            let index: usize = place.split_once(':').expect("a place").1.parse().expect("an index");
            let shown = tcompact_in(folder, &["show", place, "--json", "h.jsonl"]);
            assert_eq!(shown.stdout, format!("[{}]\n", messages[index]), "{shown:?}");
        }
    }
    for record in records(&path(folder, "h.jsonl")) {
        assert_eq!(record["id"], record["original_sha256"].as_str().expect("a hash")[..8]);
    }
    let mut bytes = fs::read(Path::new(FIXTURES).join("codex/rollout.jsonl")).expect("a fixture");
    bytes.extend(b"{\"type\":\"x\",\"y\":\"\xff\"}\n");
    fs::write(folder.join("codex.jsonl"), &bytes).expect("written");
    let rules = ["--keep", "messages:1", "--accept", "any", "--archive", "p.jsonl", "-o", "out.jsonl", "codex.jsonl"];
    let done = tcompact_in(folder, &rules);
    assert_eq!(done.code, 0, "{done:?}");
    let out = fs::read(folder.join("out.jsonl")).expect("a result");
    let record = records(&path(folder, "p.jsonl")).remove(0);
    assert_eq!(record["id"], record["original_sha256"].as_str().expect("a hash")[..8]);
    let named = format!("(record {})", record["id"].as_str().expect("an id"));
    assert!(String::from_utf8_lossy(&out).contains(&named), "{done:?}");
}

/// What is pruned beside a summary is in the archive, whatever is written, and also where nothing is restored from it.
#[test]
fn every_kind_of_output_keeps_what_its_notes_name() {
    let home = tempfile::tempdir().expect("a folder");
    let folder = home.path();
    let file = path(folder, "one.json");
    let messages = session("one", 12);
    written(&file, &messages);
    let mut with_notes = 0;
    for emit in [&[][..], &["--emit", "update"], &["--emit", "handoff"]] {
        for rules in [&["--fit", "tokens:1200"][..], &["--prune", "results:1", "-m", "none", "--keep", "messages:1"]] {
            for archive in ["h.jsonl", "h.md"] {
                let _ = fs::remove_file(folder.join(archive));
                let done = tcompact_in(folder, &[rules, emit, &["--archive", archive, &file]].concat());
                assert_eq!(done.code, 0, "{done:?}");
                let kept = fs::read_to_string(folder.join(archive)).expect("an archive");
                let notes = done.stdout.matches(&format!("is kept in {archive}")).count();
                with_notes += usize::from(notes > 0);
                for place in places(&done.stdout) {
                    let index: usize = place.split_once(':').expect("a place").1.parse().expect("an index");
                    let shown = tcompact_in(folder, &["show", place, "--json", archive]);
                    assert_eq!(shown.stdout, format!("[{}]\n", messages[index]), "{emit:?} {rules:?}: {shown:?}");
                }
                if archive == "h.jsonl" {
                    assert_eq!(places(&done.stdout).len(), notes, "{done:?}");
                } else {
                    assert!(kept.matches("a line of it\na line of it").count() >= notes, "{emit:?} {rules:?}: {kept}");
                }
            }
        }
    }
    // A handoff has room for more without the marks of a format.
    assert_eq!(with_notes, 10);
}

/// A repeated run with other settings has the same id for the same text. Only an altered record has another message at
/// an index.
#[test]
fn equal_ids_are_of_one_text() {
    let home = tempfile::tempdir().expect("a folder");
    let folder = home.path();
    let file = path(folder, "one.json");
    let messages = session("one", 6);
    written(&file, &messages);
    for keep in ["messages:8", "messages:3"] {
        let done = tcompact_in(folder, &["--keep", keep, "--accept", "any", "--archive", "h.jsonl", &file]);
        assert_eq!(done.code, 0, "{done:?}");
    }
    let [first, second] = <[Value; 2]>::try_from(records(&path(folder, "h.jsonl"))).expect("two records");
    assert_eq!(first["id"], second["id"]);
    let id = first["id"].as_str().expect("an id");
    let shown = |places: &str| tcompact_in(folder, &["show", places, "--json", "h.jsonl"]);
    assert_eq!(shown(&format!("{id}:2")).stdout, format!("[{}]\n", messages[2]));
    assert_eq!(shown(&format!("{id}:2-3")).stdout, format!("[{},\n{}]\n", messages[2], messages[3]));
    let last = second["messages"].as_array().and_then(|all| all.last()).and_then(Value::as_str).expect("a message");
    assert_eq!(shown(&format!("{id}:last")).stdout, format!("[{last}]\n"));
    // Places of a search lead to one record.
    let found = tcompact_in(folder, &["search", "^file 0 ", "--json", "h.jsonl"]).stdout;
    assert!(found.contains("\"index\":\"#1:2\"") && found.contains("\"index\":\"#2:2\""), "{found}");
    let text = fs::read_to_string(folder.join("h.jsonl")).expect("an archive");
    let (one, two) = text.split_once('\n').expect("two records");
    fs::write(folder.join("h.jsonl"), format!("{}\n{two}", one.replace("file 0", "file X"))).expect("written");
    let refused = shown(&format!("{id}:2"));
    assert!(refused.code == 2 && refused.stderr.contains("2 records with this id; name one: #1:2 of "), "{refused:?}");
    for (place, why) in [("00000000:2", "there is no such message"), (&*format!("{id}:99"), "it was not cut then")] {
        let missing = shown(place);
        assert!(missing.code == 2 && missing.stderr.contains(why), "{missing:?}");
    }
    let missing = tcompact_in(folder, &["show", "00000000:2", &file]);
    assert!(missing.code == 2 && missing.stderr.contains("only an archive has records"), "{missing:?}");
}

/// A text that was pruned before it was summarized, in the same round: its digest's places are those of the round.
#[test]
fn the_round_names_what_was_summarized() {
    let home = tempfile::tempdir().expect("a folder");
    let folder = home.path();
    let file = path(folder, "one.json");
    written(&file, &session("one", 9));
    let pruned = tcompact_in(
        folder,
        &["--prune", "results:1", "-m", "none", "--keep", "messages:1", "--archive", "h.jsonl", &file],
    );
    fs::write(&file, &pruned.stdout).expect("written");
    let done = tcompact_in(folder, &["--keep", "messages:3", "--accept", "any", "--archive", "h.jsonl", &file]);
    assert_eq!(done.code, 0, "{done:?}");
    let shown = |place: &str| tcompact_in(folder, &["show", place, "h.jsonl"]).stdout;
    let note = "  [tcompact: read result removed, ";
    assert!(shown("1:2").starts_with(&format!("[1:2] tool read ← [1:1]\n{note}")), "{}", shown("1:2"));
    let place = places(&pruned.stdout)[0];
    let (id, _) = place.split_once(':').expect("a place");
    // The record has no call, so nothing leads to one.
    assert!(shown(place).starts_with(&format!("[{id}:2] tool\n  file 0 of one: ")), "{}", shown(place));
}

/// A dry run plans with the note that the run writes.
#[test]
fn a_dry_run_says_the_sizes_of_the_run() {
    let home = tempfile::tempdir().expect("a folder");
    let folder = home.path();
    written(&path(folder, "one.json"), &session("one", 9));
    let rules = ["--prune", "results:1", "-m", "none", "--keep", "messages:1", "--archive", "h.jsonl", "one.json"];
    let planned = tcompact_in(folder, &[&["--dry-run", "--json"], &rules[..]].concat());
    assert!(!folder.join("h.jsonl").exists(), "{planned:?}");
    let planned: Value = serde_json::from_str(&planned.stdout).expect("JSON");
    let done = tcompact_in(folder, &[&["--report", "r.jsonl", "-o", "out.json"], &rules[..]].concat());
    assert_eq!(done.code, 0, "{done:?}");
    let row = fs::read_to_string(folder.join("r.jsonl")).expect("a report");
    let row: Value = serde_json::from_str(&row).expect("JSON");
    assert_eq!(planned["prune"], row["prune"]);
    let saved = planned["prune"]["results"]["tokens"].as_u64().expect("tokens");
    assert_eq!(row["tokens"].as_u64().map(|tokens| tokens - saved), row["tokens_after"].as_u64(), "{row}");
}
