//! A summary that somebody else wrote: its text without the frame of its agent, and which of its lines are told.
//!
//! Lines with a cue come first, then the first line below each heading, the second, and so on. They are shown in their
//! order, each below its own headings.
//!
//! Also: which lines of an earlier summary stand in a new one.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::digest::clip::{self, add_pieces, indented};
use crate::digest::cues::has_cue;
use crate::digest::grammar::{LEFT_OUT, SourcePlace, TASK, is_heading};
use crate::tokens::Counter;
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

/// A line, or a sentence of a long one.
struct SummaryPiece {
    range: Range<usize>,
    /// The number of the line.
    line: usize,
    /// What it stands below: a heading, or an item with a smaller indentation.
    parent: Option<usize>,
    is_heading: bool,
}

/// What is told of a summary in at most `most` tokens, and how many of its lines are left out.
pub(super) fn told(text: &str, counter: Counter, most: u64) -> (String, usize) {
    let pieces = pieces(text);
    let mut left = most;
    let mut shown: BTreeSet<usize> = BTreeSet::new();
    for at in order(text, &pieces) {
        let above = std::iter::successors(Some(at), |&at| pieces[at].parent);
        let new: Vec<usize> = above.take_while(|at| !shown.contains(at)).collect();
        let cost = |&at: &usize| counter.count_text(&indented(&text[pieces[at].range.clone()])) + 2;
        let cost = new.iter().map(cost).sum();
        if let Some(less) = left.checked_sub(cost) {
            left = less;
            shown.extend(new);
        }
    }
    let lines: BTreeSet<usize> = pieces.iter().map(|piece| piece.line).collect();
    let told: BTreeSet<usize> = shown.iter().map(|&at| pieces[at].line).collect();
    let ranges: Vec<Range<usize>> = shown.iter().map(|&at| pieces[at].range.clone()).collect();
    let shown = if ranges.is_empty() { String::new() } else { indented(&clip::shown(text, ranges)) };
    (shown, lines.len() - told.len())
}

/// The pieces that are not headings, in the order in which they are chosen.
fn order(text: &str, pieces: &[SummaryPiece]) -> Vec<usize> {
    // How many lines stand below each heading so far.
    let mut below = vec![0_usize; pieces.len() + 1];
    let mut order: Vec<(bool, usize, usize)> = Vec::new();
    for (at, piece) in pieces.iter().enumerate().filter(|(_, piece)| !piece.is_heading) {
        let heading = std::iter::successors(piece.parent, |&at| pieces[at].parent).find(|&at| pieces[at].is_heading);
        let below = &mut below[heading.unwrap_or(pieces.len())];
        *below += 1;
        let is_rule = has_cue(&text[piece.range.clone()]);
        order.push((!is_rule, if is_rule { 0 } else { *below }, at));
    }
    order.sort_unstable();
    order.into_iter().map(|(_, _, at)| at).collect()
}

/// Cuts a summary into pieces, in order.
fn pieces(text: &str) -> Vec<SummaryPiece> {
    /// Levels: of a heading without a number of marks, and of lines, which have two for each column of indentation.
    const HEADING: usize = 7;
    const LINE: usize = 20;
    let mut pieces: Vec<SummaryPiece> = Vec::new();
    // What the next line can stand below, with their levels.
    let mut above: Vec<(usize, usize)> = Vec::new();
    let (mut at, mut is_code, mut is_behind_blank) = (0, false, false);
    for (line, shown) in text.split_inclusive('\n').enumerate() {
        let start = at;
        at += shown.len();
        let content = shown.trim();
        if content.is_empty() || content.chars().all(|c| c == clip::GAP) {
            is_behind_blank |= content.is_empty();
            continue;
        }
        let is_fence = content.starts_with("```");
        let in_code = is_code || is_fence;
        is_code ^= is_fence;
        let indent = shown.len() - shown.trim_start().len();
        let announces = content.ends_with([':', '：']) || content.ends_with(":**");
        let is_heading = !in_code && (announces || clip::is_heading(content));
        let level = match content.len() - content.trim_start_matches('#').len() {
            _ if in_code => LINE + 2 * indent + 1,
            marks @ 1.. if is_heading => marks.min(HEADING),
            _ if is_heading && !announces => HEADING,
            _ => LINE + 2 * indent + usize::from(!is_heading),
        };
        // A paragraph ends a list and its announcement.
        let ends_list = is_behind_blank && indent == 0 && !in_code && !clip::is_item(content);
        above.retain(|(known, _)| *known < level && !(ends_list && *known >= LINE));
        is_behind_blank = false;
        let parent = above.last().map(|(_, at)| *at);
        above.push((level, pieces.len()));
        let whole = start..start + shown.trim_end().len();
        let mut parts = Vec::new();
        if content.len() > clip::LONGEST && !is_heading {
            add_pieces(text, whole.clone(), clip::LONGEST, &mut parts);
        }
        let ranges = parts.into_iter().map(|part| part.range).filter(|range| !range.is_empty());
        let mut ranges: Vec<Range<usize>> = ranges.collect();
        if ranges.is_empty() {
            ranges.push(whole);
        }
        pieces.extend(ranges.into_iter().map(|range| SummaryPiece { range, line, parent, is_heading }));
    }
    pieces
}

/// How many lines an earlier summary has, and how many of them stand in `summary`. Headings of digests and counts do
/// not count. The earlier summary is a whole message of ours with this `prefix`, or the text of another agent's.
pub(crate) fn lines_standing(earlier: &str, prefix: &str, summary: &str) -> (usize, usize) {
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

    #[test]
    fn rules_come_first_below_their_headings() {
        let filler = |name: &str| format!("## {name}\n- one of {name}\n- two of {name}\n\n");
        let text = format!(
            "{}## Rules\n### Of Mia\n- never push\n{}Done:\n  - it was read\n  - Sub:\n    - only at night\n",
            filler("A"),
            filler("B")
        );
        let (shown, left_out) = told(&text, Counter::APPROX, 34);
        assert_eq!(
            shown,
            "… ## Rules\n  ### Of Mia\n  - never push\n  ## B …\n  Done: …\n    - Sub:\n      - only at night"
        );
        assert_eq!(left_out, 6);
        let (shown, left_out) = told(&text, Counter::APPROX, 1_000);
        assert_eq!((shown.matches('…').count(), left_out), (0, 0), "{shown}");
    }

    #[test]
    fn a_heading_stands_neither_alone_nor_over_others() {
        let text = "## A\n\n## B\n- b is a long line of the summary\n\n**C**\n\nIt is c and as long as the other.\n";
        for most in 0..60 {
            let (shown, _) = told(text, Counter::APPROX, most);
            assert!(!shown.contains("## A"), "{shown}");
            assert_eq!(shown.contains("## B"), shown.contains("b is"), "{shown}");
            assert_eq!(shown.contains("**C**"), shown.contains("It is c"), "{shown}");
        }
    }

    #[test]
    fn long_lines_are_told_by_their_sentences() {
        let text = format!(
            "{}You must never deploy on Fridays. {}",
            "It went well today. ".repeat(40),
            "So did that. ".repeat(30)
        );
        let (shown, left_out) = told(&text, Counter::APPROX, 12);
        assert_eq!((shown.as_str(), left_out), ("… You must never deploy on Fridays. …", 0));
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
