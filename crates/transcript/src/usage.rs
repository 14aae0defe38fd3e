//! The tokens that a provider counted for a request, as programs record them beside the answer.

use crate::json::{Json, JsonKind, Object};
use crate::text::Text;

/// More tokens than any request has. A larger number is a mistake, or a sum over many requests.
const MOST: u64 = 100_000_000;

/// The tokens of a request and its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage<'a> {
    /// What the model read, from a cache or not.
    pub read: u64,
    pub written: u64,
    /// How much of that is reasoning.
    pub reasoning: u64,
    /// Whether it wrote no more. What is recorded while an answer streams is only its beginning.
    pub is_whole: bool,
    /// The id of the answer, where each of its parts repeats its usage.
    pub answer: Option<&'a str>,
}

/// What an entry beside the messages says of the size of the context.
#[derive(Debug, Clone, Copy)]
pub enum SizeNote<'a> {
    /// The usage of the answer before it.
    Usage(Usage<'a>),
    /// From here on the model reads less: what was recorded before no longer holds.
    Smaller,
}

/// Where a message has its usage.
#[derive(Debug)]
pub struct UsageAt {
    pub path: &'static [&'static str],
    /// Reads the value there.
    pub read: for<'a> fn(Json<'a>) -> Option<Usage<'a>>,
    /// The path to the id of the answer, where each of its parts repeats its usage.
    pub answer: Option<&'static [&'static str]>,
    /// The path to a text that is there once the answer is whole, where its parts are recorded while it streams.
    pub is_whole: Option<&'static [&'static str]>,
    /// Texts of answers whose usage does not count.
    pub except: &'static [(&'static [&'static str], &'static str)],
    /// The type of the parts of which an answer has several if its usage is a sum over several requests, which is no size.
    pub step: Option<&'static str>,
}

impl UsageAt {
    /// The usage of a provider at a path.
    pub(crate) const fn path(path: &'static [&'static str]) -> Self {
        UsageAt { path, read: |usage| Usage::of(usage), answer: None, is_whole: None, except: &[], step: None }
    }

    /// Reads the usage that a message has there.
    pub(crate) fn of<'a>(&self, message: Json<'a>) -> Option<Usage<'a>> {
        let usage = message.at(self.path)?;
        for (path, value) in self.except {
            if text_at(message, path).is_some_and(|text| text.is(value)) {
                return None;
            }
        }
        if let Some(step) = self.step
            && let Some(parts) = message.get("parts")
            && parts.items().filter(|part| part.member_is("type", step)).count() > 1
        {
            return None;
        }
        let mut usage = (self.read)(usage)?;
        if let Some(path) = self.answer {
            usage.answer = text_at(message, path).map(|id| id.raw());
        }
        if let Some(path) = self.is_whole {
            usage.is_whole = text_at(message, path).is_some();
        }
        Some(usage)
    }
}

fn text_at<'a>(message: Json<'a>, path: &[&str]) -> Option<Text<'a>> {
    message.at(path)?.text()
}

/// The names of the numbers of a usage.
#[derive(Debug)]
pub struct Names {
    /// What the model read.
    pub read: &'static str,
    /// What it read from a cache or wrote to it, where `read` does not contain that.
    pub cached: &'static [&'static str],
    /// What it wrote.
    pub written: &'static str,
    /// The sum of `read` and `written`, by which those who copied names of others show what contains what.
    pub total: &'static str,
}

