//! A piece with all that determines its result: a document, or lines of a file. Its conversations go through
//! `crate::compact` one by one, and their results are reported, counted and joined.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::mem::take;
use std::ops::Range;

use anyhow::Result;

use crate::compact::{
    Compaction, CompactionContext, CompactionEvent, CompactionPolicy, EarlierSummary, Emit, FileMasks, Fitted,
    Original, Redaction, assign_record_ids, redactor,
};
use crate::events::{Event, Listener, Saving};
use crate::exit::Failure;
use crate::fault::{self, ProgramPart};
use crate::files::input::Input;
use crate::plan::Plan;
use crate::plan::breaches::behind_broken_line;
use crate::plan::economy::Economy;
use crate::redact::Redactor;
use crate::rewrite::Edit;
use crate::sanitize::sanitize_name;
use crate::settings::{Action, Explain, InputSettings, Settings, Volume};
use crate::summary::exchange::SummaryBackend;
use crate::transcript::Transcript;
use crate::transcript::edit::apart;
use crate::transcript::foreign::unread_text;
use crate::transcript::framing::Document;
use crate::transcript::pieces::all_tool_data;
use crate::transcript::view::Arena;
use crate::wording::{counted, readable_source};

use crate::engine::inputs::{edited, read, source_name};
use crate::engine::result::TaskResult;
use crate::engine::sink::Sink;
use crate::engine::summaries::RunBackend;

/// A piece with all that determines its result.
#[derive(Clone, Copy)]
pub(super) struct Task<'r> {
    pub(super) input: &'r Input,
    pub(super) settings: &'r Settings,
    /// The policy of this input, which can name an archive of its own.
    pub(super) policy: &'r CompactionPolicy,
    /// Writes the summaries, unless the policy names the embedded summarizer.
    pub(super) backend: &'r dyn SummaryBackend,
    pub(super) listener: &'r dyn Listener,
    /// Where the result goes.
    pub(super) sink: &'r Sink<'r>,
    /// Whether there is or could be more than one input, so that each line of output names its input.
    pub(super) many: bool,
    /// Whether the input is what updates or `--repair` made of another.
    pub(super) repaired: bool,
    /// What the input was before `--redact=all` masked it.
    pub(super) unmasked: Option<&'r Unmasked<'r>>,
}

/// What an input was before it was masked.
pub(super) struct Unmasked<'r> {
    pub(super) input: &'r Input,
    pub(super) original: Original<'r>,
}

/// What comes of a piece, before anything of it is written.
pub(super) fn result_of(sink: &Sink<'_>, input: &Input) -> TaskResult {
    let run = sink.run;
    // Of a stream, the bar shows how far it came.
    let is_alone = run.inputs.entries.len() == 1 && !input.as_lines;
    let backend = RunBackend {
        summarizer: &run.settings.summarizer.backend,
        cache: run.cache.cache.as_ref().filter(|_| input.as_lines || !run.cache.is_for_lines),
        listener: &run.listeners,
        alone: is_alone.then_some(run.settings.policy.summary.name.as_str()),
    };
    let mut result = TaskResult::default();
    let task = Task::new(sink, input, &backend);
    // A panic in one input must not end the others.
    let done = fault::caught(ProgramPart::Input, || task.add_to(&mut result))
        .unwrap_or_else(|fault| Err(Failure::unreadable(format!("{}: {fault}", readable_source(&input.name))).into()));
    result.error = done.err();
    result
}

impl<'r> Task<'r> {
    pub(super) fn new(sink: &'r Sink<'r>, input: &'r Input, backend: &'r dyn SummaryBackend) -> Self {
        let run = sink.run;
        Task {
            input,
            settings: run.settings,
            policy: &sink.policy,
            backend,
            listener: &run.listeners,
            sink,
            many: run.inputs.many,
            repaired: false,
            unmasked: None,
        }
    }
}

