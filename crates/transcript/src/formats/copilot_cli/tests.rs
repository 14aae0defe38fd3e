use super::*;
use crate::format::SummaryRole;
use crate::framing::read_for_test as read;
use crate::speaker::said_texts;

const START: &str =
    r#"{"type":"session.start","data":{"sessionId":"s"},"id":"0","timestamp":"2026-01-01T00:00:00Z","parentId":null}"#;

/// A session of events, each with a type and data.
fn session(events: &[(&str, &str)]) -> String {
    let mut text = format!("{START}\n");
    for (at, (kind, data)) in events.iter().enumerate() {
        let id = at + 1;
        let more = if data.contains("OF AN AGENT") { r#","agentId":"a""# } else { "" };
        text.push_str(&format!(
            r#"{{"type":"{kind}","data":{data},"id":"{id}","timestamp":"2026-01-01T00:00:{id:02}Z","parentId":"{at}"{more}}}"#
        ));
        text.push('\n');
    }
    text
}

/// The texts of the messages that are sent, and the runs that stay together.
fn told(events: &[(&str, &str)]) -> (Vec<String>, Vec<(usize, usize)>) {
    let source = session(events);
    let document = read(&source, None, None).expect("a transcript");
    let transcript = &document.transcripts[0];
    assert_eq!(transcript.format.name, "copilot-cli");
    (transcript.messages.iter().map(Message::whole_text).collect(), transcript.groups.clone())
}

const USER: (&str, &str) = ("user.message", r#"{"content":"a"}"#);
const CALLS: (&str, &str) = (
    "assistant.message",
    r#"{"messageId":"m","content":"b","toolRequests":[{"toolCallId":"c","name":"bash","arguments":{}}]}"#,
);
const RESULT: (&str, &str) =
    ("tool.execution_complete", r#"{"toolCallId":"c","success":true,"result":{"content":"r"}}"#);
const ANSWER: (&str, &str) = ("assistant.message", r#"{"messageId":"n","content":"d"}"#);

#[test]
fn a_compaction_leaves_what_the_user_said() {
    let done = ("session.compaction_complete", r#"{"success":true,"summaryContent":"s"}"#);
    assert_eq!(told(&[USER, CALLS, RESULT, done, USER]), (["a", "s", "a"].map(str::to_owned).to_vec(), vec![(0, 1)]));
    for data in [
        r#"{"success":false,"summaryContent":"s"}"#,
        r#"{"success":true}"#,
        r#"{"success":true,"summaryContent":"OF AN AGENT"}"#,
    ] {
        let failed = ("session.compaction_complete", data);
        assert_eq!(told(&[USER, CALLS, RESULT, failed, ANSWER]).0, ["a", "b", "r", "d"], "{data}");
    }
    let cleared = ("session.context_cleared", r#"{"messagesCleared":3}"#);
    assert_eq!(told(&[USER, done, cleared, ANSWER]), (vec!["d".to_owned()], vec![]));
}

#[test]
fn a_result_goes_with_its_call_and_a_command_of_the_user_has_none() {
    let steering = ("user.message", r#"{"content":"w","delivery":"steering"}"#);
    assert_eq!(told(&[USER, CALLS, steering, RESULT, ANSWER]).0, ["a", "b", "w", "r", "d"]);
    let done = ("session.compaction_complete", r#"{"success":true,"summaryContent":"s"}"#);
    assert_eq!(told(&[USER, CALLS, done, RESULT, ANSWER]).0, ["a", "s", "d"]);
    let of_user = (
        "tool.execution_complete",
        r#"{"toolCallId":"u","success":true,"isUserRequested":true,"result":{"content":"o"}}"#,
    );
    assert_eq!(told(&[USER, of_user]).0, ["a", "o"]);
}

#[test]
fn what_the_main_agent_does_not_hear_is_not_a_message() {
    let agent = ("assistant.message", r#"{"messageId":"x","content":"OF AN AGENT"}"#);
    let older = ("assistant.message", r#"{"messageId":"x","content":"z","parentToolCallId":"c"}"#);
    let system = ("system.message", r#"{"role":"system","content":"z"}"#);
    let notice = ("system.notification", r#"{"content":"n","kind":{"type":"unclassified"}}"#);
    assert_eq!(told(&[USER, agent, older, system, notice, ANSWER]).0, ["a", "n", "d"]);
}

#[test]
fn the_users_words_are_told_from_the_programs() {
    let said = |data: &str| {
        let source = session(&[("user.message", data)]);
        let document = read(&source, None, None).expect("a transcript");
        said_texts(&document.transcripts[0].messages[0]).strings().join("|")
    };
    assert_eq!(
        said(r#"{"content":"a\nn","transformedContent":"<current_datetime>t</current_datetime>\n\na\nn\nmore"}"#),
        "a\nn"
    );
    assert_eq!(said(r#"{"content":"n","transformedContent":"t\n\nx"}"#), "t\n\nx", "an escape has no words");
    assert_eq!(said(r#"{"content":"a","source":"skill-pdf"}"#), "");
    assert_eq!(said(r#"{"content":"a"}"#), "a");
}

#[test]
fn a_summary_takes_the_id_that_what_follows_it_names() {
    let source = session(&[USER, ANSWER, USER]).replace(r#""2""#, r#""00000000-0000-4000-8000-000000000002""#);
    let document = read(&source, None, None).expect("a transcript");
    let transcript = &document.transcripts[0];
    let gone: Vec<usize> = transcript.messages[..2].iter().map(|message| message.span().start).collect();
    let summary = SummaryMessage { text: "s", role: SummaryRole::User, name: None, marked: false };
    let lines = FORMAT.write_summary(&summary, &InsertionPoint::in_place_of(transcript, 2, || gone.clone()));
    assert_eq!(
        lines[0].to_string(),
        r#"{"type":"session.compaction_complete","data":{"success":true,"summaryContent":"s"},"id":"00000000-0000-4000-8000-000000000002","timestamp":"2026-01-01T00:00:03.001Z","parentId":"0"}"#
    );
}
