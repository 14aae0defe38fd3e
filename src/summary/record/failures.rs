//! Finds out why a call failed, and which step of a command chain did.

use serde_json::Value;

use crate::summary::record::cues;
use crate::summary::record::outcome::{CommandOutcome, reports_success};
use crate::summary::record::segmentation::{GAP, clip_middle};
use crate::transcript::tools::argument;
use crate::wording::one_line;

/// Returns why a call failed; `None` if its result reports no failure.
pub(super) fn failure_reason(result: &str, is_marked: bool) -> Option<String> {
    const LONGEST: usize = 160;
    if let Some(reason) = reason_in_json(result) {
        return Some(clip_middle(&one_line(&reason), LONGEST));
    }
    let text = result.trim_start().trim_start_matches("<tool_use_error>").trim_start_matches("<error>");
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("");
    let opening: String = line.chars().take(200).collect();
    let opens = opening.to_lowercase();
    let starts_with_failure = [
        "error",
        "failed",
        "exit code",
        "traceback",
        "fatal",
        "no replacement",
        "invalid",
        "cannot",
        "could not",
        "unable",
        "✗",
        "✘",
        "错误",
        "失败",
        "无法",
    ]
    .iter()
    .any(|word| opens.starts_with(word));
    let reports_failure =
        cues::UNDONE.is_in(&opening) && (!cues::WENT_WELL.is_in(&opening) || cues::NOTHING_DONE.is_in(&opening));
    if !(is_marked || starts_with_failure || reports_failure && line.len() < 300) {
        return None;
    }
    let line = line.trim_end_matches("</tool_use_error>").trim_end_matches("</error>").trim();
    let line = if line.is_empty() { "failed" } else { line };
    Some(clip_middle(&line.replace(['{', '}', '"'], ""), LONGEST))
}

/// Returns why a result that is a JSON object says that its call failed: `{"success": false, "error": "disk full"}`.
fn reason_in_json(result: &str) -> Option<String> {
    /// Most bytes of such a result. One with content is longer.
    const LONGEST_RESULT: usize = 2_000;
    let text = result.trim();
    let object = Some(text).filter(|text| text.starts_with('{') && text.len() <= LONGEST_RESULT)?;
    let object: Value = serde_json::from_str(object).ok()?;
    let has_failed = ["success", "ok"].iter().any(|key| object.get(key) == Some(&Value::Bool(false)))
        || object.get("status").and_then(Value::as_str).is_some_and(|status| matches!(status, "error" | "failed"));
    let reason = ["error", "message", "reason"].iter().find_map(|key| argument(&object, &[key]));
    has_failed.then(|| reason.unwrap_or_else(|| "failed".to_owned()))
}

/// Returns which step of a command chain failed, judged by the output; `None` if that is not certain.
pub(super) fn failed_step(labels: &[String], command: &str, result: &str, outcome: &CommandOutcome) -> Option<usize> {
    /// Most steps of a chain that is searched.
    const MOST: usize = 16;
    if labels.len() == 1 {
        return Some(0);
    }
    if labels.len() > MOST {
        return None;
    }
    let words = |step: &str| -> Vec<String> {
        let words = step.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| word.len() > 2);
        words.map(str::to_lowercase).collect()
    };
    let own: Vec<Vec<String>> = labels
        .iter()
        .enumerate()
        .map(|(at, step)| {
            let others: Vec<String> =
                labels.iter().enumerate().filter(|(other, _)| *other != at).flat_map(|(_, step)| words(step)).collect();
            words(step).into_iter().filter(|word| !others.contains(word)).collect()
        })
        .collect();
    let only = |named: Vec<usize>| <[usize; 1]>::try_from(named).ok().map(|[at]| at);
    let names = |line: &str| {
        let words_of_line = words(line);
        only((0..own.len()).filter(|at| own[*at].iter().any(|word| words_of_line.contains(word))).collect())
    };
    // `flash: no device` comes from flash_board.sh, and an error of LaTeX from lualatex.
    let programs: Vec<String> = labels.iter().map(|step| program_of(step)).collect();
    let names_part = |line: &str| {
        let label = line.split_once(':').map(|(label, _)| label.trim().to_lowercase()).unwrap_or_default();
        let words_of_line = words(line);
        let is_part = |at: &usize| {
            let program = &programs[*at];
            label.len() > 2 && program.starts_with(&label)
                || words_of_line.iter().any(|word| word.len() > 3 && program != word && program.ends_with(word))
        };
        only((0..own.len()).filter(is_part).collect())
    };
    let complaints = || outcome.lines.iter().filter(|line| !reports_success(line));
    let in_line = complaints().find_map(|line| names(line));
    // The step that the last matching line names failed.
    let last_named =
        || result.lines().filter(|line| line.len() < 400 && !reports_success(line)).filter_map(names).next_back();
    // A step that reported success before the first error did not fail.
    let before_last = || {
        // A long line has lost its middle.
        let opening = outcome.lines.first()?.split(GAP).next()?.trim_end();
        let complaint = result.find(opening)?;
        let went_well = result[..complaint].lines().any(reports_success);
        (went_well && labels.len() == 2).then_some(1)
    };
    let in_part = || complaints().find_map(|line| names_part(line));
    in_line.or_else(before_last).or_else(in_part).or_else(last_named).filter(|_| !command.contains("||"))
}

/// Returns the name of a step's program in lower case, without its folder and extension.
fn program_of(step: &str) -> String {
    let program = step.split_whitespace().find(|word| !word.contains('=')).unwrap_or("");
    let name = program.rsplit('/').next().unwrap_or(program);
    name.split('.').next().unwrap_or(name).to_lowercase()
}
