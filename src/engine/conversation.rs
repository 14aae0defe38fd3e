//! One conversation's way: planned, summarized, and what is made of both as edits of its source.
//!
//! Several steps look at the conversation with some of its messages shortened. Those edits are made on a copy to look at;
//! the result is always made of the source, with the edits that fall into what stays.

use std::cell::RefCell;
use std::sync::atomic::Ordering;

use anyhow::Result;

use crate::exit::Failure;
use crate::fault::{self, Part};
use crate::plan::carried::{Carried, carried};
use crate::plan::{Plan, plan, total};
use crate::report::json::DryRun;
use crate::report::reporter::Reporter;
use crate::rewrite::redaction::Redactor;
use crate::rewrite::{self, Edit, Placed, media, reasoning, thinking};
use crate::settings::{Explain, Settings};
use crate::summary::exchange::SummaryBackend;
use crate::tokens::Tally;
use crate::transcript::Transcript;
use crate::transcript::view::{Arena, view};

use crate::engine::account::Account;
use crate::engine::archive::{self, Archived, MEDIA};
use crate::engine::work::{Accepted, SummarySource, Work};
use crate::engine::{check_state, economy, files, page, policy};

/// What was done to a conversation.
pub(super) struct Compaction {
    /// Where it was cut.
    pub(super) plan: Plan,
    /// What took the place of its history, where that went.
    pub(super) summary: Option<Placed>,
    /// What else is changed, in what stays; in order.
    pub(super) edits: Vec<Edit>,
    /// What is to be kept elsewhere.
    pub(super) archived: Archived,
}

