//! What to try after an error, as data: the command line completes a command with the flags and files that were typed.

use crate::diagnostic::quoted;

/// The name of the program.
pub(crate) const PROGRAM: &str = "tcompact";

/// What to try after an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Advice {
    /// The command that failed, changed.
    Command {
        /// A variable to set for the command, `NAME=value`; nothing otherwise.
        variable: Option<String>,
        /// An input that the command goes without; nothing otherwise.
        without: Option<String>,
        /// What the command needs: flags, their values, files.
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
        let words = words.into_iter().map(Into::into).collect();
        Advice::Command { variable: None, without: None, words, note: None }
    }

    /// Returns the advice to set a variable for the command, `NAME=value`.
    #[cfg(feature = "cli")]
    pub(crate) fn variable(variable: String) -> Self {
        Advice::Command { variable: Some(variable), without: None, words: Vec::new(), note: None }
    }

    /// Returns the advice to try the command without an input.
    #[cfg(feature = "cli")]
    pub(crate) fn without(input: String) -> Self {
        Advice::Command { variable: None, without: Some(input), words: Vec::new(), note: None }
    }

    /// Adds what a command is for.
    #[must_use]
    pub(crate) fn note(self, note: &'static str) -> Self {
        match self {
            Advice::Command { variable, without, words, .. } => {
                Advice::Command { variable, without, words, note: Some(note) }
            }
            line => line,
        }
    }

    /// Returns the lines that show it. A note has its own, since whoever pastes a command pastes its line.
    pub(crate) fn lines(&self) -> Vec<String> {
        match self {
            Advice::Command { variable, words, note, .. } => {
                let line = [variable.as_deref().unwrap_or_default(), PROGRAM, &joined(words)].join(" ");
                let note = note.map(|note| format!("  {note}"));
                [format!("try: {}", line.trim())].into_iter().chain(note).collect()
            }
            Advice::Line(line) => vec![format!("try: {line}")],
        }
    }
}

/// Returns words as a shell takes them.
pub(crate) fn joined(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}
