//! Old pictures, sounds and documents. Each is replaced by a note with its type, size and hash.

use std::collections::HashSet;
use std::ops::Range;

use serde_json::Value;

use crate::rewrite::media::{HASH_DIGITS, OffloadedFile};
use crate::transcript::edit::Edit;
use crate::transcript::formats::Format;
use crate::transcript::json::Json;
use crate::transcript::media::{MediaKind, Medium, in_text};
use crate::transcript::outputs::OutputShape;
use crate::transcript::pieces::Piece;
use crate::transcript::{Message, Role, outputs, provider_texts};

use crate::prune::note::note;
use crate::prune::rule::{Amount, IsReplaced, ProposedChange, RuleKind, inside_quotes, is_element, replace_text};
use crate::prune::scene::{Age, Scene, ToolResult};

pub(super) const KIND: RuleKind = RuleKind {
    name: "media",
    takes: "SIZE",
    about: "pictures, sounds and documents older than SIZE (2: all but the last two) become one line",
    default: Amount::Age(Age::NotLast(2)),
    find,
};

/// A medium as the rule finds it.
struct FoundMedium<'a> {
    message: usize,
    place: MediumPlace<'a>,
    /// The same in the source, with all of its bytes.
    original: Medium<'a>,
}

/// Where a medium is.
#[derive(Clone)]
enum MediumPlace<'a> {
    /// A value that is nothing else.
    Value(Json<'a>),
    /// An element of the list beside the content.
    Attachment { list: Json<'a>, json: Json<'a> },
    /// Data in a text, by its place in the source.
    InText(Range<usize>),
}

impl MediumPlace<'_> {
    fn span(&self) -> Range<usize> {
        match self {
            MediumPlace::Value(json) | MediumPlace::Attachment { json, .. } => json.span(),
            MediumPlace::InText(span) => span.clone(),
        }
    }
}

fn find(scene: &Scene<'_, '_>, amount: Amount, _is_replaced: &IsReplaced<'_>) -> Vec<ProposedChange> {
    let Amount::Age(age) = amount else { return Vec::new() };
    let mut media: Vec<FoundMedium<'_>> = Vec::new();
    for (message, (read, original)) in scene.transcript.messages.iter().zip(&scene.original.messages).enumerate() {
        media.extend(media_of(scene, message, read, original));
    }
    let messages: Vec<usize> = media.iter().map(|medium| medium.message).collect();
    let mut changes = Vec::new();
    let mut attached: Vec<&FoundMedium<'_>> = Vec::new();
    for (medium, is_old) in media.iter().zip(scene.is_old(age, &messages)) {
        if !is_old || !scene.touchable[medium.message] || is_text_of_user(scene, medium) {
            continue;
        }
        match medium.place {
            MediumPlace::Attachment { .. } => attached.push(medium),
            MediumPlace::Value(_) | MediumPlace::InText(_) => changes.extend(replace(scene, medium)),
        }
    }
    // All attachments of a message are in one list, which one edit replaces.
    for media in attached.chunk_by(|one, next| one.message == next.message) {
        changes.extend(detach(scene, media));
    }
    changes
}

/// The media of a message, in order. `read` can have its secrets masked; `original` has not.
fn media_of<'s>(
    scene: &Scene<'s, '_>,
    message: usize,
    read: &'s Message<'_>,
    original: &'s Message<'_>,
) -> Vec<FoundMedium<'s>> {
    let list = if read.has_media() { scene.transcript.format.attachments_of(read) } else { None };
    let mut originals = Vec::new();
    original.pieces(&mut |_, piece| {
        if let Piece::Media(kind, json) = piece {
            originals.push(Medium::of(kind, json));
        }
    });
    let mut originals = originals.into_iter();
    let mut found = Vec::new();
    read.pieces(&mut |_, piece| match (piece.text(), piece) {
        (_, Piece::Media(kind, json)) => {
            let original = originals.next().unwrap_or_else(|| Medium::of(kind, json));
            let place = match list {
                Some(list) if is_within(json.span(), list.span()) => MediumPlace::Attachment { list, json },
                _ => MediumPlace::Value(json),
            };
            found.push(FoundMedium { message, place, original });
        }
        (Some(text), _) => {
            let Some(in_source) = text.span_in(scene.transcript.source) else { return };
            for data in in_text(text.raw()) {
                let start = in_source.start + data.start;
                let place = MediumPlace::InText(start..start + data.len());
                found.push(FoundMedium { message, place, original: Medium::of_text(&text.raw()[data]) });
            }
        }
        _ => {}
    });
    let format = scene.transcript.format;
    let originals = beside(format, original);
    for (at, (json, kind)) in beside(format, read).into_iter().enumerate() {
        let (original, kind) = originals.get(at).copied().unwrap_or((json, kind));
        found.push(FoundMedium { message, place: MediumPlace::Value(json), original: Medium::of(kind, original) });
    }
    found
}

/// The media of a provider's tools that are no pieces of the message.
fn beside<'a>(format: &Format, message: &Message<'a>) -> Vec<(Json<'a>, MediaKind)> {
    let hosted = format.provider_results(message);
    if hosted.is_empty() {
        return Vec::new();
    }
    let mut pieces = HashSet::new();
    message.pieces(&mut |_, piece| {
        if let Piece::Media(_, json) = piece {
            pieces.insert(json.span().start);
        }
    });
    let mut found = Vec::new();
    for result in hosted {
        found.extend(outputs::media_of_hosted(result.output.value));
    }
    found.retain(|(json, _)| !pieces.contains(&json.span().start));
    found
}

