//! Old pictures, sounds and documents. Each is replaced by a note with its type, size and hash.

use crate::hash::sha256;
use crate::rewrite::media::{OffloadedFile, extension, unbase64};
use crate::transcript::edit::Edit;
use crate::transcript::json::Json;
use crate::transcript::outputs::named_strings;
use crate::transcript::{Content, Part, PartKind};

use crate::prune::note::note;
use crate::prune::rule::{Amount, Change, Kind};
use crate::prune::scene::{Age, Scene, ToolResult};

pub(super) const KIND: Kind = Kind {
    name: "media",
    takes: "SIZE",
    about: "pictures, sounds and documents older than SIZE (2: all but the last two) become one line",
    default: Amount::Age(Age::NotLast(2)),
    find,
};

/// Hexadecimal digits of a hash in notes and names of files.
const DIGITS: usize = 16;
/// The longest address that a note names, in characters.
const LONGEST_ADDRESS: usize = 200;
/// The members that hold the type of data.
const TYPES: [&str; 5] = ["media_type", "mimeType", "mime_type", "mediaType", "format"];

/// A picture, sound or document in a message.
struct Medium<'a> {
    message: usize,
    json: Json<'a>,
    kind: &'static str,
}

fn find(scene: &Scene<'_, '_>, amount: Amount) -> Vec<Change> {
    let Amount::Age(age) = amount else { return Vec::new() };
    let mut media: Vec<Medium<'_>> = Vec::new();
    for (message, read) in scene.transcript.messages.iter().enumerate() {
        let Content::Parts(parts) = &read.content else { continue };
        parts.iter().for_each(|part| add(message, part, &mut media));
    }
    let messages: Vec<usize> = media.iter().map(|medium| medium.message).collect();
    let old = scene.is_old(age, &messages);
    let old = media.iter().zip(old).filter(|(medium, is_old)| *is_old && scene.touchable[medium.message]);
    old.filter_map(|(medium, _)| remove(scene, medium)).collect()
}

fn add<'a>(message: usize, part: &Part<'a>, media: &mut Vec<Medium<'a>>) {
    let kind = match &part.kind {
        PartKind::Image => "image",
        PartKind::Media => "file",
        PartKind::Result(Content::Parts(inner)) => return inner.iter().for_each(|part| add(message, part, media)),
        _ => return,
    };
    media.push(Medium { message, json: part.json, kind });
}

fn remove(scene: &Scene<'_, '_>, medium: &Medium<'_>) -> Option<Change> {
    let transcript = scene.transcript;
    let span = medium.json.span();
    // A medium that is the whole value of a member is required there.
    let is_element = transcript.source[..span.start].trim_end().ends_with(['[', ',']);
    if !is_element || span == transcript.messages[medium.message].span() {
        return None;
    }
    let (what, file) = describe(medium);
    let place = |file: &OffloadedFile| scene.archive.map(|_| format!("; its bytes are in media/{}", file.name));
    let kept = file.as_ref().and_then(place).unwrap_or_default();
    let block = transcript.format.text_block(medium.json, &note(&format!("{what} removed{kept}")))?;
    let is_inside = |result: &&ToolResult<'_, '_>| {
        let value = result.output.value.span();
        value.start <= span.start && span.end <= value.end
    };
    let result = scene.results().iter().find(is_inside);
    if result.is_some_and(|result| scene.is_excepted(result.call)) {
        return None;
    }
    let mut edits = vec![Edit { range: span, text: block.to_string() }];
    edits.extend(result.map(|result| scene.without_copies(result)).unwrap_or_default());
    let files = file.filter(|_| scene.archive.is_some()).into_iter().collect();
    Some(Change { message: medium.message, edits, files, ..Change::default() })
}

/// Describes a medium in words, and returns its bytes, where the transcript has them.
fn describe(medium: &Medium<'_>) -> (String, Option<OffloadedFile>) {
    let strings = named_strings(medium.json);
    let data = strings.iter().max_by_key(|(_, text)| text.raw().len());
    let named = TYPES
        .iter()
        .find_map(|key| strings.iter().find(|(own, _)| own.and_then(|own| own.text()).is_some_and(|own| own.is(key))));
    let named = named.and_then(|(_, value)| Some(value.text()?.decode().into_owned()));
    let Some(text) = data.and_then(|(_, text)| Some(text.text()?.decode())) else {
        return (medium.kind.to_owned(), None);
    };
    if ["http://", "https://", "gs://", "s3://", "file://"].iter().any(|scheme| text.starts_with(scheme)) {
        let shown: String = text.chars().take(LONGEST_ADDRESS).collect();
        return (format!("{} at {shown}", medium.kind), None);
    }
    let (media_type, payload) = match text.strip_prefix("data:").and_then(|url| url.split_once(',')) {
        Some((header, payload)) => {
            (header.split(';').next().map(str::to_owned).filter(|kind| !kind.is_empty()), payload)
        }
        None => (None, &*text),
    };
    let media_type = media_type.or(named).unwrap_or_else(|| medium.kind.to_owned());
    let media_type = if media_type.contains('/') || medium.kind != "image" || media_type == medium.kind {
        media_type
    } else {
        format!("image/{media_type}")
    };
    let media_type: String = media_type.chars().take(DIGITS * 4).collect();
    let bytes = unbase64(payload).unwrap_or_else(|| text.as_bytes().to_vec());
    let digits = sha256(&bytes)[..DIGITS].to_owned();
    let what = format!("{media_type}, {} bytes, sha256 {digits},", bytes.len());
    (what, Some(OffloadedFile { name: format!("{digits}.{}", extension(&media_type)), bytes }))
}
