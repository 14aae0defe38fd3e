//! How many tokens short pieces had that were counted lately.
//!
//! Texts say the same words again and again, while their entries lie all over a vocabulary's table. Here those in use
//! lie close together, and what is no entry need not be merged anew.

use super::table::SHORT;

/// The place of a piece is given by this many upper bits of its hash.
const PLACE_BITS: u32 = 14;

/// A fixed number of places, each with the last piece that was put there.
pub(super) struct Memo {
    /// The hash of a piece without the bits that say the place, and in their stead, at the lower end, the number of
    /// its tokens. Since no other piece has the same hash, nothing else need be compared. 0 where there is none.
    places: Box<[u64]>,
}

impl Memo {
    pub(super) fn new() -> Self {
        const { assert!(SHORT < 1 << PLACE_BITS, "a number of tokens fits") };
        Memo { places: vec![0; 1 << PLACE_BITS].into() }
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
}
