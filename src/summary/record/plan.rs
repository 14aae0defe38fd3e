//! The plan of the work: its items, each with its status, as the last calls left them.

use serde_json::Value;

use crate::summary::record::segmentation::clip_to;
use crate::summary::record::{FactKind, RecordEntry};
use crate::transcript::tools::argument;

/// Most characters of an item.
const LONGEST_ITEM: usize = 200;

/// The members of a call that hold an item's text, and its status.
const TEXTS: [&str; 8] = ["content", "task", "step", "title", "description", "text", "name", "subject"];
const STATUSES: [&str; 2] = ["status", "state"];

/// The last plan.
#[derive(Default)]
pub(super) struct Plan {
    items: Vec<PlanItem>,
}

struct PlanItem {
    /// The number by which later calls name it, if they name items one by one.
    id: Option<String>,
    entry: RecordEntry,
}

/// Returns the number of a new item: `Task #3 created successfully`, `{"task": {"id": "3"}}`.
fn item_number(result: &str) -> Option<String> {
    let digits = |text: &str| -> String { text.chars().take_while(char::is_ascii_digit).collect() };
    let lower = result.to_lowercase();
    let named = lower.split_once("task #").map(|(_, rest)| digits(rest));
    let given = || {
        let value: Value = serde_json::from_str(result).ok()?;
        number_in(value.get("task").unwrap_or(&value))
    };
    named.or_else(given).filter(|id| !id.is_empty())
}

/// Returns the number of an item that a call or a result names.
fn number_in(value: &Value) -> Option<String> {
    let number = ["taskId", "task_id", "id"].iter().find_map(|name| value.get(name))?;
    Some(number.as_str().map_or_else(|| number.to_string(), str::to_owned))
}

/// Whether a call puts a plan before the user, who approves or rejects it.
pub(super) fn asks_for_approval(name: &str) -> bool {
    name.to_lowercase().replace('_', "") == "exitplanmode"
}

/// The status of an item.
enum ItemStatus {
    /// Not done, in the words of the call: `in progress`.
    Open(String),
    Done,
    Dropped,
}

impl Plan {
    /// Updates the plan if the call carries one or an item of it. Returns whether it does.
    pub(super) fn update(&mut self, name: &str, given: &Value, result: Option<&str>, index: usize) -> bool {
        match name.to_lowercase().replace('_', "").as_str() {
            "taskcreate" => self.create_item(given, result, index),
            "taskupdate" => self.update_item(given, index),
            _ => self.replace(name, given, index),
        }
    }

    /// Restores an item from an earlier summary.
    pub(super) fn restore(&mut self, mut entry: RecordEntry) {
        let numbered = entry.text.strip_prefix('#').and_then(|rest| rest.split_once(' '));
        let numbered = numbered.filter(|(id, _)| id.bytes().all(|byte| byte.is_ascii_digit()));
        let numbered = numbered.map(|(id, text)| (id.to_owned(), text.to_owned()));
        let id = numbered.map(|(id, text)| {
            entry.text = text;
            id
        });
        self.items.push(PlanItem { id, entry });
    }

    /// Returns the items in order. Those with a number show it, by which whoever goes on can update them: `#3 Run the
    /// tests`.
    pub(super) fn into_entries(self) -> Vec<RecordEntry> {
        let numbered = |PlanItem { id, mut entry }: PlanItem| {
            if let Some(id) = id {
                entry.text = format!("#{id} {}", entry.text);
            }
            entry
        };
        self.items.into_iter().map(numbered).collect()
    }

    /// Replaces the plan by a list of items, each with its status.
    fn replace(&mut self, name: &str, given: &Value, index: usize) -> bool {
        let lists = given.as_object().into_iter().flat_map(|given| given.values());
        let Some(items) = lists.filter_map(Value::as_array).find(|items| !items.is_empty()) else {
            let empties = given.as_object().is_some_and(|given| given.values().any(Value::is_array));
            let is_plan = ["todo", "plan", "task"].iter().any(|word| name.to_lowercase().contains(word));
            if empties && is_plan {
                self.items.clear();
            }
            return empties && is_plan;
        };
        let mut plan = Vec::new();
        for item in items {
            let Some((text, status)) = argument(item, &TEXTS).zip(argument(item, &STATUSES)) else { continue };
            plan.extend(entry_for(&text, ItemStatus::parse(&status), index).map(|entry| PlanItem { id: None, entry }));
        }
        if plan.is_empty() {
            return false;
        }
        self.items = plan;
        true
    }

    /// Adds one item. Its number is in the result.
    fn create_item(&mut self, given: &Value, result: Option<&str>, index: usize) -> bool {
        let Some(text) = argument(given, &["subject", "title", "description"]) else { return false };
        let id = result.and_then(item_number);
        // A plan that is done makes room for the next one.
        if self.items.iter().all(|item| item.entry.kind == FactKind::Done) {
            self.items.clear();
        }
        let entry = entry_for(&text, ItemStatus::Open("pending".to_owned()), index);
        self.items.extend(entry.map(|entry| PlanItem { id, entry }));
        true
    }

