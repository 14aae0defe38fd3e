//! What comes of one input, before it is written: its conversations go through `crate::compact` one by one, and their
//! results are reported, counted and joined.

use anyhow::Result;

use crate::compact::Archived;
use crate::events::{Status, UnchangedReasons};
use crate::files::input::Input;
use crate::settings::Action;
use crate::transcript::framing::Document;

use crate::engine::check;
use crate::engine::read::{json as json_of, read};
use crate::engine::result::{ResultContent, TaskResult};
use crate::engine::task::Task;
use crate::engine::updates::{self, AppliedUpdates, UpdatedInput};

impl Task<'_> {
    /// Adds to `result` what comes of the input, or of lines of one, once the updates in it are applied. The rows of the
    /// conversations before one that fails are added as well.
    ///
    /// # Errors
    /// The input cannot be read, updated or repaired; or a summary failed, and `--on-error` says to fail.
    pub(super) fn add_to(&self, result: &mut TaskResult) -> Result<()> {
        let Some(UpdatedInput { input, archived, done }) = updates::apply(self)? else {
            return self.add_updated(result);
        };
        let readable = updates::readable(&input);
        let task = Task { input: &readable, repaired: true, ..*self };
        let added = task.add_updated(result);
        let shows = self.shows_changes();
        for AppliedUpdates { conversation, by, .. } in &done {
            let Some(row) = result.rows.get_mut(*conversation) else { continue };
            row.updated = Some(*by);
            if shows && row.status == Status::Unchanged {
                row.status = Status::Compacted;
            }
        }
        added?;
        if self.settings.action != Action::Check {
            self.note_changed(archived, result)?;
            if result.content.changes(readable.bytes()) {
                self.finish(&readable, result);
            } else {
                result.content = ResultContent::Edited(Vec::new());
                self.finish(&input, result);
            }
        }
        updates::notify(self, &done);
        Ok(())
    }

    /// Adds what comes of the input; with `--repair`, of the repaired input.
    fn add_updated(&self, result: &mut TaskResult) -> Result<()> {
        if self.settings.action == Action::Check {
            result.breaches = check::check(self)?;
            return Ok(());
        }
        let Some(how) = self.settings.repair else {
            self.add_unrepaired(result)?;
            self.finish(self.input, result);
            return Ok(());
        };
        let mut whole = self.input.clone();
        let (archived, repaired) = check::repair(self, &mut whole, how)?;
        let is_repaired = whole.bytes() != self.input.bytes();
        let done = Task { input: &whole, repaired: self.repaired || is_repaired, ..*self }.add_unrepaired(result);
        let shows_repair = self.shows_changes();
        for (row, repaired) in result.rows.iter_mut().zip(repaired).filter(|(_, one)| one.violations > 0) {
            row.repaired = Some(repaired);
            if is_repaired && row.status == Status::Unchanged && shows_repair {
                row.status = Status::Compacted;
            }
        }
        done?;
        if is_repaired {
            self.note_changed(archived, result)?;
        }
        self.finish(&whole, result);
        if is_repaired && self.settings.action == Action::Diff {
            let mut text = self.draw_repair(&whole)?;
            if let ResultContent::Text(diff) = &result.content {
                text.push_str(diff);
            }
            result.content = ResultContent::Text(text);
        }
        Ok(())
    }

    /// Whether the run writes or shows changes, so that a repair is one.
    fn shows_changes(&self) -> bool {
        matches!(self.settings.action, Action::Compact | Action::Diff)
    }

    /// Notes in a result that the input was changed before all else. `archived` leads back.
    fn note_changed(&self, archived: Archived, result: &mut TaskResult) -> Result<()> {
        let of_compaction = std::mem::replace(&mut result.archived, archived);
        result.archived.extend(of_compaction);
        self.check_places(true)?;
        result.totals.unchanged_reasons = UnchangedReasons::default();
        result.note_compacted(self.shows_changes());
        Ok(())
    }

    /// Completes a result that was made of `whole`.
    fn finish(&self, whole: &Input, result: &mut TaskResult) {
        // The writer has neither the repaired text nor the lines, so edits of them are applied here.
        if !std::ptr::eq(whole, self.input) || self.input.as_lines {
            result.content = std::mem::take(&mut result.content).applied(whole.bytes());
        }
        result.changed = result.content.changes(self.input.bytes());
    }

    /// Adds what comes of the input as it is, without a repair.
    fn add_unrepaired(&self, result: &mut TaskResult) -> Result<()> {
        let source = json_of(self.input)?;
        let mut document = read(&self.settings.input, self.policy, self.input, &source)?;
        self.rounds.number(self.policy, &mut document);
        self.check_document(&document)?;
        self.note_broken_lines(&document);
        match self.masks(&source, &document) {
            Some(masks) => self.add_masked(&document, &masks, result),
            None => self.add_document(&document, result),
        }
    }

    /// Adds what comes of the conversations of the input.
    pub(super) fn add_document(&self, document: &Document<'_>, result: &mut TaskResult) -> Result<()> {
        match self.settings.action {
            Action::DryRun { json, preview } => self.dry_run(document, json, preview, result),
            Action::Count { json, sorted } => self.count(document, json, sorted, result),
            Action::Diff => self.diff(document, result),
            Action::Compact | Action::Check => self.compact_all(document, result),
        }
    }
}

/// Runs one input in memory, for tests and laws: nothing is written. `backend` writes the summaries, unless the settings
/// name the embedded summarizer. The rows of its conversations are added to `rows`, also where a later one fails.
///
/// # Errors
/// As [`Task::add_to`].
#[cfg(any(test, feature = "laws"))]
pub(crate) fn run_alone(
    settings: &crate::settings::Settings,
    input: &Input,
    backend: &dyn crate::summary::exchange::SummaryBackend,
    rows: &mut Vec<crate::events::ReportRow>,
) -> Result<TaskResult> {
    let listener = &crate::report::reporter::Reporter::new(settings.stderr.volume);
    let policy = &settings.policy;
    let task = Task {
        input,
        settings,
        policy,
        backend,
        listener,
        page: None,
        sink: None,
        rounds: &crate::engine::records::ArchivedRounds::default(),
        many: false,
        repaired: false,
        unmasked: None,
    };
    let mut result = TaskResult::default();
    let done = task.add_to(&mut result);
    rows.append(&mut result.rows);
    done.map(|()| result)
}
