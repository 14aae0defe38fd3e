//! A text of the source, decoded only when it is looked at: a history may be most of the memory in use.

use std::borrow::Cow;

use crate::media::without_data;
use crate::message::{Arguments, Message};
use crate::pieces::Piece;
use crate::text::Text;
use crate::thin_list::ThinList;

/// A text of the source, or an owned one. A digest has one for each message, so none of its variants is a wide pointer.
#[derive(Debug, Clone)]
pub enum LazyText<'a> {
    /// The texts of a message, one per line, without those of its results and thoughts. They are looked up each time.
    Message(&'a Message<'a>),
    /// Strings of the source, one per line.
    Source(ThinList<Text<'a>>),
    /// A text that is not in the source as it is.
    Owned(Box<Box<str>>),
}

impl<'a> LazyText<'a> {
    pub fn new(texts: Vec<Text<'a>>) -> Self {
        LazyText::Source(texts.into())
    }

    pub fn owned(text: impl Into<Box<str>>) -> Self {
        LazyText::Owned(Box::new(text.into()))
    }

    pub fn of_arguments(arguments: Arguments<'a>) -> Self {
        LazyText::new(match arguments {
            Arguments::Text(text) => vec![text],
            Arguments::Value(value) => vec![Text::plain(value.raw())],
            Arguments::Absent => Vec::new(),
        })
    }

    /// Its strings in the source; an owned text as one.
    fn texts(&self) -> Cow<'_, [Text<'_>]> {
        match self {
            LazyText::Message(message) => Cow::Owned(texts_of(message).0),
            LazyText::Source(texts) => Cow::Borrowed(texts),
            LazyText::Owned(text) => Cow::Owned(vec![Text::plain(text)]),
        }
    }

    /// The text, without the data of media in it.
    pub fn read(&self) -> Cow<'_, str> {
        if let LazyText::Owned(text) = self {
            return Cow::Borrowed(text);
        }
        match &*self.texts() {
            [] => Cow::Borrowed(""),
            [text] => readable(text),
            texts => Cow::Owned(texts.iter().map(readable).collect::<Vec<_>>().join("\n")),
        }
    }

    /// Its strings, one by one, without the data of media in them.
    pub fn strings(&self) -> Vec<Cow<'_, str>> {
        if let LazyText::Owned(text) = self {
            return vec![Cow::Borrowed(text)];
        }
        self.texts().iter().map(readable).collect()
    }

    /// An upper bound of its bytes.
    pub fn bytes(&self) -> usize {
        if let LazyText::Owned(text) = self {
            return text.len();
        }
        self.texts().iter().map(|text| text.raw().len() + 1).sum()
    }

    pub fn is_blank(&self) -> bool {
        self.texts().iter().all(|text| text.decode().trim().is_empty())
    }

    /// Its beginning, of at most `most` characters.
    pub fn opening(&self, most: usize) -> String {
        match self.texts().first() {
            Some(text) => text.decode_start(most),
            None => String::new(),
        }
    }

    /// Its first and its last `most` bytes as the source spells them, with escapes: a look that decodes nothing.
    pub fn edges(&self, most: usize) -> (&str, &str) {
        let texts = self.texts();
        let (first, last) = (texts.first().map_or("", Text::raw), texts.last().map_or("", Text::raw));
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
