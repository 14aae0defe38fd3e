//! Determines which files a shell command reads or changes, for common programs.

use std::borrow::Cow;

use crate::tools::actions::{Change, EVERYTHING, FileAction};
use crate::tools::shell::{DEEPEST_SCRIPT, SimpleCommand, commands, is_file_name, pipelines};
use crate::tools::{Access, Extent, FileUse, ToolUse};

/// What a command does that runs in `folder`.
pub(super) fn use_of_command(text: &str, folder: Option<&str>) -> ToolUse {
    use_within(text, folder, DEEPEST_SCRIPT)
}

fn use_within(text: &str, folder: Option<&str>, depth: usize) -> ToolUse {
    let mut found = ToolUse { command: Some(text.to_owned()), only_reads: true, ..ToolUse::default() };
    let commands = commands(text, folder);
    for pipeline in pipelines(&commands) {
        let first = &pipeline[0];
        if first.changes_folder() {
            found.changes_directory = true;
            // In an unknown folder, relative paths cannot be compared.
            found.only_reads &= first.folder.is_some();
        } else if !only_prints(pipeline) {
            found.only_reads &= add_shown_files(pipeline, &mut found.files);
        }
        for command in pipeline {
            let is_shell = matches!(command.name(), "bash" | "sh" | "zsh");
            match command.script() {
                Some(_) if is_shell && depth == 0 => found.only_reads = false,
                Some(script) if is_shell => found.add_script(use_within(script, command.folder.as_deref(), depth - 1)),
                _ => found.add_changes(command, text),
            }
        }
    }
    found.only_reads &= found.files.iter().any(|file| file.access == Access::Read);
    found
}

impl ToolUse {
    fn add_script(&mut self, inside: ToolUse) {
        self.only_reads &= inside.only_reads;
        self.files.extend(inside.files);
        self.changes.extend(inside.changes);
    }

    fn add_changes(&mut self, command: &SimpleCommand<'_>, text: &str) {
        for change in changes(command, text) {
            self.only_reads = false;
            self.files.extend(change.paths().map(|path| file_use(command, path, Access::Changed, Extent::Whole)));
            self.changes.push(change.within(command.folder.as_deref()));
        }
    }
}

fn file_use(command: &SimpleCommand<'_>, path: &str, access: Access, extent: Extent) -> FileUse {
    FileUse { path: path.to_owned(), directory: command.folder.as_deref().map(str::to_owned), access, extent }
}

