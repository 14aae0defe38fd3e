use super::*;
use crate::transcript::format::SummaryRole;
use crate::transcript::framing::tests::read;

fn line(id: u8, parent: u8, rest: &str) -> String {
    let parent = if parent == 0 { "null".to_owned() } else { format!("\"u{parent}\"") };
    format!("{{\"parentUuid\":{parent},\"cwd\":\"/w\",\"sessionId\":\"s\",{rest},\"uuid\":\"u{id}\"}}\n")
}

fn user(id: u8, parent: u8, text: &str) -> String {
    line(id, parent, &format!(r#""type":"user","message":{{"role":"user","content":"{text}"}}"#))
}

fn blocks(id: u8, parent: u8, kind: &str, block: &str) -> String {
    line(id, parent, &format!(r#""type":"{kind}","message":{{"id":"m","role":"{kind}","content":[{block}]}}"#))
}

fn summarized(source: &str, cutoff: usize, gone: &[usize]) -> Vec<Value> {
    let document = read(source, None, None).expect("a transcript");
    let transcript = &document.transcripts[0];
    let gone: Vec<usize> = gone.iter().map(|index| transcript.messages[*index].span().start).collect();
    let summary = SummaryMessage { text: "s", role: SummaryRole::User, name: None, marked: false };
    ClaudeCode.summary(&summary, &InsertionPoint { transcript, cutoff, removed: &|| gone.clone() })
}

#[test]
fn a_message_on_several_lines_and_results_between_stay_together() {
    let call = |id| format!(r#"{{"type":"tool_use","id":"{id}","name":"f","input":{{}}}}"#);
    let result = |id| format!(r#"{{"type":"tool_result","tool_use_id":"{id}","content":"r"}}"#);
    let source = [
        user(1, 0, "a"),
        blocks(2, 1, "assistant", &call("a")),
        blocks(3, 2, "user", &result("a")).replace(r#""id":"m","#, ""),
        blocks(4, 2, "assistant", &call("b")),
        blocks(5, 4, "user", &result("b")).replace(r#""id":"m","#, ""),
        user(6, 5, "b"),
    ]
    .concat();
    let document = read(&source, None, None).expect("a transcript");
    let transcript = &document.transcripts[0];
    assert_eq!(transcript.format.name(), "claude-code");
    assert_eq!(transcript.groups, [(1, 3)]);
    let whole = transcript.pairing.allowed_cuts(&transcript.groups);
    assert_eq!(whole, [true, true, false, false, false, true, true]);
}

#[test]
fn what_is_not_sent_is_no_message() {
    let boundary = line(3, 0, r#""type":"system","subtype":"compact_boundary""#);
    let source = [
        user(1, 0, "old"),
        user(2, 1, "old too"),
        boundary,
        user(4, 3, "summary").replace("\"uuid", "\"isCompactSummary\":true,\"uuid"),
        user(5, 4, "taken back"),
        blocks(6, 5, "assistant", r#"{"type":"text","text":"its answer"}"#),
        user(7, 4, "kept"),
        user(8, 7, "of a sub-agent").replace("\"uuid", "\"isSidechain\":true,\"uuid"),
        "{\"type\":\"custom-title\",\"customTitle\":\"t\"}\n".to_owned(),
    ]
    .concat();
    let document = read(&source, None, None).expect("a transcript");
    let transcript = &document.transcripts[0];
    let texts: Vec<_> = transcript.messages.iter().map(|message| message.content.texts()[0].decode()).collect();
    assert_eq!(texts, ["summary", "kept"]);
    assert_eq!([0, 1].map(|index| transcript.messages[index].earlier), [true, false]);
    let again = [user(5, 4, "kept"), user(6, 5, "behind it")].concat();
    let document = read(Box::leak((source.clone() + &again).into_boxed_str()), None, None).expect("a transcript");
    let texts = document.transcripts[0].messages.iter().map(|message| message.content.texts()[0].decode());
    assert_eq!(texts.collect::<Vec<_>>(), ["summary", "kept", "behind it"], "a line that was written twice");
    let bounds: Vec<Retention> = transcript.notes.iter().map(|note| note.retention).collect();
    let spent = Retention::Obsolete;
    assert_eq!(bounds, [spent, spent, spent, spent, spent, Retention::WithPrevious, Retention::Always]);
}

#[test]
fn a_summary_is_where_the_kept_lines_look_for_their_parent() {
    let source = [user(1, 0, "a"), user(2, 1, "b"), user(3, 2, "c"), user(4, 1, "d").replace("user", "assistant")];
    let source = source.concat();
    let lines = summarized(&source, 2, &[0, 1]);
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert_eq!((&lines[0]["parentUuid"], &lines[0]["logicalParentUuid"]), (&Value::Null, &json!("u2")));
    assert_eq!((&lines[1]["uuid"], &lines[1]["parentUuid"]), (&json!("u2"), &lines[0]["uuid"]));
    assert_eq!((&lines[1]["cwd"], &lines[1]["isCompactSummary"]), (&json!("/w"), &json!(true)));
    assert_eq!((&lines[2]["uuid"], &lines[2]["parentUuid"]), (&json!("u1"), &json!("u2")));
    let pinned = summarized(&source, 2, &[1]);
    let links: Vec<_> = pinned.iter().map(|line| (&line["uuid"], &line["parentUuid"])).collect();
    assert_eq!(links, [(&pinned[0]["uuid"], &Value::Null), (&json!("u2"), &pinned[0]["uuid"])]);
}
