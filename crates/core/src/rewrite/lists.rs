//! What a run left in the lists of a text, and what stood there before.
//!
//! A client that goes on with a conversation adds entries behind those that the run left, and may write the whole document
//! anew. No hash of the text proves it then, but hashes of the values that it begins with do.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::hash::Hasher;
use crate::rewrite::value_hash::{ListHash, SHORT, value_hash};
use crate::transcript::json::{Items, Json, JsonKind};
use crate::transcript::source::Source;

/// One list as a run left it, and as it was before. The key of each field in a record is its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedList {
    /// The JSON pointer to the list. Without it, the values of the text are the list, one a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<String>,
    /// The hash of the hashes of the entries that the run left.
    pub left_sha256: String,
    /// For each of these entries, the first 16 digits of its hash; nothing for a system message in front that no run touched:
    /// it may differ.
    pub left: Vec<Option<String>>,
    /// The entries that stood there before.
    pub before: Vec<EntryBefore>,
    /// The hash of those, and of `outside`, as [`hash_before`] makes it.
    pub before_sha256: String,
    /// The values beside the lists of the text that the run changed. Of several lists, the first one has them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outside: Vec<OutsideValue>,
    /// The number of lists in the text that the run changed, where there are several.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub lists: usize,
    /// For each text of `before`, its index there and its span in the text.
    #[serde(skip)]
    pub text_spans: Vec<(usize, Range<usize>)>,
}

fn one() -> usize {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_one(number: &usize) -> bool {
    *number == 1
}

/// Entries of a list before a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum EntryBefore {
    /// The entry with this index in what the run left.
    Left(usize),
    /// The messages of the record from the first index on, as many as the second number says.
    Messages([usize; 2]),
    /// Another entry, as it was written.
    Text(String),
}

/// A value beside the lists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutsideValue {
    /// The JSON pointer to it.
    pub pointer: String,
    /// The hash of the value that the run left; nothing where it left none.
    pub left: Option<String>,
    /// The value before, as it was written; nothing where there was none.
    pub before: Option<String>,
}

/// A list of a text that a run changes.
#[derive(Debug)]
pub struct ListPlace<'c> {
    /// Where one of its entries begins in the text.
    pub entry: usize,
    /// The spans of the messages that its record holds, in order, in the source of which the text is a part.
    pub messages: &'c [Range<usize>],
    /// Where the text begins in that source.
    pub text_start: usize,
    /// Whether the first entry is a system message.
    pub has_system: bool,
}

impl ListPlace<'_> {
    /// The span in the text of the message with this index in the record.
    fn message(&self, index: usize) -> Option<Range<usize>> {
        let span = self.messages.get(index)?;
        Some(span.start - self.text_start..span.end - self.text_start)
    }
}

/// Compares a text with what a run left of it. `edits` are the ranges of the text that the run changed, in order. Returns
/// what it changed in each list of `places`, which are in order; nothing where one of them is no list of the text, such as
/// messages in a tree.
pub fn changed_lists(
    before: &str,
    left: &str,
    edits: &[Range<usize>],
    places: &[ListPlace<'_>],
) -> Option<Vec<ChangedList>> {
    let text = before;
    let (before, left) = (Source::of_file(before).ok()?, Source::of_file(left).ok()?);
    let mut comparison = Comparison { places, lists: BTreeMap::new(), outside: Vec::new() };
    if let [place] = places
        && before.values().any(|value| value.span().start == place.entry)
    {
        let list = ComparedList { pointer: None, before: before.values(), left: left.values().collect() };
        comparison.lists.insert(0, list);
    } else {
        let (before, left) = (only_value(&before)?, only_value(&left)?);
        comparison.compare(before, left, &mut String::new())?;
    }
    if comparison.lists.len() != places.len() {
        return None;
    }
    let mut changed = Vec::new();
    let mut outside = comparison.outside;
    for (place, list) in places.iter().zip(comparison.lists.into_values()) {
        // The first list has what is outside of all.
        let outside = std::mem::take(&mut outside);
        changed.push(list.changed(text, place, edits, outside, places.len())?);
    }
    Some(changed)
}

/// The value of a text that has only one.
pub fn only_value<'s>(source: &'s Source<'_>) -> Option<Json<'s>> {
    let mut values = source.values();
    let first = values.next()?;
    if values.next().is_some() { None } else { Some(first) }
}

/// A list before a run and after it.
struct ComparedList<'a> {
    pointer: Option<String>,
    before: Items<'a>,
    left: Vec<Json<'a>>,
}

