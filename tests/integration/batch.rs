//! Several inputs in one run: the output has the same tree, a failed file stops no other, and finished files are
//! skipped.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::invalid_input::assert_fails;
use crate::program::{FIXTURES, Run, path, run, tcompact};
use crate::server::{Server, at_length, completion};
use crate::support::tree;

/// Creates a folder with transcripts among other files.
pub(crate) fn logs() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("logs");
    fs::create_dir_all(root.join("deep/er")).expect("made");
    for (from, to) in [
        ("agent-session.json", "a.json"),
        ("agent-session.json", "deep/b.json"),
        ("openai-chat/conversations.jsonl", "deep/er/c.jsonl"),
        ("openai-chat/plain.json", "plain.json"),
    ] {
        fs::copy(Path::new(FIXTURES).join(from), root.join(to)).expect("copied");
    }
    fs::write(root.join("notes.txt"), "No transcript.").expect("written");
    fs::write(root.join("package.json"), "{\"name\":\"x\"}").expect("written");
    folder
}

/// Runs tcompact in a folder.
pub(crate) fn within(folder: &Path, arguments: &[&str]) -> Run {
    run(tcompact().current_dir(folder).args(arguments), b"")
}

/// The rows of a report, by their conversations.
pub(crate) fn reported(folder: &Path) -> BTreeMap<String, Value> {
    let text = fs::read_to_string(folder.join("report.jsonl")).expect("a report");
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    lines.map(|line| (line["source"].as_str().expect("a name").to_owned(), line)).collect()
}

const RULES: [&str; 4] = ["--model", "extractive", "--keep", "messages:4"];

fn compacted(folder: &Path, more: &[&str]) -> Run {
    within(folder, &[&RULES[..], more].concat())
}

#[test]
fn the_output_has_the_tree_of_the_input() {
    let logs = logs();
    let folder = logs.path();
    let run = compacted(folder, &["--trigger", "messages:50", "-O", "out", "--report", "report.jsonl", "-v", "logs"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, ""), "{run:?}");
    assert!(
        run.stderr.contains("4 files: 2 compacted, 2 unchanged, 2 left out (no transcripts, links or copies); "),
        "{run:?}"
    );
    let names: Vec<_> = tree(&folder.join("out")).into_keys().map(|name| name.display().to_string()).collect();
    assert_eq!(names, ["a.json", "deep/b.json", "deep/er/c.jsonl", "plain.json"]);
    for copied in ["plain.json", "deep/er/c.jsonl"] {
        let (from, to) = (folder.join("logs").join(copied), folder.join("out").join(copied));
        assert_eq!(fs::read(&from).expect("a file"), fs::read(&to).expect("a file"));
        let modified = |path: &Path| fs::metadata(path).expect("there").modified().expect("a time");
        assert_eq!(modified(&from), modified(&to));
    }
    let alone = compacted(folder, &["logs/a.json"]);
    assert_eq!(alone.stdout.as_bytes(), fs::read(folder.join("out/a.json")).expect("a file"));
    let report = reported(folder);
    let fates: Vec<(&str, &Value)> = report.iter().map(|(name, line)| (name.as_str(), &line["status"])).collect();
    let (compacted, unchanged, skipped) = (json!("compacted"), json!("unchanged"), json!("skipped"));
    assert_eq!(
        fates,
        [
            ("logs/a.json", &compacted),
            ("logs/deep/b.json", &compacted),
            ("logs/deep/er/c.jsonl:1", &unchanged),
            ("logs/deep/er/c.jsonl:2", &unchanged),
            ("logs/deep/er/c.jsonl:3", &unchanged),
            ("logs/deep/er/c.jsonl:4", &unchanged),
            ("logs/notes.txt", &skipped),
            ("logs/package.json", &skipped),
            ("logs/plain.json", &unchanged),
        ]
    );
}

