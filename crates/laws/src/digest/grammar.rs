//! The grammar of digests, as these laws know it, without the code that writes them.

use std::ops::Range;

/// A section of a digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Section {
    Earlier,
    User,
    State,
    Rules,
    Calls,
    Assistant,
    /// What stands beside a model's summary.
    Missing,
}

const HEADINGS: [(&str, Section); 9] = [
    ("## Earlier summary; what follows is later and holds where the two differ", Section::Earlier),
    ("## Earlier summary; it may be older than messages before it", Section::Earlier),
    ("## Earlier summary; what has a higher index is later and holds where the two differ", Section::Earlier),
    ("## The user, in order; later words hold where two disagree", Section::User),
    ("## State", Section::State),
    ("## Rules in files that were read", Section::Rules),
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
/// The opening of the line of a background task, and the words around its places.
pub(super) const TASK: &str = "Background task ";
pub(super) const TASK_WORDS: [&str; 5] = ["launched", "finished", "continued", "output", "file"];
/// What stands before a message that a program sent in the user's place.
const FROM_PROGRAM: &str = "(from a program) ";
/// The words of the lines of the state and of calls that are not from a message.
pub(super) const OWN_WORDS: [&str; 33] = [
    "Plan",
    "x",
    "Tools",
    "loaded",
    "failed",
    "edit",
    "update",
    "add",
    "delete",
    "move",
    "command",
    "bash",
    "exit",
    "is",
    "error",
    "output",
    "cancelled",
    "by",
    "the",
    "user",
    "no",
    "result",
    "yet",
    "Read",
    "more",
    "of",
    "in",
    "and",
    "left",
    "out",
    "earlier",
    "output",
    "file",
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
        let has_label = matches!(section, Section::User | Section::Calls | Section::Assistant);
        let (stands_for, text) = alike.filter(|_| has_label).unwrap_or((1, text));
        let text = text.strip_prefix(FROM_PROGRAM).filter(|_| section == Section::User).unwrap_or(text);
        Item { section, index, is_carried, text: text.to_owned(), stands_for }
    }

    /// Returns the words of the assistant that a message of the user answers, if it is a line with these.
    pub(crate) fn question(&self) -> Option<&str> {
        Some(&self.text).filter(|_| self.section == Section::User)?.strip_prefix(ASKED)
    }

    /// Returns how many messages or calls were left out, if it is the line that says so.
    pub(crate) fn left_out(&self) -> Option<usize> {
        let text = Some(&self.text).filter(|_| self.index.is_none())?.strip_prefix(LEFT_OUT)?;
        text.split(' ').next()?.parse().ok()
    }

    /// Returns the path of a line of a file, or the label of a list of files, with the names and the places behind it.
    pub(super) fn files(&self) -> Option<(&str, Vec<(&str, &str)>)> {
        let is_list = self.section == Section::State && self.index.is_none() && self.left_out().is_none();
        if !is_list || self.text.starts_with(FOLDER) || self.text.starts_with(TASK) {
            return None;
        }
        let (label, list) = self.text.split_once(": ")?;
        let entries = list.split("], ").map(|entry| entry.trim_matches(['…', ' ', ']']));
        Some((label, entries.map(|entry| entry.rsplit_once(" [").unwrap_or((entry, ""))).collect()))
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
        let left_out = self.left_out().and_then(|_| self.text.split_once('[')?.1.split_once(']'));
        let listed = self.files().map(|(_, entries)| entries).unwrap_or_default();
        let named = left_out.into_iter().map(|(places, _)| places).chain(listed.into_iter().map(|(_, places)| places));
        let named = named.flat_map(|places| places.split(','));
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
