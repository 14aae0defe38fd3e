//! The places that notes and `search` name by the id of a record, as `show` reads them.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::program::{FIXTURES, Run, path, run, shell, tcompact};
use crate::restoring::{records, rehashed};

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
    let behind = text.split("; to see all: tcompact show ").skip(1);
    behind.filter_map(|rest| rest.split_once(" h.jsonl")).map(|(place, _)| place).collect()
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
                let note = if archive == "h.md" { "; it is kept in h.md" } else { "; to see all: tcompact show " };
                let notes = done.stdout.matches(note).count();
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

/// A session with a failed command, whose error stands in the middle of its output, and a file that is read twice.
fn failed_session() -> Value {
    let lines = |what: &str| (0..400).map(|at| format!("{what} {at}\n")).collect::<String>();
    let error =
        format!("{}ModuleNotFoundError: No module named 'yaml'\n{}exit code 1", lines("before"), lines("behind"));
    let mut messages = vec![json!({"role": "user", "content": "Run the tests."})];
    for (name, arguments, output) in [
        ("bash", json!({"command": "make test"}), error),
        ("read", json!({"path": "a.txt"}), lines("line")),
        ("read", json!({"path": "a.txt"}), lines("line")),
    ] {
        let id = format!("c{}", messages.len());
        let function = json!({"name": name, "arguments": arguments.to_string()});
        let calls = json!([{"id": id, "type": "function", "function": function}]);
        messages.push(json!({"role": "assistant", "content": null, "tool_calls": calls}));
        messages.push(json!({"role": "tool", "tool_call_id": id, "content": output}));
    }
    messages.push(json!({"role": "user", "content": "Go on."}));
    json!(messages)
}

/// Whatever a rule left of a result, its note ends with the command that shows all of it, and names the error.
#[test]
fn the_note_of_a_pruned_result_has_the_command_that_shows_it() {
    let home = tempfile::tempdir().expect("a folder");
    let folder = home.path();
    let messages = failed_session();
    written(&path(folder, "one.json"), &messages);
    const ERROR: &str = "ModuleNotFoundError: No module named 'yaml'";
    for (archive, rules, notes, error) in [
        (
            "h.jsonl",
            "--prune results:0",
            3,
            "; it said: ModuleNotFoundError: No module named 'yaml'; it ended: behind 399; exit code 1; to see all: ",
        ),
        ("my h.jsonl.gz", "--prune results:0 --redact", 3, "; it ended: "),
        (
            "h.jsonl",
            "--prune cap:300",
            3,
            " lines left out; among them: ModuleNotFoundError: No module named 'yaml'; to see all: ",
        ),
        ("h.jsonl", "--prune reads", 1, ""),
        ("h.jsonl", "--fit tokens:4k -m none --pin none", 2, ERROR),
    ] {
        let _ = fs::remove_file(folder.join(archive));
        let keep = if rules.contains("--fit") { "" } else { "--keep messages:1 -m none" };
        let done = run(&mut shell(&format!("tcompact -q {rules} {keep} --archive '{archive}' one.json"), folder), b"");
        assert_eq!(done.code, 0, "{done:?}");
        let pruned: Value = serde_json::from_str(&done.stdout).expect("JSON");
        let mut found = 0;
        for (index, message) in pruned.as_array().expect("messages").iter().enumerate() {
            let text = message["content"].as_str().unwrap_or_default();
            let Some((_, rest)) = text.split_once("; to see all: ") else { continue };
            let command = rest.split_once("]").expect("the end of the note").0;
            let shown = run(&mut shell(&format!("{command} --json"), folder), b"");
            assert_eq!(shown.stdout, format!("[{}]\n", messages[index]), "{command}: {shown:?}");
            assert!(index != 2 || text.contains(error), "{rules}: {text}");
            found += 1;
        }
        assert_eq!(found, notes, "{rules}: {done:?}");
        fs::write(folder.join("short.json"), &done.stdout).expect("written");
        let back = run(&mut shell(&format!("tcompact restore '{archive}' short.json"), folder), b"");
        assert_eq!(back.stdout, messages.to_string(), "{rules}: {back:?}");
    }
    // Whoever reads the notes has no such command.
    for note in ["off", "ask me"] {
        let line = format!(
            "tcompact -q --prune results:0 --keep messages:1 -m none --archive x.jsonl --archive-note '{note}' one.json"
        );
        let done = run(&mut shell(&line, folder), b"");
        assert_eq!(
            (done.stdout.matches("; it is kept in x.jsonl as ").count(), done.stdout.matches("tcompact show").count()),
            (3, 0),
            "{done:?}"
        );
    }
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
    fs::write(folder.join("h.jsonl"), format!("{}{two}", rehashed(&one.replace("file 0", "file X")))).expect("written");
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
