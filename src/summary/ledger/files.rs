//! Which files a call reads or changes, told from its arguments and, of commands, from their words.

use serde_json::Value;

use crate::summary::ledger::literals::{Class, is_file, literals};
use crate::summary::ledger::shell::steps;
use crate::summary::ledger::values::argument;

/// What was done with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Use {
    Read,
    Changed,
}

impl Use {
    /// The word for it.
    pub(super) fn word(self) -> &'static str {
        match self {
            Use::Read => "read",
            Use::Changed => "changed",
        }
    }
}

/// Names under which tools take a path.
const PATHS: [&str; 10] = [
    "file_path",
    "path",
    "filepath",
    "filename",
    "file",
    "notebook_path",
    "target_file",
    "absolute_path",
    "relative_path",
    "file_name",
];
/// Names under which tools take what is written.
const CONTENTS: [&str; 15] = [
    "content",
    "contents",
    "new_string",
    "new_str",
    "old_string",
    "old_str",
    "file_text",
    "edits",
    "patch",
    "diff",
    "replacement",
    "new_source",
    "insert_line",
    "new_text",
    "text",
];
/// Names under which tools take what is looked for.
const SEARCHES: [&str; 5] = ["pattern", "query", "regex", "glob", "search"];

/// The files of a call that is no command.
pub(super) fn of_call(name: &str, given: &Value, arguments: &str) -> Vec<(String, Use)> {
    if arguments.contains("*** Begin Patch") || arguments.contains("*** Update File") {
        return of_patch(given, arguments);
    }
    let Some(path) = argument(given, &PATHS) else { return Vec::new() };
    let searches = SEARCHES.iter().any(|key| given.get(key).is_some())
        || ["ls", "list", "glob", "grep", "search"].iter().any(|word| name.to_lowercase().contains(word));
    let writes = CONTENTS.iter().any(|key| given.get(key).is_some());
    match (writes, searches) {
        (true, _) => vec![(path, Use::Changed)],
        (false, true) => Vec::new(),
        (false, false) => vec![(path, Use::Read)],
    }
}

fn of_patch(given: &Value, arguments: &str) -> Vec<(String, Use)> {
    let patch = argument(given, &["patch", "input", "command", "cmd"]).unwrap_or_else(|| arguments.to_owned());
    let named = |line: &str| {
        ["*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: "]
            .iter()
            .find_map(|mark| line.strip_prefix(mark).map(str::to_owned))
    };
    patch.lines().filter_map(named).map(|path| (path.trim().to_owned(), Use::Changed)).collect()
}

/// The files of a shell command.
pub(super) fn of_command(command: &str) -> Vec<(String, Use)> {
    let mut found = Vec::new();
    for step in steps(command) {
        of_words(step, &mut found);
    }
    found
}

fn of_words(part: &str, found: &mut Vec<(String, Use)>) {
    let words: Vec<&str> = part.split_whitespace().map(|word| word.trim_matches(['\'', '"'])).collect();
    let Some(program) = words.first() else { return };
    for pair in words.windows(2) {
        if matches!(pair[0], ">" | ">>" | "tee") && is_name(pair[1]) {
            found.push((pair[1].to_owned(), Use::Changed));
        }
    }
    let in_place = *program == "sed" && words.iter().any(|word| word.starts_with("-i"));
    let named = words.iter().skip(1).rev().find(|word| is_name(word) && is_path(word));
    match *program {
        "sed" if in_place => found.extend(named.map(|path| ((*path).to_owned(), Use::Changed))),
        "cat" | "head" | "tail" | "sed" | "less" | "nl" if !part.contains('>') => found.extend(
            words
                .iter()
                .skip(1)
                .find(|word| is_name(word) && is_path(word))
                .map(|path| ((*path).to_owned(), Use::Read)),
        ),
        "rm" | "mv" | "touch" => found.extend(named.map(|path| ((*path).to_owned(), Use::Changed))),
        _ => {}
    }
}

fn is_name(word: &str) -> bool {
    !word.starts_with(['-', '&', '/'])
        && !word.contains(['*', '$', '{', '(', '|', '<', '>', '"', '\''])
        && word.len() > 1
        || word.starts_with('/') && !word.starts_with("/dev/") && is_path(word)
}

fn is_path(word: &str) -> bool {
    is_file(word)
        || literals(word).first().is_some_and(|literal| literal.class == Class::Path && literal.span == (0..word.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_calls() {
        let of =
            |name: &str, arguments: &str| of_call(name, &serde_json::from_str(arguments).expect("JSON"), arguments);
        assert_eq!(of("Read", r#"{"file_path":"src/a.rs"}"#), [("src/a.rs".to_owned(), Use::Read)]);
        assert_eq!(
            of("Edit", r#"{"file_path":"src/a.rs","old_string":"a","new_string":"b"}"#),
            [("src/a.rs".to_owned(), Use::Changed)]
        );
        assert_eq!(of("Grep", r#"{"pattern":"x","path":"src"}"#), []);
        assert_eq!(
            of("apply_patch", r#"{"input":"*** Begin Patch\n*** Add File: b.py\n+x"}"#),
            [("b.py".to_owned(), Use::Changed)]
        );
    }

    #[test]
    fn files_of_commands() {
        let changed = |path: &str| (path.to_owned(), Use::Changed);
        assert_eq!(of_command("cat > fix.py << 'EOF'\nopen('x') > y.py\nEOF"), [changed("fix.py")]);
        assert_eq!(of_command("cd /testbed && sed -i 's/a/b/' src/tools.py"), [changed("src/tools.py")]);
        assert_eq!(of_command("cat ./pvlib/tools.py | head -400"), [("./pvlib/tools.py".to_owned(), Use::Read)]);
        assert_eq!(of_command("cargo test 2>&1 > /dev/null"), []);
    }
}
