//! Edits in force: what the successful edits of each file come to together, as lines that went and lines that came.
//!
//! Where a later edit finds its old text in what came before, it is made there; where its old text holds what came, the
//! change grows. All others stand in order. A change that was undone is gone.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

use crate::digest::clip::GAP;
use crate::digest::grammar::Place;
use crate::redact::cut_before;
use crate::transcript::tools::edits::TextEdit;

/// Most bytes of a text.
const LONGEST: usize = 1 << 13;

/// A passage of a file before all edits of it, and after them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Passage {
    old: String,
    new: String,
}

/// The edits of a file.
#[derive(Debug, Default)]
pub(super) struct FileEdits {
    passages: Vec<Passage>,
    /// The place of the last edit.
    place: Option<Place>,
    /// Whether not all edits are in these passages.
    has_more: bool,
    /// The lines of each passage, once all are there.
    lines: OnceLock<Vec<[Vec<String>; 2]>>,
}

/// The edits of a file with its path and the place of the last one.
pub(super) type EditsOfFile<'e> = (&'e str, Place, &'e FileEdits);

/// The edits of all files, by their paths.
#[derive(Debug, Default)]
pub(super) struct EditsInForce {
    files: HashMap<String, FileEdits>,
    /// The bytes of all texts, or some more.
    bytes: usize,
}

impl EditsInForce {
    /// Adds an edit that succeeded.
    pub(super) fn add(&mut self, place: Place, edit: TextEdit) {
        /// Bytes of all texts.
        const MOST: usize = 1 << 15;
        let TextEdit { path, mut old, mut new, everywhere } = edit;
        let fits = new.len() <= LONGEST && old.as_ref().is_none_or(|old| old.len() <= LONGEST);
        // Of long texts the beginning is told.
        old.iter_mut().chain([&mut new]).filter(|text| text.len() > LONGEST).for_each(|text| {
            let end = cut_before(text, LONGEST);
            text.truncate(text[..end].rfind('\n').unwrap_or(end));
        });
        self.bytes += new.len() + old.as_ref().map_or(0, String::len);
        let file = self.files.entry(path).or_default();
        match old {
            Some(old) if !fits => file.passages.push(Passage { old, new }),
            old => file.add(old, new, everywhere),
        }
        (file.place, file.has_more) = (Some(place), file.has_more || !fits);
        if self.bytes > MOST {
            self.shrink(MOST / 2);
        }
    }

    /// Drops the smallest passages until half of the room is free, of equal ones those of the file that was edited first.
    fn shrink(&mut self, most: usize) {
        let mut files: Vec<(&String, &mut FileEdits)> = self.files.iter_mut().collect();
        files.sort_by(|a, b| (b.1.place, a.0).cmp(&(a.1.place, b.0)));
        let sizes = files.iter().enumerate().flat_map(|(at, (_, file))| file.passages.iter().map(move |one| (one, at)));
        let mut order: Vec<(Reverse<usize>, usize)> = sizes.map(|(one, at)| (Reverse(one.bytes()), at)).collect();
        order.sort_unstable();
        let mut bytes = 0;
        let fits = |(Reverse(size), _): &&(Reverse<usize>, usize)| {
            bytes += size;
            bytes <= most
        };
        let kept = order.iter().take_while(fits).count();
        let last = order.get(kept).copied();
        // Of the first that has no room, those before it that are equal: the newest stay.
        let equal = |part: &[(Reverse<usize>, usize)]| part.iter().filter(|one| Some(**one) == last).count();
        let mut dropped = equal(&order[kept..]);
        self.bytes = 0;
        for (at, (_, file)) in files.into_iter().enumerate() {
            let before = file.passages.len();
            file.passages.retain(|passage| {
                let key = Some((Reverse(passage.bytes()), at));
                let is_dropped = key == last && dropped > 0;
                dropped -= usize::from(is_dropped);
                last.is_none() || key <= last && !is_dropped
            });
            file.has_more |= file.passages.len() < before;
            self.bytes += file.passages.iter().map(Passage::bytes).sum::<usize>();
        }
    }

    /// Adds what an earlier digest told of a file.
    pub(super) fn add_told(&mut self, path: &str, place: Place, lines: &str) {
        let passage = |told: &str| {
            let side =
                |sign: &str| told.lines().filter_map(|line| line.strip_prefix(sign)).collect::<Vec<_>>().join("\n");
            Passage { old: side("- "), new: side("+ ") }
        };
        let has_more = lines.ends_with("\n…");
        let passages = lines.split("\n…").map(passage).filter(|passage| *passage != Passage::default()).collect();
        self.files
            .insert(path.to_owned(), FileEdits { passages, place: Some(place), has_more, ..FileEdits::default() });
    }

