//! The source of a run, the workers on it, and the order of their results.
//!
//! A worker takes what is next from the feed: an input that no worker has opened yet, or lines of one. A document is one
//! piece, worked on by the worker that opened it; an input of lines is as many pieces as it needs, for any worker.

use std::collections::{BTreeMap, VecDeque};
use std::mem::take;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{Builder, Scope, scope};

use anyhow::Result;

use crate::compact::{Emit, OnError, Redaction};
use crate::events::{ConversationOutcome, Event, Listener, Status};
use crate::exit::{Exit, Failure};
use crate::files::input::{Input, InputPiece, LineReader, Opened};
use crate::interrupt;
use crate::settings::Action;
use crate::sync::{lock, unpoisoned};
use crate::transcript::source::is_cut_off;

use crate::engine::result::{ResultContent, TaskResult};
use crate::engine::run::Run;
use crate::engine::sink::Sink;
use crate::engine::stages::{masked_bytes, result_of};

/// What the workers share.
struct Workers<'r> {
    run: &'r Run<'r>,
    feed: Mutex<Feed<'r>>,
    /// The order of all results of a run that prints them.
    printed: Arc<Turns<PieceResult<'r>>>,
}

/// Where the pieces of an input go.
struct Target<'r> {
    sink: Sink<'r>,
    /// The order in which they are written.
    turns: Arc<Turns<PieceResult<'r>>>,
}

/// The results of a piece: one of a document, or those of some lines.
struct PieceResult<'r> {
    target: Arc<Target<'r>>,
    results: Vec<TaskResult>,
    /// Whether no piece of the input follows.
    is_last: bool,
}

impl PieceResult<'_> {
    /// Writes the results, and ends the input behind its last piece.
    fn write(self) {
        let PieceResult { target, results, is_last } = self;
        for result in results {
            if !target.sink.write(result) && target.sink.as_lines {
                // The reader is gone, and waiting for more lines could take forever.
                interrupt::exit_now(Exit::Success);
            }
        }
        if is_last {
            target.sink.end();
        }
    }
}

/// The work that no worker has taken yet.
struct Feed<'r> {
    /// The inputs, by their index.
    entries: Range<usize>,
    /// The inputs that are being read line by line, in order.
    streams: VecDeque<Stream<'r>>,
    /// The number of workers, busy or not.
    workers: usize,
}

/// An input that is being read line by line.
struct Stream<'r> {
    target: Arc<Target<'r>>,
    lines: LineReader,
    /// The index of the next piece.
    next: usize,
}

