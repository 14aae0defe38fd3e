//! Removes thinking from kept messages once the messages before them have changed: a model signs its thinking for those
//! messages.
//!
//! The provider then rejects all thinking, and also the rest of it if only some is removed. A signed block is removed
//! or left alone, never edited.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::ops::Range;

use crate::tokens::models::binds_thinking;
use crate::transcript::formats::{Age, InsertionPoint, SummaryMessage, SummaryRole};
use crate::transcript::named_models::{model_of, own_model};
use crate::transcript::thoughts::{Thought, ThoughtMark, thoughts};
use crate::transcript::unknown_pairs;
use crate::transcript::{MaskMark, Message, Transcript};

use crate::rewrite::repair::{NO_ANSWER, bounds, is_all};
use crate::rewrite::{Edit, Style, arguments, elements};

/// What to do with thinking after changed history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thinking {
    /// Remove it if its model binds thinking to the messages before it.
    Auto,
    /// Keep it.
    Keep,
    /// Remove it.
    Drop,
}

/// The thinking to remove from the kept messages.
#[derive(Debug, Default)]
pub struct Removal {
    /// The edits within messages, in order.
    pub edits: Vec<Edit>,
    /// The messages that are removed whole because nothing is left of them, in order.
    pub emptied: Vec<usize>,
    /// All messages that lose thinking, including the emptied ones, in order.
    pub messages: Vec<usize>,
    /// The number of removed pieces of thinking.
    pub blocks: usize,
    /// A model that binds its thinking, if some is removed for that reason.
    pub model: Option<String>,
    /// The number of messages whose signed thinking stays because their model is unknown.
    pub unknown: usize,
}

/// The messages whose thinking no longer fits the messages before it, in order: those behind the first that was masked
/// or is `edited`, and those with masks in their signed thinking.
pub fn behind_change(transcript: &Transcript<'_>, edited: Option<usize>) -> impl Iterator<Item = usize> {
    let masked = transcript.messages.iter().position(|message| message.mask != MaskMark::Nothing);
    let count = transcript.messages.len();
    let first = edited.unwrap_or(count).min(masked.unwrap_or(count));
    (first..count).filter(move |index| *index > first || has_broken_thinking(transcript, *index))
}

/// Whether a mask has broken the signature of a message's thinking.
fn has_broken_thinking(transcript: &Transcript<'_>, index: usize) -> bool {
    transcript.messages[index].mask == MaskMark::SignedThinking
}

/// Finds the thinking to remove from the messages at `indices`. `reader` is the model that reads on, if the user names
/// it; otherwise the model of each message is the one that the message or its transcript names.
pub fn removal(
    transcript: &Transcript<'_>,
    indices: impl Iterator<Item = usize>,
    policy: Thinking,
    reader: Option<&str>,
) -> Removal {
    let mut removal = Removal::default();
    let indices = indices.filter(|index| policy != Thinking::Keep || has_broken_thinking(transcript, *index));
    for MessageWithThinking { index, thoughts, author } in messages_with_thinking(transcript, indices) {
        let author = author.as_deref();
        let model = reader.or(author);
        let removed = if has_broken_thinking(transcript, index) {
            thoughts.iter().collect()
        } else if is_required(transcript, index, &thoughts, author) {
            Vec::new()
        } else {
            thoughts_to_remove(&thoughts, policy, model, author)
        };
        if removed.is_empty() {
            if model.is_none() && has_signature(&thoughts) {
                removal.unknown += 1;
            }
            continue;
        }
        if removal.model.is_none()
            && let Some(model) = model
            && binds_thinking(model)
        {
            removal.model = Some(model.to_owned());
        }
        removal.remove(transcript, index, &thoughts, &removed);
    }
    crate::rewrite::sort(&mut removal.edits);
    removal
}

/// Removes all thinking from the messages at `indices`, except thinking that its maker requires back.
pub fn removal_of_all(transcript: &Transcript<'_>, indices: impl Iterator<Item = usize>) -> Removal {
    let mut removal = Removal::default();
    for MessageWithThinking { index, thoughts, author } in messages_with_thinking(transcript, indices) {
        if !is_required(transcript, index, &thoughts, author.as_deref()) {
            removal.remove(transcript, index, &thoughts, &thoughts.iter().collect::<Vec<_>>());
        }
    }
    crate::rewrite::sort(&mut removal.edits);
    removal
}

struct MessageWithThinking<'a> {
    index: usize,
    thoughts: Vec<Thought<'a>>,
    /// The model that wrote it, if that is known.
    author: Option<String>,
}

