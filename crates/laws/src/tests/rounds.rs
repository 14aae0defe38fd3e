//! Conversations that grow between five rounds of compaction, in every format: all of them come back, and the places in the
//! last digest lead to the messages of their rounds.

use std::collections::HashSet;
use std::path::Path;

use serde_json::Value;

use crate::all_cases::{Sample, one_in};
use crate::bricks::Bricks;
use crate::bricks::talk::{Step, choices, steps};
use crate::transcript::formats::{FORMATS, Format};
use crate::transcript::source::Source;
use crate::transcripts::read;
use crate::whole::{append_sections, process, restored};

const ROUNDS: usize = 5;
/// Entries that a conversation gains in each round.
const GAINED: usize = 16;
/// Ways to change a conversation in a round.
const WAYS: [&[&str]; 6] = [
    &["--keep=messages:5", "--prune=all"],
    &["--keep=messages:3", "--archive-note=off"],
    &["--keep=messages:5", "--prune=all", "--model=none"],
    &["--keep=messages:5", "--fit=tokens:3000"],
    &["--keep=messages:900", "--model=none", "--repair=drop"],
    &["--keep=messages:5", "--redact=all"],
];

/// A file of a conversation: its entries, and what stands before and behind them.
struct Conversation {
    before: String,
    entries: Vec<String>,
    behind: String,
    is_lines: bool,
}

impl Conversation {
    /// Leaves out some entries, so that there is something to repair.
    fn with_breaches(mut self) -> Self {
        let mut index = 0;
        self.entries.retain(|_| {
            index += 1;
            index % 9 != 8
        });
        self
    }

    fn new(source: &str, format: &'static Format) -> Self {
        let document = read(source, Some(format), None).expect("a transcript");
        let transcript = &document.transcripts[0];
        let mut spans: Vec<_> = transcript.entries().map(|entry| entry.span()).collect();
        spans.sort_by_key(|span| span.start);
        let (first, last) = (spans[0].start, spans[spans.len() - 1].end);
        let is_lines = Source::of_file(source).expect("JSON").values().nth(1).is_some();
        let entries = spans.into_iter().map(|span| source[span].to_owned()).collect();
        Conversation { before: source[..first].to_owned(), entries, behind: source[last..].to_owned(), is_lines }
    }

    /// The entries that are gained in a round.
    fn gained(&self, round: usize) -> &[String] {
        let end = |round: usize| (round * GAINED).min(self.entries.len());
        &self.entries[end(round)..end(round + 1)]
    }
}

/// Steps of a conversation, in which each user message is one of its own.
fn talk(seed: u64) -> Vec<Step> {
    let mut below = choices(seed);
    let said = steps(&mut below, 0..(ROUNDS + 1) * GAINED);
    let turns = |number: usize, step: Step| {
        // Where user and model alternate, a conversation without an answer cannot be cut.
        let step = match step {
            Step::User(text) if number.is_multiple_of(2) => Step::Assistant(text),
            step => step,
        };
        [Step::User(format!("Look only at bed {number} of {seed}. Its password=Tulip{number}Garden{seed}.")), step]
    };
    said.into_iter().enumerate().flat_map(|(number, step)| turns(number, step)).collect()
}

/// Compacts a text and appends its records to an archive. Returns the result.
fn compacted(text: &str, format: &'static Format, archive: &Path, way: &[&str]) -> String {
    let mut arguments = vec![format!("--from={}", format.name), format!("--archive={}", archive.display())];
    arguments.extend(["--accept=any", "--pin=none"].iter().chain(way).map(|argument| (*argument).to_owned()));
    let outcome = process(&arguments, text).unwrap_or_else(|error| panic!("{error}: {text}"));
    append_sections(archive, outcome.archived.sections);
    outcome.text
}

fn messages(text: &str, format: &'static Format) -> Vec<Value> {
    let document = read(text, Some(format), None).expect("a transcript");
    document.transcripts[0].messages.iter().map(|one| serde_json::from_str(one.json.raw()).expect("JSON")).collect()
}

