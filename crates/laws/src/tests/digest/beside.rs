//! What stands beside a summary of a model.

use crate::tokens::Counter;
use crate::transcript::formats::by_name;
use serde_json::json;

use crate::bricks::talk::{choices, steps};
use crate::digest::parse;
use crate::tests::digest::{assert_speakers, for_cases, read, with_messages};

#[test]
fn what_a_summary_has_is_not_added() {
    for_cases(51, |bricks, format, seed| {
        let source = bricks.conversation(&steps(&mut choices(seed), 0..25), 0);
        with_messages(&source, Some(format), |messages| {
            let digest = read(messages);
            let all = digest.write(Counter::APPROX, 1_000_000, |_| true);
            assert_eq!(digest.missing_from(&all, Counter::APPROX, 1_000), "", "{all}");
            let raw = messages.iter().flat_map(|message| message.content.texts());
            let raw: String = raw.map(|text| text.decode().into_owned() + "\n").collect();
            let beside = digest.missing_from(&raw, Counter::APPROX, 1_000);
            assert!(!beside.contains("The user: "), "{beside}\nof\n{raw}");
            let beside = digest.missing_from("", Counter::APPROX, 1_000);
            assert_speakers(&beside);
            assert!(!all.is_empty());
        });
    });
}

#[test]
fn a_summary_gets_what_it_lacks() {
    let mut messages = vec![
        json!({"role": "user", "content": "The parser drops the last word of each line. Find out why and mend it."}),
        json!({"role": "user", "content": "Never push to main."}),
        json!({"role": "assistant", "content": "The cause is the quagga in the loop."}),
    ];
    let calls = [
        (
            "Edit",
            json!({"file_path": "src/wombat.rs", "old_string": "n - 1", "new_string": "n"}),
            "The file has been updated.",
        ),
        ("bash", json!({"command": "cargo test --lib okapi"}), "Exit code: 101\nOutput:\n1 failed"),
    ];
    for (at, (name, arguments, result)) in calls.into_iter().enumerate() {
        let function = json!({"name": name, "arguments": arguments.to_string()});
        let id = at.to_string();
        messages.push(json!({"role": "assistant", "content": null, "tool_calls": [{"id": id, "type": "function", "function": function}]}));
        messages.push(json!({"role": "tool", "tool_call_id": id, "content": result}));
    }
    messages.push(json!({"role": "user", "content": "Then write a note on it in the docs."}));
    let source = json!(messages).to_string();
    with_messages(&source, by_name("openai-chat"), |messages| {
        let missing = |summary: &str| read(messages).missing_from(summary, Counter::APPROX, 400);
        let facts = ["Never push to main.", "wombat", "okapi", "Then write a note on it in the docs."];
        let all = missing("The parser was looked at.");
        for fact in facts {
            assert!(all.contains(fact), "{fact}: {all}");
            let others: Vec<&str> = facts.into_iter().filter(|other| *other != fact).collect();
            let told = others
                .join("\n")
                .replace("wombat", "Changed src/wombat.rs.")
                .replace("okapi", "`cargo test --lib okapi` failed.");
            let beside = missing(&told);
            assert!(beside.contains(fact), "{fact}: {beside}");
            assert!(others.iter().all(|other| !beside.contains(other)), "{told:?}: {beside}");
        }
        assert!(!all.contains("quagga"), "{all}");
        parse(&all);
    });
}
