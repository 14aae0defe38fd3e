//! What the next work is about, as words: sentences and calls that share them come first among their kind.

use std::collections::{HashMap, HashSet};

/// The words of a text, without single letters; of a script without blanks every pair of characters.
pub fn words_of(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|c: char| !c.is_alphanumeric()).flat_map(|word| {
        let wide: Vec<char> = word.chars().filter(|c| is_wide(*c)).collect();
        match (wide.is_empty(), word.chars().nth(1).is_some()) {
            (true, true) => vec![word.to_owned()],
            (true, false) => Vec::new(),
            _ => wide.windows(2).map(|pair| pair.iter().collect()).collect(),
        }
    })
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
        let shares = |text: String| words(&text).filter(|word| self.0.contains(word)).collect::<HashSet<_>>();
        let found: Vec<HashSet<String>> = texts.map(shares).collect();
        let mut times: HashMap<&str, usize> = HashMap::new();
        found.iter().flatten().for_each(|word| *times.entry(word).or_default() += 1);
        let tells = |word: &&String| times[word.as_str()] <= FEW.max(found.len() / ONE_IN);
        found.iter().map(|words| words.iter().filter(tells).count()).collect()
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
    let words: Vec<String> = words_of(&parts.to_lowercase()).collect();
    words.into_iter().filter(|word| is_long(word)).map(|word| word.strip_suffix('s').map(str::to_owned).unwrap_or(word))
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
