//! The summarizer: the embedded one, a command, or a model at an endpoint with its key.

use std::time::Duration;

use anyhow::Result;
use reqwest::Url;

use crate::advice::Advice;
use crate::cli::{CliArguments, Facts, is_variable_name};
use crate::compact::{EXTRACTIVE, NOBODY, SummarizerKind, SummarizerModel, is_no_model, ledger_room};
use crate::diagnostic::{Diagnostic, nearest};
use crate::exit::Failure;
use crate::llm::Summarizer;
use crate::llm::cache::Cache;
use crate::llm::http::{HttpClient, is_loopback};
use crate::llm::limiter::Limiter;
use crate::llm::providers::{self, Endpoint, PROVIDERS, Provider};
use crate::llm::retry::RetryPolicy;
use crate::llm::secret::Secret;
use crate::presets::recipe::Recipe;
use crate::settings::keys::SettingValue;
use crate::settings::names::{find_model, in_table, unlisted, wrong_name};
use crate::settings::request_json;
use crate::summary::exchange::THOUGHTS;
use crate::tokens::Counter;
use crate::tokens::models::{self, Model};
use crate::tokens::near::served;
use crate::wording::reason;

pub(super) fn summarizer(
    arguments: &CliArguments,
    asks: bool,
    recipe: &Recipe,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Summarizer> {
    let timeout = Duration::from_secs_f64(arguments.timeout);
    if arguments.api_key_env.as_deref().is_some_and(|name| !is_variable_name(name)) {
        // It may be the key itself, which is not to be shown.
        let message = "--api-key-env takes the name of an environment variable, which holds the key";
        return Err(Failure::usage(message)
            .about("api-key-env")
            .try_next(Advice::command(["--api-key-env", "OPENAI_API_KEY"]))
            .into());
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
            let who = if name == NOBODY {
                "--model none sends no requests"
            } else {
                "the embedded summarizer sends no requests"
            };
            let message = format!("--{flag}: {who}; name a model with --model");
            return Err(Failure::usage(message).about(flag).into());
        }
        return Ok(Summarizer::Extractive);
    }
    let (provider, model) = provider_and_model(name)?;
    let base_url = base_url(arguments.base_url.as_deref().unwrap_or(provider.base_url), provider)?;
    let key = key(arguments, asks, provider, variable)?;
    let request_json = arguments.request_json.clone().map(|given| given.0).unwrap_or_default();
    request_json::check(&request_json)?;
    let patience = RetryPolicy { retries: arguments.retries, persistence: recipe.patience };
    let wire = HttpClient::new(timeout, patience, arguments.rate);
    Ok(Summarizer::Endpoint(
        Endpoint { provider, model: model.to_owned(), base_url, key, request_json },
        Box::new(wire),
    ))
}

/// Returns the kind of summarizer, on which the compaction depends.
pub(super) fn summarizer_kind(arguments: &CliArguments) -> SummarizerKind {
    match (&arguments.summarizer_cmd, arguments.model.as_deref()) {
        (Some(_), _) => SummarizerKind::Command,
        (None, None | Some(EXTRACTIVE)) => SummarizerKind::Embedded,
        (None, Some(NOBODY)) => SummarizerKind::Off,
        (None, Some(_)) => SummarizerKind::Model,
    }
}

