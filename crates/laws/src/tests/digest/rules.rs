//! What the user said survives: rules through five rounds, the newest of each rank, and each line of an earlier summary.

use std::collections::HashSet;

use crate::tokens::Counter;
use crate::transcript::formats::{FORMATS, Format, by_name};
use serde_json::{Value, json};

use crate::bricks::Bricks;
use crate::bricks::talk::{Step, choices};
use crate::digest::{Item, Section, as_message, digest_of, squeezed};
use crate::tests::digest::{digest_of_chat, for_cases, items, with_messages};

/// Sentences of the first rank, in some languages, each with a name that nobody else says.
fn rule(below: &mut impl FnMut(usize) -> usize, number: usize) -> String {
    let text = [
        "Only Pia may merge into $.",
        "Never touch the folder $.",
        "You must ask Mia before $ is deployed.",
        "At most 3 retries for $.",
        "Make the timeout of $ 45 seconds instead of 30.",
        "Don't log the names in $!",
        "请不要删除 $ 的文件。",
        "Bitte niemals $ direkt pushen.",
        "Il faut garder $ compatible.",
        "$ は変更しないでください。",
        "Nunca borres $.",
    ][below(11)];
    text.replace('$', &format!("zu{number}"))
}

/// What the user says besides, without a cue.
fn request(below: &mut impl FnMut(usize) -> usize, number: usize) -> String {
    let text = [
        "Now look at issue $.",
        "Please go on with file $ of the report and tell me what its heading says.",
        "What does module $ do? I read the first lines of it yesterday and they looked odd to me. Then read the next one, write down what you find there, and tell me about the two of them.",
        "Next: $",
        "看一下文件 $。",
    ][below(5)];
    text.replace('$', &format!("zu{number}"))
}

/// Runs conversations through rounds of a digest. Returns the digest of each.
fn rounds(bricks: &Bricks, format: &'static Format, parts: &[Vec<Step>], limit: u64) -> Vec<String> {
    let mut digests: Vec<String> = Vec::new();
    for part in parts {
        let earlier = digests.last().map(|digest| Step::User(as_message(digest)));
        let steps: Vec<Step> = earlier.into_iter().chain(part.iter().cloned()).collect();
        let source = bricks.conversation(&steps, 0);
        digests.push(with_messages(&source, Some(format), |messages| digest_of(messages, Counter::APPROX, limit)));
    }
    digests
}

/// Six turns of the user with a call and an answer each.
fn neutral_turns(below: &mut impl FnMut(usize) -> usize, first: usize) -> Vec<Step> {
    let turn = |number: usize| {
        let result = format!("Heading {number} of the report. {}", "It was read and nobody complained. ".repeat(12));
        let call = Step::Call("Read", json!({"file_path": format!("docs/r{number}.md")}), result);
        let answer = "The heading of it says what is in the report, and the rest is as it was yesterday. ".repeat(2);
        [Step::User(request(below, number)), call, Step::Assistant(answer)]
    };
    (first..first + 6).flat_map(turn).collect()
}

/// Law 16.
#[test]
fn five_rounds_keep_each_rule_that_one_keeps() {
    for_cases(102, |bricks, format, seed| {
        let mut below = choices(seed);
        let limit = [512, 1_024, 3_072][seed as usize % 3];
        let rules = 1 + below(if limit == 512 { 6 } else { 12 });
        let texts: Vec<String> = (0..rules).map(|number| rule(&mut below, number)).collect();
        // In messages of their own, in one long one, or as a list; at the beginning, or in several rounds.
        let said: Vec<Step> = match below(4) {
            0 => vec![Step::User(format!(
                "{}{}",
                "We build the billing service and begin with the reader. ".repeat(6),
                texts.join(" ")
            ))],
            1 => vec![Step::User(format!(
                "We build the reader.\n\nRules:\n- {}\n\nBegin with the log.",
                texts.join("\n- ")
            ))],
            _ => texts.iter().map(|text| Step::User(text.clone())).collect(),
        };
        let mut parts: Vec<Vec<Step>> = (0..5).map(|round| neutral_turns(&mut below, 100 + 10 * round)).collect();
        let at = below(2);
        parts[at].splice(1..1, said);
        let digests = rounds(bricks, format, &parts, limit);
        let kept = |digest: &str, text: &String| {
            let user: String = items(digest, Section::User).iter().map(|item| squeezed(&item.text)).collect();
            user.contains(&squeezed(text))
        };
        for text in &texts {
            assert!(kept(&digests[at], text), "{text} of {} is not in round {at}: {}", format.name, digests[at]);
            assert!(kept(&digests[4], text), "{text} of {} at {limit} is lost: {}", format.name, digests[4]);
        }
    });
}

