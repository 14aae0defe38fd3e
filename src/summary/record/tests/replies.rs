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
    assert!(text.contains("“Should it be Oslo or Porto?” → Porto, the rest is yours."), "{text}");
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
