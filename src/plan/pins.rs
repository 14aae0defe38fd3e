//! Messages before the cut that stay: by the rules of `--pin`, with the messages that belong to them.

use std::str::FromStr;

use regex::Regex;

use crate::transcript::formats::{SummaryPosition, SummaryRole};
use crate::transcript::{Message, Role, Transcript};

use crate::diagnostic::{Diagnostic, nearest, typed_pattern};

use crate::plan::CutPolicy;
use crate::plan::carried::is_named;
use crate::plan::compactions::Compactions;

/// A rule of `--pin`.
#[derive(Debug, Clone)]
pub enum Pin {
    /// System and developer messages.
    System,
    /// The first so many messages.
    First(usize),
    /// Messages whose text matches.
    Match(Regex),
    /// No message. It excludes all other rules.
    None,
}

impl Pin {
    /// Whether the rule pins a message; `place` is its index without a carried summary, `is_earlier` says whether it is an
    /// earlier summary, and `leading` is the number of system messages at the front.
    fn holds(&self, index: usize, place: usize, transcript: &Transcript<'_>, is_earlier: bool, leading: usize) -> bool {
        let message = &transcript.messages[index];
        match self {
            Pin::First(count) => place < *count,
            Pin::None => false,
            Pin::System if !message.role.is_system() => false,
            // The next summary carries an earlier one on. Pinned, it would stay beside all later ones.
            _ if is_earlier => false,
            // System messages at the front can stay there. A later one can only be moved there where the provider
            // accepts a system message among the others.
            Pin::System => index < leading || transcript.format.summary_roles().contains(&SummaryRole::System),
            Pin::Match(regex) => message.content.texts().iter().any(|text| regex.is_match(&text.decode())),
        }
    }
}

impl FromStr for Pin {
    type Err = Diagnostic;

    fn from_str(text: &str) -> Result<Self, Diagnostic> {
        let of_value = |why: String| {
            let start = text.find(':').map_or(0, |colon| colon + 1);
            Diagnostic::new(why).at(start..text.len())
        };
        match text.split_once(':') {
            None if text == "system" => Ok(Pin::System),
            None if text == "none" => Ok(Pin::None),
            Some(("first", count)) => count.parse().ok().filter(|count| *count > 0).map(Pin::First).ok_or_else(|| {
                of_value(format!("`{count}` is not a number of messages from 1 up, as in first:2")).example("first:2")
            }),
            Some(("match", pattern)) => typed_pattern(pattern, |builder| builder).map(Pin::Match).map_err(|wrong| {
                wrong
                    .in_part(text.len() - pattern.len(), pattern.len())
                    .example(format!("match:{}", regex::escape(pattern)))
            }),
            other => {
                let kind = other.map_or(text, |(kind, _)| kind);
                let meant = match other {
                    // Of several rules none is meant alone.
                    _ if text.contains(',') => None,
                    Some(_) => nearest(kind, ["first", "match"]),
                    None => nearest(kind, ["system", "none", "first:2"]),
                };
                Err(Diagnostic::new("expected system, first:N, match:REGEX or none").at(0..kind.len()).meant(meant))
            }
        }
    }
}

/// Returns the last request of the user; messages that a program hides are none.
fn last_request(transcript: &Transcript<'_>) -> Option<usize> {
    let hidden = |message: &Message<'_>| message.additional("hide_from_ui").is_some_and(|mark| !mark.is_falsy());
    let is_request = |message: &Message<'_>| message.role == Role::User && !is_named(message) && !hidden(message);
    transcript.messages.iter().rposition(is_request)
}

/// Whether a program marked a message as a reminder that must stay.
fn is_reminder(message: &Message<'_>) -> bool {
    (message.role == Role::User || message.role.is_system())
        && message.additional("dynamic_context_reminder").is_some_and(|mark| !mark.is_falsy())
}

/// Returns the indices below `cutoff` that stay, in order: those that rules pin and those that must stay, without a
/// carried summary. A pinned call keeps its results, a pinned result its call, a part of a response the other parts. A
/// call without a result does not stay.
pub(super) fn pinned(
    transcript: &Transcript<'_>,
    policy: &CutPolicy,
    carried: Option<usize>,
    cutoff: usize,
) -> Vec<usize> {
    let is_earlier = |index: usize| {
        let message = &transcript.messages[index];
        // Pinned in front of ours, what the user wrote like one would be taken for it in the next run.
        message.earlier || message.role == Role::User && message.opens_with(&policy.summary_prefix)
    };
    pinned_besides(transcript, policy, carried, cutoff, &is_earlier)
}

