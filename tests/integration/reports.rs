//! The report and the stored answers of a run: `--report` and `--cache`.

use std::fs;

use serde_json::{Value, json};

use crate::program::{path, run, tcompact, with};
use crate::server::{Server, at_length, completion};
use crate::summary_requests::{KEY, ask, assert_fails, status, summary_of};

fn reported(file: &str) -> Vec<Value> {
    let text = fs::read_to_string(file).expect("a report");
    assert!(!text.contains(KEY), "{text}");
    text.lines().map(|line| serde_json::from_str(line).expect("an object a line")).collect()
}

#[test]
fn a_report_has_the_plan_and_the_outcome() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = path(folder.path(), "report.jsonl");
    let server = Server::start(vec![status(500, ""), completion("Short.", "stop")]);
    let run = ask(&server, &["--report", &file]);
    assert_eq!(run.code, 0, "{run:?}");
    let dry: Value = serde_json::from_str(&ask(&server, &["--dry-run", "--json"]).stdout).expect("a plan");
    let report = reported(&file).remove(0);
    // Before there is a summary, the savings are an estimate.
    for (key, value) in dry.as_object().expect("an object").iter().filter(|(key, _)| *key != "economy") {
        assert_eq!(&report[key], value, "{key}");
    }
    assert_eq!(report["status"], "compacted");
    assert_eq!(report["provider"], "openai:test-model");
    let usage = json!({"input_tokens": 100, "output_tokens": 10, "reasoning_tokens": 0, "cost_usd": null});
    assert_eq!(report["usage"], usage);
    assert_eq!((&report["requests"], &report["retries"], &report["cached"]), (&json!(2), &json!(1), &json!(0)));
    assert_eq!(report["error"], Value::Null);
    assert!(report["elapsed_ms"].as_u64().is_some_and(|elapsed| elapsed < 60_000));
    let after = ["--dry-run", "--json"];
    let after = crate::program::piped(&after, &run.stdout);
    let after: Value = serde_json::from_str(&after.stdout).expect("a plan");
    assert_eq!(report["tokens_after"], after["tokens"]);
    let (before, summary, kept) = (&dry["tokens"], &report["summary_tokens"], &dry["summarize"]["tokens"]);
    let number = |value: &Value| value.as_u64().expect("a number");
    assert_eq!(number(&report["economy"]["saved_tokens_per_turn"]), number(kept) - number(summary));
    assert_eq!(number(&report["tokens_after"]), number(before) - number(kept) + number(summary));
}

#[test]
fn a_report_has_the_cost() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = path(folder.path(), "report.jsonl");
    let server = Server::start(vec![completion("Short.", "stop")]);
    let arguments = ["--model", "openai:gpt-4o-mini", "--base-url", &server.url, "--keep", "messages:2", "-v"];
    let run = run(tcompact().args(arguments).args(["--report", &file, "openai-chat/plain.json"]), b"");
    let cost = reported(&file)[0]["usage"]["cost_usd"].as_f64().expect("a price");
    assert!((cost - (100.0 * 0.15 + 10.0 * 0.6) / 1e6).abs() < 1e-12, "{cost}");
    assert!(run.stderr.contains("100 tokens in and 10 out, $0.000021"), "{run:?}");
}

