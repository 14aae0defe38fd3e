//! Where the cut is: from `--keep`, by the rules for pairs and for the order of messages.
//!
//! Also: the rules by which a cut moves that would split a tool call from its result.

use std::fmt;
use std::str::FromStr;

use crate::diagnostic::{Diagnostic, nearest};
use crate::plan::size::Size;
use crate::plan::weight::{Weight, is_turn};
use crate::plan::{MoveCut, steps};
use crate::transcript::order::Turn;
use crate::transcript::pairing::Pairing;
use crate::transcript::{Message, Transcript, time};

/// Where `--keep` alone would cut: the first index of the kept part; nothing where all messages are kept.
pub(super) fn wanted(weight: &Weight<'_, '_>) -> Option<usize> {
    let Weight { messages, tally, policy, .. } = weight;
    let (first, last) = (weight.first(), messages.len() - 1);
    let most = if policy.rules.last_stays { last } else { messages.len() };
    let wanted = match policy.keep {
        Size::Nothing => messages.len(),
        Size::From(index) => index.min(most),
        Size::Since(_) | Size::Last(_) => match since(policy.keep, messages) {
            Some(since) => time::first_since(messages, since).unwrap_or(most),
            None => 0,
        },
        Size::Messages(keep) => messages.len().saturating_sub(usize::try_from(keep).unwrap_or(usize::MAX)).min(most),
        Size::Turns(keep) => {
            let keep = usize::try_from(keep).unwrap_or(usize::MAX);
            let mut starts = (0..messages.len()).rev().filter(|&index| is_turn(&messages[index], policy));
            starts.nth(keep.saturating_sub(1)).unwrap_or(0)
        }
        Size::Steps(keep) => steps::last(weight.transcript, &policy.summary_prefix, keep),
        Size::Bytes(limit) => last_bytes(messages, limit).min(most),
        Size::Tokens(_) | Size::Fraction(_) => {
            let limit = policy.keep.in_tokens(policy.context_window).unwrap_or(u64::MAX);
            let fitting = tally.suffix_within(limit).max(first);
            let wanted = fitting.min(most);
            // A scaled total can exceed the limit though the sum of its parts does not. LangChain then still considers
            // the cut before the first message, and moves it past results that begin there.
            if policy.scales(tally) && last > first && weight.message_tokens() > limit {
                return Some(wanted);
            }
            wanted
        }
    };
    if wanted > first { Some(wanted) } else { None }
}

