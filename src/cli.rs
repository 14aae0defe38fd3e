//! The flags and their help, without logic: [`crate::settings`] decides what they mean together.
//!
//! Completions and the manual page in `completions/` are generated from this file; a test reports stale ones.

mod archives;
mod attempt;
mod brief;
pub(crate) mod correction;
pub(crate) mod errors;
pub(crate) mod groups;
mod help;
pub(crate) mod places;
mod retry;
mod values;

use std::path::PathBuf;

use clap::{ArgAction, ArgGroup, Command, CommandFactory, Id, Parser, ValueHint};

use crate::compact::{Accept, ArchiveNote, Emit, OnError, Redaction};
use crate::plan::pairs::Pairs;
use crate::plan::pins::Pin;
use crate::plan::size::{self, Size, whole};
use crate::prune::Choice;
use crate::rewrite::repair::Repair;
use crate::rewrite::thinking::Thinking;
use crate::tokens::Counter;
use crate::transcript::formats::SummaryRole;
use crate::transcript::framing::Lines;

use archives::ArchiveReading;
pub(crate) use brief::BRIEF;
pub(crate) use groups::{ASIDE, COMMAND_LINE, is_in};
use groups::{BESIDE_LOOKUP, BESIDE_RESTORE};
pub(crate) use help::asks_briefly;
pub(crate) use retry::{Typed, value_at};
pub(crate) use values::is_variable_name;
pub(crate) use values::{Clause, Facts, Generated, RequestJson, Sort, Table, TrimTokens, When};
use values::{
    archive_note, number, results_rule, seconds, shell_command, size_in_tokens, summary_size, tool_name, whole_or_none,
};

/// The value of `--in-place` without a SUFFIX. No word can hold it, so an empty SUFFIX is not taken for a missing one.
pub(crate) const NO_SUFFIX: &str = "\0";

/// Returns the command that parses a command line.
pub(crate) fn command() -> Command {
    let command = CliArguments::command();
    // Only a built command knows its groups.
    let mut built = command.clone();
    built.build();
    let others = |verb: &str, beside: &str| -> Vec<Id> {
        let others = built.get_arguments().filter(|arg| arg.get_id() != verb && !is_in(&built, beside, arg));
        others.map(|arg| arg.get_id().clone()).collect()
    };
    // The version of this build stays out of the derived command, which files are generated from.
    let command = command.long_version(help::LONG_VERSION.as_str());
    [("restore", BESIDE_RESTORE), ("search", BESIDE_LOOKUP), ("show", BESIDE_LOOKUP)]
        .into_iter()
        .fold(command, |command, (verb, beside)| {
            command.mut_arg(verb, |arg| arg.conflicts_with_all(others(verb, beside)))
        })
}

/// Compacts an LLM transcript: the recent messages stay byte for byte, what came before becomes one summary message,
/// and no tool call is split from its result.
///
/// Reads conversations as JSON or JSONL from each PATH or standard input and writes them in their own format: to standard
/// output, to a directory (--output-dir), or in place (--in-place).
#[derive(Debug, Parser)]
#[command(
    name = "tcompact", version, after_long_help = help::after_help(), max_term_width = 100,
    group = ArgGroup::new(ASIDE).multiple(true), group = ArgGroup::new(COMMAND_LINE).multiple(true),
    group = ArgGroup::new(BESIDE_RESTORE).multiple(true), group = ArgGroup::new(BESIDE_LOOKUP).multiple(true)
)]
pub(crate) struct CliArguments {
    /// A transcript, or a directory to search for transcripts; `-` or nothing is standard input.
    #[arg(value_name = "PATH", groups = [COMMAND_LINE, BESIDE_RESTORE, BESIDE_LOOKUP], value_hint = ValueHint::AnyPath)]
    pub(crate) paths: Vec<PathBuf>,

    /// The format of the transcript, one of `--list formats`; `auto` looks at all messages.
    #[arg(long, value_name = "FORMAT", default_value = "auto", group = BESIDE_LOOKUP, help_heading = "Input")]
    pub(crate) from: String,

    /// How to read a JSONL file: one message a line, or one conversation a line. By default, the first line decides.
    /// tcompact writes conversations in order, each as soon as it is done.
    #[arg(long, value_enum, value_name = "WHAT", group = BESIDE_LOOKUP, help_heading = "Input")]
    pub(crate) lines: Option<Lines>,

    /// Compact when every SIZE is reached (messages:N, tokens:N, fraction:F, turns:N; k and m as in tokens:170k).
    /// Repeat for "or". Always, if not given.
    #[arg(long = "trigger", value_name = "SIZE[,SIZE…]", allow_negative_numbers = true, help_heading = "Rules")]
    pub(crate) triggers: Vec<Clause>,

