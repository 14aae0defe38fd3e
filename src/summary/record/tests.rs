//! Tests of the record and its summary, from end to end.

mod earlier;
mod replies;
mod thinking;
mod tool_calls;

use super::*;
use crate::tokens::bpe::Encoding;
use crate::transcript::framing::tests::read;
use serde_json::{Value, json};

const PREFIX: &str = "Here is a summary of the conversation to date:";

fn summary(source: &str, counter: Counter, limit: u64) -> String {
    let document = read(source, None, None).expect("a transcript");
    let messages: Vec<&Message<'_>> = document.transcripts[0].messages.iter().collect();
    summarize(&messages, PREFIX, counter, limit, None)
}

fn record(source: &str) -> HistoryRecord {
    let document = read(source, None, None).expect("a transcript");
    let messages: Vec<&Message<'_>> = document.transcripts[0].messages.iter().collect();
    let indices: Vec<usize> = (10..10 + messages.len()).collect();
    collect(&messages, &indices, "Summary:")
}

/// Returns the summary of messages, with room to spare.
fn summary_of(messages: &[Value]) -> String {
    summary(&Value::from(messages).to_string(), Counter::DEFAULT, 600)
}

fn message(role: &str, text: &str) -> Value {
    json!({"role": role, "content": text})
}

/// Returns a call of a tool and its result.
fn tool_call(name: &str, given: &Value, result: &str) -> [Value; 2] {
    let id = format!("{name}-{given}-{}", result.len());
    let call = json!({"id": id, "type": "function", "function": {"name": name, "arguments": given.to_string()}});
    [
        json!({"role": "assistant", "content": null, "tool_calls": [call]}),
        json!({"role": "tool", "tool_call_id": id, "content": result}),
    ]
}

fn shell_call(command: &str, output: &str) -> [Value; 2] {
    tool_call("bash", &json!({"command": command}), output)
}

/// Returns a section of a summary.
fn section_of(summary: &str, heading: &str) -> String {
    let rest = summary.split_once(&format!("## {heading}\n")).map_or("", |(_, rest)| rest);
    rest.split("\n## ").next().unwrap_or("").to_owned()
}

const SESSION: &str = r#"[
    {"role":"user","content":"Fix the login bug in src/auth.rs. Never touch the migrations."},
    {"role":"assistant","content":"I will look at the login code first.","tool_calls":[{"id":"1","function":{"name":"read_file","arguments":"{\"path\":\"src/auth.rs\"}"}}]},
    {"role":"tool","tool_call_id":"1","content":"fn login() {}"},
    {"role":"assistant","content":"The token comparison was inverted, so every valid login was refused. I changed it and all 42 tests pass now. Next I will update https://example.com/docs/login for the release."}
]"#;

#[test]
fn four_sections_with_the_indices_of_messages() {
    let text = summary(SESSION, Counter::DEFAULT, 400);
    for expected in [
        "## Session intent\n- [0] Fix the login bug in src/auth.rs. Never touch the migrations.",
        "- [3] Last report: The token comparison was inverted, so every valid login was refused.",
        "## Artifacts\n- Read: src/auth.rs [1]",
        "## Next steps\n- [3] Next I will update https://example.com/docs/login for the release.",
    ] {
        assert!(text.contains(expected), "{expected:?} is missing in:\n{text}");
    }
}

#[test]
fn never_over_the_budget_and_never_empty() {
    for counter in [Counter::DEFAULT, Counter::Exact(Encoding::O200kBase), Counter::Bytes(1)] {
        for limit in 1..120 {
            let text = summary(SESSION, counter, limit);
            assert!(counter.count_text(&text) <= limit, "{counter} {limit}: {text}");
            assert!(!text.is_empty(), "{counter} {limit}");
        }
    }
}

#[test]
fn the_same_every_time() {
    assert_eq!(summary(SESSION, Counter::DEFAULT, 100), summary(SESSION, Counter::DEFAULT, 100));
}

#[test]
fn what_repeats_is_kept_once() {
    let messages: Vec<Value> =
        (0..50).map(|_| message("assistant", "The build finished without any problem.")).collect();
    assert_eq!(summary_of(&messages).matches("The build finished").count(), 1);
}

