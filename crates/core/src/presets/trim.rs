//! How known systems shorten a history that is too long for their summarizer.
//!
//! - As `LangChain`'s `trim_messages` does: it keeps whole messages from the end while they fit. Of the next message it
//!   keeps as many of its last parts, or else of its last lines, as fit. Then it drops everything before the first message
//!   of a person. A leading system message stays at any cost.
//! - As `DeerFlow` writes it, in two sections: an earlier summary to carry on, and the new messages. Each gets half of the
//!   limit.
//! - As `LangChain` does where the model refuses a history as too long: without its middle.

use std::cell::OnceCell;

use crate::presets::python;
use crate::redact::{cut_before, cut_behind};
use crate::summary::history::escaped;
use crate::tokens::approx::{ReadContent, read_content};
use crate::tokens::python::repr;
use crate::tokens::scaling::ScaledTotal;
use crate::tokens::{Counter, MessageCounter};
use crate::transcript::text::Text;
use crate::transcript::{Content, Message, Part, PartKind, Role};

/// How messages are counted during trimming.
#[derive(Debug, Clone, Copy)]
pub struct Counting {
    /// Counts the tokens of one message.
    pub counter: MessageCounter,
    /// Whether the total of several messages is scaled by the tokens that providers reported.
    pub scales: bool,
}

/// The rest of the oldest message, if it does not fit whole.
#[derive(Debug, Default)]
pub struct PartialMessage<'a> {
    /// Its last lines, if it is cut by lines.
    lines: OnceCell<String>,
    message: OnceCell<Message<'a>>,
}

/// A message with its tokens.
type Counted<'m, 'a> = (u64, &'m Message<'a>);

impl Counting {
    /// The total of some messages, to which others may be added.
    fn sum<'a>(messages: &[Counted<'_, 'a>]) -> ScaledTotal<'a> {
        let mut total = ScaledTotal::default();
        for (tokens, message) in messages {
            total.add(*tokens, message);
        }
        total
    }

    fn tokens(self, total: &ScaledTotal<'_>) -> u64 {
        if self.scales { total.total() } else { total.estimate }
    }
}

/// The last messages with at most `limit` tokens together; none if no such end begins with a person. The oldest may be
/// `partial`.
pub fn trim_messages<'a>(
    all: &[Counted<'a, 'a>],
    limit: u64,
    counting: Counting,
    partial: &'a PartialMessage<'a>,
) -> Vec<&'a Message<'a>> {
    let (system, rest) = match all {
        [first, rest @ ..] if first.1.role.is_system() => (Some(*first), rest),
        _ => (None, all),
    };
    let limit = limit.saturating_sub(system.map_or(0, |(tokens, _)| tokens));
    let newest_first: Vec<Counted<'a, 'a>> = rest.iter().rev().copied().collect();
    let fits = |count: usize| counting.tokens(&Counting::sum(&newest_first[..count])) <= limit;
    let whole = if fits(newest_first.len()) { newest_first.len() } else { binary_search_max(newest_first.len(), fits) };
    let mut kept: Vec<&'a Message<'a>> = newest_first[..whole].iter().map(|(_, message)| *message).collect();
    if let Some((_, next)) = newest_first.get(whole) {
        let part = fitting_part(next, &newest_first[..whole], limit, counting, &partial.lines);
        kept.extend(part.map(|part| partial.message.get_or_init(|| part)));
    }
    while kept.last().is_some_and(|message| !begins_history(message)) {
        kept.pop();
    }
    kept.extend(system.map(|(_, message)| message));
    kept.reverse();
    kept
}

/// The largest number up to `all` that holds, by binary search. With scaling a larger number may hold although a
/// smaller one does not, so the sequence of tries matters.
fn binary_search_max(all: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, all);
    while low < high {
        let middle = (low + high).div_ceil(2);
        if holds(middle) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    low
}

/// The part of a message that fits beside the kept ones: its last parts, or the last lines of its last text.
fn fitting_part<'a>(
    message: &Message<'a>,
    kept: &[Counted<'_, 'a>],
    limit: u64,
    counting: Counting,
    lines: &'a OnceCell<String>,
) -> Option<Message<'a>> {
    let before = Counting::sum(kept);
    let content = read_content(message);
    if let ReadContent::List(parts) = &content {
        let fits = |first: usize| {
            let mut total = before.clone();
            let partial = with_parts(message, &parts[first..]);
            total.add(counting.counter.count(&partial), &partial);
            counting.tokens(&total) <= limit
        };
        // Fewer parts never have a larger total, scaled or not.
        let left_out = binary_search_max(parts.len(), |count| count == 0 || !fits(count)) + 1;
        if left_out < parts.len() {
            return Some(with_parts(message, &parts[left_out..]));
        }
    }
    let text = match content {
        ReadContent::Text(text) => text.decode(),
        ReadContent::Printed(value) => {
            let mut printed = String::new();
            repr(value, &mut printed);
            printed.into()
        }
        ReadContent::List(parts) => match &parts.last()?.kind {
            PartKind::Text(text) => text.decode(),
            _ => return None,
        },
    };
    if text.is_empty() {
        return None;
    }
    // The start of each line; the last line is empty if the text ends in a line end.
    let mut starts: Vec<usize> = vec![0];
    starts.extend(text.match_indices('\n').map(|(at, _)| at + 1));
    let before = counting.tokens(&before);
    let count = binary_search_max(starts.len(), |count| {
        let end = &text[starts[starts.len() - count]..];
        let partial = with_content(message, Content::Text(Text::plain(end)));
        before + counting.counter.count(&partial) <= limit
    });
    if count == 0 {
        return None;
    }
    let kept = lines.get_or_init(|| text[starts[starts.len() - count]..].to_owned());
    Some(with_content(message, Content::Text(Text::plain(kept))))
}

