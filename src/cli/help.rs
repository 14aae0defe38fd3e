//! The parts of `--help` and `--version` besides the flags.
//!
//! Also: `-h`: the usual flags on one screen. `--help` has all of them.

use std::sync::LazyLock;

use anstream::adapter::strip_str;
use clap::error::ErrorKind;

use crate::exit;
use crate::llm::providers::PROVIDERS;
use crate::tokens::{COUNTERS, models};
use crate::transcript::formats::FORMATS;

/// The most columns of a help text.
pub(super) const WIDTH: usize = 100;

/// A group of flags: its heading, what it is for, and a command that works.
pub(super) struct Group {
    pub(super) heading: &'static str,
    pub(super) about: &'static str,
    pub(super) example: &'static str,
}

pub(super) const CUT: &str = "Where to cut";
pub(super) const MODELS: &str = "Who writes, who reads";
pub(super) const PRUNE: &str = "What goes before a summary";
pub(super) const OUTPUT: &str = "What is written";
pub(super) const LOOK: &str = "Look before";
pub(super) const ARCHIVE: &str = "Archive and look up";
pub(super) const MEND: &str = "Repair and mask";
pub(super) const MANY: &str = "Many conversations";
pub(super) const SETTINGS: &str = "Settings and messages";
pub(super) const RARE_COUNTS: &str = "Rarely needed: reading and counting";
/// The heading of these flags in a command, which has few others.
pub(super) const READING: &str = "Reading and counting";
pub(super) const RARE_REQUESTS: &str = "Rarely needed: requests";
pub(super) const RARE_SUMMARY: &str = "Rarely needed: the summary message";

/// Each line fits a terminal of 80 columns, in the manual page too; tests measure them and run the commands.
pub(super) const GROUPS: [Group; 12] = [
    Group {
        heading: CUT,
        about: "\
SIZE is messages:20, tokens:8k, fraction:0.8 (of the context window), steps:20
(answers with their calls), turns:3 or bytes:1m. A number alone is tokens for
--fit and messages for --keep. --keep also takes none, from:INDEX (that one
and all behind it) and since:TIME (RFC 3339, or 1d, 6h, 30m before the last
message). If --for gives the window, and none of --trigger, --keep and --fit
is there, tcompact takes --trigger fraction:0.85 --fit fraction:0.5.",
        example: "tcompact --trigger tokens:8k --keep messages:10 chat.json > short.json",
    },
    Group {
        heading: MODELS,
        about: "\
Without any of these, the summary quotes the conversation, offline. Tables:
tcompact list providers, tcompact list models.",
        example: "tcompact -m openai:gpt-4o-mini --for gpt-4o chat.json > short.json",
    },
    Group {
        heading: PRUNE,
        about: "\
Removes what is stale from the messages before the kept part, without a model.
With -m none, no summary follows.",
        example: "tcompact --prune results:5 --prune reads -m none chat.json > short.json",
    },
    Group {
        heading: OUTPUT,
        about: "The transcript goes to standard output in its own format, unless you say.",
        example: "tcompact -o short.json --report report.jsonl --html page.html chat.json",
    },
    Group {
        heading: LOOK,
        about: "Shows what would happen, and writes nothing.",
        example: "tcompact --dry-run --explain --keep tokens:3000 chat.json",
    },
    Group {
        heading: ARCHIVE,
        about: "Keeps what is cut away, so that you can search it, show it and put it back.",
        example: "tcompact --archive removed.jsonl --keep messages:4 chat.json > short.json
tcompact search timeout removed.jsonl
tcompact show 1:2,1:4-6 removed.jsonl
tcompact restore removed.jsonl short.json > original.json",
    },
    Group {
        heading: MEND,
        about: "\
Repairs what a provider would refuse, such as a call without its result, and
masks secrets. The commands repair and redact do so and cut nothing.",
        example: "tcompact --repair synthesize --redact=all chat.json > short.json
tcompact --rescue --latest claude-code",
    },
    Group {
        heading: MANY,
        about: "\
Several files, folders, or a file with a conversation on each line; or the
newest session of an agent.",
        example: "tcompact --jobs 16 --resume --output-dir compacted/ logs/",
    },
    Group {
        heading: SETTINGS,
        about: "Flags win over TCOMPACT_* variables, then comes a file, then a preset.",
        example: "tcompact -v --preset langchain chat.json > short.json",
    },
    Group {
        heading: RARE_COUNTS,
        about: "For what --for does not know, and for input that tcompact does not recognize.",
        example: "tcompact --counter o200k_base --from openai-chat chat.json > short.json",
    },
    Group {
        heading: RARE_REQUESTS,
        about: "For servers of your own, and for providers with limits.",
        example: "tcompact -m openai:llama --base-url http://localhost:8080/v1 chat.json",
    },
    Group {
        heading: RARE_SUMMARY,
        about: "How the summary is put back, and which ones are refused.",
        example: "tcompact --summary-role system --ledger off chat.json > short.json",
    },
];

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

