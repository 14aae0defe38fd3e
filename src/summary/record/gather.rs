//! Gathers the record of a history in one pass over its turns.

use crate::summary::record::history_turns::{self, HistoryTurn, Speaker};
use crate::summary::record::literals::literals;
use crate::summary::record::model::ModelStatements;
use crate::summary::record::name_sources::decoded_arguments;
use crate::summary::record::names::NameUsage;
use crate::summary::record::outcome::OutputFrames;
use crate::summary::record::segmentation::sentences;
use crate::summary::record::user::{LAST_REQUEST, UserStatements, is_small_talk as is_small_talk_sentence};
use crate::summary::record::work_state::{NO_RESULT_YET, WorkState};
use crate::summary::record::{FactKind, FoundValue, HistoryRecord, RecordEntry, cues, earlier_summary};
use crate::transcript::tools::is_shell;

/// Everything gathered from a history.
#[derive(Clone)]
pub(super) struct Gathered {
    /// The entries without values, grouped by the collector that made them.
    pub(super) entries: Vec<RecordEntry>,
    /// Values from arguments and results of calls.
    pub(super) values: Vec<FoundValue>,
    /// Whether the work involves files and commands. Values matter less then.
    pub(super) is_coding: bool,
    /// When each name was last used.
    name_usage: NameUsage,
}

