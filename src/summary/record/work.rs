//! The state that work is in: the plan as it last was, files with what was done to them, commands with how they ended last.

use std::collections::HashMap;

use serde_json::Value;

use crate::summary::record::brought::{of_arguments, of_result, shown_call, used_lines};
use crate::summary::record::files::{self, Use};
use crate::summary::record::names::Names;
use crate::summary::record::outcome::{Frames, Outcome, names_an_error, reports_success};
use crate::summary::record::phrases::ERROR_GONE;
use crate::summary::record::reading::{Called, Words};
use crate::summary::record::statements::{clipped_to, without_middle};
use crate::summary::record::user::rejection;
use crate::summary::record::values::LONGEST_VALUE;
use crate::summary::record::{Entry, Found, Kind, cues};
use crate::transcript::tools::shell::{open_quote, steps};
use crate::transcript::tools::{ToolUse, argument};

/// Characters of a command as it is shown.
const LONGEST_COMMAND: usize = 110;
/// Characters of an item of a plan.
const LONGEST_ITEM: usize = 200;

/// Programs that only look, or move about: how they ended is worth a note where they failed.
const LOOKS: [&str; 30] = [
    "ls", "cat", "grep", "rg", "find", "sed", "head", "tail", "awk", "wc", "echo", "pwd", "cd", "source", "which",
    "tree", "diff", "sleep", "nl", "cp", "mkdir", "rm", "export", "touch", "mv", "printf", "true", "rmdir", "[",
    "test",
];
/// Words of a shell's own, before the program that a loop or a condition runs.
const SHELL_WORDS: [&str; 13] =
    ["for", "while", "until", "do", "done", "if", "then", "else", "elif", "fi", "case", "esac", "function"];
/// What git is asked that changes nothing.
const GIT_LOOKS: [&str; 9] = ["log", "diff", "status", "show", "blame", "branch", "remote", "grep", "ls-files"];

/// What the work came to.
#[derive(Default)]
pub(super) struct Work {
    plan: Vec<Entry>,
    files: HashMap<String, File>,
    commands: HashMap<String, Entry>,
    /// Errors by the command that they came up in, with how much was changed until then.
    errors: HashMap<String, (Entry, usize)>,
    /// How often a file was changed.
    changes: usize,
    /// What is put around each output.
    frames: Frames,
    /// Values that calls were given and brought, and where those stand that have a name.
    pub(super) values: Vec<Option<Found>>,
    by_key: HashMap<u64, usize, foldhash::fast::RandomState>,
    /// The call that has no result.
    open: Option<Entry>,
    order: usize,
}

/// A file and what was done to it.
#[derive(Default)]
struct File {
    /// What was done last, and the message that did it.
    done: Option<(Use, usize)>,
    failed: Option<(String, usize)>,
    read: Option<usize>,
    times: u32,
    earlier: bool,
    order: usize,
}

/// What came of a call beside the state it left.
#[derive(Default)]
pub(super) struct News {
    /// The words of the user who rejected it, and the call.
    pub(super) rejected: Option<(String, String)>,
    /// Lines that tell of errors.
    pub(super) errors: Vec<String>,
}

impl Work {
    pub(super) fn new(frames: Frames) -> Work {
        Work { frames, ..Work::default() }
    }

