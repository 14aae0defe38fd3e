//! The flags that read archives: what was cut is put back, searched and shown.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use regex::Regex;

use crate::cli::groups::{BESIDE_LOOKUP, BESIDE_RESTORE, COMMAND_LINE};
use crate::cli::help::ARCHIVE;
use crate::cli::places::Places;
use crate::cli::values::{number, search_pattern};

#[derive(Debug, Args)]
pub(crate) struct ArchiveReading {
    /// Put back what such an archive (`.jsonl`) holds, byte for byte, also where the transcript grew since. tcompact
    /// refuses if nothing matches.
    #[arg(long, value_name = "ARCHIVE", value_hint = ValueHint::FilePath, groups = [COMMAND_LINE, BESIDE_RESTORE], help_heading = ARCHIVE)]
    pub(crate) restore: Option<PathBuf>,

    /// With --restore: put back at most N rounds of compaction, the last one first.
    #[arg(
        long, value_name = "N", value_parser = number::<1, 1_000_000>, allow_negative_numbers = true, requires = "restore",
        groups = [COMMAND_LINE, BESIDE_RESTORE], help_heading = ARCHIVE
    )]
    pub(crate) rounds: Option<u32>,

    /// Search archives and transcripts for a regular expression (`(?i)` ignores case), the newest message of each
    /// file first. Exit with 3 if nothing is found. --redact masks what is shown.
    #[arg(
        long, value_name = "PATTERN", value_parser = search_pattern, allow_hyphen_values = true,
        groups = [COMMAND_LINE], help_heading = ARCHIVE
    )]
    pub(crate) search: Option<Regex>,

    /// With --search: the most messages to show.
    #[arg(
        long, value_name = "N", default_value_t = 20, value_parser = number::<1, 1_000_000>, allow_negative_numbers = true,
        requires = "search", conflicts_with = "show", groups = [COMMAND_LINE, BESIDE_LOOKUP], help_heading = ARCHIVE
    )]
    pub(crate) limit: u32,

    /// Show messages of a transcript, or of an archive (PATH, or --archive FILE): INDEX, ROUND:INDEX as summaries
    /// write it, or #RECORD:INDEX by the line of the archive. A..B is without B. --redact masks what is shown.
    #[arg(
        long, value_name = "INDEX[..INDEX][,…]", conflicts_with = "count", groups = [COMMAND_LINE], help_heading = ARCHIVE
    )]
    pub(crate) show: Option<Places>,

    /// With --show: the most tokens of each message.
    #[arg(
        long, value_name = "N", default_value_t = 2000, value_parser = number::<1, { u32::MAX }>, allow_negative_numbers = true,
        requires = "show", conflicts_with = "search", groups = [COMMAND_LINE, BESIDE_LOOKUP], help_heading = ARCHIVE
    )]
    pub(crate) limit_tokens: u32,
}
