//! Checks what `--fit` promises of limits: an error names a limit that can be met, and without a summarizer no words of
//! user or model go.

use proptest::prelude::*;

use crate::compact::{CompactionPolicy, Compactor, Pruning, SummarizerKind};
use crate::plan::pins::Pin;
use crate::plan::size::Size;
use crate::rewrite::repair::NO_ANSWER;
use crate::transcript::formats::{FORMATS, Format};
use crate::transcript::{Content, Message, PartKind, Role};
use tcompact_base::exit::{Exit, Failure};
use tcompact_core::prune::{Choice, chosen};

use crate::bricks::{Bricks, Generated, file, generated, pin};
use crate::lawful::with_document;
use crate::tests::cases;

/// The window of which a limit can be a part.
const WINDOW: u64 = 2_000;

fn limit() -> impl Strategy<Value = Size> {
    prop_oneof![(1u64..900).prop_map(Size::Tokens), (1u64..900).prop_map(|part| Size::Fraction(part as f64 / 2_000.0))]
}

/// The policy of a limit, with a kept part or without, pins, and a summarizer.
fn policy(limit: Size, keep: Option<Size>, pin: Pin, summarizer: SummarizerKind) -> CompactionPolicy {
    let mut policy = CompactionPolicy::keeping(keep.unwrap_or(Size::Messages(20)));
    policy.fit = Some(limit);
    policy.keep_is_given = keep.is_some();
    policy.cut.context_window = Some(WINDOW);
    policy.cut.pins = vec![pin];
    policy.pruning = Pruning { rules: chosen(&[Choice::All]), except: Vec::new() };
    policy.summary.summarizer = summarizer;
    policy
}

/// The limits that an error names.
fn named(failure: &Failure) -> Vec<u64> {
    let text = format!("{failure}\n{}", failure.shown().join("\n"));
    let numbers = ["tokens:", "bytes:", "the least is "].into_iter().flat_map(|before| text.split(before).skip(1));
    let number = |text: &str| text.split(|c: char| !c.is_ascii_digit()).next().and_then(|digits| digits.parse().ok());
    numbers.filter_map(number).collect()
}

/// What user and model said in the conversations of a text.
fn words(source: &str, from: &'static Format) -> Vec<String> {
    let said = |message: &Message<'_>| -> Vec<String> {
        let is_spoken = matches!(message.role, Role::User | Role::Assistant | Role::System | Role::Developer);
        match &message.content {
            _ if !is_spoken => Vec::new(),
            Content::Text(text) => vec![text.decode().into_owned()],
            Content::Parts(parts) => {
                let text = |part: &crate::transcript::Part<'_>| match part.kind {
                    PartKind::Text(text) => Some(text.decode().into_owned()),
                    _ => None,
                };
                parts.iter().filter_map(text).collect()
            }
        }
    };
    with_document(source, Some(from), |document| {
        let messages = document.transcripts.iter().flat_map(|transcript| &transcript.messages);
        // An answer that only had thinking leaves a placeholder where speakers must alternate.
        messages.flat_map(said).filter(|text| !text.trim().is_empty() && text != NO_ANSWER).collect()
    })
}

fn long() -> String {
    (0..40).map(|line| format!("line {line} of a result\n")).collect()
}

/// Writes a conversation with long results.
fn source(format: &'static Format, generated: &[Generated], layout: usize) -> String {
    file(&Bricks::of(format.name).with_results(&long()), generated, layout).0
}

