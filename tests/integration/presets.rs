//! Presets from outside: requests, written files, messages.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::program::{FIXTURES, Run, path, piped, run, tcompact, with};
use crate::server::{Server, Step, completion};

const FIVE: &str = "worked/langchain-five-messages.json";
const OVERFLOW: &str =
    r#"{"error":{"message":"This model's maximum context length is 10 tokens","code":"context_length_exceeded"}}"#;

/// Runs a preset against a server, keeping one message.
fn asked(server: &Server, arguments: &[&str]) -> Run {
    let endpoint = ["--model", "openai:m", "--base-url", &server.url, "--trigger", "tokens:1", "--keep", "messages:1"];
    run(tcompact().args(endpoint).args(arguments), b"")
}

fn answers(steps: Vec<Step>) -> Server {
    Server::start(steps)
}

fn messages(server: &Server, request: usize) -> Value {
    serde_json::from_str::<Value>(&server.requests()[request].body).expect("JSON")["messages"].clone()
}

fn refused(status: u16, body: &str) -> Step {
    Step::Answer(status, "content-type: application/json\r\n", body.to_owned())
}

#[test]
fn langchain_sends_one_user_message_with_the_history_as_elements() {
    let folder = tempfile::tempdir().expect("a folder");
    let prompt = path(folder.path(), "prompt.txt");
    fs::write(&prompt, "Sum up {{json}}: {messages}\n\n").expect("written");
    let server = answers(vec![completion(" \u{1c}a summary\u{3000}\n", "length")]);
    let run = asked(&server, &["--preset", "langchain", "--prompt-file", &prompt, FIVE]);
    assert_eq!(run.code, 0, "{run:?}");
    let history = "<message type=\"human\">第 1 条</message>\n<message type=\"human\">第 2 条</message>\n<message type=\"human\">第 3 条</message>\n<message type=\"human\">第 4 条</message>";
    assert_eq!(messages(&server, 0), json!([{"role": "user", "content": format!("Sum up {{json}}: {history}")}]));
    assert!(run.stdout.contains(r"to date:\n\na summary"), "an answer cut off by its length is taken: {run:?}");
}

#[test]
fn langchain_tries_three_times_except_after_permanent_errors() {
    let server = answers(vec![refused(418, "{}"), refused(500, "{}"), completion("at last", "stop")]);
    let run = asked(&server, &["-q", "--preset", "langchain", FIVE]);
    assert!(run.stdout.contains("at last") && server.requests().len() == 3, "{run:?}");
    let server = answers(vec![refused(401, "{}")]);
    let run = asked(&server, &["-q", "--preset", "langchain", FIVE]);
    assert_eq!((run.code, run.stdout.as_str(), server.requests().len()), (4, "", 1), "{run:?}");
}

#[test]
fn langchain_cuts_out_the_middle_where_the_history_is_too_long() {
    let server = answers(vec![refused(400, OVERFLOW), completion("shorter", "stop")]);
    let run = asked(&server, &["-q", "--preset", "langchain", "langchain/thread.json"]);
    assert!(run.stdout.contains("shorter"), "{run:?}");
    let sent = |request: usize| messages(&server, request)[0]["content"].as_str().expect("text").to_owned();
    assert!(sent(1).contains("\n\n[... middle of conversation omitted ...]\n\n") && sent(1).len() < sent(0).len());
    let server = answers(vec![refused(400, OVERFLOW)]);
    let run = asked(&server, &["-q", "--preset", "langchain", "langchain/thread.json"]);
    assert_eq!((run.code, server.requests().len()), (4, 2), "once more, and then it is an error: {run:?}");
}

