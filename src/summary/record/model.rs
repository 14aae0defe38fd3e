//! The model's statements: decisions with their reasons, rejected options, findings, its last report and next steps.

mod split;
mod thoughts;
mod withdrawals;

use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher;

use foldhash::fast::RandomState;

use crate::summary::record::change::is_common;
use crate::summary::record::cues;
use crate::summary::record::literals::{LiteralClass, literals};
use crate::summary::record::names::{NameUsage, names};
use crate::summary::record::phrases::PLANNED;
use crate::summary::record::segmentation::words_of;
use crate::summary::record::statement_index::StatementIndex;
use crate::summary::record::{FactKind, RecordEntry};

use split::{MessageStatement, statements};
pub(super) use thoughts::Thinker;
use thoughts::Thoughts;

/// Statements that are kept; if there are twice as many, those with the least weight are dropped.
const MOST_STATEMENTS: usize = 8_192;

/// A statement of the model.
struct Statement {
    entry: RecordEntry,
    /// Its number among all statements.
    number: usize,
    /// The number of its message, counted from 1.
    turn: usize,
    /// The hash of its text, to recognize repetitions.
    key: u64,
    /// Whether nobody would miss it: `Found it.`
    is_thin: bool,
    /// Whether the user answered it, and not only its message.
    is_answered: bool,
}

/// All statements of the model.
#[derive(Default)]
pub(super) struct ModelStatements {
    /// In the order of their numbers.
    all: Vec<Statement>,
    next_number: usize,
    index: StatementIndex,
    /// How often each statement was made.
    times: HashMap<u64, u32, RandomState>,
    state: RandomState,
    /// The numbers of messages that the user answered.
    answered: HashSet<usize>,
    /// The number of the last message with statements, whether it makes calls, and the number of messages.
    last: usize,
    last_acts: bool,
    turns: usize,
    /// Hashes of words that identify errors seen so far.
    errors: HashSet<u64, RandomState>,
    /// What it thought beside its statements.
    pub(super) thoughts: Thoughts,
    /// The number of the message with the last plan that the user approved.
    approved_plan: Option<usize>,
}

impl ModelStatements {
    /// Adds a message. `acts` is whether it makes calls; `position` is its place in the history, from 0 to 1.
    pub(super) fn add_message(&mut self, index: usize, text: &str, acts: bool, position: f64, used: &NameUsage) {
        let before = self.all.len();
        self.turns += 1;
        let statements = statements(text);
        self.thoughts.hear_model(statements.iter().map(|statement| &statement.text), acts);
        for statement in statements {
            self.add(index, statement, acts, position, used);
        }
        // Text before a call is no report.
        if self.all.last().is_some_and(|statement| statement.turn == self.turns) {
            self.last = self.turns;
            self.last_acts = acts;
        }
        // A question before the last sentence was put to nobody.
        let is_question = |statement: &Statement| statement.entry.kind == FactKind::Open;
        let end = self.all.len().saturating_sub(1);
        for (at, statement) in self.all.iter_mut().enumerate().skip(before) {
            if is_question(statement) && (acts || at + 1 < end) {
                statement.entry.kind = FactKind::Finding;
                statement.entry.weight = 0.6;
            }
        }
        if self.all.len() > 2 * MOST_STATEMENTS {
            self.drop_least();
        }
    }

