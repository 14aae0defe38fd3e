//! Detects the format of a list of messages from all of its messages.
//!
//! Each format rates how well a message fits it, and knows no other format; this file compares the ratings. A format
//! that cannot read a message is ruled out. So is a format whose claim on a message is less specific than that of a
//! variant. Of the rest, the one with evidence wins. Evidence for several formats is an error, because a wrong guess
//! would read calls as text.
//!
//! Where this rules out all formats, a message that none of them knows does not count against a format that reads most
//! of the others: it is of a kind that is newer than this program.
//!
//! The first message never suffices: the traits that distinguish formats, tool calls and results, often come late.
//! Messages with nothing but text fit several formats alike. They are read as the first of these in the table, which is
//! safe because they have no calls to pair.
//!
//! A compacted transcript is detected as the same format again. There is one exception: a cut may leave a list of roles
//! and texts, which is legal in several formats and has no place for a mark. It is then read as a format that yields
//! the same roles, texts, calls and results, and the same bytes when it is compacted again.

use crate::fence;
use crate::foreign;
use crate::format::{EnvelopeScore, Format, MatchScore};
use crate::formats::FORMATS;
use crate::json::{Items, Json, JsonKind, Object};
use crate::read_error::{Ambiguity, Found};

/// Why no format was found.
#[derive(Debug)]
pub enum Problem<'a> {
    /// Several formats have evidence.
    Ambiguous(Ambiguity),
    /// No format can read this message.
    Unknown {
        message: Json<'a>,
        /// What it is instead.
        found: Found,
    },
}

