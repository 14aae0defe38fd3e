//! Checks splices to the byte.

use crate::presets::langgraph::update;
use crate::rewrite::*;
use crate::transcript::formats::{SummaryMessage, SummaryRole};
use crate::transcript::framing::read_for_test as read;

fn planned(cutoff: usize, pinned: &[usize]) -> Plan {
    Plan {
        emptied: Vec::new(),
        start: 0,
        triggered: true,
        fired: None,
        wanted: cutoff,
        kept_from: cutoff,
        cutoff,
        moved_because: None,
        pinned: pinned.to_vec(),
        before_summary: pinned.len(),
        carried: None,
        parted: None,
        reason: None,
        refused: false,
    }
}

fn summary_of(text: &str, role: SummaryRole) -> SummaryMessage<'_> {
    SummaryMessage { text, role, name: None, marked: true }
}

/// Summarizes the messages before `cutoff` except `pinned`, of which `before_summary` precede the summary.
fn spliced_after(source: &str, cutoff: usize, pinned: &[usize], before_summary: usize) -> String {
    let document = read(source, None, None).expect("a transcript");
    let transcript = &document.transcripts[0];
    let plan = Plan { before_summary, ..planned(cutoff, pinned) };
    let summary =
        transcript.format.write_summary(&summary_of("S — é", SummaryRole::User), &summary_place(transcript, &plan));
    apply(source, &splice(transcript, &plan, &summary))
}

fn spliced(source: &str, cutoff: usize, pinned: &[usize]) -> String {
    spliced_after(source, cutoff, pinned, pinned.len())
}

const A: &str = r#"{"role":"system","content":"ä"}"#;
const B: &str = r#"{ "role":"user", "content":"b" }"#;
const C: &str = r#"{"role":"assistant","content":"c"}"#;
const S: &str = r#"{"role":"user","content":"S — é"}"#;

#[test]
fn a_summary_replaces_the_head_of_a_list() {
    assert_eq!(spliced(&format!(" [{A},{B} , {C}]\r\n"), 2, &[]), format!(" [{S} , {C}]\r\n"));
    assert_eq!(spliced(&format!("[{A},{B}, {C}]"), 2, &[0]), format!("[{A},{S}, {C}]"));
    assert_eq!(spliced(&format!("[{A},{B}]"), 2, &[]), "[{ \"role\":\"user\", \"content\":\"S — é\" }]");
}

#[test]
fn pinned_messages_in_the_middle_stay() {
    assert_eq!(spliced(&format!("[{C}, {A},{C}  ,{C}]"), 2, &[1]), format!("[{A},{S},{C}  ,{C}]"));
    assert_eq!(spliced(&format!("[{C},{A},\n{C},{A},{C}]"), 4, &[1, 3]), format!("[{A},\n{A},{S},{C}]"));
    assert_eq!(spliced(&format!("[{C}, {A}]"), 2, &[1]), format!("[{A}, {S}]"));
}

#[test]
fn a_summary_replaces_lines() {
    assert_eq!(spliced(&format!("\u{feff}{A}\r\n{C}\r\n{C}\r\n{C}"), 3, &[0]), format!("\u{feff}{A}\r\n{S}\r\n{C}"));
    assert_eq!(
        spliced(&format!("{C}{C}\n{C}\n"), 2, &[]),
        S.to_owned().replace(" — é", " \\u2014 \\u00e9") + &format!("\n{C}\n")
    );
    assert_eq!(spliced(&format!("{C}\n{A}\n{C}\n"), 2, &[1]), format!("{A}\n{S}\n{C}\n"));
}

#[test]
fn the_envelope_stays() {
    let around = |messages: &str| format!("{{\"n\":1.0,\"messages\" : [{messages}],\"n\":1e2,\"x\":\"ü\"}}");
    assert_eq!(spliced(&around(&format!("{A},{C},{C}")), 2, &[0]), around(&format!("{A},{S},{C}")));
}

#[test]
fn a_pretty_list_gets_a_pretty_summary() {
    let source = "[\n  {\n    \"role\": \"user\",\n    \"content\": \"ü\"\n  },\n  {\n    \"role\": \"user\",\n    \"content\": \"b\"\n  }\n]\n";
    let expected = "[\n  {\n    \"role\": \"user\",\n    \"content\": \"S — é\"\n  },\n  {\n    \"role\": \"user\",\n    \"content\": \"b\"\n  }\n]\n";
    assert_eq!(spliced(source, 1, &[]), expected);
    assert_eq!(spliced(&source.replace('\n', "\r\n"), 1, &[]), expected.replace('\n', "\r\n"));
    assert_eq!(spliced(&source.replace("  ", "\t"), 1, &[]), expected.replace("  ", "\t"));
}

