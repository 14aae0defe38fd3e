//! Lists of words, and whether a text has one of them. A list is one string, with `|` between the words.

/// Whether a text begins with one of the words, whatever its case. The words are in lower case.
pub(super) fn opens_with(text: &str, words: &str) -> bool {
    let text = text.trim_start();
    words.split('|').any(|word| text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word)))
}

/// Whether a text in lower case has one of the words.
pub(super) fn has(lower: &str, words: &str) -> bool {
    words.split('|').any(|word| lower.contains(word))
}

/// Whether a text has one of the words, or a longer one that begins so, whatever its case.
pub(super) fn has_word(text: &str, words: &str) -> bool {
    let lower = text.to_lowercase();
    let is_start = |at: usize, word: &str| !word.is_ascii() || !lower[..at].ends_with(char::is_alphanumeric);
    words.split('|').any(|word| lower.match_indices(word).any(|(at, _)| is_start(at, word)))
}

/// Returns the words of a text, without single letters; of a script without blanks every pair of characters.
pub(crate) fn words_of(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|c: char| !c.is_alphanumeric()).flat_map(|word| {
        let is_wide: Vec<char> = word.chars().filter(|c| *c >= '\u{2e80}').collect();
        match (is_wide.is_empty(), word.chars().nth(1).is_some()) {
            (true, true) => vec![word.to_owned()],
            (true, false) => Vec::new(),
            _ => is_wide.windows(2).map(|pair| pair.iter().collect()).collect(),
        }
    })
}
