//! Reads, cuts and repairs transcripts.

use crate::plan::breaches::breaches;
use crate::rewrite::repair::Repair;
use crate::tokens::Counter;
use crate::tokens::bpe::Encoding;
use crate::transcript::Transcript;
use crate::transcript::formats::Format;
use crate::transcript::framing::{self, Lines};
use crate::transcript::source::{MAX_DEPTH, Source};
use serde::de::IgnoredAny;

use crate::choices::split;
use crate::lawful::{self, VaryingRules};

/// Checks that everything readable has correct spans, is in order, and is read alike by the format's name; and that
/// serde_json agrees on what is JSON.
pub(crate) fn read(bytes: &[u8]) {
    let (text, mut choices) = split(bytes);
    let json = Source::of(&text);
    let content = text.trim_end_matches([' ', '\t', '\r', '\n']);
    let is_one = |json: &Source<'_>| {
        json.values().count() == 1 && json.first().is_some_and(|one| one.span().end == content.len())
    };
    agrees_with_serde(&text, json.as_ref().is_ok_and(is_one));
    let Ok(json) = json else { return };
    let lines = choices.of(&[None, Some(Lines::Messages), Some(Lines::Conversations)]);
    let counter = choices.of(&[
        Counter::APPROX,
        Counter::Bytes(3),
        Counter::Exact(Encoding::O200kBase),
        Counter::Exact(Encoding::Cl100kBase),
    ]);
    if let Ok(document) = framing::read(&json, Some(choices.format()), lines) {
        document.transcripts.iter().for_each(|transcript| check_positions(transcript, counter));
    }
    let Ok(detected) = framing::read(&json, None, lines) else { return };
    for transcript in &detected.transcripts {
        check_positions(transcript, counter);
    }
    if let Some(format) = lone_format(&detected.transcripts) {
        let named = framing::read(&json, Some(format), lines).expect("what was told can be read by name");
        let spans = |transcripts: &[Transcript<'_>]| -> Vec<Vec<std::ops::Range<usize>>> {
            let of = |one: &Transcript<'_>| one.messages.iter().map(|message| message.span()).collect();
            transcripts.iter().map(of).collect()
        };
        assert_eq!(spans(&named.transcripts), spans(&detected.transcripts), "{}: {text}", format.name);
    }
}

/// The format, if it is the same for all.
fn lone_format(transcripts: &[Transcript<'_>]) -> Option<&'static Format> {
    let first = transcripts.first()?.format;
    transcripts.iter().all(|one| one.format.name == first.name).then_some(first)
}

fn agrees_with_serde(text: &str, is_one: bool) {
    // Python's words, which serde_json does not accept.
    if text.contains("NaN") || text.contains("Infinity") {
        return;
    }
    // It follows values however deep they nest.
    if text.matches(['[', '{']).count() > MAX_DEPTH {
        return;
    }
    let theirs = serde_json::from_str::<IgnoredAny>(text.strip_prefix('\u{feff}').unwrap_or(text));
    assert_eq!(is_one, theirs.is_ok(), "{text:?}: {theirs:?} and {:?}", Source::of(text).err());
}

/// Checks the spans of a conversation's messages, and that all code that inspects them terminates.
fn check_positions(transcript: &Transcript<'_>, counter: Counter) {
    let mut end = 0;
    for message in &transcript.messages {
        let span = message.span();
        assert!(end <= span.start && span.start < span.end, "in order");
        assert_eq!(transcript.source.get(span.clone()), Some(message.json.raw()));
        end = span.end;
        counter.count(message);
    }
    for note in &transcript.notes {
        assert!(note.before <= transcript.messages.len());
        assert_eq!(transcript.source.get(note.json.span()), Some(note.json.raw()));
    }
    let pairing = &transcript.pairing;
    assert!(pairing.pairs.iter().all(|(call, result)| call < result && *result < transcript.messages.len()));
    assert!(breaches(transcript).iter().all(|breach| breach.message < transcript.messages.len()));
}

/// The single format of a text's conversations, and whether its entries link to each other.
fn read_links(text: &str) -> Option<(&'static Format, bool)> {
    let json = Source::of(text).ok()?;
    let document = framing::read(&json, None, None).ok()?;
    let format = lone_format(&document.transcripts)?;
    // Where links are torn, the structure is arbitrary.
    Some((format, ["claude-code", "pi", "qwen-code"].contains(&format.name)))
}

/// Checks the laws under any rules.
pub(crate) fn edit(bytes: &[u8]) {
    let (text, mut choices) = split(bytes);
    let Some((format, linked)) = read_links(&text) else { return };
    let keep = choices.keep();
    let policy = lawful::policy(&VaryingRules { keep, pin: choices.pinned() });
    lawful::assert_no_trigger_no_change(&text, Some(format));
    if linked {
        let (_, out) = lawful::compacted(&text, Some(format), &policy);
        lawful::with_document(&out, Some(format), |_| ());
        return;
    }
    lawful::assert_laws(&text, Some(format), &policy);
    lawful::assert_larger_keeps_more(&text, Some(format), keep);
}

/// Checks that a text without violations stays unchanged, that repair terminates, and that the result can be read and
/// compacted.
pub(crate) fn repair(bytes: &[u8]) {
    let (text, mut choices) = split(bytes);
    let Some((format, linked)) = read_links(&text) else { return };
    let mode = choices.of(&[Repair::Drop, Repair::Synthesize]);
    let mended = lawful::mended(&text, Some(format), mode);
    assert_eq!(lawful::mended(&text, Some(format), mode), mended, "the same every time");
    let Some(mended) = mended else { return };
    assert_eq!(lawful::mended(&mended, Some(format), mode).as_ref(), Some(&mended), "it comes to an end");
    if lawful::found(&text, Some(format)).is_empty() {
        assert_eq!(mended, text);
    }
    if lawful::found(&mended, Some(format)).is_empty() && !linked {
        let policy = lawful::policy(&VaryingRules { keep: choices.keep(), pin: choices.pinned() });
        let (plans, out) = lawful::compacted(&mended, Some(format), &policy);
        let none: [String; 0] = [];
        assert_eq!(lawful::found(&out, Some(format)), none, "compacting makes no breach: {plans:?} {mended} {out}");
    }
}
