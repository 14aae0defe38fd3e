//! Determines which files a shell command reads or changes, for common programs.

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
            match command.script().filter(|_| matches!(command.name(), "bash" | "sh" | "zsh")) {
                Some(_) if depth == 0 => found.only_reads = false,
                Some(script) => found.add_script(use_within(script, command.folder.as_deref(), depth - 1)),
                None => found.add_changes(command, text),
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
            let paths = [Some(&change.path), change.to.as_ref()].into_iter().flatten();
            self.files.extend(paths.map(|path| file_use(command, path, Access::Changed, Extent::Whole)));
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
    let is_known = !paths.is_empty() && paths.iter().all(|path| is_file_name(path));
    let extent = match filters {
        [] => extent,
        [filter] if extent == Extent::Whole && shown_files(filter).is_some() => shown_lines(filter),
        filters => {
            let filters: Vec<String> = filters.iter().map(|filter| filter.words.join(" ")).collect();
            Extent::Excerpt(format!("{extent:?} {}", filters.join(" | ")))
        }
    };
    let paths = paths.into_iter().filter(|path| is_file_name(path));
    files.extend(paths.map(|path| file_use(first, path, Access::Read, extent.clone())));
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
    let arguments = || command.words.iter().skip(1).map(|word| &**word);
    let lines = match command.name() {
        "head" => {
            let count = |word: &str| word.trim_start_matches("-n").trim_start_matches('-').parse().ok();
            let count = arguments().find_map(count).or_else(|| (arguments().count() < 2).then_some(10));
            count.map(|last| (1, Some(last)))
        }
        "sed" => command.operands().next().and_then(printed_lines),
        _ => None,
    };
    let counts = || arguments().filter(|word| word.starts_with('-') || word.parse::<u64>().is_ok());
    lines.map_or_else(
        || Extent::Excerpt(counts().collect::<Vec<_>>().join(" ")),
        |(first, last)| Extent::Lines(first, last),
    )
}

/// The lines that a script of `sed -n` prints.
fn printed_lines(script: &str) -> Option<(u64, Option<u64>)> {
    let range = script.strip_suffix('p')?;
    let (first, last) = range.split_once(',').unwrap_or((range, range));
    let first = first.trim().parse().ok()?;
    match last.trim().parse() {
        Ok(last) if last >= first => Some((first, Some(last))),
        _ => (last == "$").then_some((first, None)),
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
    let has = |flag: &str| command.has(flag);
    let mut found: Vec<Change> = command.outputs.iter().map(|output| Change::new(Changed, &output.path)).collect();
    if name.starts_with("git ") && (has("-n") || has("--dry-run")) {
        return found;
    }
    if let Some((_, action, flags, except)) = ON_EACH.iter().find(|row| row.0 == name) {
        let paths = if has(except) { Vec::new() } else { program(command, flags).1 };
        found.extend(each(*action, &paths));
    }
    match name.as_str() {
        "sed" | "perl" | "ruby" if command.words.iter().any(|word| is_in_place(word)) => {
            // On macOS the suffix of the backup is a word of its own, often an empty one.
            let (_, mut paths) = program(command, &SCRIPTS);
            paths.retain(|path| !path.is_empty());
            let has_script = SCRIPTS.iter().any(|flag| has(flag));
            found.extend(each(Changed, paths.get(usize::from(!has_script)..).unwrap_or_default()));
        }
        "git reset" if has("--hard") => found.extend(each(Restored, &[EVERYTHING])),
        "git stash" if operands.iter().all(|word| ["push", "save"].contains(word)) => {
            found.extend(each(Restored, &[EVERYTHING]));
        }
        "git checkout" => found.extend(checked_out(command, &operands)),
        "patch" | "git apply" if !UNAPPLIED.iter().any(|flag| has(flag)) => {
            found.extend(each(Changed, &patched_files(command.here.unwrap_or(text))));
            let is_patch = |path: &&str| [".patch", ".diff"].iter().any(|end| path.ends_with(end));
            let (_, operands) = program(command, &["-i", "--input", "-d", "--directory", "-p"]);
            let named = operands.first().filter(|path| name == "patch" && !is_patch(path));
            found.extend(named.map(|path| Change::new(Changed, path)));
        }
        "cp" | "ln" | "mv" | "git mv" | "install" if !has("-d") => found.extend(copies(command)),
        _ => {}
    }
    let is_known =
        |change: &Change| change.action == Restored && change.path == EVERYTHING || is_file_name(&change.path);
    found.retain(|change| is_known(change) && change.to.as_deref().is_none_or(is_file_name));
    found
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
    let is_of_branches = OF_BRANCHES.iter().any(|flag| command.has(flag));
    each(FileAction::Restored, if is_of_branches { &[] } else { operands })
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
    let flags = word.strip_prefix('-').and_then(|flags| flags.split(['.', '=']).next()).unwrap_or("");
    word.starts_with("--in-place") || !flags.starts_with(['-', 'I', 'M']) && flags.contains('i')
}

/// What a program copies or moves. Into a folder, a file keeps its name.
fn copies(command: &SimpleCommand<'_>) -> Vec<Change> {
    const LONG: &str = "--target-directory";
    let is_target =
        |word: &str| word == LONG || word.ends_with('t') && word.starts_with('-') && !word.starts_with("--");
    let words = || command.words.iter().map(|word| &**word);
    let behind = || words().position(is_target).and_then(|at| command.words.get(at + 1)).map(|word| &**word);
    let folder = words().find_map(|word| word.strip_prefix(LONG)?.strip_prefix('=')).or_else(behind);
    let (name, mut from) = program(command, &["-m", "-o", "-g", "-S", "--suffix"]);
    let to = match folder {
        Some(folder) => {
            from.retain(|path| *path != folder);
            Some(folder)
        }
        None => from.pop(),
    };
    let Some(to) = to else { return Vec::new() };
    let is_folder = folder.is_some() || to.ends_with(['/', '.']) || from.len() > 1;
    let change = |from: &&str| {
        let own_name = from.trim_end_matches('/').rsplit('/').next().unwrap_or(from);
        let target = if is_folder { format!("{}/{own_name}", to.trim_end_matches('/')) } else { to.to_owned() };
        if name.ends_with("mv") {
            Change { to: Some(target), ..Change::new(FileAction::Renamed, from) }
        } else {
            Change::new(FileAction::Created, &target)
        }
    };
    from.iter().map(change).collect()
}

/// The files of a patch in a command, as `diff` writes them.
fn patched_files(patch: &str) -> Vec<&str> {
    let named = patch.lines().filter_map(|line| line.strip_prefix("+++ ")?.split('\t').next());
    named.map(str::trim).map(|path| path.strip_prefix("b/").unwrap_or(path)).collect()
}
