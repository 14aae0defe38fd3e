//! The planner on small conversations.

use regex::Regex;

use crate::plan::summaries::mark_summaries;
use crate::plan::*;
use crate::presets::pairs::moved_cut;
use crate::tokens::Counter;
use crate::transcript::formats::{SummaryRole, by_name};
use crate::transcript::framing::read_for_test as read;

pub fn policy() -> CutPolicy {
    CutPolicy {
        triggers: Vec::new(),
        keep: Size::Messages(20),
        budget: None,
        pins: vec![Pin::System],
        typed: Vec::new(),
        pairs: Pairs::Strict,
        context_window: None,
        overhead_tokens: None,
        recorded: true,
        summary_prefix: "Summary:\n\n".to_owned(),
        rules: Rules::OWN,
        provider: None,
    }
}

/// A conversation spelled by letters: `s`ystem, `u`ser, `a`ssistant, `S`ummary, `c`all, `2` calls, `r`esult of the last
/// open call, `o`rphaned result.
fn conversation(letters: &str) -> String {
    let mut open: Vec<usize> = Vec::new();
    let call = |id: usize| format!(r#"{{"id":"c{id}","function":{{"name":"f","arguments":"{{}}"}}}}"#);
    let messages: Vec<String> = letters
        .char_indices()
        .map(|(at, letter)| match letter {
            's' => r#"{"role":"system","content":"rules"}"#.to_owned(),
            'u' => r#"{"role":"user","content":"question"}"#.to_owned(),
            'a' => r#"{"role":"assistant","content":"answer"}"#.to_owned(),
            'S' => r#"{"role":"user","content":"Summary: x"}"#.to_owned(),
            'c' => {
                open.push(at);
                format!(r#"{{"role":"assistant","content":null,"tool_calls":[{}]}}"#, call(at))
            }
            '2' => {
                open.extend([at, at + 1000]);
                format!(r#"{{"role":"assistant","content":null,"tool_calls":[{},{}]}}"#, call(at), call(at + 1000))
            }
            'r' => format!(r#"{{"role":"tool","tool_call_id":"c{}","content":"result"}}"#, open.pop().unwrap_or(9999)),
            _ => r#"{"role":"tool","tool_call_id":"nowhere","content":"result"}"#.to_owned(),
        })
        .collect();
    format!("[{}]", messages.join(","))
}

pub(super) fn planned(letters: &str, policy: &CutPolicy) -> Plan {
    let source = conversation(letters);
    let mut document = read(&source, None, None).expect("a transcript");
    mark_summaries(&mut document.transcripts[0], policy, SummaryRole::User);
    let transcript = &document.transcripts[0];
    plan(transcript, &Tally::of(Counter::APPROX, transcript, policy.overhead_tokens), policy, moved_cut)
}

#[test]
fn a_refused_format_is_not_cut() {
    let record = |id: &str| format!("{{\"id\":\"{id}\",\"timestamp\":\"t\",\"type\":\"user\",\"content\":\"u\"}}\n");
    let planned = |ids: &[&str]| {
        let records: String = ids.iter().map(|id| record(id)).collect();
        let source = format!("{{\"sessionId\":\"s\",\"projectHash\":\"h\",\"startTime\":\"t\"}}\n{records}");
        let document = read(&source, None, None).expect("a transcript");
        let transcript = &document.transcripts[0];
        let tally = Tally::new(Counter::APPROX, &transcript.messages);
        plan(transcript, &tally, &CutPolicy { keep: Size::Messages(1), ..policy() }, moved_cut)
    };
    let refused = planned(&["1", "2", "1"]);
    assert!((refused.cutoff, refused.refused) == (0, true) && refused.reason.is_some(), "{refused:?}");
    assert!(planned(&["1", "2", "3"]).cutoff > 0);
}

pub(super) fn cut(letters: &str, keep: Size) -> (usize, usize) {
    let plan = planned(letters, &CutPolicy { keep, ..policy() });
    (plan.wanted, plan.cutoff)
}

#[test]
fn keep_messages_keeps_the_last_messages() {
    assert_eq!(cut("uauaua", Size::Messages(2)), (4, 4));
    assert_eq!(cut("uauaua", Size::Messages(6)), (0, 0));
    assert_eq!(cut("uauaua", Size::Messages(7)), (0, 0));
}

#[test]
fn keep_tokens_keeps_the_last_message_at_least() {
    // Each of these messages has about 3 + ceil((4 + 8) / 4) = 6 tokens.
    assert_eq!(cut("uuuu", Size::Tokens(12)), (2, 2));
    assert_eq!(cut("uuuu", Size::Tokens(17)), (2, 2));
    assert_eq!(cut("uuuu", Size::Tokens(1)), (3, 3));
    assert_eq!(cut("uuuu", Size::Tokens(24)), (0, 0));
    assert_eq!(cut("u", Size::Tokens(1)), (0, 0));
}

#[test]
fn keep_fraction_is_of_the_window() {
    let policy = CutPolicy { keep: Size::Fraction(0.5), context_window: Some(24), ..policy() };
    assert_eq!(planned("uuuu", &policy).cutoff, 2);
}

#[test]
fn keep_turns_keeps_the_last_turns() {
    assert_eq!(cut("uacrauaua", Size::Turns(1)), (7, 7));
    assert_eq!(cut("uacrauaua", Size::Turns(2)), (5, 5));
    assert_eq!(cut("uacrauaua", Size::Turns(3)), (0, 0));
    assert_eq!(cut("aauacrauaua", Size::Turns(3)), (2, 2));
    assert_eq!(cut("aauacra", Size::Turns(9)), (0, 0));
}

#[test]
fn keep_bytes_keeps_the_last_message_at_least() {
    // Each of these messages has 36 bytes.
    for (bytes, wanted) in [(72, 2), (107, 2), (1, 3), (143, 1), (144, 0)] {
        assert_eq!(cut("uuuu", Size::Bytes(bytes)).0, wanted, "{bytes}");
    }
    let fires = |size| planned("uuuu", &CutPolicy { triggers: vec![vec![size]], ..policy() }).triggered;
    assert!(fires(Size::Bytes(144)) && !fires(Size::Bytes(145)));
    assert!(!fires(Size::Steps(1)));
}

#[test]
fn a_cut_between_call_and_result_moves_to_before_the_call() {
    assert_eq!(cut("uacrau", Size::Messages(3)), (3, 2));
    assert_eq!(cut("ua2rrau", Size::Messages(3)), (4, 2), "between two results of one message");
    assert_eq!(cut("uac2rrrau", Size::Messages(3)), (6, 2), "results far away, calls interleaved");
    let moved = planned("uacrau", &CutPolicy { keep: Size::Messages(3), ..policy() });
    assert_eq!(
        moved.moved_because.as_deref(),
        Some("a cut at 3 would split the call in message 2 from its result in message 3")
    );
}

#[test]
fn no_safe_cut_leaves_all_as_it_is() {
    let plan = planned("cuuuur", &CutPolicy { keep: Size::Messages(2), ..policy() });
    assert_eq!((plan.wanted, plan.cutoff), (4, 0));
    assert!(
        plan.reason
            .expect("a reason")
            .starts_with("there is no safe cut: a cut at 4 would split the call in message 0")
    );
}

#[test]
fn orphans_at_the_cut_go_with_the_summary() {
    assert_eq!(cut("uaooua", Size::Messages(4)), (2, 4));
    assert_eq!(cut("uaoo", Size::Messages(2)), (2, 1), "unless nothing else would be left");
    assert_eq!(cut("ucorau", Size::Messages(4)), (2, 1), "or that would part a pair");
}

#[test]
fn a_users_words_are_not_lost_with_an_orphaned_result() {
    let mixed = r#"[{"role":"user","content":"u"},{"role":"assistant","content":"a"},
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"x","content":"r"},{"type":"text","text":"Do it."}]},
        {"role":"assistant","content":"a"}]"#;
    let document = read(mixed, None, None).expect("a transcript");
    let transcript = &document.transcripts[0];
    let rules = CutPolicy { keep: Size::Messages(2), ..policy() };
    let plan = plan(transcript, &Tally::new(Counter::APPROX, &transcript.messages), &rules, moved_cut);
    assert_eq!((plan.wanted, plan.cutoff), (2, 1));
}

