//! The counters of tokens.

use std::fmt;
use std::str::FromStr;

use crate::diagnostic::{Diagnostic, nearest};
use crate::tokens::approx::{self, Lists, MEDIA_TOKENS};
use crate::tokens::bpe::Encoding;
use crate::tokens::media::{self, MediaRates};

use crate::transcript::pieces::Piece;
use crate::transcript::{Arguments, Message};

/// Tokens around the text of a message when it is sent: three for the frame and one for the role, as OpenAI documents
/// for Chat Completions.
const EXACT_OVERHEAD: u64 = 4;

/// How the tokens of a message are counted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Counter {
    /// `LangChain`'s estimate of text and calls, with so many characters per token, of every piece of a message: of what
    /// `LangChain` leaves out, too, and in all formats alike.
    Approx(f64),
    /// Exactly `LangChain`'s estimate, for the presets of systems that count with it.
    ApproxContent(f64),
    /// The estimate of langchain-core 1.2.7: a list of content counts as its Python `repr`.
    ApproxRepr(f64),
    /// The tokens of OpenAI's vocabularies.
    Exact(Encoding),
    /// Bytes of the content's text divided by this, rounded down; calls, names and roles are not counted.
    Bytes(u64),
}

impl Counter {
    /// `LangChain`'s estimate with its default.
    pub const DEFAULT: Counter = Counter::Approx(4.0);

    /// Returns the tokens of a message without media.
    pub(crate) fn count(self, message: &Message<'_>) -> u64 {
        MessageCounter::from(self).count(message)
    }

    /// Returns the tokens of a text alone, counted like the text of a message.
    ///
    /// ```
    /// use tcompact::{Counter, Encoding};
    ///
    /// assert_eq!(Counter::DEFAULT.count_text("Twelve bytes"), 3);
    /// assert_eq!(Counter::Exact(Encoding::O200kBase).count_text("hello world"), 2);
    /// ```
    pub fn count_text(self, text: &str) -> u64 {
        match self {
            Counter::Approx(chars_per_token)
            | Counter::ApproxContent(chars_per_token)
            | Counter::ApproxRepr(chars_per_token) => approx::tokens(text.chars().count(), chars_per_token),
            Counter::Exact(encoding) => encoding.count(text),
            Counter::Bytes(per_token) => text.len() as u64 / per_token,
        }
    }

    /// Returns the tokens of a user message with this text.
    pub(crate) fn count_text_message(self, text: &str) -> u64 {
        match self {
            Counter::Approx(chars_per_token)
            | Counter::ApproxContent(chars_per_token)
            | Counter::ApproxRepr(chars_per_token) => approx::text_message(text.chars().count(), chars_per_token),
            Counter::Exact(_) => self.count_text(text) + EXACT_OVERHEAD,
            Counter::Bytes(_) => self.count_text(text),
        }
    }
}

/// How the tokens of a conversation's messages are counted: their text by a counter, media by the rates of their reader.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct MessageCounter {
    pub(crate) counter: Counter,
    pub(crate) media: MediaRates,
}

impl From<Counter> for MessageCounter {
    /// Counts media flat.
    fn from(counter: Counter) -> Self {
        MessageCounter { counter, media: media::OTHERS }
    }
}

impl MessageCounter {
    /// Returns the tokens of a message.
    pub(crate) fn count(self, message: &Message<'_>) -> u64 {
        match self.counter {
            Counter::ApproxContent(chars_per_token) => approx::count(message, chars_per_token, Lists::ByPart),
            Counter::ApproxRepr(chars_per_token) => approx::count(message, chars_per_token, Lists::Repr),
            Counter::Bytes(per_token) => {
                let mut bytes = 0;
                message.content.pieces(&mut |_, piece| bytes += text_bytes(&piece));
                bytes / per_token
            }
            Counter::Approx(chars_per_token) => {
                let (mut chars, mut media) = (approx::chars_around(message), 0);
                message.pieces(&mut |_, piece| match piece {
                    Piece::Media(kind, json) => media += self.media.tokens(kind, json),
                    piece => chars += chars_of(&piece),
                });
                approx::tokens(chars, chars_per_token) + approx::MESSAGE_TOKENS + media
            }
            Counter::Exact(encoding) => {
                let name = message.rare_fields().name.map_or(0, |name| encoding.count(&name.decode()) + 1);
                let mut sum = EXACT_OVERHEAD + name;
                message.pieces(&mut |_, piece| {
                    sum += match piece {
                        Piece::Media(kind, json) => self.media.tokens(kind, json),
                        piece => exact_size(&piece, encoding),
                    }
                });
                sum
            }
        }
    }

