//! Writing a result: whole or not at all to a file, quietly to a pipe that may be closed.

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::Result;
use tempfile::NamedTempFile;

use crate::exit::Failure;

use super::input::plain;

/// Refuses an output that is the input itself, before anything is done.
///
/// # Errors
/// They are the same file.
pub fn check(input: Option<&Path>, output: Option<&Path>) -> Result<()> {
    let same = |a: &Path, b: &Path| fs::canonicalize(a).ok().zip(fs::canonicalize(b).ok()).is_some_and(|(a, b)| a == b);
    match (input, output) {
        (Some(input), Some(output)) if same(input, output) && output.is_file() => Err(Failure::usage(format!(
            "--output {} is the input itself; write to another file and rename it",
            output.display()
        ))
        .into()),
        _ => Ok(()),
    }
}

/// Writes to a file, or to standard output where there is none.
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
        Some(path) => Ok(replace(path, text).map_err(|error| {
            Failure::unreadable(format!("{} cannot be written: {}", path.display(), plain(&error)))
        })?),
    }
}

/// Puts a new file in the place of `path` once it is complete. What is no regular file (a device, a pipe) is written to
/// as it is, since there is nothing in it to lose.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    // A link is followed, so that it stays one.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let existing = fs::metadata(&path).ok();
    if existing.as_ref().is_some_and(|metadata| metadata.is_dir()) {
        return Err(io::Error::new(ErrorKind::IsADirectory, "it is a directory"));
    }
    if existing.as_ref().is_some_and(|metadata| !metadata.is_file()) {
        return fs::write(&path, text);
    }
    let mut file = NamedTempFile::with_prefix_in(".tcompact-", folder(&path))?;
    file.write_all(text.as_bytes())?;
    let permissions = existing.map_or_else(new_file_permissions, |metadata| Some(metadata.permissions()));
    if let Some(permissions) = permissions {
        file.as_file().set_permissions(permissions)?;
    }
    file.as_file().sync_all()?;
    file.persist(&path).map_err(|error| error.error)?;
    Ok(())
}

fn folder(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => PathBuf::from("."),
        Some(parent) => parent.to_owned(),
        None => PathBuf::from("."),
    }
}

/// What a new file gets: readable as the user's mask says, where temporary files are the user's alone.
#[cfg(unix)]
fn new_file_permissions() -> Option<fs::Permissions> {
    use std::os::unix::fs::PermissionsExt;
    let mask = rustix::process::umask(rustix::fs::Mode::empty());
    rustix::process::umask(mask);
    Some(fs::Permissions::from_mode(0o666 & !mask.bits()))
}

#[cfg(not(unix))]
fn new_file_permissions() -> Option<fs::Permissions> {
    None
}
