//! Writing a result: whole or not at all to a file, quietly to a pipe that may be closed.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::diagnostic::quoted;
use crate::exit::Failure;
use crate::wording;
use anyhow::Result;

use crate::files::atomic::{AtomicFile, as_private_as, folder};
use crate::files::compression::{Compression, Compressor};
use crate::files::hash::hash_of;

/// Refuses an output that is the input itself, which is standard input where none is named. `--in-place` is what was meant
/// where it `can_replace` a file.
///
/// # Errors
/// That it is, and what to do.
pub(crate) fn refuse_input(input: Option<&Path>, output: &Path, can_replace: bool) -> Result<()> {
    let same = |a: &Path, b: &Path| fs::canonicalize(a).ok().zip(fs::canonicalize(b).ok()).is_some_and(|(a, b)| a == b);
    let (is_input, what) = match input {
        Some(input) => (same(input, output), "the input itself"),
        None => (is_standard_stream(output, false), "the input itself, which the shell opens for standard input"),
    };
    if !is_input || !output.is_file() {
        return Ok(());
    }
    let name = output.display();
    if !can_replace {
        let message = format!("--output {name} is {what}; write to another file");
        return Err(Failure::usage(message).about("output").into());
    }
    let file = if input.is_none() { format!(" {}", quoted(&name.to_string())) } else { String::new() };
    let message = format!("--output {name} is {what}; --in-place replaces a file");
    Err(Failure::usage(message).about("output").try_next(format!("tcompact --in-place{file}")).into())
}

/// Refuses an output that cannot be written, before anything is done or paid for.
///
/// # Errors
/// That it cannot.
pub(crate) fn check(output: Option<&Path>) -> Result<()> {
    let Some(output) = output else { return Ok(()) };
    match Target::of(output) {
        // The file for trying goes as it came.
        Ok(Target::File(path)) => Ok(can_make_files_in(folder(&path)).map_err(|error| unwritable(output, &error))?),
        Ok(Target::Device(_)) => Ok(()),
        Err(error) => Err(unwritable(output, &error).into()),
    }
}

/// The error that a file cannot be written.
pub(crate) fn unwritable(path: &Path, error: &io::Error) -> Failure {
    Failure::unreadable(wording::unwritable(path.display(), error))
}

/// Writes to standard output.
///
/// # Errors
/// It cannot be written. A closed pipe is no error.
pub(crate) fn print(text: &str) -> Result<()> {
    printed(text.as_bytes()).map(drop)
}

/// Writes to a file, compressed if its name says so, or to standard output where there is none.
///
/// # Errors
/// It cannot be written. A closed pipe is no error.
pub(crate) fn write(text: &str, path: Option<&Path>) -> Result<()> {
    let mut output = Output::begin(path, path.and_then(Compression::of_name), None)?;
    output.write(text.as_bytes())?;
    output.end(None, |_| Ok(()))
}

/// Writes to standard output at once, and says whether anybody still reads it.
fn printed(bytes: &[u8]) -> Result<bool> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::unreadable(wording::unwritable("standard output", &error)).into()),
    }
}

/// A result as it is written: to standard output at once, to a file when it is whole.
pub(crate) struct Output {
    sink: Sink,
    /// The file, by the name that the user gave it.
    path: PathBuf,
}

enum Sink {
    Stdout,
    /// A device or a pipe.
    Device(File),
    File(AtomicFile, Option<Box<dyn Compressor>>),
}

impl Output {
    /// A result for a file, compressed so and as private as `like`, or for standard output.
    ///
    /// # Errors
    /// No file can be made there.
    pub(crate) fn begin(
        path: Option<&Path>,
        compression: Option<Compression>,
        like: Option<&Metadata>,
    ) -> Result<Self> {
        let Some(path) = path else { return Ok(Output { sink: Sink::Stdout, path: PathBuf::new() }) };
        let begun = || {
            Ok(match Target::of(path)? {
                Target::Device(path) => Sink::Device(OpenOptions::new().write(true).open(path)?),
                Target::File(target) => {
                    let file = AtomicFile::beside(&target, like)?;
                    let packing = compression.map(|compression| compression.writer(file.file.as_file().try_clone()?));
                    Sink::File(file, packing.transpose()?)
                }
            })
        };
        let sink = begun().map_err(|error| unwritable(path, &error))?;
        Ok(Output { sink, path: path.to_owned() })
    }

    /// Writes the next parts of it, small ones together, and says whether anybody still reads it.
    ///
    /// # Errors
    /// They cannot be written.
    pub(crate) fn write_parts<'p>(&mut self, parts: impl Iterator<Item = &'p [u8]>) -> Result<bool> {
        const SMALL: usize = 1 << 16;
        let mut small = Vec::new();
        for part in parts {
            if small.len() + part.len() <= SMALL {
                small.extend_from_slice(part);
                continue;
            }
            // A part that is not small goes as it is.
            if !(self.write(&small)? && self.write(part)?) {
                return Ok(false);
            }
            small.clear();
        }
        self.write(&small)
    }

    /// The file whose place it is to take.
    pub(crate) fn place(&self) -> Option<&Path> {
        match &self.sink {
            Sink::File(file, _) => Some(file.place()),
            Sink::Stdout | Sink::Device(_) => None,
        }
    }

    /// Writes the next part of it, and says whether anybody still reads it.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<bool> {
        let written = match &mut self.sink {
            Sink::Stdout => return printed(bytes),
            Sink::Device(file) => file.write_all(bytes),
            Sink::File(_, Some(packing)) => packing.write_all(bytes),
            Sink::File(file, None) => file.file.write_all(bytes),
        };
        Ok(written.map(|()| true).map_err(|error| unwritable(&self.path, &error))?)
    }

    /// Has the file take its place, and nobody look into it who may not look into each of `files`; what was there is no
    /// reason to let them.
    ///
    /// # Errors
    /// It cannot; what was there is as it was.
    pub(crate) fn end_as_private_as(self, files: &[&Path]) -> Result<()> {
        self.end(None, |page| {
            let page = File::open(page)?;
            files.iter().try_for_each(|file| as_private_as(&page, Some(file)))
        })
    }

    /// Has the file take its place, with the mode and the time of `like`. Before that `then` is shown it
    /// under the name that it has until then.
    ///
    /// # Errors
    /// It cannot; what was there is as it was.
    pub(crate) fn end(self, like: Option<&Metadata>, then: impl FnOnce(&Path) -> io::Result<()>) -> Result<()> {
        let ended = || {
            let Sink::File(file, packing) = self.sink else { return Ok(()) };
            packing.map_or(Ok(()), Compressor::end)?;
            file.replace(like, then)
        };
        Ok(ended().map_err(|error| unwritable(&self.path, &error))?)
    }
}

