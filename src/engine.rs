//! One run: source, pieces, sinks.
//!
//! **The source** is [`inputs::Inputs`]: the entries that the user named or a folder has, in order, each with the place of
//! its result. Opening an entry yields a document, which is read whole, or lines, which are read as workers ask for them.
//!
//! **A piece** is what one worker works on at a time, an [`Input`](crate::files::input::Input): a document, or some lines
//! of a file. It is known by the index of its entry and its own index there. [`stages::result_of`] takes it through its
//! stages, a type for each: a [`task::Task`] is [`prepare::Prepared`] (updates applied, violations repaired), read as
//! [`conversations::Conversations`] (masked, with `--redact=all`), and ends as a [`result::TaskResult`]: its conversations are
//! compacted, and what the run shows of them is drawn. No result is written there, so a piece can fail or panic without a
//! trace; its error is a part of its result.
//!
//! **A sink** is where the results of one entry go, in the order of its pieces. A stream (standard output, a pipe) gets each
//! at once, after what stands beside it: report, page, archive. A file is written beside its place, line by line where it
//! has lines, and takes the place at the end, after the same. A result is freed once it is written; what a sink keeps of it
//! are outcomes and totals. What an error comes to, the sink decides: later results of the entry are not written, and other
//! entries go on.
//!
//! **Threads** share four things, each behind one lock, since each is asked by any worker at any time:
//! - the feed of [`workers`]: what nobody has taken yet (entries, and files that are being read line by line);
//! - the turns: whose result is written next. A run that prints has one order for all entries, any other run has one
//!   for each, so that files do not wait for each other. A small result is left to the worker that has the turn before
//!   it; a large or paid one waits with its worker, so that no worker runs far ahead of the output;
//! - what a sink has written, which only the worker that has the turn touches;
//! - the state of the [`run::Run`]: totals, and whether all must end.
//!
//! A single document takes the same way, with one worker that never waits.

mod archive;
mod archived_runs;
mod broken_records;
mod checks;
mod compacting;
mod contents;
mod conversations;
pub(crate) mod inputs;
pub(crate) mod journal;
mod large;
mod large_text;
mod lookup;
mod other_archives;
mod prepare;
mod range_reader;
mod range_runs;
mod reading;
mod record_heads;
mod records;
mod restore;
mod restore_ranges;
mod restorer;
mod result;
mod run;
mod search;
mod show;
mod show_command;
mod shown;
mod sink;
mod slim;
mod stages;
pub(crate) mod summaries;
mod task;
#[cfg(test)]
mod tests;
mod violations;
mod workers;

use std::path::PathBuf;

use anyhow::Result;

use crate::cli::MANUAL;
use crate::compact::{Emit, is_lines};
use crate::diagnostic::{PROGRAM, joined, quoted};
use crate::events::{Ending, Event, Listener, Totals};
use crate::exit::{Exit, Failure};
use crate::files::output;
use crate::interrupt;
use crate::report::columns;
use crate::report::reporter::{self, Reporter};
use crate::settings::{Action, Destination, Invocation, Settings, Volume};
use crate::standard_streams::metadata_of_stdin;
use crate::tokens::Counter;
use crate::wording::in_bytes;

pub use restore::restore;
pub use {result::TaskResult, stages::run_alone};

use inputs::Inputs;
use journal::Journal;
use run::Run;
use summaries::{RunCache, remove_pending};

/// Runs the command that the user chose.
///
/// # Errors
/// The reason that the run stopped. Nothing is written then, except lines of a stream.
pub(crate) fn run(invocation: &Invocation) -> Result<Exit> {
    match invocation {
        Invocation::List(table) => output::print(&columns::list_table(*table)).map(|()| Exit::Success),
        Invocation::Completions(shell) => output::print(shell.file().1).map(|()| Exit::Success),
        Invocation::Man => output::print(MANUAL.1).map(|()| Exit::Success),
        Invocation::Restore(settings) => restore(settings),
        Invocation::Search(settings) => search::search(settings),
        Invocation::Show(settings) => show::show(settings),
        Invocation::Slim(settings) => slim::slim_files(settings),
        Invocation::Conversations(settings) => process_inputs(settings),
    }
}

