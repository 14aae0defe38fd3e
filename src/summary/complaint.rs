//! What a server says when it does not answer: in its own words for people, and what kind of failure it is.

use std::borrow::Cow;
use std::time::{Duration, SystemTime};

use reqwest::StatusCode;

use super::attempts::Kind;
use super::provider::parsed;
use super::recipe::Persistence;
use super::secret::Secret;
use super::shown;
use crate::transcript::json::{self, Json};

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
const TOO_LONG: [&str; 21] = [
    "exceed context limit",                    // Anthropic, with the length of the answer
    "request_too_large",                       // Anthropic
    "input token count",                       // Gemini
    "exceed_context_size_error",               // llama.cpp
    "exceeds the context length",              // Ollama
    "prompt too long; exceeded",               // Ollama
    "longer than the maximum model length",    // vLLM
    "maximum model length",                    // vLLM
    "reduce the length of the",                // Groq, vLLM
    "maximum prompt length",                   // xAI
    "too large for model with",                // Mistral
    "input is too long",                       // Bedrock
    "too many tokens",                         // Bedrock, Cohere
    "range of input length should be",         // DashScope
    "`inputs` tokens + `max_new_tokens` must", // Together, text-generation-inference
    "greater than the context length",         // LM Studio
    "context length exceeded",                 // DeepSeek, Fireworks
    "exceeded model token limit",              // Kimi
    "context window exceeds limit",            // MiniMax
    "string_above_max_length",                 // OpenAI
    "requested tokens exceed context window",  // llama-cpp-python
];

/// What a request is told that no minute would have room for.
const TOO_MUCH_FOR_A_MINUTE: [&str; 1] = ["request too large for"]; // OpenAI, Groq

/// What kind of failure a status other than 2xx is, with the body that came along.
pub(super) fn kind(status: StatusCode, body: &str, persistence: Persistence) -> Kind {
    match status.as_u16() {
        400 | 413 | 422 if says_too_long(body, &TOO_LONG_FOR_LANGCHAIN) => Kind::TooLong,
        413 if persistence == Persistence::Own => Kind::TooLong,
        429 if persistence == Persistence::Own && says_too_long(body, &TOO_MUCH_FOR_A_MINUTE) => Kind::TooLong,
        400 | 422 | 500 if persistence == Persistence::Own && says_all_too_long(body) => Kind::TooLong,
        408 | 409 | 429 | 500..=599 => Kind::Passing,
        400 | 401 | 403 | 404 => Kind::Lasting,
        _ => Kind::Odd,
    }
}

/// What kind of failure an answer of status 2xx is that has an error in its body: some gateways send what another server
/// said under a status of their own.
pub(super) fn kind_of_answer(body: &str, persistence: Persistence) -> Kind {
    let answer = parsed(body);
    let Some(error) = answer.as_ref().and_then(|answer| answer.first()?.get("error")) else { return Kind::Odd };
    let code = error.get("code").or_else(|| error.get("status"));
    let status = code.and_then(|code| code.raw().trim_matches('"').parse().ok());
    let status = status.and_then(|code| StatusCode::from_u16(code).ok()).filter(|status| !status.is_success());
    let named = |name: &str| ["type", "code"].iter().any(|key| error.get_text(key).is_some_and(|text| text.is(name)));
    if ["overloaded_error", "rate_limit_error", "api_error", "server_error"].into_iter().any(named) {
        return Kind::Passing;
    }
    match status {
        Some(status) => kind(status, body, persistence),
        None if says_all_too_long(body) && persistence == Persistence::Own => Kind::TooLong,
        None => Kind::Odd,
    }
}

fn says_all_too_long(body: &str) -> bool {
    says_too_long(body, &TOO_LONG_FOR_LANGCHAIN) || says_too_long(body, &TOO_LONG)
}

fn says_too_long(body: &str, words: &[&str]) -> bool {
    let body = body.to_lowercase();
    words.iter().any(|words| body.contains(words))
}

/// The wait that a server asks for: in `Retry-After` as seconds or as a date, or in the details of Google's errors.
pub(super) fn asked_wait(header: Option<&str>, body: &str, now: SystemTime) -> Option<Duration> {
    header.and_then(|header| of_header(header.trim(), now)).or_else(|| of_details(body))
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
    let details = answer.first()?.at(&["error", "details"]).filter(|details| details.kind() == json::Kind::Array)?;
    let delay = details.items().find_map(|detail| detail.get_text("retryDelay"))?;
    Duration::try_from_secs_f64(delay.decode().strip_suffix('s')?.parse().ok()?).ok()
}

/// What a provider says in the body of an error: its message where it has one, without the key, and always short.
pub(super) fn said(body: &str, key: Option<&Secret>) -> String {
    let answer = parsed(body);
    let text = match answer.as_ref().and_then(|answer| answer.first()).and_then(message) {
        Some(message) => message,
        None => Cow::Borrowed(title(body).unwrap_or(body)),
    };
    // Only now: the key may be spelled with escapes in JSON, and half of it be left where the text is clipped.
    let text = shown(key.map_or_else(|| text.to_string(), |key| key.mask(&text)).trim(), SHOWN);
    if text.is_empty() { String::new() } else { format!(": {text}") }
}

