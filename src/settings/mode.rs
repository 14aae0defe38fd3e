//! What the program does, decided once for the command line and all layers.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::Result;
use regex::Regex;

use crate::cli::places::{MessagePlace, Places};
use crate::cli::{CliArguments, Generated, Table, When};
use crate::presets;
use crate::settings::keys::find_format;
use crate::settings::layers::CommandLine;
use crate::settings::sources::misspelled;
use crate::settings::{Destination, InputSettings, Settings, Volume, destination, volume};

/// What the program does.
#[derive(Debug)]
pub(crate) enum Mode {
    /// Print a table.
    List(Table),
    /// Print a file that other programs read.
    Generate(Generated),
    /// Restore a text by its archive.
    Restore(RestoreSettings),
    /// Search archives and transcripts.
    Search(Box<LookupSettings>, Regex),
    /// Show messages of an archive or a transcript.
    Show(Box<LookupSettings>, Vec<MessagePlace>),
    /// Work on conversations.
    Conversations(Box<Settings>),
}

/// The settings of `--restore`.
#[derive(Debug, Clone)]
pub(crate) struct RestoreSettings {
    /// The archive.
    pub(crate) archive: PathBuf,
    /// The compacted texts, of which there may be one; empty for standard input.
    pub(crate) paths: Vec<PathBuf>,
    /// Where the restored text goes.
    pub(crate) destination: Destination,
    /// Whether to replace also a file that another process has open for writing.
    pub(crate) force: bool,
    /// The most rounds to put back; all where nothing is said.
    pub(crate) rounds: Option<usize>,
    /// How much to report.
    pub(crate) volume: Volume,
}

/// The settings of `--search` and `--show`.
#[derive(Debug)]
pub(crate) struct LookupSettings {
    /// What the user typed, and whether another layer masks secrets.
    pub(crate) arguments: CliArguments,
    /// The inputs; an archive that is named by its flag is the first.
    pub(crate) input: InputSettings,
    /// How much to report.
    pub(crate) volume: Volume,
}

impl LookupSettings {
    fn new(mut arguments: CliArguments, variable: impl Fn(&str) -> Option<OsString>) -> Result<Self> {
        // No other layer says anything of a lookup, but what protects counts wherever it is said.
        let others = CommandLine::parse(["tcompact".into()])?.resolve(&presets::values, variable)?;
        arguments.redact = arguments.redact.or(others.arguments.redact);
        let paths = arguments.archive.iter().chain(&arguments.paths).cloned().collect();
        let (from, lines, volume) = (find_format(&arguments.from)?, arguments.lines, volume(&arguments));
        Ok(LookupSettings { arguments, input: InputSettings { paths, from, lines, other_files: Vec::new() }, volume })
    }
}

impl RestoreSettings {
    /// The settings if the arguments have `--restore`.
    ///
    /// # Errors
    /// The text cannot go where the arguments say.
    pub(crate) fn new(arguments: &CliArguments) -> Result<Option<Self>> {
        let Some(archive) = arguments.reading.restore.clone() else { return Ok(None) };
        let rounds = arguments.reading.rounds.map(|rounds| rounds as usize);
        let (destination, paths, volume) = (destination(arguments)?, arguments.paths.clone(), volume(arguments));
        Ok(Some(RestoreSettings { archive, paths, destination, force: arguments.force, rounds, volume }))
    }
}

impl Mode {
    /// Decides what the program does. `variable` reads the environment. `colour` is called as soon as it is known when
    /// to colour messages.
    ///
    /// # Errors
    /// A value cannot be used, with what to do instead.
    pub(crate) fn new(
        command_line: CommandLine,
        variable: impl Fn(&str) -> Option<OsString>,
        colour: impl Fn(When),
    ) -> Result<Self> {
        let arguments = &command_line.arguments;
        colour(arguments.color);
        if let Some(table) = arguments.list {
            return Ok(Mode::List(table));
        }
        if let Some(generated) = arguments.generate {
            return Ok(Mode::Generate(generated));
        }
        if let Some(restore) = RestoreSettings::new(arguments)? {
            return Ok(Mode::Restore(restore));
        }
        if let Some(pattern) = arguments.reading.search.clone() {
            return Ok(Mode::Search(LookupSettings::new(command_line.arguments, variable)?.into(), pattern));
        }
        if let Some(Places(places)) = arguments.reading.show.clone() {
            return Ok(Mode::Show(LookupSettings::new(command_line.arguments, variable)?.into(), places));
        }
        let variables = std::env::vars_os().filter(|(_, value)| !value.is_empty());
        let misspelled = misspelled(&command_line.keys, variables.map(|(name, _)| name));
        let mut resolved = command_line.resolve(&presets::values, &variable)?;
        if !resolved.arguments.quiet {
            resolved.notices.extend(misspelled);
        }
        colour(resolved.arguments.color);
        let settings = Settings::new(resolved, |name| variable(name)?.into_string().ok())?;
        Ok(Mode::Conversations(Box::new(settings)))
    }
}
