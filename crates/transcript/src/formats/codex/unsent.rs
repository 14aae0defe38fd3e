//! What Codex writes to its sessions and sends to no model.
//!
//! Events are for its screen. What the user and the model said stays, and so do events that change what is sent. The
//! outputs and changes that other events repeat become as short as the screen shows them. How much an account may use is
//! not restored.

use crate::format::{Retention, Transcript};
use crate::formats::codex::replay::has_list;
use crate::formats::codex::{CodexLine, line};
use crate::json::{Json, Object};
use crate::unsent_forms::{Conditions, LastEntry, Shortened, UnsentEntry, UnsentForms, UnsentMember};

const OUTPUT: Shortened = Shortened::Lines(10);
const CHANGE: Shortened = Shortened::Hunks(60);
/// The lines of a plan.
const PLAN: Shortened = Shortened::Lines(60);

const COMMAND: Conditions = &[(&["type"], "event_msg"), (&["payload", "type"], "exec_command_end")];
const PATCH: Conditions = &[(&["type"], "event_msg"), (&["payload", "type"], "patch_apply_end")];
const TOOL: Conditions = &[(&["type"], "event_msg"), (&["payload", "type"], "mcp_tool_call_end")];
const DYNAMIC_TOOL: Conditions = &[(&["type"], "event_msg"), (&["payload", "type"], "dynamic_tool_call_response")];
const ITEM: Conditions = &[(&["type"], "event_msg"), (&["payload", "type"], "item_completed")];
const SIZE: Conditions = &[(&["type"], "event_msg"), (&["payload", "type"], "token_count")];

pub(super) const FORMS: UnsentForms = UnsentForms {
    // The others hold recorded sizes, by which the size of the context is known.
    entries: &[UnsentEntry { is: SIZE, stays_with: Some(&["payload", "info"]), last: LastEntry::Goes }],
    members: &[
        UnsentMember::new(SIZE, &["payload", "rate_limits"], Shortened::Null),
        UnsentMember::new(COMMAND, &["payload", "aggregated_output"], OUTPUT),
        UnsentMember::new(COMMAND, &["payload", "formatted_output"], OUTPUT),
        UnsentMember::new(COMMAND, &["payload", "stdout"], OUTPUT),
        UnsentMember::new(COMMAND, &["payload", "stderr"], OUTPUT),
        UnsentMember::new(PATCH, &["payload", "changes", "*", "unified_diff"], CHANGE),
        UnsentMember::new(PATCH, &["payload", "changes", "*", "content"], OUTPUT),
        UnsentMember::new(PATCH, &["payload", "stdout"], OUTPUT),
        UnsentMember::new(PATCH, &["payload", "stderr"], OUTPUT),
        UnsentMember::new(TOOL, &["payload", "invocation"], OUTPUT),
        UnsentMember::new(TOOL, &["payload", "result"], OUTPUT),
        UnsentMember::new(DYNAMIC_TOOL, &["payload", "arguments"], OUTPUT),
        UnsentMember::new(DYNAMIC_TOOL, &["payload", "content_items"], OUTPUT),
        UnsentMember::new(ITEM, &["payload", "item", "changes", "*", "unified_diff"], CHANGE),
        UnsentMember::new(ITEM, &["payload", "item", "changes", "*", "diff"], CHANGE),
        UnsentMember::new(ITEM, &["payload", "item", "aggregated_output"], OUTPUT),
        UnsentMember::new(ITEM, &["payload", "item", "aggregatedOutput"], OUTPUT),
        UnsentMember::new(ITEM, &["payload", "item", "result"], OUTPUT),
        UnsentMember::new(ITEM, &["payload", "item"], PLAN),
    ],
    kept: &[],
    links: None,
};

/// The items that the last compaction replaced, where it has a list in their place. The events between them stay: Codex
/// shows what was said before a compaction, too.
pub(super) fn no_longer_loaded<'a>(transcript: &Transcript<'a>) -> Vec<Json<'a>> {
    let replaces_all = |json: Json<'a>| match line(&Object::of(json)) {
        Some(CodexLine::Compacted(payload)) => has_list(payload),
        _ => false,
    };
    let mut lists = transcript.messages.iter().filter(|message| message.earlier && replaces_all(message.json));
    let Some(last) = lists.next_back().map(|message| message.span().start) else { return Vec::new() };
    let mut left = Vec::new();
    for note in &transcript.notes {
        let is_replaced = note.retention == Retention::Obsolete && note.json.span().start < last;
        let kind = line(&Object::of(note.json));
        if is_replaced && matches!(kind, Some(CodexLine::Item(..) | CodexLine::Compacted(_))) {
            left.push(note.json);
        }
    }
    left
}