#[test]
fn sizes_of_nothing_keep_the_last_message() {
    assert_eq!(cut("uaua", Size::Messages(0)), (3, 3));
    assert_eq!(cut("uaua", Size::Turns(0)), (2, 2));
}

#[test]
fn an_earlier_summary_is_not_pinned() {
    let system_summary = conversation("suauau").replacen("rules", "Summary: of old", 1);
    let mut document = read(&system_summary, None, None).expect("a transcript");
    let rules = CutPolicy { keep: Size::Messages(2), pins: vec![Pin::System], ..policy() };
    mark_summaries(&mut document.transcripts[0], &rules, SummaryRole::System);
    let transcript = &document.transcripts[0];
    assert_eq!(
        plan(transcript, &Tally::new(Counter::APPROX, &transcript.messages), &rules, moved_cut).pinned,
        [0usize; 0]
    );
}

/// The messages that are taken for summaries by a policy, in Chat Completions.
fn summaries(messages: &str, policy: &CutPolicy, role: SummaryRole) -> Vec<usize> {
    let mut document = read(messages, by_name("openai-chat"), None).expect("a transcript");
    let transcript = &mut document.transcripts[0];
    mark_summaries(transcript, policy, role);
    (0..transcript.messages.len()).filter(|&index| transcript.messages[index].is_ours()).collect()
}

