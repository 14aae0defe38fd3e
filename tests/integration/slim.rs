//! `slim`: what no model is sent leaves the files of sessions, and an archive beside each gives every byte back.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::program::{Run, path, run, tcompact};

/// The sessions with what is not sent.
const SESSIONS: [&str; 4] = ["claude-code.jsonl", "codex.jsonl", "gemini-cli.json", "pi.jsonl"];

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/unsent").join(name)
}

/// A folder with the sessions, one of them in a folder below.
fn sessions(folder: &Path) -> Vec<PathBuf> {
    fs::create_dir(folder.join("below")).expect("a folder");
    let mut files = Vec::new();
    for name in SESSIONS {
        let below = if name.starts_with("pi") { "below" } else { "" };
        let file = folder.join(below).join(name);
        fs::copy(fixture(name), &file).expect("copied");
        files.push(file);
    }
    files
}

fn slim(arguments: &[&str], place: &Path) -> Run {
    run(tcompact().arg("slim").args(arguments).arg(place), b"")
}

fn archive_of(file: &Path) -> PathBuf {
    PathBuf::from(format!("{}.cut.jsonl.zst", file.display()))
}

/// What `count` and `show` say of a file.
fn told(file: &Path) -> [String; 2] {
    let count = run(tcompact().args(["count", "-q", "--json"]).arg(file), b"");
    let row: serde_json::Value = serde_json::from_str(&count.stdout).expect("a row");
    let all = format!("0-{}", row["messages"].as_u64().expect("a number") - 1);
    let show = run(tcompact().args(["show", "-q", &all, "--limit-tokens", "100000"]).arg(file), b"");
    assert_eq!([count.code, show.code], [0, 0], "{count:?} {show:?}");
    [count.stdout, show.stdout]
}

#[test]
fn files_become_smaller_and_say_the_same_and_come_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let files = sessions(folder.path());
    let before: Vec<Vec<u8>> = files.iter().map(|file| fs::read(file).expect("a session")).collect();
    let said: Vec<[String; 2]> = files.iter().map(|file| told(file)).collect();
    fs::write(folder.path().join("notes.txt"), "no session").expect("written");
    fs::write(folder.path().join("chat.json"), r#"[{"role":"user","content":"a"}]"#).expect("written");

    let planned = slim(&["-n"], folder.path());
    assert_eq!((planned.code, planned.stdout.lines().count()), (0, 4), "{planned:?}");
    assert!(planned.stderr.contains("4 of 4 sessions would become smaller: "), "{planned:?}");
    let is_same = |(file, before): (&PathBuf, &Vec<u8>)| fs::read(file).expect("a session") == *before;
    assert!(files.iter().zip(&before).all(is_same), "a dry run writes nothing");

    let done = slim(&[], folder.path());
    assert_eq!((done.code, &*done.stdout), (0, ""), "{done:?}");
    assert!(done.stderr.contains("4 of 4 sessions became smaller: 54 KB before, 31 KB after; most by"), "{done:?}");
    assert!(done.stderr.contains("to undo, for each FILE: tcompact restore -i FILE.cut.jsonl.zst FILE"), "{done:?}");
    for ((file, before), said) in files.iter().zip(&before).zip(&said) {
        let after = fs::read(file).expect("a session");
        assert!(after.len() * 10 < before.len() * 9, "{} has {} bytes", file.display(), after.len());
        assert_eq!(told(file), *said, "{}", file.display());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(archive_of(file)).expect("an archive").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }
    let again = slim(&[], folder.path());
    assert!(again.code == 0 && again.stderr.contains("4 sessions: nothing more to remove"), "{again:?}");
    for (file, before) in files.iter().zip(&before) {
        let back = run(tcompact().args(["restore", "-q", "-i"]).arg(archive_of(file)).arg(file), b"");
        assert_eq!((back.code, fs::read(file).expect("a session") == *before), (0, true), "{back:?}");
    }
}

