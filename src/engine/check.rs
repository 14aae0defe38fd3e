//! `--check` and `--repair`: violations of the provider's rules.

use anyhow::Result;

use crate::compact::{Archived, ChangedConversation, CompactionEvent, CompactionPolicy, archive_contents};
use crate::events::{Event, RepairedBy};
use crate::exit::Failure;
use crate::files::input::Input;
use crate::plan::breaches::{Breach, ProviderRule, breaches};
use crate::plan::reasoning;
use crate::redact::Redactor;
use crate::rewrite::repair::{Repair, repair_round, unrepairable_calls};
use crate::rewrite::thinking::{self, Removal};
use crate::rewrite::{self, Edit};
use crate::transcript::Transcript;
use crate::transcript::framing::Document;
use crate::wording::readable_source;

use crate::engine::read::{json, read, source_name};
use crate::engine::task::Task;

/// Rounds of repair after which the rest counts as impossible to repair. Each kind of violation takes one or two
/// rounds; a chain in which each repair makes the next violation takes as many as it is long.
const ROUNDS: usize = 256;

/// Reports every violation in an input, and returns whether there is any.
///
/// # Errors
/// The input cannot be read.
pub(super) fn check(task: &Task<'_>) -> Result<bool> {
    let Task { input, settings, policy, .. } = *task;
    let source = json(input)?;
    let document = read(&settings.input, policy, input, &source)?;
    task.note_broken_lines(&document);
    let mut found = false;
    for transcript in &document.transcripts {
        let thinking = stale_thinking(policy, transcript, None).messages.into_iter();
        let thinking = thinking.map(|message| Breach { message, rule: ProviderRule::Thinking, id: None });
        let unreasoned = reasoning::missing(transcript, policy.reader_name());
        let mut breaches: Vec<Breach> = breaches(transcript).into_iter().chain(thinking).chain(unreasoned).collect();
        breaches.sort_by_key(|breach| breach.message);
        let ids = breaches.iter_mut().filter_map(|breach| breach.id.as_mut());
        ids.filter(|_| policy.redact.is_on()).for_each(|id| *id = Redactor::default().mask(id).into_owned());
        for breach in &breaches {
            task.notify(Event::Breach { source: &source_name(input, transcript), breach });
            found = true;
        }
    }
    Ok(found)
}

