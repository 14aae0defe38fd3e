//! A text of the source, decoded only when it is looked at: a history may be most of the memory in use.

use std::borrow::Cow;

use crate::media::without_data;
use crate::message::{Arguments, Message};
use crate::pieces::Piece;
use crate::text::Text;

/// A text of the source, or an owned one.
#[derive(Debug, Clone)]
pub enum LazyText<'a> {
    /// Strings of the source, one per line.
    Source(Box<[Text<'a>]>),
    /// A text that is not in the source as it is.
    Owned(Box<str>),
}

impl<'a> LazyText<'a> {
    pub fn new(texts: Vec<Text<'a>>) -> Self {
        LazyText::Source(texts.into())
    }

    pub fn of_arguments(arguments: Arguments<'a>) -> Self {
        LazyText::new(match arguments {
            Arguments::Text(text) => vec![text],
            Arguments::Value(value) => vec![Text::plain(value.raw())],
            Arguments::Absent => Vec::new(),
        })
    }

    /// The text, without the data of media in it.
    pub fn read(&self) -> Cow<'_, str> {
        match self {
            LazyText::Source(texts) => match &**texts {
                [] => Cow::Borrowed(""),
                [text] => readable(text),
                texts => Cow::Owned(texts.iter().map(readable).collect::<Vec<_>>().join("\n")),
            },
            LazyText::Owned(text) => Cow::Borrowed(text),
        }
    }

    /// Its strings, one by one, without the data of media in them.
    pub fn strings(&self) -> Vec<Cow<'_, str>> {
        match self {
            LazyText::Source(texts) => texts.iter().map(readable).collect(),
            LazyText::Owned(text) => vec![Cow::Borrowed(text)],
        }
    }

    /// An upper bound of its bytes.
    pub fn bytes(&self) -> usize {
        match self {
            LazyText::Source(texts) => texts.iter().map(|text| text.raw().len() + 1).sum(),
            LazyText::Owned(text) => text.len(),
        }
    }

    pub fn is_blank(&self) -> bool {
        match self {
            LazyText::Source(texts) => texts.iter().all(|text| text.decode().trim().is_empty()),
            LazyText::Owned(text) => text.trim().is_empty(),
        }
    }

    /// Its beginning, of at most `most` characters.
    pub fn opening(&self, most: usize) -> String {
        match self {
            LazyText::Source(texts) => texts.first().map_or(String::new(), |text| text.decode_start(most)),
            LazyText::Owned(text) => Text::plain(text).decode_start(most),
        }
    }

    /// Its first and its last `most` bytes as the source spells them, with escapes: a look that decodes nothing.
    pub fn edges(&self, most: usize) -> (&str, &str) {
        let (first, last) = match self {
            LazyText::Source(texts) => (texts.first().map_or("", Text::raw), texts.last().map_or("", Text::raw)),
            LazyText::Owned(text) => (&**text, &**text),
        };
        (&first[..first.floor_char_boundary(most)], &last[last.ceil_char_boundary(last.len().saturating_sub(most))..])
    }
}

/// A text without the data of media in it, which nobody reads.
fn readable<'a>(text: &Text<'a>) -> Cow<'a, str> {
    match text.decode() {
        Cow::Borrowed(text) => without_data(text),
        Cow::Owned(text) => match without_data(&text) {
            Cow::Borrowed(_) => Cow::Owned(text),
            Cow::Owned(shorter) => Cow::Owned(shorter),
        },
    }
}

/// The texts of a message, those of its results, and what the model thought, as far as that can be read.
pub fn texts_of<'a>(message: &Message<'a>) -> (Vec<Text<'a>>, Vec<Vec<Text<'a>>>, Vec<Text<'a>>) {
    let (mut texts, mut results, mut thoughts) = (Vec::new(), Vec::new(), Vec::new());
    message.content.pieces(&mut |result, piece| match (result, piece) {
        (None, Piece::Reasoning(text)) => thoughts.push(text),
        (None, Piece::Notes(_) | Piece::SaidBy(..)) => {}
        (None, piece) => texts.extend(piece.text()),
        (Some(index), piece) => {
            results.resize_with(results.len().max(index + 1), Vec::new);
            results[index].extend(piece.text());
        }
    });
    (texts, results, thoughts)
}
