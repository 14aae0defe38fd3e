//! Determines which files a shell command reads or changes, for common programs.

use crate::transcript::tools::actions::{EVERYTHING, FileAction, FileChange, RENAMED_TO};
use crate::transcript::tools::shell::steps_with_status;
use crate::transcript::tools::{Access, Extent, FileUse, is_absolute};

/// The longest path that systems take, in bytes. Each file of a command has that of its directory.
const LONGEST_DIRECTORY: usize = 4_096;

/// The effect of a command on files.
#[derive(Debug, Default)]
pub(super) struct CommandFiles {
    pub(super) files: Vec<FileUse>,
    pub(super) changes: Vec<FileChange>,
    pub(super) only_reads: bool,
    pub(super) changes_directory: bool,
}

/// Returns the files of a command that runs in `directory`.
pub(super) fn command_files(command: &str, directory: Option<String>) -> CommandFiles {
    let mut found = CommandFiles { only_reads: true, ..CommandFiles::default() };
    let mut directory = directory;
    for (step, is_sure) in steps_with_status(command) {
        let stages = stages_of(step);
        let Some(words) = stages.first() else { continue };
        match words.name() {
            "cd" | "pushd" | "popd" => {
                found.changes_directory = true;
                let to = words.operands().next().filter(|to| is_file_name(to));
                let to = to.map(|to| match &directory {
                    Some(from) if !is_absolute(to) => format!("{from}/{to}"),
                    _ => to.to_owned(),
                });
                directory = to.filter(|to| to.len() <= LONGEST_DIRECTORY);
                // After an unknown directory, relative paths cannot be compared.
                found.only_reads &= directory.is_some();
            }
            // They print only their arguments.
            "echo" | "printf" | "export" | "set" | "true" | ":" if stages.len() == 1 => {}
            _ => found.only_reads &= add_shown_files(&stages, directory.as_deref(), &mut found.files),
        }
        for stage in &stages {
            if let Some(script) = stage.script() {
                let inside = command_files(script, directory.clone());
                found.only_reads &= inside.only_reads;
                found.files.extend(inside.files);
                let is_sure_inside = |change: FileChange| FileChange { is_sure: change.is_sure && is_sure, ..change };
                found.changes.extend(inside.changes.into_iter().map(is_sure_inside));
                continue;
            }
            let changes = stage.changes(command);
            found.only_reads &= changes.is_empty();
            let in_directory = |path: String| FileUse {
                path,
                directory: directory.clone(),
                access: Access::Changed,
                extent: Extent::Whole,
            };
            for (action, path, to) in changes {
                let files = [Some(path), to].map(|path| path.map(&in_directory));
                let paths: Vec<String> = files.iter().flatten().map(FileUse::full_path).collect();
                let program = stage.name().to_owned();
                let path = Some(paths.join(RENAMED_TO)).filter(|path| !path.is_empty());
                let path = path.unwrap_or_else(|| EVERYTHING.to_owned());
                found.changes.push(FileChange { action, path, program, is_sure });
                found.files.extend(files.into_iter().flatten());
            }
        }
    }
    found.only_reads &= found.files.iter().any(|file| file.access == Access::Read);
    found
}

/// Adds the files that a pipeline shows. Returns whether it does nothing else.
fn add_shown_files(stages: &[Program], directory: Option<&str>, files: &mut Vec<FileUse>) -> bool {
    let Some((first, filters)) = stages.split_first() else { return true };
    let Some((paths, extent)) = first.shown_files() else { return false };
    let is_known = !paths.is_empty() && paths.iter().all(|path| is_file_name(path));
    let extent = match filters {
        [] => extent,
        [filter] if extent == Extent::Whole && filter.shown_files().is_some() => filter.shown_lines(),
        filters => {
            let filters: Vec<String> = filters.iter().map(|words| words.words.join(" ")).collect();
            Extent::Excerpt(format!("{extent:?} {}", filters.join(" | ")))
        }
    };
    let read = |path: &String| FileUse {
        path: path.clone(),
        directory: directory.map(str::to_owned),
        access: Access::Read,
        extent: extent.clone(),
    };
    files.extend(paths.iter().filter(|path| is_file_name(path)).map(read));
    is_known
}