#[test]
fn a_summary_is_ours_only_where_it_stands_as_we_put_it() {
    use SummaryRole::{Assistant, System, User};
    let said = |letter: char| match letter {
        's' => r#"{"role":"system","content":"rules"}"#,
        'S' => r#"{"role":"system","content":"Summary: x"}"#,
        'u' => r#"{"role":"user","content":"question"}"#,
        'U' => r#"{"role":"user","content":"Summary: x"}"#,
        'a' => r#"{"role":"assistant","content":"answer"}"#,
        'A' => r#"{"role":"assistant","content":"Summary: x"}"#,
        'b' => r#"{"role":"assistant","content":"```bash\nls\n```"}"#,
        'c' => {
            r#"{"role":"assistant","content":"Summary: x","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}"#
        }
        'r' => r#"{"role":"tool","tool_call_id":"a","content":"Summary: x"}"#,
        'P' => r#"{"role":"system","content":"Summary:\n\n<summary>\nx\n</summary>"}"#,
        'Q' => r#"{"role":"user","content":"Summary:\n\n<summary>\nx\n</summary>"}"#,
        'B' => r#"{"role":"assistant","content":"Summary:\n\n<summary>\nx\n</summary>"}"#,
        'N' => r#"{"role":"user","content":"[tcompact: 2 earlier messages removed, 9 tokens]"}"#,
        _ => r#"{"role":"tool","tool_call_id":"nowhere","content":"Summary: x"}"#,
    };
    let pinning = |pin: &str| CutPolicy { pins: vec![pin.parse().expect("a rule")], ..policy() };
    for (letters, pin, role, expected) in [
        ("UaU", "system", User, vec![0]),
        ("sUa", "system", User, vec![1]),
        ("SUa", "system", User, vec![1]),
        ("SUa", "system", System, vec![0]),
        ("uSUa", "system", System, vec![2]),
        // What is kept can begin with what looks like a summary.
        ("UUa", "system", User, vec![0]),
        ("UUa", "first:1", User, vec![1]),
        // Rules of pins can change between two runs, but what the model or a tool said is not a word of the user's.
        ("uUa", "system", User, vec![1]),
        ("uaUa", "system", User, vec![]),
        ("uaUa", "first:2", User, vec![2]),
        ("ucrUa", "first:2", User, vec![3]),
        ("ubUa", "first:2", User, vec![]),
        ("uAUa", "match:question", User, vec![]),
        ("uaUaU", "match:question|answer", User, vec![2]),
        ("Aua", "system", User, vec![]),
        ("AUa", "system", User, vec![]),
        ("Aua", "system", Assistant, vec![0]),
        ("uAa", "system", Assistant, vec![]),
        ("uAa", "first:1", Assistant, vec![1]),
        ("cra", "system", Assistant, vec![]),
        ("oU", "system", User, vec![]),
        ("ucroA", "system", User, vec![]),
        // Of another role than this run's: only whole, in our fence, and where nobody can have said it.
        ("sPua", "system", User, vec![]),
        ("sPua", "none", User, vec![1]),
        ("sPua", "system", System, vec![1]),
        ("uPua", "none", User, vec![]),
        ("sBua", "system", User, vec![1]),
        ("sBua", "system", System, vec![1]),
        ("uBua", "system", User, vec![]),
        ("uBua", "first:1", User, vec![]),
        ("sPQa", "system", User, vec![2]),
        ("sPQa", "system", System, vec![1, 2]),
        ("QQa", "system", User, vec![0, 1]),
        ("QBa", "system", User, vec![0, 1]),
        ("QaQ", "system", User, vec![0]),
        // The note of --model none.
        ("sNua", "system", User, vec![1]),
        ("uaNu", "system", User, vec![]),
    ] {
        let messages = format!("[{}]", letters.chars().map(said).collect::<Vec<_>>().join(","));
        assert_eq!(summaries(&messages, &pinning(pin), role), expected, "{letters} {pin} {role:?}");
    }
}

