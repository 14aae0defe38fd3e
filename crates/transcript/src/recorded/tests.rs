use crate::framing::read_for_test as read;
use crate::recorded::Recorded;

mod sessions;

/// The recorded sizes of the first conversation: how many messages each counts, its tokens, and how many of these are
/// reasoning.
fn recorded(source: &str) -> Vec<(usize, u64, u64)> {
    // Each line has an id of its own.
    let numbered = source.split_inclusive('\n').enumerate().map(|(line, text)| text.replace("$N", &line.to_string()));
    let source = &*numbered.collect::<String>();
    let document = read(source, None, None).unwrap_or_else(|error| panic!("it {error}: {source}"));
    let all = document.transcripts[0].records().into_iter();
    all.map(|Recorded { messages, tokens, reasoning }| (messages, tokens, reasoning)).collect()
}

fn chat(usage: &str) -> String {
    format!(
        r#"[{{"role":"user","content":"u"}},{{"role":"assistant","content":"a","tool_calls":[],"usage":{usage}}},
        {{"role":"user","content":"v"}}]"#
    )
}

fn claude(id: &str, rest: &str, stopped: &str, usage: &str) -> String {
    format!(
        r#"{{"parentUuid":"p","sessionId":"s","type":"assistant","uuid":"$N","message":{{"id":"{id}","role":"assistant","content":[{{"type":"text","text":"a"}}],"stop_reason":{stopped},"usage":{usage}}}{rest}}}"#
    ) + "\n"
}

fn claude_user(rest: &str) -> String {
    format!(
        r#"{{"parentUuid":"p","sessionId":"s","type":"user","uuid":"$N","message":{{"role":"user","content":"u"}}{rest}}}"#
    ) + "\n"
}

fn codex(kind: &str, payload: &str) -> String {
    format!(r#"{{"timestamp":"t","type":"{kind}","payload":{payload}}}"#) + "\n"
}

const CODEX_USER: &str = r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"u"}]}"#;
const CODEX_CALL: &str = r#"{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}"#;
const CODEX_RESULT: &str = r#"{"type":"function_call_output","call_id":"c","output":"r"}"#;

