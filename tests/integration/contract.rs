//! The contract of the command line: what the cases in `tests/cmd` cannot show.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use serde_json::Value;

use crate::all_cases::Sample;
use crate::program::{path, piped, tcompact, with};

#[test]
fn a_dry_run_prints_one_integer_and_writes_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = path(folder.path(), "out.json");
    let text = fs::read_to_string(format!("{}/openai-chat/plain.json", crate::program::FIXTURES)).expect("a fixture");
    for arguments in [vec!["-n", "--keep", "messages:2"], vec!["--dry-run", "--keep", "messages:2", "-o", &out]] {
        let run = piped(&arguments, &text);
        assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (0, "5\n", ""));
    }
    assert_eq!(fs::read_dir(folder.path()).expect("read").count(), 0);
}

#[test]
fn the_plan_as_json_has_the_keys_of_the_contract() {
    let run = with(&[
        "-n",
        "--json",
        "--keep",
        "messages:4",
        "--trigger",
        "tokens:10,messages:3",
        "openai-chat/parallel-calls.json",
    ]);
    let plan: Value = serde_json::from_str(&run.stdout).expect("an object");
    let keys: Vec<&str> = plan.as_object().expect("an object").keys().map(String::as_str).collect();
    assert_eq!(
        keys,
        [
            "source",
            "format",
            "counter",
            "messages",
            "tokens",
            "overhead",
            "recorded",
            "context_window",
            "triggered",
            "fired",
            "wanted_cutoff",
            "cutoff",
            "moved_because",
            "pinned",
            "prune",
            "summarize",
            "middle",
            "keep",
            "economy"
        ]
    );
    assert_eq!(plan["source"], "openai-chat/parallel-calls.json");
    assert_eq!(plan["fired"], "tokens:10,messages:3");
    assert_eq!((&plan["wanted_cutoff"], &plan["cutoff"]), (&7.into(), &7.into()));
    assert_eq!(plan["pinned"], serde_json::json!([0]));
    assert_eq!((&plan["summarize"]["from"], &plan["summarize"]["to"]), (&1.into(), &7.into()));
    let sum = plan["summarize"]["tokens"].as_u64().expect("tokens") + plan["keep"]["tokens"].as_u64().expect("tokens");
    assert!(sum < plan["tokens"].as_u64().expect("tokens"), "the pinned message is in neither part");
    let nothing: Value =
        serde_json::from_str(&with(&["-n", "--json", "openai-chat/plain.json"]).stdout).expect("an object");
    assert_eq!((&nothing["cutoff"], &nothing["moved_because"]), (&0.into(), &Value::Null));
    assert_eq!(nothing["reason"], "the whole conversation is within --keep messages:20");
}

#[test]
fn one_object_and_one_integer_a_conversation() {
    let run = with(&["-n", "--keep", "messages:2", "openai-chat/conversations.jsonl"]);
    let name = "openai-chat/conversations.jsonl";
    assert_eq!(run.stdout, format!("{name}:1\t5\n{name}:2\t9\n{name}:3\t0\n{name}:4\t0\n"));
    let text = fs::read_to_string(format!("{}/{name}", crate::program::FIXTURES)).expect("a fixture");
    let piped = crate::program::piped(&["-n", "--keep", "messages:2"], &text);
    assert_eq!(piped.stdout, "-:1\t5\n-:2\t9\n-:3\t0\n-:4\t0\n");
    let run = with(&["-n", "--json", "--keep", "messages:2", "openai-chat/conversations.jsonl"]);
    let sources: Vec<String> = run
        .stdout
        .lines()
        .map(|line| {
            serde_json::from_str::<Value>(line).expect("an object")["source"].as_str().expect("a source").to_owned()
        })
        .collect();
    assert_eq!(sources, [1, 2, 3, 4].map(|line| format!("openai-chat/conversations.jsonl:{line}")));
}

