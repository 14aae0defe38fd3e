//! What a path leads to: its folder, the identity of a file behind a path or a handle, links, and the hash of a file.
//!
//! Also: links inside a folder that tcompact fills. tcompact writes through none of them: a link can lead anywhere.
//!
//! The folder itself may be a link, since the user named it. A link can take the place of a file between this check and
//! the writing. The result then replaces the link, since results are renamed into their place.

use std::fs::{File, Metadata};
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::time::SystemTime;

use crate::hash::Hasher;

/// The folder of a path; `.` for a plain name.
pub(crate) fn folder(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The device and the number by which a system knows a file, whatever its paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(not(unix), allow(dead_code, reason = "files have no identity there"))]
pub(crate) struct FileId {
    device: u64,
    number: u64,
}

impl FileId {
    /// None on systems other than Unix.
    pub(crate) fn of(metadata: &Metadata) -> Option<Self> {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            Some(FileId { device: metadata.dev(), number: metadata.ino() })
        }
        #[cfg(not(unix))]
        {
            let _ = metadata;
            None
        }
    }
}

/// By how many other names a file is known: a result that takes the place of one name leaves the others to the old file.
pub(crate) fn other_names(file: &Metadata) -> u64 {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        file.nlink().saturating_sub(1)
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        0
    }
}

/// The identity of a file, its length and its times: the same while the file and its permissions do not change. The time
/// of modification can be set; that of the change cannot.
#[derive(Debug, PartialEq, Eq)]
struct Stamp {
    id: Option<FileId>,
    length: u64,
    modified: SystemTime,
    changed: Option<(i64, i64)>,
}

impl Stamp {
    /// None on systems that record no time of modification.
    fn of(metadata: &Metadata) -> Option<Self> {
        let modified = metadata.modified().ok()?;
        #[cfg(unix)]
        let changed = {
            use std::os::unix::fs::MetadataExt;
            Some((metadata.ctime(), metadata.ctime_nsec()))
        };
        #[cfg(not(unix))]
        let changed = None;
        Some(Stamp { id: FileId::of(metadata), length: metadata.len(), modified, changed })
    }
}

/// Whether a file is as it was before. A file that gained or lost a name (hard link) has another time of change with the
/// same content: a run that replaces one name of a file takes it from the others.
pub(crate) fn is_unchanged(before: Option<&Metadata>, now: Option<&Metadata>) -> bool {
    let (mut stamp_before, stamp_now) = (before.and_then(Stamp::of), now.and_then(Stamp::of));
    if before.map(other_names) != now.map(other_names)
        && let (Some(before), Some(now)) = (&mut stamp_before, &stamp_now)
    {
        before.changed = now.changed;
    }
    stamp_before == stamp_now
}

/// Refuses a `place` with a link in its path below `home`.
///
/// # Errors
/// The first link on the way, and what to do about it.
pub(crate) fn refuse_links(home: &Path, place: &Path) -> io::Result<()> {
    let Ok(below) = place.strip_prefix(home) else { return Ok(()) };
    let mut path = home.to_owned();
    for part in below.components() {
        path.push(part);
        if path.is_symlink() {
            let link = path.display();
            return Err(io::Error::other(format!(
                "{link} is a link, and tcompact does not write through links; remove it and run again"
            )));
        }
    }
    Ok(())
}

/// The hash of a file.
///
/// # Errors
/// The file cannot be read.
pub(crate) fn hash_of(path: &Path) -> io::Result<String> {
    const AT_ONCE: usize = 1 << 16;
    let mut file = BufReader::with_capacity(AT_ONCE, File::open(path)?);
    let mut hasher = Hasher::default();
    loop {
        let read = file.fill_buf()?;
        if read.is_empty() {
            return Ok(hasher.end());
        }
        hasher.add(read);
        let read = read.len();
        file.consume(read);
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_links_below_the_folder_count() {
        let folder = tempfile::tempdir().expect("a folder");
        let of = |name: &str| folder.path().join(name);
        fs::create_dir_all(of("real/deep")).expect("made");
        symlink("real", of("named")).expect("a link");
        symlink("nowhere", of("real/a.json")).expect("a link");
        symlink("deep", of("real/sub")).expect("a link");
        for (place, refused) in [
            ("named/b.json", false),
            ("named/deep/c.json", false),
            ("named/a.json", true),
            ("named/sub/new/d.json", true),
        ] {
            assert_eq!(refuse_links(&of("named"), &of(place)).is_err(), refused, "{place}");
        }
        assert!(refuse_links(&of("elsewhere"), &of("named/a.json")).is_ok(), "it is not a place in that folder");
    }
}
