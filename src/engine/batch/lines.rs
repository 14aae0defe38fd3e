//! Inputs with one conversation a line.

use std::borrow::Cow;
use std::sync::Arc;

use anyhow::Result;

use crate::compact::OnError;
use crate::engine::batch::{Batch, Failed};
use crate::engine::file::Job;
use crate::engine::outcome::{Content, Outcome, WorkOutcome};
use crate::events::{Conversation, Event, Status};
use crate::exit::{Exit, Failure};
use crate::files::input::{Input, Piece};

impl<'b> Batch<'b> {
    /// Works on the lines of a piece, and returns the buffer that they were read into.
    pub(super) fn work_on_piece(&self, job: &Arc<Job<'b>>, piece: usize, lines: Result<Option<Piece>>) -> Vec<u8> {
        let is_last = !matches!(lines, Ok(Some(_)));
        let bytes = match &lines {
            Ok(Some(Piece::Lines(lines))) => lines.text.len(),
            Ok(Some(Piece::Bad(bytes, _))) => bytes.len(),
            _ => 0,
        };
        let mut buffer = Vec::new();
        let outcomes: Vec<Result<Outcome>> = match lines {
            Ok(Some(Piece::Lines(lines))) if !job.failed.is_before(piece) => {
                let outcomes = self.outcomes_of_lines(job, &lines);
                buffer = lines.text.into_bytes();
                outcomes
            }
            Ok(Some(Piece::Bad(bytes, failure))) if !job.failed.is_before(piece) => {
                let failed = Failed { error: failure.into(), conversations: Vec::new() };
                let outcome = self.pass_through(&job.name(), Cow::Owned(bytes), failed);
                vec![outcome.map_err(|failed| failed.record_in(job))]
            }
            Ok(_) => Vec::new(),
            Err(error) => vec![Err(error)],
        };
        if outcomes.iter().any(Result::is_err) {
            job.failed.note(piece);
        }
        self.submit(job, piece, WorkOutcome::Lines(outcomes, is_last));
        self.notify(Event::BytesDone { bytes, all: job.length() });
        buffer
    }

    /// Returns one outcome of all lines together; if one of them is bad, an outcome of each line up to the bad one.
    fn outcomes_of_lines(&self, job: &Job<'b>, lines: &Input) -> Vec<Result<Outcome>> {
        if lines.text.trim_ascii().is_empty() {
            return vec![Ok(Outcome { content: Content::Text(lines.text.clone()), ..Outcome::default() })];
        }
        let is_one = memchr::memchr_iter(b'\n', lines.text.trim_end().as_bytes()).next().is_none();
        if is_one {
            let outcome = self.compute(job, lines);
            return vec![outcome.or_else(|failed| {
                let name = format!("{}:{}", lines.name, lines.lines_before + 1);
                self.pass_through(&name, Cow::Borrowed(lines.text.as_bytes()), failed)
                    .map_err(|failed| failed.record_in(job))
            })];
        }
        match self.compute(job, lines) {
            Ok(outcome) => vec![Ok(outcome)],
            Err(_) => {
                let mut outcomes = Vec::new();
                for (at, text) in lines.text.split_inclusive('\n').enumerate() {
                    let lines_before = lines.lines_before + at;
                    let Input { name, as_lines, compression, .. } = lines;
                    let (name, text) = (name.clone(), text.to_owned());
                    let (as_lines, compression) = (*as_lines, *compression);
                    let line = Input { name, text, raw: None, as_lines, lines_before, compression };
                    outcomes.extend(self.outcomes_of_lines(job, &line));
                    if outcomes.last().is_some_and(Result::is_err) {
                        break;
                    }
                }
                outcomes
            }
        }
    }

    /// Returns a line that cannot be read unchanged, with `--on-error passthrough`.
    fn pass_through(&self, name: &str, line: Cow<'_, [u8]>, failed: Failed) -> Result<Outcome, Failed> {
        let (action, on_error) = (self.settings.action, self.settings.policy.summary.on_error);
        let passes = on_error == OnError::Passthrough && (!action.is_read_only() || action.is_dry_run());
        let is_bad = failed.error.downcast_ref::<Failure>().is_some_and(|failure| failure.exit == Exit::Unreadable);
        if !passes || !is_bad {
            return Err(failed);
        }
        let error = failed.error.to_string();
        self.notify(Event::InputFailed(&format!("{error}; the line stays unchanged")));
        let conversations = vec![Conversation::without_plan(name, Status::Failed, Some(error))];
        // A dry run prints the cut of each conversation, and this line has none.
        let content = if action.is_dry_run() { Vec::new() } else { line.into_owned() };
        Ok(Outcome { conversations, content: Content::Bytes(content), ..Outcome::default() })
    }
}
