//! A cache of token counts for short pieces.
//!
//! Texts repeat the same words, but their entries are scattered over the vocabulary's table. Here the ones in use are
//! close together in memory, and pieces that are not an entry need not be merged again.

use crate::tokens::bpe::table::{MULTIPLIER, SHORT};

/// The upper bits of a short piece's hash that are its index.
const PLACE_BITS: u32 = 14;

/// The longest cached pieces, in bytes.
pub(super) const LONG: usize = 15;
/// The upper bits of a longer piece's hash that are its index. More would take the processor's cache from the tables.
const LONG_PLACE_BITS: u32 = 12;

/// Fixed-size tables. Each place holds the last piece with its index.
pub(super) struct Memo {
    /// The hash of a piece, shifted left so that the bits of the index drop out, with the number of tokens in the low
    /// bits. The hash of a short piece is unique, so nothing else is compared. 0 for an empty place.
    places: Box<[u64]>,
    /// The first eight bytes of a longer piece and its last eight. The first byte of the last eight is also one of the
    /// first eight, so the length and the number of tokens replace it. 0 for an empty place.
    long: Box<[[u64; 2]]>,
}

impl Memo {
    pub(super) fn new() -> Self {
        const { assert!(SHORT < 1 << PLACE_BITS, "a number of tokens fits") };
        const { assert!(LONG < 2 * SHORT && LONG < 1 << 4, "a length fits, and a number of tokens") };
        Memo { places: vec![0; 1 << PLACE_BITS].into(), long: vec![[0; 2]; 1 << LONG_PLACE_BITS].into() }
    }

    /// Returns the number of tokens of the piece with this hash. `count` counts it where it is not cached.
    #[inline]
    pub(super) fn tokens(&mut self, hash: u64, count: impl FnOnce() -> u64) -> u64 {
        let place = &mut self.places[(hash >> (u64::BITS - PLACE_BITS)) as usize];
        let known = *place ^ (hash << PLACE_BITS);
        if (1..1 << PLACE_BITS).contains(&known) {
            return known;
        }
        let tokens = count();
        *place = hash << PLACE_BITS | tokens;
        tokens
    }

    /// Returns the number of tokens of a piece of more than [`SHORT`] and at most [`LONG`] bytes.
    #[inline]
    pub(super) fn tokens_of_long(&mut self, piece: &[u8], count: impl FnOnce() -> u64) -> u64 {
        let (Some(first), Some(last)) = (piece.first_chunk(), piece.last_chunk()) else { return count() };
        let (first, last) = (u64::from_le_bytes(*first), u64::from_le_bytes(*last));
        let last = last & !0xFF | (piece.len() as u64) << 4;
        let hash = (first.wrapping_mul(MULTIPLIER) ^ last).wrapping_mul(MULTIPLIER);
        let place = &mut self.long[(hash >> (u64::BITS - LONG_PLACE_BITS)) as usize];
        let known = place[1] ^ last;
        if place[0] == first && (1..1 << 4).contains(&known) {
            return known;
        }
        let tokens = count();
        *place = [first, last | tokens];
        tokens
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All pieces of two letters. Many have the same index, and many differ in one letter or only in length.
    #[test]
    fn no_piece_is_taken_for_another() {
        let mut memo = Memo::new();
        let mut known = 0;
        for letters in 0..1u64 << LONG {
            for length in SHORT + 1..=LONG {
                let piece: Vec<u8> = (0..length).map(|at| b'a' + (letters >> at & 1) as u8).collect();
                let tokens = (letters % (1 << length)).wrapping_mul(MULTIPLIER) % 15 + 1;
                let mut counted = false;
                let tokens_found = memo.tokens_of_long(&piece, || {
                    counted = true;
                    tokens
                });
                assert_eq!(tokens_found, tokens, "{}", piece.escape_ascii());
                known += u64::from(!counted);
            }
        }
        assert!(known > 0, "none was remembered");
    }
}
