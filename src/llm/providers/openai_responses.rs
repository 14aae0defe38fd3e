//! OpenAI's Responses API: `POST {base}/responses`.

use serde_json::{Value, json};

use crate::llm::providers::{Api, Endpoint, items, string, usage_with};
use crate::summary::exchange::{Reply, Request, Stop};
use crate::transcript::json::{Json, JsonKind};

pub(super) const API: Api = Api::with_bearer(|_| "/responses".to_owned(), request, response);

fn request(endpoint: &Endpoint, request: &Request) -> Value {
    // By default, the API stores answers. No one would request them again.
    let mut body = json!({"model": endpoint.model, "input": request.prompt, "store": false});
    if let Some(system) = request.system {
        body["instructions"] = json!(system);
    }
    body
}

fn response(answer: Json<'_>) -> Result<Reply, String> {
    if answer.get("output").is_none_or(|output| output.kind() != JsonKind::Array) {
        return Err("the answer is not a response".to_owned());
    }
    let mut text = String::new();
    let mut refused = false;
    for message in items(answer, "output").filter(|item| item.member_is("type", "message")) {
        for part in items(message, "content") {
            refused |= part.member_is("type", "refusal");
            if let Some(text_of_part) = part.get_text("text") {
                text.push_str(&text_of_part.decode());
            }
        }
    }
    let status = string(answer, "status").unwrap_or_default();
    if matches!(status.as_str(), "failed" | "cancelled" | "queued" | "in_progress") {
        return Err(format!("the response is {}", status.replace('_', " ")));
    }
    let reason = answer.get("incomplete_details").and_then(|details| string(details, "reason")).unwrap_or_default();
    Ok(Reply {
        text,
        stop: match (status.as_str(), reason.as_str()) {
            ("incomplete", "content_filter") => Stop::Refused,
            ("incomplete", _) => Stop::Length,
            _ if refused => Stop::Refused,
            _ => Stop::Done,
        },
        usage: answer.get("usage").and_then(|usage| usage_with(usage, "reasoning_tokens")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::providers::tests::{endpoint, request};
    use crate::summary::exchange::Usage;

    #[test]
    fn requests() {
        assert_eq!(
            endpoint("openai-responses", "m").request(&Request { system: Some("s"), ..request("p") }).to_string(),
            r#"{"model":"m","input":"p","store":false,"instructions":"s","max_output_tokens":9}"#
        );
        assert_eq!(endpoint("openai-responses", "o3").request(&request("p"))["reasoning"], json!({"effort": "low"}));
    }

    #[test]
    fn answers() {
        let response = |body: &str| endpoint("openai-responses", "m").response(body);
        let whole = response(
            r#"{"status":"completed","output":[{"type":"reasoning","summary":[]},{"type":"message","content":
                [{"type":"output_text","text":"a"},{"type":"output_text","text":"b"}]}],
                "usage":{"input_tokens":3,"output_tokens":4,"output_tokens_details":{"reasoning_tokens":1}}}"#,
        );
        let usage = Some(Usage { input: 3, output: 4, reasoning: 1, cost: None });
        assert_eq!(whole, Ok(Reply { text: "ab".to_owned(), stop: Stop::Done, usage }));
        let stop = |body: &str| response(body).map(|reply| reply.stop);
        let incomplete = |why: &str| {
            stop(&format!(r#"{{"status":"incomplete","incomplete_details":{{"reason":"{why}"}},"output":[]}}"#))
        };
        assert_eq!(incomplete("max_output_tokens"), Ok(Stop::Length));
        assert_eq!(incomplete("content_filter"), Ok(Stop::Refused));
        let refusal = r#"{"output":[{"type":"message","content":[{"type":"refusal","refusal":"No."}]}]}"#;
        assert_eq!(stop(refusal), Ok(Stop::Refused));
        assert_eq!(stop(r#"{"status":"failed","output":[]}"#), Err("the response is failed".to_owned()));
    }
}
