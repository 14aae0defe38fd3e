//! Checks that a fitted conversation of an agent uses the size that it may have, and that its summary is as short as
//! `--summary-tokens` says.
//!
//! The size cannot always be used. What a person or a model wrote is never cut, and neither is reasoning. So the law
//! exempts a rest that is smaller than what cannot be cut of the messages in front of the cut.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::compact::{CompactedText, CompactionPolicy, Compactor, Pruning, SummarizerKind};
use crate::plan::SUMMARY_PREFIX;
use crate::plan::size::Size;
use crate::tokens::Counter;

use crate::lawful::with_document;
use crate::tests::cases;

/// A part of a conversation.
#[derive(Debug, Clone)]
enum Step {
    /// The user asks and the model answers, in so many words.
    Chat(usize, usize),
    /// The model calls a tool so many times, each with a short result.
    ShortCalls(usize),
    /// A call with a result of so many words, on lines or on one.
    Result(usize, bool),
    /// A call with an argument of so many words.
    Argument(usize),
    /// Parallel calls with results of so many words.
    Parallel(usize, usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (1usize..60, 1usize..120).prop_map(|(asked, answered)| Step::Chat(asked, answered)),
        2 => (1usize..25).prop_map(Step::ShortCalls),
        3 => (100usize..1_500, any::<bool>()).prop_map(|(words, lines)| Step::Result(words, lines)),
        1 => (6_000usize..12_000, any::<bool>()).prop_map(|(words, lines)| Step::Result(words, lines)),
        1 => (3_000usize..9_000).prop_map(Step::Argument),
        1 => (2usize..6, 100usize..900).prop_map(|(calls, words)| Step::Parallel(calls, words)),
    ];
    prop::collection::vec(step, 3..14)
}

fn text(seed: usize, words: usize, on_lines: bool) -> String {
    const WORDS: [&str; 12] =
        ["parser", "the", "returns", "error", "of", "line", "cache", "when", "module", "reads", "value", "a"];
    let word = |at: usize| WORDS[(seed * 31 + at * at + at / 7) % WORDS.len()];
    let behind = |at: usize| if on_lines && at % 9 == 8 { "\n" } else { " " };
    (0..words).map(|at| format!("{}{}", word(at), behind(at))).collect()
}

/// How a format writes a conversation.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Writer {
    Chat,
    Anthropic,
    Codex,
}

impl Writer {
    fn says(self, role: &str, text: &str) -> Value {
        match self {
            Writer::Codex => {
                let kind = if role == "user" { "input_text" } else { "output_text" };
                item(json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]}))
            }
            _ => json!({"role": role, "content": text}),
        }
    }

    /// Writes calls, and their results.
    fn calls(self, calls: &[(String, Value, String)]) -> Vec<Value> {
        let call = |(id, arguments, _): &(String, Value, String)| match self {
            Writer::Chat => json!({"id": id, "type": "function",
                "function": {"name": "run", "arguments": arguments.to_string()}}),
            Writer::Anthropic => json!({"type": "tool_use", "id": id, "name": "run", "input": arguments}),
            Writer::Codex => item(json!({"type": "function_call", "name": "run", "call_id": id,
                "arguments": arguments.to_string()})),
        };
        let result = |(id, _, text): &(String, Value, String)| match self {
            Writer::Chat => json!({"role": "tool", "tool_call_id": id, "content": text}),
            Writer::Anthropic => json!({"type": "tool_result", "tool_use_id": id, "content": text}),
            Writer::Codex => item(json!({"type": "function_call_output", "call_id": id, "output": text})),
        };
        let written: Vec<Value> = calls.iter().map(call).collect();
        let results: Vec<Value> = calls.iter().map(result).collect();
        match self {
            Writer::Chat => {
                let call = json!({"role": "assistant", "content": null, "tool_calls": written});
                [call].into_iter().chain(results).collect()
            }
            Writer::Anthropic => {
                vec![json!({"role": "assistant", "content": written}), json!({"role": "user", "content": results})]
            }
            Writer::Codex => written.into_iter().chain(results).collect(),
        }
    }

    fn file(self, messages: &[Value]) -> String {
        match self {
            Writer::Codex => messages.iter().map(|message| format!("{message}\n")).collect(),
            Writer::Chat => json!(messages).to_string(),
            Writer::Anthropic => json!({"model": "m", "system": "Help.", "messages": messages}).to_string(),
        }
    }

    fn conversation(self, steps: &[Step]) -> String {
        let mut messages = vec![self.says("user", "Find out why the tests fail.")];
        let mut calls = 0;
        for (at, step) in steps.iter().enumerate() {
            let mut call = |arguments: Value, text: String| {
                calls += 1;
                (format!("call_{calls}"), arguments, text)
            };
            let path = json!({"path": format!("src/{at}.rs")});
            match *step {
                Step::Chat(asked, answered) => {
                    messages.push(self.says("assistant", &text(at, answered, false)));
                    messages.push(self.says("user", &text(at + 1, asked, false)));
                }
                Step::ShortCalls(count) => {
                    for number in 0..count {
                        let one = call(json!({"command": format!("make {number}")}), text(at + number, 8, false));
                        messages.extend(self.calls(&[one]));
                    }
                }
                Step::Result(words, on_lines) => messages.extend(self.calls(&[call(path, text(at, words, on_lines))])),
                Step::Argument(words) => {
                    let arguments = json!({"path": "a.txt", "content": text(at, words, true)});
                    messages.extend(self.calls(&[call(arguments, "done".to_owned())]));
                }
                Step::Parallel(count, words) => {
                    let parallel: Vec<_> = (0..count).map(|_| call(path.clone(), text(at, words, true))).collect();
                    messages.extend(self.calls(&parallel));
                }
            }
        }
        self.file(&messages)
    }
}

