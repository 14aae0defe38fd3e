//! Several inputs that are only read: dry runs, checks and counts.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::batch::{logs, within};
use crate::program::{FIXTURES, Run};

#[test]
fn several_files_are_read_in_order() {
    let logs = logs();
    let folder = logs.path();
    fs::write(folder.join("logs/broken.json"), "[").expect("written");
    let run = within(folder, &["-n", "--keep", "messages:4", "--jobs", "4", "logs"]);
    assert_eq!(run.code, 7, "{run:?}");
    assert_eq!(
        run.stdout,
        "logs/a.json\t58\nlogs/deep/b.json\t58\nlogs/deep/er/c.jsonl:1\t3\nlogs/deep/er/c.jsonl:2\t7\nlogs/deep/er/c.jsonl:3\t0\nlogs/deep/er/c.jsonl:4\t0\nlogs/plain.json\t3\n"
    );
    let json = within(folder, &["-n", "--json", "--keep", "messages:4", "logs/plain.json", "logs/a.json"]);
    let sources: Vec<Value> =
        json.stdout.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON")["source"].clone()).collect();
    assert_eq!(sources, ["logs/plain.json", "logs/a.json"]);
    let check = within(folder, &["check", "logs/plain.json", "logs/a.json"]);
    assert_eq!((check.code, check.stderr.as_str()), (0, ""));
    fs::copy(Path::new(FIXTURES).join("openai-chat/breaches.json"), folder.join("logs/plain.json")).expect("copied");
    assert_eq!(within(folder, &["check", "logs/plain.json", "logs/a.json"]).code, 6);
    assert!(!folder.join("logs/.tcompact").exists());
}

#[test]
fn counts_can_be_sorted_and_drawn_together() {
    let logs = logs();
    let count = |more: &[&str]| within(logs.path(), &[&["count", "logs"], more].concat());
    let sizes = |run: &Run| -> Vec<u64> {
        run.stdout
            .lines()
            .map(|line| line.rsplit('\t').next().and_then(|n| n.parse().ok()).expect("a number"))
            .collect()
    };
    let as_given = count(&[]);
    let sorted = count(&["--sort", "size", "--jobs", "4"]);
    let mut largest_first = sizes(&as_given);
    largest_first.sort_by_key(|tokens| std::cmp::Reverse(*tokens));
    assert_eq!(sizes(&sorted), largest_first);
    assert!(sizes(&as_given) != largest_first, "{as_given:?}");
    let sum = format!("tcompact: {} tokens in 7 conversations", largest_first.iter().sum::<u64>());
    assert!(sorted.stderr.starts_with(&sum) && as_given.stderr == sorted.stderr, "{sorted:?}");
    let lines = |run: &Run| run.stdout.lines().map(str::to_owned).collect::<std::collections::BTreeSet<_>>();
    assert_eq!(lines(&sorted), lines(&as_given));
    let json = count(&["--sort", "size", "--json"]);
    let of_line = |line: &str| serde_json::from_str::<Value>(line).expect("JSON")["tokens"].as_u64().expect("tokens");
    assert_eq!(json.stdout.lines().map(of_line).collect::<Vec<_>>(), largest_first);
    let drawn = count(&["--explain"]);
    assert_eq!(drawn.stdout, as_given.stdout);
    assert!(drawn.stderr.starts_with("what fills all conversations:\n"), "{drawn:?}");
    assert_eq!(within(logs.path(), &["-n", "--sort", "size", "logs"]).code, 2);
}

#[test]
fn a_dry_run_reports_what_a_run_would_do() {
    let logs = logs();
    let run = within(logs.path(), &["-n", "-v", "--keep", "messages:4", "logs"]);
    assert!(run.stderr.contains("logs/a.json: would be compacted\n"), "{run:?}");
    assert!(!run.stderr.contains(": compacted\n"), "{run:?}");
}
