//! The counters of tokens.

use std::fmt;
use std::str::FromStr;
use std::sync::Mutex;

use serde_json::Value;

use crate::approx::{self, Lists, MEDIA_TOKENS};
use crate::bpe::Encoding;
use crate::diagnostic::{Diagnostic, nearest};
use crate::family::ModelFamily;
use crate::media::{self, MediaRates};
use crate::memo::{self, Memo};
use crate::sync::lock;

use crate::transcript::beside::{Beside, beside};
use crate::transcript::json::Json;
use crate::transcript::pieces::Piece;
use crate::transcript::{Arguments, Message, Transcript};

/// Tokens around the text of a message when it is sent: three for the frame and one for the role, as OpenAI documents
/// for Chat Completions.
const FRAME_TOKENS: u64 = 4;

/// How the tokens of a message are counted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Counter {
    /// The tokens of `o200k_base`, times the factor of the family of the model that will read the result.
    Estimate(ModelFamily),
    /// The same for the messages. What requests send beside them is told by what the session itself recorded, where it did.
    Recorded(ModelFamily),
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
    /// A count of the caller's own: [`Counter::own`].
    Own(&'static OwnCounter),
}

/// A function that counts the tokens of a text.
pub struct OwnCounter {
    count: Box<dyn Fn(&str) -> u64 + Send + Sync>,
    known: Mutex<Memo>,
}

impl OwnCounter {
    fn count(&self, text: &str) -> u64 {
        let key = memo::key(text);
        if let Some(tokens) = lock(&self.known).get(key) {
            return tokens;
        }
        let tokens = (self.count)(text);
        lock(&self.known).insert(key, tokens);
        tokens
    }
}

impl fmt::Debug for OwnCounter {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("OwnCounter")
    }
}

impl PartialEq for OwnCounter {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Counter {
    /// The counter where nothing is known of the model.
    pub const DEFAULT: Counter = Counter::Estimate(ModelFamily::OTHERS);
    /// `LangChain`'s estimate with its default.
    pub const APPROX: Counter = Counter::Approx(4.0);

    /// Returns a counter that counts with a function, as the exact ones count: each piece of a message, and 4 more a
    /// message. It stays in memory: make it once, and copy it.
    ///
    /// ```
    /// # use tcompact_tokens as tcompact;
    /// use tcompact::Counter;
    ///
    /// let words = Counter::own(|text| text.split_whitespace().count() as u64);
    /// assert_eq!(words.count_text("two words"), 2);
    /// ```
    pub fn own(count: impl Fn(&str) -> u64 + Send + Sync + 'static) -> Counter {
        Counter::Own(Box::leak(Box::new(OwnCounter { count: Box::new(count), known: Mutex::default() })))
    }

    /// Media count flat.
    pub fn count(self, message: &Message<'_>) -> u64 {
        MessageCounter::from(self).count(message)
    }

    /// Returns the tokens of a text alone, counted like the text of a message.
    ///
    /// ```
    /// # use tcompact_tokens as tcompact;
    /// use tcompact::{Counter, Encoding};
    ///
    /// assert_eq!(Counter::APPROX.count_text("Twelve bytes"), 3);
    /// assert_eq!(Counter::DEFAULT.count_text("hello world"), 2);
    /// assert_eq!(Counter::Exact(Encoding::O200kBase).count_text("hello world"), 2);
    /// ```
    pub fn count_text(self, text: &str) -> u64 {
        match self {
            Counter::Approx(chars_per_token)
            | Counter::ApproxContent(chars_per_token)
            | Counter::ApproxRepr(chars_per_token) => approx::tokens(text.chars().count(), chars_per_token),
            Counter::Exact(encoding) => encoding.count(text),
            Counter::Estimate(family) | Counter::Recorded(family) => family.tokens(text).round() as u64,
            Counter::Bytes(per_token) => text.len() as u64 / per_token,
            Counter::Own(own) => own.count(text),
        }
    }

    /// The tokens of a text before they are rounded.
    fn text_size(self, text: &str) -> f64 {
        match self {
            Counter::Estimate(family) | Counter::Recorded(family) => family.tokens(text),
            counter => counter.count_text(text) as f64,
        }
    }

    /// The tokens of a user message with this text.
    pub fn count_text_message(self, text: &str) -> u64 {
        match self {
            Counter::Approx(chars_per_token)
            | Counter::ApproxContent(chars_per_token)
            | Counter::ApproxRepr(chars_per_token) => approx::text_message(text.chars().count(), chars_per_token),
            Counter::Bytes(_) => self.count_text(text),
            _ => self.count_text(text) + FRAME_TOKENS,
        }
    }
}

/// How the tokens of a conversation's messages are counted: their text by a counter, media by the rates of their reader.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MessageCounter {
    pub counter: Counter,
    pub media: MediaRates,
}

