//! Messages before the cut that stay: by the rules of `--pin`, with the messages that belong to them.

use std::collections::HashSet;
use std::str::FromStr;

use regex::Regex;

use crate::tokens::Tally;
use crate::transcript::formats::{SummaryPosition, SummaryRole};
use crate::transcript::speaker::{is_handed_over, is_interruption, said_texts, words_of_texts};
use crate::transcript::text_calls::{answered_call, first_block, has_call, is_shell_output};
use crate::transcript::{Message, Part, PartKind, Role, Transcript};

use crate::diagnostic::{Diagnostic, nearest, typed_pattern};

use crate::plan::CutPolicy;
use crate::plan::carried::is_named;
use crate::plan::compactions::Compactions;
use crate::plan::size::Size;

/// A rule of `--pin`.
#[derive(Debug, Clone)]
pub enum Pin {
    /// System and developer messages.
    System,
    /// The first so many messages.
    First(usize),
    /// Messages whose text matches.
    Match(Regex),
    /// What the user said, the newest messages first, up to a size. `messages:N`, `turns:N` and `bytes:N` count these
    /// messages; `steps:N` are not the user's.
    User(Option<Size>),
    /// No message, and none that the rules before it pin.
    None,
}

impl Pin {
    /// Whether the rule pins a message; `place` is its index without a carried summary, `is_earlier` says whether it is an
    /// earlier summary, and `leading` is the number of messages at the front: system messages, and an earlier summary
    /// that stands before them.
    fn holds(&self, index: usize, place: usize, transcript: &Transcript<'_>, is_earlier: bool, leading: usize) -> bool {
        let message = &transcript.messages[index];
        match self {
            Pin::First(count) => place < *count,
            Pin::User(_) | Pin::None => false,
            Pin::System if !message.role.is_system() => false,
            // The next summary carries an earlier one on. Pinned, it would stay beside all later ones.
            _ if is_earlier => false,
            // System messages at the front can stay there. A later one can only be moved there where the provider
            // accepts a system message among the others.
            Pin::System => index < leading || transcript.format.summary_roles.contains(&SummaryRole::System),
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
            None if text == "user" => Ok(Pin::User(None)),
            Some(("user", size)) => {
                let parsed = size.parse().map_err(|error: Diagnostic| error.in_part("user:".len(), size.len()));
                match parsed? {
                    Size::Steps(number) => {
                        Err(of_value("steps are the assistant's: count the user's messages".to_owned())
                            .meant(Some(format!("messages:{number}"))))
                    }
                    size => Ok(Pin::User(Some(size))),
                }
            }
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
                    Some(_) => nearest(kind, ["first", "match", "user"]),
                    None => nearest(kind, ["system", "user", "none", "first:2"]),
                };
                let expected = "expected system, user, user:SIZE, first:N, match:REGEX or none";
                Err(Diagnostic::new(expected).at(0..kind.len()).meant(meant))
            }
        }
    }
}

/// The last request of the user; messages that a program hides are none.
fn last_request(transcript: &Transcript<'_>) -> Option<usize> {
    let is_request = |message: &Message<'_>| message.role == Role::User && !is_named(message) && !is_hidden(message);
    transcript.messages.iter().rposition(is_request)
}

/// Whether a program hides a message from the user.
fn is_hidden(message: &Message<'_>) -> bool {
    message.additional("hide_from_ui").is_some_and(|mark| !mark.is_falsy())
}

/// Whether a program marked a message as a reminder that must stay.
fn is_reminder(message: &Message<'_>) -> bool {
    (message.role == Role::User || message.role.is_system())
        && message.additional("dynamic_context_reminder").is_some_and(|mark| !mark.is_falsy())
}

/// What decides which messages are pinned.
pub(super) struct PinRules<'p, 'a> {
    pub(super) transcript: &'p Transcript<'a>,
    pub(super) policy: &'p CutPolicy,
    /// The message with the earlier summary that the next one carries on.
    pub(super) carried: Option<usize>,
    /// The sizes of the messages. Without them, a rule pins what it would at any size.
    pub(super) tally: Option<&'p Tally<'p, 'p>>,
}

