//! Which lines of a session Claude Code sends.
//!
//! It goes from the last line to its parent, and on to the first. Lines with one `uuid` are one line: the last of them
//! counts. An answer with several calls is written as several lines, and not all of them are on this way: Claude Code
//! adds the others, and their results. It sends nothing else: no branch that the user left, and no line before the
//! boundary of its last compaction, except those that the boundary preserves.
//!
//! Where a crash has cut a line, the next one names a parent that is not there. Claude Code would end there; this reader
//! goes on at the line before, as a compaction and `--repair` tie the lines together again.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use crate::formats::claude_code::{is_boundary, is_empty_line, is_sidechain, is_speaker};
use crate::formats::shared::fields::elements_of;
use crate::json::{Json, JsonKind, Object};

/// What a line is to the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// On the way from the last line to the first, or sent beside it.
    Walked,
    /// Before the boundary of the last compaction.
    Compacted,
    /// Written again: the line with this index counts.
    Copy(usize),
    /// On a branch that the last line does not lead to.
    Branch,
    /// Not part of the tree: it has neither an id nor a parent, or it belongs to a sub-agent.
    Outside,
}

/// The way from the last line of a session to the first.
pub(super) struct Walk<'l, 'a> {
    lines: &'l [Object<'a>],
    /// The id and the parent of each line of the tree.
    links: Vec<Option<Link<'a>>>,
    /// The last line with each id.
    by_id: HashMap<Cow<'a, str>, usize>,
    /// The lines that were written more than once, by the last of them.
    repeated: HashMap<usize, Repeated>,
    /// The lines on the way, the first one first. Of lines with one id, the last is on it: it names the parent.
    pub(super) chain: Vec<usize>,
    /// The lines on the way whose parent is not there, or leads back to them: the way goes on at the line before them.
    pub(super) torn: HashSet<usize>,
    /// The boundary of the last compaction, if the way ends there.
    pub(super) boundary: Option<usize>,
    /// The lines before the boundary that it preserves.
    preserved: HashSet<usize>,
    /// Whether a line is of no sub-agent, or was. In the file of a sub-agent, every line is a sidechain.
    pub(super) has_main_line: bool,
    /// Whether lines name their parents at all. `claude -p --output-format stream-json` writes lines that do not.
    is_tree: bool,
}

/// Lines with one id.
struct Repeated {
    /// All of them, in order.
    lines: Vec<usize>,
    /// The line that counts: the first that says what the last says.
    counted: usize,
}

struct Link<'a> {
    id: Option<Cow<'a, str>>,
    parent: Option<Cow<'a, str>>,
}

