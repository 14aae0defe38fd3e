//! What goes of a session that is read line by line, because the file is too large to be held in memory.
//!
//! Most of what is not sent is told by a line alone. What needs the end of the file is found by a first look for a few
//! words ([`SessionEnd`]). What would need all lines at once stays: branches that were left, and lines with an id, which
//! another line may name as its parent.

use std::collections::HashMap;

use memchr::memmem;

use crate::prune::Rule;
use crate::transcript::Message;
use crate::transcript::format::Format;
use crate::transcript::framing::{self, ReadError};
use crate::transcript::json::{Json, Object};
use crate::transcript::line_replay::LineStep;
use crate::transcript::source::Source;
use crate::transcript::unsent_forms::{LastEntry, UnsentEntry, UnsentMember, meets};
use crate::transcript::users_words::may_ask_user;

use super::entries::{EntryFate, NO_LONGER_SENT, has_value, removed_line};
use super::spared::is_of_user;
use super::{FormattedText, UnsentChange, UnsentRules, change_of_message, change_of_note, unsent_rule};

/// What only the end of a session tells. It is found without reading all lines as JSON.
#[derive(Debug)]
pub struct SessionEnd {
    format: &'static Format,
    /// The last compaction.
    compaction: Option<LastCompaction>,
    /// For each kind of entries whose last one stays, where that begins, in bytes of the file.
    last_of_kinds: Vec<(&'static UnsentEntry, Option<u64>)>,
}

#[derive(Debug, Clone, Copy)]
struct LastCompaction {
    /// Where its line begins, in bytes of the file.
    start: u64,
    has_list: bool,
}

impl SessionEnd {
    pub fn new(format: &'static Format) -> Self {
        let mut last_of_kinds = Vec::new();
        for form in format.unsent.entries {
            if form.last == LastEntry::Stays {
                last_of_kinds.push((form, None));
            }
        }
        SessionEnd { format, compaction: None, last_of_kinds }
    }

    /// Whether anything of this format is told only by the end, so that a first look is of use.
    pub fn is_needed(&self) -> bool {
        self.format.compaction_word.is_some() || !self.last_of_kinds.is_empty()
    }

    /// Looks at the next whole lines, which begin at `start` in the file.
    pub fn look_at(&mut self, start: u64, lines: &[u8]) {
        let format = self.format;
        if let Some(word) = format.compaction_word {
            let mut found = None;
            last_line_with(word, lines, |at, line| {
                if let Some(LineStep::Compaction { has_list }) = format.session.line_step(line) {
                    found = Some(LastCompaction { start: start + at as u64, has_list });
                }
                found.is_some()
            });
            self.compaction = found.or(self.compaction);
        }
        for (form, last) in &mut self.last_of_kinds {
            last_line_with(form.label(), lines, |at, line| {
                let is_of_kind = meets(line, form.is) && !has_value(line, form.stays_with);
                if is_of_kind {
                    *last = Some(start + at as u64);
                }
                is_of_kind
            });
        }
    }

    /// Forgets the last compaction, so that nothing before it goes: a line could not be read.
    pub fn forget_compaction(&mut self) {
        self.compaction = None;
    }

    /// Whether a compaction with a list stands behind a place, and none without a list behind that.
    fn is_replaced(&self, place: u64) -> bool {
        self.compaction.is_some_and(|last| last.has_list && place < last.start)
    }

