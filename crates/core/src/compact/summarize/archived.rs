//! What a summary replaces, for an archive that is for reading or that nothing is restored from.

use crate::compact::archive::{Archived, Record, Section};
use crate::compact::message::whole_text;
use crate::compact::policy::is_lines;
use crate::compact::summarize::Summarization;
use crate::rewrite::Placed;
use crate::transcript::{Message, Role, fence};

impl Summarization<'_, '_> {
    /// The removed and pruned messages for the archive, where there is one. Records with all that restoring needs are made once
    /// all conversations of a file are changed.
    pub(super) fn archived(&self, summary: &Placed) -> Archived {
        let Some(place) = self.archive else { return Archived::default() };
        if self.policy.has_records() {
            return Archived::default();
        }
        let transcript = self.fitted.decided.unmasked;
        let cut = self.fitted.cut_messages();
        let section = if is_lines(&place.file) {
            let summary = whole_text(transcript, summary);
            Record::new(transcript, self.source.to_owned(), cut, summary.as_deref()).section()
        } else if self.policy.habits.files {
            let removed = self.fitted.plan.removed();
            let messages = removed.iter().map(|&index| &self.unmasked.messages[index]);
            let messages = messages.filter(|message| !is_earlier_summary(message));
            Section::Text(self.policy.summary.recipe.buffer.write(messages))
        } else {
            let messages = cut.iter().map(|&index| &transcript.messages[index]);
            Section::readable(self.source, messages)
        };
        Archived { sections: vec![section], files: Vec::new() }
    }
}

/// Whether a message is a summary of messages that `DeepAgents` already has in its archive.
fn is_earlier_summary(message: &Message<'_>) -> bool {
    if message.role != Role::User {
        return false;
    }
    let source = message.additional("lc_source").and_then(|source| source.text());
    source.is_some_and(|source| source.is("summarization"))
        || message.content.texts().first().is_some_and(|text| text.starts_with(fence::WRAPPED))
}
