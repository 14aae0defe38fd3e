//! Messages before the cut that stay: which ones, and what they bring along.

use std::str::FromStr;

use regex::Regex;

use crate::transcript::formats::{SummaryPosition, SummaryRole};
use crate::transcript::{Message, Role, Transcript};

use crate::diagnostic::{Diagnostic, nearest};

use crate::plan::Policy;
use crate::plan::carried::is_named;

/// A rule by which messages stay.
#[derive(Debug, Clone)]
pub enum Pin {
    /// Messages with standing instructions.
    System,
    /// The first so many messages.
    First(usize),
    /// Messages whose text matches.
    Match(Regex),
    /// No message; stands alone.
    None,
}

impl Pin {
    /// Whether the rule keeps a message; `place` is where it would stand without a summary that is carried on.
    fn holds(&self, index: usize, place: usize, transcript: &Transcript<'_>, policy: &Policy) -> bool {
        let message = &transcript.messages[index];
        match self {
            Pin::First(count) => place < *count,
            Pin::None => false,
            Pin::System if !message.role.is_system() => false,
            // An earlier summary is carried on by the next, and does not stand beside it for ever.
            _ if message.is_summary(&policy.summary_prefix) => false,
            // What stands in front may stay there. What came later may only be moved there where the format's provider
            // accepts a system message among the others, as it then would a summary.
            Pin::System => {
                transcript.format.summary_roles().contains(&SummaryRole::System)
                    || transcript.messages[..index].iter().all(|message| message.role.is_system())
            }
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
            Some(("match", pattern)) => Regex::new(pattern).map(Pin::Match).map_err(|error| {
                // The library's account ends with the line that says what is wrong.
                let what = error.to_string();
                let what = what.lines().last().unwrap_or_default().trim().trim_start_matches("error: ");
                let literal = format!("match:{}", regex::escape(pattern));
                of_value(format!("`{pattern}` is not a regular expression: {what}")).example(literal)
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

/// The last message in which the user, and not a program, asks for something.
fn last_request(transcript: &Transcript<'_>) -> Option<usize> {
    let hidden = |message: &Message<'_>| message.additional("hide_from_ui").is_some_and(|mark| !mark.is_falsy());
    let is_request = |message: &Message<'_>| message.role == Role::User && !is_named(message) && !hidden(message);
    transcript.messages.iter().rposition(is_request)
}

/// Whether a program marked a message as a reminder that is to stay.
fn is_reminder(message: &Message<'_>) -> bool {
    (message.role == Role::User || message.role.is_system())
        && message.additional("dynamic_context_reminder").is_some_and(|mark| !mark.is_falsy())
}

/// The indices below `cutoff` that stay, in order, but for a summary that is carried on: those that rules hold and those
/// that must. A pinned call keeps its results
/// and a pinned result its call, a part of a response the other parts, and so on, so that nothing that stays is left
/// without its other half. What is without it anyway goes.
pub(super) fn pinned(
    transcript: &Transcript<'_>,
    policy: &Policy,
    carried: Option<usize>,
    must_stay: &[usize],
    cutoff: usize,
) -> Vec<usize> {
    let request = policy.rules.carries.then(|| last_request(transcript)).flatten();
    // Where a summary stands first, what is pinned behind it is still the first that was said.
    let stands_first = transcript.format.summary_position(transcript) == SummaryPosition::First;
    let first = transcript.messages.first().filter(|first| stands_first && first.is_summary(&policy.summary_prefix));
    let aside = carried.or(first.map(|_| 0));
    let place = |index: usize| index - usize::from(aside.is_some_and(|aside| aside < index));
    let holds = |index| {
        policy.pins.iter().any(|pin| pin.holds(index, place(index), transcript, policy))
            || policy.rules.carries && (Some(index) == request || is_reminder(&transcript.messages[index]))
    };
    let can = |index: usize| transcript.format.can_be_pinned(&transcript.messages[index]);
    let mut stays: Vec<bool> = (0..cutoff).map(|index| Some(index) != aside && holds(index)).collect();
    must_stay.iter().for_each(|&index| stays[index] = true);
    let joined = joined_to_the_next(&transcript.groups, cutoff);
    let pairs = transcript.pairing.pairs.iter().copied().filter(|(_, result)| *result < cutoff);
    let pairs = pairs.chain(joined.into_iter().map(|index| (index, index + 1)));
    // Mostly nothing stays but standing instructions, which belong with no other message.
    let matters = pairs.clone().any(|(one, other)| stays[one] || stays[other]);
    let others = Others::of(if matters { pairs.collect() } else { Vec::new() });
    spread(true, &mut stays, &others, |stays| (0..cutoff).filter(|&index| stays[index]).collect());
    // A call that nothing answers may be the last thing said, and not stand before a summary.
    let unanswered = transcript.pairing.unanswered.iter().map(|call| call.message).filter(|&index| index < cutoff);
    let cannot: Vec<usize> = unanswered.chain((0..cutoff).filter(|&index| !can(index))).collect();
    spread(false, &mut stays, &others, |stays| {
        let pinned: Vec<usize> = cannot.into_iter().filter(|&index| stays[index]).collect();
        pinned.iter().for_each(|&index| stays[index] = false);
        pinned
    });
    (0..cutoff).filter(|&index| stays[index]).collect()
}

/// The messages before a cut that are in one bond with the next.
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

/// Messages that belong together, two by two.
struct Others {
    /// Both ways, in order.
    pairs: Vec<(usize, usize)>,
}

impl Others {
    fn of(mut pairs: Vec<(usize, usize)>) -> Self {
        pairs.extend_from_within(..);
        let half = pairs.len() / 2;
        pairs[half..].iter_mut().for_each(|(one, other)| std::mem::swap(one, other));
        // Either way they are about in order, which this sort makes use of.
        pairs.sort();
        Others { pairs }
    }

    /// The messages that belong with one.
    fn with(&self, index: usize) -> impl Iterator<Item = usize> {
        let first = self.pairs.partition_point(|(one, _)| *one < index);
        self.pairs[first..].iter().take_while(move |(one, _)| *one == index).map(|(_, other)| *other)
    }
}

/// Has what is true of the messages that `first` names be true of all that belong with them.
fn spread(value: bool, stays: &mut [bool], others: &Others, first: impl FnOnce(&mut [bool]) -> Vec<usize>) {
    let mut todo = first(stays);
    while let Some(index) = todo.pop() {
        for other in others.with(index) {
            if stays[other] != value {
                stays[other] = value;
                todo.push(other);
            }
        }
    }
}
