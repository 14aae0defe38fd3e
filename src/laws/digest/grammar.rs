//! The grammar of digests, as these laws know it, without the code that writes them.

use std::ops::Range;

/// A section of a digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Section {
    Earlier,
    User,
    State,
    Calls,
    Assistant,
    /// What stands beside a model's summary.
    Missing,
}

const HEADINGS: [(&str, Section); 7] = [
    ("## Earlier summary; what follows is later and holds where the two differ", Section::Earlier),
    ("## Earlier summary; what has a higher index is later and holds where the two differ", Section::Earlier),
    ("## The user, in order; later words hold where two disagree", Section::User),
    ("## State", Section::State),
    ("## Commands and calls, the last run of each", Section::Calls),
    ("## What the assistant said, in order", Section::Assistant),
    ("## Not in the summary above", Section::Missing),
];

/// What a line says before words of a message.
const ASKED: &str = "The assistant asked:";
/// The opening of the line of a folder that paths are told without.
pub(super) const FOLDER: &str = "Paths and commands are in ";
const LEFT_OUT: &str = "Left out: ";
pub(super) const THOUGHT: &str = "(thought)";
/// What is behind the last check, before the file that changed after it.
pub(super) const OUTDATED: &str = "; changed after it: ";
/// What is between an earlier failure and how the run ended.
pub(super) const THEN: &str = "; later ";
/// The opening of the line of a background task, and the words around its places.
pub(super) const TASK: &str = "Background task ";
pub(super) const TASK_WORDS: [&str; 5] = ["launched", "finished", "continued", "output", "file"];
/// The opening of the edits of a file, which may be those of several calls.
pub(super) const EDITS: &str = "Edits of ";
/// The kinds of calls in the line of those that are left out.
const KINDS: [&str; 4] = ["run", "call", "edit", "read"];
/// The lines of the state without an index of their own.
pub(crate) const FILES: [&str; 7] = ["Changed:", "Created:", "Deleted:", "Renamed:", "Restored:", "Tried:", "Read:"];
/// The words of the lines of the state and of calls that are not from a message.
pub(super) const OWN_WORDS: [&str; 41] = [
    "Plan",
    "x",
    "Failed",
    "Tried",
    "edit",
    "Edits",
    "of",
    "bash",
    "exit",
    "is",
    "error",
    "output",
    "cancelled",
    "by",
    "the",
    "user",
    "User",
    "no",
    "No",
    "result",
    "yet",
    "output",
    "not",
    "run",
    "at",
    "then",
    "changed",
    "after",
    "row",
    "rows",
    "item",
    "items",
    "more",
    "line",
    "lines",
    "of",
    "in",
    "and",
    "left",
    "out",
    "earlier",
];

/// An item of a digest: its index, or the one under the mark of carried lines, and its text without the marks.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Item {
    pub(crate) section: Section,
    pub(crate) index: Option<usize>,
    pub(crate) is_carried: bool,
    pub(crate) text: String,
    /// How many messages of the user it stands for.
    pub(crate) stands_for: usize,
}

impl Item {
    fn new(section: Section, line: &str) -> Self {
        let label = line.strip_prefix('[').and_then(|rest| rest.split_once(']')).and_then(|(label, rest)| {
            let (is_carried, range) = range_of(label)?;
            Some((range.end - 1, is_carried, rest.strip_prefix(' ').unwrap_or(rest)))
        });
        let (index, is_carried, text) =
            label.map_or((None, false, line), |(index, carried, text)| (Some(index), carried, text));
        let alike = text.strip_prefix('(').and_then(|rest| rest.split_once(" like this, but for digits) "));
        let alike = alike.and_then(|(number, rest)| Some((number.parse().ok()?, rest)));
        let (stands_for, text) = alike.filter(|_| section == Section::User).unwrap_or((1, text));
        Item { section, index, is_carried, text: text.to_owned(), stands_for }
    }

    /// Returns the words of the assistant that a message of the user answers, if it is a line with these.
    pub(crate) fn question(&self) -> Option<&str> {
        Some(&self.text).filter(|_| self.section == Section::User)?.strip_prefix(ASKED)
    }

    /// Returns how many messages or calls were left out, if it is the line that says so.
    pub(crate) fn left_out(&self) -> Option<usize> {
        let text = Some(&self.text).filter(|_| self.index.is_none())?.strip_prefix(LEFT_OUT)?;
        let (count, calls) = text.split_once("; ").unwrap_or((text, ""));
        let is_kind = |part: &str| KINDS.contains(&part.split(" [").next().unwrap_or("")) && part.ends_with(']');
        let is_known = |calls: &str| calls.is_empty() || calls.trim_end_matches('.').split("; ").all(is_kind);
        let count = count.split(' ').next()?.parse().ok().filter(|_| is_known(calls));
        count.or_else(|| (self.section == Section::Calls && is_known(text)).then_some(0))
    }

    /// Returns the place and the words of an earlier failure of a run.
    pub(super) fn failed(&self) -> Option<(&str, &str)> {
        let (_, outcome) = self.text.split_once(" → ").filter(|_| self.section == Section::Calls)?;
        let (place, rest) = outcome.strip_prefix("at [")?.split_once("] ")?;
        Some((place, rest.rsplit_once(THEN)?.0))
    }