/// Where a conversation would be cut: the plan, and the conversation that it was made for, are given to `show`.
pub(super) fn look(
    settings: &Settings,
    transcript: &Transcript<'_>,
    show: impl FnOnce(&Transcript<'_>, &Tally<'_, '_>, &Plan),
) {
    let early = early_edits(settings, transcript);
    let arena = Arena::default();
    // A conversation that was read can be read again; where it could not, there is nothing to show.
    let Ok(prepared) = view(transcript, &early, &arena) else { return };
    let tally = Tally::new(settings.counter, &prepared.messages);
    show(prepared, &tally, &decided(settings, prepared, &tally));
}

/// A conversation to be compacted.
#[derive(Clone, Copy)]
pub(super) struct Task<'t, 'a> {
    pub(super) settings: &'t Settings,
    /// Its name.
    pub(super) source: &'t str,
    /// How it is drawn, if it is.
    pub(super) explain: Option<Explain>,
    pub(super) transcript: &'t Transcript<'a>,
    /// Who writes the summary, unless the settings name the embedded summarizer.
    pub(super) answers: &'t dyn SummaryBackend,
}

/// Compacts one conversation, or nothing where nothing is to be done.
///
/// # Errors
/// There is no summary and the settings do not say what to put in its place; or what is left is too much.
pub(super) fn conversation(task: Task<'_, '_>, account: &mut Account) -> Result<Option<Compaction>> {
    let Task { settings, transcript, .. } = task;
    let early = early_edits(settings, transcript);
    let arena = Arena::default();
    let prepared = edited(transcript, &early, &arena).inspect_err(|error| account.error = Some(error.to_string()))?;
    let tally = Tally::new(settings.counter, &prepared.messages);
    let plan = decided(settings, prepared, &tally);
    let done = worked(task, prepared, &early, &plan, &tally, account);
    settle(task, account, &done);
    let is_drawn = || account.lost() >= settings.least_drawn.load(Ordering::Relaxed);
    if let (true, Ok(done)) = (settings.html.is_some() && is_drawn(), &done) {
        // A page is worth no result: a fault costs only what it would show.
        account.page = fault::caught(Part::Page, || page::drawn(task, account, done.as_ref(), &plan, &tally))
            .unwrap_or_else(|fault| {
                Reporter::new(settings).not_drawn(task.source, &fault);
                None
            });
    }
    done
}

/// Accounts for what was done: tokens, money, and what went wrong.
fn settle(task: Task<'_, '_>, account: &mut Account, done: &Result<Option<Compaction>>) {
    let settings = task.settings;
    match done {
        Ok(Some(done)) if settings.needs_costs() => {
            account.tokens_after = Some(files::left(settings, task.transcript, done));
        }
        Ok(_) => {}
        Err(error) => account.error = Some(error.to_string()),
    }
    if let (Some((before, after)), true) = (account.tokens_before.zip(account.tokens_after), account.by.is_some()) {
        let economy = economy::actual(settings, before, after, &account.bill);
        account.economy = Some(economy);
        Reporter::new(settings).economy(task.source, Some(&economy), false);
    }
    if let Some(error) = account.error.take_if(|_| settings.redact) {
        // What a server or a command says in an error can be of the conversation.
        let redactor = account.redactor.get_or_insert_with(|| redactor(task.transcript));
        account.error = Some(redactor.mask(&error).into_owned());
    }
}

/// Does what is planned for a conversation, `prepared` by its early edits.
fn worked(
    task: Task<'_, '_>,
    prepared: &Transcript<'_>,
    early: &[Edit],
    plan: &Plan,
    tally: &Tally<'_, '_>,
    account: &mut Account,
) -> Result<Option<Compaction>> {
    let Task { settings, source, transcript, explain, .. } = task;
    let reporter = Reporter::new(settings);
    // A dry run has said so already.
    if !settings.dry_run {
        reporter.planned(source, prepared, plan, tally);
        reporter.refused(source, plan);
    }
    account.saving = explain.and_then(|how| {
        let economy = economy::estimated(settings, prepared, plan, tally);
        let arena = Arena::default();
        let shown = shown(settings, prepared, &arena)?;
        reporter.explained(how, source, shown, plan, tally, economy.as_ref())
    });
    account.tokens_before = settings.needs_costs().then(|| total(prepared, tally, &settings.policy));
    if settings.has_report() {
        account.plan = DryRun::new(source, prepared, plan, tally, settings).to_value();
    }
    if plan.cutoff == 0 {
        let whole = only_shortened(task, plan.clone(), early.to_vec());
        let done = if whole.plan.triggered { files::fitted(settings, source, transcript, whole)? } else { whole };
        reporter.not_summarized(source, !early.is_empty(), !done.archived.files.is_empty());
        return Ok(Some(done).filter(|done| !done.edits.is_empty()));
    }
    if !settings.dry_run {
        reporter.parted(source, plan);
    }
    files::check(settings, prepared, tally, plan)?;
    check_state(settings, source, prepared, plan)?;
    compacted(task, prepared, early.to_vec(), plan.clone(), account)
}

/// A conversation of which nothing is summarized, with some edits; thinking behind the first of these may go.
fn only_shortened(task: Task<'_, '_>, plan: Plan, mut edits: Vec<Edit>) -> Compaction {
    let Task { settings, source, transcript, .. } = task;
    let messages = transcript.messages.len();
    let behind = edits.first().map_or(messages, |edit| thinking::message_at(transcript, edit) + 1);
    let removal = thinking::removal(transcript, behind..messages, settings.thinking, settings.reader_name());
    Reporter::new(settings).thinking(source, &removal);
    let plan = Plan { emptied: removal.emptied.clone(), ..plan };
    edits.extend(removal.all_edits(transcript));
    rewrite::sort(&mut edits);
    Compaction { plan, summary: None, edits, archived: Archived::default() }
}

/// Summarizes what a plan says.
fn compacted(
    task: Task<'_, '_>,
    prepared: &Transcript<'_>,
    early: Vec<Edit>,
    plan: Plan,
    account: &mut Account,
) -> Result<Option<Compaction>> {
    let Task { settings, source, transcript, answers, .. } = task;
    let archive = archive::place(settings, transcript);
    let earlier = carried(transcript, &settings.policy);
    let late = settings.truncation.as_ref().map(|cut| cut.late_edits(transcript, plan.cutoff)).unwrap_or_default();
    let media_folder = archive.as_ref().filter(|_| settings.ways.files).map(|place| place.folder(MEDIA));
    let (moved, media_files) = match &media_folder {
        Some(folder) => media::moved_out(prepared, &plan.summarized(), &files::shown(folder)),
        None => Default::default(),
    };
    let redactor = settings.redact.then(|| RefCell::new(redactor(transcript)));
    let earlier = earlier.map(|earlier| without_secrets(earlier, redactor.as_ref()));
    let arena = Arena::default();
    // Arguments are cut early or late, and media move only where they are cut early.
    let unmasked = if late.is_empty() { edited(prepared, &moved, &arena) } else { edited(transcript, &late, &arena) };
    let masks = |unmasked| redactor.as_ref().map(|masks| masks.borrow_mut().edits(unmasked, &plan.summarized()));
    let accepted = unmasked.and_then(|unmasked| {
        let history = edited(unmasked, &masks(unmasked).unwrap_or_default(), &arena)?;
        let tally = Tally::new(settings.counter, &history.messages);
        let work = Work {
            settings,
            source,
            answers,
            transcript,
            plan: &plan,
            history,
            unmasked,
            tally: &tally,
            summarized: plan.summarized(),
            earlier: earlier.as_ref(),
            archive: archive.as_ref(),
            redactor: redactor.as_ref(),
            bill: RefCell::default(),
            ledger: RefCell::default(),
        };
        let summary = work.summary(source).and_then(|reply| work.accepted(&reply));
        account.bill = *work.bill.borrow();
        let accepted = match summary {
            Ok(accepted) => Some(accepted),
            Err(failed) => {
                account.error = Some(failed.message.clone());
                work.instead(source, &failed)?
            }
        };
        let Some(Accepted { text, by }) = accepted else { return Ok(None) };
        let text = if by == SummarySource::Summarizer { work.with_facts(text) } else { text };
        // Facts of a history that is shown otherwise to the summarizer are other facts.
        let as_it_is = moved.is_empty() && late.is_empty();
        account.ledger = work.ledger.take().filter(|_| as_it_is && settings.html.is_some());
        let tokens = work.message_tokens(&text);
        (account.by, account.summary_tokens) = (Some(by), Some(tokens));
        account.saved = work.replaced_tokens().saturating_sub(tokens);
        account.summary = settings.preview.then(|| text.clone());
        Reporter::new(settings).summarized(source, work.summarized.len(), tokens, &account.bill);
        Ok(Some((work.archived(source), work.placed(text))))
    });
    account.redactor = redactor.map(RefCell::into_inner);
    account.redacted = account.redactor.as_ref().map(|redactor| redactor.counts().clone());
    Reporter::new(settings).redacted(source, account.redacted.as_ref());
    let accepted = accepted?;
    let Some((mut archived, summary)) = accepted else { return Ok(None) };
    if let Some(folder) = media_folder {
        archived.files.extend(media_files.into_iter().map(|file| (folder.join(file.name), file.bytes)));
    }
    let mut edits = early;
    edits.extend(late);
    let stays = |edit: &Edit| stays(transcript, &plan, edit);
    edits.retain(stays);
    let removal = settings.thinking_removed(transcript, &plan);
    if !settings.dry_run {
        Reporter::new(settings).thinking(source, &removal);
    }
    // DeepAgents removes what it knows to be bound, whatever the model.
    let unbound = settings.ways.files && removal.is_empty();
    edits.extend(if unbound { reasoning::unbound(transcript, &plan) } else { removal.edits });
    rewrite::sort(&mut edits);
    let plan = Plan { emptied: removal.emptied, ..plan };
    let done = Compaction { plan, summary: Some(summary), edits, archived };
    files::fitted(settings, source, transcript, done).map(Some)
}

/// What masks the secrets of a conversation, and gives none of them a placeholder that is there.
pub(super) fn redactor(transcript: &Transcript<'_>) -> Redactor {
    let mut redactor = Redactor::new();
    transcript.messages.iter().for_each(|message| redactor.note(message.json.raw()));
    redactor
}

/// A conversation to be drawn, with its secrets masked where they are to be; nothing where it cannot be read again so.
pub(super) fn shown<'t>(
    settings: &Settings,
    transcript: &'t Transcript<'t>,
    arena: &'t Arena<'t>,
) -> Option<&'t Transcript<'t>> {
    let mut masks = settings.redact.then(|| redactor(transcript));
    masked(transcript, &[], masks.as_mut(), arena).ok()
}