    fn is_last_of_kind(&self, form: &UnsentEntry, line_start: u64) -> bool {
        self.last_of_kinds.iter().any(|(other, last)| std::ptr::eq(*other, form) && *last == Some(line_start))
    }
}

/// Hands the lines that hold a string to `is_it`, each with its offset, from the last to the first, until it takes one.
fn last_line_with(word: &str, lines: &[u8], mut is_it: impl FnMut(usize, Json<'_>) -> bool) {
    let quoted = format!("\"{word}\"");
    let mut end = lines.len();
    while let Some(at) = memmem::rfind(&lines[..end], quoted.as_bytes()) {
        let start = memchr::memrchr(b'\n', &lines[..at]).map_or(0, |before| before + 1);
        let line_end = memchr::memchr(b'\n', &lines[at..]).map_or(lines.len(), |behind| at + behind);
        if let Ok(text) = str::from_utf8(&lines[start..line_end])
            && let Ok(source) = Source::of(text)
            && source.first().is_some_and(|line| is_it(start, line))
        {
            return;
        }
        end = start;
    }
}

/// Finds what goes of the lines of a session, one by one, in order.
pub struct UnsentLines {
    end: SessionEnd,
    has_archive: bool,
    rules: [Rule; 1],
    /// Whether a message can hold what is not sent.
    reads_messages: bool,
    /// The names of tools that may ask the user, by the ids of their calls.
    asking: HashMap<String, String>,
}

impl UnsentLines {
    pub fn new(end: SessionEnd, has_archive: bool) -> Self {
        let reads_messages = !end.format.unsent.members.iter().all(names_type);
        UnsentLines { end, has_archive, rules: [unsent_rule()], reads_messages, asking: HashMap::new() }
    }

    /// What goes of an entry of `source`, which begins at `start` in the file.
    ///
    /// # Errors
    /// It is a message by its step, and cannot be read as one.
    pub fn change_of(
        &mut self,
        source: &str,
        start: u64,
        entry: Json<'_>,
        step: LineStep,
    ) -> Result<Option<UnsentChange>, ReadError> {
        let text = FormattedText { text: source, format: self.end.format };
        let fate = self.fate(source, start, entry, step);
        let rules =
            UnsentRules { rules: &self.rules, except: &[], has_archive: self.has_archive, offloads_media: false };
        if !step.is_message() || matches!(fate, EntryFate::Changes(..)) {
            return Ok(change_of_note(text, entry, &fate, false, rules));
        }
        if !self.reads_messages {
            return Ok(None);
        }
        let message = framing::message(source, &Object::of(entry), text.format, 0)?;
        self.note_asking(&message);
        for result in &message.results {
            let tool = match result.id.and_then(|id| self.asking.get(&*id.decode())) {
                Some(tool) => tool,
                None => "",
            };
            // Which tool was refused is not always known here.
            if result.denial.is_some() || is_of_user(text.format, &message, result, tool) {
                return Ok(None);
            }
        }
        Ok(change_of_message(text, &message))
    }

    fn note_asking(&mut self, message: &Message<'_>) {
        for call in &message.calls {
            let (Some(id), Some(name)) = (call.id, call.name) else { continue };
            let name = name.decode();
            if may_ask_user(&name) {
                self.asking.insert(id.decode().into_owned(), name.into_owned());
            }
        }
    }

    /// Whether an entry goes whole.
    fn fate(&self, source: &str, start: u64, entry: Json<'_>, step: LineStep) -> EntryFate {
        let Some(label) = self.label_of_gone(source, start, entry, step) else { return EntryFate::Stays };
        match removed_line(source, &entry.span()) {
            Some(edit) => EntryFate::Changes(label, edit),
            None => EntryFate::Stays,
        }
    }

    /// What people call an entry that goes whole; `None` where it stays.
    fn label_of_gone(&self, source: &str, start: u64, entry: Json<'_>, step: LineStep) -> Option<&'static str> {
        let place = start + entry.span().start as u64;
        if step.is_message() {
            return if self.has_archive && self.end.is_replaced(place) { Some(NO_LONGER_SENT) } else { None };
        }
        let forms = &self.end.format.unsent;
        // Another line may name it as its parent.
        if let Some(keys) = forms.links
            && (entry.get(keys.id).is_some() || entry.get(keys.parent).is_some())
        {
            return None;
        }
        let line_start = source[..entry.span().start].rfind('\n').map_or(0, |at| at + 1);
        for form in forms.entries {
            let goes = meets(entry, form.is) && !has_value(entry, form.stays_with);
            if goes && !self.end.is_last_of_kind(form, start + line_start as u64) {
                return Some(form.label());
            }
        }
        None
    }
}

/// Whether a row of the table is for entries of one type.
fn names_type(member: &UnsentMember) -> bool {
    member.of.iter().any(|(path, _)| *path == ["type"])
}

/// Whether the sessions of a format can be read line by line, by one of their lines.
pub fn reads_by_line(format: &Format, line: Json<'_>) -> bool {
    !format.unsent.is_empty() && format.reads_beside_broken_lines() && format.session.line_step(line).is_some()
}
