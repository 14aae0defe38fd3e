//! Messages of Bedrock's Converse API.
//!
//! Roles are user and assistant. Content is always a list of blocks, each an object whose single key gives its kind.
//! Calls are `toolUse` blocks, results are `toolResult` blocks of the next user message or, if the server runs the
//! tool, of the assistant's own. User and assistant alternate, and the user begins.

use serde_json::{Value, json};

use crate::foreign;
use crate::format::{EnvelopeRule, Format, Hooks, InsertionPoint, MatchScore, NewResult, SummaryMessage, TextBlock};
use crate::formats::shared::blocks::{KEYS, has_key, output_text, reasoning};
use crate::formats::shared::fields::{after_thinking, begins_with, call_part, check_object, copied, id, role_of};
use crate::json::{Json, JsonKind, Object};
use crate::media::MediaKind;
use crate::message::{Call, Content, Message, Part, PartKind, RareFields, ResultRef, Role};
use crate::order::{MessageOrder, OrderRule, ResultPlacement, Spelling, Texts};
use crate::outputs::CallOutput;

const ROLES: [(&str, Role); 2] = [("user", Role::User), ("assistant", Role::Assistant)];

/// The format's row.
pub(super) static FORMAT: Format = Format {
    name: "bedrock",
    about: "messages as Bedrock's Converse takes them",
    envelope: &[EnvelopeRule::likely(&["toolConfig", "inferenceConfig"])],
    order: OrderRule::Always(MessageOrder {
        user_first: true,
        alternates: true,
        unique_ids: true,
        texts: Texts::NotBlank,
        call_ids: Spelling::Id(64),
        tool_names: Spelling::Word(64),
        object_inputs: true,
        few_marks: true,
        groups_by_thinking: true,
        ..MessageOrder::of(ResultPlacement::Next)
    }),
    results_message: Some(r#"{"role":"user","content":["…"]}"#),
    text_block: TextBlock::Bare,
    hooks: Hooks { match_score, read, groups, result_output, write_summary, write_result, ..Hooks::NONE },
    ..Format::DEFAULT
};

fn match_score(message: &Object<'_>) -> MatchScore {
    let content = message.get("content").filter(|content| content.kind() == JsonKind::Array);
    let (Some(content), Some(_)) = (content, role_of(&ROLES, message)) else { return MatchScore::Mismatch };
    if content.items().next().is_none() {
        return MatchScore::Plain;
    }
    let mut score = MatchScore::Neutral;
    for block in content.items() {
        if block.get("type").is_none() && has_key(block) {
            score = MatchScore::Own("blocks that have no type");
        } else if !is_of_unknown_kind(block) {
            return MatchScore::Mismatch;
        }
    }
    score
}

/// Whether a block has one key that is not known, and that names neither a call nor a result.
fn is_of_unknown_kind(block: Json<'_>) -> bool {
    let mut entries = block.entries();
    let has_one_object = entries.next().is_some_and(|(_, value)| value.kind() == JsonKind::Object);
    has_one_object && entries.next().is_none() && !foreign::could_be_call_or_result(block)
}

fn read<'a>(message: &Object<'a>) -> Result<Message<'a>, String> {
    let json = message.json;
    check_object(json, "an object with a role")?;
    let Some(blocks) = message.get("content").filter(|content| content.kind() == JsonKind::Array) else {
        return Err("has no list of blocks".to_owned());
    };
    let mut calls = Vec::new();
    let mut results = Vec::new();
    for block in blocks.items() {
        if let Some(call) = block.get("toolUse") {
            calls.push(call_part(block, call, ["toolUseId", "name", "input"]));
        }
        if let Some(result) = block.get("toolResult") {
            results.push(ResultRef::new(block, id(result.get("toolUseId"))));
        }
    }
    let role = role_of(&ROLES, message);
    Ok(Message {
        role: role.unwrap_or(Role::Other),
        calls: calls.into(),
        results: results.into(),
        content: parts(blocks),
        rest: RareFields::of_role(if role.is_none() { message.get_text("role") } else { None }),
        ..Message::empty(json)
    })
}

