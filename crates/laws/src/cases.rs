//! Generated conversations with their rules: all formats, layouts, sizes, pins, presets and repairs.

use std::sync::atomic::{AtomicU64, Ordering};

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::bricks::{self, Bricks, Generated, WAYS, Way};
use crate::lawful::{self, VaryingRules};
use crate::plan::CutPolicy;
use crate::plan::cutoff::Pairs;
use crate::plan::size::Size;
use crate::presets::{PRESETS, Preset};
use crate::rewrite::repair::Repair;
use crate::rewrite::thinking::Thinking;
use crate::transcript::formats::{FORMATS, Format};
use crate::whole;

/// A conversation and its rules.
#[derive(Debug)]
struct Case {
    generated: Vec<Generated>,
    format: &'static Format,
    layout: usize,
    rules: VaryingRules,
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
        bricks::generated(),
        prop::sample::select(FORMATS),
        0usize..12,
        (bricks::keep(), bricks::pin()),
        prop::sample::select(vec![Repair::Drop, Repair::Synthesize]),
        prop::sample::select(presets),
        prop::option::of(bricks::size()),
        prop::sample::select(WAYS),
    );
    let (generated, format, layout, (keep, pin), repair, preset, trigger, thinking) =
        strategy.new_tree(&mut runner).expect("a case").current();
    Case { generated, format, layout, rules: VaryingRules { keep, pin }, repair, preset, trigger, thinking }
}

/// How many conversations were cut, repaired, and compacted by the whole program; and how many messages lost thinking.
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

/// The whole program takes longer than everything else together, so only one case in this many runs it.
const WHOLE: u64 = 16;

/// Checks every law on a case.
fn check(case: &Case, number: u64, bricks: &Bricks, counts: &Counts) {
    let Case { generated, format, layout, rules, repair, preset, trigger, thinking } = case;
    let from = Some(*format);
    let (source, ids) = bricks::file(bricks, generated, *layout);
    let own = lawful::policy(rules);
    let triggers = trigger.iter().map(|size| vec![*size]).collect();
    for (plan, messages) in lawful::assert_laws(&source, from, &CutPolicy { triggers, ..own.clone() }) {
        assert_eq!(ids.len(), messages.len(), "{source}");
        count(&counts.cut, plan.cutoff > 0);
        if plan.cutoff > 0 {
            bricks::assert_no_pair_is_split(&ids, &plan, rules);
        }
    }
    lawful::assert_read_again(&source, rules);
    lawful::assert_larger_keeps_more(&source, from, rules.keep);
    lawful::assert_no_trigger_no_change(&source, from);
    let lost = bricks::assert_thinking(bricks, format, generated, *layout, rules, *thinking);
    counts.thoughts.fetch_add(lost as u64, Ordering::Relaxed);
    let none: [String; 0] = [];
    match lawful::mended(&source, from, *repair) {
        None => {
            assert!(generated.iter().all(|one| !matches!(one, Generated::User(_))), "what users say is left: {source}")
        }
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
        format!("--from={}", format.name),
        format!("--keep={}", rules.keep),
        format!("--trigger={}", trigger.unwrap_or(Size::Messages(2))),
    ];
    if thinking.policy.mode == Thinking::Drop {
        arguments.push("--thinking=drop".to_owned());
    }
    if let Some(preset) = preset {
        arguments.push(format!("--preset={}", preset.name));
        let pairs = preset.flags.iter().find(|(flag, _)| *flag == "pairs").map(|(_, pairs)| *pairs);
        let pairs = pairs.map_or(Pairs::Strict, |pairs| pairs.parse().expect("a rule"));
        // A carried summary is stored beside the messages, which only the whole program handles.
        if !preset.rules.carries {
            lawful::assert_laws(&source, from, &CutPolicy { rules: preset.rules, pairs, ..own });
        }
    }
    if number.is_multiple_of(WHOLE) {
        count(&counts.compacted, whole::assert_whole(&arguments, &source));
    }
}

/// An unlimited number of cases, and statistics on the checked ones.
pub struct Cases {
    seed: u64,
    bricks: Vec<(&'static str, Bricks)>,
    counts: Counts,
}

impl Cases {
    /// Creates the cases of a seed.
    pub fn new(seed: u64) -> Self {
        let bricks = FORMATS.iter().map(|format| (format.name, Bricks::of(format.name))).collect();
        Cases { seed, bricks, counts: Counts::default() }
    }

    /// Checks every law on a case.
    ///
    /// # Panics
    /// A law is broken.
    pub fn check(&self, number: u64) {
        let case = case(self.seed, number);
        let bricks = &self.bricks.iter().find(|(name, _)| *name == case.format.name).expect("a format").1;
        check(&case, number, bricks, &self.counts);
    }

    /// Formats a case for display.
    pub fn shown(&self, number: u64) -> String {
        format!("case {number} of seed {}: {:?}", self.seed, case(self.seed, number))
    }

    pub fn counts(&self) -> String {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let Counts { cut, mended, compacted, thoughts } = &self.counts;
        let [cut, mended, compacted, thoughts] = [cut, mended, compacted, thoughts].map(of);
        format!(
            "{cut} cut, {mended} repaired, {compacted} compacted by the whole program, {thoughts} messages lost thinking"
        )
    }
}
