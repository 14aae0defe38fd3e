//! The code that `benches/` time.

use std::hint::black_box;

use crate::plan::size::Size;
use crate::plan::summaries::mark_summaries;
use crate::plan::{CutPolicy, plan, total};
use crate::presets::recipe::moved_cut;
use crate::redact::Redactor;
use crate::rewrite::{self, Edit, Placed};
use crate::tokens::{Counter, Tally};
use crate::transcript::formats::{SummaryMessage, SummaryRole};
use crate::transcript::source::Source;
use crate::transcript::{Transcript, framing};

const PREFIX: &str = "Here is a summary of the conversation to date:";
const SUMMARY: &str = "Here is a summary of the conversation to date:\n\nThe user asked for several changes, and all of \
                       them were made and tested.";

/// Durations in seconds, by the clock of a benchmark.
#[derive(Clone, Copy)]
pub struct Took {
    /// The time to read a conversation.
    pub read: f64,
    /// The time to decide and rewrite, with an existing summary.
    pub decide: f64,
}

/// Compacts a conversation; `keep` has the syntax of the flag.
///
/// # Panics
/// The source is not a conversation, or is not shorter afterwards.
pub fn compacted(source: &str, keep: &str, clock: fn() -> f64) -> Took {
    let policy = policy(keep.parse().expect("a size"));
    let began = clock();
    let json = Source::of(source).expect("JSON");
    let mut document = framing::read(&json, None, None).expect("a transcript");
    let read = clock();
    let edits = edits(&mut document.transcripts[0], &policy);
    black_box(rewrite::pieces(source.as_bytes(), &edits).map(<[u8]>::len).sum::<usize>());
    let decided = clock();
    let text = rewrite::apply(source, &edits);
    assert!(text.len() < source.len() && text.contains(SUMMARY.split('\n').next_back().expect("a line")));
    Took { read: read - began, decide: decided - read }
}

/// Does what the program does between reading and writing, except writing a summary. What stays is not copied.
fn edits(transcript: &mut Transcript<'_>, policy: &CutPolicy) -> Vec<Edit> {
    mark_summaries(transcript, policy, SummaryRole::User);
    let tally = Tally::new(Counter::APPROX, &transcript.messages);
    let plan = plan(transcript, &tally, policy, moved_cut).uncut_if_no_larger_than(1, &tally);
    let summary = SummaryMessage { text: SUMMARY, role: SummaryRole::User, name: None, marked: false };
    let summary =
        Placed::Messages(transcript.format.write_summary(&summary, &rewrite::summary_place(transcript, &plan)));
    rewrite::placed(transcript, &plan, &summary)
}

fn policy(keep: Size) -> CutPolicy {
    CutPolicy {
        triggers: vec![vec![Size::Tokens(1_000)]],
        summary_prefix: PREFIX.to_owned(),
        ..CutPolicy::keeping(keep)
    }
}

/// Counts the tokens of a whole conversation.
///
/// # Panics
/// The source is not a conversation.
pub fn tokens(source: &str) -> u64 {
    let json = Source::of(source).expect("JSON");
    let document = framing::read(&json, None, None).expect("a transcript");
    let transcript = &document.transcripts[0];
    total(transcript, &Tally::new(Counter::APPROX, &transcript.messages), &policy(Size::Messages(20)))
}

/// Masks the secrets in a text; `None` if it has none.
pub fn masked(text: &str) -> Option<String> {
    let mut redactor = Redactor::default();
    let masked = redactor.mask(text);
    (!redactor.counts().is_empty()).then(|| masked.into_owned())
}
