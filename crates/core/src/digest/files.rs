//! The files of a history: for each the calls that name it, in order, with the words of the call. Whether a file is still
//! as a call left it, nobody says.

use std::collections::HashMap;

use serde_json::Value;

use crate::digest::calls::without_folder;
use crate::digest::grammar::{Place, SourcePlace, covered};
use crate::digest::ranked::Line;
use crate::transcript::tools::actions::{FileAction, is_in};
use crate::transcript::tools::shell::{SimpleCommand, visit_commands};
use crate::transcript::tools::{Access, CHANGE_VERBS, ToolUse, words_of_name};
use crate::wording::one_line;

/// A file with the calls on it.
#[derive(Debug)]
pub(super) struct FileCalls {
    pub(super) path: String,
    /// What is called, with the places of the calls that follow each other.
    pub(super) calls: Vec<(String, Vec<SourcePlace>)>,
    pub(super) last: Place,
}

impl FileCalls {
    fn add(&mut self, call: &str, place: Place) {
        self.last = self.last.max(place);
        self.calls.push((call.to_owned(), vec![place.source]));
    }

    /// Puts the calls in order, those that follow each other as one.
    fn sort_calls(&mut self) {
        let mut calls = std::mem::take(&mut self.calls);
        calls.sort_by_key(|(_, places)| places.first().map(SourcePlace::order));
        for (call, places) in calls {
            match self.calls.last_mut() {
                Some((known, all)) if *known == call => all.extend(places),
                _ => self.calls.push((call, places)),
            }
        }
    }

    /// The calls as they are told, with their ranks: the first and the last come before those between.
    pub(super) fn ranked_calls(&self) -> Vec<Line> {
        const MOST_RANGES: usize = 4;
        let mut ranked = Vec::new();
        for (at, (call, places)) in self.calls.iter().enumerate() {
            let behind = self.calls.len() - 1 - at;
            let rank = if at == 0 || behind == 0 { 0 } else { i32::try_from(behind).unwrap_or(i32::MAX) };
            ranked.push(Line::new(rank, format!("{call} {}", covered(places.clone(), MOST_RANGES))));
        }
        ranked
    }

    /// Reads the calls of a line that a digest has told; `None` if it is not one.
    pub(super) fn parse_calls(text: &str, round: u32) -> Option<Vec<(String, Vec<SourcePlace>)>> {
        let mut calls = Vec::new();
        for call in text.split("], ") {
            let call = call.trim_start_matches(['…', ' ']).trim_end_matches([']', '…', ' ']);
            let (call, places) = call.rsplit_once(" [")?;
            let mut places = SourcePlace::parse_all(places)?;
            for place in &mut places {
                *place = place.in_round(round);
            }
            calls.push((call.to_owned(), places));
        }
        Some(calls)
    }
}

/// The files that calls have changed, and those that were only read.
#[derive(Debug, Default)]
pub(super) struct Files {
    changed: Vec<FileCalls>,
    changed_by_path: HashMap<String, usize>,
    /// The last place at which each file was read.
    read: HashMap<String, Place>,
    commands: Vec<CommandWords>,
}

/// A command with the words of it that can be paths.
#[derive(Debug)]
struct CommandWords {
    program: String,
    /// Its words without flags and paths: `python pytest` of `python -m pytest -q tests/a.py`.
    form: String,
    has_failed: bool,
    place: Place,
    words: Vec<String>,
}

impl Files {
    /// Notes the files that a tool changed. `has_failed` is recorded.
    pub(super) fn add_tool(&mut self, name: &str, given: &Value, tool: &ToolUse, place: Place, has_failed: bool) {
        for change in &tool.changes {
            // A patch says of each file what it does.
            let verb = match change.action {
                FileAction::Created => "add",
                FileAction::Deleted => "delete",
                FileAction::Renamed => "move",
                _ => "update",
            };
            self.add_change(&change.path, verb, place, has_failed);
        }
        if tool.changes.is_empty() {
            let verb = verb_of(name, given);
            for file in tool.files.iter().filter(|file| file.access == Access::Changed) {
                self.add_change(&file.path, &verb, place, has_failed);
            }
        }
    }

    /// Notes the files that a command changes by its words, and keeps the words by which it may name others.
    pub(super) fn add_command(&mut self, command: &str, tool: &ToolUse, place: Place, has_failed: bool) {
        const MOST_STEPS: usize = 24;
        let before = self.commands.len();
        let mut steps = 0;
        visit_commands(command, &mut |step| {
            steps += 1;
            if steps <= MOST_STEPS {
                self.add_step(step, place, has_failed);
            }
        });
        let first = self.commands.get(before).map(|step| step.program.clone());
        let mut named: Vec<String> = Vec::new();
        for step in &self.commands[before..] {
            named.extend(step.words.iter().map(|word| word.trim_start_matches("./").to_owned()));
        }
        let mut found = 0;
        for change in &tool.changes {
            if change.action == FileAction::Read {
                continue;
            }
            let Some(path) = clean(&change.path) else { continue };
            // Most changes are in the order of the command, so that a long one is not searched for each from its beginning.
            let behind = command[found..].find(&path).map(|at| found + at);
            let Some(at) = behind.or_else(|| command.find(&path)) else { continue };
            found = at;
            if !path.contains(char::is_alphanumeric) {
                continue;
            }
            // What a patch in the command changes, its program does.
            if let Some(program) = &first
                && !named.contains(&path)
            {
                let (program, form, words) = (program.clone(), String::new(), vec![path.clone()]);
                self.commands.push(CommandWords { program, form, has_failed, place, words });
            }
            // `git checkout main` may name a branch: it begins no row, and stands with a file that other calls name.
            if change.action != FileAction::Restored {
                self.of_path(path, place);
            }
        }
    }

