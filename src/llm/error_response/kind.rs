//! The kind of failure that an error response is, by its status and by the words of each provider.

use reqwest::StatusCode;

use crate::llm::error_response::{contains_any, error_in, google_retry_delay, is_page, root};
use crate::presets::recipe::Persistence;
use crate::summary::exchange::FailureKind;
use crate::transcript::json::Json;
use crate::transcript::source::Source;

/// The words by which `LangChain` recognizes a request that is longer than the model's window.
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

/// Further words for the same, each with the providers that use them.
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

/// The stop reason of Anthropic's newer models when their window is full.
pub(in crate::llm) const FULL_WINDOW: &str = "model_context_window_exceeded";

/// Words for too many requests or tokens in a time. They can mention tokens, like a request that is too long.
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

/// Words for a request that exceeds the tokens of a whole minute.
const TOO_MUCH_FOR_A_MINUTE: &str = "request too large for"; // OpenAI, Groq

/// Words for a budget or quota that is used up. Waiting does not help.
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
/// The code of z.ai for the same.
const USED_UP_CODE: &str = "1308";

/// The kind of failure for a status other than 2xx and its body.
pub(in crate::llm) fn failure_kind(status: StatusCode, body: &str, persistence: Persistence) -> FailureKind {
    let text = body.to_lowercase();
    let own = persistence == Persistence::Own;
    match status.as_u16() {
        402 => FailureKind::Quota,
        400 | 403 | 429 if is_used_up(&text, body) => FailureKind::Quota,
        413 | 429 if own && text.contains(TOO_MUCH_FOR_A_MINUTE) && fits_a_minute(&text) => FailureKind::RateLimited,
        413 | 429 if own && text.contains(TOO_MUCH_FOR_A_MINUTE) => FailureKind::TooLong,
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

/// The kind of failure for a response with status 2xx and an error in its body. Some gateways forward another server's
/// error like this.
pub(in crate::llm) fn kind_of_answer(body: &str, persistence: Persistence) -> FailureKind {
    if is_page(body) {
        // The address is one for people.
        return FailureKind::NotFound;
    }
    let Ok(source) = Source::of(body) else { return FailureKind::Odd };
    let Some(answer) = root(&source) else { return FailureKind::Odd };
    if answer.member_is("stop_reason", FULL_WINDOW) {
        return FailureKind::TooLong;
    }
    let Some(error) = error_in(answer) else { return FailureKind::Odd };
    if is_called(error, "rate_limit_error") {
        return FailureKind::RateLimited;
    }
    if ["overloaded_error", "api_error", "server_error"].iter().any(|name| is_called(error, name)) {
        return FailureKind::Trouble;
    }
    if let Some(status) = status_in(error) {
        return failure_kind(status, body, persistence);
    }
    let text = body.to_lowercase();
    if is_used_up(&text, body) {
        FailureKind::Quota
    } else if is_too_long(&text) && persistence == Persistence::Own {
        FailureKind::TooLong
    } else {
        FailureKind::Odd
    }
}

/// Whether an error has this type or code.
fn is_called(error: Json<'_>, name: &str) -> bool {
    error.member_is("type", name) || error.member_is("code", name)
}

/// The status of a failure that an error names.
fn status_in(error: Json<'_>) -> Option<StatusCode> {
    let code = error.get("code").or_else(|| error.get("status"))?;
    let status = StatusCode::from_u16(code.raw().trim_matches('"').parse().ok()?).ok()?;
    if status.is_success() { None } else { Some(status) }
}

fn is_too_long(text: &str) -> bool {
    let words = contains_any(text, &TOO_LONG_FOR_LANGCHAIN) || contains_any(text, &TOO_LONG);
    words && !contains_any(text, &TOO_OFTEN)
}

/// Whether a budget or quota is used up. Google uses the same words for the quota of a minute, but then names a delay.
fn is_used_up(text: &str, body: &str) -> bool {
    let is_unpaid = text.contains("quota exceeded") && contains_any(text, &["billing", "payment", "credit"]);
    let is_used_up = is_unpaid || contains_any(text, &USED_UP) || has_code_of_used_up(body);
    is_used_up && google_retry_delay(body).is_none()
}

/// Whether the error in a body has z.ai's code for a quota that is used up.
fn has_code_of_used_up(body: &str) -> bool {
    let Ok(source) = Source::of(body) else { return false };
    let Some(error) = root(&source).and_then(error_in) else { return false };
    error.get("code").is_some_and(|code| code.raw().trim_matches('"') == USED_UP_CODE)
}

/// Whether a request that was too large for the rest of a minute fits a whole minute, by `Limit` and `Requested`.
fn fits_a_minute(text: &str) -> bool {
    match (number_behind(text, "limit"), number_behind(text, "requested")) {
        (Some(limit), Some(requested)) => requested <= limit,
        _ => false,
    }
}

/// The first number that follows a word.
fn number_behind(text: &str, word: &str) -> Option<u64> {
    for (at, _) in text.match_indices(word) {
        let behind = text[at + word.len()..].trim_start();
        let end = behind.find(|c: char| !c.is_ascii_digit()).unwrap_or(behind.len());
        if let Ok(number) = behind[..end].parse() {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::error_response::server_message;

    fn kind_of(status: u16, body: &str) -> FailureKind {
        failure_kind(StatusCode::from_u16(status).expect("a status"), body, Persistence::Own)
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
            failure_kind(StatusCode::BAD_REQUEST, gemini, Persistence::LangChain),
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
        assert_eq!(kind("<html>"), FailureKind::NotFound);
    }
}