#[test]
fn langchain_summaries_are_written_as_their_neighbours_are() {
    let dump = r#"{"type": "human", "content": "a"}"#;
    assert_eq!(
        spliced(&format!("[{dump}, {dump}]"), 1, &[]),
        format!(
            "[{}, {dump}]",
            r#"{"content": "S \u2014 \u00e9", "additional_kwargs": {"lc_source": "summarization"}, "response_metadata": {}, "type": "human", "name": null, "id": null}"#
        )
    );
    let dict = "{\n \"type\": \"human\",\n \"data\": {\n  \"content\": \"ä\"\n }\n}";
    assert_eq!(
        spliced(&format!("[\n{dict},\n{dict}\n]"), 1, &[]),
        format!(
            "[\n{},\n{dict}\n]",
            "{\n \"type\": \"human\",\n \"data\": {\n  \"content\": \"S — é\",\n  \"additional_kwargs\": {\n   \"lc_source\": \"summarization\"\n  },\n  \"response_metadata\": {},\n  \"type\": \"human\",\n  \"name\": null,\n  \"id\": null\n }\n}"
        )
    );
    let constructor = r#"{"lc":1,"type":"constructor","id":["langchain","schema","messages","AIMessage"],"kwargs":{"content":"a","type":"ai"}}"#;
    let out = spliced(&format!("[{constructor},{constructor}]"), 1, &[]);
    assert!(out.starts_with(r#"[{"lc":1,"type":"constructor","id":["langchain","schema","messages","HumanMessage"],"kwargs":{"content":"S"#), "{out}");
}

#[test]
fn a_summary_before_pinned_messages() {
    assert_eq!(spliced_after(&format!("[{C}, {A},{C}  ,{C}]"), 3, &[1], 0), format!("[{S}, {A},{C}]"));
    assert_eq!(spliced_after(&format!("[{A}, {C},{C}  ,{C}]"), 3, &[0], 0), format!("[{S}, {A}, {C}]"));
    assert_eq!(spliced_after(&format!("[{A}, {C},{B},{C}]"), 4, &[0, 2], 1), format!("[{A}, {S},{B}]"));
}

#[test]
fn a_summary_beside_the_messages() {
    let source = format!(r#"{{"summary_text": "old", "messages": [{A},{C},{C}], "z": 1}}"#);
    let document = read(&source, None, None).expect("a transcript");
    let transcript = &document.transcripts[0];
    let summary = Placed::Beside("new \"".to_owned());
    assert_eq!(
        apply(&source, &placed(transcript, &planned(2, &[0]), &summary)),
        format!(r#"{{"summary_text": "new \"", "messages": [{A},{C}], "z": 1}}"#)
    );
    assert!(
        update(transcript, &planned(2, &[0]), Some(&summary), &[])
            .ends_with(&format!("{A}, {C}], \"summary_text\": \"new \\\"\"}}\n"))
    );
}

#[test]
fn an_event_for_removed_messages_becomes_null() {
    let event = format!(r#"{{"cutoff_index": 1, "summary_message": {A}}}"#);
    let source = format!(r#"{{"messages": [{C},{A},{C}], "_summarization_event": {event}}}"#);
    let document = read(&source, None, None).expect("a transcript");
    let transcript = &document.transcripts[0];
    assert_eq!((transcript.messages.len(), transcript.notes.len()), (2, 1));
    let plan = planned(1, &[]);
    let summary =
        transcript.format.write_summary(&summary_of("S — é", SummaryRole::User), &summary_place(transcript, &plan));
    let summary = Placed::Messages(summary);
    assert_eq!(
        apply(&source, &placed(transcript, &plan, &summary)),
        format!(r#"{{"messages": [{S},{C}], "_summarization_event": null}}"#)
    );
    let update = update(transcript, &plan, Some(&summary), &[]);
    assert!(update.ends_with(&format!("{C}], \"_summarization_event\": null}}\n")), "{update}");
}

#[test]
fn an_update_removes_all_and_adds_what_is_there() {
    let source = format!("[{A},{C},{C}]");
    let document = read(&source, None, None).expect("a transcript");
    let transcript = &document.transcripts[0];
    let plan = planned(2, &[0]);
    let summary =
        transcript.format.write_summary(&summary_of("S", SummaryRole::System), &summary_place(transcript, &plan));
    assert_eq!(
        update(transcript, &plan, Some(&Placed::Messages(summary)), &[]),
        format!(
            "{{\"messages\": [{}, {A}, {}, {C}]}}\n",
            r#"{"role": "remove", "content": "", "id": "__remove_all__"}"#, r#"{"role": "system", "content": "S"}"#
        )
    );
}

#[test]
fn entries_of_a_summary_are_separated_where_nothing_shows_how() {
    let line = r#"{"type":"user","message":{"role":"user","content":"hello"},"uuid":"u","parentUuid":null,"sessionId":"s","cwd":"/","isSidechain":false}"#;
    let out = spliced(&format!("{{\"loglines\":[{line}]}}"), 1, &[]);
    let entries = serde_json::from_str::<Value>(&out).ok().and_then(|value| value["loglines"].as_array().map(Vec::len));
    assert_eq!(entries, Some(2), "{out}");
    assert_eq!(spliced(&format!("{line}\n"), 1, &[]).lines().count(), 2);
}

#[test]
fn edits_that_put_back_what_they_take_change_nothing() {
    let edit = |range: Range<usize>, text: &str| Edit { range, text: text.to_owned() };
    for (edits, changed) in [
        (vec![], false),
        (vec![edit(1..2, "b")], false),
        (vec![edit(0..1, ""), edit(2..2, "b"), edit(3..3, "")], true),
        (vec![edit(3..4, ""), edit(4..4, "a")], false),
        (vec![edit(3..4, "")], true),
        (vec![edit(4..4, "a")], true),
        (vec![edit(0..4, "")], true),
    ] {
        assert_eq!((changes(b"abca", &edits), apply("abca", &edits) != "abca"), (changed, changed), "{edits:?}");
    }
}

#[test]
fn edits_that_do_not_fit_are_found_before_anything_is_written() {
    let edit = |range: Range<usize>| Edit { range, text: "x".to_owned() };
    for edits in [vec![edit(0..2), edit(1..3)], vec![edit(2..3), edit(0..1)], vec![edit(0..1), edit(3..9)]] {
        assert!(std::panic::catch_unwind(|| changes(b"abcd", &edits)).is_err(), "{edits:?}");
    }
    assert!(std::panic::catch_unwind(|| apply("ab\u{e9}", &[edit(0..1), edit(3..4)])).is_err());
}
