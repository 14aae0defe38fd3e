//! Tells letters and marks that a generator has chosen from words, names in code and patterns.

use crate::extents::varied;

/// The letters that follow `a`, `b` and so on in words and in names of code; nineteen of twenty pairs are among them.
#[rustfmt::skip]
const FOLLOWERS: [&str; 26] = [
    "abcdefgiklmnprstuvwxy", "aceijlorsuy", "acdefhiklmoprstuy", "abcdefilorstu", "abcdefgilmnopqrstvwxy",
    "acdefilorstu", "aehilnorsu", "aeiort", "abcdefglmnoprstvxz", "e", "aeis", "adeilopstuy", "abdeilmopsu",
    "acdefgiklnopstuv", "abcdfgiklmnoprstuvw", "aehiloprstuy", "u", "acdefgiklmnoprstuvy", "acehiklmopstuy",
    "acdefhilmoprstuy", "abcdefgilmnprst", "aei", "aehinor", "cept", "lnpst", "e",
];
/// The fewest odd pairs of letters in a value that is no word; a word of another language has two or three.
const FEWEST_ODD: usize = 4;
/// The same where all letters are of one case, as in most words.
const FEWEST_ODD_OF_ONE_CASE: usize = 5;
/// One of so many pairs is odd in such a value.
const PAIRS_OF_ODD: usize = 5;
/// A shorter part before a capital is no word: `isOk` has one, and random letters have many.
const SHORTEST_WORD: usize = 3;

/// Whether the letters of a value follow each other as in no word: `zFKbtrOSDnZCbjQs`, and not `buildDataIndexKey`.
pub(super) fn is_scrambled(value: &str) -> bool {
    let LetterPairs { all, odd } = letter_pairs(value);
    let has_cases = has_byte(value, u8::is_ascii_uppercase) && has_byte(value, u8::is_ascii_lowercase);
    let fewest = if has_cases { FEWEST_ODD } else { FEWEST_ODD_OF_ONE_CASE };
    odd >= fewest && odd * PAIRS_OF_ODD >= all
}

fn has_byte(value: &str, is_it: fn(&u8) -> bool) -> bool {
    value.as_bytes().iter().any(is_it)
}

/// The pairs of letters in a value.
struct LetterPairs {
    all: usize,
    /// Those that few words have.
    odd: usize,
}

fn letter_pairs(value: &str) -> LetterPairs {
    let (mut all, mut odd, mut word) = (0, 0, 0);
    for pair in value.as_bytes().windows(2) {
        let [first, second] = [pair[0], pair[1]];
        if !first.is_ascii_alphabetic() {
            word = 0;
            continue;
        }
        word += 1;
        if !second.is_ascii_alphabetic() {
            continue;
        }
        all += 1;
        if first.is_ascii_lowercase() && second.is_ascii_uppercase() {
            odd += usize::from(word < SHORTEST_WORD);
        } else {
            odd += usize::from(is_odd(first, second));
        }
        if second.is_ascii_uppercase() {
            word = 0;
        }
    }
    LetterPairs { all, odd }
}

/// Whether two letters are side by side in few words. The alphabet and lines of one letter are not random.
fn is_odd(first: u8, second: u8) -> bool {
    let (first, second) = (first.to_ascii_lowercase(), second.to_ascii_lowercase());
    let is_sequence = second == first || second == first + 1;
    !is_sequence && !FOLLOWERS[usize::from(first - b'a')].as_bytes().contains(&second)
}

