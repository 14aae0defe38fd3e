//! Law 24: no rule of `--prune` and no `--fit` takes a word of the user, whatever message it is written in.

use serde_json::{Value, json};

use crate::all_cases::Sample;
use crate::compact::{CompactionPolicy, Compactor, Pruning, SummarizerKind};
use crate::plan::size::Size;
use crate::tokens::Counter;
use crate::transcript::formats::{FORMATS, by_name};
use tcompact_core::prune::{Choice, chosen};

use crate::bricks::Bricks;
use crate::bricks::talk::{Step, choices, steps};
use crate::digest::{Section, digest_of, parse};
use crate::lawful::with_document;

/// A way in which words of the user stand among the messages of a format.
struct Written {
    format: &'static str,
    about: &'static str,
    /// Whether a tool could have written the same, so that only few words stay.
    is_doubtful: bool,
    /// The messages with these words.
    messages: fn(&str) -> Vec<Value>,
}

const fn written(format: &'static str, about: &'static str, messages: fn(&str) -> Vec<Value>) -> Written {
    Written { format, about, is_doubtful: false, messages }
}

const fn doubtful(format: &'static str, about: &'static str, messages: fn(&str) -> Vec<Value>) -> Written {
    Written { format, about, is_doubtful: true, messages }
}

const REFUSED: &str = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file). To tell you how to proceed, the user said:\n";

/// Output of a tool that stands beside words of the user, and is pruned.
fn output() -> String {
    "a line that a tool printed\n".repeat(120)
}

/// A line of a session of Claude Code; `$N` and `$P` become its number and that of the line before it.
fn line(role: &str, content: Value) -> Value {
    json!({"type": role, "sessionId": "s", "cwd": "/w", "isSidechain": false, "version": "2.1.14",
        "uuid": "u$N", "parentUuid": "u$P", "message": {"role": role, "content": content}})
}

fn claude(tool: &str, input: Value, result: Value, copy: Value) -> Vec<Value> {
    let call = json!({"type": "tool_use", "id": "w", "name": tool, "input": input});
    let mut answered = line("user", json!([result]));
    answered["toolUseResult"] = copy;
    vec![line("assistant", json!([call])), answered]
}

fn tool_result(is_error: bool, content: impl Into<Value>) -> Value {
    let content: Value = content.into();
    json!({"type": "tool_result", "tool_use_id": "w", "is_error": is_error, "content": content})
}

/// A call of opencode that holds its result.
fn opencode(tool: &str, state: Value) -> Vec<Value> {
    let call = json!({"type": "tool", "callID": "w", "tool": tool, "state": state, "id": "prt_$N"});
    vec![json!({"info": {"role": "assistant", "id": "msg_$N", "sessionID": "ses_1"}, "parts": [call]})]
}

fn anthropic(tool: &str, content: Value) -> Vec<Value> {
    let call = json!({"type": "tool_use", "id": "w", "name": tool, "input": {"n": 1}});
    vec![json!({"role": "assistant", "content": [call]}), json!({"role": "user", "content": content})]
}

fn chat(tool: &str, result: String) -> Vec<Value> {
    let call = json!({"id": "w", "type": "function", "function": {"name": tool, "arguments": "{}"}});
    vec![
        json!({"role": "assistant", "content": null, "tool_calls": [call]}),
        json!({"role": "tool", "tool_call_id": "w", "content": result}),
    ]
}

fn ai_sdk(result: Value) -> Vec<Value> {
    let call = json!({"type": "tool-call", "toolCallId": "w", "toolName": "book", "input": {"n": 1}});
    let mut answer = vec![json!({"role": "assistant", "content": [call]})];
    answer.push(json!({"role": "tool", "content": result}));
    answer
}

fn pydantic(parts: Value) -> Vec<Value> {
    let call = json!({"tool_name": "book", "args": "{}", "tool_call_id": "w", "part_kind": "tool-call"});
    vec![json!({"parts": [call], "kind": "response"}), json!({"parts": parts, "kind": "request"})]
}

