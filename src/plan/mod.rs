//! Where to cut: triggers, what is kept, pairs and pins.
//!
//! [`plan`] is pure and cannot fail. What it needs to know of sizes it asks a [`Tally`], which counts no more than the
//! answer takes.

mod cutoff;
pub mod pairs;
pub mod pins;
pub mod size;

use crate::tokens::Tally;
use crate::transcript::{Message, Transcript};

use pairs::Pairing;
use pins::Pin;
use size::Size;

/// The rules of a compaction.
#[derive(Debug, Clone)]
pub struct Policy {
    /// Compact when all sizes of one of these are reached; always, where there are none.
    pub triggers: Vec<Vec<Size>>,
    /// How much of the end stays.
    pub keep: Size,
    /// Which messages before the cut stay too.
    pub pins: Vec<Pin>,
    /// The context window, in tokens, where it is known.
    pub context_window: Option<u64>,
    /// Tokens that are sent with every request beside the messages.
    pub overhead_tokens: u64,
    /// What a summary message begins with, by which an earlier one is known.
    pub summary_prefix: String,
    /// What is summarized must have more tokens than this, the smallest a summary message can have; 0 for no such rule.
    pub smallest_summary: u64,
}

/// What is to be done with one conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Whether a trigger fired, or none was needed.
    pub triggered: bool,
    /// The trigger that fired.
    pub fired: Option<Vec<Size>>,
    /// Where `keep` alone would cut.
    pub wanted: usize,
    /// Where the cut falls: messages before it are summarized, but for the pinned ones. 0 where nothing is replaced.
    pub cutoff: usize,
    /// Why the cut is not where it was wanted.
    pub moved_because: Option<String>,
    /// Indices of the messages before the cut that stay, in order.
    pub pinned: Vec<usize>,
    /// Why nothing is replaced.
    pub reason: Option<String>,
}

impl Plan {
    /// The messages that a summary replaces, in order.
    pub fn summarized(&self) -> Vec<usize> {
        let mut pinned = self.pinned.iter().peekable();
        (0..self.cutoff).filter(|index| pinned.next_if_eq(&index).is_none()).collect()
    }

    fn nothing(mut self, reason: String) -> Self {
        self.cutoff = 0;
        self.pinned = Vec::new();
        self.moved_because = None;
        self.reason = Some(reason);
        self
    }
}

/// Decides whether and where to cut a conversation.
pub fn plan(transcript: &Transcript<'_>, tally: &Tally<'_, '_>, policy: &Policy) -> Plan {
    let messages = transcript.messages.as_slice();
    let fired = policy.triggers.iter().find(|clause| clause.iter().all(|size| reached(*size, messages, tally, policy)));
    let mut plan = Plan {
        triggered: fired.is_some() || policy.triggers.is_empty(),
        fired: fired.cloned(),
        wanted: 0,
        cutoff: 0,
        moved_because: None,
        pinned: Vec::new(),
        reason: None,
    };
    if messages.is_empty() {
        return plan.nothing("there are no messages".to_owned());
    }
    if !plan.triggered {
        return plan.nothing("no trigger was reached".to_owned());
    }
    plan.wanted = cutoff::wanted(messages, tally, policy);
    if plan.wanted == 0 {
        return plan.nothing(format!("the whole conversation is within --keep {}", policy.keep));
    }
    let pairing = Pairing::of(messages);
    let (cut, moved_because) = cutoff::strict(messages, &pairing, plan.wanted);
    if cut == 0 {
        let why = moved_because.unwrap_or_default();
        return plan.nothing(format!("there is no safe cut: {why}, and so on to the beginning"));
    }
    plan.cutoff = cut;
    plan.moved_because = moved_because;
    plan.pinned = pins::pinned(transcript, policy, &pairing, cut);
    match not_worth_it(&plan, messages, tally, policy) {
        Some(reason) => plan.nothing(reason),
        None => plan,
    }
}

/// Why a cut gains nothing, where it gains nothing.
fn not_worth_it(plan: &Plan, messages: &[Message<'_>], tally: &Tally<'_, '_>, policy: &Policy) -> Option<String> {
    let summarized = plan.summarized();
    match summarized.as_slice() {
        [] => Some("every message before the cut is pinned".to_owned()),
        [only] if is_summary(&messages[*only], policy) => {
            Some("nothing but an earlier summary stands before the cut".to_owned())
        }
        _ if policy.smallest_summary > 0 && !tally.reaches(&summarized, policy.smallest_summary + 1) => Some(format!(
            "what stands before the cut is too small for a summary to be smaller ({} tokens)",
            tally.sum(&summarized)
        )),
        _ => None,
    }
}

fn reached(size: Size, messages: &[Message<'_>], tally: &Tally<'_, '_>, policy: &Policy) -> bool {
    match size {
        Size::Messages(least) => messages.len() as u64 >= least,
        Size::Turns(least) => messages.iter().filter(|message| is_turn(message, policy)).count() as u64 >= least,
        Size::Tokens(_) | Size::Fraction(_) => size.in_tokens(policy.context_window).is_some_and(|least| {
            let all: Vec<usize> = (0..messages.len()).collect();
            tally.reaches(&all, least.saturating_sub(policy.overhead_tokens))
        }),
    }
}

/// Whether a turn begins here: a person speaks, not a tool and not an earlier summary.
fn is_turn(message: &Message<'_>, policy: &Policy) -> bool {
    message.is_user_turn() && !is_summary(message, policy)
}

/// Whether a message is the summary of an earlier compaction, told by how it begins.
pub fn is_summary(message: &Message<'_>, policy: &Policy) -> bool {
    let prefix = policy.summary_prefix.trim_end();
    !prefix.is_empty() && message.content.texts().first().is_some_and(|text| text.starts_with(prefix))
}

#[cfg(test)]
mod tests;
