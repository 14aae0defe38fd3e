//! Trajectories of tau-bench and tau2.
//!
//! tau-bench keeps Chat Completions messages under `traj`. tau2 keeps its own messages under `messages`: the name and
//! the arguments are members of the call itself, a result has the id of its call as its own `id`, one message may hold
//! several results, and the simulated user calls tools as the model does.

use serde_json::{Value, json};

use crate::format::{
    EnvelopeRule, EnvelopeScore, Format, Hooks, InsertionPoint, MatchScore, NewResult, SummaryMessage,
};
use crate::formats::shared::blocks::{common_block, content};
use crate::formats::shared::chat;
use crate::formats::shared::fields::{id, list, non_null};
use crate::json::{JsonKind, Object};
use crate::message::{Arguments, Call, CallPlace, Content, Message, Part, PartKind, ResultRef, Role};
use crate::outputs::CallOutput;
use crate::thin_list::ThinList;

/// The format's row.
pub(super) static FORMAT: Format = Format {
    name: "tau-bench",
    about: "trajectories of tau-bench, and tau2 with a user that calls tools",
    list_paths: &[&["traj"]],
    envelope: &[
        EnvelopeRule::Members { all: &["task_id", "traj"], any: &[], score: EnvelopeScore::Sure },
        EnvelopeRule::Members {
            all: &["task_id", "messages"],
            any: &["termination_reason", "reward_info"],
            score: EnvelopeScore::Sure,
        },
    ],
    summary_roles: chat::SUMMARY_ROLES,
    hooks: Hooks { match_score, read, result_output, write_summary, write_result, ..Hooks::NONE },
    ..Format::DEFAULT
};

fn match_score(message: &Object<'_>) -> MatchScore {
    if message.get_text("role").is_none() {
        MatchScore::Mismatch
    } else if is_of_tau2(message) {
        MatchScore::Variant("a requestor")
    } else {
        // Messages of tau-bench have no trait of their own, so the envelope decides.
        MatchScore::Neutral
    }
}

fn read<'a>(message: &Object<'a>) -> Result<Message<'a>, String> {
    let mut read = chat::message(message)?;
    for call in read.calls.iter_mut() {
        if call.json.get("function").is_none() {
            call.arguments = Arguments::of(call.json.get("arguments"));
        }
    }
    let mut results = Vec::new();
    let mut parts = Vec::new();
    for json in list(message, "tool_messages") {
        results.push(ResultRef::new(json, id(json.get("id"))));
        parts.push(Part { json, kind: PartKind::Result(content(json.get("content"), common_block)) });
    }
    if !parts.is_empty() {
        read.results = results.into();
        read.content = Content::Parts(parts.into());
    } else if read.role == Role::Tool && message.get("tool_call_id").is_none() {
        read.results = ThinList::from([ResultRef::new(message.json, id(message.get("id")))]);
    }
    Ok(read)
}

fn result_output<'a>(message: &Message<'a>, answer: &ResultRef<'a>) -> Option<CallOutput<'a>> {
    let failed = answer.json.member_is_true("error");
    let holder = if answer.json.kind() == JsonKind::Object { answer.json } else { message.json };
    Some(CallOutput::in_content(holder, "text")?.with_failure(failed))
}

fn write_summary(summary: &SummaryMessage<'_>, at: &InsertionPoint<'_, '_>) -> Vec<Value> {
    vec![chat::summary(summary, at)]
}

fn write_result(call: &Call<'_>, calling: &Message<'_>, text: &str) -> Option<NewResult> {
    if call.place != CallPlace::List || call.json.get("function").is_some() {
        return chat::result(call, text).map(NewResult::Entry);
    }
    let requestor = if calling.role == Role::User { "user" } else { "assistant" };
    Some(NewResult::Entry(json!({
        "id": call.id?.decode(), "role": "tool", "content": text, "requestor": requestor, "error": true,
    })))
}

/// Whether a message has a trait of tau2: a requestor of it or one of its calls, or several results.
fn is_of_tau2(message: &Object<'_>) -> bool {
    non_null(message, "requestor").is_some()
        || non_null(message, "tool_messages").is_some_and(|list| list.kind() == JsonKind::Array)
        || list(message, "tool_calls").any(|call| call.get("requestor").is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framing::read_for_test as read;

    const TAU2: &str = r#"[
        {"role":"assistant","content":"Is it on?","tool_calls":null,"turn_idx":0},
        {"role":"user","content":null,"tool_calls":[{"id":"u1","name":"look","arguments":{"n":1.50},"requestor":"user"}]},
        {"id":"u1","role":"tool","content":"off","requestor":"user","error":false},
        {"role":"user","content":"No."},
        {"role":"assistant","content":null,"tool_calls":[{"id":"a","name":"f","arguments":{},"requestor":"assistant"},{"id":"b","name":"g","arguments":{},"requestor":"assistant"}]},
        {"role":"tool","tool_messages":[{"id":"b","role":"tool","content":"2"},{"id":"a","role":"tool","content":"1"}]}]"#;

    #[test]
    fn calls_of_the_user_are_paired_and_several_results_are_read() {
        for around in [
            TAU2.to_owned(),
            format!(r#"{{"simulations":[{{"task_id":"3","termination_reason":"user_stop","messages":{TAU2}}}]}}"#),
        ] {
            let document = read(&around, None, None).expect("a transcript");
            let transcript = &document.transcripts[0];
            assert_eq!(transcript.format.name, "tau-bench");
            let pairing = &transcript.pairing;
            assert_eq!(pairing.pairs, [(1, 2), (4, 5), (4, 5)]);
            assert!(pairing.unanswered.is_empty());
            let call = &transcript.messages[1].calls[0];
            assert!(call.name.is_some_and(|name| name.is("look")));
            assert!(matches!(call.arguments, Arguments::Value(value) if value.raw() == r#"{"n":1.50}"#));
            let texts: Vec<String> =
                transcript.messages[5].content.texts().iter().map(|text| text.decode().into_owned()).collect();
            assert_eq!(texts, ["2", "1"]);
        }
    }

    #[test]
    fn trajectories_are_told_by_what_stands_around_them() {
        let messages = r#"[{"role":"user","content":"u"},{"role":"assistant","content":"a"}]"#;
        let name = |source: &str| read(source, None, None).expect("a transcript").transcripts[0].format.name;
        assert_eq!(name(&format!(r#"[{{"task_id":0,"reward":1.0,"traj":{messages}}}]"#)), "tau-bench");
        assert_eq!(name(&format!(r#"{{"task_id":0,"traj":{messages}}}"#)), "tau-bench");
        assert_eq!(name(&format!(r#"{{"task_id":0,"messages":{messages}}}"#)), "openai-chat");
        assert_eq!(name(messages), "openai-chat");
    }
}
