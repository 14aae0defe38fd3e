//! The terminal: how wide it is, whether it has colours, and text that is written to it in one go.

use std::io::{self, Write};
use std::sync::Mutex;

use anstream::adapter::strip_str;
use anstream::stream::RawStream;
use anstream::{AutoStream, ColorChoice};

use indicatif::ProgressBar;

use crate::sync::lock;

/// The bar that stands on the terminal.
static BAR: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Columns where there is no terminal.
const USUAL: usize = 80;

/// The columns of the terminal that standard error is, or as many as are usual.
pub(crate) fn columns() -> usize {
    let size = terminal_size::terminal_size_of(io::stderr());
    size.map_or(USUAL, |(width, _)| usize::from(width.0)).max(1)
}

/// Writes to standard error at once, so that nothing else comes in between; in colours where they are wanted.
pub(crate) fn draw(text: &str) {
    let text = suited(text.to_owned(), &io::stderr());
    // Where nobody can be shown anything, the work goes on.
    beside_the_bar(|| drop(io::stderr().lock().write_all(text.as_bytes())));
}

/// A text as standard output takes it, with or without colours.
pub(crate) fn printed(text: String) -> String {
    suited(text, &io::stdout())
}

fn suited(text: String, stream: &impl RawStream) -> String {
    match AutoStream::choice(stream) {
        ColorChoice::Never => strip_str(&text).to_string(),
        _ => text,
    }
}

/// Has a bar stand on the terminal, or none. Gives the one that stood there.
pub(super) fn set_bar(bar: Option<ProgressBar>) -> Option<ProgressBar> {
    std::mem::replace(&mut *lock(&BAR), bar)
}

/// Writes to standard error where the bar does not stand in the way.
pub(crate) fn beside_the_bar(write: impl FnOnce()) {
    match &*lock(&BAR) {
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}
