//! A batch stops asking a useless server, and sends fewer requests at once to a server in trouble.

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::path::Path;

use serde_json::{Value, json};

use crate::batch::within;
use crate::program::Run;
use crate::server::{Server, Step, at_length, completion};
use crate::support::{story, tree, turns};

const FILES: usize = 60;

/// Creates a folder of conversations.
fn logs() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("logs")).expect("made");
    for at in 0..FILES {
        fs::write(folder.path().join(format!("logs/{at}.json")), conversation(at)).expect("written");
    }
    folder
}

fn conversation(at: usize) -> String {
    json!({"messages": story(at)}).to_string()
}

fn compacted(folder: &Path, url: &str, more: &[&str]) -> Run {
    let rules = ["--model", "openai:m", "--base-url", url, "--keep", "messages:2", "--ledger", "off"];
    within(folder, &[&rules[..], &["--accept", "any", "--report", "report.jsonl"], more].concat())
}

/// How many conversations have each status, and how many requests were sent.
fn reported(folder: &Path) -> (BTreeMap<String, usize>, u64) {
    let text = fs::read_to_string(folder.join("report.jsonl")).expect("a report");
    let mut statuses = BTreeMap::new();
    let mut requests = 0;
    for line in text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON")) {
        *statuses.entry(line["status"].as_str().expect("a status").to_owned()).or_insert(0) += 1;
        requests += line["requests"].as_u64().unwrap_or(0);
    }
    (statuses, requests)
}

fn nobody_there() -> String {
    let port = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port");
    format!("http://{port}/v1")
}

#[test]
fn a_run_stops_asking_after_a_permanent_error() {
    let error = |status: u16, code: &str| {
        Step::Answer(status, "", json!({"error": {"code": code, "message": "No."}}).to_string())
    };
    for (status, code) in [(401, ""), (403, ""), (404, ""), (402, ""), (429, "insufficient_quota")] {
        let logs = logs();
        let folder = logs.path();
        let before = tree(&folder.join("logs"));
        let mut steps = vec![error(status, code); 8];
        steps.push(completion("Good notes.", "stop"));
        let server = Server::start(steps);
        let run = compacted(folder, &server.url, &["-j", "1", "-O", "out", "logs"]);
        assert_eq!(run.code, 7, "{run:?}");
        assert_eq!(server.requests().len(), 8, "{status}");
        assert_eq!(run.stderr.matches("8 requests in a row failed").count(), 1, "{run:?}");
        assert_eq!(run.stderr.matches(" answered ").count(), 9, "each failure and the reason to stop: {run:?}");
        assert_eq!(reported(folder), ([("failed".to_owned(), FILES)].into(), 8), "{status}");
        assert!(fs::read_to_string(folder.join("report.jsonl")).expect("a report").contains("no request was sent"));
        assert_eq!(tree(&folder.join("logs")), before);
        let again = compacted(folder, &server.url, &["-j", "1", "--resume", "-O", "out", "logs"]);
        assert_eq!(again.code, 0, "{again:?}");
        assert_eq!(server.requests().len(), 8 + FILES, "{status}");
        assert_eq!(reported(folder).0, [("compacted".to_owned(), FILES)].into());
    }
}

#[test]
fn an_unreachable_server_gets_eight_requests_and_those_under_way() {
    let logs = logs();
    for (jobs, retries, most) in [("1", "0", 8), ("8", "0", 15), ("8", "3", 15), ("2", "3", 9)] {
        let more = ["--retries", retries, "-j", jobs, "-O", "out", "logs"];
        let run = compacted(logs.path(), &nobody_there(), &more);
        assert_eq!(run.code, 7, "{run:?}");
        let (statuses, requests) = reported(logs.path());
        assert_eq!(statuses, [("failed".to_owned(), FILES)].into());
        assert!((8..=most).contains(&requests), "{requests}");
        assert!(run.stderr.lines().count() < 20, "{run:?}");
        fs::remove_dir_all(logs.path().join("out")).expect("removed");
    }
}

