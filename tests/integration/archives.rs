//! `--archive X.jsonl`: several writers of one archive, and archives that `restore` refuses.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::all_cases::share;
use crate::program::{FIXTURES, path, run, tcompact, with};
use crate::restoring::{assert_goes_back, compacted, records, rehashed, restored};

/// The hash that `sha256sum` prints for `abc`; records have the same.
const OF_ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

pub(crate) fn sha256(text: &str) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn restore_refuses_archives_that_do_not_match() {
    let folder = tempfile::tempdir().expect("a folder");
    let archive = path(folder.path(), "archive.jsonl");
    let out = path(folder.path(), "out.json");
    let name = "agent-session.json";
    let text = fs::read_to_string(Path::new(FIXTURES).join(name)).expect("a fixture");
    let result = compacted(&archive, &["--keep", "messages:4"], name);
    let good = fs::read_to_string(&archive).expect("an archive");
    let refused = |text: &str, why: &str| {
        let run = run(tcompact().args(["restore", &archive, "-o", &out]), text.as_bytes());
        assert_eq!((run.code, run.stdout.as_str()), (1, ""), "{run:?}");
        assert!(run.stderr.contains(why), "{why}: {run:?}");
        assert!(!Path::new(&out).exists());
    };
    let nothing = "has nothing that was cut from this text";
    refused(&text, "it is as it was before it was compacted");
    let changed = result.replacen("<summary>", "<summary> ", 1);
    refused(&changed, nothing);
    fs::write(&archive, rehashed(&good.replacen("user", "uses", 1))).expect("written");
    refused(&result, "the hash differs");
    fs::write(&archive, "").expect("written");
    refused(&result, nothing);
    compacted(&archive, &["--keep", "messages:4", "--emit", "update"], "langchain/thread.json");
    assert!(records(&archive).iter().all(|record| record.get("put_back").is_none()));
    refused("null\n", "of --emit update");
    // Half a record does not affect the others.
    fs::write(&archive, format!("{}\n{good}{}", &good[..300], &good[..good.len() / 2])).expect("written");
    let run = run(tcompact().args(["restore", &archive]), result.as_bytes());
    assert!(run.stdout == text, "{run:?}");
    assert_eq!(run.stderr, format!("tcompact: {archive}: 2 lines of it are not records; the first is line 1\n"));
    refused(&text, "2 lines of it are not records");
    fs::write(&archive, "\u{feff}7\n\0\n{\"source\":").expect("written");
    refused(&result, "3 lines of it are not records; the first is line 1");
}

/// A forged archive causes nothing but an error.
#[test]
fn hostile_archives_only_fail() {
    let folder = tempfile::tempdir().expect("a folder");
    let archive = path(folder.path(), "archive.jsonl");
    let text = "aébc";
    let hash = sha256;
    assert_eq!(hash("abc"), OF_ABC);
    let largest = u64::MAX;
    let edit = |offset: u64, bytes: u64, pieces: Value| json!({"offset": offset, "bytes": bytes, "pieces": pieces});
    let changed = [
        json!([edit(6, 0, json!([]))]),
        json!([edit(largest, 1, json!([]))]),
        json!([edit(1, largest, json!([]))]),
        json!([edit(2, 0, json!(["x"]))]),
        json!([edit(1, 1, json!(["x"]))]),
        json!([edit(0, 3, json!([])), edit(1, 3, json!([]))]),
        json!([edit(0, 0, json!([0, 0]))]),
        json!([edit(0, 0, json!([1]))]),
        json!([edit(0, 0, json!([largest]))]),
        json!([edit(0, 0, json!([-1]))]),
        json!([edit(0, 0, json!([1.5]))]),
        json!([edit(0, 0, json!([null]))]),
        json!([edit(0, 0, json!(["x"]))]),
        json!([{"offset": -1, "bytes": 0, "pieces": []}]),
        json!([{"offset": 0}]),
        json!([7]),
        json!({}),
        json!(null),
        json!([]),
    ];
    for put_back in changed {
        let record = json!({"source": "../../x", "messages": ["m"], "original_sha256": OF_ABC, "result_sha256": hash(text), "put_back": put_back});
        fs::write(&archive, format!("{record}\n")).expect("written");
        let run = restored(&archive, text);
        assert_eq!((run.code, run.stdout.as_str()), (1, ""), "{record}: {run:?}");
        assert!(run.stderr.starts_with("tcompact: "), "{record}: {run:?}");
    }
    let step = |from: &str, to: &str| {
        json!({"source": "x", "messages": [], "original_sha256": hash(to), "result_sha256": hash(from),
               "put_back": [{"offset": 0, "bytes": from.len(), "pieces": [to]}]})
    };
    fs::write(&archive, step("a", "a").to_string()).expect("written");
    assert_eq!(restored(&archive, "a").code, 1);
    for way in [vec![("a", "b"), ("b", "a")], vec![("a", "a\na"), ("a\na", "a")]] {
        let records: String = way.iter().map(|(from, to)| format!("{}\n", step(from, to))).collect();
        fs::write(&archive, records).expect("written");
        let run = restored(&archive, "a");
        assert_eq!((run.code, run.stdout.as_str()), (1, ""), "{way:?}: {run:?}");
        assert!(run.stderr.contains("its records form a circle"), "{way:?}: {run:?}");
    }
}