/// The evidence for and against one format so far.
struct Candidate<'a> {
    format: &'static Format,
    envelope: EnvelopeScore,
    /// The first message with a trait of the format, and the trait.
    evidence: Option<(usize, &'static str)>,
    /// Whether there is a summary of tcompact's with the mark of this format.
    is_marked: bool,
    /// Whether the format can read a message that other formats can read too.
    is_plain: bool,
    /// The number of messages that the format can read and that say so themselves.
    read: usize,
    /// The number of entries that the format's agent skips.
    skipped: usize,
    /// The number of messages that the format does not know, and no other format either, and the first of them.
    unknown: usize,
    first_unknown: Option<(usize, Json<'a>)>,
    /// The first message that rules out the format.
    mismatch: Option<(usize, Json<'a>)>,
}

impl<'a> Candidate<'a> {
    fn of(format: &'static Format, envelope: EnvelopeScore) -> Self {
        Candidate {
            format,
            envelope,
            evidence: None,
            is_marked: false,
            is_plain: false,
            read: 0,
            skipped: 0,
            unknown: 0,
            first_unknown: None,
            mismatch: None,
        }
    }

    /// Whether this can be the format of the list.
    fn fits(&self) -> bool {
        let is_supported = self.evidence.is_some() || self.is_plain || self.envelope != EnvelopeScore::Unknown;
        self.mismatch.is_none() && is_supported
    }

    /// Whether this can be the format although its agent skips most of the list, of which another format may know more.
    fn skips_most(&self) -> bool {
        self.fits() && self.skipped > self.read
    }

    /// Adds how well a message fits. `is_variant` is true if some format claims the message as its variant of another.
    fn add(&mut self, index: usize, message: Json<'a>, fit: MatchScore, is_variant: bool) {
        self.is_marked |= matches!(fit, MatchScore::Marked(_));
        self.read += usize::from(fit.is_message());
        match fit {
            MatchScore::Neutral => {}
            MatchScore::Skipped => self.skipped += 1,
            MatchScore::Own(what) | MatchScore::Marked(what) | MatchScore::Variant(what) => {
                self.evidence = self.evidence.or(Some((index, what)))
            }
            MatchScore::Shared(what) if !is_variant => self.evidence = self.evidence.or(Some((index, what))),
            MatchScore::Plain if !is_variant => self.is_plain = true,
            MatchScore::Mismatch | MatchScore::Shared(_) | MatchScore::Plain => {
                self.mismatch = self.mismatch.or(Some((index, message)));
            }
        }
    }

    fn add_unknown(&mut self, index: usize, message: Json<'a>) {
        self.unknown += 1;
        self.first_unknown = self.first_unknown.or(Some((index, message)));
    }

    /// Lets unknown messages rule out the format, unless its envelope or most other messages speak for it. An agent skips
    /// lines of its sessions that it does not know, however many they are, and behind a summary nothing else may be left.
    fn judge_unknown(&mut self, has_summary: bool) {
        let skips_unknown = self.format.session_files.is_some() && self.evidence.is_some();
        let is_behind_summary = has_summary && self.read > 0;
        let is_admitted = self.envelope == EnvelopeScore::Sure || skips_unknown || is_behind_summary;
        if self.unknown >= self.read && !is_admitted {
            self.mismatch = match (self.first_unknown, self.mismatch) {
                (Some((unknown, _)), Some((mismatch, _))) if mismatch < unknown => self.mismatch,
                (unknown, mismatch) => unknown.or(mismatch),
            };
        }
    }

    /// How far the format gets: one with evidence further than one without, and then one that fails later.
    fn reach(&self) -> (bool, Option<usize>) {
        (self.evidence.is_some(), self.mismatch.map(|(index, _)| index))
    }
}

/// The one format that all messages fit.
///
/// # Errors
/// The candidates if there are several, or the message that rules out the last one.
pub fn format<'a>(envelope: Option<Json<'a>>, messages: &Items<'a>) -> Result<&'static Format, Problem<'a>> {
    let envelope = envelope.map(Object::of);
    let first = messages.clone().next();
    // A file begins with an envelope or with the first line of a session.
    let misread = match &envelope {
        Some(envelope) => foreign::misread_program(envelope),
        None => first.map(Object::of).as_ref().and_then(foreign::misread_program),
    };
    let start = match &envelope {
        Some(envelope) => Some(envelope.json),
        None => first,
    };
    if let (Some(program), Some(message)) = (misread, start) {
        return Err(Problem::Unknown { message, found: Found::of_program("it", program) });
    }
    let mut candidates = candidates_of(envelope.as_ref());
    let Some(first) = first else {
        // No message rules out any format.
        let likely = candidates.iter().find(|candidate| candidate.envelope != EnvelopeScore::Unknown);
        return Ok(likely.unwrap_or(&candidates[0]).format);
    };
    if let Some(misread) = collect_evidence(&mut candidates, messages.clone()) {
        return Err(misread);
    }
    if !candidates.iter().any(Candidate::fits) || candidates.iter().any(Candidate::skips_most) {
        candidates = candidates_of(envelope.as_ref());
        collect_all_evidence(&mut candidates, messages.clone());
        let has_summary = messages.clone().any(fence::may_be_summary);
        for candidate in &mut candidates {
            candidate.judge_unknown(has_summary);
        }
        if candidates.iter().any(Candidate::fits)
            && let Some(of_program) = of_unread_program(messages)
        {
            return Err(of_program);
        }
    }
    let fitting: Vec<&Candidate<'_>> = candidates.iter().filter(|candidate| candidate.fits()).collect();
    if !fitting.is_empty() {
        return choose(&fitting, messages);
    }
    let evident: Vec<&Candidate<'_>> = candidates.iter().filter(|candidate| candidate.evidence.is_some()).collect();
    if evident.len() > 1 {
        return Err(ambiguous(&evident, messages));
    }
    Err(unknown(&candidates, envelope.as_ref(), first, messages))
}

/// The one of several fitting formats that a mark, the messages or the envelope speak for, or the first in the table.
fn choose<'a>(fitting: &[&Candidate<'a>], messages: &Items<'a>) -> Result<&'static Format, Problem<'a>> {
    if let Some(marked) = fitting.iter().find(|candidate| candidate.is_marked) {
        return Ok(marked.format);
    }
    let mut evident = Vec::new();
    for candidate in fitting {
        if candidate.evidence.is_some() {
            evident.push(*candidate);
        }
    }
    match evident.as_slice() {
        [] => {}
        [one] => return Ok(one.format),
        several => return Err(ambiguous(several, messages)),
    }
    let likely = fitting.iter().find(|candidate| candidate.envelope != EnvelopeScore::Unknown);
    Ok(likely.unwrap_or(&fitting[0]).format)
}

