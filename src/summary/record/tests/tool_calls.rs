//! What a summary says about calls: files, commands, the plan, values and names.

use super::*;

#[test]
fn values_stand_with_their_call() {
    let given = json!({"reservation_id": "4WQ150"});
    let result = r#"{"reservation_id":"4WQ150","user_id":"mia_kim_4397","flights":[{"flight_number":"HAT192","price":174},{"flight_number":"HAT166","price":125}]}"#;
    let text = summary_of(&tool_call("get_reservation_details", &given, result));
    let values = "- get_reservation_details: (4WQ150) user_id=mia_kim_4397; flights: HAT192 price=174; HAT166 125";
    assert!(text.contains(values), "{text}");
    let result = r#"[{"number": "HAT057", "prices": {"economy": 141, "business": 477}}, {"number": "HAT039", "prices": {"economy": 103, "business": 283}}]"#;
    let text = summary_of(&tool_call("search", &json!({"origin": "JFK"}), result));
    assert!(text.contains("search: (JFK) HAT057 prices: economy=141 business=477; HAT039 103 283"), "{text}");
}

/// Values of an object stand with what identifies it, and a list shows that objects are missing.
#[test]
fn values_of_a_long_list_keep_their_object() {
    let flights: Vec<Value> = (0..400)
        .map(|n| json!({"flight_number": format!("HAT{}", 300 + n % 7), "departs": format!("{:02}:10", n % 24), "price": 101 + 37 * n}))
        .collect();
    let mut messages = vec![message("user", "Find the cheapest flight.")];
    messages.extend(tool_call("search", &json!({"origin": "JFK"}), &json!(flights).to_string()));
    let text = summary(&Value::from(messages).to_string(), Counter::DEFAULT, 1_024);
    let objects = text.lines().find_map(|line| line.strip_prefix("- search: (JFK) ")).expect("a line");
    let objects = objects.strip_suffix("; …").expect("a mark");
    objects.split("; ").for_each(|object| assert!(object.starts_with("HAT"), "{object} in {text}"));
}

#[test]
fn room_that_is_left_holds_names_with_where_they_stood() {
    let code = "fn login(user: UserName) {\n    check_token(user)\n}\n".repeat(40);
    let text = summary_of(&tool_call("read_file", &json!({"path": "/app/src/auth.rs"}), &code));
    assert_eq!(text, "## Artifacts\n- Read: /app/src/auth.rs [0]\n- In src/auth.rs: check_token, UserName");
}

#[test]
fn a_rejected_edit_leaves_the_users_words_and_no_change() {
    let mut messages = vec![message("user", "Add a switch for the cache.")];
    messages.extend(tool_call(
        "edit_file",
        &json!({"path": "conf/base.toml", "new_string": "x"}),
        "The user rejected this tool call. Reason: The base file belongs to ops, use conf/local.toml.",
    ));
    messages.extend(tool_call(
        "edit_file",
        &json!({"path": "conf/dev.toml", "new_string": "x"}),
        "Error: old text not found in conf/dev.toml",
    ));
    messages.extend(tool_call("edit_file", &json!({"path": "conf/local.toml", "new_string": "x"}), "Edited."));
    let text = summary_of(&messages);
    assert!(
        text.contains("rejected `edit_file conf/base.toml`: The base file belongs to ops, use conf/local.toml."),
        "{text}"
    );
    assert!(text.contains("- Changed: conf/local.toml [5]") && !text.contains("base.toml ["), "{text}");
    assert!(text.contains("Edit failed: conf/dev.toml (Error: old text not found in conf/dev.toml)"), "{text}");
}

#[test]
fn a_call_that_failed_is_told_until_it_succeeds() {
    let given = json!({"url": "https://example.com/prices"});
    let mut messages = vec![message("user", "Read the price list.")];
    messages.extend(tool_call("web_fetch", &given, "Error: the server returned status 451"));
    messages.extend(tool_call("search_notes", &json!({"query": "prices"}), "No matches found"));
    let text = summary_of(&messages);
    assert!(
        text.contains("`web_fetch(https://example.com/prices)` → failed: Error: the server returned status 451"),
        "{text}"
    );
    assert!(!text.contains("No matches found"), "{text}");
    messages.extend(tool_call("web_fetch", &given, "Oats are 3 euros."));
    let text = summary_of(&messages);
    assert!(!text.contains("451"), "{text}");
}

