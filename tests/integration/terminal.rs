//! What a terminal shows: a text of a conversation that it does not obey, and what a run is doing.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::json;

use crate::hostile::{CONTROLS, assert_has_no_controls};
use crate::program::tcompact;

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
fn a_terminal_obeys_no_summary() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = hostile(&folder);
    let summary = ["--keep", "messages:1", "--emit", "summary", "--color", "never", &file];
    for (more, both) in [(&[][..], true), (&["-o", "{tty}"], true), (&["-o", "{tty}"], false), (&["--json"], true)] {
        let shown = on_terminal(&[&summary[..], more].concat(), both);
        assert!(shown.code == 0 && shown.terminal.contains("said at length"), "{more:?}: {shown:?}");
        assert_has_no_controls(&shown.terminal, false);
    }
    // A program gets the summary as it is.
    let piped = on_terminal(&summary, false);
    assert!(piped.stdout.contains("\u{1b}]0;owned\u{7}"), "{piped:?}");
    for shown in [&["--diff"][..], &["-n", "--explain"], &["-n", "-v"], &["-n"], &["--count"]] {
        let shown = on_terminal(&[shown, &["--keep", "messages:1", "--color", "never", &file]].concat(), true);
        assert_eq!(shown.code, 0, "{shown:?}");
        assert_has_no_controls(&shown.terminal, false);
    }
}
