//! The digest of a history: what code can say of it without understanding it. It is the embedded summary, and what stands
//! beside a model's summary.
//!
//! Whoever reads it is a language model, which can tell which of two statements holds if it sees both in order. So code
//! orders, clips and counts, and does not judge: what was said stands word for word, what was done is told from structured
//! facts, and only keys replace: the same file, the same command, the same list. What has no room is left out, visibly.
//!
//! ```text
//! messages ─ read ─> Digest ─ write ─> text (read again by `carried` when it is an earlier summary)
//!                           └ missing_from ─> what a model's summary lacks
//! ```
//!
//! - `reader`: the one pass over the messages.
//! - `files`, `edits`, `plan`, `tasks`, `state`: the state of the work. `runs`, `outcome`, `values`: calls and how they ended.
//! - `user`, `pieces`, `said`: what was said, and which pieces of it come first. `clip`: texts cut at sentences and list items.
//! - `cues`: the words that make a sentence a rule. `focus`: those of the next work. `earlier`: a summary that somebody else wrote.
//! - `grammar`: the form of a digest. `write`: the shares of the room, and the sections. `carried`: a digest read back.
//!   `missing`: what stands beside a summary. `standing`: which lines of one stand in the next.

mod carried;
mod clip;
mod cues;
mod earlier;
mod edits;
mod files;
mod grammar;
mod missing;
mod outcome;
mod reader;
mod runs;
mod said;
mod state;
mod tasks;
mod user;
mod write;

use std::collections::HashSet;

use cues::Focus;
use files::Files;
use grammar::{CallPlaces, Place};
use runs::CallRun;
use said::Said;
use state::TodoList;
use tasks::Tasks;
use user::UserMessage;

use crate::wording::one_line;

pub(crate) use cues::words_of;
pub(crate) use earlier::lines_standing;
pub(crate) use grammar::{has_earlier_places, without_own_headings};
pub(crate) use reader::read;

/// What code can say of a history.
#[derive(Debug, Default)]
pub(crate) struct Digest<'a> {
    /// Summaries that others wrote, in order.
    earlier: Vec<(Place, String)>,
    /// The messages of the user, in order.
    user: Vec<UserMessage<'a>>,
    left_out: LeftOut,
    plan: TodoList,
    files: Files,
    tasks: Tasks,
    /// The last run of each command and call, in order.
    runs: Vec<CallRun<'a>>,
    /// Calls that read or changed files, and those that earlier digests had left out.
    calls: CallPlaces,
    /// The one folder that is recorded; commands and paths are told without it.
    folder: Option<String>,
    loaded: Loaded,
    /// What the assistant said, in order.
    said: Vec<Said<'a>>,
    /// How many places of an earlier digest were read back.
    carried: usize,
    /// The number of messages.
    messages: usize,
    /// What the next work is about.
    focus: Focus,
}

impl Digest<'_> {
    /// `text` says what the next work is about.
    pub(crate) fn focused_on(self, text: &str) -> Self {
        Digest { focus: Focus::new(text), ..self }
    }

    /// Of equal messages of the user the last stands. Messages that are equal where they were clipped count as left out. A
    /// wish that was interrupted does not stand: each line that says so has its place, and one is enough.
    fn keep_last_of_equal_messages(&mut self) {
        let (mut known, mut follows_interruption) = (HashSet::new(), false);
        self.user.reverse();
        self.user.retain(|message| {
            let is_interruption = message.is_interruption();
            let stands = if is_interruption { !follows_interruption } else { known.insert(message.key()) };
            if stands {
                follows_interruption = is_interruption;
            } else if !is_interruption && (message.alike > 1 || message.words().contains(clip::GAP)) {
                self.left_out.user += message.alike;
            }
            stands
        });
        self.user.reverse();
    }
}

/// What earlier digests had left out: messages of the user, lines of the state, calls, texts of the assistant, and lines of
/// earlier summaries.
#[derive(Debug, Default)]
struct LeftOut {
    user: usize,
    state: usize,
    runs: usize,
    said: usize,
    earlier: usize,
}

/// The tools that results have loaded.
#[derive(Debug, Default)]
struct Loaded {
    /// Their names, in order.
    names: Vec<String>,
    known: HashSet<String>,
    /// The place of the last such result.
    place: Option<Place>,
    /// The number of those that an earlier digest had left out.
    left_out: usize,
}

impl Loaded {
    /// Adds the tools that a result has loaded.
    fn add(&mut self, place: Place, names: impl Iterator<Item = String>) {
        let is_name = |name: &String| !name.is_empty() && !name.contains(',') && one_line(name) == *name;
        for name in names.filter(is_name) {
            self.place = Some(place);
            if self.known.insert(name.clone()) {
                self.names.push(name);
            }
        }
    }
}

/// Builds the patterns of this module.
#[cfg(test)]
pub(crate) fn patterns() -> Vec<&'static regex::Regex> {
    [cues::patterns(), outcome::patterns()].concat()
}

#[cfg(test)]
mod tests;