/// Whether a value consists of words and short numbers, as the names of resources, types and constants do: `db-creds-2`,
/// `utf8mb4_unicode_ci`, `TokenType2.Ident9`. Of random values with eight letters and digits, one of fifty does; of those with
/// sixteen, one of a thousand. A weak password may be such a name, too.
pub(super) fn is_name(value: &str) -> bool {
    const MOST_NUMBERS_OF_ONE_WORD: usize = 2;
    const MOST_ODD: usize = 3;
    const PAIRS_OF_ODD_IN_NAME: usize = 7;
    /// Short names have abbreviations: `pg-tls-2`.
    const FREE_PAIRS: usize = 4;
    const LONGEST: usize = 80;
    if value.len() > LONGEST {
        return false;
    }
    // Tokenizers mark the beginning of a word.
    let value = value.trim_start_matches(['▁', 'Ġ']);
    let parts = value.split(['-', '_', '.']);
    let is_one_part = parts.clone().count() == 1;
    let (mut words, mut numbers) = (0, 0);
    for part in parts {
        let Some(counts) = words_and_numbers(part, is_one_part) else { return false };
        words += counts.0;
        numbers += counts.1;
    }
    let LetterPairs { all, odd } = letter_pairs(value);
    let free = if is_one_part && all <= FREE_PAIRS { 0 } else { FREE_PAIRS };
    words > 0
        && numbers <= words.max(MOST_NUMBERS_OF_ONE_WORD)
        && odd <= MOST_ODD
        && odd * PAIRS_OF_ODD_IN_NAME <= all + free
}

/// Whether a value is a name of several parts, each of them a word, a number, or a word with a short number behind it:
/// `db-creds-2`, `smtp_relay_v2`.
pub(super) fn is_resource_name(value: &str) -> bool {
    const MOST_DIGITS: usize = 2;
    /// Words that resources without a number have; other words that hyphens join are a passphrase.
    const OF_RESOURCES: [&str; 9] =
        ["auth", "cert", "config", "credentials", "creds", "login", "password", "tls", "token"];
    for part in value.split(['-', '_', '.']) {
        let word = part.trim_end_matches(|c: char| c.is_ascii_digit());
        let is_number = word.is_empty() && !part.is_empty();
        let is_word = !word.is_empty()
            && word.bytes().all(|byte| byte.is_ascii_alphabetic())
            && part.len() - word.len() <= MOST_DIGITS;
        if !is_number && !is_word {
            return false;
        }
    }
    let has_number = has_byte(value, u8::is_ascii_digit);
    let is_known = has_number || value.split(['-', '_', '.']).any(|part| OF_RESOURCES.contains(&part));
    is_known && value.contains(['-', '_', '.']) && is_name(value)
}

/// How many words of three letters and how many numbers are in a part of a name, if it can be one. A part that stands alone
/// has one number at most.
fn words_and_numbers(part: &str, is_alone: bool) -> Option<(usize, usize)> {
    const MOST_DIGITS: usize = 4;
    const MOST_NUMBERS: usize = 2;
    let (mut words, mut short_words, mut numbers) = (0, 0, 0);
    for run in part.as_bytes().chunk_by(|first, second| first.is_ascii_digit() == second.is_ascii_digit()) {
        if run[0].is_ascii_digit() {
            numbers += 1;
            if run.len() > MOST_DIGITS {
                return None;
            }
            continue;
        }
        if !run.iter().all(u8::is_ascii_alphabetic) {
            return None;
        }
        let is_abbreviation = !run.iter().any(|byte| b"aeiouyAEIOUY".contains(byte));
        if is_alone && run.len() > SHORTEST_WORD && is_abbreviation && !run.iter().all(u8::is_ascii_uppercase) {
            return None;
        }
        if run.len() < SHORTEST_WORD {
            short_words += 1;
        } else {
            words += 1;
        }
    }
    let is_mixed = numbers > 1 || (short_words > 0 && words + short_words > 1);
    if numbers > MOST_NUMBERS || is_alone && is_mixed { None } else { Some((words, numbers)) }
}

