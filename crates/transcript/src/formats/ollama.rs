//! Messages of Ollama's chat API.
//!
//! They resemble chat messages elsewhere, but the arguments of a call are an object, and a call need not have an id:
//! results follow the order of the calls, and may name the tool. Pictures and the model's thinking are beside the text.
//! Ollama checks nothing; the template of a model decides how it reads the messages.

use serde_json::{Value, json};

use crate::edit::Edit;
use crate::format::{
    EnvelopeFit, Format, FormatFit, InsertionPoint, MessageReader, MessageWriter, OrderRules, SummaryMessage,
    SummaryRole,
};
use crate::formats::shared::blocks::{append_line, block_types, elements, is_call_or_unread, with_parts};
use crate::formats::shared::chat;
use crate::formats::shared::fields::{list, non_null};
use crate::json::{Json, JsonKind, Object};
use crate::media::MediaKind;
use crate::message::{Call, Message, Part, PartKind};
use crate::order::{MessageOrder, ResultPlacement};
use crate::text::Text;
use crate::usage::UsageReader;

/// The format's row.
#[derive(Debug)]
pub(super) struct Ollama;

const ROLES: [&str; 4] = ["system", "user", "assistant", "tool"];

impl Format for Ollama {
    fn name(&self) -> &'static str {
        "ollama"
    }

    fn about(&self) -> &'static str {
        "messages as Ollama's chat takes them"
    }
}

impl MessageReader for Ollama {
    fn fit(&self, message: &Object<'_>) -> FormatFit {
        let is_known = message.get_text("role").is_some_and(|role| ROLES.iter().any(|name| role.is(name)));
        // Ollama accepts no list. A list of readable blocks is still no evidence against the envelope: the rest of the
        // file must be read as the same format when the list is removed.
        let is_read = message.get("content").is_none_or(|content| content.kind() != JsonKind::Object)
            && !block_types(message).any(|(_, kind)| kind.is_some_and(is_call_or_unread));
        if !is_known || !is_read {
            return FormatFit::Mismatch;
        }
        let mut calls = list(message, "tool_calls").map(Object::of).peekable();
        if calls.peek().is_some() {
            return if calls.all(|call| is_call(&call)) {
                FormatFit::Own("calls whose arguments are an object")
            } else {
                FormatFit::Mismatch
            };
        }
        if names_tool(message) {
            return FormatFit::Own("tool_name");
        }
        if images(message).next().is_some() {
            return FormatFit::Own("images");
        }
        if thinking(message).is_some() {
            return FormatFit::Own("thinking");
        }
        // Many formats write such messages, so the others and the envelope decide.
        FormatFit::Neutral
    }

    fn fit_envelope(&self, envelope: &Object<'_>) -> EnvelopeFit {
        let own = ["keep_alive", "options", "think"].iter().any(|key| envelope.get(key).is_some());
        if own && envelope.get("messages").is_some() { EnvelopeFit::Likely } else { EnvelopeFit::Unknown }
    }

    fn message<'a>(&self, message: &Object<'a>) -> Result<Message<'a>, String> {
        let mut read = chat::message(message)?;
        let thought = thinking(message).map(|(json, thought)| Part { json, kind: PartKind::Reasoning(thought) });
        let pictures = images(message).map(|json| Part { json, kind: PartKind::Media(MediaKind::Picture) });
        let beside = thought.into_iter().chain(pictures).collect();
        read.content = with_parts(read.content, message.get("content"), beside);
        Ok(read)
    }
}

impl MessageWriter for Ollama {
    fn text_block(&self, _part: Json<'_>, _text: &str) -> Option<Value> {
        // Pictures are beside the text, in a list of nothing else.
        None
    }

    fn attachments<'a>(&self, message: &Message<'a>) -> Option<Json<'a>> {
        message.json.get("images")
    }

    fn append_line(&self, message: &Message<'_>, line: &str) -> Option<Edit> {
        append_line(&Object::of(message.json), "content", line)
    }

    fn summary_roles(&self) -> &'static [SummaryRole] {
        chat::SUMMARY_ROLES
    }

    fn summary(&self, summary: &SummaryMessage<'_>, _at: &InsertionPoint<'_, '_>) -> Vec<Value> {
        vec![json!({"role": summary.role.name(), "content": summary.text})]
    }

    fn result(&self, call: &Call<'_>, _calling: &Message<'_>, text: &str) -> Option<Value> {
        let mut message = json!({"role": "tool", "content": text});
        if let Some(name) = call.name {
            message["tool_name"] = json!(name.decode());
        }
        if let Some(id) = call.id {
            message["tool_call_id"] = json!(id.decode());
        }
        Some(message)
    }
}

impl UsageReader for Ollama {}

impl OrderRules for Ollama {
    fn order(&self, _envelope: Option<&Object<'_>>, _messages: &[Message<'_>]) -> MessageOrder {
        MessageOrder::of(ResultPlacement::Unchecked)
    }
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
    json.text().filter(|thought| !thought.is_empty()).map(|thought| (json, thought))
}

/// The pictures of a message, in Base64.
fn images<'a>(message: &Object<'a>) -> impl Iterator<Item = Json<'a>> + use<'a> {
    elements(message.get("images"), JsonKind::String)
}

#[cfg(test)]
mod tests {
    use crate::framing::read_for_test as read;

    fn name(source: &str) -> &'static str {
        read(source, None, None).unwrap_or_else(|error| panic!("{source} {error}")).transcripts[0].format.name()
    }

    #[test]
    fn calls_are_paired_in_order_and_members_beside_the_text_are_read() {
        let source = r#"[{"role":"user","content":"u","images":["AA=="]},
            {"role":"assistant","content":"","thinking":"hm","tool_calls":[{"function":{"name":"f","arguments":{"n":1.50}}},{"function":{"name":"g","arguments":{}}}]},
            {"role":"tool","content":"1","tool_name":"f"},{"role":"tool","content":"2"},
            {"role":"assistant","content":"a","thinking":"hm"}]"#;
        let document = read(source, None, None).expect("a transcript");
        let transcript = &document.transcripts[0];
        assert_eq!(transcript.format.name(), "ollama");
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
