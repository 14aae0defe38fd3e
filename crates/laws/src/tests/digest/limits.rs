//! A digest fits any limit, larger ones lose nothing, and the work is linear in the history, whatever is in it.

use std::time::{Duration, Instant};

use crate::tokens::Counter;
use crate::transcript::Message;
use crate::transcript::formats::by_name;
use serde_json::{Value, json};

use crate::all_cases::{one_in, share};
use crate::bricks::talk::{choices, steps};
use crate::digest::{COUNTERS, as_message, assert_digest, assert_keeps, parse};
use crate::lawful::{PREFIX, with_document};
use crate::tests::digest::{digest_of_chat, for_cases, read, with_messages};

#[test]
fn a_digest_fits_any_limit() {
    for_cases(17, |bricks, format, seed| {
        let source = bricks.conversation(&steps(&mut choices(seed), 0..20), 0);
        with_messages(&source, Some(format), |messages| {
            let digest = read(messages);
            for counter in COUNTERS {
                for limit in (0..200).chain([1_000, 100_000, u64::MAX]) {
                    let text = digest.write(counter, limit, |_| true);
                    assert!(counter.count_text(&text) <= limit, "{limit}: {text}");
                    parse(&text);
                    let beside = digest.missing_from("", counter, limit);
                    assert!(counter.count_text(&beside) <= limit, "{limit}: {beside}");
                }
                assert!(digest.write(counter, 100_000, |_| true).len() > 100);
            }
        });
    });
}

/// What the user said and the state of the work never goes because there is more room.
#[test]
fn a_larger_digest_loses_nothing() {
    for_cases(34, |bricks, format, seed| {
        let source = bricks.conversation(&steps(&mut choices(seed), 0..30), 0);
        with_messages(&source, Some(format), |messages| {
            let digest = read(messages);
            for counter in COUNTERS {
                let mut smaller = digest.write(counter, 60, |_| true);
                for limit in (60..4_000).step_by(47 * one_in()) {
                    let larger = digest.write(counter, limit, |_| true);
                    assert_keeps(&smaller, &larger);
                    smaller = larger;
                }
                assert!(!smaller.is_empty());
            }
        });
    });
}

/// A call and its result in Chat Completions.
fn call(at: usize, name: &str, arguments: Value, result: &str) -> [Value; 2] {
    let function = json!({"name": name, "arguments": arguments.to_string()});
    let call = json!({"id": at.to_string(), "type": "function", "function": function});
    let result = json!({"role": "tool", "tool_call_id": at.to_string(), "content": result});
    [json!({"role": "assistant", "content": null, "tool_calls": [call]}), result]
}

/// Digests of repeated things, with the same number of things behind them.
fn carried(count: usize) -> Vec<(&'static str, Vec<Value>)> {
    let user = |at: usize| vec![json!({"role": "user", "content": format!("Line {at} of this was 3.{at}.")})];
    let run = |at: usize| call(at, "bash", json!({"command": format!("cargo test {at}")}), "ok").to_vec();
    let after_digest = |make: &dyn Fn(usize) -> Vec<Value>| {
        let before: Vec<Value> = (0..count).flat_map(make).collect();
        let earlier = json!({"role": "user", "content": as_message(&digest_of_chat(&before, 60 * count as u64))});
        std::iter::once(earlier).chain((count..2 * count).flat_map(make)).collect::<Vec<Value>>()
    };
    vec![("users after their digest", after_digest(&user)), ("calls after their digest", after_digest(&run))]
}

/// Messages of Chat Completions in which the same thing is repeated `count` times.
fn repeated(count: usize) -> Vec<(&'static str, Vec<Value>)> {
    let said = |role: &str, text: String| json!({"role": role, "content": text});
    let each = |make: &dyn Fn(usize) -> Vec<Value>| (0..count).flat_map(make).collect::<Vec<Value>>();
    let line = |at: usize| format!("Line {at} of this, because it fails: src/a{at}.rs `cargo test {at}` was 3.{at}.\n");
    let lines: String = (0..count).map(line).collect();
    let edit = |at: usize| json!({"file_path": format!("src/a{at}.rs"), "old_string": "a", "new_string": line(at)});
    let items: Vec<Value> = (0..count).map(|at| json!({"content": line(at), "status": "pending"})).collect();
    let rows: Vec<Value> = (0..count).map(|at| json!({"id": at, "name": line(at)})).collect();
    let run = |at: usize, command: &str| call(at, "bash", json!({"command": command}), "ok").to_vec();
    let writes: String = (0..count).map(|at| format!("open('out{at}.txt', 'w')\n")).collect();
    let script = run(0, &format!("cat > a.py <<'EOF'\n{writes}EOF"));
    vec![
        ("users", each(&|at| vec![said("user", line(at))])),
        ("equal users", each(&|_| vec![said("user", "go on".to_owned())])),
        (
            "answers",
            each(&|at| vec![said("assistant", format!("Which, {at} or not?")), said("user", "yes".to_owned())]),
        ),
        ("a long user", vec![said("user", lines.clone())]),
        ("a long line", vec![said("user", lines.replace('\n', " "))]),
        ("one word", vec![said("user", "x".repeat(40 * count))]),
        ("blank lines", vec![said("user", format!("a{}b", "\n \n".repeat(10 * count)))]),
        ("brackets", vec![said("user", "[(`<".repeat(10 * count)), said("assistant", "[(`<{\"".repeat(10 * count))]),
        ("a long answer", vec![said("user", "Go.".to_owned()), said("assistant", lines.clone())]),
        ("answers of the model", each(&|at| vec![said("assistant", line(at))])),
        ("calls", each(&|at| call(at, "bash", json!({"command": line(at)}), &line(at)).into())),
        ("equal calls", each(&|at| call(at, "bash", json!({"command": "cargo test"}), "error: 1 failed").into())),
        ("a long command", call(0, "bash", json!({"command": lines}), "ok").into()),
        ("a long result", call(0, "bash", json!({"command": "cargo test"}), &lines).into()),
        ("files", each(&|at| call(at, "Edit", edit(at), "The file has been updated.").into())),
        ("failed edits", each(&|at| call(at, "Edit", edit(at), "String to replace not found in file.").into())),
        ("one file", each(&|at| call(at, "Edit", edit(7), "The file has been updated.").into())),
        ("plans", each(&|at| call(at, "TodoWrite", json!({"todos": items[..at.min(9)]}), "ok").into())),
        ("a long plan", call(0, "TodoWrite", json!({"todos": items}), "ok").into()),
        ("a table", call(0, "list", json!({}), &json!(rows).to_string()).into()),
        ("calls without results", each(&|at| call(at, "bash", json!({"command": line(at)}), "")[..1].to_vec())),
        (
            "answers to a long question",
            std::iter::once(said("assistant", format!("{lines}\nWhich?")))
                .chain(each(&|at| vec![said("user", format!("yes, {at}"))]))
                .collect(),
        ),
        ("runs of a script", script.into_iter().chain(each(&|at| run(at + 1, "python a.py"))).collect()),
        ("an earlier text", vec![said("user", format!("{PREFIX}{lines}")), said("user", "Go on.".to_owned())]),
    ]
}

