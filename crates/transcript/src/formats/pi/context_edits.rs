//! Entries of the type `context_edit`: what pi leaves out of what it sends later, or sends with other content.
//!
//! An edit names an entry on the way to it (`targetId`). Of several that name one entry, the last one counts. A `replacement`
//! of `null` leaves the entry out, any other replaces the content of a message and nothing else of it.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::entries::Retention;
use crate::format::Transcript;
use crate::formats::pi::is_compaction;
use crate::json::{Json, JsonKind, Object};

const KIND: &str = "context_edit";
/// The roles of messages whose content can be replaced. pi sends all others as they are.
const ROLES: [&str; 5] = ["user", "assistant", "toolResult", "custom", "hookMessage"];

/// The edits that pi reads, and the lines that they name.
#[derive(Debug, Default)]
pub(super) struct ContextEdits {
    /// For each line that an edit names, the line with the last such edit.
    last_of: HashMap<usize, usize>,
    /// For each line with an edit, the line that it names.
    targets: HashMap<usize, usize>,
}

impl ContextEdits {
    /// Finds the edits among the lines that pi reads.
    pub(super) fn among(lines: &[Object<'_>], is_read: impl Fn(usize) -> bool) -> Self {
        let mut by_target: HashMap<Cow<'_, str>, Vec<usize>> = HashMap::new();
        for (index, line) in lines.iter().enumerate() {
            if let Some(target) = line.get_text("targetId")
                && is_edit(line)
                && is_read(index)
            {
                by_target.entry(target.decode()).or_default().push(index);
            }
        }
        let mut found = ContextEdits::default();
        if by_target.is_empty() {
            return found;
        }
        for (index, line) in lines.iter().enumerate() {
            let Some(id) = line.get_text("id") else { continue };
            if !is_read(index) {
                continue;
            }
            for edit in by_target.get(&id.decode()).into_iter().flatten() {
                found.last_of.insert(index, *edit);
                found.targets.insert(*edit, index);
            }
        }
        found
    }

    /// The line that an edit names.
    pub(super) fn target(&self, edit: usize) -> Option<usize> {
        self.targets.get(&edit).copied()
    }

    /// Whether a line is left out.
    pub(super) fn leave_out(&self, lines: &[Object<'_>], index: usize) -> bool {
        self.last_of.get(&index).is_some_and(|edit| leaves_out(&lines[*edit]))
    }

    /// The line with the content that is sent in the place of a line's own.
    pub(super) fn content_edit(&self, lines: &[Object<'_>], index: usize) -> Option<usize> {
        let edit = *self.last_of.get(&index)?;
        let sent = lines[edit].json.at(&["replacement", "content"])?;
        let has_content = matches!(sent.kind(), JsonKind::String | JsonKind::Array);
        if has_content && can_be_replaced(&lines[index]) { Some(edit) } else { None }
    }
}

fn is_edit(line: &Object<'_>) -> bool {
    line.member_is("type", KIND)
}

fn leaves_out(edit: &Object<'_>) -> bool {
    edit.get("replacement").is_some_and(|replacement| replacement.kind() == JsonKind::Null)
}

fn can_be_replaced(line: &Object<'_>) -> bool {
    let Some(inner) = line.get("message") else {
        return line.member_is("type", "custom_message") && line.get("content").is_some();
    };
    inner.get("content").is_some() && inner.get_text("role").is_some_and(|role| role.is_in(&ROLES))
}

/// Whether a note is an edit: from there on, pi can send less than it did.
pub(super) fn is_edit_note(note: Json<'_>) -> bool {
    is_edit(&Object::of(note))
}

/// Whether an edit of a session names an entry.
pub(super) fn names(transcript: &Transcript<'_>, id: &str) -> bool {
    transcript.notes.iter().any(|note| is_edit_note(note.json) && note.json.member_is("targetId", id))
}

/// Why a session is left unchanged whose last compaction is left out. pi itself writes no such edit, but reads it: what the
/// compaction replaced stays away, and nothing stands for it.
pub(super) fn refusal(transcript: &Transcript<'_>) -> Option<String> {
    let compaction = transcript.messages.iter().rfind(|message| is_compaction(&Object::of(message.json)))?;
    let id = compaction.json.get_text("id")?.decode();
    for note in transcript.notes.iter().rev() {
        let is_read = !matches!(note.retention, Retention::Obsolete | Retention::Lost);
        if !is_read || !is_edit_note(note.json) || !note.json.member_is("targetId", &id) {
            continue;
        }
        // Only the last edit counts.
        if !leaves_out(&Object::of(note.json)) {
            return None;
        }
        return Some("a context_edit leaves its last compaction out of what is sent".to_owned());
    }
    None
}
