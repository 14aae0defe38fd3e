//! Bad input gets an error message and the right exit code. Nothing is printed on standard output, and no file changes.

use std::fs;

use serde_json::{Value, json};

use crate::batch::within;
use crate::program::{Run, path, piped, run, tcompact, with};

/// Asserts that a run failed with `code`, printed all of `words`, and wrote nothing.
pub(crate) fn assert_fails(run: &Run, code: i32, words: &[&str]) {
    assert_eq!(run.code, code, "{run:?}");
    assert_eq!(run.stdout, "", "{run:?}");
    for word in words {
        assert!(run.stderr.contains(word), "{word:?} is missing: {run:?}");
    }
}

pub(crate) const GOOD: &str = r#"[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]"#;

#[test]
fn invalid_json_is_named_by_line_and_column() {
    assert_fails(&piped(&[], "[\n {\"role\": }\n]"), 1, &["tcompact: standard input is not JSON", "line 2 column 11"]);
    assert_fails(
        &piped(&[], GOOD.trim_end_matches(']')),
        1,
        &["is not JSON: the list that begins at line 1 column 1 is not closed"],
    );
    assert_fails(
        &piped(&[], &format!("{}\n{{\"role\"\n", GOOD.replace("},{", "}\n{").trim_matches(['[', ']']))),
        1,
        &["line 3"],
    );
}

#[test]
fn other_json_is_named_for_what_it_is() {
    assert_fails(&piped(&[], "42"), 1, &["is not a transcript", "a number"]);
    assert_fails(&piped(&[], "{\"users\": []}"), 1, &["is not a transcript", "its keys: users"]);
    assert_fails(&piped(&[], "[1, 2]"), 1, &["is not a transcript", "message 0 is a number", "line 1 column 2"]);
    assert_fails(
        &piped(&[], "[{\"role\":\"admin\",\"name\":\"a row of a table\"}]"),
        1,
        &["not of a format", "list formats"],
    );
}

#[test]
fn files_of_other_programs_are_not_mistaken_for_transcripts() {
    let long = "a text that is long enough to be more than all else there is in this file, and then some more of it";
    let qwen = format!(
        r#"{{"uuid":"a","parentUuid":null,"sessionId":"s","type":"user","cwd":"/w","message":{{"role":"user","parts":[{{"text":"{long}"}}]}}}}
{{"uuid":"b","parentUuid":"a","sessionId":"s","type":"assistant","cwd":"/w","message":{{"role":"model","parts":[{{"functionCall":{{"id":"c","name":"f","args":{{}}}}}}]}}}}"#
    );
    let droid = format!(
        r#"{{"type":"session_start","id":"s","title":"t","cwd":"/"}}
{{"type":"message","id":"1","message":{{"role":"user","content":[{{"type":"text","text":"{long}"}}]}}}}
{{"type":"message","id":"2","message":{{"role":"assistant","content":[{{"type":"tool_use","id":"c","name":"f","input":{{}}}}]}}}}"#
    );
    let goose = format!(
        r#"[{{"role":"user","created":1,"content":[{{"type":"text","text":"{long}"}}]}},
{{"role":"assistant","created":2,"content":[{{"type":"toolRequest","id":"c","toolCall":{{"value":{{"name":"f"}}}}}}]}}]"#
    );
    let cursor = format!(
        r#"{{"type":"system","subtype":"init","session_id":"s"}}
{{"type":"user","message":{{"role":"user","content":[{{"type":"text","text":"{long}"}}]}},"session_id":"s"}}
{{"type":"tool_call","subtype":"started","call_id":"c","tool_call":{{"readToolCall":{{"args":{{}}}}}},"session_id":"s"}}"#
    );
    let langfuse = format!(
        r#"{{"id":"t","input":[{{"role":"user","content":"{long}"}}],"output":{{"role":"assistant","content":"a"}},"observations":[]}}"#
    );
    for (program, text) in [("Factory Droid", &droid), ("Goose", &goose), ("Cursor", &cursor), ("Langfuse", &langfuse)]
    {
        for more in [&["-n"][..], &["--keep", "messages:1"], &["check"]] {
            assert_fails(&piped(more, text), 1, &[program, "tcompact does not read"]);
        }
    }
    // A mostly unknown file is rejected even if the user names the format.
    let more = ["--from", "claude-code", "--accept", "any", "-n"];
    assert_fails(&piped(&more, &qwen), 1, &["message 0 has", "cannot read most"]);
}