/// Copies a file, with its mode and its times, whole or not at all; `then` sees it before it takes its place.
///
/// # Errors
/// It cannot be read or written, or `then` does not want it.
pub(crate) fn copy(from: &Path, to: &Path, then: impl FnOnce(&Path) -> io::Result<()>) -> Result<()> {
    let copied = || {
        let Target::File(target) = Target::of(to)? else { return fs::copy(from, to).map(drop) };
        let like = fs::metadata(from)?;
        let file = AtomicFile::beside(&target, Some(&like))?;
        fs::copy(from, file.file.path())?;
        file.replace(Some(&like), then)
    };
    Ok(copied().map_err(|error| unwritable(to, &error))?)
}

/// Refuses a copy that would take the place of another file.
///
/// # Errors
/// There is one, or it cannot be looked at.
pub(crate) fn check_copy(from: &Path, to: &Path) -> Result<()> {
    match fs::symlink_metadata(to) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        _ => keep_copy(from, to),
    }
}

/// Makes a copy of a file that never takes the place of another: one that holds the same is as good.
///
/// # Errors
/// There is another, or it cannot be written.
pub(crate) fn keep_copy(from: &Path, to: &Path) -> Result<()> {
    let kept = || match fs::symlink_metadata(to) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let like = fs::metadata(from)?;
            let file = AtomicFile::beside(to, Some(&like))?;
            fs::copy(from, file.file.path())?;
            file.finish(Some(&like))?;
            file.persist_new()
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
        let named = fs::symlink_metadata(path);
        let is_link = named.as_ref().is_ok_and(Metadata::is_symlink);
        match if is_link { fs::metadata(path) } else { named } {
            Ok(metadata) if metadata.is_dir() => Err(io::Error::new(ErrorKind::IsADirectory, "it is a directory")),
            // By the name it was given: a pipe's real name is none that a file could be opened by.
            Ok(metadata) if !metadata.is_file() => Ok(Target::Device(path.to_owned())),
            // Links above it may lead elsewhere when it is to take its place.
            Ok(_) => fs::canonicalize(path).map(Target::File),
            Err(_) if is_link => Ok(Target::File(end_of_links(path))),
            _ => Ok(Target::File(path.to_owned())),
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

/// Makes a new file with what `fill` writes; nobody else's is touched should one appear meanwhile.
pub(super) fn create(path: &Path, fill: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let mut file = AtomicFile::beside(path, None)?;
    fill(file.file.as_file_mut())?;
    file.file.as_file().sync_all()?;
    file.persist_new()
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

/// Whether a path is another name of the file or the pipe that is read from standard input, or, with `too`, written to
/// standard output. Terminals and other devices can be shared.
pub(crate) fn is_standard_stream(path: &Path, too: bool) -> bool {
    #[cfg(unix)]
    {
        use std::os::fd::AsFd;
        use std::os::unix::fs::{FileTypeExt, MetadataExt};
        let (stdin, stdout) = (io::stdin(), io::stdout());
        let streams = [Some(stdin.as_fd()), too.then(|| stdout.as_fd())];
        let of = |fd: std::os::fd::BorrowedFd<'_>| File::from(fd.try_clone_to_owned().ok()?).metadata().ok();
        let Ok(there) = fs::metadata(path) else { return false };
        let same = |stream: fs::Metadata| (stream.dev(), stream.ino()) == (there.dev(), there.ino());
        !there.file_type().is_char_device() && streams.into_iter().flatten().filter_map(of).any(same)
    }
    #[cfg(not(unix))]
    {
        let _ = (path, too);
        false
    }
}

/// Whether a new file can be made in a folder that is there; the one for trying goes as it came.
pub(super) fn can_make_files_in(folder: &Path) -> io::Result<()> {
    tempfile::tempfile_in(if folder.as_os_str().is_empty() { Path::new(".") } else { folder }).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_all_sizes_are_written_in_order() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path().join("a");
        let sizes = [0, 1, 1 << 15, 1 << 15, 1, 1 << 16, 0, (1 << 16) + 1, 7, 1 << 20, 1 << 17, 9];
        let parts: Vec<Vec<u8>> = (b'a'..).zip(sizes).map(|(byte, size)| vec![byte; size]).collect();
        let mut output = Output::begin(Some(&place), None, None).expect("begun");
        assert!(output.write_parts(parts.iter().map(Vec::as_slice)).expect("written"));
        output.end(None, |_| Ok(())).expect("in its place");
        assert!(fs::read(&place).expect("there") == parts.concat());
    }
}
