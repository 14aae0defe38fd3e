//! Replaces a file that was read, unless it changed since. The last look is right before its place is taken, behind all
//! that takes time.

use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::exit::Failure;
use crate::files::output::{CompleteFile, KeptCopy};
use crate::files::paths::{is_unchanged, other_names};
use crate::interrupt;

/// A file that a result replaces.
pub(crate) struct ReplacedFile<'p> {
    /// The path that the user gave.
    pub(crate) path: &'p Path,
    /// The file behind the links of the path, whose place the result takes. A link that took the place of the file, before
    /// or after it was read, leads to another file.
    pub(crate) target: PathBuf,
    /// What the file was before it was read.
    pub(crate) before: Option<&'p Metadata>,
}

impl ReplacedFile<'_> {
    /// Refuses a file that is not as it was before it was read. Returns by how many other names it is known now: a batch
    /// can have replaced some of them since.
    ///
    /// # Errors
    /// It changed, or it is another one.
    pub(crate) fn refuse_change(&self) -> Result<u64> {
        let mut others = 0;
        for path in [self.path, &self.target] {
            let now = fs::metadata(path).ok();
            if !is_unchanged(self.before, now.as_ref()) {
                let message = format!("{} changed meanwhile and is not replaced; run it again", self.path.display());
                return Err(Failure::unreadable(message).into());
            }
            others = now.as_ref().map_or(0, other_names);
        }
        Ok(others)
    }

    /// Puts a result in the place of the file, and a copy of the file in its own, where there is one. Returns by how many other
    /// names the old file is still known. An interrupt waits for both.
    ///
    /// # Errors
    /// The file changed, or one of them cannot take its place. Nothing has been changed then.
    pub(crate) fn replace(&self, result: CompleteFile, copy: Option<KeptCopy>) -> Result<u64> {
        interrupt::uninterrupted(|| {
            let copy = copy.map(KeptCopy::put).transpose()?;
            let replaced = self.refuse_change().and_then(|others| result.put().map(|()| others));
            if let (Err(_), Some(copy)) = (&replaced, copy) {
                // The file itself stands as it was.
                let _ = fs::remove_file(copy);
            }
            replaced
        })
    }
}
