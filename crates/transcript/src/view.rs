//! A view of a conversation with some edits applied. The texts of its messages change, and everything known about how
//! they belong together stays. What is written always derives from the source itself.
//!
//! The edited text and the messages read from it live in an [`Arena`], so a view lives as long as the conversation.

use std::sync::OnceLock;

use crate::edit::{Edit, edited_value};
use crate::format::Transcript;
use crate::framing::{self, ReadError};
use crate::json::Json;
use crate::message::ContentEdit;
use crate::source::Source;
use crate::unsent::leave_out_again;

/// Owns the views of a conversation.
#[derive(Default)]
pub struct Arena<'t> {
    texts: typed_arena::Arena<String>,
    sources: typed_arena::Arena<Source<'t>>,
    transcripts: typed_arena::Arena<Transcript<'t>>,
}

impl<'t> Arena<'t> {
    /// Keeps a text whose conversations are read.
    pub fn keep(&'t self, source: Source<'t>) -> &'t Source<'t> {
        self.sources.alloc(source)
    }
}

/// The conversation with `edits` applied, which are in order; the conversation itself if there are none.
///
/// # Errors
/// The edited text is not a conversation.
pub fn view<'t>(
    transcript: &'t Transcript<'t>,
    edits: &[Edit],
    arena: &'t Arena<'t>,
) -> Result<&'t Transcript<'t>, ReadError> {
    if edits.is_empty() {
        return Ok(transcript);
    }
    let messages = (0..transcript.messages.len()).map(|index| edited_as_sent(transcript, index, edits)).collect();
    let text: &'t str = arena.texts.alloc(list(messages));
    let source: &'t Source<'t> = arena.keep(Source::of(text)?);
    let mut messages = framing::messages(source, transcript.format)?;
    // Pairs, groups and marks of summaries are known, whatever the text has become.
    for (message, before) in messages.iter_mut().zip(&transcript.messages) {
        message.earlier = before.earlier;
        message.round = before.round;
        message.mask = before.mask;
        leave_out_again(message, before);
    }
    let Transcript { format, order, envelope, state, line, nth_of_line, earlier_rounds, record_id, .. } = *transcript;
    Ok(arena.transcripts.alloc(Transcript {
        source: text,
        format,
        messages,
        notes: Vec::new(),
        inner: None,
        pairing: transcript.pairing.clone(),
        groups: transcript.groups.clone(),
        compactions: transcript.compactions.clone(),
        order,
        envelope,
        state,
        aside: &[],
        line,
        nth_of_line,
        earlier_rounds,
        record_id,
        ascii: OnceLock::new(),
    }))
}

/// A message of the source with the edits inside it applied; the edits are in order.
pub fn edited(transcript: &Transcript<'_>, index: usize, edits: &[Edit]) -> String {
    let json = transcript.messages[index].json;
    edited_value(json, inside(json, edits))
}

/// A message with the edits applied, and with the content that is sent where another entry holds it: a view has no other
/// entries.
fn edited_as_sent(transcript: &Transcript<'_>, index: usize, edits: &[Edit]) -> String {
    let message = &transcript.messages[index];
    let Some(ContentEdit { own, sent }) = message.content_edit() else { return edited(transcript, index, edits) };
    let mut with_sent = inside(message.json, edits);
    with_sent.retain(|edit| edit.range.end <= own.span().start || own.span().end <= edit.range.start);
    with_sent.push(Edit { range: own.span(), text: edited_value(sent, inside(sent, edits)) });
    edited_value(message.json, with_sent)
}

/// The edits inside a value, of edits that are in order.
fn inside(value: Json<'_>, edits: &[Edit]) -> Vec<Edit> {
    let span = value.span();
    let first = edits.partition_point(|edit| edit.range.start < span.start);
    edits[first..].iter().take_while(|edit| edit.range.end <= span.end).cloned().collect()
}

/// Formats messages as a JSON list.
pub fn list(messages: Vec<String>) -> String {
    format!("[{}]", messages.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framing::read_for_test as read;

    /// In a tree, messages that are linked only by a removed note would be read as an abandoned branch.
    #[test]
    fn an_edited_history_has_all_its_messages() {
        let lines = [
            r#"{"type":"session","version":3,"id":"s"}"#,
            r#"{"type":"message","id":"1","parentId":null,"message":{"role":"user","content":"first"}}"#,
            r#"{"type":"message","id":"2","parentId":"1","message":{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"f","arguments":{}}]}}"#,
            r#"{"type":"message","id":"3","parentId":"2","message":{"role":"toolResult","toolCallId":"c","content":"r"}}"#,
            r#"{"type":"model_change","id":"4","parentId":"3","provider":"p","modelId":"m"}"#,
            r#"{"type":"message","id":"5","parentId":"4","message":{"role":"user","content":"last"}}"#,
        ];
        let source = lines.join("\n");
        let document = read(&source, None, None).expect("a transcript");
        let transcript = &document.transcripts[0];
        let start = source.find("first").expect("it says so");
        let edits = [Edit { range: start..start + 5, text: "other".to_owned() }];
        let arena = Arena::default();
        let edited = view(transcript, &edits, &arena).expect("a conversation");
        assert!(edited.messages[0].json.raw().contains("other"));
        assert_eq!((edited.messages.len(), &edited.pairing), (4, &transcript.pairing));
        assert_eq!(edited.pairing.pairs, [(1, 2)]);
        assert!(std::ptr::eq(view(transcript, &[], &arena).expect("itself"), transcript));
    }
}