impl<'r> Task<'r> {
    /// Adds to `result` what comes of the input, once its updates are applied and its violations are repaired. The rows of
    /// the conversations before one that fails are added as well.
    ///
    /// # Errors
    /// The input cannot be read, updated or repaired; or a summary failed, and `--on-error` says to fail.
    pub(super) fn add_to(&self, result: &mut TaskResult) -> Result<()> {
        let mut prepared = self.prepare()?;
        let archived = take(&mut prepared.archived);
        let task = Task { input: &prepared.input, repaired: prepared.is_changed(), ..*self };
        if self.settings.action == Action::Check {
            result.breaches = task.check()?;
        } else {
            let arena = Arena::default();
            let mut document = read(&self.settings.input, self.policy, task.input, &arena)?;
            self.sink.run.rounds.number(self.policy, &mut document);
            if self.policy.writes_records() {
                assign_record_ids(&mut document, task.input.bytes(), task.input.lines_before);
            }
            task.check_document(&document)?;
            if prepared.is_changed() && !document.broken_lines.is_empty() {
                // Their lines are those of the file as the user has it.
                let arena = Arena::default();
                self.report_broken_lines(&read(&self.settings.input, self.policy, self.input, &arena)?);
            } else {
                task.report_broken_lines(&document);
            }
            task.report_unread_text(&document);
            task.report_versions(&document);
            task.report_reading_stops(&document);
            let added = task.add_document(&document, result);
            self.note_prepared(&prepared, result);
            added?;
            self.complete(&prepared, archived, result)?;
        }
        self.report_updates(&prepared.updates);
        Ok(())
    }

    /// Whether the run writes or shows changes, so that a repair is one.
    pub(super) fn shows_changes(&self) -> bool {
        matches!(self.settings.action, Action::Compact | Action::Mend | Action::Diff)
    }

    /// Adds what comes of the conversations of a document; with `--redact=all`, of the masked one.
    fn add_document(&self, document: &Document<'_>, result: &mut TaskResult) -> Result<()> {
        if let Some(masks) = self.masks(document) {
            return self.add_masked(document, &masks, result);
        }
        match self.settings.action {
            Action::DryRun { json, preview } => self.dry_run(document, json, preview, result),
            Action::Count { json, sorted } => self.count(document, json, sorted, result),
            Action::Diff => self.diff(document, result),
            Action::Compact | Action::Mend | Action::Check => self.compact_all(document, result),
        }
    }

    /// The masks of an input, if it has secrets and all of them are masked.
    fn masks(&self, document: &Document<'_>) -> Option<FileMasks> {
        let is_counted = matches!(self.settings.action, Action::Count { .. });
        let masks_all = self.policy.redact == Redaction::All && !is_counted && self.unmasked.is_none();
        let masks = masks_all.then(|| FileMasks::new(&self.input.text, document.json, document));
        masks.filter(|masks| !masks.edits.is_empty())
    }

    /// Adds to `result` what comes of the masked input.
    ///
    /// # Errors
    /// The masked input is not read as the same conversations, or as for the input itself.
    fn add_masked(&self, original: &Document<'_>, masks: &FileMasks, result: &mut TaskResult) -> Result<()> {
        let (input, arena) = (edited(self.input, &masks.edits), Arena::default());
        let mut formats = original.transcripts.iter().map(|transcript| transcript.format);
        let first = formats.next().filter(|first| formats.all(|format| format.name == first.name));
        let reading = InputSettings { from: self.settings.input.from.or(first), ..self.settings.input.clone() };
        let mut document = read(&reading, self.policy, &input, &arena)?;
        masks.mark(&mut document, original)?;
        self.check_places(true)?;
        let original = Original { document: original, masks, masked: &input.text };
        let unmasked = Unmasked { input: self.input, original };
        let mut policy = self.policy.clone();
        // That there is nothing to mask no longer holds.
        policy.disabled = policy.disabled.map(|_| "nothing is cut".to_owned());
        Task { input: &input, policy: &policy, unmasked: Some(&unmasked), ..*self }.add_document(&document, result)
    }

