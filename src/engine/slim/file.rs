//! One file of `slim`: it is read, made smaller, read again, and replaced.

use std::fs::{self, Metadata};
use std::time::SystemTime;

use anyhow::Result;

use crate::compact::{Slimmed, assign_record_ids, context_difference, is_lines, slim};
use crate::exit::Failure;
use crate::files::agent_homes::AgentHomes;
use crate::files::append::WaitingSections;
use crate::files::atomic::Readers;
use crate::files::compression::Compression;
use crate::files::input::{self, Input, Opened, ReadOptions};
use crate::files::open_files::OpenFiles;
use crate::files::output;
use crate::rewrite::pieces;
use crate::settings::SlimSettings;
use crate::transcript::framing::Document;
use crate::transcript::view::Arena;
use crate::wording::reason;

use crate::engine::archived_runs::RunsBefore;
use crate::engine::large::is_large;
use crate::engine::reading::{edited, read, source_name};
use crate::engine::records::is_record;
use crate::engine::slim::by_lines::slim_by_lines;
use crate::engine::slim::place::{Outcome, Place, Saving, SessionFile, checked_archive};

/// Removes what is not sent from a file, unless it is left alone.
///
/// # Errors
/// It cannot be read or replaced, or the result is not the same context. The file is as it was then.
pub(super) fn slim_file(
    settings: &SlimSettings,
    file: &SessionFile,
    open_files: &OpenFiles,
    agent_homes: &AgentHomes,
) -> Result<Outcome> {
    let path = &file.path;
    let there = match fs::symlink_metadata(path) {
        Ok(there) => there,
        Err(error) => {
            let message = format!("{} cannot be read: {}", file.name(), reason(&error));
            return Err(Failure::unreadable(message).into());
        }
    };
    if let Some(why) = left_alone(&there) {
        return if file.is_named { Err(refused(file, why).into()) } else { Ok(Outcome::Left(why.to_owned())) };
    }
    if settings.older.is_some_and(|older| is_younger(&there, older)) {
        return Ok(Outcome::Young);
    }
    if !settings.force
        && !settings.dry_run
        && let Some(writer) = open_files.writer(&there)
    {
        if file.is_named {
            open_files.refuse_writer(path, &there)?;
        }
        return Ok(Outcome::Left(format!("{writer} has it open for writing")));
    }
    if !settings.force
        && let Some(follower) = agent_homes.follower(path)
    {
        if file.is_named {
            agent_homes.refuse_base(path)?;
        }
        return Ok(Outcome::Left(format!("the session {} begins with bytes of it", follower.display())));
    }
    if is_large(&settings.input, path, there.len())
        && let Some(outcome) = slim_by_lines(&Place { settings, file, before: &there, open_files })?
    {
        return Ok(outcome);
    }
    let input = match opened(file)? {
        Ok(input) => input,
        Err(why) => return Ok(Outcome::Other(why)),
    };
    if input.compression != Compression::of_name(path) {
        return Ok(Outcome::Left("its name does not say how it is compressed".to_owned()));
    }
    let slimmed = match slimmed(settings, file, &input) {
        Ok(Some(slimmed)) => slimmed,
        Ok(None) => return Ok(Outcome::Other("tcompact knows of nothing in its format that is not sent".to_owned())),
        Err(mut failure) => match failure.other_file.take() {
            Some(other) if !file.is_named => return Ok(Outcome::Other(other.why)),
            _ => return Err(failure.into()),
        },
    };
    if slimmed.edits.is_empty() {
        return Ok(Outcome::Nothing(there.len()));
    }
    let slim_input = edited(&input, &slimmed.edits);
    check_context(settings, &input, &slim_input)?;
    let saved: usize = slimmed.edits.iter().map(|edit| edit.range.len().saturating_sub(edit.text.len())).sum();
    // How small a compressed file becomes is known once it is written.
    let before = if settings.dry_run { input.bytes().len() as u64 } else { there.len() };
    let mut saving = Saving {
        before,
        after: before.saturating_sub(saved as u64),
        by_label: slimmed.by_label.clone(),
        other_names: 0,
        warning: None,
    };
    if !settings.dry_run {
        replace(settings, file, &there, &input, slimmed, open_files, &mut saving)?;
    }
    Ok(Outcome::Slimmed(saving))
}