/// Whether a word is the name of one file, not of a device, as far as is known without running anything.
fn is_file_name(word: &str) -> bool {
    let is_plain = !word.contains(['*', '?', '$', '`', '{', '(', '<', '>', '\n']);
    is_plain && !matches!(word, "" | "-" | "." | "..") && !word.starts_with(['-', '&']) && !word.starts_with("/dev/")
}

/// A program of a pipeline with its words, and the files that its output is written to.
#[derive(Debug, Default)]
struct Program {
    words: Vec<String>,
    outputs: Vec<String>,
}

impl Program {
    fn name(&self) -> &str {
        self.words.first().map_or("", |word| word.rsplit('/').next().unwrap_or(word))
    }

    /// Returns the arguments that are not flags.
    fn operands(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.words.iter().skip(1).map(String::as_str).filter(|word| !word.starts_with('-'))
    }

    fn owned_operands(&self) -> Vec<String> {
        self.operands().map(str::to_owned).collect()
    }

    /// Returns the files that the program shows, and how much of them; `None` if it does something else.
    fn shown_files(&self) -> Option<(Vec<String>, Extent)> {
        let extent = self.shown_lines();
        match self.name() {
            "cat" | "less" | "more" | "nl" | "bat" => Some((self.owned_operands(), Extent::Whole)),
            "head" | "tail" => {
                let counts = self.words.iter().any(|word| matches!(word.as_str(), "-n" | "-c"));
                let paths = self.operands().skip(usize::from(counts)).map(str::to_owned).collect();
                Some((paths, extent))
            }
            "sed" if self.words.iter().any(|word| word == "-n") && matches!(extent, Extent::Lines(..)) => {
                Some((self.operands().skip(1).map(str::to_owned).collect(), extent))
            }
            _ => None,
        }
    }

    /// Returns how much of its input the program shows.
    fn shown_lines(&self) -> Extent {
        let excerpt = || {
            Extent::Excerpt(
                self.words
                    .iter()
                    .filter(|word| word.starts_with('-') || word.parse::<u64>().is_ok())
                    .cloned()
                    .collect::<Vec<_>>()
                    .join(" "),
            )
        };
        let lines = match self.name() {
            "head" => self
                .words
                .iter()
                .skip(1)
                .find_map(|word| word.trim_start_matches("-n").trim_start_matches('-').parse().ok())
                .map(|last| (1, last)),
            "sed" => self.operands().next().and_then(|script| {
                let (first, last) =
                    script.strip_suffix('p').map(|range| range.split_once(',').unwrap_or((range, range)))?;
                let first = first.trim().parse().ok()?;
                Some((
                    first,
                    last.trim().parse().ok().filter(|last| *last >= first).or((last == "$").then_some(u64::MAX))?,
                ))
            }),
            _ => None,
        };
        match lines {
            Some((first, u64::MAX)) => Extent::Lines(first, None),
            Some((first, last)) => Extent::Lines(first, Some(last)),
            None if self.name() == "head" && self.words.len() <= 2 => Extent::Lines(1, Some(10)),
            None => excerpt(),
        }
    }

    /// Returns the script that a shell is to run: `bash -c 'sed -i …'`.
    fn script(&self) -> Option<&str> {
        let is_shell = matches!(self.name(), "bash" | "sh" | "zsh");
        let at =
            self.words.iter().position(|word| word.starts_with('-') && word.ends_with('c')).filter(|_| is_shell)?;
        self.words.get(at + 1).map(String::as_str)
    }

    /// Returns the arguments that are neither flags nor the values of some.
    fn operands_without(&self, flags: &[&str]) -> Vec<String> {
        let mut found = Vec::new();
        let mut is_value = false;
        for word in self.words.iter().skip(1) {
            if !std::mem::take(&mut is_value) && !word.starts_with('-') {
                found.push(word.clone());
            }
            is_value = flags.contains(&word.as_str());
        }
        found
    }

