//! The commands: the first word of a command line, or none for compaction. Each has only the flags that mean something
//! there, and is a command of clap by itself, so no flag in front of its name is accepted and ignored.
//!
//! One joined command exists for what shows all of them: help, completions and the manual page.

use std::ffi::OsStr;
use std::path::PathBuf;

use clap::{Args, Command, CommandFactory, Parser, ValueHint};
use regex::Regex;

use crate::cli::CompactArguments;
use crate::cli::help::{self, OUTPUT, RARE_COUNTS, READING};
use crate::cli::places::Places;
use crate::cli::search_pattern::search_pattern;
use crate::cli::shared::{CountingFlags, GeneralFlags, PlaceFlags, ReadingFlags, WorkFlags};
use crate::cli::slim::SlimArguments;
use crate::cli::values::{REDACTIONS, REPAIRS, Shell, Sort, THINKING, Table, named, number, seconds};
use crate::compact::Redaction;
use crate::rewrite::repair::Repair;
use crate::rewrite::thinking::Thinking;

/// What the first word of a command line says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommandName {
    /// The first word is not a command.
    Compact,
    Count,
    Check,
    Repair,
    Redact,
    Search,
    Show,
    Restore,
    Slim,
    List,
    Completions,
    Man,
    Help,
}

impl CommandName {
    /// Those with a name, in the order of the help.
    pub(crate) const NAMED: [CommandName; 12] = [
        CommandName::Count,
        CommandName::Check,
        CommandName::Repair,
        CommandName::Redact,
        CommandName::Search,
        CommandName::Show,
        CommandName::Restore,
        CommandName::Slim,
        CommandName::List,
        CommandName::Completions,
        CommandName::Man,
        CommandName::Help,
    ];

    /// The word; empty for compaction.
    pub(crate) fn word(self) -> &'static str {
        match self {
            CommandName::Compact => "",
            CommandName::Count => "count",
            CommandName::Check => "check",
            CommandName::Repair => "repair",
            CommandName::Redact => "redact",
            CommandName::Search => "search",
            CommandName::Show => "show",
            CommandName::Restore => "restore",
            CommandName::Slim => "slim",
            CommandName::List => "list",
            CommandName::Completions => "completions",
            CommandName::Man => "man",
            CommandName::Help => "help",
        }
    }

    pub(crate) fn of_word(word: &OsStr) -> Option<CommandName> {
        CommandName::NAMED.into_iter().find(|name| word == name.word())
    }

    /// The command that the words behind the name of the program have.
    pub(crate) fn of_words<W: AsRef<OsStr>>(words: &[W]) -> CommandName {
        words.first().and_then(|word| CommandName::of_word(word.as_ref())).unwrap_or(CommandName::Compact)
    }

    /// The command of clap that parses the words behind the name.
    pub(crate) fn command(self) -> Command {
        let command = match self {
            // The version of this build stays out of the derived command, which files are generated from.
            CommandName::Compact => return CompactArguments::command().long_version(help::LONG_VERSION.as_str()),
            CommandName::Count => CountArguments::command(),
            CommandName::Check => CheckArguments::command(),
            CommandName::Repair => RepairArguments::command(),
            CommandName::Redact => RedactArguments::command(),
            CommandName::Search => SearchArguments::command(),
            CommandName::Show => ShowArguments::command(),
            CommandName::Restore => RestoreArguments::command(),
            CommandName::Slim => SlimArguments::command(),
            CommandName::List => ListArguments::command(),
            CommandName::Completions => CompletionsArguments::command(),
            CommandName::Man => ManArguments::command(),
            CommandName::Help => HelpArguments::command(),
        };
        let word = self.word();
        let command = command.name(word).bin_name(format!("tcompact {word}")).max_term_width(help::WIDTH);
        // What is rare in a compaction need not be so here.
        command.mut_args(|arg| {
            let is_for_reading = arg.get_help_heading() == Some(RARE_COUNTS) || arg.get_id() == "latest";
            if is_for_reading { arg.help_heading(READING) } else { arg }
        })
    }

    /// Whether a config file and the environment have settings for it.
    pub(crate) fn has_settings(self) -> bool {
        !matches!(self, CommandName::List | CommandName::Completions | CommandName::Man | CommandName::Help)
    }
}

