//! Error responses of servers: the message for people, the kind of failure, the wait before a retry, and the context window
//! that a server names. No other module parses them.

mod kind;

use std::borrow::Cow;
use std::sync::LazyLock;
use std::time::{Duration, SystemTime};

use regex::Regex;

use crate::llm::secret::{Secret, masked};
use crate::pattern::pattern;
use crate::summary::exchange::shown;
use crate::transcript::json::{Json, JsonKind};
use crate::transcript::source::Source;

pub(super) use kind::{FULL_WINDOW, failure_kind, kind_of_answer};

/// The longest message of a provider that is shown, in characters.
const SHOWN: usize = 300;

/// The object of an answer. Google's endpoint for OpenAI's clients puts errors into a list.
fn root<'j>(answer: &'j Source<'_>) -> Option<Json<'j>> {
    let root = answer.first()?;
    if root.kind() == JsonKind::Array { root.items().next() } else { Some(root) }
}

/// The error in an answer: at its root, or in its first choice.
fn error_in(answer: Json<'_>) -> Option<Json<'_>> {
    answer.get("error").or_else(|| answer.get("choices")?.items().next()?.get("error"))
}

pub(super) fn contains_any(text: &str, words: &[&str]) -> bool {
    words.iter().any(|words| text.contains(words))
}

/// The wait that a server requests: in `retry-after-ms`, in `retry-after` as seconds or as a date, or in the details of
/// Google's errors.
pub(super) fn requested_wait(
    milliseconds: Option<&str>,
    header: Option<&str>,
    body: &str,
    now: SystemTime,
) -> Option<Duration> {
    if let Some(milliseconds) = milliseconds
        && let Ok(milliseconds) = milliseconds.trim().parse::<f64>()
        && let Ok(wait) = Duration::try_from_secs_f64(milliseconds / 1000.0)
    {
        return Some(wait);
    }
    if let Some(header) = header
        && let Some(wait) = retry_after(header.trim(), now)
    {
        return Some(wait);
    }
    google_retry_delay(body)
}

fn retry_after(header: &str, now: SystemTime) -> Option<Duration> {
    match header.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        // A date in the past only shows that a clock is wrong.
        Err(_) => httpdate::parse_http_date(header).ok()?.duration_since(now).ok(),
    }
}

fn google_retry_delay(body: &str) -> Option<Duration> {
    let answer = Source::of(body).ok()?;
    let mut details = root(&answer)?.at(&["error", "details"])?.items();
    let delay = details.find_map(|detail| detail.get_text("retryDelay"))?;
    Duration::try_from_secs_f64(delay.decode().strip_suffix('s')?.parse().ok()?).ok()
}

/// The message in the body of an error, or else the body. It is short and does not contain the key.
pub(super) fn server_message(body: &str, key: Option<&Secret>) -> String {
    let answer = Source::of(body).ok();
    let text = match answer.as_ref().and_then(root).and_then(message) {
        Some(message) => message,
        None => Cow::Borrowed(title(body).unwrap_or(body)),
    };
    // The key is masked after decoding, as JSON can spell it with escapes, and before clipping, which could leave half
    // of it.
    let text = shown(masked(key, &text).trim(), SHOWN);
    if text.is_empty() { String::new() } else { format!(": {text}") }
}

/// The message of an error, wherever it is; of a list of complaints, the first.
fn message(answer: Json<'_>) -> Option<Cow<'_, str>> {
    let mut error =
        error_in(answer).or_else(|| answer.get("detail")).or_else(|| answer.get("errors")).unwrap_or(answer);
    if error.kind() == JsonKind::Array {
        error = error.items().next()?;
    }
    // Mistral sends a list of complaints instead of a text.
    if let Some(inner) = error.get("message")
        && inner.kind() == JsonKind::Object
    {
        return message(inner);
    }
    if let Some(text) = error.text() {
        return Some(text.decode());
    }
    let text = ["message", "msg", "error"].iter().find_map(|key| error.get_text(key))?;
    Some(text.decode())
}

/// Whether an answer is an HTML page.
pub(in crate::llm) fn is_page(body: &str) -> bool {
    body.trim_start_matches('\u{feff}').trim_start().starts_with('<')
}

/// The title of an HTML page.
fn title(body: &str) -> Option<&str> {
    if !is_page(body) {
        return None;
    }
    if let Some((_, rest)) = body.split_once("<title>")
        && let Some((title, _)) = rest.split_once("</title>")
    {
        return Some(title);
    }
    Some("a web page")
}

/// The window in tokens that a refusal names. It is the model's whole window or the limit of its input: a request has
/// to fit either.
pub(super) fn named_window(body: &str) -> Option<u64> {
    // A smaller number is something else, and a larger one a mistake.
    const PLAUSIBLE: std::ops::RangeInclusive<u64> = 256..=100_000_000;
    for found in NAMED.captures_iter(&body.to_lowercase()) {
        let Some(number) = found.get(1).or(found.get(2)) else { continue };
        if let Ok(window) = number.as_str().replace([',', '_'], "").parse()
            && PLAUSIBLE.contains(&window)
        {
            return Some(window);
        }
    }
    None
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
    fn waits() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        let wait = |header: &str| requested_wait(None, Some(header), "", now);
        assert_eq!(wait("7"), Some(Duration::from_secs(7)));
        assert_eq!(wait("0.25"), Some(Duration::from_millis(250)));
        assert_eq!(wait("Sun, 06 Nov 1994 08:49:40 GMT"), Some(Duration::from_secs(3)));
        assert_eq!(wait("Sun, 06 Nov 1994 08:49:00 GMT"), None);
        for nonsense in ["-1", "soon", "", "NaN", "1e300"] {
            assert_eq!(wait(nonsense), None, "{nonsense}");
        }
        let google = r#"{"error":{"details":[{"@type":"x"},{"retryDelay":"34.5s"}]}}"#;
        assert_eq!(requested_wait(None, None, google, now), Some(Duration::from_millis(34_500)));
        assert_eq!(requested_wait(None, None, &format!("[{google}]"), now), Some(Duration::from_millis(34_500)));
        assert_eq!(requested_wait(None, Some("1"), google, now), Some(Duration::from_secs(1)));
        assert_eq!(requested_wait(Some("1500.5"), Some("9"), "", now), Some(Duration::from_micros(1_500_500)));
        for nonsense in ["-1", "", "NaN", "soon", "1e300"] {
            assert_eq!(requested_wait(Some(nonsense), Some("9"), "", now), Some(Duration::from_secs(9)), "{nonsense}");
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
            ("<!DOCTYPE html><body>", ": a web page"),
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
            assert_eq!(named_window(body), Some(window), "{body}");
        }
        for body in ["", "too long", "maximum context length is 7", "context length is 99999999999999999999999"] {
            assert_eq!(named_window(body), None, "{body}");
        }
    }
}
