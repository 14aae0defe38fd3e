//! Extended attributes: what users, desktops and systems note on a file beside its content. Linux and macOS have them.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{XattrFlags, fsetxattr, getxattr, getxattr_query, listxattr, listxattr_query};

/// Attributes that vouch for the content of a file, or give a program rights. They are not those of a new file.
const NOT_COPIED: [&[u8]; 3] = [b"security.capability", b"security.evm", b"security.ima"];
/// The attribute that lists who else may read and write a file.
const ACCESS_LIST: &[u8] = b"system.posix_acl_access";

/// Gives a file the extended attributes of another one, as far as the file system lets us.
pub(super) fn copy(from: &Path, to: &File) {
    for name in names(from).split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        // Members of another group may not become readers.
        let is_copied = !NOT_COPIED.contains(&name) && (name != ACCESS_LIST || has_owner_of(from, to));
        if let Some(value) = value(from, name).filter(|_| is_copied) {
            let _ = fsetxattr(to, name, &value, XattrFlags::empty());
        }
    }
}

/// The names of the attributes of a file, each with a NUL behind it.
fn names(file: &Path) -> Vec<u8> {
    let mut names = Vec::new();
    if let Ok(length @ 1..) = listxattr_query(file) {
        names.resize(length, 0);
        let read = listxattr(file, names.as_mut_slice());
        names.truncate(read.unwrap_or(0));
    }
    names
}

fn value(file: &Path, name: &[u8]) -> Option<Vec<u8>> {
    let length = getxattr_query(file, name).ok()?;
    let mut value = vec![0; length];
    let read = getxattr(file, name, value.as_mut_slice()).ok()?;
    value.truncate(read);
    Some(value)
}

fn has_owner_of(from: &Path, to: &File) -> bool {
    let (Ok(from), Ok(to)) = (fs::metadata(from), to.metadata()) else { return false };
    from.uid() == to.uid() && from.gid() == to.gid()
}
