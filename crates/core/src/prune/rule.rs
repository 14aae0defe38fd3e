//! The kinds of rules, their amounts, and the changes that they propose.

use std::fmt;

use crate::diagnostic::Diagnostic;
use crate::plan::size::{SIZES, Size, whole};
use crate::prune::scene::{Age, Scene, ToolResult};
use crate::rewrite::media::OffloadedFile;
use crate::transcript::edit::Edit;
use crate::transcript::json::Json;

/// A kind of rule.
pub struct RuleKind {
    pub name: &'static str,
    /// The placeholder of its amount; empty where it takes none.
    pub takes: &'static str,
    /// Its effect, in a line of help.
    pub about: &'static str,
    /// The amount where none is given.
    pub(super) default: Amount,
    /// Finds the changes that the rule proposes.
    pub(super) find: fn(&Scene<'_, '_>, Amount, &IsReplaced<'_>) -> Vec<ProposedChange>,
}

/// Whether an earlier rule has replaced a result, so that no other change of it would be made.
pub(super) type IsReplaced<'r> = dyn Fn(&ToolResult<'_, '_>) -> bool + 'r;

/// The amount of a rule: how old or how long a thing must be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Amount {
    /// The rule takes no amount.
    None,
    /// Things that are so old.
    Age(Age),
    /// Things longer than so many tokens or characters.
    Length(u64),
}

/// A rule of `--prune`.
#[derive(Clone, Copy)]
pub struct Rule {
    pub(super) kind: &'static RuleKind,
    pub(super) amount: Amount,
}

impl Rule {
    pub fn name(&self) -> &'static str {
        self.kind.name
    }

    /// Whether the rule needs a known context window.
    pub fn needs_window(&self) -> bool {
        matches!(self.amount, Amount::Age(Age::Before(Size::Fraction(_))))
    }

    /// The rule of a kind with its default.
    pub(super) fn of(kind: &'static RuleKind) -> Self {
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

impl RuleKind {
    /// Parses the amount of the rule.
    ///
    /// # Errors
    /// The value is not an amount of this kind.
    pub(super) fn amount(&self, value: &str) -> Result<Amount, Diagnostic> {
        match self.default {
            Amount::None => Err(Diagnostic::new(format!("{} takes no size", self.name))),
            Amount::Length(_) => whole(value).map(Amount::Length).map_err(Diagnostic::new),
            Amount::Age(_) if value == "0" => Ok(Amount::Age(Age::NotLast(0))),
            Amount::Age(_) => match whole(value) {
                Ok(number) => Ok(Amount::Age(Age::NotLast(number))),
                Err(_) if !value.contains(':') => {
                    Err(Diagnostic::new(format!("`{value}` is neither a number nor a size: {SIZES}")))
                }
                Err(_) => value.parse().map(|size| Amount::Age(Age::Before(size))),
            },
        }
    }
}

/// A change that a rule proposes for a message.
#[derive(Debug, Default)]
pub struct ProposedChange {
    /// The index of the message.
    pub(super) message: usize,
    /// The edits within the message.
    pub(super) edits: Vec<Edit>,
    /// Whether the whole message is removed.
    pub(super) removes_message: bool,
    /// Removed bytes that the archive keeps.
    pub(super) files: Vec<OffloadedFile>,
}

/// The change that replaces a result of so many tokens by a note; nothing where that saves nothing.
pub(super) fn replace_result(
    scene: &Scene<'_, '_>,
    result: &ToolResult<'_, '_>,
    tokens: u64,
    note: &str,
) -> Option<ProposedChange> {
    let mut edits = replace_text(result, note);
    if edits.is_empty() || scene.counter().count_text(note) >= tokens {
        return None;
    }
    edits.extend(scene.without_copies(result));
    Some(ProposedChange { message: result.message, edits, ..ProposedChange::default() })
}

pub(super) fn replace_text(result: &ToolResult<'_, '_>, text: &str) -> Vec<Edit> {
    result.output.replace_with(text).into_iter().map(|(range, text)| Edit { range, text }).collect()
}

/// A text as it is spelled inside the quotes of a string.
pub(super) fn inside_quotes(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// Whether a value is an element of a list, so that a block of text can take its place.
pub(super) fn is_element(source: &str, value: Json<'_>) -> bool {
    source[..value.span().start].trim_end().ends_with(['[', ','])
}
