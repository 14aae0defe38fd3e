//! Measures what `--redact` finds, what it changes without a secret, and how long it takes.
//!
//! usage: cargo bench --bench redaction -- samples FILE...      lines of `KIND<TAB>SECRET`; prints the share that is masked whole
//!        cargo bench --bench redaction -- transcripts FILE...  JSON, JSONL; prints the lines of their strings, and those changed
//!        cargo bench --bench redaction -- time FILE...         prints megabytes and seconds
//!
//! A sample counts as masked if only its first words stay: no digit before its placeholder, and no letter or digit after
//! it. `transcripts` prints each changed line on standard error.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::io::{self, Write};
use std::time::Instant;
use std::{env, fs};

use serde_json::{Deserializer, Value, json};
use tcompact_redact::Redactor;

fn main() -> io::Result<()> {
    let arguments: Vec<String> = env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let (mode, files) = arguments.split_first().map_or(("", &[][..]), |(mode, files)| (mode.as_str(), files));
    let texts: Vec<String> = files.iter().map(fs::read_to_string).collect::<io::Result<_>>()?;
    let measured = match mode {
        "samples" => samples(&texts),
        "transcripts" => transcripts(&texts),
        "time" => time(&texts),
        _ => json!("name samples, transcripts or time, and files"),
    };
    writeln!(io::stdout(), "{measured}")
}

/// Masks the secrets in a text; `None` if it has none.
fn masked(text: &str) -> Option<String> {
    let mut redactor = Redactor::default();
    let masked = redactor.mask(text);
    (!redactor.counts().is_empty()).then(|| masked.into_owned())
}

/// Counts the samples of each kind that are masked whole.
fn samples(texts: &[String]) -> Value {
    let mut kinds: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for (kind, secret) in texts.iter().flat_map(|text| text.lines()).filter_map(|line| line.split_once('\t')) {
        let masked = masked(secret).unwrap_or_else(|| secret.to_owned());
        let (all, whole) = kinds.entry(kind).or_default();
        *all += 1;
        *whole += u64::from(is_whole(&masked));
    }
    let all: u64 = kinds.values().map(|(all, _)| all).sum();
    let whole: u64 = kinds.values().map(|(_, whole)| whole).sum();
    let kinds_whole = kinds.values().filter(|(all, whole)| all == whole).count();
    let rest: BTreeMap<_, _> = kinds.iter().filter(|(_, (all, whole))| all != whole).collect();
    json!({"samples": all, "masked": whole, "kinds": kinds.len(), "kinds_masked": kinds_whole, "rest": rest})
}

/// Whether only the first words of a secret stay.
fn is_whole(masked: &str) -> bool {
    let Some((before, rest)) = masked.split_once('[') else { return false };
    let behind = rest.rsplit_once(']').map_or(rest, |(_, behind)| behind);
    !before.contains(|c: char| c.is_ascii_digit()) && !behind.contains(char::is_alphanumeric)
}

/// Counts the lines of the strings in transcripts, and those changed.
fn transcripts(texts: &[String]) -> Value {
    let (mut lines, mut changed) = (0_u64, 0_u64);
    for value in texts.iter().flat_map(|text| Deserializer::from_str(text).into_iter::<Value>()).map_while(Result::ok) {
        strings(&value, &mut |text| {
            for line in text.lines() {
                lines += 1;
                if let Some(masked) = masked(line) {
                    changed += 1;
                    let _ = writeln!(io::stderr(), "{line}\n  became {masked}");
                }
            }
        });
    }
    json!({"lines": lines, "changed": changed})
}

fn strings(value: &Value, visit: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => visit(text),
        Value::Array(items) => items.iter().for_each(|item| strings(item, visit)),
        Value::Object(members) => members.values().for_each(|item| strings(item, visit)),
        _ => {}
    }
}

/// Returns the seconds for all texts, the least of five runs.
fn time(texts: &[String]) -> Value {
    let run = || {
        let began = Instant::now();
        for line in texts.iter().flat_map(|text| text.lines()) {
            black_box(masked(line));
        }
        began.elapsed().as_secs_f64()
    };
    let seconds = (0..5).map(|_| run()).fold(f64::INFINITY, f64::min);
    let bytes: usize = texts.iter().map(String::len).sum();
    json!({"megabytes": bytes as f64 / 1e6, "seconds": seconds})
}
