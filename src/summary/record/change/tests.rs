//! Tests of what later statements change.

use super::*;

/// Returns the statements that hold after these were made one after another.
fn remaining_text(sentences: &[&str]) -> Vec<String> {
    let mut statements = ClaimHistory::default();
    let mut remaining_text: Vec<Option<String>> = Vec::new();
    for sentences in sentences {
        let mut text = (*sentences).to_owned();
        let claim = Claim::parse(sentences);
        for changed in statements.add(claim, None, None).changes {
            let earlier = remaining_text[changed.index].take();
            match changed.kind {
                ChangeKind::Doubted => text.push_str(&format!(" (was: {})", earlier.unwrap_or_default())),
                ChangeKind::Related | ChangeKind::Alike => {
                    text.push_str(&format!(" (earlier: {})", earlier.unwrap_or_default()))
                }
                ChangeKind::Replaced => {}
            }
            if let Some(about) = changed.about {
                text = format!("{about}: {sentences}");
            }
        }
        remaining_text.push(Some(text));
    }
    remaining_text.into_iter().flatten().collect()
}

#[test]
fn later_statements_replace_earlier_ones() {
    let cases: [(&[&str], &[&str]); 22] = [
        (&["The budget is $500.", "Make that 700 dollars at most."], &["budget: Make that 700 dollars at most."]),
        (&["The budget is $500.", "The budget is now $700."], &["The budget is now $700."]),
        (
            &["The budget is $500.", "Actually the budget for the trip is 700 dollars."],
            &["Actually the budget for the trip is 700 dollars. (was: The budget is $500.)"],
        ),
        (&["The deadline is Friday.", "We moved the deadline to Monday."], &["We moved the deadline to Monday."]),
        (&["The deadline is 2025-03-01.", "The deadline is 2025-03-15."], &["The deadline is 2025-03-15."]),
        (&["At most 3 retries.", "At most 5 retries."], &["At most 5 retries."]),
        (&["Use port 8080.", "Use port 8081 instead."], &["Use port 8081 instead."]),
        (&["Use Postgres for storage.", "Actually, use MySQL instead."], &["storage: Actually, use MySQL instead."]),
        (
            &["Let's go with QuickSort.", "Actually, let's try MergeSort instead - I need stable sorting."],
            &["Actually, let's try MergeSort instead - I need stable sorting."],
        ),
        (&["Write it in Python.", "Use Rust instead of Python."], &["Use Rust instead of Python."]),
        (&["Deploy to staging.", "No longer deploy to staging."], &["No longer deploy to staging."]),
        (&["Use tabs.", "Don't use tabs any more."], &["Don't use tabs any more."]),
        (&["Raise the limit to 10.", "Raise the limit from 10 to 20."], &["Raise the limit from 10 to 20."]),
        (
            &["Keep the summary under 200 words.", "Keep the summary under 300 words."],
            &["Keep the summary under 300 words."],
        ),
        (&["Never touch the migrations.", "Never touch the migrations."], &["Never touch the migrations."]),
        (&["The timeout is 30 s.", "Change it to 60 s."], &["timeout: Change it to 60 s."]),
        (&["The cap is 20 requests.", "No, make it 50."], &["cap request: No, make it 50."]),
        (&["The budget is $500.", "Make it $600.", "Make it $800."], &["budget: Make it $800."]),
        (&["预算是500元。", "预算改为700元。"], &["预算改为700元。"]),
        (&["预算最多500元。", "改成700元。"], &["预算: 改成700元。"]),
        (&["截止日期是周五。", "截止日期改到周一。"], &["截止日期改到周一。"]),
        (&["请使用Python。", "不再使用Python，改用Rust。"], &["不再使用Python，改用Rust。"]),
    ];
    for (sentences, expected) in cases {
        assert_eq!(remaining_text(sentences), expected, "{sentences:?}");
    }
}

