//! What data cannot say of a format: functions, each with a default.

use serde_json::Value;

use crate::format::{InsertionPoint, MatchScore, SummaryMessage, Transcript};
use crate::json::{JsonKind, Object};
use crate::message::{Call, Message, ResultRef};
use crate::outputs::{CallOutput, HostedResult, NewResult};

/// What data cannot say of a format.
#[derive(Debug)]
pub struct Hooks {
    /// How well a message fits the format.
    pub match_score: fn(&Object<'_>) -> MatchScore,
    /// Reads one message. An error says what the value is instead, to follow the words "message 3".
    pub read: for<'a> fn(&Object<'a>) -> Result<Message<'a>, String>,
    /// The first and the last index of each run of messages that stays together for a reason other than a call and its
    /// result.
    pub groups: fn(&[Message<'_>]) -> Vec<(usize, usize)>,
    /// The place of the result that answers a call, for callers that replace it with a shorter one. Without it, results
    /// are in the content of their block or message.
    pub result_output: for<'a> fn(&Message<'a>, &ResultRef<'a>) -> Option<CallOutput<'a>>,
    /// The results in a message that its provider wrote itself, and that are no [`ResultRef`]s, in order.
    pub provider_results: for<'a> fn(&Message<'a>) -> Vec<HostedResult<'a>>,
    /// Writes a summary: one message, and in session files the other entries that the agent needs to find it.
    pub write_summary: fn(&SummaryMessage<'_>, &InsertionPoint<'_, '_>) -> Vec<Value>,
    /// Writes a result for a call that has none.
    pub write_result: fn(&Call<'_>, &Message<'_>, &str) -> Option<NewResult>,
    /// Why a conversation that can be read is left unchanged, to follow its name.
    pub refusal: fn(&Transcript<'_>) -> Option<String>,
}

impl Hooks {
    /// Functions that read and write nothing, for the members that a row does not name.
    pub(crate) const NONE: Hooks = Hooks {
        match_score: |_| MatchScore::Mismatch,
        read: |_| Err("is not read".to_owned()),
        groups: |_| Vec::new(),
        result_output: in_content,
        provider_results: |_| Vec::new(),
        write_summary: |_, _| Vec::new(),
        write_result: |_, _, _| None,
        refusal: |_| None,
    };
}

/// The place of a result in the content of its block or message.
fn in_content<'a>(message: &Message<'a>, answer: &ResultRef<'a>) -> Option<CallOutput<'a>> {
    // A message may answer several calls; its answers then have nothing but their ids.
    let holder = if answer.json.kind() == JsonKind::Object { answer.json } else { message.json };
    CallOutput::in_content(holder, "text")
}
