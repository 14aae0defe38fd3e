//! What the model said: decisions with their reasons, what was rejected and why, findings, its last report, what is next.
//!
//! A statement is a whole sentence, with the one before it where it only points back at that.

use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher;

use foldhash::fast::RandomState;

use crate::summary::record::change::is_common;
use crate::summary::record::cues;
use crate::summary::record::literals::{Class, literals};
use crate::summary::record::names::{Names, names};
use crate::summary::record::statements::{GAP, Paragraph, paragraphs, sentences, spoken, without_middle};
use crate::summary::record::{Entry, Kind};

/// Characters of a statement.
const LONGEST: usize = 320;
/// Statements that are held at once; of more the least is left out.
const MOST: usize = 8_192;

/// A statement of the model's.
struct Statement {
    entry: Entry,
    /// The message it is of.
    turn: usize,
    /// By what it is known when it is said again.
    key: u64,
    /// Whether it says nothing that somebody would miss: `Found it.`
    is_thin: bool,
}

/// All that the model said.
#[derive(Default)]
pub(super) struct Statements {
    all: Vec<Statement>,
    /// How often something was said.
    times: HashMap<u64, u32, RandomState>,
    state: RandomState,
    /// The messages that the user answered.
    answered: HashSet<usize>,
    /// The last message that says something, and how many there were.
    last: usize,
    last_acts: bool,
    turns: usize,
    /// Words by which errors are known that came up.
    errors: HashSet<u64, RandomState>,
}

impl Statements {
    /// Takes a message. `position` is its place among all of them, from 0 to 1.
    pub(super) fn said(&mut self, index: usize, text: &str, acts: bool, position: f64, used: &Names) {
        let before = self.all.len();
        let said: Vec<Paragraph> = paragraphs(text).into_iter().filter(|paragraph| !paragraph.is_heading).collect();
        self.turns += 1;
        let several = said.iter().filter(|paragraph| paragraph.is_item).count() > 1;
        for (at, paragraph) in said.iter().enumerate() {
            let options = several && paragraph.is_item;
            let mut texts = of_paragraph(paragraph, at.checked_sub(1).map(|before| &said[before]));
            if at + 1 == said.len() {
                with_what_is_asked(&mut texts);
            }
            for text in texts {
                self.add(index, text, options, acts, position, used);
            }
        }
        // What it says before it acts is no report.
        if self.all.len() > before {
            self.last = self.turns;
            self.last_acts = acts;
        }
        // A question that is not the last sentence was asked of nobody.
        let asks = |statement: &Statement| statement.entry.kind == Kind::Open;
        let end = self.all.len().saturating_sub(1);
        for (at, statement) in self.all.iter_mut().enumerate().skip(before) {
            if asks(statement) && (acts || at + 1 < end) {
                statement.entry.kind = Kind::Finding;
                statement.entry.weight = 0.6;
            }
        }
        if self.all.len() > 2 * MOST {
            self.shrink();
        }
    }

    /// What it takes back by a sentence: what it said before of the same names.
    fn take_back(&mut self, text: &str) {
        let taken: Vec<&str> = names(text).collect();
        if taken.is_empty() {
            return;
        }
        self.all.retain(|statement| !names(&statement.entry.text).any(|name| taken.contains(&name)));
    }

    fn add(&mut self, index: usize, text: String, is_option: bool, acts: bool, position: f64, used: &Names) {
        if cues::TAKES_BACK.is_in(&text) {
            self.take_back(&text);
        }
        let tells = telling(&text).next().is_some() || names(&text).next().is_some();
        let is_debris = text.starts_with(['{', '[']) && text.contains("\":");
        if cues::FILLERS.is_in(&text) || is_debris || !tells && !text.ends_with(['?', '？']) {
            return;
        }
        let key = self.state.hash_one(&text);
        *self.times.entry(key).or_default() += 1;
        let ahead = cues::AHEAD.is_in(&text);
        let asks = text.ends_with(['?', '？']);
        let talks = cues::TALK.is_in(&text);
        let about_error = self.is_about_error(&text);
        let is_used = names(&text).any(|name| used.is_used_after(name, index));
        let (kind, weight) = match () {
            () if asks => (Kind::Open, 1.0),
            () if talks => (Kind::Next, 0.3),
            () if about_error => (Kind::Finding, 6.0),
            () if cues::UNSOLVED.is_in(&text) => (Kind::Finding, 5.0),
            () if cues::CHOOSES.is_in(&text) => (Kind::Decision, 5.0),
            // An item of a list that is only a name says nothing by itself.
            () if is_option && is_bare(&text) => (Kind::Finding, 0.5),
            () if is_option => (Kind::Decision, 3.0),
            () if is_used => (Kind::Finding, 5.5),
            () if cues::REASONS.is_in(&text) => (Kind::Decision, 4.0),
            () if ahead => (Kind::Next, 1.5),
            () if cues::STATUS_WORDS.is_in(&text) || cues::DONE.is_in(&text) => (Kind::Finding, 2.5),
            () => (Kind::Finding, 1.5),
        };
        let is_status = || cues::STATUS_WORDS.is_in(&text) || cues::DONE.is_in(&text);
        let says_little =
            || telling(&text).nth(2).is_none() && names(&text).next().is_none() && literals(&text).is_empty();
        let chooses = || matches!(kind, Kind::Decision) || cues::CHOOSES.is_in(&text) || cues::REASONS.is_in(&text);
        let is_thin = !is_option && (talks && !chooses() || acts && !is_status() && says_little());
        // A name beside it makes a statement more than talk.
        let named = if literals(&text).iter().any(|literal| literal.class != Class::Number) { 1.2 } else { 1.0 };
        let mut entry = Entry::new(kind, index, String::new(), text);
        entry.weight = weight * named * (0.7 + 0.6 * position);
        self.all.push(Statement { entry, turn: self.turns, key, is_thin });
    }