#[test]
fn a_failed_file_stops_no_other() {
    let logs = logs();
    let folder = logs.path();
    fs::write(folder.join("logs/broken.json"), "[{\"role\":").expect("written");
    fs::write(folder.join("logs/bytes.jsonl"), b"{\"role\":\"user\",\"content\":\"\xff\"}\n").expect("written");
    let run = compacted(folder, &["-O", "out", "--report", "report.jsonl", "logs", "logs/package.json"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""), "both would be out/package.json: {run:?}");
    let run = compacted(folder, &["-O", "out", "--report", "report.jsonl", "logs"]);
    assert_eq!((run.code, run.stdout.as_str()), (7, ""), "{run:?}");
    assert!(
        run.stderr.contains("logs/broken.json is not JSON: the object that begins at line 1 column 2 is not closed"),
        "{run:?}"
    );
    assert!(run.stderr.contains("logs/bytes.jsonl is not JSON: it has bytes that are not UTF-8"), "{run:?}");
    assert!(run.stderr.contains(" 2 failed"), "{run:?}");
    assert_eq!(tree(&folder.join("out")).len(), 4);
    let report = reported(folder);
    assert_eq!(report["logs/broken.json"]["status"], "failed");
    assert_eq!(report["logs/bytes.jsonl"]["status"], "failed");
    assert_eq!(compacted(folder, &["-q", "-O", "out", "logs"]).stderr.lines().count(), 2, "only errors are said");
    assert_eq!(compacted(folder, &["-e", "--trigger", "messages:999", "-O", "new", "logs/a.json"]).code, 3);
}

#[cfg(unix)]
#[test]
fn outputs_that_would_overwrite_a_file_are_refused_first() {
    let logs = logs();
    let folder = logs.path();
    // Links in the output lead to the input, and two of its folders to one.
    for folder_of in ["pair/p", "pair/q", "both/q", "nested/p/f.json", "linked"] {
        fs::create_dir_all(folder.join(folder_of)).expect("made");
    }
    for name in ["pair/p/f.json", "pair/q/f.json", "nested/p/f.json/g.json"] {
        fs::copy(folder.join("logs/a.json"), folder.join(name)).expect("copied");
    }
    for (to, link) in [("q", "both/p"), ("../logs/deep", "linked/deep")] {
        std::os::unix::fs::symlink(to, folder.join(link)).expect("a link");
    }
    assert!(Command::new("mkfifo").arg(folder.join("fifo")).status().expect("it runs").success());
    let before = tree(folder);
    for (arguments, words) in [
        (&["logs"][..], "the directory logs: --output-dir DIR or --in-place"),
        (&["logs/a.json", "logs/deep/b.json"], "several inputs: --output-dir DIR or --in-place"),
        (&["-O", "logs/out", "logs"], "--output-dir logs/out is inside the input logs"),
        (&["-O", "logs", "logs"], "--output-dir logs is inside the input logs"),
        (&["-O", "logs/deep/../new", "logs"], "is inside the input logs"),
        (&["-O", "logs", "logs/a.json"], "logs/a.json is an input, and would be written over"),
        (&["-O", "logs/a.json", "logs/deep"], "--output-dir logs/a.json is a file"),
        (&["-O", "out", "logs/a.json", "logs/../logs/a.json"], "are the same file; name it once"),
        (&["-i", "logs", "logs/a.json"], "are the same file; name it once"),
        (&["-O", "out", "-"], "--output-dir keeps the names of files: name a file or a directory; for standard input"),
        (&["-i"], "--in-place replaces files: name a file or a directory; for standard input"),
        (&["-i", "-", "logs"], "- is standard input, which is read alone"),
        (&["-i=a/b", "logs"], "--in-place=a/b: expected the end of a file name"),
        (&["-i", "--emit", "update", "logs"], "--emit update"),
        (&["--resume", "logs/a.json"], "--resume works only with --output, --output-dir or --in-place"),
        (&["-O", "out", "-o", "x", "logs"], "cannot be used with"),
        (&["-O", "else/../logs/new", "logs"], "is inside the input logs"),
        (&["-O", "linked", "logs"], "linked/deep/b.json is inside the input logs"),
        (&["-O", "both", "pair"], "would both be written to"),
        (&["-O", "out", "pair", "nested"], "would both be written to"),
        (&["-O", "out", "fifo"], "fifo is not a regular file"),
        (&["-O", "out", "--report", "logs/a.json", "logs"], "is another file of this command"),
        (&["-O", "out", "--archive", "logs/a.md", "--report", "out/a.json", "logs"], "is another file of this command"),
    ] {
        assert_fails(&within(folder, arguments), 2, &[words]);
        assert_eq!(tree(folder), before, "{arguments:?}");
    }
    assert_fails(&within(folder, &["-O", "out", "logs", "nowhere"]), 1, &["there is no file nowhere"]);
    assert_eq!(tree(folder), before);
}

