//! A file while it is written: what its bytes go through on the way.

use std::fs::Metadata;
use std::io::{self, Write};
use std::path::Path;

use crate::files::atomic::{AtomicFile, Readers};
use crate::files::compression::{Compression, Compressor};
use crate::files::hashed::{Hashed, RunningHash};

/// How to write a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WriteOptions<'r> {
    pub(crate) compression: Option<Compression>,
    pub(crate) readers: &'r Readers,
    /// Whether to hash the bytes of the file.
    pub(crate) hashed: bool,
}

/// A file that is being written beside its place.
pub(super) struct WrittenFile {
    file: AtomicFile,
    /// What the bytes go through if they are compressed.
    packing: Option<Box<dyn Compressor>>,
    /// The hash of the bytes in the file.
    hash: Option<RunningHash>,
}

impl WrittenFile {
    pub(super) fn begin(target: &Path, options: WriteOptions<'_>) -> io::Result<Self> {
        let WriteOptions { compression, readers, hashed } = options;
        let file = AtomicFile::beside(target, readers)?;
        let hash = hashed.then(RunningHash::default);
        let packing = match (compression, &hash) {
            (None, _) => None,
            (Some(compression), None) => Some(compression.writer(file.file.as_file().try_clone()?)?),
            (Some(compression), Some(hash)) => {
                Some(compression.writer(Hashed { file: file.file.as_file().try_clone()?, hash: hash.clone() })?)
            }
        };
        Ok(WrittenFile { file, packing, hash })
    }

    pub(super) fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match (&mut self.packing, &self.hash) {
            (Some(packing), _) => packing.write_all(bytes),
            (None, Some(hash)) => Hashed { file: self.file.file.as_file(), hash: hash.clone() }.write_all(bytes),
            (None, None) => self.file.file.write_all(bytes),
        }
    }

    /// The file whose place it will take.
    pub(super) fn place(&self) -> &Path {
        self.file.place()
    }

    /// Completes the file, with the mode and times of `like`. Returns it with its hash, if one was asked for.
    pub(super) fn complete(self, like: Option<&Metadata>) -> io::Result<(AtomicFile, Option<String>)> {
        let WrittenFile { file, packing, hash } = self;
        if let Some(packing) = packing {
            packing.end()?;
        }
        file.finish(like)?;
        Ok((file, hash.map(|hash| hash.hash())))
    }
}