    /// Notes that a file was changed otherwise.
    pub(super) fn note_other_change(&mut self, path: &str) {
        self.files.entry(path.to_owned()).and_modify(|file| file.has_more = true);
    }

    /// Forgets the edits of a file.
    pub(super) fn remove(&mut self, path: &str) {
        self.files.remove(path);
    }

    /// Moves the edits of a file to another path.
    pub(super) fn rename(&mut self, from: &str, to: String) {
        match self.files.remove(from) {
            Some(edits) => self.files.insert(to, edits),
            None => self.files.remove(&to),
        };
    }

    /// Forgets the edits of a file where a later call took them back.
    pub(super) fn remove_before(&mut self, path: &str, place: Place) {
        self.files.retain(|known, edits| known != path || edits.place > Some(place));
    }

    /// Moves the edits of a file where a later call moved it.
    pub(super) fn rename_before(&mut self, from: &str, to: &str, place: Place) {
        if self.files.get(from).is_some_and(|edits| edits.place < Some(place)) {
            let later = self.files.remove(to).filter(|edits| edits.place > Some(place));
            self.rename(from, to.to_owned());
            self.files.entry(to.to_owned()).and_modify(|edits| later.into_iter().for_each(|later| edits.append(later)));
        }
    }

    /// Renames the paths of all files. Where two come to the same, the later edits stand behind the earlier ones.
    pub(super) fn rename_all(&mut self, renamed: impl Fn(&str) -> String) {
        let mut files: Vec<_> = std::mem::take(&mut self.files).into_iter().collect();
        files.sort_by_key(|(_, edits)| edits.place);
        for (path, edits) in files {
            self.files.entry(renamed(&path)).or_default().append(edits);
        }
    }

    /// The edits that are told, with the paths of their files, the largest first.
    pub(super) fn largest_first(&self) -> Vec<EditsOfFile<'_>> {
        let files = self.files.iter().filter_map(|(path, edits)| Some((path.as_str(), edits.place?, edits)));
        let changed = |edits: &FileEdits| edits.lines().iter().flatten().map(Vec::len).sum::<usize>();
        let mut files: Vec<_> = files.filter(|(.., edits)| changed(edits) > 0).collect();
        files.sort_by_cached_key(|(path, place, edits)| (Reverse(changed(edits)), Reverse(*place), *path));
        files
    }
}

impl FileEdits {
    /// Whether no text was there before.
    pub(super) fn is_new(&self) -> bool {
        self.passages.iter().all(|passage| passage.old.is_empty())
    }

    /// Adds later edits of the same file.
    fn append(&mut self, later: FileEdits) {
        if self.place.is_none() {
            *self = later;
            return;
        }
        later.passages.into_iter().for_each(|Passage { old, new }| self.add(Some(old), new, false));
        (self.place, self.has_more) = (later.place, self.has_more | later.has_more);
    }

    /// Adds an edit.
    fn add(&mut self, old: Option<String>, new: String, everywhere: bool) {
        /// Bytes of a text that is hardly in a file twice.
        const SURE: usize = 16;
        let Some(mut old) = old else {
            let passages = vec![Passage { old: String::new(), new }];
            *self = FileEdits { passages, ..FileEdits::default() };
            return;
        };
        let mut is_made = false;
        for passage in self.passages.iter_mut().rev() {
            let times = if everywhere && !old.is_empty() { passage.new.matches(&old).count() } else { 0 };
            if times * new.len() > LONGEST {
                self.has_more = true;
            } else if times > 0 {
                passage.new = passage.new.replace(&old, &new);
                // It may be in other places, too.
                (is_made, self.has_more) = (true, true);
            } else if let Some(at) = only_place(&passage.new, &old).filter(|_| !is_made && !everywhere) {
                passage.new.replace_range(at..at + old.len(), &new);
                is_made = true;
            }
        }
        for passage in self.passages.iter_mut().rev().filter(|passage| !is_made && passage.new.trim().len() >= SURE) {
            if let Some(at) = only_place(&old, &passage.new) {
                old.replace_range(at..at + passage.new.len(), &passage.old);
                *passage = Passage::default();
            }
        }
        self.passages.extend(Some(Passage { old, new }).filter(|_| !is_made));
        self.passages.retain(|passage| passage.old != passage.new);
    }

    /// For each passage, the lines that went and those that came.
    fn lines(&self) -> &[[Vec<String>; 2]] {
        self.lines.get_or_init(|| self.passages.iter().map(Passage::lines).collect())
    }

