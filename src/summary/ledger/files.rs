//! Which files a call reads or changes, in the words that notes have for it.

use crate::transcript::tools::{Access, ToolUse};

/// What was done with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Use {
    Read,
    Changed,
}

impl Use {
    /// The word for it.
    pub(super) fn word(self) -> &'static str {
        match self {
            Use::Read => "read",
            Use::Changed => "changed",
        }
    }
}

/// The files of a call; what is only named is told as read.
pub(super) fn of_call(call: &ToolUse) -> Vec<(String, Use)> {
    let used = |access| if access == Access::Changed { Use::Changed } else { Use::Read };
    call.files.iter().map(|file| (file.path.clone(), used(file.access))).collect()
}
