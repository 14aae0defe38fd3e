//! Reads a digest back from an earlier summary, by its own grammar: a heading, items that begin with `- `, and lines behind
//! them that begin with two spaces. What is read keeps its section, and so its speaker.

use crate::digest::Digest;
use crate::digest::files::FileNote;
use crate::digest::grammar::{
    ARROW, ASKED, EARLIER, EARLIER_AMONG, FAILED_BEFORE, FAILED_EDIT, FOLDER, HEADINGS, LAST, LAST_EDIT, LEFT_OUT,
    LOADED, MISSING, Place, RUNS, SAID, STATE, THE_ASSISTANT, THE_USER, THOUGHT, UNCHECKED, USER, is_heading,
    read_more, split_alike,
};
use crate::digest::outcome::Ended;
use crate::digest::plan::TodoItem;
use crate::digest::runs::CallRun;
use crate::digest::said::{Said, SaidKind};
use crate::digest::user::UserMessage;
use crate::transcript::lazy_text::LazyText;
use crate::transcript::tools::ToolUse;
use crate::transcript::tools::actions::FileAction;
use crate::transcript::tools::purpose::purpose_of;

/// Reads an earlier summary of ours into a digest: a whole one, or what stands beside a model's summary. Returns whether
/// it is one.
pub(super) fn read_into<'a>(digest: &mut Digest<'a>, place: Place, summary: &str) -> bool {
    let summary = summary.trim_matches('\n');
    let first = summary.split('\n').next().unwrap_or("");
    let (of_model, ours) = if HEADINGS.contains(&first) {
        ("", summary)
    } else if let Some(at) = summary.rfind(&format!("\n{MISSING}\n")) {
        summary.split_at(at)
    } else {
        return false;
    };
    if !of_model.trim().is_empty() {
        digest.earlier.push((place, of_model.trim().to_owned()));
    }
    let mut items: Vec<(&str, String)> = Vec::new();
    let mut section = "";
    for line in ours.split('\n') {
        match (line.strip_prefix("- "), line.strip_prefix("  "), items.last_mut()) {
            (Some(item), _, _) => items.push((section, item.to_owned())),
            (_, Some(rest), Some((_, item))) => item.extend(["\n", rest]),
            _ => section = if is_heading(line) { line } else { section },
        }
    }
    let mut asked = None;
    let mut unknown: Vec<&str> = Vec::new();
    for (section, item) in items.iter().filter(|(section, _)| *section != STATE) {
        if read_item(digest, section, item.trim_start_matches('\n'), &mut asked).is_none() {
            unknown.push(item);
        }
    }
    // The state has what is newest first.
    for (_, item) in items.iter().rev().filter(|(section, _)| *section == STATE) {
        if read_state(digest, item).is_none() {
            unknown.push(item);
        }
    }
    // Somebody else wrote these into it.
    if !unknown.is_empty() {
        digest.earlier.push((place, unknown.join("\n")));
    }
    // The last text may be a report; the others are taken as steps.
    if let Some(last) = digest.said.last_mut().filter(|said| said.place.is_carried()) {
        last.kind = SaidKind::Report;
    }
    true
}

/// Reads an item of a section; `None` if it is not one that a digest has there.
fn read_item<'a>(
    digest: &mut Digest<'a>,
    section: &str,
    item: &str,
    asked: &mut Option<(Place, Box<str>)>,
) -> Option<()> {
    if let Some(count) = item.strip_prefix(LEFT_OUT).and_then(|rest| rest.split(' ').next()?.parse::<usize>().ok()) {
        *match section {
            USER | LAST => &mut digest.left_out.user,
            RUNS => &mut digest.left_out.runs,
            EARLIER | EARLIER_AMONG => &mut digest.left_out.earlier,
            SAID => &mut digest.left_out.said,
            _ => return None,
        } += count;
        return Some(());
    }
    let Some((place, text)) = split_place(digest, item) else {
        return if section == MISSING { read_state(digest, item) } else { None };
    };
    match section {
        EARLIER | EARLIER_AMONG => digest.earlier.push((place, text.to_owned())),
        USER => match text.strip_prefix(ASKED) {
            Some(question) => *asked = Some((place, question.into())),
            None => add_user(digest, place, text, asked.take()),
        },
        LAST if text.starts_with(THE_ASSISTANT) => add_said(digest, place, &text[THE_ASSISTANT.len()..]),
        MISSING | LAST => match text.strip_prefix(THE_USER) {
            Some(words) => add_user(digest, place, words, None),
            None if text.starts_with(FAILED_EDIT) => return read_state(digest, item),
            None => return add_run(digest, place, text),
        },
        RUNS => return add_run(digest, place, text),
        // What was thought then is not thought now.
        SAID if text.starts_with(THOUGHT) => digest.left_out.said += 1,
        SAID => add_said(digest, place, text.trim_start_matches('\n')),
        _ => return None,
    }
    Some(())
}

