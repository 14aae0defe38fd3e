//! The vocabularies, as tables that are read in place.
//!
//! Most entries of one vocabulary are also entries of the other. So both share one table for entries of 2 to 8 bytes
//! and one for longer ones. (Single bytes are entries too, but their ranks are never needed.) Both tables are sorted by
//! a hash of the entry, and a directory has the start of each bucket of hashes. The hash of a short entry is
//! reversible, so an equal hash is an equal entry; the bucket holds the bits of the hash that do not fit into its slot.
//! A slot has the rank in `o200k_base`. The ranks in `cl100k_base` are a list of their own.
//!
//! The files hold little-endian numbers and bytes. `entries.table` has:
//! - two `u32`s: the numbers of short and of long entries;
//! - the two tables;
//! - the bytes of the long entries.
//!
//! A table has, for each [`BUCKETS`] buckets, a `u32`, the slot at which the first one begins, and a `u64`, the number
//! of slots of each in four bits; then a `u64` per slot. The lowest [`RANK_BITS`] of a slot are the rank, or
//! [`NO_RANK`]. In the short table, the bits above it are the hash without the bits of the bucket. In the long table,
//! they are 7 bits of the entry's length minus one, 20 bits of its offset in the bytes of the long entries, which can
//! overlap, and as many bits of the hash as fit.
//!
//! `cl100k_base.table` has the rank of each slot of the short and then the long table in three bytes, or [`NO_RANK`]. The
//! test `generated_tables` generates the files from tiktoken-rs.

/// The longest entry of either vocabulary, in bytes. So a text of `n` bytes has at least `n / 128` tokens and at most
/// `n`.
pub(super) const LONGEST_TOKEN: usize = 128;

/// A vocabulary: byte strings and their ranks.
pub(super) struct TokenTable {
    entries: TokenEntries,
    /// The ranks, where they are not those in the slots.
    ranks: Option<&'static [[u8; 3]]>,
}

/// The rank of bytes that are not an entry, above all ranks. Ranks are signed, as every processor can compare several
/// signed numbers at once.
pub(super) const NO_PAIR: i32 = i32::MAX;

/// The longest entries of the short table, in bytes.
pub(super) const SHORT: usize = 8;
pub(super) const RANK_BITS: u32 = 18;
/// The rank in the slot of an entry that only `cl100k_base` has.
pub(super) const NO_RANK: u32 = (1 << RANK_BITS) - 1;
pub(super) const LENGTH_BITS: u32 = 7;
pub(super) const OFFSET_BITS: u32 = 20;
/// The lower bits of a slot of the long table that are not part of its hash.
pub(super) const PLACE_BITS: u32 = RANK_BITS + LENGTH_BITS + OFFSET_BITS;
/// The upper bits of a hash that index its bucket. In the short table, they are as many as those of a rank, so that
/// bucket and slot together hold the whole hash.
pub(super) const SHORT_BUCKET_BITS: u32 = RANK_BITS;
pub(super) const LONG_BUCKET_BITS: u32 = 15;
/// The number of buckets in a group of the directory.
pub(super) const BUCKETS: usize = 16;

impl TokenTable {
    /// GPT-4o's vocabulary.
    pub(super) fn o200k_base() -> Self {
        TokenTable { entries: TokenEntries::new(), ranks: None }
    }

    /// GPT-4's vocabulary.
    pub(super) fn cl100k_base() -> Self {
        TokenTable { entries: TokenEntries::new(), ranks: Some(include_bytes!("cl100k_base.table").as_chunks().0) }
    }

    /// The rank of the first `length` bytes (two or more) of `text`, which is valid UTF-8 but can begin and end inside
    /// characters.
    pub(super) fn rank(&self, text: &[u8], length: usize) -> Option<i32> {
        let (place, slot) = self.entries.find(text, length)?;
        let rank = match self.ranks {
            None => (slot & u64::from(NO_RANK)) as u32,
            Some(ranks) => ranks[place].iter().rev().fold(0, |rank, byte| rank << 8 | u32::from(*byte)),
        };
        (rank != NO_RANK).then_some(rank.cast_signed())
    }
}

/// A `u32` and a `u64`, side by side as they are read together.
type Group = [u8; 12];

fn numbers(group: &Group) -> (usize, u64) {
    let [a, b, c, d, bits @ ..] = *group;
    (u32::from_le_bytes([a, b, c, d]) as usize, u64::from_le_bytes(bits))
}

fn split_count(file: &'static [u8]) -> (usize, &'static [u8]) {
    let (count, rest) = file.split_at(4);
    (u32::from_le_bytes(count.as_chunks().0[0]) as usize, rest)
}

