//! The other archives beside a file: one of them may have a later run on the text than the archive that was named.

use std::path::{Path, PathBuf};

use crate::diagnostic::Advice;
use crate::engine::archive::Archive;
use crate::engine::restorer::Restorer;
use crate::events::RestoredRounds;
use crate::exit::Failure;
use crate::files::output;

/// The ends that `slim` and the examples of the documentation give to the name of a file, for its archive.
const ENDS: [&str; 3] = [".cut.jsonl", ".cut.jsonl.gz", ".cut.jsonl.zst"];

/// Refuses a restore that takes for growth what a later run left, which another archive beside the file tells. `text` is that of
/// the file, and `done` what the archive `used` put back.
///
/// # Errors
/// There is such an archive.
pub(in crate::engine) fn refuse_earlier_archive(
    path: &Path,
    used: &Path,
    text: &[u8],
    done: &RestoredRounds,
) -> Result<(), Failure> {
    for end in ENDS {
        let mut other = path.as_os_str().to_owned();
        other.push(end);
        let other = PathBuf::from(other);
        if other.is_file() && !output::same_place(&other, used) && has_later_run(&other, path, text, done) {
            let (other, path) = (other.display().to_string(), path.display().to_string());
            let message = format!("{path}: a later run on it is in {other}; restore by that archive first");
            return Err(Failure::unreadable(message).try_next(Advice::command(["restore", "-i", &other, &path])));
        }
    }
    Ok(())
}

/// Whether an archive has the last run on a text: the text is as that left it, or it is later than those that were put back.
fn has_later_run(archive: &Path, path: &Path, text: &[u8], done: &RestoredRounds) -> bool {
    let Ok(mut archive) = Archive::open(archive) else { return false };
    let name = path.display().to_string();
    let mut restorer = Restorer::new(&mut archive, &name, &name, Some(1));
    let is_proved = restorer.restore_if_any(text).is_ok_and(|restored| restored.is_some());
    is_proved && (restorer.done.grown == 0 || restorer.done.last_time > done.last_time)
}
