//! The hash that each record of an archive has of its line: a byte that changed in it gives no wrong text.

use std::fs;

use serde_json::{Value, json};

use crate::all_cases::one_in;
use crate::program::{path, run, tcompact, with};
use crate::restoring::{pack, records, rehashed};
use crate::restoring_runs::{
    Session, assert_refused, assert_restored, assistant, long, messages, orphan, run_on, user, write,
};

const NAMES: [&str; 2] = ["s.json", "s.jsonl"];

fn said() -> Vec<Value> {
    vec![user(&long("Bed 1")), assistant(&long("Watered")), user(&long("Bed 2")), assistant("Done.")]
}

fn grown(number: usize) -> Vec<Value> {
    let secret = format!("Deploy with DB_PASSWORD=Kx7mQ2vRt7Lw4zz{number} please.");
    vec![user(&secret), orphan(&number.to_string()), assistant(&long("Deployed")), user("Next.")]
}

/// A session of which the archive has three runs, and all states of it that `restore` may give back.
fn three_runs(name: &'static str) -> (Session, Vec<Vec<Value>>) {
    let session = Session::new(name, &said());
    let mut states = vec![said()];
    let runs: [&[&str]; 3] = [&["--keep", "messages:1"], &["repair", "drop"], &["--keep", "messages:2"]];
    for (number, arguments) in runs.into_iter().enumerate() {
        if number > 0 {
            session.grow(&grown(number));
            for state in &mut states {
                state.extend(grown(number));
            }
            states.push(session.messages());
        }
        session.run(arguments);
    }
    (session, states)
}

/// Changes of an archive: one byte of it, one digit, or two bytes that stand beside each other.
fn changed_at(archive: &[u8], at: usize) -> [Vec<u8>; 3] {
    let (mut bit, mut digit, mut swapped) = (archive.to_vec(), archive.to_vec(), archive.to_vec());
    bit[at] ^= 1 << (at % 8);
    digit[at] = if digit[at] == b'7' { b'3' } else { b'7' };
    swapped.swap(at, (at + 1).min(archive.len() - 1));
    [bit, digit, swapped]
}

#[test]
fn a_changed_byte_gives_an_earlier_text_or_none() {
    for name in NAMES {
        let (session, states) = three_runs(name);
        let archive = fs::read(session.archive()).expect("an archive");
        let shown = with(&["search", ".", "--json", "--limit", "1000", &session.archive()]).stdout;
        let shown: Vec<&str> = shown.lines().map(of_message).collect();
        let (mut refused, mut number) = (0, 0);
        for at in (0..archive.len()).step_by(7 * one_in()) {
            for (way, changed) in changed_at(&archive, at).into_iter().enumerate() {
                fs::write(session.archive(), &changed).expect("written");
                let back = session.restore();
                let what = format!("{name} {at} {way}");
                match back.code {
                    0 => assert!(states.contains(&messages(&back.stdout)), "{what}: {back:?}"),
                    _ => assert_eq!((back.code, back.stdout.as_str()), (1, ""), "{what}: {back:?}"),
                }
                refused += usize::from(back.code == 1);
                let found = with(&["search", ".", "--json", "--limit", "1000", &session.archive()]);
                assert!([0, 3].contains(&found.code), "{what}: {found:?}");
                for line in found.stdout.lines() {
                    assert!(shown.contains(&of_message(line)), "{what}: {line}");
                }
                number += 1;
            }
        }
        assert!(refused > number / 3, "{name}: {refused} of {number}");
    }
}

/// A hit of a search without its place, which other records decide, too.
fn of_message(hit: &str) -> &str {
    hit.split_once("\"role\":").expect("a role").1
}

