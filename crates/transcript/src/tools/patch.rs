//! Finds the patch that a call applies, in Codex' form, and what it does with files.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::tools::actions::{Change, FileAction, is_in};
use crate::tools::{CONTENT_KEYS, normalized, shell};

/// The patch that a call applies, in the form that names its files on separate lines: in an argument that is named for
/// patches, in any of a tool for these, or handed to `apply_patch` by a command or a program. What is written to a file is
/// text.
pub(super) fn patch_in<'t>(name: &str, arguments_json: &'t Value, arguments: &'t str) -> Option<Cow<'t, str>> {
    if !is_patch(arguments) {
        return None;
    }
    let patch = match arguments_json {
        Value::Null => arguments,
        Value::Object(arguments_json) => patch_argument(name, arguments_json)?,
        _ => return None,
    };
    // In a program that holds it as a string, its lines have escapes between them.
    let is_escaped = patch.contains("\\n*** ");
    Some(if is_escaped { patch.replace("\\n", "\n").replace("\\\"", "\"").into() } else { patch.into() })
}

/// The first argument with a patch that the call applies, or the first such text in a list.
fn patch_argument<'t>(name: &str, arguments_json: &'t Map<String, Value>) -> Option<&'t str> {
    for (key, value) in arguments_json {
        let texts = match value {
            Value::Array(words) => words.as_slice(),
            value => std::slice::from_ref(value),
        };
        let is_applied = texts.iter().any(|word| word == "apply_patch");
        for text in texts.iter().filter_map(Value::as_str) {
            if is_patch(text) && (is_applied || carries_patch(name, key, text)) {
                return Some(text);
            }
        }
    }
    None
}

/// Whether an argument of a tool applies the patch that its text holds.
fn carries_patch(tool: &str, key: &str, text: &str) -> bool {
    let key = normalized(key);
    normalized(tool).contains("patch")
        || key.contains("patch")
        || matches!(key.as_str(), "input" | "diff")
        || !is_in(&key, CONTENT_KEYS) && applies_patch(text)
}

fn is_patch(text: &str) -> bool {
    ["*** Begin Patch", "*** Update File"].iter().any(|mark| text.contains(mark))
}

/// Whether a command or a program hands its patch to `apply_patch`.
fn applies_patch(text: &str) -> bool {
    const PROGRAMS: [&str; 2] = ["apply_patch", "applypatch"];
    for command in shell::commands(text, None) {
        if command.here.is_some_and(is_patch) {
            return PROGRAMS.contains(&command.name());
        }
    }
    text.trim_start().starts_with("***") || PROGRAMS.iter().any(|program| text.contains(program))
}

/// What a patch in Codex' form does.
pub(super) fn changes_of_patch(patch: &str) -> Vec<Change> {
    use FileAction::{Changed, Created, Deleted, Renamed};
    let mut found: Vec<Change> = Vec::new();
    for line in patch.lines() {
        let Some((verb, path)) = line.strip_prefix("*** ").and_then(|line| line.split_once(": ")) else { continue };
        let action = match verb {
            "Update File" => Changed,
            "Add File" => Created,
            "Delete File" => Deleted,
            "Move to" => {
                if let Some(last) = found.last_mut() {
                    (last.action, last.to) = (Renamed, Some(path.trim().to_owned()));
                }
                continue;
            }
            _ => continue,
        };
        found.push(Change::new(action, path.trim()));
    }
    change_what_is_made_anew(&mut found);
    found
}

/// Makes one patch that takes a file away and makes it anew a change of that file.
fn change_what_is_made_anew(changes: &mut [Change]) {
    let deleted = paths_of(FileAction::Deleted, changes);
    let created = paths_of(FileAction::Created, changes);
    for change in changes {
        if deleted.contains(&change.path) && created.contains(&change.path) {
            change.action = FileAction::Changed;
        }
    }
}

fn paths_of(action: FileAction, changes: &[Change]) -> BTreeSet<String> {
    let changes = changes.iter().filter(|change| change.action == action);
    changes.map(|change| change.path.clone()).collect()
}
