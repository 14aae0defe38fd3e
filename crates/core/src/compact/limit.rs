//! The size limit of `--fit`: how a plan meets it, or why none can.

use crate::compact::policy::{CompactionPolicy, SummarizerKind};
use crate::diagnostic::Advice;
use crate::exit::{Exit, Failure};
use crate::plan::size::Size;
use crate::tokens::models::Model;
use crate::wording::{counted, readable_source};

/// Why a conversation stays unchanged where its result could not be read.
pub(super) const LEFT_FOREIGN: &str = "tcompact could not read most of the result; keep more";

/// Names the limit as the user gave it: with `--fit`, or with the context window.
pub(super) fn limit_name(policy: &CompactionPolicy, limit: u64) -> String {
    let window = policy.cut.context_window.unwrap_or_default();
    let is_window_of_reader = |reader: &Model| reader.context_window == window;
    let summary = &policy.summary;
    let is_window_of_model = summary.summarizer == SummarizerKind::Model && summary.model.window == Some(window);
    match policy.fit {
        _ if policy.is_by_window => {
            let of = match policy.reader.filter(is_window_of_reader) {
                Some(reader) => format!("the window of --for {}", reader.name),
                None if is_window_of_model => format!("the window of {}", summary.name),
                None => format!("--context-window {window}"),
            };
            format!("the limit of {} (half of {of})", counted(limit, "token"))
        }
        Some(Size::Bytes(bytes)) => format!("--fit bytes:{bytes} (here some {})", counted(limit, "token")),
        Some(Size::Fraction(fraction)) => format!("--fit fraction:{fraction} ({})", counted(limit, "token")),
        _ => format!("--fit tokens:{limit}"),
    }
}

/// How a conversation is made to fit a size. All sizes are in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fit {
    /// The largest size of the result.
    pub limit: u64,
    /// The largest size that the plan aims at: at least a tenth of the limit is saved where that is possible.
    pub target: u64,
    /// The size of the summary's message with which the result reaches the target.
    pub room: u64,
    /// The most tokens of what the user typed that stay before the cut.
    pub typed: u64,
    /// The size to which results in the kept part are cut, where they are.
    pub cap: Option<u64>,
}

impl Fit {
    /// The size of the summary's message with which the result reaches the limit.
    pub fn most_room(&self) -> u64 {
        self.room + (self.limit - self.target)
    }
}

/// Why a limit cannot be met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unmet {
    /// The smallest result is larger.
    Tokens(Parts),
    /// The smallest result has so many bytes.
    Bytes(u64),
    /// The result would be small enough, but mostly of kinds that no reader knows.
    Foreign,
}

/// The smallest result that a conversation can have. All sizes are in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Parts {
    /// Sent beside the messages.
    pub(super) overhead: u64,
    /// Pinned messages.
    pub(super) pinned: u64,
    /// The smallest summary of the history, or the history where it cannot be cut.
    pub(super) before: u64,
    /// The kept part, its results cut as far as they can be.
    pub(super) kept: u64,
}

impl Unmet {
    /// The size of the smallest result, where that is known.
    pub(super) fn least(self) -> u64 {
        match self {
            Unmet::Tokens(Parts { overhead, pinned, before, kept }) => overhead + pinned + before + kept,
            Unmet::Bytes(bytes) => bytes,
            Unmet::Foreign => u64::MAX,
        }
    }

    /// The error for a limit that cannot be met, with the one that can.
    pub(super) fn failure(self, source: &str, limit_name: &str, sizes: ReachableSizes) -> Failure {
        let ReachableSizes { least, present, without_pins } = sizes;
        let parts = match self {
            Unmet::Tokens(parts) => parts,
            Unmet::Bytes(least) => {
                let what = format!("{limit_name} cannot be met; the least is {}", counted(least, "byte"));
                return bytes_failure(source, &what, least, present);
            }
            Unmet::Foreign => {
                let message = format!("{}: {limit_name} cannot be met: {LEFT_FOREIGN}", readable_source(source));
                return tokens_failure(message, least, present);
            }
        };
        let named = [
            (parts.kept, "in the kept part, its results cut as far as they can be"),
            (parts.pinned, "pinned"),
            (parts.before, "at least for the history before it"),
            (parts.overhead, "sent beside the messages (--overhead-tokens sets it)"),
        ];
        let named: Vec<String> =
            named.iter().filter(|(tokens, _)| *tokens > 0).map(|(tokens, what)| format!("{tokens} {what}")).collect();
        let (source, mut tokens) = (readable_source(source), counted(least, "token"));
        if least >= present {
            tokens.push_str(", its size now");
        }
        let mut message = format!("{source}: {limit_name} cannot be met; the least is {tokens}");
        // A larger limit keeps more, and can cut there what is history now: the parts are then not those of the least.
        if self.least() <= least {
            message.push_str(&format!(": {}", named.join(", ")));
        }
        if without_pins {
            return Failure::new(Exit::SummaryRefused, message).try_next(Advice::command(["--pin", "none"]));
        }
        tokens_failure(message, least, present)
    }
}

/// The sizes that a conversation can have, in the unit of its limit.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReachableSizes {
    /// The smallest one.
    pub(super) least: u64,
    /// The one that it has now.
    pub(super) present: u64,
    /// Whether `--pin none` is enough to meet the limit.
    pub(super) without_pins: bool,
}

/// What helps besides a larger limit.
const KEEP_LESS: &str = "or keep less with --keep";

/// The error that a conversation has more bytes than `--fit bytes:N` says, with a number that it can have.
pub(super) fn bytes_failure(source: &str, what: &str, least: u64, present: u64) -> Failure {
    let message = format!("{}: {what}", readable_source(source));
    refused(message, Size::Bytes(least), least < present)
}

/// The error that a conversation has more tokens than its limit, with a number that it can have.
pub(super) fn tokens_failure(message: String, least: u64, present: u64) -> Failure {
    refused(message, Size::Tokens(least), least < present)
}

/// The error for a limit, with another one where that makes a conversation smaller.
fn refused(message: String, other: Size, is_smaller: bool) -> Failure {
    let failure = Failure::new(Exit::SummaryRefused, message);
    if is_smaller { failure.try_next(Advice::command(["--fit", &other.to_string()]).note(KEEP_LESS)) } else { failure }
}