/// Files of known programs, as small as they can be told, are called by the program's name.
#[test]
fn unsupported_exports_are_named() {
    let text = "a text that is long enough to be more than all else there is in this file";
    let parts = json!([{"type": "text", "text": text}]);
    let node = json!({"id": "b", "parent": "a", "children": [],
        "message": {"author": {"role": "user"}, "content": {"content_type": "text", "parts": [text]}}});
    let chatgpt = json!({"title": "t", "mapping": {"b": node}, "current_node": "b", "conversation_id": "c"});
    let claude = json!({"uuid": "u", "name": "n", "account": {"uuid": "a"},
        "chat_messages": [{"uuid": "m", "sender": "human", "text": text, "content": parts}]});
    let webui = json!({"id": "i", "user_id": "u", "title": "t", "chat": {"title": "t", "messages": [], "history":
        {"currentId": "m", "messages": {"m": {"id": "m", "role": "user", "content": text}}}}});
    let stored = json!({"id": "msg_1", "sessionID": "ses_1", "role": "user", "time": {"created": 1}});
    let shared = json!([{"type": "session", "data": {"id": "ses_1"}}, {"type": "message", "data": {"role": "user"}}]);
    let event = json!({"id": "e", "author": "user", "invocationId": "i", "content": {"role": "user", "parts": [{"text": text}]}});
    let goose = json!({"working_dir": "/w", "conversation": [{"role": "user", "created": 1, "content":
        [{"type": "toolRequest", "id": "c", "toolCall": {"value": {"name": "f"}}}]}]});
    let cursor = json!({"role": "user", "message": {"content": parts}});
    let strands =
        json!({"message": {"role": "user", "content": [{"text": text}]}, "message_id": 0, "redact_message": null});
    let kimi =
        format!("{}\n{}\n", json!({"role": "_checkpoint", "id": 0}), json!({"role": "_usage", "token_count": 7}));
    let otel =
        json!([{"role": "assistant", "parts": [{"type": "tool_call", "id": "c", "name": "f", "arguments": {}}]}]);
    let item = json!({"content_type": "text", "text": text});
    let of_python = json!({"content_type": "message", "metadata": {}, "role": "user", "items": [item]});
    let of_dotnet = json!({"Role": {"Label": "user"}, "Items": [{"$type": "TextContent", "Text": text}]});
    let openhands = json!({"kind": "MessageEvent", "id": "e", "timestamp": "t", "source": "user",
        "llm_message": {"role": "user", "content": [{"type": "text", "text": text}]}});
    for (program, text) in [
        ("Semantic Kernel", json!({"messages": [of_python, of_python]}).to_string()),
        ("Semantic Kernel", json!([of_dotnet, of_dotnet]).to_string()),
        ("OpenHands V1", json!([openhands]).to_string()),
        ("OpenHands V1", format!("{openhands}\n{openhands}\n")),
        ("ChatGPT", chatgpt.to_string()),
        ("ChatGPT", json!([chatgpt, chatgpt]).to_string()),
        ("Claude.ai", claude.to_string()),
        ("Claude.ai", json!([claude]).to_string()),
        ("Open WebUI", json!([webui]).to_string()),
        ("Open WebUI", webui.to_string()),
        ("opencode", stored.to_string()),
        ("opencode", shared.to_string()),
        ("opencode", json!({"id": "p", "type": "text", "text": text, "time": {"start": 1}}).to_string()),
        ("Google's ADK", json!({"id": "s", "appName": "a", "userId": "u", "events": [event]}).to_string()),
        ("Google's ADK", json!([event]).to_string()),
        ("Goose", goose.to_string()),
        ("Cursor", format!("{cursor}\n{cursor}\n")),
        ("Strands", json!([strands]).to_string()),
        ("Kimi CLI", kimi),
        ("OpenTelemetry", otel.to_string()),
        ("OpenTelemetry", json!({"gen_ai.input.messages": otel}).to_string()),
        ("OpenTelemetry", json!({"context": {"trace_id": "0x1", "span_id": "0x2"}, "attributes": {}}).to_string()),
        ("Crush", json!([{"role": "user", "parts": [{"type": "text", "data": {"text": text}}]}]).to_string()),
        ("ATIF", json!({"schema_version": "ATIF-v1.7", "agent": {"name": "a"}, "steps": []}).to_string()),
        ("LangSmith", json!({"id": "r", "run_type": "llm", "inputs": {}, "outputs": {}}).to_string()),
        (
            "Continue",
            json!({"history": [{"message": {"role": "user", "content": text}, "contextItems": []}]}).to_string(),
        ),
        ("LM Studio", json!({"messages": [{"versions": [], "currentlySelected": 0}]}).to_string()),
        ("Letta", json!([{"id": "m", "message_type": "user_message", "content": text}]).to_string()),
        ("Zed", json!({"messages": [{"User": {"id": "u", "content": [{"Text": text}]}}]}).to_string()),
        (
            "Agent Client Protocol",
            json!({"method": "session/update", "params": {"sessionId": "s",
            "update": {"sessionUpdate": "user_message_chunk"}}})
            .to_string(),
        ),
    ] {
        for more in [&["-n"][..], &["--keep", "messages:1"], &["check"]] {
            assert_fails(&piped(more, &text), 1, &[program, "tcompact does not read"]);
        }
    }
}