    /// Returns what the program does with files, with the target of what is renamed. `command` holds the patch that it may
    /// read.
    fn changes(&self, command: &str) -> Vec<(FileAction, String, Option<String>)> {
        use FileAction::{Changed, Created, Deleted, Renamed, Restored};
        const SCRIPTS: [&str; 4] = ["-e", "-f", "-pie", "-pe"];
        // With these, a patch is not applied as it stands.
        const UNAPPLIED: [&str; 6] = ["--check", "--dry-run", "--stat", "--numstat", "-R", "--reverse"];
        let is_in_place = |word: &String| {
            let flags = word.strip_prefix('-').and_then(|flags| flags.split(['.', '=']).next()).unwrap_or("");
            word.starts_with("--in-place") || !flags.starts_with(['-', 'I', 'M']) && flags.contains('i')
        };
        let (mut name, mut operands) = (self.name().to_owned(), self.owned_operands());
        if name == "git" && !operands.is_empty() {
            name = format!("git {}", operands.remove(0));
        }
        let has = |flag: &str| self.words.iter().any(|word| word == flag);
        let all = |action, paths: Vec<String>| paths.into_iter().map(|path| (action, path, None)).collect::<Vec<_>>();
        let mut found = all(Changed, self.outputs.clone());
        found.extend(match name.as_str() {
            "sed" | "perl" | "ruby" if self.words.iter().any(is_in_place) => {
                let paths = self.operands_without(&SCRIPTS);
                // On macOS the suffix of the backup is a word of its own, often an empty one.
                let paths = paths.into_iter().filter(|path| !path.is_empty());
                let has_script = self.words.iter().any(|word| SCRIPTS.contains(&word.as_str()));
                all(Changed, paths.skip(usize::from(!has_script)).collect())
            }
            "rm" | "unlink" => all(Deleted, operands),
            "git rm" if !has("--cached") => all(Deleted, operands),
            "touch" | "tee" => all(Changed, operands),
            "truncate" => all(Changed, self.operands_without(&["-s", "--size", "-r"])),
            "create" => all(Created, operands),
            "git restore" if !has("--staged") => all(Restored, operands),
            "git reset" if has("--hard") => all(Restored, vec![EVERYTHING.to_owned()]),
            "git stash" if operands.iter().all(|word| word == "push" || word == "save") => {
                all(Restored, vec![EVERYTHING.to_owned()])
            }
            "git checkout" if operands.first().is_some_and(|path| path == EVERYTHING) => all(Restored, operands),
            "git checkout" => {
                let at = self.words.iter().position(|word| word == "--").unwrap_or(self.words.len());
                all(Restored, self.words.iter().skip(at + 1).cloned().collect())
            }
            "patch" | "git apply" if UNAPPLIED.iter().any(|flag| has(flag)) => Vec::new(),
            "patch" | "git apply" => {
                let paths = patched_files(command).into_iter();
                let named = operands.into_iter().take(usize::from(name == "patch"));
                let named = named.filter(|path| ![".patch", ".diff"].iter().any(|end| path.ends_with(end)));
                all(Changed, paths.chain(named).collect())
            }
            "install" => {
                let paths = self.operands_without(&["-m", "-o", "-g"]);
                all(Created, paths.last().filter(|_| paths.len() > 1).cloned().into_iter().collect())
            }
            "cp" | "ln" | "mv" | "git mv" => match operands.split_last() {
                Some((to, from)) if !from.is_empty() => {
                    let is_folder = to.ends_with(['/', '.']) || from.len() > 1;
                    let target = |from: &String| {
                        let name = from.trim_end_matches('/').rsplit('/').next().unwrap_or(from);
                        if is_folder { format!("{}/{name}", to.trim_end_matches('/')) } else { to.clone() }
                    };
                    let moved = |from: &String| {
                        if name.ends_with("mv") {
                            (Renamed, from.clone(), Some(target(from)))
                        } else {
                            (Created, target(from), None)
                        }
                    };
                    from.iter().map(moved).collect()
                }
                _ => Vec::new(),
            },
            _ => Vec::new(),
        });
        let is_all = |action: &FileAction, path: &str| *action == Restored && path == EVERYTHING;
        found.retain(|(action, path, to)| {
            (is_all(action, path) || is_file_name(path)) && to.as_ref().is_none_or(|to| is_file_name(to))
        });
        found
    }
}

