//! A piece, a document or lines of a file, and what comes of it: it is prepared, read, and with `--redact=all` masked. A type
//! for each stage says what may come next.
//!
//! ```text
//! Task -prepare-> Prepared -read, mask-> Conversations -compact, count, draw-> TaskResult
//! ```

use anyhow::Result;

use crate::compact::{FileMasks, Original, Redaction, assign_record_ids};
use crate::exit::Failure;
use crate::fault::{self, ProgramPart};
use crate::files::input::Input;
use crate::redact::Redactor;
use crate::settings::{Action, InputSettings};
use crate::transcript::formats::Format;
use crate::transcript::framing::Document;
use crate::transcript::view::Arena;
use crate::wording::readable_source;

use crate::engine::conversations::{Conversations, Unmasked};
use crate::engine::prepare::Prepared;
use crate::engine::reading::{edited, read};
use crate::engine::result::TaskResult;
use crate::engine::sink::Sink;
use crate::engine::summaries::RunBackend;
use crate::engine::task::Task;

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
    result.error = match fault::caught(ProgramPart::Input, || task.add_to(&mut result)) {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(error),
        Err(fault) => {
            let message = format!("{}: {fault}", readable_source(&input.name));
            Some(Failure::unreadable(message).into())
        }
    };
    result
}

impl Task<'_> {
    /// Adds to `result` what comes of the input, once its updates are applied and its violations are repaired. What came
    /// of the conversations before one that fails is added as well.
    ///
    /// # Errors
    /// The input cannot be read, updated or repaired; or a summary failed, and `--on-error` says to fail.
    fn add_to(&self, result: &mut TaskResult) -> Result<()> {
        let prepared = self.prepare()?;
        self.add_prepared(&prepared, result)?;
        self.complete(prepared, result)
    }

    /// Adds to `result` what comes of the conversations of the prepared input.
    fn add_prepared(&self, prepared: &Prepared<'_>, result: &mut TaskResult) -> Result<()> {
        let (settings, policy) = (self.run.settings, &*self.sink.policy);
        let arena = Arena::default();
        let mut document = read(&settings.input, policy, &prepared.input, &arena)?;
        let is_checked = settings.action == Action::Check;
        if !is_checked {
            self.run.archived_runs.number(policy, &mut document);
            if policy.writes_records() {
                assign_record_ids(&mut document, prepared.input.bytes(), prepared.input.lines_before);
            }
        }
        let Task { run, sink, backend, .. } = *self;
        let (input, document) = (&*prepared.input, &document);
        let conversations = Conversations { run, sink, backend, policy, prepared, input, document, unmasked: None };
        if is_checked {
            result.breaches = conversations.check();
            return Ok(());
        }
        conversations.check_document()?;
        self.report_read(&conversations)?;
        match masks_of(&conversations) {
            Some(masks) => add_masked(&conversations, &masks, result),
            None => add(&conversations, result),
        }
    }

    /// Reports what was not understood of the conversations.
    fn report_read(&self, conversations: &Conversations<'_>) -> Result<()> {
        if conversations.prepared.is_changed() && !conversations.document.broken_lines.is_empty() {
            // Their lines are those of the file as the user has it.
            let arena = Arena::default();
            let document = read(&self.run.settings.input, &self.sink.policy, self.input, &arena)?;
            conversations.report_broken_lines(&document);
        } else {
            conversations.report_broken_lines(conversations.document);
        }
        conversations.report_unread_text();
        conversations.report_versions();
        conversations.report_missing_beginnings();
        conversations.report_reading_stops();
        Ok(())
    }
}

/// Adds to `result` what comes of conversations.
fn add(conversations: &Conversations<'_>, result: &mut TaskResult) -> Result<()> {
    match conversations.run.settings.action {
        Action::DryRun { json, preview } => conversations.dry_run(json, preview, result),
        Action::Count { json, sorted } => conversations.count(json, sorted, result),
        Action::Diff => conversations.diff(result),
        Action::Compact | Action::Mend | Action::Check => conversations.compact_all(result),
    }
}

/// The masks of conversations, if they have secrets and all of them are masked.
fn masks_of(conversations: &Conversations<'_>) -> Option<FileMasks> {
    let is_counted = matches!(conversations.run.settings.action, Action::Count { .. });
    if conversations.policy.redact != Redaction::All || is_counted {
        return None;
    }
    let document = conversations.document;
    let masks = FileMasks::new(&conversations.input.text, document.json, document);
    if masks.edits.is_empty() { None } else { Some(masks) }
}

/// Adds to `result` what comes of conversations with their secrets masked.
///
/// # Errors
/// The masked input is not read as the same conversations, or as for the conversations themselves.
fn add_masked(original: &Conversations<'_>, masks: &FileMasks, result: &mut TaskResult) -> Result<()> {
    let Conversations { run, sink, backend, prepared, .. } = *original;
    let (input, arena) = (edited(original.input, &masks.edits), Arena::default());
    let reading = InputSettings {
        from: run.settings.input.from.or_else(|| common_format(original.document)),
        ..run.settings.input.clone()
    };
    let mut document = read(&reading, original.policy, &input, &arena)?;
    masks.mark(&mut document, original.document)?;
    sink.check_places(true)?;
    let mut policy = original.policy.clone();
    // That there is nothing to mask no longer holds.
    policy.disabled = policy.disabled.map(|_| "nothing is cut".to_owned());
    let unmasked = Unmasked {
        input: original.input,
        original: Original { document: original.document, masks, masked: &input.text },
    };
    let masked = Conversations {
        run,
        sink,
        backend,
        policy: &policy,
        prepared,
        input: &input,
        document: &document,
        unmasked: Some(&unmasked),
    };
    add(&masked, result)
}

/// The format that all conversations of a document have, if they have one.
fn common_format(document: &Document<'_>) -> Option<&'static Format> {
    let first = document.transcripts.first()?.format;
    for transcript in &document.transcripts {
        if transcript.format.name != first.name {
            return None;
        }
    }
    Some(first)
}

/// Masks the secrets in bytes that are not a transcript.
pub(super) fn masked_bytes(bytes: &[u8]) -> Vec<u8> {
    let mut redactor = Redactor::default();
    redactor.look_through_texts(bytes.utf8_chunks().map(|chunk| chunk.valid()));
    let mut masked = Vec::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        masked.extend_from_slice(redactor.mask(chunk.valid()).as_bytes());
        masked.extend_from_slice(chunk.invalid());
    }
    masked
}

/// Runs one input in memory, for tests and laws: nothing is written. `backend` writes the summaries, unless the settings
/// name the embedded summarizer. What came of its conversations is added to `outcomes`, also where a later one fails.
///
/// # Errors
/// The input is not read as a transcript, or a conversation in it has no result.
pub fn run_alone(
    settings: &crate::settings::Settings,
    input: &Input,
    backend: &dyn crate::summary::exchange::SummaryBackend,
    outcomes: &mut Vec<crate::events::ConversationOutcome>,
) -> Result<TaskResult> {
    use crate::engine::inputs::Inputs;
    use crate::engine::run::Run;
    use crate::engine::summaries::RunCache;

    let inputs = Inputs::of_stdin();
    let run = Run::begin(settings, &inputs, None, RunCache::default())?;
    let sink = Sink::new(&run, 0);
    let mut result = TaskResult::default();
    let done = Task::new(&sink, input, backend).add_to(&mut result);
    outcomes.append(&mut result.outcomes);
    done.map(|()| result)
}