    /// How many places of each kind are masked in a conversation, if any are.
    pub(super) fn masked_places(&self, at: usize) -> Option<&BTreeMap<&'static str, u64>> {
        self.unmasked.map(|unmasked| unmasked.original.masks.places(at)).filter(|places| !places.is_empty())
    }

    /// How many secrets of each kind are masked in a conversation, if any are, however often each is there.
    pub(super) fn masked_secrets(&self, at: usize) -> Option<&BTreeMap<&'static str, u64>> {
        self.unmasked.map(|unmasked| unmasked.original.masks.secrets(at)).filter(|secrets| !secrets.is_empty())
    }

    /// Reports the secrets that are masked in a conversation, or would be.
    pub(super) fn note_masks(&self, source: &str, at: usize, result: &mut TaskResult) {
        if let Some((secrets, places)) = self.masked_secrets(at).zip(self.masked_places(at)) {
            result.note_compacted(true);
            let is_planned = self.settings.action.is_read_only();
            let what = CompactionEvent::MaskedAll { secrets, places: places.values().sum(), is_planned };
            self.listener.handle(&Event::Compacting { source, what, reader: None });
        }
    }

    /// Reports the secrets that stay in a conversation although `--redact` is given, by kind.
    pub(super) fn note_secrets_left(&self, document: &Document<'_>, source: &str, at: usize, done: &Compaction<'_>) {
        let is_written = matches!(self.policy.emit, Emit::Messages | Emit::Update) && done.failure.is_none();
        if self.policy.redact != Redaction::Sent || !is_written || self.settings.stderr.volume == Volume::Quiet {
            return;
        }
        let transcript = &document.transcripts[at];
        let replaced = if done.summary.is_some() { done.plan.replaced() } else { Vec::new() };
        let gone = replaced.iter().chain(&done.plan.emptied).map(|index| transcript.messages[*index].span());
        let mut gone: Vec<Range<usize>> = gone.chain(done.edits.iter().map(|edit| edit.range.clone())).collect();
        // Several conversations can have one envelope, which counts as part of the first.
        let around = |at: usize| document.transcripts.get(at)?.envelope.map(|envelope| envelope.span());
        let is_shared = |other: usize| around(other) == around(at);
        let has_envelope = around(at).is_some() && (at == 0 || !is_shared(at - 1));
        let data = all_tool_data(std::slice::from_ref(transcript));
        let mut redactor = redactor(transcript);
        let edits: Vec<Edit> = match transcript.envelope.filter(|_| has_envelope) {
            Some(envelope) => {
                let others = document.transcripts[at + 1..].iter().enumerate();
                let others = others.take_while(|(behind, _)| is_shared(at + 1 + behind));
                gone.extend(others.flat_map(|(_, other)| other.messages.iter().map(|message| message.span())));
                redactor.edits_in(envelope, &data, &apart(gone), 0)
            }
            None => {
                let gone = apart(gone);
                transcript.entries().flat_map(|entry| redactor.edits_in(entry, &data, &gone, 0)).collect()
            }
        };
        let left: BTreeSet<_> = redactor.masks_in(edits.iter().map(|edit| &*edit.text)).into_iter().collect();
        let mut counts = BTreeMap::new();
        left.into_iter().for_each(|(kind, _)| *counts.entry(kind).or_default() += 1);
        if !counts.is_empty() {
            self.listener.handle(&Event::Compacting {
                source,
                what: CompactionEvent::SecretsLeft(&counts),
                reader: None,
            });
        }
    }

    /// Reports the lines that are not JSON.
    pub(super) fn report_broken_lines(&self, document: &Document<'_>) {
        if !document.broken_lines.is_empty() {
            self.listener.handle(&Event::BrokenLines { source: &self.input.name, lines: &document.broken_lines });
        }
    }

    /// Reports versions of sessions that their readers do not know.
    pub(super) fn report_versions(&self, document: &Document<'_>) {
        for transcript in &document.transcripts {
            let (source, format) = (&source_name(self.input, transcript), transcript.format.name);
            if let Some(version) = transcript.format.unknown_version(transcript) {
                self.listener.handle(&Event::UnknownVersion { source, version: &version, format });
            }
        }
    }

    /// Reports where an agent stops to read a session.
    fn report_reading_stops(&self, document: &Document<'_>) {
        for transcript in &document.transcripts {
            let (source, format) = (&source_name(self.input, transcript), transcript.format.name);
            if behind_broken_line(transcript).is_some()
                && let Some(&line) = document.broken_lines.first()
            {
                self.listener.handle(&Event::ReadingStops { source, line, format });
            }
        }
    }

    /// Reports conversations with much text that the format does not read.
    pub(super) fn report_unread_text(&self, document: &Document<'_>) {
        for transcript in &document.transcripts {
            if let Some(unread) = unread_text(transcript) {
                let source = &source_name(self.input, transcript);
                self.listener.handle(&Event::UnreadText { source, format: transcript.format.name, unread: &unread });
            }
        }
    }

    /// A line with a number, after the name of the conversation if there may be several.
    pub(super) fn line(&self, source: &str, transcript: &Transcript<'_>, number: impl Display) -> String {
        if self.many || transcript.line.is_some() {
            format!("{}\t{number}\n", sanitize_name(source))
        } else {
            format!("{number}\n")
        }
    }

    /// Warns of protected tools that have no calls. Several inputs need not have the same tools, so there is no warning
    /// then.
    pub(super) fn warn_of_unknown_tools(&self, source: &str, planned: &Fitted<'_>) {
        let unknown = if self.many || self.input.as_lines { Vec::new() } else { planned.decided.unknown_tools() };
        unknown.into_iter().for_each(|name| self.listener.handle(&Event::NoSuchTool { source, name }));
    }

    /// Counts a conversation as unchanged, with the reason, unless an event reports that already. `left` is why there is
    /// no summary, if that was expected.
    pub(super) fn note_unchanged(
        &self,
        document: &Document<'_>,
        source: &str,
        planned: &Fitted<'_>,
        left: Option<String>,
        result: &mut TaskResult,
    ) {
        let (reasons, Plan { reason, refused, .. }) = (&mut result.totals.unchanged_reasons, &planned.plan);
        let mends = self.settings.action == Action::Mend;
        let is_reported = self.policy.disabled.is_some() && !mends
            || self.policy.cut.never_triggers()
            || *refused && !self.settings.action.is_dry_run();
        let of_plan = reason.clone().filter(|_| !is_reported && !planned.is_change());
        let is_of_plan = left.is_none();
        let Some(reason) = left.or(of_plan) else { return };
        if self.is_one_of_several(document) || self.settings.stderr.volume == Volume::Quiet {
            return reasons.add(source, &reason, None);
        }
        // What was found out while summarizing names its own remedy.
        let advice = if is_of_plan { self.context(&|_, _| ()).advice(planned) } else { None };
        let has_tokens = || match planned.decided.recorded() {
            Some(recorded) => format!("it has {} by what it recorded itself, and ", counted(recorded, "token")),
            None => format!("it has {}, and ", counted(planned.tokens(), "token")),
        };
        let size = if planned.plan.triggered || mends { String::new() } else { has_tokens() };
        reasons.add(source, &format!("{size}{reason}"), advice);
    }

    /// Draws a conversation, or returns its row in the table of several.
    pub(super) fn explain_plan(
        &self,
        explain: Option<Explain>,
        source: &str,
        plan: &Fitted<'_>,
        earlier: &[EarlierSummary],
        economy: Option<&Economy>,
    ) -> Option<Saving> {
        match explain? {
            Explain::Picture => {
                self.listener.handle(&Event::Explained { source, plan, earlier, economy });
                None
            }
            Explain::Table => Some(Saving {
                source: readable_source(source).into_owned(),
                messages: plan.decided.view.messages.len(),
                tokens: plan.tokens(),
                saved: plan.decided.tally.sum(&plan.plan.summarized()),
            }),
        }
    }

    pub(super) fn context<'c>(&'c self, listen: &'c dyn Fn(&str, CompactionEvent<'_>)) -> CompactionContext<'c> {
        let Task { settings, policy, backend, .. } = *self;
        let counts = settings.needs_costs();
        CompactionContext { policy, backend, listen, counts, counts_savings: counts || settings.stderr.explain }
    }

    /// How `--explain` draws a conversation of a document.
    pub(super) fn explain(&self, document: &Document<'_>) -> Option<Explain> {
        let explain = if self.is_one_of_several(document) { Explain::Table } else { Explain::Picture };
        self.settings.stderr.explain.then_some(explain)
    }

    fn is_one_of_several(&self, document: &Document<'_>) -> bool {
        self.many || self.input.as_lines || document.transcripts.len() > 1
    }
}

