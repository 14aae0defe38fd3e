//! `--thinking`: the treatment of signed thinking after changed history.

use std::fs;

use serde_json::{Value, json};

use crate::program::{Run, path, piped, run, tcompact};

/// A request with thinking before and after the cut of `messages:5`.
fn request(model: Option<&str>) -> String {
    let call = |id: &str, signature: &str| {
        json!({"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm, so the file comes first", "signature": signature},
            {"type": "tool_use", "id": id, "name": "read", "input": {"path": "a.rs"}}]})
    };
    let result = |id: &str| json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": "fn main() {} ".repeat(40)}]});
    let mut request = json!({"messages": [
        {"role": "user", "content": "Read a.rs and tell what it does, in a word."},
        call("a", "SIG1"), result("a"),
        {"role": "assistant", "content": "Nothing."},
        {"role": "user", "content": "Once more."},
        call("b", "SIG2"), result("b"),
        {"role": "assistant", "content": [{"type": "redacted_thinking", "data": "SIG3"}, {"type": "text", "text": "Nothing."}]},
        {"role": "user", "content": "Thanks."}]});
    if let Some(model) = model {
        request["model"] = json!(model);
    }
    request.to_string()
}

fn compacted(text: &str, more: &[&str]) -> Run {
    let keep: &[&str] = if more.contains(&"--keep") { &[] } else { &["--keep", "messages:5"] };
    let run = piped(&[keep, &["--model", "extractive"], more].concat(), text);
    assert_eq!(run.code, 0, "{run:?}");
    run
}

/// Counts the remaining pieces of signed thinking.
fn remaining(run: &Run) -> usize {
    run.stdout.matches("SIG").count()
}

#[test]
fn thinking_bound_to_its_history_is_removed() {
    let new = compacted(&request(Some("claude-sonnet-5-5")), &[]);
    assert_eq!(remaining(&new), 0);
    assert_eq!(
        new.stderr,
        "tcompact: standard input: thinking removed, 2 blocks in 2 kept messages: claude-sonnet-5-5 refuses it once the history before it has changed; --thinking keep keeps it\n"
    );
    assert_eq!(compacted(&request(Some("claude-sonnet-5-5")), &["-q"]).stderr, "");
    let old = compacted(&request(Some("claude-opus-4-5")), &[]);
    assert_eq!((remaining(&old), old.stderr.as_str()), (2, ""), "older models need it inside a loop of tools");
    for (model, more, stay) in [
        (Some("anthropic/claude-opus-5.5"), &[][..], 0),
        (Some("claude-sonnet-5-5"), &["--for", "claude-opus-4-5"][..], 2),
        (Some("claude-opus-4-5"), &["--for", "claude-fable-5-2"][..], 0),
        (Some("claude-sonnet-5-5"), &["--thinking", "keep"][..], 2),
        (Some("claude-opus-4-5"), &["--thinking", "drop"][..], 0),
        (None, &["--thinking", "drop"][..], 0),
        (None, &["--for", "claude-haiku-5-5"][..], 0),
    ] {
        assert_eq!(remaining(&compacted(&request(model), more)), stay, "{model:?} {more:?}");
    }
}