fn items_of_codex(items: [Value; 2]) -> Vec<Value> {
    let entry = |item| json!({"timestamp": "2026-01-02T03:04:05.678Z", "type": "response_item", "payload": item});
    items.map(entry).into()
}

fn function_call(name: &str, output: String) -> [Value; 2] {
    [
        json!({"type": "function_call", "call_id": "w", "name": name, "arguments": "{}"}),
        json!({"type": "function_call_output", "call_id": "w", "output": output}),
    ]
}

const WRITTEN: &[Written] = &[
    written("claude-code", "a refusal", |words| {
        claude(
            "Bash",
            json!({"command": "rm -r x"}),
            tool_result(true, format!("{REFUSED}{words}")),
            json!("User rejected tool use"),
        )
    }),
    written("claude-code", "a refusal of a built-in tool", |words| {
        let text = format!("{REFUSED}{words}");
        claude("Edit", json!({"file_path": "x.rs"}), tool_result(true, text.clone()), json!(format!("Error: {text}")))
    }),
    doubtful("claude-code", "a refusal of a server's tool", |words| {
        let text = format!("{REFUSED}{words}");
        claude("mcp__web__get", json!({"n": 1}), tool_result(true, text.clone()), json!(format!("Error: {text}")))
    }),
    written("claude-code", "an answer", |words| {
        let text = format!("User has answered your questions: \"Which?\"=\"{words}\". You can now continue.");
        let copy = json!({"questions": [{"question": "Which?"}], "answers": {"Which?": words}});
        claude("AskUserQuestion", json!({"questions": [{"question": "Which?"}]}), tool_result(false, text), copy)
    }),
    written("claude-code", "an answer in the call", |words| {
        let input = json!({"questions": [{"question": "Which?"}], "answer": words});
        claude("AskUserQuestion", input, tool_result(false, "The answer is in the call."), json!({"n": 1}))
    }),
    written("claude-code", "an approved plan", |words| {
        let text = format!("User has approved your plan. You can now start coding.\n\n## Approved Plan:\n{words}");
        claude("ExitPlanMode", json!({"plan": "p"}), tool_result(false, text), json!({"plan": words}))
    }),
    written("claude-code", "typed while a tool runs", |words| {
        let attachment = json!({"type": "queued_command", "prompt": words, "commandMode": "prompt"});
        vec![
            json!({"type": "attachment", "sessionId": "s", "uuid": "u$N", "parentUuid": "u$P", "attachment": attachment}),
        ]
    }),
    written("claude-code", "beside a result", |words| {
        let call = json!({"type": "tool_use", "id": "w", "name": "Bash", "input": {"command": "ls"}});
        let content = json!([tool_result(false, output()), {"type": "text", "text": words}]);
        vec![line("assistant", json!([call])), line("user", content)]
    }),
    doubtful("anthropic", "a refusal without a record", |words| {
        anthropic("bash", json!([tool_result(true, format!("{REFUSED}{words}"))]))
    }),
    doubtful("anthropic", "feedback of a refusal", |words| {
        let text = format!(
            "The user denied this operation and provided the following feedback:\n<feedback>\n{words}\n</feedback>"
        );
        anthropic("execute_command", json!([tool_result(false, json!([{"type": "text", "text": text}]))]))
    }),
    written("anthropic", "an answer", |words| {
        anthropic("ask_followup_question", json!([tool_result(false, format!("<answer>\n{words}\n</answer>"))]))
    }),
    doubtful("anthropic", "an answer to a server's tool", |words| {
        anthropic("mcp__human__ask_user", json!([tool_result(false, words.to_owned())]))
    }),
    written("anthropic", "beside a result", |words| {
        anthropic("bash", json!([tool_result(false, output()), {"type": "text", "text": words}]))
    }),
    written("anthropic", "in the reply to a call in a text", |words| {
        let text = |text: String| json!({"type": "text", "text": text});
        let feedback = format!("The user provided the following feedback:\n<feedback>\n{words}\n</feedback>");
        let call = "<execute_command>\n<command>ls</command>\n</execute_command>";
        let reply = [text("[execute_command for 'ls'] Result:".to_owned()), text(output()), text(feedback)];
        vec![json!({"role": "assistant", "content": call}), json!({"role": "user", "content": reply})]
    }),
    written("anthropic", "beside a picture", |words| {
        let data = json!({"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgoA".repeat(40)});
        vec![json!({"role": "user", "content": [{"type": "image", "source": data}, {"type": "text", "text": words}]})]
    }),
    doubtful("openai-chat", "a refusal without a record", |words| {
        chat("run", format!("User rejected the command. Reason: {words}"))
    }),
    doubtful("openai-chat", "a refusal of a command", |words| {
        chat("shell", format!("exec command rejected by user. Reason: {words}"))
    }),
    written("openai-chat", "an answer", |words| chat("ask_user", words.to_owned())),
    doubtful("openai-chat", "an answer to a question", |words| chat("question", words.to_owned())),
    written("openai-responses", "a refusal", |words| {
        vec![
            json!({"type": "mcp_approval_request", "id": "w", "name": "book", "arguments": "{}", "server_label": "s"}),
            json!({"type": "mcp_approval_response", "approval_request_id": "w", "approve": false, "reason": words}),
        ]
    }),
    written("openai-responses", "an answer", |words| function_call("request_user_input", words.to_owned()).into()),
    written("codex", "an answer", |words| {
        let output = json!({"answers": {"which": {"answers": [words]}}}).to_string();
        items_of_codex(function_call("request_user_input", output))
    }),
    doubtful("codex", "a refusal", |words| {
        items_of_codex(function_call("shell", format!("exec command rejected by user: {words}")))
    }),
    written("gemini", "an answer beside words", |words| {
        let call = json!({"functionCall": {"name": "ask_user", "args": {}}});
        let answer = json!({"functionResponse": {"name": "ask_user", "response": {"answers": {"0": words}}}});
        vec![json!({"role": "model", "parts": [call]}), json!({"role": "user", "parts": [answer, {"text": words}]})]
    }),
    written("opencode", "a refusal", |words| {
        let error = "The user rejected permission to use this specific tool call with the following feedback: ";
        let state = json!({"status": "error", "input": {"command": "rm -r x"}, "error": format!("{error}{words}")});
        opencode("bash", state)
    }),
    doubtful("opencode", "an answer", |words| {
        let text = format!("User has answered your questions: \"Which?\"=\"{words}\". You can now continue.");
        opencode("question", json!({"status": "completed", "input": {"questions": []}, "output": text}))
    }),
    written("gemini-cli", "an answer", |words| {
        let response = json!({"output": json!({"answers": {"0": words}}).to_string()});
        let answer = json!({"functionResponse": {"id": "w", "name": "ask_user", "response": response}});
        let call = json!({"id": "w", "name": "ask_user", "args": {"n": 1}, "status": "success", "result": [answer]});
        vec![json!({"id": "m$N", "timestamp": "t", "type": "gemini", "content": "", "toolCalls": [call]})]
    }),
    doubtful("langchain", "a refusal", |words| {
        let call = json!({"name": "book", "args": {}, "id": "w", "type": "tool_call"});
        let text = format!("User rejected the tool call for `book` with id w: {words}");
        vec![
            json!({"type": "ai", "data": {"content": "", "tool_calls": [call]}}),
            json!({"type": "tool", "data": {"content": text, "tool_call_id": "w", "status": "error"}}),
        ]
    }),
    written("bedrock", "beside a result", |words| {
        let call = json!({"toolUse": {"toolUseId": "w", "name": "ls", "input": {"n": 1}}});
        let answer = json!({"toolResult": {"toolUseId": "w", "content": [{"text": output()}], "status": "success"}});
        vec![
            json!({"role": "assistant", "content": [call]}),
            json!({"role": "user", "content": [answer, {"text": words}]}),
        ]
    }),
    written("bedrock", "an attached text", |words| {
        let document = json!({"document": {"format": "txt", "name": "rules", "source": {"text": words}}});
        vec![json!({"role": "user", "content": [{"text": "My rules."}, document]})]
    }),
    written("ai-sdk", "a denied output", |words| {
        let output = json!({"type": "execution-denied", "reason": words});
        ai_sdk(json!([{"type": "tool-result", "toolCallId": "w", "toolName": "book", "output": output}]))
    }),
    written("ai-sdk", "a response to a request for approval", |words| {
        let response = json!({"type": "tool-approval-response", "approvalId": "q", "approved": false, "reason": words});
        let output = json!({"type": "execution-denied"});
        ai_sdk(json!([response, {"type": "tool-result", "toolCallId": "w", "toolName": "book", "output": output}]))
    }),
    written("ai-sdk", "a denied call of the user interface", |words| {
        let approval = json!({"id": "q", "approved": false, "reason": words});
        let part = json!({"type": "tool-book", "toolCallId": "w", "state": "output-denied", "input": {"n": 1}, "approval": approval});
        vec![json!({"id": "m$N", "role": "assistant", "parts": [part]})]
    }),
    written("ai-sdk", "an approval with words", |words| {
        let approval = json!({"id": "q", "approved": true, "reason": words});
        let part = json!({"type": "tool-book", "toolCallId": "w", "state": "output-available", "input": {"n": 1}, "output": output(), "approval": approval});
        vec![json!({"id": "m$N", "role": "assistant", "parts": [part]})]
    }),
    written("pydantic-ai", "a denied call", |words| {
        pydantic(
            json!([{"tool_name": "book", "content": words, "tool_call_id": "w", "outcome": "denied", "part_kind": "tool-return"}]),
        )
    }),
    written("pydantic-ai", "beside a result", |words| {
        pydantic(json!([{"tool_name": "book", "content": output(), "tool_call_id": "w", "part_kind": "tool-return"},
            {"content": words, "part_kind": "user-prompt"}]))
    }),
    written("openhands", "a rejected action", |words| {
        vec![
            json!({"id": "$N", "source": "agent", "action": "run", "args": {"command": "book", "thought": ""},
                "tool_call_metadata": {"tool_call_id": "w", "function_name": "f"}}),
            json!({"id": "$N", "source": "user", "observation": "user_rejected", "content": words, "extras": {},
                "tool_call_metadata": {"tool_call_id": "w", "function_name": "f"}}),
        ]
    }),
];

