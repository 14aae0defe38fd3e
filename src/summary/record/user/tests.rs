//! Tests of the user's statements.

use super::*;
use crate::summary::record::notes::shorten_line;

fn lines_of(messages: &[&str]) -> Vec<String> {
    let mut words = UserStatements::default();
    for (index, text) in messages.iter().enumerate() {
        words.add_message(index, text, None, None);
    }
    let line = |entry: RecordEntry| {
        if entry.about.is_empty() { entry.text } else { format!("{}: {}", entry.about, entry.text) }
    };
    words.lines(false).map(line).collect()
}

#[test]
fn what_follows_a_statement_outlives_it() {
    let lines = |said: &[&str]| -> Vec<String> {
        let mut user = UserStatements::default();
        user.add_message(0, "We work on the service.", None, None);
        said.iter().enumerate().for_each(|(at, said)| user.add_message(at + 1, said, None, None));
        user.lines(false).map(|entry| entry.text).collect()
    };
    let never = "Never touch the upload service config.";
    let said = lines(&["The upload service must keep old clients working.", never, never]).join("\n");
    assert!(said.contains("old clients"), "{said}");
    let typed = "Name the module foo (was: bar) please.";
    assert!(lines(&[typed]).contains(&typed.to_owned()));
    let limits = lines(&["The limit for Alice is 30 requests.", "The limit for Bob is now 50 requests."]).join("\n");
    assert!(limits.contains("Alice") && limits.contains("Bob"), "{limits}");
    let text = "Show local Rome time. (earlier: Times are UTC.) (was: Show no time.)".to_owned();
    let mut entry = RecordEntry::new(FactKind::User, 0, String::new(), text);
    let notes: Vec<String> = shorten_line(&mut entry, 60).into_iter().map(|note| note.text).collect();
    assert_eq!(entry.text, "Show local Rome time.");
    assert_eq!(notes, ["earlier: Times are UTC.", "was: Show no time."]);
}

/// Only what is surely about a prohibition replaces it.
#[test]
fn prohibitions_outlive_what_is_not_about_them() {
    let cases = [
        ("Never touch the login page code.", "You're right about the login page code."),
        ("Don't touch the login page without asking Alice.", "The login page is too slow for Bob."),
        (
            "Never touch the billing schema without asking Ada.",
            "You can drop the old view from the billing schema now.",
        ),
        ("The timeout is 30 ms. Never edit a.rs.", "Change the timeout to 60 ms."),
    ];
    for (rule, later) in cases {
        let lines = lines_of(&["We work on the shop.", rule, later]).join("\n");
        assert!(rule.split_inclusive(". ").all(|part| part.contains("30 ms") || lines.contains(part)), "{lines}");
    }
}

#[test]
fn a_word_that_answers_is_no_small_talk() {
    let mut user = UserStatements::default();
    let question = || Some("“Shall I drop the users table?”".to_owned());
    user.add_message(0, "Clean up the database.", None, None);
    user.add_message(1, "No. The deadline is Friday.", question(), None);
    user.add_message(2, "The API uses Postgres for the cart.", None, None);
    user.add_message(3, "no", Some("“Should we stop using Postgres for the cart?”".to_owned()), None);
    user.add_message(4, "no", Some("“Should we stop using Postgres for the cart?”".to_owned()), None);
    let lines: Vec<String> = user.lines(false).map(|entry| entry.text).collect();
    let lines = lines.join("\n");
    assert!(lines.contains("No. The deadline is Friday."), "{lines}");
    assert!(lines.contains("The API uses Postgres for the cart."), "{lines}");
}

#[test]
fn every_message_stands_whole() {
    assert_eq!(
        lines_of(&["Make a repro.", "Thanks. No mocks, and keep it small."]),
        ["Make a repro.", "No mocks, and keep it small."]
    );
    assert_eq!(lines_of(&["OK, only this once."]), ["OK, only this once."]);
}

#[test]
fn a_line_is_one_whatever_stands_in_it() {
    assert_eq!(lines_of(&["Keep the\rold names, please."]), ["Keep the old names, please."]);
}

#[test]
fn what_was_changed_is_gone() {
    assert_eq!(
        lines_of(&["Keep it small. Max 3 retries for uploads.", "Make that five retries for uploads."]),
        ["Keep it small.", "Make that five retries for uploads."]
    );
}
