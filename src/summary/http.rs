//! Sending a request until it is answered, or until trying again makes no sense.
//!
//! The client is built for the first request and never for less: making it costs more than everything a dry run does.
//! Redirects are not followed, so a key goes nowhere but to the address it is meant for.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::io::Read;
use std::thread;
use std::time::Duration;

use reqwest::blocking::{Client, Response};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use serde_json::Value;

use super::shown;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// Bytes of an answer that are read; a summary has a few thousand.
const LARGEST_ANSWER: u64 = 16 << 20;
/// Characters of a provider's error that are shown.
const SHOWN: usize = 300;

/// A key. It prints as nothing.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// Takes a key, without the white space around it that a file or a copy may have brought along.
    pub fn new(key: &str) -> Self {
        Secret(key.trim().to_owned())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("[key]")
    }
}

/// How requests are sent.
#[derive(Debug, Clone, Copy)]
pub struct Wire {
    /// How long one request may take as a whole.
    pub timeout: Duration,
    /// How often one is tried again.
    pub retries: u32,
}

/// Why one attempt failed.
struct Failed {
    message: String,
    /// Whether another attempt may go better, and how long the server asks to wait before it.
    again: Option<Option<Duration>>,
}

impl Wire {
    /// Posts a JSON body and gives the body of the answer.
    ///
    /// # Errors
    /// The last attempt's error; the key is not in it, even where the server repeats it.
    pub fn post(&self, url: &str, key: Option<&Secret>, body: &Value) -> Result<String, String> {
        let hidden = |message: String| match key {
            Some(Secret(key)) if !key.is_empty() => message.replace(key, "[key]"),
            _ => message,
        };
        let client = self.client().map_err(hidden)?;
        let mut tried = 0;
        loop {
            match attempt(&client, url, key, body) {
                Ok(answer) => return Ok(answer),
                Err(Failed { message, again: Some(asked) }) if tried < self.retries => {
                    let _ = message;
                    tried += 1;
                    thread::sleep(asked.unwrap_or_else(|| backoff(tried)).min(LONGEST_WAIT));
                }
                Err(Failed { message, .. }) => {
                    let after = if tried > 0 { format!(" (tried {} times)", tried + 1) } else { String::new() };
                    return Err(hidden(format!("{message}{after}")));
                }
            }
        }
    }

    fn client(&self) -> Result<Client, String> {
        // Fails only where a provider is installed already, and then there is one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        Client::builder()
            .timeout(self.timeout)
            .connect_timeout(CONNECT_TIMEOUT.min(self.timeout))
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("tcompact/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| format!("no connection could be set up: {}", causes(&error)))
    }
}

fn attempt(client: &Client, url: &str, key: Option<&Secret>, body: &Value) -> Result<String, Failed> {
    let mut request = client.post(url).header(CONTENT_TYPE, "application/json").body(body.to_string());
    if let Some(Secret(key)) = key {
        let mut value = HeaderValue::from_str(&format!("Bearer {key}")).map_err(|_| Failed {
            message: "the key has characters that no header can carry".to_owned(),
            again: None,
        })?;
        value.set_sensitive(true);
        request = request.header(AUTHORIZATION, value);
    }
    let unsent = |error: reqwest::Error| Failed {
        message: format!("no answer from {url}: {}", causes(&error)),
        again: Some(None),
    };
    let answer = request.send().map_err(|error| match error.is_builder() {
        true => Failed { message: format!("{url} is no address: {}", causes(&error)), again: None },
        false => unsent(error),
    })?;
    let status = answer.status();
    let asked = retry_after(&answer);
    let body = read(answer)
        .map_err(|what| Failed { message: format!("no whole answer from {url}: {what}"), again: Some(None) })?;
    if status.is_success() {
        return Ok(body);
    }
    let again = matches!(status.as_u16(), 408 | 409 | 429 | 500..=599).then_some(asked);
    Err(Failed { message: format!("{url} answered {status}{}", said(&body)), again })
}

fn read(answer: Response) -> Result<String, String> {
    let mut body = Vec::new();
    answer.take(LARGEST_ANSWER + 1).read_to_end(&mut body).map_err(|error| causes(&error))?;
    if body.len() as u64 > LARGEST_ANSWER {
        return Err(format!("it has more than {LARGEST_ANSWER} bytes"));
    }
    Ok(String::from_utf8_lossy(&body).into_owned())
}

/// The wait a server asks for, in seconds.
fn retry_after(answer: &Response) -> Option<Duration> {
    let seconds: u64 = answer.headers().get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// Twice as long each time, and a little more or less, so that clients that failed together do not come back together.
fn backoff(tried: u32) -> Duration {
    let doubled = FIRST_WAIT.saturating_mul(2u32.saturating_pow(tried - 1)).min(LONGEST_WAIT);
    let jitter = RandomState::new().hash_one(tried) % 512;
    doubled.mul_f64(0.75 + jitter as f64 / 1024.0)
}

/// What a provider says in the body of an error: its message where it has one, and always short.
fn said(body: &str) -> String {
    let message = serde_json::from_str::<Value>(body).ok().and_then(|value| {
        let error = value.get("error").unwrap_or(&value);
        error.get("message").or(Some(error)).and_then(Value::as_str).map(str::to_owned)
    });
    let text = shown(message.as_deref().unwrap_or(body).trim(), SHOWN);
    if text.is_empty() { String::new() } else { format!(": {text}") }
}

/// An error with what caused it, outermost first.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let more = next.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = next.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_does_not_print() {
        assert_eq!(format!("{:?}", Secret::new("sk-live")), "[key]");
    }

    #[test]
    fn waits_grow_and_are_bounded() {
        for tried in 1..40 {
            let wait = backoff(tried);
            let doubled = FIRST_WAIT.saturating_mul(2u32.saturating_pow(tried - 1)).min(LONGEST_WAIT);
            assert!(wait >= doubled.mul_f64(0.75) && wait <= doubled.mul_f64(1.25), "{tried}: {wait:?}");
        }
    }

    #[test]
    fn errors_are_shown_short_and_clean() {
        assert_eq!(said(r#"{"error":{"message":"no \u001b[31mquota","code":1}}"#), ": no [31mquota");
        assert_eq!(said(r#"{"message":"flat"}"#), ": flat");
        assert_eq!(said(r#"{"error":"text"}"#), ": text");
        assert_eq!(said(""), "");
        assert!(said(&"x".repeat(10_000)).chars().count() <= SHOWN + 3);
    }
}