/// The comparison of a document with what a run left of it.
struct Comparison<'p, 'a> {
    places: &'p [ListPlace<'p>],
    /// The lists by the index of their place.
    lists: BTreeMap<usize, ComparedList<'a>>,
    outside: Vec<OutsideValue>,
}

impl<'a> Comparison<'_, 'a> {
    /// Compares two values at the same pointer. Returns nothing where the lists inside of them cannot be told.
    fn compare(&mut self, before: Json<'a>, left: Json<'a>, pointer: &mut String) -> Option<()> {
        let span = before.span();
        let first = self.places.partition_point(|place| place.entry < span.start);
        let inside = self.places[first..].partition_point(|place| place.entry < span.end);
        if inside == 0 {
            self.compare_outside(Some(before), Some(left), pointer);
            return Some(());
        }
        match (before.kind(), left.kind()) {
            (JsonKind::Object, JsonKind::Object) => self.compare_members(before, left, pointer),
            (JsonKind::Array, JsonKind::Array) => {
                let before = before.items();
                let left: Vec<Json<'a>> = left.items().collect();
                let entry = self.places[first].entry;
                if before.clone().any(|item| item.span().start == entry) {
                    let list = ComparedList { pointer: Some(pointer.clone()), before, left };
                    self.lists.insert(first, list);
                    // Two lists of which one is inside the other cannot be told apart.
                    return if inside == 1 { Some(()) } else { None };
                }
                if before.clone().count() != left.len() {
                    return None;
                }
                for (index, (before, left)) in before.zip(left).enumerate() {
                    let length = pointer.len();
                    push_step(pointer, &index.to_string());
                    self.compare(before, left, pointer)?;
                    pointer.truncate(length);
                }
                Some(())
            }
            _ => None,
        }
    }

    /// Compares the members of two objects, of which the first one holds a list.
    fn compare_members(&mut self, before: Json<'a>, left: Json<'a>, pointer: &mut String) -> Option<()> {
        let (before, mut left) = (members(before), members(left));
        for (key, before) in before {
            let length = pointer.len();
            push_step(pointer, &key);
            match left.remove(&key) {
                Some(left) => self.compare(before, left, pointer)?,
                None => self.compare_outside(Some(before), None, pointer),
            }
            pointer.truncate(length);
        }
        for (key, left) in left {
            let length = pointer.len();
            push_step(pointer, &key);
            self.compare_outside(None, Some(left), pointer);
            pointer.truncate(length);
        }
        Some(())
    }

    /// Notes what differs in two values that hold no list.
    fn compare_outside(&mut self, before: Option<Json<'a>>, left: Option<Json<'a>>, pointer: &mut String) {
        if before.map(|value| value.raw()) == left.map(|value| value.raw()) {
            return;
        }
        if let (Some(before), Some(left)) = (before, left)
            && (before.kind(), left.kind()) == (JsonKind::Object, JsonKind::Object)
        {
            // Without a list inside, any two objects can be compared.
            let _ = self.compare_members(before, left, pointer);
            return;
        }
        self.outside.push(OutsideValue {
            pointer: pointer.clone(),
            left: left.map(value_hash),
            before: before.map(|value| value.raw().to_owned()),
        });
    }
}

/// The members of an object by their keys.
fn members<'a>(object: Json<'a>) -> BTreeMap<Cow<'a, str>, Json<'a>> {
    object.entries().map(|(key, value)| (key.decode(), value)).collect()
}

/// Adds a step to a JSON pointer (RFC 6901).
fn push_step(pointer: &mut String, step: &str) {
    pointer.push('/');
    pointer.push_str(&step.replace('~', "~0").replace('/', "~1"));
}

