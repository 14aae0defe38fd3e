//! What bricks a session: calls with one id, lone surrogates, blank texts; and results that still hold such things.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::batch::within;
use crate::program::{Run, piped};
use crate::support::tree;

fn checked(source: &str) -> Vec<String> {
    let run = piped(&["check"], source);
    let lines = run.stderr.lines().filter_map(|line| line.strip_prefix("tcompact: standard input: message "));
    let lines: Vec<String> = lines.map(str::to_owned).collect();
    assert_eq!(run.code, if lines.is_empty() { 0 } else { 6 }, "{run:?}");
    lines
}

/// Repairs a source in both ways, which must give one result that is without violations, and returns it.
fn repaired(source: &str) -> String {
    let repair = |how| piped(&["--repair", how, "--trigger", "messages:1000"], source);
    let (one, other): (Run, Run) = (repair("drop"), repair("synthesize"));
    assert_eq!((one.code, &one.stdout), (0, &other.stdout), "{one:?} {other:?}");
    assert_eq!(checked(&one.stdout), [] as [&str; 0], "{one:?}");
    one.stdout
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

/// A conversation of the Messages API, each turn with calls, given by their ids and arguments, and their results.
fn anthropic(turns: &[&[(&str, &str, &str)]]) -> String {
    let mut messages = vec![json!({"role": "user", "content": "Read them."})];
    for calls in turns {
        let call = |(id, path, _): &(&str, &str, &str)| json!({"type": "tool_use", "id": id, "name": "Read", "input": {"path": path}});
        let result =
            |(id, _, text): &(&str, &str, &str)| json!({"type": "tool_result", "tool_use_id": id, "content": text});
        messages.push(json!({"role": "assistant", "content": calls.iter().map(call).collect::<Vec<_>>()}));
        let results: Vec<Value> = calls.iter().filter(|call| !call.2.is_empty()).map(result).collect();
        messages.push(json!({"role": "user", "content": results}));
    }
    messages.push(json!({"role": "assistant", "content": "Done."}));
    Value::from(messages).to_string()
}

/// Wherever the result would go, a repair that would leave nothing writes nothing.
#[test]
fn a_repair_that_would_leave_nothing_writes_nothing() {
    const REFUSAL: &str = "--repair would leave nothing: there are only results without calls";
    let orphan = r#"{"role": "tool", "content": "x", "tool_call_id": "c"}"#;
    let sound = r#"{"messages": [{"role": "user", "content": "u"}]}"#;
    let alone = format!(r#"{{"messages": [{orphan}]}}"#);
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    fs::create_dir(root.join("in")).expect("made");
    for (name, text) in [
        ("alone.json", alone.clone()),
        ("list.json", format!("[{orphan}, {orphan}]")),
        ("lines.jsonl", format!("{orphan}\n{orphan}\n")),
        ("many.jsonl", format!("{sound}\n{alone}\n")),
        ("sound.json", sound.to_owned()),
    ] {
        fs::write(root.join("in").join(name), text).expect("written");
    }
    fs::write(root.join("old.json"), "old").expect("written");
    let before = tree(root);
    let repair = ["--repair", "drop", "--trigger", "messages:99"];
    for name in ["in/alone.json", "in/list.json", "in/lines.jsonl"] {
        for more in [
            &[][..],
            &["-o", "old.json"],
            &["-o", "new.json"],
            &["--in-place"],
            &["--in-place=.bak"],
            &["--archive", "archive.jsonl"],
            &["--dry-run"],
            &["--diff"],
        ] {
            let run = within(root, &[&repair, more, &[name]].concat());
            assert_eq!((run.code, run.stdout.as_str()), (1, ""), "{name} {more:?}: {run:?}");
            assert_eq!(run.stderr, format!("tcompact: {name}: {REFUSAL}\n"), "{more:?}");
            assert!(tree(root) == before, "{name} {more:?}");
        }
    }
    for more in [["-o", "new.jsonl"], ["-o", "old.json"]] {
        let run = within(root, &[&repair[..], &more, &["in/many.jsonl"]].concat());
        assert!(run.code == 1 && run.stderr.starts_with(&format!("tcompact: in/many.jsonl:2: {REFUSAL}\n")), "{run:?}");
        assert!(tree(root) == before, "{more:?}");
    }
    let run = within(root, &[&repair[..], &["--in-place", "in"]].concat());
    assert_eq!((run.code, run.stderr.matches(REFUSAL).count()), (7, 4), "{run:?}");
    let run = within(root, &[&repair[..], &["--output-dir", "out", "in"]].concat());
    assert_eq!((run.code, run.stderr.matches(REFUSAL).count()), (7, 4), "{run:?}");
    let written: Vec<PathBuf> = tree(&root.join("out")).into_keys().collect();
    assert_eq!(written, [PathBuf::from("sound.json")]);
    assert!(tree(&root.join("in")) == tree_of(&before, "in"));
}

/// The files of a folder in a tree.
fn tree_of(tree: &BTreeMap<PathBuf, Vec<u8>>, folder: &str) -> BTreeMap<PathBuf, Vec<u8>> {
    let inside = |path: &PathBuf| path.strip_prefix(folder).ok().map(Path::to_owned);
    tree.iter().filter_map(|(path, bytes)| Some((inside(path)?, bytes.clone()))).collect()
}

fn plain(source: &str) -> String {
    source.to_owned()
}

fn bedrock(source: &str) -> String {
    let mut messages = parsed(source);
    for message in messages.as_array_mut().expect("messages") {
        let blocks = match message["content"].as_array() {
            None => vec![json!({"text": message["content"]})],
            Some(blocks) => blocks
                .iter()
                .map(|block| match block["type"].as_str() {
                    Some("tool_use") => json!({"toolUse": {"toolUseId": block["id"], "name": "Read", "input": block["input"]}}),
                    _ => json!({"toolResult": {"toolUseId": block["tool_use_id"], "content": [{"text": block["content"]}]}}),
                })
                .collect(),
        };
        message["content"] = json!(blocks);
    }
    messages.to_string()
}

/// A session of Claude Code with a line for each message.
fn claude_code(source: &str) -> String {
    let mut parent = Value::Null;
    let mut lines = String::new();
    for (index, message) in parsed(source).as_array().expect("messages").iter().enumerate() {
        let id = format!("u{index}");
        let line = json!({"parentUuid": parent, "sessionId": "s", "type": message["role"], "message": message, "uuid": id, "timestamp": "t"});
        lines.push_str(&format!("{line}\n"));
        parent = json!(id);
    }
    lines
}

fn occurrences(text: &str, id: &str) -> usize {
    text.matches(&format!("\"{id}\"")).count()
}

#[test]
fn calls_with_one_id_are_told_apart() {
    const ONE: &str = "a call with the id of an earlier one (d): the ids of calls must be unique";
    let copies = anthropic(&[&[("d", "a", "1"), ("d", "a", "1")]]);
    let without_second = anthropic(&[&[("d", "a", "1"), ("d", "a", ""), ("e", "b", "2")]]);
    let others = anthropic(&[&[("d", "a", "1"), ("d", "b", "2")]]);
    let turns = anthropic(&[&[("d", "a", "1")], &[("d", "b", "2")], &[("d", "b", "2")]]);
    let again = anthropic(&[&[("d", "a", "1")], &[("d", "a", "2")], &[("d_2", "b", "3")]]);
    for write in [plain, bedrock, claude_code] {
        assert_eq!(checked(&write(&copies)), [format!("1: {ONE}")]);
        let text = repaired(&write(&copies));
        assert_eq!(occurrences(&text, "d"), 2, "the copy goes with its result: {text}");
        let text = repaired(&write(&without_second));
        assert_eq!((occurrences(&text, "d"), occurrences(&text, "e")), (2, 2), "{text}");
        // Another call keeps its own result, in the order of the calls.
        let text = repaired(&write(&others));
        assert_eq!((occurrences(&text, "d"), occurrences(&text, "d_2")), (2, 2), "{text}");
        let result = text.rfind("\"d_2\"").expect("its result");
        assert!(text[result..].contains("\"2\"") && !text[result..].contains("\"1\""), "{text}");
        assert_eq!(checked(&write(&turns)), [format!("3: {ONE}"), format!("5: {ONE}")]);
        let text = repaired(&write(&turns));
        assert_eq!(
            (occurrences(&text, "d"), occurrences(&text, "d_2"), occurrences(&text, "d_3")),
            (2, 2, 0),
            "{text}"
        );
        // The same call with another result was made twice, and no new id is one that is there.
        let text = repaired(&write(&again));
        assert_eq!((occurrences(&text, "d_2"), occurrences(&text, "d_3")), (2, 2), "{text}");
        assert_eq!(repaired(&write(&again)), text);
    }
    let long = "x".repeat(64);
    let text = repaired(&bedrock(&anthropic(&[&[(&long, "a", "1"), (&long, "b", "2")]])));
    let ids = parsed(&text);
    let id = ids[1]["content"][1]["toolUse"]["toolUseId"].as_str().expect("an id");
    assert!(id.len() <= 64 && id != long, "{text}");
    // Other providers take an id again once it is answered.
    let chat = |id: &str| json!({"role": "assistant", "content": null, "tool_calls": [{"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}}]});
    let result = json!({"role": "tool", "tool_call_id": "d", "content": "r"});
    let user = json!({"role": "user", "content": "u"});
    assert_eq!(checked(&json!([user, chat("d"), result, user, chat("d"), result]).to_string()), [] as [&str; 0]);
}

#[test]
fn blank_texts_are_filled_or_removed() {
    const BLANK: &str = "an empty or blank text: texts and messages must have content";
    let call = json!({"type": "tool_use", "id": "a", "name": "f", "input": {}});
    let text = |text: &str| json!({"type": "text", "text": text});
    let result = json!({"type": "tool_result", "tool_use_id": "a", "content": [text("")]});
    let source = json!([
        {"role": "user", "content": ""},
        {"role": "assistant", "content": [text(" \n")]},
        {"role": "user", "content": []},
        {"role": "assistant", "content": [text(""), call]},
        {"role": "user", "content": [result, text("")]},
        {"role": "assistant", "content": ""},
    ]);
    let found = checked(&source.to_string());
    assert_eq!(found, [0, 1, 2, 3, 4].map(|index| format!("{index}: {BLANK}")), "the model may say nothing at last");
    let filled = json!([
        {"role": "user", "content": "(no content)"},
        {"role": "assistant", "content": [text("(no content)")]},
        {"role": "user", "content": [text("(no content)")]},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": [text("(no content)")]}]},
        {"role": "assistant", "content": ""},
    ]);
    assert_eq!(parsed(&repaired(&source.to_string())), filled);
    // Claude Code leaves out texts of white space itself.
    let session = claude_code(&source.to_string());
    assert_eq!(checked(&session).len(), 4);
    assert!(repaired(&session).contains(r#""text":" \n""#));
    let source = json!([
        {"role": "user", "content": [{"text": " "}]},
        {"role": "assistant", "content": [{"text": "a"}, {"text": ""}]},
        {"role": "user", "content": []},
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "a", "name": "f", "input": {}}}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "a", "content": [{"text": ""}]}}]},
    ]);
    assert_eq!(checked(&source.to_string()), [0, 1, 2, 4].map(|index| format!("{index}: {BLANK}")));
    let text = repaired(&source.to_string());
    assert_eq!(
        (text.matches("(no content)").count(), parsed(&text)[1]["content"].as_array().map(Vec::len)),
        (3, Some(1)),
        "{text}"
    );
    // Gemini wants parts, and OpenAI a content, which may be an empty text.
    let source = json!({"contents": [{"role": "user", "parts": [{"text": ""}]}, {"role": "model", "parts": []}, {"role": "user", "parts": [{"text": "u"}]}]});
    assert_eq!(checked(&source.to_string()), [format!("1: {BLANK}")]);
    assert_eq!(parsed(&repaired(&source.to_string()))["contents"][1]["parts"], json!([{"text": "(no content)"}]));
    let source = json!([
        {"role": "user", "content": ""}, {"role": "assistant", "content": null}, {"role": "user", "content": "u"},
        {"role": "assistant"}, {"role": "user", "content": "u"}, {"role": "assistant", "content": null, "refusal": "No."},
        {"role": "user", "content": "u"}, {"role": "assistant", "content": null},
    ]);
    assert_eq!(checked(&source.to_string()), [1, 3].map(|index| format!("{index}: {BLANK}")));
    let text = parsed(&repaired(&source.to_string()));
    assert_eq!((&text[1]["content"], &text[3]["content"]), (&json!(""), &json!("")));
}

#[test]
fn lone_surrogates_are_replaced() {
    const LONE: &str = "a lone surrogate, which is half a character: requests with it are refused";
    for (half, kept) in [(r"\ud83d", r"\\ud83d \ud83d\ude00"), (r"\uDE00", r"\\\\ude00")] {
        let chat =
            format!(r#"[{{"role": "user", "content": "a {half} b {kept}"}}, {{"role": "assistant", "content": "x"}}]"#);
        assert_eq!(checked(&chat), [format!("0: {LONE}")]);
        assert_eq!(repaired(&chat), chat.replacen(half, r"\ufffd", 1));
    }
    let source = anthropic(&[&[("d", "PATH", "RESULT")]]).replace("PATH", r"\ud83d");
    for write in [plain, bedrock, claude_code] {
        let written = write(&source.replace(r"\ud83d", "HALF")).replace("HALF", r"\ud83d");
        assert_eq!(checked(&written), [format!("1: {LONE}")], "{written}");
        assert_eq!(repaired(&written), written.replace(r"\ud83d", r"\ufffd"));
    }
    // What Claude Code only shows is not sent.
    let shown = claude_code(&anthropic(&[&[("d", "a", "1")]])).replacen(
        "\"uuid\":\"u2\"",
        r#""toolUseResult":{"stdout":"\ud83d"},"uuid":"u2""#,
        1,
    );
    assert_eq!(checked(&shown), [] as [&str; 0]);
}

#[test]
fn violations_left_in_a_result_are_reported() {
    let source =
        anthropic(&[&[("c", "x", "0")], &[("d", "a", "1"), ("d", "a", "1")], &[("e", "b", "2")], &[("e", "c", "3")]]);
    let line = |left: &str| {
        format!(
            "tcompact: standard input: the result still has {left} of its provider's rules, which tcompact check prints\n"
        )
    };
    for (keep, left) in [("messages:7", "2 violations"), ("messages:3", "")] {
        let run = piped(&["--accept", "any", "--keep", keep], &source);
        let told = if left.is_empty() { String::new() } else { line(left) };
        assert_eq!((run.code, &run.stderr), (0, &told), "{keep}: {run:?}");
    }
    for more in [&["-q"][..], &["--repair", "drop"], &["-n"], &["--trigger", "messages:1000"]] {
        let run = piped(&[&["--keep", "messages:7"], more].concat(), &source);
        assert!(run.code == 0 && !run.stderr.contains("still has"), "{run:?}");
    }
    // A pruned result is one, too.
    let run = piped(
        &["--prune", "results:0", "-m", "none", "--keep", "messages:1"],
        &source.replace("\"0\"", &format!("\"{}\"", "long ".repeat(200))),
    );
    assert!(run.code == 0 && run.stderr.contains(&line("2 violations")), "{run:?}");
}

#[test]
fn results_that_load_tools_stay_and_a_digest_names_the_tools() {
    let long = "found in the shelf of the hall. ".repeat(60);
    let mut request = parsed(&anthropic(&[&[("s", "x", "REFERENCE")], &[("a", "x", &long)], &[("b", "x", &long)]]));
    let reference = |name: &str| json!({"type": "tool_reference", "tool_name": name});
    request[2]["content"][0]["content"] = json!([reference("Ask"), reference("mcp__notes__find")]);
    let source = request.to_string();
    for rule in ["all", "results:0", "cap:1", "reads"] {
        let run = piped(&["--prune", rule, "-m", "none", "--keep", "messages:1"], &source);
        assert_eq!(parsed(&run.stdout)[2], request[2], "{rule}: {run:?}");
    }
    let run = piped(&["--prune", "results:0", "-m", "none", "--keep", "messages:1"], &source);
    assert_eq!(run.stdout.matches("result removed").count(), 2, "{run:?}");
    let once = piped(&["--keep", "messages:3"], &source);
    assert!(once.stdout.contains(r"\n- [2] Tools loaded: mcp__notes__find, Ask\n"), "{once:?}");
    let twice = piped(&["--keep", "none"], &once.stdout);
    assert!(twice.stdout.contains(r"\n- [1:2] Tools loaded: mcp__notes__find, Ask\n"), "{twice:?}");
    let items = json!([
        {"type": "message", "role": "user", "content": long},
        {"type": "tool_search_call", "call_id": "s", "execution": "client", "arguments": {}},
        {"type": "tool_search_output", "call_id": "s", "execution": "client", "tools": [{"type": "function", "name": "ask", "parameters": {}}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": long}]},
    ]);
    let run = piped(&["--keep", "messages:1", "--emit", "summary"], &items.to_string());
    assert!(run.stdout.contains("- [2] Tools loaded: ask\n"), "{run:?}");
}

/// What a repair cannot mend is said, also where it changes nothing.
#[test]
fn a_repair_says_what_it_leaves() {
    let call = json!({"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let messages = json!([
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "x"},
        {"role": "assistant", "content": "Done.", "reasoning_content": "It is done."},
    ]);
    let request = json!({"model": "kimi-k2-thinking", "messages": messages}).to_string();
    let repaired = piped(&["repair", "drop"], &request);
    assert_eq!((repaired.code, &repaired.stdout), (0, &request));
    let said = "the result still has 1 violation of its provider's rules, which tcompact check prints";
    assert!(repaired.stderr.contains(said), "{repaired:?}");
}