/// What identifies a thing tells whether it succeeded later, not a reason that both calls give.
#[test]
fn a_failed_call_ends_with_a_success_about_the_same_thing() {
    let refund = |given: &Value, result: &str| tool_call("refund_order", given, result);
    let failed = refund(&json!({"order": "W-17", "reason": "late"}), "Error: order is too old");
    let other = refund(&json!({"order": "W-18", "reason": "late"}), "ok");
    let same = refund(&json!({"order_id": "W-17", "amount": 12}), "ok");
    let request = [message("user", "Refund the orders of today.")];
    let after = |call: &[Value; 2]| summary_of(&[request.as_slice(), &failed, call].concat());
    assert!(after(&other).contains("too old"), "{}", after(&other));
    assert!(!after(&same).contains("too old"), "{}", after(&same));
}

/// An editor that works on the open file names it in its result.
#[test]
fn an_action_is_told_whatever_its_result_says() {
    let mut messages = vec![message("user", "Handle the orders of today.")];
    messages.extend(tool_call("refund_order", &json!({"order": "W-17", "amount": 12}), "true"));
    messages.extend(tool_call("mcp__desk__setPriority", &json!({"ticket": "T-9"}), "Priority set"));
    messages.extend(tool_call("get_order", &json!({"order": "W-18"}), "none"));
    messages.extend(tool_call("get_ticket", &json!({"ticket": "T-9"}), "T-9: printer on fire (open)"));
    let text = summary_of(&messages);
    assert!(text.contains("`get_ticket(T-9)`: T-9: printer on fire (open)"), "{text}");
    assert!(text.contains("Ran ok: `refund_order(W-17, 12)`"), "{text}");
    assert!(text.contains("`mcp__desk__setPriority(T-9)` → Priority set") && !text.contains("get_order"), "{text}");
    let mut refused = vec![message("user", "Handle the orders of today.")];
    refused.extend(tool_call("cancel_order", &json!({"order": "W-1"}), "Cannot cancel: the order has shipped"));
    refused.extend(tool_call("jira_get_issue", &json!({"key": "J-1"}), "J-1: printer on fire"));
    refused.extend(tool_call("set_password", &json!({"value": "hunter2"}), "ok"));
    refused.extend(tool_call("open_session", &json!({"password": "hunter2"}), "Error: wrong password"));
    refused.extend(tool_call("取消订单", &json!({"order": "W-2"}), "余额不足"));
    let text = summary_of(&refused);
    assert!(text.contains("`cancel_order(W-1)` → failed: Cannot cancel: the order has shipped"), "{text}");
    assert!(
        text.contains("`取消订单(W-2)` → 余额不足") && text.contains("`jira_get_issue(J-1)`: J-1: printer"),
        "{text}"
    );
    assert!(text.contains("`open_session()` → failed: Error: wrong password"), "{text}");
    assert!(!text.contains("hunter2") && !text.contains("Ran ok"), "{text}");
    let mut steps = vec![message("user", "Book the room in the portal.")];
    steps.extend((0..40).flat_map(|n| tool_call("click", &json!({"x": n, "y": 7}), "ok")));
    steps.extend(tool_call("cancel_booking", &json!({"id": "B-4"}), "false"));
    let text = summary_of(&steps);
    assert!(text.contains("`cancel_booking(B-4)` → false") && !text.contains("click"), "{text}");
}

#[test]
fn edits_of_the_open_file_are_known() {
    let edit = |result: &str| {
        let mut messages = vec![message("user", "Round the price.")];
        messages.extend(tool_call("edit", &json!({"replacement_text": "return x", "start_line": 7}), result));
        summary_of(&messages)
    };
    let done =
        edit("File updated. Please review the changes.\n[File: /srv/shop/price.py (97 lines total)]\n7: return x");
    assert!(done.contains("Changed: /srv/shop/price.py [1]"), "{done}");
    let failed =
        edit("Your proposed edit has introduced new syntax errors.\n[File: /srv/shop/price.py (97 lines total)]");
    assert!(failed.contains("Edit failed: /srv/shop/price.py (Your proposed edit has introduced"), "{failed}");
    assert!(!failed.contains("Changed:"), "{failed}");
}

#[test]
fn edits_are_known_by_whatever_the_tool_is_called() {
    let mut messages = vec![message("user", "Tidy up.")];
    for (name, given) in [
        ("apply_edit", json!({"target_file": "a/one.ts", "code_edit": "x"})),
        ("file_writer", json!({"path": "a/two.ts", "content": "x"})),
        ("editor", json!({"command": "insert", "path": "a/three.ts", "text": "x"})),
        ("remove_file", json!({"path": "a/four.ts"})),
        ("move_file", json!({"source": "a/five.ts", "destination": "a/six.ts"})),
        ("editor", json!({"command": "view", "path": "a/seven.ts"})),
    ] {
        messages.extend(tool_call(name, &given, "ok"));
    }
    let text = summary_of(&messages);
    assert!(text.contains("Changed: a/one.ts [1], a/two.ts [3], a/three.ts [5]"), "{text}");
    assert!(text.contains("Deleted: a/four.ts [7]") && text.contains("Renamed: a/five.ts → a/six.ts [9]"), "{text}");
    assert!(text.contains("Read: a/seven.ts [11]"), "{text}");
}

