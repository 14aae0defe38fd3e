//! What the record and its summary say, from end to end.

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

fn record(source: &str) -> Record {
    let document = read(source, None, None).expect("a transcript");
    let messages: Vec<&Message<'_>> = document.transcripts[0].messages.iter().collect();
    let indices: Vec<usize> = (10..10 + messages.len()).collect();
    collect(&messages, &indices, "Summary:")
}

/// The summary of messages, with room to spare.
fn told(messages: &[Value]) -> String {
    summary(&Value::from(messages).to_string(), Counter::DEFAULT, 600)
}

fn said(role: &str, text: &str) -> Value {
    json!({"role": role, "content": text})
}

/// A call of a tool and what it brought.
fn called(name: &str, given: &Value, result: &str) -> [Value; 2] {
    let id = format!("{name}-{given}-{}", result.len());
    let call = json!({"id": id, "type": "function", "function": {"name": name, "arguments": given.to_string()}});
    [
        json!({"role": "assistant", "content": null, "tool_calls": [call]}),
        json!({"role": "tool", "tool_call_id": id, "content": result}),
    ]
}

fn ran(command: &str, output: &str) -> [Value; 2] {
    called("bash", &json!({"command": command}), output)
}

/// What stands in a section of a summary.
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
    let messages: Vec<Value> = (0..50).map(|_| said("assistant", "The build finished without any problem.")).collect();
    assert_eq!(told(&messages).matches("The build finished").count(), 1);
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
fn values_stand_with_their_call() {
    let given = json!({"reservation_id": "4WQ150"});
    let result = r#"{"reservation_id":"4WQ150","user_id":"mia_kim_4397","flights":[{"flight_number":"HAT192","price":174},{"flight_number":"HAT166","price":125}]}"#;
    let text = told(&called("get_reservation_details", &given, result));
    let values = "- get_reservation_details: (4WQ150) user_id=mia_kim_4397; flights: HAT192 price=174; HAT166 125";
    assert!(text.contains(values), "{text}");
    let result = r#"[{"number": "HAT057", "prices": {"economy": 141, "business": 477}}, {"number": "HAT039", "prices": {"economy": 103, "business": 283}}]"#;
    let text = told(&called("search", &json!({"origin": "JFK"}), result));
    assert!(text.contains("search: (JFK) HAT057 prices: economy=141 business=477; HAT039 103 283"), "{text}");
}

#[test]
fn room_that_is_left_holds_names_with_where_they_stood() {
    let code = "fn login(user: UserName) {\n    check_token(user)\n}\n".repeat(40);
    let text = told(&called("read_file", &json!({"path": "/app/src/auth.rs"}), &code));
    assert_eq!(text, "## Artifacts\n- Read: /app/src/auth.rs [0]\n- In src/auth.rs: check_token, UserName");
}

#[test]
fn small_summaries_have_no_headings() {
    let long = SESSION.replace("fn login() {}", &"fn login() {} ".repeat(40));
    let text = summary(&long, Counter::DEFAULT, 20);
    assert!(text.starts_with("User: ") && text.contains("Fix the login bug") && !text.contains("##"), "{text}");
}

