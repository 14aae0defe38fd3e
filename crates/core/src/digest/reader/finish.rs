//! What is known only once all messages are read: which items stand for others, which are the first and the last, and
//! what the state of the work is.

use std::collections::HashSet;

use crate::digest::Digest;
use crate::digest::calls::Ended;
use crate::digest::grammar::{LOADED, Place, READ, Section};
use crate::digest::item::{Body, Item, Names};
use crate::digest::kinds::Kind;
use crate::digest::plan::PlanStatus;
use crate::digest::reader::HistoryReader;
use crate::digest::reader::user::UserKey;

/// From how many on items that are equal but for digits stand once.
const SEVERAL: u32 = 3;

impl<'a> HistoryReader<'a, '_> {
    pub(super) fn finish(mut self, messages: usize) -> Digest<'a> {
        self.note_standing_wish();
        self.end_open_calls();
        self.join_alike_items();
        self.join_equal_messages();
        self.join_alike_messages();
        self.mark_first_and_last();
        self.digest.items.retain(|item| !item.is_replaced);
        let folder = self.only_folder();
        self.add_state(folder.as_deref());
        weigh(&mut self.digest.items);
        self.digest.messages = messages;
        let calls = self.digest.items.iter().filter(|item| matches!(item.body, Body::Call(_) | Body::File(_)));
        let has_several_calls = calls.take(2).count() == 2;
        self.digest.folder = if has_several_calls { folder } else { None };
        self.digest
    }

    /// The folder of all calls, if there is one.
    fn only_folder(&mut self) -> Option<String> {
        let recorded = self.folders.pop_first();
        // Of several recorded folders none is that of all calls.
        if !self.folders.is_empty() {
            return None;
        }
        match (self.digest.folder.take(), recorded) {
            (Some(carried), Some(recorded)) if carried != recorded => None,
            (Some(carried), _) => Some(carried),
            // What an earlier digest told without a folder may have been elsewhere.
            (None, recorded) => {
                if self.carried > 0 {
                    None
                } else {
                    recorded
                }
            }
        }
    }

    /// Only a call at the end is still open. An earlier one has no result and gets none.
    fn end_open_calls(&mut self) {
        let last_said = self.digest.items.iter().rfind(|item| matches!(item.body, Body::Said(_)));
        let end = last_said.map(|item| item.place);
        for (at, call) in std::mem::take(&mut self.open) {
            if at < self.interrupted {
                self.end_call(call, Err(Ended::Refused));
            } else if end.is_none_or(|end| call.place >= end) {
                self.end_call(call, Err(Ended::NoResult));
            }
        }
    }

    /// Of several calls, and of several texts of the assistant, that are equal but for digits the last stands for all.
    fn join_alike_items(&mut self) {
        let mut keys = std::mem::take(&mut self.alike);
        keys.retain(|key| !self.digest.items[key.item as usize].is_replaced);
        for key in &mut keys {
            let item = &self.digest.items[key.item as usize];
            // A text that an earlier digest told may have been a report.
            key.kind = if matches!(item.body, Body::Said(_)) { Kind::Step } else { item.kind };
        }
        keys.sort_unstable_by_key(|key| (key.without_digits, key.kind, key.item));
        for group in keys.chunk_by(|one, next| (one.without_digits, one.kind) == (next.without_digits, next.kind)) {
            self.join(group.iter().map(|key| key.item as usize).collect());
        }
    }

    /// Of equal messages of the user the last stands. Of lines that say that the user interrupted the agent, those that
    /// follow each other are one.
    fn join_equal_messages(&mut self) {
        /// Bytes of an answer that can answer something else each time.
        const SHORT: usize = 8;
        let mut known = HashSet::with_capacity(self.user_keys.len());
        let mut follows_interruption = false;
        for &UserKey { item: at, exact, .. } in self.user_keys.iter().rev() {
            let item = &mut self.digest.items[at];
            let is_interruption = item.kind == Kind::Interruption;
            let is_short = item.longest() < SHORT && !item.place.is_carried();
            let stands = if is_interruption { !follows_interruption } else { known.insert(exact) || is_short };
            if stands {
                follows_interruption = is_interruption;
                continue;
            }
            item.is_replaced = true;
            // What was clipped may have been another message.
            if !is_interruption && (item.alike > 1 || item.is_clipped()) {
                self.digest.left_out[Section::User as usize].add(item.alike as usize, item.place.source);
            }
        }
    }

    /// Of several messages that are equal but for digits and command nothing the last stands for all: a program sends them.
    fn join_alike_messages(&mut self) {
        let mut keys = std::mem::take(&mut self.user_keys);
        keys.retain(|key| {
            let item = &self.digest.items[key.item];
            let is_plain = matches!(item.kind, Kind::Typed | Kind::Remark | Kind::FromProgram);
            is_plain && !item.is_replaced && matches!(&item.body, Body::User { asked: None, .. })
        });
        keys.sort_unstable_by_key(|key| (key.without_digits, key.item));
        for group in keys.chunk_by(|one, next| one.without_digits == next.without_digits) {
            if let Some(last) = self.join(group.iter().map(|key| key.item).collect()) {
                self.digest.items[last].kind = Kind::FromProgram;
            }
        }
    }

    /// Joins the items of a group, which are in order, where they are several. Returns the last one then.
    fn join(&mut self, group: Vec<usize>) -> Option<usize> {
        let mut number: u32 = 0;
        for at in &group {
            number = number.saturating_add(self.digest.items[*at].alike);
        }
        let (&last, others) = group.split_last()?;
        if number < SEVERAL {
            return None;
        }
        self.digest.items[last].alike = number;
        for at in others {
            self.digest.items[*at].is_replaced = true;
        }
        Some(last)
    }

    fn mark_first_and_last(&mut self) {
        let items = &mut self.digest.items;
        let (mut first, mut last, mut last_report, mut last_text) = (None, None, None, None);
        for (at, item) in items.iter().enumerate() {
            if item.is_replaced {
                continue;
            }
            match item.body {
                Body::User { .. } if item.is_typed() => {
                    first = first.or(Some(at));
                    last = Some(at);
                }
                Body::Said(_) if item.kind != Kind::Thought => {
                    last_text = Some(at);
                    if item.kind == Kind::Report {
                        last_report = Some(at);
                    }
                }
                _ => {}
            }
        }
        let left_out = &self.digest.left_out[Section::User as usize];
        if let Some(at) = first
            && items[at].place.can_be_first(left_out)
        {
            items[at].kind = Kind::FirstMessage;
        }
        if let Some(at) = last {
            items[at].kind = Kind::LastMessage;
        }
        if let Some(at) = last_text {
            items[at].kind = Kind::Report;
        }
        if let Some(at) = last_report {
            items[at].kind = Kind::LastReport;
        }
    }

    /// Adds the items of the state, and of rules that were read.
    fn add_state(&mut self, folder: Option<&str>) {
        const MOST_TOOLS: usize = 60;
        const MOST_READ: usize = 60;
        let items = &mut self.digest.items;
        let plan = std::mem::take(&mut self.plan);
        if let Some(place) = plan.place
            && !plan.items.is_empty()
        {
            items.push(Item::new(Kind::Plan, place, Body::Plan(Box::new(plan))));
        }
        let (changed, read) = std::mem::take(&mut self.files).into_lists(folder);
        for file in changed {
            items.push(Item::new(Kind::File, file.last, Body::File(Box::new(file))));
        }
        if let Some((_, last)) = read.first() {
            let mut names = Vec::new();
            for (path, place) in read.iter().take(MOST_READ) {
                names.push(format!("{path} {place}"));
            }
            let names = Box::new(Names { label: READ, names });
            items.push(Item::new(Kind::FilesRead, *last, Body::Names(names)));
        }
        for task in std::mem::take(&mut self.tasks).into_list() {
            if let Some(place) = task.last_place() {
                items.push(Item::new(Kind::Task, Place::of_source(place), Body::Task(Box::new(task))));
            }
        }
        if let Some(place) = self.loaded_at {
            // The last loaded comes first.
            let mut names = std::mem::take(&mut self.loaded);
            names.reverse();
            names.truncate(MOST_TOOLS);
            let names = Box::new(Names { label: LOADED, names });
            items.push(Item::new(Kind::LoadedTools, place, Body::Names(names)));
        }
        for file in std::mem::take(&mut self.rules) {
            items.push(Item::new(Kind::RulesRead, file.place, Body::Rules(Box::new((file.path, file.text)))));
        }
    }
}