/// Flags that older versions had for what commands do, and these. Of several, the first counts: `--count` was also a
/// flag of a search.
pub(super) const FORMER_FLAGS: [(&str, CommandName); 7] = [
    ("--search", CommandName::Search),
    ("--show", CommandName::Show),
    ("--restore", CommandName::Restore),
    ("--list", CommandName::List),
    ("--generate", CommandName::Completions),
    ("--check", CommandName::Check),
    ("--count", CommandName::Count),
];

/// Compaction with all commands below it.
pub(crate) fn joined() -> Command {
    let usage = "tcompact [OPTIONS] [PATH]...\n       tcompact COMMAND ...";
    let joined = CompactArguments::command().override_usage(usage).disable_help_subcommand(true);
    CommandName::NAMED.into_iter().fold(joined, |joined, name| joined.subcommand(name.command()))
}

/// The long help of compaction, with all commands.
pub(crate) fn long_help() -> String {
    help::with_introductions(&joined().render_long_help().ansi().to_string())
}

/// Print the tokens of each conversation.
#[derive(Debug, Parser)]
#[command(after_help = "Examples:\n  tcompact count chat.json\n  tcompact count --sort size logs/")]
pub(crate) struct CountArguments {
    /// A transcript, or a folder to search for transcripts; `-` or nothing is standard input.
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) paths: Vec<PathBuf>,

    /// Print the largest conversation first.
    #[arg(long, value_enum, value_name = "BY")]
    pub(crate) sort: Option<Sort>,

    /// Print JSON: the tokens by role, tool, thinking and media, too.
    #[arg(long)]
    pub(crate) json: bool,

    /// Draw the tokens by role, tool, thinking and media on standard error.
    #[arg(long)]
    pub(crate) explain: bool,

    /// Count as this model does: its tokenizer and its context window are looked up. It is sent nothing.
    #[arg(long = "for", value_name = "MODEL")]
    pub(crate) for_model: Option<String>,

    #[command(flatten)]
    pub(crate) counting: CountingFlags,

    #[command(flatten)]
    pub(crate) reading: ReadingFlags,

    /// The most seconds that --counter-cmd may take for a text.
    #[arg(
        long, value_name = "SECONDS", default_value = "120", value_parser = seconds, allow_negative_numbers = true
    )]
    pub(crate) timeout: f64,

    #[command(flatten)]
    pub(crate) masking: MaskingFlags,

    #[command(flatten)]
    pub(crate) work: WorkFlags,

    /// Count as a known system does (`tcompact list presets`).
    #[arg(long, value_name = "NAME")]
    pub(crate) preset: Option<String>,

    #[command(flatten)]
    pub(crate) general: GeneralFlags,
}

/// Check the provider's rules for calls, results, turns and texts.
///
/// Prints each violation with the index of its message, and exits with 6 if there is any.
#[derive(Debug, Parser)]
#[command(after_help = "Examples:\n  tcompact check chat.json\n  tcompact check logs/")]
pub(crate) struct CheckArguments {
    /// A transcript, or a folder to search for transcripts; `-` or nothing is standard input.
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) paths: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) reader: ReaderFlags,

    #[command(flatten)]
    pub(crate) reading: ReadingFlags,

    #[command(flatten)]
    pub(crate) masking: MaskingFlags,

    #[command(flatten)]
    pub(crate) work: WorkFlags,

    #[command(flatten)]
    pub(crate) general: GeneralFlags,
}

/// What a provider would refuse depends on the model that reads the transcript.
#[derive(Debug, Args)]
pub(crate) struct ReaderFlags {
    /// The model that reads the transcript: some want their reasoning back.
    #[arg(long = "for", value_name = "MODEL")]
    pub(crate) for_model: Option<String>,

    /// What becomes of Claude's signed thinking behind a compaction, which the newest models refuse; with `keep`, it is
    /// not a violation.
    #[arg(long, value_parser = named(&THINKING), value_name = "WHAT", default_value = "auto")]
    pub(crate) thinking: Thinking,
}

