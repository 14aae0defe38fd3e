//! Formats the history as known systems do for their summarizers, to the byte.
//!
//! tcompact's own format is in [`crate::summary::history`].

use std::borrow::Cow;

use crate::tokens::approx::{self, ReadContent, read_content};
use crate::tokens::python;
use crate::transcript::json::{Json, JsonKind};
use crate::transcript::source::Source;
use crate::transcript::{Arguments, Call, CallPlace, Message, Part, Role};

use crate::redact::beginning;
use crate::summary::history::{self, escaped};

/// A format of messages as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Buffer {
    /// tcompact's own format.
    Own,
    /// One element a message, as `LangChain`'s `get_buffer_string` writes with `format="xml"`.
    Xml,
    /// `Human: …`, `AI: …`, one line each, as `get_buffer_string` writes by default.
    Prefix,
    /// `human: …`, `ai: …`, with blank lines between. A list of parts is written as Python prints it.
    TypeAndContent,
    /// `human: …`, `assistant: …`, one line each, with texts alone.
    RoleAndContent,
}

/// The characters shown of a call's id, and of the text of a document or a server tool.
const LONGEST_ID: usize = 64;
const LONGEST_DOCUMENT: usize = 500;

impl Buffer {
    /// Writes messages one after the other.
    pub fn write<'m, 'a: 'm>(self, messages: impl IntoIterator<Item = &'m Message<'a>>) -> String {
        let (write_message, separator): (fn(&Message<'_>) -> String, _) = match self {
            Buffer::Own => return history::write(messages),
            Buffer::Xml => (element, "\n"),
            Buffer::Prefix => (line, "\n"),
            Buffer::TypeAndContent => (type_and_content, "\n\n"),
            Buffer::RoleAndContent => (role_and_content, "\n"),
        };
        let written: Vec<String> = messages.into_iter().map(write_message).collect();
        written.join(separator)
    }
}

/// The names of a role in `LangChain`: as a type, and before a line.
fn names<'a>(message: &Message<'a>) -> (Cow<'a, str>, Cow<'a, str>) {
    let (kind, prefix) = match message.role {
        Role::User => ("human", "Human"),
        Role::Assistant => ("ai", "AI"),
        Role::System | Role::Developer => ("system", "System"),
        Role::Tool => ("tool", "Tool"),
        Role::Function => ("function", "Function"),
        Role::Other => {
            let name = message.rare_fields().role_name.map_or(Cow::Borrowed("chat"), |name| name.decode());
            return (name.clone(), name);
        }
    };
    (Cow::Borrowed(kind), Cow::Borrowed(prefix))
}

fn element(message: &Message<'_>) -> String {
    let kind = attribute(&names(message).0);
    let mut parts: Vec<String> = match read_content(message) {
        ReadContent::Text(text) => vec![escaped(&text.decode())],
        ReadContent::Printed(value) => vec![escaped(&repr(value))],
        ReadContent::List(parts) => parts.into_iter().filter_map(part).collect(),
    };
    parts.retain(|part| !part.is_empty());
    let content = parts.join(" ");
    let calls = calls(message);
    if calls.is_empty() {
        return format!("<message type={kind}>{content}</message>");
    }
    let mut lines = vec![format!("<message type={kind}>")];
    if !content.is_empty() {
        lines.push(format!("  <content>{content}</content>"));
    }
    lines.extend(calls.into_iter().map(call));
    lines.push("</message>".to_owned());
    lines.join("\n")
}

/// The calls that are written: those that `LangChain` knows, or the single `function_call`.
fn calls<'m, 'a>(message: &'m Message<'a>) -> Vec<&'m Call<'a>> {
    if message.role != Role::Assistant {
        return Vec::new();
    }
    for place in [CallPlace::List, CallPlace::FunctionCall] {
        let calls: Vec<&Call<'a>> = message.calls.iter().filter(|call| call.place == place).collect();
        if !calls.is_empty() {
            return calls;
        }
    }
    Vec::new()
}

fn call(call: &Call<'_>) -> String {
    let name = attribute(&call.name.map_or(Cow::Borrowed(""), |name| name.decode()));
    if call.place == CallPlace::FunctionCall {
        let arguments = match call.arguments {
            Arguments::Text(text) if !text.is_empty() => text.decode().into_owned(),
            Arguments::Value(value) if !value.is_falsy() => repr(value),
            _ => "{}".to_owned(),
        };
        return format!("  <function_call name={name}>{}</function_call>", escaped(&arguments));
    }
    let id = call.id.map_or(Cow::Borrowed(""), |id| id.decode());
    let id = attribute(&truncated(&id, LONGEST_ID));
    format!("  <tool_call id={id} name={name}>{}</tool_call>", escaped(&arguments(call.arguments)))
}

/// Writes the value of arguments as Python's `json.dumps` does.
fn arguments(arguments: Arguments<'_>) -> String {
    match arguments {
        Arguments::Value(value) => json(value),
        Arguments::Absent => "{}".to_owned(),
        Arguments::Text(text) => match Source::of_arguments(&text.decode_json()).as_ref().and_then(Source::first) {
            Some(value) => json(value),
            None => text.decode().into_owned(),
        },
    }
}

