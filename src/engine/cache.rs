//! Where a run keeps paid summaries, so that none is requested twice.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::exit::Failure;
use crate::files::atomic::tidy;
use crate::files::links;
use crate::files::paths::folder;
use crate::llm::cache::Cache;
use crate::settings::Settings;
use crate::wording::reason;

use crate::engine::inputs::{self, Inputs};
use crate::engine::journal;

/// The cache of summaries.
#[derive(Debug, Default)]
pub(super) struct RunCache {
    pub(super) cache: Option<Cache>,
    /// Whether only lines of a stream use it. A document needs no cache: it has one summary, and the run ends with it.
    pub(super) is_for_lines: bool,
}

/// Opens the cache: the folder that the settings name; else
/// the folder of the pending summaries of a single file; else a folder beside the results.
pub(super) fn open_cache(
    settings: &Settings,
    inputs: &Inputs,
    pending: Option<&(PathBuf, PathBuf)>,
) -> Result<RunCache> {
    if let Some((home, summaries)) = pending {
        links::refuse(home, summaries).map_err(|error| unusable(summaries, &error))?;
        tidy(home);
        return Ok(RunCache { cache: Some(Cache::created_on_demand(summaries)), is_for_lines: true });
    }
    let cache = match (&settings.summarizer.cache, &inputs.home) {
        (Some(cache), _) => Some(cache.clone()),
        (None, Some(home)) if inputs.keeps_journal && !settings.is_embedded() => {
            let folder = home.join(inputs::OWN_FOLDER).join(journal::SUMMARIES);
            links::refuse(home, &folder).map_err(|error| unusable(&folder, &error))?;
            let cache = Cache::open(&folder).map_err(|error| unusable(&folder, &error))?;
            Some(cache.mandatory())
        }
        (None, _) => None,
    };
    let cache = cache.map(|cache| cache.readable_by(inputs.readers()));
    Ok(RunCache { cache, is_for_lines: false })
}

fn unusable(folder: &Path, error: &io::Error) -> Failure {
    Failure::unreadable(format!("{} cannot be used: {}", folder.display(), reason(error)))
}

/// Returns where the summaries of a single output file are kept until that file is whole: its folder, and a folder
/// below.
pub(super) fn pending_summaries(settings: &Settings, inputs: &Inputs) -> Option<(PathBuf, PathBuf)> {
    let only = inputs.entries.first().filter(|_| !inputs.keeps_journal);
    let file = only.and_then(|entry| entry.output.as_ref())?;
    let is_device = fs::metadata(file).is_ok_and(|there| !there.is_file());
    if is_device || settings.is_embedded() || settings.action.is_read_only() || settings.summarizer.cache.is_some() {
        return None;
    }
    let home = folder(file);
    Some((home.to_owned(), home.join(inputs::OWN_FOLDER).join(file.file_name()?)))
}

/// Removes the folder of pending summaries: with its summaries once the result is whole, else only if it is empty.
pub(super) fn remove_pending(summaries: &Path, is_whole: bool) {
    let _ = if is_whole { fs::remove_dir_all(summaries) } else { fs::remove_dir(summaries) };
    // Another file may have pending summaries.
    let _ = summaries.parent().map(fs::remove_dir);
}