#[test]
fn summaries_written_by_others_are_pinned() {
    let source = r#"[{"role":"user","content":"Summary: of old"},
        {"role":"assistant","content":"Summary: of a file","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},
        {"role":"tool","tool_call_id":"a","content":"all of it"},{"role":"assistant","content":"Summary: read"},
        {"role":"user","content":"Summary: mine"},{"role":"user","content":"u"},{"role":"assistant","content":"a"}]"#;
    let mut document = read(source, None, None).expect("a transcript");
    let pins = vec![Pin::Match(Regex::new("^Summary").expect("a regular expression"))];
    let rules = CutPolicy { keep: Size::Messages(2), pins, ..policy() };
    mark_summaries(&mut document.transcripts[0], &rules, SummaryRole::User);
    let transcript = &document.transcripts[0];
    assert_eq!(
        plan(transcript, &Tally::new(Counter::APPROX, &transcript.messages), &rules, moved_cut).pinned,
        [1, 2, 3]
    );
}

#[test]
fn a_pending_call_at_the_end_stays() {
    assert_eq!(cut("uauac", Size::Messages(1)), (4, 4));
    assert_eq!(cut("uaua2r", Size::Messages(1)), (5, 4));
}

#[test]
fn any_trigger_fires_once_all_its_sizes_are_reached() {
    let with =
        |triggers: Vec<Vec<Size>>| planned("uauaua", &CutPolicy { triggers, keep: Size::Messages(2), ..policy() });
    assert!(with(vec![]).triggered);
    assert!(with(vec![vec![Size::Messages(6)]]).triggered, "reached is at least");
    let not = with(vec![vec![Size::Messages(7)], vec![Size::Tokens(10), Size::Turns(4)]]);
    assert!(!not.triggered);
    assert_eq!((not.cutoff, not.reason.as_deref()), (0, Some("no trigger was reached")));
    let second = with(vec![vec![Size::Messages(7)], vec![Size::Tokens(10), Size::Turns(3)]]);
    assert_eq!(second.fired, Some(vec![Size::Tokens(10), Size::Turns(3)]));
}

