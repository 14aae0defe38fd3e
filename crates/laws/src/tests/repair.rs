//! What providers refuse in ids, names, inputs, results and cache marks is named and repaired, in generated conversations
//! of all formats.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::bricks::{Bricks, Generated, file, generated};
use crate::lawful::{found, mended, with_document};
use crate::rewrite::repair::{Repair, repair_round};
use crate::rewrite::{Edit, pieces};
use crate::tests::cases;
use crate::transcript::formats::{FORMATS, by_name};
use crate::transcripts::read;
use crate::whole::process;
use tcompact_base::exit::{Exit, Failure};

/// A change of the value at some place.
type Fault = (usize, u8);

const IDS: [&str; 6] = ["id", "tool_use_id", "toolUseId", "tool_call_id", "call_id", "toolCallId"];
const NAMES: [&str; 3] = ["name", "toolName", "tool_name"];
const INPUTS: [&str; 3] = ["input", "args", "arguments"];

/// Puts faults into a value. Places are counted in the order of the text.
fn spoil(value: &mut Value, faults: &[Fault], place: &mut usize) {
    let own = |place: usize| faults.iter().filter(move |fault| fault.0 == place % 40).map(|fault| fault.1);
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| spoil(item, faults, place)),
        Value::Object(members) => {
            *place += 1;
            for fault in own(*place) {
                spoil_object(members, fault);
            }
            members.values_mut().for_each(|member| spoil(member, faults, place));
        }
        _ => {}
    }
}

fn spoil_object(members: &mut Map<String, Value>, fault: u8) {
    let mut set = |keys: &[&str], new: Value| {
        for key in keys {
            if let Some(old) = members.get_mut(*key)
                && (old.is_string() || keys == INPUTS)
            {
                old.clone_from(&new);
            }
        }
    };
    let picture = json!({"type": "image_url", "image_url": {"url": "https://example.com/a.png"}});
    match fault {
        0 => set(&IDS, json!("")),
        1 => set(&IDS, json!("a b|ç")),
        2 => set(&IDS, json!("long_".repeat(20))),
        3 => set(&NAMES, json!("1 näme")),
        4 => set(&INPUTS, json!([1])),
        5 => set(&INPUTS, Value::Null),
        6 => set(&INPUTS, json!("{\"a\": 1}")),
        7 if members.get("type").is_some_and(|kind| kind == "text") => {
            members.insert("cache_control".to_owned(), json!({"type": "ephemeral"}));
        }
        8 if members.get("role").is_some_and(|role| role == "tool") => {
            members.insert("content".to_owned(), json!([{"type": "text", "text": "r"}, picture]));
        }
        _ => {}
    }
}

fn spoiled(source: &str, faults: &[Fault]) -> String {
    let mut place = 0;
    let mut spoiled = String::new();
    for mut value in serde_json::Deserializer::from_str(source).into_iter::<Value>().map_while(Result::ok) {
        spoil(&mut value, faults, &mut place);
        spoiled.push_str(&format!("{value}\n"));
    }
    spoiled
}

proptest! {
    #![proptest_config(cases(3_000))]

    /// What `check` names, `--repair` repairs, and then `check` names nothing.
    #[test]
    fn every_violation_is_repaired(generated in generated(), format in prop::sample::select(FORMATS), layout in 0usize..12,
                                   faults in prop::collection::vec((0usize..40, 0u8..9), 1..6),
                                   how in prop::sample::select(vec![Repair::Drop, Repair::Synthesize])) {
        let generated = [generated, vec![Generated::User("u".to_owned())]].concat();
        let (source, _) = file(&Bricks::of(format.name), &generated, layout);
        let source = spoiled(&source, &faults);
        // Some faults make another format of it, or none.
        if read(&source, Some(format), None).is_err() {
            return Ok(());
        }
        let text = mended(&source, Some(format), how).expect("a user is left");
        prop_assert_eq!(found(&text, Some(format)), Vec::<String>::new(), "{}\n{}", text, source);
        if found(&source, Some(format)).is_empty() {
            prop_assert_eq!(text, source);
        }
    }
}