#[test]
fn synaptic_sends_a_system_message_before_its_prompt() {
    let server = answers(vec![completion(" kept as it is\n", "stop")]);
    let run = asked(&server, &["-q", "--preset", "synaptic", "worked/synaptic-five-messages.json"]);
    let sent = messages(&server, 0);
    assert_eq!(sent[0]["role"], "system");
    let prompt = sent[1]["content"].as_str().expect("text");
    assert!(
        prompt.contains("\n\nhuman: What is Rust?\nassistant: Rust is a systems programming language...\n"),
        "{prompt}"
    );
    assert!(run.stdout.contains(r#""content": "[Previous conversation summary]:  kept as it is\n""#), "{run:?}");
}

#[test]
fn tongyi_asks_in_chinese_and_keeps_pairs() {
    let server = answers(vec![completion("摘要", "stop")]);
    asked(&server, &["-q", "--preset", "tongyi", "worked/tongyi-scenario-a.json"]);
    let prompt = messages(&server, 0)[0]["content"].as_str().expect("text").to_owned();
    assert!(
        prompt.starts_with("你在为一个 AI 助手做笔记")
            && prompt.contains("\n\nhuman: 分析数据\n\nai: \n\ntool: 分析结果\n\n")
    );
    let result = |id: usize| format!(r#"{{"role":"tool","tool_call_id":"{id}","content":"r"}}"#);
    let call = |id: usize| format!(r#"{{"id":"{id}","type":"function","function":{{"name":"f","arguments":"{{}}"}}}}"#);
    let calls: Vec<String> = (0..8).map(call).collect();
    let results: Vec<String> = (0..8).map(result).collect();
    let source = format!(
        r#"[{{"role":"user","content":"u"}},{{"role":"assistant","content":null,"tool_calls":[{}]}},{}]"#,
        calls.join(","),
        results.join(",")
    );
    let arguments = ["-n", "--preset", "tongyi", "--trigger", "tokens:1", "--keep", "messages:2"];
    let run = piped(&arguments, &source);
    assert_eq!(run.stdout, "8\n");
    assert!(run.stderr.contains("the cut at 8 splits the call in message 1 from its result in message 8"), "{run:?}");
    assert!(run.stderr.contains("--pairs strict does not"), "{run:?}");
    let strict = piped(&[&arguments[..], &["--pairs", "strict"]].concat(), &source);
    assert_eq!((strict.stdout.as_str(), strict.stderr.as_str()), ("1\n", ""));
}

#[test]
fn only_some_presets_put_errors_into_the_summary() {
    for (preset, prefix) in [("langchain", "Error generating summary: "), ("tongyi", "生成摘要时出错: ")] {
        let fails = [
            "--preset",
            preset,
            "--summarizer-cmd",
            "echo no >&2; exit 3",
            "--trigger",
            "tokens:1",
            "--keep",
            "messages:1",
        ];
        let run = with(&[&fails[..], &[FIVE]].concat());
        assert_eq!((run.code, run.stdout.as_str()), (4, ""), "{run:?}");
        let run = with(&[&fails[..], &["--on-error", "embed", FIVE]].concat());
        assert!(run.stdout.contains(prefix), "{run:?}");
    }
    let source = fs::read_to_string(Path::new(FIXTURES).join(FIVE)).expect("read");
    let deerflow =
        ["--preset", "deerflow", "--summarizer-cmd", "false", "--trigger", "tokens:1", "--keep", "messages:1", FIVE];
    assert_eq!(with(&deerflow).stdout, source, "DeerFlow goes on without a summary");
}

/// With zero tokens nothing is left: `LangChain` then sends no request, and `DeerFlow` still sends the last message.
#[test]
fn zero_trim_tokens_mean_what_they_mean_in_each_preset() {
    let arguments = ["-q", "--trigger", "messages:1", "--keep", "messages:1", "--trim-tokens", "0"];
    let folder = tempfile::tempdir().expect("a folder");
    let archive = path(folder.path(), "a.md");
    for (preset, asked) in [("langchain", 0), ("deepagents", 0), ("deerflow-v1", 0), ("deerflow", 1)] {
        let server = answers(vec![completion("S", "stop")]);
        let endpoint =
            ["--model", "openai:m", "--base-url", &server.url, "--preset", preset, "--archive", &archive, FIVE];
        let run = run(tcompact().args(arguments).args(endpoint), b"");
        assert_eq!((run.code, server.requests().len()), (0, asked), "{preset} {run:?}");
        let canned = run.stdout.contains("Previous conversation was too long to summarize.");
        assert_eq!(canned, asked == 0, "{preset} {run:?}");
    }
    let run = with(&[&arguments[..], &[FIVE]].concat());
    assert!(run.code == 2 && run.stderr.contains("--trim-tokens 0: the summarizer would be sent nothing"), "{run:?}");
}

#[test]
fn deerflow_carries_a_summary_on_and_keeps_the_request() {
    let source = r#"{"messages":[{"role":"user","content":"please do it"},{"role":"assistant","content":"one"},{"role":"assistant","content":"two"},{"role":"assistant","content":"three"}],"summary_text":"what <was> said","title":"t"}"#;
    let arguments =
        ["-q", "--preset", "deerflow", "--trigger", "tokens:1", "--keep", "messages:1", "--summarizer-cmd", "cat"];
    let state = piped(&arguments, source);
    let value: Value = serde_json::from_str(&state.stdout).expect("JSON");
    let kept: Vec<&str> =
        value["messages"].as_array().expect("a list").iter().filter_map(|one| one["content"].as_str()).collect();
    assert_eq!(kept, ["please do it", "three"]);
    let summary = value["summary_text"].as_str().expect("text");
    assert!(
        summary.contains(
            "<existing_summary>\nwhat &lt;was&gt; said\n</existing_summary>\n\n<new_messages>\nAI: two\n</new_messages>"
        ),
        "{summary}"
    );
    assert!(state.stdout.ends_with(r#","title":"t"}"#));
    let update = piped(&[&arguments[..], &["--emit", "update"]].concat(), source);
    let update: Value = serde_json::from_str(&update.stdout).expect("JSON");
    assert_eq!(
        (update["messages"].as_array().map(Vec::len), update["summary_text"].as_str()),
        (Some(3), Some(summary))
    );
    let list = r#"[{"role":"user","content":"please do it"},{"role":"assistant","content":"one"},{"role":"assistant","content":"two"},{"role":"assistant","content":"three"}]"#;
    let once = piped(&arguments, list).stdout;
    let messages: Value = serde_json::from_str(&once).expect("JSON");
    assert_eq!(messages[0]["name"], "summary");
    assert!(
        messages[0]["content"]
            .as_str()
            .expect("text")
            .starts_with("Here is a summary of the conversation to date:\n\n")
    );
    assert_eq!(messages[1]["content"], "please do it");
    assert_eq!(piped(&arguments, &once).stdout, once, "nothing but what stays stands before the cut");
    let first_two = [&arguments[..], &["--pin", "first:2"]].concat();
    let once = piped(&first_two, list).stdout;
    assert_eq!(piped(&first_two, &once).stdout, once, "a summary is none of the first messages");
}

#[test]
fn conversations_that_langchain_refuses_are_refused() {
    let odd = r#"[{"role":"user","content":"u"},{"role":"assistant","content":"","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{"}}]}]"#;
    for preset in ["langchain", "deepagents", "deerflow", "deerflow-v1", "tongyi"] {
        let run = piped(&["-n", "--preset", preset], odd);
        assert_eq!((run.code, run.stdout.as_str()), (1, ""), "{run:?}");
        assert!(
            run.stderr
                .contains("message 1 calls a tool (call 0) and the call has arguments that are not a JSON object"),
            "{run:?}"
        );
    }
    assert_eq!(piped(&["-n"], odd).code, 0);
}

#[test]
fn a_canned_text_stands_for_a_history_of_which_nothing_is_left() {
    let source = r#"[{"role":"assistant","content":"no person"},{"role":"user","content":"speaks before"}]"#;
    let arguments = ["--preset", "langchain", "--trigger", "tokens:1", "--keep", "messages:1"];
    let server = answers(vec![completion("never asked", "stop")]);
    let run = piped(&[&arguments[..], &["--model", "openai:m", "--base-url", &server.url]].concat(), source);
    assert!(run.stdout.contains("Previous conversation was too long to summarize."), "{run:?}");
    assert!(run.stderr.contains("tcompact asks no summarizer"), "{run:?}");
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn an_archive_holds_the_removed_messages() {
    let folder = tempfile::tempdir().expect("a folder");
    let (lines, text) = (path(folder.path(), "new/a.jsonl"), path(folder.path(), "a.md"));
    let source = fs::read_to_string(Path::new(FIXTURES).join("openai-chat/pretty.json")).expect("read");
    let before: Vec<Value> = serde_json::from_str(&source).expect("JSON");
    for round in 1..=2 {
        let run = piped(
            &["-q", "--counter", "approx", "--keep", "messages:3", "--accept", "any", "--archive", &lines],
            &source,
        );
        assert!(run.stdout.contains(&format!("(Archive: `tcompact search REGEX {lines}` finds")), "{run:?}");
        let archive = fs::read_to_string(&lines).expect("read");
        let records: Vec<Value> = archive.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(records.len(), round, "appended, a line each");
        for record in records {
            assert_eq!((&record["source"], &record["format"]), (&"-".into(), &"openai-chat".into()));
            let messages = record["messages"].as_array().expect("a list");
            for (index, message) in record["indices"].as_array().expect("a list").iter().zip(messages) {
                let message = message.as_str().expect("text");
                assert!(source.contains(message), "to the byte: {message}");
                let index = index.as_u64().expect("an index") as usize;
                assert_eq!(serde_json::from_str::<Value>(message).expect("JSON"), before[index]);
            }
            assert_eq!(messages.len(), before.len() - 4, "but for the system message and what is kept");
        }
    }
    piped(&["-q", "--keep", "messages:3", "--accept", "any", "--archive", &text], &source);
    let text = fs::read_to_string(&text).expect("read");
    assert!(
        text.starts_with("## Summarized at 20") && text.contains("+00:00\n\nFrom -:\n\n<message role=\"user\">\n"),
        "{text}"
    );
    let untouched = path(folder.path(), "b.md");
    let failing = ["--archive", &untouched, "--keep", "messages:3", "--summarizer-cmd", "false"];
    assert_eq!(piped(&failing, &source).code, 4);
    assert_eq!(piped(&["-n", "--archive", &untouched, "--keep", "messages:3"], &source).code, 0);
    assert!(!Path::new(&untouched).exists(), "nothing is archived where nothing is cut away");
}

#[test]
fn an_impossible_archive_is_refused_first() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = path(folder.path(), "file.md");
    fs::write(&file, "text").expect("written");
    let inside = format!("{file}/a.md");
    for (archive, code, why) in [
        ("a.txt", 2, "expected a name that ends in .md, for reading, or in .jsonl"),
        (inside.as_str(), 1, "cannot be written"),
        ("openai-chat/crlf-bom.jsonl", 2, "is the input or the output itself"),
        ("openai-chat/../openai-chat/crlf-bom.jsonl", 2, "is the input or the output itself"),
    ] {
        let run = with(&["--keep", "messages:2", "--archive", archive, "openai-chat/crlf-bom.jsonl"]);
        assert_eq!((run.code, run.stdout.as_str()), (code, ""), "{run:?}");
        assert!(run.stderr.contains(why), "{run:?}");
    }
}

#[test]
fn deepagents_keeps_its_history_in_a_folder_of_its_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let input = path(folder.path(), "chat.json");
    let picture = r#"{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}"#;
    let big = "row\\n".repeat(2_000);
    let call = r#"{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}"#;
    fs::write(
        &input,
        format!(
            r#"[{{"role":"user","content":[{picture}]}},{{"role":"assistant","content":"seen"}},{{"role":"user","content":"go on"}},{{"role":"assistant","content":"","tool_calls":[{call}]}},{{"role":"tool","tool_call_id":"a","content":"{big}"}}]"#
        ),
    )
    .expect("written");
    let arguments =
        ["-q", "--preset", "deepagents", "--context-window", "1000", "--keep", "messages:2", "--summarizer-cmd", "cat"];
    let run = run(tcompact().args(arguments).arg("chat.json").current_dir(folder.path()), b"");
    assert_eq!(run.code, 0, "{run:?}");
    let messages: Value = serde_json::from_str(&run.stdout).expect("JSON");
    let summary = messages[0]["content"].as_str().expect("text");
    assert!(summary.starts_with("You are in the middle of a conversation that has been summarized.\n\nThe full conversation history has been saved to conversation_history/chat.md should"), "{summary}");
    let media: Vec<_> = fs::read_dir(folder.path().join("conversation_history/media")).expect("a folder").collect();
    assert_eq!(media.len(), 1);
    let name = media[0].as_ref().expect("a file").file_name().into_string().expect("UTF-8");
    assert!(summary.contains(&format!("<image url=\"conversation_history/media/{name}\" />")), "{summary}");
    assert_eq!(
        fs::read(folder.path().join("conversation_history/media").join(&name)).expect("read"),
        b"\x89PNG\r\n\x1a\n"
    );
    let result = messages[2]["content"].as_str().expect("text");
    assert!(result.contains("is now in the file large_tool_results/a\n") && result.len() < 1_000, "{result}");
    assert_eq!(fs::read_to_string(folder.path().join("large_tool_results/a")).expect("read"), "row\n".repeat(2_000));
}

#[test]
fn an_archive_is_never_the_output_however_it_is_spelled() {
    let folder = tempfile::tempdir().expect("a folder");
    std::os::unix::fs::symlink("real.md", folder.path().join("link.md")).expect("a link");
    let input = format!("{FIXTURES}/agent-session.json");
    for (archive, output) in [("h.md", "./h.md"), ("link.md", "real.md")] {
        let arguments = ["-q", "--archive", archive, "-o", output, &input];
        let run = run(tcompact().args(arguments).current_dir(folder.path()), b"");
        assert_eq!(run.code, 2, "{archive}: {run:?}");
    }
    assert_eq!(fs::read_dir(folder.path()).expect("read").count(), 1, "nothing was made");
}

#[test]
fn results_move_out_even_where_nothing_is_summarized_and_never_over_anything() {
    let folder = tempfile::tempdir().expect("a folder");
    let call = r#"{"id":"a/../b","type":"function","function":{"name":"f","arguments":"{}"}}"#;
    let source = |text: &str| {
        let big = format!("{text}\\n").repeat(1_000);
        format!(
            r#"[{{"role":"user","content":"go on"}},{{"role":"assistant","content":"","tool_calls":[{call}]}},{{"role":"tool","tool_call_id":"a/../b","content":[{{"type":"text","text":"{big}"}},{{"type":"image_url","image_url":{{"url":"https://e.com/\ud83d","odd":1.50}}}}]}}]"#
        )
    };
    let arguments = ["--preset", "deepagents", "--context-window", "600", "--keep", "messages:9"];
    let run = |text: &str| run(tcompact().args(arguments).current_dir(folder.path()), source(text).as_bytes());
    let file = folder.path().join("large_tool_results/a____b");
    for round in 0..2 {
        let first = run("row");
        assert_eq!(first.code, 0, "{round}: {first:?}");
        assert!(first.stdout.contains("large_tool_results/a____b"), "{first:?}");
        assert!(
            first.stdout.contains(r#"{"url":"https://e.com/\ud83d","odd":1.50}"#),
            "what is not a text stays as it is written"
        );
        assert_eq!(fs::read_to_string(&file).expect("read"), "row\n".repeat(1_000));
    }
    let other = run("another");
    assert_eq!((other.code, other.stdout.as_str()), (1, ""), "{other:?}");
    assert!(other.stderr.contains("is there already and holds something else; move it away"), "{other:?}");
    fs::remove_dir_all(folder.path().join("large_tool_results")).expect("removed");
    let elsewhere = tempfile::tempdir().expect("a folder");
    std::os::unix::fs::symlink(elsewhere.path(), folder.path().join("large_tool_results")).expect("a link");
    let refused = || {
        assert_eq!(run("row").code, 1, "a link could lead anywhere");
        assert_eq!(fs::read_dir(elsewhere.path()).expect("read").count(), 0);
    };
    refused();
}

#[test]
fn arguments_are_cut_before_the_cut_and_nowhere_else() {
    let long = "x".repeat(100);
    let call = |id: usize| {
        format!(
            r#"{{"role":"assistant","content":"","tool_calls":[{{"id":"{id}","type":"function","function":{{"name":"f","arguments":"{{\"a\":\"{long}\"}}"}}}}]}}"#
        )
    };
    let result = |id: usize| format!(r#"{{"role":"tool","tool_call_id":"{id}","content":"r"}}"#);
    let words = "and so on ".repeat(30);
    let source = format!(
        r#"[{{"role":"user","content":"{words}"}},{},{},{},{},{{"role":"user","content":"last"}}]"#,
        call(1),
        result(1),
        call(2),
        result(2)
    );
    let arguments =
        ["-q", "--prune", "arguments:50", "--keep", "messages:2", "--accept", "any", "--summarizer-cmd", "cat"];
    let run = piped(&arguments, &source);
    assert!(run.stdout.contains("xxxxxxxxxxxxxxxxxxxx...(argument truncated)"), "in what is summarized: {run:?}");
    assert!(
        run.stdout.ends_with(&format!("{},{},{{\"role\":\"user\",\"content\":\"last\"}}]", call(2), result(2))),
        "{run:?}"
    );
    let failing = [
        "-q",
        "--prune",
        "arguments:50",
        "--keep",
        "messages:2",
        "--summarizer-cmd",
        "false",
        "--on-error",
        "passthrough",
    ];
    assert_eq!(piped(&failing, &source).stdout, source, "the input, unchanged");
    assert_eq!(piped(&["-q", "--prune", "arguments:50", "--keep", "messages:9"], &source).stdout, source);
}

#[test]
fn the_window_of_a_configured_model_is_not_used_for_a_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = path(folder.path(), "c.toml");
    fs::write(&config, "model = \"openai:gpt-4o\"").expect("written");
    let arguments = ["-n", "--json", "--preset", "deepagents", "--config", &config, FIVE];
    let known: Value = serde_json::from_str(&with(&arguments).stdout).expect("JSON");
    assert_eq!(known["context_window"], 128_000);
    let run = with(&[&arguments[..], &["--summarizer-cmd", "cat"]].concat());
    let unknown: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{run:?}"));
    assert_eq!(unknown["context_window"], Value::Null);
}

/// A provider's count triggers for the provider that is named, whether or not the table has its model.
#[test]
fn tokens_that_another_provider_reported_do_not_trigger() {
    let usage = r#"{"type":"ai","content":"hi","response_metadata":{"model_provider":"openai"},"usage_metadata":{"input_tokens":9,"output_tokens":90,"total_tokens":99}}"#;
    let source = format!(r#"[{{"type":"human","content":"hello"}},{usage},{{"type":"human","content":"more"}}]"#);
    let rules = ["-n", "-q", "--preset=langchain", "--trigger=tokens:90", "--keep=messages:1"];
    for (reader, cutoff) in [
        (None, "2\n"),
        (Some("--for=openai:gpt-4o"), "2\n"),
        (Some("--for=openai:nobody-knows-it"), "2\n"),
        (Some("--for=groq:nobody-knows-it"), "0\n"),
        (Some("--for=claude-haiku-4-5"), "0\n"),
    ] {
        let words: Vec<&str> = rules.into_iter().chain(reader).collect();
        assert_eq!(piped(&words, &source).stdout, cutoff, "{reader:?}");
    }
}