/// Files that a format reads, but not as their program does, are refused unless the user names the format.
#[test]
fn files_that_a_format_would_misread_are_refused_by_name() {
    let text = "a text that is long enough to be cut, and then some more of it";
    let chat = |count: usize| -> Vec<Value> {
        let message = |index: usize| json!({"role": (["user", "assistant"][index % 2]), "content": text});
        (0..count).map(message).collect()
    };
    let line = |id: &str, parent: Option<&str>, role: &str| {
        json!({"type": "message", "id": id, "parentId": parent, "timestamp": "t",
            "message": {"role": role, "content": [{"type": "text", "text": text}]}})
    };
    let lines = |head: Value, tail: Value| -> String {
        let pairs = [line("1", None, "user"), line("2", Some("1"), "assistant"), line("3", Some("2"), "user")];
        [vec![head], pairs.to_vec(), vec![tail]].concat().iter().map(|line| format!("{line}\n")).collect()
    };
    let of_pi = json!({"type": "session", "version": 4, "id": "s", "timestamp": "t", "cwd": "/"});
    let last = line("4", Some("3"), "assistant");
    let mut beside = last.clone();
    beside["appendMode"] = json!("side");
    let leaf = json!({"type": "leaf", "id": "4", "parentId": "3", "timestamp": "t", "targetId": "1"});
    let reset = json!({"type": "reset", "id": "4", "parentId": "3", "timestamp": "t", "reason": "idle"});
    let parts: Vec<Value> =
        chat(4).iter().map(|one| json!({"role": one["role"], "content": [{"type": "text", "text": text}]})).collect();
    let history = json!({"currentId": "m", "messages": {"m": {"id": "m", "role": "user", "content": text}}});
    let hermes = |row: Value| {
        let messages = [chat(4), vec![row]].concat();
        json!({"id": "s", "system_prompt": "p", "message_count": 5, "messages": messages})
    };
    let row_with = |key: &str, value: Value| json!({"role": "user", "content": text, (key): value});
    let goose =
        |one: &Value| json!({"role": one["role"], "content": one["content"], "metadata": {"agentVisible": true}});
    let goose: Vec<Value> = parts.iter().map(goose).collect();
    let craft = json!({"id": "s", "workspaceRootPath": "/w", "createdAt": 1, "lastUsedAt": 2});
    let step = json!({"id": "p", "sessionID": "s", "messageID": "m", "type": "reasoning", "text": text});
    for (program, format, text) in [
        ("OpenClaw", "pi", lines(of_pi.clone(), leaf)),
        ("OpenClaw", "pi", lines(of_pi.clone(), reset)),
        ("OpenClaw", "pi", lines(of_pi.clone(), beside)),
        ("Factory Droid", "pi", lines(json!({"type": "session_start", "id": "s", "cwd": "/"}), last.clone())),
        ("Craft Agents", "pi", lines(craft, last.clone())),
        ("Amp", "anthropic", json!({"v": 0, "id": "T-1", "created": 1, "messages": parts}).to_string()),
        ("Open WebUI", "openai-chat", json!({"title": "t", "history": history, "messages": chat(4)}).to_string()),
        ("Hermes", "openai-chat", hermes(row_with("active", json!(0))).to_string()),
        (
            "Hermes",
            "openai-chat",
            hermes(row_with("codex_reasoning_items", json!([{"type": "reasoning"}]))).to_string(),
        ),
        ("Hermes", "openai-chat", hermes(row_with("codex_reasoning_items", json!("[{}]"))).to_string()),
        (
            "Hermes",
            "openai-chat",
            json!([chat(4), vec![row_with("codex_reasoning_items", json!("[{}]"))]].concat()).to_string(),
        ),
        ("Goose", "openai-chat", json!(goose).to_string()),
        ("opencode", "openai-responses", step.to_string()),
    ] {
        for more in [&["-n"][..], &["--keep", "messages:1"], &["check"], &["count"]] {
            assert_fails(&piped(more, &text), 1, &[program, "tcompact does not read ("]);
        }
        let named = piped(&["count", "--from", format], &text);
        assert_eq!(named.code, 0, "{program}: {named:?}");
    }
    // The same without what a format would misread.
    for text in [
        lines(of_pi, last),
        hermes(row_with("active", json!(1))).to_string(),
        hermes(row_with("codex_reasoning_items", json!(null))).to_string(),
        hermes(row_with("codex_reasoning_items", json!("[]"))).to_string(),
    ] {
        let read = piped(&["count"], &text);
        assert_eq!(read.code, 0, "{read:?}");
    }
}

