//! Summaries from an endpoint, with good and bad answers.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::program::{FIXTURES, Run, path, piped, run, tcompact, with};
use crate::server::{Server, Step, completion};

pub(crate) const KEY: &str = "sk-test-7f3a9c";

/// Compacts a fixture with the server as the summarizer.
pub(crate) fn ask(server: &Server, more: &[&str]) -> Run {
    // The ledger is tested elsewhere.
    let arguments = [
        ["--model", "openai:test-model"],
        ["--base-url", &server.url],
        ["--context-window", "32000"],
        ["--keep", "messages:2"],
        ["--ledger", "off"],
    ];
    let arguments = arguments.concat();
    let run = run(tcompact().args(arguments).args(more).arg("openai-chat/plain.json").env("OPENAI_API_KEY", KEY), b"");
    assert!(!format!("{run:?}").contains(KEY), "the key is shown: {run:?}");
    run
}

pub(crate) fn assert_fails(run: &Run, code: i32, words: &[&str]) {
    assert_eq!((run.code, run.stdout.as_str()), (code, ""), "{run:?}");
    for word in words {
        assert!(run.stderr.contains(word), "{word:?} is missing: {run:?}");
    }
}

pub(crate) fn status(code: u16, body: &str) -> Step {
    // A wait of zero seconds keeps the tests fast; a unit test checks the program's own waits.
    Step::Answer(code, "retry-after: 0\r\n", body.to_owned())
}

pub(crate) fn summary_of(run: &Run) -> String {
    assert_eq!(run.code, 0, "{run:?}");
    let messages: Value = serde_json::from_str(&run.stdout).expect("messages");
    messages[1]["content"].as_str().expect("a summary").to_owned()
}

#[test]
fn a_good_answer_becomes_the_summary() {
    let server = Server::start(vec![completion("  The hours were mended.\n", "stop")]);
    let run = ask(&server, &["--summary-tokens", "77"]);
    assert_eq!(
        summary_of(&run),
        "Here is a summary of the conversation to date:\n\n<summary>\nThe hours were mended.\n</summary>"
    );
    assert_eq!(run.stderr, "");
    let requests = server.requests();
    assert_eq!(requests.len(), 1);
    assert!(requests[0].head.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{}", requests[0].head);
    assert!(requests[0].head.contains(&format!("authorization: Bearer {KEY}\r\n")));
    let body: Value = serde_json::from_str(&requests[0].body).expect("JSON");
    assert_eq!((&body["model"], &body["max_tokens"]), (&"test-model".into(), &77.into()));
    let prompt = body["messages"][0]["content"].as_str().expect("a prompt");
    assert!(prompt.contains("## Session intent") && prompt.contains("Never change the prices"), "{prompt}");
    assert!(!prompt.contains("garden shop's website"), "the pinned system message is not summarized");
    assert!(!prompt.contains("24 December, and"), "what is kept is not summarized");
}

#[test]
fn a_key_is_not_needed_on_ones_own_machine() {
    let server = Server::start(vec![completion("Short.", "stop")]);
    let run = with(&[
        "--model",
        "openai:m",
        "--base-url",
        &format!("{}/", server.url),
        "--keep",
        "messages:2",
        "--ledger",
        "off",
        "openai-chat/plain.json",
    ]);
    assert!(summary_of(&run).ends_with("\nShort.\n</summary>"));
    assert!(!server.requests()[0].head.to_lowercase().contains("authorization"));
}

#[test]
fn a_prompt_file_is_filled_in() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = path(folder.path(), "prompt.txt");
    fs::write(&file, "In {{one}} line:\n{messages}\nEnd.").expect("written");
    let server = Server::start(vec![completion("Short.", "stop")]);
    assert_eq!(ask(&server, &["--prompt-file", &file]).code, 0);
    let body: Value = serde_json::from_str(&server.requests()[0].body).expect("JSON");
    let prompt = body["messages"][0]["content"].as_str().expect("a prompt");
    assert!(prompt.starts_with("In {one} line:\n<message role=\"user\">\nThe opening hours"), "{prompt}");
    assert!(prompt.ends_with("</message>\nEnd."), "{prompt}");
}

