//! Steps: the answers of the assistant, each with its calls and their results.
//!
//! An answer can be several messages: reasoning, texts, and calls that run at once. What a person says directly before an
//! answer belongs to its step, as the answer means little without it. What a program says there does not.
//!
//! Also: the reasoning that a model wants back: some models refuse a request in which a message with calls lacks it.

use crate::plan::breaches::{Breach, ProviderRule};
use crate::plan::pins::is_said_by_user;
use crate::tokens::models::{Reasoning, reasoning_of, wants_signatures};
use crate::transcript::named_models::model_of;
use crate::transcript::thoughts::{has_reasoning, is_signed_call};
use crate::transcript::{Call, Content, Message, Part, PartKind, Role, Transcript};

/// The first message of each answer, in order.
pub fn answers(transcript: &Transcript<'_>, summary_prefix: &str) -> Vec<usize> {
    let undivided = transcript.pairing.allowed_cuts(&transcript.groups);
    let mut found = Vec::new();
    let mut goes_on = false;
    for (index, message) in transcript.messages.iter().enumerate() {
        if message.role == Role::Other {
            continue;
        }
        let is_answer = message.role == Role::Assistant && !stands_for_others(message, summary_prefix);
        if is_answer && !goes_on && (undivided[index] || found.is_empty()) {
            found.push(index);
        }
        // Some formats keep results in the message of their calls: the next one is another answer.
        goes_on = is_answer && message.results.is_empty();
    }
    found
}

/// The first message of the last so many steps; 0 where there are no more. The first step has all that stands before
/// it, up to a summary: once that stands there, the next compaction finds the same.
pub fn last(transcript: &Transcript<'_>, summary_prefix: &str, number: u64) -> usize {
    let messages = &transcript.messages;
    let answers = answers(transcript, summary_prefix);
    let number = usize::try_from(number).unwrap_or(usize::MAX).max(1);
    let Some(at) = answers.len().checked_sub(number) else { return 0 };
    let answer = answers[at];
    let summary = messages[..answer].iter().rposition(|message| stands_for_others(message, summary_prefix));
    let floor = summary.map_or(0, |summary| summary + 1);
    if at == 0 || answers[at - 1] < floor {
        return floor;
    }
    let undivided = transcript.pairing.allowed_cuts(&transcript.groups);
    let mut first = answer;
    for index in (floor..answer).rev() {
        if !messages[index].is_user_turn() || !messages[index].results.is_empty() {
            break;
        }
        if undivided[index] && is_said_by_user(messages, index) {
            first = index;
        }
    }
    first
}

/// Whether a message stands for messages that are gone, or looks so: once our own summary stands before it, it would be a
/// step more, and the next compaction would cut again.
fn stands_for_others(message: &Message<'_>, summary_prefix: &str) -> bool {
    message.earlier || message.opens_with(summary_prefix) || message.compaction().is_some()
}

/// For each message whether the model that reads on wants its reasoning back; `None` if it wants none. `reader` is that
/// model if the user names it; otherwise it is the transcript's own.
pub fn reasoning_wanted_back(transcript: &Transcript<'_>, reader: Option<&str>) -> Option<Vec<bool>> {
    if wanted(transcript, reader) == Reasoning::Free {
        return None;
    }
    let mut is_wanted = vec![false; transcript.messages.len()];
    let mut leads_to_calls = false;
    for (index, message) in transcript.messages.iter().enumerate().rev() {
        // Some formats spread an answer over several messages.
        leads_to_calls = message.role == Role::Assistant && (leads_to_calls || !message.calls.is_empty());
        is_wanted[index] = leads_to_calls;
    }
    Some(is_wanted)
}

/// The calls whose reasoning, or its signature, the model that reads on misses.
pub fn missing_reasoning(transcript: &Transcript<'_>, reader: Option<&str>) -> Vec<Breach> {
    let mut found = unreasoned_calls(transcript, reader);
    found.extend(unsigned_calls(transcript, reader));
    found
}

