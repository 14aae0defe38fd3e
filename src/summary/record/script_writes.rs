//! Finds the files that scripts write: an agent without an editor changes code by `open("a.py", "w")` in a script that
//! it writes and runs.
//!
//! The code is not parsed: a call that writes, with a path in quotes or in a variable with a path in quotes, is found by
//! its words.

use std::collections::HashMap;

use crate::summary::record::file_actions::FileAction;
use crate::transcript::tools::shell::steps;

/// The scripts of a history that write files, by their paths.
#[derive(Default)]
pub(super) struct ScriptWrites {
    by_script: HashMap<String, Vec<String>>,
}

impl ScriptWrites {
    /// Returns the files that a command writes by scripts: those in it that it runs at once, and those written before.
    /// `file_actions` is what the command does with files by itself.
    pub(super) fn of_command(&mut self, command: &str, file_actions: &[(String, FileAction)]) -> Vec<String> {
        let mut found = Vec::new();
        let own = written_paths(command);
        let writes = |action: &FileAction| matches!(action, FileAction::Created | FileAction::Changed);
        let script = file_actions.iter().find(|(path, action)| writes(action) && is_script(path));
        match script {
            Some((script, _)) => drop(self.by_script.insert(script.clone(), own)),
            None => found = own,
        }
        for step in steps(command) {
            let mut words = step.split_whitespace().map(|word| word.trim_matches(['\'', '"']));
            if words.next().is_some_and(is_interpreter)
                && let Some(written) = words.find_map(|word| self.by_script.get(word.trim_start_matches("./")))
            {
                found.extend(written.iter().cloned());
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}

fn is_script(path: &str) -> bool {
    [".py", ".js", ".mjs", ".ts", ".rb"].iter().any(|end| path.ends_with(end))
}

fn is_interpreter(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or(program);
    ["python", "node", "ruby", "uv", "deno", "bun"].iter().any(|interpreter| name.starts_with(interpreter))
}

/// Returns the paths that code writes.
fn written_paths(code: &str) -> Vec<String> {
    let first_argument =
        |call: &str| -> Vec<&str> { code.match_indices(call).map(|(at, _)| &code[at + call.len()..]).collect() };
    let opened = first_argument("open(").into_iter().filter(|rest| opens_for_writing(rest));
    let written = first_argument("writeFileSync(").into_iter().chain(first_argument("writeFile("));
    // `Path("a.py").write_text(`, `path.write_text(`
    let by_method = code.match_indices(".write_text(").map(|(at, _)| {
        let before = code[..at].trim_end_matches(')');
        let start = before.rfind(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.' | '/' | '-' | '"' | '\'')));
        &before[start.map_or(0, |start| start + 1)..]
    });
    opened.chain(written).chain(by_method).filter_map(|rest| path_at(rest, code)).collect()
}

/// Whether the arguments of `open` have a mode that writes.
fn opens_for_writing(arguments: &str) -> bool {
    let arguments = arguments.split([')', '\n']).next().unwrap_or("");
    let mode = arguments.split_once(',').map_or("", |(_, rest)| rest.trim_start().trim_start_matches("mode="));
    let mode = mode.trim_start().strip_prefix(['\'', '"']).unwrap_or("");
    mode.starts_with(['w', 'a', 'x']) || mode.starts_with("r+")
}

/// Returns the path at the start of a text: in quotes, or in a variable of the code that holds one.
fn path_at(text: &str, code: &str) -> Option<String> {
    let text = text.trim_start();
    if let Some(path) = quoted(text) {
        return Some(path);
    }
    let name = text.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().filter(|name| !name.is_empty())?;
    let assigned = code.match_indices(name).filter_map(|(at, _)| {
        let is_whole = !code[..at].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '.'));
        let value = code[at + name.len()..].trim_start().strip_prefix('=').filter(|_| is_whole)?.trim_start();
        quoted(value.strip_prefix("Path(").unwrap_or(value))
    });
    assigned.last()
}

/// Returns the path in quotes at the start of a text. A pattern or a text with blanks is none.
fn quoted(text: &str) -> Option<String> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let (path, _) = text[1..].split_once(quote)?;
    let is_path = path.contains(['.', '/']) && !path.contains([' ', '{', '*', '\n', '$', ':']);
    is_path.then(|| path.trim_start_matches("./").to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_that_writes_names_its_files() {
        for (code, paths) in [
            ("with open('src/a.py', 'w') as f:\n    f.write(text)", &["src/a.py"][..]),
            ("path = \"./src/b.py\"\ntext = open(path).read()\nopen(path, mode=\"w\").write(text)", &["src/b.py"]),
            ("p = Path('c.toml')\np.write_text(p.read_text())\nPath(\"d.md\").write_text('x')", &["c.toml", "d.md"]),
            ("fs.writeFileSync('web/e.ts', text)", &["web/e.ts"]),
            ("open('f.py').read(); open(name, 'w'); print('open(')", &[]),
            ("open(f'{folder}/g.py', 'w')", &[]),
        ] {
            assert_eq!(written_paths(code), paths, "{code}");
        }
    }

    #[test]
    fn a_script_writes_when_it_runs() {
        let mut scripts = ScriptWrites::default();
        let script = "cat > fix.py <<'EOF'\nopen('src/a.py', 'w').write('x')\nEOF";
        let created = [("fix.py".to_owned(), FileAction::Created)];
        assert!(scripts.of_command(script, &created).is_empty());
        assert!(scripts.of_command("cat fix.py", &[]).is_empty());
        assert_eq!(scripts.of_command("cd /srv && python3 ./fix.py", &[]), ["src/a.py"]);
        assert_eq!(scripts.of_command("python - <<'EOF'\nopen('b.py', 'w').write('x')\nEOF", &[]), ["b.py"]);
        assert_eq!(scripts.of_command(&format!("{script}\npython fix.py"), &created), ["src/a.py"]);
    }
}
