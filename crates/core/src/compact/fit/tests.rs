use serde_json::json;

use super::*;
use crate::all_cases::one_in;
use crate::compact::policy::{OnError, Pruning};
use crate::compact::{CompactionContext, Compactor};
use crate::exit::Exit;
use crate::plan::size::Size;
use crate::prune::{Choice, chosen};
use crate::rewrite::thinking::Thinking;
use crate::summary::exchange::{Bill, FailureKind, NoAnswer, Reply, Request, SummaryBackend};
use crate::tokens::Counter;
use crate::transcript::framing::read_for_test as read;
use crate::transcript::view::Arena;

fn policy(limit: u64, keep: Option<u64>, summarizer: SummarizerKind) -> CompactionPolicy {
    let mut policy = CompactionPolicy::keeping(Size::Messages(keep.unwrap_or(20)));
    policy.counter = Counter::APPROX;
    policy.fit = Some(Size::Tokens(limit));
    policy.keep_is_given = keep.is_some();
    policy.pruning = Pruning { rules: chosen(&[Choice::All]), except: Vec::new() };
    policy.summary.summarizer = summarizer;
    policy
}

fn user(words: usize) -> serde_json::Value {
    json!({"role": "user", "content": "seven letters ".repeat(words / 2)})
}

fn result(words: usize) -> [serde_json::Value; 2] {
    let call = json!({"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    [
        json!({"role": "assistant", "content": null, "tool_calls": [call]}),
        json!({"role": "tool", "tool_call_id": "c", "content": "seven letters\n".repeat(words / 2)}),
    ]
}

/// A short history before a long kept part, with a result to be cut in the kept part or none.
fn sources() -> Vec<String> {
    let [call, answer] = result(80);
    vec![
        json!([user(30), user(200)]).to_string(),
        json!([user(12), user(14), user(16), user(200)]).to_string(),
        json!([user(30), user(200), call, answer]).to_string(),
    ]
}

fn tokens(source: &str) -> u64 {
    let document = read(source, None, None).expect("a transcript");
    document.transcripts[0].messages.iter().map(|message| Counter::APPROX.count(message)).sum()
}

/// Returns a context whose summarizer is never asked, and which reports nothing.
fn context(policy: &CompactionPolicy) -> CompactionContext<'_> {
    CompactionContext { policy, backend: &Unasked, listen: &|_, _| (), counts: true, counts_savings: true }
}

#[test]
fn a_limit_that_can_be_met_is_met_at_every_larger_limit() {
    for (source, keep) in sources().into_iter().zip([1, 1, 3]) {
        let total = tokens(&source);
        for summarizer in [SummarizerKind::Embedded, SummarizerKind::Off] {
            let is_met = |&limit: &u64| match Compactor::new(policy(limit, Some(keep), summarizer)).compact(&source) {
                Ok(done) => {
                    assert!(tokens(&done.text) <= limit, "{limit}: {}", done.text);
                    true
                }
                Err(failure) => {
                    assert_eq!(failure.exit, Exit::SummaryRefused);
                    false
                }
            };
            let limits = || (1..total).step_by(one_in()).chain([total]);
            let least = limits().find(is_met).expect("the whole conversation fits");
            // Without a summarizer, what was said stays.
            assert!(least < total || summarizer == SummarizerKind::Off, "{least} of {total}");
            let unmet: Vec<u64> = limits().filter(|limit| *limit >= least && !is_met(limit)).collect();
            assert_eq!(unmet, [] as [u64; 0], "{summarizer:?}, at least {least} of {total}: {source}");
        }
    }
}

#[test]
fn the_size_to_try_works() {
    let foreign = json!({"role": "user", "content": [{"hologram": {"body": "unknown words ".repeat(30)}}]});
    let unreadable = json!([user(60), user(60), user(8), foreign, user(8)]).to_string();
    for (source, keep) in sources().into_iter().zip([1, 1, 3]).chain([(unreadable, 3)]) {
        let total = tokens(&source);
        let mut tried = 0;
        for limit in (1..total).step_by(3 * one_in()) {
            let compact = |limit| Compactor::new(policy(limit, Some(keep), SummarizerKind::Embedded)).compact(&source);
            let Err(failure) = compact(limit) else { continue };
            let shown = failure.shown().join(" ");
            let larger = shown.split_once("tcompact --fit tokens:").expect("a size to try").1;
            let larger: u64 = larger.split_once(' ').map_or(larger, |(size, _)| size).parse().expect("a number");
            assert!(larger > limit && compact(larger).is_ok(), "{limit}: {shown}");
            tried += 1;
        }
        assert!(tried * one_in() > 10, "{tried} of {total}");
    }
}

/// Between sizes that work there can be some that do not.
#[test]
fn the_size_to_try_is_no_larger_than_what_stays() {
    let source = include_str!("../../../../../fixtures/agent-session.json");
    for limit in [1, 100, 200, 300] {
        let compact = |limit| Compactor::new(policy(limit, None, SummarizerKind::Embedded)).compact(source);
        let failure = compact(limit).expect_err("it is too small").to_string();
        let (least, parts) =
            failure.split_once("the least is ").and_then(|(_, rest)| rest.split_once(" tokens: ")).expect("a size");
        let least: u64 = least.parse().expect("a number");
        let parts: u64 = parts.split(' ').filter_map(|word| word.parse::<u64>().ok()).sum();
        assert!(compact(least).is_ok() && (least <= parts || compact(parts).is_err()), "{failure}");
    }
}

/// A summarizer that writes so many words, whatever it is asked for.
struct Wordy(usize);

impl SummaryBackend for Wordy {
    fn answer(&self, _: &Request, _: &mut Bill) -> Result<Reply, NoAnswer> {
        Ok(Reply { text: "word ".repeat(self.0), ..Reply::default() })
    }
}

