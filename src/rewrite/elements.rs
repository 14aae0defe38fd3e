//! Taking elements out of lists and putting others in, by looking at the text around them.
//!
//! A list is an array of JSON or the values of a file that stand one behind the other.

use std::ops::Range;

use super::Edit;

/// The keys whose member goes when nothing is left in its list: providers refuse it empty.
const NEVER_EMPTY: &str = "tool_calls";

/// The edits that take `spans` out of `source`: elements of lists, or values of members, which go with their keys. They
/// are in order and do not overlap; separators go with them.
pub(super) fn without(source: &str, spans: &[Range<usize>]) -> Vec<Edit> {
    let spans: Vec<Range<usize>> = spans.iter().map(|span| with_key(source, span.clone())).collect();
    let adjacent = |one: &Range<usize>, next: &Range<usize>| {
        matches!(source[one.end..next.start].trim_matches(is_space), "" | ",")
    };
    spans.chunk_by(adjacent).map(|run| removal(source, run[0].start..run[run.len() - 1].end)).collect()
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
    let emptied = before.ends_with('[') && next == Some(']');
    let list = before.len().saturating_sub(1)..run.end + space + 1;
    let range = if next == Some(',') {
        let rest = &after[space + 1..];
        run.start..run.end + space + 1 + (rest.len() - rest.trim_start_matches(is_space).len())
    } else if let Some(before) = before.strip_suffix(',') {
        before.len()..run.end
    } else if emptied && source[with_key(source, list.clone())].starts_with(&format!("\"{NEVER_EMPTY}\"")) {
        return removal(source, with_key(source, list));
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
    }

    #[test]
    fn elements_come_first() {
        let put = |source: &str| apply(source, &[at_front(source, 0..source.len(), &["9".to_owned(), "8".to_owned()])]);
        assert_eq!(put("[ 1, 2]"), "[ 9, 8, 1, 2]");
        assert_eq!(put("[]"), "[9, 8]");
    }
}