#[test]
fn files_are_replaced_in_place_with_their_mode_and_time() {
    let logs = logs();
    let folder = logs.path();
    let original = fs::read(folder.join("logs/a.json")).expect("a file");
    let file = folder.join("logs/a.json");
    let hour_ago = SystemTime::now() - Duration::from_secs(3600);
    fs::File::options().write(true).open(&file).and_then(|file| file.set_modified(hour_ago)).expect("a time");
    #[cfg(unix)]
    fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o640)).expect("a mode");
    let run = compacted(folder, &["--in-place=.bak", "--trigger", "messages:10", "logs"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, ""), "{run:?}");
    let after = fs::read(&file).expect("a file");
    assert!(after.len() < original.len());
    assert_eq!(fs::read(folder.join("logs/a.json.bak")).expect("a copy"), original);
    assert!(!folder.join("logs/plain.json.bak").exists(), "what needs nothing is left alone");
    let metadata = fs::metadata(&file).expect("there");
    assert_eq!(metadata.modified().expect("a time"), hour_ago);
    #[cfg(unix)]
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o777, 0o640);
    let nothing = compacted(folder, &["--in-place=.bak", "--trigger", "messages:10", "logs"]);
    assert_eq!(nothing.code, 0, "nothing is to be done, and no copy is in the way: {nothing:?}");
    let again = within(folder, &["--model", "extractive", "--in-place=.bak", "--keep", "messages:2", "logs"]);
    assert_eq!(again.code, 7, "the copy would be lost: {again:?}");
    assert!(again.stderr.contains("logs/a.json.bak cannot be written: it is there already"), "{again:?}");
    assert_eq!(fs::read(&file).expect("a file"), after);
    // A backup copy is not an input.
    assert_eq!(within(folder, &["--model", "extractive", "--in-place", "--keep", "messages:2", "logs"]).code, 0);
    assert_eq!(fs::read(folder.join("logs/a.json.bak")).expect("a copy"), original);
}

#[test]
fn finished_files_are_skipped_and_changed_files_repeated() {
    let logs = logs();
    let folder = logs.path();
    let resume = |more: &[&str]| {
        let run = compacted(folder, &[&["--resume", "-O", "out", "logs"], more].concat());
        assert_eq!(run.code, 0, "{run:?}");
        run.stderr
    };
    assert!(resume(&["-v"]).contains("4 files: 4 compacted, 2 left out"));
    let first = tree(&folder.join("out"));
    assert!(resume(&["-v"]).contains("4 files: 4 finished by an earlier run, 2 left out"));
    fs::copy(folder.join("logs/a.json"), folder.join("logs/plain.json")).expect("copied");
    assert!(resume(&["-v"]).contains("4 files: 1 compacted, 3 finished by an earlier run"), "the input changed");
    fs::write(folder.join("out/a.json"), "touched").expect("written");
    fs::remove_file(folder.join("out/deep/b.json")).expect("removed");
    assert!(resume(&["-v"]).contains("4 files: 2 compacted, 2 finished by an earlier run"), "the outputs changed");
    let last = tree(&folder.join("out"));
    assert_eq!(
        (&last[Path::new("a.json")], &last[Path::new("deep/b.json")]),
        (&first[Path::new("a.json")], &first[Path::new("deep/b.json")])
    );
    assert!(resume(&["-v", "--summary-tokens", "99"]).contains("4 files: 4 compacted"), "the rules changed");
    assert!(resume(&["--summary-tokens", "99", "--jobs", "1", "--quiet"]).is_empty());
    // In place, the current content identifies finished files.
    let in_place = ["-v", "--in-place", "--resume", "--trigger", "messages:10", "logs"];
    assert!(compacted(folder, &in_place).stderr.contains("4 files: 4 compacted"));
    assert!(compacted(folder, &in_place).stderr.contains("4 finished by an earlier run"));
}

#[test]
fn summaries_are_stored_and_never_requested_twice() {
    let logs = logs();
    let folder = logs.path();
    let server = Server::start(vec![completion(&at_length("Good notes."), "stop")]);
    let rules = ["--model", "openai:m", "--base-url", &server.url, "--keep", "messages:4", "--jobs", "8"];
    let first = within(folder, &[&rules[..], &["-O", "out", "logs"]].concat());
    assert_eq!(first.code, 0, "{first:?}");
    // Of five conversations two pairs are equal.
    assert_eq!(server.requests().len(), 3, "{first:?}");
    fs::remove_dir_all(folder.join("out/deep")).expect("removed");
    let second = within(folder, &[&rules[..], &["-v", "-O", "out", "logs"]].concat());
    assert_eq!((second.code, server.requests().len()), (0, 3), "{second:?}");
    assert!(second.stderr.contains("0 requests, 5 answers from the cache"), "{second:?}");
}