#[test]
fn thinking_of_an_unknown_model_stays_with_a_warning() {
    let unknown = compacted(&request(None), &[]);
    assert_eq!(remaining(&unknown), 2);
    assert_eq!(unknown.stderr.lines().count(), 1, "{unknown:?}");
    assert!(unknown.stderr.contains("signed thinking stays, since no model is named"), "{unknown:?}");
    assert_eq!(compacted(&request(None), &["-q"]).stderr, "");
    let nothing_changed = compacted(&request(None), &["--keep", "messages:50"]);
    assert_eq!((nothing_changed.stderr.contains("thinking"), remaining(&nothing_changed)), (false, 3));
    let none_is_kept = compacted(&request(None), &["--keep", "messages:1"]);
    assert_eq!((none_is_kept.stderr.as_str(), remaining(&none_is_kept)), ("", 0));
    let unsigned = request(None).replace(r#","signature":"SIG2""#, "").replace("redacted_thinking", "text");
    assert_eq!(compacted(&unsigned, &[]).stderr, "", "unsigned thinking is bound to nothing");
}

#[test]
fn an_uncut_conversation_keeps_its_thinking() {
    let text = request(Some("claude-sonnet-5-5"));
    let run = compacted(&text, &["--trigger", "messages:50"]);
    assert_eq!((run.stdout, run.stderr.contains("thinking")), (text, false));
}

#[test]
fn plan_and_report_count_removed_thinking() {
    let folder = tempfile::tempdir().expect("a folder");
    let report = path(folder.path(), "report.jsonl");
    let text = request(Some("claude-sonnet-5-5"));
    let plan: Value = serde_json::from_str(&compacted(&text, &["--dry-run", "--json"]).stdout).expect("JSON");
    assert_eq!((&plan["thinking"]["messages"], &plan["thinking"]["blocks"]), (&json!(2), &json!(2)));
    assert!(plan["thinking"]["tokens"].as_u64() > Some(0), "{plan}");
    let run = compacted(&text, &["--report", &report]);
    let told: Value = serde_json::from_str(&fs::read_to_string(&report).expect("a report")).expect("JSON");
    assert_eq!(told["thinking"], plan["thinking"]);
    let counted: u64 = piped(&["--dry-run", "--json"], &run.stdout).stdout.parse::<Value>().expect("JSON")["tokens"]
        .as_u64()
        .expect("a number");
    assert_eq!(told["tokens_after"].as_u64(), Some(counted), "what went is not counted as left");
    let kept: Value =
        serde_json::from_str(&compacted(&text, &["--dry-run", "--json", "--thinking", "keep"]).stdout).expect("JSON");
    assert_eq!(kept.get("thinking"), None);
}

#[test]
fn an_archive_restores_thinking() {
    let folder = tempfile::tempdir().expect("a folder");
    let archive = path(folder.path(), "a.jsonl");
    for text in [request(Some("claude-sonnet-5-5")), session()] {
        let out = compacted(&text, &["-q", "--archive", &archive]);
        assert_eq!(remaining(&out), 0);
        let back = run(tcompact().args(["restore", "-q", &archive]), out.stdout.as_bytes());
        assert_eq!((back.code, back.stdout), (0, text));
    }
}

#[test]
fn check_names_stale_thinking_and_repair_removes_it() {
    let text = request(Some("claude-sonnet-5-5"));
    let check = |text: &str, more: &[&str]| piped(&[&["check"], more].concat(), text);
    assert_eq!(check(&text, &[]).code, 0, "nothing was compacted");
    let kept = compacted(&text, &["-q", "--thinking", "keep"]).stdout;
    let found = check(&kept, &[]);
    assert_eq!((found.code, found.stderr.lines().count()), (6, 2), "{found:?}");
    assert!(found.stderr.starts_with("tcompact: standard input: message 2: thinking behind a compaction"), "{found:?}");
    assert_eq!(check(&kept, &["--thinking", "keep"]).code, 0);
    assert_eq!(check(&kept, &["--for", "claude-opus-4-5"]).code, 0);
    assert_eq!(check(&compacted(&text, &["-q"]).stdout, &[]).code, 0);
    let mended = piped(&["-q", "--repair", "drop", "--keep", "messages:50"], &kept);
    assert_eq!((remaining(&mended), check(&mended.stdout, &[]).code), (0, 0), "{mended:?}");
    // The agent's own summary existed when the following messages were signed.
    let own = kept.replace("Here is a summary of the conversation to date:", "This session is being continued.");
    assert_eq!(check(&own, &[]).code, 0);
}

/// A repair changes the history that later thinking was signed for.
#[test]
fn repair_removes_thinking_behind_its_changes() {
    let broken = request(Some("claude-sonnet-5-5")).replacen("\"tool_use_id\":\"a\"", "\"tool_use_id\":\"z\"", 1);
    let mended = piped(&["-q", "--repair", "drop", "--keep", "messages:50"], &broken);
    assert_eq!((mended.code, remaining(&mended)), (0, 0), "{mended:?}");
    let late = request(Some("claude-sonnet-5-5")).replacen("\"tool_use_id\":\"b\"", "\"tool_use_id\":\"z\"", 1);
    let mended = piped(&["-q", "--repair", "drop", "--keep", "messages:50"], &late);
    assert!(mended.stdout.contains("SIG1") && !mended.stdout.contains("SIG3"), "{mended:?}");
}

#[test]
fn presets_keep_thinking() {
    for preset in ["langchain", "deerflow", "deerflow-v1", "tongyi"] {
        let arguments = ["--preset", preset, "--trigger", "messages:2"];
        assert_eq!(remaining(&compacted(&request(Some("claude-sonnet-5-5")), &arguments)), 2, "{preset}");
        let both = [&arguments[..], &["--thinking", "auto"]].concat();
        assert_eq!(remaining(&compacted(&request(Some("claude-sonnet-5-5")), &both)), 0, "{preset}");
    }
}

/// A session of Claude Code: one answer over three lines, the first of which only thinks.
fn session() -> String {
    let line = |n: usize, role: &str, content: Value| {
        let mut message = json!({"role": role, "content": content});
        if role == "assistant" {
            message["model"] = json!("claude-opus-5-5");
            message["id"] = json!(format!("msg_{}", n / 3));
        }
        let parent = if n == 0 { Value::Null } else { json!(format!("u{}", n - 1)) };
        json!({"parentUuid": parent, "sessionId": "s", "type": role, "message": message, "uuid": format!("u{n}")})
            .to_string()
            + "\n"
    };
    let long = "one file after another ".repeat(60);
    [
        line(0, "user", json!(long)),
        line(1, "assistant", json!([{"type": "text", "text": long}])),
        line(2, "user", json!("Go on.")),
        line(3, "assistant", json!([{"type": "thinking", "thinking": "hm", "signature": "SIG1"}])),
        line(4, "assistant", json!([{"type": "text", "text": "I look."}])),
        line(5, "assistant", json!([{"type": "redacted_thinking", "data": "SIG2"}, {"type": "tool_use", "id": "t", "name": "f", "input": {}}])),
        line(6, "user", json!([{"type": "tool_result", "tool_use_id": "t", "content": "r"}])),
    ]
    .concat()
}

#[test]
fn a_line_that_only_thinks_goes_and_the_others_are_led_to() {
    let out = compacted(&session(), &["-q"]).stdout;
    assert!(!out.contains("thinking\""), "{out}");
    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let mut walked = Vec::new();
    let mut at = lines.last();
    while let Some(line) = at {
        walked.push(line["uuid"].as_str().expect("an id"));
        at = lines.iter().find(|other| other["uuid"] == line["parentUuid"]);
    }
    for id in ["u6", "u5", "u4", "u2"] {
        assert!(walked.contains(&id), "{id}: {walked:?} {out}");
    }
    assert_eq!(lines[0]["subtype"], "compact_boundary");
    assert_eq!(walked.len(), lines.len(), "all of it is led to: {out}");
}

/// What Claude Code was answered after a compaction has sizes, and those of what the compaction kept are zero.
#[test]
fn thinking_written_after_a_compaction_is_not_stale() {
    let with_sizes = |source: &str| {
        let mut lines = String::new();
        for line in source.lines() {
            let mut line: Value = serde_json::from_str(line).expect("JSON");
            if line["type"] == "assistant" {
                line["message"]["usage"] = json!({"input_tokens": 900, "output_tokens": 20});
            }
            lines += &format!("{line}\n");
        }
        lines
    };
    let grown = |out: &str| {
        let mut new = session().replace("SIG", "NEW").replace("msg_", "new_").replace("\"t\"", "\"s\"");
        for n in 0..7 {
            new = new.replace(&format!("\"u{n}\""), &format!("\"v{n}\""));
        }
        let last: Value = serde_json::from_str(out.lines().last().expect("a line")).expect("JSON");
        out.to_owned() + &with_sizes(&new.replacen("null", &last["uuid"].to_string(), 1))
    };
    let check = |text: &str| piped(&["check"], text);
    let mend = |text: &str| piped(&["-q", "--repair", "drop", "--keep", "messages:50"], text).stdout;
    let fresh = grown(&compacted(&with_sizes(&session()), &["-q"]).stdout);
    assert_eq!(check(&fresh).code, 0, "{fresh}");
    assert!(fresh.contains("NEW1") && mend(&fresh).contains("NEW1"), "{fresh}");
    let kept = grown(&compacted(&with_sizes(&session()), &["-q", "--thinking", "keep"]).stdout);
    let found = check(&kept);
    assert_eq!((found.code, found.stderr.lines().count()), (6, 2), "only what was kept: {found:?}");
    let mended = mend(&kept);
    assert!(!mended.contains("SIG1") && !mended.contains("NEW1"), "what goes changes what is behind it: {mended}");
    assert_eq!(check(&mended).code, 0);
}

/// Cut arguments change the history of later messages just as a summary does.
#[test]
fn thinking_behind_cut_arguments_is_removed() {
    let thinks = |signature: &str| {
        json!({"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm", "signature": signature}, {"type": "text", "text": "Yes."}]})
    };
    let write = json!({"role": "assistant", "content": [
        {"type": "tool_use", "id": "a", "name": "write_file", "input": {"text": "x".repeat(3_000)}}]});
    let mut messages = vec![json!({"role": "user", "content": "Write it."}), thinks("SIG1"), write];
    messages.push(json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "r"}]}));
    for _ in 0..10 {
        messages.extend([json!({"role": "user", "content": "And?"}), thinks("SIG2")]);
    }
    let text = json!({"model": "claude-opus-5-5", "messages": messages}).to_string();
    let run = |more: &[&str]| {
        let run = piped(&[&["--preset", "deepagents", "--model", "extractive"], more].concat(), &text);
        assert_eq!(run.code, 0, "{run:?}");
        assert!(run.stdout.contains("argument truncated"), "{run:?}");
        remaining(&run)
    };
    assert_eq!((run(&[]), run(&["--thinking", "auto"])), (11, 1));
}

