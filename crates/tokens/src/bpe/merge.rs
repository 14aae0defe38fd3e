//! Merges the bytes of a piece into tokens, pair by pair.

use crate::bpe::table::{LONGEST_TOKEN, NO_PAIR, TokenTable};

/// Pieces are merged in windows of so many bytes, so that the cost of a long piece is linear in its length, not
/// quadratic. Every size gives the same tokens.
const WINDOW: usize = 128;

/// Merges pieces, and keeps its memory between them.
///
/// A part is identified by the index of its first byte in the window.
pub(super) struct Merger {
    table: TokenTable,
    /// The rank of this part together with the next; [`NO_PAIR`] for the last part and for bytes that begin no part.
    ranks: Vec<i32>,
    /// The end of this part.
    ends: Vec<usize>,
    /// The start of the part before this one; 0 for the first.
    befores: Vec<usize>,
    /// The last two tokens that stayed two when merged, and the border between them.
    stable: (Vec<u8>, usize),
}

impl Merger {
    pub(super) fn new(table: TokenTable) -> Self {
        Merger { table, ranks: Vec::new(), ends: Vec::new(), befores: Vec::new(), stable: (Vec::new(), 0) }
    }

    /// The number of tokens of a piece: the first `length` bytes (two or more) of `text`.
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

    /// The starts of the parts of the window.
    fn parts(&self) -> impl Iterator<Item = usize> {
        let end = self.ends.len();
        std::iter::successors(Some(0), |part| self.ends.get(*part).copied()).take_while(move |part| *part < end)
    }

    /// Merges the window, the first `length` bytes of `text`: always the pair with the lowest rank, the leftmost of
    /// equals, until no pair is in the vocabulary. (A lookup is faster where the text continues behind it.)
    fn merge(&mut self, text: &[u8], length: usize) {
        self.start(text, length);
        while let Some((part, merged)) = self.lowest() {
            let end = self.ends[merged];
            self.ends[part] = end;
            self.ranks[merged] = NO_PAIR;
            self.ranks[part] = match self.ends.get(end) {
                Some(&next_end) => {
                    self.befores[end] = part;
                    rank(&self.table, &text[part..], next_end - part)
                }
                None => NO_PAIR,
            };
            if part > 0 {
                let before = self.befores[part];
                self.ranks[before] = rank(&self.table, &text[before..], end - before);
            }
        }
    }

    /// Makes each byte of the window a part.
    fn start(&mut self, text: &[u8], length: usize) {
        self.ranks.clear();
        self.ranks.extend((0..length - 1).map(|part| rank(&self.table, &text[part..], 2)));
        self.ranks.push(NO_PAIR);
        self.ends.clear();
        self.ends.extend(1..=length);
        self.befores.clear();
        self.befores.extend((0..length).map(|part| part.saturating_sub(1)));
    }

    /// The two parts of the pair with the lowest rank, the leftmost of equals.
    fn lowest(&self) -> Option<(usize, usize)> {
        let lowest = self.ranks.iter().fold(NO_PAIR, |lowest, rank| lowest.min(*rank));
        let part = self.ranks.iter().position(|rank| *rank == lowest)?;
        (lowest != NO_PAIR).then(|| (part, self.ends[part]))
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

/// The rank of the first `length` bytes, or [`NO_PAIR`].
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
}