#[test]
fn each_part_of_a_history_counts_and_a_later_run_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("logs")).expect("made");
    let long = |at: usize| {
        let text = |turn| format!("Conversation {at}, turn {turn}: {}", "word ".repeat(400));
        json!({"messages": turns(0..40, text)}).to_string()
    };
    for at in 0..12 {
        fs::write(folder.path().join(format!("logs/{at}.json")), long(at)).expect("written");
    }
    // The first parts are answered; then the key becomes invalid.
    let mut steps = vec![completion(&at_length("Notes."), "stop"); 2];
    steps.extend(vec![Step::Answer(401, "", json!({"error": "No."}).to_string()); 8]);
    steps.push(completion(&at_length("Notes."), "stop"));
    let server = Server::start(steps);
    let more = ["--context-window", "8000", "-j", "1", "-O", "out", "logs"];
    let run = compacted(folder.path(), &server.url, &more);
    assert_eq!((run.code, server.requests().len()), (7, 10), "{run:?}");
    let again = compacted(folder.path(), &server.url, &[&more[..], &["--resume"]].concat());
    assert_eq!(again.code, 0, "{again:?}");
    assert_eq!(reported(folder.path()).0, [("compacted".to_owned(), 12)].into());
}

#[test]
fn conversations_without_a_request_follow_on_error() {
    let dead = nobody_there();
    for (on_error, status, code) in
        [("extractive", "compacted", 0), ("passthrough", "unchanged", 0), ("embed", "compacted", 0)]
    {
        let logs = logs();
        let more = ["-j", "8", "--retries", "0", "--on-error", on_error, "-O", "out", "logs"];
        let run = compacted(logs.path(), &dead, &more);
        let (statuses, requests) = reported(logs.path());
        assert_eq!((run.code, statuses), (code, [(status.to_owned(), FILES)].into()), "{run:?}");
        assert!(requests < 20 && run.stderr.lines().count() < 25, "{requests}: {run:?}");
    }
    // The same for a stream.
    let folder = tempfile::tempdir().expect("a folder");
    let lines: String = (0..FILES).map(|at| conversation(at) + "\n").collect();
    fs::write(folder.path().join("all.jsonl"), &lines).expect("written");
    // Eight requests fail in a row, and three more are sent by then.
    let more = ["-j", "4", "--retries", "0", "--on-error", "passthrough", "all.jsonl", "-o", "out.jsonl"];
    let run = compacted(folder.path(), &dead, &more);
    assert_eq!(fs::read_to_string(folder.path().join("out.jsonl")).expect("a file"), lines, "{run:?}");
    assert!(reported(folder.path()).1 < 12, "{run:?}");
}

#[test]
fn a_success_resets_the_count_of_failures() {
    let logs = logs();
    let unauthorized = Step::Answer(401, "", json!({"error": "No."}).to_string());
    let mut steps = Vec::new();
    for _ in 0..FILES / 8 + 1 {
        steps.extend(vec![unauthorized.clone(); 7]);
        steps.push(completion("Good notes.", "stop"));
    }
    let server = Server::start(steps);
    let run = compacted(logs.path(), &server.url, &["-j", "1", "-O", "out", "logs"]);
    assert_eq!((run.code, server.requests().len()), (7, FILES), "{run:?}");
}

#[test]
fn a_server_in_trouble_gets_fewer_requests_at_once() {
    for status in [500, 503, 429] {
        let logs = logs();
        let trouble = Step::Answer(status, "retry-after: 0\r\n", json!({"error": "Busy."}).to_string());
        let steps =
            (0..FILES * 3).map(|at| if at % 2 == 0 { trouble.clone() } else { completion("Good notes.", "stop") });
        let server = Server::start(steps.collect());
        let run = compacted(logs.path(), &server.url, &["-j", "8", "--retries", "20", "-O", "out", "logs"]);
        assert_eq!(run.code, 0, "{run:?}");
        assert_eq!(reported(logs.path()).0, [("compacted".to_owned(), FILES)].into());
        assert!(run.stderr.contains("at most 1 request at once until the server answers again"), "{run:?}");
    }
}

