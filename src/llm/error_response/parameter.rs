//! Which parameter of a request a server rejects, and what it accepts instead.

use serde_json::{Map, Value};

use crate::llm::body::{get, parsed};
use crate::llm::error_response::contains_any;
use crate::llm::providers::string;
use crate::transcript::json::{Json, Kind};

/// A parameter of which a server complains: it was sent, or it is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::llm) struct RejectedParameter {
    /// The member of the body, as a path with dots.
    pub(in crate::llm) path: &'static str,
    /// What is wrong with it.
    pub(in crate::llm) what: Rejection,
}

/// What is wrong with a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::llm) enum Rejection {
    /// The server does not accept it.
    Unknown,
    /// The server does not accept its value.
    Value,
    /// It accepts other values, of which this is the least effort.
    Offered(&'static str),
    /// The model cannot switch its reasoning off.
    MustThink,
    /// The number is larger than the server allows.
    TooLarge,
    /// It must be `false`, and was not sent.
    MustBeFalse,
}

/// The parameters that a request can omit or change, and the words that name them.
const PARAMETERS: [(&str, &[&str]); 11] = [
    ("max_completion_tokens", &["max_completion_tokens"]),
    ("max_tokens", &["max_tokens"]),
    ("max_output_tokens", &["max_output_tokens"]),
    ("reasoning_effort", &["reasoning_effort", "reasoningeffort", "reasoning.effort", "reasoning effort", "reasoning"]),
    ("reasoning", &["reasoning", "reasoning_effort", "reasoningeffort"]),
    ("thinking", &["thinking"]),
    ("output_config", &["output_config", "effort"]),
    (
        "generationConfig.thinkingConfig",
        &[
            "thinkingconfig",
            "thinking_config",
            "thinkinglevel",
            "thinking_level",
            "thinkingbudget",
            "thinking_budget",
            "thinking",
            "budget",
        ],
    ),
    ("enable_thinking", &["enable_thinking", "thinking"]),
    ("think", &["think", "thinking"]),
    ("store", &["store"]),
];

/// The efforts, from the least to the greatest.
const EFFORTS: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

const REFUSED: [&str; 31] = [
    "unsupported",
    "not supported",
    "does not support",
    "doesn't support",
    "unknown parameter",
    "unknown name",
    "unknown field",
    "unknown argument",
    "unknown_parameter",
    "unrecognized",
    "unrecognised",
    "not recognized",
    "not recognised",
    "not permitted",
    "extra_forbidden",
    "not allowed",
    "not accepted",
    "does not accept",
    "not available",
    "not enabled",
    "deprecated",
    "unexpected",
    "invalid value",
    "invalid parameter",
    "invalid_parameter",
    "invalid argument",
    "invalid reasoning",
    "invalid thinking",
    "invalid think",
    "cannot unmarshal", // Ollama, of a type that it did not expect
    "does not match any",
];
const MUST_THINK: [&str; 6] = [
    "cannot be disabled",
    "can't be disabled",
    "only works in thinking mode",
    "mandatory",
    "restricted to true", // DashScope
    "must be set to true",
];
const TOO_LARGE: [&str; 7] =
    ["too large", "maximum allowed", "valid range", "less than or equal", "at most", "out of range", "supported range"];
/// The words before the values that a server accepts.
const OFFERS: [&str; 9] = [
    "supported values",
    "should be",
    "must be",
    "one of",
    "allowed values",
    "valid values",
    "accepted values",
    "expected",
    "choose from",
];

/// Returns the parameter of the request `sent` that the body of an error with status 400 or 422 concerns. Of several,
/// it prefers one that the user did not set in `given`.
pub(in crate::llm) fn rejected_parameter(
    body: &str,
    sent: &Value,
    given: &Map<String, Value>,
) -> Option<RejectedParameter> {
    let text = words(body).to_lowercase();
    if text.contains("must be set to false") {
        let path = "enable_thinking";
        let is_missing = find(&text, path).is_some() && get(sent, path).is_none();
        return is_missing.then_some(RejectedParameter { path, what: Rejection::MustBeFalse });
    }
    let named = PARAMETERS.iter().filter(|(path, _)| get(sent, path).is_some()).filter_map(|(path, words)| {
        let first = words.iter().filter_map(|word| find(&text, word)).min()?;
        Some((first, *path))
    });
    // A message names the rejected parameter first, and its alternative after it.
    let named = named.min_by_key(|(first, path)| (is_given(path, given), *first));
    let (at, path) = named.or_else(|| effort_named_by_value(&text, sent))?;
    let is_limit = path.starts_with("max_");
    let what = if contains_any(&text, &MUST_THINK) || text.contains("thinking.type.disabled") {
        Rejection::MustThink
    } else if is_limit && contains_any(&text, &TOO_LARGE) {
        Rejection::TooLarge
    } else if is_limit {
        contains_any(&text, &REFUSED).then_some(Rejection::Unknown)?
    } else if let Some(effort) = offered(&text[at..], value(sent, path)) {
        Rejection::Offered(effort)
    } else if !contains_any(&text, &REFUSED) && !contains_any(&text, &OFFERS) {
        return None;
    } else if value(sent, path).is_some_and(|value| find(&text, value).is_some()) {
        Rejection::Value
    } else {
        Rejection::Unknown
    };
    Some(RejectedParameter { path, what })
}

