//! The contents of an archive, and how the summary names it. It is written elsewhere.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::ser::{Serialize, SerializeStruct, Serializer};
use serde_json::Value;

use crate::diagnostic::{PROGRAM, quoted};
use crate::hash::sha256;
use crate::plan::carried::{KEPT, REACHED};
use crate::presets::buffer::Buffer;
use crate::presets::deepagents;
use crate::prune::NotedArchive;
use crate::rewrite::Edit;
use crate::rewrite::way_back::{ConversationChange, RestoreInfo, restore_infos};
use crate::sanitize::{reveal, sanitize_json, sanitize_line};
use crate::transcript::record_id::RecordId;
use crate::transcript::{Message, Transcript, fence};

use crate::compact::policy::{ArchiveNote, CompactionPolicy};

/// Whole files: their paths and contents.
pub(super) type Files = Vec<(PathBuf, Vec<u8>)>;

/// The folders of files beside an archive.
pub(super) const MEDIA: &str = "media";
pub(super) const RESULTS: &str = "large_tool_results";
/// The folder in which `DeepAgents` keeps its histories.
const HISTORIES: &str = "conversation_history";

/// A section of an archive: what one compaction removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Section {
    /// Text, written as it is.
    Text(String),
    /// The text of an object, for one line. It can be as large as the input.
    Record(String),
}

/// The archive of a conversation.
#[derive(Debug, Clone)]
pub(super) struct ArchivePlace {
    /// The file.
    pub(super) file: PathBuf,
    /// Whether the summary is wrapped as in `DeepAgents`.
    wraps: bool,
    /// What messages say of it.
    note: ArchiveNote,
    /// Whether secrets are masked in what a reader is shown.
    masks: bool,
    /// The line of the conversation and its number on that line, where its source has one per line.
    line: Option<(usize, usize)>,
    /// The record of the conversation, where the archive has records.
    pub(super) record: Option<RecordId>,
}

/// Removed content, for the archive.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Archived {
    /// Sections to append to the archive.
    pub sections: Vec<Section>,
    /// Whole files beside it.
    pub files: Files,
}

impl Section {
    /// Writes messages as text for people. They may show it on a terminal, so control characters are made visible.
    pub(super) fn readable<'m, 'a: 'm>(source: &str, messages: impl IntoIterator<Item = &'m Message<'a>>) -> Section {
        Section::Text(reveal(&format!("From {source}:\n\n{}", Buffer::Own.write(messages))))
    }

    /// What it changed, if it is a record that changed something.
    fn changed_text(&self) -> Option<ChangedText> {
        let Section::Record(record) = self else { return None };
        let changed: ChangedText = serde_json::from_str(record).ok()?;
        if changed.original_sha256 == changed.result_sha256 { None } else { Some(changed) }
    }

    /// Adds the number of its step to a record, in front of the hashes: of a record that was cut off, it still tells that its
    /// run went on.
    fn add_step(&mut self, step: usize, last: usize) {
        /// The first one is no part of a string: quotes in strings are escaped.
        const HASHES: &str = ",\"original_sha256\":";
        if let Section::Record(record) = self
            && let Some(at) = record.find(HASHES)
        {
            record.insert_str(at, &format!(",\"steps\":[{step},{last}]"));
        }
    }

    /// Adds a member to a record.
    pub fn add_member(&mut self, member: &str) {
        if let Section::Record(record) = self
            && record.pop() == Some('}')
        {
            *record += &format!(",{member}}}");
        }
    }
}

impl Archived {
    /// Adds the contents of another.
    pub fn extend(&mut self, other: Archived) {
        self.sections.extend(other.sections);
        self.files.extend(other.files);
    }

    /// Numbers the records of a text that the run changed in several steps, such as a repair and a compaction, so that one
    /// that is missing is missed.
    pub fn number_steps(&mut self) {
        let texts: Vec<Option<ChangedText>> = self.sections.iter().map(Section::changed_text).collect();
        let mut steps = vec![1; texts.len()];
        let mut step_of_result = HashMap::new();
        for (step, text) in steps.iter_mut().zip(&texts) {
            if let Some(text) = text {
                *step += step_of_result.get(&text.original_sha256).copied().unwrap_or(0);
                step_of_result.insert(&text.result_sha256, *step);
            }
        }
        let mut last_of_original = HashMap::new();
        for ((section, step), text) in self.sections.iter_mut().zip(steps).zip(&texts).rev() {
            let Some(text) = text else { continue };
            let last = last_of_original.get(&text.result_sha256).copied().unwrap_or(step);
            last_of_original.insert(&text.original_sha256, last);
            if last > 1 {
                section.add_step(step, last);
            }
        }
    }
}

/// The hashes of a text before and after a change, in its record.
#[derive(serde::Deserialize)]
struct ChangedText {
    original_sha256: String,
    result_sha256: String,
}

