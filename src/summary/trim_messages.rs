//! The end of a history as `LangChain`'s `trim_messages` cuts it for its summarizer.
//!
//! Whole messages from the end while they fit; of the next one as many of its last parts, or else of its last lines, as
//! fit; then nothing before the first message of a person. A leading system message stays in front whatever it costs.

use std::cell::OnceCell;

use crate::tokens::Counter;
use crate::tokens::scaling::ScaledTotal;
use crate::transcript::text::Text;
use crate::transcript::{Content, Message, PartKind, Role};

/// How messages are counted while they are trimmed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counting {
    /// The tokens of one message.
    pub(crate) counter: Counter,
    /// Whether the total of several is scaled by what providers reported.
    pub(crate) scales: bool,
}

/// What is left of the oldest message, where it does not fit as a whole.
#[derive(Debug, Default)]
pub(crate) struct Shorter<'a> {
    /// Its last lines, if it is made of them.
    lines: OnceCell<String>,
    message: OnceCell<Message<'a>>,
}

/// A message with its tokens.
type Counted<'m, 'a> = (u64, &'m Message<'a>);

impl Counting {
    /// The total of some messages, to which others may be added.
    fn sum<'a>(messages: &[Counted<'_, 'a>]) -> ScaledTotal<'a> {
        let mut total = ScaledTotal::default();
        messages.iter().for_each(|(tokens, message)| total.add(*tokens, message));
        total
    }

    fn tokens(self, total: &ScaledTotal<'_>) -> u64 {
        if self.scales { total.total() } else { total.estimate() }
    }
}

/// The messages of the end that have at most `limit` tokens together; none where no such end begins with a person.
/// The oldest may be a `shorter` one.
pub(crate) fn trim_messages<'a>(
    all: &[Counted<'a, 'a>],
    limit: u64,
    counting: Counting,
    shorter: &'a Shorter<'a>,
) -> Vec<&'a Message<'a>> {
    let (system, rest) = match all {
        [first, rest @ ..] if first.1.role.is_system() => (Some(*first), rest),
        _ => (None, all),
    };
    let limit = limit.saturating_sub(system.map_or(0, |(tokens, _)| tokens));
    let newest_first: Vec<Counted<'a, 'a>> = rest.iter().rev().copied().collect();
    let fits = |count: usize| counting.tokens(&Counting::sum(&newest_first[..count])) <= limit;
    let whole = if fits(newest_first.len()) { newest_first.len() } else { most(newest_first.len(), fits) };
    let mut taken: Vec<&'a Message<'a>> = newest_first[..whole].iter().map(|(_, message)| *message).collect();
    if let Some((_, next)) = newest_first.get(whole) {
        let part = part_of(next, &newest_first[..whole], limit, counting, &shorter.lines);
        taken.extend(part.map(|part| shorter.message.get_or_init(|| part)));
    }
    while taken.last().is_some_and(|message| !begins_history(message)) {
        taken.pop();
    }
    taken.extend(system.map(|(_, message)| message));
    taken.reverse();
    taken
}

/// The largest number up to `all` that holds, as a binary search finds it: with scaling a larger one may hold where a
/// smaller one does not, and then it matters which are tried.
pub(super) fn most(all: usize, holds: impl Fn(usize) -> bool) -> usize {
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

/// What fits of a message beside the ones that are taken: its last parts, or the last lines of its last text.
fn part_of<'a>(
    message: &Message<'a>,
    taken: &[Counted<'_, 'a>],
    limit: u64,
    counting: Counting,
    lines: &'a OnceCell<String>,
) -> Option<Message<'a>> {
    let before = Counting::sum(taken);
    if let Content::Parts(parts) = &message.content {
        let from = |first: usize| with_content(message, Content::Parts(parts[first..].into()));
        let fits = |first: usize| {
            let mut total = before.clone();
            let shorter = from(first);
            total.add(counting.counter.count(&shorter), &shorter);
            counting.tokens(&total) <= limit
        };
        // Of fewer parts the total is never more, scaled or not.
        let left_out = most(parts.len(), |count| count == 0 || !fits(count)) + 1;
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
    // Where each line begins; the last is empty where the text ends in a line end.
    let starts: Vec<usize> = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
    let before = counting.tokens(&before);
    let start_of = |count: usize| starts[starts.len() - count];
    let count = most(starts.len(), |count| {
        let shorter = with_content(message, Content::Text(Text::plain(&text[start_of(count)..])));
        before + counting.counter.count(&shorter) <= limit
    });
    if count == 0 {
        return None;
    }
    let kept = lines.get_or_init(|| text[start_of(count)..].to_owned());
    Some(with_content(message, Content::Text(Text::plain(kept))))
}

/// Whether a history may begin with a message: a person's, and none of which `LangChain` has only a chunk.
fn begins_history(message: &Message<'_>) -> bool {
    let kind = message.json.get_text("type");
    message.role == Role::User && !kind.is_some_and(|kind| kind.is("HumanMessageChunk"))
}

fn with_content<'a>(message: &Message<'a>, content: Content<'a>) -> Message<'a> {
    Message { content, ..message.clone() }
}
