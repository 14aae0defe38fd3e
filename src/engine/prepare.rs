//! What is done to an input before it is compacted: updates in its lists of messages are applied (`RemoveMessage` of
//! `LangGraph`), and `--repair` repairs violations of the provider's rules.

use std::borrow::Cow;
use std::mem::{replace, take};

use anyhow::Result;

use crate::compact::{
    Archived, ChangedConversation, CompactionEvent, CompactionPolicy, Record, Section, archive_contents,
    assign_record_ids,
};
use crate::diagnostic::Advice;
use crate::events::{Event, Listener, RepairedBy, UnchangedReasons, UpdatedBy};
use crate::exit::Failure;
use crate::files::input::Input;
use crate::plan::breaches::{Breach, breaches};
use crate::plan::undecipherable;
use crate::rewrite::Edit;
use crate::rewrite::repair::{Repair, drop_compactions, repair_round, unrepairable_calls};
use crate::rewrite::state_updates::{StateUpdates, UnknownId, may_have_updates, state_updates};
use crate::rewrite::thinking::{self, Removal, Thinking};
use crate::rewrite::way_back::{ConversationChange, restore_infos};
use crate::settings::{Action, InputSettings};
use crate::transcript::Transcript;
use crate::transcript::framing::{Document, Lines};
use crate::transcript::record_id::RecordId;
use crate::transcript::source::Source;
use crate::transcript::view::Arena;
use crate::wording::readable_source;

use crate::engine::reading::{edited, read, source_name, unreadable};
use crate::engine::result::{ResultContent, TaskResult};
use crate::engine::task::Task;

/// Rounds of repair after which the rest counts as impossible to repair. Each kind of violation takes one or two
/// rounds; a chain in which each repair makes the next violation takes as many as it is long.
const ROUNDS: usize = 256;

/// An input as it is compacted.
pub(super) struct Prepared<'i> {
    pub(super) input: Cow<'i, Input>,
    /// What leads back to the text before.
    pub(super) archived: Archived,
    /// What was done to each conversation that had updates.
    pub(super) updates: Vec<AppliedUpdates>,
    /// The text that updates left without a line; what is compacted is a list without messages.
    pub(super) blank: Option<String>,
    /// What it was before it was repaired, if that changed anything.
    pub(super) unrepaired: Option<Cow<'i, Input>>,
    /// What was found in each conversation that was repaired.
    repaired: Vec<RepairedBy>,
}

/// What was done to a conversation.
pub(super) struct AppliedUpdates {
    /// The index of the conversation.
    conversation: usize,
    source: String,
    by: UpdatedBy,
}

/// What was done to a conversation before it was compacted.
#[derive(Default)]
pub(super) struct Preparation {
    pub(super) repaired: Option<RepairedBy>,
    pub(super) updated: Option<UpdatedBy>,
    /// Whether any of it changed the text.
    pub(super) is_change: bool,
}

impl Prepared<'_> {
    /// What was done to the conversation with this index.
    pub(super) fn of_conversation(&self, index: usize) -> Preparation {
        let repaired = self.repaired.get(index).copied().filter(|repaired| repaired.violations > 0);
        let updates = self.updates.iter().rfind(|updates| updates.conversation == index);
        let updated = updates.map(|updates| updates.by);
        let is_change = repaired.is_some() && self.unrepaired.is_some() || updated.is_some();
        Preparation { repaired, updated, is_change }
    }

    /// Whether the input was changed.
    pub(super) fn is_changed(&self) -> bool {
        !self.updates.is_empty() || self.unrepaired.is_some()
    }
}

