//! Sessions as agents write them, through more than one room: their rules, their cuts, their texts.

use serde_json::json;

use crate::plan::breaches::breaches;
use crate::plan::size::Size;
use crate::plan::{CutPolicy, plan};
use crate::presets::buffer::Buffer;
use crate::presets::pairs::moved_cut;
use crate::rewrite::{apply, splice};
use crate::tokens::{Counter, Tally};
use crate::transcript::framing::read_for_test as read;

fn line(id: u8, parent: u8, role: &str, content: &str) -> String {
    let parent = if parent == 0 { "null".to_owned() } else { format!("\"u{parent}\"") };
    let message = format!(r#"{{"id":"m","role":"{role}","content":{content}}}"#);
    format!(
        "{{\"parentUuid\":{parent},\"cwd\":\"/w\",\"sessionId\":\"s\",\"type\":\"{role}\",\"message\":{message},\"uuid\":\"u{id}\"}}\n"
    )
}

#[test]
fn lines_that_were_written_again_break_no_rule() {
    let first = line(1, 0, "user", r#""a""#);
    let call = line(2, 1, "assistant", r#"[{"type":"tool_use","id":"c","name":"f","input":{}}]"#);
    let result = line(3, 2, "user", r#"[{"type":"tool_result","tool_use_id":"c","content":"r"}]"#);
    let end = line(4, 3, "user", r#""b""#);
    for lines in [
        vec![&first, &call, &result, &end],
        vec![&first, &call, &call, &result, &result, &end],
        vec![&first, &call, &result, &first, &call, &result, &end],
        vec![&first, &call, &result, &end, &call],
    ] {
        let source: String = lines.into_iter().map(String::as_str).collect();
        let document = read(&source, None, None).expect("a session");
        assert_eq!(breaches(&document.transcripts[0]).len(), 0, "{source}");
    }
}

#[test]
fn a_task_that_another_agent_hands_over_breaks_no_rule() {
    let item = |payload: &str| format!("{{\"timestamp\":\"t\",\"type\":\"response_item\",\"payload\":{payload}}}\n");
    let said = |role: &str| {
        item(&format!(r#"{{"type":"message","role":"{role}","content":[{{"type":"input_text","text":"a"}}]}}"#))
    };
    let handoff = item(r#"{"type":"function_call_output","name":"handoff","output":"Check the list."}"#);
    let source = [said("user"), handoff, said("assistant")].concat();
    let document = read(&source, None, None).expect("a session");
    assert_eq!(document.transcripts[0].format.name, "codex");
    assert_eq!(breaches(&document.transcripts[0]).len(), 0, "{source}");
}

#[test]
fn a_copy_goes_with_its_message() {
    let [a, b, c] = [
        line(1, 0, "user", r#""a""#),
        line(2, 1, "assistant", r#"[{"type":"text","text":"b"}]"#),
        line(3, 2, "user", r#""c""#),
    ];
    let source = [a.clone(), b, c.clone(), a].concat();
    let document = read(&source, None, None).expect("a transcript");
    let transcript = &document.transcripts[0];
    assert_eq!(transcript.messages.len(), 3);
    let policy = CutPolicy { pins: Vec::new(), ..CutPolicy::keeping(Size::Messages(1)) };
    let tally = Tally::new(Counter::APPROX, &transcript.messages);
    let plan = plan(transcript, &tally, &policy, moved_cut);
    assert_eq!(apply(&source, &splice(transcript, &plan, &[json!({})])), format!("{{}}\n{c}"));
}

#[test]
fn media_beside_a_response_of_gemini_are_named() {
    let source = r#"[{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":"o"},
        "parts":[{"inlineData":{"mimeType":"image/png","data":"AAAA"}}]}},{"fileData":{"fileUri":"gs://a/b","mimeType":"text/plain"}}]}]"#;
    let document = read(source, None, None).expect("a transcript");
    let shown = Buffer::Own.write(&document.transcripts[0].messages);
    assert!(shown.contains("\no\n[image/png, 3 bytes]") && shown.contains("gs://a/b"), "{shown}");
}
