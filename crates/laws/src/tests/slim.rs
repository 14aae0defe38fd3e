//! What is pruned as unsent changes nothing that is sent: what is counted, what a reader is shown and what the agent walks
//! is the same before and after, nothing is left for a second time, and every byte comes back.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::bricks::{Bricks, file, generated};
use crate::compact::{Section, context_difference, restore, slim};
use crate::lawful::with_document;
use crate::plan::recorded::RecordedSize;
use crate::presets::buffer::Buffer;
use crate::rewrite::apply;
use crate::tests::cases;
use crate::tokens::{Counter, Tally};
use crate::transcript::Transcript;
use crate::transcript::formats::{Format, by_name};
use crate::walks::{AGENTS, sent};
use crate::{FIXTURES, fixtures};

/// A text without what is not sent, and the records that restore it.
pub(super) fn slimmed(source: &str, from: Option<&'static Format>, has_archive: bool) -> (String, Vec<Value>) {
    with_document(source, from, |document| {
        let name = |_: &Transcript<'_>| "session".to_owned();
        let done = slim(document, source.as_bytes(), has_archive, &name);
        let mut records = Vec::new();
        for section in done.archived.sections {
            if let Section::Record(record) = section {
                records.push(serde_json::from_str(&record).expect("JSON"));
            }
        }
        (apply(source, &done.edits), records)
    })
}

/// What is counted and shown of each conversation.
pub(super) fn counted(source: &str, from: Option<&'static Format>) -> Vec<String> {
    with_document(source, from, |document| {
        let mut all = Vec::new();
        for transcript in &document.transcripts {
            let tally = Tally::of(Counter::DEFAULT, transcript, None);
            let sizes: Vec<u64> = (0..transcript.messages.len()).map(|index| tally.message(index)).collect();
            let records = transcript.records();
            let recorded = RecordedSize::of(transcript, &tally);
            all.push(format!("{sizes:?} {} {records:?} {recorded:?}", tally.overhead()));
            all.push(Buffer::Own.write(&transcript.messages));
        }
        all
    })
}

/// Where entries that are sent hold what is not. A `*` stands for each element of a list.
const BESIDE: [&[&str]; 9] = [
    &["data", "result", "detailedContent"],
    &["data", "toolTelemetry"],
    &["info", "summary", "diffs"],
    &["message", "details"],
    &["parts", "*", "state", "metadata"],
    &["toolCallResult"],
    &["toolCalls", "*", "resultDisplay"],
    &["toolUseResult"],
    &["tool_use_result"],
];

/// What the agent sends of the entries that it walks.
pub(super) fn walked(agent: &str, text: &str) -> Vec<Value> {
    let mut walked = sent(agent, text);
    for entry in &mut walked {
        BESIDE.iter().for_each(|path| remove(entry, path));
    }
    walked
}

fn remove(value: &mut Value, path: &[&str]) {
    let [first, rest @ ..] = path else { return };
    match value {
        Value::Array(elements) if *first == "*" => elements.iter_mut().for_each(|element| remove(element, rest)),
        Value::Object(members) if rest.is_empty() => _ = members.remove(*first),
        Value::Object(members) => members.get_mut(*first).into_iter().for_each(|inner| remove(inner, rest)),
        _ => {}
    }
}

/// Checks the law on a text. Returns how many bytes went.
fn assert_law(source: &str, format: &'static Format, about: &str) -> usize {
    let from = Some(format);
    let mut saved = 0;
    for has_archive in [false, true] {
        let (after, records) = slimmed(source, from, has_archive);
        assert!(after.len() <= source.len(), "{about}: {after}");
        saved = source.len() - after.len();
        with_document(source, from, |before| {
            with_document(&after, from, |behind| {
                assert_eq!(before.transcripts.len(), behind.transcripts.len(), "{about}: {after}");
                for (one, other) in before.transcripts.iter().zip(&behind.transcripts) {
                    assert_eq!(context_difference(one, other), None, "{about}: {source}\n{after}");
                }
            });
        });
        assert_eq!(counted(source, from), counted(&after, from), "{about}: {source}\n{after}");
        if AGENTS.contains(&format.name) {
            assert_eq!(walked(format.name, source), walked(format.name, &after), "{about}: {source}\n{after}");
        }
        assert_eq!(slimmed(&after, from, has_archive).0, after, "{about}: again");
        if has_archive {
            assert_eq!(restore(&after, &records).expect("its records"), source, "{about}");
        }
    }
    saved
}