/// Works on all inputs, and reports the totals.
fn process_inputs(settings: &Settings) -> Result<Exit> {
    let reporter = Reporter::new(settings.stderr.volume);
    let notice = |line: &String| reporter.handle(&Event::Notice(line));
    settings.stderr.notices.iter().for_each(notice);
    match settings.stderr.volume {
        Volume::Quiet => {}
        Volume::Verbose => settings.summarizer.backend.listen(reporter::report_between),
        Volume::Usual => settings.summarizer.backend.listen(reporter::report_long_waits),
    }
    let inputs = inputs::find(settings)?;
    checks::check_output(settings, &inputs)?;
    checks::check_side_outputs(settings, &inputs)?;
    let journal_home = inputs.home.as_ref().filter(|_| inputs.keeps_journal);
    let journal = journal_home.map(|home| Journal::open(home, &settings.rules)).transpose()?;
    inputs.tidy();
    let cache = RunCache::open(settings, &inputs)?;
    let pending = cache.pending.clone();
    prepare_for_signals(settings);
    let done = Run::begin(settings, &inputs, journal, cache).and_then(|run| {
        workers::work(&run);
        run.end()
    });
    if let Some(summaries) = &pending {
        remove_pending(summaries, done.is_ok());
    }
    let (exit, mut totals) = done.inspect_err(|_| settings.stderr.origins.iter().for_each(notice))?;
    if settings.stderr.volume > Volume::Quiet {
        totals.other_files.sentences().iter().for_each(|sentence| reporter.handle(&Event::Notice(sentence)));
    }
    if inputs.many && totals.files() == 0 && settings.action.must_read() {
        return Err(Failure::unreadable(nothing_found(settings)).into());
    }
    report_end(settings, &inputs, &reporter, exit, &mut totals)?;
    settings.stderr.origins.iter().for_each(notice);
    let nothing = settings.output.exit_status && totals.compacted == 0;
    Ok(if nothing && exit == Exit::Success { Exit::NothingCompacted } else { exit })
}

/// The sentence that the paths have no transcript.
fn nothing_found(settings: &Settings) -> String {
    let paths: Vec<String> = settings.input.paths.iter().map(|path| path.display().to_string()).collect();
    format!("{}: no transcripts found", paths.join(", "))
}

/// Keeps a key out of core dumps, and handles signals where there is something to end or to tidy.
fn prepare_for_signals(settings: &Settings) {
    let output = &settings.output;
    if !settings.is_embedded() {
        interrupt::disable_core_dumps();
    }
    let writes_files =
        output.destination != Destination::Stdout || output.html.is_some() || settings.policy.archive.is_some();
    if !settings.is_embedded() || writes_files || matches!(settings.policy.counter, Counter::Own(_)) {
        interrupt::exit_on_signals();
    }
}

/// Reports what a whole run came to.
///
/// # Errors
/// Standard output cannot be written to.
fn report_end(
    settings: &Settings,
    inputs: &Inputs,
    reporter: &Reporter,
    exit: Exit,
    totals: &mut Totals,
) -> Result<()> {
    if settings.stderr.closes && totals.compacted > 0 {
        totals.rest = rest_of_files(settings);
    }
    if matches!(settings.action, Action::Compact | Action::Diff) {
        if let Some(reason) = &settings.policy.disabled {
            reporter.handle(&Event::Disabled(reason));
        }
        if totals.summaries > 0 && settings.policy.summary.is_embedded() {
            if !settings.summarizer.is_chosen {
                reporter.handle(&Event::DefaultSummarizer);
            }
            if let Some(from) = settings.policy.summary.template_from {
                reporter.handle(&Event::PromptNotUsed(from));
            }
        }
    }
    let is_read_only = settings.action.is_read_only();
    if inputs.many
        && totals.files() == 0
        && is_read_only
        && !settings.action.must_read()
        && settings.stderr.volume > Volume::Quiet
    {
        reporter.handle(&Event::Notice(&nothing_found(settings)));
    }
    if totals.pruned_only.conversations > 0 {
        reporter.handle(&Event::PrunedOnly(&totals.pruned_only));
    }
    report_counted(settings, totals, reporter)?;
    // A single file has no totals.
    let is_many_files = inputs.keeps_journal || inputs.many && settings.stderr.volume == Volume::Verbose;
    let is_seen = settings.stderr.closes || settings.stderr.volume == Volume::Verbose;
    let prints_totals = is_many_files && settings.action == Action::Compact && (is_seen || !totals.is_success());
    if prints_totals {
        reporter.handle(&Event::AllDone(totals));
    }
    if let Some(ending) = totals.ending.as_ref().filter(|_| !inputs.keeps_journal) {
        let path = inputs.files().next().map(|path| path.display().to_string());
        let rest = rest_of_file(settings, path.as_deref(), ending);
        reporter.handle(&Event::Ended { ending, rest: &rest });
    }
    if exit == Exit::Success && totals.compacted == 0 && !prints_totals {
        reporter.handle(&Event::NothingDone(&totals.unchanged_reasons));
        if let Some(sentence) = settings.stderr.if_unchanged.as_ref().filter(|_| settings.stderr.volume > Volume::Quiet)
        {
            reporter.handle(&Event::Notice(sentence));
        }
    }
    reporter.handle(&Event::LargestLosses { largest: &totals.largest, looked: settings.action.is_dry_run() });
    Ok(())
}

