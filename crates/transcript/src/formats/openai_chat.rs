//! Messages of Chat Completions and all its clones.
//!
//! Roles are system, developer, user, assistant, tool and function. Calls are in `tool_calls` (or the older
//! `function_call`), results in messages of role `tool` that name the call by `tool_call_id`. SWE-agent names a list,
//! `tool_call_ids`; without tools its user messages report the result of the previous action. mini-swe-agent ends on a
//! message of role `exit`. Mistral's models require that user and model alternate.

use serde_json::{Value, json};

use crate::format::{
    Attachments, EntryKind, EnvelopeRule, Format, Hooks, InsertionPoint, MatchScore, NewResult, Retention, Session,
    SummaryMessage, SummaryRole,
};
use crate::formats::shared::blocks::{block_types, elements, has_key, is_call_or_unread, with_parts};
use crate::formats::shared::chat;
use crate::formats::shared::fields::{copied, has_any, list, non_null, role_of};
use crate::frame::Frame;
use crate::json::{Items, Json, JsonKind, Object};
use crate::media::MediaKind;
use crate::message::{Call, Content, Message, Part, PartKind, RareFields, Role};
use crate::order::{MessageOrder, OrderRule, ResultPlacement, Spelling, Texts};
use crate::text::Text;
use crate::usage::UsageAt;

/// The block types that only this format has.
const OWN_BLOCKS: [&str; 5] = ["image_url", "input_audio", "refusal", "video_url", "tool_call"];

/// The member in which OpenRouter has the pictures that a model drew.
const PICTURES: &str = "images";

/// The prefixes of the names of Mistral's models.
const MISTRAL: [&str; 7] = ["mistral", "mixtral", "magistral", "codestral", "devstral", "ministral", "pixtral"];

/// The paths to the model in a request, or in the log of one.
const MODEL: [&[&str]; 5] =
    [&["model"], &["body", "model"], &["request", "model"], &["request_params", "model"], &["kwargs", "model"]];

/// What Hermes Agent writes in the user's place: skills that the user called or a job loads, reports of processes and of
/// other agents. Nothing tells whether words behind a skill are the user's or the skill's.
const FRAMES: [Frame; 10] = [
    Frame::Opening("[SYSTEM: "),
    Frame::Whole("[System: ", "]"),
    Frame::Whole("[IMPORTANT: ", "]"),
    Frame::Opening("[IMPORTANT: The user has invoked the \""),
    Frame::Opening("[IMPORTANT: The \""),
    Frame::Opening("[IMPORTANT: The following skill(s) were listed"),
    Frame::Opening("[IMPORTANT: Background process "),
    Frame::Opening("[IMPORTANT: You are running as a scheduled cron job"),
    Frame::Opening("[ASYNC DELEGATION "),
    Frame::Opening("[Your active task list was preserved across context compression]"),
];

/// The format's row.
pub(super) static FORMAT: Format = Format {
    name: "openai-chat",
    about: "Chat Completions messages and their clones (DeepSeek, Qwen, Mistral, Cohere v2, Groq, litellm)",
    envelope: &[EnvelopeRule::likely(&[
        "n",
        "response_format",
        "stream_options",
        "max_completion_tokens",
        "trajectory_format",
    ])],
    // mini-SWE-agent keeps the whole response; where that has no usage, the message's own counts.
    usage: &[UsageAt::path(&["extra", "response", "usage"]), UsageAt::path(&["usage"])],
    frames: &FRAMES,
    order: OrderRule::Depends(order),
    keeps_signatures: true,
    summary_roles: chat::SUMMARY_ROLES,
    attachments: Some(Attachments::At { list: &[PICTURES], beside: &[] }),
    hooks: Hooks { match_score, read, groups, write_summary, write_result, ..Hooks::NONE },
    session: &Hermes,
    ..Format::DEFAULT
};

/// The sessions of Hermes Agent.
#[derive(Debug)]
struct Hermes;

impl Session for Hermes {
    fn entries(&self, values: Items<'_>) -> Vec<EntryKind> {
        if !values.clone().any(is_note) {
            return Vec::new();
        }
        values.map(entry_kind).collect()
    }
}

