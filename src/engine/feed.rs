//! What a worker does next: lines of an input that is being read, or an input that no worker has opened yet.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use anyhow::Result;

use crate::engine::sink::Sink;
use crate::files::input::{InputPiece, LineReader};

/// The work that no worker has taken yet.
pub(super) struct Feed<'b> {
    /// The inputs, by their index.
    pub(super) entries: Range<usize>,
    /// The inputs that are being read line by line, in order.
    pub(super) streams: VecDeque<Stream<'b>>,
    /// The number of workers, busy or not.
    pub(super) workers: usize,
}

/// An input that is being read line by line.
pub(super) struct Stream<'b> {
    pub(super) sink: Arc<Sink<'b>>,
    pub(super) lines: LineReader,
    /// The index of the next piece.
    pub(super) next: usize,
}

/// What a worker does next.
pub(super) enum Next<'b> {
    /// Open the input with this index.
    Input(usize),
    /// Work on lines, with the index of their piece in the file; nothing at the end of the file.
    Lines(Arc<Sink<'b>>, usize, Result<Option<InputPiece>>),
}

impl<'b> Feed<'b> {
    /// Returns the next lines of the first input that is being read, or else the next input. With `several`, a piece may
    /// have more than one line. Lines are read into `buffer`.
    pub(super) fn next(&mut self, several: bool, buffer: Vec<u8>) -> Option<Next<'b>> {
        if let Some(stream) = self.streams.front_mut() {
            let (sink, piece) = (Arc::clone(&stream.sink), stream.next);
            stream.next += 1;
            let lines = if sink.failed.is_before(piece) { Ok(None) } else { stream.lines.next(several, buffer) };
            if !matches!(lines, Ok(Some(_))) {
                self.streams.pop_front();
            }
            return Some(Next::Lines(sink, piece, lines));
        }
        self.entries.next().map(Next::Input)
    }
}
