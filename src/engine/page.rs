//! Gathers what a page shows of a conversation while the conversation is in memory, and writes the page.
//!
//! [`crate::report::html`] lays the page out. Secrets are masked here, before anything is drawn.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;

use crate::compact::{Compaction, CompactionPolicy, EarlierSummary, Planned, masked, redactor};
use crate::events::Drawn;
use crate::exit::Failure;
use crate::files::output::{self, CompleteFile, OutputFile};
use crate::plan::Plan;
use crate::redact::Redactor;
use crate::report::brief;
use crate::report::explain::Picture;
use crate::report::html::{Page, PageBuilder, PricedModel, Shown, picture};
use crate::rewrite::thinking::message_at;
use crate::rewrite::{Edit, Placed, edited, remaining};
use crate::settings::Settings;
use crate::tokens::Categories;
use crate::transcript::formats::read_entry;
use crate::transcript::view::Arena;
use crate::transcript::{Message, Transcript};

use crate::engine::inputs::Inputs;
use crate::wording::counted;

/// Draws a conversation and its compaction, by the plan and the counts of the compaction; nothing if it cannot be read
/// again with its secrets masked.
pub(super) fn draw(policy: &CompactionPolicy, source: &str, compaction: &mut Compaction<'_>) -> Option<Arc<Drawn>> {
    let transcript = compaction.planned.transcript;
    let mut masks = compaction.redactor.take().or_else(|| policy.redact.is_on().then(|| redactor(transcript)));
    let arena = Arena::default();
    let (before, after) = before_and_after(compaction, masks.as_mut(), &arena).ok()?;
    Some(Arc::new(draw_compaction(policy, source, compaction, before, after)))
}

/// Returns a conversation before and after its edits, with the secrets masked in both. `masks` has the placeholders that
/// the history got.
///
/// # Errors
/// It cannot be read again with its secrets masked.
pub(super) fn mask_both<'t>(
    compaction: &Compaction<'t>,
    masks: Option<Redactor>,
    arena: &'t Arena<'t>,
) -> Result<(&'t Transcript<'t>, &'t Transcript<'t>)> {
    let mut masks = masks.unwrap_or_else(|| redactor(compaction.planned.transcript));
    before_and_after(compaction, Some(&mut masks), arena)
}

/// Returns a conversation before and after its edits, masked if there are `masks`. Messages that the edits remove whole
/// stand in both, so that a message has one index.
fn before_and_after<'t>(
    compaction: &Compaction<'t>,
    mut masks: Option<&mut Redactor>,
    arena: &'t Arena<'t>,
) -> Result<(&'t Transcript<'t>, &'t Transcript<'t>)> {
    let transcript = compaction.planned.transcript;
    let is_left = |edit: &&Edit| compaction.plan.emptied.binary_search(&message_at(transcript, edit)).is_err();
    let edits: Vec<Edit> = compaction.edits.iter().filter(is_left).cloned().collect();
    let before = masked(transcript, &[], masks.as_deref_mut(), arena)?;
    let after = if edits.is_empty() { before } else { masked(transcript, &edits, masks, arena)? };
    let all = transcript.messages.len();
    // Messages that cannot be told apart any more are not shown as others.
    if (before.messages.len(), after.messages.len()) != (all, all) {
        return Err(Failure::unreadable("its messages cannot be told apart with their secrets masked").into());
    }
    Ok((before, after))
}

/// Returns the plan of a conversation whose history stayed, with the reason unless something was pruned.
fn plan_without_summary(compaction: &Compaction<'_>, is_pruned: bool) -> Plan {
    let planned = &compaction.planned.plan;
    let why = || compaction.error.clone().unwrap_or_else(|| "nothing was summarized".to_owned());
    let plan = Plan::of_nothing(planned.reason.clone().unwrap_or_else(why));
    Plan {
        wanted: planned.wanted,
        fired: planned.fired.clone(),
        triggered: planned.triggered,
        emptied: compaction.plan.emptied.clone(),
        reason: plan.reason.filter(|_| !is_pruned || compaction.error.is_some()),
        ..plan
    }
}

