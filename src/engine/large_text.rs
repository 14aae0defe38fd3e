//! A text that is not held in memory: a file, or one without a name.

use std::fs::{File, Metadata};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::exit::Failure;
use crate::files::atomic::Readers;
use crate::files::input::{Reader, unpacked};
use crate::files::output::{CompleteFile, OutputFile, unwritable};
use crate::files::written::WriteOptions;

/// How much is read at once.
const AT_ONCE: usize = 1 << 20;

/// A text that is not held in memory.
pub(super) enum LargeText {
    /// A file that the user named.
    Named(PathBuf),
    /// A file without a name, for a result that goes to standard output, or a text that came from standard input.
    Unnamed(File),
    /// The file of a result, which is not in its place yet.
    Complete(CompleteFile),
}

impl LargeText {
    /// The text behind a path, or that of standard input, which can be read only once.
    ///
    /// # Errors
    /// It cannot be read, or not be written to a temporary file.
    pub(super) fn of_input(path: Option<&Path>) -> Result<Self> {
        if let Some(path) = path {
            return Ok(LargeText::Named(path.to_owned()));
        }
        let mut text = Unfinished::unnamed()?;
        let mut reader = unpacked(None)?;
        copy(&mut reader, u64::MAX, &mut |bytes| text.write(bytes))?;
        text.finish()
    }

    /// A text that is in memory.
    ///
    /// # Errors
    /// It cannot be written to a temporary file.
    pub(super) fn of_bytes(bytes: &[u8]) -> Result<Self> {
        let mut text = Unfinished::unnamed()?;
        text.write(bytes)?;
        text.finish()
    }

    /// Writes it to standard output, a device or a pipe.
    ///
    /// # Errors
    /// It cannot be read or written. A closed pipe is not an error.
    pub(super) fn write_to(&self, path: Option<&Path>, readers: &Readers) -> Result<()> {
        let mut output = OutputFile::begin(path, WriteOptions { compression: None, readers, hashed: false })?;
        copy(&mut self.reader()?, u64::MAX, &mut |bytes| output.write([bytes]).map(drop))?;
        output.complete(None)?.put()
    }

    pub(super) fn reader(&self) -> Result<Reader> {
        match self {
            LargeText::Named(path) => unpacked(Some(path)),
            LargeText::Complete(file) => unpacked(file.path()),
            LargeText::Unnamed(file) => {
                let mut file = file.try_clone().map_err(unreadable)?;
                file.seek(SeekFrom::Start(0)).map_err(unreadable)?;
                Ok(Reader::with_capacity(AT_ONCE, Box::new(file)))
            }
        }
    }
}

fn unreadable(error: io::Error) -> Failure {
    Failure::unreadable(format!("a temporary file cannot be read: {error}"))
}

/// A text while it is written.
pub(super) enum Unfinished {
    /// A result, with the file whose mode and times it gets.
    Output(Box<OutputFile>, Option<Metadata>),
    Unnamed(BufWriter<File>),
}

impl Unfinished {
    /// # Errors
    /// There is no place for temporary files.
    pub(super) fn unnamed() -> Result<Self> {
        let file = tempfile::tempfile().map_err(|error| unwritable(&std::env::temp_dir(), &error))?;
        Ok(Unfinished::Unnamed(BufWriter::with_capacity(AT_ONCE, file)))
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        match self {
            Unfinished::Output(output, _) => output.write([bytes]).map(drop),
            Unfinished::Unnamed(file) => {
                Ok(file.write_all(bytes).map_err(|error| unwritable(&std::env::temp_dir(), &error))?)
            }
        }
    }

    pub(super) fn finish(self) -> Result<LargeText> {
        match self {
            Unfinished::Output(output, like) => Ok(LargeText::Complete(output.complete(like.as_ref())?)),
            Unfinished::Unnamed(file) => {
                let file = file.into_inner().map_err(io::IntoInnerError::into_error);
                Ok(LargeText::Unnamed(file.map_err(|error| unwritable(&std::env::temp_dir(), &error))?))
            }
        }
    }
}

/// Reads at most `most` bytes and hands them on. Returns how many there were.
pub(super) fn copy(reader: &mut impl Read, most: u64, put: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<u64> {
    let mut buffer = vec![0; AT_ONCE];
    let mut done = 0;
    while done < most {
        let wanted = usize::try_from(most - done).map_or(AT_ONCE, |missing| missing.min(AT_ONCE));
        let read = match reader.read(&mut buffer[..wanted]) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(Failure::unreadable(format!("the text cannot be read: {error}")).into()),
        };
        put(&buffer[..read])?;
        done += read as u64;
    }
    Ok(done)
}
