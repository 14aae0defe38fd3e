//! The whole program in memory, without reading and writing files; and archives with the way back.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use crate::compact::{Archived, Section};
use crate::presets::{self, PRESETS};
use crate::rewrite::restoring::{Record, restore_original};
use crate::summary::exchange::{Bill, NoAnswer, Reply, Request, SummaryBackend};
use crate::transcript::formats::by_name;
use crate::transcript::framing;
use crate::transcript::source::Source;
use serde_json::Value;
use tcompact::internals::{self, CommandLine, ConversationOutcome, Input, RestoreSettings, Settings, Status, Typed};
use tcompact_base::hash::sha256;

use crate::choices::{Choices, split};

/// A backend that is never asked, because the embedded summarizer writes.
struct NoSummarizer;

impl SummaryBackend for NoSummarizer {
    fn answer(&self, _: &Request, _: &mut Bill) -> Result<Reply, NoAnswer> {
        unreachable!("nobody is asked")
    }
}

fn parse(arguments: &[String]) -> anyhow::Result<CommandLine> {
    let words = ["tcompact", "--quiet"].into_iter().map(str::to_owned).chain(arguments.iter().cloned());
    CommandLine::parse(words.map(Into::into))
}

/// The output of the program for a text.
pub(crate) struct Processed {
    pub(crate) text: String,
    /// Whether any conversation was compacted.
    pub(crate) compacted: bool,
    pub(crate) archived: Archived,
    /// What came of each conversation.
    pub(crate) conversations: Vec<ConversationOutcome>,
}

/// Runs the program on a text.
///
/// # Errors
/// The program's error.
pub(crate) fn process(arguments: &[String], text: &str) -> anyhow::Result<Processed> {
    let settings = Settings::new(parse(arguments)?.resolve(&presets::values, |_| None)?, |_| None)?;
    let input = Input { name: "-".to_owned(), text: text.to_owned(), ..Input::default() };
    let mut conversations = Vec::new();
    let outcome = internals::run_alone(&settings, &input, &NoSummarizer, &mut conversations)?;
    let result = text_of(&outcome, text);
    let internals::TaskResult { status, archived, .. } = outcome;
    Ok(Processed { text: result, compacted: status == Status::Compacted, archived, conversations })
}

pub(crate) fn text_of(outcome: &internals::TaskResult, input: &str) -> String {
    String::from_utf8(outcome.content.pieces(input.as_bytes()).collect::<Vec<_>>().concat()).expect("UTF-8")
}

/// Chooses arguments of all kinds.
fn choose_arguments(choices: &mut Choices<'_>) -> Vec<String> {
    let mut arguments = vec![format!("--keep={}", choices.keep()), format!("--pin={}", choices.pin())];
    let preset = choices.below(2 + PRESETS.len()).checked_sub(2);
    arguments.extend(preset.map(|preset| format!("--preset={}", PRESETS[preset].name)));
    let more: [&[&str]; 9] = [
        &[],
        &["--redact"],
        &["--redact=all"],
        &["--prune=arguments:7"],
        &["--ledger=off"],
        &["--summary-prefix=😀"],
        &["--counter=o200k_base", "--summary-tokens=80"],
        &["--thinking=drop"],
        &["--for=claude-sonnet-5-5"],
    ];
    for _ in 0..2 {
        arguments.extend(choices.of(&more).iter().map(|word| (*word).to_owned()));
    }
    let triggers = ["messages:2", "tokens:40", "turns:2", "steps:2", "bytes:90", "messages:9999999"];
    let trigger = choices.below(1 + triggers.len()).checked_sub(1);
    arguments.extend(trigger.map(|trigger| format!("--trigger={}", triggers[trigger])));
    arguments.dedup();
    arguments
}

