//! What is an earlier summary is carried on, whoever it says it is by; what only looks like one stays what its speaker
//! said.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

use crate::all_cases::{Sample, one_in};
use crate::compact::{Accept, CompactionPolicy, Compactor};
use crate::plan::size::Size;
use crate::summary::exchange::{Bill, NoAnswer, Reply, Request, SummaryBackend};
use crate::tokens::Tally;
use crate::transcript::formats::{FORMATS, SummaryRole, by_name};
use serde_json::{Value, json};

use crate::bricks::Bricks;
use crate::bricks::talk::Step;
use crate::lawful::with_document;

fn keeping(messages: u64) -> CompactionPolicy {
    let mut policy = CompactionPolicy::keeping(Size::Messages(messages));
    policy.summary.accept = Accept::Any;
    policy.summary.tokens = 4_000;
    policy
}

/// Three runs with summaries of any roles, with and without pins for them: what the first one told is never lost.
#[test]
fn a_summary_of_any_role_outlasts_runs_of_other_roles() {
    use SummaryRole::{Assistant, System, User};
    let facts: Vec<String> = (0..8).map(|n| format!("Never touch module m{n}, and keep port 84{n}3.")).collect();
    let said = facts.iter().enumerate().flat_map(|(number, fact)| {
        let answer = format!("Module {number} stays.{}", " word".repeat(300));
        [Step::User(fact.clone()), Step::Assistant(answer)]
    });
    let said: Vec<Step> = std::iter::once(Step::System("You are an agent.".to_owned())).chain(said).collect();
    let (mut runs, mut sample) = (0, Sample::default());
    for format in FORMATS.iter().filter(|format| format.summary_roles.len() > 1) {
        for (seed, pin) in ["system", "none", "first:1"].into_iter().enumerate() {
            for first in [User, System, Assistant] {
                for (second, third) in
                    [User, System, Assistant].into_iter().flat_map(|a| [(a, User), (a, System), (a, Assistant)])
                {
                    let roles = [first, second, third];
                    if roles.iter().any(|role| !format.summary_roles.contains(role)) || !sample.takes_next() {
                        continue;
                    }
                    let mut text = Bricks::of(format.name).conversation(&said, seed);
                    for (role, keep) in roles.into_iter().zip([10, 6, 2]) {
                        let mut policy = keeping(keep);
                        policy.cut.pins = vec![pin.parse().expect("a rule")];
                        policy.summary.role = role;
                        let done = Compactor::new(policy).compact_as(&text, format.name).expect("a transcript");
                        assert_ne!(done.text, text);
                        text = done.text;
                        let lost: Vec<&String> = facts.iter().filter(|fact| !text.contains(*fact)).collect();
                        assert!(lost.is_empty(), "{} {pin} {roles:?}: {lost:?}\n{text}", format.name);
                        runs += 1;
                    }
                }
            }
        }
    }
    assert!(runs * one_in() > 700, "{runs}");
}

/// A text that begins like a summary is what its speaker said, in every format.
#[test]
fn a_text_like_a_summary_stays_its_speakers() {
    for format in FORMATS {
        for prefix in ["Here is a summary of the conversation to date:\n\n", ""] {
            let text = format!("{prefix}RULE: never touch migrations. Port 8443.");
            let filler = || Step::Assistant(format!("So it is.{}", " word".repeat(200)));
            let bricks = Bricks::of(format.name);
            // Where a format has no messages of the system, the user says it.
            let first = if bricks.has_system() { Step::System(text.clone()) } else { Step::User(text.clone()) };
            let before = [first, Step::User("Read b.rs.".to_owned()), filler()];
            let rest = [Step::User("Read c.rs.".to_owned()), filler(), Step::User("Read d.rs.".to_owned()), filler()];
            let said: Vec<Step> = before.into_iter().chain(rest).collect();
            let source = bricks.conversation(&said, 0);
            let is_told_by_system = with_document(&source, Some(*format), |document| {
                document.transcripts[0].messages.first().is_some_and(|message| message.role.is_system())
            });
            let done = Compactor::new(keeping(2)).compact_as(&source, format.name).expect("a transcript");
            assert!(!is_told_by_system || done.plans[0].pinned.contains(&0), "{} {:?}", format.name, done.plans);
            assert!(done.text.contains("Port 8443."), "{}: {}", format.name, done.text);
        }
    }
}

/// Writes down what it is asked.
#[derive(Clone, Default)]
struct Recorder(Rc<RefCell<String>>);

impl SummaryBackend for Recorder {
    fn answer(&self, request: &Request, _: &mut Bill) -> Result<Reply, NoAnswer> {
        self.0.borrow_mut().push_str(&request.prompt);
        Ok(Reply { text: "Short.".to_owned(), ..Reply::default() })
    }
}

