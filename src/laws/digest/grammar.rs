//! The grammar of digests, as these laws know it, without the code that writes them.

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
/// What is behind a run before the last change.
pub(super) const STALE: &str = "; nothing was run since the change of ";
/// The lines of the state without an index of their own.
pub(super) const FILES: [&str; 6] = ["Changed:", "Created:", "Deleted:", "Renamed:", "Restored:", "Read:"];
/// The words of the lines of the state and of calls that are not from a message.
pub(super) const OWN_WORDS: [&str; 40] = [
    "Plan",
    "x",
    "Failed",
    "edit",
    "Last",
    "of",
    "bash",
    "ok",
    "failed",
    "exit",
    "code",
    "refused",
    "or",
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
    "since",
    "change",
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
            let number = carried_index(label).unwrap_or(label);
            let index = number.parse().ok().filter(|_| number.bytes().all(|byte| byte.is_ascii_digit()))?;
            Some((index, label != number, rest.strip_prefix(' ').unwrap_or(rest)))
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
        text.split(' ').next()?.parse().ok()
    }
}

/// Returns the index in the place of a message of an earlier round: behind the number of the round.
pub(super) fn carried_index(place: &str) -> Option<&str> {
    let is_round = |round: &str| !round.is_empty() && round.bytes().all(|byte| byte.is_ascii_digit());
    place.split_once(':').filter(|(round, _)| is_round(round)).map(|(_, index)| index)
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
