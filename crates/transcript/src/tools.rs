//! Determines what a tool call does from its name and arguments: the files it reads or changes, and the command it
//! runs.
//!
//! There is no list of tools, since agents name theirs alike: a path has one of a few names, and a verb in the tool's
//! name says what happens to it. Results of calls are not read here.

pub mod actions;
pub mod commands;
pub mod shell;

use std::borrow::Cow;

use serde_json::{Map, Value};

use actions::{Change, FileChange, changes_of_patch, is_in};
use shell::SimpleCommand;

/// What a call does.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolUse {
    /// The shell command it runs, if any.
    pub command: Option<String>,
    /// The files it names, in order.
    pub files: Vec<FileUse>,
    /// What its command or its patch does to files.
    pub changes: Vec<FileChange>,
    /// Whether it only reads these files, so that its result contains nothing else.
    pub only_reads: bool,
    /// Whether its command changes the directory, which the shell may keep for later commands.
    pub changes_directory: bool,
}

/// A file that a call names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileUse {
    /// Its path as the call spells it.
    pub path: String,
    /// The directory that the call says the path is relative to.
    pub directory: Option<String>,
    /// What the call does with it.
    pub access: Access,
    /// How much of it the call reads; of a file that is not read, all.
    pub extent: Extent,
}

/// What a call does with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Access {
    /// It reads the file.
    Read,
    /// It writes, edits, moves or deletes the file.
    Changed,
    /// It has the file as an argument, with unknown effect.
    Named,
}

/// How much of a file a call reads.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Extent {
    /// All of it.
    Whole,
    /// From a first line, as the tool counts, through a last one; to the end if there is none.
    Lines(u64, Option<u64>),
    /// A part that only its description identifies: a filter, the pages of a document.
    Excerpt(String),
}

impl Extent {
    /// Whether it includes all that `other` shows.
    pub fn covers(&self, other: &Extent) -> bool {
        match (self, other) {
            (Extent::Whole, _) => true,
            (Extent::Lines(first, last), Extent::Lines(others_first, others_last)) => {
                let ends_later = match (last, others_last) {
                    (None, _) => true,
                    (Some(_), None) => false,
                    (Some(last), Some(others_last)) => last >= others_last,
                };
                first <= others_first && ends_later
            }
            _ => self == other,
        }
    }
}

impl FileUse {
    /// The path with its directory, without `.` and without `..` that can be resolved.
    pub fn full_path(&self) -> String {
        full_path(self.directory.as_deref(), &self.path)
    }
}

