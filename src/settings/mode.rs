//! What the program does: decided once, of all that was typed and of what stands below it.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::Result;

use crate::cli::{Arguments, Generated, Table, When};
use crate::settings::layers::CommandLine;
use crate::settings::presets;
use crate::settings::{Settings, Volume, volume};

/// What the program does.
#[derive(Debug)]
pub(crate) enum Mode {
    /// It prints a table.
    List(Table),
    /// It prints a file that other programs read.
    Generate(Generated),
    /// It puts back what an archive holds.
    Restore(RestoreSettings),
    /// It works on conversations.
    Conversations(Box<Settings>),
}

/// What is put back, and where.
#[derive(Debug, Clone)]
pub(crate) struct RestoreSettings {
    /// The archive.
    pub(crate) archive: PathBuf,
    /// The texts that were left, of which there may be one; standard input if nothing.
    pub(crate) paths: Vec<PathBuf>,
    /// Where the text goes; standard output if nothing.
    pub(crate) output: Option<PathBuf>,
    /// How much is told.
    pub(crate) volume: Volume,
}

impl RestoreSettings {
    /// What the arguments say of it, if they say so.
    pub(crate) fn new(arguments: &Arguments) -> Option<Self> {
        let Arguments { restore, paths, output, .. } = arguments;
        let (archive, volume) = (restore.clone()?, volume(arguments));
        Some(RestoreSettings { archive, paths: paths.clone(), output: output.clone(), volume })
    }
}

impl Mode {
    /// Decides what the program does. `variable` gives the environment, and `colour` is told as soon as it is known
    /// when messages are coloured.
    ///
    /// # Errors
    /// A value that cannot be used, and what to do instead.
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
        let resolved = command_line.resolve(&presets::values, &variable)?;
        colour(resolved.arguments.color);
        let settings = Settings::new(resolved, |name| variable(name)?.into_string().ok())?;
        Ok(Mode::Conversations(Box::new(settings)))
    }
}
