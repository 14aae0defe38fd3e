//! Files that are written beside their place, and take it once they are whole.
//!
//! An interrupt removes them. If the program is killed they stay, without a lock, and a later run removes them.

use std::fs::{self, File, FileTimes, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::files::paths::folder;
use crate::files::readers::Readers;
use crate::interrupt::Temporary;

/// The first and last characters of the names of unfinished files.
const NAME: (&str, &str) = (".tcompact-", ".part");
/// The number of random letters and digits between them.
const RANDOM: usize = 6;

/// A new file that is not in its place yet.
pub(crate) struct AtomicFile {
    /// The unfinished file, which is locked.
    pub(crate) file: NamedTempFile,
    place: PathBuf,
    /// Who may read it.
    readers: Readers,
    _registered: Temporary,
}

impl AtomicFile {
    /// Creates a file in the folder of `place`, so that it can take the place in one step. Creates the folder if it
    /// does not exist. It is private until it is finished.
    ///
    /// # Errors
    /// The file cannot be created.
    pub(crate) fn beside(place: &Path, readers: &Readers) -> io::Result<Self> {
        let make = || Temporary::create(|| builder(readers).tempfile_in(folder(place)));
        let (file, registered) = match make() {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                fs::create_dir_all(folder(place))?;
                make()?
            }
            made => made?,
        };
        // On a system without locks, `tidy` removes no file of a running program either: its own lock fails.
        let _ = file.as_file().lock();
        if !file.path().exists() {
            return AtomicFile::beside(place, readers);
        }
        Ok(AtomicFile { file, place: place.to_owned(), readers: readers.clone(), _registered: registered })
    }

    /// Returns the place that it will take.
    pub(crate) fn place(&self) -> &Path {
        &self.place
    }

    /// Lets its readers read it, sets the times of `like`, and syncs the file.
    ///
    /// # Errors
    /// The system refuses one of these.
    pub(crate) fn finish(&self, like: Option<&Metadata>) -> io::Result<()> {
        let file = self.file.as_file();
        self.readers.apply(file, fs::metadata(&self.place).ok().as_ref())?;
        if let Some((modified, accessed)) = like.and_then(|like| like.modified().ok().zip(like.accessed().ok())) {
            file.set_times(FileTimes::new().set_modified(modified).set_accessed(accessed))?;
        }
        file.sync_all()
    }

    /// Takes its place once it is finished.
    ///
    /// # Errors
    /// It cannot; the file there stays unchanged.
    pub(crate) fn persist(self) -> io::Result<()> {
        self.file.persist(&self.place).map(drop).map_err(|error| error.error)
    }

    /// Takes a place where no file is.
    ///
    /// # Errors
    /// A file exists there, or it cannot be created.
    pub(crate) fn persist_new(self) -> io::Result<()> {
        self.file.persist_noclobber(&self.place).map(drop).map_err(|error| error.error)
    }
}

/// Whether a file name is one of an unfinished file.
pub(crate) fn is_unfinished(name: &str) -> bool {
    let random = name.strip_prefix(NAME.0).and_then(|name| name.strip_suffix(NAME.1));
    random.is_some_and(|random| random.len() == RANDOM && random.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

/// Removes the unfinished files in a folder that no running program holds.
pub(crate) fn tidy(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_ours = entry.file_name().to_str().is_some_and(is_unfinished);
        if !is_ours || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        let is_held = |file: File| file.try_lock().is_err();
        if !OpenOptions::new().write(true).open(entry.path()).map_or(true, is_held) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Returns a builder of files, which are private, or which the system makes as readable as any other.
fn builder<'n>(readers: &Readers) -> tempfile::Builder<'n, 'n> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(NAME.0).rand_bytes(RANDOM).suffix(NAME.1);
    #[cfg(unix)]
    if matches!(readers, Readers::Usual) {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    #[cfg(not(unix))]
    let _ = readers;
    builder
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_behind_goes_and_what_is_held_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let held = AtomicFile::beside(&folder.path().join("deep/a.json"), &Readers::default()).expect("made");
        let within = folder.path().join("deep");
        fs::write(within.join(".tcompact-abcdef.part"), "left behind").expect("written");
        for other in [".tcompact-backup", "a.part", ".tcompact-notes.json"] {
            fs::write(within.join(other), "the user's own").expect("written");
        }
        tidy(&within);
        assert_eq!(fs::read_dir(&within).expect("a folder").count(), 4);
        assert!(held.file.path().exists());
        held.finish(None).and_then(|()| held.persist()).expect("it takes its place");
        assert!(within.join("a.json").is_file());
    }

    #[cfg(unix)]
    #[test]
    fn nobody_reads_more_than_before() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path().join("a.json");
        fs::write(&place, "private").expect("written");
        fs::set_permissions(&place, fs::Permissions::from_mode(0o600)).expect("a mode");
        let like = fs::metadata(&place).expect("there");
        let new = AtomicFile::beside(&place, &Readers::of_result(Some(&place))).expect("made");
        let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
        assert_eq!(mode(new.file.path()), 0o600);
        new.finish(Some(&like)).and_then(|()| new.persist()).expect("it takes its place");
        assert_eq!(mode(&place), 0o600);
    }
}
