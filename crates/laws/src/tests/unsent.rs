//! Messages that Roo Code keeps and no longer sends: they count nothing and decide nothing, and what is sent after a
//! compaction is what was sent before it, compacted.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::bricks::{Bricks, Generated, file, generated, keep, pin};
use crate::lawful::{VaryingRules, assert_laws, compacted, found, policy, with_document};
use crate::rewrite::apply;
use crate::tests::cases;
use crate::tokens::Counter;
use crate::transcript::formats::{Format, by_name};
use tcompact_core::prune::{Choice, chosen, prune_unsent};

/// A step of a session.
#[derive(Debug, Clone)]
enum Step {
    Go(Vec<Generated>),
    /// Everything so far is replaced by a summary.
    Condense,
    /// The first half of what is sent, but for its first message, is replaced by a marker.
    Truncate,
    /// The user goes back: the last messages are gone, and so may be a summary or a marker.
    Rewind(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => generated().prop_map(|generated| Step::Go(generated.into_iter().map(never_called).collect())),
        2 => Just(Step::Condense),
        1 => Just(Step::Truncate),
        1 => (1usize..6).prop_map(Step::Rewind),
    ];
    prop::collection::vec(step, 1..7)
}

/// Gives a result without a call the id of none: Roo Code would send it as long as a call behind it has that id.
fn never_called(generated: Generated) -> Generated {
    match generated {
        Generated::Orphan(id) => Generated::Orphan(4 + id % 2),
        other => other,
    }
}

/// Adds a picture to every other message of blocks that are not results.
fn with_picture(at: usize, mut message: Value) -> Value {
    let data = format!("iVBORw0KGgo{}", "A".repeat(600));
    let picture = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}});
    let is_said = |block: &Value| block["type"] == "text";
    let blocks = message["content"].as_array_mut().filter(|blocks| at.is_multiple_of(2) && blocks.iter().all(is_said));
    if let Some(blocks) = blocks {
        blocks.push(picture);
    }
    message
}

/// A session without the media that are not sent.
fn pruned(source: &str, from: &'static Format) -> Vec<Value> {
    let rules = chosen(&[Choice::All]);
    let edits = with_document(source, Some(from), |document| {
        let transcript = &document.transcripts[0];
        prune_unsent(transcript, &rules, false).edits
    });
    serde_json::from_str(&apply(source, &edits)).expect("a list")
}

/// The session after some steps, as Roo Code writes it.
fn session(steps: &[Step]) -> Vec<Value> {
    let bricks = Bricks::of("anthropic");
    let mut messages: Vec<Value> = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        let id = format!("id {number}");
        match step {
            Step::Go(generated) => {
                let more: Vec<Value> = serde_json::from_str(&file(&bricks, generated, 0).0).expect("a list");
                messages.extend(more.into_iter().enumerate().map(|(at, message)| with_picture(at, message)));
            }
            Step::Condense if messages.is_empty() => {}
            Step::Condense => {
                let tag = |message: &mut Value| message["condenseParent"] = json!(id);
                messages.iter_mut().filter(|message| message.get("condenseParent").is_none()).for_each(tag);
                let text = format!("## Conversation Summary\nstep {number}");
                let content = json!([{"type": "text", "text": text}]);
                messages.push(json!({"role": "user", "content": content, "isSummary": true, "condenseId": id}));
            }
            Step::Truncate => {
                let is_seen = |message: &Value| {
                    message.get("truncationParent").is_none() && message.get("isTruncationMarker").is_none()
                };
                let seen: Vec<usize> = (0..messages.len()).filter(|at| is_seen(&messages[*at])).collect();
                let gone = seen.len().saturating_sub(1) / 2 / 2 * 2;
                seen.iter().skip(1).take(gone).for_each(|at| messages[*at]["truncationParent"] = json!(id));
                let place = seen.get(gone + 1).copied().unwrap_or(messages.len());
                let marker = json!({"role": "user", "content": format!("[{gone} messages hidden]"), "isTruncationMarker": true, "truncationId": id});
                messages.splice(place..place, (gone > 0).then_some(marker));
            }
            Step::Rewind(number) => {
                messages.truncate(messages.len().saturating_sub(*number));
                let [summaries, markers] = ["condenseId", "truncationId"].map(|key| ids(&messages, key));
                for message in messages.iter_mut().filter_map(Value::as_object_mut) {
                    let is_lost = |tag: Option<&Value>, ids: &[Value]| tag.is_some_and(|tag| !ids.contains(tag));
                    if is_lost(message.get("condenseParent"), &summaries) {
                        message.remove("condenseParent");
                    }
                    if is_lost(message.get("truncationParent"), &markers) {
                        message.remove("truncationParent");
                    }
                }
            }
        }
    }
    messages
}

