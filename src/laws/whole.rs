//! The whole program in memory, but for reading and writing; and archives with the way back.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use crate::compact::Archived;
use crate::engine;
use crate::events::{Conversation, Status};
use crate::files::append::{self, Section};
use crate::files::input::Input;
use crate::hash::sha256;
use crate::rewrite::restoring::{Record, put_back};
use crate::settings::layers::CommandLine;
use crate::settings::presets::{self, PRESETS};
use crate::settings::{RestoreSettings, Settings};
use crate::summary::exchange::{Bill, NoAnswer, Reply, Request, SummaryBackend};
use crate::transcript::formats::by_name;
use crate::transcript::framing;
use crate::transcript::source::Source;
use serde_json::Value;

use crate::laws::choices::{Choices, split};

/// Nobody is asked: the embedded summarizer writes.
struct Nobody;

impl SummaryBackend for Nobody {
    fn answer(&self, _: &Request, _: &mut Bill) -> Result<Reply, NoAnswer> {
        unreachable!("nobody is asked")
    }
}

fn understood(arguments: &[String]) -> anyhow::Result<CommandLine> {
    let words = ["tcompact", "--quiet"].into_iter().map(str::to_owned).chain(arguments.iter().cloned());
    Ok(CommandLine::parse(words.map(Into::into))?)
}

/// What the program made of a text.
pub(crate) struct Processed {
    /// The result.
    pub(crate) text: String,
    /// Whether any conversation was compacted.
    pub(crate) compacted: bool,
    /// What is to be kept elsewhere.
    pub(crate) archived: Archived,
    /// What is reported of each conversation.
    pub(crate) conversations: Vec<Conversation>,
}

/// What the program makes of a text with such arguments.
///
/// # Errors
/// What it says.
pub(crate) fn processed(arguments: &[String], text: &str) -> anyhow::Result<Processed> {
    let settings = Settings::new(understood(arguments)?.resolve(&presets::values, |_| None)?, |_| None)?;
    let input = Input { name: "-".to_owned(), text: text.to_owned(), ..Input::default() };
    let mut conversations = Vec::new();
    let outcome = engine::run_alone(&settings, &input, &Nobody, &mut conversations)?;
    let engine::Outcome { content, compacted, archived, .. } = outcome;
    Ok(Processed { text: content.text(text), compacted, archived, conversations })
}

/// Arguments of all kinds.
fn chosen(choices: &mut Choices<'_>) -> Vec<String> {
    let mut arguments = vec![format!("--keep={}", choices.keep()), format!("--pin={}", choices.pin())];
    let preset = choices.below(2 + PRESETS.len()).checked_sub(2);
    arguments.extend(preset.map(|preset| format!("--preset={}", PRESETS[preset].name)));
    let more: [&[&str]; 8] = [
        &[],
        &["--redact"],
        &["--truncate-args=7"],
        &["--ledger=off"],
        &["--summary-prefix=😀"],
        &["--counter=o200k_base", "--summary-tokens=80"],
        &["--thinking=drop"],
        &["--for=claude-sonnet-5-5"],
    ];
    for _ in 0..2 {
        arguments.extend(choices.of(&more).iter().map(|word| (*word).to_owned()));
    }
    let triggers = ["messages:2", "tokens:40", "turns:2", "messages:9999999"];
    let trigger = choices.below(1 + triggers.len()).checked_sub(1);
    arguments.extend(trigger.map(|trigger| format!("--trigger={}", triggers[trigger])));
    arguments.dedup();
    arguments
}

/// Checks the laws for the whole program on a text with some arguments; whether it was compacted.
///
/// # Panics
/// A law is broken.
pub(crate) fn assert_whole(arguments: &[String], text: &str) -> bool {
    let archived: Vec<String> = arguments.iter().cloned().chain(["--archive=a.jsonl".to_owned()]).collect();
    let Ok(outcome) = processed(&archived, text) else { return false };
    let again = processed(&archived, text).expect("it went well before");
    assert_eq!((&again.text, again.compacted), (&outcome.text, outcome.compacted), "the same every time");
    let is_compacted = outcome.conversations.iter().any(|one| one.status == Status::Compacted);
    assert_eq!(outcome.compacted, is_compacted, "what is reported is what was done: {arguments:?}");
    if !outcome.compacted && outcome.archived.sections.is_empty() {
        assert_eq!(outcome.text, text, "nothing was done: {arguments:?}");
        return false;
    }
    let json = Source::of(text).expect("it was read before");
    let from = arguments.iter().find_map(|argument| by_name(argument.strip_prefix("--from=")?));
    let before = framing::read(&json, from, None).expect("it was read before");
    let formats = |transcripts: &[crate::transcript::Transcript<'_>]| -> Vec<&str> {
        transcripts.iter().map(|one| one.format.name()).collect()
    };
    let json = Source::of(&outcome.text).unwrap_or_else(|error| panic!("{error:?}: {arguments:?} {}", outcome.text));
    // Whose evidence was cut away is taken for a plainer format, unless it is named.
    let lone = before.transcripts.first().map(|one| one.format);
    if formats(&before.transcripts).windows(2).all(|two| two[0] == two[1]) {
        let after = framing::read(&json, lone, None).unwrap_or_else(|error| panic!("it {error}: {arguments:?}"));
        assert_eq!(after.transcripts.len(), before.transcripts.len(), "{arguments:?}");
    }
    if outcome.text != text {
        assert_eq!(back(&outcome, text), text, "what was cut comes back: {arguments:?}");
    }
    let own = |argument: &String| {
        ["--keep", "--pin", "--trigger", "--from", "--ledger", "--thinking"]
            .iter()
            .any(|flag| argument.starts_with(flag))
    };
    if outcome.compacted && arguments.iter().all(own) {
        let twice = processed(&archived, &outcome.text).unwrap_or_else(|error| panic!("it {error}: {arguments:?}"));
        assert_eq!(twice.text, outcome.text, "compacting twice changes nothing that once did not: {arguments:?}");
    }
    outcome.compacted
}

