//! The formats and models that flags name, and what was probably meant by an unknown name.

use anyhow::Result;

use crate::advice::Advice;
use crate::diagnostic::{Diagnostic, nearest};
use crate::exit::Failure;
use crate::llm::providers::{self, Provider};
use crate::tokens::models::{self, Model};
use crate::tokens::near::{near, served};
use crate::transcript::formats::{self, FORMATS, Format};

/// Returns the format that `--from` names; nothing for `auto`.
///
/// # Errors
/// There is no such format.
pub(super) fn find_format(name: &str) -> Result<Option<&'static dyn Format>> {
    if name == "auto" {
        return Ok(None);
    }
    let format = formats::by_name(name).ok_or_else(|| {
        let names: Vec<&str> = std::iter::once("auto").chain(FORMATS.iter().map(|format| format.name())).collect();
        let diagnostic = Diagnostic::new(format!("there is no such format; there are {}", names.join(", ")));
        wrong_name("from", name, &diagnostic.meant(nearest(name, names)), "formats")
    })?;
    Ok(Some(format))
}

/// Returns the error that a flag names something that is not known. `table` lists the known names, if it is not known
/// what was meant.
pub(super) fn wrong_name(flag: &'static str, name: &str, diagnostic: &Diagnostic, table: &str) -> Failure {
    let meant = diagnostic.corrected(name).map(|meant| Advice::command([format!("--{flag}"), meant]));
    let failure = Failure::usage(format!("--{flag} {name}: {diagnostic}")).about(flag).showing(name, diagnostic);
    failure.try_next(meant.unwrap_or_else(|| Advice::command(["--list", table])))
}

/// The model that a flag names: one in the table, or another one of a known provider.
#[derive(Debug)]
pub(super) enum NamedModel {
    /// A model in the table.
    Listed(Model),
    /// The provider, and the name of the model there.
    Unlisted(&'static Provider, String),
}

/// Returns the model that `--for` or `--model` names: `PROVIDER:MODEL` as it is; a name alone as its maker serves it.
///
/// # Errors
/// There is no such model, and no provider is named.
pub(super) fn find_model(flag: &'static str, name: &str) -> Result<NamedModel> {
    if let Some(model) = models::find(&in_table(name)) {
        return Ok(NamedModel::Listed(model));
    }
    let named = name.split_once(':').filter(|(_, model)| !model.is_empty());
    if let Some((provider, model)) = named.and_then(|(provider, model)| Some((providers::by_name(provider)?, model))) {
        return Ok(NamedModel::Unlisted(provider, model.to_owned()));
    }
    // Who reads the result must be known; who writes the summary need only be reachable.
    let mut names: Vec<String> = served(name).into_iter().filter(|_| flag == "model").collect();
    let meant = names.first().cloned().or_else(|| meant(name, near(name)));
    names.extend(near(name));
    let mut why = "no such model is known".to_owned();
    if !names.is_empty() {
        why.push_str(&format!("; near names are {}", names.join(", ")));
    }
    why.push_str("; PROVIDER:MODEL names any other");
    Err(wrong_name(flag, name, &Diagnostic::new(why).meant(meant), "models").into())
}

/// Returns the name of a model in the table, which has a provider with two APIs once.
pub(super) fn in_table(name: &str) -> String {
    name.replacen("openai-responses:", "openai:", 1)
}

/// Returns the note that a model is not in the table, and its context window is not given.
pub(super) fn unlisted(name: &str) -> String {
    // The table has no models of Ollama.
    let is_local = name.starts_with("ollama:");
    let near = served(name).or_else(|| meant(name, near(name))).filter(|_| !is_local);
    let near = near.map(|near| format!(" (did you mean {near}?)")).unwrap_or_default();
    format!(
        "{name} is not in the table of models{near}: its context window and prices are unknown; --context-window N gives the window"
    )
}

/// Returns the nearest name; of the named provider, if it has one of `near`.
fn meant(name: &str, near: Vec<String>) -> Option<String> {
    let provider = name.split_once([':', '/']).map(|(provider, _)| provider);
    let mut full = provider.into_iter().flat_map(|provider| near.iter().map(move |near| format!("{provider}:{near}")));
    full.find(|name| models::find(name).is_some()).or_else(|| near.into_iter().next())
}
