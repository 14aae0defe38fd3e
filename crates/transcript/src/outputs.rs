//! The places of tool results in a message, and how to write a shorter text there in a form that the provider accepts.
//!
//! Also: results of tools that the provider runs itself. The call and the result are one item, or parts of one message, so no
//! client answers them. Providers take them back only in their own form: ids, types, statuses and encrypted contents
//! stay, and only texts in it can be written (see [`crate::provider_texts`]).
//!
//! Tools that a result has loaded: their definitions are only given to the model once a search has found them. Without
//! that result, later calls of these tools are refused.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use memchr::memmem;
use serde_json::Value;

use crate::edit::{Edit, edited_value};
use crate::json::{Json, JsonKind, named_strings};
use crate::media::{self, MediaKind};
use crate::provider_texts;
use crate::provider_texts::{GENERATED, is_generated_picture};
use crate::text::Text;

/// The output of a tool in a message.
#[derive(Debug, Clone)]
pub struct CallOutput<'a> {
    /// The value that holds it.
    pub value: Json<'a>,
    /// The form that the provider accepts there.
    pub shape: OutputShape,
    /// Whether the format marks the tool as failed.
    pub failed: bool,
    /// Other values with the same output, which are replaced alike.
    pub duplicates: Vec<Json<'a>>,
    /// Copies for readers other than the model, which are removed once the output is shortened.
    pub copies: Vec<Json<'a>>,
}

/// The form of a result that a provider accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputShape {
    /// A string, or a list of blocks. Text blocks have this type; the empty string means no type.
    Blocks(&'static str),
    Object,
    Any,
    /// The form that a provider's own tool gave it. Only texts in it can be written.
    Texts,
    /// An object with a type and a value, as the AI SDK takes it.
    Typed,
    /// A form in which nothing else can be written.
    Fixed,
}

/// A result for a call that has none.
#[derive(Debug, Clone)]
pub enum NewResult {
    /// A message, or a part for [`crate::format::Format::results_message`].
    Entry(Value),
    /// It is set in the call and in its copies.
    InCall(CallMembers),
}

/// The members that give a call its result.
#[derive(Debug, Clone)]
pub struct CallMembers {
    /// The member with the call, if it is not the call itself.
    pub inside: Option<&'static str>,
    /// The members and their values; a member without one is removed.
    pub members: Vec<(&'static str, Option<Value>)>,
}

/// The members that hold the text of a block.
const TEXTS: [&str; 4] = ["text", "value", "stdout", "stderr"];
/// The members that hold all of an object's output.
const INNER: [&str; 4] = ["content_items", "content", "output", "text"];

impl<'a> CallOutput<'a> {
    /// Creates the output in a value; `None` if there is no value.
    pub fn of(value: Option<Json<'a>>, shape: OutputShape) -> Option<Self> {
        let value = value?;
        if value.is_falsy() {
            return None;
        }
        Some(CallOutput { value, shape, failed: false, duplicates: Vec::new(), copies: Vec::new() })
    }

    /// Marks the output as failed, if it is.
    pub fn with_failure(self, failed: bool) -> Self {
        CallOutput { failed: self.failed || failed, ..self }
    }

    /// Adds copies of the output.
    pub fn with_copies(mut self, copies: impl IntoIterator<Item = Json<'a>>) -> Self {
        for copy in copies {
            if !copy.is_falsy() {
                self.copies.push(copy);
            }
        }
        self
    }

    /// Reads the output in the member `content` of an object, and whether the object has a usual mark of an error.
    pub fn in_content(holder: Json<'a>, block: &'static str) -> Option<Self> {
        let has_failed = holder.member_is_true("is_error")
            || holder.member_is_true("isError")
            || holder.member_is("status", "error");
        let output = CallOutput::of(holder.get("content"), OutputShape::Blocks(block))?;
        Some(output.with_failure(has_failed))
    }

    /// The ranges and replacements that put `text` in place of the output; none if that is impossible.
    pub fn replace_with(&self, text: &str) -> Vec<(Range<usize>, String)> {
        let mut all = Vec::with_capacity(1 + self.duplicates.len());
        for value in [self.value].iter().chain(&self.duplicates) {
            let Some(written) = replace_with(*value, self.shape, text) else { return Vec::new() };
            all.push((value.span(), written));
        }
        all
    }

    /// The strings that can be shortened in place, in order.
    pub fn strings(&self) -> Vec<Json<'a>> {
        strings(self.value, self.shape)
    }

