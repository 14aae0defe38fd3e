//! The counters of tokens.

use std::fmt;
use std::str::FromStr;

use crate::diagnostic::{Diagnostic, nearest};
use crate::tokens::approx::{self, Lists, MEDIA_TOKENS, reasoning_beside};
use crate::tokens::bpe::Encoding;
use crate::transcript::compaction::ProviderCompaction;
use crate::transcript::text::Text;
use crate::transcript::{Arguments, Call, Content, Message, Part, PartKind};

/// Tokens around the text of a message when it is sent: three for the frame and one for the role, as OpenAI documents
/// for Chat Completions.
const EXACT_OVERHEAD: u64 = 4;

/// How the tokens of a message are counted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Counter {
    /// `LangChain`'s estimate, with so many characters per token, and the reasoning beside the content.
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

    /// Returns the tokens of a message.
    pub(crate) fn count(self, message: &Message<'_>) -> u64 {
        match self {
            Counter::Approx(chars_per_token) => approx::count(message, chars_per_token, Lists::ByPart, true),
            Counter::ApproxContent(chars_per_token) => approx::count(message, chars_per_token, Lists::ByPart, false),
            Counter::ApproxRepr(chars_per_token) => approx::count(message, chars_per_token, Lists::Repr, false),
            Counter::Exact(encoding) => exact(message, encoding),
            Counter::Bytes(per_token) => content_bytes(&message.content) / per_token,
        }
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

/// Every counter for tables: its name, and what it counts.
pub(crate) const COUNTERS: [(&str, &str); 4] = [
    ("approx[:CHARS]", "LangChain's estimate: characters divided by CHARS (4), 3 more a message, 85 a picture"),
    ("o200k_base", "exact tokens of GPT-4o and later, 4 more a message, 85 a picture or other medium"),
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

/// Sums the parts of a message: each text by itself, calls by name and arguments, media at a flat rate.
fn exact(message: &Message<'_>, encoding: Encoding) -> u64 {
    let of_text = |text: Text<'_>| encoding.count(&text.decode());
    let name = message.rare_fields().name.map_or(0, |name| of_text(name) + 1);
    let calls: u64 = message.calls.iter().map(|call| exact_call(call, encoding)).sum();
    let beside: u64 = reasoning_beside(message).map(of_text).sum();
    EXACT_OVERHEAD + name + calls + beside + exact_content(&message.content, encoding)
}

fn exact_call(call: &Call<'_>, encoding: Encoding) -> u64 {
    let name = call.name.map_or(0, |name| encoding.count(&name.decode()));
    let arguments = match call.arguments {
        Arguments::Text(text) => encoding.count(&text.decode()),
        Arguments::Value(value) => encoding.count(value.raw()),
        Arguments::Absent => 0,
    };
    name + arguments
}

fn exact_content(content: &Content<'_>, encoding: Encoding) -> u64 {
    let part = |part: &Part<'_>| match &part.kind {
        PartKind::Text(text) | PartKind::Reasoning(text) | PartKind::Refusal(text) => encoding.count(&text.decode()),
        PartKind::Result(inner) => exact_content(inner, encoding),
        PartKind::Image | PartKind::Media => MEDIA_TOKENS,
        // Counted with the message's calls.
        PartKind::Call => 0,
        PartKind::Compaction(ProviderCompaction::Readable(text)) => encoding.count(&text.decode()),
        PartKind::Compaction(_) | PartKind::Other | PartKind::Foreign(_) => encoding.count(part.json.raw()),
    };
    match content {
        Content::Text(text) => encoding.count(&text.decode()),
        Content::Parts(parts) => parts.iter().map(part).sum(),
    }
}

/// Bytes of the texts of a content, those of results included.
fn content_bytes(content: &Content<'_>) -> u64 {
    let part = |part: &Part<'_>| match &part.kind {
        PartKind::Text(text) | PartKind::Compaction(ProviderCompaction::Readable(text)) => text.decode().len() as u64,
        PartKind::Result(inner) => content_bytes(inner),
        _ => 0,
    };
    match content {
        Content::Text(text) => text.decode().len() as u64,
        Content::Parts(parts) => parts.iter().map(part).sum(),
    }
}
