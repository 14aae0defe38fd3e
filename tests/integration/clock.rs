//! A clock that jumps, before 1970 and after the year 9999, while a run sends requests, waits, archives and resumes.

#![cfg(target_os = "linux")]
#![allow(clippy::print_stdout, reason = "what could not be tried here is said")]

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::batch::logs;
use crate::left_out::left_out;
use crate::program::{Run, run, tcompact};
use crate::server::{Server, Step, at_length, completion};
use crate::support::tree;

/// Replaces the system clock: each read of the wall time is in another century. Monotonic time is unaffected.
const JUMPING: &str = "
#define _GNU_SOURCE
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static const long long AT[] = {-86400, 1789000000, 0, 253402300800LL, 1, -62135596800LL, 4102444800LL};
int clock_gettime(clockid_t clock, struct timespec *time) {
  static atomic_int looks;
  int code = syscall(SYS_clock_gettime, clock, time);
  if (clock == CLOCK_REALTIME && code == 0) time->tv_sec = AT[atomic_fetch_add(&looks, 1) % 7];
  return code;
}
";

/// Builds the library with the jumping clock, if there is a C compiler.
fn jumping(folder: &Path) -> Option<String> {
    let library = folder.join("jumping.so");
    fs::write(folder.join("jumping.c"), JUMPING).expect("written");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(folder.join("jumping.c"));
    let made = compiler.status().is_ok_and(|status| status.success());
    made.then(|| library.to_str().expect("a UTF-8 path").to_owned())
}

#[test]
fn a_clock_that_jumps_changes_no_result() {
    let outside = tempfile::tempdir().expect("a folder");
    let Some(library) = jumping(outside.path()) else {
        return left_out("cc");
    };
    let (steady, jumped) = (logs(), logs());
    let rules = ["--keep", "messages:4", "--accept", "any", "--report", "report.jsonl"];
    let within = |folder: &Path, library: &str, more: &[&str]| -> Run {
        let mut command = tcompact();
        command.current_dir(folder).env("LD_PRELOAD", library).env("OPENAI_API_KEY", "k");
        run(command.args(more), b"")
    };
    // One second by the server's clock, whatever the local one says.
    let dates = "date: Thu, 10 Sep 2026 00:26:40 GMT\r\nretry-after: Thu, 10 Sep 2026 00:26:41 GMT\r\n";
    let busy = Step::Answer(429, dates, "busy".to_owned());
    let asking = |folder: &Path, library: &str, server: &Server, more: &[&str]| {
        let model = ["--model", "openai:m", "--base-url", &server.url, "--retries", "9", "--jobs", "2"];
        within(folder, library, &[&rules[..], &model, more].concat())
    };
    let server = || Server::start(vec![busy.clone(), completion(&at_length("Notes of a day."), "stop")]);
    let (one, other) = (server(), server());
    let batch = ["-O", "out", "--archive", "cut.jsonl", "logs"];
    let first = asking(steady.path(), "", &one, &batch);
    assert_eq!(first.code, 0, "{first:?}");
    let second = asking(jumped.path(), &library, &other, &batch);
    assert_eq!(second.code, 0, "{second:?}");
    let written = |folder: &Path| tree(&folder.join("out"));
    assert_eq!(written(steady.path()), written(jumped.path()));
    let asked = other.requests().len();
    assert!(asked > 1, "{asked}");

    let records = fs::read_to_string(jumped.path().join("cut.jsonl")).expect("an archive");
    for record in records.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON")) {
        let time = record["summarized_at"].as_str().expect("a time");
        assert!(("1970".."9999-99").contains(&time), "{time}");
    }
    let odd = |record: &str| {
        ["\"summarized_at\":\"1970", "\"summarized_at\":\"9999"].iter().any(|year| record.contains(year))
    };
    assert!(records.lines().any(odd), "the clock jumped: {records}");
    let back = within(jumped.path(), &library, &["restore", "cut.jsonl", "out/a.json"]);
    assert_eq!(back.stdout, fs::read_to_string(jumped.path().join("logs/a.json")).expect("a file"), "{}", back.stderr);

    let again = asking(jumped.path(), &library, &other, &[&batch[..], &["--resume"]].concat());
    assert_eq!((again.code, other.requests().len()), (0, asked), "{again:?}");
    let in_place = within(jumped.path(), &library, &["--keep", "messages:4", "-i", "logs"]);
    assert_eq!(in_place.code, 0, "{in_place:?}");
}