fn full_path(folder: Option<&str>, path: &str) -> String {
    let folder = folder.filter(|_| !is_absolute(path));
    let whole = folder.map_or_else(|| path.to_owned(), |folder| format!("{folder}/{path}"));
    let mut parts: Vec<&str> = Vec::new();
    for part in whole.split('/').filter(|part| !part.is_empty() && *part != ".") {
        let is_named = parts.last().is_some_and(|last| *last != "..");
        if part == ".." && is_named {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    let root = if whole.starts_with('/') { "/" } else { "" };
    format!("{root}{}", parts.join("/"))
}

/// Whether a path is absolute.
pub fn is_absolute(path: &str) -> bool {
    path.starts_with(['/', '~', '\\']) || path.as_bytes().get(1) == Some(&b':')
}

/// Names of arguments with a path, in lower case and without `_`, like all names below, with `|` between them.
const PATH_KEYS: &str = "filepath|path|filename|file|notebookpath|targetfile|targetnotebook|absolutepath|relativepath|relativeworkspacepath|pathinproject";
/// Names of arguments with several paths.
const PATH_LIST_KEYS: &str = "paths|files|filepaths|filenames";
/// Names of arguments with the text to write.
const CONTENT_KEYS: &str = "content|contents|newstring|newstr|oldstring|oldstr|filetext|edit|edits|patch|diff|replacement|replacementtext|replace|newsource|insertline|newtext|oldtext|text|codeedit|newcode|newcontent";
/// Names of arguments with a search pattern.
const SEARCH_KEYS: &str = "pattern|query|regex|glob|search|searchterm";
/// Names of arguments with remarks, which do not change what is read.
const REMARK_KEYS: &str =
    "command|description|explanation|reason|thought|summary|securityrisk|implsource|taskprogress|timeout";

/// Verbs of tools that search or list files.
const SEARCH_VERBS: &str = "ls|list|glob|grep|search|find|tree|outline";
/// Verbs of tools that change a file.
pub const CHANGE_VERBS: &str = "write|edit|multiedit|create|delete|remove|replace|insert|update|patch|move|rename|append|save|modify|undo|apply|overwrite|touch|rewrite";
/// Verbs of tools that show what is in a file.
const READ_VERBS: &str = "read|view|open|cat|show|get|load";

impl ToolUse {
    /// What a call with these arguments does: JSON, or a command.
    pub fn parse(name: &str, arguments: &str) -> ToolUse {
        let arguments_json: Value = serde_json::from_str(arguments).unwrap_or(Value::Null);
        ToolUse::parse_with_json(name, &arguments_json, arguments)
    }

    /// Like [`ToolUse::parse`], for arguments already parsed as JSON; `Null` if they are none.
    pub fn parse_with_json(name: &str, arguments_json: &Value, arguments: &str) -> ToolUse {
        let patch = patch_in(name, arguments_json, arguments).map(|patch| changes_of_patch(&patch)).unwrap_or_default();
        let files = match arguments_json.as_object() {
            Some(arguments_json) if patch.is_empty() => files_of_arguments(name, arguments_json),
            _ => patch.iter().flat_map(files_of_change).collect(),
        };
        let changes: Vec<FileChange> = patch.into_iter().map(|change| change.within(None)).collect();
        let has_path = arguments_json.as_object().is_some_and(|arguments_json| path_in(arguments_json).is_some());
        let command = match arguments_json {
            // Arguments of a shell that are not JSON are the command.
            Value::Null => Some(arguments).filter(|text| is_shell(name) && !text.trim().is_empty()).map(str::to_owned),
            // The command of an editor is one of its verbs.
            arguments_json => command_argument(name, arguments_json).filter(|_| !has_path),
        };
        let Some(command) = command else {
            let only_reads = !files.is_empty() && files.iter().all(|file| file.access == Access::Read);
            return ToolUse { files, changes, only_reads, ..ToolUse::default() };
        };
        if !files.is_empty() {
            return ToolUse { command: Some(command), files, changes, ..ToolUse::default() };
        }
        commands::use_of_command(&command, folder_argument(arguments_json).as_deref())
    }
}

/// Whether a tool of this name runs commands.
pub fn is_shell(name: &str) -> bool {
    let name = name.to_lowercase();
    ["bash", "shell", "terminal", "command", "exec"].iter().any(|word| name.contains(word))
}

/// The command in the arguments: by the name of the argument, or the script of a shell.
pub fn command_argument(name: &str, arguments_json: &Value) -> Option<String> {
    let is_command = |key: &str| ["command", "cmd", "commandline", "cmdline"].iter().any(|end| key.ends_with(end));
    let is_script = |key: &str| matches!(key, "script" | "input" | "line" | "keystrokes");
    let keys = || arguments_json.as_object().into_iter().flat_map(Map::keys);
    let command_files = keys().find(|key| is_command(&normalized(key)));
    let command_files = command_files.or_else(|| keys().find(|key| is_shell(name) && is_script(&normalized(key))));
    command_files.and_then(|key| argument(arguments_json, &[key]))
}

/// The text of the first argument with one of these names; lists of texts are joined.
pub fn argument(arguments_json: &Value, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| match arguments_json.get(name)? {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Array(words) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            // Of `["bash", "-lc", "…"]`, the last is the command.
            match words.as_slice() {
                [_, flag, command] if flag.starts_with('-') => Some((*command).to_owned()),
                [] => None,
                words => Some(words.join(" ")),
            }
        }
        _ => None,
    })
}

