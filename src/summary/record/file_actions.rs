//! Determines what a call does with files: not only that it changes them, but how.

use std::collections::HashSet;

use serde_json::Value;

use crate::summary::record::literals::is_file;
use crate::transcript::tools::shell::steps;
use crate::transcript::tools::{Access, ToolUse, argument};

/// What a call does with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FileAction {
    Read,
    Changed,
    Created,
    Deleted,
    Renamed,
    /// Reset to its committed state.
    Restored,
}

impl FileAction {
    const ALL: [FileAction; 6] = [
        FileAction::Read,
        FileAction::Changed,
        FileAction::Created,
        FileAction::Deleted,
        FileAction::Renamed,
        FileAction::Restored,
    ];

    /// Returns the word for the action.
    pub(super) fn word(self) -> &'static str {
        match self {
            FileAction::Read => "read",
            FileAction::Changed => "changed",
            FileAction::Created => "created",
            FileAction::Deleted => "deleted",
            FileAction::Renamed => "renamed",
            FileAction::Restored => "restored",
        }
    }

    /// Returns the action that a word names.
    pub(super) fn named(word: &str) -> Option<FileAction> {
        FileAction::ALL.into_iter().find(|action| action.word() == word)
    }
}

/// Names of arguments for the two paths of a move.
const MOVES: [(&str, &str); 7] = [
    ("source", "destination"),
    ("old_path", "new_path"),
    ("from", "to"),
    ("src", "dst"),
    ("src", "dest"),
    ("source_path", "destination_path"),
    ("old_name", "new_name"),
];

/// Returns the files that a call names, with what it does with them.
pub(super) fn file_actions(name: &str, given: &Value, arguments: &str, tool: &ToolUse) -> Vec<(String, FileAction)> {
    let lower_name = name.to_lowercase();
    let name_has = |verbs: &[&str]| verbs.iter().any(|verb| lower_name.contains(verb));
    if name_has(&["rename", "move"]) {
        let pair = MOVES.iter().find_map(|(from, to)| argument(given, &[from]).zip(argument(given, &[to])));
        if let Some((from, to)) = pair {
            return vec![(format!("{from} → {to}"), FileAction::Renamed)];
        }
    }
    // An editor is one tool, with the verb in its arguments.
    let action = given.get("command").and_then(Value::as_str).unwrap_or("");
    let is_patch = arguments.contains("*** Begin Patch") || arguments.contains("*** Update File");
    let (deleted, added) = (patched_files(arguments, "Delete"), patched_files(arguments, "Add"));
    let removed_words: HashSet<String> = tool.command.iter().flat_map(|command| removed_words(command)).collect();
    let action_on = |path: &str| match () {
        () if is_patch && deleted.contains(path) => FileAction::Deleted,
        () if is_patch && added.contains(path) => FileAction::Created,
        () if is_patch => FileAction::Changed,
        () if name_has(&["delete", "remove"]) || removed_words.contains(path) => FileAction::Deleted,
        () if name_has(&["create", "new_file"]) || action == "create" => FileAction::Created,
        () => FileAction::Changed,
    };
    let moves: Vec<(&str, &str)> = tool.command.iter().flat_map(|command| moved_files(command)).collect();
    let is_moved = |path: &str| moves.iter().any(|(from, to)| *from == path || *to == path);
    let files = tool.files.iter().filter(|file| !is_moved(&file.path)).map(|file| match file.access {
        Access::Changed => (file.path.clone(), action_on(&file.path)),
        Access::Read | Access::Named => (file.path.clone(), FileAction::Read),
    });
    let restored_files =
        tool.command.iter().flat_map(|command| restored_files(command)).map(|path| (path, FileAction::Restored));
    let moved_files = moves.iter().map(|(from, to)| (format!("{from} → {to}"), FileAction::Renamed));
    files.chain(restored_files).chain(moved_files).collect()
}

/// Returns the words of a step of a command, without quotes.
fn words_of_step(step: &str) -> impl Iterator<Item = &str> {
    step.split_whitespace().map(|word| word.trim_matches(['\'', '"']))
}

/// Returns the two paths of each step of a command that moves a file which no other step names: `mv a b`. In
/// `sed … a > b && mv b a`, one file is changed.
fn moved_files(command: &str) -> Vec<(&str, &str)> {
    let steps = steps(command);
    let moves = steps.iter().enumerate().filter_map(|(at, step)| {
        let words_of_move: Vec<&str> = words_of_step(step).filter(|word| !word.starts_with('-')).collect();
        let (["mv", from, to] | ["git", "mv", from, to]) = words_of_move[..] else { return None };
        let names_it = |(other, step): (usize, &&str)| other != at && words_of_step(step).any(|word| word == from);
        // A folder as the target keeps the name.
        let is_file = |path: &str| !path.ends_with('/') && path != "." && !path.contains(['*', '$']);
        (is_file(from) && is_file(to) && !steps.iter().enumerate().any(names_it)).then_some((from, to))
    });
    moves.collect()
}

/// Returns the file that an editor without a path among its arguments has open, by its result: `[File: a.py (97 lines
/// total)]`.
pub(super) fn open_file<'r>(name: &str, result: &'r str) -> Option<&'r str> {
    let edits = ["edit", "insert", "append"].contains(&name.to_lowercase().as_str());
    let (path, _) = result.split_once("[File: ").filter(|_| edits)?.1.split_once(" (")?;
    Some(path).filter(|path| !path.contains('\n'))
}

