//! Records for an archive that are too many to be held in memory. They wait in a file without a name, compressed as the
//! archive is, and are appended to it as they are, all or none.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::compact::Section;
use crate::files::append::{Appended, append_bytes, ends_a_line, make_folder_of, now, unwritable, write_section};
use crate::files::compression::Compression;
use crate::files::paths::folder;
use crate::interrupt;

/// Records that wait beside their archive.
pub(crate) struct WaitingRecords {
    archive: PathBuf,
    file: File,
}

impl WaitingRecords {
    /// Writes the records that `next` returns until it has no more, each with the time.
    ///
    /// # Errors
    /// They cannot be written beside the archive, or `next` fails. Nothing is left of them then.
    pub(crate) fn write(archive: &Path, mut next: impl FnMut() -> Result<Option<Section>>) -> Result<Self> {
        // Where `next` fails, an error that stands for its own ends the writing.
        let mut failed = None;
        let sections = || match next() {
            Ok(section) => Ok(section),
            Err(error) => {
                failed = Some(error);
                Err(io::ErrorKind::Other.into())
            }
        };
        let written = write_beside(archive, sections);
        match (written, failed) {
            (_, Some(error)) => Err(error),
            (Ok(file), None) => Ok(WaitingRecords { archive: archive.to_owned(), file }),
            (Err(error), None) => Err(unwritable(archive, &error).into()),
        }
    }

    /// Appends them to the archive. Creates it if it does not exist.
    ///
    /// # Errors
    /// It cannot be written; the archive stays unchanged.
    pub(crate) fn append(mut self) -> Result<Appended> {
        let compression = Compression::of_name(&self.archive);
        let file = &mut self.file;
        let copied = interrupt::uninterrupted(|| {
            append_bytes(&self.archive, |mut archive| {
                if !ends_a_line(archive, compression, false)? {
                    end_line(archive, compression)?;
                }
                file.seek(SeekFrom::Start(0))?;
                io::copy(file, &mut archive).map(drop)
            })
        });
        Ok(copied.map_err(|error| unwritable(&self.archive, &error))?)
    }
}

/// Writes sections to a file without a name beside an archive, compressed as that is.
fn write_beside(archive: &Path, next: impl FnMut() -> io::Result<Option<Section>>) -> io::Result<File> {
    make_folder_of(archive)?;
    let mut out = BufWriter::with_capacity(1 << 16, tempfile::tempfile_in(folder(archive))?);
    match Compression::of_name(archive) {
        Some(compression) => compression.write_member(&mut out, |member| write_sections(member, next))?,
        None => write_sections(&mut out, next)?,
    }
    out.into_inner().map_err(io::IntoInnerError::into_error)
}

/// Writes the sections that `next` returns until it has no more, each with the time.
fn write_sections(out: &mut dyn Write, mut next: impl FnMut() -> io::Result<Option<Section>>) -> io::Result<()> {
    let now = now();
    while let Some(section) = next()? {
        write_section(out, &section, &now)?;
    }
    Ok(())
}

/// Ends the last line of an archive, which a run that was killed has left without an end.
fn end_line(mut archive: &File, compression: Option<Compression>) -> io::Result<()> {
    match compression {
        Some(compression) => compression.write_member(&mut archive, |out| out.write_all(b"\n")),
        None => archive.write_all(b"\n"),
    }
}