fn counted(input: u64, output: u64, reasoning: u64, total: u64) -> String {
    let usage = format!(
        r#"{{"input_tokens":{input},"cached_input_tokens":5,"output_tokens":{output},"reasoning_output_tokens":{reasoning},"total_tokens":{total}}}"#
    );
    let info =
        format!(r#"{{"total_token_usage":{{"input_tokens":99999,"total_tokens":99999}},"last_token_usage":{usage}}}"#);
    codex("event_msg", &format!(r#"{{"type":"token_count","info":{info}}}"#))
}

fn pi(id: &str, rest: &str) -> String {
    format!(r#"{{"id":"{id}","parentId":{rest}}}"#) + "\n"
}

fn pi_answer(id: &str, parent: &str, time: u64, usage: &str) -> String {
    pi(
        id,
        &format!(
            r#""{parent}","type":"message","timestamp":"2026-01-01T00:00:00.000Z","message":{{"role":"assistant","content":[{{"type":"text","text":"a"}}],"timestamp":{time},{usage}}}"#
        ),
    )
}

/// What each format records, and what size that is.
#[test]
fn a_size_is_what_the_model_read_and_its_answer() {
    let one = |id: &str, stopped: &str, usage: &str| claude_user("") + &claude(id, "", stopped, usage);
    let anthropic =
        r#"{"input_tokens":3,"cache_creation_input_tokens":20,"cache_read_input_tokens":1000,"output_tokens":7}"#;
    let langchain = |fields: &str| {
        format!(
            r#"[{{"type":"human","content":"u"}},{{"type":"ai","content":"a",{fields}}},{{"type":"human","content":"v"}}]"#
        )
    };
    let pydantic = |usage: &str| {
        format!(
            r#"[{{"kind":"request","parts":[{{"part_kind":"user-prompt","content":"u"}}]}},{{"kind":"response","parts":[{{"part_kind":"text","content":"a"}}],"usage":{usage}}}]"#
        )
    };
    let ui = |parts: &str, metadata: &str| {
        format!(
            r#"[{{"id":"1","role":"user","parts":[{{"type":"text","text":"u"}}]}},{{"id":"2","role":"assistant","parts":[{parts}{{"type":"text","text":"a"}}],"metadata":{metadata}}}]"#
        )
    };
    let step = r#"{"type":"step-start"},"#;
    let gemini = |calls: &str| {
        format!(
            r#"{{"sessionId":"s","projectHash":"h","messages":[{{"id":"1","timestamp":"t","type":"user","content":"u"}},{{"id":"2","timestamp":"t","type":"gemini","content":"a","tokens":{{"input":5131,"output":23,"cached":100,"thoughts":208,"tool":0,"total":5362}}{calls}}}]}}"#
        )
    };
    let openhands = r#"[{"id":0,"source":"user","action":"message","args":{"content":"u"}},
        {"id":1,"source":"agent","action":"run","args":{"command":"ls"},"tool_call_metadata":{"tool_call_id":"c","model_response":{"id":"m","usage":{"prompt_tokens":3475,"completion_tokens":95,"total_tokens":3570,"cache_creation_input_tokens":3471}}}},
        {"id":2,"source":"agent","cause":1,"observation":"run","content":"r","tool_call_metadata":{"tool_call_id":"c","model_response":{"id":"m","usage":{"prompt_tokens":3475,"completion_tokens":95,"total_tokens":3570}}}}]"#;
    let mini = r#"{"messages":[{"role":"user","content":"u"},{"role":"assistant","content":"a","extra":{"response":{"usage":{"prompt_tokens":2182,"completion_tokens":89,"total_tokens":2271,"completion_tokens_details":{"reasoning_tokens":60}}}}},{"role":"user","content":"v"}]}"#;
    for (case, source, expected) in [
        ("Claude Code", one("m", "\"end_turn\"", anthropic), vec![(2, 1030, 0)]),
        ("its streams say the beginning", one("m", "null", anthropic), vec![(1, 1023, 0)]),
        (
            "Codex",
            codex("response_item", CODEX_USER) + &codex("response_item", CODEX_CALL) + &counted(90, 10, 6, 100),
            vec![(2, 100, 6)],
        ),
        (
            "pi",
            pi("0", r#"null,"type":"message","message":{"role":"user","content":"u"}"#)
                + &pi_answer(
                    "1",
                    "0",
                    5,
                    r#""usage":{"input":2,"output":3,"cacheRead":40,"cacheWrite":100,"totalTokens":145}"#,
                ),
            vec![(2, 145, 0)],
        ),
        ("Gemini CLI, whose thoughts are not read again", gemini(""), vec![(2, 5154, 0)]),
        (
            "its message holds the results of its calls",
            gemini(
                r#","toolCalls":[{"id":"c","name":"f","args":{},"result":[{"functionResponse":{"id":"c","name":"f","response":{"output":"r"}}}]}]"#,
            ),
            vec![(1, 5131, 0)],
        ),
        (
            "LangChain",
            langchain(
                r#""usage_metadata":{"input_tokens":50,"output_tokens":5,"total_tokens":55,"input_token_details":{"cache_read":40}},"response_metadata":{"usage":{"input_tokens":10,"output_tokens":5}}"#,
            ),
            vec![(2, 55, 0)],
        ),
        (
            "OpenAI's in it",
            langchain(
                r#""usage_metadata":null,"response_metadata":{"token_usage":{"prompt_tokens":50,"completion_tokens":6,"total_tokens":56,"completion_tokens_details":{"reasoning_tokens":4}}}"#,
            ),
            vec![(2, 52, 0)],
        ),
        (
            "Anthropic's in it",
            langchain(&format!(r#""response_metadata":{{"usage":{anthropic}}}"#)),
            vec![(2, 1030, 0)],
        ),
        (
            "JavaScript's",
            langchain(
                r#""response_metadata":{"tokenUsage":{"promptTokens":50,"completionTokens":6,"totalTokens":56}}"#,
            ),
            vec![(2, 56, 0)],
        ),
        (
            "pydantic-ai 0",
            pydantic(
                r#"{"requests":1,"request_tokens":50,"response_tokens":6,"total_tokens":56,"details":{"reasoning_tokens":4}}"#,
            ),
            vec![(2, 52, 0)],
        ),
        (
            "pydantic-ai 1",
            pydantic(r#"{"input_tokens":50,"cache_read_tokens":40,"output_tokens":6,"details":{}}"#),
            vec![(2, 56, 0)],
        ),
        (
            "AI SDK",
            ui(
                step,
                r#"{"usage":{"inputTokens":50,"outputTokens":6,"totalTokens":56,"reasoningTokens":2,"cachedInputTokens":40}}"#,
            ),
            vec![(2, 54, 0)],
        ),
        (
            "two steps are a sum",
            ui(&step.repeat(2), r#"{"usage":{"inputTokens":50,"outputTokens":6,"totalTokens":56}}"#),
            vec![],
        ),
        (
            "and so is the total",
            ui(step, r#"{"totalUsage":{"inputTokens":50,"outputTokens":6,"totalTokens":56}}"#),
            vec![],
        ),
        ("OpenHands", openhands.to_owned(), vec![(2, 3570, 0)]),
        ("mini-SWE-agent", mini.to_owned(), vec![(2, 2211, 0)]),
        (
            "Chat Completions read reasoning again where the message holds it",
            chat(
                r#"{"prompt_tokens":50,"completion_tokens":6,"completion_tokens_details":{"reasoning_tokens":4}},"reasoning_content":"hm""#,
            ),
            vec![(2, 56, 4)],
        ),
        (
            "a sum over what the provider did itself",
            chat(
                r#"{"input_tokens":900,"output_tokens":60,"iterations":[{"type":"message","input_tokens":400,"output_tokens":30},{"type":"message","input_tokens":500,"cache_read_input_tokens":7,"output_tokens":30}]}"#,
            ),
            vec![(2, 537, 0)],
        ),
        (
            "a compaction that ends it",
            chat(
                r#"{"input_tokens":900,"output_tokens":60,"iterations":[{"type":"compaction","input_tokens":900,"output_tokens":30}]}"#,
            ),
            vec![],
        ),
        (
            "names of Anthropic's with the input of OpenAI's",
            chat(r#"{"input_tokens":900,"output_tokens":60,"total_tokens":960,"cache_read_input_tokens":800}"#),
            vec![(2, 960, 0)],
        ),
    ] {
        assert_eq!(recorded(&source), expected, "{case}: {source}");
    }
}

/// A log of requests has the usage in the response, whose answer can be among the messages.
#[test]
fn a_response_counts_the_messages_of_its_request() {
    let user = r#"{"role":"user","content":"u"}"#;
    let answer = r#"{"role":"assistant","content":"a"}"#;
    let chat = r#"{"prompt_tokens":50,"completion_tokens":6,"total_tokens":56}"#;
    let inspect = r#"{"id":1,"epoch":1,"input":"u","scores":{},"messages":[{"role":"user","source":"input","content":"u"},{"role":"assistant","source":"generate","content":"a"},{"role":"user","content":"v"}],"output":{"model":"m","choices":[],"usage":{"input_tokens":10,"output_tokens":6,"total_tokens":56,"input_tokens_cache_read":40}}}"#;
    let responses = r#"{"model":"m","input":[{"role":"user","content":"u"}],"response":{"output":[{"type":"message","role":"assistant","content":[]}],"usage":{"input_tokens":50,"output_tokens":6,"output_tokens_details":{"reasoning_tokens":3}}}}"#;
    for (source, expected) in [
        (format!(r#"{{"messages":[{user}],"response":{{"choices":[],"usage":{chat}}}}}"#), vec![(1, 50, 0)]),
        (format!(r#"{{"request":{{"messages":[{user},{answer},{user}]}},"response":{{"choices":[],"usage":{chat}}}}}"#), vec![(3, 50, 0)]),
        (format!(r#"{{"request":{{"messages":[{user}]}},"response":{{"status":200,"body":{{"choices":[],"usage":{chat}}}}}}}"#), vec![(1, 50, 0)]),
        (format!(r#"{{"messages":[{user},{answer}],"response":{{"choices":[],"usage":{chat}}}}}"#), vec![(2, 56, 0)]),
        (format!(r#"{{"model":"m","messages":[{user},{answer}],"usage":{chat}}}"#), vec![(2, 56, 0)]),
        (format!(r#"{{"model":"m","messages":[{user},{answer},{user},{answer}],"usage":{chat}}}"#), vec![]),
        (format!(r#"{{"model":"m","messages":[{user},{answer},{user}],"choices":[],"usage":{chat}}}"#), vec![(3, 50, 0)]),
        (responses.to_owned(), vec![(1, 50, 0)]),
        (r#"{"id":"r","object":"response","model":"m","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]}],"usage":{"input_tokens":50,"output_tokens":6}}"#.to_owned(), vec![]),
        (r#"{"request":{"contents":[{"role":"user","parts":[{"text":"u"}]}]},"response":{"candidates":[],"usageMetadata":{"promptTokenCount":50,"candidatesTokenCount":6,"thoughtsTokenCount":9,"totalTokenCount":65}}}"#.to_owned(), vec![(1, 50, 0)]),
        (r#"{"messages":[{"role":"user","content":[{"text":"u"}]}],"output":{"message":{"role":"assistant","content":[{"text":"a"}]}},"usage":{"inputTokens":3,"outputTokens":6,"totalTokens":9,"cacheReadInputTokens":40,"cacheWriteInputTokens":7}}"#.to_owned(), vec![(1, 50, 0)]),
        (format!(r#"{{"messages":[{user}],"response":{{"message":{answer},"usage":{{"billed_units":{{"input_tokens":4,"output_tokens":6}},"tokens":{{"input_tokens":50,"output_tokens":6}}}}}}}}"#), vec![(1, 50, 0)]),
        (format!(r#"{{"messages":[{user}],"response":{{"message":{answer},"usage":{{"billed_units":{{"input_tokens":4,"output_tokens":6}}}}}}}}"#), vec![]),
        (inspect.to_owned(), vec![(2, 56, 0)]),
    ] {
        assert_eq!(recorded(&source), expected, "{source}");
    }
}

#[test]
fn absurd_sizes_are_ignored() {
    for usage in [
        "null",
        "[]",
        "7",
        "\"7\"",
        "{}",
        "[{\"prompt_tokens\":7}]",
        r#"{"completion_tokens":7}"#,
        r#"{"prompt_tokens":0,"completion_tokens":7}"#,
        r#"{"prompt_tokens":-7,"completion_tokens":7}"#,
        r#"{"prompt_tokens":7,"completion_tokens":-7}"#,
        r#"{"prompt_tokens":"7","completion_tokens":7}"#,
        r#"{"prompt_tokens":7.5,"completion_tokens":7}"#,
        r#"{"prompt_tokens":7,"completion_tokens":[7]}"#,
        r#"{"prompt_tokens":7,"completion_tokens":true}"#,
        r#"{"prompt_tokens":1e308,"completion_tokens":7}"#,
        r#"{"prompt_tokens":NaN,"completion_tokens":7}"#,
        r#"{"prompt_tokens":100000001}"#,
        r#"{"prompt_tokens":99999999,"completion_tokens":7}"#,
        r#"{"prompt_tokens":18446744073709551616,"completion_tokens":7}"#,
        r#"{"input_tokens":7,"output_tokens":7,"cache_read_input_tokens":18446744073709551615}"#,
        r#"{"input_tokens":7,"output_tokens":7,"cache_read_input_tokens":"7"}"#,
        r#"{"input_tokens":7,"output_tokens":7,"iterations":[[]]}"#,
        r#"{"cost":7}"#,
    ] {
        assert_eq!(recorded(&chat(usage)), [], "{usage}");
    }
    let nearly = r#"{"prompt_tokens":7,"completion_tokens":null,"completion_tokens_details":{"reasoning_tokens":"x"}}"#;
    assert_eq!(recorded(&chat(nearly)), [(2, 7, 0)]);
    assert_eq!(
        recorded(&chat(
            r#"{"prompt_tokens":7,"completion_tokens":2,"completion_tokens_details":{"reasoning_tokens":9}}"#
        )),
        [(2, 7, 0)]
    );
    // The simulated user of tau2 is a model, too.
    let of_user = r#"[{"role":"user","content":"u","usage":{"prompt_tokens":7}},{"role":"tool","tool_call_id":"c","content":"r","usage":{"prompt_tokens":7}}]"#;
    assert_eq!(recorded(of_user), []);
}

/// Lines of one answer repeat its usage, and those of streams say less.
#[test]
fn an_answer_is_counted_once() {
    let usage = |input: u64, output: u64| format!(r#"{{"input_tokens":{input},"output_tokens":{output}}}"#);
    let line = |id: &str, stopped: &str, input, output| claude(id, "", stopped, &usage(input, output));
    let result = claude_user(r#","toolUseResult":{"totalTokens":148249,"usage":{"input_tokens":148000}}"#);
    let (stop, sidechain) = ("\"tool_use\"", r#","isSidechain":true"#);
    let user = claude_user("");
    let boundary =
        r#"{"parentUuid":null,"sessionId":"s","type":"system","subtype":"compact_boundary","uuid":"b","content":"c"}"#
            .to_owned()
            + "\n";
    let micro = boundary.replace("compact_boundary", "microcompact_boundary").replace("null", "\"m\"");
    let summary = claude_user(r#","isCompactSummary":true"#).replace("\"p\"", "\"b\"");
    let synthetic = line("s", stop, 0, 0);
    for (case, source, expected) in [
        ("parts", [user.clone(), line("m", "null", 90, 5), line("m", stop, 90, 60)].concat(), vec![(3, 150, 0)]),
        (
            "the last says less",
            [user.clone(), line("m", stop, 90, 60), line("m", "null", 90, 5)].concat(),
            vec![(3, 150, 0)],
        ),
        (
            "a stream that was not finished",
            [user.clone(), line("m", "null", 90, 5), line("m", "null", 90, 5)].concat(),
            vec![(1, 90, 0)],
        ),
        (
            "a result between",
            [user.clone(), line("m", stop, 90, 60), result, line("m", stop, 90, 60)].concat(),
            vec![(2, 150, 0)],
        ),
        (
            "a sub-agent",
            [user.clone(), line("m", stop, 90, 60), claude("n", sidechain, stop, &usage(9, 9))].concat(),
            vec![(2, 150, 0)],
        ),
        ("zero", [user.clone(), line("m", stop, 90, 60), synthetic].concat(), vec![(2, 150, 0)]),
        (
            "a boundary",
            [user.clone(), line("m", stop, 9000, 60), boundary.clone(), summary.clone(), line("n", stop, 90, 60)]
                .concat(),
            vec![(2, 150, 0)],
        ),
        ("nothing behind it", [user.clone(), line("m", stop, 9000, 60), boundary, summary].concat(), vec![]),
        ("a small one", [user.clone(), line("m", stop, 9000, 60), micro.clone()].concat(), vec![]),
        (
            "and behind it",
            [user, line("m", stop, 9000, 60), micro, line("n", stop, 5000, 60)].concat(),
            vec![(3, 5060, 0)],
        ),
    ] {
        assert_eq!(recorded(&source), expected, "{case}: {source}");
    }
}

/// A small model names the conversation, or a sub-agent does a part of it.
#[test]
fn a_helper_between_two_answers_is_left_out() {
    let answer = |model: &str, size: u64| {
        format!(
            r#"{{"role":"assistant","content":"a","model":"{model}","usage":{{"prompt_tokens":{size},"completion_tokens":0}}}}"#
        )
    };
    let sizes = |answers: &[(&str, u64)]| -> Vec<u64> {
        let list: Vec<String> = answers.iter().map(|(model, size)| answer(model, *size)).collect();
        let source = format!(r#"[{{"role":"user","content":"u"}},{}]"#, list.join(","));
        recorded(&source).into_iter().map(|(_, tokens, _)| tokens).collect()
    };
    assert_eq!(sizes(&[("a", 900), ("b", 90), ("a", 910)]), [900, 910]);
    assert_eq!(sizes(&[("a", 900), ("b", 90)]), [900]);
    assert_eq!(sizes(&[("a", 900), ("b", 90), ("b", 95)]), [900, 90, 95], "the user chose another");
    assert_eq!(sizes(&[("a", 900), ("b", 800)]), [900, 800]);
    assert_eq!(sizes(&[("a", 900), ("a", 90)]), [900, 90], "the agent left something out");
}
