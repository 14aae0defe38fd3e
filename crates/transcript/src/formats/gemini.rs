//! Gemini's `contents`: messages of parts.
//!
//! Roles are user, model and (in old files) function; a message without a role is the user's. Calls are `functionCall`
//! parts, results are `functionResponse` parts of the next message. Ids are optional, and without them the results
//! follow the order of the calls. Python writes the keys with underscores.

use serde_json::{Value, json};

use crate::foreign;
use crate::format::{
    EnvelopeRule, Format, Hooks, InsertionPoint, MatchScore, NewResult, SummaryMessage, SummaryRole, TextBlock,
};
use crate::formats::shared::fields::{begins_with, check_object, elements_of, id, list, non_null, of_hosted, role_in};
use crate::formats::shared::parts::{self, is_part, member, output, part};
use crate::json::{Json, JsonKind, Object};
use crate::message::{Call, Content, Message, Part, RareFields, ResultRef, Role};
use crate::order::{MessageOrder, OrderRule, ResultPlacement, Spelling, Texts};
use crate::outputs::{CallOutput, HostedResult};

/// The format's row.
pub(super) static FORMAT: Format = Format {
    name: "gemini",
    about: "contents of parts, as generateContent takes them",
    envelope: &[EnvelopeRule::likely(&["contents"])],
    order: OrderRule::Always(MessageOrder {
        user_first: true,
        calls_after_user: true,
        lenient: true,
        texts: Texts::Some,
        tool_names: Spelling::Name(128),
        object_inputs: true,
        ..MessageOrder::of(ResultPlacement::Grouped)
    }),
    keeps_signatures: true,
    results_message: Some(r#"{"role":"user","parts":["…"]}"#),
    text_block: TextBlock::Bare,
    hooks: Hooks {
        match_score,
        read,
        groups,
        result_output,
        provider_results,
        write_summary,
        write_result,
        ..Hooks::NONE
    },
    ..Format::DEFAULT
};

fn match_score(message: &Object<'_>) -> MatchScore {
    let Some(parts) = parts(message) else {
        return if is_empty_answer(message) { MatchScore::Plain } else { MatchScore::Mismatch };
    };
    if role(message).is_none() || !parts.items().all(|part| is_part(part) || is_of_unknown_kind(part)) {
        MatchScore::Mismatch
    } else if parts.items().next().is_none() {
        MatchScore::Plain
    } else if parts.items().any(is_part) {
        MatchScore::Own("parts")
    } else {
        // Nothing but unknown kinds says nothing for or against the format.
        MatchScore::Neutral
    }
}

/// Whether a message of the model has no parts, as an empty one has none; its role tells.
fn is_empty_answer(message: &Object<'_>) -> bool {
    let lacks_content = non_null(message, "parts").is_none() && non_null(message, "content").is_none();
    lacks_content && message.member_is("role", "model")
}

/// Whether a part has members that are not known, and that name neither a call nor a result.
fn is_of_unknown_kind(part: Json<'_>) -> bool {
    let is_typed = part.get("type").is_some() || part.get("kind").is_some();
    part.entries().next().is_some() && !is_typed && !foreign::could_be_call_or_result(part)
}

fn read<'a>(message: &Object<'a>) -> Result<Message<'a>, String> {
    let json = message.json;
    check_object(json, "an object with parts")?;
    let has_other_parts = parts(message).is_none() && non_null(message, "parts").is_some();
    if has_other_parts || parts(message).is_none() && role(message).is_none() {
        return Err("has no list of parts".to_owned());
    }
    let mut content = Vec::new();
    let mut calls = Vec::new();
    let mut results = Vec::new();
    for json in list(message, "parts") {
        content.push(Part { json, kind: part(json) });
        if let Some(call) = member(json, "functionCall") {
            calls.push(parts::call(json, call));
        }
        if let Some(answer) = member(json, "functionResponse") {
            results.push(ResultRef::new(json, id(answer.get("id"))));
        }
    }
    let role = role(message);
    Ok(Message {
        role: role.unwrap_or(Role::Other),
        calls: calls.into(),
        results: results.into(),
        content: Content::of_parts(content.into()),
        rest: RareFields::of_role(if role.is_none() { message.get_text("role") } else { None }),
        ..Message::empty(json)
    })
}

fn groups(messages: &[Message<'_>]) -> Vec<(usize, usize)> {
    of_hosted(messages, is_provider_call, is_provider_result)
}

fn is_provider_call(part: Json<'_>) -> bool {
    member(part, "executableCode").is_some() || member(part, "toolCall").is_some()
}

fn is_provider_result(part: Json<'_>) -> bool {
    member(part, "codeExecutionResult").is_some() || member(part, "toolResponse").is_some()
}

fn result_output<'a>(_message: &Message<'a>, answer: &ResultRef<'a>) -> Option<CallOutput<'a>> {
    output(answer.json)
}

fn provider_results<'a>(message: &Message<'a>) -> Vec<HostedResult<'a>> {
    elements_of(message.json, "parts").filter_map(parts::hosted).collect()
}

