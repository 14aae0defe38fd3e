//! Tests of what the model thought, in its thinking, in tools for it, and in the reports of other agents.

use super::*;

/// Returns a message with thinking and, unless it is empty, a text.
fn thought(thinking: &str, text: &str) -> Value {
    let mut content = vec![json!({"type": "thinking", "thinking": thinking})];
    if !text.is_empty() {
        content.push(json!({"type": "text", "text": text}));
    }
    json!({"role": "assistant", "content": content})
}

#[test]
fn causes_are_kept_and_doubts_are_not() {
    let mut messages = vec![message("user", "The kiln reads 40 degrees too hot. Find out why.")];
    messages.push(thought(
        "The user wants me to find out why the kiln reads too hot. Maybe the thermocouple is bad. \
         The cause is the `scale_factor` in drivers/kiln.c, which is applied twice.",
        "",
    ));
    messages.extend(tool_call("read_file", &json!({"path": "drivers/kiln.c"}), "x"));
    let text = summary_of(&messages);
    assert!(
        text.contains("Thought: The cause is the `scale_factor` in drivers/kiln.c, which is applied twice."),
        "{text}"
    );
    assert!(!text.contains("thermocouple") && !text.contains("wants me"), "{text}");
}

#[test]
fn a_thought_that_is_told_to_the_user_stands_once() {
    let text = summary_of(&[
        message("user", "Why does the mill stop?"),
        thought(
            "So the reason is that the fuse of the second motor is too small.",
            "The mill stops because the fuse of the second motor is too small.",
        ),
        message("user", "Order a bigger one."),
        message("assistant", "Ordered a fuse of 16 amperes."),
    ]);
    assert_eq!(text.matches("second motor is too small").count(), 1, "{text}");
    assert!(text.contains("The mill stops because"), "{text}");
}

#[test]
fn the_newer_of_two_thoughts_holds() {
    let mut messages = vec![message("user", "Can we drop the kiln table?")];
    messages.push(thought("The kiln table is used because the weekly oven report reads it.", ""));
    messages.extend(tool_call("read_file", &json!({"path": "report.sql"}), "select 1"));
    messages.push(thought("The kiln table is not used, because the weekly oven report reads the view.", ""));
    messages.extend(tool_call("read_file", &json!({"path": "view.sql"}), "select 2"));
    let text = summary_of(&messages);
    assert!(text.contains("is not used, because") && !text.contains("table is used because"), "{text}");
}

#[test]
fn the_last_plan_tells_what_is_being_done() {
    let mut messages = vec![message("user", "Move the orders to the new table.")];
    messages.push(thought("Now I need to rename the column in the export job as well.", ""));
    messages.extend(tool_call("read_file", &json!({"path": "export.sql"}), "select 1"));
    messages.push(thought("Next I need to change `order_view` so that it reads the new table.", ""));
    let open = summary_of(&messages);
    assert!(section_of(&open, "Next steps").contains("Next I need to change `order_view`"), "{open}");
    assert!(!section_of(&open, "Next steps").contains("rename the column"), "{open}");
    messages.extend(tool_call("read_file", &json!({"path": "view.sql"}), "select 2"));
    let begun = summary_of(&messages);
    assert!(section_of(&begun, "Summary").contains("Next I need to change `order_view`"), "{begun}");
    messages.extend(tool_call("edit", &json!({"path": "view.sql"}), "ok"));
    messages.extend(tool_call("read_file", &json!({"path": "other.sql"}), "select 3"));
    assert!(!summary_of(&messages).contains("order_view"), "{}", summary_of(&messages));
}

/// A guess that a check refutes in silence: the report says what it was.
#[test]
fn a_report_replaces_what_was_thought_on_the_way() {
    let mut messages = vec![message("user", "Why do the uploads fail?")];
    messages.push(thought("The uploads fail because the proxy rejects bodies above 1 MB.", ""));
    messages.extend(tool_call("read_file", &json!({"path": "proxy.conf"}), "body_size 100m"));
    let open = summary_of(&messages);
    assert!(open.contains("Thought: The uploads fail because the proxy"), "{open}");
    messages.push(message("assistant", "Uploads work again: the folder belonged to root."));
    let told = summary_of(&messages);
    assert!(!told.contains("proxy rejects") && told.contains("belonged to root"), "{told}");
}

#[test]
fn tools_for_thinking_and_other_agents_think_too() {
    let mut messages = vec![message("user", "Check whether we can drop the old index.")];
    let given = json!({"thought": "The old index is still needed because the nightly report sorts by it."});
    messages.extend(tool_call("think", &given, "ok"));
    messages.extend(tool_call(
        "Task",
        &json!({"description": "look", "prompt": "Find all users of the index."}),
        "I looked at all queries.\n\nThe root cause of the slow report is the missing filter on tenant.",
    ));
    let text = summary_of(&messages);
    assert!(text.contains("The old index is still needed because the nightly report sorts by it."), "{text}");
    assert!(text.contains("The root cause of the slow report is the missing filter on tenant."), "{text}");
}

