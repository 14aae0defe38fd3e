//! Why a text cannot be restored, or not further, and what of it the archive does not have.

use std::collections::{BTreeMap, HashSet};

use anyhow::Result;

use crate::diagnostic::PROGRAM;
use crate::exit::Failure;
use crate::prune::SHOWN_BY;
use crate::rewrite::growth::{Difference, TextLists, has_traces};
use crate::rewrite::pieces;
use crate::rewrite::restoring::Record;
use crate::transcript::source::Source;
use crate::wording::NOTE;

use super::Restorer;
use super::rounds::{Rounds, run_of};
use super::text::Restored;
use super::which_run::has_same_name;

/// The most records that are looked at to tell why a text cannot be restored.
const MOST_EXPLAINED: usize = 16;

impl Restorer<'_, '_> {
    /// The id of a record that a note in the restored text names and that was not used.
    pub(super) fn named_and_not_used(
        &mut self,
        restored: &mut Restored<'_>,
        rounds: &Rounds,
    ) -> Result<Option<String>> {
        if !self.done.lines.is_empty() {
            return Ok(None);
        }
        restored.join();
        let text = String::from_utf8_lossy(&restored.text);
        let source = Source::of_file(&text);
        // Where the text cannot be read, nothing tells a quote.
        let mut lists = match &source {
            Ok(source) => Some(TextLists::new(&text, source)),
            Err(_) => None,
        };
        for id in named_ids(&text) {
            let places = self.archive.with_id(&id);
            for record in self.archive.read(&places)? {
                let is_quoted = match &mut lists {
                    Some(lists) => self.is_quoted(&record, lists, rounds),
                    None => false,
                };
                if !is_quoted && !rounds.used.contains(&run_of(&record)) {
                    return Ok(Some(id));
                }
            }
        }
        Ok(None)
    }

    /// Whether a note that names a record can only be a quote: its run was put back before, or it was on another file that
    /// begins otherwise.
    fn is_quoted(&self, record: &Record, lists: &mut TextLists<'_>, rounds: &Rounds) -> bool {
        if lists.begins_with_original(record) {
            return true;
        }
        let is_of_file = record.file() == self.file || rounds.files.contains(record.file());
        // Sessions of one agent can begin with the same instructions.
        !is_of_file && lists.check(std::slice::from_ref(record)).is_err_and(|difference| difference.same < 2)
    }

    /// The number of notes of pruned content in a text whose record the archive does not have.
    pub(super) fn notes_without_record(&self, restored: &Restored<'_>) -> usize {
        let finder = memchr::memmem::Finder::new(NOTE);
        let (mut notes, mut known) = (0, 0);
        for piece in pieces(&restored.text, &restored.edits) {
            notes += finder.find_iter(piece).count();
            for id in ids_of_notes(&String::from_utf8_lossy(piece)) {
                known += usize::from(!self.archive.with_id(&id).is_empty());
            }
        }
        notes.saturating_sub(known)
    }

    /// Why no record of this file, or of one of its rounds, restores a text: the first thing that is not as the last run left
    /// it. Nothing where the archive has no such record.
    pub(super) fn why_not(&mut self, text: &[u8], round: Option<u32>) -> Result<Option<String>> {
        let places =
            if self.own.is_empty() && round.is_none() { self.archive.last(MOST_EXPLAINED) } else { self.own.clone() };
        let places = &places[places.len().saturating_sub(MOST_EXPLAINED)..];
        let Ok(text) = str::from_utf8(text) else { return Ok(None) };
        let Ok(source) = Source::of_file(text) else { return Ok(None) };
        let mut lists = TextLists::new(text, &source);
        let mut nearest: Option<(Difference, String)> = None;
        for record in self.archive.read(places)? {
            let is_of_line = record.line.is_some() && source.values().nth(1).is_some();
            if is_of_line || round.is_some_and(|round| record.round != round) {
                continue;
            }
            if let Err(difference) = lists.check(std::slice::from_ref(&record))
                && nearest.as_ref().is_none_or(|(other, _)| other.same <= difference.same)
            {
                nearest = Some((difference, record.summarized_at));
            }
        }
        let Some((difference, time)) = nearest else { return Ok(None) };
        // A text that has nothing in common with a run is of another conversation.
        if !difference.has_any && self.own.is_empty() {
            return Ok(None);
        }
        Ok(Some(difference.sentence(&time)))
    }

