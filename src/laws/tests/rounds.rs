//! Conversations that grow between five rounds of compaction, in every format: all of them come back, and the places in the
//! last digest lead to the messages of their rounds.

use std::path::Path;

use serde_json::Value;

use crate::all_cases::{Sample, one_in};
use crate::laws::bricks::Bricks;
use crate::laws::bricks::talk::{Step, choices, steps};
use crate::laws::transcripts::read;
use crate::laws::whole::{append_sections, process, restored};
use crate::transcript::formats::{FORMATS, Format};
use crate::transcript::source::Source;

const ROUNDS: usize = 5;
/// Entries that a conversation gains in each round.
const GAINED: usize = 16;

/// A file of a conversation: its entries, and what stands before and behind them.
struct Conversation {
    before: String,
    entries: Vec<String>,
    behind: String,
    is_lines: bool,
}

impl Conversation {
    fn new(source: &str, format: &'static dyn Format) -> Self {
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
    let turns = |number: usize, step: Step| [Step::User(format!("Look at bed {number} of {seed}.")), step];
    said.into_iter().enumerate().flat_map(|(number, step)| turns(number, step)).collect()
}

/// Compacts a text and appends its records to an archive. Returns the result.
fn compacted(text: &str, format: &'static dyn Format, archive: &Path) -> String {
    let mut arguments = vec![format!("--from={}", format.name()), format!("--archive={}", archive.display())];
    arguments.extend(["--keep=messages:5", "--accept=any", "--pin=none", "--prune=all"].map(str::to_owned));
    let outcome = process(&arguments, text).unwrap_or_else(|error| panic!("{error}: {text}"));
    append_sections(archive, outcome.archived.sections);
    outcome.text
}

fn messages(text: &str, format: &'static dyn Format) -> Vec<Value> {
    let document = read(text, Some(format), None).expect("a transcript");
    document.transcripts[0].messages.iter().map(|one| serde_json::from_str(one.json.raw()).expect("JSON")).collect()
}

/// Checks that each place of an earlier round in the user's words leads to a message that holds them.
fn assert_places(text: &str, format: &'static dyn Format, found: &[Vec<String>]) -> usize {
    let document = read(text, Some(format), None).expect("a transcript");
    let texts: Vec<String> = document.transcripts[0].messages.iter().map(|message| message.whole_text()).collect();
    let summary = texts.iter().find(|text| text.contains("<summary>")).expect("a summary");
    let mut places = 0;
    for line in summary.lines() {
        let place = line.strip_prefix("- [").and_then(|rest| rest.split_once("] Look at bed "));
        let Some(((round, index), words)) = place.and_then(|(place, words)| Some((place.split_once(':')?, words)))
        else {
            continue;
        };
        let (round, index): (usize, usize) = (round.parse().expect("a round"), index.parse().expect("an index"));
        let message = &found[round - 1][index];
        assert!(message.contains(&format!("Look at bed {words}")), "{line} is not {message}");
        places += 1;
    }
    places
}

fn texts(text: &str, format: &'static dyn Format) -> Vec<String> {
    let document = read(text, Some(format), None).expect("a transcript");
    document.transcripts[0].messages.iter().map(|message| message.whole_text()).collect()
}

#[test]
fn rounds_come_back_where_a_conversation_grew_between_them() {
    let (mut places, mut documents, mut sample) = (0, 0, Sample::default());
    for (number, format) in FORMATS.iter().enumerate() {
        let bricks = Bricks::of(format.name());
        for layout in (0..bricks.layouts()).filter(|_| sample.takes_next()) {
            let conversation = Conversation::new(&bricks.conversation(&talk(number as u64), layout), *format);
            let folder = tempfile::tempdir().expect("a folder");
            let archive = folder.path().join("a.jsonl");
            let Conversation { before, behind, .. } = &conversation;
            let name = format!("{} in layout {layout}", format.name());
            let end = if conversation.is_lines { "\n" } else { behind };
            let (mut text, mut found) = (String::new(), Vec::new());
            let mut original = String::new();
            for round in 0..=ROUNDS {
                let gained = conversation.gained(round);
                if round == 0 {
                    let separator = if conversation.is_lines { "\n" } else { "," };
                    text = format!("{before}{}{end}", gained.join(separator));
                    original.clone_from(&text);
                } else if conversation.is_lines {
                    let lines = gained.join("\n") + if round % 2 == 0 { "" } else { "\n" };
                    let break_before = if text.ends_with('\n') { "" } else { "\n" };
                    text += &format!("{break_before}{lines}");
                    original += &format!("{break_before}{lines}");
                } else {
                    // The program that owns a document writes it anew.
                    let value: Value = serde_json::from_str(text.trim_start_matches('\u{feff}')).expect("JSON");
                    let rewritten = if round % 2 == 0 { value.to_string() } else { format!("{value:#}") };
                    let grown = Conversation::new(&rewritten, *format);
                    let entries = [grown.entries.as_slice(), gained].concat();
                    text = format!("{}{}{}", grown.before, entries.join(",\n "), grown.behind);
                }
                if round < ROUNDS {
                    found.push(texts(&text, *format));
                    text = compacted(&text, *format, &archive);
                    places += assert_places(&text, *format, &found);
                }
            }
            let back = restored(&archive, &text).unwrap_or_else(|error| panic!("{name}: {error}"));
            if conversation.is_lines {
                assert_eq!(back, original, "{name}");
            } else {
                let gained: Vec<&str> =
                    (0..=ROUNDS).flat_map(|round| conversation.gained(round)).map(String::as_str).collect();
                let whole = format!("{before}{}{end}", gained.join(","));
                assert_eq!(messages(&back, *format), messages(&whole, *format), "{name}");
                documents += 1;
            }
        }
    }
    assert!(places * one_in() > 200 && documents * one_in() > 10, "{places} places, {documents} documents");
}
