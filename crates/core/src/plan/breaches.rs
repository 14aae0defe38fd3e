//! Violations of the provider's rules for calls, results, turns and contents.
//!
//! A provider answers each of these with an error. Calls at the very end wait for their results, which is not a violation.

mod calls;
mod contents;

use std::fmt;

use crate::transcript::formats::{LinkFault, OnBrokenLine, item_violations};
use crate::transcript::marks::{self, Excess};
use crate::transcript::order::{ResultPlacement, Turn, results_come_late};
use crate::transcript::pairing::{CallOrResult, results};
use crate::transcript::{Message, Role, Transcript};

pub use calls::{id_in, media_in_result, name_in, odd_input, results_of_calls};
pub use contents::{Blank, blanks, content_of, lone_surrogates};

/// A violation of a rule, and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Breach {
    /// The index of the message.
    pub message: usize,
    pub rule: ProviderRule,
    /// The id of the call that it concerns, where it has one.
    pub id: Option<String>,
}

/// A rule, and what violates it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderRule {
    /// A result must answer a call before it. This one answers none.
    Orphan(CallOrResult),
    /// A call has one result. This is a second one.
    Again(CallOrResult),
    /// A call must be answered. This one is not, and the conversation continues.
    Unanswered(CallOrResult),
    /// A result must follow its call as closely as the provider expects. This one does not.
    Misplaced { result: CallOrResult, call: CallOrResult },
    /// Results come first in their message.
    Late,
    /// A rule for turns.
    Turn(&'static str),
    /// A rule of the format for the place of a message.
    Alone(&'static str),
    /// Thinking is signed for the messages before it, and refused once these have changed.
    Thinking,
    /// The ids of calls must differ. This call has the id of an earlier one.
    Repeated(CallOrResult),
    /// A call or a result has an empty id.
    EmptyId {
        /// Whether it is a result.
        of_result: bool,
        /// The call or the result.
        place: CallOrResult,
    },
    /// The provider does not take the id of this call.
    RefusedId(CallOrResult),
    /// The provider does not take the name of this call's tool.
    RefusedName(CallOrResult),
    /// The input of this call is not an object.
    Input(CallOrResult),
    /// A result is text. This one has media.
    MediaInResult,
    /// The ids of messages must differ. This message has the id of an earlier one.
    SameMessageId,
    /// A request has few cache marks. This one is too many.
    Mark {
        /// The number of all marks.
        all: usize,
    },
    /// Nothing of the agent's stands between a call and its result. Something does behind this call.
    Between,
    /// A text must not be blank, nor a message be without content.
    Blank,
    /// Text is Unicode. Half of a surrogate pair is not.
    Surrogate,
    /// An agent finds the conversation by walking up from the last entry. The walk ends at this one, too early.
    Loose(LinkFault),
    /// The model wants its reasoning back on messages with calls. This message has calls and no reasoning.
    Unreasoned,
    /// Only its own provider can decrypt a compaction. The one that reads on cannot.
    Undecipherable,
    /// The model wants the signature of the first call of each step back. This call has none.
    Unsigned,
    /// The agent reads nothing behind a line that is not JSON. This message is the first one behind it.
    BehindBrokenLine,
}

impl fmt::Display for Breach {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = self.id.as_ref().map(|id| format!(" ({id})")).unwrap_or_default();
        match self.rule {
            ProviderRule::Orphan(_) => {
                write!(out, "a result{id} without a call: every result must answer a call before it")
            }
            ProviderRule::Again(_) => write!(out, "a second result{id}: every call has one result"),
            ProviderRule::Unanswered(_) => write!(out, "a call{id} without a result: every call must be answered"),
            ProviderRule::Misplaced { call, .. } => write!(
                out,
                "a result{id} too far from its call in message {}: results must follow their calls directly",
                call.message
            ),
            ProviderRule::Late => {
                write!(out, "a result behind something else: results must come first in their message")
            }
            ProviderRule::Thinking => {
                out.write_str("thinking behind a compaction: its model rejects what it signed before the compaction")
            }
            ProviderRule::Repeated(_) => {
                write!(out, "a call with the id of an earlier one{id}: the ids of calls must be unique")
            }
            ProviderRule::EmptyId { of_result, .. } => {
                let what = if of_result { "result" } else { "call" };
                write!(out, "a {what} with an empty id: a result names its call by the id")
            }
            ProviderRule::RefusedId(_) => {
                write!(out, "a call with an id{id} that its provider refuses for its characters or length")
            }
            ProviderRule::RefusedName(_) => {
                write!(out, "a call of a tool with a name{id} that its provider refuses for its characters or length")
            }
            ProviderRule::Input(_) => write!(out, "a call{id} with an input that is not an object"),
            ProviderRule::MediaInResult => {
                out.write_str("a picture or other media in a result: Chat Completions accepts only text there")
            }
            ProviderRule::SameMessageId => {
                write!(out, "a message with the id of an earlier one{id}: the ids of messages must be unique")
            }
            ProviderRule::Mark { all } => {
                write!(out, "a cache mark too many: the request has {all}, and {} are accepted", marks::MOST)
            }
            ProviderRule::Between => out.write_str(
                "a compaction between a call and its result: it must come before the call or after the result",
            ),
            ProviderRule::Blank => out.write_str("an empty or blank text: texts and messages must have content"),
            ProviderRule::Surrogate => {
                out.write_str("a lone surrogate, which is half a character: requests with it are refused")
            }
            ProviderRule::Loose(LinkFault::Cycle) => {
                write!(out, "an entry{id} that is its own ancestor: its agent finds nothing before it")
            }
            ProviderRule::Loose(LinkFault::Beside) => {
                write!(out, "a message{id} beside the chain of the others: its agent does not send it")
            }
            ProviderRule::Loose(_) => {
                write!(out, "a parent{id} that is not there: the agent finds nothing before the entry that names it")
            }
            ProviderRule::Unreasoned => {
                write!(out, "a call{id} without the reasoning before it: its model rejects a request that lacks it")
            }
            ProviderRule::Undecipherable => {
                out.write_str("an encrypted compaction that its reader cannot decrypt: it rejects a request with it")
            }
            ProviderRule::Unsigned => {
                write!(out, "a call{id} without its thought signature: its model rejects a request that lacks it")
            }
            ProviderRule::BehindBrokenLine => {
                out.write_str("a message behind a line that is not JSON: the agent reads nothing from that line on")
            }
            ProviderRule::Turn(rule) | ProviderRule::Alone(rule) => write!(out, "{rule}"),
        }
    }
}