    /// Takes a call of a message.
    pub(super) fn call(&mut self, call: &Called<'_>, index: usize, used: &Names) -> News {
        let arguments = call.arguments.read();
        let given: Value = serde_json::from_str(&arguments).unwrap_or(Value::Null);
        let tool = ToolUse::of_given(&call.name, &given, &arguments);
        let result = call.result.as_ref().map(Words::read);
        let result = result.as_deref();
        let touched = files::of_call(&call.name, &given, &arguments, &tool);
        let command = tool.command.as_deref();
        let shown = match (command, touched.first()) {
            (Some(command), _) => shown_command(command),
            (None, Some((path, _))) => format!("{} {path}", call.name),
            (None, None) => shown_call(&call.name, &arguments, &given),
        };
        // Nobody is asked before something is only looked at, unless the format says that it failed.
        let acts = tool.command_acts() || touched.iter().any(|(_, used)| *used != Use::Read);
        let rejected = result.filter(|_| acts || call.failed).and_then(|result| rejection(result, call.failed));
        if let Some(said) = rejected {
            let path = touched.into_iter().find(|(_, used)| *used != Use::Read);
            if let Some((path, _)) = path {
                self.failed_edit(path, "rejected by the user", index);
            }
            let said = if said.is_empty() { "(no reason given)" } else { said };
            return News { rejected: Some((shown, said.to_owned())), ..News::default() };
        }
        self.open =
            result.is_none().then(|| Entry::new(Kind::Open, index, "No result yet".to_owned(), format!("`{shown}`")));
        let failure = result.and_then(|result| failure(result, call.failed));
        if let Some(command) = command {
            return self.command(command, touched, result, call.failed, index, used);
        }
        if !touched.is_empty() {
            return self.touched(touched, failure, index);
        }
        if failure.is_none() && self.planned(&call.name, &given, index) {
            return News::default();
        }
        let mut found = Vec::new();
        of_arguments(&arguments, &shown, index, &mut found);
        if let Some(result) = result {
            of_result(&shown, result, index, used, &mut found);
        }
        found.into_iter().for_each(|(key, found)| self.value(key, found));
        News { errors: failure.into_iter().collect(), ..News::default() }
    }

    /// Takes a result whose call is not here.
    pub(super) fn stray(&mut self, result: &str, index: usize, used: &Names) {
        let mut found = Vec::new();
        of_result("", result, index, used, &mut found);
        found.into_iter().for_each(|(key, found)| self.value(key, found));
    }

    /// Takes a value; of those by one name the last stands.
    pub(super) fn value(&mut self, key: Option<String>, found: Found) {
        let key = key.map(|key| std::hash::BuildHasher::hash_one(self.by_key.hasher(), key));
        if let Some(before) = key.and_then(|key| self.by_key.insert(key, self.values.len())) {
            self.values[before] = None;
        }
        self.values.push(Some(found));
    }

    fn touched(&mut self, files: Vec<(String, Use)>, failure: Option<String>, index: usize) -> News {
        let mut news = News::default();
        for (path, used) in files {
            match (&failure, used) {
                (Some(why), Use::Read) => news.errors.push(why.clone()),
                (Some(why), _) => {
                    self.failed_edit(path, why, index);
                    news.errors.push(why.clone());
                }
                (None, used) => self.file(path, used, index),
            }
        }
        news
    }

    fn entry(&mut self, path: String) -> &mut File {
        self.order += 1;
        let order = self.order;
        let path = clipped_to(path.trim(), LONGEST_VALUE * 2);
        self.files.entry(path).or_insert_with(|| File { order, ..File::default() })
    }

    fn file(&mut self, path: String, used: Use, index: usize) {
        let order = self.order + 1;
        match used {
            Use::Read => {
                let file = self.entry(path);
                file.read = Some(index);
                file.times += 1;
            }
            used => {
                self.changes += 1;
                let file = self.entry(path);
                // What was made and then changed was made.
                let made = matches!((&file.done, &used), (Some((Use::Created, _)), Use::Changed));
                file.done = Some((if made { Use::Created } else { used }, index));
                file.failed = None;
                file.order = order;
            }
        }
    }

    fn failed_edit(&mut self, path: String, why: &str, index: usize) {
        let why = why.trim_end_matches('.').to_owned();
        self.entry(path).failed = Some((why, index));
    }

    /// A list of things to do, each with how far it is: it takes the place of the one before.
    fn planned(&mut self, name: &str, given: &Value, index: usize) -> bool {
        const DONE: [&str; 4] = ["completed", "done", "complete", "finished"];
        const DROPPED: [&str; 4] = ["cancelled", "canceled", "dropped", "deleted"];
        let lists = given.as_object().into_iter().flat_map(|given| given.values());
        let Some(items) = lists.filter_map(Value::as_array).find(|items| !items.is_empty()) else {
            let empties = given.as_object().is_some_and(|given| given.values().any(Value::is_array));
            let is_plan = ["todo", "plan", "task"].iter().any(|word| name.to_lowercase().contains(word));
            if empties && is_plan {
                self.plan.clear();
            }
            return empties && is_plan;
        };
        let mut plan = Vec::new();
        for item in items {
            let Some((text, status)) =
                argument(item, &["content", "task", "step", "title", "description", "text", "name", "subject"])
                    .zip(argument(item, &["status", "state"]))
            else {
                continue;
            };
            let status = status.to_lowercase().replace(['_', '-'], " ");
            let kind = if DONE.contains(&status.as_str()) { Kind::Done } else { Kind::Todo };
            if DROPPED.contains(&status.as_str()) {
                continue;
            }
            let about = if kind == Kind::Done { String::new() } else { status };
            let mut entry = Entry::new(kind, index, about, clipped_to(&text, LONGEST_ITEM));
            if kind == Kind::Done {
                entry.weight = 2.0;
            }
            plan.push(entry);
        }
        if plan.is_empty() {
            return false;
        }
        self.plan = plan;
        true
    }

