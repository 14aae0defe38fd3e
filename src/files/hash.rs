//! The hash of a file, read in pieces.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use crate::hash::Hasher;

/// Returns the hash of a file.
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