impl<'l, 'a> Walk<'l, 'a> {
    pub(super) fn of(lines: &'l [Object<'a>]) -> Self {
        let has_main_line = lines.iter().any(is_main);
        let mut walk = Walk {
            lines,
            links: Vec::with_capacity(lines.len()),
            by_id: HashMap::new(),
            repeated: HashMap::new(),
            chain: Vec::new(),
            torn: HashSet::new(),
            boundary: None,
            preserved: HashSet::new(),
            has_main_line,
            is_tree: false,
        };
        for line in lines {
            let has_parent = line.get("parentUuid").is_some();
            walk.is_tree |= has_parent;
            let id = line.get_text("uuid").map(|id| id.decode());
            // Beside a conversation, a sub-agent has a tree of its own.
            let is_linked = (has_parent || id.is_some()) && !(has_main_line && is_sidechain(line));
            walk.links.push(if is_linked { Some(Link { id, parent: parent(line) }) } else { None });
        }
        walk.find_ids();
        if walk.is_tree {
            walk.find_chain();
        }
        walk
    }

    fn find_ids(&mut self) {
        for (index, link) in self.links.iter().enumerate() {
            let Some(Link { id: Some(id), .. }) = link else { continue };
            let Some(before) = self.by_id.insert(id.clone(), index) else { continue };
            let mut same = match self.repeated.remove(&before) {
                Some(same) => same,
                None => Repeated { lines: vec![before], counted: before },
            };
            same.lines.push(index);
            self.repeated.insert(index, same);
        }
        for (last, same) in &mut self.repeated {
            let words = said(&self.lines[*last]);
            let first = same.lines.iter().find(|line| said(&self.lines[**line]) == words);
            same.counted = *first.unwrap_or(last);
        }
    }

    fn find_chain(&mut self) {
        let mut walked = vec![false; self.lines.len()];
        let mut at = self.last_line();
        let mut tried = self.lines.len();
        while let Some(index) = at {
            walked[index] = true;
            self.chain.push(index);
            let parent = self.parent_of(index);
            at = parent.filter(|parent| !walked[*parent]);
            let names_parent = matches!(&self.links[index], Some(Link { parent: Some(_), .. }));
            if at.is_some() || !names_parent {
                continue;
            }
            // It only goes on to lines before all that it tried, so that each is looked at once.
            tried = tried.min(index);
            while at.is_none() && tried > 0 {
                tried -= 1;
                if self.can_be_parent(tried) {
                    at = self.last_of(tried).filter(|last| !walked[*last]);
                }
            }
            if at.is_some() || parent.is_some() {
                self.torn.insert(index);
            }
        }
        self.chain.reverse();
        self.find_boundary();
    }

    /// The last line, or the one that follows it although it was written before. A line that was only written again does
    /// not count as the last.
    fn last_line(&self) -> Option<usize> {
        let mut last = (0..self.lines.len()).rev().find(|index| self.can_be_parent(*index))?;
        if self.is_named(last) {
            let mut followers: HashMap<&str, usize> = HashMap::new();
            for (index, link) in self.links.iter().enumerate() {
                if let Some(Link { parent: Some(parent), .. }) = link
                    && leads(self.lines[index].json)
                {
                    followers.insert(parent, index);
                }
            }
            let mut walked = HashSet::new();
            while walked.insert(last) {
                if let Some(Link { id: Some(id), .. }) = &self.links[last]
                    && let Some(follower) = followers.get(&**id)
                {
                    last = *follower;
                }
            }
        }
        // Of lines with one id, the last one names the parent.
        self.last_of(last)
    }

    /// Whether a line is named as a parent.
    fn is_named(&self, index: usize) -> bool {
        let id = self.id_of(index);
        self.links.iter().flatten().any(|link| link.parent.is_some() && link.parent == id)
    }

    /// The last line with the id of a line.
    fn last_of(&self, index: usize) -> Option<usize> {
        let id = self.id_of(index)?;
        self.by_id.get(&id).copied()
    }

    /// Whether another line can follow a line: it has an id, and was not just written again.
    fn can_be_parent(&self, index: usize) -> bool {
        let Some(last) = self.last_of(index) else { return false };
        self.counted(last) == index && leads(self.lines[index].json)
    }

    /// Ends the way at the boundary of the last compaction, and adds the lines that the boundary preserves.
    fn find_boundary(&mut self) {
        let last = self.lines.iter().zip(&self.links).rposition(|(line, link)| link.is_some() && is_boundary(line));
        let preserved = match last {
            Some(boundary) => lines_before(self.lines, boundary),
            None => HashSet::new(),
        };
        if let Some(boundary) = last
            && !preserved.is_empty()
            && self.chain.iter().any(|index| *index == boundary || preserved.contains(index))
        {
            let summary = self.summary_behind(boundary);
            let mut chain = vec![boundary];
            chain.extend(summary);
            let mut kept: Vec<usize> = preserved.iter().copied().collect();
            kept.sort_unstable();
            chain.extend(kept);
            for &index in &self.chain {
                if index > boundary && Some(index) != summary {
                    chain.push(index);
                }
            }
            self.chain = chain;
            self.boundary = last;
            self.preserved = preserved;
            return;
        }
        if let Some(place) = self.chain.iter().rposition(|index| is_boundary(&self.lines[*index])) {
            self.chain.drain(..place);
            self.boundary = self.chain.first().copied();
        }
    }

    /// The last line that names a boundary as its parent: the summary.
    fn summary_behind(&self, boundary: usize) -> Option<usize> {
        let id = self.id_of(boundary);
        for index in (boundary + 1..self.links.len()).rev() {
            if let Some(link) = &self.links[index]
                && link.parent == id
            {
                return Some(index);
            }
        }
        None
    }

    pub(super) fn line(&self, index: usize) -> &Object<'a> {
        &self.lines[index]
    }

    fn id_of(&self, index: usize) -> Option<Cow<'a, str>> {
        self.links[index].as_ref()?.id.clone()
    }

    /// The line that a line names as its parent, if it is there.
    pub(super) fn parent_of(&self, index: usize) -> Option<usize> {
        let parent = self.links[index].as_ref()?.parent.as_ref()?;
        self.by_id.get(parent).copied()
    }

    /// The line that counts of those with an id.
    pub(super) fn line_of(&self, id: &str) -> Option<usize> {
        let last = self.by_id.get(id)?;
        Some(self.counted(*last))
    }

    /// The line that counts of those with the id that a line names as its parent.
    fn counted_parent_of(&self, index: usize) -> Option<usize> {
        let parent = self.parent_of(index)?;
        Some(self.counted(parent))
    }

    /// The line that counts of those with one id; `last` is the last one.
    pub(super) fn counted(&self, last: usize) -> usize {
        match self.repeated.get(&last) {
            Some(same) => same.counted,
            None => last,
        }
    }

    /// What each line is to the conversation. `is_sent` says whether a line holds something that a model can be sent.
    pub(super) fn places(&self, is_sent: &dyn Fn(&Object<'a>) -> bool) -> Vec<Place> {
        let mut places = vec![Place::Outside; self.lines.len()];
        for index in &self.chain {
            places[self.counted(*index)] = Place::Walked;
        }
        for same in self.repeated.values() {
            for &copy in &same.lines {
                if copy != same.counted {
                    places[copy] = Place::Copy(same.counted);
                }
            }
        }
        if !self.is_tree {
            return places;
        }
        let boundary = self.boundary.unwrap_or_default();
        for (index, line) in self.lines.iter().enumerate().take(boundary) {
            if places[index] == Place::Outside && is_linked(line) && !self.preserved.contains(&index) {
                places[index] = Place::Compacted;
            }
        }
        self.find_parallel(&mut places);
        for index in boundary..self.lines.len() {
            if !self.is_off(&places, index) {
                continue;
            }
            let parent = self.counted_parent_of(index);
            let follows_branch = parent.is_some_and(|parent| places[parent] == Place::Branch);
            if follows_branch || is_sent(&self.lines[index]) {
                places[index] = Place::Branch;
            }
        }
        places
    }

    /// Whether a line of the tree has no place yet.
    fn is_off(&self, places: &[Place], index: usize) -> bool {
        places[index] == Place::Outside && self.links[index].is_some()
    }

    /// Finds the lines of parallel calls that the way passes by: the other lines of an answer, and their results.
    fn find_parallel(&self, places: &mut [Place]) {
        let mut off = Vec::new();
        for (index, line) in self.lines.iter().enumerate() {
            if self.is_off(places, index) && is_message(line) {
                off.push(index);
            }
        }
        if off.is_empty() {
            return;
        }
        let answers: HashSet<Cow<'_, str>> = self.chain.iter().filter_map(|index| self.answer_id(*index)).collect();
        for &index in &off {
            if self.answer_id(index).is_some_and(|id| answers.contains(&id)) {
                places[index] = Place::Walked;
            }
        }
        for index in off {
            if !has_result(&self.lines[index]) {
                continue;
            }
            let Some(last) = self.last_of(index) else { continue };
            let Some(parent) = self.counted_parent_of(last) else { continue };
            if places[parent] == Place::Walked && self.lines[parent].member_is("type", "assistant") {
                places[index] = Place::Walked;
            }
        }
    }

    /// The id of the model's answer that a line is a part of.
    fn answer_id(&self, index: usize) -> Option<Cow<'a, str>> {
        let line = &self.lines[index];
        if !line.member_is("type", "assistant") {
            return None;
        }
        Some(line.at(&["message", "id"])?.text()?.decode())
    }
}

