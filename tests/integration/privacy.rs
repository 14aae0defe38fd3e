//! Who may read the files of a run: a result is as readable as its input, and what stands beside it is private.

#![allow(clippy::print_stdout, reason = "what could not be tried here is said")]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::left_out::left_out;
use crate::program::{FIXTURES, own_settings, run, shell, tcompact};
use crate::support::files;

const KEEP: [&str; 4] = ["--keep", "messages:2", "--accept", "any"];
const COMMAND: [&str; 2] = ["--summarizer-cmd", "cat > /dev/null; echo They mended the hours."];
/// Usual is that others may read, and that the group may write.
const UMASK: &str = "umask 002; exec tcompact \"$0\" \"$@\"";

fn mode(file: &Path) -> u32 {
    fs::metadata(file).unwrap_or_else(|error| panic!("{}: {error}", file.display())).permissions().mode() & 0o7777
}

fn set_mode(file: &Path, mode: u32) {
    fs::set_permissions(file, fs::Permissions::from_mode(mode)).expect("a mode");
}

/// Runs tcompact in a folder whose only file is `in.json`, with the usual mask.
fn compacted(folder: &Path, input_mode: u32, arguments: &[&str]) {
    let input = folder.join("in.json");
    fs::copy(Path::new(FIXTURES).join("openai-chat/plain.json"), &input).expect("copied");
    set_mode(&input, input_mode);
    let made = run(shell(UMASK, folder).args(arguments), b"");
    assert_eq!(made.code, 0, "{arguments:?}: {made:?}");
}

#[test]
fn a_result_has_the_mode_of_its_input_and_other_files_are_private() {
    let places: [&[&str]; 11] = [
        &["-o", "out.json", "in.json"],
        &["-o", "out.json.gz", "in.json"],
        &["-O", "new/folder", "in.json"],
        &["--emit", "summary", "-o", "out.txt", "in.json"],
        &["--emit", "update", "-o", "out.json", "in.json"],
        &["--report", "report.jsonl", "-o", "out.json", "in.json"],
        &["--html", "page.html", "in.json"],
        &["--archive", "cut.jsonl", "in.json"],
        &["--archive", "cut.md", "in.json"],
        &["--cache", "cache", "-O", "out", "in.json"],
        &["-i=.bak", "in.json"],
    ];
    let mut looked = 0;
    for input in [0o600, 0o640, 0o604, 0o644, 0o664, 0o400, 0o440] {
        for arguments in places {
            let folder = tempfile::tempdir().expect("a folder");
            let folder = folder.path();
            let model: &[&str] = if arguments.contains(&"--cache") { &COMMAND } else { &[] };
            compacted(folder, input, &[&KEEP[..], model, arguments].concat());
            for file in files(folder) {
                let found = mode(&file);
                looked += 1;
                assert_eq!(found & 0o077 & !input, 0, "{input:o} {arguments:?}: {} {found:o}", file.display());
                let path = file.strip_prefix(folder).expect("inside").to_string_lossy().into_owned();
                let is_beside = ["report", "page", "cut", "cache", ".tcompact"].iter().any(|name| path.contains(name));
                let expected = if is_beside { 0o600 } else { input };
                assert_eq!(found & 0o777, expected, "{input:o} {path}");
            }
        }
    }
    println!("looked at {looked} files");
}

#[test]
fn standard_input_counts_where_it_is_a_file() {
    for (line, expected) in [
        ("tcompact --keep messages:2 --accept any -o out.json < in.json", 0o600),
        ("tcompact --keep messages:2 --accept any -o out.json - < in.json", 0o600),
        ("tcompact --keep messages:2 --accept any -o out.json /dev/stdin < in.json", 0o600),
        ("cat in.json | tcompact --keep messages:2 --accept any -o out.json", 0o664),
        (
            "tcompact --keep messages:2 --accept any --archive out.json.md < in.json > /dev/null; mv out.json.md out.json",
            0o600,
        ),
        ("touch out.json; tcompact --keep messages:2 --accept any -o out.json in.json", 0o600),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        compacted(folder.path(), 0o600, &["-n", "in.json"]);
        let made = run(&mut shell(&format!("umask 002; {line}"), folder.path()), b"");
        assert_eq!(mode(&folder.path().join("out.json")), expected, "{line}: {made:?}");
    }
}

