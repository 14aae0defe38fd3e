//! The outcome of one input, before it is written: its conversations go through `crate::compact` one by one, and their
//! results are reported, counted and joined.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt::Display;
use std::mem;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;

use crate::compact::{
    Archived, ChangedConversation, Compaction, CompactionContext, CompactionEvent, Decision, Emit, FittedPlan,
    archive_contents, certain_files, decide, economy, masked, redactor,
};
use crate::events::{Conversation, Counted, Drawn, Ending, Event, Idle, Saving, Status};
use crate::exit::Failure;
use crate::fault::{self, Part};
use crate::files::append;
use crate::files::input::Input;
use crate::plan::economy::Economy;
use crate::plan::{self, Plan};
use crate::presets::langgraph;
use crate::report::diff::{Diff, RepairDiff};
use crate::report::json::{self, Count};
use crate::report::terminal;
use crate::rewrite::{self, Edit};
use crate::sanitize::{sanitize, sanitize_json, sanitize_name};
use crate::settings::{Action, Destination, Explain, Volume};
use crate::tokens::Categories;
use crate::tokens::Tally;
use crate::transcript::Transcript;
use crate::transcript::framing::Document;
use crate::transcript::view::Arena;
use crate::wording::readable_source;

use crate::engine::account::report_row;
use crate::engine::outcome::{Content, Outcome};
use crate::engine::read::{json as json_of, read, source_name};
use crate::engine::task::InputTask;
use crate::engine::{archive, check, page};

