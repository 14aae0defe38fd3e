//! Compactions between a call and its result. pi writes them behind whole turns.

use serde_json::Value;

use crate::transcript::edit::Edit;
use crate::transcript::format::{MisplacedEntry, Transcript};
use crate::transcript::formats::pi::{KEYS, is_compaction};
use crate::transcript::json::{Json, Object};

/// Returns the compactions that stand between a call and its result.
pub(super) fn misplaced<'a>(transcript: &Transcript<'a>) -> Vec<MisplacedEntry<'a>> {
    let mut compactions: Vec<Json<'a>> =
        transcript.entries().filter(|entry| is_compaction(&Object::of(*entry))).collect();
    compactions.sort_by_key(|entry| entry.span().start);
    if compactions.is_empty() {
        return Vec::new();
    }
    let start = |message: usize| transcript.messages[message].span().start;
    let mut found = Vec::new();
    let mut done = 0;
    for pairs in transcript.pairing.pairs.chunk_by(|one, next| one.0 == next.0) {
        let call = pairs[0].0;
        let last = pairs.iter().map(|(_, result)| *result).max().unwrap_or(call);
        let first = compactions.partition_point(|entry| entry.span().start < start(call)).max(done);
        let inside = compactions[first..].iter().take_while(|entry| entry.span().start < start(last));
        for (at, compaction) in inside.enumerate() {
            done = first + at + 1;
            found.push(MisplacedEntry { message: call, entry: *compaction, result: transcript.messages[last].json });
        }
    }
    found
}

/// Returns the edits that move a compaction behind the result, in the file and in the chain.
pub(super) fn moved(transcript: &Transcript<'_>, misplaced: &MisplacedEntry<'_>) -> Vec<Edit> {
    let MisplacedEntry { entry, result: behind, .. } = *misplaced;
    let source = transcript.source;
    let span = entry.span();
    let rest = &source[span.end..];
    let line_end = rest.find('\n').filter(|end| rest[..*end].trim().is_empty()).map_or(0, |end| end + 1);
    let mut edits = vec![Edit { range: span.start..span.end + line_end, text: String::new() }];
    let id = |json: Json<'_>| json.get_text(KEYS.id).map(|id| id.decode().into_owned());
    let mut text = entry.raw().to_owned();
    if let (Some(own), Some(before), Some(parent)) = (id(entry), id(behind), entry.get(KEYS.parent)) {
        let place = parent.span();
        text.replace_range(place.start - span.start..place.end - span.start, &Value::from(before.as_str()).to_string());
        for other in transcript.entries().filter(|other| other.span() != span) {
            let Some(link) = other.get(KEYS.parent) else { continue };
            let Some(named) = link.text().map(|named| named.decode()) else { continue };
            if named == own {
                edits.push(Edit { range: link.span(), text: parent.raw().to_owned() });
            } else if named == before {
                edits.push(Edit { range: link.span(), text: Value::from(own.as_str()).to_string() });
            }
        }
    }
    let end = behind.span().end;
    edits.push(Edit { range: end..end, text: format!("\n{text}") });
    edits
}
