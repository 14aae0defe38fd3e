//! Checks that OpenAI would accept what is left of its reasoning: an item with an id needs its reasoning item, and a
//! reasoning item with an id needs the item behind it. Generated responses in every place that holds items.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::all_cases::{Sample, one_in};
use crate::bricks::talk::{Below, choices};
use crate::whole::process;

/// Items of the model: their type, the prefix of their ids, and the type of the client's answer.
const ITEMS: [(&str, &str, Option<&str>); 11] = [
    ("message", "msg", None),
    ("function_call", "fc", Some("function_call_output")),
    ("custom_tool_call", "ctc", Some("custom_tool_call_output")),
    ("local_shell_call", "lsh", Some("local_shell_call_output")),
    ("computer_call", "cu", Some("computer_call_output")),
    ("apply_patch_call", "apc", Some("apply_patch_call_output")),
    ("web_search_call", "ws", None),
    ("file_search_call", "fs", None),
    ("code_interpreter_call", "ci", None),
    ("image_generation_call", "ig", None),
    ("mcp_call", "mcp", None),
];

fn words(below: &mut Below<'_>) -> String {
    "the export waits for a lock of the parcel service. ".repeat(1 + below(12))
}

fn item(below: &mut Below<'_>, number: usize) -> (Value, Option<Value>) {
    let (kind, prefix, answer) = ITEMS[below(ITEMS.len())];
    let mut item = json!({"type": kind, "id": format!("{prefix}_{number}"), "status": "completed"});
    let more = match kind {
        "message" => {
            json!({"role": "assistant", "content": [{"type": "output_text", "text": words(below), "annotations": []}]})
        }
        "custom_tool_call" => json!({"name": "patch", "input": words(below)}),
        "function_call" => json!({"name": "run", "arguments": json!({"cmd": words(below)}).to_string()}),
        _ => json!({"action": {"type": "exec", "command": ["ls", words(below)]}}),
    };
    let members = item.as_object_mut().expect("an object");
    members.extend(more.as_object().expect("an object").clone());
    let call = format!("call_{number}");
    let output = answer.map(|kind| {
        members.insert("call_id".to_owned(), json!(call));
        json!({"type": kind, "call_id": call, "output": words(below)})
    });
    // Some programs store no ids.
    if below(6) == 0 {
        members.remove("id");
    }
    (item, output)
}

/// Items of some turns: in each the user, and responses with reasoning before their items.
fn items(below: &mut Below<'_>) -> Vec<Value> {
    let mut items = Vec::new();
    for _ in 0..1 + below(4) {
        items.push(json!({"role": "user", "content": [{"type": "input_text", "text": words(below)}]}));
        for _ in 0..1 + below(3) {
            let mut outputs = Vec::new();
            for _ in 0..1 + below(3) {
                if below(4) > 0 {
                    let number = items.len();
                    let mut reasoning = json!({"type": "reasoning", "id": format!("rs_{number}"),
                        "summary": [{"type": "summary_text", "text": words(below)}]});
                    if below(2) == 0 {
                        reasoning["encrypted_content"] = json!("gAAAA".repeat(1 + below(400)));
                    }
                    items.push(reasoning);
                }
                let (item, output) = item(below, items.len());
                // A call that nobody answered is for --repair.
                outputs.extend(output.filter(|_| below(12) > 0));
                items.push(item);
            }
            items.extend(outputs);
        }
    }
    items
}

/// The items behind which each item with an id must stand, and those that must stand behind it.
fn bonds(items: &[Value]) -> HashMap<String, (Option<String>, Option<String>)> {
    let of_model = |item: &Value| {
        item.get("call_id").is_none_or(|_| !item["type"].as_str().is_some_and(|kind| kind.ends_with("_output")))
            && item["role"] != "user"
    };
    let id = |item: &Value| item["id"].as_str().map(str::to_owned);
    let mut found = HashMap::new();
    let mut reasoning: Option<String> = None;
    for (index, item) in items.iter().enumerate() {
        if !of_model(item) {
            reasoning = None;
        } else if item["type"] == "reasoning" {
            reasoning = id(item);
            found.extend(
                id(item).map(|own| (own, (None, items.get(index + 1).filter(|next| of_model(next)).and_then(id)))),
            );
        } else {
            found.extend(id(item).map(|own| (own, (reasoning.clone(), None))));
        }
    }
    found
}

