//! How many tokens pieces of a few bytes had that were counted lately.
//!
//! Texts say the same words again and again, while their entries lie all over a vocabulary's table. Here those in use
//! lie close together, and what is no entry need not be merged anew.

use crate::tokens::bpe::table::{MULTIPLIER, SHORT};

/// The place of a short piece is given by this many upper bits of its hash.
const PLACE_BITS: u32 = 14;

/// The longest pieces that are remembered, in bytes.
pub(super) const LONG: usize = 15;
/// The upper bits that give the place of a longer one: more would leave less of the processor's cache to the tables.
const LONG_PLACE_BITS: u32 = 12;

/// Fixed numbers of places, each with the last piece that was put there.
pub(super) struct Memo {
    /// The hash of a piece without the bits that say the place, and in their stead, at the lower end, the number of
    /// its tokens. Since no other piece has the same hash, nothing else need be compared. 0 where there is none.
    places: Box<[u64]>,
    /// Of longer pieces their first eight bytes and their last eight. The first of the latter, which is among the
    /// former too, makes room for the length and, below it, the number of tokens. 0 where there is none.
    long: Box<[[u64; 2]]>,
}

impl Memo {
    pub(super) fn new() -> Self {
        const { assert!(SHORT < 1 << PLACE_BITS, "a number of tokens fits") };
        const { assert!(LONG < 2 * SHORT && LONG < 1 << 4, "a length fits, and a number of tokens") };
        Memo { places: vec![0; 1 << PLACE_BITS].into(), long: vec![[0; 2]; 1 << LONG_PLACE_BITS].into() }
    }

    /// The number of tokens of the piece with this hash, which `count` finds where it is not known.
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

    /// The same for pieces of more than [`SHORT`] bytes and at most [`LONG`].
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

    /// All pieces of two letters, of which many have a place in common, and many differ in one letter or in length alone.
    #[test]
    fn no_piece_is_taken_for_another() {
        let mut memo = Memo::new();
        let mut known = 0;
        for letters in 0..1u64 << LONG {
            for length in SHORT + 1..=LONG {
                let piece: Vec<u8> = (0..length).map(|at| b'a' + (letters >> at & 1) as u8).collect();
                let tokens = (letters % (1 << length)).wrapping_mul(MULTIPLIER) % 15 + 1;
                let mut counted = false;
                let told = memo.tokens_of_long(&piece, || {
                    counted = true;
                    tokens
                });
                assert_eq!(told, tokens, "{}", piece.escape_ascii());
                known += u64::from(!counted);
            }
        }
        assert!(known > 0, "none was remembered");
    }
}
