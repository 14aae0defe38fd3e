//! Old pictures, sounds and documents. Each is replaced by a note with its type, size and hash.

use std::ops::Range;

use crate::hash::sha256;
use crate::rewrite::media::{OffloadedFile, extension, unbase64};
use crate::transcript::edit::Edit;
use crate::transcript::json::Json;
use crate::transcript::outputs::named_strings;
use crate::transcript::{Content, Part, PartKind};

use crate::prune::note::note;
use crate::prune::rule::{Amount, IsReplaced, ProposedChange, RuleKind};
use crate::prune::scene::{Age, Scene, ToolResult};
use crate::redact::beginning;
use crate::wording::counted;

pub(super) const KIND: RuleKind = RuleKind {
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
const TYPES: [&str; 6] = ["media_type", "mimeType", "mime_type", "mediaType", "contentType", "format"];
/// How data of a known type begins.
const SIGNATURES: [(&[u8], &str); 5] = [
    (b"\x89PNG", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"BM", "image/bmp"),
    (b"%PDF-", "application/pdf"),
];

/// A picture, sound or document in a message.
struct Medium<'a> {
    message: usize,
    json: Json<'a>,
    /// The same in the source, with all of its bytes.
    original: Json<'a>,
    kind: &'static str,
    /// The list beside the content that has it as an element.
    list: Option<Json<'a>>,
}

fn find(scene: &Scene<'_, '_>, amount: Amount, _is_replaced: &IsReplaced<'_>) -> Vec<ProposedChange> {
    let Amount::Age(age) = amount else { return Vec::new() };
    let mut media: Vec<Medium<'_>> = Vec::new();
    let originals = &scene.original.messages;
    for (message, (read, original)) in scene.transcript.messages.iter().zip(originals).enumerate() {
        let (Content::Parts(parts), Content::Parts(originals)) = (&read.content, &original.content) else { continue };
        let list = scene.transcript.format.attachments(read);
        parts.iter().zip(originals).for_each(|(part, original)| add(message, part, original, list, &mut media));
    }
    let messages: Vec<usize> = media.iter().map(|medium| medium.message).collect();
    let old = scene.is_old(age, &messages);
    let old = media.iter().zip(old).filter(|(medium, is_old)| *is_old && scene.touchable[medium.message]);
    let (attached, parts): (Vec<_>, Vec<_>) = old.map(|(medium, _)| medium).partition(|medium| medium.list.is_some());
    // All attachments of a message are in one list, which one edit replaces.
    let attached = attached.chunk_by(|one, next| one.message == next.message);
    let attached = attached.filter_map(|media| detach(scene, media));
    parts.into_iter().filter_map(|medium| replace(scene, medium)).chain(attached).collect()
}

fn add<'a>(message: usize, part: &Part<'a>, original: &Part<'a>, list: Option<Json<'a>>, media: &mut Vec<Medium<'a>>) {
    let kind = match (&part.kind, &original.kind) {
        (PartKind::Image, _) => "image",
        (PartKind::Media, _) => "file",
        (PartKind::Result(Content::Parts(inner)), PartKind::Result(Content::Parts(originals))) => {
            return inner.iter().zip(originals).for_each(|(part, original)| add(message, part, original, list, media));
        }
        _ => return,
    };
    let list = list.filter(|list| is_within(part.json.span(), list.span()));
    media.push(Medium { message, json: part.json, original: original.json, kind, list });
}

fn is_within(inner: Range<usize>, outer: Range<usize>) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

