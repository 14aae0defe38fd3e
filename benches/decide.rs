//! How long a conversation in memory takes to be read, and to be decided on and rewritten, with a summary that is
//! there already: no file, no process, no summarizer. Prints a JSON object for each conversation: CPU seconds, the least
//! of several runs.
//!
//! usage: cargo bench --features laws --bench decide [-- RUNS [FILE KEEP]...]
//!
//! Without files, conversations of a hundred to a hundred thousand messages are made of `fixtures/agent-session.json`.

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
