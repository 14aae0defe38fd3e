//! A result walked as its agent walks it has exactly the messages that are counted, in order; and what stays is sent.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::FIXTURES;
use crate::bricks::{Bricks, Generated, PINS, file, generated};
use crate::lawful::{found, with_document};
use crate::tests::cases;
use crate::transcript::formats::by_name;
use crate::walks::{AGENTS, entries, sent};
use crate::whole::process;

/// The messages that are counted.
fn counted(agent: &str, text: &str) -> Vec<Value> {
    with_document(text, by_name(agent), |document| {
        let messages = document.transcripts.iter().flat_map(|transcript| &transcript.messages);
        messages.map(|message| serde_json::from_str(message.json.raw()).expect("JSON")).collect()
    })
}

fn assert_walk(agent: &str, text: &str, why: &str) -> Vec<Value> {
    let walked = sent(agent, text);
    let counted = counted(agent, text);
    let lines = |entries: &[Value]| entries.iter().map(|entry| format!("{entry}\n")).collect::<String>();
    assert!(walked == counted, "{agent} sends\n{}and counted are\n{}{why}: {text}", lines(&walked), lines(&counted));
    walked
}

/// What an entry says, without its links and sizes.
fn said(entry: &Value) -> Value {
    let mut said = ["message", "payload", "content", "args"]
        .into_iter()
        .find_map(|key| entry.get(key))
        .cloned()
        .unwrap_or_default();
    if let Some(message) = said.as_object_mut() {
        message.remove("usage");
    }
    said
}

/// How one line of a session of Claude Code is changed into what people have on their disks.
#[derive(Debug, Clone)]
enum Oddity {
    /// It names a parent that is not there.
    LostParent,
    /// It names itself.
    OwnParent,
    /// It names a line behind it.
    LaterParent,
    /// It begins a second tree.
    SecondRoot,
    /// It is written again at the end, as a fork does, without a parent.
    WrittenAgain,
    /// Another line follows the same parent.
    Branch,
    /// It belongs to a sub-agent.
    SubAgent,
}

/// What is odd about a session. A line that names a later one is the only oddity of its session: no agent writes one, and
/// beside copies and lost lines nothing says which line is the last.
fn oddities() -> impl Strategy<Value = Vec<(usize, Oddity)>> {
    let common = prop::sample::select(vec![
        Oddity::LostParent,
        Oddity::OwnParent,
        Oddity::SecondRoot,
        Oddity::WrittenAgain,
        Oddity::Branch,
        Oddity::Branch,
        Oddity::SubAgent,
    ]);
    let place = 0usize..40;
    prop_oneof![
        6 => prop::collection::vec((place.clone(), common), 1..4),
        1 => place.prop_map(|place| vec![(place, Oddity::LaterParent)]),
    ]
}

