//! Chat Completions: `POST {base}/chat/completions`.

use serde_json::{Value, json};

use crate::summary::{Reply, Request, Usage};
use crate::transcript::json::{Json, Kind};
use crate::transcript::syntax;

/// What follows the base address.
pub(super) const PATH: &str = "/chat/completions";

pub(super) fn request(model: &str, request: &Request, summary_tokens: u64, length_key: &str) -> Value {
    let system = request.system.map(|text| json!({"role": "system", "content": text}));
    let messages: Vec<Value> = system.into_iter().chain([json!({"role": "user", "content": request.prompt})]).collect();
    let mut body = json!({"model": model, "messages": messages});
    body[length_key] = json!(summary_tokens);
    body
}

/// What an answer says. It is read leniently: a field that is odd and not needed makes no summary worse, and text may be
/// cut in the middle of an emoji here as well.
pub(super) fn response(body: &str) -> Result<Reply, String> {
    let body = body.trim_start_matches('\u{feff}');
    let answer = syntax::values(body, 0).ok().and_then(|values| values.first().copied());
    let choices = answer.and_then(|answer| answer.get("choices")).filter(|choices| choices.kind() == Kind::Array);
    let choices = choices.ok_or("the answer is no chat completion")?;
    let choice = choices.items().next().ok_or("the answer has no choices")?;
    let message = choice.get("message").filter(|message| message.kind() == Kind::Object);
    let content = message.ok_or("the answer has no message")?.get("content");
    let stopped = choice.get_text("finish_reason");
    Ok(Reply {
        text: content.map(text).unwrap_or_default(),
        cut_off: stopped.is_some_and(|why| why.is("length") || why.is("content_filter")),
        usage: answer.and_then(|answer| usage(answer.get("usage")?)),
    })
}

/// Most servers answer with a string, some with a list of parts.
fn text(content: Json<'_>) -> String {
    match content.text() {
        Some(text) => text.decode().into_owned(),
        None => content
            .items()
            .filter_map(|part| part.text().or_else(|| part.get_text("text")))
            .map(|text| text.decode())
            .collect(),
    }
}

/// What the provider counts, where it says both figures.
fn usage(usage: Json<'_>) -> Option<Usage> {
    let tokens = |key: &str| Some(usage.get(key)?.raw().parse::<f64>().ok()? as u64);
    Some(Usage { input: tokens("prompt_tokens")?, output: tokens("completion_tokens")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_one_user_message_and_a_length() {
        assert_eq!(
            request("m", &Request { system: None, prompt: "p".to_owned() }, 9, "max_tokens").to_string(),
            r#"{"model":"m","messages":[{"role":"user","content":"p"}],"max_tokens":9}"#
        );
        assert_eq!(
            request("m", &Request { system: Some("s"), prompt: "p".to_owned() }, 9, "max_tokens")["messages"]
                .to_string(),
            r#"[{"role":"system","content":"s"},{"role":"user","content":"p"}]"#
        );
    }

    #[test]
    fn answers() {
        let usage = Some(Usage { input: 3, output: 4 });
        let whole = response(
            r#"{"id":"x","choices":[{"message":{"role":"assistant","content":"s"},"finish_reason":"stop"}],
                "usage":{"prompt_tokens":3.0,"completion_tokens":4,"total_tokens":7}}"#,
        );
        assert_eq!(whole, Ok(Reply { text: "s".to_owned(), cut_off: false, usage }));
        let parts = response(
            r#"{"choices":[{"message":{"content":[{"type":"text","text":"a"},{"text":"b"},"c"]},"finish_reason":"length"}]}"#,
        );
        assert_eq!(parts, Ok(Reply { text: "abc".to_owned(), cut_off: true, usage: None }));
        assert_eq!(
            response(r#"{"choices":[{"message":{"content":null}}]}"#).map(|reply| reply.text),
            Ok(String::new())
        );
        assert_eq!(response(r#"{"choices":[]}"#), Err("the answer has no choices".to_owned()));
        assert!(response("<html>").expect_err("no JSON").starts_with("the answer is no chat completion"));
    }
}
