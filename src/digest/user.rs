//! The messages of the user, and which of their pieces come first where not all have room.
//!
//! The order does not depend on the room, so that more room never loses what less room held. Short messages come whole
//! and first; of long ones their opening, what commands or forbids, and their end come before the rest.

use std::collections::HashSet;
use std::ops::Range;

use crate::digest::clip::{self, Piece, PieceKind, clipped};
use crate::digest::files::Place;
use crate::digest::speaker::words_of_person;
use crate::digest::text::LazyText;

/// A message of the user.
#[derive(Debug)]
pub(super) struct UserMessage<'a> {
    pub(super) place: Place,
    text: LazyText<'a>,
    /// What a short answer answers: the end of the assistant's message.
    pub(super) asked: Option<(Place, Box<str>)>,
    /// The bytes of the words.
    bytes: usize,
}

/// Most bytes of a message that is one piece.
const SHORT: usize = 280;
/// Most bytes of an answer that needs the question beside it, and of that question.
const SHORT_ANSWER: usize = 90;
const LONGEST_QUESTION: usize = 320;

/// Words that command or forbid; the first ones leave no choice.
const COMMANDS: [&str; 35] = [
    "never",
    "must",
    "only",
    "do not",
    "don't",
    "don’t",
    "exact",
    "require",
    "critical",
    "important",
    "不要",
    "必须",
    "只能",
    "务必",
    "禁止",
    "不得",
    "一律",
    "别",
    "always",
    "not more",
    "at most",
    "at least",
    "make sure",
    "ensure",
    "should",
    "avoid",
    "keep",
    "instead",
    "prefer",
    "without",
    "from now on",
    "stop ",
    "只用",
    "至少",
    "最多",
];
const STRICT: usize = 18;

/// Returns the place of the first word that commands or forbids, among the words.
fn command_word(text: &str) -> Option<usize> {
    let lower = text.to_lowercase();
    let stands_alone = |word: &str, at: usize| !word.is_ascii() || !lower[..at].ends_with(char::is_alphanumeric);
    COMMANDS.iter().position(|word| lower.match_indices(word).any(|(at, _)| stands_alone(word, at)))
}

/// Whether a text commands or forbids.
pub(super) fn commands(text: &str) -> bool {
    command_word(text).is_some()
}

impl<'a> UserMessage<'a> {
    /// Creates one; `words` are those of the text that a person wrote.
    pub(super) fn new(place: Place, text: LazyText<'a>, words: &str, asked: Option<(Place, Box<str>)>) -> Self {
        UserMessage { place, text, asked, bytes: words.trim().len() }
    }

    /// Returns the bytes of its words.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the words of the user.
    pub(super) fn words(&self) -> String {
        words_of_person(&self.text.read()).trim().to_owned()
    }

    /// Whether it is short, and holds for more than the moment.
    pub(super) fn is_short_command(&self) -> bool {
        self.bytes <= SHORT && commands(&self.words())
    }

    /// Returns what a short answer answers, by the message before it: its end, from the paragraph or list that its question
    /// belongs to.
    pub(super) fn asked(answer: &str, place: Place, before: &str) -> Option<(Place, Box<str>)> {
        if answer.trim().len() > SHORT_ANSWER || !before.contains(['?', '？']) {
            return None;
        }
        let paragraphs: Vec<&str> =
            before.trim().split("\n\n").filter(|paragraph| !paragraph.trim().is_empty()).collect();
        let with_question = paragraphs.iter().rposition(|paragraph| paragraph.contains(['?', '？']))?;
        // A question that stands alone follows what it asks about.
        let is_alone = paragraphs[with_question].len() < SHORT_ANSWER && with_question > 0;
        let shown = paragraphs[with_question - usize::from(is_alone)..].join("\n");
        Some((place, clipped(&shown, LONGEST_QUESTION, |piece| piece.contains(['?', '？'])).into()))
    }
}

/// Whether a short message commands, forbids, or holds a number, a name or a label.
fn is_weighty(words: &str) -> bool {
    words.contains(['`', '"', '_', '/', '“'])
        || words.bytes().any(|byte| byte.is_ascii_digit())
        || has_name(words)
        || commands(words)
}

