//! The laws that hold for every conversation and all rules, on generated ones.
//!
//! What goes in is generated here, and what comes out is read with serde_json and paired here, not with the library.

use std::collections::HashMap;

use crate::transcripts::read;
use proptest::prelude::*;
use tcompact::plan::breaches::breaches;
use tcompact::plan::pairs::Pairs;
use tcompact::plan::pins::Pin;
use tcompact::plan::size::Size;
use tcompact::plan::{Plan, Policy, plan};
use tcompact::rewrite::repair::{self, Repair};
use tcompact::rewrite::{apply, splice, summary_message};
use tcompact::summary::extractive;
use tcompact::tokens::bpe::Encoding;
use tcompact::tokens::{Counter, Tally};
use tcompact::transcript::Message;
use tcompact::transcript::format::{FORMATS, Format, SummaryMessage, SummaryRole};

use crate::bricks::{Bricks, Ids, Made, PREFIX, file, made};
use crate::program::{FIXTURES, cases};

/// The rules that vary.
#[derive(Debug, Clone)]
pub(crate) struct Rules {
    pub(crate) keep: Size,
    pub(crate) pin: Pin,
}

pub(crate) fn policy(rules: &Rules) -> Policy {
    Policy {
        triggers: Vec::new(),
        budget: None,
        keep: rules.keep,
        pins: vec![rules.pin.clone()],
        pairs: Pairs::Strict,
        context_window: None,
        overhead_tokens: 0,
        summary_prefix: PREFIX.to_owned(),
        smallest_summary: 0,
        rules: tcompact::plan::Rules::OWN,
        provider: None,
    }
}

/// The plan for each conversation of a source, and the source with each compacted.
fn compacted(source: &str, from: Option<&'static dyn Format>, policy: &Policy) -> (Vec<Plan>, String) {
    let document = read(source, from, None).unwrap_or_else(|error| panic!("it {error}: {source}"));
    let mut plans = Vec::new();
    let mut edits = Vec::new();
    for transcript in &document.transcripts {
        let decided = plan(transcript, &Tally::new(Counter::DEFAULT, &transcript.messages), policy);
        let text = format!("{PREFIX}What was — said.");
        let summary = SummaryMessage { text: &text, role: SummaryRole::User, name: None, marked: true };
        let summary = summary_message(transcript, &decided, &summary);
        edits.extend(splice(transcript, &decided, &summary));
        plans.push(decided);
    }
    (plans, apply(document.source, &edits))
}

/// The messages of each conversation as they are spelled.
fn spelled(source: &str, from: Option<&'static dyn Format>) -> Vec<Vec<String>> {
    let document = read(source, from, None).unwrap_or_else(|error| panic!("it {error}: {source}"));
    let spelled = |message: &tcompact::transcript::Message<'_>| message.json.raw().to_owned();
    document.transcripts.iter().map(|transcript| transcript.messages.iter().map(spelled).collect()).collect()
}

/// Checks the laws that speak of text on one source under some rules, and gives the plan for each conversation with its
/// messages.
pub(crate) fn assert_laws(source: &str, from: Option<&'static dyn Format>, rules: &Rules) -> Vec<(Plan, Vec<String>)> {
    let policy = policy(rules);
    let (plans, out) = compacted(source, from, &policy);
    assert_eq!(compacted(source, from, &policy).1, out, "the same every time");
    let (before, after) = (spelled(source, from), spelled(&out, from));
    assert_eq!(before.len(), after.len());
    for ((plan, before), after) in plans.iter().zip(&before).zip(&after) {
        if plan.cutoff == 0 {
            assert_eq!(before, after);
            continue;
        }
        let pinned: Vec<&String> = plan.pinned.iter().map(|&index| &before[index]).collect();
        let (front, behind) = pinned.split_at(plan.before_summary);
        let (summary, next) = (front.len(), front.len() + 1);
        assert_eq!(after[..summary].iter().collect::<Vec<_>>(), front, "pinned messages come first, unchanged");
        assert!(after[summary].contains(r"Earlier:\n\nWhat was "), "then the summary: {after:?}");
        let rest: Vec<&String> = behind.iter().copied().chain(&before[plan.cutoff..]).collect();
        assert_eq!(after[next..].iter().collect::<Vec<_>>(), rest, "then what is kept, unchanged and in order");
    }
    let document = read(source, from, None).expect("it was read before");
    if let ([plan], [transcript]) = (plans.as_slice(), document.transcripts.as_slice())
        && plan.cutoff > 0
    {
        let notes = transcript.notes.iter().map(|note| note.json.span().start);
        let first = notes.chain([transcript.messages[0].span().start]).min().expect("an entry");
        let before_list = &source[..first];
        assert!(out.starts_with(before_list), "all before the list is as it was");
        let kept = &source[transcript.messages[plan.cutoff].span().start..];
        assert!(out.ends_with(kept), "all from the first kept message on is as it was");
    }
    let (again, twice) = compacted(&out, from, &policy);
    assert_eq!(twice, out, "compacting twice changes nothing that once did not: {again:?}");
    plans.into_iter().zip(before).collect()
}