/// Text under members that no format has is neither counted nor summarized; where it is much, a line says so.
#[test]
fn much_text_under_unknown_members_is_named_with_its_share() {
    let text = "words that are said here and there, in a message of the conversation".repeat(3);
    let messages = |more: &str, value: &str| -> String {
        let message = |role: &str| json!({"role": role, "content": text, (more): value});
        json!([message("user"), message("assistant"), message("user")]).to_string()
    };
    let note = "a note of another person about this message, which nobody sends".repeat(2);
    for more in [&["count"][..], &["check"], &["-n", "--keep", "messages:1"], &["count", "--from", "openai-chat"]] {
        let read = piped(more, &messages("remark", &note));
        assert_eq!(read.code, 0, "{read:?}");
        let line = "38 % of the text is under members that openai-chat does not have, as `remark` of message 0";
        assert!(read.stderr.contains(line), "{read:?}");
        // A copy, metadata, an id and a short text are no news.
        for (member, value) in [
            ("copy", &text),
            ("metadata", &note),
            ("remark", &note.replace(' ', "")),
            ("remark", &note[..20].to_owned()),
        ] {
            let read = piped(more, &messages(member, value));
            assert!(read.code == 0 && !read.stderr.contains("of the text is under"), "{member}: {read:?}");
        }
    }
}

