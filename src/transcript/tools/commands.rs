//! Determines which files a shell command reads or changes, for common programs.

use crate::transcript::tools::shell::steps;
use crate::transcript::tools::{Access, Extent, FileUse, is_absolute};

/// The longest path that systems take, in bytes. Each file of a command has that of its directory.
const LONGEST_DIRECTORY: usize = 4_096;

/// The effect of a command on files.
#[derive(Debug, Default)]
pub(super) struct CommandFiles {
    pub(super) files: Vec<FileUse>,
    pub(super) only_reads: bool,
    pub(super) changes_directory: bool,
}

/// Returns the files of a command that runs in `directory`.
pub(super) fn command_files(command: &str, directory: Option<String>) -> CommandFiles {
    let mut found = CommandFiles { only_reads: true, ..CommandFiles::default() };
    let mut directory = directory;
    for step in steps(command) {
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
            let targets = stage.changed_files();
            found.only_reads &= targets.is_empty();
            found.files.extend(targets.into_iter().map(|path| FileUse {
                path,
                directory: directory.clone(),
                access: Access::Changed,
                extent: Extent::Whole,
            }));
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

    /// Returns the files that the program changes.
    fn changed_files(&self) -> Vec<String> {
        let arguments: Vec<String> = match self.name() {
            "sed" | "perl" if self.words.iter().any(|word| word.starts_with("-i") || word == "--in-place") => {
                // On macOS the suffix of the backup is a word of its own, often an empty one.
                self.operands().filter(|word| !word.is_empty()).skip(1).map(str::to_owned).collect()
            }
            "rm" | "touch" | "tee" | "mv" | "truncate" | "unlink" => self.owned_operands(),
            "cp" | "ln" | "install" => self.operands().next_back().map(str::to_owned).into_iter().collect(),
            _ => Vec::new(),
        };
        self.outputs.iter().cloned().chain(arguments).filter(|path| is_file_name(path)).collect()
    }
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
