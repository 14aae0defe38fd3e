//! Files that another program writes to: a file that changed since it was read stays as it is, and so does one that
//! another process has open for writing.

#![allow(clippy::print_stdout, reason = "what could not be tried here is said")]

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::interrupted_runs::can_trace;
use crate::left_out::left_out;
use crate::program::{Run, own_settings, run, shell, tcompact};
use crate::support::{tree, turns};

const KEEP: [&str; 2] = ["--keep", "messages:4"];
/// A summarizer that leaves a trace where it is asked.
const ASKED: &str =
    "echo asked >> asked; cat > /dev/null; echo They said their parts, one after the other, all of them.";

/// The lines of a session with messages of these numbers.
fn lines(numbers: Range<usize>) -> String {
    let text = |at| format!("Part {at} of what was said, which is long enough. ").repeat(6);
    turns(numbers, text).iter().map(|message| format!("{message}\n")).collect()
}

/// A folder with sessions of lines, and what stands beside one after an earlier run.
fn place() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["s.jsonl", "logs/a.jsonl", "logs/b.jsonl", "logs/c.jsonl"] {
        let file = folder.path().join(name);
        fs::create_dir_all(file.parent().expect("a folder")).expect("made");
        fs::write(file, lines(0..12)).expect("written");
    }
    fs::create_dir(folder.path().join("pages")).expect("made");
    fs::write(folder.path().join("pages/p.html"), "an earlier page").expect("written");
    folder
}

fn within(folder: &Path, arguments: &[&str]) -> Run {
    run(tcompact().args(KEEP).args(["--accept", "any", "--ledger", "off"]).args(arguments).current_dir(folder), b"")
}

/// Puts a session in the place of `s.jsonl` that `cut.jsonl` restores.
fn compact(folder: &Path) {
    assert_eq!(within(folder, &["-q", "-i", "--archive", "cut.jsonl", "s.jsonl"]).code, 0);
}

/// A process that holds a file open until it is killed.
struct Holder(Child);