/// The value that a JSON pointer leads to.
pub fn value_at<'a>(root: Json<'a>, pointer: &str) -> Option<Json<'a>> {
    if pointer.is_empty() {
        return Some(root);
    }
    let mut value = root;
    for step in pointer.strip_prefix('/')?.split('/') {
        let step = step.replace("~1", "/").replace("~0", "~");
        value = match value.kind() {
            JsonKind::Object => value.get(&step)?,
            JsonKind::Array => value.items().nth(step.parse().ok()?)?,
            _ => return None,
        };
    }
    Some(value)
}

impl ComparedList<'_> {
    fn changed(
        self,
        text: &str,
        place: &ListPlace<'_>,
        edits: &[Range<usize>],
        outside: Vec<OutsideValue>,
        lists: usize,
    ) -> Option<ChangedList> {
        let mut before = Vec::new();
        let mut next = 0;
        let mut next_message = 0;
        let mut text_spans = Vec::new();
        let mut may_differ = false;
        for (index, entry) in self.before.enumerate() {
            let span = entry.span();
            let message = loop {
                match place.message(next_message) {
                    Some(message) if message.start < span.start => next_message += 1,
                    Some(message) if message == span => break Some(next_message),
                    _ => break None,
                }
            };
            if is_untouched(&span, edits) {
                // What no run touched stands in the same order as before.
                while self.left.get(next)?.raw() != entry.raw() {
                    next += 1;
                }
                may_differ |= index == 0 && next == 0 && place.has_system && self.left.len() > 1;
                before.push(EntryBefore::Left(next));
                next += 1;
                continue;
            }
            match (message, before.last_mut()) {
                (Some(at), Some(EntryBefore::Messages([first, count]))) if *first + *count == at => *count += 1,
                (Some(at), _) => before.push(EntryBefore::Messages([at, 1])),
                (None, _) => {
                    text_spans.push((before.len(), span));
                    before.push(EntryBefore::Text(entry.raw().to_owned()));
                }
            }
        }
        let before_sha256 = hash_before(&before, &outside, |index| place.message(index).map(|span| &text[span]))?;
        let mut left = Vec::with_capacity(self.left.len());
        let mut left_hash = ListHash::default();
        for (index, entry) in self.left.into_iter().enumerate() {
            if index == 0 && may_differ {
                left.push(None);
                continue;
            }
            let hash = value_hash(entry);
            left_hash.add(&hash);
            left.push(Some(hash[..SHORT].to_owned()));
        }
        Some(ChangedList {
            list: self.pointer,
            left,
            left_sha256: left_hash.end(),
            before,
            before_sha256,
            outside,
            lists,
            text_spans,
        })
    }
}

/// Whether none of the edited ranges, which are in order, touches an entry.
fn is_untouched(entry: &Range<usize>, edits: &[Range<usize>]) -> bool {
    let next = edits.partition_point(|edit| edit.end <= entry.start);
    edits.get(next).is_none_or(|edit| edit.start >= entry.end)
}

/// The hash of what a record puts back: entries, and values outside of the list. `message` is the text of the message with an
/// index in the record. Nothing where one is not there.
pub fn hash_before<'t>(
    before: &[EntryBefore],
    outside: &[OutsideValue],
    message: impl Fn(usize) -> Option<&'t str>,
) -> Option<String> {
    let mut hasher = Hasher::default();
    for entry in before {
        match entry {
            EntryBefore::Left(index) => add_text(&mut hasher, "left", &index.to_string()),
            EntryBefore::Text(text) => add_text(&mut hasher, "entry", text),
            EntryBefore::Messages([first, count]) => {
                for index in *first..first.checked_add(*count)? {
                    add_text(&mut hasher, "entry", message(index)?);
                }
            }
        }
    }
    for OutsideValue { pointer, left, before } in outside {
        add_text(&mut hasher, "at", pointer);
        for value in [left, before] {
            match value {
                Some(text) => add_text(&mut hasher, "value", text),
                None => add_text(&mut hasher, "none", ""),
            }
        }
    }
    Some(hasher.end())
}

/// Adds a text with its kind and length, so that no two lists of texts are hashed alike.
fn add_text(hasher: &mut Hasher, kind: &str, text: &str) {
    hasher.add(format!("{kind} {} ", text.len()).as_bytes());
    hasher.add(text.as_bytes());
}
