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
            let first = [self.first_unknown, self.mismatch].into_iter().flatten().min_by_key(|(index, _)| *index);
            self.mismatch = first;
        }
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
    if let (Some(program), Some(message)) = (misread, envelope.as_ref().map(|envelope| envelope.json).or(first)) {
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
    let skips_most = |candidate: &Candidate<'_>| candidate.fits() && candidate.skipped > candidate.read;
    if !candidates.iter().any(Candidate::fits) || candidates.iter().any(skips_most) {
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
    let evident: Vec<&Candidate<'a>> =
        fitting.iter().copied().filter(|candidate| candidate.evidence.is_some()).collect();
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
        candidates.extend(candidate.evidence.map(|(at, what)| (candidate.format.name, at, what)));
    }
    Problem::Ambiguous(Ambiguity { candidates })
}

/// The formats that the envelope allows.
fn candidates_of<'a>(envelope: Option<&Object<'a>>) -> Vec<Candidate<'a>> {
    let fit =
        |format: &'static Format| envelope.map_or(EnvelopeScore::Unknown, |envelope| format.match_envelope(envelope));
    let mut candidates: Vec<Candidate<'a>> = FORMATS.iter().map(|format| Candidate::of(format, fit(format))).collect();
    if candidates.iter().any(|candidate| candidate.envelope == EnvelopeScore::Sure) {
        candidates.retain(|candidate| candidate.envelope == EnvelopeScore::Sure);
    }
    candidates
}

/// The formats that read a message and know its part that begins at a byte, without the one that does not know it.
pub(super) fn formats_that_know(message: Json<'_>, start: usize, without: &str) -> Box<[&'static str]> {
    let object = Object::of(message);
    let knows = |format: &&&'static Format| {
        let reads = format.match_score(&object).is_message();
        reads && format.read(&object).is_ok_and(|read| !foreign::is_unknown(&read, start))
    };
    FORMATS.iter().filter(knows).map(|format| format.name).filter(|name| *name != without).collect()
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
        let asked = candidates.iter().enumerate().filter(|(_, candidate)| candidate.mismatch.is_none());
        scores.clear();
        scores.extend(asked.map(|(at, candidate)| (at, candidate.format.match_score(&message))));
        let is_variant = scores.iter().any(|(_, score)| matches!(score, MatchScore::Variant(_)));
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
        let scores: Vec<MatchScore> =
            candidates.iter().map(|candidate| candidate.format.match_score(&message)).collect();
        let is_variant = scores.iter().any(|score| matches!(score, MatchScore::Variant(_)));
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
    let says_nothing =
        ["content", "parts", "type"].iter().all(|key| message.get(key).is_none_or(|said| said.is_falsy()));
    ROLES.contains(&&*lowercase) && (says_nothing || !role.is(&lowercase))
}

/// Whether a format knows a message.
fn is_known_to_any(message: &Object<'_>) -> bool {
    FORMATS.iter().any(|format| match format.match_score(message) {
        MatchScore::Plain => is_wholly_known(message, format),
        score => score.is_message(),
    })
}

/// Whether a message without traits of a format is one that the format reads, and not one that is a little like it. No
/// format of such messages gives them a type.
fn is_wholly_known(message: &Object<'_>, format: &Format) -> bool {
    let is_typed = message.get_text("type").is_some();
    !is_typed && format.read(message).is_ok_and(|read| !read.content.is_empty() && !foreign::is_in(&read))
}

/// The first message that is one of a program whose files tcompact does not read.
fn of_unread_program<'a>(messages: &Items<'a>) -> Option<Problem<'a>> {
    let (index, message, program) = messages
        .clone()
        .enumerate()
        .find_map(|(index, message)| Some((index, message, foreign::unread_program(message)?)))?;
    Some(Problem::Unknown { message, found: Found::of_program(&format!("message {index}"), program) })
}

