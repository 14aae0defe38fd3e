//! What a call of a tool does, told from its name and what it is given: the files it reads or changes, and the command
//! it runs.
//!
//! There is no list of tools here, since agents name theirs alike: a path has one of a few names, and a verb in the
//! tool's name says what is done with it. What a call brings back is none of this module's concern.

mod commands;
pub(crate) mod shell;

use serde_json::{Map, Value};

/// What a call does.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ToolUse {
    /// The shell command it runs, where it runs one.
    pub(crate) command: Option<String>,
    /// The files it names, in order.
    pub(crate) files: Vec<FileUse>,
    /// Whether it does nothing but read those files, so that its result holds nothing that they do not.
    pub(crate) only_reads: bool,
    /// Whether its command changes the directory, which the shell may keep for later commands.
    pub(crate) changes_directory: bool,
}

/// A file that a call names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileUse {
    /// Its path as the call spells it.
    pub(crate) path: String,
    /// The directory that the call says the path is relative to.
    pub(crate) directory: Option<String>,
    /// What the call does with it.
    pub(crate) access: Access,
    /// How much of it the call reads; of a file that is not read, all.
    pub(crate) extent: Extent,
}

/// What a call does with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Access {
    /// It reads the file.
    Read,
    /// It writes, edits, moves or deletes the file.
    Changed,
    /// It is given the file, and what it does with it is not known.
    Named,
}

/// How much of a file a call reads.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Extent {
    /// All of it.
    Whole,
    /// Lines from the first on, as the tool counts them, up to and with the last; to the end where there is none.
    Lines(u64, Option<u64>),
    /// A part that only what describes it can tell from another: a filter, the pages of a document.
    Excerpt(String),
}

