//! How calls and edits ended is told by their status.

use crate::tokens::Counter;
use crate::transcript::formats::by_name;
use serde_json::{Value, json};

use crate::laws::digest::{FILES, assert_digest, digest_of, parse};
use crate::laws::lawful::with_document;
use crate::laws::tests::digest::{chat, digest_of_chat, with_messages};

/// A call of `make check` with a structured status, in a format: whether this has an exit code, and the messages with an
/// output, if it went well or not.
type Called = (&'static str, bool, fn(&str, bool) -> Value);

const STATUSES: [Called; 14] = [
    ("anthropic", false, |output, well| {
        let result = json!({"type": "tool_result", "tool_use_id": "a", "content": output, "is_error": !well});
        let call = json!({"type": "tool_use", "id": "a", "name": "bash", "input": {"command": "make check"}});
        json!([{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}])
    }),
    ("bedrock", false, |output, well| {
        let status = if well { "success" } else { "error" };
        let result = json!({"toolResult": {"toolUseId": "a", "content": [{"text": output}], "status": status}});
        let call = json!({"toolUse": {"toolUseId": "a", "name": "bash", "input": {"command": "make check"}}});
        json!([{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}])
    }),
    ("openai-chat", true, |output, well| {
        chat(&format!("Exit code: {}\nWall time: 0.1 seconds\nOutput:\n{output}", i32::from(!well)))
    }),
    ("openai-chat", true, |output, well| {
        chat(&format!("Process exited with code {}\nOutput:\n{output}", i32::from(!well)))
    }),
    ("openai-chat", true, |output, well| {
        chat(&json!({"output": output, "metadata": {"exit_code": i32::from(!well)}}).to_string())
    }),
    ("openai-chat", true, |output, well| chat(&json!({"stdout": output, "exit_code": i32::from(!well)}).to_string())),
    ("openai-chat", false, |output, well| chat(&json!({"success": well, "message": output}).to_string())),
    ("openai-chat", true, |output, well| {
        chat(&format!("<returncode>{}</returncode>\n<output>\n{output}\n</output>", i32::from(!well)))
    }),
    ("openai-chat", true, |output, well| {
        let observation = format!("<returncode>{}</returncode>\n<output>\n{output}\n</output>", i32::from(!well));
        let said = json!({"role": "assistant", "content": "I check it.\n```bash\nmake check\n```"});
        json!([said, {"role": "user", "content": observation}])
    }),
    ("openai-chat", true, |output, well| {
        let mut messages = chat(output);
        messages[1]["extra"] = json!({"returncode": i32::from(!well)});
        messages
    }),
    ("tau-bench", false, |output, well| {
        let call = json!({"id": "a", "name": "bash", "arguments": {"command": "make check"}, "requestor": "assistant"});
        let result = json!({"id": "a", "role": "tool", "content": output, "requestor": "assistant", "error": !well});
        json!([{"role": "assistant", "content": null, "tool_calls": [call]}, result])
    }),
    ("openhands", true, |output, well| {
        let about = json!({"tool_call_id": "a", "function_name": "execute_bash"});
        let call = json!({"id": 1, "source": "agent", "action": "run", "args": {"command": "make check", "thought": ""},
            "tool_call_metadata": about});
        let result = json!({"id": 2, "source": "agent", "observation": "run", "content": output,
            "extras": {"metadata": {"exit_code": i32::from(!well)}}, "tool_call_metadata": about});
        json!([call, result])
    }),
    ("inspect", false, |output, well| {
        let call = json!({"id": "a", "function": "bash", "arguments": {"command": "make check"}});
        let mut result = json!({"id": "r", "content": output, "role": "tool", "tool_call_id": "a", "function": "bash"});
        if !well {
            result["error"] = json!({"type": "unknown", "message": output});
        }
        json!([{"id": "c", "content": "", "source": "generate", "role": "assistant", "tool_calls": [call]}, result])
    }),
    ("ai-sdk", false, |output, well| {
        let kind = if well { "text" } else { "error-text" };
        let call =
            json!({"type": "tool-call", "toolCallId": "a", "toolName": "bash", "input": {"command": "make check"}});
        let output = json!({"type": kind, "value": output});
        let result = json!({"type": "tool-result", "toolCallId": "a", "toolName": "bash", "output": output});
        json!([{"role": "assistant", "content": [call]}, {"role": "tool", "content": [result]}])
    }),
];

/// Law 14: a status stands where it is recorded, and no word of an output is taken for one.
#[test]
fn a_recorded_status_outranks_words() {
    const OUTPUTS: [&str; 11] = [
        "error: 3 tests FAILED",
        "Traceback (most recent call last):\n  File \"a.py\"\nValueError: no",
        "thread 'main' panicked at src/a.rs:3\nfatal: not a git repository",
        "12 passed, 1 failed",
        "failed: no route to host",
        "exit 1: the last line",
        "12 passed",
        "ok: all is well",
        "exit 0: done",
        "is_error: no",
        "cancelled by the user: no",
    ];
    let mut failed = Vec::new();
    for (number, (format, has_code, messages)) in STATUSES.iter().enumerate() {
        for (output, well) in OUTPUTS.iter().flat_map(|output| [(output, true), (output, false)]) {
            let source = messages(output, well).to_string();
            let lines: Vec<String> = with_document(&source, by_name(format), |document| {
                let items = parse(&assert_digest(&document.transcripts[0], Counter::APPROX, 600)).into_iter();
                items.filter_map(|item| Some(item.text.split_once("`make check` → ")?.1.to_owned())).collect()
            });
            let first = output.split([' ', '\n']).next().unwrap_or("");
            let (status, other) = match (has_code, well) {
                (true, true) => ("exit 0: ", ""),
                (true, false) => ("exit 1: ", ""),
                (false, false) => ("is_error: ", ""),
                // An output that begins like a status has a label.
                (false, true) if ["exit", "is_error:", "cancelled", "ok:", "failed:"].contains(&first) => {
                    ("output: ", "success: true")
                }
                (false, true) => (first, "success: true"),
            };
            let is_told = |line: &String| line.starts_with(status) || !other.is_empty() && line.starts_with(other);
            if lines.len() != 1 || !lines.iter().all(is_told) {
                failed.push(format!("{number} {format}, {well}: {lines:?} of {output:?}"));
            }
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

/// The exit code of a command that hides it says nothing.
#[test]
fn a_hidden_status_is_not_told() {
    for (command, is_hidden) in [
        ("make check", false),
        ("make check && make docs", false),
        ("make check; make docs", false),
        ("grep -c 'a|b' x.txt", false),
        ("set -o pipefail; make check | tee log", false),
        ("make check && echo done", false),
        ("make check 2>&1", false),
        ("cat > a.py <<'EOF'\na | b\nEOF", false),
        ("make check 2>&1 | tail -3", true),
        ("make check |& tee log", true),
        ("(cd web && make check) | grep -v warning", true),
        ("make check || true", true),
        ("make check; echo $?", true),
        ("make check\necho done", true),
        ("make check &", true),
        ("for a in b c; do make $a; done", true),
        ("python -c \"\nprint(1)\n\" | tail -1", true),
        ("bash -lc \"make check\"", false),
        ("bash -lc \"make check | tail -3\"", true),
        ("sh -c 'make check || true'", true),
    ] {
        for code in [0, 1] {
            let mut messages = chat(&format!("the last line\n[exit code {code}]"));
            messages[0]["tool_calls"][0]["function"]["arguments"] = json!(json!({"command": command}).to_string());
            let digest = with_messages(&messages.to_string(), by_name("openai-chat"), |messages| {
                digest_of(messages, Counter::APPROX, 600)
            });
            let told = digest.contains(&format!("→ exit {code}: the last line"));
            assert!(told != is_hidden && digest.contains(": the last line") != is_hidden, "{command}: {digest}");
        }
    }
}

/// An edit is among the failed ones only if its status says so. Where that and its words differ, it is tried.
#[test]
fn an_edit_ended_as_its_status_says() {
    for (output, well) in
        [("error: FAILED no match, String to replace not found", true), ("The file has been updated.", false)]
    {
        let input = json!({"file_path": "src/a.rs", "old_string": "a", "new_string": "b"});
        let call = json!({"type": "tool_use", "id": "a", "name": "Edit", "input": input});
        let result = json!({"type": "tool_result", "tool_use_id": "a", "content": output, "is_error": !well});
        let source =
            json!([{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]).to_string();
        let digest = with_messages(&source, by_name("anthropic"), |messages| digest_of(messages, Counter::APPROX, 900));
        assert!(!digest.contains("Changed: src/a.rs"), "{digest}");
        assert_eq!(digest.contains("Failed edit of src/a.rs"), !well, "{digest}");
        assert_eq!(digest.contains("Tried edit of src/a.rs"), well, "{digest}");
    }
}

/// Law 19: a path is told as changed by a recorded success or a known form of success.
#[test]
fn a_path_is_told_as_changed_by_a_success_alone() {
    let edit =
        |result: &str| (json!({"file_path": "src/a.rs", "old_string": "a", "new_string": "b"}), result.to_owned());
    for (result, is_known) in [
        ("The file src/a.rs has been updated.", true),
        ("Successfully replaced text in src/a.rs.", true),
        ("Success. Updated the following files:\nM src/a.rs", true),
        ("No replacement was performed, old_str `a` did not appear verbatim in src/a.rs.", false),
        ("<tool_use_error>File has not been read yet. Read it first.</tool_use_error>", false),
        ("RuntimeError: editor backend crashed", false),
        ("Your edit was not applied.", false),
        ("apply_patch verification failed: Failed to find expected lines in src/a.rs", false),
        ("Edit was rejected by the user.", false),
        ("", false),
    ] {
        let (arguments, result) = edit(result);
        let digest = digest_of_calls(&[("Edit", arguments, &result)]);
        assert_eq!(digest.contains("- Changed: src/a.rs [0]"), is_known, "{digest}");
        assert_eq!(digest.contains("Tried edit of src/a.rs: "), !is_known, "{digest}");
    }
    let (ok, none, failed) = ("\n[exit code 0]", "", "\n[exit code 1]");
    for (commands, expected) in [
        (&[("sed -i 's/a/b/' src/a.rs", ok)][..], "Changed: src/a.rs [0]"),
        (&[("sed -i -e 's/a/b/' src/a.rs", ok)], "Changed: src/a.rs [0]"),
        (&[("perl -pi -e 's/a/b/' src/a.rs", ok)], "Changed: src/a.rs [0]"),
        (&[("bash -c \"sed -i 's/a/b/' src/a.rs\"", ok)], "Changed: src/a.rs [0]"),
        (&[("cd web && echo a >> a.css", ok)], "Changed: web/a.css [0]"),
        (
            &[("patch -p1 <<'EOF'\n--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1 +1 @@\n-a\n+b\nEOF", ok)],
            "Changed: src/a.rs [0]",
        ),
        (
            &[("git apply <<'EOF'\n--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1 +1 @@\n-a\n+b\nEOF", ok)],
            "Changed: src/a.rs [0]",
        ),
        (&[("patch src/a.rs < fix.patch", ok)], "Changed: src/a.rs [0]"),
        (&[("truncate -s 0 conf/a.txt", ok)], "Changed: conf/a.txt [0]"),
        (&[("touch 'app/[id]/page.tsx'", ok)], "Changed: app/[id]/page.tsx [0]"),
        (&[("cp a.txt b.txt", ok)], "Created: b.txt [0]"),
        (&[("cp a.txt b.txt conf/", ok)], "Created: conf/a.txt [0], conf/b.txt [0]"),
        (&[("git rm -q src/a.rs", ok)], "Deleted: src/a.rs [0]"),
        (&[("git mv a.rs b.rs", ok)], "Renamed: a.rs → b.rs [0]"),
        (&[("edit 1:1\nb\nend_of_edit", "[File: /w/a.py (4 lines total)]\n1:b")], "Changed: /w/a.py [0]"),
        (
            &[("edit 1:1\nb\nend_of_edit", "Your proposed edit is wrong\n[File: /w/a.py (4 lines total)]")],
            "Tried: /w/a.py [0]",
        ),
        (&[("make && touch a.rs", none), ("touch a.rs", ok)], "Changed: a.rs [2]"),
        (&[("make && touch a.rs", none)], "Tried: a.rs [0]"),
        // The exit code of what hides it tells of the steps that decide it.
        (&[("sed -i 's/a/b/' a.rs | cat", ok)], "Tried: a.rs [0]"),
        (&[("sed -i 's/a/b/' a.rs || true", ok)], "Tried: a.rs [0]"),
        (&[("make || sed -i 's/a/b/' a.rs", ok)], "Tried: a.rs [0]"),
        (&[("sed -i 's/a/b/' a.rs; make | tail -3", ok)], "Tried: a.rs [0]"),
        (&[("for a in x y; do echo $a > a.rs; done", ok)], "Tried: a.rs [0]"),
        (&[("bash -c \"sed -i 's/a/b/' a.rs | cat\"", ok)], "Tried: a.rs [0]"),
        (&[("touch a.rs &", ok)], "Tried: a.rs [0]"),
        (&[("sed -i 's/a/b/' a.rs && make | tail -3", ok)], "Changed: a.rs [0]"),
        (&[("make | tail -3; sed -i 's/a/b/' a.rs", ok)], "Changed: a.rs [0]"),
        (&[("make | tail -3\ncat > a.rs <<'EOF'\na | b\nEOF", ok)], "Changed: a.rs [0]"),
        (&[("make | tail -3; sed -i 's/a/b/' a.rs", failed)], "Tried: a.rs [0]"),
        (&[("touch a.rs && make", failed)], "Tried: a.rs [0]"),
        (&[("touch a.rs", failed)], ""),
        (&[("rm src/a.rs", "rm: cannot remove 'src/a.rs': No such file or directory")], ""),
        (&[("echo a >> /b/a.txt || true", "zsh: operation not permitted: /b/a.txt\n[exit code 0]")], ""),
        (&[("rm a.txt", ok), ("touch a.txt", ok)], "Changed: a.txt [0-2]"),
        (&[("cp x.txt a.txt", ok), ("rm a.txt", ok)], ""),
        (&[("cat b.txt", "b\n[exit code 0]"), ("cp x.txt b.txt", ok)], "Changed: b.txt [2]"),
        (&[("cat src/b.txt src", "cat: src: Is a directory\nb")], "Read: src/b.txt [1]"),
        (&[("cat ghost.txt", "cat: ghost.txt: No such file or directory")], ""),
        // What a recorded success prints is text of the file.
        (
            &[("sed -i 's/a/b/' a.rs && grep -n raise a.rs", "a.rs:2: raise E(\"not found\")\n[exit code 0]")],
            "Changed: a.rs [0]",
        ),
        (&[("git apply --check <<'EOF'\n--- a/a.rs\n+++ b/a.rs\n@@ -1 +1 @@\n-a\n+b\nEOF", ok)], ""),
        (&[("rm old.txt # remove the stale copy", ok)], "Deleted: old.txt [0]"),
        (&[("if [ ! -f lock ]; then\nrm a.txt\nfi", ok)], "Tried: a.txt [0]"),
        (&[("touch a.rs", ok), ("git checkout .", ok)], "Restored: a.rs [0]"),
        (&[("cp x.rs a.rs", ok), ("git checkout .", ok)], "Created: a.rs [0]"),
        // Into a folder, a file keeps its name.
        (&[("mkdir -p d", ok), ("cp src/a.txt d", ok)], "Created: d/a.txt [2]"),
        (&[("mkdir d; mv a.txt d", ok)], "Renamed: a.txt → d/a.txt [0]"),
        (&[("touch d/b.txt", ok), ("cp a.txt d", ok)], "Changed: d/b.txt [0]; Created: d/a.txt [2]"),
        (&[("cp -v -t conf a.txt b.txt", ok)], "Created: conf/a.txt [0], conf/b.txt [0]"),
        (&[("mv --target-directory=conf a.txt", ok)], "Renamed: a.txt → conf/a.txt [0]"),
        (&[("cp a.txt \\\n  b.txt", ok)], "Created: b.txt [0]"),
        (&[("(cd web && touch a.css); rm b.css", ok)], "Changed: web/a.css [0]; Deleted: b.css [0]"),
        (&[("touch a.rs", ok), ("git checkout a.rs", ok)], "Restored: a.rs [0-2]"),
        (&[("git checkout a.rs", "Updated 1 path from the index\n[exit code 0]")], "Restored: a.rs [0]"),
        (&[("git checkout feature/a.b", "Switched to branch 'feature/a.b'\n[exit code 0]")], ""),
        (
            &[("cat > a.md <<'EOF'\n*** Begin Patch\n*** Update File: b.rs\n*** End Patch\nEOF", ok)],
            "Changed: a.md [0]",
        ),
        (&[("git rm -n a.rs; git mv -n a.rs b.rs", ok)], ""),
        (&[("touch -d 2020-01-01 a.rs", ok)], "Changed: a.rs [0]"),
        (&[("git restore --source HEAD~1 a.rs", ok)], "Restored: a.rs [0]"),
        (&[("sed -i 's/a/b/' a.rs", none)], "Changed: a.rs [0]"),
        (&[("sed -i 's/a/b/' a.rs 2>log", none)], "Tried: a.rs [0]"),
    ] {
        let calls: Vec<_> =
            commands.iter().map(|(command, result)| ("bash", json!({"command": command}), *result)).collect();
        let digest = digest_of_calls(&calls);
        let lists: Vec<&str> = digest
            .lines()
            .filter_map(|line| line.strip_prefix("- "))
            .filter(|line| FILES.iter().any(|list| line.starts_with(list)))
            .collect();
        assert_eq!(lists.join("; "), expected, "{commands:?}: {digest}");
    }
}

/// What is text is not done: a patch inside a document, the lines of a part of a file, an edit that was taken back.
#[test]
fn edits_are_told_as_they_were_made() {
    let edit = |old: &str, new: &str| json!({"command": "str_replace", "path": "a.rs", "old_str": old, "new_str": new});
    let done = "The file a.rs has been edited successfully.";
    let patch = "Run apply_patch:\n*** Begin Patch\n*** Update File: b.rs\n@@\n-one\n+two\n*** End Patch\n";
    let lines = json!({"path": "a.rs", "start_line": 3, "end_line": 4, "content": "let b = 2;"});
    let undo = json!({"command": "undo_edit", "path": "a.rs"});
    let editor = "str_replace_editor";
    for (calls, told, untold) in [
        (
            vec![("Write", json!({"file_path": "a.md", "content": patch}), "File created successfully at: a.md")],
            "a.md",
            "b.rs [",
        ),
        (
            vec![(editor, edit("let a = 1;", "let a = 7;"), done), ("replace_lines", lines, done)],
            "+ let a = 7;",
            "no such text",
        ),
        (
            vec![
                (editor, edit("let a = 1;", "let a = 7;"), done),
                (editor, edit("let c = 3;", "let c = 9;"), done),
                (editor, undo, "Last edit to a.rs undone successfully."),
            ],
            "+ let a = 7;",
            "let c",
        ),
    ] {
        let digest = digest_of_calls(&calls);
        assert!(digest.contains(told) && !digest.contains(untold), "{told} {untold}: {digest}");
    }
}

/// A status is a tool's own. What a command prints of another program is text.
#[test]
fn a_status_inside_of_an_output_is_not_told() {
    for output in [
        "FAIL\nexit status 1\nFAIL\tpkg\t3.0s",
        r#"{"name": "job 7", "exit_code": 3}"#,
        r#"{"output": [{"name": "job 7", "exit_code": 3}]}"#,
        r#"{"jobs": {"last": {"exit_code": 3}}, "message": "two jobs"}"#,
    ] {
        let digest = digest_of_calls(&[("bash", json!({"command": "cat log"}), output)]);
        assert!(!digest.contains("exit 3") && !digest.contains("exit 1:"), "{output}: {digest}");
    }
}

/// Returns the digest of calls with their results.
fn digest_of_calls(calls: &[(&str, Value, &str)]) -> String {
    let messages = calls.iter().flat_map(|(name, arguments, result)| {
        let mut messages = chat(result);
        messages[0]["tool_calls"][0]["function"] = json!({"name": name, "arguments": arguments.to_string()});
        messages.as_array().cloned().unwrap_or_default()
    });
    digest_of_chat(&messages.collect::<Vec<_>>(), 900)
}
