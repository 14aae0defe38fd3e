//! Items of the Responses API: messages, calls, results and reasoning are entries of one list.
//!
//! An item without a type is a message. Calls and results of all kinds are paired by `call_id`; a call that the server
//! answers is one item with its result. A compaction item holds the earlier context in a form that only the provider
//! can read, so it always stays. Messages before it are summarized like all others, because some servers read them
//! besides the compaction item and some do not.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::foreign;
use crate::format::{
    EnvelopeRule, EnvelopeScore, Format, Hooks, InsertionPoint, MatchScore, NewResult, SummaryMessage, SummaryRole,
    TextBlock, Transcript,
};
use crate::formats::shared::blocks::is_foreign;
use crate::formats::shared::fields::{has_any, non_null, role_of};
use crate::formats::shared::items::{self, Item, ROLES, kind};
use crate::json::{Json, JsonKind, Object};
use crate::message::{Call, Content, Message, ResultRef, Role};
use crate::order::{MessageOrder, OrderRule, ResultPlacement, Spelling};
use crate::outputs::{CallOutput, HostedResult};

/// The content parts that only this format has.
const OWN_PARTS: [&str; 4] = ["input_text", "output_text", "input_image", "input_file"];

/// The members of a request that name a history stored by the provider.
const SERVER_HISTORY: [&str; 2] = ["previous_response_id", "conversation"];

/// The format's row.
pub(super) static FORMAT: Format = Format {
    name: "openai-responses",
    about: "input and output items of the Responses API",
    envelope: &[EnvelopeRule::Values(match_envelope)],
    order: OrderRule::Depends(order),
    item: Some(&[]),
    encrypted_by: Some(&["openai", "xai"]),
    summary_roles: &[SummaryRole::User, SummaryRole::System],
    text_block: TextBlock::Typed("input_text"),
    hooks: Hooks { match_score, read, groups, result_output, provider_results, write_summary, write_result, refusal },
    ..Format::DEFAULT
};

fn match_score(message: &Object<'_>) -> MatchScore {
    match (message.json.kind(), kind(message)) {
        // The input of a request may be a string.
        (JsonKind::String, _) => MatchScore::Neutral,
        // It says nothing for or against the format.
        (_, None) if items::is_of_unknown_type(message) && !items::has_member_of_others(message) => MatchScore::Neutral,
        (_, None) => MatchScore::Mismatch,
        (_, Some(Item::Message)) => score_of_message(message),
        (_, Some(Item::Reference)) if non_null(message, "type").is_none() => MatchScore::Neutral,
        (_, Some(_)) if items::is_known(message) => MatchScore::Own("the type of an item"),
        (_, Some(_)) => MatchScore::Neutral,
    }
}

fn read<'a>(message: &Object<'a>) -> Result<Message<'a>, String> {
    if let Some(text) = message.json.text() {
        return Ok(items::message_of(message.json, Role::User, Content::Text(text)));
    }
    if items::is_of_unknown_type(message) { Ok(foreign::message(message)) } else { items::item(message) }
}

fn groups(messages: &[Message<'_>]) -> Vec<(usize, usize)> {
    items::groups(items_of(messages))
}

/// The items that some messages were read from.
fn items_of<'a>(messages: &[Message<'a>]) -> impl Iterator<Item = Json<'a>> {
    messages.iter().map(|message| message.json)
}

fn result_output<'a>(_message: &Message<'a>, answer: &ResultRef<'a>) -> Option<CallOutput<'a>> {
    items::output(answer.json)
}

fn provider_results<'a>(message: &Message<'a>) -> Vec<HostedResult<'a>> {
    items::hosted(message.json)
}

fn write_summary(summary: &SummaryMessage<'_>, at: &InsertionPoint<'_, '_>) -> Vec<Value> {
    let messages = &at.transcript.messages;
    let item = match nearest_message(messages, at.cutoff.min(messages.len())) {
        Some(neighbour) if neighbour.get("type").is_none() => {
            if neighbour.get_text("content").is_some() {
                json!({"role": summary.role.name(), "content": summary.text})
            } else {
                json!({"role": summary.role.name(), "content": [{"type": "input_text", "text": summary.text}]})
            }
        }
        _ => items::summary(summary),
    };
    vec![item]
}

/// The item with a role that is nearest to the cutoff, with those behind it first.
fn nearest_message<'a>(messages: &[Message<'a>], cutoff: usize) -> Option<Json<'a>> {
    for message in messages[cutoff..].iter().chain(messages[..cutoff].iter().rev()) {
        if message.json.get("role").is_some() {
            return Some(message.json);
        }
    }
    None
}

fn write_result(call: &Call<'_>, _calling: &Message<'_>, text: &str) -> Option<NewResult> {
    items::result(call, text).map(NewResult::Entry)
}

