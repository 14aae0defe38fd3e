//! A text of the source, decoded only when it is looked at: a history may be most of the memory in use.

use std::borrow::Cow;

use crate::transcript::text::Text;
use crate::transcript::{Arguments, Content, Message, PartKind};

/// A text of the source, or an owned one.
#[derive(Debug, Clone)]
pub(super) enum LazyText<'a> {
    /// A string of the source.
    One(Text<'a>),
    /// Several strings or none, one per line.
    Several(Box<[Text<'a>]>),
    /// A text that is not in the source as it is.
    Owned(Box<str>),
}

impl<'a> LazyText<'a> {
    pub(super) fn new(texts: Vec<Text<'a>>) -> Self {
        match *texts {
            [text] => LazyText::One(text),
            _ => LazyText::Several(texts.into()),
        }
    }

    pub(super) fn of_arguments(arguments: Arguments<'a>) -> Self {
        match arguments {
            Arguments::Text(text) => LazyText::One(text),
            Arguments::Value(value) => LazyText::One(Text::plain(value.raw())),
            Arguments::Absent => LazyText::Several(Box::default()),
        }
    }

    /// Returns the text.
    pub(super) fn read(&self) -> Cow<'_, str> {
        match self {
            LazyText::One(text) => text.decode(),
            LazyText::Several(texts) => match &**texts {
                [] => Cow::Borrowed(""),
                texts => Cow::Owned(texts.iter().map(Text::decode).collect::<Vec<_>>().join("\n")),
            },
            LazyText::Owned(text) => Cow::Borrowed(text),
        }
    }

    /// Returns an upper bound of its bytes.
    pub(super) fn bytes(&self) -> usize {
        match self {
            LazyText::One(text) => text.spelled_len(),
            LazyText::Several(texts) => texts.iter().map(|text| text.spelled_len() + 1).sum(),
            LazyText::Owned(text) => text.len(),
        }
    }

    pub(super) fn is_blank(&self) -> bool {
        match self {
            LazyText::One(text) => text.decode().trim().is_empty(),
            LazyText::Several(texts) => texts.iter().all(|text| text.decode().trim().is_empty()),
            LazyText::Owned(text) => text.trim().is_empty(),
        }
    }

    /// Returns its beginning, of at most `most` characters.
    pub(super) fn opening(&self, most: usize) -> String {
        let start = |text: &Text<'a>| -> String {
            text.code_points()
                .take(most)
                .map(|point| char::from_u32(point).unwrap_or(char::REPLACEMENT_CHARACTER))
                .collect()
        };
        match self {
            LazyText::One(text) => start(text),
            LazyText::Several(texts) => texts.first().map(start).unwrap_or_default(),
            LazyText::Owned(text) => text.chars().take(most).collect(),
        }
    }

    /// Returns its first and its last `most` bytes as the source spells them, with escapes: a look that decodes nothing.
    pub(super) fn edges(&self, most: usize) -> (&str, &str) {
        let (first, last) = match self {
            LazyText::One(text) => (text.raw(), text.raw()),
            LazyText::Several(texts) => {
                (texts.first().map_or("", |text| text.raw()), texts.last().map_or("", |text| text.raw()))
            }
            LazyText::Owned(text) => (&**text, &**text),
        };
        (&first[..first.floor_char_boundary(most)], &last[last.ceil_char_boundary(last.len().saturating_sub(most))..])
    }
}

/// Returns the texts of a message, and those of each result in it.
pub(super) fn texts_and_results<'a>(message: &Message<'a>) -> (Vec<Text<'a>>, Vec<Vec<Text<'a>>>) {
    let Content::Parts(parts) = &message.content else { return (message.content.texts(), Vec::new()) };
    let (mut texts, mut results) = (Vec::new(), Vec::new());
    for part in parts {
        match &part.kind {
            PartKind::Text(text) | PartKind::Refusal(text) | PartKind::Foreign(text) => texts.push(*text),
            PartKind::Result(content) => results.push(content.texts()),
            _ => {}
        }
    }
    (texts, results)
}

/// Returns what the model thought, as far as the message has it in readable form.
pub(super) fn thoughts<'a>(message: &Message<'a>) -> Vec<Text<'a>> {
    let Content::Parts(parts) = &message.content else { return Vec::new() };
    let thought = |kind: &PartKind<'a>| if let PartKind::Reasoning(text) = kind { Some(*text) } else { None };
    parts.iter().filter_map(|part| thought(&part.kind)).collect()
}
