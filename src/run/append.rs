//! Writing to the end of an archive, a whole section at a time, and whole files beside it.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::Result;

use crate::exit::Failure;

use super::input::plain;
use super::output;

/// Whether an archive holds messages a line each, and not text for reading.
pub fn is_lines(file: &Path) -> bool {
    file.extension().is_some_and(|end| end.eq_ignore_ascii_case("jsonl"))
}

/// Refuses an archive whose name does not say what it holds, that is one of `others`, or that cannot be written.
///
/// # Errors
/// Which of these, and what to do.
pub fn check(file: &Path, others: &[Option<&Path>]) -> Result<()> {
    let name = file.display();
    if !is_lines(file) && !file.extension().is_some_and(|end| end.eq_ignore_ascii_case("md")) {
        let message = format!("--archive {name}: expected a name that ends in .md, for reading, or in .jsonl");
        return Err(Failure::usage(message).into());
    }
    let real = |path: &Path| fs::canonicalize(path).ok();
    if others.iter().flatten().any(|other| *other == file || real(other).is_some_and(|other| Some(other) == real(file)))
    {
        let message = format!("--archive {name} is the input or the output itself; name another file");
        return Err(Failure::usage(message).into());
    }
    let writable = if file.exists() {
        OpenOptions::new().append(true).open(file).map(drop)
    } else {
        let there = file.ancestors().skip(1).find(|folder| folder.as_os_str().is_empty() || folder.exists());
        output::can_make_files_in(there.unwrap_or(Path::new("")))
    };
    Ok(writable.map_err(|error| unwritable(file, &error))?)
}

/// Appends sections to an archive that is made if it is not there: all of them, or none. Those for reading get a line
/// that says when they were cut away.
///
/// # Errors
/// They cannot be written; the archive is as it was.
pub fn sections(file: &Path, sections: &[String]) -> Result<()> {
    let heading = if is_lines(file) { String::new() } else { format!("## Summarized at {}\n\n", now()) };
    let text: String = sections.iter().flat_map(|section| [heading.as_str(), section]).collect();
    Ok(append(file, text.as_bytes()).map_err(|error| unwritable(file, &error))?)
}

/// The time as UTC, to the microsecond.
fn now() -> String {
    humantime::format_rfc3339_micros(SystemTime::now()).to_string().replace('Z', "+00:00")
}

fn append(file: &Path, bytes: &[u8]) -> io::Result<()> {
    make_folder_of(file)?;
    let mut archive = OpenOptions::new().append(true).create(true).open(file)?;
    let before = archive.metadata()?.len();
    let written = archive.write_all(bytes).and_then(|()| archive.sync_all());
    if written.is_err() {
        // What was written of it would be half a section.
        let _ = archive.set_len(before);
    }
    written
}

/// Writes whole files. One that is there already is never written over: what it does not have goes to its end.
///
/// # Errors
/// One cannot be written.
pub fn files(files: &[(PathBuf, Vec<u8>)]) -> Result<()> {
    for (file, bytes) in files {
        write_or_append(file, bytes).map_err(|error| unwritable(file, &error))?;
    }
    Ok(())
}

fn write_or_append(file: &Path, bytes: &[u8]) -> io::Result<()> {
    make_folder_of(file)?;
    if !file.exists() {
        return output::replace(file, bytes);
    }
    if fs::read(file)?.ends_with(bytes) { Ok(()) } else { append(file, &[b"\n", bytes].concat()) }
}

fn make_folder_of(file: &Path) -> io::Result<()> {
    file.parent().map_or(Ok(()), fs::create_dir_all)
}

fn unwritable(file: &Path, error: &io::Error) -> Failure {
    Failure::unreadable(format!("{} cannot be written: {}; --archive names another file", file.display(), plain(error)))
}
