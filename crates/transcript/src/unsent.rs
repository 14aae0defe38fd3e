//! Messages that an agent keeps among the others and no longer sends.
//!
//! Roo Code and its relatives remove nothing. A message that was condensed names its summary (`condenseParent`), one that
//! was truncated a marker (`truncationParent`), and neither is sent while that stands among the messages. Behind a summary
//! they do not send results whose calls it replaced.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use crate::format::Format;
use crate::json::{Items, Json, Object};
use crate::message::{self, Content, Message, PartKind, ResultRef};

/// The members that name the summary or the marker of messages that are not sent.
const TAGS: [&str; 2] = ["condenseParent", "truncationParent"];

/// What of a list is not sent.
#[derive(Debug, Default)]
pub(super) struct Unsent<'a> {
    /// For each value that is not sent, the summary or marker with which it stays.
    stays_with: HashMap<usize, usize>,
    /// The summary at which the sent messages begin.
    summary: Option<usize>,
    /// The ids of the calls behind the summary.
    calls: HashSet<Cow<'a, str>>,
}

/// What is left of a message without results that are not sent.
pub(super) struct Rest {
    /// The summary or marker without which they would be sent.
    pub(super) of: usize,
    /// Whether nothing is left.
    pub(super) is_empty: bool,
}

/// Whether a message can be one that is not sent.
pub(super) fn is_tagged(message: &Object<'_>) -> bool {
    TAGS.iter().any(|tag| message.get(tag).is_some())
}

/// Whether a message is the summary of an earlier compaction.
pub(super) fn is_summary(message: &Object<'_>) -> bool {
    is_true(message.get("isSummary"))
}

fn is_true(member: Option<Json<'_>>) -> bool {
    member.is_some_and(|value| value.raw() == "true")
}

impl<'a> Unsent<'a> {
    /// Finds what is not sent among the values of a list.
    pub(super) fn among(values: Items<'a>, format: &Format) -> Self {
        let values: Vec<Object<'a>> = values.map(Object::of).collect();
        let id = |value: &Object<'a>, key: &str| value.get_text(key).map(|id| id.decode());
        let of_marker = |(index, value): (usize, &Object<'a>)| Some((id(value, "truncationId")?, index));
        let marks = |(_, value): &(usize, &Object<'a>)| message::is_truncation_marker(value.json);
        let markers: HashMap<_, usize> = values.iter().enumerate().filter(marks).filter_map(of_marker).collect();
        let marker = |value: &Object<'a>| markers.get(&id(value, "truncationParent")?).copied();
        let of_summary = |value: &Object<'a>| id(value, "condenseId").filter(|_| is_summary(value));
        let summaries: HashSet<_> = values.iter().filter_map(of_summary).collect();
        let is_condensed = |value: &Object<'a>| id(value, "condenseParent").is_some_and(|id| summaries.contains(&id));
        let last = values.iter().rposition(is_summary);
        let (before, sent) = values.split_at(last.unwrap_or(0));
        let first = before.len();
        // A marker in front of the summary has no effect behind it.
        let truncated = |value: &Object<'a>| marker(value).filter(|marker| *marker >= first);
        let of_sent = sent.iter().enumerate().filter_map(|(index, value)| Some((first + index, truncated(value)?)));
        let mut stays_with: HashMap<usize, usize> = of_sent.collect();
        // The summary can be truncated itself.
        let summary = last.map(|last| stays_with.get(&last).copied().unwrap_or(last));
        if let Some(summary) = summary {
            let is_gone = |value: &Object<'a>| {
                is_condensed(value) || message::is_truncation_marker(value.json) || marker(value).is_some()
            };
            let gone = before.iter().enumerate().filter(|(_, value)| is_gone(value));
            stays_with.extend(gone.map(|(index, _)| (index, summary)));
        }
        let read = sent.iter().filter(|_| last.is_some()).filter_map(|value| format.read(value).ok());
        let calls = read.flat_map(|message| message.calls.into_iter().filter_map(|call| call.id));
        Unsent { stays_with, summary, calls: calls.map(|id| id.decode()).collect() }
    }

    /// The value with which one that is not sent stays.
    pub(super) fn stays_with(&self, index: usize) -> Option<usize> {
        self.stays_with.get(&index).copied()
    }

    /// Leaves out of a message the results whose calls are not sent. Returns what is left if there are any.
    pub(super) fn leave_out_results(&self, index: usize, message: &mut Message<'a>) -> Option<Rest> {
        let summary = self.summary?;
        let is_sent = |result: &ResultRef<'_>| result.id.is_none_or(|id| self.calls.contains(&id.decode()));
        if index < summary || message.results.iter().all(is_sent) {
            return None;
        }
        leave_out(message, is_sent);
        let is_empty = message.content.is_empty() && message.results.is_empty() && message.calls.is_empty();
        Some(Rest { of: summary, is_empty })
    }
}

/// Leaves out of a message the results that were left out when it was first read.
pub(super) fn leave_out_again(message: &mut Message<'_>, before: &Message<'_>) {
    if message.results.len() > before.results.len() {
        let kept: HashSet<_> = before.results.iter().filter_map(|result| result.id).map(|id| id.decode()).collect();
        leave_out(message, |result| result.id.is_none_or(|id| kept.contains(&id.decode())));
    }
}

/// Leaves all results but some out of a message.
fn leave_out(message: &mut Message<'_>, stays: impl Fn(&ResultRef<'_>) -> bool) {
    let (kept, gone): (Vec<_>, Vec<_>) = std::mem::take(&mut message.results).into_iter().partition(stays);
    message.results = kept.into();
    let gone: HashSet<usize> = gone.iter().map(|result| result.json.span().start).collect();
    if gone.contains(&message.json.span().start) {
        message.content = Content::empty();
    }
    if let Content::Parts(parts) = &mut message.content {
        let parts = std::mem::take(parts);
        let is_gone = |kind: &PartKind<'_>, start| matches!(kind, PartKind::Result(_)) && gone.contains(&start);
        let parts = parts.into_iter().filter(|part| !is_gone(&part.kind, part.json.span().start));
        message.content = Content::of_parts(parts.collect());
    }
}
