//! `--archive X.jsonl.gz` and `X.jsonl.zst`: each run appends a whole member, and all that reads archives reads them.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

use serde_json::Value;

use crate::program::{FIXTURES, Run, path, piped, run, tcompact, with};
use crate::restoring::{pack, records, unpack};

/// The extensions of compressed files, each with the one of the other compression.
const ENDINGS: [(&str, &str); 2] = [("gz", "zst"), ("zst", "gz")];

fn within(folder: &Path, arguments: &[&str]) -> Run {
    run(tcompact().args(arguments).current_dir(folder), b"")
}

fn original() -> String {
    fs::read_to_string(Path::new(FIXTURES).join("agent-session.json")).expect("a fixture")
}

/// Compacts a session in three rounds, in a folder of its own.
fn three_rounds(archive: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("chat.json"), original()).expect("written");
    for keep in ["messages:30", "messages:20", "messages:10"] {
        let run = within(folder.path(), &["-q", "--keep", keep, "--archive", archive, "-i", "chat.json"]);
        assert_eq!(run.code, 0, "{run:?}");
    }
    folder
}

/// Records without what differs from run to run: the time, and the hashes of summaries that name the archive.
fn contents(archive: &str) -> Vec<Value> {
    let mut records = records(archive);
    for record in &mut records {
        let record = record.as_object_mut().expect("an object");
        record.retain(|key, _| {
            !key.ends_with("_sha256")
                && !["hash", "summarized_at", "put_back", "left", "before"].contains(&key.as_str())
        });
    }
    records
}

#[test]
fn a_compressed_archive_holds_what_a_plain_one_does() {
    let plain = three_rounds("cut.jsonl");
    let at = |folder: &tempfile::TempDir, name: &str| path(folder.path(), name);
    for (end, _) in ENDINGS {
        let name = format!("cut.jsonl.{end}");
        let folder = three_rounds(&name);
        let archive = at(&folder, &name);
        assert_eq!(contents(&archive)[0], contents(&at(&plain, "cut.jsonl"))[0]);
        assert_eq!(contents(&archive).len(), 3);
        for arguments in [
            &["search", "(?i)bom", "--limit", "100"][..],
            &["search", "(?i)bom", "--json"],
            &["show", "1:3,2:25"],
            &["show", "#1:3", "--json"],
        ] {
            let [packed, same] = [(&folder, &*name), (&plain, "cut.jsonl")].map(|(folder, name)| {
                let run = within(folder.path(), &[arguments, &[name]].concat());
                (run.code, run.stdout.replace(name, "ARCHIVE"))
            });
            assert_eq!(packed, same, "{arguments:?}");
        }
        let beside = within(folder.path(), &["show", "1:3", "--archive", &name, "chat.json"]);
        assert_eq!((beside.code, beside.stdout), (0, within(folder.path(), &["show", "1:3", &name]).stdout));
        let short = fs::read_to_string(folder.path().join("chat.json")).expect("read");
        // The name does not matter where an archive is read.
        fs::copy(&archive, at(&folder, "renamed.jsonl")).expect("copied");
        for archive in [&*name, "renamed.jsonl"] {
            let back = within(folder.path(), &["restore", archive, "chat.json"]);
            assert!(back.code == 0 && back.stdout == original(), "{}", back.stderr);
            assert!(back.stderr.contains("3 rounds put back"), "{back:?}");
        }
        let back = within(folder.path(), &["restore", &name, "--rounds", "1", "-i", "chat.json"]);
        assert_eq!(back.code, 0, "{back:?}");
        let run = within(folder.path(), &["-q", "--keep", "messages:10", "--archive", &name, "-i", "chat.json"]);
        assert_eq!((run.code, fs::read_to_string(folder.path().join("chat.json")).expect("read")), (0, short));
        // It knows the round from the archive.
        assert_eq!(records(&archive)[3]["round"], 3);
        let left = fs::read_dir(folder.path()).expect("a folder").count();
        assert_eq!(left, 3, "nothing is left beside them");
    }
}

