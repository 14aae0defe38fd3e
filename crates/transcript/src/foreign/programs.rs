//! Programs whose files tcompact does not read, told by one of their messages or by a whole export.

use crate::foreign::apps::APPS;
use crate::foreign::libraries::LIBRARIES;
use crate::foreign::misread::{HERMES, MISREAD_PROGRAMS};
use crate::foreign::recognizer::{OtherProgram, Program, has_all, has_any, has_at, has_part_at, is_one_of};
use crate::foreign::records::RECORDS;
use crate::json::{Json, JsonKind, Object};

/// Programs whose files are told where no format reads them. They are never asked about what a format reads.
const PROGRAMS: [Program; 28] = [
    Program::of("a session of Crush", |message| {
        has_all(message, &["role"]) && has_at(message, &["parts"], begins_with_data)
    }),
    Program::of("a trajectory of Harbor (ATIF)", |one| {
        one.get_text("schema_version").is_some_and(|version| version.starts_with("ATIF"))
    }),
    Program::of("a session of Continue", |one| {
        has_all(one, &["message", "contextItems"]) || has_all(one, &["sessionId", "workspaceDirectory", "history"])
    }),
    Program::of("a conversation of LM Studio", |message| has_all(message, &["versions", "currentlySelected"])),
    Program::of("messages of Letta", |message| has_all(message, &["id", "message_type"])),
    Program::of("a thread of Zed", |message| {
        message.at(&["User", "content"]).is_some() || message.at(&["Agent", "content"]).is_some()
    }),
    Program::of("updates of the Agent Client Protocol", |line| {
        line.at(&["params", "update", "sessionUpdate"]).is_some()
    }),
    Program::of("events of OpenHands V1", |event| {
        has_all(event, &["id", "source"]) && event.get_text("kind").is_some_and(|kind| is_event(&kind.decode()))
    }),
    Program::of("a chat history of Semantic Kernel", is_of_semantic_kernel),
    Program::of("a session of Factory Droid", |line| {
        is_one_of(line, "type", &["message"])
            && has_part_at(line, &["message", "content"], &["tool_use", "tool_result"])
    }),
    Program::of("a session of Factory Droid", |line| is_one_of(line, "type", &["session_start", "compaction_state"])),
    Program::of("a stream of Cursor's agent", |line| has_all(line, &["call_id", "tool_call"])),
    Program::of("a transcript of Cursor's agent", |line| {
        has_all(line, &["role"]) && line.at(&["message", "content"]).is_some() && !has_any(line, &["type", "uuid"])
    }),
    Program {
        name: "Goose's messages",
        next: "compact it in Goose",
        is_of: |message| {
            has_any(message, &["working_dir"]) && has_any(message, &["conversation"])
                || has_part_at(message, &["content"], &["toolRequest", "toolResponse"])
        },
    },
    Program::of("Mastra's messages", |message| message.at(&["content", "format"]).is_some()),
    Program::of("Kimi CLI's context", |message| {
        has_part_at(message, &["content"], &["think"])
            || message.get_text("role").is_some_and(|role| role.decode().starts_with('_'))
    }),
    Program::of("an export of ChatGPT", |one| {
        has_all(one, &["mapping"]) && has_any(one, &["current_node", "conversation_id"])
    }),
    Program::of("an export of Claude.ai", |one| has_all(one, &["chat_messages"])),
    Program::of("an export of Open WebUI", |one| one.at(&["chat", "history", "messages"]).is_some()),
    Program::of("shared data of opencode", |one| {
        has_all(one, &["type", "data"]) && is_one_of(one, "type", &["session", "message", "part"])
    }),
    Program::of("a file of opencode's storage", is_of_opencodes_storage),
    Program::of("a session of Google's ADK", |one| {
        has_all(one, &["author"]) && has_any(one, &["invocationId", "invocation_id"])
            || has_all(one, &["events"]) && has_any(one, &["appName", "app_name"])
    }),
    Program::of("an evaluation set of Google's ADK", |one| has_all(one, &["eval_set_id", "eval_cases"])),
    Program {
        name: "a stream of opencode",
        next: "tcompact reads what `opencode export` writes",
        is_of: |line| has_all(line, &["type", "sessionID", "part"]),
    },
    Program {
        name: "a stream of Gemini CLI",
        next: "tcompact reads the session's own file",
        is_of: |line| is_one_of(line, "type", &["init"]) && has_all(line, &["session_id", "model", "timestamp"]),
    },
    Program {
        name: "a stream of pi",
        next: "tcompact reads the session's own file",
        is_of: |line| is_one_of(line, "type", &["agent_start", "turn_start"]),
    },
    Program::of("a log of CrewAI", |one| has_all(one, &["task_name", "task", "agent", "status"])),
    Program::of("a session of Strands Agents", |one| has_all(one, &["message", "message_id"])),
];

