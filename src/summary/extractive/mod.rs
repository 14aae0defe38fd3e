//! The embedded summarizer: no network, no model, the same text for the same history.
//!
//! It takes the facts of the ledger and the other sentences of the history (`notes`), chooses what says most for its
//! size until the budget is spent (`choose`), and writes it in four sections, or in plain lines where there is little
//! room (`compose`). It makes nothing up, and it never exceeds the budget.

mod choose;
mod compose;
mod last_resort;
mod mentions;
mod notes;

use crate::tokens::Counter;
use crate::transcript::Message;

use crate::summary::ledger::{self, Ledger};
use choose::{Choice, size};
use compose::compose;

/// Summarizes `messages` in at most `limit` tokens. `prefix` is what an earlier summary begins with: its lines are
/// carried on and not summarized as talk. Empty only where the limit is too small for a character.
pub fn summarize(messages: &[&Message<'_>], prefix: &str, counter: Counter, limit: u64) -> String {
    summarize_keeping(messages, prefix, counter, limit, None)
}

/// The same, where the facts that it is written from go into a `ledger` as well: the index of each is the place of its
/// message among `messages`.
pub fn summarize_keeping(
    messages: &[&Message<'_>],
    prefix: &str,
    counter: Counter,
    limit: u64,
    ledger: Option<&mut Ledger>,
) -> String {
    let indices: Vec<usize> = (0..messages.len()).collect();
    let notes = {
        let turns = ledger::read(messages, &indices, prefix);
        let is_tight = is_tight(&turns, limit);
        match ledger {
            Some(ledger) => {
                let found: Vec<_> = ledger::gather(&turns).collect();
                *ledger = ledger::of_gathered(&turns, found.iter().cloned());
                notes::notes(&turns, found.into_iter(), is_tight)
            }
            None => notes::notes(&turns, ledger::gather(&turns), is_tight),
        }
    };
    let mut choice = Choice::new(&notes, counter);
    let mut text = String::new();
    // Names that are said once leave room for more, which is known when the text is there.
    for _ in 0..ROUNDS {
        let before = choice.taken.len();
        choice.fill(limit as f64 - size(&text, counter));
        text = compose(&notes, &choice.taken);
        if choice.taken.len() == before {
            break;
        }
    }
    // Tokens of pieces add up to those of the text but for rounding and merges at the seams.
    while counter.count_text(&text) > limit {
        choice.taken.pop();
        text = compose(&notes, &choice.taken);
    }
    if text.is_empty() { last_resort::first_words(&notes, messages, counter, limit) } else { text }
}

/// Whether so little of so much is to be said that headings would take the room of facts.
fn is_tight(turns: &[ledger::Turn<'_>], limit: u64) -> bool {
    const SMALL: u64 = 200;
    /// Bytes of the history for each token of the summary: about a quarter of it.
    const MUCH: u64 = 16;
    let of_call =
        |call: &ledger::Called<'_>| call.arguments.bytes + call.result.as_ref().map_or(0, |result| result.bytes);
    let of_turn = |turn: &ledger::Turn<'_>| {
        turn.text.bytes
            + turn.strays.iter().map(|stray| stray.bytes).sum::<usize>()
            + turn.calls.iter().map(of_call).sum::<usize>()
    };
    limit < SMALL && limit * MUCH < turns.iter().map(of_turn).sum::<usize>() as u64
}

/// How often what is left of the budget is offered again.
const ROUNDS: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::bpe::Encoding;
    use crate::transcript::framing::tests::read;

    const PREFIX: &str = "Here is a summary of the conversation to date:";

    fn summary(source: &str, counter: Counter, limit: u64) -> String {
        let document = read(source, None, None).expect("a transcript");
        let messages: Vec<&Message<'_>> = document.transcripts[0].messages.iter().collect();
        summarize(&messages, PREFIX, counter, limit)
    }

    const SESSION: &str = r#"[
        {"role":"user","content":"Fix the login bug in src/auth.rs. Never touch the migrations."},
        {"role":"assistant","content":"I will look at the login code first.","tool_calls":[{"id":"1","function":{"name":"read_file","arguments":"{\"path\":\"src/auth.rs\"}"}}]},
        {"role":"tool","tool_call_id":"1","content":"fn login() {}\nerror[E0308]: mismatched types in src/auth.rs\n"},
        {"role":"assistant","content":"The token comparison was inverted, so every valid login was refused. I changed it and all 42 tests pass now. Next I will update https://example.com/docs/login for the release."}
    ]"#;

    #[test]
    fn four_sections_from_what_was_said() {
        let text = summary(SESSION, Counter::DEFAULT, 400);
        for expected in [
            "## Session intent\n- Fix the login bug in src/auth.rs.",
            "- Never touch the migrations.",
            "## Summary\n- `read_file src/auth.rs` → error[E0308]: mismatched types in src/auth.rs",
            "- The token comparison was inverted, so every valid login was refused.",
            "## Artifacts\n- Read: src/auth.rs",
            "https://example.com/docs/login",
            "## Next steps\n- Next I will update",
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
        let messages: Vec<String> = (0..50)
            .map(|_| r#"{"role":"assistant","content":"The build finished without any problem."}"#.to_owned())
            .collect();
        let text = summary(&format!("[{}]", messages.join(",")), Counter::DEFAULT, 500);
        assert_eq!(text.matches("The build finished").count(), 1, "{text}");
    }

    #[test]
    fn an_earlier_summary_is_carried_on() {
        let earlier =
            format!("{PREFIX}\\n\\n## Session intent\\n- Port the parser to Rust.\\n\\n## Artifacts\\n- src/parser.rs");
        let source = format!(
            r#"[{{"role":"user","content":"{earlier}"}},{{"role":"user","content":"Now add tests for the lexer."}},
               {{"role":"assistant","content":"I added twelve tests for the lexer in tests/lexer.rs."}}]"#
        );
        let text = summary(&source, Counter::DEFAULT, 200);
        assert!(text.contains("- Port the parser to Rust."), "{text}");
        assert!(text.contains("- src/parser.rs"), "{text}");
        assert!(!text.contains("Here is a summary"), "{text}");
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
    fn what_tools_brought_and_how_commands_ended() {
        let source = r#"[
            {"role":"user","content":"Please cancel my reservation 4WQ150 and run the tests."},
            {"role":"assistant","content":null,"tool_calls":[{"id":"1","function":{"name":"get_reservation_details","arguments":"{\"reservation_id\":\"4WQ150\"}"}},
                {"id":"2","function":{"name":"bash","arguments":"{\"command\":\"cd /app && cargo test 2>&1 | tail -5\"}"}}]},
            {"role":"tool","tool_call_id":"1","content":"{\"reservation_id\":\"4WQ150\",\"user_id\":\"mia_kim_4397\",\"flights\":[{\"flight_number\":\"HAT192\",\"price\":174},{\"flight_number\":\"HAT166\",\"price\":125}]}"},
            {"role":"tool","tool_call_id":"2","content":"error[E0308]: mismatched types in src/auth.rs\nExit code 101"}
        ]"#;
        let text = summary(source, Counter::DEFAULT, 300);
        let values = "- get_reservation_details: (4WQ150) user_id=mia_kim_4397; flights: HAT192 price=174; HAT166 125";
        assert!(text.contains(values), "{text}");
        assert!(
            text.contains("- `cargo test` → Exit code 101: error[E0308]: mismatched types in src/auth.rs"),
            "{text}"
        );
    }

    /// A call of a tool and what it brought.
    fn called(name: &str, given: &str, result: &str) -> String {
        let call = serde_json::json!({"id": "1", "function": {"name": name, "arguments": given}});
        serde_json::json!([{"role": "assistant", "content": null, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "1", "content": result}])
        .to_string()
    }

    #[test]
    fn the_values_of_a_row_stand_together() {
        let result = r#"[{"number": "HAT057", "prices": {"economy": 141, "business": 477}}, {"number": "HAT039", "prices": {"economy": 103, "business": 283}}]"#;
        let text = summary(&called("search", r#"{"origin": "JFK"}"#, result), Counter::DEFAULT, 300);
        assert!(text.contains("search: (JFK) HAT057 prices: economy=141 business=477; HAT039 103 283"), "{text}");
    }

    #[test]
    fn room_that_is_left_holds_names_with_where_they_stood() {
        let code = "fn login(user: UserName) {\n    check_token(user)\n}\n".repeat(40);
        let source = called("read_file", r#"{"path":"/app/src/auth.rs"}"#, &code);
        assert_eq!(
            summary(&source, Counter::DEFAULT, 400),
            "## Artifacts\n- Read: /app/src/auth.rs\n- In src/auth.rs: check_token, UserName"
        );
        let output = "src/token_store.rs | 2 +\ntests/token_test.rs | 3 +\n".repeat(40);
        let text = summary(&called("bash", r#"{"command":"git diff"}"#, &output), Counter::DEFAULT, 400);
        assert!(text.contains("- In `git diff`: src/token_store.rs"), "{text}");
    }

    #[test]
    fn days_and_numbers_have_names_where_there_is_room() {
        let result = r#"{"methods": {"card_4421": {"last_four": "1907"}, "card_4422": {"last_four": "2011"}}, "passengers": [{"name": "Mia", "dob": "1957-03-21"}]}"#;
        let text = summary(&called("get", r#"{"id": "x"}"#, result), Counter::DEFAULT, 400);
        assert!(
            text.contains("card_4421: last_four=1907; card_4422: 2011; passengers: name=Mia dob=1957-03-21"),
            "{text}"
        );
    }

    #[test]
    fn small_summaries_have_no_headings() {
        let text = summary(SESSION, Counter::DEFAULT, 20);
        assert!(text.starts_with("User: ") && text.contains("Never touch the migrations."), "{text}");
        assert!(!text.contains("##"), "{text}");
        let result =
            serde_json::json!({"user_id": "mia_kim_4397", "code": "H9ZU1C", "note": "all is well ".repeat(90)});
        let source = called("get_booking", r#"{"id": "4711"}"#, &result.to_string());
        assert_eq!(summary(&source, Counter::DEFAULT, 40), "get_booking: (4711) mia_kim_4397 code=H9ZU1C");
        assert!(summary(&source, Counter::DEFAULT, 300).contains("(4711) user_id=mia_kim_4397 code=H9ZU1C"));
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
            "## Ledger\nRules:\n- [1] ",
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
                    &format!(
                        "The check of part {step} in round {round} went through without anything to report at all."
                    ),
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

    #[test]
    fn scripts_without_spaces() {
        let source = r#"[{"role":"user","content":"请修复登录错误。不要修改数据库迁移！"},{"role":"assistant","content":"我已经找到原因：令牌比较写反了。所有测试现在都通过了。"}]"#;
        let text = summary(source, Counter::DEFAULT, 200);
        assert!(text.contains("- 请修复登录错误。"), "{text}");
        assert!(text.contains("- 不要修改数据库迁移！"), "{text}");
    }
}
