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
    let is_blank = || match value.get("image_url").filter(|url| !url.is_falsy()) {
        Some(url) => url.text().is_some_and(|url| url.is(BLANK)),
        None => value.get("file_id").is_none_or(|id| id.is_falsy()),
    };
    value.member_is("type", SCREENSHOT) && is_blank()
}

/// Writes what can stand in place of a medium that is a part of an output; `None` where the provider takes nothing else.
pub fn instead_of_medium(value: Json<'_>, text: &str) -> Option<String> {
    if is_picture(value) { Some(logs(text)) } else { with_text(value, text) }
}

/// Writes the smallest picture in place of one of a screen, where the provider takes nothing else.
pub(super) fn with_blank_screenshot(value: Json<'_>) -> Option<String> {
    let url = value.get("image_url").filter(|_| value.member_is("type", SCREENSHOT) && !is_blank_screenshot(value))?;
    Some(edited_value(value, vec![Edit { range: url.span(), text: format!("\"{BLANK}\"") }]))
}

/// Writes a picture that a model made without its data. The text follows the prompt, the only text beside it.
fn without_generated_picture(item: Json<'_>, text: &str) -> Option<String> {
    let data = item.get("result")?;
    let prompt = item.get_text(PROMPT).map(|prompt| prompt.decode()).filter(|prompt| !prompt.is_empty());
    let text = prompt.map(|prompt| format!("{prompt}\n{text}")).unwrap_or_else(|| text.to_owned());
    let text = serde_json::Value::from(text).to_string();
    let mut edits = vec![Edit { range: data.span(), text: "\"\"".to_owned() }];
    match item.get(PROMPT) {
        Some(prompt) => edits.push(Edit { range: prompt.span(), text }),
        None => edits[0].text.push_str(&format!(", \"{PROMPT}\": {text}")),
    }
    Some(edited_value(item, edits))
}

/// Writes a text among the outputs of a program.
fn logs(text: &str) -> String {
    format!("{{\"type\": \"logs\", \"logs\": {}}}", serde_json::Value::from(text))
}

/// A place in a value that can hold a text in a form that the provider accepts.
enum TextPlace<'a> {
    /// A string.
    String(Json<'a>),
    /// A list of nothing but texts: strings, or objects that hold a text, or the address of a picture or a source.
    List(Json<'a>),
    /// A document.
    Source(Json<'a>),
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
    let mut places = Vec::new();
    walk(value, &mut |value, is_text| {
        let place = match value.kind() {
            JsonKind::String if is_text => Some(TextPlace::String(value)),
            JsonKind::Array if is_list_of_texts(value, is_text) => Some(TextPlace::List(value)),
            JsonKind::Object if is_document(value) => Some(TextPlace::Source(value)),
            _ => None,
        };
        let is_open = place.is_none();
        places.extend(place);
        is_open
    });
    let texts = [text].into_iter().chain(std::iter::repeat(""));
    let written = |(place, text): (&TextPlace<'_>, &str)| {
        let (TextPlace::String(old) | TextPlace::List(old) | TextPlace::Source(old)) = place;
        Edit { range: old.span(), text: place.written(text) }
    };
    let edits: Vec<_> = places.iter().zip(texts).map(written).collect();
    (!edits.is_empty()).then(|| edited_value(value, edits))
}

impl TextPlace<'_> {
    fn written(&self, text: &str) -> String {
        let string = serde_json::Value::from(text).to_string();
        match self {
            TextPlace::String(_) => string,
            TextPlace::List(_) if text.is_empty() => "[]".to_owned(),
            TextPlace::List(list) => {
                let first = list.items().find(|element| !is_picture(*element));
                let inner = first.and_then(|first| with_text(first, text));
                format!("[{}]", inner.unwrap_or_else(|| logs(text)))
            }
            TextPlace::Source(source) => text_source(*source, text),
        }
    }
}

/// Writes a text as the source of a document, in place of another source.
pub fn text_source(source: Json<'_>, text: &str) -> String {
    let key = if source.get("mediaType").is_some() { "mediaType" } else { "media_type" };
    format!("{{\"type\": \"text\", \"{key}\": \"text/plain\", \"data\": {}}}", serde_json::Value::from(text))
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
    let is_type = |name: &str| kind.is_some_and(|kind| kind.is(name));
    let is_long = || value.raw().len() >= LEAST_TEXT && value.raw().contains(' ') && value.kind() == JsonKind::String;
    TEXTS.iter().any(|name| key.is(name))
        || key.is("data") && is_type("text")
        || key.is("url") && is_type("url")
        || is_long()
}

/// Whether a list has nothing but texts, and pictures or sources among them.
fn is_list_of_texts(list: Json<'_>, is_text: bool) -> bool {
    let is_only_text = |element: Json<'_>| {
        let kind = element.get_text("type");
        let is_type_or_text = |(key, value): (Text<'_>, Json<'_>)| {
            value.kind() == JsonKind::String && (key.is("type") || is_text_member(kind, key, value))
        };
        match element.kind() {
            JsonKind::String => is_text,
            JsonKind::Object => is_picture(element) || element.entries().all(is_type_or_text),
            _ => false,
        }
    };
    list.items().next().is_some() && list.items().all(is_only_text)
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
