//! The ledger: facts that no summary loses, whichever summarizer writes it.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::program::{FIXTURES, Run, run, tcompact, with};

/// A summarizer that remembers nothing.
const FORGETFUL: &str = "cat > /dev/null; echo 'The session went on as planned.'";

fn compact(messages: &[Value], more: &[&str]) -> Run {
    let arguments = ["-q", "--keep", "messages:2", "--summarizer-cmd", FORGETFUL];
    run(tcompact().args(arguments).args(more), Value::from(messages).to_string().as_bytes())
}

fn messages_of(run: &Run) -> Vec<Value> {
    assert_eq!(run.code, 0, "{run:?}");
    serde_json::from_str(&run.stdout).expect("messages")
}

fn summary_of(run: &Run) -> String {
    messages_of(run)[0]["content"].as_str().expect("a summary").to_owned()
}

fn said(role: &str, text: &str) -> Value {
    json!({"role": role, "content": text})
}

/// A shell call and its result.
fn call_and_result(id: &str, command: &str, output: &str) -> [Value; 2] {
    let arguments = json!({"command": command}).to_string();
    let call = json!({"id": id, "type": "function", "function": {"name": "bash", "arguments": arguments}});
    [
        json!({"role": "assistant", "content": null, "tool_calls": [call]}),
        json!({"role": "tool", "tool_call_id": id, "content": output}),
    ]
}

/// The start of a session with one fact of each kind, and the words that identify each.
fn beginning() -> Vec<Value> {
    let mut messages = vec![
        said(
            "user",
            "Please port the billing service to Rust. Never touch the table invoices_2019. The budget for cloud costs is $500.",
        ),
        said(
            "assistant",
            "I will begin with the parser. We decided to use sqlx instead of diesel, because it checks queries.",
        ),
    ];
    messages.extend(call_and_result(
        "c1",
        "cargo test -p billing",
        "error[E0308]: mismatched types\n  --> src/invoice.rs:42:9\nexit code: 101",
    ));
    messages.push(said(
        "user",
        "The staging server is https://staging.example.com:8443/billing and the customer is ACME-77213.",
    ));
    messages.push(said("assistant", "I noted both. The release is version 2.14.3, and the deadline is 2026-12-04."));
    messages
}

const EARLY: [&str; 8] = [
    "port the billing service to Rust",
    "Never touch the table invoices_2019",
    "sqlx",
    "cargo test -p billing",
    "E0308",
    "https://staging.example.com:8443/billing",
    "ACME-77213",
    "2.14.3",
];

/// The new messages of a round, without facts.
fn chatter(round: usize) -> Vec<Value> {
    (0..4)
        .flat_map(|turn| {
            let text =
                format!("That is fine so far, thank you ({} of {}).", ["one", "two", "three", "four"][turn], round);
            [
                said("user", &text),
                said("assistant", "Good. I go on with the same work as before, nothing has changed for now."),
            ]
        })
        .collect()
}

#[test]
fn facts_that_a_summary_lacks_are_appended() {
    let mut messages = beginning();
    messages.extend(chatter(1));
    let summary = summary_of(&compact(&messages, &[]));
    assert!(summary.contains("The session went on as planned.\n\n## Ledger\nUser:\n"), "{summary}");
    for fact in EARLY {
        assert!(summary.contains(fact), "{fact} is missing: {summary}");
    }
    assert!(summary.contains("- [0] "), "each has the index of its message: {summary}");
}

#[test]
fn what_a_summary_has_is_not_repeated() {
    let mut messages = beginning();
    messages.extend(chatter(1));
    let knowing = "cat > /dev/null; echo 'Port the billing service to Rust, and never touch the table invoices_2019.'";
    let arguments = ["-q", "--keep", "messages:2", "--summarizer-cmd", knowing];
    let run = run(tcompact().args(arguments), Value::from(messages).to_string().as_bytes());
    let summary = summary_of(&run);
    assert_eq!(summary.matches("invoices_2019").count(), 1, "{summary}");
    assert!(summary.contains("ACME-77213"), "{summary}");
}

/// A model may write a section called "Ledger" about bookkeeping.
#[test]
fn a_section_of_that_name_by_the_model_stays() {
    let mut messages = beginning();
    messages.extend(chatter(1));
    let books = "cat > /dev/null; printf '## Ledger\\n- Cash is 4711 and rising.\\n'";
    let arguments = ["-q", "--keep", "messages:2", "--summarizer-cmd", books];
    let summary = summary_of(&run(tcompact().args(arguments), Value::from(messages).to_string().as_bytes()));
    assert!(summary.contains("\n### Ledger\n- Cash is 4711 and rising.\n\n## Ledger\nUser:"), "{summary}");
}

