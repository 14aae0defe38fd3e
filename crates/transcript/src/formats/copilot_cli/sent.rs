//! Which events Copilot sends when it resumes a session: those of its main agent from the last compaction on, in the order
//! of the file.
//!
//! A compaction replaces all before it, but for what the user said, which Copilot quotes in front of the summary. A result
//! whose call it replaced is not sent either. Messages without content are sent as nothing; they count as messages, and
//! have no tokens.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use crate::format::{EntryKind, Retention};
use crate::formats::copilot_cli::events::{attachments, has_succeeded, holds, is_known, is_of_user};
use crate::formats::shared::fields::elements_of;
use crate::json::{Json, Object};
use crate::text::Text;

/// The types of events that concern the whole session.
const LASTING: [&str; 7] = [
    "session.start",
    "session.canvas.recorded",
    "session.canvas.removed",
    "session.handoff",
    "session.schedule_cancelled",
    "session.schedule_created",
    "session.schedule_rearmed",
];

/// The types of events that set a state from there on.
const STATES: [&str; 8] = [
    "session.autopilot_objective_changed",
    "session.context_changed",
    "session.mode_changed",
    "session.model_change",
    "session.permissions_changed",
    "session.plan_changed",
    "session.session_limits_changed",
    "subagent.selected",
];

/// Replays the lines of a session.
#[derive(Default)]
struct Replay<'a> {
    entries: Vec<EntryKind>,
    /// The lines since the context was last cleared that are messages.
    live: Vec<LiveLine>,
    /// The calls that have no result so far.
    open: HashSet<Cow<'a, str>>,
    /// The calls among them that a compaction removed: their results are not sent.
    gone: HashSet<Cow<'a, str>>,
}

/// A line that is a message.
struct LiveLine {
    index: usize,
    /// Whether the user said it.
    is_of_user: bool,
}

/// Which lines are sent.
pub(super) fn entries(lines: &[Object<'_>]) -> Vec<EntryKind> {
    let mut replay = Replay::default();
    for line in lines {
        let entry = replay.entry(line);
        if entry == EntryKind::Message {
            let is_of_user = line.member_is("type", "user.message");
            replay.live.push(LiveLine { index: replay.entries.len(), is_of_user });
        }
        replay.entries.push(entry);
    }
    replay.keep_assets(lines);
    replay.entries
}

impl<'a> Replay<'a> {
    fn entry(&mut self, line: &Object<'a>) -> EntryKind {
        let kind = line.get_text("type").unwrap_or_else(|| Text::plain("")).decode();
        if let Some(state) = STATES.iter().find(|state| **state == kind) {
            return EntryKind::Note(Retention::Latest(state));
        }
        let note = EntryKind::Note(if LASTING.contains(&&*kind) { Retention::Always } else { Retention::WithPrevious });
        let Some(data) = line.get("data") else {
            // A line of a known type without data is refused, as Copilot does.
            let is_known = line.get_text("type").is_some_and(is_known);
            return if is_known { EntryKind::Message } else { note };
        };
        // What a sub-agent does is not sent.
        if line.get("agentId").is_some_and(|agent| !agent.is_falsy()) || holds(data, "parentToolCallId") {
            return note;
        }
        let is_sent = match &*kind {
            "user.message" => true,
            "assistant.message" => {
                self.add_calls(data);
                true
            }
            "tool.execution_complete" => is_of_user(data) || self.is_sent_result(data),
            "system.notification" | "skill.context_delivered" => holds(data, "content"),
            "session.compaction_complete" if has_succeeded(data) && holds(data, "summaryContent") => {
                self.compact();
                true
            }
            "session.context_cleared" => {
                self.clear();
                if !holds(data, "initialMessage") {
                    return EntryKind::Note(Retention::Obsolete);
                }
                true
            }
            _ => false,
        };
        if is_sent { EntryKind::Message } else { note }
    }

    fn add_calls(&mut self, data: Json<'a>) {
        for call in elements_of(data, "toolRequests") {
            if let Some(id) = call.get_text("toolCallId") {
                self.open.insert(id.decode());
            }
        }
    }

    fn is_sent_result(&mut self, data: Json<'a>) -> bool {
        let Some(id) = data.get_text("toolCallId") else { return true };
        let id = id.decode();
        self.open.remove(&id);
        !self.gone.contains(&id)
    }

    /// Leaves nothing before a compaction but what the user said.
    fn compact(&mut self) {
        for line in &self.live {
            if !line.is_of_user {
                self.entries[line.index] = EntryKind::Note(Retention::Obsolete);
            }
        }
        self.live.retain(|line| line.is_of_user);
        self.gone.extend(self.open.drain());
    }

    fn clear(&mut self) {
        for line in self.live.drain(..) {
            self.entries[line.index] = EntryKind::Note(Retention::Obsolete);
        }
        self.gone.extend(self.open.drain());
    }

    /// Ties the bytes of each picture to the last message that shows it.
    fn keep_assets(&mut self, lines: &[Object<'a>]) {
        let mut shown: HashMap<Cow<'a, str>, usize> = HashMap::new();
        for (index, line) in lines.iter().enumerate() {
            if self.entries[index] != EntryKind::Message {
                continue;
            }
            let Some(files) = attachments(line.json) else { continue };
            for file in files.items() {
                if let Some(id) = file.get_text("assetId") {
                    shown.insert(id.decode(), index);
                }
            }
        }
        for (index, line) in lines.iter().enumerate() {
            if !line.member_is("type", "session.binary_asset") {
                continue;
            }
            if let Some(id) = line.at(&["data", "assetId"])
                && let Some(id) = id.text()
                && let Some(message) = shown.get(&id.decode())
            {
                self.entries[index] = EntryKind::Note(Retention::With(*message));
            }
        }
    }
}
