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
        if let Some(analysis) = rest.strip_prefix("Analysis:")
            && let Some((_, summary)) = analysis.split_once("\nSummary:\n")
        {
            rest = summary;
        }
        rest = rest.strip_prefix("Summary:\n").unwrap_or(rest).trim_start();
    }
    rest = without_analysis(rest);
    if let Some(opened) = rest.strip_prefix("<summary>")
        && let Some(inside) = opened.strip_suffix("</summary>")
    {
        rest = inside;
    }
    rest.trim()
}

/// A text behind the analysis with which it begins. An analysis alone stays.
fn without_analysis(text: &str) -> &str {
    let Some(analysis) = text.strip_prefix("<analysis>") else { return text };
    let Some((_, behind)) = analysis.split_once("</analysis>") else { return text };
    let behind = behind.trim();
    if behind.is_empty() { text } else { behind }
}

/// How many lines an earlier summary has, and how many of them stand in `summary`. Headings of digests and counts do
/// not count. The earlier summary is a whole message of ours with this `prefix`, or the text of another agent's.
pub fn lines_standing(earlier: &str, prefix: &str, summary: &str) -> (usize, usize) {
    let inside = match earlier.strip_prefix(prefix.trim_end()) {
        Some(fenced) => fence::opened(fenced),
        None => earlier,
    };
    let summary = squeezed(summary);
    let count_opening = format!("- {LEFT_OUT}");
    let (mut lines, mut standing) = (0, 0);
    for line in without_frame(inside).lines() {
        let line = line.trim();
        if is_heading(line) || line.starts_with(&count_opening) || squeezed(line).is_empty() {
            continue;
        }
        lines += 1;
        standing += usize::from(stands(line, &summary));
    }
    (lines, standing)
}

/// Whether a line stands in a text without white space, whatever place it bears. Of a list of files each can.
fn stands(line: &str, summary: &str) -> bool {
    let item = without_place(line.strip_prefix("- ").unwrap_or(line));
    if item.starts_with(TASK) {
        // Its places have a round later.
        for part in item.split('[') {
            let text = part.split_once(']').map_or(part, |(_, behind)| behind);
            if !summary.contains(&squeezed(text)) {
                return false;
            }
        }
        return true;
    }
    for action in FileAction::ALL {
        let Some(files) = item.strip_prefix(&format!("{action:?}: ")) else { continue };
        for file in files.split(", ") {
            let path = file.split(" [").next().unwrap_or(file);
            if !summary.contains(&squeezed(path)) {
                return false;
            }
        }
        return true;
    }
    summary.contains(&squeezed(item))
}

/// An item of a list behind the place with which it begins.
fn without_place(item: &str) -> &str {
    match item.strip_prefix('[').and_then(|rest| rest.split_once("] ")) {
        Some((place, text)) if SourcePlace::parse(place).is_some() => text,
        _ => item,
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
