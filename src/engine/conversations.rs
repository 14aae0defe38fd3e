//! The conversations of an input, once it is prepared and read: what their compaction needs, and what is reported of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::ops::Range;

use crate::compact::{
    Compaction, CompactionContext, CompactionEvent, CompactionPolicy, Conversation, EarlierSummary, Emit, Fitted,
    Original, Redaction, conversations, redactor,
};
use crate::events::{Event, Listener, Saving};
use crate::exit::Failure;
use crate::files::input::Input;
use crate::plan::Plan;
use crate::plan::breaches::behind_broken_line;
use crate::plan::economy::Economy;
use crate::rewrite::Edit;
use crate::sanitize::sanitize_name;
use crate::settings::{Action, Explain, Volume};
use crate::summary::exchange::SummaryBackend;
use crate::transcript::Transcript;
use crate::transcript::edit::apart;
use crate::transcript::foreign::{large_foreign_content, unread_text};
use crate::transcript::framing::Document;
use crate::transcript::json::Json;
use crate::transcript::pieces::all_tool_data;
use crate::wording::{counted, readable_source};

use crate::engine::prepare::Prepared;
use crate::engine::reading::source_name;
use crate::engine::result::TaskResult;
use crate::engine::run::Run;
use crate::engine::sink::Sink;

/// The conversations of an input: the last stage before they are compacted.
pub(super) struct Conversations<'r> {
    pub(super) run: &'r Run<'r>,
    /// Where the result goes.
    pub(super) sink: &'r Sink<'r>,
    /// Writes the summaries, unless the policy names the embedded summarizer.
    pub(super) backend: &'r dyn SummaryBackend,
    /// The policy of this input, which can name an archive of its own.
    pub(super) policy: &'r CompactionPolicy,
    /// What was done to the input before.
    pub(super) prepared: &'r Prepared<'r>,
    /// The text that they were read from.
    pub(super) input: &'r Input,
    pub(super) document: &'r Document<'r>,
    /// What the input was before `--redact=all` masked it.
    pub(super) unmasked: Option<&'r Unmasked<'r>>,
}

/// What an input was before it was masked.
pub(super) struct Unmasked<'r> {
    pub(super) input: &'r Input,
    pub(super) original: Original<'r>,
}