/// The same where `is_earlier` says which messages are earlier summaries.
pub(super) fn pinned_besides(
    transcript: &Transcript<'_>,
    policy: &CutPolicy,
    carried: Option<usize>,
    cutoff: usize,
    is_earlier: &dyn Fn(usize) -> bool,
) -> Vec<usize> {
    let request = policy.rules.carries.then(|| last_request(transcript)).flatten();
    // An earlier summary at the front does not count as the first message.
    let stands_first = transcript.format.summary_position(transcript) == SummaryPosition::First;
    let first = transcript.messages.first().filter(|first| stands_first && first.earlier);
    let aside = carried.or(first.map(|_| 0));
    let place = |index: usize| index - usize::from(aside.is_some_and(|aside| aside < index));
    let leading = transcript.messages.iter().take_while(|message| message.role.is_system()).count();
    let holds = |index| {
        policy.pins.iter().any(|pin| pin.holds(index, place(index), transcript, is_earlier(index), leading))
            || policy.rules.carries && (Some(index) == request || is_reminder(&transcript.messages[index]))
    };
    let can = |index: usize| transcript.format.can_be_pinned(&transcript.messages[index]);
    let mut stays: Vec<bool> = (0..cutoff).map(|index| Some(index) != aside && holds(index)).collect();
    Compactions::of(transcript, policy).that_stay(cutoff).iter().for_each(|&index| stays[index] = true);
    let joined = joined_to_the_next(&transcript.groups, cutoff);
    let pairs = transcript.pairing.pairs.iter().copied().filter(|(_, result)| *result < cutoff);
    let pairs = pairs.chain(joined.into_iter().map(|index| (index, index + 1)));
    // Mostly only system messages stay, which belong with no other message.
    let matters = pairs.clone().any(|(one, other)| stays[one] || stays[other]);
    let bonds = Bonds::of(if matters { pairs.collect() } else { Vec::new() });
    spread(true, &mut stays, &bonds, |stays| (0..cutoff).filter(|&index| stays[index]).collect());
    // A call without a result is only allowed at the end, not before a summary.
    let unanswered = transcript.pairing.unanswered.iter().map(|call| call.message).filter(|&index| index < cutoff);
    let cannot: Vec<usize> = unanswered.chain((0..cutoff).filter(|&index| !can(index))).collect();
    spread(false, &mut stays, &bonds, |stays| {
        let pinned: Vec<usize> = cannot.into_iter().filter(|&index| stays[index]).collect();
        pinned.iter().for_each(|&index| stays[index] = false);
        pinned
    });
    (0..cutoff).filter(|&index| stays[index]).collect()
}

/// Returns the messages before a cut that belong in one group with the next message.
fn joined_to_the_next(groups: &[(usize, usize)], cutoff: usize) -> Vec<usize> {
    if groups.is_empty() {
        return Vec::new();
    }
    let mut change = vec![0i64; cutoff + 1];
    for &(first, last) in groups.iter().filter(|(_, last)| *last < cutoff) {
        change[first] += 1;
        change[last] -= 1;
    }
    let mut open = 0;
    let joined = change.iter().enumerate().filter_map(|(index, change)| {
        open += change;
        (open > 0).then_some(index)
    });
    joined.collect()
}

/// Pairs of messages that belong together.
struct Bonds {
    /// Each pair in both directions, in order.
    pairs: Vec<(usize, usize)>,
}

impl Bonds {
    fn of(mut pairs: Vec<(usize, usize)>) -> Self {
        pairs.extend_from_within(..);
        let half = pairs.len() / 2;
        pairs[half..].iter_mut().for_each(|(one, other)| std::mem::swap(one, other));
        // Both halves are almost in order, which makes this sort fast.
        pairs.sort();
        Bonds { pairs }
    }

    /// Returns the messages that belong with one.
    fn with(&self, index: usize) -> impl Iterator<Item = usize> {
        let first = self.pairs.partition_point(|(one, _)| *one < index);
        self.pairs[first..].iter().take_while(move |(one, _)| *one == index).map(|(_, other)| *other)
    }
}

/// Sets `value` for all messages that belong, directly or not, with those that `first` returns.
fn spread(value: bool, stays: &mut [bool], bonds: &Bonds, first: impl FnOnce(&mut [bool]) -> Vec<usize>) {
    let mut todo = first(stays);
    while let Some(index) = todo.pop() {
        for other in bonds.with(index) {
            if stays[other] != value {
                stays[other] = value;
                todo.push(other);
            }
        }
    }
}
