//! The sizes of a conversation's messages. Each is counted at most once, and only when needed.

use std::cell::{Cell, OnceCell};

use crate::transcript::pieces::Piece;
use crate::transcript::text::Text;
use crate::transcript::thoughts::sealed;
use crate::transcript::{Message, Transcript};

use crate::counter::{Counter, MessageCounter};

/// The tokens of a conversation's messages. "At least so many?" can be cheaper to answer than "how many?".
pub struct Tally<'m, 'a> {
    counter: MessageCounter,
    messages: &'m [Message<'a>],
    /// The count of each message, or [`UNKNOWN`].
    known: Vec<Cell<u32>>,
    /// The first message behind the last one of the user.
    last_turn: OnceCell<usize>,
    /// The conversation whose requests send more than these messages, where that counts.
    conversation: Option<&'m Transcript<'a>>,
    overhead: OnceCell<u64>,
}

/// Stands for a count that is not known. So many tokens or more are counted each time.
const UNKNOWN: u32 = u32::MAX;

impl<'m, 'a> Tally<'m, 'a> {
    /// Nothing is counted yet.
    pub fn new(counter: impl Into<MessageCounter>, messages: &'m [Message<'a>]) -> Self {
        let counter = counter.into();
        Tally {
            counter,
            messages,
            known: vec![Cell::new(UNKNOWN); messages.len()],
            last_turn: OnceCell::new(),
            conversation: None,
            overhead: OnceCell::new(),
        }
    }

    /// A tally of a conversation's messages and of what its requests send beside them: `overhead`, or else what its
    /// source has.
    pub fn of(counter: impl Into<MessageCounter>, transcript: &'m Transcript<'a>, overhead: Option<u64>) -> Self {
        let known = match overhead {
            Some(tokens) => OnceCell::from(tokens),
            None => OnceCell::new(),
        };
        Tally { conversation: Some(transcript), overhead: known, ..Tally::new(counter, &transcript.messages) }
    }

    /// The tokens that every request sends beside the messages.
    pub fn overhead(&self) -> u64 {
        *self.overhead.get_or_init(|| match self.conversation {
            Some(transcript) => self.counter.beside(transcript),
            None => 0,
        })
    }

    /// The counter of texts.
    pub fn counter(&self) -> Counter {
        self.counter.counter
    }

    pub fn message_counter(&self) -> MessageCounter {
        self.counter
    }

    /// The tokens of a message.
    pub fn message(&self, index: usize) -> u64 {
        let known = self.known[index].get();
        if known != UNKNOWN {
            return known.into();
        }
        let tokens = self.edited(index, &self.messages[index]);
        self.known[index].set(u32::try_from(tokens).unwrap_or(UNKNOWN));
        tokens
    }

    /// The tokens of the message at `index` as edits leave it.
    pub fn edited(&self, index: usize, edited: &Message<'_>) -> u64 {
        self.counter.count(edited) + self.sealed_thinking(index, edited)
    }

    /// What a message's thinking counts beyond its text: of the text and what only the provider can read, the larger
    /// counts. Providers read the latter again until the user's next message. Counters that imitate another program
    /// leave it out.
    pub fn sealed_thinking(&self, index: usize, message: &Message<'_>) -> u64 {
        let imitates = matches!(self.counter(), Counter::ApproxContent(_) | Counter::ApproxRepr(_) | Counter::Bytes(_));
        if imitates || index < self.last_turn() {
            return 0;
        }
        let sealed: u64 = sealed(message).into_iter().map(sealed_tokens).sum();
        if sealed == 0 {
            return 0;
        }
        let mut text = 0.0;
        message.pieces(&mut |_, piece| {
            if matches!(piece, Piece::Reasoning(_)) {
                text += self.counter.size(&piece);
            }
        });
        sealed.saturating_sub(text as u64)
    }

    /// The first message behind the last one of the user.
    fn last_turn(&self) -> usize {
        *self.last_turn.get_or_init(|| match self.messages.iter().rposition(Message::is_user_turn) {
            Some(last) => last + 1,
            None => 0,
        })
    }

    /// The tokens of some messages together.
    pub fn sum(&self, indices: &[usize]) -> u64 {
        indices.iter().map(|&index| self.message(index)).sum()
    }

    /// Whether some messages together have at least `limit` tokens. It counts from the last message, as the cutoff
    /// needs those counts again, and stops as soon as the answer is certain. Nothing is counted where the lengths of the
    /// messages or their words tell the answer.
    pub fn reaches(&self, indices: &[usize], limit: u64) -> bool {
        let most = sum_reaches(indices, limit, |index| self.counter.most(&self.messages[index]));
        if most == Some(false) {
            return false;
        }
        let least = sum_reaches(indices, limit, |index| self.counter.least(&self.messages[index]));
        least == Some(true) || sum_reaches(indices, limit, |index| Some(self.message(index))) == Some(true)
    }

    /// The first index from which on the messages have at most `limit` tokens together; the number of messages where
    /// even the last one has more.
    pub fn suffix_within(&self, limit: u64) -> usize {
        let mut sum = 0;
        for index in (0..self.messages.len()).rev() {
            sum += self.message(index);
            if sum > limit {
                return index + 1;
            }
        }
        0
    }

    /// The number of messages counted so far.
    #[cfg(test)]
    fn counted(&self) -> usize {
        self.known.iter().filter(|known| known.get() != UNKNOWN).count()
    }
}

