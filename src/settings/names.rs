//! The formats and models that flags name, and what was probably meant by an unknown name.

use anyhow::Result;

use crate::diagnostic::{Advice, Diagnostic, nearest};
use crate::exit::Failure;
use crate::llm::providers::{self, Provider};
use crate::tokens::models::{self, Model};
use crate::tokens::near::{near, served};
use crate::transcript::formats::{self, FORMATS, Format};

/// The format that `--from` names; nothing for `auto`.
///
/// # Errors
/// There is no such format.
pub(super) fn find_format(name: &str) -> Result<Option<&'static Format>> {
    if name == "auto" {
        return Ok(None);
    }
    if let Some(format) = formats::by_name(name) {
        return Ok(Some(format));
    }
    let mut names = vec!["auto"];
    names.extend(FORMATS.iter().map(|format| format.name));
    let diagnostic = Diagnostic::new(format!("there is no such format; there are {}", names.join(", ")));
    Err(wrong_name("from", name, &diagnostic.meant(nearest(name, names)), "formats").into())
}

/// The error that a flag names something that is not known. `table` lists the known names, if it is not known what was
/// meant.
pub(super) fn wrong_name(flag: &'static str, name: &str, diagnostic: &Diagnostic, table: &str) -> Failure {
    let advice = match diagnostic.corrected(name) {
        Some(meant) => Advice::command([format!("--{flag}"), meant]),
        None => Advice::command(["list", table]),
    };
    let failure = Failure::usage(format!("--{flag} {name}: {diagnostic}")).about(flag);
    failure.showing(name, diagnostic).try_next(advice)
}

/// The model that a flag names: one in the table, or another one of a known provider.
#[derive(Debug)]
pub(super) enum NamedModel {
    /// A model in the table.
    Listed(Model),
    /// The provider, and the name of the model there.
    Unlisted(&'static Provider, String),
}

/// The model that `--for` or `--model` names: `PROVIDER:MODEL` as it is; a name alone as its maker serves it.
///
/// # Errors
/// There is no such model, and no provider is named.
pub(super) fn find_model(flag: &'static str, name: &str) -> Result<NamedModel> {
    if let Some(model) = models::find(&in_table(name)) {
        return Ok(NamedModel::Listed(model));
    }
    if let Some((provider, model)) = name.split_once(':')
        && !model.is_empty()
        && let Some(provider) = providers::by_name(provider)
    {
        return Ok(NamedModel::Unlisted(provider, model.to_owned()));
    }
    // The model that reads the result must be known; the one that writes the summary need only be reachable.
    let served = if flag == "model" { served(name) } else { None };
    let near = near(name);
    let meant = match &served {
        Some(served) => Some(served.clone()),
        None => meant(name, &near),
    };
    let mut names: Vec<String> = served.into_iter().collect();
    names.extend(near);
    let near = if names.is_empty() { String::new() } else { format!("; near names are {}", names.join(", ")) };
    let why = format!("no such model is known{near}; PROVIDER:MODEL names any other");
    Err(wrong_name(flag, name, &Diagnostic::new(why).meant(meant), "models").into())
}

/// The name of a model in the table, which has a provider with two APIs once.
pub(super) fn in_table(name: &str) -> String {
    name.replacen("openai-responses:", "openai:", 1)
}

/// The note that a model is not in the table, and its context window is not given.
pub(super) fn unlisted(name: &str) -> String {
    // The table has no models of Ollama.
    let near = if name.starts_with("ollama:") { None } else { served(name).or_else(|| meant(name, &near(name))) };
    let near = match near {
        Some(near) => format!(" (did you mean {near}?)"),
        None => String::new(),
    };
    format!(
        "{name} is not in the table of models{near}: its context window and prices are unknown; --context-window N gives the window"
    )
}

/// The nearest name; of the named provider, if it has one of `near`.
fn meant(name: &str, near: &[String]) -> Option<String> {
    if let Some((provider, _)) = name.split_once([':', '/']) {
        for near in near {
            let full = format!("{provider}:{near}");
            if models::find(&full).is_some() {
                return Some(full);
            }
        }
    }
    near.first().cloned()
}
