//! Finds the bytes of a text that a JSON string cannot hold unescaped.

/// Finds quotes, backslashes and control characters: the ends of strings, and what needs a closer look. It scans the
/// text in blocks. All special bytes of a block are known before the first is needed, so no branch has to predict where
/// the next one is.
pub(super) struct Specials<'t> {
    bytes: &'t [u8],
    /// The offset of the block.
    block: usize,
    /// A bit for each special byte of the block.
    found: u64,
}

/// The number of bytes in a block, one bit each.
const BLOCK: usize = u64::BITS as usize;

impl<'t> Specials<'t> {
    pub(super) fn of(bytes: &'t [u8]) -> Self {
        Specials { bytes, block: usize::MAX, found: 0 }
    }

    /// Returns the offset of the first special byte from `at` on; the end if there is none.
    #[inline(always)]
    pub(super) fn next(&mut self, at: usize) -> usize {
        // It is usually in the current block.
        match at.checked_sub(self.block).filter(|passed| *passed < BLOCK).map(|passed| self.found >> passed) {
            Some(left) if left != 0 => at + left.trailing_zeros() as usize,
            Some(_) => self.further(self.block + BLOCK),
            None => self.further(at),
        }
    }

    /// Continues the search in later blocks.
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

    /// Finds the special bytes in the block at `at`.
    fn look(&mut self, at: usize) {
        let rest = &self.bytes[at..];
        // Padding after the end is not special.
        let mut last = [b' '; BLOCK];
        let block = rest.first_chunk::<BLOCK>().unwrap_or_else(|| {
            last[..rest.len()].copy_from_slice(rest);
            &last
        });
        self.block = at;
        // Two loops, first over all bytes and then over their bits, are vectorized.
        let mut special = [0; BLOCK];
        for (special, byte) in special.iter_mut().zip(block) {
            // Flipping this bit moves the quote right after the control characters, which only change places among
            // themselves.
            *special = u8::from((byte ^ 0x02) <= 0x20) | u8::from(*byte == b'\\');
        }
        self.found = 0;
        for (index, eight) in special.as_chunks::<8>().0.iter().enumerate() {
            // The multiplication collects the lowest bits of the eight bytes in the highest byte.
            let bits = u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
            self.found |= bits << (8 * index);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tries each byte at each offset of a full block and of a partial last one.
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