/// A conversation with some edits made, and with its secrets masked where they are to be.
pub(super) fn masked<'t>(
    transcript: &'t Transcript<'t>,
    edits: &[Edit],
    masks: Option<&mut Redactor>,
    arena: &'t Arena<'t>,
) -> Result<&'t Transcript<'t>> {
    let edited_once = edited(transcript, edits, arena)?;
    let all: Vec<usize> = (0..edited_once.messages.len()).collect();
    let masking = masks.map(|masks| masks.edits(edited_once, &all)).unwrap_or_default();
    edited(edited_once, &masking, arena)
}

/// An earlier summary with its secrets masked.
fn without_secrets<'a>(earlier: Carried<'a>, redactor: Option<&RefCell<Redactor>>) -> Carried<'a> {
    match redactor {
        Some(redactor) => {
            let text = redactor.borrow_mut().mask(&earlier.text).into_owned();
            Carried { text: text.into(), ..earlier }
        }
        None => earlier,
    }
}

/// Whether an edit falls into a message that stays.
fn stays(transcript: &Transcript<'_>, plan: &Plan, edit: &Edit) -> bool {
    let after = transcript.messages.partition_point(|message| message.span().start <= edit.range.start);
    let index = after.saturating_sub(1);
    index >= plan.cutoff || plan.pinned.binary_search(&index).is_ok()
}

/// The arguments that are cut before anything is decided.
fn early_edits(settings: &Settings, transcript: &Transcript<'_>) -> Vec<Edit> {
    let truncation = settings.truncation.as_ref().filter(|_| settings.disabled.is_none());
    let tally = Tally::new(settings.counter, &transcript.messages);
    truncation.map(|cut| cut.early_edits(transcript, &tally, &settings.policy)).unwrap_or_default()
}

/// Where a conversation is cut: nowhere, if the config file has nothing done.
fn decided(settings: &Settings, transcript: &Transcript<'_>, tally: &Tally<'_, '_>) -> Plan {
    match settings.disabled.clone() {
        None => plan(transcript, tally, &policy(settings, transcript)),
        Some(reason) => Plan::of_nothing(reason),
    }
}

/// A conversation with some edits made, to be looked at.
///
/// # Errors
/// With these edits it is no conversation.
pub(super) fn edited<'t>(
    transcript: &'t Transcript<'t>,
    edits: &[Edit],
    arena: &'t Arena<'t>,
) -> Result<&'t Transcript<'t>> {
    let unreadable = |error| Failure::unreadable(format!("a conversation with its arguments cut {error}"));
    Ok(view(transcript, edits, arena).map_err(unreadable)?)
}
