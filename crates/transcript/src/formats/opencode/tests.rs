use super::*;
use crate::framing::read_for_test as read;

fn user(id: &str, time: u64, part: &str) -> String {
    format!(
        r#"{{"info":{{"role":"user","id":"{id}","sessionID":"ses_1","time":{{"created":{time}}},"agent":"build","model":{{"providerID":"p","modelID":"m"}}}},"parts":[{part}]}}"#
    )
}

fn answer(id: &str, time: u64, more: &str, parts: &str) -> String {
    format!(
        r#"{{"info":{{"role":"assistant","id":"{id}","sessionID":"ses_1","time":{{"created":{time}}},"modelID":"m","providerID":"p"{more}}},"parts":[{parts}]}}"#
    )
}

fn text(text: &str) -> String {
    format!(r#"{{"type":"text","text":"{text}"}}"#)
}

fn session(messages: &[String]) -> String {
    format!(r#"{{"info":{{"id":"ses_1","directory":"/w"}},"messages":[{}]}}"#, messages.join(","))
}

/// The texts of the messages that are sent, and the runs that stay together.
fn told(messages: &[String]) -> (Vec<String>, Vec<(usize, usize)>) {
    let source = session(messages);
    let document = read(&source, None, None).expect("a transcript");
    let transcript = &document.transcripts[0];
    assert_eq!(transcript.format.name, "opencode");
    let texts = transcript.messages.iter().map(Message::whole_text);
    (texts.collect(), transcript.groups.clone())
}

/// Four messages with a compaction between them, whose mark and whose answer have these members.
fn compacted(mark: &str, answered: &str) -> Vec<String> {
    vec![
        user("1", 10, &text("a")),
        answer("2", 20, "", &text("b")),
        user("3", 30, &text("c")),
        user("4", 40, &format!(r#"{{"type":"compaction","auto":false{mark}}}"#)),
        answer("5", 50, answered, &text("s")),
        user("6", 60, &text("d")),
    ]
}

#[test]
fn a_finished_compaction_begins_the_context() {
    let finished = r#","summary":true,"finish":"stop","parentID":"4""#;
    assert_eq!(told(&compacted("", finished)), (vec!["s".to_owned(), "d".to_owned()], vec![]));
    let kept = r#","tail_start_id":"3""#;
    assert_eq!(told(&compacted(kept, finished)).0, ["c", "s", "d"]);
    assert_eq!(told(&compacted(kept, finished)).1, [(0, 1)]);
    // Nobody can keep what is not there, and then all is sent.
    assert_eq!(told(&compacted(r#","tail_start_id":"9""#, finished)).0, ["a", "b", "c", "s", "d"]);
    for failed in [
        r#","summary":true,"parentID":"4""#,
        r#","summary":true,"finish":"stop","parentID":"3""#,
        r#","finish":"stop","parentID":"4""#,
    ] {
        assert_eq!(told(&compacted("", failed)).0, ["a", "b", "c", "s", "d"], "{failed}");
    }
    let error = r#","summary":true,"finish":"stop","parentID":"4","error":{"name":"APIError"}"#;
    assert_eq!(told(&compacted("", error)).0, ["a", "b", "c", "d"]);
}

#[test]
fn what_is_not_sent_is_not_a_message() {
    let aborted = r#","error":{"name":"MessageAbortedError"}"#;
    let messages = [
        user("1", 10, &text("a")),
        user("2", 20, r#"{"type":"text","text":"no","ignored":true}"#),
        user("3", 30, r#"{"type":"file","mime":"text/plain","url":"file:///a"}"#),
        answer("4", 40, "", r#"{"type":"step-start"},{"type":"step-finish"}"#),
        answer("5", 50, aborted, r#"{"type":"step-start"},{"type":"reasoning","text":"hm"}"#),
        answer("6", 60, aborted, &text("half")),
        answer("7", 70, "", r#"{"type":"patch"},{"type":"text","text":"b"}"#),
    ];
    assert_eq!(told(&messages).0, ["a", "half", "b"]);
}

#[test]
fn words_that_opencode_writes_are_not_the_users() {
    let source = session(&[user("1", 10, r#"{"type":"text","text":"a"},{"type":"text","text":"b","synthetic":true}"#)]);
    let document = read(&source, None, None).expect("a transcript");
    let message = &document.transcripts[0].messages[0];
    assert_eq!(crate::speaker::said_texts(message).strings(), ["a"]);
    assert_eq!(message.whole_text(), "a\nb");
}

#[test]
fn a_session_that_was_reverted_or_is_not_in_order_is_left_alone() {
    let whole = session(&[user("1", 20, &text("a")), answer("2", 30, "", &text("b"))]);
    let refusal = |source: &str| {
        let document = read(source, None, None).expect("a transcript");
        FORMAT.refusal(&document.transcripts[0])
    };
    assert_eq!(refusal(&whole), None);
    let reverted = whole.replace(r#""directory""#, r#""revert":{"messageID":"2"},"directory""#);
    assert!(refusal(&reverted).is_some_and(|why| why.contains("you went back to 2")));
    assert!(refusal(&whole.replace("30", "10")).is_some_and(|why| why.contains("order of their times")));
}

#[test]
fn a_refusal_has_the_users_words_in_opencodes_own_tools() {
    let refused = |tool: &str, error: &str| {
        let part = format!(
            r#"{{"type":"tool","tool":"{tool}","callID":"c","state":{{"status":"error","input":{{}},"error":"{error}"}}}}"#
        );
        let source = session(&[user("1", 10, &text("a")), answer("2", 20, "", &part)]);
        let document = read(&source, None, None).expect("a transcript");
        let denial = document.transcripts[0].messages[1].results[0].denial.clone();
        denial.and_then(|denial| denial.words(tool).map(std::borrow::Cow::into_owned))
    };
    let error = "The user rejected permission to use this specific tool call";
    assert_eq!(
        refused("edit", &format!("{error} with the following feedback: not there")).as_deref(),
        Some("not there")
    );
    assert_eq!(refused("edit", &format!("{error}.")).as_deref(), Some(""));
    assert_eq!(refused("edit", "It said: The user rejected permission"), None);
    assert_eq!(refused("web_get", &format!("{error}.")), None);
}
