//! `slim`: removes from session files what no model is sent. Each file is read, made smaller in memory, and read again:
//! only a file that holds the same context takes the place of the old one. What goes is in the archive before that. A
//! large file is read by its lines instead.

mod by_lines;
#[cfg(test)]
mod by_lines_tests;
mod file;
mod place;
mod totals;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::Result;

use crate::engine::inputs::below;
use crate::events::{Event, Listener};
use crate::exit::{Exit, Failure};
use crate::fault::{self, ProgramPart};
use crate::files::agent_homes::AgentHomes;
use crate::files::atomic::tidy;
use crate::files::open_files::OpenFiles;
use crate::files::output;
use crate::files::paths::folder;
use crate::interrupt;
use crate::report::reporter::Reporter;
use crate::sanitize::sanitize_name;
use crate::settings::{SlimSettings, Volume};
use crate::sync::{cores_of_machine, lock, unpoisoned};

use file::slim_file;
use place::{Outcome, SessionFile};
use totals::SlimTotals;

/// Removes what is not sent from all files that the settings name.
///
/// # Errors
/// The only file cannot be read or replaced, or there is no session.
pub(super) fn slim_files(settings: &SlimSettings) -> Result<Exit> {
    let reporter = Reporter::new(settings.volume);
    let (files, mut failures) = find(settings);
    if !settings.dry_run {
        interrupt::exit_on_signals();
        // What runs that were killed left beside the files.
        let folders: BTreeSet<&Path> = files.iter().map(|file| folder(&file.path)).collect();
        for folder in folders {
            tidy(folder);
        }
    }
    let outcomes = work(settings, &files);
    let is_alone = settings.input.paths.len() == 1 && !settings.input.paths[0].is_dir();
    let mut totals = SlimTotals::default();
    for (file, outcome) in files.iter().zip(outcomes) {
        match outcome {
            Outcome::Failed(error) if is_alone => return Err(error),
            Outcome::Failed(error) => failures.push(error.to_string()),
            outcome => totals.add(file, outcome),
        }
    }
    if is_alone && totals.sessions == 0 && totals.young == 0 {
        let mut reasons = totals.left.iter().chain(&totals.others);
        let why = reasons.next().map_or("it is not a session", |(_, why)| why.as_str());
        return Err(Failure::unreadable(format!("{}: {why}", settings.input.paths[0].display())).into());
    }
    for failure in &failures {
        reporter.handle(&Event::InputFailed(failure));
    }
    report(settings, &reporter, &totals)?;
    if !failures.is_empty() {
        return Ok(Exit::SomeFailed);
    }
    if totals.sessions == 0 && totals.young == 0 && totals.left.is_empty() {
        let paths: Vec<String> = settings.input.paths.iter().map(|path| path.display().to_string()).collect();
        return Err(Failure::unreadable(format!("{}: no sessions found", paths.join(", "))).into());
    }
    Ok(Exit::Success)
}

/// Prints what a dry run would save, and says what was left alone and what was saved.
fn report(settings: &SlimSettings, reporter: &Reporter, totals: &SlimTotals) -> Result<()> {
    if settings.dry_run {
        let mut lines = String::new();
        for (path, bytes) in &totals.saved {
            lines.push_str(&format!("{}\t{bytes}\n", sanitize_name(&path.display().to_string())));
        }
        output::print(&lines)?;
    }
    if settings.volume == Volume::Quiet {
        return Ok(());
    }
    for notice in &totals.notices {
        reporter.handle(&Event::Notice(notice));
    }
    if !settings.dry_run {
        let agent_homes = AgentHomes::default();
        for (path, _) in &totals.saved {
            if let Some(warning) = agent_homes.stale_database(path) {
                reporter.handle(&Event::Notice(&warning));
            }
        }
    }
    for (path, why) in &totals.left {
        reporter.handle(&Event::Notice(&format!("{} is left alone: {why}", path.display())));
    }
    if settings.volume == Volume::Verbose {
        for (path, why) in &totals.others {
            reporter.handle(&Event::Notice(&format!("{} is left out: {why}", path.display())));
        }
    }
    reporter.handle(&Event::Notice(&totals.sentence(settings)));
    Ok(())
}

/// The files to look at, in the order of their names, and what could not be searched.
fn find(settings: &SlimSettings) -> (Vec<SessionFile>, Vec<String>) {
    let (mut files, mut failures) = (Vec::new(), Vec::new());
    for path in &settings.input.paths {
        if !path.is_dir() {
            files.push(SessionFile { path: path.clone(), is_named: true });
            continue;
        }
        for entry in below(path) {
            match entry {
                Err((name, why)) => failures.push(format!("{name} cannot be searched: {why}")),
                Ok(entry) if entry.file_type().is_file() && !is_own(entry.path()) => {
                    files.push(SessionFile { path: entry.into_path(), is_named: false });
                }
                Ok(_) => {}
            }
        }
    }
    (files, failures)
}

/// Whether a file is an archive of an earlier run.
fn is_own(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().contains(".cut.jsonl"))
}

/// Works on all files, several at once, and returns what came of each in their order.
fn work(settings: &SlimSettings, files: &[SessionFile]) -> Vec<Outcome> {
    let (open_files, agent_homes) = (OpenFiles::default(), AgentHomes::default());
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<Option<Outcome>>> = Mutex::new(files.iter().map(|_| None).collect());
    let workers = cores_of_machine().min(files.len());
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(file) = files.get(index) else { return };
                    // A panic in one file must not end the others.
                    let slimmed =
                        fault::caught(ProgramPart::Input, || slim_file(settings, file, &open_files, &agent_homes));
                    let outcome = slimmed
                        .unwrap_or_else(|fault| Err(Failure::unreadable(format!("{}: {fault}", file.name())).into()));
                    lock(&done)[index] = Some(outcome.unwrap_or_else(Outcome::Failed));
                }
            });
        }
    });
    unpoisoned(done.into_inner()).into_iter().flatten().collect()
}
