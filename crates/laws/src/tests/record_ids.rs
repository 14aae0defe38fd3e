//! The places that notes name: whatever else an archive holds, each is of exactly the message that was pruned.

use std::collections::BTreeMap;
use std::fs;

use serde_json::{Value, json};

use crate::all_cases::{one_in, share};
use crate::bricks::Bricks;
use crate::bricks::talk::Step;
use crate::compact::Section;
use crate::fixtures;
use crate::lawful::with_document;
use crate::rewrite::sort;
use crate::transcript::edit::{Edit, apply};
use crate::transcript::formats::{FORMATS, Format, by_name};
use crate::transcript::framing;
use crate::transcript::source::Source;
use crate::whole::process;
use tcompact_base::hash::sha256;

const KEPT: &str = "; to see all: tcompact show ";
const SECRET: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";

/// What several runs put into one archive, and what their notes say of it.
#[derive(Default)]
struct Archive {
    records: Vec<Value>,
    /// The places that notes name, each with the message that stood there.
    named: BTreeMap<String, String>,
}

impl Archive {
    /// Prunes a text three times, each time more of it.
    fn prune(&mut self, source: &str, format: &'static Format, more: &[&str]) {
        let mut text = source.to_owned();
        for keep in [14, 6, 1] {
            let from = format!("--from={}", format.name);
            let keep = format!("--keep=messages:{keep}");
            let rules = ["--archive=a.jsonl", "--prune=results:1", "--model=none", &from, &keep];
            let arguments: Vec<String> = rules.iter().chain(more).map(|word| (*word).to_owned()).collect();
            let done = process(&arguments, &text).unwrap_or_else(|error| panic!("{error:#}: {arguments:?} {text}"));
            let before = messages(&text, format);
            for (conversation, after) in messages(&done.text, format).iter().enumerate() {
                for (index, message) in after.iter().enumerate() {
                    let was = &before[conversation][index];
                    self.read_notes(message, was, index);
                }
            }
            for section in done.archived.sections {
                let Section::Record(record) = section else { panic!("only records: {section:?}") };
                self.records.push(serde_json::from_str(&record).expect("a record"));
            }
            text = done.text;
        }
    }

    /// Collects the places in a message that was another one before, and is at this index.
    fn read_notes(&mut self, message: &str, was: &str, index: usize) {
        for place in places(message) {
            if was.contains(&format!("{KEPT}{place} a.jsonl")) {
                assert!(self.named.contains_key(place), "a note of an earlier run stays: {place} in {message}");
                continue;
            }
            assert_eq!(place.split_once(':').map(|(_, at)| at), Some(&*index.to_string()), "{message}");
            let other = self.named.insert(place.to_owned(), was.to_owned());
            assert!(other.is_none_or(|other| other == was), "{place} is two messages: {message}");
        }
    }

    /// Checks that each place is of the message that stood there, and of no other one. Returns how many there are.
    fn check(&self) -> usize {
        for (place, message) in &self.named {
            let (id, index) = place.split_once(':').expect("a place");
            let index = json!(index.parse::<usize>().expect("an index"));
            let mut found = 0;
            for record in self.records.iter().filter(|record| record["id"] == id) {
                let at = record["indices"].as_array().expect("indices").iter().position(|one| *one == index);
                let Some(at) = at else { continue };
                assert_eq!(record["messages"][at], **message, "{place}");
                found += 1;
            }
            assert!(found > 0, "{place} is nowhere: {message}");
        }
        self.named.len()
    }
}

/// The places that the notes in a message name.
fn places(message: &str) -> impl Iterator<Item = &str> {
    message.split(KEPT).skip(1).filter_map(|rest| rest.split_once(" a.jsonl")).map(|(place, _)| place)
}

/// The messages of each conversation as they are spelled.
fn messages(source: &str, format: &'static Format) -> Vec<Vec<String>> {
    with_document(source, Some(format), |document| {
        let mut all = Vec::new();
        for transcript in &document.transcripts {
            all.push(transcript.messages.iter().map(|message| message.json.raw().to_owned()).collect());
        }
        all
    })
}

