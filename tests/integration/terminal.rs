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

use crate::malicious_input::{CONTROLS, assert_has_no_controls};
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
    run_on_terminal(arguments, both, false)
}

/// The same, with a terminal as standard input if `typed`.
fn run_on_terminal(arguments: &[&str], both: bool, typed: bool) -> Shown {
    let (mut person, path) = open();
    let end = || OpenOptions::new().read(true).write(true).open(&path).expect("the terminal");
    let mut command: Command = tcompact();
    command.args(arguments.iter().map(|one| one.replace("{tty}", path.to_str().expect("UTF-8"))));
    command.stdin(if typed { Stdio::from(end()) } else { Stdio::null() });
    command.stderr(end()).stdout(if both { Stdio::from(end()) } else { Stdio::piped() });
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
fn summaries_and_updates_are_escaped_for_a_terminal() {
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
    let keep = ["--keep", "messages:1"];
    for shown in [&["--diff"][..], &["-n", "--explain"], &["-n", "-v"], &["-n"], &["count"]] {
        let keep = if shown == ["count"] { &[][..] } else { &keep };
        let shown = on_terminal(&[shown, keep, &["--color", "never", &file]].concat(), true);
        assert_eq!(shown.code, 0, "{shown:?}");
        assert_has_no_controls(&shown.terminal, false);
    }
}

/// A run of one file ends with a line for whoever looks on, and shows that it waits for a model.
#[test]
fn a_terminal_shows_progress_and_outcome() {
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
    for (summarizer, name, from) in [
        (&model[..], "openai:m", "summary by openai:m"),
        (&command, "command", "summary by --summarizer-cmd"),
        (&[], "", "embedded summary"),
    ] {
        for (place, both, rest) in [
            (&["-o", &out][..], false, "the input is unchanged; --diff instead of --output shows the change"),
            (&["-i"], false, "the rest is gone (--archive FILE.jsonl keeps it)"),
            (&[], false, "the input is unchanged; add --diff to see the change"),
            (&[], true, "the input is unchanged; add --diff to see the change"),
        ] {
            restore();
            let arguments = [&["--keep", "messages:10", &file], summarizer, place].concat();
            let shown = on_terminal(&arguments, both);
            assert_eq!(shown.code, 0, "{shown:?}");
            let ended = ended(&shown, &file);
            let (sizes, told) = ended.split_once("; ").expect("two parts");
            assert!(sizes.starts_with("62 → 13 messages, 11,684 → ") && sizes.ends_with(" tokens"), "{sizes}");
            assert_eq!(told, format!("{from}; {rest}"), "{place:?} {both}");
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
    assert!(never.terminal.lines().count() == 1 && !never.terminal.contains("writes"), "{never:?}");
    // What stays as it is, and what is only looked at.
    for other in
        [&["--keep", "messages:100"][..], &["-n", "--keep", "messages:10"], &["--diff", "--keep", "messages:10"]]
    {
        let shown = on_terminal(&[other, &[&file]].concat(), false);
        assert!(shown.code == 0 && !shown.terminal.contains('→'), "{shown:?}");
    }
}

/// The closing line of a run, without the name of the file.
fn ended(shown: &Shown, file: &str) -> String {
    let line = shown.terminal.lines().last().unwrap_or_default();
    let line = &line[line.find("tcompact: ").unwrap_or_default()..];
    let told = line.strip_prefix(&format!("tcompact: {file}: "));
    told.unwrap_or_else(|| panic!("no closing line: {shown:?}")).to_owned()
}

/// A closing line says where the original is and how to see it, and that is so.
#[test]
fn the_closing_line_names_the_original() {
    let folder = tempfile::tempdir().expect("a folder");
    let [file, out, archive, readable, lines, other] =
        ["chat.json", "out.json", "cut.jsonl", "cut.md", "several.jsonl", "folder"]
            .map(|name| crate::program::path(folder.path(), name));
    let original = std::fs::read_to_string(format!("{FIXTURES}/agent-session.json")).expect("a fixture");
    let conversation = serde_json::from_str::<Value>(&original).expect("JSON").to_string();
    let restore = || {
        std::fs::write(&file, &original).expect("written");
        std::fs::write(&lines, format!("{conversation}\n{conversation}\n")).expect("written");
        [&archive, &readable].into_iter().for_each(|file| drop(std::fs::remove_file(file)));
    };
    std::fs::create_dir(&other).expect("a folder");
    let keep = ["--keep", "messages:10"];
    let back = format!("tcompact restore {archive} {file} prints the original");
    let copy = format!("the original is {file}.bak");
    let [kept, read] = [&archive, &readable].map(|archive| format!("the rest is in {archive}"));
    let by_output = "--diff instead of --output shows the change";
    let by_folder = "--diff instead of --output-dir shows the change";
    for (flags, from, told) in [
        (&["-i", "--archive", &archive][..], "embedded summary", back.clone()),
        (&["-i=.bak"], "embedded summary", copy),
        (&["-i", "--archive", &readable], "embedded summary", read),
        (&["-o", &out, "--archive", &archive], "embedded summary", format!("{kept}; {by_output}")),
        (&["--archive", &archive], "embedded summary", format!("{kept}; add --diff to see the change")),
        (&["-O", &other], "embedded summary", format!("the input is unchanged; {by_folder}")),
        (&["--emit", "summary"], "embedded summary", "the input is unchanged".to_owned()),
        (&["-m", "none", "-i", "--archive", &archive], "a note instead of a summary", back.clone()),
        (&["--fit", "tokens:7000", "-i", "--archive", &archive], "pruned, not summarized", back),
        (
            &["-o", &out, "--summarizer-cmd", "exit 1", "--on-error", "embed"],
            "the error instead of a summary",
            format!("the input is unchanged; {by_output}"),
        ),
    ] {
        restore();
        let keep = if flags.contains(&"--fit") { &[][..] } else { &keep };
        let shown = on_terminal(&[keep, flags, &[&file]].concat(), false);
        let ended = ended(&shown, &file);
        assert!(ended.ends_with(&format!(" tokens; {from}; {told}")), "{flags:?}: {ended}");
        assert!(ended.replace(folder.path().to_str().expect("UTF-8"), "").chars().count() < 150, "{ended}");
        let Some(command) = told.strip_suffix(" prints the original") else { continue };
        let arguments: Vec<&str> = command.split(' ').skip(1).collect();
        assert_eq!(run(tcompact().args(arguments), b"").stdout, original, "{flags:?}");
    }
    restore();
    let several = on_terminal(&[&keep[..], &["-o", &out, &lines]].concat(), false);
    let told = "2 conversations, 124 → 26 messages, ";
    assert!(ended(&several, &lines).starts_with(told), "{several:?}");
    for (flags, rest) in [
        (&["-i"][..], "the rest is gone (--archive FILE.jsonl keeps it)"),
        (&["-O", &other], "the inputs are unchanged"),
    ] {
        restore();
        let batch = on_terminal(&[&keep[..], flags, &[&file, &lines]].concat(), false);
        let last = batch.terminal.lines().last().unwrap_or_default();
        assert!(last.contains("2 files: 2 compacted; ") && last.ends_with(rest), "{batch:?}");
    }
}

/// Nobody types a transcript, so a command without an input says what it needs.
#[test]
fn a_command_without_an_input_does_not_wait_for_a_person() {
    for (arguments, why, next) in [
        (&["count"][..], "count needs a PATH", "try: tcompact count ."),
        (&["check", "-v"], "check needs a PATH", "try: tcompact check -v ."),
        (&["search", "a b"], "search needs a PATH", "try: tcompact search 'a b' ."),
        (
            &["search", "openai-chat"],
            "search needs PATTERN before openai-chat",
            "try: tcompact search error openai-chat",
        ),
        (&["search"], "search needs PATTERN", "try: tcompact search error ."),
        (&["show"], "show needs INDEXES", "try: tcompact show --help"),
        (&["show", "last"], "no transcript: name a file", ""),
        (&["redact"], "no transcript: name a file", ""),
    ] {
        let shown = run_on_terminal(arguments, true, true);
        let told = anstream::adapter::strip_str(&shown.terminal).to_string();
        assert!(shown.code == 2 && told.contains(why) && told.trim_end().ends_with(next), "{arguments:?}: {shown:?}");
    }
}