impl Extent {
    /// Whether all that `other` shows is also shown by this.
    pub(crate) fn covers(&self, other: &Extent) -> bool {
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
    /// The path from the directory on that it is relative to, with no `.` and no `..` that can be resolved.
    pub(crate) fn full_path(&self) -> String {
        let directory = self.directory.as_deref().filter(|_| !is_absolute(&self.path));
        let whole = directory.map_or_else(|| self.path.clone(), |directory| format!("{directory}/{}", self.path));
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
}

/// Whether a path needs no directory to be found.
pub(crate) fn is_absolute(path: &str) -> bool {
    path.starts_with(['/', '~', '\\']) || path.as_bytes().get(1) == Some(&b':')
}

/// Names under which tools take a path, in small letters and without `_`, as all names below.
const PATHS: [&str; 11] = [
    "filepath",
    "path",
    "filename",
    "file",
    "notebookpath",
    "targetfile",
    "targetnotebook",
    "absolutepath",
    "relativepath",
    "relativeworkspacepath",
    "pathinproject",
];
/// Names under which tools take several paths.
const LISTS: [&str; 4] = ["paths", "files", "filepaths", "filenames"];
/// Names under which tools take what is written.
const CONTENTS: [&str; 22] = [
    "content",
    "contents",
    "newstring",
    "newstr",
    "oldstring",
    "oldstr",
    "filetext",
    "edit",
    "edits",
    "patch",
    "diff",
    "replacement",
    "replacementtext",
    "replace",
    "newsource",
    "insertline",
    "newtext",
    "oldtext",
    "text",
    "codeedit",
    "newcode",
    "newcontent",
];
/// Names under which tools take what is looked for.
const SEARCHES: [&str; 6] = ["pattern", "query", "regex", "glob", "search", "searchterm"];
/// Names of what tells a reader why, and changes nothing of what is read.
const REMARKS: [&str; 10] = [
    "command",
    "description",
    "explanation",
    "reason",
    "thought",
    "summary",
    "securityrisk",
    "implsource",
    "taskprogress",
    "timeout",
];

/// Verbs of tools that look for something, or list what is there.
const SEARCHING: [&str; 8] = ["ls", "list", "glob", "grep", "search", "find", "tree", "outline"];
/// Verbs of tools that change a file.
const CHANGING: [&str; 20] = [
    "write",
    "edit",
    "multiedit",
    "create",
    "delete",
    "remove",
    "replace",
    "insert",
    "update",
    "patch",
    "move",
    "rename",
    "append",
    "save",
    "modify",
    "undo",
    "apply",
    "overwrite",
    "touch",
    "rewrite",
];
/// Verbs of tools that show what is in a file.
const READING: [&str; 7] = ["read", "view", "open", "cat", "show", "get", "load"];

impl ToolUse {
    /// What a call does that is given this text: JSON, or a command.
    pub(crate) fn of(name: &str, arguments: &str) -> ToolUse {
        let given: Value = serde_json::from_str(arguments).unwrap_or(Value::Null);
        ToolUse::of_given(name, &given, arguments)
    }

    /// The same, where the text has been read as JSON, or is known to be none.
    pub(crate) fn of_given(name: &str, given: &Value, arguments: &str) -> ToolUse {
        let files = match patch_in(given, arguments) {
            Some(patch) => of_patch(patch),
            None => given.as_object().map(|given| of_fields(name, given)).unwrap_or_default(),
        };
        let has_path = given.as_object().is_some_and(|given| path_in(given).is_some());
        let command = match given {
            // What a shell is given that is no JSON is the command itself.
            Value::Null => Some(arguments).filter(|text| is_shell(name) && !text.trim().is_empty()).map(str::to_owned),
            // An editor's command is one of its verbs.
            given => command_given(name, given).filter(|_| !has_path),
        };
        let Some(command) = command else {
            let only_reads = !files.is_empty() && files.iter().all(|file| file.access == Access::Read);
            return ToolUse { files, only_reads, ..ToolUse::default() };
        };
        if !files.is_empty() {
            return ToolUse { command: Some(command), files, ..ToolUse::default() };
        }
        let directory = argument(given, &["workdir", "cwd", "working_directory"]);
        let found = commands::files(&command, directory);
        ToolUse {
            command: Some(command),
            files: found.files,
            only_reads: found.only_reads,
            changes_directory: found.changes_directory,
        }
    }

    /// Whether it runs a command that does more than read files.
    pub(crate) fn command_acts(&self) -> bool {
        self.command.is_some() && !self.only_reads
    }
}

/// Whether a tool of this name runs commands.
pub(crate) fn is_shell(name: &str) -> bool {
    let name = name.to_lowercase();
    ["bash", "shell", "terminal", "command", "exec"].iter().any(|word| name.contains(word))
}

/// The command that a tool is given: under a name that says so, or as the script of a shell.
pub(crate) fn command_given(name: &str, given: &Value) -> Option<String> {
    let is_command = |key: &str| ["command", "cmd", "commandline", "cmdline"].iter().any(|end| key.ends_with(end));
    let is_script = |key: &str| matches!(key, "script" | "input" | "line" | "keystrokes");
    let keys = || given.as_object().into_iter().flat_map(Map::keys);
    let found = keys().find(|key| is_command(&plain(key)));
    let found = found.or_else(|| keys().find(|key| is_shell(name) && is_script(&plain(key))));
    found.and_then(|key| argument(given, &[key]))
}

/// A value of the given names at the top of a JSON object, as text; lists of texts are joined.
pub(crate) fn argument(given: &Value, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| match given.get(name)? {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Array(words) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            // `["bash", "-lc", "…"]` is the last of them.
            match words.as_slice() {
                [_, flag, command] if flag.starts_with('-') => Some((*command).to_owned()),
                [] => None,
                words => Some(words.join(" ")),
            }
        }
        _ => None,
    })
}

/// A name of an argument, as the lists above spell it.
fn plain(key: &str) -> String {
    key.chars().filter(|c| *c != '_').flat_map(char::to_lowercase).collect()
}

