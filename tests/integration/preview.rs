//! A dry run that shows the summary: it and the real run share one request.

use std::fs;

use serde_json::Value;

use crate::program::{path, run, tcompact, with};
use crate::server::{Server, completion};
use crate::summary_requests::{KEY, ask, assert_fails, status, summary_of};

fn plan(stdout: &str) -> Value {
    serde_json::from_str(stdout).expect("a plan")
}

#[test]
fn the_real_run_uses_the_summary_that_was_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let cache = path(folder.path(), "cache");
    let server =
        Server::start(vec![completion("The hours\n\nwere \u{1b}[31mmended.", "stop"), completion("No.", "stop")]);
    let cached = ["--cache", &cache];
    let shown = ask(&server, &[&cached[..], &["-n"]].concat());
    assert_eq!((shown.code, shown.stdout.as_str()), (0, "5\n"));
    let head = "tcompact: openai-chat/plain.json: the summary that a real run with these flags uses:";
    assert_eq!(shown.stderr, format!("{head}\n\nThe hours\n\nwere [31mmended.\n\n"), "no terminal obeys it");
    let json = ask(&server, &[&cached[..], &["-n", "--json", "-q"]].concat());
    assert_eq!((json.code, json.stderr.as_str()), (0, ""));
    let summary = plan(&json.stdout)["summary"].as_str().expect("a summary").to_owned();
    assert_eq!(plan(&json.stdout)["economy"]["cost_usd"], 0.0, "it is paid for");
    let real = ask(&server, &cached);
    assert!(summary_of(&real).ends_with(&format!("<summary>\n{summary}\n</summary>")), "{real:?}");
    assert_eq!(server.requests().len(), 1);
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1, "nothing but the cache is written");
}

#[test]
fn a_dry_run_asks_only_with_a_named_model_and_cache() {
    let folder = tempfile::tempdir().expect("a folder");
    let (cache, config) = (path(folder.path(), "cache"), path(folder.path(), "config.toml"));
    let server = Server::start(vec![completion("Short.", "stop")]);
    let file = "openai-chat/plain.json";
    assert_eq!(ask(&server, &["-n"]).code, 0);
    assert_eq!(ask(&server, &["-n", "--json"]).stdout.matches("summary").count(), 0);
    fs::write(&config, format!("model = \"openai:m\"\nbase-url = {:?}\nkeep = \"messages:2\"", server.url))
        .expect("written");
    assert_eq!(with(&["-n", "--config", &config, "--cache", &cache, file]).stdout, "5\n");
    fs::write(&config, format!("cache = {cache:?}\nkeep = \"messages:2\"")).expect("written");
    assert_eq!(ask(&server, &["-n", "--config", &config]).code, 0);
    let by_environment = [("TCOMPACT_DRY_RUN", "true")];
    let mut command = tcompact();
    command.args(["-m", "openai:m", "--base-url", &server.url, "--cache", &cache, file]).envs(by_environment);
    assert_eq!(run(&mut command, b"").code, 0);
    // If nothing would be replaced, no request is sent.
    let nothing = ask(&server, &["-n", "--cache", &cache, "--trigger", "messages:90"]);
    assert_eq!(nothing.stdout, "0\n");
    assert!(nothing.stderr.contains("no trigger was reached"), "{nothing:?}");
    assert!(server.requests().is_empty());
}

#[test]
fn a_preview_fails_as_a_real_run_does() {
    let folder = tempfile::tempdir().expect("a folder");
    let cache = path(folder.path(), "cache");
    let cached = ["-n", "--cache", &cache, "--retries", "0"];
    let server = Server::start(vec![status(500, "")]);
    assert_fails(&ask(&server, &cached), 4, &["500"]);
    let empty = Server::start(vec![completion("", "stop")]);
    assert_fails(&ask(&empty, &cached), 5, &["empty"]);
    let instead = ask(&server, &[&cached[..], &["--on-error", "passthrough"]].concat());
    assert_eq!((instead.code, instead.stdout.as_str()), (0, "5\n"));
    let no_key = with(&["-n", "--cache", &cache, "-m", "openai:gpt-4o-mini", "openai-chat/plain.json"]);
    assert_fails(&no_key, 2, &["OPENAI_API_KEY"]);
    assert_eq!(with(&["-n", "-m", "openai:gpt-4o-mini", "openai-chat/plain.json"]).code, 0, "nobody is asked");
    let told = fs::read_dir(&cache).expect("a folder").count();
    assert_eq!(told, 0, "what failed is not kept, and no {KEY}");
}

#[test]
fn commands_the_embedded_summarizer_and_several_conversations_are_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let (cache, runs) = (path(folder.path(), "cache"), path(folder.path(), "runs"));
    let command = format!("cat > /dev/null; echo x >> {runs}; echo Notes.");
    let common =
        ["--summarizer-cmd", &command, "--cache", &cache, "--keep", "messages:2", "--ledger", "off", "--accept", "any"];
    let file = ["openai-chat/conversations.jsonl"];
    let shown = with(&[&["-n", "--json"], &common[..], &file].concat());
    let summaries: Vec<Value> = shown.stdout.lines().map(|line| plan(line)["summary"].clone()).collect();
    assert_eq!(summaries, ["Notes.".into(), "Notes.".into(), Value::Null, Value::Null], "{shown:?}");
    assert_eq!(shown.stderr.matches("Notes.").count(), 2);
    assert_eq!(with(&[&common[..], &file].concat()).code, 0);
    assert_eq!(fs::read_to_string(&runs).expect("a file"), "x\nx\n");
    let embedded =
        ["-m", "extractive", "--cache", &cache, "--keep", "messages:2", "--accept", "any", "openai-chat/plain.json"];
    let shown = plan(&with(&[&["-n", "--json"], &embedded[..]].concat()).stdout);
    let real = summary_of(&with(&embedded));
    assert!(real.contains(shown["summary"].as_str().expect("a summary")), "{real}");
}
