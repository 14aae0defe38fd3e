//! The context window that a server names when it refuses a request as too long.

use std::sync::LazyLock;

use regex::Regex;

use crate::pattern::pattern;

/// Returns the window in tokens that a refusal names. It is the model's whole window or the limit of its input: a
/// request has to fit either.
pub(in crate::llm) fn named(body: &str) -> Option<u64> {
    // A smaller number is something else, and a larger one a mistake.
    const PLAUSIBLE: std::ops::RangeInclusive<u64> = 256..=100_000_000;
    let text = body.to_lowercase();
    let number = |found: regex::Captures<'_>| {
        found.get(1).or_else(|| found.get(2))?.as_str().replace([',', '_'], "").parse().ok()
    };
    NAMED.captures_iter(&text).filter_map(number).find(|window| PLAUSIBLE.contains(window))
}

static NAMED: LazyLock<Regex> = LazyLock::new(|| {
    const NUMBER: &str = r"(\d[\d,_]*)";
    let before = [
        r#""n_ctx"\s*:\s*"#,
        r"(?:maximum context|context|maximum model|model's context|maximum prompt|maximum allowed input|maximum input|max) (?:length|size|window)(?: is| of|:)? ?\(?",
        r"maximum number of (?:input )?tokens(?: allowed)?(?: is| of|:)? ?\(?",
        r"exceeds the limit of ",
        r"\d tokens > ",
        r"\d \+ \d+ > ",
        r"length should be \[\d+, ?",
    ];
    pattern(&format!(r"(?:{}){NUMBER}|{NUMBER} maximum context length", before.join("|")))
});

/// Builds the patterns of this file.
#[cfg(test)]
pub(crate) fn patterns() -> Vec<&'static Regex> {
    vec![&*NAMED]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_in_everybodys_words() {
        for (body, window) in [
            ("This model's maximum context length is 8192 tokens. However, you requested 9000 tokens", 8192),
            ("prompt is too long: 210000 tokens > 200000 maximum", 200_000),
            ("input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000", 200_000),
            ("The input token count (1290000) exceeds the maximum number of tokens allowed (1048576).", 1_048_576),
            (r#"{"error":{"type":"exceed_context_size_error","n_prompt_tokens":12030,"n_ctx":8192}}"#, 8192),
            ("request (2194 tokens) exceeds the available context size (2048 tokens), try increasing it", 2048),
            ("The decoder prompt (length 5000) is longer than the maximum model length of 4096.", 4096),
            ("This model's maximum prompt length is 131072 but the request contains 537812 tokens.", 131_072),
            ("Prompt contains 40000 tokens, too large for model with 32768 maximum context length", 32_768),
            ("Range of input length should be [1, 30720]", 30_720),
            (r#"{"message":"9000 tokens exceeds max length 8192"}"#, 8192),
            ("The input (9000 tokens) is longer than the model's context length (8192 tokens).", 8192),
            ("Input length 9000 exceeds the maximum allowed input length of 8,192 tokens", 8192),
            ("prompt token count of 9000 exceeds the limit of 8192", 8192),
            ("Prompt has 9000 tokens, but the configured context size is 8192 tokens", 8192),
        ] {
            assert_eq!(named(body), Some(window), "{body}");
        }
        for body in ["", "too long", "maximum context length is 7", "context length is 99999999999999999999999"] {
            assert_eq!(named(body), None, "{body}");
        }
    }
}
