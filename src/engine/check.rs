//! Looking for breaches of the provider's rules, and mending them before anything else is done.

use anyhow::Result;

use crate::compact::{Archived, ChangedConversation, CompactionPolicy, Happening, kept};
use crate::events::{Event, RepairedBy};
use crate::exit::Failure;
use crate::files::input::Input;
use crate::plan::breaches::{Breach, Rule, breaches};
use crate::rewrite::repair::{Repair, mended, without_way};
use crate::rewrite::thinking::{self, Removal};
use crate::rewrite::{self, Edit};
use crate::transcript::Transcript;
use crate::transcript::framing::Document;
use crate::wording::readable_source;

use crate::engine::read::{json, read, source_name};
use crate::engine::task::InputTask;

/// Rounds of mending after which what is left cannot be mended. Each kind of breach takes one or two, and a chain in which
/// one makes the next as many as it is long.
const ROUNDS: usize = 256;

/// Says every breach of an input, and whether there is any.
///
/// # Errors
/// The input cannot be read.
pub(super) fn check(task: &InputTask<'_>) -> Result<bool> {
    let InputTask { input, settings, policy, .. } = *task;
    let source = json(input)?;
    let document = read(&settings.input, policy, input, &source)?;
    let mut found = false;
    for transcript in &document.transcripts {
        let thinking = stale_thinking(policy, transcript, None).messages.into_iter();
        let thinking = thinking.map(|message| Breach { message, rule: Rule::Thinking, id: None });
        let mut breaches: Vec<Breach> = breaches(transcript).into_iter().chain(thinking).collect();
        breaches.sort_by_key(|breach| breach.message);
        for breach in &breaches {
            task.tell(Event::Breach { source: &source_name(input, transcript), breach });
            found = true;
        }
    }
    Ok(found)
}

/// The thinking behind what a compaction left, and behind the message of that index, which is another now.
fn stale_thinking(policy: &CompactionPolicy, transcript: &Transcript<'_>, changed: Option<usize>) -> Removal {
    let compacted = thinking::compacted(transcript, &policy.cut.summary_prefix);
    let changed = [changed, compacted.map(|compacted| compacted + 1)].into_iter().flatten().min();
    let messages = transcript.messages.len();
    thinking::removal(transcript, changed.unwrap_or(messages)..messages, policy.thinking, policy.reader_name())
}

/// Mends every breach of an input: its text is then the mended one. Gives what is to be kept of the one before, and what
/// was found in each conversation.
///
/// # Errors
/// The input cannot be read; or a breach is left, since the format has no way to mend it.
pub(super) fn repair(task: &InputTask<'_>, input: &mut Input, how: Repair) -> Result<(Archived, Vec<RepairedBy>)> {
    let InputTask { settings, policy, .. } = *task;
    let mut archived = Archived::default();
    let mut repaired = Vec::new();
    let breaches_in = |document: &Document<'_>| document.transcripts.iter().map(|one| breaches(one).len()).sum();
    let mut rounds = 0;
    // For each conversation, the first message that was mended.
    let mut first_mended: Vec<Option<usize>> = Vec::new();
    let mut thinking_looked_at = false;
    let left: usize = loop {
        let source = json(input)?;
        let document = match read(&settings.input, policy, input, &source) {
            // What was read before and is none now has lost all its messages.
            Err(_) if rounds > 0 => {
                let source = readable_source(&input.name);
                let message = format!("{source}: --repair would leave nothing: there are only results without calls");
                return Err(Failure::unreadable(message).into());
            }
            read => read?,
        };
        if rounds == 0 {
            let source = &input.name;
            let of_one =
                |one: &Transcript<'_>| RepairedBy { violations: breaches(one).len(), messages: one.messages.len() };
            repaired = document.transcripts.iter().map(of_one).collect();
            for (transcript, repaired) in
                document.transcripts.iter().zip(&repaired).filter(|(_, one)| one.violations > 0)
            {
                task.tell(Event::Repaired { source: &source_name(input, transcript), repaired, how });
            }
            let calls = document.transcripts.iter().map(without_way).sum();
            if how == Repair::Synthesize && calls > 0 {
                task.tell(Event::CallsRemoved { source, calls });
            }
        }
        let found = breaches_in(&document);
        let of_one = |(transcript, edits)| ChangedConversation {
            transcript,
            source: source_name(input, transcript),
            edits,
            removed: Vec::new(),
            archived: Archived::default(),
        };
        let mut edits: Vec<Vec<Edit>> = document.transcripts.iter().map(|one| mended(one, how)).collect();
        first_mended.resize(edits.len(), None);
        for ((transcript, edits), first) in document.transcripts.iter().zip(&edits).zip(&mut first_mended) {
            let mended = edits.first().map(|edit| thinking::message_at(transcript, edit));
            *first = [*first, mended].into_iter().flatten().min();
        }
        if edits.iter().all(Vec::is_empty) && !thinking_looked_at {
            // What was signed for the messages before it is refused once these are mended.
            thinking_looked_at = true;
            let of_one = |(transcript, first): (&Transcript<'_>, &Option<usize>)| {
                let removal = stale_thinking(policy, transcript, *first);
                let (source, what) = (source_name(input, transcript), Happening::Thinking(&removal));
                task.tell(Event::Compacting { source: &source, what, reader: None });
                removal.all_edits(transcript)
            };
            edits = document.transcripts.iter().zip(&first_mended).map(of_one).collect();
        }
        let mut changed: Vec<ChangedConversation<'_, '_>> =
            document.transcripts.iter().zip(edits).map(of_one).collect();
        changed.retain(|one| !one.edits.is_empty());
        if changed.is_empty() || rounds == ROUNDS {
            break found;
        }
        let edits: Vec<Edit> = changed.iter().flat_map(|one| one.edits.iter().cloned()).collect();
        let text = rewrite::apply(document.source, &edits);
        archived.extend(kept(policy.has_records(), document.source, &edits, changed));
        input.text = text;
        rounds += 1;
    };
    if left > 0 {
        let message = format!(
            "{}: --repair cannot mend {left} of the breaches that --check prints; without it the transcript is read as it is",
            readable_source(&input.name)
        );
        return Err(Failure::unreadable(message).into());
    }
    Ok((archived, repaired))
}
