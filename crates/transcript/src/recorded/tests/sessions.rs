//! Sessions of agents that record sizes beside the messages, or that compact them themselves.

use super::*;

#[test]
fn codex_notes_sizes_beside_the_messages() {
    let item = |payload: &str| codex("response_item", payload);
    let step = item(CODEX_CALL) + &item(CODEX_RESULT);
    let start = item(CODEX_USER);
    let null = codex("event_msg", r#"{"type":"token_count","info":null}"#);
    let event = |kind: &str| codex("event_msg", &format!(r#"{{"type":"{kind}","num_turns":1}}"#));
    let compacted = codex("compacted", &format!(r#"{{"message":"s","replacement_history":[{CODEX_USER}]}}"#));
    let reasoning = item(r#"{"type":"reasoning","summary":[],"encrypted_content":"x"}"#);
    for (case, source, expected) in [
        (
            "results of quick calls stand before",
            [start.clone(), step.clone(), counted(90, 10, 0, 100)].concat(),
            vec![(2, 100, 0)],
        ),
        ("null", [start.clone(), step.clone(), counted(90, 10, 0, 100), null].concat(), vec![(2, 100, 0)]),
        (
            "said again",
            [start.clone(), step.clone(), counted(90, 10, 0, 100), step.clone(), counted(90, 10, 0, 100)].concat(),
            vec![(2, 100, 0)],
        ),
        (
            "reasoning of a turn",
            [
                start.clone(),
                reasoning.clone(),
                step.clone(),
                counted(90, 10, 4, 100),
                step.clone(),
                counted(120, 20, 5, 140),
            ]
            .concat(),
            vec![(3, 100, 4), (5, 140, 9)],
        ),
        (
            "and of the next",
            [
                start.clone(),
                step.clone(),
                counted(90, 10, 4, 100),
                start.clone(),
                step.clone(),
                counted(120, 20, 5, 140),
            ]
            .concat(),
            vec![(2, 100, 4), (5, 140, 5)],
        ),
        (
            "its own compaction",
            [
                start.clone(),
                step.clone(),
                counted(9000, 10, 4, 9010),
                compacted.clone(),
                counted(0, 0, 0, 70),
                event("context_compacted"),
            ]
            .concat(),
            vec![],
        ),
        (
            "said again behind it",
            [
                start.clone(),
                step.clone(),
                counted(9000, 10, 4, 9010),
                compacted.clone(),
                counted(0, 0, 0, 70),
                counted(9000, 10, 4, 9010),
            ]
            .concat(),
            vec![],
        ),
        (
            "an answer behind it",
            [
                start.clone(),
                step.clone(),
                counted(9000, 10, 4, 9010),
                compacted,
                counted(0, 0, 0, 70),
                start.clone(),
                step.clone(),
                counted(90, 10, 0, 100),
            ]
            .concat(),
            vec![(3, 100, 0)],
        ),
        (
            "a turn that was taken back",
            [
                start.clone(),
                step.clone(),
                counted(90, 10, 0, 100),
                start,
                step,
                counted(120, 20, 0, 140),
                event("thread_rolled_back"),
            ]
            .concat(),
            vec![],
        ),
    ] {
        assert_eq!(recorded(&source), expected, "{case}: {source}");
    }
}

#[test]
fn pi_tells_by_place_and_time_what_is_older_than_a_compaction() {
    let user = |id: &str, parent: &str| {
        pi(id, &format!(r#"{parent},"type":"message","message":{{"role":"user","content":"u","timestamp":1}}"#))
    };
    let answer = |id: &str, parent: &str, time, size: u64| {
        pi_answer(id, parent, time, &format!(r#""usage":{{"input":{size},"output":10}}"#))
    };
    let compaction = |kept: &str, parent: &str| {
        pi(
            "c",
            &format!(
                r#""{parent}","type":"compaction","timestamp":"1970-01-01T00:00:01.000Z","summary":"s","firstKeptEntryId":"{kept}","tokensBefore":9"#
            ),
        )
    };
    let stopped = |reason: &str| {
        pi_answer("4", "3", 5, &format!(r#""stopReason":"{reason}","usage":{{"input":7000,"output":10}}"#))
    };
    let start = [user("1", "null"), answer("2", "1", 2, 9000), user("3", "\"2\"")].concat();
    for (case, source, expected) in [
        ("one", start.clone(), vec![(2, 9010, 0)]),
        ("aborted", start.clone() + &stopped("aborted"), vec![(2, 9010, 0)]),
        ("failed", start.clone() + &stopped("error"), vec![(2, 9010, 0)]),
        ("stopped", start.clone() + &stopped("stop"), vec![(2, 9010, 0), (4, 7010, 0)]),
        ("another branch", start.clone() + &answer("4", "3", 5, 7000) + &user("5", "\"3\""), vec![(2, 9010, 0)]),
        ("kept before the compaction", start.clone() + &compaction("2", "3"), vec![]),
        (
            "kept behind it, as ours keeps",
            [compaction("2", "1"), answer("2", "c", 2, 9000), user("3", "\"2\"")].concat(),
            vec![],
        ),
        (
            "without a time",
            [
                compaction("2", "1"),
                answer("2", "c", 2, 9000)
                    .replace("\"timestamp\":2,", "")
                    .replace("\"timestamp\":\"2026-01-01T00:00:00.000Z\",", ""),
            ]
            .concat(),
            vec![],
        ),
        (
            "newer than it",
            [compaction("2", "1"), answer("2", "c", 2, 9000), user("3", "\"2\""), answer("4", "3", 1001, 700)].concat(),
            vec![(4, 710, 0)],
        ),
        (
            "a turn that went on",
            start + &compaction("2", "3") + &answer("4", "c", 1001, 9100) + &answer("5", "4", 1002, 700),
            vec![(5, 710, 0)],
        ),
    ] {
        assert_eq!(recorded(&source), expected, "{case}: {source}");
    }
}