/// Works on all inputs of a run.
pub(super) fn work(run: &Run<'_>) {
    let inputs = run.inputs.entries.len();
    let feed = Feed { entries: 0..inputs, streams: VecDeque::new(), workers: 1 };
    let workers = Workers { run, feed: Mutex::new(feed), printed: Arc::new(Turns::from(0)) };
    scope(|scope| {
        workers.start(scope, inputs);
        workers.work(scope);
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
            if Builder::new().spawn_scoped(scope, move || self.work(scope)).is_err() {
                break;
            }
            feed.workers += 1;
        }
    }

    /// Takes the next lines of the first input that is being read, or else the next input, until nothing is left.
    fn work<'s>(&'s self, scope: &'s Scope<'s, '_>) {
        let mut buffer = Vec::new();
        loop {
            let mut feed = lock(&self.feed);
            if let Some(stream) = feed.streams.front_mut() {
                let (target, piece) = (Arc::clone(&stream.target), stream.next);
                stream.next += 1;
                let is_skipped = target.sink.skips(piece);
                let lines =
                    if is_skipped { Ok(None) } else { stream.lines.next(self.batches_lines(), take(&mut buffer)) };
                if !matches!(lines, Ok(Some(_))) {
                    feed.streams.pop_front();
                }
                drop(feed);
                buffer = self.work_on_lines(target, piece, lines);
            } else if let Some(index) = feed.entries.next() {
                drop(feed);
                self.open(index, scope);
            } else {
                feed.workers -= 1;
                return;
            }
        }
    }

    /// Whether a piece may have several lines: no line waits for a model.
    fn batches_lines(&self) -> bool {
        let settings = self.run.settings;
        let only_decides =
            matches!(settings.action, Action::DryRun { preview: false, .. } | Action::Count { .. } | Action::Check);
        settings.is_embedded() || only_decides
    }

    /// Opens an input. A document is worked on here; lines go to the feed, where other workers help.
    fn open<'s>(&'s self, index: usize, scope: &'s Scope<'s, '_>) {
        // What is printed is in the order of the inputs; files are written when they are done.
        let is_printed = self.run.settings.action.is_read_only();
        let turns = if is_printed { Arc::clone(&self.printed) } else { Arc::new(Turns::from(index)) };
        let mut sink = Sink::new(self.run, index);
        if sink.end_if_finished() {
            return;
        }
        let opened = sink.open();
        let target = Arc::new(Target { sink, turns });
        let result = match opened {
            Ok(Opened::Whole(input)) => {
                let mut result = result_of(&target.sink, &input);
                if matches!(result.content, ResultContent::Edited(_)) {
                    result.input = input.into_bytes();
                }
                result
            }
            Ok(Opened::Lines(lines)) => {
                let mut feed = lock(&self.feed);
                let place = feed.streams.partition_point(|stream| stream.target.sink.index < index);
                feed.streams.insert(place, Stream { target, lines, next: 0 });
                drop(feed);
                return self.start(scope, usize::MAX);
            }
            Ok(Opened::Other(other)) => {
                let failure = Failure::unreadable(format!("it {}", other.why));
                TaskResult::failed(failure.of_other_file(Some(other)))
            }
            Err(error) => TaskResult::failed(error),
        };
        self.submit(0, PieceResult { target, results: vec![result], is_last: true });
    }

    /// Submits the results of a piece, to be written in their turn.
    fn submit(&self, piece: usize, result: PieceResult<'r>) {
        let target = Arc::clone(&result.target);
        let place = PieceIndex { input: target.sink.index, piece };
        // A paid result waits itself: workers must not request summaries far ahead of the output.
        let may_be_left = self.batches_lines() && result.results.iter().all(TaskResult::is_small);
        target.turns.submit(place, result.is_last, result, may_be_left, PieceResult::write);
    }

    /// Works on the lines of a piece, and returns the buffer that they were read into.
    fn work_on_lines(&self, target: Arc<Target<'r>>, piece: usize, lines: Result<Option<InputPiece>>) -> Vec<u8> {
        let sink = &target.sink;
        let is_last = !matches!(lines, Ok(Some(_)));
        let (mut bytes, mut buffer) = (0, Vec::new());
        let results = match lines {
            Ok(None) => Vec::new(),
            Ok(Some(InputPiece::Lines(lines))) => {
                let results = self.results_of_lines(sink, &lines);
                buffer = lines.text.into_bytes();
                bytes = buffer.len();
                results
            }
            Ok(Some(InputPiece::NotUtf8 { line, number, failure })) => {
                bytes = line.len();
                let valid = String::from_utf8_lossy(&line);
                // The end of the file can part a character.
                let is_cut = number > 1 && is_cut_off(valid.trim_end_matches(char::REPLACEMENT_CHARACTER));
                let result = if is_cut {
                    self.set_aside(&sink.entry.name(), number, &line)
                } else {
                    self.pass_through(&sink.entry.name(), &line, TaskResult::failed(failure))
                };
                vec![result]
            }
            Err(error) => vec![TaskResult::failed(error)],
        };
        if results.iter().any(|result| result.error.is_some()) {
            sink.note_failed(piece);
        }
        let all = sink.length();
        self.submit(piece, PieceResult { target, results, is_last });
        self.run.listeners.handle(&Event::BytesDone { bytes, all });
        buffer
    }

    /// One result of all lines together; if one of them is bad, a result of each line up to the bad one.
    fn results_of_lines(&self, sink: &Sink<'_>, lines: &Input) -> Vec<TaskResult> {
        if lines.text.trim_ascii().is_empty() {
            // What only looks prints nothing for them.
            let is_read_only = self.run.settings.action.is_read_only();
            let text = if is_read_only { String::new() } else { lines.text.clone() };
            return vec![TaskResult { content: text.into(), ..TaskResult::default() }];
        }
        let result = result_of(sink, lines);
        if result.error.is_none() {
            return vec![result];
        }
        let is_one = memchr::memchr(b'\n', lines.text.trim_end().as_bytes()).is_none();
        if is_one {
            if lines.lines_before > 0 && is_cut_off(&lines.text) {
                return vec![self.set_aside(&lines.name, lines.lines_before + 1, lines.text.as_bytes())];
            }
            let name = format!("{}:{}", lines.name, lines.lines_before + 1);
            return vec![self.pass_through(&name, lines.text.as_bytes(), result)];
        }
        let mut results = Vec::new();
        for (at, text) in lines.text.split_inclusive('\n').enumerate() {
            let (name, text, lines_before) = (lines.name.clone(), text.to_owned(), lines.lines_before + at);
            let Input { as_lines, compression, .. } = *lines;
            let line = Input { name, text, as_lines, lines_before, compression, ..Input::default() };
            results.extend(self.results_of_lines(sink, &line));
            if results.last().is_some_and(|result| result.error.is_some()) {
                break;
            }
        }
        results
    }

    /// Passes on the last line of a file, unchanged, where the file ends inside it.
    fn set_aside(&self, name: &str, number: usize, line: &[u8]) -> TaskResult {
        self.run.listeners.handle(&Event::BrokenLines { source: name, lines: &[number] });
        TaskResult { content: ResultContent::Whole(self.unread(line)), ..TaskResult::default() }
    }

    /// What is written in place of a line that is not read: nothing where something else than transcripts is written.
    fn unread(&self, line: &[u8]) -> Vec<u8> {
        let settings = self.run.settings;
        if settings.action.is_read_only() || settings.policy.emit != Emit::Messages {
            return Vec::new();
        }
        match settings.policy.redact {
            Redaction::All => masked_bytes(line),
            _ => line.to_vec(),
        }
    }

    /// Passes on a line that cannot be read, unchanged, with `--on-error passthrough`.
    fn pass_through(&self, name: &str, line: &[u8], failed: TaskResult) -> TaskResult {
        let settings = self.run.settings;
        let (action, on_error) = (settings.action, settings.policy.summary.on_error);
        let passes = on_error == OnError::Passthrough && (!action.is_read_only() || action.is_dry_run());
        let failure = failed.error.as_ref().and_then(|error| error.downcast_ref::<Failure>());
        let Some(failure) = failure else { return failed };
        if !passes || failure.exit != Exit::Unreadable {
            return failed;
        }
        let error = failure.to_string();
        self.run.listeners.handle(&Event::InputFailed(&format!("{error}; the line stays unchanged")));
        let outcomes = vec![ConversationOutcome::without_plan(name, Status::Failed, Some(error))];
        TaskResult { outcomes, content: ResultContent::Whole(self.unread(line)), ..TaskResult::default() }
    }
}

