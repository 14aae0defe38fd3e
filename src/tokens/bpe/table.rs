//! The vocabularies, as tables that are read where they lie.
//!
//! A vocabulary has one table for its entries of 2 to 8 bytes and one for the longer ones. (Single bytes are entries
//! too, but nobody asks for their ranks.) Both are sorted by a hash of the entry, and where the entries of each bucket
//! of hashes begin is told by a directory. The hash of a short entry can be turned back into its bytes: a hash that is
//! there is an entry that is there, and the bucket tells the bits of it that its slot has no room for.
//!
//! Pairs of bytes, which every merge begins with, have a table of their own, in blocks: few pairs are entries, and those
//! lie close together, so that most blocks are alike, and are there once. Most of what is no entry is told by one bit of a
//! filter, which stays in the processor's cache where the tables do not.
//!
//! A vocabulary file is little-endian numbers and bytes: three `u32`s, the numbers of blocks of pairs, of short and of
//! long entries; a `u16` per [`PAIRS`] pairs of bytes, their block; the blocks, a `u32` per pair, its rank or
//! [`NO_PAIR`]; a bit for each value of the first [`FILTER_BITS`] of a hash, whether an entry has it, the lowest bit of
//! a byte first; the two tables; the bytes of the long entries. A table is a `u32` per [`GROUP`] of buckets, where the
//! first begins among the slots, and one for their end; a `u8` per bucket, how far behind that it begins, and one for
//! their end; a `u64` per slot. The lowest [`RANK_BITS`] of a slot are the rank. Above it are, in the short table, all
//! bits of the hash but those that number the bucket; in the long one, 7 bits of the entry's length minus one, 20 bits
//! of the offset into those bytes, where one entry may be part of another, and as many bits of the hash as are left. The
//! files are made by the test `generated_tables` from tiktoken-rs.

/// A vocabulary: byte strings and their ranks.
pub(super) struct Table {
    /// By the first byte times 256 plus the second, over [`PAIRS`]: a block of `pairs`.
    blocks: &'static [[u8; 2]],
    pairs: &'static [[[u8; 4]; PAIRS]],
    filter: &'static [u8],
    short: Buckets,
    long: Buckets,
    long_bytes: &'static [u8],
}

/// The rank of what is no entry, above all ranks. Ranks are signed because any processor can tell the lower ones of
/// several signed numbers at once.
pub(super) const NO_PAIR: i32 = i32::MAX;

/// Pairs of bytes of a block.
pub(super) const PAIRS: usize = 16;

/// The longest entries of the short table, in bytes.
pub(super) const SHORT: usize = 8;
/// The upper bits of a hash that the filter knows.
pub(super) const FILTER_BITS: u32 = 20;
pub(super) const RANK_BITS: u32 = 18;
pub(super) const LENGTH_BITS: u32 = 7;
pub(super) const OFFSET_BITS: u32 = 20;
/// The lower bits of a slot of the long table, which are none of its hash.
pub(super) const PLACE_BITS: u32 = RANK_BITS + LENGTH_BITS + OFFSET_BITS;
/// The upper bits of a hash that number its bucket. In the short table they are as many as a rank takes up, so that bucket
/// and slot together hold the whole hash.
pub(super) const SHORT_BUCKET_BITS: u32 = RANK_BITS;
pub(super) const LONG_BUCKET_BITS: u32 = 15;
/// Buckets that share a number of the directory.
pub(super) const GROUP: usize = 64;

impl Table {
    /// GPT-4o's vocabulary.
    pub(super) fn o200k_base() -> Self {
        Table::new(include_bytes!("o200k_base.table"))
    }

    /// GPT-4's vocabulary.
    pub(super) fn cl100k_base() -> Self {
        Table::new(include_bytes!("cl100k_base.table"))
    }

    fn new(file: &'static [u8]) -> Self {
        let (header, rest) = file.split_at(3 * 4);
        let [blocks, short, long] = [0, 1, 2].map(|at| header.as_chunks::<4>().0[at]);
        let (block_of, rest) = rest.split_at(2 * (1 << 16) / PAIRS);
        let (pairs, rest) = rest.split_at(4 * PAIRS * u32::from_le_bytes(blocks) as usize);
        let (filter, rest) = rest.split_at(1 << (FILTER_BITS - 3));
        let (short, rest) = Buckets::new(SHORT_BUCKET_BITS, short, rest);
        let (long, long_bytes) = Buckets::new(LONG_BUCKET_BITS, long, rest);
        let (blocks, pairs) = (block_of.as_chunks().0, pairs.as_chunks().0.as_chunks().0);
        Table { blocks, pairs, filter, short, long, long_bytes }
    }

    /// The rank of the entry that is the first `length` bytes (two or more) of `text`, which is valid UTF-8 but may
    /// begin and end within characters.
    pub(super) fn rank(&self, text: &[u8], length: usize) -> Option<i32> {
        self.slot(text, length).map(|slot| (slot & ((1 << RANK_BITS) - 1)) as i32)
    }

