//! The rules for pairs of `LangChain`'s middleware, and of related systems that search only a window of messages.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use crate::plan::cutoff::Pairs;
use crate::transcript::{CallPlace, Message, Role};

/// Where a cut moves by the rule of another system. The strict rule is the planner's own.
pub fn moved_cut(messages: &[Message<'_>], wanted: usize, pairs: Pairs) -> usize {
    match pairs {
        Pairs::Strict => wanted,
        Pairs::LangChain => back_to_the_call(messages, wanted),
        Pairs::Window(window) => back_to_a_whole_window(messages, wanted, window),
    }
}

/// Whether `LangChain` recognizes a message as a result: it holds nothing but results.
fn is_result(message: &Message<'_>) -> bool {
    message.role == Role::Tool || message.role == Role::User && !message.results.is_empty() && !message.is_user_turn()
}

fn call_ids<'m, 'a>(message: &'m Message<'a>) -> impl Iterator<Item = Cow<'a, str>> + use<'m, 'a> {
    let calls = if message.role == Role::Assistant { &*message.calls } else { &[] };
    let calls = calls.iter().filter(|call| call.place != CallPlace::Invalid);
    calls.filter_map(|call| call.id).map(|id| id.decode())
}

fn answered_ids<'m, 'a>(message: &'m Message<'a>) -> impl Iterator<Item = Cow<'a, str>> + use<'m, 'a> {
    let answers = if is_result(message) { &*message.results } else { &[] };
    answers.iter().filter_map(|answer| answer.id).map(|id| id.decode())
}

/// Moves a cut by `LangChain`'s rule. Where results begin at `wanted`, the cut moves back to the last message before
/// them that calls one of them, so that more is kept; without such a message, it moves past the results. The rule
/// considers only the run of results at the cut, so it can split a result elsewhere from its call.
fn back_to_the_call(messages: &[Message<'_>], wanted: usize) -> usize {
    let run = messages[wanted..].iter().take_while(|message| is_result(message)).count();
    if run == 0 {
        return wanted;
    }
    let after = wanted + run;
    let mut answered: HashSet<Cow<'_, str>> = messages[wanted..after].iter().flat_map(answered_ids).collect();
    answered.remove("");
    let caller = messages[..wanted].iter().rposition(|message| call_ids(message).any(|id| answered.contains(&id)));
    caller.unwrap_or(after)
}

/// Moves a cut by the rule of the window: to the last cut at or before `wanted` that splits no call in the `window`
/// messages before it from a result. Earlier messages are ignored. The beginning is always such a cut.
fn back_to_a_whole_window(messages: &[Message<'_>], wanted: usize, window: usize) -> usize {
    let mut last_result: HashMap<Cow<'_, str>, usize> = HashMap::new();
    for (index, message) in messages.iter().enumerate() {
        last_result.extend(answered_ids(message).map(|id| (id, index)));
    }
    // A call forbids the cuts behind it up to its last result, as far as the window reaches.
    let mut change = vec![0i64; messages.len() + 2];
    for (index, message) in messages.iter().enumerate() {
        let last = call_ids(message).filter_map(|id| last_result.get(&id).copied()).max();
        let end = last.map_or(index, |last| last.min(index.saturating_add(window)));
        if end > index {
            change[index + 1] += 1;
            change[end + 1] -= 1;
        }
    }
    let (mut split, mut last_whole) = (0, 0);
    for (cut, change) in change[..=wanted.min(messages.len())].iter().enumerate() {
        split += change;
        if split == 0 {
            last_whole = cut;
        }
    }
    last_whole
}