#[test]
fn only_the_end_of_the_history_is_sent_where_it_is_trimmed() {
    let server = Server::start(vec![completion("Short.", "stop")]);
    for (tokens, sent, not_sent) in
        [("30", "prices stay as they are", "opening hours"), ("9", "ask for a change.", "prices stay")]
    {
        assert_eq!(ask(&server, &["--trim-tokens", tokens]).code, 0);
        let prompt = server.requests().last().expect("a request").body.clone();
        assert!(prompt.contains(sent), "{tokens}: {prompt}");
        assert!(!prompt.contains(not_sent), "{tokens}: {prompt}");
    }
}

#[test]
fn tokens_of_the_provider_are_reported() {
    let server = Server::start(vec![completion("Short.", "stop")]);
    assert!(ask(&server, &["--verbose"]).stderr.contains("the provider counts 100 tokens in and 10 out"));
}

#[test]
fn an_unwritable_output_is_found_before_any_request() {
    let server = Server::start(vec![completion("Short.", "stop")]);
    assert_fails(&ask(&server, &["-o", "no/such/folder/out.json"]), 1, &["out.json cannot be written"]);
    assert!(server.requests().is_empty());
}

#[test]
fn an_interrupt_ends_every_wait() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = path(folder.path(), "out.json");
    fs::write(&output, "before").expect("written");
    // One server never answers; the other makes the program wait before it retries.
    let waits = Step::Answer(429, "retry-after: 500\r\n", String::new());
    for step in [Step::Silence, waits] {
        let server = Server::start(vec![step]);
        let mut child = tcompact()
            .args(["--model", "openai:m", "--base-url", &server.url, "--keep", "messages:2", "-o", &output])
            .arg("openai-chat/plain.json")
            .spawn()
            .expect("it starts");
        while server.requests().is_empty() {
            std::thread::sleep(Duration::from_millis(10));
        }
        std::thread::sleep(Duration::from_millis(50));
        let interrupted = Instant::now();
        let kill = Command::new("sh").args(["-c", &format!("kill -INT {}", child.id())]).status();
        assert!(kill.expect("sh is there").success());
        assert_eq!(child.wait().expect("it ends").code(), Some(130));
        assert!(interrupted.elapsed() < Duration::from_secs(20));
        assert_eq!(fs::read_to_string(&output).expect("a file"), "before");
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1, "nothing else is left behind");
    }
}

#[test]
fn nohup_keeps_the_program_running() {
    let Step::Answer(_, _, body) = completion("At last.", "stop") else { unreachable!() };
    let server = Server::start(vec![Step::Slow(Duration::from_millis(600), body)]);
    let mut command = Command::new("nohup");
    command.args([
        env!("CARGO_BIN_EXE_tcompact"),
        "--model",
        "openai:m",
        "--base-url",
        &server.url,
        "--keep",
        "messages:2",
    ]);
    command.arg("openai-chat/plain.json").current_dir(FIXTURES).stdin(std::process::Stdio::null());
    let child = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::null()).spawn();
    let child = child.expect("nohup is there");
    while server.requests().is_empty() {
        std::thread::sleep(Duration::from_millis(10));
    }
    let kill = Command::new("sh").args(["-c", &format!("kill -HUP {}", child.id())]).status();
    assert!(kill.expect("sh is there").success());
    let output = child.wait_with_output().expect("it ends");
    assert!(String::from_utf8_lossy(&output.stdout).contains("At last."), "{output:?}");
}