/// Whether a row is what Hermes notes of a session, as its tools. It is not sent.
fn is_note(row: Json<'_>) -> bool {
    row.member_is("role", "session_meta")
}

fn entry_kind(row: Json<'_>) -> EntryKind {
    if is_note(row) { EntryKind::Note(Retention::Always) } else { EntryKind::Message }
}

fn match_score(message: &Object<'_>) -> MatchScore {
    if message.member_is("role", "session_meta") {
        return MatchScore::Neutral;
    }
    let Some(role) = role_of(&chat::ROLES, message) else { return MatchScore::Mismatch };
    let carries = ["content", "tool_calls", "function_call", "refusal", "audio", "reasoning_content"];
    if !is_readable(message) {
        return MatchScore::Mismatch;
    }
    if role != Role::Tool && !carries.iter().any(|key| message.get(key).is_some()) {
        // A message without content could be of any format.
        return MatchScore::Neutral;
    }
    if non_null(message, "tool_calls").is_some_and(|calls| !calls.is_falsy()) {
        return MatchScore::Shared("tool_calls");
    }
    match role {
        Role::Tool if names_only_its_call(message) => return MatchScore::Shared("the role tool"),
        Role::Tool => return MatchScore::Plain,
        Role::Function => return MatchScore::Own("the role function"),
        Role::Developer => return MatchScore::Own("the role developer"),
        _ => {}
    }
    if non_null(message, "function_call").is_some() {
        return MatchScore::Own("function_call");
    }
    if block_types(message).any(|(_, kind)| kind.is_some_and(|kind| kind.is_in(&OWN_BLOCKS))) {
        return MatchScore::Own("its content blocks");
    }
    for own in ["reasoning_content", "api_content"] {
        if message.get_text(own).is_some() {
            return MatchScore::Own(own);
        }
    }
    MatchScore::Plain
}

fn read<'a>(message: &Object<'a>) -> Result<Message<'a>, String> {
    let mut read = chat::message(message)?;
    send_instead(&mut read, message);
    if read.role != Role::Assistant {
        return Ok(read);
    }
    let mut beside = Vec::new();
    // A refusal stands where an answer has its content.
    if read.content.is_empty()
        && read.calls.is_empty()
        && let Some(json) = message.get("refusal")
        && let Some(refusal) = json.text()
        && !refusal.is_empty()
    {
        beside.push(Part { json, kind: PartKind::Refusal(refusal) });
    }
    for picture in elements(message.get(PICTURES), JsonKind::Object) {
        beside.push(medium_beside(picture, MediaKind::Picture));
    }
    if let Some(sound) = message.get("audio")
        && sound.get("data").is_some()
    {
        beside.push(medium_beside(sound, MediaKind::Sound));
    }
    read.content = with_parts(read.content, message.get("content"), beside);
    Ok(read)
}

/// Reads a medium beside the content of an answer.
fn medium_beside(json: Json<'_>, kind: MediaKind) -> Part<'_> {
    let medium = Part { json, kind: PartKind::Media(kind) };
    Part { json, kind: PartKind::Mixed(Content::Parts(Box::new([medium]))) }
}

/// Puts what Hermes sends of a message in the place of its content. Hermes adds to what was said, as what it remembers
/// of the user.
fn send_instead<'a>(read: &mut Message<'a>, message: &Object<'a>) {
    let Some(sent) = message.get_text("api_content").filter(|sent| !sent.is_empty()) else { return };
    let Content::Text(utterance) = read.content else { return };
    if !matches!(read.role, Role::User | Role::Assistant) {
        return;
    }
    let typed = if utterance.is_empty() { None } else { Some(utterance) };
    read.rest = RareFields { typed, ..read.rare_fields() }.boxed();
    read.content = Content::Text(sent);
}

