//! Messages API messages.
//!
//! Roles user and assistant (and, since 2026, system in the middle); calls are `tool_use` blocks, results are
//! `tool_result` blocks of the next user message. Calls that the server answers itself (`server_tool_use`,
//! `mcp_tool_use`) have their results in the same message or the assistant's next one.

use serde_json::{Value, json};

use crate::transcript::formats::outputs::Output;
use crate::transcript::formats::{
    Claim, Fit, Format, PARTS, Place, REMOVE_ALL, SummaryMessage, SummaryRole, UNREAD_BLOCKS, block_types,
    bound_to_thoughts, common_block, content, id, present, role_and_name,
};
use crate::transcript::json::{Json, Object};
use crate::transcript::order::{Order, Results};
use crate::transcript::text::Text;
use crate::transcript::{Answer, Arguments, Call, CallPlace, Content, Message, PartKind, Rest, Role};

/// The format's row.
#[derive(Debug)]
pub(super) struct Anthropic;

impl Format for Anthropic {
    fn name(&self) -> &'static str {
        "anthropic"
    }

    fn about(&self) -> &'static str {
        "Messages API"
    }

    fn fit(&self, message: &Object<'_>) -> Fit {
        if role(message).is_none()
            || message.get("content").is_none()
            || present(message, "parts").is_some()
            || present(message, "tool_calls").is_some_and(|calls| !calls.is_falsy())
        {
            return Fit::Foreign;
        }
        let mut fit = Fit::Plain;
        for (block, kind) in block_types(message) {
            let Some(kind) = kind.filter(|kind| !UNREAD_BLOCKS.iter().any(|unread| kind.is(unread))) else {
                return Fit::Foreign;
            };
            if is_call(kind) || is_result(kind) {
                fit = Fit::Own("tool_use or tool_result blocks");
            } else if kind.is("thinking") && is_signed(block) || kind.is("redacted_thinking") {
                fit = Fit::Own("signed thinking blocks");
            } else if (kind.is("image") || kind.is("document")) && block.get("source").is_some() {
                fit = Fit::Own("media blocks with a source");
            } else if ["container_upload", "search_result", "compaction", "tool_addition"]
                .iter()
                .any(|own| kind.is(own))
            {
                fit = Fit::Own("its content blocks");
            }
        }
        fit
    }

    fn claim(&self, envelope: &Object<'_>) -> Claim {
        // A system message in front is what Chat Completions has, for models of all makers.
        let first = envelope.get("messages").and_then(|messages| messages.items().next());
        if first.and_then(|message| message.get_text("role")).is_some_and(|role| role.is("system")) {
            return Claim::None;
        }
        // Nor has it functions for tools. A cut takes calls away, and what a request offers stays.
        let mut tools = envelope.get("tools").into_iter().flat_map(|tools| tools.items()).map(Object::of);
        if tools.any(|tool| tool.get("function").is_some()) {
            return Claim::None;
        }
        let own = ["anthropic_version", "system", "stop_sequences"].iter().any(|key| envelope.get(key).is_some());
        let model = || envelope.get_text("model").is_some_and(|model| model.decode().starts_with("claude-"));
        if own || model() { Claim::Likely } else { Claim::None }
    }

    fn message<'a>(&self, message: &Object<'a>) -> Result<Message<'a>, String> {
        let json = message.json;
        let (role, role_name) = role_and_name(message, role(message))?;
        let mut calls = Vec::new();
        let mut answers = Vec::new();
        for (block, kind) in block_types(message) {
            let Some(kind) = kind else { continue };
            if is_call(kind) {
                calls.push(Call {
                    json: block,
                    id: id(block.get("id")),
                    name: block.get_text("name"),
                    arguments: block.get("input").map_or(Arguments::Absent, Arguments::Value),
                    place: CallPlace::Content,
                });
            } else if is_result(kind) {
                answers.push(Answer { json: block, id: id(block.get("tool_use_id")) });
            }
        }
        Ok(Message {
            role,
            content: content(message.get("content"), block),
            calls: calls.into(),
            answers: answers.into(),
            rest: Rest::of_role(role_name),
            ..Message::empty(json)
        })
    }

    fn output<'a>(&self, _message: &Message<'a>, answer: &Answer<'a>) -> Option<Output<'a>> {
        // What other tools of the server give has a form of its own.
        answer.json.get_text("type").filter(|kind| kind.is("tool_result") || kind.is("mcp_tool_result"))?;
        Output::in_content(answer.json, "text")
    }

    fn summary_roles(&self) -> &'static [SummaryRole] {
        &[SummaryRole::User]
    }

    fn summary(&self, summary: &SummaryMessage<'_>, _place: &Place<'_, '_>) -> Vec<Value> {
        vec![json!({"role": summary.role.name(), "content": summary.text})]
    }

    fn bound_by_thinking(&self) -> bool {
        true
    }

    fn bonds(&self, messages: &[Message<'_>]) -> Vec<(usize, usize)> {
        bound_to_thoughts(messages)
    }

    fn order(&self, _envelope: Option<&Object<'_>>, _messages: &[Message<'_>]) -> Order {
        // Messages of one speaker in a row are merged.
        Order { results_first: true, user_first: true, lenient: true, ..Order::of(Results::Grouped) }
    }

    fn result(&self, call: &Call<'_>, _calling: &Message<'_>, text: &str) -> Option<Value> {
        // The server answers its own.
        call.json.get_text("type").filter(|kind| kind.is("tool_use"))?;
        Some(json!({"type": "tool_result", "tool_use_id": call.id?.decode(), "content": text, "is_error": true}))
    }

    fn answering(&self) -> Option<Value> {
        Some(json!({"role": "user", "content": [PARTS]}))
    }

    fn remove_all(&self) -> Option<Value> {
        Some(json!({"role": "remove", "content": "", "id": REMOVE_ALL}))
    }
}

