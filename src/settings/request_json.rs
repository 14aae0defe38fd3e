//! Which members of a request `--request-json` may change.

use serde_json::{Map, Value};

use crate::diagnostic::{Advice, Diagnostic};
use crate::exit::Failure;
use crate::redact::is_secret_name;

/// The members that tcompact sets in every request, and what to use instead.
const SET_BY_TCOMPACT: [(&str, &str); 5] = [
    ("messages", "--prompt-file FILE changes what is asked"),
    ("input", "--prompt-file FILE changes what is asked"),
    ("contents", "--prompt-file FILE changes what is asked"),
    ("model", "--model names the model"),
    ("stream", "answers are read whole"),
];

/// Names that hold a key here, and mean less elsewhere.
const KEYS: [&str; 2] = ["key", "bearer"];

/// Checks that a merge patch does not change tcompact's own members, and holds no key: config files and messages show
/// it.
///
/// # Errors
/// The first member that it must not have. The message shows no key.
pub(super) fn check_request_json(patch: &Map<String, Value>) -> Result<(), Failure> {
    let (name, what, next) = if let Some(name) = key_in(patch) {
        let what = "keys come from the environment";
        (name, what, Advice::command(["--api-key-env", "NAME"]).note("for the variable that holds the key"))
    } else if let Some((name, instead)) = patch.keys().find_map(|name| set_by_tcompact(name)) {
        let mut rest = patch.clone();
        rest.retain(|name, _| set_by_tcompact(name).is_none());
        let rest = if rest.is_empty() { r#"{"temperature": 0.2}"#.to_owned() } else { Value::Object(rest).to_string() };
        (name, instead, Advice::command(["--request-json", &rest]))
    } else {
        return Ok(());
    };
    let mut shown = Value::Object(patch.clone());
    hide(&mut shown);
    let shown = shown.to_string();
    let quoted_name = Value::from(name).to_string();
    let start = shown.find(&format!("{quoted_name}:")).unwrap_or(0);
    let diagnostic = Diagnostic::new(format!("{name} cannot be set here: {what}")).at(start..start + quoted_name.len());
    Err(Failure::usage(format!("--request-json: {diagnostic}"))
        .about("request-json")
        .showing(&shown, &diagnostic)
        .try_next(next))
}

/// The member of this name that tcompact sets, and what to use instead.
fn set_by_tcompact(name: &str) -> Option<(&'static str, &'static str)> {
    SET_BY_TCOMPACT.into_iter().find(|(set, _)| *set == name)
}

/// The first name at any depth that holds a key.
fn key_in(members: &Map<String, Value>) -> Option<&str> {
    for (name, value) in members {
        if holds_key(name) {
            return Some(name);
        }
        if let Some(below) = key_below(value) {
            return Some(below);
        }
    }
    None
}

fn key_below(value: &Value) -> Option<&str> {
    match value {
        Value::Object(members) => key_in(members),
        Value::Array(items) => items.iter().find_map(key_below),
        _ => None,
    }
}

fn holds_key(name: &str) -> bool {
    is_secret_name(name) || KEYS.iter().any(|key| key.eq_ignore_ascii_case(name))
}

/// Hides the keys in a value.
fn hide(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                if holds_key(name) { *value = Value::from("…") } else { hide(value) }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(hide),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refused(patch: &Value) -> Option<String> {
        let failure = check_request_json(patch.as_object().expect("an object")).err()?;
        Some([failure.to_string(), failure.shown().join("\n")].join("\n"))
    }

    #[test]
    fn keys_are_refused_wherever_they_stand_and_not_shown() {
        for name in [
            "api_key",
            "apiKey",
            "x-api-key",
            "x-goog-api-key",
            "Authorization",
            "proxy-authorization",
            "access_token",
            "password",
            "client_secret",
            "subscription-key",
            "session_token",
            "openai_key",
            "HF_TOKEN",
            "passwd",
            "key",
            "auth",
        ] {
            for patch in [json!({name: "sk-1"}), json!({"a": [{"b": {name: {"c": "sk-1"}}}], "temperature": 1})] {
                let message = refused(&patch).expect("refused");
                assert!(
                    !message.contains("sk-1") && message.contains(&format!("--request-json: {name} cannot")),
                    "{message}"
                );
                assert!(message.contains("^^^") && message.contains("--api-key-env"), "{message}");
            }
        }
    }

    #[test]
    fn what_is_asked_and_of_whom_is_not_set_here() {
        for (name, _) in SET_BY_TCOMPACT {
            for value in [json!(null), json!("sk"), json!([])] {
                let message = refused(&json!({"top_p": 1, name: value})).expect("refused");
                assert!(
                    message.contains(&format!("{name} cannot be set here")) && message.contains(r#"'{"top_p":1}'"#),
                    "{message}"
                );
            }
        }
    }

    #[test]
    fn parameters_are_taken() {
        let patch = json!({"temperature": 0.2, "max_tokens": 5, "prompt_cache_key": "k", "eos_token": "</s>", "reasoning": {"effort": "high"},
            "thinking": null, "metadata": {"model": "x", "messages": 2}, "chat_template_kwargs": {"enable_thinking": false}});
        assert_eq!(refused(&patch), None);
    }
}
