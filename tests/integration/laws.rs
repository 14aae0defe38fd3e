//! The laws that hold for every conversation and all rules, on generated ones.
//!
//! What goes in is generated here, and what comes out is read with serde_json and paired here, not with the library.

use std::collections::HashMap;

use proptest::prelude::*;
use serde_json::{Value, json};
use tcompact::plan::pairs::Pairs;
use tcompact::plan::pins::Pin;
use tcompact::plan::size::Size;
use tcompact::plan::{Plan, Policy, plan};
use tcompact::rewrite::{apply, splice, summary_message};
use tcompact::summary::extractive;
use tcompact::tokens::bpe::Encoding;
use tcompact::tokens::{Counter, Tally};
use tcompact::transcript::Message;
use tcompact::transcript::format::{self, Format, SummaryMessage, SummaryRole};
use tcompact::transcript::framing::read;

use crate::program::{FIXTURES, cases};

/// The rules that vary.
#[derive(Debug, Clone)]
pub(crate) struct Rules {
    pub(crate) keep: Size,
    pub(crate) pin: Pin,
}

const PREFIX: &str = "Earlier:\n\n";

fn policy(rules: &Rules) -> Policy {
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
        edits.extend(splice(transcript, &decided, Some(&summary)));
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

/// Checks all laws on one source under some rules.
pub(crate) fn assert_laws(source: &str, from: Option<&'static dyn Format>, rules: &Rules) {
    for (plan, messages) in assert_laws_of_text(source, from, rules).into_iter().filter(|(plan, _)| plan.cutoff > 0) {
        assert_no_pair_is_parted(&messages, &plan, rules);
    }
}

/// Checks the laws that speak of text alone, and gives the plan for each conversation with its messages.
fn assert_laws_of_text(source: &str, from: Option<&'static dyn Format>, rules: &Rules) -> Vec<(Plan, Vec<String>)> {
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
        assert_eq!(after[..pinned.len()].iter().collect::<Vec<_>>(), pinned, "pinned messages come first, unchanged");
        assert!(after[pinned.len()].contains(r"Earlier:\n\nWhat was "), "then the summary: {after:?}");
        assert_eq!(after[pinned.len() + 1..], before[plan.cutoff..], "then what is kept, unchanged and in order");
    }
    let document = read(source, from, None).expect("it was read before");
    if let ([plan], [transcript]) = (plans.as_slice(), document.transcripts.as_slice())
        && plan.cutoff > 0
    {
        let before_list = &source[..transcript.messages[0].span().start];
        assert!(out.starts_with(before_list), "all before the list is as it was");
        let kept = &source[transcript.messages[plan.cutoff].span().start..];
        assert!(out.ends_with(kept), "all from the first kept message on is as it was");
    }
    let (again, twice) = compacted(&out, from, &policy);
    assert_eq!(twice, out, "compacting twice changes nothing that once did not: {again:?}");
    plans.into_iter().zip(before).collect()
}

/// Calls and results of a message in any of the three formats.
fn calls_and_answers(message: &Value) -> (Vec<String>, Vec<String>) {
    let fields = ["data", "kwargs"].iter().find_map(|key| message.get(*key)).unwrap_or(message);
    let strings = |values: Vec<&Value>, key: &str| -> Vec<String> {
        values.iter().filter_map(|value| value[key].as_str()).map(str::to_owned).collect()
    };
    let list = |key: &str| fields[key].as_array().map(|list| list.iter().collect::<Vec<_>>()).unwrap_or_default();
    let blocks = |suffix: &str| -> Vec<&Value> {
        list("content")
            .into_iter()
            .filter(|block| block["type"].as_str().is_some_and(|kind| kind.ends_with(suffix)))
            .collect()
    };
    let calls = [strings(list("tool_calls"), "id"), strings(blocks("tool_use"), "id")].concat();
    let own: Vec<String> = fields["tool_call_id"].as_str().map(str::to_owned).into_iter().collect();
    (calls, [own, strings(blocks("tool_result"), "tool_use_id")].concat())
}

