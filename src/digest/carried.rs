//! Reads a digest back from an earlier summary, by its own grammar: a heading, items that begin with `- `, and lines behind
//! them that begin with two spaces. What is read keeps its section, and so its speaker.

use crate::digest::Digest;
use crate::digest::clip::GAP;
use crate::digest::files::FileNote;
use crate::digest::grammar::{
    ARROW, ASKED, EARLIER, FAILED_BEFORE, FAILED_EDIT, FOLDER, HEADINGS, LAST, LAST_EDIT, LEFT_OUT, LOADED, MISSING,
    Place, RUNS, SAID, STATE, THE_ASSISTANT, THE_USER, THOUGHT, UNCHECKED, USER, is_heading,
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
        digest.earlier = Some((place, LazyText::Owned(of_model.trim().into())));
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
    for (section, item) in items.iter().filter(|(section, _)| *section != STATE) {
        read_item(digest, section, item.trim_start_matches('\n'), &mut asked);
    }
    // The state has what is newest first.
    for (_, item) in items.iter().rev().filter(|(section, _)| *section == STATE) {
        read_state(digest, item);
    }
    // The last text may be a report; the others are taken as steps.
    if let Some(last) = digest.said.last_mut().filter(|said| said.place.is_carried()) {
        last.kind = SaidKind::Report;
    }
    true
}

/// Reads an item of a section.
fn read_item<'a>(digest: &mut Digest<'a>, section: &str, item: &str, asked: &mut Option<(Place, Box<str>)>) {
    let count = item.strip_prefix(LEFT_OUT).and_then(|rest| rest.split(' ').next()?.parse::<usize>().ok());
    let placed = split_place(digest, item);
    match (section, count, placed) {
        (USER | LAST, Some(count), _) => digest.left_out += count,
        (RUNS, Some(count), _) => digest.runs_left_out += count,
        (EARLIER, _, Some((place, text))) => digest.earlier = Some((place, LazyText::Owned(text.into()))),
        (USER, _, Some((place, text))) => match text.strip_prefix(ASKED) {
            Some(question) => *asked = Some((place, question.into())),
            None => add_user(digest, place, text, asked.take()),
        },
        (LAST, _, Some((place, text))) if text.starts_with(THE_ASSISTANT) => {
            let text = LazyText::Owned(text[THE_ASSISTANT.len()..].into());
            digest.said.push(Said { place, text, kind: SaidKind::Step });
        }
        (MISSING | LAST, _, Some((place, text))) => match text.strip_prefix(THE_USER) {
            Some(words) => add_user(digest, place, words, None),
            None if text.starts_with(FAILED_EDIT) => read_state(digest, item),
            None => add_run(digest, place, text),
        },
        (MISSING, _, None) => read_state(digest, item),
        (RUNS, _, Some((place, text))) => add_run(digest, place, text),
        // What was thought then is not thought now.
        (SAID, _, Some((place, text))) if !text.starts_with(THOUGHT) => {
            let text = LazyText::Owned(text.trim_start_matches('\n').into());
            digest.said.push(Said { place, text, kind: SaidKind::Step });
        }
        _ => {}
    }
}

fn add_user<'a>(digest: &mut Digest<'a>, place: Place, text: &str, asked: Option<(Place, Box<str>)>) {
    let text = text.trim_start_matches('\n');
    digest.user.push(UserMessage::new(place, LazyText::Owned(text.into()), text, asked));
}

/// Reads a line of the state.
fn read_state(digest: &mut Digest<'_>, item: &str) {
    let Some((place, text)) = split_place(digest, item) else {
        if let Some(folder) = item.strip_prefix(FOLDER) {
            digest.folder = Some(folder.to_owned());
        }
        for action in FileAction::ALL {
            let paths = item.strip_prefix(&format!("{action:?}: "));
            for path in paths.into_iter().flat_map(|paths| paths.rsplit(", ")) {
                if let Some((path, index)) = path.strip_suffix(']').and_then(|path| path.rsplit_once(" [")) {
                    let place = next_place(digest, index);
                    digest.files.add(path.to_owned(), action, place);
                }
            }
        }
        return;
    };
    if let Some(items) = text.strip_prefix("Plan:\n") {
        digest.plan.items = items.split('\n').filter_map(TodoItem::parse).collect();
        digest.plan.place = Some(place);
        return;
    }
    if let Some(names) = text.strip_prefix(LOADED) {
        return digest.loaded.add(place, names.split(", ").filter(|name| !name.starts_with(GAP)).map(str::to_owned));
    }
    let note = |opening, separator| {
        let (path, text) = text.strip_prefix(opening)?.split_once(separator)?;
        Some(FileNote { path: path.to_owned(), place, text: text.to_owned() })
    };
    digest.files.failed.extend(note(FAILED_EDIT, ": "));
    if let Some(edit) = note(LAST_EDIT, ":\n") {
        digest.files.add_edit(edit);
    }
}

/// Reads the line of a call.
fn add_run<'a>(digest: &mut Digest<'a>, place: Place, text: &str) {
    let Some((label, outcome)) = text.split_once(ARROW) else { return };
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