/// Masks the secrets in bytes that are not a transcript.
pub(super) fn masked_bytes(bytes: &[u8]) -> Vec<u8> {
    let mut redactor = Redactor::default();
    redactor.look_through_texts(bytes.utf8_chunks().map(|chunk| chunk.valid()));
    let masked = bytes.utf8_chunks().map(|chunk| [redactor.mask(chunk.valid()).as_bytes(), chunk.invalid()].concat());
    masked.collect::<Vec<_>>().concat()
}

/// Runs one input in memory, for tests and laws: nothing is written. `backend` writes the summaries, unless the settings
/// name the embedded summarizer. The rows of its conversations are added to `rows`, also where a later one fails.
///
/// # Errors
/// The input is not read as a transcript, or a conversation in it has no result.
pub fn run_alone(
    settings: &Settings,
    input: &Input,
    backend: &dyn SummaryBackend,
    rows: &mut Vec<crate::events::ReportRow>,
) -> Result<TaskResult> {
    use crate::engine::inputs::Inputs;
    use crate::engine::run::Run;
    use crate::engine::summaries::RunCache;

    let inputs = Inputs::of_stdin();
    let run = Run::begin(settings, &inputs, None, RunCache::default())?;
    let sink = Sink::new(&run, 0);
    let mut result = TaskResult::default();
    let done = Task::new(&sink, input, backend).add_to(&mut result);
    rows.append(&mut result.rows);
    done.map(|()| result)
}

/// Names the conversation in the error that it has no plan.
pub(super) fn without_plan(source: &str, error: anyhow::Error) -> anyhow::Error {
    match error.downcast::<Failure>() {
        Ok(failure) => failure.of(readable_source(source)).into(),
        Err(error) => error,
    }
}
