//! Which files other processes have open for writing: what such a process writes once a result has taken the place of its
//! file is lost with the old file. Linux lists the open files of each process in `/proc`.

use std::collections::{HashMap, HashSet};
use std::fs::{self, Metadata};
use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use anyhow::Result;

use crate::exit::Failure;
use crate::files::paths::FileId;
use crate::sanitize::sanitize_name;
use crate::wording::counted;

/// Where nobody can say who has a file open, one that changed within this time may still be written to.
const LATELY: Duration = Duration::from_secs(10);

/// A process that has a file open for writing.
#[derive(Debug, Clone)]
struct Writer {
    name: String,
    process: u32,
}

type Writers = HashMap<FileId, Writer>;

/// The files that other processes have open for writing. All processes are looked at once, when the first file is asked
/// for.
#[derive(Debug, Default)]
pub(crate) struct OpenFiles(OnceLock<Option<Writers>>);

impl OpenFiles {
    /// Refuses to replace a file that another process has open for writing.
    ///
    /// # Errors
    /// It is, by which process, and what to do.
    pub(crate) fn refuse_writer(&self, path: &Path, file: &Metadata) -> Result<()> {
        let Some(writer) = self.writer(file) else { return Ok(()) };
        let message = format!(
            "{} is not replaced: {writer} has it open for writing, and what it writes next would be lost; end it first, \
             or add --force",
            path.display()
        );
        Err(Failure::unreadable(message).into())
    }

    /// The process that has a file open for writing, as a person is told of it.
    pub(crate) fn writer(&self, file: &Metadata) -> Option<String> {
        let Writer { name, process } = self.writers()?.get(&FileId::of(file)?)?;
        Some(format!("{name} (process {process})"))
    }

    /// A warning for a file that changed a moment ago, where the system does not say who has it open.
    pub(crate) fn warning(&self, path: &Path, file: &Metadata) -> Option<String> {
        if self.writers().is_some() || !changed_lately(file.modified().ok()?, SystemTime::now()) {
            return None;
        }
        let seconds = counted(LATELY.as_secs(), "second");
        Some(format!(
            "{} changed within the last {seconds}; if a program has it open, what it writes next is lost",
            path.display()
        ))
    }

    fn writers(&self) -> Option<&Writers> {
        self.0.get_or_init(writers_of_others).as_ref()
    }
}

fn changed_lately(modified: SystemTime, now: SystemTime) -> bool {
    // A clock can run behind that of the file system.
    now.duration_since(modified).map_or(true, |age| age <= LATELY)
}

/// The files that other processes have open for writing, as far as their open files may be read: those of the same user.
/// This process and its ancestors do not count, since an agent waits for the hook that it runs. Nothing where the system
/// has no such list.
fn writers_of_others() -> Option<Writers> {
    let own = own_line();
    fs::read_dir("/proc/self/fd").ok()?;
    let mut writers = Writers::new();
    for entry in fs::read_dir("/proc").ok()?.flatten() {
        let Some(process) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        if !own.contains(&process) {
            add_writer(process, &entry.path(), &mut writers);
        }
    }
    Some(writers)
}

/// Adds the files that a process has open for writing.
fn add_writer(process: u32, folder: &Path, writers: &mut Writers) {
    for descriptor in fs::read_dir(folder.join("fd")).into_iter().flatten().flatten() {
        // Sockets, pipes and the like have no path. Most descriptors are of these.
        let has_path = fs::read_link(descriptor.path()).is_ok_and(|target| target.is_absolute());
        if !has_path || !is_for_writing(&folder.join("fdinfo").join(descriptor.file_name())) {
            continue;
        }
        let Ok(file) = fs::metadata(descriptor.path()) else { continue };
        if !file.is_file() {
            continue;
        }
        let Some(id) = FileId::of(&file) else { continue };
        let is_first = writers.get(&id).is_none_or(|known| process < known.process);
        if is_first {
            let name = fs::read_to_string(folder.join("comm")).unwrap_or_default();
            writers.insert(id, Writer { name: sanitize_name(name.trim_end()), process });
        }
    }
}

/// Whether a descriptor is open for writing, by what the system tells of it.
fn is_for_writing(about: &Path) -> bool {
    /// `O_ACCMODE`, the bits of `O_WRONLY` and `O_RDWR`.
    const ACCESS: u32 = 0o3;
    let Ok(about) = fs::read_to_string(about) else { return false };
    let flags = about.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
    flags.is_some_and(|flags| flags & ACCESS != 0)
}

/// This process and its ancestors.
fn own_line() -> HashSet<u32> {
    let mut line = HashSet::new();
    let mut process = std::process::id();
    while process > 0 && line.insert(process) {
        process = parent_of(process).unwrap_or(0);
    }
    line
}

fn parent_of(process: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name of the process stands in parentheses and can hold any character.
    let (_, behind_name) = status.rsplit_once(')')?;
    behind_name.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_the_last_seconds_changed_lately() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000);
        for (seconds, expected) in [(985, false), (989, false), (990, true), (1_000, true), (1_005, true)] {
            let modified = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
            assert_eq!(changed_lately(modified, now), expected, "{seconds}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_parent_of_this_process_is_of_its_line() {
        let parent = std::os::unix::process::parent_id();
        assert!(own_line().is_superset(&[std::process::id(), parent].into()));
        assert!(
            !OpenFiles::default()
                .0
                .get_or_init(writers_of_others)
                .as_ref()
                .expect("a list")
                .values()
                .any(|writer| writer.process == std::process::id() || writer.process == parent)
        );
    }
}
