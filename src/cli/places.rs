//! Places of messages, as the command `search` prints them and `show` takes them.

use std::fmt;
use std::str::FromStr;

use crate::diagnostic::Diagnostic;
use crate::transcript::record_id::RecordId;

/// Where indices count from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum PlaceOrigin {
    /// The transcript, or the last round of an archive.
    Last,
    /// A round of compaction.
    Round(u32),
    /// A record of an archive.
    Record(RecordId),
    /// A line of the file, counted from 1, and the conversation on it: a record of an archive, or a conversation of a
    /// file that has one a line.
    Line(usize, usize),
}

impl PlaceOrigin {
    /// A place as `search` prints it and `show` takes it.
    pub(crate) fn place(self, index: impl fmt::Display) -> String {
        match self {
            PlaceOrigin::Last => index.to_string(),
            PlaceOrigin::Round(round) => format!("{round}:{index}"),
            PlaceOrigin::Record(id) => format!("{id}:{index}"),
            PlaceOrigin::Line(line, 1) => format!("#{line}:{index}"),
            PlaceOrigin::Line(line, nth) => format!("#{line}.{nth}:{index}"),
        }
    }
}

/// One message, or a range of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MessagePlace {
    pub(crate) origin: PlaceOrigin,
    pub(crate) indices: Indices,
}

/// Which messages of a transcript, a round or a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Indices {
    /// From an index up to another one, which is not among them; [`usize::MAX`] is the end of the transcript.
    Range { first: usize, end: usize },
    /// The last one, whatever its index.
    Last,
}

impl Indices {
    /// The least number of messages.
    pub(crate) fn count(self) -> usize {
        match self {
            // As many as there are.
            Indices::Range { end: usize::MAX, .. } | Indices::Last => 1,
            Indices::Range { first, end } => end.saturating_sub(first),
        }
    }

    /// Whether a message is among them. `is_last` says that none follows it.
    pub(crate) fn contain(self, index: usize, is_last: bool) -> bool {
        match self {
            Indices::Range { first, end } => (first..end).contains(&index),
            Indices::Last => is_last,
        }
    }
}

impl fmt::Display for MessagePlace {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.indices {
            Indices::Last => out.write_str(&self.origin.place(LAST)),
            Indices::Range { first, end: usize::MAX } => write!(out, "{}-{LAST}", self.origin.place(first)),
            Indices::Range { first, end } if end == first + 1 => out.write_str(&self.origin.place(first)),
            Indices::Range { first, end } => write!(out, "{}-{}", self.origin.place(first), end.saturating_sub(1)),
        }
    }
}

/// What names the last message.
const LAST: &str = "last";

/// What `show` takes: places with commas between them, each with brackets or without.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Places(pub(crate) Vec<MessagePlace>);

impl FromStr for Places {
    type Err = Diagnostic;

    fn from_str(text: &str) -> Result<Self, Diagnostic> {
        let (mut places, mut start) = (Vec::new(), 0);
        for part in text.split(',') {
            let example = part
                .replace(['[', '~', ']'], "")
                .trim()
                .parse()
                .map_or("last".to_owned(), |index: usize| format!("#1:{index}"));
            places.push(place(part).map_err(|wrong| wrong.in_part(start, part.len()).example(example))?);
            start += part.len() + 1;
        }
        Ok(Places(places))
    }
}

fn place(part: &str) -> Result<MessagePlace, Diagnostic> {
    // An agent types a place as its digest prints it.
    let plain: String = part.chars().filter(|c| !matches!(c, '[' | ']' | ' ')).collect();
    if plain.starts_with('~') {
        let what = "an older version wrote this digest, and its places do not name their round; search finds the message, \
             and #RECORD:INDEX names it by the line of its record in the archive";
        return Err(Diagnostic::new(what));
    }
    if plain.parse::<RecordId>().is_ok() && !plain.bytes().all(|byte| byte.is_ascii_digit()) {
        let what = format!("{plain} is the id of a record; {plain}:INDEX is a message of it");
        return Err(Diagnostic::new(what).meant(Some(format!("{plain}:{LAST}"))));
    }
    let wrong = || {
        Diagnostic::new(
            "expected INDEX, last, ROUND:INDEX, ID:INDEX or #RECORD:INDEX, or a range of them as in 2:3-9 or 2:3-last",
        )
    };
    if let Some((origin, first)) = plain.strip_suffix("-last").and_then(one) {
        return Ok(MessagePlace { origin, indices: Indices::Range { first, end: usize::MAX } });
    }
    if let Some(before) = plain.strip_suffix(LAST) {
        let origin = match before.strip_suffix(':') {
            Some(origin) => origin_of(origin),
            None => before.is_empty().then_some(PlaceOrigin::Last),
        };
        return Ok(MessagePlace { origin: origin.ok_or_else(wrong)?, indices: Indices::Last });
    }
    let older = plain.split_once("..");
    let (first, last) = older.or_else(|| plain.split_once('-')).unwrap_or((&plain, &plain));
    let (origin, first) = one(first).ok_or_else(wrong)?;
    let (of_last, last) = one(last).ok_or_else(wrong)?;
    if of_last != PlaceOrigin::Last && of_last != origin {
        return Err(wrong());
    }
    if last < first {
        let Some(end) = first.checked_add(1) else { return Err(wrong()) };
        let meant = MessagePlace { origin, indices: Indices::Range { first: last, end } }.to_string();
        let what = format!("a range begins with the smaller index: {meant}");
        return Err(Diagnostic::new(what).meant(Some(meant)));
    }
    if older.is_some() {
        // An older digest says so, where the end is not part of the range.
        let indices = Indices::Range { first, end: last.max(first.saturating_add(1)) };
        let meant = MessagePlace { origin, indices }.to_string();
        let what = format!("a range is FIRST-LAST, with both ends: {meant}");
        return Err(Diagnostic::new(what).meant(Some(meant)));
    }
    let end = last.checked_add(1).ok_or_else(wrong)?;
    Ok(MessagePlace { origin, indices: Indices::Range { first, end } })
}

