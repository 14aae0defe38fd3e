//! Lists with `RemoveMessage`, which LangGraph's reducer applies.

use std::fs;

use serde_json::{Value, json};

use crate::all_cases::one_in;
use crate::program::{Run, path, piped, with};

/// Writes a message in an encoding of `LangChain`, or of Chat Completions.
fn message(encoding: usize, kind: &str, id: &str, text: &str) -> Value {
    let fields = json!({"content": text, "type": kind, "id": id});
    let (class, role) = match kind {
        "human" => ("HumanMessage", "user"),
        "ai" => ("AIMessage", "assistant"),
        _ => ("RemoveMessage", "remove"),
    };
    match encoding {
        0 => json!({"type": kind, "data": fields}),
        1 => fields,
        2 => {
            json!({"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", class], "kwargs": fields})
        }
        _ => json!({"role": role, "content": text, "id": id}),
    }
}

fn list(encoding: usize, messages: &[(&str, &str, &str)]) -> Vec<Value> {
    messages.iter().map(|(kind, id, text)| message(encoding, kind, id, text)).collect()
}

/// A list, and what `add_messages` makes of it; without a result it is an error.
type Case = (
    &'static [(&'static str, &'static str, &'static str)],
    Option<&'static [(&'static str, &'static str, &'static str)]>,
);

const CASES: [Case; 11] = [
    (&[("human", "1", "a"), ("remove", "1", "")], Some(&[])),
    (&[("human", "1", "a"), ("ai", "2", "b"), ("remove", "__remove_all__", "")], Some(&[])),
    (&[("human", "1", "a"), ("remove", "1", ""), ("ai", "2", "b")], Some(&[("ai", "2", "b")])),
    (&[("human", "1", "a"), ("ai", "2", "b"), ("remove", "2", "")], Some(&[("human", "1", "a")])),
    (
        &[("human", "1", "a"), ("ai", "2", "b"), ("remove", "__remove_all__", ""), ("human", "3", "c")],
        Some(&[("human", "3", "c")]),
    ),
    (
        &[("remove", "__remove_all__", ""), ("human", "1", "a"), ("ai", "2", "b")],
        Some(&[("human", "1", "a"), ("ai", "2", "b")]),
    ),
    (
        &[("human", "1", "a"), ("ai", "2", "b"), ("human", "1", "new"), ("remove", "2", ""), ("ai", "4", "d")],
        Some(&[("human", "1", "new"), ("ai", "4", "d")]),
    ),
    (
        &[("human", "1", "a"), ("ai", "2", "b"), ("remove", "1", ""), ("human", "1", "again")],
        Some(&[("human", "1", "again"), ("ai", "2", "b")]),
    ),
    (&[("human", "1", "a"), ("ai", "2", "b"), ("human", "1", "x"), ("remove", "1", "")], Some(&[("ai", "2", "b")])),
    (&[("human", "1", "a"), ("remove", "9", "")], None),
    (&[("human", "1", "a"), ("remove", "__remove_all__", ""), ("human", "2", "b"), ("remove", "1", "")], None),
];

fn assert_refused(run: &Run) {
    assert_eq!((run.code, run.stdout.as_str()), (1, ""), "{run:?}");
    assert!(run.stderr.contains("and no message before it has this id; give the whole list of messages"), "{run:?}");
}

#[test]
fn removals_are_applied_as_the_reducer_applies_them() {
    let cases = (0..4).flat_map(|encoding| CASES.map(|case| (encoding, case)));
    for (encoding, (source, expected)) in cases.step_by(one_in()) {
        let source = list(encoding, source);
        let lines: String = source.iter().map(|message| format!("{message}\n")).collect();
        let around = json!({"values": {"messages": source}, "next": []}).to_string();
        for text in [Value::from(source.clone()).to_string(), around, lines] {
            let run = piped(&["--keep=messages:50"], &text);
            let Some(expected) = expected else {
                assert_refused(&run);
                continue;
            };
            let expected = list(encoding, expected);
            let found: Vec<Value> = serde_json::Deserializer::from_str(&run.stdout)
                .into_iter::<Value>()
                .map(|value| value.unwrap_or_else(|error| panic!("{error}: {text} {run:?}")))
                .collect();
            let found = match found.as_slice() {
                [Value::Array(messages)] => messages.clone(),
                [value] if value.get("values").is_some() => {
                    value["values"]["messages"].as_array().expect("a list").clone()
                }
                messages => messages.to_vec(),
            };
            assert_eq!((run.code, &found), (0, &expected), "{text} {run:?}");
            assert!(run.stderr.contains("RemoveMessage removed "), "{run:?}");
            assert_eq!(piped(&["-q", "--keep=messages:50"], &text).stderr, "");
            let count = expected.len();
            let plan: Value = serde_json::from_str(&piped(&["-n", "--json", "-q"], &text).stdout).expect("a plan");
            assert_eq!(plan["messages"], count, "{text}");
            let again = piped(&["--keep=messages:50"], &run.stdout);
            assert_eq!((again.stdout.as_str(), again.stderr.contains("RemoveMessage")), (run.stdout.as_str(), false));
        }
    }
}

