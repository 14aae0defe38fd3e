//! Measures how long tcompact takes to parse a conversation in memory, and to decide on and rewrite it with a given
//! summary: without a file, a process or a summarizer. Prints a JSON object for each conversation: CPU seconds, the least
//! of several runs.
//!
//! usage: cargo bench --bench decide [-- RUNS [FILE KEEP]...]
//!
//! Without files, it generates conversations of a hundred to a hundred thousand messages from
//! `fixtures/agent-session.json`.

use std::hint::black_box;
use std::io::{self, Write};
use std::{env, fs};

use serde_json::{Value, json};
use tcompact_core::plan::size::Size;
use tcompact_core::plan::summaries::mark_summaries;
use tcompact_core::plan::{CutPolicy, plan, total};
use tcompact_core::presets::pairs::moved_cut;
use tcompact_core::rewrite::{self, Edit, Placed};
use tcompact_tokens::{Counter, Tally};
use tcompact_transcript::formats::{SummaryMessage, SummaryRole};
use tcompact_transcript::source::Source;
use tcompact_transcript::{Transcript, framing};

const PREFIX: &str = "Here is a summary of the conversation to date:";
const SUMMARY: &str = "Here is a summary of the conversation to date:\n\nThe user asked for several changes, and all of \
                       them were made and tested.";

/// Durations in seconds, by the clock of a benchmark.
#[derive(Clone, Copy)]
struct Took {
    /// The time to read a conversation.
    read: f64,
    /// The time to decide and rewrite, with an existing summary.
    decide: f64,
}

fn main() -> io::Result<()> {
    let arguments: Vec<String> = env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let runs = arguments.first().map_or(5, |runs| runs.parse().expect("RUNS is a number"));
    let mut out = io::stdout().lock();
    for pair in arguments.get(1..).unwrap_or_default().chunks(2) {
        let [file, keep] = pair else { panic!("each FILE has a KEEP") };
        let source = fs::read_to_string(file)?;
        let took = least(runs, &source, keep);
        writeln!(out, "{}", json!({"file": file, "keep": keep, "read": took.read, "decide": took.decide}))?;
    }
    if arguments.len() < 2 {
        for messages in [100, 1_000, 10_000, 100_000] {
            let source = session_of(messages)?;
            for keep in ["messages:20", "tokens:4000", &format!("tokens:{}", tokens(&source) / 2)] {
                let Took { read, decide } = least(runs, &source, keep);
                writeln!(out, "{}", json!({"messages": messages, "keep": keep, "read": read, "decide": decide}))?;
            }
        }
    }
    Ok(())
}

fn least(runs: usize, source: &str, keep: &str) -> Took {
    let all = (0..runs).map(|_| compacted(source, keep, cpu_seconds));
    let least = |one: Took, other: Took| Took { read: one.read.min(other.read), decide: one.decide.min(other.decide) };
    all.reduce(least).expect("one run at least")
}

/// Compacts a conversation; `keep` has the syntax of the flag.
fn compacted(source: &str, keep: &str, clock: fn() -> f64) -> Took {
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
fn tokens(source: &str) -> u64 {
    let json = Source::of(source).expect("JSON");
    let document = framing::read(&json, None, None).expect("a transcript");
    let transcript = &document.transcripts[0];
    total(transcript, &Tally::new(Counter::APPROX, &transcript.messages), &policy(Size::Messages(20)))
}

/// Returns a conversation with this many messages: the session again and again, with unique ids.
fn session_of(messages: usize) -> io::Result<String> {
    let fixture = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/agent-session.json"))?;
    let session: Value = serde_json::from_str(&fixture)?;
    let written: Vec<String> = session["messages"].as_array().into_iter().flatten().map(Value::to_string).collect();
    // The system message comes first, and once.
    let rest = written[1..].iter().cycle().enumerate().map(|(place, message)| {
        let round = place / (written.len() - 1);
        message.replace("\"call_", &format!("\"call_{round}_"))
    });
    let all: Vec<String> = written[..1].iter().cloned().chain(rest).take(messages).collect();
    Ok(format!("{{\"messages\":[{}]}}", all.join(",")))
}

/// Returns the CPU time of this process.
#[cfg(unix)]
fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Returns the wall time, on systems without a clock for CPU time.
#[cfg(not(unix))]
fn cpu_seconds() -> f64 {
    static BEGAN: std::sync::LazyLock<std::time::Instant> = std::sync::LazyLock::new(std::time::Instant::now);
    BEGAN.elapsed().as_secs_f64()
}
