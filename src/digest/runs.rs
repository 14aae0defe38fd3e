//! Commands and calls: their labels, what kind they are, and their lines.

use serde_json::Value;

use crate::digest::clip::middle_cut;
use crate::digest::files::{Place, without_folder};
use crate::digest::outcome::{Ended, telling};
use crate::digest::text::LazyText;
use crate::transcript::tools::shell::steps;
use crate::transcript::tools::{ToolUse, command_argument, is_shell, words_of_name};

/// The kind of a call. Earlier kinds come first where the room is small.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RunClass {
    /// It acts outside: it books, sends, installs, commits.
    Acts,
    /// It checks the work: tests, builds, linters.
    Checks,
    /// It looks up values.
    LooksUp,
    /// It shows, searches or moves files.
    Reads,
}

/// The last run of a command or call.
#[derive(Debug)]
pub(super) struct Run<'a> {
    pub(super) place: Place,
    pub(super) class: RunClass,
    pub(super) name: String,
    pub(super) arguments: LazyText<'a>,
    pub(super) result: Option<LazyText<'a>>,
    pub(super) ended: Ended,
    /// The label and the outcome of a run that an earlier digest told.
    pub(super) carried: Option<(String, String)>,
    /// The last run of the same that failed, before this one.
    pub(super) failed_before: Option<Box<(Place, Ended, LazyText<'a>)>>,
    /// Whether the same command or call ran later.
    pub(super) is_superseded: bool,
}

/// Most bytes of a label.
const LONGEST_LABEL: usize = 130;
/// Bytes from which on the failure before a good run is told, and of which it has at most so many.
const WITH_FAILURE: usize = 180;
/// The sign between the label of a call and how it ended.
pub(super) const ARROW: &str = " → ";

impl<'a> Run<'a> {
    /// Marks a run as not the last, and lets go of its texts. Returns the last one that failed.
    pub(super) fn supersede(&mut self) -> Option<Box<(Place, Ended, LazyText<'a>)>> {
        self.is_superseded = true;
        (self.name, self.arguments, self.carried) = (String::new(), LazyText::new(Vec::new()), None);
        let before = self.failed_before.take();
        match self.result.take().filter(|_| matches!(self.ended, Ended::Failed(_))) {
            Some(result) => Some(Box::new((self.place, self.ended, result))),
            None => before,
        }
    }

    /// Returns the label: the command in backticks, or the call with its arguments; without a change to `folder`, and
    /// without it in front of paths.
    pub(super) fn label(&self, folder: Option<&str>) -> String {
        if let Some((label, _)) = &self.carried {
            return label.clone();
        }
        let shortened = |text: &str| folder.map_or_else(|| text.to_owned(), |folder| without_folder(text, folder));
        let text = self.arguments.read();
        let given: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
        let command = match given {
            Value::Null => Some(text.into_owned()).filter(|_| is_shell(&self.name)),
            ref given => command_argument(&self.name, given),
        };
        if let Some(command) = command {
            let inside = folder
                .filter(|folder| folder_of_command(&command) == Some(folder))
                .and_then(|_| command.split_once("&&"));
            let command = inside.map_or(&*command, |(_, rest)| rest.trim_start());
            return format!("`{}`", middle_cut(&unarrowed(&shortened(command)), LONGEST_LABEL));
        }
        let arguments = match &given {
            Value::Object(members) => {
                let argument = |(key, value): (&String, &Value)| {
                    format!("{key}={}", value.as_str().map_or_else(|| value.to_string(), str::to_owned))
                };
                members.iter().map(argument).collect::<Vec<_>>().join(", ")
            }
            Value::Null => self.arguments.read().into_owned(),
            value => value.to_string(),
        };
        unarrowed(&format!(
            "{}({})",
            middle_cut(&self.name, LONGEST_LABEL / 2),
            middle_cut(&shortened(&arguments), LONGEST_LABEL)
        ))
    }

    /// Returns how the run ended, in at most `most` bytes of its result.
    pub(super) fn outcome(&self, label: &str, most: usize) -> String {
        if let Some((_, outcome)) = &self.carried {
            return outcome.clone();
        }
        let is_output = is_shell(&self.name) || label.starts_with('`');
        let tells = |result: &LazyText<'_>| telling(&result.read(), label, is_output, self.ended, most);
        let tells = self.result.as_ref().filter(|_| self.ended != Ended::Refused).map(tells).unwrap_or_default();
        let status = match self.ended {
            Ended::Well if is_output => "ok".to_owned(),
            // A search that finds nothing has a status, too.
            Ended::Failed(Some(code)) if self.class == RunClass::Reads => format!("exit code {code}"),
            Ended::Failed(Some(code)) => format!("failed, exit code {code}"),
            Ended::Failed(None) => "failed".to_owned(),
            Ended::Refused => "refused or cancelled by the user".to_owned(),
            Ended::NoResult => "no result yet".to_owned(),
            Ended::Well | Ended::Unknown if tells.is_empty() => "no output".to_owned(),
            Ended::Well | Ended::Unknown => String::new(),
        };
        let outcome = match (status.is_empty(), tells.is_empty()) {
            (true, _) => tells,
            (_, true) => status,
            _ => format!("{status}: {tells}"),
        };
        match self.failed_before.as_deref() {
            Some((place, ended, result)) if self.ended == Ended::Well && most >= WITH_FAILURE => {
                format!(
                    "{outcome}; failed before, at {place}: {}",
                    telling(&result.read(), label, is_output, *ended, WITH_FAILURE)
                )
            }
            _ => outcome,
        }
    }