/// A journal keeps no rows of so many conversations.
#[test]
fn a_file_of_many_conversations_that_is_finished_has_a_row() {
    let folder = tempfile::tempdir().expect("a folder");
    let logs = folder.path().join("logs");
    fs::create_dir(&logs).expect("made");
    let line = fs::read_to_string(Path::new(FIXTURES).join("openai-chat/conversations.jsonl")).expect("lines");
    fs::write(logs.join("many.jsonl"), line.repeat(300)).expect("written");
    fs::copy(Path::new(FIXTURES).join("openai-chat/plain.json"), logs.join("plain.json")).expect("copied");
    let resume = ["-q", "--resume", "-O", "out", "--report", "report.jsonl", "logs"];
    for rows in [1201, 2] {
        assert_eq!(compacted(folder.path(), &resume).code, 0);
        assert_eq!(reported(folder.path()).len(), rows);
        fs::rename(folder.path().join("report.jsonl"), folder.path().join("earlier.jsonl")).expect("renamed");
    }
}

#[test]
fn a_file_that_changes_meanwhile_is_repeated() {
    let logs = logs();
    let folder = logs.path();
    let other = fs::read(Path::new(FIXTURES).join("openai-chat/plain.json")).expect("a fixture");
    fs::write(folder.join("other.json"), &other).expect("written");
    // The summarizer changes the file that it is asked to summarize.
    let command = format!("cat > /dev/null; cp other.json logs/a.json; echo '{}'", at_length("Notes."));
    let rules = ["--summarizer-cmd", &command, "--keep", "messages:1"];
    let run = within(folder, &[&rules[..], &["-O", "out", "logs/a.json"]].concat());
    assert_eq!(run.code, 0, "{run:?}");
    let again = within(folder, &[&rules[..], &["-v", "--resume", "-O", "out", "logs/a.json"]].concat());
    assert!(again.stderr.contains("1 file: 1 compacted"), "{again:?}");
    let whole = within(folder, &[&rules[..], &["other.json"]].concat());
    assert_eq!(fs::read(folder.join("out/a.json")).expect("a file"), whole.stdout.as_bytes());
    fs::copy(Path::new(FIXTURES).join("agent-session.json"), folder.join("logs/a.json")).expect("copied");
    let in_place = within(folder, &[&rules[..], &["-i", "logs/a.json"]].concat());
    assert_eq!(in_place.code, 1, "{in_place:?}");
    assert!(in_place.stderr.contains("logs/a.json changed meanwhile and is not replaced"), "{in_place:?}");
    assert_eq!(fs::read(folder.join("logs/a.json")).expect("a file"), other);
}

#[test]
fn a_file_passed_through_after_an_error_is_not_finished() {
    let logs = logs();
    let folder = logs.path();
    let command = format!("cat > /dev/null; [ -e up ] && echo '{}'", at_length("Notes."));
    let rules = [
        "--summarizer-cmd",
        &command,
        "--keep",
        "messages:4",
        "--on-error",
        "passthrough",
        "--resume",
        "-O",
        "out",
        "logs",
    ];
    let down = within(folder, &rules);
    assert_eq!(down.code, 0, "{down:?}");
    assert!(down.stderr.contains("4 unchanged, since their summarizer failed"), "{down:?}");
    fs::write(folder.join("up"), "").expect("written");
    let up = within(folder, &rules);
    assert!(up.stderr.contains("4 files: 4 compacted, 2 left out"), "what is left out is named: {up:?}");
    assert!(within(folder, &[&rules[..], &["-v"]].concat()).stderr.contains("4 files: 4 finished by an earlier run"));
}

#[test]
fn each_conversation_has_an_archive_of_its_own_where_a_preset_has_one() {
    let logs = logs();
    let folder = logs.path();
    fs::copy(folder.join("logs/a.json"), folder.join("logs/deep/a.json")).expect("copied");
    let rules = ["--preset", "deepagents", "--trigger", "messages:10", "--keep", "messages:5", "--model", "extractive"];
    let run = within(folder, &[&rules[..], &["-O", "out", "logs"]].concat());
    assert_eq!(run.code, 0, "{run:?}");
    for archive in ["logs/a.md", "logs/deep/a.md", "logs/deep/b.md"] {
        assert!(folder.join("conversation_history").join(archive).is_file(), "{archive}");
    }
}

