//! Messages of Ollama's chat API.
//!
//! They resemble chat messages elsewhere, but the arguments of a call are an object, and a call need not have an id:
//! results follow the order of the calls, and may name the tool. Pictures and the model's thinking are beside the text.
//! Ollama checks nothing; the template of a model decides how it reads the messages.

use serde_json::{Value, json};

use crate::format::{
    Attachments, EnvelopeRule, EnvelopeScore, Format, Hooks, InsertionPoint, MatchScore, NewResult, SummaryMessage,
    TextBlock,
};
use crate::formats::shared::blocks::{block_types, elements, is_call_or_unread, with_parts};
use crate::formats::shared::chat;
use crate::formats::shared::fields::{list, non_null};
use crate::json::{Json, JsonKind, Object};
use crate::media::MediaKind;
use crate::message::{Call, Message, Part, PartKind};
use crate::order::{OrderRule, ResultPlacement};
use crate::text::Text;

const ROLES: [&str; 4] = ["system", "user", "assistant", "tool"];

/// The format's row.
pub(super) static FORMAT: Format = Format {
    name: "ollama",
    about: "messages as Ollama's chat takes them",
    envelope: &[EnvelopeRule::Members {
        all: &["messages"],
        any: &["keep_alive", "options", "think"],
        score: EnvelopeScore::Likely,
    }],
    order: OrderRule::of(ResultPlacement::Unchecked),
    summary_roles: chat::SUMMARY_ROLES,
    // Pictures are beside the text, in a list of nothing else.
    text_block: TextBlock::Impossible,
    attachments: Some(Attachments::At { list: &["images"], beside: &[] }),
    hooks: Hooks { match_score, read, write_summary, write_result, ..Hooks::NONE },
    ..Format::DEFAULT
};

fn match_score(message: &Object<'_>) -> MatchScore {
    let is_known = message.get_text("role").is_some_and(|role| role.is_in(&ROLES));
    // Ollama accepts no list. A list of readable blocks is still no evidence against the envelope: the rest of the
    // file must be read as the same format when the list is removed.
    let is_read = message.get("content").is_none_or(|content| content.kind() != JsonKind::Object)
        // Another text would be sent in the place of the content.
        && message.get_text("api_content").is_none()
        && !block_types(message).any(|(_, kind)| kind.is_some_and(is_call_or_unread));
    if !is_known || !is_read {
        return MatchScore::Mismatch;
    }
    let mut has_calls = false;
    for call in list(message, "tool_calls") {
        has_calls = true;
        if !is_call(&Object::of(call)) {
            return MatchScore::Mismatch;
        }
    }
    if has_calls {
        return MatchScore::Own("calls whose arguments are an object");
    }
    if names_tool(message) {
        // Others (Hermes) write both names.
        let names_call = non_null(message, "tool_call_id").is_some();
        return if names_call { MatchScore::Shared("tool_name") } else { MatchScore::Own("tool_name") };
    }
    if images(message).next().is_some() {
        return MatchScore::Own("images");
    }
    if thinking(message).is_some() {
        return MatchScore::Own("thinking");
    }
    // Many formats write such messages, so the others and the envelope decide.
    MatchScore::Neutral
}

fn read<'a>(message: &Object<'a>) -> Result<Message<'a>, String> {
    let mut read = chat::message(message)?;
    let mut beside = Vec::new();
    if let Some((json, thought)) = thinking(message) {
        beside.push(Part { json, kind: PartKind::Reasoning(thought) });
    }
    for json in images(message) {
        beside.push(Part { json, kind: PartKind::Media(MediaKind::Picture) });
    }
    read.content = with_parts(read.content, message.get("content"), beside);
    Ok(read)
}

fn write_summary(summary: &SummaryMessage<'_>, _at: &InsertionPoint<'_, '_>) -> Vec<Value> {
    vec![json!({"role": summary.role.name(), "content": summary.text})]
}

fn write_result(call: &Call<'_>, _calling: &Message<'_>, text: &str) -> Option<NewResult> {
    let mut message = json!({"role": "tool", "content": text});
    if let Some(name) = call.name {
        message["tool_name"] = json!(name.decode());
    }
    if let Some(id) = call.id {
        message["tool_call_id"] = json!(id.decode());
    }
    Some(NewResult::Entry(message))
}

