//! What is put in the place of the history: the prompt, who answers it, and whether the answer is taken.

pub mod acceptance;
pub mod adapt;
pub mod attempts;
mod body;
pub mod buffer;
pub mod cache;
pub mod command;
mod complaint;
pub mod data;
mod disguise;
pub mod extractive;
pub mod fence;
pub mod http;
pub mod ledger;
pub mod limiter;
pub mod middle;
pub mod pace;
pub mod parts;
pub mod prompt;
pub mod provider;
pub mod python_format;
pub mod recipe;
pub mod secret;
pub mod sections;
pub mod trim;
pub mod trim_messages;

use std::thread;
use std::time::{Duration, Instant};

use attempts::FailureKind;
use http::Wire;
use pace::Pace;
use provider::Endpoint;

use crate::sanitize::is_control;

/// Who writes summaries.
#[derive(Debug)]
pub enum Summarizer {
    /// The embedded one.
    Extractive,
    /// A model behind an API.
    Endpoint(Endpoint, Box<Wire>),
    /// A command, how long it may take, and how often it may be run.
    Command(String, Duration, Option<Pace>),
}

/// What a summarizer answered.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reply {
    /// The summary.
    pub text: String,
    /// Why it ends where it ends.
    pub stop: Stop,
    /// What the provider counts, where it says so.
    pub usage: Option<Usage>,
}

/// Why an answer ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stop {
    /// The summarizer was done, or does not say.
    #[default]
    Done,
    /// Its length limit was reached.
    Length,
    /// The model or its provider would not write it.
    Refused,
}

/// Tokens that a provider counts and bills.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Usage {
    /// Of the prompt.
    pub input: u64,
    /// Of the answer, with what was thought before it.
    pub output: u64,
    /// How many of these were thoughts.
    pub reasoning: u64,
    /// US dollars, where the provider says what it bills.
    pub cost: Option<f64>,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.reasoning = self.reasoning.saturating_add(other.reasoning);
        // Half of a bill is none.
        self.cost = self.cost.zip(other.cost).map(|(one, more)| one + more);
    }
}

/// What a summarizer is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Instructions that stand before the prompt.
    pub system: Option<&'static str>,
    /// The prompt.
    pub prompt: String,
    /// Tokens that the summary may have.
    pub limit: u64,
    /// Tokens that the model may have beside these for what it thinks before.
    pub thoughts: u64,
}

/// What was asked for, and what it cost.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Bill {
    /// Requests that were sent, those that failed among them.
    pub requests: u64,
    /// How many of these repeated one that failed.
    pub retries: u64,
    /// Answers that were taken from the cache.
    pub cached: u64,
    /// What the provider counts, of all answers together; none where it did not say of one.
    pub usage: Option<Usage>,
    answers: u64,
}

impl Bill {
    /// Adds an answer's usage.
    fn add(&mut self, usage: Option<Usage>) {
        self.usage = match (self.answers, self.usage, usage) {
            (0, _, first) => first,
            (_, Some(mut sum), Some(more)) => {
                sum += more;
                Some(sum)
            }
            _ => None,
        };
        self.answers += 1;
    }
}

/// Why there is no answer, for good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoAnswer {
    /// What went wrong.
    pub message: String,
    /// What kind of failure it is.
    pub kind: FailureKind,
    /// How many tokens the model reads at once, where the server that found a request too long says so.
    pub window: Option<u64>,
}

impl NoAnswer {
    /// A failure that says nothing of the model's window.
    pub fn new(kind: FailureKind, message: String) -> Self {
        NoAnswer { message, kind, window: None }
    }

    /// Whether the request was too long for the model.
    pub fn too_long(&self) -> bool {
        self.kind == FailureKind::TooLong
    }
}

/// Whoever answers requests.
pub trait Answers {
    /// Has a summary written, and adds what that took to the bill, whether it comes or not.
    ///
    /// # Errors
    /// What went wrong, for good.
    fn answer(&self, request: &Request, bill: &mut Bill) -> Result<Reply, NoAnswer>;

    /// What decides an answer besides chance, as a text: who is asked, and all that they are sent.
    fn identity(&self, request: &Request) -> String;

    /// Waits for something else than an answer.
    fn aside(&self, wait: &mut dyn FnMut()) {
        wait();
    }
}

impl Answers for Summarizer {
    fn answer(&self, request: &Request, bill: &mut Bill) -> Result<Reply, NoAnswer> {
        let failed = |message: String| NoAnswer::new(FailureKind::Command, message);
        let reply = match self {
            Summarizer::Extractive => return Err(failed("the embedded summarizer answers no requests".to_owned())),
            Summarizer::Endpoint(endpoint, wire) => wire.post(endpoint, request, bill)?,
            Summarizer::Command(line, timeout, pace) => {
                bill.requests += 1;
                pace.iter().for_each(|pace| thread::sleep(pace.turn(Instant::now())));
                let text = command::run(line, &request.in_one(), *timeout).map_err(failed)?;
                Reply { text, ..Reply::default() }
            }
        };
        bill.add(reply.usage);
        Ok(reply)
    }

    fn identity(&self, request: &Request) -> String {
        match self {
            Summarizer::Extractive => String::new(),
            Summarizer::Endpoint(endpoint, _) => format!("POST {}\n{}", endpoint.url(), endpoint.request(request)),
            Summarizer::Command(line, ..) => format!("sh -c {line:?}\n{}", request.in_one()),
        }
    }
}

impl Request {
    /// The instructions and the prompt as one text, for whom has no place for both.
    fn in_one(&self) -> String {
        match self.system {
            Some(system) => format!("{system}\n\n{}", self.prompt),
            None => self.prompt.clone(),
        }
    }
}

/// Foreign text as it can be shown in a message: at most `most` characters, on one line, nothing a terminal would obey.
fn shown(text: &str, most: usize) -> String {
    let mut clean: String = text
        .chars()
        .map(|c| if c.is_whitespace() { ' ' } else { c })
        .filter(|c| !is_control(*c))
        .take(most.saturating_add(1))
        .collect();
    if clean.chars().count() > most {
        clean.pop();
        clean.push('…');
    }
    clean
}
