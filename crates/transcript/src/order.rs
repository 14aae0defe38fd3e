//! The order of messages that a provider demands, as data. Formats fill it in, the planner cuts by it, and violations
//! are found with it.

use crate::json::Object;
use crate::message::{Content, Message, Part, PartKind, Role};

/// The rules of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MessageOrder {
    /// Where tool results must be.
    pub results: ResultPlacement,
    /// Whether the first message after standing instructions must be the user's.
    pub user_first: bool,
    /// Whether user and model must alternate.
    pub alternates: bool,
    /// Whether only the model may follow a result.
    pub model_after_results: bool,
    /// Whether a message of the model with calls must follow a message of the user or results.
    pub calls_after_user: bool,
    /// Whether results must come first in their message.
    pub results_first: bool,
    /// Whether `user_first` and `calls_after_user` hold only for what is written, because the provider, or some of its
    /// models, also accepts other orders.
    pub lenient: bool,
    /// Whether no two calls may have the same id.
    pub unique_ids: bool,
    /// Which texts are accepted.
    pub texts: Texts,
    /// Whether the provider stores some calls itself, so that a result may have no call in the transcript.
    pub calls_elsewhere: bool,
    /// Which ids of calls are accepted.
    pub call_ids: Spelling,
    /// Which names of tools are accepted.
    pub tool_names: Spelling,
    /// Whether the input of a call must be an object.
    pub object_inputs: bool,
    /// Whether results must be text.
    pub text_results: bool,
    /// Whether the number of cache marks is limited.
    pub few_marks: bool,
    /// Whether groups that begin with thinking exist because of it. Removing the thinking then dissolves the group.
    pub groups_by_thinking: bool,
    /// Whether the provider knows from ids which reasoning led to what the model made, and rejects the one without the
    /// other.
    pub binds_reasoning: bool,
}

/// Finds the order that a provider demands, from the object around the messages and from them.
type FindOrder = fn(Option<&Object<'_>>, &[Message<'_>]) -> MessageOrder;

/// How a format tells the order that its provider demands.
#[derive(Debug)]
pub enum OrderRule {
    Always(MessageOrder),
    /// It depends on the model or on the messages.
    Depends(FindOrder),
}

impl OrderRule {
    /// The rule of a provider that only wants calls and results together.
    pub const fn of(results: ResultPlacement) -> Self {
        OrderRule::Always(MessageOrder::of(results))
    }
}

/// Which texts are accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Texts {
    /// All, and none.
    #[default]
    Any,
    /// All, but a message must have a content or calls.
    Some,
    /// Those with at least one character.
    NotEmpty,
    /// Those with at least one character that is not white space.
    NotBlank,
}

/// Where tool results must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ResultPlacement {
    #[default]
    Unchecked,
    /// After their call.
    Behind,
    /// After their call, with nothing but calls and results between.
    Grouped,
    /// Directly after the message with the calls, with nothing but results between.
    Following,
    /// All in the one message directly after.
    Next,
}

/// What a provider takes as the id of a call or the name of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Spelling {
    #[default]
    Any,
    /// Letters, digits, `_` and `-`, at most so many.
    Word(usize),
    /// Dots and colons besides, at most so many.
    Id(usize),
    /// The same, behind a letter or `_`.
    Name(usize),
}

impl Spelling {
    /// Whether a provider takes a text.
    pub fn takes(self, text: &str) -> bool {
        let begins_as_name = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        if matches!(self, Spelling::Name(_)) && !begins_as_name {
            return false;
        }
        text.len() <= self.most() && text.chars().all(|c| self.takes_char(c))
    }

    fn most(self) -> usize {
        match self {
            Spelling::Any => usize::MAX,
            Spelling::Word(most) | Spelling::Id(most) | Spelling::Name(most) => most,
        }
    }

    fn takes_char(self, c: char) -> bool {
        let is_word = c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        match self {
            Spelling::Any => true,
            Spelling::Word(_) => is_word,
            Spelling::Id(_) | Spelling::Name(_) => is_word || matches!(c, '.' | ':'),
        }
    }

