//! The law that work is linear: twice the input takes at most 2.5 times the steps.
//!
//! A step is an instruction of the processor, as `valgrind --tool=cachegrind` counts them. A clock would measure the
//! machine, and counters in our own code would count what somebody thought of: a scan of the whole file for each message
//! is one call of the standard library, without an allocation. Valgrind is not a part of a toolchain, so this says what it
//! did not check where that is missing.

#![allow(clippy::print_stdout, reason = "without a harness, it prints what it found itself")]

use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fs, thread};

use serde_json::{Value, json};

/// Things in the smaller input. The larger one has twice as many.
const COUNT: usize = 1_000;
/// The most steps for twice the input.
const MOST: f64 = 2.5;

/// What is repeated, and the flags with which it is compacted.
struct Case {
    name: &'static str,
    input: fn(usize) -> String,
    flags: &'static [&'static [&'static str]],
}

const KEEP: &[&str] = &["--keep", "messages:2"];
const DRY_RUN: &[&str] = &["--keep", "messages:2", "--dry-run"];
const FIT: &[&str] = &["--fit", "tokens:3000", "--prune", "all"];
const THINKING: &[&str] = &["--keep", "messages:2", "-m", "none", "--prune", "thinking"];
const RESULTS: &[&str] = &[
    "--keep",
    "messages:2",
    "-m",
    "none",
    "--prune",
    "results",
    "--prune",
    "reads",
    "--prune",
    "arguments",
    "--prune",
    "cap:50",
];
const ALL: &[&str] = &["--keep", "messages:2", "-m", "none", "--prune", "all"];
/// A limit that can never be met.
const UNMET: &[&str] = &["--fit", "tokens:30", "-m", "none"];
const CHECK: &[&str] = &["check"];
const REPAIR: &[&str] = &["--keep", "messages:2", "--repair", "drop"];

const CASES: [Case; 37] = [
    Case {
        name: "messages",
        input: |count| chat(count, &|at| said(at, &format!("Line {at} is 3.{at}."))),
        flags: &[KEEP, DRY_RUN, FIT, CHECK],
    },
    Case { name: "equal messages", input: |count| chat(count, &|at| said(at, "go on")), flags: &[KEEP, FIT] },
    Case {
        name: "long lines",
        input: |count| chat(3, &|at| said(at, &"Use 4 of the files, ".repeat(10 * count))),
        flags: &[KEEP, CHECK],
    },
    Case { name: "many lines", input: |count| chat(3, &|at| said(at, &line(at).repeat(2 * count))), flags: &[KEEP] },
    Case { name: "long messages", input: |count| chat(count, &|at| said(at, &line(at).repeat(5))), flags: &[KEEP] },
    Case {
        name: "calls",
        input: |count| chat(count, &|at| call(at, &format!("cat a{at}.rs"), "ok")),
        flags: &[KEEP, FIT, RESULTS, CHECK, UNMET],
    },
    Case {
        name: "equal calls",
        input: |count| chat(count, &|at| call(at, "cat a.rs", "the same text of a file")),
        flags: &[KEEP, RESULTS],
    },
    Case {
        name: "calls without results",
        input: |count| chat(count, &|at| call(at, "ls", "")[..1].to_vec()),
        flags: &[CHECK, REPAIR],
    },
    Case {
        name: "commands in a call",
        input: |count| {
            chat(1, &|at| call(at, &(0..4 * count).map(|at| format!("rm a{at}; ")).collect::<String>(), "ok"))
        },
        flags: &[KEEP],
    },
    Case {
        name: "files of a patch",
        input: |count| {
            let files: String = (0..count).map(|at| format!("*** Delete File: a{at}.rs\n")).collect();
            let patch = format!("apply_patch <<'EOF'\n*** Begin Patch\n{files}*** End Patch\nEOF");
            chat(1, &|at| call(at, &patch, "ok"))
        },
        flags: &[KEEP],
    },
    Case { name: "rows", input: |count| chat(1, &|at| call(at, "ls", &rows(count, 4))), flags: &[KEEP] },
    Case { name: "columns", input: |count| chat(1, &|at| call(at, "ls", &rows(8, count / 3))), flags: &[KEEP] },
    Case {
        name: "objects in lists",
        input: |count| {
            chat(1, &|at| {
                call(
                    at,
                    "ls",
                    &json!({"a": (0..count).map(|at| json!({"b": [{"c": at}]})).collect::<Vec<_>>()}).to_string(),
                )
            })
        },
        flags: &[KEEP],
    },
    Case {
        name: "emptied messages",
        input: |count| chat(2 * count, &|at| thought(at, None)),
        flags: &[KEEP, THINKING],
    },
    Case { name: "thinking", input: |count| chat(count, &|at| thought(at, Some("Done."))), flags: &[THINKING, FIT] },
    Case { name: "a session", input: session, flags: &[KEEP, DRY_RUN, FIT] },
    Case { name: "background tasks", input: background_tasks, flags: &[KEEP] },
    Case {
        name: "results in a message",
        input: |count| {
            let call = |at| json!({"type": "tool_use", "id": format!("c{at}"), "name": "Bash", "input": {"command": format!("cat {at}")}});
            let result = |at: usize| json!({"type": "tool_result", "tool_use_id": format!("c{at}"), "content": format!("x{at} ").repeat(20)});
            chat(1, &|_| [parts("assistant", (0..count).map(call)), parts("user", (0..count).map(result))].concat())
        },
        flags: &[KEEP, ALL, FIT, UNMET],
    },
    Case {
        name: "pictures in a message",
        input: |count| chat(1, &|_| parts("user", (0..count).map(|_| picture()))),
        flags: &[KEEP, ALL, FIT, UNMET],
    },
    Case {
        name: "pictures in a result",
        input: |count| {
            let call = json!({"type": "tool_use", "id": "c", "name": "Read", "input": {"file_path": "a.png"}});
            let pictures: Vec<_> = (0..count).map(|_| picture()).collect();
            let result = json!({"type": "tool_result", "tool_use_id": "c", "content": pictures});
            chat(1, &|_| [parts("assistant", [call.clone()]), parts("user", [result.clone()])].concat())
        },
        flags: &[ALL, FIT],
    },
    Case {
        name: "data in texts",
        input: |count| chat(count, &|at| said(at, &format!("Look {at}: {} and keep the rule.", data_url(60)))),
        flags: &[KEEP, ALL, FIT],
    },
    Case {
        name: "data in a result",
        input: |count| {
            let output: String = (0..count).map(|at| format!("{at}: {}\n", data_url(400))).collect();
            chat(1, &|at| call(at, "cat a.html", &output))
        },
        flags: &[KEEP, ALL, RESULTS],
    },
    Case {
        name: "Base64 that is none",
        input: |count| chat(1, &|at| call(at, "cat a", &format!("{} ", "iVBORw0KGg".repeat(60)).repeat(count))),
        flags: &[KEEP, ALL],
    },
    Case {
        name: "long lines of digits",
        input: |count| {
            chat(1, &|at| call(at, "sha512sum *", &format!("{}\n", "0123456789abcdef".repeat(8)).repeat(4 * count)))
        },
        flags: &[KEEP, ALL, RESULTS],
    },
    Case {
        name: "headers that lie",
        input: |count| {
            // So many markers, or an edge of 2^31, before a size that never comes.
            let jpeg = base64(&[b"\xff\xd8\xff\xe0\0\x02".as_slice(), &b"\xff\xe0\0\x02".repeat(count)].concat());
            let png = base64(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\x80\0\0\0\x80\0\0\0\x08\x06\0\0\0");
            let urls = [format!("data:image/jpeg;base64,{jpeg}"), format!("data:image/png;base64,{}", png.repeat(2))];
            let picture = |at: usize| json!({"type": "image_url", "image_url": {"url": urls[usize::from(at > 0)]}});
            chat(1, &|_| parts("user", (0..count).map(picture)))
        },
        flags: &[KEEP, ALL, &["count", "--for", "claude-sonnet-4-5"]],
    },
    Case {
        name: "media in a value",
        input: |count| {
            let call = json!({"type": "tool_use", "id": "c", "name": "look", "input": {}});
            let resource = json!({"uri": "a://b", "mimeType": "image/png", "blob": base64(&[7; 90])});
            let values: Vec<_> = (0..count).map(|_| json!({"type": "resource", "resource": resource})).collect();
            let result = json!({"type": "tool_result", "tool_use_id": "c", "content": values});
            chat(1, &|_| [parts("assistant", [call.clone()]), parts("user", [result.clone()])].concat())
        },
        flags: &[KEEP, ALL, FIT],
    },
    Case {
        name: "a picture deep inside",
        input: |count| {
            let deep = count / 4;
            let (open, close) = ("{\"type\":\"document\",\"source\":{\"content\":[", "]}}");
            let whole = format!("{}{}{}", open.repeat(deep / 3), picture(), close.repeat(deep / 3));
            let block: Value = serde_json::from_str(&whole).unwrap_or_default();
            chat(1, &|_| parts("user", [block.clone()]))
        },
        flags: &[KEEP, ALL],
    },
    Case {
        name: "tasks",
        input: |count| {
            let created = |at: usize| {
                used(
                    at,
                    "TaskCreate",
                    &json!({"subject": format!("t{at}")}),
                    &format!("Task #{at} created successfully"),
                )
            };
            let begun = |at: usize| {
                used(count + at, "TaskUpdate", &json!({"taskId": at.to_string(), "status": "in_progress"}), "ok")
            };
            chat(2 * count, &|at| if at < count { created(at) } else { begun(at - count) })
        },
        flags: &[KEEP],
    },
    Case {
        name: "system messages",
        input: |count| chat(4 * count, &|at| vec![json!({"role": "system", "content": format!("Never {at}.")})]),
        flags: &[KEEP, UNMET],
    },
    Case {
        name: "directories in a call",
        input: |count| {
            chat(1, &|at| call(at, &(0..6 * count).map(|at| format!("cd d{at} && ")).collect::<String>(), "ok"))
        },
        flags: &[KEEP, ALL],
    },
    Case {
        name: "edits of a file",
        input: |count| {
            chat(count, &|at| {
                let edit =
                    json!({"file_path": "/w/a.py", "old_string": format!("x{at}"), "new_string": format!("y{at}\n")});
                used(at, "Edit", &edit, "The file /w/a.py has been updated.")
            })
        },
        flags: &[KEEP, ALL],
    },
    Case { name: "interruptions", input: |count| interrupted(2 * count), flags: &[KEEP, CHECK] },
    Case {
        name: "calls of AI SDK in a message",
        input: |count| ui_calls(count, Some("a.rs")),
        flags: &[KEEP, ALL, FIT, CHECK],
    },
    Case {
        name: "unanswered calls of AI SDK 4",
        input: |count| {
            let call = |at| json!({"state": "call", "toolCallId": format!("c{at}"), "toolName": "bash", "args": {"command": "ls"}});
            let message = json!({"id": "a", "role": "assistant", "content": "a", "toolInvocations": (0..count).map(call).collect::<Vec<_>>()});
            ui_chat(message)
        },
        flags: &[CHECK, REPAIR, &["--keep", "messages:2", "--repair", "synthesize"]],
    },
    Case {
        name: "unanswered calls of AI SDK",
        input: |count| ui_calls(count, None),
        flags: &[CHECK, REPAIR, &["--keep", "messages:2", "--repair", "synthesize"]],
    },
    Case {
        name: "names of tools",
        input: |count| chat(count, &|at| used(at, &format!("tool_{at}"), &json!({"at": at}), "ok")),
        flags: &[KEEP, ALL],
    },
    Case {
        name: "equal conversations",
        input: |count| {
            format!("{}\n", json!({"messages": (0..4).flat_map(|at| said(at, &line(7).repeat(5))).collect::<Vec<_>>()}))
                .repeat(count / 3)
        },
        flags: &[KEEP, &["restore"]],
    },
];

fn line(at: usize) -> String {
    format!("Line {at} of this, because it fails: src/a{at}.rs `cargo test {at}` was 3.{at}.\n")
}

/// A conversation of `count` pieces, with a question behind them.
fn chat(count: usize, piece: &dyn Fn(usize) -> Vec<Value>) -> String {
    let end = ["And now?", "It is done.", "Then go on."];
    let end = end.iter().enumerate().flat_map(|(at, text)| said(at, text));
    json!((0..count).flat_map(piece).chain(end).collect::<Vec<_>>()).to_string()
}

fn said(at: usize, text: &str) -> Vec<Value> {
    vec![json!({"role": if at.is_multiple_of(2) { "user" } else { "assistant" }, "content": text})]
}

fn call(at: usize, command: &str, result: &str) -> Vec<Value> {
    used(at, "bash", &json!({"command": command}), result)
}

fn used(at: usize, tool: &str, given: &Value, result: &str) -> Vec<Value> {
    let function = json!({"name": tool, "arguments": given.to_string()});
    let call = json!({"id": at.to_string(), "type": "function", "function": function});
    let result = json!({"role": "tool", "tool_call_id": at.to_string(), "content": result});
    vec![json!({"role": "assistant", "content": null, "tool_calls": [call]}), result]
}

fn parts(role: &str, parts: impl IntoIterator<Item = Value>) -> Vec<Value> {
    vec![json!({"role": role, "content": parts.into_iter().collect::<Vec<_>>()})]
}

fn data_url(bytes: usize) -> String {
    let data = [b"\x89PNG\r\n\x1a\n".as_slice(), &vec![7; bytes]].concat();
    format!("data:image/png;base64,{}", base64(&data))
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

fn picture() -> Value {
    json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="}})
}

/// Calls that the user interrupts.
fn interrupted(count: usize) -> String {
    chat(count, &|at| [call(at, "ls", "")[..1].to_vec(), said(0, "[Request interrupted by user]")].concat())
}

/// A message of the AI SDK between two of the user.
fn ui_chat(message: Value) -> String {
    let user = json!({"id": "u", "role": "user", "parts": [{"type": "text", "text": "Go on."}]});
    json!({"messages": [user, message, user, {"id": "b", "role": "assistant", "parts": [{"type": "text", "text": "Yes."}]}]})
        .to_string()
}

/// Calls of the AI SDK in one message, with the output where there is one.
fn ui_calls(count: usize, output: Option<&str>) -> String {
    let call = |at| {
        let state = if output.is_some() { "output-available" } else { "input-available" };
        let mut call = json!({"type": "tool-bash", "toolCallId": format!("c{at}"), "state": state});
        call["input"] = json!({"command": format!("ls {at}")});
        output.into_iter().for_each(|output| call["output"] = json!(output));
        call
    };
    ui_chat(json!({"id": "a", "role": "assistant", "parts": (0..count).map(call).collect::<Vec<_>>()}))
}

fn rows(count: usize, columns: usize) -> String {
    let row =
        |row| (0..columns).map(|column| (format!("k{column}"), json!(row * column))).collect::<serde_json::Map<_, _>>();
    json!((0..count).map(row).collect::<Vec<_>>()).to_string()
}

fn thought(at: usize, text: Option<&str>) -> Vec<Value> {
    let thought = json!({"type": "thinking", "thinking": format!("It is {at}."), "signature": format!("c2ln{at}")});
    let parts = std::iter::once(thought).chain(text.map(|text| json!({"type": "text", "text": text})));
    let user = json!({"role": "user", "content": format!("Go on with {at}.")});
    vec![user, json!({"role": "assistant", "content": parts.collect::<Vec<_>>()})]
}

/// A session whose entries name their parents.
fn session(count: usize) -> String {
    let entry = |at: usize| {
        let parent = at.checked_sub(1).map(|at| format!("u{at}"));
        let message = &said(at, &line(at))[0];
        json!({"type": message["role"], "uuid": format!("u{at}"), "parentUuid": parent, "sessionId": "s", "message": message})
    };
    (0..count).map(|at| format!("{}\n", entry(at))).collect()
}

/// A session of Claude Code that launches agents, each of which has ended before the next but some.
fn background_tasks(count: usize) -> String {
    let line = |role: &str, content: Value| json!({"type": role, "sessionId": "s", "message": {"role": role, "content": content}});
    let mut lines = String::new();
    for at in 0..count / 2 {
        let input = json!({"description": format!("part {at}"), "prompt": line_of_part(at)});
        let call = json!([{"type": "tool_use", "id": format!("c{at}"), "name": "Agent", "input": input}]);
        let text = format!("Async agent launched successfully.\nagentId: a{at}\noutput_file: /tmp/a{at}.output");
        let result = json!([{"type": "tool_result", "tool_use_id": format!("c{at}"), "content": text}]);
        let ended = format!(
            "<task-notification>\n<task-id>a{}</task-id>\n<status>completed</status>\n</task-notification>",
            at / 2
        );
        for line in [line("assistant", call), line("user", result), line("user", json!(ended))] {
            lines += &format!("{line}\n");
        }
    }
    lines
}

fn line_of_part(at: usize) -> String {
    format!("Audit part {at} of the shop and write what you find.")
}

/// The steps of a run on an input.
fn steps(folder: &Path, input: &str, flags: &[&str]) -> u64 {
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    let own = folder.join(RUNS.fetch_add(1, Ordering::Relaxed).to_string());
    fs::create_dir(&own).expect("a folder");
    let [file, archive, compacted, counts] =
        ["in.jsonl", "archive.jsonl", "out.jsonl", "counts"].map(|name| own.join(name));
    fs::write(&file, input).expect("written");
    // Another build can be named, to see that the law finds what it had.
    let program = std::env::var("TCOMPACT_PROGRAM").unwrap_or_else(|_| env!("CARGO_BIN_EXE_tcompact").to_owned());
    let mut counted = Command::new("valgrind");
    counted.args(["--tool=cachegrind", "--cache-sim=no"]).arg(format!("--cachegrind-out-file={}", counts.display()));
    counted.arg(&program);
    if flags == ["restore"] {
        let done = Command::new(program)
            .args(KEEP)
            .arg("--archive")
            .arg(&archive)
            .arg("-o")
            .arg(&compacted)
            .arg(&file)
            .output();
        assert!(done.expect("a run").status.success());
        counted.arg("restore").arg(&archive).arg(&compacted);
    } else {
        counted.args(flags).arg(&file);
    }
    let output = counted.current_dir(&own).output().expect("valgrind runs");
    // With check, the code tells of violations; a limit can be below what can be met.
    let may_fail = flags.contains(&"check") || flags == UNMET;
    let is_run = output.status.success() || may_fail && output.status.code().is_some();
    assert!(is_run, "{flags:?}: {}", String::from_utf8_lossy(&output.stderr).lines().next().unwrap_or_default());
    let counts = fs::read_to_string(counts).expect("counts");
    let summary = counts.lines().find_map(|line| line.strip_prefix("summary: ")).expect("a summary");
    summary.split_whitespace().next().and_then(|steps| steps.parse().ok()).expect("a number")
}

fn main() -> ExitCode {
    let named = std::env::args().skip(1).find(|name| !name.starts_with('-'));
    if std::env::args().any(|flag| flag == "--list") {
        println!("work_is_linear: test");
        return ExitCode::SUCCESS;
    }
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("NOT CHECKED: work is linear. It takes valgrind, which is not installed.");
        return ExitCode::SUCCESS;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let start = steps(folder.path(), &chat(1, &|at| said(at, "Go on.")), KEEP);
    let all = CASES.iter().flat_map(|case| case.flags.iter().map(move |flags| (case, *flags)));
    let all: Vec<_> = all.filter(|(case, _)| named.as_deref().is_none_or(|name| case.name.contains(name))).collect();
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some((case, flags)) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
            let [few, many] =
                [COUNT, 2 * COUNT].map(|count| steps(folder.path(), &(case.input)(count), flags).saturating_sub(start));
            let ratio = many as f64 / few.max(1) as f64;
            println!("{ratio:4.2}  {few:>12}  {}: {}", case.name, flags.join(" "));
            if ratio > MOST {
                failed.lock().expect("no thread failed").push(format!(
                    "{}: {}: {ratio:.2}",
                    case.name,
                    flags.join(" ")
                ));
            }
        }
    };
    thread::scope(|scope| {
        (0..thread::available_parallelism().map_or(1, usize::from)).for_each(|_| drop(scope.spawn(work)))
    });
    let failed = failed.into_inner().expect("no thread failed");
    if failed.is_empty() {
        return ExitCode::SUCCESS;
    }
    println!("more than {MOST} times the steps for twice the input: {failed:#?}");
    ExitCode::FAILURE
}
