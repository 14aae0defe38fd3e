//! The embedded summarizer: no network, no model, the same text for the same history.
//!
//! It takes sentences and names from the history (`notes`) and fills four sections with the weightiest of them until
//! the budget is spent. It makes nothing up, and it never exceeds the budget.

mod notes;
mod sentences;

use std::collections::BTreeSet;

use crate::tokens::Counter;
use crate::transcript::Message;

use notes::{Note, SECTIONS, Section};

/// Summarizes `messages` in at most `limit` tokens. `prefix` is what an earlier summary begins with: its lines are
/// carried on and not summarized as talk. Empty only where the limit is too small for a character.
pub fn summarize(messages: &[&Message<'_>], prefix: &str, counter: Counter, limit: u64) -> String {
    let notes = notes::collect(messages, prefix);
    let mut chosen = choose(&notes, counter, limit);
    loop {
        let text = compose(&notes, &chosen);
        // Tokens of lines add up to those of the text but for rounding and merges across line ends.
        if counter.count_text(&text) <= limit {
            return if text.is_empty() { first_words(&notes, messages, counter, limit) } else { text };
        }
        chosen.pop();
    }
}

/// The part of the budget that a section may take before the others have had theirs.
fn share(section: Section) -> f64 {
    match section {
        Section::Intent => 0.3,
        Section::Summary => 0.4,
        Section::Artifacts => 0.2,
        Section::NextSteps => 0.1,
    }
}

/// The notes to take, the weightiest first: within each section's share, and then whatever still fits.
fn choose(notes: &[Note], counter: Counter, limit: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..notes.len()).collect();
    order.sort_by(|&a, &b| notes[b].weight.total_cmp(&notes[a].weight).then(a.cmp(&b)));
    let costs: Vec<u64> = notes.iter().map(|note| counter.count_text(&note.line()) + 1).collect();
    let mut chosen: Vec<usize> = Vec::new();
    let mut taken = vec![false; notes.len()];
    let mut said: Vec<&BTreeSet<u64>> = Vec::new();
    let mut spent = 0;
    let mut spent_on = [0u64; SECTIONS.len()];
    for within_share in [true, false] {
        for &index in order.iter().filter(|&&index| notes[index].weight > 0.0) {
            let note = &notes[index];
            let section = note.section as usize;
            let opening = spent_on[section] == 0;
            let cost = costs[index] + if opening { counter.count_text(note.section.heading()) + 2 } else { 0 };
            let allowed = (limit as f64 * share(note.section)) as u64;
            let over_share = within_share && !opening && spent_on[section] + cost > allowed;
            if taken[index] || over_share || spent + cost > limit || says_again(&note.words, &said) {
                continue;
            }
            taken[index] = true;
            spent += cost;
            spent_on[section] += cost;
            said.push(&note.words);
            chosen.push(index);
        }
    }
    chosen
}

/// Whether most of a note's words stand in one that is taken already.
fn says_again(words: &BTreeSet<u64>, said: &[&BTreeSet<u64>]) -> bool {
    const SAME: f64 = 0.7;
    /// Notes that a new one is compared with, the weightiest: more would cost their number times that of all notes.
    const COMPARED: usize = 256;
    !words.is_empty()
        && said.iter().take(COMPARED).any(|other| {
            let shared = words.intersection(other).count() as f64;
            shared / words.len().min(other.len()).max(1) as f64 >= SAME
        })
}

/// The sections with their notes in the order of the history.
fn compose(notes: &[Note], chosen: &[usize]) -> String {
    let mut in_order = chosen.to_vec();
    in_order.sort_unstable();
    let sections: Vec<String> = SECTIONS
        .into_iter()
        .filter_map(|section| {
            let lines: Vec<String> = in_order
                .iter()
                .map(|&index| &notes[index])
                .filter(|note| note.section == section)
                .map(Note::line)
                .collect();
            (!lines.is_empty()).then(|| format!("{}\n{}", section.heading(), lines.join("\n")))
        })
        .collect();
    sections.join("\n\n")
}

