//! What the lines of calls say of time: a failure and what came of it, and what changed after the last check.

use serde_json::{Value, json};

use crate::all_cases::one_in;
use crate::laws::bricks::Bricks;
use crate::laws::bricks::talk::Step;
use crate::laws::digest::{Section, as_message, digest_of};
use crate::laws::tests::digest::{call, digest_of_chat, items, with_messages};
use crate::tokens::Counter;
use crate::transcript::formats::FORMATS;

fn run(command: &str, result: &str) -> Vec<Value> {
    call("bash", &json!({"command": command}), result)
}

fn edit(path: &str, result: &str) -> Vec<Value> {
    call("Edit", &json!({"file_path": path, "old_string": "a", "new_string": "b"}), result)
}

fn lines(digest: &str) -> Vec<String> {
    items(digest, Section::Calls).into_iter().map(|item| item.text).collect()
}

const WELL: &str = "The file has been updated.";

#[test]
fn a_failure_and_the_success_of_the_same_call_are_one_entry() {
    let failed = "cc a.c\na.c:3:9: error: no zebra\nmake: *** [all] Error 2\n[exit code 2]";
    for (again, is_same) in [
        ("make check", true),
        ("  make   check\n", true),
        ("make 'check'", true),
        ("make other", false),
        ("make check | tail -3", false),
    ] {
        let digest = digest_of_chat(&[run("make check", failed), run(again, "12 passed\n[exit code 0]")].concat(), 900);
        let told = lines(&digest);
        assert_eq!(told.len(), if is_same { 1 } else { 2 }, "{again:?}: {digest}");
        let outcome = told[0].split_once(" → ").expect("a line").1;
        let one = "at [1] exit 2: cc a.c / a.c:3:9: error: no zebra / make: *** [all] Error 2; later exit 0: 12 passed";
        assert_eq!(outcome == one, is_same, "{digest}");
    }
    // The last failure stands, and no later failure is told by an earlier one.
    let runs = [("1 failed", 1), ("2 failed", 1), ("3 passed", 0), ("4 failed", 1)];
    for (count, expected) in [
        (1, "exit 1: 1 failed"),
        (2, "exit 1: 2 failed"),
        (3, "at [3] exit 1: 2 failed; later exit 0: 3 passed"),
        (4, "exit 1: 4 failed"),
    ] {
        let runs =
            runs[..count].iter().flat_map(|(output, code)| run("make check", &format!("{output}\n[exit code {code}]")));
        let digest = digest_of_chat(&runs.collect::<Vec<_>>(), 900);
        assert_eq!(lines(&digest), [format!("`make check` → {expected}")], "{digest}");
    }
}

/// However little room there is, the status of both stands, and the line that names the error.
#[test]
fn a_failure_and_its_success_stand_together_or_not_at_all() {
    let noise = |name: &str| (0..90).map(|at| format!("{name} {at} of the long build goes on\n")).collect::<String>();
    let failed = format!("{}src/a.c:3:9: error: no zebra\n{}1 failed\n[exit code 2]", noise("part"), noise("rest"));
    let well = format!("{}12 passed\n[exit code 0]", noise("part"));
    let others = |at: usize| run(&format!("make bed{at}"), &format!("{}bed {at} is fine\n[exit code 0]", noise("bed")));
    let messages: Vec<Value> = [run("make check", &failed), run("make check", &well)]
        .into_iter()
        .chain((0..12).map(others))
        .flatten()
        .collect();
    let mut told = 0;
    for limit in (40..1_200).step_by(20 * one_in()) {
        let digest = digest_of_chat(&messages, limit);
        let Some(line) = lines(&digest).into_iter().find(|line| line.starts_with("`make check`")) else { continue };
        told += 1;
        let (failure, success) = line.split_once("; later ").unwrap_or_else(|| panic!("{limit}: {digest}"));
        assert!(
            failure.contains("at [1] exit 2: ") && failure.contains("src/a.c:3:9: error: no zebra"),
            "{limit}: {digest}"
        );
        assert!(success.starts_with("exit 0: ") && success.contains("12 passed"), "{limit}: {digest}");
    }
    assert!(told * one_in() > 20, "{told}");
}

#[test]
fn a_failure_of_an_earlier_round_is_one_entry_with_its_success() {
    let mut formats = 0;
    for format in FORMATS.iter().map(|format| format.name()) {
        let call = |result: &str| Step::Call("bash", json!({"command": "make check zc1"}), result.to_owned());
        let digest = |said: &[Step]| {
            let said = [said, &[Step::Assistant("Yes. za1".to_owned())]].concat();
            let source = Bricks::of(format).conversation(&said, 0);
            with_messages(&source, Some(crate::transcript::formats::by_name(format).expect("a format")), |messages| {
                digest_of(messages, Counter::APPROX, 900)
            })
        };
        let outcome = |digest: &str| {
            let lines = lines(digest).into_iter().filter(|line| line.contains("make check"));
            let lines: Vec<String> = lines.filter_map(|line| Some(line.split_once(" → ")?.1.to_owned())).collect();
            assert!(lines.len() < 2, "{format}: {digest}");
            lines.concat()
        };
        let mut text = digest(&[call("bed 7 is dry zr1\n[exit code 1]")]);
        // Some bricks record another status, or hold no such call.
        if !outcome(&text).starts_with("exit 1: bed 7 is dry zr1") {
            continue;
        }
        formats += 1;
        text = digest(&[Step::User(as_message(&text)), call("fine zr2\n[exit code 0]")]);
        for round in 0..3 {
            let told = outcome(&text);
            assert!(
                told.starts_with("at [1:") && told.contains("] exit 1: bed 7 is dry zr1"),
                "{format} {round}: {text}"
            );
            assert!(told.contains("; later exit 0: fine zr2"), "{format} {round}: {text}");
            text = digest(&[Step::User(as_message(&text))]);
        }
        // A pair that was told is one with the next run of the same, too.
        text = digest(&[Step::User(as_message(&text)), call("finer zr3\n[exit code 0]")]);
        let told = outcome(&text);
        assert!(told.starts_with("at [1:") && told.contains("; later exit 0: finer zr3"), "{format}: {text}");
    }
    assert!(formats > 10, "{formats}");
}