#[test]
fn what_is_sent_of_fixtures_stays() {
    for (name, path) in fixtures::all() {
        let source = fs::read_to_string(&path).expect("a fixture");
        let about = path.display().to_string();
        assert_law(&source, by_name(name).expect("a format"), &about);
    }
    for file in fs::read_dir(Path::new(FIXTURES).join("unsent")).expect("a folder") {
        let path = file.expect("a file").path();
        let file = path.file_name().and_then(|name| name.to_str()).expect("a name");
        let source = fs::read_to_string(&path).expect("a fixture");
        let format = by_name(file.split('.').next().unwrap_or_default()).expect("a format");
        let saved = assert_law(&source, format, file);
        assert!(saved > source.len() / 5, "{file} saves {saved} bytes of {}", source.len());
    }
}

/// A long text of many lines.
fn long(choice: u8) -> String {
    let line = ["a line of output", "größer: 価格", "\u{1F680}\\u00e9 \"quoted\"", ""][usize::from(choice % 4)];
    let lines = [3, 10, 11, 12, 40][usize::from(choice % 5)];
    let text = format!("{line}\n").repeat(lines);
    if choice.is_multiple_of(7) { text.replace('\n', " ") + &"x".repeat(2_500) } else { text }
}

/// A session of Claude Code with copies of results, and with records of requests, prompts and lines about progress, of which
/// some lead on.
pub(super) fn with_copies(source: &str, choices: &[u8]) -> String {
    let mut lines = Vec::new();
    let mut stands_for: Option<(String, String)> = None;
    for (at, line) in serde_json::Deserializer::from_str(source).into_iter::<Value>().enumerate() {
        let mut line = line.expect("JSON");
        let choice = choices[at % choices.len()];
        if line["message"]["content"][0]["type"] == "tool_result" && !choice.is_multiple_of(3) {
            line["toolUseResult"] = match choice % 6 {
                1 => json!({"stdout": long(choice), "stderr": "", "interrupted": false}),
                2 => {
                    json!({"filePath": "a", "originalFile": long(choice), "structuredPatch": [{"lines": vec!["+a"; usize::from(choice)]}]})
                }
                4 => json!({"type": "text", "file": {"content": long(choice), "numLines": choice}}),
                _ => json!(long(choice)),
            };
        }
        if let Some((id, progress)) = stands_for.take()
            && line["parentUuid"] == json!(id)
            && choice.is_multiple_of(2)
        {
            line["parentUuid"] = json!(progress);
        }
        let id = line["uuid"].as_str().map(str::to_owned);
        lines.push(line.to_string());
        if let Some(id) = id.filter(|_| choice % 5 < 2) {
            let between = format!("p{at}");
            let mut line = json!({"parentUuid": id, "sessionId": "s", "uuid": between});
            if choice.is_multiple_of(2) {
                line["type"] = json!("progress");
                line["data"] = json!({"type": "bash_progress", "output": long(choice)});
            } else {
                line["type"] = json!("attachment");
                line["attachment"] = json!({"type": "prompt_snapshot", "systemPrompt": [long(choice)]});
            }
            lines.push(line.to_string());
            stands_for = Some((id, between));
        }
        if choice.is_multiple_of(4) {
            lines.push(json!({"type": "api-request-blob", "hash": choice, "message": long(choice)}).to_string());
            lines.push(json!({"type": "api-request", "sessionId": "s", "tail": [choice]}).to_string());
        }
        if choice.is_multiple_of(11) {
            let snapshot = json!({"type": "file-history-snapshot", "messageId": "m", "snapshot": {"at": long(choice)}});
            lines.push(snapshot.to_string());
        }
    }
    lines.join("\n") + "\n"
}

