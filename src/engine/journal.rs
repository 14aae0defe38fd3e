//! The journal of a directory: a line for each file that a run has finished, so that a later run can skip it.
//!
//! A line only counts while the file still holds what the run wrote.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::engine::inputs::{OWN_FOLDER, real};
use crate::events::FinishedRow;
use crate::exit::Failure;
use crate::files::paths;
use crate::files::paths::{FileId, hash_of};
use crate::hash::sha256;
use crate::interrupt;
use crate::sync::lock;
use crate::wording::reason;

/// The name of the journal in [`OWN_FOLDER`].
const NAME: &str = "journal.jsonl";
/// The folder beside the journal that caches paid summaries.
pub(super) const SUMMARIES: &str = "summaries";

/// How often a lock is tried, and the pause after each attempt. A command that an ended run was just starting can hold
/// the lock for a moment.
const ATTEMPTS: u32 = 10;
const PAUSE: Duration = Duration::from_millis(50);

/// A file that is finished, or that is replaced right after the note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finished {
    /// The file that was written; relative to the directory of the journal if it lies there.
    pub path: String,
    /// Hash of the input as read.
    pub input: String,
    /// Hash of the rules.
    pub rules: String,
    /// Hash of the result.
    pub output: String,
    /// The report rows of its conversations; none if they were too many.
    #[serde(default)]
    pub(crate) rows: Vec<FinishedRow>,
}

/// The journal of an output directory. Only one run at a time can hold it.
#[derive(Debug)]
pub struct Journal {
    home: PathBuf,
    rules: String,
    file: Mutex<File>,
    /// Where the last note on each file stands in the journal. A note with its rows is some kilobytes in memory.
    finished: HashMap<String, Range<u64>>,
    /// Whether this run replaced a file: nothing but the journal shows that afterwards.
    has_replaced: AtomicBool,
}

/// A file whose result is written.
pub struct FinishedFile<'f> {
    /// The real path of the result.
    pub real_path: &'f Path,
    /// The hash of what was read.
    pub read: &'f str,
    /// The hash of the result.
    pub result: &'f str,
}

impl Journal {
    /// Opens the journal of a directory for a run with these rules. Creates both if they do not exist.
    ///
    /// # Errors
    /// They cannot be written; or another run holds the journal.
    pub fn open(home: &Path, rules: &str) -> Result<Self> {
        let Some(mut file) = open_locked(home).map_err(|error| unusable(home, &error))? else {
            let message = format!("another run of tcompact is writing to {}; let it end first", home.display());
            return Err(Failure::unreadable(message).into());
        };
        let finished = read(&mut file).map_err(|error| unusable(home, &error))?;
        let home = real(home);
        let folder = home.join(OWN_FOLDER);
        interrupt::remove_if_empty(vec![folder.join(SUMMARIES), folder.join(NAME), folder]);
        Ok(Journal {
            home,
            rules: sha256(rules.as_bytes()),
            file: Mutex::new(file),
            finished,
            has_replaced: AtomicBool::new(false),
        })
    }

    /// The note on `output`, which may be `input` itself, if it already is the result of `input` by these rules.
    pub fn find(&self, input: &Path, output: &Path, real_output: &Path) -> Option<Finished> {
        let place = self.finished.get(&self.name(real_output))?;
        let line = self.line_at(place).ok()?;
        if line.rules != self.rules || !has_hash(output, &line.output) {
            return None;
        }
        if input == output || has_hash(input, &line.input) { Some(line) } else { None }
    }

    fn line_at(&self, place: &Range<u64>) -> io::Result<Finished> {
        let mut line = Vec::new();
        let mut file = lock(&self.file);
        file.seek(SeekFrom::Start(place.start))?;
        (&*file).take(place.end - place.start).read_to_end(&mut line)?;
        serde_json::from_slice(&line).map_err(io::Error::other)
    }

    /// Notes that a file is written, with the rows of its conversations; with `certain`, that it is about to be replaced.
    ///
    /// # Errors
    /// The note cannot be written.
    pub fn note(&self, file: &FinishedFile<'_>, rows: Vec<FinishedRow>, certain: bool) -> io::Result<()> {
        let line = Finished {
            path: self.name(file.real_path),
            input: file.read.to_owned(),
            rules: self.rules.clone(),
            output: file.result.to_owned(),
            rows,
        };
        let line = serde_json::to_string(&line).map_err(io::Error::other)? + "\n";
        let mut file = lock(&self.file);
        file.write_all(line.as_bytes())?;
        self.has_replaced.fetch_or(certain, Ordering::Relaxed);
        if certain { file.sync_data() } else { Ok(()) }
    }

    /// Removes the journal after a run that paid for nothing: its work is repeated as fast as it is looked up. A
    /// journal stays if it has notes of an earlier run or of replaced files.
    pub(crate) fn remove_if_free(self) {
        if self.finished.is_empty() && !self.has_replaced.load(Ordering::Relaxed) {
            self.remove();
        }
    }

