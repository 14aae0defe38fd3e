//! The plan of the work: its items with their marks, as the last calls left them.

use serde_json::Value;

use crate::digest::clip::cut;
use crate::digest::files::Place;
use crate::transcript::tools::{argument, words_of_name};
use crate::wording::one_line;

/// Most bytes of an item, and most items.
const LONGEST_ITEM: usize = 160;
const MOST_ITEMS: usize = 200;
/// The members of a call that hold an item's text, and its status.
const TEXTS: [&str; 8] = ["content", "task", "step", "title", "description", "text", "name", "subject"];
const STATUSES: [&str; 2] = ["status", "state"];

/// The last plan, or todo list.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// The message that changed it last.
    pub(super) place: Option<Place>,
    pub(super) items: Vec<PlanItem>,
}

/// An item of a plan.
#[derive(Debug, Clone)]
pub(super) struct PlanItem {
    /// The number by which later calls name it, if they name items one by one.
    id: Option<String>,
    pub(super) status: Status,
    text: String,
}

/// The status of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    Open,
    Going,
    Done,
}

impl Status {
    const MARKS: [(&'static str, Status); 3] =
        [("[ ] ", Status::Open), ("[>] ", Status::Going), ("[x] ", Status::Done)];

    /// Reads a status; `None` if the item was dropped.
    fn parse(status: &str) -> Option<Status> {
        match status.to_lowercase().replace(['_', '-'], " ").as_str() {
            "completed" | "done" | "complete" | "finished" => Some(Status::Done),
            "in progress" | "doing" | "active" => Some(Status::Going),
            "cancelled" | "canceled" | "dropped" | "deleted" => None,
            _ => Some(Status::Open),
        }
    }
}

impl PlanItem {
    fn new(text: &str, status: Status) -> Self {
        PlanItem { id: None, status, text: cut(&one_line(text), LONGEST_ITEM) }
    }

    /// Returns the line of the item: `[x] #3 Run the tests`.
    pub(super) fn line(&self) -> String {
        let mark = Status::MARKS.iter().find(|(_, status)| *status == self.status).map_or("", |(mark, _)| mark);
        let number = self.id.as_ref().map_or(String::new(), |id| format!("#{id} "));
        format!("{mark}{number}{}", self.text)
    }

    /// Reads the line of an item again.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let (rest, status) =
            Status::MARKS.iter().find_map(|(mark, status)| Some((line.strip_prefix(mark)?, *status)))?;
        let numbered = rest.strip_prefix('#').and_then(|rest| rest.split_once(' '));
        let numbered = numbered.filter(|(id, _)| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit()));
        let (id, text) = numbered.map_or((None, rest), |(id, text)| (Some(id.to_owned()), text));
        Some(PlanItem { id, ..PlanItem::new(text, status) })
    }
}

impl Plan {
    /// Updates the plan by a call that carries one or an item of it. Returns whether it does.
    pub(super) fn update(&mut self, name: &str, given: &Value, result: Option<&str>, place: Place) -> bool {
        let words = words_of_name(name);
        let is_plan = ["todo", "todos", "plan", "task", "tasks", "taskcreate", "taskupdate"]
            .iter()
            .any(|wanted| words.iter().any(|word| word == wanted));
        let updated = is_plan
            && match words.concat().as_str() {
                "taskcreate" => self.create(given, result),
                "taskupdate" => self.update_item(given),
                _ => self.replace(given),
            };
        if updated {
            self.place = Some(place);
        }
        updated
    }

    /// Replaces the plan by a list of items, each with its status.
    fn replace(&mut self, given: &Value) -> bool {
        let mut lists =
            given.as_object().into_iter().flat_map(|given| given.values()).filter_map(Value::as_array).peekable();
        if lists.peek().is_none() {
            return false;
        }
        let item = |item: &Value| {
            let (text, status) = argument(item, &TEXTS).zip(argument(item, &STATUSES))?;
            Some(Status::parse(&status).map(|status| PlanItem::new(&text, status)))
        };
        let lists: Vec<Vec<Option<PlanItem>>> =
            lists.map(|list| list.iter().take(MOST_ITEMS).filter_map(item).collect()).collect();
        let is_empty = given
            .as_object()
            .is_some_and(|given| given.values().all(|value| value.as_array().is_none_or(Vec::is_empty)));
        match lists.into_iter().find(|list| !list.is_empty()) {
            Some(list) => self.items = list.into_iter().flatten().collect(),
            None if is_empty => self.items.clear(),
            None => return false,
        }
        true
    }

    /// Adds one item. Its number is in the result: `Task #3 created successfully`, `{"task": {"id": "3"}}`.
    fn create(&mut self, given: &Value, result: Option<&str>) -> bool {
        let Some(text) = argument(given, &["subject", "title", "description"]) else { return false };
        // A plan that is done makes room for the next one.
        if self.items.iter().all(|item| item.status == Status::Done) {
            self.items.clear();
        }
        let result = result.unwrap_or("").to_lowercase();
        let digits = |text: &str| text.chars().take_while(char::is_ascii_digit).collect::<String>();
        let named = result.split_once("task #").map(|(_, rest)| digits(rest));
        let id = named.or_else(|| {
            let value: Value = serde_json::from_str(&result).ok()?;
            number_in(value.get("task").unwrap_or(&value))
        });
        if self.items.len() < MOST_ITEMS {
            self.items.push(PlanItem { id: id.filter(|id| !id.is_empty()), ..PlanItem::new(&text, Status::Open) });
        }
        true
    }

    /// Updates one item by its number.
    fn update_item(&mut self, given: &Value) -> bool {
        let Some(id) = number_in(given) else { return false };
        let Some(at) = self.items.iter().position(|item| item.id.as_ref() == Some(&id)) else { return true };
        let item = &mut self.items[at];
        if let Some(text) = argument(given, &["subject", "title"]) {
            item.text = cut(&one_line(&text), LONGEST_ITEM);
        }
        match argument(given, &STATUSES).map(|status| Status::parse(&status)) {
            Some(Some(status)) => item.status = status,
            Some(None) => drop(self.items.remove(at)),
            None => {}
        }
        true
    }
}

/// Returns the number of an item that a call or a result names.
fn number_in(value: &Value) -> Option<String> {
    let number = ["taskId", "task_id", "taskid", "id"].iter().find_map(|name| value.get(name))?;
    Some(number.as_str().map_or_else(|| number.to_string(), str::to_owned))
}
