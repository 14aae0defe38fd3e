//! A session that is slimmed by its lines is the same context, wherever its blocks end, and every byte comes back. It is
//! never smaller than one that is slimmed whole.

use std::fs;
use std::path::Path;

use proptest::prelude::*;

use crate::bricks::{Bricks, file, generated};
use crate::compact::{LineSlimmer, context_difference};
use crate::lawful::with_document;
use crate::rewrite::pieces;
use crate::rewrite::ranges::{RangePlace, RangeRecord, range_record};
use crate::tests::cases;
use crate::tests::slim::{counted, slimmed, walked, with_copies, with_events};
use crate::transcript::formats::{Format, by_name};
use crate::walks::AGENTS;
use crate::{FIXTURES, fixtures};
use tcompact_core::prune::{SessionEnd, reads_by_line};

/// The blocks of a text: whole lines, at least so many bytes, as far as there are any.
fn blocks(source: &[u8], least: usize) -> Vec<&[u8]> {
    let (mut blocks, mut start, mut end) = (Vec::new(), 0, 0);
    for line in source.split_inclusive(|byte| *byte == b'\n') {
        end += line.len();
        if end - start >= least {
            blocks.push(&source[start..end]);
            start = end;
        }
    }
    if start < end {
        blocks.push(&source[start..]);
    }
    blocks
}

/// A text without what is not sent, by blocks of its lines, and the text that its records restore.
fn slimmed_by_lines(
    source: &[u8],
    format: &'static Format,
    has_archive: bool,
    least: usize,
) -> Result<(Vec<u8>, Vec<u8>), String> {
    let blocks = blocks(source, least);
    let mut end = SessionEnd::new(format);
    let mut start = 0;
    for block in &blocks {
        end.look_at(start, block);
        start += block.len() as u64;
    }
    let mut slimmer = LineSlimmer::new(format, end, has_archive);
    let (mut after, mut restored, mut start) = (Vec::new(), Vec::new(), 0);
    for block in blocks {
        let edits = slimmer.slim(start, block)?;
        let left = pieces(block, &edits).collect::<Vec<_>>().concat();
        let place = RangePlace { number: 0, offset: after.len() as u64, bytes: left.len() as u64 };
        let record = range_record("session", format.name, place, block, &edits);
        let record: RangeRecord = serde_json::from_str(&record).expect("a record");
        restored.extend(record.restore(&left).expect("it fits"));
        after.extend(left);
        start += block.len() as u64;
    }
    slimmer.finish().map(|_| (after, restored))
}

/// Checks the law on a text, with blocks of different sizes. Returns the length of the result.
fn assert_law(source: &str, format: &'static Format, about: &str) -> usize {
    let from = Some(format);
    let mut length = 0;
    for has_archive in [false, true] {
        let whole = slimmed(source, from, has_archive).0;
        for least in [1, 700, 1 << 20] {
            let done = slimmed_by_lines(source.as_bytes(), format, has_archive, least);
            let (after, restored) = done.unwrap_or_else(|error| panic!("{about}: {error}: {source}"));
            let after = String::from_utf8(after).expect("UTF-8");
            assert!(restored == source.as_bytes(), "{about}: {source}");
            assert!(after.len() >= whole.len(), "{about}: {source}\n{after}\n{whole}");
            with_document(source, from, |before| {
                with_document(&after, from, |behind| {
                    let (one, other) = (&before.transcripts[0], &behind.transcripts[0]);
                    assert_eq!(context_difference(one, other), None, "{about}: {source}\n{after}");
                });
            });
            assert_eq!(counted(source, from), counted(&after, from), "{about}: {source}\n{after}");
            if AGENTS.contains(&format.name) {
                assert_eq!(walked(format.name, source), walked(format.name, &after), "{about}: {source}\n{after}");
            }
            let again = slimmed_by_lines(after.as_bytes(), format, has_archive, least).expect("it is a session");
            assert!(again.0 == after.as_bytes(), "{about}: again");
            length = after.len();
        }
    }
    length
}

/// Whether a text is a session that is read by its lines.
fn is_of_lines(source: &str, format: &'static Format) -> bool {
    with_document(source, Some(format), |document| {
        let [transcript] = document.transcripts.as_slice() else { return false };
        let mut entries = transcript.entries();
        let first = transcript.entries().next();
        transcript.envelope.is_none()
            && transcript.aside.is_empty()
            && entries.all(|entry| !entry.raw().contains('\n'))
            && first.is_some_and(|first| reads_by_line(format, first))
            && source.lines().count() >= transcript.entries().count()
    })
}