/// What succeeded later is not told as failed, even where the state tells the success.
#[test]
fn a_failure_does_not_stand_without_the_success_of_the_same_call() {
    let end = || run("make docs", "fine\n[exit code 0]");
    let todos = json!({"todos": [{"content": "Water the beds.", "status": "pending"}]});
    for (name, arguments, failed, well) in [
        (
            "bash",
            json!({"command": "sed -n '1,9p' a.md"}),
            "bwrap: loopback: no\n[exit code 1]",
            "Water.\n[exit code 0]",
        ),
        (
            "bash",
            json!({"command": "cat a.md"}),
            "cat: a.md: No such file or directory\n[exit code 1]",
            "Water.\n[exit code 0]",
        ),
        ("TodoWrite", todos, "cancelled: a parallel call failed\n[exit code 1]", "Todos have been modified."),
    ] {
        let messages = [call(name, &arguments, failed), call(name, &arguments, well), end()];
        let digest = digest_of_chat(&messages.concat(), 900);
        assert!(!digest.contains("exit 1"), "{name}: {digest}");
        let digest = digest_of_chat(&[call(name, &arguments, failed), end()].concat(), 900);
        assert!(digest.contains("exit 1"), "{name}: {digest}");
    }
}

/// One label says what changed after the last check, and of no other call.
#[test]
fn what_changed_after_the_last_check_stands_with_it() {
    let check = |name: &str| run(&format!("make {name}"), "fine\n[exit code 0]");
    let make = |path: &str| call("create", &json!({"path": path, "file_text": "a"}), "File created successfully.");
    let commit = || run("git commit -m 'Water'", "1 file changed\n[exit code 0]");
    for (messages, expected) in [
        (vec![check("a"), edit("b.rs", WELL)], Some(("a", "b.rs [2]"))),
        (vec![check("a"), edit("b.rs", WELL), commit()], Some(("a", "b.rs [2]"))),
        (vec![check("a"), edit("b.rs", WELL), edit("c.rs", WELL)], Some(("a", "c.rs [4]"))),
        (vec![check("a"), edit("b.rs", WELL), make("new.rs")], Some(("a", "b.rs [2]"))),
        (vec![check("a"), make("new.rs")], Some(("a", "new.rs [2]"))),
        (vec![check("a"), edit("b.rs", WELL), check("c"), edit("b.rs", WELL)], Some(("c", "b.rs [6]"))),
        (vec![check("a"), edit("b.rs", WELL), check("c")], None),
        (vec![edit("b.rs", WELL), check("a")], None),
        (vec![check("a"), edit("b.rs", "No replacement was performed.")], None),
        (vec![check("a"), run("cat b.rs", "b\n[exit code 0]")], None),
    ] {
        let digest = digest_of_chat(&messages.concat(), 900);
        let marked: Vec<String> = lines(&digest).into_iter().filter(|line| line.contains("changed after")).collect();
        let expected: Vec<String> = expected
            .map(|(name, file)| format!("`make {name}` → exit 0: fine; changed after it: {file}"))
            .into_iter()
            .collect();
        assert_eq!(marked, expected, "{digest}");
        let next = [vec![json!({"role": "user", "content": as_message(&digest)})], edit("late.rs", WELL)];
        let next = digest_of_chat(&next.concat(), 900);
        let marked: Vec<String> = lines(&next).into_iter().filter(|line| line.contains("changed after")).collect();
        assert!(marked.len() == 1 && marked[0].ends_with("fine; changed after it: late.rs [1]"), "{next}");
    }
}

/// Runs stand in the order of their results, and the last of each key where it ran.
#[test]
fn runs_stand_in_the_order_of_their_results() {
    let call = |id: &str, command: &str| {
        let function = json!({"name": "bash", "arguments": json!({"command": command}).to_string()});
        json!({"role": "assistant", "content": null, "tool_calls": [{"id": id, "type": "function", "function": function}]})
    };
    let result = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": format!("{id} is done")});
    let messages =
        [call("a", "make a"), call("b", "make b"), result("b"), result("a"), call("c", "make b"), result("c")];
    for (count, expected) in
        [(4, ["`make b` → b is done", "`make a` → a is done"]), (6, ["`make a` → a is done", "`make b` → c is done"])]
    {
        assert_eq!(lines(&digest_of_chat(&messages[..count], 900)), expected);
    }
}
