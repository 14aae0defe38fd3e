//! Puts back what a run took from a text that has grown since: entries stand behind those that the run left.
//!
//! Nothing is looked for. The text must begin with what the run left, value for value, and what the run changed beside its
//! lists must be as it was left. What is put back is proved too: by the hash of the original text where the bytes are still
//! those of the run, else by the hash of what the record holds.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::hash::sha256;
use crate::rewrite::elements::removal_edits;
use crate::rewrite::lists::{ChangedList, EntryBefore, OutsideValue, hash_before, only_value, value_at};
use crate::rewrite::restoring::{Record, RestoreError, restore_original};
use crate::rewrite::value_hash::{ListHash, SHORT, value_hash};
use crate::rewrite::{Edit, apply, sort};
use crate::transcript::Role;
use crate::transcript::formats;
use crate::transcript::json::{Json, JsonKind, Object};
use crate::transcript::source::Source;

/// A list of a text, with the hash of each entry.
#[derive(Debug, Default)]
pub struct HashedList<'a> {
    pub entries: Vec<Json<'a>>,
    pub hashes: Vec<String>,
}

impl HashedList<'_> {
    /// Whether the list begins with what a run left, or with what stood there before it. `wanted` are short hashes; none
    /// stands for any system message of the record's format.
    fn begins_with(&self, wanted: &[Option<String>], record: &Record) -> bool {
        self.number_same(0, wanted, record) == wanted.len()
    }

    /// How many entries, from an index on, are those with these short hashes.
    fn number_same(&self, first: usize, wanted: &[Option<String>], record: &Record) -> usize {
        for (index, wanted) in wanted.iter().enumerate() {
            if !self.is(first + index, wanted.as_deref(), record) {
                return index;
            }
        }
        wanted.len()
    }

    /// Whether an entry with one of these short hashes stands anywhere in the list.
    fn has_any(&self, wanted: &[Option<String>]) -> bool {
        let hashes: HashSet<&str> = self.hashes.iter().map(|hash| &hash[..SHORT]).collect();
        wanted.iter().flatten().any(|wanted| hashes.contains(&**wanted))
    }

    /// Whether an entry has a short hash; without one, whether it is a system message.
    fn is(&self, index: usize, wanted: Option<&str>, record: &Record) -> bool {
        match (self.hashes.get(index), wanted) {
            (None, _) => false,
            (Some(found), Some(wanted)) => found.starts_with(wanted),
            (Some(_), None) => self.entries.get(index).is_some_and(|entry| is_system(*entry, &record.format)),
        }
    }
}

/// Whether an entry is a system message of a format.
fn is_system(entry: Json<'_>, format: &str) -> bool {
    let Some(format) = formats::by_name(format) else { return false };
    format.read(&Object::of(entry)).is_ok_and(|message| matches!(message.role, Role::System | Role::Developer))
}

/// The short hashes of the entries that stood in a list before a run, as `left` of its record has those that it left; nothing
/// where the record does not hold them.
fn hashes_before(record: &Record) -> Option<Vec<Option<String>>> {
    let changed = record.changed.as_ref()?;
    let mut hashes = Vec::with_capacity(changed.before.len());
    for before in &changed.before {
        match before {
            EntryBefore::Left(index) => hashes.push(changed.left.get(*index)?.clone()),
            EntryBefore::Text(text) => hashes.push(Some(short_hash(text)?)),
            EntryBefore::Messages([first, count]) => {
                for message in record.messages.get(*first..first.checked_add(*count)?)? {
                    hashes.push(Some(short_hash(message)?));
                }
            }
        }
    }
    Some(hashes)
}

fn short_hash(text: &str) -> Option<String> {
    Some(hash_of_text(text)?[..SHORT].to_owned())
}

/// The hash of the value that a text is.
fn hash_of_text(text: &str) -> Option<String> {
    let source = Source::of(text).ok()?;
    Some(value_hash(source.first()?))
}

/// Whether a text still has what only this run left in it, although the run was not put back. `given` is the text as the
/// user has it, and `restored` is the text with other runs put back. The `proved` entries of the list are as one of these left
/// them: nobody changed what a later run left there.
pub fn has_traces(
    record: &Record,
    proved: &Range<usize>,
    given: &mut TextLists<'_>,
    restored: &mut TextLists<'_>,
) -> bool {
    let (Some(changed), Some(before)) = (&record.changed, hashes_before(record)) else { return false };
    if restored.begins_with_original(record) {
        return false;
    }
    let (left, pointer) = (&changed.left, changed.list.as_deref());
    let mut now: Vec<Option<String>> = Vec::new();
    for hash in &restored.at(pointer).hashes {
        now.push(Some(hash[..SHORT].to_owned()));
    }
    let has_now = known(&now);
    if known(left).difference(&known(&before)).any(|written| has_now.contains(written)) {
        return true;
    }
    // What stood between two entries is gone.
    let (pairs_left, pairs_before, pairs_now) = (neighbours(left), neighbours(&before), neighbours(&now));
    let is_joined = pairs_left.difference(&pairs_before).any(|pair| pairs_now.contains(pair));
    if is_joined && !pairs_before.difference(&pairs_left).any(|pair| pairs_now.contains(pair)) {
        return true;
    }
    goes_on_as_left(record, left, &before, proved, given.at(pointer), &has_now)
}

