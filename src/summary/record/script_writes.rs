//! Finds the files that scripts write: an agent without an editor changes code by `open("a.py", "w")` in a script that
//! it writes and runs.
//!
//! The code is not parsed: a call that writes, with a path in quotes or in a variable, is found by its words.

use std::collections::HashMap;

use crate::summary::record::cues;
use crate::summary::record::file_actions::FileAction;
use crate::transcript::tools::shell::steps;

/// The scripts of a history that write files, by their paths.
#[derive(Default)]
pub(super) struct ScriptWrites {
    by_script: HashMap<String, Vec<(String, FileAction)>>,
}

impl ScriptWrites {
    /// Notes the code of a script that a call writes.
    pub(super) fn add_script(&mut self, path: &str, code: &str) {
        let is_script = [".py", ".js", ".mjs", ".ts", ".rb"].iter().any(|end| path.ends_with(end));
        // A program with arguments writes what they say.
        let has_arguments = ["argv", "argparse", "import click", "import typer"].iter().any(|sign| code.contains(sign));
        let is_test = path.rsplit('/').next().is_some_and(|name| name.starts_with("test_"));
        if is_script && !is_test && !has_arguments {
            self.by_script.insert(path.trim_start_matches("./").to_owned(), written_files(code));
        }
    }

    /// Returns the files that a command writes by the scripts it runs: code of its own, or a script that was written
    /// before.
    pub(super) fn of_command(&self, command: &str) -> Vec<(String, FileAction)> {
        let mut found = Vec::new();
        let mut has_code = false;
        for step in steps(command) {
            match program_of_step(step) {
                Some("-") => has_code = true,
                Some(script) => {
                    found.extend(self.by_script.get(script.trim_start_matches("./")).into_iter().flatten().cloned());
                }
                None => {}
            }
        }
        if has_code {
            found.extend(written_files(command));
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// Whether an output says that nothing was written.
pub(super) fn says_nothing_was_written(output: &str) -> bool {
    const LONG: usize = 400;
    let end = &output[output.ceil_char_boundary(output.len().saturating_sub(LONG))..];
    end.contains("would ") || cues::NOTHING_DONE.is_in(end) || cues::UNDONE.is_in(end) && !cues::WENT_WELL.is_in(end)
}

/// Returns the script that a step runs, `-` for code in the command; `None` if it runs neither.
fn program_of_step(step: &str) -> Option<&str> {
    const INTERPRETERS: [&str; 6] = ["python", "node", "ruby", "uv", "deno", "bun"];
    let mut words = step.split_whitespace().map(|word| word.trim_matches(['\'', '"']));
    let program = words.find(|word| !word.contains('='))?;
    let name = program.rsplit('/').next().unwrap_or(program);
    if !INTERPRETERS.iter().any(|interpreter| name.starts_with(interpreter)) || step.contains("--help") {
        return None;
    }
    for word in words {
        match word {
            // A module of the language checks a script or runs its tests.
            "-m" => return None,
            "-" | "-c" | "-e" | "--eval" => return Some("-"),
            word if word.starts_with("<<") => return Some("-"),
            word if word.starts_with('-') || word == "run" || word.starts_with("python") => {}
            word => return Some(word),
        }
    }
    None
}

/// Returns the files that code writes. One that it may have read is changed; the others are created.
fn written_files(code: &str) -> Vec<(String, FileAction)> {
    /// Most writes that are read.
    const MOST_WRITES: usize = 64;
    // `open(`, but not `window.open(` or `reopen(`
    let is_function = |at: usize| {
        let before = &code[..at];
        !before.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '.'))
            || ["io.", "codecs."].iter().any(|module| before.ends_with(module))
    };
    let calls = |name: &'static str| code.match_indices(name).map(move |(at, _)| at + name.len());
    let opened = calls("open(").filter(|at| is_function(at - "open(".len()) && opens_for_writing(&code[*at..]));
    // `Path("a.py").write_text(`, `path.write_text(`
    let of_method = |at: usize| {
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '/' | '-' | '"' | '\'');
        let before = code[..at].trim_end_matches(')');
        before.trim_end_matches(is_part).len()
    };
    let by_method = code.match_indices(".write_text(").map(|(at, _)| of_method(at));
    let places = opened.chain(calls("writeFileSync(")).chain(calls("writeFile(")).chain(by_method);
    let removed: Vec<String> = ["remove(", "unlink(", "unlinkSync("]
        .iter()
        .flat_map(|name| calls(name))
        .flat_map(|at| paths_at(at, code))
        .collect();
    let reads = [".read()", "read_text(", "readFileSync(", ".readlines("].iter().any(|call| code.contains(call));
    let action = if reads { FileAction::Changed } else { FileAction::Created };
    let paths = places.take(MOST_WRITES).flat_map(|at| paths_at(at, code));
    let paths = paths.filter(|path| !removed.contains(path) && !path.starts_with("/dev/"));
    paths.map(|path| (path, action)).collect()
}