#[test]
fn a_plan_stands_as_it_last_was() {
    let plan = |items: &[(&str, &str)]| {
        let items: Vec<Value> = items.iter().map(|(step, status)| json!({"step": step, "status": status})).collect();
        tool_call("update_plan", &json!({"plan": items}), "Plan updated")
    };
    let mut messages = vec![message("user", "Speed up the report.")];
    messages.extend(plan(&[("Measure it", "in_progress"), ("Try a cache", "pending")]));
    messages.extend(plan(&[
        ("Measure it", "completed"),
        ("Add an index", "in_progress"),
        ("Measure again", "pending"),
    ]));
    let text = summary_of(&messages);
    assert_eq!(section_of(&text, "Next steps"), "- [3] In progress: Add an index\n- [3] Pending: Measure again");
    assert!(text.contains("Done: Measure it") && !text.contains("Try a cache"), "{text}");
}

#[test]
fn of_a_command_the_last_run_counts_and_of_a_chain_each_step() {
    let mut messages = vec![message("user", "Get the import going.")];
    messages.extend(shell_call("./import.sh", "ValueError: bad header in row_17\nexit code 1"));
    messages.extend(shell_call("./import.sh", "imported 42 rows\nexit code 0"));
    messages.extend(shell_call(
        "task fmt && task check",
        "[fmt] 3 files\n[check] ERROR task failed: b.go:7 shadowed name\nexit code 2",
    ));
    messages.extend(shell_call(
        "node run.js 2>&1 | head -50",
        "<returncode>0</returncode>\nError: Cannot find module 'left'",
    ));
    messages.extend(shell_call(
        "git commit -am tidy && git push origin dev",
        "! [rejected] dev -> dev (non-fast-forward)\nerror: failed to push some refs\nexit code 1",
    ));
    let text = summary_of(&messages);
    assert!(
        text.contains("`./import.sh` → ok: imported 42 rows") && !text.contains("`./import.sh` → failed"),
        "{text}"
    );
    assert!(text.contains("`task check` → failed, exit code 2: [check] ERROR task failed: b.go:7"), "{text}");
    assert!(!text.contains("`task fmt` → failed"), "{text}");
    assert!(text.contains("`node run.js` → failed: Error: Cannot find module"), "{text}");
    assert!(text.contains("`git push origin dev` → failed") && text.contains("(non-fast-forward)"), "{text}");
    assert!(
        text.contains(
            "`./import.sh` → ok: imported 42 rows (failed before: ValueError: bad header in row_17; nothing was"
        ),
        "{text}"
    );
}

/// The output of a tool is never read as the user's words, whatever its subject.
/// The same command, first failed and then passed, is flaky only if nothing was called in between that may change it.
#[test]
fn a_run_that_passes_after_any_other_call_is_no_flaky_one() {
    let run = |output: &str| shell_call("make check", output);
    let between = |call: &[Value]| {
        let mut messages = vec![message("user", "Make it pass.")];
        messages.extend(run("KeyError: 'a'\nexit code 1"));
        messages.extend_from_slice(call);
        messages.extend(run("exit code 0"));
        summary_of(&messages)
    };
    assert!(between(&shell_call("ls", "a b")).contains("nothing was changed in between"));
    for call in [shell_call("python codemod.py", "done"), tool_call("ide_apply", &json!({"fix": 3}), "ok")] {
        assert!(between(&call).contains("Gone: KeyError: 'a' (`make check` has passed since)"), "{}", between(&call));
    }
}