#[test]
fn the_ledger_keeps_to_what_it_may_have() {
    let mut messages = beginning();
    messages.extend(chatter(1));
    let off = summary_of(&compact(&messages, &["--ledger", "off"]));
    assert!(!off.contains("## Ledger"), "{off}");
    let small = summary_of(&compact(&messages, &["--ledger", "25"]));
    let section = &small[small.find("## Ledger").expect("a ledger")..small.find("\n</summary>").expect("a fence")];
    assert!(section.len() <= 25 * 4 && section.contains("invoices_2019"), "the rule comes first: {section}");
    for preset in ["langchain", "tongyi", "synaptic"] {
        let run = compact(&messages, &["--preset", preset, "--trigger", "messages:2"]);
        assert_eq!(run.code, 0, "{run:?}");
        assert!(!run.stdout.contains("## Ledger"), "{preset} knows no ledger");
    }
    let none = summary_of(&compact(&messages, &["--ledger", "0"]));
    assert_eq!(none, off);
    let refused = compact(&messages, &["--ledger", "some"]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("expected on, off or a number of tokens"), "{refused:?}");
}

/// The result is smaller even if little can be saved.
#[test]
fn a_ledger_never_makes_a_summary_too_large() {
    for count in 3..12 {
        let messages: Vec<Value> = beginning().into_iter().cycle().take(count).collect();
        let before = Value::from(messages.clone()).to_string();
        let run = run(
            tcompact().args(["-q", "--keep", "messages:1", "--pairs", "strict", "--summarizer-cmd", "echo x"]),
            before.as_bytes(),
        );
        assert!(run.code == 0 && run.stdout.len() <= before.len(), "{count}: {run:?}");
    }
}

/// Compacts its own output in five rounds, with a model that forgets everything and with the embedded summarizer.
#[test]
fn five_rounds_lose_nothing_and_do_not_grow() {
    for more in [&[][..], &["--redact"]] {
        let mut messages = beginning();
        let mut lengths = Vec::new();
        for round in 1..=5 {
            messages.extend(chatter(round));
            if round == 3 {
                messages.push(said("user", "The budget for cloud costs is $700 now."));
                messages.push(said("assistant", "Understood."));
                messages.extend(chatter(round));
            }
            let run = compact(&messages, more);
            messages = messages_of(&run);
            lengths.push(summary_of(&run).len());
        }
        let summary = messages[0]["content"].as_str().expect("a summary");
        for fact in EARLY {
            assert!(summary.contains(fact), "{fact} is missing: {summary}");
        }
        assert!(
            summary.contains("$700") && !summary.contains("$500"),
            "the new budget takes the place of the old: {summary}"
        );
        assert_eq!(summary.matches("## Ledger").count(), 1, "{summary}");
        assert!(!summary.contains("That is fine so far"), "what goes on asks for nothing: {summary}");
        assert!(lengths[4] * 10 <= lengths[0] * 11, "{lengths:?}");
    }
}

/// An index in a summary is the message's own, however many messages before it are pinned.
#[test]
fn indices_are_those_of_the_input() {
    let text = fs::read_to_string(Path::new(FIXTURES).join("agent-session.json")).expect("a fixture");
    let session: Value = serde_json::from_str(&text).expect("JSON");
    let messages = session.as_array().or_else(|| session["messages"].as_array()).expect("messages");
    let users: Vec<(usize, &str)> = messages
        .iter()
        .enumerate()
        .filter(|(_, message)| message["role"] == "user")
        .filter_map(|(index, message)| Some((index, message["content"].as_str()?)))
        .collect();
    for pins in [&["none"][..], &["system"], &["first:3"], &["system", "first:7"], &["match:timeout"]] {
        let pins: Vec<&str> = pins.iter().flat_map(|pin| ["--pin", pin]).collect();
        let rules = ["--keep", "messages:10", "--emit", "summary", "agent-session.json"];
        let run = with(&[&pins, &rules[..]].concat());
        assert_eq!(run.code, 0, "{run:?}");
        let mut found = 0;
        for line in run.stdout.lines() {
            let Some((index, said)) = line.strip_prefix("- [").and_then(|line| line.split_once("] ")) else { continue };
            let is_said = |text: &str| text.contains(said.get(..30).unwrap_or(said));
            let Some((own, _)) = users.iter().find(|(_, text)| is_said(text)) else { continue };
            assert_eq!(index.parse(), Ok(*own), "{pins:?}: {line}");
            found += 1;
        }
        assert!(found > 1, "{pins:?}: {}", run.stdout);
    }
}
