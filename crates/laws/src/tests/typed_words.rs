//! Checks that what the user typed does not become less in a result as `--fit` grows: in the kept part, in messages that stay
//! before it, and in the digest; on generated conversations of every format and on fixtures.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::json;

use crate::all_cases::{Sample, share};
use crate::compact::{CompactedText, CompactionPolicy, Compactor, Pruning};
use crate::plan::SUMMARY_PREFIX;
use crate::plan::pins::{Pin, is_said_by_user};
use crate::plan::size::Size;
use crate::tokens::Counter;
use crate::transcript::fence;
use crate::transcript::formats::{FORMATS, Format, by_name};
use crate::transcript::speaker::words_of_texts;

use crate::bricks::Bricks;
use crate::bricks::talk::{Below, Step, choices};
use crate::digest::{Section, parse, squeezed};
use crate::fixtures;
use crate::lawful::with_document;

fn compacted(source: &str, format: &'static Format, limit: u64) -> Option<CompactedText> {
    compacted_with(source, format, limit, Pin::System)
}

fn compacted_with(source: &str, format: &'static Format, limit: u64, pin: Pin) -> Option<CompactedText> {
    let mut policy = CompactionPolicy::keeping(Size::Messages(20));
    policy.counter = Counter::APPROX;
    policy.cut.pins = vec![pin];
    policy.fit = Some(Size::Tokens(limit));
    policy.keep_is_given = false;
    policy.pruning = Pruning::new(&["all"]).expect("rules");
    Compactor::new(policy).compact_as(source, format.name).ok()
}

/// The texts that the user typed in a conversation, each with the indices of its messages; and the tokens of all messages.
/// Nothing where a file has several conversations.
fn typed(source: &str, format: &'static Format) -> Option<(BTreeMap<String, Vec<usize>>, u64)> {
    with_document(source, Some(format), |document| {
        let [transcript] = document.transcripts.as_slice() else { return None };
        let mut typed: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (index, message) in transcript.messages.iter().enumerate() {
            if !message.earlier && is_said_by_user(&transcript.messages, index) {
                let texts = message.content.texts().iter().map(|text| text.decode().into_owned().into()).collect();
                typed.entry(squeezed(&words_of_texts(texts))).or_default().push(index);
            }
        }
        let tokens = transcript.messages.iter().map(|message| Counter::APPROX.count(message)).sum();
        Some((typed, tokens))
    })
}

/// The indices of the user's messages that a digest tells, clipped or whole.
fn told(text: &str, format: &'static Format) -> BTreeSet<usize> {
    with_document(text, Some(format), |document| {
        let mut told = BTreeSet::new();
        for message in document.transcripts.iter().flat_map(|transcript| &transcript.messages) {
            if !message.opens_with(SUMMARY_PREFIX) {
                continue;
            }
            let text = message.content.texts().iter().map(|text| text.decode().into_owned()).collect::<String>();
            let items = parse(fence::opened(text.strip_prefix(SUMMARY_PREFIX).unwrap_or(&text).trim_start()));
            told.extend(items.iter().filter(|item| item.section == Section::User).filter_map(|item| item.index));
        }
        told
    })
}

/// Checks a conversation at sizes from small to all. In less than a few hundred tokens the digest has room for a line or
/// two, which it gives to the last message before the cut.
/// Returns the number of steps from a size to the next, and those after which fewer texts stand.
fn losses(source: &str, format: &'static Format, sizes: u64) -> (usize, Vec<String>) {
    const SMALLEST: u64 = 400;
    let Some((typed, tokens)) = typed(source, format).filter(|(typed, _)| !typed.is_empty()) else {
        return (0, Vec::new());
    };
    let (mut steps, mut lost) = (0, Vec::new());
    let mut before: Option<(u64, Vec<&String>)> = None;
    for part in 1..=sizes {
        let limit = tokens * part / sizes;
        let Some(done) =
            Some(limit).filter(|limit| *limit >= SMALLEST).and_then(|limit| compacted(source, format, limit))
        else {
            continue;
        };
        let plan = &done.plans[0];
        let told = if plan.cutoff > 0 { told(&done.text, format) } else { BTreeSet::new() };
        let stands =
            |index: &usize| *index >= plan.cutoff || plan.pinned.binary_search(index).is_ok() || told.contains(index);
        let standing: Vec<&String> =
            typed.iter().filter(|(_, indices)| indices.iter().any(stands)).map(|(text, _)| text).collect();
        if let Some((smaller, fewer)) = &before {
            steps += 1;
            if standing.len() < fewer.len() {
                lost.push(format!(
                    "{}: {} texts with {smaller} tokens, {} with {limit}",
                    format.name,
                    fewer.len(),
                    standing.len()
                ));
            }
        }
        before = Some((limit, standing));
    }
    (steps, lost)
}

