//! A cut shows, and it stands between words of what is told.

use std::collections::HashSet;

use crate::all_cases::one_in;
use crate::transcript::Message;
use crate::transcript::formats::by_name;
use serde_json::{Value, json};

use crate::bricks::talk::{choices, steps};
use crate::digest::{COUNTERS, Section, digest_of, parse};
use crate::tests::digest::{call, digest_of_chat, for_cases, items, with_messages};
use crate::tokens::Counter;

/// Longer words are cut themselves.
const LONGEST: usize = 60;

/// Returns the words of all strings of messages, those of JSON in strings, and of scripts without blanks each character.
fn words_of(messages: &[&Message<'_>]) -> HashSet<String> {
    fn add(value: &Value, words: &mut HashSet<String>) {
        match value {
            Value::String(text) => {
                if let Ok(inside @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(text) {
                    add(&inside, words);
                }
                words.extend(split(text).map(str::to_owned));
            }
            Value::Array(items) => items.iter().for_each(|item| add(item, words)),
            Value::Object(members) => members.iter().for_each(|(key, value)| {
                words.extend(split(key).map(str::to_owned));
                add(value, words);
            }),
            plain => _ = words.insert(plain.to_string()),
        }
    }
    let mut words = HashSet::new();
    for message in messages {
        add(&serde_json::from_str(message.json.raw()).expect("JSON"), &mut words);
    }
    words
}

fn split(text: &str) -> impl Iterator<Item = &str> {
    let is_between = |c: char| !c.is_alphanumeric() && !['/', '.', '-', '_'].contains(&c) || c >= '\u{2e80}';
    text.split(is_between).map(|word| word.trim_matches(['.', '-'])).filter(|word| word.contains(char::is_alphanumeric))
}

/// Checks that no word beside a `…` is a part of a word.
fn assert_whole_words(digest: &str, words: &HashSet<String>) {
    for item in parse(digest).iter().filter(|item| item.section != Section::State || item.index.is_some()) {
        let parts: Vec<&str> = item.text.split('…').collect();
        for (before, behind) in parts.iter().zip(&parts[1..]) {
            for word in [split(before).last(), split(behind).next()].into_iter().flatten() {
                let longer = words.iter().find(|longer| longer.contains(word) && longer.len() <= LONGEST);
                let is_part = !words.contains(word) && longer.is_some();
                assert!(!is_part, "{word:?} is a part of {longer:?} in {:?}: {digest}", item.text);
            }
        }
    }
}

#[test]
fn a_cut_stands_between_words() {
    for_cases(34, |bricks, format, seed| {
        let source = bricks.conversation(&steps(&mut choices(seed), 0..30), 0);
        with_messages(&source, Some(format), |messages| {
            let words = words_of(messages);
            for counter in COUNTERS {
                for limit in (300..2_400).step_by(310) {
                    assert_whole_words(&digest_of(messages, counter, limit), &words);
                }
            }
        });
    });
    for text in crate::tests::conversations::small_fixtures().into_iter().step_by(one_in()) {
        let call = json!({"id": "a", "type": "function", "function": {"name": "look", "arguments": json!({"at": text, "with": text}).to_string()}});
        let messages = json!([{"role": "user", "content": text}, {"role": "assistant", "content": text, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "a", "content": text}, {"role": "user", "content": "Go on."}]);
        with_messages(&messages.to_string(), by_name("openai-chat"), |messages| {
            let words = words_of(messages);
            for limit in [200, 500, 1_100] {
                assert_whole_words(&digest_of(messages, Counter::APPROX, limit), &words);
            }
        });
    }
}

#[test]
fn a_row_keeps_its_columns_and_a_record_shows_what_lacks() {
    let flights: Vec<Value> = (0..40).map(|at| json!({"number": format!("HAT{at}"), "departure": format!("{at}:15"), "arrival": format!("{at}:40"), "price": 100 + at, "note": "A long note of the gate that nobody needs to read. ".repeat(3)})).collect();
    let by_key: Value =
        flights.iter().map(|flight| (flight["number"].as_str().unwrap_or("").to_owned(), flight.clone())).collect();
    let record = json!({"name": "Mia", "address": {"street": "Elm 3", "city": "Rome"}, "orders": (0..99).map(|at| format!("#W{at}")).collect::<Vec<_>>(), "zip": 12});
    for (value, limit) in [(json!(flights), 300), (by_key, 300), (json!({"flights": flights}), 400), (record, 120)] {
        let digest = digest_of_chat(&call("search", &json!({"from": "JFK"}), &value.to_string()), limit);
        let line = items(&digest, Section::Calls).remove(0).text;
        assert!(line.contains('…'), "{digest}");
        for at in 0..40 {
            let cells = [format!("HAT{at} "), format!("{at}:15 "), format!(" {at}:40 "), format!(" {} ", 100 + at)];
            let told = cells.iter().filter(|cell| line.contains(*cell)).count();
            assert!(!line.contains(&cells[0]) || told == cells.len(), "{cells:?}: {digest}");
        }
        if value["zip"] == json!(12) {
            assert!(["Mia", "zip: 12", "Elm 3", "Rome", "#W0"].iter().all(|value| line.contains(value)), "{digest}");
        }
    }
}

/// Texts of the assistant that are equal but for digits are one line, with their number.
#[test]
fn what_is_said_again_stands_once() {
    let said = |text: &str| json!({"role": "assistant", "content": text});
    let look = |at: usize| call("bash", &json!({"command": format!("sed -n {at}p a.py")}), "x = 1");
    let mut messages: Vec<Value> = Vec::new();
    for at in 0..5 {
        messages.push(said(&format!("Part {at} reads `zone_limit` before `load_limits()` has run.")));
        messages.extend(look(at));
    }
    messages.push(said("It is mended."));
    let digest = digest_of_chat(&messages, 900);
    assert_eq!(digest.matches("before `load_limits()`").count(), 1, "{digest}");
    assert!(digest.contains("(5 like this, but for digits) Part 4 reads"), "{digest}");
}

#[test]
fn a_short_answer_has_what_it_answers() {
    const LIST: &str = "1. Split the registry.\n\n2. Cache the lists.\n\n3. Drop the columns.";
    for (text, answer, asked) in [
        (
            format!("Three ways:\n\n{LIST}\n\nWhich shall I take?"),
            "the second",
            &["Three ways:", "Split", "Cache", "Drop", "Which"][..],
        ),
        (format!("Three ways:\n\n{LIST}"), "all of them", &["Three ways:", "Split", "Cache", "Drop"]),
        (
            format!("Done:\n{LIST}\n\nShall I switch the nightly export to the new view before Friday?"),
            "yes",
            &["Shall I switch"],
        ),
        ("A) Keep SQLite.\nB) Move to Postgres.\n\nA or B?".to_owned(), "B", &["Keep", "Move", "A or B?"]),
        ("## What about tests?\n\nThey pass now.".to_owned(), "good", &[]),
        ("**Why?** It was late.\n\n## Next\n\n```\nif a? b\n```\nI wait.".to_owned(), "ok", &[]),
    ] {
        let said = |role: &str, text: &str| json!({"role": role, "content": text});
        let mut with_call = call("bash", &json!({"command": "git status"}), "clean");
        with_call[0]["content"] = json!(text);
        for before in [vec![said("assistant", &text)], with_call] {
            let messages = [vec![said("user", "Go.")], before, vec![said("user", answer), said("assistant", "Good.")]];
            let digest = digest_of_chat(&messages.concat(), 900);
            let user = items(&digest, Section::User);
            let question = user.iter().rev().nth(1).and_then(|item| item.question());
            assert_eq!(question.is_some(), !asked.is_empty() || text.contains("Why"), "{digest}");
            assert!(asked.iter().all(|part| question.is_some_and(|question| question.contains(part))), "{digest}");
            assert!(answer != "yes" || !digest.contains("asked: Done"), "{digest}");
        }
    }
}

/// What a result says stands whatever form it has.
#[test]
fn results_of_odd_forms_are_told() {
    let deep = (0..60).fold(json!({"price": 413}), |inner, _| json!({"k": inner, "z": {"q": 1}})).to_string();
    for (result, told) in [
        (r#"{"orders": [{"id": "123", "status": "open"}, {"id": "999", "status": "closed"}]}"#, "123 open; 999 closed"),
        (r#"{"content": [], "structuredContent": {"price": 413.5}}"#, "price: 413.5"),
        (r#"[{"type": "text", "text": "bed 7\nbed 9"}]"#, "bed 7 / bed 9"),
        ("# Totals for May\nrevenue 120\n$ 5.00 fee", "# Totals for May / revenue 120 / $ 5.00 fee"),
        (&deep, "{"),
    ] {
        let arguments = json!({"note": "reopened invoice 41234"});
        let digest = digest_of_chat(&call("look_up", &arguments, result), 400);
        assert!(items(&digest, Section::Calls)[0].text.contains(told), "{told} is not in {digest}");
    }
}
