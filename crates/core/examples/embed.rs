//! Compacts a transcript inside a program, with a summarizer of its own, and restores it:
//!
//! `cargo run -p tcompact-core --example embed -- fixtures/agent-session.json`

use std::error::Error;
use std::io::{self, Write};
use std::{env, fs};

use tcompact_core::{Bill, CompactionPolicy, Compactor, NoAnswer, Reply, Request, SummaryBackend};

/// A summarizer that keeps the last sentence of what it is asked. Yours would ask a model.
struct LastSentence;

impl SummaryBackend for LastSentence {
    fn answer(&self, request: &Request, _: &mut Bill) -> Result<Reply, NoAnswer> {
        let last = request.prompt.trim_end().rsplit(". ").next().unwrap_or_default();
        Ok(Reply { text: format!("The prompt ended with: {last}"), ..Reply::default() })
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = env::args().nth(1).ok_or("usage: embed FILE")?;
    let text = fs::read_to_string(path)?;
    let compactor = Compactor::new(CompactionPolicy::keeping("messages:10".parse()?)).with_summarizer(LastSentence);
    let compacted = compactor.compact(&text)?;
    // The records lead back to the original, byte for byte. Keep them if you want to be able to go back.
    assert_eq!(tcompact_core::restore(&compacted.text, &compacted.records)?, text);
    let cuts: Vec<usize> = compacted.plans.iter().map(|plan| plan.cutoff).collect();
    writeln!(io::stderr(), "cut at {cuts:?}: {} bytes became {}", text.len(), compacted.text.len())?;
    io::stdout().write_all(compacted.text.as_bytes())?;
    Ok(())
}