#[test]
fn a_history_without_text_is_named_for_what_it_is() {
    let source = r#"[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://a/b"}}]},
        {"role":"assistant","content":null,"tool_calls":[{"id":"1","function":{"name":"look","arguments":"{}"}}]},
        {"role":"tool","tool_call_id":"1","content":""}]"#;
    assert_eq!(summary(source, Counter::DEFAULT, 100), "## Summary\n- Tools called: look");
    let picture = r#"[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://a/b"}}]}]"#;
    assert_eq!(summary(picture, Counter::DEFAULT, 100), "1 message without text (1 image).");
    let reasons = r#"[{"role":"assistant","content":[{"type":"thinking","thinking":"The lock is held twice."}]}]"#;
    assert_eq!(summary(reasons, Counter::DEFAULT, 100), "The lock is held twice.");
}

#[test]
fn small_summaries_have_no_headings() {
    let long = SESSION.replace("fn login() {}", &"fn login() {} ".repeat(40));
    let text = summary(&long, Counter::DEFAULT, 20);
    assert!(text.starts_with("User: ") && text.contains("Fix the login bug") && !text.contains("##"), "{text}");
}

/// Rules without a word that marks them.
#[test]
fn plain_words_of_the_user_are_kept_before_what_ended_well() {
    let rules = [
        "Branches get merged by squash.",
        "Lena signs off on schema work.",
        "Two spaces in YAML.",
        "The beta flag goes out dark.",
        "Changelog entries in the past tense.",
        "Fixtures live next to their tests.",
    ];
    let mut messages = vec![message("user", "Move the scheduler in core/sched.py to asyncio.")];
    for (at, rule) in rules.iter().enumerate() {
        messages.extend([message("user", rule), message("assistant", "Noted.")]);
        for run in 0..10 {
            messages.extend(shell_call(
                &format!("pytest tests/unit_{at}_{run}.py"),
                &format!("{at}{run} passed in 0.1s\nexit code 0"),
            ));
        }
    }
    let text = summary(&Value::from(messages).to_string(), Counter::DEFAULT, 200);
    assert!(text.contains("core/sched.py"), "{text}");
    assert!(rules.iter().all(|rule| text.contains(rule)), "{text}");
}

#[test]
fn what_a_person_typed_is_whole_and_what_was_pasted_is_not_there() {
    let pasted =
        (0..9).map(|n| format!("2031-05-0{n} WARN pool.lease id={n}4711 late={n}2ms")).collect::<Vec<_>>().join("\n");
    let text = summary_of(&[
        message("user", "Clean up the pool.\n1. Leave the public names.\n2. Drop the old driver.\n3. Add types"),
        message("assistant", "The driver is gone."),
        message("user", &format!("Great. One thing: the lease must\nnot outlive its owner.\n\n{pasted}")),
        message("user", "Thanks, now write the release notes."),
    ]);
    for whole in [
        "1. Leave the public names.",
        "2. Drop the old driver.",
        "3. Add types",
        "One thing: the lease must not outlive its owner. …",
    ] {
        assert!(text.contains(whole), "{whole}: {text}");
    }
    assert!(
        text.contains("Open request: now write the release notes.")
            || text.contains("Thanks, now write the release notes."),
        "{text}"
    );
    assert!(!text.contains("pool.lease"), "{text}");
}

/// An earlier summary may contain any index.
#[test]
fn indices_of_an_earlier_summary_are_any_numbers() {
    let earlier = format!("{PREFIX}\n\n## Summary\n- [{}] `make all` → ok: built\n", usize::MAX);
    let text = summary_of(&[message("user", &earlier), message("user", "Go on."), message("assistant", "I do.")]);
    assert!(text.contains("make all"), "{text}");
}

#[test]
fn of_each_option_only_what_was_said_of_it() {
    let text = summary_of(&[
        message("user", "How do we queue the mails?"),
        message(
            "assistant",
            "There are two ways.\n1. **Kafka**: replay comes for free.\n2. **Cron**: a crash loses the batch.\n\nKafka is heavy. It wants three brokers, so it is out.",
        ),
        message("user", "Fine, take Cron."),
        message("assistant", "Done."),
    ]);
    assert!(
        text.contains("1. Kafka: replay comes for free.") && text.contains("2. Cron: a crash loses the batch."),
        "{text}"
    );
    assert!(text.contains("Kafka is heavy. It wants three brokers, so it is out."), "{text}");
}

#[test]
fn what_was_broken_off_is_not_done_and_the_last_request_is_open() {
    let text = summary_of(&[
        message("user", "Repair the gauge."),
        message("assistant", "The gauge works."),
        message("user", "tag the release"),
        message("user", "[Request interrupted by user]"),
        message("user", "First look at dial.c, it divides by zero."),
    ]);
    assert!(text.contains("tag the release (interrupted by the user)"), "{text}");
    assert!(
        section_of(&text, "Next steps").contains("Open request: First look at dial.c, it divides by zero."),
        "{text}"
    );
}

