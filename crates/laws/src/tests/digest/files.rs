//! What a digest tells of files: the calls on each, in their order and their words.

use serde_json::{Value, json};

use crate::digest::{Section, as_message};
use crate::tests::digest::{call, digest_of_chat, items};

fn lines(digest: &str) -> Vec<String> {
    items(digest, Section::State).into_iter().filter(|item| item.index.is_none()).map(|item| item.text).collect()
}

fn with_end(messages: Vec<Vec<Value>>) -> Vec<Value> {
    let mut all = messages.concat();
    all.push(json!({"role": "user", "content": "Go on."}));
    all
}

const WELL: &str = "The file has been updated.";
const OK: &str = "done\n[exit code 0]";
const FAILED: &str = "no\n[exit code 1]";

/// Law 19: under a file's name stand the calls on that file, as they are recorded, and nothing that was inferred.
#[test]
fn a_file_has_the_calls_on_it_in_order() {
    let edit =
        |result: &str| call("Edit", &json!({"file_path": "src/a.rs", "old_string": "a", "new_string": "b"}), result);
    let write = || call("Write", &json!({"file_path": "src/a.rs", "content": "a"}), "File created successfully.");
    let bash = |command: &str, result: &str| call("bash", &json!({"command": command}), result);
    let patch = "*** Begin Patch\n*** Update File: b.rs\n@@\n-one\n+two\n*** Add File: c.rs\n+x\n*** End Patch\n";
    for (calls, expected) in [
        (vec![write(), edit(WELL), edit(WELL)], "src/a.rs: write [0], edit [2-4]"),
        (vec![edit(WELL), edit(FAILED), edit(WELL)], "src/a.rs: edit [0], edit failed [2], edit [4]"),
        (
            vec![edit(WELL), bash("git checkout -- src/a.rs", "Updated 1 path from the index")],
            "src/a.rs: edit [0], git checkout [2]",
        ),
        (vec![edit(WELL), bash("git checkout main", OK)], "src/a.rs: edit [0]"),
        (vec![edit(WELL), bash("git checkout feature/beds", OK)], "src/a.rs: edit [0]"),
        (vec![edit(WELL), bash("git checkout .", OK)], "src/a.rs: edit [0]"),
        (vec![edit(WELL), bash("cd src && rm a.rs", OK)], "src/a.rs: edit [0]"),
        (vec![edit(WELL), bash("rm lib/src/a.rs", OK)], "src/a.rs: edit [0]; lib/src/a.rs: rm [2]"),
        (vec![edit(WELL), bash("cd /w && rm src/a.rs", FAILED)], "src/a.rs: edit [0], rm failed [2]"),
        // What failed and its later success stand in order; after a later run of all, what failed before does not stand.
        (vec![edit(WELL), bash("pytest src/a.rs", FAILED), bash("pytest", OK)], "src/a.rs: edit [0]"),
        (
            vec![edit(WELL), bash("python src/a.rs", FAILED), bash("python --version", OK)],
            "src/a.rs: edit [0], python failed [2]",
        ),
        (
            vec![edit(WELL), bash("git stash push src/a.rs", FAILED), bash("git stash list", OK)],
            "src/a.rs: edit [0], git stash failed [2]",
        ),
        (vec![edit(WELL), bash("sh src/a.rs", FAILED), bash("sh b.rs", OK)], "src/a.rs: edit [0], sh failed [2]"),
        (
            vec![edit(WELL), bash("sh src/a.rs", FAILED), bash("sh src/a.rs", OK)],
            "src/a.rs: edit [0], sh failed [2], sh [4]",
        ),
        (vec![edit(WELL), bash("sh b.rs", OK), bash("sh src/a.rs", FAILED)], "src/a.rs: edit [0], sh failed [4]"),
        (vec![edit(WELL), bash("cat src/a.rs", OK)], "src/a.rs: edit [0]"),
        (vec![bash("cat > notes.md <<'EOF'\nx\nEOF", OK)], "notes.md: cat > [0]"),
        (vec![bash("sed -i 's/a/b/' src/a.rs", OK)], "src/a.rs: sed [0]"),
        (vec![call("apply_patch", &json!({"input": patch}), "Success.")], "b.rs: update [0]; c.rs: add [0]"),
        (vec![bash(&format!("apply_patch <<'EOF'\n{patch}EOF"), OK)], "b.rs: apply_patch [0]; c.rs: apply_patch [0]"),
        // Whether these were made, their tools say in a sentence of their own.
        (
            vec![edit("No replacement was performed, old_str `a` did not appear verbatim in src/a.rs.")],
            "src/a.rs: edit failed [0]",
        ),
        (
            vec![edit(WELL), edit("<tool_use_error>File has not been read yet.</tool_use_error>")],
            "src/a.rs: edit [0], edit failed [2]",
        ),
        (
            vec![bash(&format!("apply_patch <<'EOF'\n{patch}EOF"), "apply_patch verification failed: no such lines")],
            "b.rs: apply_patch failed [0]; c.rs: apply_patch failed [0]",
        ),
        (vec![edit("Failed edits are listed in src/b.rs now.")], ""),
        // What is written behind a file is not a file that is written anew.
        (
            vec![bash("cat > notes.md <<'EOF'\nx\nEOF", OK), bash("cat >> notes.md <<'EOF'\ny\nEOF", OK)],
            "notes.md: cat > [0], cat >> [2]",
        ),
        (vec![bash("echo 'a > b' 1>>'my notes.md' 2>/dev/null", OK)], "my notes.md: echo >> [0]"),
        (vec![edit(WELL), bash("cat src/a.rs 2>/dev/null > b.rs", OK)], "src/a.rs: edit [0]; b.rs: cat > [2]"),
        // A text is not a command, and names no file; a program that is run does.
        (
            vec![bash("mkdir -p ./w && touch ./w/a.md && echo \"# A\n\nA place for w/a.md.\" > ./w/a.md", OK)],
            "w/a.md: touch [0], echo > [0]",
        ),
        (vec![edit(WELL), bash("git commit -m 'Mend src/a.rs\n\nrm src/a.rs'", OK)], "src/a.rs: edit [0]"),
        (vec![edit(WELL), bash("cat <<'EOF'\nM src/a.rs\nA src/a.rs\nEOF", OK)], "src/a.rs: edit [0]"),
        (vec![edit(WELL), bash("test -f src/a.rs", OK)], "src/a.rs: edit [0]"),
        (
            vec![edit(WELL), bash("python3 - <<'EOF'\nprint(open('src/a.rs').read())\nEOF", OK)],
            "src/a.rs: edit [0], python3 [2]",
        ),
        (vec![edit(WELL), bash("bash -lc \"cd /w && rm src/a.rs\"", OK)], "src/a.rs: edit [0], rm [2]"),
        (vec![edit(WELL), bash("for f in a b; do sh src/a.rs $f; done", OK)], "src/a.rs: edit [0], sh [2]"),
        (vec![call("Read", &json!({"file_path": "src/a.rs"}), "fn main() {}")], "Read: src/a.rs [1]"),
        (vec![call("Read", &json!({"file_path": "src/a.rs"}), "Error: no such file")], ""),
    ] {
        let digest = digest_of_chat(&with_end(calls), 900);
        assert_eq!(lines(&digest).join("; "), expected, "{digest}");
    }
}