/// Kinds of files that often hold transcripts are told by their first bytes, alone and in a folder.
#[test]
fn databases_tables_and_archives_are_refused_with_the_command_that_exports() {
    let dir = tempfile::tempdir().expect("a directory");
    fs::write(dir.path().join("plain.json"), GOOD).expect("written");
    let kinds = [
        ("state.db", &b"SQLite format 3\0\x10\0\xff"[..], "an SQLite database", "sessions export"),
        ("rows.parquet", b"PAR1\x15\xff", "a Parquet file", "duckdb -c \"COPY (FROM '"),
        ("chats.json", b"PK\x03\x04\x14\0\xff", "a zip archive", "unzip -p "),
    ];
    for (name, bytes, kind, command) in kinds {
        let path = dir.path().join(name);
        fs::write(&path, bytes).expect("written");
        let path = path.to_str().expect("UTF-8");
        for more in [&["count"][..], &["check"], &["--keep", "messages:1"]] {
            let alone = piped(&[more, &[path]].concat(), "");
            assert_fails(&alone, 1, &[name, "cannot be read", kind, command]);
        }
    }
    let folder = dir.path().to_str().expect("UTF-8");
    let together = piped(&["-n", "-v", "--keep", "messages:1", folder], "");
    assert_eq!(together.code, 0, "{together:?}");
    for (name, _, kind, command) in kinds {
        let line = together.stderr.lines().find(|line| line.contains(name)).unwrap_or_default();
        assert!(line.contains("left out: it is ") && line.contains(kind) && line.contains(command), "{together:?}");
    }
}

