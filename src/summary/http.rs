//! Sending a request until it is answered, or until trying again makes no sense.
//!
//! The client is built for the first request and never for less: making it costs more than everything a dry run does.
//! Redirects are not followed, so a key goes nowhere but to the address it is meant for. Proxies are those of the
//! environment.

use std::io::Read;
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use reqwest::blocking::{Client, Response};
use reqwest::header::{DATE, HeaderMap, LOCATION, RETRY_AFTER};
use serde_json::Value;

use super::attempts::{Failed, Kind, Patience};
use super::complaint::{asked_wait, kind, kind_of_answer, said};
use super::pace::Pace;
use super::provider::Endpoint;
use super::{Bill, NoAnswer, Reply, shown};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long an answer may pause once it has begun. Before that a model may think for as long as the whole may take.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);
const SAME_MOMENT: Duration = Duration::from_millis(100);
const TOO_SLOW: &str = "it took longer than --timeout";
/// Bytes of an answer that are read; a summary has a few thousand.
const LARGEST_ANSWER: usize = 16 << 20;
/// Characters of an address that is not followed.
const SHOWN: usize = 200;

/// How requests are sent, and the client that sends them once there is one.
#[derive(Debug)]
pub struct Wire {
    timeout: Duration,
    idle: Duration,
    patience: Patience,
    pace: Option<Pace>,
    tell: Tell,
    client: OnceLock<Client>,
}

/// Who is told of a wait, by why it is and how long it takes.
pub type Tell = fn(&str, Duration);

impl Wire {
    /// Requests that may take `timeout` each, tried again as `patience` says, at the `pace` that is wanted. `tell` is told
    /// of each wait before another attempt.
    pub fn new(timeout: Duration, patience: Patience, pace: Option<Pace>, tell: Tell) -> Self {
        Wire { timeout, idle: IDLE_TIMEOUT, patience, pace, tell, client: OnceLock::new() }
    }