proptest! {
    #![proptest_config(cases(600))]

    #[test]
    fn a_limit_that_an_error_names_can_be_met(generated in generated(), format in prop::sample::select(FORMATS), layout in 0usize..12,
                                              limit in limit(), keep in prop::option::of(crate::bricks::size()), pin in pin(),
                                              summarizes in any::<bool>()) {
        let source = source(format, &generated, layout);
        let is_one = with_document(&source, Some(format), |document| document.transcripts.len() == 1);
        let summarizer = if summarizes { SummarizerKind::Embedded } else { SummarizerKind::Off };
        let compact = |limit: Size, keep: Option<Size>| {
            Compactor::new(policy(limit, keep, pin.clone(), summarizer)).compact_as(&source, format.name)
        };
        let Err(failure) = compact(limit, keep) else { return Ok(()) };
        prop_assume!(is_one && failure.exit == Exit::SummaryRefused);
        let given = limit.in_tokens(Some(WINDOW)).expect("a number");
        let larger: Vec<u64> = named(&failure).into_iter().filter(|size| *size > given).collect();
        prop_assert!(!larger.is_empty(), "{} {:?}\n{}", failure, failure.shown(), source);
        for size in larger {
            let again = compact(Size::Tokens(size), keep);
            prop_assert!(again.is_ok(), "{}: {:?}\n{}\n{}", size, again.map(|_| ()).map_err(|error| error.to_string()), failure, source);
        }
    }

    #[test]
    fn a_result_has_at_most_the_bytes_of_its_limit(generated in generated(), format in prop::sample::select(FORMATS), layout in 0usize..12,
                                                   limit in 1u64..6_000, keep in prop::option::of(crate::bricks::size()), pin in pin(),
                                                   summarizes in any::<bool>()) {
        let source = source(format, &generated, layout);
        let summarizer = if summarizes { SummarizerKind::Embedded } else { SummarizerKind::Off };
        let compact = |limit: u64, source: &str| {
            Compactor::new(policy(Size::Bytes(limit), keep, pin.clone(), summarizer)).compact_as(source, format.name)
        };
        let (limit, done) = match compact(limit, &source) {
            Ok(done) => (limit, done),
            Err(failure) if failure.exit == Exit::SummaryRefused => {
                let larger = named(&failure).into_iter().filter(|size| *size > limit).max();
                let Some(larger) = larger else { return Err(TestCaseError::fail(format!("{failure}\n{source}"))) };
                match compact(larger, &source) {
                    Ok(done) => (larger, done),
                    Err(again) => return Err(TestCaseError::fail(format!("{failure}\n{again}\n{source}"))),
                }
            }
            Err(failure) => {
                prop_assert!([Exit::Unreadable, Exit::Usage].contains(&failure.exit), "{}", failure);
                return Ok(());
            }
        };
        // What cannot be cut at all stays as it is, at any limit.
        if done.plans.iter().any(|plan| plan.refused) {
            return Ok(());
        }
        let bytes = |text: &str| with_document(text, Some(format), |document| {
            let sizes = document.transcripts.iter().map(|transcript| transcript.messages.iter().map(|message| message.span().len() as u64).sum());
            sizes.collect::<Vec<u64>>()
        });
        let is_refused = done.plans.iter().any(|plan| plan.refused);
        prop_assert!(is_refused || bytes(&done.text).iter().all(|bytes| *bytes <= limit), "{:?} {}\n{}\n{}", bytes(&done.text), limit, done.text, source);
        let again = compact(limit, &done.text).map(|again| again.text);
        prop_assert_eq!(again.ok(), Some(done.text));
    }

    #[test]
    fn without_a_summarizer_a_limit_removes_no_words(generated in generated(), format in prop::sample::select(FORMATS), layout in 0usize..12,
                                                   limit in limit(), keep in prop::option::of(crate::bricks::size()), pin in pin()) {
        let source = source(format, &generated, layout);
        let compactor = Compactor::new(policy(limit, keep, pin, SummarizerKind::Off));
        match compactor.compact_as(&source, format.name) {
            Ok(done) => prop_assert_eq!(words(&done.text, format), words(&source, format), "{}\n{}", done.text, source),
            // Mostly foreign conversations are not read at all, and some formats refuse the user's messages as pins.
            Err(failure) => prop_assert!([Exit::SummaryRefused, Exit::Unreadable, Exit::Usage].contains(&failure.exit), "{}", failure),
        }
    }
}