/// Whether a help is the long one of compaction.
pub(crate) fn asks_for_all(error: &clap::Error) -> bool {
    error.kind() == ErrorKind::DisplayHelp && error.render().to_string().contains(CODES)
}

/// Whether a help of compaction is the short one, `-h`.
pub(crate) fn asks_briefly(error: &clap::Error) -> bool {
    error.kind() == ErrorKind::DisplayHelp && !asks_for_all(error)
}

/// A help text with the sentence and the example of each group below its heading.
pub(super) fn with_introductions(help: &str) -> String {
    let mut lines = Vec::new();
    for line in help.lines() {
        lines.push(line.to_owned());
        let heading = strip_str(line).to_string();
        let group = GROUPS.iter().find(|group| heading.strip_suffix(':') == Some(group.heading));
        if let Some(group) = group {
            lines.extend(group.about.lines().map(|line| format!("  {line}")));
            lines.extend(group.example.lines().map(|line| format!("    $ {line}")));
            lines.push(String::new());
        }
    }
    lines.join("\n") + "\n"
}

/// The exit codes, which follow the flags in the long help.
pub(super) fn after_help() -> String {
    let codes: Vec<String> =
        exit::MEANINGS.iter().map(|(exit, meaning)| format!("  {:<3}  {meaning}", *exit as u8)).collect();
    format!("{CODES}\n{}", codes.join("\n"))
}

/// At most 24 lines of 80 columns; a test counts them.
pub(crate) const BRIEF: &str = "\
Shortens LLM transcripts: recent messages stay byte for byte, one summary takes
the place of what came before, and no tool call is split from its result.

Usage: tcompact [OPTIONS] [PATH]...    (files, directories; none or -: stdin)
       tcompact COMMAND ...            (tcompact help COMMAND)

  count, check, repair, redact  tokens; rules of the provider; secrets
  search PATTERN, show INDEXES  find messages and print them
  restore ARCHIVE PATH, slim    put back what was cut; remove what is not sent
  list, completions, man        tables, completions of a shell, the manual page

      --keep SIZE             how much of the end stays [default: messages:20]
      --fit SIZE, --prune all how large the result may be; what to remove first
      --trigger SIZE          only a conversation that has reached SIZE
  -m, --model PROVIDER:MODEL  the writer of the summary [default: offline]
      --for MODEL             the reader of the result: window, tokenizer
  -n, --dry-run, --explain    where it would cut; draw the cut
      --diff, --html FILE     show what changes: as text, as a page
  -i, -o FILE, -O DIR         replace the files; write to a file, a directory
      --archive FILE.jsonl    keep what is removed, for search and restore
      --rescue, --latest AGENT  mend a session that is too large; the newest one
SIZE: messages:20, steps:20, turns:3, tokens:8k, bytes:1m, fraction:0.8
  tcompact -m openai:gpt-4o-mini --keep messages:10 chat.json > short.json