/// Law 17.
#[test]
fn of_each_rank_the_newest_stand() {
    for_cases(68, |bricks, format, seed| {
        let mut below = choices(seed);
        let mut ranks: Vec<bool> = Vec::new();
        let said: Vec<Step> = (0..30)
            .flat_map(|number| {
                ranks.push(below(2) == 0);
                let text = match ranks[number] {
                    true => format!("Never touch the part with the name zu{number}."),
                    false => format!(
                        "Read the part {} zu{number}.",
                        "abcdefghijklmnopqrstuvwxyzabcdef"[number..].get(..1).unwrap_or("z")
                    ),
                };
                [Step::User(text), Step::Assistant("That is done.".to_owned())]
            })
            .collect();
        let parts: Vec<Vec<Step>> = said.chunks(12).map(<[Step]>::to_vec).collect();
        for digest in rounds(bricks, format, &parts, [120, 200, 300][below(3)]) {
            let shown: HashSet<usize> = super::users(&digest).into_iter().map(|user| user as usize).collect();
            let last = shown.iter().max().copied().unwrap_or(0);
            for rank in [true, false] {
                let of_rank: Vec<usize> = (1..=last).filter(|&number| ranks[number] == rank).collect();
                let Some(oldest) = of_rank.iter().find(|number| shown.contains(number)) else { continue };
                let gaps =
                    of_rank.iter().filter(|number| *number > oldest && !shown.contains(number) && **number != last);
                assert_eq!(gaps.count(), 0, "of rank {rank}, newer ones than {oldest:?} are missing: {digest}");
            }
        }
    });
}

/// Ways in which an earlier summary can stand in a list of messages.
fn earlier_ways(text: &str) -> Vec<(&'static str, Vec<Value>)> {
    let claude = "This session is being continued from a previous conversation that ran out of context. The summary below covers the earlier portion of the conversation.";
    let go_on =
        "Please continue the conversation from where we left it off without asking the user any further questions.";
    let line = |text: String| json!({"type": "user", "isCompactSummary": true, "uuid": "s", "parentUuid": null, "message": {"role": "user", "content": text}});
    let block = |text: String| json!({"role": "assistant", "content": [{"type": "compaction", "content": text}]});
    vec![
        ("claude-code", vec![line(text.to_owned())]),
        ("claude-code", vec![line(format!("{claude}\n\n{text}\n\n{go_on}"))]),
        ("claude-code", vec![line(format!("{claude}\n\nSummary:\n{text}\n{go_on}"))]),
        (
            "claude-code",
            vec![line(format!("{claude}\n<analysis>\nI think of it.\n</analysis>\n\n<summary>\n{text}\n</summary>"))],
        ),
        ("anthropic", vec![block(text.to_owned())]),
        ("anthropic", vec![block(format!("<summary>{text}</summary>"))]),
        ("anthropic", vec![block(format!("<summary>\n{text}\n</summary>"))]),
        ("anthropic", vec![block(format!("<analysis>I think of it.</analysis>\n<summary>{text}</summary>"))]),
        ("openai-chat", vec![json!({"role": "user", "content": as_message(text)})]),
    ]
}