fn ambiguous<'a>(evident: &[&Candidate<'a>], messages: &Items<'a>) -> Problem<'a> {
    if let Some(of_program) = of_unread_program(messages) {
        return of_program;
    }
    let mut candidates = Vec::new();
    for candidate in evident {
        if let Some((at, what)) = candidate.evidence {
            candidates.push((candidate.format.name, at, what));
        }
    }
    Problem::Ambiguous(Ambiguity { candidates })
}

/// The formats that the envelope allows.
fn candidates_of<'a>(envelope: Option<&Object<'a>>) -> Vec<Candidate<'a>> {
    let mut candidates = Vec::with_capacity(FORMATS.len());
    for format in FORMATS {
        let score = match envelope {
            Some(envelope) => format.match_envelope(envelope),
            None => EnvelopeScore::Unknown,
        };
        candidates.push(Candidate::of(format, score));
    }
    if candidates.iter().any(|candidate| candidate.envelope == EnvelopeScore::Sure) {
        candidates.retain(|candidate| candidate.envelope == EnvelopeScore::Sure);
    }
    candidates
}

/// The formats that read a message and know its part that begins at a byte, without the one that does not know it.
pub(super) fn formats_that_know(message: Json<'_>, start: usize, without: &str) -> Box<[&'static str]> {
    let object = Object::of(message);
    let mut names = Vec::new();
    for format in FORMATS {
        if format.name != without
            && format.match_score(&object).is_message()
            && let Ok(read) = format.read(&object)
            && !foreign::is_unknown(&read, start)
        {
            names.push(format.name);
        }
    }
    names.into()
}

/// Asks the candidates about all messages. One that is ruled out is not asked about later messages. Returns the first
/// message that all of them would misread.
fn collect_evidence<'a>(candidates: &mut [Candidate<'a>], messages: Items<'a>) -> Option<Problem<'a>> {
    let mut scores: Vec<(usize, MatchScore)> = Vec::with_capacity(candidates.len());
    for (index, json) in messages.enumerate() {
        let message = Object::of(json);
        if let Some(program) = foreign::misread_message(&message) {
            return Some(Problem::Unknown {
                message: json,
                found: Found::of_program(&format!("message {index}"), program),
            });
        }
        scores.clear();
        let mut is_variant = false;
        for (at, candidate) in candidates.iter().enumerate() {
            if candidate.mismatch.is_none() {
                let score = candidate.format.match_score(&message);
                is_variant |= matches!(score, MatchScore::Variant(_));
                scores.push((at, score));
            }
        }
        for (at, score) in &scores {
            candidates[*at].add(index, json, *score, is_variant);
        }
    }
    None
}

/// Asks all candidates about all messages. A message that no format knows counts as unknown.
fn collect_all_evidence<'a>(candidates: &mut [Candidate<'a>], messages: Items<'a>) {
    for (index, json) in messages.enumerate() {
        let message = Object::of(json);
        let mut scores = Vec::with_capacity(candidates.len());
        let mut is_variant = false;
        for candidate in &*candidates {
            let score = candidate.format.match_score(&message);
            is_variant |= matches!(score, MatchScore::Variant(_));
            scores.push(score);
        }
        // An envelope can leave one candidate.
        let can_be_unknown =
            json.kind() == JsonKind::Object && !is_of_common_kind(&message) && !is_known_to_any(&message);
        for (candidate, score) in candidates.iter_mut().zip(scores) {
            if can_be_unknown && score == MatchScore::Mismatch {
                candidate.add_unknown(index, json);
            } else if !can_be_unknown && score == MatchScore::Skipped {
                candidate.mismatch = candidate.mismatch.or(Some((index, json)));
            } else {
                candidate.add(index, json, score, is_variant);
            }
        }
    }
}

