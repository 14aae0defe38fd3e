//! Tests of reading messages into turns.

use super::*;
use crate::transcript::framing;

/// The speaker, the text, the calls with their arguments and results, and the results without a call.
type TestTurn = (Speaker, String, Vec<(String, String, Option<String>)>, Vec<String>);

fn read_turns(source: &str) -> Vec<TestTurn> {
    let document = framing::tests::read(source, None, None).expect("a transcript");
    let messages: Vec<&Message<'_>> = document.transcripts[0].messages.iter().collect();
    let indices: Vec<usize> = (0..messages.len()).collect();
    let owned = |words: &TurnText<'_>| {
        assert_eq!(words.bytes, words.read().len());
        words.read().into_owned()
    };
    let call =
        |call: &ToolCall<'_>| (call.name.clone().into_owned(), owned(&call.arguments), call.result.as_ref().map(owned));
    read(&messages, &indices, "Summary:\n\n")
        .iter()
        .map(|turn| {
            let results_without_call = turn.results_without_call.iter().map(owned).collect();
            (turn.speaker, owned(&turn.text), turn.calls.iter().map(call).collect(), results_without_call)
        })
        .collect()
}

#[test]
fn results_stand_with_their_calls() {
    let turns = read_turns(
        r#"[{"role":"user","content":"Look."},
        {"role":"assistant","content":null,"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}},{"id":"b","function":{"name":"g","arguments":"{}"}}]},
        {"role":"tool","tool_call_id":"b","content":"two"},{"role":"tool","tool_call_id":"a","content":"one"},
        {"role":"tool","tool_call_id":"z","content":"lost"}]"#,
    );
    let results: Vec<_> = turns[1].2.iter().map(|(name, _, result)| (name.as_str(), result.as_deref())).collect();
    assert_eq!(results, [("f", Some("one")), ("g", Some("two"))]);
    assert_eq!(turns[4].3, ["lost"]);
}

#[test]
fn an_empty_result_is_one() {
    let turns = read_turns(
        r#"[{"role":"user","content":"[Request interrupted by user]"},{"role":"assistant","content":null,"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}},{"id":"b","function":{"name":"g","arguments":"{}"}}]},
        {"role":"tool","tool_call_id":"a","content":""}]"#,
    );
    assert_eq!((turns[0].0, turns[0].1.as_str()), (Speaker::Tool, ""));
    assert_eq!(turns[1].2.iter().map(|(_, _, result)| result.as_deref()).collect::<Vec<_>>(), [Some(""), None]);
}

#[test]
fn agents_without_tools_call_in_fenced_blocks() {
    let turns = read_turns(
        "[{\"role\":\"user\",\"content\":\"Summary:\\nIt went well.\"},{\"role\":\"assistant\",\"content\":\"I look.\\n```bash\\nls -a\\n```\"},{\"role\":\"user\",\"content\":\"<returncode>0</returncode>\"}]",
    );
    assert_eq!((turns[0].0, turns[0].1.trim()), (Speaker::Earlier, "It went well."));
    let result = Some("<returncode>0</returncode>".to_owned());
    assert_eq!(turns[1].2, [("bash".to_owned(), "ls -a".to_owned(), result)]);
}

#[test]
fn results_in_the_message_of_their_call_belong_to_it() {
    let source = r#"{"sessionId":"1","projectHash":"h","startTime":"2026-01-01T00:00:00Z","messages":[
        {"id":"1","timestamp":"2026-01-01T00:00:00Z","type":"user","content":"List the files."},
        {"id":"2","timestamp":"2026-01-01T00:00:00Z","type":"gemini","content":"I look.","toolCalls":[{"id":"a","name":"run_shell_command","args":{"command":"ls"},
            "result":[{"functionResponse":{"id":"a","name":"run_shell_command","response":{"output":"a.rs"}}}]}]}]}"#;
    let (speaker, text, calls, results_without_call) = read_turns(source).pop().expect("a turn");
    assert_eq!((speaker, text.as_str(), results_without_call), (Speaker::Assistant, "I look.", Vec::new()));
    let [(name, _, result)] = calls.as_slice() else { panic!("one call: {calls:?}") };
    assert_eq!((name.as_str(), result.as_deref()), ("run_shell_command", Some("a.rs")));
}
