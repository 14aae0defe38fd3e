//! A run that fails leaves nothing behind, and one that replaces a file keeps what belongs to the file.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Stdio;

use serde_json::json;

use crate::program::{Run, path, run, shell, tcompact, with};
use crate::signals::wait_until;
use crate::support::{tree, turns};

fn conversation() -> String {
    json!(turns(0..40, |at| format!("This is part {at}, which is long enough. ").repeat(12))).to_string()
}

fn place() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("s.json"), conversation()).expect("written");
    folder
}

fn within(folder: &Path, arguments: &[&str]) -> Run {
    run(tcompact().args(["--keep", "messages:4"]).args(arguments).current_dir(folder), b"")
}

#[test]
fn records_are_appended_to_nothing_but_an_archive() {
    const RECORD: &str = "{\"source\":\"a.json\",\"messages\":[]}\n";
    let session = "{\"role\":\"user\",\"content\":\"a\"}\n{\"role\":\"assistant\",\"content\":\"b\"}\n";
    let half_behind_a_session = format!("{session}{{\"source\":\"a");
    let session_with_a_record = format!("{session}{RECORD}");
    let begun_and_whole = format!("{{\"source\":\"a.json\",\"mess\n{RECORD}");
    let damaged = format!("half a line\n\n{RECORD}{session}");
    for (what, content, is_archive) in [
        ("nothing", "", true),
        ("blank lines", "\n\n", true),
        ("a record", RECORD, true),
        ("half a record", "{\"source\":\"a.json\",\"mess", true),
        ("half a record and a whole one", &begun_and_whole, true),
        ("half a line in front of a record", &damaged, true),
        ("a session", session, false),
        ("a session with a record behind it", &session_with_a_record, false),
        ("a session with half a record behind it", &half_behind_a_session, false),
        ("half a session", "{\"role\":\"user\",\"cont", false),
        ("a document", "[\n  {\"role\": \"user\", \"content\": \"a\"}\n]\n", false),
        ("a number", "7\n", false),
        ("text", "Buy milk.\nCall home.\n", false),
    ] {
        for flags in [&["-i"][..], &["-o", "out.json"], &["--emit", "summary"], &["--fit", "tokens:900", "-i"]] {
            let folder = place();
            fs::write(folder.path().join("other.jsonl"), content).expect("written");
            let before = tree(folder.path());
            let asked =
                ["--summarizer-cmd", "touch asked; cat > /dev/null; echo They told their parts one by one, all forty."];
            let arguments = [flags, &asked, &["--accept", "any", "--archive", "other.jsonl", "s.json"]].concat();
            let done = within(folder.path(), &arguments);
            if is_archive {
                assert_eq!(done.code, 0, "{what}: {done:?}");
                continue;
            }
            assert_eq!(done.code, 2, "{what}: {done:?}");
            assert!(done.stderr.contains("--archive other.jsonl is not an archive: line 1 is not"), "{what}: {done:?}");
            assert_eq!(tree(folder.path()), before, "{what}");
        }
    }
}

#[test]
fn a_page_is_not_replaced_by_one_about_a_failure() {
    const BROKEN: &str = "[{\"role\":\"user\",\"content\":\"a\"},";
    for (flags, code) in [
        (&["-i", "broken.json"][..], 1),
        (&["-o", "out.json", "broken.json"], 1),
        (&["-i", "--summarizer-cmd", "cat > /dev/null; exit 3", "--retries", "0", "s.json"], 4),
        (&["-i", "--summarizer-cmd", "cat > /dev/null", "s.json"], 5),
        (
            &[
                "-i",
                "--summarizer-cmd",
                "cat > /dev/null; echo >> s.json; echo They told their parts one by one.",
                "--accept",
                "any",
                "s.json",
            ],
            1,
        ),
    ] {
        for earlier in [None, Some("an earlier page")] {
            let folder = place();
            fs::write(folder.path().join("broken.json"), BROKEN).expect("written");
            let page = folder.path().join("p.html");
            earlier.iter().for_each(|text| fs::write(&page, text).expect("written"));
            let done = within(folder.path(), &[flags, &["--html", "p.html"]].concat());
            assert_eq!(done.code, code, "{flags:?}: {done:?}");
            assert_eq!(fs::read_to_string(&page).ok().as_deref(), earlier, "{flags:?}");
        }
    }
}

#[test]
fn the_archive_can_be_in_the_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("d")).expect("made");
    symlink("d", folder.path().join("link")).expect("a link");
    let flags = ["-i", "--archive", "d/h.jsonl"];
    for searched in ["d", "./d", "link"] {
        // Each run has something to do.
        fs::write(folder.path().join("d/s.json"), conversation()).expect("written");
        let done = within(folder.path(), &[&flags[..], &["-v", searched]].concat());
        assert_eq!(done.code, 0, "{searched}: {done:?}");
        assert!(done.stderr.contains("1 file: 1 compacted"), "{searched}: {done:?}");
        assert!(!done.stderr.contains("h.jsonl: "), "{searched}: {done:?}");
    }
    let records = fs::read_to_string(folder.path().join("d/h.jsonl")).expect("an archive");
    assert_eq!(records.lines().count(), 3);
}

