//! Exact token counts in OpenAI's `o200k_base` and `cl100k_base`, the same as Python's tiktoken with `encode_ordinary`.
//!
//! Text is split into pieces (`split`) by the classes of its characters (`classes`). Most pieces are entries of the
//! vocabulary (`table`). The others are merged pair by pair (`merge`). The tables are used in place in the program, so
//! nothing is loaded or built at run time. Names of special tokens, such as `<|endoftext|>`, are plain text here: a
//! transcript is data.
//!
//! What is deliberately absent: the tokens themselves. Only their number is needed.

mod classes;
mod merge;
mod split;
mod table;
#[cfg(test)]
mod tests;

use std::cell::RefCell;

use merge::Merger;
use table::{SHORT, TokenTable, short_hash};

use crate::memo::{self, Memo};

/// A vocabulary of OpenAI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// GPT-4o and later models.
    O200kBase,
    /// GPT-3.5 and GPT-4.
    Cl100kBase,
}

impl Encoding {
    /// Returns the name for `--counter`.
    pub fn name(self) -> &'static str {
        match self {
            Encoding::O200kBase => "o200k_base",
            Encoding::Cl100kBase => "cl100k_base",
        }
    }

    /// A number of tokens that a text has at least, by how it is spelled in JSON, since decoding takes longer: a piece of
    /// either pattern has a visible character behind a space only at its start, but for slashes, which may follow the end
    /// of a line. Behind a backslash, any character can stand.
    pub fn least_spelled(text: &str) -> u64 {
        /// Within these, a byte holds the count, so that the compiler looks at many bytes at once: 9 times as fast.
        const PART: usize = u8::MAX as usize;
        let bytes = text.as_bytes();
        let behind = bytes.get(1..).unwrap_or_default();
        let mut tokens = 0;
        for (before, behind) in bytes.chunks(PART).zip(behind.chunks(PART)) {
            let mut begun = 0;
            for (before, behind) in before.iter().zip(behind) {
                let is_visible = (*behind > b' ') & (*behind < 0x7f) & (*behind != b'/') & (*behind != b'\\');
                begun += u8::from((*before == b' ') & is_visible);
            }
            tokens += u64::from(begun);
        }
        tokens
    }

    /// Returns the number of tokens in `text`.
    pub fn count(self, text: &str) -> u64 {
        // The mergers keep their memory between texts, as a conversation is many short ones.
        thread_local! {
            static O200K_BASE: RefCell<(PieceCounter, Memo)> = RefCell::new((PieceCounter::new(TokenTable::o200k_base()), Memo::default()));
            static CL100K_BASE: RefCell<(PieceCounter, Memo)> = RefCell::new((PieceCounter::new(TokenTable::cl100k_base()), Memo::default()));
        }
        match self {
            Encoding::O200kBase => O200K_BASE.with_borrow_mut(|known| counted(known, text, split::o200k)),
            Encoding::Cl100kBase => CL100K_BASE.with_borrow_mut(|known| counted(known, text, split::cl100k)),
        }
    }
}

/// Like `count`, but remembers long texts.
fn counted((counter, known): &mut (PieceCounter, Memo), text: &str, next: impl Fn(&[u8]) -> usize) -> u64 {
    /// Shorter texts are counted about as fast as they are looked up, in bytes.
    const SHORT: usize = 200;
    if text.len() < SHORT {
        return count(counter, text.as_bytes(), next);
    }
    let key = memo::key(text);
    if let Some(tokens) = known.get(key) {
        return tokens;
    }
    let tokens = count(counter, text.as_bytes(), next);
    known.insert(key, tokens);
    tokens
}

/// Counts pieces. The pieces of a text repeat, and their entries are scattered over the vocabulary; here those in use are
/// close together.
struct PieceCounter {
    merger: Merger,
    /// The last short piece of each index: its hash without the bits of the index, and the number of its tokens in their
    /// place. The hash of a short piece is unique, so nothing else is compared. 0 where there is none.
    known: Box<[u64]>,
}

/// The upper bits of a short piece's hash that are its index.
const INDEX_BITS: u32 = 14;

impl PieceCounter {
    fn new(table: TokenTable) -> Self {
        PieceCounter { merger: Merger::new(table), known: vec![0; 1 << INDEX_BITS].into() }
    }

    /// The number of tokens of a piece: the first `length` bytes of `text`.
    #[inline]
    fn count(&mut self, text: &[u8], length: usize) -> u64 {
        if length == 1 {
            return 1;
        }
        if length > SHORT {
            return self.merger.count(text, length);
        }
        let hash = short_hash(text, length);
        let known = &mut self.known[(hash >> (u64::BITS - INDEX_BITS)) as usize];
        let tokens = *known ^ (hash << INDEX_BITS);
        if (1..1 << INDEX_BITS).contains(&tokens) {
            return tokens;
        }
        let tokens = self.merger.count(text, length);
        *known = hash << INDEX_BITS | tokens;
        tokens
    }
}

/// `next` returns the length of the first piece of a text.
#[inline]
fn count(counter: &mut PieceCounter, text: &[u8], next: impl Fn(&[u8]) -> usize) -> u64 {
    let mut tokens = 0;
    let mut rest = text;
    while !rest.is_empty() {
        let length = next(rest);
        tokens += counter.count(rest, length);
        rest = &rest[length..];
    }
    tokens
}
