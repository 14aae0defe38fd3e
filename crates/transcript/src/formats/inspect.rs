//! Samples in Inspect's evaluation logs.
//!
//! The `function` of a call is its name, with `arguments` beside it. Results name the function too, and messages name
//! their source. Long texts may be references into the sample's attachments, and stay unchanged.

use serde_json::{Value, json};

use crate::format::{
    EnvelopeRule, EnvelopeScore, Format, Hooks, InsertionPoint, MatchScore, NewResult, SummaryMessage,
};
use crate::formats::shared::blocks::{self, block_types, common_block, content};
use crate::formats::shared::fields::{begins_with, digest, elements_of, has_any, id, list, role_and_name, role_of};
use crate::json::{Json, JsonKind, Object};
use crate::media::MediaKind;
use crate::message::{Arguments, Call, CallPlace, Message, PartKind, RareFields, ResultRef, Role};
use crate::outputs::{CallOutput, HostedResult, OutputShape};
use crate::text::Text;
use crate::thin_list::ThinList;

const ROLES: [(&str, Role); 4] =
    [("system", Role::System), ("user", Role::User), ("assistant", Role::Assistant), ("tool", Role::Tool)];

/// The format's row.
pub(super) static FORMAT: Format = Format {
    name: "inspect",
    about: "samples of Inspect's evaluation logs (JSON)",
    // A cut removes none of these, so the result is read as the same format. Without them the messages decide.
    envelope: &[EnvelopeRule::Members {
        all: &["messages", "epoch", "input"],
        any: &["scores", "store", "events", "model_usage"],
        score: EnvelopeScore::Sure,
    }],
    // What a scorer compares the answer with.
    metadata_members: &["target"],
    marks_summaries: true,
    hooks: Hooks { match_score, read, result_output, provider_results, write_summary, write_result, ..Hooks::NONE },
    ..Format::DEFAULT
};

fn match_score(message: &Object<'_>) -> MatchScore {
    let Some(role) = role_of(&ROLES, message) else { return MatchScore::Mismatch };
    if message.get("content").is_none()
        || has_any(message, &["parts", "function_call", "toolInvocations"])
        || block_types(message).any(|(block, kind)| is_of_another(kind) && !blocks::is_foreign(block, kind))
    {
        return MatchScore::Mismatch;
    }
    let calls: Vec<Object<'_>> = list(message, "tool_calls").map(Object::of).collect();
    if !calls.is_empty() {
        let is_own = calls.iter().any(is_call) && calls.iter().all(|call| is_call(call) || is_of_unknown_type(call));
        return if is_own { MatchScore::Own("calls whose function is a name") } else { MatchScore::Mismatch };
    }
    if role == Role::Tool && message.get_text("function").is_some() {
        return MatchScore::Own("results that name their function");
    }
    if role == Role::User && has_summary_mark(message) {
        return MatchScore::Marked("the mark of a summary");
    }
    match message.get_text("source") {
        Some(source) if source.is("input") || source.is("generate") => MatchScore::Own("a source"),
        // Many formats write such messages, so the envelope decides.
        _ => MatchScore::Neutral,
    }
}

fn read<'a>(message: &Object<'a>) -> Result<Message<'a>, String> {
    let json = message.json;
    let (role, role_name) = role_and_name(message, role_of(&ROLES, message))?;
    Ok(Message {
        role,
        content: content(message.get("content"), block),
        calls: list(message, "tool_calls").map(call).collect(),
        results: match role {
            Role::Tool => ThinList::from([ResultRef::new(json, id(message.get("tool_call_id")))]),
            _ => ThinList::default(),
        },
        rest: RareFields::of_role(role_name),
        earlier: role == Role::User && has_summary_mark(message),
        ..Message::empty(json)
    })
}

fn result_output<'a>(message: &Message<'a>, _answer: &ResultRef<'a>) -> Option<CallOutput<'a>> {
    Some(CallOutput::in_content(message.json, "text")?.with_failure(has_error(message.json)))
}

fn has_error(json: Json<'_>) -> bool {
    json.get("error").is_some_and(|error| !error.is_falsy())
}

fn provider_results<'a>(message: &Message<'a>) -> Vec<HostedResult<'a>> {
    elements_of(message.json, "content").filter_map(provider_result).collect()
}