#[test]
fn compressed_files_are_read_and_written_as_such() {
    let folder = tempfile::tempdir().expect("a folder");
    let plain = fs::read(format!("{}/openai-chat/plain.json", crate::program::FIXTURES)).expect("a fixture");
    let short = with(&["-q", "--keep", "messages:2", "openai-chat/plain.json"]).stdout;
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(&plain).expect("packed");
    let packed = [("gz", gzip.finish().expect("packed")), ("zst", zstd::encode_all(&plain[..], 0).expect("packed"))];
    for (ending, bytes) in packed {
        let (from, to) =
            (path(folder.path(), &format!("in.{ending}")), path(folder.path(), &format!("out.json.{ending}")));
        fs::write(&from, &bytes).expect("written");
        let run = with(&["-q", "--keep", "messages:2", &from]);
        assert_eq!((run.code, run.stdout.as_str()), (0, short.as_str()));
        assert_eq!(with(&["-q", "--keep", "messages:2", "-o", &to, &from]).code, 0);
        let written = fs::read(&to).expect("written");
        let mut unpacked = String::new();
        match ending {
            "gz" => flate2::read::GzDecoder::new(&written[..]).read_to_string(&mut unpacked),
            _ => zstd::Decoder::new(&written[..]).expect("a frame").read_to_string(&mut unpacked),
        }
        .expect("unpacked");
        assert_eq!(unpacked, short);
        fs::write(&from, &bytes[..bytes.len() - 5]).expect("written");
        let run = with(&["-n", &from]);
        assert_eq!((run.code, run.stdout.as_str()), (1, ""));
        assert!(run.stderr.contains("data is cut off"), "{}", run.stderr);
    }
}

#[test]
fn no_trigger_no_change() {
    for name in [
        "openai-chat/crlf-bom.jsonl",
        "openai-chat/half-surrogates.json",
        "langchain/thread.json",
        "anthropic/request.json",
        "gemini/request.json",
    ] {
        let before = fs::read_to_string(format!("{}/{name}", crate::program::FIXTURES)).expect("a fixture");
        let run = with(&["--trigger", "tokens:1m", "--keep", "messages:1", name]);
        assert_eq!((run.code, run.stderr.lines().count()), (0, 1), "{name}: {run:?}");
        assert!(
            run.stderr.contains(": unchanged: it has ") && run.stderr.contains("no trigger was reached"),
            "{run:?}"
        );
        assert_eq!(run.stdout, before, "{name}");
    }
}

#[test]
fn exit_status_says_whether_anything_was_compacted() {
    assert_eq!(with(&["-e", "-q", "--keep", "messages:2", "--accept", "any", "openai-chat/plain.json"]).code, 0);
    let nothing = with(&["-e", "openai-chat/plain.json"]);
    assert_eq!(nothing.code, 3);
    assert!(nothing.stdout.starts_with("[{"), "the transcript is written all the same");
    assert_eq!(with(&["-e", "-n", "openai-chat/plain.json"]).code, 3);
    assert_eq!(with(&["-n", "openai-chat/plain.json"]).code, 0);
}

#[test]
fn only_verbose_runs_name_the_default_summarizer() {
    let says = |arguments: &[&str]| {
        with(&[&["--keep", "messages:2", "openai-chat/conversations.jsonl"], arguments].concat()).stderr
    };
    let said = says(&[]);
    assert_eq!(said, "");
    assert!(says(&["-v"]).contains("the embedded summarizer wrote the summary; --model names another"));
    assert_eq!(says(&["--model", "extractive"]), "");
    assert_eq!(says(&["--quiet"]), "");
    let folder = tempfile::tempdir().expect("a folder");
    let prompt = path(folder.path(), "prompt.txt");
    fs::write(&prompt, "{messages}").expect("written");
    assert!(says(&["--model", "extractive", "--prompt-file", &prompt]).contains("--prompt-file is not used"));
    assert!(says(&["--verbose"]).contains("conversations.jsonl:1: openai-chat, 7 messages"));
}

#[test]
fn files_are_written_whole_and_keep_their_mode() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = path(folder.path(), "out.json");
    fs::write(&out, "before").expect("written");
    fs::set_permissions(&out, fs::Permissions::from_mode(0o640)).expect("a mode");
    let link = path(folder.path(), "link.json");
    std::os::unix::fs::symlink(&out, &link).expect("a link");
    let run = with(&["-q", "--keep", "messages:2", "--accept", "any", "-o", &link, "openai-chat/plain.json"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, ""));
    assert!(fs::read_to_string(&out).expect("read").contains("Here is a summary"));
    assert_eq!(fs::metadata(&out).expect("there").permissions().mode() & 0o777, 0o640);
    assert!(fs::symlink_metadata(&link).expect("there").is_symlink(), "the link stays one");
    assert_eq!(fs::read_dir(folder.path()).expect("read").count(), 2, "no temporary file is left");
    let to_stdout = with(&["-q", "--keep", "messages:2", "--accept", "any", "-o", "-", "openai-chat/plain.json"]);
    assert!(to_stdout.stdout.contains("Here is a summary"), "`-` is standard output");
    let nowhere = path(folder.path(), "nowhere.json");
    std::os::unix::fs::symlink("between.json", &nowhere).expect("a link");
    std::os::unix::fs::symlink("new.json", path(folder.path(), "between.json")).expect("a link");
    assert_eq!(with(&["-q", "-o", &nowhere, "openai-chat/plain.json"]).code, 0);
    assert!(fs::symlink_metadata(&nowhere).expect("there").is_symlink(), "so does one that led nowhere");
    assert!(fs::metadata(folder.path().join("new.json")).is_ok_and(|metadata| metadata.is_file()));
    let through_a_pipe =
        with(&["-q", "--keep", "messages:2", "--accept", "any", "-o", "/dev/fd/1", "openai-chat/plain.json"]);
    assert!(through_a_pipe.stdout.contains("Here is a summary"), "{through_a_pipe:?}");
    assert_eq!(with(&["-q", "-o", "/dev/null", "openai-chat/plain.json"]).code, 0, "a device stays one");
    assert!(fs::metadata("/dev/null").is_ok_and(|metadata| !metadata.is_file()));
}

