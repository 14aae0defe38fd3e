//! The conversations of a text, read by a policy.

use crate::plan::summaries::mark_summaries;
use crate::rewrite::thinking;
use crate::transcript::formats::Format;
use crate::transcript::framing::{self, Document, Lines, ReadError};
use crate::transcript::source::Source;

use crate::compact::policy::CompactionPolicy;

/// Reads the conversations in a text. The format and the kind of lines are detected where they are not given.
///
/// # Errors
/// The text is not a transcript, or mostly of kinds that no reader knows.
pub(crate) fn read<'a>(
    source: &'a Source<'a>,
    from: Option<&'static dyn Format>,
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
