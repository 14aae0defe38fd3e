//! Reads a file in blocks of whole lines, so that it need not fit in memory.

use std::io::{self, ErrorKind, Read};
use std::path::Path;

use anyhow::Result;

use crate::files::compression::Compression;
use crate::files::input::{Reader, damage, unpacking, unreadable};

/// How much is read at once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlockSizes {
    /// The bytes of a block, where its lines are short.
    pub(crate) block: usize,
    /// The bytes of the longest line that is held whole.
    pub(crate) longest_line: usize,
}

/// Some bytes of a file, in order.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Block {
    /// Whole lines. The last line of the file may have no end.
    Lines(Vec<u8>),
    /// A part of a line that is too long to be held.
    OfLongLine(Vec<u8>),
}

impl Block {
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Block::Lines(bytes) | Block::OfLongLine(bytes) => bytes,
        }
    }
}

/// A file while it is read in blocks, unpacked if it is compressed.
pub(crate) struct BlockReader {
    name: String,
    pub(crate) compression: Option<Compression>,
    reader: Reader,
    sizes: BlockSizes,
    /// What was read behind the last line end.
    rest: Vec<u8>,
    is_in_long_line: bool,
    is_at_end: bool,
}

impl BlockReader {
    /// # Errors
    /// The file cannot be opened.
    pub(crate) fn open(path: &Path, sizes: BlockSizes) -> Result<Self> {
        let name = path.display().to_string();
        let (reader, compression) = unpacking(Some(path), &name, None)?;
        let (is_in_long_line, is_at_end) = (false, false);
        Ok(BlockReader { name, compression, reader, sizes, rest: Vec::new(), is_in_long_line, is_at_end })
    }

    /// The next block; nothing at the end.
    ///
    /// # Errors
    /// The file cannot be read, or its compressed data is damaged.
    pub(crate) fn next(&mut self) -> Result<Option<Block>> {
        let block = self.read_block();
        Ok(block.map_err(|error| unreadable(&self.name, &damage(&error, self.compression)))?)
    }

    fn read_block(&mut self) -> io::Result<Option<Block>> {
        let mut bytes = std::mem::take(&mut self.rest);
        let mut searched = 0;
        loop {
            self.fill(&mut bytes)?;
            let new = &bytes[searched..];
            let end = if self.is_in_long_line { memchr::memchr(b'\n', new) } else { memchr::memrchr(b'\n', new) };
            if let Some(end) = end {
                self.rest = bytes.split_off(searched + end + 1);
                let was_in_long_line = std::mem::take(&mut self.is_in_long_line);
                return Ok(Some(if was_in_long_line { Block::OfLongLine(bytes) } else { Block::Lines(bytes) }));
            }
            if self.is_in_long_line {
                return Ok(if bytes.is_empty() { None } else { Some(Block::OfLongLine(bytes)) });
            }
            if self.is_at_end {
                return Ok(if bytes.is_empty() { None } else { Some(Block::Lines(bytes)) });
            }
            if bytes.len() >= self.sizes.longest_line {
                self.is_in_long_line = true;
                return Ok(Some(Block::OfLongLine(bytes)));
            }
            searched = bytes.len();
        }
    }

    /// Reads up to the size of a block, and at least half of it.
    fn fill(&mut self, bytes: &mut Vec<u8>) -> io::Result<()> {
        let wanted = self.sizes.block.saturating_sub(bytes.len()).max(self.sizes.block / 2 + 1);
        let before = bytes.len();
        bytes.reserve(wanted);
        while !self.is_at_end && bytes.len() - before < wanted {
            let missing = (wanted - (bytes.len() - before)) as u64;
            match self.reader.by_ref().take(missing).read_to_end(bytes) {
                Ok(0) => self.is_at_end = true,
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(text: &str, block: usize, longest_line: usize) -> Vec<(String, bool)> {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("a.jsonl");
        std::fs::write(&file, text).expect("written");
        let mut reader = BlockReader::open(&file, BlockSizes { block, longest_line }).expect("there");
        let mut blocks = Vec::new();
        while let Some(block) = reader.next().expect("read") {
            let is_long = matches!(block, Block::OfLongLine(_));
            blocks.push((String::from_utf8_lossy(block.bytes()).into_owned(), is_long));
        }
        blocks
    }

    #[test]
    fn blocks_are_whole_lines() {
        for (block, longest) in [(1, 4), (3, 8), (8, 8), (64, 64)] {
            for text in ["", "a", "a\n", "\n\n", "ab\ncd\nef", "a\nbcdefghijkl\nm\n", "abcdefghijklmnopqrstuvwxyz"] {
                let blocks = blocks(text, block, longest);
                let all: String = blocks.iter().map(|(text, _)| text.as_str()).collect();
                assert_eq!(all, text, "{block}");
                for (at, (lines, is_long)) in blocks.iter().enumerate() {
                    let is_last = at + 1 == blocks.len();
                    assert!(*is_long || is_last || lines.ends_with('\n'), "{blocks:?}");
                    assert!(!lines.is_empty(), "{blocks:?}");
                }
            }
        }
    }

    #[test]
    fn a_line_that_is_too_long_comes_in_parts() {
        let blocks = blocks("ab\ncdefghijklmnop\nqr\n", 4, 8);
        let long: Vec<&str> = blocks.iter().filter(|(_, is_long)| *is_long).map(|(text, _)| text.as_str()).collect();
        assert_eq!(long.concat(), "cdefghijklmnop\n", "{blocks:?}");
    }
}
