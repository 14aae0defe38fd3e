//! What a page shows of a conversation, gathered while the conversation is there; and where the page goes.
//!
//! How it looks is [`crate::report::html`]'s. Secrets are masked here, before anything is drawn, where they are to be.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;

use crate::compact::{Compaction, CompactionPolicy, FittedPlan, masked, redactor};
use crate::events::{Drawn, Fact, FactPlace};
use crate::exit::Failure;
use crate::files::output::{self, Output};
use crate::plan::Plan;
use crate::report::brief;
use crate::report::explain::Picture;
use crate::report::html::{Page, PageInTheMaking, Reader, Shown, picture};
use crate::rewrite::redaction::Redactor;
use crate::rewrite::{Edit, Placed, remaining};
use crate::settings::Settings;
use crate::summary::record::{self, Record};
use crate::tokens::Categories;
use crate::transcript::formats::read_entry;
use crate::transcript::view::Arena;
use crate::transcript::{Message, Transcript};

use crate::engine::inputs::Inputs;

/// Draws a conversation and what was done to it, by the plan and the counts that it was done by; nothing where it cannot
/// be shown.
pub(super) fn drawn(policy: &CompactionPolicy, source: &str, done: &mut Compaction<'_>) -> Option<Arc<Drawn>> {
    let transcript = done.fitted.transcript;
    let mut masks = done.redactor.take().or_else(|| policy.redact.then(|| redactor(transcript)));
    let facts = done.facts.take();
    let arena = Arena::default();
    let both = before_and_after(transcript, &done.edits, masks.as_mut(), &arena).ok()?;
    Some(Arc::new(of_what_was_done(policy, source, done, both, facts)))
}

/// A conversation before and after some edits, with its secrets masked in both: as `redactor` masked those of its
/// history, where it did.
///
/// # Errors
/// It cannot be read again with its secrets masked.
pub(super) fn both_masked<'t>(
    transcript: &'t Transcript<'t>,
    edits: &[Edit],
    masks: Option<Redactor>,
    arena: &'t Arena<'t>,
) -> Result<(&'t Transcript<'t>, &'t Transcript<'t>)> {
    let mut masks = masks.unwrap_or_else(|| redactor(transcript));
    before_and_after(transcript, edits, Some(&mut masks), arena)
}

/// The same, with its secrets masked where there is something to mask them.
fn before_and_after<'t>(
    transcript: &'t Transcript<'t>,
    edits: &[Edit],
    mut masks: Option<&mut Redactor>,
    arena: &'t Arena<'t>,
) -> Result<(&'t Transcript<'t>, &'t Transcript<'t>)> {
    let before = masked(transcript, &[], masks.as_deref_mut(), arena)?;
    let after = if edits.is_empty() { before } else { masked(transcript, edits, masks, arena)? };
    let all = transcript.messages.len();
    // Whatever could not be read again like this is not shown as something else.
    if (before.messages.len(), after.messages.len()) != (all, all) {
        return Err(Failure::unreadable("its messages cannot be told apart with their secrets masked").into());
    }
    Ok((before, after))
}

/// The plan of a conversation whose history is there as it was, whatever was planned.
fn left(planned: &Plan, error: Option<&str>) -> Plan {
    let why = || error.unwrap_or("no summary took the place of anything").to_owned();
    let reason = planned.reason.clone().unwrap_or_else(why);
    Plan {
        wanted: planned.wanted,
        fired: planned.fired.clone(),
        triggered: planned.triggered,
        ..Plan::of_nothing(reason)
    }
}

fn of_what_was_done(
    policy: &CompactionPolicy,
    source: &str,
    done: &Compaction<'_>,
    (before, after): (&Transcript<'_>, &Transcript<'_>),
    facts: Option<Record>,
) -> Drawn {
    let FittedPlan { transcript, tally, .. } = &done.fitted;
    let plan = match done.summary {
        Some(_) => done.plan.clone(),
        None => left(&done.fitted.plan, done.account.error.as_deref()),
    };
    let summary = done.summary.as_ref().map(|summary| &summary.placed);
    let archive = policy.archive.as_deref().filter(|_| !done.archived.sections.is_empty());
    let no_edits = &[][..];
    let pruned = done.fitted.pruned_sizes();
    let picture_of =
        Picture { source, transcript: before, tally, plan: &plan, pruned, policy: &policy.cut, archive, economy: None };
    let decision = picture_of.decision();
    Drawn {
        messages: remaining(transcript, &plan, summary, no_edits).len(),
        decision,
        spent: Categories::of(before, tally, plan.start).rows(),
        picture: picture(&Shown { picture: picture_of, after, anchor: source }),
        summary: summary.map(|summary| put_in(transcript, policy, summary)).unwrap_or_default(),
        facts: summary.map(|summary| facts_of(policy, before, &plan, summary, facts)).unwrap_or_default(),
        archive: archive.map(|archive| archive.display().to_string()),
        files: done.archived.files.len(),
    }
}

