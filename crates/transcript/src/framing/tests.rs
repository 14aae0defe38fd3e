mod unknown_lines;
mod unknown_messages;

use super::*;
use crate::framing::read_for_test as read;

fn formats(source: &str) -> Vec<(&'static str, usize, Option<usize>)> {
    let document = read(source, None, None).expect("a transcript");
    document.transcripts.iter().map(|one| (one.format.name, one.messages.len(), one.line)).collect()
}

const USER: &str = r#"{"role":"user","content":"hi"}"#;

#[test]
fn lists_are_found_in_envelopes() {
    for source in [
        format!("[{USER},{USER}]"),
        format!("\u{feff}{{\"model\":\"m\",\"messages\":[{USER},{USER}],\"tools\":[]}}\r\n"),
        format!("{{\"values\":{{\"messages\":[{USER},{USER}]}},\"next\":[]}}"),
        format!("{{\"request_params\":{{\"messages\":[{USER},{USER}]}}}}"),
        format!("{{\"messages\":[[{USER},{USER}]]}}"),
        format!("{{\"custom_id\":\"1\",\"body\":{{\"messages\":[{USER},{USER}]}}}}"),
        format!("{{\"input\":{{\"messages\":[{USER},{USER}]}},\"preferred_output\":[{USER}]}}"),
        format!("{{\"messages\":\"none\",\"channel_values\":{{\"messages\":[{USER},{USER}]}}}}"),
        format!("{USER}\n{USER}"),
        format!("{USER}{USER}\r\n"),
    ] {
        assert_eq!(formats(&source), [("openai-chat", 2, None)], "{source}");
    }
}

#[test]
fn one_conversation_a_line() {
    let source = format!("{{\"messages\":[{USER}]}}\n[]\n[{USER},{USER}]\n");
    assert_eq!(
        formats(&source),
        [("openai-chat", 1, Some(1)), ("openai-chat", 0, Some(2)), ("openai-chat", 2, Some(3))]
    );
}

#[test]
fn answers_in_a_log_of_requests_are_passed_over() {
    let source =
        format!("{{\"type\":\"request\",\"messages\":[{USER}]}}\n{{\"type\":\"response\",\"outputs\":[]}}\n[{USER}]");
    assert_eq!(formats(&source), [("openai-chat", 1, Some(1)), ("openai-chat", 1, Some(3))]);
    let answer = "{\"type\":\"response\",\"outputs\":[]}";
    assert!(read(answer, None, None).is_err());
    assert!(read(&format!("{answer}\n{answer}"), None, None).is_err());
    let with_messages = format!("[{USER}]\n{{\"type\":\"response\",\"body\":{{\"messages\":[{USER}]}}}}");
    assert_eq!(formats(&with_messages).len(), 2);
}

#[test]
fn a_last_line_that_is_cut_off_is_passed_over() {
    let line = r#"{"type":"user","message":{"role":"user","content":"a"}}"#;
    let source = format!("{line}\n{line}\n{{\"type\":\"us");
    let document = read(&source, None, None).expect("two lines");
    assert_eq!((document.transcripts[0].messages.len(), document.broken_lines), (2, vec![3]));
    let document = read(&format!("{USER}\n{{\"role\":\"你\0\0"), None, None).map(|document| document.broken_lines);
    assert_eq!(document, Ok(vec![2]), "it ends inside a character");
    let others = ["{\"role\":\"us".to_owned(), format!("[{line},\n{{\"type"), format!("{USER}\n{{\"role\n")];
    for broken in others {
        assert!(matches!(read(&broken, None, None), Err(ReadError::Syntax(_))), "{broken}");
    }
}

#[test]
fn a_collection_tells_the_line_of_each() {
    let one = format!("{{\"id\":1,\"messages\":[{USER}]}}");
    let several = format!("[\n{one},\n\n{one}]");
    assert_eq!(formats(&several), [("openai-chat", 1, Some(2)), ("openai-chat", 1, Some(4))]);
    let samples = format!("{{\n\"samples\":[null,{{}},\n{one}]}}");
    assert_eq!(formats(&samples), [("openai-chat", 1, Some(3))]);
    let odd = read(&format!("[{one},\n7]"), None, None).expect_err("a number").to_string();
    assert!(odd.contains("a number where a list of messages should be at line 2 column 1"), "{odd}");
}

#[test]
fn conversations_on_one_line_are_numbered() {
    let one = format!("{{\"id\":1,\"messages\":[{USER}]}}");
    for (source, numbers) in [
        (format!("[{one},{one},{one}]"), &[1, 2, 3][..]),
        (format!("[{one},{one},\n{one}]"), &[1, 2, 1]),
        (format!("{one}{one}\n{one}\n"), &[1, 2, 1]),
        (format!("{{\"samples\":[{one},{one}]}}"), &[1, 2]),
        (format!("[{USER},{USER}]"), &[1]),
    ] {
        let document = read(&source, None, None).expect("transcripts");
        let found: Vec<usize> = document.transcripts.iter().map(|one| one.nth_of_line).collect();
        assert_eq!(found, numbers, "{source}");
    }
}