/// The least time of this thread that reading messages and writing their digest took in three runs.
fn work(messages: &[Value]) -> Duration {
    let clock = || rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let once = |messages: &[&Message<'_>]| {
        let start = clock();
        let digest = read(messages);
        let text = digest.write(Counter::APPROX, 2_000, |_| true);
        assert!(!text.is_empty() && digest.missing_from(&text, Counter::APPROX, 2_000).len() < 20_000);
        let time = clock() - start;
        Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).expect("less than a second"))
    };
    let source = json!(messages).to_string();
    with_messages(&source, by_name("openai-chat"), |messages| (0..3).map(|_| once(messages)).min().expect("three"))
}

/// Four times as much takes some four times as long, and not sixteen times.
#[test]
fn work_is_linear() {
    let mut failed = Vec::new();
    let all = |count: usize| repeated(count).into_iter().chain(carried(count));
    // Less is done too soon to be timed.
    let count = share(500).max(125);
    for ((name, few), (_, many)) in all(count).zip(all(4 * count)) {
        let (few, many) = (work(&few), work(&many));
        if many > 6 * few + Duration::from_millis(20) {
            failed.push(format!("{name}: {few:?} and {many:?}"));
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn odd_histories_have_a_digest_or_none() {
    let said = |role: &str, text: &str| json!({"role": role, "content": text});
    let mut histories = repeated(share(10_000));
    histories.retain(|(name, _)| ["users", "calls", "calls without results", "equal calls"].contains(name));
    let lines = share(400_000);
    histories.push(("many lines", vec![said("user", &"The limit is 4,096 bytes.\n".repeat(lines))]));
    histories.push(("one long line", vec![said("user", &"The limit is 4,096 bytes. ".repeat(lines))]));
    histories.push(("one message", vec![said("user", "Fix it.")]));
    histories.push(("no user", vec![said("assistant", "It is fixed.")]));
    for (name, messages) in histories {
        let source = json!(messages).to_string();
        with_messages(&source, by_name("openai-chat"), |messages| {
            let start = Instant::now();
            for limit in [0, 1, 40, 1_000] {
                let text = read(messages).write(Counter::APPROX, limit, |_| true);
                parse(&text);
                assert!(limit < 40 || !text.is_empty(), "{name}");
            }
            assert!(start.elapsed() < Duration::from_secs(20), "{name}: {:?}", start.elapsed());
        });
    }
    assert_eq!(read(&[]).write(Counter::APPROX, 1_000, |_| true), "");
    for blank in ["", " ", "\n\n\t\r\n", "\u{2028}\u{a0}"] {
        let digest = digest_of_chat(&[said("user", blank), said("assistant", blank)], 1_000);
        assert_eq!(digest, "2 messages without words.", "{blank:?}");
    }
}

#[test]
fn any_text_is_taken() {
    let texts = crate::tests::conversations::small_fixtures();
    let odd = [
        "\u{0}\u{7f}\u{1b}[31mred\u{1b}[0m",
        "\u{feff}a\u{200b}b",
        "a\r\nb\rc",
        "…",
        "- \n  - ",
        "```",
        "\u{202e}abc",
        "e\u{301}",
    ];
    for text in odd.into_iter().map(str::to_owned).chain(texts.into_iter().step_by(4)) {
        // A picture in a text is told by its size, and not as it was said.
        if text.contains(";base64,") {
            continue;
        }
        let id = json!({"id": "a", "type": "function", "function": {"name": text, "arguments": text}});
        let messages = json!([
            {"role": "user", "content": text}, {"role": "assistant", "content": text, "tool_calls": [id]},
            {"role": "tool", "tool_call_id": "a", "content": text}, {"role": "user", "content": format!("{PREFIX}{text}")},
        ]);
        with_document(&messages.to_string(), by_name("openai-chat"), |document| {
            for (counter, limit) in COUNTERS.into_iter().flat_map(|counter| [(counter, 90), (counter, 9_000)]) {
                let digest = assert_digest(&document.transcripts[0], counter, limit);
                assert!(limit < 1_000 || !digest.is_empty(), "{text}");
            }
        });
    }
}
