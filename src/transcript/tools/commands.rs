//! Which files a shell command reads or changes, told from the words of programs that everybody has.

use crate::transcript::tools::shell::steps;
use crate::transcript::tools::{Access, Extent, FileUse, is_absolute};

/// What a command does with files.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) files: Vec<FileUse>,
    pub(super) only_reads: bool,
    pub(super) changes_directory: bool,
}

/// The files of a command that runs in a directory.
pub(super) fn files(command: &str, directory: Option<String>) -> Found {
    let mut found = Found { only_reads: true, ..Found::default() };
    let mut directory = directory;
    for step in steps(command) {
        let stages = stages_of(step);
        let Some(words) = stages.first() else { continue };
        match words.program() {
            "cd" | "pushd" | "popd" => {
                found.changes_directory = true;
                let to = words.operands().next().filter(|to| is_name(to));
                // Where a path is not known no later one is told from another.
                found.only_reads &= to.is_some();
                directory = to.map(|to| match &directory {
                    Some(from) if !is_absolute(to) => format!("{from}/{to}"),
                    _ => to.to_owned(),
                });
            }
            // They put out nothing but what they are given.
            "echo" | "printf" | "export" | "set" | "true" | ":" if stages.len() == 1 => {}
            _ => found.only_reads &= reads(&stages, directory.as_deref(), &mut found.files),
        }
        for stage in &stages {
            let targets = stage.changed();
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

/// Adds the files that the stages of a pipeline show; whether they do nothing else.
fn reads(stages: &[Words], directory: Option<&str>, files: &mut Vec<FileUse>) -> bool {
    let Some((first, filters)) = stages.split_first() else { return true };
    let Some((paths, extent)) = first.shown() else { return false };
    let is_known = !paths.is_empty() && paths.iter().all(|path| is_name(path));
    let extent = match filters {
        [] => extent,
        [filter] if extent == Extent::Whole && filter.shown().is_some() => filter.shown_lines(),
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
    files.extend(paths.iter().filter(|path| is_name(path)).map(read));
    is_known
}

/// Whether a word is the name of one file and not of a device, as far as can be told without running anything.
fn is_name(word: &str) -> bool {
    let is_plain = !word.contains(['*', '?', '$', '`', '{', '(', '<', '>', '\n']);
    is_plain && !matches!(word, "" | "-" | "." | "..") && !word.starts_with(['-', '&']) && !word.starts_with("/dev/")
}

/// One program of a pipeline with its words, and the files that its output goes to.
#[derive(Debug, Default)]
struct Words {
    words: Vec<String>,
    outputs: Vec<String>,
}

impl Words {
    fn program(&self) -> &str {
        self.words.first().map_or("", |word| word.rsplit('/').next().unwrap_or(word))
    }

    /// What is given to the program and is no flag.
    fn operands(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.words.iter().skip(1).map(String::as_str).filter(|word| !word.starts_with('-'))
    }

    fn owned(&self) -> Vec<String> {
        self.operands().map(str::to_owned).collect()
    }

    /// The files that the program shows, and how much of them; nothing where it does something else.
    fn shown(&self) -> Option<(Vec<String>, Extent)> {
        let extent = self.shown_lines();
        match self.program() {
            "cat" | "less" | "more" | "nl" | "bat" => Some((self.owned(), Extent::Whole)),
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

    /// How much the program shows of what it is given.
    fn shown_lines(&self) -> Extent {
        let described = || {
            Extent::Excerpt(
                self.words
                    .iter()
                    .filter(|word| word.starts_with('-') || word.parse::<u64>().is_ok())
                    .cloned()
                    .collect::<Vec<_>>()
                    .join(" "),
            )
        };
        let lines = match self.program() {
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
            None if self.program() == "head" && self.words.len() <= 2 => Extent::Lines(1, Some(10)),
            None => described(),
        }
    }

    /// The files that the program changes.
    fn changed(&self) -> Vec<String> {
        let by_words: Vec<String> = match self.program() {
            "sed" | "perl" if self.words.iter().any(|word| word.starts_with("-i") || word == "--in-place") => {
                // On some systems the ending of the copy is a word of its own, and mostly an empty one.
                self.operands().filter(|word| !word.is_empty()).skip(1).map(str::to_owned).collect()
            }
            "rm" | "touch" | "tee" | "mv" | "truncate" | "unlink" => self.owned(),
            "cp" | "ln" | "install" => self.operands().next_back().map(str::to_owned).into_iter().collect(),
            _ => Vec::new(),
        };
        self.outputs.iter().cloned().chain(by_words).filter(|path| is_name(path)).collect()
    }
}

/// The programs of a step's pipeline: its words at `|`, quotes taken off.
fn stages_of(step: &str) -> Vec<Words> {
    let mut stages = vec![Words::default()];
    let mut lexer = Lexer { rest: step };
    let mut goes_to: Option<Target> = None;
    while let Some(token) = lexer.next_token() {
        let Some(stage) = stages.last_mut() else { break };
        match (token, goes_to.take()) {
            (Token::Pipe, _) => stages.push(Words::default()),
            (Token::Redirect(target), _) => goes_to = Some(target),
            (Token::Word(word), Some(Target::Output)) => stage.outputs.push(word),
            (Token::Word(_), Some(Target::Elsewhere)) => {}
            // A variable that is set for the program.
            (Token::Word(word), None) if stage.words.is_empty() && word.contains('=') => {}
            (Token::Word(word), None) => stage.words.push(word),
        }
    }
    stages.retain(|stage| !stage.words.is_empty() || !stage.outputs.is_empty());
    stages
}

enum Token {
    Word(String),
    Pipe,
    Redirect(Target),
}

enum Target {
    Output,
    Elsewhere,
}

struct Lexer<'s> {
    rest: &'s str,
}

impl Lexer<'_> {
    fn next_token(&mut self) -> Option<Token> {
        self.rest = self.rest.trim_start();
        let first = self.rest.chars().next()?;
        if first == '|' {
            self.rest = self.rest.trim_start_matches(['|', '&']);
            return Some(Token::Pipe);
        }
        // Only the first and the second output of a program are told apart: `2>` is for its errors.
        let number = self.rest.len() - self.rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let behind = &self.rest[number..];
        let behind = if number == 0 { behind.trim_start_matches('&') } else { behind };
        if behind.starts_with(['>', '<']) {
            let is_output = behind.starts_with('>') && matches!(&self.rest[..number], "" | "1");
            self.rest = behind.trim_start_matches(['>', '<', '-']);
            let is_file = !self.rest.starts_with('&');
            return Some(Token::Redirect(if is_output && is_file { Target::Output } else { Target::Elsewhere }));
        }
        Some(Token::Word(self.word()))
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
