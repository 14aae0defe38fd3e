//! Checks pruning on generated conversations and on fixtures of every format.

use std::collections::BTreeSet;
use std::path::Path;

use crate::all_cases::one_in;
use crate::compact::{CompactionPolicy, Compactor, Pruning, SummarizerKind};
use crate::plan::size::Size;
use crate::tokens::{Counter, Tally};
use crate::transcript::edit::apply;
use crate::transcript::formats::{FORMATS, Format};
use proptest::prelude::*;
use serde_json::Value;
use tcompact_core::prune::{Choice, KINDS, Scene, chosen, prune};

use crate::FIXTURES;
use crate::bricks::{Bricks, Generated, file, generated};
use crate::fixtures::of_format;
use crate::lawful::{found, with_document};
use crate::tests::cases;

/// Prunes all but the last messages of each conversation of a source. Returns the text, and the messages that were
/// removed whole.
fn pruned(
    source: &str,
    from: Option<&'static Format>,
    rules: &[Choice],
    last: usize,
) -> (String, Vec<BTreeSet<usize>>) {
    with_document(source, from, |document| {
        let mut edits = Vec::new();
        let mut gone = Vec::new();
        for transcript in &document.transcripts {
            let tally = Tally::new(Counter::APPROX, &transcript.messages);
            let count = transcript.messages.len();
            let touchable = (0..count).map(|index| index + last < count).collect();
            let scene = Scene::new(transcript, &tally, touchable);
            let pruned = prune(&scene, &chosen(rules), None);
            gone.push(pruned.emptied.iter().copied().collect());
            edits.extend(pruned.all_edits(transcript));
        }
        (apply(source, &edits), gone)
    })
}

/// The messages of each conversation as they are spelled.
fn spelled(source: &str, from: Option<&'static Format>) -> Vec<Vec<String>> {
    with_document(source, from, |document| {
        let messages = |transcript: &crate::transcript::Transcript<'_>| {
            transcript.messages.iter().map(|message| message.json.raw().to_owned()).collect()
        };
        document.transcripts.iter().map(messages).collect()
    })
}

/// Collects the ids and error marks of a value, which must not change.
fn marks(value: &Value, found: &mut Vec<String>) {
    const KEPT: [&str; 15] = [
        "id",
        "call_id",
        "tool_call_id",
        "tool_use_id",
        "toolUseId",
        "toolCallId",
        "toolName",
        "name",
        "tool_name",
        "function",
        "is_error",
        "isError",
        "status",
        "cause",
        "uuid",
    ];
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                match value {
                    Value::Object(_) | Value::Array(_) => marks(value, found),
                    value if KEPT.contains(&key.as_str()) => found.push(format!("{key}={value}")),
                    _ => {}
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| marks(value, found)),
        _ => {}
    }
}

fn marks_of(message: &str) -> Vec<String> {
    let mut found = Vec::new();
    marks(&serde_json::from_str(message).expect("JSON"), &mut found);
    found
}

/// Checks the invariants of pruning: protected messages stay unchanged, no pair is split, and pruning again changes
/// nothing.
fn assert_pruned(source: &str, from: Option<&'static Format>, rules: &[Choice], last: usize) -> String {
    let (out, gone) = pruned(source, from, rules, last);
    let (before, after) = (spelled(source, from), spelled(&out, from));
    assert_eq!(before.len(), after.len(), "{rules:?}: {out}\n{source}");
    for ((before, after), gone) in before.iter().zip(&after).zip(&gone) {
        let left: Vec<(usize, &String)> =
            before.iter().enumerate().filter(|(index, _)| !gone.contains(index)).collect();
        assert_eq!(left.len(), after.len(), "{rules:?}: {out}\n{source}");
        for ((index, before_it), after_it) in left.iter().zip(after) {
            if index + last >= before.len() {
                assert_eq!(*before_it, after_it, "what stays is as it was");
            }
        }
    }
    let (breaches_before, breaches_after) = (found(source, from), found(&out, from));
    assert!(!breaches_before.is_empty() || breaches_after.is_empty(), "{breaches_after:?} {rules:?}: {out}\n{source}");
    let (again, _) = pruned(&out, from, rules, last);
    assert_eq!(again, out, "pruned twice is pruned once, by {rules:?}: {source}");
    out
}