    /// Updates one item by its number.
    fn update_item(&mut self, given: &Value, index: usize) -> bool {
        let Some(id) = number_in(given) else { return false };
        let Some(at) = self.items.iter().position(|item| item.id.as_ref() == Some(&id)) else { return true };
        let known = &self.items[at].entry;
        let text = argument(given, &["subject", "title"]).unwrap_or_else(|| known.text.clone());
        let status = match argument(given, &STATUSES) {
            Some(status) => ItemStatus::parse(&status),
            None if known.kind == FactKind::Done => ItemStatus::Done,
            None => ItemStatus::Open(known.about.clone()),
        };
        match entry_for(&text, status, index) {
            Some(entry) => self.items[at].entry = entry,
            None => drop(self.items.remove(at)),
        }
        true
    }
}

impl ItemStatus {
    fn parse(status: &str) -> ItemStatus {
        const DONE: [&str; 4] = ["completed", "done", "complete", "finished"];
        const DROPPED: [&str; 4] = ["cancelled", "canceled", "dropped", "deleted"];
        let status = status.to_lowercase().replace(['_', '-'], " ");
        match status.as_str() {
            done if DONE.contains(&done) => ItemStatus::Done,
            dropped if DROPPED.contains(&dropped) => ItemStatus::Dropped,
            _ => ItemStatus::Open(status),
        }
    }
}

/// Returns the entry of an item; `None` if it was dropped.
fn entry_for(text: &str, status: ItemStatus, index: usize) -> Option<RecordEntry> {
    let (kind, about) = match status {
        ItemStatus::Open(status) => (FactKind::Todo, status),
        ItemStatus::Done => (FactKind::Done, String::new()),
        ItemStatus::Dropped => return None,
    };
    Some(RecordEntry::new(kind, index, about, clip_to(text, LONGEST_ITEM)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan_after(calls: &[(&str, &str, &str)]) -> Vec<(FactKind, String, String)> {
        let mut plan = Plan::default();
        for (at, (name, given, result)) in calls.iter().enumerate() {
            let given: Value = serde_json::from_str(given).expect("JSON");
            assert!(plan.update(name, &given, Some(result), at), "{name}");
        }
        plan.into_entries().into_iter().map(|entry| (entry.kind, entry.about, entry.text)).collect()
    }

    #[test]
    fn items_are_created_and_updated_one_by_one() {
        let create = |subject: &str| format!(r#"{{"subject":"{subject}","description":"more on it"}}"#);
        let (one, two, three) = (create("Add the flag"), create("Run the tests"), create("Write docs"));
        let plan = plan_after(&[
            ("TaskCreate", &one, "Task #1 created successfully: Add the flag"),
            ("TaskCreate", &two, "Task #2 created successfully: Run the tests"),
            ("TaskCreate", &three, "Task #3 created successfully: Write docs"),
            ("TaskUpdate", r#"{"taskId":"1","status":"completed"}"#, "Updated task #1 status"),
            ("TaskUpdate", r#"{"taskId":"2","status":"in_progress"}"#, "Updated task #2 status"),
            ("TaskUpdate", r#"{"taskId":"3","status":"deleted"}"#, "Updated task #3 deleted"),
        ]);
        let entry = |kind, about: &str, text: &str| (kind, about.to_owned(), text.to_owned());
        assert_eq!(
            plan,
            [entry(FactKind::Done, "", "#1 Add the flag"), entry(FactKind::Todo, "in progress", "#2 Run the tests")]
        );
    }

    #[test]
    fn items_of_an_earlier_summary_keep_their_number() {
        let mut plan = Plan::default();
        plan.restore(RecordEntry::new(FactKind::Todo, 0, "pending".to_owned(), "#2 Run the tests".to_owned()));
        let given = serde_json::json!({"taskId": "2", "status": "completed"});
        assert!(plan.update("TaskUpdate", &given, Some(""), 1));
        let kinds: Vec<FactKind> = plan.into_entries().iter().map(|entry| entry.kind).collect();
        assert_eq!(kinds, [FactKind::Done]);
        for (result, number) in [
            ("Created \"Fix #42\" as task #8", Some("8")),
            (r#"{"task":{"id":"7"}}"#, Some("7")),
            (r#"{"id":6}"#, Some("6")),
            ("created", None),
        ] {
            assert_eq!(item_number(result).as_deref(), number, "{result}");
        }
    }

    #[test]
    fn a_new_plan_follows_one_that_is_done() {
        let plan = plan_after(&[
            ("TaskCreate", r#"{"subject":"Old"}"#, "Task #1 created"),
            ("TaskUpdate", r#"{"taskId":"1","status":"completed"}"#, ""),
            ("TaskCreate", r#"{"subject":"New"}"#, "Task #2 created"),
        ]);
        assert_eq!(plan, [(FactKind::Todo, "pending".to_owned(), "#2 New".to_owned())]);
    }

    #[test]
    fn a_list_replaces_the_plan() {
        let plan = plan_after(&[
            ("TodoWrite", r#"{"todos":[{"content":"a","status":"pending"},{"content":"b","status":"cancelled"}]}"#, ""),
            ("update_plan", r#"{"plan":[{"step":"c","status":"in_progress"}]}"#, ""),
        ]);
        assert_eq!(plan, [(FactKind::Todo, "in progress".to_owned(), "c".to_owned())]);
    }
}
