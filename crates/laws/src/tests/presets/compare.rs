//! Compares tcompact's output for a case with the recorded one.

use std::fmt::Write;

use crate::plan::carried::{self, carried};
use crate::plan::summaries::mark_summaries;
use crate::plan::{CutPolicy, Plan, plan, total};
use crate::presets::pairs::moved_cut;
use crate::tokens::Tally;
use crate::transcript::framing::Document;
use crate::transcript::json::{Json, JsonKind};
use crate::transcript::source::Source;
use crate::transcripts::{json, read};
use crate::whole::text_of;
use tcompact::internals::{Settings, Status, TaskResult, write_section};

use super::case::{Case, repr, text, unsigned};

/// Marks earlier summaries, as the program does when it reads a transcript.
fn mark(document: &mut Document<'_>, settings: &Settings) {
    let Settings { policy, .. } = settings;
    document.transcripts.iter_mut().for_each(|one| mark_summaries(one, &policy.cut, policy.summary.role));
}

/// Compares total, trigger and cutoff.
pub(super) fn compare_plan(case: &Case<'_>, settings: &Settings, source: &str, before: usize, out: &mut String) {
    let Ok(mut document) = read(source, settings.input.from, None) else { return };
    mark(&mut document, settings);
    let transcript = &document.transcripts[0];
    let tally = Tally::new(settings.policy.counter, &transcript.messages);
    if let Some(expected) = unsigned(case.expected("total_tokens")) {
        let found = total(transcript, &tally, &settings.policy.cut);
        if found != expected {
            let _ = writeln!(out, "total {found} and not {expected}");
        }
    }
    let truncated = settings.policy.truncation.as_ref().map(|truncation| {
        truncation.edits(transcript, truncation.old_messages(transcript, &tally, &settings.policy.cut))
    });
    let source = crate::rewrite::apply(source, &truncated.unwrap_or_default());
    let mut document = read(&source, settings.input.from, None).expect("a transcript");
    mark(&mut document, settings);
    let transcript = &document.transcripts[0];
    let tally = Tally::new(settings.policy.counter, &transcript.messages);
    let decided: Plan = plan(transcript, &tally, &settings.policy.cut, moved_cut);
    if let Some(expected) = case.expected("triggered") {
        let over = case.is_expected("over_budget");
        let expected = expected.raw() == "true" || case.is_given("force") || over;
        if decided.triggered != expected {
            let _ = writeln!(out, "triggered {} and not {expected}", decided.triggered);
        }
    }
    let forced = CutPolicy { triggers: Vec::new(), budget: None, ..settings.policy.cut.clone() };
    let rules = crate::plan::Rules { without_trigger: true, ..forced.rules };
    let forced = plan(transcript, &tally, &CutPolicy { rules, ..forced }, moved_cut);
    if let Some(expected) = unsigned(case.expected("cutoff")) {
        let expected = if expected == 0 { 0 } else { expected as usize + before };
        let all_stay = forced.reason.as_deref() == Some("every message before the cut is pinned");
        let left = all_stay && !case.is_expected("summarized");
        if forced.cutoff != expected && !left {
            let _ = writeln!(out, "cutoff {} and not {expected}: {:?}", forced.cutoff, forced.reason);
        }
    }
}

pub(super) fn compare_prompts(case: &Case<'_>, prompts: &[String], out: &mut String) {
    let expected: Vec<String> = case
        .expected("prompts")
        .into_iter()
        .flat_map(|prompts| prompts.items())
        .filter_map(|one| text(Some(one)))
        .collect();
    if prompts != expected {
        let _ = writeln!(out, "prompts\n{prompts:#?}\nand not\n{expected:#?}");
    }
}

pub(super) fn compare_result(
    case: &Case<'_>,
    settings: &Settings,
    source: &str,
    before: usize,
    outcome: TaskResult,
    out: &mut String,
) {
    let is_compacted = outcome.status == Status::Compacted;
    if is_compacted != case.is_expected("summarized") {
        let _ = writeln!(out, "summarized {is_compacted} and not {}", case.is_expected("summarized"));
    }
    compare_files(case, &outcome, out);
    let made = text_of(&outcome, source);
    let (input, result) = (values(source), values(&made));
    let mut found = result.clone();
    if case.system == "deerflow" {
        let mut document = read(&made, settings.input.from, None).expect("a transcript");
        mark(&mut document, settings);
        let summary = carried(&document.transcripts[0], &settings.policy.cut);
        let expected = text(case.expected("summary_text")).or(text(case.given("previous_summary")));
        if summary.as_ref().map(|summary| summary.text.to_string()).filter(|text| !text.is_empty())
            != expected.filter(|text| !text.is_empty())
        {
            let _ = writeln!(out, "summary {summary:?}");
        }
        if let Some(index) = summary.and_then(|summary| summary.index) {
            found.remove(index);
        }
        assert_eq!(carried::KEY, "summary_text");
    }
    let expected: Vec<Json<'_>> = case.expected("messages").into_iter().flat_map(|messages| messages.items()).collect();
    if found.len() != expected.len() {
        let _ = writeln!(out, "{} messages and not {}", found.len(), expected.len());
        return;
    }
    for (found, expected) in found.into_iter().zip(expected) {
        match expected.kind() {
            JsonKind::Number => {
                let index = unsigned(Some(expected)).expect("an index") as usize + before;
                if found.raw() != input[index].raw() {
                    let _ = writeln!(out, "{} and not message {index}", found.raw());
                }
            }
            _ => compare_message(found, expected, out),
        }
    }
}

fn values(source: &str) -> Vec<Json<'_>> {
    let value = json(source);
    value.get("messages").unwrap_or(value).items().collect()
}

