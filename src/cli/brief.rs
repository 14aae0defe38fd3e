//! `-h`: the usual flags on one screen. `--help` has all of them.

/// At most 24 lines of 80 columns; a test counts them.
pub(crate) const BRIEF: &str = "\
Shortens LLM transcripts: recent messages stay byte for byte, one summary takes
the place of what came before, and no tool call is split from its result.

Usage: tcompact [OPTIONS] [PATH]...    (files, directories; none or -: stdin)

      --trigger SIZE[,SIZE…]  when: only when all are reached; repeat for \"or\"
      --keep SIZE             how much of the end stays [default: messages:20]
      --fit SIZE, --prune all how large the result may be; what to remove first
  -m, --model PROVIDER:MODEL  the writer of the summary [default: offline]
      --for MODEL             the reader of the result: window, tokenizer
  -n, --dry-run [--json]      where it would cut; --count prints the tokens
      --explain, --diff       draw the cut; show what is removed and added
  -o, --output FILE           instead of standard output; -i replaces the files
  -O, --output-dir DIR        for directories and several files
      --report FILE           the result and cost of each conversation
      --archive FILE.jsonl    keep what is removed; --search and --show find it
      --check                 only look for calls and results out of order
  -v, -q                      report decisions; report only errors
SIZE: messages:20, steps:20, turns:3, tokens:8k, bytes:1m, fraction:0.8

  tcompact --keep messages:10 chat.json > short.json
  tcompact -m openai:gpt-4o-mini -O compacted/ logs/

All flags, examples, exit codes: --help. Tables: --list models, formats, …
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_screen_of_flags_that_are_there() {
        assert!(BRIEF.lines().count() <= 24, "{}", BRIEF.lines().count());
        for line in BRIEF.lines() {
            assert!(unicode_width::UnicodeWidthStr::width(line) <= 80, "{line}");
        }
        let command = crate::cli::command();
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
