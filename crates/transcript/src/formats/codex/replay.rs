//! Which lines of a session remain when Codex resumes it.

use crate::format::{EntryKind, Retention};
use crate::formats::codex::{CodexLine, is_foreign, is_from_agent, is_injected, is_skipped, line};
use crate::formats::shared::items::{self, Item};
use crate::json::{Json, JsonKind, Object};
use crate::message::Role;

/// Replays the lines of a session to find those that remain when it is resumed.
#[derive(Default)]
pub(super) struct Replay {
    /// The kind of each line so far.
    pub(super) entries: Vec<EntryKind>,
    /// The lines that are messages so far.
    live: Vec<usize>,
    /// The indices of the live lines that begin a user turn.
    turns: Vec<usize>,
    /// The number of leading live lines that compactions kept; each is a turn.
    compacted_len: usize,
    /// The lines that Codex wrote in the user's name.
    injected: Vec<usize>,
}

impl Replay {
    pub(super) fn add(&mut self, value: Json<'_>) {
        let object = Object::of(value);
        let entry = match line(&object) {
            Some(CodexLine::Meta) => EntryKind::Note(Retention::Always),
            Some(CodexLine::Item(item, None)) if !is_from_agent(item) && !is_foreign(item) => {
                EntryKind::Note(Retention::WithPrevious)
            }
            Some(CodexLine::Item(item, Some(Item::Message))) => {
                let read = items::item(&Object::of(item));
                if read.as_ref().is_ok_and(is_injected) {
                    // A compaction without a list keeps it, because Codex writes it anew.
                    self.injected.push(self.entries.len());
                    self.entries.push(EntryKind::Message);
                    return;
                }
                if read.is_ok_and(|item| item.role == Role::User) {
                    self.turns.push(self.live.len());
                }
                EntryKind::Message
            }
            None if is_skipped(&object) => EntryKind::Note(Retention::Always),
            Some(CodexLine::Item(..)) | None => EntryKind::Message,
            Some(CodexLine::Compacted(payload)) => self.compacted(payload),
            Some(CodexLine::Context) => EntryKind::Note(Retention::Latest("turn_context")),
            Some(CodexLine::Event(event)) => self.event(event),
            Some(CodexLine::Other) => EntryKind::Note(Retention::Always),
        };
        if entry == EntryKind::Message {
            self.live.push(self.entries.len());
        }
        self.entries.push(entry);
    }

    /// The lines so far that are messages.
    pub(super) fn remaining(&self) -> impl Iterator<Item = usize> {
        self.live.iter().chain(&self.injected).copied()
    }

    /// Removes the live lines from index `from` on, except some.
    fn remove_from(&mut self, from: usize, except: &[usize]) {
        for place in self.live.drain(from..) {
            if except.binary_search(&place).is_err() {
                self.entries[place] = EntryKind::Note(Retention::Obsolete);
            }
        }
    }

    fn compacted(&mut self, payload: Json<'_>) -> EntryKind {
        if has_list(payload) {
            self.remove_from(0, &[]);
            self.turns.clear();
            self.injected.drain(..).for_each(|place| self.entries[place] = EntryKind::Note(Retention::Obsolete));
        } else {
            let users: Vec<usize> = self.turns[self.compacted_len..].iter().map(|&turn| self.live[turn]).collect();
            self.remove_from(self.compacted_len, &users);
            self.live.extend(users);
            self.turns.truncate(self.compacted_len);
            self.turns.extend(self.compacted_len..self.live.len());
        }
        self.compacted_len = self.live.len();
        EntryKind::Message
    }

    /// Applies a rollback. It becomes obsolete with the turns that it removes: alone it would remove others.
    fn event(&mut self, event: Json<'_>) -> EntryKind {
        let is_rollback = event.member_is("type", "thread_rolled_back");
        let turns = event.get("num_turns").and_then(|turns| turns.raw().parse::<usize>().ok());
        let Some(turns) = turns.filter(|turns| is_rollback && *turns > 0) else {
            return EntryKind::Note(Retention::WithPrevious);
        };
        let first = self.turns.len().saturating_sub(turns);
        if let Some(&from) = self.turns.get(first) {
            self.remove_from(from, &[]);
            self.turns.truncate(first);
            self.compacted_len = self.compacted_len.min(from);
        }
        EntryKind::Note(Retention::Obsolete)
    }
}

/// Whether a compaction has a list that replaces all before it.
pub(super) fn has_list(payload: Json<'_>) -> bool {
    payload.get("replacement_history").is_some_and(|list| list.kind() == JsonKind::Array)
}
