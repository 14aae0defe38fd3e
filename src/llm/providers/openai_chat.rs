//! Chat Completions: `POST {base}/chat/completions`, of OpenAI and of compatible servers.

use serde_json::{Value, json};

use crate::llm::providers::{Api, Endpoint, messages, tokens};
use crate::summary::exchange::{Reply, Request, Stop, Usage};
use crate::transcript::json::{Json, JsonKind};

pub(super) const API: Api = Api::with_bearer(|_| "/chat/completions".to_owned(), request, response);

fn request(endpoint: &Endpoint, request: &Request) -> Value {
    json!({"model": endpoint.model, "messages": messages(request)})
}

fn response(answer: Json<'_>) -> Result<Reply, String> {
    let choices = answer.get("choices").filter(|choices| choices.kind() == JsonKind::Array);
    let choice = choices.ok_or("the answer is not a chat completion")?.items().next();
    let choice = choice.ok_or("the answer has no choices")?;
    if choice.get("error").is_some_and(|error| error.kind() == JsonKind::Object) {
        return Err("the provider failed".to_owned());
    }
    let message = choice.get("message").filter(|message| message.kind() == JsonKind::Object);
    let message = message.ok_or("the answer has no message")?;
    let refused = message.get_text("refusal").is_some_and(|text| !text.decode().is_empty());
    let stopped = choice.get_text("finish_reason").map(|why| why.decode()).unwrap_or_default();
    Ok(Reply {
        text: message.get("content").map(text).unwrap_or_default(),
        stop: match stopped.as_ref() {
            "length" | "max_tokens" | "model_length" => Stop::Length,
            "content_filter" => Stop::Refused,
            _ if refused => Stop::Refused,
            _ => Stop::Done,
        },
        usage: answer.get("usage").and_then(usage),
    })
}

/// The text of an answer. Most servers send a string, some a list of parts.
fn text(content: Json<'_>) -> String {
    if let Some(text) = content.text() {
        return text.decode().into_owned();
    }
    let mut texts = String::new();
    for part in content.items() {
        if let Some(text) = part.text().or_else(|| part.get_text("text")) {
            texts.push_str(&text.decode());
        }
    }
    texts
}

/// Parses the usage, where both numbers are there. `OpenRouter` also sends the cost.
fn usage(usage: Json<'_>) -> Option<Usage> {
    let details = usage.get("completion_tokens_details").and_then(|details| tokens(details, "reasoning_tokens"));
    let reasoning = details.or_else(|| tokens(usage, "reasoning_tokens")).unwrap_or(0);
    let (input, output) = (tokens(usage, "prompt_tokens")?, tokens(usage, "completion_tokens")?);
    // xAI counts the thoughts of some models separately from the answer, which the total shows.
    let is_beside = tokens(usage, "total_tokens").is_some_and(|total| total >= input + output + reasoning);
    Some(Usage {
        input,
        output: if is_beside { output + reasoning } else { output },
        reasoning,
        cost: usage.get("cost").and_then(|cost| cost.raw().parse().ok()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::providers::tests::{endpoint, request};

    #[test]
    fn a_request_has_one_user_message_and_a_length() {
        assert_eq!(
            endpoint("groq", "m").request(&request("p")).to_string(),
            r#"{"model":"m","messages":[{"role":"user","content":"p"}],"max_completion_tokens":9}"#
        );
        assert_eq!(
            endpoint("groq", "m").request(&Request { system: Some("s"), ..request("p") })["messages"].to_string(),
            r#"[{"role":"system","content":"s"},{"role":"user","content":"p"}]"#
        );
    }

    #[test]
    fn thoughts_that_are_counted_beside_the_answer() {
        let usage = |total: u64| {
            let body = format!(
                r#"{{"choices":[{{"message":{{"content":"s"}}}}],"usage":{{"prompt_tokens":3,"completion_tokens":4,
                "total_tokens":{total},"completion_tokens_details":{{"reasoning_tokens":2}}}}}}"#
            );
            endpoint("xai", "m").response(&body).expect("an answer").usage.map(|usage| (usage.output, usage.reasoning))
        };
        assert_eq!((usage(7), usage(9)), (Some((4, 2)), Some((6, 2))));
    }

    #[test]
    fn answers() {
        let response = |body: &str| endpoint("openai", "m").response(body);
        let whole = response(
            r#"{"id":"x","choices":[{"message":{"role":"assistant","content":"s"},"finish_reason":"stop"}],
                "usage":{"prompt_tokens":3.0,"completion_tokens":4,"total_tokens":7,"cost":0.5,
                "completion_tokens_details":{"reasoning_tokens":2}}}"#,
        );
        let usage = Some(Usage { input: 3, output: 4, reasoning: 2, cost: Some(0.5) });
        assert_eq!(whole, Ok(Reply { text: "s".to_owned(), stop: Stop::Done, usage }));
        let parts = response(
            r#"{"choices":[{"message":{"content":[{"type":"text","text":"a"},{"text":"b"},"c"]},"finish_reason":"length"}]}"#,
        );
        assert_eq!(parts, Ok(Reply { text: "abc".to_owned(), stop: Stop::Length, usage: None }));
        assert_eq!(response(r#"{"choices":[{"message":{"content":null}}]}"#), Ok(Reply::default()));
        let refused = response(r#"{"choices":[{"message":{"content":null,"refusal":"No."},"finish_reason":"stop"}]}"#);
        assert_eq!(refused.map(|reply| reply.stop), Ok(Stop::Refused));
        assert_eq!(response(r#"{"choices":[]}"#), Err("the answer has no choices".to_owned()));
        assert_eq!(response("[]"), Err("the answer is not a JSON object".to_owned()));
    }
}
