//! The summarizer: the embedded one, a command, or a model at an endpoint with its key.

use std::time::Duration;

use anyhow::Result;
use reqwest::Url;
use serde_json::Map;

use crate::cli::{CompactArguments, is_variable_name};
use crate::compact::{EXTRACTIVE, NOBODY, SUMMARY_TOKENS, SummarizerKind, SummarizerModel, is_no_model};
use crate::diagnostic::{Advice, Diagnostic, nearest};
use crate::exit::Failure;
use crate::llm::Summarizer;
use crate::llm::cache::Cache;
use crate::llm::http::HttpClient;
use crate::llm::limiter::Limiter;
use crate::llm::providers::{self, AddressVariable, Endpoint, PROVIDERS, Provider};
use crate::llm::proxy::is_loopback;
use crate::llm::retry::RetryPolicy;
use crate::llm::secret::Secret;
use crate::presets::recipe::Recipe;
use crate::settings::keys::SettingValue;
use crate::settings::names::{find_model, in_table, wrong_name};
use crate::settings::request_json::check_request_json;
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
    let endpoint_flag = endpoint_flag(arguments);
    if let Some(command) = &arguments.summarizer_cmd {
        if let Some(flag) = endpoint_flag {
            let message = format!("--{flag}: --summarizer-cmd uses no address; leave one of them out");
            return Err(Failure::usage(message).about(flag).into());
        }
        return Ok(Summarizer::Command(command.clone(), timeout, Limiter::new(arguments.rate)));
    }
    let name = arguments.model.as_deref().unwrap_or(EXTRACTIVE);
    if is_no_model(name) {
        if let Some(flag) = endpoint_flag {
            let who = if name == NOBODY { "--model none" } else { "the embedded summarizer" };
            let message = format!("--{flag}: {who} sends no requests; name a model with --model");
            return Err(Failure::usage(message).about(flag).into());
        }
        return Ok(Summarizer::Extractive);
    }
    let (provider, model) = provider_and_model(name)?;
    let own_address = match &arguments.base_url {
        Some(text) => Some(base_url(text, provider)?),
        None => address_of_environment(provider, &variable)?,
    };
    let key = key(arguments, asks, provider, own_address.is_some(), variable)?;
    let base_url = own_address.unwrap_or_else(|| provider.base_url.to_owned());
    let request_json = match &arguments.request_json {
        Some(given) => given.0.clone(),
        None => Map::new(),
    };
    check_request_json(&request_json)?;
    let patience = RetryPolicy { retries: arguments.retries, persistence: recipe.patience };
    let client = HttpClient::new(timeout, patience, arguments.rate);
    let endpoint = Endpoint { provider, model: model.to_owned(), base_url, key, request_json };
    Ok(Summarizer::Endpoint(endpoint, Box::new(client)))
}

/// The first flag that only a model at an endpoint can use.
fn endpoint_flag(arguments: &CompactArguments) -> Option<&'static str> {
    if arguments.base_url.is_some() {
        Some("base-url")
    } else if arguments.api_key_env.is_some() {
        Some("api-key-env")
    } else if arguments.request_json.is_some() {
        Some("request-json")
    } else {
        None
    }
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

/// The address that --base-url gives.
fn base_url(text: &str, provider: &Provider) -> Result<String> {
    address(text).map_err(|why| wrong_base_url(text, provider, why).into())
}

/// The address that a variable of the environment names for the provider's own library, if it is set.
fn address_of_environment(provider: &Provider, variable: impl Fn(&str) -> Option<String>) -> Result<Option<String>> {
    let Some(AddressVariable { name, version, .. }) = provider.address_variable() else { return Ok(None) };
    let text = variable(name).unwrap_or_default();
    if text.trim().is_empty() {
        return Ok(None);
    }
    match address(text.trim()) {
        Ok(address) if address.ends_with(version) => Ok(Some(address)),
        Ok(address) => Ok(Some(address + version)),
        // It may hold a secret, which is not to be shown.
        Err(why) => Err(Failure::usage(format!("the variable {name}: {why}; or give --base-url")).into()),
    }
}

/// Checks that an address can be followed by a path, and holds no secret: messages show it. Returns it without a slash at the
/// end, or why it is no address.
fn address(text: &str) -> Result<String, &'static str> {
    let url = match Url::parse(text) {
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.host().is_some() => url,
        _ => return Err("an address begins with http:// or https:// and has a host"),
    };
    if !url.username().is_empty() || url.password().is_some() || url.query().is_some() || url.fragment().is_some() {
        return Err("an address has no user, password, query or fragment; the key comes from the environment");
    }
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