/// Where only results without calls are there, a repair would leave no message. It fails instead, in every format and layout,
/// and whatever else the file holds.
#[test]
fn a_repair_never_leaves_a_conversation_without_messages() {
    const REFUSAL: &str = "--repair would leave nothing: there are only results without calls";
    let mut refused = 0;
    for format in FORMATS {
        let bricks = Bricks::of(format.name);
        for number in 1..4 {
            let orphans: Vec<Generated> = (0..number).map(Generated::Orphan).collect();
            for (layout, how) in (0..6).flat_map(|layout| [(layout, "drop"), (layout, "synthesize")]) {
                let (source, _) = file(&bricks, &orphans, layout);
                // Some formats have no results of their own.
                if read(&source, Some(*format), None).is_err() || found(&source, Some(*format)).is_empty() {
                    continue;
                }
                for more in [&["--trigger=messages:99"][..], &["--keep=messages:1"], &["--prune=all"]] {
                    let mut arguments = vec![format!("--repair={how}"), format!("--from={}", format.name)];
                    arguments.extend(more.iter().map(|word| (*word).to_owned()));
                    let error = process(&arguments, &source).err().unwrap_or_else(|| panic!("{arguments:?} {source}"));
                    assert!(error.to_string().ends_with(REFUSAL), "{error}: {source}");
                    assert_eq!(error.downcast_ref::<Failure>().map(|failure| failure.exit), Some(Exit::Unreadable));
                    refused += 1;
                }
            }
        }
    }
    assert!(refused > 500, "{refused}");
}

/// Results of tools in Chat Completions that their providers take as they are: Cohere's documents, and media at Mistral.
#[test]
fn media_that_a_provider_takes_in_results_stay() {
    let picture = r#"{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}"#;
    let sound = r#"{"type":"input_audio","input_audio":{"data":"AAAA","format":"wav"}}"#;
    let document = r#"{"type":"document","document":{"data":{"r":"three failed"},"id":"7"}}"#;
    let of_text = r#"{"type":"document","document":{"data":"three failed"}}"#;
    let file = r#"{"type":"file","file":{"file_id":"f"}}"#;
    let text = r#"{"type":"text","text":"two"}"#;
    let cases: [(&str, &[&str], bool); 9] = [
        ("command-a-03-2025", &[document], true),
        ("command-a-03-2025", &[text, document, document, of_text], true),
        ("any-model", &[document], true),
        ("mistral-large-2512", &[picture], true),
        ("pixtral-large", &[text, picture, sound], true),
        ("gpt-5.2", &[picture], false),
        ("gpt-5.2", &[file], false),
        ("command-a-03-2025", &[document, picture], false),
        ("gpt-5.2", &[text], true),
    ];
    for (model, parts, is_taken) in cases {
        let parts = parts.join(",");
        let source = format!(
            r#"{{"model":"{model}","messages":[{{"role":"user","content":"u"}},{{"role":"assistant","content":"","tool_plan":"I look.","tool_calls":[{{"id":"a","type":"function","function":{{"name":"f","arguments":"{{}}"}}}}]}},{{"role":"tool","tool_call_id":"a","content":[{parts}]}}]}}"#
        );
        let format = by_name("openai-chat");
        assert_eq!(found(&source, format).is_empty(), is_taken, "{source}");
        for how in [Repair::Drop, Repair::Synthesize] {
            let text = mended(&source, format, how).expect("a user is left");
            assert_eq!(text == source, is_taken, "{text}");
        }
    }
}