/// Returns the text that was sent in a parameter, or in its only member.
fn value<'v>(sent: &'v Value, path: &str) -> Option<&'v str> {
    let value = get(sent, path)?;
    value.as_str().or_else(|| value.as_object()?.values().next()?.as_str())
}

/// Whether the user set a parameter with `--request-json`.
pub(in crate::llm) fn is_given(path: &str, given: &Map<String, Value>) -> bool {
    let mut keys = path.split('.');
    let first = keys.next().and_then(|key| given.get(key));
    first.is_some_and(|first| keys.try_fold(first, |value, key| value.get(key)).is_some())
}

/// Returns the parameter with the effort that was sent, where a text quotes its value and lists others, but does not
/// name the parameter.
fn effort_named_by_value(text: &str, sent: &Value) -> Option<(usize, &'static str)> {
    ["reasoning_effort", "reasoning", "output_config"].into_iter().find_map(|path| {
        let value = value(sent, path)?;
        let at = ["'", "\"", "`"].iter().filter_map(|quote| text.find(&format!("{quote}{value}{quote}"))).min()?;
        offered(&text[at..], Some(value))?;
        Some((at, path))
    })
}

/// Returns the least effort that a text lists, except the one that was `sent`.
fn offered(text: &str, sent: Option<&str>) -> Option<&'static str> {
    let (at, offer) = OFFERS.iter().filter_map(|offer| Some((text.find(offer)?, offer))).min()?;
    let list = &text[at + offer.len()..];
    let listed: Vec<_> = EFFORTS.into_iter().filter_map(|effort| Some((effort, find(list, effort)?))).collect();
    // A single effort can be a word of the sentence.
    let is_word = |at: usize| !list[..at].ends_with(['\'', '"', '`']);
    if matches!(listed[..], [(_, at)] if is_word(at)) {
        return None;
    }
    listed.into_iter().map(|(effort, _)| effort).find(|effort| sent != Some(effort))
}

/// Returns the position of a whole word.
fn find(text: &str, word: &str) -> Option<usize> {
    let inner = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let whole = |at: &usize| !inner(text[..*at].chars().next_back()) && !inner(text[at + word.len()..].chars().next());
    text.match_indices(word).map(|(at, _)| at).find(whole)
}

/// Returns the words of an error, without the parts of the request that it repeats: first the parameters that it names,
/// then its messages, then its codes.
fn words(body: &str) -> String {
    let answer = parsed(body);
    let mut parts = ErrorParts::default();
    match answer.as_ref().and_then(|answer| answer.first()) {
        Some(root) if matches!(root.kind(), Kind::Object | Kind::Array) => parts.collect(root, DEEPEST),
        _ => return body.to_owned(),
    }
    [parts.names, parts.messages, parts.codes].concat().join("\n")
}

/// The deepest nesting of parts of an error.
const DEEPEST: usize = 6;

/// The parts of an error that describe it.
#[derive(Default)]
struct ErrorParts {
    names: Vec<String>,
    messages: Vec<String>,
    codes: Vec<String>,
}

