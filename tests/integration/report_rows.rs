//! The rows of `--dry-run --json` and of `--report` are as `docs/rows.schema.json` says, and say of an input that an
//! earlier run has finished what that run said.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::batch::{reported, within};
use crate::program::FIXTURES;
use crate::server::{Server, completion};
use crate::support::turns;

/// Checks a value against a schema, and adds what is wrong. Knows the keywords that the schema of rows uses.
fn check(root: &Value, schema: &Value, value: &Value, place: &str, wrong: &mut Vec<String>) {
    for (keyword, rule) in schema.as_object().expect("a schema") {
        let fits = match keyword.as_str() {
            "$ref" => {
                let pointer = rule.as_str().and_then(|name| name.strip_prefix('#')).expect("a local name");
                check(root, root.pointer(pointer).expect("a definition"), value, place, wrong);
                true
            }
            "allOf" => {
                rule.as_array().expect("schemas").iter().for_each(|part| check(root, part, value, place, wrong));
                true
            }
            "type" => {
                let types = rule.as_array().cloned().unwrap_or_else(|| vec![rule.clone()]);
                types.iter().any(|name| is_of_type(value, name.as_str().expect("a name")))
            }
            "enum" => rule.as_array().expect("values").contains(value),
            "minimum" => value.as_f64().is_none_or(|number| number >= rule.as_f64().expect("a number")),
            "required" => {
                let names = rule.as_array().expect("names");
                value
                    .as_object()
                    .is_none_or(|members| names.iter().all(|name| members.contains_key(name.as_str().expect("a name"))))
            }
            "items" => {
                let items = value.as_array().into_iter().flatten().enumerate();
                items.for_each(|(at, item)| check(root, rule, item, &format!("{place}[{at}]"), wrong));
                true
            }
            "properties" | "additionalProperties" => {
                for (name, member) in value.as_object().into_iter().flatten() {
                    let own = &schema["properties"][name];
                    let place = format!("{place}.{name}");
                    match (keyword == "properties", own.is_null()) {
                        (true, false) => check(root, own, member, &place, wrong),
                        (false, true) if *rule == json!(false) => wrong.push(format!("{place}: no such member")),
                        (false, true) => check(root, rule, member, &place, wrong),
                        _ => {}
                    }
                }
                true
            }
            "description" => true,
            keyword => panic!("{keyword} is not checked here"),
        };
        if !fits {
            wrong.push(format!("{place}: {value} is not as {keyword} {rule} says"));
        }
    }
}

fn is_of_type(value: &Value, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        name => panic!("{name} is not a type"),
    }
}

/// Checks lines against a definition of the schema, and returns them.
fn checked(lines: &str, definition: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/rows.schema.json");
    let root: Value = serde_json::from_str(&fs::read_to_string(path).expect("a schema")).expect("JSON");
    let rows: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("a row")).collect();
    let mut wrong = Vec::new();
    for row in &rows {
        check(&root, &root["$defs"][definition], row, "row", &mut wrong);
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    rows
}

/// Makes a folder with conversations of several formats, a file of conversations, a broken file, and one that is no
/// transcript.
fn logs() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let logs = folder.path().join("logs");
    fs::create_dir(&logs).expect("made");
    for name in
        ["agent-session.json", "anthropic/compaction.json", "claude-code/parallel.jsonl", "openai-chat/breaches.json"]
    {
        let from = Path::new(FIXTURES).join(name);
        fs::copy(from, logs.join(name.replace('/', "-"))).expect("copied");
    }
    let text = |n| format!("Step {n} of the garden plan: water bed {n}.");
    let line = |length| json!({"messages": turns(0..length, text)}).to_string();
    fs::write(logs.join("lines.jsonl"), [line(40), line(3), line(60)].join("\n")).expect("written");
    fs::write(logs.join("broken.json"), "[{\"role\":").expect("written");
    fs::write(logs.join("notes.txt"), "no transcript").expect("written");
    folder
}

