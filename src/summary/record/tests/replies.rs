//! Tests of the user's replies to the model: answers, corrections and agreements.

use super::*;

#[test]
fn answers_stand_with_their_question_which_is_not_open() {
    let text = summary_of(&[
        message("user", "Set up the mirror."),
        message("assistant", "Two regions have space. Should it be Oslo or Porto?"),
        message("user", "Porto, the rest is yours."),
        message("assistant", "I can cover 1. uploads, 2. the retry, 3. odd names with tests. Shall I?"),
        message("user", "yes, all of them"),
        message("assistant", "The mirror runs."),
    ]);
    assert!(text.contains("Should it be Oslo or Porto?” → Porto, the rest is yours."), "{text}");
    assert!(text.contains("odd names with tests. Shall I?” → yes, all of them"), "{text}");
    assert!(!text.contains("Open question"), "{text}");
    let yes = summary_of(&[message("assistant", "The old mirror is empty. Shall I drop it?"), message("user", "Yes.")]);
    assert!(yes.contains("Shall I drop it?” → Yes.") && !yes.contains("Open question"), "{yes}");
    let open = summary_of(&[
        message("user", "Set up the mirror."),
        message("assistant", "It runs in Porto. Who gets the alerts?"),
    ]);
    assert!(
        section_of(&open, "Next steps").contains("Open question: It runs in Porto. Who gets the alerts?"),
        "{open}"
    );
}

/// An answer in many words, or with a log behind it, keeps its question, and so does one that is a note later.
#[test]
fn answers_of_any_length_stand_with_their_question() {
    let log =
        "\n\n2026-03-01 INFO bread.oven id=4711 in 12ms\nWARN bread oven queue 4711\nGET /bread/1 200 3ms trace=ab";
    let text = summary_of(&[
        message("user", "Plan the bread for the week."),
        message("assistant", "The flour in two sacks is past its date. Throw it out or bake with it?"),
        message("user", &format!("give it to the pigs over at Hansen's, they fetch it on Tuesday anyhow{log}")),
        message("assistant", "Noted."),
        message("assistant", "What should the rye weigh?"),
        message("user", "eight hundred grams"),
        message("assistant", "Noted. Anything else?"),
        message("user", "tell the night shift about the pigs when they come in at ten o'clock"),
        message("assistant", "Told them."),
        message("user", "the rye comes out too small, should weigh a full kilo"),
        message("assistant", "Noted."),
    ]);
    assert!(text.contains("Throw it out or bake with it?” → give it to the pigs"), "{text}");
    assert!(text.contains("full kilo (earlier: “What should the rye weigh?” → eight hundred grams)"), "{text}");
    assert!(!text.contains("else?” →") && text.matches("the rye weigh?").count() == 1, "{text}");
}

#[test]
fn what_is_contradicted_or_taken_back_does_not_stand_alone() {
    let text = summary_of(&[
        message("user", "Check the choir's accounts."),
        message("assistant", "I gather the fees are due in March."),
        message("user", "they aren't, members pay when they join"),
        message("assistant", "The missing receipt is in the blue folder."),
        message("user", "Go on."),
        message("assistant", "I was mistaken about the receipt: the blue folder is empty, Vera has it."),
    ]);
    assert!(text.contains("“I gather the fees are due in March.” → they aren't, members pay when they join"), "{text}");
    assert!(text.contains("Vera has it. (earlier: The missing receipt is in the blue folder.)"), "{text}");
}

/// Each change of a matter follows the one before on the same line.
#[test]
fn a_third_change_finds_the_first_two() {
    let text = summary_of(&[
        message("user", "We print the programme next week."),
        message("user", "Set the sidebar in four colours."),
        message("user", "The printer says two colours for the sidebar are enough."),
        message("user", "The treasurer has the last word: the sidebar has one colour, grey."),
        message("assistant", "Noted."),
    ]);
    let line = text.lines().find(|line| line.contains("grey")).expect("a line");
    assert!(line.contains("two colours") && line.contains("four colours"), "{text}");
}