/// Rules that prune as much as they can.
const RULES: [&str; 10] = [
    "thinking",
    "media:0",
    "reads",
    "arguments:5",
    "results:0",
    "results:2",
    "cap:1",
    "cap:30",
    "all",
    "results:tokens:10",
];
/// The sizes of `--fit`, in eighths of a conversation.
const EIGHTHS: [u64; 3] = [1, 3, 6];

/// What the user says: some words, and many.
fn said(number: usize, lines: usize) -> String {
    (0..lines)
        .map(|line| format!("No! Never delete \"{line}\" under C:\\srv, Größe 価格; rule {line} zu{number}.\n"))
        .collect()
}

/// A policy that summarizes nothing.
fn pruning(rules: &[&str], keep: u64) -> CompactionPolicy {
    let mut policy = CompactionPolicy::keeping(Size::Messages(keep));
    let rules: Vec<Choice> = rules.iter().map(|rule| rule.parse().expect("a rule")).collect();
    policy.pruning = Pruning { rules: chosen(&rules), except: Vec::new() };
    policy.counter = Counter::APPROX;
    policy.summary.summarizer = SummarizerKind::Off;
    policy
}

/// The messages that hold some of these words, from message `from` on: the words, and what speaks.
fn holders(source: &str, format: &str, words: &[String], from: usize) -> Vec<(usize, String)> {
    let needles: Vec<String> = words.iter().map(|words| Value::from(words.as_str()).to_string()).collect();
    // They can be a part of a string, and of JSON in a string.
    let inner: Vec<String> = needles.iter().map(|needle| needle[1..needle.len() - 1].to_owned()).collect();
    let quoted: Vec<String> = inner.iter().map(|inner| Value::from(inner.as_str()).to_string()).collect();
    with_document(source, by_name(format), |document| {
        let mut found = Vec::new();
        for message in document.transcripts.iter().flat_map(|transcript| transcript.messages.iter().skip(from)) {
            let raw = message.json.raw();
            for (at, (inner, quoted)) in inner.iter().zip(&quoted).enumerate() {
                let times = raw.matches(inner.as_str()).count() + raw.matches(&quoted[1..quoted.len() - 1]).count();
                found.extend((0..times).map(|_| (at, format!("{:?}", message.role))));
            }
        }
        found
    })
}

