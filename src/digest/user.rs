//! The messages of the user, and which of their pieces are told where not all have room.
//!
//! The order does not depend on the room, so that more room never loses what less room held. Short messages come whole
//! and first; of long ones their opening, what commands or forbids, and their end come before the rest.

use std::collections::{BTreeMap, HashSet, hash_map::DefaultHasher};
use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::LazyLock;

use crate::digest::clip::{self, Piece, PieceKind, clipped, indented};
use crate::digest::grammar::{ASKED, Lines, Place, unlabelled};
use crate::tokens::Counter;
use crate::transcript::lazy_text::LazyText;
use crate::transcript::speaker::words_of_person;

/// A message of the user.
#[derive(Debug)]
pub(super) struct UserMessage<'a> {
    pub(super) place: Place,
    text: LazyText<'a>,
    /// What a short answer answers: the end of the assistant's message.
    asked: Option<(Place, Box<str>)>,
    /// The bytes of the words.
    pub(super) bytes: usize,
}

/// Most bytes of a message that is one piece.
const SHORT: usize = 280;

/// Words that command or forbid, strictly or not.
const STRICT: &str =
    "never|must|only|do not|don't|don’t|exact|require|critical|important|不要|必须|只能|务必|禁止|不得|一律|别";
const MILD: &str = "always|not more|at most|at least|make sure|ensure|should|avoid|keep|instead|prefer|without|from now on|stop |只用|至少|最多";

/// Returns whether a text commands or forbids strictly, or does so at all.
fn commands(text: &str) -> (bool, bool) {
    /// The words by their first character, with whether they are strict; those of other scripts last.
    static WORDS: LazyLock<Vec<Vec<(&str, bool)>>> = LazyLock::new(|| {
        let mut words = vec![Vec::new(); OTHERS + 1];
        for (list, is_strict) in [(STRICT, true), (MILD, false)] {
            list.split('|').for_each(|word| words[OTHERS.min(word.as_bytes()[0].into())].push((word, is_strict)));
        }
        words
    });
    const OTHERS: usize = 128;
    let lower = text.to_lowercase();
    let mut found = (false, false);
    let mut before = ' ';
    for (at, c) in lower.char_indices() {
        if !before.is_alphanumeric() || !c.is_ascii() {
            let words = &WORDS[OTHERS.min(c as usize)];
            for (_, is_strict) in words.iter().filter(|(word, _)| lower[at..].starts_with(word)) {
                found = (found.0 || *is_strict, true);
            }
        }
        before = c;
    }
    found
}

impl<'a> UserMessage<'a> {
    /// Creates one; `words` are those of the text that a person wrote.
    pub(super) fn new(place: Place, text: LazyText<'a>, words: &str, asked: Option<(Place, Box<str>)>) -> Self {
        UserMessage { place, text, asked, bytes: words.trim().len() }
    }

    /// Returns the words of the user.
    pub(super) fn words(&self) -> String {
        words_of_person(&self.text.read()).trim().to_owned()
    }

    /// Whether it is short, and commands or forbids.
    pub(super) fn is_short_command(&self) -> bool {
        self.bytes <= SHORT && commands(&self.words()).1
    }

    /// Returns what a short answer answers, by the message before it: its end, from the paragraph or list that its question
    /// belongs to.
    pub(super) fn asked(answer: &str, place: Place, before: &LazyText<'_>) -> Option<(Place, Box<str>)> {
        const SHORT_ANSWER: usize = 48;
        const SHORT_QUESTION: usize = 90;
        const LONGEST: usize = 320;
        const MARKS: [char; 2] = ['?', '？'];
        if answer.trim().len() > SHORT_ANSWER {
            return None;
        }
        let before = before.read();
        let paragraphs: Vec<&str> = before.split("\n\n").filter(|paragraph| !paragraph.trim().is_empty()).collect();
        let with_question = paragraphs.iter().rposition(|paragraph| paragraph.contains(MARKS))?;
        // A question that stands alone follows what it asks about.
        let is_alone = paragraphs[with_question].len() < SHORT_QUESTION && with_question > 0;
        let shown = paragraphs[with_question - usize::from(is_alone)..].join("\n");
        Some((place, clipped(&shown, LONGEST).into()))
    }
}

