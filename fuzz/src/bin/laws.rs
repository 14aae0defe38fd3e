//! The laws on as many generated conversations as one likes: all formats, layouts, sizes, pins, presets and repairs.
//!
//! usage: laws [CASES [SEED [FIRST]]]
//!
//! A case is told by the seed and its number, so that `laws 1 SEED NUMBER` shows it again.

use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use tcompact::plan::Policy;
use tcompact::plan::pairs::Pairs;
use tcompact::plan::size::Size;
use tcompact::rewrite::repair::Repair;
use tcompact::rewrite::thinking::Thinking;
use tcompact::settings::presets::{PRESETS, Preset};
use tcompact::transcript::formats::{FORMATS, Format};
use tcompact_fuzz::whole;

#[path = "../../../tests/integration/bricks.rs"]
mod bricks;
#[path = "../../../tests/integration/lawful.rs"]
mod lawful;

mod program {
    pub(crate) const FIXTURES: &str = tcompact_fuzz::FIXTURES;
}

use bricks::{Bricks, Made, WAYS, Way};
use lawful::Rules;

/// A conversation and the rules that it meets.
#[derive(Debug)]
struct Case {
    made: Vec<Made>,
    format: &'static dyn Format,
    layout: usize,
    rules: Rules,
    repair: Repair,
    preset: Option<&'static Preset>,
    trigger: Option<Size>,
    thinking: Way,
}

fn case(seed: u64, number: u64) -> Case {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    bytes[8..16].copy_from_slice(&number.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let presets: Vec<Option<&'static Preset>> = PRESETS.iter().map(Some).chain([None]).collect();
    let strategy = (
        bricks::made(),
        prop::sample::select(FORMATS),
        0usize..12,
        (bricks::size(), bricks::pin()),
        prop::sample::select(vec![Repair::Drop, Repair::Synthesize]),
        prop::sample::select(presets),
        prop::option::of(bricks::size()),
        prop::sample::select(WAYS),
    );
    let (made, format, layout, (keep, pin), repair, preset, trigger, thinking) =
        strategy.new_tree(&mut runner).expect("a case").current();
    Case { made, format, layout, rules: Rules { keep, pin }, repair, preset, trigger, thinking }
}

/// How often something was cut, mended, and compacted by the whole program; and messages that lost thinking.
#[derive(Default)]
struct Counts {
    cut: AtomicU64,
    mended: AtomicU64,
    compacted: AtomicU64,
    thoughts: AtomicU64,
}

fn count(counter: &AtomicU64, happened: bool) {
    counter.fetch_add(u64::from(happened), Ordering::Relaxed);
}

/// The whole program takes longer than all else together, so it is asked of one case in so many.
const WHOLE: u64 = 16;

/// Checks every law on a case.
fn check(case: &Case, number: u64, bricks: &Bricks, counts: &Counts) {
    let Case { made, format, layout, rules, repair, preset, trigger, thinking } = case;
    let from = Some(*format);
    let (source, ids) = bricks::file(bricks, made, *layout);
    let own = lawful::policy(rules);
    let triggers = trigger.iter().map(|size| vec![*size]).collect();
    for (plan, messages) in lawful::assert_laws(&source, from, &Policy { triggers, ..own.clone() }) {
        assert_eq!(ids.len(), messages.len(), "{source}");
        count(&counts.cut, plan.cutoff > 0);
        if plan.cutoff > 0 {
            bricks::assert_no_pair_is_parted(&ids, &plan, rules);
        }
    }
    lawful::assert_read_again(&source, rules);
    lawful::assert_larger_keeps_more(&source, from, rules.keep);
    lawful::assert_no_trigger_no_change(&source, from);
    let lost = bricks::assert_thinking(bricks, *format, made, *layout, rules, *thinking);
    counts.thoughts.fetch_add(lost as u64, Ordering::Relaxed);
    let none: [String; 0] = [];
    match lawful::mended(&source, from, *repair) {
        None => assert!(made.iter().all(|one| !matches!(one, Made::User(_))), "what users say is left: {source}"),
        Some(mended) => {
            count(&counts.mended, mended != source);
            assert_eq!(lawful::found(&mended, from), none, "{mended}\n{source}");
            let out = lawful::compacted(&mended, from, &own).1;
            assert_eq!(lawful::found(&out, from), none, "{out}\n{mended}");
            if lawful::found(&source, from).is_empty() {
                assert_eq!(mended, source);
            }
        }
    }
    let mut arguments = vec![
        format!("--from={}", format.name()),
        format!("--keep={}", rules.keep),
        format!("--trigger={}", trigger.unwrap_or(Size::Messages(2))),
    ];
    if thinking.2 == Thinking::Drop {
        arguments.push("--thinking=drop".to_owned());
    }
    if let Some(preset) = preset {
        arguments.push(format!("--preset={}", preset.name));
        let pairs = preset.flags.iter().find(|(flag, _)| *flag == "pairs").map(|(_, pairs)| *pairs);
        let pairs = pairs.map_or(Pairs::Strict, |pairs| pairs.parse().expect("a rule"));
        // A summary that is carried on stands beside the messages, of which the whole program knows.
        if !preset.rules.carries {
            lawful::assert_laws(&source, from, &Policy { rules: preset.rules, pairs, ..own });
        }
    }
    if number.is_multiple_of(WHOLE) {
        count(&counts.compacted, whole::assert_whole(&arguments, &source));
    }
}

fn main() -> ExitCode {
    let mut numbers = std::env::args().skip(1).map(|number| number.parse::<u64>().expect("a number"));
    let (cases, seed) = (numbers.next().unwrap_or(1_000_000), numbers.next().unwrap_or(2026));
    let first = numbers.next().unwrap_or(0);
    println!("{cases} generated conversations from number {first}, seed {seed}");
    let began = Instant::now();
    let all: Vec<(&str, Bricks)> = FORMATS.iter().map(|format| (format.name(), Bricks::of(format.name()))).collect();
    let (next, broken, counts) = (AtomicU64::new(first), AtomicU64::new(0), Counts::default());
    let said = Mutex::new(());
    panic::set_hook(Box::new(|_| ()));
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= first + cases {
                        break;
                    }
                    if number > first && (number - first).is_multiple_of(50_000) {
                        println!("{} so far, {:.0} s", number - first, began.elapsed().as_secs_f64());
                    }
                    let case = case(seed, number);
                    let bricks = &all.iter().find(|(name, _)| *name == case.format.name()).expect("a format").1;
                    let Err(why) = panic::catch_unwind(AssertUnwindSafe(|| check(&case, number, bricks, &counts)))
                    else {
                        continue;
                    };
                    let why = why.downcast_ref::<String>().map(String::as_str).or(why.downcast_ref::<&str>().copied());
                    let _alone = said.lock().unwrap_or_else(PoisonError::into_inner);
                    if broken.fetch_add(1, Ordering::Relaxed) < 20 {
                        println!("case {number} of seed {seed}: {case:?}\n  {}", why.unwrap_or("it panicked"));
                    }
                }
            });
        }
    });
    let broken = broken.into_inner();
    let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    println!(
        "{} cut, {} mended, {} compacted by the whole program, {} messages lost thinking; {broken} broke a law; {:.0} s",
        of(&counts.cut),
        of(&counts.mended),
        of(&counts.compacted),
        of(&counts.thoughts),
        began.elapsed().as_secs_f64()
    );
    if broken == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