    /// The user answered the last message.
    pub(super) fn answered(&mut self, answer: &str) {
        const SHORT: usize = 320;
        let shares = |statement: &Statement| {
            let said: HashSet<String> = telling(&statement.entry.text).collect();
            telling(answer).any(|word| said.contains(&word))
        };
        let of_last = self.all.iter().rev().take_while(|statement| statement.turn == self.turns);
        if answer.len() <= SHORT && of_last.clone().any(shares) {
            self.answered.insert(self.turns);
        }
    }

    /// The user said that the last message is wrong: nobody goes on from it. Gives what it said last.
    pub(super) fn denied(&mut self) -> Option<String> {
        let turn = self.turns;
        let last = self.all.iter().rev().take_while(|statement| statement.turn == turn);
        let said = last
            .filter(|statement| statement.entry.kind != Kind::Open)
            .map(|statement| statement.entry.text.clone())
            .next();
        self.all.retain(|statement| statement.turn != turn || statement.entry.kind == Kind::Open);
        said
    }

    /// An error came up; what is said of it from now on matters.
    pub(super) fn failed(&mut self, line: &str) {
        const MOST_WORDS: usize = 8_192;
        if self.errors.len() < MOST_WORDS {
            let words: Vec<u64> = error_words(line).map(|word| self.state.hash_one(&word)).collect();
            self.errors.extend(words);
        }
    }

    fn is_about_error(&self, text: &str) -> bool {
        if self.errors.is_empty() {
            return false;
        }
        let mut shared = error_words(text).filter(|word| self.errors.contains(&self.state.hash_one(word)));
        let Some(first) = shared.next() else { return false };
        first.contains(['_', '.'])
            || first.bytes().any(|byte| byte.is_ascii_digit())
            || shared.any(|word| word != first)
    }

    fn shrink(&mut self) {
        let mut weights: Vec<f64> = self.all.iter().map(|statement| statement.entry.weight).collect();
        let middle = weights.len() - MOST;
        let least = *weights.select_nth_unstable_by(middle, f64::total_cmp).1;
        let last = self.last;
        // Of those that weigh as little as the least some go, too.
        let mut room = MOST;
        self.all.retain(|statement| {
            let stays =
                statement.entry.weight > least || statement.turn == last || room > 0 && statement.entry.weight == least;
            room -= usize::from(stays && room > 0);
            stays
        });
    }

