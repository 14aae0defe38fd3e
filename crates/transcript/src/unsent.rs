//! Messages that an agent keeps among the others and no longer sends.
//!
//! Roo Code and its relatives remove nothing. A message that was condensed names its summary (`condenseParent`), one that
//! was truncated a marker (`truncationParent`), and neither is sent while that stands among the messages. Behind a summary
//! they do not send results whose calls it replaced.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use crate::format::Format;
use crate::json::{Items, Object};
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
    message.member_is_true("isSummary")
}

/// The decoded id in a member.
fn id<'a>(value: &Object<'a>, key: &str) -> Option<Cow<'a, str>> {
    value.get_text(key).map(|id| id.decode())
}

/// The ids that messages which are not sent can name.
struct Tags<'a> {
    /// The places of markers by their ids.
    markers: HashMap<Cow<'a, str>, usize>,
    /// The ids of summaries.
    summaries: HashSet<Cow<'a, str>>,
}

impl<'a> Tags<'a> {
    fn of(values: &[Object<'a>]) -> Self {
        let mut tags = Tags { markers: HashMap::new(), summaries: HashSet::new() };
        for (index, value) in values.iter().enumerate() {
            if message::is_truncation_marker(value.json)
                && let Some(id) = id(value, "truncationId")
            {
                tags.markers.insert(id, index);
            }
            if is_summary(value) {
                tags.summaries.extend(id(value, "condenseId"));
            }
        }
        tags
    }

    /// The place of the marker that a message names.
    fn marker_of(&self, value: &Object<'a>) -> Option<usize> {
        self.markers.get(&id(value, "truncationParent")?).copied()
    }

    /// Whether a message is a marker, or names a marker or a summary.
    fn are_on(&self, value: &Object<'a>) -> bool {
        message::is_truncation_marker(value.json)
            || self.marker_of(value).is_some()
            || id(value, "condenseParent").is_some_and(|id| self.summaries.contains(&id))
    }
}

impl<'a> Unsent<'a> {
    /// Finds what is not sent among the values of a list.
    pub(super) fn among(values: Items<'a>, format: &Format) -> Self {
        let values: Vec<Object<'a>> = values.map(Object::of).collect();
        let tags = Tags::of(&values);
        let last = values.iter().rposition(is_summary);
        let first = last.unwrap_or(0);
        let mut unsent = Unsent::default();
        for (index, value) in values.iter().enumerate().skip(first) {
            // A marker in front of the summary has no effect behind it.
            if let Some(marker) = tags.marker_of(value)
                && marker >= first
            {
                unsent.stays_with.insert(index, marker);
            }
        }
        let Some(last) = last else { return unsent };
        // The summary can be truncated itself.
        let summary = unsent.stays_with(last).unwrap_or(last);
        unsent.summary = Some(summary);
        for (index, value) in values[..last].iter().enumerate() {
            if tags.are_on(value) {
                unsent.stays_with.insert(index, summary);
            }
        }
        for value in &values[last..] {
            let Ok(message) = format.read(value) else { continue };
            for call in &message.calls {
                if let Some(id) = call.id {
                    unsent.calls.insert(id.decode());
                }
            }
        }
        unsent
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
    let mut kept = Vec::new();
    let mut gone = HashSet::new();
    for result in std::mem::take(&mut message.results) {
        if stays(&result) {
            kept.push(result);
        } else {
            gone.insert(result.json.span().start);
        }
    }
    message.results = kept.into();
    if gone.contains(&message.json.span().start) {
        message.content = Content::empty();
    }
    if let Content::Parts(parts) = &mut message.content {
        let mut parts = std::mem::take(parts).into_vec();
        parts.retain(|part| !matches!(part.kind, PartKind::Result(_)) || !gone.contains(&part.json.span().start));
        message.content = Content::of_parts(parts.into());
    }
}