const NAMES: [Names; 7] = [
    // Chat Completions and all who copy them: the prompt contains what was cached, the completion contains reasoning.
    Names { read: "prompt_tokens", cached: &[], written: "completion_tokens", total: "total_tokens" },
    // Anthropic counts what was cached beside the input, and so does Inspect for its models. OpenAI's Responses,
    // LangChain's own usage and pydantic-ai contain it in the input, and give it other names.
    Names {
        read: "input_tokens",
        cached: &[
            "cache_read_input_tokens",
            "cache_creation_input_tokens",
            "input_tokens_cache_read",
            "input_tokens_cache_write",
        ],
        written: "output_tokens",
        total: "total_tokens",
    },
    // Gemini's prompt contains what was cached. Its thoughts are counted beside the answer, and are not read again.
    Names { read: "promptTokenCount", cached: &[], written: "candidatesTokenCount", total: "totalTokenCount" },
    Names { read: "prompt_token_count", cached: &[], written: "candidates_token_count", total: "total_token_count" },
    // Bedrock counts what was cached beside the input; the AI SDK contains it, and has another name for it.
    Names {
        read: "inputTokens",
        cached: &["cacheReadInputTokens", "cacheWriteInputTokens"],
        written: "outputTokens",
        total: "totalTokens",
    },
    // pydantic-ai before its version 1.
    Names { read: "request_tokens", cached: &[], written: "response_tokens", total: "total_tokens" },
    // The AI SDK before its version 5, and LangChain for JavaScript.
    Names { read: "promptTokens", cached: &[], written: "completionTokens", total: "totalTokens" },
];

/// The paths to how much of an answer is reasoning.
const REASONING: [&[&str]; 8] = [
    &["completion_tokens_details", "reasoning_tokens"],
    &["output_tokens_details", "reasoning_tokens"],
    &["output_tokens_details", "thinking_tokens"],
    &["output_token_details", "reasoning"],
    &["outputTokenDetails", "reasoningTokens"],
    &["details", "reasoning_tokens"],
    &["reasoning_output_tokens"],
    &["reasoningTokens"],
];

impl<'a> Usage<'a> {
    /// Reads a usage as a provider writes it, or a program that copied its names. What is absurd is none.
    pub fn of(usage: Json<'a>) -> Option<Self> {
        let mut members = Object::of(usage);
        // Cohere has what it bills beside what it counted.
        if let Some(counted) = members.get("tokens")
            && counted.kind() == JsonKind::Object
        {
            members = Object::of(counted);
        }
        let names =
            NAMES.iter().find(|names| members.get(names.read).is_some_and(|read| read.kind() != JsonKind::Null))?;
        let sum = Usage::named(&members, names)?;
        // Anthropic's is a sum where the model was asked several times: tools of the provider, or a compaction.
        match members.get("iterations").and_then(|iterations| iterations.items().last()) {
            Some(last) if last.member_is("type", "compaction") => None,
            Some(last) => Usage::named(&Object::of(last), names),
            None => Some(sum),
        }
    }

    /// Reads a usage whose numbers have these names.
    pub fn named(usage: &Object<'a>, names: &Names) -> Option<Self> {
        let input = tokens(usage.get(names.read))?;
        let written = tokens(usage.get(names.written))?;
        let mut cached = 0;
        for key in names.cached {
            cached += tokens(usage.get(key))?;
        }
        let total = usage.get(names.total);
        let is_contained = cached <= input && total.is_some() && tokens(total)? == input + written;
        let read = if is_contained { input } else { input + cached };
        let reasoning = REASONING.iter().find_map(|path| usage.at(path)).and_then(tokens_in);
        Usage::possible(read, written, reasoning.unwrap_or(0))
    }

    /// The usage with these numbers, unless they are absurd.
    pub fn possible(read: u64, written: u64, reasoning: u64) -> Option<Self> {
        if read == 0 || read.saturating_add(written) > MOST {
            return None;
        }
        let reasoning = reasoning.min(written);
        Some(Usage { read, written, reasoning, is_whole: true, answer: None })
    }

    pub fn total(&self) -> u64 {
        self.read + self.written
    }
}

/// Reads a number of tokens; `None` if it is absurd. One that is missing or null is 0.
fn tokens(value: Option<Json<'_>>) -> Option<u64> {
    match value {
        Some(value) if value.kind() != JsonKind::Null => tokens_in(value),
        _ => Some(0),
    }
}

fn tokens_in(value: Json<'_>) -> Option<u64> {
    if value.kind() != JsonKind::Number {
        return None;
    }
    let tokens = value.raw().parse().ok()?;
    if tokens <= MOST { Some(tokens) } else { None }
}
