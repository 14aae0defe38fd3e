//! Parts of paths.

use std::path::Path;

/// Returns the folder of a path; `.` for a plain name.
pub(crate) fn folder(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
