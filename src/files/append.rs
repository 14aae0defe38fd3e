//! Appends whole sections to an archive. A compressed one grows by whole members.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::exit::Failure;
use crate::{interrupt, wording};
use anyhow::Result;

use crate::compact::archive_extension;
use crate::files::atomic::private;
use crate::files::compression::Compression;
use crate::files::file_kind::MARKDOWN_ARCHIVE;
use crate::files::output;
use crate::files::paths::{FileId, folder};
use crate::files::record_hash::write_record;
use crate::transcript::time;

pub(crate) use crate::compact::{Section, is_lines};

/// Refuses an archive with an unknown extension, one that is one of `others`, one that cannot be written, and one whose
/// content is compressed otherwise than its name says, or damaged.
///
/// # Errors
/// Which of these, and what to do.
pub(crate) fn check(file: &Path, others: &[Option<&Path>]) -> Result<()> {
    let name = file.display();
    if !is_lines(file) && !archive_extension(file).is_some_and(|end| end.eq_ignore_ascii_case("md")) {
        let message = format!(
            "--archive {name}: expected a name that ends in .md, for reading, or in .jsonl; .gz or .zst can follow"
        );
        return Err(Failure::usage(message).into());
    }
    if others.iter().flatten().any(|other| output::same_place(file, other)) {
        let message = format!("--archive {name} is the input or the output itself; name another file");
        return Err(Failure::usage(message).into());
    }
    let writable = match fs::metadata(file) {
        Ok(there) if !there.is_file() => Err(io::Error::other("it is not a file")),
        Ok(_) => OpenOptions::new().append(true).open(file).map(drop),
        Err(_) => {
            let there = file.ancestors().skip(1).find(|folder| folder.as_os_str().is_empty() || folder.exists());
            output::can_make_files_in(there.unwrap_or(Path::new("")))
        }
    };
    writable.map_err(|error| unwritable(file, &error))?;
    check_end(file)
}

/// Refuses an archive to which nothing can be appended because of what it holds.
fn check_end(file: &Path) -> Result<()> {
    // One that only its owner may write, and one that is not there yet, are looked at when they are appended to.
    let Ok(archive) = File::open(file) else { return Ok(()) };
    // Another run that is appending has not written the whole member.
    let locked = accept_missing_locks(archive.lock_shared());
    let ends = locked.and_then(|()| ends_a_line(&archive, Compression::of_name(file), true));
    match ends {
        Ok(_) => Ok(()),
        Err(error) => {
            let message = format!("--archive {}: {}, or name another file", file.display(), wording::reason(&error));
            Err(Failure::usage(message).about("archive").into())
        }
    }
}

fn write_sections(out: &mut dyn Write, sections: &[Section], time: &str) -> io::Result<()> {
    for section in sections {
        write_section(out, section, time)?;
    }
    Ok(())
}

/// Sections that wait until the result is complete: those of a document in memory, those of lines in a file without a
/// name.
#[derive(Debug, Default)]
pub struct WaitingSections {
    sections: Vec<Section>,
    of_lines: Option<File>,
    /// The time of them all, also of those that were appended before: it tells which records are of one run on a file.
    time: Option<String>,
}

impl WaitingSections {
    /// Adds sections for the archive `file`.
    ///
    /// # Errors
    /// Those of lines cannot be written beside the archive.
    pub fn add(&mut self, file: &Path, sections: Vec<Section>, are_of_lines: bool) -> Result<()> {
        if !are_of_lines || sections.is_empty() {
            self.sections.extend(sections);
            return Ok(());
        }
        match self.write_of_lines(file, &sections) {
            Ok(()) => Ok(()),
            Err(error) => Err(unwritable(file, &error).into()),
        }
    }

    fn write_of_lines(&mut self, file: &Path, sections: &[Section]) -> io::Result<()> {
        let spool = match &mut self.of_lines {
            Some(spool) => spool,
            none => {
                make_folder_of(file)?;
                none.insert(tempfile::tempfile_in(folder(file))?)
            }
        };
        let mut out = BufWriter::with_capacity(1 << 16, spool);
        write_sections(&mut out, sections, self.time.get_or_insert_with(now))?;
        out.flush()
    }