/// Whether one entry of the text that the user `given` was changed or removed, and from there on the text goes on as the run
/// `left` it, beyond what the run changed. `has_now` are the entries of the text with other runs put back.
fn goes_on_as_left(
    record: &Record,
    left: &[Option<String>],
    before: &[Option<String>],
    proved: &Range<usize>,
    given: &HashedList<'_>,
    has_now: &HashSet<&str>,
) -> bool {
    let first_changed = left.iter().zip(before).take_while(|(left, before)| left == before).count();
    let same = given.number_same(0, left, record);
    if proved.contains(&same) || same > first_changed {
        return false;
    }
    let Some(found) = given.hashes.get(same) else { return false };
    if !has_now.iter().any(|now| found.starts_with(now)) || given.number_same(same, &before[same..], record) > 0 {
        return false;
    }
    let left_behind = left.get(same + 1..).unwrap_or_default();
    let before_behind = before.get(same + 1..).unwrap_or_default();
    for at in [same, same + 1] {
        let number = given.number_same(at, left_behind, record);
        // An earlier copy that went on in another way can have one equal message ("ok") there. One message counts only where
        // the run left nothing else behind the entry.
        let is_enough = number > 1 || number == 1 && left_behind.len() == 1;
        if !is_enough || same + 1 + number <= first_changed {
            continue;
        }
        let is_as_before = same < first_changed && given.number_same(at, before_behind, record) >= number;
        if !is_as_before {
            return true;
        }
    }
    false
}

/// The short hashes of a list that are known.
fn known(hashes: &[Option<String>]) -> HashSet<&str> {
    hashes.iter().flatten().map(String::as_str).collect()
}

/// The entries that stand directly behind each other.
fn neighbours(hashes: &[Option<String>]) -> HashSet<(&str, &str)> {
    let mut pairs = HashSet::new();
    for two in hashes.windows(2) {
        if let [Some(one), Some(next)] = two {
            pairs.insert((&**one, &**next));
        }
    }
    pairs
}

/// The lists of a text at some pointers.
pub struct TextLists<'a> {
    /// The text itself: its source hides broken lines.
    text: &'a str,
    source: &'a Source<'a>,
    root: Option<Json<'a>>,
    lists: HashMap<Option<String>, HashedList<'a>>,
}

/// The first thing in a text that is not as a run left it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The number of entries in front of it that are.
    pub same: usize,
    /// Its name, such as `entry 3 of /messages`.
    pub what: String,
    /// Whether it is gone, rather than changed.
    pub is_missing: bool,
    /// Whether anything that the run left stands in the list at all.
    pub has_any: bool,
}

impl Difference {
    fn changed(same: usize, what: String) -> Self {
        Difference { same, what, is_missing: false, has_any: same > 0 }
    }

    /// Describes it, for a run of this time.
    pub fn sentence(&self, time: &str) -> String {
        let Difference { what, is_missing, .. } = self;
        if *is_missing {
            format!("{what}, which the run of {time} left, is missing")
        } else {
            format!("{what} is not as the run of {time} left it")
        }
    }
}

impl<'a> TextLists<'a> {
    pub fn new(text: &'a str, source: &'a Source<'a>) -> Self {
        TextLists { text, source, root: only_value(source), lists: HashMap::new() }
    }

