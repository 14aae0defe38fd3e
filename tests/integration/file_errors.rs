//! Files that change, vanish or become links during a run, unwritable outputs, and readers that hang up.

#![cfg(unix)]
#![allow(clippy::print_stdout, reason = "what could not be tried here is said")]

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::batch::{logs, within};
use crate::left_out::left_out;
use crate::program::{FIXTURES, own_settings, path, tcompact};
use crate::server::at_length;
use crate::support::tree;

/// Runs a batch whose summarizer changes the files before each answer.
fn disturbed(folder: &Path, script: &str, more: &[&str]) -> crate::program::Run {
    let command = format!("cat > /dev/null; {script}; echo '{}'", at_length("Notes."));
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
fn vanished_and_truncated_files_are_reported_and_the_rest_is_done() {
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
fn a_file_that_vanishes_meanwhile_is_not_written() {
    let logs = logs();
    let run = disturbed(logs.path(), "rm -f logs/a.json", &["-i", "logs/a.json"]);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.stderr.contains("logs/a.json changed meanwhile"), "{run:?}");
    assert!(!logs.path().join("logs/a.json").exists());
}

/// A link replaces a file after it was read; its target has the same length and time.
#[test]
fn a_link_put_in_the_way_is_not_followed() {
    let swapped = "cp -p logs/a.json victim.json 2>/dev/null; rm -f logs/a.json; ln -s ../victim.json logs/a.json";
    for (named, code) in [("logs/a.json", 1), ("logs", 7)] {
        let logs = logs();
        let folder = logs.path();
        let before = fs::read(folder.join("logs/a.json")).expect("a file");
        let run = disturbed(folder, &format!("[ -e victim.json ] || {{ {swapped}; }}"), &["-i", named]);
        assert_eq!(run.code, code, "{run:?}");
        assert!(run.stderr.contains("logs/a.json changed meanwhile"), "{run:?}");
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
fn a_named_link_is_followed() {
    let logs = logs();
    let link = path(logs.path(), "link.json");
    std::os::unix::fs::symlink("logs/a.json", &link).expect("a link");
    let before = fs::metadata(logs.path().join("logs/a.json")).expect("there").len();
    assert_eq!(disturbed(logs.path(), "true", &["-i", "link.json"]).code, 0);
    assert!(Path::new(&link).is_symlink() && fs::metadata(&link).expect("there").len() < before);
}

#[test]
fn standard_output_may_be_closed_at_any_byte() {
    let arguments = ["--model", "extractive", "--keep", "messages:2", "--accept", "any"];
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
fn a_full_standard_output_is_an_error() {
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

/// The standard library opens another file in the place of a closed stream, so that writing to it would succeed.
#[test]
fn a_closed_standard_stream_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::copy(Path::new(FIXTURES).join("openai-chat/plain.json"), folder.path().join("a.json")).expect("copied");
    let run = |line: &str| crate::program::run(&mut crate::program::shell(line, folder.path()), b"");
    let cut = "tcompact --keep messages:2 --accept any";
    let asking = format!("{cut} --summarizer-cmd 'touch asked; echo Notes.'");
    let archived = format!("{cut} --archive cut.jsonl a.json -o short.json");
    assert_eq!(run(&archived).code, 0);
    for line in [
        format!("{cut} a.json"),
        format!("{asking} a.json"),
        format!("{asking} -o - a.json"),
        format!("{asking} -o /dev/stdout a.json"),
        format!("{cut} -n a.json"),
        format!("{cut} -n -o out.json a.json"),
        format!("{cut} --diff a.json"),
        format!("{cut} --emit summary a.json"),
        "tcompact count a.json".to_owned(),
        "tcompact restore cut.jsonl short.json".to_owned(),
        "tcompact list formats".to_owned(),
        "tcompact --help".to_owned(),
        "tcompact -h".to_owned(),
        "tcompact --version".to_owned(),
        "tcompact completions bash".to_owned(),
    ] {
        let _ = fs::remove_file(folder.path().join("asked"));
        let closed = run(&format!("{line} >&-"));
        assert_eq!(closed.code, 1, "{line}: {closed:?}");
        assert_eq!(closed.stderr.lines().count(), 1, "{line}: {closed:?}");
        assert!(closed.stderr.contains(" cannot be written: it is closed"), "{line}: {closed:?}");
        assert!(!folder.path().join("asked").exists(), "{line}");
        if cfg!(target_os = "linux") && !line.contains("summarizer-cmd") {
            let full = run(&format!("{line} > /dev/full"));
            assert!(full.code == 1 && full.stderr.contains("cannot be written: no space left"), "{line}: {full:?}");
        }
        assert_eq!(run(&format!("{line} > /dev/null")).code, 0, "{line}");
        assert_eq!(run(&format!("{line} <> /dev/null >&0")).code, 0, "a device that is open for more: {line}");
        let piped = run(&format!("{{ {line}; echo $? >&2; }} | true"));
        assert_eq!(piped.stderr, "0\n", "a reader that is gone: {line}");
    }
    for (line, code) in [
        // Nothing goes to standard output.
        (format!("{cut} -q -o out.json a.json >&-"), 0),
        ("tcompact check a.json >&-".to_owned(), 0),
        // Nothing can be said, but the exit code says it.
        (format!("{cut} a.json 2>&-"), 0),
        ("tcompact missing.json 2>&-".to_owned(), 1),
        (format!("{cut} a.json >&- 2>&-"), 1),
    ] {
        assert_eq!(run(&line).code, code, "{line}");
    }
    let closed = run("tcompact -n <&-");
    assert!(closed.code == 1 && closed.stderr.contains("standard input cannot be read: it is closed"), "{closed:?}");
}

/// The shell empties a file before the program that reads it starts.
#[test]
fn the_error_names_an_input_that_the_shell_emptied() {
    for (line, named) in [
        ("tcompact a.json > a.json", true),
        ("tcompact --keep messages:2 ./a.json > a.json", true),
        ("tcompact < a.json > a.json", true),
        ("tcompact --lines conversations a.json > a.json", true),
        ("tcompact -n a.json b.json > a.json", true),
        ("ln -s a.json link.json; tcompact link.json > a.json", true),
        ("tcompact restore cut.jsonl a.json > a.json", true),
        ("tcompact count . > counts.json", false),
        ("tcompact a.json > other.json", false),
        (": > empty.json; tcompact empty.json > other.json", false),
        (": > empty.json; tcompact empty.json", false),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let source = Path::new(FIXTURES).join("openai-chat/plain.json");
        for name in ["a.json", "b.json"] {
            fs::copy(&source, folder.path().join(name)).expect("copied");
        }
        fs::write(folder.path().join("cut.jsonl"), "").expect("written");
        let run = crate::program::run(&mut crate::program::shell(line, folder.path()), b"");
        let says = run.stderr.contains("is also standard output, and the shell emptied it first; use --in-place");
        assert_eq!(says, named, "{line}: {run:?}");
        if named {
            assert_eq!(run.code, 1, "{line}: {run:?}");
            assert!(run.stderr.contains("try: tcompact") && run.stderr.contains("--in-place"), "{line}: {run:?}");
        }
    }
}

/// If nothing can be written, no request is sent. Only root can create such a place; elsewhere the test prints that it
/// was skipped.
#[cfg(target_os = "linux")]
#[test]
fn an_unwritable_place_is_found_before_any_request() {
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
    let Ok(output) = command.output() else { return left_out("unshare") };
    let said = String::from_utf8_lossy(&output.stderr);
    if !said.contains("ended") {
        // No such place can be made here.
        return left_out("unshare");
    }
    assert_eq!((said.matches("ended 1\n").count(), said.matches("ended ").count()), (6, 6), "{said}");
    assert_eq!(said.matches("read-only file system").count(), 6, "{said}");
    assert!(output.stdout.is_empty(), "{output:?}");
    assert_eq!(tree(folder), before, "nobody is asked, nothing is written: {said}");
}
