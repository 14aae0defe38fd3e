//! The events of a run, as types. Listeners turn them into lines on standard error, the report, the page and the
//! progress bar.

mod ending;
mod plan_row;
mod row;
mod totals;

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

use crate::compact::{CompactionEvent, EarlierSummary, Fitted};
use crate::fault::Fault;
use crate::plan::Plan;
use crate::plan::breaches::Breach;
use crate::plan::cutoff::Pairs;
use crate::plan::economy::Economy;
use crate::rewrite::repair::Repair;
use crate::transcript::foreign::{UnknownPart, UnreadText};
use crate::transcript::session_files::HistoryBase;

pub(crate) use ending::{Ending, NO_SUMMARY, UnchangedReasons};
pub(crate) use plan_row::PlanRow;
pub use row::{ConversationOutcome, Status};
pub(crate) use row::{Drawn, FinishedRow, RepairedBy, ReportRow, Saving, UpdatedBy};
pub(crate) use totals::{Counted, Largest, OtherFiles, PrunedOnly, Totals};

/// An event of a run. `source` is the name of a conversation or of an input.
#[derive(Clone, Copy)]
pub(crate) enum Event<'e> {
    /// A note on the settings.
    Notice(&'e str),
    /// The config file disables compaction, for this reason.
    Disabled(&'e str),
    /// `check` found a violation of the provider's rules.
    Breach { source: &'e str, breach: &'e Breach },
    /// The updates in a list of messages are applied, or would be where the run writes nothing.
    Updated { source: &'e str, updated: UpdatedBy, is_planned: bool },
    /// `--repair` repairs this much of a conversation, or would where the run writes nothing.
    Repaired { source: &'e str, repaired: &'e RepairedBy, how: Repair, is_planned: bool },
    /// `--repair synthesize` removes calls whose results the format cannot hold, or would where the run writes nothing.
    CallsRemoved { source: &'e str, calls: usize, is_planned: bool },
    /// A dry run would prune conversations of which it would summarize nothing.
    PrunedOnly(&'e PrunedOnly),
    /// `count` has counted several conversations, or more than messages.
    Counted(&'e Counted),
    /// `--explain` draws what the tokens of counted conversations are spent on; the window, if there is one conversation.
    Categories { counted: &'e Counted, context_window: Option<u64> },
    /// A result still violates so many of the provider's rules, as its input did.
    StillBroken { source: &'e str, violations: usize },
    /// Lines that are not JSON and are not read. Their numbers are in order.
    BrokenLines { source: &'e str, lines: &'e [usize] },
    /// The agent reads nothing behind this line, which is not JSON, and other lines follow it.
    ReadingStops { source: &'e str, line: usize, format: &'static str },
    /// A session names a version that its reader does not know.
    UnknownVersion { source: &'e str, version: &'e str, format: &'static str },
    /// The beginning of a conversation is in another file.
    BeginsElsewhere { source: &'e str, base: &'e HistoryBase },
    /// More than a tenth of the text of a conversation is under members that its format does not have.
    UnreadText { source: &'e str, format: &'static str, unread: &'e UnreadText },
    /// More of a conversation is in parts of unknown kinds than in known ones.
    UnknownParts { source: &'e str, unknown: &'e UnknownPart },
    /// The decision on a conversation.
    Planned { source: &'e str, plan: &'e Fitted<'e> },
    /// The rules asked for a cut, and the transcript stays unchanged.
    Refused { source: &'e str, reason: &'e str },
    /// The estimated savings and costs of a compaction.
    Estimated { source: &'e str, economy: &'e Economy, reader: Option<&'e str> },
    /// `--explain` draws a conversation.
    Explained { source: &'e str, plan: &'e Fitted<'e>, earlier: &'e [EarlierSummary], economy: Option<&'e Economy> },
    /// The cut splits a call from its result, which `--pairs` allows.
    Split { source: &'e str, plan: &'e Plan, pairs: Pairs },
    /// `--prune-except` names a tool that has no calls.
    NoSuchTool { source: &'e str, name: &'e str },
    /// A step of the compaction of a conversation.
    Compacting { source: &'e str, what: CompactionEvent<'e>, reader: Option<&'e str> },
    /// A person waits for an answer of this summarizer; nothing when it has come.
    Waiting(Option<&'e str>),
    /// What became of the only file of a run; `rest` says where its original is.
    Ended { ending: &'e Ending, rest: &'e str },
    /// The summary that a real run with the same flags would use.
    Previewed { source: &'e str, summary: &'e str },
    /// The cache could not keep a summary.
    NotCached(&'e io::Error),
    /// The page lacks a conversation.
    NotDrawn { source: &'e str, fault: &'e Fault },
    /// The status of one of several inputs.
    InputStatus { source: &'e str, what: &'e str },
    /// A file was replaced that has so many other names (hard links), which still lead to what it was.
    NamesParted { path: &'e Path, others: u64 },
    /// One of several inputs has no result.
    InputFailed(&'e str),
    /// The rows of conversations whose result went to the place `to`.
    Done { conversations: &'e [ReportRow], to: &'e str },
    /// More bytes of the only input are done, out of `all` if that is known.
    BytesDone { bytes: usize, all: Option<u64> },
    /// One more input is done; the totals so far.
    InputDone(&'e Totals),
    /// The embedded summarizer was used because no summarizer was named.
    DefaultSummarizer,
    /// The embedded summarizer takes no prompt; this named one.
    PromptNotUsed(&'e str),
    /// Nothing was changed, or would be.
    NothingDone(&'e UnchangedReasons),
    /// All inputs are done.
    AllDone(&'e Totals),
    /// The conversations that lose most; `looked` if the run wrote nothing.
    LargestLosses { largest: &'e Largest, looked: bool },
    /// An archive restored a text of so many lines, that of `file` where there are several; `damaged` is the damage of the
    /// archive.
    Restored {
        archive: &'e Path,
        file: Option<&'e Path>,
        done: &'e RestoredRounds,
        all: usize,
        damaged: Option<&'e str>,
    },
}

/// What an archive has put back.
#[derive(Debug, Default)]
pub(crate) struct RestoredRounds {
    /// The rounds of compaction.
    pub(crate) rounds: usize,
    /// The last round that is not in the archive, where one stands before those.
    pub(crate) missing: Option<u32>,
    /// Why that round is not proved, where the archive has it.
    pub(crate) unproved: Option<String>,
    /// Another archive, which has the run before those.
    pub(crate) goes_on_in: Option<PathBuf>,
    /// The id of the record before those, where the archive had it once.
    pub(crate) lost: Option<String>,
    /// The lines that are conversations of their own.
    pub(crate) lines: HashSet<usize>,
    /// The rounds after which the text has grown.
    pub(crate) grown: usize,
    /// The notes of pruned content that still stand in the text.
    pub(crate) notes_left: usize,
    /// The time of a run that counts as put back before: the text begins with what it found.
    pub(crate) undone_before: Option<String>,
    /// A run that was not put back, since its record names another file.
    pub(crate) on_other_file: Option<RunOnOtherFile>,
    /// The files that their records name.
    pub(crate) files: HashSet<String>,
    /// The time of the newest run among them.
    pub(crate) newest_run_time: String,
    /// The lines behind all that was put back in which the agent sets all messages anew.
    pub(crate) lines_setting_messages: Vec<usize>,
}

/// A run on a file of another name, which left what a text begins with.
#[derive(Debug)]
pub(crate) struct RunOnOtherFile {
    /// The name as its record has it.
    pub(crate) file: String,
    pub(crate) time: String,
}

/// A listener to the events of a run.
pub(crate) trait Listener {
    /// Takes an event.
    fn handle(&self, event: &Event<'_>);
}
