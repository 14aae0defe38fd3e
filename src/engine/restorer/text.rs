//! A text while its rounds are put back, and what is known of its lines and beginnings by their hashes.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::hash::{Hasher, sha256};
use crate::rewrite::pieces;
use crate::rewrite::restoring::PutBack;
use crate::rewrite::way_back::without_end;

use crate::engine::archive::Archive;
use crate::engine::records::RecordPlace;

/// The lines of a text, and their hashes.
pub(super) struct TextLines<'t> {
    pub(super) all: Vec<&'t [u8]>,
    pub(super) hashes: LineHashes,
}

impl<'t> TextLines<'t> {
    pub(super) fn of(text: &'t [u8]) -> Self {
        let all: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
        TextLines { hashes: LineHashes::of(&all), all }
    }
}

/// The hashes of the lines of a text.
pub(super) struct LineHashes {
    pub(super) hashes: Vec<String>,
    /// The records that name a line which has changed since or is not there, by their hash.
    moved: HashMap<String, Vec<RecordPlace>>,
}

impl LineHashes {
    pub(super) fn of(lines: &[&[u8]]) -> Self {
        let hashes = lines.iter().map(|line| sha256(without_end(line))).collect();
        LineHashes { hashes, moved: HashMap::new() }
    }

    /// The records with this hash that name this line.
    pub(super) fn own_places(&self, archive: &Archive<'_>, hash: &str, number: usize) -> Vec<RecordPlace> {
        let Some(by_line) = archive.by_result.get(hash) else { return Vec::new() };
        if !self.has_hash(number, hash) {
            return Vec::new();
        }
        by_line.get(&Some(number)).cloned().unwrap_or_default()
    }

    /// The records with this hash that can be of any line: they name one that has changed since. Many lines can be equal, so the
    /// records of one that has not are not looked at for another.
    pub(super) fn moved_places(&mut self, archive: &Archive<'_>, hash: &str) -> Vec<RecordPlace> {
        let Some(by_line) = archive.by_result.get(hash) else { return Vec::new() };
        if let Some(moved) = self.moved.get(hash) {
            return moved.clone();
        }
        let mut moved = Vec::new();
        for (line, places) in by_line {
            if line.is_some_and(|line| !self.has_hash(line, hash)) {
                moved.extend_from_slice(places);
            }
        }
        self.moved.insert(hash.to_owned(), moved.clone());
        moved
    }

    /// Whether the line with this number is there and has this hash.
    fn has_hash(&self, line: usize, hash: &str) -> bool {
        let Some(at) = line.checked_sub(1) else { return false };
        self.hashes.get(at).is_some_and(|of_line| of_line == hash)
    }
}

/// A text, and the edits that restore it, so that a large original need not be joined.
pub(in crate::engine) struct Restored<'t> {
    pub(in crate::engine) text: Cow<'t, [u8]>,
    pub(in crate::engine) edits: Vec<PutBack>,
}

impl<'t> Restored<'t> {
    pub(super) fn of(text: &'t [u8]) -> Self {
        Restored { text: Cow::Borrowed(text), edits: Vec::new() }
    }

    /// The hash of the text with the edits.
    pub(super) fn hash(&self) -> String {
        let mut hasher = Hasher::default();
        for piece in pieces(&self.text, &self.edits) {
            hasher.add(piece);
        }
        hasher.end()
    }

    /// The length and the hash of each beginning of the result that ends at a line end, and of the whole, that are `known` by
    /// their hash, the longest last. The last line can have been without an end when it was the last.
    pub(super) fn beginnings(&self, known: impl Fn(&str) -> bool) -> Vec<(usize, String)> {
        let (mut hasher, mut length, mut beginnings) = (Hasher::default(), 0, Vec::new());
        for piece in pieces(&self.text, &self.edits) {
            for line in piece.split_inclusive(|byte| *byte == b'\n') {
                let content = without_end(line);
                let has_end = content.len() < line.len();
                for part in [content, &line[content.len()..]] {
                    hasher.add(part);
                    length += part.len();
                    if !has_end {
                        continue;
                    }
                    let hash = hasher.clone().end();
                    if known(&hash) {
                        beginnings.push((length, hash));
                    }
                }
            }
        }
        let hash = hasher.end();
        if known(&hash) {
            beginnings.push((length, hash));
        }
        beginnings
    }

    /// Makes the result the text.
    pub(in crate::engine) fn join(&mut self) {
        if !self.edits.is_empty() {
            self.text = pieces(&self.text, &self.edits).collect::<Vec<_>>().concat().into();
            self.edits.clear();
        }
    }
}

/// Ends the last line of a restored beginning where lines stand behind it: the original can have been without a line end,
/// when its last line was the last of the file.
pub(super) fn end_last_line(restored: &mut Restored<'_>, end: usize) {
    let (left, appended) = restored.text.split_at(end);
    let last = pieces(left, &restored.edits).filter(|piece| !piece.is_empty()).last();
    if last.is_none_or(|piece| piece.ends_with(b"\n")) || matches!(appended.first(), None | Some(b'\n' | b'\r')) {
        return;
    }
    let line_end = if left.ends_with(b"\r\n") { "\r\n" } else { "\n" };
    restored.edits.push(PutBack { range: end..end, bytes: line_end.into() });
}
