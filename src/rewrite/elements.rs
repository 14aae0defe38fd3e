//! Taking elements out of lists and putting others in, by looking at the text around them.
//!
//! A list is an array of JSON or the values of a file that stand one behind the other.

use std::ops::Range;

use crate::rewrite::Edit;

/// The keys whose member goes when nothing is left in its list: providers refuse it empty.
const NEVER_EMPTY: &str = "tool_calls";

/// The edits that take `spans` out of `source`: elements of lists, or values of members, which go with their keys. They
/// are in order and do not overlap; separators go with them.
pub(crate) fn without(source: &str, spans: &[Range<usize>]) -> Vec<Edit> {
    let mut spans: Vec<Range<usize>> = spans.iter().map(|span| with_key(source, span.clone())).collect();
    // A list that must not be empty goes as a whole, and may then stand beside another member that goes.
    spans = runs(source, &spans)
        .flat_map(|run| match list_emptied_by(source, run[0].start..run[run.len() - 1].end) {
            Some(list) => vec![list],
            None => run.to_vec(),
        })
        .collect();
    runs(source, &spans).map(|run| removal(source, run[0].start..run[run.len() - 1].end)).collect()
}

/// Spans between which nothing but separators stands.
fn runs<'s>(source: &str, spans: &'s [Range<usize>]) -> impl Iterator<Item = &'s [Range<usize>]> {
    spans.chunk_by(|one, next| matches!(source[one.end..next.start].trim_matches(is_space), "" | ","))
}

/// The member whose list a run would leave empty, where it must not be.
fn list_emptied_by(source: &str, run: Range<usize>) -> Option<Range<usize>> {
    let before = source[..run.start].trim_end_matches(is_space).strip_suffix('[')?;
    let after = source[run.end..].trim_start_matches(is_space).strip_prefix(']')?;
    let list = before.len()..source.len() - after.len();
    let member = with_key(source, list);
    source[member.clone()].starts_with(&format!("\"{NEVER_EMPTY}\"")).then_some(member)
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

/// A value with its key, where it is a member.
fn with_key(source: &str, span: Range<usize>) -> Range<usize> {
    let before = source[..span.start].trim_end_matches(is_space);
    match before.strip_suffix(':').and_then(|before| key_start(before.trim_end_matches(is_space))) {
        Some(start) => start..span.end,
        None => span,
    }
}

/// Where the string begins that `before` ends with.
fn key_start(before: &str) -> Option<usize> {
    let inside = before.strip_suffix('"')?;
    let is_quote = |at: &usize| (at - inside[..*at].trim_end_matches('\\').len()).is_multiple_of(2);
    inside.rmatch_indices('"').map(|(at, _)| at).find(is_quote)
}

/// Takes a run of elements away with the separator behind it, or where nothing follows, with the one before.
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

/// Puts elements at the beginning of the array at `list`.
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

    /// The source without what stands between guillemets.
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
        apply(&source, &without(&source, &spans))
    }

    #[test]
    fn separators_go_along() {
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
