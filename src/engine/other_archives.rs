//! Other archives of a text: one of them may have a later run on it than the archive that was named.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::engine::archive::Archive;
use crate::engine::large_text::LargeText;
use crate::engine::restore_ranges::RangeRestorer;
use crate::engine::restorer::{Restored, Restorer};
use crate::events::RestoredRounds;
use crate::exit::Failure;
use crate::files::output;
use crate::files::paths::folder;
use crate::hash::sha256;

/// What `slim` and the examples of the documentation put behind the name of a file, or in the place of its extension, for the
/// name of its archive.
const ARCHIVE_EXTENSIONS: [&str; 3] = ["cut.jsonl", "cut.jsonl.gz", "cut.jsonl.zst"];

/// A text that is restored, as the user gave it.
#[derive(Clone, Copy)]
pub(super) enum GivenText<'t> {
    InMemory(&'t [u8]),
    Large(&'t LargeText),
}

/// Refuses a restore that takes for growth what a later run left, which another archive tells: one beside the file, beside a file
/// that the records of the `used` archive name, or beside that archive, where such a file may have stood. A text of standard
/// input has no `path`. `done` is what was put back.
///
/// # Errors
/// There is such an archive.
pub(super) fn refuse_before_later_archive(
    path: Option<&Path>,
    used: &Path,
    text: GivenText<'_>,
    done: &RestoredRounds,
) -> Result<()> {
    for OtherArchive { file, archive } in other_archives(path, used, done) {
        let Ok(mut other) = Archive::open(&archive) else { continue };
        if has_later_run(&mut other, &file, text, done)? {
            let (given, other) = (path.map_or("-".into(), Path::to_string_lossy), archive.display());
            let message = format!("{given}: a later run on it is in {other}; restore by that archive first");
            return Err(Failure::unreadable(message).into());
        }
    }
    Ok(())
}

/// Another archive that proves a run on what was put back: the `used` archive goes on before that run. It is looked for in the
/// same places.
pub(super) fn archive_of_run_before(
    path: Option<&Path>,
    used: &Path,
    restored: &mut Restored<'_>,
    done: &RestoredRounds,
) -> Option<PathBuf> {
    for OtherArchive { file, archive: other } in other_archives(path, used, done) {
        restored.join();
        let Ok(mut archive) = Archive::open(&other) else { continue };
        let name = file.display().to_string();
        let mut restorer = Restorer::new(&mut archive, &name, &name, Some(1));
        if let Ok(Some(_)) = restorer.restore_if_any(&restored.text) {
            return Some(other);
        }
    }
    None
}

/// A run between two rounds that were put back, which only another archive has.
pub(super) struct RunBetween {
    /// The number of rounds that were put back behind it.
    pub(super) rounds: usize,
    pub(super) archive: PathBuf,
}

/// The last run between the rounds of an archive on a text: what it left is no growth behind an earlier one of them, and can be
/// the reason why an earlier one is refused. It is looked for in the same places. `done` is what was put back, and `is_refused`
/// says that the rounds before that cannot be.
///
/// # Errors
/// The archive cannot be read again.
pub(super) fn run_between(
    path: Option<&Path>,
    archive: &mut Archive<'_>,
    name: &str,
    text: &[u8],
    done: &RestoredRounds,
    is_refused: bool,
) -> Result<Option<RunBetween>> {
    if done.grown == 0 && !is_refused {
        return Ok(None);
    }
    let others = other_archives(path, archive.path, done);
    let mut opened = Vec::new();
    for OtherArchive { file, archive: other } in &others {
        if let Ok(other) = Archive::open(other)
            && other.has_run_between(archive, &done.newest_run_time)
        {
            opened.push((file, other));
        }
    }
    if opened.is_empty() {
        return Ok(None);
    }
    let mut later = Cow::Borrowed(text);
    for rounds in 0..done.rounds + usize::from(is_refused) {
        let mut restorer = Restorer::new(archive, name, name, Some(1));
        let restored = restorer.restore_if_any(&later);
        let is_proved = matches!(restored, Ok(Some(_)));
        // What is behind the first round is looked for elsewhere, and behind one that the hash of the text proves there is nothing.
        if rounds > 0 && (!is_proved || restorer.done.grown > 0) {
            for (file, other) in &mut opened {
                if has_later_run(other, file, GivenText::InMemory(&later), &restorer.done)? {
                    return Ok(Some(RunBetween { rounds, archive: other.path.to_owned() }));
                }
            }
        }
        let Ok(Some(mut restored)) = restored else { break };
        restored.join();
        later = Cow::Owned(restored.text.into_owned());
    }
    Ok(None)
}

/// An archive that a file may have.
struct OtherArchive {
    file: PathBuf,
    archive: PathBuf,
}

/// The archives that may be of a text, without the `used` one: those beside its file, and beside the files that the records
/// name.
fn other_archives(path: Option<&Path>, used: &Path, done: &RestoredRounds) -> Vec<OtherArchive> {
    let mut files = BTreeSet::new();
    if let Some(path) = path {
        // The path can be a link to the file.
        files.extend([path.to_owned(), fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())]);
    }
    for file in &done.files {
        let file = PathBuf::from(file);
        files.extend(file.file_name().map(|name| folder(used).join(name)));
        files.insert(file);
    }
    let mut others = Vec::new();
    for file in files {
        for archive in archives_beside(&file) {
            if archive.is_file() && !output::same_place(&archive, used) {
                others.push(OtherArchive { file: file.clone(), archive });
            }
        }
    }
    others
}

/// The archives that a file may have.
fn archives_beside(file: &Path) -> Vec<PathBuf> {
    let mut archives = Vec::new();
    for extension in ARCHIVE_EXTENSIONS {
        let mut behind_name = file.as_os_str().to_owned();
        behind_name.push(".");
        behind_name.push(extension);
        archives.extend([PathBuf::from(behind_name), file.with_extension(extension)]);
    }
    archives
}

/// Whether an archive has the last run on a text: the text is as that left it, or it is later than those that were put back.
fn has_later_run(archive: &mut Archive<'_>, file: &Path, text: GivenText<'_>, done: &RestoredRounds) -> Result<bool> {
    let name = file.display().to_string();
    if let GivenText::InMemory(bytes) = text
        && !archive.broken.is_empty()
    {
        // Nothing can have been written behind a run that left exactly this text.
        let hash = sha256(bytes);
        if archive.broken.iter().any(|broken| broken.left(&hash)) {
            return Ok(true);
        }
    }
    let in_memory = match text {
        GivenText::InMemory(bytes) if archive.range_runs.is_empty() => bytes,
        GivenText::InMemory(bytes) => {
            let text = LargeText::of_bytes(bytes)?;
            return Ok(RangeRestorer::new(archive, &name, &name, None).has_run_after(&text, done));
        }
        GivenText::Large(text) => {
            return Ok(RangeRestorer::new(archive, &name, &name, None).has_run_after(text, done));
        }
    };
    let mut restorer = Restorer::new(archive, &name, &name, Some(1));
    let is_proved = restorer.restore_if_any(in_memory).is_ok_and(|restored| restored.is_some());
    Ok(is_proved && (restorer.done.grown == 0 || restorer.done.newest_run_time > done.newest_run_time))
}