    /// Keeps the words by which a step of a command may name files. Where its program only shows files, it writes the one
    /// that its output goes to.
    fn add_step(&mut self, step: &SimpleCommand<'_>, place: Place, has_failed: bool) {
        let words = step.words.iter().map(|word| &**word);
        let words: Vec<&str> = words.skip_while(|word| is_keyword(word)).collect();
        let Some(name) = name_of(&words) else { return };
        if let Some(program) = program_of(name, &words) {
            let mut paths = path_words(name, &words, step.here);
            paths.extend(step.outputs.iter().map(|output| output.path.clone().into_owned()));
            self.commands.push(CommandWords { program, form: form_of(&words), has_failed, place, words: paths });
            return;
        }
        for output in &step.outputs {
            let program = format!("{name} {}", if output.appends { ">>" } else { ">" });
            let paths = vec![output.path.clone().into_owned()];
            self.commands.push(CommandWords { program, form: String::new(), has_failed, place, words: paths });
        }
    }

    /// Notes a file that was read.
    pub(super) fn add_read(&mut self, path: &str, place: Place) {
        if let Some(path) = clean(path) {
            self.read.insert(path, place);
        }
    }

    /// Adds what an earlier digest told of a file.
    pub(super) fn add_carried(&mut self, path: &str, calls: Vec<(String, Vec<SourcePlace>)>, place: Place) {
        let Some(path) = clean(path) else { return };
        let file = self.of_path(path, place);
        file.calls.extend(calls);
        file.last = place;
    }

    fn add_change(&mut self, path: &str, call: &str, place: Place, has_failed: bool) {
        let Some(path) = clean(path) else { return };
        let call = if has_failed { format!("{call} failed") } else { call.to_owned() };
        self.of_path(path, place).add(&call, place);
    }

    fn of_path(&mut self, path: String, place: Place) -> &mut FileCalls {
        let next = self.changed.len();
        let at = *self.changed_by_path.entry(path).or_insert_with_key(|path| {
            self.changed.push(FileCalls { path: path.clone(), calls: Vec::new(), last: place });
            next
        });
        &mut self.changed[at]
    }

    /// The files that were changed, and the paths of those that were only read, the last first. A command stands under the
    /// files that it names word for word, as their paths are told: without the recorded `folder`.
    pub(super) fn into_lists(mut self, folder: Option<&str>) -> (Vec<FileCalls>, Vec<(String, Place)>) {
        let mut by_told_path: HashMap<String, usize> = HashMap::new();
        for at in 0..self.changed.len() {
            let told = without_folder(&self.changed[at].path, folder).into_owned();
            // A path with the folder and one without it are the same.
            let first = *by_told_path.entry(told).or_insert(at);
            if first < at {
                let calls = std::mem::take(&mut self.changed[at].calls);
                let last = self.changed[at].last;
                self.changed[first].calls.extend(calls);
                self.changed[first].last = self.changed[first].last.max(last);
            }
        }
        let commands = std::mem::take(&mut self.commands);
        let mut last_success: HashMap<String, Place> = HashMap::new();
        for command in &commands {
            if !command.has_failed && command.words.is_empty() {
                let last = last_success.entry(command.form.clone()).or_insert(command.place);
                *last = command.place.max(*last);
            }
        }
        for CommandWords { program, form, has_failed, place, words } in commands {
            // A later run without paths that went well, such as one of all tests, names no file and would stand nowhere.
            if has_failed && last_success.get(&form).is_some_and(|success| *success > place) {
                continue;
            }
            let call = if has_failed { format!("{program} failed") } else { program };
            for word in words {
                let told = without_folder(&word, folder);
                if let Some(at) = by_told_path.get(told.trim_start_matches("./")) {
                    self.changed[*at].add(&call, place);
                }
            }
        }
        for file in &mut self.changed {
            file.sort_calls();
        }
        self.changed.retain(|file| !file.calls.is_empty());
        let mut read: Vec<(String, Place)> = Vec::new();
        for (path, place) in self.read {
            if !self.changed_by_path.contains_key(&path) {
                read.push((path, place));
            }
        }
        read.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        (self.changed, read)
    }
}

