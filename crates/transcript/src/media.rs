//! Pictures, sounds, videos and documents in messages: what is one, wherever a message holds it.
//!
//! Readers of formats know the blocks of their own providers. Everything else that a message holds can have media too:
//! results of MCP servers, outputs of hosted tools, values that a tool returned. [`find`] finds them by what they hold:
//! an object with a data URL or Base64, and labels. Data inside a text is sent as text, and counts so; [`in_text`] finds
//! it, since nobody can read it.

pub mod base64_data;
mod in_text;

use std::borrow::Cow;

use crate::json::{Json, JsonKind, named_strings};
use crate::text::Text;
use crate::wording::counted;

use base64_data::{decode_beginning, is_base64};
use in_text::has_run;
pub use in_text::{in_text, replace_data, without_data};

/// What a medium is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MediaKind {
    Picture,
    Sound,
    Video,
    /// A document, or any other file.
    Document,
}

impl MediaKind {
    /// The kind for a media type, such as `image/png`.
    pub fn of_type(media_type: &str) -> Self {
        match media_type.split('/').next().unwrap_or_default() {
            "image" => MediaKind::Picture,
            "audio" => MediaKind::Sound,
            "video" => MediaKind::Video,
            _ => MediaKind::Document,
        }
    }

    /// The kind of a block whose type is `word`: by the media type that it names, or else by the word.
    pub fn of_block(block: Json<'_>, word: &str) -> Self {
        if word.contains("image") {
            MediaKind::Picture
        } else if word.contains("audio") {
            MediaKind::Sound
        } else if word.contains("video") {
            MediaKind::Video
        } else {
            kind_of_named_type(block).or_else(|| kind_of_data_url(block)).unwrap_or(MediaKind::Document)
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            MediaKind::Picture => "image",
            MediaKind::Sound => "audio",
            MediaKind::Video => "video",
            MediaKind::Document => "file",
        }
    }
}

/// A medium, read from the value or the text that holds it.
#[derive(Debug, Clone)]
pub struct Medium<'a> {
    pub kind: MediaKind,
    /// Its media type, where the value or the header of the bytes tells it.
    pub media_type: Option<String>,
    place: MediaPlace<'a>,
}

