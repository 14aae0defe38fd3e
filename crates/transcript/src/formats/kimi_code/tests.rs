use super::*;
use crate::framing::{self, read_for_test};

fn event(event: &str) -> String {
    format!("{{\"type\":\"context.append_loop_event\",\"agentId\":\"main\",\"event\":{event},\"time\":1788249600000}}")
}

fn said(text: &str, origin: &str) -> String {
    format!(
        r#"{{"type":"context.append_message","agentId":"main","message":{{"role":"user","content":[{{"type":"text","text":"{text}"}}],"toolCalls":[],"origin":{{{origin}}}}}}}"#
    )
}

fn user(text: &str) -> String {
    said(text, r#""kind":"user""#)
}

/// An answer with a text, and a call with its result where `call` has an id.
fn step(id: &str, text: &str, call: &str) -> Vec<String> {
    let mut lines = vec![
        event(&format!(r#"{{"type":"step.begin","uuid":"{id}"}}"#)),
        event(&format!(r#"{{"type":"content.part","stepUuid":"{id}","part":{{"type":"text","text":"{text}"}}}}"#)),
    ];
    if !call.is_empty() {
        lines.push(event(&format!(
            r#"{{"type":"tool.call","stepUuid":"{id}","toolCallId":"{call}","name":"Bash","args":{{}}}}"#
        )));
        lines.push(event(&format!(
            r#"{{"type":"tool.result","toolCallId":"{call}","result":{{"output":"of {call}"}}}}"#
        )));
    }
    lines.push(event(&format!(r#"{{"type":"step.end","uuid":"{id}","finishReason":"end_turn"}}"#)));
    lines
}

fn compaction(rest: &str) -> String {
    format!(r#"{{"type":"context.apply_compaction","agentId":"main","summary":"s",{rest}}}"#)
}

fn line(kind: &str, rest: &str) -> String {
    format!(r#"{{"type":"{kind}","agentId":"main"{rest}}}"#)
}

/// The texts of the messages, calls as `*`.
fn texts(lines: &[String]) -> Vec<String> {
    let source = lines.join("\n");
    let document = read_for_test(&source, None, None).expect("a transcript");
    let transcript = &document.transcripts[0];
    assert_eq!(transcript.format.name, "kimi-code");
    let text = |message: &Message<'_>| {
        if message.calls.is_empty() { message.whole_text() } else { "*".to_owned() }
    };
    transcript.messages.iter().map(text).collect()
}

fn joined(parts: &[Vec<String>]) -> Vec<String> {
    parts.concat()
}

#[test]
fn an_answer_is_a_message_for_each_part_and_stays_together() {
    let lines = joined(&[vec![user("a")], step("1", "b", "c"), vec![user("d")], step("2", "e", "")]);
    assert_eq!(texts(&lines), ["a", "b", "*", "of c", "d", "e"]);
    let source = lines.join("\n");
    let document = read_for_test(&source, None, None).expect("a transcript");
    let transcript = &document.transcripts[0];
    assert_eq!(transcript.groups, [(1, 2)]);
    assert_eq!(transcript.pairing.pairs, [(2, 3)]);
    let with: Vec<_> = transcript.notes.iter().map(|note| note.retention).collect();
    use crate::format::Retention::With;
    assert_eq!(with, [With(2), With(2), With(5), With(5)], "the beginning and the end go with a part that stays");
}

#[test]
fn what_was_taken_back_is_no_message() {
    let turn = |at: &str| joined(&[vec![user(at)], step(at, &format!("of {at}"), "")]);
    let undo = |count: &str| vec![line("context.undo", &format!(",\"count\":{count}"))];
    let clear = vec![line("context.clear", "")];
    for (parts, left) in [
        (vec![turn("1"), turn("2"), undo("1"), turn("3")], &["1", "of 1", "3", "of 3"][..]),
        (vec![turn("1"), turn("2"), undo("2"), turn("3")], &["3", "of 3"]),
        (vec![turn("1"), undo("2"), turn("3")], &["1", "of 1", "3", "of 3"]),
        (vec![turn("1"), clear, turn("2")], &["2", "of 2"]),
        (
            vec![turn("1"), vec![said("r", r#""kind":"injection","variant":"v""#)], turn("2"), undo("1")],
            &["1", "of 1", "r"],
        ),
        (vec![turn("1"), vec![compaction("\"compactedCount\":2")], undo("1"), turn("2")], &["s", "2", "of 2"]),
    ] {
        assert_eq!(texts(&joined(&parts)), left);
    }
}

#[test]
fn a_compaction_keeps_prompts_or_the_last_messages() {
    let turn = |at: &str| joined(&[vec![user(at)], step(at, &format!("of {at}"), "")]);
    let both = || joined(&[turn("1"), vec![said("r", r#""kind":"injection""#)], turn("2")]);
    for (rest, left) in [
        (r#""compactedCount":5,"keptUserMessageCount":2"#, &["1", "2", "s", "3", "of 3"][..]),
        (r#""compactedCount":5,"keptUserMessageCount":2,"legacyTail":true"#, &["s", "3", "of 3"]),
        // Kimi Code sends the summary before the messages that it keeps.
        (r#""compactedCount":3"#, &["2", "of 2", "s", "3", "of 3"]),
        (r#""compactedCount":0"#, &["1", "of 1", "r", "2", "of 2", "s", "3", "of 3"]),
        (r#""count":4"#, &["of 2", "s", "3", "of 3"]),
        (r#""contextSummary":"t","compactedCount":9"#, &["t", "3", "of 3"]),
        (r#""tokensBefore":9"#, &["1", "of 1", "r", "2", "of 2", "3", "of 3"]),
    ] {
        assert_eq!(texts(&joined(&[both(), vec![compaction(rest)], turn("3")])), left, "{rest}");
    }
    let object = r#"{"type":"context.apply_compaction","summary":{"role":"user","content":[{"type":"text","text":"o"}]},"count":2}"#;
    assert_eq!(texts(&joined(&[turn("1"), vec![object.to_owned()], turn("2")])), ["o", "2", "of 2"]);
}

#[test]
fn of_too_large_prompts_the_first_and_the_last_stay() {
    let long = |word: &str| user(&format!("{word}{}", " word".repeat(4_000)));
    let prompts: Vec<String> = ["a", "b", "c", "d", "e", "f", "g"].iter().map(|word| long(word)).collect();
    let lines = joined(&[prompts, vec![compaction(r#""compactedCount":7,"keptUserMessageCount":5"#)]]);
    let first_words: Vec<String> = texts(&lines).iter().map(|text| text[..1].to_owned()).collect();
    assert_eq!(first_words, ["a", "d", "e", "f", "g", "s"]);
}

#[test]
fn what_kimi_code_drops_is_no_message() {
    let orphan = event(r#"{"type":"tool.result","toolCallId":"x","result":{"output":"orphan"}}"#);
    let stray = event(r#"{"type":"content.part","stepUuid":"x","part":{"type":"text","text":"stray"}}"#);
    let copy = r#"{"message":{"message":{"role":"user","content":[{"type":"text","text":"copy"}]}},"type":"agent.message.appended","kind":"event"}"#;
    let blank = step("1", " ", "");
    let of_other = user("other").replace("\"main\"", "\"helper\"");
    let lines = joined(&[vec![user("a"), orphan, stray, copy.to_owned(), of_other], blank, step("2", "b", "")]);
    assert_eq!(texts(&lines), ["a", "b"]);
}

#[test]
fn a_call_that_was_interrupted_is_a_call_without_a_result() {
    let mut lines = joined(&[vec![user("a")], step("1", "b", "c")]);
    lines.remove(4);
    lines.push(user("d"));
    let source = lines.join("\n");
    let document = read_for_test(&source, None, None).expect("a transcript");
    let transcript = &document.transcripts[0];
    assert_eq!(transcript.pairing.unanswered.len(), 1);
    let calling = &transcript.messages[2];
    let written = FORMAT.write_result(&calling.calls[0], calling, "none");
    let Some(NewResult::Entry(written)) = written else { panic!("{written:?}") };
    assert_eq!(
        written.to_string(),
        r#"{"type":"context.append_loop_event","agentId":"main","event":{"type":"tool.result","toolCallId":"c","result":{"output":"none","isError":true}},"time":1788249600000}"#
    );
}

#[test]
fn only_a_newer_protocol_is_unknown() {
    for (version, unknown) in
        [("1.0", None), ("1.5", None), ("1.6", Some("protocol 1.6")), ("2.0", Some("protocol 2.0"))]
    {
        let source =
            format!("{{\"type\":\"metadata\",\"protocol_version\":\"{version}\",\"created_at\":1}}\n{}", user("a"));
        let document = framing::read_for_test(&source, None, None).expect("a transcript");
        assert_eq!(FORMAT.unknown_version(&document.transcripts[0]).as_deref(), unknown);
    }
}

#[test]
fn lines_of_unknown_types_are_passed_over() {
    let lines = [user("a"), r#"{"type":"mystery","agentId":"main"}"#.to_owned(), line("mystery.seen", ""), user("b")];
    assert_eq!(texts(&lines), ["a", "b"]);
}

#[test]
fn calls_of_protocol_1_0_are_read() {
    let call = r#"{"type":"context.append_message","message":{"role":"assistant","content":[],"toolCalls":[{"type":"function","id":"c","function":{"name":"f","arguments":"{}"}}]}}"#;
    let source = [user("a").as_str(), call].join("\n");
    let document = read_for_test(&source, None, None).expect("a transcript");
    let call = &document.transcripts[0].messages[1].calls[0];
    assert!(call.name.is_some_and(|name| name.is("f")) && matches!(call.arguments, Arguments::Text(_)));
}
