//! The messages of the user, and which of their pieces are told where not all have room.
//!
//! Pieces of a later rank go first, and of each rank the oldest. The order does not depend on the room, so that more room
//! never loses what less room held.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use crate::digest::clip::{self, clipped, indented};
use crate::digest::cues::has_cue;
use crate::digest::grammar::{ASKED, Lines, Place, alike_label, unlabelled};
use crate::digest::pieces::{PieceRank, begin, is_form, pieces_of};
use crate::tokens::Counter;
use crate::transcript::lazy_text::LazyText;
use crate::transcript::speaker::{is_interruption, words_of_person};

/// A message of the user.
#[derive(Debug)]
pub(super) struct UserMessage<'a> {
    pub(super) place: Place,
    text: LazyText<'a>,
    /// What a short answer answers: the end of the assistant's message.
    asked: Option<(Place, Box<str>)>,
    /// The bytes of the words.
    pub(super) bytes: usize,
    /// How many messages it stands for: an earlier digest told only the last of some that were equal but for digits.
    pub(super) alike: usize,
}

impl<'a> UserMessage<'a> {
    /// Creates one; `words` are those of the text that a person wrote.
    pub(super) fn new(place: Place, text: LazyText<'a>, words: &str, asked: Option<(Place, Box<str>)>) -> Self {
        UserMessage { place, text, asked, bytes: words.trim().len(), alike: 1 }
    }

    /// Returns it as one that stands for `alike` messages.
    pub(super) fn standing_for(self, alike: usize) -> Self {
        UserMessage { alike, ..self }
    }

    /// Returns what messages share that say the same, in answer to the same.
    pub(super) fn key(&self) -> (String, Option<Box<str>>) {
        (self.words(), self.asked.as_ref().map(|(_, question)| question.clone()))
    }

    /// Returns the words of the user.
    pub(super) fn words(&self) -> String {
        words_of_person(&self.text.read()).trim().to_owned()
    }

    /// Whether it is a line of the agent's program that says that the user interrupted it.
    pub(super) fn is_interruption(&self) -> bool {
        const LONGEST: usize = 64;
        self.bytes < LONGEST && is_interruption(&self.words())
    }

    /// Whether it is short, and commands or forbids.
    pub(super) fn is_short_command(&self) -> bool {
        const LONGEST: usize = 280;
        self.bytes <= LONGEST && has_cue(&self.words())
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
#[derive(Debug)]
struct UserPiece {
    rank: PieceRank,
    /// The place of the message in the list.
    at: usize,
    /// The place of the message with which it comes.
    of: usize,
    /// The bytes of its words; none for the question.
    range: Option<Range<usize>>,
}

/// The pieces that are told of each message; `None` is the question that it answers.
type ChosenPieces = BTreeMap<usize, Vec<Option<Range<usize>>>>;

/// The messages of the user with their pieces in order.
pub(super) struct RankedUser<'d, 'a> {
    user: &'d [UserMessage<'a>],
    pieces: Vec<UserPiece>,
    /// Of three or more messages that are equal but for digits: the last, with the number of all, and the others.
    alike: HashMap<usize, usize>,
    hidden: HashSet<usize>,
}

impl<'d, 'a> RankedUser<'d, 'a> {
    /// Puts the pieces in order: at least those that `limit` tokens have room for.
    pub(super) fn new(user: &'d [UserMessage<'a>], limit: u64) -> Self {
        /// So many messages keep at least a beginning, of so many bytes.
        const FEW: usize = 10;
        const BEGINNING: usize = 100;
        /// A token has at most so many bytes.
        const MOST_BYTES: u64 = 16;
        /// Pieces of so many bytes that a newer message has too are not told again: programs repeat their forms.
        const LEAST_KNOWN: usize = 40;
        let last = user.len().saturating_sub(1);
        let last_wish = last - usize::from(last > 0 && user[last].is_interruption());
        let mut pieces: Vec<UserPiece> = Vec::new();
        let mut alike: HashMap<String, Vec<usize>> = HashMap::new();
        let mut known: HashSet<String> = HashSet::new();
        let mut rules = 0;
        for (at, message) in user.iter().enumerate().rev() {
            // Where newer rules fill the room, older messages need not be read.
            if rules > limit && at > 0 && user.len() > FEW {
                continue;
            }
            let words = message.words();
            // What the agent's program says of an interruption is ranked as the wish before it: it stands where that does.
            let of = if is_interruption(&words) { at.saturating_sub(1) } else { at };
            let mut of_message = pieces_of(&user[of].words(), of == 0, of >= last_wish);
            if of < at {
                let rank = of_message.iter().map(|(rank, _)| *rank).min();
                of_message = rank.map(|rank| (rank, 0..words.len())).into_iter().collect();
            }
            if user.len() <= FEW {
                begin(&words, &mut of_message, BEGINNING);
            }
            if is_form(&words) {
                of_message
                    .retain(|(_, range)| range.len() < LEAST_KNOWN || known.insert(words[range.clone()].to_owned()));
            }
            let of_rules = of_message.iter().filter(|(rank, _)| rank.is_rule());
            rules += of_rules.map(|(_, range)| range.len() as u64).sum::<u64>() / MOST_BYTES;
            let first = of_message.iter().map(|(rank, _)| *rank).min();
            if message.asked.is_some() {
                let rank = first.filter(|rank| rank.is_rule()).unwrap_or(PieceRank::Rest(1));
                pieces.push(UserPiece { rank, at, of, range: None });
            } else if first == Some(PieceRank::Rest(0)) && of_message.len() == 1 && of == at {
                alike.entry(without_digits(&words)).or_default().push(at);
            }
            let piece = |(rank, range)| UserPiece { rank, at, of, range: Some(range) };
            pieces.extend(of_message.into_iter().map(piece));
        }
        // Of like ones the newer come first, and in a message what it begins with. The first message does not vanish.
        pieces.sort_by_key(|piece| {
            let is_beginning = matches!(piece.rank, PieceRank::Beginning { .. });
            let age = if is_beginning && piece.of == 0 { 0 } else { last - piece.of };
            (piece.rank, age, piece.of < piece.at, piece.range.is_none(), piece.range.as_ref().map(|range| range.start))
        });
        let number = |group: &[usize]| group.iter().map(|&at| user[at].alike).sum::<usize>();
        alike.retain(|_, group| group.len() > 1 && number(group) > 2);
        let hidden = alike.values().flat_map(|group| &group[1..]).copied().collect();
        let alike = alike.values().map(|group| (group[0], number(group))).collect();
        RankedUser { user, pieces, alike, hidden }
    }

