//! What a server says when it does not answer: in its own words for people, and what kind of failure it is. Nothing else
//! reads these words.

pub(super) mod parameter;
pub(super) mod window;

use std::borrow::Cow;
use std::time::{Duration, SystemTime};

use reqwest::StatusCode;

use crate::llm::body::parsed;
use crate::llm::secret::Secret;
use crate::summary::exchange::FailureKind;
use crate::summary::exchange::shown;
use crate::summary::recipe::Persistence;
use crate::transcript::json::{self, Json};
use crate::transcript::source::Source;

/// Characters of a provider's error that are shown.
const SHOWN: usize = 300;

/// How `LangChain` knows that a request is longer than the model can read.
const TOO_LONG_FOR_LANGCHAIN: [&str; 9] = [
    "context_length_exceeded",
    "contextwindowexceedederror",
    "maximum context length",
    "exceeds the context window",
    "exceeds the available context size",
    "context window exceeded",
    "context limit exceeded",
    "input tokens exceed the configured limit",
    "prompt is too long",
];

/// Further words for the same, each with whose they are.
const TOO_LONG: [&str; 28] = [
    "exceed context limit",                    // Anthropic, with the length of the answer
    "request_too_large",                       // Anthropic
    FULL_WINDOW,                               // Anthropic
    "input token count",                       // Gemini
    "exceed_context_size_error",               // llama.cpp
    "exceeds the context length",              // Ollama
    "prompt too long",                         // Ollama and others
    "longer than the maximum model length",    // vLLM
    "maximum model length",                    // vLLM
    "reduce the length of the",                // Groq, vLLM
    "maximum prompt length",                   // xAI
    "too large for model with",                // Mistral
    "input is too long",                       // Bedrock
    "too many tokens",                         // Bedrock, Cohere
    "range of input length should be",         // DashScope
    "`inputs` tokens + `max_new_tokens` must", // Together, text-generation-inference
    "longer than the model's context length",  // Together
    "greater than the context length",         // LM Studio
    "context length exceeded",                 // DeepSeek, Fireworks
    "exceeded model token limit",              // Kimi
    "context window exceeds limit",            // MiniMax
    "string_above_max_length",                 // OpenAI
    "requested tokens exceed context window",  // llama-cpp-python
    "tokens exceeds max length",               // z.ai
    "exceeds the maximum allowed input length of",
    "prompt token count of", // Copilot
    "but the configured context size is",
    "token limit exceeded",
];

/// How Anthropic's newer models stop whose window is full.
pub(super) const FULL_WINDOW: &str = "model_context_window_exceeded";

/// Words for having asked too much in too little time, which may speak of tokens as well.
const TOO_OFTEN: [&str; 16] = [
    "rate limit",
    "rate_limit",
    "rate-limit",
    "ratelimit",
    "too many requests",
    "per min",
    "per-min",
    "tokens/min",
    "requests/min",
    "per hour",
    "per-hour",
    "per day",
    "per-day",
    "throttling", // Bedrock
    "before trying again",
    "service unavailable:",
];

/// What a request is told that no minute would have room for.
const TOO_MUCH_FOR_A_MINUTE: [&str; 1] = ["request too large for"]; // OpenAI, Groq

/// Words for money or a share that is used up, which no waiting brings back.
const USED_UP: [&str; 15] = [
    "insufficient_quota",          // OpenAI
    "exceeded your current quota", // OpenAI
    "check your plan and billing", // OpenAI
    "billing_hard_limit_reached",  // OpenAI
    "billing hard limit",          // OpenAI
    "credit balance is too low",   // Anthropic
    "insufficient balance",        // DeepSeek, z.ai
    "insufficient credit",         // OpenRouter, Together
    "requires more credits",       // OpenRouter
    "out of credits",              // OpenRouter
    "monthly usage limit reached", // OpenCode
    "gousagelimiterror",           // OpenCode
    "freeusagelimiterror",         // OpenCode
    "used all available credits",  // xAI
    "monthly spending limit",      // xAI
];
/// Codes for the same.
const USED_UP_CODES: [&str; 1] = ["1308"]; // z.ai

