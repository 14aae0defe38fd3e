//! Summaries: the replies of providers, and those of the embedded summarizer.

use crate::redact::Redactor;
use crate::summary::acceptance;
use crate::summary::exchange::THOUGHTS;
use crate::tokens::Counter;
use crate::tokens::bpe::Encoding;
use crate::transcript::source::Source;
use crate::transcript::{Message, fence, framing, media};
use serde_json::{Map, json};
use tcompact::internals::{Endpoint, PROVIDERS};
use tcompact_core::digest::without_own_headings;

use crate::choices::{Choices, split};
use crate::digest::{COUNTERS, as_message, assert_digest, assert_keeps};
use crate::lawful::{self, PREFIX};

/// Checks that a reply is read deterministically, and yields a text or an error message.
pub(crate) fn answers(bytes: &[u8]) {
    let (text, _) = split(bytes);
    for provider in PROVIDERS {
        let (model, base_url) = ("m".to_owned(), provider.base_url.to_owned());
        let endpoint = Endpoint { provider, model, base_url, key: None, request_json: Map::new() };
        let reply = endpoint.response(&text);
        assert_eq!(endpoint.response(&text), reply, "the same every time");
        match reply {
            Err(why) => assert!(!why.is_empty()),
            Ok(reply) => {
                assert!(text.trim_start_matches('\u{feff}').trim_start().starts_with('{'), "{text:?} is not an object");
                let taken = acceptance::judge(&reply, ["Write notes.", &text].into_iter());
                if let Err(refusal) = taken {
                    let (said, thoughts) = refusal.correction(100);
                    assert!(!said.is_empty() && !refusal.to_string().is_empty());
                    assert!(thoughts == 0 || thoughts >= THOUGHTS, "{refusal} {thoughts}");
                }
                check_text(&reply.text);
            }
        }
    }
    check_text(&text);
}

/// Checks the transformations of a summary's text.
fn check_text(text: &str) {
    assert!(text.contains(fence::strip_wrapping(text)));
    assert!(fence::opened(text).len() <= text.len());
    // Placeholders are too short to be found as data.
    let once = media::without_data(text).into_owned();
    assert_eq!(media::without_data(&once), once);
    let masked = Redactor::default().mask(text).into_owned();
    assert_eq!(Redactor::default().mask(&masked), masked, "no secret is left: {text:?}");
    let judged = acceptance::judge_author(text, Counter::APPROX, 5_000);
    assert_eq!(
        acceptance::judge_author(&format!(" {text}\n"), Counter::APPROX, 5_000).is_ok(),
        judged.is_ok(),
        "{text:?}"
    );
    let without = without_own_headings(text);
    assert_eq!(without_own_headings(&without), without, "no heading of a digest is left");
}

/// Writes a conversation with a text in all forms: each paragraph is a message.
fn conversation(text: &str, choices: &mut Choices<'_>) -> String {
    let pieces: Vec<&str> = if choices.below(2) == 0 { vec![text] } else { text.split("\n\n").take(40).collect() };
    let mut messages = Vec::new();
    for (at, piece) in pieces.into_iter().enumerate() {
        let id = format!("c{at}");
        match choices.below(5) {
            0 => messages.push(json!({"role": "user", "content": piece})),
            1 => messages.push(json!({"role": "assistant", "content": piece})),
            2 => messages.push(json!({"role": "user", "content": format!("{PREFIX}{piece}")})),
            3 => messages.push(json!({"role": "system", "content": piece})),
            _ => {
                let arguments = json!({"command": piece, "path": piece.lines().next()}).to_string();
                let call = json!({"id": id, "type": "function", "function": {"name": "bash", "arguments": arguments}});
                messages.push(json!({"role": "assistant", "content": null, "tool_calls": [call]}));
                messages.push(json!({"role": "tool", "tool_call_id": id, "content": piece}));
            }
        }
    }
    json!(messages).to_string()
}

fn with_messages(text: &str, inspect: impl FnOnce(&[&Message<'_>])) {
    let json = Source::of(text).expect("JSON");
    let document = framing::read(&json, None, None).expect("a transcript");
    inspect(&document.transcripts[0].messages.iter().collect::<Vec<_>>());
}

/// Checks the laws of what stands beside a model's summary.
pub(crate) fn ledger(bytes: &[u8]) {
    let (text, mut choices) = split(bytes);
    check_text(&text);
    let counter = choices.of(&[Counter::APPROX, Counter::Bytes(1), Counter::Exact(Encoding::O200kBase)]);
    let limit = [1_000_000, 0, 1, 10, 60, 300][choices.below(6)];
    with_messages(&conversation(&text, &mut choices), |messages| {
        lawful::assert_missing(messages, counter, limit);
    });
}

/// Checks the laws of digests: of one, of a larger one, and of one that carries it on.
pub(crate) fn extractive(bytes: &[u8]) {
    let (text, mut choices) = split(bytes);
    let (counter, limit) = (choices.of(&COUNTERS), [100, 0, 1, 7, 40, 400, 4_000][choices.below(7)]);
    let mut earlier = String::new();
    lawful::with_document(&conversation(&text, &mut choices), None, |document| {
        let transcript = &document.transcripts[0];
        let smaller = assert_digest(transcript, counter, limit);
        earlier = assert_digest(transcript, counter, 2 * limit + 50);
        assert_keeps(&smaller, &earlier);
    });
    let again = json!([{"role": "user", "content": as_message(&earlier)}, {"role": "user", "content": text}]);
    lawful::with_document(&again.to_string(), None, |document| {
        assert_digest(&document.transcripts[0], counter, limit);
    });
}