#[test]
fn chinese_as_well() {
    let text = summary_of(&[
        message("user", "请修复登录错误。提交之前先给我看。"),
        message("assistant", "我已经找到原因：令牌比较写反了。"),
        message("user", "队列用 Kafka 存。"),
        message("user", "Kafka 算了，队列用 NATS 就行。"),
        message("assistant", "要保留旧的入口吗？"),
    ]);
    assert!(text.contains("请修复登录错误。提交之前先给我看。") && text.contains("令牌比较写反了"), "{text}");
    assert!(text.contains("队列用 NATS") && !text.contains("用 Kafka 存"), "{text}");
    assert!(text.contains("Open question: 要保留旧的入口吗？"), "{text}");
}

#[test]
fn an_earlier_summary_is_carried_on_as_data() {
    let mut messages = vec![
        message("user", "Port the parser to Rust. Never touch migrations/0007.sql."),
        message("assistant", "Which edition?"),
        message("user", "2024"),
    ];
    messages.extend(tool_call(
        "update_plan",
        &json!({"plan": [{"step": "Port the lexer", "status": "pending"}]}),
        "ok",
    ));
    messages.extend(tool_call("edit_file", &json!({"path": "src/lex.rs", "new_string": "x"}), "ok"));
    messages.extend(shell_call("cargo test", "error[E0308]: mismatched types\nexit code 101"));
    messages.push(message(
        "assistant",
        "We keep the old grammar because the tools read it. What is left: the error messages.",
    ));
    let first = summary_of(&messages);
    let mut again = first.clone();
    for _ in 0..3 {
        let messages = [message("user", &format!("{PREFIX}\n\n{again}")), message("user", "Now the docs, please.")];
        again = summary_of(&messages);
        for fact in [
            "Port the parser to Rust. Never touch migrations/0007.sql.",
            "“Which edition?” → 2024",
            "Pending: Port the lexer",
            "Changed: src/lex.rs",
            "`cargo test` → failed, exit code 101: error[E0308]: mismatched types",
            "We keep the old grammar because the tools read it.",
        ] {
            assert!(again.contains(fact), "{fact} is missing:\n{again}\nof:\n{first}");
        }
    }
    assert!(again.len() <= first.len() + 80, "{again}");
}

#[test]
fn entries_of_every_kind_with_the_index_of_their_message() {
    let source = r#"[{"role":"user","content":"Please fix the login in src/auth.rs. Never touch the migrations."},
        {"role":"assistant","content":"The root cause is an inverted comparison.","tool_calls":[
            {"id":"1","function":{"name":"Edit","arguments":"{\"file_path\":\"src/auth.rs\",\"old_string\":\"a\",\"new_string\":\"b\"}"}},
            {"id":"2","function":{"name":"bash","arguments":"{\"command\":\"cargo test\"}"}},
            {"id":"3","function":{"name":"get_user","arguments":"{}"}}]},
        {"role":"tool","tool_call_id":"1","content":"done"},
        {"role":"tool","tool_call_id":"2","content":"test result: ok. 42 passed\n<returncode>0</returncode>"},
        {"role":"tool","tool_call_id":"3","content":"{\"id\":\"mia_kim_4397\",\"amount\":897}"},
        {"role":"assistant","content":"I fixed it. Next I will update the docs. Shall I also release it?"}]"#;
    let entries: Vec<String> = record(source)
        .entries
        .iter()
        .map(|entry| format!("{:?} {} {}|{}", entry.kind, entry.index, entry.about, entry.text))
        .collect();
    for expected in [
        "User 10 |Please fix the login in src/auth.rs.",
        "User 10 |Never touch the migrations.",
        "Decision 11 |The root cause is an inverted comparison.",
        "File 11 changed|src/auth.rs",
        "Command 11 cargo test|ok: test result: ok. 42 passed",
        "Value 11 get_user()|id=mia_kim_4397",
        "Value 11 get_user()|amount=897",
        "Report 15 |I fixed it.",
        "Next 15 |Next I will update the docs.",
        "Open 15 |Shall I also release it?",
    ] {
        assert!(entries.iter().any(|entry| entry == expected), "{expected} is missing in {entries:#?}");
    }
}

