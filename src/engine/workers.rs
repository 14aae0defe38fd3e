//! The workers of a run with several inputs, or with one conversation a line.
//!
//! Workers take what is next from the feed: an input, or lines of one. Results on standard output come in the order of
//! the inputs, and lines in the order of their file: the worker whose turn it is also writes what others left for it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::thread::{Builder, Scope, scope};

use crate::engine::feed::{Feed, Next, Stream};
use crate::engine::ordered_output::{OrderedOutput, PieceIndex};
use crate::engine::result::ResultPiece;
use crate::engine::run::{Run, Started};
use crate::engine::sink::Sink;
use crate::exit::Exit;
use crate::files::input::LineReader;
use crate::interrupt;
use crate::settings::Action;
use crate::sync::lock;

/// What the workers share.
pub(super) struct Workers<'r> {
    pub(super) run: &'r Run<'r>,
    feed: Mutex<Feed<'r>>,
    /// The results that go to standard output, in order.
    ordered: OrderedOutput<(Arc<Sink<'r>>, ResultPiece)>,
}

/// Works on all inputs of a run.
pub(super) fn work_on_all(run: &Run<'_>) {
    let inputs = run.inputs.entries.len();
    work(run, Feed { entries: 0..inputs, streams: VecDeque::new(), workers: 1 }, inputs);
}

/// Works on the lines of the only input of a run.
pub(super) fn work_on_lines<'r>(run: &'r Run<'r>, sink: Arc<Sink<'r>>, lines: LineReader) {
    let streams = VecDeque::from([Stream { sink, lines, next: 0 }]);
    work(run, Feed { entries: 0..0, streams, workers: 1 }, usize::MAX);
}

/// Works on a feed, with up to `wanted` workers.
fn work<'r>(run: &'r Run<'r>, feed: Feed<'r>, wanted: usize) {
    let workers = Workers { run, feed: Mutex::new(feed), ordered: OrderedOutput::from(0) };
    scope(|scope| {
        workers.start(scope, wanted);
        workers.run_one(scope);
    });
}

impl<'r> Workers<'r> {
    /// Starts workers up to `wanted`, the number of jobs, or the end of the threads that the system has.
    fn start<'s>(&'s self, scope: &'s Scope<'s, '_>, wanted: usize) {
        let settings = self.run.settings;
        // One worker reports violations in the order of the inputs.
        let most = if settings.action == Action::Check || wanted < 2 { 1 } else { settings.jobs() };
        let mut feed = lock(&self.feed);
        while feed.workers < most.min(wanted) {
            // Without another thread, the present workers do the work.
            if Builder::new().spawn_scoped(scope, move || self.run_one(scope)).is_err() {
                break;
            }
            feed.workers += 1;
        }
    }

    fn run_one<'s>(&'s self, scope: &'s Scope<'s, '_>) {
        let mut buffer = Vec::new();
        while let Some(next) = self.next(std::mem::take(&mut buffer)) {
            match next {
                Next::Input(index) => self.start_input(index, scope),
                Next::Lines(sink, piece, lines) => buffer = self.work_on_piece(&sink, piece, lines),
            }
        }
    }

    /// Takes what is next from the feed. Lines are read into `buffer`.
    fn next(&self, buffer: Vec<u8>) -> Option<Next<'r>> {
        let mut feed = lock(&self.feed);
        let next = feed.next(self.batches_lines(), buffer);
        if next.is_none() {
            feed.workers -= 1;
        }
        next
    }

    /// Whether a piece may have several lines: no line waits for a model.
    fn batches_lines(&self) -> bool {
        let settings = self.run.settings;
        let only_decides =
            matches!(settings.action, Action::DryRun { preview: false, .. } | Action::Count { .. } | Action::Check);
        settings.is_embedded() || only_decides
    }

    /// Opens an input. A document is worked on here; lines go to the feed, where other workers help.
    fn start_input<'s>(&'s self, index: usize, scope: &'s Scope<'s, '_>) {
        let sink = self.run.sink(index);
        match self.run.start(&sink) {
            Started::Done(result) => self.submit(&sink, 0, ResultPiece { results: vec![*result], is_last: true }),
            Started::Lines(lines) => {
                let mut feed = lock(&self.feed);
                let place = feed.streams.partition_point(|stream| stream.sink.index < index);
                feed.streams.insert(place, Stream { sink, lines, next: 0 });
                drop(feed);
                self.start(scope, usize::MAX);
            }
        }
    }

    /// Submits the results of a piece, to be written in their turn.
    pub(super) fn submit(&self, sink: &Arc<Sink<'r>>, piece: usize, results: ResultPiece) {
        let is_last = results.is_last;
        // A paid result waits itself: workers must not request summaries far ahead of the output.
        let may_wait = self.batches_lines() && results.is_small();
        let place = PieceIndex { input: sink.index, piece };
        if self.run.settings.action.is_read_only() {
            let result = (Arc::clone(sink), results);
            self.ordered.submit(place, is_last, result, may_wait, |(sink, results)| self.write(&sink, results));
        } else {
            sink.ordered.submit(place, is_last, results, may_wait, |results| self.write(sink, results));
        }
    }

    /// Writes the results of a piece whose turn it is.
    fn write(&self, sink: &Sink<'_>, piece: ResultPiece) {
        for result in piece.results {
            if !sink.as_lines() {
                return self.run.write_document(sink, result);
            }
            if !sink.write(result) {
                // The reader is gone, and waiting for more lines could take forever.
                interrupt::exit_now(Exit::Success);
            }
        }
        if piece.is_last {
            self.run.end_input(sink, sink.finish());
        }
    }
}