    /// Posts a JSON body and gives what the answer says.
    ///
    /// # Errors
    /// The last attempt's error; the key is not in it, even where the server repeats it.
    pub fn post(&self, endpoint: &Endpoint, body: &Value, bill: &mut Bill) -> Result<Reply, NoAnswer> {
        let client = match self.client.get() {
            Some(client) => client,
            None => {
                let client = self.build().map_err(|message| NoAnswer { message, too_long: false })?;
                self.client.get_or_init(|| client)
            }
        };
        let (url, headers, body) = (endpoint.url(), endpoint.headers(), body.to_string());
        let mut sent = 0;
        let attempt = || {
            if let Some(pace) = &self.pace {
                thread::sleep(pace.turn(Instant::now()));
            }
            sent += 1;
            // All that a server says leaves by here, and takes no key along: not in a result, a message or the cache.
            let masked = |text: String| endpoint.key.as_ref().map_or(text.clone(), |key| key.mask(&text));
            let answered = self.attempt(client, endpoint, &url, headers.clone(), body.clone()).and_then(|answer| {
                endpoint.response(&answer).map_err(|what| {
                    let said = said(&answer, endpoint.key.as_ref());
                    failed(
                        kind_of_answer(&answer, self.patience.persistence),
                        format!("{url} gave no summary: {what}{said}"),
                    )
                })
            });
            answered
                .map(|reply| Reply { text: masked(reply.text), ..reply })
                .map_err(|failed| Failed { message: masked(failed.message), ..failed })
        };
        let wait = |pause: Duration, failed: &Failed| {
            (self.tell)(&failed.message, pause);
            thread::sleep(pause);
        };
        let reply = self.patience.persist(attempt, wait);
        bill.requests += sent;
        bill.retries += sent.saturating_sub(1);
        reply
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

    fn attempt(
        &self,
        client: &Client,
        endpoint: &Endpoint,
        url: &str,
        headers: HeaderMap,
        body: String,
    ) -> Result<String, Failed> {
        let deadline = Instant::now() + self.timeout;
        let sent = client.post(url).headers(headers).body(body).send();
        // The address is named already.
        let answer = sent.map_err(reqwest::Error::without_url).map_err(|error| match error.is_builder() {
            true => failed(Kind::Lasting, format!("{url} is no address: {}", causes(&error))),
            false => failed(Kind::Passing, format!("no answer from {url}: {}", causes(&error))),
        })?;
        let status = answer.status();
        let header = |name| Some(answer.headers().get(name)?.to_str().ok()?.to_owned());
        let (retry_after, location) = (header(RETRY_AFTER), header(LOCATION));
        // A date to wait for is one of the server's clock; ours may be wrong.
        let now = header(DATE).and_then(|date| httpdate::parse_http_date(&date).ok());
        let body = self.read(answer, url, deadline)?;
        if status.is_success() {
            return Ok(body);
        }
        let hint = match status.as_u16() {
            300..=399 => location.map(|place| elsewhere(endpoint, &place)).unwrap_or_default(),
            404 | 405 => "; --base-url ends with the version of the API, where it has one".to_owned(),
            _ => String::new(),
        };
        let message = format!("{url} answered {status}{}{hint}", said(&body, endpoint.key.as_ref()));
        let asked = asked_wait(retry_after.as_deref(), &body, now.unwrap_or_else(SystemTime::now));
        Err(Failed { asked, ..failed(kind(status, &body, self.patience.persistence), message) })
    }

    /// Reads a body as it comes, which may take as long as the whole has left, and pause for as long as it may.
    fn read(&self, answer: Response, url: &str, deadline: Instant) -> Result<String, Failed> {
        let failed = |kind: Kind, what: String| failed(kind, format!("no whole answer from {url}: {what}"));
        let chunks = chunks(answer);
        let mut body = Vec::new();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            // Some servers send their headers before a model has begun to think.
            let pause = if body.is_empty() { left } else { left.min(self.idle) };
            let chunk = match chunks.recv_timeout(pause) {
                // The client's own time for a read may end at the same moment.
                Ok(Err(_)) if Instant::now() + SAME_MOMENT >= deadline => {
                    return Err(failed(Kind::Passing, TOO_SLOW.to_owned()));
                }
                Ok(chunk) => chunk.map_err(|what| failed(Kind::Passing, what))?,
                Err(RecvTimeoutError::Timeout) if pause == left => {
                    return Err(failed(Kind::Passing, TOO_SLOW.to_owned()));
                }
                Err(RecvTimeoutError::Timeout) => {
                    let seconds = self.idle.as_secs_f64();
                    return Err(failed(Kind::Passing, format!("nothing came for {seconds} seconds")));
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(String::from_utf8_lossy(&body).into_owned()),
            };
            body.extend_from_slice(&chunk);
            if body.len() > LARGEST_ANSWER {
                // It was paid for once, and would be as large again.
                return Err(failed(Kind::Lasting, format!("it has more than {LARGEST_ANSWER} bytes")));
            }
        }
    }
}

/// What comes of a body, read on a thread of its own: the client has one time limit for the first byte and for all others.
fn chunks(mut answer: Response) -> Receiver<Result<Vec<u8>, String>> {
    let (sender, chunks) = sync_channel(1);
    thread::spawn(move || {
        let mut buffer = [0; 16 << 10];
        loop {
            let chunk = match answer.read(&mut buffer) {
                Ok(0) => return,
                Ok(count) => Ok(buffer[..count].to_vec()),
                Err(error) => Err(causes(&error)),
            };
            let ended = chunk.is_err();
            // Nobody may be waiting any longer.
            if sender.send(chunk).is_err() || ended {
                return;
            }
        }
    });
    chunks
}

/// Where a server sends on to, which is not followed: it might be another's.
fn elsewhere(endpoint: &Endpoint, place: &str) -> String {
    let place = place.split(['?', '#']).next().unwrap_or_default();
    let place = endpoint.key.as_ref().map_or_else(|| place.to_owned(), |key| key.mask(place));
    format!(
        "; it sends on to {}, which is not followed: if that is right, say so with --base-url",
        shown(&place, SHOWN)
    )
}

fn failed(kind: Kind, message: String) -> Failed {
    Failed { message, kind, asked: None }
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
    use std::io::Write;
    use std::net::TcpListener;

    use super::*;
    use crate::summary::provider::by_name;
    use crate::summary::recipe::Persistence;

    #[test]
    fn an_answer_that_stalls_is_given_up_before_its_time() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let base_url = format!("http://{}", listener.local_addr().expect("an address"));
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a connection");
            let _ = stream.read(&mut [0; 1 << 10]);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{");
            thread::sleep(Duration::from_secs(60));
        });
        let api = by_name("openai").expect("a provider").api;
        let endpoint = Endpoint { api, model: "m".to_owned(), base_url, key: None };
        let patience = Patience { retries: 0, persistence: Persistence::Own };
        let wire =
            Wire { idle: Duration::from_millis(100), ..Wire::new(Duration::from_secs(50), patience, None, |_, _| {}) };
        let started = Instant::now();
        let error = wire.post(&endpoint, &Value::Null, &mut Bill::default()).expect_err("it stalls");
        assert!(error.message.ends_with("nothing came for 0.1 seconds"), "{error:?}");
        assert!(started.elapsed() < Duration::from_secs(30));
    }
}
