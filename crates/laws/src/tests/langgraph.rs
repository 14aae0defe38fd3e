//! Feeds `--emit update` to LangGraph itself where Python has it, and checks it against LangGraph's rule for messages.
//!
//! `TCOMPACT_PYTHON` names the interpreter, by default `python3`. Tried with LangGraph 1.2.22 on langchain-core 1.7.2.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::Value;

use crate::bricks::{Bricks, Generated, file, generated};
use crate::tests::left_out::left_out;
use crate::whole::process;
use tcompact_base::exit::{Exit, Failure};

/// The formats of messages in a state.
const STATE_FORMATS: [&str; 3] = ["langchain", "openai-chat", "anthropic"];

const KEPT: [&str; 4] = ["messages:1", "messages:2", "messages:6", "tokens:60"];

fn updates(source: &str, keep: &str) -> Vec<Value> {
    let updates =
        match process(&["--emit=update".to_owned(), "--accept=any".to_owned(), format!("--keep={keep}")], source) {
            Ok(processed) => processed.text,
            Err(error) => {
                assert!(error.to_string().contains("leave out --emit update"), "{source}\n{error}");
                return Vec::new();
            }
        };
    let values = serde_json::Deserializer::from_str(&updates).into_iter::<Value>();
    values.map(|update| update.expect("JSON")).filter(|update| !update.is_null()).collect()
}

/// Whether `convert_to_messages` of langchain-core accepts a message. The rule is copied from its source, for machines
/// without it.
fn is_accepted(message: &Value) -> bool {
    let kinds = ["human", "user", "ai", "assistant", "function", "tool", "system", "developer", "remove"];
    let kind = message.get("role").or(message.get("type")).and_then(Value::as_str);
    let known = kind.is_some_and(|kind| kinds.contains(&kind));
    known && message.get("content").is_some() && message.get("data").is_none() && message.get("message_type").is_none()
}

/// LangGraph's response to each update; `None` if it is not installed.
fn run_update_state(updates: &[Value]) -> Option<Vec<String>> {
    let python = std::env::var("TCOMPACT_PYTHON").unwrap_or("python3".to_owned());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/langgraph/update_state.py");
    let mut command = Command::new(&python);
    let child = command.arg("-B").arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let Ok(mut child) = child else {
        left_out("langgraph");
        return None;
    };
    let mut input = child.stdin.take().expect("its input");
    let lines: String = updates.iter().map(|update| format!("{update}\n")).collect();
    let writing = std::thread::spawn(move || {
        // The script ends at once without langgraph.
        let _ = input.write_all(lines.as_bytes());
    });
    let output = child.wait_with_output().expect("it ends");
    writing.join().expect("written");
    if output.status.code() == Some(3) {
        // TCOMPACT_PYTHON names an interpreter that has it.
        left_out("langgraph");
        return None;
    }
    assert!(output.status.success(), "update_state.py fails");
    Some(String::from_utf8(output.stdout).expect("UTF-8").lines().map(str::to_owned).collect())
}

fn assert_accepted(updates: &[Value]) {
    for update in updates {
        let messages = update["messages"].as_array().expect("messages");
        assert_eq!(messages[0]["id"], "__remove_all__", "{update}");
        assert!(messages.iter().all(is_accepted), "{update}");
    }
    let Some(responses) = run_update_state(updates) else { return };
    assert_eq!(responses.len(), updates.len());
    for (update, response) in updates.iter().zip(responses) {
        assert_eq!(response, "ok", "{update}");
    }
}

#[test]
fn a_state_takes_the_update_of_every_fixture() {
    let files = STATE_FORMATS.iter().flat_map(|format| crate::fixtures::of_format(format));
    let sources: Vec<String> = files.filter_map(|file| fs::read_to_string(file).ok()).collect();
    let updates: Vec<Value> =
        sources.iter().flat_map(|source| KEPT.iter().flat_map(|keep| updates(source, keep))).collect();
    assert!(updates.len() > 80, "{} updates", updates.len());
    assert_accepted(&updates);
}