/// The folder that a call says it runs in.
pub fn folder_argument(arguments_json: &Value) -> Option<String> {
    argument(arguments_json, &["workdir", "cwd", "working_directory"])
}

/// The name of an argument in the form of the lists above.
fn normalized(key: &str) -> String {
    key.chars().filter(|c| *c != '_').flat_map(char::to_lowercase).collect()
}

/// The words of a tool's name, in lower case: `mcp__fs__readFile` is `mcp`, `fs`, `read`, `file`.
pub fn words_of_name(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before_is_small = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || c.is_uppercase() && before_is_small {
            words.push(String::new());
        }
        before_is_small = c.is_lowercase();
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn path_in(arguments_json: &Map<String, Value>) -> Option<&str> {
    let is_path = |(key, value): (&String, &'_ Value)| is_in(&normalized(key), PATH_KEYS) && value.is_string();
    let command_files = arguments_json.iter().find(|(key, value)| is_path((key, value)));
    command_files.and_then(|(_, value)| value.as_str()).filter(|path| !path.trim().is_empty())
}

fn files_of_arguments(name: &str, arguments_json: &Map<String, Value>) -> Vec<FileUse> {
    let listed = || {
        arguments_json
            .iter()
            .filter(|(key, _)| is_in(&normalized(key), PATH_LIST_KEYS))
            .flat_map(|(_, list)| paths_in_list(list))
    };
    let extent = extent_of(arguments_json);
    let paths: Vec<(String, Extent)> = match path_in(arguments_json) {
        Some(path) => vec![(path.to_owned(), extent)],
        None => listed().collect(),
    };
    // An editor is one tool, with the verb in its arguments.
    let editor =
        arguments_json.get("command").and_then(Value::as_str).filter(|verb| !verb.contains(char::is_whitespace));
    let words = words_of_name(editor.unwrap_or(name));
    let has_verb = |verbs: &str| words.iter().any(|word| is_in(word, verbs));
    let has_argument = |names: &str| arguments_json.keys().any(|key| is_in(&normalized(key), names));
    let access = if has_verb(CHANGE_VERBS) || has_argument(CONTENT_KEYS) && !has_verb(READ_VERBS) {
        Access::Changed
    } else if has_verb(SEARCH_VERBS) || has_argument(SEARCH_KEYS) {
        return Vec::new();
    } else if has_verb(READ_VERBS) {
        Access::Read
    } else {
        Access::Named
    };
    let file_use = |(path, extent)| {
        let extent = if access == Access::Read { extent } else { Extent::Whole };
        FileUse { path, directory: None, access, extent }
    };
    paths.into_iter().filter(|(path, _)| !path.contains('*')).map(file_use).collect()
}

/// The paths in a list of paths, or of objects with a path each.
fn paths_in_list(list: &Value) -> Vec<(String, Extent)> {
    let file_use = |value: &Value| match value {
        Value::String(path) => Some((path.clone(), Extent::Whole)),
        Value::Object(fields) => path_in(fields).map(|path| (path.to_owned(), extent_of(fields))),
        _ => None,
    };
    list.as_array().map(|list| list.iter().filter_map(file_use).collect()).unwrap_or_default()
}

/// How much of a file a read with these arguments shows.
fn extent_of(arguments_json: &Map<String, Value>) -> Extent {
    let (mut first, mut last, mut lines) = (None, None, None);
    let mut others = Vec::new();
    for (key, value) in arguments_json {
        let key = normalized(key);
        let number = value.as_i64().or_else(|| value.as_f64().map(|number| number as i64));
        match (key.as_str(), number) {
            ("offset" | "lineoffset" | "start" | "startline" | "startlineoneindexed", Some(line)) => first = Some(line),
            ("end" | "endline" | "endlineoneindexed" | "endlineoneindexedinclusive", Some(line)) => last = Some(line),
            ("limit" | "nlines" | "maxlines" | "numlines", Some(count)) => lines = Some(count),
            ("viewrange" | "linerange" | "readrange" | "range", _)
                if value.as_array().is_some_and(|range| range.len() == 2) =>
            {
                (first, last) = (value[0].as_i64(), value[1].as_i64());
            }
            (key, _) if is_in(key, PATH_KEYS) || is_in(key, REMARK_KEYS) => {}
            _ if matches!(value, Value::Null | Value::Bool(_)) => {}
            _ => others.push(format!("{key}={value}")),
        }
    }
    if !others.is_empty() {
        let range = [first, last, lines].map(|number| number.map_or(String::new(), |number| number.to_string()));
        return Extent::Excerpt(format!("{} {}", range.join(" "), others.join(" ")));
    }
    let first = first.and_then(|first| u64::try_from(first).ok()).unwrap_or(0);
    let last = last.and_then(|last| u64::try_from(last).ok());
    let last = last
        .or_else(|| lines.and_then(|lines| u64::try_from(lines).ok()).map(|lines| (first + lines).saturating_sub(1)));
    if first <= 1 && last.is_none() { Extent::Whole } else { Extent::Lines(first, last) }
}

/// The patch that a call applies, in the form that names its files on separate lines: in an argument that is named for
/// patches, in any of a tool for these, or handed to `apply_patch` by a command or a program. What is written to a file is
/// text.
fn patch_in<'t>(name: &str, arguments_json: &'t Value, arguments: &'t str) -> Option<Cow<'t, str>> {
    if !is_patch(arguments) {
        return None;
    }
    let is_for_patches = |name: &str| normalized(name).contains("patch");
    let is_named = |key: &str| is_for_patches(key) || matches!(normalized(key).as_str(), "input" | "diff");
    let carries = |key: &str, text: &str| {
        is_for_patches(name) || is_named(key) || !is_in(&normalized(key), CONTENT_KEYS) && applies_patch(text)
    };
    let inside = arguments_json.as_object().into_iter().flatten().find_map(|(key, value)| match value {
        Value::Array(words) => {
            let applies = words.iter().any(|word| word == "apply_patch");
            let mut words = words.iter().filter_map(Value::as_str);
            words.find(|text| is_patch(text) && (applies || carries(key, text)))
        }
        value => value.as_str().filter(|text| is_patch(text) && carries(key, text)),
    });
    let patch = inside.or(Some(arguments).filter(|_| arguments_json.is_null()))?;
    // In a program that holds it as a string, its lines have escapes between them.
    let is_escaped = patch.contains("\\n*** ");
    Some(if is_escaped { patch.replace("\\n", "\n").replace("\\\"", "\"").into() } else { patch.into() })
}

fn is_patch(text: &str) -> bool {
    ["*** Begin Patch", "*** Update File"].iter().any(|mark| text.contains(mark))
}

/// Whether a command or a program hands its patch to `apply_patch`.
fn applies_patch(text: &str) -> bool {
    const PROGRAMS: [&str; 2] = ["apply_patch", "applypatch"];
    let gets_patch = |command: &&SimpleCommand<'_>| command.here.is_some_and(is_patch);
    match shell::commands(text, None).iter().find(gets_patch) {
        Some(command) => PROGRAMS.contains(&command.name()),
        None => text.trim_start().starts_with("***") || PROGRAMS.iter().any(|program| text.contains(program)),
    }
}

fn files_of_change(change: &Change) -> Vec<FileUse> {
    let paths = [Some(&change.path), change.to.as_ref()].into_iter().flatten();
    let changed =
        |path: &String| FileUse { path: path.clone(), directory: None, access: Access::Changed, extent: Extent::Whole };
    paths.map(changed).collect()
}

#[cfg(test)]
mod tests;
