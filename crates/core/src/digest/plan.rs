//! The plan of the work, or its todo list: its items with their marks, as the last calls left them.

use serde_json::Value;

use crate::digest::grammar::{GAP, Place};
use crate::digest::pieces::cut;
use crate::digest::ranked::Line;
use crate::transcript::tools::{argument, words_of_name};
use crate::wording::one_line;

/// The last plan.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// The message that changed it last.
    pub(super) place: Option<Place>,
    pub(super) items: Vec<PlanItem>,
    /// The number of items that are not kept, or that an earlier digest had left out.
    pub(super) left_out: usize,
}

/// An item of a plan: its status, and its text with the number by which later calls name it, `#3 Run the tests`.
#[derive(Debug, Clone)]
pub(super) struct PlanItem {
    pub(super) status: PlanStatus,
    text: String,
}

/// The status of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlanStatus {
    Open,
    Going,
    Done,
}

impl PlanStatus {
    /// The place of an item among those of its plan.
    fn rank(self) -> i32 {
        match self {
            PlanStatus::Going => 0,
            PlanStatus::Open => 1,
            PlanStatus::Done => 2,
        }
    }
}

/// The most items of a plan. Each update of one looks through them.
const MOST_ITEMS: usize = 200;

/// The marks in front of items.
const MARKS: [(&str, PlanStatus); 3] =
    [("[ ] ", PlanStatus::Open), ("[>] ", PlanStatus::Going), ("[x] ", PlanStatus::Done)];

impl PlanItem {
    fn new(text: &str, status: PlanStatus) -> Self {
        const LONGEST: usize = 160;
        PlanItem { status, text: cut(&one_line(text), LONGEST) }
    }

    pub(super) fn line(&self) -> String {
        for (mark, status) in MARKS {
            if status == self.status {
                return format!("{mark}{}", self.text);
            }
        }
        self.text.clone()
    }

    /// Reads the line of an item again.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let line = line.trim_matches([GAP, ' ']);
        for (mark, status) in MARKS {
            if let Some(text) = line.strip_prefix(mark) {
                return Some(PlanItem::new(text, status));
            }
        }
        None
    }
}

/// Reads the status of an item; `None` if it was dropped.
fn status_of(status: &str) -> Option<PlanStatus> {
    match status.to_lowercase().replace(['_', '-'], " ").as_str() {
        "completed" | "done" | "complete" | "finished" => Some(PlanStatus::Done),
        "in progress" | "doing" | "active" => Some(PlanStatus::Going),
        "cancelled" | "canceled" | "dropped" | "deleted" => None,
        _ => Some(PlanStatus::Open),
    }
}

impl Plan {
    /// Its lines with their ranks: open items are told before those that are done.
    pub(super) fn ranked_lines(&self) -> Vec<Line> {
        self.items.iter().map(|item| Line::new(item.status.rank(), item.line())).collect()
    }

    /// Updates the plan by a call that carries one or an item of it. Returns whether it does.
    pub(super) fn update(&mut self, name: &str, given: &Value, result: &str, place: Place) -> bool {
        const WORDS: [&str; 5] = ["todo", "todos", "plan", "task", "tasks"];
        let words = words_of_name(name);
        let updated = match words.concat().as_str() {
            "taskcreate" => self.create(given, result),
            "taskupdate" => self.update_item(given),
            _ => words.iter().any(|word| WORDS.contains(&word.as_str())) && self.replace(given),
        };
        if updated {
            self.place = Some(place);
        }
        updated
    }

    /// Replaces the plan by a list of items, each with its status.
    fn replace(&mut self, given: &Value) -> bool {
        const TEXTS: [&str; 8] = ["content", "task", "step", "title", "description", "text", "name", "subject"];
        let Value::Object(members) = given else { return false };
        let lists = members.values().filter_map(Value::as_array);
        let Some(list) = lists.max_by_key(|list| list.len()) else { return false };
        let mut items = Vec::new();
        let mut has_status = list.is_empty();
        for item in list.iter().take(MOST_ITEMS) {
            let Some(status) = argument(item, &["status", "state"]) else { continue };
            has_status = true;
            if let Some(status) = status_of(&status)
                && let Some(text) = argument(item, &TEXTS)
            {
                items.push(PlanItem::new(&text, status));
            }
        }
        if has_status {
            self.left_out = list.len().saturating_sub(MOST_ITEMS);
            self.items = items;
        }
        has_status
    }

    /// Adds one item. Its number is in the result: `Task #3 created successfully`, `{"task": {"id": "3"}}`.
    fn create(&mut self, given: &Value, result: &str) -> bool {
        let Some(text) = argument(given, &["subject", "title", "description"]) else { return false };
        // A plan that is done makes room for the next one.
        if self.items.iter().all(|item| item.status == PlanStatus::Done) {
            self.items.clear();
            self.left_out = 0;
        }
        let result = result.to_lowercase();
        let (_, behind) = result.split_once("task #").or_else(|| result.split_once("\"id\":")).unwrap_or_default();
        let behind = behind.trim_start_matches(['"', ' ']);
        let digits = behind.len() - behind.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let number = if digits > 0 { format!("#{} ", &behind[..digits]) } else { String::new() };
        if self.items.len() == MOST_ITEMS {
            let done = self.items.iter().position(|item| item.status == PlanStatus::Done);
            self.items.remove(done.unwrap_or(0));
            self.left_out += 1;
        }
        self.items.push(PlanItem::new(&format!("{number}{text}"), PlanStatus::Open));
        true
    }

    /// Updates one item by its number.
    fn update_item(&mut self, given: &Value) -> bool {
        let Some(number) = ["taskId", "task_id", "id"].iter().find_map(|name| given.get(name)) else { return false };
        let number = match number {
            Value::String(number) => format!("#{number} "),
            number => format!("#{number} "),
        };
        let Some(at) = self.items.iter().position(|item| item.text.starts_with(&number)) else { return true };
        let item = &mut self.items[at];
        if let Some(text) = argument(given, &["subject", "title"]) {
            *item = PlanItem::new(&format!("{number}{text}"), item.status);
        }
        if let Some(status) = argument(given, &["status", "state"]) {
            match status_of(&status) {
                Some(status) => item.status = status,
                None => drop(self.items.remove(at)),
            }
        }
        true
    }
}
