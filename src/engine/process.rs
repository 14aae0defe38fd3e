//! What is made of one input, before it is written: each of its conversations goes its way (`crate::compact`), and what
//! comes of it is told, counted and put together.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt::Display;
use std::mem;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;

use crate::compact::{
    Archived, ChangedConversation, Compaction, CompactionContext, CompactionPolicy, Decision, Emit, FittedPlan,
    Happening, certain_files, decide, economy, kept,
};
use crate::events::{Conversation, Drawn, Event, Idle, Saving, Status};
use crate::exit::Failure;
use crate::fault::{self, Part};
use crate::files::append;
use crate::plan::economy::Economy;
use crate::plan::{self, Plan};
use crate::report::diff::Diff;
use crate::report::json::{self, Count, DryRun};
use crate::report::terminal;
use crate::rewrite::{self, Edit};
use crate::sanitize::sanitize_name;
use crate::settings::{Action, Explain, Volume};
use crate::transcript::framing::Document;
use crate::transcript::view::Arena;
use crate::transcript::{Transcript, coercion};
use crate::wording::readable_source;

use crate::engine::account::reported;
use crate::engine::outcome::{Outcome, Rewritten};
use crate::engine::read::{json as json_of, read, source_name};
use crate::engine::task::InputTask;
use crate::engine::{archive, check, page};

