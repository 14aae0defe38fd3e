//! The terminal: its width, its colours, and output that nothing interrupts.

#[cfg(unix)]
use std::fs;
use std::fs::OpenOptions;
use std::io::{self, IsTerminal, Write};
#[cfg(unix)]
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::Mutex;

use anstream::adapter::strip_str;
use anstream::stream::RawStream;
use anstream::{AutoStream, ColorChoice};

use indicatif::ProgressBar;

use crate::sync::lock;

/// The progress bar on the terminal.
static BAR: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// The columns without a terminal.
const USUAL: usize = 80;

/// The columns of the terminal on standard error, or the usual number.
pub(crate) fn columns() -> usize {
    let size = terminal_size::terminal_size_of(io::stderr());
    size.map_or(USUAL, |(width, _)| usize::from(width.0)).max(1)
}

/// Writes to standard error in one piece, so that no other output interrupts it; in colours where they are wanted.
pub(crate) fn draw(text: &str) {
    let text = adapt_colours(text.to_owned(), &io::stderr());
    // A failed write to standard error does not end the run.
    with_bar_hidden(|| drop(io::stderr().lock().write_all(text.as_bytes())));
}

/// A text for standard output, with or without its colours.
pub(crate) fn for_stdout(text: String) -> String {
    adapt_colours(text, &io::stdout())
}

/// Whether a result goes to a terminal; without a path, to the one behind standard output.
pub(crate) fn shows(output: Option<&Path>) -> bool {
    let Some(output) = output else { return io::stdout().is_terminal() };
    #[cfg(unix)]
    let may_be = fs::metadata(output).is_ok_and(|there| there.file_type().is_char_device());
    #[cfg(not(unix))]
    let may_be = false;
    may_be && OpenOptions::new().write(true).open(output).is_ok_and(|device| device.is_terminal())
}

fn adapt_colours(text: String, stream: &impl RawStream) -> String {
    match AutoStream::choice(stream) {
        ColorChoice::Never => strip_str(&text).to_string(),
        _ => text,
    }
}

/// Sets the bar on the terminal, and returns the one before it.
pub(super) fn set_bar(bar: Option<ProgressBar>) -> Option<ProgressBar> {
    std::mem::replace(&mut *lock(&BAR), bar)
}

/// Writes to standard error while the bar is hidden.
pub(crate) fn with_bar_hidden(write: impl FnOnce()) {
    match &*lock(&BAR) {
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}