fn write_summary(summary: &SummaryMessage<'_>, at: &InsertionPoint<'_, '_>) -> Vec<Value> {
    let role = if summary.role == SummaryRole::Assistant { "model" } else { "user" };
    let parts = json!([{"text": summary.text}]);
    // The keys are in the neighbour's order.
    let parts_first = begins_with("parts", at.neighbour());
    let message =
        if parts_first { json!({"parts": parts, "role": role}) } else { json!({"role": role, "parts": parts}) };
    vec![message]
}

fn write_result(call: &Call<'_>, _calling: &Message<'_>, text: &str) -> Option<NewResult> {
    let mut response = json!({"name": call.name?.decode(), "response": {"error": text}});
    if let Some(id) = call.id {
        response["id"] = json!(id.decode());
    }
    Some(NewResult::Entry(json!({"functionResponse": response})))
}

fn parts<'a>(message: &Object<'a>) -> Option<Json<'a>> {
    message.get("parts").filter(|parts| parts.kind() == JsonKind::Array)
}

/// The role of a message. Parts are the user's where nothing else is with them.
fn role(message: &Object<'_>) -> Option<Role> {
    let Some(role) = non_null(message, "role") else {
        let are_alone =
            parts(message).is_some() && message.json.entries().all(|(key, _)| key.is("parts") || key.is("role"));
        return if are_alone { Some(Role::User) } else { None };
    };
    let role = role.text()?;
    role_in(&[("user", Role::User), ("function", Role::User), ("model", Role::Assistant)], role)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framing::read_for_test as read;

    #[test]
    fn both_spellings_and_pairs_by_order() {
        let rest = r#"{"contents":[
            {"parts":[{"text":"u"}],"role":"user"},
            {"parts":[{"text":"hm","thought":true},{"functionCall":{"name":"f","args":{}},"thoughtSignature":"s"},{"functionCall":{"name":"g"}}],"role":"model"},
            {"parts":[{"functionResponse":{"name":"f","response":{"output":"a\nb"}}},{"functionResponse":{"name":"g","response":{"output":"c","n":1.50}}}],"role":"user"}]}"#;
        let python = rest
            .replace(r#"{"text":"u"}"#, r#"{"text":"u","function_call":null,"function_response":null}"#)
            .replace("functionCall", "function_call")
            .replace("functionResponse", "function_response")
            .replace(r#"1.50}}}],"role":"user""#, r#"1.50}}}],"role":"function""#);
        for source in [rest, &python] {
            let document = read(source, None, None).expect("a transcript");
            let transcript = &document.transcripts[0];
            let messages = &transcript.messages;
            assert_eq!(transcript.format.name, "gemini");
            assert_eq!(transcript.pairing.pairs, [(1, 2), (1, 2)]);
            assert_eq!([0, 1, 2].map(|index| messages[index].role), [Role::User, Role::Assistant, Role::User]);
            assert_eq!([0, 2].map(|index| messages[index].is_user_turn()), [true, false]);
            let texts: Vec<String> =
                messages[2].content.texts().iter().map(|text| text.decode().into_owned()).collect();
            assert_eq!(texts, ["a\nb", r#"{"output":"c","n":1.50}"#]);
            assert!(messages[1].content.texts().is_empty(), "thoughts are not said");
        }
    }

    #[test]
    fn an_empty_message_of_the_model_is_read() {
        let source = r#"[{"role":"user","parts":[{"text":"u"}]},{"role":"model"},{"role":"model","parts":null},
            {"role":"model","parts":[{"thoughtSignature":"s"}]}]"#;
        let document = read(source, None, None).expect("a transcript");
        assert_eq!(document.transcripts[0].format.name, "gemini");
        assert_eq!(document.transcripts[0].messages.len(), 4);
    }

    #[test]
    fn a_summary_is_written_as_its_neighbours_are() {
        let summary = SummaryMessage { text: "s", role: SummaryRole::User, name: None, marked: false };
        let written = |neighbour: &str| {
            let document = read(neighbour, None, None).expect("a transcript");
            let place = InsertionPoint::new(&document.transcripts[0], 0);
            FORMAT.write_summary(&summary, &place)[0].to_string()
        };
        assert_eq!(written(r#"[{"parts":[{"text":"u"}],"role":"user"}]"#), r#"{"parts":[{"text":"s"}],"role":"user"}"#);
        assert_eq!(written(r#"[{"role":"user","parts":[{"text":"u"}]}]"#), r#"{"role":"user","parts":[{"text":"s"}]}"#);
    }
}
