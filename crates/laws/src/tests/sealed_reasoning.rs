//! The same reasoning counts the same in every format and spelling: a blob that only the provider can read, and a text.

use serde_json::{Value, json};

use crate::lawful::with_document;
use crate::tokens::bpe::Encoding;
use crate::tokens::{Categories, Counter, Tally};
use crate::transcript::formats::by_name;

/// What a blob counts behind the last message of the user: `(7_300 - 1_000) * 10 / 63`.
const SEALED: u64 = 1_000;

const TIME: &str = "2026-01-02T03:04:05.678Z";

fn blob(number: usize) -> String {
    format!("gAAAAAB{number}").chars().chain("x9Q/+b".chars().cycle()).take(7_300).collect()
}

/// A format, what is spelled, and the block or the members with the blob in them.
type Spelling = (&'static str, &'static str, fn(&str) -> Value);

/// Blocks of reasoning in the content of an assistant, by format.
const BLOCKS: [Spelling; 27] = [
    ("anthropic", "redacted", |b| json!({"type": "redacted_thinking", "data": b})),
    ("anthropic", "signature", |b| json!({"type": "thinking", "thinking": "", "signature": b})),
    ("bedrock", "redacted", |b| json!({"reasoningContent": {"redactedContent": b}})),
    ("bedrock", "signature", |b| json!({"reasoningContent": {"reasoningText": {"text": "hm", "signature": b}}})),
    ("gemini", "signature", |b| json!({"text": "Done.", "thoughtSignature": b})),
    ("gemini", "call", |b| json!({"functionCall": {"name": "f", "args": {}}, "thought_signature": b})),
    ("gemini", "alone", |b| json!({"thoughtSignature": b})),
    ("langchain", "item", |b| json!({"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": b})),
    ("langchain", "extras", |b| json!({"type": "reasoning", "id": "rs", "extras": {"encrypted_content": b}})),
    ("langchain", "extras of a text", |b| json!({"type": "text", "text": "hm", "extras": {"signature": b}})),
    ("langchain", "signature", |b| json!({"type": "reasoning", "reasoning": "hm", "extras": {"signature": b}})),
    (
        "langchain",
        "non_standard",
        |b| json!({"type": "non_standard", "value": {"type": "redacted_thinking", "data": b}}),
    ),
    (
        "langchain",
        "non_standard item",
        |b| json!({"type": "non_standard", "value": {"type": "reasoning", "encrypted_content": b}}),
    ),
    (
        "langchain",
        "bedrock",
        |b| json!({"type": "reasoning_content", "reasoning_content": {"text": "hm", "signature": b}}),
    ),
    ("langchain", "redacted", |b| json!({"type": "redacted_thinking", "data": b})),
    ("claude-code", "redacted", |b| json!({"type": "redacted_thinking", "data": b})),
    ("pi", "signature", |b| json!({"type": "thinking", "thinking": "hm", "thinkingSignature": b})),
    ("pi", "item", |b| {
        let item = json!({"type": "reasoning", "summary": [], "encrypted_content": b}).to_string();
        json!({"type": "thinking", "thinking": "", "thinkingSignature": item})
    }),
    (
        "ai-sdk",
        "openai",
        |b| json!({"type": "reasoning", "text": "", "providerOptions": {"openai": {"reasoningEncryptedContent": b}}}),
    ),
    (
        "ai-sdk",
        "anthropic",
        |b| json!({"type": "reasoning", "text": "", "providerMetadata": {"anthropic": {"redactedData": b}}}),
    ),
    (
        "ai-sdk",
        "google",
        |b| json!({"type": "text", "text": "hm", "providerOptions": {"google": {"thoughtSignature": b}}}),
    ),
    ("ai-sdk", "router", |b| {
        let details = json!([{"type": "reasoning.encrypted", "data": b}]);
        json!({"type": "reasoning", "text": "", "providerOptions": {"openrouter": {"reasoning_details": details}}})
    }),
    ("ai-sdk", "redacted", |b| json!({"type": "redacted-reasoning", "data": b})),
    ("pydantic-ai", "signature", |b| json!({"part_kind": "thinking", "content": "", "signature": b})),
    (
        "pydantic-ai",
        "call",
        |b| json!({"part_kind": "text", "content": "hm", "provider_details": {"thought_signature": b}}),
    ),
    ("inspect", "redacted", |b| json!({"type": "reasoning", "reasoning": b, "redacted": true})),
    ("inspect", "signature", |b| json!({"type": "reasoning", "reasoning": "hm", "signature": b})),
];