#[test]
fn one_session_says_how_it_is_undone() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("it's.jsonl");
    fs::copy(fixture("claude-code.jsonl"), &file).expect("copied");
    let done = slim(&[], &file);
    assert_eq!(done.code, 0, "{done:?}");
    let (_, undo) = done.stderr.trim_end().rsplit_once("; to undo: tcompact ").expect("a command");
    let words = format!("{} {undo}", env!("CARGO_BIN_EXE_tcompact"));
    if cfg!(unix) {
        let undone = std::process::Command::new("/bin/sh").args(["-c", &words]).output().expect("a shell");
        assert!(undone.status.success(), "{undone:?}");
        assert_eq!(fs::read(&file).expect("a session"), fs::read(fixture("claude-code.jsonl")).expect("a fixture"));
    }
    let grown = [fs::read(&file).expect("a session"), br#"{"type":"last-prompt"}"#.to_vec(), b"\n".to_vec()].concat();
    fs::write(&file, &grown).expect("written");
    let done = slim(&["-q"], &file);
    assert_eq!((done.code, &*done.stderr), (0, ""), "{done:?}");
    let back = run(tcompact().args(["restore", "-q"]).arg(archive_of(&file)).arg(&file), b"");
    assert_eq!(back.stdout.as_bytes(), grown, "the archive has two records by now");
}

/// A line of Claude Code with a result, whose copy is not sent.
fn read_by_claude_code(at: usize) -> String {
    let text = format!("line of file {at}\n").repeat(40);
    let (call, result, said) = (2 * at + 1, 2 * at + 2, 2 * at);
    let called = json!({"type": "assistant", "uuid": format!("u{call}"), "parentUuid": format!("u{said}"), "message": {
        "role": "assistant", "content": [{"type": "tool_use", "id": format!("t{at}"), "name": "Read", "input": {}}]}});
    let answered = json!({"type": "user", "uuid": format!("u{result}"), "parentUuid": format!("u{call}"),
        "toolUseResult": {"type": "text", "file": {"filePath": "/p/f", "content": text}}, "message": {
        "role": "user", "content": [{"type": "tool_result", "tool_use_id": format!("t{at}"), "content": text}]}});
    format!("{called}\n{answered}\n")
}

/// What slim leaves behind an earlier run looks like growth to the archive of that run.
#[test]
fn a_later_run_in_another_archive_is_taken_back_first() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("session.jsonl");
    let name = file.to_str().expect("a name");
    let cut = format!("{name}.cut.jsonl");
    let asked =
        json!({"type": "user", "uuid": "u0", "parentUuid": null, "message": {"role": "user", "content": "Read."}});
    let begun = format!("{asked}\n{}", (0..3).map(read_by_claude_code).collect::<String>());
    fs::write(&file, &begun).expect("written");
    let pruned = run(tcompact().args(["-q", "-m", "none", "--prune", "unsent", "--archive", &cut, "-i", name]), b"");
    assert_eq!(pruned.code, 0, "{pruned:?}");
    let grown = (3..5).map(read_by_claude_code).collect::<String>();
    let left = fs::read_to_string(&file).expect("a session");
    assert!(left.len() < begun.len());
    fs::write(&file, left + &grown).expect("written");
    assert_eq!(slim(&["-q"], &file).code, 0);
    let restore = |archive: &str| run(tcompact().args(["restore", "-q", "-i", archive, name]), b"");
    let slimmed = fs::read(&file).expect("a session");
    let early = restore(&cut);
    assert!(early.code == 1 && early.stderr.contains("a later run on it is in "), "{early:?}");
    assert_eq!(fs::read(&file).expect("a session"), slimmed, "nothing is written");
    for archive in [&format!("{cut}.zst"), &cut] {
        let back = restore(archive);
        assert_eq!(back.code, 0, "{back:?}");
    }
    assert_eq!(fs::read_to_string(&file).expect("a session"), begun + &grown);
}

