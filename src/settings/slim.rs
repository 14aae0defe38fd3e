//! The settings of `slim`.

use std::time::Duration;

use anyhow::Result;

use crate::cli::retry::Typed;
use crate::cli::slim::SlimArguments;
use crate::compact::CompactionPolicy;
use crate::diagnostic::Advice;
use crate::exit::Failure;
use crate::plan::size::Size;
use crate::settings::names::find_format;
use crate::settings::{InputSettings, LargeFiles, Volume, volume};

/// The settings of `slim`.
#[derive(Debug)]
pub(crate) struct SlimSettings {
    pub(crate) input: InputSettings,
    /// How transcripts are read; nothing of it compacts.
    pub(crate) policy: CompactionPolicy,
    /// Whether only to print what would be saved.
    pub(crate) dry_run: bool,
    /// How long a file must be unchanged.
    pub(crate) older: Option<Duration>,
    /// Whether what goes is kept beside each file.
    pub(crate) archives: bool,
    /// Whether to replace also a file that another process has open for writing, or another session begins in.
    pub(crate) force: bool,
    /// How much to report.
    pub(crate) volume: Volume,
}

impl SlimSettings {
    /// # Errors
    /// No path is named, or the format is not known.
    pub(super) fn new(arguments: SlimArguments, typed: Typed) -> Result<Self> {
        let SlimArguments { paths, dry_run, older, no_archive, force, reading, general } = arguments;
        if paths.is_empty() || paths.iter().any(|path| path.as_os_str() == "-") {
            let mut words = typed.words.get(1..).unwrap_or_default().to_vec();
            words.retain(|word| word != "-");
            words.push(".".to_owned());
            let failure = Failure::usage("slim replaces files; name sessions, or folders of sessions");
            return Err(failure.try_next(Advice::command(words)).into());
        }
        let from = find_format(&reading.from)?;
        let input =
            InputSettings { paths, from, lines: reading.lines, other_files: Vec::new(), large: LargeFiles::SLIMMED };
        let policy = CompactionPolicy::keeping(Size::Messages(20));
        let volume = volume(&general);
        Ok(SlimSettings { input, policy, dry_run, older, archives: !no_archive, force, volume })
    }
}
