//! The files that scripts write: an agent without an editor changes code by `open("a.py", "w")` in a script that it writes
//! and runs. The code is not parsed: a call that writes, with a path in quotes or in a variable, is found by its words.

use std::collections::{BTreeSet, HashMap};

use crate::transcript::tools::actions::FileAction;
use crate::transcript::tools::shell::{Operator, SimpleCommand, commands};

/// The scripts of a history that write files, by their paths.
#[derive(Debug, Default)]
pub(crate) struct ScriptWrites {
    by_script: HashMap<String, Vec<(String, FileAction)>>,
}

/// Most bytes of code that are looked at, and files that a script writes.
const MOST_CODE: usize = 1 << 16;
const MOST_FILES: usize = 16;

impl ScriptWrites {
    /// Notes the code of a script that a call wrote. A program with arguments writes what they say.
    pub(crate) fn add_script(&mut self, path: &str, code: &str) {
        let is_script = [".py", ".js", ".mjs", ".ts", ".rb"].iter().any(|end| path.ends_with(end));
        if is_script && !["argv", "argparse"].iter().any(|sign| code.contains(sign)) {
            let written = written_files(code);
            if !written.is_empty() {
                self.by_script.insert(path.to_owned(), written);
            }
        }
    }

    /// Returns the files that a command writes by code of its own, or by a script that was written before.
    pub(crate) fn of_command(&self, command: &str) -> Vec<(String, FileAction)> {
        let commands = commands(command, None);
        let heads = commands.iter().filter(|command| command.before != Operator::Pipe);
        let scripts: BTreeSet<&str> = heads.filter_map(script_of).collect();
        let mut found = Vec::new();
        for script in scripts {
            match script {
                "-" => found.extend(written_files(command)),
                script => {
                    found.extend(self.by_script.get(script.trim_start_matches("./")).into_iter().flatten().cloned());
                }
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// Returns the script that a command runs, `-` for code in the command; `None` if it runs neither.
fn script_of<'s>(command: &'s SimpleCommand<'_>) -> Option<&'s str> {
    const INTERPRETERS: [&str; 6] = ["python", "node", "ruby", "uv", "deno", "bun"];
    if !INTERPRETERS.iter().any(|interpreter| command.name().starts_with(interpreter)) || command.has("--help") {
        return None;
    }
    for word in command.words.iter().skip(1) {
        match &**word {
            // A module of the language checks a script or runs its tests.
            "-m" => return None,
            "-" | "-c" | "-e" | "--eval" => return Some("-"),
            word if word.starts_with('-') || word == "run" || word.starts_with("python") => {}
            word => return Some(word),
        }
    }
    command.here.map(|_| "-")
}

/// Returns the files that code writes. One that it may have read is changed; the others are created.
fn written_files(code: &str) -> Vec<(String, FileAction)> {
    let code = &code[..code.floor_char_boundary(MOST_CODE)];
    let reads = [".read()", "read_text(", "readFileSync(", ".readlines("].iter().any(|call| code.contains(call));
    let action = if reads { FileAction::Changed } else { FileAction::Created };
    let mut found = Vec::new();
    for (at, _) in code.match_indices("open(") {
        // `open(`, but not `window.open(` or `reopen(`
        let is_function = !code[..at].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '.'));
        if is_function && opens_for_writing(&code[at + "open(".len()..]) {
            found.extend(path_at(code, at + "open(".len()));
        }
    }
    for call in ["writeFileSync(", "writeFile("] {
        found.extend(code.match_indices(call).filter_map(|(at, _)| path_at(code, at + call.len())));
    }
    // `Path("a.py").write_text(`, `path.write_text(`
    for (at, _) in code.match_indices(".write_text(") {
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '/' | '-' | '"' | '\'');
        found.extend(path_at(code, code[..at].trim_end_matches(')').trim_end_matches(is_part).len()));
    }
    found.into_iter().take(MOST_FILES).map(|path| (path, action)).collect()
}

/// Whether the arguments of `open` have a mode that writes.
fn opens_for_writing(arguments: &str) -> bool {
    let arguments = arguments.split([')', '\n']).next().unwrap_or("");
    let mode = arguments.split_once(',').map_or("", |(_, rest)| rest.trim_start().trim_start_matches("mode="));
    let mode =
        mode.trim_start().strip_prefix(['\'', '"']).and_then(|mode| mode.split(['\'', '"']).next()).unwrap_or("");
    mode.contains(['w', 'a', 'x', '+']) && mode.bytes().all(|byte| b"rwaxbtU+".contains(&byte))
}

/// Returns the path at a place in code: the one in quotes, or the one that the variable there was last set to.
fn path_at(code: &str, at: usize) -> Option<String> {
    let text = code[at..].trim_start();
    let text = text.strip_prefix("Path(").unwrap_or(text);
    if text.starts_with(['\'', '"']) {
        return quoted_path(text);
    }
    let name = text.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().filter(|name| !name.is_empty())?;
    code[..at].rmatch_indices(name).find_map(|(set, _)| {
        let value = code[set + name.len()..].trim_start().strip_prefix('=')?.trim_start();
        quoted_path(value.strip_prefix("Path(").unwrap_or(value))
    })
}

/// Returns the path in quotes at the start of a text. A pattern or a text with blanks is none.
fn quoted_path(text: &str) -> Option<String> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let (path, _) = text[1..].split_once(quote)?;
    let is_path =
        path.contains(['.', '/']) && !path.contains([' ', '{', '*', '\n', '$', ':']) && !path.starts_with("/dev/");
    is_path.then(|| path.trim_start_matches("./").to_owned())
}