/// Whether some messages together have at least `limit` tokens by the size of each, from the last one on; nothing where
/// a size is not known.
fn sum_reaches(indices: &[usize], limit: u64, size: impl Fn(usize) -> Option<u64>) -> Option<bool> {
    let mut sum: u64 = 0;
    for &index in indices.iter().rev() {
        if sum >= limit {
            break;
        }
        sum = sum.saturating_add(size(index)?);
    }
    Some(sum >= limit)
}

/// The tokens of thinking that only the provider can read, estimated from its length. The factors are those of five
/// sessions with gpt-5-codex, compared with the tokens of reasoning that each response reported.
fn sealed_tokens(sealed: Text<'_>) -> u64 {
    const CHARS_PER_SIGNED_TOKEN: usize = 4;
    // Claude signs its thinking. What it signs is encoded from the same bytes on.
    if sealed.starts_with("E") {
        return (sealed.raw().len() / CHARS_PER_SIGNED_TOKEN) as u64;
    }
    const FRAME_CHARS: usize = 1_000;
    const CHARS_PER_TEN_TOKENS: usize = 63;
    (sealed.raw().len().saturating_sub(FRAME_CHARS) * 10 / CHARS_PER_TEN_TOKENS) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bpe::Encoding;
    use crate::transcript::framing::read_for_test as read;

    fn with_exact_tally(source: &str, test: impl Fn(&Tally<'_, '_>)) {
        let document = read(source, None, None).expect("a transcript");
        test(&Tally::new(Counter::Exact(Encoding::O200kBase), &document.transcripts[0].messages));
    }

    const THREE: &str = r#"[{"role":"user","content":"one two three"},{"role":"assistant","content":"four five"},
        {"role":"user","content":"six"}]"#;

    /// A provider reads its own thinking again until the user goes on.
    #[test]
    fn thinking_that_only_the_provider_reads_counts_behind_the_last_message_of_the_user() {
        let user = r#"{"type":"message","role":"user","content":"Go on."}"#;
        let thinking = format!(r#"{{"type":"reasoning","summary":[],"encrypted_content":"{}"}}"#, "x".repeat(7_300));
        let call = r#"{"type":"function_call","call_id":"c","name":"ls","arguments":"{}"}"#;
        let source = format!("[{user},{thinking},{call},{user},{thinking},{call}]");
        let document = read(&source, None, None).expect("items");
        let messages = &document.transcripts[0].messages;
        for counter in [Counter::APPROX, Counter::Exact(Encoding::O200kBase)] {
            let tally = Tally::new(counter, messages);
            let frame = counter.count(&messages[1]);
            assert!(tally.reaches(&[4], 1_000) && !tally.reaches(&[1], 1_000), "{counter}");
            assert_eq!((tally.message(1), tally.message(4)), (frame, frame + 1_000), "{counter}");
        }
        assert_eq!(Tally::new(Counter::Bytes(1), messages).message(4), 0, "only text of the content counts");
    }

    #[test]
    fn counting_stops_when_it_is_certain() {
        with_exact_tally(THREE, |tally| {
            let all = tally.sum(&[0, 1, 2]);
            assert_eq!(all, 7 + 6 + 5);
        });
        // A word of 13 tokens is one piece.
        let word = "qzxjkvwpfmqzxjkvwpfmqzxjkv";
        let source = THREE.replace("four", word);
        with_exact_tally(&source, |tally| {
            assert!(tally.reaches(&[0, 1, 2], 9) && tally.reaches(&[0, 1, 2], 15), "there are so many words");
            assert!(!tally.reaches(&[0, 1, 2], 1_000), "the messages have fewer bytes");
            assert_eq!(tally.counted(), 0);
            let tokens = Counter::Exact(Encoding::O200kBase).count_text(word);
            assert!(tally.reaches(&[0, 1, 2], 10 + tokens) && tally.counted() == 2, "the first is not needed");
            assert!(!tally.reaches(&[0, 1, 2], 7 + 6 + 5 + tokens));
        });
    }

    #[test]
    fn only_the_suffix_that_is_asked_for_is_counted() {
        with_exact_tally(THREE, |tally| {
            assert_eq!(tally.suffix_within(5), 2);
            assert_eq!(tally.counted(), 2);
            assert_eq!(tally.suffix_within(4), 3);
            assert_eq!(tally.suffix_within(11), 1);
            assert_eq!(tally.suffix_within(100), 0);
        });
    }

    /// For every limit that matters, with messages of several kinds.
    #[test]
    fn a_suffix_is_what_adding_up_from_the_end_gives() {
        let call = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"a\": 1e5}"}}]}"#;
        let result = r#"{"role":"tool","tool_call_id":"c","content":"a result of some words, and one more"}"#;
        let parts = r#"{"role":"user","content":[{"type":"text","text":"it's \n"},"9",{"type":"image_url","image_url":{"url":"u"}}]}"#;
        let source = format!("{},{call},{result},{parts},{call},{result}]", THREE.trim_end_matches(']'));
        let document = read(&source, None, None).expect("a transcript");
        let messages = &document.transcripts[0].messages;
        for counter in
            [Counter::APPROX, Counter::ApproxRepr(3.3), Counter::Bytes(3), Counter::Exact(Encoding::O200kBase)]
        {
            let counts: Vec<u64> = messages.iter().map(|message| counter.count(message)).collect();
            for limit in (0..=counts.iter().sum::<u64>() + 1).chain([u64::MAX]) {
                let fits = |start: &usize| counts[*start..].iter().sum::<u64>() <= limit;
                let first = (0..=counts.len()).find(fits).expect("nothing fits");
                assert_eq!(Tally::new(counter, messages).suffix_within(limit), first, "{counter} {limit}");
            }
        }
    }
}
