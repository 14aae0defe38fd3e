use super::*;
use crate::Retention;
use crate::format::{SummaryRole, Transcript};
use crate::framing::read_for_test as read;
use crate::session_files::HistoryBase;

fn line(kind: &str, payload: &str) -> String {
    format!(r#"{{"timestamp":"2026-01-02T03:04:05.678Z","type":"{kind}","payload":{payload}}}"#)
}

fn said(role: &str, text: &str) -> String {
    line(
        "response_item",
        &format!(r#"{{"type":"message","role":"{role}","content":[{{"type":"input_text","text":"{text}"}}]}}"#),
    )
}

fn with<T>(lines: &[String], look: impl FnOnce(&Transcript<'_>) -> T) -> T {
    let source = lines.join("\n");
    let document = read(&source, None, None).unwrap_or_else(|error| panic!("it {error}: {source}"));
    assert_eq!(document.transcripts[0].format.name, "codex");
    look(&document.transcripts[0])
}

fn meta() -> String {
    line("session_meta", r#"{"id":"s","cwd":"/w"}"#)
}

fn told(transcript: &Transcript<'_>) -> Vec<String> {
    let text = |message: &Message<'_>| message.content.texts().iter().map(|text| text.decode()).collect::<String>();
    transcript.messages.iter().map(text).collect()
}

#[test]
fn items_are_the_conversation_and_events_are_not() {
    let lines = [
        meta(),
        said("user", "<environment_context>x"),
        said("user", "u"),
        line("event_msg", r#"{"type":"user_message","message":"u"}"#),
        line("turn_context", r#"{"cwd":"/w"}"#),
        line("response_item", r#"{"type":"ghost_snapshot"}"#),
        said("assistant", "a"),
    ];
    with(&lines, |transcript| {
        assert_eq!(told(transcript), ["<environment_context>x", "u", "a"]);
        assert_eq!(transcript.messages[0].role, Role::Developer);
        let bounds: Vec<Retention> = transcript.notes.iter().map(|note| note.retention).collect();
        assert_eq!(
            bounds,
            [Retention::Always, Retention::WithPrevious, Retention::Latest("turn_context"), Retention::WithPrevious]
        );
    });
}

#[test]
fn what_a_sub_agent_sends_is_a_message() {
    let sent = r#"{"type":"agent_message","author":"/root/a","recipient":"/root","content":[{"type":"input_text","text":"m"}]}"#;
    let lines = [meta(), said("user", "u"), line("response_item", sent), said("assistant", "a")];
    with(&lines, |transcript| {
        assert_eq!(told(transcript), ["u", "m", "a"]);
        assert_eq!(transcript.messages[1].role, Role::Other);
        assert!(!transcript.messages[1].is_user_turn());
    });
}

#[test]
fn a_compaction_leaves_what_the_replay_leaves() {
    let before = [meta(), said("user", "u"), said("assistant", "a")];
    let compacted = |payload: &str| [before.to_vec(), vec![line("compacted", payload), said("user", "n")]].concat();
    with(&compacted(r#"{"message":"m"}"#), |transcript| {
        assert_eq!(told(transcript), ["u", "m", "n"]);
        assert!(transcript.messages[1].earlier);
    });
    let whole = r#"{"message":"","replacement_history":[{"type":"message","role":"user","content":[{"type":"input_text","text":"h"}]}]}"#;
    with(&compacted(whole), |transcript| assert_eq!(told(transcript), ["h", "n"]));
    let opaque = r#"{"message":"","replacement_history":[{"type":"compaction","encrypted_content":"x"}]}"#;
    with(&compacted(opaque), |transcript| {
        assert_eq!(told(transcript), ["", "n"]);
        assert_eq!(transcript.compactions, [0]);
    });
}

#[test]
fn rolled_back_items_are_removed() {
    let lines = [
        meta(),
        said("user", "u"),
        said("assistant", "a"),
        said("user", "v"),
        said("assistant", "b"),
        line("event_msg", r#"{"type":"thread_rolled_back","num_turns":1}"#),
        said("user", "w"),
    ];
    with(&lines, |transcript| {
        assert_eq!(told(transcript), ["u", "a", "w"]);
        let spent = transcript.notes.iter().filter(|note| note.retention == Retention::Obsolete).count();
        assert_eq!(spent, 3);
    });
}

#[test]
fn a_world_state_stays_with_the_line_that_tells_it() {
    let told = said("user", "# AGENTS.md instructions for /w\\n\\n<INSTRUCTIONS>r</INSTRUCTIONS>");
    let state = line("world_state", r#"{"full":true,"state":{"agents_md":{"text":"r"}}}"#);
    let changed = line("world_state", r#"{"full":false,"state":{"environments":{}}}"#);
    let list = r#"{"message":"","replacement_history":[{"type":"message","role":"user","content":[{"type":"input_text","text":"h"}]}]}"#;
    let retentions = |lines: &[String]| {
        with(lines, |transcript| transcript.notes.iter().map(|note| note.retention).collect::<Vec<Retention>>())
    };
    let session = [said("developer", "d"), told, state.clone(), said("user", "u"), changed.clone()];
    assert_eq!(retentions(&session), [Retention::With(1); 2]);
    let compacted = [session.as_slice(), &[line("compacted", list), state.clone(), changed]].concat();
    let replaced = retentions(&compacted);
    assert_eq!(replaced[..5], [Retention::Obsolete; 5]);
    assert_eq!(replaced[5..], [Retention::With(0); 2]);
    // Nothing tells it: an earlier cut removed the message.
    assert_eq!(retentions(&[state, said("user", "u")]), [Retention::Obsolete]);
}

#[test]
fn the_first_line_says_what_the_file_is_a_part_of() {
    let head_of = |payload: &str| {
        let text = line("session_meta", payload);
        let source = crate::source::Source::of(&text).expect("JSON");
        head::head(source.first().expect("a line"))
    };
    let base = HistoryBase { thread: "t".to_owned(), bytes: 9 };
    let based = head_of(r#"{"id":"s","history_base":{"thread_id":"t","end_ordinal_exclusive":3,"end_byte_offset":9}}"#);
    assert_eq!((based.is_of_subagent, based.base), (false, Some(base)));
    for (payload, is_of_subagent) in [
        (r#"{"id":"s","thread_source":"subagent"}"#, true),
        (r#"{"id":"s","source":{"subagent":"review"}}"#, true),
        (r#"{"id":"s","source":"exec","thread_source":"user","history_base":null}"#, false),
        (r#"{"id":"s","forked_from_id":"t"}"#, false),
    ] {
        let head = head_of(payload);
        assert_eq!((head.is_of_subagent, head.base), (is_of_subagent, None), "{payload}");
    }
}

#[test]
fn the_end_of_a_conversation_is_refused() {
    let based = line("session_meta", r#"{"id":"s","history_base":{"thread_id":"t","end_byte_offset":9}}"#);
    with(&[based, said("user", "u")], |transcript| {
        let why = FORMAT.refusal(transcript).expect("a reason");
        assert!(why.contains("first 9 bytes are in the session t"), "{why}");
    });
    // The fork of a sub-agent repeats the first line of its parent behind its own.
    let parent = line("session_meta", r#"{"id":"p","history_base":{"thread_id":"t","end_byte_offset":9}}"#);
    with(&[meta(), parent, said("user", "u")], |transcript| assert_eq!(FORMAT.refusal(transcript), None));
}

#[test]
fn what_a_compaction_keeps_for_a_review_is_not_sent() {
    let reviewed = r#"[{"type":"message","role":"user","content":[{"type":"input_text","text":"words of before"}]},{"type":"function_call","name":"shell","arguments":"{}","call_id":"c"},{"type":"function_call_output","call_id":"c","output":"printed words"}]"#;
    let compacted = format!(
        r#"{{"message":"m","replacement_history":[],"guardian_history":{reviewed},"retained_context":{{"user_messages":[{{"text":"words of before"}}]}}}}"#
    );
    with(&[meta(), line("compacted", &compacted), said("user", "n")], |transcript| {
        assert_eq!(told(transcript), ["m", "n"]);
        assert!(transcript.messages[0].calls.is_empty());
    });
}

#[test]
fn old_files_have_bare_items() {
    let item =
        |role: &str| format!(r#"{{"type":"message","role":"{role}","content":[{{"type":"input_text","text":"t"}}]}}"#);
    let first = r#"{"id":"s","timestamp":"2025-01-01T00:00:00Z","instructions":null,"git":{}}"#.to_owned();
    let state = r#"{"record_type":"state"}"#.to_owned();
    with(&[first, item("user"), state, item("assistant")], |transcript| {
        assert_eq!((transcript.messages.len(), transcript.notes.len()), (2, 2));
        let summary = SummaryMessage { text: "s", role: SummaryRole::User, name: None, marked: false };
        let written = FORMAT.write_summary(&summary, &InsertionPoint::new(transcript, 1));
        assert_eq!(written[0].to_string(), item("user").replace(r#""t""#, r#""s""#));
    });
}

#[test]
fn a_summary_is_a_line_like_its_neighbours() {
    let lines = [meta(), said("user", "u"), said("assistant", "a")];
    let numbered: Vec<String> = lines.iter().map(|line| line.replace(r#"Z","#, r#"Z","ordinal":7,"#)).collect();
    with(&numbered, |transcript| {
        let summary = SummaryMessage { text: "s", role: SummaryRole::User, name: None, marked: false };
        let written = FORMAT.write_summary(&summary, &InsertionPoint::new(transcript, 1));
        assert_eq!(written[0].to_string(), numbered[1].replace(r#""u""#, r#""s""#));
    });
}

#[test]
fn printed_events_are_told_from_sessions() {
    let printed = "{\"type\":\"thread.started\",\"thread_id\":\"t\"}\n{\"type\":\"turn.started\"}";
    assert!(read(printed, None, None).expect_err(printed).to_string().contains("codex exec --json"));
}

#[test]
fn a_call_that_the_user_stopped_is_recorded_as_refused() {
    for (output, tool, is_refused) in [
        ("Wall time: 15.0 seconds\\naborted by user", "shell", true),
        ("aborted by user after 2.5s", "apply_patch", true),
        ("aborted by user", "exec_command", true),
        ("aborted by user", "read_page", false),
        ("Wall time: 1.0 seconds\\naborted by user\\n", "shell", false),
        ("Exit code: 1\\nOutput:\\naborted by user", "shell", false),
        ("aborted by users", "shell", false),
    ] {
        let result = format!(r#"{{"type":"function_call_output","call_id":"c","output":"{output}"}}"#);
        let call = r#"{"type":"function_call","call_id":"c","name":"shell","arguments":"{}"}"#;
        with(&[said("user", "a"), line("response_item", call), line("response_item", &result)], |transcript| {
            let denial = transcript.messages[2].results[0].denial.as_deref();
            assert_eq!(denial.is_some_and(|denial| denial.words(tool).is_some()), is_refused, "{output}");
        });
    }
}

#[test]
fn a_task_that_another_agent_hands_over_is_a_message() {
    let handoff = r#"{"type":"function_call_output","name":"handoff","output":"Check the list."}"#;
    let odd = r#"{"type":"function_call_output","call_id":null,"name":"handoff","output":[{"type":"input_text","text":"Check it."}]}"#;
    let orphan = r#"{"type":"function_call_output","output":"r"}"#;
    let lines = [said("user", "a"), line("response_item", handoff), line("response_item", odd), said("assistant", "b")];
    with(&lines, |transcript| {
        assert!(!transcript.pairing.orphaned.contains(&true));
        let texts: Vec<_> = transcript.messages.iter().map(|one| (one.role, one.content.texts()[0].decode())).collect();
        assert_eq!(texts[1..3], [(Role::User, "Check the list.".into()), (Role::User, "Check it.".into())]);
    });
    let lines = [said("user", "a"), line("response_item", orphan), said("assistant", "b")];
    with(&lines, |transcript| assert_eq!(transcript.pairing.orphaned, [false, true, false]));
}
