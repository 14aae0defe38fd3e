//! Gathers the record of a history in one pass over its turns.

use serde_json::Value;

use crate::summary::record::change::Claim;
use crate::summary::record::history_turns::{self, HistoryTurn, Speaker, ToolCall};
use crate::summary::record::literals::literals;
use crate::summary::record::model::{ModelStatements, Thinker};
use crate::summary::record::name_sources::decoded_arguments;
use crate::summary::record::names::NameUsage;
use crate::summary::record::outcome::OutputFrames;
use crate::summary::record::phrases::LAST_REQUEST;
use crate::summary::record::plan::asks_for_approval;
use crate::summary::record::replies::answered_question;
use crate::summary::record::segmentation::sentences;
use crate::summary::record::small_talk::{is_only_small_talk, is_small_talk};
use crate::summary::record::user::UserStatements;
use crate::summary::record::work_state::{NO_RESULT_YET, WorkState};
use crate::summary::record::{FactKind, FoundValue, HistoryRecord, RecordEntry, cues, earlier_summary};
use crate::transcript::tools::{argument, is_shell};

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
    let mut gatherer = Gatherer {
        turns,
        name_usage: name_usage(turns),
        user: UserStatements::default(),
        work: WorkState::new(output_frames(turns)),
        model: ModelStatements::default(),
        carried: Vec::new(),
        open_message: None,
        last_user: None,
        last_answer: None,
        last_assistant: None,
        last_statement: None,
        last_plan: None,
    };
    (0..turns.len()).for_each(|at| gatherer.read_turn(at));
    gatherer.finish()
}

/// The collectors, and the last turns of each speaker.
struct Gatherer<'t, 's> {
    turns: &'t [HistoryTurn<'s>],
    name_usage: NameUsage,
    user: UserStatements,
    work: WorkState,
    model: ModelStatements,
    /// Entries of an earlier summary that no collector takes.
    carried: Vec<RecordEntry>,
    /// The last turn of the model with text, if the user has not written since.
    open_message: Option<usize>,
    /// The last turn of the user that is not only small talk.
    last_user: Option<usize>,
    /// The last turn of the user.
    last_answer: Option<usize>,
    /// The last turn of the model.
    last_assistant: Option<usize>,
    /// The last turn of the model with text.
    last_statement: Option<usize>,
    /// The first turn whose calls follow the last plan in thought.
    last_plan: Option<usize>,
}

impl Gatherer<'_, '_> {
    fn read_turn(&mut self, at: usize) {
        let turn = &self.turns[at];
        if turn.interrupts {
            self.user.mark_interrupted();
        }
        let text = turn.text.read();
        match turn.speaker {
            Speaker::Earlier => {
                earlier_summary::carry_over(&text, turn.index, &mut self.user, &mut self.work, &mut self.carried);
            }
            Speaker::User => self.read_user(at, &text),
            Speaker::Assistant => self.read_assistant(at, &text),
            Speaker::Instructions | Speaker::Tool => {}
        }
        for call in &turn.calls {
            if let Some((thinker, thinking)) = thinking_of_call(call) {
                let position = (at + 1) as f64 / self.turns.len() as f64;
                if self.model.thoughts.add(turn.index, &thinking, position, thinker) {
                    self.last_plan = Some(at + 1);
                }
            }
            let effects = self.work.record_call(call, turn.index, &self.name_usage);
            if effects.rejected.is_none()
                && let Some(plan) = approved_plan(call)
            {
                let position = (at + 1) as f64 / self.turns.len() as f64;
                self.model.add_message(turn.index, &plan, true, position, &self.name_usage);
                self.model.mark_approved();
            }
            if let Some((call_label, reason)) = effects.rejected {
                self.user.add_rejection(turn.index, &call_label, &reason);
            }
            effects.errors.iter().for_each(|line| self.model.add_error(line));
        }
        for result in &turn.results_without_call {
            self.work.record_stray_result(&result.read(), turn.index, &self.name_usage);
        }
    }

    fn read_user(&mut self, at: usize, text: &str) {
        self.model.mark_answered(text);
        self.model.thoughts.hear_user(text);
        let before = self.open_message.take().map(|at| self.turns[at].text.read());
        let is_denial = before.is_some()
            && sentences(text)
                .iter()
                .take(2)
                .any(|sentence| cues::DENIES.is_in(sentence) || cues::YOUR_CLAIM.is_in(sentence));
        let opening = sentences(text).into_iter().find(|sentence| !is_small_talk(sentence));
        let contradicts = || opening.is_some_and(|opening| cues::CONTRADICTS.is_in(opening));
        let is_denial = is_denial && !opening.is_some_and(|opening| cues::REFUSES.is_in(opening));
        let question = before.as_ref().and_then(|asked| answered_question(asked, text));
        let retracted = match before {
            // `No` answers the question, and calls nothing wrong.
            Some(_) if question.is_some() => None,
            Some(_) if is_denial => self.model.retract_denied(text),
            Some(_) => {
                let assumption = if contradicts() { self.model.retract_assumption() } else { None };
                let refusal =
                    opening.filter(|opening| cues::REFUSES.is_in(opening) && !cues::HAS_NO_OBJECTION.is_in(opening));
                let corrected = assumption.or_else(|| self.model.take_corrected(self.user.corrections(text)));
                let refused = refusal.and_then(|refusal| self.model.take_refused(&Claim::parse(refusal)));
                let quoted: Vec<String> = corrected.into_iter().chain(refused).collect();
                (!quoted.is_empty()).then(|| quoted.join(" … "))
            }
            None => None,
        };
        let is_reply = question.is_some() || retracted.is_some();
        let retracted = if is_reply { retracted } else { self.model.take_outdated(text) };
        question.iter().for_each(|question| self.model.drop_question(question));
        self.user.add_message(self.turns[at].index, text, question, retracted.as_deref());
        self.last_answer = Some(at);
        if !is_only_small_talk(text) {
            self.last_user = Some(at);
        }
    }