/// A session of Codex with events, and compactions that replace all before them.
pub(super) fn with_events(source: &str, choices: &[u8]) -> String {
    let event = |payload: Value| json!({"timestamp": "t", "type": "event_msg", "payload": payload}).to_string();
    let mut lines = Vec::new();
    for (at, line) in serde_json::Deserializer::from_str(source).into_iter::<Value>().enumerate() {
        lines.push(line.expect("JSON").to_string());
        let choice = choices[at % choices.len()];
        match choice % 9 {
            0 => lines.push(event(json!({"type": "exec_command_end", "call_id": "c", "stdout": long(choice), "formatted_output": long(choice)}))),
            1 => lines.push(event(json!({"type": "patch_apply_end", "changes": {"a": {"type": "update", "unified_diff": format!("@@ -1 +1 @@\n{}@@ -9 +9 @@\n+a\n", long(choice))}}}))),
            2 => lines.push(event(json!({"type": "token_count", "info": null, "rate_limits": {"used": 1}}))),
            3 => {
                let usage = json!({"input_tokens": 100 + at, "output_tokens": 9, "total_tokens": 109 + at});
                let info = json!({"total_token_usage": usage, "last_token_usage": usage});
                lines.push(event(json!({"type": "token_count", "info": info, "rate_limits": {"used": 1}})));
            }
            4 => lines.push(event(json!({"type": "user_message", "message": "m", "images": [format!("data:image/png;base64,iVBORw0KGgo{}", "A".repeat(600))]}))),
            5 if choice % 2 == 1 => {
                let item = json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": long(choice)}]});
                let payload = json!({"message": "", "replacement_history": [item]});
                lines.push(json!({"timestamp": "t", "type": "compacted", "payload": payload}).to_string());
            }
            6 if choice % 4 == 2 => lines.push(event(json!({"type": "thread_rolled_back", "num_turns": 1}))),
            _ => {}
        }
    }
    lines.join("\n") + "\n"
}

#[test]
fn claude_code_goes_on_with_the_last_prompt_and_what_it_rendered() {
    let words = "Many words of a prompt. ".repeat(20);
    let linked = |id: u8, parent: u8, rest: Value| {
        let mut line = json!({"parentUuid": format!("u{parent}"), "sessionId": "s", "uuid": format!("u{id}")});
        line.as_object_mut().expect("an object").extend(rest.as_object().cloned().unwrap_or_default());
        if parent == 0 {
            line["parentUuid"] = Value::Null;
        }
        line.to_string() + "\n"
    };
    let user = |id, parent| linked(id, parent, json!({"type": "user", "message": {"role": "user", "content": "a"}}));
    let prompt = |id, parent, name: &str| {
        let value = json!({"type": "prompt_snapshot", "systemPrompt": [format!("{name} {words}")]});
        linked(id, parent, json!({"type": "attachment", "attachment": value}))
    };
    let record = |kind: &str| json!({"type": kind, "sessionId": "s", "shape": words}).to_string() + "\n";
    let rendered = json!([{"content": format!("Result: {words}")}]);
    let file = |id, parent, rendered: &Value| {
        let content = json!({"type": "text", "file": {"filePath": "f", "content": format!("file {words}")}});
        let value = json!({"type": "file", "filename": "f", "content": content});
        let members = json!({"type": "attachment", "attachment": value, "rendered": rendered, "renderedRole": "user"});
        linked(id, parent, members)
    };
    let source = [
        user(1, 0),
        prompt(2, 1, "first"),
        record("api-request-shape"),
        record("api-request-blob"),
        record("api-request"),
        file(3, 2, &rendered),
        file(4, 3, &Value::Null),
        prompt(5, 4, "second"),
        user(6, 5),
        prompt(7, 6, "third"),
        user(8, 7),
    ]
    .concat();
    let format = by_name("claude-code").expect("a format");
    assert_law(&source, format, "prompts");
    let (after, _) = slimmed(&source, Some(format), true);
    for (text, stays) in
        [("api-request", 0), ("first", 0), ("second", 0), ("third", 1), ("Result: ", 1), ("file Many", 1)]
    {
        assert_eq!(after.matches(text).count(), stays, "{text}: {after}");
    }
    let (copied, _) = slimmed(&source, Some(format), false);
    assert!(copied.contains("first") && !copied.contains("api-request"), "prompts go only into an archive: {copied}");
}

proptest! {
    #![proptest_config(cases(600))]

    #[test]
    fn what_claude_code_sends_stays(generated in generated(), choices in prop::collection::vec(any::<u8>(), 1..20)) {
        let (source, _) = file(&Bricks::of("claude-code"), &generated, 0);
        // Lines are added to a file of lines; messages of which nobody knows a part stand in a document.
        prop_assume!(source.contains("\"message\"") && !source.starts_with("{\"loglines\""));
        let source = with_copies(&source, &choices);
        assert_law(&source, by_name("claude-code").expect("a format"), "generated");
    }

    #[test]
    fn what_codex_sends_stays(generated in generated(), choices in prop::collection::vec(any::<u8>(), 1..20)) {
        let (source, _) = file(&Bricks::of("codex"), &generated, 0);
        prop_assume!(source.contains("response_item"));
        let source = with_events(&source, &choices);
        assert_law(&source, by_name("codex").expect("a format"), "generated");
    }
}
