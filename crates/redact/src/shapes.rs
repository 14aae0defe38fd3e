//! Finds secrets by their spelling: walks the rows of [`crate::kinds`].
//!
//! One regular expression of all prefixes finds candidates, and the bytes around each decide. No row examines a byte
//! again from another prefix, so the time is linear.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use regex::Regex;

use crate::extents::{CharRun, Class, can_begin, escape_letters, varied};
use crate::kinds::{Body, COMMON, PRIVATE_KEY, SHAPES, Shape, dense};
use crate::pattern::pattern;
use crate::{SecretSpan, values, whole_keys};

/// A pattern of all prefixes, longer ones first, and the rows of each.
static PREFIXES: LazyLock<(Regex, RowsOfPrefix)> = LazyLock::new(|| {
    let mut prefixes: Vec<&str> = SHAPES.iter().flat_map(|shape| shape.prefixes.iter().copied()).collect();
    prefixes.sort_unstable_by_key(|prefix| Reverse(prefix.len()));
    let literals: Vec<String> = prefixes.iter().map(|prefix| regex::escape(prefix)).collect();
    (pattern(&literals.join("|")), prefixes.into_iter().map(|prefix| (prefix, rows_of(prefix))).collect())
});
/// The pattern of each row that has one, compiled on first use.
static PARTS: [OnceLock<Regex>; SHAPES.len()] = [const { OnceLock::new() }; SHAPES.len()];

/// The rows with a prefix that begins a prefix: their indices, each with its own prefix.
type RowsOfPrefix = HashMap<&'static str, Vec<(usize, &'static str)>>;

fn rows_of(found: &str) -> Vec<(usize, &'static str)> {
    let mut rows = Vec::new();
    for (index, shape) in SHAPES.iter().enumerate() {
        if let Some(prefix) = shape.prefixes.iter().find(|prefix| found.starts_with(**prefix)) {
            rows.push((index, *prefix));
        }
    }
    rows
}

/// Finds all of them in a text, in no particular order.
pub(super) fn find(text: &str, found: &mut Vec<SecretSpan>) {
    let mut at = 0;
    // Before these offsets there is no further secret of the row.
    let mut searched_to = [0; SHAPES.len()];
    let (regex, rows) = &*PREFIXES;
    while let Some(prefix) = regex.find_at(text, at) {
        let start = prefix.start();
        at = start + 1;
        for (index, own) in &rows[prefix.as_str()] {
            if start < searched_to[*index] {
                continue;
            }
            match secret(text, start, own, *index) {
                Err(end) => searched_to[*index] = end,
                Ok(range) => {
                    searched_to[*index] = range.end;
                    found.push(SecretSpan { range, kind: SHAPES[*index].kind });
                    break;
                }
            }
        }
    }
}

/// The secret of row `index` whose prefix is at `start`. The error is the offset before which there is none.
fn secret(text: &str, start: usize, prefix: &str, index: usize) -> Result<Range<usize>, usize> {
    let shape = &SHAPES[index];
    let first = first_byte(text, start, prefix, shape).ok_or(start)?;
    let body = start + prefix.len();
    let end = match shape.body {
        Body::Whole(find) => return find(text, start),
        Body::Parts(parts) => {
            let Some(found) = parts_pattern(index, parts).find(&text[body..]) else { return Err(start) };
            let end = body + found.end();
            let is_whole = !text[end..].starts_with(|c: char| c.is_ascii_alphanumeric());
            if !is_whole || !(shape.needs)(&text[body..end]) {
                return Err(start);
            }
            end
        }
        Body::Run(run) => run_end(text, body, run, shape.needs)?,
    };
    let is_glued = !shape.keeps_prefix && shape.before.is_none() && !can_begin(text, start);
    if is_glued && !dense(&text[body..end]) && !varied(&text[body..end]) {
        return Err(start);
    }
    let end = if shape.kind == PRIVATE_KEY { whole_keys::wrapped_end(text, first..end) } else { end };
    Ok(if shape.keeps_prefix { body..end } else { first..end })
}

/// Where the secret begins whose prefix is at `start`.
fn first_byte(text: &str, start: usize, prefix: &str, shape: &Shape) -> Option<usize> {
    let Some(CharRun { class, least, most }) = shape.before else {
        let begins_here = shape.keeps_prefix || can_begin(text, start) || is_specific(prefix);
        return if begins_here { Some(start) } else { None };
    };
    let bytes = &text.as_bytes()[..start];
    let before = bytes.iter().rev().take(most + 1).take_while(|byte| class.has(**byte)).count();
    let first = start - before.min(most);
    let escape = escape_letters(bytes, first);
    let is_whole = before >= least + escape && (before <= most || can_begin(text, first + escape));
    if is_whole { Some(first + escape) } else { None }
}

/// Where the run behind the prefix of a row ends.
fn run_end(text: &str, body: usize, run: CharRun, needs: fn(&str) -> bool) -> Result<usize, usize> {
    let bytes = text.as_bytes();
    let most = bytes.len().min(body.saturating_add(run.most).saturating_add(1));
    let ran = body + run.class.run(&bytes[body..most]);
    // A full stop and the like may follow a key; a key that would be too short without it ends with it.
    let trimmed = body + text[body..ran].trim_end_matches(['.', '/', '~']).len();
    let end = trimmed.max(ran.min(body.saturating_add(run.least)));
    let value = &text[body..end];
    if (!value.is_empty() && values::is_reference(value)) || !needs(value) {
        return Err(ran);
    }
    let has_digits = run.class != Class::Hex || value.bytes().any(|byte| byte.is_ascii_digit());
    if !has_digits || !(run.least..=run.most).contains(&value.len()) {
        return Err(body);
    }
    Ok(end)
}

fn parts_pattern(index: usize, parts: &str) -> &'static Regex {
    PARTS[index].get_or_init(|| pattern(&format!("^(?-u:{parts})")))
}

/// Whether no word ends as a prefix begins, so that a letter or digit may precede it.
fn is_specific(prefix: &str) -> bool {
    let has_mark = prefix.len() > 3 && prefix.contains(['_', '-']) && !COMMON.contains(&prefix);
    has_mark || ["AKIA", "ASIA", "AIza", "hf_"].contains(&prefix)
}

/// Builds the patterns of this file.
#[cfg(any(test, feature = "tests"))]
pub(crate) fn patterns() -> Vec<&'static Regex> {
    let parts = SHAPES.iter().enumerate().filter_map(|(index, shape)| match shape.body {
        Body::Parts(parts) => Some(parts_pattern(index, parts)),
        _ => None,
    });
    parts.chain([&PREFIXES.0]).collect()
}