/// The limit stands for a full disk: the restored file is larger than it, the copy is smaller.
#[test]
fn a_restore_that_fails_leaves_no_copy() {
    let folder = place();
    assert_eq!(within(folder.path(), &["-q", "-i", "--archive", "h.jsonl", "s.json"]).code, 0);
    let before = tree(folder.path());
    let script = "ulimit -f 24; tcompact restore h.jsonl -i=.bak s.json";
    let done = shell(script, folder.path()).output().expect("it runs");
    assert_eq!(done.status.code(), Some(1), "{done:?}");
    assert_eq!(tree(folder.path()), before, "{done:?}");
    let done = shell("tcompact restore h.jsonl -i=.bak s.json", folder.path()).output().expect("it runs");
    assert!(done.status.success(), "{done:?}");
    assert_eq!(fs::read_to_string(folder.path().join("s.json")).expect("a file"), conversation());
}

#[test]
fn an_archive_that_cannot_be_written_is_not_there_afterwards() {
    let folder = place();
    let before = tree(folder.path());
    for (in_place, too_large) in [("-i", "h.jsonl"), ("-i=.bak", "s.json.bak")] {
        let script = format!("ulimit -f 16; tcompact --keep messages:4 {in_place} --archive h.jsonl s.json");
        let done = shell(&script, folder.path()).output().expect("it runs");
        assert_eq!(done.status.code(), Some(1), "{done:?}");
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(said.contains(&format!("{too_large} cannot be written")), "{done:?}");
        assert_eq!(tree(folder.path()), before, "{done:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_replaced_file_keeps_its_extended_attributes() {
    use rustix::fs::{XattrFlags, getxattr, setxattr};
    let folder = place();
    let file = folder.path().join("s.json");
    let value = b"of the user\0and more";
    if setxattr(&file, "user.note", value, XattrFlags::empty()).is_err() {
        return crate::left_out::left_out("extended attributes");
    }
    setxattr(&file, "user.empty", b"", XattrFlags::empty()).expect("set");
    let has = |name: &str| {
        let mut found = [0; 64];
        let length = getxattr(folder.path().join(name), "user.note", &mut found[..]).expect("there");
        let empty = getxattr(folder.path().join(name), "user.empty", &mut [0; 8][..]);
        found[..length] == *value && empty == Ok(0)
    };
    assert_eq!(within(folder.path(), &["-i=.bak", "--archive", "h.jsonl", "s.json"]).code, 0);
    assert!(has("s.json") && has("s.json.bak"));
    let restored = run(tcompact().args(["restore", "h.jsonl", "-i", "s.json"]).current_dir(folder.path()), b"");
    assert_eq!(restored.code, 0, "{restored:?}");
    assert!(has("s.json"));
}

#[test]
fn a_hard_link_that_is_parted_is_named() {
    let folder = place();
    let root = folder.path();
    let is_told = |run: &Run| run.stderr.contains("s.json: the file had 1 other name (hard links)");
    let link = || {
        fs::remove_file(root.join("other.json")).ok();
        fs::hard_link(root.join("s.json"), root.join("other.json")).expect("linked");
    };
    link();
    let done = within(root, &["-i", "--archive", "h.jsonl", "s.json"]);
    assert!(done.code == 0 && is_told(&done), "{done:?}");
    assert_eq!(fs::read_to_string(root.join("other.json")).expect("there"), conversation());
    link();
    let done = run(tcompact().args(["restore", "h.jsonl", "-i", "s.json"]).current_dir(root), b"");
    assert!(done.code == 0 && is_told(&done), "{done:?}");
    link();
    let done = within(root, &["-q", "-i", "s.json"]);
    assert!(done.code == 0 && done.stderr.is_empty(), "{done:?}");
    fs::remove_file(root.join("other.json")).expect("removed");
    fs::write(root.join("s.json"), conversation()).expect("written");
    let done = within(root, &["-i", "s.json"]);
    assert!(done.code == 0 && done.stderr.is_empty(), "{done:?}");
}

#[test]
fn hard_links_of_a_batch_are_each_replaced() {
    let folder = place();
    let root = folder.path();
    for name in ["h.json", "i.json"] {
        fs::hard_link(root.join("s.json"), root.join(name)).expect("linked");
    }
    let done = within(root, &["-i", "."]);
    assert_eq!(done.code, 0, "{done:?}");
    let [one, two, three] = ["h.json", "i.json", "s.json"].map(|name| fs::read(root.join(name)).expect("there"));
    assert!(one == two && one == three && one != conversation().as_bytes(), "{done:?}");
}

#[test]
fn a_failed_run_leaves_no_empty_report() {
    let folder = place();
    let root = folder.path();
    fs::write(root.join("bad.json"), "{\"not\": \"it\"}\n").expect("written");
    std::os::unix::fs::symlink("nowhere.jsonl", root.join("link.jsonl")).expect("a link");
    let before = tree(root);
    for input in ["bad.json", "missing.json"] {
        for report in ["r.jsonl", "link.jsonl"] {
            let done = within(root, &["-o", "o.json", "--report", report, input]);
            assert_eq!(done.code, 1, "{input}: {done:?}");
            assert_eq!(tree(root), before, "{input} {report}");
        }
    }
    let full = shell("ulimit -f 0; tcompact --report r.jsonl --keep messages:4 s.json | cat", root).output();
    assert!(String::from_utf8_lossy(&full.expect("it runs").stderr).contains("--report r.jsonl cannot be written"));
    assert_eq!(tree(root), before);
    // What succeeds without a conversation reports none.
    let nothing = run(tcompact().args(["--lines", "conversations", "--report", "r.jsonl"]).current_dir(root), b"");
    assert_eq!((nothing.code, fs::read(root.join("r.jsonl")).ok()), (0, Some(Vec::new())), "{nothing:?}");
}

#[test]
fn a_batch_that_does_nothing_leaves_no_journal() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    fs::create_dir(root.join("logs")).expect("made");
    fs::write(root.join("logs/bad.json"), "[{\"role\":\"user\",\"content\":\"a\"},").expect("written");
    for flags in [&["-i"][..], &["-i", "--resume"], &["-i", "--summarizer-cmd", "cat"]] {
        let done = within(root, &[flags, &["logs"]].concat());
        assert_eq!(done.code, 7, "{flags:?}: {done:?}");
        assert!(!root.join("logs/.tcompact").exists(), "{flags:?}");
    }
}

#[test]
fn an_interrupted_run_leaves_no_empty_report_and_no_empty_journal() {
    for signal in ["INT", "TERM"] {
        for place_of_results in [&["-o", "o.json", "s.json"][..], &["-i", "."]] {
            let folder = place();
            let root = folder.path();
            let before = tree(root);
            let slow = ["--summarizer-cmd", "cat > /dev/null; touch asked; sleep 60"];
            let mut command = tcompact();
            command.args(["--keep", "messages:4", "--report", "r.jsonl"]).args(slow).args(place_of_results);
            let mut child = command.current_dir(root).stderr(Stdio::null()).spawn().expect("it starts");
            wait_until("it asks", || root.join("asked").exists());
            let kill = shell(&format!("kill -{signal} {}", child.id()), root).status();
            assert!(kill.expect("it runs").success());
            assert_eq!(child.wait().expect("it ends").code(), Some(130));
            fs::remove_file(root.join("asked")).expect("removed");
            assert_eq!(tree(root), before, "{signal} {place_of_results:?}");
            assert!(!root.join(".tcompact").exists(), "{signal} {place_of_results:?}");
        }
    }
}

/// A flag that takes a file can be given the session by mistake.
#[test]
fn a_page_and_a_report_replace_no_session() {
    let folder = tempfile::tempdir().expect("a folder");
    let [file, other, archive] = ["s.json", "other.json", "h.jsonl"].map(|name| path(folder.path(), name));
    let session = conversation();
    fs::write(&file, &session).expect("written");
    let done = with(&["-q", "--keep", "messages:1", "--archive", &archive, &file]);
    assert_eq!(done.code, 0, "{done:?}");
    let record = fs::read_to_string(&archive).expect("an archive");
    for content in [&*session, &record, "\n {}"] {
        for flag in ["--report", "--html"] {
            fs::write(&other, content).expect("written");
            let refused = with(&["--keep", "1", flag, &other, &file]);
            assert!(refused.code == 2 && refused.stderr.contains("holds other data"), "{flag}: {refused:?}");
            assert_eq!(fs::read_to_string(&other).expect("a file"), content, "{flag}");
        }
    }
    // What tcompact wrote there, and what is not JSON, is replaced.
    for (flag, name) in [("--report", "r.jsonl"), ("--html", "p.html")] {
        let place = path(folder.path(), name);
        for _ in 0..2 {
            let done = with(&["-q", "--keep", "1", flag, &place, &file]);
            assert_eq!(done.code, 0, "{flag}: {done:?}");
        }
        fs::write(&place, "OLD").expect("written");
        assert_eq!(with(&["-q", "--keep", "1", flag, &place, &file]).code, 0, "{flag}");
    }
}