#[cfg(unix)]
#[test]
fn links_are_not_followed_and_odd_names_are_names() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let logs = logs();
    let folder = logs.path();
    std::os::unix::fs::symlink("/", folder.join("logs/everything")).expect("a link");
    std::os::unix::fs::symlink("a.json", folder.join("logs/also-a.json")).expect("a link");
    let odd = [OsStr::from_bytes(b"\xff\xfe.json"), OsStr::new("-rf.json"), OsStr::new("a b\n.json")];
    for name in odd {
        fs::copy(folder.join("logs/a.json"), folder.join("logs").join(name)).expect("copied");
    }
    let run = compacted(folder, &["-O", "out", "--resume", "--report", "out/report.jsonl", "logs"]);
    assert_eq!(run.code, 0, "{run:?}");
    fs::rename(folder.join("out/report.jsonl"), folder.join("report.jsonl")).expect("moved");
    assert_eq!(reported(folder)["logs/everything"]["status"], "skipped");
    assert_eq!(tree(&folder.join("out")).len(), 4 + odd.len());
    assert!(odd.iter().all(|name| folder.join("out").join(name).is_file()));
    assert!(compacted(folder, &["-v", "-O", "out", "--resume", "logs"]).stderr.contains("7 files: 7 finished"));
}

#[test]
fn compressed_files_are_written_as_such() {
    let logs = logs();
    let folder = logs.path();
    for end in ["gz", "zst"] {
        for name in ["a.json", "plain.json", "deep/er/c.jsonl"] {
            let packed = path(folder, &format!("logs/{name}.{end}"));
            let run = within(folder, &["--trigger", "messages:999", "-o", &packed, &format!("logs/{name}")]);
            assert_eq!(run.code, 0, "{run:?}");
        }
    }
    assert_eq!(compacted(folder, &["--trigger", "messages:50", "-O", "out", "logs"]).code, 0);
    for (end, magic) in [("gz", &[0x1f, 0x8b][..]), ("zst", &[0x28, 0xb5, 0x2f, 0xfd])] {
        for name in ["a.json", "plain.json", "deep/er/c.jsonl"] {
            let packed = folder.join("out").join(format!("{name}.{end}"));
            assert!(fs::read(&packed).expect("a file").starts_with(magic));
            let there = within(folder, &["--trigger", "messages:999", packed.to_str().expect("UTF-8")]);
            assert_eq!(there.stdout.as_bytes(), fs::read(folder.join("out").join(name)).expect("a file"), "{name}");
        }
        let unchanged = format!("plain.json.{end}");
        let bytes = |root: &str| fs::read(folder.join(root).join(&unchanged)).expect("a file");
        assert_eq!(bytes("logs"), bytes("out"));
    }
}

#[test]
fn a_folder_that_another_run_writes_to_is_refused() {
    let logs = logs();
    let folder = logs.path();
    fs::create_dir_all(folder.join("out/.tcompact")).expect("made");
    let journal = fs::File::create(folder.join("out/.tcompact/journal.jsonl")).expect("made");
    journal.lock().expect("locked");
    assert_fails(&compacted(folder, &["-O", "out", "logs"]), 1, &["another run of tcompact is writing to out"]);
    drop(journal);
    assert_eq!(compacted(folder, &["-O", "out", "logs"]).code, 0);
}

#[test]
fn a_folder_without_transcripts_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("none")).expect("made");
    fs::write(folder.path().join("none/notes.txt"), "No transcript.").expect("written");
    const SAID: &str = "tcompact: none: no transcripts found\n";
    for flags in [&["-n"][..], &["-n", "--json"], &["--diff"]] {
        let arguments = [flags, &["none"]].concat();
        let run = within(folder.path(), &arguments);
        assert_eq!((run.code, run.stdout.as_str()), (0, ""), "{run:?}");
        assert_eq!(run.stderr, SAID, "{arguments:?}");
        assert_eq!(within(folder.path(), &[&arguments[..], &["-q"]].concat()).stderr, "");
    }
    // A script takes silence for a result.
    for command in [&["check"][..], &["count"], &["count", "-q"], &["repair", "drop", "-i"], &["redact", "-O", "out"]] {
        let run = within(folder.path(), &[command, &["none"]].concat());
        assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (1, "", SAID), "{command:?}");
    }
}

