//! The conversations of a text, as a policy has them looked at.

use crate::plan::mark_summaries;
use crate::rewrite::thinking;
use crate::transcript::formats::Format;
use crate::transcript::framing::{self, Document, Lines, ReadError};
use crate::transcript::source::Source;

use crate::compact::policy::CompactionPolicy;

/// The conversations in a text, of a format and with lines of a kind where these are known.
///
/// # Errors
/// It is no transcript, or one that is mostly unknown.
pub(crate) fn read<'a>(
    source: &'a Source<'a>,
    from: Option<&'static dyn Format>,
    lines: Option<Lines>,
    policy: &CompactionPolicy,
) -> Result<Document<'a>, ReadError> {
    let mut document = framing::read(source, from, lines)?;
    framing::check_foreign(&document)?;
    for transcript in &mut document.transcripts {
        mark_summaries(transcript, &policy.cut);
        thinking::release(transcript, policy.thinking, policy.reader_name());
    }
    Ok(document)
}