/// Where the bytes of a medium are.
#[derive(Debug, Clone)]
enum MediaPlace<'a> {
    /// In the value, as Base64 (or, if it is not Base64, as they are).
    Inline(Cow<'a, str>),
    /// At an address.
    Address(Cow<'a, str>),
    /// Under an id, or nowhere.
    Unknown,
}

/// The members that hold a media type.
const TYPES: &[&str] = &["media_type", "mimeType", "mime_type", "mediaType", "contentType", "format"];
/// How data of a known type begins: bytes at the start, more bytes at an offset, and the type.
const HEADERS: [(&[u8], usize, &[u8], &str); 16] = [
    (b"\x89PNG", 4, b"\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff\xe0", 0, b"", "image/jpeg"),
    (b"\xff\xd8\xff\xe1", 0, b"", "image/jpeg"),
    (b"\xff\xd8\xff\xdb", 0, b"", "image/jpeg"),
    (b"\xff\xd8\xff\xee", 0, b"", "image/jpeg"),
    (b"GIF8", 5, b"a", "image/gif"),
    (b"RIFF", 8, b"WEBP", "image/webp"),
    (b"RIFF", 8, b"WAVE", "audio/wav"),
    (b"II*\0", 0, b"", "image/tiff"),
    (b"MM\0*", 0, b"", "image/tiff"),
    (b"%PDF-", 0, b"", "application/pdf"),
    (b"PK\x03\x04", 5, b"\0", "application/zip"),
    (b"OggS\0", 0, b"", "audio/ogg"),
    (b"fLaC\0\0\0", 0, b"", "audio/flac"),
    (b"\x1aE\xdf\xa3", 0, b"", "video/webm"),
    (b"\0\0\0", 4, b"ftyp", "video/mp4"),
];
/// The members that hold data.
#[rustfmt::skip]
const DATA: &[&str] = &[
    "b64_json", "base64", "binary", "blob", "body", "bytes", "content", "data", "file", "fileData", "file_data",
    "image", "imageUrl", "image_url", "result", "url",
];
/// The members beside data that only describe it.
#[rustfmt::skip]
const LABELS: &[&str] = &[
    "_meta", "annotations", "cache_control", "detail", "encoding", "fileName", "file_name", "filename", "id",
    "identifier", "index", "kind", "name", "part_kind", "providerOptions", "type", "uri", "vendor_metadata",
    "video_metadata",
];
/// The least characters of Base64 beside a media type, and of Base64 that is known by its header only.
const LEAST_TYPED: usize = 64;
const LEAST_UNTYPED: usize = 512;
/// The most bytes of a member beside the data of a medium, which is then only a label such as its type or name.
const LONGEST_LABEL: usize = 300;
/// The longest edge of a picture, in pixels. A header that says more lies.
pub const LONGEST_EDGE: u64 = 1 << 17;
/// The schemes of addresses.
const SCHEMES: [&str; 5] = ["http://", "https://", "gs://", "s3://", "file://"];

impl<'a> Medium<'a> {
    /// Reads the value that holds a medium.
    pub fn of(kind: MediaKind, json: Json<'a>) -> Self {
        let media_type = named_type(kind, json);
        match data_of(json).and_then(|data| data.text()) {
            Some(text) => Medium::of_data(kind, media_type, text.decode()),
            None => Medium { kind, media_type, place: MediaPlace::Unknown },
        }
    }

    /// Reads data inside a text, as [`in_text`] finds it.
    pub fn of_text(data: &'a str) -> Self {
        let medium = Medium::of_data(MediaKind::Document, None, Cow::Borrowed(data));
        let kind = medium.media_type.as_deref().map_or(MediaKind::Document, MediaKind::of_type);
        Medium { kind, ..medium }
    }

    /// Reads a data URL, an address, or Base64.
    fn of_data(kind: MediaKind, named: Option<String>, text: Cow<'a, str>) -> Self {
        if SCHEMES.iter().any(|scheme| text.starts_with(scheme)) {
            return Medium { kind, media_type: named, place: MediaPlace::Address(text) };
        }
        let mut media_type = named;
        let mut start = 0;
        if let Some((header, payload)) = text.strip_prefix("data:").and_then(|url| url.split_once(',')) {
            start = text.len() - payload.len();
            let of_url = header.split(';').next().unwrap_or_default();
            if !of_url.is_empty() {
                // JSON may escape the slash.
                media_type = Some(of_url.replace('\\', ""));
            }
        }
        let payload = match text {
            Cow::Borrowed(text) => Cow::Borrowed(&text[start..]),
            Cow::Owned(text) => Cow::Owned(text[start..].to_owned()),
        };
        let media_type = media_type.or_else(|| header_type(&payload).map(str::to_owned));
        let is_data = media_type.is_some() || payload.len() >= LEAST_TYPED;
        let place = if is_data { MediaPlace::Inline(payload) } else { MediaPlace::Unknown };
        Medium { kind, media_type, place }
    }

    /// Whether it is a text that people write, such as a note, and its bytes are here.
    pub fn is_plain_text(&self) -> bool {
        const TYPES: [&str; 4] = ["text/plain", "text/markdown", "file/txt", "file/md"];
        let Some(media_type) = &self.media_type else { return false };
        let named = media_type.split(';').next().unwrap_or_default().trim();
        matches!(self.place, MediaPlace::Inline(_)) && TYPES.contains(&named)
    }

    /// The width and height of a picture in pixels, where its header says them.
    pub fn size(&self) -> Option<(u64, u64)> {
        let MediaPlace::Inline(data) = &self.place else { return None };
        // Most headers are short, but a photo can have a preview before its size.
        for most in [1_024, 256 * 1_024] {
            let Ok(size) = imagesize::blob_size(&decode_beginning(data, most)) else { continue };
            let (width, height) = (size.width as u64, size.height as u64);
            let edges = 1..=LONGEST_EDGE;
            return if edges.contains(&width) && edges.contains(&height) { Some((width, height)) } else { None };
        }
        None
    }

    pub fn bytes(&self) -> Option<Vec<u8>> {
        let MediaPlace::Inline(data) = &self.place else { return None };
        Some(if is_base64(data) { decode_beginning(data, usize::MAX) } else { data.as_bytes().to_vec() })
    }

    /// Describes it in words: its type, its width and height, and its size; or its address.
    pub fn words(&self) -> String {
        const LONGEST_TYPE: usize = 64;
        const LONGEST_ADDRESS: usize = 200;
        let kind = self.kind.name();
        let media_type = beginning(self.media_type.as_deref().unwrap_or(kind), LONGEST_TYPE);
        match &self.place {
            MediaPlace::Address(address) => format!("{kind} at {}", beginning(address, LONGEST_ADDRESS)),
            MediaPlace::Unknown => media_type.to_owned(),
            MediaPlace::Inline(data) => {
                let bytes = counted(byte_count(data) as u64, "byte");
                match self.size() {
                    Some((width, height)) if self.kind == MediaKind::Picture => {
                        format!("{media_type}, {width}×{height}, {bytes}")
                    }
                    _ => format!("{media_type}, {bytes}"),
                }
            }
        }
    }
}

/// So many characters of the beginning of a text.
fn beginning(text: &str, most: usize) -> &str {
    match text.char_indices().nth(most) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

/// How many bytes data has, which is Base64 or as it is.
fn byte_count(data: &str) -> usize {
    if !is_base64(data) {
        return data.len();
    }
    data.bytes().filter(|byte| byte.is_ascii_alphanumeric() || b"+/-_".contains(byte)).count() * 3 / 4
}

/// The media type that a value names.
fn named_type(kind: MediaKind, json: Json<'_>) -> Option<String> {
    let (_, named) = named_strings(json).into_iter().find(|(key, _)| is_key_in(*key, TYPES))?;
    let named = named.text()?.decode();
    if named.is_empty() {
        None
    } else if named.contains('/') {
        Some(named.into_owned())
    } else {
        // Some providers name only the format.
        Some(format!("{}/{named}", kind.name()))
    }
}

/// The kind for the media type that a block names.
fn kind_of_named_type(block: Json<'_>) -> Option<MediaKind> {
    let named = TYPES.iter().find_map(|name| block.get_text(name))?.decode();
    if named.contains('/') { Some(MediaKind::of_type(&named)) } else { None }
}

/// The kind of the first data URL in a block.
fn kind_of_data_url(block: Json<'_>) -> Option<MediaKind> {
    for (_, value) in named_strings(block) {
        if let Some(text) = value.text()
            && text.raw().starts_with("data:")
        {
            return Some(kind_of_data(text));
        }
    }
    None
}

/// The string with the data or the address of the medium that a value holds.
pub fn data_of(medium: Json<'_>) -> Option<Json<'_>> {
    let mut data = None;
    let mut best = (false, 0);
    for (key, value) in named_strings(medium) {
        if is_key_in(key, TYPES) {
            continue;
        }
        // The longest of those that stand where data does; of equals, the last one.
        let rank = (is_key_in(key, DATA), value.raw().len());
        if rank >= best {
            data = Some(value);
            best = rank;
        }
    }
    data
}

fn is_key_in(key: Option<Json<'_>>, names: &[&str]) -> bool {
    let Some(key) = key else { return false };
    key.text().is_some_and(|key| key.is_in(names))
}

/// The media in a value, in order: the objects that hold nothing but a medium and labels, or the data alone where other
/// words stand beside it. Data in other strings is text.
pub fn find(value: Json<'_>) -> Vec<(Json<'_>, MediaKind)> {
    let mut found = Vec::new();
    let can_have_some = matches!(value.kind(), JsonKind::Array | JsonKind::Object) && has_run(value.raw());
    let mut open = if can_have_some { vec![value] } else { Vec::new() };
    while let Some(value) = open.pop() {
        // Shorter values hold no data.
        if value.raw().len() < LEAST_TYPED {
            continue;
        }
        match value.kind() {
            JsonKind::Array => open.extend(value.items().collect::<Vec<_>>().into_iter().rev()),
            JsonKind::Object => match of_object(value, false) {
                Some((medium, kind)) if medium.span() == value.span() => found.push((value, kind)),
                of_object => {
                    found.extend(of_object);
                    let inside: Vec<Json<'_>> = value.entries().map(|(_, value)| value).collect();
                    open.extend(inside.into_iter().rev());
                }
            },
            _ => {}
        }
    }
    found.sort_by_key(|(medium, _)| medium.span().start);
    found
}

/// The kind of the medium whose data is all that an object holds, without a label.
pub fn only_data(object: Json<'_>) -> Option<MediaKind> {
    let mut members = object.entries();
    let (Some((_, only)), None) = (members.next(), members.next()) else { return None };
    let text = only.text()?;
    if is_data(text, false) { Some(kind_of_data(text)) } else { None }
}

/// The medium of an object, and its kind: the object, where nothing but labels stands beside the data, or else the
/// data. `is_in_block` says that the object is the source of a block with a type.
fn of_object(object: Json<'_>, is_in_block: bool) -> Option<(Json<'_>, MediaKind)> {
    let members: Vec<(Text<'_>, Json<'_>)> = object.entries().collect();
    let is_block = is_in_block || members.iter().any(|(key, _)| key.is_in(&["type", "kind"]));
    let media_type = media_type_in(&members);
    let mut others = members.iter().filter(|(key, value)| !is_label(*key, *value)).map(|(_, value)| *value);
    for (key, data) in &members {
        if let Some(text) = data.text()
            && key.is_in(DATA)
            && let Some(kind) = kind_of_member(text, media_type.as_deref(), is_block)
        {
            let is_whole = others.all(|other| other.span() == data.span());
            return Some((if is_whole { object } else { *data }, kind));
        }
    }
    // A block around its source, such as {"type": "image", "source": {…}}.
    let (Some(source), None) = (others.next(), others.next()) else { return None };
    if source.kind() != JsonKind::Object || is_in_block || !is_block && members.len() > 1 {
        return None;
    }
    let (inside, kind) = of_object(source, is_block)?;
    if inside.span() == source.span() { Some((object, kind)) } else { None }
}

/// The media type that the first such member names. Some providers name only the format there, which is none.
fn media_type_in<'a>(members: &[(Text<'a>, Json<'a>)]) -> Option<Cow<'a, str>> {
    let (_, named) = members.iter().find(|(key, _)| key.is_in(TYPES))?;
    let named = named.text()?.decode();
    if named.contains('/') { Some(named) } else { None }
}

/// The kind of the medium whose data a member of an object can be, with the media type beside it.
fn kind_of_member(text: Text<'_>, media_type: Option<&str>, is_block: bool) -> Option<MediaKind> {
    let Some(media_type) = media_type else {
        return if is_block && is_data(text, false) { Some(kind_of_data(text)) } else { None };
    };
    // Of a text, the text itself stands there.
    let is_of_text = media_type.starts_with("text/") || media_type.ends_with("json");
    if is_data(text, !is_of_text) { Some(MediaKind::of_type(media_type)) } else { None }
}

/// Whether a member only describes a medium.
fn is_label(key: Text<'_>, value: Json<'_>) -> bool {
    matches!(value.kind(), JsonKind::Number | JsonKind::Bool | JsonKind::Null)
        || (key.is_in(TYPES) || key.is_in(LABELS)) && value.raw().len() <= LONGEST_LABEL
}

/// Whether a string is the data of a medium; `is_typed` says that a media type is beside it.
fn is_data(text: Text<'_>, is_typed: bool) -> bool {
    if is_data_url(text) {
        return true;
    }
    let least = if is_typed { LEAST_TYPED } else { LEAST_UNTYPED };
    text.raw().len() >= least
        && (is_typed || header_type(text.raw()).is_some())
        && is_base64(text.raw())
        && !is_hash(text.raw())
}

fn is_data_url(text: Text<'_>) -> bool {
    const LONGEST_HEADER: usize = 200;
    let raw = text.raw();
    let beginning = &raw[..raw.floor_char_boundary(LONGEST_HEADER)];
    text.raw().len() >= LEAST_TYPED && beginning.starts_with("data:") && beginning.contains(";base64,")
}

/// The kind of data without a media type beside it.
fn kind_of_data(text: Text<'_>) -> MediaKind {
    let raw = text.raw();
    let media_type = match raw.strip_prefix("data:") {
        Some(url) => url.split([';', ',']).next(),
        None => header_type(raw),
    };
    media_type.map_or(MediaKind::Document, MediaKind::of_type)
}

/// The media type that the header of Base64 tells.
fn header_type(base64: &str) -> Option<&'static str> {
    let bytes = decode_beginning(base64, 40);
    for (header, at, wanted, media_type) in HEADERS {
        if bytes.starts_with(header) && bytes.get(at..).is_some_and(|bytes| bytes.starts_with(wanted)) {
            return Some(media_type);
        }
    }
    None
}

/// Whether a text has only hexadecimal digits, as hashes have.
fn is_hash(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests;
