//! The HTTP client: it sends a request until it is answered, or until a retry is useless.
//!
//! The client is built only for the first request: building it costs more than a whole dry run. It follows no
//! redirects, so a key is sent only to its own address. It uses the proxies of the environment, except for a server on this
//! machine.

use std::io::Read;
use std::sync::OnceLock;
use std::sync::mpsc::RecvTimeoutError;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use reqwest::Url;
use reqwest::blocking::{Client, ClientBuilder, Response};
use reqwest::header::HeaderMap;
use serde_json::Value;

use crate::llm::adapt::{Adaptation, Adaptations, MOST_CHANGES, ParameterRefusal, is_given};
use crate::llm::body::{Change, chunks};
use crate::llm::error_response::{failure_kind, is_page, kind_of_answer, named_window, requested_wait, server_message};
use crate::llm::limiter::{Changed, Limiter, MOST_IN_A_ROW};
use crate::llm::providers::Endpoint;
use crate::llm::proxy::{is_loopback, proxy_variable};
use crate::llm::retry::{FailedAttempt, RetryPolicy};
use crate::llm::secret::masked;
use crate::summary::exchange::{Bill, FailureKind, NoAnswer, Reply, Request, shown};
use crate::wording::counted;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest pause of an answer that has begun. Before that, a model can reason until the timeout.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);
const SAME_MOMENT: Duration = Duration::from_millis(100);
/// The most bytes that are read of an answer. A summary has a few thousand, and reasoning some hundred thousand.
const LARGEST_ANSWER: usize = 2 << 20;
/// The longest address of a redirect that is shown, in characters.
const SHOWN: usize = 200;

/// The HTTP client with its limits and with what it learned of its server.
#[derive(Debug)]
pub(crate) struct HttpClient {
    timeout: Duration,
    idle: Duration,
    retry_policy: RetryPolicy,
    tell: OnceLock<Tell>,
    learned: Adaptations,
    limiter: Limiter,
    client: OnceLock<Client>,
}