    fn remove(&self) {
        let folder = self.home.join(OWN_FOLDER);
        // The journal stays beside summaries of another run.
        let _ = fs::remove_dir(folder.join(SUMMARIES));
        if !folder.join(SUMMARIES).exists() {
            let _ = fs::remove_file(folder.join(NAME)).and_then(|()| fs::remove_dir(&folder));
        }
    }

    fn name(&self, real_path: &Path) -> String {
        real_path.strip_prefix(&self.home).unwrap_or(real_path).display().to_string()
    }
}

impl Drop for Journal {
    /// Removes a journal without a note, however the run ended. One that another run made in its place stays.
    fn drop(&mut self) {
        let is_empty = {
            let file = lock(&self.file);
            let is_there = is_at(&file, &self.home.join(OWN_FOLDER).join(NAME)).unwrap_or(false);
            is_there && file.metadata().is_ok_and(|there| there.len() == 0)
        };
        if is_empty {
            self.remove();
        }
    }
}

fn unusable(home: &Path, error: &io::Error) -> Failure {
    Failure::unreadable(format!("{} cannot be written to: {}", home.display(), reason(error)))
}

/// Whether a file has what this hash is of.
fn has_hash(path: &Path, expected: &str) -> bool {
    hash_of(path).is_ok_and(|found| found == expected)
}

/// Opens the file of a journal, and creates it and its folder if they do not exist.
fn open_or_create(home: &Path, folder: &Path, path: &Path) -> io::Result<File> {
    paths::refuse_links(home, path)?;
    fs::create_dir_all(home)?;
    make_own(folder)?;
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.read(true).append(true).create(true).open(path)
}

/// Opens the file of a journal and locks it; returns nothing if another run keeps the lock.
fn open_locked(home: &Path) -> io::Result<Option<File>> {
    let folder = home.join(OWN_FOLDER);
    let path = folder.join(NAME);
    loop {
        let file = match open_or_create(home, &folder, &path) {
            // A run that ends can remove the folder between the two steps.
            Err(error) if error.kind() == io::ErrorKind::NotFound => open_or_create(home, &folder, &path)?,
            opened => opened?,
        };
        if !lock_soon(&file) {
            return Ok(None);
        }
        // A run that ends can remove the file while others wait for its lock; a third run may then have made another.
        if is_at(&file, &path)? {
            return Ok(Some(file));
        }
    }
}

/// Locks a file, and returns whether that succeeded soon. A system without locks counts as success.
fn lock_soon(file: &File) -> bool {
    for _ in 0..ATTEMPTS {
        let is_held = matches!(file.try_lock(), Err(fs::TryLockError::WouldBlock));
        if !is_held {
            return true;
        }
        thread::sleep(PAUSE);
    }
    false
}

/// Whether a path still leads to an open file.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let Ok(there) = fs::metadata(path) else { return Ok(false) };
    Ok(FileId::of(&there) == FileId::of(&file.metadata()?))
}

/// Makes a private folder if it does not exist: it can hold summaries of files that only their owner may read.
fn make_own(folder: &Path) -> io::Result<()> {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "only Unix has modes"))]
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists || !folder.is_dir() => Err(error),
        _ => Ok(()),
    }
}

/// Where the last note on each file stands. Skips lines that an interrupted run did not finish.
fn read(file: &mut File) -> io::Result<HashMap<String, Range<u64>>> {
    let mut finished = HashMap::new();
    let mut lines = BufReader::new(&mut *file);
    let (mut line, mut start) = (Vec::new(), 0);
    while lines.read_until(b'\n', &mut line)? > 0 {
        let end = start + line.len() as u64;
        if let Ok(note) = serde_json::from_slice::<Finished>(&line) {
            finished.insert(note.path, start..end);
        }
        if !line.ends_with(b"\n") {
            file.write_all(b"\n")?;
            break;
        }
        line.clear();
        start = end;
    }
    Ok(finished)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The second run waits for a journal that the first one removes, while a third run makes a new one.
    #[cfg(unix)]
    #[test]
    fn two_runs_never_hold_one_journal() {
        let home = tempfile::tempdir().expect("a folder");
        let path = home.path().join(OWN_FOLDER).join(NAME);
        let first = Journal::open(home.path(), "rules").expect("a journal");
        thread::scope(|scope| {
            let second = scope.spawn(|| Journal::open(home.path(), "rules"));
            // The second run has opened the first file by then.
            thread::sleep(2 * PAUSE);
            fs::remove_file(&path).expect("removed");
            let third = Journal::open(home.path(), "rules").expect("a new journal");
            drop(first);
            let refused = second.join().expect("no panic").expect_err("the third run holds the journal");
            assert!(refused.to_string().contains("another run"), "{refused}");
            drop(third);
        });
        assert!(Journal::open(home.path(), "rules").is_ok());
    }

    #[test]
    fn a_removed_file_is_at_no_path() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(NAME);
        let file = File::create(&path).expect("made");
        assert!(is_at(&file, &path).expect("metadata"));
        fs::rename(&path, folder.path().join("moved")).expect("moved");
        assert!(!is_at(&file, &path).expect("metadata"));
    }
}
