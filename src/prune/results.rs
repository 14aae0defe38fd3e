//! Results of old calls: each becomes a line that says which tool gave it, how large it was, and where it is found again.

use crate::rewrite::elements;
use crate::tokens::MEDIA_TOKENS;
use crate::transcript::PartKind;
use crate::transcript::tools::{Access, ToolUse};

use crate::prune::note::{counted, is_pruned, note, text_of};
use crate::prune::{Amount, Change, Kind, Scene, ToolResult};

pub(super) const KIND: Kind = Kind {
    name: "results",
    takes: "SIZE",
    about: "results of tool calls older than SIZE (5: all but the last five) become one line",
    default: Amount::Last(5),
    find,
};

/// Characters of an error's last line that stay.
const LONGEST_LINE: usize = 200;
/// Characters of a path that is named.
const LONGEST_PATH: usize = 80;

fn find(scene: &Scene<'_, '_>, amount: Amount) -> Vec<Change> {
    let results = scene.results();
    let messages: Vec<usize> = results.iter().map(|result| result.message).collect();
    let old = scene.is_old(amount, &messages);
    let old = results.iter().zip(old).filter(|(result, is_old)| *is_old && scene.may_touch(result));
    old.filter_map(|(result, _)| removed(scene, result)).collect()
}

fn removed(scene: &Scene<'_, '_>, result: &ToolResult<'_, '_>) -> Option<Change> {
    let text = text_of(&result.output);
    if is_pruned(&text) {
        return None;
    }
    let tokens = tokens(scene, result, &text);
    let name = name_of(result);
    let (what, why) = match failed(result, &text) {
        true => ("error", last_line(&text).map(|line| format!("; it ended: {line}")).unwrap_or_default()),
        false => ("result", String::new()),
    };
    let told = counted(usize::try_from(tokens).unwrap_or(usize::MAX), "token");
    let again = found_again(scene, result);
    instead(scene, result, tokens, &note(&format!("{name} {what} removed, {told}{why}{again}")))
}

/// The change that puts a note in the place of a result that has so many tokens; nothing where that saves nothing.
pub(super) fn instead(scene: &Scene<'_, '_>, result: &ToolResult<'_, '_>, tokens: u64, note: &str) -> Option<Change> {
    let mut edits = result.output.saying(note);
    if edits.is_empty() || scene.counter().count_text(note) >= tokens {
        return None;
    }
    edits.extend(without_copies(scene, result));
    Some(Change { message: result.message, edits, ..Change::default() })
}

/// The edits that take away what repeats a result.
pub(super) fn without_copies(scene: &Scene<'_, '_>, result: &ToolResult<'_, '_>) -> Vec<crate::transcript::edit::Edit> {
    let spans: Vec<_> = result.output.copies.iter().map(|copy| copy.span()).collect();
    elements::without(scene.transcript.source, &spans)
}

/// How large a result is: its texts, and pictures at their flat rate.
pub(super) fn tokens(scene: &Scene<'_, '_>, result: &ToolResult<'_, '_>, text: &str) -> u64 {
    let parts = match &scene.transcript.messages[result.message].content {
        crate::transcript::Content::Parts(parts) => &**parts,
        crate::transcript::Content::Text(_) => &[],
    };
    let span = result.output.value.span();
    let is_inside =
        |part: &crate::transcript::Part<'_>| span.start <= part.json.span().start && part.json.span().end <= span.end;
    let of_results = parts.iter().flat_map(|part| match &part.kind {
        PartKind::Result(crate::transcript::Content::Parts(inner)) => &**inner,
        _ => std::slice::from_ref(part),
    });
    let media =
        of_results.filter(|part| matches!(part.kind, PartKind::Image | PartKind::Media) && is_inside(part)).count();
    scene.counter().count_text(text) + media as u64 * MEDIA_TOKENS
}

/// The tool that gave a result.
pub(super) fn name_of(result: &ToolResult<'_, '_>) -> String {
    let name = result.call.and_then(|call| call.name).map(|name| name.decode().chars().take(LONGEST_PATH).collect());
    name.filter(|name: &String| !name.is_empty()).unwrap_or_else(|| "tool".to_owned())
}

/// Where what is removed can be found again.
fn found_again(scene: &Scene<'_, '_>, result: &ToolResult<'_, '_>) -> String {
    if let Some(archive) = scene.archive {
        return format!("; it is kept in {archive}");
    }
    let Some(call) = result.call else { return String::new() };
    match use_of(call).files.as_slice() {
        [file] if file.access == Access::Read && file.path.chars().count() <= LONGEST_PATH => {
            format!("; read {} again if needed", file.path)
        }
        _ => "; call it again if needed".to_owned(),
    }
}

/// What a call does.
pub(super) fn use_of(call: &crate::transcript::Call<'_>) -> ToolUse {
    let name = call.name.map(|name| name.decode()).unwrap_or_default();
    match call.arguments {
        crate::transcript::Arguments::Text(text) => ToolUse::of(&name, &text.decode()),
        crate::transcript::Arguments::Value(value) => ToolUse::of(&name, value.raw()),
        crate::transcript::Arguments::Absent => ToolUse::default(),
    }
}

/// Whether a tool failed: the format says so, or what it gave begins or ends as errors do.
pub(super) fn failed(result: &ToolResult<'_, '_>, text: &str) -> bool {
    const BEGINS: [&str; 7] = ["error", "<tool_use_error>", "failed", "traceback", "fatal", "exit code", "exception"];
    let opening: String = text.trim_start().chars().take(40).flat_map(char::to_lowercase).collect();
    let is_zero =
        opening.strip_prefix("exit code").is_some_and(|code| code.trim_start_matches([':', ' ']).starts_with('0'));
    result.output.failed
        || !is_zero && BEGINS.iter().any(|begins| opening.starts_with(begins))
        || exit_code(text).is_some_and(|code| code != 0)
}

/// The exit code of a command, where an agent writes it beside the output.
fn exit_code(text: &str) -> Option<i64> {
    const MARKS: [&str; 4] = ["<returncode>", "\"exit_code\":", "exit code: ", "exited with code "];
    const NEAR: usize = 200;
    let near = |mut at: usize| {
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    // It stands at one of the ends.
    let ends = [&text[..near(NEAR.min(text.len()))], &text[near(text.len().saturating_sub(NEAR))..]];
    ends.iter().find_map(|end| {
        MARKS.iter().find_map(|mark| {
            let (_, behind) = end.split_once(mark)?;
            let behind = behind.trim_start();
            let length = behind.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'-').count();
            behind[..length].parse().ok()
        })
    })
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
