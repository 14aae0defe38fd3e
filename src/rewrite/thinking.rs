//! Thinking that a model signed for the very messages before it, taken out of what stays once those have changed.
//!
//! The provider refuses all of it then, and what is left of it when only some is taken out. A signed block is removed
//! or left alone, never edited.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::ops::Range;

use crate::tokens::Counter;
use crate::tokens::binding::binds_thinking;
use crate::transcript::formats::{InsertionPoint, SummaryMessage, SummaryRole, read_entry};
use crate::transcript::json::Json;
use crate::transcript::thoughts::{Mark, Thought, model_of, own_model, thoughts};
use crate::transcript::{Message, Role, Transcript};

use crate::rewrite::repair::{NO_ANSWER, is_all};
use crate::rewrite::{Edit, Style, arguments, elements};

/// What is done with thinking behind history that has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thinking {
    /// It is removed where its model is one that binds it to the messages before it.
    Auto,
    /// It stays.
    Keep,
    /// It is removed.
    Drop,
}

/// What is taken out of the messages that stay.
#[derive(Debug, Default)]
pub(crate) struct Removal {
    /// The edits within messages, in order.
    pub(crate) edits: Vec<Edit>,
    /// The messages of which nothing is left, so that they go whole; in order.
    pub(crate) emptied: Vec<usize>,
    /// The messages that lose thinking, these included; in order.
    pub(crate) messages: Vec<usize>,
    /// How many pieces of thinking that is.
    pub(crate) blocks: usize,
    /// A model that binds its thinking, where it is that for which some is removed.
    pub(crate) model: Option<String>,
    /// Messages whose signed thinking stays since nobody says which model it is of.
    pub(crate) unknown: usize,
}

/// What is taken out of the messages of these indices. `reader` is the name of the model that reads on, where the user
/// says so; where not, each message is of the model that it names, or that its transcript does.
pub(crate) fn removal(
    transcript: &Transcript<'_>,
    indices: impl Iterator<Item = usize>,
    how: Thinking,
    reader: Option<&str>,
) -> Removal {
    let mut removal = Removal::default();
    if how == Thinking::Keep {
        return removal;
    }
    let of_transcript = OnceCell::new();
    for index in indices {
        let message = &transcript.messages[index];
        let found = thoughts(message);
        if found.is_empty() {
            continue;
        }
        let author = own_model(message).or_else(|| of_transcript.get_or_init(|| model_of(transcript)).clone());
        let model = reader.or(author.as_deref());
        let going = going(message, &found, how, model, author.as_deref());
        if going.is_empty() {
            let is_signed = found.iter().any(|thought| thought.mark == Mark::Signed);
            removal.unknown += usize::from(model.is_none() && is_signed);
            continue;
        }
        removal.model = removal.model.or_else(|| model.filter(|model| binds_thinking(model)).map(str::to_owned));
        removal.remove(transcript, index, &found, &going);
    }
    crate::rewrite::sort(&mut removal.edits);
    removal
}

/// All thinking of the messages of these indices, but what its makers want to have back.
pub(crate) fn all(transcript: &Transcript<'_>, indices: impl Iterator<Item = usize>) -> Removal {
    let mut removal = Removal::default();
    let of_transcript = OnceCell::new();
    for index in indices {
        let message = &transcript.messages[index];
        let found = thoughts(message);
        if found.is_empty() {
            continue;
        }
        let author = own_model(message).or_else(|| of_transcript.get_or_init(|| model_of(transcript)).clone());
        if !is_of_others(message, author.as_deref()) {
            removal.remove(transcript, index, &found, &found.iter().collect::<Vec<_>>());
        }
    }
    crate::rewrite::sort(&mut removal.edits);
    removal
}

/// Releases what is bound together only for thinking that goes in any case where the transcript is cut.
pub(crate) fn release(transcript: &mut Transcript<'_>, how: Thinking, reader: Option<&str>) {
    if !transcript.format.groups_by_thinking() || transcript.groups.is_empty() {
        return;
    }
    let mut first: Vec<usize> = transcript.groups.iter().map(|bond| bond.0).collect();
    first.sort_unstable();
    first.dedup();
    let going = removal(transcript, first.into_iter(), how, reader).messages;
    transcript.groups.retain(|bond| going.binary_search(&bond.0).is_err());
}

impl Removal {
    /// Takes some of the thoughts of a message out of it.
    fn remove(&mut self, transcript: &Transcript<'_>, index: usize, found: &[Thought<'_>], going: &[&Thought<'_>]) {
        let message = &transcript.messages[index];
        self.blocks += going.len();
        self.messages.push(index);
        let spans: BTreeSet<(usize, usize)> = going.iter().map(|thought| bounds(thought.json)).collect();
        if !is_all(message, &spans) {
            self.edits.extend(without(transcript.source, found, &spans));
        } else if transcript.order.alternates {
            self.edits.push(unanswered(transcript, index));
        } else {
            self.emptied.push(index);
        }
    }

    /// Whether nothing is taken out.
    pub(crate) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// How many tokens that is.
    pub(crate) fn tokens(&self, transcript: &Transcript<'_>, counter: Counter) -> u64 {
        let of_one = |&index: &usize| {
            let before = counter.count(&transcript.messages[index]);
            if self.emptied.binary_search(&index).is_ok() {
                return before;
            }
            let edited = crate::rewrite::edited(transcript, index, &self.edits);
            before.saturating_sub(read_entry(transcript.format, &edited, |left| counter.count(left)).unwrap_or(before))
        };
        self.messages.iter().map(of_one).sum()
    }