/// Prices in US dollars per million tokens: gpt-4o reads at 2.5, gpt-4o-mini reads at 0.15 and writes at 0.6.
#[test]
fn savings_and_costs_are_reported_before_and_after() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = path(folder.path(), "report.jsonl");
    let server = Server::start(vec![completion(&at_length("Short."), "stop")]);
    let models = ["--for", "gpt-4o", "--model", "openai:gpt-4o-mini", "--base-url", &server.url];
    let run = |more: &[&str]| {
        run(
            tcompact()
                .args(models)
                .args(["--keep", "messages:10", "--ledger", "off"])
                .args(more)
                .arg("agent-session.json"),
            b"",
        )
    };
    let plan = run(&["-n", "--json"]).stdout;
    let plan: Value = serde_json::from_str(&plan).expect("a plan");
    let summarized = plan["summarize"]["tokens"].as_u64().expect("tokens");
    let economy = &plan["economy"];
    assert_eq!(economy["saved_tokens_per_turn"], summarized - 1024, "the summary is as large as --summary-tokens");
    let cost = economy["cost_usd"].as_f64().expect("a price");
    let least = (summarized as f64 * 0.15 + 1024.0 * 0.6) / 1e6;
    assert!((least..least * 1.1).contains(&cost), "{cost}");
    assert_eq!((&economy["pays_after_turns"], &economy["prices"]), (&json!(1), &json!("2026-11")));
    let after = plan["tokens"].as_u64().expect("tokens") - summarized + 1024;
    let written = economy["cache"]["write_usd"].as_f64().expect("a price");
    assert!((written - after as f64 * 2.5 / 1e6).abs() < 1e-8, "what it writes costs what input costs: {economy}");
    assert!(server.requests().is_empty(), "a dry run asks nobody");
    let told = run(&["-v", "--report", &file]).stderr;
    let report = reported(&file).remove(0);
    let saved = summarized - report["summary_tokens"].as_u64().expect("tokens");
    assert_eq!(report["economy"]["saved_tokens_per_turn"], saved);
    assert_eq!(report["economy"]["cost_usd"], 0.000021, "what the provider counts");
    let sentence =
        format!("saves {saved} tokens a turn ($0.0253 with gpt-4o); the summary costs $0.000021 and pays after 1 turn");
    assert!(told.contains(&sentence), "{told}");
    // The cost of a command is unknown, and so is that of a turn without a named model.
    let unknown = with(&["-n", "--json", "--keep", "messages:10", "--summarizer-cmd", "cat", "agent-session.json"]);
    let unknown: Value = serde_json::from_str(&unknown.stdout).expect("a plan");
    let keys = ["saved_usd_per_turn", "cost_usd", "pays_after_turns", "prices", "cache"];
    assert!(keys.iter().all(|key| unknown["economy"][key].is_null()), "{unknown}");
    // Cut arguments count as savings too.
    run(&["--prune", "arguments:50", "--report", &file]);
    let report = reported(&file).pop().expect("a report");
    let less = report["tokens"].as_u64().zip(report["tokens_after"].as_u64()).map(|(before, after)| before - after);
    assert_eq!(report["economy"]["saved_tokens_per_turn"].as_u64(), less);
    let nothing: Value =
        serde_json::from_str(&run(&["-n", "--json", "--trigger", "messages:90"]).stdout).expect("a plan");
    assert!(nothing.get("economy").is_none(), "{nothing}");
}

#[test]
fn unchanged_and_failed_conversations_are_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = path(folder.path(), "report.jsonl");
    let refusing = Server::start(vec![status(401, r#"{"error":{"message":"no such key"}}"#)]);
    assert_fails(&ask(&refusing, &["--report", &file]), 4, &["no such key"]);
    let report = reported(&file).remove(0);
    assert_eq!((&report["status"], &report["requests"]), (&json!("failed"), &json!(1)));
    assert!(report["error"].as_str().is_some_and(|error| error.contains("no such key")), "{report}");
    assert_eq!(ask(&refusing, &["--report", &file, "--on-error", "extractive", "--accept", "any"]).code, 0);
    let report = reported(&file).remove(0);
    assert_eq!((&report["status"], &report["provider"]), (&json!("compacted"), &json!("extractive")));
    assert!(report["error"].as_str().is_some_and(|error| error.contains("no such key")), "{report}");
    assert_eq!(ask(&refusing, &["--report", &file, "--on-error", "passthrough"]).code, 0);
    assert_eq!(reported(&file)[0]["status"], "unchanged");
    let untouched = with(&["--trigger", "messages:100", "--report", &file, "openai-chat/plain.json"]);
    assert_eq!(untouched.code, 0);
    let report = reported(&file).remove(0);
    assert_eq!((&report["status"], &report["provider"]), (&json!("unchanged"), &Value::Null));
    assert_eq!(report["tokens_after"], report["tokens"]);
}

/// Several conversations share a file, which is written whole or not at all.
#[test]
fn only_written_results_are_reported_as_done() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = path(folder.path(), "report.jsonl");
    let server = Server::start(vec![completion("Short.", "stop"), status(401, "no")]);
    let result = path(folder.path(), "result.jsonl");
    let arguments =
        ["--model", "openai:m", "--base-url", &server.url, "--keep", "messages:1", "--accept", "any", "-j1"];
    let output = ["--report", &file, "-o", &result, "openai-chat/conversations.jsonl"];
    assert_eq!(run(tcompact().args(arguments).args(output), b"").code, 4);
    assert!(!std::path::Path::new(&result).exists());
    let report = reported(&file);
    assert_eq!(report.len(), 2, "{report:?}");
    assert!(report.iter().all(|conversation| conversation["status"] == "failed"), "{report:?}");
    assert!(report[0]["error"].as_str().is_some_and(|error| error.starts_with("nothing was written: ")), "{report:?}");
}

#[test]
fn an_unwritable_report_is_found_before_any_request() {
    let server = Server::start(vec![completion("Short.", "stop")]);
    for (file, code, words) in [
        ("no/such/folder/report.jsonl", 1, "--report no/such/folder/report.jsonl cannot be written"),
        ("openai-chat/plain.json", 2, "is another file of this command"),
        ("-", 2, "--report -"),
    ] {
        assert_fails(&ask(&server, &["--report", file]), code, &[words]);
    }
    assert_eq!(with(&["-n", "--report", "report.jsonl", "openai-chat/plain.json"]).code, 2);
    assert!(server.requests().is_empty());
}

#[test]
fn a_second_run_asks_nobody() {
    let folder = tempfile::tempdir().expect("a folder");
    let cache = path(folder.path(), "deep/cache");
    let file = path(folder.path(), "report.jsonl");
    let server = Server::start(vec![completion("", "stop"), completion("Good notes.", "stop"), status(500, "")]);
    let cached = ["--cache", &cache, "--retries", "0"];
    let first = ask(&server, &cached);
    assert!(summary_of(&first).contains("Good notes."), "what was accepted is kept, not what was refused before");
    let second = ask(&server, &[&cached[..], &["--report", &file]].concat());
    assert_eq!(second.stdout, first.stdout);
    assert_eq!(server.requests().len(), 2);
    let report = reported(&file).remove(0);
    assert_eq!((&report["requests"], &report["cached"], &report["usage"]), (&json!(0), &json!(1), &Value::Null));
    // Everything that influences a summary is part of its cache key.
    for more in [["--summary-tokens", "99"], ["--base-url", "http://127.0.0.1:9/v1"], ["--trim-tokens", "30"]] {
        let arguments = ["--model", "openai:test-model", "--keep", "messages:2"];
        let mut command = tcompact();
        command.args(arguments).args(cached).args(more).arg("openai-chat/plain.json").env("OPENAI_API_KEY", KEY);
        if more[0] != "--base-url" {
            command.args(["--base-url", &server.url]);
        }
        assert_eq!(run(&mut command, b"").code, 4, "{more:?}");
    }
    let names: Vec<String> = fs::read_dir(&cache)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("a name"))
        .collect();
    assert!(names.len() == 1 && names[0].len() == 64 + ".json".len(), "{names:?}");
    let kept = fs::read_to_string(path(std::path::Path::new(&cache), &names[0])).expect("a file");
    assert!(!kept.contains(KEY), "{kept}");
}

