//! Notes with earlier statements at the end of a line of the user.

use crate::summary::record::RecordEntry;
use crate::summary::record::phrases::{EARLIER, FORMERLY, LAST_REQUEST};
use crate::summary::record::replies::SHORT_ANSWER;
use crate::summary::record::segmentation::{clip_middle, words_of};

/// Splits a sentence from the notes with earlier statements at its end.
pub(super) fn split_notes(sentence: &str) -> (&str, &str) {
    let at = [EARLIER, FORMERLY].iter().filter_map(|opening| sentence.find(opening)).min();
    sentence.split_at(at.filter(|_| sentence.ends_with(')')).unwrap_or(sentence.len()))
}

/// Shortens a line of the user to so many bytes. A cut inside a note would join two statements, so each becomes a line
/// of its own. Returns these lines.
pub(super) fn shorten_line(entry: &mut RecordEntry, most: usize) -> Vec<RecordEntry> {
    if entry.about.starts_with('“') && entry.about.len() + entry.text.len() > most {
        match words_of(&entry.text).nth(SHORT_ANSWER) {
            Some(_) => entry.about.clear(),
            None => entry.about = clip_middle(&entry.about, most),
        }
    }
    // An open answer has its question in its text.
    if entry.about == LAST_REQUEST && entry.text.starts_with('“') && entry.text.len() > most {
        entry.text = entry.text.split_once("” → ").map_or(entry.text.clone(), |(_, answer)| answer.to_owned());
    }
    let (line, notes) = split_notes(&entry.text);
    let mut apart = Vec::new();
    let mut rest = notes;
    while !rest.is_empty() {
        let end = [EARLIER, FORMERLY].iter().filter_map(|opening| rest[1..].find(opening)).min();
        let (note, behind) = rest.split_at(end.map_or(rest.len(), |end| end + 1));
        let text = note.trim_start_matches([' ', '(']);
        let text = clip_middle(text.strip_suffix(')').unwrap_or(text), most);
        apart.push(RecordEntry { text, about: String::new(), weight: entry.weight - 1.0, ..entry.clone() });
        rest = behind;
    }
    entry.text = clip_middle(line, most);
    apart
}
