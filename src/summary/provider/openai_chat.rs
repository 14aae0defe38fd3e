//! Chat Completions: `POST {base}/chat/completions`.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::summary::{Reply, Usage};

/// What follows the base address.
pub(super) const PATH: &str = "/chat/completions";

pub(super) fn request(model: &str, prompt: &str, summary_tokens: u64, length_key: &str) -> Value {
    let mut body = json!({"model": model, "messages": [{"role": "user", "content": prompt}]});
    body[length_key] = json!(summary_tokens);
    body
}

#[derive(Deserialize)]
struct Completion {
    choices: Vec<Choice>,
    usage: Option<TokenUsage>,
}

#[derive(Deserialize)]
struct Choice {
    message: Message,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Message {
    content: Option<Content>,
}

/// Most servers answer with a string, some with a list of parts.
#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Deserialize)]
struct Part {
    text: Option<String>,
}

#[derive(Deserialize)]
struct TokenUsage {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
}

pub(super) fn response(body: &str) -> Result<Reply, String> {
    let completion: Completion =
        serde_json::from_str(body).map_err(|error| format!("the answer is no chat completion ({error})"))?;
    let choice = completion.choices.into_iter().next().ok_or("the answer has no choices")?;
    let text = match choice.message.content {
        None => String::new(),
        Some(Content::Text(text)) => text,
        Some(Content::Parts(parts)) => parts.into_iter().filter_map(|part| part.text).collect(),
    };
    Ok(Reply {
        text,
        cut_off: choice.finish_reason.as_deref() == Some("length"),
        usage: completion.usage.map(|usage| Usage { input: usage.prompt_tokens, output: usage.completion_tokens }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_one_user_message_and_a_length() {
        assert_eq!(
            request("m", "p", 9, "max_tokens").to_string(),
            r#"{"model":"m","messages":[{"role":"user","content":"p"}],"max_tokens":9}"#
        );
    }

    #[test]
    fn answers() {
        let usage = Some(Usage { input: Some(3), output: Some(4) });
        let whole = response(
            r#"{"id":"x","choices":[{"message":{"role":"assistant","content":"s"},"finish_reason":"stop"}],
                "usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}}"#,
        );
        assert_eq!(whole, Ok(Reply { text: "s".to_owned(), cut_off: false, usage }));
        let parts = response(
            r#"{"choices":[{"message":{"content":[{"type":"text","text":"a"},{"text":"b"}]},"finish_reason":"length"}]}"#,
        );
        assert_eq!(parts, Ok(Reply { text: "ab".to_owned(), cut_off: true, usage: None }));
        assert_eq!(
            response(r#"{"choices":[{"message":{"content":null}}]}"#).map(|reply| reply.text),
            Ok(String::new())
        );
        assert_eq!(response(r#"{"choices":[]}"#), Err("the answer has no choices".to_owned()));
        assert!(response("<html>").expect_err("no JSON").starts_with("the answer is no chat completion"));
    }
}