/// All violations of a conversation, in the order of its messages.
pub fn breaches(transcript: &Transcript<'_>) -> Vec<Breach> {
    let mut found = match transcript.order.results {
        ResultPlacement::Unchecked => Vec::new(),
        wanted => of_pairs(transcript, wanted),
    };
    found.retain(|breach| !(transcript.order.calls_elsewhere && matches!(breach.rule, ProviderRule::Orphan(_))));
    found.extend(calls::of_ids(transcript));
    found.extend(calls::of_calls(transcript));
    found.extend(of_marks(transcript));
    for one in transcript.format.session.misplaced_entries(transcript).found {
        found.push(Breach { message: one.message, rule: ProviderRule::Between, id: None });
    }
    found.extend(contents::of_contents(transcript));
    found.extend(of_turns(transcript));
    found.extend(of_links(transcript));
    for (message, rule) in item_violations(transcript) {
        found.push(Breach { message, rule: ProviderRule::Alone(rule), id: None });
    }
    found.sort_by_key(|breach| breach.message);
    found
}

/// The first message that the agent does not read, because a line before it is not JSON. No repair is for it: only the
/// user can tell what the line was.
pub fn behind_broken_line(transcript: &Transcript<'_>) -> Option<Breach> {
    if transcript.format.on_broken_line != Some(OnBrokenLine::Stop) {
        return None;
    }
    let broken = transcript.aside.first()?;
    let message = transcript.messages.partition_point(|message| message.span().start < broken.start);
    if message == transcript.messages.len() {
        return None;
    }
    Some(Breach { message, rule: ProviderRule::BehindBrokenLine, id: None })
}

/// The cache marks that are too many.
fn of_marks(transcript: &Transcript<'_>) -> Vec<Breach> {
    if !transcript.order.few_marks {
        return Vec::new();
    }
    let Excess { all, marks } = marks::excess(transcript);
    marks.into_iter().map(|(message, _)| Breach { message, rule: ProviderRule::Mark { all }, id: None }).collect()
}

/// The entries that do not lead to those before them, each by its message or the next one.
fn of_links(transcript: &Transcript<'_>) -> Vec<Breach> {
    let messages = &transcript.messages;
    let mut found = Vec::new();
    if messages.is_empty() {
        return found;
    }
    for loose in transcript.format.session.broken_links(transcript).found {
        let next = messages.partition_point(|message| message.span().end <= loose.entry.span().start);
        let message = next.min(messages.len() - 1);
        found.push(Breach { message, rule: ProviderRule::Loose(loose.fault), id: loose.named });
    }
    found
}

