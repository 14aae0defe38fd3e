//! A batch whose server keeps failing: each conversation ends compacted, or unchanged and reported.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::batch::within;
use crate::program::{path, run, tcompact};
use crate::server::{Server, Step, completion};
use crate::summary_requests::KEY;
use crate::support::{story, tree};

/// The failures of a server; those with a text contain `words`.
pub(crate) fn faults(words: &str) -> Vec<(&'static str, Step)> {
    let said = json!({"error": {"message": words}}).to_string();
    let answer = |status: u16, headers: &'static str, body: &str| Step::Answer(status, headers, body.to_owned());
    let raw = |head: &str, body: &str| Step::Raw(format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n{body}"));
    let page = format!("<html><head><title>{words}</title></head><body>{words}</body></html>");
    let refusal = json!({"choices": [{"message": {"refusal": words, "content": null}, "finish_reason": "stop"}]});
    let too_long = json!({"error": {"code": "context_length_exceeded", "message": words}}).to_string();
    vec![
        ("429, come back at once", answer(429, "retry-after: 0\r\n", &said)),
        ("429", answer(429, "", &said)),
        ("500", answer(500, "retry-after: 0\r\n", &said)),
        ("503, come back at once", answer(503, "retry-after: 0\r\n", &said)),
        ("503", answer(503, "", &said)),
        ("reset", Step::Reset),
        ("no answer", Step::HangUp),
        ("closed in the middle", Step::CutShort),
        ("empty body", answer(200, "", "")),
        ("no JSON", answer(200, "", words)),
        ("another shape", answer(200, "", &json!({"choices": {"text": words}}).to_string())),
        ("an error under 200", answer(200, "", &said)),
        ("empty summary", completion("", "stop")),
        ("too long a summary", completion(&format!("{words} ").repeat(400), "stop")),
        ("cut off", completion(words, "length")),
        ("refusal", answer(200, "", &refusal.to_string())),
        ("page", answer(502, "content-type: text/html\r\n", &page)),
        ("page under 200", answer(200, "content-type: text/html\r\n", &page)),
        ("too small a length", raw("content-length: 12", &said)),
        ("no length that is a number", raw("content-length: -1", &said)),
        ("chunks that are none", raw("transfer-encoding: chunked", &format!("zz\r\n{words}\r\n"))),
        ("two lengths", raw("content-length: 5\r\ncontent-length: 900", &said)),
        ("two encodings", raw("transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\ncontent-length: 9", &said)),
        ("trickle", Step::Drip),
        ("redirect", answer(307, "location: http://127.0.0.2:9/v1\r\n", &said)),
        ("401", answer(401, "", &said)),
        ("404", answer(404, "", &said)),
        ("too long a request", answer(400, "", &too_long)),
    ]
}

/// The answers of a seed. A tenth of them fail, each in another way, and the last one repeats forever.
fn steps(number: usize) -> Vec<Step> {
    let faults = faults("Something went wrong.");
    let mut seed = 20_261_122_u64;
    let mut below = |bound: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(seed >> 33).expect("it fits") % bound
    };
    let mut steps = vec![completion("Good notes.", "stop"); number + 1];
    for which in 0..(number / 10).max(faults.len()) {
        steps[below(number)] = faults[which % faults.len()].1.clone();
    }
    steps
}

fn is_good(step: &Step) -> bool {
    matches!(step, Step::Answer(200, _, body) if body.contains("Good notes."))
}

fn conversation(number: usize) -> String {
    json!({"id": number, "messages": story(number)}).to_string()
}

fn reported(file: &Path) -> BTreeMap<String, String> {
    let text = fs::read_to_string(file).expect("a report");
    let mut found = BTreeMap::new();
    for line in text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON")) {
        let text = |key: &str| line[key].as_str().expect("a text").to_owned();
        assert!(found.insert(text("source"), text("status")).is_none(), "told twice: {line}");
    }
    found
}

/// Asserts that no request was repeated after its answer had arrived.
fn assert_nothing_is_paid_for_twice(server: &Server, steps: &[Step]) {
    let mut paid = BTreeMap::new();
    for (at, request) in server.requests().into_iter().enumerate() {
        if is_good(steps.get(at).or(steps.last()).expect("a step")) {
            *paid.entry(request.body).or_insert(0) += 1;
        }
    }
    let twice: Vec<_> = paid.iter().filter(|(_, times)| **times > 1).collect();
    assert!(twice.is_empty(), "{} of {}: {:?}", twice.len(), paid.len(), twice.first());
}