/// Repair what `check` finds. Nothing is cut away.
#[derive(Debug, Parser)]
#[command(
    after_help = "Examples:\n  tcompact repair drop broken.json > repaired.json\n  tcompact repair synthesize -i=.bak logs/"
)]
pub(crate) struct RepairArguments {
    /// What to do with calls without a result.
    #[arg(value_parser = named(&REPAIRS), value_name = "HOW")]
    pub(crate) how: Repair,

    #[command(flatten)]
    pub(crate) reader: ReaderFlags,

    /// With =all, also mask secrets in everything that is written.
    #[arg(
        long, value_parser = named(&REDACTIONS), value_name = "WHERE", num_args = 0..=1, require_equals = true, default_missing_value = "sent",
        hide_possible_values = true
    )]
    pub(crate) redact: Option<Redaction>,

    #[command(flatten)]
    pub(crate) mending: MendingFlags,
}

/// Mask secrets in everything: messages, calls, results and all else that is written. Nothing is cut away.
///
/// `tcompact list secrets` says what is recognized. What no pattern knows stays, so look at the result before you share
/// it.
#[derive(Debug, Parser)]
#[command(after_help = "Examples:\n  tcompact redact chat.json > masked.json\n  tcompact redact -O masked/ logs/")]
pub(crate) struct RedactArguments {
    #[command(flatten)]
    pub(crate) mending: MendingFlags,
}

/// What the commands have that write whole conversations.
#[derive(Debug, Args)]
pub(crate) struct MendingFlags {
    /// A transcript, or a folder to search for transcripts; `-` or nothing is standard input.
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) paths: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) place: PlaceFlags,

    /// Write the results of several files or of folders to the same tree under DIR; files that need nothing are
    /// copied.
    #[arg(
        short = 'O', long, value_name = "DIR", value_hint = ValueHint::DirPath,
        conflicts_with_all = ["output", "in_place"], help_heading = OUTPUT
    )]
    pub(crate) output_dir: Option<PathBuf>,

    /// Append what stood there before to FILE (`.jsonl`, `.jsonl.gz` or `.jsonl.zst`), from which the command restore puts
    /// it back.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) archive: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) reading: ReadingFlags,

    #[command(flatten)]
    pub(crate) work: WorkFlags,

    #[command(flatten)]
    pub(crate) general: GeneralFlags,
}

/// Search transcripts and archives for a regular expression.
///
/// Prints each message that it matches, the newest message of each file first. Of a pattern with alternatives like
/// `cat|dog|cow`, the messages that match most of them come first. Exits with 3 if nothing is found. The place in
/// brackets is what `tcompact show` takes.
#[derive(Debug, Parser)]
#[command(after_help = "Examples:\n  tcompact search timeout removed.jsonl\n  tcompact search 'lamps?' logs/\n  \
                  tcompact search -- --verbose chat.json")]
pub(crate) struct SearchArguments {
    /// A regular expression; without capital letters, it ignores case. One that begins with `-` follows `--`.
    #[arg(value_name = "PATTERN", value_parser = search_pattern)]
    pub(crate) pattern: Regex,

    /// Transcripts, archives, and folders to search; `-` or nothing is standard input.
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) paths: Vec<PathBuf>,

    /// The most messages to show.
    #[arg(
        long, value_name = "N", default_value_t = 20, value_parser = number::<1, 1_000_000>, allow_negative_numbers = true
    )]
    pub(crate) limit: u32,

    /// Tell capital letters from small ones also where the pattern has none.
    #[arg(short = 's', long)]
    pub(crate) case_sensitive: bool,

    /// Only print how many messages match.
    #[arg(long)]
    pub(crate) count: bool,

    /// Print JSON, an object a line.
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) lookup: LookupFlags,
}

/// The most tokens of a message that `show` prints, unless the user says otherwise.
pub(crate) const DEFAULT_LIMIT_TOKENS: u32 = 4_000;