impl PinRules<'_, '_> {
    /// The indices below `cutoff` that stay, in order: those that rules pin and those that must stay, without a carried
    /// summary. A pinned call keeps its results, a pinned result its call, a part of a response the other parts. A call
    /// without a result does not stay.
    pub(super) fn pinned(&self, cutoff: usize) -> Vec<usize> {
        let is_earlier = |index: usize| {
            let message = &self.transcript.messages[index];
            // Pinned in front of ours, what the user wrote like one would be taken for it in the next run.
            message.earlier || message.role == Role::User && message.opens_with(&self.policy.summary_prefix)
        };
        self.pinned_besides(cutoff, &is_earlier)
    }

    /// The same where `is_earlier` says which messages are earlier summaries.
    pub(super) fn pinned_besides(&self, cutoff: usize, is_earlier: &dyn Fn(usize) -> bool) -> Vec<usize> {
        let PinRules { transcript, policy, carried, .. } = *self;
        let pins = policy.pins.rsplit(|pin| matches!(pin, Pin::None)).next().unwrap_or_default();
        let request = policy.rules.carries.then(|| last_request(transcript)).flatten();
        // An earlier summary at the front does not count as the first message.
        let stands_first = transcript.format.summary_position_in(transcript) == SummaryPosition::First;
        let first = transcript.messages.first().filter(|first| stands_first && first.earlier);
        let aside = carried.or(first.map(|_| 0));
        let place = |index: usize| index - usize::from(aside.is_some_and(|aside| aside < index));
        let behind_summary = usize::from(first.is_some());
        let others = transcript.messages.iter().skip(behind_summary);
        let leading = behind_summary + others.take_while(|message| message.role.is_system()).count();
        let holds = |index| {
            pins.iter().any(|pin| pin.holds(index, place(index), transcript, is_earlier(index), leading))
                || policy.rules.carries && (Some(index) == request || is_reminder(&transcript.messages[index]))
        };
        let mut stays: Vec<bool> = (0..cutoff).map(|index| Some(index) != aside && holds(index)).collect();
        Compactions::of(transcript, policy).that_stay(cutoff).iter().for_each(|&index| stays[index] = true);
        let by_user = pins.iter().flat_map(|pin| match pin {
            Pin::User(size) => self.of_user(*size, cutoff, is_earlier),
            _ => Vec::new(),
        });
        by_user.for_each(|index| stays[index] = true);
        if pins.iter().any(|pin| matches!(pin, Pin::System)) {
            last_settings(transcript, cutoff).into_iter().for_each(|index| stays[index] = true);
        }
        policy.typed.iter().filter(|index| **index < cutoff).for_each(|&index| stays[index] = true);
        let joined = joined_to_the_next(&transcript.groups, cutoff);
        let pairs = transcript.pairing.pairs.iter().copied().filter(|(_, result)| *result < cutoff);
        let pairs = pairs.chain(joined.into_iter().map(|index| (index, index + 1)));
        // Mostly only system messages stay, which belong with no other message.
        let matters = pairs.clone().any(|(one, other)| stays[one] || stays[other]);
        let bonds = Bonds::of(if matters { pairs.collect() } else { Vec::new() });
        spread(true, &mut stays, &bonds, |stays| (0..cutoff).filter(|&index| stays[index]).collect());
        // A call without a result is only allowed at the end, not before a summary.
        let unanswered = transcript.pairing.unanswered.iter().map(|call| call.message).filter(|&index| index < cutoff);
        let cannot: Vec<usize> =
            unanswered.chain((0..cutoff).filter(|&index| transcript.messages[index].is_boundary)).collect();
        spread(false, &mut stays, &bonds, |stays| {
            let pinned: Vec<usize> = cannot.into_iter().filter(|&index| stays[index]).collect();
            pinned.iter().for_each(|&index| stays[index] = false);
            pinned
        });
        (0..cutoff).filter(|&index| stays[index]).collect()
    }

