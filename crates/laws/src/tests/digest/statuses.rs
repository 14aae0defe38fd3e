//! How calls and edits ended is told by their status.

use crate::tokens::Counter;
use crate::transcript::formats::by_name;
use crate::transcript::status::{Status, recorded_status};
use serde_json::{Value, json};

use crate::digest::{assert_digest, parse};
use crate::fixtures;
use crate::lawful::with_document;
use crate::tests::digest::{chat, digest_of_chat};

/// A call of `make check` with a structured status, in a format: whether this has an exit code, and the messages with an
/// output, if it went well or not.
type Called = (&'static str, bool, fn(&str, bool) -> Value);

const STATUSES: [Called; 21] = [
    ("anthropic", false, |output, well| {
        let result = json!({"type": "tool_result", "tool_use_id": "a", "content": output, "is_error": !well});
        let call = json!({"type": "tool_use", "id": "a", "name": "bash", "input": {"command": "make check"}});
        json!([{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}])
    }),
    ("bedrock", false, |output, well| {
        let status = if well { "success" } else { "error" };
        let result = json!({"toolResult": {"toolUseId": "a", "content": [{"text": output}], "status": status}});
        let call = json!({"toolUse": {"toolUseId": "a", "name": "bash", "input": {"command": "make check"}}});
        json!([{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}])
    }),
    ("openai-chat", true, |output, well| {
        chat(&format!("Exit code: {}\nWall time: 0.1 seconds\nOutput:\n{output}", i32::from(!well)))
    }),
    ("openai-chat", true, |output, well| {
        chat(&format!("Process exited with code {}\nOutput:\n{output}", i32::from(!well)))
    }),
    ("openai-chat", true, |output, well| {
        chat(&json!({"output": output, "metadata": {"exit_code": i32::from(!well)}}).to_string())
    }),
    ("openai-chat", true, |output, well| chat(&json!({"stdout": output, "exit_code": i32::from(!well)}).to_string())),
    ("openai-chat", false, |output, well| chat(&json!({"success": well, "message": output}).to_string())),
    ("openai-chat", true, |output, well| {
        chat(&format!("<returncode>{}</returncode>\n<output>\n{output}\n</output>", i32::from(!well)))
    }),
    ("openai-chat", true, |output, well| {
        let observation = format!("<returncode>{}</returncode>\n<output>\n{output}\n</output>", i32::from(!well));
        let said = json!({"role": "assistant", "content": "I check it.\n```bash\nmake check\n```"});
        json!([said, {"role": "user", "content": observation}])
    }),
    ("openai-chat", true, |output, well| {
        let mut messages = chat(output);
        messages[1]["extra"] = json!({"returncode": i32::from(!well)});
        messages
    }),
    ("tau-bench", false, |output, well| {
        let call = json!({"id": "a", "name": "bash", "arguments": {"command": "make check"}, "requestor": "assistant"});
        let result = json!({"id": "a", "role": "tool", "content": output, "requestor": "assistant", "error": !well});
        json!([{"role": "assistant", "content": null, "tool_calls": [call]}, result])
    }),
    ("openhands", true, |output, well| {
        let about = json!({"tool_call_id": "a", "function_name": "execute_bash"});
        let call = json!({"id": 1, "source": "agent", "action": "run", "args": {"command": "make check", "thought": ""},
            "tool_call_metadata": about});
        let result = json!({"id": 2, "source": "agent", "observation": "run", "content": output,
            "extras": {"metadata": {"exit_code": i32::from(!well)}}, "tool_call_metadata": about});
        json!([call, result])
    }),
    ("inspect", false, |output, well| {
        let call = json!({"id": "a", "function": "bash", "arguments": {"command": "make check"}});
        let mut result = json!({"id": "r", "content": output, "role": "tool", "tool_call_id": "a", "function": "bash"});
        if !well {
            result["error"] = json!({"type": "unknown", "message": output});
        }
        json!([{"id": "c", "content": "", "source": "generate", "role": "assistant", "tool_calls": [call]}, result])
    }),
    ("ai-sdk", false, |output, well| {
        let kind = if well { "text" } else { "error-text" };
        let call =
            json!({"type": "tool-call", "toolCallId": "a", "toolName": "bash", "input": {"command": "make check"}});
        let output = json!({"type": kind, "value": output});
        let result = json!({"type": "tool-result", "toolCallId": "a", "toolName": "bash", "output": output});
        json!([{"role": "assistant", "content": [call]}, {"role": "tool", "content": [result]}])
    }),
    ("gemini", false, |output, well| {
        let call = json!({"functionCall": {"id": "a", "name": "bash", "args": {"command": "make check"}}});
        let result = json!({"functionResponse": {"id": "a", "name": "bash", "response": response(output, well)}});
        json!([{"role": "model", "parts": [call]}, {"role": "user", "parts": [result]}])
    }),
    ("gemini-cli", false, |output, well| {
        let result = json!([{"functionResponse": {"id": "a", "name": "bash", "response": response(output, well)}}]);
        let call = json!({"id": "a", "name": "bash", "args": {"command": "make check"}, "result": result,
            "status": if well { "success" } else { "error" }, "timestamp": "t"});
        json!([{"sessionId": "s", "projectHash": "h", "messages": [
            {"id": "m", "timestamp": "t", "type": "gemini", "content": "", "toolCalls": [call]}]}])
    }),
    ("qwen-code", false, |output, well| {
        let line = |kind: &str, parent: Option<&str>, parts: Value| {
            json!({"uuid": kind, "parentUuid": parent, "sessionId": "s", "timestamp": "t", "type": kind, "cwd": "/w",
                "version": "1", "message": {"role": "user", "parts": parts}})
        };
        let call = json!({"functionCall": {"id": "a", "name": "bash", "args": {"command": "make check"}}});
        let result = json!({"functionResponse": {"id": "a", "name": "bash", "response": response(output, well)}});
        json!([line("assistant", None, json!([call])), line("tool_result", Some("assistant"), json!([result]))])
    }),
    ("pi", false, |output, well| pi(output, !well, &json!({}))),
    // A tool of OpenClaw does not throw.
    ("pi", false, |output, well| pi(output, false, &json!({"status": if well { "completed" } else { "error" }}))),
    ("copilot-cli", false, |output, well| {
        let line = |kind: &str, data: Value| json!({"type": kind, "data": data, "id": kind, "timestamp": "t", "parentId": null});
        let call = json!({"toolCallId": "a", "name": "bash", "arguments": {"command": "make check"}});
        let mut result = json!({"toolCallId": "a", "success": well});
        let (key, value) =
            if well { ("result", json!({"content": output})) } else { ("error", json!({"message": output})) };
        result[key] = value;
        json!([
            line("assistant.message", json!({"messageId": "m", "content": "", "toolRequests": [call]})),
            line("tool.execution_complete", result)
        ])
    }),
    ("pydantic-ai", false, |output, well| {
        let call = json!({"tool_name": "bash", "args": {"command": "make check"}, "tool_call_id": "a",
            "part_kind": "tool-call"});
        let kind = if well { "tool-return" } else { "retry-prompt" };
        let result = json!({"tool_name": "bash", "content": output, "tool_call_id": "a", "part_kind": kind});
        json!([{"parts": [call], "kind": "response"}, {"parts": [result], "kind": "request"}])
    }),
];

/// The response of a function of Google's API.
fn response(output: &str, well: bool) -> Value {
    if well { json!({"output": output}) } else { json!({"error": output}) }
}

/// A call in pi with its result and the record beside it.
fn pi(output: &str, is_error: bool, details: &Value) -> Value {
    let call = json!({"type": "toolCall", "id": "a", "name": "bash", "arguments": {"command": "make check"}});
    let text = json!([{"type": "text", "text": output}]);
    let result = json!({"role": "toolResult", "toolCallId": "a", "toolName": "bash", "content": text,
        "details": details, "isError": is_error});
    json!([
        {"type": "message", "id": "c", "parentId": null, "timestamp": "t",
            "message": {"role": "assistant", "content": [call]}},
        {"type": "message", "id": "r", "parentId": "c", "timestamp": "t", "message": result}
    ])
}

/// Formats whose files have a line for each message.
const OF_LINES: [&str; 4] = ["qwen-code", "pi", "copilot-cli", "gemini-cli"];

/// The text of a file with these messages.
fn file_of(format: &str, messages: &Value) -> String {
    let Some(lines) = messages.as_array().filter(|_| OF_LINES.contains(&format)) else { return messages.to_string() };
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// Law 14: a status stands where it is recorded, and no word of an output is taken for one.
#[test]
fn a_recorded_status_outranks_words() {
    const OUTPUTS: [&str; 11] = [
        "error: 3 tests FAILED",
        "Traceback (most recent call last):\n  File \"a.py\"\nValueError: no",
        "thread 'main' panicked at src/a.rs:3\nfatal: not a git repository",
        "12 passed, 1 failed",
        "failed: no route to host",
        "exit 1: the last line",
        "12 passed",
        "ok: all is well",
        "exit 0: done",
        "is_error: no",
        "cancelled by the user: no",
    ];
    let mut failed = Vec::new();
    for (number, (format, has_code, messages)) in STATUSES.iter().enumerate() {
        for (output, well) in OUTPUTS.iter().flat_map(|output| [(output, true), (output, false)]) {
            let source = file_of(format, &messages(output, well));
            let lines: Vec<String> = with_document(&source, by_name(format), |document| {
                let items = parse(&assert_digest(&document.transcripts[0], Counter::APPROX, 600)).into_iter();
                items.filter_map(|item| Some(item.text.split_once("`make check` → ")?.1.to_owned())).collect()
            });
            let first = output.split([' ', '\n']).next().unwrap_or("");
            let (status, other) = match (has_code, well) {
                (true, true) => ("exit 0: ", ""),
                (true, false) => ("exit 1: ", ""),
                (false, false) => ("is_error: ", ""),
                // An output that begins like a status has a label.
                (false, true) if ["exit", "is_error:", "cancelled", "ok:", "failed:"].contains(&first) => {
                    ("output: ", "success: true")
                }
                (false, true) => (first, "success: true"),
            };
            let is_told = |line: &String| line.starts_with(status) || !other.is_empty() && line.starts_with(other);
            if lines.len() != 1 || !lines.iter().all(is_told) {
                failed.push(format!("{number} {format}, {well}: {lines:?} of {output:?}"));
            }
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

/// What a format marks as failed where results are pruned is recorded as failed where they are told.
#[test]
fn a_result_that_its_format_marks_as_failed_is_recorded_as_failed() {
    let (mut marked, mut missed) = (0, Vec::new());
    for (name, file) in fixtures::all() {
        let text = std::fs::read_to_string(&file).expect("a fixture");
        with_document(&text, by_name(name), |document| {
            let format = document.transcripts.iter().map(|transcript| (transcript.format, &transcript.messages));
            for (format, message) in format.flat_map(|(format, messages)| messages.iter().map(move |it| (format, it))) {
                for answer in &message.results {
                    let is_marked = format.result_output(message, answer).is_some_and(|output| output.failed);
                    marked += usize::from(is_marked);
                    if is_marked && !recorded_status(answer.json).is_some_and(Status::is_failure) {
                        missed.push(format!("{}: {}", file.display(), answer.json.raw()));
                    }
                }
            }
        });
    }
    assert!(marked > 9 && missed.is_empty(), "{marked}: {missed:#?}");
}

/// A status is a tool's own. What a command prints of another program is text.
#[test]
fn a_status_inside_of_an_output_is_not_told() {
    for output in [
        "FAIL\nexit status 1\nFAIL\tpkg\t3.0s",
        r#"{"name": "job 7", "exit_code": 3}"#,
        r#"{"output": [{"name": "job 7", "exit_code": 3}]}"#,
        r#"{"jobs": {"last": {"exit_code": 3}}, "message": "two jobs"}"#,
    ] {
        let digest = digest_of_calls(&[("bash", json!({"command": "cat log"}), output)]);
        assert!(!digest.contains("exit 3") && !digest.contains("exit 1:"), "{output}: {digest}");
    }
}

/// Returns the digest of calls with their results.
fn digest_of_calls(calls: &[(&str, Value, &str)]) -> String {
    let messages = calls.iter().flat_map(|(name, arguments, result)| {
        let mut messages = chat(result);
        messages[0]["tool_calls"][0]["function"] = json!({"name": name, "arguments": arguments.to_string()});
        messages.as_array().cloned().unwrap_or_default()
    });
    digest_of_chat(&messages.collect::<Vec<_>>(), 900)
}