    fn add(&mut self, index: usize, statement: MessageStatement, acts: bool, position: f64, used: &NameUsage) {
        let MessageStatement { mut text, is_option, concludes } = statement;
        let retracted = match () {
            () if cues::TAKES_BACK.is_in(&text) => self.retract(&text),
            () if cues::RULES_OUT.is_in(&text) => self.take_most_shared(&text),
            () => None,
        };
        if let Some(earlier) = retracted {
            text = format!("{text} (earlier: {earlier})");
        }
        // A repetition tells nothing new.
        let is_new = !self.times.contains_key(&self.state.hash_one(&text));
        if let Some(earlier) = (is_new && !is_option).then(|| self.take_superseded(&text)).flatten() {
            text = format!("{text} (earlier: {earlier})");
        }
        let has_content = content_words(&text).next().is_some() || names(&text).next().is_some();
        let is_document_fragment = text.starts_with(['{', '[']) && text.contains("\":");
        if cues::FILLERS.is_in(&text) || is_document_fragment || !has_content && !text.ends_with(['?', '？']) {
            return;
        }
        let key = self.state.hash_one(&text);
        *self.times.entry(key).or_default() += 1;
        let is_plan = is_plan(&text);
        let is_question = text.ends_with(['?', '？']);
        let is_talk = is_talk(&text);
        let is_told = cues::INSTRUCTS.is_in(&text);
        let about_error = self.is_about_error(&text);
        let is_used = names(&text).any(|name| used.is_used_after(name, index));
        let (kind, weight) = match () {
            () if is_question => (FactKind::Open, 1.0),
            () if is_talk => (FactKind::Next, 0.3),
            () if is_told => (FactKind::Finding, 1.5),
            () if cues::CAUSE.is_in(&text) => (FactKind::Decision, 7.0),
            () if about_error => (FactKind::Finding, 6.0),
            () if cues::UNSOLVED.is_in(&text) => (FactKind::Finding, 5.0),
            () if concludes || cues::CHOOSES.is_in(&text) => (FactKind::Decision, 5.0),
            // A list item that is only a name states nothing.
            () if is_option && is_label(&text) => (FactKind::Finding, 0.5),
            () if is_option => (FactKind::Decision, 3.0),
            () if is_used => (FactKind::Finding, 5.5),
            () if cues::REASONS.is_in(&text) => (FactKind::Decision, 4.0),
            () if is_plan => (FactKind::Next, 1.5),
            () if cues::STATUS_WORDS.is_in(&text) || cues::DONE.is_in(&text) => (FactKind::Finding, 2.5),
            () => (FactKind::Finding, 1.5),
        };
        let is_status = || cues::STATUS_WORDS.is_in(&text) || cues::DONE.is_in(&text);
        let has_little_content =
            || content_words(&text).nth(2).is_none() && names(&text).next().is_none() && literals(&text).is_empty();
        let chooses = || matches!(kind, FactKind::Decision) || cues::CHOOSES.is_in(&text) || cues::REASONS.is_in(&text);
        let is_thin = !is_option && (is_talk && !chooses() || acts && !is_status() && has_little_content());
        // A name makes a statement more than talk.
        let name_factor =
            if literals(&text).iter().any(|literal| literal.class != LiteralClass::Number) { 1.2 } else { 1.0 };
        let mut entry = RecordEntry::new(kind, index, String::new(), text);
        entry.weight = weight * name_factor * (0.7 + 0.6 * position);
        self.index.add(self.next_number, &entry.text);
        self.all.push(Statement {
            entry,
            number: self.next_number,
            turn: self.turns,
            key,
            is_thin,
            is_answered: false,
        });
        self.next_number += 1;
    }

    /// Notes that the user answered the last message: all of a short one, and what shares a word in a long one.
    pub(super) fn mark_answered(&mut self, answer: &str) {
        const SHORT: usize = 320;
        const FEW_STATEMENTS: usize = 8;
        if answer.len() > SHORT {
            return;
        }
        let turn = self.turns;
        let first = self.all.iter().rposition(|statement| statement.turn != turn).map_or(0, |before| before + 1);
        let of_last = &mut self.all[first..];
        let answer_words: HashSet<String> = content_words(answer).collect();
        let shares =
            |statement: &Statement| content_words(&statement.entry.text).any(|word| answer_words.contains(&word));
        let is_short = of_last.len() <= FEW_STATEMENTS;
        if is_short && !of_last.iter().any(shares) {
            return;
        }
        for statement in of_last {
            if is_short || shares(statement) {
                statement.is_answered = true;
                self.answered.insert(turn);
            }
        }
    }

    /// Notes that the user approved the last message, which is a plan. It replaces an earlier one.
    pub(super) fn mark_approved(&mut self) {
        let turn = self.turns;
        if let Some(earlier) = self.approved_plan.replace(turn) {
            self.all.retain(|statement| statement.turn != earlier);
        }
        self.answered.insert(turn);
        self.all.iter_mut().rev().take_while(|statement| statement.turn == turn).for_each(|one| one.is_answered = true);
    }

    /// Removes a question of the last message that stands with its answer. What comes before it in its sentence stays.
    pub(super) fn drop_question(&mut self, question: &str) {
        let turn = self.turns;
        let first = self.all.iter().rposition(|statement| statement.turn != turn).map_or(0, |before| before + 1);
        let bare = question.trim_matches(['“', '”']);
        for Statement { entry, .. } in self.all[first..].iter_mut().filter(|one| one.entry.kind == FactKind::Open) {
            if let Some(context) = entry.text.strip_suffix(bare).filter(|context| !context.is_empty()) {
                (entry.text, entry.kind, entry.weight) = (context.trim_end().to_owned(), FactKind::Finding, 1.5);
            }
        }
        let is_in = |statement: &mut Statement| {
            statement.entry.kind == FactKind::Open && question.contains(&statement.entry.text)
        };
        self.all.extract_if(first.., is_in).for_each(drop);
    }