    fn command(
        &mut self,
        command: &str,
        touched: Vec<(String, Use)>,
        result: Option<&str>,
        marked: bool,
        index: usize,
        used: &Names,
    ) -> News {
        let piped = command.contains(" | ") || command.contains("||");
        let outcome = Outcome::of(result.unwrap_or(""), &self.frames, marked, piped);
        if outcome.failed != Some(true) {
            for (path, used) in touched {
                self.file(path, used, index);
            }
        }
        let steps = steps(command);
        let mut shown: Vec<String> =
            steps.iter().filter(|step| !is_look(step)).map(|step| shown_step(command, step)).collect();
        shown.dedup();
        let mut news = News::default();
        if let Some(result) = result {
            let about = shown.last().cloned().unwrap_or_else(|| shown_command(command));
            for (key, found) in used_lines(&about, result, index, used) {
                self.value(key, found);
            }
        }
        let failed = outcome.failed == Some(true);
        if shown.is_empty() {
            // How a look ended is worth a note where it failed.
            if !failed {
                return news;
            }
            shown.push(shown_command(command));
        }
        let mut of_step = |about: &str, text: String, weight: f64, kind: Kind| {
            let mut entry = Entry::new(kind, index, about.to_owned(), text);
            entry.weight = weight;
            self.commands.insert(about.to_owned(), entry);
        };
        let Some(result) = result else {
            of_step(&shown.join(" && "), NO_RESULT_YET.to_owned(), 3.0, Kind::Command);
            return news;
        };
        let looks = steps.iter().all(|step| is_look(step));
        if !failed {
            let last = shown.len() - 1;
            for (at, about) in shown.iter().enumerate() {
                let (text, weight) = match outcome.said(at == last) {
                    Some(text) => (text, 4.0),
                    None => ("ok".to_owned(), 2.5),
                };
                of_step(about, text, weight, Kind::Command);
            }
        } else {
            let blamed = blamed(&shown, command, result, &outcome);
            let weight = if looks { 1.0 } else { 5.0 };
            for about in &shown[..blamed.unwrap_or(0)] {
                of_step(about, "ok".to_owned(), 2.5, Kind::Command);
            }
            let about = blamed.map_or_else(|| shown.join(" && "), |at| shown[at].clone());
            of_step(&about, outcome.said(true).unwrap_or_else(|| "failed".to_owned()), weight, Kind::Error);
            if blamed.is_some() && shown.len() > 1 {
                self.commands.remove(&shown.join(" && "));
            }
            news.errors.extend(outcome.lines.iter().take(4).cloned());
        }
        for about in &shown {
            // Its name tells more than how many there were.
            let named = outcome.lines.iter().find(|line| names_an_error(line));
            let error = named.or(outcome.lines.first()).filter(|_| failed);
            match error {
                Some(line) => {
                    let error = Entry::new(Kind::Error, index, String::new(), line.clone());
                    self.errors.insert(about.clone(), (error, self.changes));
                }
                // It is gone, since what brought it up ends well: at least where something was changed since.
                None => match self.errors.get_mut(about).filter(|(error, _)| error.about.is_empty()) {
                    Some((error, changes)) if *changes < self.changes => {
                        error.about = ERROR_GONE.to_owned();
                        error.text = format!("{} (`{about}` has passed since)", error.text);
                        error.weight = 2.0;
                    }
                    Some((error, _)) => {
                        if let Some(command) = self.commands.get_mut(about) {
                            command.text = format!(
                                "{} (failed before: {}; nothing was changed in between)",
                                command.text, error.text
                            );
                            command.weight = 4.0;
                        }
                        self.errors.remove(about);
                    }
                    None => {}
                },
            }
        }
        news
    }

