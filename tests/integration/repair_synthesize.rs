//! `--repair synthesize`: a call without a result gets one wherever its format can say so.

use serde_json::{Value, json};

use crate::program::piped;

const NO_RESULT: &str = "No result was recorded for this call.";

fn lines(values: &[Value]) -> String {
    values.iter().map(|value| format!("{value}\n")).collect()
}

fn synthesized(name: &str, source: &str) -> String {
    let run = piped(&["--repair", "synthesize", "--trigger", "messages:1000"], source);
    assert_eq!(run.code, 0, "{name}: {run:?}");
    assert!(!run.stderr.contains("removed"), "{name}: {run:?}");
    assert!(run.stdout.contains(NO_RESULT), "{name}: {run:?}");
    let check = piped(&["check"], &run.stdout);
    assert_eq!((check.code, check.stderr.as_str()), (0, ""), "{name}: {run:?}");
    run.stdout
}

/// Conversations in which the user goes on after a call without a result.
fn messages() -> Vec<(&'static str, Value)> {
    let (user, stop) = (json!({"role": "user", "content": "u"}), json!({"role": "user", "content": "stop"}));
    let of_blocks = |block: Value| json!([user, {"role": "assistant", "content": [block]}, stop]);
    let of_parts = |call: Value| {
        json!([
        {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "u"}]}, call,
        {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "stop"}]}])
    };
    let item = |item: Value| {
        json!({"model": "gpt-5.2", "input": [
        {"type": "message", "role": "user", "content": "u"}, item, {"type": "message", "role": "user", "content": "stop"}]})
    };
    let calls = |call: Value| json!([user, {"role": "assistant", "content": null, "tool_calls": [call]}, stop]);
    let event = |id: u8, rest: Value| {
        let mut event = rest;
        event["id"] = json!(id);
        event
    };
    let said = |text: &str| json!({"source": "user", "action": "message", "args": {"content": text}});
    vec![
        ("openai-chat", calls(json!({"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}))),
        (
            "the older function_call",
            json!([user, {"role": "assistant", "content": null, "function_call": {"name": "f", "arguments": "{}"}}, stop]),
        ),
        (
            "calls without ids",
            json!([
            {"role": "user", "content": [{"type": "text", "value": "u"}]},
            {"role": "assistant", "content": [{"type": "tool_call", "value": "{\"name\":\"f\"}"}]},
            {"role": "user", "content": [{"type": "text", "value": "stop"}]}]),
        ),
        ("tau2", calls(json!({"id": "a", "name": "f", "arguments": {}, "requestor": "assistant"}))),
        (
            "inspect",
            json!([user, {"role": "assistant", "content": "", "source": "generate", "tool_calls": [{"id": "a", "function": "f", "arguments": {}, "type": "function"}]}, stop]),
        ),
        ("anthropic", of_blocks(json!({"type": "tool_use", "id": "a", "name": "f", "input": {}}))),
        ("ai-sdk", of_blocks(json!({"type": "tool-call", "toolCallId": "a", "toolName": "f", "input": {}}))),
        (
            "bedrock",
            json!([{"role": "user", "content": [{"text": "u"}]}, {"role": "assistant", "content": [{"toolUse": {"toolUseId": "a", "name": "f", "input": {}}}]}, {"role": "user", "content": [{"text": "stop"}]}]),
        ),
        (
            "gemini",
            json!([{"role": "user", "parts": [{"text": "u"}]}, {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]}, {"role": "user", "parts": [{"text": "stop"}]}]),
        ),
        (
            "langchain",
            json!([{"type": "human", "data": {"content": "u"}}, {"type": "ai", "data": {"content": "", "tool_calls": [{"name": "f", "args": {}, "id": "a", "type": "tool_call"}]}}, {"type": "human", "data": {"content": "stop"}}]),
        ),
        (
            "pydantic-ai",
            of_parts(
                json!({"kind": "response", "parts": [{"part_kind": "tool-call", "tool_name": "f", "args": "{}", "tool_call_id": "a"}]}),
            ),
        ),
        (
            "sharegpt",
            json!([{"from": "human", "value": "u"}, {"from": "function_call", "value": "{\"name\":\"f\"}"}, {"from": "gpt", "value": "x"}]),
        ),
        (
            "openhands",
            json!([
                event(1, said("u")),
                event(2, json!({"source": "agent", "action": "run", "args": {"command": "ls"}})),
                event(3, said("stop"))
            ]),
        ),
        ("function_call", item(json!({"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}))),
        ("custom_tool_call", item(json!({"type": "custom_tool_call", "call_id": "a", "name": "f", "input": ""}))),
        (
            "local_shell_call",
            item(json!({"type": "local_shell_call", "call_id": "a", "action": {"type": "exec", "command": ["ls"]}})),
        ),
        ("shell_call", item(json!({"type": "shell_call", "call_id": "a", "action": {"commands": ["ls"]}}))),
        (
            "apply_patch_call",
            item(
                json!({"type": "apply_patch_call", "call_id": "a", "operation": {"type": "delete_file", "path": "a"}}),
            ),
        ),
    ]
}

#[test]
fn every_format_that_can_gets_a_result() {
    for (name, source) in messages() {
        synthesized(name, &source.to_string());
    }
    for kind in ["function_call", "custom_tool_call", "local_shell_call"] {
        let item = json!({"type": kind, "call_id": "a", "name": "f", "arguments": "{}", "input": "", "action": {"type": "exec", "command": ["ls"]}});
        let said = json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "u"}]});
        let items =
            [&said, &item, &said].map(|item| json!({"timestamp": "t", "type": "response_item", "payload": item}));
        let text = synthesized(kind, &lines(&items));
        let output = if kind == "custom_tool_call" { "custom_tool_call_output" } else { "function_call_output" };
        assert!(
            text.contains(&format!("\"type\": \"{output}\"")) || text.contains(&format!("\"type\":\"{output}\"")),
            "{text}"
        );
    }
    // A picture of the screen cannot be written.
    let screen = json!({"input": [{"type": "message", "role": "user", "content": "u"}, {"type": "computer_call", "call_id": "a", "action": {"type": "screenshot"}}, {"type": "message", "role": "user", "content": "stop"}]});
    let run = piped(&["--repair", "synthesize", "--trigger", "messages:1000"], &screen.to_string());
    assert!(run.code == 0 && run.stderr.contains("1 call is removed"), "{run:?}");
}

fn ui(part: &Value) -> String {
    let text = |role: &str, text: &str| json!({"id": text, "role": role, "parts": [{"type": "text", "text": text}]});
    json!([text("user", "u"), {"id": "2", "role": "assistant", "parts": [{"type": "step-start"}, part]}, text("user", "stop")]).to_string()
}

#[test]
fn calls_that_hold_their_results_get_them_inside() {
    for state in ["input-streaming", "input-available", "approval-requested", "approval-responded"] {
        let mut part = json!({"type": "tool-f", "toolCallId": "a", "state": state, "input": {"n": 1}});
        let approval = match state {
            "approval-requested" => json!({"id": "p"}),
            "approval-responded" => json!({"id": "p", "approved": true}),
            _ => Value::Null,
        };
        if !approval.is_null() {
            part["approval"] = approval.clone();
        }
        let text: Value = serde_json::from_str(&synthesized(state, &ui(&part))).expect("JSON");
        let mut wanted = json!({"type": "tool-f", "toolCallId": "a", "state": "output-error", "input": {"n": 1}, "errorText": NO_RESULT});
        if approval["approved"].as_bool() == Some(true) {
            wanted["approval"] = approval;
        }
        assert_eq!(text[1]["parts"][1], wanted);
    }
    let dynamic =
        json!({"type": "dynamic-tool", "toolName": "f", "toolCallId": "a", "state": "input-available", "input": {}});
    assert!(synthesized("dynamic-tool", &ui(&dynamic)).contains("\"output-error\""));
    // Version 4 holds a call in its part and beside the parts.
    let call = json!({"state": "call", "toolCallId": "a", "toolName": "f", "args": {}});
    let mut request: Value =
        serde_json::from_str(&ui(&json!({"type": "tool-invocation", "toolInvocation": call}))).expect("JSON");
    request[1]["toolInvocations"] = json!([call]);
    let text: Value = serde_json::from_str(&synthesized("tool-invocation", &request.to_string())).expect("JSON");
    let result = json!({"state": "result", "toolCallId": "a", "toolName": "f", "args": {}, "result": NO_RESULT});
    assert_eq!((&text[1]["toolInvocations"][0], &text[1]["parts"][1]["toolInvocation"]), (&result, &result));
}

/// An agent finds the conversation by walking up from the last line, so a result must be on that way.
#[test]
fn results_stand_on_the_way_from_the_last_line_to_the_first() {
    let pi = |id: &str, parent: Value, message: Value| json!({"type": "message", "id": id, "parentId": parent, "timestamp": "t", "message": message});
    let call = |id: &str| json!({"type": "toolCall", "id": id, "name": "f", "arguments": {}});
    let says = |role: &str, text: &str| json!({"role": role, "content": [{"type": "text", "text": text}]});
    let session = lines(&[
        json!({"type": "session", "id": "s", "timestamp": "t", "cwd": "/"}),
        pi("1", Value::Null, says("user", "u")),
        pi("2", json!("1"), json!({"role": "assistant", "content": [call("a"), call("b"), call("c")]})),
        pi(
            "3",
            json!("2"),
            json!({"role": "toolResult", "toolCallId": "b", "toolName": "f", "content": [{"type": "text", "text": "r"}], "isError": false}),
        ),
        pi("4", json!("3"), says("user", "stop")),
    ]);
    assert_eq!(way(&synthesized("pi", &session), "id", "parentId").len(), 6);
    let line = |id: &str, parent: Value, role: &str, content: Value| json!({"parentUuid": parent, "sessionId": "s", "type": role, "message": {"role": role, "content": content}, "uuid": id, "timestamp": "t"});
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "f", "input": {}});
    let session = lines(&[
        line("1", Value::Null, "user", json!("u")),
        line("2", json!("1"), "assistant", json!([call("a"), call("b")])),
        line("3", json!("2"), "user", json!("stop")),
    ]);
    assert_eq!(way(&synthesized("claude-code", &session), "uuid", "parentUuid").len(), 5);
    let line = |id: &str, parent: Value, kind: &str, role: &str, parts: Value| json!({"uuid": id, "parentUuid": parent, "sessionId": "s", "timestamp": "t", "type": kind, "message": {"role": role, "parts": parts}});
    let call = |id: &str| json!({"functionCall": {"id": id, "name": "f", "args": {}}});
    let session = lines(&[
        line("1", Value::Null, "user", "user", json!([{"text": "u"}])),
        line("2", json!("1"), "assistant", "model", json!([call("a"), call("b")])),
        line("3", json!("2"), "user", "user", json!([{"text": "stop"}])),
    ]);
    assert_eq!(way(&synthesized("qwen-code", &session), "uuid", "parentUuid").len(), 5);
}