    /// Why a text is not proved although runs were put back: another run on the same file left something that is still
    /// there, but not all of it. `given` is the text as the user has it.
    pub(super) fn edited_run(
        &mut self,
        given: &[u8],
        restored: &[u8],
        line: Option<usize>,
        rounds: &Rounds,
    ) -> Result<Option<String>> {
        let (Ok(given), Ok(restored)) = (str::from_utf8(given), str::from_utf8(restored)) else { return Ok(None) };
        let mut places = BTreeMap::new();
        for file in rounds.files.iter().map(String::as_str).chain([self.file]) {
            for place in self.archive.of_file(file, line) {
                places.insert(place.line, place);
            }
        }
        let last_time = rounds.last.as_ref().map(|last| last.time.as_str()).unwrap_or_default();
        let mut unused = Vec::new();
        for place in places.into_values() {
            for record in self.archive.read(&[place])? {
                // Those before stay where fewer rounds are asked for.
                let is_asked_for = rounds.take(&record) || *record.summarized_at > *last_time;
                if is_asked_for && !rounds.used.contains(&run_of(&record)) {
                    unused.push(record);
                }
            }
        }
        if unused.is_empty() {
            return Ok(None);
        }
        let (Ok(given_source), Ok(source)) = (Source::of_file(given), Source::of_file(restored)) else {
            return Ok(None);
        };
        let has_values = source.values().nth(1).is_some();
        let (mut given, mut restored) = (TextLists::new(given, &given_source), TextLists::new(restored, &source));
        let later = unused.iter().filter(|record| *record.summarized_at > *last_time);
        let first_later = later.map(|record| record.number).min();
        for record in unused {
            let is_of_line = line.is_none() && record.line.is_some() && has_values;
            let list = record.changed.as_ref().and_then(|changed| changed.list.as_deref());
            if is_of_line || !has_traces(&record, &rounds.proved_in(list), &mut given, &mut restored) {
                continue;
            }
            let time = &record.summarized_at;
            let records = std::slice::from_ref(&record);
            let mut why = match (given.check(records), restored.check(records)) {
                (Err(given), Err(restored)) if restored.same > given.same => restored.sentence(time),
                (Err(given), _) => given.sentence(time),
                (Ok(()), _) => format!("what the run of {time} left is not all that it is put back from"),
            };
            let later = rounds.run_times.iter().filter(|other| *other > time).count();
            if later > 0 {
                why += &format!("; --rounds {later} takes back the later ones");
            } else if !has_same_name(record.file(), self.file) {
                why += &format!(
                    "; its record names {}, and a copy of that file comes back under that name",
                    record.file()
                );
            } else if let Some(line) = first_later
                && line > rounds.last_line
            {
                why += &format!(
                    "; if the text goes on from a copy of before that run, name a copy of the archive that ends with line {}",
                    line - 1
                );
            }
            return Ok(Some(why));
        }
        Ok(None)
    }

    /// The error that nothing of a text is put back.
    pub(super) fn no_record(&mut self, text: &[u8]) -> Result<Failure> {
        let name = self.name;
        if self.archive.is_original(text) {
            let mut message = format!("{name}: it is as it was before it was compacted; nothing is to be put back");
            if let Some(damage) = self.archive.damaged() {
                message += &format!("; {damage}");
            }
            return Ok(Failure::unreadable(message));
        }
        if let Some(time) = &self.done.undone_before {
            let message = format!(
                "{name}: it begins with what stood there before the run of {time}, which counts as put back; nothing is to be put back"
            );
            return Ok(Failure::unreadable(message));
        }
        let mut message = self.archive.no_record_message(name);
        if let Some(why) = self.why_not(text, None)? {
            message += &format!("; {why}");
        }
        Ok(Failure::unreadable(message))
    }
}

/// The ids of records that notes of pruned content in a text name, each as often as it stands there.
fn ids_of_notes(text: &str) -> Vec<String> {
    ids_behind(text, &format!("{SHOWN_BY}{PROGRAM} show "), "")
}

/// The ids of records that the notes of pruned results and of summaries in a text name.
fn named_ids(text: &str) -> HashSet<String> {
    let mut ids: HashSet<String> = ids_of_notes(text).into_iter().collect();
    ids.extend(ids_behind(text, "; it is kept in ", " as "));
    ids.extend(ids_behind(text, " finds what this summarizes", " (record "));
    ids
}

/// The ids behind two words, of which the second stands somewhere near behind the first.
fn ids_behind(text: &str, before: &str, behind: &str) -> Vec<String> {
    const DIGITS: usize = 8;
    /// The bytes within which the second word stands.
    const FARTHEST: usize = 4096;
    let mut ids = Vec::new();
    for (at, _) in text.match_indices(before) {
        let rest = &text[at + before.len()..];
        let Some(start) = rest.find(behind) else { continue };
        if start >= FARTHEST {
            continue;
        }
        if let Some(id) = rest[start + behind.len()..].get(..DIGITS)
            && id.bytes().all(|byte| byte.is_ascii_hexdigit())
        {
            ids.push(id.to_owned());
        }
    }
    ids
}
