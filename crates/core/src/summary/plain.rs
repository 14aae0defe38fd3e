//! Text as a reader sees it: JSON decoded to lines, one for each value that is not a list or an object, behind its key.

use std::borrow::Cow;

use crate::sanitize::reveal_line;
use crate::transcript::json::{Json, JsonKind, Token};
use crate::transcript::pairing::PairedResult;
use crate::transcript::source::Source;
use crate::transcript::text::Text;
use crate::transcript::{Arguments, Message, Role, fence};

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
    let first = results.partition_point(|result| result.result.message < at);
    let results = results[first..].iter().take_while(|result| result.result.message == at);
    let answered = results.filter_map(|result| Some(result.call?.call_of(messages)));
    let called = message.calls.iter().chain(answered).filter_map(|call| call.name);
    let mut tools: Vec<String> = called.map(|name| reveal_line(name.decode().trim())).collect();
    tools.dedup();
    let own = rest.name.filter(|_| matches!(message.role, Role::Tool | Role::Function));
    let own = || own.map(|name| reveal_line(&name.decode()));
    (reveal_line(&role), if tools.is_empty() { own() } else { Some(tools.join(",")) })
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
    let is_string = || {
        let start = text.span_in(message.raw()).and_then(|span| span.start.checked_sub(1));
        start.is_some_and(|before| message.raw().as_bytes()[before] == b'"')
    };
    let value = if raw.starts_with(['{', '[']) && !is_string() { of_json(raw) } else { None };
    value.map_or_else(|| text.decode(), Cow::Owned)
}

/// The lines of a text that is an object or a list of JSON; nothing where it is none.
fn of_json(text: &str) -> Option<String> {
    let source = Source::of_arguments(text).filter(|_| text.trim_start().starts_with(['{', '[']))?;
    source.first().map(|value| lines(value))
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
                out.push_str(&value.text().map_or(Cow::Borrowed(value.raw()), |text| text.decode()));
            }
            (Token::Open(kind), around) => {
                around.map(|(_, key)| key.take());
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