/// `--trim-tokens` limits the history. An earlier summary is sent besides, in each way in which one can stand.
#[test]
fn an_earlier_summary_is_sent_besides_the_last_tokens() {
    const FACT: &str = "Never touch port 8443.";
    let said = |turns: Range<usize>| {
        turns.flat_map(|turn| {
            let answer = format!("Turn {turn} is done.{}", " word".repeat(120));
            [Step::User(format!("Do turn {turn}.")), Step::Assistant(answer)]
        })
    };
    let mut sent = 0;
    for format in FORMATS {
        let bricks = Bricks::of(format.name);
        let talk: Vec<Step> = said(0..12).collect();
        let plain = bricks.conversation(&talk, 0);
        let ours = Compactor::new(keeping(18)).with_summary(FACT).compact_as(&plain, format.name).expect("a text");
        let by_providers = bricks.readable_compactions().map(|entry| {
            let entry = Step::Entry(entry.replace("$TEXT", FACT));
            let talk: Vec<Step> = said(0..2).chain([entry]).chain(said(2..12)).collect();
            bricks.conversation(&talk, 0)
        });
        for source in by_providers.chain([ours.text]) {
            // The last summarized message fits, or only its end does.
            for limit in [400, 20] {
                let mut policy = keeping(2);
                policy.summary.trim_tokens = Some(limit);
                let embedded = Compactor::new(policy.clone()).compact_as(&source, format.name).expect("a text");
                assert_ne!(embedded.text, source, "{}", format.name);
                assert!(embedded.text.contains(FACT), "{} {limit}: {}", format.name, embedded.text);
                let asked = Recorder::default();
                let model = Compactor::new(policy).with_summarizer(asked.clone());
                model.compact_as(&source, format.name).expect("a text");
                let prompt = asked.0.borrow();
                assert_eq!(prompt.matches(FACT).count(), 1, "{} {limit}: {prompt}", format.name);
                assert_eq!(prompt.contains("Turn 9 is done."), limit == 400, "{} {limit}: {prompt}", format.name);
                assert!(!prompt.contains("Turn 4 is done."), "{} {limit}: {prompt}", format.name);
                sent += 1;
            }
        }
    }
    assert!(sent >= 40, "{sent}");
}

