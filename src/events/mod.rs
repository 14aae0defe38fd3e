//! What happens in a run, as types. Whoever does something tells it; lines on standard error, the report, the page and the
//! progress bar are drawn by listeners.

mod conversation;
mod idle;
mod totals;

use std::io;
use std::path::Path;

use anyhow::Result;

use crate::compact::{CompactionPolicy, FittedPlan, Happening};
use crate::fault::Fault;
use crate::plan::Plan;
use crate::plan::breaches::Breach;
use crate::plan::economy::Economy;
use crate::plan::pairs::Pairs;
use crate::rewrite::repair::Repair;

pub(crate) use conversation::{Conversation, Drawn, Fact, FactPlace, RepairedBy, Saving, Status};
pub(crate) use idle::Idle;
pub(crate) use totals::{Largest, Totals};

/// What happens. `source` is the name of a conversation or of an input.
#[derive(Clone, Copy)]
#[allow(missing_docs, reason = "what the members of an event are, its name says")]
pub(crate) enum Event<'e> {
    /// What the user should know of the settings.
    Notice(&'e str),
    /// The config file has nothing done, for this reason.
    Disabled(&'e str),
    /// A breach of the provider's rules, which is looked for.
    Breach { source: &'e str, breach: &'e Breach },
    /// A conversation of which so much is repaired, in this way.
    Repaired { source: &'e str, repaired: &'e RepairedBy, how: Repair },
    /// Calls are removed though they were to be given a result.
    CallsRemoved { source: &'e str, calls: usize },
    /// The last line is only the beginning of one.
    BrokenOff { source: &'e str, line: usize },
    /// What was decided on a conversation.
    Planned { source: &'e str, plan: &'e FittedPlan<'e>, policy: &'e CompactionPolicy },
    /// A transcript stays unchanged that could have been cut by the rules.
    Refused { source: &'e str, reason: &'e str },
    /// What a compaction would save and cost.
    Estimated { source: &'e str, economy: &'e Economy, reader: Option<&'e str> },
    /// A conversation is to be drawn.
    Explained { source: &'e str, plan: &'e FittedPlan<'e>, policy: &'e CompactionPolicy, economy: Option<&'e Economy> },
    /// The cut splits a call from its result, which the rule for pairs does not prevent.
    Split { source: &'e str, plan: &'e Plan, pairs: Pairs },
    /// A tool is to stay that no call is of.
    NoSuchTool { source: &'e str, name: &'e str },
    /// What happens while a conversation is compacted.
    Compacting { source: &'e str, what: Happening<'e>, reader: Option<&'e str> },
    /// The summary that a real run with the same flags puts in the place of the history.
    Previewed { source: &'e str, summary: &'e str },
    /// A summary could not be kept for another time.
    NotCached(&'e io::Error),
    /// A page goes without a conversation.
    NotDrawn { source: &'e str, fault: &'e Fault },
    /// What became of one of several inputs.
    Became { source: &'e str, what: &'e str },
    /// One of several inputs has no result.
    InputFailed(&'e str),
    /// What became of conversations, whose result went to a place.
    Done { conversations: &'e [Conversation], to: &'e str },
    /// Bytes of the only input are done, of as many as it has, where that is known.
    BytesDone { bytes: usize, all: Option<u64> },
    /// One more input is done, and all so far are these.
    InputDone(&'e Totals),
    /// Nobody named a summarizer, so the embedded one was used.
    DefaultSummarizer,
    /// The embedded summarizer takes no prompt, and this gave one.
    PromptNotUsed(&'e str),
    /// Nothing was changed, or would be.
    NothingDone(&'e Idle),
    /// All inputs are done.
    AllDone(&'e Totals),
    /// The conversations that lose most, in a run that may have done nothing.
    LoseMost { largest: &'e Largest, looked: bool },
    /// An archive put back so many of the lines of a text, where it was lines; and what in the archive cannot be read.
    Restored { archive: &'e Path, lines: Option<(usize, usize)>, damaged: Option<&'e str> },
}

/// Who is told what happens.
pub(crate) trait Listener {
    /// Takes notice of what happens.
    ///
    /// # Errors
    /// What the user asked to be told cannot be written.
    fn hear(&self, event: &Event<'_>) -> Result<()>;
}
