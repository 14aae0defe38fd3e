//! The status of one input at the end of its work.

use std::fmt;

use crate::events::FinishedRow;
use crate::exit::Failure;

/// The status of one input at the end of its work.
#[derive(Debug)]
pub(super) enum FileStatus {
    Compacted,
    Unchanged,
    /// Unchanged because its summarizer failed.
    PassedThrough,
    /// An earlier run finished it, with these rows.
    Finished(Vec<FinishedRow>),
    /// Skipped: it is no transcript, and the user did not name it. The text says why, as in `does not begin as JSON does`.
    LeftOut(String),
    Failed(anyhow::Error),
}

impl FileStatus {
    /// Returns the status of an input that failed. One that `is_named` by the user must be a transcript.
    pub(super) fn of(error: anyhow::Error, is_named: bool) -> Self {
        let other = error.downcast_ref::<Failure>().and_then(|failure| failure.other_file.clone());
        match other.filter(|_| !is_named) {
            Some(why) => FileStatus::LeftOut(why),
            None => FileStatus::Failed(error),
        }
    }
}

impl fmt::Display for FileStatus {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FileStatus::Compacted => out.write_str("compacted"),
            FileStatus::Unchanged => out.write_str("unchanged"),
            FileStatus::PassedThrough => out.write_str("unchanged, since its summarizer failed"),
            FileStatus::Finished(_) => out.write_str("finished by an earlier run"),
            FileStatus::LeftOut(why) => write!(out, "left out: it {why}"),
            FileStatus::Failed(error) => write!(out, "{error}"),
        }
    }
}