/// A document of Cohere's is told, and cut where it is long, as any other result.
#[test]
fn documents_of_cohere_are_results_of_text() {
    let long = "parcel 17 failed at the gate. ".repeat(200);
    let source = json!({"messages": [{"role": "user", "content": "Which failed?"},
        {"role": "assistant", "tool_plan": "I look.", "tool_calls": [{"id": "a", "type": "function", "function": {"name": "run", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "a", "content": [{"type": "document", "document": {"data": {"r": long}, "id": "7"}}]},
        {"role": "user", "content": "Go on."}]})
    .to_string();
    let arguments = ["--prune=cap:100", "-m=none", "--keep=messages:1"].map(str::to_owned);
    let text = process(&arguments, &source).expect("a result").text;
    let value: Value = serde_json::from_str(&text).expect("JSON");
    let document = &value["messages"][2]["content"][0]["document"];
    let cut = document["data"]["r"].as_str().expect("a text");
    assert!(cut.starts_with("parcel 17") && cut.len() < long.len() / 2 && document["id"] == "7", "{text}");
}

/// Each kind of fault, with what `check` says of it, and the repaired text.
#[test]
fn each_fault_has_its_sentence_and_its_repair() {
    let call = |id: &str, name: &str, input: &str| {
        format!(
            r#"{{"role":"assistant","content":[{{"type":"tool_use","id":"{id}","name":"{name}","input":{input}}}]}}"#
        )
    };
    let answer = |id: &str| {
        format!(r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"{id}","content":"r"}}]}}"#)
    };
    let anthropic = |id: &str, name: &str, input: &str| {
        format!(r#"[{{"role":"user","content":"u"}},{},{}]"#, call(id, name, input), answer(id))
    };
    let chat = |call: &str, result: &str| {
        format!(
            r#"[{{"role":"user","content":"u"}},{{"role":"assistant","content":null,"tool_calls":[{{"id":"{call}","type":"function","function":{{"name":"f","arguments":"{{}}"}}}}]}},{{"role":"tool","tool_call_id":"{result}","content":"r"}},{{"role":"user","content":"v"}}]"#
        )
    };
    let pi = |between: &str| {
        format!(
            r#"{{"type":"session","id":"s","timestamp":"t","cwd":"/"}}
{{"type":"message","id":"1","parentId":null,"message":{{"role":"user","content":"u"}}}}
{{"type":"message","id":"2","parentId":"1","message":{{"role":"assistant","content":[{{"type":"toolCall","id":"c","name":"f","arguments":{{}}}}]}}}}
{between}{{"type":"message","id":"4","parentId":"PARENT","message":{{"role":"toolResult","toolCallId":"c","content":"r"}}}}"#
        )
    };
    let compaction = |parent: &str| {
        format!(r#"{{"type":"compaction","id":"3","parentId":"{parent}","summary":"s","firstKeptEntryId":"1"}}"#)
    };
    let mark = r#","cache_control":{"type":"ephemeral"}"#;
    let marked = |marks: [bool; 5]| {
        let text = |is_marked: bool| {
            format!(
                r#"{{"role":"user","content":[{{"type":"text","text":"u"{}}}]}}"#,
                if is_marked { mark } else { "" }
            )
        };
        format!(r#"{{"system":[{{"type":"text","text":"s"{mark}}}],"messages":[{}]}}"#, marks.map(text).join(","))
    };
    let picture = r#"{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}"#;
    let cases: [(&str, String, &str, String); 9] = [
        (
            "anthropic",
            anthropic("a b", "f", "{}"),
            "1: a call with an id (a b) that its provider refuses for its characters or length",
            anthropic("a_b", "f", "{}"),
        ),
        (
            "anthropic",
            anthropic("a", "f.g", "{}"),
            "1: a call of a tool with a name (f.g) that its provider refuses for its characters or length",
            anthropic("a", "f_g", "{}"),
        ),
        (
            "anthropic",
            anthropic("a", "f", r#""{\"x\": 1}""#),
            "1: a call (a) with an input that is not an object",
            anthropic("a", "f", r#"{"x": 1}"#),
        ),
        (
            "anthropic",
            anthropic("a", "f", "[1]"),
            "1: a call (a) with an input that is not an object",
            anthropic("a", "f", r#"{"input": [1]}"#),
        ),
        (
            "anthropic",
            marked([true; 5]),
            "0: a cache mark too many: the request has 6, and 4 are accepted",
            marked([false, false, true, true, true]),
        ),
        (
            "openai-chat",
            chat("", ""),
            "1: a call with an empty id: a result names its call by the id",
            chat("call00001", "call00001"),
        ),
        (
            "openai-chat",
            chat("a", ""),
            "2: a result with an empty id: a result names its call by the id",
            chat("a", "a"),
        ),
        (
            "openai-chat",
            chat("a", "a").replace(r#""content":"r""#, &format!(r#""content":[{picture}]"#)),
            "2: a picture or other media in a result: Chat Completions accepts only text there",
            chat("a", "a")
                .replace(r#""content":"r"}"#, r#""content":[{"type":"text","text":"(It is in the next message.)"}]}"#)
                .replace(
                    r#",{"role":"user","content":"v"}"#,
                    &format!(r#",{{"role": "user", "content": [{picture}]}},{{"role":"user","content":"v"}}"#),
                ),
        ),
        (
            "pi",
            pi(&format!("{}\n", compaction("2"))).replace("PARENT", "3"),
            "1: a compaction between a call and its result: it must come before the call or after the result",
            format!("{}\n{}", pi("").replace("PARENT", "2"), compaction("4")),
        ),
    ];
    for (format, source, sentence, repaired) in cases {
        let format = by_name(format);
        let sentences = found(&source, format);
        assert_eq!(sentences.first().map(String::as_str), Some(sentence), "{source}");
        let text = mended(&source, format, Repair::Drop).expect("a user is left");
        assert_eq!((text, found(&repaired, format)), (repaired, Vec::new()), "{source}");
    }
}

/// A session of pi in which each entry follows the one before it: a word for each, `c1` for a call, `r1` for its
/// result, and anything else for a compaction.
fn session_of_pi(words: &[String]) -> String {
    let mut lines = vec![
        json!({"type": "session", "id": "s", "timestamp": "t", "cwd": "/"}),
        json!({"type": "message", "id": "u", "parentId": null, "message": {"role": "user", "content": "u"}}),
    ];
    for word in words {
        let parent = lines.last().filter(|_| lines.len() > 1).map_or(json!(null), |last| last["id"].clone());
        let mut line = json!({"type": "message", "id": word, "parentId": parent});
        match word.split_at(1) {
            ("c", call) => {
                let call = json!({"type": "toolCall", "id": call, "name": "f", "arguments": {}});
                line["message"] = json!({"role": "assistant", "content": [call]});
            }
            ("r", call) => line["message"] = json!({"role": "toolResult", "toolCallId": call, "content": "r"}),
            _ => {
                line["type"] = json!("compaction");
                line["summary"] = json!("s");
                line["firstKeptEntryId"] = json!("u");
            }
        }
        lines.push(line);
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn compactions_between_calls_and_results_move_in_one_round() {
    const MANY: usize = 600;
    let words = |text: String| -> Vec<String> { text.split_whitespace().map(str::to_owned).collect() };
    let each = |text: &dyn Fn(usize) -> String| words((0..MANY).map(text).collect());
    let run = |first: &str, last: &str| {
        let all: String = (0..MANY).map(|at| format!("x{at} ")).collect();
        words(format!("{first} {all} {last}"))
    };
    let cases = [
        ("one in each pair", each(&|at| format!("c{at} x{at} r{at} ")), each(&|at| format!("c{at} r{at} x{at} "))),
        ("all in one pair", run("c0", "r0 cB rB"), words(format!("c0 r0 {} cB rB", run("", "").join(" ")))),
        (
            "in pairs that overlap",
            words(format!("c0 {} r{MANY} cB rB", each(&|at| format!("c{} x{at} r{at} ", at + 1)).join(" "))),
            words(format!(
                "c0 {} r{MANY} {} cB rB",
                each(&|at| format!("c{} r{at} ", at + 1)).join(" "),
                run("", "").join(" ")
            )),
        ),
        (
            "two among the results of two calls",
            words("c0 c1 x0 r0 x1 r1 x2 c2 x3 r2".to_owned()),
            words("c0 c1 r0 r1 x0 x1 x2 c2 r2 x3".to_owned()),
        ),
    ];
    for (name, before, after) in cases {
        let (source, expected) = (session_of_pi(&before), session_of_pi(&after));
        let moved = with_document(&source, by_name("pi"), |document| {
            let edits: Vec<Edit> =
                document.transcripts.iter().flat_map(|one| repair_round(one, Repair::Synthesize)).collect();
            pieces(source.as_bytes(), &edits).collect::<Vec<_>>().concat()
        });
        assert_eq!(String::from_utf8_lossy(&moved), expected, "{name}");
        assert_eq!(found(&expected, by_name("pi")), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn a_summary_takes_over_a_mark() {
    use crate::lawful::{VaryingRules, compacted, policy};
    use crate::plan::{pins::Pin, size::Size};
    let rules = policy(&VaryingRules { keep: Size::Messages(1), pin: Pin::None });
    let mark = r#","cache_control":{"type":"ephemeral","ttl":"1h"}"#;
    let text = |mark: &str| format!(r#"{{"role":"user","content":[{{"type":"text","text":"u"{mark}}}]}}"#);
    for (format, system) in [("anthropic", 0), ("anthropic", 4), ("openai-chat", 0)] {
        let beside = vec![format!(r#"{{"type":"text","text":"s"{mark}}}"#); system].join(",");
        let source = format!(r#"{{"system":[{beside}],"messages":[{},{},{}]}}"#, text(mark), text(""), text(""));
        let out = compacted(&source, by_name(format), &rules).1;
        let marks = out.matches("\"ttl\":\"1h\"").count() + out.matches("\"ttl\": \"1h\"").count();
        assert_eq!(marks, if system == 4 { 4 } else { 1 }, "{out}");
    }
}
