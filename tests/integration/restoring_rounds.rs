//! `restore` where a conversation grew between rounds of compaction, whatever else its archive holds.

use std::fs;

use serde_json::{Value, json};

use crate::program::{Run, path, run, tcompact, with};
use crate::restoring::{compacted, records, rehashed};
use crate::support::turns;

const ROUNDS: usize = 3;

fn messages(who: &str, numbers: std::ops::Range<usize>) -> Vec<Value> {
    turns(numbers, |number| {
        format!("{who} waters bed {number}. {}", "It is dry there and needs much of it. ".repeat(4))
    })
}

fn lines(messages: &[Value]) -> String {
    messages.iter().map(|message| format!("{message}\n")).collect()
}

/// A session of lines with the name `who`: its texts before each round, and the last result.
struct Session {
    file: String,
    before: Vec<String>,
    result: String,
    whole: String,
}

/// Lets two sessions grow and compacts them in turns into one archive.
fn two_sessions(folder: &tempfile::TempDir, archive: &str) -> [Session; 2] {
    let mut sessions = ["Mia", "Tom"].map(|who| {
        let file = path(folder.path(), &format!("{who}.jsonl"));
        Session { file, before: Vec::new(), result: String::new(), whole: String::new() }
    });
    for round in 0..ROUNDS {
        for (session, who) in sessions.iter_mut().zip(["Mia", "Tom"]) {
            let gained = lines(&messages(who, round * 12..(round + 1) * 12));
            session.whole += &gained;
            session.before.push(session.result.clone() + &gained);
            fs::write(&session.file, &session.before[round]).expect("written");
            session.result = compacted(archive, &["--keep", "messages:4"], &session.file);
        }
    }
    sessions
}

fn restore(archive: &str, arguments: &[&str], text: &str) -> Run {
    run(tcompact().args(["restore", archive]).args(arguments), text.as_bytes())
}

#[test]
fn rounds_come_back_whatever_the_order_of_the_archive() {
    let folder = tempfile::tempdir().expect("a folder");
    let archive = path(folder.path(), "a.jsonl");
    let sessions = two_sessions(&folder, &archive);
    let text = fs::read_to_string(&archive).expect("an archive");
    let rounds: Vec<Value> = records(&archive).iter().map(|record| record["round"].clone()).collect();
    assert_eq!(rounds, [1, 1, 2, 2, 3, 3]);
    let backwards: String = text.lines().rev().map(|line| format!("{line}\n")).collect();
    let half = &text[..text.len() / 2 + 1];
    let ways = [
        ("as written", text.clone()),
        ("backwards", backwards),
        ("twice", text.repeat(2)),
        ("with a line that was cut off", format!("{half}\n{text}")),
        ("with a record that was cut off at the end", format!("{text}{half}")),
        ("with other lines", format!("[]\n7\n\n{text}{{\"source\": 7}}\n")),
    ];
    for (way, text) in ways {
        fs::write(&archive, text).expect("written");
        for session in &sessions {
            let more = lines(&messages("Eva", 0..3));
            let back = restore(&archive, &[], &(session.result.clone() + &more));
            assert_eq!((back.code, &back.stdout), (0, &(session.whole.clone() + &more)), "{way}: {back:?}");
            assert!(back.stderr.contains("3 rounds put back"), "{way}: {back:?}");
        }
    }
}

#[test]
fn fewer_rounds_come_back_where_fewer_are_asked_for_or_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let archive = path(folder.path(), "a.jsonl");
    let [session, _] = two_sessions(&folder, &archive);
    for number in 1..=ROUNDS {
        let back = restore(&archive, &["--rounds", &number.to_string()], &session.result);
        let gained_since = (ROUNDS - number + 1) * 12;
        let expected = session.before[ROUNDS - number].clone() + &lines(&messages("Mia", gained_since..ROUNDS * 12));
        assert_eq!((back.code, &back.stdout), (0, &expected), "{number}");
        assert!(!back.stderr.contains("has nothing of"), "{back:?}");
    }
    // The records of the first round are gone.
    let text = fs::read_to_string(&archive).expect("an archive");
    fs::write(&archive, text.lines().skip(2).map(|line| format!("{line}\n")).collect::<String>()).expect("written");
    let back = restore(&archive, &[], &session.result);
    assert_eq!(back.stdout, session.before[1].clone() + &lines(&messages("Mia", 24..36)));
    assert!(
        back.stderr.contains("2 rounds put back") && back.stderr.contains("a.jsonl has nothing of round 1\n"),
        "{back:?}"
    );
}

