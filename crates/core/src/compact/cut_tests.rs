//! No cut leaves a part of a secret, wherever it falls.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Value, json};

use crate::all_cases::one_in;
use crate::compact::policy::{CompactionPolicy, Pruning, SummarizerKind};
use crate::compact::{CompactedText, Compactor, Redaction};
use crate::plan::size::Size;
use crate::redact::samples::of_shapes;
use crate::rewrite::arguments::MARK;

/// A mask, which can share words with the secret.
static MASK: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\[[a-z0-9-]+-[0-9]+\]").expect("a pattern"));
/// The characters of a secret in a row that may stay.
const MOST_SHOWN: usize = 7;

fn conversation(text: &str) -> String {
    let arguments = json!({"text": text}).to_string();
    let function = json!({"name": "write", "arguments": arguments});
    json!([
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": null, "tool_calls": [{"id": "c", "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": "c", "content": text},
        {"role": "assistant", "content": "Done."},
        {"role": "user", "content": "Next."},
        {"role": "assistant", "content": "Fine."},
    ])
    .to_string()
}

fn cut(source: &str, rules: &[&str]) -> CompactedText {
    let mut policy = CompactionPolicy::keeping(Size::Messages(1));
    policy.redact = Redaction::Sent;
    policy.pruning = Pruning::new(rules).expect("rules");
    policy.summary.summarizer = SummarizerKind::Off;
    Compactor::new(policy).compact(source).expect("a transcript")
}

fn shown_part<'s>(text: &str, secret: &'s str) -> Option<&'s str> {
    let parts = secret.char_indices().filter_map(|(at, _)| secret.get(at..at + MOST_SHOWN + 1));
    parts.into_iter().find(|part| text.contains(part))
}

/// Secrets of every shape, and some behind a name.
fn secrets() -> Vec<(String, String)> {
    // Addresses and names before a secret stay.
    let secret = |text: &str| {
        text.rsplit(['=', '/', '"', '\'', '`']).find(|part| part.len() > MOST_SHOWN).unwrap_or(text).to_owned()
    };
    let shapes = of_shapes().into_iter().map(|(_, text)| (text.clone(), secret(&text)));
    let line = "a1B2c3D4e5F6g7H8".repeat(4);
    let named = ["Tr0ub(4dor&3)xY", "correct horse battery", "$9fkQ2!xLm40"];
    let named = named.map(|value| (format!("{{\"password\": \"{value}\"}}"), value.to_owned()));
    let key = format!("-----BEGIN PRIVATE KEY-----\n{line}\n{line}\n-----END PRIVATE KEY-----\n");
    shapes.chain(named).chain([(key, line)]).collect()
}

#[test]
fn no_part_of_a_secret_stays_beside_a_cut() {
    let mut shown = Vec::new();
    for (at, (written, secret)) in secrets().into_iter().enumerate() {
        // The cut falls on every character of the secret and of its mask, each secret at every seventh.
        let step = 7 * one_in();
        for before in (0..150).skip(at % step).step_by(step) {
            let text = format!("{} {written} {}", ".".repeat(before), "z ".repeat(300));
            let result = cut(&conversation(&text), &["cap:60", "arguments:150"]);
            assert!(result.text.contains(MARK) && result.text.contains(" left out]"), "{}", result.text);
            assert_eq!(result.restore().expect("its records"), conversation(&text));
            let messages: Value = serde_json::from_str(&result.text).expect("messages");
            let arguments = messages[1]["tool_calls"][0]["function"]["arguments"].as_str().expect("arguments");
            for text in [arguments, messages[2]["content"].as_str().expect("a result")] {
                let text = MASK.replace_all(text, "¦");
                let halves = text.matches('[').count() != text.matches(']').count();
                if shown_part(&text, &secret).is_some() || (halves && !written.contains(['[', ']'])) {
                    shown.push(format!("{secret} behind {before}: {text}"));
                }
            }
        }
    }
    assert!(shown.is_empty(), "{} times: {:#?}", shown.len(), &shown[..shown.len().min(5)]);
}
