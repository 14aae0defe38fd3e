//! One conversation a line: lines in, lines out, in order, each as soon as it is finished.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::invalid_input::assert_fails;
use crate::program::{FIXTURES, path, piped, run, tcompact, with};
use crate::server::{Server, completion};
use crate::support::story;

const RULES: [&str; 6] = ["--model", "extractive", "--keep", "messages:2", "--accept", "any"];

/// A conversation on a line, identified by a number.
fn line(number: usize) -> String {
    format!("{}\n", json!({"id": number, "messages": story(number)}))
}

fn lines(numbers: std::ops::Range<usize>) -> String {
    numbers.map(line).collect()
}

#[test]
fn lines_come_out_in_order_each_compacted_by_itself() {
    let source = format!("\n{}\r\n{}", line(0).trim_end(), lines(1..400));
    for jobs in ["1", "2", "7"] {
        let run = piped(&[&RULES[..], &["--jobs", jobs]].concat(), &source);
        assert_eq!(run.code, 0, "{}", run.stderr);
        let mut told = run.stdout.lines();
        assert_eq!(told.next(), Some(""));
        for number in [0, 1, 200, 399] {
            let alone = piped(&RULES, &format!("{}\n", line(number).trim_end()));
            let at = run.stdout.lines().nth(number + 1).expect("a line");
            assert_eq!(at, alone.stdout.trim_end(), "{number}");
        }
        assert_eq!(run.stdout.lines().count(), 401);
    }
}

#[test]
fn a_line_is_written_before_the_next_one_comes() {
    let mut child = tcompact().args(RULES).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
    stdin.write_all(lines(0..2).as_bytes()).expect("written");
    for number in 0..5 {
        let mut told = String::new();
        stdout.read_line(&mut told).expect("read");
        assert!(told.starts_with(&format!("{{\"id\":{number},")), "{told}");
        stdin.write_all(line(number + 2).as_bytes()).expect("written");
    }
    drop(stdin);
    assert!(child.wait().expect("it ends").success());
}

#[test]
fn a_bad_line_stops_the_stream_with_its_number() {
    let source = format!("{}{{\"id\": 3,\n{}", lines(0..3), lines(4..6));
    let run = piped(&RULES, &source);
    assert_eq!(run.code, 7, "{run:?}");
    assert_eq!(run.stdout.lines().count(), 3);
    assert!(
        run.stderr.contains("standard input is not JSON: the object that begins at line 4 column 1 is not closed"),
        "{run:?}"
    );
    assert!(run.stderr.contains("what came before it is written"), "{run:?}");
    let told = piped(&[&RULES[..], &["--lines", "conversations"]].concat(), "{\"id\": 3,\n");
    assert_fails(&told, 1, &["line 1"]);
}

/// This holds for any number of workers, whichever is faster.
#[test]
fn of_several_bad_lines_the_first_stops_the_stream() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = path(folder.path(), "bad.jsonl");
    let filling = lines(0..100);
    let source = [filling.as_bytes(), b"\xc3\n", filling.as_bytes(), b"\xff\n\xff\n"].concat();
    fs::write(&file, source).expect("written");
    let told = |jobs: &str| {
        let run = with(&["-n", "--jobs", jobs, &file]);
        (run.code, run.stdout.lines().count(), run.stderr)
    };
    let alone = told("1");
    assert_eq!((alone.0, alone.1), (7, 100), "{alone:?}");
    assert!(alone.2.contains("line 101 column 1"), "{alone:?}");
    for _ in 0..20 {
        assert_eq!(told("4"), alone);
    }
}

#[test]
fn on_error_pass_copies_a_bad_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let report = path(folder.path(), "report.jsonl");
    let bad = "{\"id\": 3,\n";
    let source = format!("{}{bad}{}", lines(0..3), lines(4..6));
    let run = piped(&[&RULES[..], &["--on-error", "passthrough", "--report", &report]].concat(), &source);
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(run.stdout.split_inclusive('\n').nth(3), Some(bad));
    assert_eq!(run.stdout.lines().count(), 6);
    assert!(run.stderr.contains("line 4 column 1 is not closed; the line stays unchanged"), "{run:?}");
    let report = fs::read_to_string(&report).expect("a report");
    let statuses: Vec<Value> =
        report.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON")["status"].clone()).collect();
    assert_eq!(statuses, ["compacted", "compacted", "compacted", "failed", "compacted", "compacted"]);
}

