//! What a request sends beside its messages: tools, system texts, instructions, and the format of the answer.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::format::{SentBeside, Transcript};
use crate::json::{Json, JsonKind, Object};
use crate::text::Text;

/// A value that is sent beside the messages.
#[derive(Debug, Clone, Copy)]
pub enum Beside<'a> {
    /// Words for the model.
    Text(Text<'a>),
    /// JSON that the model reads in some form: its tools, a schema.
    Json(Json<'a>),
}

/// The members with words: strings, blocks with a `text`, or an object around such blocks.
const TEXTS: [&[&str]; 6] = [
    &["system"],
    &["instructions"],
    &["systemInstruction"],
    &["system_instruction"],
    &["system_prompt"],
    &["preamble"],
];

/// The members with JSON, by the APIs of all formats.
const VALUES: [&[&str]; 14] = [
    &["tools"],
    &["functions"],
    &["toolConfig", "tools"],
    &["tool_config", "tools"],
    &["response_format"],
    &["responseFormat"],
    &["text", "format"],
    &["output_format"],
    &["output_config", "format"],
    &["format"],
    &["generationConfig", "responseSchema"],
    &["generationConfig", "responseJsonSchema"],
    &["generation_config", "response_schema"],
    &["generation_config", "response_json_schema"],
];

/// What a conversation's requests send beside its messages, as far as its source has that. A system text that is one of
/// the messages, too, is left out.
pub fn beside<'a>(transcript: &Transcript<'a>) -> Vec<Beside<'a>> {
    let mut found = Vec::new();
    // The object with the list is the request; logs can have it inside another one. Each is walked through once, as it
    // has all messages.
    let holders = [transcript.state.map(Object::of), transcript.envelope.map(Object::of)];
    for path in TEXTS {
        if let Some(value) = value_at(&holders, path) {
            found.extend(texts(value).into_iter().map(Beside::Text));
        }
    }
    let entry = entry_with_request(transcript);
    if let Some((entry, sent)) = entry
        && let Some(instructions) = entry.at(sent.text)
        && let Some(text) = instructions.text()
    {
        found.push(Beside::Text(text));
    }
    if !found.is_empty() {
        let said = system_texts(transcript);
        found.retain(|value| !matches!(value, Beside::Text(text) if said.contains(&text.decode())));
    }
    for path in VALUES {
        add_value(value_at(&holders, path), &mut found);
    }
    if let Some((entry, sent)) = entry {
        add_value(entry.at(sent.tools), &mut found);
    }
    // Some datasets have their tools as JSON in a string.
    if let Some(tools) = value_at(&holders, &["tools"])
        && let Some(text) = tools.text()
    {
        found.push(Beside::Text(text));
    }
    found
}

/// The texts of the system messages with which a conversation begins.
fn system_texts<'a>(transcript: &Transcript<'a>) -> HashSet<Cow<'a, str>> {
    let mut said = HashSet::new();
    for message in &transcript.messages {
        if !message.role.is_system() {
            break;
        }
        for text in message.content.texts() {
            said.insert(text.decode());
        }
    }
    said
}

/// Adds a value, if it is a list or an object.
fn add_value<'a>(value: Option<Json<'a>>, found: &mut Vec<Beside<'a>>) {
    if let Some(value) = value
        && matches!(value.kind(), JsonKind::Array | JsonKind::Object)
    {
        found.push(Beside::Json(value));
    }
}

/// The value at a path of the first of some objects that has one.
fn value_at<'a>(holders: &[Option<Object<'a>>], path: &[&str]) -> Option<Json<'a>> {
    for holder in holders.iter().flatten() {
        if let Some(value) = holder.at(path)
            && !value.is_falsy()
        {
            return Some(value);
        }
    }
    None
}

/// Whether a member of an object around the messages holds what requests send beside them.
pub(crate) fn is_sent(key: &str) -> bool {
    TEXTS.iter().chain(&VALUES).any(|path| path[0] == key)
}

