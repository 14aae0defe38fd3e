//! Gemini's `contents`: messages of parts.
//!
//! Roles user, model and (in old files) function; a message without a role is the user's. Calls are `functionCall` parts,
//! results are `functionResponse` parts of the next message; ids are optional, and without them the results follow the
//! order of the calls. Python writes the keys with underscores.

use serde_json::{Value, json};

use crate::transcript::foreign;
use crate::transcript::formats::outputs::{Output, Shape};
use crate::transcript::formats::{
    Claim, Fit, Format, PARTS, Place, SummaryMessage, SummaryRole, begins_with, id, present, said,
};
use crate::transcript::json::{Json, Kind, Object};
use crate::transcript::order::{Order, Results};
use crate::transcript::{Answer, Arguments, Call, CallPlace, Content, Message, Part, PartKind, Rest, Role};

/// The format's row.
#[derive(Debug)]
pub(super) struct Gemini;

/// What a part can hold, as REST spells it.
const KEYS: [&str; 9] = [
    "text",
    "functionCall",
    "functionResponse",
    "inlineData",
    "fileData",
    "executableCode",
    "codeExecutionResult",
    "toolCall",
    "toolResponse",
];

impl Format for Gemini {
    fn name(&self) -> &'static str {
        "gemini"
    }

    fn about(&self) -> &'static str {
        "contents of parts, as generateContent takes them"
    }

    fn fit(&self, message: &Object<'_>) -> Fit {
        let Some(parts) = parts(message) else {
            // A model that said nothing has no parts, and then its role says whose it is.
            let silent = present(message, "parts").is_none() && present(message, "content").is_none();
            let is_model = message.get_text("role").is_some_and(|role| role.is("model"));
            return if silent && is_model { Fit::Plain } else { Fit::Foreign };
        };
        let known = |part: Json<'_>| {
            ["type", "kind"].iter().all(|key| part.get(key).is_none())
                && KEYS.iter().chain(&["thoughtSignature"]).any(|key| held(part, key).is_some())
        };
        match role(message) {
            Some(_) if parts.items().next().is_none() => Fit::Plain,
            Some(_) if parts.items().all(known) => Fit::Own("parts"),
            _ => Fit::Foreign,
        }
    }

    fn claim(&self, envelope: &Object<'_>) -> Claim {
        if envelope.get("contents").is_some() { Claim::Likely } else { Claim::None }
    }

    fn message<'a>(&self, message: &Object<'a>) -> Result<Message<'a>, String> {
        let json = message.json;
        if json.kind() != Kind::Object {
            return Err(format!("is {}, not an object with parts", json.kind().noun()));
        }
        if parts(message).is_none() && present(message, "parts").is_some() {
            return Err("has no list of parts".to_owned());
        }
        let parts: Vec<Json<'a>> = parts(message).into_iter().flat_map(|parts| parts.items()).collect();
        let all = |key| parts.iter().filter_map(move |part| held(*part, key).map(|held| (*part, held)));
        let (calls, answers) = (all("functionCall"), all("functionResponse"));
        Ok(Message {
            role: role(message).unwrap_or(Role::Other),
            calls: calls.map(call).collect(),
            answers: answers.map(|answer| Answer { json: answer.0, id: id(answer.1.get("id")) }).collect(),
            content: Content::of_parts(parts.iter().map(|json| Part { json: *json, kind: part(*json) }).collect()),
            rest: Rest::of_role(message.get_text("role").filter(|_| role(message).is_none())),
            ..Message::empty(json)
        })
    }

    fn output<'a>(&self, _message: &Message<'a>, answer: &Answer<'a>) -> Option<Output<'a>> {
        output(answer.json)
    }

    fn text_block(&self, _part: Json<'_>, text: &str) -> Option<Value> {
        Some(json!({"text": text}))
    }

    fn summary_roles(&self) -> &'static [SummaryRole] {
        &[SummaryRole::User]
    }

    fn order(&self, _envelope: Option<&Object<'_>>, _messages: &[Message<'_>]) -> Order {
        Order { user_first: true, calls_after_user: true, lenient: true, ..Order::of(Results::Grouped) }
    }

    fn summary(&self, summary: &SummaryMessage<'_>, place: &Place<'_, '_>) -> Vec<Value> {
        let role = if summary.role == SummaryRole::Assistant { "model" } else { "user" };
        let parts = json!([{"text": summary.text}]);
        // The order of the keys is the neighbour's.
        let parts_first = begins_with("parts", place.neighbour());
        let message =
            if parts_first { json!({"parts": parts, "role": role}) } else { json!({"role": role, "parts": parts}) };
        vec![message]
    }

    fn result(&self, call: &Call<'_>, _calling: &Message<'_>, text: &str) -> Option<Value> {
        let mut response = json!({"name": call.name?.decode(), "response": {"error": text}});
        if let Some(id) = call.id {
            response["id"] = json!(id.decode());
        }
        Some(json!({"functionResponse": response}))
    }

    fn answering(&self) -> Option<Value> {
        Some(json!({"role": "user", "parts": [PARTS]}))
    }
}

fn parts<'a>(message: &Object<'a>) -> Option<Json<'a>> {
    message.get("parts").filter(|parts| parts.kind() == Kind::Array)
}

fn role(message: &Object<'_>) -> Option<Role> {
    let Some(role) = present(message, "role") else { return Some(Role::User) };
    let role = role.text()?;
    [("user", Role::User), ("function", Role::User), ("model", Role::Assistant)]
        .into_iter()
        .find(|(name, _)| role.is(name))
        .map(|(_, role)| role)
}