#[test]
fn overhead_counts_for_triggers_and_not_for_what_is_kept() {
    let rules = CutPolicy { triggers: vec![vec![Size::Tokens(50)]], keep: Size::Tokens(12), ..policy() };
    assert!(!planned("uuuu", &rules).triggered);
    let plan = planned("uuuu", &CutPolicy { overhead_tokens: Some(26), ..rules.clone() });
    assert!(plan.triggered, "24 and 26 are 50");
    assert_eq!(plan.cutoff, 2);
    assert!(!planned("uuuu", &CutPolicy { overhead_tokens: Some(25), ..rules }).triggered);
}

#[test]
fn pins_stay_and_bring_their_other_half() {
    let with = |letters: &str, pins: Vec<Pin>| {
        let plan = planned(letters, &CutPolicy { pins, keep: Size::Messages(1), ..policy() });
        (plan.pinned.clone(), plan.summarized())
    };
    assert_eq!(with("suasau", vec![Pin::System]), (vec![0, 3], vec![1, 2, 4]));
    assert_eq!(with("u2rrau", vec![Pin::First(2)]), (vec![0, 1, 2, 3], vec![4]));
    let results = Pin::Match(Regex::new("^resul").expect("a regular expression"));
    assert_eq!(with("uacrau", vec![results]), (vec![2, 3], vec![0, 1, 4]));
    assert_eq!(with("suasau", vec![Pin::None]), (vec![], vec![0, 1, 2, 3, 4]));
}

#[test]
fn a_cut_without_gain_is_not_made() {
    let reason = |letters: &str, policy: &CutPolicy| {
        let plan = planned(letters, policy);
        assert_eq!((plan.cutoff, plan.summarized(), plan.pinned.len()), (0, vec![], 0));
        plan.reason.expect("a reason")
    };
    let one = CutPolicy { keep: Size::Messages(1), ..policy() };
    assert_eq!(reason("", &one), "there are no messages");
    assert_eq!(reason("u", &one), "the whole conversation is within --keep messages:1");
    assert_eq!(reason("su", &one), "every message before the cut is pinned");
    assert_eq!(reason("sSu", &one), "there is only an earlier summary before the cut");
}

#[test]
fn a_history_must_be_larger_than_the_smallest_summary() {
    let one = CutPolicy { keep: Size::Messages(1), ..policy() };
    let with = |letters: &str| {
        let source = conversation(letters);
        let document = read(&source, None, None).expect("a transcript");
        let transcript = &document.transcripts[0];
        let tally = Tally::new(Counter::APPROX, &transcript.messages);
        plan(transcript, &tally, &one, moved_cut).uncut_if_no_larger_than(13, &tally)
    };
    let small = with("uau");
    assert_eq!((small.cutoff, small.summarized(), small.pinned.len()), (0, vec![], 0));
    assert!(small.reason.expect("a reason").contains("too small"), "two messages of six and seven tokens");
    assert_eq!(with("uauu").cutoff, 3);
}

#[test]
fn a_larger_keep_never_keeps_less() {
    let letters = "su2rracru2oorrauocrScuuraacrau";
    for kind in [Size::Messages as fn(u64) -> Size, Size::Tokens, Size::Turns] {
        let cuts: Vec<usize> = (1..400).map(|keep| cut(letters, kind(keep)).1).collect();
        assert!(cuts.is_sorted_by(|larger, smaller| larger >= smaller), "{cuts:?}");
    }
}

/// The messages of a conversation that rules pin before its last message.
fn pinned(rules: &[&str], source: &str, format: Option<&str>) -> Vec<usize> {
    let pins = rules.iter().map(|rule| rule.parse().expect("a rule")).collect();
    let policy = CutPolicy { pins, keep: Size::Messages(1), context_window: Some(1_000), ..policy() };
    let mut document = read(source, format.map(|name| by_name(name).expect("a format")), None).expect("a transcript");
    mark_summaries(&mut document.transcripts[0], &policy, SummaryRole::User);
    let transcript = &document.transcripts[0];
    plan(transcript, &Tally::new(Counter::APPROX, &transcript.messages), &policy, moved_cut).pinned
}