/// What kind of failure a status other than 2xx is, with the body that came along.
pub(super) fn kind(status: StatusCode, body: &str, persistence: Persistence) -> FailureKind {
    let text = body.to_lowercase();
    let own = persistence == Persistence::Own;
    match status.as_u16() {
        402 => FailureKind::Quota,
        400 | 403 | 429 if is_used_up(&text, body) => FailureKind::Quota,
        413 | 429 if own && contains_any(&text, &TOO_MUCH_FOR_A_MINUTE) => match fits_a_minute(&text) {
            true => FailureKind::RateLimited,
            false => FailureKind::TooLong,
        },
        400 | 413 | 422 if own && contains_any(&text, &TOO_OFTEN) => FailureKind::RateLimited,
        400 | 413 | 422 if contains_any(&text, &TOO_LONG_FOR_LANGCHAIN) => FailureKind::TooLong,
        413 if own => FailureKind::TooLong,
        400 | 422 | 500 if own && is_too_long(&text) => FailureKind::TooLong,
        429 => FailureKind::RateLimited,
        408 | 409 | 500..=599 => FailureKind::Trouble,
        401 => FailureKind::Unauthorized,
        403 => FailureKind::Forbidden,
        404 => FailureKind::NotFound,
        400 => FailureKind::BadRequest,
        422 if own => FailureKind::BadRequest,
        _ => FailureKind::Odd,
    }
}

/// What kind of failure an answer of status 2xx is that has an error in its body: some gateways send what another server
/// said under a status of their own.
pub(super) fn kind_of_answer(body: &str, persistence: Persistence) -> FailureKind {
    let answer = parsed(body);
    let stop = answer.as_ref().and_then(|answer| root(answer)?.get_text("stop_reason"));
    if stop.is_some_and(|stop| stop.is(FULL_WINDOW)) {
        return FailureKind::TooLong;
    }
    let Some(error) = answer.as_ref().and_then(|answer| error_in(root(answer)?)) else { return FailureKind::Odd };
    let code = error.get("code").or_else(|| error.get("status"));
    let status = code.and_then(|code| code.raw().trim_matches('"').parse().ok());
    let status = status.and_then(|code| StatusCode::from_u16(code).ok()).filter(|status| !status.is_success());
    let named = |name: &str| ["type", "code"].iter().any(|key| error.get_text(key).is_some_and(|text| text.is(name)));
    if named("rate_limit_error") {
        return FailureKind::RateLimited;
    }
    if ["overloaded_error", "api_error", "server_error"].into_iter().any(named) {
        return FailureKind::Trouble;
    }
    let text = body.to_lowercase();
    match status {
        Some(status) => kind(status, body, persistence),
        None if is_used_up(&text, body) => FailureKind::Quota,
        None if is_too_long(&text) && persistence == Persistence::Own => FailureKind::TooLong,
        None => FailureKind::Odd,
    }
}

/// The object of an answer. Google's path for OpenAI's clients puts errors into a list.
fn root<'j>(answer: &'j Source<'_>) -> Option<Json<'j>> {
    let root = answer.first()?;
    if root.kind() == json::Kind::Array { root.items().next() } else { Some(root) }
}

/// The error in an answer, at its root or in the place of a choice.
fn error_in(answer: Json<'_>) -> Option<Json<'_>> {
    let choice = || answer.get("choices").filter(|choices| choices.kind() == json::Kind::Array)?.items().next();
    answer.get("error").or_else(|| choice()?.get("error"))
}

fn is_too_long(text: &str) -> bool {
    let words = contains_any(text, &TOO_LONG_FOR_LANGCHAIN) || contains_any(text, &TOO_LONG);
    words && !contains_any(text, &TOO_OFTEN)
}

/// Whether money or a share is used up. Google says so of a minute as well, and then how long that takes.
fn is_used_up(text: &str, body: &str) -> bool {
    let coded = || {
        let answer = parsed(body);
        let code = answer.as_ref().and_then(|answer| error_in(root(answer)?)?.get("code"));
        code.is_some_and(|code| USED_UP_CODES.contains(&code.raw().trim_matches('"')))
    };
    let of_a_bill =
        || text.contains("quota exceeded") && ["billing", "payment", "credit"].iter().any(|word| text.contains(word));
    (contains_any(text, &USED_UP) || of_a_bill() || coded()) && of_details(body).is_none()
}

/// Whether a request that was too large for what is left of a minute would fit a whole one, as `Limit` and `Requested` say.
fn fits_a_minute(text: &str) -> bool {
    let number = |word: &str| {
        text.match_indices(word).find_map(|(at, _)| {
            let rest = text[at + word.len()..].trim_start();
            rest[..rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len()].parse::<u64>().ok()
        })
    };
    number("limit").zip(number("requested")).is_some_and(|(limit, requested)| requested <= limit)
}

fn contains_any(text: &str, words: &[&str]) -> bool {
    words.iter().any(|words| text.contains(words))
}

/// The wait that a server asks for: in `retry-after-ms`, in `retry-after` as seconds or as a date, or in the details of
/// Google's errors.
pub(super) fn asked_wait(
    milliseconds: Option<&str>,
    header: Option<&str>,
    body: &str,
    now: SystemTime,
) -> Option<Duration> {
    let milliseconds = milliseconds.and_then(|header| header.trim().parse::<f64>().ok());
    let exact = milliseconds.and_then(|milliseconds| Duration::try_from_secs_f64(milliseconds / 1000.0).ok());
    exact.or_else(|| of_header(header?.trim(), now)).or_else(|| of_details(body))
}

fn of_header(header: &str, now: SystemTime) -> Option<Duration> {
    match header.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        // A date that has passed says that a clock is wrong, and nothing else.
        Err(_) => httpdate::parse_http_date(header).ok()?.duration_since(now).ok(),
    }
}

