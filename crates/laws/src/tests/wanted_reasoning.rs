//! Reasoning that a model wants back stays: what `--prune` and `--fit` leave passes `check` where the whole
//! conversation did.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::bricks::{Bricks, Generated, file_of};
use crate::lawful::with_document;
use crate::plan::breaches::breaches;
use crate::plan::steps::missing_reasoning;
use crate::tests::cases;
use crate::transcript::formats::{FORMATS, Format, by_name};
use crate::whole::process;

/// Models that want reasoning back on calls, signatures, both or neither.
const MODELS: [&str; 10] = [
    "deepseek-v4-pro",
    "deepseek-reasoner",
    "moonshotai/Kimi-K3",
    "kimi-k2-thinking",
    "MiniMax-M3",
    "GLM-5.1",
    "gemini-3-pro-preview",
    "claude-opus-4-5",
    "claude-sonnet-5-5",
    "gpt-5.2",
];

/// Everything that removes reasoning without being told to remove what is wanted back.
const WAYS: [&[&str]; 9] = [
    &["--prune=thinking", "-m=none", "--keep=messages:1"],
    &["--prune=all", "-m=none", "--keep=messages:1"],
    &["--prune=thinking", "--keep=messages:2"],
    &["--fit=tokens:SIZE", "-m=none"],
    &["--fit=tokens:SIZE", "-m=none", "--keep=messages:1", "--pin=first:1"],
    &["--fit=tokens:SIZE", "-m=none", "--prune=thinking"],
    &["--fit=tokens:SIZE", "--prune=all"],
    &["--fit=tokens:SIZE"],
    &["--fit=bytes:SIZE", "-m=none"],
];

fn violations(source: &str, format: &'static Format, reader: Option<&str>) -> Vec<String> {
    with_document(source, Some(format), |document| {
        let of_one = |one| breaches(one).into_iter().chain(missing_reasoning(one, reader));
        let found = document.transcripts.iter().flat_map(of_one);
        found.map(|breach| format!("{}: {breach}", breach.message)).collect()
    })
}

/// Checks what each way leaves of a conversation that passes. Returns in how many ways it changed.
fn assert_passes(source: &str, format: &'static Format, reader: Option<&str>, way: &[&str], size: u64) -> usize {
    if !violations(source, format, reader).is_empty() {
        return 0;
    }
    let mut arguments = vec![format!("--from={}", format.name)];
    arguments.extend(way.iter().map(|word| word.replace("SIZE", &size.to_string())));
    arguments.extend(reader.map(|reader| format!("--for={reader}")));
    let Ok(done) = process(&arguments, source) else { return 0 };
    let left = violations(&done.text, format, reader);
    assert_eq!(left, Vec::<String>::new(), "{arguments:?}\n{}\n{source}", done.text);
    usize::from(done.text != source)
}

/// A turn: the user's words, and messages with reasoning, of which many have calls and their results.
fn turns() -> impl Strategy<Value = Vec<Generated>> {
    let long = |text: &str| format!("{text} the shelf must be looked at. ").repeat(9);
    let one = prop_oneof![
        2 => "[a-z]{1,9}".prop_map(move |text| Generated::User(long(&text))),
        6 => (any::<u8>(), "[a-z]{1,9}").prop_map(move |(which, text)| Generated::Thinking(which, long(&text))),
        1 => "[a-z]{1,9}".prop_map(move |text| Generated::Assistant(long(&text))),
    ];
    prop::collection::vec(one, 2..14)
}

proptest! {
    #![proptest_config(cases(4_000))]

    #[test]
    fn a_shorter_conversation_passes_where_the_whole_one_did(
        generated in turns(), format in prop::sample::select(FORMATS), layout in 0usize..12,
        model in prop::sample::select(&MODELS[..]), is_named in any::<bool>(), way in prop::sample::select(&WAYS[..]),
        size in 40u64..1_500,
    ) {
        let generated = [vec![Generated::User("Go.".to_owned())], generated].concat();
        let (source, _) = file_of(&Bricks::of(format.name), &generated, layout, model);
        assert_passes(&source, format, Some(model).filter(|_| is_named), way, size);
    }
}