/// Law 15.
#[test]
fn each_line_of_an_earlier_summary_stands_or_is_counted() {
    let texts = [
        "Never water bed 9.",
        "## Session intent\nThe beds.\n\n## Rules\n- never water bed 9\n- ask before you plant\n\nSummary:\n- bed 7 is dry\n",
        "The parser reads <summary> and </analysis> tags.\nBed 7 is dry.\nContinue the conversation from bed 8.",
        "1. Primary Request and Intent:\n   Water the beds.\n\n2. All user messages:\n   - \"water bed 7\"\n   - \"not bed 9\"\n\n9. Optional Next Step:\n   Look at bed 8.",
        "**Rules**\n* only at night\n\n```sh\n# a comment\nmake water\n```\nand then the rest",
        "Summary: bed 7 is dry. If you need specific details from before compaction, ask Mia.",
    ];
    let turns: Vec<Value> = (0..8)
        .flat_map(|turn| {
            [
                json!({"role": "user", "content": format!("Now look at bed {turn} of the garden.")}),
                json!({"role": "assistant", "content": "It is as it was, and there is nothing to do. ".repeat(6)}),
            ]
        })
        .collect();
    for text in texts {
        for (name, mut messages) in earlier_ways(text) {
            let wrap = |turn: &Value| match name {
                "claude-code" => json!({"type": turn["role"], "uuid": "u", "parentUuid": "s", "message": turn}),
                _ => turn.clone(),
            };
            messages.extend(turns.iter().map(wrap));
            let lines: Vec<String> = messages.iter().map(Value::to_string).collect();
            let source = if name == "claude-code" { lines.join("\n") } else { json!(messages).to_string() };
            for limit in [40, 80, 200, 1_024] {
                let digest =
                    with_messages(&source, by_name(name), |messages| digest_of(messages, Counter::APPROX, limit));
                if digest.starts_with("## Last words") {
                    continue;
                }
                let earlier = items(&digest, Section::Earlier);
                let shown: String = earlier.iter().map(|item| squeezed(&item.text)).collect();
                let left_out: usize = earlier.iter().filter_map(Item::left_out).sum();
                let missing = |line: &&str| !squeezed(line).is_empty() && !shown.contains(&squeezed(line));
                let missing: Vec<&str> = text.lines().filter(missing).collect();
                assert!(missing.len() <= left_out, "{name} at {limit}: {missing:?} of {text}\n{digest}");
                assert!(limit < 1_024 || left_out == 0, "{name}: {digest}");
            }
        }
    }
}

/// The lines that an earlier digest has, and those that somebody else wrote into it.
#[test]
fn each_line_of_an_earlier_digest_stands_or_is_counted() {
    let digest = "## The user, in order; later words hold where two disagree\n- [0] Water the beds.\n- (4 like this, but for digits) nobody's\n- [9] (4 like this, but for digits) Now bed 7.\n- Left out: 3 messages of the user.\n## State\n- a line by hand\n- Changed: a.md [3], … 5 more, and 2 left out earlier\n## Commands and calls, the last run of each\n- [4] by hand\n- Left out: 6 calls.\n## What the assistant said, in order\n- [5] It is done.\n- [6] (thought) hm\n- Left out: 2 texts of the assistant.";
    let said = |role: &str, text: &str| json!({"role": role, "content": text});
    let next =
        digest_of_chat(&[said("user", &as_message(digest)), said("user", "Go on."), said("assistant", "Yes.")], 1_000);
    for text in [
        "nobody's",
        "- [1:9] (4 like this, but for digits) Now bed 7.",
        "Left out: 3 messages of the user.",
        "a line by hand",
        "a.md: changed [1:3]",
        "Left out: 7 lines of the state.",
        "[4] by hand",
        "Left out: 6 calls.",
        "Left out: 3 texts of the assistant [1:6].",
    ] {
        assert!(next.contains(text), "{text} is not in {next}");
    }
}

/// A few messages in the least room of a digest: none vanishes, and short ones are whole.
#[test]
fn few_messages_stand_in_a_small_digest() {
    for format in FORMATS {
        let bricks = Bricks::of(format.name);
        for number_of_words in [5, 20, 28, 40] {
            for cue in ["", "never "] {
                let text = |at: usize| {
                    let letter = |number: usize| char::from(b'a' + (number % 26) as u8);
                    let words: Vec<String> =
                        (1..number_of_words).map(|word| format!("abc{}", letter(word + at))).collect();
                    format!("{cue}zu{at} {}.", words.join(" "))
                };
                let answer = "It was read, and it says what the other one said about the beds. ".repeat(8);
                let steps = |at: usize| [Step::User(text(at)), Step::Assistant(answer.clone())];
                let source = bricks.conversation(&(10..20).flat_map(steps).collect::<Vec<_>>(), 0);
                let digest =
                    with_messages(&source, Some(*format), |messages| digest_of(messages, Counter::APPROX, 1_024));
                assert_eq!(super::users(&digest).len(), 10, "{number_of_words} words in {}: {digest}", format.name);
            }
        }
    }
}