    fn read_assistant(&mut self, at: usize, text: &str) {
        let turn = &self.turns[at];
        let position = (at + 1) as f64 / self.turns.len() as f64;
        if let Some(thinking) = &turn.thinking
            && self.model.thoughts.add(turn.index, &thinking.read(), position, Thinker::Model)
        {
            self.last_plan = Some(at);
        }
        if !text.trim().is_empty() {
            // Some formats write a call as a message of its own.
            let next = self.turns.get(at + 1);
            let acts =
                !turn.calls.is_empty() || next.is_some_and(|next| !next.calls.is_empty() && next.text.bytes == 0);
            self.model.add_message(turn.index, text, acts, position, &self.name_usage);
            (self.open_message, self.last_statement) = (Some(at), Some(at));
        }
        self.last_assistant = Some(at);
    }

    fn finish(self) -> Gathered {
        let Gatherer { turns, name_usage, user, mut work, model, carried, .. } = self;
        let Gatherer { last_user, last_answer, last_assistant, last_statement, last_plan, .. } = self;
        let is_open = last_user.is_some() && last_user > last_assistant;
        // A call after an announcement, or with it, is what was announced; its outcome tells more.
        let calls_since = |turn: usize| {
            turns[turn..].iter().flat_map(|turn| &turn.calls).filter(|call| call.result.is_some()).count()
        };
        let has_acted = |turn: usize| calls_since(turn) > 0;
        let calls_since_plan = last_plan.map_or(0, calls_since);
        let is_last = last_statement.is_some_and(|turn| last_user.is_none_or(|user| user < turn) && !has_acted(turn));
        let last_index = turns.last().map_or(0, |turn| turn.index);
        let first = turns.first().map_or(0, |turn| turn.index);
        let span = turns.last().map_or(1, |turn| turn.index.saturating_sub(first) + 1) as f64;
        let position_of_index = |index: usize| (index.saturating_sub(first) as f64 + 1.0) / span;
        let mut entries: Vec<RecordEntry> = user.lines(is_open).collect();
        let mut state = work.entries(|index| position_of_index(index).min(1.0));
        // Only a command at the end is still running. An interrupted one has no result and gets none.
        state.retain(|entry| entry.text != NO_RESULT_YET || entry.index == last_index);
        let is_coding = work.has_commands || state.iter().any(|entry| entry.kind == FactKind::File);
        entries.extend(state);
        entries.extend(work.take_unchecked_changes());
        entries.extend(work.take_unanswered_call().filter(|open| open.index == last_index));
        let statements: Vec<RecordEntry> =
            model.entries(is_last, last_statement > last_answer, calls_since_plan).collect();
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
            std::mem::take(&mut work.values).into_iter().flatten().partition(|found| found.field.is_none());
        entries.extend(lines.into_iter().map(|found| found.entry));
        Gathered { entries, values, is_coding, name_usage }
    }
}

/// Returns what a model thought in a call: the argument of a tool for thinking, or the report of another agent.
fn thinking_of_call(call: &ToolCall<'_>) -> Option<(Thinker, String)> {
    match call.name.to_lowercase().replace(['_', '-'], "").as_str() {
        "think" | "thinking" | "sequentialthinking" => {
            let arguments = call.arguments.read();
            let given: Value = serde_json::from_str(&arguments).ok()?;
            argument(&given, &["thought", "thoughts", "thinking", "content", "text"])
                .map(|thought| (Thinker::Model, thought))
        }
        "task" | "agent" | "subagent" | "dispatchagent" | "delegate" => {
            let report = call.result.as_ref().filter(|_| !call.failed)?.read().into_owned();
            (!report.starts_with("Error") && !report.starts_with("API Error")).then_some((Thinker::OtherAgent, report))
        }
        _ => None,
    }
}

/// Returns the plan that a model put before the user in a call, if the user approved it.
fn approved_plan(call: &ToolCall<'_>) -> Option<String> {
    let result = call.result.as_ref().filter(|_| !call.failed && asks_for_approval(&call.name))?.read().to_lowercase();
    let is_approved = result.contains("approved") && !cues::NOT_APPROVED.is_in_lowercase(&result);
    let given: Value = serde_json::from_str(&is_approved.then(|| call.arguments.read())?).ok()?;
    argument(&given, &["plan"])
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
            let Some(field) = &found.field else { return entry };
            let names_something = literals(&field.value).iter().any(|literal| literal.span.len() > 2);
            entry.weight *= match () {
                // The label of the call shows this value already.
                () if !names_something || entry.about.contains(&field.value) => UNNAMED,
                () if name_usage.is_used_after(&field.value, 0) => USED,
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
