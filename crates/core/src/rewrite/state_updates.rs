//! Applies the updates of `LangGraph` in a list of messages: a `RemoveMessage` removes the message with its id, or all
//! messages before it, and a message with the id of an earlier one takes that one's place. Its reducer, `add_messages`,
//! does the same. A list without a `RemoveMessage` is a state, and stays as it is.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

use crate::rewrite::{Edit, elements, sort};
use crate::transcript::formats::Format;
use crate::transcript::framing::{Lines, lists};
use crate::transcript::json::{Json, JsonKind, Object};
use crate::transcript::list::List;
use crate::transcript::source::Source;

/// The id that means "all messages" to the reducer of a state of `LangGraph`.
pub const REMOVE_ALL: &str = "__remove_all__";

/// The updates in one list of messages.
#[derive(Debug)]
pub struct StateUpdates {
    /// The index of the conversation in its text.
    pub conversation: usize,
    /// The line of the conversation, if its text holds one a line.
    pub line: Option<usize>,
    /// Its place among the conversations that begin on that line, counted from 1.
    pub nth_of_line: usize,
    /// The number of messages that are removed.
    pub removed: usize,
    /// The number of messages that others replace.
    pub replaced: usize,
    /// The edits that apply the updates, in order.
    pub edits: Vec<Edit>,
    /// Where the list begins in its source.
    pub start: usize,
    /// Where its first entry begins.
    pub entry: usize,
}

/// A `RemoveMessage` for a message that the list does not have.
#[derive(Debug, PartialEq, Eq)]
pub struct UnknownId {
    /// The line of the conversation, if its text holds one a line.
    pub line: Option<usize>,
    /// The index of the entry in its list.
    pub index: usize,
    pub id: String,
}

/// Whether a text may have updates: a look at its bytes, so that few texts are parsed for it.
pub fn may_have_updates(text: &str) -> bool {
    // One search for what both names have.
    memchr::memmem::find_iter(text.as_bytes(), "emove").any(|at| {
        let (before, on) = (&text.as_bytes()[..at], &text.as_bytes()[at..]);
        before.ends_with(b"\"r") && on.starts_with(b"emove\"")
            || before.ends_with(b"R") && on.starts_with(b"emoveMessage")
    })
}

/// The updates in each list of a text that has any.
///
/// # Errors
/// A message is removed that the list does not have.
pub fn state_updates<'a>(
    json: &'a Source<'a>,
    from: Option<&'static Format>,
    lines: Option<Lines>,
) -> Result<Vec<StateUpdates>, UnknownId> {
    let mut updates = Vec::new();
    let (mut line, mut nth_of_line) = (None, 0);
    for (at, list) in lists(json, from, lines).into_iter().enumerate() {
        // Reading the text returns the error of a list that cannot be found.
        let Ok(list) = list else { continue };
        nth_of_line = if list.line == line { nth_of_line + 1 } else { 1 };
        line = list.line;
        if list.values.clone().any(|value| removed_id(value).is_some()) {
            updates.push(StateUpdates { nth_of_line, ..of_list(&json.text, at, &list)? });
        }
    }
    Ok(updates)
}

fn of_list(source: &str, conversation: usize, list: &List<'_>) -> Result<StateUpdates, UnknownId> {
    let values: Vec<Json<'_>> = list.values.clone().collect();
    // For each id, the place of its message.
    let mut places: HashMap<String, usize> = HashMap::new();
    // For each place, the message that takes it.
    let mut taken: BTreeMap<usize, usize> = BTreeMap::new();
    let mut removed: BTreeSet<usize> = BTreeSet::new();
    let mut entries: BTreeSet<usize> = BTreeSet::new();
    // The place behind the last entry that removes all.
    let mut start = 0;
    for (index, value) in values.iter().enumerate() {
        if let Some(id) = removed_id(*value) {
            entries.insert(index);
            if id == REMOVE_ALL {
                removed.extend((start..index).filter(|at| !entries.contains(at)));
                start = index + 1;
                taken.clear();
                places.clear();
            } else {
                let line = list.line;
                removed.insert(*places.get(&id).ok_or(UnknownId { line, index, id })?);
            }
        } else if let Some(id) = id_of(*value) {
            match places.get(&id) {
                None => drop(places.insert(id, index)),
                Some(&place) => {
                    // A message that is added again is not removed.
                    removed.remove(&place);
                    taken.insert(place, index);
                    entries.insert(index);
                }
            }
        }
    }
    let spans: BTreeSet<usize> = removed.iter().chain(&entries).copied().collect();
    let spans: Vec<Range<usize>> = spans.into_iter().map(|index| values[index].span()).collect();
    let mut edits = elements::removal_edits(source, &spans);
    // Lines of which none is left do not leave the end of the last one.
    if let [all] = edits.as_mut_slice()
        && [&source[..all.range.start], &source[all.range.end..]].iter().all(|rest| rest.trim_ascii().is_empty())
    {
        all.range.end = source.len();
    }
    taken.retain(|place, _| !removed.contains(place));
    edits.extend(
        taken.iter().map(|(&place, &by)| Edit { range: values[place].span(), text: values[by].raw().to_owned() }),
    );
    sort(&mut edits);
    let first = values.first().map_or(0, |first| first.span().start);
    let start = list.envelope.map_or_else(|| source[..first].rfind('[').unwrap_or(first), |around| around.span().start);
    let (removed, replaced) = (removed.len(), taken.len());
    Ok(StateUpdates { conversation, line: list.line, nth_of_line: 1, removed, replaced, edits, start, entry: first })
}

/// The id that a `RemoveMessage` names, in any encoding of `LangChain` or as a role; `None` for other values.
fn removed_id(value: Json<'_>) -> Option<String> {
    let is = |key: &str, name: &str| value.get_text(key).is_some_and(|text| text.is(name));
    let is_class = || value.get("id")?.items().last()?.text().filter(|class| class.is("RemoveMessage"));
    let is_removal = is("type", "remove") || is("role", "remove") || is("type", "constructor") && is_class().is_some();
    id_of(value).filter(|_| value.kind() == JsonKind::Object && is_removal)
}

fn id_of(value: Json<'_>) -> Option<String> {
    let members = Object::of(value);
    let inside = ["data", "kwargs"].iter().find_map(|key| members.get(key).filter(|at| at.kind() == JsonKind::Object));
    let id = inside.map_or_else(|| members.get("id"), |fields| fields.get("id"))?;
    id.text().filter(|id| !id.is_empty()).map(|id| id.decode().into_owned())
}
