//! Values that a provider wrote itself and takes back only in its own form: where texts are in them, and how to write
//! others there.

use crate::edit::{Edit, edited_value};
use crate::json::{Json, JsonKind};
use crate::text::Text;

/// The type of a picture that a model made: Base64 in the member `result`, and the prompt in another.
pub(super) const GENERATED: &str = "image_generation_call";
const PROMPT: &str = "revised_prompt";
/// The type of a picture of a screen, and the smallest picture that can stand there: one black pixel.
const SCREENSHOT: &str = "computer_screenshot";
const BLANK: &str = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABAQAAAAA3bvkkAAAACklEQVR42mNgAAAAAgAB5Sfe/AAAAABJRU5ErkJggg==";
/// Members with text. Others hold text if they are long and have spaces, which ids and encrypted contents have not.
const TEXTS: [&str; 9] = ["text", "output", "logs", "stdout", "stderr", "content", "lines", "snippet", "result"];
/// The least bytes of a text under another name.
const LEAST_TEXT: usize = 200;

/// Whether an item is a picture that a model made, and still has it.
pub fn is_generated_picture(item: Json<'_>) -> bool {
    item.member_is("type", GENERATED) && item.get_text("result").is_none_or(|data| !data.is_empty())
}

/// Whether a value is a picture of a screen without a picture, or with the smallest one in its place.
pub fn is_blank_screenshot(value: Json<'_>) -> bool {
    if !value.member_is("type", SCREENSHOT) {
        return false;
    }
    match value.get("image_url") {
        Some(url) if !url.is_falsy() => url.text().is_some_and(|url| url.is(BLANK)),
        _ => value.get("file_id").is_none_or(|id| id.is_falsy()),
    }
}

/// Writes what can stand in place of a medium that is a part of an output; `None` where the provider takes nothing else.
pub fn instead_of_medium(value: Json<'_>, text: &str) -> Option<String> {
    if is_picture(value) { Some(logs(text)) } else { with_text(value, text) }
}

/// Writes the smallest picture in place of one of a screen, where the provider takes nothing else.
pub(super) fn with_blank_screenshot(value: Json<'_>) -> Option<String> {
    if !value.member_is("type", SCREENSHOT) || is_blank_screenshot(value) {
        return None;
    }
    let url = value.get("image_url")?;
    Some(edited_value(value, vec![Edit { range: url.span(), text: format!("\"{BLANK}\"") }]))
}

/// Writes a picture that a model made without its data. The text follows the prompt, the only text beside it.
fn without_generated_picture(item: Json<'_>, text: &str) -> Option<String> {
    let data = item.get("result")?.span();
    let text = match item.get_text(PROMPT) {
        Some(prompt) if !prompt.is_empty() => json_string(&format!("{}\n{text}", prompt.decode())),
        _ => json_string(text),
    };
    let edits = match item.get(PROMPT) {
        Some(prompt) => {
            vec![Edit { range: data, text: "\"\"".to_owned() }, Edit { range: prompt.span(), text }]
        }
        None => vec![Edit { range: data, text: format!("\"\", \"{PROMPT}\": {text}") }],
    };
    Some(edited_value(item, edits))
}

/// Writes a text as a string of JSON.
fn json_string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Writes a text among the outputs of a program.
fn logs(text: &str) -> String {
    format!("{{\"type\": \"logs\", \"logs\": {}}}", json_string(text))
}

/// A place in a value that can hold a text in a form that the provider accepts.
enum TextPlace {
    /// A string.
    String,
    /// A list of nothing but texts: strings, or objects that hold a text, or the address of a picture or a source.
    List,
    /// A document.
    Source,
}