#[test]
fn without_an_archive_only_copies_go() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("session.jsonl");
    fs::copy(fixture("claude-code.jsonl"), &file).expect("copied");
    let done = slim(&["--no-archive"], &file);
    assert!(done.code == 0 && done.stderr.contains("; nothing keeps what went"), "{done:?}");
    let text = fs::read_to_string(&file).expect("a session");
    assert!(text.contains("twice as many on Fridays") && !archive_of(&file).exists(), "the branch stays");
    assert!(text.contains(r#""originalFile":"""#), "{text}");
}

#[test]
fn what_is_not_ours_is_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let files = sessions(folder.path());
    let [claude, codex, ..] = files.as_slice() else { panic!("four sessions") };
    let young = slim(&["--older", "7d"], folder.path());
    assert!(young.code == 0 && young.stderr.contains("4 files younger than --older"), "{young:?}");
    for (archive, holds) in [(archive_of(claude), "no zstd"), (archive_of(codex), "")] {
        fs::write(archive, holds).expect("written");
    }
    let before = fs::read(claude).expect("a session");
    let done = slim(&[], folder.path());
    assert!(done.code == 7 && done.stderr.contains("it is not compressed"), "{done:?}");
    assert_eq!(fs::read(claude).expect("a session"), before, "its archive cannot be written");
    assert!(done.stderr.contains("3 of 3 sessions became smaller"), "{done:?}");

    for (text, why) in
        [("[]", "knows of nothing in its format that is not sent"), ("{\"a\":1}", "not a transcript"), ("", "")]
    {
        let file = folder.path().join("other.json");
        fs::write(&file, text).expect("written");
        let done = slim(&[], &file);
        assert!(done.code == 1 && done.stderr.contains(why), "{text}: {done:?}");
        assert_eq!(fs::read_to_string(&file).expect("the file"), text);
    }
    let missing = slim(&[], &folder.path().join("missing"));
    assert_eq!(missing.code, 1, "{missing:?}");
    for arguments in [&["slim"][..], &["slim", "-"], &["slim", "--older", "7", "a"], &["slim", "-i", "a"]] {
        let wrong = run(tcompact().args(arguments), b"");
        assert_eq!(wrong.code, 2, "{wrong:?}");
    }
}

#[cfg(unix)]
#[test]
fn nothing_is_written_through_a_link() {
    use std::os::unix::fs::symlink;

    let folder = tempfile::tempdir().expect("a folder");
    let (file, link) = (folder.path().join("session.jsonl"), folder.path().join("link.jsonl"));
    fs::copy(fixture("pi.jsonl"), &file).expect("copied");
    let before = fs::read(&file).expect("a session");
    symlink(&file, &link).expect("a link");
    let refused = slim(&[], &link);
    assert!(refused.code == 1 && refused.stderr.contains("is a link"), "{refused:?}");
    let elsewhere = folder.path().join("elsewhere");
    symlink(&elsewhere, archive_of(&file)).expect("a link");
    let refused = slim(&[], &file);
    assert!(refused.code == 1 && refused.stderr.contains("is a link"), "{refused:?}");
    assert!(!elsewhere.exists() && fs::read(&file).expect("a session") == before);
    fs::remove_file(archive_of(&file)).expect("removed");
    assert_eq!(slim(&["-q"], folder.path()).code, 0);
    assert!(link.is_symlink() && fs::read(&file).expect("a session").len() < before.len());
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_that_is_open_is_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("session.jsonl");
    fs::copy(fixture("codex.jsonl"), &file).expect("copied");
    let before = fs::read(&file).expect("a session");
    let name = path(folder.path(), "session.jsonl");
    let mut writer = std::process::Command::new("/bin/sh")
        .args(["-c", "exec 3>> \"$0\"; echo; read line", &name])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("a shell");
    let mut ready = [0];
    std::io::Read::read_exact(writer.stdout.as_mut().expect("its output"), &mut ready).expect("it is ready");
    let left = slim(&[], folder.path());
    assert!(left.code == 0 && left.stderr.contains("is left alone: sh (process"), "{left:?}");
    let refused = slim(&[], &file);
    assert!(refused.code == 1 && refused.stderr.contains("add --force"), "{refused:?}");
    assert_eq!(fs::read(&file).expect("a session"), before);
    assert_eq!(slim(&["-q", "--force"], &file).code, 0);
    drop(writer.stdin.take());
    writer.wait().expect("it ends");
    assert!(fs::read(&file).expect("a session").len() < before.len());
}

