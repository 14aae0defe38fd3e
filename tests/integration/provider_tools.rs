//! Tools that a provider runs itself: their results answer to nobody, and stay with their calls.

use serde_json::{Value, json};

use crate::program::piped;

/// A format's way to say a text of the user, a hosted call, its result, and both in one message.
struct Hosted {
    format: &'static str,
    user: fn(&str) -> Value,
    call: Value,
    result: Value,
    /// Wraps parts into a message of the model.
    model: fn(Vec<Value>) -> Value,
}

fn content(parts: Vec<Value>) -> Value {
    json!({"role": "assistant", "content": parts})
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn hosted() -> Vec<Hosted> {
    let found = || json!([{"type": "web_search_result", "url": "https://example.com/a", "encrypted_content": "Eo"}]);
    vec![
        Hosted {
            format: "ai-sdk",
            user,
            call: json!({"type": "tool-call", "toolCallId": "s", "toolName": "web_search", "input": {"q": "x"}, "providerExecuted": true}),
            result: json!({"type": "tool-result", "toolCallId": "s", "toolName": "web_search", "output": {"type": "json", "value": {"found": "it"}}}),
            model: content,
        },
        Hosted {
            format: "ai-sdk",
            user,
            call: json!({"type": "tool-call", "toolCallId": "s", "toolName": "web_search", "args": {"q": "x"}, "providerExecuted": true}),
            result: json!({"type": "tool-result", "toolCallId": "s", "toolName": "web_search", "result": "it", "providerExecuted": true}),
            model: content,
        },
        Hosted {
            format: "anthropic",
            user,
            call: json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}),
            result: json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": found()}),
            model: content,
        },
        Hosted {
            format: "langchain",
            user: |text| json!({"type": "human", "content": text}),
            call: json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}),
            result: json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": found()}),
            model: |parts| json!({"type": "ai", "content": parts, "tool_calls": []}),
        },
        Hosted {
            format: "langchain",
            user: |text| json!({"type": "human", "content": text}),
            call: json!({"type": "server_tool_call", "id": "a", "name": "web_search", "args": {"query": "x"}}),
            result: json!({"type": "server_tool_result", "tool_call_id": "a", "status": "success", "output": "it"}),
            model: |parts| json!({"type": "ai", "content": parts, "tool_calls": []}),
        },
        Hosted {
            format: "pydantic-ai",
            user: |text| json!({"kind": "request", "parts": [{"part_kind": "user-prompt", "content": text}]}),
            call: json!({"part_kind": "builtin-tool-call", "tool_name": "web_search", "args": {"query": "x"}, "tool_call_id": "s"}),
            result: json!({"part_kind": "builtin-tool-return", "tool_name": "web_search", "content": {"found": "it"}, "tool_call_id": "s"}),
            model: |parts| json!({"kind": "response", "parts": parts}),
        },
        Hosted {
            format: "gemini",
            user: |text| json!({"role": "user", "parts": [{"text": text}]}),
            call: json!({"executableCode": {"language": "PYTHON", "code": "print(1)"}}),
            result: json!({"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}}),
            model: |parts| json!({"role": "model", "parts": parts}),
        },
        Hosted {
            format: "gemini",
            user: |text| json!({"role": "user", "parts": [{"text": text}]}),
            call: json!({"tool_call": {"id": "s", "tool_type": "GOOGLE_SEARCH_WEB", "args": {"queries": ["x"]}}}),
            result: json!({"tool_response": {"id": "s", "tool_type": "GOOGLE_SEARCH_WEB", "response": {"found": "it"}}}),
            model: |parts| json!({"role": "model", "parts": parts}),
        },
    ]
}

fn text_part(format: &str) -> Value {
    match format {
        "gemini" => json!({"text": "It is there."}),
        "pydantic-ai" => json!({"part_kind": "text", "content": "It is there."}),
        _ => json!({"type": "text", "text": "It is there."}),
    }
}

/// A long opening, and what the provider ran: all in one message, or the result in a later one.
fn conversations(tool: &Hosted) -> [Vec<Value>; 2] {
    let Hosted { user, call, result, model, format } = tool;
    let opening = (0..3).map(|_| user(&"Tell me why the nightly export of the parcel service fails. ".repeat(12)));
    let opening: Vec<Value> = opening.collect();
    let text = text_part(format);
    let together = vec![model(vec![call.clone(), result.clone(), text.clone()]), user("Go on.")];
    let later = vec![model(vec![call.clone()]), model(vec![result.clone(), text]), user("Go on.")];
    [together, later].map(|end| [opening.clone(), end].concat())
}

#[test]
fn results_of_provider_tools_are_not_orphans() {
    for tool in hosted() {
        for conversation in conversations(&tool) {
            let source = Value::from(conversation).to_string();
            let from = ["-q", "--from", tool.format];
            let checked = piped(&[&["check"], &from[..]].concat(), &source);
            assert_eq!((checked.code, checked.stdout.as_str()), (0, ""), "{source}");
            for mode in ["drop", "synthesize"] {
                let repaired = piped(&[&from[..], &["--repair", mode, "--trigger", "messages:99"]].concat(), &source);
                assert_eq!(repaired.stdout, source, "{mode} {}", tool.format);
            }
        }
    }
}

#[test]
fn results_of_provider_tools_stay_with_their_calls() {
    for tool in hosted() {
        let [together, later] = conversations(&tool).map(|conversation| {
            let source = Value::from(conversation).to_string();
            let cut = piped(&["-q", "--from", tool.format, "--keep", "messages:2", "-n"], &source).stdout;
            let short = piped(&["-q", "--from", tool.format, "--keep", "messages:2", "--prune", "all"], &source);
            assert_eq!(short.code, 0, "{short:?}");
            let kept: Vec<Value> = serde_json::from_str(&short.stdout).expect("messages");
            let parts = |value: &Value| kept.iter().any(|message| message.to_string().contains(&value.to_string()));
            assert!(parts(&tool.call) && parts(&tool.result), "{short:?}");
            cut.trim().parse::<usize>().expect("a cutoff")
        });
        assert_eq!((together, later), (3, 3), "{}", tool.format);
    }
}
