//! A transcript without what is not sent, and the proof that the rest is the same.

use crate::compact::archive::{Archived, ChangedConversation, archive_contents};
use crate::prune::{PrunedUnsent, UnsentRules, find_unsent, unsent_beside, unsent_rule};
use crate::rewrite::{self, Edit};
use crate::transcript::framing::Document;
use crate::transcript::pieces::Piece;
use crate::transcript::{Arguments, Message, Transcript};

/// A document without what is not sent.
#[derive(Debug, Default)]
pub struct Slimmed {
    /// The edits of the file, in order.
    pub edits: Vec<Edit>,
    /// What restores it.
    pub archived: Archived,
    /// What was taken, each with the bytes that it saves.
    pub by_label: Vec<(&'static str, u64)>,
}

/// Takes from all conversations of a document what is not sent. `bytes` are those of the file, and `name` names a
/// conversation for the archive, where there is one.
pub fn slim(
    document: &Document<'_>,
    bytes: &[u8],
    has_archive: bool,
    name: &dyn Fn(&Transcript<'_>) -> String,
) -> Slimmed {
    let mut slimmed = Slimmed::default();
    let mut changed = Vec::new();
    let rules = [unsent_rule()];
    let rules = UnsentRules { rules: &rules, except: &[], has_archive, offloads_media: false };
    for transcript in &document.transcripts {
        let pruned = PrunedUnsent::of(&find_unsent(transcript, rules), &[]);
        let edits = unsent_beside(&pruned.edits, &[]);
        if edits.is_empty() {
            continue;
        }
        slimmed.by_label.extend(pruned.by_label);
        slimmed.edits.extend(edits.iter().cloned());
        changed.push(ChangedConversation {
            transcript,
            source: name(transcript),
            edits,
            // No message changes in what is sent, so the record holds none of them whole.
            changed: Vec::new(),
            summary: None,
            archived: Archived::default(),
        });
    }
    rewrite::sort(&mut slimmed.edits);
    if has_archive {
        slimmed.archived = archive_contents(true, bytes, changed);
    }
    slimmed
}

/// How many bytes of a transcript are sent to no model.
pub fn unsent_bytes(transcript: &Transcript<'_>) -> u64 {
    if transcript.format.unsent.is_empty() {
        return 0;
    }
    let rules = [unsent_rule()];
    let rules = UnsentRules { rules: &rules, except: &[], has_archive: true, offloads_media: false };
    PrunedUnsent::of(&find_unsent(transcript, rules), &[]).saved()
}

/// The first message that differs in what is sent of it, or that one of both lacks; none where both are the same
/// context.
pub fn context_difference(before: &Transcript<'_>, after: &Transcript<'_>) -> Option<usize> {
    let (before, after) = (&before.messages, &after.messages);
    for (index, (one, other)) in before.iter().zip(after).enumerate() {
        if sent_of(one) != sent_of(other) {
            return Some(index);
        }
    }
    if before.len() == after.len() { None } else { Some(before.len().min(after.len())) }
}

/// What is sent of a message, as its source spells it: its role, its pieces, and the ids of its calls and results.
pub(super) fn sent_of(message: &Message<'_>) -> Vec<String> {
    let mut sent = vec![format!("{:?} {}", message.role, message.earlier)];
    message.pieces(&mut |result, piece| {
        let spelled = match &piece {
            Piece::Text(text) => format!("text {}", text.raw()),
            Piece::Refusal(text) => format!("refusal {}", text.raw()),
            Piece::SaidBy(role, text) => format!("{role:?} {}", text.raw()),
            Piece::Unknown(text) => format!("unknown {}", text.raw()),
            Piece::Notes(text) => format!("notes {}", text.raw()),
            Piece::Reasoning(text) => format!("reasoning {}", text.raw()),
            Piece::Media(kind, json) => format!("{kind:?} {}", json.raw()),
            Piece::Opaque(json) => format!("opaque {}", json.raw()),
            Piece::Call(call) => {
                let [id, name] = [call.id, call.name].map(|text| text.map(|text| text.raw()).unwrap_or_default());
                let arguments = match call.arguments {
                    Arguments::Text(text) => text.raw(),
                    Arguments::Value(value) => value.raw(),
                    Arguments::Absent => "",
                };
                format!("call {id} {name} {arguments}")
            }
        };
        sent.push(format!("{result:?} {spelled}"));
    });
    for result in &message.results {
        let id = result.id.map(|id| id.raw()).unwrap_or_default();
        sent.push(format!("result {id} {}", result.denial.is_some()));
    }
    sent
}
