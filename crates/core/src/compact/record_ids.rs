//! Gives the conversations of a document the ids of their records, before anything is planned: notes name the record in
//! which the archive keeps what they stand for.

use crate::hash::sha256;
use crate::rewrite::way_back::without_end;
use crate::transcript::Transcript;
use crate::transcript::framing::Document;
use crate::transcript::json::Json;
use crate::transcript::record_id::RecordId;

/// Gives each conversation of a document its id, by the text that it stands in: its line where it has one, or else all of
/// the document. `bytes` are what the document was read from, which need not be UTF-8, and stand behind `lines_before`
/// lines of the same file.
pub fn assign_record_ids(document: &mut Document<'_>, bytes: &[u8], lines_before: usize) {
    let mut values = document.json.values().peekable();
    let mut lines = bytes.split(|byte| *byte == b'\n');
    let (mut hash_of_line, mut last_line) = (String::new(), lines_before);
    let mut hash_of_all = None;
    for (at, transcript) in document.transcripts.iter_mut().enumerate() {
        if let Some(line) = transcript.line
            && is_on_one_line(transcript, &mut values)
        {
            if line > last_line {
                let text = lines.nth(line - last_line - 1).unwrap_or_default();
                hash_of_line = sha256(without_end(text));
                last_line = line;
            }
            transcript.record_id = Some(RecordId::new(&hash_of_line, transcript.nth_of_line));
        } else {
            let hash = hash_of_all.get_or_insert_with(|| sha256(bytes));
            transcript.record_id = Some(RecordId::new(hash, at + 1));
        }
    }
}

/// Whether all of a conversation stands on the line on which it begins. `values` are those of its document, from the one
/// of the conversation before it.
fn is_on_one_line<'a>(
    transcript: &Transcript<'a>,
    values: &mut std::iter::Peekable<impl Iterator<Item = Json<'a>>>,
) -> bool {
    let start = transcript.entries().map(|entry| entry.span().start).min();
    let around = match (transcript.envelope, start) {
        (Some(envelope), _) => Some(envelope),
        (None, Some(start)) => {
            while values.next_if(|value| value.span().end <= start).is_some() {}
            values.peek().copied()
        }
        (None, None) => None,
    };
    around.is_some_and(|around| memchr::memchr(b'\n', around.raw().as_bytes()).is_none())
}
