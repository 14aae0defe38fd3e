//! One run: finds the inputs, has each worked on, and puts the results in their places. [`crate::compact`] compacts one
//! conversation.

mod archive;
mod backend;
mod cache;
mod check;
mod compacting;
mod count;
mod diff;
mod dry_run;
mod ending;
mod feed;
pub(crate) mod inputs;
pub(crate) mod journal;
mod lines;
mod listeners;
mod lookup;
mod masking;
pub(crate) mod ordered_output;
mod page;
mod preconditions;
mod process;
mod read;
mod records;
mod restore;
mod result;
mod run;
mod search;
mod show;
mod side_outputs;
mod sink;
mod task;
#[cfg(test)]
mod tests;
mod updates;
mod workers;

use anyhow::Result;

use crate::events::{Counted, Event, Totals};
use crate::exit::Exit;
use crate::files::output;
use crate::interrupt;
use crate::report::reporter::{self, Reporter};
use crate::report::tables;
use crate::settings::{Action, Destination, Mode, Settings, Volume};
use crate::tokens::Counter;

pub(crate) use restore::restore;
#[cfg(any(test, feature = "laws"))]
pub(crate) use {process::run_alone, result::TaskResult};

use cache::{RunCache, open_cache, pending_summaries, remove_pending};
use inputs::Inputs;
use journal::Journal;
use listeners::notify;
use run::Run;

/// Runs the mode that the user chose.
///
/// # Errors
/// The reason that the run stopped. Nothing is written then, except lines of a stream.
pub(crate) fn run(mode: &Mode) -> Result<Exit> {
    match mode {
        Mode::List(table) => output::print(&tables::draw(*table)).map(|()| Exit::Success),
        Mode::Generate(generated) => output::print(generated.file().1).map(|()| Exit::Success),
        Mode::Restore(settings) => restore(settings),
        Mode::Search(settings, pattern) => search::search(settings, pattern),
        Mode::Show(settings, places) => show::show(settings, places),
        Mode::Conversations(settings) => process_inputs(settings),
    }
}

/// Works on all inputs, and reports the totals.
fn process_inputs(settings: &Settings) -> Result<Exit> {
    let reporter = Reporter::new(settings.stderr.volume);
    settings.stderr.notices.iter().for_each(|line| notify(&reporter, Event::Notice(line)));
    match settings.stderr.volume {
        Volume::Quiet => {}
        Volume::Verbose => settings.summarizer.backend.listen(reporter::report_between),
        Volume::Usual => settings.summarizer.backend.listen(reporter::report_long_waits),
    }
    let inputs = inputs::find(settings)?;
    preconditions::check_output(settings, &inputs)?;
    side_outputs::check(settings, &inputs)?;
    let journal_home = inputs.home.as_ref().filter(|_| inputs.keeps_journal);
    let journal = journal_home.map(|home| Journal::open(home, &settings.rules)).transpose()?;
    if inputs.home.is_some() {
        inputs.tidy();
    }
    let pending = pending_summaries(settings, &inputs);
    let cache = open_cache(settings, &inputs, pending.as_ref())?;
    if !settings.is_embedded() {
        interrupt::disable_core_dumps();
    }
    let output = &settings.output;
    let writes_files =
        output.destination != Destination::Stdout || output.html.is_some() || settings.policy.archive.is_some();
    if !settings.is_embedded() || writes_files || matches!(settings.policy.counter, Counter::Own(_)) {
        interrupt::exit_on_signals();
    }
    let done = work(settings, &inputs, journal, cache);
    if let Some((_, summaries)) = &pending {
        remove_pending(summaries, done.is_ok());
    }
    let notify_origins = || settings.stderr.origins.iter().for_each(|line| notify(&reporter, Event::Notice(line)));
    let (exit, mut totals) = done.inspect_err(|_| notify_origins())?;
    if settings.stderr.closes && totals.compacted > 0 {
        totals.rest = ending::rest_of_files(settings);
    }
    report_end(settings, &inputs, &reporter, exit, &totals)?;
    notify_origins();
    let nothing = settings.output.exit_status && totals.compacted == 0;
    Ok(if nothing && exit == Exit::Success { Exit::NothingCompacted } else { exit })
}

