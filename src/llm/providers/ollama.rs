//! Ollama: `POST {base}/api/chat`.

use serde_json::{Value, json};

use crate::llm::providers::{Api, Endpoint, messages, string, tokens};
use crate::summary::exchange::{Reply, Request, Stop, Usage};
use crate::transcript::json::{Json, JsonKind};

pub(super) const API: Api = Api::with_bearer(|_| "/api/chat".to_owned(), request, response);

/// The step of requested windows, in tokens: for each new size, the server loads the model again.
const STEP: u64 = 4096;
/// Tokens of the server's template around the messages, with a margin.
const AROUND: u64 = 256;

fn request(endpoint: &Endpoint, request: &Request) -> Value {
    json!({
        "model": endpoint.model,
        "messages": messages(request),
        "stream": false,
        // An error is better than an answer to half of the history.
        "truncate": false,
        "shift": false,
        "options": {"num_ctx": window(request)},
    })
}

/// The window that a request needs, in tokens. By default, the server uses a small one and silently drops the beginning
/// of the prompt. No text has many more tokens than a third of its bytes.
fn window(request: &Request) -> u64 {
    const BYTES_PER_TOKEN: u64 = 3;
    let bytes = request.prompt.len() + request.system.map_or(0, str::len);
    (bytes as u64 / BYTES_PER_TOKEN + request.limit + request.thoughts + AROUND).next_multiple_of(STEP)
}

fn response(answer: Json<'_>) -> Result<Reply, String> {
    let message = answer.get("message").filter(|message| message.kind() == JsonKind::Object);
    let message = message.ok_or("the answer has no message")?;
    let usage = tokens(answer, "prompt_eval_count").zip(tokens(answer, "eval_count"));
    let stopped = answer.get_text("done_reason").is_some_and(|why| why.is("length"));
    Ok(Reply {
        text: string(message, "content").unwrap_or_default(),
        stop: if stopped { Stop::Length } else { Stop::Done },
        usage: usage.map(|(input, output)| Usage { input, output, ..Usage::default() }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::providers::tests::{endpoint, request};

    #[test]
    fn requests() {
        assert_eq!(
            endpoint("ollama", "m").request(&request("p")).to_string(),
            r#"{"model":"m","messages":[{"role":"user","content":"p"}],"stream":false,"truncate":false,"shift":false,"options":{"num_ctx":4096,"num_predict":9},"think":false}"#
        );
        let long = endpoint("ollama", "m").request(&request(&"x".repeat(30_000)));
        assert_eq!(long["options"]["num_ctx"], 12_288);
    }

    #[test]
    fn answers() {
        let response = |body: &str| endpoint("ollama", "m").response(body);
        let whole = response(
            r#"{"message":{"role":"assistant","content":"s","thinking":"t"},"done_reason":"stop","done":true,
                "prompt_eval_count":3,"eval_count":4}"#,
        );
        let usage = Some(Usage { input: 3, output: 4, ..Usage::default() });
        assert_eq!(whole, Ok(Reply { text: "s".to_owned(), stop: Stop::Done, usage }));
        let cut = response(r#"{"message":{"content":"s"},"done_reason":"length"}"#);
        assert_eq!(cut.map(|reply| reply.stop), Ok(Stop::Length));
        assert_eq!(response(r#"{"error":"model not found"}"#), Err("the answer has no message".to_owned()));
    }
}