/// The lines of a digest under the user's heading.
fn users_lines(source: &str, format: &str) -> Vec<String> {
    let digest = with_document(source, by_name(format), |document| {
        let messages: Vec<_> = document.transcripts[0].messages.iter().collect();
        digest_of(&messages, Counter::APPROX, 60_000)
    });
    parse(&digest).into_iter().filter(|item| item.section == Section::User).map(|item| item.text).collect()
}

/// Checks that no rule and no size takes a word. Returns how many sizes can be met.
fn assert_words_stay(source: &str, format: &str, words: &[String], about: &str) -> usize {
    let before = holders(source, format, words, 0);
    assert!(before.len() >= words.len(), "{format} {about}: {source}");
    let users = users_lines(source, format);
    let check = |policy: CompactionPolicy, with: &str| {
        let Ok(done) = Compactor::new(policy).compact_as(source, format) else { return false };
        let after = holders(&done.text, format, words, 0);
        assert_eq!(after, before, "{format} {about}, {with}: {}\nof {source}", done.text);
        assert_eq!(users_lines(&done.text, format), users, "{format} {about}, {with}: {}", done.text);
        true
    };
    for rule in RULES {
        check(pruning(&[rule], 1), rule);
    }
    let size = with_document(source, by_name(format), |document| {
        document.transcripts[0].messages.iter().map(|message| Counter::APPROX.count(message)).sum::<u64>()
    });
    let mut fitted = 0;
    for eighths in EIGHTHS {
        for keep in [None, Some(30)] {
            let mut policy = pruning(&["all"], keep.unwrap_or(20));
            policy.keep_is_given = keep.is_some();
            policy.fit = Some(Size::Tokens((size * eighths / 8).max(1)));
            fitted += usize::from(check(policy, &format!("--fit {eighths} / 8, --keep {keep:?}")));
        }
    }
    fitted
}

