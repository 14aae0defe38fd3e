//! The messages of the user, and which of their pieces are told where not all have room.
//!
//! The order does not depend on the room, so that more room never loses what less room held. Short messages come whole
//! and first; of long ones their opening, what commands or forbids, and their end come before the rest.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use crate::digest::clip::{self, ClipPiece, PieceKind, clipped, indented};
use crate::digest::grammar::{ASKED, Lines, Place, unlabelled};
use crate::digest::words::{has_label, has_word};
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

fn commands(text: &str) -> bool {
    has_word(text, STRICT) || has_word(text, MILD)
}

impl<'a> UserMessage<'a> {
    /// Creates one; `words` are those of the text that a person wrote.
    pub(super) fn new(place: Place, text: LazyText<'a>, words: &str, asked: Option<(Place, Box<str>)>) -> Self {
        UserMessage { place, text, asked, bytes: words.trim().len() }
    }

    /// Returns what messages share that say the same, in answer to the same.
    pub(super) fn key(&self) -> (String, Option<Box<str>>) {
        (self.words(), self.asked.as_ref().map(|(_, question)| question.clone()))
    }

    /// Returns the words of the user.
    pub(super) fn words(&self) -> String {
        words_of_person(&self.text.read()).trim().to_owned()
    }

    /// Whether it is short, and commands or forbids.
    pub(super) fn is_short_command(&self) -> bool {
        self.bytes <= SHORT && commands(&self.words())
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

/// A piece of a message of the user, or the question that it answers.
pub(super) struct UserPiece {
    rank: UserRank,
    /// The place of the message in the list.
    at: usize,
    /// The bytes of its words; none for the question.
    range: Option<Range<usize>>,
}

/// The rank of a piece: what has a smaller one comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum UserRank {
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
    /// What else long messages have. It gets less of the room.
    Rest,
}

impl UserRank {
    /// Returns the share of the room that the pieces up to this rank have.
    fn share(self) -> f64 {
        match self {
            UserRank::Frame | UserRank::Weighty | UserRank::Opening | UserRank::Short | UserRank::Question => 0.6,
            UserRank::Strict => 0.5,
            UserRank::Mild => 0.4,
            UserRank::Rest => 0.3,
        }
    }
}

/// Returns the user's messages, as far as they have room. `most` gives the most tokens for a share of the room.
pub(super) fn lines(
    user: &[UserMessage<'_>],
    ranked: &[UserPiece],
    counter: Counter,
    most: impl Fn(f64) -> u64,
) -> Lines {
    let mut used = 0;
    let mut words: BTreeMap<usize, String> = BTreeMap::new();
    let mut chosen: BTreeMap<usize, Vec<Range<usize>>> = BTreeMap::new();
    let mut questions: HashSet<usize> = HashSet::new();
    for UserPiece { rank, at, range } in ranked {
        let message = &user[*at];
        let words = words.entry(*at).or_insert_with(|| message.words());
        let shown = range.as_ref().map(|range| indented(&words[range.clone()]));
        let text = match (&shown, &message.asked) {
            (Some(shown), _) if chosen.contains_key(at) => format!(" … {shown}"),
            (Some(shown), _) if shown.len() == message.bytes => format!("- {} {shown}\n", message.place),
            (Some(shown), _) => format!("- {} … {shown} …\n", message.place),
            (None, Some((place, question))) => format!("- {place} {ASKED}{}\n", indented(question)),
            (None, None) => continue,
        };
        used += counter.count_text(&text);
        if used > most(rank.share()) {
            break;
        }
        match range {
            Some(range) => chosen.entry(*at).or_default().push(range.clone()),
            None => drop(questions.insert(*at)),
        }
    }
    let mut lines = Lines::new();
    for (at, ranges) in chosen {
        if let Some((place, text)) = user[at].asked.as_ref().filter(|_| questions.contains(&at)) {
            lines.push((*place, format!("{ASKED}{}", indented(text))));
        }
        lines.push((user[at].place, unlabelled(&indented(&clip::shown(&words[&at], ranges)))));
    }
    lines
}

/// Returns the most important piece of all messages, with a mark where it is not the whole message.
pub(super) fn first_piece(user: &[UserMessage<'_>], ranked: &[UserPiece]) -> Option<(Place, String)> {
    let (at, range) = ranked.iter().find_map(|piece| Some((piece.at, piece.range.clone()?)))?;
    Some((user[at].place, clip::shown(&user[at].words(), vec![range])))
}

/// Returns the pieces of the messages, the most important first: at least those that `limit` tokens have room for.
pub(super) fn pieces_by_rank(user: &[UserMessage<'_>], limit: u64) -> Vec<UserPiece> {
    /// A token has at most so many bytes, and a message at least so many tokens.
    const MOST_BYTES: u64 = 16;
    const LEAST_TOKENS: u64 = 3;
    let last = user.len().saturating_sub(1);
    let mut found: Vec<UserPiece> = Vec::new();
    // The tokens of newer pieces of the ranks that a short and a long message can have at best.
    let (mut weighty, mut opening) = (0, 0);
    for (at, message) in user.iter().enumerate().rev() {
        let is_frame = at == last || at == 0;
        let is_short = message.bytes <= SHORT;
        // Where newer pieces fill the room, older ones need not be read.
        if !is_frame && (weighty > limit || !is_short && opening > limit) {
            continue;
        }
        if message.asked.is_some() {
            let rank = if at == last { UserRank::Frame } else { UserRank::Question };
            found.push(UserPiece { rank, at, range: None });
        }
        let words = message.words();
        if is_short {
            let rank = if is_frame {
                UserRank::Frame
            } else if has_label(&words) || has_name(&words) || commands(&words) {
                UserRank::Weighty
            } else {
                UserRank::Short
            };
            if rank == UserRank::Weighty {
                weighty += words.len() as u64 / MOST_BYTES + LEAST_TOKENS;
            }
            found.push(UserPiece { rank, at, range: Some(0..words.len()) });
            continue;
        }
        let pieces = clip::pieces(&words);
        let mut announced = UserRank::Rest;
        for (order, ClipPiece { range, kind }) in pieces.iter().enumerate() {
            let mut rank = rank_in_message(&words, &pieces, order, is_frame);
            if *kind == PieceKind::Item {
                // The items of a list are of the rank of the line that announces them.
                rank = rank.min(announced);
            } else {
                announced = if words[range.clone()].ends_with([':', '：']) { rank } else { UserRank::Rest };
            }
            if rank == UserRank::Opening {
                opening += range.len() as u64 / MOST_BYTES + LEAST_TOKENS;
            }
            found.push(UserPiece { rank, at, range: Some(range.clone()) });
        }
    }
    // Of like ones the newer come first.
    found.sort_by_key(|piece| {
        (piece.rank, last - piece.at, piece.range.is_none(), piece.range.as_ref().map(|range| range.start))
    });
    found
}

/// Whether a word behind the first begins with a capital letter.
fn has_name(words: &str) -> bool {
    words.split_whitespace().skip(1).any(|word| word.len() > 1 && word.starts_with(char::is_uppercase))
}

/// Returns the rank of a piece of a long message.
fn rank_in_message(words: &str, pieces: &[ClipPiece], at: usize, is_frame: bool) -> UserRank {
    /// Bytes of an opening: that of the first message and of the last tells what the work is about.
    const OPENING: usize = 240;
    const OPENING_OF_FRAME: usize = 640;
    let (opening, rank) = if is_frame { (OPENING_OF_FRAME, UserRank::Frame) } else { (OPENING, UserRank::Opening) };
    let shown = |at: usize| &words[pieces[at].range.clone()];
    // A short block behind a line that commands is an exact command; other code is not read for words.
    let is_block = || at > 0 && shown(at).starts_with("```") && shown(at).len() < SHORT;
    match pieces[at].kind {
        _ if at == 0 || at + 1 == pieces.len() || pieces[at].range.end <= opening => rank,
        PieceKind::Code if is_block() && commands(shown(at - 1)) => UserRank::Strict,
        PieceKind::Code => UserRank::Rest,
        _ if has_word(shown(at), STRICT) => UserRank::Strict,
        _ if has_word(shown(at), MILD) || shown(at).ends_with(['?', '？']) => UserRank::Mild,
        _ => UserRank::Rest,
    }
}
