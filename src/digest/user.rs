//! The messages of the user, and which of their pieces are told where not all have room.
//!
//! Pieces of a later rank go first, and of each rank the oldest. The order does not depend on the room, so that more room
//! never loses what less room held.
//!
//! Also: the pieces of a message of the user, and their ranks.
//!
//! The first rank has the opening of the first message, the last message, sentences that command, forbid, limit or correct,
//! and numbered steps and code of messages with such a sentence. All else is of the second.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{Hash, Hasher};
use std::ops::Range;

use crate::digest::clip::{self, ClipPiece, PieceKind, clipped, indented};
use crate::digest::cues;
use crate::digest::cues::has_cue;
use crate::digest::grammar::{ASKED, Lines, Place, alike_label, unlabelled};
use crate::tokens::Counter;
use crate::transcript::lazy_text::LazyText;
use crate::transcript::speaker::{is_interruption, words_of_texts};

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

    pub(super) fn standing_for(self, alike: usize) -> Self {
        UserMessage { alike, ..self }
    }

    /// Equal for messages that say the same in answer to the same. It is a hash, as there are many messages.
    pub(super) fn key(&self) -> u64 {
        let mut key = DefaultHasher::new();
        (self.words(), self.asked.as_ref().map(|(_, question)| question)).hash(&mut key);
        key.finish()
    }

    /// Without what the agent's program inserted.
    pub(super) fn words(&self) -> String {
        words_of_texts(self.text.strings()).trim().to_owned()
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

    /// What a short answer answers, by the message before it: the question at its end with the list or paragraph that
    /// it is about, or the list that the answer is about.
    pub(super) fn asked(answer: &str, place: Place, before: &LazyText<'_>) -> Option<(Place, Box<str>)> {
        const SHORT_ANSWER: usize = 48;
        const LONGEST: usize = 600;
        const PICKS: &str = "all |both|each of|first|second|third|option|全部";
        if answer.trim().len() > SHORT_ANSWER {
            return None;
        }
        let is_number = |word: &str| word.len() == 1 && word.starts_with(|c: char| c.is_ascii_digit());
        let names_item = answer.split(|c: char| !c.is_alphanumeric()).any(is_number);
        let picks = !answer.contains('?') && (names_item || cues::has_word(&format!("{answer} "), PICKS));
        let before = before.read();
        question_in(before.trim_end(), picks).map(|question| (place, clipped(question, LONGEST).into()))
    }
}