#[test]
fn fixtures_say_the_same_by_their_lines() {
    let mut checked = 0;
    for (name, path) in fixtures::all() {
        let format = by_name(name).expect("a format");
        let source = fs::read_to_string(&path).expect("a fixture");
        if is_of_lines(&source, format) {
            assert_law(&source, format, &path.display().to_string());
            checked += 1;
        }
    }
    assert!(checked >= 7, "{checked} fixtures are sessions of lines");
}

/// How much smaller the sessions with what is not sent become by their lines, beside what they become as a whole.
#[test]
fn most_goes_by_lines_too() {
    for (file, most) in [("claude-code.jsonl", 40), ("codex.jsonl", 0), ("pi.jsonl", 35)] {
        let path = Path::new(FIXTURES).join("unsent").join(file);
        let source = fs::read_to_string(&path).expect("a fixture");
        let format = by_name(file.split('.').next().unwrap_or_default()).expect("a format");
        let by_lines = assert_law(&source, format, file);
        let whole = slimmed(&source, Some(format), true).0.len();
        let missing = (by_lines - whole) * 100 / (source.len() - whole);
        assert!(missing <= most, "{file}: {missing} % of what goes of the whole stays by its lines");
    }
}

#[test]
fn a_compaction_that_is_not_there_is_noticed() {
    let path = Path::new(FIXTURES).join("unsent/codex.jsonl");
    let source = fs::read_to_string(path).expect("a fixture");
    let format = by_name("codex").expect("a format");
    let without: String =
        source.lines().filter(|line| !line.contains("\"compacted\"")).map(|line| line.to_owned() + "\n").collect();
    let compaction = source.lines().rfind(|line| line.contains("\"compacted\"")).expect("one");
    let mut end = SessionEnd::new(format);
    end.look_at(without.len() as u64, compaction.as_bytes());
    let mut slimmer = LineSlimmer::new(format, end, true);
    let edits = slimmer.slim(0, without.as_bytes()).expect("each line is read as before");
    assert!(!edits.is_empty());
    let error = slimmer.finish().expect_err("other lines would be sent");
    assert!(error.contains("other lines would be sent"), "{error}");
}

#[test]
fn lines_that_are_not_json_stay() {
    let path = Path::new(FIXTURES).join("unsent/codex.jsonl");
    let source = fs::read(path).expect("a fixture");
    let format = by_name("codex").expect("a format");
    let lines: Vec<&[u8]> = source.split_inclusive(|byte| *byte == b'\n').collect();
    let (first, rest) = lines.split_at(9);
    for odd in [&b"{\"timestamp\":\"t\",\"type\":\"event\n"[..], b"\n\n", b"\xff\xfe{}\n", b"{}{}\n", b"not JSON\r\n"] {
        for cut in [0, 40] {
            let text = [&first.concat()[..], odd, &rest.concat()[..rest.concat().len() - cut]].concat();
            for least in [1, 2_000, 1 << 20] {
                let (after, restored) = slimmed_by_lines(&text, format, true, least).expect("a session");
                assert!(restored == text && after.len() < text.len() * 3 / 4, "{odd:?} {cut} {least}");
                assert!(after.windows(odd.len()).any(|window| window == odd), "{odd:?} {cut} {least}");
            }
        }
    }
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn what_claude_code_sends_stays_by_lines(generated in generated(), choices in prop::collection::vec(any::<u8>(), 1..20)) {
        let (source, _) = file(&Bricks::of("claude-code"), &generated, 0);
        // Lines are added to a file of lines; messages of which nobody knows a part stand in a document.
        prop_assume!(source.contains("\"message\"") && !source.starts_with("{\"loglines\""));
        let source = with_copies(&source, &choices);
        let format = by_name("claude-code").expect("a format");
        prop_assume!(is_of_lines(&source, format));
        assert_law(&source, format, "generated");
    }

    #[test]
    fn what_codex_sends_stays_by_lines(generated in generated(), choices in prop::collection::vec(any::<u8>(), 1..20)) {
        let (source, _) = file(&Bricks::of("codex"), &generated, 0);
        prop_assume!(source.contains("response_item"));
        let source = with_events(&source, &choices);
        let format = by_name("codex").expect("a format");
        prop_assume!(is_of_lines(&source, format));
        assert_law(&source, format, "generated");
    }
}
