//! Checks of the files beside the result: the archive, the report and the page.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::exit::Failure;
use crate::files::output;
use crate::report::json;
use crate::settings::{Destination, Settings};

use crate::engine::inputs::{self, Inputs};
use crate::engine::{archive, page};

/// Refuses unusable files for the archive, the report and the page, before anything is done or paid for.
pub(super) fn check(settings: &Settings, inputs: &Inputs) -> Result<()> {
    let named: Vec<Option<&Path>> =
        inputs.entries.iter().flat_map(|entry| [entry.path.as_deref(), entry.output.as_deref()]).collect();
    if settings.output.archive_chosen {
        archive::check(settings, &settings.policy, &named)?;
        if let Some(file) = settings.policy.archive.as_ref().filter(|_| !settings.action.is_read_only()) {
            refuse_streams(settings, "--archive", file)?;
        }
    }
    let output = match &settings.output.destination {
        Destination::File(file) => Some(file),
        _ => None,
    };
    let archive = settings.policy.archive.as_ref().filter(|_| settings.output.archive_chosen);
    for (flag, file) in [("--output", output), ("--archive", archive)] {
        let Some(file) = file.filter(|_| !settings.action.is_read_only()) else { continue };
        if settings.input.other_files.iter().any(|other| output::same_place(file, other)) {
            let name = file.display();
            let message = format!("{flag} {name} is another file of this command; name one of its own");
            return Err(Failure::usage(message).into());
        }
    }
    let copies: Vec<PathBuf> = match &settings.output.destination {
        Destination::InPlace(Some(suffix)) => inputs.files().map(|file| inputs::copy_of(file, suffix)).collect(),
        _ => Vec::new(),
    };
    let besides =
        copies.iter().chain(&settings.policy.archive).chain(&settings.input.other_files).map(PathBuf::as_path);
    let others: Vec<&Path> = named.into_iter().flatten().chain(besides).collect();
    for (flag, file) in [("--report", &settings.output.report), ("--html", &settings.output.html)] {
        let Some(file) = file else { continue };
        check_named(settings, flag, file)?;
        if let (Destination::Folder(folder), Some(parent)) = (&settings.output.destination, file.parent())
            && parent.starts_with(folder)
        {
            // The results go there as well.
            fs::create_dir_all(parent).map_err(|error| output::unwritable(file, &error))?;
        }
    }
    if let Some(report) = &settings.output.report {
        json::check(report, &others, inputs.readers())?;
    }
    let others: Vec<&Path> = others.into_iter().chain(settings.output.report.as_deref()).collect();
    settings.output.html.as_ref().map_or(Ok(()), |page| page::check(page, &others))
}

/// Refuses a file that is standard input or output by another name.
fn refuse_streams(settings: &Settings, flag: &str, file: &Path) -> Result<()> {
    let name = file.display();
    let printed = settings.output.destination == Destination::Stdout;
    if output::is_standard_stream(file, printed) {
        return Err(Failure::usage(format!("{flag} {name} is standard input or output; name another file")).into());
    }
    Ok(())
}

/// Refuses a file that is standard input or output by another name, or that is among tcompact's own.
fn check_named(settings: &Settings, flag: &str, file: &Path) -> Result<()> {
    let name = file.display();
    refuse_streams(settings, flag, file)?;
    if file.components().any(|part| part.as_os_str() == inputs::OWN_FOLDER) {
        let message = format!("{flag} {name} is among the files that tcompact keeps for itself; name another place");
        return Err(Failure::usage(message).into());
    }
    Ok(())
}
