//! Reads shell commands. A command line becomes simple commands: a program with its arguments, where its output goes, the
//! here-document it gets, the folder it runs in, and what joins it to its neighbours. All else that the program asks about
//! a command is a table or a small function over these: which files it touches (`commands`), what it is for (`actions`).
//!
//! It is not a parser of any shell. Loops and branches are words, and nothing is expanded.

use std::borrow::Cow;
use std::rc::Rc;

use crate::tools::is_absolute;

/// What joins a command to the next one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Operator {
    /// A `;` or the end of the line.
    #[default]
    Then,
    And,
    Or,
    Pipe,
    /// An `&`, which leaves it running.
    Background,
}

/// A file that the output of a command goes to.
#[derive(Debug)]
pub struct OutputFile<'c> {
    pub path: Cow<'c, str>,
    /// Whether the output goes behind what the file holds, as of `>>`.
    pub appends: bool,
}

/// A program with its arguments, and what stands around it.
#[derive(Debug, Default)]
pub struct SimpleCommand<'c> {
    /// The program and its arguments without their quotes, without variables set for it and redirections.
    pub words: Vec<Cow<'c, str>>,
    pub outputs: Vec<OutputFile<'c>>,
    /// The text of its here-document.
    pub here: Option<&'c str>,
    /// The folder that it runs in, where that is known; of `cd`, the folder that it goes to.
    pub(super) folder: Option<Rc<str>>,
    pub(super) before: Operator,
    pub(super) after: Operator,
    sets_variables: bool,
}

impl SimpleCommand<'_> {
    /// The program without its folder.
    pub fn name(&self) -> &str {
        match self.words.first() {
            Some(program) => program.rsplit('/').next().unwrap_or(program),
            None => "",
        }
    }

    /// The arguments that are not flags.
    pub(super) fn operands(&self) -> impl Iterator<Item = &str> {
        self.words.iter().skip(1).map(|word| &**word).filter(|word| !word.starts_with('-'))
    }

    pub(super) fn has(&self, word: &str) -> bool {
        self.words.iter().any(|other| other == word)
    }

    /// Whether it goes to another folder.
    pub(super) fn changes_folder(&self) -> bool {
        matches!(self.name(), "cd" | "pushd" | "popd")
    }

    /// The script that it hands to a shell, which another program can start: `timeout 9 bash -lc "make | tail"`.
    pub(super) fn script(&self) -> Option<&str> {
        let at = self.words.iter().position(|word| is_shell_program(word))?;
        let flag = self.words[at..].iter().position(|word| word.starts_with('-') && word.ends_with('c'))?;
        self.words.get(at + flag + 1).map(|script| &**script)
    }

    fn is_empty(&self) -> bool {
        self.words.is_empty() && self.outputs.is_empty() && self.here.is_none() && !self.sets_variables
    }

    /// The folder that a `cd` goes to.
    fn next_folder(&self, from: Option<&Rc<str>>) -> Option<Rc<str>> {
        /// The longest path that systems take, in bytes. Each file of a command has that of its folder.
        const LONGEST: usize = 4_096;
        let to = self.operands().next()?;
        if !is_file_name(to) {
            return None;
        }
        let to = match from {
            Some(from) if !is_absolute(to) => format!("{from}/{to}"),
            _ => to.to_owned(),
        };
        if to.len() <= LONGEST { Some(Rc::from(to)) } else { None }
    }
}

/// Whether a word is a shell, in whatever folder.
fn is_shell_program(word: &str) -> bool {
    matches!(word.rsplit('/').next(), Some("bash" | "sh" | "zsh"))
}

/// Whether a word is the name of one file, not of a device, as far as is known without running anything.
pub(super) fn is_file_name(word: &str) -> bool {
    let is_plain = !word.contains(['*', '?', '$', '`', '{', '(', '<', '>', '\n']);
    is_plain && !matches!(word, "" | "-" | "." | "..") && !word.starts_with(['-', '&']) && !word.starts_with("/dev/")
}

/// The simple commands of a command line that runs in a folder.
pub(super) fn commands<'c>(text: &'c str, folder: Option<&str>) -> Vec<SimpleCommand<'c>> {
    let mut reader = Reader { text, folder: folder.map(Rc::from), ..Reader::default() };
    while reader.at < text.len() {
        reader.read_token();
    }
    reader.end(Operator::Then);
    reader.found
}

/// Shows each simple command of a command line, and of the scripts that it hands to shells, in order.
pub fn visit_commands(text: &str, visit: &mut dyn FnMut(&SimpleCommand<'_>)) {
    visit_within(text, DEEPEST_SCRIPT, visit);
}

fn visit_within(text: &str, depth: usize, visit: &mut dyn FnMut(&SimpleCommand<'_>)) {
    for command in commands(text, None) {
        match command.script() {
            Some(script) if depth > 0 => {
                visit_within(script, depth - 1, visit);
                if !command.outputs.is_empty() {
                    visit(&command);
                }
            }
            _ => visit(&command),
        }
    }
}

/// The commands of each pipeline.
pub(super) fn pipelines<'s, 'c>(commands: &'s [SimpleCommand<'c>]) -> impl Iterator<Item = &'s [SimpleCommand<'c>]> {
    commands.chunk_by(|one, _| one.after == Operator::Pipe)
}

