//! Restores generated conversations.

use proptest::prelude::*;
use serde_json::json;

use crate::bricks::{Bricks, file, generated, keep, pin};
use crate::lawful::{VaryingRules, policy};
use crate::plan::plan;
use crate::presets::pairs::moved_cut;
use crate::rewrite::restoring::{Record, restore_original};
use crate::rewrite::way_back::{ConversationChange, restore_infos};
use crate::rewrite::{apply, splice};
use crate::tests::{cases, conversations};
use crate::tokens::{Counter, Tally};
use crate::transcript::formats::FORMATS;
use crate::transcripts::read;

proptest! {
    #![proptest_config(cases(2_000))]

    /// Whatever was cut is restored; an altered record restores the same text, or fails.
    #[test]
    fn every_compaction_is_restored_to_the_byte(generated in generated(), format in prop::sample::select(FORMATS), layout in 0usize..12,
                                   keep in keep(), pin in pin(), changes in prop::collection::vec(conversations::change(), 1..3)) {
        let (source, _) = file(&Bricks::of(format.name), &generated, layout);
        let document = read(&source, Some(format), None).expect("a transcript");
        let transcript = &document.transcripts[0];
        let policy = policy(&VaryingRules { keep, pin });
        let decided = plan(transcript, &Tally::new(Counter::APPROX, &transcript.messages), &policy, moved_cut);
        let edits = splice(transcript, &decided, &[json!({"role": "user", "content": "é"})]);
        let result = apply(&source, &edits);
        let cut: Vec<_> = decided.summarized().iter().map(|&index| &transcript.messages[index]).collect();
        let messages: Vec<&str> = cut.iter().map(|message| message.json.raw()).collect();
        let ways = restore_infos(source.as_bytes(), &[ConversationChange::new(transcript, edits, &decided.summarized())]);
        let mut record = serde_json::to_value(&ways[0]).expect("a record");
        record["messages"] = json!(messages);
        let record = record.to_string();
        let parsed = Record::read(record.as_bytes()).expect("a record");
        let line = ways[0].line;
        let text = |of: &str| line.map_or(of.to_owned(), |line| of.lines().nth(line - 1).expect("a line").to_owned());
        prop_assert_eq!(restore_original(text(&result).as_bytes(), line, vec![parsed]), Ok(text(&source).into_bytes()));
        let changed = changes.iter().fold(record, |record, change| change.apply_to(&record));
        if let Ok(parsed) = Record::read(changed.as_bytes()) && let Ok(back) = restore_original(text(&result).as_bytes(), line, vec![parsed]) {
            prop_assert_eq!(back, text(&source).into_bytes(), "{}", changed);
        }
    }
}