/// An assumption of the model that the user corrects is not kept alone, without the correction.
#[test]
fn corrected_assumptions_stand_with_their_correction() {
    let cases = [
        ("I assume the warehouse counts boxes.", "The warehouse counts pallets, please redo the table."),
        ("The invoice probably goes to Berlin.", "Look again: the invoice is for the Kiel office."),
        ("So the launch is on the 3rd of May.", "Marketing booked the launch for the 12th of May."),
        ("The bus has 40 seats.", "Read the contract again, the bus has 52 seats."),
        ("我猜仓库按箱计算。", "仓库按托盘计算。"),
    ];
    for (statement, correction) in cases {
        let chatter = "I looked at the files in the folder and listed all of them for you.";
        let text = summary_of(&[
            message("user", "We prepare the reports for spring."),
            message("assistant", statement),
            message("user", correction),
            message("assistant", chatter),
        ]);
        assert!(text.contains(&format!("“{statement}” → {correction}")), "{text}");
    }
}

#[test]
fn all_corrected_assumptions_of_a_message_go() {
    let text = summary_of(&[
        message("user", "We prepare the reports for spring."),
        message("assistant", "I assume the warehouse counts boxes. I assume the invoice goes to Berlin."),
        message("user", "The warehouse counts pallets. The invoice goes to Kiel."),
    ]);
    let corrected = "“I assume the warehouse counts boxes. … I assume the invoice goes to Berlin.”";
    let with_berlin: Vec<&str> = text.lines().filter(|line| line.contains("Berlin")).collect();
    assert!(text.contains(corrected) && with_berlin.iter().all(|line| line.contains("Kiel")), "{text}");
}

#[test]
fn statements_that_are_not_corrected_stay() {
    let cases = [
        ("I assume the warehouse counts boxes.", "Please add a page on the trucks."),
        ("The parser is done and all tests pass.", "Now write the parser's documentation."),
        ("I think we should use Redis for the cache.", "Yes, use Redis for the cache."),
        ("The likely cause is a race in queue.rs.", "Fix the race in queue.rs and run the tests."),
        ("The suite has 40 tests and they pass.", "Add 12 tests to the suite."),
        ("The server has 16 GB of memory.", "The other server has 64 GB."),
        ("我认为缓存已经过期。", "对，缓存过期了，清理缓存。"),
    ];
    for (statement, next) in cases {
        let text = summary_of(&[
            message("user", "We prepare the reports for spring."),
            message("assistant", statement),
            message("user", next),
        ]);
        let is_quoted = text.contains(&format!("“{statement}”"));
        assert!(text.contains(statement) && text.contains(next) && !is_quoted, "{text}");
    }
}

/// Only the announcement that is refused stands in front of the refusal.
#[test]
fn a_refused_step_is_no_plan() {
    let cases = [
        (
            "The code is tangled.\nNext I rewrite src/spawn.rs from scratch.",
            "Don't rewrite it, patch it.",
            "rewrite src",
        ),
        ("Plan: I rewrite the encoder in Rust.", "No rewrite please, patch the encoder.", "Plan: I rewrite"),
        ("我打算把 plot.R 整个重写。", "不用重写，把两个坏的函数修好就行。", "整个重写"),
        ("I'll write the notes. I will also tag the release.", "Don't tag the release yet.", "I will also tag"),
    ];
    for (plan, refusal, refused) in cases {
        let text = summary_of(&[message("user", "Clean up."), message("assistant", plan), message("user", refusal)]);
        let with_plan: Vec<&str> = text.lines().filter(|line| line.contains(refused)).collect();
        assert!(matches!(with_plan.as_slice(), [one] if one.contains(&format!("” → {refusal}"))), "{text}");
    }
    let agreed = [
        ("I'll write a test for the parser first.", "No problem, write the test first."),
        ("I'll rewrite the tokenizer of the parser.", "Keep going, the parser is important."),
        ("I'll use POST for the endpoint.", "Never log what the endpoint gets."),
    ];
    for (plan, reply) in agreed {
        let text = summary_of(&[message("user", "Clean up."), message("assistant", plan), message("user", reply)]);
        assert!(!text.contains("” →"), "{text}");
    }
}

#[test]
fn what_the_user_denies_in_its_own_words_is_quoted() {
    let text = summary_of(&[
        message("user", "Mend the search."),
        message("assistant", "The search filter works on all pages."),
        message("user", "it doesn't work on the archive pages, the search filter shows nothing there"),
    ]);
    assert!(text.contains("“The search filter works on all pages.” → it doesn't"), "{text}");
    let text = summary_of(&[
        message("user", "Count the people."),
        message("assistant", "The census has 132 persons."),
        message("user", "Go on."),
        message("assistant", "The tables are in."),
        message("user", "132 counts the header as well, the census has 117 persons."),
    ]);
    assert!(text.contains("“The census has 132 persons.” → 132 counts the header"), "{text}");
    let text = summary_of(&[
        message("user", "Set up the dashboard."),
        message("assistant", "The dashboard listens on 7395."),
        message("user", "Go on."),
        message("assistant", "The tables are in."),
        message("user", "7395 belongs to grafana, so 5315"),
    ]);
    assert!(text.contains("“The dashboard listens on 7395.” → 7395 belongs"), "{text}");
    let text = summary_of(&[
        message("user", "Check the numbers."),
        message("assistant", "I assume that a loan number is unique in the county."),
        message("user", "Fine, go on."),
        message("assistant", "The import has 40 files."),
        message("user", "About your assumption, loan numbers repeat from town to town."),
    ]);
    assert!(text.contains("“I assume that a loan number is unique in the county.” → About your assumption"), "{text}");
}