/// The words of a tool's name, in small letters: `mcp__fs__readFile` is `mcp`, `fs`, `read`, `file`.
fn words_of(name: &str) -> Vec<String> {
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

fn path_in(given: &Map<String, Value>) -> Option<&str> {
    let is_path = |(key, value): (&String, &'_ Value)| PATHS.contains(&plain(key).as_str()) && value.is_string();
    let found = given.iter().find(|(key, value)| is_path((key, value)));
    found.and_then(|(_, value)| value.as_str()).filter(|path| !path.trim().is_empty())
}

fn of_fields(name: &str, given: &Map<String, Value>) -> Vec<FileUse> {
    let listed =
        || given.iter().filter(|(key, _)| LISTS.contains(&plain(key).as_str())).flat_map(|(_, list)| in_list(list));
    let extent = extent_of(given);
    let paths: Vec<(String, Extent)> = match path_in(given) {
        Some(path) => vec![(path.to_owned(), extent)],
        None => listed().collect(),
    };
    // An editor is one tool with a verb among its arguments.
    let editor = given.get("command").and_then(Value::as_str).filter(|verb| !verb.contains(char::is_whitespace));
    let words = words_of(editor.unwrap_or(name));
    let has = |verbs: &[&str]| words.iter().any(|word| verbs.contains(&word.as_str()));
    let takes = |names: &[&str]| given.keys().any(|key| names.contains(&plain(key).as_str()));
    let access = match () {
        () if has(&CHANGING) || takes(&CONTENTS) && !has(&READING) => Access::Changed,
        () if has(&SEARCHING) || takes(&SEARCHES) => return Vec::new(),
        () if has(&READING) => Access::Read,
        () => Access::Named,
    };
    let one = |(path, extent)| {
        let extent = if access == Access::Read { extent } else { Extent::Whole };
        FileUse { path, directory: None, access, extent }
    };
    paths.into_iter().filter(|(path, _)| !path.contains('*')).map(one).collect()
}

/// The paths of a list of them, or of objects that each have one.
fn in_list(list: &Value) -> Vec<(String, Extent)> {
    let one = |value: &Value| match value {
        Value::String(path) => Some((path.clone(), Extent::Whole)),
        Value::Object(fields) => path_in(fields).map(|path| (path.to_owned(), extent_of(fields))),
        _ => None,
    };
    list.as_array().map(|list| list.iter().filter_map(one).collect()).unwrap_or_default()
}

/// How much of a file is read by one who is given this.
fn extent_of(given: &Map<String, Value>) -> Extent {
    let (mut first, mut last, mut lines) = (None, None, None);
    let mut others = Vec::new();
    for (key, value) in given {
        let key = plain(key);
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
            (key, _) if PATHS.contains(&key) || REMARKS.contains(&key) => {}
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

/// The patch that a call brings along, in the form that names its files on lines of their own.
fn patch_in<'t>(given: &'t Value, arguments: &'t str) -> Option<&'t str> {
    const MARKS: [&str; 2] = ["*** Begin Patch", "*** Update File"];
    let is_patch = |text: &str| MARKS.iter().any(|mark| text.contains(mark));
    if !is_patch(arguments) {
        return None;
    }
    let inside = given.as_object().into_iter().flat_map(Map::values).find_map(|value| match value {
        Value::Array(words) => words.iter().filter_map(Value::as_str).find(|text| is_patch(text)),
        value => value.as_str().filter(|text| is_patch(text)),
    });
    inside.or(Some(arguments).filter(|_| given.is_null()))
}

fn of_patch(patch: &str) -> Vec<FileUse> {
    let named = |line: &str| {
        ["*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: "]
            .iter()
            .find_map(|mark| line.strip_prefix(mark).map(|path| path.trim().to_owned()))
    };
    let one = |path| FileUse { path, directory: None, access: Access::Changed, extent: Extent::Whole };
    patch.lines().filter_map(named).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The files of a call, each as `r path`, `c path` or `n path`, with how much of it is read.
    fn files(name: &str, arguments: &str) -> Vec<String> {
        ToolUse::of(name, arguments).files.iter().map(shown).collect()
    }

    fn shown(file: &FileUse) -> String {
        let access = match file.access {
            Access::Read => 'r',
            Access::Changed => 'c',
            Access::Named => 'n',
        };
        let extent = match &file.extent {
            Extent::Whole => String::new(),
            Extent::Lines(first, last) => format!(" {first}-{}", last.map_or(String::new(), |last| last.to_string())),
            Extent::Excerpt(what) => format!(" [{what}]"),
        };
        format!("{access} {}{extent}", file.full_path())
    }

    #[test]
    fn files_that_the_tools_of_agents_read() {
        for (name, arguments, expected) in [
            ("Read", r#"{"file_path":"/w/a.rs"}"#, "r /w/a.rs"),
            ("Read", r#"{"file_path":"/w/a.rs","offset":100,"limit":50}"#, "r /w/a.rs 100-149"),
            ("read", r#"{"path":"a.rs","limit":50}"#, "r a.rs 0-49"),
            ("read_file", r#"{"absolute_path":"/w/a.rs","offset":0,"limit":20}"#, "r /w/a.rs 0-19"),
            ("read_file", r#"{"path":"src/./b/../a.rs","start_line":3,"end_line":9}"#, "r src/a.rs 3-9"),
            ("read_file", r#"{"file_path":"/a.rs","offset":0,"description":"why"}"#, "r /a.rs"),
            ("str_replace_editor", r#"{"command":"view","path":"/w/a.rs","view_range":[1,80]}"#, "r /w/a.rs 1-80"),
            ("str_replace_editor", r#"{"command":"view","path":"/w/a.rs","view_range":[1,-1]}"#, "r /w/a.rs"),
            ("developer__text_editor", r#"{"command":"view","path":"/w/a.rs"}"#, "r /w/a.rs"),
            ("ReadFile", r#"{"path":"a.rs","line_offset":5,"n_lines":2}"#, "r a.rs 5-6"),
            ("view_file", r#"{"AbsolutePath":"/a.rs","StartLine":1,"EndLine":7}"#, "r /a.rs 1-7"),
            ("open", r#"{"path":"a.rs","line_number":120}"#, "r a.rs [   linenumber=120]"),
            ("read", r#"{"path":"a.rs","start":0,"end":-1,"impl_source":"default"}"#, "r a.rs"),
            ("Read", r#"{"file_path":"a.pdf","pages":"1-3"}"#, r#"r a.pdf [   pages="1-3"]"#),
        ] {
            assert_eq!(files(name, arguments), [expected], "{name} {arguments}");
            assert!(ToolUse::of(name, arguments).only_reads, "{name} {arguments}");
            assert_eq!(ToolUse::of(name, arguments).command, None);
        }
        assert_eq!(files("read_many_files", r#"{"paths":["a.rs","src/*.rs","b.rs"]}"#), ["r a.rs", "r b.rs"]);
        assert_eq!(
            files("read_file", r#"{"files":[{"path":"a.rs"},{"path":"b.rs","start_line":2}]}"#),
            ["r a.rs", "r b.rs 2-"]
        );
    }

    #[test]
    fn files_that_the_tools_of_agents_change() {
        for (name, arguments, expected) in [
            ("Edit", r#"{"file_path":"/w/a.rs","old_string":"a","new_string":"b"}"#, "c /w/a.rs"),
            ("Write", r#"{"file_path":"/w/a.rs","content":"x"}"#, "c /w/a.rs"),
            ("NotebookEdit", r#"{"notebook_path":"/w/a.ipynb","new_source":"x"}"#, "c /w/a.ipynb"),
            ("edit", r#"{"path":"a.rs","oldText":"a","newText":"b"}"#, "c a.rs"),
            ("edit", r#"{"filePath":"a.rs","oldString":"a","newString":"b"}"#, "c a.rs"),
            ("replace", r#"{"file_path":"/a.rs","old_string":"a","new_string":"b"}"#, "c /a.rs"),
            ("replace_in_file", r#"{"path":"a.rs","diff":"x"}"#, "c a.rs"),
            ("write_to_file", r#"{"path":"a.rs","content":"x"}"#, "c a.rs"),
            ("str_replace_editor", r#"{"command":"create","path":"/a.rs","file_text":"x"}"#, "c /a.rs"),
            ("str_replace_editor", r#"{"command":"undo_edit","path":"/a.rs"}"#, "c /a.rs"),
            ("StrReplaceFile", r#"{"path":"a.rs","edit":{"old":"a","new":"b"}}"#, "c a.rs"),
            ("apply_patch", r#"{"input":"*** Begin Patch\n*** Add File: b.py\n+x"}"#, "c b.py"),
            ("apply_patch", "*** Begin Patch\n*** Delete File: b.py\n*** End Patch", "c b.py"),
            ("shell", r#"{"command":["apply_patch","*** Begin Patch\n*** Update File: b.py\n"]}"#, "c b.py"),
            ("delete_file", r#"{"path":"a.rs"}"#, "c a.rs"),
        ] {
            assert_eq!(files(name, arguments), [expected], "{name} {arguments}");
            assert!(!ToolUse::of(name, arguments).only_reads, "{name} {arguments}");
        }
    }

    #[test]
    fn tools_that_only_name_a_file_or_none() {
        assert_eq!(files("present_files", r#"{"filepaths":["a.md"]}"#), ["n a.md"]);
        assert_eq!(files("lint", r#"{"path":"a.rs"}"#), ["n a.rs"]);
        for (name, arguments) in [
            ("Grep", r#"{"pattern":"x","path":"src"}"#),
            ("LS", r#"{"path":"src"}"#),
            ("list_dir", r#"{"path":"src"}"#),
            ("find_file", r#"{"file_name":"a.rs"}"#),
            ("TodoWrite", r#"{"todos":[]}"#),
            ("get_weather", r#"{"city":"Rome"}"#),
            ("read_file", "no JSON"),
            ("read_file", r#"{"path":""}"#),
        ] {
            assert_eq!(ToolUse::of(name, arguments), ToolUse::default(), "{name} {arguments}");
        }
    }

    #[test]
    fn commands_by_all_their_names() {
        for (name, arguments) in [
            ("Bash", r#"{"command":"cargo test","description":"Tests"}"#),
            ("shell", r#"{"command":["bash","-lc","cargo test"],"workdir":"/w"}"#),
            ("exec_command", r#"{"cmd":"cargo test"}"#),
            ("run_shell_command", r#"{"command":"cargo test"}"#),
            ("execute_bash", "cargo test"),
        ] {
            let of = ToolUse::of(name, arguments);
            assert_eq!(of.command.as_deref(), Some("cargo test"), "{name} {arguments}");
            assert_eq!((of.files.len(), of.only_reads), (0, false));
        }
    }

    #[test]
    fn files_of_commands() {
        let of = |command: &str| {
            let of = ToolUse::of("bash", &serde_json::json!({ "command": command }).to_string());
            let only = if of.only_reads { "only " } else { "" };
            format!("{only}{}", of.files.iter().map(shown).collect::<Vec<_>>().join(", "))
        };
        for (command, expected) in [
            ("cat src/a.rs", "only r src/a.rs"),
            ("cat a.rs Makefile", "only r a.rs, r Makefile"),
            ("cd /w && cat a.rs", "only r /w/a.rs"),
            ("cd /w; cd b && cat ../a.rs 2>/dev/null", "only r /w/a.rs"),
            ("cat ./a.py | head -400", "only r a.py 1-400"),
            ("nl -ba a.py | sed -n '10,20p'", "only r a.py 10-20"),
            ("sed -n '10,$p' a.py", "only r a.py 10-"),
            ("head -n 30 a.py", "only r a.py 1-30"),
            ("tail -n 5 a.log", "only r a.log [-n 5]"),
            ("cat a.py | grep -n x", "only r a.py [Whole grep -n x]"),
            ("cat a.py && pytest", "r a.py"),
            ("cat $FILE", ""),
            ("cat src/*.rs", ""),
            ("cat > fix.py << 'EOF'\nopen('x') > y.py\nEOF", "c fix.py"),
            ("echo hi >> 'my notes.txt' 2>&1", "c my notes.txt"),
            ("cd /testbed && sed -i 's/a > b/c/' src/tools.py", "c /testbed/src/tools.py"),
            ("make | tee out.log", "c out.log"),
            ("mv a.rs b.rs", "c a.rs, c b.rs"),
            ("cargo test 2>&1 > /dev/null", ""),
            ("cargo test 2> errors.txt", ""),
            ("", ""),
            ("| | > > <", ""),
        ] {
            assert_eq!(of(command), expected, "{command}");
        }
        assert!(ToolUse::of("bash", r#"{"command":"cd /w && ls"}"#).changes_directory);
    }

    #[test]
    fn what_one_read_shows_of_another() {
        let lines = Extent::Lines;
        assert!(Extent::Whole.covers(&lines(3, Some(9))) && !lines(3, Some(9)).covers(&Extent::Whole));
        assert!(lines(1, Some(9)).covers(&lines(3, Some(9))) && lines(3, None).covers(&lines(3, Some(9))));
        assert!(!lines(3, Some(9)).covers(&lines(3, None)) && !lines(4, None).covers(&lines(3, Some(9))));
        let excerpt = |what: &str| Extent::Excerpt(what.to_owned());
        assert!(excerpt("grep x").covers(&excerpt("grep x")) && !excerpt("grep x").covers(&excerpt("grep y")));
    }
}
