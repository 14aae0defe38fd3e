//! Compressed files: told by their first bytes where they are read, by their name where they are written.

use std::io::{self, Read, Write};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;

/// A way of compressing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compression {
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
    pub(super) fn of_name(path: &Path) -> Option<Self> {
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

    /// What was compressed, of all members or frames.
    ///
    /// # Errors
    /// The bytes are damaged or end early.
    pub(super) fn unpack(self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        match self {
            Compression::Gzip => {
                let mut out = Vec::new();
                MultiGzDecoder::new(bytes).read_to_end(&mut out)?;
                Ok(out)
            }
            Compression::Zstandard => zstd::decode_all(bytes),
        }
    }

    /// The compressed bytes: the same for the same bytes, with no time in them.
    ///
    /// # Errors
    /// There is no memory for it.
    pub(super) fn pack(self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        match self {
            Compression::Gzip => {
                let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
                encoder.write_all(bytes)?;
                encoder.finish()
            }
            Compression::Zstandard => zstd::encode_all(bytes, zstd::DEFAULT_COMPRESSION_LEVEL),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        for (compression, name) in [(Compression::Gzip, "a.json.gz"), (Compression::Zstandard, "a.jsonl.zst")] {
            assert_eq!(Compression::of_name(Path::new(name)), Some(compression));
            let packed = compression.pack(b"text").expect("packed");
            assert_eq!(Compression::of_bytes(&packed), Some(compression));
            let twice = [packed.clone(), packed.clone()].concat();
            assert_eq!(compression.unpack(&twice).expect("unpacked"), b"texttext");
            assert!(compression.unpack(&packed[..packed.len() - 1]).is_err());
        }
        assert_eq!(Compression::of_bytes(b"{}"), None);
        assert_eq!(Compression::of_name(Path::new("a.json")), None);
    }
}