/// The calls of earlier rounds stand before those of this one, with their places.
#[test]
fn a_file_keeps_its_calls_through_rounds() {
    let edit = || call("Edit", &json!({"file_path": "src/a.rs", "old_string": "a", "new_string": "b"}), WELL);
    let mut digest = digest_of_chat(&with_end(vec![edit(), edit()]), 900);
    for round in 1..4 {
        let messages = [vec![json!({"role": "user", "content": as_message(&digest)})], with_end(vec![edit()])].concat();
        digest = digest_of_chat(&messages, 900);
        let line = lines(&digest).concat();
        assert_eq!(
            line,
            format!("src/a.rs: edit [{}1]", ["1:0-2,", "1:0-2,2:1,", "1:0-2,2:1,3:1,"][round - 1]),
            "{digest}"
        );
    }
}

/// Of a file with many calls the first and the last are told first, and the gap shows.
#[test]
fn the_first_and_the_last_calls_on_a_file_come_first() {
    let bash = |at: usize| call("bash", &json!({"command": format!("tool{at}x src/a.rs")}), OK);
    let mut messages =
        vec![call("Write", &json!({"file_path": "src/a.rs", "content": "a"}), "File created successfully.")];
    messages.extend((0..40).map(bash));
    let digest = digest_of_chat(&with_end(messages), 900);
    let line = lines(&digest).concat();
    assert!(line.starts_with("src/a.rs: write [0], … ") && line.ends_with("tool39x [80]"), "{digest}");
}
