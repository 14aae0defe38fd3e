//! What the lines of calls tell: the last run of each, a failure before it, and one of many that are alike.

use serde_json::{Value, json};

use crate::digest::{Section, as_message};
use crate::tests::digest::{call, digest_of_chat, items};

fn run(command: &str, result: &str) -> Vec<Value> {
    call("bash", &json!({"command": command}), result)
}

fn lines(digest: &str) -> Vec<String> {
    items(digest, Section::Calls).into_iter().map(|item| item.text).collect()
}

/// The last run of a command stands, and the last failure before it, in order.
#[test]
fn a_failure_stands_before_the_later_success_of_the_same_call() {
    let runs = [("1 failed", 1), ("2 failed", 1), ("3 passed", 0), ("4 passed", 0), ("5 failed", 1)];
    for (count, expected) in [
        (1, &["exit 1: 1 failed"][..]),
        (2, &["exit 1: 2 failed"]),
        (3, &["exit 1: 2 failed", "exit 0: 3 passed"]),
        (4, &["exit 1: 2 failed", "exit 0: 4 passed"]),
        (5, &["exit 1: 5 failed"]),
    ] {
        let mut messages = Vec::new();
        for (output, code) in &runs[..count] {
            messages.extend(run("make check", &format!("{output}\n[exit code {code}]")));
        }
        let digest = digest_of_chat(&messages, 900);
        let expected: Vec<String> = expected.iter().map(|line| format!("`make check` → {line}")).collect();
        assert_eq!(lines(&digest), expected, "{digest}");
        // A later round goes on with them.
        let next = [
            vec![json!({"role": "user", "content": as_message(&digest)})],
            run("make check", "6 passed\n[exit code 0]"),
        ];
        let next = digest_of_chat(&next.concat(), 900);
        assert_eq!(lines(&next).last().map(String::as_str), Some("`make check` → exit 0: 6 passed"), "{next}");
        assert!(lines(&next).len() < 3, "{next}");
    }
}

/// However a command is spaced and quoted, it is the same.
#[test]
fn the_last_run_of_a_command_stands_for_all() {
    for (again, is_same) in
        [("make check", true), ("  make   check\n", true), ("make 'check'", true), ("make other", false)]
    {
        let digest = digest_of_chat(&[run("make check", "11 passed"), run(again, "12 passed")].concat(), 900);
        assert_eq!(lines(&digest).len(), if is_same { 1 } else { 2 }, "{again:?}: {digest}");
    }
}

/// From three on, calls that are equal but for digits are one line, with their number.
#[test]
fn calls_that_are_equal_but_for_digits_stand_once() {
    for number in 1..6 {
        let messages: Vec<Value> =
            (0..number).flat_map(|at| run(&format!("make bed{at}"), &format!("bed {at} is wet"))).collect();
        let told = lines(&digest_of_chat(&messages, 900));
        if number < 3 {
            assert_eq!(told.len(), number);
        } else {
            let last = number - 1;
            assert_eq!(told, [format!("`make bed{last}` → bed {last} is wet")]);
        }
    }
}

/// Runs stand in the order of their results, and the last of each key where it ran.
#[test]
fn runs_stand_in_the_order_of_their_results() {
    let call = |id: &str, command: &str| {
        let function = json!({"name": "bash", "arguments": json!({"command": command}).to_string()});
        json!({"role": "assistant", "content": null, "tool_calls": [{"id": id, "type": "function", "function": function}]})
    };
    let result = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": format!("{id} is done")});
    let messages =
        [call("a", "make a"), call("b", "make b"), result("b"), result("a"), call("c", "make b"), result("c")];
    for (count, expected) in
        [(4, ["`make b` → b is done", "`make a` → a is done"]), (6, ["`make a` → a is done", "`make b` → c is done"])]
    {
        assert_eq!(lines(&digest_of_chat(&messages[..count], 900)), expected);
    }
}

/// A search that found nothing is told last, whatever its tool and its words: before it stands all else that was done.
#[test]
fn a_search_that_found_nothing_is_worth_least() {
    const NOTHING: &str = "No matches found";
    let tool = |name: &str, arguments: Value, result: &str| call(name, &arguments, result);
    let list = || tool("bash", json!({"command": "ls beds"}), &"bed\n".repeat(9));
    for search in [
        tool("Grep", json!({"pattern": "beds"}), NOTHING),
        tool("Glob", json!({"pattern": "*.bed"}), "No files found"),
        tool("search_file_content", json!({"pattern": "beds"}), "No matches found for pattern \"beds\" in path \".\"."),
        tool("bash", json!({"command": "cd src && grep -rn beds ."}), "[exit code 1]"),
        tool("bash", json!({"command": "rg beds"}), "{\"output\":\"\",\"metadata\":{\"exit_code\":1}}"),
        tool("bash", json!({"command": "git ls-files beds"}), ""),
    ] {
        let wide = digest_of_chat(&[list(), search.clone()].concat(), 900);
        assert_eq!(lines(&wide).len(), 2, "{wide}");
        for limit in 30..90 {
            let told = lines(&digest_of_chat(&[list(), search.clone()].concat(), limit));
            assert!(told.is_empty() || told[0].contains("ls beds"), "{limit}: {told:?}");
        }
        // A later round knows it, too.
        let next = [vec![json!({"role": "user", "content": as_message(&wide)})], list()].concat();
        for limit in 40..120 {
            let told = lines(&digest_of_chat(&next, limit));
            assert!(told.is_empty() || told.iter().any(|line| line.contains("ls beds")), "{limit}: {told:?}");
        }
    }
    for (other, result) in [
        ("mkdir beds", ""),
        ("make beds", "No matches found"),
        ("grep -n bed a.md", "3:bed"),
        ("ls beds", "no: beds\n[exit code 2]"),
    ] {
        let digest = digest_of_chat(&[run("wc -l a.md", "9 a.md"), run(other, result)].concat(), 36);
        assert!(lines(&digest).iter().any(|line| line.contains(other)), "{other}: {digest}");
    }
}

/// A call that waits for its result is told as such, and one that the user refused.
#[test]
fn calls_without_a_result_say_so() {
    let open = vec![run("make check", "x")[0].clone()];
    let digest = digest_of_chat(&open, 900);
    assert_eq!(lines(&digest), ["`make check` → no result yet"], "{digest}");
}