/// The lines that a boundary keeps of those before it. Claude Code keeps none where it misses one of them.
fn lines_before(lines: &[Object<'_>], boundary: usize) -> HashSet<usize> {
    let Some(metadata) = lines[boundary].get("compactMetadata") else { return HashSet::new() };
    let list = truthy(metadata, "preservedMessages");
    let segment = truthy(metadata, "preservedSegment");
    if list.is_none() && segment.is_none() {
        return HashSet::new();
    }
    let mut by_id = HashMap::new();
    for (index, line) in lines[..boundary].iter().enumerate() {
        if let Some(id) = line.get_text("uuid") {
            by_id.insert(id.decode(), index);
        }
    }
    let found = match (list, segment) {
        (Some(list), _) => lines_of_list(list, &by_id),
        (None, Some(segment)) => lines_of_segment(segment, lines, &by_id),
        (None, None) => None,
    };
    found.unwrap_or_default()
}

/// A member, unless it is empty.
fn truthy<'a>(json: Json<'a>, key: &str) -> Option<Json<'a>> {
    json.get(key).filter(|value| !value.is_falsy())
}

/// The lines of a list of ids; `None` if one of them is not there.
fn lines_of_list<'a>(list: Json<'a>, by_id: &HashMap<Cow<'a, str>, usize>) -> Option<HashSet<usize>> {
    let mut found = HashSet::new();
    for id in elements_of(list, "uuids") {
        found.insert(*by_id.get(&id.text()?.decode())?);
    }
    Some(found)
}

