//! Where in a text the bytes are that a string cannot hold as they are.

/// Finds quotes, backslashes and control characters: where strings end, and what is to be looked at in them. It goes over
/// the text in blocks, and knows each block's before the first is asked for, so that nothing hangs on a guess about where
/// the next one is.
pub(super) struct Specials<'t> {
    bytes: &'t [u8],
    /// Where the block begins.
    block: usize,
    /// A bit for each byte of the block that is special.
    found: u64,
}

/// Bytes in a block, for each of which there is a bit.
const BLOCK: usize = u64::BITS as usize;

impl<'t> Specials<'t> {
    pub(super) fn of(bytes: &'t [u8]) -> Self {
        Specials { bytes, block: usize::MAX, found: 0 }
    }

    /// The place of the first special byte from `at` on; the end where there is none.
    #[inline(always)]
    pub(super) fn next(&mut self, at: usize) -> usize {
        // Mostly it is in the block that was looked at last.
        match at.checked_sub(self.block).filter(|passed| *passed < BLOCK).map(|passed| self.found >> passed) {
            Some(left) if left != 0 => at + left.trailing_zeros() as usize,
            Some(_) => self.further(self.block + BLOCK),
            None => self.further(at),
        }
    }

    /// The same in blocks that are yet to be looked at.
    #[inline(never)]
    fn further(&mut self, mut at: usize) -> usize {
        while at < self.bytes.len() {
            self.look(at);
            if self.found != 0 {
                return at + self.found.trailing_zeros() as usize;
            }
            at += BLOCK;
        }
        self.bytes.len()
    }

    /// Finds what is special in the block from `at` on.
    fn look(&mut self, at: usize) {
        let rest = &self.bytes[at..];
        // Nothing is special behind the end.
        let mut last = [b' '; BLOCK];
        let block = rest.first_chunk::<BLOCK>().unwrap_or_else(|| {
            last[..rest.len()].copy_from_slice(rest);
            &last
        });
        self.block = at;
        // All bytes first and then the bits of all: as two loops this is done many bytes at a time.
        let mut special = [0; BLOCK];
        for (special, byte) in special.iter_mut().zip(block) {
            // With this bit turned, a quote is the next number behind the control characters, and these stay among
            // themselves.
            *special = u8::from((byte ^ 0x02) <= 0x20) | u8::from(*byte == b'\\');
        }
        self.found = 0;
        for (index, eight) in special.as_chunks::<8>().0.iter().enumerate() {
            // The multiplication brings the lowest bits of the eight together in the highest byte.
            let bits = u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
            self.found |= bits << (8 * index);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each byte at each place of a block, and of the last one that is not full.
    #[test]
    fn what_is_special_is_found_wherever_it_is() {
        for byte in 0..=u8::MAX {
            let is_special = byte < 0x20 || byte == b'"' || byte == b'\\';
            for length in [BLOCK, BLOCK + 1, 2 * BLOCK, 2 * BLOCK + 9] {
                for at in 0..length {
                    let mut bytes = vec![b'.'; length];
                    bytes[at] = byte;
                    let expected = if is_special { at } else { length };
                    assert_eq!(Specials::of(&bytes).next(0), expected, "{byte} at {at} of {length}");
                }
            }
        }
    }
}
