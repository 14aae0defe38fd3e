//! Pictures, exactly as they are drawn without colours.

use anstream::adapter::strip_str;
use proptest::prelude::*;

use crate::all_cases::share;
use crate::plan::plan;
use crate::plan::size::Size;
use crate::presets::pairs::moved_cut;
use crate::report::explain::*;
use crate::tokens::Counter;
use crate::transcript::formats::by_name;
use crate::transcript::framing::read_for_test as read;

fn policy() -> CutPolicy {
    CutPolicy { summary_prefix: "Summary:\n\n".to_owned(), ..CutPolicy::keeping(Size::Messages(20)) }
}

fn message(role: &str, text: &str) -> String {
    format!(r#"{{"role":"{role}","content":"{text}"}}"#)
}

fn calls(ids: &[&str]) -> String {
    let calls: Vec<String> = ids
        .iter()
        .map(|id| format!(r#"{{"id":"{id}","function":{{"name":"look_up","arguments":"{{\"plant\":\"{id}\"}}"}}}}"#))
        .collect();
    format!(r#"{{"role":"assistant","content":null,"tool_calls":[{}]}}"#, calls.join(","))
}

fn result(id: &str, text: &str) -> String {
    format!(r#"{{"role":"tool","tool_call_id":"{id}","content":"{text}"}}"#)
}

/// Draws a picture with its colours.
fn coloured(messages: &[String], policy: &CutPolicy, columns: usize) -> String {
    let source = format!("[{}]", messages.join(","));
    let document = read(&source, by_name("openai-chat"), None).expect("a transcript");
    let transcript = &document.transcripts[0];
    let tally = Tally::new(Counter::APPROX, &transcript.messages);
    let plan = plan(transcript, &tally, policy, moved_cut);
    let (archive, economy) = (None, None);
    Picture {
        earlier: &[],
        source: "chat.json",
        transcript,
        tally: &tally,
        plan: &plan,
        pruned: Default::default(),
        policy,
        fit: None,
        archive,
        economy,
    }
    .draw(columns)
}

/// Draws all of a picture but what fills the conversation.
fn picture(messages: &[String], policy: &CutPolicy, columns: usize) -> String {
    let whole = whole_picture(messages, policy, columns);
    whole.split("\nwhat fills ").next().map(str::to_owned).unwrap_or_default()
}

fn whole_picture(messages: &[String], policy: &CutPolicy, columns: usize) -> String {
    strip_str(&coloured(messages, policy, columns)).to_string()
}

#[test]
fn the_bar_is_of_the_conversation_or_its_window() {
    let filled = |policy: &CutPolicy, columns| {
        let whole = whole_picture(&garden(), policy, columns);
        whole.split_once("\nwhat fills ").expect("categories").1.to_owned()
    };
    let of_conversation = filled(&keeping(2), 80);
    let lines: Vec<&str> = of_conversation.lines().collect();
    assert_eq!(lines[0], "the conversation:");
    assert_eq!(lines[1], "system     14   8 % ████");
    assert!(lines[4].starts_with("look_up   113  66 % ████"), "{of_conversation}");
    let of_window = filled(&CutPolicy { context_window: Some(1000), ..keeping(2) }, 80);
    assert!(of_window.starts_with("the context window:\n"), "{of_window}");
    assert!(of_window.ends_with("free       829  83 % ··································\n"), "{of_window}");
    let narrow = whole_picture(&garden(), &keeping(2), 30);
    assert!(narrow.contains("look_up   113  66 % "), "{narrow}");
    let legend = narrow.lines().filter(|line| line.ends_with(" tokens") && line.contains("message"));
    let tokens = legend.filter_map(|line| line.split(' ').rev().nth(1)?.parse::<u64>().ok());
    assert_eq!(tokens.sum::<u64>(), 171, "{narrow}");
}

fn keeping(messages: u64) -> CutPolicy {
    CutPolicy { keep: Size::Messages(messages), ..policy() }
}

/// A conversation with tool pairs, two pins, and a cut that moves.
fn garden() -> Vec<String> {
    vec![
        message("system", "You help with a garden shop's orders."),
        message("user", "Which supplier has tulips, and who has roses? Remember: never order on a Sunday."),
        calls(&["tulip", "rose"]),
        result("tulip", "Van Dijk, 145.50 for a hundred, two days; Blumen Köhler, 150.00, one day"),
        result("rose", "nobody"),
        message("assistant", "Both sell tulips. Nobody has roses."),
        calls(&["price"]),
        result("price", "14.90"),
        message("user", "Thanks."),
    ]
}

#[test]
fn pairs_pins_and_a_moved_cut_are_drawn() {
    let pins = vec![crate::plan::pins::Pin::System, "match:never".parse().expect("a pin")];
    let policy = CutPolicy { pins, ..keeping(2) };
    assert_eq!(picture(&garden(), &policy, 80), AT_80);
    assert_eq!(picture(&garden(), &policy, 200), AT_200);
    let coloured = coloured(&garden(), &policy, 80);
    for colour in ["\u{1b}[36m▓", "\u{1b}[33m░", "\u{1b}[32m█", "\u{1b}[1m\u{1b}[31m───", "\u{1b}[35m╌╌┼"]
    {
        assert!(coloured.contains(colour), "{coloured:?} has {colour:?}");
    }
}

#[test]
fn wide_characters_take_two_columns() {
    let messages = [
        message("user", "请把所有的通知都发送一次，不要重复发送，谢谢你的帮助和耐心。"),
        message("assistant", r"👩‍💻 done ✅ ok\u001b[31m \u202e red"),
        message("user", "ok"),
    ];
    assert_eq!(picture(&messages, &keeping(1), 60), WIDE);
}

#[test]
fn an_unchanged_conversation_is_drawn_with_the_reason() {
    assert_eq!(picture(&[], &keeping(1), 80), EMPTY);
    assert_eq!(picture(&[message("user", "Hello.")], &keeping(1), 80), ONE);
    let open = [calls(&["a"]), message("assistant", "wait"), result("a", "here")];
    assert_eq!(picture(&open, &keeping(1), 80), NO_SAFE_CUT);
}

#[test]
fn a_long_conversation_has_rows_of_several() {
    let rounds = (0..100).flat_map(|_| [calls(&["a", "b"]), result("a", "here"), result("b", "there")]);
    let messages: Vec<String> = [message("system", "Rules.")].into_iter().chain(rounds).collect();
    let picture = picture(&messages, &keeping(4), 80);
    let rows: Vec<&str> = picture.lines().skip(3).take_while(|line| !line.starts_with('▓')).collect();
    assert!(rows.len() <= rows::MOST + 4, "two lines for the cut, and two empty ones: {picture}");
    for row in [
        "      1 ╭ assistant  44 ░░░░░                  → look_up {\"plant\":\"a\"} → look_u…",
        "   2-12 ╰           180 ░░░░░░░░░░░░░░░░░░     8 tool, 3 assistant → 6 look_up",
        "  13-21 ┆           168 ░░░░░░░░░░░░░░░░░      3 assistant, 6 tool → 6 look_up",
        "    294 ╰ tool        6 ░                      ← there",
        "╌╌╌╌╌╌╌╌┼╌╌ wanted at 297 ╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌",
    ] {
        assert!(rows.contains(&row), "{row}\n{picture}");
    }
    assert!(picture.ends_with("╭╰ calls with their results   ┆ the same, in one row\n"), "{picture}");
}

/// Each of so many cases draws up to sixty messages.
fn cases(all: usize) -> ProptestConfig {
    ProptestConfig::with_cases(u32::try_from(share(all)).expect("few cases"))
}

proptest! {
    #![proptest_config(cases(256))]

    /// For any messages, and for any width of the terminal.
    #[test]
    fn no_line_is_wider_than_the_terminal(
        texts in prop::collection::vec(prop_oneof!["\\PC*", "[日本語한국어👩‍💻🇩🇪 é\u{301}]{0,40}"], 0..60),
        columns in 1..220usize,
        keep in 1..60u64,
    ) {
        let roles = ["user", "assistant", "narrator of many words"];
        let messages: Vec<String> = texts
            .iter()
            .zip(roles.iter().cycle())
            .map(|(text, role)| serde_json::json!({"role": role, "content": text}).to_string())
            .chain([calls(&["a"]), result("a", "here")])
            .collect();
        for line in picture(&messages, &keeping(keep), columns).lines() {
            prop_assert!(width(line) <= columns, "{columns}: {line:?}");
            prop_assert!(!line.contains(|c: char| c.is_control()));
        }
    }
}

const AT_80: &str = "\
chat.json: openai-chat, 9 messages, 171 tokens (approx)
the cut is at 6, and not at 7 as --keep messages:2 wants it: a cut at 7 would
  split the call in message 6 from its result in message 7

0*  system    14 ▓▓▓▓▓▓▓▓                  You help with a garden shop's orders.
1*  user      24 ▓▓▓▓▓▓▓▓▓▓▓▓▓             Which supplier has tulips, and who h…
2 ╭ assistant 48 ░░░░░░░░░░░░░░░░░░░░░░░░░ → look_up {\"plant\":\"tulip\"} → look_u…
3 ├ tool      24 ░░░░░░░░░░░░░             ← Van Dijk, 145.50 for a hundred, tw…
4 ╰ tool       7 ░░░░                      ← nobody
5   assistant 14 ░░░░░░░░                  Both sell tulips. Nobody has roses.
───── cut at 6 ─────────────────────────────────────────────────────────────────
6 ╭ assistant 27 ███████████████           → look_up {\"plant\":\"price\"}
╌╌┼╌╌ wanted at 7 ╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌
7 ╰ tool       7 ████                      ← 14.90
8   user       6 ████                      Thanks.

▓* pinned      2 messages  38 tokens
░  summarized  4 messages  93 tokens
█  kept        3 messages  40 tokens
╭╰ calls with their results
";

const AT_200: &str = "\
chat.json: openai-chat, 9 messages, 171 tokens (approx)
the cut is at 6, and not at 7 as --keep messages:2 wants it: a cut at 7 would split the call in message 6 from its result in message 7

0*  system    14 ▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓                                           You help with a garden shop's orders.
1*  user      24 ▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓                               Which supplier has tulips, and who has roses? Remember: never order on a Sunday.
2 ╭ assistant 48 ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░ → look_up {\"plant\":\"tulip\"} → look_up {\"plant\":\"rose\"}
3 ├ tool      24 ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░                               ← Van Dijk, 145.50 for a hundred, two days; Blumen Köhler, 150.00, one day
4 ╰ tool       7 ░░░░░░░░░                                                    ← nobody
5   assistant 14 ░░░░░░░░░░░░░░░░░░                                           Both sell tulips. Nobody has roses.
───── cut at 6 ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
6 ╭ assistant 27 ██████████████████████████████████                           → look_up {\"plant\":\"price\"}
╌╌┼╌╌ wanted at 7 ╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌
7 ╰ tool       7 █████████                                                    ← 14.90
8   user       6 ████████                                                     Thanks.

▓* pinned      2 messages  38 tokens
░  summarized  4 messages  93 tokens
█  kept        3 messages  40 tokens
╭╰ calls with their results
";

const WIDE: &str = "\
chat.json: openai-chat, 3 messages, 29 tokens (approx)
the cut is at 2, as --keep messages:1 wants it

0   user      12 ░░░░░░░░░░░░░░░░░ 请把所有的通知都发送一次…
1   assistant 12 ░░░░░░░░░░░░░░░░░ 👩💻 done ✅ ok[31m red
───── cut at 2 ─────────────────────────────────────────────
2   user       5 ████████          ok

░  summarized  2 messages  24 tokens
█  kept        1 message    5 tokens
";

const EMPTY: &str = "\
chat.json: openai-chat, 0 messages, 0 tokens (approx)
unchanged: there are no messages
";

const ONE: &str = "\
chat.json: openai-chat, 1 message, 6 tokens (approx)
unchanged: the whole conversation is within --keep messages:1

0   user      6 █████████████████████████ Hello.

█  kept        1 message   6 tokens
";

const NO_SAFE_CUT: &str = "\
chat.json: openai-chat, 3 messages, 38 tokens (approx)
unchanged; --keep messages:1 would cut at 2: there is no safe cut: a cut at 2
  would split the call in message 0 from its result in message 2, and no earlier
  cut is safe

0 ╭ assistant 25 █████████████████████████ → look_up {\"plant\":\"a\"}
1 │ assistant  7 ███████                   wait
╌╌┼╌╌ wanted at 2 ╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌
2 ╰ tool       6 ██████                    ← here

█  kept        3 messages  38 tokens
╭╰ calls with their results
";
