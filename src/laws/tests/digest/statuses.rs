//! How calls and edits ended is told by their status.

use crate::tokens::Counter;
use crate::transcript::formats::by_name;
use serde_json::{Value, json};

use crate::laws::digest::{assert_digest, digest_of, parse};
use crate::laws::lawful::with_document;
use crate::laws::tests::digest::{chat, with_messages};

/// A call of `make check` with a structured status, in a format: the messages with an output, if it went well or not.
type Called = (&'static str, fn(&str, bool) -> Value);

const STATUSES: [Called; 14] = [
    ("anthropic", |output, well| {
        let result = json!({"type": "tool_result", "tool_use_id": "a", "content": output, "is_error": !well});
        let call = json!({"type": "tool_use", "id": "a", "name": "bash", "input": {"command": "make check"}});
        json!([{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}])
    }),
    ("bedrock", |output, well| {
        let status = if well { "success" } else { "error" };
        let result = json!({"toolResult": {"toolUseId": "a", "content": [{"text": output}], "status": status}});
        let call = json!({"toolUse": {"toolUseId": "a", "name": "bash", "input": {"command": "make check"}}});
        json!([{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}])
    }),
    ("openai-chat", |output, well| {
        chat(&format!("Exit code: {}\nWall time: 0.1 seconds\nOutput:\n{output}", i32::from(!well)))
    }),
    ("openai-chat", |output, well| chat(&format!("Process exited with code {}\nOutput:\n{output}", i32::from(!well)))),
    ("openai-chat", |output, well| {
        chat(&json!({"output": output, "metadata": {"exit_code": i32::from(!well)}}).to_string())
    }),
    ("openai-chat", |output, well| chat(&json!({"stdout": output, "exit_code": i32::from(!well)}).to_string())),
    ("openai-chat", |output, well| chat(&json!({"success": well, "message": output}).to_string())),
    ("openai-chat", |output, well| {
        chat(&format!("<returncode>{}</returncode>\n<output>\n{output}\n</output>", i32::from(!well)))
    }),
    ("openai-chat", |output, well| {
        let observation = format!("<returncode>{}</returncode>\n<output>\n{output}\n</output>", i32::from(!well));
        let said = json!({"role": "assistant", "content": "I check it.\n```bash\nmake check\n```"});
        json!([said, {"role": "user", "content": observation}])
    }),
    ("openai-chat", |output, well| {
        let mut messages = chat(output);
        messages[1]["extra"] = json!({"returncode": i32::from(!well)});
        messages
    }),
    ("tau-bench", |output, well| {
        let call = json!({"id": "a", "name": "bash", "arguments": {"command": "make check"}, "requestor": "assistant"});
        let result = json!({"id": "a", "role": "tool", "content": output, "requestor": "assistant", "error": !well});
        json!([{"role": "assistant", "content": null, "tool_calls": [call]}, result])
    }),
    ("openhands", |output, well| {
        let about = json!({"tool_call_id": "a", "function_name": "execute_bash"});
        let call = json!({"id": 1, "source": "agent", "action": "run", "args": {"command": "make check", "thought": ""},
            "tool_call_metadata": about});
        let result = json!({"id": 2, "source": "agent", "observation": "run", "content": output,
            "extras": {"metadata": {"exit_code": i32::from(!well)}}, "tool_call_metadata": about});
        json!([call, result])
    }),
    ("inspect", |output, well| {
        let call = json!({"id": "a", "function": "bash", "arguments": {"command": "make check"}});
        let mut result = json!({"id": "r", "content": output, "role": "tool", "tool_call_id": "a", "function": "bash"});
        if !well {
            result["error"] = json!({"type": "unknown", "message": output});
        }
        json!([{"id": "c", "content": "", "source": "generate", "role": "assistant", "tool_calls": [call]}, result])
    }),
    ("ai-sdk", |output, well| {
        let kind = if well { "text" } else { "error-text" };
        let call =
            json!({"type": "tool-call", "toolCallId": "a", "toolName": "bash", "input": {"command": "make check"}});
        let output = json!({"type": kind, "value": output});
        let result = json!({"type": "tool-result", "toolCallId": "a", "toolName": "bash", "output": output});
        json!([{"role": "assistant", "content": [call]}, {"role": "tool", "content": [result]}])
    }),
];

/// Whether a line says that its call failed.
fn says_failed(line: &str) -> bool {
    let ended = line.split_once("→ ").map_or("", |(_, ended)| ended);
    line.starts_with("Failed") || ended.starts_with("failed")
}

/// Whether a line says that its call went well.
fn says_well(line: &str) -> bool {
    let ended = line.split_once("→ ").map_or("", |(_, ended)| ended);
    ended.starts_with("ok")
}

#[test]
fn a_structured_status_outranks_words() {
    const BAD_WORDS: [&str; 6] = [
        "error: 3 tests FAILED",
        "Traceback (most recent call last):\n  File \"a.py\"\nValueError: no",
        "thread 'main' panicked at src/a.rs:3\nfatal: not a git repository",
        "12 passed, 1 failed",
        "failed: no route to host",
        "exit 1: the last line",
    ];
    const GOOD_WORDS: [&str; 4] = ["12 passed", "ok: all is well", "exit 0: done", "Success! Exit code: 0"];
    let mut failed = Vec::new();
    for (number, (format, messages)) in STATUSES.iter().enumerate() {
        let outputs = BAD_WORDS.map(|words| (words, true)).into_iter().chain(GOOD_WORDS.map(|words| (words, false)));
        for (output, well) in outputs {
            let source = messages(output, well).to_string();
            let lines: Vec<String> = with_document(&source, by_name(format), |document| {
                let items = parse(&assert_digest(&document.transcripts[0], Counter::APPROX, 600)).into_iter();
                items.filter(|item| item.text.contains("make check")).map(|item| item.text).collect()
            });
            let calls: Vec<&String> = lines.iter().filter(|line| !line.contains("```")).collect();
            let is_wrong = |line: &&&String| if well { says_failed(line) } else { says_well(line) };
            let wrong = calls.iter().any(|line| is_wrong(&line));
            if calls.is_empty() || wrong || !well && !calls.iter().any(|line| says_failed(line)) {
                failed.push(format!(
                    "{number} {format}, {}: {calls:?} of {output:?}",
                    if well { "well" } else { "failed" }
                ));
            }
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

/// An edit is among the failed ones only if its status says so.
#[test]
fn an_edit_ended_as_its_status_says() {
    for (output, well) in
        [("error: FAILED no match, String to replace not found", true), ("The file has been updated.", false)]
    {
        let input = json!({"file_path": "src/a.rs", "old_string": "a", "new_string": "b"});
        let call = json!({"type": "tool_use", "id": "a", "name": "Edit", "input": input});
        let result = json!({"type": "tool_result", "tool_use_id": "a", "content": output, "is_error": !well});
        let source =
            json!([{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]).to_string();
        let digest = with_messages(&source, by_name("anthropic"), |messages| digest_of(messages, Counter::APPROX, 900));
        assert_eq!(digest.contains("Changed: src/a.rs"), well, "{digest}");
        assert_eq!(digest.contains("Failed edit of src/a.rs"), !well, "{digest}");
    }
}