#[test]
fn outputs_of_several_inputs_are_private() {
    for modes in [[0o600, 0o644], [0o644, 0o644]] {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, mode) in ["a.json", "b.json"].into_iter().zip(modes) {
            let file = folder.path().join(name);
            fs::copy(Path::new(FIXTURES).join("openai-chat/plain.json"), &file).expect("copied");
            set_mode(&file, mode);
        }
        let flags =
            ["-O", "out", "--archive", "cut.jsonl", "--report", "report.jsonl", "--html", "page.html", "--resume"];
        let made = run(shell(UMASK, folder.path()).args(KEEP).args(flags).args(["a.json", "b.json"]), b"");
        assert_eq!(made.code, 0, "{made:?}");
        for name in ["cut.jsonl", "report.jsonl", "page.html", "out/.tcompact/journal.jsonl"] {
            assert_eq!(mode(&folder.path().join(name)), 0o600, "{modes:?} {name}");
        }
    }
}

/// Compacts a file of a group in place, as a user who is a member of `groups`, and returns its group and mode.
fn replaced_by_another(folder: &Path, group: u32, file_mode: u32, groups: &str) -> Option<(u32, u32)> {
    const USER: u32 = 4711;
    let file = folder.join("chat.json");
    fs::copy(Path::new(FIXTURES).join("openai-chat/plain.json"), &file).expect("copied");
    chown(folder, Some(USER), Some(USER)).ok()?;
    chown(&file, Some(USER), Some(group)).ok()?;
    set_mode(folder, 0o755);
    set_mode(&file, file_mode);
    // The program may lie where only its owner can reach it. Another process copies it: a program that this one holds open
    // for writing, if only in a child that another test starts meanwhile, cannot be run.
    let program = folder.join("tcompact");
    let copied = Command::new("cp").arg(tcompact().get_program()).arg(&program).status();
    assert!(copied.expect("cp is there").success());
    let mut command = Command::new("setpriv");
    let user = USER.to_string();
    command.args(["--reuid", &user, "--regid", &user]).args(groups.split(' ')).arg(&program);
    command.args(KEEP).args(["-i", "chat.json"]).envs(own_settings()).current_dir(folder).stdin(Stdio::null());
    let done = command.output().ok()?;
    assert!(done.status.success(), "{done:?}");
    assert!(fs::read_to_string(&file).expect("a file").contains("Here is a summary"));
    Some((fs::metadata(&file).expect("there").gid(), mode(&file)))
}

#[test]
fn in_place_the_group_is_kept_or_another_may_do_what_all_may() {
    const GROUP: u32 = 4712;
    for (file_mode, groups, expected) in [
        (0o640, "--groups 4712", (GROUP, 0o640)),
        (0o664, "--groups 4712", (GROUP, 0o664)),
        (0o640, "--clear-groups", (4711, 0o600)),
        (0o660, "--clear-groups", (4711, 0o600)),
        (0o664, "--clear-groups", (4711, 0o644)),
        (0o604, "--clear-groups", (4711, 0o600)),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let Some(found) = replaced_by_another(folder.path(), GROUP, file_mode, groups) else {
            // Only root can give a file to another user, with setpriv.
            return left_out("root");
        };
        assert_eq!(found, expected, "{file_mode:o} {groups}");
    }
}

/// A change that keeps the length and restores the time of modification, and one of the permissions, are changes.
#[test]
fn in_place_a_file_that_changed_meanwhile_is_left_alone() {
    for change in [
        "cp -p chat.json was; sed -i s/hours/HOURS/ chat.json; touch -r was chat.json",
        "cp -p chat.json was; tr a-y b-z < was > text; cat text > chat.json; touch -r was chat.json",
        "chmod 600 chat.json",
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("chat.json");
        fs::copy(Path::new(FIXTURES).join("openai-chat/plain.json"), &file).expect("copied");
        set_mode(&file, 0o644);
        let command = format!("cat > /dev/null; {change}; cp chat.json changed; echo They mended the hours.");
        let mut program = tcompact();
        program.current_dir(folder.path()).args(KEEP).args(["--summarizer-cmd", &command, "-i", "chat.json"]);
        let done = run(&mut program, b"");
        assert_eq!(done.code, 1, "{change}: {done:?}");
        assert!(done.stderr.contains("chat.json changed meanwhile"), "{change}: {done:?}");
        let changed = fs::read(folder.path().join("changed")).expect("a copy");
        assert_eq!(fs::read(&file).expect("a file"), changed, "{change}");
    }
}
