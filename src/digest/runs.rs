//! Commands and calls: their labels, what kind they are, and their lines.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};

use serde_json::Value;

use crate::digest::clip::{GAP, middle_cut};
use crate::digest::files::{Files, without_folder};
use crate::digest::grammar::{ARROW, FAILED_BEFORE, Lines, Place, UNCHECKED};
use crate::digest::outcome::{self, Ended, ToldCall, telling};
use crate::digest::words;
use crate::tokens::Counter;
use crate::transcript::lazy_text::LazyText;
use crate::transcript::tools::actions::FileAction;
use crate::transcript::tools::purpose::Purpose;
use crate::transcript::tools::{command_argument, is_shell};
use crate::wording::one_line;

/// A run that failed before a later one of the same command.
#[derive(Debug)]
pub(super) struct FailedRun<'a> {
    place: Place,
    ended: Ended,
    result: LazyText<'a>,
}

/// The last run of a command or call.
#[derive(Debug)]
pub(super) struct CallRun<'a> {
    pub(super) place: Place,
    pub(super) purpose: Purpose,
    pub(super) name: String,
    pub(super) arguments: LazyText<'a>,
    pub(super) result: Option<LazyText<'a>>,
    /// What the result holds that is not text.
    pub(super) other: Option<String>,
    pub(super) ended: Ended,
    /// The label and the outcome of a run that an earlier digest told.
    pub(super) carried: Option<(String, String)>,
    /// The last run of the same that failed, before this one.
    pub(super) failed_before: Option<Box<FailedRun<'a>>>,
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
            other: None,
            ended,
            carried: None,
            failed_before: None,
            is_superseded: false,
        }
    }

    /// Marks a run as not the last, and lets go of its texts. Returns the last one that failed.
    pub(super) fn supersede(&mut self) -> Option<Box<FailedRun<'a>>> {
        self.is_superseded = true;
        (self.name, self.arguments, self.carried) = (String::new(), LazyText::new(Vec::new()), None);
        let result = self.result.take().unwrap_or(LazyText::Owned("".into()));
        let failed = FailedRun { place: self.place, ended: self.ended, result };
        let has_failed = matches!(self.ended, Ended::Failed(_));
        if has_failed { Some(Box::new(failed)) } else { self.failed_before.take() }
    }

    /// Returns the label: the command in backticks, or the call with its arguments; without a change to `folder`, and
    /// without it in front of paths.
    pub(super) fn label(&self, folder: Option<&str>) -> String {
        // What was done outside is known by its arguments alone.
        let longest = if self.purpose == Purpose::Acts { 420 } else { 130 };
        if let Some((label, _)) = &self.carried {
            return label.clone();
        }
        // The sign between label and outcome stays out of a label.
        let shown = |text: &str| {
            let text = folder.map_or_else(|| text.to_owned(), |folder| without_folder(text, folder));
            middle_cut(&text, longest).replace(ARROW, " -> ")
        };
        let text = self.arguments.read();
        let given: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
        let command = match &given {
            Value::Null => Some(text.clone().into_owned()).filter(|_| is_shell(&self.name)),
            given => command_argument(&self.name, given),
        };
        if let Some(command) = command {
            let is_inside = folder.is_some() && folder_of_command(&command) == folder;
            let inside = command.split_once("&&").filter(|_| is_inside).map(|(_, rest)| rest.trim_start());
            return format!("`{}`", shown(inside.unwrap_or(&command)));
        }
        let argument = |(key, value): (&String, &Value)| match value {
            Value::String(text) => format!("{key}={text}"),
            value => format!("{key}={value}"),
        };
        let arguments = match &given {
            Value::Object(members) => members.iter().map(argument).collect::<Vec<_>>().join(", "),
            _ => text.into_owned(),
        };
        format!("{}({})", shown(&self.name).replace(": ", ". "), shown(&arguments))
    }

    /// Returns the place of what the line tells: the result, and the call where its label is cut.
    pub(super) fn place_of(&self, label: &str) -> Place {
        if label.contains(GAP) { self.place.with_call() } else { self.place }
    }

    /// Returns its kind, where it is left out.
    pub(super) fn kind(&self) -> &'static str {
        match self.purpose {
            Purpose::Reads | Purpose::LooksUp => "read",
            _ if self.label(None).starts_with('`') => "run",
            _ => "call",
        }
    }

    /// Returns how the run ended, in at most `most` bytes of its result.
    pub(super) fn outcome(&self, label: &str, noise: &HashSet<String>, most: usize) -> String {
        /// Bytes from which on the failure before a good run is told, and of which it has at most so many.
        const WITH_FAILURE: usize = 180;
        if let Some((_, outcome)) = &self.carried {
            return outcome.clone();
        }
        let is_output = label.starts_with('`');
        let is_data = self.purpose != Purpose::Checks;
        let call = ToldCall { label, is_output, only_shows: self.purpose == Purpose::Reads, is_data, noise };
        let told = |result: &LazyText<'_>, ended| telling(&result.read(), &call, ended, most);
        let result = self.result.as_ref().filter(|_| self.ended != Ended::Refused);
        let told = result.map(|result| told(result, self.ended)).unwrap_or_default();
        let status = match self.ended {
            Ended::Well if is_output => "ok".to_owned(),
            // A search that finds nothing has a status, too.
            Ended::Failed(Some(code)) if self.purpose == Purpose::Reads => format!("exit code {code}"),
            Ended::Failed(Some(code)) => format!("failed, exit code {code}"),
            Ended::Failed(None) => "failed".to_owned(),
            Ended::Refused => "refused or cancelled by the user".to_owned(),
            Ended::NoResult => "no result yet".to_owned(),
            Ended::Well | Ended::Unknown if told.is_empty() => match &self.other {
                Some(other) => format!("no text: {other}"),
                None => "no output".to_owned(),
            },
            // What a program says is not its status.
            Ended::Well | Ended::Unknown if words::opens_with(&told, "ok|failed|exit code") => "it says".to_owned(),
            Ended::Well | Ended::Unknown => String::new(),
        };
        let between = if status.is_empty() || told.is_empty() { "" } else { ": " };
        let before = self.failed_before.as_deref().filter(|_| self.ended == Ended::Well);
        let before = before.map_or(String::new(), |FailedRun { place, ended, result }| {
            let told = Some(telling(&result.read(), &call, *ended, WITH_FAILURE)).filter(|_| most >= WITH_FAILURE);
            let told = told.filter(|told| !told.is_empty()).map(|told| format!(": {told}"));
            format!("{FAILED_BEFORE}{place}{}", told.unwrap_or_default())
        });
        one_line(&[&status, between, &told, &before].concat())
    }

    /// Returns an upper bound of the bytes that its line can use well.
    pub(super) fn wanted_bytes(&self) -> usize {
        // Of what is only read, the files still have the rest. An output tells little besides how it went.
        let most = match self.purpose {
            Purpose::Reads => 130,
            Purpose::Checks => 440,
            Purpose::LooksUp | Purpose::Acts | Purpose::Scripts => 1_200,
        };
        let of_result = self.result.as_ref().map_or(0, LazyText::bytes);
        self.carried.as_ref().map_or(of_result, |(_, outcome)| outcome.len()).min(most)
    }
}