impl Holder {
    /// `how` is the redirection of a shell.
    fn of(folder: &Path, how: &str) -> Self {
        let ready = folder.join("ready");
        let child = shell(&format!("exec {how}; echo > ready; exec sleep 60"), folder).spawn().expect("it starts");
        while !ready.exists() {
            std::thread::sleep(Duration::from_millis(2));
        }
        // The shell becomes another program.
        let name = format!("/proc/{}/comm", child.id());
        while fs::read_to_string(&name).is_ok_and(|name| name.trim() != "sleep") {
            std::thread::sleep(Duration::from_millis(2));
        }
        fs::remove_file(ready).expect("removed");
        Holder(child)
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_file_that_another_process_has_open_for_writing_is_left_alone() {
    for (how, is_refused) in [("3>>s.jsonl", true), ("3<>s.jsonl", true), ("3<s.jsonl", false), ("3>>cut.jsonl", false)]
    {
        for is_restored in [false, true] {
            let folder = place();
            let root = folder.path();
            if is_restored {
                compact(root);
            }
            let holder = Holder::of(root, how);
            let before = tree(root);
            let arguments: &[&str] = if is_restored {
                &["restore", "cut.jsonl", "-i=.bak", "s.jsonl"]
            } else {
                &["--summarizer-cmd", ASKED, "--html", "pages/p.html", "--archive", "cut.jsonl", "-i=.bak", "s.jsonl"]
            };
            let start = |more: &[&str]| {
                let rules: &[&str] =
                    if is_restored { &[] } else { &["--keep", "messages:4", "--accept", "any", "--ledger", "off"] };
                run(tcompact().args(rules).args(arguments).args(more).current_dir(root), b"")
            };
            let done = start(&[]);
            assert_eq!(done.code, i32::from(is_refused), "{how} {arguments:?}: {done:?}");
            if is_refused {
                let named = format!("s.jsonl is not replaced: sleep (process {}) has it open", holder.0.id());
                assert!(done.stderr.contains(&named) && done.stdout.is_empty(), "{how} {arguments:?}: {done:?}");
                assert_eq!(tree(root), before, "{how} {arguments:?}: nothing is written or asked");
                assert_eq!(start(&["--force"]).code, 0, "{how} {arguments:?}");
            }
            assert_ne!(tree(root)[Path::new("s.jsonl")], before[Path::new("s.jsonl")], "{how} {arguments:?}");
        }
    }
}

#[test]
fn a_file_that_needs_nothing_is_no_error_while_it_is_open() {
    let folder = place();
    let _holder = Holder::of(folder.path(), "3>>s.jsonl");
    let before = tree(folder.path());
    for arguments in
        [&["--keep", "messages:99", "-i", "s.jsonl"][..], &["-n", "-i", "s.jsonl"], &["-o", "new", "s.jsonl"]]
    {
        let done = run(tcompact().args(arguments).current_dir(folder.path()), b"");
        assert_eq!(done.code, 0, "{arguments:?}: {done:?}");
    }
    assert_eq!(tree(folder.path())[Path::new("s.jsonl")], before[Path::new("s.jsonl")]);
}

/// An agent that has its session open runs tcompact as a hook, through a shell and a script of its own.
#[test]
fn ancestors_may_have_the_file_open() {
    for script in [
        "exec 3>>s.jsonl; tcompact -q --keep messages:4 -i s.jsonl 3>&-; exit $?",
        "exec 3>>s.jsonl; sh -c 'sh -c \"tcompact -q --keep messages:4 -i s.jsonl 3>&-; exit \\$?\" 3>&-; exit $?'; exit $?",
        // What it hands down is its own.
        "exec 3>>s.jsonl; tcompact -q --keep messages:4 -i s.jsonl; exit $?",
    ] {
        let folder = place();
        let before = fs::metadata(folder.path().join("s.jsonl")).expect("there").len();
        let done = shell(script, folder.path()).output().expect("it runs");
        assert!(done.status.success(), "{script}: {done:?}");
        assert!(fs::metadata(folder.path().join("s.jsonl")).expect("there").len() < before, "{script}");
    }
}

#[test]
fn of_a_batch_only_the_open_file_fails() {
    let folder = place();
    let root = folder.path();
    let _holder = Holder::of(root, "3>>logs/b.jsonl");
    let before = tree(root);
    let done = within(root, &["-i", "--report", "report.jsonl", "--archive", "cut.jsonl", "logs"]);
    assert_eq!(done.code, 7, "{done:?}");
    let after = tree(root);
    let is_changed = |name: &str| before[Path::new(name)] != after[Path::new(name)];
    assert!(is_changed("logs/a.jsonl") && !is_changed("logs/b.jsonl") && is_changed("logs/c.jsonl"), "{done:?}");
    let report = fs::read_to_string(root.join("report.jsonl")).expect("a report");
    let rows: Vec<Value> = report.lines().map(|row| serde_json::from_str(row).expect("JSON")).collect();
    let failed: Vec<&Value> = rows.iter().filter(|row| row["status"] == "failed").collect();
    assert_eq!((rows.len(), failed.len()), (3, 1), "{report}");
    assert!(failed[0]["error"].as_str().is_some_and(|error| error.contains("logs/b.jsonl is not replaced: sleep")));
    let done = within(root, &["-i", "--force", "--archive", "cut.jsonl", "logs"]);
    assert_eq!(done.code, 0, "{done:?}");
    assert_ne!(tree(root)[Path::new("logs/b.jsonl")], before[Path::new("logs/b.jsonl")]);
}

/// The name of a process is whatever it calls itself.
#[test]
fn the_name_of_a_process_is_printed_without_control_characters() {
    let folder = place();
    let script = "exec 3>>s.jsonl; printf 'a\\033[31m) b' > /proc/$$/comm; echo > ready; read x";
    let mut child = shell(script, folder.path()).stdin(Stdio::piped()).spawn().expect("it starts");
    while !folder.path().join("ready").exists() {
        std::thread::sleep(Duration::from_millis(2));
    }
    let done = within(folder.path(), &["-i", "s.jsonl"]);
    child.kill().and_then(|()| child.wait()).expect("it ends");
    assert_eq!(done.code, 1, "{done:?}");
    assert!(done.stderr.contains(&format!("(process {})", child.id())), "{done:?}");
    assert!(!done.stderr.contains('\u{1b}'), "{done:?}");
}

#[test]
fn what_changes_while_the_summary_is_written_is_not_replaced() {
    const CHANGES: [&str; 5] = [
        "echo '{\"role\":\"user\",\"content\":\"late\"}' >> s.jsonl",
        "cp s.jsonl new; echo >> new; mv new s.jsonl",
        "cp -p s.jsonl new; mv new s.jsonl",
        "head -c 900 s.jsonl > new; cat new > s.jsonl",
        "rm s.jsonl",
    ];
    for change in CHANGES {
        // `--force` is for files that are open; what changed was not read.
        for more in [&[][..], &["--force"]] {
            let folder = place();
            let root = folder.path();
            let summarizer = format!("{change}; cp s.jsonl late; {ASKED}");
            let flags = ["--archive", "cut.jsonl", "--html", "pages/p.html", "-i=.bak", "s.jsonl"];
            let done = within(root, &[&["--summarizer-cmd", &summarizer][..], &flags, more].concat());
            assert_eq!(done.code, 1, "{change}: {done:?}");
            assert!(done.stderr.contains("s.jsonl changed meanwhile and is not replaced; run it again"), "{done:?}");
            let after = tree(root);
            assert_eq!(after.get(Path::new("s.jsonl")), after.get(Path::new("late")), "{change}");
            assert_nothing_left(&after, change);
        }
    }
}

fn assert_nothing_left(after: &BTreeMap<PathBuf, Vec<u8>>, what: &str) {
    assert_eq!(after[Path::new("pages/p.html")], b"an earlier page", "{what}");
    let left = |name: &&PathBuf| {
        let name = name.to_string_lossy();
        name.contains(".part") || name.ends_with(".bak") || name.ends_with("cut.jsonl")
    };
    assert_eq!(after.keys().find(left), None, "{what}");
}

/// When another program appends: as soon as this is true of the files.
type Moment = fn(&Path) -> bool;

fn unfinished(folder: &Path) -> usize {
    let names = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name());
    names.filter(|name| name.to_string_lossy().ends_with(".part")).count()
}

/// Every flush takes long, as on a busy disk; another program appends during one of them.
#[test]
fn a_line_that_comes_during_any_flush_is_not_lost() {
    const MOMENTS: [(&str, Moment); 5] = [
        ("the result is flushed", |root| unfinished(root) > 0),
        ("the page is flushed", |root| unfinished(&root.join("pages")) > 0),
        ("the earlier page is kept aside", |root| unfinished(&root.join("pages")) > 1),
        ("the archive is flushed", |root| fs::metadata(root.join("cut.jsonl")).is_ok_and(|file| file.len() > 0)),
        ("the copy is flushed", |root| unfinished(root) > 1),
    ];
    const COMPACT: &str = "--keep messages:4 --accept any --archive cut.jsonl --html pages/p.html -i=.bak s.jsonl";
    const RESTORE: &str = "restore cut.jsonl -i=.bak s.jsonl";
    if !can_trace() {
        return left_out("strace");
    }
    for (arguments, moments) in [(COMPACT, &MOMENTS[..]), (RESTORE, &[MOMENTS[0], MOMENTS[4]])] {
        for (moment, is_there) in moments {
            let folder = place();
            let root = folder.path();
            if arguments == RESTORE {
                compact(root);
            }
            let archive = fs::read(root.join("cut.jsonl")).ok();
            let mut command = Command::new("strace");
            command.args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=fsync", "-e", "inject=fsync:delay_exit=250000"]);
            command.arg(tcompact().get_program()).args(arguments.split(' ')).envs(own_settings()).current_dir(root);
            let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it runs");
            while !is_there(root) && child.try_wait().expect("it runs").is_none() {
                std::thread::sleep(Duration::from_micros(200));
            }
            let session = OpenOptions::new().append(true).open(root.join("s.jsonl"));
            session.and_then(|mut session| session.write_all(lines(12..13).as_bytes())).expect("written");
            let done = child.wait_with_output().expect("it ends");
            let said = String::from_utf8_lossy(&done.stderr);
            assert_eq!(done.status.code(), Some(1), "{moment}: {said}");
            assert!(said.contains("changed meanwhile"), "{moment}: {said}");
            let text = fs::read_to_string(root.join("s.jsonl")).expect("a session");
            assert!(text.ends_with(&lines(12..13)), "{moment}");
            assert_eq!(fs::read(root.join("cut.jsonl")).ok(), archive, "{moment}: the archive is as it was");
            let mut after = tree(root);
            after.remove(Path::new("cut.jsonl"));
            assert_nothing_left(&after, moment);
        }
    }
}

/// Where no `/proc` says who has a file open, as on other systems, the time of the last change is all there is.
#[test]
fn without_a_list_of_open_files_a_file_that_just_changed_gives_a_warning() {
    const WARNING: &str = "s.jsonl changed within the last 10 seconds";
    for (age, flags, is_warned) in [
        ("now", "-i s.jsonl", true),
        ("30 seconds ago", "-i s.jsonl", false),
        ("now", "-i --force s.jsonl", false),
        ("now", "-o new s.jsonl", false),
        ("now", "-i --keep messages:99 s.jsonl", false),
        ("now", "restore -i cut.jsonl s.jsonl", true),
        ("now", "restore -i --force cut.jsonl s.jsonl", false),
    ] {
        let folder = place();
        let keep = if flags.contains("--keep") || flags.contains("restore") { "" } else { "--keep messages:4" };
        if flags.contains("restore") {
            compact(folder.path());
        }
        let script =
            format!("mount -t tmpfs none /proc || exit 99; touch -d '{age}' s.jsonl; exec \"$0\" {keep} {flags}");
        let mut command = Command::new("unshare");
        command.args(["-rm", "sh", "-c", &script]).arg(tcompact().get_program());
        let output = command.envs(own_settings()).current_dir(folder.path()).stdin(Stdio::null()).output();
        let Ok(done) = output else { return left_out("unshare") };
        if matches!(done.status.code(), Some(99)) || String::from_utf8_lossy(&done.stderr).contains("unshare") {
            return left_out("unshare");
        }
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{age} {flags}: {said}");
        assert_eq!(said.contains(WARNING), is_warned, "{age} {flags}: {said}");
    }
}
