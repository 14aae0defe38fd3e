//! The cases in `tests/cmd`: commands as a user types them, with their output and exit code.
//!
//! A file is prose and blocks of code. In a block, a line `$ COMMAND` runs in a shell. A line `? CODE` below it is the
//! exit code, unless that is 0. The lines up to an empty line before the next command are the command's output,
//! standard output and standard error together. `[..]` matches any text within a line, and a line `...` any lines. The
//! commands run in the repository, or in a copy of the folder `NAME.in` if `NAME.md` has one.
//!
//! `TCOMPACT_REGENERATE=1` writes the output of a command that no longer matches into its file.

use std::fs;
use std::io::Read;
use std::path::Path;

use regex::Regex;

use crate::program::shell;

const FENCE: &str = "```\n";

#[test]
fn commands_print_what_their_cases_show() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cmd");
    let entries = fs::read_dir(&folder).expect("the cases").map(|entry| entry.expect("an entry").path());
    let (files, rest): (Vec<_>, Vec<_>) = entries.partition(|path| path.extension().is_some_and(|name| name == "md"));
    assert!(rest.iter().all(|path| path.extension().is_some_and(|name| name == "in")), "not cases: {rest:?}");
    let failed: Vec<String> = std::thread::scope(|scope| {
        let runs: Vec<_> = files.iter().map(|file| scope.spawn(|| failures(file))).collect();
        runs.into_iter().flat_map(|run| run.join().expect("the cases of a file")).collect()
    });
    assert!(failed.is_empty(), "TCOMPACT_REGENERATE=1 writes these anew:\n\n{}", failed.join("\n"));
}

/// Runs the commands of a file; returns each that does not match, with what it prints.
fn failures(file: &Path) -> Vec<String> {
    let source = fs::read_to_string(file).expect("a file of cases");
    let sandbox = tempfile::tempdir().expect("a folder");
    let mut place = Path::new(env!("CARGO_MANIFEST_DIR"));
    if let Ok(entries) = fs::read_dir(file.with_extension("in")) {
        place = sandbox.path();
        for entry in entries.map(|entry| entry.expect("an entry")) {
            fs::copy(entry.path(), place.join(entry.file_name())).expect("copied");
        }
    }
    let (mut written, mut failed) = (String::new(), Vec::new());
    for (at, part) in source.split(FENCE).enumerate() {
        if at > 0 {
            written.push_str(FENCE);
        }
        let mut rest = part;
        // Every second part is the content of a block.
        while at % 2 == 1 && !rest.is_empty() {
            let end = rest.find("\n\n$ ").map_or(rest.len(), |end| end + "\n\n".len());
            let (case, others) = rest.split_at(end);
            let (line, expected) = case.split_once('\n').expect("a command and its output");
            let command = line.strip_prefix("$ ").expect("a command");
            let printed = printed(command, place);
            if pattern(expected).is_match(&printed) {
                written.push_str(case);
            } else {
                written.push_str(&format!("{line}\n{}", with_placeholders(&printed, expected)));
                failed.push(format!("{}:\n{case}prints instead\n{printed}", file.display()));
            }
            rest = others;
        }
        written.push_str(rest);
    }
    if std::env::var_os("TCOMPACT_REGENERATE").is_some() && written != source {
        fs::write(file, written).expect("written");
    }
    failed
}

/// Runs a command. Returns its output in the form of a case: after the exit code, and before an empty line.
fn printed(command: &str, place: &Path) -> String {
    let (mut reader, writer) = std::io::pipe().expect("a pipe");
    let mut shell = shell(command, place);
    shell.stdout(writer.try_clone().expect("a pipe")).stderr(writer);
    let mut child = shell.spawn().expect("sh is there");
    // The command holds the writing end, which would keep the reader from reaching the end of the file.
    drop(shell);
    let mut printed = String::new();
    reader.read_to_string(&mut printed).expect("UTF-8");
    let code = child.wait().expect("it ends").code().expect("an exit code");
    let status = if code == 0 { String::new() } else { format!("? {code}\n") };
    let end = if printed.is_empty() || printed.ends_with('\n') { "\n" } else { "\n\n" };
    format!("{status}{printed}{end}")
}

/// Inserts the expected placeholder lines that still match into a command's output, because some output varies between
/// machines.
fn with_placeholders(printed: &str, expected: &str) -> String {
    let lines = expected.split_inclusive('\n').filter(|line| line.contains("[..]"));
    let placeholders: Vec<(&str, Regex)> = lines.map(|line| (line, pattern(line))).collect();
    let kept = |line| placeholders.iter().find(|(_, pattern)| pattern.is_match(line)).map_or(line, |(kept, _)| *kept);
    printed.split_inclusive('\n').map(kept).collect()
}

/// Compiles a text with placeholders to a pattern for the whole output.
fn pattern(expected: &str) -> Regex {
    let lines = expected.split_inclusive('\n').map(|line| match line {
        "...\n" => "(?:.*\n)*".to_owned(),
        _ => regex::escape(line).replace(r"\[\.\.\]", ".*"),
    });
    Regex::new(&format!("^{}$", lines.collect::<String>())).expect("a pattern")
}

#[test]
fn placeholders_match_text_and_lines_and_nothing_else() {
    let matches = |expected: &str, printed: &str| pattern(expected).is_match(printed);
    assert!(matches("a[..]c\n\n", "abc\n\n") && matches("a[..]c\n\n", "ac\n\n"));
    assert!(!matches("a[..]c\n\n", "a\nc\n\n") && !matches("a.c\n\n", "abc\n\n"));
    assert!(matches("a\n...\nb\n\n", "a\nx\ny\nb\n\n") && matches("a\n...\nb\n\n", "a\nb\n\n"));
    assert_eq!(with_placeholders("1\nfor x86\n2\n\n", "3\nfor [..]\n...\n\n"), "1\nfor [..]\n2\n\n");
    assert!(!matches("a\n\n", "a\nb\n\n") && !matches("a\n\n", "? 1\na\n\n") && !matches("b\n\n", "a\nb\n\n"));
}