/// A changed conversation, and its content for the archive.
pub struct ChangedConversation<'t, 'a> {
    /// The conversation before the change.
    pub transcript: &'t Transcript<'a>,
    /// Its name.
    pub source: String,
    /// The edits, in order.
    pub edits: Vec<Edit>,
    /// The indices of the messages that its record holds, where there is one: those that are removed or shortened.
    pub changed: Vec<usize>,
    /// The text of the summary's message, where there is a summary.
    pub summary: Option<String>,
    /// Its other content for the archive.
    pub archived: Archived,
}

/// Collects the content for the archive of all changed conversations of `source`, the bytes of their file. With
/// `records`, the archive has what it takes to restore it.
pub fn archive_contents(records: bool, source: &[u8], changed: Vec<ChangedConversation<'_, '_>>) -> Archived {
    let mut contents = Archived::default();
    if !records {
        for one in changed {
            contents.extend(one.archived);
        }
        return contents;
    }
    let (mut changes, mut records) = (Vec::new(), Vec::new());
    for ChangedConversation { transcript, source, edits, changed, summary, archived } in changed {
        changes.push(ConversationChange::new(transcript, edits, &changed));
        records.push(Record::new(transcript, source, changed, summary.as_deref()));
        contents.files.extend(archived.files);
    }
    let ways = restore_infos(source, &changes);
    drop(changes);
    for (record, way) in records.into_iter().zip(ways) {
        contents.sections.push(record.with_way(way).section());
    }
    contents
}

/// An archive's record of one change of a conversation. What proves a text stands in front: of a record that was cut off, it
/// still tells whether its run changed the text.
#[derive(serde::Serialize)]
pub struct Record<'t> {
    source: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// The line with which `source` ends, of a conversation in a text of several lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    at_line: Option<usize>,
    /// The way back, where the whole text is known.
    #[serde(flatten)]
    way: Option<RestoreInfo>,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<&'static str>,
    round: u32,
    /// The messages that were removed or changed.
    #[serde(flatten)]
    messages: RecordedMessages<'t>,
    /// The hash of the text of the summary that stands for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    summary_sha256: Option<String>,
}

/// Some messages of a conversation. They are looked up when the record is written.
struct RecordedMessages<'t> {
    all: &'t [Message<'t>],
    indices: Vec<usize>,
}

impl Serialize for RecordedMessages<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("RecordedMessages", 2)?;
        fields.serialize_field("indices", &self.indices)?;
        fields.serialize_field("messages", &MessageTexts(self))?;
        fields.end()
    }
}

/// The messages as their source spells them.
struct MessageTexts<'r>(&'r RecordedMessages<'r>);

impl Serialize for MessageTexts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let texts = self.0.indices.iter().map(|&index| self.0.all[index].json.raw());
        serializer.collect_seq(texts)
    }
}

impl<'t> Record<'t> {
    /// The record of the messages with these indices, and of the summary that stands for them.
    pub fn new(transcript: &'t Transcript<'_>, source: String, indices: Vec<usize>, summary: Option<&str>) -> Self {
        Record {
            source,
            id: transcript.record_id.map(|id| id.to_string()),
            at_line: transcript.line,
            format: Some(transcript.format.name),
            round: transcript.this_round(),
            messages: RecordedMessages { all: &transcript.messages, indices },
            summary_sha256: summary.map(|summary| sha256(summary.as_bytes())),
            way: None,
        }
    }

    /// The record of a change before any compaction, which holds no message. `line` is the one with which `source` ends.
    pub fn of_change(source: String, line: Option<usize>, id: RecordId, way: RestoreInfo) -> Self {
        let record = Record {
            source,
            id: Some(id.to_string()),
            at_line: line,
            format: None,
            round: 0,
            messages: RecordedMessages { all: &[], indices: Vec::new() },
            summary_sha256: None,
            way: None,
        };
        record.with_way(way)
    }

    fn with_way(self, way: RestoreInfo) -> Self {
        // The way names the line where the line is the text.
        let at_line = if way.line.is_some() { None } else { self.at_line };
        Record { at_line, way: Some(way), ..self }
    }

    pub fn section(&self) -> Section {
        // Strings and numbers do not fail to serialize.
        Section::Record(serde_json::to_string(self).expect("strings and numbers"))
    }
}

impl ArchivePlace {
    /// A text of the user with the path of the archive and the id of the record.
    fn filled(&self, text: &str) -> String {
        let named = match self.record {
            Some(record) => text.replace("{id}", &record.to_string()),
            None => text.to_owned(),
        };
        named.replace("{archive}", &self.file.display().to_string())
    }

    /// The folder beside the archive for files of a kind, in the layout of `DeepAgents`: media beside its histories,
    /// results of tools beside the folder of these. Ids of calls are unique only within a conversation, so each
    /// conversation of a file has its own folder.
    pub(super) fn folder(&self, name: &str) -> PathBuf {
        let histories = self.file.parent().unwrap_or(Path::new(""));
        if name == MEDIA {
            return histories.join(name);
        }
        let root = if histories.ends_with(HISTORIES) { histories.parent().unwrap_or(histories) } else { histories };
        let folder = root.join(name);
        match self.line {
            None => folder,
            Some((line, 1)) => folder.join(format!("line-{line}")),
            Some((line, number)) => folder.join(format!("line-{line}-{number}")),
        }
    }

