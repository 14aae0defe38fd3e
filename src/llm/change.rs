//! A change of the requests to a server: a parameter is removed, renamed or replaced.

use std::fmt;

use serde_json::{Value, json};

use crate::llm::body::{merge, put, take};
use crate::summary::exchange::Request;

/// A change of a request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Change {
    /// The rejected parameter, as a path with dots.
    pub(super) refused: &'static str,
    /// What takes its place.
    pub(super) instead: Replacement,
}

/// What takes the place of a parameter.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Replacement {
    Nothing,
    /// The same value under another name.
    Name(&'static str),
    /// Other members, as a JSON merge patch.
    Members(Value),
    /// The same parameter with the tokens of the summary alone.
    NoThoughts,
}

impl Change {
    /// Applies the change to a body.
    pub(crate) fn apply(&self, body: &mut Value, request: &Request) {
        let value = take(body, self.refused);
        match (&self.instead, value) {
            (Replacement::Name(name), Some(value)) => put(body, name, value),
            (Replacement::NoThoughts, Some(_)) => put(body, self.refused, json!(request.limit)),
            (Replacement::Members(members), _) => merge(body, members.clone()),
            (Replacement::Nothing, _) | (_, None) => {}
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.instead {
            Replacement::Nothing => write!(out, "without {}", self.refused),
            Replacement::Name(name) => write!(out, "with {name} instead of {}", self.refused),
            Replacement::Members(members) => write!(out, "with {members} instead of {}", self.refused),
            Replacement::NoThoughts => write!(out, "with less {}", self.refused),
        }
    }
}