/// The first call of each step in the current turn that has no signature, where the model that reads on wants these back.
/// A turn begins with the user's last text. Once the model has answered that, the next text begins another one.
fn unsigned_calls(transcript: &Transcript<'_>, reader: Option<&str>) -> Vec<Breach> {
    let messages = &transcript.messages;
    if !transcript.format.keeps_signatures || !is_loop_open(messages) {
        return Vec::new();
    }
    let wants_them = match reader {
        Some(model) => wants_signatures(model),
        None => model_of(transcript).is_some_and(|model| wants_signatures(&model)),
    };
    if !wants_them {
        return Vec::new();
    }
    let turn = messages.iter().rposition(|message| message.is_user_turn() && has_words(message)).unwrap_or(0);
    let mut is_first = true;
    let mut found = Vec::new();
    for (index, message) in messages.iter().enumerate().skip(turn) {
        if message.role != Role::Assistant {
            is_first = true;
            continue;
        }
        if message.calls.is_empty() {
            continue;
        }
        let going_on = usize::from(!is_first);
        for call in first_calls(message).into_iter().skip(going_on) {
            if !is_signed_call(message, call) {
                let id = call.id.map(|id| id.decode().into_owned());
                found.push(Breach { message: index, rule: ProviderRule::Unsigned, id });
            }
        }
        // Where a message holds its results, the next one is another step.
        is_first = !message.results.is_empty();
    }
    found
}

/// The first call of each step in a message with calls. The AI SDK keeps several steps in one and marks their starts.
fn first_calls<'m, 'a>(message: &'m Message<'a>) -> Vec<&'m Call<'a>> {
    let parts = message.content.parts().iter().filter(|part| part.json.member_is("type", "step-start"));
    let starts: Vec<usize> = parts.map(|part| part.json.span().start).collect();
    let mut last = None;
    let mut found = Vec::new();
    for call in &message.calls {
        let step = Some(starts.partition_point(|start| *start < call.json.span().start));
        if step != last {
            found.push(call);
            last = step;
        }
    }
    found
}

