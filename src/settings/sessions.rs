//! Flags that stand for others: `--latest` for the path of a session, and `--rescue` for what a session needs that can no
//! longer be resumed.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::Result;
use walkdir::WalkDir;

use crate::diagnostic::Advice;
use crate::exit::Failure;
use crate::files::agent_homes::head_of;
use crate::files::input;
use crate::files::open_files::OpenFiles;
use crate::plan::size::whole;
use crate::settings::layers::CommandLine;
use crate::settings::names::find_format;
use crate::tokens::models;
use crate::transcript::framing;
use crate::transcript::named_models::model_of;
use crate::transcript::session_files::SessionFiles;
use crate::transcript::source::Source;
use crate::wording::counted;

/// The size of a rescued session where nobody knows the context window of its model.
const RESCUED_TOKENS: u64 = 50_000;

/// A command line with other flags in the place of `--latest` and `--rescue`.
pub(super) struct Expanded {
    pub(super) command_line: CommandLine,
    /// What is to be said of it.
    pub(super) notices: Vec<String>,
    /// What is to be said if nothing is changed.
    pub(super) if_unchanged: Option<String>,
}

/// Puts other flags in the place of `--latest` and `--rescue`.
///
/// # Errors
/// There is no such session, or the flags do not go with the others.
pub(super) fn expanded(mut command_line: CommandLine, variable: impl Fn(&str) -> Option<OsString>) -> Result<Expanded> {
    let (mut notices, mut if_unchanged) = (Vec::new(), None);
    if let Some(agent) = command_line.typed_text("latest") {
        if !command_line.paths().is_empty() {
            let why = format!("--latest {agent} takes the place of a path; leave out one of them");
            return Err(Failure::usage(why).about("latest").into());
        }
        let NewestSession { session, skipped } = newest_session(&agent, &variable)?;
        notices.push(format!("--latest {agent}: {}", session.display()));
        notices.extend(skipped);
        command_line = command_line.with_path("latest", &session)?;
    }
    if command_line.is_given("rescue") {
        let (words, size) = rescue_words(&command_line)?;
        if_unchanged = size;
        command_line = command_line.with_words(words)?;
    }
    Ok(Expanded { command_line, notices, if_unchanged })
}

/// The newest session of an agent that no other process has open.
struct NewestSession {
    session: PathBuf,
    /// A sentence about a newer one that is open.
    skipped: Option<String>,
}

/// Finds the newest session of an agent. Those of its sub-agents do not count.
fn newest_session(agent: &str, variable: impl Fn(&str) -> Option<OsString>) -> Result<NewestSession> {
    let Some(files) = find_format(agent)?.and_then(|format| format.session_files.as_ref()) else {
        return Err(unknown_folder(agent).into());
    };
    let Some(folder) = folder_of(files, &variable) else { return Err(unknown_folder(agent).into()) };
    let mut sessions: Vec<(SystemTime, PathBuf)> = Vec::new();
    for entry in WalkDir::new(&folder).into_iter().flatten() {
        let is_named = entry.file_name().to_str().is_some_and(files.is_session);
        if !entry.file_type().is_file() || !is_named || !is_in_folder(entry.path(), files.parent) {
            continue;
        }
        let Ok(metadata) = entry.metadata() else { continue };
        if metadata.len() > 0 {
            sessions.push((metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH), entry.into_path()));
        }
    }
    sessions.sort();
    let open_files = OpenFiles::default();
    let mut open = None;
    for (_, session) in sessions.into_iter().rev() {
        if head_of(&session).is_some_and(|head| head.is_of_subagent) {
            continue;
        }
        let writer = session.metadata().ok().and_then(|metadata| open_files.writer(&metadata));
        let Some(writer) = writer else {
            let skipped = open.map(|(newer, writer): (PathBuf, String)| {
                format!("--latest {agent} skips {}, which is newer: {writer} has it open", newer.display())
            });
            return Ok(NewestSession { session, skipped });
        };
        open = open.or(Some((session, writer)));
    }
    let why = match open {
        Some((session, writer)) => format!(
            "--latest {agent}: {writer} has {} open, and there is no other session; end it first",
            session.display()
        ),
        None => format!("--latest {agent}: there is no session in {}", folder.display()),
    };
    Err(Failure::unreadable(why).into())
}

