//! What Claude Code writes to its sessions and sends to no model.
//!
//! A copy of each result (`toolUseResult`) is for its screen: it shows the change of an edit, and the first lines of an
//! output. It leaves the same members empty itself where it shortens a session in memory: the file before an edit, and
//! what was read or written. Lines about progress are taken out of the chain when a session is loaded.

use crate::format::Transcript;
use crate::formats::claude_code::walk::{Place, Walk};
use crate::formats::claude_code::{KEYS, is_sent};
use crate::json::{Json, Object};
use crate::unsent_forms::{Conditions, KeptMember, LastEntry, Shortened, UnsentEntry, UnsentForms, UnsentMember};

/// The lines of an output that Claude Code shows, and some more.
const OUTPUT: Shortened = Shortened::Lines(10);
/// The lines of a change that it shows, and the parts of a change.
const CHANGE: Shortened = Shortened::Elements(60);
const CHANGES: Shortened = Shortened::Elements(5);
/// The files of a search.
const FILES: Shortened = Shortened::Elements(10);

/// How the copy of a refused call begins, which holds the words of the user.
const REFUSALS: &[&str] = &["User rejected tool use", "The user doesn't want to", "Error: The user doesn't want to "];

const PROGRESS: Conditions = &[(&["type"], "progress")];
const SNAPSHOT: Conditions = &[(&["type"], "file-history-snapshot")];
const REQUEST: Conditions = &[(&["type"], "api-request")];
const REQUEST_SHAPE: Conditions = &[(&["type"], "api-request-shape")];
const REQUEST_MESSAGE: Conditions = &[(&["type"], "api-request-blob")];
const ATTACHMENT: Conditions = &[(&["type"], "attachment")];
/// A file whose text is sent as it is in `rendered`.
const RENDERED_FILE: Conditions =
    &[(&["renderedRole"], "user"), (&["attachment", "content", "type"], "text"), (&["attachment", "type"], "file")];
const HOOK: Conditions = &[(&["attachment", "type"], "hook_success")];
const ASYNC_HOOK: Conditions = &[(&["attachment", "type"], "async_hook_response")];
const UPDATE: Conditions = &[(&["toolUseResult", "type"], "update")];

pub(super) const FORMS: UnsentForms = UnsentForms {
    entries: &[
        UnsentEntry { is: PROGRESS, stays_with: None, last: LastEntry::Goes },
        // The last one is what `/rewind` goes back to.
        UnsentEntry { is: SNAPSHOT, stays_with: None, last: LastEntry::Stays },
        // Records of requests, each in pieces that it names by their hashes. Claude Code loads none of them, and writes
        // what it misses again with the next request.
        UnsentEntry { is: REQUEST, stays_with: None, last: LastEntry::Goes },
        UnsentEntry { is: REQUEST_SHAPE, stays_with: None, last: LastEntry::Goes },
        UnsentEntry { is: REQUEST_MESSAGE, stays_with: None, last: LastEntry::Goes },
    ],
    members: &[
        UnsentMember::new(PROGRESS, &["data"], Shortened::Empty),
        UnsentMember::new(&[], &["toolUseResult", "originalFile"], Shortened::Empty),
        UnsentMember::new(&[], &["toolUseResult", "file", "content"], Shortened::Empty),
        UnsentMember::new(&[], &["toolUseResult", "file", "base64"], Shortened::Empty),
        UnsentMember::new(UPDATE, &["toolUseResult", "content"], Shortened::Empty),
        UnsentMember::new(&[], &["toolUseResult", "structuredPatch", "*", "lines"], CHANGE),
        UnsentMember::new(&[], &["toolUseResult", "structuredPatch"], CHANGES),
        UnsentMember::new(&[], &["toolUseResult", "filenames"], FILES),
        UnsentMember { spares: REFUSALS, ..UnsentMember::new(&[], &["toolUseResult"], OUTPUT) },
        UnsentMember { spares: REFUSALS, ..UnsentMember::new(&[], &["tool_use_result"], OUTPUT) },
        UnsentMember::new(RENDERED_FILE, &["attachment", "content", "file", "content"], Shortened::Empty),
        UnsentMember::new(HOOK, &["attachment", "stdout"], OUTPUT),
        UnsentMember::new(HOOK, &["attachment", "stderr"], OUTPUT),
        UnsentMember::new(ASYNC_HOOK, &["attachment", "stdout"], OUTPUT),
        UnsentMember::new(ASYNC_HOOK, &["attachment", "stderr"], OUTPUT),
        UnsentMember::new(&[(&["subtype"], "api_error")], &["error"], OUTPUT),
    ],
    kept: &[
        KeptMember { of: HOOK, path: &["attachment", "command"] },
        KeptMember { of: ASYNC_HOOK, path: &["attachment", "command"] },
        // Beside the text that is sent, Claude Code compares what it attached with what it would attach now.
        KeptMember { of: ATTACHMENT, path: &["attachment"] },
        // One of the texts is sent, by what stands around the line.
        KeptMember { of: ATTACHMENT, path: &["rendered"] },
        KeptMember { of: ATTACHMENT, path: &["renderedInHumanTurn"] },
        KeptMember { of: ATTACHMENT, path: &["renderedWithdrawn"] },
    ],
    links: Some(KEYS),
};

/// The lines of branches that the last line does not lead to, those before the last boundary, and the system prompts that
/// a later one replaces.
pub(super) fn no_longer_loaded<'a>(transcript: &Transcript<'a>) -> Vec<Json<'a>> {
    let entries = transcript.entries_in_order();
    let lines: Vec<Object<'a>> = entries.iter().copied().map(Object::of).collect();
    let walk = Walk::of(&lines);
    let places = walk.places(&is_sent);
    // Before a torn link, nothing tells a branch that the user left from the history that the link led to.
    let torn = walk.torn.iter().max().copied().unwrap_or(0);
    let mut left = Vec::new();
    for (index, (entry, place)) in entries.into_iter().zip(&places).enumerate() {
        if *place == Place::Compacted || *place == Place::Branch && index >= torn {
            left.push(entry);
        }
    }
    left.extend(replaced_prompts(&lines, &walk));
    left
}

/// The system prompts and tools that Claude Code noted on the way, but for the last: it goes on with that one.
fn replaced_prompts<'a>(lines: &[Object<'a>], walk: &Walk<'_, 'a>) -> Vec<Json<'a>> {
    let mut prompts = Vec::new();
    for &index in &walk.chain {
        let attachment = lines[index].get("attachment");
        if attachment.is_some_and(|attachment| attachment.member_is("type", "prompt_snapshot")) {
            prompts.push(lines[walk.counted(index)].json);
        }
    }
    prompts.pop();
    prompts
}
