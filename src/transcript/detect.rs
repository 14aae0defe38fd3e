//! Which format a list of messages is in, told by all of its messages.
//!
//! A first message is never enough: what sets formats apart, tool calls and results, often comes late. Messages that
//! only hold text fit several formats alike; they count as `openai-chat`, where no pairing rule can go wrong.

use std::fmt;

use crate::transcript::foreign;
use crate::transcript::formats::{Claim, FORMATS, Fit, Format};
use crate::transcript::json::{Items, Json, Object};
use crate::transcript::list::List;

/// Two or more formats that each have evidence for them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ambiguity {
    /// The candidates: name, the first message that speaks for it, and what it has.
    pub candidates: Vec<(&'static str, usize, &'static str)>,
}

impl fmt::Display for Ambiguity {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (name, message, what)) in self.candidates.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(out, "{comma}{name} (message {message} has {what})")?;
        }
        let names: Vec<&str> = self.candidates.iter().map(|candidate| candidate.0).collect();
        write!(out, "; say which with --from {}", names.join(" or --from "))
    }
}

/// Why no format was found.
#[derive(Debug)]
pub enum Problem<'a> {
    /// Several have evidence for them.
    Ambiguous(Ambiguity),
    /// None can read this message.
    Unknown {
        /// The message.
        message: Json<'a>,
        /// What it is.
        found: String,
    },
}

/// What the messages seen so far say of one format.
struct Candidate<'a> {
    format: &'static dyn Format,
    claim: Claim,
    own: Option<(usize, &'static str)>,
    /// Whether any message could be one of its own.
    plain: bool,
    /// The first message that is none of its own.
    foreign: Option<(usize, Json<'a>)>,
}

/// The one format that all messages of `list` fit.
///
/// # Errors
/// Candidates where there are several, and the message that rules out the last where there is none.
pub fn format<'a>(list: &List<'a>) -> Result<&'static dyn Format, Problem<'a>> {
    let envelope = list.envelope.map(Object::of);
    let claim = |format: &dyn Format| envelope.as_ref().map_or(Claim::None, |envelope| format.claim(envelope));
    let claims: Vec<Claim> = FORMATS.iter().map(|format| claim(*format)).collect();
    let sure = claims.contains(&Claim::Sure);
    let of_claims = FORMATS.iter().zip(&claims).filter(|(_, claim)| !sure || **claim == Claim::Sure);
    let mut candidates: Vec<Candidate<'a>> = of_claims
        .map(|(format, claim)| Candidate { format: *format, claim: *claim, own: None, plain: false, foreign: None })
        .collect();
    let Some(first) = list.values.clone().next() else {
        // Nothing speaks against any.
        let claimed = candidates.iter().find(|candidate| candidate.claim != Claim::None);
        return Ok(claimed.unwrap_or(&candidates[0]).format);
    };
    // What one message has ruled out is only asked again where nothing is left, to say why.
    look(&mut candidates, list.values.clone(), |candidate| candidate.foreign.is_none());
    let fits = |candidate: &Candidate<'_>| {
        let could_be = candidate.own.is_some() || candidate.plain || candidate.claim != Claim::None;
        candidate.foreign.is_none() && could_be
    };
    if candidates.iter().any(fits) {
        candidates.retain(fits);
    } else {
        look(&mut candidates, list.values.clone(), |_| true);
    }
    let evident: Vec<&Candidate<'_>> = candidates.iter().filter(|candidate| candidate.own.is_some()).collect();
    match evident.as_slice() {
        [one] if one.foreign.is_none() => return Ok(one.format),
        // A plainer format would read all of it, and pass over what the evidence is.
        [_] => return Err(unknown(&candidates, first, list)),
        [_, _, ..] => {
            let candidates =
                evident.iter().filter_map(|one| one.own.map(|(at, what)| (one.format.name(), at, what))).collect();
            return Err(Problem::Ambiguous(Ambiguity { candidates }));
        }
        _ => {}
    }
    let fitting = || candidates.iter().filter(|candidate| fits(candidate));
    let claimed = fitting().find(|candidate| candidate.claim != Claim::None);
    claimed
        .or_else(|| fitting().next())
        .map(|candidate| candidate.format)
        .ok_or_else(|| unknown(&candidates, first, list))
}

/// Has the candidates that are `asked` look at all messages.
fn look<'a>(candidates: &mut [Candidate<'a>], messages: Items<'a>, asked: impl Fn(&Candidate<'_>) -> bool) {
    for (index, json) in messages.enumerate() {
        let message = Object::of(json);
        for candidate in candidates.iter_mut().filter(|candidate| asked(candidate)) {
            match candidate.format.fit(&message) {
                Fit::Own(what) => candidate.own = candidate.own.or(Some((index, what))),
                Fit::Foreign => candidate.foreign = candidate.foreign.or(Some((index, json))),
                Fit::Plain => candidate.plain = true,
                Fit::Aside => {}
            }
        }
    }
}

