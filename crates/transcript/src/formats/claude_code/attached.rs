//! Lines that are sent to the model although they are not messages: attachments, and commands that the user ran.
//!
//! What the user typed while a tool ran is the user's message. All else was written by the program, and its role is its
//! type.
//!
//! Also: calls that the user refused: Claude Code says so beside the message, in the copy of the result that it displays.
//!
//! Also: the sizes that Claude Code records: the usage of each answer, which all of its lines repeat.

use memchr::memmem;

use crate::foreign;
use crate::formats::claude_code::{is_boundary, is_sidechain};
use crate::formats::shared::blocks::{common_block, content};
use crate::json::{Json, JsonKind, Object};
use crate::media::MediaKind;
use crate::message::{Content, Message, Part, PartKind, RareFields, ResultRef, Role, is_marked_as_programs};
use crate::status::Denial;
use crate::text::Text;
use crate::usage::{SizeNote, UsageAt};

/// Members that hold what the model is sent, in attachments of all types; of several, the first counts.
const CONTENT: &str = "prompt|content|snippet|planContent|memories|skills|files|blockingError|message|messages|\
    response|additionalContext|text|addedLines|addedBlocks";

/// Attachments that Claude Code displays, or that steer it, and sends to no model.
#[rustfmt::skip]
const NOT_SENT: &[&str] = &[
    "already_read_file", "command_permissions", "dynamic_skill", "edited_image_file", "hook_cancelled",
    "hook_error_during_execution", "hook_non_blocking_error", "hook_permission_decision", "hook_system_message",
    "structured_output",
];

/// The output of a hook that ran beside the session. The model is sent what the hook says to it, and nothing else of the
/// output, which often repeats what the hook was given.
const ASYNC_HOOK: &str = "async_hook_response";
const SAID_BY_HOOK: [&[&str]; 2] =
    [&["response", "systemMessage"], &["response", "hookSpecificOutput", "additionalContext"]];

/// Hooks whose output the model is sent.
const SENT_HOOKS: [&str; 2] = ["SessionStart", "UserPromptSubmit"];

/// Attachments that Claude Code writes anew for each request, whatever it has noted beside them.
const NEVER_RENDERED: [&str; 3] = ["message_pdf_reads", "poll_events", "project_doc_reads"];

/// Reads a line; `None` if it holds nothing that a model is sent.
pub(super) fn read<'a>(line: &Object<'a>) -> Option<Message<'a>> {
    let kind = line.get_text("type")?;
    if kind.is("system") {
        let subtype = line.get_text("subtype")?;
        let text = line.get_text("content")?;
        if !subtype.is("local_command") || text.is_empty() {
            return None;
        }
        return Some(by_program(line, subtype, Content::Text(text)));
    }
    if !kind.is("attachment") {
        return None;
    }
    let attachment = Object::of(line.get("attachment")?);
    let kind = attachment.get_text("type")?;
    if !kind.is_in(&NEVER_RENDERED)
        && let Some(content) = rendered(line)
    {
        return Some(as_rendered(line, &attachment, kind, content));
    }
    if kind.is_in(NOT_SENT) || kind.is("hook_success") && !is_sent_hook(&attachment) {
        return None;
    }
    let mut parts = Vec::new();
    if kind.is(ASYNC_HOOK) {
        for path in SAID_BY_HOOK {
            if let Some(said) = attachment.at(path)
                && said.kind() == JsonKind::String
                && !said.is_falsy()
            {
                collect(said, &mut parts);
            }
        }
        return if parts.is_empty() { None } else { Some(by_program(line, kind, Content::of_parts(parts.into()))) };
    }
    let value = CONTENT.split('|').find_map(|key| attachment.get(key))?;
    if value.is_falsy() {
        return None;
    }
    if kind.is("queued_command") {
        let content = content(Some(value), common_block);
        return Some(if is_typed(line, &attachment) {
            Message { role: Role::User, content, ..Message::empty(line.json) }
        } else {
            by_program(line, kind, content)
        });
    }
    collect(value, &mut parts);
    if parts.is_empty() { None } else { Some(by_program(line, kind, Content::of_parts(parts.into()))) }
}

/// What Claude Code 2.1.330 and later sends of an attachment, as it notes it beside it: one message or more, each a text
/// or blocks of text. Where one of them is empty or something else, Claude Code sends the attachment itself.
fn rendered<'a>(line: &Object<'a>) -> Option<Content<'a>> {
    let mut parts = Vec::new();
    for message in line.get("rendered")?.items() {
        let content = message.get("content")?;
        let before = parts.len();
        if content.kind() == JsonKind::Array {
            for block in content.items() {
                let text = block.get_text("text")?;
                if text.is_empty() || !block.member_is("type", "text") {
                    return None;
                }
                parts.push(Part { json: block, kind: PartKind::Text(text) });
            }
        } else {
            let text = content.text()?;
            if text.is_empty() {
                return None;
            }
            parts.push(Part { json: content, kind: PartKind::Text(text) });
        }
        if parts.len() == before {
            return None;
        }
    }
    if parts.is_empty() { None } else { Some(Content::of_parts(parts.into())) }
}

/// The message of an attachment whose text Claude Code has noted. In that, it frames what a queued command says.
fn as_rendered<'a>(line: &Object<'a>, attachment: &Object<'a>, kind: Text<'a>, content: Content<'a>) -> Message<'a> {
    if !kind.is("queued_command") {
        return by_program(line, kind, content);
    }
    let typed = attachment.get("prompt").and_then(only_text);
    let is_typed = is_typed(line, attachment);
    let (role, role_name) = if is_typed { (Role::User, None) } else { (Role::Other, Some(kind)) };
    let rest = RareFields { role_name, typed, ..RareFields::default() }.boxed();
    Message { role, content, rest, ..Message::empty(line.json) }
}

