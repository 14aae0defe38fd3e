//! What a provider asks of the order of messages, as data: formats fill it in, the planner cuts by it, and violations are
//! found by it.

use crate::transcript::message::{Content, Message, PartKind, Role};

/// What a provider asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Order {
    /// Where the results of calls must stand.
    pub(crate) results: Results,
    /// Whether the user speaks first, standing instructions aside.
    pub(crate) user_first: bool,
    /// Whether user and model must take turns.
    pub(crate) alternates: bool,
    /// Whether nobody but the model may speak after a result.
    pub(crate) model_after_results: bool,
    /// Whether a message of the model that calls must follow one of the user's, or results.
    pub(crate) calls_after_user: bool,
    /// Whether results come before all else in their message.
    pub(crate) results_first: bool,
    /// Whether `user_first` and `calls_after_user` hold for what is written and not for what is read, since the provider, or
    /// some of its models, accept other orders as well.
    pub(crate) lenient: bool,
    /// Whether the provider keeps some calls itself, so that a result may have none in the transcript.
    pub(crate) calls_elsewhere: bool,
}

/// Where the results of calls must stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Results {
    /// Anywhere.
    Unchecked,
    /// After their call.
    Behind,
    /// After their call, with nothing but calls and results between.
    Grouped,
    /// Directly after the message that calls, with nothing but results between.
    Following,
    /// All in the one message directly after.
    Next,
}

impl Order {
    /// The order of a provider that only wants calls and results together.
    pub(crate) const fn of(results: Results) -> Self {
        Order {
            results,
            user_first: false,
            alternates: false,
            model_after_results: false,
            calls_after_user: false,
            results_first: false,
            lenient: false,
            calls_elsewhere: false,
        }
    }

    /// What the provider asks of messages that are read.
    pub(crate) const fn in_reading(self) -> Self {
        Order {
            user_first: self.user_first && !self.lenient,
            calls_after_user: self.calls_after_user && !self.lenient,
            ..self
        }
    }

    /// The rule that a message with the turn `after` breaks where it follows one with the turn `before`, or is the first.
    pub(crate) fn refuses(&self, before: Option<Turn>, after: Turn) -> Option<&'static str> {
        let model = |turn: Turn| matches!(turn, Turn::Model | Turn::Calls);
        // Results with a role of their own are nobody's turn.
        let in_users = self.results == Results::Next;
        let user = |turn: Turn| turn == Turn::User || in_users && turn == Turn::Results;
        let Some(before) = before else {
            return (self.user_first && model(after)).then_some("the user must speak first");
        };
        if self.alternates && (user(before) && user(after) || model(before) && model(after)) {
            return Some("user and model must take turns");
        }
        if self.model_after_results && before == Turn::Results && after == Turn::User {
            return Some("only the model may speak after a tool's result");
        }
        (self.calls_after_user && model(before) && after == Turn::Calls)
            .then_some("a call must come directly behind a user's message or behind results")
    }
}

/// Whose turn a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// The user's.
    User,
    /// Nothing but results of calls.
    Results,
    /// The model's.
    Model,
    /// The model's, with calls.
    Calls,
}

impl Turn {
    /// Whose turn a message is; nobody's if it gives standing instructions, or if no provider knows its role.
    pub(crate) fn of(message: &Message<'_>) -> Option<Turn> {
        match message.role {
            Role::System | Role::Developer | Role::Other => None,
            Role::Tool | Role::Function => Some(Turn::Results),
            Role::User if !message.answers.is_empty() && !message.is_user_turn() => Some(Turn::Results),
            Role::User => Some(Turn::User),
            Role::Assistant if message.calls.is_empty() => Some(Turn::Model),
            Role::Assistant => Some(Turn::Calls),
        }
    }
}

/// Whether something else stands before a result in its message.
pub(crate) fn results_come_late(message: &Message<'_>) -> bool {
    let Content::Parts(parts) = &message.content else { return false };
    let is_result = |kind: &PartKind<'_>| matches!(kind, PartKind::Result(_));
    let last = parts.iter().rposition(|part| is_result(&part.kind));
    message.role == Role::User && last.is_some_and(|last| parts[..last].iter().any(|part| !is_result(&part.kind)))
}
