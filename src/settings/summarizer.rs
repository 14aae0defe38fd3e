//! The summarizer: the embedded one, a command, or a model at an endpoint with its key.
//!
//! Also checks which members `--request-json` may change.

use std::time::Duration;

use anyhow::Result;
use reqwest::Url;
use serde_json::{Map, Value};

use crate::cli::{CompactArguments, is_variable_name};
use crate::compact::{EXTRACTIVE, NOBODY, SUMMARY_TOKENS, SummarizerKind, SummarizerModel, is_no_model};
use crate::diagnostic::{Advice, Diagnostic, nearest};
use crate::exit::Failure;
use crate::llm::Summarizer;
use crate::llm::cache::Cache;
use crate::llm::http::{HttpClient, is_loopback};
use crate::llm::limiter::Limiter;
use crate::llm::providers::{self, Endpoint, PROVIDERS, Provider};
use crate::llm::retry::RetryPolicy;
use crate::llm::secret::Secret;
use crate::presets::recipe::Recipe;
use crate::redact::is_secret_name;
use crate::settings::keys::{SettingValue, find_model, in_table, wrong_name};
use crate::summary::exchange::THOUGHTS;
use crate::tokens::Counter;
use crate::tokens::models::{self, Model};
use crate::tokens::near::served;
use crate::wording::reason;