/// The first index from which on the messages have at most so many bytes together; the number of messages where even
/// the last one has more.
pub fn last_bytes(messages: &[Message<'_>], limit: u64) -> usize {
    let mut left = limit;
    for (index, message) in messages.iter().enumerate().rev() {
        match left.checked_sub(message.span().len() as u64) {
            Some(rest) => left = rest,
            None => return index + 1,
        }
    }
    0
}

/// The time from which on messages are kept, where they say any.
fn since(keep: Size, messages: &[Message<'_>]) -> Option<i64> {
    let last = time::last(messages)?;
    match keep {
        Size::Since(time) => Some(time),
        Size::Last(seconds) => Some(last.saturating_sub(seconds.saturating_mul(time::SECOND))),
        _ => None,
    }
}

/// Why a conversation has no place that `--keep` names.
pub fn no_such_place(transcript: &Transcript<'_>, keep: Size) -> Option<String> {
    let messages = transcript.messages.as_slice();
    match (keep, messages.len()) {
        (Size::From(index), count @ 1..) if index >= count => {
            Some(format!("there is no message {index}; the last one is {}", count - 1))
        }
        (Size::Since(_) | Size::Last(_), 1..) if time::last(messages).is_none() => {
            Some("no message says when it was written".to_owned())
        }
        _ => None,
    }
}

/// The cut to which a rule for pairs moves the wanted one, and why it moved; 0 where there is none.
pub(super) fn safe(
    transcript: &Transcript<'_>,
    wanted: usize,
    pairs: Pairs,
    move_cut: MoveCut,
) -> (usize, Option<String>) {
    if pairs == Pairs::Strict {
        return strict(transcript, wanted);
    }
    let cut = move_cut(&transcript.messages, wanted, pairs);
    if cut == wanted { (cut, None) } else { (cut, Some(why_unsafe(&transcript.pairing, wanted))) }
}

fn why_unsafe(pairing: &Pairing, wanted: usize) -> String {
    match pairing.split_pair(wanted) {
        Some((call, result)) => {
            format!("a cut at {wanted} would split the call in message {call} from its result in message {result}")
        }
        None => format!("message {wanted} is a result without a call"),
    }
}

/// The safe cut nearest to `wanted`, and why it moved; 0 where there is none. A safe cut splits no call from its
/// result. The kept part behind it does not begin with an orphaned result, and the provider accepts its beginning
/// behind a summary.
///
/// Messages at the cut that hold only orphaned results are summarized with the history. For every other reason the cut
/// moves towards the beginning, so that more is kept than was asked for, and never less.
fn strict(transcript: &Transcript<'_>, wanted: usize) -> (usize, Option<String>) {
    let (messages, pairing) = (transcript.messages.as_slice(), &transcript.pairing);
    if wanted >= messages.len() {
        return (wanted, None);
    }
    let whole = pairing.allowed_cuts(&transcript.groups);
    let first_turns = first_turns(messages);
    let refused = |cut: usize| refused_behind_a_summary(transcript, first_turns[cut]);
    let legal = |cut: usize| whole[cut] && !pairing.orphaned[cut] && refused(cut).is_none();
    let mut past_orphans = wanted;
    while past_orphans < messages.len() && pairing.orphaned[past_orphans] && !messages[past_orphans].is_user_turn() {
        past_orphans += 1;
    }
    if past_orphans < messages.len() && legal(past_orphans) {
        if past_orphans == wanted {
            return (wanted, None);
        }
        return (past_orphans, Some(format!("message {wanted} is a result without a call")));
    }
    let name = transcript.format.name;
    let why = match (whole[wanted], pairing.orphaned[wanted], refused(wanted)) {
        (true, false, Some(rule)) => format!("{name} would refuse message {wanted} behind a summary: {rule}"),
        (false, ..) if pairing.split_pair(wanted).is_none() => {
            format!("{name} has messages on both sides of a cut at {wanted} that belong together")
        }
        _ => why_unsafe(pairing, wanted),
    };
    let cut = (1..=wanted).rev().find(|&cut| legal(cut));
    (cut.unwrap_or(0), Some(why))
}

/// For each message the first turn from there on; `None` where only messages without a turn follow.
fn first_turns(messages: &[Message<'_>]) -> Vec<Option<Turn>> {
    let mut turns = vec![None; messages.len()];
    let mut first = None;
    for (index, message) in messages.iter().enumerate().rev() {
        first = Turn::of(message).or(first);
        turns[index] = first;
    }
    turns
}

/// Why the provider would refuse messages that begin with a turn behind a summary.
fn refused_behind_a_summary(transcript: &Transcript<'_>, first: Option<Turn>) -> Option<&'static str> {
    transcript.order.refuses(Some(Turn::User), first?)
}

/// For each index whether a cut there is safe: it splits no call from its result, and the provider accepts the messages
/// behind it.
pub fn legal_cuts(transcript: &Transcript<'_>) -> Vec<bool> {
    let Transcript { pairing, groups, .. } = transcript;
    let mut legal = pairing.allowed_cuts(groups);
    for (cut, first) in first_turns(&transcript.messages).into_iter().enumerate() {
        legal[cut] &= !pairing.orphaned[cut] && refused_behind_a_summary(transcript, first).is_none();
    }
    legal
}

/// How a cut moves that would split a call from its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pairs {
    /// To the nearest place that splits no call from its result.
    Strict,
    /// As in `LangChain`: back to the call of the results that begin at the cut, or past them.
    LangChain,
    /// Back until no call in a window of so many messages before the cut is split from its result.
    Window(usize),
}

impl fmt::Display for Pairs {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pairs::Strict => write!(out, "strict"),
            Pairs::LangChain => write!(out, "langchain"),
            Pairs::Window(messages) => write!(out, "window:{messages}"),
        }
    }
}

impl FromStr for Pairs {
    type Err = Diagnostic;

    fn from_str(text: &str) -> Result<Self, Diagnostic> {
        let (kind, meant) = match text.split_once(':') {
            None if text == "strict" => return Ok(Pairs::Strict),
            None if text == "langchain" => return Ok(Pairs::LangChain),
            Some(("window", messages)) => {
                return match messages.parse() {
                    Ok(number) => Ok(Pairs::Window(number)),
                    Err(_) => {
                        let why = format!("`{messages}` is not a number of messages, as in window:5");
                        Err(Diagnostic::new(why).at("window:".len()..text.len()).example("window:5"))
                    }
                };
            }
            Some((kind, _)) => (kind, nearest(kind, ["window"])),
            None => (text, nearest(text, ["strict", "langchain", "window:5"])),
        };
        Err(Diagnostic::new("expected strict, langchain or window:N").at(0..kind.len()).meant(meant))
    }
}
