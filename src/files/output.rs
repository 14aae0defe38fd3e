//! Writes results: to a file whole or not at all; to a pipe without an error if its reader is gone.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::diagnostic::Advice;
use crate::exit::Failure;
use crate::standard_streams::{self, check_stdout};
use crate::wording;
use anyhow::Result;

use crate::files::atomic::{AtomicFile, Readers, tidy};
use crate::files::attributes;
use crate::files::compression::Compression;
use crate::files::paths::{FileId, folder, hash_of};
use crate::files::written::{WriteOptions, WrittenFile};

/// What errors call standard output.
const STDOUT: &str = "standard output";

/// Refuses an output that is the input itself, which is standard input if there is no path. The error suggests `--in-place`
/// if that `can_replace` a file.
///
/// # Errors
/// That it is, and what to do.
pub(crate) fn refuse_input(input: Option<&Path>, output: &Path, can_replace: bool) -> Result<()> {
    let (is_input, what) = match input {
        Some(input) => (same_place(input, output), "the input itself"),
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
    let advice = match input {
        Some(_) => Advice::command(["--in-place"]),
        None => Advice::command(["--in-place", &name.to_string()]),
    };
    let message = format!("--output {name} is {what}; --in-place replaces a file");
    Err(Failure::usage(message).about("output").try_next(advice).into())
}

/// Refuses an input that is standard output too, by the shell's `>`: the shell empties it before tcompact can read it.
///
/// # Errors
/// It is, and what to do instead.
pub(crate) fn refuse_emptied(input: Option<&Path>) -> Result<()> {
    let Some(stdout) = standard_streams::metadata_of_stdout() else { return Ok(()) };
    if !stdout.is_file() || stdout.len() > 0 {
        return Ok(());
    }
    let Some(emptied) = FileId::of(&stdout) else { return Ok(()) };
    let (read, name, advice) = match input {
        Some(input) => (fs::metadata(input).ok(), input.display().to_string(), Advice::command(["--in-place"])),
        // The command does not name the file yet.
        None => {
            let advice = Advice::command(["--in-place", "FILE"]);
            (standard_streams::metadata_of_stdin(), "standard input".to_owned(), advice)
        }
    };
    if read.as_ref().and_then(FileId::of) != Some(emptied) {
        return Ok(());
    }
    let message = format!("{name} is also standard output, and the shell emptied it first; use --in-place");
    Err(Failure::unreadable(message).try_next(advice).into())
}

/// Refuses an output that cannot be written, which is standard output if there is no path, before anything is done or
/// paid for. Removes what a run that was killed left beside it.
///
/// # Errors
/// That it cannot.
pub(crate) fn check(output: Option<&Path>) -> Result<()> {
    let Some(output) = file(output) else { return Ok(check_stdout().map_err(|error| unwritable_as(STDOUT, &error))?) };
    match OutputTarget::of(output) {
        // The file for the test is removed.
        Ok(OutputTarget::File(path)) => {
            tidy(folder(&path));
            Ok(can_make_files_in(folder(&path)).map_err(|error| unwritable(output, &error))?)
        }
        Ok(OutputTarget::Device(_)) => Ok(()),
        Err(error) => Err(unwritable(output, &error).into()),
    }
}

pub(crate) fn unwritable(path: &Path, error: &io::Error) -> Failure {
    unwritable_as(&path.display().to_string(), error)
}

fn unwritable_as(name: &str, error: &io::Error) -> Failure {
    Failure::unreadable(wording::unwritable(name, error))
}

/// Writes to standard output.
///
/// # Errors
/// It cannot be written. A closed pipe is not an error.
pub(crate) fn print(text: &str) -> Result<()> {
    OutputFile::stdout().write([text.as_bytes()]).map(drop)
}

/// Writes the pieces of a text to a file for `readers`, compressed by its extension, or to standard output if there is no path.
///
/// # Errors
/// It cannot be written. A closed pipe is not an error.
pub(crate) fn write<'p>(pieces: impl Iterator<Item = &'p [u8]>, path: Option<&Path>, readers: &Readers) -> Result<()> {
    let compression = path.and_then(Compression::of_name);
    let mut output = OutputFile::begin(path, WriteOptions { compression, readers, hashed: false })?;
    output.write(pieces)?;
    output.complete(None)?.put()
}

/// Writes the pieces of a text for the place of a file, with its mode and times, compressed by its extension. It is not in
/// its place yet.
///
/// # Errors
/// It cannot be written.
pub(crate) fn replacement<'p>(
    pieces: impl Iterator<Item = &'p [u8]>,
    path: &Path,
    readers: &Readers,
) -> Result<CompleteFile> {
    let like = fs::metadata(path).map_err(|error| unwritable(path, &error))?;
    let options = WriteOptions { compression: Compression::of_name(path), readers, hashed: false };
    let mut output = OutputFile::begin(Some(path), options)?;
    output.write(pieces)?;
    output.complete(Some(&like))
}

