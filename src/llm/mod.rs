//! Who else writes summaries: a model behind an API, or a command.

pub(crate) mod adapt;
mod body;
pub(crate) mod cache;
pub(crate) mod change;
pub(crate) mod command;
mod encodings;
mod error_response;
pub(crate) mod http;
pub(crate) mod limiter;
pub(crate) mod providers;
pub(crate) mod rate_limiter;
pub(crate) mod retry;
pub(crate) mod secret;

use std::thread;
use std::time::{Duration, Instant};

use crate::summary::exchange::{Bill, FailureKind, NoAnswer, Reply, Request, SummaryBackend};

use http::{HttpClient, Tell};
use providers::Endpoint;
use rate_limiter::RateLimiter;

/// Who writes summaries.
#[derive(Debug)]
pub(crate) enum Summarizer {
    /// The embedded one.
    Extractive,
    /// A model behind an API.
    Endpoint(Endpoint, Box<HttpClient>),
    /// A command, how long it may take, and how often it may be run.
    Command(String, Duration, Option<RateLimiter>),
}

impl Summarizer {
    /// Has `tell` be told of what happens between two requests.
    pub(crate) fn listen(&self, tell: Tell) {
        if let Summarizer::Endpoint(_, wire) = self {
            wire.listen(tell);
        }
    }

    /// What decides an answer besides chance, as a text: who is asked, and all that they are sent.
    pub(crate) fn identity(&self, request: &Request) -> String {
        match self {
            Summarizer::Extractive => String::new(),
            Summarizer::Endpoint(endpoint, _) => format!("POST {}\n{}", endpoint.url(), endpoint.request(request)),
            Summarizer::Command(line, ..) => format!("sh -c {line:?}\n{}", request.in_one()),
        }
    }
}

impl SummaryBackend for Summarizer {
    fn answer(&self, request: &Request, bill: &mut Bill) -> Result<Reply, NoAnswer> {
        let failed = |message: String| NoAnswer::new(FailureKind::Command, message);
        let reply = match self {
            Summarizer::Extractive => return Err(failed("the embedded summarizer answers no requests".to_owned())),
            Summarizer::Endpoint(endpoint, wire) => wire.post(endpoint, request, bill)?,
            Summarizer::Command(line, timeout, pace) => {
                bill.requests += 1;
                pace.iter().for_each(|pace| thread::sleep(pace.reserve(Instant::now())));
                let text = command::run(line, &request.in_one(), *timeout).map_err(failed)?;
                Reply { text, ..Reply::default() }
            }
        };
        bill.add(reply.usage);
        Ok(reply)
    }
}
