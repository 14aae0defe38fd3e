//! The identity of a file behind a path or a handle.

use std::fs::Metadata;
use std::time::SystemTime;

/// The device and the number by which a system knows a file, whatever its paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(unix), allow(dead_code, reason = "files have no identity there"))]
pub(crate) struct FileId {
    device: u64,
    number: u64,
}

impl FileId {
    /// Returns the identity of a file; nothing on systems other than Unix.
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

/// The identity of a file, its length and its times: equal while the file and its permissions do not change. The time of
/// modification can be set; that of the change cannot.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    id: Option<FileId>,
    length: u64,
    modified: SystemTime,
    changed: Option<(i64, i64)>,
}

impl Stamp {
    /// Returns the stamp of a file; nothing on systems that record no time of modification.
    pub(crate) fn of(metadata: &Metadata) -> Option<Self> {
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
