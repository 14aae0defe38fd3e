//! Checks of the inputs, the output and the files beside it, before anything is done or paid for.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::compact::{CompactionPolicy, Emit, Fitted, certain_files};
use crate::engine::conversations::Conversations;
use crate::engine::inputs::{self, Inputs};
use crate::engine::records::refuse_other_file;
use crate::engine::sink::Sink;
use crate::events::{Event, Listener};
use crate::exit::Failure;
use crate::files::{append, beside_archive, output};
use crate::presets::langgraph;
use crate::report::json;
use crate::settings::{Action, Destination, Settings};
use crate::wording::readable_source;

impl Conversations<'_> {
    /// Refuses options that the format cannot hold and, in the presets of `LangChain`, messages that `LangChain`
    /// refuses.
    pub(super) fn check_document(&self) -> Result<()> {
        let CompactionPolicy { summary, emit, habits, .. } = self.policy;
        for transcript in &self.document.transcripts {
            let (format, roles) = (transcript.format, transcript.format.summary_roles);
            if !roles.contains(&summary.role) {
                let names: Vec<&str> = roles.iter().map(|role| role.name()).collect();
                return Err(Failure::usage(format!(
                    "--summary-role {}: a summary in the format {} can only be of role {}; give --summary-role {}",
                    summary.role.name(),
                    format.name,
                    names.join(" or "),
                    names[0]
                ))
                .into());
            }
            if *emit == Emit::Update && langgraph::remove_all(format).is_none() {
                let message = format!(
                    "--emit update: a LangGraph state holds no messages of the format {}; leave it out",
                    format.name
                );
                return Err(Failure::usage(message).into());
            }
            if !habits.langchain {
                continue;
            }
            for (index, message) in transcript.messages.iter().enumerate() {
                if let Some(why) = langgraph::refusal(format, message) {
                    let source = readable_source(&self.input.name);
                    let message = format!("{source}: message {index} {why}; without --preset, tcompact reads it");
                    return Err(Failure::unreadable(message).into());
                }
            }
        }
        Ok(())
    }

    /// Refuses, before a summary is paid for, what could not be written or emitted afterwards.
    pub(super) fn check_plan(&self, source: &str, planned: &Fitted<'_>) -> Result<()> {
        if !planned.is_change() {
            return if planned.decided.edits.is_empty() { Ok(()) } else { self.sink.check_places(false) };
        }
        if planned.plan.cutoff > 0 {
            self.run.listeners.handle(&Event::Split { source, plan: &planned.plan, pairs: self.policy.cut.pairs });
            beside_archive::check(&certain_files(self.policy, planned))?;
        }
        self.sink.check_places(true)?;
        self.check_state(source, planned)
    }

    /// Refuses the update of messages that no `LangGraph` state accepts, before a summary is paid for.
    pub(super) fn check_state(&self, source: &str, planned: &Fitted<'_>) -> Result<()> {
        if self.policy.emit != Emit::Update {
            return Ok(());
        }
        let refused = langgraph::refused_by_state(planned.decided.view, &planned.plan);
        let Some((index, why)) = refused else { return Ok(()) };
        let advice = "a LangGraph state does not accept it; leave out --emit update";
        let message = format!("{}: message {index} {why}, so that {advice}", readable_source(source));
        Err(Failure::unreadable(message).into())
    }
}

impl Sink<'_> {
    /// Refuses a result that could not be written, or an archive of a preset. One that the user chose is checked before
    /// anything is read.
    pub(super) fn check_places(&self, is_archived: bool) -> Result<()> {
        self.check()?;
        if is_archived && !self.run.settings.output.archive_chosen {
            check_archive(self.run.settings, &self.policy, &[])?;
        }
        Ok(())
    }
}

/// Refuses an archive that cannot be written, or that is one of `others`.
fn check_archive(settings: &Settings, policy: &CompactionPolicy, others: &[Option<&Path>]) -> Result<()> {
    let is_written = policy.disabled.is_none() || settings.repair.is_some() || settings.action == Action::Mend;
    match &policy.archive {
        Some(file) if !settings.action.is_read_only() && is_written => append::check(file, others),
        _ => Ok(()),
    }
}

/// Refuses an output that is the only input itself, or that cannot be written.
pub(super) fn check_output(settings: &Settings, inputs: &Inputs) -> Result<()> {
    let only = if inputs.many { None } else { inputs.entries.first() };
    for entry in &inputs.entries {
        if entry.named {
            output::refuse_emptied(entry.path.as_deref())?;
        }
    }
    let to_stdout = settings.output.destination == Destination::Stdout || settings.action.is_read_only();
    if to_stdout && settings.action != Action::Check {
        output::check(None)?;
    }
    match (&settings.output.destination, only) {
        (Destination::File(file), Some(entry)) if !settings.action.is_read_only() => {
            let can_replace = settings.policy.emit == Emit::Messages;
            output::refuse_input(entry.path.as_deref(), file, can_replace)?;
            output::check(Some(file))
        }
        _ => Ok(()),
    }
}