    /// Returns an upper bound of the bytes that its line can use well.
    pub(super) fn wanted_bytes(&self) -> usize {
        // Of what is only read, the files still have the rest. An output tells little besides how it went.
        let most = match self.class {
            RunClass::Reads => 260,
            RunClass::Checks => 440,
            RunClass::LooksUp | RunClass::Acts => 1_200,
        };
        self.carried
            .as_ref()
            .map_or_else(|| self.result.as_ref().map_or(0, LazyText::bytes), |(_, outcome)| outcome.len())
            .min(most)
    }
}

/// Keeps the sign between label and outcome out of a label.
fn unarrowed(text: &str) -> String {
    text.replace('→', "->")
}

/// Returns the folder that a command changes to before all else.
pub(super) fn folder_of_command(command: &str) -> Option<&str> {
    let (folder, _) = command.trim_start().strip_prefix("cd ")?.split_once("&&")?;
    Some(folder.trim()).filter(|folder| !folder.is_empty() && !folder.contains([';', '|', '\n', '`']))
}

/// Returns the class of a call.
pub(super) fn class_of(name: &str, tool: &ToolUse, result: &str) -> RunClass {
    const LOOKS: [&str; 22] = [
        "get",
        "list",
        "ls",
        "find",
        "search",
        "read",
        "view",
        "show",
        "fetch",
        "query",
        "lookup",
        "grep",
        "glob",
        "calculate",
        "open",
        "browse",
        "check",
        "describe",
        "webfetch",
        "websearch",
        "scroll",
        "screenshot",
    ];
    if let Some(command) = &tool.command {
        let steps = steps(command);
        if steps.iter().any(|step| checks(step)) {
            return RunClass::Checks;
        }
        if tool.only_reads || steps.iter().all(|step| only_shows(step) || only_moves_files(step)) {
            return RunClass::Reads;
        }
        return if steps.iter().any(|step| runs_script(step)) { RunClass::Checks } else { RunClass::Acts };
    }
    let words = words_of_name(name);
    if words.iter().any(|word| matches!(word.as_str(), "web" | "websearch" | "webfetch" | "browser" | "fetch")) {
        return RunClass::Reads;
    }
    let is_look = words.iter().any(|word| LOOKS.contains(&word.as_str()));
    match result.trim_start().starts_with(['{', '[']) {
        _ if !is_look => RunClass::Acts,
        true => RunClass::LooksUp,
        false if result.len() < 200 => RunClass::LooksUp,
        false => RunClass::Reads,
    }
}

/// Whether a step of a command runs tests, a build or a linter.
fn checks(step: &str) -> bool {
    const WORDS: [&str; 24] = [
        "test",
        "tests",
        "pytest",
        "unittest",
        "build",
        "check",
        "lint",
        "clippy",
        "make",
        "tsc",
        "eslint",
        "ruff",
        "mypy",
        "tox",
        "jest",
        "vitest",
        "mvn",
        "gradle",
        "ctest",
        "rspec",
        "compile",
        "typecheck",
        "tox",
        "flake8",
    ];
    if only_shows(step) {
        return false;
    }
    let words = step.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.take(12).any(|word| WORDS.contains(&word))
}

/// Whether a step of a command runs a script, which may check the work.
fn runs_script(step: &str) -> bool {
    let program = step.split_whitespace().find(|word| !word.contains('=')).unwrap_or("");
    ["python", "node", "ruby", "perl", "php", "./"].iter().any(|interpreter| program.starts_with(interpreter))
}

/// Whether a step of a command only changes files, which the state tells.
fn only_moves_files(step: &str) -> bool {
    const PROGRAMS: [&str; 9] = ["cp", "mv", "rm", "mkdir", "touch", "chmod", "sed", "tee", "ln"];
    step.split_whitespace().next().is_some_and(|program| PROGRAMS.contains(&program))
}

/// Whether a step of a command only shows what is there.
fn only_shows(step: &str) -> bool {
    const PROGRAMS: [&str; 27] = [
        "cat", "sed", "head", "tail", "less", "nl", "ls", "find", "rg", "grep", "pwd", "which", "wc", "tree", "awk",
        "cd", "echo", "file", "stat", "du", "sort", "uniq", "cut", "diff", "true", "env", "type",
    ];
    const GIT: [&str; 6] = ["show", "log", "diff", "status", "branch", "blame"];
    let mut words = step.split_whitespace();
    match words.next() {
        Some("git") => words.find(|word| !word.starts_with('-')).is_some_and(|verb| GIT.contains(&verb)),
        Some("sed") => !step.contains(" -i"),
        Some(program) => PROGRAMS.contains(&program),
        None => true,
    }
}