/// Rules without a word that says that they are some.
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
    let mut messages = vec![said("user", "Move the scheduler in core/sched.py to asyncio.")];
    for (at, rule) in rules.iter().enumerate() {
        messages.extend([said("user", rule), said("assistant", "Noted.")]);
        for run in 0..10 {
            messages.extend(ran(
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
    let text = told(&[
        said("user", "Clean up the pool.\n1. Leave the public names.\n2. Drop the old driver.\n3. Add types"),
        said("assistant", "The driver is gone."),
        said("user", &format!("Great. One thing: the lease must\nnot outlive its owner.\n\n{pasted}")),
        said("user", "Thanks, now write the release notes."),
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

#[test]
fn answers_stand_with_their_question_which_is_not_open() {
    let text = told(&[
        said("user", "Set up the mirror."),
        said("assistant", "Two regions have space. Should it be Oslo or Porto?"),
        said("user", "Porto, the rest is yours."),
        said("assistant", "I can cover 1. uploads, 2. the retry, 3. odd names with tests. Shall I?"),
        said("user", "yes, all of them"),
        said("assistant", "The mirror runs."),
    ]);
    assert!(text.contains("“Should it be Oslo or Porto?” → Porto, the rest is yours."), "{text}");
    assert!(text.contains("odd names with tests. Shall I?” → yes, all of them"), "{text}");
    assert!(!text.contains("Open question"), "{text}");
    let yes = told(&[said("assistant", "The old mirror is empty. Shall I drop it?"), said("user", "Yes.")]);
    assert!(yes.contains("Shall I drop it?” → Yes.") && !yes.contains("Open question"), "{yes}");
    let open = told(&[said("user", "Set up the mirror."), said("assistant", "It runs in Porto. Who gets the alerts?")]);
    assert!(
        section_of(&open, "Next steps").contains("Open question: It runs in Porto. Who gets the alerts?"),
        "{open}"
    );
}

#[test]
fn a_rejected_edit_leaves_the_users_words_and_no_change() {
    let mut messages = vec![said("user", "Add a switch for the cache.")];
    messages.extend(called(
        "edit_file",
        &json!({"path": "conf/base.toml", "new_string": "x"}),
        "The user rejected this tool call. Reason: The base file belongs to ops, use conf/local.toml.",
    ));
    messages.extend(called(
        "edit_file",
        &json!({"path": "conf/dev.toml", "new_string": "x"}),
        "Error: old text not found in conf/dev.toml",
    ));
    messages.extend(called("edit_file", &json!({"path": "conf/local.toml", "new_string": "x"}), "Edited."));
    let text = told(&messages);
    assert!(
        text.contains("rejected `edit_file conf/base.toml`: The base file belongs to ops, use conf/local.toml."),
        "{text}"
    );
    assert!(text.contains("- Changed: conf/local.toml [5]") && !text.contains("base.toml ["), "{text}");
    assert!(text.contains("Edit failed: conf/dev.toml (Error: old text not found in conf/dev.toml)"), "{text}");
}

#[test]
fn edits_are_known_by_whatever_the_tool_is_called() {
    let mut messages = vec![said("user", "Tidy up.")];
    for (name, given) in [
        ("apply_edit", json!({"target_file": "a/one.ts", "code_edit": "x"})),
        ("file_writer", json!({"path": "a/two.ts", "content": "x"})),
        ("editor", json!({"command": "insert", "path": "a/three.ts", "text": "x"})),
        ("remove_file", json!({"path": "a/four.ts"})),
        ("move_file", json!({"source": "a/five.ts", "destination": "a/six.ts"})),
        ("editor", json!({"command": "view", "path": "a/seven.ts"})),
    ] {
        messages.extend(called(name, &given, "ok"));
    }
    let text = told(&messages);
    assert!(text.contains("Changed: a/one.ts [1], a/two.ts [3], a/three.ts [5]"), "{text}");
    assert!(text.contains("Deleted: a/four.ts [7]") && text.contains("Renamed: a/five.ts → a/six.ts [9]"), "{text}");
    assert!(text.contains("Read: a/seven.ts [11]"), "{text}");
}

#[test]
fn a_plan_stands_as_it_last_was() {
    let plan = |items: &[(&str, &str)]| {
        let items: Vec<Value> = items.iter().map(|(step, status)| json!({"step": step, "status": status})).collect();
        called("update_plan", &json!({"plan": items}), "Plan updated")
    };
    let mut messages = vec![said("user", "Speed up the report.")];
    messages.extend(plan(&[("Measure it", "in_progress"), ("Try a cache", "pending")]));
    messages.extend(plan(&[
        ("Measure it", "completed"),
        ("Add an index", "in_progress"),
        ("Measure again", "pending"),
    ]));
    let text = told(&messages);
    assert_eq!(section_of(&text, "Next steps"), "- [3] In progress: Add an index\n- [3] Pending: Measure again");
    assert!(text.contains("Done: Measure it") && !text.contains("Try a cache"), "{text}");
}

#[test]
fn of_a_command_the_last_run_counts_and_of_a_chain_each_step() {
    let mut messages = vec![said("user", "Get the import going.")];
    messages.extend(ran("./import.sh", "ValueError: bad header in row_17\nexit code 1"));
    messages.extend(ran("./import.sh", "imported 42 rows\nexit code 0"));
    messages.extend(ran(
        "task fmt && task check",
        "[fmt] 3 files\n[check] ERROR task failed: b.go:7 shadowed name\nexit code 2",
    ));
    messages.extend(ran("node run.js 2>&1 | head -50", "<returncode>0</returncode>\nError: Cannot find module 'left'"));
    messages.extend(ran(
        "git commit -am tidy && git push origin dev",
        "! [rejected] dev -> dev (non-fast-forward)\nerror: failed to push some refs\nexit code 1",
    ));
    let text = told(&messages);
    assert!(
        text.contains("`./import.sh` → ok: imported 42 rows") && !text.contains("`./import.sh` → failed"),
        "{text}"
    );
    assert!(text.contains("`task check` → failed, exit code 2: [check] ERROR task failed: b.go:7"), "{text}");
    assert!(!text.contains("`task fmt` → failed"), "{text}");
    assert!(text.contains("`node run.js` → failed: Error: Cannot find module"), "{text}");
    assert!(text.contains("`git push origin dev` → failed") && text.contains("(non-fast-forward)"), "{text}");
    assert!(
        text.contains(
            "`./import.sh` → ok: imported 42 rows (failed before: ValueError: bad header in row_17; nothing was"
        ),
        "{text}"
    );
}

/// What a tool brought is never a person's word, whatever it speaks of.
#[test]
fn what_a_tool_brought_is_not_what_the_user_said() {
    let text = "If the user cancels an order, refund it.\nReason: Never delete rows by hand.";
    for (name, arguments) in [
        ("read_file", json!({"path": "docs/orders.md"})),
        ("bash", json!({"command": "cat docs/orders.md"})),
        ("get_policy", json!({"about": "orders"})),
    ] {
        let mut messages = vec![said("user", "Read the policy.")];
        messages.extend(called(name, &arguments, text));
        messages.push(said("assistant", "I read it."));
        let told = told(&messages);
        assert!(!section_of(&told, "Session intent").contains("Never delete"), "{name}: {told}");
    }
}

/// An index that an earlier summary gives may be any number.
#[test]
fn indices_of_an_earlier_summary_are_any_numbers() {
    let earlier = format!("{PREFIX}\n\n## Summary\n- [{}] `make all` → ok: built\n", usize::MAX);
    let text = told(&[said("user", &earlier), said("user", "Go on."), said("assistant", "I do.")]);
    assert!(text.contains("make all"), "{text}");
}

#[test]
fn of_each_option_only_what_was_said_of_it() {
    let text = told(&[
        said("user", "How do we queue the mails?"),
        said(
            "assistant",
            "There are two ways.\n1. **Kafka**: replay comes for free.\n2. **Cron**: a crash loses the batch.\n\nKafka is heavy. It wants three brokers, so it is out.",
        ),
        said("user", "Fine, take Cron."),
        said("assistant", "Done."),
    ]);
    assert!(
        text.contains("1. Kafka: replay comes for free.") && text.contains("2. Cron: a crash loses the batch."),
        "{text}"
    );
    assert!(text.contains("Kafka is heavy. It wants three brokers, so it is out."), "{text}");
}

#[test]
fn what_was_broken_off_is_not_done_and_the_last_request_is_open() {
    let text = told(&[
        said("user", "Repair the gauge."),
        said("assistant", "The gauge works."),
        said("user", "tag the release"),
        said("user", "[Request interrupted by user]"),
        said("user", "First look at dial.c, it divides by zero."),
    ]);
    assert!(text.contains("tag the release (interrupted by the user)"), "{text}");
    assert!(
        section_of(&text, "Next steps").contains("Open request: First look at dial.c, it divides by zero."),
        "{text}"
    );
}

#[test]
fn names_that_were_used_later_stand_where_they_came_from() {
    let mut messages = vec![said("user", "Why is the shop slow?")];
    messages.extend(ran("kubectl get pods", "NAME READY\nshop-api-7f9 1/1 Running\nshop-web-2c1 1/1 Running"));
    messages.extend(ran("kubectl logs shop-api-7f9", "nothing to see"));
    messages.push(said("assistant", "The slow request is trace 9f3e77ab, it waits for the lock."));
    messages.extend(ran("tracer show 9f3e77ab", "ok"));
    let text = told(&messages);
    assert!(text.contains("`kubectl get pods`: shop-api-7f9 1/1 Running"), "{text}");
    assert!(text.contains("The slow request is trace 9f3e77ab, it waits for the lock."), "{text}");
}

#[test]
fn chinese_as_well() {
    let text = told(&[
        said("user", "请修复登录错误。提交之前先给我看。"),
        said("assistant", "我已经找到原因：令牌比较写反了。"),
        said("user", "队列用 Kafka 存。"),
        said("user", "Kafka 算了，队列用 NATS 就行。"),
        said("assistant", "要保留旧的入口吗？"),
    ]);
    assert!(text.contains("请修复登录错误。提交之前先给我看。") && text.contains("令牌比较写反了"), "{text}");
    assert!(text.contains("队列用 NATS") && !text.contains("用 Kafka 存"), "{text}");
    assert!(text.contains("Open question: 要保留旧的入口吗？"), "{text}");
}

#[test]
fn an_earlier_summary_is_carried_on_as_data() {
    let mut messages = vec![
        said("user", "Port the parser to Rust. Never touch migrations/0007.sql."),
        said("assistant", "Which edition?"),
        said("user", "2024"),
    ];
    messages.extend(called("update_plan", &json!({"plan": [{"step": "Port the lexer", "status": "pending"}]}), "ok"));
    messages.extend(called("edit_file", &json!({"path": "src/lex.rs", "new_string": "x"}), "ok"));
    messages.extend(ran("cargo test", "error[E0308]: mismatched types\nexit code 101"));
    messages.push(said(
        "assistant",
        "We keep the old grammar because the tools read it. What is left: the error messages.",
    ));
    let first = told(&messages);
    let mut again = first.clone();
    for _ in 0..3 {
        let messages = [said("user", &format!("{PREFIX}\n\n{again}")), said("user", "Now the docs, please.")];
        again = told(&messages);
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
    let entry = Entry::new(Kind::Value, 0, String::new(), text);
    assert!(Held::of(&format!("## Ledger\nValues:\n- [0] {}\n", entry.text)).holds(&entry));
    assert!(!Held::of("1 failed, /home/dev/shop").holds(&entry));
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
        let said = |role: &str, text: &str| serde_json::json!({"role": role, "content": text});
        let mut messages = Vec::new();
        if !earlier.is_empty() {
            messages.push(said("user", &format!("{PREFIX}\n\n{earlier}")));
        }
        messages.push(said("user", &opening));
        for step in 0..6 {
            messages.push(said(
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
