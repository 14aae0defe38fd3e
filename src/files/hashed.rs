//! Readers and writers that hash the bytes of a file on their way, so that no file is read again for its hash.

use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex};

use crate::hash::Hasher;
use crate::sync::lock;

/// The running hash of the bytes that were read or written of a file.
#[derive(Clone, Default)]
pub(crate) struct RunningHash(Arc<Mutex<Hasher>>);

impl RunningHash {
    /// The hash so far, in hexadecimal digits.
    pub(crate) fn hash(&self) -> String {
        lock(&self.0).clone().end()
    }
}

/// A reader or a writer that hashes the bytes.
pub(super) struct Hashed<F> {
    pub(super) file: F,
    pub(super) hash: RunningHash,
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        lock(&self.hash.0).add(&buffer[..read]);
        Ok(read)
    }
}

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        lock(&self.hash.0).add(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