/// A conversation of Gemini's with two signed steps in its last turn, for each place of a signature.
fn signed() -> Vec<(&'static str, &'static str, Value)> {
    let long = |word: &str| format!("{word} the shelf must be looked at before anything is said. ").repeat(30);
    let sign = "c2lnbmF0dXJl";
    let gemini = |key: &str, thought: bool| {
        let call = |n: u8| {
            let mut part = json!({"functionCall": {"name": "look", "args": {"n": n}}});
            part[key] = json!(sign);
            let thinking = json!({"text": long("hm"), "thought": true});
            json!({"role": "model", "parts": if thought { json!([thinking, part]) } else { json!([part]) }})
        };
        let result =
            json!({"role": "user", "parts": [{"functionResponse": {"name": "look", "response": {"r": long("r")}}}]});
        let user = |text: &str| json!({"role": "user", "parts": [{"text": text}]});
        json!({"contents": [user(&long("u")), call(0), result, {"role": "model", "parts": [{"text": "ok"}]}, user("Go on."),
            call(1), result, call(2), result]})
    };
    let chat = |sign_call: &dyn Fn(&mut Value, &mut Value)| {
        let call = |n: u8| {
            let mut call =
                json!({"id": format!("c{n}"), "type": "function", "function": {"name": "look", "arguments": "{}"}});
            let mut message = json!({"role": "assistant", "content": "", "reasoning_content": long("hm")});
            sign_call(&mut message, &mut call);
            message["tool_calls"] = json!([call]);
            message
        };
        let result = |n: u8| json!({"role": "tool", "tool_call_id": format!("c{n}"), "content": long("r")});
        json!({"messages": [{"role": "user", "content": long("u")}, call(0), result(0), {"role": "assistant", "content": "ok"},
            {"role": "user", "content": "Go on."}, call(1), result(1), call(2), result(2)]})
    };
    let langchain = {
        let ai = |n: u8| {
            json!({"type": "ai", "data": {"content": [{"type": "thinking", "thinking": long("hm")}],
            "additional_kwargs": {"__gemini_function_call_thought_signatures__": {format!("c{n}"): sign}},
            "tool_calls": [{"name": "look", "args": {}, "id": format!("c{n}"), "type": "tool_call"}]}})
        };
        let tool = |n: u8| json!({"type": "tool", "data": {"content": long("r"), "tool_call_id": format!("c{n}")}});
        let human = |text: &str| json!({"type": "human", "data": {"content": text}});
        json!([human(&long("u")), ai(0), tool(0), {"type": "ai", "data": {"content": "ok"}}, human("Go on."), ai(1), tool(1), ai(2), tool(2)])
    };
    let ai_sdk = {
        let call = |n: u8| {
            json!({"role": "assistant", "content": [{"type": "reasoning", "text": long("hm")},
            {"type": "tool-call", "toolCallId": format!("c{n}"), "toolName": "look", "input": {},
             "providerOptions": {"google": {"thoughtSignature": sign}}}]})
        };
        let tool = |n: u8| {
            json!({"role": "tool", "content": [{"type": "tool-result", "toolCallId": format!("c{n}"), "toolName": "look",
            "output": {"type": "text", "value": long("r")}}]})
        };
        let user = |text: &str| json!({"role": "user", "content": [{"type": "text", "text": text}]});
        json!([user(&long("u")), call(0), tool(0), {"role": "assistant", "content": [{"type": "text", "text": "ok"}]}, user("Go on."),
            call(1), tool(1), call(2), tool(2)])
    };
    let pydantic = {
        let call = |n: u8| {
            json!({"kind": "response", "parts": [{"part_kind": "thinking", "content": long("hm")},
            {"part_kind": "tool-call", "tool_name": "look", "args": "{}", "tool_call_id": format!("c{n}"),
             "provider_details": {"thought_signature": sign}}]})
        };
        let tool = |n: u8| json!({"kind": "request", "parts": [{"part_kind": "tool-return", "tool_name": "look", "content": long("r"), "tool_call_id": format!("c{n}")}]});
        let user = |text: &str| json!({"kind": "request", "parts": [{"part_kind": "user-prompt", "content": text}]});
        json!([user(&long("u")), call(0), tool(0), {"kind": "response", "parts": [{"part_kind": "text", "content": "ok"}]}, user("Go on."),
            call(1), tool(1), call(2), tool(2)])
    };
    vec![
        ("gemini", "thoughtSignature", gemini("thoughtSignature", true)),
        ("gemini", "thought_signature", gemini("thought_signature", false)),
        (
            "openai-chat",
            "extra_content",
            chat(&|_, call| call["extra_content"] = json!({"google": {"thought_signature": sign}})),
        ),
        (
            "openai-chat",
            "provider_specific_fields",
            chat(&|_, call| call["provider_specific_fields"] = json!({"thought_signature": sign})),
        ),
        (
            "openai-chat",
            "reasoning_details",
            chat(&|message, call| {
                message["reasoning_details"] = json!([{"type": "reasoning.encrypted", "data": sign, "id": call["id"],
                    "format": "google-gemini-v1", "index": 0}]);
            }),
        ),
        ("langchain", "additional_kwargs", langchain),
        ("ai-sdk", "providerOptions", ai_sdk),
        ("pydantic-ai", "provider_details", pydantic),
    ]
}

