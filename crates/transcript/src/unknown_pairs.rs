//! Pairs of parts of unknown kinds of which one names the other by an id, such as a call and its result, and messages of
//! unknown kinds that name a known call.
//!
//! What such parts are is not known, so nothing answers them or removes one of them: a cut keeps both or removes both.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::call_ids::{is_id, names_call};
use crate::json::{Json, JsonKind};
use crate::message::{Content, Message, Part, PartKind, Role};

/// An id that more parts have names something else than a call, unless its keys say so.
const MOST_PARTS: usize = 8;

/// Two parts that stay together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UnknownPair {
    pub first: PartPlace,
    pub second: PartPlace,
}

/// A part of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PartPlace {
    /// The index of the message.
    pub message: usize,
    /// Where the part begins in the source, in bytes.
    pub start: usize,
}

/// A member of a part that holds an id.
struct IdMember<'a> {
    part: PartPlace,
    /// What the part is: its type, or the key around its members.
    kind: &'a str,
    key: &'a str,
}

/// The messages with parts that stay together: the first and the last of each pair.
pub fn groups(messages: &[Message<'_>]) -> Vec<(usize, usize)> {
    let mut groups = Vec::new();
    for pair in find(messages) {
        if pair.first.message < pair.second.message {
            groups.push((pair.first.message, pair.second.message));
        }
    }
    add_unknown_answers(messages, &mut groups);
    groups.sort_unstable();
    groups.dedup();
    groups
}

/// Adds each call with the messages behind it that hold its id somewhere and are of an unknown kind, or have such a part.
/// A text that is equal to an id by chance ties two messages more than needed, and parts none.
fn add_unknown_answers(messages: &[Message<'_>], groups: &mut Vec<(usize, usize)>) {
    let mut unknown: Vec<(usize, Json<'_>)> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        if message.role == Role::Other {
            unknown.push((index, message.json));
        }
        for part in message.content.parts() {
            if matches!(part.kind, PartKind::Foreign(_)) {
                unknown.push((index, part.json));
            }
        }
    }
    if unknown.is_empty() {
        return;
    }
    let mut calls: BTreeMap<Cow<'_, str>, Vec<usize>> = BTreeMap::new();
    for (index, message) in messages.iter().enumerate() {
        for call in &message.calls {
            if let Some(id) = call.id {
                calls.entry(id.decode()).or_default().push(index);
            }
        }
    }
    for (answer, json) in unknown {
        for text in short_texts(json) {
            // Where ids repeat, the last call before it counts.
            let with_id = calls.get(&text).map_or(&[][..], Vec::as_slice);
            let before = with_id.partition_point(|call| *call < answer);
            if let Some(call) = before.checked_sub(1) {
                groups.push((with_id[call], answer));
            }
        }
    }
}

/// All texts in a value that are no longer than an id.
fn short_texts(json: Json<'_>) -> Vec<Cow<'_, str>> {
    const LONGEST_ID: usize = 256;
    let mut texts = Vec::new();
    let mut rest = vec![json];
    while let Some(value) = rest.pop() {
        match value.kind() {
            JsonKind::Object => rest.extend(value.entries().map(|(_, member)| member)),
            JsonKind::Array => rest.extend(value.items()),
            _ => {}
        }
        if let Some(text) = value.text()
            && text.raw().len() <= LONGEST_ID
        {
            texts.push(text.decode());
        }
    }
    texts
}

/// All pairs, also those inside of one message.
pub(crate) fn find(messages: &[Message<'_>]) -> Vec<UnknownPair> {
    let mut members: BTreeMap<Cow<'_, str>, Vec<IdMember<'_>>> = BTreeMap::new();
    for (message, read) in messages.iter().enumerate() {
        let Content::Parts(parts) = &read.content else { continue };
        for part in parts {
            if !can_be_paired(part, read) {
                continue;
            }
            let place = PartPlace { message, start: part.json.span().start };
            for (id, member) in id_members(part.json, place) {
                members.entry(id).or_default().push(member);
            }
        }
    }
    let mut pairs = Vec::new();
    for of_one_id in members.values() {
        if of_one_id.len() > MOST_PARTS {
            add_chain(of_one_id, &mut pairs);
            continue;
        }
        for (index, second) in of_one_id.iter().enumerate() {
            for first in &of_one_id[..index] {
                if first.part != second.part && are_paired(first, second) {
                    pairs.push(UnknownPair { first: first.part, second: second.part });
                }
            }
        }
    }
    pairs
}

/// Ties the many parts of one call, such as pieces of its output: each to the next one.
fn add_chain(of_one_id: &[IdMember<'_>], pairs: &mut Vec<UnknownPair>) {
    let mut of_call: Vec<&IdMember<'_>> = Vec::new();
    for member in of_one_id {
        if names_call(member.key) || of_call.is_empty() && member.key == "id" {
            of_call.push(member);
        }
    }
    // Parts of one kind share the id of a run or a request.
    if of_call.iter().all(|member| member.kind == of_call[0].kind) {
        return;
    }
    for two in of_call.windows(2) {
        if two[0].part != two[1].part {
            pairs.push(UnknownPair { first: two[0].part, second: two[1].part });
        }
    }
}

/// Whether a part is of a kind whose calls and results the format does not pair: an unknown one, one of the provider's
/// own, or one that is read as a text.
fn can_be_paired(part: &Part<'_>, message: &Message<'_>) -> bool {
    /// A part with a text has other members where it is longer than its text by more than this, or where the text is the
    /// JSON of a value.
    const TEXT_ALONE: usize = r#"{"type":"text","text":""}"#.len();
    if part.json.kind() != JsonKind::Object {
        return false;
    }
    match part.kind {
        PartKind::Foreign(_) | PartKind::Mixed(_) | PartKind::Other => true,
        PartKind::Text(text) => {
            let is_value = text.raw().starts_with('{');
            (is_value || part.json.raw().len() > text.raw().len() + TEXT_ALONE)
                && part.json.span() != message.json.span()
                && !part.json.member_is("type", "text")
        }
        _ => false,
    }
}

/// The ids in a part, or else in the members of its values.
fn id_members<'a>(json: Json<'a>, part: PartPlace) -> Vec<(Cow<'a, str>, IdMember<'a>)> {
    let found = own_id_members(json, part, "");
    if !found.is_empty() {
        return found;
    }
    let mut inside = Vec::new();
    for (key, value) in json.entries() {
        inside.extend(own_id_members(value, part, key.raw()));
    }
    inside
}

/// The ids that are members of an object. `around` is the key that holds the object.
fn own_id_members<'a>(json: Json<'a>, part: PartPlace, around: &'a str) -> Vec<(Cow<'a, str>, IdMember<'a>)> {
    let named = ["type", "part_kind", "kind"].iter().find_map(|key| json.get_text(key));
    let kind = named.map_or(around, |kind| kind.raw());
    let mut found = Vec::new();
    for (key, value) in json.entries() {
        if !is_id(key.raw()) {
            continue;
        }
        let member = IdMember { part, kind, key: key.raw() };
        match value.text() {
            Some(id) if !id.is_empty() => found.push((id.decode(), member)),
            // A number under another key counts something.
            None if value.kind() == JsonKind::Number && names_call(member.key) => {
                found.push((Cow::Borrowed(value.raw()), member));
            }
            _ => {}
        }
    }
    found
}

/// Whether two parts with the same id belong together. Parts of one kind may share the id of a session or a file, and so
/// may parts that have it under the same key, unless the key names a call.
fn are_paired(first: &IdMember<'_>, second: &IdMember<'_>) -> bool {
    let is_named = first.key == "id";
    let is_shared = first.key == second.key && names_call(second.key);
    first.kind != second.kind && (is_named || is_shared)
}

#[cfg(test)]
mod tests {
    use crate::framing::read_for_test as read;
    use crate::message::Message;

    /// Conversations around a call of an unknown kind and its result, `@A` and `@B` in them, with the format of each.
    const PAIRS: [(&str, &str, &str, &str); 12] = [
        (
            "ai-sdk",
            r#"[{"role":"user","content":"u"},{"role":"assistant","content":[{"type":"tool-call","toolCallId":"k","toolName":"f","input":{}}]},{"role":"tool","content":[{"type":"tool-result","toolCallId":"k","toolName":"f","output":{"type":"text","value":"r"}}]},{"role":"assistant","content":[@A]},{"role":"tool","content":[@B]}]"#,
            r#"{"type":"x-call","toolCallId":"z","toolName":"f","input":{}}"#,
            r#"{"type":"x-result","toolCallId":"z","toolName":"f","output":{"type":"text","value":"r"}}"#,
        ),
        (
            "ai-sdk",
            r#"[{"role":"user","content":"u"},{"role":"assistant","content":[{"type":"tool-call","toolCallId":"k","toolName":"f","input":{}}]},{"role":"tool","content":[{"type":"tool-result","toolCallId":"k","toolName":"f","output":{"type":"text","value":"r"}}]},{"role":"assistant","content":[@A]},{"role":"tool","content":[@B]}]"#,
            r#"{"type":"tool-x-request","approvalId":"z","toolCallId":"y"}"#,
            r#"{"type":"tool-x-response","approvalId":"z","approved":true}"#,
        ),
        (
            "pydantic-ai",
            r#"[{"parts":[{"content":"u","part_kind":"user-prompt"}],"kind":"request"},{"parts":[{"content":"t","part_kind":"text"}],"kind":"response"},{"parts":[{"content":"u","part_kind":"user-prompt"}],"kind":"request"},{"parts":[@A],"kind":"response"},{"parts":[@B],"kind":"request"}]"#,
            r#"{"tool_name":"f","args":"{}","tool_call_id":"z","part_kind":"x-call"}"#,
            r#"{"tool_name":"f","content":"r","tool_call_id":"z","part_kind":"x-return"}"#,
        ),
        (
            "pydantic-ai",
            r#"[{"parts":[{"content":"u","part_kind":"user-prompt"}],"kind":"request"},{"parts":[{"content":"t","part_kind":"text"}],"kind":"response"},{"parts":[{"content":"u","part_kind":"user-prompt"}],"kind":"request"},{"parts":[@A],"kind":"response"},{"parts":[@B],"kind":"request"}]"#,
            r#"{"tool_name":"f","args":"{}","tool_call_id":"z","part_kind":"x-tool-call"}"#,
            r#"{"tool_name":"f","content":"r","tool_call_id":"z","part_kind":"x-tool-return"}"#,
        ),
        (
            "gemini",
            r#"[{"role":"user","parts":[{"text":"u"}]},{"role":"model","parts":[{"text":"t"}]},{"role":"user","parts":[{"text":"u"}]},{"role":"model","parts":[@A]},{"role":"user","parts":[@B]}]"#,
            r#"{"xCall":{"id":"z","name":"f","args":{}}}"#,
            r#"{"xResponse":{"id":"z","name":"f","response":{"r":1}}}"#,
        ),
        (
            "gemini",
            r#"[{"role":"user","parts":[{"text":"u"}]},{"role":"model","parts":[{"text":"t"}]},{"role":"user","parts":[{"text":"u"}]},{"role":"model","parts":[@A]},{"role":"user","parts":[@B]}]"#,
            r#"{"toolCall":{"id":"z","toolType":"X","args":{}}}"#,
            r#"{"toolResponse":{"id":"z","toolType":"X","response":{"r":1}}}"#,
        ),
        (
            "openai-responses",
            r#"[{"role":"user","content":"u"},{"type":"function_call","call_id":"k","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"k","output":"r"},@A,@B]"#,
            r#"{"type":"x_approval_request","id":"z","name":"f"}"#,
            r#"{"type":"x_approval_response","approval_request_id":"z","approve":true}"#,
        ),
        (
            "anthropic",
            r#"[{"role":"user","content":"u"},{"role":"assistant","content":[{"type":"tool_use","id":"k","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"k","content":"r"}]},{"role":"assistant","content":[@A]},{"role":"user","content":[@B]}]"#,
            r#"{"type":"x_use","id":"z","name":"f","input":{}}"#,
            r#"{"type":"x_result","tool_use_id":"z","content":"r"}"#,
        ),
        (
            "langchain",
            r#"[{"type":"human","content":"u"},{"type":"ai","content":"t"},{"type":"human","content":"u"},{"type":"ai","content":[@A]},{"type":"human","content":[@B]}]"#,
            r#"{"type":"x_tool_use","id":"z","name":"f","input":{}}"#,
            r#"{"type":"x_tool_result","tool_use_id":"z","content":"r"}"#,
        ),
        (
            "bedrock",
            r#"[{"role":"user","content":[{"text":"u"}]},{"role":"assistant","content":[{"text":"t"}]},{"role":"user","content":[{"text":"u"}]},{"role":"assistant","content":[@A]},{"role":"user","content":[@B]}]"#,
            r#"{"xUse":{"toolUseId":"z","name":"f","input":{}}}"#,
            r#"{"xResult":{"toolUseId":"z","content":[{"text":"r"}]}}"#,
        ),
        (
            "bedrock",
            r#"[{"role":"user","content":[{"text":"u"}]},{"role":"assistant","content":[{"text":"t"}]},{"role":"user","content":[{"text":"u"}]},{"role":"assistant","content":[@A]},{"role":"user","content":[@B]}]"#,
            r#"{"xToolUse":{"toolUseId":"z","name":"f","input":{}}}"#,
            r#"{"xToolResult":{"toolUseId":"z","content":[{"text":"r"}]}}"#,
        ),
        (
            "gemini",
            r#"[{"role":"user","parts":[{"text":"u"}]},{"role":"model","parts":[{"text":"t"}]},{"role":"user","parts":[{"text":"u"}]},@A,@B]"#,
            r#"{"type":"x_tool_call","tool_call_id":"z","name":"f","input":{}}"#,
            r#"{"type":"x_tool_return","tool_call_id":"z","content":"r"}"#,
        ),
    ];

    #[test]
    fn a_cut_keeps_a_call_of_an_unknown_kind_with_its_result() {
        for (format, around, call, result) in PAIRS {
            let source = around.replace("@A", call).replace("@B", result);
            let document = read(&source, None, None).unwrap_or_else(|error| panic!("{source}: {error}"));
            let transcript = &document.transcripts[0];
            assert_eq!(transcript.format.name, format, "{source}");
            let cuts = transcript.pairing.allowed_cuts(&transcript.groups);
            assert!(cuts[3] && !cuts[4], "{source}: {cuts:?}");
            // Another id is of another call.
            let apart = around.replace("@A", call).replace("@B", &result.replace(r#""z""#, r#""other""#));
            if let Ok(document) = read(&apart, None, None) {
                let transcript = &document.transcripts[0];
                assert!(transcript.pairing.allowed_cuts(&transcript.groups)[4], "{apart}");
            }
        }
    }

    #[test]
    fn a_cut_keeps_a_known_call_with_the_unknown_message_that_names_it() {
        const CHAT: &str = r#"[{"role":"user","content":"u"},{"role":"assistant","content":"a"},{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"hologram","tool_call_id":"c","content":"r"},{"role":"user","content":"v"}]"#;
        const BLOCKS: &str = r#"[{"role":"user","content":"u"},{"role":"assistant","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":{}}]},{"role":"user","content":[{"type":"text","text":"t"},{"type":"hologram","tool_use_id":"c"}]},{"role":"user","content":"v"}]"#;
        // The id stands anywhere in the message.
        let nested = CHAT
            .replace(r#""role":"hologram","tool_call_id":"c""#, r#""type":"hologram","id":"h","items":[{"of":"c"}]"#);
        let deep = CHAT.replace(r#""role":"hologram","tool_call_id":"c""#, r#""kind":"hologram","parentId":"c""#);
        for source in [CHAT, BLOCKS, &nested, &deep] {
            let document = read(source, None, None).expect("a transcript");
            let transcript = &document.transcripts[0];
            let cuts = transcript.pairing.allowed_cuts(&transcript.groups);
            assert_eq!(cuts[1..], [true, true, false, true, true], "{source}");
        }
    }

    #[test]
    fn a_lone_call_is_refused_only_where_its_name_says_so() {
        for (format, around, call, result) in PAIRS {
            let is_named = ["tool-x", "x-tool", "xTool", "x_tool_call"].iter().any(|name| call.contains(name));
            for (part, other) in [("@A", call), ("@B", result)] {
                let text = match format {
                    "openai-responses" => r#"{"role":"user","content":"v"}"#,
                    "pydantic-ai" => r#"{"content":"v","part_kind":"user-prompt"}"#,
                    "gemini" | "bedrock" => r#"{"text":"v"}"#,
                    _ => r#"{"type":"text","text":"v"}"#,
                };
                let source = around.replace(part, other).replace("@A", text).replace("@B", text);
                match read(&source, None, None) {
                    Ok(_) => assert!(!is_named, "{source}"),
                    Err(error) => {
                        let error = error.to_string();
                        assert!(is_named && error.contains("which may be a call or a result"), "{source}: {error}");
                    }
                }
            }
        }
    }

    #[test]
    fn parts_that_share_the_id_of_a_session_or_their_kind_are_not_a_pair() {
        for (first, second) in [
            (r#"{"type":"x","session_id":"z"}"#, r#"{"type":"y","session_id":"z"}"#),
            (r#"{"type":"x","id":"z"}"#, r#"{"type":"x","id":"z"}"#),
            (r#"{"type":"x","grid":"z"}"#, r#"{"type":"y","grid":"z"}"#),
        ] {
            let source = format!(
                r#"[{{"role":"user","content":[{{"type":"text","text":"u"}},{first}]}},{{"role":"assistant","content":[{{"type":"text","text":"t"}},{second}]}}]"#
            );
            let document = read(&source, None, None).expect("a transcript");
            assert_eq!(document.transcripts[0].groups, [], "{source}");
        }
    }

    #[test]
    fn pairs_in_a_file_are_found_by_their_ids_alone() {
        let part = |kind: &str, id: usize| format!(r#"{{"type":"{kind}","call_id":"c{id}"}}"#);
        let message = |part: &str| format!(r#"{{"role":"user","content":[{{"type":"text","text":"u"}},{part}]}}"#);
        let mut messages: Vec<String> = Vec::new();
        for id in 0..3 {
            messages.push(message(&part("x", id)));
            messages.push(message(&part("y", id)));
        }
        // Many parts with one id are of something else, unless the key names a call.
        for index in 0..20 {
            let kind = if index % 2 == 0 { "x" } else { "y" };
            messages.push(message(&part(kind, 9).replace("call_id", "id")));
        }
        messages.extend((0..10).map(|index| message(&part(if index == 0 { "x" } else { "y" }, 10))));
        let source = format!("[{}]", messages.join(","));
        let document = read(&source, None, None).expect("a transcript");
        let read: &[Message<'_>] = &document.transcripts[0].messages;
        let mut expected = vec![(0, 1), (2, 3), (4, 5)];
        expected.extend((26..35).map(|index| (index, index + 1)));
        assert_eq!(super::groups(read), expected);
    }
}
