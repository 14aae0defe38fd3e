//! Writing a result: whole or not at all to a file, quietly to a pipe that may be closed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::Result;
use tempfile::NamedTempFile;

use crate::exit::Failure;
use crate::interrupt::Temporary;

use super::compression::{Compression, Packing};
use super::input::plain;
use super::inputs::UNFINISHED;
use super::journal::hash_of;

/// How a file of this name is compressed.
pub fn compression_of(path: &Path) -> Option<Compression> {
    Compression::of_name(path)
}

/// Refuses an output that is the input itself or that cannot be written, before anything is done or paid for.
///
/// # Errors
/// Which of the two, and what to do.
pub fn check(input: Option<&Path>, output: Option<&Path>) -> Result<()> {
    let Some(output) = output else { return Ok(()) };
    let same = |a: &Path, b: &Path| fs::canonicalize(a).ok().zip(fs::canonicalize(b).ok()).is_some_and(|(a, b)| a == b);
    if input.is_some_and(|input| same(input, output) && output.is_file()) {
        let message = format!("--output {} is the input itself; write to another file and rename it", output.display());
        return Err(Failure::usage(message).into());
    }
    match Target::of(output) {
        // The file for trying goes as it came.
        Ok(Target::File(path)) => Ok(new_file_beside(&path).map(drop).map_err(|error| unwritable(output, &error))?),
        Ok(Target::Device(_)) => Ok(()),
        Err(error) => Err(unwritable(output, &error).into()),
    }
}

/// The error that a file cannot be written.
pub fn unwritable(path: &Path, error: &io::Error) -> Failure {
    Failure::unreadable(format!("{} cannot be written: {}", path.display(), plain(error)))
}

/// Writes to standard output.
///
/// # Errors
/// It cannot be written. A closed pipe is no error.
pub fn print(text: &str) -> Result<()> {
    printed(text.as_bytes()).map(drop)
}

/// Writes to a file, compressed if its name says so, or to standard output where there is none.
///
/// # Errors
/// It cannot be written. A closed pipe is no error.
pub fn write(text: &str, path: Option<&Path>) -> Result<()> {
    let mut output = Output::begin(path, path.and_then(Compression::of_name))?;
    output.write(text)?;
    output.end(None, |_| Ok(()))
}

/// Writes to standard output at once, and says whether anybody still reads it.
fn printed(bytes: &[u8]) -> Result<bool> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::unreadable(format!("standard output cannot be written: {}", plain(&error))).into()),
    }
}

/// A result as it is written: to standard output at once, to a file when it is whole.
pub struct Output {
    way: Way,
    /// The file, by the name that the user gave it.
    path: PathBuf,
}

enum Way {
    Stdout,
    /// A device or a pipe.
    Device(File),
    File(Unfinished, Option<Box<dyn Packing>>),
}

impl Output {
    /// A result for a file, compressed so, or for standard output.
    ///
    /// # Errors
    /// No file can be made there.
    pub fn begin(path: Option<&Path>, compression: Option<Compression>) -> Result<Self> {
        let Some(path) = path else { return Ok(Output { way: Way::Stdout, path: PathBuf::new() }) };
        let begun = || {
            Ok(match Target::of(path)? {
                Target::Device(path) => Way::Device(OpenOptions::new().write(true).open(path)?),
                Target::File(target) => {
                    let file = Unfinished::beside(&target)?;
                    let packing = compression.map(|compression| compression.writer(file.file.as_file().try_clone()?));
                    Way::File(file, packing.transpose()?)
                }
            })
        };
        let way = begun().map_err(|error| unwritable(path, &error))?;
        Ok(Output { way, path: path.to_owned() })
    }

    /// Writes the next part of it, and says whether anybody still reads it.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&mut self, text: &str) -> Result<bool> {
        let bytes = text.as_bytes();
        let written = match &mut self.way {
            Way::Stdout => return printed(bytes),
            Way::Device(file) => file.write_all(bytes),
            Way::File(_, Some(packing)) => packing.write_all(bytes),
            Way::File(file, None) => file.file.write_all(bytes),
        };
        Ok(written.map(|()| true).map_err(|error| unwritable(&self.path, &error))?)
    }

    /// Has the file take its place, with the mode and the time of `like`. Before that `then` is shown it
    /// under the name that it has until then.
    ///
    /// # Errors
    /// It cannot; what was there is as it was.
    pub fn end(self, like: Option<&Path>, then: impl FnOnce(&Path) -> io::Result<()>) -> Result<()> {
        let ended = || {
            let Way::File(file, packing) = self.way else { return Ok(()) };
            packing.map_or(Ok(()), Packing::end)?;
            file.replace(like, then)
        };
        Ok(ended().map_err(|error| unwritable(&self.path, &error))?)
    }
}

/// Copies a file, with its mode and its time, whole or not at all.
///
/// # Errors
/// It cannot be read or written.
pub fn copy(from: &Path, to: &Path, then: impl FnOnce(&Path) -> io::Result<()>) -> Result<()> {
    let copied = || {
        let Target::File(target) = Target::of(to)? else { return fs::copy(from, to).map(drop) };
        let file = Unfinished::beside(&target)?;
        fs::copy(from, file.file.path())?;
        file.replace(Some(from), then)
    };
    Ok(copied().map_err(|error| unwritable(to, &error))?)
}