/// Returns the messages that stay with less in them, or that are removed whole, each with the tokens that it keeps.
fn pruned(compaction: &Compaction<'_>, before: &Transcript<'_>, after: &Transcript<'_>) -> BTreeMap<usize, u64> {
    let transcript = compaction.planned.transcript;
    let emptied = compaction.plan.emptied.iter().map(|&index| (index, 0));
    let both = before.messages.iter().zip(&after.messages).enumerate();
    let changed = both.filter(|(_, (before, after))| before.json.raw() != after.json.raw());
    let tally = &compaction.planned.tally;
    let kept = changed.filter_map(|(index, _)| {
        let entry = edited(transcript, index, &compaction.edits);
        Some((index, read_entry(transcript.format, &entry, |message| tally.edited(index, message))?))
    });
    kept.chain(emptied).collect()
}

fn draw_compaction(
    policy: &CompactionPolicy,
    source: &str,
    compaction: &Compaction<'_>,
    before: &Transcript<'_>,
    after: &Transcript<'_>,
) -> Drawn {
    let Planned { transcript, tally, .. } = &compaction.planned;
    let pruned = pruned(compaction, before, after);
    let plan = match compaction.summary {
        Some(_) => compaction.plan.clone(),
        None => plan_without_summary(compaction, !pruned.is_empty()),
    };
    let summary = compaction.summary.as_ref().map(|summary| &summary.placed);
    let archive = policy.archive.as_deref().filter(|_| compaction.is_change());
    let no_edits = &[][..];
    let of_plan = Picture {
        source,
        transcript: before,
        tally,
        plan: &plan,
        pruned,
        policy: &policy.cut,
        archive,
        earlier: &compaction.earlier,
        economy: None,
    };
    let earlier = compaction.earlier.iter().map(EarlierSummary::sentence);
    let decision = std::iter::once(of_plan.decision()).chain(earlier).collect::<Vec<_>>().join("; ");
    Drawn {
        messages: remaining(transcript, &plan, summary, no_edits).len(),
        decision,
        spent: Categories::of(before, tally, plan.start).rows(),
        picture: picture(&Shown { picture: of_plan, after, anchor: source }),
        summary: summary.map(|summary| summary_messages(transcript, policy, summary)).unwrap_or_default(),
        is_cut: compaction.is_change(),
        archive: archive.map(|archive| archive.display().to_string()),
        files: compaction.archived.files.len(),
    }
}

/// Returns the messages of a summary, without the fields that only the program of the session reads.
fn summary_messages(transcript: &Transcript<'_>, policy: &CompactionPolicy, summary: &Placed) -> Vec<(String, String)> {
    match summary {
        Placed::Beside(text) => vec![("beside the messages".to_owned(), text.clone())],
        Placed::Messages(entries) => {
            let read = |message: &Message<'_>| {
                let tokens = policy.counter.count(message);
                (format!("{}, {}", brief::role(message), counted(tokens, "token")), brief::text(message))
            };
            entries.iter().filter_map(|entry| read_entry(transcript.format, &entry.to_string(), read)).collect()
        }
    }
}

/// Returns an empty page for a run with `--html`.
pub(super) fn new_page(settings: &Settings) -> Option<PageBuilder> {
    settings.output.html.as_ref()?;
    let reader = settings.policy.reader.and_then(|model| {
        let price = model.input_price?;
        Some(PricedModel { name: format!("{}:{}", model.provider, model.name), price })
    });
    Some(PageBuilder::new(Page::new(reader, settings.action.is_read_only())))
}

/// Refuses a page that is one of `others`, or that cannot be written, before anything is done or paid for.
///
/// # Errors
/// Which of the two, and what to do.
pub(super) fn check(file: &Path, others: &[&Path]) -> Result<()> {
    let name = file.display();
    if file.as_os_str() == "-" {
        return Err(Failure::usage("--html -: standard output carries the transcript; name a file").into());
    }
    if others.iter().any(|other| output::same_place(file, other)) {
        let message = format!("--html {name} is another file of this command; name one of its own");
        return Err(Failure::usage(message).into());
    }
    output::check(Some(file)).map_err(|error| Failure::unreadable(format!("--html {error}")).into())
}

/// Writes the page. It is not in its place yet. It is as private as the most private of the inputs.
///
/// # Errors
/// It cannot be written; an earlier page stays unchanged.
pub(super) fn write(page: &str, file: &Path, inputs: &Inputs) -> Result<CompleteFile> {
    let mut written = OutputFile::begin_as(format!("--html {}", file.display()), file, None, inputs.readers())?;
    written.write(page.as_bytes())?;
    written.complete(None)
}
