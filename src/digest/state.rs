//! The lines of the state: the plan, the files with the edits in force, edits that failed, calls without a result.
//!
//! Also: the plan of the work: its items with their marks, as the last calls left them.

use serde_json::Value;

use crate::digest::clip::{cut, indented};
use crate::digest::edits::EditsOfFile;
use crate::digest::files::Files;
use crate::digest::grammar::{EDITS, FOLDER, LOADED, Place, SourcePlace, more};
use crate::digest::outcome::Ended;
use crate::digest::tasks::Task;
use crate::digest::{Digest, Loaded};
use crate::tokens::Counter;
use crate::transcript::tools::actions::{FileAction, is_in};
use crate::transcript::tools::{argument, words_of_name};
use crate::wording::one_line;

/// The room that is left, in tokens. Nothing that comes later is taken once something had no room, so that more room
/// never loses a line.
struct Room {
    counter: Counter,
    left: Option<u64>,
    /// How many lines had none.
    refused: usize,
    /// The places of files that had some.
    shown: Vec<SourcePlace>,
}

impl Room {
    /// Takes the room of a text. Returns whether there was enough.
    fn take(&mut self, text: &str) -> bool {
        let cost = self.counter.count_text(text) + 1;
        self.left = self.left.and_then(|left| left.checked_sub(cost));
        self.left.is_some()
    }

    /// Takes the room of a line, and counts it where there is not enough.
    fn take_line(&mut self, line: &str) -> bool {
        let has_room = self.take(line);
        self.refused += usize::from(!has_room);
        has_room
    }
}

/// Background tasks that are told before the plan.
const MOST_TASKS: usize = 8;

/// The lines of the state.
pub(super) struct StateLines {
    pub(super) lines: Vec<String>,
    /// How many are left out.
    pub(super) left_out: usize,
    /// The places of the files that are told.
    pub(super) files: Vec<SourcePlace>,
}

/// The lines of the state, as many as have room, the most important first.
pub(super) fn lines(digest: &Digest<'_>, counter: Counter, most: u64) -> StateLines {
    let Digest { plan, files, runs, folder, .. } = digest;
    let mut room = Room { counter, left: Some(most), refused: 0, shown: Vec::new() };
    // All that follows is told without the folder.
    let folder = folder.as_deref().filter(|_| !runs.is_empty() || files.newest_first().len() > 1);
    let mut lines: Vec<String> = folder.map(|folder| format!("{FOLDER}{folder}")).into_iter().collect();
    let open = runs.iter().filter(|run| run.ended == Ended::NoResult);
    lines.extend(open.map(|run| format!("{} No result yet: {}", run.place, run.label(folder))));
    lines.extend(loaded_line(digest));
    lines.retain(|line| room.take_line(line));
    // The first tasks come before the plan, the others last.
    let mut tasks = digest.tasks.in_order();
    let others = tasks.split_off(tasks.len().min(MOST_TASKS));
    add_tasks(&mut lines, tasks, &mut room);
    lines.extend(plan_line(plan, &mut room));
    let failed =
        files.failed.iter().rev().map(|edit| format!("{} {}{}: {}", edit.place, edit.label(), edit.path, edit.text));
    lines.extend(files_lines(files, &mut room, |action| action != FileAction::Read));
    lines.extend(failed.filter(|line| room.take_line(line)));
    // First each change gets a short text. A new file can be read as a whole.
    let mut edits: Vec<_> = files.edits.largest_first().into_iter().map(|edits| (edits, String::new())).collect();
    edits.sort_by_key(|((_, _, edits), _)| edits.is_new());
    let changes = edits.partition_point(|((_, _, edits), _)| !edits.is_new());
    lengthen(&mut edits[..changes], 160, &mut room);
    lengthen(&mut edits, 420, &mut room);
    let read = files_lines(files, &mut room, |action| action == FileAction::Read);
    [1_200, 4_000, usize::MAX].into_iter().for_each(|most| lengthen(&mut edits, most, &mut room));
    let (told, not_told): (Vec<_>, Vec<_>) =
        edits.into_iter().map(|(_, text)| text).partition(|text: &String| !text.is_empty());
    lines.extend(told);
    room.refused += not_told.len();
    lines.extend(read);
    add_tasks(&mut lines, others, &mut room);
    StateLines { lines, left_out: room.refused + digest.left_out.state, files: room.shown }
}