impl Conversations<'_> {
    /// Each conversation, in order.
    pub(super) fn each(&self) -> impl Iterator<Item = Conversation<'_>> {
        conversations(self.document, self.unmasked.map(|unmasked| &unmasked.original))
    }

    /// Reports a step of the compaction of a conversation.
    pub(super) fn report(&self, source: &str, what: CompactionEvent<'_>) {
        let reader = self.policy.reader_name();
        self.run.listeners.handle(&Event::Compacting { source, what, reader });
    }

    /// How many places of each kind are masked in a conversation, if any are.
    pub(super) fn masked_places(&self, at: usize) -> Option<&BTreeMap<&'static str, u64>> {
        let places = self.unmasked?.original.masks.places(at);
        if places.is_empty() { None } else { Some(places) }
    }

    /// How many secrets of each kind are masked in a conversation, if any are, however often each is there.
    pub(super) fn masked_secrets(&self, at: usize) -> Option<&BTreeMap<&'static str, u64>> {
        let secrets = self.unmasked?.original.masks.secrets(at);
        if secrets.is_empty() { None } else { Some(secrets) }
    }

    /// Reports the secrets that are masked in a conversation, or would be.
    pub(super) fn note_masks(&self, source: &str, at: usize, result: &mut TaskResult) {
        if let (Some(secrets), Some(places)) = (self.masked_secrets(at), self.masked_places(at)) {
            result.note_compacted(true);
            let is_planned = self.run.settings.action.is_read_only();
            let what = CompactionEvent::MaskedAll { secrets, places: places.values().sum(), is_planned };
            self.run.listeners.handle(&Event::Compacting { source, what, reader: None });
        }
    }

    /// Reports the secrets that stay in a conversation although `--redact` is given, by kind.
    pub(super) fn note_secrets_left(&self, source: &str, at: usize, done: &Compaction<'_>) {
        let is_written = matches!(self.policy.emit, Emit::Messages | Emit::Update) && done.failure.is_none();
        if self.policy.redact != Redaction::Sent || !is_written || self.run.settings.stderr.volume == Volume::Quiet {
            return;
        }
        let transcript = &self.document.transcripts[at];
        let replaced = if done.summary.is_some() { done.plan.replaced() } else { Vec::new() };
        let mut gone: Vec<Range<usize>> = Vec::new();
        for index in replaced.iter().chain(&done.plan.emptied) {
            gone.push(transcript.messages[*index].span());
        }
        gone.extend(done.edits.iter().map(|edit| edit.range.clone()));
        let data = all_tool_data(std::slice::from_ref(transcript));
        let mut redactor = redactor(transcript);
        let mut edits: Vec<Edit> = Vec::new();
        if let Some(envelope) = self.own_envelope(at) {
            for other in &self.document.transcripts[at + 1..] {
                if other.envelope.is_none_or(|around| around.span() != envelope.span()) {
                    break;
                }
                gone.extend(other.messages.iter().map(|message| message.span()));
            }
            edits = redactor.edits_in(envelope, &data, &apart(gone), 0);
        } else {
            let gone = apart(gone);
            for entry in transcript.entries() {
                edits.extend(redactor.edits_in(entry, &data, &gone, 0));
            }
        }
        // A secret counts once, however often it is there.
        let left: BTreeSet<_> = redactor.masks_in(edits.iter().map(|edit| &*edit.text)).into_iter().collect();
        let mut counts = BTreeMap::new();
        for (kind, _) in left {
            *counts.entry(kind).or_default() += 1;
        }
        if !counts.is_empty() {
            self.run.listeners.handle(&Event::Compacting {
                source,
                what: CompactionEvent::SecretsLeft(&counts),
                reader: None,
            });
        }
    }

    /// The envelope of a conversation. Several conversations can have one envelope, which counts as part of the first.
    fn own_envelope(&self, at: usize) -> Option<Json<'_>> {
        let envelope = self.document.transcripts[at].envelope?;
        if at > 0
            && let Some(before) = self.document.transcripts[at - 1].envelope
            && before.span() == envelope.span()
        {
            return None;
        }
        Some(envelope)
    }

    /// Reports the lines of a document that are not JSON.
    pub(super) fn report_broken_lines(&self, document: &Document<'_>) {
        if !document.broken_lines.is_empty() {
            let (source, lines) = (&*self.input.name, &*document.broken_lines);
            self.run.listeners.handle(&Event::BrokenLines { source, lines });
        }
    }

    /// Reports versions of sessions that their readers do not know.
    pub(super) fn report_versions(&self) {
        for transcript in &self.document.transcripts {
            let (source, format) = (&source_name(self.input, transcript), transcript.format.name);
            if let Some(version) = transcript.format.unknown_version(transcript) {
                self.run.listeners.handle(&Event::UnknownVersion { source, version: &version, format });
            }
        }
    }

    /// Reports conversations whose beginning is in another file. Where they are compacted, their refusal says it.
    pub(super) fn report_missing_beginnings(&self) {
        if !matches!(self.run.settings.action, Action::Count { .. }) {
            return;
        }
        for transcript in &self.document.transcripts {
            if let Some(base) = &transcript.format.history_base(transcript) {
                let source = &source_name(self.input, transcript);
                self.run.listeners.handle(&Event::BeginsElsewhere { source, base });
            }
        }
    }

    /// Reports where an agent stops to read a session.
    pub(super) fn report_reading_stops(&self) {
        for transcript in &self.document.transcripts {
            let (source, format) = (&source_name(self.input, transcript), transcript.format.name);
            if behind_broken_line(transcript).is_some()
                && let Some(&line) = self.document.broken_lines.first()
            {
                self.run.listeners.handle(&Event::ReadingStops { source, line, format });
            }
        }
    }

    /// Reports conversations with much text that the format does not read, or in parts that it does not know.
    pub(super) fn report_unread_text(&self) {
        for transcript in &self.document.transcripts {
            if let Some(unknown) = large_foreign_content(transcript) {
                let source = &source_name(self.input, transcript);
                self.run.listeners.handle(&Event::UnknownParts { source, unknown: &unknown });
            }
            if let Some(unread) = unread_text(transcript) {
                let source = &source_name(self.input, transcript);
                self.run.listeners.handle(&Event::UnreadText {
                    source,
                    format: transcript.format.name,
                    unread: &unread,
                });
            }
        }
    }

    /// A line with a number, after the name of the conversation if there may be several.
    pub(super) fn line(&self, source: &str, transcript: &Transcript<'_>, number: impl Display) -> String {
        if self.run.inputs.many || transcript.line.is_some() {
            format!("{}\t{number}\n", sanitize_name(source))
        } else {
            format!("{number}\n")
        }
    }

    /// Warns of protected tools that have no calls. Several inputs need not have the same tools, so there is no warning
    /// then.
    pub(super) fn warn_of_unknown_tools(&self, source: &str, planned: &Fitted<'_>) {
        if self.run.inputs.many || self.input.as_lines {
            return;
        }
        for name in planned.decided.unknown_tools() {
            self.run.listeners.handle(&Event::NoSuchTool { source, name });
        }
    }

    /// Counts a conversation as unchanged, with the reason, unless an event reports that already. `left` is why there is
    /// no summary, if that was expected.
    pub(super) fn note_unchanged(
        &self,
        source: &str,
        planned: &Fitted<'_>,
        left: Option<String>,
        result: &mut TaskResult,
    ) {
        let (reasons, Plan { reason, refused, .. }) = (&mut result.totals.unchanged_reasons, &planned.plan);
        let mends = self.run.settings.action == Action::Mend;
        let is_reported = self.policy.disabled.is_some() && !mends
            || self.policy.cut.never_triggers()
            || *refused && !self.run.settings.action.is_dry_run();
        let of_plan = if is_reported || planned.is_change() { None } else { reason.clone() };
        let is_of_plan = left.is_none();
        let Some(reason) = left.or(of_plan) else { return };
        if self.is_one_of_several() || self.run.settings.stderr.volume == Volume::Quiet {
            return reasons.add(source, &reason, None);
        }
        // What was found out while summarizing names its own remedy.
        let advice = if is_of_plan { self.context(&|_, _| ()).advice(planned) } else { None };
        let size = if planned.plan.triggered || mends { String::new() } else { size_of(planned) };
        reasons.add(source, &format!("{size}{reason}"), advice);
    }

    /// Draws a conversation, or returns its row in the table of several.
    pub(super) fn explain_plan(
        &self,
        explain: Explain,
        source: &str,
        plan: &Fitted<'_>,
        earlier: &[EarlierSummary],
        economy: Option<&Economy>,
    ) -> Option<Saving> {
        match explain {
            Explain::Picture => {
                self.run.listeners.handle(&Event::Explained { source, plan, earlier, economy });
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
        let (policy, backend, settings) = (self.policy, self.backend, self.run.settings);
        let counts = settings.needs_costs();
        CompactionContext { policy, backend, listen, counts, counts_savings: counts || settings.stderr.explain }
    }

    /// How `--explain` draws a conversation of a document.
    pub(super) fn explain(&self) -> Option<Explain> {
        if !self.run.settings.stderr.explain {
            return None;
        }
        Some(if self.is_one_of_several() { Explain::Table } else { Explain::Picture })
    }

    fn is_one_of_several(&self) -> bool {
        self.run.inputs.many || self.input.as_lines || self.document.transcripts.len() > 1
    }
}

/// The beginning of a sentence that tells how large a conversation is.
fn size_of(planned: &Fitted<'_>) -> String {
    match planned.decided.recorded() {
        Some(recorded) => format!("it has {} by what it recorded itself, and ", counted(recorded, "token")),
        None => format!("it has {}, and ", counted(planned.tokens(), "token")),
    }
}

/// Names the conversation in the error that it has no plan.
pub(super) fn name_in_error(source: &str, error: anyhow::Error) -> anyhow::Error {
    match error.downcast::<Failure>() {
        Ok(failure) => failure.of(readable_source(source)).into(),
        Err(error) => error,
    }
}
