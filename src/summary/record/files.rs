//! What was done with a file: more than that it was changed.

use std::collections::HashSet;

use serde_json::Value;

use crate::transcript::tools::shell::steps;
use crate::transcript::tools::{Access, ToolUse, argument};

/// What was done with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Use {
    Read,
    Changed,
    Created,
    Deleted,
    Renamed,
    /// Put back as it was.
    Restored,
}

impl Use {
    const ALL: [Use; 6] = [Use::Read, Use::Changed, Use::Created, Use::Deleted, Use::Renamed, Use::Restored];

    /// The word for it.
    pub(super) fn word(self) -> &'static str {
        match self {
            Use::Read => "read",
            Use::Changed => "changed",
            Use::Created => "created",
            Use::Deleted => "deleted",
            Use::Renamed => "renamed",
            Use::Restored => "restored",
        }
    }

    /// What a word names.
    pub(super) fn named(word: &str) -> Option<Use> {
        Use::ALL.into_iter().find(|used| used.word() == word)
    }
}

/// Names under which tools take the two paths of a move.
const MOVES: [(&str, &str); 7] = [
    ("source", "destination"),
    ("old_path", "new_path"),
    ("from", "to"),
    ("src", "dst"),
    ("src", "dest"),
    ("source_path", "destination_path"),
    ("old_name", "new_name"),
];

/// The files that a call names, with what it does with them.
pub(super) fn of_call(name: &str, given: &Value, arguments: &str, tool: &ToolUse) -> Vec<(String, Use)> {
    let small = name.to_lowercase();
    let is = |verbs: &[&str]| verbs.iter().any(|verb| small.contains(verb));
    if is(&["rename", "move"]) {
        let pair = MOVES.iter().find_map(|(from, to)| argument(given, &[from]).zip(argument(given, &[to])));
        if let Some((from, to)) = pair {
            return vec![(format!("{from} → {to}"), Use::Renamed)];
        }
    }
    // An editor is one tool with a verb among its arguments.
    let action = given.get("command").and_then(Value::as_str).unwrap_or("");
    let patches = arguments.contains("*** Begin Patch") || arguments.contains("*** Update File");
    let (deleted, added) = (patched(arguments, "Delete"), patched(arguments, "Add"));
    let removed: HashSet<String> = tool.command.iter().flat_map(|command| removed(command)).collect();
    let of_path = |path: &str| match () {
        () if patches && deleted.contains(path) => Use::Deleted,
        () if patches && added.contains(path) => Use::Created,
        () if patches => Use::Changed,
        () if is(&["delete", "remove"]) || removed.contains(path) => Use::Deleted,
        () if is(&["create", "new_file"]) || action == "create" => Use::Created,
        () => Use::Changed,
    };
    let files = tool.files.iter().map(|file| match file.access {
        Access::Changed => (file.path.clone(), of_path(&file.path)),
        Access::Read | Access::Named => (file.path.clone(), Use::Read),
    });
    let restored = tool.command.iter().flat_map(|command| restored(command)).map(|path| (path, Use::Restored));
    files.chain(restored).collect()
}

/// The files that steps of a command put back as a commit has them: `git checkout -- a`, `git restore a`.
fn restored(command: &str) -> Vec<String> {
    let of_step = |step: &&str| -> Vec<String> {
        let words: Vec<&str> = step.split_whitespace().map(|word| word.trim_matches(['\'', '"'])).collect();
        let paths: &[&str] = match words.as_slice() {
            ["git", "checkout", rest @ ..] => {
                rest.iter().position(|word| *word == "--").map_or(&[][..], |at| &rest[at + 1..])
            }
            ["git", "restore", rest @ ..] if !rest.contains(&"--staged") => rest,
            _ => &[],
        };
        let is_path = |word: &&&str| !word.starts_with('-') && !matches!(**word, "." | "..");
        paths.iter().filter(is_path).map(|path| (*path).to_owned()).collect()
    };
    steps(command).iter().flat_map(of_step).collect()
}

/// The files that a patch deletes or adds; its lines may be those of a string in JSON.
fn patched<'a>(arguments: &'a str, verb: &str) -> HashSet<&'a str> {
    let parts = arguments.split("*** ").filter_map(|part| part.strip_prefix(verb)?.strip_prefix(" File: "));
    parts.map(|rest| rest.split(['\n', '\r', '\\', '"']).next().unwrap_or(rest).trim()).collect()
}

/// The words of steps of a command that delete files.
fn removed(command: &str) -> Vec<String> {
    let of_step = |step: &&str| -> Vec<String> {
        let mut words = step.split_whitespace().map(|word| word.trim_matches(['\'', '"']));
        let program = words.next();
        let deletes = program == Some("rm") || program == Some("git") && words.next() == Some("rm");
        if deletes { words.map(str::to_owned).collect() } else { Vec::new() }
    };
    steps(command).iter().flat_map(of_step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, arguments: &str) -> Vec<(String, Use)> {
        let given = serde_json::from_str(arguments).expect("JSON");
        of_call(name, &given, arguments, &ToolUse::of_given(name, &given, arguments))
    }

    #[test]
    fn what_was_done_with_files() {
        let one = |path: &str, used| vec![(path.to_owned(), used)];
        assert_eq!(of("Read", r#"{"file_path":"src/a.rs"}"#), one("src/a.rs", Use::Read));
        assert_eq!(of("Edit", r#"{"file_path":"src/a.rs","old_string":"a"}"#), one("src/a.rs", Use::Changed));
        assert_eq!(of("create_file", r#"{"path":"src/a.rs","content":"a"}"#), one("src/a.rs", Use::Created));
        assert_eq!(of("delete_file", r#"{"path":"src/a.rs"}"#), one("src/a.rs", Use::Deleted));
        assert_eq!(of("move_file", r#"{"source":"a","destination":"b"}"#), one("a → b", Use::Renamed));
        assert_eq!(of("bash", r#"{"command":"cd x && rm -f old.py"}"#), one("old.py", Use::Deleted));
        assert_eq!(
            of("bash", r#"{"command":"git checkout HEAD -- a.py b.py"}"#),
            [one("a.py", Use::Restored), one("b.py", Use::Restored)].concat()
        );
        assert_eq!(of("bash", r#"{"command":"cd x; git restore a.py"}"#), one("a.py", Use::Restored));
        assert_eq!(of("bash", r#"{"command":"git checkout main"}"#), []);
        let alike = r#"{"input":"*** Begin Patch\n*** Update File: a.ts\n+x\n*** Delete File: a.tsx\n*** End Patch"}"#;
        assert_eq!(of("apply_patch", alike), [one("a.ts", Use::Changed), one("a.tsx", Use::Deleted)].concat());
        let patch = r#"{"input":"*** Begin Patch\n*** Add File: b.py\n+x\n*** Delete File: c.py\n*** End Patch"}"#;
        assert_eq!(of("apply_patch", patch), [one("b.py", Use::Created), one("c.py", Use::Deleted)].concat());
    }
}