    /// The path as messages name it. Most are shown as they are. One that could end the remark that it stands in, or
    /// the line, is shown as a string of JSON.
    pub(super) fn shown(&self) -> String {
        let name = self.file.display().to_string();
        let plain = shown(&self.file);
        if plain == name && !name.contains(['(', ')', '[', ']', '（', '）', '"']) {
            return name;
        }
        sanitize_json(&Value::from(&*fence::without_fences(&name)).to_string())
    }

    /// The archive as a command that looks something up takes it: its path as a shell reads it, and flags.
    fn command_arguments(&self) -> String {
        let file = self.file.display().to_string();
        let file = if file.starts_with('-') { format!("./{file}") } else { file };
        // An archive holds secrets as they were.
        let masked = if self.masks { " --redact" } else { "" };
        quoted(&file) + masked
    }

    /// The archive as the notes of pruned messages name it.
    pub(super) fn noted(&self) -> NotedArchive {
        let name = self.shown();
        // A path that is shown otherwise than it is spelled cannot stand in a note as a shell takes it.
        let is_plain = name == self.file.display().to_string();
        let names_commands = matches!(self.note, ArchiveNote::Commands { .. });
        let shown_with = if is_plain && names_commands { Some(self.command_arguments()) } else { None };
        NotedArchive { name, record: self.record, shown_with }
    }

    /// The text of a summary message. It names the archive.
    pub(super) fn introduce(&self, prefix: &str, summary: &str) -> String {
        let file = self.shown();
        if self.wraps {
            let wrapped = fence::WRAPPED;
            return format!(
                "{wrapped}\n\nThe full conversation history has been saved to {file} should you need to refer back to it for details.\n\nA condensed summary follows:\n\n<summary>\n{summary}\n</summary>"
            );
        }
        match self.remark(KEPT) {
            Some(remark) => format!("{prefix}{summary}\n\n({remark})"),
            None => format!("{prefix}{summary}"),
        }
    }

    /// What a message says of the archive, as a sentence on one line; none where nothing is to be said. `kept` are the
    /// words before its place.
    pub(super) fn remark(&self, kept: &str) -> Option<String> {
        let remark = match &self.note {
            ArchiveNote::Off => return None,
            ArchiveNote::Place => return Some(format!("{kept}{}.", self.shown())),
            ArchiveNote::Commands { is_shared } => {
                let file = self.command_arguments();
                // Several conversations have the same round.
                let is_alone = !*is_shared && self.line.is_none();
                let shown = if is_alone {
                    let show = format!("`{PROGRAM} show N {file}` prints [N]");
                    format!("{show}, `A-B` in place of N from [A] to [B]")
                } else {
                    format!("`{PROGRAM} show PLACE {file}` prints a message by the place that it names")
                };
                let record = match self.record {
                    Some(record) if is_alone => format!(" (record {record})"),
                    _ => String::new(),
                };
                format!("`{PROGRAM} search REGEX {file}` finds what this summarizes{record}; {shown}.")
            }
            ArchiveNote::Text(text) => self.filled(text),
        };
        Some(fence::without_fences(&sanitize_line(&format!("{REACHED}{remark}"))).into_owned())
    }
}

/// What a reader of a summary is told of the archive, as a sentence; nothing where there is none.
pub fn archive_line(policy: &CompactionPolicy, transcript: &Transcript<'_>) -> Option<String> {
    place(policy, transcript)?.remark(KEPT)
}

pub(super) fn place(policy: &CompactionPolicy, transcript: &Transcript<'_>) -> Option<ArchivePlace> {
    Some(ArchivePlace {
        file: policy.archive.clone()?,
        wraps: policy.habits.files,
        note: policy.archive_note.clone(),
        masks: policy.redact.is_on(),
        line: transcript.line.map(|line| (line, transcript.nth_of_line)),
        record: if policy.writes_records() { transcript.record_id } else { None },
    })
}

/// The edits that move media out of some messages, and the files with it. `DeepAgents` does so before it summarizes.
pub(super) fn media_moved_out(
    policy: &CompactionPolicy,
    transcript: &Transcript<'_>,
    indices: &[usize],
    archive: Option<&ArchivePlace>,
) -> (Vec<Edit>, Files) {
    let Some(place) = archive else { return Default::default() };
    if !policy.habits.files {
        return Default::default();
    }
    let folder = place.folder(MEDIA);
    let (moved, files) = deepagents::move_media(transcript, indices, &shown(&folder));
    (moved, files.into_iter().map(|file| (folder.join(file.name), file.bytes)).collect())
}

/// A path as messages name it: on one line, and without the tags of a summary's fence.
pub(super) fn shown(path: &Path) -> String {
    fence::without_fences(&sanitize_line(&path.display().to_string())).into_owned()
}
