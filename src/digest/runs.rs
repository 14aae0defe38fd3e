//! Commands and calls: their labels, what kind they are, and their lines.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde_json::Value;

use crate::digest::clip::{GAP, ends, line};
use crate::digest::cues::Focus;
use crate::digest::files::{Files, without_folder};
use crate::digest::grammar::{ARROW, AT, CHANGED_AFTER, Lines, Place, THEN};
use crate::digest::outcome::{Ended, OUTPUT, ToldCall, reads_as_status, telling};
use crate::tokens::Counter;
use crate::transcript::lazy_text::LazyText;
use crate::transcript::tools::actions::{FileAction, Purpose};
use crate::transcript::tools::{Access, ToolUse, command_argument, is_shell};
use crate::wording::one_line;

/// Bytes that the failure before a run has at most.
const OF_FAILURE: usize = 180;

/// The last run of a command or call.
#[derive(Debug)]
pub(super) struct CallRun<'a> {
    pub(super) place: Place,
    pub(super) purpose: Purpose,
    pub(super) name: String,
    pub(super) arguments: LazyText<'a>,
    pub(super) result: Option<LazyText<'a>>,
    pub(super) ended: Ended,
    /// The label and the outcome of a run that an earlier digest told.
    pub(super) carried: Option<(String, String)>,
    /// The last run of the same that failed, before this one.
    pub(super) failed_before: Option<Box<CallRun<'a>>>,
    /// Whether the same command or call ran later.
    pub(super) is_superseded: bool,
}

impl<'a> CallRun<'a> {
    /// Creates one of which only the place and the end are known.
    pub(super) fn new(place: Place, ended: Ended) -> Self {
        CallRun {
            place,
            purpose: Purpose::Reads,
            name: String::new(),
            arguments: LazyText::new(Vec::new()),
            result: None,
            ended,
            carried: None,
            failed_before: None,
            is_superseded: false,
        }
    }