    /// Notes an error. Later statements about it weigh more.
    pub(super) fn add_error(&mut self, line: &str) {
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

    fn drop_least(&mut self) {
        let mut weights: Vec<f64> = self.all.iter().map(|statement| statement.entry.weight).collect();
        let middle = weights.len() - MOST_STATEMENTS;
        let least = *weights.select_nth_unstable_by(middle, f64::total_cmp).1;
        let last = self.last;
        // Of the statements with the least weight, only as many stay as fit.
        let mut room = MOST_STATEMENTS;
        self.all.retain(|statement| {
            let stays =
                statement.entry.weight > least || statement.turn == last || room > 0 && statement.entry.weight == least;
            room -= usize::from(stays && room > 0);
            stays
        });
    }

    /// Returns the statements and thoughts as entries. `is_last` is whether nobody has acted since the last statement;
    /// `awaits_user` is whether the user has not written since; `calls_since_plan` is the number of calls with a
    /// result that followed the last plan in thought.
    pub(super) fn entries(
        self,
        is_last: bool,
        awaits_user: bool,
        calls_since_plan: usize,
    ) -> impl Iterator<Item = RecordEntry> {
        /// Repetitions from which on a remark is no finding, and those from which on no statement is.
        const OFTEN: u32 = 2;
        const TOO_OFTEN: u32 = 4;
        const REMARK: f64 = 3.4;
        let ModelStatements { all, times, answered, last, last_acts, turns, thoughts, .. } = self;
        let report = || all.iter().filter(|statement| statement.turn == last).map(|statement| statement.number);
        let (first, end) = (report().next(), report().next_back());
        let mut seen_keys: HashSet<u64, RandomState> = HashSet::default();
        let told = all.into_iter().filter_map(move |statement| {
            let Statement { mut entry, number, turn, key, is_thin, is_answered } = statement;
            let of_last = turn == last;
            let is_talk = is_talk(&entry.text);
            // The user may have agreed to an announcement, but not to `Found it.`
            let is_agreed = is_talk && answered.contains(&turn);
            if is_thin && !of_last && !is_agreed && entry.kind != FactKind::Open {
                return None;
            }
            // A statement repeated many times describes the routine of the work and is no finding.
            let times = times.get(&key).copied().unwrap_or_default();
            let repeated = times >= if entry.weight < REMARK { OFTEN } else { TOO_OFTEN };
            if repeated && !of_last || !seen_keys.insert(key) {
                return None;
            }
            match (entry.kind, of_last) {
                (FactKind::Open, true) if awaits_user && turn == turns => entry.weight = 13.0,
                // The entry of the answer contains the question.
                (FactKind::Open, _) if answered.contains(&turn) => return None,
                (FactKind::Open, _) => (entry.kind, entry.weight) = (FactKind::Finding, 0.5),
                (FactKind::Next, true) if is_last && turn == turns => entry.weight = if is_talk { 6.0 } else { 11.0 },
                // What the model began last tells what it was about, also if it has been done.
                (FactKind::Next, true) if last_acts && !is_thin => {
                    (entry.kind, entry.weight) = (FactKind::Finding, 3.0);
                }
                _ if is_talk => (entry.kind, entry.weight) = (FactKind::Finding, 0.4),
                (_, true) if last_acts => entry.weight *= 1.3,
                (_, true) => {
                    let is_plan = is_plan(&entry.text) && is_last && turn == turns;
                    entry.kind = if is_plan { FactKind::Next } else { FactKind::Report };
                    entry.weight = match () {
                        () if is_plan => 11.0,
                        // A report tells first what came of the work, and last what is open.
                        () if Some(number) == first => 9.2,
                        () if Some(number) == end => 9.1,
                        () => 9.0,
                    };
                }
                (FactKind::Next, false) => (entry.kind, entry.weight) = (FactKind::Finding, entry.weight.min(1.0)),
                _ => {}
            }
            if is_answered && !of_last && !is_label(&entry.text) && (!is_talk || cues::CHOOSES.is_in(&entry.text)) {
                entry.kind = FactKind::Decision;
                entry.weight = entry.weight.max(5.0);
                // Much of it may be done by now.
                if cues::NEXT_STEPS.is_in(&entry.text) {
                    entry.about = PLANNED.to_owned();
                }
            }
            Some(entry)
        });
        told.chain(thoughts.into_entries(calls_since_plan))
    }
}

/// Whether a statement says what is ahead.
fn is_plan(text: &str) -> bool {
    cues::AHEAD.is_in(text) && !cues::RECAPS.is_in(text)
}

/// Whether a statement announces or offers something.
fn is_talk(text: &str) -> bool {
    cues::TALK.is_in(text) && !cues::RECAPS.is_in(text)
}

/// Whether a text is a name or a label and not a statement.
fn is_label(text: &str) -> bool {
    !text.ends_with(['.', '!', '?', '。', '！', '？', '；']) && words_of(text).take(4).count() < 4
}

/// Returns the content words of a text, in lower case.
fn content_words(text: &str) -> impl Iterator<Item = String> + '_ {
    words_of(text)
        .map(|word| word.to_lowercase())
        .filter(|word| (word.len() > 2 || !word.is_ascii()) && !is_common(word))
}

/// Returns the words that identify an error: its names and longer words.
fn error_words(text: &str) -> impl Iterator<Item = String> + '_ {
    const COMMON_ERROR_WORDS: [&str; 12] = [
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
    // The folders of a path identify nothing.
    let names = text.split_whitespace().map(|word| word.trim_end_matches('/').rsplit('/').next().unwrap_or(word));
    let words = names.flat_map(|name| name.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-'))));
    let words = words.map(|word| word.trim_matches('-'));
    let long = |word: &str| word.len() > 4 || word.bytes().any(|byte| byte.is_ascii_digit()) && word.len() > 2;
    words
        .filter(move |word| long(word))
        .map(str::to_lowercase)
        .filter(|word| !COMMON_ERROR_WORDS.contains(&word.as_str()) && !is_common(word))
}
