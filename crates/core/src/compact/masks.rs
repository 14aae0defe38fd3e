//! A file with all of its secrets masked, with `--redact=all`: the text that is then compacted, and the way from its edits
//! to edits of the file.
//!
//! Everything is masked before anything is decided, so that no step has to know of it: messages and what is around and
//! between them, ids and names, keys, lines that are not JSON. The archive and the record of a restoration get what was
//! there.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use crate::exit::Failure;
use crate::redact::Redactor;
use crate::rewrite::Edit;
use crate::transcript::edit::composed;
use crate::transcript::framing::Document;
use crate::transcript::json::Json;
use crate::transcript::pieces::all_tool_data;
use crate::transcript::source::Source;
use crate::transcript::thoughts::{ThoughtMark, thoughts};
use crate::transcript::{MaskMark, Transcript};

/// The span of a value or of a line that is not JSON.
type FilePart<'a> = (Range<usize>, Option<Json<'a>>);

/// The masks of a file.
pub struct FileMasks {
    /// The edits that mask it, in order.
    pub edits: Vec<Edit>,
    conversations: Vec<ConversationMasks>,
}

/// The masks of a conversation: in its messages, and around and between them.
#[derive(Default)]
struct ConversationMasks {
    /// Which of the edits they are.
    edits: Range<usize>,
    /// By how many bytes the edits before them made the text longer.
    shift: isize,
    /// The number of masked places of each kind.
    places: BTreeMap<&'static str, u64>,
    /// The number of secrets of each kind, however often each is there.
    secrets: BTreeMap<&'static str, u64>,
    /// The messages with masks.
    marks: Vec<(usize, MaskMark)>,
}

impl FileMasks {
    /// Masks a file: `text` is its content, and `document` what was read of it.
    pub fn new(text: &str, source: &Source<'_>, document: &Document<'_>) -> Self {
        let transcripts = &document.transcripts;
        let data = all_tool_data(transcripts);
        let starts = starts(text, transcripts);
        let by_line = transcripts.first().is_some_and(|first| first.line.is_some());
        let mut masks = FileMasks { edits: Vec::new(), conversations: Vec::new() };
        masks.conversations.resize_with(transcripts.len(), ConversationMasks::default);
        let mut parts: Vec<FilePart<'_>> = source.values().map(|value| (value.span(), Some(value))).collect();
        parts.extend(source.broken.iter().cloned().map(|line| (line, None)));
        parts.sort_by_key(|(span, _)| span.start);
        // A line is masked alike whatever stands on others.
        let groups = if by_line { parts.chunks(1) } else { parts.chunks(parts.len().max(1)) };
        for parts in groups {
            let mut redactor = Redactor::default();
            let reserved = match parts.first() {
                Some((line, _)) if by_line => &text[line.clone()],
                _ => text,
            };
            redactor.reserve_placeholders(reserved);
            let mut edits = edits_of_parts(&mut redactor, text, parts, &data);
            if redactor.know_all() {
                edits = edits_of_parts(&mut redactor, text, parts, &data);
            }
            masks.count(&redactor, edits, &starts);
        }
        masks.assign(transcripts, &starts);
        masks
    }

    /// Adds edits, and counts what they mask for the conversations that begin at `starts`.
    fn count(&mut self, redactor: &Redactor, edits: Vec<Edit>, starts: &[usize]) {
        let mut seen = HashSet::new();
        for edit in edits {
            let owner = starts.partition_point(|start| *start <= edit.range.start).saturating_sub(1);
            if let Some(own) = self.conversations.get_mut(owner) {
                for (kind, number) in redactor.masks_in([&*edit.text].into_iter()) {
                    *own.places.entry(kind).or_default() += 1;
                    if seen.insert((owner, kind, number)) {
                        *own.secrets.entry(kind).or_default() += 1;
                    }
                }
            }
            self.edits.push(edit);
        }
    }

