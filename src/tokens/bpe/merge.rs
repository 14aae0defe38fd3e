//! Merges the bytes of a piece into tokens, pair by pair.

use crate::tokens::bpe::table::{LONGEST_TOKEN, NO_PAIR, RANK_BITS, TokenTable};

/// Pieces are merged in windows of so many bytes, so that the cost of a long piece is linear in its length, not
/// quadratic. Every size gives the same tokens.
const WINDOW: usize = 128;

/// Merges pieces, and keeps its memory between them.
///
/// A part is identified by the index of its first byte in the window.
pub(super) struct Merger {
    table: TokenTable,
    /// The [`key`] of the pair of this part and the next; [`NO_PAIR`] for the last part and for bytes that begin no
    /// part.
    keys: Vec<i32>,
    /// The lowest key of each [`BLOCK`], so that the lowest of all is found without reading all keys.
    lows: Vec<i32>,
    /// The end of this part.
    ends: Vec<usize>,
    /// The start of the part before this one; 0 for the first.
    befores: Vec<usize>,
    /// The last two tokens that stayed two when merged, and the border between them.
    stable: (Vec<u8>, usize),
}

/// The number of keys with one lowest key. Larger blocks make fewer lows, smaller ones make a low faster to recompute.
const BLOCK: usize = 16;

/// The bits of a key that are the index in its block.
const IN_BLOCK_BITS: u32 = BLOCK.trailing_zeros();

/// Returns the key of a pair with this rank and first part: the rank, then the index in the block. So the lowest key of
/// a block holds its own index, and the leftmost of equal ranks is the lowest.
fn key(rank: i32, part: usize) -> i32 {
    const { assert!(BLOCK.is_power_of_two() && RANK_BITS + IN_BLOCK_BITS < i32::BITS - 1, "below NO_PAIR") };
    if rank == NO_PAIR { NO_PAIR } else { rank << IN_BLOCK_BITS | (part % BLOCK) as i32 }
}

fn low(block: &[i32; BLOCK]) -> i32 {
    block.iter().copied().fold(NO_PAIR, i32::min)
}

impl Merger {
    pub(super) fn new(table: TokenTable) -> Self {
        Merger {
            table,
            keys: Vec::new(),
            lows: Vec::new(),
            ends: Vec::new(),
            befores: Vec::new(),
            stable: (Vec::new(), 0),
        }
    }

    /// Returns the number of tokens of a piece: the first `length` bytes (two or more) of `text`.
    pub(super) fn count(&mut self, text: &[u8], length: usize) -> u64 {
        if length <= LONGEST_TOKEN && self.table.rank(text, length).is_some() {
            return 1;
        }
        if length > WINDOW {
            return self.count_long(&text[..length]);
        }
        self.merge(text, length);
        self.parts().count() as u64
    }

    /// Returns the starts of the parts of the window.
    fn parts(&self) -> impl Iterator<Item = usize> {
        let end = self.ends.len();
        std::iter::successors(Some(0), |part| self.ends.get(*part).copied()).take_while(move |part| *part < end)
    }

    /// Merges the window, the first `length` bytes of `text`: always the pair with the lowest rank, the leftmost of
    /// equals, until no pair is in the vocabulary. (A lookup is faster where the text continues behind it.)
    fn merge(&mut self, text: &[u8], length: usize) {
        self.start(&text[..length]);
        self.join_characters(text, length);
        self.merge_parts(text);
    }

    fn merge_parts(&mut self, text: &[u8]) {
        while let Some((part, merged)) = self.lowest() {
            let end = self.ends[merged];
            self.ends[part] = end;
            self.keys[merged] = NO_PAIR;
            self.keys[part] = match self.ends.get(end) {
                Some(&next_end) => {
                    self.befores[end] = part;
                    key(rank(&self.table, &text[part..], next_end - part), part)
                }
                None => NO_PAIR,
            };
            let before = self.befores[part];
            if part > 0 {
                self.keys[before] = key(rank(&self.table, &text[before..], end - before), before);
            }
            // All changed keys are between these.
            for block in before / BLOCK..=merged / BLOCK {
                self.lows[block] = low(&self.keys.as_chunks().0[block]);
            }
        }
    }

    /// Makes each byte of the window a part.
    fn start(&mut self, window: &[u8]) {
        self.keys.clear();
        let pairs = window.windows(2).enumerate();
        self.keys.extend(pairs.map(|(part, pair)| key(self.table.pair([pair[0], pair[1]]), part)));
        self.keys.resize(window.len().next_multiple_of(BLOCK), NO_PAIR);
        self.ends.clear();
        self.ends.extend(1..=window.len());
        self.befores.clear();
        self.befores.extend((0..window.len()).map(|part| part.saturating_sub(1)));
        self.find_lows();
    }

    fn find_lows(&mut self) {
        self.lows.clear();
        self.lows.extend(self.keys.as_chunks().0.iter().map(low));
    }

