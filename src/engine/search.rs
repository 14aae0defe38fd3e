//! `search`: prints the messages whose text holds a pattern: those that match most of its alternatives first, and the
//! most recent of a file first. Each file is read once, and only the lines to print are kept.

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use std::io::IsTerminal;
use std::ops::Range;

use anyhow::Result;
use regex::Regex;
use serde_json::json;

use crate::cli::errors::completed;
use crate::cli::places::PlaceOrigin;
use crate::cli::retry::Typed;
use crate::cli::search_pattern::SearchPattern;
use crate::diagnostic::{Advice, PROGRAM, joined};
use crate::events::{Event, Listener};
use crate::exit::Exit;
use crate::files::output;
use crate::redact::{cut_before, cut_behind};
use crate::report::reporter::Reporter;
use crate::sanitize::{reveal_line, sanitize_json, sanitize_name};
use crate::settings::{LookupSettings, SearchSettings, Volume};
use crate::tokens::Counter;
use crate::transcript::media::without_data;
use crate::wording::counted;

use crate::engine::contents::{Contents, Found, ReadPart};
use crate::engine::lookup::{Lookup, Masks, files};
use crate::engine::show_command::ShowCommand;

/// The most matching lines of one message that are shown.
const MOST_LINES: usize = 20;
/// The most hits before one that are compared with it.
const MOST_COMPARED: usize = 20;
/// The most bytes of a line that are shown, and of those before the match.
const LONGEST_LINE: usize = 240;
const BEFORE_MATCH: usize = 80;

/// A message with a match.
struct Hit {
    found: Found,
    /// How many alternatives of the pattern it matches.
    alternatives: usize,
    /// The tokens of its text, where not all of its lines are shown.
    tokens: u64,
    lines: Vec<FoundLine>,
    /// How many more lines match.
    more: usize,
    /// The number of earlier messages with the same lines, and the last ones of these.
    earlier: usize,
    same: VecDeque<Found>,
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
    pattern: &'s SearchPattern,
    /// The most to keep.
    most: usize,
    /// Whether one stands for all that show the same.
    joins: bool,
    /// The ones to print, in the order of the file.
    kept: VecDeque<Hit>,
    number: usize,
    /// The messages that were looked at.
    searched: u64,
    /// The lines of messages with a match that are no longer sent.
    unsent: Vec<usize>,
}

/// The text of a message that waits until all files are searched.
struct Ranked {
    alternatives: usize,
    text: String,
    /// How many messages it stands for.
    messages: usize,
}

