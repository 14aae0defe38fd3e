//! Chat Completions messages and every clone of them.
//!
//! Roles system, developer, user, assistant, tool and function; calls in `tool_calls` (or the older `function_call`),
//! results in messages of role `tool` that name the call by `tool_call_id`. SWE-agent names a list, `tool_call_ids`, and
//! where it has no tools its users' messages say what came of the action before; mini-swe-agent ends on a message of role
//! `exit`. Mistral's models want user and model to take turns.

use serde_json::{Value, json};

use crate::transcript::formats::{
    Claim, Fit, Format, Place, REMOVE_ALL, SummaryMessage, SummaryRole, UNREAD_BLOCKS, bedrock, block_types,
    common_block, content, id, inspect, name, name_inside, ollama, present, provider, role_and_name, tau_bench,
    with_first,
};
use crate::transcript::json::{Json, Kind, Object};
use crate::transcript::order::{Order, Results};
use crate::transcript::text::Text;
use crate::transcript::{Answer, Arguments, Call, CallPlace, Message, PartKind, Rest, Role, Transcript};

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
pub(super) const ANTHROPIC_BLOCKS: [&str; 3] = ["tool_use", "tool_result", "server_tool_use"];

/// What names of Mistral's models begin with.
const MISTRAL: [&str; 7] = ["mistral", "mixtral", "magistral", "codestral", "devstral", "ministral", "pixtral"];

