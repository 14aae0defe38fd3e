//! Background tasks: a line for each, with where it was launched and where it ended, as recorded.

use std::collections::HashMap;

use crate::digest::grammar::{Place, SourcePlace, TASK, bracketed};
use crate::digest::pieces::line;
use crate::transcript::background::{TaskEvent, TaskRecord};

/// The words of a line, in order.
const LAUNCHED: &str = "launched [";
const ENDED: &str = "finished [";
const CONTINUED: &str = ", continued [";
const FILE: &str = "; output file ";
/// What is behind the name of a task.
const NAMED: &str = "): ";

/// The tasks in the order of their first records.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    tasks: Vec<Task>,
    by_id: HashMap<String, usize>,
}

/// A task, as far as it is recorded.
#[derive(Debug, Default)]
pub(super) struct Task {
    id: String,
    label: String,
    launched: Option<SourcePlace>,
    /// Where it ended last, and the status.
    ended: Option<(SourcePlace, String)>,
    /// Where it was given more to do after it had ended.
    continued: Option<SourcePlace>,
    file: String,
}

impl Tasks {
    /// Adds what a record at a place says.
    pub(super) fn add(&mut self, place: Place, record: TaskRecord) {
        /// Bytes of a label, of a status and of a path. A longer path is of no use.
        const LABEL: usize = 100;
        const STATUS: usize = 100;
        const PATH: usize = 400;
        let TaskRecord { id, event, label, file } = record;
        if event == TaskEvent::Continued && !self.by_id.contains_key(&id) {
            return;
        }
        let task = self.of_id(id);
        let is_launch = event == TaskEvent::Launched;
        // What the model said that it launches comes before what a notice calls it.
        if let Some(label) = label
            && (is_launch || task.label.is_empty())
        {
            task.label = line(&label, LABEL).replace(NAMED, ") ");
        }
        if let Some(file) = file
            && file.len() <= PATH
        {
            task.file = line(&file, PATH);
        }
        match event {
            // Agents launch again what has ended, under the same id.
            TaskEvent::Launched if task.launched.is_some() && task.ended.is_some() => {
                task.continued = Some(place.source)
            }
            TaskEvent::Launched => task.launched = Some(place.source),
            TaskEvent::Continued if task.ended.is_some() => task.continued = Some(place.source),
            TaskEvent::Continued => {}
            TaskEvent::Ended { is_look: true, .. } if task.ended.is_some() && task.continued.is_none() => {}
            TaskEvent::Ended { status, .. } => {
                let status = line(&status, STATUS).replace([';', ',', '[', ']'], " ");
                task.ended = Some((place.source, status));
                task.continued = None;
            }
        }
    }

    fn of_id(&mut self, id: String) -> &mut Task {
        let next = self.tasks.len();
        let at = *self.by_id.entry(id).or_insert_with_key(|id| {
            self.tasks.push(Task { id: id.clone(), ..Task::default() });
            next
        });
        &mut self.tasks[at]
    }

    /// Reads a line of an earlier digest of a round; `None` if it is not one.
    pub(super) fn add_carried(&mut self, item: &str, round: u32) -> Option<()> {
        let task = Task::parse(item, round)?;
        let known = self.of_id(task.id.clone());
        *known = task;
        Some(())
    }

    /// The tasks in the order of their first records.
    pub(super) fn into_list(self) -> Vec<Task> {
        self.tasks
    }
}

impl Task {
    /// The message of its last record.
    pub(super) fn last_place(&self) -> Option<SourcePlace> {
        self.continued.or(self.ended.as_ref().map(|(place, _)| *place)).or(self.launched)
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended.is_some() && self.continued.is_none()
    }

    /// Whether a text names the task.
    pub(super) fn is_named_in(&self, text: &str) -> bool {
        text.contains(&self.id) || !self.label.is_empty() && text.contains(&self.label)
    }

    pub(super) fn line(&self) -> String {
        let Task { id, label, launched, ended, continued, file } = self;
        let space = if label.is_empty() { "" } else { " " };
        let mut line = format!("{TASK}{label}{space}({id}{NAMED}");
        if let Some(place) = launched {
            line.push_str(&format!("{LAUNCHED}{place}]"));
        }
        if let Some((place, status)) = ended {
            let comma = if launched.is_some() { ", " } else { "" };
            line.push_str(&format!("{comma}{ENDED}{place}]: {status}"));
        }
        if let Some(place) = continued {
            line.push_str(&format!("{CONTINUED}{place}]"));
        }
        if !file.is_empty() {
            line.push_str(&format!("{FILE}{file}"));
        }
        line
    }