#[test]
fn summary_role_and_prefix_shape_the_message() {
    const OPENING: &str = "## The user, in order";
    let message = |arguments: &[&str]| {
        let run =
            with(&[&["-q", "--keep", "messages:2", "--accept", "any", "openai-chat/plain.json"], arguments].concat());
        let messages: Value = serde_json::from_str(&run.stdout).expect("messages");
        (
            messages[1]["role"].as_str().expect("a role").to_owned(),
            messages[1]["content"].as_str().expect("text").to_owned(),
        )
    };
    for role in ["user", "system", "assistant"] {
        assert_eq!(message(&["--summary-role", role]).0, role);
    }
    assert!(message(&["--summary-prefix", "So far:"]).1.starts_with(&format!("So far:\n\n{OPENING}")));
    assert!(message(&["--summary-prefix", "So far: "]).1.starts_with(&format!("So far: {OPENING}")));
    assert!(message(&["--summary-prefix", ""]).1.starts_with(OPENING));
}

#[test]
fn lines_decides_what_a_line_is() {
    let line = r#"[{"role":"user","content":"a"}]"#;
    assert_eq!(
        piped(&["-n", "--json", "--lines", "conversations"], line).stdout.matches("\"source\":\"-:1\"").count(),
        1
    );
    assert_eq!(piped(&["-n", "--lines", "messages"], line).code, 1);
    let messages = "{\"role\":\"user\",\"content\":\"a\"}\n{\"role\":\"user\",\"content\":\"b\"}\n";
    assert_eq!(piped(&["-n"], messages).stdout, "0\n");
    assert_eq!(piped(&["-n", "--lines", "conversations"], messages).code, 1);
    assert_eq!(piped(&["-n", "--pairs", "strict"], messages).code, 0);
}

#[test]
fn a_dry_run_needs_no_key() {
    assert_eq!(
        with(&["-n", "--model", "openai:gpt-4o-mini", "--keep", "messages:2", "openai-chat/plain.json"]).stdout,
        "5\n"
    );
}

#[test]
fn a_full_standard_error_stops_no_run() {
    let full = || fs::OpenOptions::new().write(true).open("/dev/full").expect("the device");
    let status = |arguments: &[&str]| {
        let status = tcompact().args(arguments).stdout(Stdio::null()).stderr(full()).status();
        status.expect("it runs").code()
    };
    assert_eq!(status(&["-v", "--keep", "messages:2", "openai-chat/plain.json"]), Some(0));
    assert_eq!(status(&["missing.json"]), Some(1));
    assert_eq!(status(&["--bogus"]), Some(2));
}

