//! The lines of the state: the plan, the files with the edits in force, edits that failed, calls without a result.

use crate::digest::clip::indented;
use crate::digest::edits::EditsOfFile;
use crate::digest::files::Files;
use crate::digest::grammar::{EDITS, FOLDER, LOADED, SourcePlace, more};
use crate::digest::outcome::Ended;
use crate::digest::plan::{TodoList, TodoStatus};
use crate::digest::{Digest, Loaded};
use crate::tokens::Counter;
use crate::transcript::tools::actions::FileAction;

/// The room that is left, in tokens. Nothing that comes later is taken once something had no room, so that more room
/// never loses a line.
struct Room {
    counter: Counter,
    left: Option<u64>,
    /// How many lines had none.
    refused: usize,
    /// The places of files that had some.
    shown: Vec<SourcePlace>,
}

impl Room {
    /// Takes the room of a text. Returns whether there was enough.
    fn take(&mut self, text: &str) -> bool {
        let cost = self.counter.count_text(text) + 1;
        self.left = self.left.and_then(|left| left.checked_sub(cost));
        self.left.is_some()
    }

    /// Takes the room of a line, and counts it where there is not enough.
    fn take_line(&mut self, line: &str) -> bool {
        let has_room = self.take(line);
        self.refused += usize::from(!has_room);
        has_room
    }
}

/// The lines of the state.
pub(super) struct StateLines {
    pub(super) lines: Vec<String>,
    /// How many are left out.
    pub(super) left_out: usize,
    /// The places of the files that are told.
    pub(super) files: Vec<SourcePlace>,
}

/// Returns the lines of the state, as many as have room, the most important first.
pub(super) fn lines(digest: &Digest<'_>, counter: Counter, most: u64) -> StateLines {
    let Digest { plan, files, runs, folder, .. } = digest;
    let mut room = Room { counter, left: Some(most), refused: 0, shown: Vec::new() };
    // All that follows is told without the folder.
    let folder = folder.as_deref().filter(|_| !runs.is_empty() || files.newest_first().len() > 1);
    let mut lines: Vec<String> = folder.map(|folder| format!("{FOLDER}{folder}")).into_iter().collect();
    let open = runs.iter().filter(|run| run.ended == Ended::NoResult);
    lines.extend(open.map(|run| format!("{} No result yet: {}", run.place, run.label(folder))));
    lines.extend(loaded_line(digest));
    lines.retain(|line| room.take_line(line));
    lines.extend(plan_line(plan, &mut room));
    let failed =
        files.failed.iter().rev().map(|edit| format!("{} {}{}: {}", edit.place, edit.label(), edit.path, edit.text));
    lines.extend(files_lines(files, &mut room, |action| action != FileAction::Read));
    lines.extend(failed.filter(|line| room.take_line(line)));
    // First each change gets a short text. A new file can be read as a whole.
    let mut edits: Vec<_> = files.edits.largest_first().into_iter().map(|edits| (edits, String::new())).collect();
    edits.sort_by_key(|((_, _, edits), _)| edits.is_new());
    let changes = edits.partition_point(|((_, _, edits), _)| !edits.is_new());
    lengthen(&mut edits[..changes], 160, &mut room);
    lengthen(&mut edits, 420, &mut room);
    let read = files_lines(files, &mut room, |action| action == FileAction::Read);
    [1_200, 4_000, usize::MAX].into_iter().for_each(|most| lengthen(&mut edits, most, &mut room));
    let (told, not_told): (Vec<_>, Vec<_>) =
        edits.into_iter().map(|(_, text)| text).partition(|text: &String| !text.is_empty());
    lines.extend(told);
    room.refused += not_told.len();
    lines.extend(read);
    StateLines { lines, left_out: room.refused + digest.left_out.state, files: room.shown }
}

/// Tells more of the edits of files, up to `most` bytes of each, as far as there is room.
fn lengthen(edits: &mut [(EditsOfFile<'_>, String)], most: usize, room: &mut Room) {
    for ((path, place, edits), told) in edits {
        if room.left.is_none() {
            return;
        }
        let lines = edits.shown(most);
        let longer = indented(&format!("{place} {EDITS}{path}:\n{lines}"));
        let more = longer.get(longer.floor_char_boundary(told.len())..).unwrap_or_default();
        if !lines.is_empty() && !more.is_empty() && room.take(more) {
            *told = longer;
        }
    }
}

/// Returns the line with the tools that results have loaded, the last ones where they are many.
fn loaded_line(digest: &Digest<'_>) -> Option<String> {
    const MOST: usize = 12;
    let Loaded { names, place, left_out: earlier, .. } = &digest.loaded;
    let left_out = names.len().saturating_sub(MOST);
    let shown: Vec<String> = names[left_out..].iter().cloned().chain(more(left_out, *earlier)).collect();
    place.map(|place| format!("{place} {LOADED}{}", shown.join(", ")))
}

/// Returns the plan with the items that have room, open ones first.
fn plan_line(plan: &TodoList, room: &mut Room) -> Option<String> {
    let place = plan.place.filter(|_| !plan.items.is_empty())?;
    let has_room = room.take(&format!("- {place} Plan:"));
    let mut shown = vec![false; plan.items.len()];
    for wanted in [TodoStatus::Going, TodoStatus::Open, TodoStatus::Done] {
        for (at, item) in plan.items.iter().enumerate().filter(|(_, item)| item.status == wanted) {
            shown[at] = room.take(&item.line());
        }
    }
    let left_out = shown.iter().filter(|shown| !**shown).count();
    if !has_room || left_out == shown.len() {
        room.refused += 1;
        return None;
    }
    let items = plan.items.iter().zip(shown).filter(|(_, shown)| *shown).map(|(item, _)| item.line());
    let items: String = items.chain(more(left_out, plan.left_out)).map(|item| format!("\n  {item}")).collect();
    Some(format!("{place} Plan:{items}"))
}

/// Returns a line for each action with the files that have room, those used last first.
fn files_lines(files: &Files, room: &mut Room, wanted: impl Fn(FileAction) -> bool) -> Vec<String> {
    let mut paths: Vec<(Vec<String>, usize)> = vec![Default::default(); FileAction::ALL.len()];
    for file in files.newest_first().into_iter().filter(|file| wanted(file.action)) {
        let shown = file.shown();
        let (paths, left_out) = &mut paths[file.action as usize];
        if room.take(&format!("{:?}: {shown}, ", file.action)) {
            paths.push(shown);
            room.shown.extend(&file.places);
        } else {
            *left_out += 1;
        }
    }
    let mut lines = Vec::new();
    for (action, (mut paths, left_out)) in FileAction::ALL.into_iter().zip(paths).filter(|(action, _)| wanted(*action))
    {
        let earlier = files.left_out[action as usize];
        if paths.is_empty() {
            room.refused += left_out + earlier;
        } else {
            paths.extend(more(left_out, earlier));
            lines.push(format!("{action:?}: {}", paths.join(", ")));
        }
    }
    lines
}
