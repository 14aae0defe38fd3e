//! Finds the literals of a text, which cannot be paraphrased: addresses, files, errors, numbers with their units,
//! identifiers.
//!
//! A hand-written scanner reads the bytes once, word by word, without lookahead. It knows no language's grammar, and
//! may mistake a word in camel case for an identifier.

use std::collections::HashSet;
use std::sync::LazyLock;

use crate::summary::record::literal::{is_word_byte, trimmed_end, word_end};
use crate::summary::record::numbers::{is_time, scan_number};

pub(in crate::summary) use crate::summary::record::literal::{Literal, LiteralClass};

/// Returns the literals of a text in order, without overlaps.
pub(in crate::summary) fn literals(text: &str) -> Vec<Literal> {
    let mut found = Vec::new();
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(length) = bytes[at..].iter().position(|byte| is_word_byte(*byte)) {
        at += length;
        // A lower-case word is no literal, and most words are.
        let letters = bytes[at..].iter().take_while(|byte| byte.is_ascii_lowercase()).count();
        if letters > 0 && bytes.get(at + letters).is_none_or(|byte| !is_word_byte(*byte)) {
            at += letters;
            continue;
        }
        if is_address(&bytes[at..]) {
            let end = address_end(bytes, at);
            found.push(Literal { class: LiteralClass::Url, span: at..trimmed_end(bytes, at, end) });
            at = end;
            continue;
        }
        let end = word_end(bytes, at);
        if !is_plain_word(&bytes[at..end]) {
            classify(text, at, end, &mut found);
        }
        // A number includes the unit after it.
        at = found.last().map_or(end, |last| last.span.end.max(end));
    }
    debug_assert!(found.windows(2).all(|two| two[0].span.end <= two[1].span.start), "{found:?} of {text:?}");
    found
}

/// Whether a word is lower case, possibly capitalized, and so needs no check.
fn is_plain_word(word: &[u8]) -> bool {
    let rest = word.strip_suffix(b".").or_else(|| word.strip_suffix(b":")).unwrap_or(word);
    let letters =
        rest.iter().enumerate().all(|(at, byte)| byte.is_ascii_lowercase() || at == 0 && byte.is_ascii_uppercase());
    letters
        && !(rest.len() > 5
            && rest[0].is_ascii_uppercase()
            && ERROR_SUFFIXES.iter().any(|end| rest.ends_with(end.as_bytes())))
}

fn is_address(rest: &[u8]) -> bool {
    rest.starts_with(b"https://") || rest.starts_with(b"http://")
}

fn address_end(bytes: &[u8], start: usize) -> usize {
    let ends = |byte: u8| {
        byte.is_ascii_whitespace()
            || matches!(byte, b'<' | b'>' | b'"' | b'\'' | b'`' | b')' | b']' | b'}' | b'|' | b'\\')
            || byte >= 0x80
    };
    bytes[start..].iter().position(|byte| ends(*byte)).map_or(bytes.len(), |length| start + length)
}

const ERROR_SUFFIXES: [&str; 4] = ["Error", "Exception", "Panic", "Fault"];

/// Whether a text is an extension of files.
fn is_extension(text: &str) -> bool {
    static EXTENSIONS: LazyLock<HashSet<&str>> = LazyLock::new(|| FILE_EXTENSIONS.split_whitespace().collect());
    EXTENSIONS.contains(text)
}

const FILE_EXTENSIONS: &str = "rs py pyi js mjs cjs ts tsx jsx go java kt c h cc cpp hpp cs rb php swift sh bash zsh ps1 sql html htm css scss md rst txt \
    json jsonl yaml yml toml ini cfg conf env lock xml csv tsv parquet proto ipynb log patch diff zip gz tar whl so dll exe png jpg jpeg svg pdf mod tf";

