//! Looking for breaches of the provider's rules, and mending them before anything else is done.

use anyhow::Result;

use crate::exit::Failure;
use crate::files::input::Input;
use crate::plan::breaches::{Breach, Rule, breaches};
use crate::report::reporter::Reporter;
use crate::rewrite::repair::{Repair, mended, without_way};
use crate::rewrite::thinking::{self, Removal};
use crate::rewrite::{self, Edit};
use crate::settings::Settings;
use crate::transcript::Transcript;
use crate::transcript::framing::Document;
use crate::wording::readable_source;

use crate::engine::archive::{self, Archived, Changed};
use crate::engine::{json, read, source_name};

/// Rounds of mending after which what is left cannot be mended. Each kind of breach takes one or two, and a chain in which
/// one makes the next as many as it is long.
const ROUNDS: usize = 256;

/// Says every breach of an input, and whether there is any.
///
/// # Errors
/// The input cannot be read.
pub(super) fn check(settings: &Settings, input: &Input) -> Result<bool> {
    let source = json(input)?;
    let document = read(settings, input, &source)?;
    let reporter = Reporter::new(settings);
    let mut found = false;
    for transcript in &document.transcripts {
        let thinking = stale_thinking(settings, transcript, None).messages.into_iter();
        let thinking = thinking.map(|message| Breach { message, rule: Rule::Thinking, id: None });
        let mut breaches: Vec<Breach> = breaches(transcript).into_iter().chain(thinking).collect();
        breaches.sort_by_key(|breach| breach.message);
        for breach in &breaches {
            reporter.breach(&source_name(input, transcript), breach);
            found = true;
        }
    }
    Ok(found)
}

/// The thinking behind what a compaction left, and behind the message of that index, which is another now.
fn stale_thinking(settings: &Settings, transcript: &Transcript<'_>, changed: Option<usize>) -> Removal {
    let compacted = thinking::compacted(transcript, &settings.policy.summary_prefix);
    let changed = [changed, compacted.map(|compacted| compacted + 1)].into_iter().flatten().min();
    let messages = transcript.messages.len();
    thinking::removal(transcript, changed.unwrap_or(messages)..messages, settings.thinking, settings.reader_name())
}

/// Mends every breach of an input: its text is then the mended one. Gives what is to be kept of the one before.
///
/// # Errors
/// The input cannot be read; or a breach is left, since the format has no way to mend it.
pub(super) fn repair(settings: &Settings, input: &mut Input, how: Repair) -> Result<Archived> {
    let mut archived = Archived::default();
    let breaches_in = |document: &Document<'_>| document.transcripts.iter().map(|one| breaches(one).len()).sum();
    let mut rounds = 0;
    // For each conversation, the first message that was mended.
    let mut first_mended: Vec<Option<usize>> = Vec::new();
    let mut thinking_looked_at = false;
    let left: usize = loop {
        let source = json(input)?;
        let document = match read(settings, input, &source) {
            // What was read before and is none now has lost all its messages.
            Err(_) if rounds > 0 => {
                let source = readable_source(&input.name);
                let message = format!("{source}: --repair would leave nothing: there are only results without calls");
                return Err(Failure::unreadable(message).into());
            }
            read => read?,
        };
        if rounds == 0 {
            let reporter = Reporter::new(settings);
            reporter.repairing(&input.name, breaches_in(&document));
            if how == Repair::Synthesize {
                reporter.dropping(&input.name, document.transcripts.iter().map(without_way).sum());
            }
        }
        let found = breaches_in(&document);
        let of_one = |(transcript, edits)| Changed {
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
                let removal = stale_thinking(settings, transcript, *first);
                Reporter::new(settings).thinking(&source_name(input, transcript), &removal);
                removal.all_edits(transcript)
            };
            edits = document.transcripts.iter().zip(&first_mended).map(of_one).collect();
        }
        let mut changed: Vec<Changed<'_, '_>> = document.transcripts.iter().zip(edits).map(of_one).collect();
        changed.retain(|one| !one.edits.is_empty());
        if changed.is_empty() || rounds == ROUNDS {
            break found;
        }
        let edits: Vec<Edit> = changed.iter().flat_map(|one| one.edits.iter().cloned()).collect();
        let text = rewrite::apply(document.source, &edits);
        archived.extend(archive::kept(settings, document.source, &edits, changed));
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
    Ok(archived)
}