All flags, examples, exit codes: --help
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::commands::{CommandName, long_help};

    fn command() -> clap::Command {
        CommandName::Compact.command()
    }

    #[test]
    fn each_group_has_flags_a_sentence_and_a_command_that_is_understood() {
        let page = strip_str(&long_help()).to_string();
        for Group { heading, about, example } in GROUPS {
            assert!(command().get_arguments().any(|arg| arg.get_help_heading() == Some(heading)), "{heading}");
            assert!(page.contains(&format!("\n{heading}:\n  {}", about.lines().next().expect("a line"))), "{heading}");
            assert!(about.lines().all(|line| line.len() <= 78), "{about}");
            for line in example.lines() {
                // The page indents by four columns and the sign of a prompt.
                assert!(line.len() <= 74, "{line}");
                is_understood(line);
            }
            let flags = command().get_arguments().filter(|arg| arg.get_help_heading() == Some(heading)).count();
            let shown = |arg: &clap::Arg| {
                arg.get_long().is_some_and(|long| example.contains(&format!("--{long}")))
                    || arg.get_short().is_some_and(|short| example.contains(&format!(" -{short} ")))
            };
            let has_own = command().get_arguments().any(|arg| arg.get_help_heading() == Some(heading) && shown(arg));
            assert!(flags > 1 && has_own, "{heading}: its example shows none of its flags");
        }
        let stray: Vec<_> = command()
            .get_opts()
            .filter(|arg| arg.get_help_heading().is_none())
            .map(|arg| arg.get_id().clone())
            .collect();
        assert!(stray.is_empty(), "in no group: {stray:?}");
    }

    /// Checks that a line is a command of the program.
    fn is_understood(line: &str) {
        let words = line.split(" > ").next().unwrap_or_default().split(' ').map(|word| word.trim_matches('\''));
        let mut words: Vec<&str> = words.collect();
        let name = CommandName::of_words(&words[1..]);
        if name != CommandName::Compact {
            words.remove(0);
        }
        name.command().try_get_matches_from(words).unwrap_or_else(|error| panic!("{line}: {error}"));
    }

    #[test]
    fn the_examples_of_commands_are_understood() {
        for name in CommandName::NAMED {
            let help = name.command().render_long_help().to_string();
            let examples = help.lines().filter(|line| line.starts_with("  tcompact "));
            examples.for_each(|line| {
                is_understood(line.split("   #").next().unwrap_or(line).split(" | ").next().unwrap_or(line).trim())
            });
            assert!(help.lines().all(|line| line.chars().count() <= WIDTH), "{help}");
        }
    }

    /// The flags that newcomers take for one another stand one behind the other, each in two lines of 80 columns.
    #[test]
    fn what_is_easily_confused_stands_side_by_side() {
        let command = command();
        let longs: Vec<&str> = command.get_arguments().filter_map(clap::Arg::get_long).collect();
        for together in [&["trigger", "keep", "fit"][..], &["model", "for"]] {
            assert!(longs.windows(together.len()).any(|window| window == together), "{together:?}: {longs:?}");
            for long in together {
                let arg = command.get_arguments().find(|arg| arg.get_long() == Some(long)).expect("a flag");
                let help = arg.get_help().expect("a help").to_string();
                assert!(help.len() <= 2 * 70, "--{long}: {}: {help}", help.len());
            }
        }
    }
}

#[cfg(test)]
mod short_help_tests {
    use super::*;

    #[test]
    fn one_screen_of_flags_that_are_there() {
        assert!(BRIEF.lines().count() <= 24, "{}", BRIEF.lines().count());
        for line in BRIEF.lines() {
            assert!(unicode_width::UnicodeWidthStr::width(line) <= 80, "{line}");
        }
        let command = crate::cli::commands::CommandName::Compact.command();
        let words = BRIEF.split(|c: char| c.is_whitespace() || ",;.:".contains(c));
        for flag in words.filter(|word| word.len() > 1 && word.starts_with('-') && *word != "--help") {
            let is = |arg: &clap::Arg| {
                arg.get_long().is_some_and(|long| flag == format!("--{long}"))
                    || arg.get_short().is_some_and(|short| flag == format!("-{short}"))
            };
            assert!(command.get_arguments().any(is), "{flag}");
        }
    }
}
