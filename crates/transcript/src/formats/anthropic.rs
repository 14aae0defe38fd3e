//! Messages of the Messages API.
//!
//! Roles are user and assistant (and, since 2026, system in the middle). Calls are `tool_use` blocks, results are
//! `tool_result` blocks of the next user message. Calls that the server answers itself (`server_tool_use`,
//! `mcp_tool_use`) have their results in the same message or in the assistant's next one.

use serde_json::{Value, json};

use crate::format::{
    EnvelopeRule, EnvelopeScore, Format, Hooks, InsertionPoint, MatchScore, NewResult, SummaryMessage,
};
use crate::formats::shared::blocks::{self, block_types};
use crate::formats::shared::fields::{after_thinking, copied, list, non_null, role_of};
use crate::formats::shared::tool_use::{self, ROLES, is_call, is_result};
use crate::frame::Frame;
use crate::json::Object;
use crate::message::{Call, Message, ResultRef};
use crate::order::{MessageOrder, OrderRule, ResultPlacement, Spelling, Texts};
use crate::outputs::CallOutput;
use crate::text::Text;

/// The types of blocks that no other format has, besides calls and results.
const OWN_BLOCKS: [&str; 7] = [
    "compaction",
    "container_upload",
    "fallback",
    "mcp_tool_listing",
    "search_result",
    "tool_addition",
    "tool_removal",
];

/// What Cline and its relatives write in the user's place.
const FRAMES: [Frame; 1] = [Frame::Tag("<environment_details>", "</environment_details>")];

/// The format's row.
pub(super) static FORMAT: Format = Format {
    name: "anthropic",
    about: "Messages API",
    envelope: &[EnvelopeRule::Values(match_envelope)],
    frames: &FRAMES,
    // The API merges consecutive messages of one speaker.
    order: OrderRule::Always(MessageOrder {
        results_first: true,
        user_first: true,
        lenient: true,
        unique_ids: true,
        texts: Texts::NotBlank,
        call_ids: Spelling::Word(usize::MAX),
        tool_names: Spelling::Word(128),
        object_inputs: true,
        few_marks: true,
        groups_by_thinking: true,
        ..MessageOrder::of(ResultPlacement::Grouped)
    }),
    results_message: Some(r#"{"role":"user","content":["…"]}"#),
    hooks: Hooks { match_score, read, groups, result_output, write_summary, write_result, ..Hooks::NONE },
    ..Format::DEFAULT
};

fn match_score(message: &Object<'_>) -> MatchScore {
    // This reader does not read parts and calls beside the content.
    if role_of(&ROLES, message).is_none()
        || message.get("content").is_none()
        || non_null(message, "parts").is_some()
        || non_null(message, "tool_calls").is_some_and(|calls| !calls.is_falsy())
    {
        return MatchScore::Mismatch;
    }
    let mut score = MatchScore::Plain;
    for (block, kind) in block_types(message) {
        if !kind.is_some_and(is_own) && blocks::is_foreign(block, kind) {
            continue;
        }
        let Some(kind) = kind else { return MatchScore::Mismatch };
        if kind.is_in(&blocks::UNREAD) {
            return MatchScore::Mismatch;
        }
        // Others (Cohere) write thinking without a signature.
        if is_call(kind) || is_result(kind) {
            score = MatchScore::Own("tool_use or tool_result blocks");
        } else if kind.is("thinking") && block.get_text("signature").is_some() || kind.is("redacted_thinking") {
            score = MatchScore::Own("signed thinking blocks");
        } else if (kind.is("image") || kind.is("document")) && block.get("source").is_some() {
            score = MatchScore::Own("media blocks with a source");
        } else if is_own(kind) {
            score = MatchScore::Own("its content blocks");
        }
    }
    score
}

/// Whether blocks of a type are this format's own.
fn is_own(kind: Text<'_>) -> bool {
    is_call(kind) || is_result(kind) || kind.is_in(&OWN_BLOCKS)
}

fn read<'a>(message: &Object<'a>) -> Result<Message<'a>, String> {
    tool_use::message(message)
}

