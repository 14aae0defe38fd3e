//! What the edits of a file come to together is what a digest tells.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::laws::bricks::talk::choices;
use crate::laws::digest::{Section, as_message};
use crate::laws::tests::digest::{call, digest_of_chat, items};

fn edit(old: &str, new: &str) -> Vec<Value> {
    edit_of("a.py", old, new)
}

fn edit_of(path: &str, old: &str, new: &str) -> Vec<Value> {
    let arguments = json!({"file_path": path, "old_string": old, "new_string": new});
    call("Edit", &arguments, "The file has been updated.")
}

fn write(path: &str, text: &str) -> Vec<Value> {
    call("Write", &json!({"file_path": path, "content": text}), "File created successfully.")
}

fn patch(text: &str) -> Vec<Value> {
    let patch = format!("*** Begin Patch\n{text}\n*** End Patch\n");
    call("apply_patch", &json!({"input": patch}), "Success. Updated the following files:")
}

fn run(command: &str) -> Vec<Value> {
    call("bash", &json!({"command": command}), "[exit code 0]")
}

/// The edits that a digest tells, by their files.
fn told(digest: &str) -> BTreeMap<String, String> {
    let items = items(digest, Section::State).into_iter();
    let edits = items.filter_map(|item| {
        let (path, lines) = item.text.strip_prefix("Edits of ")?.split_once(":\n")?;
        Some((path.to_owned(), lines.to_owned()))
    });
    edits.collect()
}

