//! The texts of the edits that a call makes: pairs of an old and a new text, the hunks of patches, whole files. Whether they
//! were made, its result says.

use std::slice;

use serde_json::Value;

use crate::transcript::tools::{Access, ToolUse, patch_in, words_of_name};

/// An edit as a call gives it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct TextEdit {
    pub(crate) path: String,
    /// What it replaces: nothing where the new text is added somewhere, `None` where this is the whole file.
    pub(crate) old: Option<String>,
    pub(crate) new: String,
    /// Whether it replaces the old text in all places.
    pub(crate) everywhere: bool,
}

/// Returns the edits of a call, in order.
pub(crate) fn edits_of_call(name: &str, given: &Value, arguments: &str, tool: &ToolUse) -> Vec<TextEdit> {
    /// Names of the list of edits of one file, or of several.
    const LISTS: [&str; 4] = ["edits", "replacements", "changes", "ReplacementChunks"];
    if let Some(patch) = patch_in(given, arguments) {
        return edits_of_patch(&patch, "");
    }
    if let Some(command) = tool.command.as_deref() {
        let patches = if command.contains("\n+++ ") { edits_of_patch(command, "") } else { Vec::new() };
        // The folder of a command is in the paths of what it changes.
        let is_of = |path: &str, whole: &str| {
            whole.strip_suffix(path).is_some_and(|folder| folder.is_empty() || folder.ends_with('/'))
        };
        let whole =
            |path: &str| tool.changes.iter().map(|change| &change.path).find(|whole| is_of(path, whole)).cloned();
        let edits = here_documents(command).into_iter().chain(patches);
        return edits.map(|edit| TextEdit { path: whole(&edit.path).unwrap_or(edit.path), ..edit }).collect();
    }
    let Some(file) = tool.files.iter().find(|file| file.access == Access::Changed) else { return Vec::new() };
    let verb = given.get("command").and_then(Value::as_str).unwrap_or(name);
    let adds = words_of_name(verb).iter().any(|word| ["insert", "append"].contains(&word.as_str()));
    let listed = LISTS.iter().find_map(|list| given.get(list)?.as_array());
    let parts = listed.map_or(slice::from_ref(given), Vec::as_slice);
    parts.iter().flat_map(|part| edits_of_arguments(part, &file.full_path(), adds)).collect()
}

/// Returns the edits in the arguments of an editor, or in one of their list.
fn edits_of_arguments(given: &Value, path: &str, adds: bool) -> Vec<TextEdit> {
    const PATHS: &str = "file_path|filePath|path";
    const OLD: &str = "old_string|oldString|old_str|oldStr|oldText|old_text|old_code|old|search|TargetContent";
    const NEW: &str = "new_string|newString|new_str|newStr|newText|new_text|new_code|new|replace|replacement|replacement_text|ReplacementContent|new_source|code_edit|code|text";
    const WHOLE: &str = "content|contents|file_text|fileText";
    const ALL: &str = "replace_all|replaceAll|AllowMultiple|allow_multiple";
    let text = |names: &str| names.split('|').find_map(|name| given.get(name)?.as_str()).map(str::to_owned);
    let path = text(PATHS).filter(|_| text(OLD).is_some()).unwrap_or_else(|| path.to_owned());
    if let Some(patch) = text("diff|patch") {
        return edits_of_patch(&patch, &path);
    }
    let everywhere = ALL.split('|').any(|name| given.get(name).and_then(Value::as_bool) == Some(true));
    let (old, new) = match (text(OLD), text(NEW), text(WHOLE)) {
        // An editor that finds an empty text makes the file.
        (Some(old), new, _) => (Some(old).filter(|old| !old.is_empty() || adds), new.unwrap_or_default()),
        (None, None, Some(new)) if !adds => (None, new),
        (None, Some(new), _) | (None, _, Some(new)) => (Some(String::new()), new),
        _ => return Vec::new(),
    };
    vec![TextEdit { path, old, new, everywhere }]
}