/// Batches, a run that is resumed, streams, lines in place, updates, and text for reading.
#[test]
fn all_ways_to_append_append_members() {
    for (end, _) in ENDINGS {
        let home = tempfile::tempdir().expect("a folder");
        let folder = home.path();
        fs::create_dir(folder.join("logs")).expect("made");
        for name in ["a.json", "b.json"] {
            fs::write(folder.join("logs").join(name), original()).expect("written");
        }
        let lines = fs::read_to_string(Path::new(FIXTURES).join("openai-chat/conversations.jsonl")).expect("a fixture");
        fs::write(folder.join("lines.jsonl"), &lines).expect("written");
        let archive = &*format!("logs/cut.jsonl.{end}");
        let rules = ["-q", "--accept", "any", "--keep", "messages:2", "--archive", archive];
        let number = || records(&path(folder, archive)).len();
        for (arguments, expected) in [
            (&["-O", "out", "--resume", "logs"][..], 2),
            (&["-O", "out", "--resume", "logs"], 2),
            (&["-i", "lines.jsonl"], 4),
            (&["--emit", "update", &format!("{FIXTURES}/langchain/thread.json")], 5),
            (&["--emit", "summary", "logs/a.json"], 6),
            (&["--emit", "handoff", "logs/a.json"], 7),
            (&["-i", "logs"], 9),
        ] {
            let run = within(folder, &[&rules, arguments].concat());
            assert!([0, 3].contains(&run.code), "{arguments:?}: {run:?}");
            assert_eq!(number(), expected, "{arguments:?}: {run:?}");
        }
        let stream = run(tcompact().args(rules).current_dir(folder), lines.as_bytes());
        assert_eq!((stream.code, number()), (0, 11), "{stream:?}");
        for (text, whole) in
            [(fs::read_to_string(folder.join("lines.jsonl")).expect("read"), &lines), (stream.stdout, &lines)]
        {
            let back = run(tcompact().args(["restore", "-q", archive]).current_dir(folder), text.as_bytes());
            assert!(back.code == 0 && back.stdout == *whole, "{back:?}");
        }
        let text = format!("cut.md.{end}");
        for _ in 0..2 {
            let run = within(folder, &["-q", "--keep", "messages:4", "--archive", &text, "out/a.json"]);
            assert!([0, 3].contains(&run.code), "{run:?}");
            let run = within(
                folder,
                &["-q", "--keep", "messages:2", "--archive", &text, &format!("{FIXTURES}/agent-session.json")],
            );
            assert_eq!(run.code, 0, "{run:?}");
        }
        let text = unpack(&fs::read(folder.join(text)).expect("an archive"), end);
        assert_eq!(text.matches("## Summarized at ").count(), 2, "{text}");
    }
}

/// What a name says and a content is not, and what is cut off, is refused before anything is replaced.
#[test]
fn an_archive_that_cannot_grow_is_refused() {
    let home = tempfile::tempdir().expect("a folder");
    let folder = home.path();
    fs::write(folder.join("chat.json"), original()).expect("written");
    for (end, other) in ENDINGS {
        let source = three_rounds(&format!("cut.jsonl.{end}"));
        let whole = fs::read(source.path().join(format!("cut.jsonl.{end}"))).expect("an archive");
        let text = unpack(&whole, end);
        let mut damaged = whole.clone();
        let middle = whole.len() / 2;
        damaged[middle] ^= 0xff;
        let plain_behind = [&whole[..], b"{\"source\":\"x\",\"messages\":[]}\n"].concat();
        for (name, bytes, why) in [
            ("plain.jsonl".to_owned(), &whole, "data; rename it so that it ends in ."),
            ("plain.md".to_owned(), &whole, "data; rename it so that it ends in ."),
            (format!("text.jsonl.{end}"), &text.clone().into_bytes(), "it is not compressed"),
            (format!("text.md.{end}"), &b"## Summarized\n".to_vec(), "it is not compressed"),
            (format!("other.jsonl.{other}"), &whole, "data; rename it so that it ends in ."),
            (format!("cut.jsonl.{end}"), &whole[..whole.len() - 3].to_vec(), "is cut off"),
            (format!("half.jsonl.{end}"), &whole[..middle].to_vec(), "is cut off"),
            (format!("damaged.jsonl.{end}"), &damaged, "data is damaged"),
            (format!("behind.jsonl.{end}"), &plain_behind, "data is damaged"),
        ] {
            let archive = folder.join(&name);
            fs::write(&archive, bytes).expect("written");
            for more in [&["-i", "chat.json"][..], &["-o", "out.json", "chat.json"], &["chat.json"]] {
                let run = within(folder, &[&["-q", "--keep", "messages:4", "--archive", &name], more].concat());
                assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{name}: {run:?}");
                assert!(run.stderr.contains(why) && run.stderr.contains("name another file"), "{name}: {run:?}");
                assert_eq!(run.stderr.lines().count(), 1, "{run:?}");
            }
            assert_eq!(fs::read(&archive).expect("there"), *bytes, "{name}");
            assert_eq!(fs::read_to_string(folder.join("chat.json")).expect("there"), original());
            assert!(!folder.join("out.json").exists());
        }
        // What an archive holds that is no record.
        let foreign = format!("foreign.jsonl.{end}");
        fs::write(folder.join(&foreign), pack("{\"role\":\"user\"}\n", end)).expect("written");
        let run = within(folder, &["-q", "--keep", "messages:4", "--archive", &foreign, "-i", "chat.json"]);
        assert!(run.code == 2 && run.stderr.contains("is not an archive: line 1"), "{run:?}");
    }
}