/// Returns the conversations that still have violations once they are changed, with the number of these.
pub(super) fn violations_left(
    task: &Task<'_>,
    document: &Document<'_>,
    changed: &[&Transcript<'_>],
    edits: &[Edit],
) -> Vec<(String, usize)> {
    let reader = task.policy.reader_name();
    let count = |one: &Transcript<'_>| breaches(one).len() + reasoning::missing(one, reader).len();
    // A change causes no violation, except that --fit may remove reasoning which the model wants back.
    let can_have_some = |one: &&Transcript<'_>| count(one) > 0 || reasoning::wanted_back(one, reader).is_some();
    if !changed.iter().any(can_have_some) {
        return Vec::new();
    }
    let mut result = task.input.clone();
    result.set_bytes(rewrite::pieces(task.input.bytes(), edits).collect::<Vec<_>>().concat());
    let Ok(source) = json(&result) else { return Vec::new() };
    let Ok(result) = read(&task.settings.input, task.policy, &result, &source) else { return Vec::new() };
    let mut changed = changed.iter().peekable();
    let mut is_changed = |one: &Transcript<'_>| changed.next_if(|changed| std::ptr::eq(**changed, one)).is_some();
    let left = document.transcripts.iter().zip(&result.transcripts).filter(|(before, _)| is_changed(before));
    let left = left.map(|(before, after)| (source_name(task.input, before), count(after)));
    left.filter(|(_, violations)| *violations > 0).collect()
}

/// Returns the thinking to remove: after the summary of an earlier compaction, and from the message `changed` on.
fn stale_thinking(policy: &CompactionPolicy, transcript: &Transcript<'_>, changed: Option<usize>) -> Removal {
    let compacted = thinking::compacted(transcript);
    let changed = [changed, compacted.map(|compacted| compacted + 1)].into_iter().flatten().min();
    let messages = transcript.messages.len();
    thinking::removal(transcript, changed.unwrap_or(messages)..messages, policy.thinking, policy.reader_name())
}

/// Repairs every violation in an input, and replaces its text. Returns the removed messages, for the archive, and what was
/// found in each conversation.
///
/// # Errors
/// The input cannot be read; or a violation remains because the format has no way to repair it.
pub(super) fn repair(task: &Task<'_>, input: &mut Input, how: Repair) -> Result<(Archived, Vec<RepairedBy>)> {
    let Task { settings, policy, .. } = *task;
    let (mut archived, mut progress) = (Archived::default(), RepairProgress::default());
    let mut repaired = Vec::new();
    let is_planned = settings.action.is_read_only();
    for round in 0.. {
        let source = json(input)?;
        let document = match read(&settings.input, policy, input, &source) {
            // The repair has removed all messages of a transcript.
            Err(_) if round > 0 => {
                let source = readable_source(&input.name);
                let message = format!("{source}: --repair would leave nothing: there are only results without calls");
                return Err(Failure::unreadable(message).into());
            }
            read => read?,
        };
        let found = document.transcripts.iter().map(|one| breaches(one).len()).sum();
        if round == 0 {
            let source = &input.name;
            let of_one =
                |one: &Transcript<'_>| RepairedBy { violations: breaches(one).len(), messages: one.messages.len() };
            repaired = document.transcripts.iter().map(of_one).collect();
            for (transcript, repaired) in
                document.transcripts.iter().zip(&repaired).filter(|(_, one)| one.violations > 0)
            {
                task.notify(Event::Repaired { source: &source_name(input, transcript), repaired, how, is_planned });
            }
            let calls = document.transcripts.iter().map(unrepairable_calls).sum();
            if how == Repair::Synthesize && calls > 0 {
                task.notify(Event::CallsRemoved { source, calls, is_planned });
            }
        }
        let edits = progress.next_edits(task, &document, how);
        let changed =
            |(transcript, edits)| ChangedConversation::repaired(transcript, source_name(input, transcript), edits);
        let mut changed: Vec<ChangedConversation<'_, '_>> =
            document.transcripts.iter().zip(edits).map(changed).collect();
        changed.retain(|one| !one.edits.is_empty());
        if changed.is_empty() || round == ROUNDS {
            if found > 0 {
                return Err(irreparable(input, found).into());
            }
            break;
        }
        let edits: Vec<Edit> = changed.iter().flat_map(|one| one.edits.iter().cloned()).collect();
        let bytes = rewrite::pieces(input.bytes(), &edits).collect::<Vec<_>>().concat();
        archived.extend(archive_contents(policy.has_records(), input.bytes(), changed));
        input.set_bytes(bytes);
    }
    Ok((archived, repaired))
}

fn irreparable(input: &Input, violations: usize) -> Failure {
    Failure::unreadable(format!(
        "{}: --repair cannot repair {violations} of the violations that --check prints; without it the transcript is read \
         as it is",
        readable_source(&input.name)
    ))
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
    /// Returns the edits of the next round, for each conversation of a document.
    fn next_edits(&mut self, task: &Task<'_>, document: &Document<'_>, how: Repair) -> Vec<Vec<Edit>> {
        let transcripts = &document.transcripts;
        let edits: Vec<Vec<Edit>> = transcripts.iter().map(|one| repair_round(one, how)).collect();
        self.first_repaired.resize(edits.len(), None);
        for ((transcript, edits), first) in transcripts.iter().zip(&edits).zip(&mut self.first_repaired) {
            let repaired = edits.first().map(|edit| thinking::message_at(transcript, edit));
            *first = [*first, repaired].into_iter().flatten().min();
        }
        if self.has_removed_thinking || !edits.iter().all(Vec::is_empty) {
            return edits;
        }
        // Thinking was signed for the messages before it, and providers refuse it once these changed.
        self.has_removed_thinking = true;
        let removal_of = |(transcript, first): (&Transcript<'_>, &Option<usize>)| {
            let removal = stale_thinking(task.policy, transcript, *first);
            let (source, what) = (source_name(task.input, transcript), CompactionEvent::Thinking(&removal));
            task.notify(Event::Compacting { source: &source, what, reader: None });
            removal.all_edits(transcript)
        };
        transcripts.iter().zip(&self.first_repaired).map(removal_of).collect()
    }
}
