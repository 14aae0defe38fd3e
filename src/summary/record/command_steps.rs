//! The steps of a shell command: which of them only read, and how a summary shows them.

use crate::summary::record::segmentation::clip_to;
use crate::transcript::tools::shell::{open_quote, steps};

/// Most characters of a command in a summary.
const LONGEST_COMMAND: usize = 110;
/// Programs that only read, or do small work with files and processes. Their outcome is reported only if they fail.
const READ_ONLY_PROGRAMS: [&str; 57] = [
    "ls", "cat", "grep", "rg", "find", "sed", "head", "tail", "awk", "wc", "echo", "pwd", "cd", "source", "which",
    "tree", "diff", "sleep", "nl", "cp", "mkdir", "rm", "export", "touch", "mv", "printf", "true", "rmdir", "[",
    "test", "jq", "file", "stat", "du", "df", "ps", "env", "date", "uname", "whoami", "hostname", "less", "more",
    "sort", "uniq", "cut", "tr", "xxd", "strings", "readlink", "realpath", "basename", "dirname", "chmod", "chown",
    "ln", "kill",
];
/// Keywords of a shell, before the program that a loop or a condition runs.
const SHELL_KEYWORDS: [&str; 13] =
    ["for", "while", "until", "do", "done", "if", "then", "else", "elif", "fi", "case", "esac", "function"];
/// Subcommands that change nothing, by their program.
const READ_ONLY_SUBCOMMANDS: [(&str, &[&str]); 4] = [
    (
        "git",
        &[
            "log",
            "diff",
            "status",
            "show",
            "blame",
            "branch",
            "remote",
            "grep",
            "ls-files",
            "rev-parse",
            "rev-list",
            "describe",
            "ls-remote",
            "merge-base",
            "shortlog",
            "cat-file",
        ],
    ),
    ("gh", &["view", "list", "diff", "checks", "status", "search"]),
    ("kubectl", &["get", "describe", "logs", "top"]),
    ("docker", &["ps", "images", "logs", "inspect"]),
];

/// Whether a command does more than read. Its output is then summarized by its outcome.
pub(super) fn does_more_than_read(command: &str) -> bool {
    steps(command).iter().any(|step| !is_read_only(step))
}

/// Returns a step from its program on: `do make` runs make.
fn without_shell_keywords(step: &str) -> &str {
    const BEFORE: [&str; 5] = ["do ", "then ", "else ", "( ", "{ "];
    let mut step = step.trim_start();
    while let Some(rest) = BEFORE.iter().find_map(|word| step.strip_prefix(word)) {
        step = rest.trim_start();
    }
    step
}

/// Whether a step only reads.
pub(super) fn is_read_only(step: &str) -> bool {
    let mut words = without_shell_keywords(step).split_whitespace().filter(|word| !word.contains('='));
    let program = words.next().unwrap_or("");
    let arguments: Vec<&str> = words.filter(|word| !word.starts_with('-')).take(2).collect();
    let has_read_only_subcommand = || {
        let known = READ_ONLY_SUBCOMMANDS.iter().find(|(known, _)| *known == program);
        // `gh pr view` has its verb behind its noun.
        let verb = if program == "gh" { arguments.last() } else { arguments.first() };
        known.zip(verb).is_some_and(|((_, read_only), verb)| read_only.contains(verb))
    };
    program.is_empty()
        || READ_ONLY_PROGRAMS.contains(&program)
        || SHELL_KEYWORDS.contains(&program)
        || has_read_only_subcommand()
        || is_github_query(step)
        || step.contains("<<")
}

/// Whether a command undoes all changes or sets them aside.
pub(super) fn sets_changes_aside(command: &str) -> bool {
    let undoes = |step: &&str| match step.split_whitespace().collect::<Vec<_>>()[..] {
        ["git", "stash"] | ["git", "stash", "push" | "save" | "-u", ..] | ["git", "checkout" | "restore", "."] => true,
        ["git", "reset", ref rest @ ..] => rest.contains(&"--hard"),
        _ => false,
    };
    steps(command).iter().any(undoes)
}

/// Whether a step shows a file. Its lines are those of the file and report nothing.
pub(super) fn shows_file(step: &str) -> bool {
    const VIEWERS: [&str; 7] = ["cat", "sed", "nl", "head", "tail", "less", "bat"];
    let program = without_shell_keywords(step).split_whitespace().next().unwrap_or("");
    VIEWERS.contains(&program)
}

/// Whether the outcome of a step may tell if the work is good: one of a version control system does not.
pub(super) fn may_check(step: &str) -> bool {
    const OTHERS: [&str; 4] = ["git", "gh", "jj", "hg"];
    let program = without_shell_keywords(step).split_whitespace().find(|word| !word.contains('=')).unwrap_or("");
    !OTHERS.contains(&program)
}

/// Whether a step asks GitHub for something and sends nothing.
fn is_github_query(step: &str) -> bool {
    const SENDING: [&str; 7] = ["-f", "-F", "-X", "--field", "--raw-field", "--method", "--input"];
    let sends = |word: &str| SENDING.iter().any(|flag| word.starts_with(flag));
    without_shell_keywords(step).starts_with("gh api ") && !step.split_whitespace().any(sends)
}

/// Returns a command as a summary shows it: its first step that does more than read, without redirections and filters
/// that cut its output.
pub(super) fn command_label(command: &str) -> String {
    let steps = steps(command);
    let program = |step: &&&str| step.split_whitespace().find(|word| !word.contains('=')).unwrap_or("") != "cd";
    let step = steps.iter().find(|step| !is_read_only(step)).or(steps.iter().find(program)).or(steps.first());
    step.map_or_else(String::new, |step| step_label(command, step))
}

/// Returns a step of a command as a summary shows it.
pub(super) fn step_label(command: &str, step: &str) -> String {
    let cuts = ["<<", " 2>&1", " 2>/dev/null", " | tail", " | head"];
    let end = cuts.iter().filter_map(|cut| step.find(cut).map(|at| if *cut == "<<" { at + 2 } else { at })).min();
    let label = clip_to(without_shell_keywords(&step[..end.unwrap_or(step.len())]).trim(), LONGEST_COMMAND);
    let Some(quote) = open_quote(&label).filter(|_| open_quote(step).is_some()) else { return label };
    // The first line of a quoted script identifies it.
    let inside = if label.ends_with(quote) { first_line_after(command, step) } else { "" };
    let label = format!("{label}{inside}");
    format!("{}…{quote}", clip_to(&label, LONGEST_COMMAND).trim_end_matches('…'))
}

/// Returns the first line after a step that is not empty.
fn first_line_after<'c>(command: &'c str, step: &str) -> &'c str {
    let behind = command.find(step).map_or("", |at| &command[at + step.len()..]);
    behind.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_reads() {
        for step in ["git rev-parse HEAD", "gh pr view 158 --comments", "gh api repos/a/b/pulls/1/comments --paginate"]
        {
            assert!(is_read_only(step), "{step}");
        }
        for step in ["git commit -m x", "gh pr create", "gh api repos/a/b/issues -f title=x", "docker compose up", "gh"]
        {
            assert!(!is_read_only(step), "{step}");
        }
    }
}
