//! `--search`: prints the messages whose text holds a pattern, the most recent first. Each file is read once, and only the
//! lines to print are kept.

use std::collections::VecDeque;
use std::ops::Range;

use anyhow::Result;
use regex::Regex;
use serde_json::json;

use crate::cli::places::Origin;
use crate::events::Event;
use crate::exit::Exit;
use crate::files::output;
use crate::redact::{cut_before, cut_behind};
use crate::report::reporter::Reporter;
use crate::sanitize::{reveal_line, sanitize_json, sanitize_name};
use crate::settings::{LookupSettings, SearchSettings, Volume};
use crate::summary::inline_data::without_data;

use crate::engine::listeners::notify;
use crate::engine::lookup::{FileKind, Lookup, LookupFile, Masks, Part, files};

/// The most matching lines of one message that are shown.
const MOST_LINES: usize = 20;
/// The most bytes of a line that are shown, and of those before the match.
const LONGEST_LINE: usize = 240;
const BEFORE_MATCH: usize = 80;

/// A message with a match.
struct Hit {
    /// Where its index counts from: a record of this round, or a transcript.
    round: Option<u32>,
    origin: Origin,
    index: usize,
    role: String,
    tool: Option<String>,
    lines: Vec<FoundLine>,
    /// How many more lines match.
    more: usize,
}

/// A line with a match, or one beside it.
#[derive(Debug, PartialEq)]
struct FoundLine {
    /// Counted from 1.
    number: usize,
    text: String,
    matches: bool,
}

/// The hits of one file.
struct Hits<'s> {
    pattern: &'s Regex,
    /// The most to keep.
    most: usize,
    /// The last ones, in order.
    last: VecDeque<Hit>,
    number: usize,
}

/// Searches files and prints what is found.
///
/// # Errors
/// The only file cannot be read; or standard output cannot be written.
pub(super) fn search(settings: &LookupSettings, search: &SearchSettings) -> Result<Exit> {
    let (files, unsearched) = files(&settings.input.paths);
    let is_only = files.len() == 1 && files[0].named;
    let reporter = Reporter::new(settings.volume);
    let (mut lookup, mut failures, mut shown, mut number) = (Lookup::new(settings), unsearched, 0, 0);
    for file in &files {
        let most = if search.counts { 0 } else { search.limit - shown };
        let mut hits = Hits { pattern: &search.pattern, most, last: VecDeque::new(), number: 0 };
        let kind = lookup.read(file.path.as_deref(), file.named, &mut |part, masks| hits.add(part, masks));
        let kind = match kind {
            Err(error) if is_only => return Err(error),
            Err(error) => {
                failures.push(error.to_string());
                continue;
            }
            Ok(FileKind::Other) => continue,
            Ok(kind) => kind,
        };
        number += hits.number;
        shown += hits.last.len();
        output::print(&match (search.counts, is_only) {
            (true, true) => format!("{}\n", hits.number),
            (true, false) => format!("{}\t{}\n", sanitize_name(&file.name()), hits.number),
            (false, _) => hits.last.iter().rev().map(|hit| hit.draw(file, &kind, settings.json)).collect(),
        })?;
    }
    failures.iter().for_each(|failure| notify(&reporter, Event::InputFailed(failure)));
    if settings.volume > Volume::Quiet {
        lookup.damage.iter().for_each(|sentence| notify(&reporter, Event::Notice(sentence)));
        if number > shown && !search.counts {
            let more = number - shown;
            notify(&reporter, Event::Notice(&format!("{more} more; --limit {number} shows them")));
        }
    }
    Ok(match (failures.is_empty(), number) {
        (false, _) if failures.len() == files.len() => Exit::Unreadable,
        (false, _) => Exit::SomeFailed,
        (true, 0) => Exit::NothingCompacted,
        (true, _) => Exit::Success,
    })
}

impl Hits<'_> {
    fn add(&mut self, part: &Part<'_, '_>, masks: &mut Masks) {
        if part.is_copy {
            return;
        }
        for (at, message) in part.messages.iter().enumerate() {
            let text = masks.text(message);
            if !self.pattern.is_match(&text) {
                continue;
            }
            let text = without_data(&text);
            let (lines, more) = found_lines(text.trim_end_matches('\n'), self.pattern);
            if lines.is_empty() {
                continue;
            }
            self.number += 1;
            if self.most == 0 {
                continue;
            }
            if self.last.len() == self.most {
                self.last.pop_front();
            }
            let (role, tool) = part.speaker(at);
            let (round, origin) = (part.record.map(|record| record.round), part.origin);
            self.last.push_back(Hit { round, origin, index: part.index(at), role, tool, lines, more });
        }
    }
}