/// The word for what a tool does with a file: the verb of its name, or of the editor's command.
fn verb_of(name: &str, given: &Value) -> String {
    let appends =
        given.get("mode").is_some_and(|mode| mode == "append") || given.get("append") == Some(&Value::Bool(true));
    if appends {
        return "append".to_owned();
    }
    let words = match given.get("command").and_then(Value::as_str) {
        Some(verb) if !verb.contains(char::is_whitespace) => words_of_name(verb),
        _ => words_of_name(name),
    };
    words.into_iter().find(|word| is_in(word, CHANGE_VERBS)).unwrap_or_else(|| "edit".to_owned())
}

/// The words of a step of a command that can be paths, each once. A word with blanks in it is a text, and `here` is one,
/// unless the program runs it.
fn path_words(name: &str, words: &[&str], here: Option<&str>) -> Vec<String> {
    const MOST: usize = 24;
    const MOST_LINES: usize = 200;
    let runs_text = is_interpreter(name) || words.iter().take(4).any(|word| is_interpreter(word));
    let mut texts = words.to_vec();
    if !runs_text {
        texts.retain(|word| !word.contains(char::is_whitespace));
    } else if let Some(script) = here {
        texts.extend(script.lines().take(MOST_LINES));
    }
    let mut paths: Vec<String> = Vec::new();
    for text in texts {
        for word in text.split(|c: char| c.is_whitespace() || "\"'`()<>=,:".contains(c)) {
            let can_be_path = word.contains(['/', '.']) && word.contains(char::is_alphanumeric);
            if can_be_path && paths.len() < MOST && !paths.iter().any(|known| known == word) {
                paths.push(word.to_owned());
            }
        }
    }
    paths
}

/// Whether a program runs what stands behind it as a text of its language.
fn is_interpreter(program: &str) -> bool {
    const INTERPRETERS: [&str; 8] = ["python", "node", "deno", "bun", "ruby", "perl", "php", "osascript"];
    INTERPRETERS.iter().any(|interpreter| program.starts_with(interpreter))
}

/// The words of a step of a command without flags and paths. A program with flags alone is another call than one with a
/// path: `python --version`.
fn form_of(words: &[&str]) -> String {
    let mut plain: Vec<&str> = Vec::with_capacity(words.len());
    let mut has_flags = false;
    for word in words {
        if word.starts_with('-') {
            has_flags = true;
        } else if !word.contains(['/', '.']) {
            plain.push(word);
        }
    }
    if plain.len() < 2 && has_flags { words.join(" ") } else { plain.join(" ") }
}

/// Whether a word of a shell stands before the program of a step.
fn is_keyword(word: &str) -> bool {
    ["do", "then", "else", "if", "elif", "while", "until", "!", "{", "time"].contains(&word)
}

fn is_name(word: &str) -> bool {
    const LONGEST: usize = 24;
    !word.is_empty() && word.len() <= LONGEST && word.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c))
}

/// The name of the program of a step of a command, without its folder; `None` where it is none.
fn name_of<'w>(words: &[&'w str]) -> Option<&'w str> {
    const NOT_PROGRAMS: [&str; 7] = ["for", "case", "select", "done", "fi", "esac", "function"];
    let name = words.first()?.rsplit('/').next()?;
    if is_name(name) && !NOT_PROGRAMS.contains(&name) { Some(name) } else { None }
}

/// The program of a step of a command, with the verb of those that have many: `git checkout`, `sed`. `None` where it only
/// shows files or tests them.
fn program_of(name: &str, words: &[&str]) -> Option<String> {
    const WITH_VERBS: [&str; 8] = ["git", "cargo", "npm", "pnpm", "yarn", "go", "docker", "make"];
    const SHOWS: [&str; 17] = [
        "cat", "head", "tail", "grep", "rg", "ls", "wc", "less", "echo", "printf", "cd", "diff", "find", "stat",
        "file", "sort", "test",
    ];
    const GIT_SHOWS: [&str; 6] = ["diff", "show", "log", "status", "blame", "grep"];
    if SHOWS.contains(&name) || name == "sed" && words.iter().any(|word| word.starts_with("-n")) {
        return None;
    }
    if name == "tee" && words.iter().any(|word| ["-a", "--append"].contains(word)) {
        return Some("tee -a".to_owned());
    }
    let Some(verb) = words.get(1) else { return Some(name.to_owned()) };
    if !WITH_VERBS.contains(&name) || !is_name(verb) || verb.starts_with('-') {
        return Some(name.to_owned());
    }
    if name == "git" && GIT_SHOWS.contains(verb) { None } else { Some(format!("{name} {verb}")) }
}

/// A path as a digest tells it; `None` if its line would not be read back as it is.
pub(super) fn clean(path: &str) -> Option<String> {
    const LONGEST: usize = 240;
    let path = one_line(path.trim());
    const UNREADABLE: [&str; 4] = [": ", " [", "], ", "…"];
    let is_readable = !UNREADABLE.iter().any(|part| path.contains(part));
    if is_readable && !path.is_empty() && path.len() <= LONGEST { Some(path) } else { None }
}