#[test]
fn an_approved_plan_is_a_decision_and_a_rejected_one_is_not() {
    let plan = json!({"plan": "# Plan\n\nWe store the tokens in the keychain instead of the config file."});
    let session = |result: &str| {
        let mut messages = vec![message("user", "Where should the tokens go? Make a plan.")];
        messages.extend(tool_call("ExitPlanMode", &plan, result));
        summary_of(&messages)
    };
    let approved = session("User has approved your plan. You can now start coding.");
    assert!(approved.contains("We store the tokens in the keychain"), "{approved}");
    let rejected = session(
        "The user doesn't want to proceed with this tool use. The tool use was rejected. To tell you how to proceed, \
         the user said:\nuse the vault",
    );
    assert!(section_of(&rejected, "Session intent").contains("`: use the vault"), "{rejected}");
    assert!(section_of(&rejected, "Summary").is_empty(), "{rejected}");
}

/// Thinking stands between a claim and the user's reply to it.
#[test]
fn a_reply_is_about_what_the_user_read() {
    let claim = "The export fails because the tenant acme has no quota left.";
    let aside = "The log rotation is needed because the disk has only 2 GB left.";
    let denial = message("user", "No, that is wrong. Acme has 5 GB quota left.");
    let with_tool = [message("user", "Why does it fail?"), message("assistant", claim)]
        .into_iter()
        .chain(tool_call("think", &json!({"thought": aside}), "ok"))
        .chain([denial.clone()]);
    let with_thinking = [message("user", "Why does it fail?"), message("assistant", claim), thought(aside, ""), denial];
    for messages in [with_tool.collect::<Vec<Value>>(), with_thinking.to_vec()] {
        let text = summary_of(&messages);
        assert!(text.contains("quota left.” → No, that is wrong.") || !text.contains(claim), "{text}");
        assert!(!text.contains("rotation is needed because the disk has only 2 GB left.” →"), "{text}");
    }
    let open = summary_of(&[
        message("user", "Clean up."),
        message("assistant", "Should I clear the production cache, or wait for the night?"),
        thought("The night window is safer because nobody is online then.", ""),
    ]);
    assert!(section_of(&open, "Next steps").contains("Open question: Should I clear the production cache"), "{open}");
}

#[test]
fn guesses_secrets_and_permissions_are_no_thoughts_to_keep() {
    for (name, thinking) in [
        ("guess", "I suspect the index `orders_idx` is missing because the plan is slow."),
        ("guess", "If the cache were on, the cause would be the old key of the cache."),
        ("guess", "我猜原因是缓存没有更新，所以页面很慢。"),
        (
            "changed",
            "The bug is in parser.rs because it skips spaces. Wait, it is called twice. So the parser is fine then.",
        ),
        ("secret", "The deploy works because the password is hunter2-Prod and it is in the vault."),
        ("permission", "We may push to main here because the deploy script requires that."),
        ("person", "The customer is a fraudster because the score is 0.9 and the card is new."),
        ("permission", "The user allowed emails, so the customers get an email about it."),
    ] {
        let mut messages = vec![message("user", "Find out what is slow.")];
        messages.push(thought(thinking, ""));
        messages.push(thought("The report runs at night because nobody is online then.", ""));
        let text = summary_of(&messages);
        let words = ["orders_idx", "old key", "缓存", "skips spaces", "hunter2", "push to main", "emails", "fraudster"];
        assert!(words.iter().all(|word| !text.contains(word)), "{name}: {text}");
        assert!(text.contains("runs at night"), "{name}: {text}");
    }
}

#[test]
fn a_thought_falls_when_the_model_or_the_user_says_otherwise() {
    let slow = thought("The page is slow because of the DNS lookups in mailer.rb.", "");
    let ruled_out = summary_of(&[
        message("user", "Why is the page slow?"),
        slow.clone(),
        message("assistant", "DNS is not the cause: the lookups take 2 ms."),
    ]);
    assert!(!ruled_out.contains("slow because of the DNS"), "{ruled_out}");
    let denied = summary_of(&[
        message("user", "Why is the page slow?"),
        slow.clone(),
        message("user", "The lookups are fast, I checked."),
    ]);
    assert!(!denied.contains("slow because of the DNS"), "{denied}");
    let agreed = summary_of(&[message("user", "Why is the page slow?"), slow, message("user", "Go on with the page.")]);
    assert!(!agreed.contains("Next steps\n- [1]"), "{agreed}");
}

#[test]
fn a_plan_that_is_not_approved_is_no_decision() {
    let plan = json!({"plan": "We store the tokens in the keychain instead of the config file."});
    for result in [
        "User chose to stay in plan mode: the tokens must stay in the config file",
        "Plan not approved. Use the vault.",
        "[Request interrupted by user for tool use]",
    ] {
        let mut messages = vec![message("user", "Where should the tokens go?")];
        messages.extend(tool_call("ExitPlanMode", &plan, result));
        let text = section_of(&summary_of(&messages), "Summary");
        assert!(!text.contains("[1] We store the tokens"), "{result}: {text}");
    }
}
