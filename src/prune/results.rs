//! Results of old calls: each becomes a line that says which tool gave it, how large it was, and where it is found again.

use crate::transcript::tools::Access;

use crate::prune::note::{in_tokens, instead, is_pruned, note};
use crate::prune::rule::{Amount, Change, Kind};
use crate::prune::scene::{Age, Scene, ToolResult};

pub(super) const KIND: Kind = Kind {
    name: "results",
    takes: "SIZE",
    about: "results of tool calls older than SIZE (5: all but the last five) become one line",
    default: Amount::Age(Age::NotLast(5)),
    find,
};

/// Characters of an error's last line that stay.
const LONGEST_LINE: usize = 200;
/// Characters of a path that is named.
const LONGEST_PATH: usize = 80;

fn find(scene: &Scene<'_, '_>, amount: Amount) -> Vec<Change> {
    let Amount::Age(age) = amount else { return Vec::new() };
    let results = scene.results();
    let messages: Vec<usize> = results.iter().map(|result| result.message).collect();
    let old = scene.is_old(age, &messages);
    let old = results.iter().zip(old).filter(|(result, is_old)| *is_old && scene.may_touch(result));
    old.filter_map(|(result, _)| removed(scene, result)).collect()
}

fn removed(scene: &Scene<'_, '_>, result: &ToolResult<'_, '_>) -> Option<Change> {
    let text = result.text();
    if is_pruned(&text) {
        return None;
    }
    let tokens = scene.tokens(result, &text);
    let name = result.tool();
    let (what, why) = match result.has_failed(&text) {
        true => ("error", last_line(&text).map(|line| format!("; it ended: {line}")).unwrap_or_default()),
        false => ("result", String::new()),
    };
    let told = in_tokens(tokens);
    let again = found_again(scene, result);
    instead(scene, result, tokens, &note(&format!("{name} {what} removed, {told}{why}{again}")))
}

/// Where what is removed can be found again.
fn found_again(scene: &Scene<'_, '_>, result: &ToolResult<'_, '_>) -> String {
    if let Some(archive) = scene.archive {
        return format!("; it is kept in {archive}");
    }
    match result.call_use().files.as_slice() {
        _ if result.call.is_none() => String::new(),
        [file] if file.access == Access::Read && file.path.chars().count() <= LONGEST_PATH => {
            format!("; read {} again if needed", file.path)
        }
        _ => "; call it again if needed".to_owned(),
    }
}

/// The last line that says something.
fn last_line(text: &str) -> Option<String> {
    let line = text.lines().rev().map(str::trim).find(|line| line.chars().any(char::is_alphanumeric))?;
    let mut shown: String = line.chars().take(LONGEST_LINE).collect();
    if shown.len() < line.len() {
        shown.push('…');
    }
    Some(shown)
}
