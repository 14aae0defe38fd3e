//! What is cut away, kept elsewhere: the records of an archive, and how the summary names it. Who writes it is no matter
//! here.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::plan::carried::ARCHIVED;
use crate::rewrite::restoring::{Change, restore_infos};
use crate::rewrite::{Edit, apply, media};
use crate::transcript::Transcript;

use crate::compact::policy::CompactionPolicy;

/// Whole files: where, and what is in them.
pub(super) type Files = Vec<(PathBuf, Vec<u8>)>;

/// Folders of files beside an archive.
pub(super) const MEDIA: &str = "media";
pub(super) const RESULTS: &str = "large_tool_results";
/// The folder in which `DeepAgents` keeps its histories.
const HISTORIES: &str = "conversation_history";

/// What a summary begins with that `DeepAgents` wraps.
pub(super) const WRAPPED: &str = "You are in the middle of a conversation that has been summarized.";

/// What was cut away from one conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Section {
    /// Text for reading.
    Text(String),
    /// An object for a line of its own.
    Record(Value),
}

/// Where an archive is.
#[derive(Debug, Clone)]
pub(super) struct ArchivePlace {
    /// The file.
    pub(super) file: PathBuf,
    /// Whether the summary is wrapped as `DeepAgents` wraps it.
    wraps: bool,
    /// The line of the conversation, where its source holds one a line.
    line: Option<usize>,
}

/// What is to be kept elsewhere.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Archived {
    /// Histories, for the end of the archive.
    pub(crate) sections: Vec<Section>,
    /// Whole files beside it: where, and what is in them.
    pub(crate) files: Files,
}

impl Archived {
    /// Adds what another has.
    pub(crate) fn extend(&mut self, other: Archived) {
        self.sections.extend(other.sections);
        self.files.extend(other.files);
    }
}

/// A conversation that was changed, and what of it is to be kept elsewhere.
pub(crate) struct ChangedConversation<'t, 'a> {
    /// As it was.
    pub(crate) transcript: &'t Transcript<'a>,
    /// Its name.
    pub(crate) source: String,
    /// The edits, in order.
    pub(crate) edits: Vec<Edit>,
    /// Indices of the messages that its record holds, where there is one.
    pub(crate) removed: Vec<usize>,
    /// What else is to be kept.
    pub(crate) archived: Archived,
}

/// What is to be kept elsewhere of the changes that all these `edits` make to `source`, with records that tell the way back
/// where these are wanted.
pub(crate) fn kept(records: bool, source: &str, edits: &[Edit], changed: Vec<ChangedConversation<'_, '_>>) -> Archived {
    let mut kept = Archived::default();
    if !records {
        changed.into_iter().for_each(|one| kept.extend(one.archived));
        return kept;
    }
    let (mut changes, mut sections) = (Vec::new(), Vec::new());
    for ChangedConversation { transcript, source, edits, removed, archived } in changed {
        changes.push(Change::new(transcript, edits, &removed));
        let own = archived.sections.into_iter().next();
        sections.push(own.unwrap_or_else(|| Section::Record(record(transcript, &source, &removed))));
        kept.files.extend(archived.files);
    }
    for (mut section, way) in sections.into_iter().zip(restore_infos(source, &apply(source, edits), &changes)) {
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
pub(super) fn record(transcript: &Transcript<'_>, source: &str, indices: &[usize]) -> Value {
    let messages = indices.iter().map(|&index| transcript.messages[index].json.raw());
    json!({
        "source": source,
        "format": transcript.format.name(),
        "indices": indices,
        "messages": messages.collect::<Vec<_>>(),
    })
}

impl ArchivePlace {
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

    /// The file as messages name it.
    pub(super) fn shown(&self) -> String {
        shown(&self.file)
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

/// Where the archive of a conversation is.
pub(super) fn place(policy: &CompactionPolicy, transcript: &Transcript<'_>) -> Option<ArchivePlace> {
    policy.archive.clone().map(|file| ArchivePlace { file, wraps: policy.ways.files, line: transcript.line })
}

/// The edits that move data out of some messages, and the files it goes to, as `DeepAgents` does before it summarizes.
pub(super) fn media_moved_out(
    policy: &CompactionPolicy,
    transcript: &Transcript<'_>,
    indices: &[usize],
    archive: Option<&ArchivePlace>,
) -> (Vec<Edit>, Files) {
    let Some(folder) = archive.filter(|_| policy.ways.files).map(|place| place.folder(MEDIA)) else {
        return Default::default();
    };
    let (moved, files) = media::offload(transcript, indices, &shown(&folder));
    (moved, files.into_iter().map(|file| (folder.join(file.name), file.bytes)).collect())
}

/// A path as messages name it.
pub(super) fn shown(path: &Path) -> String {
    path.display().to_string()
}
