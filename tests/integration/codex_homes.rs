//! Sessions in a home of Codex that depend on the bytes of each other, and the database with places in them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::program::{Run, run, tcompact};

/// The ids in the names of a session, of the same taken back, of a fork of that, and of a session alone.
const IDS: [&str; 4] = [
    "0196f0e2-1c1b-7c3e-9a53-2f4b7c8d9e00",
    "0196f0e2-1c1b-7c3e-9a53-2f4b7c8d9e00_0196f0e2-1c1b-7c3e-9a53-2f4b7c8d9e01",
    "0196f0e2-1c1b-7c3e-9a53-2f4b7c8d9e02",
    "0196f0e2-1c1b-7c3e-9a53-2f4b7c8d9e03",
];

fn line(kind: &str, payload: &str) -> String {
    format!(r#"{{"timestamp":"2026-01-07T10:00:00.000Z","type":"{kind}","payload":{payload}}}"#) + "\n"
}

/// A session of some messages. Its base is an id and a number of bytes.
fn session(base: Option<(&str, u64)>) -> String {
    let base =
        base.map(|(thread, bytes)| format!(r#","history_base":{{"thread_id":"{thread}","end_byte_offset":{bytes}}}"#));
    let mut text = line("session_meta", &format!(r#"{{"id":"s","cwd":"/w"{}}}"#, base.unwrap_or_default()));
    let size = r#"{"type":"token_count","info":null,"rate_limits":{"primary":null}}"#;
    for turn in 0..6 {
        for role in ["user", "assistant"] {
            let said = format!("What the {role} says in turn {turn}, at some length. ").repeat(4);
            let message =
                format!(r#"{{"type":"message","role":"{role}","content":[{{"type":"input_text","text":"{said}"}}]}}"#);
            text += &line("response_item", &message);
        }
        text += &line("event_msg", size);
    }
    text
}

/// A home with the sessions; the fork is archived.
fn home() -> (tempfile::TempDir, [PathBuf; 4]) {
    let home = tempfile::tempdir().expect("a folder");
    let bases = [None, Some((IDS[0], 1000)), Some((&IDS[1][37..], 500)), None];
    let mut number = 0;
    let files = IDS.map(|id| {
        let folder = if number == 2 { "archived_sessions" } else { "sessions/2026/01/07" };
        let file = home.path().join(folder).join(format!("rollout-2026-01-07T10-00-00-{id}.jsonl"));
        fs::create_dir_all(file.parent().expect("a folder")).expect("made");
        fs::write(&file, session(bases[number])).expect("written");
        number += 1;
        file
    });
    (home, files)
}

fn compact(file: &Path, more: &[&str]) -> Run {
    run(tcompact().args(["--keep", "messages:2", "--accept", "any", "-i"]).args(more).arg(file), b"")
}

fn slim(place: &Path, more: &[&str]) -> Run {
    run(tcompact().args(["slim", "--no-archive"]).args(more).arg(place), b"")
}

fn read(file: &Path) -> String {
    fs::read_to_string(file).expect("a session")
}

#[test]
fn a_session_in_which_another_begins_is_not_replaced() {
    let (_home, [first, back, fork, alone]) = home();
    for (file, follower) in [(&first, &back), (&back, &fork)] {
        let before = read(file);
        // The one that was taken back is refused for its own beginning first.
        let refused = if file == &first { vec![compact(file, &[]), slim(file, &[])] } else { vec![slim(file, &[])] };
        for done in refused {
            let name = follower.file_name().expect("a name").to_string_lossy();
            assert!(done.code == 1 && done.stderr.contains("begins with bytes of it"), "{done:?}");
            assert!(done.stderr.contains(&*name) && done.stderr.contains("--force"), "{done:?}");
        }
        assert_eq!(read(file), before);
        assert_eq!(slim(file, &["--force"]).code, 0);
        assert_ne!(read(file), before);
    }
    assert_eq!(compact(&first, &["--force"]).code, 0);
    for file in [&fork, &alone] {
        assert_eq!(slim(file, &[]).code, 0);
    }
    assert_eq!(compact(&alone, &[]).code, 0);
    // Another result takes nothing away.
    let (_home, [first, ..]) = home();
    let printed = run(tcompact().args(["--keep", "messages:2", "--accept", "any"]).arg(&first), b"");
    assert!(printed.code == 0 && printed.stdout.contains("summary"), "{printed:?}");
}

#[test]
fn a_session_that_was_forked_after_a_cut_is_not_put_back() {
    let (home, [first, back, ..]) = home();
    let fork = read(&back);
    fs::remove_file(&back).expect("removed");
    let archive = home.path().join("cut.jsonl").display().to_string();
    assert_eq!(compact(&first, &["--archive", &archive]).code, 0);
    let cut = read(&first);
    fs::write(&back, fork).expect("written");
    let restore = |more: &[&str]| run(tcompact().args(["restore", "-i", &archive]).args(more).arg(&first), b"");
    let refused = restore(&[]);
    assert!(refused.code == 1 && refused.stderr.contains("begins with bytes of it"), "{refused:?}");
    assert_eq!(read(&first), cut);
    assert_eq!(restore(&["--force"]).code, 0);
    assert_eq!(read(&first), session(None));
}

#[test]
fn a_folder_is_worked_on_without_such_sessions() {
    let (home, [first, back, _, alone]) = home();
    let before = [&first, &back, &alone].map(|file| read(file));
    let done = slim(home.path(), &[]);
    assert!(done.code == 0 && done.stderr.contains("is left alone: the session "), "{done:?}");
    assert_eq!([&first, &back].map(|file| read(file)), before[..2]);
    assert_ne!(read(&alone), before[2]);
    let done = compact(home.path(), &[]);
    assert!(done.stderr.contains("is not replaced: the session "), "{done:?}");
    assert_eq!([&first, &back].map(|file| read(file)), before[..2]);
}

#[test]
fn the_end_of_a_conversation_is_not_compacted() {
    let (_home, [_, back, ..]) = home();
    let before = read(&back);
    let done = compact(&back, &[]);
    assert!(done.stderr.contains("only the end of a conversation, whose first 1000 bytes are in"), "{done:?}");
    assert_eq!(read(&back), before);
    for command in [&["count"][..], &["show", "last"]] {
        let done = run(tcompact().args(command).arg(&back), b"");
        let warning = format!("the first 1000 bytes of the conversation are in the session {}", IDS[0]);
        assert!(done.code == 0 && done.stderr.contains(&warning), "{done:?}");
    }
}

#[test]
fn a_database_with_places_in_sessions_is_named_once() {
    let (home, [_, _, _, alone]) = home();
    fs::write(home.path().join("thread_history_1.sqlite"), "").expect("written");
    let archive = home.path().join("cut.jsonl").display().to_string();
    let warns = |done: &Run| {
        assert_eq!(done.code, 0, "{done:?}");
        done.stderr.matches("thread_history_1.sqlite, which still has the places before").count()
    };
    assert_eq!(warns(&compact(&alone, &["--archive", &archive])), 1);
    let restored = run(tcompact().args(["restore", "-i", &archive]).arg(&alone), b"");
    assert_eq!(warns(&restored), 1);
    assert_eq!(warns(&slim(home.path(), &["-n"])), 0);
    assert_eq!(warns(&slim(home.path(), &[])), 1);
    assert_eq!(warns(&compact(&alone, &["-q"])), 0);
}