/// Checks the laws for the whole program on a text with some arguments. Returns whether it was compacted.
///
/// # Panics
/// A law is broken.
pub(crate) fn assert_whole(arguments: &[String], text: &str) -> bool {
    let archived: Vec<String> = arguments.iter().cloned().chain(["--archive=a.jsonl".to_owned()]).collect();
    let Ok(outcome) = process(&archived, text) else { return false };
    let again = process(&archived, text).expect("it went well before");
    assert_eq!((&again.text, again.compacted), (&outcome.text, outcome.compacted), "the same every time");
    let is_compacted = outcome.conversations.iter().any(|one| one.status == Status::Compacted);
    assert_eq!(outcome.compacted, is_compacted, "what is reported is what was done: {arguments:?}");
    if !outcome.compacted && outcome.archived.sections.is_empty() {
        assert_eq!(outcome.text, text, "nothing was done: {arguments:?}");
        return false;
    }
    let json = Source::of_file(text).expect("it was read before");
    let from = arguments.iter().find_map(|argument| by_name(argument.strip_prefix("--from=")?));
    let before = framing::read(&json, from, None).expect("it was read before");
    let formats = |transcripts: &[crate::transcript::Transcript<'_>]| -> Vec<&str> {
        transcripts.iter().map(|one| one.format.name).collect()
    };
    let json =
        Source::of_file(&outcome.text).unwrap_or_else(|error| panic!("{error:?}: {arguments:?} {}", outcome.text));
    // Without `--from`, a conversation whose evidence was cut is detected as a plainer format.
    let lone = before.transcripts.first().map(|one| one.format);
    if formats(&before.transcripts).windows(2).all(|two| two[0] == two[1]) {
        let after = framing::read(&json, lone, None).unwrap_or_else(|error| panic!("it {error}: {arguments:?}"));
        assert_eq!(after.transcripts.len(), before.transcripts.len(), "{arguments:?}");
    }
    if outcome.text != text {
        assert_eq!(restore_text(&outcome, text), text, "what was cut comes back: {arguments:?}");
    }
    let is_idempotent = |argument: &String| {
        ["--keep", "--pin", "--trigger", "--from", "--ledger", "--thinking"]
            .iter()
            .any(|flag| argument.starts_with(flag))
    };
    // An index is of the conversation as it stands.
    let is_index = |argument: &String| argument.starts_with("--keep=from:");
    if outcome.compacted && arguments.iter().all(|one| is_idempotent(one) && !is_index(one)) {
        let twice = process(&archived, &outcome.text).unwrap_or_else(|error| panic!("it {error}: {arguments:?}"));
        assert_eq!(twice.text, outcome.text, "compacting twice changes nothing that once did not: {arguments:?}");
    }
    outcome.compacted
}

/// The records of an outcome, as they are archived.
fn records(outcome: &Processed) -> Vec<Value> {
    let record = |section: &Section| match section {
        Section::Record(record) => serde_json::from_str(record).expect("a record"),
        Section::Text(text) => panic!("{text} in an archive of records"),
    };
    outcome.archived.sections.iter().map(record).collect()
}

/// Restores an outcome from its records.
fn restore_text(outcome: &Processed, text: &str) -> String {
    let records = records(outcome);
    let by_line = records.iter().any(|record| record.get("line").is_some());
    let of = |part: &str, line: Option<usize>| {
        let hash = sha256(part.as_bytes());
        let matching = records.iter().filter(|record| record["result_sha256"] == hash.as_str());
        let matching: Vec<Record> =
            matching.map(|record| Record::read(record.to_string().as_bytes()).expect("a record")).collect();
        if matching.is_empty() {
            part.to_owned()
        } else {
            String::from_utf8(restore_original(part.as_bytes(), line, matching).expect("it fits")).expect("UTF-8")
        }
    };
    if !by_line {
        return of(&outcome.text, None);
    }
    let mut out = String::new();
    for (index, line) in outcome.text.split_inclusive('\n').enumerate() {
        let content = &line[..crate::rewrite::way_back::without_end(line.as_bytes()).len()];
        out.push_str(&of(content, Some(index + 1)));
        out.push_str(&line[content.len()..]);
    }
    // Different lines can become equal; the archive then reports it.
    if out.len() == text.len() { out } else { of(&out, None) }
}