/// The names in a folder, including hidden files.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<String> = entries.map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_stream_into_a_file_resumes() {
    const LINES: usize = 12;
    let lines: String = (0..LINES).map(|at| conversation(at) + "\n").collect();
    let whole = {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("all.jsonl"), &lines).expect("written");
        let server = Server::start(vec![completion("Good notes.", "stop")]);
        let run = compacted(folder.path(), &server.url, &["-j", "1", "all.jsonl", "-o", "out.jsonl"]);
        assert_eq!(run.code, 0, "{run:?}");
        assert_eq!(names(folder.path()), ["all.jsonl", "out.jsonl", "report.jsonl"], "nothing waits any longer");
        fs::read(folder.path().join("out.jsonl")).expect("a file")
    };
    for broken_off in [0, 1, 5, LINES - 1] {
        for resume in [&["--resume"][..], &[]] {
            let folder = tempfile::tempdir().expect("a folder");
            let root = folder.path();
            fs::write(root.join("all.jsonl"), &lines).expect("written");
            let mut steps = vec![completion("Good notes.", "stop"); broken_off];
            steps.push(Step::Answer(401, "", json!({"error": "No."}).to_string()));
            steps.push(completion("Good notes.", "stop"));
            let server = Server::start(steps);
            let more = ["-j", "1", "all.jsonl", "-o", "out.jsonl"];
            let run = compacted(root, &server.url, &more);
            assert_eq!(run.code, 4, "{run:?}");
            let waiting: &[&str] = if broken_off == 0 { &[] } else { &[".tcompact"] };
            assert_eq!(names(root), [waiting, &["all.jsonl", "report.jsonl"]].concat(), "no result is half there");
            let again = compacted(root, &server.url, &[&more[..], resume].concat());
            assert_eq!(again.code, 0, "{again:?}");
            assert_eq!(server.requests().len(), LINES + 1, "none is asked for twice");
            assert_eq!(fs::read(root.join("out.jsonl")).expect("a file"), whole);
            assert_eq!(names(root), ["all.jsonl", "out.jsonl", "report.jsonl"]);
        }
    }
}

#[test]
fn stored_summaries_are_not_used_for_another_input() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    let lines = |word: &str| (0..6).map(|at| conversation(at).replace("story", word) + "\n").collect::<String>();
    fs::write(root.join("all.jsonl"), lines("story")).expect("written");
    let mut steps = vec![completion("Good notes.", "stop"); 3];
    steps.push(Step::Answer(401, "", json!({"error": "No."}).to_string()));
    steps.push(completion("Good notes.", "stop"));
    let server = Server::start(steps);
    let more = ["-j", "1", "all.jsonl", "-o", "out.jsonl"];
    assert_eq!(compacted(root, &server.url, &more).code, 4);
    fs::write(root.join("all.jsonl"), lines("tale")).expect("written");
    let again = compacted(root, &server.url, &[&more[..], &["--resume"]].concat());
    assert_eq!((again.code, server.requests().len()), (0, 4 + 6), "{again:?}");
    assert!(fs::read_to_string(root.join("out.jsonl")).expect("a file").contains("tale"));
}

#[test]
fn free_summaries_and_runs_into_devices_are_not_stored() {
    let folder = tempfile::tempdir().expect("a folder");
    let lines: String = (0..6).map(|at| conversation(at) + "\n").collect();
    fs::write(folder.path().join("all.jsonl"), lines).expect("written");
    let embedded = ["--keep", "messages:2", "-q", "all.jsonl", "-o", "out.jsonl"];
    assert_eq!(within(folder.path(), &embedded).code, 0);
    assert_eq!(names(folder.path()), ["all.jsonl", "out.jsonl"]);
    let server = Server::start(vec![completion("Good notes.", "stop")]);
    let run = compacted(folder.path(), &server.url, &["all.jsonl", "-o", "/dev/null"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(!Path::new("/dev/.tcompact").exists());
    // A single conversation is written at once, or not at all.
    fs::write(folder.path().join("one.json"), conversation(1)).expect("written");
    for (step, code) in [(completion("Good notes.", "stop"), 0), (Step::Answer(401, "", "{}".to_owned()), 4)] {
        let server = Server::start(vec![step]);
        let run = compacted(folder.path(), &server.url, &["one.json", "-o", "made.json"]);
        assert_eq!(run.code, code, "{run:?}");
        assert!(!names(folder.path()).contains(&".tcompact".to_owned()));
    }
}

#[cfg(unix)]
#[test]
fn summaries_are_not_stored_through_a_link() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    fs::create_dir(root.join("theirs")).expect("made");
    std::os::unix::fs::symlink("theirs", root.join(".tcompact")).expect("a link");
    fs::write(root.join("all.jsonl"), conversation(1) + "\n").expect("written");
    let server = Server::start(vec![completion("Good notes.", "stop")]);
    let run = compacted(root, &server.url, &["all.jsonl", "-o", "out.jsonl"]);
    assert_eq!((run.code, server.requests().len()), (1, 0), "{run:?}");
    assert!(run.stderr.contains(".tcompact is a link, and tcompact does not write through links"), "{run:?}");
    assert!(names(&root.join("theirs")).is_empty());
}
