//! Chat Completions messages and every clone of them.
//!
//! Roles system, developer, user, assistant, tool and function; calls in `tool_calls` (or the older `function_call`),
//! results in messages of role `tool` that name the call by `tool_call_id`. SWE-agent names a list, `tool_call_ids`, and
//! mini-swe-agent ends on a message of role `exit`.

use serde_json::{Value, json};

use super::super::json::{Json, Kind, Object};
use super::super::text::Text;
use super::super::{Answer, Arguments, Call, CallPlace, Message, PartKind, Reported, Role};
use super::{
    Claim, Fit, Format, Place, REMOVE_ALL, SummaryMessage, SummaryRole, UNREAD_BLOCKS, bedrock, block_types,
    common_block, content, id, inspect, name, ollama, present, provider, tau_bench,
};

/// The format's row.
#[derive(Debug)]
pub(super) struct OpenAiChat;

const ROLES: [(&str, Role); 9] = [
    ("system", Role::System),
    ("developer", Role::Developer),
    ("user", Role::User),
    ("human", Role::User),
    ("assistant", Role::Assistant),
    ("ai", Role::Assistant),
    ("tool", Role::Tool),
    ("function", Role::Function),
    ("exit", Role::Other),
];

/// Block types that no other format in the table has.
const OWN_BLOCKS: [&str; 5] = ["image_url", "input_audio", "refusal", "video_url", "tool_call"];

/// Block types of the Messages API, whose calls and results stand in the content.
const ANTHROPIC_BLOCKS: [&str; 3] = ["tool_use", "tool_result", "server_tool_use"];

impl Format for OpenAiChat {
    fn name(&self) -> &'static str {
        "openai-chat"
    }

    fn about(&self) -> &'static str {
        "Chat Completions messages and their clones (DeepSeek, Qwen, Mistral, Cohere v2, Groq, litellm)"
    }

    fn fit(&self, message: &Object<'_>) -> Fit {
        let Some(role) = role(message) else { return Fit::Foreign };
        let carries = ["content", "tool_calls", "function_call", "refusal", "audio", "reasoning_content"];
        if role != Role::Tool && !carries.iter().any(|key| message.get(key).is_some()) {
            return Fit::Foreign;
        }
        if is_of_another_format(message) {
            return Fit::Foreign;
        }
        if present(message, "tool_calls").is_some_and(|calls| !calls.is_falsy()) {
            return Fit::Own("tool_calls");
        }
        match role {
            // Ollama's results have no id.
            Role::Tool
                if ollama::names_tool(message)
                    || !["tool_call_id", "tool_call_ids"].iter().any(|key| message.get(key).is_some()) =>
            {
                return Fit::Plain;
            }
            Role::Tool => return Fit::Own("the role tool"),
            Role::Function => return Fit::Own("the role function"),
            Role::Developer => return Fit::Own("the role developer"),
            _ => {}
        }
        if present(message, "function_call").is_some() {
            return Fit::Own("function_call");
        }
        let own = |kind: Text<'_>| OWN_BLOCKS.iter().any(|own| kind.is(own));
        if block_types(message).any(|(_, kind)| kind.is_some_and(own)) {
            return Fit::Own("its content blocks");
        }
        if message.get_text("reasoning_content").is_some() {
            return Fit::Own("reasoning_content");
        }
        Fit::Plain
    }

    fn claim(&self, envelope: Json<'_>) -> Claim {
        let own = ["n", "response_format", "stream_options", "max_completion_tokens", "trajectory_format"];
        if own.iter().any(|key| envelope.get(key).is_some()) { Claim::Likely } else { Claim::None }
    }

    fn message<'a>(&self, message: &Object<'a>) -> Result<Message<'a>, String> {
        let json = message.json;
        if json.kind() != Kind::Object {
            return Err(format!("is {}, not an object with a role", json.kind().noun()));
        }
        let role = match (role(message), message.get_text("role")) {
            (Some(role), _) => role,
            (None, Some(_)) => Role::Other,
            (None, None) => return Err("has no role".to_owned()),
        };
        Ok(Message {
            json,
            role,
            role_name: message.get_text("role").filter(|_| role == Role::Other),
            name: name(message),
            content: content(message.get("content"), block),
            calls: calls(message),
            answers: answers(message, role),
            // LangChain takes no usage from such a message, but the provider's name.
            reported: Reported { total_tokens: None, provider: provider(message) },
            earlier: false,
        })
    }

    fn summary_roles(&self) -> &'static [SummaryRole] {
        &[SummaryRole::User, SummaryRole::System, SummaryRole::Assistant]
    }

    fn summary(&self, summary: &SummaryMessage<'_>, _place: &Place<'_, '_>) -> Vec<Value> {
        let mut message = json!({"role": summary.role.name(), "content": summary.text});
        if let Some(name) = summary.name {
            message["name"] = json!(name);
        }
        vec![message]
    }

    fn result(&self, call: &Call<'_>, _calling: &Message<'_>, text: &str) -> Option<Value> {
        match (call.place, call.id, call.name) {
            (CallPlace::FunctionCall, _, Some(name)) => {
                Some(json!({"role": "function", "name": name.decode(), "content": text}))
            }
            (_, Some(id), _) => Some(json!({"role": "tool", "tool_call_id": id.decode(), "content": text})),
            _ => None,
        }
    }

    fn remove_all(&self, _neighbour: Option<Json<'_>>) -> Option<Value> {
        Some(json!({"role": "remove", "content": "", "id": REMOVE_ALL}))
    }
}