/// Converts a message of `messages_to_dict` to LangChain's other encodings, in Python and in JavaScript.
fn encode(message: &Value, encoding: usize) -> Value {
    const CLASSES: [(&str, &str); 4] =
        [("human", "HumanMessage"), ("ai", "AIMessage"), ("system", "SystemMessage"), ("tool", "ToolMessage")];
    let kind = message["type"].as_str().expect("a type");
    let (_, class) = CLASSES.iter().find(|(known, _)| *known == kind).expect("a known type");
    let mut fields = message["data"].clone();
    let chunk = format!("{class}Chunk");
    match encoding {
        0 => return message.clone(),
        1 => fields["type"] = kind.into(),
        2 => fields["type"] = chunk.as_str().into(),
        3 => {
            fields["type"] = chunk.as_str().into();
            return serde_json::json!({"type": chunk, "data": fields});
        }
        _ => {
            fields.as_object_mut().expect("fields").remove("type");
            let id = ["langchain_core", "messages", if encoding == 4 { class } else { chunk.as_str() }];
            return serde_json::json!({"lc": 1, "type": "constructor", "id": id, "kwargs": fields});
        }
    }
    fields
}

#[test]
fn a_state_takes_the_update_of_generated_conversations_in_every_encoding() {
    let mut runner = TestRunner::deterministic();
    let mut all = Vec::new();
    for format in STATE_FORMATS {
        let bricks = Bricks::of(format);
        for round in 0..12 {
            let mut generated = generated().new_tree(&mut runner).expect("a conversation").current();
            // Foreign parts, which may be allowed where calls are, are tested elsewhere.
            generated.retain(Generated::is_known);
            let (source, _) = file(&bricks, &generated, 0);
            let keep = KEPT[round % KEPT.len()];
            let Some(Value::Array(messages)) = serde_json::from_str(&source).ok().filter(|_| format == "langchain")
            else {
                all.extend(updates(&source, keep));
                continue;
            };
            for encoding in 0..6 {
                let messages: Vec<Value> = messages.iter().map(|message| encode(message, encoding)).collect();
                all.extend(updates(&Value::from(messages).to_string(), keep));
            }
        }
    }
    assert!(all.len() > 40, "{} updates", all.len());
    assert_accepted(&all);
}

/// LangGraph rejects what tcompact rejects, and tcompact does so before it asks the summarizer.
#[test]
fn updates_that_no_state_takes_are_refused() {
    let mut wrong = Vec::new();
    for last in [
        r#"{"role":"exit","content":""}"#,
        r#"{"role":"user","content":"","message_type":"a"}"#,
        r#"{"role":"assistant","content":"","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{"}}]}"#,
        r#"{"role":"assistant","content":"","tool_calls":[{"type":"function","function":{"name":"f","arguments":"{}"}}]}"#,
    ] {
        let first = r#"{"role":"user","content":"What is the time in Oslo now, and what was it an hour ago?"}"#;
        let source = format!("[{first},{first},{first},{last}]");
        for mode in [&[][..], &["--dry-run"]] {
            let arguments = ["--emit=update", "--keep=messages:1", "--summarizer-cmd=exit 9"];
            let arguments: Vec<String> = arguments.iter().chain(mode).map(|word| (*word).to_owned()).collect();
            let error = process(&arguments, &source).err().unwrap_or_else(|| panic!("{source} is taken"));
            assert_eq!(error.downcast_ref::<Failure>().map(|failure| failure.exit), Some(Exit::Unreadable));
            let said = error.to_string();
            assert!(said.contains("message 3 ") && said.contains("a LangGraph state does not accept it"), "{said}");
        }
        let removed = r#"{"role":"remove","content":"","id":"__remove_all__"}"#;
        wrong.push(serde_json::from_str(&format!(r#"{{"messages":[{removed},{last}]}}"#)).expect("JSON"));
    }
    for said in run_update_state(&wrong).into_iter().flatten() {
        assert_ne!(said, "ok");
    }
}
