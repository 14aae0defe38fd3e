//! The flags that several commands share. They mean the same in each.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{ArgAction, Args, ValueHint};

use crate::cli::NO_SUFFIX;
use crate::cli::help::{MANY, OUTPUT, RARE_COUNTS, SETTINGS};
use crate::cli::values::{LINES, When, named, number, shell_command, whole_or_none};
use crate::plan::size::whole;
use crate::tokens::Counter;
use crate::transcript::formats::agents;
use crate::transcript::framing::Lines;

/// How an input is read.
#[derive(Debug, Clone, Args)]
pub(crate) struct ReadingFlags {
    /// The format of the transcript, one of `tcompact list formats`; `auto` looks at all messages.
    #[arg(long, value_name = "FORMAT", default_value = "auto", help_heading = RARE_COUNTS)]
    pub(crate) from: String,

    /// Read the newest session of an agent that no other process has open, in place of a PATH.
    #[arg(long, value_name = "AGENT", value_parser = PossibleValuesParser::new(agents()), help_heading = MANY)]
    pub(crate) latest: Option<String>,

    /// How to read a JSONL file: one message a line, or one conversation a line. By default, the first line decides.
    #[arg(long, value_parser = named(&LINES), value_name = "WHAT", help_heading = RARE_COUNTS)]
    pub(crate) lines: Option<Lines>,
}

/// How tokens are counted.
#[derive(Debug, Clone, Args)]
pub(crate) struct CountingFlags {
    /// The context window in tokens, in place of the one of --for.
    #[arg(long, value_name = "N", value_parser = whole, allow_negative_numbers = true, help_heading = RARE_COUNTS)]
    pub(crate) context_window: Option<u64>,

    /// How to count tokens: `estimate`, `approx`, `approx:CHARS`, `o200k_base`, `cl100k_base`, `bytes:N`
    /// or `recorded` [default: the tokenizer of --for, else estimate for the model that the session names].
    #[arg(long, value_name = "COUNTER", help_heading = RARE_COUNTS)]
    pub(crate) counter: Option<Counter>,

    /// Run CMD with `sh -c` (on Windows `cmd /C`) to count: it starts once, reads each text as a JSON string on a line,
    /// and writes the number on a line.
    #[arg(
        long, value_name = "CMD", value_parser = shell_command, conflicts_with = "counter",
        value_hint = ValueHint::CommandString, help_heading = RARE_COUNTS
    )]
    pub(crate) counter_cmd: Option<String>,

    /// Tokens of every request beside its messages, such as tools and the system prompt [default: those of the
    /// transcript].
    #[arg(
        long, value_name = "N", value_parser = whole_or_none, allow_negative_numbers = true,
        help_heading = RARE_COUNTS
    )]
    pub(crate) overhead_tokens: Option<u64>,
}

/// Where the result of one file goes.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct PlaceFlags {
    /// Write to FILE instead of standard output, whole or not at all.
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = OUTPUT)]
    pub(crate) output: Option<PathBuf>,

    /// Replace each file, whole or not at all; with =SUFFIX, first copy it to its name with SUFFIX at the end.
    #[arg(
        short, long, value_name = "SUFFIX", num_args = 0..=1, require_equals = true,
        default_missing_value = NO_SUFFIX, conflicts_with = "output", help_heading = OUTPUT
    )]
    pub(crate) in_place: Option<String>,

    /// With --in-place: replace also a file that another process has open for writing, or in which another session begins.
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) force: bool,
}

/// How many conversations are worked on at once, and what shows it.
#[derive(Debug, Clone, Args)]
pub(crate) struct WorkFlags {
    /// How many conversations to process at once [default: one for each core; 8 with a model or a command].
    #[arg(
        short, long, value_name = "N", value_parser = number::<1, 1024>, allow_negative_numbers = true,
        help_heading = MANY
    )]
    pub(crate) jobs: Option<u32>,

    /// When to show progress on standard error, if it is a terminal: `auto` (several files, or a model writes),
    /// `always`, `never`.
    #[arg(
        long, value_enum, hide_possible_values = true, value_name = "WHEN", default_value = "auto",
        help_heading = MANY
    )]
    pub(crate) progress: When,
}

/// Where settings come from, and what is reported.
#[derive(Debug, Clone, Args)]
pub(crate) struct GeneralFlags {
    /// Read settings from a TOML or YAML file, with the names of the flags as keys, or from a DeerFlow config.yaml
    /// [default: tcompact/config.toml in $XDG_CONFIG_HOME or ~/.config, if it exists].
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = SETTINGS)]
    pub(crate) config: Option<PathBuf>,

    /// Report only errors.
    #[arg(short, long, conflicts_with = "verbose", help_heading = SETTINGS)]
    pub(crate) quiet: bool,

    /// Report decisions, and settings that differ from the defaults, on standard error.
    #[arg(short, long, action = ArgAction::SetTrue, overrides_with = "verbose", help_heading = SETTINGS)]
    pub(crate) verbose: bool,

    /// When to color standard error and --diff: `auto` (on a terminal, unless `NO_COLOR` is set), `always`, `never`.
    #[arg(
        long, value_enum, hide_possible_values = true, value_name = "WHEN", default_value = "auto",
        help_heading = SETTINGS
    )]
    pub(crate) color: When,
}
