//! Models that want their reasoning back on messages with calls: DeepSeek, Kimi, MiniMax and GLM refuse a request in
//! which it lacks there.

use serde_json::{Value, json};

use crate::program::{Run, piped};

const TURNS: usize = 4;
/// The marks of reasoning on messages with calls, and of all other.
const CALLING: &str = "before-call";
const SPEAKING: &str = "before-answer";

fn thought(mark: &str, turn: usize) -> String {
    format!("{mark} {turn}: {}", "the shelf must be looked at before anything is said. ".repeat(12))
}

/// Writes the messages of all turns, each a question, a call with reasoning, its result and an answer with reasoning.
fn turns(of_one: impl Fn(usize, &str, &str) -> Vec<Value>) -> Vec<Value> {
    (0..TURNS).flat_map(|turn| of_one(turn, &thought(CALLING, turn), &thought(SPEAKING, turn))).collect()
}

/// A request of Chat Completions, with reasoning in a member that `beside` writes.
fn chat(model: &str, beside: fn(&str) -> Value) -> String {
    let with = |mut message: Value, thought: &str| {
        let more = beside(thought);
        message.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        message
    };
    let call = |turn: usize| json!([{"id": format!("c{turn}"), "type": "function", "function": {"name": "look", "arguments": "{}"}}]);
    let messages = turns(|turn, before_call, before_answer| {
        vec![
            json!({"role": "user", "content": format!("Shelf {turn}?")}),
            with(json!({"role": "assistant", "content": null, "tool_calls": call(turn)}), before_call),
            json!({"role": "tool", "tool_call_id": format!("c{turn}"), "content": "17 books"}),
            with(json!({"role": "assistant", "content": "It has 17 books."}), before_answer),
        ]
    });
    json!({"model": model, "messages": messages}).to_string()
}

fn content(thought: &str) -> Value {
    json!({"reasoning_content": thought})
}

fn details(thought: &str) -> Value {
    json!({"reasoning": thought, "reasoning_details": [{"type": "reasoning.text", "text": thought, "format": "unknown", "index": 0}]})
}

fn langchain() -> String {
    let ai = |thought: &str, data: Value| {
        let mut data = data;
        data["additional_kwargs"] = json!({"reasoning_content": thought});
        data["response_metadata"] = json!({"model_name": "deepseek-reasoner"});
        json!({"type": "ai", "data": data})
    };
    let messages = turns(|turn, before_call, before_answer| {
        let call = json!([{"name": "look", "args": {}, "id": format!("c{turn}"), "type": "tool_call"}]);
        vec![
            json!({"type": "human", "data": {"content": format!("Shelf {turn}?")}}),
            ai(before_call, json!({"content": "", "tool_calls": call})),
            json!({"type": "tool", "data": {"content": "17 books", "tool_call_id": format!("c{turn}")}}),
            ai(before_answer, json!({"content": "It has 17 books.", "tool_calls": []})),
        ]
    });
    Value::from(messages).to_string()
}

/// Items of the Responses API; a reasoning item comes before the call that it belongs to.
fn items() -> Vec<Value> {
    let reasoning =
        |text: &str| json!({"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": text}]});
    turns(|turn, before_call, before_answer| {
        let said = |role: &str, kind: &str, text: String| json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]});
        vec![
            said("user", "input_text", format!("Shelf {turn}?")),
            reasoning(before_call),
            json!({"type": "function_call", "call_id": format!("c{turn}"), "name": "look", "arguments": "{}"}),
            json!({"type": "function_call_output", "call_id": format!("c{turn}"), "output": "17 books"}),
            reasoning(before_answer),
            said("assistant", "output_text", "It has 17 books.".to_owned()),
        ]
    })
}

/// A rollout of Codex, whose lines about the turn name the model.
fn codex() -> String {
    let line = |kind: &str, payload: &Value| json!({"timestamp": "t", "type": kind, "payload": payload}).to_string();
    let context = line("turn_context", &json!({"cwd": "/", "model": "deepseek-v4-flash"}));
    let items = items().into_iter().map(|item| line("response_item", &item));
    [context].into_iter().chain(items).map(|line| line + "\n").collect()
}

