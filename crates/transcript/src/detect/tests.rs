//! Which format a list of messages is of.

use crate::framing::read_for_test as read;

fn detected(messages: &str) -> String {
    match read(messages, None, None) {
        Ok(document) => document.transcripts[0].format.name.to_owned(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn late_evidence_counts() {
    let plain = r#"{"role":"user","content":"a"},{"role":"assistant","content":"b"}"#;
    assert_eq!(detected(&format!("[{plain}]")), "openai-chat");
    assert_eq!(detected(&format!(r#"[{plain},{{"role":"tool","tool_call_id":"x","content":""}}]"#)), "openai-chat");
    let blocks = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"r"}]}"#;
    assert_eq!(detected(&format!("[{plain},{blocks}]")), "anthropic");
    assert_eq!(detected(r#"[{"type":"human","content":"a"},{"type":"ai","data":{"content":"b"}}]"#), "langchain");
}

#[test]
fn an_envelope_speaks_where_the_messages_do_not() {
    assert_eq!(detected(r#"{"system":"s","messages":[{"role":"user","content":"a"}]}"#), "anthropic");
    assert_eq!(detected(r#"{"model":"gpt-4o","messages":[{"role":"user","content":"a"}]}"#), "openai-chat");
}

#[test]
fn a_system_message_in_front_is_not_anthropics() {
    let litellm =
        r#"{"model":"claude-3-5-sonnet","messages":[{"role":"system","content":"s"},{"role":"user","content":"u"}]}"#;
    assert_eq!(detected(litellm), "openai-chat");
}

#[test]
fn thinking_is_anthropics_where_it_is_signed() {
    let thinks = |signature: &str| {
        format!(
            r#"{{"role":"assistant","content":[{{"type":"thinking","thinking":"t"{signature}}},{{"type":"text","text":"a"}}]}}"#
        )
    };
    let user = r#"{"role":"user","content":"u"}"#;
    let call =
        r#"{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}"#;
    let (unsigned, signed) = (thinks(""), thinks(r#","signature":"s""#));
    assert_eq!(detected(&format!("[{user},{unsigned}]")), "openai-chat");
    assert_eq!(detected(&format!("[{user},{unsigned},{call}]")), "openai-chat", "Cohere thinks and calls");
    assert_eq!(detected(&format!(r#"{{"model":"command-a-03-2025","messages":[{user},{unsigned}]}}"#)), "openai-chat");
    assert_eq!(detected(&format!("[{user},{signed}]")), "anthropic");
    // The envelope decides, or the other messages.
    assert_eq!(detected(&format!(r#"{{"model":"claude-opus-4-1","messages":[{user},{unsigned}]}}"#)), "anthropic");
    let tool_use = r#"{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{}}]}"#;
    assert_eq!(detected(&format!("[{user},{unsigned},{tool_use}]")), "anthropic");
}

#[test]
fn blocks_that_only_anthropic_has_are_its() {
    let user = r#"{"role":"user","content":"u"}"#;
    for block in [
        r#"{"type":"mcp_tool_use","id":"m","name":"f","server_name":"s","input":{}}"#,
        r#"{"type":"mcp_tool_result","tool_use_id":"m","content":[]}"#,
        r#"{"type":"server_tool_use","id":"s","name":"f","input":{}}"#,
        r#"{"type":"web_fetch_tool_result","tool_use_id":"s","content":{}}"#,
        r#"{"type":"tool_search_tool_result","tool_use_id":"s","content":{}}"#,
        r#"{"type":"container_upload","file_id":"f"}"#,
        r#"{"type":"redacted_thinking","data":"d"}"#,
        r#"{"type":"search_result","source":"s","title":"t","content":[]}"#,
        r#"{"type":"document","source":{"type":"text","data":"d"}}"#,
    ] {
        assert_eq!(
            detected(&format!(r#"[{user},{{"role":"assistant","content":[{block}]}}]"#)),
            "anthropic",
            "{block}"
        );
    }
}

#[test]
fn a_refused_part_is_named_with_the_formats_that_know_it() {
    let user = r#"{"role":"user","content":"u"}"#;
    let call = r#"{"role":"assistant","content":[{"type":"mcp_tool_use","id":"m","name":"f","input":{}}]}"#;
    let source = format!(r#"{{"messages":[{user},{call},{user},{call}],"stream_options":{{}}}}"#);
    let document = read(&source, crate::formats::by_name("openai-chat"), None);
    let message = document.as_ref().err().map(ToString::to_string).unwrap_or_default();
    assert!(message.ends_with("; anthropic reads it"), "{message}");
    let json = crate::source::Source::of(call).expect("JSON");
    let (message, part) = (json.first().expect("a message"), call.find(r#"{"type""#).expect("a part"));
    let known_by = super::formats_that_know(message, part, "");
    assert_eq!(known_by.first(), Some(&"anthropic"), "{known_by:?}");
    assert!(!known_by.contains(&"openai-chat"), "{known_by:?}");
}

#[test]
fn fields_without_a_value_are_no_evidence() {
    let calls =
        r#"{"role":"assistant","tool_calls":null,"content":[{"type":"tool_use","id":"t","name":"f","input":{}}]}"#;
    assert_eq!(detected(&format!("[{calls}]")), "anthropic");
    assert_eq!(detected(r#"[{"role":"assistant","tool_calls":[],"content":"a"}]"#), "openai-chat");
}

#[test]
fn evidence_is_not_passed_over_for_a_plainer_format() {
    let odd = r#"[{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{}}]},{"role":"exit","content":""}]"#;
    let error = detected(odd);
    assert!(error.contains("it looks like anthropic (message 0 has tool_use or tool_result blocks)"), "{error}");
    assert!(error.contains("message 1 does not; --from anthropic reads it"), "{error}");
    let unreadable = detected(r#"[{"role":"tool","tool_call_id":"a","content":"r"},3]"#);
    assert!(unreadable.contains("message 1 is a number"), "{unreadable}");
}

#[test]
fn contradictory_evidence_names_the_candidates() {
    let mixed = r#"[{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"n","input":{}}]},
                        {"role":"tool","tool_call_id":"x","content":"r"}]"#;
    let error = detected(mixed);
    assert!(error.contains("openai-chat (message 1 has the role tool)"), "{error}");
    assert!(error.contains("anthropic (message 0 has tool_use or tool_result blocks)"), "{error}");
    assert!(error.ends_with("--from openai-chat or --from anthropic"), "{error}");
}

#[test]
fn a_variant_claims_a_message_that_a_more_general_format_reads_as_well() {
    let call = |more: &str| {
        format!(
            r#"{{"role":"assistant","content":null,"tool_calls":[{{"id":"a","name":"f","arguments":{{}}{more}}}]}}"#
        )
    };
    let result = r#"{"role":"tool","tool_call_id":"a","content":"r"}"#;
    let reasoning = r#"{"role":"assistant","content":"b","reasoning_content":"hm"}"#;
    assert_eq!(detected(&format!("[{},{result}]", call(""))), "openai-chat");
    let variant = call(r#","requestor":"assistant""#);
    for order in [format!("[{variant},{result}]"), format!("[{result},{variant}]")] {
        assert_eq!(detected(&order), "tau-bench", "{order}");
    }
    // Evidence of its own elsewhere does not make it a message of the general format again.
    assert!(detected(&format!("[{reasoning},{variant}]")).contains("tau-bench"));
    // Each format has a message that only it can read.
    let developer = r#"{"role":"developer","content":"d"}"#;
    let with_name = r#"{"role":"tool","function":"f","tool_call_id":"a","content":"r"}"#;
    let both = detected(&format!("[{with_name},{developer}]"));
    assert!(both.contains("--from openai-chat or --from inspect"), "{both}");
}

#[test]
fn other_formats_are_not_taken_for_one_of_these() {
    let foreign = r#"[{"role":"admin","name":"a row of a table"}]"#;
    assert!(detected(foreign).starts_with("is not a transcript"), "{}", detected(foreign));
}
