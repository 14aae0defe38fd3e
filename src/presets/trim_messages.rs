//! Cuts a history to its end as `LangChain`'s `trim_messages` does for its summarizer.
//!
//! It keeps whole messages from the end while they fit. Of the next message it keeps as many of its last parts, or else
//! of its last lines, as fit. Then it drops everything before the first message of a person. A leading system message
//! stays at any cost.

use std::cell::OnceCell;

use crate::tokens::MessageCounter;
use crate::tokens::scaling::ScaledTotal;
use crate::transcript::text::Text;
use crate::transcript::{Content, Message, PartKind, Role};

/// How messages are counted during trimming.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counting {
    /// Counts the tokens of one message.
    pub(crate) counter: MessageCounter,
    /// Whether the total of several messages is scaled by the tokens that providers reported.
    pub(crate) scales: bool,
}

/// The rest of the oldest message, if it does not fit whole.
#[derive(Debug, Default)]
pub(crate) struct PartialMessage<'a> {
    /// Its last lines, if it is cut by lines.
    lines: OnceCell<String>,
    message: OnceCell<Message<'a>>,
}

/// A message with its tokens.
type Counted<'m, 'a> = (u64, &'m Message<'a>);

impl Counting {
    /// Returns the total of some messages, to which others may be added.
    fn sum<'a>(messages: &[Counted<'_, 'a>]) -> ScaledTotal<'a> {
        let mut total = ScaledTotal::default();
        messages.iter().for_each(|(tokens, message)| total.add(*tokens, message));
        total
    }

    fn tokens(self, total: &ScaledTotal<'_>) -> u64 {
        if self.scales { total.total() } else { total.estimate() }
    }
}

/// Returns the last messages with at most `limit` tokens together; none if no such end begins with a person. The oldest
/// may be `partial`.
pub(crate) fn trim_messages<'a>(
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

/// Returns the largest number up to `all` that holds, by binary search. With scaling a larger number may hold although
/// a smaller one does not, so the sequence of tries matters.
pub(super) fn binary_search_max(all: usize, holds: impl Fn(usize) -> bool) -> usize {
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

/// Returns the part of a message that fits beside the kept ones: its last parts, or the last lines of its last text.
fn fitting_part<'a>(
    message: &Message<'a>,
    kept: &[Counted<'_, 'a>],
    limit: u64,
    counting: Counting,
    lines: &'a OnceCell<String>,
) -> Option<Message<'a>> {
    let before = Counting::sum(kept);
    if let Content::Parts(parts) = &message.content {
        let from = |first: usize| with_content(message, Content::Parts(parts[first..].into()));
        let fits = |first: usize| {
            let mut total = before.clone();
            let partial = from(first);
            total.add(counting.counter.count(&partial), &partial);
            counting.tokens(&total) <= limit
        };
        // Fewer parts never have a larger total, scaled or not.
        let left_out = binary_search_max(parts.len(), |count| count == 0 || !fits(count)) + 1;
        if left_out < parts.len() {
            return Some(from(left_out));
        }
    }
    let text = match &message.content {
        Content::Text(text) => *text,
        Content::Parts(parts) => match &parts.last()?.kind {
            PartKind::Text(text) => *text,
            _ => return None,
        },
    };
    let text = text.decode();
    if text.is_empty() {
        return None;
    }
    // The start of each line; the last line is empty if the text ends in a line end.
    let starts: Vec<usize> = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
    let before = counting.tokens(&before);
    let start_of = |count: usize| starts[starts.len() - count];
    let count = binary_search_max(starts.len(), |count| {
        let partial = with_content(message, Content::Text(Text::plain(&text[start_of(count)..])));
        before + counting.counter.count(&partial) <= limit
    });
    if count == 0 {
        return None;
    }
    let kept = lines.get_or_init(|| text[start_of(count)..].to_owned());
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