#[test]
fn a_result_that_says_it_failed_in_json_is_a_failure() {
    let edit = tool_call("edit_file", &json!({"path": "/app/a.py"}), r#"{"success": false, "error": "disk full"}"#);
    let text = summary_of(&edit);
    assert!(text.contains("Edit failed: /app/a.py (disk full)") && !text.contains("Changed"), "{text}");
}

/// A terminal repeats the command before its output.
#[test]
fn a_repeated_command_is_no_result() {
    let command = "cd /srv && python check.py";
    let quiet = summary_of(&shell_call(command, &format!("{command}\r\n")));
    assert!(quiet.contains("Ran ok: `python check.py`") && !quiet.contains("/srv"), "{quiet}");
    let failed =
        summary_of(&shell_call(command, &format!("{command}\r\nload.errors.LoadError: no table\nexit code 1")));
    assert!(failed.contains("failed, exit code 1: load.errors.LoadError: no table"), "{failed}");
}

#[test]
fn what_a_tool_brought_is_not_what_the_user_said() {
    let text = "If the user cancels an order, refund it.\nReason: Never delete rows by hand.";
    for (name, arguments) in [
        ("read_file", json!({"path": "docs/orders.md"})),
        ("bash", json!({"command": "cat docs/orders.md"})),
        ("get_policy", json!({"about": "orders"})),
    ] {
        let mut messages = vec![message("user", "Read the policy.")];
        messages.extend(tool_call(name, &arguments, text));
        messages.push(message("assistant", "I read it."));
        let summarized = summary_of(&messages);
        assert!(!section_of(&summarized, "Session intent").contains("Never delete"), "{name}: {summarized}");
    }
}

#[test]
fn names_that_were_used_later_stand_where_they_came_from() {
    let mut messages = vec![message("user", "Why is the shop slow?")];
    messages.extend(shell_call("kubectl get pods", "NAME READY\nshop-api-7f9 1/1 Running\nshop-web-2c1 1/1 Running"));
    messages.extend(shell_call("kubectl logs shop-api-7f9", "nothing to see"));
    messages.push(message("assistant", "The slow request is trace 9f3e77ab, it waits for the lock."));
    messages.extend(shell_call("tracer show 9f3e77ab", "ok"));
    let text = summary_of(&messages);
    assert!(text.contains("`kubectl get pods`: shop-api-7f9 1/1 Running"), "{text}");
    assert!(text.contains("The slow request is trace 9f3e77ab, it waits for the lock."), "{text}");
}

#[test]
fn objects_with_other_values_than_the_first_repeat_their_names() {
    let result = r#"[{"number": "HAT057", "prices": {"economy": 141, "business": 477}}, {"number": "HAT039", "prices": {"business": 283}}]"#;
    let text = summary_of(&tool_call("search", &json!({"origin": "JFK"}), result));
    assert!(text.contains("HAT057 prices: economy=141 business=477; HAT039 business=283"), "{text}");
}

/// What is changed and not yet run is a next step, also after another compaction, until something runs.
#[test]
fn files_changed_since_the_last_run_are_named() {
    let mut messages = vec![message("user", "Make the tests pass.")];
    messages.extend(shell_call("make test", "1 failed\nexit code 1"));
    messages.extend(tool_call("edit_file", &json!({"path": "/app/src/one.rs", "new_string": "x"}), "Edited."));
    messages.extend(shell_call("git status", "modified: src/one.rs"));
    messages.extend(shell_call("git commit -am 'Fix'", "1 file changed"));
    let text = summary_of(&messages);
    let line = "Changed since the last run of `make test`: src/one.rs";
    assert!(section_of(&text, "Next steps").contains(line), "{text}");
    let next = [
        vec![message("user", &format!("{PREFIX}\n\n{text}"))],
        tool_call("edit_file", &json!({"path": "/app/src/two.rs", "new_string": "x"}), "Edited.").into(),
    ];
    let text = summary_of(&next.concat());
    assert!(section_of(&text, "Next steps").contains(&format!("{line}, src/two.rs")), "{text}");
    let last = [vec![message("user", &format!("{PREFIX}\n\n{text}"))], shell_call("make test", "ok").into()].concat();
    assert!(!summary_of(&last).contains("Changed since"), "{}", summary_of(&last));
}

#[test]
fn a_step_announced_with_its_call_is_past() {
    let mut messages = vec![message("user", "Make the tests pass.")];
    let [mut call, result] = shell_call("make test", "12 passed");
    call["content"] = "Next I run the whole suite.".into();
    messages.extend([call.clone()]);
    assert!(section_of(&summary_of(&messages), "Next steps").contains("Next I run the whole suite."));
    messages.extend([result]);
    assert!(!section_of(&summary_of(&messages), "Next steps").contains("whole suite"), "{}", summary_of(&messages));
}

#[test]
fn results_of_commands_and_undone_changes_need_no_other_run() {
    let after = |more: &[[Value; 2]]| {
        let mut messages = vec![message("user", "Make the tests pass.")];
        messages.extend(shell_call("make test", "1 failed\nexit code 1"));
        messages.extend(more.iter().flatten().cloned());
        summary_of(&messages)
    };
    let edit = tool_call("edit_file", &json!({"path": "/app/src/one.rs", "new_string": "x"}), "Edited.");
    assert!(after(std::slice::from_ref(&edit)).contains("Changed since the last run"));
    for more in [
        vec![shell_call("git diff > patch.txt", "")],
        vec![edit.clone(), shell_call("git stash", "Saved working directory")],
        vec![edit.clone(), shell_call("git reset --hard HEAD", "HEAD is now at 1234567")],
        vec![edit, shell_call("rm /app/src/one.rs", "")],
    ] {
        assert!(!after(&more).contains("Changed since"), "{}", after(&more));
    }
}
