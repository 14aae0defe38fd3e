//! The other archives beside a file: one of them may have a later run on the text than the archive that was named.

use std::fs;
use std::path::{Path, PathBuf};

use crate::engine::archive::Archive;
use crate::engine::restorer::Restorer;
use crate::events::RestoredRounds;
use crate::exit::Failure;
use crate::files::output;

/// What `slim` and the examples of the documentation put behind the name of a file, or in the place of its extension, for the
/// name of its archive.
const ARCHIVE_EXTENSIONS: [&str; 3] = ["cut.jsonl", "cut.jsonl.gz", "cut.jsonl.zst"];

/// Refuses a restore that takes for growth what a later run left, which another archive beside the file tells. `text` is that of
/// the file, and `done` what the archive `used` put back.
///
/// # Errors
/// There is such an archive.
pub(in crate::engine) fn refuse_before_later_archive(
    path: &Path,
    used: &Path,
    text: &[u8],
    done: &RestoredRounds,
) -> Result<(), Failure> {
    // The path can be a link to the file.
    let canonical = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    for file in [path, &canonical] {
        for other in archives_beside(file) {
            if other.is_file() && !output::same_place(&other, used) && has_later_run(&other, file, text, done) {
                let (path, other) = (path.display(), other.display());
                let message = format!("{path}: a later run on it is in {other}; restore by that archive first");
                return Err(Failure::unreadable(message));
            }
        }
    }
    Ok(())
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
fn has_later_run(archive: &Path, path: &Path, text: &[u8], done: &RestoredRounds) -> bool {
    let Ok(mut archive) = Archive::open(archive) else { return false };
    let name = path.display().to_string();
    let mut restorer = Restorer::new(&mut archive, &name, &name, Some(1));
    let is_proved = restorer.restore_if_any(text).is_ok_and(|restored| restored.is_some());
    is_proved && (restorer.done.grown == 0 || restorer.done.newest_run_time > done.newest_run_time)
}