/// Whether a short message commands, forbids, or holds a number, a name or a label.
fn is_weighty(words: &str) -> bool {
    let has_label = words.contains(['`', '"', '_', '/', '“']) || words.bytes().any(|byte| byte.is_ascii_digit());
    // A name is a word with a capital letter inside of a sentence.
    let mut opens = true;
    let mut is_name = |word: &str| {
        let is_name = !opens && word.len() > 1 && word.starts_with(char::is_uppercase) && !word.starts_with("I'");
        opens = word.ends_with(['.', '!', '?', ':']);
        is_name
    };
    has_label || words.split_whitespace().any(&mut is_name) || commands(words).1
}

fn hash_of(words: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    words.hash(&mut hasher);
    hasher.finish()
}

/// A piece of a message of the user, or the question that it answers.
pub(super) struct UserPiece {
    rank: Rank,
    /// The place of the message in the list.
    at: usize,
    /// Its place in its message.
    order: usize,
    /// The bytes of its words; none for the question.
    range: Option<Range<usize>>,
}

/// The rank of a piece: what has a smaller one comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// Of the last message or the first.
    Frame,
    /// A short message that commands, forbids, or holds a number, a name or a label.
    Weighty,
    /// The opening or the end of a long message.
    Opening,
    Short,
    Question,
    /// A sentence that commands or forbids, strictly or not.
    Strict,
    Mild,
    /// What else long messages have, and messages that equal a newer one. It gets less of the room.
    Rest,
}

