//! Lines that Claude Code kept of the history when it compacted it. They stand before the boundary in the file; Claude Code
//! sends them behind the summary, and nothing else that stands before the boundary.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use crate::transcript::formats::claude_code::{is_true, parent};
use crate::transcript::json::Object;
use crate::transcript::message::Message;

/// The lines that a boundary keeps of those before it. Claude Code keeps none where it misses one of them.
pub(super) fn lines_before(lines: &[Object<'_>], boundary: usize) -> HashSet<usize> {
    let Some(line) = lines.get(boundary) else { return HashSet::new() };
    let by_id: HashMap<_, usize> = lines[..boundary]
        .iter()
        .enumerate()
        .filter_map(|(index, line)| Some((line.get_text("uuid")?.decode(), index)))
        .collect();
    let metadata = |key: &str| line.at(&["compactMetadata", key]).filter(|value| !value.is_falsy());
    let found = match (metadata("preservedMessages"), metadata("preservedSegment")) {
        (Some(list), _) => {
            let ids = list.get("uuids").into_iter().flat_map(|ids| ids.items());
            ids.map(|id| by_id.get(&id.text()?.decode()).copied()).collect()
        }
        (None, Some(segment)) => {
            let end = |key| segment.get_text(key).map(|id| id.decode());
            walk(lines, &by_id, end("tailUuid"), end("headUuid").as_deref())
        }
        (None, None) => None,
    };
    found.unwrap_or_default()
}

/// The lines of the walk up from a tail to a head; `None` if the walk does not reach the head.
fn walk<'a>(
    lines: &[Object<'a>],
    by_id: &HashMap<Cow<'a, str>, usize>,
    tail: Option<Cow<'a, str>>,
    head: Option<&str>,
) -> Option<HashSet<usize>> {
    let mut walked = HashSet::new();
    let mut at = tail;
    loop {
        let id = at?;
        let index = *by_id.get(&id)?;
        if !walked.insert(index) {
            return None;
        }
        if Some(&*id) == head {
            return Some(walked);
        }
        at = parent(&lines[index]);
    }
}

/// The messages that stay together because the summary behind them comes first when they are sent.
pub(super) fn group(messages: &[Message<'_>]) -> Option<(usize, usize)> {
    let is_summary = |message: &Message<'_>| is_true(&Object::of(message.json), "isCompactSummary");
    let summary = messages.iter().position(is_summary).filter(|summary| *summary > 0)?;
    // Behind a boundary, as no message is its parent.
    let boundary = parent(&Object::of(messages[summary].json))?;
    let is_parent = |message: &Message<'_>| message.json.get_text("uuid").is_some_and(|id| id.is(&boundary));
    (!messages.iter().any(is_parent)).then_some((0, summary))
}