    /// Appends what waits, all or none, each section with the time; nothing where nothing waits. Creates the archive
    /// if it does not exist.
    ///
    /// # Errors
    /// It cannot be written; the archive stays unchanged.
    pub fn append(&mut self, file: &Path) -> Result<Option<Appended>> {
        let (sections, of_lines) = (std::mem::take(&mut self.sections), self.of_lines.take());
        if sections.is_empty() && of_lines.is_none() {
            return Ok(None);
        }
        let time = self.time.get_or_insert_with(now);
        let write = |out: &mut dyn Write| {
            if let Some(mut spool) = of_lines {
                spool.rewind()?;
                io::copy(&mut spool, out)?;
            }
            write_sections(out, &sections, time)
        };
        match interrupt::uninterrupted(|| append(file, write)) {
            Ok(appended) => Ok(Some(appended)),
            Err(error) => Err(unwritable(file, &error).into()),
        }
    }
}

/// What was appended to an archive, which is locked until this is dropped or unlocked.
#[derive(Debug)]
pub struct Appended {
    archive: File,
    file: PathBuf,
    length_before: u64,
    length_after: u64,
    /// Whether the archive was not there before.
    is_new: bool,
}

impl Appended {
    /// Lets others append.
    pub(crate) fn unlock(&self) {
        // It is unlocked when it is closed, too.
        let _ = self.archive.unlock();
    }

    /// Removes what was appended, since the result that it belongs to has no place. Returns whether that was done: what
    /// another run has appended since stays, with all before it.
    pub(crate) fn take_back(&self) -> bool {
        let is_cut = self.cut_off().unwrap_or(false);
        if is_cut && self.is_new && self.length_before == 0 {
            let _ = fs::remove_file(&self.file);
        }
        is_cut
    }

    /// Cuts off what was appended, unless something stands behind it.
    fn cut_off(&self) -> io::Result<bool> {
        accept_missing_locks(self.archive.lock())?;
        if self.archive.metadata()?.len() != self.length_after {
            return Ok(false);
        }
        self.archive.set_len(self.length_before)?;
        Ok(true)
    }
}

/// Writes a section with the time.
pub fn write_section(out: &mut dyn Write, section: &Section, now: &str) -> io::Result<()> {
    match section {
        Section::Text(text) => write!(out, "{MARKDOWN_ARCHIVE}{now}\n\n{text}\n\n"),
        Section::Record(record) => write_record(out, record, now),
    }
}

/// The time in UTC, to the microsecond. A clock outside the years 1970 to 9999 counts as the first time within.
pub(super) fn now() -> String {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    if let Ok(micros) = i64::try_from(since.as_micros())
        && let Some(now) = time::to_the_microsecond(micros)
    {
        return now.replace('Z', "+00:00");
    }
    "1970-01-01T00:00:00.000000+00:00".to_owned()
}