/// A conversation in which each result is long, and no other one.
fn conversation(name: &str) -> Vec<Step> {
    let mut steps = vec![Step::User(format!("Look at all files of {name}."))];
    for number in 0..9 {
        let result = format!("{name} {number} {SECRET}: ") + &"a line of the file\n".repeat(20);
        steps.push(Step::Call("bash", json!({"command": format!("cat {name}/{number}")}), result));
        steps.push(Step::Assistant(format!("File {number} of {name} is read.")));
    }
    steps.push(Step::User("Go on.".to_owned()));
    steps
}

/// Texts with one and with several conversations, in layouts of a format from the `first` one on.
fn sources(format: &'static Format, first: usize) -> Vec<String> {
    let bricks = Bricks::of(format.name);
    let mut sources = Vec::new();
    for layout in first..first + share(bricks.layouts()) {
        let written = |name: &str| bricks.conversation(&conversation(name), layout);
        let [one, two] = ["one", "two"].map(written);
        let is_line = !one.trim_end().contains('\n');
        if is_list(&one) {
            sources.push(format!("{}\n{}", one.replacen('[', "[\n", 1), two.replacen('[', "[\n", 1)));
        }
        if is_object(&one) {
            sources.push(format!("[{one},{two}]"));
            sources.push(format!("[\n{one},\n{two}\n]"));
        }
        if is_line {
            let [one, two] = [one.trim_end(), two.trim_end()];
            // Conversations can be equal, and stand on one line.
            sources.push(format!("{one}\n{two}\r\n{one}\n{two} {one}"));
        }
        sources.push(one);
        sources.push(two);
    }
    sources.retain(|source| is_transcript(source, format));
    sources
}

/// A text in which each result is long, and no other one.
fn with_long_results(source: &str, format: &'static Format) -> String {
    with_document(source, Some(format), |document| {
        let mut edits = Vec::new();
        for transcript in &document.transcripts {
            for message in &transcript.messages {
                let outputs = message.results.iter().filter_map(|result| format.result_output(message, result));
                let hosted = format.provider_results(message).into_iter().map(|result| result.output);
                for output in outputs.chain(hosted) {
                    let long = format!("{} {SECRET}: ", edits.len()) + &"a line of the file\n".repeat(20);
                    edits.extend(output.replace_with(&long).into_iter().map(|(range, text)| Edit { range, text }));
                }
            }
        }
        sort(&mut edits);
        edits.dedup_by(|again, first| again.range == first.range);
        apply(source, &edits)
    })
}

fn is_transcript(source: &str, format: &'static Format) -> bool {
    Source::of_file(source).is_ok_and(|source| framing::read(&source, Some(format), None).is_ok())
}

fn is_list(text: &str) -> bool {
    serde_json::from_str(text).is_ok_and(|value: Value| value.is_array())
}

fn is_object(text: &str) -> bool {
    serde_json::from_str(text).is_ok_and(|value: Value| value.is_object())
}

/// All fixtures in one archive: sessions with results in calls, of servers, far from their calls, and in other forms.
#[test]
fn the_place_in_a_note_of_a_fixture_is_of_what_was_pruned() {
    let mut archive = Archive::default();
    for (name, file) in fixtures::all() {
        let format = by_name(name).expect("a format");
        let source = fs::read_to_string(&file).expect("UTF-8");
        archive.prune(&with_long_results(&source, format), format, &[]);
    }
    assert!(archive.check() > 75, "{}", archive.named.len());
}

#[test]
fn the_place_in_a_note_is_of_what_was_pruned() {
    let mut archive = Archive::default();
    let mut lacking = Vec::new();
    for (at, format) in FORMATS.iter().enumerate() {
        let known = archive.named.len();
        for source in sources(format, at) {
            let more = [&[][..], &["--redact"], &["--redact=all"]][archive.records.len() % 3];
            archive.prune(&source, format, more);
        }
        // Without a piece for a call, calls hold their results.
        let has_results = Bricks::of(format.name).call.is_some();
        if has_results && archive.named.len() == known {
            lacking.push(format.name);
        }
    }
    assert!(archive.check() > 1_500 / one_in(), "{}", archive.named.len());
    assert_eq!(lacking, Vec::<&str>::new());
    for record in &archive.records {
        let original = record["original_sha256"].as_str().expect("a hash");
        let is_first = record["id"] == original[..8];
        let is_later = |nth: usize| record["id"] == sha256(format!("{original}#{nth}").as_bytes())[..8];
        assert!(is_first || (2..4).any(is_later), "{record}");
    }
}