impl<'r> Task<'r> {
    /// Applies the updates in the input, and repairs it with `--repair`.
    ///
    /// # Errors
    /// The input cannot be read; a message is to be removed that it does not have; or a violation remains because the
    /// format has no way to repair it.
    pub(super) fn prepare(&self) -> Result<Prepared<'r>> {
        let (input, settings, policy) = (self.input, self.run.settings, &*self.sink.policy);
        let updates = updates_of(input, &settings.input)?;
        let mut prepared = Prepared {
            input: Cow::Borrowed(input),
            archived: Archived::default(),
            updates: Vec::new(),
            blank: None,
            unrepaired: None,
            repaired: Vec::new(),
        };
        for one in &updates {
            let by = UpdatedBy { removed: one.removed, replaced: one.replaced };
            let source = name_of_line(input, one.line);
            prepared.updates.push(AppliedUpdates { conversation: one.conversation, source, by });
        }
        if !updates.is_empty() {
            if policy.has_records() {
                prepared.archived.sections = records(input, &updates);
            }
            let updated = applied(input, updates);
            if updated.text.trim_ascii().is_empty() {
                prepared.blank = Some(updated.text.clone());
            }
            prepared.input = Cow::Owned(readable(updated));
        }
        if settings.action != Action::Check
            && let Some(how) = settings.repair
        {
            let mut repaired = prepared.input.clone().into_owned();
            let (archived, found) = self.repair(&mut repaired, how)?;
            prepared.repaired = found;
            if repaired.bytes() != prepared.input.bytes() {
                prepared.archived.extend(archived);
                prepared.unrepaired = Some(replace(&mut prepared.input, Cow::Owned(repaired)));
            }
        }
        Ok(prepared)
    }

    /// Completes a result that was made of the prepared input, and reports what updates did.
    ///
    /// # Errors
    /// The result cannot be written, or what a repair changed cannot be drawn.
    pub(super) fn complete(&self, prepared: Prepared<'_>, result: &mut TaskResult) -> Result<()> {
        if self.run.settings.action != Action::Check {
            self.complete_content(&prepared, result)?;
        }
        let Prepared { mut archived, updates, .. } = prepared;
        let has_steps = !archived.sections.is_empty();
        archived.extend(take(&mut result.archived));
        if has_steps {
            archived.number_steps();
        }
        result.archived = archived;
        self.report_updates(&updates);
        Ok(())
    }

    fn complete_content(&self, prepared: &Prepared<'_>, result: &mut TaskResult) -> Result<()> {
        let whole = prepared.input.bytes();
        if prepared.is_changed() {
            self.sink.check_places(true)?;
            result.totals.unchanged_reasons = UnchangedReasons::default();
            result.note_compacted(self.run.settings.action.shows_changes());
        }
        // The writer has neither the changed text nor the lines, so edits of them are applied here.
        let has_edits = matches!(result.content, ResultContent::Edited(_));
        if has_edits && (prepared.is_changed() || self.input.as_lines) {
            result.content = ResultContent::Whole(result.content.pieces(whole).collect::<Vec<_>>().concat());
        }
        if let Some(blank) = &prepared.blank
            && !result.content.changes(whole)
        {
            result.content = blank.clone().into();
        }
        result.changed = result.content.changes(self.input.bytes());
        if self.run.settings.action == Action::Diff
            && let Some(before) = &prepared.unrepaired
        {
            let mut text = self.draw_repair(before, &prepared.input)?.into_bytes();
            text.extend(result.content.pieces(&[]).flatten());
            result.content = ResultContent::Whole(text);
        }
        Ok(())
    }

    /// Reports what updates did. A piece of a stream that fails is read again line by line, so this comes last.
    fn report_updates(&self, done: &[AppliedUpdates]) {
        let is_planned = self.run.settings.action.is_read_only();
        for AppliedUpdates { source, by, .. } in done {
            self.run.listeners.handle(&Event::Updated { source, updated: *by, is_planned });
        }
    }

    /// Repairs every violation in an input, and replaces its text. Returns the removed messages, for the archive, and what
    /// was found in each conversation.
    fn repair(&self, input: &mut Input, how: Repair) -> Result<(Archived, Vec<RepairedBy>)> {
        let (settings, policy) = (self.run.settings, &*self.sink.policy);
        let (mut archived, mut progress) = (Archived::default(), RepairProgress::default());
        let mut findings = Findings::default();
        for round in 0.. {
            let arena = Arena::default();
            let mut document = match read(&settings.input, policy, input, &arena) {
                // Without messages, some texts are no longer a transcript.
                Err(_) if round > 0 => return Err(leaves_nothing(&input.name, input.as_lines)),
                read => read?,
            };
            if round == 0 {
                findings = Findings::of(policy, input, &document, how);
            }
            if let Some((source, _)) = findings.emptied_in(&document) {
                return Err(leaves_nothing(source, input.as_lines));
            }
            // A repair that leaves nothing is not reported as done.
            if round == 1 {
                self.report_repair(&findings, how);
            }
            let edits = progress.next_edits(self, input, &document, how);
            if policy.has_records() && edits.iter().any(|edits| !edits.is_empty()) {
                assign_record_ids(&mut document, input.bytes(), input.lines_before);
            }
            let mut changed = Vec::new();
            for (transcript, edits) in document.transcripts.iter().zip(edits) {
                if !edits.is_empty() {
                    changed.push(ChangedConversation::repaired(transcript, source_name(input, transcript), edits));
                }
            }
            if changed.is_empty() || round == ROUNDS {
                let found: usize = document.transcripts.iter().map(|one| violations(policy, one, how)).sum();
                if found == 0 {
                    return Ok((archived, findings.conversations.into_iter().map(|(_, repaired)| repaired).collect()));
                }
                let source = readable_source(&input.name);
                return Err(Failure::unreadable(format!(
                    "{source}: --repair cannot repair {found} of the violations that tcompact check prints; without it the \
                     transcript is read as it is"
                ))
                .into());
            }
            let edits: Vec<Edit> = changed.iter().flat_map(|one| one.edits.iter().cloned()).collect();
            let next = edited(input, &edits);
            archived.extend(archive_contents(policy.has_records(), input.bytes(), changed));
            *input = next;
        }
        Ok((archived, Vec::new()))
    }

    /// Reports what was found and repaired.
    fn report_repair(&self, findings: &Findings, how: Repair) {
        let is_planned = self.run.settings.action.is_read_only();
        for (source, repaired) in &findings.conversations {
            if repaired.violations > 0 {
                self.run.listeners.handle(&Event::Repaired { source, repaired, how, is_planned });
            }
        }
        let calls = findings.unrepairable_calls;
        if how == Repair::Synthesize && calls > 0 {
            self.run.listeners.handle(&Event::CallsRemoved { source: &self.input.name, calls, is_planned });
        }
    }
}

