//! The history of a prompt in two sections, as `DeerFlow` writes it: an earlier summary to carry on, and the new
//! messages. Each gets half of the limit.

use crate::summary::history::escaped;
use crate::tokens::Counter;

use crate::presets::python;
use crate::presets::trim_messages::binary_search_max;

/// The end of a text that stays.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keep {
    First,
    Last,
}

/// Writes the text for `{messages}`; `None` if nothing is left of either section. `limit` is in tokens.
pub(crate) fn sections(new: &str, earlier: Option<&str>, limit: u64, counter: Counter) -> Option<String> {
    let limit = limit.max(1);
    let (earlier, new) = match earlier.map(python::strip) {
        Some(earlier) => {
            let half = (limit / 2).max(1);
            let left = limit.saturating_sub(half).max(1);
            (cut(earlier, left, Keep::Last, counter), cut(new, half, Keep::First, counter))
        }
        None => (String::new(), cut(new, limit, Keep::First, counter)),
    };
    let mut lines: Vec<String> = Vec::new();
    if !earlier.is_empty() {
        lines.extend([
            "<existing_summary>".to_owned(),
            escaped(&earlier),
            "</existing_summary>".to_owned(),
            String::new(),
        ]);
    }
    if !new.is_empty() {
        lines.extend(["<new_messages>".to_owned(), escaped(&new), "</new_messages>".to_owned()]);
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Returns as much of one end of a text as fits into a message of `limit` tokens. If that is nothing but white space,
/// it returns `limit` characters.
fn cut(text: &str, limit: u64, keep: Keep, counter: Counter) -> String {
    if python::strip(text).is_empty() {
        return String::new();
    }
    let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let piece = |chars: usize| match keep {
        Keep::First => &text[..ends[chars]],
        Keep::Last => &text[ends[ends.len() - 1 - chars]..],
    };
    let most = binary_search_max(ends.len() - 1, |chars| counter.count_text_message(piece(chars)) <= limit);
    let fitting = piece(most);
    if python::strip(fitting).is_empty() { cut_to_chars(text, limit) } else { fitting.to_owned() }
}

/// Returns at most `limit` characters: the beginning and the end, with a mark between them.
fn cut_to_chars(text: &str, limit: u64) -> String {
    const MARK: &str = "\n...\n";
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let chars: Vec<char> = text.chars().collect();
    if chars.len() <= limit {
        return text.to_owned();
    }
    let head = limit.saturating_mul(2) / 3;
    let tail = limit.saturating_sub(head).saturating_sub(MARK.len());
    if limit <= MARK.len() || tail == 0 {
        return chars[..limit].iter().collect();
    }
    let (head, tail): (String, String) = (chars[..head].iter().collect(), chars[chars.len() - tail..].iter().collect());
    [&head, MARK, &tail].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_section_gets_its_half() {
        assert_eq!(
            sections("Human: <a>", Some(" before "), 4000, Counter::APPROX).as_deref(),
            Some(
                "<existing_summary>\nbefore\n</existing_summary>\n\n<new_messages>\nHuman: &lt;a&gt;\n</new_messages>"
            )
        );
        assert_eq!(sections(" \n", None, 10, Counter::APPROX), None);
        assert_eq!(
            sections("abcdefgh", None, 5, Counter::APPROX).as_deref(),
            Some("<new_messages>\nabcd\n</new_messages>")
        );
        let cut = sections("abcdefgh", Some("12345678"), 10, Counter::APPROX).expect("text");
        assert!(cut.contains("\n5678\n") && cut.contains("\nabcd\n"), "{cut}");
    }

    #[test]
    fn where_no_message_fits_characters_are_counted() {
        assert_eq!(cut_to_chars("0123456789abcdefghij", 3), "012");
        assert_eq!(cut_to_chars("0123456789abcdefghij", 18), "0123456789ab\n...\nj");
        assert_eq!(cut_to_chars("short", 9), "short");
        assert_eq!(
            sections("abcdefgh", None, 2, Counter::APPROX).as_deref(),
            Some("<new_messages>\nab\n</new_messages>")
        );
    }
}
