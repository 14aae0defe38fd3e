//! New messages and parts of a format.

use serde_json::{Value, json};

use crate::edit::Edit;
use crate::format::{Format, InsertionPoint, Path, SummaryMessage};
use crate::json::{Json, JsonKind, Object};
use crate::message::{Call, Message};
use crate::outputs::NewResult;

/// How a text looks that replaces a part of another kind.
#[derive(Debug, Clone, Copy)]
pub enum TextBlock {
    /// A block with this type, and the text under `text`.
    Typed(&'static str),
    /// An object with nothing but `text`.
    Bare,
    /// Depends on the part, which may have none.
    Written(fn(Json<'_>, &str) -> Option<Value>),
    /// There is none.
    Impossible,
}

/// An attached file that holds a text.
#[derive(Debug)]
pub struct TextFile {
    /// The member that the replaced file has, too.
    pub member: &'static str,
    /// The file as JSON, with [`PLACEHOLDER`] in place of the text.
    pub json: &'static str,
}

/// A list of media beside the content of a message.
#[derive(Debug)]
pub enum Attachments {
    At {
        /// The path to the list.
        list: Path,
        /// The path to the object with the text of the message, under `content`.
        beside: Path,
    },
    Read {
        /// The list of a message.
        list: for<'a> fn(&Message<'a>) -> Option<Json<'a>>,
        /// The edit that appends a line to what is sent with the list.
        append_line: fn(&Message<'_>, &str) -> Option<Edit>,
    },
}

/// New messages and parts of a format.
impl Format {
    pub fn write_summary(&self, summary: &SummaryMessage<'_>, at: &InsertionPoint<'_, '_>) -> Vec<Value> {
        (self.hooks.write_summary)(summary, at)
    }

    /// Writes a result for a call that has none; `None` if the format has no way to write one.
    pub fn write_result(&self, call: &Call<'_>, calling: &Message<'_>, text: &str) -> Option<NewResult> {
        (self.hooks.write_result)(call, calling, text)
    }

    /// The file with a text that can replace a medium that is not an element of a list; `None` if none can.
    pub fn write_text_file(&self, medium: Json<'_>, text: &str) -> Option<Value> {
        let form = self.text_file.as_ref().filter(|form| medium.get(form.member).is_some())?;
        let json = form.json.replace(&format!("\"{PLACEHOLDER}\""), &Value::from(text).to_string());
        Some(serde_json::from_str(&json).expect("a row's JSON"))
    }

    /// The message that holds results as its parts, with [`PLACEHOLDER`] in their place; `None` if each result is a message.
    pub fn write_results_message(&self) -> Option<Value> {
        Some(serde_json::from_str(self.results_message?).expect("a row's JSON"))
    }

    /// A block that can replace a part of another kind; `None` if none can.
    pub fn write_text_block(&self, part: Json<'_>, text: &str) -> Option<Value> {
        match self.text_block {
            TextBlock::Typed(kind) => Some(json!({"type": kind, "text": text})),
            TextBlock::Bare => Some(json!({"text": text})),
            TextBlock::Written(write) => write(part, text),
            TextBlock::Impossible => None,
        }
    }

    /// The list of media beside the content of a message, if it has one.
    pub fn attachments_of<'a>(&self, message: &Message<'a>) -> Option<Json<'a>> {
        match self.attachments.as_ref()? {
            Attachments::At { list, .. } => first_entry(message.json)?.at(list),
            Attachments::Read { list, .. } => list(message),
        }
    }

    /// The edit that appends a line to the content of a message with attachments; `None` if the content takes none.
    pub fn append_line(&self, message: &Message<'_>, line: &str) -> Option<Edit> {
        let beside = match self.attachments.as_ref()? {
            Attachments::At { beside, .. } => beside,
            Attachments::Read { append_line, .. } => return append_line(message, line),
        };
        let holder = Object::of(first_entry(message.json)?.at(beside)?);
        append_line(&holder, line)
    }
}

/// The entry of a message, or the first of its two where a message is a pair of entries.
fn first_entry(message: Json<'_>) -> Option<Json<'_>> {
    if message.kind() == JsonKind::Array { message.items().next() } else { Some(message) }
}

/// The placeholder for what the JSON of a row does not have yet.
pub const PLACEHOLDER: &str = "…";

/// The edit that appends a line to the text in the content of a message; `None` if the content holds something else than
/// text.
pub(crate) fn append_line(holder: &Object<'_>, line: &str) -> Option<Edit> {
    let quoted = json!(line).to_string();
    let Some(value) = holder.get("content") else {
        let start = holder.json.span().start + "{".len();
        return Some(Edit { range: start..start, text: format!("\"content\":{quoted},") });
    };
    match value.kind() {
        JsonKind::Null => Some(Edit { range: value.span(), text: quoted }),
        JsonKind::String => {
            let end = value.span().end - "\"".len();
            let line = &quoted["\"".len()..quoted.len() - "\"".len()];
            let text = if value.is_falsy() { line.to_owned() } else { format!("\\n{line}") };
            Some(Edit { range: end..end, text })
        }
        _ => None,
    }
}