/// Prints what `count` counted beyond a line for each conversation.
fn report_counted(settings: &Settings, totals: &Totals, reporter: &Reporter) -> Result<()> {
    let counted = &totals.counted;
    if !counted.lines.is_empty() {
        output::print(&counted.sorted_lines())?;
    }
    if settings.stderr.explain && counted.conversations > 0 {
        let context_window = settings.policy.cut.context_window.filter(|_| counted.conversations == 1);
        reporter.handle(&Event::Categories { counted, context_window });
    }
    if counted.conversations > 1 || counted.overhead > 0 || counted.recorded.is_some() {
        reporter.handle(&Event::Counted(counted));
    }
    if let Some(sentence) = unsent_sentence(&settings.input.paths, counted.unsent_bytes, counted.session_bytes) {
        reporter.handle(&Event::Notice(&sentence));
    }
    Ok(())
}

/// Says that most bytes of some files are sent to no model, and which command removes them; nothing where few are.
fn unsent_sentence(paths: &[PathBuf], unsent: u64, all: u64) -> Option<String> {
    /// Fewer bytes are not worth a word.
    const LEAST: u64 = 10_000;
    let is_stdin = paths.iter().any(|path| path.as_os_str() == "-");
    if unsent < LEAST || unsent * 2 <= all || paths.is_empty() || is_stdin {
        return None;
    }
    let mut words = vec!["slim".to_owned()];
    for path in paths {
        let name = path.display().to_string();
        words.push(if name.starts_with('-') { format!("./{name}") } else { name });
    }
    let (unsent, all) = (in_bytes(unsent), in_bytes(all));
    Some(format!("{unsent} of {all} are sent to no model; {PROGRAM} {} removes them", joined(&words)))
}

/// Where the original of a result is, and how to see it or the change. `input` is the path of the only input, or
/// nothing for standard input. Of masked secrets, nothing is said.
fn rest_of_file(settings: &Settings, input: Option<&str>, ending: &Ending) -> String {
    if !ending.removes() {
        return String::new();
    }
    let archive = settings.policy.archive.as_deref().filter(|_| ending.is_archived);
    let shown = archive.map(|archive| quoted(&archive.display().to_string())).unwrap_or_default();
    let (flag, input) = match (&settings.output.destination, input) {
        (Destination::InPlace(Some(suffix)), Some(input)) => {
            return format!("; the original is {}", quoted(&format!("{input}{suffix}")));
        }
        (Destination::InPlace(_), Some(input)) => {
            // A name that begins with a hyphen would be read as a flag.
            let input = if input.starts_with('-') { format!("./{input}") } else { input.to_owned() };
            return match archive {
                Some(file) if is_lines(file) => {
                    format!("; tcompact restore {shown} {} prints the original", quoted(&input))
                }
                Some(_) => format!("; the rest is in {shown}"),
                None => GONE.to_owned(),
            };
        }
        (Destination::Folder(_), input) => ("--diff instead of --output-dir shows", input),
        (Destination::File(_), input) => ("--diff instead of --output shows", input),
        (_, input) => ("add --diff to see", input),
    };
    let place = match (archive, input) {
        (Some(_), _) => format!("; the rest is in {shown}"),
        (None, Some(_)) => "; the input is unchanged".to_owned(),
        // As behind `<`.
        (None, None) if metadata_of_stdin().is_some_and(|stdin| stdin.is_file()) => {
            "; the input is unchanged".to_owned()
        }
        (None, None) => "; nothing keeps the rest (--archive FILE.jsonl does)".to_owned(),
    };
    let see = if settings.policy.emit == Emit::Messages { format!("; {flag} the change") } else { String::new() };
    place + &see
}

/// The same as `rest_of_file`, for several files.
fn rest_of_files(settings: &Settings) -> String {
    match (&settings.output.destination, &settings.policy.archive) {
        (Destination::InPlace(Some(suffix)), _) => format!("; the originals end in {}", quoted(suffix)),
        (Destination::InPlace(None), None) => GONE.to_owned(),
        (_, Some(archive)) => format!("; the rest is in {}", quoted(&archive.display().to_string())),
        (_, None) => "; the inputs are unchanged".to_owned(),
    }
}

/// What is said where nothing keeps the original.
const GONE: &str = "; the rest is gone (--archive FILE.jsonl keeps it)";
