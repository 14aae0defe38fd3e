//! `restore` of runs that changed a text in several steps, such as a repair and a compaction: a step has a record of its own,
//! and no text stays between two steps.

use std::fs;

use serde_json::{Value, json};

use crate::program::{path, with};
use crate::restoring::rehashed;
use crate::restoring_runs::{Session, assert_refused, assert_restored, assistant, call, long, run_on, user};

const NAMES: [&str; 2] = ["s.json", "s.jsonl"];

/// A run that repairs and compacts has a record for each step.
#[test]
fn a_missing_step_of_a_run_is_missed() {
    let said =
        [user(&long("Bed 1")), call("c1"), user(&long("Well")), assistant("No."), user("Bed 2."), assistant("Done.")];
    for name in NAMES {
        let session = Session::new(name, &said);
        session.run(&["--repair", "synthesize", "--keep", "messages:2"]);
        let text = fs::read_to_string(session.archive()).expect("an archive");
        let [first, second] = [0, 1].map(|at| text.lines().nth(at).expect("a record"));
        assert!(first.contains("\"steps\":[1,2]") && second.contains("\"steps\":[2,2]"), "{text}");
        let with_other_digit = rehashed(&first.replace("\"result_sha256\":\"", "\"result_sha256\":\"x"));
        for more in [vec![], vec![user("And bed 3?")]] {
            fs::write(session.archive(), &text).expect("written");
            session.grow(&more);
            assert_restored(&session.restore(), &[said.to_vec(), more].concat(), name);
            for lacking in [second.to_owned(), format!("{{\"broken\n{second}"), format!("{with_other_digit}{second}")] {
                fs::write(session.archive(), lacking).expect("written");
                assert_refused(&session.restore(), "step 1 of 2 of the run of ", name);
            }
            fs::write(session.archive(), first).expect("written");
            assert_eq!(session.restore().code, 1, "{name}");
        }
    }
}

/// The first step of a run changes two conversations of a document, the second one of them alone.
#[test]
fn the_last_step_goes_back_first_whatever_lists_it_changed() {
    let folder = tempfile::tempdir().expect("a folder");
    let (archive, file) = (path(folder.path(), "h.jsonl"), path(folder.path(), "s.json"));
    let text = |role: &str, text: &str| json!({"role": role, "content": [{"text": text}]});
    let call =
        |id: &str| json!({"role": "assistant", "content": [{"toolUse": {"toolUseId": id, "name": "f", "input": {}}}]});
    let result = json!({"toolResult": {"toolUseId": "n1", "content": [{"text": "bed 3"}], "status": "success"}});
    let ask = text("user", "Which bed is dry?");
    let one = [ask.clone(), call("n1"), call("n1")];
    let answered = json!({"role": "user", "content": [result]});
    let two = [ask, call("n1"), answered, text("assistant", "Bed 3."), text("assistant", "And bed 4.")];
    let mut document = json!([{"messages": one}, {"messages": two}]);
    fs::write(&file, document.to_string()).expect("written");
    run_on(&archive, &file, &["--from", "bedrock", "--repair", "synthesize", "--keep", "messages:1"]);
    let mut left: Value = serde_json::from_str(&fs::read_to_string(&file).expect("a file")).expect("JSON");
    for one in [&mut left, &mut document] {
        one[1]["messages"].as_array_mut().expect("messages").push(text("user", "Thanks."));
    }
    for grown in [left.to_string(), format!("{left:#}")] {
        fs::write(&file, grown).expect("written");
        let back = with(&["restore", &archive, &file]);
        assert_eq!(back.code, 0, "{back:?}");
        assert_eq!(serde_json::from_str::<Value>(&back.stdout).expect("JSON"), document);
    }
}

/// The record of the first step does not name what the second one left, and what the run before left stands in front of both.
#[test]
fn a_run_whose_first_step_is_cut_off_is_not_left_out() {
    let said = [user(&long("Bed 1")), assistant(&long("Watered")), user("Bed 2."), assistant("Done.")];
    let later = [
        call("c1"),
        user("The token is ghp_0123456789abcdefghijABCDEFGHIJ012345."),
        assistant("Fine."),
        user("Bed 4."),
    ];
    for name in NAMES {
        let session = Session::new(name, &said);
        session.run(&["--keep", "messages:1"]);
        session.grow(&later);
        session.run(&["--repair", "synthesize", "--redact=all", "-m", "none"]);
        let text = fs::read_to_string(session.archive()).expect("an archive");
        let [first, second] = [0, 1].map(|at| text.lines().nth(at).expect("a record"));
        assert!(second.contains("\"steps\":[1,2]"), "{second}");
        session.grow(&[assistant("Watered, too.")]);
        assert_restored(&session.restore(), &[&said[..], &later, &[assistant("Watered, too.")]].concat(), name);
        // The whole first step is there without the second one, too.
        for length in (1..second.len()).step_by(23).chain([second.len(), second.len() + 1]) {
            let end = first.len() + 1 + length;
            fs::write(session.archive(), &text[..end]).expect("written");
            assert_refused(&session.restore(), "line 2 ", &format!("{name} {length}"));
        }
    }
}

/// The text then is again what the first step left, and what the second one found.
#[test]
fn what_the_last_step_removed_can_come_again() {
    let text = |role: &str, text: &str| json!({"role": role, "content": [{"text": text}]});
    let call = json!({"role": "assistant", "content": [{"toolUse": {"toolUseId": "n1", "name": "f", "input": {}}}]});
    let result = json!({"toolResult": {"toolUseId": "n1", "content": [{"text": "bed 3"}], "status": "success"}});
    let answered = json!({"role": "user", "content": [result]});
    let said = [text("user", "Which bed is dry?"), call.clone(), answered, call.clone(), call.clone()];
    for name in NAMES {
        let session = Session::new(name, &said);
        session.run(&["--from", "bedrock", "--repair", "drop", "--redact=all", "-m", "none"]);
        let archive = fs::read_to_string(session.archive()).expect("an archive");
        assert!(archive.contains("\"steps\":[2,2]"), "{archive}");
        assert_eq!(session.messages(), said[..3], "{name}");
        session.grow(std::slice::from_ref(&call));
        assert_restored(&session.restore(), &[&said[..], std::slice::from_ref(&call)].concat(), name);
    }
}
