use super::*;
use crate::formats::LinkFault;
use crate::framing::read_for_test;

/// A line with its id, its parent and the rest of it.
fn line(id: &str, parent: &str, rest: &str) -> String {
    let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
    format!(
        r#"{{"uuid":"{id}","parentUuid":{parent},"sessionId":"s","timestamp":"2026-09-01T10:00:00.000Z",{rest},"cwd":"/w"}}"#
    )
}

fn user(text: &str, id: &str, parent: &str) -> String {
    line(id, parent, &format!(r#""type":"user","message":{{"role":"user","parts":[{{"text":"{text}"}}]}}"#))
}

fn system(subtype: &str, id: &str, parent: &str, payload: &str) -> String {
    line(id, parent, &format!(r#""type":"system","subtype":"{subtype}","systemPayload":{payload}"#))
}

fn texts(lines: &[String]) -> Vec<String> {
    let source = lines.join("\n");
    let document = read_for_test(&source, None, None).expect("a transcript");
    let transcript = &document.transcripts[0];
    assert_eq!(transcript.format.name, "qwen-code");
    transcript.messages.iter().map(Message::whole_text).collect()
}

#[test]
fn a_branch_that_was_left_is_no_message() {
    let rewind = system("rewind", "4", "1", "{}");
    let lines = [user("a", "1", ""), user("b", "2", "1"), user("c", "3", "2"), rewind, user("d", "5", "4")];
    assert_eq!(texts(&lines), ["a", "d"]);
}

#[test]
fn lines_of_unknown_types_are_passed_over() {
    let mystery = line("2", "1", r#""type":"mystery","message":{"role":"user","parts":[{"text":"m"}]}"#);
    assert_eq!(texts(&[user("a", "1", ""), mystery, user("b", "3", "1")]), ["a", "b"]);
}

#[test]
fn lines_with_one_id_are_one_message() {
    let lines = [user("a", "1", ""), user("b", "2", "1"), user("c", "2", "1"), user("d", "3", "2")];
    assert_eq!(texts(&lines), ["a", "b", "c", "d"]);
    let source = lines.join("\n");
    let document = read_for_test(&source, None, None).expect("a transcript");
    assert_eq!(document.transcripts[0].groups, [(1, 2)]);
}

#[test]
fn a_compression_takes_the_place_of_all_before_it() {
    let history = r#"{"compressedHistory":[{"role":"user","parts":[{"text":"s"}]}]}"#;
    let lines = [user("a", "1", ""), system("chat_compression", "2", "1", history), user("b", "3", "2")];
    assert_eq!(texts(&lines), ["s", "b"]);
    let kept = r#"{"compressedHistory":[{"role":"user","parts":[{"text":"s"}]},{"role":"model","parts":[{"text":"k"},{"functionCall":{"id":"c","name":"f","args":{"q":"two words"}}}]},{"role":"user","parts":[{"functionResponse":{"id":"c","name":"f","response":{"output":"r"}}}]}]}"#;
    let lines = [user("a", "1", ""), system("chat_compression", "2", "1", kept), user("b", "3", "2")];
    let found = texts(&lines);
    assert!(["s", "k", "two words", "r"].iter().all(|word| found[0].contains(word)), "{found:?}");
    // One without a list has no effect.
    let lines = [user("a", "1", ""), system("chat_compression", "2", "1", "{}"), user("b", "3", "2")];
    assert_eq!(texts(&lines), ["a", "b"]);
}

#[test]
fn the_answer_of_a_command_takes_back_the_command() {
    let answer = |more: &str| {
        let payload = format!(r#"{{"phase":"result","rawCommand":"/stats"{more}}}"#);
        [user("a", "1", ""), user("/stats", "2", "1"), system("slash_command", "3", "2", &payload), user("b", "4", "3")]
    };
    let shown = r#","outputHistoryItems":[{"type":"assistant","text":"t"}]"#;
    assert_eq!(texts(&answer(shown)), ["a", "b"]);
    assert_eq!(texts(&answer(&format!("{shown},\"sentToModel\":true"))), ["a", "/stats", "b"]);
    assert_eq!(texts(&answer("")), ["a", "/stats", "b"]);
    // A record of the command before its answer says that the terminal took it, and what was typed before is the user's.
    let payload = |phase: &str| format!(r#"{{"phase":"{phase}","rawCommand":"/stats"{shown}}}"#);
    let lines = [
        user("a", "1", ""),
        user("/stats", "2", "1"),
        system("slash_command", "3", "2", &payload("invocation")),
        system("slash_command", "4", "3", &payload("result")),
        user("b", "5", "4"),
    ];
    assert_eq!(texts(&lines), ["a", "/stats", "b"]);
}

#[test]
fn results_of_calls_of_a_program_are_not_sent() {
    let inner = r#""type":"tool_result","subtype":"code_mode_tool_result","message":{"role":"user","parts":[{"functionResponse":{"id":"c:1","name":"f","response":{"output":"r"}}}]}"#;
    assert_eq!(texts(&[user("a", "1", ""), line("2", "1", inner), user("b", "3", "2")]), ["a", "b"]);
}

#[test]
fn a_missing_parent_ends_the_way_and_is_named() {
    let lines = [user("a", "1", ""), user("b", "3", "2"), user("c", "4", "3")];
    assert_eq!(texts(&lines), ["b", "c"]);
    let source = lines.join("\n");
    let document = read_for_test(&source, None, None).expect("a transcript");
    let loose = FORMAT.session.broken_links(&document.transcripts[0]).found;
    assert_eq!(loose.len(), 1);
    assert_eq!((loose[0].fault, loose[0].parent.as_deref()), (LinkFault::Missing, Some("1")));
}

#[test]
fn what_is_before_a_torn_link_is_lost_and_stays() {
    let lines = [user("a", "1", ""), user("b", "2", "1"), "{\"uuid\":\"3\",".to_owned(), user("c", "4", "3")];
    assert_eq!(texts(&lines), ["c"]);
    let source = lines.join("\n");
    let document = read_for_test(&source, None, None).expect("a transcript");
    let transcript = &document.transcripts[0];
    assert!(FORMAT.session.no_longer_loaded(transcript).is_empty());
    let why = FORMAT.refusal(transcript).expect("a reason");
    assert!(why.contains("2 lines are no longer sent") && why.contains("the parent 3 of"), "{why}");
    // A compression stands for all before it.
    let history = r#"{"compressedHistory":[{"role":"user","parts":[{"text":"s"}]}]}"#;
    let lines = [&lines[..], &[system("chat_compression", "5", "4", history)]].concat().join("\n");
    let document = read_for_test(&lines, None, None).expect("a transcript");
    assert_eq!(FORMAT.refusal(&document.transcripts[0]), None);
}

#[test]
fn the_whole_objects_of_a_broken_line_are_records() {
    let half = |line: &str| line[..line.len() / 2].to_owned();
    let lines = [user("a", "1", ""), user("b", "2", "1") + &user("c", "3", "2"), user("d", "4", "3")];
    assert_eq!(texts(&lines), ["a", "b", "c", "d"]);
    let cut = [&lines[..2], &[user("d", "4", "3") + &half(&user("e", "5", "4")), user("f", "6", "4")]].concat();
    assert_eq!(texts(&cut), ["a", "b", "c", "d", "f"]);
    let document = read_for_test(&cut.join("\n"), None, None).expect("a transcript").broken_lines;
    assert_eq!(document, [3]);
}

#[test]
fn of_lines_with_one_id_only_the_first_names_a_parent() {
    let lines = [user("a", "1", ""), user("b", "2", "1"), user("c", "2", "gone"), user("d", "3", "2")].join("\n");
    let document = read_for_test(&lines, None, None).expect("a transcript");
    assert!(FORMAT.session.broken_links(&document.transcripts[0]).found.is_empty());
}

#[test]
fn a_line_that_is_not_read_has_no_parent_to_miss() {
    let unknown = line("9", "gone", r#""type":"notification""#);
    let lines = [user("a", "1", ""), unknown, user("b", "2", "1")].join("\n");
    let document = read_for_test(&lines, None, None).expect("a transcript");
    assert!(FORMAT.session.broken_links(&document.transcripts[0]).found.is_empty());
}

#[test]
fn a_summary_takes_the_id_that_the_first_kept_line_names() {
    let lines = [user("a", "1", ""), user("b", "2", "1"), user("c", "3", "2")];
    let source = lines.join("\n");
    let document = read_for_test(&source, None, None).expect("a transcript");
    let transcript = &document.transcripts[0];
    let gone: Vec<usize> = transcript.messages[..2].iter().map(|message| message.span().start).collect();
    let summary = SummaryMessage { text: "s", role: crate::format::SummaryRole::User, name: None, marked: false };
    let lines = FORMAT.write_summary(&summary, &InsertionPoint::in_place_of(transcript, 2, || gone.clone()));
    assert_eq!(
        lines[0].to_string(),
        r#"{"uuid":"2","parentUuid":null,"sessionId":"s","timestamp":"2026-09-01T10:00:00.001Z","type":"system","subtype":"chat_compression","cwd":"/w","systemPayload":{"compressedHistory":[{"role":"user","parts":[{"text":"s"}]}]}}"#
    );
}
