//! What the next work is about, as words: sentences and calls that share them come first among their kind.

use std::collections::{HashMap, HashSet};

/// The words of a text, without single letters; of a script without blanks every pair of characters.
pub fn words_of(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|c: char| !c.is_alphanumeric()).flat_map(words_in)
}

/// The words in letters and digits that stand together.
fn words_in(part: &str) -> Vec<String> {
    let wide: Vec<char> = part.chars().filter(|c| is_wide(*c)).collect();
    if !wide.is_empty() {
        return wide.windows(2).map(String::from_iter).collect();
    }
    let has_several = part.chars().nth(1).is_some();
    if has_several { vec![part.to_owned()] } else { Vec::new() }
}

/// Whether a letter is of the scripts of East Asia, which write words without spaces between them.
pub(super) fn is_wide(c: char) -> bool {
    c >= '\u{2e80}'
}

/// The words of a text of the user.
#[derive(Debug, Default)]
pub(super) struct Focus(HashSet<String>);

impl Focus {
    pub(super) fn new(text: &str) -> Self {
        Focus(words(text).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many of the words each text shares, without words that many of the texts have.
    pub(super) fn shared(&self, texts: impl ExactSizeIterator<Item = String>) -> Vec<usize> {
        /// A word of more texts than these, and of more than one in so many, tells none from another.
        const FEW: usize = 2;
        const ONE_IN: usize = 4;
        if self.is_empty() {
            return vec![0; texts.len()];
        }
        let mut found: Vec<HashSet<String>> = Vec::with_capacity(texts.len());
        for text in texts {
            found.push(words(&text).filter(|word| self.0.contains(word)).collect());
        }
        let mut times: HashMap<&str, usize> = HashMap::new();
        for word in found.iter().flatten() {
            *times.entry(word).or_default() += 1;
        }
        let most = FEW.max(found.len() / ONE_IN);
        let mut numbers = Vec::with_capacity(found.len());
        for words in &found {
            numbers.push(words.iter().filter(|word| times[word.as_str()] <= most).count());
        }
        numbers
    }
}

/// The words of a text and the parts of its names, in lower case and without a plural's end: those of three letters or
/// more, and pairs of a script without blanks.
fn words(text: &str) -> impl Iterator<Item = String> {
    let mut parts = format!("{text} ");
    // `parseConfig` has two parts, and is a word as a whole.
    for c in text.chars() {
        if c.is_uppercase() && parts.ends_with(char::is_lowercase) {
            parts.push(' ');
        }
        parts.push(c);
    }
    let mut words = Vec::new();
    for mut word in words_of(&parts.to_lowercase()) {
        if !is_long(&word) {
            continue;
        }
        if word.ends_with('s') {
            word.pop();
        }
        words.push(word);
    }
    words.into_iter()
}

/// Whether a word is long enough to tell what a text is about. One letter of a script without spaces is.
fn is_long(word: &str) -> bool {
    word.chars().count() > 2 || word.chars().any(is_wide)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_shared_in_any_script_and_in_parts_of_names() {
        for (focus, text, shared) in [
            ("the refunds", "cat src/refund.rs", 1),
            ("parse config", "`parseConfig` fails", 2),
            ("src/list_view.rs", "The view of the list.", 2),
            ("退款处理", "先看退款。", 1),
            ("таймаут шлюза", "Таймаут вырос.", 1),
            ("an it", "an it", 0),
            ("", "anything", 0),
        ] {
            assert_eq!(Focus::new(focus).shared([text.to_owned()].into_iter()), [shared], "{focus}: {text}");
        }
    }

    #[test]
    fn a_word_of_many_texts_tells_none_from_another() {
        let texts = (0..12).map(|at| format!("the line {at}{}", if at == 7 { " of refunds" } else { "" }));
        let shared = Focus::new("the refund").shared(texts);
        assert_eq!(shared.iter().sum::<usize>(), 1);
        assert_eq!(shared[7], 1);
    }
}
