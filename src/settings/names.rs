//! What flags name of what tcompact knows: formats and models, and what was probably meant by a name that is none.

use anyhow::Result;

use crate::diagnostic::{Diagnostic, nearest, quoted};
use crate::exit::Failure;
use crate::tokens::models::{self, Model, NotFound};
use crate::transcript::formats::{self, FORMATS, Format};

/// The format that `--from` names, if it is not to be told.
///
/// # Errors
/// There is none of that name.
pub(super) fn from(name: &str) -> Result<Option<&'static dyn Format>> {
    if name == "auto" {
        return Ok(None);
    }
    let format = formats::by_name(name).ok_or_else(|| {
        let names: Vec<&str> = std::iter::once("auto").chain(FORMATS.iter().map(|format| format.name())).collect();
        let diagnostic = Diagnostic::new(format!("there is no such format; there are {}", names.join(", ")));
        let diagnostic = diagnostic.meant(nearest(name, names));
        let next = diagnostic.mended(name).map_or("--list formats".to_owned(), |mended| format!("--from {mended}"));
        let failure = Failure::usage(format!("--from {name}: {diagnostic}")).about("from").showing(name, &diagnostic);
        failure.try_next(format!("tcompact {next}"))
    })?;
    Ok(Some(format))
}

/// The model that `--for` names.
///
/// # Errors
/// There is none of that name, or several that differ.
pub(super) fn find_model(name: &str) -> Result<Model> {
    let found = models::find(name).map_err(|not_found| {
        let (why, probably) = match not_found {
            NotFound::Unknown => {
                let near = models::near(name);
                let seen = match near.as_slice() {
                    [] => "see --list models,".to_owned(),
                    names => format!("near names are {};", names.join(", ")),
                };
                let why = format!("no such model is known; {seen} or give --context-window and --counter instead");
                (why, meant(name, &near))
            }
            NotFound::Several { full } => {
                let first = full.first().and_then(|name| name.split(' ').next()).map(str::to_owned);
                let full = full.join(", ");
                (format!("several providers serve it with different context windows; say which: {full}"), first)
            }
        };
        let diagnostic = Diagnostic::new(why).meant(probably);
        let next =
            diagnostic.mended(name).map_or("--list models".to_owned(), |mended| format!("--for {}", quoted(&mended)));
        let failure = Failure::usage(format!("--for {name}: {diagnostic}")).about("for").showing(name, &diagnostic);
        failure.try_next(format!("tcompact {next}"))
    })?;
    Ok(found)
}

/// The name among those that come near, of the provider that was named where it has one.
fn meant(name: &str, near: &[String]) -> Option<String> {
    let is_known = |name: &String| models::find(name).is_ok();
    let provider = name.split_once([':', '/']).map(|(provider, _)| provider);
    let of_provider = provider.and_then(|provider| near.iter().map(|near| format!("{provider}:{near}")).find(is_known));
    of_provider.or_else(|| near.iter().find(|near| is_known(near)).cloned())
}