/// Show messages of a transcript, or of an archive.
#[derive(Debug, Parser)]
#[command(after_help = "Examples:\n  tcompact show 12,last chat.json\n  tcompact show 1:2,1:4-6 removed.jsonl")]
pub(crate) struct ShowArguments {
    /// INDEX or `last`, ROUND:INDEX as summaries write it, ID:INDEX as notes write it, or #RECORD:INDEX by the line of the
    /// archive; A-B for all from A to B; several with commas.
    #[arg(value_name = "INDEXES")]
    pub(crate) places: Places,

    /// A transcript or an archive; `-` or nothing is standard input.
    #[arg(value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub(crate) path: Option<PathBuf>,

    /// The most tokens of each message.
    #[arg(
        long, value_name = "N", default_value_t = DEFAULT_LIMIT_TOKENS, value_parser = number::<1, { u32::MAX }>,
        allow_negative_numbers = true
    )]
    pub(crate) limit_tokens: u32,

    /// Print JSON: the messages as they were.
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) lookup: LookupFlags,
}

/// What the commands have that look messages up.
#[derive(Debug, Args)]
pub(crate) struct LookupFlags {
    /// Read this archive first.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) archive: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) masking: MaskingFlags,

    #[command(flatten)]
    pub(crate) reading: ReadingFlags,

    #[command(flatten)]
    pub(crate) general: GeneralFlags,
}

/// What the commands have that only print.
#[derive(Debug, Args)]
pub(crate) struct MaskingFlags {
    /// Mask secrets in what is shown.
    #[arg(
        long, value_parser = named(&REDACTIONS), value_name = "WHERE", num_args = 0..=1, require_equals = true, default_missing_value = "sent",
        hide_possible_values = true
    )]
    pub(crate) redact: Option<Redaction>,
}

/// Put back what an archive holds, byte for byte, also where the transcript grew since.
///
/// tcompact refuses if nothing matches.
#[derive(Debug, Parser)]
#[command(
    after_help = "Examples:\n  tcompact restore removed.jsonl short.json > original.json\n  tcompact restore -i removed.jsonl short.json"
)]
pub struct RestoreArguments {
    /// The archive, a file whose name ends in `.jsonl`, `.jsonl.gz` or `.jsonl.zst`.
    #[arg(value_name = "ARCHIVE", value_hint = ValueHint::FilePath)]
    pub(crate) archive: PathBuf,

    /// The compacted transcript; `-` or nothing is standard input. With `--in-place` also a folder: those of its files
    /// that the archive is of are put back.
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) path: Option<PathBuf>,

    /// Put back at most N rounds of compaction, the last one first.
    #[arg(
        long, value_name = "N", value_parser = number::<1, 1_000_000>, allow_negative_numbers = true
    )]
    pub(crate) rounds: Option<u32>,

    #[command(flatten)]
    pub(crate) place: PlaceFlags,

    #[command(flatten)]
    pub(crate) general: GeneralFlags,
}

/// Print a table: formats, presets, providers, models, counters, prune rules or secrets.
#[derive(Debug, Parser)]
pub(crate) struct ListArguments {
    #[arg(value_enum, value_name = "TABLE")]
    pub(crate) table: Table,
}

/// Print the completion script of a shell.
#[derive(Debug, Parser)]
#[command(after_help = "Examples:\n  mkdir -p ~/.local/share/bash-completion/completions\n  \
                  tcompact completions bash > ~/.local/share/bash-completion/completions/tcompact\n  \
                  tcompact completions fish > ~/.config/fish/completions/tcompact.fish\n  \
                  tcompact completions zsh > ~/.zfunc/_tcompact   # a folder of $fpath")]
pub(crate) struct CompletionsArguments {
    #[arg(value_enum, value_name = "SHELL")]
    pub(crate) shell: Shell,
}

/// Print the manual page.
#[derive(Debug, Parser)]
#[command(after_help = "Examples:\n  tcompact man | man -l -")]
pub(crate) struct ManArguments {}

/// Print help, for a command or for all flags of compaction.
#[derive(Debug, Parser)]
pub(crate) struct HelpArguments {
    /// The command.
    #[arg(value_name = "COMMAND")]
    pub(crate) command: Option<String>,
}

#[cfg(test)]
mod tests;
