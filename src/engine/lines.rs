//! Inputs with one conversation a line.

use std::borrow::Cow;
use std::sync::Arc;

use anyhow::Result;

use crate::compact::{OnError, Redaction};
use crate::engine::masking::masked_bytes;
use crate::engine::result::{ResultContent, ResultPiece, TaskResult};
use crate::engine::sink::Sink;
use crate::engine::workers::Workers;
use crate::events::{Event, ReportRow, Status};
use crate::exit::{Exit, Failure};
use crate::files::input::{self, Input};

impl<'r> Workers<'r> {
    /// Works on the lines of a piece, and returns the buffer that they were read into.
    pub(super) fn work_on_piece(
        &self,
        sink: &Arc<Sink<'r>>,
        piece: usize,
        lines: Result<Option<input::InputPiece>>,
    ) -> Vec<u8> {
        let is_last = !matches!(lines, Ok(Some(_)));
        let bytes = match &lines {
            Ok(Some(input::InputPiece::Lines(lines))) => lines.text.len(),
            Ok(Some(input::InputPiece::Bad(bytes, _))) => bytes.len(),
            _ => 0,
        };
        let mut buffer = Vec::new();
        let results = match lines {
            Ok(Some(_)) if sink.failed.is_before(piece) => Vec::new(),
            Ok(Some(input::InputPiece::Lines(lines))) => {
                let results = self.results_of_lines(sink, &lines);
                buffer = lines.text.into_bytes();
                results
            }
            Ok(Some(input::InputPiece::Bad(bytes, failure))) => {
                vec![self.pass_through(&sink.name(), Cow::Owned(bytes), TaskResult::failed(failure))]
            }
            Ok(None) => Vec::new(),
            Err(error) => vec![TaskResult::failed(error)],
        };
        if results.iter().any(|result| result.error.is_some()) {
            sink.failed.note(piece);
        }
        self.submit(sink, piece, ResultPiece { results, is_last });
        self.run.notify(Event::BytesDone { bytes, all: sink.length() });
        buffer
    }

    /// Returns one result of all lines together; if one of them is bad, a result of each line up to the bad one.
    fn results_of_lines(&self, sink: &Sink<'_>, lines: &Input) -> Vec<TaskResult> {
        if lines.text.trim_ascii().is_empty() {
            return vec![TaskResult { content: ResultContent::Text(lines.text.clone()), ..TaskResult::default() }];
        }
        let result = self.run.compute(sink, lines);
        if result.error.is_none() {
            return vec![result];
        }
        let is_one = memchr::memchr_iter(b'\n', lines.text.trim_end().as_bytes()).next().is_none();
        if is_one {
            let name = format!("{}:{}", lines.name, lines.lines_before + 1);
            return vec![self.pass_through(&name, Cow::Borrowed(lines.text.as_bytes()), result)];
        }
        let mut results = Vec::new();
        for (at, text) in lines.text.split_inclusive('\n').enumerate() {
            let (name, text, lines_before) = (lines.name.clone(), text.to_owned(), lines.lines_before + at);
            let Input { as_lines, compression, .. } = *lines;
            let line = Input { name, text, raw: None, as_lines, lines_before, compression };
            results.extend(self.results_of_lines(sink, &line));
            if results.last().is_some_and(|result| result.error.is_some()) {
                break;
            }
        }
        results
    }

    /// Returns a line that cannot be read unchanged, with `--on-error passthrough`.
    fn pass_through(&self, name: &str, line: Cow<'_, [u8]>, failed: TaskResult) -> TaskResult {
        let settings = self.run.settings;
        let (action, on_error) = (settings.action, settings.policy.summary.on_error);
        let passes = on_error == OnError::Passthrough && (!action.is_read_only() || action.is_dry_run());
        let failure = failed.error.as_ref().and_then(|error| error.downcast_ref::<Failure>());
        let Some(failure) = failure.filter(|failure| passes && failure.exit == Exit::Unreadable) else { return failed };
        let error = failure.to_string();
        self.run.notify(Event::InputFailed(&format!("{error}; the line stays unchanged")));
        let rows = vec![ReportRow::without_plan(name, Status::Failed, Some(error))];
        // A dry run prints the cut of each conversation, and this line has none.
        let content = match line {
            _ if action.is_dry_run() => Vec::new(),
            line if settings.policy.redact == Redaction::All => masked_bytes(&line),
            line => line.into_owned(),
        };
        TaskResult { rows, content: ResultContent::Bytes(content), ..TaskResult::default() }
    }
}
