//! Tells secrets of several words, as people and wallets have them, from sentences about secrets.

use crate::letters::is_key_in_phrase;
use crate::stand_ins::{is_call, is_nothing};

/// Words of sentences about passwords, which passwords of several words lack.
#[rustfmt::skip]
const WORDS_OF_SENTENCES: &[&str] = &[
    "a", "an", "and", "any", "are", "as", "at", "be", "been", "by", "can", "cannot", "could", "did", "do", "does",
    "else", "enter", "field", "file", "for", "from", "has", "have", "here", "if", "in", "incorrect", "invalid",
    "is", "it", "its", "key", "match", "must", "need", "needs", "new", "no", "not", "of", "on", "one", "optional",
    "or", "our", "password", "passwords", "please", "required", "secret", "should", "so", "that", "the", "their",
    "then", "this", "to", "token", "use", "used", "user", "uses", "value", "was", "we", "were", "when", "which",
    "will", "with", "you", "your",
];

fn is_of_sentences(word: &str) -> bool {
    WORDS_OF_SENTENCES.contains(&word)
}

/// A word in small letters, without the marks around it.
fn bare(word: &str) -> String {
    word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase()
}

fn is_assignment(word: &str) -> bool {
    word.len() < 3 && !word.contains(char::is_alphanumeric)
}

/// Whether a word shows that the words around it are not a secret.
fn is_of_prose_or_code(word: &str) -> bool {
    is_of_sentences(&bare(word)) || is_assignment(word) || is_call(word) || is_nothing(word)
}

/// Whether several words can be a secret: none of them is of a sentence.
pub(super) fn is_phrase(value: &str) -> bool {
    let words: Vec<&str> = value.split_whitespace().collect();
    value.chars().count() >= 3
        && words.len() <= 12
        && !value.ends_with(['.', '?', '!', ':', ',', '{', '('])
        && value.starts_with(|c: char| c.is_alphanumeric() || "$<{!@#%^&*".contains(c))
        && !POINTERS.contains(&bare(words[0]).as_str())
        && (words.iter().any(is_key_in_phrase) || !words.iter().any(|word| is_of_prose_or_code(word)))
}

/// The first words of a sentence that says where a password is, in place of the password.
const POINTERS: [&str; 24] = [
    "ask", "auf", "check", "consulte", "contact", "demander", "demandez", "fragen", "in", "kept", "like", "min",
    "refer", "same", "saved", "see", "siehe", "stored", "vedi", "ver", "via", "voir", "zie", "см",
];

/// Whether words that hyphens join begin as such a sentence does: `See-section-4.2b`.
pub(super) fn begins_as_pointer(value: &str) -> bool {
    value.split_once('-').is_some_and(|(first, _)| POINTERS.contains(&bare(first).as_str()))
}

/// Whether a generator of passphrases can have drawn a word.
fn is_word_of_passphrase(word: &str) -> bool {
    const OF_SECRETS: [&str; 6] = ["auth", "keys", "pass", "password", "secret", "token"];
    (4..=10).contains(&word.len())
        && word.bytes().all(|byte| byte.is_ascii_lowercase())
        && !OF_SECRETS.contains(&word)
        && !is_of_sentences(word)
}

/// Whether a value is four words or more that hyphens join, as generators of passphrases write them, and not an adjective
/// such as `end-to-end-encrypted`.
pub(super) fn is_passphrase(value: &str) -> bool {
    const ENDS_OF_ADJECTIVES: [&str; 6] = ["able", "based", "ed", "ing", "ly", "only"];
    value.split('-').count() >= 4
        && value.split('-').all(is_word_of_passphrase)
        && !ENDS_OF_ADJECTIVES.iter().any(|end| value.ends_with(end))
}

/// Whether a name is that of the words which a wallet is restored from.
pub(super) fn is_wallet(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.contains("mnemonic") || name.contains("phrase")
}

/// Whether words are those of a wallet: a multiple of three, from a list of short words.
pub(super) fn is_mnemonic(value: &str) -> bool {
    let words: Vec<&str> = value.split_whitespace().collect();
    if !(12..=24).contains(&words.len()) || !words.len().is_multiple_of(3) {
        return false;
    }
    for word in words {
        if !(3..=8).contains(&word.len()) || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
            return false;
        }
    }
    true
}
