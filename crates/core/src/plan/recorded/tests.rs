use crate::plan::CutPolicy;
use crate::plan::recorded::last_valid;
use crate::plan::size::Size;
use crate::plan::summaries::mark_summaries;
use crate::tokens::{Counter, Tally};
use crate::transcript::formats::SummaryRole;
use crate::transcript::framing::read_for_test as read;

const SUMMARY: &str = r"Here is a summary of the conversation to date:\n\n<summary>\nwhat was\n</summary>";

/// The tokens of the size that still holds.
fn valid(source: &str) -> Option<u64> {
    let mut document = read(source, None, None).unwrap_or_else(|error| panic!("it {error}: {source}"));
    let transcript = &mut document.transcripts[0];
    mark_summaries(transcript, &CutPolicy::keeping(Size::Nothing), SummaryRole::User);
    last_valid(transcript, &Tally::new(Counter::DEFAULT, &transcript.messages)).map(|valid| valid.tokens)
}

fn user(text: &str) -> String {
    format!(r#"{{"type":"human","content":"{text}"}}"#)
}

fn answers(sizes: &[u64]) -> String {
    let answer = |size: &u64| {
        format!(
            r#",{{"type":"ai","content":"a","usage_metadata":{{"input_tokens":{size},"output_tokens":0,"total_tokens":{size}}}}}"#
        )
    };
    sizes.iter().map(answer).collect()
}

/// Kept messages stand behind the summary with the sizes that they had before it.
#[test]
fn sizes_behind_a_summary_count_once_they_fell_in_each_round() {
    let in_round = |round: &str| user(&format!("{SUMMARY}{round}"));
    let (first, second) = (in_round(""), in_round(r"\n\n(Round 2.)"));
    let own = user("u");
    let marked = r#"{"type":"human","content":"what was","additional_kwargs":{"lc_source":"summarization"}}"#;
    let unfenced = user(r"Here is a summary of the conversation to date:\n\nwhat was");
    let noted = user("[tcompact: 40 earlier messages removed, 90000 tokens]");
    for (case, summary, sizes, expected) in [
        ("none", own.as_str(), &[90_000, 91_000][..], Some(91_000)),
        ("the agent left something out", &own, &[90_000, 20_000], Some(20_000)),
        ("kept", &first, &[90_000], None),
        ("kept, of many", &first, &[90_000, 91_000, 95_000], None),
        ("new", &first, &[90_000, 91_000, 8_000, 8_100], Some(8_100)),
        ("without those that were kept", &first, &[8_000, 8_100], None),
        ("a helper between", &first, &[90_000, 5_000, 91_000], None),
        ("a little less", &first, &[90_000, 70_000], None),
        ("less reasoning", &first, &[9_000, 7_000], None),
        ("more than an agent sends beside", &first, &[200_000, 90_000], None),
        ("of the first of two rounds", &second, &[90_000, 20_000, 21_000], None),
        ("new after two", &second, &[90_000, 25_000, 26_000, 6_000], Some(6_000)),
        ("new, without those of the first", &second, &[25_000, 26_000, 6_000], None),
        ("a note in place of a summary", &noted, &[90_000, 8_000], Some(8_000)),
        ("a summary that names no round", &unfenced, &[90_000, 8_000], None),
    ] {
        let source = format!("[{summary}{}]", answers(sizes));
        assert_eq!(valid(&source), expected, "{case}: {source}");
    }
    // A run with another prefix, LangChain's own, and a user who quotes one.
    let other = user(&SUMMARY.replace("Here is a summary", "What was said"));
    let by_langchain = marked.replace("what was", "Summary: what was");
    for summary in [other, by_langchain, format!("{own},{}", in_round(""))] {
        assert_eq!(valid(&format!("[{summary}{}]", answers(&[9_000, 9_100]))), None, "{summary}");
    }
}

#[test]
fn a_size_does_not_hold_after_pruning() {
    let list = |beside: &str, said: &str| format!("{{{beside}\"messages\":[{}{}]}}", user(said), answers(&[9_000]));
    assert_eq!(valid(&list("", "u")), Some(9_000));
    assert_eq!(valid(&list(r#""summary_text":"","#, "u")), Some(9_000));
    assert_eq!(valid(&list(r#""summary_text":"what was","#, "u")), None);
    let event = r#""_summarization_event":{"cutoff_index":0,"summary_message":{"type":"human","content":"s"}},"#;
    assert_eq!(valid(&list(event, "u")), None);
    assert_eq!(valid(&list("", "[tcompact: cut 900 tokens]")), None);
}

/// Models that reason in items of their own read them again in the same turn.
#[test]
fn reasoning_ends_with_the_turn() {
    let line =
        |kind: &str, payload: &str| format!("{{\"timestamp\":\"t\",\"type\":\"{kind}\",\"payload\":{payload}}}\n");
    let user =
        line("response_item", r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"u"}]}"#);
    let call = line("response_item", r#"{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}"#);
    let result = line("response_item", r#"{"type":"function_call_output","call_id":"c","output":"r"}"#);
    let size = r#"{"type":"token_count","info":{"last_token_usage":{"input_tokens":90,"output_tokens":10,"reasoning_output_tokens":7,"total_tokens":100}}}"#;
    let turn = [user.clone(), call, line("event_msg", size), result].concat();
    assert_eq!(valid(&turn), Some(100));
    assert_eq!(valid(&(turn + &user)), Some(93));
}
