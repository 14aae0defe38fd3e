//! The other summarizers: a model behind an API, or a command. And a command that counts.

pub(crate) mod adapt;
pub(crate) mod body;
pub(crate) mod cache;
pub(crate) mod command;
pub(crate) mod counting;
mod error_response;
pub(crate) mod http;
pub(crate) mod limiter;
pub(crate) mod providers;
pub(crate) mod proxy;
pub(crate) mod retry;
pub(crate) mod secret;

use std::time::Duration;

use crate::summary::exchange::{Bill, FailureKind, NoAnswer, Reply, Request, SummaryBackend};

use http::{HttpClient, Tell};
use limiter::Limiter;
use providers::Endpoint;

/// A summarizer.
#[derive(Debug)]
pub(crate) enum Summarizer {
    /// The embedded summarizer.
    Extractive,
    /// A model behind an API.
    Endpoint(Endpoint, Box<HttpClient>),
    /// A command, with its timeout and its limiter.
    Command(String, Duration, Limiter),
}

impl Summarizer {
    /// Calls `tell` for what happens between two requests.
    pub(crate) fn listen(&self, tell: Tell) {
        if let Summarizer::Endpoint(_, client) = self {
            client.listen(tell);
        }
    }

    /// Everything that decides an answer, as a text: the summarizer, and all that it is sent.
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
        let reply = match self {
            Summarizer::Extractive => {
                return Err(failed_command("the embedded summarizer answers no requests".to_owned()));
            }
            Summarizer::Endpoint(endpoint, client) => client.post(endpoint, request, bill)?,
            Summarizer::Command(line, timeout, limiter) => {
                bill.requests += 1;
                let _permit = limiter.begin().map_err(failed_command)?;
                let text = command::run(line, &request.in_one(), *timeout).map_err(failed_command)?;
                Reply { text, ..Reply::default() }
            }
        };
        bill.add(reply.usage);
        Ok(reply)
    }
}

fn failed_command(message: String) -> NoAnswer {
    NoAnswer::new(FailureKind::Command, message)
}

/// Builds the patterns of this room.
#[cfg(test)]
pub(crate) fn patterns() -> Vec<&'static regex::Regex> {
    [error_response::patterns(), providers::parameters::patterns()].concat()
}