impl Hit {
    /// Returns the lines that show it.
    fn draw(&self, file: &LookupFile, kind: &FileKind, json: bool) -> String {
        let Hit { index, role, tool, lines, more, .. } = self;
        let origin = match (kind, self.round, self.origin) {
            (FileKind::Archive(rounds), Some(round), Origin::Line(line, _)) => rounds.origin(round, line),
            _ => self.origin,
        };
        let place = origin.place(index);
        if json {
            let lines: Vec<_> = lines
                .iter()
                .map(|line| json!({"number": line.number, "text": line.text, "match": line.matches}))
                .collect();
            let mut row = json!({"source": file.name(), "index": place, "role": role, "tool": tool, "lines": lines});
            if let (None, Origin::Line(line, _)) = (self.round, self.origin) {
                row["line"] = line.into();
            }
            if *more > 0 {
                row["more_lines"] = (*more).into();
            }
            return sanitize_json(&row.to_string()) + "\n";
        }
        let mut out = header(&place, role, tool.as_deref()) + &format!("  {}\n", sanitize_name(&file.name()));
        let mut last = None;
        for line in lines {
            if last.is_some_and(|last| last + 1 < line.number) {
                out.push_str("  …\n");
            }
            last = Some(line.number);
            out.push_str(if line.matches { "> " } else { "  " });
            out.push_str(&reveal_line(&line.text));
            out.push('\n');
        }
        if *more > 0 {
            out.push_str(&format!("  … {more} more; --show '{place}' shows all\n"));
        }
        out
    }
}

/// Returns the line above a message.
pub(super) fn header(place: &str, role: &str, tool: Option<&str>) -> String {
    let tool = tool.map(|tool| format!(" {tool}")).unwrap_or_default();
    format!("[{place}] {role}{tool}")
}

/// Returns the lines of a text that a match touches, the first ones each with a line before and behind, and how many more
/// there are.
fn found_lines(text: &str, pattern: &Regex) -> (Vec<FoundLine>, usize) {
    let (mut found, mut at, mut number, mut counted, mut matches) = (Vec::new(), 0, 1, 0, 0);
    while let Some(one) = pattern.find_at(text, at) {
        let mut start = memchr::memrchr(b'\n', &text.as_bytes()[..one.start()]).map_or(0, |end| end + 1);
        loop {
            let end = memchr::memchr(b'\n', &text.as_bytes()[start..]).map_or(text.len(), |end| start + end);
            number += memchr::memchr_iter(b'\n', &text.as_bytes()[counted..start]).count();
            counted = start;
            matches += 1;
            if matches <= MOST_LINES {
                let within = |at: usize| at.clamp(start, end) - start;
                let line = Line { text, number, range: start..end };
                line.add(&mut found, within(one.start())..within(one.end()));
            }
            (start, at) = (end + 1, end + 1);
            if start >= one.end() {
                break;
            }
        }
        if at > text.len() {
            break;
        }
    }
    (found, matches - matches.min(MOST_LINES))
}

/// A line of a text.
struct Line<'t> {
    text: &'t str,
    number: usize,
    range: Range<usize>,
}

impl Line<'_> {
    /// Adds the line and those beside it.
    fn add(&self, found: &mut Vec<FoundLine>, matched: Range<usize>) {
        let Line { text, number, range } = self;
        let shown = |line: &str, around: Range<usize>| clipped(line.strip_suffix('\r').unwrap_or(line), around);
        // The line behind the one before may be this one, or the one before this.
        found.pop_if(|last| last.number == *number);
        let last = found.last().map_or(0, |last| last.number);
        if *number > 1 && last + 1 < *number {
            let before = text[..range.start - 1].rsplit('\n').next().unwrap_or_default();
            found.push(FoundLine { number: number - 1, text: shown(before, 0..0), matches: false });
        }
        found.push(FoundLine { number: *number, text: shown(&text[range.clone()], matched), matches: true });
        if let Some(behind) = text.get(range.end + 1..).and_then(|rest| rest.split('\n').next()) {
            found.push(FoundLine { number: number + 1, text: shown(behind, 0..0), matches: false });
        }
    }
}

/// Returns the part of a long line around a range of it, with … where it is cut.
fn clipped(line: &str, around: Range<usize>) -> String {
    if line.len() <= LONGEST_LINE {
        return line.to_owned();
    }
    let start =
        if around.end <= LONGEST_LINE { 0 } else { cut_before(line, around.start.saturating_sub(BEFORE_MATCH)) };
    let end = cut_behind(line, (start + LONGEST_LINE).min(line.len()));
    let (before, behind) = (if start > 0 { "…" } else { "" }, if end < line.len() { "…" } else { "" });
    format!("{before}{}{behind}", &line[start..end])
}