/// Returns the user's messages, and the number of messages that are neither shown nor equal to one that is. `most` gives
/// the most tokens for a share of the room.
pub(super) fn lines(
    user: &[UserMessage<'_>],
    ranked: &[UserPiece],
    counter: Counter,
    most: impl Fn(f64) -> u64,
) -> (Lines, usize) {
    let mut used = 0;
    let mut chosen: BTreeMap<usize, Vec<Range<usize>>> = BTreeMap::new();
    let mut questions: HashSet<usize> = HashSet::new();
    let mut words: BTreeMap<usize, String> = BTreeMap::new();
    for UserPiece { rank, at, range, .. } in ranked {
        let (rank, at, range) = (*rank, *at, range.clone());
        let words = words.entry(at).or_insert_with(|| user[at].words());
        let text = match (&range, &user[at].asked) {
            (Some(range), _) if chosen.contains_key(&at) => format!(" … {}", indented(&words[range.clone()])),
            (Some(range), _) => format!("- {} … {} …\n", user[at].place, indented(&words[range.clone()])),
            (None, Some((place, text))) => format!("- {place} {ASKED}{}\n", indented(text)),
            (None, None) => continue,
        };
        used += counter.count_text(&text);
        if used > most(rank.share()) {
            break;
        }
        match range {
            Some(range) => chosen.entry(at).or_default().push(range),
            None => drop(questions.insert(at)),
        }
    }
    let shown: HashSet<&String> =
        words.iter().filter(|(at, _)| chosen.contains_key(at)).map(|(_, words)| words).collect();
    let sizes: HashSet<usize> = shown.iter().map(|words| words.len()).collect();
    let is_equal = |message: &UserMessage<'_>| sizes.contains(&message.bytes) && shown.contains(&message.words());
    let left_out = (0..user.len()).filter(|at| !chosen.contains_key(at) && !is_equal(&user[*at])).count();
    let mut lines = Lines::new();
    for (at, ranges) in chosen {
        if let Some((place, text)) = user[at].asked.as_ref().filter(|_| questions.contains(&at)) {
            lines.push((*place, format!("{ASKED}{}", indented(text))));
        }
        lines.push((user[at].place, unlabelled(&indented(&clip::shown(&words[&at], ranges)))));
    }
    (lines, left_out)
}

impl Rank {
    /// Returns the share of the room that the pieces up to this rank have.
    fn share(self) -> f64 {
        match self {
            Rank::Frame | Rank::Weighty | Rank::Opening | Rank::Short | Rank::Question => 0.6,
            Rank::Strict => 0.5,
            Rank::Mild => 0.4,
            Rank::Rest => 0.3,
        }
    }
}

/// Returns the most important piece of all messages, with a mark where it is not the whole message.
pub(super) fn first_piece(user: &[UserMessage<'_>], ranked: &[UserPiece]) -> Option<(Place, String)> {
    let (at, range) = ranked.iter().find_map(|piece| Some((piece.at, piece.range.clone()?)))?;
    let words = user[at].words();
    Some((user[at].place, clip::shown(&words, vec![range])))
}

/// Returns pieces of the messages, the most important first: at least those that `limit` tokens have room for.
pub(super) fn pieces_by_rank(user: &[UserMessage<'_>], limit: u64) -> Vec<UserPiece> {
    /// A token has at most so many bytes, and a message at least so many tokens.
    const MOST_BYTES: u64 = 16;
    const LEAST_TOKENS: u64 = 3;
    let mut found: Vec<UserPiece> = Vec::new();
    let mut known: HashSet<u64> = HashSet::new();
    let last = user.len().saturating_sub(1);
    // Messages that are older than enough weighty or short ones would never be reached. The first always is.
    let (mut weighty, mut short, mut opening) = (0, 0, 0);
    for (at, message) in user.iter().enumerate().rev() {
        let is_frame = at == last || at == 0;
        let is_long = message.bytes > SHORT;
        if (weighty > limit || is_long && opening > limit) && !is_frame {
            continue;
        }
        let mut add = |rank, order, range| found.push(UserPiece { rank, at, order, range });
        if message.asked.is_some() {
            add(if at == last { Rank::Frame } else { Rank::Question }, usize::MAX, None);
        }
        let words = message.words();
        let is_known = !known.insert(hash_of(&words));
        if words.len() <= SHORT {
            let rank = match is_weighty(&words) {
                _ if is_frame => Rank::Frame,
                _ if is_known => Rank::Rest,
                true => Rank::Weighty,
                false => Rank::Short,
            };
            let tokens = words.len() as u64 / MOST_BYTES + LEAST_TOKENS;
            weighty += if rank == Rank::Weighty { tokens } else { 0 };
            short += if rank == Rank::Short { tokens } else { 0 };
            if rank != Rank::Short || short <= limit {
                add(rank, 0, Some(0..words.len()));
            }
        } else {
            let pieces = clip::pieces(&words);
            // The items of a list are of the rank of the line that announces them.
            let mut announced = None;
            for (order, piece) in pieces.iter().enumerate() {
                let own = rank_in_message(&words, &pieces, order, is_frame);
                let rank =
                    if piece.kind == PieceKind::Item { announced.map_or(own, |rank| own.min(rank)) } else { own };
                if piece.kind != PieceKind::Item {
                    announced = Some(rank).filter(|_| words[piece.range.clone()].ends_with([':', '：']));
                }
                let rank = match rank {
                    _ if is_known => Rank::Rest,
                    Rank::Opening if is_frame => Rank::Frame,
                    rank => rank,
                };
                if rank == Rank::Opening {
                    opening += piece.range.len() as u64 / MOST_BYTES + LEAST_TOKENS;
                }
                add(rank, order, Some(piece.range.clone()));
            }
        }
    }
    // Of like ones the newer come first.
    found.sort_by_key(|piece| (piece.rank, last - piece.at, piece.order));
    found
}

/// Returns the rank of a piece of a long message.
fn rank_in_message(words: &str, pieces: &[Piece], at: usize, is_frame: bool) -> Rank {
    /// Bytes of an opening: that of the first message and of the last tells what the work is about.
    const OPENING: usize = 240;
    const OPENING_OF_FRAME: usize = 640;
    let opening = if is_frame { OPENING_OF_FRAME } else { OPENING };
    let shown = |at: usize| &words[pieces[at].range.clone()];
    let is_code = pieces[at].kind == PieceKind::Code;
    // A short block behind a line that commands is an exact command; other code is not read for words.
    let is_command = || at > 0 && shown(at).starts_with("```") && shown(at).len() < SHORT && commands(shown(at - 1)).1;
    match if is_code { (is_command(), false) } else { commands(shown(at)) } {
        _ if at == 0 || at + 1 == pieces.len() || pieces[at].range.end <= opening => Rank::Opening,
        (true, _) => Rank::Strict,
        (_, true) => Rank::Mild,
        _ if !is_code && shown(at).ends_with(['?', '？']) => Rank::Mild,
        _ => Rank::Rest,
    }
}