    /// Returns the lines of the messages, and the number of messages that they tell. `most` gives the most tokens for a share of
    /// the room.
    pub(super) fn lines(&self, counter: Counter, most: impl Fn(f64) -> u64) -> (Lines, usize) {
        let mut words: BTreeMap<usize, String> = BTreeMap::new();
        let all: Vec<&UserPiece> = self.pieces.iter().collect();
        let (mut chosen, fits) = self.choose(&all, &mut words, counter, &most);
        // Only where room lacks, messages that are equal but for digits stand once.
        let is_collapsed = !fits && !self.alike.is_empty();
        if is_collapsed {
            let different = all.into_iter().filter(|piece| !self.hidden.contains(&piece.at)).collect::<Vec<_>>();
            chosen = self.choose(&different, &mut words, counter, &most).0;
        }
        let mut lines = Lines::new();
        let mut told = 0;
        for (at, ranges) in chosen {
            let message = &self.user[at];
            let number = self.alike.get(&at).copied().filter(|_| is_collapsed).unwrap_or(message.alike);
            let (questions, ranges): (Vec<_>, Vec<_>) = ranges.into_iter().partition(Option::is_none);
            if ranges.is_empty() {
                continue;
            }
            told += number;
            if let Some((place, question)) = message.asked.as_ref().filter(|_| !questions.is_empty()) {
                lines.push((*place, format!("{ASKED}{}", indented(question))));
            }
            let shown = clip::shown(&words[&at], ranges.into_iter().flatten().collect());
            lines.push((message.place, format!("{}{}", alike_label(number), unlabelled(&indented(&shown)))));
        }
        (lines, told)
    }

    /// Chooses pieces in order until one has no room. Returns these, and whether all had room.
    fn choose(
        &self,
        pieces: &[&UserPiece],
        words: &mut BTreeMap<usize, String>,
        counter: Counter,
        most: impl Fn(f64) -> u64,
    ) -> (ChosenPieces, bool) {
        let mut used = 0;
        let mut chosen = ChosenPieces::new();
        for UserPiece { rank, at, range, .. } in pieces {
            let message = &self.user[*at];
            let words = words.entry(*at).or_insert_with(|| message.words());
            let label = alike_label(self.alike.get(at).copied().unwrap_or(message.alike));
            let text = match (range, &message.asked) {
                (Some(range), _) => {
                    let shown = indented(&words[range.clone()]);
                    if chosen.get(at).is_some_and(|ranges| ranges.iter().any(Option::is_some)) {
                        format!(" …\n  {shown}")
                    } else if range.len() == message.bytes {
                        format!("- {} {label}{shown}\n", message.place)
                    } else {
                        format!("- {} {label}… {shown} …\n", message.place)
                    }
                }
                (None, Some((place, question))) => format!("- {place} {ASKED}{}\n", indented(question)),
                (None, None) => continue,
            };
            used += counter.count_text(&text);
            if used > most(rank.share()) {
                return (chosen, false);
            }
            chosen.entry(*at).or_default().push(range.clone());
        }
        (chosen, true)
    }

    /// Returns the piece of all messages that yields last, with a mark where it is not the whole message.
    pub(super) fn first_piece(&self) -> Option<(Place, String)> {
        let (at, range) = self.pieces.iter().find_map(|piece| Some((piece.at, piece.range.clone()?)))?;
        Some((self.user[at].place, clip::shown(&self.user[at].words(), vec![range])))
    }

    /// Returns the messages and the bytes of the pieces that yield after all others.
    pub(super) fn first_rank(&self) -> (usize, usize) {
        let first = self.pieces.iter().take_while(|piece| piece.rank <= PieceRank::Rule);
        let messages: HashSet<usize> = first.clone().map(|piece| piece.at).collect();
        (messages.len(), first.filter_map(|piece| Some(piece.range.as_ref()?.len())).sum())
    }

    /// Returns the number of messages, with those that they stand for.
    pub(super) fn number(&self) -> usize {
        self.user.iter().map(|message| message.alike).sum()
    }
}

/// Returns a text with one mark for each number.
fn without_digits(text: &str) -> String {
    let parts = text.split(|c: char| c.is_ascii_digit()).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("0")
}