    /// Assigns the edits to the conversations.
    fn assign(&mut self, transcripts: &[Transcript<'_>], starts: &[usize]) {
        let (mut done, mut shift) = (0, 0);
        for (at, own) in self.conversations.iter_mut().enumerate() {
            let next = starts.get(at + 1).copied().unwrap_or(usize::MAX);
            let count = self.edits[done..].iter().take_while(|edit| edit.range.start < next).count();
            own.edits = done..done + count;
            own.shift = shift;
            let edits = &self.edits[own.edits.clone()];
            own.marks = marks(&transcripts[at], edits);
            shift += edits.iter().map(|edit| edit.text.len() as isize - edit.range.len() as isize).sum::<isize>();
            done += count;
        }
    }

    /// Marks the messages of the masked file, as `original` has them, and checks that they are the same.
    ///
    /// # Errors
    /// The masked file is not read as the same conversations.
    pub fn mark(&self, masked: &mut Document<'_>, original: &Document<'_>) -> Result<(), Failure> {
        let (masked, original) = (&mut masked.transcripts, &original.transcripts);
        if masked.len() != original.len() || !masked.iter().zip(original).all(|(one, other)| is_same(one, other)) {
            let what = "the messages cannot be told apart with their secrets masked; leave --redact=all out";
            return Err(Failure::unreadable(what));
        }
        for ((masked, original), own) in masked.iter_mut().zip(original).zip(&self.conversations) {
            masked.earlier_rounds = original.earlier_rounds;
            masked.record_id = original.record_id;
            for (message, was) in masked.messages.iter_mut().zip(&original.messages) {
                (message.earlier, message.round) = (was.earlier, was.round);
            }
            for (index, mark) in &own.marks {
                masked.messages[*index].mask = *mark;
            }
        }
        Ok(())
    }

    /// The edits of the file that mask a conversation and then edit it: `edits` are of the masked text.
    pub fn with_edits(&self, at: usize, masked: &str, edits: &[Edit]) -> Vec<Edit> {
        let own = &self.conversations[at];
        composed(masked, &self.edits[own.edits.clone()], edits, own.shift)
    }

    /// How many places of each kind are masked in a conversation.
    pub fn places(&self, at: usize) -> &BTreeMap<&'static str, u64> {
        &self.conversations[at].places
    }

    /// How many secrets of each kind are masked in a conversation, however often each is there.
    pub fn secrets(&self, at: usize) -> &BTreeMap<&'static str, u64> {
        &self.conversations[at].secrets
    }

    /// The indices of a conversation's messages with masks, in order.
    pub fn messages(&self, at: usize) -> impl Iterator<Item = usize> {
        self.conversations[at].marks.iter().map(|(index, _)| *index)
    }
}

/// Whether two conversations have the same messages, by their number and their pairs.
fn is_same(one: &Transcript<'_>, other: &Transcript<'_>) -> bool {
    one.messages.len() == other.messages.len() && one.pairing.pairs == other.pairing.pairs
}

/// Where conversations begin, with what is around them: on a line of its own with the line. An empty list, of which
/// nothing is known, begins with the next.
fn starts(text: &str, transcripts: &[Transcript<'_>]) -> Vec<usize> {
    let mut next = text.len();
    let mut starts = Vec::with_capacity(transcripts.len());
    for transcript in transcripts.iter().rev() {
        let first = transcript.entries().map(|entry| entry.span().start).min();
        let around = transcript.envelope.map(|envelope| envelope.span().start);
        let begins_line = transcript.line.is_some() && transcript.nth_of_line == 1;
        let place = if begins_line { around.or(first) } else { first.or(around) };
        next = match place {
            Some(place) if begins_line => memchr::memrchr(b'\n', &text.as_bytes()[..place]).map_or(0, |end| end + 1),
            Some(place) => place,
            None => next,
        };
        starts.push(next);
    }
    starts.reverse();
    starts
}

/// The edits that mask the secrets in some values, and in lines that are not JSON, in order.
fn edits_of_parts(redactor: &mut Redactor, text: &str, parts: &[FilePart<'_>], data: &[Range<usize>]) -> Vec<Edit> {
    let mut edits = Vec::new();
    for (span, value) in parts {
        match value {
            Some(value) => edits.extend(redactor.edits_in(*value, data, &[], 0)),
            None => edits.extend(line_edits(redactor, text, span.clone())),
        }
    }
    edits
}

/// The edits that mask the secrets in a line that is not JSON. Bytes that are not UTF-8 stand as NUL.
fn line_edits(redactor: &mut Redactor, text: &str, line: Range<usize>) -> Vec<Edit> {
    let mut start = line.start;
    let mut edits = Vec::new();
    for piece in text[line].split('\0') {
        if let std::borrow::Cow::Owned(masked) = redactor.mask(piece) {
            edits.push(Edit { range: start..start + piece.len(), text: masked });
        }
        start += piece.len() + 1;
    }
    edits
}

/// The messages that edits are in, each with what they mask.
fn marks(transcript: &Transcript<'_>, edits: &[Edit]) -> Vec<(usize, MaskMark)> {
    let mut marks: Vec<(usize, MaskMark)> = Vec::new();
    let mut signed: Vec<Range<usize>> = Vec::new();
    for edit in edits {
        let index = transcript.messages.partition_point(|message| message.span().end <= edit.range.start);
        let Some(message) = transcript.messages.get(index) else { continue };
        if message.span().start > edit.range.start {
            continue;
        }
        if marks.last().is_none_or(|(last, _)| *last != index) {
            marks.push((index, MaskMark::Text));
            signed.clear();
            for thought in thoughts(message) {
                if thought.mark == ThoughtMark::Signed {
                    signed.push(thought.json.span());
                }
            }
        }
        if signed.iter().any(|thought| thought.start <= edit.range.start && edit.range.end <= thought.end)
            && let Some(mark) = marks.last_mut()
        {
            mark.1 = MaskMark::SignedThinking;
        }
    }
    marks
}