/// Refuses a copy that would take the place of another file.
///
/// # Errors
/// There is one, or it cannot be looked at.
pub fn check_copy(from: &Path, to: &Path) -> Result<()> {
    match fs::symlink_metadata(to) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        _ => keep_copy(from, to),
    }
}

/// Makes a copy of a file that never takes the place of another: one that holds the same is as good.
///
/// # Errors
/// There is another, or it cannot be written.
pub fn keep_copy(from: &Path, to: &Path) -> Result<()> {
    let kept = || match fs::symlink_metadata(to) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let file = Unfinished::beside(to)?;
            fs::copy(from, file.file.path())?;
            file.finish(Some(from))?;
            file.file.persist_noclobber(to).map_err(|error| error.error).map(drop)
        }
        Err(error) => Err(error),
        Ok(there) if there.is_file() && hash_of(to)? == hash_of(from)? => Ok(()),
        Ok(_) => {
            Err(io::Error::other("it is there already and holds something else; move it away, or name another suffix"))
        }
    };
    Ok(kept().map_err(|error| unwritable(to, &error))?)
}

/// Where a result goes.
enum Target {
    /// A file that is there or will be; links are followed, so that they stay links.
    File(PathBuf),
    /// A device or a pipe: written to as it is, since there is nothing in it to lose.
    Device(PathBuf),
}

impl Target {
    fn of(path: &Path) -> io::Result<Self> {
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => Err(io::Error::new(ErrorKind::IsADirectory, "it is a directory")),
            // By the name it was given: a pipe's real name is none that a file could be opened by.
            Ok(metadata) if !metadata.is_file() => Ok(Target::Device(path.to_owned())),
            Ok(_) => fs::canonicalize(path).map(Target::File),
            Err(_) => Ok(Target::File(end_of_links(path))),
        }
    }
}

/// Where a chain of links leads that ends in nothing yet.
fn end_of_links(path: &Path) -> PathBuf {
    /// As many as systems follow.
    const LONGEST_CHAIN: usize = 40;
    let mut path = path.to_owned();
    for _ in 0..LONGEST_CHAIN {
        match fs::read_link(&path) {
            Ok(next) => path = folder(&path).join(next),
            Err(_) => break,
        }
    }
    path
}

/// A new file that is not in its place yet. It goes with the program if that is interrupted.
struct Unfinished {
    file: NamedTempFile,
    /// The place.
    path: PathBuf,
    _goes: Temporary,
}

impl Unfinished {
    /// A file in the same folder, which is made if it is not there, so that it can take its place in one step.
    fn beside(path: &Path) -> io::Result<Self> {
        let file = match new_file_beside(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                fs::create_dir_all(folder(path))?;
                new_file_beside(path)?
            }
            file => file?,
        };
        let goes = Temporary::new(file.path());
        Ok(Unfinished { file, path: path.to_owned(), _goes: goes })
    }

    /// Gives it mode and time, and has the disk hold it.
    fn finish(&self, like: Option<&Path>) -> io::Result<()> {
        let file = self.file.as_file();
        let there = fs::metadata(&self.path).ok();
        let like = like.and_then(|like| fs::metadata(like).ok());
        if let Some(metadata) = like.as_ref().or(there.as_ref()) {
            file.set_permissions(metadata.permissions())?;
        }
        if let Some(modified) = like.and_then(|like| like.modified().ok()) {
            file.set_modified(modified)?;
        }
        file.sync_all()
    }

    fn replace(self, like: Option<&Path>, then: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
        self.finish(like)?;
        then(self.file.path())?;
        self.file.persist(&self.path).map(drop).map_err(|error| error.error)
    }
}

/// Makes a new file with what `fill` writes; nobody else's is touched should one appear meanwhile.
pub(super) fn create(path: &Path, fill: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let mut file = new_file_beside(path)?;
    fill(file.as_file_mut())?;
    file.as_file().sync_all()?;
    file.persist_noclobber(path).map_err(|error| error.error)?;
    Ok(())
}

/// Whether two paths lead to the same file, which need not be there yet.
pub(crate) fn same_place(a: &Path, b: &Path) -> bool {
    let place = |path: &Path| {
        let end = end_of_links(path);
        fs::canonicalize(&end).ok().or_else(|| Some(fs::canonicalize(folder(&end)).ok()?.join(end.file_name()?)))
    };
    #[cfg(unix)]
    if let (Ok(a), Ok(b)) = (fs::metadata(a), fs::metadata(b)) {
        use std::os::unix::fs::MetadataExt;
        return (a.dev(), a.ino()) == (b.dev(), b.ino());
    }
    a == b || place(a).zip(place(b)).is_some_and(|(a, b)| a == b)
}

/// Whether a new file can be made in a folder; the one for trying goes as it came.
pub(super) fn can_make_files_in(folder: &Path) -> io::Result<()> {
    new_file_beside(&folder.join("any")).map(drop)
}

/// A file in the same folder, so that it can take the other's place in one step, with the mode of any new file.
fn new_file_beside(path: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.prefix(UNFINISHED).tempfile_in(folder(path))
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