#[test]
fn edits_come_to_one_change() {
    const LINE: &str = "the limit of a bed is";
    let list =
        |edits: Value| call("MultiEdit", &json!({"file_path": "a.py", "edits": edits}), "The file has been updated.");
    let cases: Vec<(&str, Vec<Vec<Value>>, &str)> = vec![
        ("one", vec![edit("a\nb", "a\nc\nd")], "- b\n+ c\n+ d"),
        (
            "a later edit of what came",
            vec![edit("limit = 1", "limit = 2"), edit("limit = 2", "limit = 3")],
            "- limit = 1\n+ limit = 3",
        ),
        ("inside what came", vec![edit("a", "b\nc\nd"), edit("c", "e")], "- a\n+ b\n+ e\n+ d"),
        (
            "around what came",
            vec![edit(&format!("{LINE} 1"), &format!("{LINE} 2")), edit(&format!("x\n{LINE} 2\ny"), "z")],
            "- x\n- the limit of a bed is 1\n- y\n+ z",
        ),
        ("undone", vec![edit("a", "b"), edit("b", "a")], ""),
        ("undone in part", vec![edit("a", "b\nc"), edit("\nc", ""), edit("k", "l")], "- a\n+ b\n…\n- k\n+ l"),
        ("a short text elsewhere", vec![edit("a", "b"), edit("x = b", "y = c")], "- a\n+ b\n…\n- x = b\n+ y = c"),
        ("taken away", vec![edit("a\nb\nc", "a\nc")], "- b"),
        (
            "everywhere",
            vec![
                write("a.py", "a\nb\nx(a)"),
                call(
                    "edit",
                    &json!({"filePath": "a.py", "oldString": "a", "newString": "c", "replaceAll": true}),
                    "Edit applied successfully.",
                ),
            ],
            "+ c\n+ b\n+ x(c)\n…",
        ),
        (
            "a whole file",
            vec![edit("a", "b"), write("a.py", "x = 1\ny = 2\n"), edit("y = 2", "y = 3")],
            "+ x = 1\n+ y = 3",
        ),
        (
            "a list",
            vec![list(json!([{"old_string": "a", "new_string": "b"}, {"old_string": "b", "new_string": "c"}]))],
            "- a\n+ c",
        ),
        (
            "pi",
            vec![call(
                "edit",
                &json!({"path": "a.py", "edits": [{"oldText": "a", "newText": "b"}]}),
                "Successfully replaced 1 block(s).",
            )],
            "- a\n+ b",
        ),
        ("a patch", vec![patch("*** Update File: a.py\n@@ def f\n a\n-b\n+c\n@@\n-x\n+y")], "- b\n+ c\n…\n- x\n+ y"),
        (
            "a patch that adds",
            vec![patch("*** Add File: a.py\n+a\n+b"), patch("*** Update File: a.py\n@@\n a\n-b\n+c")],
            "+ a\n+ c",
        ),
        ("a patch that takes away", vec![edit("a", "b"), patch("*** Delete File: a.py")], ""),
        ("made and removed", vec![write("a.py", "a"), edit("a", "b"), run("rm a.py")], ""),
        ("reset", vec![edit("a", "b"), run("git checkout -- a.py")], ""),
        ("renamed", vec![edit_of("old.py", "a", "b"), run("git mv old.py a.py"), edit("b", "c")], "- a\n+ c"),
        (
            "moved by a patch",
            vec![edit_of("old.py", "a", "b"), patch("*** Update File: old.py\n*** Move to: a.py\n@@\n-b\n+c")],
            "- a\n+ c",
        ),
        ("a here-document", vec![run("cat > a.py <<'EOF'\na\nb\nEOF\ncat >> a.py <<EOF\nc\nEOF")], "+ a\n+ b\n…\n+ c"),
        ("behind its mark", vec![run("cat <<'EOF' > a.py && python a.py\na\nb\nEOF")], "+ a\n+ b"),
        (
            "a diff",
            vec![run(
                "git apply <<'EOF'\ndiff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,3 +1,3 @@\n a\n--- b\n+c\n d\nEOF\ngit status",
            )],
            "- -- b\n+ c",
        ),
        (
            "search and replace",
            vec![call(
                "replace_in_file",
                &json!({"path": "a.py", "diff": "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE"}),
                "The file has been updated.",
            )],
            "- a\n+ b",
        ),
        (
            "added",
            vec![call(
                "str_replace_editor",
                &json!({"command": "insert", "path": "a.py", "insert_line": 1, "new_str": "a\nb"}),
                "The file a.py has been edited.",
            )],
            "+ a\n+ b",
        ),
        ("changed by a program, too", vec![edit("a", "b"), run("sed -i s/x/y/ a.py")], "- a\n+ b\n…"),
        (
            "failed",
            vec![
                edit("a", "b"),
                call(
                    "Edit",
                    &json!({"file_path": "a.py", "old_string": "c", "new_string": "d"}),
                    "String to replace not found in file.",
                ),
            ],
            "- a\n+ b",
        ),
        (
            "taken back by the editor",
            vec![
                edit("a", "b"),
                call(
                    "str_replace_editor",
                    &json!({"command": "undo_edit", "path": "a.py"}),
                    "Last edit to a.py undone successfully.",
                ),
            ],
            "",
        ),
        ("between braces", vec![edit("a {\n}\n", "a {\n}\nb {\n}\nc {\n  d\n}\n")], "+ b {\n+ }\n+ c {\n+   d\n+ }"),
        ("indented anew", vec![edit("a\nb", "if x:\n    a\n    b")], "+ if x:"),
    ];
    let mut wrong = Vec::new();
    for (name, calls, expected) in cases {
        let digest = digest_of_chat(&calls.concat(), 3_000);
        let edits = told(&digest);
        let lines = edits.get("a.py").map(String::as_str).unwrap_or_default();
        if lines != expected || edits.len() != usize::from(!expected.is_empty()) {
            wrong.push(format!("{name}: {lines:?} and not {expected:?}\n{digest}"));
        }
        // What is carried on is the same, and so are later rounds.
        let carried =
            |digest: &str| told(&digest_of_chat(&[json!({"role": "user", "content": as_message(digest)})], 3_000));
        assert_eq!(carried(&digest), edits, "{name}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The lines of a text, each with how often it is there.
fn counted<'t>(lines: impl Iterator<Item = &'t str>) -> BTreeMap<&'t str, i32> {
    let mut counted = BTreeMap::new();
    lines.filter(|line| !line.is_empty()).for_each(|line| *counted.entry(line).or_default() += 1);
    counted
}

/// Whatever edits follow each other: the lines that went, taken from the file as it was, and those that came give the file
/// as it is, over two rounds as well.
#[test]
fn the_change_that_is_told_makes_the_file() {
    for seed in 0..crate::all_cases::share(300) as u64 {
        let mut below = choices(seed);
        let original: Vec<String> = (0..12).map(|at| format!("let bed_number_{at} = water({at});")).collect();
        let (mut file, mut calls, mut earlier) = (original.clone(), Vec::new(), None);
        let mut states = vec![original.clone()];
        for number in 0..below(14) {
            let start = below(file.len());
            let end = (start + 1 + below(4)).min(file.len());
            // Sometimes what was there once comes again.
            let old_state = &states[below(states.len())];
            let again: Vec<String> = old_state.iter().filter(|line| !file.contains(line)).take(2).cloned().collect();
            let mut new: Vec<String> =
                (0..below(3)).map(|at| format!("let new_{number}_{at} = dry({seed});")).collect();
            new.extend(again.into_iter().take(below(3)));
            if below(3) == 0 {
                new.push(file[start].clone());
            }
            if new.is_empty() && end - start == file.len() {
                continue;
            }
            // Without new lines, the end of the last one goes as well.
            let text =
                |lines: &[String]| lines.join("\n") + if new.is_empty() && !lines.is_empty() { "\n" } else { "" };
            let whole: Vec<String> = [&file[..start], &new, &file[end..]].concat();
            let next = match below(5) {
                0 => {
                    let signed = |sign: &str, lines: &[String]| {
                        lines.iter().map(|line| format!("{sign}{line}\n")).collect::<String>()
                    };
                    let body = signed("-", &file[start..end]) + &signed("+", &new);
                    patch(format!("*** Update File: a.py\n@@\n{body}").trim_end())
                }
                1 if number > 0 && below(4) == 0 => {
                    earlier = Some(as_message(&chat(earlier.take(), &calls, 6_000)));
                    calls.clear();
                    edit(&text(&file[start..end]), &text(&new))
                }
                _ => edit(&text(&file[start..end]), &text(&new)),
            };
            calls.push(next);
            file = whole;
            states.push(file.clone());
        }
        let digest = chat(earlier, &calls, 6_000);
        let edits = told(&digest);
        let lines = edits.get("a.py").map(String::as_str).unwrap_or_default();
        let mut found = counted(original.iter().map(String::as_str));
        for line in lines.lines().filter(|line| *line != "…") {
            *found.entry(&line[2..]).or_default() += if line.starts_with('-') { -1 } else { 1 };
        }
        found.retain(|_, number| *number != 0);
        assert_eq!(found, counted(file.iter().map(String::as_str)), "{seed}: {lines}\n{calls:#?}");
    }
}

fn chat(earlier: Option<String>, calls: &[Vec<Value>], limit: u64) -> String {
    let earlier = earlier.map(|text| json!({"role": "user", "content": text}));
    digest_of_chat(&earlier.into_iter().chain(calls.concat()).collect::<Vec<_>>(), limit)
}

/// The largest change stands where little has room; more room never loses a line; and what was cut once is not cut again.
#[test]
fn the_largest_change_comes_first() {
    let lines = |name: &str, count: usize| {
        (0..count).map(|at| format!("    {name}_{at} = {at}")).collect::<Vec<_>>().join("\n")
    };
    let calls = [
        edit_of("src/a.py", &lines("old", 30), &lines("new", 40)),
        edit_of("src/a.py", "import os", "import sys"),
        edit_of("src/b.py", "c", "d"),
        write("src/c.py", &lines("made", 12)),
    ];
    let mut before = BTreeMap::new();
    for limit in (100..3_000).step_by(61) {
        let digest = chat(None, &calls, limit);
        let edits = told(&digest);
        for (path, lines) in &before {
            let longer: &String = edits.get(path).unwrap_or_else(|| panic!("{path} is lost: {digest}"));
            let lines: &String = lines;
            assert!(
                lines.lines().all(|line| line.ends_with('…') || longer.lines().any(|other| other == line)),
                "{lines}\n{longer}"
            );
        }
        let first = digest.lines().find_map(|line| line.split_once("Edits of "));
        assert!(first.is_none_or(|(_, path)| path == "src/a.py:"), "{digest}");
        if let Some(largest) = edits.get("src/a.py") {
            assert!(largest.contains("- ") && largest.contains("+ "), "{digest}");
        }
        let carried = |digest: &str| told(&chat(Some(as_message(digest)), &[], 6_000));
        assert_eq!(carried(&digest), edits, "{digest}");
        before = edits;
    }
    assert_eq!(before.len(), 3, "{}", chat(None, &calls, 3_000));
    assert!(before["src/a.py"].ends_with("…\n- import os\n+ import sys"), "{before:?}");
}

/// Edits that grow, that are large, or that are many and alike.
#[test]
fn edits_of_any_number_and_size_are_told() {
    let doubled = (0..60).flat_map(|_| {
        let arguments = json!({"file_path": "a.py", "old_string": "x", "new_string": "xx", "replace_all": true});
        call("Edit", &arguments, "The file a.py has been updated.")
    });
    let long = "value = compute_zone(7)\n".repeat(400);
    let many = (0..300).flat_map(|at| edit_of(&format!("m{}.py", at % 7), &format!("a{at:04}"), &format!("b{at:04}")));
    let histories: [Vec<Value>; 3] =
        [edit("y", "x").into_iter().chain(doubled).collect(), edit("short", &long), many.collect()];
    for messages in histories {
        let digest = digest_of_chat(&messages, 3_000);
        assert!(digest.contains("\n  + "), "{digest}");
    }
}

/// A shell in a shell in a shell, without end.
#[test]
fn shells_in_shells_are_left_alone() {
    let digest = digest_of_chat(&run(&("sh -c ".repeat(60_000) + "x")), 300);
    assert!(digest.contains("sh -c"), "{digest}");
}
