//! What is put in the place of the history: the prompt, who answers it, and whether the answer is taken.

pub mod acceptance;
pub mod attempts;
pub mod buffer;
pub mod command;
pub mod extractive;
pub mod http;
pub mod ledger;
pub mod middle;
pub mod prompt;
pub mod provider;
pub mod python_format;
pub mod recipe;
pub mod sections;
pub mod trim;
pub mod trim_messages;

use std::time::Duration;

use http::Wire;
use provider::Endpoint;

/// Who writes summaries.
#[derive(Debug)]
pub enum Summarizer {
    /// The embedded one.
    Extractive,
    /// A model behind an API.
    Endpoint(Endpoint, Wire),
    /// A command, and how long it may take.
    Command(String, Duration),
}

/// What a summarizer answered.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reply {
    /// The summary.
    pub text: String,
    /// Whether it ends where the length limit was, and not where the summarizer wanted to.
    pub cut_off: bool,
    /// What the provider counts, where it says so.
    pub usage: Option<Usage>,
}

/// Tokens that a provider counts and bills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Of the prompt.
    pub input: u64,
    /// Of the answer.
    pub output: u64,
}

/// What a summarizer is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Instructions that stand before the prompt.
    pub system: Option<&'static str>,
    /// The prompt.
    pub prompt: String,
}

/// Why there is no answer, for good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoAnswer {
    /// What went wrong.
    pub message: String,
    /// Whether the request was too long for the model.
    pub too_long: bool,
}

/// Whoever answers requests.
pub trait Answers {
    /// Has a summary of at most so many tokens written.
    ///
    /// # Errors
    /// What went wrong, for good.
    fn answer(&self, request: &Request, summary_tokens: u64) -> Result<Reply, NoAnswer>;
}

impl Answers for Summarizer {
    fn answer(&self, request: &Request, summary_tokens: u64) -> Result<Reply, NoAnswer> {
        let failed = |message: String| NoAnswer { message, too_long: false };
        match self {
            Summarizer::Extractive => Err(failed("the embedded summarizer answers no requests".to_owned())),
            Summarizer::Endpoint(endpoint, wire) => {
                let url = endpoint.url();
                let body = endpoint.request(request, summary_tokens);
                wire.post(&url, endpoint.key.as_ref(), &body, |answer| endpoint.response(answer))
            }
            Summarizer::Command(line, timeout) => {
                let input = match request.system {
                    Some(system) => format!("{system}\n\n{}", request.prompt),
                    None => request.prompt.clone(),
                };
                let reply = command::run(line, &input, *timeout).map_err(failed)?;
                Ok(Reply { text: reply, ..Reply::default() })
            }
        }
    }
}

/// Foreign text as it can be shown in a message: at most `most` characters, on one line, nothing a terminal would obey.
fn shown(text: &str, most: usize) -> String {
    let mut clean: String = text
        .chars()
        .map(|c| if c.is_whitespace() { ' ' } else { c })
        .filter(|c| !c.is_control() && !matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'))
        .take(most.saturating_add(1))
        .collect();
    if clean.chars().count() > most {
        clean.pop();
        clean.push('…');
    }
    clean
}