/// The message on which the best candidate fails.
fn unknown<'a>(
    candidates: &[Candidate<'a>],
    envelope: Option<&Object<'a>>,
    first: Json<'a>,
    messages: &Items<'a>,
) -> Problem<'a> {
    if let Some((envelope, program)) = envelope.and_then(|one| Some((one.json, foreign::unread_program(one.json)?))) {
        return Problem::Unknown { message: envelope, found: Found::of_program("it", program) };
    }
    if let Some(of_program) = of_unread_program(messages) {
        return of_program;
    }
    // Of equals `max_by_key` returns the last one, and the first format of the table is the likeliest.
    let best = candidates
        .iter()
        .rev()
        .max_by_key(|candidate| (candidate.evidence.is_some(), candidate.mismatch.map(|(index, _)| index)));
    let mismatch = best.and_then(|best| Some((best.format, best.mismatch?)));
    let (format, (index, message)) = mismatch.unwrap_or((FORMATS[0], (0, first)));
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
mod tests {
    use crate::framing::read_for_test as read;

    fn detected(messages: &str) -> String {
        match read(messages, None, None) {
            Ok(document) => document.transcripts[0].format.name.to_owned(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn late_evidence_counts() {
        let plain = r#"{"role":"user","content":"a"},{"role":"assistant","content":"b"}"#;
        assert_eq!(detected(&format!("[{plain}]")), "openai-chat");
        assert_eq!(detected(&format!(r#"[{plain},{{"role":"tool","tool_call_id":"x","content":""}}]"#)), "openai-chat");
        let blocks = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"r"}]}"#;
        assert_eq!(detected(&format!("[{plain},{blocks}]")), "anthropic");
        assert_eq!(detected(r#"[{"type":"human","content":"a"},{"type":"ai","data":{"content":"b"}}]"#), "langchain");
    }

    #[test]
    fn an_envelope_speaks_where_the_messages_do_not() {
        assert_eq!(detected(r#"{"system":"s","messages":[{"role":"user","content":"a"}]}"#), "anthropic");
        assert_eq!(detected(r#"{"model":"gpt-4o","messages":[{"role":"user","content":"a"}]}"#), "openai-chat");
    }

    #[test]
    fn a_system_message_in_front_is_not_anthropics() {
        let litellm = r#"{"model":"claude-3-5-sonnet","messages":[{"role":"system","content":"s"},{"role":"user","content":"u"}]}"#;
        assert_eq!(detected(litellm), "openai-chat");
    }

    #[test]
    fn thinking_is_anthropics_where_it_is_signed() {
        let thinks = |signature: &str| {
            format!(
                r#"{{"role":"assistant","content":[{{"type":"thinking","thinking":"t"{signature}}},{{"type":"text","text":"a"}}]}}"#
            )
        };
        let user = r#"{"role":"user","content":"u"}"#;
        let call = r#"{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}"#;
        let (unsigned, signed) = (thinks(""), thinks(r#","signature":"s""#));
        assert_eq!(detected(&format!("[{user},{unsigned}]")), "openai-chat");
        assert_eq!(detected(&format!("[{user},{unsigned},{call}]")), "openai-chat", "Cohere thinks and calls");
        assert_eq!(
            detected(&format!(r#"{{"model":"command-a-03-2025","messages":[{user},{unsigned}]}}"#)),
            "openai-chat"
        );
        assert_eq!(detected(&format!("[{user},{signed}]")), "anthropic");
        // The envelope decides, or the other messages.
        assert_eq!(detected(&format!(r#"{{"model":"claude-opus-4-1","messages":[{user},{unsigned}]}}"#)), "anthropic");
        let tool_use = r#"{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{}}]}"#;
        assert_eq!(detected(&format!("[{user},{unsigned},{tool_use}]")), "anthropic");
    }

    #[test]
    fn blocks_that_only_anthropic_has_are_its() {
        let user = r#"{"role":"user","content":"u"}"#;
        for block in [
            r#"{"type":"mcp_tool_use","id":"m","name":"f","server_name":"s","input":{}}"#,
            r#"{"type":"mcp_tool_result","tool_use_id":"m","content":[]}"#,
            r#"{"type":"server_tool_use","id":"s","name":"f","input":{}}"#,
            r#"{"type":"web_fetch_tool_result","tool_use_id":"s","content":{}}"#,
            r#"{"type":"tool_search_tool_result","tool_use_id":"s","content":{}}"#,
            r#"{"type":"container_upload","file_id":"f"}"#,
            r#"{"type":"redacted_thinking","data":"d"}"#,
            r#"{"type":"search_result","source":"s","title":"t","content":[]}"#,
            r#"{"type":"document","source":{"type":"text","data":"d"}}"#,
        ] {
            assert_eq!(
                detected(&format!(r#"[{user},{{"role":"assistant","content":[{block}]}}]"#)),
                "anthropic",
                "{block}"
            );
        }
    }

    #[test]
    fn a_refused_part_is_named_with_the_formats_that_know_it() {
        let user = r#"{"role":"user","content":"u"}"#;
        let call = r#"{"role":"assistant","content":[{"type":"mcp_tool_use","id":"m","name":"f","input":{}}]}"#;
        let source = format!(r#"{{"messages":[{user},{call},{user},{call}],"stream_options":{{}}}}"#);
        let document = read(&source, crate::formats::by_name("openai-chat"), None);
        let message = document.as_ref().err().map(ToString::to_string).unwrap_or_default();
        assert!(message.ends_with("; anthropic reads it"), "{message}");
        let json = crate::source::Source::of(call).expect("JSON");
        let (message, part) = (json.first().expect("a message"), call.find(r#"{"type""#).expect("a part"));
        let known_by = super::formats_that_know(message, part, "");
        assert_eq!(known_by.first(), Some(&"anthropic"), "{known_by:?}");
        assert!(!known_by.contains(&"openai-chat"), "{known_by:?}");
    }

    #[test]
    fn fields_without_a_value_are_no_evidence() {
        let calls =
            r#"{"role":"assistant","tool_calls":null,"content":[{"type":"tool_use","id":"t","name":"f","input":{}}]}"#;
        assert_eq!(detected(&format!("[{calls}]")), "anthropic");
        assert_eq!(detected(r#"[{"role":"assistant","tool_calls":[],"content":"a"}]"#), "openai-chat");
    }

    #[test]
    fn evidence_is_not_passed_over_for_a_plainer_format() {
        let odd = r#"[{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{}}]},{"role":"exit","content":""}]"#;
        let error = detected(odd);
        assert!(error.contains("it looks like anthropic (message 0 has tool_use or tool_result blocks)"), "{error}");
        assert!(error.contains("message 1 does not; --from anthropic reads it"), "{error}");
        let unreadable = detected(r#"[{"role":"tool","tool_call_id":"a","content":"r"},3]"#);
        assert!(unreadable.contains("message 1 is a number"), "{unreadable}");
    }

    #[test]
    fn contradictory_evidence_names_the_candidates() {
        let mixed = r#"[{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"n","input":{}}]},
                        {"role":"tool","tool_call_id":"x","content":"r"}]"#;
        let error = detected(mixed);
        assert!(error.contains("openai-chat (message 1 has the role tool)"), "{error}");
        assert!(error.contains("anthropic (message 0 has tool_use or tool_result blocks)"), "{error}");
        assert!(error.ends_with("--from openai-chat or --from anthropic"), "{error}");
    }

    #[test]
    fn a_variant_claims_a_message_that_a_more_general_format_reads_as_well() {
        let call = |more: &str| {
            format!(
                r#"{{"role":"assistant","content":null,"tool_calls":[{{"id":"a","name":"f","arguments":{{}}{more}}}]}}"#
            )
        };
        let result = r#"{"role":"tool","tool_call_id":"a","content":"r"}"#;
        let reasoning = r#"{"role":"assistant","content":"b","reasoning_content":"hm"}"#;
        assert_eq!(detected(&format!("[{},{result}]", call(""))), "openai-chat");
        let variant = call(r#","requestor":"assistant""#);
        for order in [format!("[{variant},{result}]"), format!("[{result},{variant}]")] {
            assert_eq!(detected(&order), "tau-bench", "{order}");
        }
        // Evidence of its own elsewhere does not make it a message of the general format again.
        assert!(detected(&format!("[{reasoning},{variant}]")).contains("tau-bench"));
        // Each format has a message that only it can read.
        let developer = r#"{"role":"developer","content":"d"}"#;
        let with_name = r#"{"role":"tool","function":"f","tool_call_id":"a","content":"r"}"#;
        let both = detected(&format!("[{with_name},{developer}]"));
        assert!(both.contains("--from openai-chat or --from inspect"), "{both}");
    }

    #[test]
    fn other_formats_are_not_taken_for_one_of_these() {
        let foreign = r#"[{"role":"admin","name":"a row of a table"}]"#;
        assert!(detected(foreign).starts_with("is not a transcript"), "{}", detected(foreign));
    }
}