    /// Reads a line again, as one of an earlier round.
    fn parse(item: &str, round: u32) -> Option<Self> {
        let (named, events) = item.strip_prefix(TASK)?.split_once(NAMED)?;
        let (label, id) = named.rsplit_once('(')?;
        let (mut events, file) = events.split_once(FILE).unwrap_or((events, ""));
        let mut task =
            Task { id: id.to_owned(), label: label.trim_end().to_owned(), file: file.to_owned(), ..Task::default() };
        if let Some((before, place)) = events.rsplit_once(CONTINUED) {
            task.continued = Some(SourcePlace::parse(place.strip_suffix(']')?)?.in_round(round));
            events = before;
        }
        if events.starts_with(LAUNCHED) {
            let (place, rest) = bracketed(&events[LAUNCHED.len() - 1..])?;
            task.launched = Some(SourcePlace::parse(place)?.in_round(round));
            events = rest.strip_prefix(", ").unwrap_or(rest);
        }
        if events.starts_with(ENDED) {
            let (place, status) = bracketed(&events[ENDED.len() - 1..])?;
            task.ended = Some((SourcePlace::parse(place)?.in_round(round), status.strip_prefix(": ")?.to_owned()));
            events = "";
        }
        let is_recorded = task.launched.is_some() || task.ended.is_some();
        if events.is_empty() && is_recorded { Some(task) } else { None }
    }
}

/// The places in the line of a task, each with what follows.
pub(super) fn places_in(item: &str) -> impl Iterator<Item = (&str, &str)> {
    let events = item.strip_prefix(TASK).and_then(|task| task.split_once(NAMED)).map_or("", |(_, events)| events);
    let (events, _) = events.split_once(FILE).unwrap_or((events, ""));
    events.split('[').skip(1).filter_map(|rest| rest.split_once(']'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_again_whatever_is_in_it() {
        const LABELS: [&str; 6] =
            ["Audit it", "a (b): c", "x; output file y", "launched [3], finished [4]: ok", "a\n## State\n- b)", "("];
        const FILES: [&str; 3] = ["", "/tmp/a, continued [3].output", "C:\\a b\\c; output file d"];
        const STATUSES: [&str; 3] = ["completed", "ok; output file x", "a, continued [3]"];
        for (label, file) in LABELS.iter().flat_map(|label| FILES.map(|file| (label, file))) {
            let record = |event| TaskRecord {
                id: "a1".to_owned(),
                event,
                label: Some((*label).to_owned()),
                file: Some(file.to_owned()),
            };
            for status in STATUSES {
                let ended = TaskEvent::Ended { status: status.to_owned(), is_look: false };
                let mut tasks = Tasks::default();
                for (index, event) in [(3, TaskEvent::Launched), (7, ended), (9, TaskEvent::Continued)] {
                    tasks.add(Place::new(index), record(event));
                    let task = &tasks.tasks[0];
                    let line = task.line();
                    assert!(!line.contains('\n'), "{line}");
                    let read = Task::parse(&line, 2).unwrap_or_else(|| panic!("{line}"));
                    assert_eq!((&read.id, &read.label, &read.file), (&task.id, &task.label, &task.file), "{line}");
                    let in_round = |place: SourcePlace| place.in_round(2);
                    assert_eq!(read.launched, task.launched.map(in_round), "{line}");
                    assert_eq!(
                        read.ended,
                        task.ended.clone().map(|(place, status)| (in_round(place), status)),
                        "{line}"
                    );
                    assert_eq!(read.continued, task.continued.map(in_round), "{line}");
                    let places = places_in(&line).count();
                    assert_eq!(places, 1 + usize::from(index > 3) + usize::from(index > 7), "{line}");
                }
            }
        }
    }

    #[test]
    fn what_is_no_line_of_a_task_is_not_read() {
        for line in [
            "Background task a (b): ",
            "Background task a (b): launched [x]",
            "Background task a (b): finished [4]",
            "Background task a: launched [4]",
            "Background task a (b): launched [4] by Mia",
            "Changed: a.rs [3]",
        ] {
            assert!(Task::parse(line, 1).is_none(), "{line}");
        }
    }
}
