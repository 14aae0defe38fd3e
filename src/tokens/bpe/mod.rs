//! Exact token counts: OpenAI's `o200k_base` and `cl100k_base`, as Python's tiktoken counts with `encode_ordinary`.
//!
//! Text is split into pieces (`split`), and each piece is merged pair by pair into the entries of a vocabulary (`table`). Both work on tables that are used where they lie in the program, so nothing is loaded and nothing built.
//! Names of special tokens, such as `<|endoftext|>`, are text here: a transcript is data.
//!
//! What is deliberately absent: the tokens themselves. Only their number is ever asked for.

mod split;
mod table;

use table::Table;

/// A vocabulary of OpenAI's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// GPT-4o and everything after it.
    O200kBase,
    /// GPT-3.5 and GPT-4.
    Cl100kBase,
}

/// The longest entry of either vocabulary, in bytes: a text of `n` bytes has at least `n / 128` tokens and at most `n`.
pub const LONGEST_TOKEN: usize = 128;

/// Pieces are merged in windows of this many bytes, so that the cost of a long piece grows with its length and not with
/// its square. Any size gives the same tokens.
const WINDOW: usize = 128;

impl Encoding {
    /// The name that `--counter` takes.
    pub fn name(self) -> &'static str {
        match self {
            Encoding::O200kBase => "o200k_base",
            Encoding::Cl100kBase => "cl100k_base",
        }
    }

    /// The number of tokens in `text`.
    pub fn count(self, text: &str) -> u64 {
        let (table, next) = match self {
            Encoding::O200kBase => (&table::O200K_BASE, split::o200k as fn(&str) -> usize),
            Encoding::Cl100kBase => (&table::CL100K_BASE, split::cl100k as fn(&str) -> usize),
        };
        let mut merger = Merger::new(table);
        let mut tokens = 0;
        let mut rest = text;
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(next(rest));
            tokens += merger.count(piece.as_bytes());
            rest = after;
        }
        tokens
    }
}

/// Merges pieces, with the memory for it kept from one to the next.
struct Merger {
    table: &'static Table,
    /// Where each part of the window begins, and where the window ends.
    starts: Vec<usize>,
    /// The rank of the pair that begins at each part, or [`NO_PAIR`]; the last part begins none.
    ranks: Vec<u32>,
}

const NO_PAIR: u32 = u32::MAX;

impl Merger {
    fn new(table: &'static Table) -> Self {
        Merger { table, starts: Vec::new(), ranks: Vec::new() }
    }

    fn count(&mut self, piece: &[u8]) -> u64 {
        if piece.len() == 1 || self.table.rank(piece).is_some() {
            return 1;
        }
        if piece.len() <= WINDOW {
            self.merge(piece);
            return self.parts() as u64;
        }
        self.count_long(piece)
    }

    fn parts(&self) -> usize {
        self.starts.len() - 1
    }

    /// Merges the lowest-ranked pair, the leftmost of equals, until no pair is in the vocabulary.
    fn merge(&mut self, window: &[u8]) {
        self.starts.clear();
        self.starts.extend(0..=window.len());
        self.ranks.clear();
        self.ranks.extend(window.windows(2).map(|pair| self.table.rank(pair).unwrap_or(NO_PAIR)));
        self.ranks.push(NO_PAIR);
        while let Some(&lowest) = self.ranks.iter().min()
            && lowest != NO_PAIR
        {
            self.merge_all(window, lowest);
        }
    }

    /// Merges the pairs of rank `lowest` from left to right in one pass, which is what merging one after the other does
    /// as long as no pair of the same or a lower rank comes about; where one does, the rest is left for the next pass.
    fn merge_all(&mut self, window: &[u8], lowest: u32) {
        let parts = self.parts();
        let mut merging = true;
        let (mut read, mut write) = (0, 0);
        while read < parts {
            self.starts[write] = self.starts[read];
            if merging && self.ranks[read] == lowest {
                let end = self.starts[read + 2];
                self.ranks[write] = match self.starts.get(read + 3) {
                    Some(&end) => self.rank(&window[self.starts[write]..end]),
                    None => NO_PAIR,
                };
                merging = self.ranks[write] > lowest;
                if write > 0 {
                    self.ranks[write - 1] = self.rank(&window[self.starts[write - 1]..end]);
                    merging &= self.ranks[write - 1] > lowest;
                }
                read += 2;
            } else {
                self.ranks[write] = self.ranks[read];
                read += 1;
            }
            write += 1;
        }
        self.starts[write] = window.len();
        self.starts.truncate(write + 1);
        self.ranks.truncate(write);
    }

    fn rank(&self, bytes: &[u8]) -> u32 {
        if bytes.len() > LONGEST_TOKEN { NO_PAIR } else { self.table.rank(bytes).unwrap_or(NO_PAIR) }
    }

    /// Counts a piece window by window.
    ///
    /// A sequence of tokens is what merging gives exactly if every two neighbours, merged by themselves, stay the two
    /// they are: the first merge to cross a border would cross it with the two alone as well. So a window is merged
    /// together with the last tokens before it, as many as it takes until the border to those further left stands.
    fn count_long(&mut self, piece: &[u8]) -> u64 {
        let mut tokens: Vec<usize> = Vec::with_capacity(piece.len() / 2);
        let mut done = 0;
        while done < piece.len() {
            let end = piece.len().min(done + WINDOW);
            let mut back = 1;
            loop {
                let kept = tokens.len().saturating_sub(back);
                let from = tokens.get(kept).copied().unwrap_or(done);
                self.merge(&piece[from..end]);
                let merged: Vec<usize> = self.starts[..self.parts()].iter().map(|start| from + start).collect();
                let next = merged.get(1).copied().unwrap_or(end);
                if kept == 0 || self.border_stands(&piece[tokens[kept - 1]..next], from - tokens[kept - 1]) {
                    tokens.truncate(kept);
                    tokens.extend(merged);
                    break;
                }
                back *= 2;
            }
            done = end;
        }
        tokens.len() as u64
    }

    /// Whether two tokens, merged by themselves, stay two with the border where it is.
    fn border_stands(&mut self, two: &[u8], border: usize) -> bool {
        self.merge(two);
        self.starts == [0, border, two.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_counts() {
        for (text, o200k, cl100k) in [
            ("", 0, 0),
            ("a", 1, 1),
            ("hello world", 2, 2),
            ("<|endoftext|>", 7, 7),
            ("antidisestablishmentarianism", 6, 6),
            ("你好，世界", 3, 6),
        ] {
            assert_eq!(Encoding::O200kBase.count(text), o200k, "o200k {text:?}");
            assert_eq!(Encoding::Cl100kBase.count(text), cl100k, "cl100k {text:?}");
        }
    }

    #[test]
    fn windows_do_not_change_the_count() {
        let texts =
            ["a".repeat(4_000), "ab".repeat(2_000), "abcabd".repeat(700), "xyzzy plugh".replace(' ', "").repeat(300)];
        for text in texts {
            let mut merger = Merger::new(&table::O200K_BASE);
            merger.merge(text.as_bytes());
            let at_once = merger.parts() as u64;
            assert_eq!(merger.count_long(text.as_bytes()), at_once, "{}…", &text[..12]);
        }
    }
}
