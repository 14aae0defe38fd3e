//! Servers that reject a parameter, and parameters that the user gives.

use std::fs;

use serde_json::{Value, json};

use crate::program::{Run, path, run, tcompact, with};
use crate::server::{Server, Step, completion};
use crate::summary_requests::{KEY, ask, assert_fails, summary_of};

fn good() -> String {
    let Step::Answer(_, _, body) = completion("Short.", "stop") else { unreachable!() };
    body
}

fn refusal(param: &str, message: &str) -> (u16, String) {
    let error = json!({"error": {"message": message, "type": "invalid_request_error", "param": param, "code": "unsupported_parameter"}});
    (400, error.to_string())
}

/// Answers like the newest models under a name that the user chose.
fn deployment(body: &Value) -> (u16, String) {
    match body.get("max_tokens") {
        Some(_) => refusal(
            "max_tokens",
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        ),
        None => (200, good()),
    }
}

fn bodies(server: &Server) -> Vec<Value> {
    server.requests().iter().map(|request| serde_json::from_str(&request.body).expect("JSON")).collect()
}

fn compact(server: &Server, model: &str, more: &[&str]) -> Run {
    let arguments = ["--model", model, "--base-url", &server.url, "--keep", "messages:2", "--ledger", "off"];
    let mut command = tcompact();
    for variable in ["OPENAI_API_KEY", "ANTHROPIC_API_KEY"] {
        command.env(variable, KEY);
    }
    run(command.args(arguments).args(more), b"")
}

#[test]
fn a_rejected_parameter_is_replaced_for_the_whole_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let report = path(folder.path(), "report.jsonl");
    let server = Server::start(vec![Step::Judge(deployment)]);
    let more = ["--retries", "0", "--jobs", "1", "-v", "--accept", "any", "--report", &report];
    let run = compact(&server, "openai:my-deployment", &[&more[..], &["openai-chat/conversations.jsonl"]].concat());
    assert_eq!(run.code, 0, "{run:?}");
    let told = "asking again with max_completion_tokens instead of max_tokens, from now on";
    assert_eq!(run.stderr.matches(told).count(), 1, "{}", run.stderr);
    let sent = bodies(&server);
    assert!(sent.len() > 2 && sent[1..].iter().all(|body| body["max_completion_tokens"] == 1024), "{sent:?}");
    let report = fs::read_to_string(report).expect("a report");
    let lines: Vec<Value> = report.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let sum = |key: &str| lines.iter().filter_map(|line| line[key].as_u64()).sum::<u64>();
    assert_eq!((sum("requests"), sum("retries")), (sent.len() as u64, 0), "{report}");
}

#[test]
fn a_server_that_rejects_everything_is_given_up() {
    fn never(body: &Value) -> (u16, String) {
        let first = ["max_tokens", "max_completion_tokens", "reasoning_effort"];
        let first = first.iter().find(|name| body.get(**name).is_some()).unwrap_or(&"messages");
        refusal(first, &format!("Unsupported parameter: '{first}'"))
    }
    for model in ["openai:my-deployment", "openai:gpt-6-astra", "openai:gpt-5.5"] {
        let server = Server::start(vec![Step::Judge(never)]);
        let run = compact(&server, model, &["openai-chat/plain.json"]);
        assert_fails(&run, 4, &["answered 400", "Unsupported parameter", "--request-json"]);
        assert!(server.requests().len() <= 4, "{model}: {:?}", bodies(&server));
    }
}

