//! Determines what a tool call does from its name and arguments: the files it reads or changes, and the command it
//! runs.
//!
//! There is no list of tools, since agents name theirs alike: a path has one of a few names, and a verb in the tool's
//! name says what happens to it. Results of calls are not read here.

pub mod actions;
pub mod commands;
mod patch;
pub mod purpose;
pub mod shell;

use serde_json::{Map, Value};

use actions::{Change, FileChange, is_in};
use patch::{changes_of_patch, patch_in};

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
    /// Creates the use of a file; `extent` counts only if the file is read.
    fn new(path: &str, access: Access, extent: Extent) -> FileUse {
        let extent = if access == Access::Read { extent } else { Extent::Whole };
        FileUse { path: path.to_owned(), directory: None, access, extent }
    }

    /// The path with its directory, without `.` and without `..` that can be resolved.
    pub fn full_path(&self) -> String {
        full_path(self.directory.as_deref(), &self.path)
    }
}

fn full_path(folder: Option<&str>, path: &str) -> String {
    let whole = match folder {
        Some(folder) if !is_absolute(path) => format!("{folder}/{path}"),
        _ => path.to_owned(),
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." if !matches!(parts.last(), None | Some(&"..")) => _ = parts.pop(),
            _ => parts.push(part),
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
        let patch = match patch_in(name, arguments_json, arguments) {
            Some(patch) => changes_of_patch(&patch),
            None => Vec::new(),
        };
        let files = match arguments_json.as_object() {
            Some(arguments_json) if patch.is_empty() => files_of_arguments(name, arguments_json),
            _ => files_of_changes(&patch),
        };
        let changes: Vec<FileChange> = patch.into_iter().map(|change| change.within(None)).collect();
        let Some(command) = command_of(name, arguments_json, arguments) else {
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

/// The command that a call runs.
fn command_of(name: &str, arguments_json: &Value, arguments: &str) -> Option<String> {
    match arguments_json {
        // Arguments of a shell that are not JSON are the command.
        Value::Null if is_shell(name) && !arguments.trim().is_empty() => Some(arguments.to_owned()),
        // The command of an editor is one of its verbs.
        Value::Object(arguments_json) if path_in(arguments_json).is_some() => None,
        arguments_json => command_argument(name, arguments_json),
    }
}

/// The command in the arguments: by the name of the argument, or the script of a shell.
pub fn command_argument(name: &str, arguments_json: &Value) -> Option<String> {
    let mut keys = arguments_json.as_object()?.keys();
    let key = match keys.clone().find(|key| names_command(key)) {
        Some(key) => key,
        None if is_shell(name) => keys.find(|key| names_script(key))?,
        None => return None,
    };
    argument(arguments_json, &[key])
}

/// Whether an argument of this name is a command.
fn names_command(key: &str) -> bool {
    let key = normalized(key);
    ["command", "cmd", "commandline", "cmdline"].iter().any(|end| key.ends_with(end))
}

/// Whether an argument of this name is what a shell runs.
fn names_script(key: &str) -> bool {
    matches!(normalized(key).as_str(), "script" | "input" | "line" | "keystrokes")
}

/// The text of the first argument with one of these names; lists of texts are joined.
pub fn argument(arguments_json: &Value, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| joined_text(arguments_json.get(name)?))
}

/// A text, or a list of texts as one.
fn joined_text(value: &Value) -> Option<String> {
    match value {
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
    }
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
        if c.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Whether one of the words of a tool's name is in a list.
fn has_word(words: &[String], list: &str) -> bool {
    words.iter().any(|word| is_in(word, list))
}

/// The path in the arguments; `None` if the first one is blank.
fn path_in(arguments_json: &Map<String, Value>) -> Option<&str> {
    for (key, value) in arguments_json {
        if let Value::String(path) = value
            && is_in(&normalized(key), PATH_KEYS)
        {
            return if path.trim().is_empty() { None } else { Some(path) };
        }
    }
    None
}

fn files_of_arguments(name: &str, arguments_json: &Map<String, Value>) -> Vec<FileUse> {
    let Some(access) = access_of(name, arguments_json) else { return Vec::new() };
    let mut files = Vec::new();
    if let Some(file) = named_file(arguments_json, access) {
        files.push(file);
    } else {
        for (key, list) in arguments_json {
            if let Value::Array(list) = list
                && is_in(&normalized(key), PATH_LIST_KEYS)
            {
                files.extend(list.iter().filter_map(|element| listed_file(element, access)));
            }
        }
    }
    files.retain(|file| !file.path.contains('*'));
    files
}

/// What a call does with the files in its arguments; `None` if it searches or lists them.
fn access_of(name: &str, arguments_json: &Map<String, Value>) -> Option<Access> {
    let words = match arguments_json.get("command") {
        // An editor is one tool, with the verb in its arguments.
        Some(Value::String(verb)) if !verb.contains(char::is_whitespace) => words_of_name(verb),
        _ => words_of_name(name),
    };
    let reads = has_word(&words, READ_VERBS);
    if has_word(&words, CHANGE_VERBS) || !reads && has_argument(arguments_json, CONTENT_KEYS) {
        Some(Access::Changed)
    } else if has_word(&words, SEARCH_VERBS) || has_argument(arguments_json, SEARCH_KEYS) {
        None
    } else if reads {
        Some(Access::Read)
    } else {
        Some(Access::Named)
    }
}

/// Whether the name of an argument is in a list.
fn has_argument(arguments_json: &Map<String, Value>, names: &str) -> bool {
    arguments_json.keys().any(|key| is_in(&normalized(key), names))
}

/// The file that an element of a list is: its path, or an object with its path.
fn listed_file(element: &Value, access: Access) -> Option<FileUse> {
    match element {
        Value::String(path) => Some(FileUse::new(path, access, Extent::Whole)),
        Value::Object(fields) => named_file(fields, access),
        _ => None,
    }
}

/// The file whose path is among these members.
fn named_file(fields: &Map<String, Value>, access: Access) -> Option<FileUse> {
    Some(FileUse::new(path_in(fields)?, access, extent_of(fields)))
}

/// The files that a patch changes.
fn files_of_changes(changes: &[Change]) -> Vec<FileUse> {
    let mut files = Vec::new();
    for path in changes.iter().flat_map(Change::paths) {
        files.push(FileUse::new(path, Access::Changed, Extent::Whole));
    }
    files
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
    let first = not_negative(first).unwrap_or(0);
    let last = match (not_negative(last), not_negative(lines)) {
        (None, Some(lines)) => Some((first + lines).saturating_sub(1)),
        (last, _) => last,
    };
    if first <= 1 && last.is_none() { Extent::Whole } else { Extent::Lines(first, last) }
}

fn not_negative(number: Option<i64>) -> Option<u64> {
    u64::try_from(number?).ok()
}

#[cfg(test)]
mod tests;