fn choices() -> impl Strategy<Value = Vec<Choice>> {
    let rules = vec![
        "all",
        "results:0",
        "results:2",
        "results:messages:4",
        "results:turns:1",
        "reads",
        "cap:30",
        "thinking",
        "media:0",
        "arguments:5",
    ];
    let choice = prop::sample::select(rules).prop_map(|rule| rule.parse().expect("a rule"));
    prop::collection::vec(choice, 1..4)
}

fn long() -> String {
    (0..60).map(|line| format!("line {line}: \"é\" and so on\n")).collect()
}

proptest! {
    #![proptest_config(cases(3_000))]

    /// At least the last message stays, as in any run; without it, a file of nothing but thinking would become empty.
    #[test]
    fn pruning_keeps_its_laws(generated in generated(), format in prop::sample::select(FORMATS), layout in 0usize..12, rules in choices(), last in 1usize..6) {
        let (source, _) = file(&Bricks::of(format.name).with_results(&long()), &generated, layout);
        assert_pruned(&source, Some(format), &rules, last);
    }

    /// Results of a call become notes, and the marks of the call and of its failure stay.
    #[test]
    fn pruning_keeps_cache_marks(generated in generated(), format in prop::sample::select(FORMATS), layout in 0usize..12) {
        let (source, _) = file(&Bricks::of(format.name).with_results(&long()), &generated, layout);
        let rules = ["results:0".parse().expect("a rule"), "cap:30".parse().expect("a rule"), "arguments:5".parse().expect("a rule")];
        let out = assert_pruned(&source, Some(format), &rules, 0);
        let (before, after) = (spelled(&source, Some(format)), spelled(&out, Some(format)));
        for (before, after) in before.iter().flatten().zip(after.iter().flatten()) {
            prop_assert_eq!(marks_of(before), marks_of(after));
        }
        let results = generated.iter().any(|one| matches!(one, Generated::Orphan(_) | Generated::Calls(_)));
        let has_long = source.contains("line 59");
        prop_assert!(!has_long || results || source.contains("so "), "{}", source);
        prop_assert!(!out.contains("line 58"), "all but the last line is gone: {}", out);
    }
}

/// Real files, with every rule alone and with all of them.
#[test]
fn every_fixture_keeps_the_laws_of_pruning() {
    for format in FORMATS {
        for file in of_format(format.name) {
            let source = std::fs::read_to_string(&file).expect("a fixture");
            let named: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
            for rule in named.into_iter().chain(["all", "results:0", "cap:30", "arguments:5", "media:0"]) {
                assert_pruned(&source, Some(*format), &[rule.parse().expect("a rule")], 1);
            }
        }
    }
}

/// Media beside the text of a message: removed from their list, restored to the byte, and pruned only once.
#[test]
fn attachments_are_restored() {
    let ollama = std::fs::read_to_string(Path::new(FIXTURES).join("ollama/request.json")).expect("a fixture");
    let url = "data:image/png;base64,iVBORw0KGgo=";
    let ai_sdk = serde_json::json!([
        {"id": "a", "role": "user", "content": "look", "experimental_attachments": [{"contentType": "image/png", "url": url}]},
        {"id": "b", "role": "assistant", "content": "I see."},
    ]);
    let message = |text: &str, urls: Value| serde_json::json!({"source": "user", "action": "message", "args": {"content": text, "image_urls": urls}});
    let openhands = serde_json::json!([message("look", serde_json::json!([url])), message("more", Value::Null)]);
    let mut policy = CompactionPolicy::keeping(Size::Messages(1));
    policy.pruning = Pruning { rules: chosen(&["media:0".parse().expect("a rule")]), except: Vec::new() };
    policy.summary.summarizer = SummarizerKind::Off;
    let compactor = Compactor::new(policy);
    for (format, source) in [("ollama", ollama), ("ai-sdk", ai_sdk.to_string()), ("openhands", openhands.to_string())] {
        let done = compactor.compact_as(&source, format).expect("a transcript");
        assert!(!done.text.contains("iVBOR") && done.text.contains("[tcompact: image/png, 8 bytes, "), "{}", done.text);
        assert_eq!(done.restore().expect("records"), source);
        assert_eq!(compactor.compact_as(&done.text, format).expect("a transcript").text, done.text);
    }
}

