//! What is said between tcompact and whoever writes summaries: a request, a reply, what they cost, and why there is none.

use crate::sanitize::is_control;

/// Tokens that a model gets for its thoughts, beside those of the summary.
pub(crate) const THOUGHTS: u64 = 4096;

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
    pub(crate) fn too_long(&self) -> bool {
        self.kind == FailureKind::TooLong
    }
}

/// Whoever answers requests.
pub trait SummaryBackend {
    /// Has a summary written, and adds what that took to the bill, whether it comes or not.
    ///
    /// # Errors
    /// What went wrong, for good.
    fn answer(&self, request: &Request, bill: &mut Bill) -> Result<Reply, NoAnswer>;

    /// What was answered to the same request before, if that `is_usable`; or else what `ask` gets, which is kept for
    /// another time if it is.
    ///
    /// # Errors
    /// What went wrong, for good.
    fn remembered(
        &self,
        _request: &Request,
        _is_usable: &dyn Fn(&Reply) -> bool,
        ask: &mut dyn FnMut() -> Result<Reply, NoAnswer>,
    ) -> Result<Remembered, NoAnswer> {
        ask().map(|reply| Remembered { reply, is_kept: false })
    }
}

/// A reply, and whether it was kept from before.
#[derive(Debug, Clone, PartialEq)]
pub struct Remembered {
    /// The reply.
    pub reply: Reply,
    /// Whether nobody was asked for it.
    pub is_kept: bool,
}

impl Request {
    /// The instructions and the prompt as one text, for whom has no place for both.
    pub fn in_one(&self) -> String {
        match self.system {
            Some(system) => format!("{system}\n\n{}", self.prompt),
            None => self.prompt.clone(),
        }
    }
}

/// What kind of failure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// Nothing can be sent from here.
    Setup,
    /// Nobody is there: the connection is refused, or the host has no address.
    Unreachable,
    /// The connection broke, or took too long.
    Interrupted,
    /// The server is in trouble: 408, 409 and 5xx.
    Trouble,
    /// Too much was asked for in too little time: 429.
    RateLimited,
    /// Money or a share is used up: 402, and what is said of a quota.
    Quota,
    /// The key is missing or wrong: 401.
    Unauthorized,
    /// The key is not allowed to: 403.
    Forbidden,
    /// There is no such model or address: 404.
    NotFound,
    /// The request itself is wrong: 400 and 422.
    BadRequest,
    /// The request is too long for the model.
    TooLong,
    /// An answer that makes no sense.
    Odd,
    /// A command failed.
    Command,
    /// Nobody was asked, since the requests before had all failed in a way that no waiting mends.
    Stopped,
}

impl FailureKind {
    /// Whether no waiting mends it.
    pub(crate) fn is_lasting(self) -> bool {
        use FailureKind::{Forbidden, NotFound, Quota, Unauthorized, Unreachable};
        matches!(self, Unauthorized | Forbidden | NotFound | Quota | Unreachable)
    }

    /// What to try after a failure of this kind, in the words of the command line.
    pub(crate) fn remedy(self) -> &'static str {
        match self {
            FailureKind::Unauthorized => {
                "tcompact --list providers, for the variable that holds the key; --api-key-env names another"
            }
            FailureKind::Forbidden => {
                "tcompact --list models, for a model that the key may use; --api-key-env names the variable of another key"
            }
            FailureKind::NotFound => {
                "tcompact --list models, for the names of models; --base-url says where the API is"
            }
            FailureKind::Quota => {
                "tcompact --on-error extractive, to go on without a model; or add credit with the provider"
            }
            FailureKind::BadRequest => {
                "tcompact --list models, for another model; --request-json '{\"NAME\": null}' leaves out a parameter that the server refuses"
            }
            FailureKind::TooLong => {
                "tcompact --trim-tokens 8000, to send less; --context-window N says how much the model can read"
            }
            FailureKind::RateLimited => {
                "tcompact --on-error extractive, to go on without a model; --rate N asks less often, --retries N more patiently"
            }
            FailureKind::Command => "tcompact --on-error extractive, to go on without a model; --timeout waits longer",
            FailureKind::Setup => "tcompact --on-error extractive, to go on without a model",
            FailureKind::Stopped => "tcompact --resume, once that is repaired, to leave out what is finished",
            FailureKind::Unreachable => {
                "tcompact --on-error extractive, to go on without a model; or start the server, or name another with --base-url"
            }
            FailureKind::Interrupted | FailureKind::Trouble | FailureKind::Odd => {
                "tcompact --on-error extractive, to go on without a model; --retries and --timeout wait longer"
            }
        }
    }
}

/// Foreign text as it can be shown in a message: at most `most` characters, on one line, nothing a terminal would obey.
pub(crate) fn shown(text: &str, most: usize) -> String {
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