/// Searches files and prints what is found.
///
/// # Errors
/// The only file cannot be read; or standard output cannot be written.
pub(super) fn search(settings: &SearchSettings) -> Result<Exit> {
    let SearchSettings { lookup: settings, pattern, limit, counts, typed } = settings;
    let (counts, limit) = (*counts, *limit);
    let (files, mut failures) = files(&settings.input.paths);
    let is_only = matches!(files.as_slice(), [only] if only.named);
    let (mut lookup, mut shown, mut number) = (Lookup::new(settings), 0, 0);
    let mut searched = 0_u64;
    lookup.reads_unsent = settings.volume > Volume::Quiet;
    let mut unsent = Vec::new();
    let is_ranked = pattern.has_alternatives() && !counts;
    let mut ranked = Vec::new();
    for file in &files {
        // One that stands for several counts as all of them.
        let most = if counts { 0 } else { limit.saturating_sub(shown) };
        let mut hits = Hits {
            pattern,
            most,
            joins: !settings.json,
            kept: VecDeque::new(),
            number: 0,
            searched: 0,
            unsent: Vec::new(),
        };
        let contents = match lookup.read(file, &mut |part, masks| hits.add(part, masks)) {
            Err(error) if is_only => return Err(error),
            Err(error) => {
                failures.push(error.to_string());
                continue;
            }
            Ok(None) => continue,
            Ok(Some(contents)) => contents,
        };
        number += hits.number;
        searched += hits.searched;
        unsent.extend(unsent_hits(&file.name(), &hits.unsent));
        let (name, command) = (file.name(), ShowCommand::of(settings, file));
        if is_ranked {
            for hit in hits.kept.iter().rev() {
                let text = hit.draw(&name, &contents, settings.json, &command);
                ranked.push(Ranked { alternatives: hit.alternatives, text, messages: 1 + hit.earlier });
            }
            keep_best(&mut ranked, limit);
            continue;
        }
        shown += hits.kept.iter().map(|hit| 1 + hit.earlier).sum::<usize>();
        let mut text = String::new();
        if counts && is_only {
            text = format!("{}\n", hits.number);
        } else if counts {
            text = format!("{}\t{}\n", sanitize_name(&name), hits.number);
        } else {
            for hit in hits.kept.iter().rev() {
                text.push_str(&hit.draw(&name, &contents, settings.json, &command));
            }
        }
        output::print(&text)?;
    }
    for one in &ranked {
        output::print(&one.text)?;
        shown += one.messages;
    }
    let reporter = Reporter::new(settings.volume);
    for failure in &failures {
        reporter.handle(&Event::InputFailed(failure));
    }
    if settings.volume > Volume::Quiet {
        for sentence in lookup.damage.iter().chain(&unsent) {
            reporter.handle(&Event::Notice(sentence));
        }
        if searched == 0 {
            for sentence in &lookup.other_files.sentences() {
                reporter.handle(&Event::Notice(sentence));
            }
        }
        // A person looks on who may think that nothing was searched.
        if number == 0 && unsent.is_empty() && !counts && std::io::stderr().is_terminal() {
            let sentence = format!("nothing found in {}", counted(searched, "message"));
            reporter.handle(&Event::Notice(&sentence));
        }
        if number > shown && !counts {
            let sentence = format!("{} more; {}", number - shown, to_see_all(settings, typed, number));
            reporter.handle(&Event::Notice(&sentence));
        }
    }
    if !failures.is_empty() {
        Ok(Exit::SomeFailed)
    } else if number == 0 {
        Ok(Exit::NothingCompacted)
    } else {
        Ok(Exit::Success)
    }
}

/// Says which lines of a session match and are not shown: no index names them.
fn unsent_hits(file: &str, lines: &[usize]) -> Option<String> {
    const MOST: usize = 12;
    let all = lines.len();
    if all == 0 {
        return None;
    }
    let shown: Vec<String> = lines.iter().take(MOST).map(ToString::to_string).collect();
    let more = if all > MOST { format!(" and {} more", all - MOST) } else { String::new() };
    let (messages, in_lines) = match all {
        1 => ("a message", "line"),
        _ => ("messages", "lines"),
    };
    let file = sanitize_name(file);
    let shown = shown.join(", ");
    Some(format!(
        "{file}: the pattern is also in {messages} that the agent no longer sends, before its own compaction or on a branch: {in_lines} {shown}{more}"
    ))
}

/// What a note says to do for all messages that are found.
fn to_see_all(settings: &LookupSettings, typed: &Typed, number: usize) -> String {
    let flag = ["--limit".to_owned(), number.to_string()];
    let paths = &settings.input.paths;
    let reads_pipe = paths.is_empty() || paths.iter().any(|path| path.as_os_str() == "-");
    match completed(&Advice::command(flag), "--limit", typed) {
        Advice::Command { words, .. } if !reads_pipe => format!("to see all: {PROGRAM} {}", joined(&words)),
        _ => format!("--limit {number} shows them"),
    }
}

/// Leaves those that match most alternatives, and of equal ones the first.
fn keep_best(ranked: &mut Vec<Ranked>, most: usize) {
    ranked.sort_by_key(|one| Reverse(one.alternatives));
    ranked.truncate(most);
}

