//! What the program does, decided once for the command line and all layers.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::Result;
use regex::Regex;

use crate::cli::places::{Place, Places};
use crate::cli::{CliArguments, Generated, Table, When};
use crate::presets;
use crate::settings::layers::CommandLine;
use crate::settings::names::find_format;
use crate::settings::{InputSettings, Settings, Volume, volume};

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
    Search(LookupSettings, SearchSettings),
    /// Show messages of an archive or a transcript.
    Show(LookupSettings, ShowSettings),
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
    /// The file of the restored text; nothing for standard output.
    pub(crate) output: Option<PathBuf>,
    /// The most rounds to put back; all where nothing is said.
    pub(crate) rounds: Option<usize>,
    /// How much to report.
    pub(crate) volume: Volume,
}

/// The settings that `--search` and `--show` share.
#[derive(Debug, Clone)]
pub(crate) struct LookupSettings {
    /// The inputs; an archive that is named by its flag is the first.
    pub(crate) input: InputSettings,
    /// Whether the first input must be an archive.
    pub(crate) is_archive: bool,
    /// Whether secrets are masked.
    pub(crate) masks: bool,
    /// Whether to print JSON.
    pub(crate) json: bool,
    /// How much to report.
    pub(crate) volume: Volume,
}

/// The settings of `--search`.
#[derive(Debug, Clone)]
pub(crate) struct SearchSettings {
    /// The pattern.
    pub(crate) pattern: Regex,
    /// The most messages to print.
    pub(crate) limit: usize,
    /// Whether to print only their number.
    pub(crate) counts: bool,
}

/// The settings of `--show`.
#[derive(Debug, Clone)]
pub(crate) struct ShowSettings {
    /// The messages.
    pub(crate) places: Vec<Place>,
    /// The most tokens of each.
    pub(crate) tokens: u64,
}

impl LookupSettings {
    fn new(arguments: &CliArguments) -> Result<Self> {
        let CliArguments { archive, paths, from, lines, redact, json, .. } = arguments;
        let input = InputSettings {
            paths: archive.iter().chain(paths).cloned().collect(),
            from: find_format(from)?,
            lines: *lines,
            other_files: Vec::new(),
        };
        let (is_archive, masks, volume) = (archive.is_some(), redact.is_some(), volume(arguments));
        Ok(LookupSettings { input, is_archive, masks, json: *json, volume })
    }
}

impl RestoreSettings {
    /// Returns the settings if the arguments have `--restore`.
    pub(crate) fn new(arguments: &CliArguments) -> Option<Self> {
        let CliArguments { restore, rounds, paths, output, .. } = arguments;
        let (archive, volume, rounds) = (restore.clone()?, volume(arguments), rounds.map(|rounds| rounds as usize));
        Some(RestoreSettings { archive, paths: paths.clone(), output: output.clone(), rounds, volume })
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
        if let Some(restore) = RestoreSettings::new(arguments) {
            return Ok(Mode::Restore(restore));
        }
        if let Some(pattern) = arguments.search.clone() {
            let search = SearchSettings { pattern, limit: arguments.limit as usize, counts: arguments.count };
            return Ok(Mode::Search(LookupSettings::new(arguments)?, search));
        }
        if let Some(Places(places)) = arguments.show.clone() {
            let show = ShowSettings { places, tokens: arguments.limit_tokens.into() };
            return Ok(Mode::Show(LookupSettings::new(arguments)?, show));
        }
        let misspelled = command_line.misspelled(std::env::vars_os().map(|(name, _)| name));
        let mut resolved = command_line.resolve(&presets::values, &variable)?;
        if !resolved.arguments.quiet {
            resolved.notices.extend(misspelled);
        }
        colour(resolved.arguments.color);
        let settings = Settings::new(resolved, |name| variable(name)?.into_string().ok())?;
        Ok(Mode::Conversations(Box::new(settings)))
    }
}