/// Members beside the content, by format.
const MEMBERS: [Spelling; 17] = [
    ("openai-responses", "item", |b| json!({"type": "reasoning", "summary": [], "encrypted_content": b})),
    (
        "openai-responses",
        "signature",
        |b| json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}], "signature": b}),
    ),
    ("codex", "item", |b| json!({"type": "reasoning", "summary": [], "encrypted_content": b})),
    ("openai-chat", "details", |b| json!({"reasoning_details": [{"type": "reasoning.encrypted", "data": b}]})),
    (
        "openai-chat",
        "signed detail",
        |b| json!({"reasoning_details": [{"type": "reasoning.text", "text": "hm", "signature": b}]}),
    ),
    ("openai-chat", "blocks", |b| json!({"thinking_blocks": [{"type": "redacted_thinking", "data": b}]})),
    (
        "openai-chat",
        "signed block",
        |b| json!({"thinking_blocks": [{"type": "thinking", "thinking": "hm", "signature": b}]}),
    ),
    ("openai-chat", "list", |b| json!({"provider_specific_fields": {"thought_signatures": [b]}})),
    ("openai-chat", "opaque", |b| json!({"reasoning_opaque": b, "reasoning_text": "hm"})),
    ("openai-chat", "twice", |b| {
        let blocks = json!([{"type": "redacted_thinking", "data": b}]);
        json!({"thinking_blocks": blocks, "provider_specific_fields": {"thinking_blocks": blocks}})
    }),
    ("openai-chat", "call", |b| {
        json!({"tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"},
            "extra_content": {"google": {"thought_signature": b}}}]})
    }),
    ("tau-bench", "details", |b| json!({"reasoning_details": [{"type": "reasoning.encrypted", "data": b}]})),
    (
        "langchain",
        "item",
        |b| json!({"additional_kwargs": {"reasoning": {"type": "reasoning", "encrypted_content": b}}}),
    ),
    (
        "langchain",
        "details",
        |b| json!({"additional_kwargs": {"reasoning_details": [{"type": "reasoning.encrypted", "data": b}]}}),
    ),
    ("langchain", "calls", |b| json!({"additional_kwargs": {"__gemini_function_call_thought_signatures__": {"c": b}}})),
    ("openhands", "blocks", |b| json!({"thinking_blocks": [{"type": "redacted_thinking", "data": b}]})),
    ("openai-chat", "nothing else", |b| json!({"thinking": {"thinking": "", "signature": b}})),
];

/// Blocks with reasoning that can be read.
const READABLE_BLOCKS: [Spelling; 17] = [
    ("openai-chat", "list", |t| json!({"type": "thinking", "thinking": [{"type": "text", "text": t}]})),
    ("openai-chat", "value", |t| json!({"type": "reasoning", "value": t})),
    ("anthropic", "thinking", |t| json!({"type": "thinking", "thinking": t, "signature": "c2ln"})),
    ("bedrock", "text", |t| json!({"reasoningContent": {"reasoningText": {"text": t}}})),
    ("gemini", "thought", |t| json!({"text": t, "thought": true})),
    ("langchain", "reasoning", |t| json!({"type": "reasoning", "reasoning": t})),
    (
        "langchain",
        "item",
        |t| json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": t}], "encrypted_content": blob(0)[..900]}),
    ),
    ("langchain", "non_standard", |t| json!({"type": "non_standard", "value": {"type": "thinking", "thinking": t}})),
    ("langchain", "bedrock", |t| json!({"type": "reasoning_content", "reasoning_content": {"text": t}})),
    ("claude-code", "thinking", |t| json!({"type": "thinking", "thinking": t, "signature": "c2ln"})),
    ("pi", "thinking", |t| json!({"type": "thinking", "thinking": t})),
    ("ai-sdk", "text", |t| json!({"type": "reasoning", "text": t})),
    ("ai-sdk", "details", |t| json!({"type": "reasoning", "details": [{"type": "text", "text": t}]})),
    ("pydantic-ai", "thinking", |t| json!({"part_kind": "thinking", "content": t})),
    ("inspect", "reasoning", |t| json!({"type": "reasoning", "reasoning": t})),
    (
        "inspect",
        "summary",
        |t| json!({"type": "reasoning", "reasoning": blob(0)[..900], "summary": t, "redacted": true}),
    ),
    (
        "inspect",
        "longer than its blob",
        |t| json!({"type": "reasoning", "reasoning": t, "signature": blob(0)[..1_400]}),
    ),
];