#[test]
fn an_unknown_part_is_shown_in_the_dry_run_and_to_the_summarizer() {
    let text = r#"[{"role":"user","content":"please look at the parcel service and say why the export fails"},
{"role":"assistant","content":[{"type":"hologram","hologram":"a ghost in the machine"}]},
{"role":"user","content":"and then write what you find to notes.md so that others can read it"}]"#;
    let planned = piped(&["-n", "--json", "--keep", "messages:1"], text);
    assert_eq!(planned.code, 0, "{planned:?}");
    assert!(planned.stdout.contains(r#""messages":3"#), "{planned:?}");
    let more = [
        "--keep",
        "messages:1",
        "--accept",
        "any",
        "--ledger",
        "off",
        "--summarizer-cmd",
        "grep -o 'a ghost.*machine'",
    ];
    let summarized = piped(&more, text);
    assert!(summarized.stdout.contains("a ghost in the machine"), "{summarized:?}");
}

#[test]
fn an_empty_file_is_no_transcript_and_an_empty_list_is_one() {
    assert_fails(&piped(&[], ""), 1, &["standard input is empty"]);
    assert_fails(&piped(&[], " \n\n"), 1, &["is empty"]);
    let empty = piped(&[], "[ ]\n");
    let line = "tcompact: standard input: unchanged: there are no messages\n";
    assert_eq!((empty.code, empty.stdout.as_str(), empty.stderr.as_str()), (0, "[ ]\n", line));
}

#[test]
fn invalid_utf8_is_an_error() {
    assert_fails(&run(&mut tcompact(), b"[\n\"\xff\"]"), 1, &["it has bytes that are not UTF-8 at line 2 column 2"]);
    assert_fails(&run(&mut tcompact(), b"\xff\xfe[\x00]\x00"), 1, &["UTF-16", "iconv"]);
}

#[test]
fn unreadable_files_are_errors() {
    assert_fails(&with(&["missing.json"]), 1, &["missing.json cannot be read: no such file or directory"]);
    assert_fails(&with(&["openai-chat"]), 2, &["the directory openai-chat: --output-dir DIR or --in-place"]);
}

#[test]
fn invalid_formats_and_sizes_are_errors() {
    assert_fails(&piped(&["--from", "klingon"], GOOD), 2, &["--from klingon", "openai-chat, openai-responses, "]);
    for (size, words) in [
        ("tokens:-1", "not a whole number from 1 up"),
        ("fraction:1.5", "above 0 and at most 1"),
        ("bogus:3", "not one of messages, tokens, fraction, steps, turns, bytes"),
        ("message:3", "did you mean 'messages'?"),
        ("tokens:4000,", "a size is messages:N"),
    ] {
        assert_fails(&piped(&["--trigger", size], GOOD), 2, &["--trigger", size, words]);
    }
    assert_fails(&piped(&["--trigger", "20"], GOOD), 2, &["--trigger", "messages:20 or tokens:20"]);
    assert_fails(&piped(&["--pin", "match:("], GOOD), 2, &["--pin", "not a regular expression"]);
    assert_fails(&piped(&["--pin", "user:20"], GOOD), 2, &["--pin", "a size is"]);
    assert_fails(&piped(&["--keep", "from:99"], GOOD), 2, &["--keep from:99", "there is no message 99"]);
    assert_fails(&piped(&["--keep", "since:yesterday"], GOOD), 2, &["--keep", "RFC 3339"]);
    assert_fails(&piped(&["--counter", "bytes:0"], GOOD), 2, &["--counter", "bytes:4"]);
}

#[test]
fn a_fraction_needs_a_window() {
    assert_fails(
        &piped(&["--trigger", "fraction:0.8"], GOOD),
        2,
        &["--trigger fraction:0.8", "--for", "--context-window"],
    );
    assert_fails(&piped(&["--keep", "fraction:0.1"], GOOD), 2, &["--keep fraction:0.1"]);
    assert_eq!(piped(&["-n", "--keep", "fraction:0.1", "--context-window", "10"], GOOD).code, 0);
}

#[test]
fn an_unknown_model_lists_near_names_and_is_never_guessed() {
    assert_fails(&piped(&["--for", "gpt-4o-mimi"], GOOD), 2, &["--for gpt-4o-mimi", "near names are gpt-4o-mini"]);
    let resold = "llama-3.3-70b-versatile";
    assert_fails(&piped(&["--for", resold], GOOD), 2, &["did you mean 'groq:llama-3.3-70b-versatile'"]);
    assert_fails(&piped(&["--model", resold], GOOD), 2, &["did you mean 'groq:llama-3.3-70b-versatile'"]);
    for flag in ["--for", "--model"] {
        let run = piped(&["-n", "--json", flag, "openai:gpt-4o-mimi"], GOOD);
        assert_eq!(run.code, 0, "a provider's model is taken as it is: {run:?}");
    }
    let taken = piped(&["-n", "--json", "--for", "openai:gpt-4o-mimi"], GOOD);
    assert!(taken.stdout.contains(r#""counter":"o200k_base""#), "{taken:?}");
    assert!(taken.stderr.contains("did you mean openai:gpt-4o-mini?"), "{taken:?}");
    assert_eq!(piped(&["-n", "--for", "openai/gpt-oss-20b"], GOOD).code, 0);
}

#[test]
fn bad_prompt_files_are_errors() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = path(folder.path(), "prompt.txt");
    for (text, words) in
        [("Summarize.", "has no {messages}"), ("{messages} {x}", "`{x}`"), ("{messages", "`{messages`")]
    {
        fs::write(&file, text).expect("written");
        assert_fails(&piped(&["--prompt-file", &file], GOOD), 2, &["--prompt-file", "prompt.txt", words]);
    }
    assert_fails(&piped(&["--prompt-file", "nowhere.txt"], GOOD), 2, &["nowhere.txt cannot be read"]);
}

#[test]
fn missing_models_and_keys_are_errors() {
    assert_fails(
        &piped(&["--model", "openai:gpt-4o-mini"], GOOD),
        2,
        &["OPENAI_API_KEY", "is not set", "--api-key-env"],
    );
    let named = ["--model", "openai:m", "--base-url", "http://127.0.0.1:9/v1", "--api-key-env", "NO_SUCH_VARIABLE"];
    assert_fails(&piped(&named, GOOD), 2, &["NO_SUCH_VARIABLE"]);
    assert_fails(&piped(&["--model", "gpt-4o-mini"], GOOD), 2, &["OPENAI_API_KEY", "is not set"]);
    assert_fails(&piped(&["--model", "claude-haiku-4-5"], GOOD), 2, &["ANTHROPIC_API_KEY"]);
    assert_fails(&piped(&["--model", "gpt-4o-mni"], GOOD), 2, &["gpt-4o-mini", "PROVIDER:MODEL"]);
    assert_fails(&piped(&["--model", "acme:m"], GOOD), 2, &["no provider acme", "openai, openai-responses, anthropic"]);
    assert_fails(&piped(&["--model", "extractive", "--base-url", "http://x"], GOOD), 2, &["--base-url"]);
    assert_fails(&piped(&["--model", "openai:m", "--base-url", "localhost:1"], GOOD), 2, &["http://"]);
}

#[test]
fn a_role_that_the_format_does_not_accept() {
    let run = with(&["--summary-role", "system", "anthropic/tools.json"]);
    assert_fails(&run, 2, &["--summary-role system", "anthropic", "user"]);
}

#[test]
fn contradictory_messages_name_the_candidates() {
    let mixed = r#"[{"role":"tool","tool_call_id":"a","content":"a result with more in it than there is in the part that is not read"},
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"b","content":"r"}]}]"#;
    assert_fails(&piped(&["-n"], mixed), 1, &["several ways", "--from openai-chat", "--from anthropic"]);
    assert_eq!(piped(&["-n", "--from", "openai-chat"], mixed).stdout, "0\n");
}

