//! What is cut away, kept elsewhere: the archive, and how the summary names it.

use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::{Value, json};

use crate::cli::Emit;
use crate::files::append::{self, Section};
use crate::files::{links, output};
use crate::plan::carried::ARCHIVED;
use crate::rewrite::restoring::{Change, ways_back};
use crate::rewrite::{self, Edit};
use crate::settings::Settings;
use crate::summary::buffer::Buffer;
use crate::transcript::{Message, Role, Transcript};

use crate::engine::work::Work;

/// Folders of files beside an archive.
pub(super) const MEDIA: &str = "media";
pub(super) const RESULTS: &str = "large_tool_results";
/// The folder in which `DeepAgents` keeps its histories.
const HISTORIES: &str = "conversation_history";

/// What a summary begins with that `DeepAgents` wraps.
const WRAPPED: &str = "You are in the middle of a conversation that has been summarized.";

/// Where an archive is.
#[derive(Debug, Clone)]
pub(super) struct Place {
    /// The file.
    file: PathBuf,
    /// Whether the summary is wrapped as `DeepAgents` wraps it.
    wraps: bool,
    /// The line of the conversation, where its source holds one a line.
    line: Option<usize>,
}

/// What is to be kept elsewhere.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Archived {
    /// Histories, for the end of the archive.
    pub sections: Vec<Section>,
    /// Whole files beside it: where, and what is in them.
    pub files: Vec<(PathBuf, Vec<u8>)>,
}

impl Archived {
    pub(super) fn extend(&mut self, other: Archived) {
        self.sections.extend(other.sections);
        self.files.extend(other.files);
    }
}

/// A conversation that was changed, and what of it is to be kept elsewhere.
pub(super) struct Changed<'t, 'a> {
    pub(super) transcript: &'t Transcript<'a>,
    /// Its name.
    pub(super) source: String,
    /// The edits, in order.
    pub(super) edits: Vec<Edit>,
    /// Indices of the messages that its record holds, where there is one.
    pub(super) removed: Vec<usize>,
    pub(super) archived: Archived,
}

/// What is to be kept elsewhere of the changes that all these `edits` make to `source`. Records tell the way back; where
/// the output is no transcript, there is none.
pub(super) fn kept(settings: &Settings, source: &str, edits: &[Edit], changed: Vec<Changed<'_, '_>>) -> Archived {
    let records = settings.archive.as_deref().is_some_and(append::is_lines) && !settings.dry_run;
    let mut kept = Archived::default();
    if !records || settings.emit == Emit::Update {
        changed.into_iter().for_each(|one| kept.extend(one.archived));
        return kept;
    }
    let (mut changes, mut sections) = (Vec::new(), Vec::new());
    for Changed { transcript, source, edits, removed, archived } in changed {
        changes.push(Change::new(transcript, edits, &removed));
        let own = archived.sections.into_iter().next();
        sections.push(own.unwrap_or_else(|| Section::Record(record(transcript, &source, &[]))));
        kept.files.extend(archived.files);
    }
    for (mut section, way) in sections.into_iter().zip(ways_back(source, &rewrite::apply(source, edits), &changes)) {
        // Strings and numbers do not fail to serialize.
        let way = serde_json::to_value(way).unwrap_or_default();
        if let (Section::Record(Value::Object(record)), Value::Object(way)) = (&mut section, way) {
            record.extend(way);
        }
        kept.sections.push(section);
    }
    kept
}

/// The record of the messages with some indices.
fn record(transcript: &Transcript<'_>, source: &str, indices: &[usize]) -> Value {
    let messages = indices.iter().map(|&index| transcript.messages[index].json.raw());
    json!({
        "source": source,
        "format": transcript.format.name(),
        "indices": indices,
        "messages": messages.collect::<Vec<_>>(),
    })
}