/// Returns the files that a command writes as here-documents: `cat > fix.py << 'EOF'`.
fn here_documents(command: &str) -> Vec<TextEdit> {
    let (mut found, mut rest) = (Vec::new(), command);
    while let Some((opening, (line, text))) =
        rest.split_once("<<").and_then(|(opening, rest)| Some((opening, rest.split_once('\n')?)))
    {
        let line = line.trim_start_matches(['-', ' ']);
        let mark = line.split([' ', '&', '|', ';', '>']).next().unwrap_or("");
        // What follows the mark belongs to the same step.
        let behind = line[mark.len()..].split(['&', '|', ';']).next().unwrap_or("");
        let is_text = |line: &&str| line.trim() != mark.trim_matches(['\'', '"']);
        let end = text.split_inclusive('\n').take_while(is_text).map(str::len).sum();
        let step = opening.rsplit(['\n', ';', '&', '|']).next().unwrap_or("").to_owned() + behind;
        let path = step.rsplit_once('>').map_or("", |(_, path)| path.trim().trim_matches(['\'', '"']));
        if step.trim_start().starts_with("cat ") && !path.is_empty() && !path.contains(char::is_whitespace) {
            let old = step.contains(">>").then(String::new);
            let new = text[..end].strip_suffix('\n').unwrap_or(&text[..end]).to_owned();
            found.push(TextEdit { path: path.to_owned(), old, new, everywhere: false });
        }
        rest = &text[end..];
    }
    found
}

/// Reads the hunks of a patch.
#[derive(Default)]
struct PatchReader<'p> {
    edits: Vec<TextEdit>,
    path: &'p str,
    makes_file: bool,
    is_inside: bool,
    old: Vec<&'p str>,
    new: Vec<&'p str>,
}

impl<'p> PatchReader<'p> {
    /// Ends a hunk, so that another may begin.
    fn end_hunk(&mut self) {
        let (old, new) = (std::mem::take(&mut self.old), std::mem::take(&mut self.new));
        if !(old.is_empty() && new.is_empty() || self.path.is_empty() || self.path == "/dev/null") {
            // The end of the last line goes with it only where nothing comes in its place.
            let end = if new.is_empty() { "\n" } else { "" };
            let old = Some(old.join("\n") + end).filter(|_| !self.makes_file);
            self.edits.push(TextEdit { path: self.path.to_owned(), old, new: new.join("\n"), everywhere: false });
        }
    }

    /// Reads a line inside a hunk.
    fn read_line(&mut self, line: &'p str) {
        match (line.get(..1), line.get(1..)) {
            (None, _) if line.is_empty() => {
                self.old.push("");
                self.new.push("");
            }
            (Some(" "), Some(text)) => {
                self.old.push(text);
                self.new.push(text);
            }
            (Some("-"), Some(text)) => self.old.push(text),
            (Some("+"), Some(text)) => self.new.push(text),
            (Some("\\"), _) => {}
            _ => {
                self.end_hunk();
                self.is_inside = false;
            }
        }
    }
}

/// Returns the edits of a patch: in Codex' form, as `diff -u` writes them, or as texts to search and to replace. `path` is
/// that of the file where the patch names none.
fn edits_of_patch(patch: &str, path: &str) -> Vec<TextEdit> {
    let mut reader = PatchReader { path, ..PatchReader::default() };
    let is_marked =
        ["*** Begin Patch", "*** Update ", "*** Add ", "*** Delete "].iter().any(|mark| patch.contains(mark));
    let mut lines = patch.lines().peekable();
    let mut side = None;
    while let Some(line) = lines.next() {
        let opens = |mark: &str| line.starts_with(mark);
        match side {
            None if opens("<<<<<<< SEARCH") || opens("------- SEARCH") => side = Some(false),
            Some(_) if opens(">>>>>>> REPLACE") || opens("+++++++ REPLACE") => {
                reader.end_hunk();
                side = None;
            }
            Some(false) if opens("=======") => side = Some(true),
            Some(false) if opens(":start_line:") || line == "-------" => {}
            Some(false) => reader.old.push(line),
            Some(true) => reader.new.push(line),
            None => {
                let is_header =
                    !is_marked && opens("--- ") && lines.peek().is_some_and(|next| next.starts_with("+++ "));
                let named = ["*** Update File: ", "*** Add File: ", "*** Move to: ", "+++ "];
                let named = named.iter().filter(|mark| opens(mark) && is_marked == mark.starts_with('*'));
                let named = named.map(|mark| line[mark.len()..].split('\t').next().unwrap_or("").trim()).next();
                if is_header || named.is_some() || opens("@@") || opens("*** ") || opens("diff --git ") {
                    reader.end_hunk();
                    reader.is_inside = named.is_some() && is_marked || opens("@@");
                    reader.path = named.map_or(reader.path, |path| path.strip_prefix("b/").unwrap_or(path));
                    reader.makes_file = if opens("@@") {
                        reader.makes_file
                    } else {
                        opens("*** Add File: ") || opens("--- /dev/null") || named.is_some() && reader.makes_file
                    };
                } else if reader.is_inside {
                    reader.read_line(line);
                }
            }
        }
    }
    reader.end_hunk();
    reader.edits
}
