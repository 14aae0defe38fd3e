//! One run: finds the inputs, has each worked on, and puts the results in their places. [`crate::compact`] compacts one
//! conversation.

mod archive;
mod backend;
mod check;
mod compacting;
mod count;
mod diff;
mod dry_run;
mod feed;
pub(crate) mod inputs;
pub(crate) mod journal;
mod lines;
mod listeners;
pub(crate) mod ordered_output;
mod page;
mod preconditions;
mod process;
mod read;
mod restore;
mod result;
mod run;
mod sink;
mod task;
#[cfg(test)]
mod tests;
mod workers;

use std::fs;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::events::{Counted, Event, Totals};
use crate::exit::{Exit, Failure};
use crate::files::atomic::tidy;
use crate::files::links;
use crate::files::output;
use crate::files::paths::folder;
use crate::interrupt;
use crate::llm::cache::Cache;
use crate::report::json;
use crate::report::reporter::{self, Reporter};
use crate::report::tables;
use crate::settings::{Action, Destination, Mode, Settings, Volume};
use crate::wording::reason;

pub(crate) use restore::restore;
#[cfg(any(test, feature = "laws"))]
pub(crate) use {process::run_alone, result::TaskResult};

use inputs::Inputs;
use journal::Journal;
use listeners::notify;
use run::{Run, RunCache};

