//! The changes of a request that a server asks for.

use std::fmt;

use serde_json::{Value, json};

use crate::llm::body::{put, take};
use crate::summary::exchange::Request;

/// A change of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// The parameter is not sent.
    Without(&'static str),
    /// Its value is sent under another name.
    Renamed { refused: &'static str, instead: &'static str },
    /// The limit has the tokens of the summary alone.
    WithLess(&'static str),
}

impl Change {
    /// Returns the refused parameter.
    pub(super) fn refused(self) -> &'static str {
        match self {
            Change::Without(refused) | Change::Renamed { refused, .. } | Change::WithLess(refused) => refused,
        }
    }

    /// Applies the change to a body.
    pub(super) fn apply(self, body: &mut Value, request: &Request) {
        let Some(value) = take(body, self.refused()) else { return };
        match self {
            Change::Without(_) => {}
            Change::Renamed { instead, .. } => put(body, instead, value),
            Change::WithLess(limit) => put(body, limit, json!(request.limit)),
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Change::Without(refused) => write!(out, "without {refused}"),
            Change::Renamed { refused, instead } => write!(out, "with {instead} instead of {refused}"),
            Change::WithLess(refused) => write!(out, "with less {refused}"),
        }
    }
}
