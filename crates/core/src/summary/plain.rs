//! Text as a reader sees it: JSON decoded to lines, one for each value that is not a list or an object, behind its key.

use std::borrow::Cow;

use crate::sanitize::reveal_line;
use crate::transcript::json::{Json, JsonKind, Token};
use crate::transcript::pairing::PairedResult;
use crate::transcript::source::Source;
use crate::transcript::text::Text;
use crate::transcript::{Arguments, Call, Message, Role, fence};

/// The role of a message, which is `tool` for nothing but results, and the tools that it calls or whose results it
/// holds. `results` are those of all messages.
pub fn role_and_tools(messages: &[Message<'_>], results: &[PairedResult], at: usize) -> (String, Option<String>) {
    let message = &messages[at];
    let rest = message.rare_fields();
    let is_result = message.role == Role::User && !message.results.is_empty() && !message.is_user_turn();
    let role = match message.role {
        _ if is_result => Cow::Borrowed("tool"),
        // Its places are of another round.
        Role::User | Role::System if fence::is_whole(&message.whole_text()) => {
            format!("summary of round {}", fence::round(&message.whole_text()).unwrap_or(1)).into()
        }
        Role::Other => rest.role_name.map_or(Cow::Borrowed("other"), |name| name.decode()),
        role => Cow::Borrowed(role.openai_name()),
    };
    let mut calls: Vec<&Call<'_>> = message.calls.iter().collect();
    let first = results.partition_point(|result| result.result.message < at);
    for result in results[first..].iter().take_while(|result| result.result.message == at) {
        calls.extend(result.call.map(|call| call.call_of(messages)));
    }
    let names = calls.into_iter().filter_map(|call| call.name);
    let mut tools: Vec<String> = names.map(|name| reveal_line(name.decode().trim())).collect();
    tools.dedup();
    let tools = match rest.name {
        _ if !tools.is_empty() => Some(tools.join(",")),
        Some(name) if matches!(message.role, Role::Tool | Role::Function) => Some(reveal_line(&name.decode())),
        _ => None,
    };
    (reveal_line(&role), tools)
}

/// The arguments of a call, with the strings inside decoded.
pub(super) fn arguments(arguments: &Arguments<'_>) -> String {
    match arguments {
        Arguments::Absent => String::new(),
        Arguments::Value(value) => lines(*value),
        Arguments::Text(text) => of_json(&text.decode_json()).unwrap_or_else(|| text.decode().into_owned()),
    }
}

/// A text of a message: decoded, where it is a string; a value that is not one, as its lines.
pub(super) fn text<'a>(message: Json<'_>, text: Text<'a>) -> Cow<'a, str> {
    let raw = text.raw();
    if raw.starts_with(['{', '['])
        && !is_string_in(message, &text)
        && let Some(lines) = of_json(raw)
    {
        return Cow::Owned(lines);
    }
    text.decode()
}

/// Whether a text of a message stands in quotes there.
fn is_string_in(message: Json<'_>, text: &Text<'_>) -> bool {
    let Some(span) = text.span_in(message.raw()) else { return false };
    span.start > 0 && message.raw().as_bytes()[span.start - 1] == b'"'
}

/// The lines of a text that is an object or a list of JSON; nothing where it is none.
fn of_json(text: &str) -> Option<String> {
    if !text.trim_start().starts_with(['{', '[']) {
        return None;
    }
    let source = Source::of_arguments(text)?;
    Some(lines(source.first()?))
}

/// The values inside a value, each behind its key.
fn lines(value: Json<'_>) -> String {
    let mut out = String::new();
    // For each open list or object, whether it is an object, and the key of its next value.
    let mut open: Vec<(bool, Option<Text<'_>>)> = Vec::new();
    for token in value.tokens() {
        match (token, open.last_mut()) {
            (Token::Scalar(key), Some((true, next @ None))) => *next = key.text(),
            (Token::Scalar(value), around) => {
                let key = around.and_then(|(_, key)| key.take());
                if value.kind() == JsonKind::Null {
                    continue;
                }
                if !out.is_empty() {
                    out.push('\n');
                }
                if let Some(key) = key {
                    out.push_str(&reveal_line(&key.decode()));
                    out.push_str(": ");
                }
                match value.text() {
                    Some(text) => out.push_str(&text.decode()),
                    None => out.push_str(value.raw()),
                }
            }
            (Token::Open(kind), around) => {
                if let Some((_, key)) = around {
                    *key = None;
                }
                open.push((kind == JsonKind::Object, None));
            }
            (Token::Close, _) => drop(open.pop()),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use crate::summary::history::readable;
    use crate::transcript::formats::by_name;
    use crate::transcript::framing::read_for_test as read;

    /// Calls, results, reasoning and refusals in their order, decoded at any depth.
    #[test]
    fn a_message_is_read_as_its_reader_sees_it() {
        for (format, message, text) in [
            (
                "openai-chat",
                r#"{"role":"assistant","reasoning_content":"h\u006dm","content":"a\nb","tool_calls":[{"id":"x","type":"function","function":{"name":"edit","arguments":"{\"old\":\"1\\n2\",\"all\":true,\"in\":{\"a\":[3,\"4\"],\"b\":null,\"c\":5}}"}}]}"#,
                "(thought) hmm\na\nb\nedit\nold: 1\n2\nall: true\n3\n4\nc: 5\n",
            ),
            (
                "openai-chat",
                r#"{"role":"assistant","content":null,"tool_calls":[{"id":"x","type":"function","function":{"name":"f","arguments":"{\"cut"}}]}"#,
                "f\n{\"cut\n",
            ),
            ("openai-chat", r#"{"role":"user","content":"{\"a\": \"b\\nc\"}"}"#, "{\"a\": \"b\\nc\"}\n"),
            (
                "anthropic",
                r#"{"role":"assistant","content":[{"type":"thinking","thinking":"so","signature":"eA=="},{"type":"tool_use","id":"x","name":"f","input":{"p":"q\tr"}}]}"#,
                "(thought) so\nf\np: q\tr\n",
            ),
            (
                "gemini",
                r#"{"role":"user","parts":[{"functionResponse":{"id":"x","name":"f","response":{"a":"1\n2","b":{"c":3}}}}]}"#,
                "a: 1\n2\nc: 3\n",
            ),
            (
                "openai-chat",
                r#"{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,eA=="}}]}"#,
                "[image/png, 1 byte]\n",
            ),
        ] {
            let source = format!("[{message}]");
            let document = read(&source, by_name(format), None).unwrap_or_else(|error| panic!("{error}: {message}"));
            assert_eq!(readable(&document.transcripts[0].messages[0]), text, "{message}");
        }
    }
}
