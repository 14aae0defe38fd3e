//! `restore`: puts back what an archive holds. The archive is read line by line, and only the needed records in full.

use std::fs::{self, Metadata};
use std::path::Path;

use anyhow::Result;

use crate::cli::errors::completed;
use crate::cli::word_order::swapped;
use crate::diagnostic::Advice;
use crate::events::{Event, Listener, RestoredRounds};
use crate::exit::{Exit, Failure};
use crate::files::agent_homes::AgentHomes;
use crate::files::atomic::Readers;
use crate::files::compression::Compression;
use crate::files::open_files::OpenFiles;
use crate::files::output::{CompleteFile, KeptCopy, OutputFile};
use crate::files::replacing::ReplacedFile;
use crate::files::written::WriteOptions;
use crate::files::{append, input, output};
use crate::hash::Hasher;
use crate::interrupt;
use crate::report::reporter::Reporter;
use crate::rewrite::pieces;
use crate::settings::{Destination, RestoreSettings, Volume};
use crate::wording::{counted, readable_source};

use crate::engine::archive::Archive;
use crate::engine::inputs::copy_of;
use crate::engine::large_text::{LargeText, Unfinished, copy};
use crate::engine::lookup::files;
use crate::engine::other_archives::{GivenText, archive_of_run_before, refuse_before_later_archive, run_between};
use crate::engine::records::is_archive;
use crate::engine::restore_ranges::RangeRestorer;
use crate::engine::restorer::{Restored, Restorer, lines_that_set_all_messages};

/// Restores a text by its archive, as often as it was compacted, and writes it; or all files of a folder that the archive
/// has something of.
///
/// # Errors
/// The archive has no record of the text, or one that does not fit. Nothing is written then.
pub fn restore(settings: &RestoreSettings) -> Result<Exit> {
    let path = settings.path.as_deref().filter(|path| path.as_os_str() != "-");
    refuse_swapped(settings)?;
    let output = match &settings.destination {
        Destination::InPlace(_) => path,
        Destination::File(file) => Some(file.as_path()),
        Destination::Folder(_) | Destination::Stdout => None,
    };
    let reporter = Reporter::new(settings.volume);
    if let Some(folder) = path
        && folder.is_dir()
    {
        return restore_folder(settings, folder, &reporter);
    }
    check(settings, path, output)?;
    if output.is_some() {
        interrupt::exit_on_signals();
    }
    let mut archive = Archive::open(&settings.archive)?;
    let (done, all) = restore_text(settings, path, output, &mut archive, &reporter)?;
    if let Some(path) = path
        && matches!(settings.destination, Destination::InPlace(_))
    {
        warn_of_database(settings, &AgentHomes::default(), path, &reporter);
    }
    let damaged = archive.damaged();
    reporter.handle(&Event::Restored { archive: archive.path, file: None, done: &done, all, damaged });
    Ok(Exit::Success)
}