/// The messages with thinking among those at `indices`.
fn messages_with_thinking<'a>(
    transcript: &Transcript<'a>,
    indices: impl Iterator<Item = usize>,
) -> impl Iterator<Item = MessageWithThinking<'a>> {
    let transcript_model: OnceCell<Option<String>> = OnceCell::new();
    indices.filter_map(move |index| {
        let message = &transcript.messages[index];
        let thoughts = thoughts(message);
        if thoughts.is_empty() {
            return None;
        }
        let author = own_model(message).or_else(|| transcript_model.get_or_init(|| model_of(transcript)).clone());
        Some(MessageWithThinking { index, thoughts, author })
    })
}

/// Dissolves groups that exist only for thinking that is removed wherever the transcript is cut.
pub fn release(transcript: &mut Transcript<'_>, policy: Thinking, reader: Option<&str>) {
    if !transcript.order.groups_by_thinking || transcript.groups.is_empty() {
        return;
    }
    let mut first: Vec<usize> = transcript.groups.iter().map(|group| group.0).collect();
    first.sort_unstable();
    first.dedup();
    let changed = removal(transcript, first.into_iter(), policy, reader).messages;
    let unknown = unknown_pairs::groups(&transcript.messages);
    transcript.groups.retain(|group| changed.binary_search(&group.0).is_err() || unknown.binary_search(group).is_ok());
}