/// Whether the arguments of `open` have a mode that writes.
fn opens_for_writing(arguments: &str) -> bool {
    let arguments = arguments.split([')', '\n']).next().unwrap_or("");
    let mode = arguments.split_once(',').map_or("", |(_, rest)| rest.trim_start().trim_start_matches("mode="));
    let mode =
        mode.trim_start().strip_prefix(['\'', '"']).and_then(|mode| mode.split(['\'', '"']).next()).unwrap_or("");
    mode.contains(['w', 'a', 'x', '+']) && mode.bytes().all(|byte| b"rwaxbtU+".contains(&byte))
}

/// Returns the paths at a place in code: the one in quotes, or those that the variable there held last.
fn paths_at(at: usize, code: &str) -> Vec<String> {
    let text = code[at..].trim_start();
    if text.starts_with(['\'', '"']) {
        return quoted_path(text).into_iter().collect();
    }
    let name = text.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or("");
    let name =
        if name == "Path" { return quoted_path(text.trim_start_matches("Path(")).into_iter().collect() } else { name };
    if name.is_empty() {
        return Vec::new();
    }
    let mut held = code[..at].rmatch_indices(name).map(|(at, _)| (at, &code[at + name.len()..]));
    let paths = held.find_map(|(at, rest)| {
        if code[..at].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '.')) {
            return None;
        }
        let rest = rest.trim_start();
        if let Some(list) = rest.strip_prefix("in ").filter(|_| code[..at].trim_end().ends_with("for")) {
            let list = list.split([']', ')', ':', '\n']).next().unwrap_or("");
            return Some(list.split(['[', '(', ',']).filter_map(|item| quoted_path(item.trim())).collect());
        }
        let value = rest.strip_prefix('=').filter(|value| !value.starts_with('='))?.trim_start();
        Some(quoted_path(value.strip_prefix("Path(").unwrap_or(value)).into_iter().collect())
    });
    paths.unwrap_or_default()
}

/// Returns the path in quotes at the start of a text. A pattern or a text with blanks is none.
fn quoted_path(text: &str) -> Option<String> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let (path, _) = text[1..].split_once(quote)?;
    let is_path = path.contains(['.', '/']) && !path.contains([' ', '{', '*', '\n', '$', ':']);
    is_path.then(|| path.trim_start_matches("./").to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(code: &str) -> Vec<String> {
        written_files(code).into_iter().map(|(path, _)| path).collect()
    }

    #[test]
    fn code_that_writes_names_its_files() {
        for (code, expected) in [
            ("with open('src/a.py', 'w') as f:\n    f.write(text)", &["src/a.py"][..]),
            ("path = \"./src/b.py\"\ntext = open(path).read()\nopen(path, mode=\"w\").write(text)", &["src/b.py"]),
            ("p = Path('c.toml')\np.write_text(p.read_text())\nPath(\"d.md\").write_text('x')", &["c.toml", "d.md"]),
            ("fs.writeFileSync('web/e.ts', text)", &["web/e.ts"]),
            ("for p in ['g/a.py', \"g/b.py\"]:\n    open(p, 'r+').write('x')", &["g/a.py", "g/b.py"]),
            ("p = 'h.py'\nopen(p, 'w')\np = 'i.py'\nopen(p)", &["h.py"]),
            ("open('f.py').read(); open(name, 'w'); print('open(')", &[]),
            ("open(f'{folder}/g.py', 'w'); window.open('/auth/login', 'authPopup'); db.open('a.db', 'app')", &[]),
            ("open('tmp/t.cfg', 'w'); os.remove('tmp/t.cfg')", &[]),
        ] {
            assert_eq!(paths(code), expected, "{code}");
        }
        assert_eq!(written_files("open('a.md', 'w').write('x')"), [("a.md".to_owned(), FileAction::Created)]);
    }

    #[test]
    fn a_script_writes_when_it_runs() {
        let mut scripts = ScriptWrites::default();
        scripts.add_script("./fix.py", "open('src/a.py', 'w').write('x')");
        scripts.add_script("notes.md", "open('src/b.py', 'w').write('x')");
        let of =
            |command: &str| -> Vec<String> { scripts.of_command(command).into_iter().map(|(path, _)| path).collect() };
        for command in ["cd /srv && python3 ./fix.py", "uv run python fix.py --all", "FAST=1 python -u fix.py"] {
            assert_eq!(of(command), ["src/a.py"], "{command}");
        }
        assert_eq!(of("python - <<'EOF'\nopen('b.py', 'w').write('x')\nEOF"), ["b.py"]);
        assert_eq!(of("python3 -c \"open('b.py', 'w').write('x')\""), ["b.py"]);
        for command in [
            "cat fix.py",
            "python -m py_compile fix.py",
            "python fix.py --help",
            "python notes.md",
            "grep -rn \"open('b.py', 'w')\" src",
            "cat > guide.md <<'EOF'\nopen('b.py', 'w')\nEOF",
        ] {
            assert!(of(command).is_empty(), "{command}");
        }
    }
}
