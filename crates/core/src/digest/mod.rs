//! The digest of a history: what code can say of it without understanding it. It is the embedded summary, and what stands
//! beside a model's summary.
//!
//! Whoever reads it is a language model, which can tell which of two statements holds if it sees both in order. So code
//! orders, clips and counts, and does not judge: what was said stands word for word, what was done is told from calls and
//! their results in their words, and only keys replace: the same command, the same plan. What has no room is left out,
//! visibly, with where it is.
//!
//! ```text
//! messages ─ read ─> items ─ order ─> steps ─ write ─> text (read again by `carried` when it is an earlier summary)
//!                          └ missing_from ─> what a model's summary lacks
//! ```
//!
//! - `reader`: the one pass over the messages. It makes a list of items.
//! - `item`, `kinds`: one thing that can be told, and the table of what each kind is worth.
//! - `order`: the order in which items are told, made once and without room.
//! - `write`: takes the steps of the order until the room is used up.
//! - `pieces`, `ranked`: the pieces of a text, in the order in which they are told.
//! - `calls`, `deciding`, `values`: the label of a call, and the lines of its result. `files`, `plan`, `tasks`: the state.
//! - `cues`: the words that make a sentence a rule. `focus`: those of the next work.
//! - `grammar`: the form of a digest. `carried`: a digest read back. `earlier`: a summary that somebody else wrote.
//!   `missing`: what stands beside a summary.

mod calls;
mod cues;
mod deciding;
mod earlier;
mod files;
mod focus;
mod grammar;
mod item;
mod kinds;
mod missing;
mod order;
mod pieces;
mod plan;
mod ranked;
mod reader;
mod tasks;
mod values;
mod write;

use focus::Focus;
use grammar::{LeftOut, Section};
use item::{Body, Item};

pub use earlier::lines_standing;
pub use focus::words_of;
pub use grammar::{has_earlier_places, without_own_headings};
pub use reader::read;

/// What code can say of a history.
#[derive(Debug, Default)]
pub struct Digest<'a> {
    /// What can be told, in the order of the history.
    items: Vec<Item<'a>>,
    /// What earlier digests had left out.
    left_out: [LeftOut; Section::ALL.len()],
    /// The one folder that is recorded; commands and paths are told without it.
    folder: Option<String>,
    /// The number of messages.
    messages: usize,
    /// Whether the user's words may take most of the room.
    prefers_user: bool,
}

impl Digest<'_> {
    /// Lets the user's words take most of the room: what they typed must not become less as a result grows.
    pub fn preferring_user(self) -> Self {
        Digest { prefers_user: true, ..self }
    }

    /// Makes calls and texts of the assistant worth more that share words with `text`: it says what the next work is about.
    pub fn focused_on(mut self, text: &str) -> Self {
        /// Bytes at the beginning of a text in which words count.
        const OPENING: usize = 2_000;
        /// How much more one is worth with each shared word, and with how many at most.
        const MORE: f32 = 1.0;
        const MOST_WORDS: usize = 4;
        let focus = Focus::new(text);
        if focus.is_empty() {
            return self;
        }
        let mut places = Vec::new();
        let mut texts = Vec::new();
        for (at, item) in self.items.iter().enumerate() {
            match &item.body {
                Body::Said(text) => texts.push(text.opening(OPENING)),
                Body::Call(call) => texts.push(call.opening(OPENING)),
                _ => continue,
            }
            places.push(at);
        }
        for (at, shared) in places.into_iter().zip(focus.shared(texts.into_iter())) {
            self.items[at].weight *= 1.0 + MORE * shared.min(MOST_WORDS) as f32;
        }
        self
    }
}
