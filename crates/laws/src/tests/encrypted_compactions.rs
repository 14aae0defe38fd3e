//! Compactions that only their provider can decrypt: `--repair drop` drops those that the model that reads on cannot, and
//! what they stood for comes back where it is still there.

use serde_json::{Value, json};

use crate::bricks::{Bricks, Generated, file};
use crate::lawful::{found, with_document};
use crate::plan::undecipherable::undecipherable;
use crate::transcript::formats::{FORMATS, by_name};
use crate::whole::process;

fn repaired(source: &str, format: &str, more: &[&str]) -> String {
    let mut arguments = vec![format!("--from={format}"), "--trigger=messages:99999".to_owned()];
    arguments.extend(more.iter().map(|word| (*word).to_owned()));
    process(&arguments, source).unwrap_or_else(|error| panic!("{error}: {source}")).text
}

/// The violations with a reader, or where the user drops all.
fn named(source: &str, format: &str, reader: Option<&str>, drops_all: bool) -> usize {
    with_document(source, by_name(format), |document| {
        document.transcripts.iter().map(|one| undecipherable(one, reader, drops_all).len()).sum()
    })
}

#[test]
fn every_format_drops_them_only_when_told_or_shown() {
    let mut dropped = 0;
    for format in FORMATS {
        let bricks = Bricks::of(format.name);
        for (which, layout) in (0..6).flat_map(|which| [(which, 0), (which, 1), (which, 2)]) {
            let texts = [
                Generated::User("first".to_owned()),
                Generated::Assistant("second".to_owned()),
                Generated::Compaction(which, "third".to_owned()),
                Generated::User("fourth".to_owned()),
            ];
            let (source, _) = file(&bricks, &texts, layout);
            if !source.contains("opaque-") || !found(&source, Some(*format)).is_empty() {
                continue;
            }
            let name = format.name;
            for sound in [&["--repair=drop"][..], &["--repair=synthesize", "--thinking=drop"]] {
                assert_eq!(repaired(&source, name, sound), source, "{name} {sound:?}");
            }
            assert_eq!((named(&source, name, None, false), named(&source, name, None, true)), (0, 1), "{source}");
            let text = repaired(&source, name, &["--repair=drop", "--thinking=drop"]);
            assert!(!text.contains("opaque-"), "{text}");
            assert!(["first", "second", "fourth"].iter().all(|word| text.contains(word)), "{text}");
            assert_eq!(named(&text, name, None, true), 0, "{text}");
            dropped += 1;
        }
    }
    assert!(dropped > 8, "{dropped}");
}

fn line(kind: &str, payload: Value) -> Value {
    json!({"timestamp": "2026-01-02T03:04:05.678Z", "type": kind, "payload": payload})
}

fn said(role: &str, text: &str) -> Value {
    let kind = if role == "user" { "input_text" } else { "output_text" };
    json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]})
}

fn lines(values: &[Value]) -> String {
    values.iter().map(|value| format!("{value}\n")).collect()
}

/// A session of Codex: what stands before a compaction, the compaction, and what stands behind it.
fn session(model: &str, encrypted: &Value, behind: &[Value]) -> Vec<Value> {
    let mut all = vec![
        line("session_meta", json!({"id": "s", "timestamp": "t", "cwd": "/"})),
        line("turn_context", json!({"cwd": "/", "model": model})),
        line(
            "response_item",
            said("user", "# AGENTS.md instructions for /\n\n<INSTRUCTIONS>\nBe brief.\n</INSTRUCTIONS>"),
        ),
        line("response_item", said("user", "Count the parcels.")),
        line("response_item", json!({"type": "function_call", "call_id": "c", "name": "run", "arguments": "{}"})),
        line("response_item", json!({"type": "function_call_output", "call_id": "c", "output": "17"})),
        line("response_item", said("assistant", "There are 17.")),
    ];
    let kept = [said("user", "Count the parcels."), json!({"type": "compaction", "encrypted_content": encrypted})];
    all.push(line("compacted", json!({"message": "", "replacement_history": kept})));
    all.extend_from_slice(behind);
    all
}

/// A name, what is encrypted, the lines behind the compaction, arguments, and whether the compaction is dropped.
type Case<'c> = (&'c str, Value, Vec<Value>, &'c [&'c str], bool);

