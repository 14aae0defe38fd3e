//! Reads a digest back from an earlier summary, by its own grammar: a heading, items that begin with `- `, and lines behind
//! them that begin with two spaces. What is read keeps its section, and so its speaker.

use crate::digest::Digest;
use crate::digest::files::{FailedEdit, FileHistory};
use crate::digest::grammar::{
    ARROW, ASKED, AT, CHANGED_AFTER, CallPlaces, EARLIER, EARLIER_AMONG, EDITS, FAILED_EDIT, FOLDER, HEADINGS, LAST,
    LEFT_OUT, LOADED, MISSING, Place, RUNS, SAID, STATE, SourcePlace, TASK, THE_ASSISTANT, THE_USER, THEN, THOUGHT,
    TRIED_EDIT, USER, bracketed, is_heading, read_call_places, read_more, split_alike,
};
use crate::digest::outcome::Ended;
use crate::digest::runs::CallRun;
use crate::digest::said::{Said, SaidKind};
use crate::digest::state::TodoItem;
use crate::digest::tasks;
use crate::digest::user::UserMessage;
use crate::transcript::lazy_text::LazyText;
use crate::transcript::tools::ToolUse;
use crate::transcript::tools::actions::{FileAction, purpose_of};

/// Reads an earlier summary of ours into a digest: a whole one, or what stands beside a model's summary. Returns whether
/// it is one. `round` is that of the summary.
pub(super) fn read_into<'a>(digest: &mut Digest<'a>, place: Place, round: u32, summary: &str) -> bool {
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
    // Where a preset writes the words around a summary, nothing but the places names the round.
    let places = items
        .iter()
        .flat_map(|(_, item)| bracketed(item).into_iter().chain(listed(item)).chain(tasks::places_in(item)));
    let earlier = places.filter_map(|(place, _)| SourcePlace::parse_all(place)?.first()?.round).max();
    let round = earlier.map_or(round, |earlier| round.max(earlier.saturating_add(1)));
    let mut reader = CarriedReader { digest, round, asked: None };
    let mut unknown: Vec<&str> = Vec::new();
    for (section, item) in items.iter().filter(|(section, _)| *section != STATE) {
        if reader.read_item(section, item.trim_start_matches('\n')).is_none() {
            unknown.push(item);
        }
    }
    // The state has what is newest first.
    for (_, item) in items.iter().rev().filter(|(section, _)| *section == STATE) {
        if reader.read_state(item).is_none() {
            unknown.push(item);
        }
    }
    let CarriedReader { digest, .. } = reader;
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

/// The places in a list of files, each with what follows.
fn listed(item: &str) -> impl Iterator<Item = (&str, &str)> {
    let is_list = FileAction::ALL.into_iter().any(|action| item.starts_with(&format!("{action:?}: ")));
    item.split(" [").skip(1).filter(move |_| is_list).filter_map(|rest| rest.split_once(']'))
}

/// What an earlier summary is read into.
struct CarriedReader<'d, 'a> {
    digest: &'d mut Digest<'a>,
    /// The round of the summary.
    round: u32,
    /// What the next message of the user answers.
    asked: Option<(Place, Box<str>)>,
}

impl CarriedReader<'_, '_> {
    /// Reads an item of a section; `None` if it is not one that a digest has there.
    fn read_item(&mut self, section: &str, item: &str) -> Option<()> {
        let parts = item.strip_prefix(LEFT_OUT).filter(|_| section == RUNS).unwrap_or("").split("; ");
        let calls: CallPlaces = parts.filter_map(read_call_places).flatten().collect();
        let has_calls = !calls.is_empty();
        self.digest.calls.extend(calls.into_iter().map(|(kind, place)| (kind, place.in_round(self.round))));
        if let Some(count) = item.strip_prefix(LEFT_OUT).and_then(|rest| rest.split(' ').next()?.parse::<usize>().ok())
        {
            *match section {
                USER | LAST => &mut self.digest.left_out.user,
                RUNS => &mut self.digest.left_out.runs,
                EARLIER | EARLIER_AMONG => &mut self.digest.left_out.earlier,
                SAID => &mut self.digest.left_out.said,
                _ => return None,
            } += count;
            return Some(());
        }
        if has_calls {
            return Some(());
        }
        let Some((place, text)) = self.split_place(item) else {
            return if section == MISSING { self.read_state(item) } else { None };
        };
        match section {
            EARLIER | EARLIER_AMONG => self.digest.earlier.push((place, text.to_owned())),
            USER => match text.strip_prefix(ASKED) {
                Some(question) => self.asked = Some((place, question.into())),
                None => {
                    let asked = self.asked.take();
                    self.add_user(place, text, asked);
                }
            },
            LAST if text.starts_with(THE_ASSISTANT) => self.add_said(place, &text[THE_ASSISTANT.len()..]),
            MISSING | LAST => match text.strip_prefix(THE_USER) {
                Some(words) => self.add_user(place, words, None),
                None if [FAILED_EDIT, TRIED_EDIT].iter().any(|label| text.starts_with(label)) => {
                    return self.read_state(item);
                }
                None => return self.add_run(place, text),
            },
            RUNS => return self.add_run(place, text),
            // What was thought then is not thought now.
            SAID if text.starts_with(THOUGHT) => self.digest.left_out.said += 1,
            SAID => self.add_said(place, text.trim_start_matches('\n')),
            _ => return None,
        }
        Some(())
    }

    fn add_said(&mut self, place: Place, text: &str) {
        self.digest.said.push(Said { place, text: LazyText::Owned(text.into()), kind: SaidKind::Step });
    }

    fn add_user(&mut self, place: Place, text: &str, asked: Option<(Place, Box<str>)>) {
        let (alike, text) = split_alike(text);
        let text = text.trim_start_matches('\n');
        self.digest.user.push(UserMessage::new(place, LazyText::Owned(text.into()), text, asked).standing_for(alike));
    }

    /// Reads a line of the state; `None` if a digest has no such line there.
    fn read_state(&mut self, item: &str) -> Option<()> {
        if let Some(count) = item.strip_prefix(LEFT_OUT) {
            self.digest.left_out.state += count.split(' ').next()?.parse::<usize>().ok()?;
            return Some(());
        }
        let Some((place, text)) = self.split_place(item) else {
            if item.starts_with(TASK) {
                return self.digest.tasks.add_carried(item, self.round);
            }
            if let Some(folder) = item.strip_prefix(FOLDER) {
                self.digest.folder = Some(folder.to_owned());
                return Some(());
            }
            let action = FileAction::ALL.into_iter().find(|action| item.starts_with(&format!("{action:?}: ")))?;
            for path in item[format!("{action:?}: ").len()..].rsplit(", ") {
                let listed = path.strip_suffix(']').and_then(|path| path.rsplit_once(" ["));
                let listed = listed.and_then(|(path, places)| Some((path, SourcePlace::parse_all(places)?)));
                if let Some((path, places)) = listed {
                    let places: Vec<_> = places.into_iter().map(|place| place.in_round(self.round)).collect();
                    let kind = if action == FileAction::Read { "read" } else { "edit" };
                    self.digest.calls.extend(places.iter().map(|place| (kind, *place)));
                    self.digest.carried += 1;
                    let place = Place::carried(self.digest.carried, *places.last()?);
                    self.digest.files.add(FileHistory { path: path.to_owned(), action, place, places });
                } else {
                    self.digest.files.left_out[action as usize] += read_more(path)?;
                }
            }
            return Some(());
        };
        if let Some(items) = text.strip_prefix("Plan:\n") {
            self.digest.plan.left_out =
                items.split('\n').next_back().into_iter().flat_map(|end| end.split(", ")).filter_map(read_more).sum();
            self.digest.plan.items = items.split('\n').filter_map(TodoItem::parse).collect();
            self.digest.plan.place = Some(place);
            return Some(());
        }
        if let Some(names) = text.strip_prefix(LOADED) {
            let (more, names): (Vec<&str>, Vec<&str>) = names.split(", ").partition(|name| read_more(name).is_some());
            self.digest.loaded.left_out += more.into_iter().filter_map(read_more).sum::<usize>();
            self.digest.loaded.add(place, names.into_iter().map(str::to_owned));
            return Some(());
        }
        if let Some((path, lines)) = text.strip_prefix(EDITS).and_then(|edits| edits.split_once(":\n")) {
            self.digest.files.edits.add_told(path, place, lines);
            return Some(());
        }
        let has_failed = text.starts_with(FAILED_EDIT);
        let (path, text) = text.strip_prefix(if has_failed { FAILED_EDIT } else { TRIED_EDIT })?.split_once(": ")?;
        let failed = FailedEdit { path: path.to_owned(), place, text: text.to_owned(), has_failed };
        self.digest.files.failed.push(failed);
        Some(())
    }

    /// Reads the line of a call; `None` if it is not one.
    fn add_run(&mut self, place: Place, text: &str) -> Option<()> {
        let (label, outcome) = text.split_once(ARROW)?;
        // Of the last check alone a digest tells what changed after it.
        let outcome = outcome.rsplit_once(CHANGED_AFTER).map_or(outcome, |(outcome, _)| outcome);
        let command = label.strip_prefix('`').and_then(|label| label.strip_suffix('`')).map(str::to_owned);
        let name = label.split('(').next().unwrap_or("").to_owned();
        let purpose = purpose_of(&name, &ToolUse { command, ..ToolUse::default() }, outcome);
        let run = |place, outcome: &str| {
            let carried = Some((label.to_owned(), outcome.to_owned()));
            CallRun { purpose, carried, ..CallRun::new(place, Ended::parse(outcome)) }
        };
        let failed = outcome.strip_prefix(AT).and_then(bracketed);
        let failed =
            failed.and_then(|(failed, rest)| Some((self.next_place(failed)?, rest.trim_start().rsplit_once(THEN)?)));
        self.digest.runs.push(match failed {
            Some((failed, (before, now))) => {
                CallRun { failed_before: Some(Box::new(run(failed, before))), ..run(place, now) }
            }
            None => run(place, outcome),
        });
        Some(())
    }

    /// Splits the place of a message from the beginning of an item.
    fn split_place<'i>(&mut self, item: &'i str) -> Option<(Place, &'i str)> {
        let (place, text) = bracketed(item)?;
        Some((self.next_place(place)?, text.strip_prefix(' ').unwrap_or(text)))
    }

    /// Reads a place, the next one that is read back; `None` if it is not one.
    fn next_place(&mut self, place: &str) -> Option<Place> {
        let place = SourcePlace::parse(place)?.in_round(self.round);
        self.digest.carried += 1;
        Some(Place::carried(self.digest.carried, place))
    }
}