#[test]
fn rules_of_pins_add_up_and_none_clears_those_before_it() {
    let source = conversation("suauaua");
    for (rules, expected) in [
        (&["system"][..], &[0][..]),
        (&["system", "first:2"], &[0, 1]),
        (&["system", "none"], &[]),
        (&["system", "first:3", "none", "user"], &[1, 3, 5]),
        (&["system", "user"], &[0, 1, 3, 5]),
        (&["none", "user:messages:2"], &[3, 5]),
        (&["none", "user:turns:1", "first:1"], &[0, 5]),
        (&["user:tokens:1"], &[]),
        // A message has six tokens.
        (&["user:tokens:11"], &[5]),
        (&["user:tokens:12"], &[3, 5]),
        (&["user:fraction:0.017"], &[3, 5]),
        (&["user:fraction:1"], &[1, 3, 5]),
    ] {
        assert_eq!(pinned(rules, &source, None), expected, "{rules:?}");
    }
}

/// Kimi Code reads our summary first and a system message that the last compaction pinned behind it.
#[test]
fn a_system_message_behind_a_summary_that_stands_first_stays_pinned() {
    let line = |role: &str| {
        format!(
            r#"{{"type":"context.append_message","agentId":"main","message":{{"role":"{role}","content":[{{"type":"text","text":"words of some length"}}],"toolCalls":[]}}}}
"#
        )
    };
    let summary = r#"{"type":"context.apply_compaction","agentId":"main","summary":"Summary: of old","compactedCount":0,"tokensBefore":0}
"#;
    let (system, user) = (line("system"), line("user"));
    let source = [summary, &system, &user, &user].concat();
    assert_eq!(pinned(&["system"], &source, Some("kimi-code")), [1]);
    let source = [summary, &user, &system, &user].concat();
    assert_eq!(pinned(&["system"], &source, Some("kimi-code")), [] as [usize; 0]);
}

#[test]
fn pin_user_pins_what_a_person_said() {
    let between = |message: &str| {
        format!(
            r#"[{{"role":"user","content":"first"}},{{"role":"assistant","content":"ok"}},{message},{{"role":"assistant","content":"a"}},{{"role":"user","content":"last"}}]"#
        )
    };
    for (is_said, content) in [
        (true, r#""Do it.""#),
        (true, r#"[{"type":"image_url","image_url":{"url":"https://e.org/a.png"}}]"#),
        (true, r#""Do it. <system-reminder>Use tools.</system-reminder>""#),
        (false, r#""<system-reminder>Use tools.</system-reminder>""#),
        (false, r#""[Request interrupted by user]""#),
        (false, r#""""#),
        (false, r#""Summary: of mine""#),
    ] {
        let expected: &[usize] = if is_said { &[0, 2] } else { &[0] };
        let source = between(&format!(r#"{{"role":"user","content":{content}}}"#));
        assert_eq!(pinned(&["user"], &source, None), expected, "{content}");
    }
    let results = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"r"}]}"#;
    let call = r#"{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{}}]}"#;
    assert_eq!(pinned(&["user"], &between(&format!("{call},{results}")), Some("anthropic")), [0], "results");
    let hidden = r#"{"role":"user","content":"x","additional_kwargs":{"hide_from_ui":true}}"#;
    assert_eq!(pinned(&["user"], &between(hidden), None), [0], "hidden");
    let shell =
        r#"{"role":"assistant","content":"```bash\nls\n```"},{"role":"user","content":"<returncode>0</returncode>"}"#;
    assert_eq!(pinned(&["user"], &between(shell), None), [0], "an output");
    let action = r#"{"role":"assistant","content":"I look.","action":"ls"},{"role":"user","content":"a.rs"}"#;
    assert_eq!(pinned(&["user"], &between(action), None), [0], "an observation");
}
