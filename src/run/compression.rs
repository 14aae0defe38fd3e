//! Compressed files: told by their first bytes where they are read, by their name where they are written.

use std::io::{self, BufRead, Read, Write};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use flate2::write::GzEncoder;

/// Something that compresses what is written to it, and is told where that ends.
pub(super) trait Packing: Write + Send {
    /// Writes what is left.
    fn end(self: Box<Self>) -> io::Result<()>;
}

impl<W: Write + Send> Packing for GzEncoder<W> {
    fn end(self: Box<Self>) -> io::Result<()> {
        self.finish().map(drop)
    }
}

impl<W: Write + Send> Packing for zstd::Encoder<'_, W> {
    fn end(self: Box<Self>) -> io::Result<()> {
        self.finish().map(drop)
    }
}

/// A way of compressing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// `.gz`
    Gzip,
    /// `.zst`
    Zstandard,
}

impl Compression {
    /// How bytes are compressed, if they are.
    pub(super) fn of_bytes(bytes: &[u8]) -> Option<Self> {
        if bytes.starts_with(&[0x1f, 0x8b]) {
            Some(Compression::Gzip)
        } else {
            bytes.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]).then_some(Compression::Zstandard)
        }
    }

    /// How a file of this name is compressed, if it is.
    pub fn of_name(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "gz" => Some(Compression::Gzip),
            "zst" => Some(Compression::Zstandard),
            _ => None,
        }
    }

    /// The name for a sentence.
    pub(super) fn name(self) -> &'static str {
        match self {
            Compression::Gzip => "gzip",
            Compression::Zstandard => "zstd",
        }
    }

    /// What was compressed, as it is read.
    ///
    /// # Errors
    /// There is no memory for it.
    pub(super) fn reader(self, from: impl BufRead + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
        Ok(match self {
            Compression::Gzip => Box::new(MultiGzDecoder::new(from)),
            Compression::Zstandard => Box::new(zstd::Decoder::with_buffer(from)?),
        })
    }

    /// Compresses what is written: the same for the same bytes, with no time in it.
    ///
    /// # Errors
    /// There is no memory for it.
    pub(super) fn writer<'w>(self, to: impl Write + Send + 'w) -> io::Result<Box<dyn Packing + 'w>> {
        Ok(match self {
            Compression::Gzip => Box::new(GzEncoder::new(to, flate2::Compression::default())),
            Compression::Zstandard => Box::new(zstd::Encoder::new(to, zstd::DEFAULT_COMPRESSION_LEVEL)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unpacked(compression: Compression, bytes: Vec<u8>) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        compression.reader(io::Cursor::new(bytes))?.read_to_end(&mut out)?;
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
}