#[test]
fn a_restore_reads_no_settings_of_compaction_and_takes_no_rules() {
    let folder = tempfile::tempdir().expect("a folder");
    let archive = path(folder.path(), "archive.jsonl");
    let result = compacted(&archive, &["--keep", "messages:4"], "agent-session.json");
    let file = path(folder.path(), "short.json");
    fs::write(&file, result).expect("written");
    for rule in [
        &["--dry-run"][..],
        &["--repair", "drop"],
        &["--archive", "b.jsonl"],
        &["--emit", "messages"],
        &["--report", "r.jsonl"],
        &["--keep", "messages:1"],
        &["--model", "extractive"],
        &["--preset", "langchain"],
        &["--exit-status"],
    ] {
        let run = with(&[&["restore", &archive, &file], rule].concat());
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{rule:?}: {run:?}");
        assert!(run.stderr.contains(&format!("there is no flag '{}' of restore", rule[0])), "{run:?}");
    }
    let mut command = tcompact();
    command.args(["restore", &archive, &file]).env("TCOMPACT_KEEP", "nonsense").env("TCOMPACT_DRY_RUN", "yes");
    assert_eq!(run(&mut command, b"").code, 0);
    for (arguments, code, why) in [
        (["restore", "a.md", &file, "-o", "-"], 2, "only an archive whose name ends in .jsonl"),
        (["restore", "missing.jsonl", &file, "-o", "-"], 1, "restore missing.jsonl cannot be read"),
        (["restore", &archive, &file, "-o", &archive], 2, "is the archive"),
        (["restore", &archive, &file, "-o", &file], 2, "is the input itself"),
        (["restore", &archive, "missing.json", "-o", "-"], 1, "missing.json cannot be read"),
    ] {
        let run = with(&arguments);
        assert_eq!((run.code, run.stdout.as_str()), (code, ""), "{run:?}");
        assert!(run.stderr.contains(why), "{why}: {run:?}");
        let compacts = run.stderr.lines().any(|line| line.starts_with("try:") && !line.contains("restore"));
        assert!(!compacts, "it would compact the file: {run:?}");
    }
}

/// Names of an archive, plain and compressed.
const NAMES: [&str; 3] = ["archive.jsonl", "archive.jsonl.gz", "archive.jsonl.zst"];

/// A record without messages would be read as an empty conversation, and `redact` would mask what puts secrets back.
#[test]
fn an_archive_is_not_read_as_a_transcript() {
    let folder = tempfile::tempdir().expect("a folder");
    let [file, archive] = ["s.json", "h.jsonl"].map(|name| path(folder.path(), name));
    let long = "The bed is dry and needs much water. ".repeat(40);
    let said =
        [json!({"role": "user", "content": "password=Zx9kQ2mLw7"}), json!({"role": "assistant", "content": long})];
    let session = json!([said[0], said[1], said[0], said[1]]).to_string();
    for arguments in [&["redact"][..], &["--keep", "messages:1", "--accept", "any"]] {
        fs::write(&file, &session).expect("written");
        let _ = fs::remove_file(&archive);
        let done = with(&[arguments, &["-q", "-i", "--archive", &archive, &file]].concat());
        assert_eq!(done.code, 0, "{done:?}");
        let before = fs::read(&archive).expect("an archive");
        for command in
            [&["count"][..], &["check"], &["--keep", "1", "-i"], &["redact", "-i"], &["repair", "drop", "-i"]]
        {
            let refused = with(&[command, &[&archive]].concat());
            assert!(
                refused.code != 0 && refused.stderr.contains("is an archive of tcompact"),
                "{command:?}: {refused:?}"
            );
            assert_eq!(fs::read(&archive).expect("an archive"), before, "{command:?}");
        }
    }
}

