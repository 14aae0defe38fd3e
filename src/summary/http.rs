//! Sending a request until it is answered, or until trying again makes no sense.
//!
//! The client is built for the first request and never for less: making it costs more than everything a dry run does.
//! Redirects are not followed, so a key goes nowhere but to the address it is meant for.

use std::borrow::Cow;
use std::fmt;
use std::io::Read;
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use reqwest::blocking::{Client, Response};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use serde_json::Value;

use super::attempts::{Failed, Kind, Patience};
use super::{NoAnswer, shown};
use crate::transcript::syntax;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes of an answer that are read; a summary has a few thousand.
const LARGEST_ANSWER: usize = 16 << 20;
/// Characters of a provider's error that are shown.
const SHOWN: usize = 300;

/// A key. It prints as nothing.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// Takes a key, without the white space around it that a file or a copy may have brought along; nothing if it has
    /// characters that no header can carry.
    pub fn new(key: &str) -> Option<Self> {
        let key = key.trim();
        key.bytes().all(|byte| byte.is_ascii_graphic()).then(|| Secret(key.to_owned()))
    }

    /// A text without the key, where it repeats it.
    pub fn hidden_in(&self, text: &str) -> String {
        // What is shorter is a word for a server that wants any, and would be found in the middle of others.
        const SHORTEST: usize = 4;
        if self.0.len() < SHORTEST { text.to_owned() } else { text.replace(&self.0, "[key]") }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("[key]")
    }
}

/// How requests are sent, and the client that sends them once there is one.
#[derive(Debug)]
pub struct Wire {
    timeout: Duration,
    patience: Patience,
    client: OnceLock<Client>,
}

impl Wire {
    /// Requests that may take `timeout` each, tried again as `patience` says.
    pub fn new(timeout: Duration, patience: Patience) -> Self {
        Wire { timeout, patience, client: OnceLock::new() }
    }

    /// Posts a JSON body and gives what `reader` makes of the answer's body.
    ///
    /// # Errors
    /// The last attempt's error; the key is not in it, even where the server repeats it.
    pub fn post<T>(
        &self,
        url: &str,
        key: Option<&Secret>,
        body: &Value,
        reader: impl Fn(&str) -> Result<T, String>,
    ) -> Result<T, NoAnswer> {
        let client = match self.client.get() {
            Some(client) => client,
            None => {
                let client = self.build().map_err(|message| NoAnswer { message, too_long: false })?;
                self.client.get_or_init(|| client)
            }
        };
        let attempt = || {
            let answer = attempt(client, url, key, body, self.timeout)?;
            reader(&answer)
                .map_err(|what| failed(Kind::Odd, format!("{url} gave no summary: {what}{}", said(&answer, key))))
        };
        self.patience.persist(attempt, thread::sleep)
    }

    fn build(&self) -> Result<Client, String> {
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

fn attempt(
    client: &Client,
    url: &str,
    key: Option<&Secret>,
    body: &Value,
    timeout: Duration,
) -> Result<String, Failed> {
    let deadline = Instant::now() + timeout;
    let mut request = client.post(url).header(CONTENT_TYPE, "application/json").body(body.to_string());
    if let Some(Secret(key)) = key {
        let mut value = HeaderValue::from_str(&format!("Bearer {key}"))
            .map_err(|_| failed(Kind::Lasting, "the key has characters that no header can carry".to_owned()))?;
        value.set_sensitive(true);
        request = request.header(AUTHORIZATION, value);
    }
    let answer = request.send().map_err(|error| match error.is_builder() {
        true => failed(Kind::Lasting, format!("{url} is no address: {}", causes(&error))),
        false => failed(Kind::Passing, format!("no answer from {url}: {}", causes(&error))),
    })?;
    let status = answer.status();
    let asked = retry_after(&answer);
    let body = read(answer, url, deadline)?;
    if status.is_success() {
        return Ok(body);
    }
    let said = said(&body, key);
    let kind = match status.as_u16() {
        408 | 409 | 429 | 500..=599 => Kind::Passing,
        400 | 413 | 422 if says_too_long(&body) => Kind::TooLong,
        400 | 401 | 403 | 404 => Kind::Lasting,
        _ => Kind::Odd,
    };
    Err(Failed { asked, ..failed(kind, format!("{url} answered {status}{said}")) })
}

/// Whether an error says that the request is longer than the model can read, in the words of the providers.
fn says_too_long(body: &str) -> bool {
    const WORDS: [&str; 9] = [
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
    let body = body.to_lowercase();
    WORDS.iter().any(|words| body.contains(words))
}

fn failed(kind: Kind, message: String) -> Failed {
    Failed { message, kind, asked: None }
}

/// Reads a body. The client's own timeout is for each read, so that an answer in drops would never run into it.
fn read(mut answer: Response, url: &str, deadline: Instant) -> Result<String, Failed> {
    let failed = |kind: Kind, what: String| failed(kind, format!("no whole answer from {url}: {what}"));
    let mut body = Vec::new();
    let mut buffer = [0; 16 << 10];
    loop {
        let count = answer.read(&mut buffer).map_err(|error| failed(Kind::Passing, causes(&error)))?;
        body.extend_from_slice(&buffer[..count]);
        if count == 0 {
            return Ok(String::from_utf8_lossy(&body).into_owned());
        }
        if body.len() > LARGEST_ANSWER {
            // It was paid for once, and would be as large again.
            return Err(failed(Kind::Lasting, format!("it has more than {LARGEST_ANSWER} bytes")));
        }
        if Instant::now() > deadline {
            return Err(failed(Kind::Passing, "it took longer than --timeout".to_owned()));
        }
    }
}

/// The wait a server asks for, in seconds.
fn retry_after(answer: &Response) -> Option<Duration> {
    let seconds: f64 = answer.headers().get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// What a provider says in the body of an error: its message where it has one, without the key, and always short.
pub(super) fn said(body: &str, key: Option<&Secret>) -> String {
    let answer = syntax::values(body, 0).ok().and_then(|values| values.first().copied());
    let message = answer.and_then(|answer| {
        let error = answer.get("error").unwrap_or(answer);
        error.get("message").unwrap_or(error).text()
    });
    // Only now: the key may be spelled with escapes in JSON, and half of it be left where the text is clipped.
    let text = message.map_or(Cow::Borrowed(body), |message| message.decode());
    let text = shown(key.map_or_else(|| text.to_string(), |key| key.hidden_in(&text)).trim(), SHOWN);
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
        let key = Secret::new(" sk-live\n").expect("a key");
        assert_eq!(format!("{key:?}"), "[key]");
        assert_eq!(key.hidden_in("no sk-live here"), "no [key] here");
        assert!(Secret::new("two\nlines").is_none());
        assert_eq!(said(r#"{"error":"bad \u0073k-live"}"#, Some(&key)), ": bad [key]");
        let cut = r#"{"error":{"message":"\ud83d bad \u0073k-live"}}"#;
        assert_eq!(
            said(cut, Some(&key)),
            ": \u{fffd} bad [key]",
            "half a surrogate does not keep it from being decoded"
        );
    }

    #[test]
    fn errors_are_shown_short_and_clean() {
        assert_eq!(said(r#"{"error":{"message":"no \u001b[31mquota","code":1}}"#, None), ": no [31mquota");
        assert_eq!(said(r#"{"message":"flat"}"#, None), ": flat");
        assert_eq!(said(r#"{"error":"text"}"#, None), ": text");
        assert_eq!(said("", None), "");
        assert!(said(&"x".repeat(10_000), None).chars().count() <= SHOWN + 3);
    }
}