/// The embedded summarizer never fails and never enlarges a history, whatever the counter.
#[test]
fn the_embedded_summarizer_always_fits() {
    let pictures: Vec<String> = (0..30)
        .map(|_| {
            r#"{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}]}"#
                .to_owned()
        })
        .collect();
    let calls: Vec<String> = (0..9)
        .map(|at| format!(
            r#"{{"role":"assistant","content":null,"tool_calls":[{{"id":"{at}","function":{{"name":"look","arguments":"{{\"at\":{at}}}"}}}}]}},{{"role":"tool","tool_call_id":"{at}","content":""}}"#
        ))
        .collect();
    let emoji: Vec<String> =
        (0..20).map(|_| r#"{"role":"user","content":"😀😃😄😁😆😅🤣😂🙂🙃😉😊😇🥰😍🤩"}"#.to_owned()).collect();
    let blank: Vec<String> = (0..30).map(|_| r#"{"role":"assistant","content":" \n"}"#.to_owned()).collect();
    let mut sample = Sample::default();
    for messages in [pictures, calls, emoji, blank] {
        let source = format!("[{}]", messages.join(","));
        for counter in ["approx", "o200k_base", "cl100k_base", "bytes:1", "bytes:4"] {
            for limit in ["1", "2", "9", "1024"].into_iter().filter(|_| sample.takes_next()) {
                let arguments = ["-q", "--counter", counter, "--summary-tokens", limit, "--keep", "messages:2"];
                let run = piped(&arguments, &source);
                assert_eq!(run.code, 0, "{counter} {limit}: {run:?}");
                let tokens = |source: &str| {
                    let plan = piped(&["-n", "--json", "--counter", counter], source);
                    serde_json::from_str::<Value>(&plan.stdout).expect("an object")["tokens"].as_u64().expect("tokens")
                };
                let changed = run.stdout != source;
                assert!(!changed || tokens(&run.stdout) < tokens(&source), "{counter} {limit}: {run:?}");
                assert_eq!(piped(&arguments, &run.stdout).stdout, run.stdout, "{counter} {limit}");
            }
        }
    }
}

/// A summary of a history with content is never empty, whatever `--accept` allows.
#[test]
fn the_embedded_summarizer_says_something_or_leaves_it() {
    let small = r#"[{"role":"user","content":"Delete nothing."},{"role":"assistant","content":"ok"},{"role":"user","content":"x"}]"#;
    let run = piped(&["-q", "--accept", "any", "--keep", "messages:1"], small);
    assert_eq!((run.code, run.stdout.as_str()), (0, small));
    let instead =
        ["-q", "--accept", "any", "--keep", "messages:1", "--summarizer-cmd", "false", "--on-error", "extractive"];
    assert_eq!(piped(&instead, small).stdout, small);
}

#[test]
fn a_system_message_stays_where_it_may_stand() {
    let message =
        |role: &str, text: &str| format!(r#"{{"role":"{role}","content":[{{"type":"text","text":"{text}"}}]}}"#);
    let call = r#"{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{}}]}"#;
    let result = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"r"}]}"#;
    let long = "a long history ".repeat(20);
    let source = format!(
        "[{},{},{},{call},{result},{}]",
        message("system", "rules in front"),
        message("user", &long),
        message("system", "rules of later"),
        message("user", "last")
    );
    let run = piped(&["-n", "--json", "--keep", "messages:1"], &source);
    let plan: Value = serde_json::from_str(&run.stdout).expect("an object");
    assert_eq!(
        (&plan["format"], &plan["pinned"], &plan["cutoff"]),
        (&"anthropic".into(), &serde_json::json!([0]), &5.into())
    );
}