/// Whether a history may begin with a message: one of a person that `LangChain` holds as more than a chunk.
fn begins_history(message: &Message<'_>) -> bool {
    let kind = message.json.get_text("type");
    message.role == Role::User && !kind.is_some_and(|kind| kind.is("HumanMessageChunk"))
}

fn with_content<'a>(message: &Message<'a>, content: Content<'a>) -> Message<'a> {
    Message { content, ..message.clone() }
}

fn with_parts<'a>(message: &Message<'a>, parts: &[&Part<'a>]) -> Message<'a> {
    let parts: Vec<Part<'a>> = parts.iter().map(|part| (*part).clone()).collect();
    with_content(message, Content::Parts(parts.into()))
}

/// The end of a text that stays.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keep {
    First,
    Last,
}

/// Writes the text for `{messages}`; `None` if nothing is left of either section. `limit` is in tokens.
pub fn sections(new: &str, earlier: Option<&str>, limit: u64, counter: Counter) -> Option<String> {
    let limit = limit.max(1);
    let (earlier, new) = match earlier.map(python::strip) {
        Some(earlier) => {
            let half = (limit / 2).max(1);
            let left = limit.saturating_sub(half).max(1);
            (cut(earlier, left, Keep::Last, counter), cut(new, half, Keep::First, counter))
        }
        None => (String::new(), cut(new, limit, Keep::First, counter)),
    };
    let mut sections: Vec<String> = Vec::new();
    if !earlier.is_empty() {
        // A blank line is behind the earlier one, also where nothing is new.
        sections.push(section("existing_summary", &earlier) + "\n");
    }
    if !new.is_empty() {
        sections.push(section("new_messages", &new));
    }
    if sections.is_empty() { None } else { Some(sections.join("\n")) }
}

fn section(name: &str, text: &str) -> String {
    format!("<{name}>\n{}\n</{name}>", escaped(text))
}

/// As much of one end of a text as fits into a message of `limit` tokens. If that is nothing but white space, `limit`
/// characters.
fn cut(text: &str, limit: u64, keep: Keep, counter: Counter) -> String {
    if python::strip(text).is_empty() {
        return String::new();
    }
    let mut ends: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    ends.push(text.len());
    let piece = |chars: usize| match keep {
        Keep::First => &text[..ends[chars]],
        Keep::Last => &text[ends[ends.len() - 1 - chars]..],
    };
    let most = binary_search_max(ends.len() - 1, |chars| counter.count_text_message(piece(chars)) <= limit);
    let fitting = piece(most);
    if python::strip(fitting).is_empty() { cut_to_chars(text, limit) } else { fitting.to_owned() }
}

/// At most `limit` characters: the beginning and the end, with a mark between them.
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

const OMITTED: &str = "\n\n[... middle of conversation omitted ...]\n\n";

/// The beginning and the end of a history: half of its tokens, or two fifths of the window if that is less. A quarter
/// of that comes from the beginning, as in `LangChain`. `None` if no character would be left.
pub fn remove_middle(history: &str, counter: Counter, window: Option<u64>) -> Option<String> {
    let chars: Vec<usize> = history.char_indices().map(|(at, _)| at).collect();
    let tokens = counter.count_text_message(history);
    let half = tokens / 2;
    let budget = window.map_or(half, |window| half.min(window.saturating_mul(2) / 5));
    let keep = (chars.len() as u128 * u128::from(budget) / u128::from(tokens.max(1))) as usize;
    if keep == 0 {
        return None;
    }
    let (head, tail) = (keep / 4, keep - keep / 4);
    let (head, tail) = (cut_before(history, chars[head]), cut_behind(history, chars[chars.len() - tail]));
    Some([&history[..head], OMITTED, &history[tail..]].concat())
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

    #[test]
    fn the_middle_goes() {
        let history = "0123456789".repeat(10);
        let cut = remove_middle(&history, Counter::APPROX, None).expect("half of it");
        assert_eq!(cut, format!("{}{OMITTED}{}", &history[..12], &history[100 - 36..]));
        let small = remove_middle(&history, Counter::APPROX, Some(10)).expect("two fifths of ten tokens");
        assert_eq!(small.len() - OMITTED.len(), 100 * 4 / 29);
        assert_eq!(remove_middle(&history, Counter::APPROX, Some(1)), None);
        assert_eq!(remove_middle("", Counter::APPROX, None), None);
    }
}