/// Removes every text that is a signature.
fn without_signatures(value: &mut Value, sign: &str) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| without_signatures(item, sign)),
        Value::Object(members) => {
            members.retain(|_, member| member.as_str() != Some(sign));
            members.values_mut().for_each(|member| without_signatures(member, sign));
        }
        _ => {}
    }
}

#[test]
fn signatures_of_the_current_turn_are_wanted_in_every_format() {
    let mut changed = 0;
    for (name, place, conversation) in signed() {
        let format = by_name(name).expect("a format");
        let source = conversation.to_string();
        for reader in ["gemini-3-pro-preview", "google/gemini-3.5-flash"] {
            assert_eq!(violations(&source, format, Some(reader)), Vec::<String>::new(), "{name} {place}");
            for way in WAYS {
                for size in [60, 300, 700, 1_200] {
                    changed += assert_passes(&source, format, Some(reader), way, size);
                }
            }
        }
        let mut bare = conversation;
        without_signatures(&mut bare, "c2lnbmF0dXJl");
        let bare = bare.to_string();
        let found = violations(&bare, format, Some("models/gemini-3-flash-preview"));
        let named: Vec<&str> = found.iter().filter_map(|one| Some(one.split_once(": ")?.0)).collect();
        assert_eq!(named, ["5", "7"], "{name} {place}: the turn before is over");
        for reader in ["gemini-2.5-pro", "gpt-5.2", "gemini-pro"] {
            assert_eq!(violations(&bare, format, Some(reader)), Vec::<String>::new(), "{name} {place}");
        }
    }
    assert!(changed > 200, "{changed}");
}

/// Steps of a turn in Gemini's own form: `U` the user, `s` a signed call, `c` one without, `r` its result, `a` a text of
/// the model, and `p` two calls of which the first is signed, `q` of which the second is.
#[test]
fn only_the_first_call_of_each_open_step_is_named() {
    let format = by_name("gemini").expect("a format");
    let call = |sign: Option<&str>| {
        let mut part = json!({"functionCall": {"name": "look", "args": {}}});
        part["thoughtSignature"] = json!(sign);
        part
    };
    let result = json!({"functionResponse": {"name": "look", "response": {}}});
    let message = |letter: char| match letter {
        'U' => json!({"role": "user", "parts": [{"text": "u"}]}),
        's' => json!({"role": "model", "parts": [call(Some("skip_thought_signature_validator"))]}),
        'c' => json!({"role": "model", "parts": [call(None)]}),
        'p' => json!({"role": "model", "parts": [call(Some("context_engineering_is_the_way_to_go")), call(None)]}),
        'q' => {
            json!({"role": "model", "parts": [{"text": "hm", "thoughtSignature": "x"}, call(None), call(Some("x"))]})
        }
        'r' => json!({"role": "user", "parts": [result]}),
        'R' => json!({"role": "user", "parts": [result, result]}),
        'm' => json!({"role": "user", "parts": [result, {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]}),
        't' => json!({"role": "user", "parts": [result, {"text": "stop"}]}),
        _ => json!({"role": "model", "parts": [{"text": "a"}]}),
    };
    let cases: [(&str, &[usize]); 14] = [
        ("Ucr", &[1]),
        ("Uc", &[1]),
        ("Usr", &[]),
        ("UpR", &[]),
        ("UqR", &[1]),
        ("Usrcrsrcr", &[3, 7]),
        ("UcrU", &[]),
        ("Ucra", &[]),
        ("UcraU", &[]),
        ("UcraUcr", &[5]),
        ("UcraUsr", &[]),
        // A picture beside a result is of the result, and words beside it are the user's.
        ("Ucmsr", &[1]),
        ("Uctsr", &[]),
        ("cr", &[0]),
    ];
    for (letters, expected) in cases {
        let contents: Vec<Value> = letters.chars().map(message).collect();
        let source = json!({"model": "models/gemini-3-pro-preview", "contents": contents}).to_string();
        let found: Vec<usize> = with_document(&source, Some(format), |document| {
            missing_reasoning(&document.transcripts[0], None).iter().map(|breach| breach.message).collect()
        });
        assert_eq!(found, expected, "{letters}");
    }
}