#[test]
fn a_cached_summary_runs_its_command_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let (cache, runs) = (path(folder.path(), "cache"), path(folder.path(), "runs"));
    let command = format!("cat > /dev/null; echo x >> {runs}; echo Notes.");
    let arguments = ["--summarizer-cmd", &command, "--cache", &cache, "--keep", "messages:2", "openai-chat/plain.json"];
    let first = with(&arguments);
    assert!(summary_of(&first).contains("Notes."));
    assert_eq!(with(&arguments).stdout, first.stdout);
    assert_eq!(fs::read_to_string(&runs).expect("a file"), "x\n");
}

#[test]
fn an_unwritable_cache_is_found_before_any_request() {
    let server = Server::start(vec![completion("Short.", "stop")]);
    assert_fails(
        &ask(&server, &["--cache", "openai-chat/plain.json"]),
        1,
        &["--cache openai-chat/plain.json cannot be used"],
    );
    assert!(server.requests().is_empty());
    let arguments = ["-n", "--model", "openai:m", "--base-url", &server.url, "--cache", "openai-chat/plain.json"];
    assert_fails(&with(&[&arguments[..], &["openai-chat/plain.json"]].concat()), 1, &["cannot be used"]);
    assert!(server.requests().is_empty());
}

#[test]
fn half_a_file_in_the_cache_is_requested_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let cache = path(folder.path(), "cache");
    let server = Server::start(vec![completion("First.", "stop"), completion("Second.", "stop")]);
    assert!(summary_of(&ask(&server, &["--cache", &cache])).contains("First."));
    for entry in fs::read_dir(&cache).expect("a folder") {
        fs::write(entry.expect("an entry").path(), "{\"summary\":\"Fi").expect("written");
    }
    assert!(summary_of(&ask(&server, &["--cache", &cache])).contains("Second."));
}