fn groups(messages: &[Message<'_>]) -> Vec<(usize, usize)> {
    let mut groups = Vec::new();
    for (at, pair) in messages.windows(2).enumerate() {
        if is_exit(&pair[1]) || is_observed(&pair[0], &pair[1]) {
            groups.push((at, at + 1));
        }
    }
    groups
}

fn write_summary(summary: &SummaryMessage<'_>, at: &InsertionPoint<'_, '_>) -> Vec<Value> {
    let mut message = chat::summary(summary, at);
    if message["content"].is_string()
        && let Some(mark) = at.mark()
    {
        message["content"] = json!([{"type": "text", "text": summary.text, "cache_control": copied(mark)}]);
    }
    // The mark identifies Mistral's models, and the summary may replace the last message with it.
    let transcript = at.transcript;
    let is_assistant = summary.role == SummaryRole::Assistant;
    if is_assistant && transcript.order.alternates && last_answer_denies_prefix(&transcript.messages) {
        message["prefix"] = json!(false);
    }
    vec![message]
}

fn write_result(call: &Call<'_>, _calling: &Message<'_>, text: &str) -> Option<NewResult> {
    chat::result(call, text).map(NewResult::Entry)
}

fn order(envelope: Option<&Object<'_>>, messages: &[Message<'_>]) -> MessageOrder {
    let order = MessageOrder {
        texts: Texts::Some,
        tool_names: Spelling::Word(64),
        text_results: true,
        few_marks: true,
        ..MessageOrder::of(ResultPlacement::Following)
    };
    if is_for_mistral(envelope, messages) {
        // Mistral's results hold pictures and sounds, too.
        MessageOrder { alternates: true, model_after_results: true, text_results: false, ..order }
    } else {
        order
    }
}

/// Whether the reader finds all content, calls and results of a message: its blocks have types, calls and results are
/// beside them, and a result has no function.
fn is_readable(message: &Object<'_>) -> bool {
    let mut blocks = block_types(message).peekable();
    let is_keyed = blocks.peek().is_some() && blocks.all(|(block, kind)| kind.is_none() && has_key(block));
    if is_keyed || block_types(message).any(|(_, kind)| kind.is_some_and(is_call_or_unread)) {
        return false;
    }
    let is_result = message.member_is("role", "tool");
    if has_any(message, &["parts", "toolInvocations"]) || is_result && message.get_text("function").is_some() {
        return false;
    }
    list(message, "tool_calls").all(|call| is_call(&Object::of(call)))
}

/// Whether a call has this format: its function is an object with text arguments. Clones with object arguments give the
/// call a type and an id.
fn is_call(call: &Object<'_>) -> bool {
    let Some(function) = call.get("function") else { return true };
    if function.kind() == JsonKind::String {
        return false;
    }
    let has_object = function.get("arguments").is_some_and(|arguments| arguments.kind() == JsonKind::Object);
    !has_object || call.get("type").is_some() && call.get("id").is_some()
}

/// Whether a result names its call but not its tool, as other formats do.
fn names_only_its_call(result: &Object<'_>) -> bool {
    ["tool_call_id", "tool_call_ids"].iter().any(|key| result.get(key).is_some())
        && non_null(result, "tool_name").is_none()
}

/// Whether a message only marks the end of the run; no model is sent it.
fn is_exit(message: &Message<'_>) -> bool {
    message.rare_fields().role_name.is_some_and(|role| role.is("exit"))
}

/// Whether the second of two messages reports the result of the first one's action, as SWE-agent does in the user's
/// name.
fn is_observed(action: &Message<'_>, observation: &Message<'_>) -> bool {
    let json = observation.json;
    (action.role, observation.role) == (Role::Assistant, Role::User)
        && (json.member_is("message_type", "observation") || json.get_text("agent").is_some())
        && action.json.get_text("action").is_some()
}

/// Whether the model is one of Mistral's, by its name or by `"prefix": false`, which only its answers have. The last
/// answer decides because it is summarized last, so the rest of a conversation is read like the whole.
fn is_for_mistral(envelope: Option<&Object<'_>>, messages: &[Message<'_>]) -> bool {
    let Some(model) = envelope.and_then(model_of) else { return last_answer_denies_prefix(messages) };
    let model = model.decode().to_lowercase();
    MISTRAL.iter().any(|name| model.contains(name))
}