/// Listens to what happens between two requests.
pub(crate) type Tell = fn(Between<'_>);

/// What happens between two requests.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Between<'b> {
    /// A wait before a retry, with its reason.
    Wait(&'b str, Duration),
    /// The server rejected a parameter, for this reason, and requests are changed from now on.
    Change(&'b str, Change),
    /// No request is sent any more, since the last ones failed like this.
    Stop(&'b str),
    /// The server has trouble, for this reason, and gets at most so many requests at once.
    Slower(&'b str, usize),
}

impl HttpClient {
    /// `timeout` is for each request. `rate` limits the requests per minute.
    pub(crate) fn new(timeout: Duration, retry_policy: RetryPolicy, rate: Option<u32>) -> Self {
        HttpClient {
            timeout,
            idle: IDLE_TIMEOUT,
            retry_policy,
            tell: OnceLock::new(),
            learned: Adaptations::default(),
            limiter: Limiter::new(rate),
            client: OnceLock::new(),
        }
    }

    /// Sends a request for a summary, and returns the reply. Where the server refuses a parameter that tcompact chose,
    /// this request and all later ones are sent without it.
    ///
    /// # Errors
    /// The error of the last attempt. It does not contain the key, even where the server repeats it.
    pub(crate) fn post(&self, endpoint: &Endpoint, request: &Request, bill: &mut Bill) -> Result<Reply, NoAnswer> {
        let client = match self.client.get() {
            Some(client) => client,
            None => {
                let client = self.build(endpoint).map_err(|message| NoAnswer::new(FailureKind::Setup, message))?;
                self.client.get_or_init(|| client)
            }
        };
        let mut progress = Progress { sent: 0, changed: 0 };
        let reply = self.retry_policy.run(
            || self.adapted_attempt(client, endpoint, request, &mut progress),
            |pause, failed| {
                self.report(Between::Wait(&failed.message, pause));
                thread::sleep(pause);
            },
        );
        bill.requests += progress.sent;
        bill.retries += progress.sent.saturating_sub(1 + progress.changed);
        reply
    }

    /// Sends a request, and again without each parameter that the server refuses.
    fn adapted_attempt(
        &self,
        client: &Client,
        endpoint: &Endpoint,
        request: &Request,
        progress: &mut Progress,
    ) -> Result<Reply, FailedAttempt> {
        loop {
            let permit = self.limiter.begin().map_err(|why| {
                let message = format!("no request was sent, since {MOST_IN_A_ROW} requests in a row had failed: {why}");
                FailedAttempt::new(FailureKind::Stopped, message)
            })?;
            progress.sent += 1;
            let known = self.learned.of(endpoint);
            let body = endpoint.request_with(request, &known);
            // Every text of a server passes here, so that no result, message or cache contains the key.
            let key = endpoint.key.as_ref();
            let failed = match self.attempt(client, endpoint, &body) {
                Ok(reply) => {
                    permit.end(None);
                    return Ok(Reply { text: masked(key, &reply.text), ..reply });
                }
                Err(failed) => FailedAttempt { message: masked(key, &failed.message), ..failed },
            };
            match permit.end(Some(&failed)) {
                Some(Changed::Stopped) => self.report(Between::Stop(&failed.message)),
                Some(Changed::Slower(at_once)) => self.report(Between::Slower(&failed.message, at_once)),
                None => {}
            }
            let Some(refusal) = failed.refusal else { return Err(failed) };
            if progress.changed >= MOST_CHANGES as u64 {
                return Err(failed);
            }
            if is_given(refusal.path, &endpoint.request_json) {
                let why = format!("{} is what --request-json puts there", refusal.path);
                return Err(with_reason(failed, &why));
            }
            match self.learned.learn(endpoint, request, refusal, &body, &known) {
                Adaptation::New(change) => self.report(Between::Change(&failed.message, change)),
                Adaptation::Known => {}
                Adaptation::Nothing if refusal.is_too_large => {
                    return Err(with_reason(failed, "--summary-tokens N asks for fewer"));
                }
                Adaptation::Nothing => return Err(failed),
            }
            progress.changed += 1;
        }
    }

    /// Calls `tell` for what happens between two attempts. Only the first listener counts.
    pub(crate) fn listen(&self, tell: Tell) {
        let _ = self.tell.set(tell);
    }

    fn report(&self, what: Between<'_>) {
        if let Some(tell) = self.tell.get() {
            tell(what);
        }
    }

    fn build(&self, endpoint: &Endpoint) -> Result<Client, String> {
        // The client would go past a proxy that it cannot read.
        proxy_variable(&endpoint.base_url)?;
        // This fails only where a provider is installed already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let is_local = Url::parse(&endpoint.base_url).is_ok_and(|url| is_loopback(&url));
        let error = match self.builder(is_local).build() {
            Ok(client) => return Ok(client),
            Err(error) => error,
        };
        let why = format!("no connection could be set up: {}", causes(&error));
        // Small containers have no certificates. Plain HTTP needs none.
        let Ok(without) = self.builder(is_local).tls_certs_only([]).build() else { return Err(why) };
        if endpoint.base_url.starts_with("http:") {
            return Ok(without);
        }
        let remedy = "install the package ca-certificates, or name a file of certificates in SSL_CERT_FILE";
        Err(format!("{why}; https: needs them: {remedy}"))
    }

    fn builder(&self, is_local: bool) -> ClientBuilder {
        let mut builder = Client::builder();
        if is_local {
            // Another machine's proxy would look for the server on that machine.
            builder = builder.no_proxy();
        }
        builder
            .timeout(self.timeout)
            .connect_timeout(CONNECT_TIMEOUT.min(self.timeout))
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("tcompact/", env!("CARGO_PKG_VERSION")))
    }

    fn attempt(&self, client: &Client, endpoint: &Endpoint, body: &Value) -> Result<Reply, FailedAttempt> {
        let url = endpoint.url();
        let answer = self.answer(client, endpoint, &url, body)?;
        let what = match endpoint.response(&answer) {
            Ok(reply) => return Ok(reply),
            Err(what) => what,
        };
        // The title of a page says less than the question that goes with it.
        let message = if is_page(&answer) { String::new() } else { server_message(&answer, endpoint.key.as_ref()) };
        let kind = kind_of_answer(&answer, self.retry_policy.persistence);
        let mut failed = FailedAttempt::new(kind, format!("{url} gave no summary: {what}{message}"));
        if kind == FailureKind::TooLong {
            failed.window = named_window(&answer);
        }
        if kind == FailureKind::BadRequest {
            failed.refusal = ParameterRefusal::in_error(&answer, body, &endpoint.request_json);
        }
        Err(failed)
    }

    /// Sends a body, and returns the raw answer.
    fn answer(&self, client: &Client, endpoint: &Endpoint, url: &str, body: &Value) -> Result<String, FailedAttempt> {
        let deadline = Instant::now() + self.timeout;
        let answer = match client.post(url).headers(endpoint.headers()).body(body.to_string()).send() {
            Ok(answer) => answer,
            Err(error) => return Err(unanswered(url, error)),
        };
        let (status, headers) = (answer.status(), answer.headers().clone());
        let text = self.read(answer, url, deadline)?;
        if status.is_success() {
            return Ok(text);
        }
        let hint = match (status.as_u16(), header(&headers, "location")) {
            (300..=399, Some(place)) => redirect_hint(endpoint, place),
            (404 | 405, _) => "; --base-url ends with the version of the API, where it has one".to_owned(),
            _ => String::new(),
        };
        let message = format!("{url} answered {status}{}{hint}", server_message(&text, endpoint.key.as_ref()));
        let kind = failure_kind(status, &text, self.retry_policy.persistence);
        let mut failed = FailedAttempt::new(kind, message);
        // A date to wait for is in the server's time. Our clock can be wrong.
        let date = header(&headers, "date").and_then(|date| httpdate::parse_http_date(date).ok());
        let now = date.unwrap_or_else(SystemTime::now);
        failed.asked = requested_wait(header(&headers, "retry-after-ms"), header(&headers, "retry-after"), &text, now);
        if let Some(advised) = header(&headers, "x-should-retry") {
            failed.advised = advised.trim().to_ascii_lowercase().parse().ok();
        }
        if kind == FailureKind::TooLong {
            failed.window = named_window(&text);
        } else if matches!(status.as_u16(), 400 | 422) {
            failed.refusal = ParameterRefusal::in_error(&text, body, &endpoint.request_json);
        }
        Err(failed)
    }

    /// Reads a body within the deadline, and with no pause longer than the limit.
    fn read(&self, answer: Response, url: &str, deadline: Instant) -> Result<String, FailedAttempt> {
        // The client has only one timeout for the first byte and all others.
        let chunks = chunks(answer.take(LARGEST_ANSWER as u64 + 1))
            .map_err(|error| cut_off(FailureKind::Setup, url, &error.to_string()))?;
        let mut body = Vec::new();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            // Some servers send their headers before the model begins.
            let pause = if body.is_empty() { left } else { left.min(self.idle) };
            match chunks.recv_timeout(pause) {
                Ok(Ok(chunk)) => body.extend_from_slice(&chunk),
                Err(RecvTimeoutError::Disconnected) => return Ok(String::from_utf8_lossy(&body).into_owned()),
                // The client's own timeout for a read can end at the same moment.
                _ if Instant::now() + SAME_MOMENT >= deadline => {
                    return Err(cut_off(FailureKind::Interrupted, url, "it took longer than --timeout"));
                }
                Ok(Err(error)) => return Err(cut_off(FailureKind::Interrupted, url, &causes(&error))),
                Err(RecvTimeoutError::Timeout) => {
                    let what = format!("nothing came for {}", counted(self.idle.as_secs_f64(), "second"));
                    return Err(cut_off(FailureKind::Interrupted, url, &what));
                }
            }
            if body.len() > LARGEST_ANSWER {
                // A retry would be paid for again, and be as large.
                let what = "it is larger than 2 MiB, and no summary is that long";
                return Err(FailedAttempt { advised: Some(false), ..cut_off(FailureKind::Odd, url, what) });
            }
        }
    }
}

/// The requests for one summary that were sent so far, and how often they were changed for the server.
struct Progress {
    sent: u64,
    changed: u64,
}

/// A failure with what else is to be said of it.
fn with_reason(failed: FailedAttempt, why: &str) -> FailedAttempt {
    FailedAttempt { message: format!("{}; {why}", failed.message.trim_end_matches('.')), ..failed }
}

/// The failure of a request that no answer came to.
fn unanswered(url: &str, error: reqwest::Error) -> FailedAttempt {
    // The message names the address already.
    let error = error.without_url();
    let (kind, what) = if error.is_builder() {
        (FailureKind::Setup, format!("{url} is not an address"))
    } else if error.is_connect() && !error.is_timeout() {
        let through = match proxy_variable(url) {
            Ok(Some(name)) => format!(" through the proxy in {name}"),
            _ => String::new(),
        };
        (FailureKind::Unreachable, format!("no answer from {url}{through}"))
    } else {
        (FailureKind::Interrupted, format!("no answer from {url}"))
    };
    FailedAttempt::new(kind, format!("{what}: {}", causes(&error)))
}

/// The failure of a request whose answer did not come whole.
fn cut_off(kind: FailureKind, url: &str, what: &str) -> FailedAttempt {
    FailedAttempt::new(kind, format!("no whole answer from {url}: {what}"))
}

/// The text of a header.
fn header<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

/// Describes the target of a redirect, which is not followed, as it can be another's server.
fn redirect_hint(endpoint: &Endpoint, place: &str) -> String {
    let place = place.split(['?', '#']).next().unwrap_or_default();
    let place = shown(&masked(endpoint.key.as_ref(), place), SHOWN);
    format!(
        "; it redirects to {place}, and redirects are not followed: if that address is right, name it with --base-url"
    )
}

/// An error with its causes, outermost first.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let message = cause.to_string();
        if !text.contains(&message) {
            text += &format!(": {message}");
        }
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::TcpListener;

    use serde_json::Map;

    use super::*;
    use crate::llm::providers::by_name;
    use crate::presets::recipe::Persistence;

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
        let provider = by_name("openai").expect("a provider");
        let endpoint = Endpoint { provider, model: "m".to_owned(), base_url, key: None, request_json: Map::new() };
        let retry_policy = RetryPolicy { retries: 0, persistence: Persistence::Own };
        let client = HttpClient {
            idle: Duration::from_millis(100),
            ..HttpClient::new(Duration::from_secs(50), retry_policy, None)
        };
        let started = Instant::now();
        let request = Request { system: None, prompt: "p".to_owned(), limit: 9, thoughts: 0 };
        let error = client.post(&endpoint, &request, &mut Bill::default()).expect_err("it stalls");
        assert!(error.message.ends_with("nothing came for 0.1 seconds"), "{error:?}");
        assert!(started.elapsed() < Duration::from_secs(30));
    }
}
