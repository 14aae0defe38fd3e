//! Compares the approximate counter with figures from LangChain.

use crate::FIXTURES;
use crate::tokens::Counter;
use crate::transcript::framing::Lines;
use crate::transcript::{Content, Role, formats};

use crate::transcripts::{json, read};

/// Recorded with `count_tokens_approximately` of langchain-core 1.7.2 on Python 3.11, a conversation a line: generated
/// messages as Chat Completions dicts, `messages_to_dict`, `model_dump` and `dumps`, with the tokens of each message at
/// 4 and at 3.3 characters a token. `TCOMPACT_COUNTS` names another file of the same kind.
#[test]
fn every_message_counts_as_langchain_counts_it() {
    let path = std::env::var("TCOMPACT_COUNTS").unwrap_or_else(|_| format!("{FIXTURES}/counting/langchain.jsonl"));
    let cases = std::fs::read_to_string(path).expect("the recorded counts");
    let mut messages = 0;
    for (number, line) in cases.lines().enumerate() {
        // serde_json would reject the lone surrogates in the cases.
        let case = json(line);
        let name = case.get_text("format").expect("a format").decode();
        let format = formats::by_name(&name).expect("a known format");
        let document = read(line, Some(format), Some(Lines::Conversations)).expect("a transcript");
        for (chars, key) in [(4.0, "tokens"), (3.3, "tokens_3_3")] {
            let counts = case.get(key).expect("counts");
            let expected: Vec<u64> = counts.items().map(|count| count.raw().parse().expect("a count")).collect();
            assert_eq!(expected.len(), document.transcripts[0].messages.len());
            for (message, expected) in document.transcripts[0].messages.iter().zip(expected) {
                let found = Counter::ApproxContent(chars).count(message);
                assert_eq!(found, expected, "line {}, {key}: {}", number + 1, message.json.raw());
                // A list of parts has more that a model reads than LangChain counts.
                if matches!(message.content, Content::Text(_)) && message.role == Role::Tool {
                    assert_eq!(Counter::Approx(chars).count(message), expected, "{}", message.json.raw());
                }
                messages += 1;
            }
        }
    }
    assert!(messages > 1_000, "{messages} messages");
}