/// The cache also stores that a history was too long for a model.
#[test]
fn a_second_run_asks_nobody_after_an_overflow_either() {
    let folder = tempfile::tempdir().expect("a folder");
    let cache = path(folder.path(), "cache");
    let too_long =
        || crate::server::Step::Answer(400, "", r#"{"error":{"code":"context_length_exceeded"}}"#.to_owned());
    let mut steps = vec![too_long(), too_long()];
    steps.extend((0..20).map(|part| completion(&at_length(&format!("Notes {part}.")), "stop")));
    let server = Server::start(steps);
    let arguments = ["--model", "openai:m", "--base-url", &server.url, "--keep", "messages:4", "--cache", &cache];
    let compact = || run(tcompact().args(arguments).arg("agent-session.json"), b"");
    let first = compact();
    assert_eq!(first.code, 0, "{first:?}");
    let asked = server.requests().len();
    assert!(asked > 3, "{asked}");
    assert_eq!(compact().stdout, first.stdout);
    assert_eq!(server.requests().len(), asked);
}

#[test]
fn a_report_is_written_as_conversations_are_done() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = path(folder.path(), "report.jsonl");
    let server = Server::start(vec![completion("Short.", "stop"), crate::server::Step::Silence]);
    let arguments =
        ["--model", "openai:m", "--base-url", &server.url, "--keep", "messages:1", "--accept", "any", "--jobs", "1"];
    let mut child = tcompact()
        .args(arguments)
        .args(["--report", &file, "openai-chat/conversations.jsonl"])
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("it starts");
    while server.requests().len() < 2 {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let report = reported(&file);
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    assert_eq!(report.len(), 1, "{report:?}");
    assert_eq!(report[0]["status"], "compacted");
}

#[test]
fn an_older_report_stays_where_nothing_was_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = path(folder.path(), "report.jsonl");
    fs::write(&file, "older\n").expect("written");
    assert_eq!(with(&["--report", &file, "no-such-file.json"]).code, 1);
    assert_eq!(fs::read_to_string(&file).expect("a file"), "older\n");
    let prompt = path(folder.path(), "prompt.txt");
    fs::write(&prompt, "{messages}").expect("written");
    let run = with(&["--prompt-file", &prompt, "--report", &prompt, "openai-chat/plain.json"]);
    assert_eq!(run.code, 2, "{run:?}");
    assert_eq!(fs::read_to_string(&prompt).expect("a file"), "{messages}");
}

#[test]
fn a_repair_is_reported_wherever_it_is_done() {
    let folder = tempfile::tempdir().expect("a folder");
    let (report, page, output) =
        (path(folder.path(), "r.jsonl"), path(folder.path(), "p.html"), path(folder.path(), "out.json"));
    let file = "openai-chat/breaches.json";
    for how in ["drop", "synthesize"] {
        let arguments = ["--repair", how, "-e", "-o", &output, "--report", &report, "--html", &page, file];
        let run = with(&arguments);
        assert_eq!(run.code, 0, "it is another text: {run:?}");
        let line = format!("breaches.json: 4 violations of its provider's rules repaired (--repair {how})");
        assert!(run.stderr.contains(&line), "{run:?}");
        let told: Value = serde_json::from_str(&fs::read_to_string(&report).expect("a report")).expect("JSON");
        assert_eq!(
            (&told["status"], &told["repaired"]),
            (&"compacted".into(), &json!({"violations": 4, "messages": 12}))
        );
        let told = fs::read_to_string(&page).expect("a page");
        assert!(told.contains("4 violations of the provider") && !told.contains("Unchanged"), "{told}");
        assert!(told.contains("Repaired. Nothing is summarized: "), "{told}");
    }
    // A run that writes nothing only says what would be repaired.
    for flags in [&["-n"][..], &["--diff"], &["--diff", "--html", &page]] {
        let run = with(&[&["--repair", "drop"][..], flags, &[file]].concat());
        assert_eq!(run.code, 0, "{run:?}");
        assert!(run.stderr.contains("4 violations of its provider's rules would be repaired"), "{run:?}");
        if flags[0] == "--diff" {
            assert!(run.stdout.contains("breaches.json, repaired\n") && run.stdout.contains("\n-["), "{run:?}");
        }
    }
    let told = fs::read_to_string(&page).expect("a page");
    assert!(told.contains("Would be repaired. Nothing is summarized: ") && !told.contains("Unchanged"), "{told}");
    // Quiet where there is nothing to repair.
    let run = with(&["--repair", "drop", "-e", "-o", &output, "--report", &report, "openai-chat/plain.json"]);
    assert_eq!(run.code, 3, "{run:?}");
    assert!(!run.stderr.contains("repaired"), "{run:?}");
    assert!(!fs::read_to_string(&report).expect("a report").contains("repaired"));
    // A state is given all of what was repaired.
    let run = with(&["--repair", "drop", "--emit", "update", file]);
    assert!(run.stdout.contains("__remove_all__"), "{run:?}");
}
