//! Compressed files, recognized by their first bytes when read and by their name when written.
//!
//! A small file can unpack to more than fits in memory. Reading such a file fails.

use std::io::{self, BufRead, ErrorKind, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::MultiGzDecoder;
use flate2::write::GzEncoder;

/// The length that any file may unpack to.
const MUCH: u64 = 256 << 20;
/// The ratio that a file may unpack to beyond that. No text comes near it, and gzip itself cannot do much more.
const MOST_TIMES: u64 = 1000;

/// A writer that compresses, and must be ended.
pub(super) trait Compressor: Write + Send {
    /// Writes what is buffered.
    fn end(self: Box<Self>) -> io::Result<()>;
}

impl<W: Write + Send> Compressor for GzEncoder<W> {
    fn end(self: Box<Self>) -> io::Result<()> {
        self.finish().map(drop)
    }
}

impl<W: Write + Send> Compressor for zstd::Encoder<'_, W> {
    fn end(self: Box<Self>) -> io::Result<()> {
        self.finish().map(drop)
    }
}

/// A compression format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compression {
    /// `.gz`
    Gzip,
    /// `.zst`
    Zstandard,
}

impl Compression {
    /// The format with whose signature the bytes begin, if any.
    pub(super) fn of_bytes(bytes: &[u8]) -> Option<Self> {
        if bytes.starts_with(&[0x1f, 0x8b]) {
            Some(Compression::Gzip)
        } else {
            bytes.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]).then_some(Compression::Zstandard)
        }
    }

    /// The format of the name's extension, if any.
    pub(crate) fn of_name(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "gz" => Some(Compression::Gzip),
            "zst" => Some(Compression::Zstandard),
            _ => None,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Compression::Gzip => "gzip",
            Compression::Zstandard => "zstd",
        }
    }

    /// A reader of the unpacked bytes, and a count of them.
    ///
    /// # Errors
    /// There is not enough memory.
    pub(super) fn reader(self, from: impl BufRead + Send + 'static) -> io::Result<(Box<dyn Read + Send>, Unpacked)> {
        let unpacked = Unpacked::default();
        let from = Packed { from, unpacked: unpacked.clone() };
        let reader: Box<dyn Read + Send> = match self {
            Compression::Gzip => Box::new(MultiGzDecoder::new(from)),
            Compression::Zstandard => Box::new(zstd::Decoder::with_buffer(from)?),
        };
        Ok((Box::new(Bounded { reader, unpacked: unpacked.clone(), much: MUCH }), unpacked))
    }

    /// A writer that compresses. The same bytes give the same result: it has no time in it.
    ///
    /// # Errors
    /// There is not enough memory.
    pub(super) fn writer<'w>(self, to: impl Write + Send + 'w) -> io::Result<Box<dyn Compressor + 'w>> {
        Ok(match self {
            Compression::Gzip => Box::new(GzEncoder::new(to, flate2::Compression::default())),
            Compression::Zstandard => Box::new(zstd::Encoder::new(to, zstd::DEFAULT_COMPRESSION_LEVEL)?),
        })
    }
}

/// The number of unpacked bytes, and of the compressed bytes that they came from.
#[derive(Clone, Default)]
pub(super) struct Unpacked(Arc<(AtomicU64, AtomicU64)>);

impl Unpacked {
    /// Resets the count: the bytes so far are no longer in memory.
    pub(super) fn reset(&self) {
        self.0.0.store(0, Ordering::Relaxed);
        self.0.1.store(0, Ordering::Relaxed);
    }
}

/// A reader of compressed bytes that counts them.
struct Packed<R> {
    from: R,
    unpacked: Unpacked,
}

impl<R: BufRead> Read for Packed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.from.read(buffer)?;
        self.unpacked.0.0.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

impl<R: BufRead> BufRead for Packed<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.from.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        self.unpacked.0.0.fetch_add(count as u64, Ordering::Relaxed);
        self.from.consume(count);
    }
}

/// A reader of unpacked bytes that fails once there are too many.
struct Bounded<R> {
    reader: R,
    unpacked: Unpacked,
    much: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        let (packed, unpacked) = &*self.unpacked.0;
        let all = unpacked.fetch_add(count as u64, Ordering::Relaxed) + count as u64;
        if all > self.much && all / MOST_TIMES > packed.load(Ordering::Relaxed) {
            let message = "it unpacks to more than 1,000 times its size; if that is right, unpack it first, and send it to standard input";
            return Err(io::Error::new(ErrorKind::FileTooLarge, message));
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unpacked(compression: Compression, bytes: Vec<u8>) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        compression.reader(io::Cursor::new(bytes))?.0.read_to_end(&mut out)?;
        Ok(out)
    }

    #[test]
    fn there_and_back() {
        for (compression, name) in [(Compression::Gzip, "a.json.gz"), (Compression::Zstandard, "a.jsonl.zst")] {
            assert_eq!(Compression::of_name(Path::new(name)), Some(compression));
            let mut packed = Vec::new();
            let mut packing = compression.writer(&mut packed).expect("a writer");
            packing.write_all(b"text").and_then(|()| packing.end()).expect("packed");
            assert_eq!(Compression::of_bytes(&packed), Some(compression));
            let twice = [packed.clone(), packed.clone()].concat();
            assert_eq!(unpacked(compression, twice).expect("unpacked"), b"texttext");
            assert!(unpacked(compression, packed[..packed.len() - 1].to_vec()).is_err());
        }
        assert_eq!(Compression::of_bytes(b"{}"), None);
        assert_eq!(Compression::of_name(Path::new("a.json")), None);
    }

    #[test]
    fn what_unpacks_without_end_is_given_up() {
        let unpacked = Unpacked::default();
        let mut bounded = Bounded { reader: io::repeat(b' '), unpacked: unpacked.clone(), much: 1 << 20 };
        // A thousand times as many bytes may be unpacked.
        unpacked.0.0.store(2 << 10, Ordering::Relaxed);
        let mut read = 0;
        let error = loop {
            match bounded.read(&mut [0; 1 << 10]) {
                Ok(count) => read += count,
                Err(error) => break error,
            }
        };
        assert_eq!((error.kind(), read), (ErrorKind::FileTooLarge, 2_000 << 10));
        unpacked.reset();
        assert!(bounded.read(&mut [0; 1 << 10]).is_ok(), "of the next line nothing is held yet");
    }
}
