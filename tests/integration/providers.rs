//! Every provider, from the flag to the summary.

use serde_json::{Value, json};

use crate::program::{Run, run, tcompact};
use crate::server::{Server, Step};
use crate::summary_requests::{assert_fails, summary_of};

const KEY: &str = "sk-test-7f3a9c";

fn answer(body: Value) -> Step {
    Step::Answer(200, "content-type: application/json\r\n", body.to_string())
}

/// Compacts a fixture with a provider's model, with the server as the provider.
fn ask(server: &Server, model: &str, variable: &str, more: &[&str]) -> Run {
    let arguments = ["--model", model, "--base-url", &server.url, "--keep", "messages:2", "--summary-tokens", "77"];
    let run = run(tcompact().args(arguments).args(more).arg("openai-chat/plain.json").env(variable, KEY), b"");
    assert!(!format!("{run:?}").contains(KEY), "the key is shown: {run:?}");
    run
}

/// A provider's test case: the model, the key's variable, the request line, the key's header, a good answer, and a
/// truncated one.
type Case = (&'static str, &'static str, &'static str, String, Value, Value);

fn cases() -> Vec<Case> {
    let bearer = || format!("authorization: Bearer {KEY}\r\n");
    vec![
        (
            "openai-responses:m",
            "OPENAI_API_KEY",
            "POST /v1/responses HTTP/1.1",
            bearer(),
            json!({"status": "completed", "output": [{"type": "message", "content": [{"type": "output_text", "text": "Short."}]}],
                "usage": {"input_tokens": 5, "output_tokens": 6}}),
            json!({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}, "output": []}),
        ),
        (
            "anthropic:m",
            "ANTHROPIC_API_KEY",
            "POST /v1/messages HTTP/1.1",
            format!("x-api-key: {KEY}\r\n"),
            json!({"content": [{"type": "text", "text": "Short."}], "stop_reason": "end_turn",
                "usage": {"input_tokens": 5, "output_tokens": 6}}),
            json!({"content": [{"type": "text", "text": "Sho"}], "stop_reason": "max_tokens"}),
        ),
        (
            "google:m",
            "GEMINI_API_KEY",
            "POST /v1/models/m:generateContent HTTP/1.1",
            format!("x-goog-api-key: {KEY}\r\n"),
            json!({"candidates": [{"content": {"parts": [{"text": "Short."}]}, "finishReason": "STOP"}],
                "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 6}}),
            json!({"candidates": [{"content": {"parts": [{"text": "Sho"}]}, "finishReason": "MAX_TOKENS"}]}),
        ),
        (
            "ollama:m",
            "OLLAMA_API_KEY",
            "POST /v1/api/chat HTTP/1.1",
            bearer(),
            json!({"message": {"role": "assistant", "content": "Short."}, "done_reason": "stop", "done": true,
                "prompt_eval_count": 5, "eval_count": 6}),
            json!({"message": {"role": "assistant", "content": "Sho"}, "done_reason": "length"}),
        ),
        (
            "mistral:m",
            "MISTRAL_API_KEY",
            "POST /v1/chat/completions HTTP/1.1",
            bearer(),
            json!({"choices": [{"message": {"content": "Short."}, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 5, "completion_tokens": 6}}),
            json!({"choices": [{"message": {"content": "Sho"}, "finish_reason": "model_length"}]}),
        ),
    ]
}

#[test]
fn every_provider_is_asked_in_its_own_way() {
    for (model, variable, line, header, good, _) in cases() {
        let server = Server::start(vec![answer(good)]);
        let run = ask(&server, model, variable, &["-v"]);
        assert!(summary_of(&run).contains("Short."), "{model}");
        assert!(run.stderr.contains("the provider counts 5 tokens in and 6 out"), "{model}: {}", run.stderr);
        let request = server.requests().pop().expect("a request");
        assert!(request.head.starts_with(line), "{model}: {}", request.head);
        assert!(request.head.contains(&header), "{model}: {}", request.head);
        // Any model of Anthropic's may think.
        let limit = if model == "anthropic:m" { 77 + 4096 } else { 77 };
        assert!(request.body.contains(&format!(":{limit}")), "{model}: {}", request.body);
        assert!(request.body.contains("Never change the prices"), "{model}: {}", request.body);
    }
}

/// A gateway's key is of no use to the provider itself, so both come from the environment. The flag wins.
#[test]
fn the_address_of_a_providers_own_library_is_used() {
    for (model, variable, line, _, good, _) in cases().into_iter().take(2) {
        let server = Server::start(vec![answer(good.clone())]);
        let name = variable.replace("API_KEY", "BASE_URL");
        // Anthropic's library puts the version behind the address.
        let address =
            server.url.strip_suffix(if model.starts_with("anthropic") { "/v1" } else { "" }).expect("a version");
        let arguments = ["--model", model, "--keep", "messages:2", "openai-chat/plain.json"];
        let run = run(tcompact().args(arguments).env(variable, KEY).env(&name, format!("{address}/")), b"");
        assert_eq!(run.code, 0, "{model}: {run:?}");
        assert!(server.requests()[0].head.starts_with(line), "{model}");

        let server = Server::start(vec![answer(good)]);
        let run = ask(&server, model, variable, &[]);
        assert_eq!(run.code, 0, "{model}: {run:?}");
    }
}

#[test]
fn a_wrong_address_in_the_environment_is_not_shown() {
    let arguments = ["--model", "openai:m", "--keep", "messages:2", "openai-chat/plain.json"];
    let address = format!("https://me:{KEY}@gateway.example");
    let run = run(tcompact().args(arguments).env("OPENAI_API_KEY", KEY).env("OPENAI_BASE_URL", address), b"");
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.stderr.contains("the variable OPENAI_BASE_URL: an address has no user"), "{run:?}");
    assert!(!format!("{run:?}").contains(KEY), "the key is shown: {run:?}");
}

#[test]
fn every_provider_reports_a_truncated_answer() {
    for (model, variable, .., cut) in cases() {
        let server = Server::start(vec![answer(cut)]);
        assert_fails(&ask(&server, model, variable, &[]), 5, &["cut off by its length limit"]);
        let requests = server.requests();
        assert_eq!(requests.len(), 2, "{model}: asked once more");
        assert!(requests[1].body.contains("did not end before its length limit"), "{model}");
    }
}

#[test]
fn ollama_needs_no_key_and_gets_its_window() {
    let good = json!({"message": {"content": "Short."}, "done": true});
    let server = Server::start(vec![answer(good)]);
    let arguments =
        ["--model", "ollama:m", "--base-url", &server.url, "--keep", "messages:2", "openai-chat/plain.json"];
    assert!(summary_of(&run(tcompact().args(arguments), b"")).contains("Short."));
    let body: Value = serde_json::from_str(&server.requests()[0].body).expect("JSON");
    assert_eq!((&body["stream"], &body["truncate"]), (&json!(false), &json!(false)));
    assert!(body["options"]["num_ctx"].as_u64().is_some_and(|window| window >= 4096), "{body}");
}

/// Errors as observed from providers.
#[test]
fn errors_quote_the_provider() {
    for (model, variable, code, body, words) in [
        (
            "google:m",
            "GOOGLE_API_KEY",
            404,
            r#"{"error":{"code":404,"message":"models/m is not found for API version v1beta","status":"NOT_FOUND"}}"#,
            "models/m is not found",
        ),
        (
            "anthropic:m",
            "ANTHROPIC_API_KEY",
            404,
            r#"{"error":{"message":"model: m","type":"not_found_error"},"request_id":"req_0","type":"error"}"#,
            "model: m",
        ),
        (
            "openai-responses:m",
            "OPENAI_API_KEY",
            400,
            r#"{"error":{"code":"model_not_found","message":"The requested model 'm' does not exist.","param":"model"}}"#,
            "The requested model 'm' does not exist.",
        ),
        ("ollama:m", "OLLAMA_API_KEY", 404, r#"{"error":"model 'm' not found"}"#, "model 'm' not found"),
    ] {
        let server = Server::start(vec![Step::Answer(code, "", body.to_owned())]);
        assert_fails(&ask(&server, model, variable, &[]), 4, &[words]);
        assert_eq!(server.requests().len(), 1, "{model}");
    }
}

#[test]
fn a_model_that_declines_is_asked_once_more() {
    let declined = json!({"content": [], "stop_reason": "refusal"});
    let good = json!({"content": [{"type": "text", "text": "Short."}], "stop_reason": "end_turn"});
    let server = Server::start(vec![answer(declined.clone()), answer(good)]);
    assert!(summary_of(&ask(&server, "anthropic:m", "ANTHROPIC_API_KEY", &[])).contains("Short."));
    assert!(server.requests()[1].body.contains("was a refusal"));
    let server = Server::start(vec![answer(declined)]);
    assert_fails(&ask(&server, "anthropic:m", "ANTHROPIC_API_KEY", &[]), 5, &["declined to write the summary"]);
    assert_eq!(server.requests().len(), 2);
}
