use super::*;
use crate::format::{InsertionPoint, Retention, SummaryMessage, SummaryRole};
use crate::framing;

fn line(rest: &str, id: &str, parent: &str) -> String {
    format!("{{{rest},\"id\":\"{id}\",\"parentId\":\"{parent}\",\"timestamp\":\"t\"}}\n")
}

fn user(text: &str, id: &str, parent: &str) -> String {
    line(&format!(r#""type":"message","message":{{"role":"user","content":"{text}"}}"#), id, parent)
}

fn texts(source: &str) -> Vec<String> {
    let document = framing::read_for_test(source, None, None).expect("a transcript");
    let transcript = &document.transcripts[0];
    assert_eq!(transcript.format.name, "pi");
    transcript.messages.iter().flat_map(|one| one.content.texts()).map(|text| text.decode().into_owned()).collect()
}

const HEADER: &str = "{\"type\":\"session\",\"id\":\"s\",\"timestamp\":\"t\",\"cwd\":\"/\"}\n";

#[test]
fn entries_before_a_compaction_are_not_messages() {
    let old = "{\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":\"TEXT\"}}\n";
    let lines: String = ["a", "b", "c"].map(|text| old.replace("TEXT", text)).concat();
    let compaction = "{\"type\":\"compaction\",\"summary\":\"s\",\"firstKeptEntryIndex\":2,\"tokensBefore\":9}\n";
    let source = format!("{HEADER}{lines}{compaction}{}", old.replace("TEXT", "d"));
    assert_eq!(texts(&source), ["b", "c", "s", "d"]);
    let document = framing::read_for_test(&source, None, None).expect("a transcript");
    assert_eq!(document.transcripts[0].groups, [(0, 2)]);
    let named = compaction.replace("firstKeptEntryIndex\":2", "firstKeptEntryId\":\"c\"");
    let named = named.replace("}\n", ",\"id\":\"e\",\"parentId\":\"c\"}\n");
    let tree = [user("a", "a", ""), user("b", "b", "a"), user("c", "c", "b"), named, user("d", "d", "e")].concat();
    assert_eq!(texts(&format!("{HEADER}{tree}")), ["c", "s", "d"]);
}

#[test]
fn branches_left_behind_are_no_messages_and_a_summary_is_linked_in() {
    let tree = [user("a", "1", ""), user("b", "2", "1"), user("c", "3", "1"), user("d", "4", "3")].concat();
    let source = format!("{HEADER}{tree}");
    assert_eq!(texts(&source), ["a", "c", "d"]);
    let document = framing::read_for_test(&source, None, None).expect("a transcript");
    let transcript = &document.transcripts[0];
    let mut gone: Vec<usize> = transcript.messages[..2].iter().map(|message| message.span().start).collect();
    gone.insert(1, transcript.notes[1].json.span().start);
    let summary = SummaryMessage { text: "s", role: SummaryRole::User, name: None, marked: false };
    let lines = FORMAT.write_summary(&summary, &InsertionPoint::in_place_of(transcript, 2, || gone.clone()));
    assert_eq!(
        lines[0].to_string(),
        r#"{"type":"compaction","id":"3","parentId":null,"timestamp":"t","summary":"s","fromHook":true,"firstKeptEntryId":"4","tokensBefore":0}"#
    );
}

#[test]
fn what_is_before_a_torn_link_is_lost_and_stays() {
    let lines = [user("a", "1", ""), user("b", "2", "1"), user("c", "4", "3"), user("d", "5", "4")];
    let source = format!("{HEADER}{}", lines.concat());
    assert_eq!(texts(&source), ["c", "d"]);
    let document = framing::read_for_test(&source, None, None).expect("a transcript");
    let transcript = &document.transcripts[0];
    assert_eq!(transcript.notes.iter().filter(|note| note.retention == Retention::Lost).count(), 2);
    assert!(FORMAT.session.no_longer_loaded(transcript).is_empty());
    let why = FORMAT.refusal(transcript).expect("a reason");
    assert!(why.contains("2 lines are no longer sent") && why.contains("the parent 3 of"), "{why}");
    // A compaction behind the torn link stands for them.
    let compaction = line(r#""type":"compaction","summary":"s","firstKeptEntryId":"5""#, "6", "5");
    let source = format!("{source}{compaction}");
    assert_eq!(texts(&source), ["d", "s"]);
    let document = framing::read_for_test(&source, None, None).expect("a transcript");
    assert_eq!(FORMAT.refusal(&document.transcripts[0]), None);
}

#[test]
fn openclaw_appends_a_line_without_its_parent_to_the_one_before_it() {
    let own = [
        line(r#""type":"custom","customType":"openclaw.cache-ttl""#, "9", ""),
        line(r#""type":"custom","customType":"c","__openclaw":{}"#, "9", ""),
        user("o", "9", "").replace(r#""content""#, r#""provider":"openclaw","content""#),
    ];
    for own in own {
        let lines = [own, user("a", "1", "s"), user("b", "2", "gone"), user("c", "3", "2")].concat();
        let source = format!("{HEADER}{lines}");
        assert!(texts(&source).ends_with(&["a", "b", "c"].map(str::to_owned)), "{source}");
        let document = framing::read_for_test(&source, None, None).expect("a transcript");
        assert!(FORMAT.session.broken_links(&document.transcripts[0]).is_empty());
    }
}

#[test]
fn a_summary_does_not_follow_an_entry_that_follows_it() {
    let custom = line(r#""type":"custom","customType":"c""#, "4", "3");
    let lines = [custom, user("a", "1", ""), user("b", "2", "1"), user("c", "3", "2"), user("d", "5", "4")];
    let source = lines.concat();
    let document = framing::read_for_test(&source, None, None).expect("a transcript");
    let transcript = &document.transcripts[0];
    let gone: Vec<usize> = transcript.messages[..2].iter().map(|message| message.span().start).collect();
    let summary = SummaryMessage { text: "s", role: SummaryRole::User, name: None, marked: false };
    let lines = FORMAT.write_summary(&summary, &InsertionPoint::in_place_of(transcript, 2, || gone.clone()));
    assert_eq!((&lines[0]["id"], &lines[0]["parentId"]), (&json!("2"), &Value::Null));
}

#[test]
fn the_system_prompt_that_is_stored_is_no_message() {
    let prompt = line(
        r#""type":"message","message":{"role":"system","content":"","sections":{"preamble":"You help."},"toolsAdded":[{"name":"read"}]}"#,
        "1",
        "0",
    );
    let source = [prompt.replace("\"0\"", "null"), user("a", "2", "1"), user("b", "3", "2")].concat();
    let document = framing::read_for_test(&source, None, None).expect("a session");
    let transcript = &document.transcripts[0];
    assert_eq!(transcript.messages.iter().map(|one| one.role).collect::<Vec<_>>(), [Role::User, Role::User]);
    assert_eq!(transcript.notes[0].retention, Retention::Latest(sent::SYSTEM_PROMPT));
}