    /// The rank of two bytes, or [`NO_PAIR`].
    #[inline]
    pub(super) fn pair(&self, pair: [u8; 2]) -> i32 {
        let pair = u16::from_be_bytes(pair) as usize;
        let block = u16::from_le_bytes(self.blocks[pair / PAIRS]);
        i32::from_le_bytes(self.pairs[block as usize][pair % PAIRS])
    }

    /// Whether the first `length` bytes of `text` are an entry.
    pub(super) fn has(&self, text: &[u8], length: usize) -> bool {
        self.slot(text, length).is_some()
    }

    fn slot(&self, text: &[u8], length: usize) -> Option<u64> {
        if length <= SHORT {
            let hash = short_hash(text, length);
            let has_hash = |slot: &u64| (slot ^ (hash << SHORT_BUCKET_BITS)) >> RANK_BITS == 0;
            return self.may_have(hash).then(|| self.short.bucket(hash).find(has_hash)).flatten();
        }
        let entry = &text[..length];
        let hash = long_hash(entry);
        let has_hash = |slot: &u64| (slot ^ (hash << LONG_BUCKET_BITS)) >> PLACE_BITS == 0;
        let is_it = |slot: &u64| has_hash(slot) && self.long_entry(*slot) == entry;
        self.may_have(hash).then(|| self.long.bucket(hash).find(is_it)).flatten()
    }

    #[inline]
    fn may_have(&self, hash: u64) -> bool {
        let bit = hash >> (64 - FILTER_BITS);
        self.filter[(bit >> 3) as usize] >> (bit & 7) & 1 == 1
    }

    /// The bytes that a slot of the long table stands for.
    fn long_entry(&self, slot: u64) -> &'static [u8] {
        let start = ((slot >> (RANK_BITS + LENGTH_BITS)) & ((1 << OFFSET_BITS) - 1)) as usize;
        let length = ((slot >> RANK_BITS) & ((1 << LENGTH_BITS) - 1)) as usize + 1;
        &self.long_bytes[start..start + length]
    }
}

/// Slots in the order of their hashes, and where those of each bucket begin.
struct Buckets {
    /// The upper bits of a hash that number its bucket.
    bits: u32,
    /// For each [`GROUP`] of buckets, the slot that it begins with.
    groups: &'static [[u8; 4]],
    /// For each bucket, how many slots behind that it begins.
    begins: &'static [u8],
    slots: &'static [[u8; 8]],
}

impl Buckets {
    /// The table at the beginning of `file`, and what follows it.
    fn new(bits: u32, slots: [u8; 4], file: &'static [u8]) -> (Self, &'static [u8]) {
        let buckets = 1 << bits;
        let (groups, rest) = file.split_at(4 * (buckets / GROUP + 1));
        let (begins, rest) = rest.split_at(buckets + 1);
        let (slots, rest) = rest.split_at(8 * u32::from_le_bytes(slots) as usize);
        (Buckets { bits, groups: groups.as_chunks().0, begins, slots: slots.as_chunks().0 }, rest)
    }

    /// The slots that an entry with this hash can be in.
    #[inline]
    fn bucket(&self, hash: u64) -> impl Iterator<Item = u64> {
        let bucket = (hash >> (u64::BITS - self.bits)) as usize;
        self.slots[self.begin(bucket)..self.begin(bucket + 1)].iter().map(|slot| u64::from_le_bytes(*slot))
    }

    #[inline]
    fn begin(&self, bucket: usize) -> usize {
        u32::from_le_bytes(self.groups[bucket / GROUP]) as usize + self.begins[bucket] as usize
    }
}

/// Odd, and without a pattern in its bits.
pub(super) const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

/// A hash that no other bytes have: what is missing to eight bytes is filled up with ones, which are in no text, and each
/// step can be undone.
#[inline]
pub(super) fn short_hash(text: &[u8], length: usize) -> u64 {
    let word = match text.first_chunk() {
        Some(bytes) => u64::from_le_bytes(*bytes),
        None => {
            let mut word = [0; 8];
            word[..text.len()].copy_from_slice(text);
            u64::from_le_bytes(word)
        }
    };
    let inverted = !word & (u64::MAX >> (8 * (SHORT - length)));
    let mixed = inverted ^ (inverted >> 32);
    mixed.wrapping_mul(MULTIPLIER)
}

/// Entries with the same ends and length have the same hash.
pub(super) fn long_hash(entry: &[u8]) -> u64 {
    let first = entry.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    let last = entry.last_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    let mixed = first.wrapping_mul(MULTIPLIER) ^ last;
    let mixed = (mixed ^ (mixed >> 32)).wrapping_add(entry.len() as u64);
    mixed.wrapping_mul(MULTIPLIER)
}