/// The words in a string, in a block or in several, or in the `parts` of an object.
fn texts(value: Json<'_>) -> Vec<Text<'_>> {
    let value = value.get("parts").unwrap_or(value);
    words(value).into_iter().chain(value.items().filter_map(words)).collect()
}

fn words(block: Json<'_>) -> Option<Text<'_>> {
    block.text().or_else(|| block.get_text("text"))
}

/// The last entry that says what requests send beside the messages: an agent writes one at the start of a session, and
/// again where it is resumed.
fn entry_with_request<'a>(transcript: &Transcript<'a>) -> Option<(Json<'a>, &'static SentBeside)> {
    let sent = transcript.format.sent_beside.as_ref()?;
    let entry = transcript.notes.iter().rev().find(|note| note.json.member_is("type", sent.entry))?;
    Some((entry.json, sent))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framing::read_for_test as read;

    /// What a source has beside its messages.
    fn found(source: &str) -> Vec<String> {
        let document = read(source, None, None).expect("a transcript");
        let transcript = &document.transcripts[0];
        let words = |value| match value {
            Beside::Text(text) => text.decode().into_owned(),
            Beside::Json(json) => json.raw().to_owned(),
        };
        beside(transcript).into_iter().map(words).collect()
    }

    #[test]
    fn requests_of_all_apis_have_a_rest() {
        let user = r#"[{"role":"user","content":"u"}]"#;
        let contents = r#"[{"role":"user","parts":[{"text":"u"}]}]"#;
        for (source, rest) in [
            (format!(r#"{{"messages":{user}}}"#), &[][..]),
            (format!(r#"{{"messages":{user},"tools":[],"system":"","instructions":null}}"#), &[]),
            (format!(r#"{{"messages":{user},"tools":[{{}}],"response_format":{{"a":1}}}}"#), &["[{}]", r#"{"a":1}"#]),
            (format!(r#"{{"messages":{user},"functions":[{{}}],"format":"json"}}"#), &["[{}]"]),
            (format!(r#"{{"system":"s","messages":{user},"output_config":{{"format":{{}},"effort":"low"}}}}"#), &["s"]),
            (
                format!(
                    r#"{{"system":[{{"type":"text","text":"s"}},{{"type":"text","text":"t"}}],"messages":{user}}}"#
                ),
                &["s", "t"],
            ),
            (format!(r#"{{"system":[{{"text":"s"}}],"toolConfig":{{"tools":[1]}},"messages":{user}}}"#), &["s", "[1]"]),
            (format!(r#"{{"instructions":"i","input":{user},"text":{{"format":{{"b":2}}}}}}"#), &["i", r#"{"b":2}"#]),
            (format!(r#"{{"systemInstruction":{{"parts":[{{"text":"s"}}]}},"contents":{contents}}}"#), &["s"]),
            (
                format!(
                    r#"{{"system_instruction":"s","contents":{contents},"generation_config":{{"response_schema":{{"c":3}}}}}}"#
                ),
                &["s", r#"{"c":3}"#],
            ),
            (format!(r#"{{"custom_id":"x","body":{{"messages":{user},"tools":[1]}},"tools":[2]}}"#), &["[1]"]),
            (format!(r#"{{"request":{{"messages":{user},"tools":[1]}},"response":{{"tools":[2]}}}}"#), &["[1]"]),
            (
                r#"{"conversations":[{"from":"human","value":"u"}],"system":"s","tools":"[1]"}"#.to_owned(),
                &["s", "[1]"],
            ),
        ] {
            assert_eq!(found(&source), rest, "{source}");
        }
    }

    #[test]
    fn a_system_text_that_is_a_message_too_counts_once() {
        for system in [r#""s""#, r#"[{"type":"text","text":"s"}]"#] {
            let source = format!(
                r#"{{"system":"s","messages":[{{"role":"system","content":{system}}},{{"role":"user","content":"u"}}]}}"#
            );
            assert_eq!(found(&source), [""; 0], "{source}");
        }
    }

    #[test]
    fn a_resumed_session_of_codex_has_its_instructions_once() {
        let start = r#"{"timestamp":"t","type":"session_meta","payload":{"id":"i","base_instructions":{"text":"b"},"dynamic_tools":[1]}}"#;
        let item = r#"{"timestamp":"t","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"u"}]}}"#;
        assert_eq!(found(&[start, item, start, item].join("\n")), ["b", "[1]"]);
    }
}