/// Whether a value is a mix of letters of both cases, digits and marks in which no word is, as generators of passwords and
/// salts write it; it may have spaces. A pattern or code that is as dense has ranges, quotes or backslashes.
pub(super) fn is_noise(value: &str) -> bool {
    const FEWEST_MARKS: usize = 3;
    const MANY_MARKS: usize = 4;
    const LONGEST_RUN: usize = 12;
    const OF_PATTERNS: [&str; 3] = ["A-Z", "a-z", "0-9"];
    let has_cases = has_byte(value, u8::is_ascii_uppercase) && has_byte(value, u8::is_ascii_lowercase);
    if !has_cases || !has_byte(value, u8::is_ascii_digit) {
        return false;
    }
    if value.contains(['"', '\'', '\\', '\n'])
        || value.contains("://")
        || OF_PATTERNS.iter().any(|range| value.contains(range))
    {
        return false;
    }
    let mut marks: Vec<u8> = value.bytes().filter(u8::is_ascii_punctuation).collect();
    marks.sort_unstable();
    marks.dedup();
    let (mut letters, mut runs, mut longest) = (0, 0, 0);
    for run in value.split(|c: char| !c.is_alphabetic()) {
        if run.is_empty() {
            continue;
        }
        letters += run.len();
        runs += 1;
        longest = longest.max(run.len());
    }
    // In code and its abbreviations, a run of letters has more than these on average.
    let is_short = marks.len() >= MANY_MARKS && longest <= LONGEST_RUN && letters * 2 <= runs * 5 + 4;
    marks.len() >= FEWEST_MARKS && (is_short || is_scrambled(value))
}

/// Whether a value has a run of at least `least` letters and digits, with both in it.
pub(super) fn is_dense(value: &str, least: usize) -> bool {
    value.split(|c: char| !c.is_ascii_alphanumeric()).any(|run| run.len() >= least && is_random(run, least))
}

/// Whether a value mixes letters with digits or marks, as no word does, or has letters in an order that no word has.
pub(super) fn is_random(value: &str, least: usize) -> bool {
    let is_number = value.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'_' | b'e'));
    let has_letters = has_byte(value, u8::is_ascii_alphabetic) || !value.is_ascii();
    if value.chars().count() < least || is_number || !has_letters {
        return false;
    }
    has_byte(value, u8::is_ascii_digit) || has_byte(value, is_mark_of_no_word) || is_scrambled(value)
}

fn is_mark_of_no_word(byte: &u8) -> bool {
    byte.is_ascii_punctuation() && !matches!(byte, b'_' | b'-' | b'.' | b'\'' | b',')
}

/// Whether a word is as random as a key, so that the words beside it are a part of the secret.
pub(super) fn is_key_in_phrase(word: &&str) -> bool {
    is_dense(word, 12) && varied(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_letters_are_not_words() {
        for value in ["zFKbtrOSDnZCbjQs", "gksqhhdfwidmeoqeyjcr", "CbhukOQEeRNVGdhl", "HNWSLRmQKqVhaEJO"] {
            assert!(is_scrambled(value), "{value}");
        }
        for value in [
            "buildDataIndexTokenConfigKey",
            "default_settings_path",
            "abcdefghijklmnopqrstuvwxyz",
            "xxxxxxxxxxxxxxxxxxxx",
            "getUserPasswordFromKeychain",
            "Sicherheitsschlüssel",
            "correct-horse-battery-staple",
            "HTTPServerTLSConfig",
            "acknowledgment",
            "weekday_cycle_forward",
        ] {
            assert!(!is_scrambled(value), "{value}");
        }
    }

    #[test]
    fn noise_is_not_code() {
        for value in ["FS(,WO#Yt3:TU3(d", " A+1<-yLJ#_%Six1GnU{6`V8]=)iBt~AR)|a4p^WQ8?;Ft.HGtKSBM0w2Bo!?p*#"] {
            assert!(is_noise(value), "{value}");
        }
        for value in [
            "^(?=.*[A-Z])(?=.*[0-9]).{8,}$",
            "{{ .Values.db1.Password | b64enc }}",
            "config[Keys.API_KEY](1, x)!",
            "https://Example.com/a?b=1&c=2#x",
            "put your unique phrase here",
        ] {
            assert!(!is_noise(value), "{value}");
        }
    }
}