/// The place of a piece in the order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct PieceIndex {
    /// The index of its input.
    input: usize,
    /// Its index in that input.
    piece: usize,
}

/// Runs a function on the results of pieces, one after the other, in the order of the pieces.
#[derive(Debug)]
struct Turns<T> {
    order: Mutex<Order<T>>,
    changed: Condvar,
}

#[derive(Debug)]
struct Order<T> {
    /// The piece whose turn it is.
    now: PieceIndex,
    /// Results that were left before their turn, each with the piece whose turn is after it.
    left: BTreeMap<PieceIndex, (PieceIndex, T)>,
}

/// The most results that are left in memory.
const MOST_LEFT: usize = 16;

impl<T> Turns<T> {
    /// An order that starts with the first piece of an input.
    fn from(input: usize) -> Self {
        let order = Order { now: PieceIndex { input, piece: 0 }, left: BTreeMap::new() };
        Turns { order: Mutex::new(order), changed: Condvar::new() }
    }

    /// Submits the result of a piece. When its turn comes, `write` is called with it, and then with the results behind it
    /// that were left. Before its turn, a result that `may_be_left` is left to the worker that has the turn before it; the
    /// caller waits with any other. `is_last` says that no piece of the input follows. If `write` panics, others still get
    /// their turn.
    fn submit(&self, place: PieceIndex, is_last: bool, result: T, may_be_left: bool, write: impl Fn(T)) {
        let PieceIndex { input, piece } = place;
        let next =
            if is_last { PieceIndex { input: input + 1, piece: 0 } } else { PieceIndex { input, piece: piece + 1 } };
        let mut order = lock(&self.order);
        if may_be_left && order.now != place && order.left.len() < MOST_LEFT {
            order.left.insert(place, (next, result));
            return;
        }
        order = unpoisoned(self.changed.wait_while(order, |order| order.now != place));
        let (mut turn, mut panic) = (Some((next, result)), None);
        while let Some((next, result)) = turn {
            drop(order);
            panic = catch_unwind(AssertUnwindSafe(|| write(result))).err().or(panic);
            order = lock(&self.order);
            order.now = next;
            self.changed.notify_all();
            turn = order.left.remove(&next);
        }
        drop(order);
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn pieces_come_in_order_whoever_has_them() {
        const PLACES: [(usize, usize); 5] = [(1, 0), (0, 2), (0, 0), (1, 1), (0, 1)];
        const IN_ORDER: [(usize, usize); 5] = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)];
        for may_be_left in [false, true] {
            let turns = Turns::from(0);
            let written = Mutex::new(Vec::new());
            thread::scope(|scope| {
                for (input, piece) in PLACES {
                    let (turns, written) = (&turns, &written);
                    let is_last = piece == 2 || (input, piece) == (1, 1);
                    let place = PieceIndex { input, piece };
                    scope.spawn(move || {
                        turns.submit(place, is_last, (input, piece), may_be_left, |place| lock(written).push(place));
                    });
                }
            });
            assert_eq!(*lock(&written), IN_ORDER);
        }
    }

    #[test]
    fn results_that_are_left_are_few_and_others_write_them() {
        let turns = Turns::from(0);
        let written = Mutex::new(Vec::new());
        let submit = |piece: usize| {
            turns.submit(PieceIndex { input: 0, piece }, false, piece, true, |piece| lock(&written).push(piece))
        };
        (1..=MOST_LEFT).rev().for_each(submit);
        assert!(lock(&written).is_empty());
        thread::scope(|scope| {
            let one_too_many = scope.spawn(|| submit(MOST_LEFT + 1));
            thread::sleep(Duration::from_millis(50));
            // If this fails, the test must not wait forever.
            let waits = !one_too_many.is_finished() && lock(&written).is_empty();
            submit(0);
            assert!(waits);
        });
        assert_eq!(*lock(&written), (0..=MOST_LEFT + 1).collect::<Vec<_>>());
    }

    #[test]
    fn others_get_their_turn_after_a_panic() {
        let turns = Turns::from(0);
        let written = Mutex::new(Vec::new());
        let place = |piece| PieceIndex { input: 0, piece };
        let write = |piece: usize| if piece == 0 { panic!("on purpose") } else { lock(&written).push(piece) };
        turns.submit(place(1), false, 1, true, write);
        thread::scope(|scope| {
            scope.spawn(|| turns.submit(place(2), false, 2, false, write));
            assert!(scope.spawn(|| turns.submit(place(0), false, 0, true, write)).join().is_err());
        });
        assert_eq!(*lock(&written), [1, 2]);
    }
}
