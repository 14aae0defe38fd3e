//! Files that are written beside their place, and take it once they are whole.
//!
//! An interrupt removes them. If the program is killed they stay, without a lock, and a later run removes them.
//!
//! Also: who may read what is written: a result as many as its input, any other new file its owner alone.

use std::fs::{self, File, FileTimes, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::files::attributes;
use crate::files::paths::{FileId, folder};
use crate::interrupt::Temporary;
use crate::standard_streams::metadata_of_stdin;

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
        let (file, registered) = match create_in(folder(place), readers) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                fs::create_dir_all(folder(place))?;
                create_in(folder(place), readers)?
            }
            created => created?,
        };
        // On a system without locks, `tidy` removes no file of a running program either: its own lock fails.
        let _ = file.as_file().lock();
        if !file.path().exists() {
            return AtomicFile::beside(place, readers);
        }
        Ok(AtomicFile { file, place: place.to_owned(), readers: readers.clone(), _registered: registered })
    }

    pub(crate) fn place(&self) -> &Path {
        &self.place
    }

    /// Lets its readers read it, sets the times of `like`, and syncs the file. Where it replaces its input, it keeps the
    /// extended attributes.
    ///
    /// # Errors
    /// The system refuses one of these.
    pub(crate) fn finish(&self, like: Option<&Metadata>) -> io::Result<()> {
        let file = self.file.as_file();
        let earlier = fs::metadata(&self.place).ok();
        self.readers.apply(file, earlier.as_ref())?;
        if earlier.is_some_and(|earlier| self.readers.are_of(&earlier)) {
            attributes::copy(&self.place, file);
        }
        if let Some(like) = like
            && let (Ok(modified), Ok(accessed)) = (like.modified(), like.accessed())
        {
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
    let Some(name) = name.strip_prefix(NAME.0) else { return false };
    let Some(random) = name.strip_suffix(NAME.1) else { return false };
    random.len() == RANDOM && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Removes the unfinished files in a folder that no running program holds.
pub(crate) fn tidy(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_ours = entry.file_name().to_str().is_some_and(is_unfinished);
        if !is_ours || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        if can_be_locked(&entry.path()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Whether a file can be opened and locked: no running program holds it. It is closed again.
fn can_be_locked(path: &Path) -> bool {
    match OpenOptions::new().write(true).open(path) {
        Ok(file) => file.try_lock().is_ok(),
        Err(_) => false,
    }
}

/// Creates an unfinished file in a folder.
fn create_in(folder: &Path, readers: &Readers) -> io::Result<(NamedTempFile, Temporary)> {
    Temporary::create(|| builder(readers).tempfile_in(folder))
}

/// A builder of files, which are private, or which the system makes as readable as any other.
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

/// Who may read a new file.
#[derive(Debug, Clone, Default)]
pub(crate) enum Readers {
    /// Its owner alone: it stands beside a result.
    #[default]
    Owner,
    /// Those who may read its input.
    OfInput(Box<Metadata>),
    /// Whoever may read new files: its input is a pipe.
    Usual,
}

impl Readers {
    /// The readers of a result by its input, which is standard input if there is no path.
    pub(crate) fn of_result(input: Option<&Path>) -> Self {
        let metadata = match input {
            Some(input) if input.as_os_str() != "-" => fs::metadata(input).ok(),
            _ => metadata_of_stdin(),
        };
        Readers::of_file(metadata)
    }

    /// The readers of a result by what its input is, if that is known.
    pub(crate) fn of_file(input: Option<Metadata>) -> Self {
        match input {
            Some(input) if input.is_file() => Readers::OfInput(Box::new(input)),
            _ => Readers::Usual,
        }
    }

    /// Whether a file is the input.
    fn are_of(&self, file: &Metadata) -> bool {
        let Readers::OfInput(input) = self else { return false };
        let id = FileId::of(file);
        id.is_some() && id == FileId::of(input)
    }

    /// Sets the owner of a file to that of the `earlier` one, whose place it takes, as far as the system lets us, and its
    /// mode to what both the earlier file and the input have. Where that cannot be done it stays private.
    #[cfg(unix)]
    pub(super) fn apply(&self, file: &File, earlier: Option<&Metadata>) -> io::Result<()> {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
        if let Some(earlier) = earlier {
            // Only root can change the owner. An owner can choose among the own groups.
            if fchown(file, Some(earlier.uid()), Some(earlier.gid())).is_err() {
                let _ = fchown(file, None, Some(earlier.gid()));
            }
        }
        let input = if let Readers::OfInput(input) = self { Some(&**input) } else { None };
        let group = file.metadata()?.gid();
        let mut mode = None;
        for like in [earlier, input].into_iter().flatten() {
            let allowed = mode_in_group(like.mode(), like.gid() == group);
            mode = Some(mode.unwrap_or(allowed) & allowed);
        }
        if let Some(mode) = mode {
            // Some file systems have no permissions.
            let _ = file.set_permissions(fs::Permissions::from_mode(mode));
        }
        Ok(())
    }

    /// Permissions have no groups there.
    #[cfg(not(unix))]
    pub(super) fn apply(&self, _file: &File, _earlier: Option<&Metadata>) -> io::Result<()> {
        Ok(())
    }
}

/// The mode of a file like one of this mode, in its group or in another one.
#[cfg(unix)]
fn mode_in_group(mode: u32, is_same: bool) -> u32 {
    // Members of one group are others for files of another group.
    let both = mode >> 3 & mode & 0o7;
    if is_same { mode & 0o777 } else { mode & 0o700 | both << 3 | both }
}

/// Makes a file that `options` create private from the first moment. An earlier one has the permissions that the user gave
/// it.
pub(crate) fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

#[cfg(all(test, unix))]
mod mode_tests {
    use super::*;

    #[test]
    fn another_group_may_do_what_all_may() {
        for (mode, is_same, expected) in [
            (0o664, true, 0o664),
            (0o640, false, 0o600),
            (0o664, false, 0o644),
            (0o604, false, 0o600),
            (0o6755, true, 0o755),
        ] {
            assert_eq!(mode_in_group(mode, is_same), expected, "{mode:o}");
        }
    }
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
