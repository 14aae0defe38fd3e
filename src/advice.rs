//! What to try after an error, as data: the command line completes a command with the flags and files that were typed.

use crate::diagnostic::quoted;

/// The name of the program.
pub(crate) const PROGRAM: &str = "tcompact";

/// What to try after an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Advice {
    /// The command that failed, with these words.
    Command {
        /// A variable to set for the command, `NAME=value`; nothing otherwise.
        variable: Option<String>,
        /// What stands behind the name of the program: flags, their values, files.
        words: Vec<String>,
        /// What the command is for, and what else may help.
        note: Option<&'static str>,
    },
    /// A line that is not a command of tcompact.
    Line(String),
}

impl Advice {
    /// Returns the advice to try the command with these words: flags, their values, files.
    pub(crate) fn command<W: Into<String>>(words: impl IntoIterator<Item = W>) -> Self {
        Advice::Command { variable: None, words: words.into_iter().map(Into::into).collect(), note: None }
    }

    /// Adds what a command is for.
    #[must_use]
    pub(crate) fn note(self, note: &'static str) -> Self {
        match self {
            Advice::Command { variable, words, .. } => Advice::Command { variable, words, note: Some(note) },
            line => line,
        }
    }

    /// Returns the lines that show it. A note has its own, since whoever pastes a command pastes its line.
    pub(crate) fn lines(&self) -> Vec<String> {
        match self {
            Advice::Command { variable, words, note } => {
                let words = [PROGRAM.to_owned()].into_iter().chain(words.iter().map(|word| quoted(word)));
                let line: Vec<String> = variable.clone().into_iter().chain(words).collect();
                let note = note.map(|note| format!("  {note}"));
                [format!("try: {}", line.join(" "))].into_iter().chain(note).collect()
            }
            Advice::Line(line) => vec![format!("try: {line}")],
        }
    }
}
