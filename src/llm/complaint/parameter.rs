//! Which parameter of a request a server refuses, and what it says that it would take instead.

use serde_json::Value;

use crate::llm::body::get;
use crate::llm::complaint::{contains_any, parsed};
use crate::transcript::json::{Json, Kind};

/// A parameter that was sent, or is missed, as a server complains of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::llm) struct Complaint {
    /// The member of the body, as a path with points.
    pub(in crate::llm) path: &'static str,
    /// What the server says of it.
    pub(in crate::llm) what: Wrong,
}

/// What is wrong with a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::llm) enum Wrong {
    /// The server does not take it.
    Unknown,
    /// The server does not take its value.
    Value,
    /// It takes others, of which this is the least effort.
    Offered(&'static str),
    /// The model must think.
    MustThink,
    /// The number is larger than the server allows.
    TooLarge,
    /// The server wants it to be `false`, and it was not sent.
    MustBeFalse,
}

/// The parameters that a request may do without or with another value, and the words that mean them.
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

/// Efforts, the least first.
const EFFORTS: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

const REFUSED: [&str; 14] = [
    "unsupported",
    "not supported",
    "does not support",
    "doesn't support",
    "unknown parameter",
    "unknown name",
    "unknown field",
    "unrecognized",
    "not permitted",
    "extra_forbidden",
    "not allowed",
    "not enabled for this model",
    "unknown_parameter",
    "invalid value",
];
const MUST_THINK: [&str; 4] = ["cannot be disabled", "can't be disabled", "only works in thinking mode", "mandatory"];
const TOO_LARGE: [&str; 7] =
    ["too large", "maximum allowed", "valid range", "less than or equal", "at most", "out of range", "supported range"];
/// What stands before the values that a server takes.
const OFFERS: [&str; 8] = [
    "supported values",
    "should be",
    "one of",
    "allowed values",
    "valid values",
    "accepted values",
    "expected",
    "choose from",
];

/// The parameter of `sent` that the body of an error with status 400 or 422 is about, if it is about one.
pub(in crate::llm) fn complaint(body: &str, sent: &Value) -> Option<Complaint> {
    let text = words(body).to_lowercase();
    if text.contains("must be set to false") {
        let path = "enable_thinking";
        let is_missed = find(&text, path).is_some() && get(sent, path).is_none();
        return is_missed.then_some(Complaint { path, what: Wrong::MustBeFalse });
    }
    let named = PARAMETERS.iter().filter(|(path, _)| get(sent, path).is_some()).filter_map(|(path, words)| {
        let first = words.iter().filter_map(|word| find(&text, word)).min()?;
        Some((first, *path))
    });
    // What the answer would rather have comes behind what it complains of.
    let (at, path) = named.min_by_key(|(first, _)| *first)?;
    let is_limit = path.starts_with("max_");
    let what = match () {
        () if contains_any(&text, &MUST_THINK) || text.contains("thinking.type.disabled") => Wrong::MustThink,
        () if is_limit && contains_any(&text, &TOO_LARGE) => Wrong::TooLarge,
        () if is_limit => contains_any(&text, &REFUSED).then_some(Wrong::Unknown)?,
        () => match offered(&text[at..]) {
            Some(offered) if value(sent, path) != Some(offered) => Wrong::Offered(offered),
            _ if !contains_any(&text, &REFUSED) && !contains_any(&text, &OFFERS) => return None,
            _ if value(sent, path).is_some_and(|value| find(&text, value).is_some()) => Wrong::Value,
            _ => Wrong::Unknown,
        },
    };
    Some(Complaint { path, what })
}

/// The text that is sent in a parameter, or in the only member that it has.
fn value<'v>(sent: &'v Value, path: &str) -> Option<&'v str> {
    let value = get(sent, path)?;
    value.as_str().or_else(|| value.as_object()?.values().next()?.as_str())
}

/// The least effort that a text lists.
fn offered(text: &str) -> Option<&'static str> {
    let (at, offer) = OFFERS.iter().filter_map(|offer| Some((text.find(offer)?, offer))).min()?;
    let list = &text[at + offer.len()..];
    EFFORTS.into_iter().find(|effort| find(list, effort).is_some())
}

/// Where a word stands as a whole.
fn find(text: &str, word: &str) -> Option<usize> {
    let inner = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let whole = |at: &usize| !inner(text[..*at].chars().next_back()) && !inner(text[at + word.len()..].chars().next());
    text.match_indices(word).map(|(at, _)| at).find(whole)
}

/// What an error says of itself and nothing that it repeats of the request: the parameters it names, then its messages,
/// then its codes.
fn words(body: &str) -> String {
    let answer = parsed(body);
    let Some(root) = answer.as_ref().and_then(|answer| answer.first()).filter(|root| root.kind() == Kind::Object)
    else {
        return body.to_owned();
    };
    let inner = ["error", "detail", "errors"].iter().filter_map(|key| root.get(key));
    let inner: Vec<Json<'_>> = inner
        .flat_map(|inner| if inner.kind() == Kind::Array { inner.items().collect() } else { vec![inner] })
        .collect();
    let all = || inner.iter().chain([&root]);
    let field =
        |key: &'static str| all().filter_map(move |json| json.get_text(key).map(|text| text.decode().into_owned()));
    let places = all().filter_map(|json| json.get("loc")).map(|place| {
        place
            .items()
            .filter_map(|part| part.text())
            .map(|part| part.decode().into_owned())
            .collect::<Vec<_>>()
            .join(".")
    });
    let plain = inner.iter().filter_map(|json| json.text().map(|text| text.decode().into_owned()));
    // What another server said, whole, of which this one is a gateway.
    let raw = inner.iter().filter_map(|json| json.get("metadata")?.get_text("raw").map(|text| words(&text.decode())));
    let names = field("param").chain(places);
    let messages = field("message").chain(field("msg")).chain(plain).chain(raw);
    names.chain(messages).chain(field("code")).chain(field("type")).collect::<Vec<_>>().join("\n")
}