    /// The lines that went and those that came, with signs, in at most some `most` bytes: the largest changes, as they
    /// stand in order. Once something has no room, nothing smaller is taken, so that more room never loses a line.
    pub(super) fn shown(&self, most: usize) -> String {
        let lines = self.lines();
        let bytes = |lines: &[String]| lines.iter().map(|line| cost(line)).sum::<usize>();
        let mut order: Vec<usize> =
            (0..lines.len()).filter(|&at| lines[at].iter().any(|side| !side.is_empty())).collect();
        let passages = order.len();
        order.sort_by_key(|&at| Reverse(lines[at][0].len() + lines[at][1].len()));
        let (mut left, mut shown) = (most, BTreeMap::new());
        for at in order {
            let [went, came] = &lines[at];
            let (of_went, of_came) = (bytes(went), bytes(came));
            // What one side leaves the other can use.
            let sides = [(went, of_came), (came, of_went)];
            let text =
                sides.map(|(side, other)| first_lines(side, (left / 2).max(left.saturating_sub(other)))).concat();
            shown.extend(Some((at, text.join("\n"))).filter(|_| text.iter().any(|line| cost(line) > 0)));
            left = left.saturating_sub(of_went + of_came);
            if left == 0 {
                break;
            }
        }
        let has_more = self.has_more || shown.len() < passages;
        let parts: Vec<String> = shown.into_values().chain(has_more.then(String::new)).collect();
        parts.join(&format!("\n{GAP}\n")).trim_end().to_owned()
    }
}

impl Passage {
    fn bytes(&self) -> usize {
        self.old.len() + self.new.len()
    }

    /// The lines that went and those that came, with signs: not blank ones, and none that both sides have.
    fn lines(&self) -> [Vec<String>; 2] {
        let lines =
            [&self.old, &self.new].map(|text| text.lines().filter(|line| !line.trim().is_empty()).collect::<Vec<_>>());
        let [old, new] = &lines;
        // What stands before and after the change comes first, so that a brace is not taken for another.
        let is_shared = |(a, b): &(&&str, &&str)| a.trim() == b.trim() && a.trim() != "…";
        let start = old.iter().zip(new).take_while(is_shared).count();
        let end = old[start..].iter().rev().zip(new[start..].iter().rev()).take_while(is_shared).count();
        let [old, new] = [old, new].map(|lines| &lines[start..lines.len() - end]);
        [(old, new, '-'), (new, old, '+')].map(|(lines, others, sign)| {
            let mut shared: HashMap<&str, usize> = HashMap::new();
            others.iter().filter(|line| **line != "…").for_each(|line| *shared.entry(line.trim()).or_default() += 1);
            let is_of_one = |line: &&&str| match shared.get_mut(line.trim()).filter(|number| **number > 0) {
                Some(number) => {
                    *number -= 1;
                    false
                }
                None => true,
            };
            lines.iter().filter(is_of_one).map(|line| signed(sign, line)).collect()
        })
    }
}

/// The place of a part that stands in a text once, and not inside a word; none otherwise.
fn only_place(text: &str, part: &str) -> Option<usize> {
    let mut places = text.match_indices(part).map(|(at, _)| at);
    let at = places.next().filter(|_| !part.is_empty() && places.next().is_none())?;
    let joins = |a: &str, b: &str| a.ends_with(char::is_alphanumeric) && b.starts_with(char::is_alphanumeric);
    Some(at).filter(|_| !joins(&text[..at], part) && !joins(part, &text[at + part.len()..]))
}

/// A line with its sign, cut where it is long. Nothing else than its end begins a new one.
fn signed(sign: char, line: &str) -> String {
    const LONGEST: usize = 240;
    let ends = |c: char| c.is_control() && c != '\t' || matches!(c, '\u{2028}' | '\u{2029}');
    let line = line.trim_end().replace(ends, " ");
    let is_long = line.len() > LONGEST + " …".len();
    if is_long { format!("{sign} {} {GAP}", &line[..cut_before(&line, LONGEST)]) } else { format!("{sign} {line}") }
}

/// The bytes that a line with its sign takes. The mark of lines that are left out takes none, so that a text that was
/// cut once is not cut again.
fn cost(line: &str) -> usize {
    if line.ends_with(GAP) && line.len() == "- …".len() { 0 } else { line.len() + "\n  ".len() }
}

/// As many lines as `most` bytes allow, with a mark where there are more.
fn first_lines(lines: &[String], most: usize) -> Vec<String> {
    let mut left = most;
    let fits = |line: &&String| {
        let rest = left.checked_sub(cost(line));
        left = rest.unwrap_or(0);
        rest.is_some()
    };
    let mut shown: Vec<String> = lines.iter().take_while(fits).cloned().collect();
    shown.extend(lines.get(shown.len()).map(|line| format!("{} {GAP}", &line[..1])));
    shown
}