fn refusal(transcript: &Transcript<'_>) -> Option<String> {
    let messages = &transcript.messages;
    if items::unknown_references(items_of(messages)) {
        return Some(
            "it names items that are not in it (item_reference), so the messages to summarize are not there".to_owned(),
        );
    }
    let all: Vec<Json<'_>> = items_of(messages).collect();
    if let Some(kind) = items::unpaired_type(&all) {
        return Some(format!("an item of the type {kind}, which is not known, has a call_id that no other item has"));
    }
    let request = transcript.state?;
    for history_key in SERVER_HISTORY {
        let is_named = request.get(history_key).is_some_and(|value| value.kind() != JsonKind::Null);
        // Without orphaned results, these items are independent of the stored history.
        if is_named && has_orphans(messages) {
            return Some(format!(
                "its beginning is kept by the provider ({history_key}), with the calls of results that are here"
            ));
        }
    }
    None
}

fn match_envelope(envelope: &Object<'_>) -> EnvelopeScore {
    let mut items = items_in(envelope);
    for key in ["body", "request", "response"] {
        if items.is_none()
            && let Some(inner) = envelope.get(key)
        {
            items = items_in(&Object::of(inner));
        }
    }
    let Some(items) = items else { return EnvelopeScore::Unknown };
    match items.kind() {
        JsonKind::String => EnvelopeScore::Sure,
        // Logs of other programs have their messages under the same key.
        JsonKind::Array if are_items(items) => EnvelopeScore::Sure,
        _ => EnvelopeScore::Unknown,
    }
}

/// The input of a request, or the output of a response.
fn items_in<'a>(place: &Object<'a>) -> Option<Json<'a>> {
    if let Some(input) = place.get("input")
        && place.get("messages").is_none()
    {
        return Some(input);
    }
    if !place.get_text("object")?.starts_with("response") {
        return None;
    }
    place.get("output")
}

/// Whether the elements of a list can be items, and some surely are if others have members of other programs.
fn are_items(list: Json<'_>) -> bool {
    let mut has_unknown = false;
    let mut has_message = false;
    for item in list.items() {
        let item = Object::of(item);
        let score = match_score(&item);
        has_message |= score.is_message();
        if score == MatchScore::Mismatch {
            if !items::is_of_unknown_type(&item) {
                return false;
            }
            has_unknown = true;
        }
    }
    has_message || !has_unknown
}

fn order(envelope: Option<&Object<'_>>, messages: &[Message<'_>]) -> MessageOrder {
    let inside = envelope.and_then(|envelope| envelope.get("body").or_else(|| envelope.get("request")));
    let inside = inside.map(Object::of);
    let body = inside.as_ref().or(envelope);
    let model = body.and_then(|body| body.get_text("model"));
    let is_deepseek = model.is_some_and(|model| model.decode().to_lowercase().contains("deepseek"));
    let has_server_history = body.is_some_and(|body| has_any(body, &SERVER_HISTORY));
    let results = if is_deepseek { ResultPlacement::Grouped } else { ResultPlacement::Behind };
    MessageOrder {
        calls_elsewhere: has_server_history || items::unknown_references(items_of(messages)),
        binds_reasoning: items::have_ids(items_of(messages)),
        call_ids: Spelling::Id(64),
        tool_names: Spelling::Word(64),
        groups_by_thinking: true,
        ..MessageOrder::of(results)
    }
}

fn score_of_message(message: &Object<'_>) -> MatchScore {
    // This reader does not read these members.
    let unread = ["parts", "tool_calls", "function_call", "toolInvocations", "tool_call_id"];
    if role_of(&ROLES, message).is_none() || has_any(message, &unread) {
        return MatchScore::Mismatch;
    }
    let typed = non_null(message, "type").is_some();
    let Some(said) = non_null(message, "content") else { return MatchScore::Mismatch };
    let mut score = if typed { MatchScore::Own("the type message") } else { MatchScore::Plain };
    match said.kind() {
        JsonKind::String => {}
        JsonKind::Array => {
            for part in said.items() {
                match part.get_text("type") {
                    Some(kind) if kind.is_in(&OWN_PARTS) => score = MatchScore::Own("its content parts"),
                    Some(kind) if kind.is_in(&["refusal", "input_audio"]) => {}
                    // A part that no format knows says nothing for or against this one.
                    kind if part.kind() == JsonKind::Object && is_foreign(part, kind) => {}
                    _ => return MatchScore::Mismatch,
                }
            }
        }
        _ => return MatchScore::Mismatch,
    }
    score
}