/// Each writer waits for the others, so every record is complete.
#[test]
fn several_processes_write_one_archive() {
    let (processes, times) = (8, share(30));
    for name in NAMES {
        let folder = tempfile::tempdir().expect("a folder");
        let archive = path(folder.path(), name);
        std::thread::scope(|scope| {
            for process in 0..processes {
                let archive = &archive;
                scope.spawn(move || {
                    for time in 0..times {
                        let said = format!("echo {process} {time}");
                        let arguments = ["--keep", "messages:2", "--summarizer-cmd", &said, "--accept", "any"];
                        compacted(archive, &arguments, "openai-chat/conversations.jsonl");
                    }
                });
            }
        });
        let records = records(&archive);
        assert_eq!(records.len(), processes * times * 2, "two conversations each");
        let text = fs::read_to_string(Path::new(FIXTURES).join("openai-chat/conversations.jsonl")).expect("a fixture");
        let arguments = ["--keep", "messages:2", "--summarizer-cmd", "echo 3 2", "--accept", "any"];
        let result = compacted(&archive, &arguments, "openai-chat/conversations.jsonl");
        assert_goes_back(&archive, &result, &text, "one of them");
    }
}

/// If the disk is full for one process, the records of the others are unaffected, and no partial record remains.
#[test]
fn half_written_records_are_removed_while_others_write() {
    // Hexadecimal digits of hashes compress to half.
    let history: String = (0..400).map(|number| sha256(&format!("{number}"))).collect();
    for name in NAMES {
        let folder = tempfile::tempdir().expect("a folder");
        let archive = path(folder.path(), name);
        let large = path(folder.path(), "large.json");
        fs::write(&large, format!(r#"[{{"role":"user","content":"{history}"}},{{"role":"user","content":"last"}}]"#))
            .expect("written");
        let program = env!("CARGO_BIN_EXE_tcompact");
        let limited = format!("trap '' XFSZ; ulimit -f 64; {program} -q --keep messages:1 --archive {archive} {large}");
        let (times, mut written) = (20, 0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..times {
                    compacted(&archive, &["--keep", "messages:1"], "openai-chat/plain.json");
                }
            });
            for _ in 0..times {
                let mut bash = std::process::Command::new("bash");
                let run = run(bash.args(["-c", &limited]).envs(crate::program::own_settings()), b"");
                assert!(run.code == 0 || run.code == 1 && run.stdout.is_empty(), "{run:?}");
                written += usize::from(run.code == 0);
            }
        });
        let of_large = records(&archive).iter().filter(|record| record["source"] == large.as_str()).count();
        assert!((1..times).contains(&written), "{name}: {written}");
        assert_eq!((of_large, records(&archive).len()), (written, written + times), "{name}");
    }
}

#[test]
fn a_file_is_put_back_in_its_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, archive) = (path(folder.path(), "chat.json"), path(folder.path(), "cut.jsonl"));
    let original = fs::read(Path::new(FIXTURES).join("agent-session.json")).expect("a fixture");
    fs::write(&file, &original).expect("written");
    assert_eq!(with(&["-q", "--keep", "messages:4", "--archive", &archive, "-i", &file]).code, 0);
    let short = fs::read(&file).expect("read");
    let back = with(&["restore", &archive, "--in-place=.short", &file]);
    assert_eq!((back.code, back.stdout.as_str()), (0, ""), "{back:?}");
    assert_eq!(fs::read(&file).expect("read"), original);
    assert_eq!(fs::read(format!("{file}.short")).expect("a copy"), short);
    // A file that the archive does not know stays, and so does standard input.
    let again = with(&["restore", &archive, "-i", &file]);
    assert_eq!((again.code, fs::read(&file).expect("read")), (1, original), "{again:?}");
    let piped = run(tcompact().args(["restore", &archive, "-i"]), &short);
    assert!(piped.code == 2 && piped.stderr.contains("--in-place: name the transcript"), "{piped:?}");
}