    /// All edits, those included that take messages away; in order. Only where nothing else is done to the transcript.
    pub(crate) fn all_edits(self, transcript: &Transcript<'_>) -> Vec<Edit> {
        let mut edits = self.edits;
        let (bridged, gone): (Vec<usize>, Vec<usize>) =
            self.emptied.into_iter().partition(|&index| bridge(transcript, index).is_some());
        edits.extend(bridged.into_iter().filter_map(|index| bridge(transcript, index)));
        let gone: Vec<Range<usize>> = gone.into_iter().map(|index| transcript.messages[index].span()).collect();
        edits.extend(elements::without(transcript.source, &gone));
        crate::rewrite::sort(&mut edits);
        edits
    }
}

/// The edit that puts an entry that says nothing in the place of a message, where others follow it by its name.
pub(super) fn bridge(transcript: &Transcript<'_>, index: usize) -> Option<Edit> {
    let message = transcript.messages[index].json;
    let entry = transcript.format.placeholder(message)?;
    let text = Style::beside(transcript, index, Style::is_ascii(transcript)).write(&entry);
    Some(Edit { range: message.span(), text })
}

/// The index of the message that an edit falls into, or comes before.
pub(crate) fn message_at(transcript: &Transcript<'_>, edit: &Edit) -> usize {
    transcript.messages.partition_point(|message| message.span().end <= edit.range.start)
}

/// The index of the first message that a compaction of tcompact's has left.
pub(crate) fn compacted(transcript: &Transcript<'_>, summary_prefix: &str) -> Option<usize> {
    transcript.messages.iter().position(|message| is_left(message, summary_prefix))
}

/// Whether a message is what a compaction of tcompact's leaves: a summary by what it begins with, since those of agents'
/// own compactions were there when what follows was signed; or a call with a cut argument.
fn is_left(message: &Message<'_>, summary_prefix: &str) -> bool {
    let prefix = summary_prefix.trim_end();
    let begins = || message.content.first_text().is_some_and(|text| text.starts_with(prefix));
    let says = || message.calls.is_empty() && message.answers.is_empty();
    !prefix.is_empty() && message.role != Role::Tool && says() && begins()
        || !message.calls.is_empty() && message.json.raw().contains(arguments::MARK)
}

/// Which thoughts of a message go.
fn going<'t, 'a>(
    message: &Message<'_>,
    found: &'t [Thought<'a>],
    how: Thinking,
    model: Option<&str>,
    author: Option<&str>,
) -> Vec<&'t Thought<'a>> {
    let removes = match how {
        Thinking::Auto => model.is_some_and(binds_thinking),
        Thinking::Drop => true,
        Thinking::Keep => false,
    };
    if !removes || is_of_others(message, author) {
        return Vec::new();
    }
    // A text beside the content is Claude's where Claude wrote the message.
    let by_claude = author.is_some_and(|author| author.to_ascii_lowercase().contains("claude"))
        || found.iter().any(|thought| thought.mark == Mark::Signed);
    found.iter().filter(|thought| by_claude || thought.mark != Mark::Beside).collect()
}

/// Whether a message is of OpenAI's or Google's models: their calls are refused without the reasoning that led to them.
fn is_of_others(message: &Message<'_>, author: Option<&str>) -> bool {
    let provider = || message.rest().provider.map(|provider| provider.decode().into_owned());
    let Some(name) = author.map(str::to_owned).or_else(provider) else { return false };
    let name = name.to_ascii_lowercase();
    let last = name.rsplit(['/', ':']).next().unwrap_or_default();
    let is_numbered = || last.strip_prefix('o').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    !name.contains("claude")
        && (["gemini", "google", "gpt", "openai", "codex"].iter().any(|other| name.contains(other)) || is_numbered())
}

fn bounds(json: Json<'_>) -> (usize, usize) {
    (json.span().start, json.span().end)
}

/// The edits that take these thoughts out of a message of which something is left.
fn without(source: &str, found: &[Thought<'_>], gone: &BTreeSet<(usize, usize)>) -> Vec<Edit> {
    let mut edits = Vec::new();
    let mut spans: BTreeSet<(usize, usize)> = BTreeSet::new();
    for thought in found.iter().filter(|thought| gone.contains(&bounds(thought.json))) {
        let emptied = thought.list.filter(|list| list.items().all(|item| gone.contains(&bounds(item))));
        match (emptied, thought.emptied) {
            (None, _) => _ = spans.insert(bounds(thought.json)),
            (Some(list), None) => _ = spans.insert(bounds(list)),
            (Some(list), Some(text)) => {
                let edit = Edit { range: list.span(), text: text.to_owned() };
                if edits.last() != Some(&edit) {
                    edits.push(edit);
                }
            }
        }
    }
    let spans: Vec<Range<usize>> = spans.into_iter().map(|(start, end)| start..end).collect();
    edits.extend(elements::without(source, &spans));
    edits
}

/// The edit that says in the place of a message that there is none, where the provider wants its speakers to take turns.
fn unanswered(transcript: &Transcript<'_>, index: usize) -> Edit {
    let place = InsertionPoint { transcript, cutoff: index, removed: &Vec::new };
    let message = SummaryMessage { text: NO_ANSWER, role: SummaryRole::Assistant, name: None, marked: false };
    let style = Style::beside(transcript, index, Style::is_ascii(transcript));
    let entries = transcript.format.summary(&message, &place);
    let text = entries.iter().map(|entry| style.write(entry)).collect::<Vec<_>>().join(", ");
    Edit { range: transcript.messages[index].span(), text }
}