/// What there is to repair in an input.
#[derive(Default)]
struct Findings {
    /// The name of each conversation, and what was found in it.
    conversations: Vec<(String, RepairedBy)>,
    /// The calls for which no result can be written.
    unrepairable_calls: usize,
}

impl Findings {
    fn of(policy: &CompactionPolicy, input: &Input, document: &Document<'_>, how: Repair) -> Self {
        let mut conversations = Vec::new();
        for one in &document.transcripts {
            let violations = violations(policy, one, how);
            let repaired = RepairedBy { violations, messages: one.messages.len() };
            conversations.push((source_name(input, one), repaired));
        }
        let unrepairable_calls = document.transcripts.iter().map(unrepairable_calls).sum();
        Findings { conversations, unrepairable_calls }
    }

    /// The first conversation that had messages and has none in the repaired document.
    fn emptied_in(&self, repaired: &Document<'_>) -> Option<&(String, RepairedBy)> {
        for (before, now) in self.conversations.iter().zip(&repaired.transcripts) {
            if before.1.messages > 0 && now.messages.is_empty() {
                return Some(before);
            }
        }
        None
    }
}

/// The refusal of a repair that would remove all messages of a conversation. Beside others it can stay as it is.
fn leaves_nothing(source: &str, has_others: bool) -> anyhow::Error {
    let source = readable_source(source);
    let message = format!("{source}: --repair would leave nothing: there are only results without calls");
    let failure = Failure::unreadable(message);
    if !has_others {
        return failure.into();
    }
    let advice = Advice::command(["--on-error", "passthrough"]).note("to leave such a conversation unchanged");
    failure.try_next(advice).into()
}

/// The compactions of a conversation that its reader cannot decrypt.
pub(super) fn undecipherable(policy: &CompactionPolicy, transcript: &Transcript<'_>) -> Vec<Breach> {
    let drops_all = policy.thinking == Thinking::Drop;
    undecipherable::undecipherable(transcript, policy.reader_name(), drops_all)
}

/// The edits that drop them.
fn without_undecipherable(policy: &CompactionPolicy, transcript: &Transcript<'_>) -> Vec<Edit> {
    let found = undecipherable(policy, transcript);
    if found.is_empty() {
        return Vec::new();
    }
    let drops_all = policy.thinking == Thinking::Drop;
    let needless = undecipherable::needless_entries(transcript, policy.reader_name(), drops_all);
    drop_compactions(transcript, &found, &needless)
}

/// The number of violations that a repair is for. Only one that drops can do without a compaction.
fn violations(policy: &CompactionPolicy, transcript: &Transcript<'_>, how: Repair) -> usize {
    let compactions = if how == Repair::Drop { undecipherable(policy, transcript).len() } else { 0 };
    breaches(transcript).len() + compactions
}

/// The thinking to remove: after the summary of an earlier compaction, and from the message `changed` on.
pub(super) fn stale_thinking(
    policy: &CompactionPolicy,
    transcript: &Transcript<'_>,
    changed: Option<usize>,
) -> Removal {
    let messages = transcript.messages.len();
    let changed = changed.unwrap_or(messages);
    let compacted = thinking::compacted(transcript).map_or(messages, |compacted| compacted + 1);
    let mut stale = Vec::new();
    for index in changed.min(compacted)..messages {
        if index >= changed || !thinking::was_written_behind_summary(transcript, index) {
            stale.push(index);
        }
    }
    thinking::removal(transcript, stale.into_iter(), policy.thinking, policy.reader_name())
}

/// What the rounds of a repair have done so far.
#[derive(Default)]
struct RepairProgress {
    /// The first repaired message of each conversation.
    first_repaired: Vec<Option<usize>>,
    /// Whether stale thinking is removed, which comes after all repairs.
    has_removed_thinking: bool,
}