/// The error that an address cannot be used, with one to try.
fn wrong_base_url(text: &str, provider: &Provider, why: &str) -> Failure {
    let failure = Failure::usage(format!("--base-url: {why}, as in https://api.example.com/v1")).about("base-url");
    let address = with_scheme(text, provider).unwrap_or_else(|| "http://localhost:8080/v1".to_owned());
    failure.try_next(Advice::command(["--base-url", &address]))
}

/// Completes an address without a scheme, with the provider's path if it has none.
fn with_scheme(text: &str, provider: &Provider) -> Option<String> {
    // The result is shown, so it must hold no secret.
    if text.contains("://") || text.contains(['@', '?', '#', ' ']) {
        return None;
    }
    let mut url = Url::parse(&format!("http://{text}")).ok()?;
    if url.path() == "/" {
        url.set_path(Url::parse(provider.base_url).ok()?.path());
    }
    Some(url.as_str().trim_end_matches('/').to_owned())
}

/// The name of a model with its maker as the provider, if it has none.
pub(super) fn with_provider(name: &str) -> Option<String> {
    if is_no_model(name) || name.split_once(':').is_some_and(|(provider, _)| !provider.is_empty()) {
        return None;
    }
    let model = models::find(name.trim_start_matches(':'))?;
    Some(format!("{}:{}", model.provider, model.name))
}

fn provider_and_model(name: &str) -> Result<(&'static Provider, &str)> {
    let Some((provider, model)) = name.split_once(':') else { return Err(without_provider(name)) };
    match providers::by_name(provider) {
        Some(_) if model.is_empty() => Err(nameless_model(name, provider).into()),
        Some(row) => Ok((row, model)),
        None => Err(unknown_provider(name, provider).into()),
    }
}

/// The error that a word which is neither a model nor a summarizer has no provider before it.
fn without_provider(name: &str) -> anyhow::Error {
    if let Some(known) = providers::by_name(name)
        && served(name).is_none()
    {
        return nameless_model(name, known.name).into();
    }
    if let Some(meant) = nearest(name, [EXTRACTIVE, NOBODY]) {
        let what = format!("expected {EXTRACTIVE}, {NOBODY}, a model of `tcompact list models` or PROVIDER:MODEL");
        return wrong_name("model", name, &Diagnostic::new(what).meant(Some(meant)), "providers").into();
    }
    match find_model("model", name) {
        Err(error) => error,
        Ok(_) => wrong_name("model", name, &Diagnostic::new("no such model"), "providers").into(),
    }
}

/// The error that only a provider is named.
fn nameless_model(name: &str, provider: &str) -> Failure {
    let what = format!("the name of the model is missing, as in {provider}:NAME");
    wrong_name("model", name, &Diagnostic::new(what), "models")
}

/// The error that the provider before a model is not known, or missing.
fn unknown_provider(name: &str, provider: &str) -> Failure {
    if provider.is_empty() {
        let what = "the provider is missing, as in openai:gpt-4o-mini";
        return wrong_name("model", name, &Diagnostic::new(what), "providers");
    }
    let names: Vec<&str> = PROVIDERS.iter().map(|provider| provider.name).collect();
    let list = names.join(", ");
    let diagnostic = Diagnostic::new(format!(
        "there is no provider {provider}; there are {list}; openai: with --base-url works with every compatible server"
    ));
    let diagnostic = match served(name) {
        Some(served) => diagnostic.meant(Some(served)),
        None => diagnostic.at(0..provider.len()).meant(nearest(provider, names)),
    };
    wrong_name("model", name, &diagnostic, "providers")
}