/// Checks that OpenAI accepts the items that are left.
fn assert_accepted(before: &[Value], after: &[Value], context: &str) {
    let bonds = bonds(before);
    let place = |id: &str| after.iter().position(|item| item["id"] == id);
    for (at, item) in after.iter().enumerate() {
        let Some((reasoning, next)) = item["id"].as_str().and_then(|id| bonds.get(id)) else { continue };
        if let Some(reasoning) = reasoning {
            assert!(
                place(reasoning) < Some(at) && place(reasoning).is_some(),
                "{item} without its reasoning: {context}"
            );
        }
        if let Some(next) = next {
            let is_next = after.get(at + 1).is_some_and(|behind| behind["id"] == **next);
            assert!(is_next || place(next).is_none() && follows(after, at), "{item} without its item: {context}");
        }
    }
}

/// Whether the model made what is behind an item.
fn follows(items: &[Value], at: usize) -> bool {
    items.get(at + 1).is_some_and(|next| {
        next["role"] != "user" && !next["type"].as_str().is_some_and(|kind| kind.ends_with("_output"))
    })
}

/// Places that hold items: a text around them, and the way to them in it.
const PLACES: [&str; 6] = ["list", "lines", "request", "deployment", "response", "codex"];

fn write(items: &[Value], place: &str) -> String {
    let line = |item: &Value| match place {
        "codex" => {
            json!({"timestamp": "2026-01-01T00:00:00.000Z", "type": "response_item", "payload": item}).to_string()
        }
        _ => item.to_string(),
    };
    match place {
        "lines" | "codex" => items.iter().map(|item| line(item) + "\n").collect(),
        "request" => json!({"model": "gpt-5", "input": items}).to_string(),
        "deployment" => json!({"model": "team-deployment-3", "input": items, "store": true}).to_string(),
        "response" => json!({"object": "response", "model": "my-model", "output": items}).to_string(),
        _ => json!(items).to_string(),
    }
}

fn read(text: &str, place: &str) -> Vec<Value> {
    let lines = || text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let member = |key: &str| {
        let value: Value = serde_json::from_str(text).expect("JSON");
        value[key].as_array().expect("items").clone()
    };
    match place {
        "codex" => lines().map(|mut line| line["payload"].take()).collect(),
        "lines" => lines().collect(),
        "request" | "deployment" => member("input"),
        "response" => member("output"),
        _ => serde_json::from_str(text).expect("JSON"),
    }
}

#[test]
fn openai_accepts_what_is_left_of_its_reasoning() {
    let ways: [&[&str]; 13] = [
        &["--prune=thinking", "-m=none", "--keep=messages:1"],
        &["--prune=all", "-m=none", "--keep=messages:3"],
        &["--prune=thinking", "-m=none", "--keep=messages:1", "--for=gpt-5"],
        &["--prune=thinking", "--keep=messages:1", "--for=claude-sonnet-5-5"],
        &["--prune=all", "--keep=messages:5", "--thinking=drop"],
        &["--thinking=drop", "--keep=turns:1"],
        &["--keep=messages:4", "--pin=match:call"],
        &["--keep=tokens:300", "--pin=first:3"],
        &["--fit=tokens:500"],
        &["--fit=tokens:900", "--keep=messages:2"],
        &["--fit=tokens:700", "-m=none"],
        &["--fit=fraction:0.5", "--context-window=2000", "--thinking=drop"],
        &["--repair=drop", "--keep=messages:3", "--prune=thinking"],
    ];
    let (mut changed, mut sample) = (0, Sample::default());
    for seed in 0..25 {
        let mut below = choices(seed);
        let items = items(&mut below);
        for place in PLACES {
            let source = write(&items, place);
            for way in ways.into_iter().filter(|_| sample.takes_next()) {
                let from = if place == "codex" { "--from=codex" } else { "--from=openai-responses" };
                let arguments: Vec<String> = way.iter().chain([&from]).map(|word| (*word).to_owned()).collect();
                let Ok(done) = process(&arguments, &source) else { continue };
                changed += usize::from(done.text != source);
                assert_accepted(
                    &items,
                    &read(&done.text, place),
                    &format!("{seed} {place} {way:?}\n{}\n{source}", done.text),
                );
            }
        }
    }
    assert!(changed * one_in() > 400, "{changed}");
}

/// Where no item has an id, the provider cannot tell which reasoning belongs to which.
#[test]
fn reasoning_without_ids_can_go() {
    let mut items = items(&mut choices(3));
    items.iter_mut().filter_map(Value::as_object_mut).for_each(|item| drop(item.remove("id")));
    items.push(json!({"role": "user", "content": "Go on."}));
    let arguments = ["--prune=thinking", "-m=none", "--keep=messages:1"].map(str::to_owned);
    let done = process(&arguments, &write(&items, "codex")).expect("a result");
    assert!(done.text.len() < write(&items, "codex").len() && !done.text.contains("\"reasoning\""), "{}", done.text);
}