fn item(payload: Value) -> Value {
    json!({"timestamp": "2026-01-01T00:00:00.000Z", "type": "response_item", "payload": payload})
}

fn compacted(source: &str, limit: u64, keep: Option<u64>, summarizer: SummarizerKind) -> Option<CompactedText> {
    let mut policy = CompactionPolicy::keeping(Size::Messages(keep.unwrap_or(20)));
    policy.counter = Counter::APPROX;
    policy.fit = Some(Size::Tokens(limit));
    policy.keep_is_given = keep.is_some();
    policy.pruning = Pruning::new(&["all"]).expect("rules");
    policy.summary.summarizer = summarizer;
    Compactor::new(policy).compact(source).ok()
}

/// The sizes of the messages of a text, and for each the tokens that no rule can remove.
fn sizes(source: &str) -> Vec<(u64, u64)> {
    /// A note or a short rest in the place of each result or argument.
    const LEAST: u64 = 130;
    with_document(source, None, |document| {
        let messages = document.transcripts.iter().flat_map(|transcript| &transcript.messages);
        let size = |message: &crate::transcript::Message<'_>| {
            let tokens = Counter::APPROX.count(message);
            let parts = (message.results.len() + message.calls.len()) as u64;
            (tokens, if parts > 0 { tokens.min(LEAST * parts) } else { tokens })
        };
        messages.map(size).collect()
    })
}

fn summary_tokens(source: &str) -> u64 {
    with_document(source, None, |document| {
        let messages = document.transcripts.iter().flat_map(|transcript| &transcript.messages);
        let summaries = messages.filter(|message| message.opens_with(SUMMARY_PREFIX));
        summaries.map(|message| Counter::APPROX.count(message)).sum()
    })
}

/// What cannot be cut of the messages in front of a cut: back to the one before which the cut could be.
fn solid_in_front(sizes: &[(u64, u64)], results: &[bool], cut: usize) -> u64 {
    let first = (0..cut).rev().find(|&index| !results[index]).unwrap_or(0);
    sizes[first..cut].iter().map(|(_, solid)| solid).sum()
}

fn are_results(source: &str) -> Vec<bool> {
    with_document(source, None, |document| {
        let transcript = &document.transcripts[0];
        let legal = crate::plan::legal_cuts(transcript);
        legal[..transcript.messages.len()].iter().map(|legal| !legal).collect()
    })
}

/// Checks that a conversation which is fitted uses its size. The limit is a `part` of the way from the least that can
/// be met to the whole conversation.
fn check_size_is_used(
    steps: &[Step],
    writer: Writer,
    part: f64,
    keep: Option<u64>,
    is_off: bool,
) -> Result<(), TestCaseError> {
    /// So few tokens are not worth a change.
    const SMALL: u64 = 200;
    let source = writer.conversation(steps);
    let before = sizes(&source);
    let summarizer = if is_off { SummarizerKind::Off } else { SummarizerKind::Embedded };
    let fits = |limit: u64| compacted(&source, limit, keep, summarizer);
    // Beside the messages, there can be a few tokens more.
    let messages: u64 = before.iter().map(|(size, _)| size).sum();
    let total = (messages..messages + SMALL).find(|&limit| fits(limit).is_some()).expect("the whole conversation fits");
    // A limit that can be met is met at every larger limit.
    let (mut low, mut high) = (1, total);
    while low < high {
        let middle = low.midpoint(high);
        if fits(middle).is_some() {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    let limit = low + ((total - low) as f64 * part) as u64;
    let done = fits(limit).expect("a limit above the least");
    let after: u64 = sizes(&done.text).iter().map(|(size, _)| size).sum();
    let summary = summary_tokens(&done.text);
    prop_assert!(after <= limit && summary <= 1_024, "{} of {}, {} in the summary", after, limit, summary);
    let cut = done.plans[0].cutoff;
    // Without a summary nothing is cut, and pruning takes whole results.
    let largest = || before.iter().map(|(size, _)| *size).max().unwrap_or(0);
    let solid = if is_off { largest() } else { solid_in_front(&before, &are_results(&source), cut) };
    let is_used = after * 5 >= limit * 4 || limit - after <= solid + SMALL;
    prop_assert!(is_used || limit >= total, "{} of {} and {}; cut at {}, {} in front", after, limit, total, cut, solid);
    Ok(())
}

proptest! {
    #![proptest_config(cases(120))]

    #[test]
    fn compaction_uses_the_size_it_may_have(steps in steps(), writer in prop::sample::select(&[Writer::Chat, Writer::Anthropic, Writer::Codex][..]),
                        part in 0.0f64..1.0, keep in prop::option::of(1u64..12), is_off in any::<bool>()) {
        check_size_is_used(&steps, writer, part, keep, is_off)?;
    }
}

/// Results that are pruned share what is left, where pruning alone makes a conversation fit.
#[test]
fn parallel_results_are_not_cut_to_nothing_where_room_is_left() -> Result<(), TestCaseError> {
    let steps = [Step::Parallel(4, 574), Step::ShortCalls(13), Step::Chat(1, 1)];
    check_size_is_used(&steps, Writer::Codex, 0.5885192051615665, Some(3), false)
}

#[test]
fn what_stands_beside_the_messages_counts_in_the_limit() -> Result<(), TestCaseError> {
    let steps = [Step::Chat(1, 1), Step::Chat(1, 1), Step::Argument(3000)];
    check_size_is_used(&steps, Writer::Anthropic, 0.0, None, false)
}
