//! Messages before the cut that stay: by the rules of `--pin`, with the messages that belong to them.

use std::collections::HashSet;
use std::str::FromStr;

use regex::Regex;

use crate::tokens::Tally;
use crate::transcript::formats::{SummaryPosition, SummaryRole};
use crate::transcript::speaker::{is_handed_over, is_interruption, said_texts, words_of_texts};
use crate::transcript::text_calls::{answered_call, first_block, has_call, is_shell_output};
use crate::transcript::{Message, PartKind, Role, Transcript};

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
        let Some((kind, value)) = text.split_once(':') else {
            return match text {
                "system" => Ok(Pin::System),
                "none" => Ok(Pin::None),
                "user" => Ok(Pin::User(None)),
                _ => Err(unknown_pin(text, text, &["system", "user", "none", "first:2"])),
            };
        };
        let place = kind.len() + 1;
        match kind {
            "user" => match value.parse() {
                Ok(Size::Steps(number)) => {
                    let why = "steps are the assistant's: count the user's messages";
                    Err(Diagnostic::new(why).at(place..text.len()).meant(Some(format!("messages:{number}"))))
                }
                Ok(size) => Ok(Pin::User(Some(size))),
                Err(wrong) => {
                    let wrong: Diagnostic = wrong;
                    Err(wrong.in_part(place, value.len()))
                }
            },
            "first" => match value.parse() {
                Ok(count @ 1..) => Ok(Pin::First(count)),
                _ => {
                    let why = format!("`{value}` is not a number of messages from 1 up, as in first:2");
                    Err(Diagnostic::new(why).at(place..text.len()).example("first:2"))
                }
            },
            "match" => match typed_pattern(value, |builder| builder) {
                Ok(pattern) => Ok(Pin::Match(pattern)),
                Err(wrong) => {
                    let literal = format!("match:{}", regex::escape(value));
                    Err(wrong.in_part(place, value.len()).example(literal))
                }
            },
            _ => Err(unknown_pin(text, kind, &["first", "match", "user"])),
        }
    }
}

/// The error of a rule of no known kind; `kinds` are those of its form.
fn unknown_pin(text: &str, kind: &str, kinds: &[&str]) -> Diagnostic {
    // Of several rules none is meant alone.
    let meant = if text.contains(',') { None } else { nearest(kind, kinds.iter().copied()) };
    let expected = "expected system, user, user:SIZE, first:N, match:REGEX or none";
    Diagnostic::new(expected).at(0..kind.len()).meant(meant)
}

/// Whether a message is a request of the user; messages that a program hides are none.
fn is_request(message: &Message<'_>) -> bool {
    message.role == Role::User && !is_named(message) && !is_hidden(message)
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
        let messages = &transcript.messages;
        let pins = policy.pins.rsplit(|pin| matches!(pin, Pin::None)).next().unwrap_or_default();
        let request = if policy.rules.carries { messages.iter().rposition(is_request) } else { None };
        // An earlier summary at the front does not count as the first message.
        let stands_first = transcript.format.summary_position_in(transcript) == SummaryPosition::First;
        let has_summary = stands_first && messages.first().is_some_and(|first| first.earlier);
        let aside = if has_summary { carried.or(Some(0)) } else { carried };
        let behind_summary = usize::from(has_summary);
        let others = messages.iter().skip(behind_summary);
        let leading = behind_summary + others.take_while(|message| message.role.is_system()).count();
        let mut stays = vec![false; cutoff];
        for index in 0..cutoff {
            if Some(index) == aside {
                continue;
            }
            let place = index - usize::from(aside.is_some_and(|aside| aside < index));
            let must_stay = policy.rules.carries && (Some(index) == request || is_reminder(&messages[index]));
            stays[index] =
                must_stay || pins.iter().any(|pin| pin.holds(index, place, transcript, is_earlier(index), leading));
        }
        for &index in Compactions::of(transcript, policy).that_stay(cutoff) {
            stays[index] = true;
        }
        for pin in pins {
            let pinned = match pin {
                Pin::User(size) => self.of_user(*size, cutoff, is_earlier),
                Pin::System => last_settings(transcript, cutoff),
                _ => continue,
            };
            for index in pinned {
                stays[index] = true;
            }
        }
        for &index in &policy.typed {
            if index < cutoff {
                stays[index] = true;
            }
        }
        let bonds = self.bonds(&stays);
        let pinned = (0..cutoff).filter(|&index| stays[index]).collect();
        spread(true, &mut stays, &bonds, pinned);
        // A call without a result is only allowed at the end, not before a summary.
        let mut removed: Vec<usize> = Vec::new();
        for call in &transcript.pairing.unanswered {
            if call.message < cutoff && stays[call.message] {
                removed.push(call.message);
            }
        }
        removed.extend((0..cutoff).filter(|&index| stays[index] && messages[index].is_boundary));
        for &index in &removed {
            stays[index] = false;
        }
        spread(false, &mut stays, &bonds, removed);
        (0..cutoff).filter(|&index| stays[index]).collect()
    }

    /// The pairs of messages before a cut that belong together. There are none where none of them `stays`: mostly only
    /// system messages do, which belong with no other message.
    fn bonds(&self, stays: &[bool]) -> Bonds {
        let cutoff = stays.len();
        let joined = joined_to_the_next(&self.transcript.groups, cutoff);
        let pairs = &self.transcript.pairing.pairs;
        let matters = pairs.iter().any(|&(call, result)| result < cutoff && (stays[call] || stays[result]))
            || joined.iter().any(|&index| stays[index] || stays[index + 1]);
        let mut bonds = Vec::new();
        if matters {
            bonds.extend(pairs.iter().filter(|(_, result)| *result < cutoff));
            bonds.extend(joined.into_iter().map(|index| (index, index + 1)));
        }
        Bonds::of(bonds)
    }

    /// The messages below `cutoff` that the user said, the newest first, up to the size of a rule.
    fn of_user(&self, size: Option<Size>, cutoff: usize, is_earlier: &dyn Fn(usize) -> bool) -> Vec<usize> {
        let messages = &self.transcript.messages;
        let mut left = match size {
            Some(Size::Messages(number) | Size::Turns(number) | Size::Bytes(number)) => number,
            Some(size) => size.in_tokens(self.policy.context_window).unwrap_or(u64::MAX),
            None => u64::MAX,
        };
        let mut said = Vec::new();
        for index in (0..cutoff).rev() {
            if is_earlier(index) || !is_said_by_user(messages, index) {
                continue;
            }
            if let (Some(size), Some(tally)) = (size, self.tally) {
                let taken = match size {
                    Size::Messages(_) | Size::Turns(_) => 1,
                    Size::Bytes(_) => messages[index].span().len() as u64,
                    _ => tally.message(index),
                };
                let Some(rest) = left.checked_sub(taken) else { break };
                left = rest;
            }
            said.push(index);
        }
        said
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
    let mut found = Vec::new();
    for (index, message) in messages.iter().enumerate().skip(start) {
        let has_others = !message.results.is_empty() || !message.calls.is_empty() || message.has_media();
        if is_grouped[index] || has_others || message.is_boundary {
            continue;
        }
        let is_summary = message.earlier || message.opens_with(&policy.summary_prefix);
        if !is_summary && is_said_by_user(messages, index) {
            found.push(index);
        }
    }
    found
}