/// Returns the lines of calls in at most `room` tokens. First each gets a short line, as far as there is room, those that
/// act first; then they get longer ones.
pub(super) fn lines(runs: &[&CallRun<'_>], files: &Files, counter: Counter, room: u64, folder: Option<&str>) -> Lines {
    /// Bytes of a result, and tokens of the shortest line.
    const LEVELS: [usize; 5] = [130, 240, 400, 700, 1_200];
    const SHORTEST: u64 = 8;
    let last = runs.last().map(|run| run.place);
    // The last check, where a file that was there before changed after it.
    let checks = runs.iter().filter(|run| matches!(run.purpose, Purpose::Checks | Purpose::Scripts));
    let checked = checks.filter(|run| run.carried.is_none()).map(|run| run.place).max();
    let changed = files.changes().filter(|file| file.action != FileAction::Created).map(|file| file.place).max();
    let unchecked = checked.zip(changed).filter(|(checked, changed)| checked < changed);
    let mut order: Vec<usize> = (0..runs.len()).collect();
    order.sort_by_key(|&at| {
        let has_failed = matches!(runs[at].ended, Ended::Failed(_) | Ended::Refused);
        let outranks = has_failed && runs[at].purpose != Purpose::Reads;
        (Some(runs[at].place) != last, !outranks, runs[at].purpose, Reverse(at))
    });
    order.truncate(usize::try_from(room / SHORTEST).unwrap_or(usize::MAX));
    let noise = outcome::noise(runs.iter().filter_map(|run| run.result.as_ref()));
    let line = |run: &CallRun<'_>, most: usize| {
        let label = run.label(folder);
        let stale = unchecked.filter(|(place, _)| *place == run.place);
        let stale = stale.map(|(_, changed)| format!("{UNCHECKED}{changed}"));
        let text = format!("{label}{ARROW}{}{}", run.outcome(&label, &noise, most), stale.unwrap_or_default());
        let place = run.place_of(&label);
        (counter.count_text(&format!("- {place} {text}\n")), place, text)
    };
    let mut left = room;
    let mut chosen: BTreeMap<usize, (u64, Place, String)> = BTreeMap::new();
    for (level, most) in LEVELS.into_iter().enumerate() {
        for &at in &order {
            let known = chosen.get(&at).map(|(cost, ..)| *cost);
            if (level > 0) != known.is_some() || level > 0 && runs[at].wanted_bytes() <= LEVELS[level - 1] {
                continue;
            }
            let (cost, place, text) = line(runs[at], most.min(runs[at].wanted_bytes().max(LEVELS[0])));
            if cost <= left + known.unwrap_or(0) {
                left = left + known.unwrap_or(0) - cost;
                chosen.insert(at, (cost, place, text));
            }
        }
    }
    chosen.into_values().map(|(_, place, text)| (place, text)).collect()
}

/// Returns the folder that a command changes to before all else.
pub(super) fn folder_of_command(command: &str) -> Option<&str> {
    let (folder, _) = command.trim_start().strip_prefix("cd ")?.split_once("&&")?;
    Some(folder.trim()).filter(|folder| !folder.is_empty() && !folder.contains([';', '|', '\n', '`']))
}