#[test]
fn statements_about_different_things_both_stay() {
    let cases: [&[&str]; 25] = [
        &["The timeout of the API is 30 s.", "The timeout of the DB is 30 s."],
        &["The timeout of the API is 30 s.", "The timeout of the DB is 60 s."],
        &["The server listens on port 8080.", "The proxy listens on port 8081."],
        &["Service A uses port 8080.", "Service B uses port 8081."],
        &["Never edit src/a.rs.", "Never edit src/b.rs."],
        &["Test 1 must pass.", "Test 2 must pass."],
        &["The hotel budget is $500.", "The flight budget is $700."],
        &["The hotel budget is $500.", "The flight budget is now $700."],
        &["Alice pays $50.", "Bob pays $50."],
        &["Use pytest for tests.", "Use ruff for linting."],
        &["Use pytest for tests.", "Use ruff instead of flake8 for linting."],
        &["Never commit to main.", "Commit to the feature branch."],
        &["The deadline for the draft is Friday.", "The deadline for the talk is Monday."],
        &["At most 3 retries.", "At most 3 workers."],
        &["Read timeout: 30 s.", "Write timeout: 30 s."],
        &["The budget is $500.", "The deadline is Friday."],
        &["The budget is $500.", "Make sure that tests pass."],
        &["The budget is $500.", "Wait 30 seconds between calls."],
        &["Always answer in English.", "Always run the tests."],
        &["Do not touch the migrations.", "Do not touch the fixtures."],
        &["Version 1.2.3 of serde is broken.", "Version 1.2.3 of tokio is fine."],
        &["User mia_kim_4397 flies on 2024-05-20.", "User li_wei_1234 flies on 2024-05-20."],
        &["Check the migrations.", "Now never check the migrations twice."],
        &["API的超时是30秒。", "数据库的超时是30秒。"],
        &["不要修改迁移。", "不要修改测试。"],
    ];
    for sentences in cases {
        all_hold(sentences);
    }
}

/// Checks that each statement is kept, alone or as a note, and none is marked as outdated.
fn all_hold(sentences: &[&str]) {
    let remaining_text = remaining_text(sentences).join("\n");
    assert!(
        sentences.iter().all(|sentences| remaining_text.contains(sentences)) && !remaining_text.contains("was: "),
        "{remaining_text}"
    );
}

/// The later of two statements replaces the earlier.
#[test]
fn other_words_for_the_same_thing() {
    let cases = [
        ["At most 4 workers for the crawl.", "Let's do six workers for the crawl."],
        ["Use Redis for the session store.", "Forget Redis for the session store, plain files are fine."],
        ["The cap for the index run is $400.", "Ops came back to us: you can spend up to $900 on the index run."],
        ["We ship the search part on Monday.", "The board called, the search part can go out on Thursday."],
        ["The mail service listens on 7070.", "I had to move the mail service, it is on 9191 now."],
        ["Push only after I said yes.", "Pushing is fine from now on, no need to wait."],
        ["Never push to main.", "You can push to main now."],
        ["Hands off the tests in lib/a_test.rb.", "Editing lib/a_test.rb is okay after all."],
        ["Dana reviews the parser changes.", "Kim took over from Dana, she reviews the parser changes."],
        ["The upload timeout is 30 seconds.", "30 s was too short for uploads, give it a full minute."],
        ["Call the new module mailkit.", "Sales renamed it, the module is mailworks now."],
        ["Comments in French please.", "Back to English for the comments."],
        ["Work off branch topic/a-one.", "The work moved to topic/a-two this morning."],
        ["搜索的预算最多 300 元。", "财务回复了，搜索可以花到 900 元。"],
        ["搜索部分周三上线。", "客户来电，搜索部分下周五再上。"],
        ["上传接口超时三十秒。", "三十秒太短，上传给一分钟吧。"],
        ["搜索的测试别碰。", "搜索的测试可以改了。"],
    ];
    for [earlier, later] in cases {
        let remaining = remaining_text(&[earlier, later]);
        let noted = ["was", "earlier"].map(|mark| format!("{later} ({mark}: {earlier})"));
        assert!(remaining == [later] || noted.iter().any(|noted| remaining == [noted.as_str()]), "{remaining:?}");
    }
}

