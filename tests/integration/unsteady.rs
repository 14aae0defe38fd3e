//! Files that change, vanish or become links during a run, unwritable outputs, and readers that hang up.

#![cfg(unix)]
#![allow(clippy::print_stdout, reason = "what could not be tried here is said")]

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::batch::{logs, tree, within};
use crate::program::{FIXTURES, own_settings, path, tcompact};

/// Runs a batch whose summarizer changes the files before each answer.
fn disturbed(folder: &Path, script: &str, more: &[&str]) -> crate::program::Run {
    let command = format!("cat > /dev/null; {script}; echo Notes.");
    let rules = ["--summarizer-cmd", &command, "--keep", "messages:4", "--jobs", "1", "--report", "report.jsonl"];
    within(folder, &[&rules[..], more].concat())
}

fn fates(folder: &Path) -> Vec<(String, String)> {
    let report = fs::read_to_string(folder.join("report.jsonl")).expect("a report");
    let text = |line: &Value, key: &str| line[key].as_str().expect("a text").to_owned();
    let lines = report.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    lines.map(|line| (text(&line, "source"), text(&line, "status"))).collect()
}

#[test]
fn files_that_vanish_or_are_cut_short_are_reported_and_the_others_done() {
    for place in [&["-O", "out", "logs"][..], &["-i", "logs"]] {
        let logs = logs();
        let folder = logs.path();
        let script = "rm -f logs/deep/b.json; [ -s logs/plain.json ] && head -c 700 logs/plain.json > cut && mv cut logs/plain.json";
        let run = disturbed(folder, script, place);
        assert_eq!(run.code, 7, "{run:?}");
        assert!(run.stderr.contains("logs/deep/b.json cannot be read: no such file or directory"), "{run:?}");
        assert!(
            run.stderr
                .contains("logs/plain.json is not JSON: the string that begins at line 1 column 693 is not closed"),
            "{run:?}"
        );
        let fates = fates(folder);
        let failed: Vec<&str> = fates.iter().filter(|(_, fate)| fate == "failed").map(|(name, _)| &**name).collect();
        assert_eq!(failed, ["logs/deep/b.json", "logs/plain.json"], "{fates:?}");
        assert!(fates.contains(&("logs/a.json".to_owned(), "compacted".to_owned())), "{fates:?}");
        assert!(!folder.join("out/deep/b.json").exists() && !folder.join("out/plain.json").exists());
        assert!(!tree(folder).keys().any(|name| name.display().to_string().contains(".part")));
    }
}

#[test]
fn a_file_that_vanishes_while_it_is_worked_on_does_not_come_back() {
    let logs = logs();
    let run = disturbed(logs.path(), "rm -f logs/a.json", &["-i", "logs/a.json"]);
    assert_eq!(run.code, 7, "{run:?}");
    assert!(run.stderr.contains("logs/a.json was changed meanwhile"), "{run:?}");
    assert!(!logs.path().join("logs/a.json").exists());
}

/// A link replaces a file after it was read; its target has the same length and time.
#[test]
fn a_link_that_is_put_in_the_way_leads_nowhere() {
    let swapped = "cp -p logs/a.json victim.json 2>/dev/null; rm -f logs/a.json; ln -s ../victim.json logs/a.json";
    for named in ["logs/a.json", "logs"] {
        let logs = logs();
        let folder = logs.path();
        let before = fs::read(folder.join("logs/a.json")).expect("a file");
        let run = disturbed(folder, &format!("[ -e victim.json ] || {{ {swapped}; }}"), &["-i", named]);
        assert_eq!(run.code, 7, "{run:?}");
        assert!(run.stderr.contains("logs/a.json was changed meanwhile"), "{run:?}");
        assert_eq!(fs::read(folder.join("victim.json")).expect("a file"), before);
        assert!(folder.join("logs/a.json").is_symlink());
    }
}