/// Checks that each place of an earlier round in the user's words leads to a message that holds them.
fn assert_places(text: &str, format: &'static Format, found: &[Vec<String>]) -> usize {
    let document = read(text, Some(format), None).expect("a transcript");
    let texts: Vec<String> = document.transcripts[0].messages.iter().map(|message| message.whole_text()).collect();
    let summary = texts
        .iter()
        .find(|text| text.contains("<summary>"))
        .unwrap_or_else(|| panic!("{} has no summary: {text}", format.name));
    let mut places = 0;
    for line in summary.lines() {
        let place = line.strip_prefix("- [").and_then(|rest| rest.split_once("] Look only at bed "));
        let Some(((round, index), words)) = place.and_then(|(place, words)| Some((place.split_once(':')?, words)))
        else {
            continue;
        };
        let (round, index): (usize, usize) = (round.parse().expect("a round"), index.parse().expect("an index"));
        let message = &found[round - 1][index];
        assert!(message.contains(&format!("Look only at bed {words}")), "{line} is not {message}: {summary}");
        places += 1;
    }
    places
}

fn texts(text: &str, format: &'static Format) -> Vec<String> {
    let document = read(text, Some(format), None).expect("a transcript");
    document.transcripts[0].messages.iter().map(|message| message.whole_text()).collect()
}

/// A text that grows between rounds, and what it would be without them.
struct Grown {
    text: String,
    original: String,
    /// The texts of the messages before each round.
    found: Vec<Vec<String>>,
    places: usize,
    /// The text before each round and after it.
    states: Vec<String>,
}

/// Lets a conversation grow between rounds of a way. A document is written anew by the program that owns it; with
/// `writes_lines`, so are lines.
fn grown(
    conversation: &Conversation,
    format: &'static Format,
    way: &[&str],
    writes_lines: bool,
    archive: &Path,
) -> Grown {
    let Conversation { before, behind, is_lines, .. } = conversation;
    let end = if *is_lines { "\n" } else { behind };
    let separator = if *is_lines { "\n" } else { "," };
    let text = format!("{before}{}{end}", conversation.gained(0).join(separator));
    let mut grown = Grown { original: text.clone(), text, found: Vec::new(), places: 0, states: Vec::new() };
    for round in 0..=ROUNDS {
        let gained = conversation.gained(round);
        if round > 0 && *is_lines {
            let lines = gained.join("\n") + if round % 2 == 0 { "" } else { "\n" };
            let break_before = if grown.text.ends_with('\n') { "" } else { "\n" };
            if writes_lines {
                grown.text = grown.text.lines().map(|line| value(line).to_string()).collect::<Vec<_>>().join("\n");
                grown.text += "\n";
                grown.text += lines.trim_end();
            } else {
                grown.text += &format!("{break_before}{lines}");
            }
            grown.original += &format!("{break_before}{lines}");
        } else if round > 0 {
            let value = value(&grown.text);
            let rewritten = if round % 2 == 0 { value.to_string() } else { format!("{value:#}") };
            let rewritten = Conversation::new(&rewritten, format);
            let entries = [rewritten.entries.as_slice(), gained].concat();
            grown.text = format!("{}{}{}", rewritten.before, entries.join(",\n "), rewritten.behind);
        }
        if round < ROUNDS {
            grown.found.push(texts(&grown.text, format));
            grown.states.push(grown.text.clone());
            grown.text = compacted(&grown.text, format, archive, way);
            grown.states.push(grown.text.clone());
            if way == WAYS[0] {
                grown.places += assert_places(&grown.text, format, &grown.found);
            }
        }
    }
    if !is_lines {
        let gained: Vec<&str> = (0..=ROUNDS).flat_map(|round| conversation.gained(round)).map(String::as_str).collect();
        grown.original = format!("{before}{}{end}", gained.join(","));
    }
    grown
}