/// What tells that the reader of a session cannot decrypt its compaction, and what does not.
#[test]
fn what_is_told_or_shown_of_a_session() {
    let sealed = json!("gAAAAABm_x-9Q==");
    let error = |text: &str| line("event_msg", json!({"type": "error", "message": text}));
    let refusal = error(
        "{\"error\":{\"message\":\"The encrypted content gAAA could not be verified.\",\"code\":\"invalid_encrypted_content\"}}",
    );
    let go_on = line("response_item", said("user", "Go on."));
    let answer = line("response_item", said("assistant", "invalid_encrypted_content is a code."));
    let output = [
        line("response_item", json!({"type": "function_call", "call_id": "d", "name": "run", "arguments": "{}"})),
        line(
            "response_item",
            json!({"type": "function_call_output", "call_id": "d", "output": "invalid_encrypted_content"}),
        ),
    ];
    let switched = |model: &str| line("turn_context", json!({"cwd": "/", "model": model}));
    let cases: [Case<'_>; 13] = [
        ("nothing", sealed.clone(), vec![go_on.clone()], &[], false),
        ("the same maker", sealed.clone(), vec![go_on.clone()], &["--for=gpt-5.6"], false),
        ("an unknown model", sealed.clone(), vec![go_on.clone()], &["--for=ollama:team-deployment-3"], false),
        ("another maker", sealed.clone(), vec![go_on.clone()], &["--for=deepseek-v4-pro"], true),
        ("the user", sealed.clone(), vec![go_on.clone()], &["--thinking=drop"], true),
        ("a recorded refusal", sealed.clone(), vec![go_on.clone(), refusal.clone()], &[], true),
        ("one before an answer", sealed.clone(), vec![refusal, go_on.clone(), answer.clone()], &[], false),
        ("another error", sealed.clone(), vec![go_on.clone(), error("stream disconnected")], &[], false),
        ("words and results", sealed.clone(), [&[go_on.clone(), answer], &output[..]].concat(), &[], false),
        ("a model of another maker since then", sealed.clone(), vec![switched("kimi-k3"), go_on.clone()], &[], true),
        ("a model of the same maker since then", sealed, vec![switched("gpt-5.6"), go_on.clone()], &[], false),
        ("an object", json!({"data": "x"}), vec![go_on.clone()], &[], true),
        ("a mask", json!("gAAA[redacted key]"), vec![go_on], &[], true),
    ];
    for (name, encrypted, behind, more, is_dropped) in cases {
        let all = session("gpt-5.2-codex", &encrypted, &behind);
        let source = lines(&all);
        let arguments = [&["--repair=drop"], more].concat();
        let text = repaired(&source, "codex", &arguments);
        let without: Vec<Value> = all.iter().filter(|line| line["type"] != "compacted").cloned().collect();
        assert_eq!(text, if is_dropped { lines(&without) } else { source.clone() }, "{name}");
        let reader = more.first().and_then(|flag| flag.strip_prefix("--for="));
        assert_eq!(named(&source, "codex", reader, more == ["--thinking=drop"]), usize::from(is_dropped), "{name}");
        let count =
            |text: &str| with_document(text, by_name("codex"), |document| document.transcripts[0].messages.len());
        // The compaction, against instructions, the user's message, a call, its result and an answer.
        assert_eq!(count(&text), count(&source) + if is_dropped { 4 } else { 0 }, "{name}");
    }
}

/// In a session whose earlier lines are gone, the messages that the compaction kept stay.
#[test]
fn what_is_readable_beside_a_compaction_is_never_lost() {
    let all = session("gpt-5.2-codex", &json!("gAAAA"), &[line("response_item", said("user", "Go on."))]);
    let short: Vec<Value> =
        all.iter().enumerate().filter(|(index, _)| !(2..7).contains(index)).map(|(_, line)| line.clone()).collect();
    let text = repaired(&lines(&short), "codex", &["--repair=drop", "--thinking=drop"]);
    assert!(text.contains("Count the parcels.") && !text.contains("gAAAA"), "{text}");
    assert_eq!(found(&text, by_name("codex")), Vec::<String>::new());
    // A compaction before another: both go, and all comes back.
    let mut twice = all.clone();
    twice.push(line(
        "compacted",
        json!({"message": "", "replacement_history": [said("user", "Count the parcels."),
        said("user", "Go on."), {"type": "compaction", "encrypted_content": "gAAAB"}]}),
    ));
    twice.push(line("response_item", said("user", "And now?")));
    let text = repaired(&lines(&twice), "codex", &["--repair=drop", "--thinking=drop"]);
    let without: Vec<Value> = twice.iter().filter(|line| line["type"] != "compacted").cloned().collect();
    assert_eq!(text, lines(&without));
}