pub(crate) fn compact(bytes: &[u8]) {
    let (text, mut choices) = split(bytes);
    assert_whole(&choose_arguments(&mut choices), &text);
}

/// Checks that a text is restored from its archive, whatever else the archive has; from an altered archive it is
/// restored exactly or not at all.
pub(crate) fn restore(bytes: &[u8]) {
    let (text, mut choices) = split(bytes);
    let mut arguments = vec![format!("--keep={}", choices.keep()), "--archive=a.jsonl".to_owned()];
    let repair = choices.of(&[None, Some("--repair=drop"), Some("--repair=synthesize")]);
    arguments.extend(repair.map(str::to_owned));
    // Repair has an effect where little is left: a few lines of the text, without the end of the last.
    let few = choices.below(4);
    let text = if few == 0 { text } else { text.lines().take(few).collect::<Vec<_>>().join("\n") };
    let outcome = process(&arguments, &text).ok().filter(|outcome| outcome.text != text);
    let folder = tempfile::tempdir().expect("a folder");
    let (archive, short, long) =
        (folder.path().join("a.jsonl"), folder.path().join("short"), folder.path().join("long"));
    let Some(outcome) = outcome else {
        // Uses the text as the archive.
        fs::write(&archive, &text).expect("written");
        fs::write(&short, text.lines().next().unwrap_or_default()).expect("written");
        restore_file(&archive, &short, &long).ok();
        return;
    };
    append_sections(&archive, outcome.archived.sections.clone());
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
    match restore_file(&archive, &short, &long) {
        Ok(()) => {
            let restore_text = fs::read_to_string(&long).expect("a text");
            assert!(
                restore_text == text || !is_whole && is_partly(&restore_text, &text, &outcome),
                "{restore_text}\nis not\n{text}"
            );
        }
        Err(error) => assert!(!is_whole && !long.exists(), "{error}: {}", String::from_utf8_lossy(&tampered)),
    }
}

/// Whether the text, or each of its lines, is in some state: repaired, cut, or neither. A lost record leaves its change
/// in place and affects nothing else.
fn is_partly(restore_text: &str, text: &str, outcome: &Processed) -> bool {
    let records = records(outcome);
    let hashes =
        ["original_sha256", "result_sha256"].map(|key| records.iter().filter_map(move |one| one[key].as_str()));
    let steps: HashSet<&str> = hashes.into_iter().flatten().collect();
    let is_step = |part: &str| steps.contains(sha256(part.as_bytes()).as_str());
    let mut lines = text.split('\n').zip(outcome.text.split('\n'));
    let is_one = |line: &str| lines.next().is_some_and(|(long, short)| line == long || line == short || is_step(line));
    is_step(restore_text) || restore_text.split('\n').all(is_one) && lines.next().is_none()
}

/// Appends sections to an archive.
pub(crate) fn append_sections(archive: &Path, sections: Vec<Section>) {
    let mut waiting = internals::WaitingSections::default();
    waiting.add(archive, sections, false).expect("they wait");
    waiting.append(archive).expect("written");
}

/// Restores a text by an archive.
///
/// # Errors
/// The program's error.
#[cfg(test)]
pub(crate) fn restored(archive: &Path, text: &str) -> anyhow::Result<String> {
    let folder = tempfile::tempdir()?;
    let (short, long) = (folder.path().join("short"), folder.path().join("long"));
    fs::write(&short, text)?;
    restore_file(archive, &short, &long)?;
    Ok(fs::read_to_string(&long)?)
}

fn restore_file(archive: &Path, short: &Path, long: &Path) -> anyhow::Result<()> {
    let word = |flag: &str, path: &Path| format!("{flag}{}", path.display());
    let words = ["tcompact".to_owned(), "restore".to_owned(), "--quiet".to_owned()].into_iter();
    let words = words.chain([word("--output=", long), word("", archive), word("", short)]);
    let arguments = CommandLine::parse(words.map(Into::into))?.arguments()?;
    internals::restore(&RestoreSettings::new(arguments, Typed::default())?).map(drop)
}
