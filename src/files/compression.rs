//! Compressed files, recognized by their first bytes when read and by their name when written.
//!
//! A small file can unpack to more than fits in memory. Reading such a file fails early.
//!
//! Both formats allow several members (gzip) or frames (zstd) behind each other, so a file grows by whole members. A mark
//! behind a member, which itself unpacks to nothing, shows that the file ends with a whole member of ours, without unpacking
//! the file.

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::MultiGzDecoder;
use flate2::write::GzEncoder;

use crate::wording;

/// The length that any file may unpack to: a tool that prints one line again and again compresses without limit.
const MUCH: u64 = 32 << 20;

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
pub enum Compression {
    /// `.gz`
    Gzip,
    /// `.zst`
    Zstandard,
}

impl Compression {
    /// The format with whose signature the bytes begin, if any.
    pub(super) fn of_bytes(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0x1f, 0x8b, ..] => Some(Compression::Gzip),
            // A frame, or one that readers skip, as pzstd writes in front of each.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Compression::Zstandard),
            _ => None,
        }
    }

    /// The format of the name's extension, if any.
    pub(crate) fn of_name(path: &Path) -> Option<Self> {
        let extension = path.extension()?;
        [Compression::Gzip, Compression::Zstandard]
            .into_iter()
            .find(|compression| extension.eq_ignore_ascii_case(compression.extension()))
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Compression::Gzip => "gzip",
            Compression::Zstandard => "zstd",
        }
    }

    /// The extension of a file's name.
    pub(super) fn extension(self) -> &'static str {
        match self {
            Compression::Gzip => "gz",
            Compression::Zstandard => "zst",
        }
    }

    /// How many times its size a file may unpack to, beyond `MUCH`. Of real transcripts, gzip reaches 50. It looks back over
    /// 32 KiB, so one that repeats itself reaches 300; a bomb reaches 1,030. zstd reaches 70, and 700 for the log of a
    /// proxy, in which each request repeats the conversation so far; a bomb reaches 30,000.
    fn most_times(self) -> u64 {
        match self {
            Compression::Gzip => 400,
            Compression::Zstandard => 1000,
        }
    }

    /// A reader of the unpacked bytes, which fails once there are too many.
    ///
    /// # Errors
    /// There is not enough memory.
    pub(super) fn reader<'r>(self, from: impl BufRead + Send + 'r) -> io::Result<Box<dyn Read + Send + 'r>> {
        let packed = Arc::default();
        let from = Packed { from, count: Arc::clone(&packed) };
        let reader: Box<dyn Read + Send> = match self {
            Compression::Gzip => Box::new(MultiGzDecoder::new(from)),
            Compression::Zstandard => {
                let mut decoder = zstd::Decoder::with_buffer(from)?;
                // Those of `zstd --long=31`. Memory is only used for what is unpacked, and that has a bound here. A system of
                // 32 bits has no such windows, and keeps the usual limit.
                let _ = decoder.window_log_max(31);
                Box::new(decoder)
            }
        };
        Ok(Box::new(Bounded { reader, packed, unpacked: 0, much: MUCH, compression: self }))
    }

    /// A writer that compresses. The same bytes give the same result: it has no time in it. A checksum tells damage.
    ///
    /// # Errors
    /// There is not enough memory.
    pub(super) fn writer<'w>(self, to: impl Write + Send + 'w) -> io::Result<Box<dyn Compressor + 'w>> {
        match self {
            Compression::Gzip => Ok(Box::new(GzEncoder::new(to, flate2::Compression::default()))),
            Compression::Zstandard => {
                let mut encoder = zstd::Encoder::new(to, zstd::DEFAULT_COMPRESSION_LEVEL)?;
                encoder.include_checksum(true)?;
                Ok(Box::new(encoder))
            }
        }
    }

    /// What stands behind a member that ends a line: an empty member with a field of ours in its header, or a frame that
    /// readers skip.
    fn end_mark(self) -> &'static [u8] {
        match self {
            Compression::Gzip => b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x04\0TC\0\0\x03\0\0\0\0\0\0\0\0\0",
            Compression::Zstandard => b"\x50\x2a\x4d\x18\x08\0\0\0tcompact",
        }
    }

    /// Writes a whole member and the mark behind it. What `write` writes ends a line.
    pub(super) fn write_member<W: Write + Send>(
        self,
        to: &mut W,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut member = self.writer(&mut *to)?;
        write(&mut member)?;
        member.end()?;
        to.write_all(self.end_mark())
    }

    /// Whether a file ends with a whole member of ours, and so with a line end.
    ///
    /// # Errors
    /// It cannot be read.
    pub(super) fn has_end_mark(self, mut file: &File) -> io::Result<bool> {
        let mark = self.end_mark();
        let Some(start) = file.metadata()?.len().checked_sub(mark.len() as u64) else { return Ok(false) };
        let mut end = Vec::new();
        file.seek(SeekFrom::Start(start))?;
        file.take(mark.len() as u64).read_to_end(&mut end)?;
        Ok(end == mark)
    }

    /// Unpacks a file, and returns whether its text ends with a line end.
    ///
    /// # Errors
    /// It cannot be read, or is not whole members.
    pub(super) fn ends_a_line(self, mut file: &File) -> io::Result<bool> {
        file.rewind()?;
        let mut reader = self.reader(BufReader::new(file))?;
        let mut buffer = vec![0; 1 << 16];
        let mut last = b'\n';
        loop {
            match reader.read(&mut buffer) {
                Ok(0) => return Ok(last == b'\n'),
                Ok(count) => last = buffer[count - 1],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// A reader of compressed bytes that counts them.
struct Packed<R> {
    from: R,
    count: Arc<AtomicU64>,
}

impl<R: BufRead> Read for Packed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.from.read(buffer)?;
        self.count.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

impl<R: BufRead> BufRead for Packed<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.from.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        self.count.fetch_add(count as u64, Ordering::Relaxed);
        self.from.consume(count);
    }
}

/// A reader of unpacked bytes that fails once there are too many for the packed bytes they came from.
struct Bounded<R> {
    reader: R,
    packed: Arc<AtomicU64>,
    unpacked: u64,
    much: u64,
    compression: Compression,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.unpacked += count as u64;
        let most_times = self.compression.most_times();
        if self.unpacked > self.much && self.unpacked / most_times > self.packed.load(Ordering::Relaxed) {
            let name = self.compression.name();
            let times = wording::grouped(most_times);
            let message = format!(
                "it unpacks to more than {times} times its size, as a bomb does; if you trust it, unpack it with {name} -d first"
            );
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
        compression.reader(io::Cursor::new(bytes))?.read_to_end(&mut out)?;
        Ok(out)
    }

    #[test]
    fn there_and_back() {
        for (compression, name) in [(Compression::Gzip, "a.json.gz"), (Compression::Zstandard, "a.JSONL.ZST")] {
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
        // The frames that pzstd writes in front.
        assert_eq!(Compression::of_bytes(b"\x50\x2a\x4d\x18\x04\0\0\0"), Some(Compression::Zstandard));
    }

    /// Members of ours, of others and empty ones.
    #[test]
    fn a_file_that_ends_anywhere_but_behind_a_member_is_cut_off() {
        for compression in [Compression::Gzip, Compression::Zstandard] {
            let mut members = Vec::new();
            for text in ["{\"source\":1}\n", "", "no line end", "\n", "{\"source\":2}\n{\"source\":3}\n"] {
                let mut ours = Vec::new();
                compression.write_member(&mut ours, |out| out.write_all(text.as_bytes())).expect("packed");
                let theirs = ours[..ours.len() - compression.end_mark().len()].to_vec();
                members.extend([(theirs, text), (ours, text)]);
            }
            // Where a file can end, each with whether its text ends a line.
            let (mut all, mut ends_a_line, mut ends) = (Vec::new(), true, Vec::new());
            for (member, text) in &members {
                let mark = if member.ends_with(compression.end_mark()) { compression.end_mark().len() } else { 0 };
                all.extend_from_slice(member);
                ends_a_line = text.chars().last().map_or(ends_a_line, |last| last == '\n');
                ends.extend([(all.len() - mark, ends_a_line), (all.len(), ends_a_line)]);
            }
            let mut file = tempfile::tempfile().expect("a file");
            file.write_all(&all).expect("written");
            for length in (1..=all.len()).rev() {
                file.set_len(length as u64).expect("cut");
                let expected = ends.iter().find(|(end, _)| *end == length).map(|(_, ends_a_line)| *ends_a_line);
                let found = compression.ends_a_line(&file);
                let is_cut_off = found.as_ref().is_err_and(|error| error.kind() == ErrorKind::UnexpectedEof);
                assert_eq!(found.ok(), expected, "{compression:?} {length}");
                assert!(expected.is_some() || is_cut_off, "{compression:?} {length}");
                let is_marked = compression.has_end_mark(&file).expect("read");
                assert_eq!(is_marked, all[..length].ends_with(compression.end_mark()), "{compression:?} {length}");
            }
        }
    }

    #[test]
    fn what_unpacks_without_end_is_given_up() {
        for (compression, most) in [(Compression::Gzip, 800), (Compression::Zstandard, 2_000)] {
            // Of 2 KiB.
            let packed = Arc::new(AtomicU64::new(2 << 10));
            let mut bounded = Bounded { reader: io::repeat(b' '), packed, unpacked: 0, much: 1 << 19, compression };
            let mut read = 0;
            let error = loop {
                match bounded.read(&mut [0; 1 << 10]) {
                    Ok(count) => read += count,
                    Err(error) => break error,
                }
            };
            assert_eq!((error.kind(), read), (ErrorKind::FileTooLarge, most << 10));
        }
    }
}