/// The key from the environment. The provider's own address needs one; another may do without, like many local servers.
fn key(
    arguments: &CompactArguments,
    asks: bool,
    provider: &Provider,
    has_own_address: bool,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Option<Secret>> {
    let names = match &arguments.api_key_env {
        Some(name) => vec![name.as_str()],
        None => provider.key_variables.to_vec(),
    };
    for name in &names {
        if let Some(key) = variable(name)
            && !key.trim().is_empty()
        {
            return match Secret::new(&key) {
                Some(secret) => Ok(Some(secret)),
                None => {
                    Err(Failure::usage(format!("the variable {name} holds characters that no key can have")).into())
                }
            };
        }
    }
    let needs_none = arguments.api_key_env.is_none() && (provider.open || has_own_address);
    // Without a request, no key is sent.
    if needs_none || !asks {
        return Ok(None);
    }
    let failure = Failure::usage(format!(
        "the variable {}, which should hold the key for {}, is not set; set it or name another with --api-key-env",
        names.join(" or "),
        provider.name
    ));
    Err(failure.try_next(Advice::Line(format!("export {}=…", names.first().unwrap_or(&"NAME")))).into())
}

/// The host that gets a key without encryption.
pub(super) fn unencrypted_host(summarizer: &Summarizer) -> Option<String> {
    let Summarizer::Endpoint(endpoint, _) = summarizer else { return None };
    let url = Url::parse(&endpoint.base_url).ok()?;
    if endpoint.key.is_none() || url.scheme() != "http" || is_loopback(&url) {
        return None;
    }
    Some(url.host_str()?.to_owned())
}

/// The provider of the summarizer, which need not be in the table.
pub(super) fn writer_provider(arguments: &CompactArguments) -> Option<&'static str> {
    let name = in_table(arguments.model.as_deref()?);
    let (provider, _) = name.split_once(':')?;
    Some(providers::by_name(provider)?.name)
}

/// The limits of the summarizer from the table, or else from the flags. `reader` is the counter of the reader.
/// `--context-window` is the reader's if `--for` names one; a command has no window.
pub(super) fn summarizer_model(arguments: &CompactArguments, model: Option<Model>, reader: Counter) -> SummarizerModel {
    let is_of_model = arguments.for_model.is_none() && arguments.summarizer_cmd.is_none();
    let window = match model {
        Some(model) => Some(model.context_window),
        None if is_of_model => arguments.counting.context_window,
        None => None,
    };
    let most_tokens = model.and_then(|model| model.max_output);
    // A small window must leave room for the history.
    let quarter = match window {
        Some(window) => (window / 4).max(1),
        None => u64::MAX,
    };
    let mut asked_tokens = arguments.summary_tokens.unwrap_or(SUMMARY_TOKENS).min(quarter);
    let mut thought_tokens = if model_thinks(arguments) { THOUGHTS.min(quarter) } else { 0 };
    if let Some(most) = most_tokens {
        asked_tokens = asked_tokens.min(most);
        thought_tokens = thought_tokens.min(most - asked_tokens);
    }
    SummarizerModel {
        window,
        counter: model.map_or(reader, |model| model.counter()),
        asked_tokens,
        thought_tokens,
        most_tokens,
        prices: model.and_then(|model| model.input_price.zip(model.output_price)),
    }
}

/// Whether the model that is named reasons although it is asked not to.
fn model_thinks(arguments: &CompactArguments) -> bool {
    let Some(name) = &arguments.model else { return false };
    let Some((provider, model)) = name.split_once(':') else { return false };
    let Some(provider) = providers::by_name(provider) else { return false };
    provider.parameters.of(model).is_some_and(|wants| wants.thinks)
}

/// Whether a dry run shows the summary: `--dry-run`, `--cache` and a summarizer are on the command line. A layer alone
/// must not make a dry run send requests.
pub(super) fn is_preview(arguments: &CompactArguments, given: &[SettingValue]) -> bool {
    let of_layer = |flag: &str| given.iter().any(|given| given.flag == flag);
    let names_summarizer = arguments.model.is_some() && !of_layer("model")
        || arguments.summarizer_cmd.is_some() && !of_layer("summarizer-cmd");
    let is_dry_run = arguments.dry_run && !of_layer("dry-run");
    let has_cache = arguments.cache.is_some() && !of_layer("cache");
    is_dry_run && has_cache && names_summarizer
}

/// Opens the cache, so that it fails before a summary is paid for.
pub(super) fn open_cache(arguments: &CompactArguments, asks: bool) -> Result<Option<Cache>> {
    let Some(folder) = &arguments.cache else { return Ok(None) };
    if !asks || !is_of_others(arguments) {
        return Ok(None);
    }
    match Cache::open(folder, false) {
        Ok(cache) => Ok(Some(cache)),
        Err(error) => {
            let name = folder.display();
            let why = reason(&error);
            let message = format!("--cache {name} cannot be used: {why}; name a directory that can be written to");
            Err(Failure::unreadable(message).about("cache").into())
        }
    }
}