#[test]
fn parameters_of_the_user_are_sent_as_given() {
    let server = Server::start(vec![Step::Judge(deployment)]);
    let run = compact(&server, "openai:m", &["--request-json", r#"{"max_tokens": 50}"#, "openai-chat/plain.json"]);
    assert_fails(&run, 4, &["is not supported with this model", "max_tokens is what --request-json puts there"]);
    assert_eq!(server.requests().len(), 1);
    // A parameter that is not sent cannot be rejected.
    let patch = r#"{"max_tokens": null, "max_completion_tokens": 50, "stop": ["x"], "metadata": {"a": {"b": 1}}}"#;
    summary_of(&compact(&server, "openai:m", &["--request-json", patch, "openai-chat/plain.json"]));
    let body = bodies(&server).pop().expect("a request");
    assert_eq!(
        (body.get("max_tokens"), &body["max_completion_tokens"], &body["metadata"]["a"]["b"]),
        (None, &50.into(), &1.into())
    );
}

/// A server that accepts one of two names for a limit gets the user's, whichever it is.
#[test]
fn own_parameters_yield_to_the_users() {
    fn one_limit(body: &Value) -> (u16, String) {
        let names = ["max_tokens", "max_completion_tokens"];
        if names.iter().all(|name| body.get(*name).is_some()) {
            refusal(names[0], "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.")
        } else {
            (200, good())
        }
    }
    for (model, own, other) in [
        ("openai:my-deployment", "max_completion_tokens", "max_tokens"),
        ("openai:gpt-6-sol", "max_tokens", "max_completion_tokens"),
    ] {
        let server = Server::start(vec![Step::Judge(one_limit)]);
        let patch = format!(r#"{{"{own}": 700}}"#);
        summary_of(&compact(&server, model, &["--request-json", &patch, "openai-chat/plain.json"]));
        let sent = bodies(&server);
        let last = sent.last().expect("a request");
        assert_eq!((sent.len(), &last[own], last.get(other)), (2, &700.into(), None), "{model}");
    }
}

/// A server that allows fewer tokens than the summary may have is not sent the same request again.
#[test]
fn no_request_is_repeated_unchanged() {
    fn too_large(_: &Value) -> (u16, String) {
        refusal("max_tokens", "max_tokens is too large: 1024. This model supports at most 500 completion tokens.")
    }
    let server = Server::start(vec![Step::Judge(too_large)]);
    let run = compact(&server, "openai:my-deployment", &["openai-chat/plain.json"]);
    assert_fails(&run, 4, &["max_tokens is too large", "--summary-tokens"]);
    assert_eq!(server.requests().len(), 1);
}

/// If thoughts used up the limit, however small, the second request has the room of known reasoning models.
#[test]
fn an_unknown_model_that_thinks_gets_room_for_it() {
    fn thinks(body: &Value) -> (u16, String) {
        let limit = body["max_tokens"].as_u64().expect("a limit");
        let answer = if limit < 4_500 {
            json!({"choices": [{"message": {"content": ""}, "finish_reason": "length"}],
                "usage": {"prompt_tokens": 9, "completion_tokens": limit, "total_tokens": limit + 9}})
        } else {
            json!({"choices": [{"message": {"content": "Short."}, "finish_reason": "stop"}]})
        };
        (200, answer.to_string())
    }
    let server = Server::start(vec![Step::Judge(thinks)]);
    summary_of(&compact(&server, "openai:my-deployment", &["openai-chat/plain.json"]));
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn the_cache_tells_parameters_of_the_user_apart() {
    let folder = tempfile::tempdir().expect("a folder");
    let cache = path(folder.path(), "cache");
    let server = Server::start(vec![completion("Short.", "stop")]);
    for (patch, requests) in
        [("{}", 1), (r#"{"top_p": 1}"#, 2), (r#"{"top_p": 1}"#, 2), (r#"{"top_p": 0.5}"#, 3), ("{}", 3)]
    {
        summary_of(&ask(&server, &["--cache", &cache, "--request-json", patch]));
        assert_eq!(server.requests().len(), requests, "{patch}");
    }
    for (name, text) in [
        ("c.toml", "model = \"openai:m\"\n[request-json]\ntop_p = 0.5\nextra = { deep = [1, 2] }\n"),
        ("c.yaml", "model: openai:m\nrequest-json:\n  top_p: 0.5\n  extra: {deep: [1, 2]}\n"),
    ] {
        let file = path(folder.path(), name);
        fs::write(&file, text).expect("written");
        let run =
            with(&["--config", &file, "--base-url", &server.url, "--keep", "messages:2", "openai-chat/plain.json"]);
        summary_of(&run);
        let body = bodies(&server).pop().expect("a request");
        assert_eq!((&body["top_p"], &body["extra"]["deep"][1]), (&json!(0.5), &json!(2)), "{name}");
    }
}

#[test]
fn invalid_parameters_are_errors() {
    for (patch, words) in [
        ("[1]", "expected a JSON object"),
        ("5", "expected a JSON object"),
        ("{\"a\": }", "expected a JSON object: expected value"),
        ("{a: 1}", "expected a JSON object: key must be a string"),
        (r#"{"messages": []}"#, "messages cannot be set here"),
        (r#"{"stream": true}"#, "stream cannot be set here"),
        (r#"{"a": {"api_key": "sk-live-000"}}"#, "api_key cannot be set here"),
    ] {
        let run = with(&[
            "--model",
            "openai:m",
            "--base-url",
            "http://localhost:9/v1",
            "--request-json",
            patch,
            "openai-chat/plain.json",
        ]);
        assert_fails(&run, 2, &["--request-json", words, "^", "try: "]);
        assert!(!run.stderr.contains("sk-live"), "{run:?}");
    }
    for who in [["--model", "extractive"], ["--summarizer-cmd", "true"]] {
        let run = with(&[&who[..], &["--request-json", "{}", "openai-chat/plain.json"]].concat());
        assert_fails(&run, 2, &["--request-json: "]);
    }
}

/// Claude's limit has room for thoughts; if they use all of it, the second request has more.
#[test]
fn thoughts_take_no_room_from_the_summary() {
    fn thinks(body: &Value) -> (u16, String) {
        let (text, stop) =
            if body["max_tokens"].as_u64() > Some(9000) { ("Short.", "end_turn") } else { ("", "max_tokens") };
        let content = if text.is_empty() {
            json!([{"type": "thinking", "thinking": "t"}])
        } else {
            json!([{"type": "text", "text": text}])
        };
        let usage =
            json!({"input_tokens": 5, "output_tokens": 5000, "output_tokens_details": {"thinking_tokens": 4990}});
        (200, json!({"content": content, "stop_reason": stop, "usage": usage}).to_string())
    }
    let server = Server::start(vec![Step::Judge(thinks)]);
    let run = compact(&server, "anthropic:claude-sonnet-5-5", &["-v", "openai-chat/plain.json"]);
    assert!(summary_of(&run).contains("Short."));
    let sent = bodies(&server);
    assert_eq!(
        (sent.len(), &sent[0]["max_tokens"], &sent[1]["max_tokens"]),
        (2, &5120.into(), &(1024 + 2 * 5000).into())
    );
    assert_eq!(
        (&sent[0]["thinking"]["type"], &sent[0]["output_config"]["effort"]),
        (&json!("between_tools"), &json!("low"))
    );
}

/// An older model under a name that the user chose gets a limit that it supports.
#[test]
fn models_without_thoughts_get_no_room_for_them() {
    fn old(body: &Value) -> (u16, String) {
        let limit = body["max_tokens"].as_u64().unwrap_or(0);
        if limit <= 4096 {
            return (
                200,
                json!({"content": [{"type": "text", "text": "Short."}], "stop_reason": "end_turn"}).to_string(),
            );
        }
        let words = format!("max_tokens: {limit} > 4096, which is the maximum allowed number of output tokens for m");
        (400, json!({"type": "error", "error": {"type": "invalid_request_error", "message": words}}).to_string())
    }
    let server = Server::start(vec![Step::Judge(old)]);
    assert!(summary_of(&compact(&server, "anthropic:m", &["openai-chat/plain.json"])).contains("Short."));
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn an_unknown_model_is_asked_with_one_warning() {
    let server = Server::start(vec![completion("Short.", "stop")]);
    let many = ["--accept", "any", "-v", "openai-chat/conversations.jsonl"];
    let run = compact(&server, "openai:gpt-99", &many);
    assert_eq!(
        (run.code, run.stderr.matches("openai:gpt-99 is not in the table of models").count()),
        (0, 1),
        "{run:?}"
    );
    for known in [&["--context-window", "8000"][..], &["--quiet"]] {
        let run = compact(&server, "openai:gpt-99", &[known, &many[..]].concat());
        assert!(!run.stderr.contains("table of models"), "{run:?}");
    }
}