fn unknown_folder(agent: &str) -> Failure {
    Failure::unreadable(format!("--latest {agent}: nobody says where your folder is; set HOME"))
}

/// Whether a file is in a folder of this name, if there is one.
fn is_in_folder(file: &Path, name: Option<&str>) -> bool {
    let Some(name) = name else { return true };
    file.parent().and_then(Path::file_name).is_some_and(|folder| folder == name)
}

/// The folder of an agent's sessions.
fn folder_of(files: &SessionFiles, variable: &impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    if !files.variable.is_empty()
        && let Some(home_of_agent) = path_in(variable(files.variable))
    {
        return Some(home_of_agent.join(files.folder));
    }
    let home = match path_in(variable("HOME")) {
        Some(home) => home,
        None => path_in(variable("USERPROFILE"))?,
    };
    Some(home.join(files.home).join(files.folder))
}

/// The path in the value of a variable. An empty variable counts as not set.
fn path_in(value: Option<OsString>) -> Option<PathBuf> {
    let value = value?;
    if value.is_empty() { None } else { Some(value.into()) }
}

/// The flags that `--rescue` stands for, without those that were given, and a sentence about the size that it chose.
fn rescue_words(command_line: &CommandLine) -> Result<(Vec<OsString>, Option<String>)> {
    let paths = command_line.paths();
    let [path] = paths.as_slice() else {
        let mut failure =
            Failure::usage("--rescue mends one session; name its file, or --latest AGENT").about("rescue");
        if paths.is_empty() {
            let mut words = command_line.typed_words();
            words.remove(0);
            words.extend(["--latest".to_owned(), "claude-code".to_owned()]);
            failure = failure.try_next(Advice::command(words));
        }
        return Err(failure.into());
    };
    if !path.is_file() {
        let why = format!("--rescue mends one session in a file, and {} is not a file", path.display());
        return Err(Failure::usage(why).about("rescue").into());
    }
    let (mut words, mut fitted) = (Vec::<OsString>::new(), None);
    let has = |flags: &[&str]| flags.iter().any(|flag| command_line.is_given(flag));
    if !has(&["repair"]) {
        words.extend(["--repair".into(), "synthesize".into()]);
    }
    if !has(&["fit"]) {
        let (tokens, why) = rescued_tokens(command_line, path);
        words.extend(["--fit".into(), format!("tokens:{tokens}").into()]);
        let tokens = counted(tokens, "token");
        fitted = Some(format!("--rescue fits into {tokens}, {why}; --fit SIZE fits into another size"));
    }
    if !has(&["in-place", "output", "output-dir", "diff"]) {
        words.push(format!("--in-place={}", free_suffix(path)).into());
    }
    if !has(&["archive"]) {
        let mut archive = path.clone().into_os_string();
        archive.push(".cut.jsonl");
        words.extend(["--archive".into(), archive]);
    }
    Ok((words, fitted))
}

/// The suffix of a copy that is not there yet: a session that grows is rescued again.
fn free_suffix(path: &Path) -> String {
    let mut suffix = ".bak".to_owned();
    let mut number = 1;
    loop {
        let mut copy = path.to_owned().into_os_string();
        copy.push(&suffix);
        if fs::symlink_metadata(&copy).is_err() {
            return suffix;
        }
        number += 1;
        suffix = format!(".bak{number}");
    }
}

/// Half of the context window of the model that reads a session, and what it is half of.
fn rescued_tokens(command_line: &CommandLine, path: &Path) -> (u64, String) {
    if let Some(tokens) = command_line.typed_text("context-window")
        && let Ok(window) = whole(&tokens)
    {
        return (window / 2, "half of the window".to_owned());
    }
    let Some(model) = command_line.typed_text("for").or_else(|| model_of_session(path)) else {
        return (RESCUED_TOKENS, "as the session names no model".to_owned());
    };
    match models::find(&model) {
        Some(known) => (known.context_window / 2, format!("half of the window of {model}")),
        None => (RESCUED_TOKENS, format!("as the window of {model} is not known")),
    }
}

/// The model that a session names last. What cannot be read is an error later.
fn model_of_session(path: &Path) -> Option<String> {
    let input = input::read(Some(path)).ok()?;
    let source = Source::of_file(&input.text).ok()?;
    let document = framing::read(&source, None, None).ok()?;
    model_of(document.transcripts.last()?)
}