fn provider_result(block: Json<'_>) -> Option<HostedResult<'_>> {
    if !block.member_is("type", "tool_use") {
        return None;
    }
    let output = CallOutput::of(block.get("result"), OutputShape::Any)?;
    Some(HostedResult { name: block.get_text("name"), output: output.with_failure(has_error(block)) })
}

fn write_summary(summary: &SummaryMessage<'_>, at: &InsertionPoint<'_, '_>) -> Vec<Value> {
    let neighbour = at.neighbour();
    let mut message = json!({});
    if let Some(json) = neighbour.filter(|neighbour| neighbour.get_text("id").is_some()) {
        // Message ids have 22 letters and digits.
        message["id"] = json!(digest(&[summary.text, json.raw()])[..22]);
    }
    let role_first = begins_with("role", neighbour);
    if role_first {
        message["role"] = json!("user");
    }
    message["content"] = json!(summary.text);
    message["metadata"] = json!({"summary": true});
    message["role"] = json!("user");
    vec![message]
}

fn write_result(call: &Call<'_>, calling: &Message<'_>, text: &str) -> Option<NewResult> {
    let id = call.id?.decode();
    let mut message = json!({});
    if calling.json.get_text("id").is_some() {
        message["id"] = json!(digest(&[&id, calling.json.raw()])[..22]);
    }
    message["content"] = json!(text);
    message["role"] = json!("tool");
    message["tool_call_id"] = json!(id);
    message["function"] = json!(call.name?.decode());
    message["error"] = json!({"type": "unknown", "message": text});
    Some(NewResult::Entry(message))
}

/// Whether a message is marked as the summary of the earlier ones. After a cut this may be the only evidence for the
/// format.
fn has_summary_mark(message: &Object<'_>) -> bool {
    message.at(&["metadata", "summary"]).is_some_and(|mark| mark.raw() == "true")
}

/// Whether the function of a call is its name, as in this format.
fn is_call(call: &Object<'_>) -> bool {
    call.get("function").is_some_and(|function| function.kind() == JsonKind::String)
}

/// Whether an entry among the calls has a type that is not known.
fn is_of_unknown_type(call: &Object<'_>) -> bool {
    let Some(kind) = call.get_text("type") else { return false };
    !kind.is_in(&["function", "custom"]) && call.get("function").is_none()
}

fn call(json: Json<'_>) -> Call<'_> {
    Call {
        json,
        id: id(json.get("id")),
        name: json.get_text("function"),
        arguments: Arguments::of(json.get("arguments")),
        place: CallPlace::List,
    }
}

/// Whether a block of this type is one of another format.
fn is_of_another(kind: Option<Text<'_>>) -> bool {
    kind.is_none_or(|kind| kind.is("tool_result") || kind.is_in(&blocks::UNREAD))
}

fn block<'a>(json: Json<'a>, kind: Text<'a>) -> PartKind<'a> {
    if kind.is("data") {
        PartKind::Media(MediaKind::of_block(json, "data"))
    } else if kind.is("tool_use") {
        // The provider ran the tool: call and result are one part.
        json.get_text("result").map_or(PartKind::Other, PartKind::Text)
    } else {
        common_block(json, kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::SummaryRole;
    use crate::framing::read_for_test as read;

    const MESSAGES: &str = r#"[
        {"id":"AAAAAAAAAAAAAAAAAAAAAA","content":"u","source":"input","role":"user"},
        {"content":[{"type":"reasoning","reasoning":"hm"},{"type":"text","text":"t"}],"role":"assistant","tool_calls":[{"id":"a","function":"f","arguments":{"n":1.50}}]},
        {"content":"attachment://0a","role":"tool","tool_call_id":"a","function":"f"},
        {"content":"s","metadata":{"summary":true},"role":"user"}]"#;

    #[test]
    fn samples_alone_in_logs_and_bare() {
        let sample = format!(r#"{{"id":1,"epoch":1,"input":"u","target":"t","messages":{MESSAGES}}}"#);
        for source in [
            MESSAGES.to_owned(),
            sample.clone(),
            format!(r#"{{"version":2,"status":"success","samples":[{sample},{sample}]}}"#),
            r#"{"epoch":1,"input":"u","target":"","store":{},"messages":[{"content":"u","role":"user"}]}"#.to_owned(),
        ] {
            let document = read(&source, None, None).expect("a transcript");
            assert!(document.transcripts.iter().all(|one| one.format.name == "inspect"), "{source}");
        }
        let document = read(MESSAGES, None, None).expect("a transcript");
        let messages = &document.transcripts[0].messages;
        assert_eq!(document.transcripts[0].pairing.pairs, [(1, 2)]);
        assert_eq!([0, 3].map(|index| messages[index].earlier), [false, true]);
        assert!(messages[1].calls[0].name.is_some_and(|name| name.is("f")));
        assert_eq!(messages[1].content.texts().len(), 1, "reasoning is not said");
    }

    #[test]
    fn a_sample_that_only_seems_one_is_read_alike_whatever_was_cut() {
        let call = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"r"},"#;
        let formats = [call, ""].map(|cut| {
            let source = format!(
                r#"{{"id":1,"epoch":1,"input":"u","target":"t","messages":[{cut}{{"role":"user","content":"u"}}]}}"#
            );
            read(&source, None, None).expect("a transcript").transcripts[0].format.name
        });
        assert_eq!(formats, ["openai-chat"; 2]);
    }

    #[test]
    fn a_summary_has_an_id_where_its_neighbours_do() {
        let document = read(MESSAGES, None, None).expect("a transcript");
        let summary = SummaryMessage { text: "s", role: SummaryRole::User, name: None, marked: false };
        let written = |cutoff| {
            let place = InsertionPoint::new(&document.transcripts[0], cutoff);
            FORMAT.write_summary(&summary, &place)[0].clone()
        };
        assert_eq!(written(0)["id"].as_str().map(str::len), Some(22));
        assert_eq!(written(1).to_string(), r#"{"content":"s","metadata":{"summary":true},"role":"user"}"#);
    }
}
