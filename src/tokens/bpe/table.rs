//! The vocabularies, as tables that are read where they lie.
//!
//! A vocabulary has one table for its entries of 2 to 8 bytes and one for the longer ones. (Single bytes are entries
//! too, but nobody asks for their ranks.) A table is sorted by a hash that starts with where its slot should be, so
//! that a look-up starts at that slot, goes on while the hashes are lower, and knows a miss by the first higher one.
//! The hash of a short entry can be turned back into its bytes: a hash that is there is an entry that is there.
//!
//! Pairs of bytes, which every merge begins with, have a table of their own, and most of what is no entry is told by one
//! bit of a filter, which stays in the processor's cache where the tables do not.
//!
//! A vocabulary file is little-endian numbers and bytes: four `u32`s, the numbers of homes and of slots of the short
//! table and of the long one; a `u32` per pair of bytes, its rank or [`NO_PAIR`]; a bit for each value of the first
//! [`FILTER_BITS`] of a hash, whether an entry has it, the lowest bit of a byte first; for each table a `u64` per slot,
//! all ones where it is empty, and a `u32` per slot, the rank; the bytes of the long entries. A slot of the long table
//! is 37 bits of the hash, 20 bits of the offset into those bytes and 7 bits of the length minus one. The files are
//! made by the test `generated_tables` from tiktoken-rs.

/// A vocabulary: byte strings and their ranks.
pub(super) struct Table {
    /// By the first byte times 256 plus the second.
    pairs: &'static [[u8; 4]],
    filter: &'static [u8],
    short: Slots,
    long: Slots,
    long_bytes: &'static [u8],
}

/// The rank of what is no entry, above all ranks. Ranks are signed because any processor can tell the lower ones of
/// several signed numbers at once.
pub(super) const NO_PAIR: i32 = i32::MAX;

/// The longest entries of the short table, in bytes.
pub(super) const SHORT: usize = 8;
/// The upper bits of a hash that the filter knows.
pub(super) const FILTER_BITS: u32 = 20;
pub(super) const LENGTH_BITS: u32 = 7;
/// The lower bits of a slot of the long table, which say where its bytes are.
const PLACE_BITS: u32 = LENGTH_BITS + 20;

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
        let (header, rest) = file.as_chunks::<4>().0.split_at(4);
        let (pairs, rest) = rest.split_at(1 << 16);
        let (filter, rest) = rest.as_flattened().split_at(1 << (FILTER_BITS - 3));
        let (short, rest) = Slots::new(header[0], header[1], rest);
        let (long, long_bytes) = Slots::new(header[2], header[3], rest);
        Table { pairs, filter, short, long, long_bytes }
    }

    /// The rank of the entry that is the first `length` bytes (two or more) of `text`, which is valid UTF-8 but may
    /// begin and end within characters.
    pub(super) fn rank(&self, text: &[u8], length: usize) -> Option<i32> {
        self.slot(text, length).map(|(slots, slot)| i32::from_le_bytes(slots.ranks[slot]))
    }

    /// The rank of two bytes, or [`NO_PAIR`].
    #[inline]
    pub(super) fn pair(&self, pair: [u8; 2]) -> i32 {
        i32::from_le_bytes(self.pairs[u16::from_be_bytes(pair) as usize])
    }

    /// Whether the first `length` bytes of `text` are an entry.
    pub(super) fn has(&self, text: &[u8], length: usize) -> bool {
        self.slot(text, length).is_some()
    }

    fn slot(&self, text: &[u8], length: usize) -> Option<(&Slots, usize)> {
        if length <= SHORT {
            let hash = short_hash(text, length);
            if !self.may_have(hash) {
                return None;
            }
            let slot = self.short.first_from(hash);
            return (self.short.number(slot) == hash).then_some((&self.short, slot));
        }
        let entry = &text[..length];
        let hash = long_hash(entry);
        if !self.may_have(hash) {
            return None;
        }
        let mut slot = self.long.first_from(hash);
        loop {
            let number = self.long.number(slot);
            if number >> PLACE_BITS != hash >> PLACE_BITS {
                return None;
            }
            if self.long_entry(number) == Some(entry) {
                return Some((&self.long, slot));
            }
            slot += 1;
        }
    }

    #[inline]
    fn may_have(&self, hash: u64) -> bool {
        let bit = hash >> (64 - FILTER_BITS);
        self.filter[(bit >> 3) as usize] >> (bit & 7) & 1 == 1
    }

    /// The bytes that a slot of the long table stands for, unless it is empty.
    fn long_entry(&self, number: u64) -> Option<&'static [u8]> {
        let place = number & ((1 << PLACE_BITS) - 1);
        let start = (place >> LENGTH_BITS) as usize;
        let length = (place & ((1 << LENGTH_BITS) - 1)) as usize + 1;
        self.long_bytes.get(start..start + length)
    }
}

/// Sorted numbers with gaps between them, and the ranks that go with them.
struct Slots {
    /// What the upper end of a number is scaled to. There are some more slots for what is pushed over the end.
    homes: u64,
    numbers: &'static [[u8; 8]],
    ranks: &'static [[u8; 4]],
}

impl Slots {
    /// The slots at the beginning of `file`, and what follows them.
    fn new(homes: [u8; 4], slots: [u8; 4], file: &'static [u8]) -> (Self, &'static [u8]) {
        let slots = u32::from_le_bytes(slots) as usize;
        let (numbers, rest) = file.split_at(slots * 8);
        let (ranks, rest) = rest.split_at(slots * 4);
        let homes = u32::from_le_bytes(homes) as u64;
        (Slots { homes, numbers: numbers.as_chunks().0, ranks: ranks.as_chunks().0 }, rest)
    }

    fn number(&self, slot: usize) -> u64 {
        u64::from_le_bytes(self.numbers[slot])
    }

    /// The first slot whose number is not below `number`, of those that can hold it.
    fn first_from(&self, number: u64) -> usize {
        let mut slot = home(number, self.homes);
        while self.number(slot) < number {
            slot += 1;
        }
        slot
    }
}

pub(super) fn home(number: u64, homes: u64) -> usize {
    ((u128::from(number) * u128::from(homes)) >> 64) as usize
}

/// Odd, and without a pattern in its bits.
const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

/// A hash that no other bytes have: what is missing to eight bytes is filled up with ones, which are in no text, and each
/// step can be undone. All ones, the mark of empty slots, would be eight bytes of ones.
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
    !mixed.wrapping_mul(MULTIPLIER)
}

/// The lower bits are zero. Entries with the same ends and length have the same hash.
pub(super) fn long_hash(entry: &[u8]) -> u64 {
    let first = entry.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    let last = entry.last_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    let mixed = first.wrapping_mul(MULTIPLIER) ^ last;
    let mixed = (mixed ^ (mixed >> 32)).wrapping_add(entry.len() as u64);
    mixed.wrapping_mul(MULTIPLIER) >> PLACE_BITS << PLACE_BITS
}