fn groups(messages: &[Message<'_>]) -> Vec<(usize, usize)> {
    after_thinking(messages)
}

fn result_output<'a>(_message: &Message<'a>, answer: &ResultRef<'a>) -> Option<CallOutput<'a>> {
    tool_use::output(answer.json)
}

fn write_summary(summary: &SummaryMessage<'_>, at: &InsertionPoint<'_, '_>) -> Vec<Value> {
    let content = match at.mark() {
        Some(mark) => json!([{"type": "text", "text": summary.text, "cache_control": copied(mark)}]),
        None => json!(summary.text),
    };
    vec![json!({"role": summary.role.name(), "content": content})]
}

fn write_result(call: &Call<'_>, _calling: &Message<'_>, text: &str) -> Option<NewResult> {
    tool_use::result(call, text).map(NewResult::Entry)
}

fn match_envelope(envelope: &Object<'_>) -> EnvelopeScore {
    // A request has its system prompt beside the messages. A system message in front comes from a proxy for models
    // of all makers.
    let first = envelope.get("messages").and_then(|messages| messages.items().next());
    if first.is_some_and(|message| message.member_is("role", "system")) {
        return EnvelopeScore::Unknown;
    }
    // Its tools are not functions. A cut removes calls, but not the tools that a request offers.
    if list(envelope, "tools").any(|tool| tool.get("function").is_some()) {
        return EnvelopeScore::Unknown;
    }
    let has_own_member =
        ["anthropic_version", "system", "stop_sequences"].iter().any(|key| envelope.get(key).is_some());
    if has_own_member || envelope.get_text("model").is_some_and(|model| model.starts_with("claude-")) {
        EnvelopeScore::Likely
    } else {
        EnvelopeScore::Unknown
    }
}

#[cfg(test)]
mod tests {
    use crate::framing::read_for_test as read;

    #[test]
    fn functions_for_tools_are_of_chat_completions_whatever_was_cut() {
        let call = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"r"},"#;
        for cut in [call, ""] {
            let source = format!(
                r#"{{"model":"claude-opus-4-5","max_tokens":9,"tools":[{{"type":"function","function":{{"name":"f"}}}}],"messages":[{{"role":"user","content":"q"}},{cut}{{"role":"user","content":"u"}}]}}"#
            );
            let document = read(&source, None, None).expect("a transcript");
            assert_eq!(document.transcripts[0].format.name, "openai-chat", "{source}");
        }
    }

    #[test]
    fn calls_stay_with_the_thinking_before_them_in_the_last_turn() {
        let thinking = r#"{"type":"thinking","thinking":"t","signature":"s"}"#;
        let call = |id: &str| format!(r#"{{"type":"tool_use","id":"{id}","name":"f","input":{{}}}}"#);
        let step = |id: &str, before: &str| {
            format!(
                r#"{{"role":"assistant","content":[{before}{}]}},{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"{id}","content":"r"}}]}}"#,
                call(id)
            )
        };
        let user = r#"{"role":"user","content":"u"}"#;
        let thought = format!("{thinking},");
        let turn = format!("{user},{},{},{}", step("a", &thought), step("b", ""), step("c", &thought));
        let groups = |source: &str| read(source, None, None).expect("a transcript").transcripts[0].groups.clone();
        assert_eq!(groups(&format!("[{turn}]")), [(1, 3)]);
        assert_eq!(groups(&format!("[{turn},{user}]")), [], "thoughts of earlier turns may go");
    }

    #[test]
    fn calls_of_later_kinds_are_paired_by_their_ids() {
        let call = r#"{"type":"robot_tool_use","id":"r","name":"arm","input":{}}"#;
        let result = r#"{"type":"robot_tool_result","tool_use_id":"r","content":[{"type":"text","text":"up"}]}"#;
        let user = r#"{"role":"user","content":"u"}"#;
        let apart =
            format!(r#"[{user},{{"role":"assistant","content":[{call}]}},{{"role":"user","content":[{result}]}}]"#);
        let together = format!(r#"[{user},{{"role":"assistant","content":[{call},{result}]}}]"#);
        // A pair inside of one message cannot be split.
        for (source, pairs) in [(apart, &[(1, 2)][..]), (together, &[])] {
            let document = read(&source, None, None).expect("a transcript");
            let transcript = &document.transcripts[0];
            assert_eq!((transcript.format.name, transcript.pairing.pairs.as_slice()), ("anthropic", pairs));
            assert!(transcript.pairing.unanswered.is_empty(), "{source}");
        }
    }
}