    /// Takes an entry that an earlier summary carried on.
    pub(super) fn carried(&mut self, entry: Entry) {
        match entry.kind {
            Kind::Command | Kind::Error if !entry.about.is_empty() && entry.about != ERROR_GONE => {
                self.commands.insert(entry.about.clone(), entry);
            }
            Kind::Todo | Kind::Done => self.plan.push(entry),
            Kind::File => {
                let order = self.order + 1;
                let index = entry.index;
                let (path, why) = match entry.text.split_once(" (") {
                    Some((path, why)) => (path.to_owned(), Some(why.trim_end_matches(')').to_owned())),
                    None => (entry.text, None),
                };
                let file = self.entry(path);
                (file.earlier, file.order) = (true, order);
                match Use::named(&entry.about) {
                    Some(Use::Read) => file.read = Some(index),
                    Some(used) => file.done = Some((used, index)),
                    None => file.failed = Some((why.unwrap_or_default(), index)),
                }
            }
            _ => {}
        }
    }

    /// The state as a record keeps it, without the values.
    pub(super) fn entries(&mut self, position: impl Fn(usize) -> f64) -> Vec<Entry> {
        let mut all: Vec<Entry> = std::mem::take(&mut self.plan);
        let mut files: Vec<(String, File)> = std::mem::take(&mut self.files).into_iter().collect();
        files.sort_by(|a, b| (a.1.order, &a.0).cmp(&(b.1.order, &b.0)));
        for (path, file) in files {
            let mut add = |about: &str, text: String, index: usize, weight: f64| {
                let mut entry = Entry::new(Kind::File, index, about.to_owned(), text);
                entry.weight = weight * (0.7 + 0.6 * position(index));
                entry.earlier = file.earlier;
                all.push(entry);
            };
            if let Some((used, index)) = file.done {
                add(used.word(), path.clone(), index, 5.0);
            }
            match (&file.failed, file.read) {
                (Some((why, index)), _) => add(FAILED_EDIT, format!("{path} ({why})"), *index, 5.5),
                (None, Some(index)) if file.done.is_none() => {
                    add(Use::Read.word(), path, index, 1.5 + 0.5 * f64::from(file.times.max(1)).log2());
                }
                _ => {}
            }
        }
        let mut commands: Vec<Entry> = std::mem::take(&mut self.commands).into_values().collect();
        let errors = std::mem::take(&mut self.errors).into_values().map(|(error, _)| error);
        commands.extend(errors.filter(|error| !error.about.is_empty()));
        commands.iter_mut().for_each(|entry| entry.weight *= 0.7 + 0.6 * position(entry.index));
        commands.sort_by(|a, b| (a.index, &a.about, &a.text).cmp(&(b.index, &b.about, &b.text)));
        all.extend(commands);
        all
    }

    /// The call at the end that nobody has answered.
    pub(super) fn unanswered(&mut self) -> Option<Entry> {
        self.open.take()
    }
}

/// What is said of a command that has not ended.
pub(super) const NO_RESULT_YET: &str = "no result yet";

/// What a file is called whose edit did not happen.
pub(super) const FAILED_EDIT: &str = "edit failed";

/// Why a call failed; nothing where it did not, as far as is told.
fn failure(result: &str, marked: bool) -> Option<String> {
    const LONGEST: usize = 160;
    let text = result.trim_start().trim_start_matches("<tool_use_error>").trim_start_matches("<error>");
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("");
    let opening: String = line.chars().take(200).collect();
    let opens = opening.to_lowercase();
    let begins = [
        "error",
        "failed",
        "exit code",
        "traceback",
        "fatal",
        "no replacement",
        "invalid",
        "cannot",
        "could not",
        "unable",
        "✗",
        "✘",
        "错误",
        "失败",
        "无法",
    ]
    .iter()
    .any(|word| opens.starts_with(word));
    let told = cues::UNDONE.is_in(&opening) && (!cues::WENT_WELL.is_in(&opening) || cues::NOTHING_DONE.is_in(&opening));
    if !(marked || begins || told && line.len() < 300) {
        return None;
    }
    let line = line.trim_end_matches("</tool_use_error>").trim_end_matches("</error>").trim();
    let line = if line.is_empty() { "failed" } else { line };
    Some(without_middle(&line.replace(['{', '}', '"'], ""), LONGEST))
}