/// The strings with text in a value, in order.
pub(super) fn strings(value: Json<'_>) -> Vec<Json<'_>> {
    let mut found = Vec::new();
    if value.member_is("type", GENERATED) {
        return found;
    }
    walk(value, &mut |value, is_text| {
        if value.kind() == JsonKind::String && is_text {
            found.push(value);
        }
        true
    });
    found
}

/// Writes a value with `text` in place of all its texts: in the first place, while the others are emptied.
pub(super) fn with_text(value: Json<'_>, text: &str) -> Option<String> {
    if value.member_is("type", GENERATED) {
        return without_generated_picture(value, text);
    }
    let mut edits = Vec::new();
    walk(value, &mut |value, is_text| {
        let Some(place) = TextPlace::of(value, is_text) else { return true };
        let text = if edits.is_empty() { text } else { "" };
        edits.push(Edit { range: value.span(), text: place.with(value, text) });
        false
    });
    if edits.is_empty() { None } else { Some(edited_value(value, edits)) }
}

impl TextPlace {
    fn of(value: Json<'_>, is_text: bool) -> Option<Self> {
        match value.kind() {
            JsonKind::String if is_text => Some(TextPlace::String),
            JsonKind::Array if is_list_of_texts(value, is_text) => Some(TextPlace::List),
            JsonKind::Object if is_document(value) => Some(TextPlace::Source),
            _ => None,
        }
    }

    /// Writes the value at such a place with another text.
    fn with(&self, value: Json<'_>, text: &str) -> String {
        match self {
            TextPlace::String => json_string(text),
            TextPlace::List if text.is_empty() => "[]".to_owned(),
            TextPlace::List => {
                let first = value.items().find(|element| !is_picture(*element));
                let inner = first.and_then(|first| with_text(first, text));
                format!("[{}]", inner.unwrap_or_else(|| logs(text)))
            }
            TextPlace::Source => text_source(value, text),
        }
    }
}

/// Writes a text as the source of a document, in place of another source.
pub fn text_source(source: Json<'_>, text: &str) -> String {
    let key = if source.get("mediaType").is_some() { "mediaType" } else { "media_type" };
    format!("{{\"type\": \"text\", \"{key}\": \"text/plain\", \"data\": {}}}", json_string(text))
}

/// Shows each value in a value, in order, and whether it holds text if it is a string. `see` says whether those inside of
/// it are shown too.
fn walk<'a>(value: Json<'a>, see: &mut dyn FnMut(Json<'a>, bool) -> bool) {
    let mut open = vec![(value, true)];
    while let Some((value, is_text)) = open.pop() {
        if !see(value, is_text) {
            continue;
        }
        let first = open.len();
        match value.kind() {
            JsonKind::Array => open.extend(value.items().map(|item| (item, is_text))),
            JsonKind::Object => {
                let kind = value.get_text("type");
                open.extend(value.entries().map(|(key, inner)| (inner, is_text_member(kind, key, inner))));
            }
            _ => {}
        }
        open[first..].reverse();
    }
}

/// Whether a member of an object of some type holds text, if it is a string.
fn is_text_member(kind: Option<Text<'_>>, key: Text<'_>, value: Json<'_>) -> bool {
    key.is_in(&TEXTS)
        || key.is("data") && kind.is_some_and(|kind| kind.is("text"))
        || key.is("url") && kind.is_some_and(|kind| kind.is("url"))
        || value.raw().len() >= LEAST_TEXT && value.raw().contains(' ') && value.kind() == JsonKind::String
}

/// Whether a list has nothing but texts, and pictures or sources among them.
fn is_list_of_texts(list: Json<'_>, is_text: bool) -> bool {
    for element in list.items() {
        let fits = match element.kind() {
            JsonKind::String => is_text,
            JsonKind::Object => is_picture(element) || has_only_texts(element),
            _ => false,
        };
        if !fits {
            return false;
        }
    }
    list.items().next().is_some()
}

/// Whether all members of an object hold text, except for its type.
fn has_only_texts(object: Json<'_>) -> bool {
    let kind = object.get_text("type");
    for (key, value) in object.entries() {
        let is_text = key.is("type") || is_text_member(kind, key, value);
        if value.kind() != JsonKind::String || !is_text {
            return false;
        }
    }
    true
}

/// Whether a value is a picture among the outputs of a program.
fn is_picture(value: Json<'_>) -> bool {
    value.member_is("type", "image") && value.get_text("url").is_some()
}

/// Whether a value is the source of a document, in whose place a text can stand.
fn is_document(value: Json<'_>) -> bool {
    let media_type = ["media_type", "mediaType"].iter().find_map(|key| value.get_text(key));
    value.member_is("type", "base64") && media_type.is_some_and(|named| named.starts_with("application/"))
}