impl InputTask<'_> {
    /// Returns the outcome of the input, or of lines of one; with `--repair`, of the repaired input. Writes nothing.
    /// Each conversation is added to `conversations`, also where a later one fails.
    ///
    /// # Errors
    /// The input cannot be read or repaired; or a summary failed, and `--on-error` says to fail.
    pub(super) fn run(&self, conversations: &mut Vec<Conversation>) -> Result<Outcome> {
        if self.settings.action == Action::Check {
            return Ok(Outcome { breaches: check::check(self)?, ..Outcome::default() });
        }
        let (mut archived, mut repaired) = (Archived::default(), Vec::new());
        let mut whole = Cow::Borrowed(self.input);
        if let Some(how) = self.settings.repair {
            (archived, repaired) = check::repair(self, whole.to_mut(), how)?;
        }
        let is_repaired = whole.bytes() != self.input.bytes();
        let task = InputTask { input: &whole, repaired: is_repaired, ..*self };
        let may_archive = !self.settings.output.archive_chosen && self.policy.archive.is_some();
        if may_archive && self.settings.action != Action::Diff && task.would_cut()? {
            archive::check(self.settings, self.policy, &[])?;
        }
        let from = conversations.len();
        let done = task.process(conversations);
        let shows_repair = matches!(self.settings.action, Action::Compact | Action::Diff);
        for (conversation, repaired) in
            conversations[from..].iter_mut().zip(repaired).filter(|(_, one)| one.violations > 0)
        {
            conversation.repaired = Some(repaired);
            if is_repaired && conversation.status == Status::Unchanged && shows_repair {
                conversation.status = Status::Compacted;
            }
        }
        let mut outcome = done?;
        if is_repaired {
            // The repair changed it.
            outcome.idle = Idle::default();
            outcome.compacted |= shows_repair;
        }
        archived.extend(mem::take(&mut outcome.archived));
        // The writer has neither the repaired text nor the lines, so edits of them are applied here.
        if matches!(whole, Cow::Owned(_)) || self.input.as_lines {
            outcome.content = mem::take(&mut outcome.content).applied(whole.bytes());
        }
        if is_repaired && self.settings.action == Action::Diff {
            let mut text = self.draw_repair(&whole)?;
            if let Content::Text(diff) = &outcome.content {
                text.push_str(diff);
            }
            outcome.content = Content::Text(text);
        }
        Ok(Outcome { changed: outcome.content.changes(self.input.bytes()), archived, ..outcome })
    }

    /// Whether anything in the input would change, as far as planning shows.
    pub(super) fn would_change(&self) -> bool {
        self.settings.repair.is_some() || self.policy.truncation.is_some() || self.would_cut().unwrap_or(true)
    }

    /// Whether anything in the input would be cut.
    fn would_cut(&self) -> Result<bool> {
        let source = json_of(self.input)?;
        let document = read(&self.settings.input, self.policy, self.input, &source)?;
        let cuts = |transcript| {
            let arena = Arena::default();
            let plan = self.context(&|_, _| ()).plan(transcript, &arena);
            plan.is_ok_and(|fitted| fitted.is_change())
        };
        Ok(document.transcripts.iter().any(cuts))
    }

    /// Returns the outcome of the input as it is, without a repair.
    ///
    /// # Errors
    /// The input cannot be read; or a summary failed, and `--on-error` says to fail.
    pub(super) fn process(&self, conversations: &mut Vec<Conversation>) -> Result<Outcome> {
        let source = json_of(self.input)?;
        let document = read(&self.settings.input, self.policy, self.input, &source)?;
        self.check_document(&document)?;
        self.note_broken_lines(&document);
        match self.settings.action {
            Action::DryRun { json, preview } => self.dry_run(&document, (json, preview), conversations),
            Action::Count { json, sorted } => self.count(&document, json, sorted),
            Action::Diff => self.diff(&document, conversations),
            Action::Compact | Action::Check => self.compact_all(&document, conversations),
        }
    }

    /// Reports the lines that are kept aside.
    pub(super) fn note_broken_lines(&self, document: &Document<'_>) {
        if !document.broken_lines.is_empty() {
            self.notify(Event::BrokenLines { source: &self.input.name, lines: &document.broken_lines });
        }
    }

    /// Compacts all conversations of a document.
    fn compact_all(&self, document: &Document<'_>, conversations: &mut Vec<Conversation>) -> Result<Outcome> {
        let mut changed: Vec<ChangedConversation<'_, '_>> = Vec::new();
        let (mut updates, mut compacted, mut idle) = (String::new(), false, Idle::default());
        for transcript in &document.transcripts {
            let arena = Arena::default();
            let source = source_name(self.input, transcript);
            let compaction = self.compact_one(document, &source, transcript, &arena, (conversations, &mut idle))?;
            // A state needs all messages of a repaired conversation.
            let has_update = compaction.is_change() || self.repaired && self.policy.emit == Emit::Update;
            if !has_update {
                updates.push_str(&self.summary_line(None).unwrap_or_else(langgraph::no_update));
                continue;
            }
            compacted |= compaction.summary.is_some() || compaction.is_pruned();
            if self.policy.emit == Emit::Update {
                let Compaction { plan, summary, edits, .. } = &compaction;
                let placed = summary.as_ref().map(|summary| &summary.placed);
                let update = langgraph::update(transcript, plan, placed, edits);
                updates.push_str(&if self.is_shown() { sanitize_json(&update) } else { update });
            }
            updates.extend(self.summary_line(Some(&compaction)));
            changed.push(ChangedConversation::new(transcript, source, compaction));
        }
        let mut edits: Vec<Edit> = changed.iter().flat_map(|one| one.edits.iter().cloned()).collect();
        rewrite::sort(&mut edits);
        if self.policy.emit == Emit::Messages {
            let changed: Vec<&Transcript<'_>> = changed.iter().map(|one| one.transcript).collect();
            for (source, violations) in check::violations_left(self, document, &changed, &edits) {
                self.notify(Event::StillBroken { source: &source, violations });
            }
        }
        let archived = archive_contents(self.policy.has_records(), self.input.bytes(), changed);
        let content = match self.policy.emit {
            Emit::Messages => Content::Edited(edits),
            Emit::Update | Emit::Summary => Content::Text(updates),
        };
        Ok(Outcome { content, compacted, archived, idle, ..Outcome::default() })
    }

    /// Returns the output for a conversation with `--emit summary`; nothing with another `--emit`.
    fn summary_line(&self, compaction: Option<&Compaction<'_>>) -> Option<String> {
        if self.policy.emit != Emit::Summary {
            return None;
        }
        let summary = compaction.and_then(|compaction| Some((compaction, compaction.summary.as_ref()?)));
        Some(match (self.settings.output.json, summary) {
            (false, None) => String::new(),
            (false, Some((_, summary))) => format!("{}\n", self.readable(&summary.text).trim_end()),
            (true, None) => "null\n".to_owned(),
            (true, Some((compaction, summary))) => json::summary(&compaction.plan, summary),
        })
    }

    /// Returns a text as a terminal may show it, if the result goes to one. Programs get it as it is.
    fn readable<'s>(&self, text: &'s str) -> Cow<'s, str> {
        if self.is_shown() { Cow::Owned(sanitize(text)) } else { Cow::Borrowed(text) }
    }

    /// Whether the result goes to a terminal.
    fn is_shown(&self) -> bool {
        terminal::shows(match &self.settings.output.destination {
            Destination::File(file) => Some(file),
            _ => None,
        })
    }

    /// Prints the tokens of each conversation.
    fn count(&self, document: &Document<'_>, json: bool, sorted: bool) -> Result<Outcome> {
        let (mut text, mut counted) = (String::new(), Counted::default());
        for transcript in &document.transcripts {
            let arena = Arena::default();
            let source = source_name(self.input, transcript);
            let Decision { view, tally, plan, .. } = decide(transcript, self.policy, &arena)?;
            let tokens = plan::total(view, &tally, &self.policy.cut);
            let line = if json {
                Count::new(&source, (view, &tally, &plan), tokens, self.policy).to_line()
            } else {
                self.line(&source, transcript, tokens)
            };
            if self.settings.stderr.explain {
                counted.categories.join(&Categories::of(view, &tally, plan.start));
            }
            counted.conversations += 1;
            counted.tokens += tokens;
            if sorted {
                counted.lines.push((tokens, line));
            } else {
                text.push_str(&line);
            }
        }
        Ok(Outcome { content: Content::Text(text), counted, ..Outcome::default() })
    }

    /// Returns a line with a number, after the name of the conversation if there may be several.
    pub(super) fn line(&self, source: &str, transcript: &Transcript<'_>, number: impl Display) -> String {
        match self.many || transcript.line.is_some() {
            true => format!("{}\t{number}\n", sanitize_name(source)),
            false => format!("{number}\n"),
        }
    }

    /// Draws what compacting removes from each conversation and what it adds.
    fn diff(&self, document: &Document<'_>, conversations: &mut Vec<Conversation>) -> Result<Outcome> {
        let (mut diffs, mut compacted, mut idle) = (String::new(), false, Idle::default());
        for transcript in &document.transcripts {
            let arena = Arena::default();
            let source = source_name(self.input, transcript);
            let mut compaction = self.compact_one(document, &source, transcript, &arena, (conversations, &mut idle))?;
            if !compaction.is_change() {
                continue;
            }
            let masks = compaction.redactor.take();
            let Compaction { plan, summary, edits, fitted, .. } = &compaction;
            let pruned = &fitted.pruned;
            let summary = summary.as_ref().map(|summary| &summary.placed);
            compacted |= summary.is_some() || compaction.is_pruned();
            let masked = self.policy.redact.then(|| page::mask_both(transcript, edits, masks, &arena)).transpose()?;
            let tally = &Tally::new(self.policy.counter, &transcript.messages);
            diffs.push_str(&Diff { source: &source, transcript, masked, tally, plan, summary, edits, pruned }.draw());
        }
        Ok(Outcome { content: Content::Text(terminal::for_stdout(diffs)), compacted, idle, ..Outcome::default() })
    }

    /// Draws what a repair of the input changed in each conversation.
    fn draw_repair(&self, repaired: &Input) -> Result<String> {
        let (before, after) = (json_of(self.input)?, json_of(repaired)?);
        let read = |input, source| read(&self.settings.input, self.policy, input, source);
        let (before, after) = (read(self.input, &before)?, read(repaired, &after)?);
        let mut diffs = String::new();
        for (before, after) in before.transcripts.iter().zip(&after.transcripts) {
            let arena = Arena::default();
            let masked = match self.policy.redact {
                true => {
                    let mut masks = redactor(before);
                    let old = masked(before, &[], Some(&mut masks), &arena)?;
                    Some((old, masked(after, &[], Some(&mut masks), &arena)?))
                }
                false => None,
            };
            let source = source_name(self.input, before);
            diffs.push_str(&RepairDiff { source: &source, before, after, masked, counter: self.policy.counter }.draw());
        }
        Ok(terminal::for_stdout(diffs))
    }

    /// Warns of protected tools that have no calls. Several inputs need not have the same tools, so there is no warning
    /// then.
    pub(super) fn warn_of_unknown_tools(&self, source: &str, fitted: &FittedPlan<'_>) {
        let unknown = if self.many || self.input.as_lines { Vec::new() } else { fitted.unknown_tools(self.policy) };
        unknown.into_iter().for_each(|name| self.notify(Event::NoSuchTool { source, name }));
    }

    /// Compacts one conversation, and reports it.
    fn compact_one<'t>(
        &self,
        document: &Document<'_>,
        source: &str,
        transcript: &'t Transcript<'t>,
        arena: &'t Arena<'t>,
        (conversations, idle): (&mut Vec<Conversation>, &mut Idle),
    ) -> Result<Compaction<'t>> {
        let began = Instant::now();
        let reader = self.policy.reader_name();
        // Why there is no summary, if that is expected and thus not reported at once.
        let left = RefCell::new(None);
        let listen = |source: &str, what: CompactionEvent<'_>| {
            if let CompactionEvent::Left { why, unexpected: false } = what {
                left.replace(Some(why.to_owned()));
            }
            self.notify(Event::Compacting { source, what, reader });
        };
        let context = self.context(&listen);
        let fitted = context.plan(transcript, arena).inspect_err(|error| {
            conversations.push(Conversation::without_plan(source, Status::Failed, Some(error.to_string())));
        })?;
        self.notify(Event::Planned { source, plan: &fitted, policy: self.policy });
        if let Some(reason) = fitted.plan.reason.as_deref().filter(|_| fitted.plan.refused) {
            self.notify(Event::Refused { source, reason });
        }
        self.warn_of_unknown_tools(source, &fitted);
        let explain = self.explain(document);
        let worth = explain.and_then(|_| economy::estimated(&fitted, self.policy));
        let saving = self.explain_plan(explain, source, &fitted, worth.as_ref());
        let mut compaction = match self.check_plan(source, &fitted) {
            Ok(()) => context.carry_out(source, fitted),
            Err(error) => context.refused(fitted, error),
        };
        if compaction.failure.is_none() && !compaction.is_change() {
            self.note_idle(document, source, (transcript, &compaction.fitted), left.take(), idle);
        }
        let page = self.draw_page(source, &mut compaction);
        let row = report_row(self.settings, self.policy, source, &compaction, began.elapsed());
        let saving = saving.map(|one| Saving { saved: row.saved, ..one });
        let is_alone = !self.input.as_lines && document.transcripts.len() == 1;
        let sizes = compaction.account.tokens_before.zip(row.tokens_after);
        let sizes = sizes.filter(|_| self.settings.stderr.closes && is_alone && row.status == Status::Compacted);
        let cutoff = if row.summary_tokens.is_some() { compaction.plan.cutoff } else { 0 };
        let ending = sizes.map(|sizes| Ending { source: source.to_owned(), sizes, cutoff });
        let skipped_lines = document.broken_lines.len();
        conversations.push(Conversation { saving, page, ending, skipped_lines, ..row });
        match compaction.failure.take().map(anyhow::Error::downcast::<Failure>) {
            None => Ok(compaction),
            Some(Ok(failure)) => Err(failure.reported(true).into()),
            Some(Err(error)) => Err(error),
        }
    }

    /// Counts a conversation as unchanged, with the reason, unless an event reports that already.
    pub(super) fn note_idle(
        &self,
        document: &Document<'_>,
        source: &str,
        (transcript, fitted): (&Transcript<'_>, &FittedPlan<'_>),
        left: Option<String>,
        idle: &mut Idle,
    ) {
        let Plan { reason, refused, .. } = &fitted.plan;
        let is_reported = self.policy.disabled.is_some() || self.policy.cut.never_triggers();
        let is_reported = is_reported || *refused && !self.settings.action.is_dry_run();
        let planned = reason.clone().filter(|_| !is_reported && !fitted.is_change());
        let Some(reason) = left.or(planned) else { return };
        if self.is_one_of_several(document) || self.settings.stderr.volume == Volume::Quiet {
            return idle.add(source, &reason, None);
        }
        let advice = self.context(&|_, _| ()).advice(transcript, fitted);
        let size = match fitted.plan.triggered {
            true => String::new(),
            false => format!("it has {} tokens, and ", fitted.tokens(self.policy)),
        };
        idle.add(source, &format!("{size}{reason}"), advice);
    }

    /// Draws a conversation, or returns its row in the table of several.
    pub(super) fn explain_plan(
        &self,
        explain: Option<Explain>,
        source: &str,
        plan: &FittedPlan<'_>,
        economy: Option<&Economy>,
    ) -> Option<Saving> {
        match explain? {
            Explain::Picture => {
                self.notify(Event::Explained { source, plan, policy: self.policy, economy });
                None
            }
            Explain::Table => Some(Saving {
                source: readable_source(source).into_owned(),
                messages: plan.view.messages.len(),
                tokens: plan.tokens(self.policy),
                saved: plan.tally.sum(&plan.plan.summarized()),
            }),
        }
    }

    /// Refuses, before a summary is paid for, what could not be written or emitted afterwards.
    fn check_plan(&self, source: &str, fitted: &FittedPlan<'_>) -> Result<()> {
        if fitted.plan.cutoff == 0 {
            return if fitted.is_change() { self.check_state(source, fitted) } else { Ok(()) };
        }
        self.notify(Event::Split { source, plan: &fitted.plan, pairs: self.policy.cut.pairs });
        append::check_files(&certain_files(self.policy, fitted))?;
        self.check_state(source, fitted)
    }

    /// Draws a conversation for the page, if the page has room for it.
    fn draw_page(&self, source: &str, compaction: &mut Compaction<'_>) -> Option<Arc<Drawn>> {
        self.page.filter(|page| compaction.failure.is_none() && page.may_draw(compaction.account.lost()))?;
        // A bug in the drawing must not cost the result.
        fault::caught(Part::Page, || page::draw(self.policy, source, compaction)).unwrap_or_else(|fault| {
            self.notify(Event::NotDrawn { source, fault: &fault });
            None
        })
    }

    pub(super) fn context<'c>(&'c self, listen: &'c dyn Fn(&str, CompactionEvent<'_>)) -> CompactionContext<'c> {
        let InputTask { settings, policy, backend, .. } = *self;
        let counts = settings.needs_costs();
        CompactionContext { policy, backend, listen, counts }
    }

    /// Returns how `--explain` draws a conversation of a document.
    pub(super) fn explain(&self, document: &Document<'_>) -> Option<Explain> {
        let explain = if self.is_one_of_several(document) { Explain::Table } else { Explain::Picture };
        self.settings.stderr.explain.then_some(explain)
    }

    pub(super) fn is_one_of_several(&self, document: &Document<'_>) -> bool {
        self.many || self.input.as_lines || document.transcripts.len() > 1
    }
}
