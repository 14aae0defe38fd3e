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

/// How a status is shown, in the legend and in a bar.
struct StatusStyle {
    sign: &'static str,
    name: &'static str,
    style: Style,
}

impl MessageStatus {
    pub(in crate::report) const ALL: [MessageStatus; 5] = [
        MessageStatus::Pinned,
        MessageStatus::Removed,
        MessageStatus::Summarized,
        MessageStatus::Pruned,
        MessageStatus::Kept,
    ];

    fn look(self) -> StatusStyle {
        let (sign, name, style) = match self {
            MessageStatus::Pinned => ("▓", "* pinned    ", AnsiColor::Cyan.on_default()),
            MessageStatus::Removed => ("·", "  removed   ", DIM),
            MessageStatus::Summarized => ("░", "  summarized", AnsiColor::Yellow.on_default()),
            MessageStatus::Pruned => ("▒", "  pruned    ", AnsiColor::Blue.on_default()),
            MessageStatus::Kept => ("█", "  kept      ", AnsiColor::Green.on_default()),
        };
        StatusStyle { sign, name, style }
    }

    /// The character of its bar.
    pub(super) fn sign(self) -> &'static str {
        self.look().sign
    }

    /// Its name with the sign of a pin, padded to one width.
    pub(super) fn name(self) -> &'static str {
        self.look().name
    }

    /// Its name in a sentence.
    pub(in crate::report) fn word(self) -> &'static str {
        self.name().trim_start_matches('*').trim()
    }

    pub(super) fn style(self) -> Style {
        self.look().style
    }
}
