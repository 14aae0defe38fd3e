//! Pairs tool calls with their results.
//!
//! Agents reuse ids within a conversation. So a result belongs to the nearest earlier call that has its id and no
//! result yet; a single map of all ids would be wrong.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};

use crate::message::{Call, CallPlace, Message, Role};
use crate::text::Text;

/// The calls of a conversation and their results.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pairing {
    /// For each call with a result in another message: the indices of its message and of the result's message, ordered
    /// by the former.
    pub pairs: Vec<(usize, usize)>,
    /// For each message, whether it has a result without an earlier call.
    pub orphaned: Vec<bool>,
    /// Every call without a result, in order.
    pub unanswered: Vec<CallOrResult>,
}

/// One of the calls or results of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CallOrResult {
    /// The index of the message.
    pub message: usize,
    /// The index among the message's calls or results.
    pub index: usize,
}

impl CallOrResult {
    pub fn call_of<'m, 'a>(self, messages: &'m [Message<'a>]) -> &'m Call<'a> {
        &messages[self.message].calls[self.index]
    }
}

/// A result and its call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PairedResult {
    pub result: CallOrResult,
    /// The call; `None` if no earlier call has the id.
    pub call: Option<CallOrResult>,
    /// Whether the call already had a result.
    pub again: bool,
}

impl Pairing {
    /// A call and its result that a cut splits, if there is such a pair.
    pub fn split_pair(&self, cut: usize) -> Option<(usize, usize)> {
        self.pairs.iter().copied().find(|(call, result)| *call < cut && cut <= *result)
    }

    /// For each index, from 0 to the number of messages, whether a cut there splits neither a call from its result nor
    /// one of `groups`.
    pub fn allowed_cuts(&self, groups: &[(usize, usize)]) -> Vec<bool> {
        let messages = self.orphaned.len();
        let mut change = vec![0i32; messages + 2];
        for &(first, last) in self.pairs.iter().chain(groups) {
            change[first + 1] += 1;
            change[last + 1] -= 1;
        }
        let mut allowed = Vec::with_capacity(messages + 1);
        let mut split = 0;
        for change in &change[..=messages] {
            split += change;
            allowed.push(split == 0);
        }
        allowed
    }
}

pub fn results(messages: &[Message<'_>]) -> Vec<PairedResult> {
    let mut results = Vec::new();
    PairFinder::default().advance_to(messages, messages.len(), |found| results.push(found));
    results
}

/// Finds the pairs of a conversation while it is read, when its ids are still in the processor's cache.
#[derive(Default)]
pub(super) struct PairFinder<'a> {
    pairing: Pairing,
    calls: Calls<'a>,
}