/// Returns the files of a patch in a command, as `diff` writes them.
fn patched_files(command: &str) -> Vec<String> {
    let path = |line: &str| {
        let path = line.strip_prefix("+++ ")?.split('\t').next()?.trim();
        Some(path.strip_prefix("b/").unwrap_or(path).to_owned())
    };
    command.lines().filter_map(path).collect()
}

/// Returns the programs of a step's pipeline, with quotes removed.
fn stages_of(step: &str) -> Vec<Program> {
    let mut stages = vec![Program::default()];
    let mut lexer = Lexer { rest: step };
    let mut redirect: Option<RedirectTarget> = None;
    while let Some(token) = lexer.next_token() {
        let Some(stage) = stages.last_mut() else { break };
        match (token, redirect.take()) {
            (ShellToken::Pipe, _) => stages.push(Program::default()),
            (ShellToken::Redirect(target), _) => redirect = Some(target),
            (ShellToken::Word(word), Some(RedirectTarget::Output)) => stage.outputs.push(word),
            (ShellToken::Word(_), Some(RedirectTarget::Elsewhere)) => {}
            // A variable set for the program.
            (ShellToken::Word(word), None) if stage.words.is_empty() && word.contains('=') => {}
            (ShellToken::Word(word), None) if word.starts_with('#') => break,
            (ShellToken::Word(word), None) => stage.words.push(word),
        }
    }
    stages.retain(|stage| !stage.words.is_empty() || !stage.outputs.is_empty());
    stages
}

enum ShellToken {
    Word(String),
    Pipe,
    Redirect(RedirectTarget),
}

enum RedirectTarget {
    Output,
    Elsewhere,
}

struct Lexer<'s> {
    rest: &'s str,
}

impl Lexer<'_> {
    fn next_token(&mut self) -> Option<ShellToken> {
        self.rest = self.rest.trim_start();
        let first = self.rest.chars().next()?;
        if first == '|' {
            self.rest = self.rest.trim_start_matches(['|', '&']);
            return Some(ShellToken::Pipe);
        }
        // Standard output and standard error are distinguished: `2>` is for errors.
        let number = self.rest.len() - self.rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let after_number = &self.rest[number..];
        let after_number = if number == 0 { after_number.trim_start_matches('&') } else { after_number };
        if after_number.starts_with(['>', '<']) {
            let is_output = after_number.starts_with('>') && matches!(&self.rest[..number], "" | "1");
            self.rest = after_number.trim_start_matches(['>', '<', '-']);
            let is_file = !self.rest.starts_with('&');
            return Some(ShellToken::Redirect(if is_output && is_file {
                RedirectTarget::Output
            } else {
                RedirectTarget::Elsewhere
            }));
        }
        Some(ShellToken::Word(self.word()))
    }

    fn word(&mut self) -> String {
        let mut word = String::new();
        let mut quote = None;
        let mut is_escaped = false;
        let mut length = self.rest.len();
        for (at, c) in self.rest.char_indices() {
            match (quote, c) {
                _ if is_escaped => {
                    word.push(c);
                    is_escaped = false;
                }
                (None | Some('"'), '\\') => is_escaped = true,
                (Some(open), c) if open == c => quote = None,
                (Some(_), c) => word.push(c),
                (None, '\'' | '"') => quote = Some(c),
                (None, c) if c.is_whitespace() || at > 0 && matches!(c, '|' | '>' | '<') => {
                    length = at;
                    break;
                }
                (None, c) => word.push(c),
            }
        }
        self.rest = &self.rest[length..];
        word
    }
}
