//! The tokens of a result, as triggers and limits count those of a conversation.

use crate::compact::compaction::Edits;
use crate::compact::policy::CompactionPolicy;
use crate::plan::total;
use crate::rewrite::{self, Placed};
use crate::tokens::Tally;
use crate::transcript::source::Source;
use crate::transcript::view::list;
use crate::transcript::{Transcript, framing};

pub(super) fn result_tokens(
    policy: &CompactionPolicy,
    transcript: &Transcript<'_>,
    edits: &Edits,
    placed: Option<&Placed>,
) -> u64 {
    let messages = list(rewrite::remaining(transcript, &edits.plan, placed, &edits.edits));
    // A result that cannot be read fits no limit.
    let Ok(source) = Source::of(&messages) else { return u64::MAX };
    let Ok(document) = framing::read(&source, Some(transcript.format), None) else { return u64::MAX };
    let Some(read) = document.transcripts.first() else { return u64::MAX };
    let counted = policy.tally(transcript);
    total(read, &Tally::of(counted.message_counter(), read, Some(counted.overhead())), &policy.cut)
}