fn one(text: &str) -> Option<(PlaceOrigin, usize)> {
    let Some((origin, index)) = text.split_once(':') else { return Some((PlaceOrigin::Last, text.parse().ok()?)) };
    Some((origin_of(origin)?, index.parse().ok()?))
}

fn origin_of(text: &str) -> Option<PlaceOrigin> {
    if let Some(line) = text.strip_prefix('#') {
        let (line, nth) = line.split_once('.').unwrap_or((line, "1"));
        return Some(PlaceOrigin::Line(line.parse().ok()?, nth.parse().ok()?));
    }
    if let Ok(id) = text.parse() {
        return Some(PlaceOrigin::Record(id));
    }
    Some(PlaceOrigin::Round(text.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_as_they_are_printed() {
        for (text, printed) in [
            ("12", "12"),
            ("[12]", "12"),
            ("2:17", "2:17"),
            ("last", "last"),
            ("[2:last]", "2:last"),
            ("#3.2:last,0", "#3.2:last,0"),
            ("[2:17]", "2:17"),
            ("#3:4", "#3:4"),
            ("[#3.2:4-9]", "#3.2:4-9"),
            ("2:3-9", "2:3-9"),
            ("3-3", "3"),
            ("[3-19], [22]", "3-19,22"),
            ("2:3-2:9,#1:0", "2:3-9,#1:0"),
            ("3fa81c02:15", "3fa81c02:15"),
            ("[3FA81C02:15-3fa81c02:20]", "3fa81c02:15-20"),
            ("12345678:last", "12345678:last"),
            ("1234567:0", "1234567:0"),
            ("[2:3-last]", "2:3-last"),
            ("0-last,7", "0-last,7"),
        ] {
            let Places(places) = text.parse().unwrap_or_else(|wrong| panic!("{text}: {wrong}"));
            assert_eq!(places.iter().map(MessagePlace::to_string).collect::<Vec<_>>().join(","), printed, "{text}");
        }
        for text in [
            "",
            "x",
            "-1",
            "2:",
            "2last",
            ":last",
            "last-1",
            "-last",
            "2:-last",
            "9-3",
            ":2",
            "#:2",
            "#2",
            "1:2:3",
            "1:2-3:4",
            "3fa81c02",
            "3fa81c0:15",
            "3fa81c021:15",
            "3fa81c02:1-3fa81c03:2",
            "#3fa81c02:15",
            "1-",
            "-2",
            "1..",
            "..2",
            "1,,2",
            "[~12]",
            "18446744073709551616",
        ] {
            assert!(text.parse::<Places>().is_err(), "{text}");
        }
        for (text, meant, why) in [
            ("12..14", "12-13", "a range is FIRST-LAST, with both ends: 12-13"),
            ("[2:3..9]", "2:3-8", "a range is FIRST-LAST, with both ends: 2:3-8"),
            ("1..3", "1-2", "a range is FIRST-LAST, with both ends: 1-2"),
            ("3..4", "3", "a range is FIRST-LAST, with both ends: 3"),
            ("9..3", "3-9", "a range begins with the smaller index: 3-9"),
            ("1:20..18", "1:18-20", "a range begins with the smaller index: 1:18-20"),
            ("1:20-18", "1:18-20", "a range begins with the smaller index: 1:18-20"),
            ("0,20-18", "0,18-20", "a range begins with the smaller index: 18-20"),
            ("3fa81c02", "3fa81c02:last", "3fa81c02 is the id of a record; 3fa81c02:INDEX is a message of it"),
        ] {
            let wrong = text.parse::<Places>().expect_err("no place");
            assert_eq!(wrong.to_string(), why, "{text}");
            assert_eq!(wrong.corrected(text).as_deref(), Some(meant), "{text}");
        }
        assert!(usize::MAX.to_string().parse::<Places>().is_err(), "nothing is behind it");
    }
}