#[test]
fn count_and_fit_name_the_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("session.jsonl");
    let session = fs::read_to_string(fixture("claude-code.jsonl")).expect("a fixture");
    fs::write(&file, session.replace("loaf-00: 150 cents", &format!("loaf-00: {}", "150 cents ".repeat(2_000))))
        .expect("written");
    let large = session.replace(r#""stderr":"""#, &format!(r#""stderr":"{}""#, "a warning\\n".repeat(9_000)));
    fs::write(&file, large).expect("written");
    let name = path(folder.path(), "session.jsonl");
    let counted = run(tcompact().args(["count", &name]), b"");
    let sentence = format!("are sent to no model; tcompact slim {name} removes them");
    assert!(counted.code == 0 && counted.stderr.contains(&sentence), "{counted:?}");
    let out = path(folder.path(), "out.jsonl");
    let fitted = run(tcompact().args(["--fit", "tokens:100k", "-o", &out, &name]), b"");
    assert!(fitted.code == 0 && fitted.stderr.contains(&sentence.replace(&name, &out)), "{fitted:?}");
    let quiet = run(tcompact().args(["count", "-q", &name]), b"");
    assert_eq!(quiet.stderr, "");
    assert_eq!(slim(&["-q"], &file).code, 0);
    assert!(!run(tcompact().args(["count", &name]), b"").stderr.contains("slim"));
}

