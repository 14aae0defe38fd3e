//! The vocabularies and the classes of characters, as tables that are read where they lie.
//!
//! A vocabulary file is little-endian `u32`s and bytes: the number of entries `n`; the number of slots `s`; `n + 1`
//! offsets into the entries' bytes; `s` slots of a hash table with open addressing; the bytes of all entries in the
//! order of their ranks. A slot is 0 or `tag << 18 | rank + 1`, the tag being 14 bits of the entry's hash, so that most
//! misses end without a look at the bytes. The files are made by the test `generated::tables` from tiktoken-rs.

/// A vocabulary: byte strings and their ranks.
pub(super) struct Table {
    data: &'static [u8],
}

/// GPT-4o's vocabulary.
pub(super) static O200K_BASE: Table = Table { data: include_bytes!("o200k_base.table") };
/// GPT-4's vocabulary.
pub(super) static CL100K_BASE: Table = Table { data: include_bytes!("cl100k_base.table") };

/// Bits of a slot that hold rank + 1.
const RANK_BITS: u32 = 18;
const HEADER: usize = 8;

impl Table {
    /// The rank of an entry.
    pub(super) fn rank(&self, bytes: &[u8]) -> Option<u32> {
        let entries = self.number(0) as usize;
        let slots = self.number(4) as usize;
        let slots_at = HEADER + (entries + 1) * 4;
        let hash = hash(bytes);
        let mut slot = slot_of(hash, slots);
        loop {
            let found = self.number(slots_at + slot * 4);
            if found == 0 {
                return None;
            }
            if found >> RANK_BITS == tag_of(hash) {
                let rank = (found & ((1 << RANK_BITS) - 1)) - 1;
                if self.entry(rank, slots_at + slots * 4) == bytes {
                    return Some(rank);
                }
            }
            slot = if slot + 1 == slots { 0 } else { slot + 1 };
        }
    }

    fn entry(&self, rank: u32, bytes_at: usize) -> &'static [u8] {
        let offset = HEADER + rank as usize * 4;
        &self.data[bytes_at + self.number(offset) as usize..bytes_at + self.number(offset + 4) as usize]
    }

    fn number(&self, at: usize) -> u32 {
        let mut bytes = [0; 4];
        bytes.copy_from_slice(&self.data[at..at + 4]);
        u32::from_le_bytes(bytes)
    }
}

/// The same on every machine, since the files depend on it.
fn hash(bytes: &[u8]) -> u64 {
    const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut hash = (bytes.len() as u64).wrapping_mul(MULTIPLIER);
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        hash = (hash ^ u64::from_le_bytes(word)).wrapping_mul(MULTIPLIER);
        hash ^= hash >> 32;
    }
    hash.wrapping_mul(MULTIPLIER)
}

/// The upper half of the hash, scaled to the number of slots.
fn slot_of(hash: u64, slots: usize) -> usize {
    (((hash >> 32) * slots as u64) >> 32) as usize
}

fn tag_of(hash: u64) -> u32 {
    (hash as u32) >> RANK_BITS
}

/// What the patterns of the vocabularies ask of a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// Punctuation, symbols, controls: neither letter, number nor space.
    Other,
    /// Letters in upper or title case.
    Upper,
    /// Letters in lower case.
    Lower,
    /// Letters without case, and modifiers.
    Caseless,
    /// Combining marks.
    Mark,
    /// Numbers of any kind.
    Number,
    /// White space that does not end a line.
    Space,
    /// Carriage return and line feed.
    Newline,
}

/// 4,352 numbers of blocks, then blocks of 256 classes.
static CLASSES: &[u8] = include_bytes!("classes.table");
const BLOCKS: usize = 0x11_0000 / 256;

/// The class of a character.
pub(super) fn class(c: char) -> Class {
    const BY_NUMBER: [Class; 8] = [
        Class::Other,
        Class::Upper,
        Class::Lower,
        Class::Caseless,
        Class::Mark,
        Class::Number,
        Class::Space,
        Class::Newline,
    ];
    let code = c as usize;
    let block = CLASSES[code >> 8] as usize;
    BY_NUMBER[(CLASSES[BLOCKS + block * 256 + (code & 0xFF)] & 7) as usize]
}