/// A result while it is written: standard output gets it at once, a file once it is whole.
pub(crate) struct OutputFile {
    sink: OutputSink,
    /// What errors call it: the path that the user gave, or standard output.
    name: String,
}

enum OutputSink {
    Stdout,
    /// A device or a pipe.
    Device(File),
    File(WrittenFile),
}

impl OutputSink {
    fn begin(path: &Path, options: WriteOptions<'_>) -> io::Result<Self> {
        match OutputTarget::of(path)? {
            OutputTarget::Device(path) => Ok(OutputSink::Device(OpenOptions::new().write(true).open(path)?)),
            OutputTarget::File(target) => Ok(OutputSink::File(WrittenFile::begin(&target, options)?)),
        }
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            OutputSink::Stdout => {
                check_stdout()?;
                let mut stdout = io::stdout();
                stdout.write_all(bytes)?;
                stdout.flush()
            }
            OutputSink::Device(file) => file.write_all(bytes),
            OutputSink::File(file) => file.write_all(bytes),
        }
    }
}

impl OutputFile {
    /// Begins a result, which goes to standard output without a path.
    ///
    /// # Errors
    /// The file cannot be created.
    pub(crate) fn begin(path: Option<&Path>, options: WriteOptions<'_>) -> Result<Self> {
        let Some(path) = file(path) else { return Ok(OutputFile::stdout()) };
        OutputFile::begin_as(path.display().to_string(), path, options)
    }

    fn stdout() -> Self {
        OutputFile { sink: OutputSink::Stdout, name: STDOUT.to_owned() }
    }

    /// Begins a file that errors call by `name`.
    ///
    /// # Errors
    /// The file cannot be created.
    pub(crate) fn begin_as(name: String, path: &Path, options: WriteOptions<'_>) -> Result<Self> {
        match OutputSink::begin(path, options) {
            Ok(sink) => Ok(OutputFile { sink, name }),
            Err(error) => Err(unwritable_as(&name, &error).into()),
        }
    }

    /// Writes the next parts, small ones together. Returns whether the output still has a reader.
    ///
    /// # Errors
    /// They cannot be written.
    pub(crate) fn write<'p>(&mut self, parts: impl IntoIterator<Item = &'p [u8]>) -> Result<bool> {
        const SMALL: usize = 1 << 16;
        let mut small = Vec::new();
        for part in parts {
            if small.len() + part.len() <= SMALL {
                small.extend_from_slice(part);
                continue;
            }
            // A large part is written without a copy.
            if !(self.write_part(&small)? && self.write_part(part)?) {
                return Ok(false);
            }
            small.clear();
        }
        self.write_part(&small)
    }

    fn write_part(&mut self, bytes: &[u8]) -> Result<bool> {
        match self.sink.write_all(bytes) {
            Ok(()) => Ok(true),
            Err(error) if matches!(self.sink, OutputSink::Stdout) && error.kind() == ErrorKind::BrokenPipe => Ok(false),
            Err(error) => Err(unwritable_as(&self.name, &error).into()),
        }
    }

    /// The file whose place it will take.
    pub(crate) fn place(&self) -> Option<&Path> {
        match &self.sink {
            OutputSink::File(written) => Some(written.place()),
            OutputSink::Stdout | OutputSink::Device(_) => None,
        }
    }

    /// Completes the file, with the mode and times of `like`. It is not in its place yet.
    ///
    /// # Errors
    /// It cannot be written; the earlier file stays unchanged.
    pub(crate) fn complete(self, like: Option<&Metadata>) -> Result<CompleteFile> {
        let OutputFile { sink, name } = self;
        let OutputSink::File(written) = sink else { return Ok(CompleteFile { file: None, hash: None, name }) };
        match written.complete(like) {
            Ok((file, hash)) => Ok(CompleteFile { file: Some(file), hash, name }),
            Err(error) => Err(unwritable_as(&name, &error).into()),
        }
    }
}

/// A file that is written and synced, and not in its place yet; or a stream, which has all of it already.
pub(crate) struct CompleteFile {
    file: Option<AtomicFile>,
    /// The hash of what was written, if one was asked for.
    hash: Option<String>,
    /// What errors call it: the path that the user gave.
    name: String,
}