pub(super) fn summarizer(
    arguments: &CompactArguments,
    asks: bool,
    recipe: &Recipe,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Summarizer> {
    let timeout = Duration::from_secs_f64(arguments.timeout);
    if arguments.api_key_env.as_deref().is_some_and(|name| !is_variable_name(name)) {
        // It may be the key itself, which is not to be shown.
        let message = "--api-key-env takes the name of an environment variable, which holds the key";
        let advice = Advice::command(["--api-key-env", "OPENAI_API_KEY"]);
        return Err(Failure::usage(message).about("api-key-env").try_next(advice).into());
    }
    let of_endpoint = [
        ("base-url", arguments.base_url.is_some()),
        ("api-key-env", arguments.api_key_env.is_some()),
        ("request-json", arguments.request_json.is_some()),
    ];
    let of_endpoint = of_endpoint.iter().find_map(|(flag, is_given)| is_given.then_some(flag));
    if let (Some(_), Some(flag)) = (&arguments.summarizer_cmd, of_endpoint) {
        let message = format!("--{flag}: --summarizer-cmd uses no address; leave one of them out");
        return Err(Failure::usage(message).about(flag).into());
    }
    if let Some(command) = &arguments.summarizer_cmd {
        return Ok(Summarizer::Command(command.clone(), timeout, Limiter::new(arguments.rate)));
    }
    let name = arguments.model.as_deref().unwrap_or(EXTRACTIVE);
    if is_no_model(name) {
        if let Some(flag) = of_endpoint {
            let who = if name == NOBODY { "--model none" } else { "the embedded summarizer" };
            let message = format!("--{flag}: {who} sends no requests; name a model with --model");
            return Err(Failure::usage(message).about(flag).into());
        }
        return Ok(Summarizer::Extractive);
    }
    let (provider, model) = provider_and_model(name)?;
    let base_url = base_url(arguments.base_url.as_deref().unwrap_or(provider.base_url), provider)?;
    let key = key(arguments, asks, provider, variable)?;
    let request_json = arguments.request_json.clone().map(|given| given.0).unwrap_or_default();
    check_request_json(&request_json)?;
    let patience = RetryPolicy { retries: arguments.retries, persistence: recipe.patience };
    let client = HttpClient::new(timeout, patience, arguments.rate);
    let endpoint = Endpoint { provider, model: model.to_owned(), base_url, key, request_json };
    Ok(Summarizer::Endpoint(endpoint, Box::new(client)))
}

/// The kind of summarizer, on which the compaction depends.
pub(super) fn summarizer_kind(arguments: &CompactArguments) -> SummarizerKind {
    match (&arguments.summarizer_cmd, arguments.model.as_deref()) {
        (Some(_), _) => SummarizerKind::Command,
        (None, None | Some(EXTRACTIVE)) => SummarizerKind::Embedded,
        (None, Some(NOBODY)) => SummarizerKind::Off,
        (None, Some(_)) => SummarizerKind::Model,
    }
}

/// Whether others write the summaries: a model behind an API, or a command.
pub(super) fn is_of_others(arguments: &CompactArguments) -> bool {
    matches!(summarizer_kind(arguments), SummarizerKind::Model | SummarizerKind::Command)
}

/// The name of the summarizer.
pub(super) fn summarizer_name(arguments: &CompactArguments) -> String {
    match &arguments.summarizer_cmd {
        Some(_) => "command".to_owned(),
        None => arguments.model.clone().unwrap_or_else(|| EXTRACTIVE.to_owned()),
    }
}

/// Checks that an address can be followed by a path, and holds no secret: messages show it.
fn base_url(text: &str, provider: &Provider) -> Result<String> {
    let wrong = |what: &str| {
        let failure = Failure::usage(format!("--base-url: {what}, as in https://api.example.com/v1")).about("base-url");
        let address = with_scheme(text, provider).unwrap_or_else(|| "http://localhost:8080/v1".to_owned());
        failure.try_next(Advice::command(["--base-url", &address]))
    };
    let is_address = |url: &Url| matches!(url.scheme(), "http" | "https") && url.host().is_some();
    let url = Url::parse(text).ok().filter(is_address);
    let url = url.ok_or_else(|| wrong("an address begins with http:// or https:// and has a host"))?;
    if !url.username().is_empty() || url.password().is_some() || url.query().is_some() || url.fragment().is_some() {
        let why = "an address has no user, password, query or fragment; the key comes from the environment";
        return Err(wrong(why).into());
    }
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

/// Completes an address without a scheme, with the provider's path if it has none.
fn with_scheme(text: &str, provider: &Provider) -> Option<String> {
    // The result is shown, so it must hold no secret.
    let bare = Some(text).filter(|text| !text.contains("://") && !text.contains(['@', '?', '#', ' ']))?;
    let mut url = Url::parse(&format!("http://{bare}")).ok()?;
    if url.path() == "/" {
        url.set_path(Url::parse(provider.base_url).ok()?.path());
    }
    Some(url.as_str().trim_end_matches('/').to_owned())
}

/// The name of a model with its maker as the provider, if it has none.
pub(super) fn with_provider(name: &str) -> Option<String> {
    let is_bare = !is_no_model(name) && name.split_once(':').is_none_or(|(provider, _)| provider.is_empty());
    let model = models::find(name.trim_start_matches(':')).filter(|_| is_bare)?;
    Some(format!("{}:{}", model.provider, model.name))
}

fn provider_and_model(name: &str) -> Result<(&'static Provider, &str)> {
    let wrong = |diagnostic: Diagnostic| wrong_name("model", name, &diagnostic, "providers").into();
    let nameless = |provider: &str| {
        let what = format!("the name of the model is missing, as in {provider}:NAME");
        wrong_name("model", name, &Diagnostic::new(what), "models").into()
    };
    let Some((provider, model)) = name.split_once(':') else {
        if let Some(known) = providers::by_name(name).filter(|_| served(name).is_none()) {
            return Err(nameless(known.name));
        }
        if let Some(meant) = nearest(name, [EXTRACTIVE, NOBODY]) {
            let what = format!("expected {EXTRACTIVE}, {NOBODY}, a model of `tcompact list models` or PROVIDER:MODEL");
            return Err(wrong(Diagnostic::new(what).meant(Some(meant))));
        }
        return Err(find_model("model", name).err().unwrap_or_else(|| wrong(Diagnostic::new("no such model"))));
    };
    match providers::by_name(provider) {
        Some(_) if model.is_empty() => Err(nameless(provider)),
        Some(row) => Ok((row, model)),
        None if provider.is_empty() => Err(wrong(Diagnostic::new("the provider is missing, as in openai:gpt-4o-mini"))),
        None => {
            let names: Vec<&str> = PROVIDERS.iter().map(|provider| provider.name).collect();
            let list = names.join(", ");
            let diagnostic = Diagnostic::new(format!(
                "there is no provider {provider}; there are {list}; openai: with --base-url works with every compatible server"
            ));
            Err(wrong(match served(name) {
                Some(served) => diagnostic.meant(Some(served)),
                None => diagnostic.at(0..provider.len()).meant(nearest(provider, names)),
            }))
        }
    }
}

/// The key from the environment. The provider's own address needs one; another may do without, like many local servers.
fn key(
    arguments: &CompactArguments,
    asks: bool,
    provider: &Provider,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Option<Secret>> {
    let names = arguments.api_key_env.as_deref().map_or(provider.key_variables.to_vec(), |name| vec![name]);
    let value = |name: &&str| variable(name).filter(|key| !key.trim().is_empty());
    let found = names.iter().find_map(|name| Some((name, value(name)?)));
    match found {
        Some((name, key)) => match Secret::new(&key) {
            Some(secret) => Ok(Some(secret)),
            None => Err(Failure::usage(format!("the variable {name} holds characters that no key can have")).into()),
        },
        None if arguments.api_key_env.is_none() && (provider.open || arguments.base_url.is_some()) => Ok(None),
        // No request is sent.
        None if !asks => Ok(None),
        None => Err(Failure::usage(format!(
            "the variable {}, which should hold the key for {}, is not set; set it or name another with --api-key-env",
            names.join(" or "),
            provider.name
        ))
        .try_next(Advice::Line(format!("export {}=…", names.first().unwrap_or(&"NAME"))))
        .into()),
    }
}

/// The host that gets a key without encryption.
pub(super) fn unencrypted_host(summarizer: &Summarizer) -> Option<String> {
    let Summarizer::Endpoint(endpoint, _) = summarizer else { return None };
    let url = Url::parse(&endpoint.base_url).ok().filter(|url| url.scheme() == "http" && endpoint.key.is_some())?;
    url.host_str().filter(|_| !is_loopback(&url)).map(str::to_owned)
}

/// The provider of the summarizer, which need not be in the table.
pub(super) fn writer_provider(arguments: &CompactArguments) -> Option<&'static str> {
    let name = in_table(arguments.model.as_deref()?);
    providers::by_name(name.split_once(':')?.0).map(|provider| provider.name)
}

/// The limits of the summarizer from the table, or else from the flags. `reader` is the counter of the reader.
/// `--context-window` is the reader's if `--for` names one; a command has no window.
pub(super) fn summarizer_model(arguments: &CompactArguments, model: Option<Model>, reader: Counter) -> SummarizerModel {
    let its_own = arguments.for_model.is_none() && arguments.summarizer_cmd.is_none();
    let window = model.map(|model| model.context_window).or(arguments.counting.context_window.filter(|_| its_own));
    let most_tokens = model.and_then(|model| model.max_output);
    // A small window must leave room for the history.
    let quarter = window.map_or(u64::MAX, |window| (window / 4).max(1));
    let asked_tokens =
        arguments.summary_tokens.unwrap_or(SUMMARY_TOKENS).min(most_tokens.unwrap_or(u64::MAX)).min(quarter);
    let named = arguments.model.as_deref().and_then(|name| name.split_once(':'));
    let wants = named.and_then(|(provider, model)| providers::by_name(provider)?.parameters.of(model));
    let thought_tokens = if wants.is_some_and(|wants| wants.thinks) { THOUGHTS } else { 0 };
    SummarizerModel {
        window,
        counter: model.map_or(reader, |model| model.counter()),
        asked_tokens,
        thought_tokens: thought_tokens.min(quarter).min(most_tokens.map_or(u64::MAX, |most| most - asked_tokens)),
        most_tokens,
        prices: model.and_then(|model| model.input_price.zip(model.output_price)),
    }
}

/// Whether a dry run shows the summary: `--dry-run`, `--cache` and a summarizer are on the command line. A layer alone
/// must not make a dry run send requests.
pub(super) fn is_preview(arguments: &CompactArguments, given: &[SettingValue]) -> bool {
    let typed = |flag: &str, is_on: bool| is_on && given.iter().all(|given| given.flag != flag);
    let names_who =
        typed("model", arguments.model.is_some()) || typed("summarizer-cmd", arguments.summarizer_cmd.is_some());
    typed("dry-run", arguments.dry_run) && typed("cache", arguments.cache.is_some()) && names_who
}

/// Opens the cache, so that it fails before a summary is paid for.
pub(super) fn open_cache(arguments: &CompactArguments, asks: bool) -> Result<Option<Cache>> {
    let is_used = asks && is_of_others(arguments);
    let Some(folder) = arguments.cache.as_ref().filter(|_| is_used) else { return Ok(None) };
    let cache = Cache::open(folder, false).map_err(|error| {
        let name = folder.display();
        let message =
            format!("--cache {name} cannot be used: {}; name a directory that can be written to", reason(&error));
        Failure::unreadable(message).about("cache")
    })?;
    Ok(Some(cache))
}

/// The members that tcompact sets in every request, and what to use instead.
const OWN: [(&str, &str); 5] = [
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
fn check_request_json(patch: &Map<String, Value>) -> Result<(), Failure> {
    let own = || patch.keys().find_map(|name| OWN.into_iter().find(|(own, _)| own == name));
    let (name, what, next) = if let Some(name) = key_in(patch) {
        let what = "keys come from the environment";
        (name, what, Advice::command(["--api-key-env", "NAME"]).note("for the variable that holds the key"))
    } else if let Some((name, instead)) = own() {
        let rest: Map<String, Value> =
            patch.clone().into_iter().filter(|(name, _)| OWN.iter().all(|(own, _)| own != name)).collect();
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

/// The first name at any depth that holds a key.
fn key_in(members: &Map<String, Value>) -> Option<&str> {
    members.iter().find_map(|(name, value)| if holds_key(name) { Some(name.as_str()) } else { key_below(value) })
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
        for (name, _) in OWN {
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
