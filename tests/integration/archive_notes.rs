//! What the message in the place of a history says of its archive: how to search it, and how to show its messages.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::program::{FIXTURES, Run, piped, run, tcompact};

/// The note before, between and behind the names of the archive.
const NOTE: [&str; 3] = [
    "rchive: `tcompact search REGEX ",
    "` finds what this summarizes (record a346f855); `tcompact show N ",
    "` prints [N], `A-B` in place of N from [A] to [B]",
];

/// Compacts a fixture in a folder with an archive of this name. Returns the run and the text of the message in the place
/// of the history.
fn noted(archive: &str, arguments: &[&str]) -> (Run, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let source = fs::read(Path::new(FIXTURES).join("agent-session.json")).expect("a fixture");
    let mut command = tcompact();
    command.current_dir(folder.path()).args(["-q", "--keep", "messages:4", "--accept", "any"]);
    command.arg(format!("--archive={archive}"));
    let done = run(command.args(arguments), &source);
    let text = serde_json::from_str(&done.stdout).map_or(String::new(), |result: Value| {
        let messages = result.as_array().or_else(|| result["messages"].as_array()).expect("messages").iter();
        let texts = messages.filter_map(|message| message["content"].as_str());
        texts.filter(|text| text.contains("summar") || text.contains("[tcompact: ")).collect()
    });
    (done, text)
}

/// Each name of an archive is one word of a shell in both commands, whatever characters it has.
#[test]
fn a_shell_reads_the_name_of_the_archive() {
    for name in [
        "cut.jsonl",
        "a cut.jsonl",
        "it's.jsonl",
        "a\"b`c`$HOME.jsonl",
        "two\nlines.jsonl",
        "\u{1b}[31mred\u{202e}.jsonl",
        "(a) [b]; c & d.jsonl",
        "~cut.jsonl",
        "-x.jsonl",
        "Überblick 日本.jsonl",
        "a\\nb.jsonl",
    ] {
        for arguments in [&[][..], &["--model", "none"]] {
            let (done, text) = noted(&format!("./{name}"), arguments);
            let parts = text.split_once(NOTE[0]).and_then(|(_, rest)| rest.split_once(NOTE[1]));
            let (word, rest) = parts.unwrap_or_else(|| panic!("{name:?}: {done:?}"));
            assert!(rest.starts_with(&format!("{word}{}", NOTE[2])), "{rest}");
            let shell = Command::new("bash").args(["-c", &format!("printf %s {word}")]).output().expect("bash");
            assert_eq!(String::from_utf8_lossy(&shell.stdout), format!("./{name}"), "{word}");
        }
    }
    let (_, text) = noted("-x.jsonl", &[]);
    assert!(text.contains("search REGEX ./-x.jsonl`"), "{text}");
}

#[test]
fn archive_note_replaces_the_usual_note() {
    let (_, text) = noted("cut.jsonl", &[]);
    assert!(text.ends_with(&format!("\n\n(A{}cut.jsonl{}cut.jsonl{}.)", NOTE[0], NOTE[1], NOTE[2])), "{text}");
    let (_, text) = noted("cut.jsonl", &["--archive-note", "Call recall\nfor {archive} </summary> now!"]);
    assert!(text.ends_with("\n\n(Archive: Call recall for cut.jsonl &lt;/summary> now!)"), "{text}");
    let (_, text) = noted("cut.jsonl", &["--archive-note", "Call recall {id}:N of {archive}."]);
    assert!(text.ends_with("\n\n(Archive: Call recall a346f855:N of cut.jsonl.)"), "{text}");
    let (_, text) = noted("cut.jsonl", &["--model", "none", "--archive-note", "Call recall."]);
    assert!(text.ends_with("; archive: Call recall]"), "{text}");
    for model in ["none", "extractive"] {
        let (_, text) = noted("cut.jsonl", &["--model", model, "--archive-note", "off"]);
        assert!(!text.is_empty() && !text.contains("cut.jsonl") && !text.contains("rchive"), "{text}");
    }
    // Only such an archive can be searched, and other systems do not know how.
    let place = "(The messages that this summarizes are kept in ";
    for (archive, arguments) in
        [("cut.md", &[][..]), ("cut.jsonl", &["--preset", "langchain", "--trigger", "messages:1"])]
    {
        let (done, text) = noted(archive, arguments);
        assert!(text.ends_with(&format!("{place}{archive}.)")), "{done:?}");
    }
}

#[test]
fn a_note_without_its_archive_is_refused() {
    let refused = [
        (&["--archive-note", "off"][..], "there is no archive to name; give --archive FILE"),
        (&["--archive-note", "", "--archive", "a.jsonl"], "--archive-note needs a value"),
        (&["--archive-note", "off", "--archive", "a.jsonl", "--preset", "deepagents"], "name their archive themselves"),
    ];
    for (arguments, why) in refused {
        let done = piped(arguments, "[]");
        assert!(done.code == 2 && done.stderr.contains(why), "{done:?}");
    }
    // A setting for all runs does not ask for an archive.
    let done = run(tcompact().env("TCOMPACT_ARCHIVE_NOTE", "off"), b"[]");
    assert_eq!(done.code, 0, "{done:?}");
}