/// Runs the mode that the user chose.
///
/// # Errors
/// The reason that the run stopped. Nothing is written then, except lines of a stream.
pub(crate) fn run(mode: &Mode) -> Result<Exit> {
    match mode {
        Mode::List(table) => output::print(&tables::draw(*table)).map(|()| Exit::Success),
        Mode::Generate(generated) => output::print(generated.file().1).map(|()| Exit::Success),
        Mode::Restore(settings) => restore(settings),
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
    check_side_outputs(settings, &inputs)?;
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
    if !settings.is_embedded() || writes_files {
        interrupt::exit_on_signals();
    }
    let done = work(settings, &inputs, journal, cache);
    if let Some((_, summaries)) = &pending {
        remove_pending(summaries, done.is_ok());
    }
    let notify_origins = || settings.stderr.origins.iter().for_each(|line| notify(&reporter, Event::Notice(line)));
    let (exit, totals) = done.inspect_err(|_| notify_origins())?;
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
        notify(reporter, Event::Ended(ending));
    }
    if exit == Exit::Success && totals.compacted == 0 && !prints_totals {
        notify(reporter, Event::NothingDone(&totals.idle));
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
    if counted.conversations > 1 && io::stderr().is_terminal() {
        notify(reporter, Event::Counted(counted));
    }
    Ok(())
}

/// Opens the cache that keeps paid summaries, so that none is requested twice: the folder that the settings name; else
/// the folder of the pending summaries of a single file; else a folder beside the results.
fn open_cache(settings: &Settings, inputs: &Inputs, pending: Option<&(PathBuf, PathBuf)>) -> Result<RunCache> {
    if let Some((home, summaries)) = pending {
        links::refuse(home, summaries).map_err(|error| unusable(summaries, &error))?;
        tidy(home);
        return Ok(RunCache { cache: Some(Cache::created_on_demand(summaries)), is_for_lines: true });
    }
    let cache = match (&settings.summarizer.cache, &inputs.home) {
        (Some(cache), _) => Some(cache.clone()),
        (None, Some(home)) if inputs.keeps_journal && !settings.is_embedded() => {
            let folder = home.join(inputs::OWN_FOLDER).join(journal::SUMMARIES);
            links::refuse(home, &folder).map_err(|error| unusable(&folder, &error))?;
            let cache = Cache::open(&folder).map_err(|error| unusable(&folder, &error))?;
            Some(cache.mandatory())
        }
        (None, _) => None,
    };
    let cache = cache.map(|cache| cache.readable_by(inputs.readers()));
    Ok(RunCache { cache, is_for_lines: false })
}

/// Refuses unusable files for the archive, the report and the page, before anything is done or paid for.
fn check_side_outputs(settings: &Settings, inputs: &Inputs) -> Result<()> {
    let named: Vec<Option<&Path>> =
        inputs.entries.iter().flat_map(|entry| [entry.path.as_deref(), entry.output.as_deref()]).collect();
    if settings.output.archive_chosen {
        archive::check(settings, &settings.policy, &named)?;
        if let Some(file) = settings.policy.archive.as_ref().filter(|_| !settings.action.is_read_only()) {
            refuse_streams(settings, "--archive", file)?;
        }
    }
    let output = match &settings.output.destination {
        Destination::File(file) => Some(file),
        _ => None,
    };
    let archive = settings.policy.archive.as_ref().filter(|_| settings.output.archive_chosen);
    for (flag, file) in [("--output", output), ("--archive", archive)] {
        let Some(file) = file.filter(|_| !settings.action.is_read_only()) else { continue };
        if settings.input.other_files.iter().any(|other| output::same_place(file, other)) {
            let name = file.display();
            let message = format!("{flag} {name} is another file of this command; name one of its own");
            return Err(Failure::usage(message).into());
        }
    }
    let copies: Vec<PathBuf> = match &settings.output.destination {
        Destination::InPlace(Some(suffix)) => inputs.files().map(|file| inputs::copy_of(file, suffix)).collect(),
        _ => Vec::new(),
    };
    let besides =
        copies.iter().chain(&settings.policy.archive).chain(&settings.input.other_files).map(PathBuf::as_path);
    let others: Vec<&Path> = named.into_iter().flatten().chain(besides).collect();
    for (flag, file) in [("--report", &settings.output.report), ("--html", &settings.output.html)] {
        let Some(file) = file else { continue };
        check_side_output(settings, flag, file)?;
        if let (Destination::Folder(folder), Some(parent)) = (&settings.output.destination, file.parent())
            && parent.starts_with(folder)
        {
            // The results go there as well.
            fs::create_dir_all(parent).map_err(|error| output::unwritable(file, &error))?;
        }
    }
    if let Some(report) = &settings.output.report {
        json::check(report, &others, inputs.readers())?;
    }
    let others: Vec<&Path> = others.into_iter().chain(settings.output.report.as_deref()).collect();
    settings.output.html.as_ref().map_or(Ok(()), |page| page::check(page, &others))
}

/// Refuses a file that is standard input or output by another name.
fn refuse_streams(settings: &Settings, flag: &str, file: &Path) -> Result<()> {
    let name = file.display();
    let printed = settings.output.destination == Destination::Stdout;
    if output::is_standard_stream(file, printed) {
        return Err(Failure::usage(format!("{flag} {name} is standard input or output; name another file")).into());
    }
    Ok(())
}

/// Refuses a file that is standard input or output by another name, or that is among tcompact's own.
fn check_side_output(settings: &Settings, flag: &str, file: &Path) -> Result<()> {
    let name = file.display();
    refuse_streams(settings, flag, file)?;
    if file.components().any(|part| part.as_os_str() == inputs::OWN_FOLDER) {
        let message = format!("{flag} {name} is among the files that tcompact keeps for itself; name another place");
        return Err(Failure::usage(message).into());
    }
    Ok(())
}

fn unusable(folder: &Path, error: &io::Error) -> Failure {
    Failure::unreadable(format!("{} cannot be used: {}", folder.display(), reason(error)))
}

/// Returns where the summaries of a single output file are kept until that file is whole: its folder, and a folder
/// below.
fn pending_summaries(settings: &Settings, inputs: &Inputs) -> Option<(PathBuf, PathBuf)> {
    let only = inputs.entries.first().filter(|_| !inputs.keeps_journal);
    let file = only.and_then(|entry| entry.output.as_ref())?;
    let is_device = fs::metadata(file).is_ok_and(|there| !there.is_file());
    if is_device || settings.is_embedded() || settings.action.is_read_only() || settings.summarizer.cache.is_some() {
        return None;
    }
    let home = folder(file);
    Some((home.to_owned(), home.join(inputs::OWN_FOLDER).join(file.file_name()?)))
}

/// Removes the folder of pending summaries: with its summaries once the result is whole, else only if it is empty.
fn remove_pending(summaries: &Path, is_whole: bool) {
    let _ = if is_whole { fs::remove_dir_all(summaries) } else { fs::remove_dir(summaries) };
    // Another file may have pending summaries.
    let _ = summaries.parent().map(fs::remove_dir);
}
