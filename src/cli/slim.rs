//! The flags of `slim`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, ValueHint};

use crate::cli::shared::GeneralFlags;
use crate::cli::shared::ReadingFlags;

/// Remove from session files what no model is sent, in place: copies of results, progress, old snapshots, pictures that
/// are not sent, branches that you left, and what the agent compacted before.
///
/// What is sent stays the same, and tcompact proves it before it replaces a file. What goes is in an archive beside each
/// file, PATH.cut.jsonl.zst, from which `tcompact restore` puts it back. Folders are searched for sessions of agents.
#[derive(Debug, Parser)]
#[command(
    after_help = "Examples:\n  tcompact slim -n ~/.claude/projects\n  tcompact slim --older 7d ~/.claude/projects ~/.codex/sessions"
)]
pub(crate) struct SlimArguments {
    /// Sessions, and folders to search for sessions.
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) paths: Vec<PathBuf>,

    /// Only print what it would save: PATH, a tab and the bytes.
    #[arg(short = 'n', long)]
    pub(crate) dry_run: bool,

    /// Leave files alone that changed within AGE: `30m`, `12h`, `7d` or `2w`.
    #[arg(long, value_name = "AGE", value_parser = age)]
    pub(crate) older: Option<Duration>,

    /// Keep no archive. What was sent before stays in the file then: branches, and what the agent compacted.
    #[arg(long)]
    pub(crate) no_archive: bool,

    /// Replace also a file that another process has open for writing, or in which another session begins.
    #[arg(long)]
    pub(crate) force: bool,

    #[command(flatten)]
    pub(crate) reading: ReadingFlags,

    #[command(flatten)]
    pub(crate) general: GeneralFlags,
}

/// Parses an age: a number and its unit.
fn age(text: &str) -> Result<Duration, String> {
    const UNITS: [(char, u64); 5] = [('s', 1), ('m', 60), ('h', 3_600), ('d', 86_400), ('w', 604_800)];
    for (unit, seconds) in UNITS {
        if let Some(number) = text.strip_suffix(unit)
            && let Ok(number) = number.parse::<u64>()
        {
            return match number.checked_mul(seconds) {
                Some(seconds) => Ok(Duration::from_secs(seconds)),
                None => Err("the age is too large".to_owned()),
            };
        }
    }
    Err("expected a number and a unit, such as 30m, 12h, 7d or 2w".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_a_number_and_a_unit() {
        for (text, seconds) in [("30s", 30), ("30m", 1_800), ("12h", 43_200), ("7d", 604_800), ("2w", 1_209_600)] {
            assert_eq!(age(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for wrong in ["", "7", "d", "7 d", "-7d", "7y", "1.5d", "99999999999999999999d", "18446744073709551615w", "7ß"]
        {
            assert!(age(wrong).is_err(), "{wrong}");
        }
    }
}