/// Kimi Code takes no result behind the end of an answer.
#[test]
fn results_of_kimi_code_stand_before_the_end_of_the_answer() {
    let event = |event: Value| json!({"type": "context.append_loop_event", "agentId": "main", "event": event});
    let user = |text: &str| {
        let message = json!({"role": "user", "content": [{"type": "text", "text": text}], "toolCalls": []});
        json!({"type": "context.append_message", "agentId": "main", "message": message})
    };
    let call = |id: &str| {
        event(json!({"type": "tool.call", "uuid": "e", "stepUuid": "1", "toolCallId": id, "name": "f", "args": {}}))
    };
    let begin = event(json!({"type": "step.begin", "uuid": "1"}));
    let end = event(json!({"type": "step.end", "uuid": "1", "finishReason": "tool_use"}));
    let text = synthesized("kimi-code", &lines(&[user("u"), begin, call("a"), call("b"), end, user("stop")]));
    let kinds: Vec<String> = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON")["event"]["type"].to_string())
        .collect();
    let kinds: Vec<&str> = kinds.iter().map(|kind| kind.trim_matches('"')).collect();
    let wanted = ["null", "step.begin", "tool.call", "tool.result", "tool.call", "tool.result", "step.end", "null"];
    assert_eq!(kinds, wanted);
}

/// The lines from the last one up to the first, by their parents.
fn way(text: &str, id: &str, parent: &str) -> Vec<Value> {
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let mut way = vec![lines[lines.len() - 1].clone()];
    while let Some(up) = lines.iter().find(|line| line[id] == way[way.len() - 1][parent] && line[id].is_string()) {
        way.push(up.clone());
    }
    way
}