/// A link replaces a file after its directory was searched and before it is opened.
#[test]
fn a_link_that_appears_in_a_directory_is_not_followed() {
    let logs = logs();
    let folder = logs.path();
    fs::copy(folder.join("logs/a.json"), folder.join("private.json")).expect("copied");
    let script = "ln -sf ../../private.json logs/deep/b.json";
    for place in [&["-O", "out", "logs"][..], &["-i", "logs"]] {
        let run = disturbed(folder, script, place);
        assert_eq!(
            run.code,
            if place[0] == "-i" { 0 } else { 7 },
            "the second time it is a link from the start: {run:?}"
        );
        assert!(
            place[0] == "-i" || run.stderr.contains("logs/deep/b.json cannot be read: it became a link"),
            "{run:?}"
        );
        assert!(!folder.join("out/deep/b.json").exists());
    }
    let private = fs::read(folder.join("private.json")).expect("a file");
    assert_eq!(private, fs::read(Path::new(FIXTURES).join("agent-session.json")).expect("a file"));
}

/// A link that the user names stays a link, and its target is replaced.
#[test]
fn a_link_that_is_named_is_followed() {
    let logs = logs();
    let link = path(logs.path(), "link.json");
    std::os::unix::fs::symlink("logs/a.json", &link).expect("a link");
    let before = fs::metadata(logs.path().join("logs/a.json")).expect("there").len();
    assert_eq!(disturbed(logs.path(), "true", &["-i", "link.json"]).code, 0);
    assert!(Path::new(&link).is_symlink() && fs::metadata(&link).expect("there").len() < before);
}

#[test]
fn standard_output_may_be_closed_at_any_byte() {
    let arguments = ["--model", "extractive", "--keep", "messages:2"];
    for file in ["openai-chat/conversations.jsonl", "openai-chat/plain.json"] {
        let whole = crate::program::with(&[&arguments[..], &[file]].concat()).stdout;
        for at in (0..whole.len()).step_by(whole.len() / 20) {
            let mut child = tcompact()
                .args(arguments)
                .arg(file)
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .expect("it starts");
            let mut read = vec![0; at];
            child.stdout.take().expect("a pipe").read_exact(&mut read).expect("read");
            assert_eq!(read, whole.as_bytes()[..at]);
            let output = child.wait_with_output().expect("it ends");
            assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]), "{file} at {at}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn standard_output_that_takes_nothing_is_an_error() {
    for (file, code) in [("openai-chat/plain.json", 1), ("openai-chat/conversations.jsonl", 1)] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("the device");
        let mut command = tcompact();
        command.args(["--model", "extractive", "--keep", "messages:2", file]).stdout(full).stderr(Stdio::piped());
        let output = command.spawn().and_then(std::process::Child::wait_with_output).expect("it ends");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains("standard output cannot be written: no space left on device"), "{said}");
    }
}

/// If nothing can be written, no request is sent. Only root can create such a place; elsewhere the test prints that it
/// was skipped.
#[cfg(target_os = "linux")]
#[test]
fn a_place_that_cannot_be_written_is_found_before_anybody_is_asked() {
    let logs = logs();
    let folder = logs.path();
    fs::create_dir(folder.join("disk")).expect("made");
    let before = tree(folder);
    let script = r#"mount -t tmpfs none disk && cp -r logs disk/ && mount -o remount,ro disk || exit 99
        ask() { "$0" --summarizer-cmd 'cat > /dev/null; echo x >> asked; echo Notes.' --keep messages:2 "$@"; echo "ended $?" >&2; }
        ask -O disk/out logs; ask -i disk/logs; ask -o disk/out.json logs/a.json; ask --report disk/r.jsonl logs/a.json
        ask --archive disk/cut.jsonl logs/a.json; ask --cache disk/cache logs/a.json"#;
    let mut command = Command::new("unshare");
    command.args(["-rm", "sh", "-c", script]).arg(tcompact().get_program()).envs(own_settings()).current_dir(folder);
    let Ok(output) = command.output().map_err(|error| println!("not tried: {error}")) else { return };
    let said = String::from_utf8_lossy(&output.stderr);
    if !said.contains("ended") {
        println!("not tried: no such place can be made here: {said}");
        return;
    }
    assert_eq!((said.matches("ended 1\n").count(), said.matches("ended ").count()), (6, 6), "{said}");
    assert_eq!(said.matches("read-only file system").count(), 6, "{said}");
    assert!(output.stdout.is_empty(), "{output:?}");
    assert_eq!(tree(folder), before, "nobody is asked, nothing is written: {said}");
}
