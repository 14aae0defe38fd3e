//! `restore`: puts back what an archive holds. The archive is read line by line, and only the needed records in full.

use std::fs;
use std::path::Path;

use anyhow::Result;

use crate::cli::errors::completed;
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
use crate::wording::{counted, readable_source};

use crate::engine::inputs::copy_of;
use crate::engine::lookup::files;
use crate::engine::records::{Archive, is_archive};
use crate::engine::restorer::{Restored, Restorer};

/// Restores a text by its archive, as often as it was compacted, and writes it; or all files of a folder that the archive
/// has something of.
///
/// # Errors
/// The archive has no record of the text, or one that does not fit. Nothing is written then.
pub(crate) fn restore(settings: &RestoreSettings) -> Result<Exit> {
    let is_named = |path: &&Path| path.as_os_str() != "-";
    let path = settings.path.as_deref().filter(is_named);
    refuse_swapped(settings)?;
    let output = match (&settings.destination, path) {
        (Destination::InPlace(_), path) => path,
        (Destination::File(file), _) => Some(file.as_path()),
        (Destination::Folder(_) | Destination::Stdout, _) => None,
    };
    let reporter = Reporter::new(settings.volume);
    if let Some(folder) = path.filter(|path| path.is_dir()) {
        return restore_folder(settings, folder, &reporter);
    }
    check(settings, path, output)?;
    if output.is_some() {
        interrupt::exit_on_signals();
    }
    let mut archive = Archive::open(&settings.archive)?;
    restore_text(settings, path, output, &mut archive, &reporter)?;
    Ok(Exit::Success)
}

/// Restores the files of a folder in place. Those that the archive has nothing of were not compacted, and stay.
fn restore_folder(settings: &RestoreSettings, folder: &Path, reporter: &Reporter) -> Result<Exit> {
    if !matches!(settings.destination, Destination::InPlace(_)) {
        let message = format!("{} is a folder, whose files are put back in place", folder.display());
        return Err(Failure::usage(message).try_next(completed_with_in_place(settings)).into());
    }
    let (files, unsearched) = files(&[folder.to_owned()]);
    interrupt::exit_on_signals();
    let mut archive = Archive::open(&settings.archive)?;
    let (mut restored, mut unchanged, mut failures) = (0_u64, 0_u64, unsearched);
    for file in files.iter().filter_map(|file| file.path.as_deref()) {
        if output::same_place(file, &settings.archive) || is_archive(file) {
            continue;
        }
        let done = check(settings, Some(file), Some(file))
            .and_then(|()| restore_text(settings, Some(file), Some(file), &mut archive, reporter));
        match done {
            Ok(()) => restored += 1,
            Err(error) if has_no_record(&error) => unchanged += 1,
            Err(error) => failures.push(error.to_string()),
        }
    }
    failures.iter().for_each(|failure| reporter.handle(&Event::InputFailed(failure)));
    let (archive, restored_files) = (settings.archive.display(), counted(restored, "file"));
    let others = format!("{} it has nothing of", counted(unchanged, "file"));
    if restored == 0 && failures.is_empty() {
        let message = format!("{archive} has nothing that was cut from a file of {}", folder.display());
        return Err(Failure::unreadable(message).into());
    }
    if settings.volume > Volume::Quiet {
        reporter.handle(&Event::Notice(&format!("{restored_files} put back by {archive}; {others}")));
    }
    Ok(if failures.is_empty() { Exit::Success } else { Exit::SomeFailed })
}

/// Whether a file was refused because the archive has nothing of it: it is as it was, or it is no transcript.
fn has_no_record(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Failure>().is_some_and(|failure| failure.other_file.is_some())
}

/// The command line of a restore with `--in-place`.
fn completed_with_in_place(settings: &RestoreSettings) -> Advice {
    completed(&Advice::command(["--in-place"]), "", &settings.typed)
}

/// Restores one text and writes it.
fn restore_text(
    settings: &RestoreSettings,
    path: Option<&Path>,
    output: Option<&Path>,
    archive: &mut Archive<'_>,
    reporter: &Reporter,
) -> Result<()> {
    let suffix = match &settings.destination {
        Destination::InPlace(suffix) => Some(suffix),
        _ => None,
    };
    let before = path.filter(|_| suffix.is_some()).and_then(|path| fs::metadata(path).ok());
    let open_files = OpenFiles::default();
    if let Some((path, file)) = path.zip(before.as_ref()).filter(|_| !settings.force) {
        open_files.refuse_writer(path, file)?;
    }
    let input = input::read(path)?;
    let name = readable_source(&input.name);
    let mut restorer = Restorer::new(archive, &input.name, &name, settings.rounds);
    let Restored { text, edits } = restorer.restore_all(input.bytes())?;
    let done = restorer.done;
    let readers = Readers::of_result(path);
    match suffix.zip(path) {
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
    Ok(())
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
fn check(settings: &RestoreSettings, path: Option<&Path>, output: Option<&Path>) -> Result<()> {
    let is_in_place = matches!(settings.destination, Destination::InPlace(_));
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