#[test]
fn a_damaged_record_is_named_and_not_shown() {
    let (session, states) = three_runs("s.jsonl");
    let text = fs::read_to_string(session.archive()).expect("an archive");
    let [first, _, third] = <[Value; 3]>::try_from(records(&session.archive())).expect("three records");
    let damaged = text.replacen("\"indices\":[0,1,2]", "\"indices\":[0,1,3]", 1);
    assert_ne!(damaged, text);
    let all_left = session.messages();
    for end in ["", ".gz", ".zst"] {
        let archive = session.archive() + end;
        fs::write(&archive, pack(&damaged, end.trim_start_matches('.'))).expect("written");
        let why = format!("tcompact: {archive}: line 1 was changed or damaged, as its hash shows");
        let found = with(&["search", ".", &archive]);
        assert!(found.code == 0 && found.stderr.starts_with(&why), "{found:?}");
        assert!(!found.stdout.contains("[1:"), "{found:?}");
        for place in ["#1:0", &*format!("{}:0", first["id"].as_str().expect("an id"))] {
            let shown = with(&["show", place, &archive]);
            assert!(shown.code == 2 && shown.stdout.is_empty() && shown.stderr.starts_with(&why), "{shown:?}");
        }
        let other = format!("{}:1", third["id"].as_str().expect("an id"));
        let shown = with(&["show", &other, &archive]);
        assert!(shown.code == 0 && !shown.stdout.is_empty() && shown.stderr.starts_with(&why), "{shown:?}");
        // The later runs come back, as their records are whole.
        let restore = |rounds: &[&str]| with(&[&["restore", &archive, &session.file()], rounds].concat());
        for (rounds, state) in [(&[][..], &states[1]), (&["--rounds", "1"], &states[2])] {
            let back = restore(rounds);
            assert_restored(&back, state, end);
            assert!(back.stderr.contains(&why), "{back:?}");
        }
        // Nothing tells what the first run changed.
        let left = messages(&restore(&[]).stdout);
        write(&session.file(), &left);
        assert_refused(&restore(&[]), "line 1 was changed or damaged", end);
        write(&session.file(), &all_left);
    }
}

#[test]
fn a_later_run_in_another_archive_is_told_by_a_damaged_record() {
    for name in NAMES {
        let session = Session::new(name, &said());
        session.run(&["--keep", "messages:1"]);
        session.grow(&grown(1));
        let other = session.file() + ".cut.jsonl";
        run_on(&other, &session.file(), &["redact"]);
        let text = fs::read_to_string(&other).expect("an archive");
        fs::write(&other, text.replacen("\"source\":\"", "\"source\":\"x", 1)).expect("written");
        assert_refused(&session.restore(), "a later run on it is in ", name);
        let back = with(&["restore", &other, &session.file()]);
        assert_refused(&back, "line 1 was changed or damaged, as its hash shows", name);
    }
}

/// A call with a long result.
fn log() -> Vec<Value> {
    let call = json!({"id": "c1", "type": "function", "function": {"name": "log", "arguments": "{}"}});
    vec![
        json!({"role": "assistant", "content": "I look.", "tool_calls": [call]}),
        json!({"role": "tool", "tool_call_id": "c1", "content": "a line of the log\n".repeat(99)}),
        assistant("It is dry."),
    ]
}

#[test]
fn every_command_writes_hashes() {
    for arguments in [
        &["--keep", "messages:1"][..],
        &["--keep", "messages:1", "--redact"],
        &["--keep", "messages:1", "--repair", "drop"],
        &["--prune", "results:messages:2", "-m", "none", "--keep", "messages:2"],
        &["--fit", "tokens:150"],
        &["repair", "drop"],
        &["redact"],
    ] {
        let session = Session::new("s.json", &[said(), log(), grown(1)].concat());
        let found = session.messages();
        session.run(arguments);
        let text = fs::read_to_string(session.archive()).unwrap_or_default();
        assert!(!text.is_empty(), "{arguments:?}");
        assert!(text.lines().all(|record| record.contains(",\"hash\":\"")), "{arguments:?}: {text}");
        assert_eq!(rehashed(&text), text, "{arguments:?}");
        assert_restored(&session.restore(), &found, &format!("{arguments:?}"));
    }
    let folder = tempfile::tempdir().expect("a folder");
    let archive = path(folder.path(), "h.jsonl");
    let text = Value::from([said(), grown(1)].concat()).to_string();
    let update =
        run(tcompact().args(["--keep", "messages:1", "--emit", "update", "--archive", &archive]), text.as_bytes());
    let text = fs::read_to_string(&archive).expect("an archive");
    assert!(update.code == 0 && text.contains(",\"hash\":\"") && rehashed(&text) == text, "{update:?}: {text}");
}

/// Older versions wrote no hash.
#[test]
fn a_record_without_a_hash_is_read() {
    for name in NAMES {
        let (session, states) = three_runs(name);
        let mut text = String::new();
        for mut record in records(&session.archive()) {
            record.as_object_mut().expect("a record").remove("hash");
            text += &format!("{record}\n");
        }
        let search = || with(&["search", ".", "--json", &session.archive()]).stdout;
        let found = search();
        fs::write(session.archive(), text).expect("written");
        assert_eq!(search(), found, "{name}");
        let back = session.restore();
        assert_restored(&back, &states[0], name);
        assert!(!back.stderr.contains("hash"), "{back:?}");
    }
}