/// Messages whose reasoning, text, calls and results are blocks of the content.
fn blocks(model: &str) -> Vec<Value> {
    let thinking = |text: &str| json!({"type": "thinking", "thinking": text, "signature": "s"});
    turns(|turn, before_call, before_answer| {
        let assistant = |blocks: Value| json!({"role": "assistant", "model": model, "content": blocks});
        vec![
            json!({"role": "user", "content": format!("Shelf {turn}?")}),
            assistant(
                json!([thinking(before_call), {"type": "tool_use", "id": format!("c{turn}"), "name": "look", "input": {}}]),
            ),
            json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": format!("c{turn}"), "content": "17 books"}]}),
            assistant(json!([thinking(before_answer), {"type": "text", "text": "It has 17 books."}])),
        ]
    })
}

/// A session of Claude Code, which writes a line for each block of an answer.
fn claude_code() -> String {
    let mut lines = String::new();
    let mut parent = Value::Null;
    for (index, message) in blocks("kimi-k2.6").into_iter().enumerate() {
        let parts = match (&message["role"], message["content"].as_array()) {
            (role, Some(blocks)) if role == "assistant" => blocks.iter().map(|block| json!([block])).collect(),
            _ => vec![message["content"].clone()],
        };
        for (at, part) in parts.into_iter().enumerate() {
            let id = format!("u{index}-{at}");
            let mut inner = message.clone();
            inner["content"] = part;
            inner["id"] = json!(format!("m{index}"));
            let line = json!({"parentUuid": parent, "sessionId": "s", "type": message["role"], "message": inner, "uuid": id, "timestamp": "t"});
            lines.push_str(&format!("{line}\n"));
            parent = json!(id);
        }
    }
    lines
}

fn all() -> Vec<(&'static str, String)> {
    vec![
        ("reasoning_content", chat("deepseek-v4-pro", content)),
        ("a maker's name", chat("moonshotai/Kimi-K3", content)),
        ("a newer version", chat("GLM-5.1", content)),
        ("reasoning_details", chat("MiniMax-M3", details)),
        ("a router's name", chat("openrouter/deepseek/deepseek-v4-pro", details)),
        ("additional_kwargs", langchain()),
        ("items", json!({"model": "deepseek-v4-pro", "input": items()}).to_string()),
        ("lines of items", codex()),
        ("blocks", json!({"model": "kimi-k2-thinking", "messages": blocks("kimi-k2-thinking")}).to_string()),
        ("lines of blocks", claude_code()),
    ]
}

fn pruned(source: &str, more: &[&str]) -> Run {
    let run = piped(&[&["--prune", "thinking", "-m", "none", "--keep", "messages:1"], more].concat(), source);
    assert_eq!(run.code, 0, "{run:?}");
    run
}

/// Counts the messages that still have the reasoning with a mark.
fn with(mark: &str, text: &str) -> usize {
    (0..TURNS).filter(|turn| text.contains(&format!("{mark} {turn}: "))).count()
}

#[test]
fn reasoning_stays_only_on_messages_with_calls() {
    for (name, source) in all() {
        let run = pruned(&source, &[]);
        assert_eq!((with(CALLING, &run.stdout), with(SPEAKING, &run.stdout)), (TURNS, 1), "{name}: {run:?}");
    }
    // The model that reads on decides.
    let source = chat("qwen3-max", content);
    assert_eq!(with(CALLING, &pruned(&source, &[]).stdout), 0);
    assert_eq!(with(CALLING, &pruned(&source, &["--for", "deepseek-v4-pro"]).stdout), TURNS);
    let source = chat("deepseek-v4-pro", content);
    assert_eq!(with(CALLING, &pruned(&source, &["--for", "claude-opus-4-5"]).stdout), 0);
}

