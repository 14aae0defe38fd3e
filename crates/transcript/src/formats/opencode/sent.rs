//! What opencode sends of a session: the messages in the order of their times, from the last compaction on.
//!
//! A compaction counts once its answer is finished. It can name the first of the messages that it kept
//! (`tail_start_id`): these stand before it, and are sent behind it.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::format::{EntryKind, Retention};
use crate::formats::opencode::parts::{is_sent_of_model, is_sent_of_user};
use crate::formats::shared::fields::list;
use crate::json::{Json, Object};
use crate::text::Text;

/// Where the context begins.
struct Context {
    /// The first message that is sent.
    first: usize,
    /// The message of the user that marks the last compaction, and the summary.
    compaction: Option<(usize, usize)>,
}

/// Which messages are sent.
pub(super) fn entries(messages: &[Object<'_>]) -> Vec<EntryKind> {
    let context = Context::of(messages);
    let mut entries = Vec::with_capacity(messages.len());
    for (index, message) in messages.iter().enumerate() {
        entries.push(match context.compaction {
            _ if index < context.first => EntryKind::Note(Retention::Obsolete),
            Some((marker, summary)) if marker == index => EntryKind::Note(Retention::With(summary)),
            _ if is_sent(message) => EntryKind::Message,
            _ => EntryKind::Note(Retention::WithPrevious),
        });
    }
    entries
}

impl Context {
    /// Goes from the last message back to the first that is sent.
    fn of(messages: &[Object<'_>]) -> Self {
        let mut context = Context { first: 0, compaction: None };
        // The finished summaries, each by the message that it answers.
        let mut summaries: HashMap<Cow<'_, str>, usize> = HashMap::new();
        let mut tail: Option<Text<'_>> = None;
        for (index, message) in messages.iter().enumerate().rev() {
            let Some(info) = message.get("info") else { continue };
            let id = info.get_text("id").map(|id| id.decode()).unwrap_or_default();
            if let Some(first) = tail {
                if first.is(&id) {
                    context.first = index;
                    break;
                }
            } else if is_finished_summary(info) {
                let answered = info.get_text("parentID").map(|id| id.decode()).unwrap_or_default();
                summaries.insert(answered, index);
            } else if let (Some(mark), Some(summary)) = (mark_of(message, info), summaries.get(&id)) {
                context.compaction = Some((index, *summary));
                tail = mark.get_text("tail_start_id").filter(|first| !first.is(&id));
                if tail.is_none() {
                    context.first = index;
                    break;
                }
            }
        }
        context
    }
}

/// The part that makes a message of the user the beginning of a compaction.
fn mark_of<'a>(message: &Object<'a>, info: Json<'a>) -> Option<Json<'a>> {
    let mut parts = list(message, "parts");
    if info.member_is("role", "user") { parts.find(|part| part.member_is("type", "compaction")) } else { None }
}

/// Whether a message is the summary of a compaction that did not fail.
pub(super) fn is_finished_summary(info: Json<'_>) -> bool {
    info.member_is("role", "assistant")
        && is_truthy(info, "summary")
        && is_truthy(info, "finish")
        && !is_truthy(info, "error")
}

fn is_truthy(info: Json<'_>, key: &str) -> bool {
    info.get(key).is_some_and(|value| !value.is_falsy())
}

/// Whether anything of a message is sent.
fn is_sent(message: &Object<'_>) -> bool {
    let Some(info) = message.get("info") else { return true };
    // What else is in a message without parts is of another version.
    if message.get("parts").is_none() {
        return true;
    }
    let mut parts = list(message, "parts");
    if info.member_is("role", "user") {
        return parts.any(is_sent_of_user);
    }
    if let Some(error) = info.get("error")
        && !error.is_falsy()
    {
        // An answer that you interrupted is sent if there was more than reasoning.
        let mut said = list(message, "parts");
        let is_more = said.any(|part| !part.member_is("type", "step-start") && !part.member_is("type", "reasoning"));
        if !error.member_is("name", "MessageAbortedError") || !is_more {
            return false;
        }
    }
    parts.any(is_sent_of_model)
}

/// Whether some messages do not stand in the order of their times.
pub(super) fn is_out_of_order(messages: &[Json<'_>]) -> bool {
    let times: Vec<i64> = messages.iter().filter_map(|message| created(*message)).collect();
    !times.is_sorted()
}

/// When a message was made, in milliseconds.
pub(super) fn created(message: Json<'_>) -> Option<i64> {
    /// The year 9999. What is later is not a time.
    const LATEST: f64 = 253_402_300_799_000.0;
    let created = message.at(&["info", "time", "created"])?.raw().parse::<f64>().ok()?;
    if (0.0..=LATEST).contains(&created) { Some(created as i64) } else { None }
}
