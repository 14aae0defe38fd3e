//! The flags and their help, without logic: [`crate::settings`] decides what they mean together.
//!
//! Completions and the manual page in `completions/` are generated from this file; a test reports stale ones.

pub(crate) mod commands;
pub(crate) mod correction;
pub(crate) mod errors;
mod help;
pub(crate) mod misplaced;
pub(crate) mod places;
pub(crate) mod retry;
pub(crate) mod search_pattern;
mod shared;
pub(crate) mod slim;
pub(crate) mod values;
pub(crate) mod word_order;

use std::path::PathBuf;

use clap::{Parser, ValueHint};

use crate::compact::{Accept, ArchiveNote, Emit, OnError, Redaction};
use crate::plan::cutoff::Pairs;
use crate::plan::pins::Pin;
use crate::plan::size::{self, Size, whole};
use crate::prune::Choice;
use crate::rewrite::repair::Repair;
use crate::rewrite::thinking::Thinking;
use crate::transcript::formats::SummaryRole;

use help::{ARCHIVE, CUT, LOOK, MANY, MEND, MODELS, OUTPUT, PRUNE, RARE_COUNTS, RARE_REQUESTS, RARE_SUMMARY, SETTINGS};
pub(crate) use help::{BRIEF, asks_briefly, asks_for_all};
pub(crate) use retry::{Typed, value_at};
pub(crate) use shared::{CountingFlags, GeneralFlags, PlaceFlags, ReadingFlags, WorkFlags};
use values::{
    ACCEPTS, ON_ERROR, REDACTIONS, REPAIRS, SUMMARY_ROLES, THINKING, archive_note, named, number, seconds,
    shell_command, summary_size, tool_name,
};
pub(crate) use values::{Clause, EMITS, Facts, MANUAL, RequestJson, Shell, Table, TrimTokens, When, is_variable_name};

/// The value of `--in-place` without a SUFFIX. No word can hold it, so an empty SUFFIX is not taken for a missing one.
pub(crate) const NO_SUFFIX: &str = "\0";

