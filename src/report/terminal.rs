//! The terminal: its width, its colours, and output that nothing interrupts.
//!
//! Also: the progress bar of a run, on a terminal.

use std::fs::OpenOptions;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use anstream::adapter::strip_str;
use anstream::stream::RawStream;
use anstream::{AutoStream, ColorChoice};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::cli::When;
use crate::events::{Event, Listener, Totals};
use crate::sanitize::sanitize_line;
use crate::settings::{StderrSettings, Volume};
use crate::sync::lock;

#[cfg(unix)]
use std::fs;
#[cfg(unix)]
use std::os::unix::fs::FileTypeExt;

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

/// The progress of a run over so many inputs.
#[derive(Debug)]
pub(crate) struct Progress {
    /// Whether it counts the bytes of the only input.
    of_one: bool,
    bar: OnceLock<ProgressBar>,
    /// Whether it shows that an answer is waited for, which nothing printed disturbs: the result comes after it.
    shows_waiting: bool,
}

/// Where the results of a run go, which decides whether a bar would disturb them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Results {
    ToFiles,
    /// To standard output, which can be the terminal.
    Printed,
    /// Nowhere: the run prints something for people instead.
    Shown,
}

/// Whether a bar is wanted on standard error, if nothing is `in_the_way`.
fn is_wanted(settings: &StderrSettings, in_the_way: impl FnOnce() -> bool) -> bool {
    let wanted = match settings.progress {
        When::Auto => settings.volume > Volume::Quiet && !in_the_way(),
        When::Always => true,
        When::Never => false,
    };
    wanted && io::stderr().is_terminal()
}

impl Progress {
    /// Shown on a terminal, where that is wanted.
    pub(crate) fn new(settings: &StderrSettings, results: Results, inputs: usize) -> Self {
        let shows_waiting = is_wanted(settings, || false);
        let is_wanted = is_wanted(settings, || match results {
            Results::ToFiles => false,
            Results::Printed => inputs == 1 && io::stdout().is_terminal(),
            Results::Shown => true,
        });
        let progress = Progress { of_one: is_wanted && inputs == 1, bar: OnceLock::new(), shows_waiting };
        if is_wanted && inputs > 1 {
            let _ = progress.bar.set(new_bar(Some(inputs as u64), "{wide_bar} {pos}/{len} files, {eta} left, {msg}"));
        }
        progress
    }

    /// Advances the bar by bytes of the only input; `all` is its size, where that is known.
    fn more_bytes(&self, bytes: usize, all: Option<u64>) {
        if !self.of_one {
            return;
        }
        let template = match all {
            Some(_) => "{wide_bar} {bytes}/{total_bytes}, {bytes_per_sec}, {eta} left",
            None => "{spinner} {bytes}, {bytes_per_sec}, {elapsed}",
        };
        self.bar.get_or_init(|| new_bar(all, template)).inc(bytes as u64);
    }

    /// Shows for how long an answer of `summarizer` is waited for; without one, no longer.
    fn wait_for(&self, summarizer: Option<&str>) {
        match summarizer.filter(|_| self.shows_waiting) {
            Some(name) => {
                new_bar(None, "{spinner} {elapsed} {msg}")
                    .set_message(sanitize_line(&format!("{name} writes the summary")));
            }
            None if self.shows_waiting => set_bar(None).iter().for_each(ProgressBar::finish_and_clear),
            None => {}
        }
    }

    /// Advances the bar by one input, and shows the totals so far.
    fn one_more(&self, totals: &Totals) {
        if let Some(bar) = self.bar.get().filter(|_| !self.of_one) {
            bar.inc(1);
            bar.set_message(format!("{:.0}/s; {}", bar.per_sec(), totals.gain()));
        }
    }
}

impl Listener for Progress {
    fn handle(&self, event: &Event<'_>) {
        match *event {
            Event::BytesDone { bytes, all } => self.more_bytes(bytes, all),
            Event::InputDone(totals) => self.one_more(totals),
            Event::Waiting(summarizer) => self.wait_for(summarizer),
            _ => {}
        }
    }
}

/// Puts a bar on the terminal; `length` is its end, where that is known.
fn new_bar(length: Option<u64>, template: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(length, ProgressDrawTarget::stderr());
    // The templates are constant and valid. The default style is only a fallback.
    bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.enable_steady_tick(Duration::from_millis(250));
    set_bar(Some(bar.clone()));
    bar
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = set_bar(None) {
            bar.finish_and_clear();
        }
    }
}