/// Whether a person says something in a message, beside what programs insert and what tools answer.
pub fn is_said_by_user(messages: &[Message<'_>], index: usize) -> bool {
    let message = &messages[index];
    if !message.is_user_turn() || message.is_marked_as_inserted() || is_hidden(message) || is_named(message) {
        return false;
    }
    if message.content.parts().iter().any(|part| matches!(part.kind, PartKind::Media(_))) {
        return true;
    }
    let said = said_texts(message);
    let text = said.read();
    let words = words_of_texts(said.strings());
    let speaks = words.lines().any(|line| !line.trim().is_empty() && !is_interruption(line));
    if !speaks || is_handed_over(&text, || Some(messages.get(index + 1)?.whole_text())) {
        return false;
    }
    !is_output(message, messages.get(index.wrapping_sub(1)), &text, &words)
}

/// Whether a message in the user's place is the output of a command in the one before it. That of one behind a summary is
/// gone.
fn is_output(message: &Message<'_>, before: Option<&Message<'_>>, text: &str, words: &str) -> bool {
    let Some(before) = before else { return false };
    if before.earlier {
        let kind = message.json.get_text("message_type");
        return kind.is_some_and(|kind| kind.is("observation")) || is_shell_output(words, false);
    }
    if before.role != Role::Assistant {
        return false;
    }
    if before.command_beside().is_some() {
        return true;
    }
    let said = before.whole_text();
    answered_call(&said, text).is_some()
        || is_shell_output(words, true) && (has_call(&said) || first_block(&said).is_some())
}

/// The messages before a cut that belong in one group with the next message.
fn joined_to_the_next(groups: &[(usize, usize)], cutoff: usize) -> Vec<usize> {
    if groups.is_empty() {
        return Vec::new();
    }
    let mut change = vec![0i64; cutoff + 1];
    for &(first, last) in groups {
        if last < cutoff {
            change[first] += 1;
            change[last] -= 1;
        }
    }
    let mut open = 0;
    let mut joined = Vec::new();
    for (index, change) in change.into_iter().enumerate() {
        open += change;
        if open > 0 {
            joined.push(index);
        }
    }
    joined
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
        for (one, other) in &mut pairs[half..] {
            std::mem::swap(one, other);
        }
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

/// Sets `value` for all messages that belong, directly or not, with those of `todo`.
fn spread(value: bool, stays: &mut [bool], bonds: &Bonds, mut todo: Vec<usize>) {
    while let Some(index) = todo.pop() {
        for other in bonds.with(index) {
            if stays[other] != value {
                stays[other] = value;
                todo.push(other);
            }
        }
    }
}