/// The entries of both vocabularies.
struct TokenEntries {
    short: Buckets,
    long: Buckets,
    long_bytes: &'static [u8],
}

impl TokenEntries {
    fn new() -> Self {
        let (short, rest) = split_count(include_bytes!("entries.table"));
        let (long, rest) = split_count(rest);
        let (short, rest) = Buckets::new(SHORT_BUCKET_BITS, short, rest);
        let (long, long_bytes) = Buckets::new(LONG_BUCKET_BITS, long, rest);
        TokenEntries { short, long, long_bytes }
    }

    /// The slot of the first `length` bytes of `text`, and its number. The long table is numbered after the short one.
    fn find(&self, text: &[u8], length: usize) -> Option<(usize, u64)> {
        if length <= SHORT {
            let hash = short_hash(text, length);
            let has_hash = |slot: u64| (slot ^ (hash << SHORT_BUCKET_BITS)) >> RANK_BITS == 0;
            return self.short.find(hash, has_hash);
        }
        let entry = &text[..length];
        let hash = long_hash(entry);
        let has_hash = |slot: u64| (slot ^ (hash << LONG_BUCKET_BITS)) >> PLACE_BITS == 0;
        let is_it = |slot: u64| has_hash(slot) && self.long_entry(slot) == entry;
        let (place, slot) = self.long.find(hash, is_it)?;
        Some((self.short.slots.len() + place, slot))
    }

    /// The bytes of the entry in a slot of the long table.
    fn long_entry(&self, slot: u64) -> &'static [u8] {
        let start = ((slot >> (RANK_BITS + LENGTH_BITS)) & ((1 << OFFSET_BITS) - 1)) as usize;
        let length = ((slot >> RANK_BITS) & ((1 << LENGTH_BITS) - 1)) as usize + 1;
        &self.long_bytes[start..start + length]
    }
}

/// Slots in the order of their hashes, and the start of each bucket.
struct Buckets {
    /// The upper bits of a hash that index its bucket.
    bits: u32,
    /// For each [`BUCKETS`] buckets, their first slot, and the number of slots of each in four bits.
    groups: &'static [Group],
    slots: &'static [[u8; 8]],
}

impl Buckets {
    /// The table with so many slots at the start of `file`, and the rest of the file.
    fn new(bits: u32, slots: usize, file: &'static [u8]) -> (Self, &'static [u8]) {
        let (groups, rest) = file.split_at(size_of::<Group>() * (1 << bits) / BUCKETS);
        let (slots, rest) = rest.split_at(8 * slots);
        (Buckets { bits, groups: groups.as_chunks().0, slots: slots.as_chunks().0 }, rest)
    }

    /// The slot, with its number, that holds an entry with this hash and for which `is_it` is true.
    #[inline]
    fn find(&self, hash: u64, is_it: impl Fn(u64) -> bool) -> Option<(usize, u64)> {
        let bucket = (hash >> (u64::BITS - self.bits)) as usize;
        let (group, sizes) = numbers(&self.groups[bucket / BUCKETS]);
        let (before, sizes) = (sizes & ((1 << (4 * (bucket % BUCKETS))) - 1), sizes >> (4 * (bucket % BUCKETS)));
        let begin = group + sum_of_fours(before);
        let slots = self.slots[begin..begin + (sizes & 0xF) as usize].iter().map(|slot| u64::from_le_bytes(*slot));
        slots.enumerate().find(|(_, slot)| is_it(*slot)).map(|(place, slot)| (begin + place, slot))
    }
}

/// The sum of the 4-bit numbers.
#[inline]
fn sum_of_fours(bits: u64) -> usize {
    const EVERY_OTHER: u64 = 0x0F0F_0F0F_0F0F_0F0F;
    let in_bytes = (bits & EVERY_OTHER) + (bits >> 4 & EVERY_OTHER);
    (in_bytes.wrapping_mul(0x0101_0101_0101_0101) >> 56) as usize
}

/// An odd multiplier without a pattern in its bits.
const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

/// A hash that is unique for each short text: missing bytes up to eight are filled with ones, which no text has, and
/// each step is reversible.
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

/// The hash of a longer entry. Entries with equal ends and equal length have equal hashes.
pub(super) fn long_hash(entry: &[u8]) -> u64 {
    let first = entry.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    let last = entry.last_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    let mixed = first.wrapping_mul(MULTIPLIER) ^ last;
    let mixed = (mixed ^ (mixed >> 32)).wrapping_add(entry.len() as u64);
    mixed.wrapping_mul(MULTIPLIER)
}