impl From<Counter> for MessageCounter {
    /// Counts media flat.
    fn from(counter: Counter) -> Self {
        MessageCounter { counter, media: media::OTHERS }
    }
}

impl MessageCounter {
    pub fn count(self, message: &Message<'_>) -> u64 {
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
            _ => self.sum(message, |text| self.counter.text_size(text)).round() as u64,
        }
    }

    /// The sizes of a message's texts together, with its frame and its media.
    fn sum(self, message: &Message<'_>, size: impl Fn(&str) -> f64) -> f64 {
        let name = message.rare_fields().name.map_or(0.0, |name| size(&name.decode()) + 1.0);
        let mut sum = FRAME_TOKENS as f64 + name;
        message.pieces(&mut |_, piece| {
            sum += match piece {
                Piece::Media(kind, json) => self.media.tokens(kind, json) as f64,
                piece => texts_of(&piece, &size),
            }
        });
        sum
    }

    /// The most tokens that a message can have, where its length tells: no token is shorter than a byte, and none is
    /// counted more than twice.
    pub fn most(self, message: &Message<'_>) -> Option<u64> {
        let factor = match self.counter {
            Counter::Exact(_) => 1.0,
            Counter::Estimate(family) | Counter::Recorded(family) => family.range().1,
            _ => return None,
        };
        let bytes = (2 * message.span().len()) as f64;
        (!message.has_media()).then(|| (bytes * factor) as u64 + FRAME_TOKENS + 2)
    }

    /// A number of tokens that a message has at least, where that is faster to find than how many it has.
    pub fn least(self, message: &Message<'_>) -> Option<u64> {
        let factor = match self.counter {
            Counter::Exact(_) => 1.0,
            Counter::Estimate(family) | Counter::Recorded(family) => family.range().0,
            _ => return None,
        };
        let (mut words, mut media) = (0, 0);
        message.pieces(&mut |_, piece| match piece {
            Piece::Media(kind, json) => media += self.media.tokens(kind, json),
            piece => words += spellings(&piece).into_iter().map(Encoding::least_spelled).sum::<u64>(),
        });
        Some(FRAME_TOKENS + media + (words as f64 * factor) as u64)
    }

    /// The tokens of what a conversation's requests send beside its messages.
    pub fn beside(self, transcript: &Transcript<'_>) -> u64 {
        let mut sum = 0.0;
        for value in beside(transcript) {
            sum += match value {
                Beside::Text(text) => self.counter.text_size(&text.decode()),
                Beside::Json(json) => self.counter.text_size(&compact(json)),
            };
        }
        sum.round() as u64
    }

    /// The size of a piece in tokens, before a message rounds its sum.
    pub fn size(self, piece: &Piece<'_, '_>) -> f64 {
        match (self.counter, piece) {
            (Counter::Bytes(bytes), piece) => text_bytes(piece) as f64 / bytes as f64,
            (Counter::ApproxContent(_) | Counter::ApproxRepr(_), Piece::Media(..)) => MEDIA_TOKENS as f64,
            (_, Piece::Media(kind, json)) => self.media.tokens(*kind, *json) as f64,
            (Counter::Approx(chars) | Counter::ApproxContent(chars) | Counter::ApproxRepr(chars), piece) => {
                chars_of(piece) as f64 / chars
            }
            (_, piece) => texts_of(piece, &|text: &str| self.counter.text_size(text)),
        }
    }
}

/// Every counter for tables: its name, and what it counts.
pub const COUNTERS: [(&str, &str); 6] = [
    (
        "estimate",
        "tokens of o200k_base times a factor for the family of the --for model, 4 more a message; media as their reader counts them",
    ),
    (
        "approx[:CHARS]",
        "an estimate: characters divided by CHARS (4), 3 more a message; media as their reader counts them",
    ),
    ("o200k_base", "exact tokens of GPT-4o and later, 4 more a message; media as their reader counts them"),
    ("cl100k_base", "exact tokens of GPT-4 and GPT-3.5, likewise"),
    (
        "recorded",
        "the last size that the session itself recorded, and the estimate of what follows it; without one, the estimate",
    ),
    ("bytes:N", "bytes of the content's text divided by N, rounded down; calls and names are not counted"),
];