#[test]
fn a_line_without_utf8_is_a_bad_line() {
    let mut source = lines(0..3).into_bytes();
    source.extend_from_slice(b"{\"id\":3,\"x\":\"\xff\"}\n");
    source.extend_from_slice(lines(4..6).as_bytes());
    let stopped = tcompact().args(RULES).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut stopped = stopped.expect("it starts");
    stopped.stdin.take().expect("a pipe").write_all(&source).expect("written");
    let stopped = stopped.wait_with_output().expect("it ends");
    assert_eq!(stopped.status.code(), Some(7));
    assert_eq!(stopped.stdout.split(|byte| *byte == b'\n').count(), 4);
    let said = String::from_utf8_lossy(&stopped.stderr);
    assert!(
        said.contains("it has bytes that are not UTF-8 at line 4 column 14; what came before it is written"),
        "{said}"
    );
    let through =
        tcompact().args(RULES).args(["--on-error", "passthrough"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut through = through.expect("it starts");
    through.stdin.take().expect("a pipe").write_all(&source).expect("written");
    let through = through.wait_with_output().expect("it ends");
    assert!(through.status.success());
    let told: Vec<&[u8]> = through.stdout.split(|byte| *byte == b'\n').collect();
    assert_eq!((told.len(), told[3]), (7, &b"{\"id\":3,\"x\":\"\xff\"}"[..]));
}

#[test]
fn a_closed_pipe_ends_a_stream_that_waits_for_lines() {
    let mut child = tcompact()
        .args(RULES)
        .args(["--jobs", "4", "--lines", "conversations"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    drop(child.stdout.take());
    // No further input arrives, nor the end of input.
    stdin.write_all(lines(0..1).as_bytes()).expect("written");
    assert!(child.wait().expect("it ends").success());
}

#[test]
fn many_calls_are_in_flight_and_their_lines_in_order() {
    let slow = crate::server::Step::Slow(std::time::Duration::from_millis(300), answer("Short."));
    let server = Server::start(vec![slow]);
    let arguments = ["--model", "openai:m", "--base-url", &server.url, "--keep", "messages:2", "--ledger", "off"];
    let began = std::time::Instant::now();
    let run = piped(&[&arguments[..], &["--jobs", "16"]].concat(), &lines(0..32));
    assert_eq!(run.code, 0, "{run:?}");
    // In sequence they would take the sum of their waits; two at once take half.
    assert!(began.elapsed().as_millis() < 32 * 300 / 2, "{:?}", began.elapsed());
    let ids: Vec<u64> = run
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON")["id"].as_u64().expect("an id"))
        .collect();
    assert_eq!(ids, (0..32).collect::<Vec<_>>());
}

fn answer(text: &str) -> String {
    match completion(text, "stop") {
        crate::server::Step::Answer(_, _, body) => body,
        _ => unreachable!("a completion is an answer"),
    }
}

#[test]
fn a_closed_pipe_ends_the_stream_quietly() {
    let mut child = tcompact()
        .args(RULES)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let writer = std::thread::spawn(move || {
        // Practically endless for the program.
        (0..1_000_000).try_for_each(|number| stdin.write_all(line(number).as_bytes())).is_err()
    });
    let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut first = String::new();
    stdout.read_line(&mut first).expect("read");
    drop(stdout);
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(output.stderr, b"");
    assert!(writer.join().expect("joined"), "it stops reading");
}

#[test]
fn a_file_of_conversations_is_written_whole_or_not_at_all() {
    let folder = tempfile::tempdir().expect("a folder");
    let (input, output) = (path(folder.path(), "in.jsonl"), path(folder.path(), "out.jsonl"));
    fs::write(&input, format!("{}[\n", lines(0..3))).expect("written");
    assert_eq!(with(&[&RULES[..], &["-o", &output, &input]].concat()).code, 1);
    assert!(!Path::new(&output).exists());
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1, "nothing is left behind");
    fs::write(&input, lines(0..300)).expect("written");
    assert_eq!(with(&[&RULES[..], &["-o", &output, &input]].concat()).code, 0);
    assert_eq!(fs::read_to_string(&output).expect("a file"), with(&[&RULES[..], &[&input]].concat()).stdout);
    let gz = path(folder.path(), "out.jsonl.gz");
    assert_eq!(with(&[&RULES[..], &["-o", &gz, &input]].concat()).code, 0);
    assert_eq!(with(&["--trigger", "messages:99", &gz]).stdout, fs::read_to_string(&output).expect("a file"));
}

#[test]
fn an_empty_stream_of_lines_is_valid() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = path(folder.path(), "out.jsonl");
    for none in ["", "\n", " \n\n"] {
        let told = piped(&["--lines", "conversations"], none);
        assert_eq!((told.code, told.stdout.as_str()), (0, none), "{told:?}");
        assert_eq!(piped(&["--lines", "conversations", "-o", &output], none).code, 0);
        assert_eq!(fs::read_to_string(&output).expect("a file"), none);
        assert_fails(&piped(&[], none), 1, &["is empty"]);
    }
}

#[test]
fn answers_in_a_log_of_requests_go_through() {
    let log = fs::read_to_string(Path::new(FIXTURES).join("openai-chat/request-log.jsonl")).expect("a fixture");
    let run = run(tcompact().args(["--trigger", "messages:999"]), log.repeat(3).as_bytes());
    assert_eq!((run.code, run.stdout), (0, log.repeat(3)));
}

#[test]
fn a_dry_run_passes_bad_lines_as_the_run_does() {
    let source = format!("{}{{\"id\": 3,\n{}", lines(0..3), lines(4..6));
    let rules = [&RULES[..], &["--on-error", "passthrough"]].concat();
    let run = piped(&rules, &source);
    assert_eq!((run.code, run.stdout.lines().count()), (0, 6), "{run:?}");
    let dry = piped(&[&rules[..], &["-n"]].concat(), &source);
    assert_eq!(dry.code, run.code, "{dry:?}");
    assert_eq!(dry.stdout, "-:1\t6\n-:2\t6\n-:3\t6\n-:5\t6\n-:6\t6\n", "{dry:?}");
    assert!(dry.stderr.contains("line 4") && !dry.stderr.contains("is written"), "{dry:?}");
    let stopped = piped(&[&RULES[..], &["-n"]].concat(), &source);
    assert_eq!(stopped.code, 7, "{stopped:?}");
    assert!(stopped.stderr.contains("what came before it is printed"), "{stopped:?}");
}

#[test]
fn a_document_on_several_lines_is_no_stream() {
    let run = piped(&["-n", "--lines", "conversations"], "[\n{\"role\":\"user\",\"content\":\"a\"}\n]\n");
    assert_fails(&run, 1, &["line 1 is not a whole conversation: leave out --lines"]);
}