/// Why a file is left alone whatever it holds.
fn left_alone(there: &Metadata) -> Option<&'static str> {
    if there.is_symlink() {
        return Some("it is a link, and tcompact does not write through links");
    }
    if !there.is_file() {
        return Some("it is not a regular file");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        if there.uid() != rustix::process::geteuid().as_raw() {
            return Some("it belongs to another user");
        }
    }
    None
}

fn refused(file: &SessionFile, why: &str) -> Failure {
    Failure::unreadable(format!("{} is not replaced: {why}", file.name()))
}

fn is_younger(there: &Metadata, older: std::time::Duration) -> bool {
    let Ok(modified) = there.modified() else { return true };
    SystemTime::now().duration_since(modified).is_ok_and(|age| age < older) || modified > SystemTime::now()
}

/// Reads a file whole; or why it is not a session.
fn opened(file: &SessionFile) -> Result<Result<Input, String>> {
    let reading = ReadOptions { lines: None, may_be_other: !file.is_named, hashed: false, is_record: Some(is_record) };
    Ok(match input::open(Some(&file.path), reading)?.0 {
        Opened::Whole(input) => Ok(input),
        Opened::Lines(_) => {
            Err("each of its lines is a conversation or a record, as agents do not write them".to_owned())
        }
        Opened::Other(other) => Err(format!("it {}", other.why)),
    })
}

/// What goes of a file; nothing where nothing in its format is known not to be sent.
fn slimmed(settings: &SlimSettings, file: &SessionFile, input: &Input) -> Result<Option<Slimmed>, Failure> {
    let arena = Arena::default();
    let mut document = read(&settings.input, &settings.policy, input, &arena)?;
    if document.transcripts.iter().all(|transcript| transcript.format.unsent.is_empty()) {
        return Ok(None);
    }
    assign_record_ids(&mut document, input.bytes(), 0);
    let has_archive = settings.archives && is_lines(&file.archive());
    Ok(Some(slim(&document, input.bytes(), has_archive, &|transcript| source_name(input, transcript))))
}

/// Checks that what is sent is the same before and after.
///
/// # Errors
/// It is not: tcompact would be wrong about the file.
fn check_context(settings: &SlimSettings, before: &Input, after: &Input) -> Result<()> {
    let (arena, other_arena) = (Arena::default(), Arena::default());
    let one = read(&settings.input, &settings.policy, before, &arena)?;
    let difference = match read(&settings.input, &settings.policy, after, &other_arena) {
        Ok(other) => difference(&one, &other),
        Err(_) => Some("it could not be read".to_owned()),
    };
    let Some(difference) = difference else { return Ok(()) };
    let name = &before.name;
    let message = format!("{name} is left as it is: without what is not sent, {difference}");
    Err(Failure::unreadable(message).into())
}

/// The first difference in how two documents are read.
fn difference(one: &Document<'_>, other: &Document<'_>) -> Option<String> {
    if one.transcripts.len() != other.transcripts.len() {
        return Some("it would be read as another number of conversations".to_owned());
    }
    for (one, other) in one.transcripts.iter().zip(&other.transcripts) {
        if one.format.name != other.format.name {
            return Some(format!("it would be read as {} and not as {}", other.format.name, one.format.name));
        }
        if let Some(index) = context_difference(one, other) {
            return Some(format!("message {index} would be read otherwise"));
        }
    }
    None
}

/// Appends what goes to the archive, then puts the smaller file in place. Where that fails, the archive is as it was.
fn replace(
    settings: &SlimSettings,
    file: &SessionFile,
    before: &Metadata,
    input: &Input,
    slimmed: Slimmed,
    open_files: &OpenFiles,
    saving: &mut Saving,
) -> Result<()> {
    let readers = Readers::of_result(Some(&file.path));
    let result = output::replacement(pieces(input.bytes(), &slimmed.edits), &file.path, &readers)?;
    let archive = || {
        if !settings.archives {
            return Ok(None);
        }
        let mut waiting = WaitingSections::default();
        let archive = checked_archive(file)?;
        let mut sections = slimmed.archived.sections;
        RunsBefore::read(&archive).name_previous(&mut sections);
        waiting.add(&archive, sections, false)?;
        waiting.append(&archive)
    };
    let place = Place { settings, file, before, open_files };
    place.put(result, archive, saving)
}
