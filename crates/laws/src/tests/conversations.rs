//! Checks the laws for all conversations and rules on generated ones.
//!
//! Input is generated here, and output is read with serde_json and paired here, without the library.

use crate::rewrite::repair::Repair;
use crate::tokens::Counter;
use crate::tokens::bpe::Encoding;
use crate::transcript::formats::FORMATS;
use crate::transcript::message::{Arguments, Message};
use crate::transcript::{foreign, framing};
use proptest::prelude::*;
use tcompact_core::digest;

use crate::bricks::{Bricks, Generated, WAYS, assert_no_pair_is_split, assert_thinking, file, generated, keep, pin};
use crate::fixtures::of_format;
use crate::lawful::{
    PREFIX, VaryingRules, assert_larger_keeps_more, assert_laws, assert_no_trigger_no_change, assert_read_again,
    compacted, compacted_and_reset, found, mended, policy,
};
use crate::tests::cases;
use crate::transcripts::read;

pub(crate) fn small_fixtures() -> Vec<String> {
    let files = FORMATS.iter().flat_map(|format| of_format(format.name));
    files.map(|file| std::fs::read_to_string(file).expect("a fixture")).collect()
}

/// A change of a text: some characters, located in thousandths, are replaced.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    at: usize,
    length: usize,
    by: &'static str,
}

pub(crate) fn change() -> impl Strategy<Value = Change> {
    let pieces = vec![
        "",
        "",
        "null",
        "\"\"",
        "0",
        "[]",
        "{}",
        "{\"role\":\"tool\"}",
        ",",
        "\\ud83d",
        "\"content\":",
        "é",
        "\\",
        "tool",
        "call_0",
        "\"id\":7,",
        "\r\n",
    ];
    (0usize..1000, 0usize..40, prop::sample::select(pieces)).prop_map(|(at, length, by)| Change { at, length, by })
}

impl Change {
    pub(crate) fn apply_to(&self, text: &str) -> String {
        let chars: Vec<char> = text.chars().collect();
        let start = chars.len() * self.at / 1000;
        let end = (start + self.length).min(chars.len());
        chars[..start].iter().chain(&self.by.chars().collect::<Vec<_>>()).chain(&chars[end..]).collect()
    }
}

/// A known part with its text, result or arguments under a member that no reader reads is never empty: its words are
/// read, or the file is rejected.
#[test]
fn no_words_are_lost_under_unread_members() {
    const WORDS: &str = "the words in question";
    for format in FORMATS {
        let sources = Bricks::of(format.name).displaced(WORDS);
        assert!(sources.len() > 1, "{}", format.name);
        let mut lost = Vec::new();
        for source in &sources {
            for from in [None, Some(*format)] {
                let Ok(document) = read(source, from, None) else { continue };
                let has_words = |message: &Message<'_>| {
                    let arguments = message.calls.iter().map(|call| match call.arguments {
                        Arguments::Text(text) => text.decode().into_owned(),
                        Arguments::Value(json) => json.raw().to_owned(),
                        Arguments::Absent => String::new(),
                    });
                    let texts = message.content.texts().into_iter().map(|text| text.decode().into_owned());
                    texts.chain(arguments).any(|text| text.contains(WORDS))
                };
                let is_read = document.transcripts[0].messages.iter().any(has_words);
                if !is_read && framing::check_foreign(&document).is_ok() {
                    lost.push(format!("{:?}: {source}", from.map(|format| format.name)));
                }
            }
        }
        assert_eq!(lost, Vec::<String>::new(), "{}", format.name);
        assert!(read(&sources[0], Some(*format), None).is_ok(), "{}", sources[0]);
    }
}