    /// Returns the places in the line of a background task: whether each is of an earlier round, and its range.
    pub(crate) fn task_places(&self) -> Vec<(bool, Range<usize>)> {
        let events = self.text.strip_prefix(TASK).and_then(|task| task.split_once("): ")).map_or("", |(_, rest)| rest);
        let (events, _) = events.split_once("; output file ").unwrap_or((events, ""));
        let places = events.split('[').skip(1).filter_map(|rest| rest.split_once(']'));
        places.map(|(place, _)| range_of(place).unwrap_or_else(|| panic!("{place} of {self:?}"))).collect()
    }

    /// Returns the ranges of messages of this history that the line names, and nobody else's.
    pub(crate) fn ranges(&self) -> Vec<Range<usize>> {
        let own = self.index.filter(|_| !self.is_carried).map(|last| last..last + 1);
        let is_list =
            self.index.is_none() && (self.left_out().is_some() || FILES.iter().any(|kind| self.text.starts_with(kind)));
        let lists = self.text.split(" [").skip(1).filter(|_| is_list).filter_map(|rest| rest.split_once(']'));
        let failed = self.failed().map(|(failed, _)| failed);
        let outdated = self.text.rsplit_once(OUTDATED).filter(|_| self.section == Section::Calls);
        let outdated = outdated.and_then(|(_, file)| file.rsplit_once(" [")?.1.strip_suffix(']'));
        let named = lists.map(|(places, _)| places).chain(failed).chain(outdated).flat_map(|places| places.split(','));
        let named = named.map(|place| range_of(place).unwrap_or_else(|| panic!("{place} of {self:?}")));
        let named = named.chain(self.task_places());
        own.into_iter().chain(named.filter(|(is_carried, _)| !is_carried).map(|(_, range)| range)).collect()
    }
}

/// Reads a place as `show` takes it: an index or a range, alone or behind the number of an earlier round. Returns whether
/// it is of one.
pub(super) fn range_of(place: &str) -> Option<(bool, Range<usize>)> {
    let number = |text: &str| text.parse::<usize>().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()));
    let (round, indices) = place.split_once(':').map_or((None, place), |(round, indices)| (Some(round), indices));
    let (start, last) = indices.split_once('-').unwrap_or((indices, indices));
    let (start, end) = (number(start)?, number(last)? + 1);
    (start < end && round.is_none_or(|round| number(round).is_some())).then_some((round.is_some(), start..end))
}

/// Parses a digest and checks its grammar: known headings in order, each with items, and lines that continue an item.
pub(crate) fn parse(digest: &str) -> Vec<Item> {
    // The fence escapes what could end it.
    let digest = digest.replace("&lt;", "<");
    let digest = digest.as_str();
    let mut items: Vec<Item> = Vec::new();
    let mut section = None;
    if ["", "…"].contains(&digest) || digest.ends_with(" without words.") {
        return items;
    }
    if let Some(last) = digest.strip_prefix("## Last words\n") {
        // Where no section has room, it is the beginning of what was said last, and how much of the user is left out.
        for line in last.lines() {
            match (line.strip_prefix("- "), line.strip_prefix("  "), items.last_mut()) {
                (Some(item), ..) => {
                    let who = [("] The user: ", Section::User), ("] The assistant: ", Section::Assistant)];
                    let who = who.into_iter().find(|(label, _)| item.contains(label));
                    let other = if item.starts_with('[') { Section::Calls } else { Section::User };
                    let (label, section) = who.unwrap_or(("] ", other));
                    items.push(Item::new(section, &item.replacen(label, "] \n", 1)));
                }
                (_, Some(rest), Some(item)) => item.text.extend(["\n", rest]),
                _ => panic!("{line:?} of {digest:?}"),
            }
        }
        return items;
    }
    for line in digest.lines() {
        assert!(!line.contains('\r') && !line.trim().is_empty(), "{line:?} of {digest}");
        if let Some(text) = line.strip_prefix("  ") {
            let item = items.last_mut().filter(|item| Some(item.section) == section);
            let item = item.unwrap_or_else(|| panic!("{line:?} continues nothing: {digest}"));
            item.text.extend(["\n", text]);
        } else if let Some(text) = line.strip_prefix("- ") {
            items.push(Item::new(section.unwrap_or_else(|| panic!("{line:?} has no section: {digest}")), text));
        } else {
            let heading = HEADINGS.iter().find(|(heading, _)| *heading == line);
            let next = heading.unwrap_or_else(|| panic!("{line:?} is unknown: {digest}")).1;
            assert!(section < Some(next), "{line:?} is out of order: {digest}");
            assert_eq!(section, items.last().map(|item| item.section), "an empty section: {digest}");
            section = Some(next);
        }
    }
    assert_eq!(section, items.last().map(|item| item.section), "an empty section: {digest}");
    items
}

/// Returns a text without white space and control characters.
pub(crate) fn squeezed(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && !c.is_control()).collect()
}

/// Whether what stands between two `…` of `said` is in `text`, in order; from its start to its end if it is `whole`.
pub(crate) fn is_said_in(said: &str, text: &str, whole: bool) -> bool {
    let (said, text) = (squeezed(said), squeezed(text));
    let pieces: Vec<&str> = said.split('…').collect();
    let mut rest = text.as_str();
    for (at, piece) in pieces.iter().enumerate() {
        let (is_first, is_last) = (at == 0, at + 1 == pieces.len());
        let found = match rest.find(piece) {
            _ if whole && is_first => rest.starts_with(piece).then_some(0),
            _ if whole && is_last => rest.ends_with(piece).then(|| rest.len() - piece.len()),
            found => found,
        };
        let Some(found) = found else { return false };
        rest = &rest[found + piece.len()..];
    }
    !whole || rest.is_empty() || pieces.len() > 1
}
