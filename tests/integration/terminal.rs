//! What a terminal shows: a text of a conversation that it does not obey, and what a run is doing.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::{Value, json};

use crate::hostile::{CONTROLS, assert_has_no_controls};
use crate::program::{FIXTURES, run, tcompact};
use crate::server::{Server, Step, at_length, completion};

/// What a run printed.
#[derive(Debug)]
struct Shown {
    code: i32,
    /// What standard output got, where that was a pipe.
    stdout: String,
    /// What the terminal got.
    terminal: String,
}

/// Opens a terminal; returns the side of the person, and the path of the side of the program.
fn open() -> (File, PathBuf) {
    let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&person).and_then(|()| unlockpt(&person)).expect("unlocked");
    let name = ptsname(&person, Vec::new()).expect("a name");
    (File::from(person), PathBuf::from(OsStr::from_bytes(name.as_bytes())))
}

/// Runs a command whose standard error is a terminal, and with `both` its standard output, too. `{tty}` in an argument
/// is the path of the terminal.
fn on_terminal(arguments: &[&str], both: bool) -> Shown {
    let (mut person, path) = open();
    let end = || OpenOptions::new().read(true).write(true).open(&path).expect("the terminal");
    let mut command: Command = tcompact();
    command.args(arguments.iter().map(|one| one.replace("{tty}", path.to_str().expect("UTF-8"))));
    command.stdin(Stdio::null()).stderr(end()).stdout(if both { Stdio::from(end()) } else { Stdio::piped() });
    let mut child = command.spawn().expect("it starts");
    // The terminal ends with the last program that has it open.
    drop(command);
    let reader = std::thread::spawn(move || {
        let mut read = Vec::new();
        // Linux reports the end as an error.
        let _ = person.read_to_end(&mut read);
        String::from_utf8(read).expect("UTF-8")
    });
    let mut stdout = String::new();
    child.stdout.take().map(|mut pipe| pipe.read_to_string(&mut stdout).expect("UTF-8"));
    let code = child.wait().expect("it ends").code().expect("an exit code");
    // A terminal ends lines with two characters.
    Shown { code, stdout, terminal: reader.join().expect("read").replace("\r\n", "\n") }
}

/// Writes a conversation with controls in it.
fn hostile(folder: &tempfile::TempDir) -> String {
    let said = |role: &str| json!({"role": role, "content": format!("{CONTROLS} {}", "said at length ".repeat(20))});
    let messages = json!([said("user"), said("assistant"), said("user"), said("assistant"), said("user")]);
    let file = crate::program::path(folder.path(), "chat.json");
    std::fs::write(&file, messages.to_string()).expect("written");
    file
}

#[test]
fn a_terminal_obeys_no_summary_and_no_update() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = hostile(&folder);
    let summary = ["--keep", "messages:1", "--emit", "summary", "--color", "never", &file];
    for (more, both) in [(&[][..], true), (&["-o", "{tty}"], true), (&["-o", "{tty}"], false), (&["--json"], true)] {
        let shown = on_terminal(&[&summary[..], more].concat(), both);
        assert!(shown.code == 0 && shown.terminal.contains("said at length"), "{more:?}: {shown:?}");
        assert_has_no_controls(&shown.terminal, false);
    }
    let update = ["--keep", "messages:1", "--emit", "update", "--color", "never", &file];
    let shown = on_terminal(&update, true);
    assert!(shown.code == 0 && shown.terminal.contains("__remove_all__"), "{shown:?}");
    assert_has_no_controls(&shown.terminal, false);
    let [read, piped] = [shown.terminal.lines().next().unwrap_or_default(), &on_terminal(&update, false).stdout]
        .map(|json| serde_json::from_str::<Value>(json).expect("JSON"));
    assert_eq!(read, piped, "a program reads the same");
    // A program gets the summary as it is.
    let piped = on_terminal(&summary, false);
    assert!(piped.stdout.contains("\u{1b}]0;owned\u{7}"), "{piped:?}");
    for shown in [&["--diff"][..], &["-n", "--explain"], &["-n", "-v"], &["-n"], &["--count"]] {
        let shown = on_terminal(&[shown, &["--keep", "messages:1", "--color", "never", &file]].concat(), true);
        assert_eq!(shown.code, 0, "{shown:?}");
        assert_has_no_controls(&shown.terminal, false);
    }
}

/// A run of one file ends with a line for whoever looks on, and shows that it waits for a model.
#[test]
fn a_terminal_shows_what_is_waited_for_and_what_became_of_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = crate::program::path(folder.path(), "chat.json");
    let restore = || std::fs::copy(format!("{FIXTURES}/agent-session.json"), &file).map(drop).expect("copied");
    let out = crate::program::path(folder.path(), "out.json");
    let Step::Answer(_, _, body) = completion(&at_length("They looked for the cause, and found it."), "stop") else {
        unreachable!()
    };
    let server = Server::start(vec![Step::Slow(Duration::from_millis(400), body)]);
    let model = ["-m", "openai:m", "--base-url", &server.url];
    let command = format!("cat > /dev/null; sleep 0.4; echo '{}'", at_length("They found it."));
    let command = ["--summarizer-cmd", &command];
    let ending = regex::Regex::new(
        r"tcompact: \S+chat\.json: 10,655 → \d,\d{3} tokens, cut at 51(; what was cut is gone, .*)?\n$",
    )
    .expect("a pattern");
    for (summarizer, name) in [(&model[..], "openai:m"), (&command, "command"), (&[], "")] {
        for (place, both) in [(&["-o", &out][..], false), (&["-i"], false), (&[], false), (&[], true)] {
            restore();
            let arguments = [&["--keep", "messages:10", &file], summarizer, place].concat();
            let shown = on_terminal(&arguments, both);
            assert_eq!(shown.code, 0, "{shown:?}");
            let ended = ending.captures(&shown.terminal).unwrap_or_else(|| panic!("{place:?} {both}: {shown:?}"));
            assert_eq!(ended.get(1).is_some(), place == ["-i"], "{shown:?}");
            let waits = shown.terminal.contains("writes the summary") && shown.terminal.contains(name);
            assert_eq!(waits, !name.is_empty(), "{place:?} {both}: {shown:?}");
            restore();
            let quiet = on_terminal(&[&arguments[..], &["-q"]].concat(), false);
            assert_eq!((quiet.code, quiet.terminal.as_str()), (0, ""));
            restore();
            let piped = run(tcompact().args(&arguments), b"");
            assert_eq!((piped.code, piped.stderr.as_str()), (0, ""), "a pipe is told nothing");
        }
    }
    restore();
    let never = on_terminal(&[&["--keep", "messages:10", "--progress", "never", &file], &model[..]].concat(), false);
    assert!(ending.is_match(&never.terminal) && !never.terminal.contains("writes"), "{never:?}");
    // What is only pruned, what stays as it is, and what is only looked at.
    let pruned = on_terminal(&["--fit", "tokens:7000", &file], false);
    assert!(pruned.terminal.ends_with(" → 6,995 tokens, nothing summarized\n"), "{pruned:?}");
    for other in
        [&["--keep", "messages:100"][..], &["-n", "--keep", "messages:10"], &["--diff", "--keep", "messages:10"]]
    {
        let shown = on_terminal(&[other, &[&file]].concat(), false);
        assert!(shown.code == 0 && !shown.terminal.contains('→'), "{shown:?}");
    }
}