/// A message of nothing but a part that no reader knows is not evidence against the format of the others.
#[test]
fn a_message_of_unknown_parts_refuses_no_format() {
    for format in FORMATS {
        let bricks = Bricks::of(format.name);
        if bricks.call.is_none() {
            continue;
        }
        // Where parts have no type, one with a type is of another format.
        let is_read = |typed: bool| {
            let text = || "a few words".to_owned();
            let conversation = [
                Generated::User(text()),
                Generated::Calls(vec![(0, 0)]),
                Generated::Foreign(typed, text()),
                Generated::Assistant(text()),
            ];
            let (source, _) = file(&bricks, &conversation, 0);
            read(&source, None, None).is_ok_and(|document| document.transcripts[0].format.name == format.name)
        };
        assert!(is_read(false) || is_read(true), "{}", format.name);
    }
}

proptest! {
    #![proptest_config(cases(3_000))]

    #[test]
    fn generated_conversations_keep_the_laws(generated in generated(), format in prop::sample::select(FORMATS), layout in 0usize..12, keep in keep(), pin in pin()) {
        let (source, ids) = file(&Bricks::of(format.name), &generated, layout);
        let rules = VaryingRules { keep, pin };
        for (plan, messages) in assert_laws(&source, Some(format), &policy(&rules)) {
            prop_assert_eq!(ids.len(), messages.len(), "{}", source);
            if plan.cutoff > 0 {
                assert_no_pair_is_split(&ids, &plan, &rules);
            }
        }
    }

    /// Thinking that a model binds to the messages before it is removed from all kept messages, and nothing else is.
    #[test]
    fn thinking_bound_to_its_history_is_removed(generated in generated(), format in prop::sample::select(FORMATS), layout in 0usize..12, keep in keep(), pin in pin(),
                           way in prop::sample::select(WAYS)) {
        assert_thinking(&Bricks::of(format.name), format, &generated, layout, &VaryingRules { keep, pin }, way);
    }

    /// A repaired text has no violation, a text without violations stays unchanged, and compacting causes none.
    #[test]
    fn repair_leaves_no_violation(generated in generated(), format in prop::sample::select(FORMATS), layout in 0usize..12, keep in keep(), pin in pin(),
              how in prop::sample::select(vec![Repair::Drop, Repair::Synthesize])) {
        // From nothing but results without calls, nothing could be left.
        let generated = if generated.iter().any(|one| matches!(one, Generated::User(_))) { generated } else { [generated, vec![Generated::User("u".to_owned())]].concat() };
        let (source, _) = file(&Bricks::of(format.name), &generated, layout);
        let text = mended(&source, Some(format), how).expect("a user is left");
        prop_assert_eq!(found(&text, Some(format)), Vec::<String>::new(), "{}\n{}", text, source);
        if found(&source, Some(format)).is_empty() {
            prop_assert_eq!(&text, &source);
        }
        let (plans, compacted) = compacted_and_reset(&text, Some(format), &policy(&VaryingRules { keep, pin }));
        prop_assert_eq!(found(&compacted, Some(format)), Vec::<String>::new(), "{:?}\n{}\n{}", plans, compacted, text);
    }

    #[test]
    fn generated_files_are_detected_as_their_format(generated in generated(), format in prop::sample::select(FORMATS), layout in 0usize..12) {
        let (source, _) = file(&Bricks::of(format.name), &generated, layout);
        // Texts alone fit several formats, and an empty list the first one.
        let named = read(&source, None, None).map(|document| document.transcripts[0].format.name);
        let known = generated.iter().all(Generated::is_known);
        if known && generated.iter().any(|one| matches!(one, Generated::Calls(_))) && Bricks::of(format.name).call.is_some() {
            prop_assert_eq!(named.as_ref().ok().copied(), Some(format.name), "{:?} {}", named, source);
        }
    }

    /// A detected format is detected again after any cut.
    #[test]
    fn results_are_detected_as_their_format(generated in generated(), format in prop::sample::select(FORMATS), layout in 0usize..12,
                                           keep in keep(), pin in pin()) {
        let (source, _) = file(&Bricks::of(format.name), &generated, layout);
        assert_read_again(&source, &VaryingRules { keep, pin });
    }

    /// A part that no reader knows is never ignored: it is counted and has text, and a mostly foreign file is rejected.
    #[test]
    fn foreign_parts_keep_the_laws(generated in generated(), format in prop::sample::select(FORMATS), layout in 0usize..12) {
        let (source, _) = file(&Bricks::of(format.name), &generated, layout);
        let document = read(&source, Some(format), None).expect("it was named");
        let messages = &document.transcripts[0].messages;
        for message in messages.iter().filter(|message| message.json.raw().contains("hologram\":{")) {
            prop_assert!(foreign::is_in(message), "{}: {}", format.name, message.json.raw());
            prop_assert!(message.content.texts().iter().any(|text| text.decode().contains("hologram")));
            prop_assert!(Counter::Exact(Encoding::Cl100kBase).count(message) > 10);
        }
        let share = foreign::ForeignShare::of(messages);
        prop_assert_eq!(source.contains("hologram\":{"), share.foreign > 0, "{}", source);
        let refused = framing::check_foreign(&document).err().map(|error| error.to_string());
        let first = messages.iter().position(foreign::is_in).map(|index| format!("message {index} has"));
        prop_assert_eq!(refused.is_some(), share.is_of_other_format() && !share.is_of_one_part());
        prop_assert!(refused.is_none() || share.foreign > share.known);
        prop_assert!(refused.is_none_or(|refused| refused.contains(&first.expect("a message"))));
        // A possible call or result means another format, unless the user names the format.
        let call = r#"{"type":"hologram_tool_request","part_kind":"hologram_tool_request","id":"h"}"#;
        let part = Bricks::of(format.name).with_part(call).replace("$N", "99").replace("$P", "98");
        let named = read(&format!("[{part}]"), None, None).map(|document| document.transcripts[0].format.name);
        prop_assert!(named.is_err(), "{:?} {}", named, part);
    }

    #[test]
    fn a_larger_keep_never_keeps_less(generated in generated(), format in prop::sample::select(FORMATS), keep in keep()) {
        let (source, _) = file(&Bricks::of(format.name), &generated, 0);
        assert_larger_keeps_more(&source, Some(format), keep);
    }

    #[test]
    fn no_trigger_no_change(generated in generated(), format in prop::sample::select(FORMATS), layout in 0usize..12) {
        let (source, _) = file(&Bricks::of(format.name), &generated, layout);
        assert_no_trigger_no_change(&source, Some(format));
    }

    /// Fixtures with pieces removed, doubled and replaced: readable ones keep the laws, and nothing panics.
    #[test]
    fn mutated_fixtures_keep_the_laws(file in prop::sample::select(small_fixtures()), changes in prop::collection::vec(change(), 1..4),
                        keep in keep(), pin in pin()) {
        let text = changes.iter().fold(file, |text, change| change.apply_to(&text));
        let Ok(document) = read(&text, None, None) else { return Ok(()) };
        for transcript in &document.transcripts {
            let messages: Vec<&Message<'_>> = transcript.messages.iter().collect();
            for counter in [Counter::APPROX, Counter::Exact(Encoding::Cl100kBase), Counter::Bytes(3)] {
                for message in &messages {
                    counter.count(message);
                }
                let indices: Vec<usize> = (0..messages.len()).collect();
                let summary = digest::read(&messages, &indices, PREFIX).write(counter, 60, |_| true);
                prop_assert!(counter.count_text(&summary) <= 60, "{summary}");
            }
        }
        let one_format = document.transcripts.windows(2).all(|two| two[0].format.name == two[1].format.name);
        // Where links are torn, the structure is arbitrary; this only checks that nothing panics.
        let is_linked = ["claude-code", "pi", "qwen-code"].contains(&document.transcripts[0].format.name);
        let rules = VaryingRules { keep, pin };
        if is_linked {
            compacted(&text, Some(document.transcripts[0].format), &policy(&rules));
        } else if one_format {
            // Only the reader can judge a field that a change has torn from its message.
            assert_laws(&text, Some(document.transcripts[0].format), &policy(&rules));
        }
    }

    #[test]
    fn reading_never_panics(bytes in prop::collection::vec(prop::sample::select(b"[]{}\",:\\u0dae1-.nt \n\r\xc3\xa9role".to_vec()), 0..60)) {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let _ = read(&text, None, None);
    }
}