/// For budgets too small for a heading: as much of the weightiest note, or else of any text, as fits.
fn first_words(notes: &[Note], messages: &[&Message<'_>], counter: Counter, limit: u64) -> String {
    let best = notes.iter().max_by(|a, b| a.weight.total_cmp(&b.weight)).map(|note| note.text.clone());
    let text = best
        .or_else(|| messages.iter().find_map(|message| notes::any_text(message)))
        .unwrap_or_else(|| notes::without_text(messages));
    let ends: Vec<usize> = text.char_indices().map(|(at, c)| at + c.len_utf8()).collect();
    let fitting = ends.partition_point(|&end| counter.count_text(&text[..end]) <= limit);
    let end = fitting.checked_sub(1).map_or(0, |last| ends[last]);
    text[..end].trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::bpe::Encoding;
    use crate::transcript::framing::read;

    const PREFIX: &str = "Here is a summary of the conversation to date:";

    fn summary(source: &str, counter: Counter, limit: u64) -> String {
        let document = read(source, None, None).expect("a transcript");
        let messages: Vec<&Message<'_>> = document.transcripts[0].messages.iter().collect();
        summarize(&messages, PREFIX, counter, limit)
    }

    const SESSION: &str = r#"[
        {"role":"user","content":"Fix the login bug in src/auth.rs. Never touch the migrations."},
        {"role":"assistant","content":"I will look at the login code first.","tool_calls":[{"id":"1","function":{"name":"read_file","arguments":"{\"path\":\"src/auth.rs\"}"}}]},
        {"role":"tool","tool_call_id":"1","content":"fn login() {}\nerror[E0308]: mismatched types in src/auth.rs\n"},
        {"role":"assistant","content":"The token comparison was inverted, so every valid login was refused. I changed it and all 42 tests pass now. Next I will update https://example.com/docs/login for the release."}
    ]"#;

    #[test]
    fn four_sections_from_what_was_said() {
        let text = summary(SESSION, Counter::DEFAULT, 400);
        for expected in [
            "## Session intent\n- Fix the login bug in src/auth.rs.",
            "- Never touch the migrations.",
            "## Summary\n",
            "- The token comparison was inverted, so every valid login was refused.",
            "error[E0308]: mismatched types in src/auth.rs",
            "## Artifacts\n",
            "src/auth.rs",
            "https://example.com/docs/login",
            "## Next steps\n- Next I will update",
        ] {
            assert!(text.contains(expected), "{expected:?} is missing in:\n{text}");
        }
    }

    #[test]
    fn never_over_the_budget_and_never_empty() {
        for counter in [Counter::DEFAULT, Counter::Exact(Encoding::O200kBase), Counter::Bytes(1)] {
            for limit in 1..120 {
                let text = summary(SESSION, counter, limit);
                assert!(counter.count_text(&text) <= limit, "{counter} {limit}: {text}");
                assert!(!text.is_empty(), "{counter} {limit}");
            }
        }
    }

    #[test]
    fn the_same_every_time() {
        assert_eq!(summary(SESSION, Counter::DEFAULT, 100), summary(SESSION, Counter::DEFAULT, 100));
    }

    #[test]
    fn what_repeats_is_kept_once() {
        let messages: Vec<String> = (0..50)
            .map(|_| r#"{"role":"assistant","content":"The build finished without any problem."}"#.to_owned())
            .collect();
        let text = summary(&format!("[{}]", messages.join(",")), Counter::DEFAULT, 500);
        assert_eq!(text.matches("The build finished").count(), 1, "{text}");
    }

    #[test]
    fn an_earlier_summary_is_carried_on() {
        let earlier =
            format!("{PREFIX}\\n\\n## Session intent\\n- Port the parser to Rust.\\n\\n## Artifacts\\n- src/parser.rs");
        let source = format!(
            r#"[{{"role":"user","content":"{earlier}"}},{{"role":"user","content":"Now add tests for the lexer."}},
               {{"role":"assistant","content":"I added twelve tests for the lexer in tests/lexer.rs."}}]"#
        );
        let text = summary(&source, Counter::DEFAULT, 200);
        assert!(text.contains("- Port the parser to Rust."), "{text}");
        assert!(text.contains("- src/parser.rs"), "{text}");
        assert!(!text.contains("Here is a summary"), "{text}");
    }

    #[test]
    fn a_history_without_text_is_named_for_what_it_is() {
        let source = r#"[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://a/b"}}]},
            {"role":"assistant","content":null,"tool_calls":[{"id":"1","function":{"name":"look","arguments":"{}"}}]},
            {"role":"tool","tool_call_id":"1","content":""}]"#;
        assert_eq!(summary(source, Counter::DEFAULT, 100), "## Summary\n- Tools called: look");
        let picture = r#"[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://a/b"}}]}]"#;
        assert_eq!(summary(picture, Counter::DEFAULT, 100), "1 message without text (1 image).");
        let reasons = r#"[{"role":"assistant","content":[{"type":"thinking","thinking":"The lock is held twice."}]}]"#;
        assert_eq!(summary(reasons, Counter::DEFAULT, 100), "The lock is held twice.");
    }

    #[test]
    fn scripts_without_spaces() {
        let source = r#"[{"role":"user","content":"请修复登录错误。不要修改数据库迁移！"},{"role":"assistant","content":"我已经找到原因：令牌比较写反了。所有测试现在都通过了。"}]"#;
        let text = summary(source, Counter::DEFAULT, 200);
        assert!(text.contains("- 请修复登录错误。"), "{text}");
        assert!(text.contains("- 不要修改数据库迁移！"), "{text}");
    }
}