    /// Returns the size of a piece in tokens, before a message rounds its sum.
    pub(crate) fn size(self, piece: &Piece<'_, '_>) -> f64 {
        match (self.counter, piece) {
            (Counter::Bytes(bytes), piece) => text_bytes(piece) as f64 / bytes as f64,
            (Counter::ApproxContent(_) | Counter::ApproxRepr(_), Piece::Media(..)) => MEDIA_TOKENS as f64,
            (_, Piece::Media(kind, json)) => self.media.tokens(*kind, *json) as f64,
            (Counter::Exact(encoding), piece) => exact_size(piece, encoding) as f64,
            (Counter::Approx(chars) | Counter::ApproxContent(chars) | Counter::ApproxRepr(chars), piece) => {
                chars_of(piece) as f64 / chars
            }
        }
    }
}

/// Every counter for tables: its name, and what it counts.
pub(crate) const COUNTERS: [(&str, &str); 4] = [
    (
        "approx[:CHARS]",
        "an estimate: characters divided by CHARS (4), 3 more a message; media as their reader counts them",
    ),
    ("o200k_base", "exact tokens of GPT-4o and later, 4 more a message; media as their reader counts them"),
    ("cl100k_base", "exact tokens of GPT-4 and GPT-3.5, likewise"),
    ("bytes:N", "bytes of the content's text divided by N, rounded down; calls and names are not counted"),
];

impl fmt::Display for Counter {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Counter::Approx(4.0) | Counter::ApproxContent(4.0) | Counter::ApproxRepr(4.0) => write!(out, "approx"),
            Counter::Approx(chars) | Counter::ApproxContent(chars) | Counter::ApproxRepr(chars) => {
                write!(out, "approx:{chars}")
            }
            Counter::Exact(encoding) => write!(out, "{}", encoding.name()),
            Counter::Bytes(per_token) => write!(out, "bytes:{per_token}"),
        }
    }
}

impl FromStr for Counter {
    type Err = Diagnostic;

    fn from_str(text: &str) -> Result<Self, Diagnostic> {
        let of_value = |why: String| {
            let start = text.find(':').map_or(0, |colon| colon + 1);
            Diagnostic::new(why).at(start..text.len())
        };
        let (name, value) = text.split_once(':').map_or((text, None), |(name, value)| (name, Some(value)));
        match (name, value) {
            ("approx", None) => Ok(Counter::DEFAULT),
            ("approx", Some(value)) => match value.parse() {
                Ok(chars) if (0.1..=1000.0).contains(&chars) => Ok(Counter::Approx(chars)),
                _ => Err(of_value(format!(
                    "`{value}` is not a number of characters a token (0.1 to 1000, as in approx:3.3)"
                ))
                .example("approx:3.3")),
            },
            ("o200k_base", None) => Ok(Counter::Exact(Encoding::O200kBase)),
            ("cl100k_base", None) => Ok(Counter::Exact(Encoding::Cl100kBase)),
            ("bytes", Some(value)) => match value.parse() {
                Ok(per_token @ 1..) => Ok(Counter::Bytes(per_token)),
                _ => Err(of_value(format!(
                    "`{value}` is not a number of bytes a token (a whole number from 1 on, as in bytes:4)"
                ))
                .example("bytes:4")),
            },
            ("bytes", None) => {
                Err(Diagnostic::new("bytes needs the number of bytes a token, as in bytes:4").meant(Some("bytes:4")))
            }
            _ => {
                let meant = match value {
                    Some(_) => nearest(name, ["approx", "bytes"]),
                    None => nearest(name, ["approx", "o200k_base", "cl100k_base"]),
                };
                let what = "expected approx, approx:CHARS, o200k_base, cl100k_base or bytes:N";
                Err(Diagnostic::new(what).at(0..name.len()).meant(meant))
            }
        }
    }
}

/// Returns the bytes of a piece that is text of the content.
fn text_bytes(piece: &Piece<'_, '_>) -> u64 {
    match piece {
        Piece::Text(text) | Piece::Notes(text) => text.decode().len() as u64,
        _ => 0,
    }
}

/// Returns the characters of a piece; those of a medium are not counted.
fn chars_of(piece: &Piece<'_, '_>) -> usize {
    match piece {
        Piece::Reasoning(text) => text.code_point_count(),
        Piece::Call(call) => approx::call_chars(call),
        Piece::Opaque(json) => json.raw().chars().count(),
        piece => piece.text().map_or(0, |text| text.code_point_count()),
    }
}

/// Returns the tokens of a piece; those of a medium are not counted.
fn exact_size(piece: &Piece<'_, '_>, encoding: Encoding) -> u64 {
    match piece {
        Piece::Reasoning(text) => encoding.count(&text.decode()),
        Piece::Call(call) => {
            let arguments = match call.arguments {
                Arguments::Text(text) => encoding.count(&text.decode()),
                Arguments::Value(value) => encoding.count(value.raw()),
                Arguments::Absent => 0,
            };
            call.name.map_or(0, |name| encoding.count(&name.decode())) + arguments
        }
        Piece::Opaque(json) => encoding.count(json.raw()),
        piece => piece.text().map_or(0, |text| encoding.count(&text.decode())),
    }
}