#[test]
fn an_entry_that_stands_as_it_is_is_held() {
    let text = "{\"cwd\":\"/home/dev/shoput\":\"1 failed1 failed1 failed\",\"stderr\":\"\"}".to_owned();
    let entry = RecordEntry::new(FactKind::Value, 0, String::new(), text);
    assert!(SummaryContents::new(&format!("## Ledger\nValues:\n- [0] {}\n", entry.text)).contains_entry(&entry));
    assert!(!SummaryContents::new("1 failed, /home/dev/shop").contains_entry(&entry));
}

#[test]
fn no_text_is_too_odd() {
    let odd = [
        "",
        "…",
        "**",
        "```",
        "```\n",
        ":\n```\n`\n```",
        "`` → ",
        "(",
        ") ; » =",
        "<system-reminder>",
        "#",
        "1.",
        "1)",
        "- [~]",
        "$",
        "v",
        "::",
        "//",
        "http://",
        "@",
        "a@",
        "\u{0}\u{1}\u{fffd}",
        "é́é́",
        "😀😀😀😀",
        "预算改为",
        "改为，",
        "from to",
        "instead of",
        "0",
        "9999999999999999999",
        "## Ledger\nUser:\n- [1] ",
        "was: ",
        "rejected `",
        "“” → ",
        "Edit failed: (",
        "- [1",
        "User rejected: ",
        "{\"a\":",
        "[[[[",
        "{\"\":{\"\":[\"\",null]}}",
        "make that",
        "不要不要不要",
    ];
    for one in odd {
        for other in odd {
            let escape = |text: &str| serde_json::to_string(text).expect("a string");
            let (both, one) = (escape(&format!("{one}{other}")), escape(one));
            let source = format!(
                r#"[{{"role":"user","content":{both}}},{{"role":"assistant","content":{one},"tool_calls":[{{"id":"1","function":{{"name":{one},"arguments":{both}}}}}]}},
                   {{"role":"tool","tool_call_id":"1","content":{both}}}]"#
            );
            for limit in [1, 7, 40] {
                let text = summary(&source, Counter::DEFAULT, limit);
                assert!(Counter::DEFAULT.count_text(&text) <= limit, "{source}: {text}");
            }
        }
    }
}

#[test]
fn five_rounds_keep_what_was_stated_early_and_do_not_grow() {
    const EARLY: &str = "Port the parser in src/parser.rs to Rust 1.80. Never touch migrations/0007.sql. The budget is $500. The deadline is 2025-03-01. \
                         Ticket is PROJ-4711. Docs are at https://example.com/spec. The API timeout is 30 s. Contact mia.kim@example.com first.";
    let mut earlier = String::new();
    let mut sizes = Vec::new();
    for round in 0..5 {
        let opening = match round {
            0 => EARLY.to_owned(),
            1 => "Make that 700 dollars at most.".to_owned(),
            _ => format!("Now look at module number {round} please."),
        };
        let mut messages = Vec::new();
        if !earlier.is_empty() {
            messages.push(message("user", &format!("{PREFIX}\n\n{earlier}")));
        }
        messages.push(message("user", &opening));
        for step in 0..6 {
            messages.push(message(
                "assistant",
                &format!("The check of part {step} in round {round} went through without anything to report at all."),
            ));
        }
        earlier = summary(&serde_json::to_string(&messages).expect("JSON"), Counter::DEFAULT, 260);
        sizes.push(earlier.len());
    }
    for fact in [
        "src/parser.rs",
        "Never touch migrations/0007.sql",
        "700 dollars",
        "2025-03-01",
        "PROJ-4711",
        "https://example.com/spec",
        "30 s",
        "mia.kim@example.com",
    ] {
        assert!(earlier.contains(fact), "{fact} is missing in:\n{earlier}");
    }
    assert!(!earlier.contains("$500"), "{earlier}");
    assert!(sizes.iter().all(|size| *size <= 260 * 4), "{sizes:?}");
}

/// The user's words come back from a summary as the user's, whatever line they look like.
#[test]
fn words_of_the_user_that_look_like_another_line_are_carried_on() {
    let typed = "In Berlin we pay tax (note: only there). Never skip it.";
    let first = summary_of(&[message("user", "Do the books."), message("user", typed), message("assistant", "Noted.")]);
    let again = summary_of(&[message("user", &format!("{PREFIX}{first}")), message("user", "Go on.")]);
    let third = summary_of(&[message("user", &format!("{PREFIX}{again}")), message("user", "Go on, please.")]);
    assert!(first.contains(typed) && again.contains(typed) && third.contains(typed), "{first}\n\n{again}\n\n{third}");
}
