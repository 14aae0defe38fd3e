//! The message that a summary makes: what stands around its text, and how large it is.

use std::borrow::Cow;

use crate::summary::fence;
use crate::tokens::Counter;
use crate::transcript::formats::{Format, read_entry};

use crate::compact::archive::ArchivePlace;
use crate::compact::policy::CompactionPolicy;

/// The text of a summary message: the summary in its fence, where it has one, with what stands before and after it.
pub(super) fn introduced(policy: &CompactionPolicy, archive: Option<&ArchivePlace>, summary: &str) -> String {
    let fenced = if policy.ways.fences { Cow::Owned(fence::closed(summary)) } else { Cow::Borrowed(summary) };
    let prefix = &policy.cut.summary_prefix;
    match archive {
        Some(place) => place.introduce(prefix, &fenced),
        None => format!("{prefix}{fenced}"),
    }
}

/// Tokens of entries that are not part of a transcript yet; those that are no messages have none.
pub(super) fn message_tokens(format: &dyn Format, counter: Counter, entries: &[serde_json::Value]) -> u64 {
    let of_one = |entry: &serde_json::Value| read_entry(format, &entry.to_string(), |message| counter.count(message));
    entries.iter().filter_map(of_one).sum()
}