/// A later measurement of the model has the former behind it; those of different things both stand.
#[test]
fn measurements_of_one_thing_stand_together() {
    let with = |first: &str, second: &str| {
        summary_of(&[
            message("user", "Watch the numbers."),
            message("assistant", first),
            message("user", "Go on."),
            message("assistant", second),
            message("user", "And write it down."),
        ])
    };
    let same = [
        ("The hit rate is 12 percent.", "The hit rate is 91 percent now."),
        ("There are 187 duplicate records in the dump.", "Recounted without the demo: 283 duplicate records."),
        (
            "The overflow of the ring buffer is fixed.",
            "The overflow of the ring buffer is back, the patch only hid it.",
        ),
    ];
    for (first, second) in same {
        let text = with(first, second);
        assert!(text.contains(&format!("{second} (earlier: {first})")), "{text}");
    }
    let different = [
        ("In core, 3 tests fail.", "In web, 7 tests fail now."),
        ("src contains 40 files.", "tests contains 22 files now."),
        ("With compression, the file has 12 MB.", "Without compression, the file has 55 MB now."),
        ("The first request takes 900 ms.", "The second request takes 30 ms now."),
        ("The table users has 120 rows.", "The table users_old has 80 rows now."),
        ("The crash in the editor is fixed.", "The editor can be opened again without a crash."),
    ];
    for (first, second) in different {
        assert!(!with(first, second).contains("(earlier:"), "{first} {second}");
    }
}

/// What was not the cause takes one statement behind it; others about the same file still hold.
#[test]
fn what_did_not_help_leaves_other_findings() {
    let text = summary_of(&[
        message("user", "Find the deadlock."),
        message("assistant", "src/lock.rs takes two locks in line 40."),
        message("user", "Go on."),
        message("assistant", "Raising the timeout in src/lock.rs solved the deadlock."),
        message("user", "Go on."),
        message("assistant", "The larger timeout did not help against the deadlock in src/lock.rs."),
        message("user", "And then?"),
    ]);
    assert!(text.contains("takes two locks in line 40"), "{text}");
    assert!(text.contains("(earlier: Raising the timeout"), "{text}");
}

/// What Claude Code inserts by itself is not the user's; what a command that the user typed expands to is.
#[test]
fn only_a_typed_command_speaks_for_the_user() {
    let line = |uuid: &str, parent: Value, is_meta: bool, text: &str| {
        let message = json!({"role": "user", "content": text});
        json!({"type": "user", "uuid": uuid, "parentUuid": parent, "isMeta": is_meta, "sessionId": "s", "version": "2.1.0",
            "cwd": "/w", "timestamp": "2026-01-01T00:00:00.000Z", "message": message})
        .to_string()
    };
    let command = "<command-name>/ticket</command-name>\n<command-args>12</command-args>";
    let session = [
        line("a", Value::Null, false, command),
        line("b", json!("a"), true, "Implement ticket 12. Never touch the migrations."),
        line("c", json!("b"), false, "Now the docs."),
        line("d", json!("c"), true, "Spawn a reviewer and do not review directly."),
    ];
    let text = summary(&session.join("\n"), Counter::DEFAULT, 600);
    assert!(text.contains("Never touch the migrations.") && text.contains("Now the docs."), "{text}");
    assert!(!text.contains("Spawn a reviewer"), "{text}");
}

#[test]
fn a_recap_is_no_step_ahead() {
    let text = summary_of(&[
        message("user", "Make the parser accept bytes."),
        message("assistant", "All 12 tests pass.\n\nLet's summarize the changes:\n\n1. `Header.parse` decodes ASCII"),
    ]);
    assert!(!section_of(&text, "Next steps").contains("decodes ASCII"), "{text}");
    assert!(section_of(&text, "Summary").contains("`Header.parse` decodes ASCII"), "{text}");
}