/// Where a request, or what is logged of one, names its model.
const MODEL: [&[&str]; 5] =
    [&["model"], &["body", "model"], &["request", "model"], &["request_params", "model"], &["kwargs", "model"]];

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
        if is_of_another_format(message) {
            return Fit::Foreign;
        }
        if role != Role::Tool && !carries.iter().any(|key| message.get(key).is_some()) {
            // Others may say nothing at all, and such a message may be all that is left of theirs.
            return Fit::Aside;
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

    fn claim(&self, envelope: &Object<'_>) -> Claim {
        let own = ["n", "response_format", "stream_options", "max_completion_tokens", "trajectory_format"];
        if own.iter().any(|key| envelope.get(key).is_some()) { Claim::Likely } else { Claim::None }
    }

    fn message<'a>(&self, message: &Object<'a>) -> Result<Message<'a>, String> {
        let json = message.json;
        let (role, role_name) = role_and_name(message, role(message))?;
        Ok(Message {
            role,
            content: content(message.get("content"), block),
            calls: calls(message),
            answers: answers(message, role),
            // LangChain takes no usage from such a message, but the provider's name.
            rest: Rest { role_name, name: name(message), total_tokens: None, provider: provider(message) }.boxed(),
            ..Message::empty(json)
        })
    }

    fn bonds(&self, messages: &[Message<'_>]) -> Vec<(usize, usize)> {
        let pairs = messages.windows(2).enumerate();
        pairs.filter(|(_, two)| is_exit(&two[1]) || is_observed(&two[0], &two[1])).map(|(at, _)| (at, at + 1)).collect()
    }

    fn order(&self, envelope: Option<&Object<'_>>, messages: &[Message<'_>]) -> Order {
        let order = Order::of(Results::Following);
        match is_for_mistral(envelope, messages) {
            true => Order { alternates: true, model_after_results: true, ..order },
            false => order,
        }
    }

    fn summary_roles(&self) -> &'static [SummaryRole] {
        &[SummaryRole::User, SummaryRole::System, SummaryRole::Assistant]
    }

    fn summary(&self, summary: &SummaryMessage<'_>, place: &Place<'_, '_>) -> Vec<Value> {
        let mut message = json!({"role": summary.role.name(), "content": summary.text});
        if let Some(name) = summary.name {
            message["name"] = json!(name);
        }
        // The mark stays, even where the summary is the last to have it.
        let Transcript { order, messages, .. } = place.transcript;
        if summary.role == SummaryRole::Assistant && order.alternates && ends_on_no_prefix(messages) {
            message["prefix"] = json!(false);
        }
        let Some(neighbour) = place.neighbour() else { return vec![message] };
        // LLaMA-Factory reads no string where it has parts, and SWE-agent no message that is of no agent.
        if neighbour.get("content").and_then(|parts| parts.items().next()?.get("value")).is_some() {
            message["content"] = json!([{"type": "text", "value": summary.text}]);
        }
        if let Some(agent) = neighbour.get_text("agent") {
            message["agent"] = json!(agent.decode());
            if neighbour.get("message_type").is_some() {
                message["message_type"] = json!("observation");
            }
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

    fn remove_all(&self) -> Option<Value> {
        Some(json!({"role": "remove", "content": "", "id": REMOVE_ALL}))
    }

    fn in_state(&self, message: &Object<'_>) -> Option<String> {
        // Chat Completions lets a message of calls leave its content out; langchain-core does not.
        message.get("content").is_none().then(|| with_first(message.json, "\"content\": null"))
    }
}

/// Whether a message has what readers of this format would pass over: parts or calls of another format.
fn is_of_another_format(message: &Object<'_>) -> bool {
    let foreign = |kind: Text<'_>| ANTHROPIC_BLOCKS.iter().chain(&UNREAD_BLOCKS).any(|foreign| kind.is(foreign));
    // Bedrock's blocks have no type.
    let bedrock = |block: Json<'_>| bedrock::BLOCKS.iter().any(|key| block.get(key).is_some());
    let mut untyped = block_types(message).peekable();
    let foreign_call =
        |call: &Object<'_>| inspect::is_call(call) || ollama::is_call(call) || tau_bench::is_call(call.json);
    let is_result = message.get_text("role").is_some_and(|role| role.is("tool"));
    present(message, "tool_calls").is_some_and(|calls| calls.items().any(|call| foreign_call(&Object::of(call))))
        || tau_bench::is_marked(message)
        || is_result && message.get_text("function").is_some()
        || ["parts", "toolInvocations"].iter().any(|key| present(message, key).is_some())
        || block_types(message).any(|(_, kind)| kind.is_some_and(foreign))
        || untyped.peek().is_some() && untyped.all(|(block, kind)| kind.is_none() && bedrock(block))
}

/// Whether a message only says that the run is over; no model is sent it.
fn is_exit(message: &Message<'_>) -> bool {
    message.rest().role_name.is_some_and(|role| role.is("exit"))
}

/// Whether the second of two messages says what came of the action in the first: SWE-agent's, in the user's name.
fn is_observed(action: &Message<'_>, observation: &Message<'_>) -> bool {
    let is_agents = |json: Json<'_>| {
        json.get_text("message_type").is_some_and(|kind| kind.is("observation")) || json.get_text("agent").is_some()
    };
    (action.role, observation.role) == (Role::Assistant, Role::User)
        && is_agents(observation.json)
        && action.json.get_text("action").is_some()
}

/// Whether the model is one of Mistral's: by its name, or by `"prefix": false`, which only its answers have. The last
/// answer tells, for it is the last to be summarized: what is left of a conversation is read as the whole was.
fn is_for_mistral(envelope: Option<&Object<'_>>, messages: &[Message<'_>]) -> bool {
    let model = envelope.and_then(|envelope| MODEL.iter().find_map(|path| envelope.at(path)?.text()));
    match model.map(|model| model.decode().to_lowercase()) {
        Some(model) => MISTRAL.iter().any(|name| model.contains(name)),
        None => ends_on_no_prefix(messages),
    }
}