impl CompleteFile {
    /// The path that the file has until it is in its place.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.file.as_ref().map(|file| file.file.path())
    }

    pub(crate) fn hash(&self) -> Option<&str> {
        self.hash.as_deref()
    }

    /// The file whose place it takes.
    pub(crate) fn place(&self) -> Option<&Path> {
        self.file.as_ref().map(AtomicFile::place)
    }

    /// Puts the file in its place.
    ///
    /// # Errors
    /// It cannot take its place; the earlier file stays unchanged.
    pub(crate) fn put(self) -> Result<()> {
        let Some(file) = self.file else { return Ok(()) };
        match file.persist() {
            Ok(()) => Ok(()),
            Err(error) => Err(unwritable_as(&self.name, &error).into()),
        }
    }
}

/// Copies a file with its mode and times. The copy is not in its place yet.
///
/// # Errors
/// The file cannot be read or written.
pub(crate) fn copied(from: &Path, to: &Path) -> Result<CompleteFile> {
    match copy_to_target(from, to) {
        Ok(file) => Ok(CompleteFile { file, hash: None, name: to.display().to_string() }),
        Err(error) => Err(unwritable(to, &error).into()),
    }
}

/// Copies a file. A device has all of it then.
fn copy_to_target(from: &Path, to: &Path) -> io::Result<Option<AtomicFile>> {
    match OutputTarget::of(to)? {
        OutputTarget::File(target) => Ok(Some(copy_beside(from, &target)?)),
        OutputTarget::Device(_) => {
            fs::copy(from, to)?;
            Ok(None)
        }
    }
}

fn copy_beside(from: &Path, to: &Path) -> io::Result<AtomicFile> {
    let like = fs::metadata(from)?;
    let file = AtomicFile::beside(to, &Readers::of_result(Some(from)))?;
    io::copy(&mut File::open(from)?, &mut file.file.as_file())?;
    attributes::copy(from, file.file.as_file());
    file.finish(Some(&like))?;
    Ok(file)
}

/// Refuses a copy that would replace another file.
///
/// # Errors
/// There is another file, or it cannot be read.
pub(crate) fn check_copy(from: &Path, to: &Path) -> Result<()> {
    match fs::symlink_metadata(to) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        _ => keep_copy(from, to),
    }
}

/// A copy of a file that never replaces another. It is not in its place yet.
pub(crate) struct KeptCopy {
    file: AtomicFile,
    place: PathBuf,
}

impl KeptCopy {
    /// Copies a file. Nothing is to be done where its copy is there already.
    ///
    /// # Errors
    /// There is another file, or the copy cannot be written.
    pub(crate) fn of(from: &Path, to: &Path) -> Result<Option<Self>> {
        match copy_if_missing(from, to) {
            Ok(Some(file)) => Ok(Some(KeptCopy { file, place: to.to_owned() })),
            Ok(None) => Ok(None),
            Err(error) => Err(unwritable(to, &error).into()),
        }
    }

    /// Puts it in its place, and returns that.
    ///
    /// # Errors
    /// A file is there by now, or the place cannot be written.
    pub(crate) fn put(self) -> Result<PathBuf> {
        let KeptCopy { file, place } = self;
        file.persist_new().map_err(|error| unwritable(&place, &error))?;
        Ok(place)
    }
}

/// Copies a file unless its copy is there already.
fn copy_if_missing(from: &Path, to: &Path) -> io::Result<Option<AtomicFile>> {
    match fs::symlink_metadata(to) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Some(copy_beside(from, to)?)),
        Err(error) => Err(error),
        Ok(there) if there.is_file() && hash_of(to)? == hash_of(from)? => Ok(None),
        Ok(_) => {
            let message = "it is there already and holds something else; move it away, or name another suffix";
            Err(io::Error::other(message))
        }
    }
}

/// Keeps a copy of a file at once.
///
/// # Errors
/// There is another file, or the copy cannot be written.
pub(crate) fn keep_copy(from: &Path, to: &Path) -> Result<()> {
    if let Some(copy) = KeptCopy::of(from, to)? {
        copy.put()?;
    }
    Ok(())
}

/// The kind of place that a result goes to.
enum OutputTarget {
    /// A file that exists or will. Links are followed, so that they stay links.
    File(PathBuf),
    /// A device or a pipe, which is written to directly: it holds nothing to lose.
    Device(PathBuf),
}

impl OutputTarget {
    fn of(path: &Path) -> io::Result<Self> {
        let named = fs::symlink_metadata(path);
        let is_link = named.as_ref().is_ok_and(Metadata::is_symlink);
        match if is_link { fs::metadata(path) } else { named } {
            Ok(metadata) if metadata.is_dir() => Err(io::Error::new(ErrorKind::IsADirectory, "it is a directory")),
            // The given name: the real name of a pipe cannot be opened.
            Ok(metadata) if !metadata.is_file() => Ok(OutputTarget::Device(path.to_owned())),
            // A link in the path may lead elsewhere once the result is done.
            Ok(_) => Ok(OutputTarget::File(fs::canonicalize(path)?)),
            Err(_) if is_link => Ok(OutputTarget::File(end_of_links(path))),
            _ => Ok(OutputTarget::File(path.to_owned())),
        }
    }
}

