//! Gemini: `POST {base}/models/{model}:generateContent`.

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde_json::{Value, json};

use crate::llm::providers::{Api, Endpoint, items, string, tokens};
use crate::summary::exchange::{Reply, Request, Stop, Usage};
use crate::transcript::json::Json;

pub(super) const API: Api = Api { path, key_header: "x-goog-api-key", key_prefix: "", headers: &[], request, response };

/// The characters that are escaped in a segment of an address.
const ESCAPED: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'#').add(b'%').add(b'/').add(b'?').add(b'\\');

/// The path for a model, which can also have the name under which the API lists it.
fn path(model: &str) -> String {
    let (folder, name) = match model.split_once('/') {
        Some((folder @ ("models" | "tunedModels"), name)) => (folder, name),
        _ => ("models", model),
    };
    format!("/{folder}/{}:generateContent", utf8_percent_encode(name, ESCAPED))
}

fn request(_: &Endpoint, request: &Request) -> Value {
    let mut body = json!({"contents": [{"role": "user", "parts": [{"text": request.prompt}]}]});
    if let Some(system) = request.system {
        body["systemInstruction"] = json!({"parts": [{"text": system}]});
    }
    body
}

fn response(answer: Json<'_>) -> Result<Reply, String> {
    let usage = answer.get("usageMetadata").and_then(usage);
    let blocked = answer.get("promptFeedback").is_some_and(|feedback| feedback.get_text("blockReason").is_some());
    if blocked {
        return Ok(Reply { stop: Stop::Refused, usage, ..Reply::default() });
    }
    let candidate = items(answer, "candidates").next().ok_or("the answer has no candidates")?;
    let parts = candidate.get("content").into_iter().flat_map(|content| items(content, "parts"));
    let answers = parts.filter(|part| part.get("thought").is_none_or(|thought| thought.raw() != "true"));
    Ok(Reply {
        text: answers.filter_map(|part| string(part, "text")).collect(),
        stop: match string(candidate, "finishReason").unwrap_or_default().as_str() {
            "" | "STOP" | "FINISH_REASON_UNSPECIFIED" | "OTHER" => Stop::Done,
            "MAX_TOKENS" => Stop::Length,
            // SAFETY, RECITATION, BLOCKLIST, PROHIBITED_CONTENT, SPII, LANGUAGE and any later reason.
            _ => Stop::Refused,
        },
        usage,
    })
}

/// Parses the usage. Thoughts are counted separately from the answer, and billed like it.
fn usage(usage: Json<'_>) -> Option<Usage> {
    let reasoning = tokens(usage, "thoughtsTokenCount").unwrap_or(0);
    Some(Usage {
        input: tokens(usage, "promptTokenCount")?,
        output: tokens(usage, "candidatesTokenCount").unwrap_or(0) + reasoning,
        reasoning,
        cost: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::providers::tests::{endpoint, request};

    #[test]
    fn requests() {
        assert_eq!(
            endpoint("google", "gemini-2.0-flash").request(&Request { system: Some("s"), ..request("p") }).to_string(),
            r#"{"contents":[{"role":"user","parts":[{"text":"p"}]}],"systemInstruction":{"parts":[{"text":"s"}]},"generationConfig":{"maxOutputTokens":9}}"#
        );
    }

    #[test]
    fn a_model_cannot_lead_to_another_place() {
        assert_eq!(path("models/gemini-2.5-pro"), "/models/gemini-2.5-pro:generateContent");
        assert_eq!(path("tunedModels/mine"), "/tunedModels/mine:generateContent");
        assert_eq!(path("../x?key=1#a"), "/models/..%2Fx%3Fkey=1%23a:generateContent");
    }

    #[test]
    fn answers() {
        let response = |body: &str| endpoint("google", "m").response(body);
        let whole = response(
            r#"{"candidates":[{"content":{"parts":[{"text":"t","thought":true},{"text":"a"},{"text":"b"}]},"finishReason":"STOP"}],
                "usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":4,"thoughtsTokenCount":2}}"#,
        );
        let usage = Some(Usage { input: 3, output: 6, reasoning: 2, cost: None });
        assert_eq!(whole, Ok(Reply { text: "ab".to_owned(), stop: Stop::Done, usage }));
        for (why, stop) in [("MAX_TOKENS", Stop::Length), ("SAFETY", Stop::Refused), ("RECITATION", Stop::Refused)] {
            let body = format!(r#"{{"candidates":[{{"finishReason":"{why}"}}]}}"#);
            assert_eq!(response(&body), Ok(Reply { stop, ..Reply::default() }), "{why}");
        }
        let blocked = response(r#"{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"}}"#);
        assert_eq!(blocked.map(|reply| reply.stop), Ok(Stop::Refused));
    }
}