/// A run that repairs and compacts writes two records, and is one round.
#[test]
fn a_repair_is_of_the_round_that_it_came_with() {
    let folder = tempfile::tempdir().expect("a folder");
    let (archive, file) = (path(folder.path(), "a.jsonl"), path(folder.path(), "s.jsonl"));
    let orphan = json!({"role": "tool", "tool_call_id": "gone", "content": "a result without its call"});
    let text = lines(&[messages("Mia", 0..8), vec![orphan], messages("Mia", 8..12)].concat());
    fs::write(&file, &text).expect("written");
    let result = compacted(&archive, &["--keep", "messages:3", "--repair", "drop"], &file);
    assert_eq!(records(&archive).len(), 2);
    let back = restore(&archive, &["--rounds", "1"], &result);
    assert_eq!((back.code, back.stdout), (0, text));
}

#[test]
fn a_document_that_grew_gets_its_messages_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let (archive, file) = (path(folder.path(), "a.jsonl"), path(folder.path(), "chat.json"));
    let mut said = json!({"model": "m", "messages": messages("Mia", 0..12)});
    for round in 1..=2 {
        fs::write(&file, format!("{said:#}")).expect("written");
        let result = compacted(&archive, &["--keep", "messages:4", "--pin", "match:bed 5"], &file);
        said = serde_json::from_str(&result).expect("JSON");
        let list = said["messages"].as_array_mut().expect("messages");
        list.extend(messages("Mia", round * 12..(round + 1) * 12));
    }
    let back = restore(&archive, &[], &said.to_string());
    let value: Value = serde_json::from_str(&back.stdout).expect("JSON");
    assert_eq!(value, json!({"model": "m", "messages": messages("Mia", 0..36)}));
    assert!(back.stderr.contains("2 rounds put back; the text has grown since and begins with all"), "{back:?}");
    // Somebody changed the summary.
    let changed = said.to_string().replace("<summary>", "<summary> ");
    let back = restore(&archive, &[], &changed);
    assert_eq!((back.code, back.stdout.as_str()), (1, ""));
    assert!(back.stderr.contains("entry 1 of /messages is not as the run of "), "{back:?}");
}

#[test]
fn conversations_that_were_left_alike_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let archive = path(folder.path(), "a.jsonl");
    let summarizer = "echo All beds were watered.";
    let summarizer =
        ["--keep", "messages:2", "--summarizer-cmd", summarizer, "--ledger", "off", "--archive-note", "off"];
    let mut results = ["Mia", "Tom"].map(|who| {
        let file = path(folder.path(), &format!("{who}.json"));
        let said = [messages(who, 0..12), messages("Eva", 12..14)].concat();
        fs::write(&file, Value::from(said).to_string()).expect("written");
        (compacted(&archive, &summarizer, &file), file)
    });
    assert_eq!(results[0].0, results[1].0);
    for (result, file) in &mut results {
        let mut said: Vec<Value> = serde_json::from_str(result).expect("JSON");
        said.extend(messages("Eva", 14..16));
        let grown = format!("{:#}", Value::from(said));
        let back = restore(&archive, &[], &grown);
        assert_eq!((back.code, back.stdout.as_str()), (1, ""));
        let named = |line: usize| format!(" in line {line} of the archive");
        assert!(back.stderr.contains(&named(1)) && back.stderr.contains(&named(2)), "{back:?}");
        // A file that was cut at this path counts before others.
        fs::write(&*file, &grown).expect("written");
        let back = run(tcompact().args(["restore", &archive, file]), b"");
        let who = if file.contains("Mia") { "Mia" } else { "Tom" };
        let value: Value = serde_json::from_str(&back.stdout).expect("JSON");
        assert_eq!(value, Value::from([messages(who, 0..12), messages("Eva", 12..16)].concat()));
    }
}