/// Whether a message has what readers of this format would pass over: parts or calls of another format.
fn is_of_another_format(message: &Object<'_>) -> bool {
    let foreign = |kind: Text<'_>| ANTHROPIC_BLOCKS.iter().chain(&UNREAD_BLOCKS).any(|foreign| kind.is(foreign));
    // Bedrock's blocks have no type.
    let bedrock = |block: Json<'_>| bedrock::BLOCKS.iter().any(|key| block.get(key).is_some());
    let mut untyped = block_types(message).peekable();
    let foreign_call = |call: Json<'_>| inspect::is_call(call) || ollama::is_call(call);
    let is_result = message.get_text("role").is_some_and(|role| role.is("tool"));
    present(message, "tool_calls").is_some_and(|calls| calls.items().any(foreign_call))
        || tau_bench::is_of_tau2(message)
        || is_result && message.get_text("function").is_some()
        || ["parts", "toolInvocations"].iter().any(|key| present(message, key).is_some())
        || block_types(message).any(|(_, kind)| kind.is_some_and(foreign))
        || untyped.peek().is_some() && untyped.all(|(block, kind)| kind.is_none() && bedrock(block))
}

fn role(message: &Object<'_>) -> Option<Role> {
    let role = message.get_text("role")?;
    ROLES.iter().find(|(name, _)| role.is(name)).map(|(_, role)| *role)
}

/// Blocks of clones too: LLaMA-Factory spells text and reasoning `{"type": …, "value": …}`.
fn block<'a>(json: Json<'a>, kind: Text<'a>) -> PartKind<'a> {
    match (common_block(json, kind), json.get_text("value")) {
        (PartKind::Text(none), Some(text)) if none.is_empty() => PartKind::Text(text),
        (PartKind::Other, Some(text)) if kind.is("reasoning") => PartKind::Reasoning(text),
        (PartKind::Other, _) if kind.is("tool_call") => PartKind::Call,
        (kind, _) => kind,
    }
}

fn calls<'a>(message: &Object<'a>) -> Vec<Call<'a>> {
    let tool_calls = message.get("tool_calls").into_iter().flat_map(|calls| calls.items()).map(tool_call);
    let function_call = present(message, "function_call")
        .into_iter()
        .map(|function| Call { place: CallPlace::FunctionCall, ..function_call(None, function, function) });
    let in_content = block_types(message)
        .filter(|(_, kind)| kind.is_some_and(|kind| kind.is("tool_call")))
        .map(|(block, _)| call(block, None, None, block.get("value"), CallPlace::Content));
    tool_calls.chain(function_call).chain(in_content).collect()
}

fn tool_call(json: Json<'_>) -> Call<'_> {
    let id = id(json.get("id"));
    if let Some(function) = json.get("function").filter(|function| function.kind() == Kind::Object) {
        function_call(id, json, function)
    } else if let Some(custom) = json.get("custom") {
        call(json, id, custom.get_text("name"), custom.get("input"), CallPlace::List)
    } else {
        call(json, id, json.get_text("name"), json.get("args"), CallPlace::List)
    }
}

fn function_call<'a>(id: Option<Text<'a>>, json: Json<'a>, function: Json<'a>) -> Call<'a> {
    call(json, id, function.get_text("name"), function.get("arguments"), CallPlace::List)
}

fn call<'a>(
    json: Json<'a>,
    id: Option<Text<'a>>,
    name: Option<Text<'a>>,
    arguments: Option<Json<'a>>,
    place: CallPlace,
) -> Call<'a> {
    Call { json, id, name, arguments: Arguments::of(arguments), place }
}

fn answers<'a>(message: &Object<'a>, role: Role) -> Vec<Answer<'a>> {
    match role {
        Role::Tool => {
            let listed: Vec<Answer<'_>> = message
                .get("tool_call_ids")
                .into_iter()
                .flat_map(|ids| ids.items())
                .map(|value| Answer { json: message.json, id: id(Some(value)) })
                .collect();
            if listed.is_empty() {
                vec![Answer { json: message.json, id: id(message.get("tool_call_id")) }]
            } else {
                listed
            }
        }
        Role::Function => vec![Answer { json: message.json, id: None }],
        _ => Vec::new(),
    }
}
