//! Changes of requests that a server needs, learned from its error responses.
//!
//! No table knows every model: deployments have custom names, and gateways accept their own parameters. So a request
//! that is rejected for one of our parameters is changed as the response asks, and sent again.

use std::collections::HashMap;
use std::sync::Mutex;

use serde_json::{Value, json};

use crate::llm::body::{get, put};
use crate::llm::change::{Change, Replacement};
use crate::llm::error_response::parameter::{RejectedParameter, Rejection};
use crate::llm::providers::Endpoint;
use crate::llm::providers::parameters::Parameters;
use crate::summary::exchange::Request;
use crate::sync::lock;

/// The most changes of one request.
pub(crate) const MOST_CHANGES: usize = 3;

/// Returns the change for a complaint.
fn change_for(complaint: RejectedParameter, sent: &Value, parameters: &Parameters) -> Change {
    const LIMITS: [&str; 2] = ["max_tokens", "max_completion_tokens"];
    let refused = complaint.path;
    let effort = |effort: &str| {
        let mut members = json!({});
        put(&mut members, parameters.effort, json!(effort));
        Replacement::Members(members)
    };
    let thinks_little = |value: &Value| matches!(value.as_str(), Some("none" | "minimal"));
    let instead = match complaint.what {
        Rejection::MustBeFalse => Replacement::Members(json!({refused: false})),
        Rejection::TooLarge => Replacement::NoThoughts,
        Rejection::Offered(least) => effort(least),
        Rejection::MustThink => Replacement::Members(serde_json::from_str(parameters.must_think).unwrap_or_default()),
        Rejection::Value if get(sent, parameters.effort).is_some_and(thinks_little) => effort("low"),
        Rejection::Value | Rejection::Unknown => match LIMITS.iter().position(|limit| *limit == refused) {
            // Where both limits were sent, the other one is enough.
            Some(limit) if get(sent, LIMITS[1 - limit]).is_none() => Replacement::Name(LIMITS[1 - limit]),
            _ => Replacement::Nothing,
        },
    };
    Change { refused, instead }
}

/// The outcome of a complaint.
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
    /// Returns the changes for requests to an endpoint.
    pub(crate) fn of(&self, endpoint: &Endpoint) -> Vec<Change> {
        let changes = lock(&self.changes);
        changes.get(&key(endpoint)).cloned().unwrap_or_default()
    }

    /// Learns from a complaint about the body `sent` for a request, which had the changes `known`.
    pub(super) fn learn(
        &self,
        endpoint: &Endpoint,
        request: &Request,
        complaint: RejectedParameter,
        sent: &Value,
        known: &[Change],
    ) -> Adaptation {
        let mut changes = lock(&self.changes);
        let now = changes.entry(key(endpoint)).or_default();
        let is_about_it = |change: &Change| change.refused == complaint.path;
        if now.iter().skip(known.len()).any(is_about_it) {
            return Adaptation::Known;
        }
        if now.iter().any(is_about_it) {
            return Adaptation::Nothing;
        }
        // A server that accepts neither of two names accepts none.
        let is_back = |change: &Change| {
            now.iter().any(|old| matches!(change.instead, Replacement::Name(name) if name == old.refused))
        };
        let change = change_for(complaint, sent, endpoint.provider.parameters);
        let mut changed = sent.clone();
        change.apply(&mut changed, request);
        if is_back(&change) || changed == *sent {
            return Adaptation::Nothing;
        }
        now.push(change.clone());
        Adaptation::New(change)
    }
}

fn key(endpoint: &Endpoint) -> (String, String) {
    (endpoint.base_url.clone(), endpoint.model.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::error_response::parameter::rejected_parameter;
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

    /// Returns the first complaint of a server: a parameter, a message and a code.
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

    /// Returns a complaint in all forms in which servers and gateways write errors.
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
                    let what = rejected_parameter(body, &sent, &endpoint.request_json)
                        .unwrap_or_else(|| panic!("{taste:?} {sent} {body}"));
                    if matches!(learned.learn(&endpoint, &request("p"), what, &sent, &known), Adaptation::Nothing) {
                        break (sent, known);
                    }
                    requests += 1;
                    assert!(requests <= 1 + MOST_CHANGES, "{taste:?} {sent} {body}");
                };
                // No change helps where a model must reason and does not accept a low effort.
                let hopeless = !taste.lets_off && taste.efforts & 0b100 == 0;
                assert!(
                    wrong(&taste, &sent).is_none() || hopeless,
                    "{} {model} {taste:?} {sent} {known:?}",
                    provider.name
                );
            }
        }
        assert!(cases >= 4_000, "{cases}");
    }
}
