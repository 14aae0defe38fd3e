//! What is put in the place of the history: the prompt, who answers it, and whether the answer is taken.

pub mod acceptance;
pub mod command;
pub mod extractive;
pub mod http;
pub mod prompt;
pub mod provider;
pub mod trim;

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

/// Sends a prompt to an endpoint.
///
/// # Errors
/// What went wrong, for good.
pub fn ask(endpoint: &Endpoint, wire: &Wire, prompt: &str, summary_tokens: u64) -> Result<Reply, String> {
    let url = endpoint.url();
    let body = wire.post(&url, endpoint.key.as_ref(), &endpoint.request(prompt, summary_tokens))?;
    endpoint
        .response(&body)
        .map_err(|what| format!("{url} gave no summary: {what}{}", http::said(&body, endpoint.key.as_ref())))
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