    /// The statements as a record keeps them. `ends` tells that nobody has acted since the last of them; `open` that the
    /// user has not spoken since.
    pub(super) fn entries(self, ends: bool, open: bool) -> impl Iterator<Item = Entry> {
        /// Times that a remark is made before it is no finding, and that anything is.
        const OFTEN: u32 = 2;
        const TOO_OFTEN: u32 = 4;
        const REMARK: f64 = 3.4;
        let Statements { all, times, answered, last, last_acts, turns, .. } = self;
        let mut told: HashSet<u64, RandomState> = HashSet::default();
        all.into_iter().filter_map(move |statement| {
            let Statement { mut entry, turn, key, is_thin } = statement;
            let of_last = turn == last;
            if is_thin && !of_last && !answered.contains(&turn) && entry.kind != Kind::Open {
                return None;
            }
            // What is said again and again is what the work is done with, and no finding.
            let times = times.get(&key).copied().unwrap_or_default();
            let repeated = times >= if entry.weight < REMARK { OFTEN } else { TOO_OFTEN };
            if repeated && !of_last || !told.insert(key) {
                return None;
            }
            let talk = cues::TALK.is_in(&entry.text);
            match (entry.kind, of_last) {
                (Kind::Open, true) if open && turn == turns => entry.weight = 13.0,
                // Its answer has it beside it.
                (Kind::Open, _) if answered.contains(&turn) => return None,
                (Kind::Open, _) => (entry.kind, entry.weight) = (Kind::Finding, 0.5),
                (Kind::Next, true) if ends && turn == turns => entry.weight = if talk { 6.0 } else { 11.0 },
                _ if talk => (entry.kind, entry.weight) = (Kind::Finding, 0.4),
                (_, true) if last_acts => entry.weight *= 1.3,
                (_, true) => {
                    let ahead = cues::AHEAD.is_in(&entry.text) && ends && turn == turns;
                    entry.kind = if ahead { Kind::Next } else { Kind::Report };
                    entry.weight = if ahead { 11.0 } else { 9.0 };
                }
                (Kind::Next, false) => (entry.kind, entry.weight) = (Kind::Finding, entry.weight.min(1.0)),
                _ => {}
            }
            if answered.contains(&turn) && !of_last && !is_bare(&entry.text) {
                entry.kind = Kind::Decision;
                entry.weight = entry.weight.max(5.0);
            }
            Some(entry)
        })
    }
}

/// Puts what stands before a question at the end beside it, as far as it is short: `I am done with this. Shall I …?`
fn with_what_is_asked(texts: &mut Vec<String>) {
    while let [.., before, asked] = texts.as_slice()
        && asked.ends_with(['?', '？'])
        && before.chars().count() + asked.chars().count() < LONGEST * 2 / 3
        && !cues::AHEAD.is_in(before)
    {
        let between = if before.ends_with(|c: char| c >= '\u{2e80}') { "" } else { " " };
        let joined = format!("{before}{between}{asked}");
        texts.truncate(texts.len() - 2);
        texts.push(joined);
    }
}

/// The statements of a paragraph; `before` is the one that stands before it.
fn of_paragraph(paragraph: &Paragraph, before: Option<&Paragraph>) -> Vec<String> {
    let announces = |text: &str| text.trim_end_matches([GAP, ' ']).ends_with([':', '：', ',', '，']);
    if paragraph.is_item && paragraph.text.chars().count() <= LONGEST {
        return if announces(&paragraph.text) { Vec::new() } else { vec![paragraph.text.clone()] };
    }
    let mut found: Vec<String> = Vec::new();
    for sentence in sentences(&paragraph.text) {
        let points_back = cues::REFERS.is_in(sentence) || cues::LEANS.is_in(sentence);
        match found.last_mut().filter(|last| points_back && last.chars().count() + sentence.chars().count() < LONGEST) {
            Some(last) => {
                if !last.ends_with(|c: char| c >= '\u{2e80}') {
                    last.push(' ');
                }
                last.push_str(sentence);
            }
            None => {
                let leans = before
                    .filter(|before| points_back && found.is_empty() && before.text.chars().count() < LONGEST / 2);
                let text = leans.map_or_else(|| sentence.to_owned(), |before| format!("{} {sentence}", before.text));
                found.push(without_middle(&text, LONGEST));
            }
        }
    }
    // What only announces what follows says nothing by itself.
    found.retain(|text| !announces(text));
    found
}

/// Whether a text is a name or a label, and no statement.
fn is_bare(text: &str) -> bool {
    !text.ends_with(['.', '!', '?', '。', '！', '？', '；']) && spoken(text).take(4).count() < 4
}

/// The words of a text that say something.
fn telling(text: &str) -> impl Iterator<Item = String> + '_ {
    spoken(text).map(|word| word.to_lowercase()).filter(|word| (word.len() > 2 || !word.is_ascii()) && !is_common(word))
}

/// The words by which an error is known again: its names and its longer words.
fn error_words(text: &str) -> impl Iterator<Item = String> + '_ {
    const IDLE: [&str; 12] = [
        "error",
        "errors",
        "failed",
        "failure",
        "tests",
        "exit",
        "traceback",
        "recent",
        "file",
        "line",
        "passed",
        "module",
    ];
    let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    let long = |word: &str| word.len() > 4 || word.bytes().any(|byte| byte.is_ascii_digit()) && word.len() > 2;
    words
        .filter(move |word| long(word))
        .map(str::to_lowercase)
        .filter(|word| !IDLE.contains(&word.as_str()) && !is_common(word))
}