fn rules(server: &Server) -> Vec<&str> {
    let rules = ["--model", "openai:m", "--keep", "messages:2", "--ledger", "off", "--jobs", "64", "--timeout", "4"];
    rules.into_iter().chain(["--report", "report.jsonl", "--base-url", &server.url]).collect()
}

fn files_end_compacted_or_untouched(number: usize) {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    fs::create_dir(root.join("logs")).expect("made");
    for at in 0..number {
        fs::write(root.join(format!("logs/{at}.json")), conversation(at)).expect("written");
    }
    let before = tree(&root.join("logs"));
    let steps = steps(number);
    let server = Server::start(steps.clone());
    let arguments = [&rules(&server)[..], &["-O", "out", "logs"]].concat();
    let first = within(root, &arguments);
    assert_eq!(first.code, 7, "{first:?}");
    let report = reported(&root.join("report.jsonl"));
    assert_eq!(report.len(), number);
    let out = tree(&root.join("out"));
    for at in 0..number {
        let there = out.get(Path::new(&format!("{at}.json")));
        match report[&format!("logs/{at}.json")].as_str() {
            "compacted" => assert_is_compacted(there.expect("a result"), at),
            status => assert_eq!((status, there), ("failed", None), "{at}"),
        }
    }
    let failed = report.values().filter(|status| *status == "failed").count();
    assert!(failed > 0 && failed < number / 2, "{failed} of {number}");
    assert_eq!(tree(&root.join("logs")), before, "no input is touched");
    // Another run or two do what is left, and nothing else.
    let again = [&arguments[..], &["--resume"]].concat();
    let rounds = (0..9).find(|_| within(root, &again).code == 0);
    assert!(rounds.is_some(), "it never ends");
    let out = tree(&root.join("out"));
    assert_eq!(out.len(), number);
    (0..number).for_each(|at| assert_is_compacted(&out[Path::new(&format!("{at}.json"))], at));
    assert_nothing_is_paid_for_twice(&server, &steps);
}

fn assert_is_compacted(bytes: &[u8], number: usize) {
    let result: Value = serde_json::from_slice(bytes).expect("whole");
    let before: Value = serde_json::from_str(&conversation(number)).expect("JSON");
    let messages = result["messages"].as_array().expect("messages");
    assert_eq!(result["id"], number);
    assert_eq!(messages.len(), 3, "{result}");
    assert!(messages[0]["content"].as_str().expect("a text").contains("Good notes."), "{result}");
    assert_eq!(messages[1..], before["messages"].as_array().expect("messages")[6..]);
}

fn lines_end_compacted_or_untouched(number: usize) {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    let source: String = (0..number).map(|at| conversation(at) + "\n").collect();
    let steps = steps(number);
    let server = Server::start(steps.clone());
    let mut command = tcompact();
    command.current_dir(root).args(rules(&server)).args(["--on-error", "passthrough"]).env("OPENAI_API_KEY", KEY);
    let run = run(&mut command, source.as_bytes());
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(run.stdout.lines().count(), number);
    let report = reported(Path::new(&path(root, "report.jsonl")));
    assert_eq!(report.len(), number);
    let mut untouched = 0;
    for (at, line) in run.stdout.lines().enumerate() {
        match report[&format!("-:{}", at + 1)].as_str() {
            "compacted" => assert_is_compacted(line.as_bytes(), at),
            _ => {
                untouched += 1;
                assert_eq!(line, conversation(at));
            }
        }
    }
    assert!(untouched > 0 && untouched < number / 2, "{untouched} of {number}");
    assert_nothing_is_paid_for_twice(&server, &steps);
}

#[test]
fn files_end_compacted_or_untouched_and_none_twice() {
    files_end_compacted_or_untouched(120);
}

#[test]
fn lines_end_compacted_or_untouched_and_none_twice() {
    lines_end_compacted_or_untouched(120);
}

#[test]
#[ignore = "a minute; the same with fewer conversations is always run"]
fn a_thousand_files_end_compacted_or_untouched() {
    files_end_compacted_or_untouched(1_000);
}

#[test]
#[ignore = "a minute; the same with fewer conversations is always run"]
fn a_thousand_lines_end_compacted_or_untouched() {
    lines_end_compacted_or_untouched(1_000);
}
