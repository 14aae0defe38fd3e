use super::*;
use crate::edit::Edit;
use crate::edit::apply;
use crate::format::Transcript;
use crate::framing::read_for_test as read;

fn with<T>(source: &str, look: impl FnOnce(&Transcript<'_>) -> T) -> T {
    let document = read(source, None, None).unwrap_or_else(|error| panic!("it {error}: {source}"));
    assert_eq!(document.transcripts[0].format.name, "ai-sdk", "{source}");
    look(&document.transcripts[0])
}

fn texts(message: &Message<'_>) -> Vec<String> {
    message.content.texts().iter().map(|text| text.decode().into_owned()).collect()
}

const USER: &str = r#"{"id":"u1","role":"user","parts":[{"type":"text","text":"u"}]}"#;

#[test]
fn calls_that_hold_their_results_are_not_parted() {
    let tools = r#"{"id":"a1","role":"assistant","parts":[{"type":"step-start"},
        {"type":"tool-read_file","toolCallId":"a","state":"output-available","input":{"n":1.50},"output":{"lines":2}},
        {"type":"dynamic-tool","toolName":"g","toolCallId":"b","state":"input-available","input":{}}]}"#;
    with(&format!("[{USER},{tools}]"), |transcript| {
        let calling = &transcript.messages[1];
        let pairing = &transcript.pairing;
        assert!(pairing.pairs.is_empty());
        assert_eq!(pairing.unanswered.len(), 1, "one is pending");
        let names: Vec<_> = calling.calls.iter().filter_map(|call| call.name.map(|name| name.decode())).collect();
        assert_eq!(names, ["read_file", "g"]);
        assert_eq!(texts(calling), [r#"{"lines":2}"#]);
    });
}

#[test]
fn the_fourth_version_has_calls_beside_the_content_or_as_parts() {
    let call = r#"{"state":"result","toolCallId":"a","toolName":"f","args":{},"result":"r"}"#;
    let beside = format!(r#"{{"id":"a1","role":"assistant","content":"c","toolInvocations":[{call}]}}"#);
    let both = format!(
        r#"{{"id":"a1","role":"assistant","content":"c","toolInvocations":[{call}],"parts":[{{"type":"tool-invocation","toolInvocation":{call}}},{{"type":"text","text":"c"}}]}}"#
    );
    for (source, said) in [(beside, ["c", "r"]), (both, ["r", "c"])] {
        with(&format!("[{source}]"), |transcript| {
            let message = &transcript.messages[0];
            assert_eq!((message.calls.len(), message.results.len()), (1, 1));
            assert_eq!(texts(message), said);
        });
    }
}

#[test]
fn results_of_model_messages_are_messages() {
    let calling = r#"{"role":"assistant","content":[{"type":"text","text":"t"},{"type":"tool-call","toolCallId":"a","toolName":"f","input":{}},{"type":"tool-approval-request","approvalId":"q","toolCallId":"a"}]}"#;
    let allowed = r#"{"role":"tool","content":[{"type":"tool-approval-response","approvalId":"q","approved":true}]}"#;
    let result = r#"{"role":"tool","content":[{"type":"tool-result","toolCallId":"a","toolName":"f","output":{"type":"text","value":"r"}}]}"#;
    with(&format!("[{calling},{allowed},{result}]"), |transcript| {
        let messages = &transcript.messages;
        assert_eq!(transcript.pairing.pairs, [(0, 2)]);
        assert_eq!(transcript.groups, [(0, 1)]);
        assert_eq!(texts(&messages[2]), ["r"]);
        let made = FORMAT.write_result(&messages[0].calls[0], &messages[0], "e");
        let Some(NewResult::Entry(made)) = made else { panic!("{made:?}") };
        let expected = result.replace(r#""text","value":"r""#, r#""error-text","value":"e""#);
        assert!(expected.contains(&made.to_string()), "{made}");
    });
}

#[test]
fn a_summary_is_written_as_its_neighbours_are() {
    let summary = SummaryMessage { text: "s", role: SummaryRole::User, name: None, marked: false };
    let written = |source: &str| {
        with(source, |transcript| FORMAT.write_summary(&summary, &InsertionPoint::new(transcript, 0))[0].clone())
    };
    let ui = written(&format!("[{USER}]"));
    let id = ui["id"].as_str().expect("an id");
    assert_eq!(id.len(), 16);
    assert_eq!(ui.to_string(), USER.replace("u1", id).replace(r#""u"}"#, r#""s"}"#));
    let model = r#"[{"role":"user","content":"u"},{"role":"user","content":[{"type":"file","data":"x","mediaType":"image/png"}]}]"#;
    assert_eq!(written(model).to_string(), r#"{"role":"user","content":"s"}"#);
}

#[test]
fn calls_that_the_provider_runs_are_not_the_clients() {
    let call = |flag: &str| {
        format!(r#"{{"type":"tool-call","toolCallId":"s","toolName":"web_search","input":{{"q":"x"}}{flag}}}"#)
    };
    let hosted = call(r#","providerExecuted":true"#);
    let result = r#"{"type":"tool-result","toolCallId":"s","toolName":"web_search","output":{"type":"json","value":{"found":"it"}}}"#;
    let says = |parts: &str| format!(r#"{{"role":"assistant","content":[{parts}]}}"#);
    let asks = r#"{"role":"user","content":"u"}"#;
    let ui = r#"{"role":"assistant","parts":[{"type":"tool-web_search","toolCallId":"s","state":"output-available","providerExecuted":true,"input":{},"output":{"found":"it"}}]}"#;
    let pending = ui.replace(r#","output":{"found":"it"}"#, "").replace("output-available", "input-available");
    for (source, groups) in [
        (format!("[{asks},{},{asks}]", says(&format!("{hosted},{result}"))), vec![]),
        (format!("[{asks},{},{},{asks}]", says(&hosted), says(result)), vec![(1, 2)]),
        (format!("[{asks},{},{asks},{},{asks}]", says(&hosted), says(result)), vec![(1, 3)]),
        (format!("[{asks},{},{asks}]", says(&hosted)), vec![]),
        (format!("[{USER},{ui},{USER}]"), vec![]),
        (format!("[{USER},{pending},{USER}]"), vec![]),
    ] {
        with(&source, |transcript| {
            assert_eq!(transcript.groups, groups, "{source}");
            assert!(transcript.pairing.pairs.is_empty() && transcript.pairing.unanswered.is_empty(), "{source}");
            assert!(!transcript.pairing.orphaned.contains(&true), "{source}");
        });
    }
    // A call of the client is one, whoever answered it.
    with(&format!("[{asks},{},{asks}]", says(&format!("{},{result}", call("")))), |transcript| {
        assert_eq!((transcript.messages[1].calls.len(), transcript.messages[1].results.len()), (1, 1));
    });
}

/// What a model message may have as an output, and the same with another text in it.
#[test]
fn an_output_stays_of_a_type_that_the_sdk_takes() {
    for (output, expected) in [
        (r#"{"type":"text","value":"r"}"#, Some(r#"{"type":"text","value":"n"}"#)),
        (r#"{"type":"error-text","value":"r"}"#, Some(r#"{"type":"error-text","value":"n"}"#)),
        (r#"{"type":"json","value":{"a":["r"]}}"#, Some(r#"{"type":"json","value":"n"}"#)),
        (r#"{"type":"error-json","value":{"a":1}}"#, Some(r#"{"type":"error-json","value":"n"}"#)),
        (
            r#"{"type":"content","value":[{"type":"text","text":"r"},{"type":"text","text":"s"}]}"#,
            Some(r#"{"type":"content","value":[{"type":"text","text":"n"}]}"#),
        ),
        (r#"{"type":"execution-denied","reason":"r"}"#, None),
        (r#"{"type":"execution-denied"}"#, None),
        (r#"{"type":"hologram","body":"r"}"#, Some(r#"{"type": "text", "value": "n"}"#)),
        (r#"{"type":"text","body":"r"}"#, Some(r#"{"type": "text", "value": "n"}"#)),
        (r#"{"rows":[1]}"#, Some(r#"{"type": "text", "value": "n"}"#)),
    ] {
        let call =
            r#"{"role":"assistant","content":[{"type":"tool-call","toolCallId":"a","toolName":"f","input":{}}]}"#;
        let written = |output: &str| {
            format!(
                r#"[{call},{{"role":"tool","content":[{{"type":"tool-result","toolCallId":"a","toolName":"f","output":{output}}}]}}]"#
            )
        };
        let source = written(output);
        let replaced = with(&source, |transcript| {
            let message = &transcript.messages[1];
            let found = FORMAT.result_output(message, &message.results[0]).expect("an output");
            let edits: Vec<Edit> =
                found.replace_with("n").into_iter().map(|(range, text)| Edit { range, text }).collect();
            apply(&source, &edits)
        });
        assert_eq!(replaced, written(expected.unwrap_or(output)));
    }
}

#[test]
fn what_the_user_says_while_the_model_works_is_the_users() {
    let steered = r#"{"id":"a1","role":"assistant","parts":[{"type":"text","text":"a"},
        {"type":"steering-message","id":"s","parts":[{"type":"text","text":"words"}]},{"type":"text","text":"b"}]}"#;
    with(&format!("[{USER},{steered}]"), |transcript| {
        let said: Vec<_> = transcript.messages[1].asides().map(|(role, content)| (role, content.texts())).collect();
        let [(Role::User, texts)] = &said[..] else { panic!("{said:?}") };
        assert_eq!(texts.iter().map(|text| text.decode()).collect::<String>(), "words");
    });
}