impl Hits<'_> {
    fn add(&mut self, part: &ReadPart<'_, '_>, masks: &mut Masks) {
        for message in part.unsent {
            if self.pattern.whole.is_match(&masks.text_of_unsent(message)) {
                self.unsent.push(message.line);
            }
        }
        if part.is_copy {
            return;
        }
        for (at, message) in part.messages.iter().enumerate() {
            self.searched += 1;
            let text = masks.text(message);
            if !self.pattern.whole.is_match(&text) {
                continue;
            }
            let text = without_data(&text);
            let (lines, more) = found_lines(text.trim_end_matches('\n'), &self.pattern.whole);
            if lines.is_empty() {
                continue;
            }
            self.number += 1;
            let alternatives = self.pattern.matched_alternatives(&text);
            let tokens = if more > 0 { Counter::APPROX.count_text(&text) } else { 0 };
            let found = part.found(at);
            let mut hit = Hit { found, alternatives, tokens, lines, more, earlier: 0, same: VecDeque::new() };
            // An agent reads a file again and again, and repeats what it said.
            if self.joins
                && let Some(same) = self.kept.iter().rev().take(MOST_COMPARED).position(|before| before.is_same(&hit))
            {
                let before = self.kept.remove(self.kept.len() - 1 - same);
                hit.join(before);
            }
            self.kept.push_back(hit);
            if self.kept.len() > self.most {
                self.remove_worst();
            }
        }
    }

    /// Removes the one that matches the fewest alternatives, and of equal ones the oldest.
    fn remove_worst(&mut self) {
        if !self.pattern.has_alternatives() {
            self.kept.pop_front();
            return;
        }
        let mut worst = 0;
        for (at, hit) in self.kept.iter().enumerate() {
            if hit.alternatives < self.kept[worst].alternatives {
                worst = at;
            }
        }
        self.kept.remove(worst);
    }
}

impl Hit {
    /// Takes the place of one that shows the same text.
    fn join(&mut self, before: Option<Hit>) {
        if let Some(before) = before {
            (self.earlier, self.same) = (before.earlier + 1, before.same);
            self.same.push_front(before.found);
            self.same.truncate(MOST_COMPARED);
        }
    }

    /// Whether it shows the same text.
    fn is_same(&self, other: &Hit) -> bool {
        self.more == other.more
            && self.lines.len() == other.lines.len()
            && self.lines.iter().zip(&other.lines).all(|(one, other)| one.text == other.text)
    }

    fn draw(&self, file: &str, contents: &Contents, json: bool, command: &ShowCommand) -> String {
        if json { self.to_json(file, contents) } else { self.to_text(file, contents, command) }
    }

    /// The conversation that the message is of, where the file holds several.
    fn source(&self, contents: &Contents) -> Option<&str> {
        let source = &self.found.source;
        if !source.is_empty() && contents.has_several_sources() { Some(source) } else { None }
    }

    fn to_json(&self, file: &str, contents: &Contents) -> String {
        let Found { role, tool, .. } = &self.found;
        let mut lines = Vec::with_capacity(self.lines.len());
        for line in &self.lines {
            lines.push(json!({"number": line.number, "text": line.text, "match": line.matches}));
        }
        let place = place_of(&self.found, contents);
        let mut row = json!({"source": file, "index": place, "role": role, "tool": tool, "lines": lines});
        if let Some(source) = self.source(contents) {
            row["of"] = source.into();
        }
        if let PlaceOrigin::Line(line, _) = self.found.origin
            && !contents.is_archive
        {
            row["line"] = line.into();
        }
        if self.more > 0 {
            row["more_lines"] = self.more.into();
        }
        sanitize_json(&row.to_string()) + "\n"
    }

