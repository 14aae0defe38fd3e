//! Contents that a provider refuses whatever stands around them: halves of surrogate pairs, and texts without any text.

use std::ops::Range;

use memchr::memmem;

use crate::plan::breaches::{Breach, ProviderRule};
use crate::transcript::json::{Json, JsonKind};
use crate::transcript::order::Texts;
use crate::transcript::text::Text;
use crate::transcript::{Content, Message, Part, PartKind, Role, Transcript};

pub(super) fn of_contents(transcript: &Transcript<'_>) -> Vec<Breach> {
    let mut found = Vec::new();
    for (index, message) in transcript.messages.iter().enumerate() {
        if !lone_surrogates(transcript, message).is_empty() {
            found.push(Breach { message: index, rule: ProviderRule::Surrogate, id: None });
        }
        if !blanks(transcript, index).is_empty() {
            found.push(Breach { message: index, rule: ProviderRule::Blank, id: None });
        }
    }
    found
}

/// A text without any text, or a content that has none.
#[derive(Debug, Clone, Copy)]
pub enum Blank<'a> {
    /// A text among others, which goes.
    Part(Json<'a>),
    /// The only text, which gets one.
    Only(Json<'a>),
    /// The content is missing, `null` or an empty list.
    Content,
}

/// What is blank in the message at an index, as far as its provider refuses it.
pub fn blanks<'a>(transcript: &Transcript<'a>, index: usize) -> Vec<Blank<'a>> {
    let message = &transcript.messages[index];
    let texts = transcript.order.texts;
    if texts == Texts::Any {
        return Vec::new();
    }
    let mut found = Vec::new();
    match &message.content {
        Content::Text(text) => {
            let is_alone = message.calls.is_empty() && message.results.is_empty();
            // The model may still have something to say in the last message.
            let is_last = index + 1 == transcript.messages.len() && message.role == Role::Assistant;
            if !is_alone || is_last || message.role == Role::Other {
                return found;
            }
            if let Some(content) = content_of(message)
                && content.kind() == JsonKind::String
            {
                if refuses(texts, text) {
                    found.push(Blank::Only(content));
                }
            } else if text.is_empty() && !has_other_words(message) {
                found.push(Blank::Content);
            }
        }
        Content::Parts(parts) => add_parts(parts, texts, &mut found),
    }
    found
}

/// Adds the texts among these parts that a provider refuses, with those inside of results.
fn add_parts<'a>(parts: &[Part<'a>], texts: Texts, found: &mut Vec<Blank<'a>>) {
    let is_all = parts.iter().all(|part| is_refused(part, texts));
    for (at, part) in parts.iter().enumerate() {
        if let PartKind::Result(Content::Parts(inner)) = &part.kind {
            add_parts(inner, texts, found);
        } else if is_refused(part, texts) {
            let is_kept = is_all && at == 0;
            found.push(if is_kept { Blank::Only(part.json) } else { Blank::Part(part.json) });
        }
    }
}

fn is_refused(part: &Part<'_>, texts: Texts) -> bool {
    matches!(&part.kind, PartKind::Text(text) if refuses(texts, text))
}

/// Whether a provider that accepts these `texts` refuses one.
fn refuses(texts: Texts, text: &Text<'_>) -> bool {
    match texts {
        Texts::Any | Texts::Some => false,
        Texts::NotEmpty => text.is_empty(),
        Texts::NotBlank => is_blank(text),
    }
}

/// The content of a message, as a list or a text.
pub fn content_of<'a>(message: &Message<'a>) -> Option<Json<'a>> {
    let inner = message.json.get("message").filter(|inner| inner.kind() == JsonKind::Object);
    let fields = inner.unwrap_or(message.json);
    fields.get("content").or_else(|| fields.get("parts"))
}

/// Whether a message without content says something in another member.
fn has_other_words(message: &Message<'_>) -> bool {
    const OTHERS: [&str; 4] = ["refusal", "audio", "tool_plan", "function_call"];
    OTHERS.iter().any(|key| message.json.get(key).is_some_and(|value| !value.is_falsy()))
}

fn is_blank(text: &Text<'_>) -> bool {
    let rest = text.raw().trim_start();
    rest.is_empty() || rest.starts_with('\\') && text.decode().trim().is_empty()
}

/// The escapes of a message that are half of a surrogate pair, as spans of the source. What no model is sent does not
/// count.
pub fn lone_surrogates(transcript: &Transcript<'_>, message: &Message<'_>) -> Vec<Range<usize>> {
    let start = message.span().start;
    let lone = halves(message.json.raw());
    if lone.is_empty() {
        return lone;
    }
    let unsent = spans_of(message.json, transcript.format.metadata_members);
    let mut sent = Vec::with_capacity(lone.len());
    for half in lone {
        let half = start + half.start..start + half.end;
        let before = unsent.partition_point(|span| span.start <= half.start);
        if before == 0 || unsent[before - 1].end <= half.start {
            sent.push(half);
        }
    }
    sent
}

/// The spans of these members in an object and in the objects inside, in order.
fn spans_of(object: Json<'_>, members: &[&str]) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    for (key, value) in object.entries() {
        if key.is_in(members) {
            spans.push(value.span());
            continue;
        }
        for (key, inner) in value.entries() {
            if key.is_in(members) {
                spans.push(inner.span());
            }
        }
    }
    spans
}

/// The length of `\ud83d`.
const ESCAPE: usize = 6;

/// The escapes in some JSON that are half of a surrogate pair.
fn halves(json: &str) -> Vec<Range<usize>> {
    let bytes = json.as_bytes();
    let mut lone: Vec<Range<usize>> = Vec::new();
    // A first half whose second one is to follow.
    let mut first: Option<Range<usize>> = None;
    for at in memmem::find_iter(bytes, b"\\u") {
        let Some(digits) = json.get(at + 2..at + ESCAPE) else { continue };
        let Ok(unit) = u16::from_str_radix(digits, 16) else { continue };
        let backslashes = bytes[..at].iter().rev().take_while(|byte| **byte == b'\\').count();
        if !(0xd800..=0xdfff).contains(&unit) || backslashes % 2 == 1 {
            continue;
        }
        let is_first = unit < 0xdc00;
        let is_paired = !is_first && first.as_ref().is_some_and(|first| first.end == at);
        if is_paired {
            first = None;
            continue;
        }
        lone.extend(first.take());
        if is_first {
            first = Some(at..at + ESCAPE);
        } else {
            lone.push(at..at + ESCAPE);
        }
    }
    lone.extend(first);
    lone
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lone_surrogates_are_found() {
        let found = |json: &str| halves(json).into_iter().map(|span| json[span].to_owned()).collect::<Vec<_>>();
        assert_eq!(found(r#""\ud83d\ude00 \u4e2d \\ud83d \\\\ud83d""#), [] as [&str; 0]);
        assert_eq!(found(r#""\ud83d""#), [r"\ud83d"]);
        assert_eq!(found(r#""\uD83D\\ude00""#), [r"\uD83D"]);
        assert_eq!(found(r#""a\ude00\ud83d\ud83d\ude00\ud83dé""#), [r"\ude00", r"\ud83d", r"\ud83d"]);
        assert_eq!(found(r#""\\\ud83d x""#), [r"\ud83d"], "behind an escaped backslash");
    }
}
