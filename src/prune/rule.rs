//! A kind of rule, what it is told, and what it would do.

use std::fmt;

use crate::diagnostic::Diagnostic;
use crate::plan::size::{Size, whole};
use crate::rewrite::media::Moved;
use crate::transcript::edit::Edit;

use crate::prune::scene::{Age, Scene};

/// A kind of rule.
pub(crate) struct Kind {
    /// Its name.
    pub(crate) name: &'static str,
    /// What it takes behind a colon; empty where it takes nothing.
    pub(crate) takes: &'static str,
    /// What it does, in a line.
    pub(crate) about: &'static str,
    /// What it takes where nothing is given.
    pub(super) default: Amount,
    /// What it would do.
    pub(super) find: fn(&Scene<'_, '_>, Amount) -> Vec<Change>,
}

/// What a rule is told: how old, or how long.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Amount {
    /// Nothing.
    None,
    /// How old.
    Age(Age),
    /// So many tokens or characters.
    Length(u64),
}

/// A rule.
#[derive(Clone, Copy)]
pub(crate) struct Rule {
    pub(super) kind: &'static Kind,
    pub(super) amount: Amount,
}

impl Rule {
    /// The name of its kind.
    pub(crate) fn name(&self) -> &'static str {
        self.kind.name
    }

    /// Whether it needs the context window to be known.
    pub(crate) fn needs_window(&self) -> bool {
        matches!(self.amount, Amount::Age(Age::Before(Size::Fraction(_))))
    }

    /// A rule of a kind, as it is by default.
    pub(super) fn of(kind: &'static Kind) -> Self {
        Rule { kind, amount: kind.default }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.kind.name)?;
        match self.amount {
            Amount::None => Ok(()),
            Amount::Age(Age::NotLast(number)) | Amount::Length(number) => write!(out, ":{number}"),
            Amount::Age(Age::Before(size)) => write!(out, ":{size}"),
        }
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

impl PartialEq for Rule {
    fn eq(&self, other: &Self) -> bool {
        (self.name(), self.amount) == (other.name(), other.amount)
    }
}

impl Kind {
    /// What it is told by a value.
    pub(super) fn amount(&self, value: &str) -> Result<Amount, Diagnostic> {
        match self.default {
            Amount::None => Err(Diagnostic::new(format!("{} takes no size", self.name))),
            Amount::Length(_) => whole(value).map(Amount::Length).map_err(Diagnostic::new),
            Amount::Age(_) if value == "0" => Ok(Amount::Age(Age::NotLast(0))),
            Amount::Age(_) => match whole(value) {
                Ok(number) => Ok(Amount::Age(Age::NotLast(number))),
                Err(_) if !value.contains(':') => Err(Diagnostic::new(format!(
                    "`{value}` is neither a number nor a size: messages:N, tokens:N, fraction:F or turns:N"
                ))),
                Err(_) => value.parse().map(|size| Amount::Age(Age::Before(size))),
            },
        }
    }
}

/// What a rule would do to a message.
#[derive(Debug, Default)]
pub(crate) struct Change {
    /// Its index.
    pub(super) message: usize,
    /// The edits within it.
    pub(super) edits: Vec<Edit>,
    /// Whether nothing is left of it, so that it goes.
    pub(super) gone: bool,
    /// What is to be kept of it elsewhere.
    pub(super) files: Vec<Moved>,
}