/// Gathers the entries and values of a history.
pub(super) fn gather(turns: &[HistoryTurn<'_>]) -> Gathered {
    let name_usage = name_usage(turns);
    let position = |at: usize| (at + 1) as f64 / turns.len() as f64;
    let (mut user, mut work, mut model) =
        (UserStatements::default(), WorkState::new(output_frames(turns)), ModelStatements::default());
    let mut carried = Vec::new();
    // The last turn of the model with text, if the user has not written since.
    let mut open_message: Option<usize> = None;
    let (mut last_user, mut last_answer, mut last_assistant, mut last_statement) = (None, None, None, None);
    for (at, turn) in turns.iter().enumerate() {
        if turn.interrupts {
            user.mark_interrupted();
        }
        let text = turn.text.read();
        match turn.speaker {
            Speaker::Earlier => earlier_summary::carry_over(&text, turn.index, &mut user, &mut work, &mut carried),
            Speaker::User => {
                model.mark_answered(&text);
                let before = open_message.take().map(|at| turns[at].text.read());
                let is_denial =
                    before.is_some() && sentences(&text).iter().take(2).any(|said| cues::DENIES.is_in(said));
                let retracted = if is_denial { model.retract_last_message() } else { None };
                user.add_message(turn.index, &text, before.as_deref(), retracted.as_deref());
                last_answer = Some(at);
                if !is_small_talk(&text) {
                    last_user = Some(at);
                }
            }
            Speaker::Assistant => {
                if !text.trim().is_empty() {
                    // Some formats write a call as a message of its own.
                    let next_acts =
                        turns.get(at + 1).is_some_and(|next| !next.calls.is_empty() && next.text.bytes == 0);
                    model.add_message(
                        turn.index,
                        &text,
                        !turn.calls.is_empty() || next_acts,
                        position(at),
                        &name_usage,
                    );
                    (open_message, last_statement) = (Some(at), Some(at));
                }
                last_assistant = Some(at);
            }
            Speaker::Instructions | Speaker::Tool => {}
        }
        for call in &turn.calls {
            let effects = work.record_call(call, turn.index, &name_usage);
            if let Some((shown, said)) = effects.rejected {
                user.add_rejection(turn.index, &shown, &said);
            }
            effects.errors.iter().for_each(|line| model.add_error(line));
        }
        turn.results_without_call
            .iter()
            .for_each(|stray| work.record_stray_result(&stray.read(), turn.index, &name_usage));
    }
    let is_open = last_user.is_some() && last_user > last_assistant;
    // The announced next step is past when the model made more than a few calls without text.
    const FEW_ACTS: usize = 3;
    let calls_since = |said: usize| turns[said + 1..].iter().filter(|turn| !turn.calls.is_empty()).count();
    let is_last =
        last_statement.is_some_and(|said| last_user.is_none_or(|user| user < said) && calls_since(said) <= FEW_ACTS);
    let last_index = turns.last().map_or(0, |turn| turn.index);
    let first = turns.first().map_or(0, |turn| turn.index);
    let span = turns.last().map_or(1, |turn| turn.index.saturating_sub(first) + 1) as f64;
    let position_of_index = |index: usize| (index.saturating_sub(first) as f64 + 1.0) / span;
    let mut entries: Vec<RecordEntry> = user.lines(is_open).collect();
    let mut state = work.entries(|index| position_of_index(index).min(1.0));
    // Only a command at the end is still running. An interrupted one has no result and gets none.
    state.retain(|entry| entry.text != NO_RESULT_YET || entry.index == last_index);
    let is_coding =
        state.iter().any(|entry| matches!(entry.kind, FactKind::File | FactKind::Command | FactKind::Error));
    entries.extend(state);
    entries.extend(work.take_unanswered_call().filter(|open| open.index == last_index));
    let statements: Vec<RecordEntry> = model.entries(is_last, last_statement > last_answer).collect();
    let has_report = statements.iter().any(|entry| entry.kind == FactKind::Report);
    // An open question or next step of an earlier summary is answered, done or repeated once somebody has written
    // since.
    entries.extend(carried.into_iter().filter(|entry| match entry.kind {
        FactKind::Open => last_user.is_none() && last_assistant.is_none(),
        FactKind::Next => last_assistant.is_none(),
        FactKind::Report => !has_report,
        _ => true,
    }));
    entries.extend(statements);
    let (lines, values): (Vec<FoundValue>, Vec<FoundValue>) =
        std::mem::take(&mut work.values).into_iter().flatten().partition(|found| found.cell.is_none());
    entries.extend(lines.into_iter().map(|found| found.entry));
    Gathered { entries, values, is_coding, name_usage }
}

/// Splits the words of a user into sentences: a model's summary may have one and lack another.
fn split_sentences(mut entry: RecordEntry) -> Vec<RecordEntry> {
    // The ledger lists everything the user wrote, so the last request needs no label.
    if entry.about == LAST_REQUEST {
        entry.about.clear();
    }
    let all = sentences(&entry.text);
    if entry.kind != FactKind::User || all.len() < 2 {
        return vec![entry];
    }
    let one = |(place, text): (usize, &str)| {
        let about = if place == 0 { entry.about.clone() } else { String::new() };
        let weight = entry.weight + if cues::RULES.is_in(text) { 1.0 } else { 0.0 };
        RecordEntry { about, text: text.to_owned(), weight, ..entry.clone() }
    };
    all.into_iter().enumerate().map(one).collect()
}

/// Whether a message is only small talk.
fn is_small_talk(text: &str) -> bool {
    sentences(text.trim()).into_iter().all(is_small_talk_sentence)
}

/// Returns the lines that the agent's program prints around the outputs of commands.
fn output_frames(turns: &[HistoryTurn<'_>]) -> OutputFrames {
    let calls = turns.iter().flat_map(|turn| &turn.calls).filter(|call| is_shell(&call.name));
    OutputFrames::of(calls.filter_map(|call| call.result.as_ref()).map(history_turns::TurnText::read))
}

/// Names by when they were used last.
fn name_usage(turns: &[HistoryTurn<'_>]) -> NameUsage {
    let mut name_usage = NameUsage::default();
    for turn in turns {
        if matches!(turn.speaker, Speaker::User) {
            name_usage.record_uses(&turn.text.read(), turn.index);
        }
        for call in &turn.calls {
            name_usage.record_uses(&decoded_arguments(&call.arguments.read()), turn.index);
        }
    }
    name_usage
}

impl Gathered {
    /// Returns the record, with each value weighted by its later use.
    pub(super) fn into_record(self) -> HistoryRecord {
        /// Factors for a value that is used later, and for one that contains no name.
        const USED: f64 = 1.5;
        const UNNAMED: f64 = 0.4;
        let name_usage = self.name_usage;
        let values = self.values.into_iter().map(|found| {
            let mut entry = found.entry;
            let Some(cell) = &found.cell else { return entry };
            let names_something = literals(&cell.value).iter().any(|literal| literal.span.len() > 2);
            entry.weight *= match () {
                // The label of the call shows this value already.
                () if !names_something || entry.about.contains(&cell.value) => UNNAMED,
                () if name_usage.is_used_after(&cell.value, 0) => USED,
                () => 1.0,
            };
            entry
        });
        let mut entries: Vec<RecordEntry> = self.entries.into_iter().flat_map(split_sentences).collect();
        // Remarks of a model are left to its own summary, unless they contain names.
        const FINDING: f64 = 1.2;
        const LEAST: f64 = 1.0;
        entries.retain(|entry| entry.weight > if entry.kind == FactKind::Finding { FINDING } else { LEAST });
        entries.extend(values);
        HistoryRecord { entries }
    }
}