#[test]
fn a_summary_that_misses_the_tenth_is_accepted_within_the_limit() {
    let source = json!([user(150), user(200)]).to_string();
    let total = tokens(&source);
    let limit = total - total / 16;
    let compact = |words: usize, limit: Option<u64>| {
        let mut policy = policy(limit.unwrap_or(u64::MAX), Some(1), SummarizerKind::Command);
        policy.fit = limit.map(Size::Tokens);
        policy.summary.ledger = 0;
        Compactor::new(policy).with_summarizer(Wordy(words)).compact(&source)
    };
    let (mut near, mut over) = (0, 0);
    for words in 1..160 {
        let Ok(free) = compact(words, None) else { continue };
        let size = tokens(&free.text);
        assert_eq!(compact(words, Some(limit)).is_ok(), size <= limit, "{words} words: {size} of {limit}");
        near += usize::from(size <= limit && size > total - limit.div_ceil(10));
        over += usize::from(size > limit);
    }
    assert!(near > 3 && over > 3, "{near} {over}");
}

struct Unasked;

impl SummaryBackend for Unasked {
    fn answer(&self, _: &Request, _: &mut Bill) -> Result<Reply, NoAnswer> {
        Ok(Reply::default())
    }
}

#[test]
fn the_draft_is_what_would_be_written() {
    let turns: Vec<_> = (0..40).map(|turn| json!({"role": if turn % 2 == 0 { "user" } else { "assistant" }, "content": format!("Turn {turn} changes src/file_{turn}.rs; {}", "then more. ".repeat(20))})).collect();
    let source = json!(turns).to_string();
    let document = read(&source, None, None).expect("a transcript");
    let mut drafts = 0;
    for limit in (200..1_500).step_by(100) {
        let policy = policy(limit, Some(2), SummarizerKind::Embedded);
        let context = context(&policy);
        let arena = Arena::default();
        let plan = || context.fit(&document.transcripts[0], &document.transcripts[0], &arena).expect("a plan");
        let (drafted, afresh) = (plan(), Fitted { draft: None, ..plan() });
        let Some(draft) = drafted.draft.clone() else { continue };
        let text = context.carry_out("", afresh).summary.expect("a summary").text;
        assert_eq!(draft, text, "{limit}");
        assert_eq!(context.carry_out("", drafted).summary.expect("a summary").text, text, "{limit}");
        drafts += 1;
    }
    assert!(drafts > 3, "{drafts}");
}

/// A summarizer that always fails.
struct Failing;

impl SummaryBackend for Failing {
    fn answer(&self, _: &Request, _: &mut Bill) -> Result<Reply, NoAnswer> {
        Err(NoAnswer::new(FailureKind::Odd, "no server".to_owned()))
    }
}

/// A conversation that pruning alone makes fit some limits, without saving the tenth that pruning should save.
fn nearly_pruned() -> String {
    let [call, answer] = result(60);
    json!([user(200), user(100), call, answer, user(8)]).to_string()
}

/// Pruning alone is no way around `--on-error`, but the embedded summarizer need not save more.
#[test]
fn pruning_that_fits_stands_where_the_embedded_summarizer_has_nothing_to_say() {
    let source = nearly_pruned();
    let mut pruned = 0;
    for limit in (20..tokens(&source)).step_by(3) {
        let compact = |summarizer, on_error| {
            let mut policy = policy(limit, Some(1), summarizer);
            policy.pruning.rules = chosen(&["results:0".parse().expect("a rule")]);
            policy.summary.on_error = on_error;
            Compactor::new(policy).with_summarizer(Failing).compact(&source)
        };
        let alone = compact(SummarizerKind::Off, OnError::Fail).ok().filter(|done| done.text.contains("user"));
        let fits = alone.is_some_and(|done| done.text.contains("result removed") && done.text.contains("seven"));
        if !fits {
            continue;
        }
        pruned += 1;
        let embedded = compact(SummarizerKind::Embedded, OnError::Fail).expect("a result");
        assert!(tokens(&embedded.text) <= limit && embedded.text != source, "{limit}: {}", embedded.text);
        match compact(SummarizerKind::Command, OnError::Fail) {
            Ok(done) => assert!(tokens(&done.text) <= limit),
            Err(failure) => assert_eq!(failure.exit, Exit::SummarizerFailed, "{limit}"),
        }
    }
    assert!(pruned > 3, "{pruned}");
}

#[test]
fn sizes_are_without_removed_thinking() {
    let thinking = json!({"type": "thinking", "thinking": "so many thoughts ".repeat(40), "signature": "s"});
    let says = |text: &str| json!({"role": "assistant", "model": "claude-opus-4-6", "content": [thinking, {"type": "text", "text": text}]});
    let source = json!([user(40), says("one"), user(400), says("two"), user(8), says("three"), user(8)]).to_string();
    let document = read(&source, None, None).expect("a transcript");
    for summarizer in [SummarizerKind::Embedded, SummarizerKind::Off] {
        let mut policy = policy(u64::MAX, Some(4), summarizer);
        policy.fit = None;
        policy.thinking = Thinking::Drop;
        let context = context(&policy);
        let arena = Arena::default();
        let fitted = context.fit(&document.transcripts[0], &document.transcripts[0], &arena).expect("a plan");
        assert!(fitted.thinking_tokens() > 100, "{summarizer:?}");
        let without_summary = fitted.tokens_without_summary();
        let done = context.carry_out("", fitted);
        let summary = done.summary.as_ref().map_or(0, |summary| summary.tokens);
        assert_eq!(done.tokens_after, Some(without_summary + summary), "{summarizer:?}");
    }
}
