//! The flags that read archives: what was cut is put back, searched and shown.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use regex::Regex;

use crate::cli::groups::{BESIDE_LOOKUP, BESIDE_RESTORE, COMMAND_LINE};
use crate::cli::places::Places;
use crate::cli::values::{number, search_pattern};

#[derive(Debug, Args)]
pub(crate) struct ArchiveReading {
    /// Restore the transcript from such an archive (`.jsonl`), byte for byte: as many rounds of compaction as it holds,
    /// also where lines were appended between them. In a file of one conversation a line, lines that the archive does
    /// not know stay unchanged. A JSON document that grew gets its messages back without a proof by hash. tcompact
    /// refuses if nothing matches.
    #[arg(long, value_name = "ARCHIVE", value_hint = ValueHint::FilePath, groups = [COMMAND_LINE, BESIDE_RESTORE], help_heading = "Output")]
    pub(crate) restore: Option<PathBuf>,

    /// With --restore: put back at most N rounds of compaction, the last one first.
    #[arg(
        long, value_name = "N", value_parser = number::<1, 1_000_000>, allow_negative_numbers = true, requires = "restore",
        groups = [COMMAND_LINE, BESIDE_RESTORE], help_heading = "Output"
    )]
    pub(crate) rounds: Option<u32>,

    /// Search archives and transcripts for messages whose text holds a regular expression (`(?i)` ignores case): the place
    /// that --show takes, role, tool, and the matching lines with one around. The newest of each file first; 3 is the exit code where
    /// nothing is found. Archives hold secrets as they were; --redact masks what is shown.
    #[arg(
        long, value_name = "PATTERN", value_parser = search_pattern, allow_hyphen_values = true,
        groups = [COMMAND_LINE], help_heading = "Lookup"
    )]
    pub(crate) search: Option<Regex>,

    /// With --search: the most messages to show.
    #[arg(
        long, value_name = "N", default_value_t = 20, value_parser = number::<1, 1_000_000>, allow_negative_numbers = true,
        requires = "search", conflicts_with = "show", groups = [COMMAND_LINE, BESIDE_LOOKUP], help_heading = "Lookup"
    )]
    pub(crate) limit: u32,

    /// Show messages of a transcript by their index, or what was cut from an archive (PATH, or --archive FILE): ROUND:INDEX
    /// as digests write it, INDEX in the last round, or #RECORD:INDEX by the line of the archive. A..B is a range without
    /// B. With --json, the messages as they were. Archives hold secrets as they were; --redact masks what is shown.
    #[arg(
        long, value_name = "INDEX[..INDEX][,…]", conflicts_with = "count", groups = [COMMAND_LINE], help_heading = "Lookup"
    )]
    pub(crate) show: Option<Places>,

    /// With --show: the most tokens of each message.
    #[arg(
        long, value_name = "N", default_value_t = 2000, value_parser = number::<1, { u32::MAX }>, allow_negative_numbers = true,
        requires = "show", conflicts_with = "search", groups = [COMMAND_LINE, BESIDE_LOOKUP], help_heading = "Lookup"
    )]
    pub(crate) limit_tokens: u32,
}
