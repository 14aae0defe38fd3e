//! Every exit code, and the errors that lead to it.

use std::fmt;
use std::process::ExitCode;

use crate::diagnostic::Diagnostic;

/// How the program ends. Scripts depend on the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done, or nothing to do.
    Success = 0,
    /// A file could not be read or written, or the input is no transcript.
    Unreadable = 1,
    /// Wrong usage or configuration.
    Usage = 2,
    /// With `--exit-status`: nothing was compacted.
    NothingCompacted = 3,
    /// The summarizer failed after its retries.
    SummarizerFailed = 4,
    /// The summary was refused.
    SummaryRefused = 5,
    /// `--check` found breaches.
    Breaches = 6,
    /// A batch or a stream ended, and some of it failed.
    SomeFailed = 7,
    /// Interrupted, by Ctrl-C or another signal to end.
    Interrupted = 130,
}

/// What each code means, for `--help` and the manual page.
pub(crate) const MEANINGS: [(Exit, &str); 9] = [
    (Exit::Success, "done, or nothing to do"),
    (Exit::Unreadable, "a file could not be read or written, or the input is no transcript"),
    (Exit::Usage, "wrong usage or configuration"),
    (Exit::NothingCompacted, "with --exit-status: nothing was compacted"),
    (Exit::SummarizerFailed, "the summarizer failed after its retries"),
    (Exit::SummaryRefused, "the summary was refused: empty, cut off, or not smaller"),
    (Exit::Breaches, "--check found breaches"),
    (Exit::SomeFailed, "a batch ended and some of its inputs failed, or a stream broke off; --report has each"),
    (Exit::Interrupted, "interrupted; everything written until then is whole"),
];

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

/// An error with the exit code it leads to. Its message finishes the sentence `tcompact: …` and says what to do.
#[derive(Debug)]
pub struct Failure {
    /// How the program ends.
    pub exit: Exit,
    /// Why a file is something else than a transcript, where it may be, and not a transcript that something is wrong with.
    pub(crate) other_file: Option<String>,
    /// The flag that it is about, without its dashes.
    pub(crate) flag: Option<&'static str>,
    /// Whether the report on a conversation tells it already.
    pub(crate) is_reported: bool,
    /// Whether it was said for the whole run, and need not be said of each file.
    pub(crate) is_known: bool,
    message: String,
    /// Lines that show what is wrong, and what to try.
    shown: Vec<String>,
}

impl Failure {
    /// An error that ends the program with `exit`.
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Failure {
            exit,
            other_file: None,
            flag: None,
            is_reported: false,
            is_known: false,
            message: message.into(),
            shown: Vec::new(),
        }
    }

    /// A flag, its value or a setting that cannot be used.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Failure::new(Exit::Usage, message)
    }

    /// The same, where the file may be something else than a transcript, for this reason.
    #[must_use]
    pub(crate) fn of_other_file(self, why: Option<String>) -> Self {
        Failure { other_file: why, ..self }
    }

    /// The same about a flag.
    #[must_use]
    pub(crate) fn about(self, flag: &'static str) -> Self {
        Failure { flag: Some(flag), ..self }
    }

    /// The same, where the report on a conversation tells it if it `is_reported`.
    #[must_use]
    pub(crate) fn reported(self, is_reported: bool) -> Self {
        Failure { is_reported, ..self }
    }

    /// The same with the text that is wrong, and carets under it.
    #[must_use]
    pub(crate) fn showing(mut self, text: &str, diagnostic: &Diagnostic) -> Self {
        self.shown.extend(diagnostic.drawn(text));
        self
    }

    /// The same, where it was said for the whole run if it `is_known`.
    #[must_use]
    pub(crate) fn known(self, is_known: bool) -> Self {
        Failure { is_known, ..self }
    }

    /// The same with what to try next.
    #[must_use]
    pub(crate) fn try_next(mut self, what: impl fmt::Display) -> Self {
        self.shown.push(format!("try: {what}"));
        self
    }

    /// The same, said of where the value comes from.
    #[must_use]
    pub(crate) fn of(self, source: impl fmt::Display) -> Self {
        Failure { message: format!("{source}: {}", self.message), ..self }
    }

    /// What is shown on the lines after the message.
    pub fn shown(&self) -> &[String] {
        &self.shown
    }

    /// A file that cannot be read or written, or holds no transcript.
    pub(crate) fn unreadable(message: impl Into<String>) -> Self {
        Failure::new(Exit::Unreadable, message)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}
