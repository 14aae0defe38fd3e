//! What a message is made of: its pieces, each with what a request carries of it.
//!
//! This is the one account of it. Counters and categories sum pieces, and whoever shows, prunes or summarizes a message
//! reads them. What is no piece, such as ids, roles and times, is the message's envelope, and counts nothing.
//!
//! Also: the parts of messages that a tool or a model's call wrote: the arguments and the results.

use std::ops::Range;

use crate::compaction::ProviderCompaction;
use crate::edit::apart;
use crate::format::Transcript;
use crate::json::Json;
use crate::media::MediaKind;
use crate::message::{Arguments, Call, CallPlace, Content, Message, PartKind, Role};
use crate::text::Text;

/// A piece of a message.
pub enum Piece<'m, 'a> {
    /// What somebody said, or what a tool returned.
    Text(Text<'a>),
    /// Why the model said nothing.
    Refusal(Text<'a>),
    /// What another speaker than that of the message says.
    SaidBy(Role, Text<'a>),
    /// The JSON of a part that no reader knows.
    Unknown(Text<'a>),
    /// The summary of a provider's compaction.
    Notes(Text<'a>),
    /// The model's reasoning, as far as it can be read.
    Reasoning(Text<'a>),
    /// A call: its name and its arguments.
    Call(&'m Call<'a>),
    /// A picture, sound, video or document, and the value that holds it.
    Media(MediaKind, Json<'a>),
    /// A value that only its provider can read. It counts by its JSON.
    Opaque(Json<'a>),
}

impl<'a> Piece<'_, 'a> {
    /// The text of the piece, but for reasoning.
    pub fn text(&self) -> Option<Text<'a>> {
        match self {
            Piece::Text(text)
            | Piece::SaidBy(_, text)
            | Piece::Refusal(text)
            | Piece::Unknown(text)
            | Piece::Notes(text) => Some(*text),
            _ => None,
        }
    }
}

/// Sees each piece, with the index of the result that it is in.
type See<'s, 'm, 'a> = dyn FnMut(Option<usize>, Piece<'m, 'a>) + 's;

impl<'a> Message<'a> {
    /// Shows each piece, in order. Reasoning beside the content comes first, and calls beside it last.
    pub fn pieces<'m>(&'m self, see: &mut See<'_, 'm, 'a>) {
        for text in self.reasoning_beside() {
            see(None, Piece::Reasoning(text));
        }
        let mut walk = Walk { calls: &self.calls, results: 0 };
        walk.content(&self.content, None, see);
        for call in walk.calls {
            see(None, Piece::Call(call));
        }
    }

    /// Whether it has a picture, sound, video or document.
    pub fn has_media(&self) -> bool {
        let mut has_media = false;
        self.content.pieces(&mut |_, piece| has_media |= matches!(piece, Piece::Media(..)));
        has_media
    }

    /// The reasoning beside the content. Clients that keep it send it back.
    pub fn reasoning_beside(&self) -> impl Iterator<Item = Text<'a>> + use<'a> {
        let reasoning = self.rest.as_deref().and_then(|rest| rest.reasoning);
        let text = reasoning.and_then(|reasoning| reasoning.text());
        let details = reasoning.into_iter().flat_map(|details| details.items());
        text.into_iter().chain(details.filter_map(text_of_detail))
    }
}

/// The text of one detail of the reasoning beside the content.
fn text_of_detail(detail: Json<'_>) -> Option<Text<'_>> {
    ["text", "thinking", "summary"].iter().find_map(|key| detail.get_text(key))
}

impl<'a> Content<'a> {
    /// Shows each piece, in order, without calls.
    pub fn pieces<'m>(&'m self, see: &mut See<'_, 'm, 'a>) {
        Walk { calls: &[], results: 0 }.content(self, None, see);
    }

    /// All texts, including those of results and readable compactions and the JSON of unknown parts, without reasoning
    /// and media.
    pub fn texts(&self) -> Vec<Text<'a>> {
        let mut texts = Vec::new();
        self.pieces(&mut |_, piece| texts.extend(piece.text()));
        texts
    }
}

/// A walk over the content of a message.
struct Walk<'m, 'a> {
    /// The calls of the message that were not shown yet.
    calls: &'m [Call<'a>],
    /// The number of results so far.
    results: usize,
}

impl<'m, 'a> Walk<'m, 'a> {
    fn content(&mut self, content: &'m Content<'a>, result: Option<usize>, see: &mut See<'_, 'm, 'a>) {
        let parts = match content {
            Content::Text(text) => return see(result, Piece::Text(*text)),
            Content::Parts(parts) => parts,
        };
        for part in parts {
            match &part.kind {
                PartKind::Text(text) => see(result, Piece::Text(*text)),
                PartKind::Refusal(text) => see(result, Piece::Refusal(*text)),
                PartKind::Foreign(text) => see(result, Piece::Unknown(*text)),
                PartKind::Reasoning(text) => see(result, Piece::Reasoning(*text)),
                PartKind::Media(kind) => see(result, Piece::Media(*kind, part.json)),
                PartKind::Mixed(inner) => self.content(inner, result, see),
                PartKind::SaidBy(role, inner) => self.content(inner, result, &mut |result, piece| match piece {
                    Piece::Text(text) => see(result, Piece::SaidBy(*role, text)),
                    piece => see(result, piece),
                }),
                PartKind::Call => self.calls_up_to(part.json, see),
                PartKind::Result(inner) => {
                    self.calls_up_to(part.json, see);
                    let index = self.results;
                    self.results += 1;
                    self.content(inner, Some(index), see);
                }
                PartKind::Compaction(ProviderCompaction::Readable(text)) => see(result, Piece::Notes(*text)),
                PartKind::Compaction(ProviderCompaction::Failed) => {}
                PartKind::Compaction(ProviderCompaction::Opaque) | PartKind::Other => {
                    see(result, Piece::Opaque(part.json));
                }
            }
        }
    }

    /// Shows the calls of the content up to a part that is one, or the result of one: some formats keep both in one
    /// message, or even the result in its call.
    fn calls_up_to(&mut self, part: Json<'a>, see: &mut See<'_, 'm, 'a>) {
        let is_due = |call: &&Call<'_>| call.place == CallPlace::Content && call.json.span().start <= part.span().start;
        let (due, later) = self.calls.split_at(self.calls.iter().take_while(is_due).count());
        self.calls = later;
        for call in due {
            see(None, Piece::Call(call));
        }
    }
}

/// The parts of a message that a tool has written, or that are written for one, in order.
pub fn tool_data(transcript: &Transcript<'_>, message: &Message<'_>) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    for call in &message.calls {
        if let Arguments::Value(value) = call.arguments {
            ranges.push(value.span());
        }
    }
    for result in &message.results {
        let Some(output) = transcript.format.result_output(message, result) else { continue };
        ranges.push(output.value.span());
        ranges.extend(output.duplicates.iter().chain(&output.copies).map(|copy| copy.span()));
    }
    apart(ranges)
}

/// These parts of all messages of some conversations, in order.
pub fn all_tool_data(conversations: &[Transcript<'_>]) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    for transcript in conversations {
        for message in &transcript.messages {
            ranges.append(&mut tool_data(transcript, message));
        }
    }
    apart(ranges)
}