/// The messages of a summary; what else it takes is for the program that a session is of.
fn put_in(transcript: &Transcript<'_>, policy: &CompactionPolicy, summary: &Placed) -> Vec<(String, String)> {
    match summary {
        Placed::Beside(text) => vec![("beside the messages".to_owned(), text.clone())],
        Placed::Messages(entries) => {
            let read = |message: &Message<'_>| {
                let tokens = policy.counter.count(message);
                (format!("{}, {tokens} tokens", brief::role(message)), brief::text(message))
            };
            entries.iter().filter_map(|entry| read_entry(transcript.format, &entry.to_string(), read)).collect()
        }
    }
}

/// The facts in what went, the most important first, and which of them the summary has. They are collected where that was
/// not done.
fn facts_of(
    policy: &CompactionPolicy,
    before: &Transcript<'_>,
    plan: &Plan,
    summary: &Placed,
    ledger: Option<Record>,
) -> Vec<Fact> {
    let collected = || {
        let indices = plan.summarized();
        let messages: Vec<&Message<'_>> = indices.iter().map(|&index| &before.messages[index]).collect();
        record::collect(&messages, &indices, &policy.cut.summary_prefix)
    };
    let ledger = ledger.unwrap_or_else(collected);
    let texts = put_in(before, policy, summary).into_iter().map(|(_, text)| text);
    let summary = texts.collect::<Vec<_>>().join("\n");
    let key = |entry: &record::Entry| (entry.kind, entry.about.clone(), entry.text.clone(), entry.index);
    // What is no longer there without the appended facts was one of these.
    let not_in_words: HashSet<_> = ledger.lacking(&own_words(policy, &summary)).into_iter().map(key).collect();
    let lacking: HashSet<_> = ledger.lacking(&summary).into_iter().map(key).collect();
    let mut entries: Vec<&record::Entry> = ledger.entries.iter().collect();
    entries.sort_by(|a, b| b.weight.total_cmp(&a.weight).then(a.index.cmp(&b.index)));
    let fact = |entry: &record::Entry| Fact {
        kind: entry.kind,
        text: match entry.about.as_str() {
            "" => entry.text.clone(),
            about => format!("{about} » {}", entry.text),
        },
        message: Some(entry.index).filter(|_| !entry.earlier),
        place: match (lacking.contains(&key(entry)), not_in_words.contains(&key(entry))) {
            (true, _) => FactPlace::Gone,
            (false, true) => FactPlace::Appended,
            (false, false) => FactPlace::Summary,
        },
    };
    entries.into_iter().map(fact).collect()
}

/// A summary without the facts that were appended to it. The embedded summarizer writes from the facts, and is lent none.
fn own_words(policy: &CompactionPolicy, summary: &str) -> String {
    if policy.summary.is_embedded() { summary.to_owned() } else { record::without(summary) }
}

/// The page of a run that begins.
pub(super) fn begun(settings: &Settings) -> Option<PageInTheMaking> {
    settings.output.html.as_ref()?;
    let reader = settings.policy.reader.and_then(|model| {
        let price = model.input_price?;
        Some(Reader { name: format!("{}:{}", model.provider, model.name), price })
    });
    Some(PageInTheMaking::new(Page::new(reader, settings.action.only_looks())))
}

/// Refuses a page that is one of `others`, or that cannot be written, before anything is done or paid for.
///
/// # Errors
/// Which of these, and what to do.
pub(super) fn check(file: &Path, others: &[&Path]) -> Result<()> {
    let name = file.display();
    if file.as_os_str() == "-" {
        return Err(Failure::usage("--html -: standard output carries the transcript; name a file").into());
    }
    if others.iter().any(|other| output::same_place(file, other)) {
        let message = format!("--html {name} is another file of this command; name one of its own");
        return Err(Failure::usage(message).into());
    }
    output::check(Some(file))
}

/// Writes the page: whole or not at all, and as private as the most private of the inputs.
///
/// # Errors
/// It cannot be written; what was there is as it was.
pub(super) fn write(page: PageInTheMaking, file: &Path, inputs: &Inputs) -> Result<()> {
    let files: Vec<&Path> = inputs.files().collect();
    // Until it is done it is its owner's alone, or whose the first of them is.
    let first = files.first().and_then(|first| fs::metadata(first).ok());
    let mut written = Output::begin(Some(file), None, first.as_ref())?;
    written.write(page.finish().as_bytes())?;
    written.end_as_private_as(&files)
}