/// The question at the end of a text, or the list where an answer picks from one, with what it is about.
fn question_in(text: &str, picks: bool) -> Option<&str> {
    /// Bytes from a question to the end, and of a question that stands alone.
    const NEAR: usize = 600;
    const ALONE: usize = 60;
    let mut lines: Vec<(usize, &str)> = Vec::new();
    let (mut question, mut list, mut at, mut is_code) = (None, None, 0, false);
    for line in text.split_inclusive('\n') {
        let content = line.trim();
        let is_end = at + line.len() == text.len();
        is_code ^= content.starts_with("```");
        if at + NEAR > text.len() && !is_code && (is_end || !clip::is_heading(content)) {
            question = if content.contains(['?', '？']) { Some(lines.len()) } else { question };
            list = if picks && clip::is_item(content) { Some(lines.len()) } else { list };
        }
        lines.push((at, line));
        at += line.len();
    }
    let above = |from: usize, is_of: &dyn Fn(&str) -> bool| {
        lines[..from].iter().rposition(|(_, line)| !is_of(line)).map_or(0, |at| at + 1)
    };
    let is_paragraph = |line: &str| !line.trim().is_empty() && !clip::is_heading(line.trim());
    let is_of_list = |line: &str| clip::is_item(line.trim()) || line.starts_with([' ', '\t']);
    let from = above(question.or(list)?, &is_paragraph);
    let list = above(from, &|line| line.trim().is_empty() || is_of_list(line));
    let has_list = lines[list..=from].iter().any(|(_, line)| is_of_list(line));
    let is_of_list = picks && has_list || text.len() - lines[from].0 < ALONE;
    let from = if is_of_list { above(list, &is_paragraph) } else { from };
    Some(text[lines[from].0..].trim())
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
        /// Bytes of a question that yields before short answers do.
        const LONG_QUESTION: usize = 400;
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
            // What is left unread is then nothing that the room of the state depends on.
            let of_rules = of_message.iter().filter(|(rank, _)| *rank <= PieceRank::Rule);
            rules += of_rules.map(|(_, range)| range.len() as u64).sum::<u64>() / MOST_BYTES;
            let first = of_message.iter().map(|(rank, _)| *rank).min();
            if let Some((_, question)) = &message.asked {
                let rank = PieceRank::Rest(question.len() / LONG_QUESTION);
                let rank = first.filter(|rank| rank.is_rule()).unwrap_or(rank);
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

    /// The lines of the messages, and the number of messages that they tell. `most` gives the most tokens for a share
    /// of the room.
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

    /// The piece of all messages that yields last, with a mark where it is not the whole message.
    pub(super) fn first_piece(&self) -> Option<(Place, String)> {
        let (at, range) = self.pieces.iter().find_map(|piece| Some((piece.at, piece.range.clone()?)))?;
        Some((self.user[at].place, clip::shown(&self.user[at].words(), vec![range])))
    }

    /// Of the pieces that yield after all others: the number of their messages, and their bytes.
    pub(super) fn first_rank(&self) -> (usize, usize) {
        let first = self.pieces.iter().take_while(|piece| piece.rank <= PieceRank::Rule);
        let messages: HashSet<usize> = first.clone().map(|piece| piece.at).collect();
        (messages.len(), first.filter_map(|piece| Some(piece.range.as_ref()?.len())).sum())
    }

    /// The number of messages, with those that they stand for.
    pub(super) fn number(&self) -> usize {
        self.user.iter().map(|message| message.alike).sum()
    }
}

/// A text with one mark for each number.
fn without_digits(text: &str) -> String {
    let parts = text.split(|c: char| c.is_ascii_digit()).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("0")
}

/// The order in which pieces yield, the last first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PieceRank {
    /// The beginning of each of a few messages, those with a rule first: none of these vanishes.
    Beginning { is_rest: bool },
    /// Of the last message, or the opening of the first.
    Frame,
    /// A sentence with a cue, and what belongs to it.
    Rule,
    /// The same in a long message, which may be a form that a program filled in.
    RuleOfLong,
    /// All else, by how many times [`LEVEL`] bytes of its message come before it: of long messages the end goes first.
    Rest(usize),
}

const LEVEL: usize = 160;
/// Bytes of a message that a person types at once.
const SHORT: usize = 600;

impl PieceRank {
    pub(super) fn is_rule(self) -> bool {
        self <= PieceRank::RuleOfLong
    }

    /// The share of the room that pieces up to this rank can have, where others need the rest. It never grows from rank
    /// to rank: so more room never loses a piece.
    pub(super) fn share(self) -> f64 {
        match self {
            PieceRank::Beginning { .. } | PieceRank::Frame | PieceRank::Rule => 0.8,
            PieceRank::RuleOfLong | PieceRank::Rest(0) => 0.6,
            PieceRank::Rest(_) => 0.3,
        }
    }
}

/// Cuts a message into pieces with their ranks.
pub(super) fn pieces_of(words: &str, is_first: bool, is_last: bool) -> Vec<(PieceRank, Range<usize>)> {
    /// Bytes of the opening of the first message and of the last one.
    const OPENING: usize = 240;
    const OPENING_OF_LAST: usize = 640;
    let opening = if is_last { OPENING_OF_LAST } else { OPENING };
    let is_frame = is_first || is_last;
    let rule = if is_form(words) { PieceRank::RuleOfLong } else { PieceRank::Rule };
    let rank_of = |is_rule: bool| if is_rule { rule } else { PieceRank::Rest(0) };
    if is_short(words) {
        let rank = if is_frame { PieceRank::Frame } else { rank_of(has_cue(words)) };
        return vec![(rank, 0..words.len())];
    }
    let pieces = clip::pieces_up_to(words, WHOLE);
    let rules = rules(words, &pieces);
    let mut ranked: Vec<(PieceRank, Range<usize>)> = Vec::new();
    let mut depth = 0;
    for (piece, is_rule) in pieces.iter().zip(rules) {
        let longest = if is_rule { WHOLE } else { clip::LONGEST };
        for range in clip::chunks(words, piece.range.clone(), longest) {
            let opens = ranked.is_empty() || range.end <= opening || is_last && range.end == words.len();
            let rank = match rank_of(is_rule) {
                _ if is_frame && opens && range.len() <= opening.max(clip::LONGEST) => PieceRank::Frame,
                PieceRank::Rest(_) => PieceRank::Rest(depth / LEVEL),
                rank => rank,
            };
            depth += if matches!(rank, PieceRank::Rest(_)) { range.len() } else { 0 };
            ranked.push((rank, range));
        }
    }
    // The end of a long message stands before its middle.
    if let [_, .., (rank @ PieceRank::Rest(_), _)] = &mut ranked[..] {
        *rank = (*rank).min(PieceRank::Rest(1));
    }
    ranked
}