/// No call that has a result is on the other side of the cut from it, and no pinned message is without its other half.
fn assert_no_pair_is_parted(ids: &[Ids], plan: &Plan, rules: &Rules) {
    let mut open: HashMap<&str, Vec<usize>> = HashMap::new();
    let mut front_is_orphaned = false;
    for (index, message) in ids.iter().enumerate() {
        for id in &message.calls {
            open.entry(id).or_default().push(index);
        }
        for id in &message.answers {
            match open.get_mut(id.as_str()).and_then(Vec::pop) {
                Some(call) => {
                    assert_eq!(
                        call < plan.cutoff,
                        index < plan.cutoff,
                        "{call} and {index} are parted at {}: {rules:?}",
                        plan.cutoff
                    );
                    if index < plan.cutoff {
                        assert_eq!(
                            plan.pinned.contains(&call),
                            plan.pinned.contains(&index),
                            "{call} and {index}: {rules:?}"
                        );
                    }
                }
                None => front_is_orphaned |= index == plan.cutoff,
            }
        }
    }
    assert!(!front_is_orphaned, "an orphaned result is at the front of what is kept: {rules:?}");
}

/// A source without breaches of its provider's rules.
fn mended(source: &str, from: Option<&'static dyn Format>, how: Repair) -> String {
    let mut text = source.to_owned();
    for _ in 0..64 {
        let document = read(&text, from, None).unwrap_or_else(|error| panic!("it {error}: {text}\n{source}"));
        let edits: Vec<_> =
            document.transcripts.iter().flat_map(|transcript| repair::mended(transcript, how)).collect();
        if edits.is_empty() {
            return text;
        }
        text = apply(&text, &edits);
    }
    text
}

/// Every breach in a source.
fn found(source: &str, from: Option<&'static dyn Format>) -> Vec<String> {
    let document = read(source, from, None).unwrap_or_else(|error| panic!("it {error}: {source}"));
    let found = document.transcripts.iter().flat_map(breaches);
    found.map(|breach| format!("{}: {breach}", breach.message)).collect()
}

fn small_fixtures() -> Vec<String> {
    let folders: Vec<String> = FORMATS.iter().map(|format| format!("{FIXTURES}/{}", format.name())).collect();
    let files = folders.iter().flat_map(|folder| std::fs::read_dir(folder).expect("a folder"));
    files.map(|file| std::fs::read_to_string(file.expect("an entry").path()).expect("a fixture")).collect()
}

/// A change to a text: some characters, told by parts of a thousand, are replaced by something else.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    at: usize,
    length: usize,
    by: &'static str,
}

pub(crate) fn change() -> impl Strategy<Value = Change> {
    let pieces = vec![
        "",
        "",
        "null",
        "\"\"",
        "0",
        "[]",
        "{}",
        "{\"role\":\"tool\"}",
        ",",
        "\\ud83d",
        "\"content\":",
        "é",
        "\\",
        "tool",
        "call_0",
        "\"id\":7,",
        "\r\n",
    ];
    (0usize..1000, 0usize..40, prop::sample::select(pieces)).prop_map(|(at, length, by)| Change { at, length, by })
}

impl Change {
    pub(crate) fn made_to(&self, text: &str) -> String {
        let chars: Vec<char> = text.chars().collect();
        let start = chars.len() * self.at / 1000;
        let end = (start + self.length).min(chars.len());
        chars[..start].iter().chain(&self.by.chars().collect::<Vec<_>>()).chain(&chars[end..]).collect()
    }
}

pub(crate) fn size() -> impl Strategy<Value = Size> {
    prop_oneof![
        (1u64..20).prop_map(Size::Messages),
        (1u64..200).prop_map(Size::Tokens),
        (1u64..6).prop_map(Size::Turns),
    ]
}

pub(crate) fn pin() -> impl Strategy<Value = Pin> {
    prop::sample::select(vec!["system", "none", "first:1", "first:3", "match:e", "match:^r$"])
        .prop_map(|rule| rule.parse().expect("a rule"))
}