impl fmt::Display for Counter {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Counter::Estimate(_) => write!(out, "estimate"),
            Counter::Recorded(_) => write!(out, "recorded"),
            Counter::Approx(4.0) | Counter::ApproxContent(4.0) | Counter::ApproxRepr(4.0) => write!(out, "approx"),
            Counter::Approx(chars) | Counter::ApproxContent(chars) | Counter::ApproxRepr(chars) => {
                write!(out, "approx:{chars}")
            }
            Counter::Exact(encoding) => write!(out, "{}", encoding.name()),
            Counter::Bytes(per_token) => write!(out, "bytes:{per_token}"),
            Counter::Own(_) => write!(out, "command"),
        }
    }
}

impl FromStr for Counter {
    type Err = Diagnostic;

    fn from_str(text: &str) -> Result<Self, Diagnostic> {
        let (name, value) = match text.split_once(':') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        let value_start = text.len() - value.map_or(0, str::len);
        match (name, value) {
            ("estimate", None) => Ok(Counter::DEFAULT),
            ("recorded", None) => Ok(Counter::Recorded(ModelFamily::OTHERS)),
            ("approx", None) => Ok(Counter::APPROX),
            ("approx", Some(value)) => match value.parse() {
                Ok(chars) if (0.1..=1000.0).contains(&chars) => Ok(Counter::Approx(chars)),
                _ => {
                    let what =
                        format!("`{value}` is not a number of characters a token (0.1 to 1000, as in approx:3.3)");
                    Err(Diagnostic::new(what).at(value_start..text.len()).example("approx:3.3"))
                }
            },
            ("o200k_base", None) => Ok(Counter::Exact(Encoding::O200kBase)),
            ("cl100k_base", None) => Ok(Counter::Exact(Encoding::Cl100kBase)),
            ("bytes", Some(value)) => match value.parse() {
                Ok(per_token @ 1..) => Ok(Counter::Bytes(per_token)),
                _ => {
                    let what =
                        format!("`{value}` is not a number of bytes a token (a whole number from 1 on, as in bytes:4)");
                    Err(Diagnostic::new(what).at(value_start..text.len()).example("bytes:4"))
                }
            },
            ("bytes", None) => {
                Err(Diagnostic::new("bytes needs the number of bytes a token, as in bytes:4").meant(Some("bytes:4")))
            }
            _ => {
                let meant = match value {
                    Some(_) => nearest(name, ["approx", "bytes"]),
                    None => nearest(name, ["estimate", "approx", "o200k_base", "cl100k_base", "recorded"]),
                };
                let what = "expected estimate, approx, approx:CHARS, o200k_base, cl100k_base, bytes:N or recorded";
                Err(Diagnostic::new(what).at(0..name.len()).meant(meant))
            }
        }
    }
}

/// A value without the white space that only people read.
fn compact(json: Json<'_>) -> String {
    serde_json::from_str::<Value>(json.raw()).map_or_else(|_| json.raw().to_owned(), |value| value.to_string())
}

/// The bytes of a piece that is text of the content.
fn text_bytes(piece: &Piece<'_, '_>) -> u64 {
    match piece {
        Piece::Text(text) | Piece::SaidBy(_, text) | Piece::Notes(text) => text.decode().len() as u64,
        _ => 0,
    }
}

/// The characters of a piece; those of a medium are not counted.
fn chars_of(piece: &Piece<'_, '_>) -> usize {
    match piece {
        Piece::Reasoning(text) => text.code_point_count(),
        Piece::Call(call) => approx::call_chars(call),
        Piece::Opaque(json) => json.raw().chars().count(),
        piece => piece.text().map_or(0, |text| text.code_point_count()),
    }
}

/// The texts of a piece as the source spells them; none of a medium.
fn spellings<'a>(piece: &Piece<'_, 'a>) -> [&'a str; 2] {
    match piece {
        Piece::Reasoning(text) => [text.raw(), ""],
        Piece::Call(call) => {
            let arguments = match call.arguments {
                Arguments::Text(text) => text.raw(),
                Arguments::Value(value) => value.raw(),
                Arguments::Absent => "",
            };
            [call.name.map_or("", |name| name.raw()), arguments]
        }
        Piece::Opaque(json) => [json.raw(), ""],
        piece => [piece.text().map_or("", |text| text.raw()), ""],
    }
}

/// The sizes of a piece's texts together; those of a medium are not counted.
fn texts_of(piece: &Piece<'_, '_>, size: &impl Fn(&str) -> f64) -> f64 {
    match piece {
        Piece::Reasoning(text) => size(&text.decode()),
        Piece::Call(call) => {
            let arguments = match call.arguments {
                Arguments::Text(text) => size(&text.decode()),
                Arguments::Value(value) => size(value.raw()),
                Arguments::Absent => 0.0,
            };
            call.name.map_or(0.0, |name| size(&name.decode())) + arguments
        }
        Piece::Opaque(json) => size(json.raw()),
        piece => piece.text().map_or(0.0, |text| size(&text.decode())),
    }
}