fn with_oddities(text: &str, oddities: &[(usize, Oddity)]) -> String {
    let mut lines = entries(text);
    // A fork comes last: it copies lines as they are.
    let (forks, others): (Vec<_>, Vec<_>) =
        oddities.iter().partition(|(_, oddity)| matches!(oddity, Oddity::WrittenAgain));
    for (number, (place, oddity)) in others.into_iter().chain(forks).enumerate() {
        let linked: Vec<usize> = (0..lines.len()).filter(|at| lines[*at].get("parentUuid").is_some()).collect();
        if linked.is_empty() {
            break;
        }
        let place = linked[place % linked.len()];
        match oddity {
            Oddity::LostParent => lines[place]["parentUuid"] = json!("lost"),
            Oddity::OwnParent => lines[place]["parentUuid"] = lines[place]["uuid"].clone(),
            Oddity::LaterParent => lines[place]["parentUuid"] = lines[linked[linked.len() - 1]]["uuid"].clone(),
            Oddity::SecondRoot => lines[place]["parentUuid"] = Value::Null,
            Oddity::WrittenAgain => {
                let mut again = lines[place].clone();
                again["parentUuid"] = Value::Null;
                lines.push(again);
            }
            Oddity::Branch => {
                let mut branch = lines[place].clone();
                branch["uuid"] = json!(format!("branch{number}"));
                branch["message"] = json!({"role": "user", "content": "taken back"});
                branch["type"] = json!("user");
                lines.insert(place, branch);
            }
            Oddity::SubAgent => lines[place]["isSidechain"] = json!(true),
        }
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// The flags that change what stays; `least` is the fewest messages that are kept.
fn rules(least: usize) -> impl Strategy<Value = Vec<String>> {
    let keep = (least..8).prop_map(|keep| match keep {
        0 => "--keep=none".to_owned(),
        keep => format!("--keep=messages:{keep}"),
    });
    let pins = prop::collection::vec(prop::sample::select(&PINS[..]), 1..3);
    let rest = prop::sample::select(vec![
        "--accept=any",
        "--prune=all",
        "--fit=tokens:300",
        "--fit=tokens:90",
        "--repair=drop",
        "--repair=synthesize",
        "--model=none",
        "--thinking=drop",
        "--redact=all",
    ]);
    (keep, pins, rest).prop_map(|(keep, pins, rest)| {
        let pins = pins.into_iter().map(|pin| format!("--pin={pin}"));
        [keep, rest.to_owned(), "--summary-tokens=60".to_owned()].into_iter().chain(pins).collect()
    })
}

fn compact(agent: &str, rules: &[String], text: &str) -> Option<String> {
    let from = format!("--from={agent}");
    let arguments: Vec<String> = rules.iter().cloned().chain([from, "--accept=any".to_owned()]).collect();
    process(&arguments, text).ok().map(|done| done.text)
}

/// Compacts a session in some rounds between which it grows, and checks each result.
fn assert_rounds(agent: &str, text: &str, rules: &[String], rounds: usize) {
    let lines: Vec<&str> = text.lines().collect();
    let is_lines = text.ends_with('\n') && lines.len() > 1;
    let share = if is_lines { lines.len().div_ceil(rounds) } else { lines.len() };
    let mut grown = String::new();
    for gained in lines.chunks(share.max(1)) {
        grown += &(gained.join("\n") + "\n");
        let Some(result) = compact(agent, rules, &grown) else { continue };
        if result == grown {
            continue;
        }
        let was_sound = found(&grown, by_name(agent)).is_empty();
        assert!(
            !was_sound || found(&result, by_name(agent)).is_empty(),
            "{rules:?} breaks it: {:?}\n{result}\n{grown}",
            found(&result, by_name(agent))
        );
        // Where only a copy of a line goes, a broken link behind it stays broken.
        if found(&result, by_name(agent)).iter().any(|breach| breach.contains("agent finds nothing before")) {
            grown = result;
            continue;
        }
        let walked = assert_walk(agent, &result, &format!("{rules:?}"));
        let keeps_all = !rules.iter().any(|rule| {
            ["--prune", "--fit", "--repair", "--thinking", "--redact"].iter().any(|changes| rule.starts_with(changes))
        });
        if keeps_all {
            // What stays is what was there, in its order.
            let before: Vec<Value> = counted(agent, &grown).iter().map(said).collect();
            let mut rest = before.iter();
            let is_summary =
                |entry: &Value| entry.to_string().contains("<summary>") || entry.to_string().contains("[tcompact");
            for entry in walked.iter().filter(|entry| !is_summary(entry)) {
                let said = said(entry);
                assert!(rest.any(|before| *before == said), "{entry} does not stand in its order: {result}\n{grown}");
            }
            if !rules.contains(&"--keep=none".to_owned()) {
                let last: Vec<Value> = walked.iter().rev().take(1).map(said).collect();
                assert_eq!(last, before[before.len() - 1..], "the last message stays");
            }
        }
        grown = result;
        if !grown.ends_with('\n') {
            grown.push('\n');
        }
    }
}

proptest! {
    #![proptest_config(cases(1_500))]

    #[test]
    fn what_is_counted_is_what_the_agent_sends(
        generated in generated(), agent in prop::sample::select(&AGENTS[..]), rules in rules(1), rounds in 1usize..4,
    ) {
        let generated: Vec<Generated> = generated.into_iter().filter(Generated::is_known).collect();
        let bricks = Bricks::of(agent);
        let layout = bricks.layouts() - 1;
        let (source, _) = file(&bricks, &generated, if agent == "claude-code" || agent == "codex" { 0 } else { layout });
        assert_walk(agent, &source, "as it was");
        assert_rounds(agent, &source, &rules, rounds);
    }

    /// Also where the tree of a session is not one chain.
    #[test]
    fn what_claude_code_does_not_send_does_not_count(
        generated in generated(), oddities in oddities(), rules in rules(0), rounds in 1usize..3,
    ) {
        let generated: Vec<Generated> = generated.into_iter().filter(Generated::is_known).collect();
        let (source, _) = file(&Bricks::of("claude-code"), &generated, 0);
        let source = with_oddities(&source, &oddities);
        if entries(&source).iter().any(|line| line.get("message").is_some()) {
            // Where the way is torn, a compaction or a repair ties it together again.
            if found(&source, by_name("claude-code")).is_empty() {
                assert_walk("claude-code", &source, "as it was");
            }
            assert_rounds("claude-code", &source, &rules, rounds);
        }
    }
}

/// A session of prompts and answers.
fn session(turns: usize) -> Vec<Value> {
    let mut lines = Vec::new();
    let mut parent = Value::Null;
    for turn in 0..turns {
        for (speaker, text) in [
            ("user", format!("Request {turn}: leave bed {turn} alone.")),
            ("assistant", format!("Bed {turn} stays as it is, with all of its plants and with its label.")),
        ] {
            let id = format!("00000000-0000-4000-8000-{:012}", lines.len());
            let message = json!({"role": speaker, "content": text});
            lines.push(json!({"parentUuid": parent, "isSidechain": false, "sessionId": "s", "type": speaker, "message": message, "uuid": id}));
            parent = json!(id);
        }
    }
    lines
}

fn written(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn pinned_words_of_the_user_are_sent() {
    let source = written(&session(15));
    for pin in ["user", "first:3", "match:bed 1", "user:messages:4"] {
        let rules = [format!("--pin={pin}"), "--keep=messages:4".to_owned(), "--summary-tokens=60".to_owned()];
        let result = compact("claude-code", &rules, &source).expect("a result");
        let walked = assert_walk("claude-code", &result, pin);
        let sent = walked.iter().filter(|line| line["message"]["content"].to_string().contains("\"Request ")).count();
        let pinned = match pin {
            "user" => 15,
            "first:3" => 2 + 2,
            "match:bed 1" => 4 + 2,
            _ => 4 + 2,
        };
        assert_eq!(sent, pinned, "{pin}: {result}");
    }
}

/// Files that were compacted before: pinned messages hang beside the chain.
#[test]
fn a_message_beside_the_chain_is_named_and_repaired() {
    let mut lines = session(4);
    let empty = json!({"parentUuid": lines[0]["uuid"], "isSidechain": false, "sessionId": "s", "type": "system", "subtype": "informational", "content": "", "isMeta": true, "uuid": "gap"});
    lines[0]["isCompactSummary"] = json!(true);
    lines[2]["parentUuid"] = json!("gap");
    let answer = lines.remove(3);
    lines[3]["parentUuid"] = lines[1]["uuid"].clone();
    lines.insert(2, empty);
    let source = written(&lines);
    assert_eq!(counted("claude-code", &source).len(), lines.len() - 2, "one is empty, one is beside: {answer}");
    let breaches = found(&source, by_name("claude-code"));
    assert!(breaches.len() == 1 && breaches[0].contains("does not send it"), "{breaches:?}");
    let rules = ["--repair=drop".to_owned(), "--keep=messages:50".to_owned()];
    let repaired = compact("claude-code", &rules, &source).expect("a result");
    assert_eq!(found(&repaired, by_name("claude-code")), Vec::<String>::new());
    assert_eq!(assert_walk("claude-code", &repaired, "repaired").len(), lines.len() - 1);
}

#[test]
fn copies_leave_and_branches_stay() {
    let line = |id: &str, parent: Value, rest: Value| {
        let mut line = json!({"parentUuid": parent, "isSidechain": false, "sessionId": "s", "uuid": id});
        line.as_object_mut().expect("an object").extend(rest.as_object().expect("an object").clone());
        line
    };
    let prompt = |text: &str| json!({"type": "user", "message": {"role": "user", "content": text}});
    let old = session(3);
    let mut lines = old.clone();
    lines.push(line("boundary", Value::Null, json!({"type": "system", "subtype": "compact_boundary", "content": ""})));
    let mut summary = prompt("This session is being continued. The user asked for beds.");
    summary["isCompactSummary"] = json!(true);
    lines.push(line("summary", json!("boundary"), summary));
    lines.push(line("a", json!("summary"), prompt("Water bed 7 every day.")));
    let branch = line("left", json!("a"), prompt("Dig bed 3 over."));
    lines.push(branch.clone());
    lines.push(line("b", json!("a"), prompt("And water bed 8 every day, with a can, and not with the hose, please.")));
    // A fork writes the old lines again, without their parents.
    for copy in &old {
        let mut copy = copy.clone();
        copy["parentUuid"] = Value::Null;
        lines.push(copy);
    }
    lines.push(line("c", json!("b"), prompt("Go on in the fork.")));
    let source = written(&lines);
    assert_eq!(assert_walk("claude-code", &source, "as it was").len(), 4);
    let rules = ["--keep=messages:1".to_owned(), "--summary-tokens=60".to_owned()];
    let result = compact("claude-code", &rules, &source).expect("a result");
    assert_eq!(assert_walk("claude-code", &result, "compacted").len(), 2);
    assert!(!result.contains("Request 0"), "{result}");
    assert_eq!(entries(&result).iter().filter(|line| **line == branch).count(), 1, "{result}");
    let grown =
        result + &written(&[line("d", json!("c"), prompt("And then? Tell me more of the hose, and of the can."))]);
    let again = compact("claude-code", &rules, &grown).expect("a result");
    assert_eq!(assert_walk("claude-code", &again, "compacted twice").len(), 2);
    assert_eq!(entries(&again).iter().filter(|line| **line == branch).count(), 1, "{again}");
}

/// What a sub-agent said stays its own where a compaction leaves no message beside it.
#[test]
fn lines_of_a_sub_agent_never_become_the_conversation() {
    let mut lines = session(1);
    lines[0]["isSidechain"] = json!(true);
    lines[0]["parentUuid"] = json!("of another file");
    lines[1]["message"]["content"] = json!([{"type": "thinking", "thinking": "hm", "signature": "s"}]);
    let source = written(&lines);
    assert_eq!(assert_walk("claude-code", &source, "as it was").len(), 1);
    let rules = ["--keep=none".to_owned(), "--prune=all".to_owned()];
    let result = compact("claude-code", &rules, &source).expect("a result");
    assert_ne!(result, source);
    assert_eq!(found(&result, by_name("claude-code")), Vec::<String>::new());
    assert_eq!(assert_walk("claude-code", &result, "compacted"), Vec::<Value>::new());
}

/// A line that follows the last one although it was written before it: where it goes, no branch takes its place.
#[test]
fn a_branch_stays_one_where_the_end_of_the_way_goes() {
    let mut lines = session(6);
    let last = lines[11]["uuid"].clone();
    lines[0]["parentUuid"] = last.clone();
    lines[4]["parentUuid"] = last;
    lines[6]["parentUuid"] = Value::Null;
    let source = written(&lines);
    let walked = assert_walk("claude-code", &source, "as it was");
    assert_eq!(walked, [&lines[4..6], &lines[6..]].concat());
    let rules = ["--keep=messages:3".to_owned(), "--pin=none".to_owned(), "--summary-tokens=60".to_owned()];
    let result = compact("claude-code", &rules, &source).expect("a result");
    let walked = assert_walk("claude-code", &result, "compacted");
    assert_eq!(walked[1..].iter().map(said).collect::<Vec<_>>(), lines[9..].iter().map(said).collect::<Vec<_>>());
}

/// The copy of a line of which pruning leaves nothing, and which the copy made the first line that is sent.
#[test]
fn a_pruned_line_takes_the_parent_of_its_copy() {
    let mut lines = session(4);
    let thinking =
        json!([{"type": "thinking", "thinking": "Bed 1 is dry, so it needs water. ".repeat(40), "signature": "s"}]);
    lines[3]["message"] = json!({"id": "m", "role": "assistant", "content": thinking});
    let mut copy = lines[3].clone();
    copy["parentUuid"] = Value::Null;
    lines.push(copy);
    let source = written(&lines);
    assert_eq!(assert_walk("claude-code", &source, "as it was").len(), 5);
    let rules = ["--keep=messages:1".to_owned(), "--prune=thinking".to_owned(), "--model=none".to_owned()];
    let result = compact("claude-code", &rules, &source).expect("a result");
    assert_ne!(result, source);
    assert_eq!(assert_walk("claude-code", &result, "pruned").len(), 4);
}

#[test]
fn fixtures_of_sessions_are_walked() {
    for agent in AGENTS {
        for entry in std::fs::read_dir(format!("{FIXTURES}/{agent}")).expect("fixtures") {
            let path = entry.expect("a file").path();
            let text = std::fs::read_to_string(&path).expect("a text");
            // A file of several conversations is not a session.
            if with_document(&text, by_name(agent), |document| document.transcripts.len()) > 1 {
                continue;
            }
            for keep in ["--keep=messages:2", "--keep=messages:4"] {
                let rules = [keep.to_owned(), "--pin=user".to_owned(), "--summary-tokens=60".to_owned()];
                let Some(result) = compact(agent, &rules, &text) else { continue };
                let is_message = |line: &Value| line.get("attachment").is_none() && line["type"] != "system";
                let walked: Vec<Value> = sent(agent, &result).into_iter().filter(is_message).collect();
                let counted: Vec<Value> = counted(agent, &result).into_iter().filter(is_message).collect();
                assert_eq!(walked.len(), counted.len(), "{}: {result}", path.display());
            }
        }
    }
}