/// Bytes of a rule, of numbered steps or of a block of code that stand whole or go.
const WHOLE: usize = 1_000;

/// Tells which pieces of a long message are of the first rank.
fn rules(words: &str, pieces: &[ClipPiece]) -> Vec<bool> {
    let shown = |piece: &ClipPiece| &words[piece.range.clone()];
    let mut rules: Vec<bool> =
        pieces.iter().map(|piece| piece.kind != PieceKind::Code && has_cue(shown(piece))).collect();
    if !rules.contains(&true) {
        return rules;
    }
    // The line that announces the items which follow.
    let mut announcing = None;
    for (at, piece) in pieces.iter().enumerate() {
        match piece.kind {
            // Code below a heading is an example.
            PieceKind::Code => rules[at] = at > 0 && pieces[at - 1].kind != PieceKind::Heading,
            PieceKind::Item => {
                let is_step = shown(piece).starts_with(|c: char| c.is_ascii_digit()) && is_short_list(pieces, at);
                rules[at] |= is_step || announcing.is_some_and(|at: usize| has_cue(shown(&pieces[at])));
                if let Some(announcing) = announcing.filter(|_| rules[at]) {
                    rules[announcing] = true;
                }
            }
            PieceKind::Heading | PieceKind::Sentence => {
                let announces = piece.kind == PieceKind::Heading || shown(piece).ends_with([':', '：']);
                announcing = announces.then_some(at);
            }
        }
    }
    rules
}

/// Whether an item is of a list that can stand whole.
fn is_short_list(pieces: &[ClipPiece], at: usize) -> bool {
    let (before, behind) = pieces.split_at(at);
    let is_near = |piece: &&ClipPiece| {
        piece.kind == PieceKind::Item && piece.range.start.abs_diff(pieces[at].range.start) <= WHOLE
    };
    let first = before.iter().rev().take_while(is_near).last().unwrap_or(&pieces[at]);
    let last = behind.iter().take_while(is_near).last().unwrap_or(&pieces[at]);
    last.range.end - first.range.start <= WHOLE
}

/// Gives the first of a message's pieces in order the rank of a beginning, or a part of it if it is long.
pub(super) fn begin(words: &str, pieces: &mut Vec<(PieceRank, Range<usize>)>, most: usize) {
    let Some(at) = (0..pieces.len()).min_by_key(|&at| pieces[at].0) else { return };
    let (rank, range) = pieces[at].clone();
    let beginning = PieceRank::Beginning { is_rest: matches!(rank, PieceRank::Rest(_)) };
    if range.len() <= most || is_short(words) {
        pieces[at].0 = beginning;
        return;
    }
    let Some(head) = clip::chunks(words, range.clone(), most).into_iter().next() else { return };
    pieces[at] = (rank, head.end..range.end);
    pieces.insert(at, (beginning, head));
}

/// Whether a message is so long that a program may have filled in a form.
pub(super) fn is_form(words: &str) -> bool {
    words.len() > SHORT
}

/// Whether a message is so short that it stands whole or goes. Two characters of a script without blanks are a word.
fn is_short(words: &str) -> bool {
    const MOST_WORDS: usize = 20;
    const MOST_BYTES: usize = 1_000;
    let wide = words.chars().filter(|c| *c >= '\u{2e80}').count();
    words.len() <= MOST_BYTES && words.split_whitespace().count() + wide / 2 <= MOST_WORDS
}