/// The name of the model in a request.
fn model_of<'a>(request: &Object<'a>) -> Option<Text<'a>> {
    MODEL.iter().find_map(|path| request.at(path)?.text())
}

/// Whether the last message of the model has `"prefix": false`. A message at the end that the model should continue has
/// `"prefix": true`, which other providers have too.
fn last_answer_denies_prefix(messages: &[Message<'_>]) -> bool {
    let before = match messages {
        [before @ .., last] if last.json.member_is_true("prefix") => before,
        all => all,
    };
    let Some(answer) = before.iter().rfind(|message| message.role == Role::Assistant) else { return false };
    answer.json.get("prefix").is_some_and(|prefix| prefix.raw() == "false")
}

#[cfg(test)]
mod tests {
    use super::{FORMAT, InsertionPoint, SummaryMessage, SummaryRole};
    use crate::framing::read_for_test as read;

    #[test]
    fn calls_in_the_content_and_results_without_ids() {
        let source = r#"[{"role":"user","content":[{"type":"text","value":"u"}]},
            {"role":"assistant","content":[{"type":"reasoning","value":"hm"},{"type":"tool_call","value":"{\"name\": \"f\", \"arguments\": {}}"},{"type":"tool_call","value":"{\"name\":\"g\"}"}]},
            {"role":"tool","content":[{"type":"text","value":"1"}]},{"role":"tool","content":[{"type":"text","value":"2"}]},
            {"role":"assistant","content":[{"type":"text","value":"a"}],"loss_weight":1.0}]"#;
        let document = read(source, None, None).expect("a transcript");
        let transcript = &document.transcripts[0];
        assert_eq!(transcript.format.name, "openai-chat");
        let pairing = &transcript.pairing;
        assert_eq!(pairing.pairs, [(1, 2), (1, 3)]);
        assert!(pairing.unanswered.is_empty() && !pairing.orphaned.contains(&true));
        let names: Vec<String> =
            transcript.messages[1].calls.iter().filter_map(|call| Some(call.name?.decode().into_owned())).collect();
        assert_eq!(names, ["f", "g"]);
    }

    #[test]
    fn actions_stay_with_their_outcome_and_no_cut_leaves_an_exit_alone() {
        let source = r#"{"history":[{"role":"system","content":"s","agent":"main","message_type":"system_prompt"},
            {"role":"user","content":"u","agent":"main","message_type":"observation"},
            {"role":"assistant","content":"t","agent":"main","action":"ls","message_type":"action"},
            {"role":"user","content":"a.rs","agent":"main","message_type":"observation"},
            {"role":"assistant","content":"t","agent":"main","action":"cat","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},
            {"role":"tool","content":"r","agent":"main","tool_call_ids":["a"]}]}"#;
        let document = read(source, None, None).expect("a transcript");
        let transcript = &document.transcripts[0];
        assert_eq!(
            (transcript.groups.as_slice(), transcript.pairing.pairs.as_slice()),
            ([(2, 3)].as_slice(), [(4, 5)].as_slice())
        );
        let exit = r#"[{"role":"user","content":"u"},{"role":"assistant","content":"a"},{"role":"exit","content":""}]"#;
        assert_eq!(read(exit, None, None).expect("a transcript").transcripts[0].groups, [(1, 2)]);
    }

    #[test]
    fn a_summary_has_the_members_that_its_readers_need() {
        let written_as = |role: SummaryRole, source: &str| {
            let document = read(source, None, None).expect("a transcript");
            let summary = SummaryMessage { text: "s", role, name: None, marked: false };
            FORMAT.write_summary(&summary, &InsertionPoint::new(&document.transcripts[0], 0))[0].to_string()
        };
        let written = |source: &str| written_as(SummaryRole::User, source);
        assert_eq!(written(r#"[{"role":"user","content":"u"}]"#), r#"{"role":"user","content":"s"}"#);
        assert_eq!(
            written(r#"[{"role":"user","content":[{"type":"text","value":"u"}]}]"#),
            r#"{"role":"user","content":[{"type":"text","value":"s"}]}"#
        );
        assert_eq!(
            written(r#"{"messages":[{"role":"user","content":{"type":"text","text":"u"}}],"maxTokens":9}"#),
            r#"{"role":"user","content":{"type":"text","text":"s"}}"#
        );
        assert_eq!(
            written(r#"[{"role":"user","content":"u","agent":"main","message_type":"action"}]"#),
            r#"{"role":"user","content":"s","agent":"main","message_type":"observation"}"#
        );
        let of_mistral = r#"[{"role":"user","content":"u"},{"role":"assistant","content":"a","prefix":false}]"#;
        assert_eq!(written(of_mistral), r#"{"role":"user","content":"s"}"#);
        assert_eq!(
            written_as(SummaryRole::Assistant, of_mistral),
            r#"{"role":"assistant","content":"s","prefix":false}"#
        );
        let of_another = format!(r#"{{"model":"gpt-5","messages":{of_mistral}}}"#);
        assert_eq!(written_as(SummaryRole::Assistant, &of_another), r#"{"role":"assistant","content":"s"}"#);
    }

    #[test]
    fn mistral_is_told_by_its_model_or_its_answers() {
        let alternates = |source: &str| read(source, None, None).expect("a transcript").transcripts[0].order.alternates;
        let messages = r#"[{"role":"user","content":"u"},{"role":"assistant","content":"a"}]"#;
        assert!(alternates(&format!(r#"{{"model":"Mistral-large-latest","messages":{messages}}}"#)));
        assert!(alternates(&format!(
            r#"{{"custom_id":"1","body":{{"model":"open-mixtral-8x7b","messages":{messages}}}}}"#
        )));
        assert!(!alternates(&format!(r#"{{"model":"gpt-5","messages":{messages}}}"#)));
        assert!(alternates(&messages.replace(r#""content":"a""#, r#""content":"a","prefix":false"#)));
        assert!(!alternates(&messages.replace(r#""content":"a""#, r#""content":"a","prefix":true"#)));
        // A mark in a message that would be summarized is not evidence.
        let marked = r#"[{"role":"assistant","content":"a","prefix":false},{"role":"assistant","content":"b"}]"#;
        assert!(!alternates(marked));
        // A message that the model should continue is not evidence, and hides none.
        let going_on = r#"[{"role":"assistant","content":"a","prefix":false},{"role":"user","content":"u"},{"role":"assistant","content":"It","prefix":true}]"#;
        assert!(alternates(going_on));
    }

    #[test]
    fn rows_of_hermes_are_read_as_it_sends_them() {
        let note = r#"{"role":"session_meta","tools":[]}"#;
        let user = r#"{"role":"user","content":"Look.","api_content":"Look.\n\n[The user likes short answers.]"}"#;
        let call = r#"{"role":"assistant","content":"","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}"#;
        let result = r#"{"role":"tool","content":"r","tool_call_id":"a","tool_name":"f"}"#;
        let lines = [note, user, call, result].join("\n");
        let session = format!(r#"{{"session_id":"s","message_count":3,"messages":[{user},{call},{result},{note}]}}"#);
        for source in [lines, session] {
            let document = read(&source, None, None).expect("a transcript");
            let transcript = &document.transcripts[0];
            assert_eq!(
                (transcript.format.name, transcript.messages.len(), transcript.notes.len()),
                ("openai-chat", 3, 1)
            );
            assert_eq!(transcript.pairing.pairs, [(1, 2)]);
            let sent = transcript.messages[0].content.texts()[0].decode().into_owned();
            assert_eq!(sent, "Look.\n\n[The user likes short answers.]");
            assert_eq!(crate::speaker::said_texts(&transcript.messages[0]).strings(), ["Look."]);
            assert_eq!(crate::foreign::unread_text(transcript), None);
        }
        let alone = format!("[{user},{result}]");
        assert_eq!(read(&alone, None, None).expect("a transcript").transcripts[0].format.name, "openai-chat");
    }
}