impl Place {
    /// The folder beside the archive that files of a kind go to, as `DeepAgents` lays them out: media beside its
    /// histories, results of tools beside the folder of these. Ids of calls are only good within a conversation, so each
    /// line of a file has a folder of its own.
    pub(super) fn folder(&self, name: &str) -> PathBuf {
        let histories = self.file.parent().unwrap_or(Path::new(""));
        if name == MEDIA {
            return histories.join(name);
        }
        let root = if histories.ends_with(HISTORIES) { histories.parent().unwrap_or(histories) } else { histories };
        let folder = root.join(name);
        self.line.map_or(folder.clone(), |line| folder.join(format!("line-{line}")))
    }

    /// The text of a summary message that names the archive.
    pub(super) fn introduce(&self, prefix: &str, summary: &str) -> String {
        let file = self.file.display();
        if self.wraps {
            return format!(
                "{WRAPPED}\n\nThe full conversation history has been saved to {file} should you need to refer back to it for details.\n\nA condensed summary follows:\n\n<summary>\n{summary}\n</summary>"
            );
        }
        format!("{prefix}{summary}{}{file}{}", ARCHIVED.0, ARCHIVED.1)
    }
}

/// Where the settings have the archive of a conversation.
pub(super) fn place(settings: &Settings, transcript: &Transcript<'_>) -> Option<Place> {
    settings.archive.clone().map(|file| Place { file, wraps: settings.ways.files, line: transcript.line })
}

/// Refuses an archive that cannot be written, or that is one of `others`, before anything is done or paid for.
///
/// # Errors
/// Which of these, and what to do.
pub(super) fn check(settings: &Settings, others: &[Option<&Path>]) -> Result<()> {
    match &settings.archive {
        Some(file) if !settings.only_looks() && (settings.disabled.is_none() || settings.repair.is_some()) => {
            append::check(file, others)
        }
        _ => Ok(()),
    }
}

/// Refuses links in the folders of an archive that nobody named: these are tcompact's own.
///
/// # Errors
/// There is one.
pub(super) fn refuse_links(settings: &Settings) -> Result<()> {
    let Some(archive) = settings.archive.as_deref().filter(|_| !settings.archive_chosen) else { return Ok(()) };
    Ok(links::refuse(Path::new(""), archive).map_err(|error| output::unwritable(archive, &error))?)
}

/// Writes what is to be kept elsewhere, as private as the input, the files before the histories that name them.
///
/// # Errors
/// It cannot be written.
pub(super) fn write(settings: &Settings, archived: &Archived, input: Option<&Path>) -> Result<()> {
    if settings.only_looks() {
        return Ok(());
    }
    if !archived.sections.is_empty() || !archived.files.is_empty() {
        refuse_links(settings)?;
    }
    append::files(&archived.files, input)?;
    match &settings.archive {
        Some(archive) if !archived.sections.is_empty() => append::sections(archive, &archived.sections, input),
        _ => Ok(()),
    }
}

impl Work<'_, '_> {
    /// What of this conversation is to be kept elsewhere.
    pub(super) fn archived(&self, source: &str) -> Archived {
        let Some(place) = self.archive else { return Archived::default() };
        let removed = self.plan.removed();
        let section = if append::is_lines(&place.file) {
            Section::Record(record(self.transcript, source, &removed))
        } else if self.settings.ways.files {
            let messages = removed.iter().map(|&index| &self.unmasked.messages[index]);
            let messages = messages.filter(|message| !self.is_earlier_summary(message));
            Section::Text(self.settings.recipe.buffer.write(messages))
        } else {
            let messages = removed.iter().map(|&index| &self.transcript.messages[index]);
            Section::Text(format!("From {source}:\n\n{}", Buffer::Own.write(messages)))
        };
        Archived { sections: vec![section], files: Vec::new() }
    }

    /// Whether a message is the summary of what `DeepAgents` has in its archive already.
    fn is_earlier_summary(&self, message: &Message<'_>) -> bool {
        let marked = message.additional("lc_source").and_then(|source| source.text());
        let wrapped = || message.content.texts().first().is_some_and(|text| text.starts_with(WRAPPED));
        message.role == Role::User && (marked.is_some_and(|source| source.is("summarization")) || wrapped())
    }
}