impl RepairProgress {
    /// The edits of the next round, for each conversation of a document.
    fn next_edits(&mut self, task: &Task<'_>, input: &Input, document: &Document<'_>, how: Repair) -> Vec<Vec<Edit>> {
        let (policy, transcripts) = (&*task.sink.policy, &document.transcripts);
        let mut edits: Vec<Vec<Edit>> = Vec::new();
        for one in transcripts {
            // What comes back without a compaction can have violations, too.
            let dropped = if how == Repair::Drop { without_undecipherable(policy, one) } else { Vec::new() };
            edits.push(if dropped.is_empty() { repair_round(one, how) } else { dropped });
        }
        self.first_repaired.resize(edits.len(), None);
        for ((transcript, edits), first) in transcripts.iter().zip(&edits).zip(&mut self.first_repaired) {
            if let Some(edit) = edits.first() {
                let repaired = thinking::message_at(transcript, edit);
                *first = Some(first.map_or(repaired, |first| first.min(repaired)));
            }
        }
        if self.has_removed_thinking || !edits.iter().all(Vec::is_empty) {
            return edits;
        }
        // Thinking was signed for the messages before it, and providers refuse it once these changed.
        self.has_removed_thinking = true;
        let mut edits = Vec::with_capacity(transcripts.len());
        for (transcript, first) in transcripts.iter().zip(&self.first_repaired) {
            let mut removal = stale_thinking(policy, transcript, *first);
            // What was signed behind thinking that goes does not fit any more either.
            if let Some(&earliest) = removal.messages.first() {
                let changed = first.map_or(earliest, |first| first.min(earliest));
                removal = stale_thinking(policy, transcript, Some(changed));
            }
            let (source, what) = (source_name(input, transcript), CompactionEvent::Thinking(&removal));
            task.run.listeners.handle(&Event::Compacting { source: &source, what, reader: None });
            edits.push(removal.all_edits(transcript));
        }
        edits
    }
}

/// Applies the updates in an input that is only read.
///
/// # Errors
/// As [`Task::prepare`].
pub(super) fn with_updates<'i>(input: &'i Input, settings: &InputSettings) -> Result<Cow<'i, Input>> {
    let updates = updates_of(input, settings)?;
    Ok(if updates.is_empty() { Cow::Borrowed(input) } else { Cow::Owned(readable(applied(input, updates))) })
}

/// The input to read: where no line is left, a list without messages.
fn readable(mut updated: Input) -> Input {
    if updated.text.trim_ascii().is_empty() {
        updated.set_bytes(b"[]".to_vec());
    }
    updated
}

/// The updates in each conversation of an input that has any.
fn updates_of(input: &Input, settings: &InputSettings) -> Result<Vec<StateUpdates>> {
    if !may_have_updates(&input.text) {
        return Ok(Vec::new());
    }
    let source = Source::of_file(&input.text).map_err(|error| unreadable(input, error.into()))?;
    let lines = if input.as_lines { Some(Lines::Conversations) } else { settings.lines };
    match state_updates(&source, settings.from, lines) {
        Ok(mut updates) => {
            for one in &mut updates {
                one.line = one.line.map(|line| line + input.lines_before);
            }
            Ok(updates)
        }
        Err(UnknownId { line, index, id }) => {
            let source = name_of_line(input, line.map(|line| line + input.lines_before));
            let message = format!(
                "{}: message {index} removes the message with the id {id:?}, and no message before it has this id; give the \
                 whole list of messages, with the removed one, or leave this entry out",
                readable_source(&source)
            );
            Err(Failure::unreadable(message).into())
        }
    }
}

fn applied(input: &Input, updates: Vec<StateUpdates>) -> Input {
    let edits: Vec<Edit> = updates.into_iter().flat_map(|one| one.edits).collect();
    edited(input, &edits)
}

/// The records that restore the text before.
fn records(input: &Input, updates: &[StateUpdates]) -> Vec<Section> {
    let mut changes = Vec::with_capacity(updates.len());
    for one in updates {
        changes.push(ConversationChange::of_list(one.line, one.start, one.entry, one.edits.clone()));
    }
    let mut records = Vec::with_capacity(updates.len());
    for (one, info) in updates.iter().zip(restore_infos(input.bytes(), &changes)) {
        let nth = if info.line.is_some() { one.nth_of_line } else { one.conversation + 1 };
        let id = RecordId::new(&info.original_sha256, nth);
        records.push(Record::of_change(name_of_line(input, one.line), one.line, id, info).section());
    }
    records
}

fn name_of_line(input: &Input, line: Option<usize>) -> String {
    match line {
        Some(line) => format!("{}:{line}", input.name),
        None => input.name.clone(),
    }
}