impl InputTask<'_> {
    /// What is made of the input, or of lines of one: of what is repaired, where that is wanted. What became of each
    /// conversation is added to `conversations`, also where another fails.
    ///
    /// # Errors
    /// It cannot be read or repaired, or there is no summary and the settings do not say what to put in its place.
    pub(super) fn made(&self, conversations: &mut Vec<Conversation>) -> Result<Outcome> {
        if self.settings.action == Action::Check {
            return Ok(Outcome { breaches: check::check(self)?, ..Outcome::default() });
        }
        let (mut archived, mut repaired) = (Archived::default(), Vec::new());
        let mut whole = Cow::Borrowed(self.input);
        if let Some(how) = self.settings.repair {
            (archived, repaired) = check::repair(self, whole.to_mut(), how)?;
        }
        let is_repaired = whole.text != self.input.text;
        let task = InputTask { input: &whole, repaired: is_repaired, ..*self };
        let may_archive = !self.settings.output.archive_chosen && self.policy.archive.is_some();
        if may_archive && self.settings.action != Action::Diff && task.cuts()? {
            archive::check(self.settings, self.policy, &[])?;
        }
        let from = conversations.len();
        let done = task.process(conversations);
        for (conversation, repaired) in
            conversations[from..].iter_mut().zip(repaired).filter(|(_, one)| one.violations > 0)
        {
            conversation.repaired = Some(repaired);
            if is_repaired && conversation.status == Status::Unchanged && self.settings.action == Action::Compact {
                conversation.status = Status::Compacted;
            }
        }
        let mut outcome = done?;
        if is_repaired {
            // What was repaired did change.
            outcome.idle = Idle::default();
            outcome.compacted |= self.settings.action == Action::Compact;
        }
        archived.extend(mem::take(&mut outcome.archived));
        // When it is written, what was repaired is no longer there, and lines are not either.
        if matches!(whole, Cow::Owned(_)) || self.input.as_lines {
            outcome.made = Rewritten::Text(mem::take(&mut outcome.made).text(&whole.text));
        }
        Ok(Outcome { changed: outcome.made.changes(&self.input.text), archived, ..outcome })
    }

    /// Whether anything in the input would be changed, as far as that is known before.
    pub(super) fn changes(&self) -> bool {
        self.settings.repair.is_some() || self.policy.truncation.is_some() || self.cuts().unwrap_or(true)
    }

    /// Whether anything in the input would be cut.
    fn cuts(&self) -> Result<bool> {
        let source = json_of(self.input)?;
        let document = read(&self.settings.input, self.policy, self.input, &source)?;
        let cuts = |transcript| {
            let arena = Arena::default();
            let plan = self.context(&|_, _| ()).plan(transcript, &arena);
            plan.is_ok_and(|fitted| fitted.is_change())
        };
        Ok(document.transcripts.iter().any(cuts))
    }

    /// Makes the result of the input; writes nothing.
    ///
    /// # Errors
    /// The input cannot be read, or there is no summary and the settings do not say what to put in its place.
    pub(super) fn process(&self, conversations: &mut Vec<Conversation>) -> Result<Outcome> {
        let source = json_of(self.input)?;
        let document = read(&self.settings.input, self.policy, self.input, &source)?;
        self.check_messages(&document)?;
        if let Some(line) = document.incomplete_line {
            self.tell(Event::BrokenOff { source: &self.input.name, line });
        }
        match self.settings.action {
            Action::DryRun { json, preview } => self.dry_run(&document, (json, preview), conversations),
            Action::Count { json } => self.count(&document, json),
            Action::Diff => self.diff(&document, conversations),
            Action::Compact | Action::Check => self.compact(&document, conversations),
        }
    }

    /// Compacts each conversation.
    fn compact(&self, document: &Document<'_>, conversations: &mut Vec<Conversation>) -> Result<Outcome> {
        let mut changed: Vec<ChangedConversation<'_, '_>> = Vec::new();
        let (mut updates, mut compacted, mut idle) = (String::new(), false, Idle::default());
        for transcript in &document.transcripts {
            let arena = Arena::default();
            let source = source_name(self.input, transcript);
            let done = self.compacted(document, &source, transcript, &arena, (conversations, &mut idle))?;
            // A state needs all of what was repaired.
            let has_update = done.is_change() || self.repaired && self.policy.emit == Emit::Update;
            if !has_update {
                updates.push_str(&self.summary_alone(None).unwrap_or_else(rewrite::no_update));
                continue;
            }
            compacted |= done.summary.is_some() || done.is_pruned();
            if self.policy.emit == Emit::Update {
                let Compaction { plan, summary, edits, .. } = &done;
                let placed = summary.as_ref().map(|summary| &summary.placed);
                updates.push_str(&rewrite::update(transcript, plan, placed, edits));
            }
            updates.extend(self.summary_alone(Some(&done)));
            changed.push(ChangedConversation::new(transcript, source, done));
        }
        let mut edits: Vec<Edit> = changed.iter().flat_map(|one| one.edits.iter().cloned()).collect();
        rewrite::sort(&mut edits);
        let archived = kept(self.policy.has_records(), document.source, &edits, changed);
        let made = match self.policy.emit {
            Emit::Messages => Rewritten::Edited(edits),
            Emit::Update | Emit::Summary => Rewritten::Text(updates),
        };
        Ok(Outcome { made, compacted, archived, idle, ..Outcome::default() })
    }

    /// The line for a conversation where the summary alone is written; nothing where the transcript is.
    fn summary_alone(&self, done: Option<&Compaction<'_>>) -> Option<String> {
        if self.policy.emit != Emit::Summary {
            return None;
        }
        let summary = done.and_then(|done| Some((done, done.summary.as_ref()?)));
        Some(match (self.settings.output.json, summary) {
            (false, None) => String::new(),
            (false, Some((_, summary))) => format!("{}\n", summary.text.trim_end()),
            (true, None) => "null\n".to_owned(),
            (true, Some((done, summary))) => json::summary(&done.plan, summary),
        })
    }

    /// Prints the tokens of each conversation.
    fn count(&self, document: &Document<'_>, json: bool) -> Result<Outcome> {
        let mut text = String::new();
        for transcript in &document.transcripts {
            let arena = Arena::default();
            let source = source_name(self.input, transcript);
            let Decision { seen, tally, plan, .. } = decide(transcript, self.policy, &arena)?;
            let tokens = plan::total(seen, &tally, &self.policy.cut);
            text.push_str(&match json {
                true => Count::new(&source, (seen, &tally, &plan), tokens, self.policy).to_line(),
                false => self.line(&source, transcript, tokens),
            });
        }
        Ok(Outcome { made: Rewritten::Text(text), ..Outcome::default() })
    }

    /// A number for a conversation on a line, with its name where there may be others.
    fn line(&self, source: &str, transcript: &Transcript<'_>, number: impl Display) -> String {
        match self.many || transcript.line.is_some() {
            true => format!("{}\t{number}\n", sanitize_name(source)),
            false => format!("{number}\n"),
        }
    }

    /// Draws what compacting each conversation takes away and puts in.
    fn diff(&self, document: &Document<'_>, conversations: &mut Vec<Conversation>) -> Result<Outcome> {
        let (mut diffs, mut compacted, mut idle) = (String::new(), false, Idle::default());
        for transcript in &document.transcripts {
            let arena = Arena::default();
            let source = source_name(self.input, transcript);
            let mut done = self.compacted(document, &source, transcript, &arena, (conversations, &mut idle))?;
            if !done.is_change() {
                continue;
            }
            let masks = done.redactor.take();
            let Compaction { plan, summary, edits, fitted, .. } = &done;
            let pruned = &fitted.pruned;
            let summary = summary.as_ref().map(|summary| &summary.placed);
            compacted |= summary.is_some() || done.is_pruned();
            let masked = self.policy.redact.then(|| page::both_masked(transcript, edits, masks, &arena)).transpose()?;
            let (source, counter) = (source.as_str(), self.policy.counter);
            diffs.push_str(&Diff { source, transcript, masked, counter, plan, summary, edits, pruned }.draw());
        }
        Ok(Outcome { made: Rewritten::Text(terminal::printed(diffs)), compacted, idle, ..Outcome::default() })
    }

    /// Prints where each conversation would be cut, and shows the summary where that is wanted.
    fn dry_run(
        &self,
        document: &Document<'_>,
        (json, preview): (bool, bool),
        conversations: &mut Vec<Conversation>,
    ) -> Result<Outcome> {
        let (mut text, mut compacted, mut idle) = (String::new(), false, Idle::default());
        for transcript in &document.transcripts {
            let arena = Arena::default();
            let source = source_name(self.input, transcript);
            let fitted = self.context(&|_, _| ()).plan(transcript, &arena)?;
            compacted |= fitted.is_change();
            self.note_idle(document, &source, (transcript, &fitted), None, &mut idle);
            let explain = self.explain(document);
            let estimate = json || self.settings.voice.volume == Volume::Verbose || explain.is_some();
            let mut worth = estimate.then(|| economy::estimated(&fitted, self.policy)).flatten();
            self.tell_of_dry_run(&source, &fitted, worth.as_ref());
            if explain.is_some() {
                let mut row = Conversation::without_plan(&source, Status::Unchanged, None);
                row.saving = self.drawn(explain, &source, &fitted, worth.as_ref());
                conversations.push(row);
            }
            fitted.check(&source)?;
            self.check_state(&source, &fitted)?;
            let line = |fitted: &FittedPlan<'_>, economy, summary: Option<&str>| match json {
                true => DryRun::new(&source, fitted, self.policy).with(economy, summary).to_line(),
                false => self.line(&source, transcript, fitted.plan.cutoff),
            };
            if !preview {
                text.push_str(&line(&fitted, worth, None));
                continue;
            }
            let done = self.previewed(&source, fitted)?;
            let summary = done.summary.as_ref().map(|summary| summary.text.as_str());
            if let Some(summary) = summary {
                worth = done.account.economy.or(worth);
                self.tell(Event::Previewed { source: &source, summary });
            }
            text.push_str(&line(&done.fitted, worth, summary));
        }
        Ok(Outcome { made: Rewritten::Text(text), compacted, idle, ..Outcome::default() })
    }

    fn tell_of_dry_run(&self, source: &str, fitted: &FittedPlan<'_>, worth: Option<&Economy>) {
        let reader = self.policy.reader_name();
        self.tell(Event::Planned { source, plan: fitted, policy: self.policy });
        if let Some(economy) = worth {
            self.tell(Event::Estimated { source, economy, reader });
        }
        self.tell(Event::Split { source, plan: &fitted.plan, pairs: self.policy.cut.pairs });
        let tell = |what: Happening<'_>| self.tell(Event::Compacting { source, what, reader });
        tell(Happening::Thinking(&fitted.thinking));
        fitted.fit.and_then(|fit| fit.cap).into_iter().for_each(|tokens| tell(Happening::Capped(tokens)));
        let tokens = fitted.staying(self.policy);
        let window = self.policy.cut.context_window.filter(|window| tokens > *window);
        window.into_iter().for_each(|window| tell(Happening::TooLarge { tokens, window }));
        self.tell_of_unknown_tools(source, fitted);
    }

    /// Tells of tools that are to stay and that no call is of. Of many conversations none need have all of them.
    fn tell_of_unknown_tools(&self, source: &str, fitted: &FittedPlan<'_>) {
        let unknown = if self.many || self.input.as_lines { Vec::new() } else { fitted.unknown_tools(self.policy) };
        unknown.into_iter().for_each(|name| self.tell(Event::NoSuchTool { source, name }));
    }

    /// What a real run would make of a conversation; nothing else is made of it.
    fn previewed<'t>(&self, source: &str, fitted: FittedPlan<'t>) -> Result<Compaction<'t>> {
        let reader = self.policy.reader_name();
        let is_cut = fitted.plan.cutoff > 0;
        let listen = |source: &str, what: Happening<'_>| {
            // What is planned was told already.
            if !(is_cut && matches!(what, Happening::Thinking(_))) {
                self.tell(Event::Compacting { source, what, reader });
            }
        };
        if is_cut {
            append::check_files(&certain_files(self.policy, &fitted))?;
        }
        let mut done = self.context(&listen).carry_out(source, fitted);
        done.failure.take().map_or(Ok(done), Err)
    }

    /// One conversation's way, and what is told of it.
    fn compacted<'t>(
        &self,
        document: &Document<'_>,
        source: &str,
        transcript: &'t Transcript<'t>,
        arena: &'t Arena<'t>,
        (conversations, idle): (&mut Vec<Conversation>, &mut Idle),
    ) -> Result<Compaction<'t>> {
        let began = Instant::now();
        let reader = self.policy.reader_name();
        // Why there is no summary, where that is what can happen and is not told at once.
        let left = RefCell::new(None);
        let listen = |source: &str, what: Happening<'_>| {
            if let Happening::Left { why, unexpected: false } = what {
                left.replace(Some(why.to_owned()));
            }
            self.tell(Event::Compacting { source, what, reader });
        };
        let context = self.context(&listen);
        let fitted = context.plan(transcript, arena).inspect_err(|error| {
            conversations.push(Conversation::without_plan(source, Status::Failed, Some(error.to_string())));
        })?;
        self.tell(Event::Planned { source, plan: &fitted, policy: self.policy });
        if let Some(reason) = fitted.plan.reason.as_deref().filter(|_| fitted.plan.refused) {
            self.tell(Event::Refused { source, reason });
        }
        self.tell_of_unknown_tools(source, &fitted);
        let explain = self.explain(document);
        let worth = explain.and_then(|_| economy::estimated(&fitted, self.policy));
        let saving = self.drawn(explain, source, &fitted, worth.as_ref());
        let mut done = match self.check_plan(source, &fitted) {
            Ok(()) => context.carry_out(source, fitted),
            Err(error) => context.refused(fitted, error),
        };
        if done.failure.is_none() && !done.is_change() {
            self.note_idle(document, source, (transcript, &done.fitted), left.take(), idle);
        }
        let page = self.page_of(source, &mut done);
        let told = reported(self.settings, self.policy, source, &done, began.elapsed());
        let saving = saving.map(|one| Saving { saved: told.saved, ..one });
        conversations.push(Conversation { saving, page, ..told });
        match done.failure.take().map(anyhow::Error::downcast::<Failure>) {
            None => Ok(done),
            Some(Ok(failure)) => Err(failure.reported(true).into()),
            Some(Err(error)) => Err(error),
        }
    }

    /// Notes that a conversation stays as it is and why, where that is not told otherwise.
    fn note_idle(
        &self,
        document: &Document<'_>,
        source: &str,
        (transcript, fitted): (&Transcript<'_>, &FittedPlan<'_>),
        left: Option<String>,
        idle: &mut Idle,
    ) {
        let Plan { reason, refused, .. } = &fitted.plan;
        let is_told = self.policy.disabled.is_some() || self.policy.cut.never();
        let is_told = is_told || *refused && !self.settings.action.is_dry_run();
        let planned = reason.clone().filter(|_| !is_told && !fitted.is_change());
        let Some(reason) = left.or(planned) else { return };
        if self.is_one_of_several(document) || self.settings.voice.volume == Volume::Quiet {
            return idle.add(source, &reason, None);
        }
        let advice = self.context(&|_, _| ()).advice(transcript, fitted);
        let size = match fitted.plan.triggered {
            true => String::new(),
            false => format!("it has {} tokens, and ", fitted.tokens(self.policy)),
        };
        idle.add(source, &format!("{size}{reason}"), advice);
    }

    /// Has a conversation drawn, or gives what a table shows of it.
    fn drawn(
        &self,
        explain: Option<Explain>,
        source: &str,
        plan: &FittedPlan<'_>,
        economy: Option<&Economy>,
    ) -> Option<Saving> {
        match explain? {
            Explain::Picture => {
                self.tell(Event::Explained { source, plan, policy: self.policy, economy });
                None
            }
            Explain::Table => Some(Saving {
                source: readable_source(source).into_owned(),
                messages: plan.seen.messages.len(),
                tokens: plan.tokens(self.policy),
                saved: plan.tally.sum(&plan.plan.summarized()),
            }),
        }
    }

    /// Refuses before a summary is paid for what could not be written or emitted afterwards.
    fn check_plan(&self, source: &str, fitted: &FittedPlan<'_>) -> Result<()> {
        if fitted.plan.cutoff == 0 {
            return if fitted.is_change() { self.check_state(source, fitted) } else { Ok(()) };
        }
        self.tell(Event::Split { source, plan: &fitted.plan, pairs: self.policy.cut.pairs });
        append::check_files(&certain_files(self.policy, fitted))?;
        self.check_state(source, fitted)
    }

    /// What a page shows of a conversation, where it shows it.
    fn page_of(&self, source: &str, done: &mut Compaction<'_>) -> Option<Arc<Drawn>> {
        self.page.filter(|page| done.failure.is_none() && page.may_draw(done.account.lost()))?;
        // A page is worth no result: a fault costs only what it would show.
        fault::caught(Part::Page, || page::drawn(self.policy, source, done)).unwrap_or_else(|fault| {
            self.tell(Event::NotDrawn { source, fault: &fault });
            None
        })
    }

    fn context<'c>(&'c self, listen: &'c dyn Fn(&str, Happening<'_>)) -> CompactionContext<'c> {
        let InputTask { settings, policy, backend, .. } = *self;
        let (counts, keeps_facts) = (settings.needs_costs(), settings.output.html.is_some());
        CompactionContext { policy, backend, listen, counts, keeps_facts }
    }

    /// How a conversation of a document is drawn, if it is.
    fn explain(&self, document: &Document<'_>) -> Option<Explain> {
        let explain = if self.is_one_of_several(document) { Explain::Table } else { Explain::Picture };
        self.settings.voice.explain.then_some(explain)
    }

    fn is_one_of_several(&self, document: &Document<'_>) -> bool {
        self.many || self.input.as_lines || document.transcripts.len() > 1
    }

    /// Refuses what the format cannot hold and, in the presets of `LangChain`, what `LangChain` does not take.
    fn check_messages(&self, document: &Document<'_>) -> Result<()> {
        check_role(self.policy, document)?;
        check_emit(self.policy, document)?;
        if !self.policy.ways.langchain {
            return Ok(());
        }
        for transcript in &document.transcripts {
            let refused = transcript
                .messages
                .iter()
                .enumerate()
                .find_map(|(index, message)| coercion::refusal(transcript.format, message).map(|why| (index, why)));
            if let Some((index, why)) = refused {
                let source = readable_source(&self.input.name);
                let message = format!("{source}: message {index} {why}; without --preset it is read all the same");
                return Err(Failure::unreadable(message).into());
            }
        }
        Ok(())
    }

    /// Refuses to make an update of messages that no `LangGraph` state takes, before a summary is paid for.
    fn check_state(&self, source: &str, fitted: &FittedPlan<'_>) -> Result<()> {
        let refused = || rewrite::refused_by_state(fitted.seen, &fitted.plan);
        let refused = (self.policy.emit == Emit::Update).then(refused).flatten();
        let Some((index, why)) = refused else { return Ok(()) };
        let advice = "no LangGraph state takes it; leave --emit update out";
        let message = format!("{}: message {index} {why}, so that {advice}", readable_source(source));
        Err(Failure::unreadable(message).into())
    }
}

fn check_role(policy: &CompactionPolicy, document: &Document<'_>) -> Result<()> {
    let role = policy.summary.role;
    match document.transcripts.iter().find(|transcript| !transcript.format.summary_roles().contains(&role)) {
        None => Ok(()),
        Some(transcript) => {
            let roles: Vec<&str> = transcript.format.summary_roles().iter().map(|role| role.name()).collect();
            Err(Failure::usage(format!(
                "--summary-role {}: a summary in the format {} can only be of role {}; give --summary-role {}",
                role.name(),
                transcript.format.name(),
                roles.join(" or "),
                roles[0]
            ))
            .into())
        }
    }
}

/// Refuses the update of a state in a format that no `LangGraph` state has.
fn check_emit(policy: &CompactionPolicy, document: &Document<'_>) -> Result<()> {
    let without = |transcript: &&Transcript<'_>| transcript.format.remove_all().is_none();
    match document.transcripts.iter().find(without).filter(|_| policy.emit == Emit::Update) {
        None => Ok(()),
        Some(transcript) => Err(Failure::usage(format!(
            "--emit update: a LangGraph state holds no messages of the format {}; leave it out",
            transcript.format.name()
        ))
        .into()),
    }
}
