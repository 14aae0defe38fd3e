//! The loop over the conversations of a document, which the library and the program share.

use anyhow::Result;

use crate::compact::archive::{Archived, ChangedConversation, archive_contents};
use crate::compact::compaction::Compaction;
use crate::compact::context::CompactionContext;
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

/// Who looks at the compaction of a document.
pub trait Watch {
    /// A conversation begins. Returns its name.
    fn begin(&mut self, at: usize, transcript: &Transcript<'_>) -> String;

    /// There is a plan, and a summary is not paid for yet.
    ///
    /// # Errors
    /// The plan is not to be carried out.
    fn planned(&mut self, _at: usize, _source: &str, _fitted: &Fitted<'_>) -> Result<()> {
        Ok(())
    }

    /// A conversation is compacted, or has no plan.
    ///
    /// # Errors
    /// It has no result.
    fn end(&mut self, at: usize, source: &str, done: Result<&mut Compaction<'_>>) -> Result<()>;
}

/// A document before its secrets were masked.
pub struct Original<'o> {
    pub document: &'o Document<'o>,
    pub masks: &'o FileMasks,
    /// The masked text.
    pub masked: &'o str,
}

/// The changed conversations of a document, each with its number.
pub struct Changes<'t>(pub Vec<(usize, ChangedConversation<'t, 't>)>);

impl CompactionContext<'_> {
    /// Compacts the conversations of a document, one after the other; with `original`, of the same with its secrets masked.
    ///
    /// # Errors
    /// One of them has no plan or no result, or `watch` stops.
    pub fn compact<'t>(
        &self,
        document: &'t Document<'t>,
        original: Option<&'t Original<'t>>,
        watch: &mut dyn Watch,
    ) -> Result<Changes<'t>> {
        let mut changes = Vec::new();
        for (at, transcript) in document.transcripts.iter().enumerate() {
            let source = watch.begin(at, transcript);
            let arena = Arena::default();
            let unmasked = original.map_or(transcript, |original| &original.document.transcripts[at]);
            let done =
                self.plan(transcript, unmasked, &arena).map(|fitted| match watch.planned(at, &source, &fitted) {
                    Ok(()) => self.carry_out(&source, fitted),
                    Err(failure) => self.refused(fitted, failure),
                });
            let mut done = match done {
                Ok(done) => done,
                Err(error) => {
                    watch.end(at, &source, Err(error))?;
                    continue;
                }
            };
            watch.end(at, &source, Ok(&mut done))?;
            if let Some(failure) = done.failure.take() {
                return Err(failure);
            }
            let is_masked = original.is_some_and(|original| !original.masks.places(at).is_empty());
            if done.is_change() || is_masked {
                changes.push((at, ChangedConversation::new(transcript, source, done)));
            }
        }
        Ok(Changes(changes))
    }
}

impl<'t> Changes<'t> {
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
        let of_file = |(at, one): (usize, ChangedConversation<'t, 't>)| {
            let one = match original {
                Some(Original { document, masks, masked }) => {
                    one.before_masks(&document.transcripts[at], masks, at, masked, policy)
                }
                None => one,
            };
            (at, one)
        };
        let changes = Changes(self.0.into_iter().map(of_file).collect());
        let edits = changes.edits();
        (edits, archive_contents(has_records, bytes, changes.0.into_iter().map(|(_, one)| one).collect()))
    }
}

/// Reads the conversations in a text. The format and the kind of lines are detected where they are not given.
///
/// # Errors
/// The text is not a transcript, or mostly of kinds that no reader knows.
pub fn read<'a>(
    source: &'a Source<'a>,
    from: Option<&'static Format>,
    lines: Option<Lines>,
    policy: &CompactionPolicy,
) -> Result<Document<'a>, ReadError> {
    let mut document = framing::read(source, from, lines)?;
    framing::check_foreign(&document)?;
    for transcript in &mut document.transcripts {
        mark_summaries(transcript, &policy.cut, policy.summary.role);
        thinking::release(transcript, policy.thinking, policy.reader_name());
    }
    Ok(document)
}