    /// The messages below `cutoff` that the user said, the newest first, up to the size of a rule.
    fn of_user(&self, size: Option<Size>, cutoff: usize, is_earlier: &dyn Fn(usize) -> bool) -> Vec<usize> {
        let messages = &self.transcript.messages;
        let said = |index: &usize| !is_earlier(*index) && is_said_by_user(messages, *index);
        let said = (0..cutoff).rev().filter(said);
        let Some((size, tally)) = size.zip(self.tally) else { return said.collect() };
        let mut left = match size {
            Size::Messages(number) | Size::Turns(number) | Size::Bytes(number) => number,
            size => size.in_tokens(self.policy.context_window).unwrap_or(u64::MAX),
        };
        let own = |index: usize| match size {
            Size::Messages(_) | Size::Turns(_) => 1,
            Size::Bytes(_) => messages[index].span().len() as u64,
            _ => tally.message(index),
        };
        let fits = |index: &usize| {
            let next = left.checked_sub(own(*index));
            left = next.unwrap_or_default();
            next.is_some()
        };
        said.take_while(fits).collect()
    }
}

/// The messages below `cutoff` that were the last to set something.
fn last_settings(transcript: &Transcript<'_>, cutoff: usize) -> Vec<usize> {
    let mut known = HashSet::new();
    let mut last = Vec::new();
    for index in (0..cutoff).rev() {
        let names = transcript.format.settings_of(&transcript.messages[index]);
        let before = known.len();
        known.extend(names);
        if known.len() > before {
            last.push(index);
        }
    }
    last
}

/// The messages from `start` on that hold nothing but text that a person typed, in order. Each can stay alone: none is
/// part of a group, and none has a picture or a result, which pruning may take.
pub fn typed(transcript: &Transcript<'_>, policy: &CutPolicy, start: usize) -> Vec<usize> {
    let messages = &transcript.messages;
    let mut is_grouped = vec![false; messages.len() + 1];
    for index in joined_to_the_next(&transcript.groups, messages.len()) {
        is_grouped[index] = true;
        is_grouped[index + 1] = true;
    }
    let is_alone = |index: usize| {
        let message = &messages[index];
        !is_grouped[index]
            && message.results.is_empty()
            && message.calls.is_empty()
            && !message.has_media()
            && !message.is_boundary
    };
    let is_summary = |message: &Message<'_>| message.earlier || message.opens_with(&policy.summary_prefix);
    let stays = |&index: &usize| is_alone(index) && !is_summary(&messages[index]) && is_said_by_user(messages, index);
    (start..messages.len()).filter(stays).collect()
}

/// Whether a person says something in a message, beside what programs insert and what tools answer.
pub fn is_said_by_user(messages: &[Message<'_>], index: usize) -> bool {
    let message = &messages[index];
    if !message.is_user_turn() || message.is_marked_as_inserted() || is_hidden(message) || is_named(message) {
        return false;
    }
    let said = said_texts(message);
    let text = said.read();
    let shows = |part: &Part<'_>| matches!(part.kind, PartKind::Media(_));
    let words = words_of_texts(said.strings());
    let speaks = words.lines().any(|line| !line.trim().is_empty() && !is_interruption(line));
    let answer = || Some(messages.get(index + 1)?.whole_text());
    let is_output = || is_output(message, messages.get(index.wrapping_sub(1)), &text, &words);
    message.content.parts().iter().any(shows) || speaks && !is_handed_over(&text, answer) && !is_output()
}

/// Whether a message in the user's place is the output of a command in the one before it. That of one behind a summary is
/// gone.
fn is_output(message: &Message<'_>, before: Option<&Message<'_>>, text: &str, words: &str) -> bool {
    let Some(before) = before else { return false };
    if before.earlier {
        let is_marked = || message.json.get_text("message_type").is_some_and(|kind| kind.is("observation"));
        return is_shell_output(words, false) || is_marked();
    }
    let said = before.whole_text();
    let commands = || before.command_beside().is_some();
    let shows_command = || has_call(&said) || first_block(&said).is_some();
    let answers = || answered_call(&said, text).is_some() || is_shell_output(words, true) && shows_command();
    before.role == Role::Assistant && (commands() || answers())
}

/// The messages before a cut that belong in one group with the next message.
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

    /// The messages that belong with one.
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