/// Whether the last message is a call or a result, so that the model goes on in the same turn.
pub fn is_loop_open(messages: &[Message<'_>]) -> bool {
    let Some(last) = messages.last() else { return false };
    !(last.results.is_empty() && last.calls.is_empty() || ends_with_answer(last))
}

/// Whether a message of the model that holds its results ends with words behind them.
fn ends_with_answer(message: &Message<'_>) -> bool {
    if message.role != Role::Assistant || message.results.is_empty() {
        return false;
    }
    let parts = message.content.parts();
    let last = parts.iter().rposition(|part| matches!(part.kind, PartKind::Call | PartKind::Result(_)));
    last.is_some_and(|last| parts[last..].iter().any(is_text))
}

fn is_text(part: &Part<'_>) -> bool {
    matches!(&part.kind, PartKind::Text(text) if !text.is_empty())
}

/// Whether a message of the user is more than results with their media.
fn has_words(message: &Message<'_>) -> bool {
    message.results.is_empty() || message.content.parts().iter().any(is_text)
}

/// The messages with calls whose reasoning the model that reads on misses.
fn unreasoned_calls(transcript: &Transcript<'_>, reader: Option<&str>) -> Vec<Breach> {
    let is_wanted = match wanted(transcript, reader) {
        Reasoning::Free => false,
        // Without any reasoning, the transcript's own model did not think.
        Reasoning::Kept => {
            !is_switched_off(transcript) && (reader.is_some() || transcript.messages.iter().any(is_reasoned))
        }
        Reasoning::Always => true,
    };
    if !is_wanted {
        return Vec::new();
    }
    // Where an answer is spread over several messages, results of its first calls can be between them.
    let is_spread = transcript.messages.iter().any(is_only_reasoning);
    let mut has_reason = false;
    let mut found = Vec::new();
    for (index, message) in transcript.messages.iter().enumerate() {
        has_reason &= is_spread && !message.is_user_turn();
        has_reason |= is_reasoned(message);
        if message.role == Role::Assistant
            && !has_reason
            && let Some(call) = message.calls.first()
        {
            let id = call.id.map(|id| id.decode().into_owned());
            found.push(Breach { message: index, rule: ProviderRule::Unreasoned, id });
        }
    }
    found
}

fn is_reasoned(message: &Message<'_>) -> bool {
    message.role == Role::Assistant && has_reasoning(message)
}

fn wanted(transcript: &Transcript<'_>, reader: Option<&str>) -> Reasoning {
    match reader {
        Some(reader) => reasoning_of(reader),
        None => model_of(transcript).map_or(Reasoning::Free, |model| reasoning_of(&model)),
    }
}

/// Whether a message holds nothing but reasoning.
fn is_only_reasoning(message: &Message<'_>) -> bool {
    let Content::Parts(parts) = &message.content else { return false };
    message.role == Role::Assistant
        && message.calls.is_empty()
        && parts.iter().all(|part| matches!(part.kind, PartKind::Reasoning(_)))
}

/// Whether the request around the messages switches thinking off.
fn is_switched_off(transcript: &Transcript<'_>) -> bool {
    const OFF: [(&[&str], &str); 5] = [
        (&["thinking", "type"], "\"disabled\""),
        (&["extra_body", "thinking", "type"], "\"disabled\""),
        (&["reasoning_effort"], "\"none\""),
        (&["reasoning", "effort"], "\"none\""),
        (&["reasoning", "enabled"], "false"),
    ];
    let Some(request) = transcript.state else { return false };
    OFF.iter().any(|(path, off)| request.at(path).is_some_and(|value| value.raw() == *off))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::CutPolicy;
    use crate::plan::size::Size;
    use crate::plan::tests::{cut, planned, policy};
    use crate::transcript::framing::read_for_test as read;

    #[test]
    fn keep_steps_keeps_the_last_answers() {
        for (letters, steps, wanted) in [
            // An answer of several messages, and parallel calls, are one step.
            ("ucrcrcra", 1, 7),
            ("ucrcrcra", 2, 5),
            ("ucrcrcra", 3, 3),
            ("ucrcrcra", 4, 0),
            ("ucracrca", 1, 6),
            ("u2rrac2rrra", 1, 10),
            ("u2rrac2rrra", 2, 4),
            // Calls that wait for their results belong to the step that began before them.
            ("u2rcrra", 1, 6),
            ("u2rcrra", 2, 0),
            // What the user says before an answer is of its step; behind the last one, too.
            ("uauaua", 2, 2),
            ("uauuauu", 1, 2),
            ("uacrus", 1, 0),
            ("suacruacr", 2, 0),
            ("suacruacr", 1, 5),
            // Without an answer there is nothing to count.
            ("uuuu", 1, 0),
            ("", 1, 0),
        ] {
            assert_eq!(cut(letters, Size::Steps(steps)).0, wanted, "{letters} steps:{steps}");
        }
    }

    /// Whatever stands between a summary and the first answer behind it belongs to that step.
    #[test]
    fn steps_do_not_reach_over_a_summary() {
        for (letters, steps, wanted) in [("Suaua", 2, 1), ("Sauua", 1, 2), ("sSuuaua", 2, 2), ("Sua", 9, 0)] {
            let plan = planned(letters, &CutPolicy { keep: Size::Steps(steps), ..policy() });
            assert_eq!(plan.wanted, wanted, "{letters} steps:{steps}");
        }
    }

    #[test]
    fn a_session_of_one_turn_says_so() {
        let reason = |letters: &str, keep| planned(letters, &CutPolicy { keep, ..policy() }).reason;
        let whole = |how: &str| Some(format!("the whole conversation {how}"));
        assert_eq!(reason("ucrcrcra", Size::Turns(3)), whole("is one turn, within --keep turns:3"));
        assert_eq!(reason("ucraua", Size::Turns(3)), whole("is within --keep turns:3"));
        assert_eq!(reason("ucrcrcra", Size::Steps(9)), whole("is within --keep steps:9"));
    }

    #[test]
    fn each_answer_is_one_step_in_every_format() {
        for (source, steps) in [
            // Items of one response, and those of the next.
            (
                r#"[{"type":"message","role":"user","content":"go"},{"type":"reasoning","id":"r1","summary":[]},
                {"type":"message","role":"assistant","content":[{"type":"output_text","text":"I look."}]},
                {"type":"function_call","call_id":"1","name":"f","arguments":"{}"},
                {"type":"function_call","call_id":"2","name":"f","arguments":"{}"},
                {"type":"function_call_output","call_id":"1","output":"one"},
                {"type":"function_call_output","call_id":"2","output":"two"},
                {"type":"reasoning","id":"r2","summary":[]},
                {"type":"function_call","call_id":"3","name":"f","arguments":"{}"},
                {"type":"function_call_output","call_id":"3","output":"three"}]"#,
                2,
            ),
            // Lines of one message, with a result between them.
            (
                concat!(
                    r#"{"type":"user","uuid":"1","parentUuid":null,"sessionId":"s","message":{"role":"user","content":"go"}}"#,
                    "\n",
                    r#"{"type":"assistant","uuid":"2","parentUuid":"1","sessionId":"s","message":{"id":"m","role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}}"#,
                    "\n",
                    r#"{"type":"user","uuid":"3","parentUuid":"2","sessionId":"s","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"r"}]}}"#,
                    "\n",
                    r#"{"type":"assistant","uuid":"4","parentUuid":"3","sessionId":"s","message":{"id":"m","role":"assistant","content":[{"type":"tool_use","id":"b","name":"f","input":{}}]}}"#,
                    "\n",
                    r#"{"type":"user","uuid":"5","parentUuid":"4","sessionId":"s","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"b","content":"r"}]}}"#,
                    "\n",
                    r#"{"type":"assistant","uuid":"6","parentUuid":"5","sessionId":"s","message":{"id":"n","role":"assistant","content":[{"type":"text","text":"done"}]}}"#,
                    "\n",
                ),
                2,
            ),
            // Answers that hold their results, one behind the other.
            (
                r#"{"sessionId":"s","projectHash":"p","startTime":"t","lastUpdated":"t","messages":[
                {"id":"1","timestamp":"t","type":"user","content":"go"},
                {"id":"2","timestamp":"t","type":"gemini","content":"","toolCalls":[{"id":"a","name":"f","args":{},"result":[{"functionResponse":{"id":"a","name":"f","response":{"output":"r"}}}],"status":"success"}]},
                {"id":"3","timestamp":"t","type":"gemini","content":"","toolCalls":[{"id":"b","name":"f","args":{},"result":[{"functionResponse":{"id":"b","name":"f","response":{"output":"r"}}}],"status":"success"}]},
                {"id":"4","timestamp":"t","type":"gemini","content":"done"}]}"#,
                3,
            ),
            // Observations in the user's place are not the user's words.
            (
                r#"[{"role":"user","content":"go"},{"role":"assistant","content":"THOUGHT: look\n\n```bash\nls\n```"},
                {"role":"user","content":"<returncode>0</returncode>\n<output>\na\n</output>"},
                {"role":"assistant","content":"THOUGHT: more\n\n```bash\ncat a\n```"},
                {"role":"user","content":"<returncode>0</returncode>\n<output>\nb\n</output>"}]"#,
                2,
            ),
        ] {
            let document = read(source, None, None).expect("a transcript");
            let transcript = &document.transcripts[0];
            let found = answers(transcript, "");
            assert_eq!(found.len(), steps, "{} {found:?}", transcript.format.name);
            for kept in 1..steps as u64 {
                let from = last(transcript, "", kept);
                assert_eq!(from, found[steps - kept as usize], "{} steps:{kept}", transcript.format.name);
            }
        }
    }

    /// How many calls miss their signature in a turn of a format that keeps steps or signatures in its own way.
    #[test]
    fn signatures_are_wanted_for_each_open_step() {
        let ui = |parts: &str| {
            format!(
                r#"[{{"id":"1","role":"user","parts":[{{"type":"text","text":"go"}}]}},{{"id":"2","role":"assistant","parts":[{parts}]}}]"#
            )
        };
        let step = r#"{"type":"step-start"}"#;
        let call = |id: &str, more: &str| {
            format!(
                r#"{{"type":"tool-f","toolCallId":"{id}","state":"output-available","input":{{}},"output":"r"{more}}}"#
            )
        };
        let signed = r#","callProviderMetadata":{"google":{"thoughtSignature":"x"}}"#;
        let (bare, bare_too, sealed) = (call("1", ""), call("2", ""), call("3", signed));
        let done = r#"{"type":"text","text":"All done"}"#;
        let pydantic = |parts: &str| {
            format!(
                r#"[{{"kind":"request","parts":[{{"part_kind":"user-prompt","content":"go"}}]}},{{"kind":"response","parts":[{parts},{{"part_kind":"tool-call","tool_name":"f","args":{{}},"tool_call_id":"c"}}]}},{{"kind":"request","parts":[{{"part_kind":"tool-return","tool_name":"f","content":"r","tool_call_id":"c"}}]}}]"#
            )
        };
        let thinking = |more: &str| format!(r#"{{"part_kind":"thinking","content":"hm"{more}}}"#);
        let moved = thinking(r#","signature":"x","provider_name":"google-gla""#);
        for (source, wanted) in [
            (ui(&format!("{step},{bare}")), 1),
            (ui(&format!("{step},{bare},{step},{done}")), 0),
            (ui(&format!("{step},{done},{bare}")), 1),
            (ui(&format!("{step},{bare},{done},{step},{bare_too}")), 2),
            (ui(&format!("{step},{sealed},{step},{bare}")), 1),
            (ui(&format!("{step},{sealed},{bare},{bare_too}")), 0),
            (ui(&format!("{step},{bare},{step},{sealed}")), 1),
            (pydantic(&moved), 0),
            (pydantic(&thinking("")), 1),
            (pydantic(&thinking(r#","signature":"x""#)), 1),
            (pydantic(&format!(r#"{moved},{{"part_kind":"text","content":"I look."}}"#)), 1),
        ] {
            let document = read(&source, None, None).expect("a transcript");
            let found = unsigned_calls(&document.transcripts[0], Some("gemini-3-pro-preview"));
            assert_eq!(found.len(), wanted, "{source}");
        }
    }
}