#[test]
fn a_wrong_format_names_the_right_one() {
    let calls = r#"[{"role":"user","content":"hi"},
        {"role":"assistant","content":"","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},
            {"role":"tool","tool_call_id":"a","content":"x"}]"#;
    let blocks = r#"[{"role":"user","content":[{"type":"text","text":"hi"}]},
        {"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"}]}]"#;
    let parts = r#"[{"role":"user","parts":[{"text":"hi"}]},{"role":"model","parts":[{"text":"a"}]}]"#;
    let unseen = "message 2 has the result of a call in message 1, and that call is not seen (line 3 column 13)";
    for (source, named, found, own) in [
        (calls, "anthropic", unseen, "openai-chat"),
        (blocks, "openai-chat", unseen, "anthropic"),
        (parts, "openai-chat", "tcompact cannot read most of it", "gemini"),
        (parts, "anthropic", "tcompact cannot read most of it", "gemini"),
        (parts, "sharegpt", "message 0 does not say whom it is from", "gemini"),
        (calls, "codex", "", "openai-chat"),
        (calls, "gemini", "", "openai-chat"),
        (calls, "claude-code", "", "openai-chat"),
    ] {
        let from = crate::formats::by_name(named);
        let Err(error) = read(source, from, None) else { panic!("{named} reads {own}") };
        let text = error.to_string();
        assert!(matches!(error, ReadError::OtherFormat { own: it, .. } if it == own), "{named}: {text}");
        assert!(text.starts_with(&format!("is not a transcript in the format {named}: {found}")), "{text}");
        assert!(text.ends_with(&format!("; {own} reads it")), "{text}");
    }
}

#[test]
fn an_empty_list_is_a_transcript() {
    assert_eq!(formats("[]"), [("openai-chat", 0, None)]);
    assert_eq!(formats("{\"messages\": []}"), [("openai-chat", 0, None)]);
    assert_eq!(formats("{\"input\": []}"), [("openai-responses", 0, None)]);
}

#[test]
fn an_empty_list_of_anything_is_not() {
    for source in [r#"{"owner":"o","history":[]}"#, r#"{"output":[]}"#, r#"{"trajectory":[],"steps":3}"#] {
        let error = read(source, None, None).expect_err(source).to_string();
        assert!(error.contains("an empty list, which nothing shows to be one of messages"), "{error}");
        assert!(read(source, crate::formats::by_name("openai-chat"), None).is_ok(), "{source}");
    }
    // Among conversations, one without messages stays unchanged.
    assert_eq!(formats(&format!("{{\"history\":[]}}\n{{\"history\":[{USER}]}}")).len(), 2);
    let of_continue = r#"{"sessionId":"s","workspaceDirectory":"/","history":[]}"#;
    assert!(read(of_continue, None, None).expect_err("another's").to_string().contains("Continue"));
}

#[test]
fn a_file_is_named_by_a_line_behind_the_first() {
    let source = "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n{\"type\":\"agent_start\"}\n";
    let error = read(source, None, None).expect_err("another's").to_string();
    assert!(error.contains("a stream of pi") && error.ends_with("at line 2 column 1"), "{error}");
}

#[test]
fn other_json_is_named_for_what_it_is() {
    let message = |source: &str| read(source, None, None).expect_err(source).to_string();
    assert!(message(" \n").starts_with("is empty"));
    assert_eq!(message("{\"a\":}"), "is not JSON: expected value at line 1 column 6");
    assert!(message("17").contains("a number where a list of messages should be at line 1 column 1"));
    assert!(message("{\"rows\":[1]}").contains("(its keys: rows)"));
    assert!(
        message(&format!("[{USER},\n 3]"))
            .contains("message 1 is a number, not an object with a role at line 2 column 2")
    );
    assert!(message(&format!("[{USER}]\n7\n")).contains("line 2 column 1"));
}

#[test]
fn lines_says_how_lines_are_read() {
    let source = format!("[{USER}]\n");
    let decided = read(&source, None, Some(Lines::Conversations)).expect("a conversation");
    assert_eq!(decided.transcripts[0].line, Some(1));
    assert!(read(&source, None, Some(Lines::Messages)).is_err());
}

#[test]
fn an_empty_envelope_of_a_named_format_is_no_line_of_a_session() {
    let document = read(r#"{"loglines":[]}"#, crate::formats::by_name("claude-code"), None).expect("a transcript");
    assert!(document.transcripts[0].messages.is_empty() && document.transcripts[0].envelope.is_some());
}