#[test]
fn unfamiliar_messages_are_read_or_the_way_to_read_them_is_named() {
    for message in [
        r#"{"role":"assistant","refusal":"no"}"#,
        r#"{"role":"assistant","reasoning_content":"hm"}"#,
        r#"{"role":"tool","tool_call_id":"a"}"#,
    ] {
        assert_eq!(
            piped(&["-n"], &format!(r#"[{{"role":"user","content":"a"}},{message}]"#)).stdout,
            "0\n",
            "{message}"
        );
    }
    let odd = r#"[{"role":"tool","tool_call_id":"a","content":"r"},{"role":"narrator","content":"n"}]"#;
    let run = piped(&["-n"], odd);
    assert_eq!((run.code, run.stdout.as_str()), (1, ""));
    assert!(run.stderr.contains("--from openai-chat reads it anyway"), "{run:?}");
    assert_eq!(piped(&["-n", "--from", "openai-chat"], odd).stdout, "0\n");
}

#[test]
fn a_closed_pipe_is_no_error() {
    let mut child = tcompact()
        .args(["-q", "counting/langchain.jsonl"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
}

#[test]
fn colour_is_for_terminals_unless_it_is_asked_for() {
    assert!(!with(&["missing.json"]).stderr.contains('\u{1b}'));
    assert!(with(&["--color", "always", "missing.json"]).stderr.starts_with("\u{1b}["));
    assert!(!with(&["--color", "never", "missing.json"]).stderr.contains('\u{1b}'));
}

/// An explicitly requested chart is always drawn, and standard output is the same as without it.
#[test]
fn explain_draws_a_picture_beside_the_result() {
    let arguments = ["-q", "--keep", "messages:2", "openai-chat/plain.json"];
    let (plain, explained) = (with(&arguments), with(&[&["--explain"], &arguments[..]].concat()));
    assert_eq!((plain.stdout.as_str(), plain.stderr.as_str()), (explained.stdout.as_str(), ""));
    assert!(explained.stderr.contains("── cut at 5 ──"), "{explained:?}");
    assert!(!explained.stderr.contains('\u{1b}'), "no colours where there is no terminal");
    let coloured = with(&[&["--explain", "--color", "always"], &arguments[..]].concat());
    assert_eq!(anstream::adapter::strip_str(&coloured.stderr).to_string(), explained.stderr);
    assert_ne!(coloured.stderr, explained.stderr);
    let folder = tempfile::tempdir().expect("a folder");
    let results = path(folder.path(), "results");
    let batch = with(&["-q", "--explain", "--keep", "messages:2", "-O", &results, "openai-chat", "anthropic"]);
    assert_eq!((batch.code, batch.stdout.as_str()), (0, ""));
    assert!(batch.stderr.lines().next().is_some_and(|line| line.contains(" tokens saved in ")), "{batch:?}");
    assert_eq!(batch.stderr.matches("cut at").count(), 0, "a table and no pictures");
}

/// A diff sends the requests of a real run, but writes no result and no archive.
#[test]
fn a_diff_is_printed_instead_of_the_transcript() {
    let folder = tempfile::tempdir().expect("a folder");
    let archive = path(folder.path(), "history.jsonl");
    let ask = ["-q", "--accept", "any", "--ledger", "off", "--summarizer-cmd", "echo It was about opening hours."];
    let looked = ["--diff", "--archive", &archive, "--keep", "messages:2", "openai-chat/plain.json"];
    let run = with(&[&ask[..], &looked[..]].concat());
    assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{run:?}");
    assert!(run.stdout.contains("\n+    It was about opening hours.\n"), "{run:?}");
    assert!(run.stdout.contains(&archive), "the summary is the one of a real run");
    assert_eq!(fs::read_dir(folder.path()).expect("read").count(), 0);
    let whole =
        with(&["-q", "--diff", "--keep", "messages:2", "--accept", "any", "openai-chat", "anthropic", "--jobs", "8"]);
    let sources: Vec<&str> = whole.stdout.lines().filter_map(|line| line.strip_prefix("--- ")).collect();
    let dry = with(&["-q", "-n", "--keep", "messages:2", "openai-chat", "anthropic"]).stdout;
    let cut: Vec<&str> = dry
        .lines()
        .filter_map(|line| line.split_once('\t'))
        .filter(|(_, cut)| *cut != "0")
        .map(|(source, _)| source)
        .collect();
    assert!(!sources.is_empty() && sources.iter().all(|source| cut.contains(source)), "{sources:?}");
    assert!(sources.is_sorted_by_key(|source| cut.iter().position(|cut| cut == source)), "in the order of the inputs");
    let coloured = with(&[
        "-q",
        "--diff",
        "--color",
        "always",
        "--keep",
        "messages:2",
        "--accept",
        "any",
        "openai-chat/plain.json",
    ])
    .stdout;
    assert!(coloured.contains("\u{1b}[31m-[1] user") && !whole.stdout.contains('\u{1b}'), "{coloured}");
    assert_eq!(with(&["-e", "-q", "--diff", "openai-chat/plain.json"]).code, 3);
    assert_eq!(
        with(&["--diff", "-q", "--keep", "messages:2", "--summarizer-cmd", "false", "openai-chat/plain.json"]).code,
        4
    );
    let bad = piped(
        &["--diff", "-q", "--lines", "conversations", "--on-error", "passthrough", "--keep", "messages:2"],
        "{\"a\":\n",
    );
    assert_eq!((bad.code, bad.stdout.as_str()), (1, ""), "a line that cannot be read is not printed raw");
}

#[test]
fn an_update_is_what_a_reducer_takes() {
    let run = with(&["-q", "--emit", "update", "--keep", "messages:2", "langchain/thread.json"]);
    let update: Value = serde_json::from_str(&run.stdout).expect("an object");
    let messages = update["messages"].as_array().expect("messages");
    let types: Vec<&str> = messages.iter().filter_map(|message| message["type"].as_str()).collect();
    assert_eq!(types, ["remove", "system", "human", "ai", "human"]);
    assert_eq!(messages[0]["id"], "__remove_all__");
    assert_eq!(with(&["--emit", "update", "langchain/thread.json"]).stdout, "null\n");
}
