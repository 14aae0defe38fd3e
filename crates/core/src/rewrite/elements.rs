//! Removes elements from lists and inserts others, with the separators around them.
//!
//! A list is a JSON array, or the values of a file in sequence.

use std::ops::Range;

use serde_json::Value;

use crate::rewrite::Edit;
use crate::transcript::json::Json;

/// The key whose member is removed when its list becomes empty: providers reject it empty.
const NEVER_EMPTY: &str = "tool_calls";

/// The edits that remove `spans` from `source`: elements of lists, or values of members, which are removed with their
/// keys. `spans` are in order and do not overlap; separators are removed too.
pub fn removal_edits(source: &str, spans: &[Range<usize>]) -> Vec<Edit> {
    let members: Vec<Range<usize>> = spans.iter().map(|span| with_key(source, span.clone())).collect();
    let mut spans = Vec::with_capacity(members.len());
    for run in runs(source, &members) {
        // A list that must not be empty is removed whole, and may then be adjacent to another removed member.
        match list_emptied_by(source, run[0].start..run[run.len() - 1].end) {
            Some(list) => spans.push(list),
            None => spans.extend_from_slice(run),
        }
    }
    runs(source, &spans).map(|run| removal(source, run[0].start..run[run.len() - 1].end)).collect()
}

/// Groups spans with nothing but separators between them.
fn runs<'s>(source: &str, spans: &'s [Range<usize>]) -> impl Iterator<Item = &'s [Range<usize>]> {
    spans.chunk_by(|one, next| matches!(source[one.end..next.start].trim_matches(is_space), "" | ","))
}

/// The member whose list a run would leave empty, if it must not be empty.
fn list_emptied_by(source: &str, run: Range<usize>) -> Option<Range<usize>> {
    let before = source[..run.start].trim_end_matches(is_space).strip_suffix('[')?;
    let after = source[run.end..].trim_start_matches(is_space).strip_prefix(']')?;
    let list = before.len()..source.len() - after.len();
    let member = with_key(source, list);
    if source[member.clone()].starts_with(&format!("\"{NEVER_EMPTY}\"")) { Some(member) } else { None }
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

/// Extends a value by its key, if it is a member.
fn with_key(source: &str, span: Range<usize>) -> Range<usize> {
    let before = source[..span.start].trim_end_matches(is_space);
    let Some(before_colon) = before.strip_suffix(':') else { return span };
    match key_start(before_colon.trim_end_matches(is_space)) {
        Some(start) => start..span.end,
        None => span,
    }
}

/// Where the string begins that ends `before`.
fn key_start(before: &str) -> Option<usize> {
    let inside = before.strip_suffix('"')?;
    for (at, _) in inside.rmatch_indices('"') {
        let backslashes = at - inside[..at].trim_end_matches('\\').len();
        if backslashes.is_multiple_of(2) {
            return Some(at);
        }
    }
    None
}

/// Removes a run of elements with the separator after it, or with the one before it if nothing follows.
fn removal(source: &str, run: Range<usize>) -> Edit {
    let (before, after) = (source[..run.start].trim_end_matches(is_space), &source[run.end..]);
    let space = after.len() - after.trim_start_matches(is_space).len();
    let next = after[space..].chars().next();
    let range = if next == Some(',') {
        let rest = &after[space + 1..];
        run.start..run.end + space + 1 + (rest.len() - rest.trim_start_matches(is_space).len())
    } else if let Some(before) = before.strip_suffix(',') {
        before.len()..run.end
    } else if matches!(next, Some(']' | '}')) {
        run
    } else if next.is_some() {
        run.start..run.end + space
    } else {
        before.len()..run.end
    };
    Edit { range, text: String::new() }
}

/// The edits that set members of an object, or remove them where they have no value. A new member comes last.
pub fn with_members(object: Json<'_>, members: &[(&str, Option<Value>)], source: &str) -> Vec<Edit> {
    let mut edits = Vec::new();
    let mut added = String::new();
    for (key, value) in members {
        match (object.get(key), value) {
            (Some(before), Some(value)) => edits.push(Edit { range: before.span(), text: value.to_string() }),
            (Some(before), None) => edits.extend(removal_edits(source, &[before.span()])),
            (None, Some(value)) => added.push_str(&format!(", {}: {value}", Value::from(*key))),
            (None, None) => {}
        }
    }
    if !added.is_empty()
        && let Some((_, last)) = object.entries().last()
    {
        let end = last.span().end;
        edits.push(Edit { range: end..end, text: added });
    }
    edits
}

/// Inserts elements at the beginning of the array at `list`.
pub(super) fn at_front(source: &str, list: Range<usize>, elements: &[String]) -> Edit {
    let inside = &source[list.start + 1..list.end - 1];
    let space = inside.len() - inside.trim_start_matches(is_space).len();
    let at = list.start + 1 + space;
    let comma = if space == inside.len() { "" } else { ", " };
    Edit { range: at..at, text: format!("{}{comma}", elements.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rewrite::apply;

    /// Removes what is between guillemets.
    fn cut(marked: &str) -> String {
        let mut source = String::new();
        let mut spans = Vec::new();
        for (index, piece) in marked.split(['«', '»']).enumerate() {
            let start = source.len();
            source.push_str(piece);
            if index % 2 == 1 {
                spans.push(start..source.len());
            }
        }
        apply(&source, &removal_edits(&source, &spans))
    }

    #[test]
    fn removed_elements_take_their_separators_along() {
        assert_eq!(cut("[«1» , 2, «3», «4» ]"), "[2 ]");
        assert_eq!(cut("[1, «2», «3» , 4]"), "[1, 4]");
        assert_eq!(cut("[«1», «2»]"), "[]");
        assert_eq!(cut("{\"a\": [ «1» ], \"b\": 2}"), "{\"a\": [  ], \"b\": 2}");
        assert_eq!(cut("{}\n«{}»\n{}\n"), "{}\n{}\n");
        assert_eq!(cut("{}\n«{}»\n«{}»\n"), "{}\n");
        assert_eq!(cut("«{}»{}"), "{}");
    }

    #[test]
    fn members_go_with_their_keys() {
        assert_eq!(cut(r#"{"a\"": «{}», "b": 2}"#), r#"{"b": 2}"#);
        assert_eq!(cut(r#"{"b": 2, "x" : «3»}"#), r#"{"b": 2}"#);
        assert_eq!(cut(r#"{"b": 2, "tool_calls": [ «3», «4» ], "c": 1}"#), r#"{"b": 2, "c": 1}"#);
        assert_eq!(cut(r#"{"b": 2, "tool_calls": [3, «4»]}"#), r#"{"b": 2, "tool_calls": [3]}"#);
        assert_eq!(cut(r#"{"b": 2, "tool_calls": [«4»], "function_call": «{}»}"#), r#"{"b": 2}"#);
        assert_eq!(cut(r#"{"tool_calls": [«4»] , "function_call": «{}», "b": 2}"#), r#"{"b": 2}"#);
    }

    #[test]
    fn elements_come_first() {
        let put = |source: &str| apply(source, &[at_front(source, 0..source.len(), &["9".to_owned(), "8".to_owned()])]);
        assert_eq!(put("[ 1, 2]"), "[ 9, 8, 1, 2]");
        assert_eq!(put("[]"), "[9, 8]");
    }
}