fn role(message: &Object<'_>) -> Option<Role> {
    let role = message.get_text("role")?;
    [("user", Role::User), ("assistant", Role::Assistant), ("system", Role::System)]
        .into_iter()
        .find(|(name, _)| role.is(name))
        .map(|(_, role)| role)
}

/// Whether a thinking block has a signature: other providers (Cohere) write the same block without one.
fn is_signed(block: Json<'_>) -> bool {
    block.get_text("signature").is_some()
}

fn is_call(kind: Text<'_>) -> bool {
    ["tool_use", "server_tool_use", "mcp_tool_use"].iter().any(|name| kind.is(name))
}

/// `tool_result`, `mcp_tool_result` and the results of server tools (`web_search_tool_result`, …).
fn is_result(kind: Text<'_>) -> bool {
    kind.decode().ends_with("tool_result")
}

fn block<'a>(json: Json<'a>, kind: Text<'a>) -> PartKind<'a> {
    if is_call(kind) {
        PartKind::Call
    } else if is_result(kind) {
        PartKind::Result(result_content(json))
    } else {
        common_block(json, kind)
    }
}

fn result_content(json: Json<'_>) -> Content<'_> {
    content(json.get("content"), common_block)
}

#[cfg(test)]
mod tests {
    use crate::transcript::framing::tests::read;

    #[test]
    fn functions_for_tools_are_of_chat_completions_whatever_was_cut() {
        let call = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"r"},"#;
        for cut in [call, ""] {
            let source = format!(
                r#"{{"model":"claude-opus-4-5","max_tokens":9,"tools":[{{"type":"function","function":{{"name":"f"}}}}],"messages":[{{"role":"user","content":"q"}},{cut}{{"role":"user","content":"u"}}]}}"#
            );
            let document = read(&source, None, None).expect("a transcript");
            assert_eq!(document.transcripts[0].format.name(), "openai-chat", "{source}");
        }
    }

    #[test]
    fn what_is_called_after_thinking_stays_with_it_in_the_last_turn() {
        let thinking = r#"{"type":"thinking","thinking":"t","signature":"s"}"#;
        let call = |id: &str| format!(r#"{{"type":"tool_use","id":"{id}","name":"f","input":{{}}}}"#);
        let step = |id: &str, before: &str| {
            format!(
                r#"{{"role":"assistant","content":[{before}{}]}},{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"{id}","content":"r"}}]}}"#,
                call(id)
            )
        };
        let user = r#"{"role":"user","content":"u"}"#;
        let thought = format!("{thinking},");
        let turn = format!("{user},{},{},{}", step("a", &thought), step("b", ""), step("c", &thought));
        let bonds = |source: &str| read(source, None, None).expect("a transcript").transcripts[0].bonds.clone();
        assert_eq!(bonds(&format!("[{turn}]")), [(1, 3)]);
        assert_eq!(bonds(&format!("[{turn},{user}]")), [], "thoughts of earlier turns may go");
    }
}