/// Whether the last of the model's messages says `"prefix": false`; one at the end that the model is to go on with says
/// that it is one, which others have, too.
fn ends_on_no_prefix(messages: &[Message<'_>]) -> bool {
    let says =
        |message: &Message<'_>, spelled: &str| message.json.get("prefix").is_some_and(|prefix| prefix.raw() == spelled);
    let before = match messages {
        [before @ .., last] if says(last, "true") => before,
        all => all,
    };
    before.iter().rfind(|message| message.role == Role::Assistant).is_some_and(|answer| says(answer, "false"))
}

fn role(message: &Object<'_>) -> Option<Role> {
    let role = message.get_text("role")?;
    ROLES.iter().find(|(name, _)| role.is(name)).map(|(_, role)| *role)
}

/// Blocks of clones too: LLaMA-Factory spells text and reasoning `{"type": …, "value": …}`.
fn block<'a>(json: Json<'a>, kind: Text<'a>) -> PartKind<'a> {
    match (common_block(json, kind), json.get_text("value")) {
        (PartKind::Foreign(_), Some(text)) if kind.is("text") => PartKind::Text(text),
        (PartKind::Other, Some(text)) if kind.is("reasoning") => PartKind::Reasoning(text),
        (PartKind::Foreign(_), _) if kind.is("tool_call") => PartKind::Call,
        (kind, _) => kind,
    }
}

fn calls<'a>(message: &Object<'a>) -> Box<[Call<'a>]> {
    let tool_calls = message.get("tool_calls").into_iter().flat_map(|calls| calls.items()).map(tool_call);
    let function_call = present(message, "function_call")
        .into_iter()
        .map(|function| Call { place: CallPlace::FunctionCall, ..function_call(None, function, function) });
    let in_content =
        block_types(message).filter(|(_, kind)| kind.is_some_and(|kind| kind.is("tool_call"))).map(|(block, _)| {
            let value = block.get("value");
            call(block, None, value.and_then(name_inside), value, CallPlace::Content)
        });
    // Beside others they are copies.
    let calls: Box<[Call<'a>]> = tool_calls.chain(function_call).collect();
    if calls.is_empty() { in_content.collect() } else { calls }
}

fn tool_call(json: Json<'_>) -> Call<'_> {
    let members = Object::of(json);
    let id = id(members.get("id"));
    if let Some(function) = members.get("function").filter(|function| function.kind() == Kind::Object) {
        function_call(id, json, function)
    } else if let Some(custom) = members.get("custom") {
        call(json, id, custom.get_text("name"), custom.get("input"), CallPlace::List)
    } else {
        call(json, id, members.get_text("name"), members.get("args"), CallPlace::List)
    }
}

fn function_call<'a>(id: Option<Text<'a>>, json: Json<'a>, function: Json<'a>) -> Call<'a> {
    let function = Object::of(function);
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

fn answers<'a>(message: &Object<'a>, role: Role) -> Box<[Answer<'a>]> {
    let listed = || message.get("tool_call_ids").into_iter().flat_map(|ids| ids.items());
    match role {
        Role::Tool if listed().next().is_some() => {
            listed().map(|value| Answer { json: value, id: id(Some(value)) }).collect()
        }
        Role::Tool => Box::new([Answer { json: message.json, id: id(message.get("tool_call_id")) }]),
        Role::Function => Box::new([Answer { json: message.json, id: None }]),
        _ => Box::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Format, OpenAiChat, Place, SummaryMessage, SummaryRole};
    use crate::transcript::framing::tests::read;

    #[test]
    fn calls_in_the_content_and_results_without_ids() {
        let source = r#"[{"role":"user","content":[{"type":"text","value":"u"}]},
            {"role":"assistant","content":[{"type":"reasoning","value":"hm"},{"type":"tool_call","value":"{\"name\": \"f\", \"arguments\": {}}"},{"type":"tool_call","value":"{\"name\":\"g\"}"}]},
            {"role":"tool","content":[{"type":"text","value":"1"}]},{"role":"tool","content":[{"type":"text","value":"2"}]},
            {"role":"assistant","content":[{"type":"text","value":"a"}],"loss_weight":1.0}]"#;
        let document = read(source, None, None).expect("a transcript");
        let transcript = &document.transcripts[0];
        assert_eq!(transcript.format.name(), "openai-chat");
        let pairing = &transcript.pairing;
        assert_eq!(pairing.bonds, [(1, 2), (1, 3)]);
        assert!(pairing.unanswered.is_empty() && !pairing.orphaned.contains(&true));
        let names: Vec<String> =
            transcript.messages[1].calls.iter().filter_map(|call| Some(call.name?.decode().into_owned())).collect();
        assert_eq!(names, ["f", "g"]);
    }

    #[test]
    fn actions_stay_with_what_came_of_them_and_nothing_ends_on_an_exit_alone() {
        let source = r#"{"history":[{"role":"system","content":"s","agent":"main","message_type":"system_prompt"},
            {"role":"user","content":"u","agent":"main","message_type":"observation"},
            {"role":"assistant","content":"t","agent":"main","action":"ls","message_type":"action"},
            {"role":"user","content":"a.rs","agent":"main","message_type":"observation"},
            {"role":"assistant","content":"t","agent":"main","action":"cat","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},
            {"role":"tool","content":"r","agent":"main","tool_call_ids":["a"]}]}"#;
        let document = read(source, None, None).expect("a transcript");
        let transcript = &document.transcripts[0];
        assert_eq!(
            (transcript.bonds.as_slice(), transcript.pairing.bonds.as_slice()),
            ([(2, 3)].as_slice(), [(4, 5)].as_slice())
        );
        let exit = r#"[{"role":"user","content":"u"},{"role":"assistant","content":"a"},{"role":"exit","content":""}]"#;
        assert_eq!(read(exit, None, None).expect("a transcript").transcripts[0].bonds, [(1, 2)]);
    }

    #[test]
    fn a_summary_has_what_its_readers_ask_for() {
        let written_as = |role: SummaryRole, source: &str| {
            let document = read(source, None, None).expect("a transcript");
            let summary = SummaryMessage { text: "s", role, name: None, marked: false };
            OpenAiChat.summary(&summary, &Place { transcript: &document.transcripts[0], cutoff: 0, gone: &Vec::new })[0]
                .to_string()
        };
        let written = |source: &str| written_as(SummaryRole::User, source);
        assert_eq!(written(r#"[{"role":"user","content":"u"}]"#), r#"{"role":"user","content":"s"}"#);
        assert_eq!(
            written(r#"[{"role":"user","content":[{"type":"text","value":"u"}]}]"#),
            r#"{"role":"user","content":[{"type":"text","value":"s"}]}"#
        );
        assert_eq!(
            written(r#"[{"role":"user","content":"u","agent":"main","message_type":"action"}]"#),
            r#"{"role":"user","content":"s","agent":"main","message_type":"observation"}"#
        );
        let of_mistral = r#"[{"role":"user","content":"u"},{"role":"assistant","content":"a","prefix":false}]"#;
        assert_eq!(written(of_mistral), r#"{"role":"user","content":"s"}"#);
        assert_eq!(
            written_as(SummaryRole::Assistant, of_mistral),
            r#"{"role":"assistant","content":"s","prefix":false}"#
        );
        let of_another = format!(r#"{{"model":"gpt-5","messages":{of_mistral}}}"#);
        assert_eq!(written_as(SummaryRole::Assistant, &of_another), r#"{"role":"assistant","content":"s"}"#);
    }

    #[test]
    fn mistral_is_told_by_its_model_or_its_answers() {
        let alternates = |source: &str| read(source, None, None).expect("a transcript").transcripts[0].order.alternates;
        let messages = r#"[{"role":"user","content":"u"},{"role":"assistant","content":"a"}]"#;
        assert!(alternates(&format!(r#"{{"model":"Mistral-large-latest","messages":{messages}}}"#)));
        assert!(alternates(&format!(
            r#"{{"custom_id":"1","body":{{"model":"open-mixtral-8x7b","messages":{messages}}}}}"#
        )));
        assert!(!alternates(&format!(r#"{{"model":"gpt-5","messages":{messages}}}"#)));
        assert!(alternates(&messages.replace(r#""content":"a""#, r#""content":"a","prefix":false"#)));
        assert!(!alternates(&messages.replace(r#""content":"a""#, r#""content":"a","prefix":true"#)));
        // A mark that a summary would take with it tells nothing.
        let marked = r#"[{"role":"assistant","content":"a","prefix":false},{"role":"assistant","content":"b"}]"#;
        assert!(!alternates(marked));
        // What the model is to go on with tells nothing either, and hides nothing.
        let going_on = r#"[{"role":"assistant","content":"a","prefix":false},{"role":"user","content":"u"},{"role":"assistant","content":"It","prefix":true}]"#;
        assert!(alternates(going_on));
    }
}
