//! A size that was recorded before a compaction never counts after it, whatever was kept.

use std::collections::BTreeMap;

use crate::all_cases::{one_in, share};
use crate::bricks::Bricks;
use crate::bricks::talk::{Below, Step, choices};
use crate::compact::{Accept, CompactionPolicy, Compactor};
use crate::fixtures;
use crate::lawful::with_document_of;
use crate::plan::recorded::last_valid;
use crate::plan::size::Size;
use crate::tokens::Tally;
use crate::transcript::formats::{Format, by_name};
use crate::transcript::{Message, Role, Transcript};

/// For each format that records sizes, what an answer has in front of the record, and the record. `$SIZE` is its size.
const RECORDS: [(&str, &str, &str); 12] = [
    (
        "claude-code",
        r#""role":"assistant","#,
        r#""stop_reason":"end_turn","usage":{"input_tokens":$SIZE,"output_tokens":0},"#,
    ),
    ("pi", r#""role":"assistant","#, r#""timestamp":$TIME,"usage":{"input":$SIZE,"output":0},"#),
    ("opencode", r#""role":"assistant","#, r#""tokens":{"input":$SIZE,"output":0},"#),
    ("langchain", r#""data":{"#, r#""usage_metadata":{"input_tokens":$SIZE,"output_tokens":0,"total_tokens":$SIZE},"#),
    ("pydantic-ai", r#""usage":{"#, r#""input_tokens":$SIZE,"output_tokens":0,"#),
    ("gemini-cli", r#""type":"gemini","#, r#""tokens":{"input":$SIZE,"output":0,"total":$SIZE},"#),
    ("openai-chat", r#""role":"assistant","#, r#""usage":{"prompt_tokens":$SIZE,"completion_tokens":0},"#),
    ("anthropic", "{", r#""usage":{"input_tokens":$SIZE,"output_tokens":0},"#),
    ("bedrock", r#""role":"assistant","#, r#""usage":{"inputTokens":$SIZE,"outputTokens":0},"#),
    ("tau-bench", r#""role":"assistant","#, r#""usage":{"prompt_tokens":$SIZE,"completion_tokens":0},"#),
    ("ai-sdk", r#""role":"assistant","#, r#""metadata":{"usage":{"inputTokens":$SIZE,"outputTokens":0}},"#),
    (
        "codex",
        "",
        "\n{\"timestamp\":\"t\",\"type\":\"event_msg\",\"payload\":{\"type\":\"token_count\",\"info\":{\"last_token_usage\":{\"input_tokens\":$SIZE,\"output_tokens\":0,\"total_tokens\":$SIZE}}}}",
    ),
];

/// Formats whose entries tell what is newer than a compaction.
const ORDERED: [&str; 3] = ["claude-code", "pi", "codex"];

/// A conversation that goes on and is compacted.
struct Session {
    format: &'static Format,
    policy: CompactionPolicy,
    /// What its requests send beside the messages.
    beside: u64,
    text: String,
    /// How many sizes were recorded.
    time: u64,
}

impl Session {
    fn read<T>(&self, inspect: impl FnOnce(&Transcript<'_>, &Tally<'_, '_>) -> T) -> T {
        with_document_of(&self.text, Some(self.format), &self.policy.cut, |document| {
            let transcript = &document.transcripts[0];
            inspect(transcript, &Tally::new(self.policy.counter, &transcript.messages))
        })
    }

    fn valid(&self) -> Option<u64> {
        self.read(|transcript, tally| last_valid(transcript, tally).map(|valid| valid.tokens))
    }

    /// Records the sizes of the last so many messages. Returns the last of them.
    fn record(&mut self, last: usize) -> Option<u64> {
        let (_, place, record) = RECORDS.iter().find(|row| row.0 == self.format.name).expect("a row");
        let sizes: Vec<(usize, u64)> = self.read(|transcript, tally| {
            let first = transcript.messages.len() - last;
            let end = |message: &Message<'_>| {
                let found = || message.span().start + message.json.raw().find(place).expect("a place") + place.len();
                if place.is_empty() { message.span().end } else { found() }
            };
            let mut sum = self.beside;
            let mut sizes = Vec::new();
            for (index, message) in transcript.messages.iter().enumerate() {
                sum += tally.message(index);
                if index >= first && message.role == Role::Assistant {
                    sizes.push((end(message), sum));
                }
            }
            sizes
        });
        for (at, size) in sizes.iter().rev() {
            let time = 1_700_000_000_000 + 1_000 * (self.time + size);
            let record = record.replace("$SIZE", &size.to_string()).replace("$TIME", &time.to_string());
            self.text.insert_str(*at, &record);
        }
        self.time += 1_000_000;
        sizes.last().map(|(_, size)| *size)
    }

    fn messages(&self) -> usize {
        self.read(|transcript, _| transcript.messages.len())
    }
}

fn steps(below: &mut Below<'_>, count: usize) -> Vec<Step> {
    let step = |number: usize| {
        let text = format!("Part {number} of it.{}", " word".repeat([0, 40, 400, 900][below(4)]));
        match below(3) {
            0 => Step::User(text),
            1 => Step::Call("bash", serde_json::json!({"command": format!("ls {number}")}), text),
            _ => Step::Assistant(text),
        }
    };
    (0..count).map(step).collect()
}

/// Several rounds in all formats that record sizes, with answers between them that record new ones.
#[test]
fn a_size_from_before_a_compaction_never_counts_after_it() {
    let mut counted: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    for (name, ..) in RECORDS {
        let (bricks, format) = (Bricks::of(name), by_name(name).expect("a format"));
        for seed in 0..share(8) as u64 {
            let mut below = choices(seed);
            let all = steps(&mut below, 120);
            let layout = below(bricks.layouts());
            // The stream of Claude Code has no links, and nothing is reset in it.
            let is_stream = name == "claude-code" && below(3) == 0;
            let spelled = |steps: usize| {
                let text = bricks.conversation(&all[..steps], layout);
                if is_stream { text.replace("\"parentUuid\"", "\"parent\"") } else { text }
            };
            let mut policy = CompactionPolicy::keeping(Size::Messages(2 + below(20) as u64));
            policy.summary.accept = Accept::Any;
            let (mut end, beside) = (60, [0, 700, 9_000][below(3)]);
            let mut session = Session { format, policy, beside, text: spelled(end), time: 0 };
            let mut last = session.record(session.messages());
            let mut limit = u64::MAX;
            assert_eq!(session.valid(), last, "{name} {seed}: {}", session.text);
            for round in 1..5 {
                session.policy.cut.keep = Size::Messages(2 + below(30) as u64);
                let compactor = Compactor::new(session.policy.clone());
                let done = compactor.compact_as(&session.text, name).expect("a transcript");
                let is_cut = done.text != session.text;
                session.text = done.text;
                assert!(
                    !is_cut || session.valid().is_none(),
                    "{name} {seed} {round}: {:?} {}",
                    session.valid(),
                    session.text
                );
                let (before, next) = (spelled(end), spelled(end + 3 + below(9)));
                let open = before.bytes().zip(next.bytes()).take_while(|(before, next)| before == next).count();
                let behind = before.len() - open;
                let had = session.messages();
                session.text.truncate(session.text.len() - behind);
                session.text.push_str(&next[open..]);
                end += next[open..].matches("Part ").count();
                if is_cut {
                    // Where a context soon is as large as before, pi can go on with the one from before.
                    limit = last.map_or(u64::MAX, |size: u64| size / 10 * 9);
                }
                let Some(size) = session.record(session.messages() - had) else { continue };
                last = Some(size);
                let valid = session.valid();
                assert!(
                    valid.is_none_or(|valid| valid == size),
                    "{name} {seed} {round}: {valid:?} {size} {}",
                    session.text
                );
                let is_told = ORDERED.contains(&name) && !is_stream;
                assert!(valid.is_some() || !is_told || size >= limit, "{name} {seed} {round}: {}", session.text);
                let counts = counted.entry(name).or_default();
                counts[0] += 1;
                counts[1] += usize::from(valid.is_some());
            }
        }
    }
    assert_eq!(counted.len(), RECORDS.len(), "{counted:?}");
    assert!(one_in() > 1 || counted.values().all(|[_, valid]| *valid > 0), "{counted:?}");
}

/// The usage in the response of a logged request is of all of its messages.
#[test]
fn a_compacted_request_has_no_size() {
    let steps = steps(&mut choices(1), 40);
    for (name, layout, behind) in [
        ("openai-chat", 0, r#""response":{"choices":[],"usage":{"prompt_tokens":90000,"completion_tokens":9}}"#),
        ("anthropic", 0, r#""response":{"content":[],"usage":{"input_tokens":90000,"output_tokens":9}}"#),
        ("bedrock", 0, r#""output":{"message":{}},"usage":{"inputTokens":90000,"outputTokens":9}"#),
        ("langchain", 0, r#""response":{"usage":{"input_tokens":90000,"output_tokens":9}}"#),
    ] {
        let list = Bricks::of(name).conversation(&steps, layout);
        let mut policy = CompactionPolicy::keeping(Size::Messages(9));
        policy.summary.accept = Accept::Any;
        let text = format!("{{\"messages\":{list},{behind}}}");
        let mut session = Session { format: by_name(name).expect("a format"), policy, beside: 0, text, time: 0 };
        assert!(session.valid().is_some_and(|size| size >= 90_000), "{name}");
        let done = Compactor::new(session.policy.clone()).compact_as(&session.text, name).expect("a transcript");
        assert_ne!(done.text, session.text, "{name}");
        session.text = done.text;
        assert_eq!(session.valid(), None, "{name}");
    }
}

/// In no fixture, whatever is kept, is a size larger than what is left.
#[test]
fn a_compacted_fixture_has_no_size_of_before() {
    let mut compacted = 0;
    for (_, file) in fixtures::all() {
        let text = std::fs::read_to_string(&file).expect("a fixture");
        for keep in 1..6 {
            let mut policy = CompactionPolicy::keeping(Size::Messages(keep));
            policy.summary.accept = Accept::Any;
            let Ok(done) = Compactor::new(policy.clone()).compact(&text) else { continue };
            with_document_of(&done.text, None, &policy.cut, |document| {
                for (plan, transcript) in
                    done.plans.iter().zip(&document.transcripts).filter(|(plan, _)| plan.cutoff > 0)
                {
                    let tally = Tally::new(policy.counter, &transcript.messages);
                    let all = (0..transcript.messages.len()).map(|index| tally.message(index)).sum::<u64>();
                    let valid = last_valid(transcript, &tally);
                    assert!(
                        valid.is_none_or(|valid| valid.tokens * 10 <= all * 11),
                        "{plan:?} {valid:?} {}",
                        done.text
                    );
                    compacted += 1;
                }
            });
        }
    }
    assert!(compacted > 100, "{compacted}");
}