impl ErrorParts {
    fn collect(&mut self, json: Json<'_>, depth: usize) {
        if depth == 0 {
            return;
        }
        match json.kind() {
            Kind::Array => json.items().for_each(|item| self.collect(item, depth - 1)),
            Kind::Object => {
                self.names.extend(string(json, "param"));
                if let Some(place) = json.get("loc").filter(|place| place.kind() == Kind::Array) {
                    let parts = place.items().filter_map(|part| part.text());
                    let parts: Vec<String> = parts.map(|part| part.decode().into_owned()).collect();
                    self.names.push(parts.join("."));
                }
                for inner in ["message", "msg", "error", "detail", "errors"].iter().filter_map(|key| json.get(key)) {
                    self.collect(inner, depth - 1);
                }
                // A gateway puts the whole error of the server behind it here.
                let raw = json.get("metadata").and_then(|metadata| string(metadata, "raw"));
                self.messages.extend(raw.map(|raw| words(&raw)));
                self.codes.extend(["code", "type"].iter().filter_map(|key| string(json, key)));
            }
            _ => self.messages.extend(json.text().map(|text| text.decode().into_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::llm::providers::tests::{endpoint, request};

    /// Returns the parameter of which a server complains with these words, after a request for a model.
    fn complains(model: &str, words: &Value) -> Option<(&'static str, Rejection)> {
        let (provider, model) = model.split_once(':').expect("a provider and a model");
        let sent = endpoint(provider, model).request(&request("p"));
        let complaint = rejected_parameter(&words.to_string(), &sent, &Map::new())?;
        Some((complaint.path, complaint.what))
    }

    #[test]
    fn refusals_in_everybodys_words() {
        let (effort, thinking) = ("reasoning_effort", "generationConfig.thinkingConfig");
        for (model, words, path, what) in [
            // A value without its parameter.
            (
                "openai-responses:gpt-5.5-pro",
                "'medium' is not supported with the 'x' model. Supported values are: 'high'.",
                "reasoning",
                Rejection::Offered("high"),
            ),
            (
                "anthropic:claude-opus-6",
                "\"low\" is no effort of this model; it must be one of \"medium\", \"high\"",
                "output_config",
                Rejection::Offered("medium"),
            ),
            // The message repeats the sent value behind the accepted ones.
            (
                "openai:o3",
                "[{'loc': ('body', 'reasoning_effort'), 'msg': \"Input should be 'medium' or 'high'\", 'input': 'low'}]",
                effort,
                Rejection::Offered("medium"),
            ),
            ("openai:gpt-5", "The parameter reasoning_effort is not recognized", effort, Rejection::Unknown),
            ("openai:gpt-5", "Invalid parameter: reasoning_effort", effort, Rejection::Unknown),
            ("openai:gpt-5", "reasoning_effort is not available for this model", effort, Rejection::Unknown),
            (
                "openai:gpt-5",
                "Additional properties are not allowed ('reasoning_effort' was unexpected)",
                effort,
                Rejection::Unknown,
            ),
            ("openai:gpt-5", "reasoning_effort must be at most the max of the model", effort, Rejection::Unknown),
            (
                "openai:gpt-6",
                "max_completion_tokens is deprecated; use max_tokens instead",
                "max_completion_tokens",
                Rejection::Unknown,
            ),
            (
                "groq:x",
                "'max_completion_tokens' is not available for this model. Use 'max_tokens'.",
                "max_completion_tokens",
                Rejection::Unknown,
            ),
            (
                "google:gemini-3.6-flash",
                "Thinking is not enabled for models/gemini-3.6-flash",
                thinking,
                Rejection::Unknown,
            ),
            (
                "google:gemini-2.5-flash",
                "Budget 0 is invalid. This model only works in thinking mode.",
                thinking,
                Rejection::MustThink,
            ),
            (
                "dashscope:qwen3.7-max",
                "The value of the enable_thinking parameter is restricted to True.",
                "enable_thinking",
                Rejection::MustThink,
            ),
            (
                "ollama:qwen3",
                "invalid think value: false (must be \"high\", \"medium\" or \"low\")",
                "think",
                Rejection::Offered("low"),
            ),
            (
                "ollama:gpt-oss:20b",
                "json: cannot unmarshal string into Go struct field ChatRequest.think of type bool",
                "think",
                Rejection::Unknown,
            ),
        ] {
            let expected = Some((path, what));
            for body in [
                json!({"error": {"message": words}}),
                json!({"message": {"detail": [{"msg": words}]}}),
                json!([{"error": {"message": words}}]),
                json!({"error": words}),
            ] {
                assert_eq!(complains(model, &body), expected, "{body}");
            }
        }
        for words in [
            "Bad request",
            "Your organization must be verified",
            "The prompt must be one of the supported values",
            "low on memory",
        ] {
            for model in ["openai:o3", "anthropic:claude-opus-6", "google:gemini-3.6-flash", "ollama:gpt-oss:20b"] {
                assert_eq!(complains(model, &json!({"error": {"message": words}})), None, "{words}");
            }
        }
    }

    #[test]
    fn of_two_parameters_it_is_the_one_that_the_user_has_not_given() {
        let body = "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.";
        let sent =
            json!({"max_tokens": 1, "max_completion_tokens": 2, "reasoning": {"effort": "low", "exclude": true}});
        let path = |body: &str, given: Value| {
            rejected_parameter(body, &sent, given.as_object().expect("an object")).map(|complaint| complaint.path)
        };
        assert_eq!(path(body, json!({})), Some("max_tokens"));
        assert_eq!(path(body, json!({"max_tokens": 1})), Some("max_completion_tokens"));
        assert_eq!(path(body, json!({"max_completion_tokens": 2})), Some("max_tokens"));
        assert_eq!(path("Unknown parameter: reasoning", json!({"reasoning": {"exclude": true}})), Some("reasoning"));
    }
}