    /// Marks a run as not the last, and lets go of its texts. Returns the last one that failed.
    pub(super) fn supersede(&mut self) -> Option<Box<CallRun<'a>>> {
        let run = CallRun { is_superseded: true, ..CallRun::new(self.place, self.ended) };
        let mut before = std::mem::replace(self, run);
        let earlier = before.failed_before.take();
        if before.ended.is_failure() { Some(Box::new(before)) } else { earlier }
    }

    /// The label: the command in backticks, or the call with its arguments; without a change to `folder`, and without
    /// it in front of paths.
    pub(super) fn label(&self, folder: Option<&str>) -> String {
        /// Bytes of a command, of a label, of one of what was done outside, and those that the value of an argument has at
        /// least.
        const COMMAND: usize = 200;
        const SHORT: usize = 130;
        const LONGEST: usize = 420;
        const SHORT_VALUE: usize = 24;
        // What was done outside is known by its arguments alone.
        let longest = if self.purpose == Purpose::Acts { LONGEST } else { SHORT };
        if let Some((label, _)) = &self.carried {
            return label.clone();
        }
        // The sign between label and outcome stays out of a label.
        let inside = |text: &str| folder.map_or_else(|| text.to_owned(), |folder| without_folder(text, folder));
        let shown = |text: &str, most: usize| line(&inside(text), most).replace(ARROW, " -> ");
        let text = self.arguments.read();
        let mut given: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
        // Some agents wrap the arguments of tools that others provide.
        if let Some(inner @ Value::Object(_)) = given.get_mut("arguments") {
            given = inner.take();
        }
        let command = match &given {
            Value::Null => Some(text.clone().into_owned()).filter(|_| is_shell(&self.name)),
            given => command_argument(&self.name, given),
        };
        if let Some(command) = command {
            let is_inside = folder.is_some() && folder_of_command(&command) == folder;
            let behind = command.split_once("&&").filter(|_| is_inside).map(|(_, rest)| rest.trim_start());
            // Commands with one beginning differ at their ends.
            return format!("`{}`", ends(&inside(behind.unwrap_or(&command)), COMMAND).replace(ARROW, " -> "));
        }
        let name = shown(&self.name, longest).replace(": ", ". ");
        let Value::Object(members) = &given else { return format!("{name}({})", shown(&text, longest)) };
        // Of an edit the path is enough.
        let tool = (text.len() > SHORT).then(|| ToolUse::parse_with_json(&self.name, &given, &given.to_string()));
        let changed = tool.and_then(|tool| tool.files.into_iter().find(|file| file.access == Access::Changed));
        if let Some(file) = changed {
            return format!("{name}({})", shown(&file.full_path(), longest));
        }
        let (mut arguments, mut left) = (Vec::new(), longest);
        for (key, value) in members.iter().filter(|(key, _)| *key != "thought") {
            let value = value.as_str().map_or_else(|| Cow::Owned(value.to_string()), Cow::Borrowed);
            let key = shown(key, longest / 2);
            let most = left.saturating_sub(key.len() + 1).min(longest * 2 / 3);
            let argument = if most < SHORT_VALUE { GAP.to_string() } else { format!("{key}={}", shown(&value, most)) };
            left = left.saturating_sub(argument.len() + 2);
            arguments.push(argument);
            if most < SHORT_VALUE {
                break;
            }
        }
        format!("{name}({})", arguments.join(", "))
    }

    /// The place of what the line tells: the result, and the call where its label is cut.
    pub(super) fn place_of(&self, label: &str) -> Place {
        if label.contains(GAP) { self.place.with_call() } else { self.place }
    }

    /// The kind under which it is listed where it is left out, one of `KINDS`.
    pub(super) fn kind(&self) -> &'static str {
        match self.purpose {
            Purpose::Reads | Purpose::LooksUp => "read",
            _ if self.label(None).starts_with('`') => "run",
            _ => "call",
        }
    }

    /// How the run ended, in at most `most` bytes of its result. Where it did not fail, the last failure of the same
    /// comes first.
    pub(super) fn outcome(&self, label: &str, most: usize) -> String {
        let failed = self.failed_before.as_deref().filter(|_| !self.ended.is_failure());
        let failed = failed.map(|run| format!("{AT}{} {}{THEN}", run.place, run.ending(label, most.min(OF_FAILURE))));
        failed.unwrap_or_default() + &self.ending(label, most)
    }

    fn ending(&self, label: &str, most: usize) -> String {
        if let Some((_, outcome)) = &self.carried {
            return outcome.clone();
        }
        let call = ToldCall { label, purpose: self.purpose, has_failed: self.ended.is_failure() };
        let result = self.result.as_ref().filter(|_| self.ended != Ended::Refused);
        let lines = result.map(|result| telling(&result.read(), &call, most)).unwrap_or_default();
        let status = match self.ended.status() {
            status if !status.is_empty() => status,
            _ if lines.is_empty() => "no output".to_owned(),
            // What a program says is not its status.
            _ if reads_as_status(&lines) => OUTPUT.to_owned(),
            none => none,
        };
        let between = if status.is_empty() || lines.is_empty() { "" } else { ": " };
        one_line(&[&status, between, &lines].concat())
    }

    /// An upper bound of the bytes that its line can use well.
    pub(super) fn wanted_bytes(&self) -> usize {
        // Of what is only read, the files still have the rest. An output tells little besides how it went.
        let most = match self.purpose {
            Purpose::Checks => 440,
            // Of a failure the lines that name it are enough.
            _ if self.ended.is_failure() => 440,
            Purpose::Reads => 1_200,
            Purpose::LooksUp | Purpose::Acts | Purpose::Scripts => 3_000,
        };
        let of_failure = self.failed_before.as_ref().map_or(0, |_| OF_FAILURE);
        let of_result = self.result.as_ref().map_or(0, LazyText::bytes).min(most);
        self.carried.as_ref().map_or(of_result, |(_, outcome)| outcome.len()) + of_failure
    }
}

/// The place of the last check, with what is told of it where a file changed after it: the last one that was there
/// before, or else any. Among what is carried, the order of calls and files is not known.
pub(super) fn outdated_check<'r>(
    runs: impl Iterator<Item = &'r CallRun<'r>>,
    files: &Files,
) -> Option<(Place, String)> {
    let is_check = |run: &&CallRun<'_>| matches!(run.purpose, Purpose::Checks | Purpose::Scripts);
    let check = runs.filter(|run| run.ended != Ended::NoResult).filter(is_check).map(|run| run.place).max()?;
    let later = || files.changes().filter(|file| file.place > check && !file.place.is_carried());
    let file = later().find(|file| file.action != FileAction::Created).or_else(|| later().next())?;
    Some((check, format!("{CHANGED_AFTER}{} {}", file.path, file.place)))
}