/// Says that the database of an agent names places that a session no longer has.
fn warn_of_database(settings: &RestoreSettings, homes: &AgentHomes, path: &Path, reporter: &Reporter) {
    if settings.volume == Volume::Quiet {
        return;
    }
    if let Some(warning) = homes.stale_database(path) {
        reporter.handle(&Event::Notice(&warning));
    }
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
    let homes = AgentHomes::default();
    for entry in files {
        let Some(file) = entry.path.as_deref() else { continue };
        if !archive.has_file_named(file) {
            others += 1;
            continue;
        }
        match restore_in_folder(settings, file, &mut archive, reporter) {
            Ok(()) => {
                restored += 1;
                warn_of_database(settings, &homes, file, reporter);
            }
            Err(_) if text_hash_of(file).is_some_and(|hash| archive.is_original_hash(&hash)) => as_they_were += 1,
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

/// The hash of the text of a file, unpacked; none where it cannot be read.
fn text_hash_of(file: &Path) -> Option<String> {
    let mut reader = input::unpacked(Some(file)).ok()?;
    let mut hasher = Hasher::default();
    let read = copy(&mut reader, u64::MAX, &mut |bytes| {
        hasher.add(bytes);
        Ok(())
    });
    if read.is_ok() { Some(hasher.end()) } else { None }
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
    let before = match (path, suffix) {
        (Some(path), Some(_)) => fs::metadata(path).ok(),
        _ => None,
    };
    let open_files = OpenFiles::default();
    if !settings.force
        && let (Some(path), Some(file)) = (path, &before)
    {
        open_files.refuse_writer(path, file)?;
        AgentHomes::default().refuse_base(path)?;
    }
    let in_place = InPlace { path, suffix, before: before.as_ref(), open_files: &open_files, force: settings.force };
    if !archive.range_runs.is_empty() {
        let done = restore_large(settings, &in_place, output, archive, reporter)?;
        return Ok((done, 0));
    }
    let input = input::read(path)?;
    let name = readable_source(&input.name);
    let mut restorer = Restorer::new(archive, &input.name, &name, settings.rounds);
    let mut restored = restorer.restore_all(input.bytes());
    let mut done = restorer.done;
    if restored.is_err() || done.grown > 0 || done.unproved.is_some() {
        refuse_before_later_archive(path, archive.path, GivenText::InMemory(input.bytes()), &done)?;
    }
    let between = run_between(path, archive, &input.name, input.bytes(), &done, restored.is_err())?;
    if let Some(between) = &between {
        let mut restorer = Restorer::new(archive, &input.name, &name, Some(between.rounds));
        restored = restorer.restore_all(input.bytes());
        done = restorer.done;
    }
    let mut restored = restored?;
    if let Some(between) = between {
        done.goes_on_in = Some(between.archive);
    } else if let Some(why) = done.unproved.take() {
        done.goes_on_in = archive_of_run_before(path, archive.path, &mut restored, &done);
        done.missing = None;
        if done.goes_on_in.is_none() {
            return Err(Failure::unreadable(why).into());
        }
    } else if settings.rounds.is_none() {
        done.goes_on_in = archive_of_run_before(path, archive.path, &mut restored, &done);
    }
    if done.grown > 0 {
        done.lines_setting_messages = lines_that_set_all_messages(input.bytes(), &mut restored);
    }
    let Restored { text, edits } = restored;
    let readers = Readers::of_result(path);
    match (path, suffix) {
        (Some(path), Some(_)) => {
            in_place.put(output::replacement(pieces(&text, &edits), path, &readers)?, reporter)?;
        }
        _ => output::write(pieces(&text, &edits), output, &readers)?,
    }
    let all = text.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).count();
    Ok((done, all))
}

/// A file that is put back in place, if that was asked for.
struct InPlace<'r> {
    path: Option<&'r Path>,
    /// The suffix of its copy; nothing where it is not put back in place.
    suffix: Option<&'r Option<String>>,
    /// What it was before it was read.
    before: Option<&'r Metadata>,
    open_files: &'r OpenFiles,
    force: bool,
}

impl InPlace<'_> {
    fn put(&self, result: CompleteFile, reporter: &Reporter) -> Result<()> {
        let (Some(path), Some(suffix)) = (self.path, self.suffix) else { return result.put() };
        let target = result.place().unwrap_or(path).to_owned();
        let replaced = ReplacedFile { path, target, before: self.before };
        if !self.force
            && let Some(file) = self.before
            && let Some(warning) = self.open_files.warning(path, file)
        {
            reporter.handle(&Event::Notice(&warning));
        }
        let copy = match suffix {
            Some(suffix) => KeptCopy::of(path, &copy_of(path, suffix))?,
            None => None,
        };
        let others = replaced.replace(result, copy)?;
        if others > 0 {
            reporter.handle(&Event::NamesParted { path, others });
        }
        Ok(())
    }
}

/// Restores a text by an archive with records of ranges, in a stream.
fn restore_large(
    settings: &RestoreSettings,
    in_place: &InPlace<'_>,
    output: Option<&Path>,
    archive: &mut Archive<'_>,
    reporter: &Reporter,
) -> Result<RestoredRounds> {
    let path = in_place.path;
    let file = path.map_or("-".to_owned(), |path| path.display().to_string());
    let name = readable_source(&file);
    let readers = Readers::of_result(path);
    let begin = || match output.filter(|output| !output::is_stream(output)) {
        Some(output) => {
            let options = WriteOptions { compression: Compression::of_name(output), readers: &readers, hashed: false };
            let file = OutputFile::begin(Some(output), options)?;
            Ok(Unfinished::Output(Box::new(file), in_place.before.cloned()))
        }
        // A stream gets the text once it is proved.
        None => Unfinished::unnamed(),
    };
    let given = LargeText::of_input(path)?;
    let mut restorer = RangeRestorer::new(archive, &file, &name, settings.rounds);
    let restored = restorer.restore_all(&given, &begin);
    let done = restorer.done;
    if restored.is_err() || done.grown > 0 {
        refuse_before_later_archive(path, archive.path, GivenText::Large(&given), &done)?;
    }
    match restored? {
        LargeText::Complete(result) => in_place.put(result, reporter)?,
        text => text.write_to(output, &readers)?,
    }
    Ok(done)
}

/// Refuses an archive that stands where the transcript belongs.
fn refuse_swapped(settings: &RestoreSettings) -> Result<()> {
    let RestoreSettings { archive, path: Some(path), typed, .. } = settings else { return Ok(()) };
    if !is_archive(path) || is_archive(archive) {
        return Ok(());
    }
    let failure = Failure::usage(format!("restore takes ARCHIVE before the transcript: {} is one", path.display()));
    if let (Some(archive), Some(path)) = (archive.to_str(), path.to_str())
        && let Some(words) = swapped(typed, archive, path)
    {
        return Err(failure.try_next(Advice::command(words)).into());
    }
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
    if !is_in_place && let Some(output) = output {
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
