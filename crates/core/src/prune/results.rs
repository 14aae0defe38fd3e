//! Results of old calls. Each is replaced by a line with the tool, the size, and where to find the result again.

use crate::transcript::media::without_data;
use crate::transcript::tools::{Access, ToolUse};
use crate::transcript::users_words::tells_of_user;

use crate::prune::note::{in_tokens, is_pruned, note};
use crate::prune::rule::{Amount, IsReplaced, ProposedChange, RuleKind, replace_result};
use crate::prune::scene::{Age, Scene, ToolResult};
use crate::prune::way_back::first_error_line;
use crate::redact::beginning;

pub(super) const KIND: RuleKind = RuleKind {
    name: "results",
    takes: "SIZE",
    about: "results of tool calls older than SIZE (5: all but the last five) become one line",
    default: Amount::Age(Age::NotLast(5)),
    find,
};

/// Characters that stay of a line.
const LONGEST_LINE: usize = 200;
/// The longest path that a note names, in characters.
const LONGEST_PATH: usize = 80;

fn find(scene: &Scene<'_, '_>, amount: Amount, is_replaced: &IsReplaced<'_>) -> Vec<ProposedChange> {
    let Amount::Age(age) = amount else { return Vec::new() };
    let results = scene.results();
    let messages: Vec<usize> = results.iter().map(|result| result.message).collect();
    let mut changes = Vec::new();
    for (result, is_old) in results.iter().zip(scene.is_old(age, &messages)) {
        if is_old && scene.may_touch(result) && !is_replaced(result) {
            changes.extend(remove(scene, result));
        }
    }
    changes
}

fn remove(scene: &Scene<'_, '_>, result: &ToolResult<'_, '_>) -> Option<ProposedChange> {
    let text = result.text();
    if is_pruned(text) {
        return None;
    }
    let tokens = scene.tokens(result);
    let name = result.tool();
    let what = if result.has_failed() { "error" } else { "result" };
    let outcome = if result.is_outcome() { outcome(&without_data(text)) } else { String::new() };
    let size = in_tokens(tokens);
    let again = found_again(scene, result, result.call_use());
    replace_result(scene, result, tokens, &note(&format!("{name} {what} removed, {size}{outcome}{again}")))
}

/// What a note says of an outcome: the first line that names an error, and the last line.
fn outcome(text: &str) -> String {
    let Some(last) = last_line(text) else { return String::new() };
    match first_error_line(text).map(clipped) {
        Some(error) if !last.contains(&error) => format!("; it said: {error}; it ended: {last}"),
        _ => format!("; it ended: {last}"),
    }
}

/// Where a removed result can be found again.
fn found_again(scene: &Scene<'_, '_>, result: &ToolResult<'_, '_>, call: &ToolUse) -> String {
    if let Some(archive) = scene.archive {
        return archive.place_of(result.message);
    }
    match call.files.as_slice() {
        // What the user refused is not to be called again.
        _ if result.is_refused => "; the user did not allow it".to_owned(),
        _ if tells_of_user(result.text()) => String::new(),
        _ if result.name.is_none() => String::new(),
        [file] if file.access == Access::Read && file.path.chars().count() <= LONGEST_PATH => {
            format!("; read {} again if needed", file.path)
        }
        _ => "; call it again if needed".to_owned(),
    }
}

/// The last line with any words.
fn last_line(text: &str) -> Option<String> {
    let mut lines = text.lines().rev().map(str::trim).filter(|line| line.contains(char::is_alphanumeric));
    let last = lines.next()?;
    // The line before a bare exit code says more.
    if is_exit_code(last)
        && let Some(before) = lines.next()
    {
        return Some(clipped(&format!("{before}; {last}")));
    }
    Some(clipped(last))
}

/// The beginning of a line, with … where it is cut.
pub(super) fn clipped(line: &str) -> String {
    let mut shown = beginning(line, LONGEST_LINE).to_owned();
    if shown.len() < line.len() {
        shown.push('…');
    }
    shown
}

/// Whether a line is nothing but the exit code of a command.
fn is_exit_code(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    let code = line.trim_matches(|c: char| !c.is_alphanumeric()).trim_start_matches("process ");
    for mark in ["exit code", "exit status", "exited with code", "returncode"] {
        if let Some(rest) = code.strip_prefix(mark) {
            return !rest.contains(char::is_alphabetic) || rest.ends_with("/returncode");
        }
    }
    false
}