/// The lines of a segment from its tail up to its head; `None` if the tail does not lead to the head.
fn lines_of_segment<'a>(
    segment: Json<'a>,
    lines: &[Object<'a>],
    by_id: &HashMap<Cow<'a, str>, usize>,
) -> Option<HashSet<usize>> {
    let head = segment.get_text("headUuid")?.decode();
    let mut id = segment.get_text("tailUuid")?.decode();
    let mut walked = HashSet::new();
    loop {
        let index = *by_id.get(&id)?;
        if !walked.insert(index) {
            return None;
        }
        if id == head {
            return Some(walked);
        }
        id = parent(&lines[index])?;
    }
}

/// What a line says, as it is spelled.
fn said<'a>(line: &Object<'a>) -> [Option<&'a str>; 3] {
    ["message", "attachment", "rendered"].map(|key| line.get(key).map(|said| said.raw()))
}

/// Whether other lines can follow a line: Claude Code takes lines about progress out of the chain.
pub(super) fn leads(line: Json<'_>) -> bool {
    !line.member_is("type", "progress")
}

fn parent<'a>(line: &Object<'a>) -> Option<Cow<'a, str>> {
    line.get_text("parentUuid").map(|id| id.decode())
}

/// Whether a line is of the main conversation. An empty line stands where a compaction took a message of it, perhaps the
/// last one.
fn is_main(line: &Object<'_>) -> bool {
    !is_sidechain(line) && (is_message(line) || is_empty_line(line))
}

fn is_message(line: &Object<'_>) -> bool {
    line.get_text("type").is_some_and(is_speaker) && line.get("message").is_some()
}

/// Whether a line is part of a tree: that of the conversation, or that of a sub-agent.
fn is_linked(line: &Object<'_>) -> bool {
    line.get("uuid").is_some() || line.get("parentUuid").is_some()
}

fn has_result(line: &Object<'_>) -> bool {
    let Some(content) = line.at(&["message", "content"]) else { return false };
    content.kind() == JsonKind::Array && content.items().any(|block| block.member_is("type", "tool_result"))
}
