//! What agents reset after a compaction, in generated sessions whose entries name their parents or record sizes.

use std::collections::HashMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::bricks::{Bricks, Generated, file, generated, keep, pin};
use crate::lawful::{TOKENS, VaryingRules, compacted, compacted_and_reset, found, mended, policy};
use crate::rewrite::repair::Repair;
use crate::tests::cases;
use crate::transcript::formats::by_name;

fn lines(text: &str) -> Vec<Value> {
    serde_json::Deserializer::from_str(text).into_iter().map(|line| line.expect("JSON")).collect()
}

/// The ids of the walk up from the last entry.
fn walk(text: &str, id: &str, parent: &str) -> Vec<String> {
    let lines = lines(text);
    let linked: Vec<&Value> = lines.iter().filter(|line| line.get(parent).is_some() && line[id].is_string()).collect();
    let by_id: HashMap<&str, &Value> = linked.iter().filter_map(|line| Some((line[id].as_str()?, *line))).collect();
    // Claude Code never goes on from a line about progress.
    let last = linked.iter().rfind(|line| line["type"] != "progress").copied();
    let (mut walked, mut at) = (Vec::new(), last);
    while let Some(line) = at {
        let own = line[id].as_str().expect("an id").to_owned();
        assert!(!walked.contains(&own), "a cycle at {own}: {text}");
        at = line[parent].as_str().and_then(|parent| by_id.get(parent).copied());
        walked.push(own);
    }
    walked
}

/// Breaks the links of some entries: to an entry that is not there, to itself, to a later one, or to none.
fn break_links(source: &str, breaks: &[(usize, u8)], keys: (&str, &str)) -> String {
    let mut lines = lines(source);
    let linked: Vec<usize> = (0..lines.len()).filter(|&at| lines[at].get(keys.1).is_some()).collect();
    for (at, how) in breaks.iter().filter(|_| !linked.is_empty()) {
        let at = linked[at % linked.len()];
        let later = linked.iter().find(|later| **later > at).map_or(Value::Null, |later| lines[*later][keys.0].clone());
        lines[at][keys.1] = match how {
            0 => json!("lost"),
            1 => lines[at][keys.0].clone(),
            2 => later,
            _ => Value::Null,
        };
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

proptest! {
    #![proptest_config(cases(1_500))]

    /// Wherever links of a session of Claude Code end, the walk up from its last line reaches the summary.
    #[test]
    fn the_walk_reaches_the_summary(generated in generated(), layout in 0usize..2, keep in keep(), pin in pin(),
                                    breaks in prop::collection::vec((0usize..64, 0u8..4), 0..4)) {
        let format = by_name("claude-code");
        let (source, _) = file(&Bricks::of("claude-code"), &generated, layout);
        let source = break_links(&source, &breaks, ("uuid", "parentUuid"));
        let (plans, out) = compacted_and_reset(&source, format, &policy(&VaryingRules { keep, pin }));
        let summary = lines(&out).into_iter().find(|line| line["isCompactSummary"] == true);
        if let ([plan], Some(summary)) = (&plans[..], summary) && plan.cutoff > 0 {
            let id = summary["uuid"].as_str().expect("an id").to_owned();
            prop_assert!(walk(&out, "uuid", "parentUuid").contains(&id), "{}\n{}", out, source);
        }
    }

    /// Broken links are repaired, and then the walk reaches the first entry that it can reach.
    #[test]
    fn broken_links_are_repaired(generated in generated(), which in prop::sample::select(vec!["claude-code", "pi", "qwen-code"]),
                                 breaks in prop::collection::vec((0usize..64, 0u8..3), 0..4)) {
        let keys = if which == "pi" { ("id", "parentId") } else { ("uuid", "parentUuid") };
        let generated = [generated, vec![Generated::User("u".to_owned())]].concat();
        let (source, _) = file(&Bricks::of(which), &generated, 0);
        let source = break_links(&source, &breaks, keys);
        let text = mended(&source, by_name(which), Repair::Drop).expect("a user is left");
        prop_assert_eq!(found(&text, by_name(which)), Vec::<String>::new(), "{}\n{}", text, source);
        walk(&text, keys.0, keys.1);
    }

    /// Recorded sizes that stay say no more than what is sent from now on, and nothing else changes.
    #[test]
    fn sizes_are_reset(generated in generated(), which in prop::sample::select(vec!["claude-code", "codex"]), keep in keep(), pin in pin()) {
        let format = by_name(which);
        let (source, _) = file(&Bricks::of(which), &generated, 0);
        let usage = json!({"input_tokens": 90_000, "cache_read_input_tokens": 5, "output_tokens": 7, "total_tokens": 90_012});
        let with_sizes: String = lines(&source).into_iter().map(|mut line| {
            if line["type"] == "assistant" {
                line["message"]["usage"] = usage.clone();
            }
            let event = json!({"timestamp": "t", "type": "event_msg", "payload": {"type": "token_count", "info": {"last_token_usage": usage}}});
            if which == "codex" { format!("{line}\n{event}\n") } else { format!("{line}\n") }
        }).collect();
        let rules = policy(&VaryingRules { keep, pin });
        let (plans, out) = compacted_and_reset(&with_sizes, format, &rules);
        if plans[0].cutoff == 0 {
            prop_assert_eq!(out, with_sizes);
            return Ok(());
        }
        let plain = lines(&compacted(&with_sizes, format, &rules).1);
        for (line, before) in lines(&out).into_iter().zip(plain) {
            let (usage, kept) = match which {
                "codex" => (line["payload"]["info"]["last_token_usage"].clone(), before["payload"] == line["payload"]),
                _ => (line["message"]["usage"].clone(), before["message"] == line["message"]),
            };
            let sizes = ["input_tokens", "cache_read_input_tokens", "output_tokens"].map(|key| usage[key].as_u64());
            prop_assert!(usage.is_null() && kept || sizes == [Some(0); 3], "{}", line);
            prop_assert!(which != "codex" || usage.is_null() || usage["total_tokens"] == TOKENS, "{}", line);
        }
    }
}