#[test]
fn every_row_is_as_the_schema_says() {
    let folder = logs();
    let mut rows = 0;
    for rules in [
        &["--keep", "messages:4"][..],
        &["--keep", "none", "--for", "gpt-4o", "--redact"],
        &["--fit", "tokens:900", "--for", "claude-haiku-4-5"],
        &["--prune", "all", "--keep", "messages:3", "--pin", "first:2", "--repair", "drop"],
    ] {
        let dry = within(folder.path(), &[&["-n", "--json"], rules, &["logs"]].concat());
        rows += checked(&dry.stdout, "dry-run").len();
        within(folder.path(), &[rules, &["-O", "out", "--report", "report.jsonl", "logs"]].concat());
        let report = fs::read_to_string(folder.path().join("report.jsonl")).expect("a report");
        let report = checked(&report, "report");
        let has = |status: &str| report.iter().any(|row| row["status"] == status);
        assert!(has("compacted") && has("failed") && has("skipped"), "{report:#?}");
        rows += report.len();
    }
    assert!(rows > 40, "{rows}");
    let server = Server::start(vec![completion("The plan is known.", "stop")]);
    let url = format!("{}/v1", server.url);
    let asked = ["-m", "openai:gpt-4o-mini", "--base-url", &url, "--keep", "messages:4", "--report", "report.jsonl"];
    within(folder.path(), &[&asked[..], &["-o", "out.json", "logs/agent-session.json"]].concat());
    let report = fs::read_to_string(folder.path().join("report.jsonl")).expect("a report");
    checked(&report, "report");
}

#[test]
fn rows_of_finished_inputs_keep_their_numbers() {
    let folder = logs();
    fs::remove_file(folder.path().join("logs/broken.json")).expect("removed");
    for destination in [&["-O", "out"][..], &["--in-place"]] {
        // The first run needs no report for it.
        let run = |more: &[&str]| {
            let rules = ["--resume", "--trigger", "messages:6", "--keep", "messages:4", "logs"];
            within(folder.path(), &[&rules[..], destination, more].concat())
        };
        assert_eq!(run(&["--report", "first.jsonl"]).code, 0);
        fs::remove_dir_all(folder.path().join("out")).ok();
        run(&[]);
        let again = run(&["-v", "--report", "again.jsonl"]);
        assert!(again.stderr.contains("finished by an earlier run"), "{again:?}");
        let report = |name: &str| {
            let text = fs::read_to_string(folder.path().join(name)).expect("a report");
            let rows = checked(&text, "report").into_iter();
            let mut rows: Vec<Value> = rows.filter(|row| row["source"] != "logs/notes.txt").collect();
            rows.sort_by_key(|row| row["source"].to_string());
            rows
        };
        let (first, again) = (report("first.jsonl"), report("again.jsonl"));
        assert!(first.len() > 5);
        assert_eq!(first.len(), again.len());
        for (first, again) in first.iter().zip(&again) {
            assert_eq!((&again["status"], &again["error"]), (&json!("skipped"), &Value::Null));
            assert_eq!(again["reason"], "finished by an earlier run");
            let figures =
                ["source", "format", "messages", "tokens", "cutoff", "keep", "tokens_after", "summary_tokens"];
            for key in figures.into_iter().chain(["provider", "prune", "pinned"]) {
                assert_eq!(first[key], again[key], "{key} of {first}");
            }
        }
    }
}

/// Lines behind the first that fails were worked on too, and a summarizer was paid for them.
#[test]
fn the_cost_of_failed_lines_is_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    let line = fs::read_to_string(Path::new(FIXTURES).join("openai-chat/plain.json")).expect("a file");
    let line = serde_json::from_str::<Value>(&line).expect("JSON").to_string() + "\n";
    fs::write(folder.path().join("lines.jsonl"), line.repeat(6)).expect("written");
    let command = "echo x >> asked; sleep 0.5; exit 1";
    let rules = ["--keep", "messages:1", "--jobs", "6", "--retries", "0", "--summarizer-cmd", command];
    let run = within(
        folder.path(),
        &[&rules[..], &["--lines", "conversations", "--report", "report.jsonl", "-o", "out.jsonl", "lines.jsonl"]]
            .concat(),
    );
    assert_eq!(run.code, 4, "{run:?}");
    let asked = fs::read_to_string(folder.path().join("asked")).expect("requests").lines().count();
    let requests: u64 = reported(folder.path()).values().map(|row| row["requests"].as_u64().expect("a count")).sum();
    assert!(asked > 1 && requests == asked as u64, "{requests} of {asked}");
}