/// Returns the files that a command resets to their committed state: `git checkout -- a`, `git restore a`.
fn restored_files(command: &str) -> Vec<String> {
    let of_step = |step: &&str| -> Vec<String> {
        let words: Vec<&str> = words_of_step(step).collect();
        let paths: &[&str] = match words.as_slice() {
            ["git", "checkout", rest @ ..] if rest.contains(&"--") => {
                rest.iter().position(|word| *word == "--").map_or(&[][..], |at| &rest[at + 1..])
            }
            // A branch has no file's extension.
            ["git", "checkout", rest @ ..]
                if rest.iter().all(|word| is_file(word.rsplit('/').next().unwrap_or(word))) =>
            {
                rest
            }
            ["git", "restore", rest @ ..] if !rest.contains(&"--staged") => rest,
            _ => &[],
        };
        let is_path = |word: &&&str| !word.starts_with('-') && !matches!(**word, "." | "..");
        paths.iter().filter(is_path).map(|path| (*path).to_owned()).collect()
    };
    steps(command).iter().flat_map(of_step).collect()
}

/// Returns the files that a patch deletes or adds. Its lines may be inside a JSON string.
fn patched_files<'a>(arguments: &'a str, verb: &str) -> HashSet<&'a str> {
    let parts = arguments.split("*** ").filter_map(|part| part.strip_prefix(verb)?.strip_prefix(" File: "));
    parts.map(|rest| rest.split(['\n', '\r', '\\', '"']).next().unwrap_or(rest).trim()).collect()
}

/// Returns the arguments of the steps of a command that delete files, if no later step names them again.
fn removed_words(command: &str) -> Vec<String> {
    let of_step = |step: &str| -> Vec<String> {
        let mut words = words_of_step(step);
        let program = words.next();
        let deletes = program == Some("rm") || program == Some("git") && words.next() == Some("rm");
        if deletes { words.map(str::to_owned).collect() } else { Vec::new() }
    };
    let steps = steps(command);
    let is_gone =
        |at: usize, word: &str| !steps[at + 1..].iter().any(|later| later.split_whitespace().any(|w| w == word));
    let removed = steps.iter().enumerate().flat_map(|(at, step)| of_step(step).into_iter().map(move |word| (at, word)));
    removed.filter(|(at, word)| is_gone(*at, word)).map(|(_, word)| word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn actions_of(name: &str, arguments: &str) -> Vec<(String, FileAction)> {
        let given = serde_json::from_str(arguments).expect("JSON");
        file_actions(name, &given, arguments, &ToolUse::parse_with_json(name, &given, arguments))
    }

    #[test]
    fn what_was_done_with_files() {
        let one = |path: &str, action| vec![(path.to_owned(), action)];
        assert_eq!(actions_of("Read", r#"{"file_path":"src/a.rs"}"#), one("src/a.rs", FileAction::Read));
        assert_eq!(
            actions_of("Edit", r#"{"file_path":"src/a.rs","old_string":"a"}"#),
            one("src/a.rs", FileAction::Changed)
        );
        assert_eq!(
            actions_of("create_file", r#"{"path":"src/a.rs","content":"a"}"#),
            one("src/a.rs", FileAction::Created)
        );
        assert_eq!(actions_of("delete_file", r#"{"path":"src/a.rs"}"#), one("src/a.rs", FileAction::Deleted));
        assert_eq!(
            actions_of("bash", r#"{"command":"rm -rf demo && mkdir demo && cd demo && git init"}"#),
            one("demo", FileAction::Changed)
        );
        assert_eq!(actions_of("move_file", r#"{"source":"a","destination":"b"}"#), one("a → b", FileAction::Renamed));
        assert_eq!(actions_of("bash", r#"{"command":"cd x && rm -f old.py"}"#), one("old.py", FileAction::Deleted));
        assert_eq!(
            actions_of("bash", r#"{"command":"git checkout HEAD -- a.py b.py"}"#),
            [one("a.py", FileAction::Restored), one("b.py", FileAction::Restored)].concat()
        );
        assert_eq!(actions_of("bash", r#"{"command":"cd x; git restore a.py"}"#), one("a.py", FileAction::Restored));
        assert_eq!(actions_of("bash", r#"{"command":"git checkout main"}"#), []);
        assert_eq!(actions_of("bash", r#"{"command":"git checkout x/a.py"}"#), one("x/a.py", FileAction::Restored));
        let moved = actions_of("bash", r#"{"command":"mkdir -p lib && git mv -f a.rs lib/b.rs"}"#);
        assert_eq!(moved.last(), one("a.rs → lib/b.rs", FileAction::Renamed).first());
        assert_eq!(
            actions_of("bash", r#"{"command":"sed s/x/y/ a.py > tmp && mv tmp a.py"}"#).last(),
            one("a.py", FileAction::Changed).first()
        );
        let alike = r#"{"input":"*** Begin Patch\n*** Update File: a.ts\n+x\n*** Delete File: a.tsx\n*** End Patch"}"#;
        assert_eq!(
            actions_of("apply_patch", alike),
            [one("a.ts", FileAction::Changed), one("a.tsx", FileAction::Deleted)].concat()
        );
        let patch = r#"{"input":"*** Begin Patch\n*** Add File: b.py\n+x\n*** Delete File: c.py\n*** End Patch"}"#;
        assert_eq!(
            actions_of("apply_patch", patch),
            [one("b.py", FileAction::Created), one("c.py", FileAction::Deleted)].concat()
        );
    }
}
