//! `restore`: puts back what an archive holds. The archive is read line by line, and only the needed records in full.

use std::fs;
use std::path::Path;

use anyhow::Result;

use crate::cli::errors::completed;
use crate::cli::word_order::swapped;
use crate::diagnostic::Advice;
use crate::events::{Event, Listener, RestoredRounds};
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
pub fn restore(settings: &RestoreSettings) -> Result<Exit> {
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
    let (done, all) = restore_text(settings, path, output, &mut archive, &reporter)?;
    let damaged = archive.damaged();
    reporter.handle(&Event::Restored { archive: archive.path, file: None, done: &done, all, damaged });
    Ok(Exit::Success)
}

/// Restores the files of a folder in place: those with the name of a file that the archive is of.
fn restore_folder(settings: &RestoreSettings, folder: &Path, reporter: &Reporter) -> Result<Exit> {
    if !matches!(settings.destination, Destination::InPlace(_)) {
        let message = format!("{} is a folder, whose files are put back in place", folder.display());
        return Err(Failure::usage(message).try_next(completed_with_in_place(settings)).into());
    }
    check_archive(settings)?;
    let (files, mut failures) = files(&[folder.to_owned()]);
    interrupt::exit_on_signals();
    let mut archive = Archive::open(&settings.archive)?;
    failures.extend(archive.damaged().map(str::to_owned));
    let (mut restored, mut as_they_were, mut others) = (0_u64, 0_u64, 0_u64);
    for entry in files {
        let Some(file) = entry.path.as_deref() else { continue };
        if !archive.has_file_named(file) {
            others += 1;
            continue;
        }
        match restore_in_folder(settings, file, &mut archive, reporter) {
            Ok(()) => restored += 1,
            Err(_) if fs::read(file).is_ok_and(|text| archive.is_original(&text)) => as_they_were += 1,
            Err(error) => failures.push(error.to_string()),
        }
    }
    for failure in &failures {
        reporter.handle(&Event::InputFailed(failure));
    }
    if settings.volume > Volume::Quiet {
        let archive = settings.archive.display();
        let mut sentence = format!("{} put back by {archive}", counted(restored, "file"));
        if as_they_were > 0 {
            sentence += &format!("; {} needed nothing", counted(as_they_were, "file"));
        }
        if others > 0 {
            sentence += &format!("; {} not in it", counted(others, "file"));
        }
        reporter.handle(&Event::Notice(&sentence));
    }
    if !failures.is_empty() {
        return Ok(Exit::SomeFailed);
    }
    if restored + as_they_were == 0 {
        let message = format!("{} is of no file in {}", settings.archive.display(), folder.display());
        return Err(Failure::unreadable(message).into());
    }
    Ok(Exit::Success)
}

fn restore_in_folder(
    settings: &RestoreSettings,
    file: &Path,
    archive: &mut Archive<'_>,
    reporter: &Reporter,
) -> Result<()> {
    check(settings, Some(file), Some(file))?;
    let (done, all) = restore_text(settings, Some(file), Some(file), archive, reporter)?;
    reporter.handle(&Event::Restored { archive: archive.path, file: Some(file), done: &done, all, damaged: None });
    Ok(())
}

/// The command line of a restore with `--in-place`.
fn completed_with_in_place(settings: &RestoreSettings) -> Advice {
    completed(&Advice::command(["--in-place"]), "", &settings.typed)
}

/// Restores one text and writes it. Returns what was put back, and the number of lines.
fn restore_text(
    settings: &RestoreSettings,
    path: Option<&Path>,
    output: Option<&Path>,
    archive: &mut Archive<'_>,
    reporter: &Reporter,
) -> Result<(RestoredRounds, usize)> {
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
    let all = text.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).count();
    Ok((done, all))
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
    check_archive(settings)?;
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

/// Refuses an archive from which nothing can be restored.
fn check_archive(settings: &RestoreSettings) -> Result<()> {
    if append::is_lines(&settings.archive) {
        return Ok(());
    }
    let message = format!(
        "restore {}: only an archive whose name ends in .jsonl, .jsonl.gz or .jsonl.zst holds what can be put back",
        settings.archive.display()
    );
    Err(Failure::usage(message).into())
}