/// Reports what a whole run came to.
///
/// # Errors
/// Standard output cannot be written to.
fn report_end(settings: &Settings, inputs: &Inputs, reporter: &Reporter, exit: Exit, totals: &Totals) -> Result<()> {
    if matches!(settings.action, Action::Compact | Action::Diff) {
        if let Some(reason) = &settings.policy.disabled {
            notify(reporter, Event::Disabled(reason));
        }
        if totals.summaries > 0 && settings.policy.summary.is_embedded() {
            if !settings.summarizer.is_chosen {
                notify(reporter, Event::DefaultSummarizer);
            }
            if let Some(from) = settings.policy.summary.template_from {
                notify(reporter, Event::PromptNotUsed(from));
            }
        }
    }
    let read = totals.compacted + totals.unchanged + totals.passed_through + totals.finished + totals.failed;
    if inputs.many && read == 0 && settings.action.is_read_only() && settings.stderr.volume > Volume::Quiet {
        let paths: Vec<String> = settings.input.paths.iter().map(|path| path.display().to_string()).collect();
        notify(reporter, Event::Notice(&format!("{}: no transcripts found", paths.join(", "))));
    }
    if totals.pruned_only.conversations > 0 {
        notify(reporter, Event::PrunedOnly(&totals.pruned_only));
    }
    report_counted(settings, &totals.counted, reporter)?;
    // A single file has no totals.
    let is_many_files = inputs.keeps_journal || inputs.many && settings.stderr.volume == Volume::Verbose;
    let prints_totals = is_many_files && settings.action == Action::Compact;
    if prints_totals {
        notify(reporter, Event::AllDone(totals));
    }
    if let Some(ending) = totals.ending.as_ref().filter(|_| !inputs.keeps_journal) {
        let path = inputs.entries.first().and_then(|entry| entry.path.as_ref()).map(|path| path.display().to_string());
        let rest = ending::rest_of_file(settings, path.as_deref(), ending);
        notify(reporter, Event::Ended { ending, rest: &rest });
    }
    if exit == Exit::Success && totals.compacted == 0 && !prints_totals {
        notify(reporter, Event::NothingDone(&totals.unchanged_reasons));
    }
    let looked = settings.action.is_dry_run();
    notify(reporter, Event::LargestLosses { largest: &totals.largest, looked });
    Ok(())
}

/// Works on all inputs: a document from top to bottom, anything else with workers.
///
/// # Errors
/// The error of the only input, or of a report that cannot be written.
fn work(settings: &Settings, inputs: &Inputs, journal: Option<Journal>, cache: RunCache) -> Result<(Exit, Totals)> {
    let run = Run::begin(settings, inputs, journal, cache)?;
    if inputs.entries.len() != 1 {
        workers::work_on_all(&run);
    } else if let Some((sink, lines)) = run.work_on_only() {
        workers::work_on_lines(&run, sink, lines);
    }
    run.end()
}

/// Prints what `--count` counted beyond a line for each conversation.
fn report_counted(settings: &Settings, counted: &Counted, reporter: &Reporter) -> Result<()> {
    if !counted.lines.is_empty() {
        output::print(&counted.sorted_lines())?;
    }
    if settings.stderr.explain && counted.conversations > 0 {
        let context_window = settings.policy.cut.context_window.filter(|_| counted.conversations == 1);
        notify(reporter, Event::Categories { counted, context_window });
    }
    if counted.conversations > 1 || counted.overhead > 0 || counted.recorded.is_some() {
        notify(reporter, Event::Counted(counted));
    }
    Ok(())
}