/// Replaces a medium among the parts of a content by a text.
fn replace(scene: &Scene<'_, '_>, medium: &Medium<'_>) -> Option<ProposedChange> {
    let transcript = scene.transcript;
    let span = medium.json.span();
    // A medium that is the whole value of a member is required there.
    let is_element = transcript.source[..span.start].trim_end().ends_with(['[', ',']);
    if !is_element || span == transcript.messages[medium.message].span() {
        return None;
    }
    let (note, file) = removal_note(scene, medium);
    let block = transcript.format.text_block(medium.json, &note)?;
    let is_inside = |result: &&ToolResult<'_, '_>| is_within(span.clone(), result.output.value.span());
    let result = scene.results().iter().find(is_inside);
    if result.is_some_and(|result| scene.is_excepted(result.call)) {
        return None;
    }
    let mut edits = vec![Edit { range: span, text: block.to_string() }];
    edits.extend(result.map(|result| scene.without_copies(result)).unwrap_or_default());
    Some(ProposedChange {
        message: medium.message,
        edits,
        files: file.into_iter().collect(),
        ..ProposedChange::default()
    })
}

/// Removes media from the list beside the content of their message, and adds notes to the content.
fn detach(scene: &Scene<'_, '_>, media: &[&Medium<'_>]) -> Option<ProposedChange> {
    let &Medium { message, list: Some(list), .. } = *media.first()? else { return None };
    let mut results = scene.results().iter().filter(|result| result.message == message);
    if results.any(|result| scene.is_excepted(result.call)) {
        return None;
    }
    let (notes, files): (Vec<_>, Vec<_>) = media.iter().map(|medium| removal_note(scene, medium)).unzip();
    let format = scene.transcript.format;
    let noted = format.append_line(&scene.transcript.messages[message], &notes.join("\n"))?;
    let is_kept = |element: &Json<'_>| media.iter().all(|medium| medium.json.span() != element.span());
    let kept: Vec<&str> = list.items().filter(is_kept).map(|element| element.raw()).collect();
    let edits = vec![noted, Edit { range: list.span(), text: format!("[{}]", kept.join(", ")) }];
    Some(ProposedChange { message, edits, files: files.into_iter().flatten().collect(), ..ProposedChange::default() })
}

/// Returns the note that takes the place of a medium, and its bytes, if the transcript has them and there is an
/// archive.
fn removal_note(scene: &Scene<'_, '_>, medium: &Medium<'_>) -> (String, Option<OffloadedFile>) {
    let (what, file) = describe(medium);
    let file = file.filter(|_| scene.archive.is_some());
    let kept = file.as_ref().map(|file| format!("; its bytes are in media/{}", file.name)).unwrap_or_default();
    (note(&format!("{what} removed{kept}")), file)
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
        let shown = beginning(&text, LONGEST_ADDRESS);
        return (format!("{} at {shown}", medium.kind), None);
    }
    let strings = named_strings(medium.original);
    let data = strings.iter().max_by_key(|(_, text)| text.raw().len());
    let text = data.and_then(|(_, text)| Some(text.text()?.decode())).unwrap_or(text);
    let (media_type, payload) = match text.strip_prefix("data:").and_then(|url| url.split_once(',')) {
        Some((header, payload)) => {
            (header.split(';').next().map(str::to_owned).filter(|kind| !kind.is_empty()), payload)
        }
        None => (None, &*text),
    };
    let bytes = unbase64(payload).unwrap_or_else(|| text.as_bytes().to_vec());
    let known = || SIGNATURES.iter().find(|(signature, _)| bytes.starts_with(signature));
    let media_type = media_type.or(named).or_else(|| known().map(|(_, known)| (*known).to_owned()));
    let media_type = media_type.unwrap_or_else(|| medium.kind.to_owned());
    let media_type = if media_type.contains('/') || medium.kind != "image" || media_type == medium.kind {
        media_type
    } else {
        format!("image/{media_type}")
    };
    let media_type: String = media_type.chars().take(DIGITS * 4).collect();
    let digits = sha256(&bytes)[..DIGITS].to_owned();
    let what = format!("{media_type}, {}, sha256 {digits},", counted(bytes.len() as u64, "byte"));
    (what, Some(OffloadedFile { name: format!("{digits}.{}", extension(&media_type)), bytes }))
}