    /// A text that a provider takes, as near to another one as it can be.
    pub fn nearest(self, text: &str) -> String {
        let mut near: String = text.chars().map(|c| if self.takes_char(c) { c } else { '_' }).collect();
        if near.is_empty() || !self.takes(&near) && near.len() <= self.most() {
            near.insert(0, '_');
        }
        near.truncate(near.floor_char_boundary(self.most()));
        if !self.takes(&near) {
            near.replace_range(..1, "_");
        }
        near
    }
}

impl MessageOrder {
    /// Creates the order of a provider that only wants calls and results together.
    pub const fn of(results: ResultPlacement) -> Self {
        MessageOrder {
            results,
            user_first: false,
            alternates: false,
            model_after_results: false,
            calls_after_user: false,
            results_first: false,
            lenient: false,
            unique_ids: false,
            texts: Texts::Any,
            calls_elsewhere: false,
            call_ids: Spelling::Any,
            tool_names: Spelling::Any,
            object_inputs: false,
            text_results: false,
            few_marks: false,
            groups_by_thinking: false,
            binds_reasoning: false,
        }
    }

    /// The rules for messages that are read.
    pub const fn in_reading(self) -> Self {
        MessageOrder {
            user_first: self.user_first && !self.lenient,
            calls_after_user: self.calls_after_user && !self.lenient,
            ..self
        }
    }

    /// The rule that a message with the turn `after` breaks if it follows one with the turn `before`, or comes first.
    pub fn refuses(&self, before: Option<Turn>, after: Turn) -> Option<&'static str> {
        let Some(before) = before else {
            return if self.user_first && after.is_models() { Some("the user must speak first") } else { None };
        };
        let is_same_speaker = self.is_users(before) && self.is_users(after) || before.is_models() && after.is_models();
        if self.alternates && is_same_speaker {
            return Some("user and model must take turns");
        }
        if self.model_after_results && before == Turn::Results && after == Turn::User {
            return Some("only the model may speak after a tool's result");
        }
        if self.calls_after_user && before.is_models() && after == Turn::Calls {
            return Some("a call must come directly behind a user's message or behind results");
        }
        None
    }

    /// Whether a turn is the user's. Results with their own role are nobody's turn.
    fn is_users(&self, turn: Turn) -> bool {
        match turn {
            Turn::User => true,
            Turn::Results => self.results == ResultPlacement::Next,
            Turn::Model | Turn::Calls => false,
        }
    }
}

/// The turn that a message belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// The user's.
    User,
    /// Nothing but tool results.
    Results,
    /// The model's.
    Model,
    /// The model's, with calls.
    Calls,
}

impl Turn {
    fn is_models(self) -> bool {
        matches!(self, Turn::Model | Turn::Calls)
    }

    /// The turn of a message; `None` for standing instructions and unknown roles.
    pub fn of(message: &Message<'_>) -> Option<Turn> {
        match message.role {
            Role::System | Role::Developer | Role::Other => None,
            Role::Tool | Role::Function => Some(Turn::Results),
            Role::User if !message.results.is_empty() && !message.is_user_turn() => Some(Turn::Results),
            Role::User => Some(Turn::User),
            Role::Assistant if message.calls.is_empty() => Some(Turn::Model),
            Role::Assistant => Some(Turn::Calls),
        }
    }
}

/// Whether a result in a message follows a part of another kind.
pub fn results_come_late(message: &Message<'_>) -> bool {
    let Content::Parts(parts) = &message.content else { return false };
    let Some(last) = parts.iter().rposition(is_result) else { return false };
    message.role == Role::User && !parts[..last].iter().all(is_result)
}

fn is_result(part: &Part<'_>) -> bool {
    matches!(part.kind, PartKind::Result(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_text_becomes_the_nearest_accepted_one() {
        for spelling in [Spelling::Word(64), Spelling::Name(8), Spelling::Id(9), Spelling::Any] {
            for text in ["", "a", "a b", "é", "1.2", "-x", "functions.search:0", "a|b", &"long".repeat(99)] {
                let near = spelling.nearest(text);
                assert!(spelling.takes(&near) && !near.is_empty(), "{spelling:?} {text}: {near}");
                assert!(text.is_empty() || !spelling.takes(text) || near == text, "{text}: {near}");
            }
        }
    }
}
