//! Files that are written beside their place, and take it once they are whole.
//!
//! An interrupt removes them. If the program is killed they stay, without a lock, and a later run removes them.

use std::fs::{self, File, FileTimes, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::interrupt::Temporary;

/// The first and last characters of the names of unfinished files.
const NAME: (&str, &str) = (".tcompact-", ".part");

/// A new file that is not in its place yet.
pub(crate) struct AtomicFile {
    /// The unfinished file, which is locked.
    pub(crate) file: NamedTempFile,
    place: PathBuf,
    _registered: Temporary,
}

impl AtomicFile {
    /// Creates a file in the folder of `place`, so that it can take the place in one step. Creates the folder if it
    /// does not exist. Only users who can read `like` can read the file.
    ///
    /// # Errors
    /// The file cannot be created.
    pub(crate) fn beside(place: &Path, like: Option<&Metadata>) -> io::Result<Self> {
        let make = || Temporary::create(|| builder(place, like).tempfile_in(folder(place)));
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
            return AtomicFile::beside(place, like);
        }
        Ok(AtomicFile { file, place: place.to_owned(), _registered: registered })
    }

    /// Returns the place that it will take.
    pub(crate) fn place(&self) -> &Path {
        &self.place
    }

    /// Sets the mode, owner and times of `like`, or else the mode of the file in its place, and syncs the file.
    ///
    /// # Errors
    /// The system refuses one of these.
    pub(crate) fn finish(&self, like: Option<&Metadata>) -> io::Result<()> {
        let file = self.file.as_file();
        if let Some(metadata) = like.cloned().or_else(|| fs::metadata(&self.place).ok()) {
            let own = file.metadata()?;
            #[cfg(unix)]
            {
                use std::os::unix::fs::MetadataExt;
                let owner = |of: &Metadata| (of.uid(), of.gid());
                if owner(&own) != owner(&metadata) {
                    // Only root can change the owner.
                    let _ = std::os::unix::fs::fchown(file, Some(metadata.uid()), Some(metadata.gid()));
                }
            }
            if own.permissions() != metadata.permissions() {
                file.set_permissions(metadata.permissions())?;
            }
        }
        if let Some((modified, accessed)) = like.and_then(|like| like.modified().ok().zip(like.accessed().ok())) {
            file.set_times(FileTimes::new().set_modified(modified).set_accessed(accessed))?;
        }
        file.sync_all()
    }

    /// Takes its place. Calls `then` before, with the path that the file has until then.
    ///
    /// # Errors
    /// It cannot take its place, or `then` failed; the file there stays unchanged.
    pub(crate) fn replace(self, like: Option<&Metadata>, then: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
        self.finish(like)?;
        then(self.file.path())?;
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

/// Removes the permissions from a new file that `like` does not have.
pub(super) fn as_private_as(file: &File, like: Option<&Path>) -> io::Result<()> {
    #[cfg(unix)]
    if let Some(like) = like.and_then(|like| fs::metadata(like).ok()) {
        use std::os::unix::fs::PermissionsExt;
        let own = file.metadata()?.permissions().mode();
        file.set_permissions(fs::Permissions::from_mode(own & like.permissions().mode()))?;
    }
    Ok(())
}

/// Whether a file name is one of an unfinished file.
pub(crate) fn is_unfinished(name: &str) -> bool {
    name.starts_with(NAME.0) && name.ends_with(NAME.1)
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

/// Returns a builder of files with the usual mode, restricted to that of `like` or of the file at `place`.
fn builder<'n>(place: &Path, like: Option<&Metadata>) -> tempfile::Builder<'n, 'n> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(NAME.0).suffix(NAME.1);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let like = like.cloned().or_else(|| fs::metadata(place).ok());
        let mode = like.map_or(0o666, |like| like.permissions().mode() & 0o666);
        builder.permissions(fs::Permissions::from_mode(mode | 0o600));
    }
    #[cfg(not(unix))]
    let _ = (place, like);
    builder
}

/// Returns the folder of a path; `.` for a plain name.
pub(crate) fn folder(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_behind_goes_and_what_is_held_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let held = AtomicFile::beside(&folder.path().join("deep/a.json"), None).expect("made");
        let within = folder.path().join("deep");
        fs::write(within.join(".tcompact-abcdef.part"), "left behind").expect("written");
        for other in [".tcompact-backup", "a.part", ".tcompact-notes.json"] {
            fs::write(within.join(other), "the user's own").expect("written");
        }
        tidy(&within);
        assert_eq!(fs::read_dir(&within).expect("a folder").count(), 4);
        assert!(held.file.path().exists());
        held.replace(None, |_| Ok(())).expect("it takes its place");
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
        let new = AtomicFile::beside(&place, Some(&like)).expect("made");
        let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
        assert_eq!(mode(new.file.path()), 0o600);
        new.replace(Some(&like), |_| Ok(())).expect("it takes its place");
        assert_eq!(mode(&place), 0o600);
    }
}
