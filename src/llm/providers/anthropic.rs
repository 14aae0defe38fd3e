//! Anthropic's Messages API: `POST {base}/messages`.

use serde_json::{Value, json};

use crate::llm::error_response::FULL_WINDOW;
use crate::llm::providers::{Api, Endpoint, items, string, tokens, usage_with};
use crate::summary::exchange::{Reply, Request, Stop, Usage};
use crate::transcript::json::{Json, JsonKind};

pub(super) const API: Api = Api {
    path: |_| "/messages".to_owned(),
    key_header: "x-api-key",
    key_prefix: "",
    headers: &[("anthropic-version", "2023-06-01")],
    request,
    response,
};

fn request(endpoint: &Endpoint, request: &Request) -> Value {
    let mut body = json!({"model": endpoint.model, "messages": [{"role": "user", "content": request.prompt}]});
    if let Some(system) = request.system {
        body["system"] = json!(system);
    }
    body
}

fn response(answer: Json<'_>) -> Result<Reply, String> {
    if answer.get("content").is_none_or(|content| content.kind() != JsonKind::Array) {
        return Err("the answer is not a message".to_owned());
    }
    let texts = items(answer, "content").filter(|block| block.get_text("type").is_some_and(|kind| kind.is("text")));
    let text: String = texts.filter_map(|block| string(block, "text")).collect();
    let stop = string(answer, "stop_reason").unwrap_or_default();
    if stop == FULL_WINDOW && text.trim().is_empty() {
        return Err("the model's context window is full before the summary begins".to_owned());
    }
    Ok(Reply {
        text,
        stop: match stop.as_str() {
            "max_tokens" | FULL_WINDOW => Stop::Length,
            "refusal" => Stop::Refused,
            _ => Stop::Done,
        },
        usage: answer.get("usage").and_then(usage),
    })
}

/// Parses the usage. Tokens read from or written to a cache are counted separately from the other input.
fn usage(usage: Json<'_>) -> Option<Usage> {
    let cached = ["cache_creation_input_tokens", "cache_read_input_tokens"].map(|key| tokens(usage, key).unwrap_or(0));
    let rest = usage_with(usage, "thinking_tokens")?;
    Some(Usage { input: rest.input + cached.iter().sum::<u64>(), ..rest })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::providers::tests::{endpoint, request};

    #[test]
    fn requests() {
        assert_eq!(
            endpoint("anthropic", "m").request(&Request { system: Some("s"), ..request("p") }).to_string(),
            r#"{"model":"m","messages":[{"role":"user","content":"p"}],"system":"s","max_tokens":9}"#
        );
        assert_eq!(endpoint("anthropic", "m").headers()["anthropic-version"], "2023-06-01");
    }

    #[test]
    fn answers() {
        let response = |body: &str| endpoint("anthropic", "m").response(body);
        let whole = response(
            r#"{"content":[{"type":"thinking","thinking":"t"},{"type":"text","text":"a"},{"type":"text","text":"b"}],
                "stop_reason":"end_turn","usage":{"input_tokens":3,"cache_read_input_tokens":5,"output_tokens":4,
                "output_tokens_details":{"thinking_tokens":1}}}"#,
        );
        let usage = Some(Usage { input: 8, output: 4, reasoning: 1, cost: None });
        assert_eq!(whole, Ok(Reply { text: "ab".to_owned(), stop: Stop::Done, usage }));
        for (why, stop) in [("max_tokens", Stop::Length), ("refusal", Stop::Refused), ("stop_sequence", Stop::Done)] {
            let body = format!(r#"{{"content":[],"stop_reason":"{why}"}}"#);
            assert_eq!(response(&body).map(|reply| reply.stop), Ok(stop), "{why}");
        }
        assert_eq!(response(r#"{"type":"error"}"#), Err("the answer is not a message".to_owned()));
    }
}