/// How many shells within each other are looked at: each reads the rest of the command line again.
pub(super) const DEEPEST_SCRIPT: usize = 4;

#[derive(Default)]
struct Reader<'c> {
    text: &'c str,
    at: usize,
    found: Vec<SimpleCommand<'c>>,
    /// The command that is read.
    command: SimpleCommand<'c>,
    folder: Option<Rc<str>>,
    /// Of each open bracket the folder before it, where it groups commands.
    open: Vec<Option<Option<Rc<str>>>>,
    /// The commands whose here-documents begin on the next line, with what ends these.
    here: Vec<(usize, Cow<'c, str>)>,
    /// How many `$(` are open.
    depth: usize,
}

impl<'c> Reader<'c> {
    fn rest(&self) -> &'c str {
        &self.text[self.at..]
    }

    fn read_token(&mut self) {
        let rest = self.rest();
        let Some(c) = rest.chars().next() else { return };
        let is_twice = rest[c.len_utf8()..].starts_with(c);
        let after_number = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let operator = match c {
            '&' if is_twice => Some((2, Operator::And)),
            '|' if is_twice => Some((2, Operator::Or)),
            '|' => Some((if rest.starts_with("|&") { 2 } else { 1 }, Operator::Pipe)),
            '&' if !rest.starts_with("&>") => Some((1, Operator::Background)),
            ';' | '\n' => Some((1, Operator::Then)),
            _ => None,
        };
        if let Some((length, operator)) = operator {
            self.at += length;
            self.end(operator);
            if c == '\n' {
                self.read_here_documents();
            }
        } else if c.is_whitespace() {
            self.at += c.len_utf8();
        } else if let Some(continued) = continuation(rest) {
            self.at += continued;
        } else if c == '#' {
            self.at += rest.find('\n').unwrap_or(rest.len());
        } else if rest.starts_with("((") && self.command.is_empty() {
            self.skip_past("))");
        } else if matches!(c, '<' | '>') && self.command.name() == "[[" {
            // It compares.
            self.at += 1;
        } else if c == '(' && self.command.is_empty() {
            self.at += 1;
            self.open.push(Some(self.folder.clone()));
        } else if c == ')' && matches!(self.open.last(), Some(Some(_))) {
            self.at += 1;
            self.end(Operator::Then);
            self.folder = self.open.pop().flatten().flatten();
        } else if after_number.starts_with(['>', '<']) || rest.starts_with("&>") {
            self.read_redirection(rest.len() - after_number.len());
        } else {
            let word = self.word();
            if self.command.words.is_empty() && word.contains('=') {
                self.command.sets_variables = true;
            } else {
                self.command.words.push(word);
            }
        }
    }

    /// Reads a redirection with a number of `digits` in front of it.
    fn read_redirection(&mut self, digits: usize) {
        let rest = self.rest();
        let sign = rest[digits..].trim_start_matches('&');
        let target = sign.trim_start_matches(['>', '<', '-']);
        let target = if sign.starts_with(">|") { &target[1..] } else { target }.trim_start_matches([' ', '\t']);
        if sign[1..].starts_with('(') {
            self.at += rest.len() - sign.len() + 1;
            return self.skip_substitution();
        }
        let is_file = !target.starts_with('&');
        self.at += rest.len() - target.trim_start_matches('&').len();
        let word = self.word();
        let is_mark = !word.is_empty() && !word.starts_with(|c: char| c.is_ascii_digit()) && !word.contains('\n');
        if sign.starts_with("<<") && !sign.starts_with("<<<") && is_mark {
            self.command.here = Some("");
            self.here.push((self.found.len(), word));
        } else if sign.starts_with('>') && matches!(&rest[..digits], "" | "1") && is_file {
            self.command.outputs.push(OutputFile { path: word, appends: sign.starts_with(">>") });
        }
    }

    /// Reads a word, without its quotes.
    fn word(&mut self) -> Cow<'c, str> {
        let start = self.at;
        /// The quote of `$'…'`, in which a backslash hides a quote.
        const ANSI: char = '$';
        // What differs from the text.
        let mut unquoted: Option<String> = None;
        let mut quote = None;
        while let Some(c) = self.rest().chars().next() {
            let (at, rest) = (self.at, self.rest());
            let plain = || self.text[start..at].to_owned();
            self.at += c.len_utf8();
            match (quote, c) {
                (None | Some('"' | ANSI), '\\') => {
                    let unquoted = unquoted.get_or_insert_with(plain);
                    if let Some(continued) = continuation(rest) {
                        self.at = at + continued;
                    } else if let Some(next) = self.rest().chars().next() {
                        unquoted.push(next);
                        self.at += next.len_utf8();
                    }
                    continue;
                }
                (Some(ANSI), '\'') => {
                    quote = None;
                    continue;
                }
                (Some(ANSI), _) => {}
                (Some(open), c) if open == c => {
                    quote = None;
                    continue;
                }
                (None, '$') if rest.starts_with("$'") => {
                    unquoted.get_or_insert_with(plain);
                    self.at += 1;
                    quote = Some(ANSI);
                    continue;
                }
                (None, '\'' | '"') => {
                    unquoted.get_or_insert_with(plain);
                    quote = Some(c);
                    continue;
                }
                (None | Some('"'), '$') if rest.starts_with("$((") => self.skip_past("))"),
                (None | Some('"'), '$') if rest.starts_with("${") => self.skip_past("}"),
                (None | Some('"'), '$') if rest.starts_with("$(") => self.skip_substitution(),
                (Some(_), _) => {}
                (None, '(') => self.open.push(None),
                (None, ')') if matches!(self.open.last(), Some(None)) => drop(self.open.pop()),
                (None, c) if self.ends_word(c) => {
                    self.at = at;
                    break;
                }
                (None, _) => {}
            }
            if let Some(unquoted) = &mut unquoted {
                unquoted.push_str(&self.text[at..self.at]);
            }
        }
        unquoted.map_or(Cow::Borrowed(&self.text[start..self.at]), Cow::Owned)
    }

    /// Whether a character that was just read ends a word. An `&` alone can be a part of an address.
    fn ends_word(&self, c: char) -> bool {
        match c {
            '&' => self.rest().is_empty() || self.rest().starts_with(['&', '>', ' ', '\t', '\n', '\r']),
            ')' => !self.open.is_empty(),
            c => c.is_whitespace() || matches!(c, ';' | '|' | '>' | '<'),
        }
    }

    /// Goes behind the next `end`, where there is one near.
    fn skip_past(&mut self, end: &str) {
        const NEAR: usize = 4_096;
        let rest = self.rest().as_bytes();
        self.at += match memchr::memmem::find(&rest[..rest.len().min(NEAR)], end.as_bytes()) {
            Some(at) => at + end.len(),
            None => 1,
        };
    }

    /// Goes to the end of a `$(…)`, which has quotes and here-documents of its own.
    fn skip_substitution(&mut self) {
        const DEEPEST: usize = 8;
        if self.depth == DEEPEST {
            return;
        }
        let mut inside = Reader { text: self.text, at: self.at + 1, depth: self.depth + 1, ..Reader::default() };
        inside.open.push(Some(None));
        while inside.at < self.text.len() && !inside.open.is_empty() {
            inside.read_token();
        }
        self.at = inside.at;
    }

    /// Ends a command.
    fn end(&mut self, operator: Operator) {
        if self.command.is_empty() {
            // It stands behind a group, or at the end of a line behind an operator.
            if operator != Operator::Then
                && let Some(last) = self.found.last_mut()
            {
                (last.after, self.command.before) = (operator, operator);
            }
            return;
        }
        // In a pipe or in the background, it is a shell of its own that goes there.
        let is_apart =
            self.command.before == Operator::Pipe || matches!(operator, Operator::Pipe | Operator::Background);
        if self.command.changes_folder() && !is_apart {
            self.folder = self.command.next_folder(self.folder.as_ref());
        }
        let next = SimpleCommand { before: operator, ..SimpleCommand::default() };
        let command = std::mem::replace(&mut self.command, next);
        self.found.push(SimpleCommand { folder: self.folder.clone(), after: operator, ..command });
    }

    /// Reads the here-documents of the line before, and the new lines of SWE-agent's `edit 3:5`.
    fn read_here_documents(&mut self) {
        if let Some(last) = self.found.last()
            && last.here.is_none()
            && let [edit, lines] = last.words.as_slice()
            && edit == "edit"
            && let Some((first_line, last_line)) = lines.split_once(':')
            && is_number(first_line)
            && is_number(last_line)
        {
            self.here.push((self.found.len() - 1, "end_of_edit".into()));
        }
        for (command, mark) in std::mem::take(&mut self.here) {
            let start = self.at;
            let lines = self.rest().split_inclusive('\n').take_while(|line| line.trim() != mark);
            let end = start + lines.map(str::len).sum::<usize>();
            let text = &self.text[start..end];
            self.at = match self.text[end..].find('\n') {
                Some(line_end) => end + line_end + 1,
                None => self.text.len(),
            };
            if let Some(command) = self.found.get_mut(command) {
                command.here = Some(text.strip_suffix('\n').unwrap_or(text));
            }
        }
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The length of a backslash with the line end that it takes away.
fn continuation(text: &str) -> Option<usize> {
    for end in ["\\\n", "\\\r\n"] {
        if text.starts_with(end) {
            return Some(end.len());
        }
    }
    None
}

#[cfg(test)]
mod tests;
