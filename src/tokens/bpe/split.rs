//! The patterns that cut text into pieces before merging, written out by hand.
//!
//! OpenAI publishes them as regular expressions with look-ahead. By hand they need no engine, no compilation and no
//! stack, and each piece is found in one or two passes over it. The tests hold them against the expressions.

use super::table::{Class, class};

/// The length in bytes of the first piece of `text` (not empty) under `cl100k_base`:
/// `'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s`
pub(super) fn cl100k(text: &str) -> usize {
    let contraction = contraction(text);
    if contraction > 0 {
        return contraction;
    }
    let letters_from = word_prefix(text);
    let letters = run(&text[letters_from..], is_letter);
    if letters > 0 {
        return letters_from + letters;
    }
    match class_at(text) {
        Some(Class::Number) => number(text),
        Some(Class::Space | Class::Newline) => symbols(text, is_newline).unwrap_or_else(|| {
            let space = run(text, is_space);
            if space == text.len() {
                space
            } else {
                through_last_newline(text, space).unwrap_or_else(|| all_but_last(text, space))
            }
        }),
        _ => symbols(text, is_newline).unwrap_or(text.len()),
    }
}

/// The length in bytes of the first piece of `text` (not empty) under `o200k_base`: words with their case and
/// contraction, numbers of up to three digits, symbols, white space (the seven alternatives are published with tiktoken).
pub(super) fn o200k(text: &str) -> usize {
    let word = word(text);
    if word > 0 {
        return word;
    }
    match class_at(text) {
        Some(Class::Number) => number(text),
        Some(Class::Space | Class::Newline) => symbols(text, is_newline_or_slash).unwrap_or_else(|| {
            let space = run(text, is_space);
            match through_last_newline(text, space) {
                Some(end) => end,
                None if space == text.len() => space,
                None => all_but_last(text, space),
            }
        }),
        _ => symbols(text, is_newline_or_slash).unwrap_or(text.len()),
    }
}

/// `o200k_base`'s first two alternatives: a word, with one sign before it and a contraction after it; 0 if there is none.
fn word(text: &str) -> usize {
    let prefix = word_prefix(text);
    // The sign before the word is taken where that leaves a word, and else tried as part of it: a mark can be both.
    let starts = if prefix > 0 { [Some(prefix), Some(0)] } else { [Some(0), None] };
    let ends_lower = |from: usize| ending_lower(&text[from..]).map(|length| from + length);
    let all_upper =
        |from: usize| Some(run(&text[from..], is_upper)).filter(|length| *length > 0).map(|length| from + length);
    let end = starts.iter().flatten().copied().find_map(ends_lower);
    match end.or_else(|| starts.iter().flatten().copied().find_map(all_upper)) {
        Some(end) => end + contraction(&text[end..]),
        None => 0,
    }
}

/// `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+`: letters that may rise but must end low.
fn ending_lower(text: &str) -> Option<usize> {
    let upper = run(text, is_upper);
    let lower = run(&text[upper..], is_lower);
    if lower > 0 {
        return Some(upper + lower);
    }
    // Nothing low follows: the last letter of the run that counts as low as well ends the word.
    text[..upper].char_indices().rev().find(|(_, c)| is_lower(class(*c))).map(|(at, c)| at + c.len_utf8())
}

/// `[^\r\n\p{L}\p{N}]?`: one sign, space or mark before a word.
fn word_prefix(text: &str) -> usize {
    match text.chars().next().map(|c| (c, class(c))) {
        Some((c, Class::Other | Class::Mark | Class::Space)) => c.len_utf8(),
        _ => 0,
    }
}

/// `\p{N}{1,3}`
fn number(text: &str) -> usize {
    text.chars().take(3).take_while(|c| class(*c) == Class::Number).map(char::len_utf8).sum()
}

/// ` ?[^\s\p{L}\p{N}]+` and what may trail it.
fn symbols(text: &str, trailing: fn(char) -> bool) -> Option<usize> {
    let space = usize::from(text.starts_with(' '));
    let symbols = run(&text[space..], |class| matches!(class, Class::Other | Class::Mark));
    if symbols == 0 {
        return None;
    }
    let end = space + symbols;
    let rest = &text[end..];
    Some(end + rest.find(|c| !trailing(c)).unwrap_or(rest.len()))
}

/// `\s*[\r\n]+`: the white space up to and with its last line end.
fn through_last_newline(text: &str, space: usize) -> Option<usize> {
    text[..space].rfind(is_newline).map(|at| at + 1)
}

/// `\s+(?!\S)|\s`: white space but for the character before what follows it, and at least one.
fn all_but_last(text: &str, space: usize) -> usize {
    let last = text[..space].chars().next_back().map_or(0, char::len_utf8);
    if space > last { space - last } else { space }
}

/// `'s`, `'t`, `'re`, `'ve`, `'m`, `'ll`, `'d` in any case; 0 if there is none.
fn contraction(text: &str) -> usize {
    let Some(rest) = text.strip_prefix('\'') else { return 0 };
    let mut letters = rest.chars();
    let first = letters.next().unwrap_or(' ');
    let second = letters.next().unwrap_or(' ');
    match (first.to_ascii_lowercase(), second.to_ascii_lowercase()) {
        // The long s folds to s.
        ('s' | 't' | 'm' | 'd' | 'ſ', _) => 1 + first.len_utf8(),
        ('r' | 'v', 'e') | ('l', 'l') => 3,
        _ => 0,
    }
}

fn class_at(text: &str) -> Option<Class> {
    text.chars().next().map(class)
}

/// The length in bytes of the characters at the start of `text` whose class passes.
fn run(text: &str, passes: fn(Class) -> bool) -> usize {
    text.find(|c| !passes(class(c))).unwrap_or(text.len())
}

fn is_letter(class: Class) -> bool {
    matches!(class, Class::Upper | Class::Lower | Class::Caseless)
}

fn is_upper(class: Class) -> bool {
    matches!(class, Class::Upper | Class::Caseless | Class::Mark)
}

fn is_lower(class: Class) -> bool {
    matches!(class, Class::Lower | Class::Caseless | Class::Mark)
}

fn is_space(class: Class) -> bool {
    matches!(class, Class::Space | Class::Newline)
}

fn is_newline(c: char) -> bool {
    matches!(c, '\r' | '\n')
}

fn is_newline_or_slash(c: char) -> bool {
    is_newline(c) || c == '/'
}
