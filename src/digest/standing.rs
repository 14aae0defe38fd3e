//! Which lines of an earlier summary stand in a new one.

use crate::digest::earlier::without_frame;
use crate::digest::grammar::{LEFT_OUT, SourcePlace, is_heading};
use crate::transcript::fence;
use crate::transcript::tools::actions::FileAction;

/// Returns how many lines an earlier summary has, and how many of them stand in `summary`. Headings of digests and counts do
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
    match files {
        Some(files) => files.split(", ").all(|file| is_there(file.split(" [").next().unwrap_or(file))),
        None => is_there(item),
    }
}

/// Returns a text without white space and marks of gaps. The fence escapes what could end it.
fn squeezed(text: &str) -> String {
    text.replace("&lt;", "<").chars().filter(|c| !c.is_whitespace() && *c != '…').collect()
}

#[cfg(test)]
mod tests {
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