/// Whether a message has a common role, and is a result, which has an order in every format, or says nothing, or spells the
/// role in capital letters: its words would be nobody's.
fn is_of_common_kind(message: &Object<'_>) -> bool {
    const ROLES: [&str; 7] = ["user", "human", "assistant", "ai", "model", "system", "developer"];
    let Some(role) = message.get_text("role") else { return false };
    let lowercase = role.decode().to_lowercase();
    if lowercase == "tool" {
        return true;
    }
    ROLES.contains(&&*lowercase) && (says_nothing(message) || !role.is(&lowercase))
}

fn says_nothing(message: &Object<'_>) -> bool {
    for key in ["content", "parts", "type"] {
        if message.get(key).is_some_and(|said| !said.is_falsy()) {
            return false;
        }
    }
    true
}

/// Whether a format knows a message.
fn is_known_to_any(message: &Object<'_>) -> bool {
    for format in FORMATS {
        let is_known = match format.match_score(message) {
            MatchScore::Plain => is_wholly_known(message, format),
            score => score.is_message(),
        };
        if is_known {
            return true;
        }
    }
    false
}

/// Whether a message without traits of a format is one that the format reads, and not one that is a little like it. No
/// format of such messages gives them a type.
fn is_wholly_known(message: &Object<'_>, format: &Format) -> bool {
    let is_typed = message.get_text("type").is_some();
    !is_typed && format.read(message).is_ok_and(|read| !read.content.is_empty() && !foreign::is_in(&read))
}

/// The first message that is one of a program whose files tcompact does not read.
fn of_unread_program<'a>(messages: &Items<'a>) -> Option<Problem<'a>> {
    for (index, message) in messages.clone().enumerate() {
        if let Some(program) = foreign::unread_program(message) {
            let found = Found::of_program(&format!("message {index}"), program);
            return Some(Problem::Unknown { message, found });
        }
    }
    None
}

/// The message on which the best candidate fails.
fn unknown<'a>(
    candidates: &[Candidate<'a>],
    envelope: Option<&Object<'a>>,
    first: Json<'a>,
    messages: &Items<'a>,
) -> Problem<'a> {
    if let Some(envelope) = envelope
        && let Some(program) = foreign::unread_program(envelope.json)
    {
        return Problem::Unknown { message: envelope.json, found: Found::of_program("it", program) };
    }
    if let Some(of_program) = of_unread_program(messages) {
        return of_program;
    }
    // Of equals, the first format of the table is the likeliest.
    let mut best: Option<&Candidate<'a>> = None;
    for candidate in candidates {
        if best.is_none_or(|best| candidate.reach() > best.reach()) {
            best = Some(candidate);
        }
    }
    let (format, index, message) = match best {
        Some(&Candidate { format, mismatch: Some((index, message)), .. }) => (format, index, message),
        _ => (FORMATS[0], 0, first),
    };
    let name = format.name;
    let found = match (best.and_then(|best| best.evidence), format.read(&Object::of(message))) {
        (_, Err(what)) => format!("message {index} {what}"),
        (Some((own, what)), Ok(_)) => format!(
            "it looks like {name} (message {own} has {what}), but message {index} does not; --from {name} reads it anyway,"
        ),
        (None, Ok(_)) => format!("message {index} is not of a format of `tcompact list formats`"),
    };
    Problem::Unknown { message, found: found.into() }
}

#[cfg(test)]
mod tests;
