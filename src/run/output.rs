//! Writing a result: whole or not at all to a file, quietly to a pipe that may be closed.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::Result;
use tempfile::NamedTempFile;

use crate::exit::Failure;

use super::compression::Compression;
use super::input::plain;

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

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    Failure::unreadable(format!("{} cannot be written: {}", path.display(), plain(error)))
}

/// Writes to a file, compressed if its name says so, or to standard output where there is none.
///
/// # Errors
/// It cannot be written. A closed pipe is no error.
pub fn write(text: &str, output: Option<&Path>) -> Result<()> {
    match output {
        None => {
            let mut stdout = io::stdout().lock();
            match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
                Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                    Err(Failure::unreadable(format!("standard output cannot be written: {}", plain(&error))).into())
                }
                _ => Ok(()),
            }
        }
        Some(path) => {
            let packed = Compression::of_name(path).map(|compression| compression.pack(text.as_bytes())).transpose();
            let written = packed.and_then(|packed| replace(path, packed.as_deref().unwrap_or(text.as_bytes())));
            Ok(written.map_err(|error| unwritable(path, &error))?)
        }
    }
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

/// Puts a new file in the place of `path` once it is complete.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let path = match Target::of(path)? {
        Target::Device(path) => return fs::write(path, bytes),
        Target::File(path) => path,
    };
    let mut file = new_file_beside(&path)?;
    file.write_all(bytes)?;
    if let Ok(metadata) = fs::metadata(&path) {
        file.as_file().set_permissions(metadata.permissions())?;
    }
    file.as_file().sync_all()?;
    file.persist(&path).map_err(|error| error.error)?;
    Ok(())
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
    builder.prefix(".tcompact-").tempfile_in(folder(path))
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