/// Members with reasoning that can be read.
const READABLE_MEMBERS: [Spelling; 12] = [
    ("openai-chat", "content", |t| json!({"reasoning_content": t})),
    ("openai-chat", "twice", |t| json!({"reasoning": t, "reasoning_details": [{"type": "reasoning.text", "text": t}]})),
    ("openai-chat", "text", |t| json!({"reasoning_text": t})),
    ("openai-chat", "details", |t| json!({"reasoning_details": [{"type": "reasoning.summary", "summary": t}]})),
    ("openai-chat", "blocks", |t| json!({"thinking_blocks": [{"type": "thinking", "thinking": t}]})),
    ("openai-responses", "summary", |t| json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": t}]})),
    (
        "codex",
        "content",
        |t| json!({"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": t}]}),
    ),
    ("langchain", "content", |t| json!({"additional_kwargs": {"reasoning_content": t}})),
    ("langchain", "item", |t| {
        let item = json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": t}]});
        json!({"additional_kwargs": {"reasoning": item}})
    }),
    (
        "langchain",
        "blocks",
        |t| json!({"additional_kwargs": {"thinking_blocks": [{"type": "thinking", "thinking": t}]}}),
    ),
    ("ollama", "thinking", |t| json!({"thinking": t})),
    ("tau-bench", "content", |t| json!({"reasoning_content": t})),
];

/// An entry of the user.
fn user(format: &str) -> Value {
    let text = "Sort the shelf.";
    match format {
        "bedrock" => json!({"role": "user", "content": [{"text": text}]}),
        "claude-code" => json!({"type": "user", "message": {"role": "user", "content": text}}),
        "codex" => json!({"timestamp": TIME, "type": "response_item", "payload": user("openai-responses")}),
        "gemini" => json!({"role": "user", "parts": [{"text": text}]}),
        "langchain" => json!({"type": "human", "content": text}),
        "openai-responses" => json!({"type": "message", "role": "user", "content": text}),
        "openhands" => json!({"id": 1, "source": "user", "action": "message", "args": {"content": text}}),
        "pi" => json!({"type": "message", "message": {"role": "user", "content": text}}),
        "pydantic-ai" => json!({"kind": "request", "parts": [{"part_kind": "user-prompt", "content": text}]}),
        _ => json!({"role": "user", "content": text}),
    }
}

/// An entry of the model with a block in its content.
fn with_block(format: &str, block: Value) -> Value {
    match format {
        "claude-code" => json!({"type": "assistant", "message": with_block("", block)}),
        "gemini" => json!({"role": "model", "parts": [block]}),
        "langchain" => json!({"type": "ai", "content": [block]}),
        "pi" => json!({"type": "message", "message": with_block("", block)}),
        "pydantic-ai" => json!({"kind": "response", "parts": [block]}),
        _ => json!({"role": "assistant", "content": [block]}),
    }
}

/// An entry of the model with these members.
fn with_members(format: &str, members: Value) -> Value {
    let mut entry = match format {
        "codex" => return json!({"timestamp": TIME, "type": "response_item", "payload": members}),
        "langchain" => json!({"type": "ai", "content": "Done."}),
        "openai-responses" => json!({}),
        "openhands" => json!({"id": 2, "source": "agent", "action": "run", "args": {"command": "ls"}}),
        _ => json!({"role": "assistant", "content": "Done."}),
    };
    entry.as_object_mut().expect("an object").extend(members.as_object().expect("an object").clone());
    entry
}