/// The message of an error, wherever it stands; of a list of complaints, the first.
fn message(answer: Json<'_>) -> Option<Cow<'_, str>> {
    let error = ["error", "detail", "errors"].iter().find_map(|key| answer.get(key)).unwrap_or(answer);
    let error = if error.kind() == json::Kind::Array { error.items().next()? } else { error };
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

    fn kind_of(status: u16, body: &str) -> Kind {
        kind(StatusCode::from_u16(status).expect("a status"), body, Persistence::Own)
    }

    #[test]
    fn statuses() {
        for status in [408, 409, 429, 500, 502, 503, 504, 529] {
            assert_eq!(kind_of(status, ""), Kind::Passing, "{status}");
        }
        for status in [400, 401, 403, 404] {
            assert_eq!(kind_of(status, ""), Kind::Lasting, "{status}");
        }
        assert_eq!(kind_of(413, ""), Kind::TooLong);
        assert_eq!(kind_of(302, ""), Kind::Odd);
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
        ] {
            assert_eq!(kind_of(status, body), Kind::TooLong, "{status} {body}");
        }
        assert_eq!(kind_of(429, "Rate limit reached"), Kind::Passing);
        assert_eq!(kind_of(429, "Too many tokens, please wait before trying again."), Kind::Passing, "of a minute");
        let gemini = "The input token count (9) exceeds the maximum number of tokens allowed (8).";
        assert_eq!(kind(StatusCode::BAD_REQUEST, gemini, Persistence::LangChain), Kind::Lasting, "as LangChain has it");
    }

    #[test]
    fn errors_under_a_good_status() {
        let kind = |body: &str| kind_of_answer(body, Persistence::Own);
        assert_eq!(kind(r#"{"error":{"code":502,"message":"Provider returned error"}}"#), Kind::Passing);
        assert_eq!(kind(r#"{"error":{"type":"overloaded_error"}}"#), Kind::Passing);
        assert_eq!(kind(r#"{"error":{"code":401}}"#), Kind::Lasting);
        assert_eq!(kind(r#"{"error":{"message":"maximum context length"}}"#), Kind::TooLong);
        assert_eq!(kind(r#"{"error":{"code":200}}"#), Kind::Odd);
        assert_eq!(kind("<html>"), Kind::Odd);
    }

    #[test]
    fn waits() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        let wait = |header: &str| asked_wait(Some(header), "", now);
        assert_eq!(wait("7"), Some(Duration::from_secs(7)));
        assert_eq!(wait("0.25"), Some(Duration::from_millis(250)));
        assert_eq!(wait("Sun, 06 Nov 1994 08:49:40 GMT"), Some(Duration::from_secs(3)));
        assert_eq!(wait("Sun, 06 Nov 1994 08:49:00 GMT"), None);
        for nonsense in ["-1", "soon", "", "NaN", "1e300"] {
            assert_eq!(wait(nonsense), None, "{nonsense}");
        }
        let google = r#"{"error":{"details":[{"@type":"x"},{"retryDelay":"34.5s"}]}}"#;
        assert_eq!(asked_wait(None, google, now), Some(Duration::from_millis(34_500)));
        assert_eq!(asked_wait(Some("1"), google, now), Some(Duration::from_secs(1)));
    }

    #[test]
    fn errors_are_shown_short_and_clean() {
        for (body, text) in [
            (r#"{"error":{"message":"no \u001b[31mquota","code":1}}"#, ": no [31mquota"),
            (r#"{"message":"flat"}"#, ": flat"),
            (r#"{"error":"text"}"#, ": text"),
            (r#"{"detail":[{"loc":["body"],"msg":"Field required"}]}"#, ": Field required"),
            ("<html><head><title>502 Bad Gateway</title></head><body>…</body>", ": 502 Bad Gateway"),
            ("<!DOCTYPE html><body>", ": a page and not JSON"),
            ("plain", ": plain"),
            ("", ""),
        ] {
            assert_eq!(said(body, None), text);
        }
        assert!(said(&"x".repeat(10_000), None).chars().count() <= SHOWN + 3);
    }

    #[test]
    fn a_key_is_hidden_however_it_is_spelled() {
        let key = Secret::new("sk-alive").expect("a key");
        assert_eq!(said(r#"{"error":"bad \u0073k-alive"}"#, Some(&key)), ": bad [key]");
        let cut = r#"{"error":{"message":"\ud83d bad \u0073k-alive"}}"#;
        assert_eq!(
            said(cut, Some(&key)),
            ": \u{fffd} bad [key]",
            "half a surrogate does not keep it from being decoded"
        );
    }
}