fn words(below: &mut Below<'_>, count: usize) -> String {
    const WORDS: [&str; 14] = [
        "the", "parser", "never", "reads", "a", "file", "of", "lines.", "Please", "use", "one", "cache", "don't",
        "wait.",
    ];
    (0..count).map(|_| WORDS[below(WORDS.len())]).collect::<Vec<_>>().join(" ")
}

/// A conversation in which the user says much or little between calls with small and large results.
fn steps(below: &mut Below<'_>) -> Vec<Step> {
    let mut steps = Vec::new();
    for number in 0..10 + below(40) {
        match below(5) {
            0 | 1 => {
                let count = [3, 8, 20, 60, 300][below(5)];
                steps.push(Step::User(format!("Request {number}: {}", words(below, count))));
            }
            2 => {
                let count = [5, 30, 90][below(3)];
                steps.push(Step::Assistant(format!("Answer {number}: {}", words(below, count))));
            }
            _ => {
                let count = [4, 40, 400, 1_500][below(4)];
                let result = words(below, count);
                steps.push(Step::Call("bash", json!({"command": format!("make {number}")}), result));
            }
        }
    }
    steps
}

#[test]
fn what_the_user_typed_hardly_ever_becomes_less_as_fit_grows() {
    let (mut all, mut lost) = (0, Vec::new());
    for (format, seed) in FORMATS.iter().cycle().zip(0..share(110) as u64) {
        let mut below = choices(seed);
        let steps = steps(&mut below);
        let source = Bricks::of(format.name).conversation(&steps, below(9));
        let (steps, fewer) = losses(&source, format, 16);
        all += steps;
        lost.extend(fewer);
    }
    // The digest has less room where a larger size keeps a large result: that is three steps in a hundred.
    assert!(all > 0 && lost.len() * 100 <= 3 * all, "{} of {all} steps: {lost:?}", lost.len());
}

#[test]
fn what_the_user_typed_in_fixtures_never_becomes_less_as_fit_grows() {
    let mut sample = Sample::default();
    for (name, file) in fixtures::all() {
        if sample.takes_next() {
            let source = fs::read_to_string(&file).expect("a fixture");
            let (_, lost) = losses(&source, by_name(name).expect("a format"), 16);
            assert!(lost.is_empty(), "{}: {lost:?}", file.display());
        }
    }
}

/// A size that can be met without them can be met with them: typed words yield.
#[test]
fn typed_words_never_make_a_size_too_small() {
    let (mut met, mut pinned) = (0, 0);
    for (format, seed) in FORMATS.iter().cycle().zip(0..share(220) as u64) {
        let mut below = choices(1_000 + seed);
        let steps = steps(&mut below);
        let source = Bricks::of(format.name).conversation(&steps, below(9));
        for limit in [60, 110, 180, 300, 500, 900, 1_600] {
            if compacted_with(&source, format, limit, Pin::None).is_none() {
                continue;
            }
            let done = compacted(&source, format, limit);
            let done = done.unwrap_or_else(|| panic!("{} cannot have {limit} tokens: {source}", format.name));
            met += 1;
            pinned += done.plans[0].pinned.len();
        }
    }
    assert!(met > 0 && pinned > 0, "{met} {pinned}");
}
