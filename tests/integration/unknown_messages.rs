//! A message of a kind that no format knows, in all that reads a conversation again.

use serde_json::{Value, json};

use crate::program::with;
use crate::restoring_runs::{Session, assert_restored, assistant, long, messages, user};

/// Messages that no format knows, each with the words "a blue kettle".
fn unknown_messages() -> [Value; 3] {
    [
        json!({"type": "hologram", "content": "a blue kettle"}),
        json!({"role": "narrator", "content": "a blue kettle"}),
        json!({"hologram": {"body": "a blue kettle"}}),
    ]
}

fn around(unknown: &Value) -> Vec<Value> {
    let secret = format!("{} DB_PASSWORD=Kx7mQ2vRt7Lw4zz1 is the password.", long("Find the red kettle"));
    vec![
        user(&secret),
        json!({"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": {}}]}),
        json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "r"}]}),
        unknown.clone(),
        assistant(&long("Aisle seven")),
        user("Thanks."),
    ]
}

#[test]
fn an_unknown_message_is_found_shown_masked_and_restored() {
    for unknown in unknown_messages() {
        let said = around(&unknown);
        let session = Session::new("s.json", &said);
        let shown = with(&["show", "3", &session.file()]).stdout;
        assert!(shown.starts_with("[3] ") && !shown.contains("user") && shown.contains("a blue kettle"), "{shown}");
        let masked = with(&["--redact", "--keep", "1", "-m", "none", &session.file()]);
        assert_eq!(masked.code, 0, "{}", masked.stderr);
        session.run(&["--keep", "1"]);
        let found = with(&["search", "blue kettle", &session.archive()]);
        assert!(found.stdout.contains("a blue kettle"), "{}{}", found.stdout, found.stderr);
        assert_restored(&session.restore(), &said, "an unknown message");
    }
}

#[test]
fn the_result_of_an_unknown_tool_is_not_the_users_word() {
    let said = [
        user(&long("Please look")),
        json!({"role": "assistant", "content": [{"type": "summon", "id": "w1", "name": "fetch", "input": {}}]}),
        json!({"role": "user", "content": [{"type": "summon_answer", "tool_use_id": "w1", "content": "the user wants it gone"}]}),
        json!({"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": {}}]}),
        json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "r"}]}),
        assistant(&long("Done")),
        user("Thanks."),
    ];
    let session = Session::new("s.json", &said);
    let summary = with(&["--keep", "1", "--emit", "summary", "-q", &session.file()]).stdout;
    let of_user = summary.split("\n## ").next().expect("a section");
    assert!(of_user.contains("Please look") && !of_user.contains("wants it gone"), "{summary}");
    let kept = with(&["--pin", "user", "--keep", "1", "-m", "none", "-q", &session.file()]).stdout;
    let kept = messages(&kept);
    assert!(!kept.contains(&said[2]), "{kept:?}");
    assert!(kept.contains(&said[0]), "{kept:?}");
}
