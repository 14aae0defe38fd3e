//! Media in a list beside the content of a message.

use serde_json::json;

use crate::transcript::edit::Edit;
use crate::transcript::json::{Json, JsonKind, Object};
use crate::transcript::message::{Content, Part, PartKind};

/// The elements of a list of one of these kinds; none if there is no list.
pub(crate) fn elements<'a>(list: Option<Json<'a>>, kind: JsonKind) -> impl Iterator<Item = Json<'a>> + use<'a> {
    list.into_iter().flat_map(|list| list.items()).filter(move |element| element.kind() == kind)
}

/// Appends parts to a content whose text, if it has any, is in `json`.
pub(crate) fn with_parts<'a>(content: Content<'a>, json: Option<Json<'a>>, mut more: Vec<Part<'a>>) -> Content<'a> {
    if more.is_empty() {
        return content;
    }
    let mut parts = match content {
        Content::Text(text) if text.is_empty() => Vec::new(),
        Content::Text(text) => json.map(|json| Part { json, kind: PartKind::Text(text) }).into_iter().collect(),
        Content::Parts(parts) => parts.into_vec(),
    };
    parts.append(&mut more);
    Content::Parts(parts.into())
}

/// The edit that appends a line to the text in the member `key` of an object; `None` if the member holds something else
/// than text.
pub(crate) fn append_line(holder: &Object<'_>, key: &str, line: &str) -> Option<Edit> {
    let quoted = json!(line).to_string();
    let Some(value) = holder.get(key) else {
        let start = holder.json.span().start + "{".len();
        return Some(Edit { range: start..start, text: format!("{}:{quoted},", json!(key)) });
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
