//! What happens to a message, with the sign and the style of its bar.

use clap::builder::styling::{AnsiColor, Style};

use crate::report::explain::DIM;

/// What happens to a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::report) enum MessageStatus {
    Pinned,
    /// It is removed, as a provider's own compaction replaces it.
    Removed,
    Summarized,
    /// It stays, but shortened.
    Pruned,
    Kept,
}

impl MessageStatus {
    pub(in crate::report) const ALL: [MessageStatus; 5] = [
        MessageStatus::Pinned,
        MessageStatus::Removed,
        MessageStatus::Summarized,
        MessageStatus::Pruned,
        MessageStatus::Kept,
    ];

    /// Returns the character of its bar.
    pub(super) fn sign(self) -> &'static str {
        match self {
            MessageStatus::Pinned => "▓",
            MessageStatus::Removed => "·",
            MessageStatus::Summarized => "░",
            MessageStatus::Pruned => "▒",
            MessageStatus::Kept => "█",
        }
    }

    /// Returns its name with the sign of a pin, padded to one width.
    pub(super) fn name(self) -> &'static str {
        match self {
            MessageStatus::Pinned => "* pinned    ",
            MessageStatus::Removed => "  removed   ",
            MessageStatus::Summarized => "  summarized",
            MessageStatus::Pruned => "  pruned    ",
            MessageStatus::Kept => "  kept      ",
        }
    }

    /// Returns its name in a sentence.
    pub(in crate::report) fn word(self) -> &'static str {
        self.name().trim_start_matches('*').trim()
    }

    /// Returns the style of its bar.
    pub(super) fn style(self) -> Style {
        match self {
            MessageStatus::Pinned => AnsiColor::Cyan.on_default(),
            MessageStatus::Removed => DIM,
            MessageStatus::Summarized => AnsiColor::Yellow.on_default(),
            MessageStatus::Pruned => AnsiColor::Blue.on_default(),
            MessageStatus::Kept => AnsiColor::Green.on_default(),
        }
    }
}