    /// How much of the end to keep unchanged; `none` summarizes everything. `from:INDEX` keeps that message and all behind
    /// it, as --pairs moves the cut (only on the command line). `since:TIME` keeps the first message at or after a time
    /// and all behind it: RFC 3339, or `1d`, `6h` or `30m` before the last message.
    #[arg(
        long,
        value_name = "SIZE|none|from:INDEX|since:TIME",
        default_value = "messages:20",
        value_parser = size::keep,
        allow_negative_numbers = true,
        help_heading = "Rules"
    )]
    pub(crate) keep: Size,

    /// Messages before the cut to keep too, in front of the summary: `system`, `user[:SIZE]` (what the user said, the
    /// newest up to SIZE, as in user:tokens:20k), `first:N` or `match:REGEX`. Repeatable; your rules add to `system`, and
    /// `none` clears those before it.
    #[arg(long = "pin", value_name = "RULE", default_value = "system", help_heading = "Rules")]
    pub(crate) pins: Vec<Pin>,

    /// How to move a cut that would split a tool call from its result: `strict`, to where it splits none; `langchain`, as
    /// LangChain does; `window:N`, looking only at N messages before it.
    #[arg(long, value_name = "RULE", default_value = "strict", help_heading = "Rules")]
    pub(crate) pairs: Pairs,

    /// The model that will read the result: tcompact looks up its context window, tokenizer and price (`--list models`).
    /// A name alone is the model as its maker serves it; PROVIDER:MODEL is taken as it is.
    #[arg(long = "for", value_name = "MODEL", help_heading = "Rules")]
    pub(crate) for_model: Option<String>,

    /// The context window in tokens, over any table.
    #[arg(long, value_name = "N", value_parser = whole, allow_negative_numbers = true, help_heading = "Rules")]
    pub(crate) context_window: Option<u64>,

    /// How to count tokens: `approx`, `approx:CHARS`, `o200k_base`, `cl100k_base` or `bytes:N`
    /// [default: the tokenizer of --for, else approx].
    #[arg(long, value_name = "COUNTER", help_heading = "Rules")]
    pub(crate) counter: Option<Counter>,

    /// Tokens of every request that are not in the transcript (tools, system prompt).
    #[arg(
        long, value_name = "N", default_value = "0", value_parser = whole_or_none, allow_negative_numbers = true,
        help_heading = "Rules"
    )]
    pub(crate) overhead_tokens: u64,

    /// Use the rules of a known system (`--list presets`); other flags override them.
    #[arg(long, value_name = "NAME", help_heading = "Rules")]
    pub(crate) preset: Option<String>,

    /// Read settings from a file: TOML, or YAML if its name ends in .yaml or .yml, with the names of the flags as keys;
    /// or a DeerFlow config.yaml [default: tcompact/config.toml in $XDG_CONFIG_HOME or ~/.config, if it exists].
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, group = COMMAND_LINE, help_heading = "Rules")]
    pub(crate) config: Option<PathBuf>,

    /// What to remove before summarizing, from the messages before the kept part: `results[:SIZE]`, `reads`,
    /// `cap[:N]`, `thinking`, `media[:SIZE]`, `arguments[:N]`, `all` or `none` (`--list prune`). Repeatable
    /// [default: none; all with --fit].
    #[arg(long = "prune", value_name = "RULE", help_heading = "Rules")]
    pub(crate) prune: Vec<Choice>,

    /// Tools whose calls and results --prune does not change.
    #[arg(long, value_name = "NAME[,NAME…]", value_delimiter = ',', value_parser = tool_name, help_heading = "Rules")]
    pub(crate) prune_except: Vec<String>,

    /// The largest size of the result (tokens:N, fraction:F). tcompact prunes as much as it takes, oldest and cheapest
    /// first, and summarizes if that is not enough. Without --keep, the kept end takes at most half of it [default:
    /// fraction:0.5, and --trigger fraction:0.85, if the window is known and you give none of --keep, --fit and
    /// --trigger].
    #[arg(long, value_name = "SIZE", value_parser = size_in_tokens, allow_negative_numbers = true, help_heading = "Rules")]
    pub(crate) fit: Option<Size>,

    /// Short for --prune results:SIZE.
    #[arg(long, value_name = "SIZE", value_parser = results_rule, allow_negative_numbers = true, help_heading = "Rules")]
    pub(crate) clear_tool_results: Option<Choice>,

    /// Short for --prune arguments:N.
    #[arg(long, value_name = "N", value_parser = whole, allow_negative_numbers = true, help_heading = "Rules")]
    pub(crate) truncate_args: Option<u64>,

    /// What to do with Claude's signed thinking in the kept messages when the history before it changes, since the
    /// newest models refuse it then. `auto` removes all of it if --for or the transcript names such a model.
    #[arg(long, value_enum, value_name = "WHAT", default_value = "auto", help_heading = "Rules")]
    pub(crate) thinking: Thinking,

    /// The model that writes the summary: `extractive`, the embedded summarizer, which needs no network and quotes the
    /// conversation without understanding it; PROVIDER:MODEL with a provider of `--list providers`; the name of a model
    /// alone, for the API of its maker; or `none`, so that only --prune makes the transcript smaller
    /// [default: extractive].
    #[arg(short, long, value_name = "PROVIDER:MODEL", help_heading = "Summaries")]
    pub(crate) model: Option<String>,

    /// The address of the provider's API, including its version [default: the provider's own].
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url, help_heading = "Summaries")]
    pub(crate) base_url: Option<String>,

    /// The environment variable that holds the key [default: the provider's own].
    #[arg(long, value_name = "NAME", group = ASIDE, help_heading = "Summaries")]
    pub(crate) api_key_env: Option<String>,

    /// Apply this JSON merge patch (RFC 7396; `null` removes a member) to the body of each request, for parameters that
    /// tcompact does not know. tcompact refuses patches of its own parts (prompt, model) and keys.
    #[arg(long, value_name = "OBJECT", help_heading = "Summaries")]
    pub(crate) request_json: Option<RequestJson>,

    /// Run CMD with `sh -c` (on Windows `cmd /C`) for a summary: the prompt on its standard input, the summary from its
    /// standard output.
    #[arg(
        long, value_name = "CMD", value_parser = shell_command, conflicts_with = "model", value_hint = ValueHint::CommandString,
        help_heading = "Summaries"
    )]
    pub(crate) summarizer_cmd: Option<String>,

    /// A template for the prompt; {messages} is where the history goes, {{ and }} are braces
    /// [default: the built-in template].
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Summaries")]
    pub(crate) prompt_file: Option<PathBuf>,

    /// What the next work is about. A model is told; where --prompt-file is given, {focus} is where TEXT goes. The embedded
    /// summarizer puts calls and sentences of the assistant with words of TEXT before others.
    #[arg(long, value_name = "TEXT", help_heading = "Summaries")]
    pub(crate) focus: Option<String>,

    /// How many tokens of the end of the history to send to the summarizer; `none` sends everything.
    #[arg(
        long,
        value_name = "N|none",
        default_value = "none",
        allow_negative_numbers = true,
        help_heading = "Summaries"
    )]
    pub(crate) trim_tokens: TrimTokens,

    /// The size to request for the summary, in tokens. The embedded summarizer never exceeds it, also with --fit, and
    /// counts the words around the summary.
    #[arg(
        long, value_name = "N", default_value = "1024", value_parser = summary_size, allow_negative_numbers = true,
        help_heading = "Summaries"
    )]
    pub(crate) summary_tokens: u64,

    /// The role of the summary message, if the format's provider accepts it.
    #[arg(long, value_enum, value_name = "ROLE", default_value = "user", help_heading = "Summaries")]
    pub(crate) summary_role: SummaryRole,

    /// The beginning of the summary message; a blank line follows unless TEXT ends in white space. The default also
    /// puts the summary between <summary> and </summary>; another TEXT does not.
    #[arg(long, value_name = "TEXT", default_value = crate::plan::SUMMARY_PREFIX, help_heading = "Summaries")]
    pub(crate) summary_prefix: String,

    /// Append to a model's summary what it lacks of the user's last message, short rules of the user, failures and
    /// changed files, found without a model. N is the most tokens for that; `on` is a fifth of --summary-tokens, and at
    /// least 200. However short the summary is, the result stays smaller than what it replaces.
    #[arg(
        long,
        value_name = "on|off|N",
        default_value = "on",
        allow_negative_numbers = true,
        help_heading = "Summaries"
    )]
    pub(crate) ledger: Facts,

    /// Mask secrets (keys, tokens, passwords, private keys, authorization headers, .env lines) in the text for the
    /// summarizer and in the summary, each by a placeholder such as [github-token-1]; with all, in everything that is
    /// written. An archive holds what was there.
    #[arg(
        long, value_enum, value_name = "WHERE", num_args = 0..=1, require_equals = true, default_missing_value = "sent",
        group = BESIDE_LOOKUP, help_heading = "Summaries"
    )]
    pub(crate) redact: Option<Redaction>,

    /// The most seconds that a request or a command may take.
    #[arg(
        long, value_name = "SECONDS", default_value = "120", value_parser = seconds, allow_negative_numbers = true,
        group = ASIDE, help_heading = "Summaries"
    )]
    pub(crate) timeout: f64,

    /// How often to retry a request after a transport error or the status 408, 409, 429 or 5xx.
    #[arg(
        long, value_name = "N", default_value_t = 3, value_parser = number::<0, { u32::MAX }>, allow_negative_numbers = true,
        group = ASIDE, help_heading = "Summaries"
    )]
    pub(crate) retries: u32,

    /// The most requests a minute [default: no limit].
    #[arg(
        long, value_name = "N", value_parser = number::<1, { u32::MAX }>, allow_negative_numbers = true,
        group = ASIDE, help_heading = "Summaries"
    )]
    pub(crate) rate: Option<u32>,

    /// Keep summaries in DIR, so that none is requested twice: a file each, by the hash of the model, its address, the
    /// prompt and all parameters. With --dry-run and --model or --summarizer-cmd, tcompact also shows the summary, and
    /// requests it if DIR lacks it.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, group = ASIDE, help_heading = "Summaries")]
    pub(crate) cache: Option<PathBuf>,

    /// What to do when the summarizer fails for good.
    #[arg(long, value_enum, value_name = "WHAT", default_value = "fail", help_heading = "Summaries")]
    pub(crate) on_error: OnError,

    /// Which summaries to accept.
    #[arg(long, value_enum, value_name = "WHICH", default_value = "smaller", help_heading = "Summaries")]
    pub(crate) accept: Accept,

    /// Write to FILE instead of standard output, whole or not at all.
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, groups = [ASIDE, BESIDE_RESTORE], help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,

    /// Write the results of several files or of directories to the same tree under DIR; files that need nothing are copied.
    #[arg(
        short = 'O', long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "output",
        group = ASIDE, help_heading = "Output"
    )]
    pub(crate) output_dir: Option<PathBuf>,

    /// Replace each file, whole or not at all, keeping its mode and times; with SUFFIX, first copy it to its name with
    /// SUFFIX at the end.
    #[arg(
        short, long, value_name = "SUFFIX", num_args = 0..=1, require_equals = true,
        default_missing_value = NO_SUFFIX,
        conflicts_with_all = ["output", "output_dir"], group = ASIDE, help_heading = "Output"
    )]
    pub(crate) in_place: Option<String>,

    /// What to write: the transcript in its own format, the update of a LangGraph state (null if nothing changed), only
    /// the summary, or plain text to go on with elsewhere.
    #[arg(long, value_enum, value_name = "WHAT", default_value = "messages", help_heading = "Output")]
    pub(crate) emit: Emit,

    /// Append the removed messages to FILE, and name FILE in the summary (`.jsonl`: a record of the original messages,
    /// for --restore; `.md`: for reading).
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, group = BESIDE_LOOKUP, help_heading = "Output")]
    pub(crate) archive: Option<PathBuf>,

    /// What the summary says of the archive, in place of how to search it and show its messages: TEXT, in which `{archive}`
    /// is its path, or `off` for nothing.
    #[arg(long, value_name = "TEXT|off", value_parser = archive_note, help_heading = "Output")]
    pub(crate) archive_note: Option<ArchiveNote>,

    #[command(flatten)]
    pub(crate) reading: ArchiveReading,

    /// Write a JSON object a line to FILE for each conversation: the keys of --dry-run --json, its status, its tokens
    /// afterwards, the provider's count and cost, and after how many turns that pays.
    #[arg(
        long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "dry_run",
        group = ASIDE, help_heading = "Output"
    )]
    pub(crate) report: Option<PathBuf>,

    /// Write one page for a browser, which needs no network and no script: the conversation to click through, the
    /// summary, and tokens and money before and after. Several conversations get a table, and a drawing of those that
    /// shrink most.
    #[arg(
        long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["dry_run", "check"],
        group = ASIDE, help_heading = "Output"
    )]
    pub(crate) html: Option<PathBuf>,

    /// Only print the tokens of each conversation; with --json, also by role, tool, thinking and media. With --explain,
    /// draw these categories of all conversations together. On a terminal, the sum of several follows.
    #[arg(
        long, groups = [ASIDE, BESIDE_LOOKUP], help_heading = "Output",
        conflicts_with_all = ["dry_run", "check", "diff", "emit", "repair", "report", "html", "exit_status", "archive"]
    )]
    pub(crate) count: bool,

    /// The order of the lines of --count: `size` prints the largest conversation first [default: as the inputs are
    /// given].
    #[arg(long, value_enum, value_name = "BY", requires = "count", conflicts_with_all = ["dry_run", "check", "diff"], group = ASIDE, help_heading = "Output")]
    pub(crate) sort: Option<Sort>,

    /// Only print the cutoff index: no request, no file. 0 means that nothing would be replaced. Several files print
    /// the path, a tab and the index; conversations on lines print PATH:LINE. With --cache and --model (or
    /// --summarizer-cmd) on the same command line, tcompact also requests the summary, shows it on standard error, and
    /// keeps it for the real run.
    #[arg(short = 'n', long, group = ASIDE, help_heading = "Output")]
    pub(crate) dry_run: bool,

    /// Draw the conversation on standard error: roles, sizes, pins, pairs, the wanted cut and the actual one. Several
    /// conversations get a table of those that shrink most.
    #[arg(long, conflicts_with = "check", group = ASIDE, help_heading = "Output")]
    pub(crate) explain: bool,

    /// Print the removed and the added messages, for people, instead of the transcript; writes nothing, not even an
    /// archive, except for --html.
    #[arg(
        long, conflicts_with_all = ["output", "output_dir", "in_place", "emit", "dry_run", "check"],
        group = ASIDE, help_heading = "Output"
    )]
    pub(crate) diff: bool,

    /// With --dry-run, --count or --emit summary: print a JSON object for each conversation; with --search, for each
    /// message.
    #[arg(long, groups = [ASIDE, BESIDE_LOOKUP], help_heading = "Output")]
    pub(crate) json: bool,

    /// Only check the provider's rules for calls, results, turns and texts: print each violation with the index of its
    /// message, and exit with 6 if there is any.
    #[arg(
        long, conflicts_with_all = ["dry_run", "output", "output_dir", "in_place", "emit", "archive", "report", "exit_status", "repair"],
        group = ASIDE, help_heading = "Output"
    )]
    pub(crate) check: bool,

    /// Repair such violations first: remove calls without a result (`drop`), or add a result that says there is none, where
    /// the format can hold it (`synthesize`). tcompact removes results without a call, moves misplaced results to their
    /// call, and repairs ids and texts.
    #[arg(long, value_enum, value_name = "HOW", help_heading = "Output")]
    pub(crate) repair: Option<Repair>,

    /// How many conversations to process at once [default: one for each core; 8 with a model or a command].
    #[arg(
        short, long, value_name = "N", value_parser = number::<1, 1024>, allow_negative_numbers = true,
        group = ASIDE, help_heading = "Output"
    )]
    pub(crate) jobs: Option<u32>,

    /// Skip the files of a directory, or the summaries of a file, that an earlier run with the same input and rules
    /// finished.
    #[arg(long, group = ASIDE, help_heading = "Output")]
    pub(crate) resume: bool,

    /// Exit with 3 when nothing was compacted.
    #[arg(short = 'e', long, group = ASIDE, help_heading = "Output")]
    pub(crate) exit_status: bool,

    /// Report only errors.
    #[arg(short, long, conflicts_with = "verbose", groups = [ASIDE, BESIDE_RESTORE, BESIDE_LOOKUP], help_heading = "Output")]
    pub(crate) quiet: bool,

    /// Report decisions, and settings that differ from the defaults, on standard error.
    #[arg(short, long, action = ArgAction::SetTrue, overrides_with = "verbose", groups = [ASIDE, BESIDE_RESTORE, BESIDE_LOOKUP], help_heading = "Output")]
    pub(crate) verbose: bool,

    /// When to color messages on standard error, and --diff; `auto`: on a terminal, unless `NO_COLOR` is set.
    #[arg(long, value_enum, value_name = "WHEN", default_value = "auto", groups = [ASIDE, BESIDE_RESTORE, BESIDE_LOOKUP], help_heading = "Output")]
    pub(crate) color: When,

    /// When progress is shown on standard error, which must be a terminal for it: `auto`, for several files and
    /// while a summarizer is asked, unless --quiet is given.
    #[arg(long, value_enum, value_name = "WHEN", default_value = "auto", group = ASIDE, help_heading = "Output")]
    pub(crate) progress: When,

    /// Print a table and exit.
    #[arg(long, value_enum, value_name = "TABLE", exclusive = true, group = COMMAND_LINE, help_heading = "Output")]
    pub(crate) list: Option<Table>,

    /// Print the completion script of a shell, or the manual page, and exit.
    #[arg(long, value_enum, value_name = "FOR", exclusive = true, group = COMMAND_LINE, help_heading = "Output")]
    pub(crate) generate: Option<Generated>,
}

#[cfg(test)]
mod tests;