/// Whether a text has a word with a capital letter inside of a sentence.
fn has_name(text: &str) -> bool {
    let mut before_ends = true;
    text.split_whitespace().any(|word| {
        let is_name = !before_ends && word.starts_with(char::is_uppercase) && word.len() > 1 && !word.starts_with("I'");
        before_ends = word.ends_with(['.', '!', '?', ':']);
        is_name
    })
}

/// A piece of a message of the user, or the question that it answers.
#[derive(Debug, Clone)]
pub(super) struct UserPiece {
    /// The place of the message in the list.
    pub(super) at: usize,
    /// The bytes of its words; none for the question.
    pub(super) range: Option<Range<usize>>,
    /// Whether it is of the rest, which gets less of the room.
    pub(super) is_rest: bool,
}

/// Ranks of pieces: what has a smaller one comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// Of the last message and of the first.
    Frame,
    Weighty,
    Opening,
    Short,
    Question,
    Strict,
    Command,
    Rest,
    Repeated,
}

/// Returns pieces of the messages, the most important first: at least those that `limit` tokens have room for.
pub(super) fn pieces_by_rank(user: &[UserMessage<'_>], limit: u64) -> Vec<UserPiece> {
    /// A token has at most so many bytes, and a message at least so many tokens.
    const MOST_BYTES: u64 = 16;
    const LEAST_TOKENS: u64 = 3;
    let mut ranked: Vec<(Rank, usize, usize, UserPiece)> = Vec::new();
    let mut known: HashSet<String> = HashSet::new();
    let last = user.len().saturating_sub(1);
    // Messages that are older than enough weighty ones would never be reached. The first always is.
    let mut weighty = 0;
    for (at, message) in user.iter().enumerate().rev() {
        let is_frame = at == last || at == 0;
        if weighty > limit && !is_frame {
            continue;
        }
        // Of like ones the newer come first.
        let age = last - at;
        if message.asked.is_some() {
            let piece = UserPiece { at, range: None, is_rest: false };
            ranked.push((if at == last { Rank::Frame } else { Rank::Question }, age, usize::MAX, piece));
        }
        let words = message.words();
        if words.len() <= SHORT {
            let is_weighty = is_weighty(&words);
            let rank = if is_frame {
                Rank::Frame
            } else if known.contains(&words) {
                Rank::Repeated
            } else if is_weighty {
                weighty += words.len() as u64 / MOST_BYTES + LEAST_TOKENS;
                Rank::Weighty
            } else {
                Rank::Short
            };
            ranked.push((rank, age, 0, UserPiece { at, range: Some(0..words.len()), is_rest: rank == Rank::Repeated }));
            known.insert(words);
            continue;
        }
        let pieces = clip::pieces(&words);
        for (order, piece) in pieces.iter().enumerate() {
            let rank = match rank_of(&words, &pieces, order) {
                _ if known.contains(&words) => Rank::Repeated,
                Rank::Opening if is_frame => Rank::Frame,
                rank => rank,
            };
            let is_rest = matches!(rank, Rank::Rest | Rank::Repeated);
            ranked.push((rank, age, order, UserPiece { at, range: Some(piece.range.clone()), is_rest }));
        }
        known.insert(words);
    }
    ranked.sort_by_key(|(rank, age, order, _)| (*rank, *age, *order));
    ranked.into_iter().map(|(_, _, _, piece)| piece).collect()
}

/// Returns the rank of a piece of a long message.
fn rank_of(words: &str, pieces: &[Piece], at: usize) -> Rank {
    /// Bytes of an opening.
    const OPENING: usize = 240;
    let shown = |at: usize| &words[pieces[at].range.clone()];
    let is_code = pieces[at].kind == PieceKind::Code;
    if at == 0 || at + 1 == pieces.len() || pieces[at].range.end <= OPENING {
        return Rank::Opening;
    }
    if is_code {
        // A short block behind a line that commands is an exact command; other code is not read for words.
        let is_announced = at > 0 && shown(at).starts_with("```") && commands(shown(at - 1));
        return if is_announced && shown(at).len() < SHORT { Rank::Strict } else { Rank::Rest };
    }
    match command_word(shown(at)) {
        Some(word) if word < STRICT => Rank::Strict,
        Some(_) => Rank::Command,
        None if shown(at).ends_with(['?', '？']) => Rank::Command,
        None => Rank::Rest,
    }
}
