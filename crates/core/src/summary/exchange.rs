//! The exchange between tcompact and a summarizer: a request, a reply, their cost, and failures.

use crate::diagnostic::Advice;
use crate::sanitize::is_control;

/// The tokens that a model gets for its thoughts, in addition to those of the summary.
pub const THOUGHTS: u64 = 4096;

/// The reply of a summarizer.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reply {
    pub text: String,
    pub stop: Stop,
    /// The tokens, if the provider reports them.
    pub usage: Option<Usage>,
}

/// The reason why a reply ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stop {
    /// The summarizer finished, or gives no reason.
    #[default]
    Done,
    /// The reply reached its length limit.
    Length,
    /// The model or its provider refused to write it.
    Refused,
}

/// Tokens that a provider counts and bills.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Usage {
    /// The tokens of the prompt.
    pub input: u64,
    /// The tokens of the reply, including thoughts.
    pub output: u64,
    /// How many of the output tokens were thoughts.
    pub reasoning: u64,
    /// The cost in US dollars, if the provider reports it.
    pub cost: Option<f64>,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.reasoning = self.reasoning.saturating_add(other.reasoning);
        // A partial sum would be wrong.
        self.cost = self.cost.zip(other.cost).map(|(one, more)| one + more);
    }
}

/// A request to a summarizer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub system: Option<&'static str>,
    pub prompt: String,
    /// The most tokens of the summary.
    pub limit: u64,
    /// The most tokens of thoughts, in addition to `limit`.
    pub thoughts: u64,
}

/// The requests that were sent, and their cost.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Bill {
    /// The requests that were sent, including failed ones.
    pub requests: u64,
    /// How many of these repeated a failed request.
    pub retries: u64,
    /// The replies that came from the cache.
    pub cached: u64,
    /// The usage of all replies together; `None` if the provider did not report one of them.
    pub usage: Option<Usage>,
    answers: u64,
}

impl Bill {
    /// Adds the usage of a reply.
    pub fn add(&mut self, usage: Option<Usage>) {
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

/// A permanent failure to get a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoAnswer {
    pub message: String,
    pub kind: FailureKind,
    /// The model's window in tokens, if the server reported it when it rejected a request as too long.
    pub window: Option<u64>,
}

impl NoAnswer {
    /// Creates a failure without the model's window.
    pub fn new(kind: FailureKind, message: String) -> Self {
        NoAnswer { message, kind, window: None }
    }

    /// Whether the request was too long for the model.
    pub fn too_long(&self) -> bool {
        self.kind == FailureKind::TooLong
    }
}

/// A summarizer that answers requests.
pub trait SummaryBackend {
    /// Requests a summary and adds the cost to the bill, even on failure.
    ///
    /// # Errors
    /// The permanent failure.
    fn answer(&self, request: &Request, bill: &mut Bill) -> Result<Reply, NoAnswer>;

    /// The earlier reply to the same request, if it `is_usable`, or else the reply of `ask`, stored if it is usable.
    ///
    /// # Errors
    /// The permanent failure.
    fn remembered(
        &self,
        _request: &Request,
        _is_usable: &dyn Fn(&Reply) -> bool,
        ask: &mut dyn FnMut() -> Result<Reply, NoAnswer>,
    ) -> Result<Remembered, NoAnswer> {
        ask().map(|reply| Remembered { reply, is_kept: false })
    }
}

/// A reply, and whether it comes from a store.
#[derive(Debug, Clone, PartialEq)]
pub struct Remembered {
    pub reply: Reply,
    /// Whether no summarizer was asked.
    pub is_kept: bool,
}

impl Request {
    /// Joins the system message and the prompt, for a summarizer that takes one text.
    pub fn in_one(&self) -> String {
        match self.system {
            Some(system) => format!("{system}\n\n{}", self.prompt),
            None => self.prompt.clone(),
        }
    }
}

/// The kind of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// No request can be sent from this machine.
    Setup,
    /// No server answers: the connection is refused, or the host has no address.
    Unreachable,
    /// The connection broke, or took too long.
    Interrupted,
    /// The server reports a temporary error: 408, 409 and 5xx.
    Trouble,
    /// Too many requests in too little time: 429.
    RateLimited,
    /// The credit or quota is used up: 402, and messages about a quota.
    Quota,
    /// The key is missing or wrong: 401.
    Unauthorized,
    /// The key lacks the permission: 403.
    Forbidden,
    /// The model or address does not exist: 404.
    NotFound,
    /// The request is invalid: 400 and 422.
    BadRequest,
    /// The request is too long for the model.
    TooLong,
    /// The reply is invalid.
    Odd,
    /// A command failed.
    Command,
    /// No request was sent because all previous ones failed in a way that waiting does not repair.
    Stopped,
}

impl FailureKind {
    /// Whether waiting does not repair it.
    pub fn is_lasting(self) -> bool {
        use FailureKind::{Forbidden, NotFound, Quota, Unauthorized, Unreachable};
        matches!(self, Unauthorized | Forbidden | NotFound | Quota | Unreachable)
    }

    /// What to try after a failure of this kind.
    pub fn remedy(self) -> Advice {
        match self {
            FailureKind::Unauthorized => Advice::command(["list", "providers"])
                .note("for the variable that holds the key; --api-key-env names another"),
            FailureKind::Forbidden => Advice::command(["list", "models"])
                .note("for a model that the key may use; --api-key-env names the variable of another key"),
            FailureKind::NotFound => {
                Advice::command(["list", "models"]).note("for the names of models; --base-url says where the API is")
            }
            FailureKind::Quota => extractive("to go on without a model; or add credit with the provider"),
            FailureKind::BadRequest => Advice::command(["list", "models"]).note(
                "for another model; --request-json '{\"NAME\": null}' leaves out a parameter that the server refuses",
            ),
            FailureKind::TooLong => Advice::command(["--trim-tokens", "8000"])
                .note("to send less; --context-window N says how much the model can read"),
            FailureKind::RateLimited => extractive(
                "to go on without a model; --rate N sends fewer requests a minute, --retries N retries more often",
            ),
            FailureKind::Command => extractive("to go on without a model; --timeout waits longer"),
            FailureKind::Setup => extractive("to go on without a model"),
            FailureKind::Stopped => {
                Advice::command(["--resume"]).note("once that is repaired, to leave out what is finished")
            }
            FailureKind::Unreachable => {
                extractive("to go on without a model; or start the server, or name another with --base-url")
            }
            FailureKind::Interrupted | FailureKind::Trouble | FailureKind::Odd => {
                extractive("to go on without a model; --retries and --timeout wait longer")
            }
        }
    }
}

/// The advice to use the embedded summarizer instead, and `note`.
pub fn extractive(note: &'static str) -> Advice {
    Advice::command(["--on-error", "extractive"]).note(note)
}

/// Formats foreign text for a message: at most `most` characters, on one line, without control characters that a
/// terminal would execute.
pub fn shown(text: &str, most: usize) -> String {
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
