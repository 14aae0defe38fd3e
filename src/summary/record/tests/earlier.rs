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
    assert!(text.contains(&format!("- Folder: {root}\n- Changed: api/cart.rs [1]")), "{text}");
    let mut next = vec![message("user", &format!("{PREFIX}\n\n{text}")), message("user", "Now the mails.")];
    next.extend(edits(&["api/cart.rs", "mail/bill.rs"]));
    let again = summary_of(&next);
    assert_eq!(again.matches("api/cart.rs").count(), 1, "{again}");
    assert!(again.contains("web/tax.ts") && again.contains("mail/bill.rs [4]"), "{again}");
}
