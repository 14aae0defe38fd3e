//! The record of turns: one pass over them, in their order.

use crate::summary::record::homes::given;
use crate::summary::record::literals::literals;
use crate::summary::record::model::Statements;
use crate::summary::record::names::Names;
use crate::summary::record::outcome::Frames;
use crate::summary::record::reading::{self, Speaker, Turn};
use crate::summary::record::statements::sentences;
use crate::summary::record::user::{LAST_REQUEST, Words, is_idle as idle_sentence};
use crate::summary::record::work::{NO_RESULT_YET, Work};
use crate::summary::record::{Entry, Found, Kind, Record, cues, earlier};
use crate::transcript::tools::is_shell;

/// All that was gathered of a history.
#[derive(Clone)]
pub(super) struct Gathered {
    /// The entries but for values, in the order of their kinds' making.
    pub(super) entries: Vec<Entry>,
    /// Values that calls were given and brought.
    pub(super) values: Vec<Found>,
    /// Whether the work is done with files and commands, so that values matter less.
    pub(super) is_coding: bool,
    /// Names by when they were used last.
    used: Names,
}

/// Gathers the record of turns.
pub(super) fn gather(turns: &[Turn<'_>]) -> Gathered {
    let used = used(turns);
    let position = |at: usize| (at + 1) as f64 / turns.len() as f64;
    let (mut words, mut work, mut model) = (Words::default(), Work::new(frames(turns)), Statements::default());
    let mut carried = Vec::new();
    // The turn of the model that said something last, if the user has not spoken since.
    let mut asked: Option<usize> = None;
    let (mut last_user, mut last_answer, mut last_act, mut last_said) = (None, None, None, None);
    for (at, turn) in turns.iter().enumerate() {
        if turn.interrupts {
            words.interrupted();
        }
        let text = turn.text.read();
        match turn.speaker {
            Speaker::Earlier => earlier::carry(&text, turn.index, &mut words, &mut work, &mut carried),
            Speaker::User => {
                model.answered(&text);
                let before = asked.take().map(|at| turns[at].text.read());
                let denies = before.is_some() && sentences(&text).iter().take(2).any(|said| cues::DENIES.is_in(said));
                let denied = if denies { model.denied() } else { None };
                words.said(turn.index, &text, before.as_deref(), denied.as_deref());
                last_answer = Some(at);
                if !is_idle(&text) {
                    last_user = Some(at);
                }
            }
            Speaker::Assistant => {
                if !text.trim().is_empty() {
                    // A call may stand in a message of its own.
                    let next_acts =
                        turns.get(at + 1).is_some_and(|next| !next.calls.is_empty() && next.text.bytes == 0);
                    model.said(turn.index, &text, !turn.calls.is_empty() || next_acts, position(at), &used);
                    (asked, last_said) = (Some(at), Some(at));
                }
                last_act = Some(at);
            }
            Speaker::Instructions | Speaker::Tool => {}
        }
        for call in &turn.calls {
            let news = work.call(call, turn.index, &used);
            if let Some((shown, said)) = news.rejected {
                words.rejected(turn.index, &shown, &said);
            }
            news.errors.iter().for_each(|line| model.failed(line));
        }
        turn.strays.iter().for_each(|stray| work.stray(&stray.read(), turn.index, &used));
    }
    let is_open = last_user.is_some() && last_user > last_act;
    // What came next is behind when the model has acted more than a few times without a word.
    const FEW_ACTS: usize = 3;
    let acts_since = |said: usize| turns[said + 1..].iter().filter(|turn| !turn.calls.is_empty()).count();
    let is_last =
        last_said.is_some_and(|said| last_user.is_none_or(|user| user < said) && acts_since(said) <= FEW_ACTS);
    let last_index = turns.last().map_or(0, |turn| turn.index);
    let first = turns.first().map_or(0, |turn| turn.index);
    let span = turns.last().map_or(1, |turn| turn.index.saturating_sub(first) + 1) as f64;
    let of_index = |index: usize| (index.saturating_sub(first) as f64 + 1.0) / span;
    let mut entries: Vec<Entry> = words.lines(is_open).collect();
    let mut state = work.entries(|index| of_index(index).min(1.0));
    // Whatever waits is at the end: what was broken off has no result, and gets none.
    state.retain(|entry| entry.text != NO_RESULT_YET || entry.index == last_index);
    let is_coding = state.iter().any(|entry| matches!(entry.kind, Kind::File | Kind::Command | Kind::Error));
    entries.extend(state);
    entries.extend(work.unanswered().filter(|open| open.index == last_index));
    let said: Vec<Entry> = model.entries(is_last, last_said > last_answer).collect();
    let reports = said.iter().any(|entry| entry.kind == Kind::Report);
    // What was open and next then is answered, done or said again where somebody has spoken since.
    entries.extend(carried.into_iter().filter(|entry| match entry.kind {
        Kind::Open => last_user.is_none() && last_act.is_none(),
        Kind::Next => last_act.is_none(),
        Kind::Report => !reports,
        _ => true,
    }));
    entries.extend(said);
    let (lines, values): (Vec<Found>, Vec<Found>) =
        std::mem::take(&mut work.values).into_iter().flatten().partition(|found| found.cell.is_none());
    entries.extend(lines.into_iter().map(|found| found.entry));
    Gathered { entries, values, is_coding, used }
}

/// The words of a user sentence by sentence, as a ledger has them: a model may have said one and not the other.
fn parted(mut entry: Entry) -> Vec<Entry> {
    // Of a list of all that was said the last stands out by itself.
    if entry.about == LAST_REQUEST {
        entry.about.clear();
    }
    let all = sentences(&entry.text);
    if entry.kind != Kind::User || all.len() < 2 {
        return vec![entry];
    }
    let one = |(place, text): (usize, &str)| {
        let about = if place == 0 { entry.about.clone() } else { String::new() };
        let weight = entry.weight + if cues::RULES.is_in(text) { 1.0 } else { 0.0 };
        Entry { about, text: text.to_owned(), weight, ..entry.clone() }
    };
    all.into_iter().enumerate().map(one).collect()
}

/// Whether a message only keeps the talk going.
fn is_idle(text: &str) -> bool {
    sentences(text.trim()).into_iter().all(idle_sentence)
}

/// What is put around the outputs of commands.
fn frames(turns: &[Turn<'_>]) -> Frames {
    let calls = turns.iter().flat_map(|turn| &turn.calls).filter(|call| is_shell(&call.name));
    Frames::of(calls.filter_map(|call| call.result.as_ref()).map(reading::Words::read))
}

/// Names by when they were used last.
fn used(turns: &[Turn<'_>]) -> Names {
    let mut used = Names::default();
    for turn in turns {
        if matches!(turn.speaker, Speaker::User) {
            used.uses(&turn.text.read(), turn.index);
        }
        for call in &turn.calls {
            used.uses(&given(&call.arguments.read()), turn.index);
        }
    }
    used
}

impl Gathered {
    /// The record, with the values weighed by how they were used.
    pub(super) fn into_record(self) -> Record {
        /// How much more a value weighs that somebody used, and how much is left of one that names nothing.
        const WANTED: f64 = 1.5;
        const WORDS: f64 = 0.4;
        let used = self.used;
        let values = self.values.into_iter().map(|found| {
            let mut entry = found.entry;
            let Some(cell) = &found.cell else { return entry };
            let names_something = literals(&cell.value).iter().any(|literal| literal.span.len() > 2);
            entry.weight *= match () {
                // What the call was given stands beside it.
                () if !names_something || entry.about.contains(&cell.value) => WORDS,
                () if used.is_used_after(&cell.value, 0) => WANTED,
                () => 1.0,
            };
            entry
        });
        let mut entries: Vec<Entry> = self.entries.into_iter().flat_map(parted).collect();
        // What a model says in passing is its own summary's to tell, but for names.
        const TELLING: f64 = 1.2;
        const IDLE: f64 = 1.0;
        entries.retain(|entry| entry.weight > if entry.kind == Kind::Finding { TELLING } else { IDLE });
        entries.extend(values);
        Record { entries }
    }
}