fn is_within(inner: Range<usize>, outer: Range<usize>) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

/// Whether a medium is a text that the user attached: chats make a file of a long text that is pasted.
fn is_text_of_user(scene: &Scene<'_, '_>, medium: &FoundMedium<'_>) -> bool {
    scene.transcript.messages[medium.message].role == Role::User
        && medium.original.is_plain_text()
        && result_around(scene, &medium.place.span()).is_none()
}

/// The result in which a place of the source is.
fn result_around<'w, 's, 'a>(scene: &'w Scene<'s, 'a>, span: &Range<usize>) -> Option<&'w ToolResult<'s, 'a>> {
    let results = scene.results();
    let begun = results.partition_point(|result| result.output.value.span().start <= span.start);
    results[..begun].last().filter(|result| is_within(span.clone(), result.output.value.span()))
}

/// Replaces a medium by a note.
fn replace(scene: &Scene<'_, '_>, medium: &FoundMedium<'_>) -> Option<ProposedChange> {
    let (note, file) = removal_note(scene, medium);
    let span = medium.place.span();
    let result = result_around(scene, &span);
    if result.is_some_and(|result| scene.must_stay(result)) {
        return None;
    }
    let mut edits = match &medium.place {
        MediumPlace::InText(_) => vec![Edit { range: span, text: inside_quotes(&note) }],
        MediumPlace::Value(json) | MediumPlace::Attachment { json, .. } => {
            replace_value(scene, medium.message, *json, result, &note)?
        }
    };
    if let Some(result) = result {
        edits.extend(scene.without_copies(result));
    }
    let files = file.into_iter().collect();
    Some(ProposedChange { message: medium.message, edits, files, ..ProposedChange::default() })
}

/// The edits that replace the value that holds a medium; nothing where its provider takes nothing else there.
fn replace_value(
    scene: &Scene<'_, '_>,
    message: usize,
    json: Json<'_>,
    result: Option<&ToolResult<'_, '_>>,
    note: &str,
) -> Option<Vec<Edit>> {
    let transcript = scene.transcript;
    let span = json.span();
    if let Some(result) = result
        && result.output.value.span() == span
    {
        let edits = replace_text(result, note);
        return if edits.is_empty() { None } else { Some(edits) };
    }
    if result.is_some_and(|result| result.output.shape == OutputShape::Texts) {
        let text = provider_texts::instead_of_medium(json, note)?;
        return Some(vec![Edit { range: span, text }]);
    }
    let is_element = is_element(transcript.source, json);
    // A document can have a text beside its source, which stays.
    if !is_element && ["base64", "url", "file"].iter().any(|name| json.member_is("type", name)) {
        return Some(vec![Edit { range: span, text: provider_texts::text_source(json, note) }]);
    }
    let block = match result {
        // A tool can return any value there.
        Some(result) if !is_element && !matches!(result.output.shape, OutputShape::Blocks(_)) => Value::from(note),
        _ if span == transcript.messages[message].span() => return None,
        None if !is_element => transcript.format.write_text_file(json, note)?,
        _ if !is_element => return None,
        _ => transcript.format.write_text_block(json, note)?,
    };
    Some(vec![Edit { range: span, text: block.to_string() }])
}

/// Removes media from the list beside the content of their message, and adds notes to the content.
fn detach(scene: &Scene<'_, '_>, media: &[&FoundMedium<'_>]) -> Option<ProposedChange> {
    let FoundMedium { message, place: MediumPlace::Attachment { list, .. }, .. } = media.first()? else { return None };
    let (message, list) = (*message, *list);
    let mut results = scene.results().iter().filter(|result| result.message == message);
    if results.any(|result| scene.is_excepted(result.name)) {
        return None;
    }
    let (mut notes, mut files) = (Vec::new(), Vec::new());
    for medium in media {
        let (note, file) = removal_note(scene, medium);
        notes.push(note);
        files.extend(file);
    }
    let format = scene.transcript.format;
    let noted = format.append_line(&scene.transcript.messages[message], &notes.join("\n"))?;
    let removed: HashSet<usize> = media.iter().map(|medium| medium.place.span().start).collect();
    let kept = list.items().filter(|element| !removed.contains(&element.span().start));
    let kept: Vec<&str> = kept.map(|element| element.raw()).collect();
    let edits = vec![noted, Edit { range: list.span(), text: format!("[{}]", kept.join(", ")) }];
    Some(ProposedChange { message, edits, files, ..ProposedChange::default() })
}

/// The note that takes the place of a medium, and its bytes, if the transcript has them and there is an archive.
fn removal_note(scene: &Scene<'_, '_>, medium: &FoundMedium<'_>) -> (String, Option<OffloadedFile>) {
    let (what, file) = removed(&medium.original, scene.archive.is_some());
    (note(&what), file)
}

/// Says what was removed, and returns its bytes, if the transcript has them and there is an archive.
pub(super) fn removed(medium: &Medium<'_>, has_archive: bool) -> (String, Option<OffloadedFile>) {
    let words = medium.words();
    let Some(bytes) = medium.bytes() else { return (format!("{words} removed"), None) };
    let file = OffloadedFile::of_medium(bytes, medium.media_type.as_deref().unwrap_or_default());
    let what = format!("{words}, sha256 {}, removed", &file.name[..HASH_DIGITS]);
    if has_archive { (format!("{what}; its bytes are in media/{}", file.name), Some(file)) } else { (what, None) }
}