fn is_of_semantic_kernel(message: &Object<'_>) -> bool {
    if has_all(message, &["content_type", "role"]) && !has_any(message, &["parts"]) {
        return true;
    }
    if message.at(&["Role", "Label"]).is_some() || message.at(&["role", "label"]).is_some() {
        return true;
    }
    let has_items = has_at(message, &["items"], begins_with_type) || has_at(message, &["Items"], begins_with_type);
    has_items && has_any(message, &["Role", "role"])
}

fn is_of_opencodes_storage(one: &Object<'_>) -> bool {
    let is_message = has_all(one, &["id", "sessionID"]) && has_any(one, &["messageID", "role"]);
    let is_session = has_all(one, &["id", "projectID", "directory"]);
    // Parts of earlier versions name neither their session nor their message.
    let is_early_part = has_all(one, &["id", "text"])
        && one.at(&["time", "start"]).is_some()
        && is_one_of(one, "type", &["text", "reasoning"]);
    is_message || is_session || is_early_part
}

/// Whether the first part of a list is one of Crush's.
fn begins_with_data(list: Json<'_>) -> bool {
    list.items().next().is_some_and(has_data)
}

/// Whether the first item of a list has a type as Semantic Kernel writes it.
fn begins_with_type(list: Json<'_>) -> bool {
    list.items().next().is_some_and(is_typed)
}

/// Whether a part is one of Crush's.
fn has_data(part: Json<'_>) -> bool {
    part.get("data").is_some_and(|data| data.kind() == JsonKind::Object)
}

/// Whether a kind is that of an event of OpenHands V1.
fn is_event(kind: &str) -> bool {
    ["Event", "Observation", "Condensation", "CondensationRequest"].iter().any(|end| kind.ends_with(end))
}

/// Whether an item has a type as Semantic Kernel writes it.
fn is_typed(item: Json<'_>) -> bool {
    item.get_text("content_type").is_some() || item.get_text("$type").is_some()
}

/// The program whose file an object is of, or begins, where a format would misread it.
pub(crate) fn misread_program(object: &Object<'_>) -> Option<OtherProgram> {
    MISREAD_PROGRAMS.iter().find(|program| (program.is_of)(object)).map(Program::told)
}

/// The program that wrote a message which a format would misread, wherever it stands.
pub(crate) fn misread_message(message: &Object<'_>) -> Option<OtherProgram> {
    if (HERMES.is_of)(message) { Some(HERMES.told()) } else { None }
}

/// The program whose file an object is of, if tcompact recognizes it but does not read it.
pub(crate) fn unread_program(object: Json<'_>) -> Option<OtherProgram> {
    let object = Object::of(object);
    let programs = MISREAD_PROGRAMS.iter().chain(&RECORDS).chain(&APPS).chain(&LIBRARIES).chain(&PROGRAMS);
    programs.into_iter().find(|program| (program.is_of)(&object)).map(Program::told)
}