/// Refuses unusable files for the archive, the report and the page.
pub(super) fn check_side_outputs(settings: &Settings, inputs: &Inputs) -> Result<()> {
    let mut named: Vec<Option<&Path>> = Vec::with_capacity(2 * inputs.entries.len());
    for entry in &inputs.entries {
        named.extend([entry.path.as_deref(), entry.output.as_deref()]);
    }
    let archive = if settings.output.archive_chosen { settings.policy.archive.as_deref() } else { None };
    let is_read_only = settings.action.is_read_only();
    if let Some(file) = archive {
        check_archive(settings, &settings.policy, &named)?;
        if !is_read_only {
            refuse_streams(settings, "--archive", file)?;
        }
    }
    let output = match &settings.output.destination {
        Destination::File(file) => Some(file.as_path()),
        _ => None,
    };
    if !is_read_only {
        for (flag, file) in [("--output", output), ("--archive", archive)] {
            if let Some(file) = file
                && settings.input.other_files.iter().any(|other| output::same_place(file, other))
            {
                return is_another_file(flag, file);
            }
        }
        if let Some(file) = archive {
            refuse_other_file(file)?;
        }
    }
    let copies: Vec<PathBuf> = match &settings.output.destination {
        Destination::InPlace(Some(suffix)) => inputs.files().map(|file| inputs::copy_of(file, suffix)).collect(),
        _ => Vec::new(),
    };
    let mut others: Vec<&Path> = named.into_iter().flatten().collect();
    others.extend(copies.iter().map(PathBuf::as_path));
    others.extend(settings.policy.archive.as_deref());
    others.extend(settings.input.other_files.iter().map(PathBuf::as_path));
    for (flag, file) in [("--report", &settings.output.report), ("--html", &settings.output.html)] {
        let Some(file) = file else { continue };
        refuse_streams(settings, flag, file)?;
        if file.components().any(|part| part.as_os_str() == inputs::OWN_FOLDER) {
            let name = file.display();
            let message =
                format!("{flag} {name} is among the files that tcompact keeps for itself; name another place");
            return Err(Failure::usage(message).into());
        }
        if let (Destination::Folder(folder), Some(parent)) = (&settings.output.destination, file.parent())
            && parent.starts_with(folder)
        {
            // The results go there as well.
            fs::create_dir_all(parent).map_err(|error| output::unwritable(file, &error))?;
        }
    }
    if let Some(report) = &settings.output.report {
        json::check(report, &others)?;
        refuse_data("--report", report)?;
        others.push(report);
    }
    if let Some(page) = &settings.output.html {
        check_page(page, &others)?;
        refuse_data("--html", page)?;
    }
    Ok(())
}

/// Refuses a page that is one of `others`, or that cannot be written.
fn check_page(file: &Path, others: &[&Path]) -> Result<()> {
    if file.as_os_str() == "-" {
        return Err(Failure::usage("--html -: standard output carries the transcript; name a file").into());
    }
    if others.iter().any(|other| output::same_place(file, other)) {
        return is_another_file("--html", file);
    }
    output::check(Some(file)).map_err(|error| Failure::unreadable(format!("--html {error}")).into())
}

fn is_another_file(flag: &str, file: &Path) -> Result<()> {
    let name = file.display();
    Err(Failure::usage(format!("{flag} {name} is another file of this command; name one of its own")).into())
}

/// Refuses to write a page or a report over JSON of another kind, such as a session that stands where the file belongs.
fn refuse_data(flag: &str, file: &Path) -> Result<()> {
    if !file.is_file() {
        return Ok(());
    }
    // What cannot be read is not known to be a session.
    let Ok(begin) = read_beginning(file) else { return Ok(()) };
    if !begin.trim_ascii_start().starts_with(b"{") && !begin.trim_ascii_start().starts_with(b"[") {
        return Ok(());
    }
    if flag == "--report" && json::begins_report(&begin) {
        return Ok(());
    }
    let name = file.display();
    let message = format!("{flag} {name} is there and holds other data; name another file, or remove it first");
    Err(Failure::usage(message).into())
}

/// The first bytes of a file.
fn read_beginning(file: &Path) -> io::Result<Vec<u8>> {
    let mut begin = Vec::new();
    File::open(file)?.take(json::LONGEST_BEGINNING as u64).read_to_end(&mut begin)?;
    Ok(begin)
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
