//! Parameters of ours that a server refuses, learned from its error responses.
//!
//! No table knows every model: deployments have custom names, and gateways accept their own parameters. So when a server
//! refuses a parameter that tcompact chose, this request is sent again without it, and later ones are too. Only the limit
//! of the answer is tried under its other name, or without room for reasoning, since a request needs a limit.

use std::collections::HashMap;
use std::sync::Mutex;

use serde_json::{Map, Value};

use crate::llm::body::{Change, get};
use crate::llm::error_response::contains_any;
use crate::llm::providers::Endpoint;
use crate::summary::exchange::Request;
use crate::sync::lock;

/// The most changes of one request.
pub(crate) const MOST_CHANGES: usize = 3;

/// The names of the limit. A model accepts one of them.
const LIMITS: [&str; 2] = ["max_tokens", "max_completion_tokens"];

/// The parameters that tcompact chooses, as paths with dots, and the words that name each in an error.
#[rustfmt::skip]
const OPTIONAL: [(&str, &[&str]); 11] = [
    ("max_completion_tokens", &["max_completion_tokens"]),
    ("max_tokens", &["max_tokens"]),
    ("max_output_tokens", &["max_output_tokens"]),
    ("reasoning_effort", &["reasoning_effort", "reasoningeffort", "reasoning.effort", "reasoning"]),
    ("reasoning", &["reasoning", "reasoning_effort", "reasoningeffort"]),
    ("thinking", &["thinking"]),
    ("output_config", &["output_config", "effort"]),
    ("generationConfig.thinkingConfig", &[
        "thinkingconfig", "thinking_config", "thinkinglevel", "thinking_level", "thinkingbudget", "thinking_budget",
        "thinking", "budget",
    ]),
    ("enable_thinking", &["enable_thinking", "thinking"]),
    ("think", &["think", "thinking"]),
    ("store", &["store"]),
];

/// Parts of the words with which servers refuse a parameter, its value, or its type.
#[rustfmt::skip]
const REFUSED: [&str; 19] = [
    "support", "unknown", "recogni", "permitted", "forbidden", "allowed", "accept", "available", "enabled", "disabled",
    "deprecated", "expected", "invalid", "mandatory", "restricted", "must be", "should be", "cannot unmarshal", "match any",
];
/// Words for a limit that is larger than the model's.
const TOO_LARGE: [&str; 7] =
    ["too large", "maximum allowed", "valid range", "less than or equal", "at most", "out of range", "supported range"];

/// A parameter of a request that a server refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ParameterRefusal {
    /// The member of the body, as a path with dots.
    pub(super) path: &'static str,
    /// Whether it is a limit that is larger than the server allows.
    pub(super) is_too_large: bool,
}

impl ParameterRefusal {
    /// The parameter of the request `sent` that the body of an error with status 400 or 422 refuses. Of several, it is
    /// one that the user did not set in `given`, and the first that the error names.
    pub(super) fn in_error(body: &str, sent: &Value, given: &Map<String, Value>) -> Option<Self> {
        let mut texts = Vec::new();
        match serde_json::from_str(body) {
            Ok(error) => collect_texts(&error, &mut texts),
            Err(_) => texts.push(body.to_owned()),
        }
        let text = texts.join("\n").to_lowercase();
        // A message names the refused parameter first, and its alternative after it.
        let mut named = Vec::new();
        for (path, words) in OPTIONAL {
            let Some(value) = get(sent, path) else { continue };
            if let Some(at) = first_place(&text, words, value) {
                named.push((is_given(path, given), at, path));
            }
        }
        let (_, _, path) = named.into_iter().min()?;
        let is_too_large = path.starts_with("max_") && contains_any(&text, &TOO_LARGE);
        if !is_too_large && !contains_any(&text, &REFUSED) {
            return None;
        }
        Some(ParameterRefusal { path, is_too_large })
    }

    /// The change of the body `sent` that this refusal asks for.
    fn change(self, sent: &Value) -> Change {
        let refused = self.path;
        if self.is_too_large {
            return Change::WithLess(refused);
        }
        if LIMITS.contains(&refused) {
            for instead in LIMITS {
                // Where both limits were sent, the other one is enough.
                if instead != refused && get(sent, instead).is_none() {
                    return Change::Renamed { refused, instead };
                }
            }
        }
        Change::Without(refused)
    }
}

/// The first place in an error where a parameter is named by one of its words, or by the value that was sent.
fn first_place(text: &str, words: &[&str], sent: &Value) -> Option<usize> {
    let mut first: Option<usize> = None;
    for word in words.iter().copied().chain(quoted_value(sent).iter().map(String::as_str)) {
        if let Some(at) = find(text, word) {
            first = Some(first.map_or(at, |known| known.min(at)));
        }
    }
    first
}