/// The member that REST calls `key` and Python the same with underscores; Python writes null for what is not there.
fn held<'a>(part: Json<'a>, key: &str) -> Option<Json<'a>> {
    let value = |key: &str| part.get(key).filter(|value| value.kind() != Kind::Null);
    value(key).or_else(|| {
        let with_underscores =
            key.chars().flat_map(|c| [c.is_ascii_uppercase().then_some('_'), Some(c.to_ascii_lowercase())]);
        value(&with_underscores.flatten().collect::<String>())
    })
}

fn call<'a>((part, json): (Json<'a>, Json<'a>)) -> Call<'a> {
    Call {
        json: part,
        id: id(json.get("id")),
        name: json.get_text("name"),
        arguments: json.get("args").map_or(Arguments::Absent, Arguments::Value),
        place: CallPlace::Content,
    }
}

/// The response that a part holds, and the media beside it.
pub(super) fn output<'a>(part: Json<'a>) -> Option<Output<'a>> {
    let answer = held(part, "functionResponse")?;
    let response = held(answer, "response")?;
    let failed = response.get("error").is_some_and(|error| !error.is_falsy());
    let output = Output::of(Some(response), Shape::Object)?.failing(failed);
    Some(output.copied(held(answer, "parts")))
}

pub(super) fn part(json: Json<'_>) -> PartKind<'_> {
    if let Some(text) = json.get_text("text") {
        let is_thought = json.get("thought").is_some_and(|thought| thought.raw() == "true");
        return if is_thought { PartKind::Reasoning(text) } else { PartKind::Text(text) };
    }
    if held(json, "functionCall").is_some() {
        return PartKind::Call;
    }
    if let Some(answer) = held(json, "functionResponse") {
        let response = held(answer, "response").map(|json| Part { json, kind: said(json) });
        let media = held(answer, "parts").into_iter().flat_map(|parts| parts.items());
        let parts = response.into_iter().chain(media.map(|json| Part { json, kind: part(json) }));
        return PartKind::Result(Content::of_parts(parts.collect()));
    }
    // The address of a file is short, and what a model may need to find it again.
    if let Some(address) = held(json, "fileData").and_then(|file| held(file, "fileUri")).and_then(|uri| uri.text()) {
        return PartKind::Text(address);
    }
    let data = held(json, "inlineData").or_else(|| held(json, "fileData"));
    match data.map(|data| held(data, "mimeType").and_then(|kind| kind.text())) {
        Some(Some(kind)) if kind.decode().starts_with("image/") => PartKind::Image,
        Some(_) => PartKind::Media,
        // Code that the model ran, calls that the server answered: theirs to be read, whatever their fields.
        None => match KEYS.iter().find_map(|key| held(json, key)) {
            Some(value) => said(value),
            None if held(json, "thoughtSignature").is_some() => PartKind::Other,
            None => foreign::part(json),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::buffer::Buffer;
    use crate::transcript::framing::tests::read;

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
            assert_eq!(transcript.format.name(), "gemini");
            assert_eq!(transcript.pairing.bonds, [(1, 2), (1, 2)]);
            assert_eq!([0, 1, 2].map(|index| messages[index].role), [Role::User, Role::Assistant, Role::User]);
            assert_eq!([0, 2].map(|index| messages[index].is_user_turn()), [true, false]);
            let texts: Vec<String> =
                messages[2].content.texts().iter().map(|text| text.decode().into_owned()).collect();
            assert_eq!(texts, ["a\nb", r#"{"output":"c","n":1.50}"#]);
            assert_eq!(Buffer::RoleAndContent.write(&messages[..1]), "human: u");
            assert!(messages[1].content.texts().is_empty(), "thoughts are not said");
        }
    }

    #[test]
    fn a_model_that_said_nothing_is_read_all_the_same() {
        let source = r#"[{"role":"user","parts":[{"text":"u"}]},{"role":"model"},{"role":"model","parts":null},
            {"role":"model","parts":[{"thoughtSignature":"s"}]}]"#;
        let document = read(source, None, None).expect("a transcript");
        assert_eq!(document.transcripts[0].format.name(), "gemini");
        assert_eq!(document.transcripts[0].messages.len(), 4);
    }

    #[test]
    fn what_a_result_holds_besides_its_response_is_named() {
        let source = r#"[{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":"o"},
            "parts":[{"inlineData":{"mimeType":"image/png","data":"AAAA"}}]}},{"fileData":{"fileUri":"gs://a/b","mimeType":"text/plain"}}]}]"#;
        let document = read(source, None, None).expect("a transcript");
        let shown = Buffer::Own.write(&document.transcripts[0].messages);
        assert!(shown.contains("\no\n[data, ") && shown.contains("gs://a/b"), "{shown}");
    }

    #[test]
    fn a_summary_is_written_as_its_neighbours_are() {
        let summary = SummaryMessage { text: "s", role: SummaryRole::User, name: None, marked: false };
        let written = |neighbour: &str| {
            let document = read(neighbour, None, None).expect("a transcript");
            let place = Place { transcript: &document.transcripts[0], cutoff: 0, gone: &Vec::new };
            Gemini.summary(&summary, &place)[0].to_string()
        };
        assert_eq!(written(r#"[{"parts":[{"text":"u"}],"role":"user"}]"#), r#"{"parts":[{"text":"s"}],"role":"user"}"#);
        assert_eq!(written(r#"[{"role":"user","parts":[{"text":"u"}]}]"#), r#"{"role":"user","parts":[{"text":"s"}]}"#);
    }
}
