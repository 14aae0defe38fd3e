//! Finds the model's statements that share most of their words with a later sentence.

use std::collections::HashMap;
use std::hash::BuildHasher;

use foldhash::fast::RandomState;

use crate::summary::record::change::{is_common, stem};
use crate::summary::record::segmentation::words_of;

/// The words of short statements. Long ones have more than one subject.
#[derive(Default)]
pub(super) struct StatementIndex {
    /// The latest statements with a word: the number of each and how many words it has.
    with_word: HashMap<u64, Vec<(usize, usize)>, RandomState>,
    /// The latest statement with a number of at least three digits.
    with_number: HashMap<Box<str>, usize, RandomState>,
    state: RandomState,
}

impl StatementIndex {
    /// Most bytes of a statement.
    const LONGEST: usize = 160;
    /// Most statements with a word that are remembered.
    const LATEST: usize = 4;

    /// Adds a statement under a number greater than all before.
    pub(super) fn add(&mut self, number: usize, text: &str) {
        if text.len() > Self::LONGEST {
            return;
        }
        self.with_number.extend(long_numbers(text).map(|long| (long.into(), number)));
        let words = self.words_of(text);
        for word in &words {
            let numbers = self.with_word.entry(*word).or_default();
            if numbers.len() == Self::LATEST {
                numbers.remove(0);
            }
            numbers.push((number, words.len()));
        }
    }

    /// Returns the latest statement with one of the numbers of a sentence.
    pub(super) fn with_number_of(&self, sentence: &str) -> Option<usize> {
        long_numbers(sentence).find_map(|number| self.with_number.get(number).copied())
    }

    /// Returns the numbers of the statements of which a sentence has at least a share of the words, and two words.
    pub(super) fn covered_by(&self, sentence: &str, least: f64) -> Vec<usize> {
        if sentence.len() > Self::LONGEST {
            return Vec::new();
        }
        let mut shared: Vec<(usize, usize)> = Vec::new();
        for word in self.words_of(sentence) {
            shared.extend(self.with_word.get(&word).into_iter().flatten());
        }
        shared.sort_unstable();
        let is_covered = |same: &&[(usize, usize)]| same.len() > 1 && same.len() as f64 >= least * same[0].1 as f64;
        shared.chunk_by(|one, other| one == other).filter(is_covered).map(|same| same[0].0).collect()
    }

    /// Returns the hashes of the content words of a text, without numbers, each once. An identifier is one word.
    fn words_of(&self, text: &str) -> Vec<u64> {
        let is_content = |word: &String| {
            (word.len() > 2 || !word.is_ascii()) && !is_common(word) && !word.starts_with(|c: char| c.is_ascii_digit())
        };
        let parts = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
        let words = parts.flat_map(|part| match part.contains('_') {
            true => vec![part.to_owned()],
            false => words_of(part).collect(),
        });
        let words = words.map(|word| word.to_lowercase()).filter(is_content);
        let mut found: Vec<u64> = words.map(|word| self.state.hash_one(stem(&word).as_ref())).collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// Returns the numbers of at least three digits in a text.
fn long_numbers(text: &str) -> impl Iterator<Item = &str> {
    const LONG: usize = 3;
    let is_number = |word: &&str| word.len() >= LONG && word.bytes().all(|byte| byte.is_ascii_digit());
    text.split(|c: char| !c.is_alphanumeric()).filter(is_number)
}
