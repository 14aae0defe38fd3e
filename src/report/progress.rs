//! How far a run is: a bar on a terminal while it goes on, and what came of it all at the end.

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
    /// Whether it goes by the bytes of the only input, from its first line on.
    of_one: bool,
    bar: OnceLock<ProgressBar>,
}

/// Where the results of a run go, as far as a bar could stand in their way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Results {
    /// Into files.
    ToFiles,
    /// To standard output, which may be the terminal.
    Printed,
    /// There are none: something else is printed, for people.
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
            let _ = progress.bar.set(drawn(Some(inputs as u64), "{wide_bar} {pos}/{len} files, {eta} left, {msg}"));
        }
        progress
    }

    /// Shows that so many bytes of the only input are done, of as many as it has, where that is known.
    fn more_bytes(&self, bytes: usize, all: Option<u64>) {
        if !self.of_one {
            return;
        }
        let template = match all {
            Some(_) => "{wide_bar} {bytes}/{total_bytes}, {bytes_per_sec}, {eta} left",
            None => "{spinner} {bytes}, {bytes_per_sec}, {elapsed}",
        };
        self.bar.get_or_init(|| drawn(all, template)).inc(bytes as u64);
    }

    /// Shows that one more input is done, and what has come so far.
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

/// A bar of a length, where that is known.
fn drawn(length: Option<u64>, template: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(length, ProgressDrawTarget::stderr());
    // A template of our own is right, and the usual one is no worse.
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
