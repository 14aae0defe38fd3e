//! Servers of other projects. You start them by hand, and these tests run only on request:
//!
//! ```sh
//! python3 -m venv /tmp/peers && /tmp/peers/bin/pip install llmock==0.2.2
//! /tmp/peers/bin/llmock serve --port 8101 --host 127.0.0.1 --context-window 8000 &
//! TCOMPACT_PEER_LLMOCK=http://127.0.0.1:8101 cargo test --test integration peers -- --ignored
//! ```
//!
//! With `TCOMPACT_PEER_LLAMA=http://127.0.0.1:8080/v1` the tests run against llama.cpp's own server (`llama-server -m
//! MODEL.gguf -c 1024 --port 8080`), which takes minutes on a small machine. Any small model that follows instructions
//! will do. Its context is small so that its overflow error occurs.

use std::fs;

use serde_json::Value;

use crate::program::{path, run, tcompact};

/// Summarizes an agent's session and returns the report.
fn summarized(model: &str, address: &str, more: &[&str]) -> Value {
    let folder = tempfile::tempdir().expect("a folder");
    let report = path(folder.path(), "report.jsonl");
    let mut command = tcompact();
    for provider in ["OPENAI", "ANTHROPIC", "GOOGLE", "MISTRAL", "GROQ"] {
        command.env(format!("{provider}_API_KEY"), "sk-test");
    }
    command.args(["--model", model, "--base-url", address, "--accept", "any", "--report", &report]);
    let run = run(command.args(more).arg("agent-session.json"), b"");
    assert_eq!(run.code, 0, "{model}: {run:?}");
    assert!(run.stdout.contains("<summary>"), "{model}");
    serde_json::from_str(&fs::read_to_string(&report).expect("a report")).expect("an object")
}

fn assert_counted_in_parts(model: &str, report: &Value) {
    assert_eq!(report["status"], "compacted", "{model}: {report}");
    assert!(report["requests"].as_u64() > Some(2), "{model}: {report}");
    assert_eq!(report["retries"], 0, "{model}: {report}");
    assert!(report["usage"]["input_tokens"].as_u64() > Some(1000), "{model}: {report}");
}

#[test]
#[ignore = "needs llmock: see the top of the file"]
fn llmock_is_spoken_to_in_every_way_it_knows() {
    let address = std::env::var("TCOMPACT_PEER_LLMOCK").expect("TCOMPACT_PEER_LLMOCK, the address of llmock");
    for (model, path) in [
        ("openai:gpt-4o-mini", "/v1"),
        ("openai-responses:gpt-4o-mini", "/v1"),
        ("anthropic:claude-haiku-4-5", "/anthropic/v1"),
        ("google:gemini-2.0-flash", "/gemini/v1beta"),
        ("mistral:mistral-small-latest", "/mistral/v1"),
        ("groq:llama-3.3-70b-versatile", "/groq/openai/v1"),
    ] {
        // Larger than its context, so that its rejections occur as well.
        let report = summarized(model, &format!("{address}{path}"), &["--keep", "messages:10"]);
        assert_counted_in_parts(model, &report);
    }
}

#[test]
#[ignore = "needs llama.cpp's server: see the top of the file"]
fn llama_cpp_is_spoken_to_in_every_way_it_knows() {
    let address = std::env::var("TCOMPACT_PEER_LLAMA").expect("TCOMPACT_PEER_LLAMA, the address of llama.cpp's server");
    let folder = tempfile::tempdir().expect("a folder");
    let prompt = path(folder.path(), "prompt.txt");
    fs::write(&prompt, "Write three short points with the facts of this conversation.\n\n{messages}\n")
        .expect("written");
    let more = ["--prompt-file", &prompt, "--summary-tokens", "40", "--timeout", "600", "--keep", "messages:40"];
    for model in ["openai:any", "openai-responses:any", "anthropic:any"] {
        assert_counted_in_parts(model, &summarized(model, &address, &more));
    }
}
