//! The rules by which a cut moves that would split a tool call from its result.

use std::fmt;
use std::str::FromStr;

use crate::diagnostic::{Diagnostic, nearest};

/// How a cut moves that would split a call from its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pairs {
    /// To the nearest place that splits no call from its result.
    Strict,
    /// As in `LangChain`: back to the call of the results that begin at the cut, or past them.
    LangChain,
    /// Back until no call in a window of so many messages before the cut is split from its result.
    Window(usize),
}

impl fmt::Display for Pairs {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pairs::Strict => write!(out, "strict"),
            Pairs::LangChain => write!(out, "langchain"),
            Pairs::Window(messages) => write!(out, "window:{messages}"),
        }
    }
}

impl FromStr for Pairs {
    type Err = Diagnostic;

    fn from_str(text: &str) -> Result<Self, Diagnostic> {
        match text.split_once(':') {
            None if text == "strict" => Ok(Pairs::Strict),
            None if text == "langchain" => Ok(Pairs::LangChain),
            Some(("window", messages)) => messages
                .parse()
                .map(Pairs::Window)
                .map_err(|_| format!("`{messages}` is not a number of messages, as in window:5"))
                .map_err(|why| Diagnostic::new(why).at("window:".len()..text.len()).example("window:5")),
            other => {
                let kind = other.map_or(text, |(kind, _)| kind);
                let meant = match other {
                    Some(_) => nearest(kind, ["window"]),
                    None => nearest(kind, ["strict", "langchain", "window:5"]),
                };
                Err(Diagnostic::new("expected strict, langchain or window:N").at(0..kind.len()).meant(meant))
            }
        }
    }
}
