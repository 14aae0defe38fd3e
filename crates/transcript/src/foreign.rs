//! Foreign content: parts of unknown kinds, and messages with content under members that no reader reads.
//!
//! No reader skips foreign content. It becomes a [`PartKind::Foreign`](crate::PartKind::Foreign) with its
//! JSON as text, so that it is counted, shown and summarized. A conversation that is foreign in most of its parts is
//! rejected: it is of another format.

mod apps;
mod completion;
mod libraries;
mod misread;
mod part;
mod programs;
mod recognizer;
mod records;
mod rejection;
mod unread;

pub(super) use completion::complete;
pub(super) use part::{could_be_call_or_result, message, opaque_or_foreign, part, text_part, value};
pub(super) use programs::{misread_message, misread_program, unread_program};
pub use recognizer::OtherProgram;
pub use rejection::{ForeignShare, UnknownPart, check_mostly_foreign, is_in, large_foreign_content};
pub(super) use rejection::{check_unknown_call, is_unknown};
pub use unread::{UnreadText, unread_text};

#[cfg(test)]
mod tests {
    use crate::formats::by_name;
    use crate::framing::read_for_test as read;
    use crate::message::{Content, PartKind};

    /// Reads `message` as the second of three in this format. Returns its texts, and whether it has foreign parts.
    fn second(message: &str, from: &str) -> (String, bool) {
        let source = format!(r#"[{{"role":"user","content":"u"}},{message},{{"role":"assistant","content":"a"}}]"#);
        let document = read(&source, by_name(from), None).expect("a transcript");
        let message = &document.transcripts[0].messages[1];
        let texts: Vec<String> = message.content.texts().iter().map(|text| text.decode().into_owned()).collect();
        (texts.join("\n"), super::is_in(message))
    }

    #[test]
    fn no_words_are_read_as_nothing() {
        let cases = [
            ("openai-chat", r#"{"role":"user","message_text":"two words"}"#, true),
            ("openai-chat", r#"{"role":"tool","tool_call_id":"c","output":"two words"}"#, false),
            ("anthropic", r#"{"role":"user","content":[{"type":"text","Text":"two words"}]}"#, true),
            ("anthropic", r#"{"role":"user","content":[{"type":"text","text":{"value":"two words"}}]}"#, true),
            (
                "anthropic",
                r#"{"role":"user","content":[{"type":"tool_result","toolUseID":"t","run":{"result":"two words"}}]}"#,
                true,
            ),
            (
                "anthropic",
                r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","output":"two words"}]}"#,
                false,
            ),
            ("ai-sdk", r#"{"role":"user","parts":[{"type":"text","content":"two words"}]}"#, true),
            ("ollama", r#"{"role":"user","body":{"lines":["两个词"]}}"#, true),
            ("openai-chat", r#"{"role":"assistant","content":"hm","toolRequests":[{"q":"two words"}]}"#, true),
        ];
        for (format, message, is_foreign) in cases {
            let (text, foreign) = second(message, format);
            assert!(text.contains("two words") || text.contains("两个词"), "{format}: {message}: {text}");
            assert_eq!(foreign, is_foreign, "{format}: {message}");
        }
    }

    #[test]
    fn members_beside_a_message_are_not_its_words() {
        for message in [
            r#"{"role":"assistant","content":"","metadata":{"title":"two words"},"reasoning_note":"two words"}"#,
            r#"{"role":"assistant","content":"","name":"Two Words","id":"a_b c_d","n":[1,null]}"#,
            r#"{"role":"assistant","content":[{"type":"text","text":"","citations":["two words"]}]}"#,
            r#"{"role":"assistant","content":"hm","toolUses":[]}"#,
        ] {
            let (text, foreign) = second(message, "openai-chat");
            assert!(!foreign && !text.contains("words"), "{message}: {text}");
        }
    }

    #[test]
    fn arguments_and_texts_beside_unread_calls_are_read() {
        let source = r#"[{"role":"user","content":"u"},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","args":{"q":"two words"}}]}]"#;
        let document = read(source, None, None).expect("a transcript");
        let call = &document.transcripts[0].messages[1].calls[0];
        assert!(format!("{:?}", call.arguments).contains("two words"), "{call:?}");
        let source = r#"[{"role":"user","content":"u"},{"role":"assistant","content":"hm","toolRequests":[{"q":1}]}]"#;
        let document = read(source, by_name("openai-chat"), None).expect("a transcript");
        let Content::Parts(parts) = &document.transcripts[0].messages[1].content else { panic!("a text") };
        assert!(matches!(parts[0].kind, PartKind::Text(text) if text.is("hm")));
        assert_eq!(parts.iter().map(|part| part.json.raw()).collect::<Vec<_>>(), [r#""hm""#, r#"[{"q":1}]"#]);
    }

    #[test]
    fn a_result_that_names_no_call_is_of_another_format() {
        let source = r#"[{"role":"user","content":"u"},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","toolUseID":"t","run":{"result":"two words"}}]}]"#;
        let refused = read(source, None, None).expect_err("another format").to_string();
        assert!(refused.contains("message 2 has a part of the type `tool_result`"), "{refused}");
    }

    #[test]
    fn a_file_without_a_message_of_the_named_format_is_refused() {
        let source = r#"[{"role":"user","content":"u"},{"role":"assistant","content":"a"}]"#;
        for format in ["pi", "claude-code", "gemini-cli"] {
            assert!(read(source, by_name(format), None).is_err(), "{format}");
        }
    }
}
