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
    for at in memchr::memmem::find_iter(text.as_bytes(), "emove") {
        let (before, on) = (&text.as_bytes()[..at], &text.as_bytes()[at..]);
        if before.ends_with(b"\"r") && on.starts_with(b"emove\"")
            || before.ends_with(b"R") && on.starts_with(b"emoveMessage")
        {
            return true;
        }
    }
    false
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
        && source[..all.range.start].trim_ascii().is_empty()
        && source[all.range.end..].trim_ascii().is_empty()
    {
        all.range.end = source.len();
    }
    taken.retain(|place, _| !removed.contains(place));
    for (&place, &by) in &taken {
        edits.push(Edit { range: values[place].span(), text: values[by].raw().to_owned() });
    }
    sort(&mut edits);
    let entry = values.first().map_or(0, |first| first.span().start);
    let start = match list.envelope {
        Some(envelope) => envelope.span().start,
        None => source[..entry].rfind('[').unwrap_or(entry),
    };
    let (removed, replaced) = (removed.len(), taken.len());
    Ok(StateUpdates { conversation, line: list.line, nth_of_line: 1, removed, replaced, edits, start, entry })
}

/// The id that a `RemoveMessage` names, in any encoding of `LangChain` or as a role; `None` for other values.
fn removed_id(value: Json<'_>) -> Option<String> {
    if value.kind() == JsonKind::Object && is_removal(value) { id_of(value) } else { None }
}

/// Whether an object is a `RemoveMessage`.
fn is_removal(object: Json<'_>) -> bool {
    let kind = object.get_text("type");
    if kind.is_some_and(|kind| kind.is("remove")) || object.get_text("role").is_some_and(|role| role.is("remove")) {
        return true;
    }
    kind.is_some_and(|kind| kind.is("constructor")) && is_of_class(object, "RemoveMessage")
}

/// Whether an object has a class. The serializer of `LangChain` writes it as the last element of a list named `id`.
fn is_of_class(object: Json<'_>, name: &str) -> bool {
    let Some(path) = object.get("id") else { return false };
    let Some(class) = path.items().last() else { return false };
    class.text().is_some_and(|class| class.is(name))
}

/// The id of a message, which stands inside `data` or `kwargs` where it has one of these.
fn id_of(value: Json<'_>) -> Option<String> {
    let members = Object::of(value);
    let mut id = members.get("id");
    for key in ["data", "kwargs"] {
        if let Some(fields) = members.get(key)
            && fields.kind() == JsonKind::Object
        {
            id = fields.get("id");
            break;
        }
    }
    let id = id?.text()?;
    if id.is_empty() { None } else { Some(id.decode().into_owned()) }
}
