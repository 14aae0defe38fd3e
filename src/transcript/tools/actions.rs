//! Determines what a call does with files: not only that it changes them, but how.

use std::collections::{BTreeSet, HashSet};
use std::ops::Bound;

use serde_json::Value;

use crate::transcript::tools::shell::steps;
use crate::transcript::tools::{Access, ToolUse, argument, words_of_name};

/// What a call does with a file. The name of an action is the word that users read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FileAction {
    Changed,
    Created,
    Deleted,
    Renamed,
    /// Reset to its committed state.
    Restored,
    Read,
}

impl FileAction {
    pub(crate) const ALL: [FileAction; 6] = {
        use FileAction::{Changed, Created, Deleted, Read, Renamed, Restored};
        [Changed, Created, Deleted, Renamed, Restored, Read]
    };
}

/// Returns the files that a call names, with what it does to them. `result` is the beginning of its result.
pub(crate) fn file_actions(
    name: &str,
    given: &Value,
    arguments: &str,
    tool: &ToolUse,
    result: &str,
) -> Vec<(String, FileAction)> {
    /// The names of the two paths of a move.
    const MOVES: [(&str, &str); 4] =
        [("source", "destination"), ("old_path", "new_path"), ("from", "to"), ("src", "dst")];
    let words = words_of_name(name);
    let has_verb = |verbs: &[&str]| verbs.iter().any(|verb| words.iter().any(|word| word == verb));
    let paths = |(from, to): &(&str, &str)| argument(given, &[from]).zip(argument(given, &[to]));
    if let Some((from, to)) = MOVES.iter().find_map(paths).filter(|_| has_verb(&["rename", "move"])) {
        return vec![(format!("{from} → {to}"), FileAction::Renamed)];
    }
    let (deleted, added) = (named_in_patch(arguments, "Delete"), named_in_patch(arguments, "Add"));
    let is_in = |named: &BTreeSet<&str>, path: &str| {
        named
            .range::<str, _>((Bound::Included(path), Bound::Unbounded))
            .next()
            .is_some_and(|rest| rest.starts_with(path))
    };
    // A tool that writes a file may write one that was there before.
    let creates = has_verb(&["create"])
        || given.get("command").and_then(Value::as_str) == Some("create")
        || has_verb(&["write"]) && result.to_lowercase().contains("created");
    let steps: Vec<CommandStep<'_>> =
        steps(tool.command.as_deref().unwrap_or("")).into_iter().map(CommandStep::parse).collect();
    let moves: Vec<(&str, &str)> = steps.iter().filter_map(CommandStep::moves).collect();
    let moved: HashSet<&str> = moves.iter().flat_map(|(from, to)| [*from, *to]).collect();
    let removed: HashSet<&str> = steps.iter().flat_map(CommandStep::removes).copied().collect();
    let copied: HashSet<&str> = steps.iter().filter_map(CommandStep::copies_to).collect();
    let mut found: Vec<(String, FileAction)> = Vec::new();
    for file in tool.files.iter().filter(|file| !moved.contains(file.path.as_str())) {
        let path = file.path.as_str();
        let action = if file.access != Access::Changed {
            FileAction::Read
        } else if is_in(&deleted, path) || has_verb(&["delete", "remove"]) || removed.contains(path) {
            FileAction::Deleted
        } else if is_in(&added, path) || creates || copied.contains(path) {
            FileAction::Created
        } else {
            FileAction::Changed
        };
        found.push((path.to_owned(), action));
    }
    found.extend(steps.iter().flat_map(CommandStep::restores).map(|path| (path.to_owned(), FileAction::Restored)));
    found.extend(moves.iter().map(|(from, to)| (format!("{from} → {to}"), FileAction::Renamed)));
    found
}

/// Returns what follows each mark that a patch does this to a file. It begins with the path.
fn named_in_patch<'p>(patch: &'p str, verb: &str) -> BTreeSet<&'p str> {
    let mark = format!("*** {verb} File: ");
    patch.match_indices(&mark).map(|(at, mark)| &patch[at + mark.len()..]).collect()
}

/// A step of a command, by its words without quotes.
struct CommandStep<'s> {
    words: Vec<&'s str>,
}

impl<'s> CommandStep<'s> {
    fn parse(step: &'s str) -> Self {
        CommandStep { words: step.split_whitespace().map(|word| word.trim_matches(['\'', '"'])).collect() }
    }

    /// Returns the words that name the files that the step removes.
    fn removes(&self) -> &[&'s str] {
        if matches!(self.words[..], ["rm", ..] | ["git", "rm", ..]) { &self.words } else { &[] }
    }

    fn copies_to(&self) -> Option<&'s str> {
        if let ["cp", .., to] = self.words[..] { Some(to) } else { None }
    }

    /// Returns the two paths of a move of one file. A folder as the target keeps the name.
    fn moves(&self) -> Option<(&'s str, &'s str)> {
        let words: Vec<&str> = self.words.iter().copied().filter(|word| !word.starts_with('-')).collect();
        let (["mv", from, to] | ["git", "mv", from, to]) = words[..] else { return None };
        let is_file = |path: &str| !path.ends_with('/') && path != "." && !path.contains(['*', '$']);
        (is_file(from) && is_file(to)).then_some((from, to))
    }

    /// Returns the files that the step resets to their committed state.
    fn restores(&self) -> Vec<&'s str> {
        let paths: &[&str] = match &self.words[..] {
            ["git", "checkout", rest @ ..] => {
                rest.iter().position(|word| *word == "--").map_or(&[], |at| &rest[at + 1..])
            }
            ["git", "restore", rest @ ..] if !rest.contains(&"--staged") => rest,
            _ => &[],
        };
        paths.iter().copied().filter(|word| !word.starts_with('-') && !matches!(*word, "." | "..")).collect()
    }
}