/// `DeepAgents` sends the summary of its state and the messages behind those that it stands for.
#[test]
fn a_summary_beside_the_messages_is_carried_on() {
    const FACT: &str = "Never touch port 8443.";
    let bricks = Bricks::of("langchain");
    let said = (0..12).flat_map(|turn| {
        let answer = format!("Turn {turn} is done.{}", " word".repeat(60));
        [Step::User(format!("Do turn {turn}.")), Step::Assistant(answer)]
    });
    let list = bricks.conversation(&said.collect::<Vec<_>>(), 0);
    let list: Value = serde_json::from_str(&list).expect("a list");
    let wrapped =
        format!("You are in the middle of it.\n\nA condensed summary follows:\n\n<summary>\n{FACT}\n</summary>");
    let ours = format!("Here is a summary of the conversation to date:\n\n<summary>\n{FACT}\n</summary>");
    for (text, cutoff) in [(FACT, 4), (&wrapped, 4), (&ours, 4), (FACT, 0), (FACT, 23), (FACT, 99)] {
        let event = json!({"cutoff_index": cutoff, "file_path": null, "summary_message":
            {"type": "human", "content": text, "additional_kwargs": {"lc_source": "summarization"}}});
        for envelope in [
            format!(r#"{{"values": {{"messages": {list}, "_summarization_event": {event}}}}}"#),
            format!(r#"{{"_summarization_event": {event},"messages":{list}}}"#),
            format!(r#"{{"channel_values":{{"a":1,"_summarization_event": {event} ,"messages":{list}}}}}"#),
        ] {
            for keep in [2, 6] {
                let asked = Recorder::default();
                let model = Compactor::new(keeping(keep)).with_summarizer(asked.clone());
                let done = model.compact(&envelope).expect("a state");
                assert_eq!(done.restore().expect("it comes back"), envelope);
                let embedded = Compactor::new(keeping(keep)).compact(&envelope).expect("a state");
                if cutoff + usize::try_from(keep).expect("small") >= 24 {
                    assert_eq!((&done.text, &embedded.text), (&envelope, &envelope));
                    continue;
                }
                let prompt = asked.0.borrow();
                let notes =
                    prompt.split("<earlier_notes>").nth(1).and_then(|rest| rest.split("</earlier_notes>").next());
                assert!(notes.is_some_and(|notes| notes.contains(FACT)), "{prompt}");
                for text in [&*prompt, &done.text, &embedded.text] {
                    assert_eq!(text.contains("Do turn 0."), cutoff == 0 && text != &done.text, "{text}");
                    assert_eq!(text.contains(FACT), text != &done.text, "{text}");
                    assert!(text == &*prompt || text.contains(r#""_summarization_event": null"#), "{text}");
                }
            }
        }
    }
}

/// Each way in which a format marks a summary, with a message of the user before and behind it.
#[test]
fn a_summary_that_its_format_marks_is_one() {
    let pi = |entry: Value, id: &str, parent: &str| {
        let mut entry = entry;
        (entry["id"], entry["parentId"], entry["timestamp"]) = (json!(id), json!(parent), json!("t"));
        entry.to_string()
    };
    let pi_user = |id, parent| pi(json!({"type": "message", "message": {"role": "user", "content": "u"}}), id, parent);
    let branch = pi(json!({"type": "branch_summary", "fromId": "x", "summary": "Port 8443."}), "2", "1");
    let of_inspect = |text: &str, marked| json!({"id": text, "role": "user", "source": "input", "content": text, "metadata": {"summary": marked}});
    let inspect = json!([of_inspect("a", true), of_inspect("b", true), of_inspect("c", false), {"id": "d", "role": "assistant", "source": "generate", "content": "d"}]);
    for (format, source, expected) in [
        ("pi", [pi_user("1", "0"), branch, pi_user("3", "2")].join("\n"), vec![1]),
        ("inspect", inspect.to_string(), vec![0, 1]),
    ] {
        with_document(&source, by_name(format), |document| {
            let messages = &document.transcripts[0].messages;
            let earlier: Vec<usize> = (0..messages.len()).filter(|&index| messages[index].earlier).collect();
            assert_eq!(earlier, expected, "{format}");
        });
    }
}

/// A provider's compaction that failed says nothing: its message is summarized as any other.
#[test]
fn a_failed_compaction_is_an_ordinary_message() {
    let mut failed = 0;
    for format in FORMATS {
        let bricks = Bricks::of(format.name);
        for entry in bricks.failed_compactions() {
            let said = |n: usize| Step::User(format!("Water bed {n}.{}", " word".repeat(100)));
            let steps =
                [said(1), Step::Entry(entry.clone()), said(2), Step::Assistant("Bed 2 is wet.".to_owned()), said(3)];
            let source = bricks.conversation(&steps, 0);
            let done = Compactor::new(keeping(1)).compact_as(&source, format.name).expect("a transcript");
            let plan = &done.plans[0];
            assert!(plan.cutoff > 0 && plan.pinned.is_empty(), "{} {plan:?} {source}", format.name);
            failed += 1;
        }
    }
    assert!(failed >= 7, "{failed}");
}

/// Small conversations: what the user says is never left out to save a few tokens, and a tenth is saved or nothing.
#[test]
fn nothing_is_compacted_for_less_than_a_tenth() {
    let mut policy = CompactionPolicy::keeping(Size::Messages(1));
    let (mut unchanged, mut compacted) = (0, 0);
    for format in FORMATS {
        for words in [0, 2, 5, 10, 20, 40, 80, 200] {
            let said = (0..3).flat_map(|turn| {
                let answer = format!("Turn {turn} is done.{}", " word".repeat(words));
                [Step::User(format!("Do turn {turn}, and never touch port 844{turn}.")), Step::Assistant(answer)]
            });
            let source = Bricks::of(format.name).conversation(&said.collect::<Vec<_>>(), 0);
            policy.summary.accept = Accept::Smaller;
            let done = Compactor::new(policy.clone()).compact_as(&source, format.name).expect("a text");
            if done.text == source {
                unchanged += 1;
                continue;
            }
            compacted += 1;
            assert!(!done.text.contains("of the user."), "{} {words}: {}", format.name, done.text);
            let superseded = done.plans[0].superseded();
            let tokens = |text: &str, indices: Option<&[usize]>| {
                with_document(text, Some(*format), |document| {
                    let messages = &document.transcripts[0].messages;
                    let all: Vec<usize> = (0..messages.len()).collect();
                    Tally::new(policy.counter, messages).sum(indices.unwrap_or(&all))
                })
            };
            let replaced = tokens(&source, Some(&superseded));
            let saved = tokens(&source, None) - tokens(&done.text, None);
            assert!(saved * 10 >= replaced, "{} {words}: {saved} of {replaced}: {}", format.name, done.text);
        }
    }
    assert!(unchanged > 50 && compacted > 50, "{unchanged} {compacted}");
}