/// The policy of `--fit`, for a text that is compacted in one call.
fn fitting(limit: u64, keep: Option<u64>, summarizer: SummarizerKind) -> CompactionPolicy {
    let all = chosen(&[Choice::All]);
    let mut policy = CompactionPolicy::keeping(Size::Messages(keep.unwrap_or(20)));
    policy.fit = Some(Size::Tokens(limit));
    policy.keep_is_given = keep.is_some();
    policy.pruning = Pruning { rules: all, except: Vec::new() };
    policy.summary.summarizer = summarizer;
    policy
}

/// Counts the tokens of all conversations of a text.
fn tokens(source: &str, from: Option<&'static Format>) -> u64 {
    with_document(source, from, |document| {
        let messages = document.transcripts.iter().flat_map(|transcript| &transcript.messages);
        messages.map(|message| Counter::DEFAULT.count(message)).sum()
    })
}

proptest! {
    #![proptest_config(cases(6_000))]

    /// A fitted text is never larger than the limit, unless there is an error; fitted again it stays unchanged.
    #[test]
    fn fit_never_exceeds_its_limit(generated in generated(), format in prop::sample::select(FORMATS), layout in 0usize..12,
                                 limit in 20u64..1_200, keep in prop::option::of(1u64..8), summarizes in any::<bool>()) {
        // Messages before a provider's own compaction are neither sent nor counted.
        let generated: Vec<Generated> = generated.into_iter().filter(|one| !matches!(one, Generated::Compaction(..))).collect();
        let (source, _) = file(&Bricks::of(format.name).with_results(&long()), &generated, layout);
        let summarizer = if summarizes { SummarizerKind::Embedded } else { SummarizerKind::Off };
        let compactor = Compactor::new(fitting(limit, keep, summarizer));
        let Ok(done) = compactor.compact_as(&source, format.name) else { return Ok(()) };
        let is_refused = done.plans.iter().any(|plan| plan.refused);
        prop_assert!(is_refused || tokens(&done.text, Some(format)) <= limit, "{}: {}\n{}", limit, done.text, source);
        prop_assert_eq!(done.restore().expect("records"), source.as_str());
        if found(&source, Some(format)).is_empty() {
            prop_assert_eq!(found(&done.text, Some(format)), Vec::<String>::new(), "{}\n{}", done.text, source);
        }
        let again = compactor.compact_as(&done.text, format.name).expect("it fits");
        prop_assert_eq!(&again.text, &done.text, "{}", source);
    }
}

/// Cuts, pruning and removed thinking together leave a readable text, as each alone would.
#[test]
fn a_fitted_result_can_be_read() {
    let (long, foreign) = ("so many words ".repeat(80), "unknown words ".repeat(30));
    let messages = serde_json::json!([
        {"role": "user", "content": long},
        {"role": "assistant", "content": "I look."},
        {"role": "user", "content": "Go on."},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        ]},
        {"role": "tool", "tool_call_id": "c", "content": self::long()},
        {"role": "user", "content": [{"hologram": {"body": foreign}}, {"hologram": {"body": foreign}}]},
        {"role": "assistant", "content": "I see."}
    ]);
    let source = messages.to_string();
    let mut fitted = 0;
    for (limit, summarizer) in (20..1_000)
        .step_by(7 * one_in())
        .flat_map(|limit| [SummarizerKind::Embedded, SummarizerKind::Off].map(|summarizer| (limit, summarizer)))
    {
        let compactor = Compactor::new(fitting(limit, Some(4), summarizer));
        // What would be mostly of parts that nobody knows is refused.
        let Ok(done) = compactor.compact(&source) else { continue };
        fitted += usize::from(done.text != source);
        compactor.compact(&done.text).unwrap_or_else(|error| panic!("{limit}: {error}: {}", done.text));
    }
    assert!(fitted * one_in() > 20, "{fitted}");
}