impl Removal {
    /// Removes some of the thoughts of a message.
    fn remove(&mut self, transcript: &Transcript<'_>, index: usize, all: &[Thought<'_>], removed: &[&Thought<'_>]) {
        let message = &transcript.messages[index];
        self.blocks += removed.len();
        self.messages.push(index);
        let spans: BTreeSet<(usize, usize)> = removed.iter().map(|thought| bounds(thought.json)).collect();
        if !is_all(message, &spans) {
            self.edits.extend(edits_without(transcript.source, all, &spans));
        } else if transcript.order.alternates {
            self.edits.push(answer_placeholder(transcript, index));
        } else {
            self.emptied.push(index);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// All edits in order, including those that remove whole messages. Valid only if nothing else edits the transcript.
    pub fn all_edits(self, transcript: &Transcript<'_>) -> Vec<Edit> {
        if self.edits.is_empty() && self.emptied.is_empty() {
            return Vec::new();
        }
        let mut copies = crate::rewrite::without_copies(transcript);
        crate::rewrite::sort(&mut copies);
        let (mut edits, mut emptied) = (self.edits, self.emptied);
        emptied.sort_unstable();
        emptied.dedup();
        let mut gone: Vec<Range<usize>> = Vec::new();
        let mut done = 0;
        for index in emptied {
            let span = transcript.messages[index].span();
            let first = copies.partition_point(|edit| edit.range.start < span.start);
            let inside = copies[first..].iter().take_while(|edit| edit.range.end <= span.end).count();
            match bridge(transcript, index, &copies[first..first + inside]) {
                Some(bridged) => edits.push(bridged),
                None => gone.push(span),
            }
            edits.extend_from_slice(&copies[done..first]);
            done = first + inside;
        }
        edits.extend_from_slice(&copies[done..]);
        edits.extend(elements::removal_edits(transcript.source, &gone));
        crate::rewrite::sort(&mut edits);
        edits
    }
}

/// The edit that replaces a message with an empty entry, if later entries refer to it as their parent. `changed` are the
/// edits of members that the empty entry has, too.
pub fn bridge(transcript: &Transcript<'_>, index: usize, changed: &[Edit]) -> Option<Edit> {
    let message = transcript.messages[index].json;
    let mut entry = transcript.format.session.placeholder(message)?;
    for edit in changed {
        let member = message.entries().find(|(_, value)| value.span() == edit.range);
        if let (Some((key, _)), Ok(value)) = (member, serde_json::from_str(&edit.text)) {
            entry[&*key.decode()] = value;
        }
    }
    let text = Style::beside(transcript, index, transcript.is_ascii()).write(&entry);
    Some(Edit { range: message.span(), text })
}

/// The index of the message that an edit is in, or comes before.
pub fn message_at(transcript: &Transcript<'_>, edit: &Edit) -> usize {
    transcript.messages.partition_point(|message| message.span().end <= edit.range.start)
}

/// The index of the first message that a compaction by tcompact has left.
pub fn compacted(transcript: &Transcript<'_>) -> Option<usize> {
    transcript.messages.iter().position(is_compacted)
}

/// Whether a message was proven to be written after the last summary before it that tcompact put there. Its thinking was
/// signed for that summary.
pub fn was_written_behind_summary(transcript: &Transcript<'_>, index: usize) -> bool {
    let before = &transcript.messages[..index];
    let Some(summary) = before.iter().rfind(|message| message.is_ours()) else { return false };
    transcript.format.session.age(transcript.messages[index].json, summary) == Some(Age::Newer)
}

/// Whether a message shows a compaction by tcompact: a summary, or a call with a cut argument. Summaries of agents do not
/// count, because they existed when the messages after them were signed.
fn is_compacted(message: &Message<'_>) -> bool {
    message.is_ours() || !message.calls.is_empty() && message.json.raw().contains(arguments::MARK)
}

/// The thoughts of a message that are removed.
fn thoughts_to_remove<'t, 'a>(
    all: &'t [Thought<'a>],
    policy: Thinking,
    model: Option<&str>,
    author: Option<&str>,
) -> Vec<&'t Thought<'a>> {
    let removes = match policy {
        Thinking::Auto => model.is_some_and(binds_thinking),
        Thinking::Drop => true,
        Thinking::Keep => false,
    };
    if !removes {
        return Vec::new();
    }
    // A text beside the content is Claude's if Claude wrote the message.
    let by_claude = is_by_claude(all, author);
    all.iter().filter(|thought| by_claude || thought.mark != ThoughtMark::Beside).collect()
}

/// Whether Claude wrote a message with these thoughts.
fn is_by_claude(all: &[Thought<'_>], author: Option<&str>) -> bool {
    author.is_some_and(|author| author.to_ascii_lowercase().contains("claude")) || has_signature(all)
}

fn has_signature(thoughts: &[Thought<'_>]) -> bool {
    thoughts.iter().any(|thought| thought.mark == ThoughtMark::Signed)
}

/// Whether the maker of a message's thoughts rejects what follows without them. OpenAI does so for items with ids, and
/// the name of a deployment does not tell whose model it is. Taking the ids as well would edit items that stay, and the
/// model would still lose reasoning that only its maker can read.
fn is_required(transcript: &Transcript<'_>, index: usize, all: &[Thought<'_>], author: Option<&str>) -> bool {
    is_of_others(&transcript.messages[index], author) || transcript.order.binds_reasoning && !is_by_claude(all, author)
}

/// Whether a model of OpenAI or Google wrote a message. They reject calls without the reasoning before them.
fn is_of_others(message: &Message<'_>, author: Option<&str>) -> bool {
    let name = match (author, message.rare_fields().provider) {
        (Some(author), _) => author.to_ascii_lowercase(),
        (None, Some(provider)) => provider.decode().to_ascii_lowercase(),
        (None, None) => return false,
    };
    if name.contains("claude") {
        return false;
    }
    if ["gemini", "google", "gpt", "openai", "codex"].iter().any(|other| name.contains(other)) {
        return true;
    }
    // A model such as o3.
    let model = name.rsplit(['/', ':']).next().unwrap_or_default();
    let Some(version) = model.strip_prefix('o') else { return false };
    version.starts_with(|c: char| c.is_ascii_digit())
}

/// The edits that remove these thoughts from a message that is not emptied.
fn edits_without(source: &str, all: &[Thought<'_>], gone: &BTreeSet<(usize, usize)>) -> Vec<Edit> {
    let mut edits = Vec::new();
    let mut spans: BTreeSet<(usize, usize)> = BTreeSet::new();
    for thought in all {
        if !gone.contains(&bounds(thought.json)) {
            continue;
        }
        match thought.list {
            Some(list) if list.items().all(|item| gone.contains(&bounds(item))) => match thought.emptied {
                Some(text) => {
                    let edit = Edit { range: list.span(), text: text.to_owned() };
                    if edits.last() != Some(&edit) {
                        edits.push(edit);
                    }
                }
                None => _ = spans.insert(bounds(list)),
            },
            _ => _ = spans.insert(bounds(thought.json)),
        }
    }
    let spans: Vec<Range<usize>> = spans.into_iter().map(|(start, end)| start..end).collect();
    edits.extend(elements::removal_edits(source, &spans));
    edits
}

/// The edit that replaces a message with a placeholder answer, for providers whose speakers must alternate.
fn answer_placeholder(transcript: &Transcript<'_>, index: usize) -> Edit {
    let place = InsertionPoint::new(transcript, index);
    let message = SummaryMessage { text: NO_ANSWER, role: SummaryRole::Assistant, name: None, marked: false };
    let style = Style::beside(transcript, index, transcript.is_ascii());
    let entries = transcript.format.write_summary(&message, &place);
    let text = entries.iter().map(|entry| style.write(entry)).collect::<Vec<_>>().join(", ");
    Edit { range: transcript.messages[index].span(), text }
}