/// A client may replace the system message in front, which stays as it is now. Whatever else it changes is refused.
#[test]
fn changes_of_a_client_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let (archive, file) = (path(folder.path(), "a.jsonl"), path(folder.path(), "chat.json"));
    let system = |text: &str| json!({"role": "system", "content": text});
    let said = [vec![system("S1"), system("S2")], messages("Mia", 0..12)].concat();
    fs::write(&file, Value::from(said.clone()).to_string()).expect("written");
    let result = compacted(&archive, &["--keep", "messages:3"], &file);
    let short: Vec<Value> = serde_json::from_str(&result).expect("JSON");
    assert_eq!(short.len(), 6);
    let with = |front: &[Value]| [front, &short[2..], &messages("Eva", 12..14)].concat();
    for front in [said[..2].to_vec(), vec![system("new"), system("S2")]] {
        let back = restore(&archive, &[], &Value::from(with(&front)).to_string());
        let value: Value = serde_json::from_str(&back.stdout).expect("JSON");
        assert_eq!(value, Value::from([&front, &said[2..], &messages("Eva", 12..14)].concat()));
    }
    for front in [
        vec![],
        said[..1].to_vec(),
        said[1..2].to_vec(),
        vec![system("S1"), system("new")],
        vec![system("new")],
        [&said[..1], &[system("new")], &said[1..2]].concat(),
    ] {
        let back = restore(&archive, &[], &Value::from(with(&front)).to_string());
        assert_eq!((back.code, back.stdout.as_str()), (1, ""), "{front:?}: {back:?}");
        let is_first_missing = front.is_empty() || front == said[1..2];
        let why = if is_first_missing { "the system message in front, which" } else { "entry 1 is not as the run of " };
        assert!(back.stderr.contains(why), "{front:?}: {back:?}");
    }
}

#[test]
fn a_shortened_message_that_was_edited_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let (archive, file) = (path(folder.path(), "a.jsonl"), path(folder.path(), "chat.json"));
    let said = calls(9);
    fs::write(&file, Value::from(said.clone()).to_string()).expect("written");
    let pruned = ["--keep", "messages:999", "--fit", "tokens:9000", "--prune", "results"];
    let result = compacted(&archive, &pruned, &file);
    let mut short: Vec<Value> = serde_json::from_str(&result).expect("JSON");
    let edited = format!("{} edited by hand", short[2]["content"].as_str().expect("text"));
    assert_ne!(short[2], said[2]);
    short[2]["content"] = edited.as_str().into();
    short.extend(messages("Eva", 0..2));
    let back = restore(&archive, &[], &format!("{:#}", Value::from(short)));
    assert_eq!((back.code, back.stdout.as_str()), (1, ""));
    assert!(back.stderr.contains("entry 2 is not as the run of "), "{back:?}");
}

/// A conversation with so many calls and long results.
fn calls(number: usize) -> Vec<Value> {
    let call = |id: usize| json!([{"id": format!("c{id}"), "type": "function", "function": {"name": "ls", "arguments": "{}"}}]);
    let pair = |id: usize| {
        let result = "a file and a folder, ".repeat(300);
        [
            json!({"role": "assistant", "content": null, "tool_calls": call(id)}),
            json!({"role": "tool", "tool_call_id": format!("c{id}"), "content": result}),
        ]
    };
    messages("Mia", 0..1).into_iter().chain((0..number).flat_map(pair)).collect()
}

/// A run that only prunes keeps the whole messages.
#[test]
fn pruned_messages_are_whole_in_the_archive() {
    let folder = tempfile::tempdir().expect("a folder");
    let (archive, file) = (path(folder.path(), "a.jsonl"), path(folder.path(), "chat.json"));
    let said = calls(9);
    fs::write(&file, Value::from(said.clone()).to_string()).expect("written");
    let result = compacted(&archive, &["--keep", "messages:999", "--fit", "tokens:9000", "--prune", "results"], &file);
    let record = &records(&archive)[0];
    let kept: Vec<Value> = record["messages"]
        .as_array()
        .expect("messages")
        .iter()
        .map(|one| serde_json::from_str(one.as_str().expect("text")).expect("JSON"))
        .collect();
    assert_eq!((record["round"].as_u64(), record.get("summary_sha256")), (Some(1), None));
    assert!(kept.len() >= 4 && kept.iter().all(|message| said.contains(message)), "{record}");
    assert_eq!(restore(&archive, &[], &result).stdout, Value::from(said).to_string());
}

/// DeepAgents writes other words around a summary, which the archive knows by its hash.
#[test]
fn rounds_count_whatever_a_preset_writes_around_a_summary() {
    for preset in ["deepagents", "langchain", "deerflow"] {
        let folder = tempfile::tempdir().expect("a folder");
        let (archive, file) = (path(folder.path(), "a.jsonl"), path(folder.path(), "chat.json"));
        let mut said = Vec::new();
        for round in 0..ROUNDS {
            said.extend(messages("Mia", round * 12..(round + 1) * 12));
            fs::write(&file, Value::from(said.clone()).to_string()).expect("written");
            let rules =
                ["--preset", preset, "--model", "extractive", "--trigger", "messages:2", "--keep", "messages:4"];
            let result = compacted(&archive, &rules, &file);
            assert!(!result.contains("] You are in the middle"), "its frame is not of the user: {result}");
            said = serde_json::from_str(&result).expect("JSON");
        }
        let rounds: Vec<Value> = records(&archive).iter().map(|record| record["round"].clone()).collect();
        assert_eq!(rounds, [1, 2, 3], "{preset}");
        let back = restore(&archive, &[], &format!("{:#}", Value::from(said)));
        let value: Value = serde_json::from_str(&back.stdout).expect("JSON");
        assert_eq!(value, Value::from(messages("Mia", 0..ROUNDS * 12)), "{preset}");
    }
}