/// Names the message that the best candidate stumbles over.
fn unknown<'a>(candidates: &[Candidate<'a>], first: Json<'a>, list: &List<'a>) -> Problem<'a> {
    let program = |(index, message)| Some((index, message, foreign::program(message)?));
    if let Some((index, message, program)) = list.values.clone().enumerate().find_map(program) {
        let found = format!("message {index} looks like {program}, which tcompact does not read,");
        return Problem::Unknown { message, found };
    }
    // The last of equals wins, and of equals the first format of the table is the likeliest.
    let best = candidates
        .iter()
        .rev()
        .max_by_key(|candidate| (candidate.own.is_some(), candidate.foreign.map(|(index, _)| index)));
    let foreign = best.and_then(|best| Some((best.format, best.foreign?)));
    let (format, (index, message)) = foreign.unwrap_or((FORMATS[0], (0, first)));
    let name = format.name();
    let found = match (best.and_then(|best| best.own), format.message(&Object::of(message))) {
        (_, Err(what)) => format!("message {index} {what}"),
        (Some((own, what)), Ok(_)) => format!(
            "it looks like {name} (message {own} has {what}), but message {index} does not; --from {name} reads it all the same,"
        ),
        (None, Ok(_)) => format!("message {index} is of no format that --list formats names"),
    };
    Problem::Unknown { message, found }
}

#[cfg(test)]
mod tests {
    use crate::transcript::framing::tests::read;

    fn told(messages: &str) -> String {
        match read(messages, None, None) {
            Ok(document) => document.transcripts[0].format.name().to_owned(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn late_evidence_counts() {
        let plain = r#"{"role":"user","content":"a"},{"role":"assistant","content":"b"}"#;
        assert_eq!(told(&format!("[{plain}]")), "openai-chat");
        assert_eq!(told(&format!(r#"[{plain},{{"role":"tool","tool_call_id":"x","content":""}}]"#)), "openai-chat");
        let blocks = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"r"}]}"#;
        assert_eq!(told(&format!("[{plain},{blocks}]")), "anthropic");
        assert_eq!(told(r#"[{"type":"human","content":"a"},{"type":"ai","data":{"content":"b"}}]"#), "langchain");
    }

    #[test]
    fn an_envelope_speaks_where_the_messages_do_not() {
        assert_eq!(told(r#"{"system":"s","messages":[{"role":"user","content":"a"}]}"#), "anthropic");
        assert_eq!(told(r#"{"model":"gpt-4o","messages":[{"role":"user","content":"a"}]}"#), "openai-chat");
    }

    #[test]
    fn a_system_message_in_front_is_not_anthropics() {
        let litellm = r#"{"model":"claude-3-5-sonnet","messages":[{"role":"system","content":"s"},{"role":"user","content":"u"}]}"#;
        assert_eq!(told(litellm), "openai-chat");
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
        assert_eq!(told(&format!("[{user},{unsigned}]")), "openai-chat");
        assert_eq!(told(&format!("[{user},{unsigned},{call}]")), "openai-chat", "Cohere thinks and calls");
        assert_eq!(told(&format!(r#"{{"model":"command-a-03-2025","messages":[{user},{unsigned}]}}"#)), "openai-chat");
        assert_eq!(told(&format!("[{user},{signed}]")), "anthropic");
        // The envelope tells, or what else is there.
        assert_eq!(told(&format!(r#"{{"model":"claude-opus-4-1","messages":[{user},{unsigned}]}}"#)), "anthropic");
        let tool_use = r#"{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{}}]}"#;
        assert_eq!(told(&format!("[{user},{unsigned},{tool_use}]")), "anthropic");
    }

    #[test]
    fn fields_without_a_value_are_no_evidence() {
        let calls =
            r#"{"role":"assistant","tool_calls":null,"content":[{"type":"tool_use","id":"t","name":"f","input":{}}]}"#;
        assert_eq!(told(&format!("[{calls}]")), "anthropic");
        assert_eq!(told(r#"[{"role":"assistant","tool_calls":[],"content":"a"}]"#), "openai-chat");
    }

    #[test]
    fn evidence_is_not_passed_over_for_a_plainer_format() {
        let odd = r#"[{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{}}]},{"role":"exit","content":""}]"#;
        let said = told(odd);
        assert!(said.contains("it looks like anthropic (message 0 has tool_use or tool_result blocks)"), "{said}");
        assert!(said.contains("message 1 does not; --from anthropic reads it"), "{said}");
        let unreadable = told(r#"[{"role":"tool","tool_call_id":"a","content":"r"},3]"#);
        assert!(unreadable.contains("message 1 is a number"), "{unreadable}");
    }

    #[test]
    fn contradictory_evidence_names_the_candidates() {
        let mixed = r#"[{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"n","input":{}}]},
                        {"role":"tool","tool_call_id":"x","content":"r"}]"#;
        let error = told(mixed);
        assert!(error.contains("openai-chat (message 1 has the role tool)"), "{error}");
        assert!(error.contains("anthropic (message 0 has tool_use or tool_result blocks)"), "{error}");
        assert!(error.ends_with("--from openai-chat or --from anthropic"), "{error}");
    }

    #[test]
    fn other_formats_are_not_taken_for_one_of_these() {
        let foreign = r#"[{"role":"admin","name":"a row of a table"}]"#;
        assert!(told(foreign).starts_with("is not a transcript"), "{}", told(foreign));
    }
}
