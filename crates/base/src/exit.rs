//! The exit codes, and the errors that lead to them.

use std::fmt;
use std::process::ExitCode;

use crate::diagnostic::{Advice, Diagnostic};

/// How the program ends. Scripts depend on the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done, or nothing to do.
    Success = 0,
    /// A file could not be read or written, changed meanwhile, is open in another program, or is not a transcript.
    Unreadable = 1,
    /// Wrong usage or configuration.
    Usage = 2,
    /// With `--exit-status`: nothing was compacted. `search` found nothing.
    NothingCompacted = 3,
    /// The summarizer failed after its retries, or the command that counts did.
    SummarizerFailed = 4,
    /// The summary was rejected.
    SummaryRefused = 5,
    /// `check` found violations.
    Breaches = 6,
    /// Some inputs of a batch failed, or a stream broke off.
    SomeFailed = 7,
    /// Interrupted by Ctrl-C or another signal.
    Interrupted = 130,
}

/// The meaning of each code, for `--help` and the manual page.
pub const MEANINGS: [(Exit, &str); 9] = [
    (Exit::Success, "done, or nothing to do"),
    (
        Exit::Unreadable,
        "a file could not be read or written, changed meanwhile, is open in another program, or is not a transcript",
    ),
    (Exit::Usage, "wrong usage or configuration"),
    (Exit::NothingCompacted, "with --exit-status: nothing was compacted; search found nothing"),
    (Exit::SummarizerFailed, "the summarizer failed after its retries, or the counter's command did"),
    (Exit::SummaryRefused, "the summary was refused: empty, cut off, or not smaller"),
    (Exit::Breaches, "check found violations"),
    (Exit::SomeFailed, "a batch ended and some of its inputs failed, or a stream broke off; --report has each"),
    (Exit::Interrupted, "interrupted; everything written until then is whole"),
];

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

/// A file that may be something other than a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherFile {
    /// Why it is not read: a sentence without its subject.
    pub why: String,
    /// What the files of its kind are and how to read them, where that is known: a sentence without its subject, which
    /// holds for each of them.
    pub kind: Option<String>,
}

/// An error with its exit code. Its message completes the sentence `tcompact: …` and says what to do.
#[derive(Debug)]
#[must_use]
pub struct Failure {
    /// The exit code.
    pub exit: Exit,
    /// What the file may be instead of a transcript. Nothing if it is a transcript with an error.
    pub other_file: Option<Box<OtherFile>>,
    /// The flag with the error, without its dashes.
    pub flag: Option<&'static str>,
    /// Whether the report row of a conversation has the error already.
    pub is_reported: bool,
    /// Whether the error concerns the whole run and was reported once, so that files need not repeat it.
    pub is_known: bool,
    message: String,
    /// The wrong text, with carets under it.
    drawn: Vec<String>,
    /// What to try.
    advice: Option<Box<Advice>>,
}

impl Failure {
    /// Returns an error that ends the program with `exit`.
    pub fn new(exit: Exit, message: impl Into<String>) -> Self {
        Failure {
            exit,
            other_file: None,
            flag: None,
            is_reported: false,
            is_known: false,
            message: message.into(),
            drawn: Vec::new(),
            advice: None,
        }
    }

    /// Returns an error about a flag, its value or a setting.
    pub fn usage(message: impl Into<String>) -> Self {
        Failure::new(Exit::Usage, message)
    }

    /// Sets what the file may be instead of a transcript.
    pub fn of_other_file(self, other_file: Option<OtherFile>) -> Self {
        Failure { other_file: other_file.map(Box::new), ..self }
    }

    /// Sets the flag with the error.
    pub fn about(self, flag: &'static str) -> Self {
        Failure { flag: Some(flag), ..self }
    }

    /// Sets whether the report row of a conversation has the error already.
    pub fn reported(self, is_reported: bool) -> Self {
        Failure { is_reported, ..self }
    }

    /// Adds the wrong text, with carets under it.
    pub fn showing(mut self, text: &str, diagnostic: &Diagnostic) -> Self {
        self.drawn.extend(diagnostic.draw(text));
        self
    }

    /// Sets whether the error was reported for the whole run.
    pub fn known(self, is_known: bool) -> Self {
        Failure { is_known, ..self }
    }

    /// Adds what to try next.
    pub fn try_next(self, advice: Advice) -> Self {
        Failure { advice: Some(Box::new(advice)), ..self }
    }

    /// Names the source of the value at the start of the message.
    pub fn of(self, source: impl fmt::Display) -> Self {
        Failure { message: format!("{source}: {}", self.message), ..self }
    }

    /// Returns the lines below the message: what is wrong, and what to try.
    pub fn shown(&self) -> Vec<String> {
        self.shown_with(Advice::clone)
    }

    /// Returns the lines below the message, with the advice as `complete` changes it.
    pub fn shown_with(&self, complete: impl Fn(&Advice) -> Advice) -> Vec<String> {
        let mut lines = self.drawn.clone();
        if let Some(advice) = &self.advice {
            lines.extend(complete(advice).lines());
        }
        lines
    }

    /// Returns an error about a file that cannot be read or written, or holds no transcript.
    pub fn unreadable(message: impl Into<String>) -> Self {
        Failure::new(Exit::Unreadable, message)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}
