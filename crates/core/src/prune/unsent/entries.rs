//! Which entries go whole: those that a format's table names, and those that were sent and no longer are.
//!
//! An entry that another one names as its parent stays, since the agent goes from entry to entry. What is in it goes.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::rewrite::Style;
use crate::transcript::Transcript;
use crate::transcript::edit::Edit;
use crate::transcript::json::{Json, JsonKind};
use crate::transcript::unsent_forms::{LastEntry, UnsentEntry, UnsentForms, meets};

/// What becomes of an entry that is not a message.
#[derive(Debug, Clone)]
pub(super) enum EntryFate {
    Stays,
    /// It goes, or becomes an empty entry. People call it by a label.
    Changes(&'static str, Edit),
}

/// What people call entries that were sent and no longer are.
pub(super) const NO_LONGER_SENT: &str = "what is no longer sent";
/// The bytes that an empty entry must save at least.
const LEAST_SAVED: usize = 100;

/// What becomes of each note of a transcript, in order. Entries that were sent once go only into an archive.
pub(super) fn fates(transcript: &Transcript<'_>, has_archive: bool) -> Vec<EntryFate> {
    let forms = &transcript.format.unsent;
    let mut fates = vec![EntryFate::Stays; transcript.notes.len()];
    let were_sent =
        if has_archive { starts(&transcript.format.session.no_longer_loaded(transcript)) } else { HashSet::new() };
    if forms.entries.is_empty() && were_sent.is_empty() {
        return fates;
    }
    let mut goes: Vec<Option<&'static str>> = vec![None; transcript.notes.len()];
    for form in forms.entries {
        mark(transcript, form, &mut goes);
    }
    for (index, note) in transcript.notes.iter().enumerate() {
        if were_sent.contains(&note.json.span().start) {
            goes[index] = Some(NO_LONGER_SENT);
        }
    }
    keep_ids_of_others(transcript, &mut goes);
    let stays_named = named_by_others(transcript, forms, &goes);
    for (index, note) in transcript.notes.iter().enumerate() {
        let start = note.json.span().start;
        let Some(label) = goes[index] else { continue };
        let edit = if !stays_named.contains(&start) {
            removed_line(transcript.source, &note.json.span())
        } else if were_sent.contains(&start) {
            emptied(transcript, note.json)
        } else {
            None
        };
        if let Some(edit) = edit {
            fates[index] = EntryFate::Changes(label, edit);
        }
    }
    fates
}

/// Keeps the notes that have the id of an entry that stays: of entries with one id, agents take the parent of the first or
/// the last.
fn keep_ids_of_others(transcript: &Transcript<'_>, goes: &mut [Option<&'static str>]) {
    let Some(keys) = transcript.format.unsent.links else { return };
    let mut ids = HashSet::new();
    for message in &transcript.messages {
        ids.extend(message.json.get_text(keys.id).map(|id| id.decode()));
    }
    for (note, goes) in transcript.notes.iter().zip(&*goes) {
        if goes.is_none() {
            ids.extend(note.json.get_text(keys.id).map(|id| id.decode()));
        }
    }
    for (note, goes) in transcript.notes.iter().zip(goes) {
        if goes.is_some() && note.json.get_text(keys.id).is_some_and(|id| ids.contains(&id.decode())) {
            *goes = None;
        }
    }
}

fn starts(entries: &[Json<'_>]) -> HashSet<usize> {
    entries.iter().map(|entry| entry.span().start).collect()
}

/// Marks the notes of a kind that go.
fn mark(transcript: &Transcript<'_>, form: &UnsentEntry, goes: &mut [Option<&'static str>]) {
    let mut last = None;
    for (index, note) in transcript.notes.iter().enumerate() {
        if !meets(note.json, form.is) || has_value(note.json, form.stays_with) {
            continue;
        }
        goes[index] = Some(form.label());
        last = Some(index);
    }
    if form.last == LastEntry::Stays
        && let Some(last) = last
    {
        goes[last] = None;
    }
}

/// Whether an entry has the value with which it stays.
pub(super) fn has_value(entry: Json<'_>, path: Option<&[&str]>) -> bool {
    let Some(path) = path else { return false };
    entry.at(path).is_some_and(|value| value.kind() != JsonKind::Null)
}

/// Where the entries begin that are to go and that others name as their parents: those that stay name them, or others that
/// are named.
fn named_by_others(transcript: &Transcript<'_>, forms: &UnsentForms, goes: &[Option<&'static str>]) -> HashSet<usize> {
    let mut named = HashSet::new();
    let Some(keys) = forms.links else { return named };
    let mut by_id: HashMap<Cow<'_, str>, Vec<Json<'_>>> = HashMap::new();
    let mut open: Vec<Json<'_>> = transcript.messages.iter().map(|message| message.json).collect();
    for (note, goes) in transcript.notes.iter().zip(goes) {
        match note.json.get_text(keys.id) {
            Some(id) if goes.is_some() => by_id.entry(id.decode()).or_default().push(note.json),
            _ if goes.is_none() => open.push(note.json),
            _ => {}
        }
    }
    while let Some(entry) = open.pop() {
        let Some(parent) = entry.get_text(keys.parent) else { continue };
        for parent in by_id.remove(&parent.decode()).unwrap_or_default() {
            named.insert(parent.span().start);
            open.push(parent);
        }
    }
    named
}

/// The edit that leaves of an entry only what links it.
fn emptied(transcript: &Transcript<'_>, entry: Json<'_>) -> Option<Edit> {
    let empty = transcript.format.session.placeholder(entry)?;
    let text = Style::beside(transcript, 0, transcript.is_ascii()).write(&empty);
    if text.len() + LEAST_SAVED > entry.raw().len() {
        return None;
    }
    Some(Edit { range: entry.span(), text })
}

/// The edit that removes the line of an entry; none where something else stands on the line, or where the entry is an
/// element of a list, whose commas would stay.
pub(super) fn removed_line(source: &str, span: &Range<usize>) -> Option<Edit> {
    let start = source[..span.start].rfind('\n').map_or(0, |at| at + 1);
    let end = source[span.end..].find('\n').map_or(source.len(), |at| span.end + at + 1);
    let is_alone = source[start..span.start].trim().is_empty() && source[span.end..end].trim().is_empty();
    let is_element =
        source[..start].trim_end().ends_with(['[', ',']) || source[end..].trim_start().starts_with([']', ',']);
    if is_alone && !is_element { Some(Edit { range: start..end, text: String::new() }) } else { None }
}