/// A record whose messages are no messages any more writes no broken document.
#[test]
fn a_changed_record_breaks_no_document() {
    let folder = tempfile::tempdir().expect("a folder");
    let (archive, file) = (path(folder.path(), "a.jsonl"), path(folder.path(), "chat.json"));
    fs::write(&file, Value::from(messages("Mia", 0..12)).to_string()).expect("written");
    let mut said: Vec<Value> =
        serde_json::from_str(&compacted(&archive, &["--keep", "messages:4"], &file)).expect("JSON");
    said.extend(messages("Mia", 12..14));
    let text = fs::read_to_string(&archive).expect("an archive");
    fs::write(&archive, rehashed(&text.replacen("[\"{", "[\"garbage {", 1))).expect("written");
    let back = restore(&archive, &[], &Value::from(said).to_string());
    assert_eq!((back.code, back.stdout.as_str()), (1, ""), "{back:?}");
}

/// A folder that one archive was written for is put back as a whole; what was not compacted stays, and what was changed
/// since is refused alone.
#[test]
fn a_folder_is_put_back_in_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let logs = folder.path().join("logs");
    fs::create_dir(&logs).expect("a folder");
    let chat = |name: &str| {
        let messages =
            (0..30).map(|at| format!(r#"{{"role":"user","content":"{name} {at}: {}"}}"#, "word ".repeat(30)));
        format!("[{}]\n", messages.collect::<Vec<_>>().join(","))
    };
    let names = ["a.json", "b.json", "c.json"];
    for name in names {
        fs::write(logs.join(name), chat(name)).expect("written");
    }
    fs::write(logs.join("short.json"), r#"[{"role":"user","content":"hi"}]"#).expect("written");
    let (archive, logs_path) = (path(folder.path(), "cut.jsonl"), path(folder.path(), "logs"));
    let done = with(&["-q", "-i", "--keep", "messages:2", "--archive", &archive, &logs_path]);
    assert_eq!(done.code, 0, "{done:?}");
    let refused = with(&["restore", &archive, &logs_path]);
    let advice = format!("try: tcompact restore --in-place {archive} {logs_path}\n");
    assert!(refused.code == 2 && refused.stderr.ends_with(&advice), "{refused:?}");
    let changed = fs::read_to_string(logs.join("c.json")).expect("a file").replace("c.json 29", "c.json thirty");
    fs::write(logs.join("c.json"), &changed).expect("written");
    let restored = with(&["restore", "-i", &archive, &logs_path]);
    let said = format!("2 files put back by {archive}; 1 file not in it\n");
    assert!(restored.code == 7 && restored.stderr.contains("c.json: "), "{restored:?}");
    assert!(restored.stderr.ends_with(&said), "{restored:?}");
    for name in &names[..2] {
        assert_eq!(fs::read_to_string(logs.join(name)).expect("a file"), chat(name));
    }
    assert_eq!(fs::read_to_string(logs.join("c.json")).expect("a file"), changed);
    let again = with(&["restore", "-i", &archive, &path(&logs, "a.json")]);
    assert!(again.code == 1 && again.stderr.contains("it is as it was before it was compacted"), "{again:?}");
    // Wherever the folder is now; and what needs nothing is no failure.
    let moved = folder.path().join("moved");
    fs::rename(&logs, &moved).expect("moved");
    let refused = run(tcompact().current_dir(&moved).args(["restore", "-i", "../cut.jsonl", "."]), b"");
    assert!(refused.code == 7 && refused.stderr.contains("c.json: "), "{refused:?}");
    fs::remove_file(moved.join("c.json")).expect("removed");
    let whole = run(tcompact().current_dir(&moved).args(["restore", "-i", "../cut.jsonl", "."]), b"");
    assert!(whole.code == 0 && whole.stderr.contains("2 files needed nothing"), "{whole:?}");
    // Half an archive says nothing of what it lacks.
    let text = fs::read(&archive).expect("an archive");
    fs::write(&archive, &text[..text.len() / 2]).expect("written");
    let damaged = with(&["restore", "-i", &archive, &path(folder.path(), "moved")]);
    assert!(damaged.code == 7 && damaged.stderr.contains("not a record"), "{damaged:?}");
}