/// Which step of a chain a failure is of, told by what the output says of it; nothing where that is not sure.
fn blamed(shown: &[String], command: &str, result: &str, outcome: &Outcome) -> Option<usize> {
    /// Steps of a chain in which one is looked for.
    const MOST: usize = 16;
    if shown.len() == 1 {
        return Some(0);
    }
    if shown.len() > MOST {
        return None;
    }
    let words = |step: &str| -> Vec<String> {
        let words = step.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| word.len() > 2);
        words.map(str::to_lowercase).collect()
    };
    let own: Vec<Vec<String>> = shown
        .iter()
        .enumerate()
        .map(|(at, step)| {
            let others: Vec<String> =
                shown.iter().enumerate().filter(|(other, _)| *other != at).flat_map(|(_, step)| words(step)).collect();
            words(step).into_iter().filter(|word| !others.contains(word)).collect()
        })
        .collect();
    let names = |line: &str| {
        let said = words(line);
        let named: Vec<usize> = (0..own.len()).filter(|at| own[*at].iter().any(|word| said.contains(word))).collect();
        <[usize; 1]>::try_from(named).ok().map(|[at]| at)
    };
    let in_line = outcome.lines.iter().find_map(|line| names(line));
    // Whatever spoke last before it was over is what failed.
    let spoke_last = || result.lines().filter(|line| line.len() < 400).filter_map(names).next_back();
    // What ended well before the first complaint was not it.
    let before_last = || {
        let complaint = outcome.lines.first().and_then(|line| result.find(line.as_str()))?;
        let went_well = result[..complaint].lines().any(reports_success);
        (went_well && shown.len() == 2).then_some(1)
    };
    in_line.or_else(before_last).or_else(spoke_last).filter(|_| !command.contains("||"))
}

/// Whether a call runs a command that does more than look: its output is told by how it ended.
pub(super) fn runs(command: &str) -> bool {
    steps(command).iter().any(|step| !is_look(step))
}

/// A step from its program on: `do make` runs make.
fn of_program(step: &str) -> &str {
    const BEFORE: [&str; 5] = ["do ", "then ", "else ", "( ", "{ "];
    let mut step = step.trim_start();
    while let Some(rest) = BEFORE.iter().find_map(|word| step.strip_prefix(word)) {
        step = rest.trim_start();
    }
    step
}

/// Whether a step only looks.
fn is_look(step: &str) -> bool {
    let mut words = of_program(step).split_whitespace().filter(|word| !word.contains('='));
    let program = words.next().unwrap_or("");
    let argument = words.find(|word| !word.starts_with('-')).unwrap_or("");
    program.is_empty()
        || LOOKS.contains(&program)
        || SHELL_WORDS.contains(&program)
        || program == "git" && GIT_LOOKS.contains(&argument)
        || step.contains("<<")
}

/// A command as it is shown: the first of its steps that does more than look, without how its output is cut.
pub(super) fn shown_command(command: &str) -> String {
    let steps = steps(command);
    let program = |step: &&&str| step.split_whitespace().find(|word| !word.contains('=')).unwrap_or("") != "cd";
    let step = steps.iter().find(|step| !is_look(step)).or(steps.iter().find(program)).or(steps.first());
    step.map_or_else(String::new, |step| shown_step(command, step))
}

/// A step of a command as it is shown.
fn shown_step(command: &str, step: &str) -> String {
    let cuts = ["<<", " 2>&1", " 2>/dev/null", " | tail", " | head"];
    let end = cuts.iter().filter_map(|cut| step.find(cut).map(|at| if *cut == "<<" { at + 2 } else { at })).min();
    let shown = clipped_to(of_program(&step[..end.unwrap_or(step.len())]).trim(), LONGEST_COMMAND);
    let Some(quote) = open_quote(&shown).filter(|_| open_quote(step).is_some()) else { return shown };
    // Of a script in quotes its first line tells which it is.
    let inside = if shown.ends_with(quote) { first_line_behind(command, step) } else { "" };
    let shown = format!("{shown}{inside}");
    format!("{}…{quote}", clipped_to(&shown, LONGEST_COMMAND).trim_end_matches('…'))
}

/// The first line with something on it behind a step.
fn first_line_behind<'c>(command: &'c str, step: &str) -> &'c str {
    let behind = command.find(step).map_or("", |at| &command[at + step.len()..]);
    behind.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("")
}