/// Whether the arguments of a call are an object. A call with both a type and an id comes from a server that copies
/// OpenAI's format.
fn is_call(call: &Object<'_>) -> bool {
    (call.get("type").is_none() || call.get("id").is_none())
        && call.at(&["function", "arguments"]).is_some_and(|arguments| arguments.kind() == JsonKind::Object)
}

/// Whether a result names its tool.
fn names_tool(message: &Object<'_>) -> bool {
    message.member_is("role", "tool") && non_null(message, "tool_name").is_some()
}

/// The thinking beside the text of a message: the member and its text.
fn thinking<'a>(message: &Object<'a>) -> Option<(Json<'a>, Text<'a>)> {
    let json = message.get("thinking")?;
    let thought = json.text()?;
    if thought.is_empty() { None } else { Some((json, thought)) }
}

/// The pictures of a message, in Base64.
fn images<'a>(message: &Object<'a>) -> impl Iterator<Item = Json<'a>> + use<'a> {
    elements(message.get("images"), JsonKind::String)
}

#[cfg(test)]
mod tests {
    use crate::framing::read_for_test as read;

    fn name(source: &str) -> &'static str {
        read(source, None, None).unwrap_or_else(|error| panic!("{source} {error}")).transcripts[0].format.name
    }

    #[test]
    fn calls_are_paired_in_order_and_members_beside_the_text_are_read() {
        let source = r#"[{"role":"user","content":"u","images":["AA=="]},
            {"role":"assistant","content":"","thinking":"hm","tool_calls":[{"function":{"name":"f","arguments":{"n":1.50}}},{"function":{"name":"g","arguments":{}}}]},
            {"role":"tool","content":"1","tool_name":"f"},{"role":"tool","content":"2"},
            {"role":"assistant","content":"a","thinking":"hm"}]"#;
        let document = read(source, None, None).expect("a transcript");
        let transcript = &document.transcripts[0];
        assert_eq!(transcript.format.name, "ollama");
        assert_eq!(transcript.pairing.pairs, [(1, 2), (1, 3)]);
        let texts = |index: usize| -> Vec<String> {
            transcript.messages[index].content.texts().iter().map(|text| text.decode().into_owned()).collect()
        };
        assert_eq!((texts(0), texts(1), texts(4)), (vec!["u".to_owned()], Vec::new(), vec!["a".to_owned()]));
    }

    #[test]
    fn chat_completions_are_not_taken_for_ollama() {
        let called = |call: &str, result: &str| {
            let call = format!(r#"{{"role":"assistant","content":"","tool_calls":[{call}]}}"#);
            name(&format!("[{call},{result}]"))
        };
        let named = r#"{"role":"tool","content":"r","tool_call_id":"a"}"#;
        let bare = r#"{"role":"tool","content":"r"}"#;
        let object = r#"{"function":{"name":"f","arguments":{}}}"#;
        assert_eq!(called(object, bare), "ollama");
        assert_eq!(called(r#"{"id":"a","function":{"name":"f","arguments":{}}}"#, bare), "ollama");
        assert_eq!(
            called(r#"{"id":"a","type":"function","function":{"name":"f","arguments":{}}}"#, named),
            "openai-chat"
        );
        assert_eq!(called(r#"{"id":"a","function":{"name":"f","arguments":"{}"}}"#, bare), "openai-chat");
        // If both formats have evidence, the one that fits all messages wins.
        assert_eq!(called(r#"{"id":"a","function":{"name":"f","arguments":{}}}"#, named), "ollama");
        let typed = r#"{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}"#;
        assert_eq!(called(typed, r#"{"role":"tool","content":"r","tool_name":"f"}"#), "openai-chat");
        assert_eq!(called(typed, r#"{"role":"user","content":"u","images":["AA=="]}"#), "openai-chat");
        // A list is not evidence against the envelope, but blocks that only other formats have are.
        let listed = |kind: &str| {
            format!(r#"{{"options":{{}},"messages":[{{"role":"user","content":[{{"type":"{kind}","text":"u"}}]}}]}}"#)
        };
        assert_eq!((name(&listed("text")), name(&listed("tool_result"))), ("ollama", "anthropic"));
        let text = r#"[{"role":"user","content":"u"}]"#;
        assert_eq!(name(&format!(r#"{{"model":"m","keep_alive":"5m","messages":{text}}}"#)), "ollama");
        assert_eq!(name(text), "openai-chat");
    }
}
