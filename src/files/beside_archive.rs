//! Whole files beside an archive, such as media and large results that were moved out of messages.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::files::append::{make_folder_of, unwritable};
use crate::files::output;

/// Why a file cannot take the place of another.
const TAKEN: &str = "it is there already and holds something else; move it away";

/// Writes whole new files. A file that exists is never changed; the same content needs no writing.
///
/// # Errors
/// One cannot be written, or exists with other content.
pub(crate) fn write(files: &[(PathBuf, Vec<u8>)]) -> Result<()> {
    for (file, bytes) in files {
        write_new(file, bytes).map_err(|error| unwritable(file, &error))?;
    }
    Ok(())
}

/// Refuses files that exist with other content.
///
/// # Errors
/// The first of these.
pub(crate) fn check(files: &[(PathBuf, Vec<u8>)]) -> Result<()> {
    for (file, bytes) in files {
        if fs::read(file).is_ok_and(|there| there != *bytes) {
            return Err(unwritable(file, &io::Error::other(TAKEN)).into());
        }
    }
    Ok(())
}

fn write_new(file: &Path, bytes: &[u8]) -> io::Result<()> {
    if is_in_link(file) {
        return Err(io::Error::other("its folder is a link, and tcompact does not write through links"));
    }
    make_folder_of(file)?;
    match fs::symlink_metadata(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => output::create(file, bytes),
        Err(error) => Err(error),
        Ok(there) if there.is_file() && fs::read(file)? == bytes => Ok(()),
        Ok(_) => Err(io::Error::other(TAKEN)),
    }
}

/// Whether the folder of a file is a link. The folder of a conversation on a line stands in another one of tcompact's.
fn is_in_link(file: &Path) -> bool {
    let Some(folder) = file.parent() else { return false };
    let is_of_line = folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with("line-"));
    let is_above_link = is_of_line && folder.parent().is_some_and(Path::is_symlink);
    folder.is_symlink() || is_above_link
}
