//! Runs that changed a text in several steps, such as a repair and a compaction. Each step has a record, and no text stays
//! between two steps.

use std::collections::BTreeMap;

use anyhow::Result;

use crate::rewrite::restoring::Record;

use super::Restorer;
use super::rounds::Rounds;

impl Restorer<'_, '_> {
    /// The records of runs of which no step is missing.
    ///
    /// # Errors
    /// There are only others.
    pub(super) fn of_whole_runs(
        &mut self,
        records: Vec<Record>,
        line: Option<usize>,
        rounds: &Rounds,
    ) -> Result<Vec<Record>> {
        let (mut whole, mut missing) = (Vec::new(), None);
        for record in records {
            match self.missing_step(&record, rounds)? {
                None => whole.push(record),
                Some(step) => missing = Some((step, record)),
            }
        }
        match missing {
            Some((step, record)) if whole.is_empty() => {
                let [_, steps] = record.steps.unwrap_or_default();
                let time = &record.summarized_at;
                Err(self.refused(line, &format!("step {step} of {steps} of the run of {time} is missing in it")))
            }
            _ => Ok(whole),
        }
    }

    /// Refuses to stop between two steps of a run.
    ///
    /// # Errors
    /// A step of the run that was put back last is still to be put back.
    pub(super) fn refuse_half_run(&self, line: Option<usize>, rounds: &Rounds) -> Result<()> {
        match (rounds.step_left(), &rounds.last) {
            (Some(step), Some(last)) => {
                let time = &last.time;
                Err(self.refused(line, &format!("step {step} of the run of {time} does not fit what was put back")))
            }
            _ => Ok(()),
        }
    }

    /// The number of a step of its run that the archive lacks, where a record is one of several.
    fn missing_step(&mut self, record: &Record, rounds: &Rounds) -> Result<Option<usize>> {
        let Some([step, _]) = record.steps else { return Ok(None) };
        if let Some(later) = rounds.missing_later_step(record) {
            return Ok(Some(later));
        }
        if step <= 1 || self.step_before(record)?.is_some() {
            return Ok(None);
        }
        Ok(Some(step - 1))
    }

    /// The record of the step before that of a record, if there is one and the archive has it.
    fn step_before(&mut self, record: &Record) -> Result<Option<Record>> {
        let Some([step, last]) = record.steps else { return Ok(None) };
        let mut places = Vec::new();
        for of_line in self.archive.by_result.get(&record.original_sha256).into_iter().flat_map(BTreeMap::values) {
            places.extend_from_slice(of_line);
        }
        for earlier in self.archive.read(&places)? {
            let is_of_run = earlier.summarized_at == record.summarized_at;
            if is_of_run && earlier.steps.is_some_and(|[number, of]| of == last && number < step) {
                return Ok(Some(earlier));
            }
        }
        Ok(None)
    }

    /// Whether the run of a record went on with a step that the archive has and that was not put back right before. A
    /// text that looks as that step left it has grown.
    pub(super) fn is_inner_step(&mut self, record: &Record, rounds: &Rounds) -> Result<bool> {
        let Some([step, last]) = record.steps else { return Ok(false) };
        if rounds.missing_later_step(record).is_none() {
            return Ok(false);
        }
        let places = self.archive.that_found(&record.result_sha256);
        for later in self.archive.read(&places)? {
            let is_of_run = later.summarized_at == record.summarized_at;
            if is_of_run && later.steps.is_some_and(|[number, of]| of == last && number > step) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The record of the first step of the run of a record, where that is another one. A text is as a run found it
    /// only where it is as the first step found it.
    pub(super) fn first_step(&mut self, record: &Record) -> Result<Option<Record>> {
        let mut first = self.step_before(record)?;
        while let Some(step) = &first {
            let Some(earlier) = self.step_before(step)? else { break };
            first = Some(earlier);
        }
        Ok(first)
    }
}