#[test]
fn files_of_other_programs_in_a_folder_are_named_once_for_each_program() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    fs::create_dir_all(root.join("others/deep")).expect("made");
    let goose = r#"{"id":"s","working_dir":"/w","conversation":[]}"#;
    let zed = r#"{"messages":[{"User":{"content":[]}}]}"#;
    for (name, text) in [("b.json", goose), ("deep/a.json", goose), ("z.json", zed), ("package.json", "{\"name\":1}")] {
        fs::write(root.join("others").join(name), text).expect("written");
    }
    fs::write(root.join("others/opencode.db"), b"SQLite format 3\0").expect("written");
    fs::write(root.join("others/a.png"), b"\x89PNG\r\n").expect("written");
    let named = [
        "others/opencode.db is left out: it is an SQLite database; opencode export ID > session.json writes what tcompact reads",
        "2 files are left out, as others/b.json: each looks like Goose's messages, which tcompact does not read (compact it in Goose)",
        "others/z.json is left out: it looks like a thread of Zed, which tcompact does not read",
    ];
    let said = named.map(|sentence| format!("tcompact: {sentence}\n")).concat();
    for command in [&["check"][..], &["count"], &["redact", "-O", "out"]] {
        let run = within(root, &[command, &["others"]].concat());
        let all = format!("{said}tcompact: others: no transcripts found\n");
        assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (1, "", all.as_str()), "{command:?}");
    }
    let run = within(root, &["search", "x", "others"]);
    assert_eq!((run.code, run.stderr.as_str()), (3, said.as_str()), "{run:?}");
    assert_eq!(within(root, &["count", "-q", "others"]).stderr, "tcompact: others: no transcripts found\n");
    // A transcript among them is read, and they are named beside it.
    fs::copy(Path::new(FIXTURES).join("openai-chat/plain.json"), root.join("others/plain.json")).expect("copied");
    let run = within(root, &["count", "others"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, said.as_str()), "{run:?}");
    assert!(run.stdout.starts_with("others/plain.json\t"), "{run:?}");
}

#[test]
fn a_missing_file_stops_no_other() {
    let logs = logs();
    let folder = logs.path();
    for flags in [&["-n"][..], &["count"], &["check"], &["-O", "out"], &["--in-place=.bak"]] {
        let rules = if flags[0].starts_with('-') { &RULES[..] } else { &[] };
        let files = ["no/where.json", "logs/plain.json", "logs/a.json"];
        let run = within(folder, &[flags, rules, &files].concat());
        assert_eq!(run.code, 7, "{flags:?}: {run:?}");
        assert!(run.stderr.contains("no/where.json"), "{flags:?}: {run:?}");
    }
    assert_eq!(tree(&folder.join("out")).len(), 2);
    // What was meant otherwise stops all.
    for arguments in [&["--in-place", ".bak", "logs/a.json"][..], &["-n", "compact", "logs/a.json"]] {
        assert_fails(&compacted(folder, arguments), 1, &["there is no file"]);
    }
}

#[test]
fn each_conversation_of_a_file_that_cannot_be_written_has_one_record() {
    let logs = logs();
    let folder = logs.path();
    fs::create_dir(folder.join("out")).expect("made");
    // A file where a folder must be, as good as a full disk.
    fs::write(folder.join("out/deep"), "").expect("written");
    let run = compacted(folder, &["-O", "out", "--report", "report.jsonl", "logs"]);
    assert_eq!(run.code, 7, "{run:?}");
    let text = fs::read_to_string(folder.join("report.jsonl")).expect("a report");
    let sources: Vec<String> = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON")["source"].as_str().expect("a name").to_owned())
        .collect();
    let once: std::collections::BTreeSet<&String> = sources.iter().collect();
    assert_eq!(once.len(), sources.len(), "{sources:?}");
    assert!(sources.iter().any(|source| source == "logs/deep/b.json"), "{sources:?}");
}

/// Where standard error is no terminal, a run that did all that it was asked for says nothing.
#[test]
fn success_is_silent() {
    let logs = logs();
    let folder = logs.path();
    let files = ["logs/a.json", "logs/deep/b.json"];
    let alone = compacted(folder, &[files[0]]);
    assert_eq!((alone.code, alone.stderr.as_str()), (0, ""));
    for action in [&["-O", "out"][..], &["--in-place", "--resume"]] {
        let run = compacted(folder, &[action, &files].concat());
        assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (0, "", ""), "{action:?}");
    }
}