    /// The list at a pointer; the values of the text where there is none. It is empty where no list stands there.
    pub fn at(&mut self, pointer: Option<&str>) -> &HashedList<'a> {
        let (source, root) = (self.source, self.root);
        self.lists.entry(pointer.map(str::to_owned)).or_insert_with(|| hashed_list(source, root, pointer))
    }

    /// Tells whether the text begins with what a run left, whose records these are.
    ///
    /// # Errors
    /// The first thing that differs.
    pub fn check(&mut self, records: &[Record]) -> Result<(), Difference> {
        for record in records {
            let Some(changed) = &record.changed else { continue };
            check_list(self.at(changed.list.as_deref()), changed, record)?;
            for value in &changed.outside {
                if self.hash_at(&value.pointer) != value.left {
                    return Err(Difference::changed(changed.left.len(), format!("the value at {}", value.pointer)));
                }
            }
        }
        Ok(())
    }

    /// The hash of the value that a pointer leads to.
    fn hash_at(&self, pointer: &str) -> Option<String> {
        Some(value_hash(value_at(self.root?, pointer)?))
    }

    /// Whether a list of the text begins with the entries that a run left.
    pub fn begins_with_left(&mut self, record: &Record) -> bool {
        let Some(changed) = &record.changed else { return false };
        self.at(changed.list.as_deref()).begins_with(&changed.left, record)
    }

    /// Whether the text begins with what stood there before a run, so that nothing is to be put back. Where the run only added
    /// something behind that, nothing tells.
    pub fn begins_with_original(&mut self, record: &Record) -> bool {
        let (Some(changed), Some(before)) = (&record.changed, hashes_before(record)) else { return false };
        let list = self.at(changed.list.as_deref());
        if !list.begins_with(&before, record) || before.len() < changed.left.len() && changed.left.starts_with(&before)
        {
            return false;
        }
        for value in &changed.outside {
            let before = value.before.as_deref().and_then(hash_of_text);
            if self.hash_at(&value.pointer) != before {
                return false;
            }
        }
        true
    }

    /// Puts back what a run took, whose records these are. The text must begin with what the run left. Returns the text before
    /// the run, and what has grown since behind it.
    ///
    /// # Errors
    /// The records do not fit, or do not give the original.
    pub fn put_back(&mut self, records: &[Record]) -> Result<String, RestoreError> {
        match self.put_back_bytes(records) {
            Some(text) => Ok(text),
            None => self.put_back_values(records),
        }
    }

    /// Puts back to the byte: without what has grown, the text is the one that the run wrote.
    fn put_back_bytes(&mut self, records: &[Record]) -> Option<String> {
        let text = self.text;
        let mut grown: Vec<(Option<&str>, Range<usize>)> = Vec::new();
        let mut cuts = Vec::new();
        for record in records {
            let changed = record.changed.as_ref()?;
            let list = self.at(changed.list.as_deref());
            let last_left = list.entries.get(changed.left.len().checked_sub(1)?)?;
            let range = last_left.span().end..list.entries.last()?.span().end;
            cuts.push(Edit { range: range.clone(), text: String::new() });
            grown.push((changed.list.as_deref(), range));
        }
        sort(&mut cuts);
        let without = apply(text, &cuts);
        let first = records.first()?;
        if sha256(without.as_bytes()) != first.result_sha256 {
            return None;
        }
        let original = restore_original(without.as_bytes(), first.line, records.to_vec()).ok()?;
        let original = String::from_utf8(original).ok()?;
        let source = Source::of_file(&original).ok()?;
        let mut lists = TextLists::new(&original, &source);
        let mut back = Vec::new();
        for (pointer, range) in grown {
            let end = lists.at(pointer).entries.last()?.span().end;
            back.push(Edit { range: end..end, text: text[range].to_owned() });
        }
        sort(&mut back);
        Some(apply(&original, &back))
    }

    /// Puts back value for value: a client wrote the document anew.
    fn put_back_values(&mut self, records: &[Record]) -> Result<String, RestoreError> {
        let text = self.text;
        let mut edits = Vec::new();
        for record in records {
            let changed = record.changed.as_ref().ok_or(RestoreError::DoesNotFit)?;
            let message = |index: usize| record.messages.get(index).map(String::as_str);
            if hash_before(&changed.before, &changed.outside, message).as_ref() != Some(&changed.before_sha256) {
                return Err(RestoreError::NotTheOriginal);
            }
            edits.push(self.put_back_entries(record).ok_or(RestoreError::DoesNotFit)?);
            for value in &changed.outside {
                edits.extend(self.put_back_outside(value).ok_or(RestoreError::DoesNotFit)?);
            }
        }
        sort(&mut edits);
        if !edits.windows(2).all(|two| two[0].range.end <= two[1].range.start) {
            return Err(RestoreError::DoesNotFit);
        }
        Ok(apply(text, &edits))
    }

    /// The edit that makes the entries of a list, which begins with those that the run left, as they were.
    fn put_back_entries(&mut self, record: &Record) -> Option<Edit> {
        let text = self.text;
        let changed = record.changed.as_ref()?;
        let list = self.at(changed.list.as_deref());
        let left = list.entries.get(..changed.left.len())?;
        let spans: Vec<Range<usize>> = left.iter().map(|entry| entry.span()).collect();
        let gap = separator(text, &list.entries, changed.list.is_some())?;
        let range = spans.first()?.start..spans.last()?.end;
        let entries = entries_before(record, text, &spans)?;
        Some(Edit { range, text: entries.join(gap) })
    }

    /// The edits that make a value outside of the lists as it was.
    fn put_back_outside(&self, value: &OutsideValue) -> Option<Vec<Edit>> {
        let root = self.root?;
        match (value_at(root, &value.pointer), &value.before) {
            (Some(now), Some(before)) => Some(vec![Edit { range: now.span(), text: before.clone() }]),
            (Some(now), None) => Some(removal_edits(self.text, &[now.span()])),
            (None, None) => Some(Vec::new()),
            (None, Some(before)) => {
                let (around, key) = value.pointer.rsplit_once('/')?;
                let around = value_at(root, around).filter(|around| around.kind() == JsonKind::Object)?;
                let key = serde_json::Value::from(key.replace("~1", "/").replace("~0", "~"));
                let (at, comma) = match around.entries().last() {
                    Some((_, last)) => (last.span().end, ", "),
                    None => (around.span().start + 1, ""),
                };
                Some(vec![Edit { range: at..at, text: format!("{comma}{key}: {before}") }])
            }
        }
    }
}

