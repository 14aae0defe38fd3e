//! What is cut away, kept elsewhere: the archive, and how the summary names it.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::plan::is_summary;
use crate::run::append;
use crate::settings::Settings;
use crate::transcript::{Message, Role};

use super::work::Work;

/// Where an archive is.
#[derive(Debug, Clone)]
pub(super) struct Place {
    /// The file.
    file: PathBuf,
    /// Whether the summary is wrapped as `DeepAgents` wraps it.
    wraps: bool,
}

/// What is to be kept elsewhere.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Archived {
    /// Histories, for the end of the archive; each without the line that says when it was cut away.
    pub sections: Vec<String>,
    /// Whole files beside it: where, and what is in them.
    pub files: Vec<(PathBuf, Vec<u8>)>,
}

/// Folders of files beside an archive.
pub(super) const MEDIA: &str = "media";
pub(super) const RESULTS: &str = "large_tool_results";
/// The folder in which `DeepAgents` keeps its histories.
const HISTORIES: &str = "conversation_history";

/// What a summary begins with that `DeepAgents` wraps.
const WRAPPED: &str = "You are in the middle of a conversation that has been summarized.";

impl Archived {
    pub(super) fn extend(&mut self, other: Archived) {
        self.sections.extend(other.sections);
        self.files.extend(other.files);
    }
}

impl Place {
    /// The folder beside the archive that files of a kind go to, as `DeepAgents` lays them out: media beside its
    /// histories, results of tools beside the folder of these.
    pub(super) fn folder(&self, name: &str) -> PathBuf {
        let histories = self.file.parent().unwrap_or(Path::new(""));
        let root = if name == MEDIA || !histories.ends_with(HISTORIES) {
            histories
        } else {
            histories.parent().unwrap_or(histories)
        };
        root.join(name)
    }

    /// The text of a summary message that names the archive.
    pub(super) fn introduce(&self, prefix: &str, summary: &str) -> String {
        let file = self.file.display();
        if self.wraps {
            return format!(
                "{WRAPPED}\n\nThe full conversation history has been saved to {file} should you need to refer back to it for details.\n\nA condensed summary follows:\n\n<summary>\n{summary}\n</summary>"
            );
        }
        format!("{prefix}{summary}\n\n(The messages that this summarizes are kept in {file}.)")
    }
}

/// Where the settings have the archive.
pub(super) fn place(settings: &Settings) -> Option<Place> {
    settings.archive.clone().map(|file| Place { file, wraps: settings.ways.files })
}

/// Refuses an archive that cannot be written, or that is the input or the output, before anything is done or paid for.
///
/// # Errors
/// Which of these, and what to do.
pub(super) fn check(settings: &Settings) -> Result<()> {
    match &settings.archive {
        Some(file) if !settings.dry_run && settings.disabled.is_none() => {
            append::check(file, &[settings.path.as_deref(), settings.output.as_deref()])
        }
        _ => Ok(()),
    }
}

/// Writes what is to be kept elsewhere, the files before the histories that name them.
///
/// # Errors
/// It cannot be written.
pub(super) fn write(settings: &Settings, archived: &Archived) -> Result<()> {
    let Some(archive) = settings.archive.as_ref().filter(|_| !archived.sections.is_empty()) else { return Ok(()) };
    append::files(&archived.files)?;
    append::sections(archive, &archived.sections)
}

impl Work<'_, '_> {
    /// What of this conversation is to be kept elsewhere.
    pub(super) fn archived(&self) -> Archived {
        let Some(place) = self.archive else { return Archived::default() };
        let section = if append::is_lines(&place.file) {
            self.summarized.iter().map(|&index| line(self.original.messages[index].json.raw())).collect()
        } else {
            let messages = self.summarized.iter().map(|&index| &self.history.messages[index]);
            let messages = messages.filter(|message| !self.is_earlier_summary(message));
            format!("{}\n\n", self.settings.recipe.buffer.write(messages))
        };
        Archived { sections: vec![section], files: Vec::new() }
    }

    /// Whether a message is the summary of what the archive has already.
    fn is_earlier_summary(&self, message: &Message<'_>) -> bool {
        let marked = message.additional("lc_source").and_then(|source| source.text());
        let wrapped = || message.content.texts().first().is_some_and(|text| text.starts_with(WRAPPED));
        let marked = marked.is_some_and(|source| source.is("summarization"));
        match self.settings.ways.files {
            true => message.role == Role::User && (marked || wrapped()),
            false => marked || is_summary(message, &self.settings.policy),
        }
    }
}

/// A message on a line of its own. Line ends in it can only stand between its parts, and go with the indentation.
fn line(raw: &str) -> String {
    raw.lines().map(str::trim_start).collect::<String>() + "\n"
}