/// Adds the lines of background tasks, as many as have room.
fn add_tasks(lines: &mut Vec<String>, tasks: Vec<&Task>, room: &mut Room) {
    for task in tasks {
        let line = task.line();
        if room.take_line(&line) {
            lines.push(line);
        }
    }
}

/// Tells more of the edits of files, up to `most` bytes of each, as far as there is room.
fn lengthen(edits: &mut [(EditsOfFile<'_>, String)], most: usize, room: &mut Room) {
    for ((path, place, edits), told) in edits {
        if room.left.is_none() {
            return;
        }
        let lines = edits.shown(most);
        let longer = indented(&format!("{place} {EDITS}{path}:\n{lines}"));
        let more = longer.get(longer.floor_char_boundary(told.len())..).unwrap_or_default();
        if !lines.is_empty() && !more.is_empty() && room.take(more) {
            *told = longer;
        }
    }
}

/// The line with the tools that results have loaded, the last ones where they are many.
fn loaded_line(digest: &Digest<'_>) -> Option<String> {
    const MOST: usize = 12;
    let Loaded { names, place, left_out: earlier, .. } = &digest.loaded;
    let left_out = names.len().saturating_sub(MOST);
    let shown: Vec<String> = names[left_out..].iter().cloned().chain(more(left_out, *earlier)).collect();
    place.map(|place| format!("{place} {LOADED}{}", shown.join(", ")))
}

/// The plan with the items that have room, open ones first.
fn plan_line(plan: &TodoList, room: &mut Room) -> Option<String> {
    let place = plan.place.filter(|_| !plan.items.is_empty())?;
    let has_room = room.take(&format!("- {place} Plan:"));
    let mut shown = vec![false; plan.items.len()];
    for wanted in [TodoStatus::Going, TodoStatus::Open, TodoStatus::Done] {
        for (at, item) in plan.items.iter().enumerate().filter(|(_, item)| item.status == wanted) {
            shown[at] = room.take(&item.line());
        }
    }
    let left_out = shown.iter().filter(|shown| !**shown).count();
    if !has_room || left_out == shown.len() {
        room.refused += 1;
        return None;
    }
    let items = plan.items.iter().zip(shown).filter(|(_, shown)| *shown).map(|(item, _)| item.line());
    let items: String = items.chain(more(left_out, plan.left_out)).map(|item| format!("\n  {item}")).collect();
    Some(format!("{place} Plan:{items}"))
}

/// A line for each action with the files that have room, those used last first.
fn files_lines(files: &Files, room: &mut Room, wanted: impl Fn(FileAction) -> bool) -> Vec<String> {
    let mut paths: Vec<(Vec<String>, usize)> = vec![Default::default(); FileAction::ALL.len()];
    for file in files.newest_first().into_iter().filter(|file| wanted(file.action)) {
        let shown = file.shown();
        let (paths, left_out) = &mut paths[file.action as usize];
        if room.take(&format!("{:?}: {shown}, ", file.action)) {
            paths.push(shown);
            room.shown.extend(&file.places);
        } else {
            *left_out += 1;
        }
    }
    let mut lines = Vec::new();
    for (action, (mut paths, left_out)) in FileAction::ALL.into_iter().zip(paths).filter(|(action, _)| wanted(*action))
    {
        let earlier = files.left_out[action as usize];
        if paths.is_empty() {
            room.refused += left_out + earlier;
        } else {
            paths.extend(more(left_out, earlier));
            lines.push(format!("{action:?}: {}", paths.join(", ")));
        }
    }
    lines
}

/// The last plan, or todo list.
#[derive(Debug, Default)]
pub(super) struct TodoList {
    /// The message that changed it last.
    pub(super) place: Option<Place>,
    pub(super) items: Vec<TodoItem>,
    /// The number of items that an earlier digest had left out.
    pub(super) left_out: usize,
}

/// An item of a plan: its status, and its text with the number by which later calls name it, `#3 Run the tests`.
#[derive(Debug, Clone)]
pub(super) struct TodoItem {
    pub(super) status: TodoStatus,
    text: String,
}

/// The status of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TodoStatus {
    Open,
    Going,
    Done,
}

/// The most items of a plan. Each update of one looks through them.
const MOST_ITEMS: usize = 200;

/// The marks in front of items.
const MARKS: [(&str, TodoStatus); 3] =
    [("[ ] ", TodoStatus::Open), ("[>] ", TodoStatus::Going), ("[x] ", TodoStatus::Done)];

impl TodoItem {
    fn new(text: &str, status: TodoStatus) -> Self {
        const LONGEST: usize = 160;
        TodoItem { status, text: cut(&one_line(text), LONGEST) }
    }

    pub(super) fn line(&self) -> String {
        let mark = MARKS.iter().find(|(_, status)| *status == self.status).map_or("", |(mark, _)| mark);
        format!("{mark}{}", self.text)
    }

    /// Reads the line of an item again.
    pub(super) fn parse(line: &str) -> Option<Self> {
        MARKS.iter().find_map(|(mark, status)| Some(TodoItem::new(line.strip_prefix(mark)?, *status)))
    }
}

/// Reads the status of an item; `None` if it was dropped.
fn status_of(status: &str) -> Option<TodoStatus> {
    match status.to_lowercase().replace(['_', '-'], " ").as_str() {
        "completed" | "done" | "complete" | "finished" => Some(TodoStatus::Done),
        "in progress" | "doing" | "active" => Some(TodoStatus::Going),
        "cancelled" | "canceled" | "dropped" | "deleted" => None,
        _ => Some(TodoStatus::Open),
    }
}

impl TodoList {
    /// Updates the plan by a call that carries one or an item of it. Returns whether it does.
    pub(super) fn update(&mut self, name: &str, given: &Value, result: &str, place: Place) -> bool {
        let words = words_of_name(name);
        let updated = match words.concat().as_str() {
            "taskcreate" => self.create(given, result),
            "taskupdate" => self.update_item(given),
            _ => words.iter().any(|word| is_in(word, "todo|todos|plan|task|tasks")) && self.replace(given),
        };
        if updated {
            self.place = Some(place);
        }
        updated
    }

    /// Replaces the plan by a list of items, each with its status.
    fn replace(&mut self, given: &Value) -> bool {
        const TEXTS: [&str; 8] = ["content", "task", "step", "title", "description", "text", "name", "subject"];
        let item = |item: &Value| {
            let status = argument(item, &["status", "state"])?;
            Some(status_of(&status).zip(argument(item, &TEXTS)))
        };
        let lists = given.as_object().into_iter().flatten().filter_map(|(_, value)| value.as_array());
        let Some(list) = lists.max_by_key(|list| list.len()) else { return false };
        let items: Vec<_> = list.iter().take(MOST_ITEMS).filter_map(item).collect();
        if items.is_empty() && !list.is_empty() {
            return false;
        }
        self.left_out = list.len().saturating_sub(MOST_ITEMS);
        self.items = items.into_iter().flatten().map(|(status, text)| TodoItem::new(&text, status)).collect();
        true
    }

    /// Adds one item. Its number is in the result: `Task #3 created successfully`, `{"task": {"id": "3"}}`.
    fn create(&mut self, given: &Value, result: &str) -> bool {
        let Some(text) = argument(given, &["subject", "title", "description"]) else { return false };
        // A plan that is done makes room for the next one.
        if self.items.iter().all(|item| item.status == TodoStatus::Done) {
            self.items.clear();
            self.left_out = 0;
        }
        let result = result.to_lowercase();
        let behind = result.split_once("task #").or_else(|| result.split_once("\"id\":")).map_or("", |(_, rest)| rest);
        let behind = behind.trim_start_matches(['"', ' ']);
        let digits = behind.len() - behind.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let number = if digits > 0 { format!("#{} ", &behind[..digits]) } else { String::new() };
        if self.items.len() == MOST_ITEMS {
            let done = self.items.iter().position(|item| item.status == TodoStatus::Done);
            self.items.remove(done.unwrap_or(0));
            self.left_out += 1;
        }
        self.items.push(TodoItem::new(&format!("{number}{text}"), TodoStatus::Open));
        true
    }

    /// Updates one item by its number.
    fn update_item(&mut self, given: &Value) -> bool {
        let Some(number) = ["taskId", "task_id", "id"].iter().find_map(|name| given.get(name)) else { return false };
        let number = number.as_str().map_or_else(|| format!("#{number} "), |number| format!("#{number} "));
        let Some(at) = self.items.iter().position(|item| item.text.starts_with(&number)) else { return true };
        let item = &mut self.items[at];
        if let Some(text) = argument(given, &["subject", "title"]) {
            *item = TodoItem::new(&format!("{number}{text}"), item.status);
        }
        match argument(given, &["status", "state"]).map(|status| status_of(&status)) {
            Some(Some(status)) => item.status = status,
            Some(None) => drop(self.items.remove(at)),
            None => {}
        }
        true
    }
}