/// The path of a result; none where it is standard output.
fn file(output: Option<&Path>) -> Option<&Path> {
    const NAMES: [&str; 3] = ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];
    let output = output?;
    if NAMES.iter().any(|name| output == Path::new(name)) { None } else { Some(output) }
}

/// Whether what is written to a path has gone at once: to standard output, a device or a pipe.
pub(crate) fn is_stream(path: &Path) -> bool {
    is_stream_with(path, fs::metadata(path).ok().as_ref())
}

/// The same, by what is at the path.
pub(crate) fn is_stream_with(path: &Path, there: Option<&Metadata>) -> bool {
    file(Some(path)).is_none() || there.is_some_and(|there| !there.is_file() && !there.is_dir())
}

/// Follows a chain of links to a file that need not exist.
fn end_of_links(path: &Path) -> PathBuf {
    /// Linux follows as many.
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

/// Creates a new private file. A file that appears meanwhile is not replaced.
pub(super) fn create(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = AtomicFile::beside(path, &Readers::Owner)?;
    file.file.write_all(bytes)?;
    file.finish(None)?;
    file.persist_new()
}

/// Whether two paths lead to the same file, which need not exist.
pub(crate) fn same_place(a: &Path, b: &Path) -> bool {
    if let (Some(a), Some(b)) = (id_at(a), id_at(b)) {
        return a == b;
    }
    if a == b {
        return true;
    }
    match (real_path(a), real_path(b)) {
        (Some(a), Some(b)) => a == b,
        _ => false,
    }
}

fn id_at(path: &Path) -> Option<FileId> {
    FileId::of(&fs::metadata(path).ok()?)
}

/// The path of a file without links. The file need not exist, but its folder must.
fn real_path(path: &Path) -> Option<PathBuf> {
    let end = end_of_links(path);
    if let Ok(real) = fs::canonicalize(&end) {
        return Some(real);
    }
    Some(fs::canonicalize(folder(&end)).ok()?.join(end.file_name()?))
}

/// Whether a path leads to the file or pipe behind standard input or, with `too`, standard output. Terminals and other
/// devices can be shared.
pub(crate) fn is_standard_stream(path: &Path, too: bool) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let Ok(there) = fs::metadata(path) else { return false };
        if there.file_type().is_char_device() {
            return false;
        }
        let id = FileId::of(&there);
        if let Some(stdin) = standard_streams::metadata_of_stdin()
            && FileId::of(&stdin) == id
        {
            return true;
        }
        if too && let Some(stdout) = standard_streams::metadata_of_stdout() {
            return FileId::of(&stdout) == id;
        }
        false
    }
    #[cfg(not(unix))]
    {
        let _ = (path, too);
        false
    }
}

/// Whether a file can be created in an existing folder. The file for the test is removed.
pub(super) fn can_make_files_in(folder: &Path) -> io::Result<()> {
    tempfile::tempfile_in(if folder.as_os_str().is_empty() { Path::new(".") } else { folder }).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::sha256;

    #[test]
    fn parts_of_all_sizes_are_written_in_order() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path().join("a");
        let sizes = [0, 1, 1 << 15, 1 << 15, 1, 1 << 16, 0, (1 << 16) + 1, 7, 1 << 20, 1 << 17, 9];
        let options = WriteOptions { compression: None, readers: &Readers::default(), hashed: true };
        let parts: Vec<Vec<u8>> = (b'a'..).zip(sizes).map(|(byte, size)| vec![byte; size]).collect();
        let mut output = OutputFile::begin(Some(&place), options).expect("begun");
        assert!(output.write(parts.iter().map(Vec::as_slice)).expect("written"));
        let complete = output.complete(None).expect("complete");
        assert_eq!(complete.hash(), Some(&*sha256(&parts.concat())));
        complete.put().expect("in its place");
        assert!(fs::read(&place).expect("there") == parts.concat());
    }

    #[test]
    fn the_hash_of_a_compressed_file_is_that_of_its_bytes() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path().join("a");
        for compression in [Compression::Gzip, Compression::Zstandard] {
            let options = WriteOptions { compression: Some(compression), readers: &Readers::default(), hashed: true };
            let mut output = OutputFile::begin(Some(&place), options).expect("begun");
            output.write([b"some text".as_slice(), b", and more"]).expect("written");
            let complete = output.complete(None).expect("complete");
            let hash = complete.hash().map(str::to_owned);
            complete.put().expect("in its place");
            assert_eq!(hash, Some(hash_of(&place).expect("there")));
        }
    }
}
