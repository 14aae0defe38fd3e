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

/// Returns the lines after a conversation of these messages, with an opening before.
fn lines_after(messages: &[&str]) -> Vec<String> {
    let mut user = UserStatements::default();
    user.add_message(0, "We get the spring release ready.", None, None);
    messages.iter().enumerate().for_each(|(at, text)| user.add_message(at + 1, text, None, None));
    user.lines(false).map(|entry| entry.text).skip(1).collect()
}

/// A change in other words is recognized by the everyday matter that both are about, or by a number.
#[test]
fn a_change_in_other_words_has_the_earlier_statement_behind_it() {
    let cases = [
        ("Ship it with the dark theme.", "Scrap that, the light look is the default after all."),
        ("Answer in bullet points.", "I changed my mind, paragraphs instead."),
        ("Deploy it to staging.", "Change of plan, it goes to production."),
        ("界面用深色。", "算了，还是浅色。"),
        ("Put the dashboard on port 8123.", "8123 belongs to grafana, so 5311."),
        (
            "Could the preview start in dark mode?",
            "Several testers complained, so let the preview start in light mode.",
        ),
        ("Take the cheapest courier for the samples.", "For the samples take the fastest courier, they melt."),
        ("The hall has 156 chairs.", "I counted the chairs in the hall again, 170 chairs."),
    ];
    for (earlier, later) in cases {
        assert_eq!(lines_after(&[earlier, later]), [format!("{later} (earlier: {earlier})")]);
    }
}

/// One matter in common is not enough: what each statement is about must not differ, and something must have changed.
#[test]
fn decisions_about_different_things_share_a_matter_and_both_stand() {
    let cases = [
        ("The header is blue.", "The links can be green."),
        ("The export should be CSV.", "Our config files are YAML now."),
        ("Use short paragraphs in the introduction.", "Bullet points in the summary of risks instead of prose."),
        ("The new user gets a serial number.", "Use UUIDs as the key of the orders table instead."),
        ("Never push to main.", "Go ahead and open the pull request from the feature branch."),
        ("Never log passwords.", "The login may take two seconds."),
        ("Do not email the customers.", "You can post the summary on Slack."),
        ("The workshop moved to Thursday.", "The invoice for the venue has to be paid by Friday."),
        ("The backend is written in Python.", "Scripts in Bash instead of Perl."),
        ("Ask me before you delete anything.", "The pull request is approved by Kim now, merge it."),
        ("The report for 2024 has 310 pages.", "In 2024 we changed the shop 145 times."),
        ("The log of this morning is in var/log/worker.log.", "One more rule: names must not appear in a log line."),
    ];
    for (earlier, later) in cases {
        assert_eq!(lines_after(&[earlier, later]), [earlier, later]);
    }
}

/// Who thanks or agrees changes nothing, and a question states nothing.
#[test]
fn confirmations_and_questions_take_no_earlier_statement() {
    let cases = [
        ("I'd like to upgrade the ticket to economy class.", "Yes, please proceed with the upgrade of the ticket."),
        ("Book the table for the team.", "Thanks for booking the table!"),
        ("Start with the dry run of the import.", "Perfect, go ahead with the import."),
        ("The link color is 8abeb7.", "Wait, do we only have a single link color?"),
    ];
    for (earlier, later) in cases {
        assert_eq!(lines_after(&[earlier, later]), [earlier, later]);
    }
}

/// A statement that became the note of one that only shares a word with it is found again by what changes it.
#[test]
fn a_note_moves_to_the_statement_that_changes_it() {
    let (reviews, moved) =
        ("Tote reviews happen on Mondays.", "Mondays are full now, tote reviews happen on Thursdays.");
    let lines = lines_after(&[reviews, "Keep the tote enum closed rather than open.", moved]);
    assert!(!lines.iter().any(|line| line.starts_with(reviews)), "{lines:?}");
    let lines = lines_after(&[
        "The crate copy is read only.",
        "Cap the crate thumbnails at 146 px.",
        "Make the crate thumbnails 288 px wide.",
    ]);
    assert!(!lines.iter().any(|line| line.starts_with("Cap")), "{lines:?}");
}

/// The request that opens a conversation stays; what stands beside it is corrected like any other statement.
#[test]
fn the_opening_request_stays_where_it_is() {
    let mut user = UserStatements::default();
    user.add_message(0, "Build the booking page. The header should be dark blue. Never push to main.", None, None);
    user.add_message(1, "Scrap that, the header is orange after all.", None, None);
    let lines: Vec<String> = user.lines(false).map(|entry| entry.text).collect();
    let corrected = "Scrap that, the header is orange after all. (earlier: The header should be dark blue.)";
    assert_eq!(lines, ["Build the booking page. … Never push to main.", corrected]);
}