fn ids(messages: &[Value], key: &str) -> Vec<Value> {
    messages.iter().filter_map(|message| message.get(key).cloned()).collect()
}

/// The messages of a session that Roo Code sends.
fn sent(session: &[Value]) -> Vec<Value> {
    let summary = session.iter().rposition(|message| message["isSummary"] == true);
    let own = &session[summary.unwrap_or(0)..];
    let mut messages = own.to_vec();
    if summary.is_some() {
        let blocks = || own.iter().flat_map(|message| message["content"].as_array().into_iter().flatten());
        let calls: Vec<&Value> =
            blocks().filter(|block| block["type"] == "tool_use").map(|block| &block["id"]).collect();
        for message in &mut messages {
            let Some(blocks) = message["content"].as_array_mut() else { continue };
            blocks.retain(|block| block["type"] != "tool_result" || calls.contains(&&block["tool_use_id"]));
        }
        messages.retain(|message| message["content"] != json!([]));
    }
    let markers = ids(own, "truncationId");
    messages.retain(|message| !markers.contains(&message["truncationParent"]));
    messages
}

/// What is read of each message, and how much it counts.
fn read(source: &str, from: &'static Format) -> Vec<String> {
    with_document(source, Some(from), |document| {
        let told = |message: &crate::transcript::Message<'_>| {
            let texts: Vec<_> = message.content.texts().iter().map(|text| text.decode().into_owned()).collect();
            let (calls, results) = (message.calls.len(), message.results.len());
            format!("{:?} {texts:?} {calls} {results} {}", message.role, Counter::APPROX.count(message))
        };
        document.transcripts[0].messages.iter().map(told).collect()
    })
}

fn pictures(messages: &[Value]) -> usize {
    text(messages).matches("iVBORw0KGgo").count()
}

fn text(messages: &[Value]) -> String {
    Value::from(messages.to_vec()).to_string()
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn unsent_messages_decide_nothing(steps in steps(), keep in keep(), pin in pin()) {
        let format = by_name("anthropic").expect("a format");
        let whole = session(&steps);
        let (source, own) = (text(&whole), text(&sent(&whole)));
        prop_assert_eq!(read(&source, format), read(&own, format), "{}", source);
        prop_assert_eq!(found(&source, Some(format)), found(&own, Some(format)), "{}", source);
        let small = pruned(&source, format);
        prop_assert_eq!(sent(&small), sent(&whole), "media go where nothing is sent");
        prop_assert_eq!(pictures(&small), pictures(&sent(&whole)), "all of them: {}", source);
        let policy = policy(&VaryingRules { keep, pin });
        assert_laws(&source, Some(format), &policy);
        let (plans, out) = compacted(&source, Some(format), &policy);
        let out: Vec<Value> = serde_json::from_str(&out).expect("a list");
        let plan = &plans[0];
        if plan.cutoff == 0 {
            prop_assert_eq!(&out, &whole, "nothing goes where nothing is replaced");
        } else {
            // What is sent is what was sent, without what was replaced and with the summary.
            let replaced = plan.replaced();
            let stays = |(index, message): (usize, Value)| (!replaced.contains(&index)).then_some(message);
            let mut wanted: Vec<Value> = sent(&whole).into_iter().enumerate().filter_map(stays).collect();
            let now = sent(&out);
            wanted.insert(plan.before_summary.min(now.len()), now[plan.before_summary.min(now.len() - 1)].clone());
            prop_assert_eq!(&now, &wanted, "{:?} {}", plan, source);
            prop_assert!(now[plan.before_summary]["content"].to_string().contains("What was"), "{:?}", now);
        }
    }
}