/// The records of an outcome, as an archive has them.
fn records(outcome: &Processed) -> Vec<Value> {
    let record = |section: &Section| match section {
        Section::Record(record) => record.clone(),
        Section::Text(text) => panic!("{text} in an archive of records"),
    };
    outcome.archived.sections.iter().map(record).collect()
}

/// What the records of an outcome make of it.
fn back(outcome: &Processed, text: &str) -> String {
    let records = records(outcome);
    let by_line = records.iter().any(|record| record.get("line").is_some());
    let of = |part: &str, line: Option<usize>| {
        let hash = sha256(part.as_bytes());
        let own = records.iter().filter(|record| record["result_sha256"] == hash.as_str());
        let own: Vec<Record> = own.map(|record| serde_json::from_value(record.clone()).expect("a record")).collect();
        if own.is_empty() { part.to_owned() } else { put_back(part, "-", line, own).expect("it fits") }
    };
    if !by_line {
        return of(&outcome.text, None);
    }
    let mut out = String::new();
    for (index, line) in outcome.text.split_inclusive('\n').enumerate() {
        let content = crate::rewrite::restoring::without_end(line);
        out.push_str(&of(content, Some(index + 1)));
        out.push_str(&line[content.len()..]);
    }
    // Different lines can become the same one, and then the archive says so.
    if out.len() == text.len() { out } else { of(&out, None) }
}

pub(crate) fn compact(bytes: &[u8]) {
    let (text, mut choices) = split(bytes);
    assert_whole(&chosen(&mut choices), &text);
}

/// A text comes back by its archive, whatever else stands in that; by one that was changed, as it was or not at all.
pub(crate) fn restore(bytes: &[u8]) {
    let (text, mut choices) = split(bytes);
    let mut arguments = vec![format!("--keep={}", choices.keep()), "--archive=a.jsonl".to_owned()];
    let repair = choices.of(&[None, Some("--repair=drop"), Some("--repair=synthesize")]);
    arguments.extend(repair.map(str::to_owned));
    // Mending is felt where little is left: a few lines of the text, without the end of the last.
    let few = choices.below(4);
    let text = if few == 0 { text } else { text.lines().take(few).collect::<Vec<_>>().join("\n") };
    let outcome = processed(&arguments, &text).ok().filter(|outcome| outcome.text != text);
    let folder = tempfile::tempdir().expect("a folder");
    let (archive, short, long) =
        (folder.path().join("a.jsonl"), folder.path().join("short"), folder.path().join("long"));
    let Some(outcome) = outcome else {
        // The text is the archive.
        fs::write(&archive, &text).expect("written");
        fs::write(&short, text.lines().next().unwrap_or_default()).expect("written");
        restored(&archive, &short, &long).ok();
        return;
    };
    append::sections(&archive, &outcome.archived.sections, None).expect("written");
    fs::write(&short, &outcome.text).expect("written");
    let mut tampered = fs::read(&archive).expect("an archive");
    for _ in 0..choices.below(4) {
        let at = (choices.below(256) * 256 + choices.below(256)) * tampered.len() / 65_536;
        match choices.below(3) {
            0 => tampered[at] = choices.of(b"0129,[]{}\"\n\\a"),
            1 => drop(tampered.remove(at)),
            _ => tampered.insert(at, choices.of(b"019,[]{}\"\n\\-")),
        }
        if tampered.is_empty() {
            break;
        }
    }
    let is_whole = fs::read(&archive).expect("an archive") == tampered;
    fs::write(&archive, &tampered).expect("written");
    match restored(&archive, &short, &long) {
        Ok(()) => {
            let back = fs::read_to_string(&long).expect("a text");
            assert!(back == text || !is_whole && is_partly(&back, &text, &outcome), "{back}\nis not\n{text}");
        }
        Err(error) => assert!(!is_whole && !long.exists(), "{error}: {}", String::from_utf8_lossy(&tampered)),
    }
}

/// Whether the text, or each of its lines, is as it was at some step: repaired, cut, or neither. A record that is lost leaves
/// what it changed at the step before, and takes nothing else along.
fn is_partly(back: &str, text: &str, outcome: &Processed) -> bool {
    let records = records(outcome);
    let hashes =
        ["original_sha256", "result_sha256"].map(|key| records.iter().filter_map(move |one| one[key].as_str()));
    let steps: HashSet<&str> = hashes.into_iter().flatten().collect();
    let is_step = |part: &str| steps.contains(sha256(part.as_bytes()).as_str());
    let mut lines = text.split('\n').zip(outcome.text.split('\n'));
    let is_one = |line: &str| lines.next().is_some_and(|(long, short)| line == long || line == short || is_step(line));
    is_step(back) || back.split('\n').all(is_one) && lines.next().is_none()
}

fn restored(archive: &Path, short: &Path, long: &Path) -> anyhow::Result<()> {
    let word = |flag: &str, path: &Path| format!("{flag}{}", path.display());
    let words = [word("--restore=", archive), word("", short), word("--output=", long)];
    let settings = RestoreSettings::new(&understood(&words)?.arguments).expect("an archive is named");
    engine::restore(&settings).map(drop)
}