/// The list of a text at a pointer; its values where there is none.
fn hashed_list<'a>(source: &'a Source<'a>, root: Option<Json<'a>>, pointer: Option<&str>) -> HashedList<'a> {
    let mut entries: Vec<Json<'a>> = Vec::new();
    match pointer {
        None => entries.extend(source.values()),
        Some(pointer) => {
            if let Some(list) = root.and_then(|root| value_at(root, pointer)) {
                entries.extend(list.items());
            }
        }
    }
    let hashes = entries.iter().map(|entry| value_hash(*entry)).collect();
    HashedList { entries, hashes }
}

/// Tells whether a list begins with the entries that a run left.
fn check_list(list: &HashedList<'_>, changed: &ChangedList, record: &Record) -> Result<(), Difference> {
    let place = match changed.list.as_deref() {
        None | Some("") => String::new(),
        Some(pointer) => format!(" of {pointer}"),
    };
    let (mut whole, mut proved) = (ListHash::default(), false);
    for (index, left) in changed.left.iter().enumerate() {
        if !list.is(index, left.as_deref(), record) {
            if is_without_system(&changed.left, &list.hashes) {
                let what = format!("the system message in front{place}");
                return Err(Difference { same: index, what, is_missing: true, has_any: true });
            }
            let has_any = list.has_any(&changed.left);
            return Err(Difference { has_any, ..Difference::changed(index, format!("entry {index}{place}")) });
        }
        if left.is_some()
            && let Some(found) = list.hashes.get(index)
        {
            whole.add(found);
            proved = true;
        }
    }
    if proved && whole.end() == changed.left_sha256 {
        return Ok(());
    }
    Err(Difference::changed(0, format!("the list{place}")))
}

/// Whether a list begins with what a run left behind a system message that may differ.
fn is_without_system(left: &[Option<String>], hashes: &[String]) -> bool {
    let ([None, others @ ..], Some(first)) = (left, hashes.first()) else { return false };
    others.iter().flatten().any(|other| first.starts_with(&**other))
}

/// What separates the entries of a list in a text; nothing where something else stands between two of them, such as a broken
/// line.
fn separator<'a>(text: &'a str, entries: &[Json<'_>], is_array: bool) -> Option<&'a str> {
    let (comma, default) = if is_array { (",", ", ") } else { ("", "\n") };
    let mut first = None;
    for two in entries.windows(2) {
        let gap = &text[two[0].span().end..two[1].span().start];
        if gap.is_empty() || gap.trim_ascii() != comma {
            return None;
        }
        first = first.or(Some(gap));
    }
    Some(first.unwrap_or(default))
}

/// The entries of a list before a run: some stand in the text still, the record has the others. Nothing where tcompact cannot
/// have written the record: each entry stands there once, and in order.
fn entries_before<'r>(record: &'r Record, text: &'r str, left: &[Range<usize>]) -> Option<Vec<&'r str>> {
    let changed = record.changed.as_ref()?;
    let mut entries = Vec::with_capacity(changed.before.len());
    let (mut next_left, mut next_message) = (0, 0);
    for before in &changed.before {
        match before {
            EntryBefore::Left(index) if *index >= next_left => {
                entries.push(&text[left.get(*index)?.clone()]);
                next_left = index + 1;
            }
            EntryBefore::Messages([first, count]) if *first >= next_message => {
                next_message = first.checked_add(*count)?;
                entries.extend(record.messages.get(*first..next_message)?.iter().map(String::as_str));
            }
            EntryBefore::Text(entry) => entries.push(entry),
            EntryBefore::Left(_) | EntryBefore::Messages(_) => return None,
        }
    }
    if entries.is_empty() { None } else { Some(entries) }
}