/// Gives the newer items of a kind more weight than the older ones, and more to what the last message of the user led to.
fn weigh(items: &mut [Item<'_>]) {
    /// How much more the last calls are worth, and how many of them.
    const LAST_TURN: f32 = 2.5;
    const LAST_CALLS: usize = 4;
    const SHORT_TEXT: usize = 60;
    let last = items.iter().map(|item| item.place.age_order()).max().unwrap_or(0).max(1);
    for item in items.iter_mut() {
        let oldest = item.kind.worth().oldest;
        item.weight = oldest + (1.0 - oldest) * (item.place.age_order() as f32 / last as f32);
        // A text of a few words between calls tells nothing by itself.
        if item.kind == Kind::Step && item.longest() < SHORT_TEXT {
            item.weight *= 0.4;
        }
    }
    for at in 0..items.len() {
        if items[at].kind == Kind::Plan {
            items[at].weight *= worth_of_plan(items, &items[at]);
        }
    }
    let mut calls = 0;
    for item in items.iter_mut().rev() {
        if calls < LAST_CALLS && matches!(item.body, Body::Call(_)) && item.kind != Kind::FoundNothing {
            item.weight *= LAST_TURN;
            calls += 1;
        }
    }
}

/// How much less a plan is worth that is done, or that the user has spoken behind several times.
fn worth_of_plan(items: &[Item<'_>], item: &Item<'_>) -> f32 {
    const DONE: f32 = 0.3;
    const OLD: f32 = 0.4;
    const MESSAGES: usize = 3;
    let Body::Plan(plan) = &item.body else { return 1.0 };
    let mut worth = 1.0;
    if plan.left_out == 0 && plan.items.iter().all(|item| item.status == PlanStatus::Done) {
        worth *= DONE;
    }
    let later = items.iter().filter(|other| other.is_typed() && other.place > item.place).count();
    if later >= MESSAGES {
        worth *= OLD;
    }
    worth
}