fn groups(messages: &[Message<'_>]) -> Vec<(usize, usize)> {
    after_thinking(messages)
}

fn result_output<'a>(_message: &Message<'a>, answer: &ResultRef<'a>) -> Option<CallOutput<'a>> {
    CallOutput::in_content(answer.json.get("toolResult")?, "")
}

fn write_summary(summary: &SummaryMessage<'_>, at: &InsertionPoint<'_, '_>) -> Vec<Value> {
    let mut content = json!([{"text": summary.text}]);
    if let (Some(mark), Some(blocks)) = (at.mark(), content.as_array_mut()) {
        blocks.push(copied(mark));
    }
    vec![if begins_with("content", at.neighbour()) {
        json!({"content": content, "role": summary.role.name()})
    } else {
        json!({"role": summary.role.name(), "content": content})
    }]
}

fn write_result(call: &Call<'_>, _calling: &Message<'_>, text: &str) -> Option<NewResult> {
    let content = json!([{"text": text}]);
    Some(NewResult::Entry(
        json!({"toolResult": {"toolUseId": call.id?.decode(), "content": content, "status": "error"}}),
    ))
}

fn parts(blocks: Json<'_>) -> Content<'_> {
    Content::of_parts(blocks.items().map(|json| Part { json, kind: block(json) }).collect())
}

fn block(json: Json<'_>) -> PartKind<'_> {
    let Some((key, value)) = KEYS.split('|').find_map(|key| Some((key, json.get(key)?))) else {
        return foreign::part(json);
    };
    match key {
        "text" => foreign::text_part(json, "text"),
        "toolUse" => PartKind::Call,
        "toolResult" => PartKind::Result(value.get("content").map_or_else(Content::empty, parts)),
        "reasoningContent" => reasoning(json),
        kind @ ("image" | "document" | "video" | "audio") => PartKind::Media(MediaKind::of_block(value, kind)),
        "guardContent" => {
            value.at(&["text", "text"]).and_then(|text| text.text()).map_or(PartKind::Other, PartKind::Text)
        }
        "citationsContent" => value.get("content").map_or(PartKind::Other, output_text),
        "json" | "searchResult" => output_text(value),
        _ => PartKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use crate::framing::read_for_test as read;

    #[test]
    fn calls_and_results_in_blocks_are_paired() {
        let source = r#"{"toolConfig":{},"messages":[
            {"role":"user","content":[{"text":"u"},{"image":{"format":"png","source":{"bytes":"AA=="}}},{"cachePoint":{"type":"default"}}]},
            {"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"hm","signature":"s"}}},{"toolUse":{"toolUseId":"a","name":"f","input":{}}}]},
            {"role":"user","content":[{"toolResult":{"toolUseId":"a","content":[{"text":"r"},{"json":{"n":1.50}}],"status":"success"}}]},
            {"role":"assistant","content":[{"toolUse":{"toolUseId":"s","name":"g","input":{},"type":"server_tool_use"}},{"toolResult":{"toolUseId":"s","content":[{"text":"q"}]}},{"text":"t"}]}]}"#;
        let document = read(source, None, None).expect("a transcript");
        let transcript = &document.transcripts[0];
        let messages = &transcript.messages;
        assert_eq!(transcript.format.name, "bedrock");
        let pairing = &transcript.pairing;
        assert_eq!(pairing.pairs, [(1, 2)]);
        assert!(pairing.unanswered.is_empty() && !pairing.orphaned.contains(&true));
        assert_eq!([0, 2].map(|index| messages[index].is_user_turn()), [true, false]);
        let texts = |index: usize| -> Vec<String> {
            messages[index].content.texts().iter().map(|text| text.decode().into_owned()).collect()
        };
        assert_eq!((texts(0), texts(1)), (vec!["u".to_owned()], Vec::new()));
        assert_eq!((texts(2).join("|"), texts(3).join("|")), (r#"r|{"n":1.50}"#.to_owned(), "q|t".to_owned()));
    }

    #[test]
    fn blocks_with_a_type_are_not_bedrocks() {
        for other in [
            r#"[{"role":"user","content":"u"}]"#,
            r#"[{"role":"user","content":[{"type":"text","text":"u"}]}]"#,
            r#"[{"role":"user","parts":[{"text":"u"}]}]"#,
        ] {
            assert_ne!(read(other, None, None).expect("a transcript").transcripts[0].format.name, "bedrock");
        }
        let bare = r#"[{"role":"user","content":[{"text":"u"}]}]"#;
        assert_eq!(read(bare, None, None).expect("a transcript").transcripts[0].format.name, "bedrock");
    }
}
