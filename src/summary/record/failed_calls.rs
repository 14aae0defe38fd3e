//! The failed calls of tools that are no shell: a page that could not be fetched, a booking that was refused.

use std::collections::HashMap;

use serde_json::Value;

use crate::summary::record::history_turns::ToolCall;
use crate::summary::record::{FactKind, RecordEntry};

/// Opens the text of an entry.
const FAILED: &str = "failed: ";

/// The last failed call of each tool, with its arguments.
#[derive(Default)]
pub(super) struct FailedCalls {
    by_tool: HashMap<String, (RecordEntry, Value)>,
}

impl FailedCalls {
    /// Notes the end of a call. A failure stays until a call of the tool about the same thing succeeds. Returns
    /// whether the call failed.
    pub(super) fn update(
        &mut self,
        call: &ToolCall<'_>,
        given: &Value,
        label: &str,
        failure: Option<&str>,
        index: usize,
    ) -> bool {
        if let Some(reason) = failure {
            const WEIGHT: f64 = 3.0;
            let mut entry = RecordEntry::new(FactKind::Error, index, label.to_owned(), format!("{FAILED}{reason}"));
            entry.weight = WEIGHT;
            self.by_tool.insert(call.name.clone().into_owned(), (entry, given.clone()));
            return true;
        }
        if let Some((entry, known)) = self.by_tool.get(&*call.name)
            && (entry.about == label || is_about_the_same(known, given))
        {
            self.by_tool.remove(&*call.name);
        }
        false
    }

    /// Whether an entry of an earlier summary is the failed call of a tool: `fetch(url)`. A command has a space before
    /// its brackets.
    pub(super) fn is_one(entry: &RecordEntry) -> bool {
        let tool = entry.about.split_once('(').map_or("", |(tool, _)| tool);
        !tool.is_empty() && !tool.contains(' ') && entry.text.starts_with(FAILED)
    }

    /// Restores a call of an earlier summary.
    pub(super) fn restore(&mut self, entry: RecordEntry) {
        let tool = entry.about.split('(').next().unwrap_or_default().to_owned();
        self.by_tool.insert(tool, (entry, Value::Null));
    }

    pub(super) fn into_entries(self) -> impl Iterator<Item = RecordEntry> {
        self.by_tool.into_values().map(|(entry, _)| entry)
    }
}

/// Whether two calls of a tool are about the same thing: they share what identifies it, under whatever name, and nothing
/// of the same name identifies another. Without such an argument, any argument that they share will do.
fn is_about_the_same(one: &Value, other: &Value) -> bool {
    fn values(given: &Value) -> impl Iterator<Item = (&String, &Value)> {
        given.as_object().into_iter().flatten()
    }
    let identifies = |value: &Value| match value {
        Value::Number(number) => number.as_u64().is_some_and(|number| number > 999),
        Value::String(text) => !text.contains(' ') && text.contains(|c: char| c.is_ascii_digit() || "/@_".contains(c)),
        _ => false,
    };
    let mut identifiers = values(one).filter(|(_, value)| identifies(value)).peekable();
    if identifiers.peek().is_none() {
        return values(one).any(|(name, value)| other.get(name) == Some(value));
    }
    let differs = |name: &String, value: &Value| other.get(name).is_some_and(|known| known != value);
    let mut shares = false;
    for (name, value) in identifiers {
        if differs(name, value) {
            return false;
        }
        shares |= values(other).any(|(_, known)| known == value);
    }
    shares
}
