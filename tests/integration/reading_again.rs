//! Results are read again: as the same format, alone and in the run of a folder.

use std::fs;

use serde_json::{Value, json};

use crate::batch::within;
use crate::program::piped;

/// A result whose call is gone names no function. The summary's mark still tells that the log is Inspect's.
#[test]
fn a_log_that_keeps_a_result_without_a_call_is_read_again() {
    let words = "Look at the parcel service and tell me why the nightly export fails. ".repeat(4);
    let call = json!([{"id": "c1", "function": "run", "arguments": {"cmd": "ls"}}]);
    let result = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": "x"});
    let messages = json!([{"role": "user", "content": words}, {"role": "assistant", "content": words, "tool_calls": call},
        result("c1"), {"role": "assistant", "content": words}, result("ghost")]);
    let sample = json!({"id": 1, "epoch": 1, "input": "q", "target": "t", "messages": messages});
    for source in [json!({"version": 2, "samples": [sample]}), sample] {
        let source = source.to_string();
        for more in [&[][..], &["-m", "none"], &["--summary-role", "user", "--prune", "all"]] {
            let first = piped(&[&["--keep", "messages:1"], more].concat(), &source);
            assert!(first.code == 0 && first.stdout != source, "{first:?}");
            let counted = piped(&["count", "--json"], &first.stdout);
            assert!(counted.code == 0 && counted.stdout.contains("\"inspect\""), "{more:?}: {counted:?}");
        }
    }
}

/// A value that is not a message can be the first line of a session, before and after it is summarized. A run of the
/// folder does not take the result for a file of another program.
#[test]
fn results_that_begin_with_a_stray_value_are_read_again() {
    let line = |role: &str, uuid: usize, text: &str| {
        let parent = uuid.checked_sub(1).map(|parent| format!("{parent:08x}"));
        json!({"parentUuid": parent, "isSidechain": false, "sessionId": "s", "type": role, "uuid": format!("{uuid:08x}"),
            "timestamp": "2026-01-01T00:00:00.000Z", "message": {"role": role, "content": text}})
    };
    for stray in ["null", "-1.5", "\"a\"", "[]", "[{}]", "[[{}]]", "[{\"a\":1}]", "{\"type\":\"x\",\"messages\":[]}"] {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("logs")).expect("made");
        let asks = line("user", 0, &"The nightly export of the parcel service fails with a timeout. ".repeat(9));
        let rest = [line("assistant", 1, "It is the query."), line("user", 2, "Go on.")];
        let session = format!("{stray}\n{asks}\n{}\n{}\n", rest[0], rest[1]);
        fs::write(folder.path().join("logs/a.jsonl"), session).expect("written");
        let rules = ["--keep", "messages:1", "--in-place", "logs"];
        let first = within(folder.path(), &rules);
        let written = fs::read_to_string(folder.path().join("logs/a.jsonl")).expect("a result");
        assert!(first.code == 0 && written.starts_with(stray), "{stray}: {}", first.stderr);
        let second = within(folder.path(), &["check", "logs"]);
        assert!(second.code == 0 && second.stderr.is_empty(), "{stray}: {}", second.stderr);
        let counted = within(folder.path(), &["count", "--json", "logs"]);
        let counted: Value = serde_json::from_str(counted.stdout.lines().next().unwrap_or_default()).expect("a count");
        assert_eq!(counted["format"], "claude-code", "{stray}");
    }
}
