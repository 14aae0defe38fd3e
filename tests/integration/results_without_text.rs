//! Results that hold something besides text: a digest does not say of them that there was no output.

use serde_json::{Value, json};

use crate::program::piped;

/// How a digest tells a call whose result, in some format, holds something.
fn told(messages: &Value) -> String {
    let run = piped(&["--keep", "messages:2", "--emit", "summary"], &messages.to_string());
    let mut lines = run.stdout.lines().filter_map(|line| Some(line.split_once("] look(at=hall) → ")?.1));
    lines.next_back().unwrap_or_else(|| panic!("{run:?}")).to_owned()
}

fn long() -> String {
    "It is a hall with a shelf. ".repeat(400)
}

fn chat(content: &Value) -> Value {
    let function = json!({"name": "look", "arguments": r#"{"at":"hall"}"#});
    json!([
        {"role": "user", "content": long()},
        {"role": "assistant", "content": null, "tool_calls": [{"id": "k", "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": "k", "content": content},
        {"role": "assistant", "content": "Done."},
        {"role": "user", "content": "Go on."},
    ])
}

fn anthropic(content: &Value) -> Value {
    json!([
        {"role": "user", "content": long()},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "k", "name": "look", "input": {"at": "hall"}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "k", "content": content}]},
        {"role": "assistant", "content": "Done."},
        {"role": "user", "content": "Go on."},
    ])
}

fn bedrock(content: &Value) -> Value {
    json!([
        {"role": "user", "content": [{"text": long()}]},
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "k", "name": "look", "input": {"at": "hall"}}}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "k", "content": content}}]},
        {"role": "assistant", "content": [{"text": "Done."}]},
        {"role": "user", "content": [{"text": "Go on."}]},
    ])
}

fn responses(output: &Value) -> Value {
    json!([
        {"type": "message", "role": "user", "content": long()},
        {"type": "function_call", "call_id": "k", "name": "look", "arguments": r#"{"at":"hall"}"#},
        {"type": "function_call_output", "call_id": "k", "output": output},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]},
        {"type": "message", "role": "user", "content": "Go on."},
    ])
}

fn pydantic(content: &Value) -> Value {
    let call = json!({"part_kind": "tool-call", "tool_name": "look", "args": {"at": "hall"}, "tool_call_id": "k"});
    json!([
        {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": long()}]},
        {"kind": "response", "parts": [call]},
        {"kind": "request", "parts": [
            {"part_kind": "tool-return", "tool_name": "look", "content": content, "tool_call_id": "k"},
        ]},
        {"kind": "response", "parts": [{"part_kind": "text", "content": "Done."}]},
        {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "Go on."}]},
    ])
}

#[test]
fn contents_besides_text_are_named() {
    let picture = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBO"}});
    let file = json!({"type": "file", "file": {"filename": "plan.pdf", "file_data": "JVBE"}});
    let block = |kind: &str| json!({"type": kind, "source": {"type": "base64", "media_type": "m", "data": "iVBO"}});
    let reference = json!({"type": "tool_reference", "tool_name": "measure"});
    let item = |kind: &str, key: &str| json!({"type": kind, key: "data:;base64,iVBO"});
    let of_bedrock = |kind: &str| json!({kind: {"format": "f", "name": "n", "source": {"bytes": "iVBO"}}});
    let cases = [
        (chat(&json!([picture])), "no text: 1 picture"),
        (chat(&json!([picture, file, picture])), "no text: 2 pictures, 1 file"),
        (chat(&json!([{"type": "text", "text": "a hall"}, picture])), "a hall"),
        (chat(&json!("")), "no output"),
        (anthropic(&json!([block("image")])), "no text: 1 picture"),
        (anthropic(&json!([block("document")])), "no text: 1 file"),
        (anthropic(&json!([reference, reference])), "no text: 2 loaded tools"),
        (anthropic(&json!([])), "no output"),
        (bedrock(&json!([of_bedrock("image")])), "no text: 1 picture"),
        (bedrock(&json!([of_bedrock("document"), of_bedrock("video")])), "no text: 2 files"),
        (responses(&json!([item("input_image", "image_url")])), "no text: 1 picture"),
        (responses(&json!([item("input_file", "file_data")])), "no text: 1 file"),
        (pydantic(&json!({"kind": "image-url", "url": "https://a.example/b.png"})), "no text: 1 picture"),
    ];
    for (messages, expected) in cases {
        assert_eq!(told(&messages), expected, "{messages}");
    }
}