#[cfg(test)]
pub(crate) mod build {
    //! Makes the table files.

    use super::{BLOCKS, RANK_BITS, hash, slot_of, tag_of};

    /// The file for a vocabulary whose entries are given in the order of their ranks.
    pub(crate) fn vocabulary(entries: &[Vec<u8>]) -> Vec<u8> {
        let slots = entries.len() * 8 / 5;
        let mut offsets = vec![0u32];
        let mut table = vec![0u32; slots];
        for (rank, entry) in entries.iter().enumerate() {
            offsets.push(offsets[rank] + u32::try_from(entry.len()).expect("a short entry"));
            let hash = hash(entry);
            let mut slot = slot_of(hash, slots);
            while table[slot] != 0 {
                slot = (slot + 1) % slots;
            }
            table[slot] = tag_of(hash) << RANK_BITS | u32::try_from(rank + 1).expect("a rank");
        }
        let header = [entries.len(), slots].map(|n| u32::try_from(n).expect("a count"));
        let numbers = header.iter().chain(&offsets).chain(&table).flat_map(|n| n.to_le_bytes());
        numbers.chain(entries.concat()).collect()
    }

    /// The file for the classes that `class_number` gives for each code point.
    pub(crate) fn classes(class_number: impl Fn(u32) -> u8) -> Vec<u8> {
        let mut blocks: Vec<Vec<u8>> = Vec::new();
        let mut index = Vec::new();
        for block in 0..BLOCKS {
            let first = u32::try_from(block * 256).expect("a code point");
            let classes: Vec<u8> = (first..first + 256).map(&class_number).collect();
            let known = blocks.iter().position(|known| *known == classes).unwrap_or_else(|| {
                blocks.push(classes);
                blocks.len() - 1
            });
            index.push(u8::try_from(known).expect("fewer than 256 blocks"));
        }
        index.into_iter().chain(blocks.concat()).collect()
    }
}

#[cfg(test)]
mod generated {
    use super::build;
    use std::path::Path;

    /// Compares a file of the source with what it is made from; writes it where `TCOMPACT_REGENERATE` is set.
    fn check(file: &str, made: &[u8]) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tokens/bpe").join(file);
        if std::env::var_os("TCOMPACT_REGENERATE").is_some() {
            std::fs::write(&path, made).expect("the file can be written");
        }
        let committed = std::fs::read(&path).expect("the file is there");
        assert!(committed == made, "{file} is stale: run `TCOMPACT_REGENERATE=1 cargo test generated` and build again");
    }

    fn entries(bpe: &tiktoken_rs::CoreBPE, number: u32) -> Vec<Vec<u8>> {
        (0..number).map(|rank| bpe.decode_bytes(&[rank]).expect("a rank")).collect()
    }

    #[test]
    fn tables() {
        check("o200k_base.table", &build::vocabulary(&entries(&tiktoken_rs::o200k_base().expect("o200k"), 199_998)));
        check("cl100k_base.table", &build::vocabulary(&entries(&tiktoken_rs::cl100k_base().expect("cl100k"), 100_256)));
        check("classes.table", &build::classes(class_numbers()));
    }

    fn class_numbers() -> impl Fn(u32) -> u8 {
        let mut numbers = vec![0u8; 0x11_0000];
        for (class, number) in [
            ("[\\p{Lu}\\p{Lt}]", 1),
            ("\\p{Ll}", 2),
            ("[\\p{Lm}\\p{Lo}]", 3),
            ("\\p{M}", 4),
            ("\\p{N}", 5),
            ("\\s", 6),
            ("[\\r\\n]", 7),
        ] {
            let hir = regex_syntax::Parser::new().parse(class).expect("a class");
            let regex_syntax::hir::HirKind::Class(regex_syntax::hir::Class::Unicode(ranges)) = hir.into_kind() else {
                panic!("{class} is no class of characters");
            };
            for range in ranges.ranges() {
                numbers[range.start() as usize..=range.end() as usize].fill(number);
            }
        }
        move |code| numbers[code as usize]
    }
}