/// An archive that somebody compressed, or whose last record is half there, grows by a member that begins a line.
#[test]
fn a_member_begins_a_line() {
    for (end, _) in [("", ""), ENDINGS[0], ENDINGS[1]] {
        let name = if end.is_empty() { "cut.jsonl".to_owned() } else { format!("cut.jsonl.{end}") };
        let folder = three_rounds(&name);
        let archive = path(folder.path(), &name);
        let text = unpack(&fs::read(&archive).expect("an archive"), end);
        let first = text.lines().next().expect("a record");
        for (before, damaged, records) in [
            (text.clone(), None, 4),
            (text.trim_end().to_owned(), None, 4),
            (String::new(), None, 1),
            (format!("{first}\n{}", &first[..first.len() / 2]), Some("it is line 2"), 2),
        ] {
            fs::write(&archive, pack(&before, end)).expect("written");
            let result = piped(&["-q", "--keep", "messages:4", "--archive", &archive], &original());
            assert_eq!(result.code, 0, "{result:?}");
            let after = unpack(&fs::read(&archive).expect("an archive"), end);
            let line_end = if before.is_empty() || before.ends_with('\n') { "" } else { "\n" };
            assert!(after.starts_with(&format!("{before}{line_end}{{\"source\":\"-\"")), "{after}");
            let back = run(tcompact().args(["restore", &archive]), result.stdout.as_bytes());
            assert!(back.code == 0 && back.stdout == original(), "{}", back.stderr);
            let found = with(&["search", "(?i)the", "--json", "--limit", "10000", &archive]);
            let shown = with(&["show", &format!("#{}:3", records + usize::from(damaged.is_some())), &archive]);
            assert_eq!((found.code, shown.code), (0, 0), "{found:?} {shown:?}");
            for run in [&back, &found, &shown] {
                assert!(damaged.is_none_or(|line| run.stderr.contains(line)), "{damaged:?}: {run:?}");
                assert!(damaged.is_some() || !run.stderr.contains("not a record"), "{run:?}");
            }
        }
    }
}

/// The records in front of the damage are read, and a line says where it begins.
#[test]
fn what_is_in_front_of_the_damage_is_read() {
    for (end, _) in ENDINGS {
        let name = format!("cut.jsonl.{end}");
        let folder = three_rounds(&name);
        let archive = path(folder.path(), &name);
        let short = fs::read_to_string(folder.path().join("chat.json")).expect("read");
        let whole = fs::read(&archive).expect("an archive");
        let last = pack(&format!("{}\n", "{\"source\":\"x\",\"messages\":[]} ".repeat(1_000)), end);
        let mut damages = vec![(last[..last.len() / 2].to_vec(), "cut off"), (b"plain text\n".to_vec(), "damaged")];
        damages.push((vec![0; 64], "damaged"));
        for (behind, what) in damages {
            fs::write(&archive, &whole).expect("written");
            let mut file = OpenOptions::new().append(true).open(&archive).expect("opened");
            file.write_all(&behind).expect("written");
            let back = run(tcompact().args(["restore", &archive]), short.as_bytes());
            assert!(back.code == 0 && back.stdout == original(), "{}", back.stderr);
            let found = with(&["search", "(?i)bom", &archive]);
            let shown = with(&["show", "1:3", &archive]);
            for run in [&back, &found, &shown] {
                let says = format!(
                    "cannot be read from line 4 on: its {} data is {what}",
                    if end == "gz" { "gzip" } else { "zstd" }
                );
                assert!(
                    run.code == 0 && !run.stdout.is_empty() && run.stderr.contains(&says),
                    "{says}: {}",
                    run.stderr
                );
            }
        }
    }
}

/// A folder for temporary files that cannot be used, for whatever reason, is not needed.
#[cfg(unix)]
#[test]
fn restoring_needs_no_folder_for_temporary_files() {
    use std::os::unix::fs::PermissionsExt;
    let home = tempfile::tempdir().expect("a folder");
    let long = home.path().join("a".repeat(200)).join("b".repeat(200));
    fs::create_dir_all(&long).expect("made");
    let closed = home.path().join("closed");
    fs::create_dir(&closed).expect("made");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o500)).expect("a mode");
    fs::write(home.path().join("file"), "").expect("written");
    let folders = [
        long.display().to_string(),
        closed.display().to_string(),
        home.path().join("file").display().to_string(),
        home.path().join("missing").display().to_string(),
        format!("/{}", "c/".repeat(2_500)),
        format!("/tmp/{}", "d".repeat(300)),
        String::new(),
        "\u{1b}[2J".to_owned(),
    ];
    for (end, _) in ENDINGS {
        let name = format!("cut.jsonl.{end}");
        let folder = three_rounds(&name);
        for temporary in &folders {
            let mut command = tcompact();
            command.args(["restore", "-q", &name, "chat.json"]).current_dir(folder.path()).env("TMPDIR", temporary);
            let back = run(&mut command, b"");
            assert!(back.code == 0 && back.stdout == original() && back.stderr.is_empty(), "{temporary:.40}: {back:?}");
        }
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 2, "nothing is left");
        // Nor is there a place beside the archive.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o500)).expect("a mode");
        let mut command = tcompact();
        command.args(["restore", &name, "chat.json"]).current_dir(folder.path()).env("TMPDIR", "/nowhere");
        let back = run(&mut command, b"");
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).expect("a mode");
        // Root writes everywhere.
        if back.code != 0 {
            assert_eq!((back.code, back.stdout.as_str()), (1, ""), "{back:?}");
            assert!(
                back.stderr.contains("there is no place to unpack it") && back.stderr.contains("TMPDIR"),
                "{back:?}"
            );
        }
        assert_eq!(fs::read_dir(&long).expect("a folder").count(), 0);
    }
}