fn of_pairs(transcript: &Transcript<'_>, wanted: ResultPlacement) -> Vec<Breach> {
    let messages = transcript.messages.as_slice();
    let between = last_between(messages, wanted);
    let mut found = Vec::new();
    for one in results(messages) {
        let result = one.result;
        let rule = match one.call {
            None => ProviderRule::Orphan(result),
            Some(_) if one.again => ProviderRule::Again(result),
            Some(call) if call.message == result.message => continue,
            Some(call) if wanted == ResultPlacement::Next && result.message == call.message + 1 => continue,
            Some(call) if wanted != ResultPlacement::Next && between[result.message] <= call.message => continue,
            Some(call) => ProviderRule::Misplaced { result, call },
        };
        let id = messages[result.message].results[result.index].id;
        found.push(Breach { message: result.message, rule, id: id.map(|id| id.decode().into_owned()) });
    }
    let goes_on = last_spoken(messages, wanted);
    for &call in &transcript.pairing.unanswered {
        if call.message < goes_on {
            let id = call.call_of(messages).id.map(|id| id.decode().into_owned());
            found.push(Breach { message: call.message, rule: ProviderRule::Unanswered(call), id });
        }
    }
    found
}

/// For each message the index of the last message before it that must not be between a call and its result; 0 where
/// there is none.
fn last_between(messages: &[Message<'_>], wanted: ResultPlacement) -> Vec<usize> {
    let mut last = 0;
    let mut out = Vec::with_capacity(messages.len());
    for (index, message) in messages.iter().enumerate() {
        out.push(last);
        let has_results = !message.results.is_empty();
        let may_be_between = match wanted {
            ResultPlacement::Unchecked | ResultPlacement::Behind => true,
            ResultPlacement::Grouped => has_results || !message.calls.is_empty(),
            ResultPlacement::Following | ResultPlacement::Next => has_results || message.role == Role::Tool,
        };
        if !may_be_between {
            last = index;
        }
    }
    out
}

/// The index of the last message that continues the conversation: calls before it no longer wait for results. Where
/// calls can follow calls, all calls of the last run still wait.
fn last_spoken(messages: &[Message<'_>], wanted: ResultPlacement) -> usize {
    let spoken = messages.iter().rposition(|message| matches!(Turn::of(message), Some(Turn::User | Turn::Model)));
    let calling = messages.iter().rposition(|message| Turn::of(message) == Some(Turn::Calls)).unwrap_or(0);
    // All calls of a run wait for their results. A result ends the run.
    let row = match wanted {
        ResultPlacement::Following | ResultPlacement::Next => calling,
        _ => messages[..calling].iter().rposition(|message| message.calls.is_empty()).map_or(0, |before| before + 1),
    };
    spoken.unwrap_or(0).max(row)
}

fn of_turns(transcript: &Transcript<'_>) -> Vec<Breach> {
    let rules = transcript.order.in_reading();
    let mut found = Vec::new();
    let mut before = None;
    for (message, read) in transcript.messages.iter().enumerate() {
        if transcript.order.results_first && results_come_late(read) {
            found.push(Breach { message, rule: ProviderRule::Late, id: None });
        }
        let Some(turn) = Turn::of(read) else { continue };
        if let Some(rule) = rules.refuses(before, turn) {
            found.push(Breach { message, rule: ProviderRule::Turn(rule), id: None });
        }
        before = Some(turn);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::framing::read_for_test as read;

    #[test]
    fn a_breach_names_its_message_and_its_rule() {
        let source = r#"[{"role": "user", "content": "Hi."}, {"role": "tool", "tool_call_id": "a", "content": "?"}]"#;
        let document = read(source, None, None).expect("a transcript");
        let found = breaches(&document.transcripts[0]);
        assert_eq!(found[0].message, 1);
        assert_eq!(found[0].to_string(), "a result (a) without a call: every result must answer a call before it");
    }

    fn found(source: &str) -> Vec<String> {
        let document = read(source, None, None).expect("a transcript");
        let found = breaches(&document.transcripts[0]);
        found.iter().map(|breach| format!("{} {}", breach.message, breach)).collect()
    }

    fn chat(letters: &str) -> Vec<usize> {
        let messages: Vec<String> = letters
            .chars()
            .map(|letter| match letter {
                'u' => r#"{"role":"user","content":"u"}"#.to_owned(),
                'a' => r#"{"role":"assistant","content":"a"}"#.to_owned(),
                'x' => r#"{"role":"exit","content":"x"}"#.to_owned(),
                call if call.is_ascii_uppercase() => format!(
                    r#"{{"role":"assistant","content":null,"tool_calls":[{{"id":"{}","type":"function","function":{{"name":"f","arguments":"{{}}"}}}}]}}"#,
                    call.to_ascii_lowercase()
                ),
                id => format!(r#"{{"role":"tool","tool_call_id":"{id}","content":"r"}}"#),
            })
            .collect();
        let source = format!("[{}]", messages.join(","));
        let document = read(&source, None, None).expect("a transcript");
        breaches(&document.transcripts[0]).iter().map(|breach| breach.message).collect()
    }

    #[test]
    fn unpaired_calls_and_results_are_violations() {
        assert_eq!(chat("uBbaB"), [] as [usize; 0], "calls at the end are pending");
        assert_eq!(chat("uBbaBx"), [] as [usize; 0], "and so they are before what is not a turn");
        assert_eq!(chat("uBua"), [1], "one in the middle is not");
        assert_eq!(chat("ubBb"), [1]);
        assert_eq!(chat("uBbb"), [3]);
        assert_eq!(chat("uBub"), [3]);
        assert_eq!(chat("uBCbc"), [3], "nothing but results stands between");
        assert_eq!(chat("uBCc"), [1], "calls of two messages are not answered together");
        assert_eq!(chat("uBuaBb"), [1], "an id used again answers nothing older");
    }

    #[test]
    fn each_violation_names_its_rule() {
        let found = found(
            r#"[{"role":"user","content":"u"},{"role":"tool","tool_call_id":"z","content":"r"},
                {"role":"assistant","content":null,"tool_calls":[{"id":"q","type":"function","function":{"name":"f","arguments":"{}"}}]},
                {"role":"user","content":"u"}]"#,
        );
        assert_eq!(
            found,
            [
                "1 a result (z) without a call: every result must answer a call before it",
                "2 a call (q) without a result: every call must be answered"
            ]
        );
    }

    #[test]
    fn results_come_first_in_messages_api() {
        let late = found(
            r#"[{"role":"user","content":"u"},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{}}]},
                {"role":"user","content":[{"type":"text","text":"x"},{"type":"tool_result","tool_use_id":"t","content":"r"}]}]"#,
        );
        assert_eq!(late, ["2 a result behind something else: results must come first in their message"]);
    }

    #[test]
    fn accepted_orders_are_no_violations() {
        // Providers merge messages of one role in a row, or only some models require their order.
        let gemini = r#"[{"role":"user","parts":[{"text":"u"}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]},
            {"role":"model","parts":[{"functionCall":{"name":"g","args":{}}}]},
            {"role":"user","parts":[{"functionResponse":{"name":"f","response":{}}},{"functionResponse":{"name":"g","response":{}}}]}]"#;
        assert_eq!(found(gemini), [] as [&str; 0]);
        let call = |id| {
            format!(r#"{{"role":"assistant","content":[{{"type":"tool_use","id":"{id}","name":"f","input":{{}}}}]}}"#)
        };
        let result = |id| format!(r#"{{"type":"tool_result","tool_use_id":"{id}","content":"r"}}"#);
        let results = format!(r#"{{"role":"user","content":[{},{}]}}"#, result("a"), result("b"));
        assert_eq!(found(&format!("[{},{},{results}]", call("a"), call("b"))), [] as [&str; 0]);
        // The provider stores the call.
        let elsewhere = r#"{"model":"m","previous_response_id":"r","input":[{"type":"function_call_output","call_id":"c","output":"4"}]}"#;
        assert_eq!(found(elsewhere), [] as [&str; 0]);
    }

    #[test]
    fn orders_that_responses_refuses_are_violations() {
        let call = |id| format!(r#"{{"type":"function_call","call_id":"{id}","name":"f","arguments":"{{}}"}}"#);
        let output = |id| format!(r#"{{"type":"function_call_output","call_id":"{id}","output":"r"}}"#);
        let answer = r#"{"role":"assistant","content":"a"}"#;
        let request = |model: &str, items: &[&str]| {
            format!(r#"{{"model":"{model}","input":[{{"role":"user","content":"u"}},{}]}}"#, items.join(","))
        };
        // `reasoning` was provided without its required following item.
        let reasoning = r#"{"type":"reasoning","id":"rs_1","summary":[]}"#;
        let alone = found(&request("gpt-5", &[reasoning, r#"{"role":"user","content":"u"}"#]));
        assert_eq!(alone, ["1 reasoning must be followed by what the model made of it"]);
        assert_eq!(found(&request("gpt-5", &[reasoning, &call("a"), &output("a")])), [] as [&str; 0]);
        // No tool output found for tool call call-a: another message is between the calls.
        let (a, b, of_a, of_b) = (&call("a"), &call("b"), &output("a"), &output("b"));
        let apart = [a.as_str(), answer, b, of_a, of_b];
        assert_eq!(found(&request("gpt-5", &apart)), [] as [&str; 0]);
        assert_eq!(
            found(&request("deepseek-v4-flash", &apart)),
            ["4 a result (a) too far from its call in message 1: results must follow their calls directly"]
        );
        assert_eq!(found(&request("deepseek-v4-flash", &[a, b, of_a, of_b])), [] as [&str; 0]);
    }
}