/// Collects the texts of an error, in order, except the input that it repeats. A gateway puts the whole error of the
/// server behind it into a text.
fn collect_texts(error: &Value, texts: &mut Vec<String>) {
    match error {
        Value::String(text) => match serde_json::from_str(text) {
            Ok(inner @ Value::Object(_)) => collect_texts(&inner, texts),
            _ => texts.push(text.clone()),
        },
        Value::Array(items) => {
            for item in items {
                collect_texts(item, texts);
            }
        }
        Value::Object(members) => {
            for (key, value) in members {
                if key != "input" {
                    collect_texts(value, texts);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The text that was sent in a parameter, or in its only member, in all quotes. An error can quote it and not name the
/// parameter.
fn quoted_value(sent: &Value) -> Vec<String> {
    let value = match sent {
        Value::Object(members) => members.values().next(),
        sent => Some(sent),
    };
    match value.and_then(Value::as_str) {
        Some(text) => vec![format!("'{text}'"), format!("\"{text}\""), format!("`{text}`")],
        None => Vec::new(),
    }
}

/// The position of a whole word.
fn find(text: &str, word: &str) -> Option<usize> {
    for (at, _) in text.match_indices(word) {
        if !text[..at].ends_with(is_of_word) && !text[at + word.len()..].starts_with(is_of_word) {
            return Some(at);
        }
    }
    None
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether the user set a parameter with `--request-json`.
pub(super) fn is_given(path: &str, given: &Map<String, Value>) -> bool {
    match path.split_once('.') {
        Some((first, rest)) => given.get(first).is_some_and(|value| get(value, rest).is_some()),
        None => given.contains_key(path),
    }
}

/// The outcome of a refusal.
#[derive(Debug)]
pub(super) enum Adaptation {
    /// Requests are changed from now on.
    New(Change),
    /// Another thread learned it meanwhile.
    Known,
    /// No change would help.
    Nothing,
}

/// The changes learned during a run, by address and model.
#[derive(Debug, Default)]
pub(crate) struct Adaptations {
    changes: Mutex<HashMap<(String, String), Vec<Change>>>,
}

impl Adaptations {
    /// The changes for requests to an endpoint.
    pub(crate) fn of(&self, endpoint: &Endpoint) -> Vec<Change> {
        let changes = lock(&self.changes);
        changes.get(&key(endpoint)).cloned().unwrap_or_default()
    }

    /// Learns from a refusal of the body `sent` for a request, which had the changes `known`.
    pub(super) fn learn(
        &self,
        endpoint: &Endpoint,
        request: &Request,
        refusal: ParameterRefusal,
        sent: &Value,
        known: &[Change],
    ) -> Adaptation {
        let mut changes = lock(&self.changes);
        let now = changes.entry(key(endpoint)).or_default();
        if are_about(now.get(known.len()..).unwrap_or_default(), refusal.path) {
            return Adaptation::Known;
        }
        let change = refusal.change(sent);
        // A server that accepts neither of two names accepts none.
        let is_back = matches!(change, Change::Renamed { instead, .. } if are_about(now, instead));
        let mut changed = sent.clone();
        change.apply(&mut changed, request);
        if is_back || are_about(now, refusal.path) || changed == *sent {
            return Adaptation::Nothing;
        }
        now.push(change);
        Adaptation::New(change)
    }
}

/// Whether one of some changes is about a parameter.
fn are_about(changes: &[Change], path: &str) -> bool {
    changes.iter().any(|change| change.refused() == path)
}

fn key(endpoint: &Endpoint) -> (String, String) {
    (endpoint.base_url.clone(), endpoint.model.clone())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::llm::providers::PROVIDERS;
    use crate::llm::providers::tests::{endpoint, request};

    const EFFORTS: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

    /// The parameters that a server accepts.
    #[derive(Debug, Clone)]
    struct Taste {
        limit: &'static str,
        /// The efforts that it accepts, as bits; none where it does not know the parameter.
        efforts: u8,
        /// Whether it knows the parameter that switches reasoning off.
        knows_off: bool,
        /// Whether reasoning can be switched off.
        lets_off: bool,
        store: bool,
    }

    /// The first complaint of a server: a parameter, a message and a code.
    fn wrong(taste: &Taste, sent: &Value) -> Option<(&'static str, String, &'static str)> {
        const UNKNOWN: &str = "unsupported_parameter";
        let not_supported = |name: &str| format!("Unsupported parameter: '{name}' is not supported with this model.");
        for limit in ["max_tokens", "max_completion_tokens"] {
            if limit != taste.limit && sent.get(limit).is_some() {
                let hint = format!("{} Use '{}' instead.", not_supported(limit), taste.limit);
                return Some((limit, hint, UNKNOWN));
            }
        }
        for (path, root) in [
            ("reasoning_effort", "reasoning_effort"),
            ("reasoning.effort", "reasoning"),
            ("output_config.effort", "output_config"),
        ] {
            let Some(effort) = get(sent, path).and_then(Value::as_str) else { continue };
            let takes: Vec<&str> = (0..7).filter(|bit| taste.efforts & 1 << bit != 0).map(|bit| EFFORTS[bit]).collect();
            if takes.is_empty() {
                return Some((root, not_supported(path), UNKNOWN));
            }
            if !takes.contains(&effort) {
                let list = takes.iter().map(|effort| format!("'{effort}'")).collect::<Vec<_>>().join(", ");
                let words = format!(
                    "Unsupported value: '{path}' does not support '{effort}' with this model. Supported values are: {list}."
                );
                return Some((root, words, "unsupported_value"));
            }
        }
        for (path, name) in [
            ("thinking", "thinking.type.disabled"),
            ("reasoning.enabled", "reasoning"),
            ("enable_thinking", "enable_thinking"),
        ] {
            if get(sent, path).is_some() && !taste.knows_off {
                return Some((name, not_supported(name).replace(".type.disabled", ""), UNKNOWN));
            }
            if get(sent, path).is_some() && !taste.lets_off {
                return Some((name, format!("{name} is mandatory for this endpoint and cannot be disabled."), ""));
            }
        }
        (sent.get("store").is_some() && !taste.store).then(|| ("store", "Unknown parameter: 'store'".to_owned(), ""))
    }

    /// A complaint in all forms in which servers and gateways write errors.
    fn bodies(name: &str, message: &str, code: &str) -> Vec<String> {
        vec![
            json!({"error": {"message": message, "type": "invalid_request_error", "param": name, "code": code}}),
            json!({"error": {"message": message, "type": "invalid_request_error", "param": null, "code": null}}),
            json!({"error": message}),
            json!({"message": message, "code": "InvalidParameter", "request_id": "r"}),
            json!({"type": "error", "error": {"type": "invalid_request_error", "message": message}}),
            json!({"detail": [{"type": "extra_forbidden", "loc": ["body", name], "msg": message, "input": "max_tokens thinking"}]}),
            json!({"object": "error", "type": "invalid_request_error", "param": null, "message":
                {"detail": [{"type": "extra_forbidden", "loc": ["body", name], "msg": message, "input": "max_tokens"}]}}),
            json!([{"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}]),
            json!({"error": {"code": 400, "message": "Provider returned error",
                "metadata": {"raw": json!({"error": {"message": message, "param": name}}).to_string()}}}),
        ]
        .into_iter()
        .map(|body| body.to_string())
        .chain([message.to_owned()])
        .collect()
    }

    fn tastes() -> impl Iterator<Item = Taste> {
        let efforts = [0, 0b1, 0b110, 0b11100, 0b1_0000];
        ["max_tokens", "max_completion_tokens"].into_iter().flat_map(move |limit| {
            efforts.into_iter().flat_map(move |efforts| {
                (0..8).map(move |bits| Taste {
                    limit,
                    efforts,
                    knows_off: bits & 1 != 0,
                    lets_off: bits & 2 != 0,
                    store: bits & 4 != 0,
                })
            })
        })
    }

    /// For every set of accepted parameters and every form of complaint, the server gets a request that it accepts
    /// after at most as many requests as there are parameters.
    #[test]
    fn every_taste_is_learned() {
        const MODELS: [&str; 5] = ["my-deployment", "gpt-5.5", "claude-opus-5", "deepseek-v4-pro", "qwen3.5-plus"];
        let mut cases = 0;
        for provider in PROVIDERS.iter().filter(|provider| !["google", "ollama"].contains(&provider.name)) {
            for (model, taste) in MODELS.iter().flat_map(|model| tastes().map(move |taste| (model, taste))) {
                cases += 1;
                let style = cases % 10;
                let (endpoint, learned) = (endpoint(provider.name, model), Adaptations::default());
                let mut requests = 1;
                let (sent, known) = loop {
                    let known = learned.of(&endpoint);
                    let sent = endpoint.request_with(&request("p"), &known);
                    let Some((name, message, code)) = wrong(&taste, &sent) else { break (sent, known) };
                    let body = &bodies(name, &message, code)[style];
                    let what = ParameterRefusal::in_error(body, &sent, &endpoint.request_json)
                        .unwrap_or_else(|| panic!("{taste:?} {sent} {body}"));
                    if matches!(learned.learn(&endpoint, &request("p"), what, &sent, &known), Adaptation::Nothing) {
                        break (sent, known);
                    }
                    requests += 1;
                    assert!(requests <= 1 + MOST_CHANGES, "{taste:?} {sent} {body}");
                };
                assert!(wrong(&taste, &sent).is_none(), "{} {model} {taste:?} {sent} {known:?}", provider.name);
            }
        }
        assert!(cases >= 4_000, "{cases}");
    }

    /// The parameter that a server refuses with these words, after a request for a model.
    fn refused(model: &str, words: &Value) -> Option<&'static str> {
        let (provider, model) = model.split_once(':').expect("a provider and a model");
        let sent = endpoint(provider, model).request(&request("p"));
        ParameterRefusal::in_error(&words.to_string(), &sent, &Map::new()).map(|refusal| refusal.path)
    }

    #[test]
    fn refusals_in_everybodys_words() {
        let (effort, thinking) = ("reasoning_effort", "generationConfig.thinkingConfig");
        for (model, words, path) in [
            // A value without its parameter.
            (
                "openai-responses:gpt-5.5-pro",
                "'medium' is not supported with the 'x' model. Supported values are: 'high'.",
                "reasoning",
            ),
            (
                "anthropic:claude-opus-6",
                "\"low\" is no effort of this model; it must be one of \"medium\", \"high\"",
                "output_config",
            ),
            // The message repeats the sent value behind the accepted ones.
            (
                "openai:o3",
                "[{'loc': ('body', 'reasoning_effort'), 'msg': \"Input should be 'medium' or 'high'\", 'input': 'low'}]",
                effort,
            ),
            ("openai:gpt-5", "The parameter reasoning_effort is not recognized", effort),
            ("openai:gpt-5", "Invalid parameter: reasoning_effort", effort),
            ("openai:gpt-5", "reasoning_effort is not available for this model", effort),
            ("openai:gpt-5", "Additional properties are not allowed ('reasoning_effort' was unexpected)", effort),
            ("openai:gpt-5", "reasoning_effort must be at most the max of the model", effort),
            ("openai:gpt-6", "max_completion_tokens is deprecated; use max_tokens instead", "max_completion_tokens"),
            (
                "groq:x",
                "'max_completion_tokens' is not available for this model. Use 'max_tokens'.",
                "max_completion_tokens",
            ),
            ("google:gemini-3.6-flash", "Thinking is not enabled for models/gemini-3.6-flash", thinking),
            ("google:gemini-2.5-flash", "Budget 0 is invalid. This model only works in thinking mode.", thinking),
            (
                "dashscope:qwen3.7-max",
                "The value of the enable_thinking parameter is restricted to True.",
                "enable_thinking",
            ),
            ("ollama:qwen3", "invalid think value: false (must be \"high\", \"medium\" or \"low\")", "think"),
            (
                "ollama:gpt-oss:20b",
                "json: cannot unmarshal string into Go struct field ChatRequest.think of type bool",
                "think",
            ),
        ] {
            for body in [
                json!({"error": {"message": words}}),
                json!({"message": {"detail": [{"msg": words}]}}),
                json!([{"error": {"message": words}}]),
                json!({"error": words}),
            ] {
                assert_eq!(refused(model, &body), Some(path), "{body}");
            }
        }
        for words in [
            "Bad request",
            "Your organization must be verified",
            "The prompt must be one of the supported values",
            "low on memory",
        ] {
            for model in ["openai:o3", "anthropic:claude-opus-6", "google:gemini-3.6-flash", "ollama:gpt-oss:20b"] {
                assert_eq!(refused(model, &json!({"error": {"message": words}})), None, "{words}");
            }
        }
    }

    #[test]
    fn of_two_parameters_it_is_the_one_that_the_user_has_not_given() {
        let body = "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.";
        let sent =
            json!({"max_tokens": 1, "max_completion_tokens": 2, "reasoning": {"effort": "low", "exclude": true}});
        let path = |body: &str, given: Value| {
            ParameterRefusal::in_error(body, &sent, given.as_object().expect("an object")).map(|refusal| refusal.path)
        };
        assert_eq!(path(body, json!({})), Some("max_tokens"));
        assert_eq!(path(body, json!({"max_tokens": 1})), Some("max_completion_tokens"));
        assert_eq!(path(body, json!({"max_completion_tokens": 2})), Some("max_tokens"));
        assert_eq!(path("Unknown parameter: reasoning", json!({"reasoning": {"exclude": true}})), Some("reasoning"));
    }
}