/// Classifies a word, or its parts if the whole is no literal.
fn classify(text: &str, start: usize, end: usize, found: &mut Vec<Literal>) {
    let bytes = text.as_bytes();
    let mut start = start;
    while start < end
        && matches!(bytes[start], b'.' | b':' | b'%' | b'+' | b'@')
        && !bytes[start..end].starts_with(b"./")
        && !bytes[start..end].starts_with(b"../")
    {
        start += 1;
    }
    let end = trimmed_end(bytes, start, end);
    let word = &text[start..end];
    if word.len() < 2 {
        // A digit may precede a unit.
        if word.as_bytes().first().is_some_and(u8::is_ascii_digit) {
            scan_number(text, start, end, found);
        }
        return;
    }
    // Which punctuation a word has is found out once: most words have none.
    const PUNCTUATION: &[u8; 5] = b"@/:_.";
    let marks = word.bytes().fold(0, |marks, byte| match PUNCTUATION.iter().position(|mark| *mark == byte) {
        Some(place) => marks | 1 << place,
        None => marks,
    });
    let has = |mark: u8| PUNCTUATION.iter().position(|known| *known == mark).is_some_and(|at| marks >> at & 1 == 1);
    let mut push = |class, span| found.push(Literal { class, span });
    if has(b'@') && is_email(word) {
        return push(LiteralClass::Email, start..end);
    }
    if has(b'/') {
        let path = word.split(':').next().unwrap_or(word);
        if is_path(path) {
            push(LiteralClass::Path, start..start + path.len());
            return classify_position(text, start + path.len(), end, found);
        }
        return classify_parts(text, start, end, '/', found);
    }
    let is_time_of_day = has(b':') && is_time(word);
    let is_joined = if has(b':') { word.contains("::") } else { has(b'_') };
    let is_file = has(b'.') && is_file(word);
    if is_time_of_day || is_joined {
        let class = if is_time_of_day { LiteralClass::Number } else { LiteralClass::Identifier };
        return push(if is_file { LiteralClass::Path } else { class }, start..end);
    }
    if has(b':') {
        return classify_parts(text, start, end, ':', found);
    }
    if is_file {
        return push(LiteralClass::Path, start..end);
    }
    if is_error(word) {
        return push(LiteralClass::Error, start..end);
    }
    let first = word.as_bytes()[0];
    let numeric = first.is_ascii_digit() || first == b'$' || first == b'v' && word.as_bytes()[1].is_ascii_digit();
    if numeric && scan_number(text, start, end, found) {
        return;
    }
    if is_identifier(word) {
        found.push(Literal { class: LiteralClass::Identifier, span: start..end });
    }
}

/// Classifies the line and column after a path.
fn classify_position(text: &str, start: usize, end: usize, found: &mut Vec<Literal>) {
    if start < end {
        classify_parts(text, start, end, ':', found);
    }
}

/// Classifies the parts of a word.
fn classify_parts(text: &str, start: usize, end: usize, between: char, found: &mut Vec<Literal>) {
    let mut at = start;
    for part in text[start..end].split(between) {
        if !part.is_empty() && !is_plain_word(part.as_bytes()) {
            classify(text, at, at + part.len(), found);
        }
        at += part.len() + 1;
    }
}

fn is_email(word: &str) -> bool {
    word.split_once('@').is_some_and(|(name, host)| {
        !name.is_empty()
            && host.contains('.')
            && !host.contains('@')
            && host.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'.' || b == b'-')
    }) && !word.contains(['/', ':', '$'])
}

/// Whether a word with slashes is a path: it starts like one, or its last part is a file.
fn is_path(word: &str) -> bool {
    let is_rooted = ["/", "./", "../", "~/"].iter().any(|root| word.starts_with(root));
    let last = word.rsplit('/').find(|part| !part.is_empty()).unwrap_or("");
    let has_letters = word.bytes().any(|byte| byte.is_ascii_alphabetic());
    has_letters && !word.contains("//") && (is_rooted && word.len() > 3 || !is_rooted && has_extension(last))
}

fn has_extension(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(stem, extension)| {
        !stem.is_empty()
            && (1..=8).contains(&extension.len())
            && extension.as_bytes()[0].is_ascii_alphabetic()
            && extension.bytes().all(|b| b.is_ascii_alphanumeric())
    })
}

/// Whether a word without slashes is the name of a file.
pub(in crate::summary) fn is_file(word: &str) -> bool {
    word.rsplit_once('.').is_some_and(|(stem, extension)| {
        stem.bytes().any(|byte| byte.is_ascii_alphanumeric())
            && is_extension(extension)
            && stem.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'))
    })
}

fn is_error(word: &str) -> bool {
    let bytes = word.as_bytes();
    // `java.lang.NullPointerException`
    let name = word.rsplit('.').next().unwrap_or(word);
    let has_letters = name.starts_with(|c: char| c.is_ascii_uppercase())
        && word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'.')
        && ERROR_SUFFIXES.iter().any(|end| name.len() > end.len() && name.ends_with(end));
    let code = bytes[0] == b'E' && word.len() == 5 && bytes[1..].iter().all(u8::is_ascii_digit);
    let system = word.len() >= 5
        && bytes.iter().all(u8::is_ascii_uppercase)
        && (word.starts_with("SIG") || ERRNO.contains(&word));
    has_letters || code || system
}