/// No call that has a result is on the other side of the cut from it, and no pinned message is without its other half.
fn assert_no_pair_is_parted(messages: &[String], plan: &Plan, rules: &Rules) {
    let mut open: HashMap<String, Vec<usize>> = HashMap::new();
    let mut front_is_orphaned = false;
    for (index, message) in messages.iter().enumerate() {
        // serde_json refuses half surrogates; they are in no message that calls.
        let Ok(value) = serde_json::from_str::<Value>(message) else { continue };
        let (calls, answers) = calls_and_answers(&value);
        for id in calls {
            open.entry(id).or_default().push(index);
        }
        for id in answers {
            match open.get_mut(&id).and_then(Vec::pop) {
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

/// What one generated message is, before it is written in a format.
#[derive(Debug, Clone)]
enum Made {
    System(String),
    User(String),
    Assistant(String),
    /// Calls with the ids, and for each whether its result follows: 0 not at all, 1 at once, 2 later.
    Calls(Vec<(u8, u8)>),
    Orphan(u8),
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z ]{0,30}",
        Just("2 \"quotes\" \\ and\nlines\t</message>".to_owned()),
        Just("Größe: 10 °C, 価格 😀\u{2028}".to_owned()),
        Just(format!("{PREFIX}an older summary")),
        prop::collection::vec(any::<char>(), 0..12).prop_map(|chars| chars.into_iter().collect()),
    ]
}

fn made() -> impl Strategy<Value = Vec<Made>> {
    let one = prop_oneof![
        1 => text().prop_map(Made::System),
        4 => text().prop_map(Made::User),
        4 => text().prop_map(Made::Assistant),
        4 => prop::collection::vec((0u8..4, 0u8..3), 1..4).prop_map(Made::Calls),
        1 => (0u8..6).prop_map(Made::Orphan),
    ];
    prop::collection::vec(one, 0..18)
}

fn written(made: &[Made], format: &str) -> Vec<Value> {
    let mut out = Vec::new();
    let mut later: Vec<String> = Vec::new();
    for one in made {
        match one {
            Made::System(text) if format == "anthropic" => out.push(json!({"role": "user", "content": text})),
            Made::System(text) if format == "gemini" => out.push(said("user", text, format)),
            Made::System(text) => out.push(said("system", text, format)),
            Made::User(text) => {
                out.extend(results(&std::mem::take(&mut later), format));
                out.push(said("user", text, format));
            }
            Made::Assistant(text) => out.push(said("assistant", text, format)),
            Made::Calls(calls) => {
                out.push(calling(calls.iter().map(|(id, _)| format!("c{id}")).collect(), format));
                let now: Vec<String> =
                    calls.iter().filter(|call| call.1 == 1).map(|(id, _)| format!("c{id}")).collect();
                later.extend(calls.iter().filter(|call| call.1 == 2).map(|(id, _)| format!("c{id}")));
                out.extend(results(&now, format));
            }
            Made::Orphan(id) => out.extend(results(&[format!("c{id}")], format)),
        }
    }
    out
}

fn said(role: &str, text: &str, format: &str) -> Value {
    let kind = match role {
        "user" => "human",
        "assistant" => "ai",
        other => other,
    };
    match format {
        "langchain" => json!({"type": kind, "data": {"content": text, "type": kind, "id": null, "n": 1.50}}),
        "anthropic" => json!({"content": [{"type": "text", "text": text}], "role": role}),
        "gemini" if role == "assistant" => json!({"parts": [{"text": text}], "role": "model"}),
        "gemini" => json!({"parts": [{"text": text}], "role": role}),
        _ => json!({"role": role, "content": text}),
    }
}

fn calling(ids: Vec<String>, format: &str) -> Value {
    match format {
        "langchain" => {
            let calls: Vec<Value> = ids
                .iter()
                .map(|id| json!({"name": "f", "args": {"a": [1, 2.0]}, "id": id, "type": "tool_call"}))
                .collect();
            json!({"type": "ai", "data": {"content": "", "tool_calls": calls}})
        }
        "anthropic" => {
            let calls: Vec<Value> =
                ids.iter().map(|id| json!({"type": "tool_use", "id": id, "name": "f", "input": {}})).collect();
            json!({"role": "assistant", "content": calls})
        }
        "gemini" => {
            let calls: Vec<Value> =
                ids.iter().map(|id| json!({"functionCall": {"id": id, "name": "f", "args": {}}})).collect();
            json!({"role": "model", "parts": calls})
        }
        _ => {
            let calls: Vec<Value> = ids
                .iter()
                .map(|id| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}}))
                .collect();
            json!({"role": "assistant", "content": null, "tool_calls": calls})
        }
    }
}

fn results(ids: &[String], format: &str) -> Vec<Value> {
    match format {
        "anthropic" | "gemini" if ids.is_empty() => Vec::new(),
        "gemini" => {
            let parts: Vec<Value> = ids
                .iter()
                .map(|id| json!({"functionResponse": {"id": id, "name": "f", "response": {"r": 1.50}}}))
                .collect();
            vec![json!({"role": "user", "parts": parts})]
        }
        "anthropic" => {
            let blocks: Vec<Value> =
                ids.iter().map(|id| json!({"type": "tool_result", "tool_use_id": id, "content": "r"})).collect();
            vec![json!({"role": "user", "content": blocks})]
        }
        "langchain" => {
            ids.iter().map(|id| json!({"type": "tool", "data": {"content": "r", "tool_call_id": id}})).collect()
        }
        _ => ids.iter().map(|id| json!({"role": "tool", "tool_call_id": id, "content": "r"})).collect(),
    }
}