    /// Joins the bytes of each three-byte character that becomes one token in any case. East Asian texts have long
    /// pieces of such characters, and most of their merges join these bytes.
    fn join_characters(&mut self, text: &[u8], length: usize) {
        let window = &text[..length];
        if !window.iter().fold(false, |any, byte| any | (*byte & 0xF0 == 0xE0)) {
            return;
        }
        let (mut part, mut before) = (0, 0);
        while part < length {
            let end = if self.table.is_whole_character(window, part) { part + 3 } else { part + 1 };
            self.ends[part] = end;
            self.befores[part] = before;
            self.keys[part + 1..end].fill(NO_PAIR);
            (before, part) = (part, end);
        }
        let mut part = 0;
        while let Some(&next_end) = self.ends.get(self.ends[part]) {
            if next_end - part > 2 {
                self.keys[part] = key(rank(&self.table, &text[part..], next_end - part), part);
            }
            part = self.ends[part];
        }
        self.keys[part] = NO_PAIR;
        self.find_lows();
    }

    /// Returns the two parts of the pair with the lowest rank, the leftmost of equals.
    fn lowest(&self) -> Option<(usize, usize)> {
        let (block, key) = self.lows.iter().enumerate().min_by_key(|(_, key)| **key >> IN_BLOCK_BITS)?;
        let part = block * BLOCK + *key as usize % BLOCK;
        (*key != NO_PAIR).then(|| (part, self.ends[part]))
    }

    /// Counts a piece window by window.
    ///
    /// A sequence of tokens is the result of merging if and only if every two neighbours stay two when they are merged
    /// alone: the first merge across a border would also happen with the two alone. So a window is merged together with
    /// the last tokens before it, as many as needed until the border to earlier tokens is stable.
    fn count_long(&mut self, piece: &[u8]) -> u64 {
        let mut tokens: Vec<usize> = Vec::new();
        let mut done = 0;
        while done < piece.len() {
            let mut end = piece.len().min(done + WINDOW);
            // A window that ends inside a character makes tokens that the next window must undo.
            while piece.get(end).is_some_and(|byte| byte & 0xC0 == 0x80) {
                end += 1;
            }
            let mut back = 1;
            loop {
                let kept = tokens.len().saturating_sub(back);
                let from = tokens.get(kept).copied().unwrap_or(done);
                self.merge(&piece[from..], end - from);
                let merged = tokens.len();
                tokens.extend(self.parts().map(|part| from + part));
                let next = tokens.get(merged + 1).copied().unwrap_or(end);
                if kept == 0 || self.is_border_stable(&piece[tokens[kept - 1]..next], from - tokens[kept - 1]) {
                    tokens.drain(kept..merged);
                    break;
                }
                tokens.truncate(merged);
                back *= 2;
            }
            done = end;
        }
        tokens.len() as u64
    }

    /// Whether two tokens, merged alone, stay two with the same border.
    fn is_border_stable(&mut self, two: &[u8], border: usize) -> bool {
        // A run of one character repeats the same two tokens.
        if self.stable.1 == border && self.stable.0 == two {
            return true;
        }
        self.merge(two, two.len());
        let is_stable = self.parts().eq([0, border]);
        if is_stable {
            self.stable.0.clear();
            self.stable.0.extend_from_slice(two);
            self.stable.1 = border;
        }
        is_stable
    }
}

/// Returns the rank of the first `length` bytes, or [`NO_PAIR`].
fn rank(table: &TokenTable, text: &[u8], length: usize) -> i32 {
    if length > LONGEST_TOKEN { NO_PAIR } else { table.rank(text, length).unwrap_or(NO_PAIR) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_do_not_change_the_count() {
        let texts =
            ["a".repeat(4_000), "ab".repeat(2_000), "abcabd".repeat(700), "xyzzy plugh".replace(' ', "").repeat(300)];
        for text in texts {
            let mut merger = Merger::new(TokenTable::o200k_base());
            merger.merge(text.as_bytes(), text.len());
            let at_once = merger.parts().count() as u64;
            assert_eq!(merger.count_long(text.as_bytes()), at_once, "{}…", &text[..12]);
        }
    }

    /// Entries and parts of entries in a row, mostly of three-byte characters.
    #[test]
    fn joined_characters_do_not_change_the_tokens() {
        for (table, bpe, number) in [
            (TokenTable::o200k_base(), tiktoken_rs::o200k_base(), 199_998),
            (TokenTable::cl100k_base(), tiktoken_rs::cl100k_base(), 100_256),
        ] {
            let bpe = bpe.expect("a vocabulary");
            let entries: Vec<Vec<u8>> = (0..number).map(|rank| bpe.decode_bytes(&[rank]).expect("a rank")).collect();
            let of_three: Vec<&Vec<u8>> =
                entries.iter().filter(|entry| entry.iter().any(|byte| *byte >= 0xE0)).collect();
            let mut merger = Merger::new(table);
            let (mut seed, mut joined) = (1u64, 0);
            let mut next = |below: usize| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (seed >> 33) as usize % below
            };
            for _ in 0..100_000 {
                let mut text = Vec::new();
                for _ in 0..=next(5) {
                    let entry = match next(8) {
                        0 => &entries[next(entries.len())],
                        _ => of_three[next(of_three.len())],
                    };
                    let from = if next(8) == 0 { next(entry.len()) } else { 0 };
                    text.extend_from_slice(&entry[from..]);
                }
                text.truncate(WINDOW);
                merger.start(&text);
                merger.merge_parts(&text);
                let from_bytes: Vec<usize> = merger.parts().collect();
                merger.merge(&text, text.len());
                assert_eq!(merger.parts().collect::<Vec<_>>(), from_bytes, "{}", text.escape_ascii());
                joined += (0..text.len()).filter(|at| merger.table.is_whole_character(&text, *at)).count();
            }
            assert!(joined > 100_000, "{joined} characters were joined");
        }
    }
}
