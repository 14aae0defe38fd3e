//! The texts of the edits that a call makes: pairs of an old and a new text, the hunks of patches, whole files. Whether they
//! were made, its result says.

use std::collections::HashMap;
use std::slice;

use serde_json::Value;

use crate::transcript::tools::shell::{DEEPEST_SCRIPT, commands};
use crate::transcript::tools::{Access, ToolUse, folder_argument, normalized, patch_in, words_of_name};

/// An edit as a call gives it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TextEdit {
    pub(crate) path: String,
    /// What it replaces: nothing where the new text is added somewhere, `None` where this is the whole file.
    pub(crate) old: Option<String>,
    pub(crate) new: String,
    /// Whether it replaces the old text in all places.
    pub(crate) everywhere: bool,
}

/// The edits of a call, in order.
pub(crate) fn edits_of_call(name: &str, given: &Value, arguments: &str, tool: &ToolUse) -> Vec<TextEdit> {
    /// Names of the list of edits of one file, or of several.
    const LISTS: [&str; 4] = ["edits", "replacements", "changes", "ReplacementChunks"];
    if let Some(patch) = patch_in(name, given, arguments) {
        return edits_of_patch(&patch, "");
    }
    if let Some(command) = tool.command.as_deref() {
        return edits_of_command(command, folder_argument(given).as_deref(), DEEPEST_SCRIPT);
    }
    let Some(file) = tool.files.iter().find(|file| file.access == Access::Changed) else { return Vec::new() };
    let verb = given.get("command").and_then(Value::as_str).unwrap_or(name);
    let adds = words_of_name(verb).iter().any(|word| ["insert", "append", "replace", "lines"].contains(&word.as_str()))
        || given.as_object().is_some_and(|given| given.keys().any(|key| normalized(key).contains("line")));
    let listed = LISTS.iter().find_map(|list| given.get(list)?.as_array());
    let parts = listed.map_or(slice::from_ref(given), Vec::as_slice);
    parts.iter().flat_map(|part| edits_of_arguments(part, &file.full_path(), adds)).collect()
}

/// The edits that an editor can take back, by file.
#[derive(Debug, Default)]
pub(crate) struct Undoable(HashMap<String, Vec<TextEdit>>);

impl Undoable {
    /// Notes an edit. Of a file that is written anew, nothing before that can come back.
    pub(crate) fn note(&mut self, edit: &TextEdit) {
        const MOST: usize = 16;
        const LONGEST: usize = 1 << 12;
        let edits = self.0.entry(edit.path.clone()).or_default();
        if edit.old.as_ref().is_none_or(|old| old.len() + edit.new.len() > LONGEST) || edits.len() == MOST {
            edits.clear();
        }
        edits.extend(edit.old.as_ref().map(|_| edit.clone()));
    }

    /// The edit that takes back the last edit of a file, where that is known.
    pub(crate) fn undo(&mut self, path: &str) -> Option<TextEdit> {
        let TextEdit { path, old, new, everywhere } = self.0.get_mut(path)?.pop()?;
        Some(TextEdit { path, old: Some(new), new: old?, everywhere }).filter(|edit| edit.old.as_deref() != Some(""))
    }
}

/// The edits in the arguments of an editor, or in one of their list.
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

/// The edits of a command: the files that it writes as here-documents, `cat > fix.py << 'EOF'`, and its patches.
fn edits_of_command(text: &str, folder: Option<&str>, depth: usize) -> Vec<TextEdit> {
    let mut found = Vec::new();
    for command in commands(text, folder) {
        let in_folder = |edit: TextEdit| TextEdit { path: command.full_path(&edit.path), ..edit };
        if let Some(script) = command.script() {
            let inside = depth.checked_sub(1);
            found.extend(
                inside.into_iter().flat_map(|depth| edits_of_command(script, command.folder.as_deref(), depth)),
            );
        } else if command.name() == "patch" || command.name() == "git" && command.has("apply") {
            found.extend(edits_of_patch(command.here.unwrap_or(text), "").into_iter().map(in_folder));
        } else if let Some((output, here)) =
            command.outputs.last().zip(command.here).filter(|_| command.name() == "cat")
        {
            let old = output.is_added.then(String::new);
            let path = output.path.clone().into_owned();
            found.push(in_folder(TextEdit { path, old, new: here.to_owned(), everywhere: false }));
        }
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

/// The edits of a patch: in Codex' form, as `diff -u` writes them, or as texts to search and to replace. `path` is
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
