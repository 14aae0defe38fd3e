use super::*;
use crate::format::{InsertionPoint, Retention, SummaryMessage, SummaryRole};
use crate::framing;
use crate::view::{Arena, view};

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
        assert!(FORMAT.session.broken_links(&document.transcripts[0]).found.is_empty());
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

fn edit(target: &str, replacement: &str, id: &str, parent: &str) -> String {
    line(&format!(r#""type":"context_edit","targetId":"{target}","replacement":{replacement}"#), id, parent)
}

#[test]
fn what_a_context_edit_leaves_out_is_a_note_that_goes_before_the_edit() {
    let left_out = [user("a", "1", ""), user("b", "2", "1"), edit("2", "null", "3", "2"), user("c", "4", "3")].concat();
    assert_eq!(texts(&left_out), ["a", "c"]);
    let document = framing::read_for_test(&left_out, None, None).expect("a transcript");
    let retentions: Vec<Retention> = document.transcripts[0].notes.iter().map(|note| note.retention).collect();
    assert_eq!(retentions, [Retention::Obsolete, Retention::WithPrevious]);
}

#[test]
fn the_last_context_edit_of_an_entry_on_the_path_counts() {
    let (a, b) = (user("a", "1", ""), user("b", "2", "1"));
    let (none, other) = ("null", r#"{"content":"x"}"#);
    for (first, second, expected) in
        [(none, other, &["a", "x", "c"][..]), (other, none, &["a", "c"]), (none, none, &["a", "c"])]
    {
        let edits = [edit("2", first, "3", "2"), edit("2", second, "4", "3")].concat();
        assert_eq!(texts(&[&a, &b, &edits, &user("c", "5", "4")].map(String::as_str).concat()), expected);
    }
    // On a branch that was left, of an entry that is not there, and without a replacement.
    let absent = edit("2", none, "3", "2").replace(r#","replacement":null"#, "");
    for (edit, parent) in [(edit("2", none, "3", "2"), "2"), (edit("9", none, "3", "2"), "3"), (absent, "3")] {
        assert_eq!(texts(&[&a, &b, &edit, &user("c", "5", parent)].map(String::as_str).concat()), ["a", "b", "c"]);
    }
}

#[test]
fn a_result_is_read_with_the_content_that_is_sent() {
    let call = line(
        r#""type":"message","message":{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"bash","arguments":{}}]}"#,
        "2",
        "1",
    );
    let result = line(
        r#""type":"message","message":{"role":"toolResult","toolCallId":"c","isError":true,"content":[{"type":"text","text":"old"}]}"#,
        "3",
        "2",
    );
    let replaced = edit("3", r#"{"content":[{"type":"text","text":"new"}]}"#, "4", "3");
    let source = [user("a", "1", ""), call, result, replaced, user("b", "5", "4")].concat();
    assert_eq!(texts(&source), ["a", "new", "b"]);
    let document = framing::read_for_test(&source, None, None).expect("a transcript");
    let transcript = &document.transcripts[0];
    assert_eq!(transcript.pairing.pairs, [(1, 2)]);
    assert_eq!(transcript.notes[0].retention, Retention::With(2));
    let message = &transcript.messages[2];
    let output = FORMAT.result_output(message, &message.results[0]).expect("a result");
    assert!(output.value.raw().contains("new") && output.failed, "{output:?}");
    // A view has no other entries, and edits of what is sent are seen in it.
    let arena = Arena::default();
    for (old, new, expected) in [("\"a\"", "\"x\"", ["x", "new", "b"]), ("\"new\"", "\"y\"", ["a", "y", "b"])] {
        let start = source.find(old).expect("it says so");
        let edits = [Edit { range: start..start + old.len(), text: new.to_owned() }];
        let read = view(transcript, &edits, &arena).expect("a conversation");
        let texts: Vec<_> = read.messages.iter().flat_map(|one| one.content.texts()).map(|one| one.decode()).collect();
        assert_eq!(texts, expected);
    }
}

#[test]
fn calls_are_read_from_the_content_that_is_sent() {
    let call = |name: &str| format!(r#"[{{"type":"toolCall","id":"{name}","name":"bash","arguments":{{}}}}]"#);
    let answer = format!(r#""type":"message","message":{{"role":"assistant","content":{}}}"#, call("c"));
    let replaced = edit("2", &format!(r#"{{"content":{}}}"#, call("d")), "3", "2");
    let source = [user("a", "1", ""), line(&answer, "2", "1"), replaced].concat();
    let document = framing::read_for_test(&source, None, None).expect("a transcript");
    let calls = &document.transcripts[0].messages[1].calls;
    assert_eq!(calls.iter().filter_map(|call| call.id).map(|id| id.decode()).collect::<Vec<_>>(), ["d"]);
}

#[test]
fn a_command_and_a_summary_keep_their_content() {
    let command = line(r#""type":"message","message":{"role":"bashExecution","command":"ls","output":"o"}"#, "2", "1");
    let summary = line(r#""type":"branch_summary","fromId":"9","summary":"s""#, "3", "2");
    let edits = ["2", "3"].map(|target| edit(target, r#"{"content":"x"}"#, &format!("e{target}"), "3")).concat();
    let source = [
        user("a", "1", ""),
        command,
        summary,
        edits.replace(r#""id":"e3","parentId":"3""#, r#""id":"e3","parentId":"e2""#),
    ];
    assert_eq!(texts(&source.concat()), ["a", "ls", "o", "s"]);
}

#[test]
fn a_session_without_its_last_compaction_stays_as_it_is() {
    let compaction = line(r#""type":"compaction","summary":"s","firstKeptEntryId":"2""#, "3", "2");
    let source = [user("a", "1", ""), user("b", "2", "1"), compaction].concat();
    for (replacement, is_refused) in [("null", true), (r#"{"content":"x"}"#, false)] {
        let source = [&source, &edit("3", replacement, "4", "3"), &user("c", "5", "4")].map(String::as_str).concat();
        let document = framing::read_for_test(&source, None, None).expect("a transcript");
        assert_eq!(FORMAT.refusal(&document.transcripts[0]).is_some(), is_refused);
        assert_eq!(texts(&source), ["b", "s", "c"]);
    }
}

#[test]
fn an_edit_of_what_a_compaction_kept_counts_behind_it() {
    let compaction = line(r#""type":"compaction","summary":"s","firstKeptEntryId":"2""#, "3", "2");
    let lines = [user("a", "1", ""), user("b", "2", "1"), compaction, edit("2", "null", "4", "3"), user("c", "5", "4")];
    assert_eq!(texts(&lines.concat()), ["s", "c"]);
}