    /// The strings of the values with the same output.
    pub fn duplicate_strings(&self) -> Vec<Vec<Json<'a>>> {
        self.duplicates.iter().map(|value| strings(*value, self.shape)).collect()
    }
}

/// The strings of an output, without those of media.
fn strings(value: Json<'_>, shape: OutputShape) -> Vec<Json<'_>> {
    let mut found = all_strings_of(value, shape);
    let mut media = media::find(value).into_iter().map(|(json, _)| json.span()).peekable();
    // Both are in order.
    found.retain(|string| {
        let start = string.span().start;
        while media.next_if(|medium| medium.end <= start).is_some() {}
        media.peek().is_none_or(|medium| start < medium.start)
    });
    found
}

fn all_strings_of(value: Json<'_>, shape: OutputShape) -> Vec<Json<'_>> {
    match (shape, value.kind()) {
        (OutputShape::Fixed, _) => Vec::new(),
        (_, JsonKind::String) => vec![value],
        (OutputShape::Blocks(_), JsonKind::Array) => value.items().flat_map(of_block).collect(),
        (OutputShape::Blocks(_), _) => match inner(value) {
            Some(inner) => all_strings_of(inner, shape),
            None => Vec::new(),
        },
        (OutputShape::Texts, _) => provider_texts::strings(value),
        _ => all_strings(value),
    }
}

fn of_block(block: Json<'_>) -> Vec<Json<'_>> {
    if block.kind() == JsonKind::String {
        return vec![block];
    }
    let mut found = texts_of(block);
    // Bedrock's values, and Cohere's.
    for value in [block.get("json"), block.at(&["document", "data"])].into_iter().flatten() {
        found.extend(all_strings(value));
    }
    found
}

/// The texts of a block that are strings.
fn texts_of(block: Json<'_>) -> Vec<Json<'_>> {
    let mut texts = Vec::new();
    for key in TEXTS {
        if let Some(text) = block.get(key)
            && text.kind() == JsonKind::String
        {
            texts.push(text);
        }
    }
    texts
}

fn all_strings(value: Json<'_>) -> Vec<Json<'_>> {
    named_strings(value).into_iter().map(|(_, string)| string).collect()
}

/// The member that holds all of an object's output.
fn inner(value: Json<'_>) -> Option<Json<'_>> {
    for key in INNER {
        if let Some(member) = value.get(key)
            && matches!(member.kind(), JsonKind::String | JsonKind::Array)
        {
            return Some(member);
        }
    }
    None
}

/// Writes `text` in a form that can replace a value.
fn replace_with(value: Json<'_>, shape: OutputShape, text: &str) -> Option<String> {
    let string = Value::from(text).to_string();
    match (shape, value.kind()) {
        (OutputShape::Fixed, _) => None,
        (_, JsonKind::String) | (OutputShape::Any, _) => Some(string),
        (OutputShape::Texts, _) => provider_texts::with_text(value, text),
        (OutputShape::Typed, _) => Some(format!("{{\"type\": \"text\", \"value\": {string}}}")),
        (OutputShape::Object, JsonKind::Object) => {
            let mut members = value.entries();
            let key = match (members.next(), members.next()) {
                (Some((key, only)), None) if only.kind() == JsonKind::String => key.decode(),
                _ if value.get("error").is_some() => Cow::Borrowed("error"),
                _ => Cow::Borrowed("output"),
            };
            Some(format!("{{{}: {string}}}", Value::from(key)))
        }
        (OutputShape::Blocks(kind), JsonKind::Array) => {
            if let Some(block) = value.items().find(|block| is_text_block(*block)) {
                return Some(format!("[{}]", with_text(block, &string)));
            }
            let has_strings = value.items().next().is_some_and(|first| first.kind() == JsonKind::String);
            Some(if has_strings {
                format!("[{string}]")
            } else if kind.is_empty() {
                format!("[{{\"text\": {string}}}]")
            } else {
                format!("[{{\"type\": \"{kind}\", \"text\": {string}}}]")
            })
        }
        (OutputShape::Blocks(_), JsonKind::Object) => {
            let Some(inner) = inner(value) else { return provider_texts::with_blank_screenshot(value) };
            let new = replace_with(inner, shape, text)?;
            Some(edited_value(value, vec![Edit { range: inner.span(), text: new }]))
        }
        _ => None,
    }
}

/// Whether the first text of a block is a string.
fn is_text_block(block: Json<'_>) -> bool {
    TEXTS.iter().find_map(|key| block.get(key)).is_some_and(|text| text.kind() == JsonKind::String)
}

/// Replaces the text of a block, by a string of JSON, and empties its other texts. The rest stays as it is spelled.
fn with_text(block: Json<'_>, string: &str) -> String {
    let mut texts = texts_of(block);
    texts.sort_by_key(|text| text.span().start);
    let mut edits = Vec::with_capacity(texts.len());
    for (at, text) in texts.iter().enumerate() {
        let written = if at == 0 { string } else { "\"\"" };
        edits.push(Edit { range: text.span(), text: written.to_owned() });
    }
    edited_value(block, edits)
}

/// A result that the provider wrote itself.
#[derive(Debug, Clone)]
pub struct HostedResult<'a> {
    /// The tool's name, where it is known.
    pub name: Option<Text<'a>>,
    pub output: CallOutput<'a>,
}

/// The members that hold the result in an item or a block of the provider.
const HOLDERS: [&str; 6] = ["output", "outputs", "results", "result", "content", "error"];
/// How the types of such items and blocks end.
const ENDINGS: [&str; 2] = ["_call", "_tool_result"];
/// The results among items or blocks, which stand in one message.
pub fn hosted_results<'a>(blocks: impl Iterator<Item = Json<'a>>) -> Vec<HostedResult<'a>> {
    let mut called: HashMap<Cow<'a, str>, Text<'a>> = HashMap::new();
    let mut found = Vec::new();
    for block in blocks {
        if let (Some(id), Some(name)) = (block.get_text("id"), block.get_text("name")) {
            called.insert(id.decode(), name);
        }
        let Some(mut result) = hosted_result(block) else { continue };
        let id = ["tool_use_id", "tool_call_id"].iter().find_map(|key| block.get_text(key));
        if let Some(name) = id.and_then(|id| called.get(&id.decode())) {
            result.name = Some(*name);
        }
        found.push(result);
    }
    found
}

pub fn hosted_result(block: Json<'_>) -> Option<HostedResult<'_>> {
    let kind = block.get("type")?.raw().trim_matches('"');
    let ending = ENDINGS.iter().find(|ending| kind.ends_with(**ending))?;
    let value = held_value(block);
    let output = match kind {
        GENERATED => {
            value?;
            CallOutput::of(Some(block), OutputShape::Texts)?
        }
        "mcp_tool_result" => CallOutput::in_content(block, "text")?,
        _ => CallOutput::of(value, OutputShape::Texts)?,
    };
    let has_failed = block.get_text("status").is_some_and(|status| status.is_in(&["failed", "error"]))
        || block.get("error").is_some_and(|error| !error.is_falsy());
    let name = block.get_text("name").or_else(|| Some(Text::plain(kind.strip_suffix(ending)?)));
    Some(HostedResult { name, output: output.with_failure(has_failed) })
}

/// The value that holds the result in an item or a block.
fn held_value(block: Json<'_>) -> Option<Json<'_>> {
    for key in HOLDERS {
        if let Some(value) = block.get(key)
            && !value.is_falsy()
        {
            return Some(value);
        }
    }
    block.at(&["action", "sources"])
}

/// The media in the output of a provider's tool.
pub fn media_of_hosted(output: Json<'_>) -> Vec<(Json<'_>, MediaKind)> {
    if is_generated_picture(output) { vec![(output, MediaKind::Picture)] } else { media::find(output) }
}

/// The type of a block that names a loaded tool. In a text its quotes are escaped.
const REFERENCE: &str = "\"tool_reference\"";

/// Whether a value of a result names loaded tools.
pub fn loads_tools(value: Json<'_>) -> bool {
    memmem::find(value.raw().as_bytes(), REFERENCE.as_bytes()).is_some()
}

/// The names of the tools that a result has loaded.
pub fn loaded_tools<'a>(result: Json<'a>) -> Vec<Text<'a>> {
    let item = result.get("payload").unwrap_or(result);
    if item.member_is("type", "tool_search_output") {
        let Some(tools) = item.get("tools") else { return Vec::new() };
        return tools.items().filter_map(|tool| tool.get_text("name")).collect();
    }
    if result.member_is("part_kind", "tool-availability-delta") {
        let Some(tools) = result.get("tools_added") else { return Vec::new() };
        return tools.items().filter_map(|tool| tool.text().or_else(|| tool.get_text("name"))).collect();
    }
    if !loads_tools(result) {
        return Vec::new();
    }
    let mut names = Vec::new();
    let mut left = vec![result];
    while let Some(value) = left.pop() {
        let first = left.len();
        match value.kind() {
            JsonKind::Array => left.extend(value.items()),
            JsonKind::Object if value.member_is("type", "tool_reference") => {
                names.extend(value.get_text("tool_name"));
            }
            JsonKind::Object => left.extend(value.entries().map(|(_, inner)| inner)),
            _ => {}
        }
        left[first..].reverse();
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::{Edit, apply};
    use crate::source::Source;

    #[test]
    fn copies_are_added_to_those_that_are_known() {
        let source = Source::of(r#"{"output":"r","parts":["p"],"shown":"s","empty":""}"#).expect("JSON");
        let result = source.first().expect("an object");
        let output = CallOutput::of(result.get("output"), OutputShape::Any).expect("an output");
        let output = output
            .with_copies(result.get("parts"))
            .with_copies(["shown", "empty"].iter().filter_map(|key| result.get(key)));
        let copies: Vec<&str> = output.copies.iter().map(|copy| copy.raw()).collect();
        assert_eq!(copies, [r#"["p"]"#, r#""s""#]);
    }

    fn replaced(value: &str, shape: OutputShape) -> Option<String> {
        let source = Source::of(value).expect("JSON");
        let output = CallOutput::of(source.first(), shape)?;
        let edits =
            output.replace_with("n\"").into_iter().map(|(range, text)| Edit { range, text }).collect::<Vec<_>>();
        (!edits.is_empty()).then(|| apply(value, &edits))
    }

    #[test]
    fn a_text_is_written_as_its_provider_takes_it() {
        let blocks = OutputShape::Blocks("text");
        for (value, shape, expected) in [
            (r#""r""#, blocks, r#""n\"""#),
            (
                r#"[{"type": "text", "cache_control": {}, "text": "a"}, {"type": "image"}]"#,
                blocks,
                r#"[{"type": "text", "cache_control": {}, "text": "n\""}]"#,
            ),
            (r#"[{"type":"image"}]"#, blocks, r#"[{"type": "text", "text": "n\""}]"#),
            (r#"["a", "b"]"#, blocks, r#"["n\""]"#),
            (r#"[{"json": {"a": 1}}]"#, OutputShape::Blocks(""), r#"[{"text": "n\""}]"#),
            (
                r#"[{"stdout": "a", "stderr": "b", "outcome": 1}, {"stdout": ""}]"#,
                blocks,
                r#"[{"stdout": "n\"", "stderr": "", "outcome": 1}]"#,
            ),
            (r#"{"content": "a", "success": true}"#, blocks, r#"{"content": "n\"", "success": true}"#),
            (r#"{"result": "a"}"#, OutputShape::Object, r#"{"result": "n\""}"#),
            (r#"{"output": "a", "error": "b"}"#, OutputShape::Object, r#"{"error": "n\""}"#),
            (r#"{"rows": [1]}"#, OutputShape::Object, r#"{"output": "n\""}"#),
            (r#"[1, 2]"#, OutputShape::Any, r#""n\"""#),
        ] {
            assert_eq!(replaced(value, shape).as_deref(), Some(expected), "{value}");
        }
        assert_eq!(replaced("{\"type\": \"computer_screenshot\"}", blocks), None);
        assert_eq!(replaced("null", blocks), None);
    }

    #[test]
    fn strings_stand_in_order_however_deep() {
        let strings = |value: &str, shape| {
            let source = Source::of(value).expect("JSON");
            let output = CallOutput::of(source.first(), shape).expect("a result");
            output.strings().iter().map(|string| string.raw().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(
            strings(r#"{"a": ["x", {"b": "y"}], "c": "z"}"#, OutputShape::Object),
            [r#""x""#, r#""y""#, r#""z""#]
        );
        assert_eq!(
            strings(r#"[{"type": "text", "text": "x"}, {"json": ["y"]}, "z"]"#, OutputShape::Blocks("")),
            [r#""x""#, r#""y""#, r#""z""#]
        );
        let deep = format!("{}\"x\"{}", "[".repeat(1_000), "]".repeat(1_000));
        assert_eq!(strings(&deep, OutputShape::Any), [r#""x""#]);
    }
}
