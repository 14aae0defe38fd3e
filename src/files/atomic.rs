//! Files that are written beside their place and take it when they are whole.
//!
//! They go with the program if that is interrupted. A program that is killed leaves them behind, and a later run takes them
//! away: nobody holds the lock on them any longer.

use std::fs::{self, File, FileTimes, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::interrupt::Temporary;

/// What the name of such a file begins and ends with.
const NAME: (&str, &str) = (".tcompact-", ".part");

/// A new file that is not in its place yet.
pub(crate) struct AtomicFile {
    /// The file.
    pub(crate) file: NamedTempFile,
    place: PathBuf,
    _goes: Temporary,
}

impl AtomicFile {
    /// A file in the same folder, which is made if it is not there, so that it can take its place in one step. Nobody can
    /// read it who cannot read `like`.
    ///
    /// # Errors
    /// No file can be made there.
    pub(crate) fn beside(place: &Path, like: Option<&Metadata>) -> io::Result<Self> {
        let make = || Temporary::of(|| builder(place, like).tempfile_in(folder(place)));
        let (file, goes) = match make() {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                fs::create_dir_all(folder(place))?;
                make()?
            }
            made => made?,
        };
        // Where there are no locks, nobody takes it for left behind either.
        let _ = file.as_file().lock();
        if !file.path().exists() {
            return AtomicFile::beside(place, like);
        }
        Ok(AtomicFile { file, place: place.to_owned(), _goes: goes })
    }

    /// The place that it is to take.
    pub(crate) fn place(&self) -> &Path {
        &self.place
    }

    /// Gives it the mode, owner and times of `like`, or else the mode of what it takes the place of, and has the disk hold
    /// it.
    ///
    /// # Errors
    /// The disk cannot.
    pub(crate) fn finish(&self, like: Option<&Metadata>) -> io::Result<()> {
        let file = self.file.as_file();
        if let Some(metadata) = like.cloned().or_else(|| fs::metadata(&self.place).ok()) {
            let own = file.metadata()?;
            #[cfg(unix)]
            {
                use std::os::unix::fs::MetadataExt;
                let owner = |of: &Metadata| (of.uid(), of.gid());
                if owner(&own) != owner(&metadata) {
                    // Only the owner of the machine can give files away.
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

    /// Has it take its place, after `then` has seen it under the name that it has until then.
    ///
    /// # Errors
    /// It cannot; what was there is as it was.
    pub(crate) fn replace(self, like: Option<&Metadata>, then: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
        self.finish(like)?;
        then(self.file.path())?;
        self.file.persist(&self.place).map(drop).map_err(|error| error.error)
    }

    /// Has it take a place where nothing is.
    ///
    /// # Errors
    /// Something is there, or it cannot be put there.
    pub(crate) fn persist_new(self) -> io::Result<()> {
        self.file.persist_noclobber(&self.place).map(drop).map_err(|error| error.error)
    }
}

/// Takes from a new file the rights that nobody has on `like`.
pub(super) fn as_private_as(file: &File, like: Option<&Path>) -> io::Result<()> {
    #[cfg(unix)]
    if let Some(like) = like.and_then(|like| fs::metadata(like).ok()) {
        use std::os::unix::fs::PermissionsExt;
        let own = file.metadata()?.permissions().mode();
        file.set_permissions(fs::Permissions::from_mode(own & like.permissions().mode()))?;
    }
    Ok(())
}

/// Whether a file is one that is not finished, or was never.
pub(crate) fn is_unfinished(name: &str) -> bool {
    name.starts_with(NAME.0) && name.ends_with(NAME.1)
}

/// Takes away what runs that were killed left behind in a folder.
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

/// A file with the mode of any new file, but no more than `like`, or what it takes the place of, has.
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

/// The folder that a path is in.
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
