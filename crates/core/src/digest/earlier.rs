//! A summary that somebody else wrote: its text without the frame of its agent, and how many of its lines stand in a new
//! summary.

use crate::digest::grammar::{LEFT_OUT, SourcePlace, TASK, is_heading};
use crate::transcript::fence;
use crate::transcript::tools::actions::FileAction;

/// The sentences of Claude Code before and behind its summaries, each a paragraph.
const OPENING: &str = "This session is being continued from a previous conversation that ran out of context.";
const CLOSINGS: [&str; 4] = [
    "Please continue the conversation from where we left it off without asking the user any further questions.",
    "Please continue the conversation from where we left off without asking the user any further questions.",
    "Continue the conversation from where it left off without asking the user any further questions.",
    "If you need specific details from before compaction",
];

/// A summary without the frame of its agent: the model's analysis before it, the tags around it, and Claude Code's
/// sentences. What stands elsewhere in the text is of the summary.
pub(super) fn without_frame(summary: &str) -> &str {
    let mut rest = summary.trim();
    if rest.starts_with(OPENING) {
        let opening = rest.find('\n').map_or(rest, |end| &rest[..end]);
        rest = rest[opening.len()..].trim_start();
        while let Some((before, last)) = rest.rsplit_once('\n') {
            if !CLOSINGS.iter().any(|closing| last.trim().starts_with(closing)) {
                break;
            }
            rest = before.trim_end();
        }
        rest = without_analysis(rest);
        rest = rest
            .strip_prefix("Analysis:")
            .and_then(|rest| rest.split_once("\nSummary:\n"))
            .map_or(rest, |(_, rest)| rest);
        rest = rest.strip_prefix("Summary:\n").unwrap_or(rest).trim_start();
    }
    rest = without_analysis(rest);
    let inside = rest.strip_prefix("<summary>").and_then(|rest| rest.strip_suffix("</summary>"));
    inside.unwrap_or(rest).trim()
}

fn without_analysis(text: &str) -> &str {
    let behind = text.strip_prefix("<analysis>").and_then(|rest| rest.split_once("</analysis>"));
    behind.map(|(_, rest)| rest.trim()).filter(|rest| !rest.is_empty()).unwrap_or(text)
}

/// How many lines an earlier summary has, and how many of them stand in `summary`. Headings of digests and counts do
/// not count. The earlier summary is a whole message of ours with this `prefix`, or the text of another agent's.
pub fn lines_standing(earlier: &str, prefix: &str, summary: &str) -> (usize, usize) {
    let inside = earlier.strip_prefix(prefix.trim_end()).map_or(earlier, fence::opened);
    let summary = squeezed(summary);
    let lines = without_frame(inside).lines().map(str::trim);
    let lines = lines.filter(|line| !is_heading(line) && !line.starts_with(&format!("- {LEFT_OUT}")));
    let lines: Vec<&str> = lines.filter(|line| !squeezed(line).is_empty()).collect();
    let standing = lines.iter().filter(|line| stands(line, &summary)).count();
    (lines.len(), standing)
}

/// Whether a line stands in a text without white space, whatever place it bears. Of a list of files each can.
fn stands(line: &str, summary: &str) -> bool {
    let item = line.strip_prefix("- ").unwrap_or(line);
    let behind = item.strip_prefix('[').and_then(|rest| rest.split_once("] "));
    let is_place = |place: &str| SourcePlace::parse(place).is_some();
    let item = behind.filter(|(place, _)| is_place(place)).map_or(item, |(_, rest)| rest);
    let files = FileAction::ALL.into_iter().find_map(|action| item.strip_prefix(&format!("{action:?}: ")));
    let is_there = |part: &str| summary.contains(&squeezed(part));
    if item.starts_with(TASK) {
        // Its places have a round later.
        return item.split('[').all(|part| is_there(part.split_once(']').map_or(part, |(_, rest)| rest)));
    }
    match files {
        Some(files) => files.split(", ").all(|file| is_there(file.split(" [").next().unwrap_or(file))),
        None => is_there(item),
    }
}

/// A text without white space and marks of gaps. The fence escapes what could end it.
fn squeezed(text: &str) -> String {
    text.replace("&lt;", "<").chars().filter(|c| !c.is_whitespace() && *c != '…').collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLAUDE: &str = "This session is being continued from a previous conversation that ran out of context. The conversation is summarized below:";
    const GO_ON: &str = "Please continue the conversation from where we left it off without asking the user any further questions. Continue with the last task.";

    #[test]
    fn a_frame_is_cut_where_its_agent_writes_it() {
        for (text, inside) in [
            ("<summary>Never water bed 9.</summary>".to_owned(), "Never water bed 9."),
            ("<summary>\na\nb\n</summary>\n".to_owned(), "a\nb"),
            ("<analysis>hm</analysis>\n\n<summary>a</summary>".to_owned(), "a"),
            (format!("{CLAUDE}\n<analysis>\nhm\n</analysis>\n\nSummary:\n1. a\n\n{GO_ON}"), "1. a"),
            (format!("{CLAUDE}\nAnalysis:\nhm\n\nSummary:\n1. a\n{GO_ON}"), "1. a"),
            (format!("{CLAUDE}\n\n<summary>a</summary>"), "a"),
        ] {
            assert_eq!(without_frame(&text), inside, "{text}");
        }
    }

    #[test]
    fn elsewhere_the_same_words_are_of_the_summary() {
        for text in [
            "a\n\nSummary:\nb",
            "The parser reads </analysis> tags.\nb",
            "Continue the conversation from the list.\nb",
            "Please continue the conversation with Mia.",
            "This session is being continued.\n- a",
            "a\n<summary>b</summary>\nc",
            "<analysis>only this</analysis>",
            "a <summary>b</summary>",
        ] {
            assert_eq!(without_frame(text), text);
        }
    }
}

#[cfg(test)]
mod line_tests {
    use super::*;

    #[test]
    fn lines_of_all_kinds() {
        let digest = "## State\n- Changed: a.md [3], b.md [1:4]\n- Left out: 2 lines of the state.\n## Commands and calls, the last run of each\n- [5] `make` → ok";
        let next = "## State\n- Changed: b.md [1:4], c.md [1], a.md [2:3]";
        let ours = format!("Earlier:\n\n{}", fence::wrap(digest));
        assert_eq!(lines_standing(&ours, "Earlier:\n\n", next), (2, 1));
        assert_eq!(lines_standing(&ours, "Earlier:\n\n", ""), (2, 0));
        let foreign = "<summary>\n## A\n- never\n\n- only</summary>";
        assert_eq!(lines_standing(foreign, "Earlier:\n\n", "- [0] ## A\n  - never …\n- Left out: 1 line"), (3, 2));
    }
}