fn value(text: &str) -> Value {
    serde_json::from_str(text.trim_start_matches('\u{feff}')).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn rounds_come_back_where_a_conversation_grew_between_them() {
    let (mut places, mut documents, mut changed, mut sample) = (0, 0, 0, Sample::default());
    for (number, format) in FORMATS.iter().enumerate() {
        let bricks = Bricks::of(format.name);
        // Two ways a layout: all would take long.
        let two = |layout: usize| [WAYS[layout % 6], WAYS[(layout + 3) % 6]].map(|way| (layout, way));
        for (layout, way) in (0..bricks.layouts()).flat_map(two) {
            if !sample.takes_next() {
                continue;
            }
            let conversation = Conversation::new(&bricks.conversation(&talk(number as u64), layout), format);
            let is_repaired = way.contains(&"--repair=drop");
            let conversation = if is_repaired { conversation.with_breaches() } else { conversation };
            let folder = tempfile::tempdir().expect("a folder");
            let archive = folder.path().join("a.jsonl");
            let name = format!("{} in layout {layout} {way:?}", format.name);
            let writes_lines = layout % 2 == 1;
            let grown = grown(&conversation, format, way, writes_lines, &archive);
            places += grown.places;
            if !archive.exists() {
                assert!(!way.contains(&"--keep=messages:3"), "{name}");
                continue;
            }
            changed += 1;
            let back = restored(&archive, &grown.text).unwrap_or_else(|error| panic!("{name}: {error}"));
            if conversation.is_lines && !writes_lines {
                assert_eq!(back, grown.original, "{name}");
            } else {
                assert_eq!(messages(&back, format), messages(&grown.original, format), "{name}");
                documents += 1;
            }
        }
    }
    let least = [places > 80 / one_in(), documents > 40 / one_in(), changed > 60 / one_in()];
    assert_eq!(least, [true; 3], "{places} places, {documents} documents, {changed} changed");
}

/// What can happen to an archive.
const HARMS: [fn(&str, &str, u64) -> String; 7] = [
    flip,
    |archive, _, seed| without(archive, seed),
    |archive, _, _| format!("{archive}{archive}"),
    |archive, _, _| archive.lines().rev().map(|line| format!("{line}\n")).collect(),
    |archive, other, _| format!("{other}{archive}"),
    |archive, other, _| format!("{archive}{other}"),
    |_, other, _| other.to_owned(),
];

/// Replaces a byte of an archive.
fn flip(archive: &str, _: &str, seed: u64) -> String {
    let at = (seed as usize).wrapping_mul(7_919) % archive.len();
    let at = archive.char_indices().map(|(at, _)| at).take_while(|other| *other <= at).last().unwrap_or(0);
    let length = archive[at..].chars().next().map_or(1, char::len_utf8);
    let other = ['0', '1', '9', 'e', ',', ']', '"', ' '][seed as usize % 8];
    format!("{}{other}{}", &archive[..at], &archive[at + length..])
}

/// Leaves out a record of an archive.
fn without(archive: &str, seed: u64) -> String {
    let lines = archive.lines().count();
    let gone = seed as usize % lines;
    archive.lines().enumerate().filter(|(at, _)| *at != gone).map(|(_, line)| format!("{line}\n")).collect()
}

/// An archive that was changed restores what was there, or less, or nothing: never the words of another message.
#[test]
fn a_harmed_archive_restores_nothing_else() {
    let (mut refused, mut whole, mut partly, mut sample) = (0, 0, 0, Sample::default());
    for (number, format) in FORMATS.iter().enumerate() {
        let bricks = Bricks::of(format.name);
        for (at, way) in WAYS.iter().enumerate() {
            if !sample.takes_next() {
                continue;
            }
            let conversation = |seed: u64| Conversation::new(&bricks.conversation(&talk(seed), 1), format);
            let folder = tempfile::tempdir().expect("a folder");
            let [archive, other] = ["a.jsonl", "b.jsonl"].map(|name| folder.path().join(name));
            let grown = grown(&conversation(number as u64), format, way, true, &archive);
            let _ = self::grown(&conversation(number as u64 + 100), format, way, true, &other);
            let (Ok(own), Ok(foreign)) = (std::fs::read_to_string(&archive), std::fs::read_to_string(&other)) else {
                continue;
            };
            let original = messages(&grown.original, format);
            let states = grown.states.iter().flat_map(|text| messages(text, format));
            let known: HashSet<String> = states.chain(original.clone()).map(|message| message.to_string()).collect();
            for (seed, harm) in (0..21).map(|seed| (seed, HARMS[if seed < 14 { 0 } else { seed as usize % 7 }])) {
                std::fs::write(&archive, harm(&own, &foreign, seed + at as u64)).expect("written");
                let Ok(back) = restored(&archive, &grown.text) else {
                    refused += 1;
                    continue;
                };
                let back = messages(&back, format);
                if back == original {
                    whole += 1;
                    continue;
                }
                partly += 1;
                let strange = back.iter().find(|message| !known.contains(&message.to_string()));
                assert_eq!(strange, None, "{} {way:?} {seed}", format.name);
            }
        }
    }
    assert!(refused * one_in() > 100 && whole * one_in() > 100, "{refused} refused, {whole} whole, {partly} partly");
}