impl<'a> PairFinder<'a> {
    /// Finds the pairs of the messages before `end` that it has not visited yet. `messages` is the list of the previous
    /// call, which may have grown. Message `end` must exist unless the list is complete.
    pub(super) fn advance_to(
        &mut self,
        messages: &[Message<'a>],
        end: usize,
        mut result_found: impl FnMut(PairedResult),
    ) {
        let PairFinder { pairing, calls } = self;
        let begun = pairing.orphaned.len();
        pairing.orphaned.resize(end, false);
        for (message, read) in messages.iter().enumerate().take(end).skip(begun) {
            // A message may hold a server's call and its result, so calls come first.
            calls.add(messages, message);
            for (index, answer) in read.results.iter().enumerate() {
                let result = CallOrResult { message, index };
                let Some(at) = calls.answered_by(messages, answer.id) else {
                    pairing.orphaned[message] = true;
                    result_found(PairedResult { result, call: None, again: false });
                    continue;
                };
                let call = &mut calls.seen[at];
                if call.part.message < message {
                    pairing.pairs.push((call.part.message, message));
                }
                result_found(PairedResult { result, call: Some(call.part), again: call.answered });
                call.answered = true;
                // One text may hold the results of all calls in a message's content.
                let part = call.part;
                let is_last = messages.get(message + 1).is_none_or(|next| next.role != Role::Tool);
                if answer.id.is_none() && read.role == Role::Tool && is_last {
                    for other in &mut calls.seen[at..] {
                        if other.part.message != part.message {
                            break;
                        }
                        let call = other.part.call_of(messages);
                        other.answered |= call.id.is_none() && call.place == CallPlace::Content;
                    }
                }
            }
            if read.is_user_turn() || !read.results.is_empty() {
                calls.interrupted = true;
            }
        }
    }

    /// Visits the remaining messages and returns all pairs.
    pub(super) fn finish(mut self, messages: &[Message<'a>]) -> Pairing {
        self.advance_to(messages, messages.len(), drop);
        let PairFinder { mut pairing, calls } = self;
        pairing.unanswered = calls.seen.iter().filter(|call| !call.answered).map(|call| call.part).collect();
        pairing
    }
}

/// The calls up to some message. The cost of a lookup is independent of their number.
#[derive(Default)]
struct Calls<'a> {
    seen: Vec<SeenCall>,
    /// The calls by id, filled on demand: most results follow their call at once.
    by_id: HashMap<Cow<'a, str>, CallsOfId>,
    /// For each call in the map, the earlier call with the same id.
    before: Vec<Option<usize>>,
    /// The calls that a result without an id can answer, in order.
    waiting: VecDeque<usize>,
    /// The waiting calls without an id.
    waiting_without_id: VecDeque<usize>,
    /// Whether the user or a result came after the last call. Calls before that no longer wait for a result.
    interrupted: bool,
}

/// This many of the last calls are searched before the map.
const RECENT: usize = 8;

/// A call in a message that was visited.
struct SeenCall {
    part: CallOrResult,
    answered: bool,
}

/// The calls with one id.
struct CallsOfId {
    /// The last call that may lack a result.
    open: Option<usize>,
    last: usize,
}

impl<'a> Calls<'a> {
    fn add(&mut self, messages: &[Message<'a>], message: usize) {
        let calls = &messages[message].calls;
        // Calls of consecutive messages get their results together; results of older calls would have come before.
        if !calls.is_empty() && std::mem::take(&mut self.interrupted) {
            self.waiting.clear();
            self.waiting_without_id.clear();
        }
        for (index, call) in calls.iter().enumerate() {
            if call.id.is_none() {
                self.waiting_without_id.push_back(self.seen.len());
            }
            self.waiting.push_back(self.seen.len());
            self.seen.push(SeenCall { part: CallOrResult { message, index }, answered: false });
        }
    }

    /// Finds the call of a result: the last open call with its id, or the next call in order. A result whose id no call
    /// has may belong to a call without an id.
    fn answered_by(&mut self, messages: &[Message<'a>], id: Option<Text<'a>>) -> Option<usize> {
        let Some(id) = id else { return first_open(&mut self.waiting, &self.seen) };
        let id = id.decode();
        let first = self.seen.len().saturating_sub(RECENT);
        for at in (first..self.seen.len()).rev() {
            let seen = &self.seen[at];
            if !seen.answered && seen.part.call_of(messages).id.is_some_and(|own| own.is(&id)) {
                return Some(at);
            }
        }
        self.fill_map(messages);
        match self.by_id.get_mut(&id) {
            Some(calls) => Some(calls.nearest(&self.seen, &self.before)),
            None => first_open(&mut self.waiting_without_id, &self.seen),
        }
    }

    /// Adds all visited calls to the map.
    fn fill_map(&mut self, messages: &[Message<'a>]) {
        for (last, seen) in self.seen.iter().enumerate().skip(self.before.len()) {
            let calls_of_id = CallsOfId { open: Some(last), last };
            let before = match seen.part.call_of(messages).id {
                Some(id) => self.by_id.insert(id.decode(), calls_of_id),
                None => None,
            };
            self.before.push(before.and_then(|calls| calls.open));
        }
    }
}

/// Finds the first open call, and drops those before it.
fn first_open(calls: &mut VecDeque<usize>, seen: &[SeenCall]) -> Option<usize> {
    while calls.pop_front_if(|call| seen[*call].answered).is_some() {}
    calls.front().copied()
}

impl CallsOfId {
    /// The last open call. If all are answered, the last call: a result that comes twice still belongs to it.
    fn nearest(&mut self, seen: &[SeenCall], before: &[Option<usize>]) -> usize {
        while let Some(call) = self.open.filter(|call| seen[*call].answered) {
            self.open = before[call];
        }
        self.open.unwrap_or(self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framing::read_for_test as read;

    fn pairing(messages: &[&str]) -> Pairing {
        let source = format!("[{}]", messages.join(","));
        read(&source, None, None).expect("a transcript").transcripts.remove(0).pairing
    }

    fn calls(ids: &[&str]) -> String {
        let calls: Vec<String> = ids
            .iter()
            .map(|id| format!(r#"{{"id":"{id}","type":"function","function":{{"name":"f","arguments":"{{}}"}}}}"#))
            .collect();
        format!(r#"{{"role":"assistant","content":null,"tool_calls":[{}]}}"#, calls.join(","))
    }

    fn result(id: &str) -> String {
        format!(r#"{{"role":"tool","tool_call_id":"{id}","content":"r"}}"#)
    }

    const USER: &str = r#"{"role":"user","content":"u"}"#;

    #[test]
    fn parallel_calls_and_results_far_away() {
        let found = pairing(&[&calls(&["a", "b"]), &result("b"), USER, &result("a"), USER]);
        assert_eq!(found.pairs, [(0, 1), (0, 3)]);
        assert_eq!(found.allowed_cuts(&[]), [true, false, false, false, true, true]);
    }

    #[test]
    fn an_id_used_again_goes_to_the_nearest_call() {
        let found = pairing(&[&calls(&["a"]), &result("a"), USER, &calls(&["a"]), &result("a")]);
        assert_eq!(found.pairs, [(0, 1), (3, 4)]);
        assert_eq!(found.allowed_cuts(&[]), [true, false, true, true, false, true]);
    }

    #[test]
    fn a_call_without_a_result_blocks_nothing() {
        let found = pairing(&[&calls(&["a"]), USER, &calls(&["a"]), &result("a"), USER]);
        assert_eq!(found.pairs, [(2, 3)]);
        assert_eq!(found.allowed_cuts(&[]), [true, true, true, false, true, true]);
    }

    #[test]
    fn a_result_without_a_call_is_orphaned_and_a_second_one_is_not() {
        let found = pairing(&[USER, &result("x"), &calls(&["a"]), &result("a"), &result("a")]);
        assert_eq!(found.orphaned, [false, true, false, false, false]);
        assert_eq!(found.pairs, [(2, 3), (2, 4)]);
    }

    #[test]
    fn results_without_ids_follow_the_order_of_the_calls() {
        let legacy = r#"{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}}"#;
        let answer = r#"{"role":"function","name":"f","content":"r"}"#;
        assert_eq!(pairing(&[legacy, answer, legacy, answer]).pairs, [(0, 1), (2, 3)]);
        let silent = r#"{"role":"tool","content":"r"}"#;
        assert_eq!(pairing(&[&calls(&["a", "b"]), silent, silent, silent]).pairs, [(0, 1), (0, 2)]);
        assert_eq!(pairing(&[USER, silent]).orphaned, [false, true]);
        // Calls of consecutive messages are answered together; calls before a message of the user are not.
        assert_eq!(pairing(&[legacy, legacy, answer, answer]).pairs, [(0, 2), (1, 3)]);
        let aborted = pairing(&[legacy, USER, legacy, answer, USER]);
        assert_eq!(aborted.pairs, [(2, 3)]);
        assert_eq!(aborted.unanswered, [CallOrResult { message: 0, index: 0 }]);
    }

    #[test]
    fn a_result_with_an_id_answers_a_call_without_one() {
        let without_id =
            r#"{"role":"assistant","content":null,"tool_calls":[{"function":{"name":"f","arguments":"{}"}}]}"#;
        assert_eq!(pairing(&[without_id, &result("a")]).pairs, [(0, 1)]);
        assert_eq!(pairing(&[&calls(&["b"]), &result("a")]).orphaned, [false, true]);
    }
}
