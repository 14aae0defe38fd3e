//! How the notes of pruned results lead back to what was there: the archive's place, and the line that names the error.

use crate::diagnostic::PROGRAM;
use crate::transcript::error_lines::names_error;
use crate::transcript::record_id::RecordId;

/// The words before the command that shows a pruned message. A restoration finds the ids of records behind them.
pub const SHOWN_BY: &str = "; to see all: ";

/// The archive of removed content, as notes name it.
#[derive(Debug, Clone)]
pub struct NotedArchive {
    /// Its path as messages show it.
    pub name: String,
    /// The record of this conversation in it, where it has records.
    pub record: Option<RecordId>,
    /// Its path and the flags of a command that shows its messages; nothing where notes name no command.
    pub shown_with: Option<String>,
}

impl NotedArchive {
    /// Where the message with this index is kept: the end of a note.
    pub(super) fn place_of(&self, index: usize) -> String {
        match (self.record, &self.shown_with) {
            (Some(record), Some(arguments)) => format!("{SHOWN_BY}{PROGRAM} show {record}:{index} {arguments}"),
            (Some(record), None) => format!("; it is kept in {} as {record}:{index}", self.name),
            (None, _) => format!("; it is kept in {}", self.name),
        }
    }
}

/// The first line of an output that names an error: by the class of an exception, or as compilers, shells and test runners
/// print it.
pub(super) fn first_error_line(text: &str) -> Option<&str> {
    text.lines().map(str::trim).find(|line| names_error(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_with_an_error_is_found() {
        for (text, line) in [
            (
                "a\nTraceback (most recent call last):\n  x\nModuleNotFoundError: No module named 'yaml'\n\nexit code 1",
                Some("ModuleNotFoundError: No module named 'yaml'"),
            ),
            ("E   AssertionError: 1 != 2\nFAILED a.py::b", Some("E   AssertionError: 1 != 2")),
            ("java.lang.NullPointerException: null", Some("java.lang.NullPointerException: null")),
            ("   Compiling x\nerror[E0308]: mismatched types\n --> a.rs", Some("error[E0308]: mismatched types")),
            ("error: could not compile `x`", Some("error: could not compile `x`")),
            ("fatal: not a git repository", Some("fatal: not a git repository")),
            ("make: *** [all] Error 2\na.c:3:5: error: expected ';'", Some("a.c:3:5: error: expected ';'")),
            ("src/a.ts(3,5): error TS2345: Argument", Some("src/a.ts(3,5): error TS2345: Argument")),
            ("bash: cargoo: command not found", Some("bash: cargoo: command not found")),
            ("cat: x: No such file or directory\n", Some("cat: x: No such file or directory")),
            ("thread 'main' panicked at src/a.rs:3:5:\nboom", Some("thread 'main' panicked at src/a.rs:3:5:")),
            ("npm ERR! code ENOENT", Some("npm ERR! code ENOENT")),
            ("--- FAIL: TestX (0.00s)", Some("--- FAIL: TestX (0.00s)")),
            ("[ERROR]: no such key", Some("[ERROR]: no such key")),
            ("0 errors, 0 failures", None),
            ("error handling is in src/error.rs", None),
            ("class ParseError(Exception):", None),
            ("test result: ok. 12 passed; 0 failed", None),
            ("", None),
        ] {
            assert_eq!(first_error_line(text), line, "{text}");
        }
    }

    #[test]
    fn a_note_ends_with_the_command_where_there_is_one() {
        let record = "3fa81c02".parse().ok();
        for (record, shown_with, place) in [
            (record, Some("h.jsonl --redact"), "; to see all: tcompact show 3fa81c02:15 h.jsonl --redact"),
            (record, None, "; it is kept in h.jsonl as 3fa81c02:15"),
            (None, None, "; it is kept in h.jsonl"),
        ] {
            let archive =
                NotedArchive { name: "h.jsonl".to_owned(), record, shown_with: shown_with.map(str::to_owned) };
            assert_eq!(archive.place_of(15), place);
        }
    }
}
