//! The progress bar of a run, on a terminal.

use std::io::{self, IsTerminal};
use std::sync::OnceLock;
use std::time::Duration;

use anyhow::Result;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::cli::When;
use crate::events::{Event, Listener, Totals};
use crate::report::terminal::set_bar;
use crate::settings::{StderrSettings, Volume};

/// The progress of a run over so many inputs.
#[derive(Debug)]
pub(crate) struct Progress {
    /// Whether it counts the bytes of the only input.
    of_one: bool,
    bar: OnceLock<ProgressBar>,
}

/// Where the results of a run go, which decides whether a bar would disturb them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Results {
    /// Into files.
    ToFiles,
    /// To standard output, which can be the terminal.
    Printed,
    /// Nowhere: the run prints something for people instead.
    Shown,
}

/// Whether a bar is wanted for so many inputs.
fn is_wanted(settings: &StderrSettings, results: Results, inputs: usize) -> bool {
    let is_in_the_way = || match results {
        Results::ToFiles => false,
        Results::Printed => inputs == 1 && io::stdout().is_terminal(),
        Results::Shown => true,
    };
    let wanted = match settings.progress {
        When::Auto => settings.volume > Volume::Quiet && !is_in_the_way(),
        When::Always => true,
        When::Never => false,
    };
    wanted && io::stderr().is_terminal()
}

impl Progress {
    /// Shown on a terminal, where that is wanted.
    pub(crate) fn new(settings: &StderrSettings, results: Results, inputs: usize) -> Self {
        let is_wanted = is_wanted(settings, results, inputs);
        let progress = Progress { of_one: is_wanted && inputs == 1, bar: OnceLock::new() };
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

    /// Advances the bar by one input, and shows the totals so far.
    fn one_more(&self, totals: &Totals) {
        if let Some(bar) = self.bar.get().filter(|_| !self.of_one) {
            bar.inc(1);
            bar.set_message(format!("{:.0}/s; {}", bar.per_sec(), totals.gain()));
        }
    }
}

impl Listener for Progress {
    fn hear(&self, event: &Event<'_>) -> Result<()> {
        match *event {
            Event::BytesDone { bytes, all } => self.more_bytes(bytes, all),
            Event::InputDone(totals) => self.one_more(totals),
            _ => {}
        }
        Ok(())
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
