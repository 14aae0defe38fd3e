//! The way of one conversation of a document, which the library and the program share: a loop of the caller over
//! [`conversations`], and a type for each stage that says what may come next.
//!
//! ```text
//! Conversation -CompactionContext::plan-> Planned -carry_out, or refuse-> Compaction -Changes::add-> Changes
//! ```

use anyhow::Result;

use crate::compact::archive::{Archived, ChangedConversation, archive_contents};
use crate::compact::compaction::Compaction;
use crate::compact::context::CompactionContext;
use crate::compact::event::CompactionEvent;
use crate::compact::fit::Fitted;
use crate::compact::masks::FileMasks;
use crate::compact::policy::CompactionPolicy;
use crate::plan::summaries::mark_summaries;
use crate::rewrite::{self, Edit, thinking};
use crate::transcript::Transcript;
use crate::transcript::formats::Format;
use crate::transcript::framing::{self, Document, Lines, ReadError};
use crate::transcript::source::Source;
use crate::transcript::view::Arena;

/// A document before its secrets were masked.
pub struct Original<'o> {
    pub document: &'o Document<'o>,
    pub masks: &'o FileMasks,
    /// The masked text.
    pub masked: &'o str,
}

/// A conversation of a document.
#[derive(Clone, Copy)]
pub struct Conversation<'t> {
    /// Its index in the document.
    pub index: usize,
    /// The conversation; with `--redact=all`, with its secrets masked.
    pub transcript: &'t Transcript<'t>,
    /// The same with its secrets.
    unmasked: &'t Transcript<'t>,
    /// Whether it had secrets that are masked.
    has_masks: bool,
}

/// The conversations of a document, in order; with `original`, of the same with its secrets masked.
pub fn conversations<'t>(
    document: &'t Document<'t>,
    original: Option<&'t Original<'t>>,
) -> impl Iterator<Item = Conversation<'t>> {
    document.transcripts.iter().enumerate().map(move |(index, transcript)| match original {
        Some(Original { document, masks, .. }) => Conversation {
            index,
            transcript,
            unmasked: &document.transcripts[index],
            has_masks: !masks.places(index).is_empty(),
        },
        None => Conversation { index, transcript, unmasked: transcript, has_masks: false },
    })
}

/// A plan for a conversation. Nothing is paid for yet: it can be refused.
pub struct Planned<'t> {
    context: CompactionContext<'t>,
    source: &'t str,
    /// The plan.
    pub fitted: Fitted<'t>,
}

impl<'t> Planned<'t> {
    /// Asks for the summary, and makes the edits.
    pub fn carry_out(self) -> Compaction<'t> {
        self.context.carry_out(self.source, self.fitted)
    }

    /// The same; `listen` takes the events in the place of the context's listener.
    pub fn carry_out_for(self, listen: &dyn Fn(&str, CompactionEvent<'_>)) -> Compaction<'t> {
        CompactionContext { listen, ..self.context }.carry_out(self.source, self.fitted)
    }

    /// The compaction without a result where the plan is not carried out, because of a failure.
    pub fn refuse(self, failure: anyhow::Error) -> Compaction<'t> {
        self.context.refuse(self.fitted, failure)
    }
}

impl<'c> CompactionContext<'c> {
    /// Plans the compaction of a conversation with this name. The arena holds what is read on the way.
    ///
    /// # Errors
    /// The conversation cannot be read with the early edits; or it has no place for the cut that the policy names.
    pub fn plan<'t>(&self, conversation: Conversation<'t>, source: &'t str, arena: &'t Arena<'t>) -> Result<Planned<'t>>
    where
        'c: 't,
    {
        let fitted = self.fit(conversation.transcript, conversation.unmasked, arena)?;
        Ok(Planned { context: *self, source, fitted })
    }
}

/// The changed conversations of a document, each with its index.
#[derive(Default)]
pub struct Changes<'t>(Vec<(usize, ChangedConversation<'t, 't>)>);

impl<'t> Changes<'t> {
    /// Adds a conversation with this name, if its compaction or a mask changed anything.
    pub fn add(&mut self, conversation: Conversation<'t>, source: &str, done: Compaction<'_>) {
        if done.is_change() || conversation.has_masks {
            let changed = ChangedConversation::new(conversation.transcript, source.to_owned(), done);
            self.0.push((conversation.index, changed));
        }
    }

    /// The conversations as they were.
    pub fn transcripts(&self) -> Vec<&'t Transcript<'t>> {
        self.0.iter().map(|(_, changed)| changed.transcript).collect()
    }

    /// The edits of all conversations, in order.
    pub fn edits(&self) -> Vec<Edit> {
        let mut edits: Vec<Edit> = self.0.iter().flat_map(|(_, one)| one.edits.iter().cloned()).collect();
        rewrite::sort(&mut edits);
        edits
    }

    /// The edits of the file with these bytes and the contents of its archive, which has what it takes to restore the
    /// file where `has_records` says so.
    pub fn into_contents(
        self,
        original: Option<&'t Original<'t>>,
        policy: &CompactionPolicy,
        has_records: bool,
        bytes: &[u8],
    ) -> (Vec<Edit>, Archived) {
        let mut changes = Changes::default();
        for (index, changed) in self.0 {
            let changed = match original {
                Some(Original { document, masks, masked }) => {
                    changed.before_masks(&document.transcripts[index], masks, index, masked, policy)
                }
                None => changed,
            };
            changes.0.push((index, changed));
        }
        let edits = changes.edits();
        (edits, archive_contents(has_records, bytes, changes.0.into_iter().map(|(_, one)| one).collect()))
    }
}

/// Reads the conversations in a text. The format and the kind of lines are detected where they are not given.
///
/// # Errors
/// The text is not a transcript, or mostly of kinds that no reader knows. Where the format is given, the latter is not an error.
pub fn read<'a>(
    source: &'a Source<'a>,
    from: Option<&'static Format>,
    lines: Option<Lines>,
    policy: &CompactionPolicy,
) -> Result<Document<'a>, ReadError> {
    let mut document = framing::read(source, from, lines)?;
    if from.is_none() {
        framing::check_foreign(&document)?;
    }
    for transcript in &mut document.transcripts {
        mark_summaries(transcript, &policy.cut, policy.summary.role);
        thinking::release(transcript, policy.thinking, policy.reader_name());
    }
    Ok(document)
}