fn append(file: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<Appended> {
    append_bytes(file, |archive| {
        let compression = Compression::of_name(file);
        let begin: &[u8] = if ends_a_line(archive, compression, false)? { b"" } else { b"\n" };
        let mut out = BufWriter::with_capacity(1 << 16, archive);
        let write = |out: &mut dyn Write| {
            out.write_all(begin)?;
            write(out)
        };
        let written = match compression {
            Some(compression) => compression.write_member(&mut out, write),
            None => write(&mut out),
        };
        let written = written.and_then(|()| out.flush());
        // What a failed write has left is not written when the buffer goes.
        drop(out.into_parts());
        written
    })
}

/// Appends what `write` writes to the file itself, all or nothing.
pub(super) fn append_bytes(file: &Path, write: impl FnOnce(&File) -> io::Result<()>) -> io::Result<Appended> {
    make_folder_of(file)?;
    let is_new = fs::symlink_metadata(file).is_err();
    let archive = open_locked(file)?;
    let before = archive.metadata()?.len();
    let written = write(&archive).and_then(|()| archive.sync_all());
    let after = archive.metadata()?.len();
    let appended = Appended { archive, file: file.to_owned(), length_before: before, length_after: after, is_new };
    if let Err(error) = written {
        // Half a section would make the archive unreadable.
        appended.take_back();
        return Err(error);
    }
    Ok(appended)
}

/// Opens an archive and locks it. Others that append wait, so only what was written here is taken back.
fn open_locked(file: &Path) -> io::Result<File> {
    loop {
        let archive = private(OpenOptions::new().read(true).append(true).create(true)).open(file)?;
        accept_missing_locks(archive.lock())?;
        // A run that failed can remove its new archive while others wait for the lock.
        let opened = FileId::of(&archive.metadata()?);
        match fs::metadata(file).map(|there| FileId::of(&there)) {
            Ok(there) if there == opened => return Ok(archive),
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
}

/// Accepts that a file system has no locks. Runs that append at once can then mix their sections.
fn accept_missing_locks(locked: io::Result<()>) -> io::Result<()> {
    match locked {
        Err(error) if error.kind() == ErrorKind::Unsupported || is_of_missing_locks(&error) => Ok(()),
        locked => locked,
    }
}

#[cfg(unix)]
fn is_of_missing_locks(error: &io::Error) -> bool {
    use rustix::io::Errno;
    const MISSING: [Errno; 5] = [Errno::NOLCK, Errno::NOSYS, Errno::NOTSUP, Errno::OPNOTSUPP, Errno::INVAL];
    Errno::from_io_error(error).is_some_and(|errno| MISSING.contains(&errno))
}

#[cfg(not(unix))]
fn is_of_missing_locks(_: &io::Error) -> bool {
    false
}

/// Whether the text of an archive is empty or ends with a line end. `unpacks_all` looks for damage anywhere in a compressed
/// one; without it, the mark behind what a run appended is enough, so that a run that appends often reads it once.
///
/// # Errors
/// It cannot be read; or its content is not of this compression, or is cut off or damaged, so that nothing behind it could
/// be read.
pub(super) fn ends_a_line(mut archive: &File, compression: Option<Compression>, unpacks_all: bool) -> io::Result<bool> {
    let length = archive.metadata()?.len();
    if length == 0 {
        return Ok(true);
    }
    let mut begin = Vec::new();
    archive.rewind()?;
    archive.take(4).read_to_end(&mut begin)?;
    match (compression, Compression::of_bytes(&begin)) {
        (None, None) => {
            let mut last = [0];
            archive.seek(SeekFrom::Start(length - 1))?;
            archive.read_exact(&mut last)?;
            Ok(last == *b"\n")
        }
        (Some(named), Some(found)) if named == found && !unpacks_all && named.has_end_mark(archive)? => Ok(true),
        (Some(named), Some(found)) if named == found => match named.ends_a_line(archive) {
            Ok(ends) => Ok(ends),
            Err(error) if error.kind() == ErrorKind::FileTooLarge => Err(error),
            Err(error) => {
                let is = if error.kind() == ErrorKind::UnexpectedEof { "cut off" } else { "damaged" };
                let name = named.name();
                let why = format!("its {name} data is {is}, and nothing behind that could be read; move it away");
                Err(io::Error::other(why))
            }
        },
        (_, Some(found)) => {
            let (name, end) = (found.name(), found.extension());
            Err(io::Error::other(format!("it holds {name} data; rename it so that it ends in .{end}")))
        }
        (Some(named), None) => {
            let end = named.extension();
            Err(io::Error::other(format!("it is not compressed; rename it so that it does not end in .{end}")))
        }
    }
}

pub(super) fn make_folder_of(file: &Path) -> io::Result<()> {
    match file.parent() {
        Some(folder) => fs::create_dir_all(folder),
        None => Ok(()),
    }
}

pub(super) fn unwritable(file: &Path, error: &io::Error) -> Failure {
    Failure::unreadable(wording::unwritable(file.display(), error) + "; --archive names another place")
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use rustix::io::Errno;

    use super::*;
    use crate::files::input;

    #[test]
    fn a_file_system_without_locks_is_no_error() {
        let locked = |errno: Errno| accept_missing_locks(Err(io::Error::from_raw_os_error(errno.raw_os_error())));
        for missing in [Errno::NOLCK, Errno::NOSYS, Errno::NOTSUP, Errno::OPNOTSUPP, Errno::INVAL] {
            assert!(locked(missing).is_ok(), "{missing}");
        }
        assert!(accept_missing_locks(Err(ErrorKind::Unsupported.into())).is_ok());
        for other in [Errno::IO, Errno::BADF, Errno::DEADLK] {
            assert!(locked(other).is_err(), "{other}");
        }
    }

    /// The text of an archive, unpacked.
    fn text(archive: &Path) -> String {
        input::read(Some(archive)).expect("there").text
    }

    #[test]
    fn what_is_taken_back_takes_nothing_of_others_along() {
        for name in ["archive.jsonl", "archive.jsonl.gz", "archive.jsonl.zst"] {
            let folder = tempfile::tempdir().expect("a folder");
            let archive = folder.path().join(name);
            let line = |text: &'static str| append(&archive, |out| out.write_all(text.as_bytes()));
            let first = line("first\n").expect("written");
            std::thread::scope(|scope| {
                // It waits for the lock of an archive that is gone when it gets it.
                let second = scope.spawn(|| line("second\n").map(drop));
                std::thread::sleep(std::time::Duration::from_millis(50));
                assert!(first.take_back());
                drop(first);
                second.join().expect("no panic").expect("written");
            });
            let third = line("third\n").expect("written");
            third.unlock();
            drop(line("fourth\n").expect("written"));
            assert!(!third.take_back());
            assert_eq!(text(&archive), "second\nthird\nfourth\n");
            drop(third);
            assert!(line("fifth\n").expect("written").take_back());
            assert_eq!(text(&archive), "second\nthird\nfourth\n");
            // A member that fails in the middle leaves nothing, and what does not end a line is ended by the next one.
            let failed =
                append(&archive, |out| out.write_all(b"half").and_then(|()| Err(ErrorKind::StorageFull.into())));
            assert_eq!(failed.expect_err("it fails").kind(), ErrorKind::StorageFull);
            drop(line("sixth\n").expect("written"));
            assert_eq!(text(&archive), "second\nthird\nfourth\nsixth\n");
            check_end(&archive).expect("whole");
        }
    }

    #[test]
    fn nothing_is_appended_behind_what_cannot_be_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = |name: &str| folder.path().join(name);
        let packed = |name: &str, text: &str| {
            drop(append(&file(name), |out| out.write_all(text.as_bytes())).expect("written"));
            fs::read(file(name)).expect("there")
        };
        let texts = ["{\"source\":\"a\"}\n", "{\"source\":\"b\"}"];
        for text in texts {
            let [gzip, zstd] = ["a.jsonl.gz", "a.jsonl.zst"].map(|name| packed(name, text));
            fs::remove_file(file("a.jsonl.gz")).and_then(|()| fs::remove_file(file("a.jsonl.zst"))).expect("removed");
            for (name, bytes, refused) in [
                ("b.jsonl", &gzip[..], true),
                ("b.jsonl", &zstd, true),
                ("b.md", &zstd, true),
                ("b.jsonl.gz", &zstd, true),
                ("b.jsonl.zst", &gzip, true),
                ("b.jsonl.gz", text.as_bytes(), true),
                ("b.md.zst", text.as_bytes(), true),
                ("b.jsonl.gz", &gzip[..gzip.len() - 1], true),
                ("b.jsonl.zst", &zstd[..zstd.len() - 1], true),
                ("b.jsonl.zst", b"\x28", true),
                ("b.jsonl", text.as_bytes(), false),
                ("b.JSONL.GZ", &gzip, false),
                ("b.md.gz", &gzip, false),
                ("b.jsonl.zst", &zstd, false),
                ("b.jsonl.zst", b"", false),
            ] {
                fs::write(file(name), bytes).expect("written");
                let is_refused = check_end(&file(name)).is_err();
                let appended = append(&file(name), |out| out.write_all(b"{}\n")).map(drop);
                assert_eq!((is_refused, appended.is_err()), (refused, refused), "{name} {text}");
                let after = fs::read(file(name)).expect("there");
                assert_eq!(after == bytes, refused, "{name} {text}");
                fs::remove_file(file(name)).expect("removed");
            }
        }
    }

    #[test]
    fn a_new_archive_is_private() {
        let folder = tempfile::tempdir().expect("a folder");
        let archive = folder.path().join("archive.md");
        let mode = || fs::metadata(&archive).expect("there").permissions().mode() & 0o777;
        let add = || append(&archive, |out| out.write_all(b"a section\n"));
        drop(add().expect("written"));
        assert_eq!(mode(), 0o600);
        // The user has made it readable since.
        fs::set_permissions(&archive, fs::Permissions::from_mode(0o644)).expect("a mode");
        drop(add().expect("written"));
        assert_eq!(mode(), 0o644);
    }
}
