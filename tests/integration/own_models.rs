//! A session is counted as the model counts it that the session names last, unless the user says otherwise.

use crate::program::{run, tcompact};

const TEXT: &str = "The tests of the garden shop pass, and the report about the opening hours is written down. ";

/// The tokens that `count` prints.
fn tokens(arguments: &[&str], source: &str) -> u64 {
    let done = run(tcompact().arg("count").args(arguments), source.as_bytes());
    let number = done.stdout.trim().parse();
    number.unwrap_or_else(|_| panic!("{arguments:?} {source}: {done:?}"))
}

/// A session of each kind, with `MODEL` where it names one.
fn sessions() -> Vec<(&'static str, String)> {
    let text = TEXT.repeat(20);
    let user = format!(r#"{{"role":"user","content":"{text}"}}"#);
    let chat = format!(r#"{{"model":"MODEL","messages":[{user},{{"role":"assistant","content":"{text}"}}]}}"#);
    let claude_code = format!(
        "{}\n{}\n",
        format_args!(r#"{{"type":"user","uuid":"1","parentUuid":null,"message":{user}}}"#),
        format_args!(
            r#"{{"type":"assistant","uuid":"2","parentUuid":"1","message":{{"role":"assistant","model":"MODEL","content":[{{"type":"text","text":"{text}"}}]}}}}"#
        )
    );
    let item = |role: &str, kind: &str| {
        format!(
            r#"{{"timestamp":"2026-03-01T10:00:02.000Z","type":"response_item","payload":{{"type":"message","role":"{role}","content":[{{"type":"{kind}","text":"{text}"}}]}}}}"#
        )
    };
    let codex = format!(
        "{}\n{}\n{}\n{}\n",
        r#"{"timestamp":"2026-03-01T10:00:00.000Z","type":"session_meta","payload":{"id":"0199-a","cwd":"/work"}}"#,
        r#"{"timestamp":"2026-03-01T10:00:01.000Z","type":"turn_context","payload":{"model":"MODEL"}}"#,
        item("user", "input_text"),
        item("assistant", "output_text")
    );
    let langchain = format!(
        r#"[{{"type":"human","content":"{text}"}},{{"type":"ai","content":"{text}","response_metadata":{{"model_name":"MODEL"}}}}]"#
    );
    vec![("a request", chat), ("claude-code", claude_code), ("codex", codex), ("langchain", langchain)]
}

#[test]
fn the_family_of_the_named_model_counts() {
    for (kind, session) in sessions() {
        let plain = tokens(&["--counter", "o200k_base"], &session);
        for (model, factor) in [
            ("claude-opus-4-8", 1.45),
            ("claude-sonnet-4-5", 1.2),
            ("qwen3-max", 1.05),
            ("gpt-5.5", 1.0),
            ("a-model-of-tomorrow", 1.0),
        ] {
            let named = session.replace("MODEL", model);
            let counted = tokens(&[], &named);
            let ratio = counted as f64 / plain as f64;
            assert!((ratio - factor).abs() < 0.05, "{kind} of {model}: {counted} and {plain}");
            assert_eq!(tokens(&["--counter", "estimate"], &named), counted, "{kind} of {model}");
            // What the user says counts, and a preset counts as its system.
            assert_eq!(tokens(&["--counter", "o200k_base"], &named), plain, "{kind} of {model}");
            assert!(tokens(&["--for", "openai:gpt-5.5"], &named).abs_diff(plain) < 30, "{kind} of {model}");
            if ["a request", "langchain"].contains(&kind) {
                let preset = ["--preset", "langchain"];
                assert_eq!(
                    tokens(&preset, &named),
                    tokens(&preset, &session.replace("MODEL", "m")),
                    "{kind} of {model}"
                );
            }
        }
    }
}

#[test]
fn the_last_named_model_counts_and_fits() {
    let text = TEXT.repeat(20);
    let answer =
        |model: &str| format!(r#"{{"type":"ai","content":"{text}","response_metadata":{{"model_name":"{model}"}}}}"#);
    let turns = |last: &str| {
        let turn = |model: &str| format!(r#"{{"type":"human","content":"{text}"}},{}"#, answer(model));
        format!("[{},{},{}]", turn("gpt-5.5"), turn("claude-opus-4-8"), turn(last))
    };
    let (claude, gpt) = (turns("claude-opus-4-8"), turns("gpt-5.5"));
    assert!(tokens(&[], &claude) * 10 > tokens(&[], &gpt) * 14);
    let fitted = run(tcompact().args(["-q", "--fit", "tokens:1200"]), claude.as_bytes());
    assert_eq!(fitted.code, 0, "{fitted:?}");
    let after = tokens(&["--for", "anthropic:claude-opus-4-8"], &fitted.stdout);
    assert!(after <= 1200, "{after}");
}

/// Lines that set the model count in their order with answers; events of sub-agents name models that count nothing here.
#[test]
fn the_model_is_the_one_of_the_session() {
    let text = TEXT.repeat(20);
    let pi = |model: &str| {
        format!(
            "{}\n{}\n{}\n{}\n",
            r#"{"type":"session","version":3,"id":"a","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/w"}"#,
            format_args!(
                r#"{{"type":"message","id":"1","parentId":null,"message":{{"role":"user","content":"{text}"}}}}"#
            ),
            format_args!(
                r#"{{"type":"message","id":"2","parentId":"1","message":{{"role":"assistant","model":"gpt-5.5","content":[{{"type":"text","text":"{text}"}}]}}}}"#
            ),
            format_args!(r#"{{"type":"model_change","id":"3","parentId":"2","modelId":"{model}"}}"#)
        )
    };
    assert!(tokens(&[], &pi("claude-opus-4-8")) * 10 > tokens(&[], &pi("gpt-5.5")) * 14);
    let (_, codex) = sessions().remove(2);
    let codex = codex.replace("MODEL", "gpt-5.5");
    let spawned = r#"{"timestamp":"2026-03-01T10:00:03.000Z","type":"event_msg","payload":{"type":"collab_agent_spawn_end","model":"claude-opus-4-8"}}"#;
    assert_eq!(tokens(&[], &format!("{codex}{spawned}\n")), tokens(&[], &codex));
}