fn add_said<'a>(digest: &mut Digest<'a>, place: Place, text: &str) {
    digest.said.push(Said { place, text: LazyText::Owned(text.into()), kind: SaidKind::Step });
}

fn add_user<'a>(digest: &mut Digest<'a>, place: Place, text: &str, asked: Option<(Place, Box<str>)>) {
    let (alike, text) = split_alike(text);
    let text = text.trim_start_matches('\n');
    digest.user.push(UserMessage::new(place, LazyText::Owned(text.into()), text, asked).standing_for(alike));
}

/// Reads a line of the state; `None` if a digest has no such line there.
fn read_state(digest: &mut Digest<'_>, item: &str) -> Option<()> {
    if let Some(count) = item.strip_prefix(LEFT_OUT) {
        digest.left_out.state += count.split(' ').next()?.parse::<usize>().ok()?;
        return Some(());
    }
    let Some((place, text)) = split_place(digest, item) else {
        if let Some(folder) = item.strip_prefix(FOLDER) {
            digest.folder = Some(folder.to_owned());
            return Some(());
        }
        let action = FileAction::ALL.into_iter().find(|action| item.starts_with(&format!("{action:?}: ")))?;
        for path in item[format!("{action:?}: ").len()..].rsplit(", ") {
            if let Some((path, index)) = path.strip_suffix(']').and_then(|path| path.rsplit_once(" [")) {
                let place = next_place(digest, index);
                digest.files.add(path.to_owned(), action, place);
            } else {
                digest.files.left_out[action as usize] += read_more(path)?;
            }
        }
        return Some(());
    };
    if let Some(items) = text.strip_prefix("Plan:\n") {
        digest.plan.left_out =
            items.split('\n').next_back().into_iter().flat_map(|end| end.split(", ")).filter_map(read_more).sum();
        digest.plan.items = items.split('\n').filter_map(TodoItem::parse).collect();
        digest.plan.place = Some(place);
        return Some(());
    }
    if let Some(names) = text.strip_prefix(LOADED) {
        let (more, names): (Vec<&str>, Vec<&str>) = names.split(", ").partition(|name| read_more(name).is_some());
        digest.loaded.left_out += more.into_iter().filter_map(read_more).sum::<usize>();
        digest.loaded.add(place, names.into_iter().map(str::to_owned));
        return Some(());
    }
    let note = |opening, separator| {
        let (path, text) = text.strip_prefix(opening)?.split_once(separator)?;
        Some(FileNote { path: path.to_owned(), place, text: text.to_owned() })
    };
    if let Some(failed) = note(FAILED_EDIT, ": ") {
        digest.files.failed.push(failed);
        return Some(());
    }
    digest.files.add_edit(note(LAST_EDIT, ":\n")?);
    Some(())
}

/// Reads the line of a call; `None` if it is not one.
fn add_run<'a>(digest: &mut Digest<'a>, place: Place, text: &str) -> Option<()> {
    let (label, outcome) = text.split_once(ARROW)?;
    // What was not run then may have been run since, and an index was one of that source.
    let outcome = outcome.split_once(UNCHECKED).map_or(outcome, |(outcome, _)| outcome);
    let outcome =
        &outcome.replacen(&format!("{FAILED_BEFORE}["), &format!("{FAILED_BEFORE}[~"), 1).replace("[~~", "[~");
    let command = label.strip_prefix('`').and_then(|label| label.strip_suffix('`')).map(str::to_owned);
    let name = label.split('(').next().unwrap_or("").to_owned();
    let purpose = purpose_of(&name, &ToolUse { command, ..ToolUse::default() }, outcome);
    let ended = if outcome.starts_with("failed") { Ended::Failed(None) } else { Ended::Unknown };
    let carried = Some((label.to_owned(), outcome.to_owned()));
    digest.runs.push(CallRun { purpose, carried, ..CallRun::new(place, ended) });
    Some(())
}

/// Splits the index of a message from the beginning of an item.
fn split_place<'i>(digest: &mut Digest<'_>, item: &'i str) -> Option<(Place, &'i str)> {
    let (index, text) = item.strip_prefix('[')?.split_once(']')?;
    let is_index = |index: &str| !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit());
    let place = is_index(index.trim_start_matches('~')).then(|| next_place(digest, index))?;
    Some((place, text.strip_prefix(' ').unwrap_or(text)))
}

/// Returns the next place that is read back.
fn next_place(digest: &mut Digest<'_>, index: &str) -> Place {
    digest.carried += 1;
    Place::carried(digest.carried, index.trim_start_matches('~').parse().unwrap_or(0))
}