/// The calls of a conversation that nobody refused.
const RUNS: usize = 7;

/// A conversation with words of the user in the middle, and results that are pruned around them.
fn around(format: &str, number: usize, messages: Vec<Value>) -> String {
    let run = |at: usize| Step::Call("bash", json!({"command": format!("make zc{at}")}), output());
    let mut steps = vec![Step::User(said(0, 1)), run(1), Step::Assistant("I looked. za1".to_owned())];
    let entries = messages.iter().map(Value::to_string);
    // Ids of events are numbers.
    steps.extend(entries.map(|entry| Step::Entry(entry.replace("\"id\":\"$N\"", "\"id\":$N"))));
    steps.push(Step::Assistant("Yes. za2".to_owned()));
    steps.push(Step::User(said(1, 2)));
    for at in 2..=RUNS {
        steps.extend([run(at), Step::Assistant(format!("I looked again. za{at}"))]);
    }
    steps.push(Step::User(said(2, 1)));
    Bricks::of(format).conversation(&steps, number % Bricks::of(format).layouts())
}

#[test]
fn no_rule_and_no_size_takes_a_word_of_the_user() {
    let mut sample = Sample::default();
    let mut fitted = 0;
    for (number, Written { format, about, is_doubtful, messages }) in WRITTEN.iter().enumerate() {
        for lines in [1, 12, 120] {
            if lines > 1 && !sample.takes_next() || lines > 12 && *is_doubtful {
                continue;
            }
            let mut words: Vec<String> = vec![said(9, lines)];
            let source = around(format, number, messages(&words[0]));
            words.extend([said(0, 1), said(1, 2), said(2, 1)]);
            fitted += assert_words_stay(&source, format, &words, &format!("{about}, {lines} lines"));
        }
    }
    assert!(fitted > 2 * WRITTEN.len(), "{fitted} sizes are met");
}