/// OpenAI's items of reasoning are known by their ids, whatever the provider or the deployment is called.
#[test]
fn items_of_openai_stay_in_every_format() {
    let user = json!({"role": "user", "content": "Go on with the export of the parcel service."});
    let chat = |more: Value| {
        let mut answer = json!({"role": "assistant", "content": "It waits for a lock."});
        answer.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        answer
    };
    let reasoning = json!({"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}]});
    let text = json!({"type": "text", "text": "It waits for a lock."});
    let azure = json!({"type": "reasoning", "text": "hm", "providerOptions": {"our-azure": {"itemId": "rs_1"}}});
    let request = json!({"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "Go on."}]});
    let response = json!({"kind": "response", "parts": [
        {"part_kind": "thinking", "content": "hm", "id": "rs_1", "provider_name": "gateway"}, {"part_kind": "text", "content": "It waits."}]});
    for (format, user, answer) in [
        (
            "openai-chat",
            &user,
            chat(json!({"reasoning_details": [{"type": "reasoning.encrypted", "id": "rs_1", "data": "x"}]})),
        ),
        ("ai-sdk", &user, chat(json!({"content": [azure, text]}))),
        (
            "langchain",
            &json!({"type": "human", "content": "Go on."}),
            json!({"type": "ai", "content": [reasoning, text]}),
        ),
        ("pydantic-ai", &request, response),
    ] {
        let source = json!([user, answer, user]).to_string();
        for more in [&["--prune", "thinking"][..], &["--prune", "all", "--thinking", "drop"]] {
            let run = piped(&[&["--from", format, "-m", "none", "--keep", "messages:1"], more].concat(), &source);
            assert_eq!((run.code, run.stdout), (0, source.clone()), "{format}");
        }
    }
}
