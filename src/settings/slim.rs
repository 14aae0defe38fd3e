//! The settings of `slim`.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;

use crate::cli::retry::Typed;
use crate::cli::slim::SlimArguments;
use crate::compact::CompactionPolicy;
use crate::diagnostic::Advice;
use crate::exit::Failure;
use crate::files::blocks::BlockSizes;
use crate::plan::size::Size;
use crate::settings::keys::find_format;
use crate::settings::{InputSettings, Volume, volume};

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
    /// Whether to replace also a file that another process has open for writing.
    pub(crate) force: bool,
    /// Which files are read by their lines.
    pub(crate) by_lines: LargeFiles,
    /// How much to report.
    pub(crate) volume: Volume,
}

/// Which files are too large to be held in memory, and how much of them is held.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LargeFiles {
    /// The length from which on a file is large, in bytes.
    pub(crate) from: u64,
    pub(crate) sizes: BlockSizes,
}

impl LargeFiles {
    /// Of a file that is read whole, more goes. Some ten blocks are in memory at once, and each may be as long as the
    /// longest line.
    pub(crate) const USUAL: LargeFiles =
        LargeFiles { from: 64 << 20, sizes: BlockSizes { block: 4 << 20, longest_line: 8 << 20 } };
}

impl SlimSettings {
    /// # Errors
    /// No path is named, or the format is not known.
    pub(super) fn new(arguments: SlimArguments, typed: Typed) -> Result<Self> {
        let SlimArguments { paths, dry_run, older, no_archive, force, reading, general } = arguments;
        let is_stdin = |path: &PathBuf| path.as_os_str() == "-";
        if paths.is_empty() || paths.iter().any(is_stdin) {
            let mut words = typed.words.get(1..).unwrap_or_default().to_vec();
            words.retain(|word| word != "-");
            words.push(".".to_owned());
            let failure = Failure::usage("slim replaces files; name sessions, or folders of sessions");
            return Err(failure.try_next(Advice::command(words)).into());
        }
        let input =
            InputSettings { paths, from: find_format(&reading.from)?, lines: reading.lines, other_files: Vec::new() };
        let policy = CompactionPolicy::keeping(Size::Messages(20));
        let volume = volume(&general);
        let (archives, by_lines) = (!no_archive, LargeFiles::USUAL);
        Ok(SlimSettings { input, policy, dry_run, older, archives, force, by_lines, volume })
    }
}