/// Whether a result has no call before it.
fn has_orphans(messages: &[Message<'_>]) -> bool {
    let mut called = HashSet::new();
    for message in messages {
        for call in &message.calls {
            if let Some(id) = call.id {
                called.insert(id.decode());
            }
        }
        for result in &*message.results {
            if let Some(id) = result.id
                && !called.contains(&id.decode())
            {
                return true;
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compaction::ProviderCompaction;
    use crate::framing::read_for_test as read;
    use crate::pairing::results;

    const USER: &str = r#"{"role":"user","content":"u"}"#;
    const REASONING: &str = r#"{"type":"reasoning","id":"rs","summary":[{"type":"summary_text","text":"hm"}]}"#;

    fn with<T>(source: &str, look: impl FnOnce(&Transcript<'_>) -> T) -> T {
        let document = read(source, None, None).unwrap_or_else(|error| panic!("it {error}: {source}"));
        look(&document.transcripts[0])
    }

    #[test]
    fn calls_of_all_kinds_are_paired_by_their_call_id() {
        for (call, _, result) in &items::CALLS[..7] {
            let source = format!(
                r#"[{USER},{{"type":"{call}","call_id":"a","id":"x"}},{{"type":"{result}","call_id":"a","output":"r"}}]"#
            );
            with(&source, |transcript| {
                assert_eq!(transcript.format.name, "openai-responses");
                assert_eq!(transcript.pairing.pairs, [(1, 2)], "{source}");
                assert!(transcript.groups.is_empty());
            });
        }
        let approval = format!(
            r#"[{USER},{{"type":"mcp_approval_request","id":"a","name":"f","arguments":"{{}}"}},{{"type":"mcp_approval_response","approval_request_id":"a","approve":true}}]"#
        );
        with(&approval, |transcript| assert_eq!(transcript.pairing.pairs, [(1, 2)]));
    }

    #[test]
    fn a_task_that_another_agent_hands_over_is_a_message() {
        let handoff = r#"{"type":"function_call_output","id":"i","name":"handoff","output":"Check the list."}"#;
        let orphan = r#"{"type":"function_call_output","output":"r"}"#;
        with(&format!("[{USER},{handoff},{orphan},{USER}]"), |transcript| {
            assert_eq!(transcript.pairing.orphaned, [false, false, true, false]);
            let message = &transcript.messages[1];
            assert_eq!((message.role, message.content.texts()[0].decode()), (Role::User, "Check the list.".into()));
        });
    }

    #[test]
    fn items_of_later_kinds_are_read_by_their_names() {
        let call = r#"{"type":"garden_call","call_id":"a","name":"water"}"#;
        let result = r#"{"type":"garden_call_output","call_id":"a","output":{"litres":1.50}}"#;
        with(&format!(r#"[{USER},{REASONING},{call},{result},{{"type":"look_call","id":"l"}}]"#), |transcript| {
            assert_eq!(transcript.pairing.pairs, [(2, 3)]);
            assert_eq!(transcript.groups, [(1, 2)]);
        });
        assert!(read(&format!("[{call},{result}]"), None, None).is_err(), "names like these are not evidence");
    }

    #[test]
    fn an_unknown_item_with_members_of_other_programs_is_opaque_among_items() {
        let call = r#"{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}"#;
        let output = r#"{"type":"function_call_output","call_id":"c","output":"r"}"#;
        for member in [
            r#""role":"user""#,
            r#""content":[{"type":"output_text","text":"x"}]"#,
            r#""message":{"a":1}"#,
            r#""payload":{"text":"x"}"#,
            r#""data":{"text":"x"}"#,
            r#""timestamp":"t""#,
            r#""uuid":"u""#,
        ] {
            let probe = format!(r#"{{"type":"weather_probe","id":"w",{member}}}"#);
            let read_as_opaque = |transcript: &Transcript<'_>, index: usize| {
                assert_eq!(transcript.format.name, "openai-responses", "{member}");
                let message = &transcript.messages[index];
                assert_eq!(message.role, Role::Other, "{member}");
                assert_eq!(message.content.texts()[0].decode(), probe, "{member}");
            };
            with(&format!("[{USER},{call},{probe},{output},{USER}]"), |transcript| read_as_opaque(transcript, 2));
            with(&format!(r#"{{"model":"m","input":[{USER},{probe},{USER}]}}"#), |transcript| {
                read_as_opaque(transcript, 1)
            });
            let named = crate::formats::by_name("openai-responses");
            let source = format!("[{USER},{probe},{USER}]");
            let document = read(&source, named, None).expect("the named format");
            read_as_opaque(&document.transcripts[0], 1);
            // Nothing else says that it is an item.
            for source in
                [format!("[{probe}]"), format!(r#"{{"input":[{probe}]}}"#), format!("[{probe},{call},{probe}]")]
            {
                let found = read(&source, None, None).map(|document| document.transcripts[0].format.name);
                assert_ne!(found.ok(), Some("openai-responses"), "{source}");
            }
        }
    }

    #[test]
    fn an_unknown_item_belongs_to_the_reasoning_before_it_unless_another_author_wrote_it() {
        let said = r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"t"}]}"#;
        let probe = |member: &str| format!(r#"{{"type":"weather_probe","data":1{member}}}"#);
        with(&format!("[{USER},{REASONING},{},{said}]", probe("")), |transcript| {
            assert_eq!(transcript.groups, [(1, 3)]);
        });
        with(&format!("[{USER},{REASONING},{said},{},{said}]", probe(r#","role":"user""#)), |transcript| {
            assert_eq!(transcript.groups, [(1, 2)]);
        });
    }

    #[test]
    fn reasoning_stays_with_its_output() {
        let call = r#"{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}"#;
        let output = r#"{"type":"function_call_output","call_id":"a","output":"r"}"#;
        let said = r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"t"}]}"#;
        let source = format!("[{USER},{REASONING},{REASONING},{call},{output},{REASONING},{USER},{said}]");
        with(&source, |transcript| {
            assert_eq!(transcript.groups, [(1, 3)]);
            assert!(transcript.messages[1].content.texts().is_empty());
        });
    }

    #[test]
    fn a_hosted_search_waits_for_nothing() {
        let call = r#"{"type":"tool_search_call","call_id":null,"execution":"server","arguments":{}}"#;
        let output = r#"{"type":"tool_search_output","call_id":null,"execution":"server","tools":[]}"#;
        with(&format!("[{USER},{call},{output},{USER}]"), |transcript| {
            assert_eq!(transcript.groups, [(1, 2)]);
            assert!(transcript.pairing.unanswered.is_empty() && results(&transcript.messages).is_empty());
        });
    }

    #[test]
    fn a_request_says_that_plain_messages_are_items() {
        for (source, name) in [
            (format!("[{USER}]"), "openai-chat"),
            (format!(r#"{{"input":[{USER}]}}"#), "openai-responses"),
            (r#"{"model":"m","input":"u"}"#.to_owned(), "openai-responses"),
            (format!(r#"{{"object":"response","output":[{REASONING}]}}"#), "openai-responses"),
            (r#"{"input":[{"role":"tool","tool_call_id":"a","content":"r"}]}"#.to_owned(), "openai-chat"),
            (format!(r#"[{{"role":"developer","content":"d"}},{REASONING}]"#), "openai-responses"),
        ] {
            with(&source, |transcript| assert_eq!(transcript.format.name, name, "{source}"));
        }
    }

    #[test]
    fn items_that_only_the_provider_knows_stay() {
        let output = r#"{"type":"function_call_output","call_id":"a","output":"r"}"#;
        let refusal = |source: &str| with(source, |transcript| FORMAT.refusal(transcript));
        let kept = refusal(&format!(r#"{{"previous_response_id":"r","input":[{output},{USER}]}}"#));
        assert!(kept.is_some_and(|why| why.contains("previous_response_id")));
        assert_eq!(refusal(&format!(r#"{{"previous_response_id":null,"input":[{output},{USER}]}}"#)), None);
        assert_eq!(refusal(&format!(r#"{{"conversation":"c","input":[{USER}]}}"#)), None);
        let named = refusal(&format!(r#"[{USER},{{"type":"item_reference","id":"x"}}]"#));
        assert!(named.is_some_and(|why| why.contains("item_reference")));
        let known = format!(r#"[{REASONING},{{"type":"item_reference","id":"rs"}}]"#);
        assert_eq!(refusal(&known), None);
    }

    #[test]
    fn a_compaction_is_opaque() {
        let source = format!(r#"[{USER},{{"type":"compaction","id":"c","encrypted_content":"x"}},{USER}]"#);
        with(&source, |transcript| {
            assert_eq!(transcript.compactions, [1]);
            assert!(matches!(transcript.messages[1].compaction(), Some(ProviderCompaction::Opaque)));
        });
    }

    #[test]
    fn a_summary_is_written_as_its_neighbours_are() {
        let summary = SummaryMessage { text: "s", role: SummaryRole::User, name: None, marked: false };
        let written = |source: &str| {
            with(source, |transcript| {
                FORMAT.write_summary(&summary, &InsertionPoint::new(transcript, 1))[0].to_string()
            })
        };
        let full = r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"s"}]}"#;
        assert_eq!(written(&format!("[{USER},{REASONING}]")), r#"{"role":"user","content":"s"}"#);
        assert_eq!(written(&format!("[{REASONING}]")), full);
        assert_eq!(written(&format!("[{}]", full.replace("user", "assistant"))), full);
    }
}
