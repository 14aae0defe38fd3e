//! `restore`: puts back what an archive holds. The archive is read line by line, and only the needed records in full.

use std::fs;
use std::path::Path;

use anyhow::Result;

use crate::cli::word_order::swapped;
use crate::diagnostic::Advice;
use crate::events::{Event, Listener};
use crate::exit::{Exit, Failure};
use crate::files::atomic::Readers;
use crate::files::open_files::OpenFiles;
use crate::files::replacing::ReplacedFile;
use crate::files::{append, input, output};
use crate::interrupt;
use crate::report::reporter::Reporter;
use crate::rewrite::pieces;
use crate::settings::{Destination, RestoreSettings, Volume};
use crate::wording::readable_source;

use crate::engine::inputs::copy_of;
use crate::engine::records::{Archive, is_archive};
use crate::engine::restorer::{Restored, Restorer};

/// Restores a text by its archive, as often as it was compacted, and writes it.
///
/// # Errors
/// The archive has no record of the text, or one that does not fit. Nothing is written then.
pub(crate) fn restore(settings: &RestoreSettings) -> Result<Exit> {
    let is_named = |path: &&Path| path.as_os_str() != "-";
    let path = settings.path.as_deref().filter(is_named);
    let (output, replaced) = match (&settings.destination, path) {
        (Destination::InPlace(suffix), path) => (path, Some(suffix)),
        (Destination::File(file), _) => (Some(file.as_path()), None),
        (Destination::Folder(_) | Destination::Stdout, _) => (None, None),
    };
    refuse_swapped(settings)?;
    check(settings, path, output, replaced.is_some())?;
    if output.is_some() {
        interrupt::exit_on_signals();
    }
    let before = path.filter(|_| replaced.is_some()).and_then(|path| fs::metadata(path).ok());
    let open_files = OpenFiles::default();
    if let Some((path, file)) = path.zip(before.as_ref()).filter(|_| !settings.force) {
        open_files.refuse_writer(path, file)?;
    }
    let mut archive = Archive::open(&settings.archive)?;
    let input = input::read(path)?;
    let name = readable_source(&input.name);
    let mut restorer = Restorer::new(&mut archive, &input.name, &name, settings.rounds);
    let Restored { text, edits } = restorer.restore_all(input.bytes())?;
    let done = restorer.done;
    let (readers, reporter) = (Readers::of_result(path), Reporter::new(settings.volume));
    match replaced.zip(path) {
        Some((suffix, path)) => {
            let result = output::replacement(pieces(&text, &edits), path, &readers)?;
            let target = result.place().unwrap_or(path).to_owned();
            let replaced = ReplacedFile { path, target, before: before.as_ref() };
            if let Some(file) = before.as_ref().filter(|_| !settings.force)
                && let Some(warning) = open_files.warning(path, file)
            {
                reporter.handle(&Event::Notice(&warning));
            }
            let copy = suffix.as_ref().map(|suffix| copy_of(path, suffix));
            let others = replaced.replace(result, copy.as_deref())?;
            if others > 0 {
                reporter.handle(&Event::NamesParted { path, others });
            }
        }
        None => output::write(pieces(&text, &edits), output, &readers)?,
    }
    if settings.volume > Volume::Quiet {
        let all = text.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).count();
        let restored = Event::Restored { archive: archive.path, done: &done, all, damaged: archive.damaged() };
        reporter.handle(&restored);
    }
    Ok(Exit::Success)
}

/// Refuses an archive that stands where the transcript belongs.
fn refuse_swapped(settings: &RestoreSettings) -> Result<()> {
    let RestoreSettings { archive, path: Some(path), typed, .. } = settings else { return Ok(()) };
    if !is_archive(path) || is_archive(archive) {
        return Ok(());
    }
    let failure = Failure::usage(format!("restore takes ARCHIVE before the transcript: {} is one", path.display()));
    let words = archive.to_str().zip(path.to_str()).and_then(|(archive, path)| swapped(typed, archive, path));
    let failure = match words {
        Some(words) => failure.try_next(Advice::command(words)),
        None => failure,
    };
    Err(failure.into())
}

/// Refuses a transcript, an archive and an output that do not go together.
fn check(settings: &RestoreSettings, path: Option<&Path>, output: Option<&Path>, is_in_place: bool) -> Result<()> {
    let (archive, shown) = (&settings.archive, settings.archive.display());
    if is_in_place && path.is_none() {
        return Err(Failure::usage("--in-place: name the transcript that is put back").into());
    }
    if !append::is_lines(archive) {
        let message = format!(
            "restore {shown}: only an archive whose name ends in .jsonl, .jsonl.gz or .jsonl.zst holds what can be put back"
        );
        return Err(Failure::usage(message).into());
    }
    if let Some(output) = output.filter(|_| !is_in_place) {
        output::refuse_input(path, output, true)?;
    }
    output::check(output)?;
    output::refuse_emptied(path)?;
    if output.is_some_and(|output| output::same_place(archive, output)) {
        return Err(Failure::usage(format!("--output {shown} is the archive; write to another file")).into());
    }
    Ok(())
}