    fn to_text(&self, file: &str, contents: &Contents, command: &ShowCommand) -> String {
        let Hit { found, lines, more, earlier, same, tokens, .. } = self;
        let mut out = format!("{}  {}", found.header(contents.origin_of(found)), sanitize_name(file));
        if let Some(source) = self.source(contents) {
            out.push_str(&format!(" of {}", sanitize_name(source)));
        }
        out.push('\n');
        let mut last = usize::MAX - 1;
        for line in lines {
            out.push_str(if last + 1 < line.number { "  …\n" } else { "" });
            last = line.number;
            out.push_str(&format!("{} {}\n", if line.matches { ">" } else { " " }, reveal_line(&line.text)));
        }
        if *more > 0 {
            let command = command.to_see_all(&place_of(found, contents), *tokens);
            out.push_str(&format!("  … {more} more; {command}\n"));
        }
        if !same.is_empty() {
            let places: Vec<String> = same.iter().map(|found| place_of(found, contents)).collect();
            let others = if *earlier > same.len() { ", …" } else { "" };
            out.push_str(&format!("  … the same in {}{others}\n", places.join(", ")));
        }
        out
    }
}

/// The place of a message, as shortly as `show` takes it.
fn place_of(found: &Found, contents: &Contents) -> String {
    contents.origin_of(found).place(found.index)
}

/// The lines of a text that a match touches, the first ones each with a line before and behind, and how many more there
/// are.
fn found_lines(text: &str, pattern: &Regex) -> (Vec<FoundLine>, usize) {
    let ends = memchr::memchr_iter(b'\n', text.as_bytes());
    let starts: Vec<usize> = [0].into_iter().chain(ends.map(|end| end + 1)).collect();
    // The lines to show, each with the match in it.
    let mut chosen: BTreeMap<usize, Option<Range<usize>>> = BTreeMap::new();
    let (mut at, mut matches) = (Some(0), 0);
    while let Some(one) = at.and_then(|at| pattern.find_at(text, at)) {
        let first = starts.partition_point(|start| *start <= one.start()) - 1;
        let behind = starts.partition_point(|start| *start < one.end()).max(first + 1);
        for number in first..behind {
            matches += 1;
            if matches <= MOST_LINES {
                let start = starts[number];
                chosen.insert(number, Some(one.start().saturating_sub(start)..one.end() - start));
                if number > 0 {
                    chosen.entry(number - 1).or_default();
                }
                if number + 1 < starts.len() {
                    chosen.entry(number + 1).or_default();
                }
            }
        }
        at = starts.get(behind).copied();
    }
    let mut lines = Vec::with_capacity(chosen.len());
    for (number, found) in chosen {
        let line = text[starts[number]..].split('\n').next().unwrap_or_default();
        let line = line.strip_suffix('\r').unwrap_or(line);
        let matches = found.is_some();
        lines.push(FoundLine { number: number + 1, matches, text: clipped(line, found.unwrap_or_default()) });
    }
    (lines, matches - matches.min(MOST_LINES))
}