#[test]
fn the_rule_prunes_kept_messages_and_spares_tools() {
    let folder = tempfile::tempdir().expect("a folder");
    let (name, archive) = (fixture("claude-code.jsonl").display().to_string(), path(folder.path(), "cut.jsonl"));
    let session = fs::read_to_string(&name).expect("a fixture");
    let only = ["--prune", "unsent", "-m", "none"];
    let pruned = run(tcompact().args(only).args(["-v", "--archive", &archive, &name]), b"");
    assert!(pruned.code == 0 && pruned.stdout.len() < session.len() * 2 / 3, "{pruned:?}");
    let said = &pruned.stderr;
    assert!(said.contains("pruned: unsent in 10 places, ") && !said.contains("recorded size"), "{said}");
    let short = path(folder.path(), "short.jsonl");
    fs::write(&short, &pruned.stdout).expect("written");
    let back = run(tcompact().args(["restore", "-q", &archive, &short]), b"");
    assert_eq!(back.stdout, session);
    let spared = run(tcompact().args(only).args(["-q", "--prune-except", "Edit,Read", &name]), b"");
    assert!(
        spared.stdout.contains(r#""originalFile":"loaf-00"#) && spared.stdout.contains("\\u2026 +30 lines"),
        "{spared:?}"
    );
    let fitted = run(tcompact().args(["--fit", "tokens:2000", "-q", &name]), b"");
    assert!(!fitted.stdout.contains(r#""originalFile":"loaf-00"#), "{fitted:?}");
    let row = run(tcompact().args(["-n", "--json", "-q"]).args(only).arg(&name), b"");
    assert!(row.stdout.contains(r#""unsent":{"messages":"#) && row.stdout.contains(r#""bytes":"#), "{row:?}");
}

#[test]
fn a_round_that_leaves_what_slim_left_comes_back_with_it() {
    const ORPHAN: &str = r#"{"timestamp":"2026-11-02T09:20:00.000Z","type":"response_item","payload":{"type":"function_call_output","call_id":"nobody","output":"late"}}"#;
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("s.jsonl");
    fs::copy(fixture("codex.jsonl"), &file).expect("copied");
    let whole = format!("{}{ORPHAN}\n", fs::read_to_string(&file).expect("a session"));
    assert_eq!(slim(&[], &file).code, 0);
    let slimmed = fs::read_to_string(&file).expect("a session");
    fs::write(&file, format!("{slimmed}{ORPHAN}\n")).expect("written");
    let archive = archive_of(&file);
    let repaired =
        run(tcompact().args(["-m", "none", "--repair", "drop", "-i", "--archive"]).arg(&archive).arg(&file), b"");
    assert_eq!(repaired.code, 0, "{repaired:?}");
    assert_eq!(fs::read_to_string(&file).expect("a session"), slimmed);

    let restored = run(tcompact().arg("restore").arg(&archive).arg(&file), b"");
    assert_eq!((restored.code, restored.stdout.as_str()), (0, whole.as_str()), "{}", restored.stderr);
    let one = run(tcompact().args(["restore", "--rounds", "1"]).arg(&archive).arg(&file), b"");
    assert_eq!((one.code, one.stdout), (0, format!("{slimmed}{ORPHAN}\n")));
    fs::write(&file, format!("{slimmed}{ORPHAN}\n")).expect("written");
    let rest = run(tcompact().arg("restore").arg(&archive).arg(&file), b"");
    assert_eq!((rest.code, rest.stdout), (0, whole));
}

/// A compaction between two runs of `slim` has an archive of its own.
#[test]
fn runs_of_two_archives_come_back_newest_first() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, of_compaction) = (folder.path().join("s.jsonl"), path(folder.path(), "s.jsonl.cut.jsonl"));
    let whole = fs::read_to_string(fixture("claude-code.jsonl")).expect("a fixture");
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    let (first, rest) = lines.split_at(lines.len() / 3);
    let (second, third) = rest.split_at(rest.len() / 2);
    let append = |more: &[&str]| {
        let text = fs::read_to_string(&file).unwrap_or_default() + &more.concat();
        fs::write(&file, &text).expect("written");
        text
    };
    append(first);
    assert_eq!(slim(&[], &file).code, 0);
    let slimmed = append(second);
    let compacted = ["--keep", "messages:2", "-i", "--archive", &of_compaction];
    assert_eq!(run(tcompact().args(compacted).arg(&file), b"").code, 0);
    let left = append(third);
    assert_eq!(slim(&[], &file).code, 0);
    let restore = |archive: &str| run(tcompact().args(["restore", "-i", archive]).arg(&file), b"");
    let of_slim = archive_of(&file).display().to_string();
    for (archive, expected, next) in [
        (&of_slim, left, Some(&of_compaction)),
        (&of_compaction, slimmed + &third.concat(), Some(&of_slim)),
        (&of_slim, whole.clone(), None),
    ] {
        let back = restore(archive);
        assert_eq!((back.code, fs::read_to_string(&file).expect("a file")), (0, expected), "{back:?}");
        let sentence = next.map(|next| format!("the run before is in {next}; restore by that archive next"));
        assert_eq!(sentence.is_some(), back.stderr.contains("restore by that archive next"), "{back:?}");
        assert!(sentence.is_none_or(|sentence| back.stderr.contains(&sentence)), "{back:?}");
    }
}

/// A run of `slim` between two compactions has an archive of its own. What it left is no growth behind the first one.
#[test]
fn a_run_between_two_compactions_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, of_compactions) = (folder.path().join("s.jsonl"), path(folder.path(), "s.jsonl.cut.jsonl"));
    let whole = fs::read_to_string(fixture("claude-code.jsonl")).expect("a fixture");
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    let (first, second) = lines.split_at(lines.len() / 3);
    fs::write(&file, first.concat()).expect("written");
    let compact = || {
        let arguments = ["--keep", "messages:2", "-i", "--accept", "any", "--archive", &of_compactions];
        let run = run(tcompact().args(arguments).arg(&file), b"");
        assert_eq!(run.code, 0, "{run:?}");
    };
    compact();
    let once = fs::read_to_string(&file).expect("a file") + &second.concat();
    fs::write(&file, &once).expect("written");
    assert_eq!(slim(&[], &file).code, 0);
    let slimmed = fs::read_to_string(&file).expect("a file");
    assert_ne!(slimmed, once);
    compact();
    let of_slim = archive_of(&file).display().to_string();
    for (archive, expected, next) in [
        (&of_compactions, slimmed, Some(&of_slim)),
        (&of_slim, once, Some(&of_compactions)),
        (&of_compactions, whole, None),
    ] {
        let back = run(tcompact().args(["restore", "-i", archive]).arg(&file), b"");
        assert_eq!((back.code, fs::read_to_string(&file).expect("a file")), (0, expected), "{back:?}");
        let sentence = next.map(|next| format!("the run before is in {next}; restore by that archive next"));
        assert_eq!(sentence.is_some(), back.stderr.contains("restore by that archive next"), "{back:?}");
        assert!(sentence.is_none_or(|sentence| back.stderr.contains(&sentence)), "{back:?}");
    }
}

#[test]
fn a_file_that_would_not_be_read_any_more_stays() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("s.jsonl");
    let whole = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/claude-code/compacted.jsonl"));
    let lines: Vec<String> = whole.expect("a fixture").lines().take(3).map(str::to_owned).collect();
    let text = lines.join("\n") + "\n";
    fs::write(&file, &text).expect("written");
    let run = slim(&[], &file);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.stderr.contains("it could not be read"), "{run:?}");
    assert_eq!(fs::read_to_string(&file).expect("a session"), text);
}
