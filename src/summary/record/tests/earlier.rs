//! Tests of what a later summary takes from an earlier one.

use super::*;

#[test]
fn what_another_program_had_ahead_is_not_ahead_any_more() {
    let earlier = format!(
        "{PREFIX}\n\n1. Primary Request and Intent:\n   - Move the alarm times to the database.\n\n\
         2. Problem Solving:\n   - Solved: the clock drifted because two timers wrote to it.\n   - In progress: the export to `alarms.csv`\n\
         \n3. Current Work:\n   The reader was written but the writer needs to be updated.\n\n4. Pending Tasks:\n   - Write the writer."
    );
    let text = summary_of(&[
        message("user", &earlier),
        message("assistant", "I wrote the writer and the export, and all 31 tests pass."),
    ]);
    assert!(text.contains("Move the alarm times") && text.contains("two timers wrote to it"), "{text}");
    for stale in ["In progress", "needs to be updated", "Write the writer"] {
        assert!(!text.contains(stale), "{stale}: {text}");
    }
}

#[test]
fn lists_show_that_items_are_missing_and_come_back_without_the_mark() {
    let mut messages = vec![message("user", "Rename the modules.")];
    for module in 0..90 {
        let given = json!({"path": format!("firmware/drivers/module_{module}_of_the_long_list.c"), "new_string": "x"});
        messages.extend(tool_call("edit_file", &given, "Edited."));
    }
    let text = summary_of(&messages);
    assert!(text.lines().any(|line| line.starts_with("- Changed: ") && line.ends_with(", …")), "{text}");
    let again = summary_of(&[message("user", &format!("{PREFIX}\n\n{text}")), message("user", "Go on.")]);
    let whole: Vec<&str> = again.lines().filter(|line| line.starts_with("- Changed: ")).collect();
    assert!(whole.len() == 1 && whole[0].matches('…').count() <= 1, "{again}");
}

#[test]
fn a_gap_in_what_is_done_stays() {
    let earlier = format!("{PREFIX}\n\n## Summary\n- Done: Plan the route; Buy tickets; …");
    let text = summary_of(&[message("user", &earlier), message("user", "Go on.")]);
    assert!(text.contains("Done: Plan the route; Buy tickets; …"), "{text}");
}

/// Absolute paths are written below their folder where whole ones would take too much room, and come back whole.
#[test]
fn long_paths_are_written_below_their_folder() {
    let root = "/Users/mia/work/customers/northwind/repositories/shop";
    let edits = |names: &[&str]| -> Vec<Value> {
        let given = |name: &&str| json!({"file_path": format!("{root}/{name}"), "new_string": "x"});
        names.iter().flat_map(|name| tool_call("Edit", &given(name), "Edited.")).collect()
    };
    let mut messages = vec![message("user", "Round all prices.")];
    messages.extend(edits(&["api/cart.rs", "api/orders.rs", "api/tax.rs", "web/cart.ts", "web/tax.ts"]));
    let text = summary_of(&messages);
    assert!(text.contains(&format!("- Folder (…): {root}\n- Changed: …/api/cart.rs [1]")), "{text}");
    let mut next = vec![message("user", &format!("{PREFIX}\n\n{text}")), message("user", "Now the mails.")];
    next.extend(edits(&["api/cart.rs", "mail/bill.rs"]));
    let again = summary_of(&next);
    assert_eq!(again.matches("api/cart.rs").count(), 1, "{again}");
    assert!(again.contains("web/tax.ts") && again.contains("…/mail/bill.rs [4]"), "{again}");
}

#[test]
fn rules_and_facts_of_another_program_stay_whatever_their_words() {
    let earlier = format!(
        "{PREFIX}\n\n1. Primary Request and Intent:\n   - Every release needs to be signed by Anna.\n   \
         - Prices are not yet public, never print them in logs.\n   - Now: only touch src/export.\n\n\
         2. HTTP Status Codes:\n   - 409 means that the voucher is used up.\n\n\
         3. Current Work:\n   - Created the pull request https://example.com/shop/pull/85.\n"
    );
    let text = summary_of(&[message("user", &earlier), message("assistant", "All 31 tests of the export pass.")]);
    for fact in ["signed by Anna", "not yet public", "only touch src/export", "409 means", "shop/pull/85"] {
        assert!(text.contains(fact), "{fact}: {text}");
    }
}

/// Tasks are updated by their number after a compaction, too.
#[test]
fn tasks_keep_their_number() {
    let create = |number: usize, subject: &str| {
        tool_call(
            "TaskCreate",
            &json!({"subject": subject}),
            &format!("Task #{number} created successfully: {subject}"),
        )
    };
    let mut messages = vec![message("user", "Add a flag --dry-run.")];
    messages.extend(create(1, "Add the flag"));
    messages.extend(create(2, "Run the tests"));
    messages.extend(tool_call(
        "TaskUpdate",
        &json!({"taskId": "1", "status": "in_progress"}),
        "Updated task #1 status",
    ));
    let first = summary_of(&messages);
    let steps = section_of(&first, "Next steps");
    assert!(steps.contains("In progress: #1 Add the flag") && steps.contains("Pending: #2 Run the tests"), "{first}");
    let mut messages = vec![message("user", &format!("{PREFIX}\n\n{first}")), message("user", "Go on.")];
    for number in ["1", "2"] {
        messages.extend(tool_call("TaskUpdate", &json!({"taskId": number, "status": "completed"}), "Updated"));
    }
    let second = summary_of(&messages);
    assert!(!second.contains("In progress") && !second.contains("Pending"), "{second}");
    assert!(second.contains("Done: #1 Add the flag; #2 Run the tests"), "{second}");
}

#[test]
fn a_failed_call_of_an_earlier_summary_ends_with_the_next_success() {
    let given = json!({"url": "https://example.com/prices"});
    let mut messages = vec![message("user", "Read the price list.")];
    messages.extend(tool_call("web_fetch", &given, "Error: the server returned status 451"));
    let first = summary_of(&messages);
    let mut messages = vec![message("user", &format!("{PREFIX}\n\n{first}")), message("user", "Try again.")];
    messages.extend(tool_call("web_fetch", &given, "Oats cost 3 euros."));
    let second = summary_of(&messages);
    assert!(first.contains("451") && !second.contains("451"), "{first}\n\n{second}");
}