/// A second request with another number, day or verb is one more request.
#[test]
fn requests_for_other_things_are_all_kept() {
    let cases: [&[&str]; 23] = [
        &["Fix issue #123.", "Fix issue #124.", "Fix issue #125."],
        &["Delete user 4001.", "Delete user 4002."],
        &["I want to delete user 4001.", "I want to delete user 4002."],
        &["Update user 4001.", "Update user 4002."],
        &["Look at line 120.", "Look at line 340."],
        &["Buy 3 tickets for Monday.", "Buy 3 tickets for Friday."],
        &["Buy 3 tickets for Monday.", "Buy 5 tickets for Monday."],
        &["Pay $50 for the taxi.", "Pay $70 for the taxi."],
        &["Update the README.", "Move the README."],
        &["Update the README.", "Please move the README."],
        &["Move issue 12 to the backlog.", "Move issue 14 to the backlog."],
        &["Call me at 10:00.", "Call me at 15:00."],
        &["Send an invoice of 200 dollars to Ada.", "Send an invoice of 300 dollars to Ada."],
        &["Ticket 123 is mine.", "Ticket 124 is mine."],
        &["Order 4001 is $30.", "Order 4002 is $40."],
        &["Account 12 is limited to $50.", "Account 14 is limited to $90."],
        &["Question 1 is worth 10 points.", "Question 2 is worth 20 points."],
        &["Now delete user 4001.", "Now delete user 4002."],
        &["Update user 7 now.", "Update user 8 now."],
        &["The file is 30 MB.", "The other file is 40 MB."],
        &["Please be sure to buy 3 apples.", "Please be sure to buy 5 apples."],
        &["Increase the font size by 2 points.", "Increase the font size by 4 points."],
        &["Move 3 boxes to the cellar.", "Move 5 boxes to the cellar."],
    ];
    for sentences in cases {
        all_hold(sentences);
    }
}

/// Successive requests all stay, and so do two statements about different sides of one thing.
#[test]
fn requests_in_a_row_all_stand() {
    let cases = [
        ["Create a dark theme, I will edit it later.", "The theme selector has to update on the next tick."],
        ["Is only one file left to fix, app/render.ts?", "No, leave app/render.ts as it is."],
        ["Read docs/theme.md in full, then the selectors.", "That's not the system prompt."],
        ["Get rid of the retry loops around the queue.", "The queue command is called `queue-ls`."],
        ["I'd like a --json switch for the list, with the same fields.", "Secrets must not show up in a file."],
        ["Use four workers for the crawl.", "The crawl must end before 6 am."],
        ["Port the lexer first.", "Then port the parser, it is larger."],
    ];
    for sentences in cases {
        all_hold(&sentences);
    }
}

#[test]
fn news_changes_what_was_said_before() {
    let cases = [
        ["We publish the guide with Sphinx.", "The editors decided, the guide gets published by Hugo."],
        ["Window seat for the Lyon train.", "He broke his leg, so an aisle seat for the Lyon train."],
        ["Logs of the bot end up in Splunk.", "Splunk gets switched off, look for the bot logs in Loki."],
        ["Keep snapshots for 30 days.", "Disks are cheap now, keep snapshots for 90 days."],
        ["Ask Jiří for anything about invoices.", "Jiří left the company. Anything about invoices goes to Ada."],
        ["Reports go to s3://lake-1/x.", "Don't use that bucket, send the reports to s3://lake-2/x."],
        ["Mute the pager alerts.", "Please unmute, the pager alerts have to stay on."],
        ["Run the sync job at 02:00.", "Can you shift the sync job to 05:30? It collides with the backup."],
    ];
    for [earlier, later] in cases {
        let mut user = crate::summary::record::user::UserStatements::default();
        user.add_message(0, "We plan the next weeks.", None, None);
        user.add_message(1, earlier, None, None);
        user.add_message(2, later, None, None);
        let lines: Vec<String> = user.lines(false).map(|entry| entry.text).collect();
        let marked = |mark: &str| lines.iter().any(|line| line.contains(&format!("{mark}: {earlier}")));
        let is_gone = lines.iter().all(|line| !line.contains(earlier));
        assert!(is_gone || marked("was") || marked("earlier"), "{lines:?}");
    }
}

#[test]
fn where_it_is_not_sure_both_stand() {
    let sentences = ["Times in the audit report are UTC.", "Show local Rome time in the audit report please."];
    assert_eq!(remaining_text(&sentences), [format!("{} (earlier: {})", sentences[1], sentences[0])]);
}

#[test]
fn what_was_forbidden_can_be_asked_for_without_a_word_of_change() {
    let forbidden = "Don't run the hail backfill, I'll do it myself.";
    let asked = "I won't get round to the hail backfill, so you run it.";
    assert_eq!(remaining_text(&[forbidden, asked]), [format!("{asked} (earlier: {forbidden})")]);
    for other in
        ["I won't be in today, so you run the tests.", "The hail backfill takes two hours.", "Don't run it, please."]
    {
        assert_eq!(remaining_text(&[forbidden, other]).len(), 2, "{other}");
    }
}
