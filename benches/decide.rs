//! How long a conversation in memory takes to be read, and to be decided on and rewritten, with a summary that is
//! there already: no file, no process, no summarizer. Prints a JSON object for each conversation: CPU seconds, the least
//! of several runs.
//!
//! usage: cargo bench --bench decide [-- RUNS [FILE KEEP]...]
//!
//! Without files, conversations of a hundred to a hundred thousand messages are made of `fixtures/agent-session.json`.

use std::hint::black_box;
use std::io::{self, Write};
use std::{env, fs};

use serde_json::{Value, json};
use tcompact::plan::size::Size;
use tcompact::plan::{Policy, mark_summaries, plan, total};
use tcompact::rewrite::{self, Edit, Placed};
use tcompact::tokens::{Counter, Tally};
use tcompact::transcript::Transcript;
use tcompact::transcript::formats::{SummaryMessage, SummaryRole};
use tcompact::transcript::framing;
use tcompact::transcript::source::Source;

const PREFIX: &str = "Here is a summary of the conversation to date:";
const SUMMARY: &str = "Here is a summary of the conversation to date:\n\nThe user asked for several changes, and all of \
                       them were made and tested.";

fn main() -> io::Result<()> {
    let arguments: Vec<String> = env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let runs = arguments.first().map_or(5, |runs| runs.parse().expect("RUNS is a number"));
    let mut out = io::stdout().lock();
    for pair in arguments.get(1..).unwrap_or_default().chunks(2) {
        let [file, keep] = pair else { panic!("each FILE has a KEEP") };
        let source = fs::read_to_string(file)?;
        let took = least(runs, &source, &policy(keep.parse().expect("KEEP is a size")));
        writeln!(out, "{}", json!({"file": file, "keep": keep, "read": took.read, "decide": took.decide}))?;
    }
    if arguments.len() < 2 {
        for messages in [100, 1_000, 10_000, 100_000] {
            let source = session_of(messages)?;
            for keep in [Size::Messages(20), Size::Tokens(4_000), Size::Tokens(tokens(&source) / 2)] {
                let took = least(runs, &source, &policy(keep));
                let (keep, read, decide) = (keep.to_string(), took.read, took.decide);
                writeln!(out, "{}", json!({"messages": messages, "keep": keep, "read": read, "decide": decide}))?;
            }
        }
    }
    Ok(())
}

/// CPU seconds.
struct Took {
    read: f64,
    decide: f64,
}

fn least(runs: usize, source: &str, policy: &Policy) -> Took {
    let mut least = Took { read: f64::INFINITY, decide: f64::INFINITY };
    for _ in 0..runs {
        let began = cpu_seconds();
        let json = Source::of(source).expect("JSON");
        let mut document = framing::read(&json, None, None).expect("a transcript");
        let read = cpu_seconds();
        let edits = compacted(&mut document.transcripts[0], policy);
        black_box(rewrite::pieces(source, &edits).map(str::len).sum::<usize>());
        let decided = cpu_seconds();
        let text = rewrite::apply(source, &edits);
        assert!(text.len() < source.len() && text.contains(SUMMARY.split('\n').next_back().expect("a line")));
        least.read = least.read.min(read - began);
        least.decide = least.decide.min(decided - read);
    }
    least
}

/// What the program does between reading and writing, but for writing a summary: what stays is not copied.
fn compacted(transcript: &mut Transcript<'_>, policy: &Policy) -> Vec<Edit> {
    mark_summaries(transcript, policy);
    let plan = plan(transcript, &Tally::new(Counter::DEFAULT, &transcript.messages), policy);
    let summary = SummaryMessage { text: SUMMARY, role: SummaryRole::User, name: None, marked: false };
    let summary = Placed::Messages(rewrite::summary_message(transcript, &plan, &summary));
    rewrite::placed(transcript, &plan, &summary)
}

fn policy(keep: Size) -> Policy {
    Policy {
        triggers: vec![vec![Size::Tokens(1_000)]],
        summary_prefix: PREFIX.to_owned(),
        smallest_summary: 1,
        ..Policy::keeping(keep)
    }
}

/// The tokens of a whole conversation.
fn tokens(source: &str) -> u64 {
    let json = Source::of(source).expect("JSON");
    let document = framing::read(&json, None, None).expect("a transcript");
    let transcript = &document.transcripts[0];
    total(transcript, &Tally::new(Counter::DEFAULT, &transcript.messages), &policy(Size::Messages(20)))
}

/// A conversation of so many messages: the session over and over, with ids of their own.
fn session_of(messages: usize) -> io::Result<String> {
    let fixture = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/agent-session.json"))?;
    let session: Value = serde_json::from_str(&fixture)?;
    let written: Vec<String> = session["messages"].as_array().into_iter().flatten().map(Value::to_string).collect();
    // The first is the system's.
    let rest = written[1..].iter().cycle().enumerate().map(|(place, message)| {
        let round = place / (written.len() - 1);
        message.replace("\"call_", &format!("\"call_{round}_"))
    });
    let all: Vec<String> = written[..1].iter().cloned().chain(rest).take(messages).collect();
    Ok(format!("{{\"messages\":[{}]}}", all.join(",")))
}

/// CPU time of this process.
#[cfg(unix)]
fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Wall time, where there is no such clock.
#[cfg(not(unix))]
fn cpu_seconds() -> f64 {
    static BEGAN: std::sync::LazyLock<std::time::Instant> = std::sync::LazyLock::new(std::time::Instant::now);
    BEGAN.elapsed().as_secs_f64()
}