#[test]
fn messages_removed_by_updates_are_restored_to_the_byte() {
    let folder = tempfile::tempdir().expect("a folder");
    let long = "Which of the files of this crate has the bug that the tests show? ".repeat(20);
    let messages = |encoding| {
        let kept = [("human", "1", long.as_str()), ("ai", "2", "gone"), ("ai", "3", long.as_str())];
        let end = [("remove", "2", ""), ("human", "3", "in its place"), ("human", "5", "Go on.")];
        Value::from(list(encoding, &[kept, end].concat()))
    };
    for (encoding, layout) in (0..4).flat_map(|encoding| [(encoding, 0), (encoding, 1), (encoding, 2)]) {
        let (value, name) = (messages(encoding), format!("{encoding}-{layout}"));
        let text = match layout {
            0 => serde_json::to_string_pretty(&value).expect("JSON"),
            1 => format!("{value}\n{}\n{value}\n", json!([{"role": "user", "content": "another"}])),
            _ => value.as_array().expect("a list").iter().map(|one| format!(" {one} \r\n")).collect(),
        };
        for keep in ["messages:1", "messages:50"] {
            let place = |end: &str| path(folder.path(), &format!("{name}-{}{end}", keep.replace(':', "-")));
            let (input, archive, output, back) = (place(".json"), place(".a.jsonl"), place(".out"), place(".back"));
            fs::write(&input, &text).expect("written");
            let report = place(".rows");
            let run = with(&["--keep", keep, "--archive", &archive, "-o", &output, "--report", &report, &input]);
            assert_eq!(run.code, 0, "{run:?}");
            let result = fs::read_to_string(&output).expect("a result");
            assert!(!result.contains("gone") && !result.contains("remove"), "{result}");
            let row = fs::read_to_string(&report).expect("rows");
            let row: Value = serde_json::from_str(row.lines().next().expect("a row")).expect("JSON");
            assert_eq!((&row["updated"], &row["status"]), (&json!({"removed": 1, "replaced": 1}), &json!("compacted")));
            let restored = with(&["restore", &archive, &output, "-o", &back]);
            assert_eq!(restored.code, 0, "{name} {keep} {restored:?}");
            assert_eq!(fs::read_to_string(&back).expect("restored"), text, "{name} {keep}");
        }
    }
}

/// What a stream reports is what it writes.
#[test]
fn updates_are_reported_once_and_only_where_they_are_written() {
    let good = Value::from(list(1, &[("human", "1", "a"), ("ai", "2", "b"), ("remove", "1", "")]));
    let bad = Value::from(list(1, &[("human", "1", "a"), ("remove", "9", "")]));
    for (lines, written, code) in
        [(vec![&good, &good], 2, 0), (vec![&good, &bad, &good], 1, 7), (vec![&bad, &good], 0, 1)]
    {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        for words in [&["--lines=conversations"][..], &["--lines=conversations", "--jobs=1"]] {
            let run = piped(words, &text);
            assert_eq!(run.code, code, "{run:?}");
            assert_eq!(run.stderr.matches("RemoveMessage removed 1 message").count(), written, "{run:?}");
            assert_eq!(run.stdout.lines().count(), written, "{run:?}");
        }
    }
}

#[test]
fn a_lookup_reads_a_list_with_removals_and_its_archive() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = |name: &str| path(folder.path(), name);
    let (input, archive, output) = (place("list.json"), place("cut.jsonl"), place("short.json"));
    let messages =
        list(1, &[("human", "1", "gone"), ("ai", "2", "the answer"), ("human", "3", "thanks"), ("remove", "1", "")]);
    let lines: String = messages.iter().map(|message| format!("{message}\n")).collect();
    let all_removed = list(1, &[("human", "1", "the answer"), ("remove", "1", "")]);
    for (text, hits) in [(Value::from(messages).to_string(), 1), (lines, 1), (Value::from(all_removed).to_string(), 0)]
    {
        fs::write(&input, &text).expect("written");
        let run = with(&["search", "answer", "--count", &input]);
        assert_eq!((run.code, run.stdout, run.stderr.as_str()), (3 * i32::from(hits == 0), format!("{hits}\n"), ""));
        if hits > 0 {
            assert_eq!(with(&["show", "0", &input]).stdout, "[0] assistant\n  the answer\n");
        }
    }
    let long = "Which of the files of this crate has the bug that the tests show? ".repeat(20);
    let messages = list(1, &[("human", "1", &long), ("ai", "2", &long), ("human", "3", "x"), ("remove", "2", "")]);
    fs::write(&input, Value::from(messages).to_string()).expect("written");
    let run = with(&["--keep=messages:1", "--archive", &archive, "-o", &output, &input]);
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(fs::read_to_string(&archive).expect("an archive").lines().count(), 2);
    for words in [&["search", "bug"][..], &["show", "1:0"]] {
        let run = with(&[words, &[archive.as_str()]].concat());
        assert!(run.code == 0 && run.stderr.is_empty() && run.stdout.contains("[1:0] user"), "{run:?}");
    }
}

#[test]
fn lines_that_are_all_removed_leave_an_empty_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = |name: &str| path(folder.path(), name);
    let (archive, output) = (place("cut.jsonl"), place("short.jsonl"));
    let lines: String =
        list(1, &[("human", "1", "a"), ("remove", "1", "")]).iter().map(|message| format!("{message}\n")).collect();
    for words in [&[][..], &["--lines=messages"], &["--repair=drop"], &["--archive", &archive]] {
        let run = piped(&[&["-o", &output], words].concat(), &lines);
        assert_eq!((run.code, fs::read_to_string(&output).expect("a result").as_str()), (0, ""), "{run:?}");
    }
    assert_eq!(with(&["restore", &archive, &output]).stdout, lines);
}