/// Generated conversations of every format, with refusals and answers among their calls.
#[test]
fn words_of_the_user_stay_in_every_format() {
    let mut sample = Sample::default();
    let mut fitted = 0;
    for (format, seed) in FORMATS.iter().flat_map(|format| (0..11).map(|seed| (format.name, seed))) {
        if !sample.takes_next() {
            continue;
        }
        let bricks = Bricks::of(format);
        let mut below = choices(seed);
        let mut words = Vec::new();
        let mut all = vec![Step::User("Look at it zu9999.".to_owned())];
        for (at, step) in steps(&mut below, 0..16).into_iter().enumerate() {
            all.push(step);
            let lines = [1, 3, 30][below(3)];
            match below(4) {
                0 => words.push(("ask_user", String::new(), said(1_000 + at, lines))),
                1 => words.push(("bash", REFUSED.to_owned(), said(1_000 + at, lines))),
                2 => all.push(Step::User(said(2_000 + at, lines))),
                _ => continue,
            }
            if let Some((tool, opening, said)) =
                words.last().filter(|(.., said)| said.contains(&format!("zu{}", 1_000 + at)))
            {
                all.push(Step::Call(tool, json!({"command": "make", "n": at}), format!("{opening}{said}")));
            }
        }
        all.push(Step::Assistant("That is all. za0".to_owned()));
        let typed = all.iter().filter_map(|step| match step {
            Step::User(text) => Some(text.clone()),
            _ => None,
        });
        let mut texts: Vec<String> = typed.collect();
        // A format without such results has none of these words.
        let source = bricks.conversation(&all, seed as usize);
        texts.extend(
            words
                .into_iter()
                .map(|(.., said)| said)
                .filter(|said| !holders(&source, format, std::slice::from_ref(said), 0).is_empty()),
        );
        fitted += assert_words_stay(&source, format, &texts, &format!("seed {seed}"));
    }
    assert!(fitted > 0);
}

/// A summary takes the words of messages that it replaces, and of none behind it.
#[test]
fn no_word_goes_behind_a_summary() {
    for (number, Written { format, about, messages, .. }) in WRITTEN.iter().enumerate() {
        let words = vec![said(9, 3), said(0, 1), said(1, 2), said(2, 1)];
        let source = around(format, number, messages(&words[0]));
        for limit in [300, 600, 900, 1_400, 2_500] {
            let mut policy = pruning(&["all"], 20);
            policy.summary.summarizer = SummarizerKind::Embedded;
            policy.fit = Some(Size::Tokens(limit));
            let Ok(done) = Compactor::new(policy).compact_as(&source, format) else { continue };
            let cut = done.plans[0].cutoff;
            let kept = holders(&source, format, &words, cut);
            let after = holders(&done.text, format, &words, 0);
            assert!(after.ends_with(&kept), "{format} {about}, {limit}: {kept:?} {after:?} {}\nof {source}", done.text);
        }
    }
}

/// What a tool can write keeps no conversation above its size.
#[test]
fn no_output_escapes_by_reading_like_a_refusal() {
    let long = said(9, 2_000);
    for (number, Written { format, about, is_doubtful, messages }) in WRITTEN.iter().enumerate() {
        if !is_doubtful {
            continue;
        }
        let source = around(format, number, messages(&long));
        let done = Compactor::new(pruning(&["results:0"], 1)).compact_as(&source, format).expect("a transcript");
        assert!(!done.text.contains("rule 1000"), "{format} {about}: {}", done.text);
        // Only what nobody refused is to be called again.
        let invitations = done.text.matches("; call it again").count();
        assert!(!about.contains("refusal") || invitations == RUNS, "{format} {about}: {}", done.text);
        let mut policy = pruning(&["none"], 30);
        policy.keep_is_given = true;
        policy.fit = Some(Size::Tokens(6_000));
        let done = Compactor::new(policy).compact_as(&source, format).expect("it fits");
        assert!(!done.text.contains("rule 1000"), "{format} {about}: {}", done.text);
    }
}