#[test]
fn fit_never_removes_reasoning_that_the_model_wants_back() {
    for size in ["1100", "700", "500"] {
        let run = piped(&["--fit", &format!("tokens:{size}")], &chat("deepseek-v4-pro", content));
        assert_eq!(run.code, 0, "{run:?}");
        let request: Value = serde_json::from_str(&run.stdout).expect("JSON");
        let messages = request["messages"].as_array().expect("messages");
        let calling = messages.iter().filter(|message| message["tool_calls"].is_array());
        assert!(
            calling.clone().count() > 0 && calling.clone().all(|one| one["reasoning_content"].is_string()),
            "{run:?}"
        );
    }
    // One turn of calls that nothing can be summarized from.
    let request: Value = serde_json::from_str(&chat("deepseek-v4-pro", content)).expect("JSON");
    let first = json!({"model": "deepseek-v4-pro", "messages": request["messages"].as_array().expect("messages")[..4]});
    let run =
        piped(&["--fit", "tokens:250", "--keep", "messages:1", "--pin", "first:1", "-m", "none"], &first.to_string());
    // Without the reasoning, the model would refuse the request.
    assert_eq!((run.code, run.stdout.as_str()), (5, ""), "{run:?}");
    assert!(run.stderr.contains(", its size now: "), "{run:?}");
}

#[test]
fn check_names_calls_without_reasoning() {
    for (name, source) in all() {
        let run = piped(&["check"], &source);
        assert!(!run.stderr.contains("without the reasoning"), "{name}: {run:?}");
        assert_eq!(run.code, 0, "{name}: {run:?}");
        let other = piped(&["check", "--for", "gpt-5.2"], &source);
        assert_eq!(other.code, 0, "{name}: {other:?}");
    }
    let mut request: Value = serde_json::from_str(&chat("deepseek-v4-pro", content)).expect("JSON");
    request["messages"][5]["reasoning_content"].take();
    let run = piped(&["check"], &request.to_string());
    assert_eq!(
        (run.code, run.stderr.as_str()),
        (
            6,
            "tcompact: standard input: message 5: a call (c1) without the reasoning before it: its model rejects a request that lacks it\n"
        )
    );
    request["messages"][5]["reasoning_content"] = json!("");
    assert_eq!(piped(&["check"], &request.to_string()).code, 0, "an empty text is taken");
    // Without any reasoning, a model that need not think did not think; but another one may read on.
    let bare = |model| chat(model, |_| json!({}));
    assert_eq!(piped(&["check"], &bare("deepseek-v4-pro")).code, 0);
    assert_eq!(piped(&["check"], &bare("deepseek-chat")).code, 0);
    assert_eq!(piped(&["check"], &bare("kimi-k3")).code, 6, "it always thinks");
    let other = ["check", "--for", "deepseek-v4-pro"];
    assert_eq!(piped(&other, &bare("gpt-5.2")).code, 6);
    let off = bare("deepseek-v4-pro").replacen('{', r#"{"thinking":{"type":"disabled"},"#, 1);
    assert_eq!(piped(&other, &off).code, 0);
    let items: Vec<Value> = items().into_iter().filter(|item| item["type"] != "reasoning").collect();
    let run = piped(&["check"], &json!({"model": "deepseek-reasoner", "input": items}).to_string());
    assert_eq!(run.stderr.matches("without the reasoning").count(), TURNS, "{run:?}");
}

#[test]
fn reasoning_counts_as_thinking() {
    for (name, source) in all() {
        let run = piped(&["count", "--json"], &source);
        let count: Value = serde_json::from_str(&run.stdout).expect("JSON");
        let (thinking, tokens) =
            (count["thinking"].as_u64().expect("a number"), count["tokens"].as_u64().expect("a number"));
        let least = 2 * TURNS as u64 * 130;
        assert!(least < thinking && thinking < tokens && thinking < 2 * least, "{name}: {count}");
        for counter in ["o200k_base", "approx:3.3"] {
            let run = piped(&["count", "--json", "--counter", counter], &source);
            let count: Value = serde_json::from_str(&run.stdout).expect("JSON");
            assert!(count["thinking"].as_u64() > Some(500), "{name}, {counter}: {count}");
        }
    }
    // The systems that count with LangChain's estimate leave it out.
    let tokens = |more: &[&str], source: &str| -> u64 {
        piped(&[&["count"], more].concat(), source).stdout.trim().parse().expect("a number")
    };
    let (with, without) = (chat("m", content), chat("m", |_| json!({})));
    assert_eq!(tokens(&["--preset", "langchain"], &with), tokens(&["--preset", "langchain"], &without));
    assert!(tokens(&[], &with) > tokens(&[], &without) + 1_000);
}
