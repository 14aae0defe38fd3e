//! Measures how long tcompact takes to parse a conversation in memory, and to decide on and rewrite it with a given
//! summary: without a file, a process or a summarizer. Prints a JSON object for each conversation: CPU seconds, the least
//! of several runs.
//!
//! usage: cargo bench --features laws --bench decide [-- RUNS [FILE KEEP]...]
//!
//! Without files, it generates conversations of a hundred to a hundred thousand messages from
//! `fixtures/agent-session.json`.

use std::io::{self, Write};
use std::{env, fs};

use serde_json::{Value, json};
use tcompact::laws::measures::{Took, compacted, tokens};

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