/// The recorded note on a result that was moved to a file.
fn moved_note(expected: Json<'_>) -> Option<Json<'_>> {
    let content = expected.get("content")?;
    let in_list = || content.items().find_map(|block| block.at(&["text", "moved"]));
    content.get("moved").or_else(in_list)
}

/// Whether content with a note is as long as the recorded one, names the same file, and shows the same part of the
/// result.
fn matches_note(fields: Json<'_>, moved_note: Json<'_>) -> bool {
    let content = fields.get("content").expect("content");
    let note = text(Some(content)).or_else(|| text(content.items().next()?.get("text"))).expect("a note");
    Some(note.chars().count() as u64) == unsigned(moved_note.get("characters"))
        && note.contains(&text(moved_note.get("path")).expect("a path"))
        && text(moved_note.get("ends")).is_none_or(|ends| note.ends_with(&format!(":\n\n{ends}")))
        && text(moved_note.get("begins")).is_none_or(|begins| note.starts_with(&format!("{begins}\n\n[")))
}

/// Compares a new message with the recorded one, in the members that the latter has.
fn compare_message(found: Json<'_>, expected: Json<'_>, out: &mut String) {
    let fields = found.get("data").unwrap_or(found);
    let role = text(found.get("role").or(found.get("type"))).unwrap_or_default();
    let role = match role.as_str() {
        "human" => "user",
        "ai" => "assistant",
        other => other,
    };
    let mut differs = text(expected.get("role")).as_deref() != Some(role);
    let is_note = moved_note(expected);
    if let Some(moved_note) = is_note
        && !matches_note(fields, moved_note)
    {
        let _ = writeln!(out, "note\n{}\nand not\n{}", found.raw(), moved_note.raw());
    }
    let blocks = |json: Json<'_>| json.get("content").map(|content| content.items().count());
    differs |= blocks(fields) != blocks(expected) && is_note.is_none_or(|_| blocks(expected) != Some(0));
    for key in ["content", "name", "tool_call_id"].into_iter().skip(usize::from(is_note.is_some())) {
        let value = |json: Json<'_>| json.get(key).filter(|value| value.kind() != JsonKind::Null).map(repr);
        // An empty list of a message with a role is read as an empty text.
        let is_empty = |value: &String| value == "''" || value == "[]" && found.get("role").is_some();
        let empty = |value: Option<String>| value.filter(|value| !is_empty(value));
        differs |= empty(value(fields)) != empty(value(expected));
    }
    let calls = |json: Json<'_>| -> Vec<String> {
        let calls = json.get("tool_calls").into_iter().flat_map(|calls| calls.items());
        calls
            .map(|call| {
                let function = call.get("function").unwrap_or(call);
                let arguments = function.get("arguments").or(function.get("args")).expect("arguments");
                match arguments.text() {
                    Some(text) => {
                        repr(Source::of_arguments(&text.decode_json()).expect("JSON").first().expect("a value"))
                    }
                    None => repr(arguments),
                }
            })
            .collect()
    };
    differs |= calls(fields) != calls(expected);
    // The chat format has no place for these.
    if found.get("type").is_some() && found.get("role").is_none() {
        let kwargs = |json: Json<'_>| json.get("additional_kwargs").filter(|kwargs| !kwargs.is_falsy()).map(repr);
        differs |= expected.get("index").is_none() && kwargs(fields) != kwargs(expected);
    }
    if differs {
        let _ = writeln!(out, "message\n{}\nand not\n{}", found.raw(), expected.raw());
    }
}

fn compare_files(case: &Case<'_>, outcome: &TaskResult, out: &mut String) {
    if case.system != "deepagents" {
        return;
    }
    // What is compared is the file, as it is written.
    let mut file = Vec::new();
    for section in &outcome.archived.sections {
        write_section(&mut file, section, "<TS>").expect("memory takes it");
    }
    let found = String::from_utf8(file).expect("text");
    let expected = text(case.expected("history_file")).unwrap_or_default();
    if found != expected {
        let _ = writeln!(out, "history\n{found}\nand not\n{expected}");
    }
    let names = |of: &str| {
        let of = format!("/{of}/");
        let files = outcome
            .archived
            .files
            .iter()
            .filter_map(|(path, _)| path.to_str()?.split_once(&of).map(|(_, name)| name.to_owned()));
        let mut names: Vec<String> = files.collect();
        names.sort();
        names
    };
    let media: Vec<String> = case
        .expected("media_files")
        .into_iter()
        .flat_map(|names| names.items())
        .filter_map(|name| text(Some(name)))
        .collect();
    if names("media") != media {
        let _ = writeln!(out, "media {:?} and not {media:?}", names("media"));
    }
    let results = case.expected("large_tool_results");
    let results: Vec<_> = results.into_iter().flat_map(|results| results.entries()).collect();
    let mut large: Vec<String> = results.iter().map(|(name, _)| name.decode().into_owned()).collect();
    large.sort();
    if names("large_tool_results") != large {
        let _ = writeln!(out, "results {:?} and not {large:?}", names("large_tool_results"));
    }
    for (name, text) in results {
        let named = |path: &std::path::Path| path.file_name().is_some_and(|file| name.is(&file.to_string_lossy()));
        let file = outcome.archived.files.iter().find(|(path, _)| named(path));
        let text = text.text().expect("text").decode();
        // Where DeepAgents overwrites the first result of an id, tcompact keeps both.
        if !file.is_some_and(|(_, bytes)| bytes.ends_with(text.as_bytes())) {
            let _ = writeln!(out, "the result in {} is another", name.decode());
        }
    }
}