/// Whether a pipeline prints only its arguments, or sets variables.
fn only_prints(pipeline: &[SimpleCommand<'_>]) -> bool {
    pipeline.len() == 1 && matches!(pipeline[0].name(), "echo" | "printf" | "export" | "set" | "true" | ":")
        || pipeline.iter().all(|command| command.words.is_empty() && command.outputs.is_empty())
}

/// Adds the files that a pipeline shows. Returns whether it does nothing else.
fn add_shown_files(pipeline: &[SimpleCommand<'_>], files: &mut Vec<FileUse>) -> bool {
    let Some((first, filters)) = pipeline.split_first() else { return true };
    let Some((paths, extent)) = shown_files(first) else { return false };
    let extent = match filters {
        [] => extent,
        [filter] if extent == Extent::Whole && shown_files(filter).is_some() => shown_lines(filter),
        filters => {
            let filters: Vec<String> = filters.iter().map(|filter| filter.words.join(" ")).collect();
            Extent::Excerpt(format!("{extent:?} {}", filters.join(" | ")))
        }
    };
    let mut is_known = !paths.is_empty();
    for path in paths {
        if is_file_name(path) {
            files.push(file_use(first, path, Access::Read, extent.clone()));
        } else {
            is_known = false;
        }
    }
    is_known
}

/// The files that a program shows, and how much of them; `None` if it does something else.
fn shown_files<'s>(command: &'s SimpleCommand<'_>) -> Option<(Vec<&'s str>, Extent)> {
    let extent = shown_lines(command);
    let others = match command.name() {
        "cat" | "less" | "more" | "nl" | "bat" => return Some((command.operands().collect(), Extent::Whole)),
        "head" | "tail" => usize::from(command.has("-n") || command.has("-c")),
        "sed" if command.has("-n") && matches!(extent, Extent::Lines(..)) => 1,
        _ => return None,
    };
    Some((command.operands().skip(others).collect(), extent))
}

/// How much of its input a program shows.
fn shown_lines(command: &SimpleCommand<'_>) -> Extent {
    let arguments = command.words.get(1..).unwrap_or_default();
    let lines = match command.name() {
        "head" => first_lines(arguments),
        "sed" => command.operands().next().and_then(printed_lines),
        _ => None,
    };
    if let Some(lines) = lines {
        return lines;
    }
    let mut counts = Vec::new();
    for word in arguments {
        if word.starts_with('-') || word.parse::<u64>().is_ok() {
            counts.push(&**word);
        }
    }
    Extent::Excerpt(counts.join(" "))
}

/// The lines that `head` prints with these arguments: 10 unless they have a number.
fn first_lines(arguments: &[Cow<'_, str>]) -> Option<Extent> {
    for argument in arguments {
        if let Ok(count) = argument.trim_start_matches("-n").trim_start_matches('-').parse() {
            return Some(Extent::Lines(1, Some(count)));
        }
    }
    if arguments.len() < 2 { Some(Extent::Lines(1, Some(10))) } else { None }
}

/// The lines that a script of `sed -n` prints.
fn printed_lines(script: &str) -> Option<Extent> {
    let range = script.strip_suffix('p')?;
    let (first, last) = range.split_once(',').unwrap_or((range, range));
    let first = first.trim().parse().ok()?;
    match last.trim().parse() {
        Ok(last) if last >= first => Some(Extent::Lines(first, Some(last))),
        _ if last == "$" => Some(Extent::Lines(first, None)),
        _ => None,
    }
}

/// Programs that do the same with each of their files: the flags that have a value, and the one with which they do not.
const ON_EACH: [(&str, FileAction, &[&str], &str); 8] = {
    use FileAction::{Changed, Created, Deleted, Restored};
    [
        ("rm", Deleted, &[], "--help"),
        ("unlink", Deleted, &[], "--help"),
        ("git rm", Deleted, &[], "--cached"),
        ("touch", Changed, &["-d", "--date", "-r", "--reference", "-t"], "--help"),
        ("tee", Changed, &[], "--help"),
        ("truncate", Changed, &["-s", "--size", "-r"], "--help"),
        ("create", Created, &[], "--help"),
        ("git restore", Restored, &["-s", "--source"], "--staged"),
    ]
};

/// What a program does with files. `text` holds the patch that it may read.
fn changes(command: &SimpleCommand<'_>, text: &str) -> Vec<Change> {
    use FileAction::{Changed, Restored};
    const SCRIPTS: [&str; 4] = ["-e", "-f", "-pie", "-pe"];
    // With these, a patch is not applied as it stands.
    const UNAPPLIED: [&str; 6] = ["--check", "--dry-run", "--stat", "--numstat", "-R", "--reverse"];
    let (name, operands) = program(command, &[]);
    let mut found = Vec::new();
    for output in &command.outputs {
        found.push(Change::new(Changed, &output.path));
    }
    if name.starts_with("git ") && has_any(command, &["-n", "--dry-run"]) {
        return found;
    }
    if let Some((_, action, flags, except)) = ON_EACH.iter().find(|row| row.0 == name) {
        let paths = if command.has(except) { Vec::new() } else { program(command, flags).1 };
        found.extend(each(*action, &paths));
    }
    match name.as_str() {
        "sed" | "perl" | "ruby" if command.words.iter().any(|word| is_in_place(word)) => {
            // On macOS the suffix of the backup is a word of its own, often an empty one.
            let (_, mut paths) = program(command, &SCRIPTS);
            paths.retain(|path| !path.is_empty());
            let has_script = has_any(command, &SCRIPTS);
            found.extend(each(Changed, paths.get(usize::from(!has_script)..).unwrap_or_default()));
        }
        "git reset" if command.has("--hard") => found.push(Change::new(Restored, EVERYTHING)),
        "git stash" if operands.iter().all(|word| ["push", "save"].contains(word)) => {
            found.push(Change::new(Restored, EVERYTHING));
        }
        "git checkout" => found.extend(checked_out(command, &operands)),
        "patch" | "git apply" if !has_any(command, &UNAPPLIED) => {
            found.extend(each(Changed, &patched_files(command.here.unwrap_or(text))));
            let (_, operands) = program(command, &["-i", "--input", "-d", "--directory", "-p"]);
            if let [path, ..] = operands[..]
                && name == "patch"
                && !is_patch_file(path)
            {
                found.push(Change::new(Changed, path));
            }
        }
        "cp" | "ln" | "mv" | "git mv" | "install" if !command.has("-d") => found.extend(copies(command)),
        _ => {}
    }
    found.retain(has_known_paths);
    found
}

fn has_any(command: &SimpleCommand<'_>, flags: &[&str]) -> bool {
    flags.iter().any(|flag| command.has(flag))
}

fn is_patch_file(path: &str) -> bool {
    path.ends_with(".patch") || path.ends_with(".diff")
}

/// Whether the paths of a change are names of files, and hold nothing that only the shell knows.
fn has_known_paths(change: &Change) -> bool {
    let is_reset = change.action == FileAction::Restored && change.path == EVERYTHING;
    (is_reset || is_file_name(&change.path)) && change.to.as_deref().is_none_or(is_file_name)
}

fn each(action: FileAction, paths: &[&str]) -> Vec<Change> {
    paths.iter().map(|path| Change::new(action, path)).collect()
}

/// What `git checkout` restores: files behind a `--`, and else what can also be branches.
fn checked_out(command: &SimpleCommand<'_>, operands: &[&str]) -> Vec<Change> {
    const OF_BRANCHES: [&str; 6] = ["-b", "-B", "--orphan", "--detach", "-t", "--track"];
    if let Some(at) = command.words.iter().position(|word| word == "--") {
        let paths: Vec<&str> = command.words[at + 1..].iter().map(|word| &**word).collect();
        return each(FileAction::Restored, &paths);
    }
    if has_any(command, &OF_BRANCHES) { Vec::new() } else { each(FileAction::Restored, operands) }
}

/// The program of a command, of git with its verb, and its arguments that are neither flags nor the values of these
/// flags.
fn program<'s>(command: &'s SimpleCommand<'_>, flags: &[&str]) -> (String, Vec<&'s str>) {
    let mut operands = Vec::new();
    let mut is_value = false;
    for word in command.words.iter().skip(1) {
        if !std::mem::take(&mut is_value) && !word.starts_with('-') {
            operands.push(&**word);
        }
        is_value = flags.contains(&&**word);
    }
    match command.name() {
        "git" if !operands.is_empty() => (format!("git {}", operands.remove(0)), operands),
        name => (name.to_owned(), operands),
    }
}

/// Whether a flag makes a program change its files in place.
fn is_in_place(word: &str) -> bool {
    if word.starts_with("--in-place") {
        return true;
    }
    let Some(flags) = word.strip_prefix('-') else { return false };
    let flags = flags.split(['.', '=']).next().unwrap_or_default();
    !flags.starts_with(['-', 'I', 'M']) && flags.contains('i')
}

/// What a program copies or moves. Into a folder, a file keeps its name.
fn copies(command: &SimpleCommand<'_>) -> Vec<Change> {
    let (name, mut from) = program(command, &["-m", "-o", "-g", "-S", "--suffix"]);
    let folder = target_folder(command);
    let Some(to) = folder.or_else(|| from.pop()) else { return Vec::new() };
    if folder.is_some() {
        from.retain(|path| *path != to);
    }
    let is_folder = folder.is_some() || to.ends_with(['/', '.']) || from.len() > 1;
    let mut found = Vec::new();
    for from in from {
        let own_name = from.trim_end_matches('/').rsplit('/').next().unwrap_or(from);
        let target = if is_folder { format!("{}/{own_name}", to.trim_end_matches('/')) } else { to.to_owned() };
        found.push(if name.ends_with("mv") {
            Change { to: Some(target), ..Change::new(FileAction::Renamed, from) }
        } else {
            Change::new(FileAction::Created, &target)
        });
    }
    found
}

/// The folder that a flag of a program names as the target.
fn target_folder<'s>(command: &'s SimpleCommand<'_>) -> Option<&'s str> {
    for word in &command.words {
        if let Some(folder) = word.strip_prefix("--target-directory=") {
            return Some(folder);
        }
    }
    let flag = command.words.iter().position(|word| is_target_flag(word))?;
    let folder = command.words.get(flag + 1)?;
    Some(folder)
}

/// Whether the word behind a flag is the folder into which a program copies: `-t`, also behind other letters.
fn is_target_flag(word: &str) -> bool {
    word == "--target-directory" || word.ends_with('t') && word.starts_with('-') && !word.starts_with("--")
}

/// The files of a patch in a command, as `diff` writes them.
fn patched_files(patch: &str) -> Vec<&str> {
    let mut files = Vec::new();
    for line in patch.lines() {
        let Some(named) = line.strip_prefix("+++ ") else { continue };
        let path = named.split('\t').next().unwrap_or(named).trim();
        files.push(path.strip_prefix("b/").unwrap_or(path));
    }
    files
}
