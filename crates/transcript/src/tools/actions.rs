//! What a call does with files: not only that it changes them, but how.

use crate::tools::full_path;

/// What a call does with a file. The name of an action is the word that users read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileAction {
    Changed,
    Created,
    Deleted,
    Renamed,
    /// Reset to its committed state.
    Restored,
    /// Perhaps changed: nothing is recorded of how it went.
    Tried,
    Read,
}

impl FileAction {
    pub const ALL: [FileAction; 7] = {
        use FileAction::{Changed, Created, Deleted, Read, Renamed, Restored, Tried};
        [Changed, Created, Deleted, Renamed, Restored, Tried, Read]
    };
}

/// What a command or a patch does to a file, with the paths as they stand there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) action: FileAction,
    pub(super) path: String,
    /// The new path of what is renamed.
    pub(super) to: Option<String>,
}

impl Change {
    pub(super) fn new(action: FileAction, path: &str) -> Self {
        Change { action, path: path.to_owned(), to: None }
    }

    /// Its paths: that of the file, and the new one of what is renamed.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&*self.path).chain(self.to.as_deref())
    }

    /// The same action, with the folder in its paths.
    pub(super) fn within(self, folder: Option<&str>) -> FileChange {
        let Change { action, path, to } = self;
        let path = if path == EVERYTHING { path } else { full_path(folder, &path) };
        let path = match to {
            Some(to) => format!("{path}{RENAMED_TO}{}", full_path(folder, &to)),
            None => path,
        };
        FileChange { action, path }
    }
}

/// What a program does to a file, or to the two of a move with [`RENAMED_TO`] between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    pub action: FileAction,
    pub path: String,
}

/// The path that stands for all files that git knows.
pub const EVERYTHING: &str = ".";

/// The sign between the two paths of a move.
pub const RENAMED_TO: &str = " → ";

/// Whether a word is one of a list, which has `|` between the words.
pub fn is_in(word: &str, list: &str) -> bool {
    list.split('|').any(|known| known == word)
}