proptest! {
    #![proptest_config(cases(3_000))]

    #[test]
    fn laws(made in made(), format in prop::sample::select(FORMATS), layout in 0usize..12, keep in size(), pin in pin()) {
        let (source, ids) = file(&Bricks::of(format.name()), &made, layout);
        let rules = Rules { keep, pin };
        for (plan, messages) in assert_laws(&source, Some(format), &rules) {
            prop_assert_eq!(ids.len(), messages.len(), "{}", source);
            if plan.cutoff > 0 {
                assert_no_pair_is_parted(&ids, &plan, &rules);
            }
        }
    }

    /// What is mended has no breach, what had none stays as it is, and compacting makes none.
    #[test]
    fn repair(made in made(), format in prop::sample::select(FORMATS), layout in 0usize..12, keep in size(), pin in pin(),
              how in prop::sample::select(vec![Repair::Drop, Repair::Synthesize])) {
        // Where there is nothing but results without calls, nothing can be left.
        let made = if made.iter().any(|one| matches!(one, Made::User(_))) { made } else { [made, vec![Made::User("u".to_owned())]].concat() };
        let (source, _) = file(&Bricks::of(format.name()), &made, layout);
        let text = mended(&source, Some(format), how);
        prop_assert_eq!(found(&text, Some(format)), Vec::<String>::new(), "{}\n{}", text, source);
        if found(&source, Some(format)).is_empty() {
            prop_assert_eq!(&text, &source);
        }
        let (plans, compacted) = compacted(&text, Some(format), &policy(&Rules { keep, pin }));
        prop_assert_eq!(found(&compacted, Some(format)), Vec::<String>::new(), "{:?}\n{}\n{}", plans, compacted, text);
    }

    #[test]
    fn what_is_written_is_told_by_looking(made in made(), format in prop::sample::select(FORMATS), layout in 0usize..12) {
        let (source, _) = file(&Bricks::of(format.name()), &made, layout);
        // Texts alone are of several formats, and nothing is of the first.
        let named = read(&source, None, None).map(|document| document.transcripts[0].format.name());
        if made.iter().any(|one| matches!(one, Made::Calls(_))) && Bricks::of(format.name()).call.is_some() {
            prop_assert_eq!(named.as_ref().ok().copied(), Some(format.name()), "{:?} {}", named, source);
        }
    }

    #[test]
    fn a_larger_keep_never_keeps_less(made in made(), format in prop::sample::select(FORMATS), keep in size()) {
        let (source, _) = file(&Bricks::of(format.name()), &made, 0);
        let larger = match keep {
            Size::Messages(n) => Size::Messages(n + 1),
            Size::Tokens(n) => Size::Tokens(n + 1),
            Size::Turns(n) => Size::Turns(n + 1),
            other => other,
        };
        let cutoff = |keep| compacted(&source, Some(format), &policy(&Rules { keep, pin: Pin::None })).0[0].clone();
        let (small, large) = (cutoff(keep), cutoff(larger));
        // Where nothing is replaced, everything is kept.
        prop_assert!(large.cutoff <= small.cutoff || small.cutoff == 0 && small.wanted == 0, "{small:?} {large:?}");
    }

    #[test]
    fn no_trigger_no_change(made in made(), format in prop::sample::select(FORMATS), layout in 0usize..12) {
        let (source, _) = file(&Bricks::of(format.name()), &made, layout);
        let never = Policy { triggers: vec![vec![Size::Messages(1_000)]], ..policy(&Rules { keep: Size::Messages(1), pin: Pin::None }) };
        prop_assert_eq!(compacted(&source, Some(format), &never).1, source);
    }

    /// Fixtures with pieces cut out, doubled and replaced: what can still be read keeps the laws, and nothing panics.
    #[test]
    fn mutated_fixtures(file in prop::sample::select(small_fixtures()), changes in prop::collection::vec(change(), 1..4),
                        keep in size(), pin in pin()) {
        let text = changes.iter().fold(file, |text, change| change.made_to(&text));
        let Ok(document) = read(&text, None, None) else { return Ok(()) };
        for transcript in &document.transcripts {
            let messages: Vec<&Message<'_>> = transcript.messages.iter().collect();
            for counter in [Counter::DEFAULT, Counter::Exact(Encoding::Cl100kBase), Counter::Bytes(3)] {
                for message in &messages {
                    let (counted, bounds) = (counter.count(message), counter.bounds(message));
                    prop_assert!(bounds.is_none_or(|(least, most)| least <= counted && counted <= most), "{bounds:?} {counted}");
                }
                let summary = extractive::summarize(&messages, PREFIX, counter, 60);
                prop_assert!(counter.count_text(&summary) <= 60, "{summary}");
            }
        }
        let one_format = document.transcripts.windows(2).all(|two| two[0].format.name() == two[1].format.name());
        // Where links are torn, what leads where is anybody's guess; that nothing panics is seen all the same.
        let is_linked = ["claude-code", "pi"].contains(&document.transcripts[0].format.name());
        let rules = Rules { keep, pin };
        if is_linked {
            compacted(&text, Some(document.transcripts[0].format), &policy(&rules));
        } else if one_format {
            // What a field is worth that a change has torn from its message, only the reader can say.
            assert_laws(&text, Some(document.transcripts[0].format), &rules);
        }
    }

    #[test]
    fn reading_never_panics(bytes in prop::collection::vec(prop::sample::select(b"[]{}\",:\\u0dae1-.nt \n\r\xc3\xa9role".to_vec()), 0..60)) {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let _ = read(&text, None, None);
    }
}
