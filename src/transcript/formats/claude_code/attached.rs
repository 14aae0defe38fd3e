//! Lines that are sent to the model although they are not messages: attachments, and commands that the user ran.
//!
//! What the user typed while a tool ran is the user's message. All else was written by the program, and its role is its
//! type.

use crate::transcript::foreign;
use crate::transcript::formats::shared::blocks::{common_block, content};
use crate::transcript::json::{Json, JsonKind, Object};
use crate::transcript::media::MediaKind;
use crate::transcript::message::{Content, Message, Part, PartKind, RareFields, Role};
use crate::transcript::text::Text;

/// Members that hold what the model is sent, in attachments of all types; of several, the first counts.
const CONTENT: [&str; 13] = [
    "prompt",
    "content",
    "snippet",
    "planContent",
    "memories",
    "skills",
    "files",
    "blockingError",
    "message",
    "messages",
    "response",
    "additionalContext",
    "text",
];

/// Attachments that Claude Code displays, or that steer it, and sends to no model.
const NOT_SENT: [&str; 7] = [
    "already_read_file",
    "command_permissions",
    "hook_error_during_execution",
    "hook_non_blocking_error",
    "hook_permission_decision",
    "hook_system_message",
    "structured_output",
];

/// Hooks whose output the model is sent.
const SENT_HOOKS: [&str; 2] = ["SessionStart", "UserPromptSubmit"];

/// Reads a line; `None` if it holds nothing that a model is sent.
pub(super) fn read<'a>(line: &Object<'a>) -> Option<Message<'a>> {
    let kind = line.get_text("type")?;
    if kind.is("system") {
        let subtype = line.get_text("subtype").filter(|subtype| subtype.is("local_command"))?;
        let text = line.get_text("content").filter(|text| !text.is_empty())?;
        return Some(by_program(line, subtype, Content::Text(text)));
    }
    let attachment = Object::of(line.get("attachment").filter(|_| kind.is("attachment"))?);
    let kind = attachment.get_text("type")?;
    if NOT_SENT.iter().any(|name| kind.is(name)) || kind.is("hook_success") && !is_sent_hook(&attachment) {
        return None;
    }
    let value = CONTENT.iter().find_map(|key| attachment.get(key)).filter(|value| !value.is_falsy())?;
    if kind.is("queued_command") {
        let content = content(Some(value), common_block);
        let is_typed = attachment.get_text("commandMode").is_none_or(|mode| mode.is("prompt"));
        return Some(if is_typed {
            Message { role: Role::User, content, ..Message::empty(line.json) }
        } else {
            by_program(line, kind, content)
        });
    }
    let mut parts = Vec::new();
    collect(value, &mut parts);
    (!parts.is_empty()).then(|| by_program(line, kind, Content::of_parts(parts.into())))
}

fn by_program<'a>(line: &Object<'a>, kind: Text<'a>, content: Content<'a>) -> Message<'a> {
    Message { content, rest: RareFields::of_role(Some(kind)), ..Message::empty(line.json) }
}

fn is_sent_hook(attachment: &Object<'_>) -> bool {
    attachment.get_text("hookEvent").is_some_and(|event| SENT_HOOKS.iter().any(|sent| event.is(sent)))
}

/// Collects texts and media. Files and memories wrap their text in objects.
fn collect<'a>(value: Json<'a>, parts: &mut Vec<Part<'a>>) {
    let inside = || ["file", "content"].iter().find_map(|key| value.get(key));
    let kind = match value.kind() {
        JsonKind::Null => return,
        JsonKind::Array => return value.items().for_each(|item| collect(item, parts)),
        JsonKind::Object if value.get_text("type").is_some_and(|kind| kind.is("image")) => {
            PartKind::Media(MediaKind::Picture)
        }
        JsonKind::Object if value.get("base64").is_some() => PartKind::Media(MediaKind::of_block(value, "file")),
        JsonKind::Object if let Some(inside) = inside() => return collect(inside, parts),
        _ => value.text().map_or_else(|| foreign::value(value, PartKind::Text), PartKind::Text),
    };
    parts.push(Part { json: value, kind });
}