/// Writes a part; `None` for data, and for types that `LangChain` does not know.
fn part(part: &Part<'_>) -> Option<String> {
    let block = part.json;
    match block.kind() {
        JsonKind::String => return block.text().map(|text| escaped(&text.decode())),
        JsonKind::Object => {}
        _ => return Some(escaped(&repr(block))),
    }
    if holds_data(block) {
        return None;
    }
    let kind = block.get_text("type")?.decode();
    match &*kind {
        "text" => Some(escaped(&text_in(block, "text")?)),
        "reasoning" => Some(format!("<reasoning>{}</reasoning>", escaped(&text_in(block, "reasoning")?))),
        "image" | "audio" | "video" => {
            if let Some(url) = text_in(block, "url") {
                return Some(format!("<{kind} url={} />", attribute(&url)));
            }
            Some(format!("<{kind} file_id={} />", attribute(&text_in(block, "file_id")?)))
        }
        "image_url" => {
            let url = block.at(&["image_url", "url"])?.text()?.decode();
            if url.is_empty() { None } else { Some(format!("<image url={} />", attribute(&url))) }
        }
        "text-plain" => Some(document(&text_in(block, "text")?)),
        "server_tool_call" => {
            let id = attribute(&text_in(block, "id").unwrap_or_default());
            let name = attribute(&text_in(block, "name").unwrap_or_default());
            let arguments = document(&block.get("args").map_or("{}".to_owned(), json));
            Some(format!("<server_tool_call id={id} name={name}>{arguments}</server_tool_call>"))
        }
        "server_tool_result" => {
            let id = attribute(&text_in(block, "tool_call_id").unwrap_or_default());
            let status = attribute(&text_in(block, "status").unwrap_or_default());
            let output = match block.get("output") {
                Some(output) if !output.is_falsy() => document(&json(output)),
                _ => String::new(),
            };
            Some(format!("<server_tool_result tool_call_id={id} status={status}>{output}</server_tool_result>"))
        }
        _ => None,
    }
}

/// The text of a member of a part, if it has any.
fn text_in<'a>(block: Json<'a>, key: &str) -> Option<Cow<'a, str>> {
    let text = block.get_text(key)?.decode();
    if text.is_empty() { None } else { Some(text) }
}

fn document(text: &str) -> String {
    escaped(&truncated(text, LONGEST_DOCUMENT))
}

/// Whether a part holds data, which no summarizer is sent.
fn holds_data(block: Json<'_>) -> bool {
    if block.get("base64").is_some_and(|data| !data.is_falsy()) {
        return true;
    }
    for url in [block.get("url"), block.at(&["image_url", "url"])].into_iter().flatten() {
        if url.text().is_some_and(|url| url.starts_with("data:")) {
            return true;
        }
    }
    false
}

fn line(message: &Message<'_>) -> String {
    let mut out = format!("{}: {}", names(message).1, texts(message));
    let calls = calls(message);
    match calls.first() {
        Some(call) if call.place == CallPlace::FunctionCall => {
            out.extend(message.additional("function_call").map(repr));
        }
        _ => approx::calls_repr(&message.calls, &mut out),
    }
    out
}

/// Joins the texts of the content.
fn texts(message: &Message<'_>) -> String {
    match read_content(message) {
        ReadContent::Text(text) => text.decode().into_owned(),
        ReadContent::Printed(value) => repr(value),
        ReadContent::List(parts) => {
            let mut out = String::new();
            for part in parts {
                let text = match part.json.get_text("type") {
                    Some(kind) if kind.is("text") => part.json.get_text("text"),
                    Some(_) => None,
                    None => part.json.text(),
                };
                if let Some(text) = text {
                    out.push_str(&text.decode());
                }
            }
            out
        }
    }
}

fn type_and_content(message: &Message<'_>) -> String {
    let content = match read_content(message) {
        ReadContent::Text(text) => text.decode().into_owned(),
        ReadContent::Printed(value) => repr(value),
        ReadContent::List(parts) => {
            let printed: Vec<String> = parts.into_iter().map(|part| repr(part.json)).collect();
            format!("[{}]", printed.join(", "))
        }
    };
    format!("{}: {content}", names(message).0)
}

fn role_and_content(message: &Message<'_>) -> String {
    let role = match message.role {
        Role::Assistant => Cow::Borrowed("assistant"),
        Role::Function => Cow::Borrowed("tool"),
        _ => names(message).0,
    };
    // Formats that the system does not know keep their texts elsewhere.
    match message.field("content") {
        Some(_) => format!("{role}: {}", texts(message)),
        None => {
            let texts: Vec<Cow<'_, str>> = message.content.texts().into_iter().map(|text| text.decode()).collect();
            format!("{role}: {}", texts.join("\n"))
        }
    }
}

fn repr(value: Json<'_>) -> String {
    let mut out = String::new();
    python::repr(value, &mut out);
    out
}

fn json(value: Json<'_>) -> String {
    let mut out = String::new();
    python::json(value, &mut out);
    out
}

/// The first `limit` characters, with dots if there are more.
fn truncated(text: &str, limit: usize) -> Cow<'_, str> {
    let shown = beginning(text, limit);
    if shown.len() < text.len() { Cow::Owned(format!("{shown}...")) } else { Cow::Borrowed(text) }
}

/// Quotes the value of an attribute, as Python's `quoteattr` does.
fn attribute(text: &str) -> String {
    let text = escaped(text).replace('\n', "&#10;").replace('\r', "&#13;").replace('\t', "&#9;");
    match (text.contains('"'), text.contains('\'')) {
        (true, true) => format!("\"{}\"", text.replace('"', "&quot;")),
        (true, false) => format!("'{text}'"),
        _ => format!("\"{text}\""),
    }
}