/// Returns the name of the summarizer.
pub(super) fn summarizer_name(arguments: &CliArguments) -> String {
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
    let url = Url::parse(text).map_err(|_| wrong("an address begins with http:// or https:// and has a host"))?;
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return Err(wrong("an address begins with http:// or https:// and has a host").into());
    }
    if !url.username().is_empty() || url.password().is_some() || url.query().is_some() || url.fragment().is_some() {
        return Err(
            wrong("an address has no user, password, query or fragment; the key comes from the environment").into()
        );
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

/// Returns the name of a model with its maker as the provider, if it has none.
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
            let what = format!("expected {EXTRACTIVE}, {NOBODY}, a model of --list models or PROVIDER:MODEL");
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

/// Returns the key from the environment. The provider's own address needs one; another may do without, like many local
/// servers.
fn key(
    arguments: &CliArguments,
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

/// Returns the host that gets a key without encryption.
pub(super) fn unencrypted_host(summarizer: &Summarizer) -> Option<String> {
    let Summarizer::Endpoint(endpoint, _) = summarizer else { return None };
    let url = Url::parse(&endpoint.base_url).ok().filter(|url| url.scheme() == "http" && endpoint.key.is_some())?;
    url.host_str().filter(|_| !is_loopback(&url)).map(str::to_owned)
}

/// Whether a run may request summaries.
pub(super) fn may_request(arguments: &CliArguments, preview: bool) -> bool {
    !arguments.check && !arguments.count && (!arguments.dry_run || preview)
}

/// Returns the note that the summarizer is not in the table, and its context window is not given.
pub(super) fn unlisted_summarizer(name: &str, summarizer: SummarizerKind, writer: SummarizerModel) -> Option<String> {
    (summarizer == SummarizerKind::Model && writer.window.is_none()).then(|| unlisted(name))
}

/// Returns the provider of the summarizer, which need not be in the table.
pub(super) fn writer_provider(arguments: &CliArguments) -> Option<&'static str> {
    let name = in_table(arguments.model.as_deref()?);
    providers::by_name(name.split_once(':')?.0).map(|provider| provider.name)
}

/// Returns the limits of the summarizer from the table, or else from the flags. `reader` is the counter of the reader.
/// `--context-window` is the reader's if `--for` names one; a command has no window.
pub(super) fn summarizer_model(arguments: &CliArguments, model: Option<Model>, reader: Counter) -> SummarizerModel {
    let its_own = arguments.for_model.is_none() && arguments.summarizer_cmd.is_none();
    let window = model.map(|model| model.context_window).or(arguments.context_window.filter(|_| its_own));
    let most_tokens = model.and_then(|model| model.max_output);
    // A small window must leave room for the history.
    let quarter = window.map_or(u64::MAX, |window| (window / 4).max(1));
    let asked_tokens = arguments.summary_tokens.min(most_tokens.unwrap_or(u64::MAX)).min(quarter);
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

/// Returns the most tokens that are appended to a model's summary of `summary_tokens`.
pub(super) fn ledger_tokens(facts: Facts, summary_tokens: u64) -> u64 {
    match facts {
        Facts::On => ledger_room(summary_tokens),
        Facts::Off => 0,
        Facts::Within(tokens) => tokens,
    }
}

/// Whether a dry run shows the summary: `--dry-run`, `--cache` and a summarizer are on the command line. A layer alone
/// must not make a dry run send requests.
pub(super) fn is_preview(arguments: &CliArguments, given: &[SettingValue]) -> bool {
    let typed = |flag: &str, is_on: bool| is_on && given.iter().all(|given| given.flag != flag);
    let names_who =
        typed("model", arguments.model.is_some()) || typed("summarizer-cmd", arguments.summarizer_cmd.is_some());
    typed("dry-run", arguments.dry_run) && typed("cache", arguments.cache.is_some()) && names_who
}

/// Opens the cache, so that it fails before a summary is paid for.
pub(super) fn open_cache(arguments: &CliArguments, asks: bool) -> Result<Option<Cache>> {
    let others =
        arguments.summarizer_cmd.is_some() || arguments.model.as_deref().is_some_and(|name| !is_no_model(name));
    let used = others && asks;
    let Some(folder) = arguments.cache.as_ref().filter(|_| used) else {
        return Ok(None);
    };
    let cache = Cache::open(folder).map_err(|error| {
        let name = folder.display();
        let message =
            format!("--cache {name} cannot be used: {}; name a directory that can be written to", reason(&error));
        Failure::unreadable(message).about("cache")
    })?;
    Ok(Some(cache))
}
