//! How far a run is: a bar on a terminal while it goes on, and what came of it all at the end.

use std::io::{self, IsTerminal};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::cli::When;
use crate::settings::{Destination, Settings};
use crate::sync::lock;
use crate::wording::counted;

use crate::report::explain::Largest;
use crate::report::json::{Conversation, Status};

/// The bar that stands on the terminal.
static BAR: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// What came of the inputs of a run.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Totals {
    /// Files in which something was compacted.
    pub compacted: u64,
    /// Files that are as they were.
    pub unchanged: u64,
    /// Files without a result.
    pub failed: u64,
    /// Files that an earlier run has finished.
    pub finished: u64,
    /// Files that are as they were since their summarizer failed.
    pub passed_through: u64,
    /// What was found and is no transcript.
    pub left_out: u64,
    /// Tokens that are no longer there.
    pub saved: u64,
    /// Requests that were sent.
    pub requests: u64,
    /// Answers from the cache.
    pub cached: u64,
    /// US dollars, as far as they are known.
    pub cost: f64,
    /// The conversations that lose most, where that is to be told.
    pub largest: Largest,
}

impl Totals {
    /// Adds what conversations took and saved.
    pub fn add(&mut self, conversations: &[Conversation]) {
        for conversation in conversations {
            self.requests += conversation.requests;
            self.cached += conversation.cached;
            self.cost += conversation.usage.and_then(|usage| usage.cost_usd).unwrap_or(0.0);
            if conversation.status == Status::Compacted {
                self.saved += conversation.saved;
            }
            if let Some(saving) = conversation.saving.as_ref().filter(|_| conversation.status != Status::Failed) {
                self.largest.add(saving);
            }
        }
    }

    /// Adds what another has.
    pub fn join(&mut self, other: &Totals) {
        self.saved += other.saved;
        self.requests += other.requests;
        self.cached += other.cached;
        self.cost += other.cost;
        self.largest.join(&other.largest);
    }

    /// What was saved and what it cost.
    fn gain(&self) -> String {
        let mut gain = format!("{} tokens saved", self.saved);
        if self.requests > 0 || self.cached > 0 {
            gain.push_str(&format!(", {}", counted(self.requests, "request")));
        }
        if self.cached > 0 {
            gain.push_str(&format!(", {} from the cache", counted(self.cached, "answer")));
        }
        if self.cost > 0.0 {
            gain.push_str(&format!(", ${:.4}", self.cost));
        }
        gain
    }

    /// All of it in a sentence.
    pub fn sentence(&self) -> String {
        let counts = [
            (self.compacted, "compacted"),
            (self.unchanged, "unchanged"),
            (self.passed_through, "left as they are, since their summarizer failed"),
            (self.finished, "finished by an earlier run"),
            (self.failed, "failed"),
            (self.left_out, "left out (no transcripts, links or copies)"),
        ];
        let told: Vec<String> =
            counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
        let files = self.compacted + self.unchanged + self.passed_through + self.finished + self.failed;
        let files = counted(files, "file");
        let told = if told.is_empty() { String::new() } else { format!(": {}", told.join(", ")) };
        format!("{files}{told}; {}", self.gain())
    }
}

/// The progress of a run over so many inputs.
#[derive(Debug)]
pub struct Progress {
    /// Whether it goes by the bytes of the only input, from its first line on.
    of_one: bool,
    bar: OnceLock<ProgressBar>,
}

/// Whether results go to the terminal that a bar would be drawn on.
fn is_in_the_way(settings: &Settings) -> bool {
    settings.destination == Destination::Stdout && io::stdout().is_terminal()
}

impl Progress {
    /// Shown on a terminal, where that is wanted.
    pub fn begun(settings: &Settings, inputs: usize) -> Self {
        let wanted = match settings.progress {
            When::Auto => {
                !settings.quiet && !settings.dry_run && !settings.diff && (inputs > 1 || !is_in_the_way(settings))
            }
            When::Always => true,
            When::Never => false,
        };
        let wanted = wanted && io::stderr().is_terminal();
        let progress = Progress { of_one: wanted && inputs == 1, bar: OnceLock::new() };
        if wanted && inputs > 1 {
            let _ = progress.bar.set(drawn(Some(inputs as u64), "{wide_bar} {pos}/{len} files, {eta} left, {msg}"));
        }
        progress
    }

    /// Shows that so many bytes of the only input are done, of as many as it has, where that is known.
    pub fn more_bytes(&self, bytes: usize, all: Option<u64>) {
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
    pub fn one_more(&self, totals: &Totals) {
        if let Some(bar) = self.bar.get().filter(|_| !self.of_one) {
            bar.inc(1);
            bar.set_message(format!("{:.0}/s; {}", bar.per_sec(), totals.gain()));
        }
    }
}

/// A bar of a length, where that is known.
fn drawn(length: Option<u64>, template: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(length, ProgressDrawTarget::stderr());
    // A template of our own is right, and the usual one is no worse.
    bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.enable_steady_tick(Duration::from_millis(250));
    *shown_bar() = Some(bar.clone());
    bar
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = shown_bar().take() {
            bar.finish_and_clear();
        }
    }
}

fn shown_bar() -> std::sync::MutexGuard<'static, Option<ProgressBar>> {
    lock(&BAR)
}

/// Writes to standard error where the bar does not stand in the way.
pub fn beside_the_bar(write: impl FnOnce()) {
    match &*shown_bar() {
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}