const ERRNO: [&str; 14] = [
    "EACCES",
    "EPERM",
    "ENOENT",
    "EEXIST",
    "EINVAL",
    "ETIMEDOUT",
    "ECONNREFUSED",
    "ECONNRESET",
    "EADDRINUSE",
    "ENOSPC",
    "ENOMEM",
    "EPIPE",
    "EISDIR",
    "ENOTDIR",
];

fn is_identifier(word: &str) -> bool {
    let bytes = word.as_bytes();
    let letters = bytes.iter().filter(|b| b.is_ascii_alphabetic()).count();
    let digits = bytes.iter().filter(|b| b.is_ascii_digit()).count();
    if bytes[0] == b'#' {
        return digits > 0;
    }
    if bytes[0] == b'-' {
        return letters > 2 && bytes.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'-');
    }
    if letters == 0 {
        return false;
    }
    let camel =
        word.len() > 3 && bytes.windows(2).any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    let code = word.len() >= 4
        && digits > 0
        && bytes.iter().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || *b == b'-');
    let hash = word.len() >= 7 && digits > 0 && bytes.iter().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f' | b'-'));
    let underscored = bytes.contains(&b'_');
    camel || code || hash || underscored
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(LiteralClass, &str)> {
        literals(text).into_iter().map(|literal| (literal.class, &text[literal.span])).collect()
    }

    #[test]
    fn literals_of_every_class() {
        let text = "See https://a.b/c?d=1). Mail mia.kim6850@example.com, edit src/auth.rs:42 or main.py; E0308, KeyError, a.io.OSError: \
                    v1.2.3 took 30 s for $1,234.50 on 2024-05-20 at 06:00, mia_kim_4397 booked HAT069 with --no-verify, fn getName #42, ACME-77213.";
        let expected = [
            (LiteralClass::Url, "https://a.b/c?d=1"),
            (LiteralClass::Email, "mia.kim6850@example.com"),
            (LiteralClass::Path, "src/auth.rs"),
            (LiteralClass::Path, "main.py"),
            (LiteralClass::Error, "E0308"),
            (LiteralClass::Error, "KeyError"),
            (LiteralClass::Error, "a.io.OSError"),
            (LiteralClass::Version, "v1.2.3"),
            (LiteralClass::Number, "30 s"),
            (LiteralClass::Number, "$1,234.50"),
            (LiteralClass::Number, "2024-05-20"),
            (LiteralClass::Number, "06:00"),
            (LiteralClass::Identifier, "mia_kim_4397"),
            (LiteralClass::Identifier, "HAT069"),
            (LiteralClass::Identifier, "--no-verify"),
            (LiteralClass::Identifier, "getName"),
            (LiteralClass::Identifier, "#42"),
            (LiteralClass::Identifier, "ACME-77213"),
        ];
        assert_eq!(found(text), expected);
    }

    /// A unit must be a whole word, and the text that a number includes is not found again.
    #[test]
    fn no_literal_reaches_into_another() {
        assert_eq!(found("12 tests.rs"), [(LiteralClass::Path, "tests.rs")]);
        assert_eq!(
            found("3 files.py:2 failed"),
            [(LiteralClass::Path, "files.py"), (LiteralClass::Number, "2 failed")]
        );
        assert_eq!(found("10 MB/s. 7 x2, 5 s"), [(LiteralClass::Number, "10 MB/s"), (LiteralClass::Number, "5 s")]);
        for text in ["12 tests.rs", "1 s/tests.rs", "9 line_of", "4 KB-x", "2 s@a.b", "1 x:2 h", "5 tests::a", "1 hé"]
        {
            let spans: Vec<_> = literals(text).into_iter().map(|literal| literal.span).collect();
            assert!(spans.windows(2).all(|two| two[0].end <= two[1].start), "{text}: {spans:?}");
        }
    }

    #[test]
    fn words_are_no_literals() {
        assert!(
            found("Either and/or this: that. I have 2 of 3. Not e.g. here... -- ::").is_empty(),
            "{:?}",
            found("and/or e.g. 2")
        );
    }

    #[test]
    fn literals_stand_beside_any_script() {
        assert_eq!(
            found("请把超时改为500毫秒，文件src/a.rs。"),
            [(LiteralClass::Number, "500"), (LiteralClass::Path, "src/a.rs")]
        );
    }
}