/// Lays messages out as a file.
fn laid_out(messages: &[Value], layout: u8) -> String {
    let compact: Vec<String> = messages.iter().map(Value::to_string).collect();
    match layout {
        0 => format!("[{}]", compact.join(",")),
        1 => format!("\u{feff}{{\"b\": 1.0, \"messages\" : [ {} ] , \"b\": 1e5}}\r\n", compact.join(" ,\r\n ")),
        2 => serde_json::to_string_pretty(&json!({"values": {"messages": messages}, "next": []})).expect("JSON") + "\n",
        3 => compact.join("\r\n"),
        4 => compact.join("") + "\n\n",
        _ => compact.iter().map(|message| format!("{message}\n")).collect(),
    }
}

fn small_fixtures() -> Vec<String> {
    let folders = ["openai-chat", "anthropic", "gemini", "langchain"].map(|format| format!("{FIXTURES}/{format}"));
    let files = folders.iter().flat_map(|folder| std::fs::read_dir(folder).expect("a folder"));
    files.map(|file| std::fs::read_to_string(file.expect("an entry").path()).expect("a fixture")).collect()
}

/// A change to a text: some characters, told by parts of a thousand, are replaced by something else.
#[derive(Debug, Clone)]
struct Change {
    at: usize,
    length: usize,
    by: &'static str,
}

fn change() -> impl Strategy<Value = Change> {
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
    fn made_to(&self, text: &str) -> String {
        let chars: Vec<char> = text.chars().collect();
        let start = chars.len() * self.at / 1000;
        let end = (start + self.length).min(chars.len());
        chars[..start].iter().chain(&self.by.chars().collect::<Vec<_>>()).chain(&chars[end..]).collect()
    }
}

fn size() -> impl Strategy<Value = Size> {
    prop_oneof![
        (1u64..20).prop_map(Size::Messages),
        (1u64..200).prop_map(Size::Tokens),
        (1u64..6).prop_map(Size::Turns),
    ]
}

fn pin() -> impl Strategy<Value = Pin> {
    prop::sample::select(vec!["system", "none", "first:1", "first:3", "match:e", "match:^r$"])
        .prop_map(|rule| rule.parse().expect("a rule"))
}

proptest! {
    #![proptest_config(cases(3_000))]

    #[test]
    fn laws(made in made(), format in prop::sample::select(vec!["openai-chat", "anthropic", "gemini", "langchain"]),
            layout in 0u8..6, keep in size(), pin in pin()) {
        let messages = written(&made, format);
        // A file without a message has no lines to be told from.
        let layout = if messages.is_empty() { layout % 3 } else { layout };
        assert_laws(&laid_out(&messages, layout), format::by_name(format), &Rules { keep, pin });
    }

    #[test]
    fn a_larger_keep_never_keeps_less(made in made(), keep in size()) {
        let source = laid_out(&written(&made, "openai-chat"), 0);
        let larger = match keep {
            Size::Messages(n) => Size::Messages(n + 1),
            Size::Tokens(n) => Size::Tokens(n + 1),
            Size::Turns(n) => Size::Turns(n + 1),
            other => other,
        };
        let cutoff = |keep| compacted(&source, None, &policy(&Rules { keep, pin: Pin::None })).0[0].clone();
        let (small, large) = (cutoff(keep), cutoff(larger));
        // Where nothing is replaced, everything is kept.
        prop_assert!(large.cutoff <= small.cutoff || small.cutoff == 0 && small.wanted == 0, "{small:?} {large:?}");
    }

    #[test]
    fn no_trigger_no_change(made in made(), layout in 0u8..3) {
        let source = laid_out(&written(&made, "openai-chat"), layout);
        let never = Policy { triggers: vec![vec![Size::Messages(1_000)]], ..policy(&Rules { keep: Size::Messages(1), pin: Pin::None }) };
        prop_assert_eq!(compacted(&source, None, &never).1, source);
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
        if one_format {
            // What a field is worth that a change has torn from its message, only the reader can say.
            assert_laws_of_text(&text, Some(document.transcripts[0].format), &Rules { keep, pin });
        }
    }

    #[test]
    fn reading_never_panics(bytes in prop::collection::vec(prop::sample::select(b"[]{}\",:\\u0dae1-.nt \n\r\xc3\xa9role".to_vec()), 0..60)) {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let _ = read(&text, None, None);
    }
}
