//! The parts of `--help` and `--version` besides the flags.

use std::sync::LazyLock;

use clap::error::ErrorKind;

use crate::exit;
use crate::llm::providers::PROVIDERS;
use crate::tokens::{COUNTERS, models};
use crate::transcript::formats::FORMATS;

/// Each line fits a terminal of 80 columns, in the manual page too; a test measures them.
const EXAMPLES: &str = "\
Examples:
  cat chat.json | tcompact --keep messages:20 > short.json
  tcompact --trigger tokens:8k --trigger messages:50 chat.json > short.json
  cut=$(tcompact --dry-run --keep tokens:3000 chat.json)
  tcompact -n --json --for gpt-4o --trigger fraction:0.8 chat.json
  tcompact -m openai:gpt-4o-mini -o short.json chat.json
  tcompact -n --cache summaries -m openai:gpt-4o-mini chat.json
  tcompact -n -v --for gpt-4o -m openai:gpt-4o-mini chat.json
  tcompact --explain --diff --color always chat.json | less -R
  tcompact --archive removed.jsonl -o short.json chat.json
  tcompact --restore removed.jsonl short.json > original.json
  tcompact --search '(?i)timeout' removed.jsonl
  tcompact --show 2:17,2:20..25 removed.jsonl
  tcompact --jobs 16 --resume --output-dir compacted/ logs/";

/// The heading of the exit codes, which only the long help has.
const CODES: &str = "Exit codes:";

/// The text of `--version`; `-V` prints its first line.
pub(super) static LONG_VERSION: LazyLock<String> = LazyLock::new(|| {
    let names: Vec<&str> = COUNTERS.iter().map(|(name, _)| *name).collect();
    let summarizers = PROVIDERS.len();
    format!(
        "{}\ntokenizers  {}\nformats     {}\nsummarizers extractive, {summarizers} providers, commands\nmodels      {}, \
         prices of {}\nTLS         rustls with ring, roots of the system\nfor         {} {}",
        env!("CARGO_PKG_VERSION"),
        names.join(", "),
        FORMATS.len(),
        models::count(),
        models::PRICES_OF,
        std::env::consts::ARCH,
        std::env::consts::OS
    )
});

/// Whether the user asked for the short help, `-h`.
pub(crate) fn asks_briefly(error: &clap::Error) -> bool {
    error.kind() == ErrorKind::DisplayHelp && !error.render().to_string().contains(CODES)
}

/// Returns the examples and the exit codes, which follow the flags in the long help.
pub(super) fn after_help() -> String {
    let codes: Vec<String> =
        exit::MEANINGS.iter().map(|(exit, meaning)| format!("  {:<3}  {meaning}", *exit as u8)).collect();
    format!("{EXAMPLES}\n\n{CODES}\n{}", codes.join("\n"))
}