/// What the lines of calls depend on.
pub(super) struct LinesOfCalls<'l> {
    pub(super) outdated: &'l Option<(Place, String)>,
    pub(super) counter: Counter,
    /// The folder that is told, of commands and paths without it.
    pub(super) folder: Option<&'l str>,
    pub(super) focus: &'l Focus,
}

/// The lines of calls in at most `room` tokens. First each gets a short line, as far as there is room, those of the
/// focus and then those that act first; then they get longer ones.
pub(super) fn lines(runs: &[&CallRun<'_>], room: u64, of: &LinesOfCalls<'_>) -> Lines {
    let LinesOfCalls { outdated, counter, folder, focus } = *of;
    /// Bytes at the beginning of a result in which words of the focus count.
    const OPENING: usize = 2_000;
    /// Bytes of a result: of calls that do something, of those that only read, and of all; and tokens of the shortest line.
    const LEVELS: [usize; 5] = [130, 400, 130, 1_200, 3_000];
    const OF_READS: usize = 2;
    const SHORTEST: u64 = 8;
    let last = runs.last().map(|run| run.place);
    let opening = |run: &CallRun<'_>| run.result.as_ref().map_or(String::new(), |result| result.opening(OPENING));
    let shared = focus.shared(runs.iter().map(|run| run.label(folder) + " " + &opening(run)));
    let has_failed = |run: &CallRun<'_>| run.ended.is_failure() || run.ended == Ended::Refused;
    let is_check = |run: &CallRun<'_>| matches!(run.purpose, Purpose::Checks | Purpose::Scripts);
    // What failed before another check did not may be mended.
    let passed = runs.iter().filter(|run| is_check(run) && !has_failed(run)).map(|run| run.place).max();
    let mut order: Vec<usize> = (0..runs.len()).collect();
    order.sort_by_key(|&at| {
        let is_mended = is_check(runs[at]) && Some(runs[at].place) < passed;
        let outranks = has_failed(runs[at]) && runs[at].purpose != Purpose::Reads && !is_mended;
        (Some(runs[at].place) != last, Reverse(shared[at]), !outranks, runs[at].purpose, Reverse(at))
    });
    order.truncate(usize::try_from(room / SHORTEST).unwrap_or(usize::MAX));
    let line = |run: &CallRun<'_>, most: usize| {
        let label = run.label(folder);
        let changed = outdated.as_ref().filter(|(check, _)| *check == run.place).map_or("", |(_, changed)| changed);
        let text = format!("{label}{ARROW}{}{changed}", run.outcome(&label, most));
        let place = run.place_of(&label);
        (counter.count_text(&format!("- {place} {text}\n")), place, text)
    };
    let mut left = room;
    let mut chosen: BTreeMap<usize, (u64, Place, String)> = BTreeMap::new();
    for (level, most) in LEVELS.into_iter().enumerate() {
        for &at in &order {
            let known = chosen.get(&at).map_or(0, |(cost, ..)| *cost);
            let wanted = runs[at].wanted_bytes().max(LEVELS[0]);
            let only_reads = runs[at].purpose == Purpose::Reads && Some(runs[at].place) != last;
            // First each is new; then those are told again that want more.
            let first = if only_reads { OF_READS } else { 0 };
            if (level == first) != (known == 0) || known > 0 && (wanted == LEVELS[0] || level == OF_READS) {
                continue;
            }
            let (cost, place, text) = line(runs[at], most.min(wanted));
            if cost <= left + known {
                left = left + known - cost;
                chosen.insert(at, (cost, place, text));
            }
        }
    }
    chosen.into_values().map(|(_, place, text)| (place, text)).collect()
}

/// The folder that a command changes to before all else.
fn folder_of_command(command: &str) -> Option<&str> {
    let (folder, _) = command.trim_start().strip_prefix("cd ")?.split_once("&&")?;
    Some(folder.trim()).filter(|folder| !folder.is_empty() && !folder.contains([';', '|', '\n', '`']))
}