/// The tokens of a conversation in all and of its thinking. Its turns have this model's entries.
fn tokens(format: &str, turns: &[Value], counter: Counter) -> (u64, u64) {
    let mut list: Vec<Value> = turns.iter().flat_map(|turn| [user(format), turn.clone()]).collect();
    if format == "claude-code" {
        for (number, line) in list.iter_mut().enumerate() {
            line["uuid"] = json!(number.to_string());
            line["parentUuid"] = number.checked_sub(1).map_or(Value::Null, |parent| json!(parent.to_string()));
        }
    }
    let is_lines = ["claude-code", "codex", "pi"].contains(&format);
    let source =
        if is_lines { list.iter().map(|entry| format!("{entry}\n")).collect() } else { json!(list).to_string() };
    with_document(&source, by_name(format), |document| {
        let transcript = &document.transcripts[0];
        let tally = Tally::new(counter, &transcript.messages);
        let categories = Categories::of(transcript, &tally, 0);
        let all: Vec<usize> = (0..transcript.messages.len()).collect();
        assert_eq!(categories.total(), tally.sum(&all), "{source}");
        (categories.total(), categories.thinking)
    })
}

/// An entry of the model for each row of two tables, with its format and spelling.
fn entries(blocks: &[Spelling], members: &[Spelling], reasoning: &str) -> Vec<(&'static str, &'static str, Value)> {
    let blocks = blocks.iter().map(|(format, name, of)| (*format, *name, with_block(format, of(reasoning))));
    let members = members.iter().map(|(format, name, of)| (*format, *name, with_members(format, of(reasoning))));
    blocks.chain(members).collect()
}

/// How much more a conversation counts with reasoning in the first and in the last of its turns: in all, and as
/// thinking.
fn additional(format: &str, entry: &Value, empty: &Value, counter: Counter) -> [(u64, u64); 2] {
    let none = tokens(format, &[empty.clone(), empty.clone()], counter);
    [[entry, empty], [empty, entry]].map(|turns| {
        let some = tokens(format, &turns.map(Value::clone), counter);
        (some.0 - none.0, some.1 - none.1)
    })
}

const COUNTERS: [Counter; 2] = [Counter::APPROX, Counter::Exact(Encoding::O200kBase)];

#[test]
fn a_blob_counts_the_same_in_every_format_and_only_in_the_last_turn() {
    let (sealed, empty) = (entries(&BLOCKS, &MEMBERS, &blob(0)), entries(&BLOCKS, &MEMBERS, "rs_1"));
    for ((format, name, sealed), (_, _, empty)) in sealed.into_iter().zip(empty) {
        for counter in COUNTERS {
            let [first, (last, thinking)] = additional(format, &sealed, &empty, counter);
            assert_eq!(first, (0, 0), "{format}, {name}, {counter}");
            // A short text beside the blob counts once; an item that is JSON in a string is somewhat longer.
            let is_right = |tokens: u64| tokens.abs_diff(SEALED) <= 15;
            assert!(is_right(last) && is_right(thinking), "{format}, {name}, {counter}: {last}, {thinking}");
        }
    }
}

#[test]
fn reasoning_that_can_be_read_counts_the_same_in_every_format_and_turn() {
    const WORDS: &str = "The shelf has room for nine books. ";
    let of = |times: usize| entries(&READABLE_BLOCKS, &READABLE_MEMBERS, &WORDS.repeat(times));
    for ((format, name, long), (_, _, short)) in of(50).into_iter().zip(of(20)) {
        for counter in COUNTERS {
            let is_right = |tokens: u64| tokens.abs_diff(counter.count_text(&WORDS.repeat(30))) <= 5;
            for (all, thinking) in additional(format, &long, &short, counter) {
                assert!(is_right(all) && is_right(thinking), "{format}, {name}, {counter}: {all}, {thinking}");
            }
        }
    }
}