fn of_details(body: &str) -> Option<Duration> {
    let answer = parsed(body)?;
    let details = root(&answer)?.at(&["error", "details"]).filter(|details| details.kind() == json::Kind::Array)?;
    let delay = details.items().find_map(|detail| detail.get_text("retryDelay"))?;
    Duration::try_from_secs_f64(delay.decode().strip_suffix('s')?.parse().ok()?).ok()
}

/// What a provider says in the body of an error: its message where it has one, without the key, and always short.
pub(super) fn server_message(body: &str, key: Option<&Secret>) -> String {
    let answer = parsed(body);
    let text = match answer.as_ref().and_then(root).and_then(message) {
        Some(message) => message,
        None => Cow::Borrowed(title(body).unwrap_or(body)),
    };
    // Only now: the key may be spelled with escapes in JSON, and half of it be left where the text is clipped.
    let text = shown(key.map_or_else(|| text.to_string(), |key| key.mask(&text)).trim(), SHOWN);
    if text.is_empty() { String::new() } else { format!(": {text}") }
}

/// The message of an error, wherever it stands; of a list of complaints, the first.
fn message(answer: Json<'_>) -> Option<Cow<'_, str>> {
    let error = error_in(answer).or_else(|| ["detail", "errors"].iter().find_map(|key| answer.get(key)));
    let error = error.unwrap_or(answer);
    let error = if error.kind() == json::Kind::Array { error.items().next()? } else { error };
    // Mistral puts a list of complaints where others have a text.
    if let Some(inner) = error.get("message").filter(|inner| inner.kind() == json::Kind::Object) {
        return message(inner);
    }
    let text = error.text().or_else(|| ["message", "msg", "error"].iter().find_map(|key| error.get_text(key)))?;
    Some(text.decode())
}

/// The title of a page.
fn title(body: &str) -> Option<&str> {
    let page = body.trim_start().starts_with('<').then_some(body)?;
    let named = page.split_once("<title>").and_then(|(_, rest)| rest.split_once("</title>"));
    Some(named.map_or("a page and not JSON", |(title, _)| title))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind_of(status: u16, body: &str) -> FailureKind {
        kind(StatusCode::from_u16(status).expect("a status"), body, Persistence::Own)
    }

    #[test]
    fn statuses() {
        for status in [408, 409, 500, 502, 503, 504, 529] {
            assert_eq!(kind_of(status, ""), FailureKind::Trouble, "{status}");
        }
        for (status, kind) in [
            (400, FailureKind::BadRequest),
            (401, FailureKind::Unauthorized),
            (402, FailureKind::Quota),
            (403, FailureKind::Forbidden),
            (404, FailureKind::NotFound),
            (413, FailureKind::TooLong),
            (422, FailureKind::BadRequest),
            (429, FailureKind::RateLimited),
            (302, FailureKind::Odd),
        ] {
            assert_eq!(kind_of(status, ""), kind, "{status}");
        }
    }

    #[test]
    fn too_long_in_everybodys_words() {
        for (status, body) in [
            (400, "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens"),
            (400, r#"{"error":{"code":"context_length_exceeded"}}"#),
            (400, "Your input exceeds the context window of this model."),
            (400, "prompt is too long: 210000 tokens > 200000 maximum"),
            (400, "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"),
            (413, r#"{"error":{"type":"request_too_large"}}"#),
            (400, "The input token count (1290000) exceeds the maximum number of tokens allowed (1048576)."),
            (400, r#"{"error":{"code":400,"type":"exceed_context_size_error","n_prompt_tokens":12030,"n_ctx":8192}}"#),
            (500, "the request exceeds the available context size"),
            (400, r#"{"error":"the input length exceeds the context length"}"#),
            (400, "The decoder prompt (length 5000) is longer than the maximum model length of 4096."),
            (400, "Please reduce the length of the messages or completion."),
            (400, "This model's maximum prompt length is 131072 but the request contains 537812 tokens."),
            (
                400,
                "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
            ),
            (400, "Range of input length should be [1, 30720]"),
            (429, "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 40000."),
            (413, "Request too large for model `m` on tokens per minute (TPM): Limit 6000, Requested 7035"),
            (400, "Prompt too long: 9000 tokens"),
            (400, r#"{"error":{"code":"1261","message":"9000 tokens exceeds max length 8192"}}"#),
            (400, "The input (9000 tokens) is longer than the model's context length (8192 tokens)."),
            (400, "Input length 9000 exceeds the maximum allowed input length of 8192 tokens"),
            (400, r#"{"error":{"message":"prompt token count of 9000 exceeds the limit of 8192"}}"#),
            (400, "Prompt has 9000 tokens, but the configured context size is 8192 tokens"),
            (400, "Token limit exceeded"),
            (400, r#"{"error":{"type":"model_context_window_exceeded"}}"#),
            (
                400,
                r#"[{"error":{"code":400,"message":"The input token count (9) exceeds the maximum number of tokens allowed (8)."}}]"#,
            ),
        ] {
            assert_eq!(kind_of(status, body), FailureKind::TooLong, "{status} {body}");
        }
        let gemini = "The input token count (9) exceeds the maximum number of tokens allowed (8).";
        assert_eq!(
            kind(StatusCode::BAD_REQUEST, gemini, Persistence::LangChain),
            FailureKind::BadRequest,
            "as LangChain has it"
        );
    }

    #[test]
    fn too_often_is_not_too_long_though_it_speaks_of_tokens() {
        for (status, body) in [
            (429, "Rate limit reached"),
            (429, "Too many tokens, please wait before trying again."),
            (400, "ThrottlingException: Too many tokens, please wait before trying again."),
            (400, r#"{"error":{"code":"rate_limit_exceeded","message":"too many tokens"}}"#),
            (429, "This request would exceed the rate limit of 30,000 input tokens per minute; prompt is too long"),
            (400, "Throttling error: Too many tokens"),
            (413, "Tokens per minute limit: too many tokens"),
            (400, "Service unavailable: too many tokens"),
            (400, "Tokens-per-minute quota is exhausted: too many tokens"),
            (400, "You have exceeded your tokens/min allowance: token limit exceeded"),
            (413, "Per-day allowance: token limit exceeded"),
            (413, "Request too large for model `m` on tokens per minute (TPM): Limit 6000, Used 5000, Requested 2000"),
            (429, r#"{"code":"rate_limit_exceeded","message":"Request too large for m: Limit 6000, Requested 2000"}"#),
        ] {
            assert_eq!(kind_of(status, body), FailureKind::RateLimited, "{status} {body}");
        }
    }

    #[test]
    fn what_is_used_up_does_not_come_back() {
        for (status, body) in [
            (429, r#"{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}"#),
            (400, r#"{"error":{"message":"Your credit balance is too low to access the Anthropic API."}}"#),
            (402, r#"{"error":{"message":"Insufficient Balance"}}"#),
            (429, r#"{"error":{"code":"1308","message":"Usage limit reached for 5 hour"}}"#),
            (429, r#"{"type":"error","error":{"type":"GoUsageLimitError"}}"#),
            (403, "Monthly usage limit reached"),
            (429, "Quota exceeded: check your billing details"),
        ] {
            assert_eq!(kind_of(status, body), FailureKind::Quota, "{status} {body}");
        }
        let google = r#"{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","details":[{"retryDelay":"37s"}]}}"#;
        assert_eq!(kind_of(429, google), FailureKind::RateLimited, "of a minute");
        assert_eq!(kind_of(429, &format!("[{google}]")), FailureKind::RateLimited, "in a list");
        assert_eq!(kind_of(429, "Quota exceeded for requests"), FailureKind::RateLimited);
    }

    #[test]
    fn errors_under_a_good_status() {
        let kind = |body: &str| kind_of_answer(body, Persistence::Own);
        assert_eq!(kind(r#"{"error":{"code":502,"message":"Provider returned error"}}"#), FailureKind::Trouble);
        assert_eq!(kind(r#"{"error":{"type":"overloaded_error"}}"#), FailureKind::Trouble);
        assert_eq!(kind(r#"{"error":{"code":401}}"#), FailureKind::Unauthorized);
        assert_eq!(kind(r#"{"error":{"message":"maximum context length"}}"#), FailureKind::TooLong);
        let choice = r#"{"choices":[{"error":{"code":502,"message":"Provider returned error"}}]}"#;
        assert_eq!(
            (kind(choice), server_message(choice, None).as_str()),
            (FailureKind::Trouble, ": Provider returned error")
        );
        assert_eq!(kind(r#"[{"error":{"code":503,"message":"busy"}}]"#), FailureKind::Trouble);
        assert_eq!(kind(r#"{"content":[],"stop_reason":"model_context_window_exceeded"}"#), FailureKind::TooLong);
        assert_eq!(kind(r#"{"error":{"code":200}}"#), FailureKind::Odd);
        assert_eq!(kind("<html>"), FailureKind::Odd);
    }

    #[test]
    fn waits() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        let wait = |header: &str| asked_wait(None, Some(header), "", now);
        assert_eq!(wait("7"), Some(Duration::from_secs(7)));
        assert_eq!(wait("0.25"), Some(Duration::from_millis(250)));
        assert_eq!(wait("Sun, 06 Nov 1994 08:49:40 GMT"), Some(Duration::from_secs(3)));
        assert_eq!(wait("Sun, 06 Nov 1994 08:49:00 GMT"), None);
        for nonsense in ["-1", "soon", "", "NaN", "1e300"] {
            assert_eq!(wait(nonsense), None, "{nonsense}");
        }
        let google = r#"{"error":{"details":[{"@type":"x"},{"retryDelay":"34.5s"}]}}"#;
        assert_eq!(asked_wait(None, None, google, now), Some(Duration::from_millis(34_500)));
        assert_eq!(asked_wait(None, None, &format!("[{google}]"), now), Some(Duration::from_millis(34_500)));
        assert_eq!(asked_wait(None, Some("1"), google, now), Some(Duration::from_secs(1)));
        assert_eq!(asked_wait(Some("1500.5"), Some("9"), "", now), Some(Duration::from_micros(1_500_500)));
        for nonsense in ["-1", "", "NaN", "soon", "1e300"] {
            assert_eq!(asked_wait(Some(nonsense), Some("9"), "", now), Some(Duration::from_secs(9)), "{nonsense}");
        }
    }

    #[test]
    fn errors_are_shown_short_and_clean() {
        for (body, text) in [
            (r#"{"error":{"message":"no \u001b[31mquota","code":1}}"#, ": no [31mquota"),
            (r#"{"message":"flat"}"#, ": flat"),
            (r#"{"error":"text"}"#, ": text"),
            (r#"{"detail":[{"loc":["body"],"msg":"Field required"}]}"#, ": Field required"),
            (r#"{"object":"error","message":{"detail":[{"msg":"Field required"}]},"type":"x"}"#, ": Field required"),
            (r#"[{"error":{"code":400,"message":"in a list"}}]"#, ": in a list"),
            ("<html><head><title>502 Bad Gateway</title></head><body>…</body>", ": 502 Bad Gateway"),
            ("<!DOCTYPE html><body>", ": a page and not JSON"),
            ("plain", ": plain"),
            ("", ""),
        ] {
            assert_eq!(server_message(body, None), text);
        }
        assert!(server_message(&"x".repeat(10_000), None).chars().count() <= SHOWN + 3);
    }

    #[test]
    fn a_key_is_hidden_however_it_is_spelled() {
        let key = Secret::new("sk-alive").expect("a key");
        assert_eq!(server_message(r#"{"error":"bad \u0073k-alive"}"#, Some(&key)), ": bad [key]");
        let cut = r#"{"error":{"message":"\ud83d bad \u0073k-alive"}}"#;
        assert_eq!(
            server_message(cut, Some(&key)),
            ": \u{fffd} bad [key]",
            "half a surrogate does not keep it from being decoded"
        );
    }
}