/// The part of a long line around a range of it, with … where it is cut.
fn clipped(line: &str, around: Range<usize>) -> String {
    if line.len() <= LONGEST_LINE {
        return line.to_owned();
    }
    let is_early = around.end <= LONGEST_LINE;
    let start = if is_early { 0 } else { cut_before(line, around.start.saturating_sub(BEFORE_MATCH).min(line.len())) };
    let end = cut_behind(line, (start + LONGEST_LINE).min(line.len()));
    let (before, behind) = (if start > 0 { "…" } else { "" }, if end < line.len() { "…" } else { "" });
    format!("{before}{}{behind}", &line[start..end])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Texts of anything, and above all of what could end a line or look like a header.
    fn text() -> impl Strategy<Value = String> {
        let odd = prop::sample::select(vec![
            "\n",
            "\r",
            "\r\n",
            "\u{b}",
            "\u{c}",
            "\u{1c}",
            "\u{85}",
            "\u{2028}",
            "\u{2029}",
            "\u{1b}[2K",
            "\t",
            "\u{202e}",
            "[2:17] tool bash  cut.jsonl",
            "[1:0] … 3 more tokens; ",
            "> ",
            "  ",
            "hit",
            "\u{e0041}",
            "日本",
        ]);
        let part = prop_oneof![4 => odd.prop_map(str::to_owned), 1 => any::<char>().prop_map(String::from)];
        prop::collection::vec(part, 0..40).prop_map(|parts| parts.concat())
    }

    fn found(tool: String) -> Found {
        let (origin, role) = (PlaceOrigin::Line(1, 1), "tool".to_owned());
        Found {
            round: 2,
            record: None,
            origin,
            source: String::new(),
            index: 17,
            role,
            tool: Some(tool),
            pair: Some(("←", 16)),
        }
    }

    /// The lines as the most generous reader splits them.
    fn lines(text: &str) -> Vec<&str> {
        text.split(|c| matches!(c, '\n'..='\r' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}'..='\u{2029}')).collect()
    }

    proptest! {
        #[test]
        fn no_line_of_content_looks_like_a_header(text in text(), tool in text(), file in text(), tokens in 1u64..20) {
            let pattern = crate::pattern::pattern("hit");
            let (shown, more) = found_lines(&text, &pattern);
            prop_assert_eq!(shown.is_empty(), !text.contains("hit"));
            let found = found(crate::sanitize::reveal_line(&tool));
            let command = ShowCommand { arguments: Some(vec![file.clone()]) };
            let (tokens_of_all, same) = (tokens * 1_000, VecDeque::new());
            let hit = Hit { found, alternatives: 0, tokens: tokens_of_all, lines: shown, more, earlier: 0, same };
            let drawn = hit.draw(&file, &Contents::default(), false, &command);
            let is_content = |line: &&str| line.starts_with("  ") || line.starts_with("> ");
            let drawn = drawn.strip_suffix('\n').expect("a line end");
            prop_assert!(lines(drawn)[1..].iter().all(is_content), "{:?}", drawn);
            let json = hit.draw(&file, &Contents::default(), true, &command);
            prop_assert_eq!(lines(&json).len(), 2, "{:?}", json);
            let shown = crate::engine::show::drawn(&hit.found, PlaceOrigin::Round(2), &text, tokens, &command);
            let shown = shown.strip_suffix('\n').expect("a line end");
            let lines = lines(shown);
            let ours = lines[1..].iter().filter(|line| !is_content(line)).collect::<Vec<_>>();
            prop_assert!(ours.len() < 2 && ours.iter().all(|line| line.starts_with("[2:17] … ")), "{:?}", shown);
        }
    }

    #[test]
    fn matching_lines_stand_with_one_around_them() {
        let shown = |text: &str, pattern: &str| {
            let pattern = regex::RegexBuilder::new(pattern).multi_line(true).crlf(true).build().expect("a pattern");
            let (lines, more) = found_lines(text, &pattern);
            let line =
                |line: FoundLine| format!("{}{}{}", line.number, if line.matches { ">" } else { " " }, line.text);
            (lines.into_iter().map(line).collect::<Vec<_>>().join("|"), more)
        };
        let lines = "a\nb\nc\r\nd\ne\nf\ng";
        for (pattern, expected) in [
            ("a", "1>a|2 b"),
            ("g", "6 f|7>g"),
            ("^c$", "2 b|3>c|4 d"),
            ("a|c", "1>a|2 b|3>c|4 d"),
            ("a|f", "1>a|2 b|5 e|6>f|7 g"),
            ("(?s)b.*d", "1 a|2>b|3>c|4>d|5 e"),
            ("d\n", "3 c|4>d|5 e"),
            ("z", ""),
        ] {
            assert_eq!(shown(lines, pattern), (expected.to_owned(), 0), "{pattern}");
        }
        assert_eq!(shown("", "^$").0, "1>");
        let (many, more) = shown(&"hit\n".repeat(30), "hit");
        assert_eq!((many.matches('>').count(), more), (20, 10));
        let long = format!("{}hit{}", "é".repeat(500), "b".repeat(500));
        let (clipped, _) = shown(&long, "hit");
        assert!(clipped.starts_with("1>…é") && clipped.contains("éhitb") && clipped.ends_with("b…"), "{clipped}");
        assert!(clipped.len() < 300, "{clipped}");
    }
}