/// The text of a prompt that has no other block.
fn only_text(prompt: Json<'_>) -> Option<Text<'_>> {
    let mut blocks = prompt.items();
    let text = match (blocks.next(), blocks.next()) {
        (Some(block), None) => block.get_text("text"),
        _ => prompt.text(),
    };
    text.filter(|text| !text.is_empty())
}

/// Whether the user typed a queued command.
fn is_typed(line: &Object<'_>, attachment: &Object<'_>) -> bool {
    attachment.get_text("commandMode").is_none_or(|mode| mode.is("prompt"))
        && !is_marked_as_programs(line.json)
        && !is_marked_as_programs(attachment.json)
}

fn by_program<'a>(line: &Object<'a>, kind: Text<'a>, content: Content<'a>) -> Message<'a> {
    Message { content, rest: RareFields::of_role(Some(kind)), ..Message::empty(line.json) }
}

fn is_sent_hook(attachment: &Object<'_>) -> bool {
    attachment.get_text("hookEvent").is_some_and(|event| event.is_in(&SENT_HOOKS))
}

/// Collects texts and media. Files and memories wrap their text in objects.
fn collect<'a>(value: Json<'a>, parts: &mut Vec<Part<'a>>) {
    let kind = match value.kind() {
        JsonKind::Null => return,
        JsonKind::Array => {
            for item in value.items() {
                collect(item, parts);
            }
            return;
        }
        JsonKind::Object if value.member_is("type", "image") => PartKind::Media(MediaKind::Picture),
        JsonKind::Object if value.get("base64").is_some() => PartKind::Media(MediaKind::of_block(value, "file")),
        JsonKind::Object if let Some(inside) = value.get("file").or_else(|| value.get("content")) => {
            return collect(inside, parts);
        }
        _ => match value.text() {
            Some(text) => PartKind::Text(text),
            None => foreign::value(value, PartKind::Text),
        },
    };
    parts.push(Part { json: value, kind });
}

/// The copies of a refused call. The copy of an error of a tool begins with `Error: `, so no tool can write these.
const REFUSED: [&str; 2] = ["User rejected tool use", STOP];
const STOP: &str = "The user doesn't want to take this action right now. STOP what you are doing and wait for the user to tell you how to proceed.";

/// The opening of the text in a result of a refused call, and what it has before the words of the user.
const OPENING: &str = "The user doesn't want to proceed with this tool use.";
const FRAME: &str = "the user said:\n";
/// The opening of a copy that has this text as an error. A server or a page can write such an error, too.
const ERROR: &str = "Error: The user doesn't want to ";

/// Tools whose errors are written by Claude Code.
const OWN: &str = "Edit|EnterPlanMode|ExitPlanMode|Glob|Grep|KillShell|LS|MultiEdit|NotebookEdit|NotebookRead|Read|\
    TodoRead|TodoWrite|Write";
/// The same with the shell, whose error begins with the exit code in newer versions.
const OWN_AND_SHELL: &str = "Bash|Edit|EnterPlanMode|ExitPlanMode|Glob|Grep|KillShell|LS|MultiEdit|NotebookEdit|\
    NotebookRead|Read|TodoRead|TodoWrite|Write";

/// The record of a line that the user refused the call that its only result answers.
pub(super) fn denial<'a>(line: &Object<'a>, results: &[ResultRef<'a>]) -> Option<Box<Denial<'a>>> {
    let [result] = results else { return None };
    if !result.json.member_is_true("is_error") {
        return None;
    }
    let copy = ["toolUseResult", "tool_use_result"].into_iter().find_map(|key| line.get_text(key))?;
    let denial = if copy.is_in(&REFUSED) {
        Denial::new(text(result.json).filter(|text| text.starts_with(OPENING)))
    } else if copy.starts_with(ERROR) {
        let own = if shell_errors_have_code(line) { OWN_AND_SHELL } else { OWN };
        Denial::new(Some(copy)).of_tools(own)
    } else {
        return None;
    };
    Some(Box::new(denial.behind(FRAME)))
}

/// Whether the version of a line writes the exit code before what a command printed.
fn shell_errors_have_code(line: &Object<'_>) -> bool {
    let version = line.get_text("version").map(|version| version.decode()).unwrap_or_default();
    let mut numbers = version.split('.').map_while(|number| number.parse::<u32>().ok());
    (numbers.next(), numbers.next()) >= (Some(2), Some(1))
}

fn text(result: Json<'_>) -> Option<Text<'_>> {
    let content = result.get("content")?;
    content.text().or_else(|| content.items().next()?.get_text("text"))
}

/// Lines that are written while an answer streams have the output up to its first token. Claude Code writes answers that no
/// model gave, such as errors.
pub(super) const USAGE: UsageAt = UsageAt {
    answer: Some(&["message", "id"]),
    is_whole: Some(&["message", "stop_reason"]),
    except: &[(&["message", "model"], "<synthetic>")],
    ..UsageAt::path(&["message", "usage"])
};

/// Reads a boundary of the conversation itself: sub-agents have their own.
pub(super) fn size_note<'a>(note: Json<'a>) -> Option<SizeNote<'a>> {
    // Most of a session's lines are notes.
    memmem::find(note.raw().as_bytes(), b"compact_boundary")?;
    let line = Object::of(note);
    let subtype = line.get_text("subtype")?;
    let is_smaller = subtype.is("microcompact_boundary") || is_boundary(&line);
    if is_smaller && !is_sidechain(&line) { Some(SizeNote::Smaller) } else { None }
}