#[test]
fn an_interrupt_ends_the_command_as_well() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = path(folder.path(), "pid");
    let script = format!("echo $$ > {file}; sleep 100");
    let mut child = tcompact()
        .args(["--keep", "messages:2", "--summarizer-cmd", &script, "openai-chat/plain.json"])
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("it starts");
    let pid = loop {
        match fs::read_to_string(&file).ok().and_then(|text| text.trim().parse::<u32>().ok()) {
            Some(pid) => break pid,
            None => std::thread::sleep(Duration::from_millis(10)),
        }
    };
    let kill = |arguments: &str| {
        let output = Command::new("sh").args(["-c", &format!("kill {arguments}")]).output();
        output.expect("sh is there").status.success()
    };
    assert!(kill(&format!("-INT {}", child.id())));
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    let gone = (0..200).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        // It no longer runs, but may remain as a zombie.
        let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        !kill(&format!("-0 {pid}")) || state.contains(" Z ")
    });
    assert!(gone, "the command still runs");
}

#[test]
fn empty_truncated_and_long_summaries_are_refused() {
    let long = "word ".repeat(400);
    for (step, words) in [
        (completion(" \n", "stop"), "the summary is empty"),
        (completion("Half of a", "length"), "cut off by its length limit"),
        (completion(&long, "stop"), "not smaller than what it replaces"),
    ] {
        let server = Server::start(vec![step.clone()]);
        assert_fails(&ask(&server, &[]), 5, &[words]);
        let taken = ask(&server, &["--accept", "any"]);
        assert_eq!(taken.code, 0, "{taken:?}");
    }
}

#[test]
fn on_error_decides_what_replaces_the_summary() {
    let server = Server::start(vec![status(401, "{\"error\":{\"message\":\"no\"}}")]);
    let before = fs::read_to_string(format!("{FIXTURES}/openai-chat/plain.json")).expect("a fixture");
    let passed = ask(&server, &["--on-error", "passthrough"]);
    assert_eq!((passed.code, passed.stdout.as_str()), (0, before.as_str()));
    assert!(passed.stderr.contains("answered 401") && passed.stderr.contains("unchanged"), "{}", passed.stderr);
    let embedded = ask(&server, &["--on-error", "extractive", "--accept", "any"]);
    assert!(summary_of(&embedded).contains("## The user, in order"), "{embedded:?}");
    let error = ask(&server, &["--on-error", "embed"]);
    assert!(summary_of(&error).contains("Error generating summary: http://127.0.0.1"), "{error:?}");
    let refusing = Server::start(vec![completion("", "stop")]);
    let short = ask(&refusing, &["--on-error", "extractive", "--summary-tokens", "90"]);
    assert!(summary_of(&short).contains("## The user, in order"), "{short:?}");
    assert_eq!(ask(&server, &["--on-error", "passthrough", "--exit-status"]).code, 3);
}

#[test]
fn no_cut_no_request() {
    let server = Server::start(vec![completion("Short.", "stop")]);
    assert_eq!(ask(&server, &["--dry-run"]).stdout, "5\n");
    assert_eq!(ask(&server, &["--trigger", "messages:100"]).code, 0);
    let small = r#"[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]"#;
    let run = piped(&["--model", "openai:m", "--base-url", &server.url, "--keep", "messages:1"], small);
    assert_eq!((run.code, run.stdout.as_str()), (0, small), "too small for any summary to be smaller");
    assert!(server.requests().is_empty());
}

#[test]
fn a_command_can_be_the_summarizer() {
    let with_command = |command: &str| {
        with(&["--keep", "messages:2", "--ledger", "off", "--summarizer-cmd", command, "openai-chat/plain.json"])
    };
    let run = with_command("grep -c 'role=' | sed 's/$/ messages/'");
    assert!(summary_of(&run).ends_with("\n4 messages\n</summary>"), "{run:?}");
    assert_fails(&with_command("echo 'no luck' >&2; exit 3"), 4, &["exit status: 3", "no luck"]);
    assert_fails(&with_command("true"), 5, &["the summary is empty"]);
    let slow = ["--timeout", "0.2", "--summarizer-cmd", "sleep 30", "--keep", "messages:2", "openai-chat/plain.json"];
    assert_fails(&with(&slow), 4, &["`sleep 30` took longer than --timeout 0.2"]);
}