#[test]
fn a_format_that_does_not_see_the_calls_is_refused() {
    for format in ["anthropic", "openai-responses", "ai-sdk"] {
        for flags in [&["--keep", "messages:10"][..], &["check"], &["-n"]] {
            let run = with(&[flags, &["--from", format, "agent-session.json"]].concat());
            assert_fails(
                &run,
                1,
                &[&format!("is not a transcript in the format {format}: message "), "--from openai-chat"],
            );
        }
    }
    // Where there are no calls, it is as good as another.
    let text = r#"[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]"#;
    assert_eq!(piped(&["-n", "--from", "anthropic"], text).code, 0);
}

#[test]
fn values_that_nest_too_deep_are_refused_and_stop_no_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let good = r#"[{"role":"user","content":"one"},{"role":"assistant","content":"two"}]"#;
    fs::create_dir(folder.path().join("logs")).expect("made");
    fs::write(folder.path().join("logs/a.json"), good).expect("written");
    for levels in [12_000, 200_000] {
        let deep = format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        let text = format!(r#"[{{"role":"user","content":{deep}}}]"#);
        fs::write(folder.path().join("logs/deep.json"), &text).expect("written");
        let words = ["deep.json cannot be read: its values are nested deeper than 1000 levels at line 1 column"];
        for flags in [&["-n"][..], &["count"], &["check"], &["--lines", "conversations"], &["--from", "openai-chat"]] {
            let arguments = [flags, &["logs/deep.json"]].concat();
            assert_fails(&within(folder.path(), &arguments), 1, &words);
            assert_fails(&piped(flags, &text), 1, &["nested deeper than 1000 levels"]);
        }
        let run = within(folder.path(), &["--keep", "messages:1", "--jobs", "2", "-O", "out", "logs"]);
        assert_eq!(run.code, 7, "{run:?}");
        assert!(run.stderr.contains(words[0]) && run.stderr.contains("1 failed"), "{run:?}");
        assert!(folder.path().join("out/a.json").exists(), "{run:?}");
    }
}

/// Each of these is an error; none may panic or take long.
#[test]
fn deep_and_long_values_do_not_panic() {
    for (deep, told) in [(900, "1\n"), (100_000, "")] {
        let nested = format!("{}{}", "[".repeat(deep), "]".repeat(deep));
        let in_call = format!(
            r#"[{{"role":"user","content":"{}"}},{{"role":"assistant","content":"","tool_calls":[{{"id":"a","name":"f","args":{nested}}}]}}]"#,
            "u ".repeat(100)
        );
        assert_eq!(piped(&["-n", "--keep", "messages:1"], &in_call).stdout, told);
        assert_eq!(piped(&["-q"], &nested).code, 1);
    }
    assert_eq!(piped(&["-q", "--from", "langchain"], r#"[{"type":"human"}]"#).code, 1);
    let keys = format!("[{{\"role\":\"user\",\"content\":\"x\",\"{}\":1}}]", "k".repeat(1_000_000));
    assert_eq!(piped(&["-n"], &keys).stdout, "0\n");
}