/// The name of a deployment tells no maker, but the format does.
#[test]
fn a_deployment_writes_what_its_format_says() {
    let go_on = line("response_item", said("user", "Go on."));
    let source = lines(&session("my-deploy", &json!("gAAAA"), &[go_on]));
    for (reader, is_named) in
        [("gpt-5.6", false), ("grok-4", false), ("claude-opus-4-8", true), ("deepseek-v4-pro", true)]
    {
        assert_eq!(named(&source, "codex", Some(reader), false), usize::from(is_named), "{reader}");
    }
    assert_eq!(named(&source, "codex", None, false), 0);
}

/// What a compaction repeats differs from the lines that it replaced. These come back all the same.
#[test]
fn no_answer_is_lost_with_a_compaction() {
    let developer =
        |text: &str| json!({"type": "message", "role": "developer", "content": [{"type": "input_text", "text": text}]});
    let environment = said("user", "<environment_context>\n  <cwd>/work</cwd>\n</environment_context>");
    let picture = json!({"type": "message", "role": "user", "content": [
        {"type": "input_text", "text": "Count the parcels."},
        {"type": "input_image", "image_url": "data:image/png;base64,aGk="}]});
    let kept: [(&str, Vec<Value>); 8] = [
        ("nothing", vec![]),
        ("the same", vec![said("user", "Count the parcels.")]),
        ("a picture", vec![picture]),
        (
            "another developer message",
            vec![developer(&"Never approve. ".repeat(90)), said("user", "Count the parcels.")],
        ),
        ("another environment", vec![environment, said("user", "Count the parcels.")]),
        ("a shortened message", vec![said("user", "Count …9 tokens truncated… parcels.")]),
        (
            "an answer with an id",
            vec![json!({"type": "message", "role": "assistant", "id": "m",
            "content": [{"type": "output_text", "text": "There are 17."}]})],
        ),
        ("no words of the user", vec![developer("Never approve.")]),
    ];
    for (name, kept) in kept {
        for kind in ["compaction", "context_compaction", "compaction_summary"] {
            let mut all = session("gpt-5.2-codex", &json!("gAAAA"), &[line("response_item", said("user", "Go on."))]);
            let at = all.iter().position(|line| line["type"] == "compacted").expect("a compaction");
            let list = [kept.clone(), vec![json!({"type": kind, "encrypted_content": "gAAAA"})]].concat();
            all[at]["payload"]["replacement_history"] = Value::from(list);
            let source = lines(&all);
            let text = repaired(&source, "codex", &["--repair=drop", "--for=claude-opus-4-8"]);
            all.remove(at);
            assert_eq!(text, lines(&all), "{name} {kind}");
        }
    }
}

/// A long session has many compactions, each of which replaced the one before it. All that are lost go in one round; one that
/// another model wrote stays.
#[test]
fn many_compactions_go_at_once() {
    let long = |first: &str| {
        let mut all = vec![
            line("session_meta", json!({"id": "s", "timestamp": "t", "cwd": "/"})),
            line("turn_context", json!({"cwd": "/", "model": first})),
        ];
        for number in 0..600 {
            if number == 2 {
                all.push(line("turn_context", json!({"cwd": "/", "model": "gpt-5.2-codex"})));
            }
            let user = said("user", &format!("Look at shelf {number}."));
            all.push(line("response_item", user.clone()));
            all.push(line("response_item", said("assistant", "It is empty.")));
            let sealed = json!({"type": "compaction", "encrypted_content": format!("g{number}")});
            all.push(line("compacted", json!({"message": "", "replacement_history": [user, sealed]})));
        }
        all
    };
    for (first, left) in [("gpt-5.2-codex", 0), ("claude-opus-4-8", 2)] {
        let all = long(first);
        let text = repaired(&lines(&all), "codex", &["--repair=drop", "--for=claude-opus-4-8"]);
        let mut compactions = 0;
        let is_left = |line: &&Value| {
            compactions += usize::from(line["type"] == "compacted");
            line["type"] != "compacted" || compactions <= left
        };
        let wanted: Vec<Value> = all.iter().filter(is_left).cloned().collect();
        assert_eq!(text, lines(&wanted), "{first}");
    }
}

/// A file that begins in the middle of a session has fewer messages of the user than its compaction repeats.
#[test]
fn what_a_compaction_repeats_stays_where_its_lines_are_cut_off() {
    let mut all = session("gpt-5.2-codex", &json!("gAAAA"), &[line("response_item", said("user", "Go on."))]);
    all.drain(3..6);
    let list = all.iter_mut().find(|line| line["type"] == "compacted").expect("a compaction");
    list["payload"]["replacement_history"][0] = said("user", "Count the parcels on each of the shelves.");
    let text = repaired(&lines(&all), "codex", &["--repair=drop", "--thinking=drop"]);
    assert!(text.contains("on each of the shelves") && !text.contains("gAAAA"), "{text}");
}