/// Compacts an LLM transcript: the recent messages stay byte for byte, what came before becomes one summary message,
/// and no tool call is split from its result.
///
/// Reads conversations as JSON or JSONL from each PATH or standard input and writes them in their own format: to standard
/// output, to a directory (--output-dir), or in place (--in-place).
#[derive(Debug, Parser)]
#[command(name = "tcompact", version, after_long_help = help::after_help(), max_term_width = help::WIDTH)]
pub struct CompactArguments {
    /// A transcript, or a folder to search for transcripts; `-` or nothing is standard input.
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) paths: Vec<PathBuf>,

    /// When to compact: only a conversation that has reached every SIZE. Repeat it for "or". Without it: always.
    #[arg(long = "trigger", value_name = "SIZE[,SIZE…]", allow_negative_numbers = true, help_heading = CUT)]
    pub(crate) triggers: Vec<Clause>,

    /// How much stays unchanged: the end, up to SIZE. The messages before it become one summary.
    #[arg(
        long,
        value_name = "SIZE|none|from:INDEX|since:TIME",
        default_value = "messages:20",
        value_parser = size::keep,
        allow_negative_numbers = true,
        help_heading = CUT
    )]
    pub keep: Size,

    /// How large the result may be: tokens:N (or N), fraction:F or bytes:N. tcompact prunes first, and summarizes only if it must.
    #[arg(long, value_name = "SIZE", value_parser = size::fit, allow_negative_numbers = true, help_heading = CUT)]
    pub(crate) fit: Option<Size>,

    /// Messages before the cut that stay too: `system`, `user[:SIZE]` (the newest of the user's),
    /// `first:N`, `match:REGEX`. With --fit, what the user typed stays too, up to a quarter of its SIZE. Repeatable: rules
    /// add to `system`, and `none` clears those before it and what --fit pins.
    #[arg(long = "pin", value_name = "RULE", default_value = "system", help_heading = CUT)]
    pub pins: Vec<Pin>,

    /// How to move a cut that would part a tool call from its result: `strict` parts none, `langchain` does as
    /// LangChain does, `window:N` looks only at N messages before it.
    #[arg(long, value_name = "RULE", default_value = "strict", help_heading = CUT)]
    pub(crate) pairs: Pairs,

    /// Writes the summary: PROVIDER:MODEL, the name of a model at its maker, `extractive` (offline) or `none` (prunes
    /// only) [default: extractive].
    #[arg(short, long, value_name = "PROVIDER:MODEL", help_heading = MODELS)]
    pub(crate) model: Option<String>,

    /// Reads the result: its context window, tokenizer and price are looked up. It is sent nothing. PROVIDER:MODEL is
    /// taken as it is.
    #[arg(long = "for", value_name = "MODEL", help_heading = MODELS)]
    pub(crate) for_model: Option<String>,

    /// Run CMD with `sh -c` (on Windows `cmd /C`) for a summary: the prompt on its standard input, the summary from
    /// its standard output.
    #[arg(
        long, value_name = "CMD", value_parser = shell_command, conflicts_with = "model", value_hint = ValueHint::CommandString,
        help_heading = MODELS
    )]
    pub(crate) summarizer_cmd: Option<String>,

    /// The size to ask of the summary, in tokens [default: 1024 of a model; of the embedded summarizer, which never
    /// exceeds it, a twentieth of what is replaced, from 1024 to 4096].
    #[arg(
        long, value_name = "N", value_parser = summary_size, allow_negative_numbers = true, help_heading = MODELS
    )]
    pub(crate) summary_tokens: Option<u64>,

    /// What the next work is about: the summary puts that first. In a --prompt-file, {focus} is its place.
    #[arg(long, value_name = "TEXT", help_heading = MODELS)]
    pub(crate) focus: Option<String>,

    /// What to do when the summarizer fails for good.
    #[arg(long, value_parser = named(&ON_ERROR), value_name = "WHAT", default_value = "fail", help_heading = MODELS)]
    pub(crate) on_error: OnError,

    /// What to remove: `results[:SIZE]`, `reads`, `cap[:N]`, `thinking`, `media[:SIZE]`, `arguments[:N]`, `all` or
    /// `none` (`tcompact list prune`). Repeatable [default: none; all with --fit].
    #[arg(long = "prune", value_name = "RULE", help_heading = PRUNE)]
    pub(crate) prune: Vec<Choice>,

    /// Tools whose calls and results --prune does not change.
    #[arg(long, value_name = "NAME[,NAME…]", value_delimiter = ',', value_parser = tool_name, help_heading = PRUNE)]
    pub(crate) prune_except: Vec<String>,

    /// What to do with Claude's signed thinking in the kept messages: the newest models refuse it when the history
    /// before it has changed.
    #[arg(long, value_parser = named(&THINKING), value_name = "WHAT", default_value = "auto", help_heading = PRUNE)]
    pub(crate) thinking: Thinking,

    #[command(flatten)]
    pub(crate) place: PlaceFlags,

    /// Write the results of several files or of folders to the same tree under DIR; files that need nothing are
    /// copied.
    #[arg(
        short = 'O', long, value_name = "DIR", value_hint = ValueHint::DirPath,
        conflicts_with_all = ["output", "in_place"], help_heading = OUTPUT
    )]
    pub(crate) output_dir: Option<PathBuf>,

    /// What to write.
    #[arg(long, value_parser = named(&EMITS), value_name = "WHAT", default_value = "messages", help_heading = OUTPUT)]
    pub(crate) emit: Emit,

    /// Write a JSON object a line to FILE for each conversation: the keys of --dry-run --json, its status, tokens
    /// afterwards, requests and cost.
    #[arg(
        long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "dry_run", help_heading = OUTPUT
    )]
    pub(crate) report: Option<PathBuf>,

    /// Write one page for a browser: the conversation to click through, the summary, tokens and money before and
    /// after.
    #[arg(
        long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "dry_run", help_heading = OUTPUT
    )]
    pub(crate) html: Option<PathBuf>,

    /// Only print the index of the first kept message; 0 if nothing would be summarized. Several files print PATH, a
    /// tab and the index. With --cache and a summarizer on the same command line, tcompact also asks for the summary
    /// and shows it.
    #[arg(short = 'n', long, help_heading = LOOK)]
    pub(crate) dry_run: bool,

    /// Draw the conversation on standard error: roles, sizes, pins, pairs, the wanted cut and the actual one.
    #[arg(long, help_heading = LOOK)]
    pub(crate) explain: bool,

    /// Print what is removed and added, for people, instead of the transcript; write nothing but --html.
    #[arg(
        long, conflicts_with_all = ["output", "output_dir", "in_place", "emit", "dry_run"], help_heading = LOOK
    )]
    pub(crate) diff: bool,

    /// Print JSON, with --dry-run or --emit summary.
    #[arg(long, help_heading = LOOK)]
    pub(crate) json: bool,

    /// Append the removed messages to FILE, and name FILE in the summary: `.jsonl` for the commands search,
    /// show and restore, `.md` for reading; with `.gz` or `.zst` behind it, compressed.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = ARCHIVE)]
    pub(crate) archive: Option<PathBuf>,

    /// What the summary says of the archive: TEXT, in which `{archive}` is its path and `{id}` the id of the record, or
    /// `off` for nothing.
    #[arg(long, value_name = "TEXT|off", value_parser = archive_note, help_heading = ARCHIVE)]
    pub(crate) archive_note: Option<ArchiveNote>,

    /// Repair what the command check finds: what to do with calls without a result. The command repair does only that.
    #[arg(long, value_parser = named(&REPAIRS), value_name = "HOW", help_heading = MEND)]
    pub(crate) repair: Option<Repair>,

    /// Mend a session that can no longer be resumed: --repair synthesize, --fit half of the context window of its model
    /// (50k where nobody knows it), --in-place=.bak (or .bak2, …), --archive PATH.cut.jsonl. Flags beside it replace these.
    #[arg(long, help_heading = MEND)]
    pub(crate) rescue: bool,

    /// Mask secrets in what a summarizer is sent and in the summary; with =all, in everything that is written. An
    /// archive holds what was there. The command redact does only that.
    #[arg(
        long, value_parser = named(&REDACTIONS), value_name = "WHERE", num_args = 0..=1, require_equals = true, default_missing_value = "sent",
        help_heading = MEND
    )]
    pub(crate) redact: Option<Redaction>,

    #[command(flatten)]
    pub(crate) work: WorkFlags,

    /// Skip what an earlier run with the same input and rules finished.
    #[arg(long, help_heading = MANY)]
    pub(crate) resume: bool,

    /// Exit with 3 when nothing was compacted.
    #[arg(short = 'e', long, help_heading = MANY)]
    pub(crate) exit_status: bool,

    /// Use the rules of a known system (`tcompact list presets`); other flags override them.
    #[arg(long, value_name = "NAME", help_heading = SETTINGS)]
    pub(crate) preset: Option<String>,

    #[command(flatten)]
    pub(crate) general: GeneralFlags,

    #[command(flatten)]
    pub(crate) reading: ReadingFlags,

    #[command(flatten)]
    pub(crate) counting: CountingFlags,

    /// With --preset deepagents: cut arguments of tools longer than N characters.
    #[arg(long, value_name = "N", value_parser = whole, allow_negative_numbers = true, help_heading = RARE_COUNTS)]
    pub(crate) truncate_args: Option<u64>,

    /// The address of the provider's API, including its version [default: the provider's own].
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url, help_heading = RARE_REQUESTS)]
    pub(crate) base_url: Option<String>,

    /// The environment variable that holds the key [default: the provider's own].
    #[arg(long, value_name = "NAME", help_heading = RARE_REQUESTS)]
    pub(crate) api_key_env: Option<String>,

    /// Merge this JSON into the body of each request (RFC 7396: `null` removes a member), but no key, prompt or
    /// model.
    #[arg(long, value_name = "OBJECT", help_heading = RARE_REQUESTS)]
    pub(crate) request_json: Option<RequestJson>,

    /// A template for the prompt; {messages} is where the history goes, {{ and }} are braces [default: the built-in
    /// template].
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = RARE_REQUESTS)]
    pub prompt_file: Option<PathBuf>,

    /// How many tokens of the end of the history to send to the summarizer; `none` sends everything.
    #[arg(
        long,
        value_name = "N|none",
        default_value = "none",
        allow_negative_numbers = true,
        help_heading = RARE_REQUESTS
    )]
    pub(crate) trim_tokens: TrimTokens,

    /// Keep summaries in DIR, by the hash of all that decides them, so that none is requested twice.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = RARE_REQUESTS)]
    pub cache: Option<PathBuf>,

    /// The most seconds that a request or a command may take.
    #[arg(
        long, value_name = "SECONDS", default_value = "120", value_parser = seconds, allow_negative_numbers = true,
        help_heading = RARE_REQUESTS
    )]
    pub(crate) timeout: f64,

    /// How often to retry a request after a transport error or the status 408, 409, 429 or 5xx.
    #[arg(
        long, value_name = "N", default_value_t = 3, value_parser = number::<0, { u32::MAX }>, allow_negative_numbers = true,
        help_heading = RARE_REQUESTS
    )]
    pub(crate) retries: u32,

    /// The most requests a minute [default: no limit].
    #[arg(
        long, value_name = "N", value_parser = number::<1, { u32::MAX }>, allow_negative_numbers = true,
        help_heading = RARE_REQUESTS
    )]
    pub(crate) rate: Option<u32>,

    /// The role of the summary message, if the format's provider accepts it.
    #[arg(long, value_parser = named(&SUMMARY_ROLES), value_name = "ROLE", default_value = "user", help_heading = RARE_SUMMARY)]
    pub(crate) summary_role: SummaryRole,

    /// The beginning of the summary message. The default also puts the summary between <summary> and </summary>.
    #[arg(long, value_name = "TEXT", default_value = crate::plan::SUMMARY_PREFIX, help_heading = RARE_SUMMARY)]
    pub(crate) summary_prefix: String,

    /// Append to a model's summary what it lacks of the user's last message, short rules, failures and changed files:
    /// at most N tokens; `on` is a fifth of --summary-tokens, and at least 200.
    #[arg(
        long,
        value_name = "on|off|N",
        default_value = "on",
        allow_negative_numbers = true,
        help_heading = RARE_SUMMARY
    )]
    pub(crate) ledger: Facts,

    /// Which summaries to accept.
    #[arg(long, value_parser = named(&ACCEPTS), value_name = "WHICH", default_value = "smaller", help_heading = RARE_SUMMARY)]
    pub(crate) accept: Accept,
}

#[cfg(test)]
mod tests;
